"""Tokens per second of a few models in half precision, beside transformers' Trainer as its example scripts use it, with what limits them."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.baselines import Meter
from benchmarks.bench import CLAIMS, Case, Claim, Part, Runs, _clock, count_flops, random_model
from benchmarks.feed import PARTS

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer


_TINY = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)
_TINY_GPT2 = dict(n_embd=32, n_layer=2, n_head=2)
_QWEN3 = dict(  # of 0.6B
    hidden_size=1024,
    intermediate_size=3072,
    num_hidden_layers=28,
    num_attention_heads=16,
    num_key_value_heads=8,
    head_dim=128,
    max_position_embeddings=4096,
    tie_word_embeddings=True,
)


def model_of(
    shape: str,  # XLM-R base, GPT-2 or Qwen3 0.6B
    n_tokens: int,  # in the vocabulary
    small: bool,  # whether all but the kind of model is tiny
) -> PreTrainedModel:
    "A model with random weights, the same each time."
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Qwen3Config, Qwen3ForCausalLM

    if shape == "XLM-R base":
        return random_model(n_tokens, **_TINY if small else {})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if shape == "GPT-2":
            return GPT2LMHeadModel(GPT2Config(vocab_size=n_tokens, **_TINY_GPT2 if small else {}))
        tiny = _TINY | dict(num_key_value_heads=1, head_dim=16)
        return Qwen3ForCausalLM(Qwen3Config(vocab_size=n_tokens, **_QWEN3 | (tiny if small else {})))


_OURS = ("vocab_lit", "recomputed", "compiled")


def _our_trainer(model, tokenizer, file, length, batch, steps, folder) -> Trainer:
    from vocab_lit.models.source import is_masked
    from vocab_lit.training.lm_data import MaskedBlocks, PackedBlocks
    from vocab_lit.training.settings import LaptConfig
    from vocab_lit.training.trainer import LaptTrainer, training_arguments

    sizes = dict(steps=steps, batch_size=batch, micro_batch=batch, length=length)
    config = LaptConfig(**sizes, schedule="constant", warmup=0, eval_every=10**6)
    args = training_arguments(config, 0, folder, eval_strategy="no", eval_on_start=False)
    masks = tokenizer if is_masked(model) else None
    data = MaskedBlocks(PackedBlocks(file, length), steps * batch, masks)
    return LaptTrainer(model, args, config, train_dataset=data)


def _their_trainer(model, tokenizer, file, length, batch, steps, folder, bf16) -> Trainer:
    import torch
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments, default_data_collator

    from vocab_lit.models.source import is_masked

    args = TrainingArguments(
        folder,
        max_steps=steps,
        per_device_train_batch_size=batch,
        bf16=bf16,
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    blocks = np.fromfile(file, "<i4").reshape(-1, length).tolist()
    if is_masked(model):
        rows = [dict(input_ids=b, attention_mask=[1] * length, special_tokens_mask=[0] * length) for b in blocks]
        collate = DataCollatorForLanguageModeling(tokenizer)
    else:
        rows = [dict(input_ids=ids, attention_mask=[1] * length, labels=ids) for ids in blocks]
        collate = default_data_collator
    return Trainer(model, args, train_dataset=rows, data_collator=collate)


@contextlib.contextmanager
def _as_side(side, model, small) -> Iterator[None]:
    "Inside the block a model trains as a side does."
    from vocab_lit.training.trainer import activations_recomputed, answering_with_loss, compiled_blocks

    with contextlib.ExitStack() as stack:
        if side == "compiled":
            stack.enter_context(compiled_blocks(model, "eager" if small else "inductor"))
        if side == "recomputed":
            stack.enter_context(activations_recomputed(model))
        if side in _OURS:
            stack.enter_context(answering_with_loss(model))
        yield


def _seconds_waiting(trainer: Trainer) -> list[float]:  # one more for each step
    "How long the processor waits for the blocks of each step."
    waited, get = [], trainer.get_batch_samples

    def timed(*args, **kwargs):
        began = time.perf_counter()
        got = get(*args, **kwargs)
        waited.append(time.perf_counter() - began)
        return got

    trainer.get_batch_samples = timed
    return waited


def loss_difference(
    model: PreTrainedModel,  # is on the processor again afterwards
    tokenizer: PreTrainedTokenizerBase,
    blocks: torch.Tensor,  # (n, length)
) -> float:
    "How far a device's loss is from the processor's, as a share of it."
    import torch

    from vocab_lit.models.device import find_device
    from vocab_lit.models.source import is_masked
    from vocab_lit.training.lm_data import mask_tokens
    from vocab_lit.training.lm_loss import lm_loss

    ids = labels = blocks
    if is_masked(model):
        ids, labels = mask_tokens(blocks, tokenizer, torch.Generator().manual_seed(0))
    device = find_device()
    model.eval()
    with torch.no_grad():
        here = lm_loss(model, ids, labels).item()
        model.to(device.torch)
        with torch.autocast(device.torch.type, torch.bfloat16, enabled=device.precision == "bf16"):
            there = lm_loss(model, ids.to(device.torch), labels.to(device.torch)).item()
    model.cpu().train()
    return abs(there - here) / here


def gpu(
    meter: Meter,
    side: str,  # vocab_lit, recomputed, compiled, Trainer, or that in bf16
    shape: str,  # as `model_of` takes it
    n_tokens: int,  # in the vocabulary
    length: int,  # tokens in a block
    batch: int,  # blocks; the plain Trainer has eight
    steps: int,  # that are measured, after a warm-up
    small: bool = False,  # whether all but the kind of model is tiny
) -> dict:
    "Steps of training after a warm-up."
    import torch

    from studies.costs import products_per_second
    from vocab_lit.models.device import find_device
    from vocab_lit.tokens.vocab import toy_tokenizer

    device, warm_up = find_device(), 1 if small else 10
    batch = batch if side in _OURS else 8
    tokenizer = toy_tokenizer("unigram", (f"w{i}" for i in range(n_tokens - 5)))
    model = model_of(shape, n_tokens, small)
    n_blocks = batch * (warm_up + steps)
    blocks = torch.randint(5, n_tokens - 5, (n_blocks, length), generator=torch.Generator().manual_seed(0))
    told = dict(loss_difference=loss_difference(model, tokenizer, blocks[:2])) if side == "vocab_lit" else {}
    flops = _flops(model, tokenizer, blocks[:2]) / 2 / length if side in _OURS else 0  # of a token
    with _as_side(side, model, small):
        seconds, waiting = _timed(meter, side, model, tokenizer, blocks, batch, warm_up)
    rate = steps * batch * length / seconds
    told |= dict(tokens_per_second=rate, feed_share=waiting / seconds)
    if torch.cuda.is_available():
        told["gpu_mb"] = torch.cuda.max_memory_allocated() / 2**20
    if flops:
        half = torch.bfloat16 if device.precision == "bf16" else torch.float32
        peak = products_per_second(device.torch, half, **dict(seconds=0.02, size=64) if small else {})
        told |= dict(flops_per_second=rate * flops, tflops=rate * flops / 1e12, share=rate * flops / peak)
    return told


def _timed(meter, side, model, tokenizer, blocks, batch, warm_up) -> tuple[float, float]:  # seconds, of them waiting
    "Train on all blocks once, and time the steps after a warm-up."
    steps, clock = len(blocks) // batch, _clock(warm_up)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokens")
        blocks.numpy().astype("<i4").tofile(file)
        given = (model, tokenizer, file, blocks.shape[1], batch, steps, folder)
        trainer = _our_trainer(*given) if side in _OURS else _their_trainer(*given, bf16=side.endswith("bf16"))
        trainer.add_callback(clock)
        waited = _seconds_waiting(trainer)
        with meter:
            trainer.train()
    return clock.times[-1][0] - clock.times[0][0], sum(waited[warm_up:steps])


def _flops(model, tokenizer, blocks) -> int:
    "Operations of a pass forwards and backwards over some blocks."
    from vocab_lit.models.source import is_masked
    from vocab_lit.training.lm_data import MaskedBlocks

    data = MaskedBlocks(blocks, len(blocks), tokenizer if is_masked(model) else None)
    counted = count_flops("vocab_lit", model, data)
    model.zero_grad()
    return counted


_SIDES = ("vocab_lit", "recomputed", "compiled", "Trainer", "Trainer, bf16")
_CASES = (  # shape, tokens, length, blocks in a batch
    ("XLM-R base", 250_002, 256, 64),
    ("XLM-R base", 250_002, 512, 32),
    ("XLM-R base", 50_002, 256, 64),
    ("XLM-R base", 50_002, 512, 32),
    ("GPT-2", 50_257, 512, 32),
    ("Qwen3 0.6B", 151_936, 512, 16),
)


def gpu_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Models of four shapes, two of them with blocks of two lengths."
    for shape, n_tokens, length, batch in _CASES[-1:] if small else _CASES:
        given = dict(n_tokens=300, length=16, batch=4, steps=2) if small else {}
        given = dict(n_tokens=n_tokens, length=length, batch=batch, steps=30) | given
        sides = ("vocab_lit", "Trainer") if small else _SIDES
        label = f"{shape}, {n_tokens:,} tokens, blocks of {length}"
        yield Case(label, dict(shape=shape, small=small) | given, sides=sides)


PARTS["gpu"] = Part(
    "training on a GPU in half precision beside transformers' Trainer as run_mlm and run_clm use it",
    15,
    {side: ("benchmarks.gpu.gpu", dict(side=side)) for side in _SIDES},
    gpu_cases,
    "",
    facts=dict(
        tokens_per_second="tokens per second",
        tflops="TFLOP/s",
        share="share of a product's",
        feed_share="share of waiting for blocks",
        loss_difference="loss beside the processor's",
        gpu_mb="GPU MB",
    ),
    named=True,
    gpu=True,
)


def _cases_with(runs, side) -> list[str]:
    return runs.table.case[runs.table.side == side].unique().tolist()


def _in_cases(start, measure, other="") -> Callable[[Runs], list[float]]:
    "A claim's number in all cases whose names start alike: of this package, or how many times another side's."

    def value(runs):
        cases = [case for case in _cases_with(runs, other or "vocab_lit") if case.startswith(start)]
        if other:
            return [float(np.median(1 / runs.ratio(measure, other, case))) for case in cases]
        return [float(np.median(runs.values(measure, case=case))) for case in cases]

    return value


def _pays(side) -> Callable[[Runs], list[float]]:
    "A claim's number: how many times as fast training is as another side of this package."

    def value(runs):
        cases = _cases_with(runs, side)
        return [float(np.median(runs.ratio("tokens_per_second", side, case))) for case in cases]

    return value


def _shape_claims(shape) -> list[Claim]:
    return [
        Claim(
            "gpu",
            f"tokens per second, vocab_lit / Trainer, {shape}",
            _in_cases(shape, "tokens_per_second", "Trainer"),
            3,
        ),
        Claim(
            "gpu", f"the same with the Trainer in bf16, {shape}", _in_cases(shape, "tokens_per_second", "Trainer, bf16")
        ),
        Claim("gpu", f"operations a second / those of a matrix product, {shape}", _in_cases(shape, "share"), 0.45),
    ]


CLAIMS += [
    *(claim for shape in ("XLM-R base", "GPT-2", "Qwen3 0.6B") for claim in _shape_claims(shape)),
    Claim("gpu", "share of the time in which blocks are waited for", _in_cases("", "feed_share"), high=0.05),
    Claim("gpu", "difference from the processor's loss, as a share", _in_cases("", "loss_difference"), high=0.01),
    Claim("gpu", "tokens per second, compiled / vocab_lit", _pays("compiled")),
    Claim("gpu", "tokens per second, with activations computed again / vocab_lit", _pays("recomputed")),
]
