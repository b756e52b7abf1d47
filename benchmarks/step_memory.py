"""Peak memory of training steps, and what `step_memory` estimates for them from the configuration alone."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Claim
from benchmarks.gpu import GEMMA3
from benchmarks.lapt import random_blocks
from benchmarks.runner import Case, Part
from testkit.process import Meter

SMOLLM2 = dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9)
SMOLLM2 |= dict(num_key_value_heads=3, vocab_size=49_152, tie_word_embeddings=True)
QWEN3 = dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, head_dim=128)
QWEN3 |= dict(num_key_value_heads=8, vocab_size=151_936, max_position_embeddings=4096, tie_word_embeddings=True)
TINY = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, vocab_size=4000)
SHAPES = {  # the class of a configuration, and its fields
    "SmolLM2 135M": ("LlamaConfig", SMOLLM2),
    "Gemma 3 270M": ("Gemma3TextConfig", GEMMA3 | dict(vocab_size=262_144)),
    "Qwen3 0.6B": ("Qwen3Config", QWEN3),
}
MODES = ("full", "new")  # all weights; the embeddings of 2,000 new tokens


def step_memory(
    meter: Meter, model: str, length: int, micro_batch: int, mode: str, recomputed: bool, precision: str
) -> dict[str, Any]:
    "Two steps of two micro-batches each, from a model with made-up weights on."
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from vocab_lit.models.lazy_weights import empty_model
    from vocab_lit.models.trainable import only_new_rows
    from vocab_lit.training import stages
    from vocab_lit.training.lapt import lapt
    from vocab_lit.training.lm_loss import activations_recomputed
    from vocab_lit.training.settings import LaptConfig, precision_arguments

    shape, half = AutoConfig.from_pretrained(model), precision != "fp32"
    tokenizer, blocks = random_blocks(shape.vocab_size, 4 * micro_batch, length)
    sizes = dict(batch_size=2 * micro_batch, micro_batch=micro_batch, length=length)
    config = LaptConfig(steps=2, mode=mode, eval_every=2, **sizes)
    net = empty_model(partial(AutoModelForCausalLM.from_config, dtype=torch.float32), shape)
    new = range(1000, 3000)
    with contextlib.ExitStack() as stack:
        if mode == "new":
            net.requires_grad_(False)
            stack.enter_context(only_new_rows(net, new))
        if recomputed:
            stack.enter_context(activations_recomputed(net))
        estimate = stages.step_memory(net, config, micro_batch, half).total
    with meter:
        net.requires_grad_(True).to_empty(device="cpu").tie_weights()
        for tensor in itertools.chain(net.parameters(), net.buffers()):
            tensor.data.fill_(0.01)
        with only_new_rows(net, new) if mode == "new" else contextlib.nullcontext():
            lapt(
                net,
                tokenizer,
                blocks,
                blocks[:1],
                config,
                gradient_checkpointing=recomputed,
                **precision_arguments(precision),
            )
    return dict(estimate_mb=estimate / 2**20)


def step_memory_cases(place: Path, sizes: tuple, small: bool, models: Sequence[str] = ()) -> Iterator[Case]:
    "Every mode, micro-batches of one block and of four, with and without gradient checkpointing, in two precisions."
    import transformers

    def folder(name: str, kind: str, fields: dict) -> str:
        getattr(transformers, kind)(**fields, architectures=[kind.replace("TextConfig", "Config")]).save_pretrained(
            place / name
        )
        return str(place / name)

    tiny = folder("tiny", "LlamaConfig", TINY)
    given = {Path(model).name: model for model in models} or {n: folder(n, *shape) for n, shape in SHAPES.items()}
    settings = (("fp32",), MODES, (True,), (1,)) if small else (("fp32", "bf16"), MODES, (False, True), (1, 4))
    for name, model in {"tiny": tiny}.items() if small else given.items():
        for precision, mode, recomputed, n in itertools.product(*settings):
            case = dict(model=model, length=256, micro_batch=n, mode=mode, recomputed=recomputed, precision=precision)
            what = f"{name}, {precision}, {mode}, blocks {n}{', recomputed' * recomputed}"
            yield Case(what, case, warm_up=case | dict(model=tiny, length=32), once=True)


def _ratios(runs) -> list[float]:
    return list(runs.table.estimate_mb / runs.table.extra_mb)


PART = Part(
    "step",
    "peak memory of training steps of three models, beside its estimate from the configuration",
    40,
    "",
    dict(vocab_lit=step_memory),
    step_memory_cases,
    claims=(
        Claim("smallest estimate / peak", lambda runs: [min(_ratios(runs))], low=0.8),
        Claim("largest estimate / peak", lambda runs: [max(_ratios(runs))], high=1.2),
    ),
    facts=dict(estimate_mb="estimated MB"),
    named=True,
    takes_models=True,
)
