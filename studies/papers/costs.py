"""What training costs: operations by a model's shape, throughput and memory of machines, and what cells train."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from studies.data.hub_sources import MODELS
from studies.papers.setups import get_setup
from studies.papers.store import Cell, with_needs
from vocab_lit.models.device import find_device
from vocab_lit.models.lazy_weights import empty_model
from vocab_lit.models.source import is_masked, load_model
from vocab_lit.tasks.settings import TASKS
from vocab_lit.text.corpus import data_path
from vocab_lit.text.files import in_mirror
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.training.lapt import check_lapt, lapt
from vocab_lit.training.lm_data import pack
from vocab_lit.training.lm_loss import lm_loss
from vocab_lit.training.settings import LaptConfig
from vocab_lit.training.stages import Freezer, stage_starts, total_steps, trainable_parameters

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Shape:
    "The sizes that decide how long a model takes."

    layers: int
    width: int
    inner: int  # of the feed-forward networks
    vocab: int
    masked: bool = True  # otherwise causal
    positions: int = 512

    @property
    def parameters(self) -> int:
        return self.layers * (4 * self.width**2 + 2 * self.width * self.inner) + self.vocab * self.width


_VOCABULARIES = {
    "XLM-R": 250_002,
    "mBERT": 119_547,
    "RoBERTa": 50_265,
    "CamemBERT": 32_005,
    "GBERT_Base": 31_102,
    "BERT_Base-Chinese": 21_128,
}
_SHAPES = {MODELS[name]: Shape(12, 768, 3072, size) for name, size in _VOCABULARIES.items()}
_SHAPES[MODELS["GPT-2"]] = Shape(12, 768, 3072, 50_257, False, 1024)


def shape_of(model: str) -> Shape:  # a folder, or a hub name
    "A model's shape, from its `config.json` or, for the papers' models, as it is known; else `ValueError`."
    at = Path(in_mirror(model) or model, "config.json")
    if not at.is_file() and model in _SHAPES:
        return _SHAPES[model]
    if not at.is_file():
        raise ValueError(f"the shape of {model} is not known without its config.json; give a folder")
    c = json.loads(at.read_text(encoding="utf-8"))

    def get(*names):
        return next((c[n] for n in names if c.get(n)), None)

    masked = not (c.get("architectures") or [""])[0].endswith(("ForCausalLM", "LMHeadModel"))
    width = get("hidden_size", "n_embd", "dim")
    sizes = dict(
        layers=get("num_hidden_layers", "n_layer", "n_layers"),
        width=width,
        inner=get("intermediate_size", "n_inner", "hidden_dim") or width and 4 * width,
        vocab=get("vocab_size"),
    )
    if None in sizes.values():
        raise ValueError(f"{at} does not say the number of {' and '.join(k for k, v in sizes.items() if v is None)}")
    return Shape(**sizes, masked=masked, positions=get("max_position_embeddings", "n_positions") or 512)


def batch_flops(
    shape: Shape,
    tokens: int,
    length: int,
    asked: int,  # positions with a label
    learns: str = "all",  # all, outside, rows, adapter (of a language) or adapter+rows
) -> int:
    "Operations of one batch, forwards and backwards."
    blocks = shape.layers * tokens * 2 * (4 * shape.width**2 + 2 * shape.width * shape.inner)
    attention = shape.layers * tokens * 4 * length * shape.width
    dense, rows = shape.masked * asked * 2 * shape.width**2, asked * 2 * shape.width * shape.vocab
    adapter = 0
    if learns.startswith("adapter"):  # down to half the width and up again; and the invertible one at both ends
        adapter = (shape.layers * tokens * 2 + tokens + asked) * shape.width**2
    return (
        (3 if learns == "all" else 2) * blocks
        + 3 * attention
        + (3 if learns in ("all", "outside") else 2) * dense
        + (2 if learns == "adapter" else 3) * rows
        + 3 * adapter
    )


def run_flops(
    shape: Shape,
    config: LaptConfig,
    adapter: str = "",  # adapter or adapter+rows, as in `batch_flops`, instead of the mode's stages
) -> int:
    "Operations of a run of LAPT, as `lapt_flops` counts them."
    tokens, ends = config.batch_size * config.length, [s for s, _ in stage_starts(config)[1:]] + [total_steps(config)]
    asked = config.batch_size * (round(config.mask_probability * config.length) if shape.masked else config.length - 1)
    return sum(
        (end - start) * batch_flops(shape, tokens, config.length, asked, adapter or stage.learns)
        for (start, stage), end in zip(stage_starts(config), ends)
    )


@dataclass(frozen=True)
class Machine:
    "A machine and what it does in a second."

    mark: str  # a part of its device's name
    peak: float  # operations a second, of the data sheet
    memory: float  # GB


MACHINES = {
    "A100 40GB": Machine("A100", 312e12, 40),
    "H200": Machine("H200", 989e12, 141),
    "Colab TPU v5e-1": Machine("TPU", 197e12, 16),
    "Colab T4": Machine("T4", 65e12, 16),
}


def machine_like(device: str) -> str:  # as `Device.name`
    "Return the name of the machine that has a device; empty where it is none of `MACHINES`."
    return next((name for name, machine in MACHINES.items() if machine.mark in device), "")


SHARE = 0.25  # of the peak that training reaches, where nothing was measured


def products_per_second(
    device: torch.device,
    dtype: torch.dtype,
    seconds: float = 0.3,  # for so long
    size: int = 0,  # rows and columns; 0: 8,192 on a GPU, 1,024 elsewhere
) -> float:  # operations a second
    "What a device reaches in the product of two square matrices."
    import torch

    size = size or (8192 if device.type == "cuda" else 1024)
    a = torch.randn(size, size, device=device, dtype=dtype)
    backend = getattr(torch, device.type, None)
    wait = backend.synchronize if device.type != "cpu" and hasattr(backend, "synchronize") else lambda: None
    a @ a
    wait()
    began, n = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for _ in range(5):
            a @ a
        wait()
        n += 5
    return n * 2 * size**3 / (time.perf_counter() - began)


def measure_throughput(
    model: str = "",  # folder or hub name; "": the bundled XLM-R
    text: Iterable[str] = (),  # to train on; none: the phrasebook's
    steps: int = 8,
    batch_size: int = 16,
    length: int = 0,  # tokens of a block; 0: as many as the model takes, at most 256
) -> dict[str, float | str]:  # tokens_per_second, flops_per_second, products_per_second, share, device
    "Train for some steps on the device at hand; the first half of them is not counted."
    import numpy as np
    import torch
    from transformers import TrainerCallback

    folder = model or str(data_path("models", "mini-xlmr"))
    tokenizer, net = load_tokenizer(folder), load_model(folder).float()
    length = length or min(tokenizer.model_max_length, 256)
    lines = list(text) or get_setup("mini", "sw", limit=600).train
    config = LaptConfig(steps=steps, batch_size=batch_size, length=length, eval_every=steps, warmup=0)
    blocks, marks = pack(tokenizer, lines, length), []

    class Clock(TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **_):
            done = float(next(model.parameters()).detach().sum())  # which waits for the device
            marks.append((done, time.perf_counter()))

    flops = lapt_flops(net, tokenizer, config) / steps
    lapt(net, tokenizer, blocks, blocks[:1], config, callbacks=[Clock()])
    device = next(net.parameters()).device
    seconds = np.median(np.diff([t for _, t in marks])[steps // 2 :])
    here = find_device()
    dtype = dict(bf16=torch.bfloat16, fp16=torch.float16, fp32=torch.float32)[here.precision]
    products = products_per_second(device, dtype)
    return dict(
        tokens_per_second=float(batch_size * length / seconds),
        flops_per_second=float(flops / seconds),
        products_per_second=products,
        share=float(flops / seconds / products),
        device=here.name,
    )


def measured_rate(
    file: str | Path = "_build/bench/bench.json",  # as `python -m benchmarks gpu` writes it
) -> dict | None:  # device, flops_per_second
    "What was measured on a GPU, the median over its models; None where nothing was."
    import numpy as np

    file = Path(file)
    record = json.loads(file.read_text(encoding="utf-8")).get("gpu") if file.is_file() else None
    if not record or record["environment"]["device"] == "cpu":
        return None
    rates = [run["flops_per_second"] for run in record["runs"] if run["side"] == "vocab_lit"]
    return dict(device=record["environment"]["device"], flops_per_second=float(np.median(rates)))


def _without_weights(shape: Shape) -> PreTrainedModel:
    "A model of a shape, on the meta device."
    from transformers import GPT2Config, GPT2LMHeadModel, XLMRobertaConfig, XLMRobertaForMaskedLM

    heads = shape.width // 64 if shape.width % 64 == 0 else 1
    sizes = dict(vocab_size=shape.vocab, bos_token_id=0, eos_token_id=0)
    if shape.masked:
        sizes |= dict(hidden_size=shape.width, intermediate_size=shape.inner, num_hidden_layers=shape.layers)
        sizes |= dict(num_attention_heads=heads, attention_probs_dropout_prob=0, max_position_embeddings=4098)
        config, kind = XLMRobertaConfig(**sizes), XLMRobertaForMaskedLM
    else:
        sizes |= dict(n_embd=shape.width, n_inner=shape.inner, n_layer=shape.layers, n_head=heads, attn_pdrop=0)
        config, kind = GPT2Config(**sizes, n_positions=4096), GPT2LMHeadModel
    return empty_model(kind, config)


@cache
def memory_needed(
    shape: Shape,
    config: LaptConfig,
    micro_batch: int = 0,  # blocks at a time; 0: as many as are usual
) -> float:  # GB
    "Memory of a training run on one device."
    from vocab_lit.training.stages import micro_batches, step_memory

    micro = micro_batch or micro_batches(config)[0]
    return step_memory(_without_weights(shape), config, micro, half=True).total / 1e9


def disk_needed(
    shape: Shape,
    kept: int = 0,  # whole models that stay
) -> float:  # GB
    "Room for the model, for checkpoints while a run lasts, and for models that stay."
    return (4 + 3 * 12 + 4 * kept) * shape.parameters / 1e9


@dataclass(frozen=True)
class OnText:
    "A training on text, as a cell declares it."

    words: str  # what a plan calls it
    config: LaptConfig
    vocab: int = 0  # tokens of the vocabulary; 0: the source's
    added: int = 0  # tokens that are added to it
    learns: str = ""  # as in `batch_flops`, instead of the mode's stages
    model: str = ""  # which of the study's shapes
    once: str = ""  # trainings of the same name are made once for all cells


@dataclass(frozen=True)
class OnTask:
    "A fine-tuning, as a cell declares it."

    task: str
    adapters: bool = False
    model: str = ""


@dataclass(frozen=True)
class Load:
    "Runs of one kind."

    what: str
    runs: int
    steps: int  # of one run
    samples: int  # blocks or examples of one run
    tokens: int  # of one run
    flops: float  # of one run


_EXAMPLES = {
    "mini": dict(pos=60, ner=60, dp=200, qa=800, nli=498),
    "paper": dict(pos=10_000, ner=20_000, dp=12_500, qa=87_599, nli=392_702),
}


_TOKENS = dict(pos=32, ner=24, dp=32, qa=256, nli=48)  # of an example


def _text_load(training: OnText, shape: Shape, runs: int) -> Load:
    config = training.config
    shape, steps = replace(shape, vocab=(training.vocab or shape.vocab) + training.added), total_steps(config)
    samples, flops = config.batch_size * steps, run_flops(shape, config, training.learns)
    return Load(f"LAPT{training.words}", runs, steps, samples, samples * config.length, flops)


def _task_load(tuning: OnTask, shape: Shape, scale: str, paper: str, runs: int) -> Load:
    task = TASKS[tuning.task]
    config = task.papers[paper][tuning.adapters] if paper in task.papers else task.config
    mini, length = scale == "mini", _TOKENS[tuning.task]
    examples = _EXAMPLES["mini" if mini else "paper"][tuning.task] * (8 if mini else config.epochs)
    tokens, steps = examples * length, -(-examples // config.batch_size)
    learns, body = "adapter" if tuning.adapters else "all", replace(shape, vocab=1)
    flops = batch_flops(body, tokens, length, examples, learns)
    words = f"fine-tuning, {tuning.task}" + ", adapters" * tuning.adapters
    return Load(words, runs, steps, examples, tokens, flops)


def count_loads(
    cells: Iterable[Cell],
    shapes: Mapping[str, Shape],  # by the name that trainings and fine-tunings have for a model
    scale: str,
    paper: str,  # whose hyper-parameters fine-tunings have
) -> list[Load]:
    "What cells train, and those that they need, each once."
    runs, once = Counter(), set()
    for cell in with_needs(cells):
        for training in cell.trains:
            name = getattr(training, "once", "")
            runs[replace(training, once="") if name else training] += name not in once
            once |= {name} - {""}
    of_text = [_text_load(one, shapes[one.model], n) for one, n in runs.items() if n and isinstance(one, OnText)]
    of_tasks = [
        _task_load(one, shapes[one.model], scale, paper, n) for one, n in runs.items() if isinstance(one, OnTask)
    ]
    return of_text + of_tasks


def lapt_flops(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, config: LaptConfig) -> int:
    """Floating-point operations of a run's training steps, without evaluations and the optimizer's arithmetic.

    They are counted by torch while one batch goes forward and backward in each stage, and multiplied by the number of
    steps. Frozen blocks save the gradients of their weights, not the way through them.
    """
    import torch

    check_lapt(model, tokenizer, config)
    ids = torch.arange(config.length).remainder(len(tokenizer)).expand(min(config.batch_size, 8), -1)
    labels = ids.clone()
    if is_masked(model):
        labels[:, round(config.mask_probability * config.length) :] = -100
    freezer, total = Freezer(model, config), 0
    starts = freezer.begins
    ends = [*starts[1:], total_steps(config)]
    for start, end, stage in zip(starts, ends, freezer.stages):
        freezer.begin(stage)
        batch_flops = _batch_flops(model, ids.to(model.device), labels.to(model.device))
        total += (end - start) * batch_flops * config.batch_size // len(ids)
    freezer.restore()
    return total


def _batch_flops(model: PreTrainedModel, ids: torch.Tensor, labels: torch.Tensor) -> int:
    "Floating-point operations of one batch, forward and backward."
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    trainable = list(trainable_parameters(model).values())
    # the only kernel of attention whose products are counted on every device
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        torch.autograd.grad(lm_loss(model, ids, labels, "sum"), trainable, allow_unused=True)
    return counter.get_total_flops()
