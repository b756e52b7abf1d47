"""Training steps beside the same Trainer with the model's own loss, and without any head."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, ratio
from benchmarks.runner import Case, Part, as_sides
from testkit.made import TINY
from testkit.process import Meter

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer, TrainerCallback

    from vocab_lit.training.lm_data import MaskedBlocks


def step_clock(warm_up: int) -> TrainerCallback:
    "A callback whose `times` are (wall, processor) seconds after the warm-up and after each step since."
    import torch
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        def __init__(self):
            self.times = []

        def on_step_end(self, args, state, control, **_):
            if state.global_step < warm_up:
                return
            if torch.cuda.is_available() and state.global_step in (warm_up, state.max_steps):
                torch.cuda.synchronize()
            self.times.append((time.perf_counter(), time.process_time()))

    return Clock()


def random_model(n_tokens: int, **shape) -> PreTrainedModel:  # shape: fields that differ from XLM-R base
    "A masked model with random weights, the same each time."
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    ids = dict(bos_token_id=0, pad_token_id=1, eos_token_id=2)
    base = dict(vocab_size=n_tokens, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return XLMRobertaForMaskedLM(XLMRobertaConfig(**ids | base | shape))


def random_blocks(n_tokens: int, n: int, length: int) -> tuple[PreTrainedTokenizerBase, torch.Tensor]:
    "A tokenizer with so many tokens, and blocks (n, length) of them."
    import torch

    from testkit.toy_tokenizers import toy_tokenizer

    tokenizer = toy_tokenizer("unigram", (f"w{i}" for i in range(n_tokens - 5)))
    return tokenizer, torch.randint(5, n_tokens - 5, (n, length), generator=torch.Generator().manual_seed(0))


def make_trainer(side: str, model: PreTrainedModel, data: MaskedBlocks, batch: int, folder: str) -> Trainer:
    "This package's trainer, or the plain one on the data in their order with the model's own loss or without any head."
    from torch.utils.data import SequentialSampler
    from transformers import Trainer

    from vocab_lit.training.settings import LaptConfig
    from vocab_lit.training.trainer import LaptTrainer, training_arguments

    sizes = dict(steps=len(data) // batch, batch_size=batch, micro_batch=batch, length=len(data[0]["input_ids"]))
    config = LaptConfig(**sizes, schedule="constant", warmup=0, eval_every=10**6)
    args = training_arguments(config, 0, folder, eval_strategy="no", eval_on_start=False, logging_first_step=True)

    class Plain(Trainer):
        def _get_train_sampler(self, train_dataset=None):
            return SequentialSampler(train_dataset or self.train_dataset)

    class NoHead(Plain):  # the encoder's output is made smaller
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            return model.base_model(input_ids=inputs["input_ids"]).last_hidden_state.float().square().mean()

    others = {"plain": Plain, "no head": NoHead}
    if side in others:
        return others[side](model, args, train_dataset=data)
    return LaptTrainer(model, args, config, train_dataset=data)


def lapt(meter: Meter, side: str, n_tokens: int, batch: int, length: int, steps: int, **shape) -> dict:
    "Steps of training, after one that is not measured, of a `random_model` of a shape."
    from vocab_lit.training.lm_data import MaskedBlocks
    from vocab_lit.training.lm_loss import answering_with_loss

    tokenizer, blocks = random_blocks(n_tokens, batch * (1 + steps), length)
    model, clock = random_model(n_tokens, **shape), step_clock(warm_up=1)
    ours = answering_with_loss(model) if side == "vocab_lit" else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as folder, ours:
        trainer = make_trainer(side, model, MaskedBlocks(blocks, len(blocks), tokenizer), batch, folder)
        trainer.add_callback(clock)
        with meter:
            trainer.train()
    times = np.array(clock.times)  # (steps + 1, 2)
    seconds, cpu = times[-1, 0] - times[0, 0], np.diff(times[:, 1]).min()
    return dict(
        cpu_seconds=cpu,
        tokens_per_second=steps * batch * length / seconds,
        tokens_per_cpu_second=batch * length / cpu,
        loss=trainer.state.log_history[0]["loss"],
    )


def count_flops(model: PreTrainedModel, data: MaskedBlocks, at_labels: bool) -> int:
    """Floating-point operations of a pass forwards and backwards over all data, without what is computed again.

    `at_labels`: by `lm_loss`, or by the model's own loss.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from vocab_lit.training.lm_loss import lm_loss

    batch = {k: torch.stack([row[k] for row in data]).to(model.device) for k in ("input_ids", "labels")}
    half = at_labels and model.device.type == "cuda"
    with torch.autocast(model.device.type, torch.bfloat16, enabled=half), FlopCounterMode(display=False) as counter:
        loss = lm_loss(model, **batch, max_logits=2**62) if at_labels else model(**batch).loss
        loss.backward()
    return counter.get_total_flops()


def lapt_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Models of XLM-R base's shape with four sizes of vocabulary."
    shape = dict(length=16, **TINY) if small else dict(length=256)
    for n in sizes:
        yield Case(f"XLM-R base, {n:,} tokens", dict(n_tokens=n, steps=2, batch=4, **shape), n)


CLAIMS = (
    Claim("tokens per CPU-second, vocab_lit / plain, 250,002 tokens", ratio("cpu_seconds", "plain"), low=2),
    Claim("the same without any head / plain, which is the limit", ratio("cpu_seconds", "plain", side="no head")),
    Claim("tokens per CPU-second, vocab_lit / plain, 32,000 tokens", ratio("cpu_seconds", "plain", 32_000)),
    Claim(
        "difference of the two losses of the first step",
        lambda runs: abs(runs.values("loss") - runs.values("loss", "plain")),
        high=1e-5,
    ),
)
PART = Part(
    "lapt",
    "training steps beside the same Trainer with the model's own loss, and without any head",
    5,
    "tokens in the vocabulary",
    as_sides(lapt, "vocab_lit", "plain", "no head"),
    lapt_cases,
    sizes=(32_000, 64_000, 128_000, 250_002),
    main=(32_000, 250_002),
    tiny=(300,),
    claims=CLAIMS,
    facts=dict(tokens_per_cpu_second="tokens per CPU-second", loss="loss of the first step"),
)
