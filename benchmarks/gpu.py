"""Tokens per second in half precision beside transformers' Trainer as its example scripts use it, and their limit."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, medians
from benchmarks.lapt import count_flops, make_trainer, random_blocks, random_model, step_clock
from benchmarks.runner import Case, Part, as_sides
from testkit.made import TINY
from testkit.process import Meter

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer

OURS = ("vocab_lit", "recomputed")
SIDES = (*OURS, "Trainer", "Trainer, bf16")
SHAPES = ("XLM-R base", "GPT-2", "Gemma 3 270M")
GEMMA3 = dict(hidden_size=640, intermediate_size=2048, num_hidden_layers=18, num_attention_heads=4, head_dim=256)
GEMMA3 |= dict(num_key_value_heads=1, query_pre_attn_scalar=256, sliding_window=512)
VOCABULARIES = (16_384, 65_536, 262_144)  # tokens of the shape Gemma 3 270M, and of models that are named
CASES = (  # shape, tokens, length, blocks in a batch
    ("XLM-R base", 250_002, 256, 64),
    ("XLM-R base", 250_002, 512, 32),
    ("XLM-R base", 50_002, 256, 64),
    ("XLM-R base", 50_002, 512, 32),
    ("GPT-2", 50_257, 512, 32),
)


def model_of(shape: str, n_tokens: int, small: bool) -> PreTrainedModel:
    """A model with a vocabulary of a size: of a folder, or of a shape with random weights, the same each time.

    If `small`, all but the kind and the vocabulary of a shape is tiny.
    """
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig, GPT2Config, GPT2LMHeadModel

    from vocab_lit.models.source import load_model

    if shape not in SHAPES:
        model = load_model(shape).float()
        model.resize_token_embeddings(n_tokens, mean_resizing=False)
        return model

    if shape == "XLM-R base":
        return random_model(n_tokens, **TINY if small else {})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if shape == "GPT-2":
            tiny = dict(n_embd=32, n_layer=2, n_head=2)
            return GPT2LMHeadModel(GPT2Config(vocab_size=n_tokens, **tiny if small else {}))
        tiny = TINY | dict(head_dim=16)
        return Gemma3ForCausalLM(Gemma3TextConfig(vocab_size=n_tokens, **GEMMA3 | (tiny if small else {})))


def _data(model, tokenizer, blocks, n: int):
    "Blocks with the labels that the kind of model needs."
    from vocab_lit.models.model_class import is_masked
    from vocab_lit.training.lm_data import MaskedBlocks

    return MaskedBlocks(blocks, n, tokenizer if is_masked(model) else None)


def _their_trainer(model, tokenizer, file, length, batch, steps, folder, bf16) -> Trainer:
    import torch
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments, default_data_collator

    from vocab_lit.models.model_class import is_masked

    on_gpu = torch.cuda.is_available()
    devices = dict(bf16=bf16, use_cpu=not on_gpu, dataloader_pin_memory=on_gpu)
    quiet = dict(report_to="none", disable_tqdm=True, save_strategy="no")
    args = TrainingArguments(folder, max_steps=steps, per_device_train_batch_size=batch, **devices, **quiet)
    blocks = np.fromfile(file, "<i4").reshape(-1, length).tolist()
    rows = [dict(input_ids=ids, attention_mask=[1] * length) for ids in blocks]
    if is_masked(model):
        rows = [row | dict(special_tokens_mask=[0] * length) for row in rows]
        collate = DataCollatorForLanguageModeling(tokenizer)
    else:
        rows = [row | dict(labels=row["input_ids"]) for row in rows]
        collate = default_data_collator
    return Trainer(model, args, train_dataset=rows, data_collator=collate)


@contextlib.contextmanager
def as_side(side: str, model: PreTrainedModel) -> Iterator[None]:
    "Inside the block a model trains as a side does."
    from vocab_lit.training.lm_loss import activations_recomputed, answering_with_loss

    with contextlib.ExitStack() as stack:
        if side == "recomputed":
            stack.enter_context(activations_recomputed(model))
        if side in OURS:
            stack.enter_context(answering_with_loss(model))
        yield


def loss_difference(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, blocks: torch.Tensor) -> float:
    "Difference of our loss on a device from transformers' on the processor, on blocks (n, length), as a share."
    import torch

    from vocab_lit.models.device import find_device
    from vocab_lit.models.model_class import is_masked
    from vocab_lit.training.lm_data import mask_tokens
    from vocab_lit.training.lm_loss import lm_loss

    ids = labels = blocks
    if is_masked(model):
        ids, labels = mask_tokens(blocks, tokenizer, torch.Generator().manual_seed(0))
    device = find_device()
    model.eval()
    with torch.no_grad():
        here = model(input_ids=ids, labels=labels).loss.item()
        model.to(device.torch)
        with torch.autocast(device.torch.type, torch.bfloat16, enabled=device.precision == "bf16"):
            there = lm_loss(model, ids.to(device.torch), labels.to(device.torch)).item()
    model.cpu().train()
    return abs(there - here) / here


def gpu(
    meter: Meter, side: str, shape: str, n_tokens: int, length: int, batch: int, steps: int, small: bool = False
) -> dict:
    "Steps of training after a warm-up; the plain Trainer has batches of eight."
    import torch

    warm_up, batch = 1 if small else 10, batch if side in OURS else 8
    tokenizer, blocks = random_blocks(n_tokens, batch * (warm_up + steps), length)
    model = model_of(shape, n_tokens, small)
    facts, flops = {}, 0
    if side == "vocab_lit":
        facts = dict(loss_difference=loss_difference(model, tokenizer, blocks[:2]))
    if side in OURS:
        flops = count_flops(model, _data(model, tokenizer, blocks[:2], 2), at_labels=True) / 2 / length  # of a token
        model.zero_grad()
    with as_side(side, model):
        seconds, waiting = _timed(meter, side, model, tokenizer, blocks, batch, warm_up)
    rate = steps * batch * length / seconds
    facts |= dict(tokens_per_second=rate, feed_share=waiting / seconds)
    if torch.cuda.is_available():
        facts["gpu_mb"] = torch.cuda.max_memory_allocated() / 2**20
    if flops:
        facts |= dict(flops_per_second=rate * flops, tflops=rate * flops / 1e12, share=rate * flops / _peak(small))
    return facts


def _peak(small: bool) -> float:
    "Operations a second in a matrix product."
    import torch

    from studies.papers.costs import products_per_second
    from vocab_lit.models.device import find_device

    device = find_device()
    dtype = torch.bfloat16 if device.precision == "bf16" else torch.float32
    return products_per_second(device.torch, dtype, **dict(seconds=0.02, size=64) if small else {})


def _timed(meter, side, model, tokenizer, blocks, batch, warm_up) -> tuple[float, float]:  # seconds, of them waiting
    "Train on all blocks once, from a file, and time the steps after a warm-up."
    from vocab_lit.training.lm_data import PackedBlocks

    steps, length, clock, waited = len(blocks) // batch, blocks.shape[1], step_clock(warm_up), []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokens")
        blocks.numpy().astype("<i4").tofile(file)
        if side in OURS:
            data = _data(model, tokenizer, PackedBlocks(file, length), steps * batch)
            trainer = make_trainer(side, model, data, batch, folder)
        else:
            trainer = _their_trainer(model, tokenizer, file, length, batch, steps, folder, side.endswith("bf16"))
        trainer.add_callback(clock)
        get = trainer.get_batch_samples

        def timed_get(*args, **kwargs):
            began = time.perf_counter()
            got = get(*args, **kwargs)
            waited.append(time.perf_counter() - began)
            return got

        trainer.get_batch_samples = timed_get
        with meter:
            trainer.train()
    return clock.times[-1][0] - clock.times[0][0], sum(waited[warm_up:steps])


def gpu_cases(place: Path, sizes: tuple, small: bool, models: Sequence[str] = ()) -> Iterator[Case]:
    """Models of the shapes, or those that are named; a decoder of either has the same batches on both sides.

    If `small`, only decoders are measured, with few tokens.
    """
    tiny = dict(n_tokens=300, length=16, batch=4, steps=2) if small else {}
    decoders = [(name, n, 1024, 8) for name in models or SHAPES[-1:] for n in VOCABULARIES]
    for shape, n_tokens, length, batch in decoders if models or small else (*CASES, *decoders):
        case = dict(shape=shape, small=small, n_tokens=n_tokens, length=length, batch=batch, steps=30) | tiny
        sides = ("vocab_lit", "Trainer, bf16") if batch == 8 else SIDES
        yield Case(f"{Path(shape).name}, {n_tokens:,} tokens, blocks of {length}", case, sides=sides)


def _shape_claims(shape: str) -> tuple[Claim, ...]:
    times, times_bf16 = (medians(shape, "tokens_per_second", other, inverse=True) for other in SIDES[2:])
    return (
        Claim(f"tokens per second, vocab_lit / Trainer, {shape}", times, low=3),
        Claim(f"the same with the Trainer in bf16, {shape}", times_bf16),
        Claim(f"operations a second / those of a matrix product, {shape}", medians(shape, "share"), low=0.45),
    )


RECOMPUTED = "tokens per second, with activations computed again / vocab_lit"
CLAIMS = (
    *(claim for shape in SHAPES for claim in _shape_claims(shape)),
    Claim("share of the time in which blocks are waited for", medians("", "feed_share"), high=0.05),
    Claim("difference from transformers' loss on the processor, as a share", medians("", "loss_difference"), high=0.01),
    Claim(RECOMPUTED, medians("", "tokens_per_second", "recomputed")),
)
FACTS = dict(tokens_per_second="tokens per second", tflops="TFLOP/s", share="share of a product's")
FACTS |= dict(feed_share="share of waiting for blocks", loss_difference="loss beside transformers'", gpu_mb="GPU MB")
PART = Part(
    "gpu",
    "training on a GPU in half precision beside transformers' Trainer as run_mlm and run_clm use it",
    15,
    "",
    as_sides(gpu, *SIDES),
    gpu_cases,
    claims=CLAIMS,
    facts=FACTS,
    named=True,
    gpu=True,
    takes_models=True,
)
