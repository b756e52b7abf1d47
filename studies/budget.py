"""What a chapter computes at a scale, how long that takes on which machine, and what it needs from elsewhere."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from studies.experiment import (
    EXTENSION,
    SCALES,
    check_custom,
    focus_methods,
    get_setup,
    scale_lapt,
    scale_models,
)
from studies.hub import (
    DEFAULTS,
    MODELS,
    MONOLINGUAL,
    has_task,
    in_mirror,
    source_for,
    where_is,
    word_files,
)
from studies.hyperparameters import hyperparameters
from studies.presets import PAPER_PARAMETERS, PAPER_TEXT, data_set, scale_parameters
from studies.transfer import (
    ALL_LAYERS,
    FMT,
    LANGUAGE_ONLY,
    MBERT,
    METHODS,
    UNKS,
    WIRINGS,
    Transfer,
    _alike,
    language_spec,
    required_runs,
)
from vocab_lit.methods.reinit import paper_methods
from vocab_lit.models.device import find_device
from vocab_lit.models.source import load_model
from vocab_lit.tasks.settings import PAPERS, TASK_PRESETS
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.tokenizer import load_tokenizer
from vocab_lit.training.lapt import lapt, lapt_flops
from vocab_lit.training.lm_data import pack
from vocab_lit.training.settings import LaptConfig
from vocab_lit.training.stages import stage_starts, total_steps

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from transformers import PreTrainedModel


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


_SHAPES = {
    MODELS["XLM-R"]: Shape(12, 768, 3072, 250_002),
    MODELS["mBERT"]: Shape(12, 768, 3072, 119_547),
    MODELS["RoBERTa"]: Shape(12, 768, 3072, 50_265),
    MODELS["GPT-2"]: Shape(12, 768, 3072, 50_257, False, 1024),
    MODELS["CamemBERT"]: Shape(12, 768, 3072, 32_005),
    MODELS["GBERT_Base"]: Shape(12, 768, 3072, 31_102),
    MODELS["BERT_Base-Chinese"]: Shape(12, 768, 3072, 21_128),
}


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

    masked, width = (
        not (c.get("architectures") or [""])[0].endswith(("ForCausalLM", "LMHeadModel")),
        get("hidden_size", "n_embd", "dim"),
    )
    found = dict(
        layers=get("num_hidden_layers", "n_layer", "n_layers"),
        width=width,
        inner=get("intermediate_size", "n_inner", "hidden_dim") or width and 4 * width,
        vocab=get("vocab_size"),
    )
    if None in found.values():
        raise ValueError(f"{at} does not say the number of {' and '.join(k for k, v in found.items() if v is None)}")
    return Shape(**found, masked=masked, positions=get("max_position_embeddings", "n_positions") or 512)


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

    peak: float  # operations a second, of the data sheet
    memory: float  # GB


MACHINES = {
    "A100 40GB": Machine(312e12, 40),
    "H200": Machine(989e12, 141),
    "Colab TPU v5e-1": Machine(197e12, 16),
    "Colab T4": Machine(65e12, 16),
}
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
    products = products_per_second(
        device, dict(bf16=torch.bfloat16, fp16=torch.float16, fp32=torch.float32)[here.precision]
    )
    return dict(
        tokens_per_second=float(batch_size * length / seconds),
        flops_per_second=float(flops / seconds),
        products_per_second=products,
        share=float(flops / seconds / products),
        device=here.name,
    )


@dataclass(frozen=True)
class Load:
    "Runs of one kind."

    what: str
    runs: int
    steps: int  # of one run
    samples: int  # blocks or examples of one run
    tokens: int  # of one run
    flops: float  # of one run


_TOKENS = dict(pos=32, ner=24, dp=32, qa=256, nli=48)  # of an example
_EXAMPLES = {
    "mini": dict(pos=60, ner=60, dp=200, qa=800, nli=498),
    "paper": dict(pos=10_000, ner=20_000, dp=12_500, qa=87_599, nli=392_702),
}


@dataclass(frozen=True)
class Training:
    "A way to train on text."

    what: str
    shape: Shape
    config: LaptConfig
    learns: str = ""  # as in `batch_flops`, instead of the mode's stages

    def load(self, runs: int) -> Load:
        steps = total_steps(self.config)
        samples, flops = self.config.batch_size * steps, run_flops(self.shape, self.config, self.learns)
        return Load(f"LAPT{self.what}", runs, steps, samples, samples * self.config.length, flops)


@dataclass(frozen=True)
class FineTuning:
    "How a chapter fine-tunes on tasks."

    scale: str
    paper: str  # whose hyper-parameters
    shape: Shape

    def load(self, task: str, runs: int, adapters: bool = False) -> Load:
        config = PAPERS[self.paper][task][adapters] if self.paper in PAPERS else TASK_PRESETS[task]
        mini, length = self.scale == "mini", _TOKENS[task]
        examples = _EXAMPLES["mini" if mini else "paper"][task] * (8 if mini else config.epochs)
        tokens, steps = examples * length, -(-examples // config.batch_size)
        learns, body = "adapter" if adapters else "all", replace(self.shape, vocab=1)
        flops = batch_flops(body, tokens, length, examples, learns)
        return Load(f"fine-tuning, {task}" + ", adapters" * adapters, runs, steps, examples, tokens, flops)


@dataclass(frozen=True)
class Job:
    "A model of a chapter: how it is trained on text, and what it is fine-tuned on after that."

    training: str = ""  # one of the chapter's trainings; "": none
    tasks: tuple[str, ...] = ()  # one for each fine-tuning


@dataclass
class Needs:
    "What a chapter trains and reads."

    loads: list[Load]
    languages: dict[str, list[str]]  # of text, and of each task
    adapters: Iterable[str] = ()  # published ones, by folder or name


def _count(jobs: Iterable[Job], trainings: dict[str, Training], tuning: FineTuning) -> list[Load]:
    jobs = list(jobs)
    on_text, on_tasks = Counter(job.training for job in jobs), Counter(task for job in jobs for task in job.tasks)
    found = [training.load(on_text[name]) for name, training in trainings.items() if on_text[name]]
    return found + [tuning.load(task, runs) for task, runs in on_tasks.items()]


def _shape(scale, preset, model=""):
    return shape_of(model or scale_models(preset)[scale != "mini"])


def _each(*given):  # languages, of text with spaces or plus signs between them
    return list(dict.fromkeys(language for text in given for language in re.split(r"[\s+]+", text) if language))


def _by_kind(given):  # pairs of a kind and its languages, of `kind: language language; ...`
    parts = [part.partition(":") for part in given.split(";") if part]
    return [(kind.strip(), codes.split()) for kind, _, codes in parts]


def _kinds(given):
    return [code for _, codes in _by_kind(given) for code in codes]


def _focus_jobs(ways, tasks, seeds, task_seeds) -> Iterator[Job]:
    for way in ways:
        training = f"{way.vocabulary}, {way.mode}" if way.mode else ""
        scored = tasks if way.printed else tasks[:1]
        yield Job(training, scored * task_seeds)
        if way.vocabulary == "replaced":
            yield from [Job(training)] * (seeds - 1)
    yield from [Job("replaced, all")] * 2  # random embeddings from a normal and a uniform distribution


def _focus(
    scale,
    language,
    seeds=0,
    task_seeds=0,
    steps=0,
    vocab_size=0,
    model="",
    tasks="ner nli qa",
    dictionary="",
    source_text="",
    compare="",
    **_,
):
    source, config = _shape(scale, "focus", model), scale_lapt(scale, "focus", steps)
    vocab = vocab_size or (700 if scale == "mini" else 50_000)
    sizes = dict(original=source.vocab, replaced=vocab, extended=source.vocab + round(EXTENSION * vocab))
    trainings = {
        f"{name}, {mode}": Training(
            f", {name} vocabulary" + ", two stages" * (mode == "two-stage"),
            replace(source, vocab=size),
            replace(config, mode=mode),
        )
        for name, size in sizes.items()
        for mode in ("all", "two-stage")
    }
    mini, tasks = scale == "mini", tuple(tasks.split())
    ways = focus_methods(mini or bool(dictionary), mini or bool(source_text))
    jobs = _focus_jobs(ways.values(), tasks, seeds, task_seeds)
    tuning = FineTuning(scale, "focus", source)
    read = [language] if scale == "custom" else _each(language, compare)
    return Needs(_count(jobs, trainings, tuning), dict(text=read, **dict.fromkeys(tasks, [language])))


def _structure_jobs(scale, languages, whole, groups, syntax, tasks, seeds) -> Iterator[Job]:
    # whole: the languages with all methods under EMB; groups: each with the languages that are scored
    mini, methods = scale == "mini", len(paper_methods())
    few = 3  # RANDOM, SCRIPT+POSN+IDENT and FOCUS+IDENT, or IDENT in place of the last
    for language in languages:
        scored = tasks(language) * seeds
        yield Job("", scored)  # off the shelf
        yield Job("source", scored)
        yield from [Job("full", scored)] * methods
        yield from [Job("full", scored)] * (few if mini else methods - 1)  # with the source Gaussian, FOCUS left out
        yield from [Job("emb", scored)] * (methods if language in whole else few)
    for _ in syntax:
        yield Job("source", ("pos",) * seeds)
        yield from [Job("full", ("pos",) * seeds)] * (few + 1)
    for group in groups:
        scored = tuple(task for language in group for task in tasks(language) * seeds)
        if mini:
            yield from [Job("full", scored)] * (few + 1)
            continue
        yield Job("source", scored)
        yield from [Job("full", scored)] * (2 * methods - 1)
        yield from [Job("emb", scored)] * methods
    if mini:  # the exercises
        yield from [Job("longer"), Job("emb-rows")] * 2


def _embedding_structure(
    scale,
    language,
    seeds=0,
    steps=0,
    vocab_size=0,
    model="",
    compare="",
    mixed="",
    family="",
    syntax="qal qka",
    pos="",
    ner="",
    **_,
):
    paper, mini, custom = "embedding-structure", scale == "mini", scale == "custom"
    source, config = _shape(scale, paper, model), scale_lapt(scale, paper, steps or 40 * mini)
    target = replace(source, vocab=vocab_size or (700 if mini else 32_770))
    full = replace(config, mode="full")
    trainings = {
        "source": Training(", full, source vocabulary", source, full),
        "full": Training(", full", target, full),
        "emb": Training(", emb", target, replace(config, mode="emb")),
        "longer": Training(", full, three times as long", target, replace(full, steps=3 * config.steps)),
        "emb-rows": Training(", emb-rows", target, replace(config, mode="emb-rows")),
    }
    names = dict(pos=pos, ner=ner)

    def tasks(code):  # that have data of a language
        return tuple(task for task, name in names.items() if scale != "paper" or has_task(task, code, name))

    languages = [language] if custom else _each(language, compare)
    groups = [] if custom else [group.split("+") for group in (mixed, family)]
    scored = [group[-2:] if mini else group for group in groups]
    whole = compare.split()[:1] if mini else languages
    jobs = _structure_jobs(scale, languages, whole, scored, syntax.split() if mini else [], tasks, seeds)
    read = _each(language, *(() if custom else (compare, mixed, family)))
    return Needs(_count(jobs, trainings, FineTuning(scale, paper, source)), dict.fromkeys(("text", *names), read))


def _language_loads(study, runs, shape, steps, vocab):  # of runs on languages' texts
    target, counts = replace(shape, vocab=vocab), Counter()
    for run in runs:
        config = scale_lapt(study.scale, study.paper + "-adapter" * bool(run.adapter), run.steps or steps)
        learns = "+".join(["adapter"] * bool(run.adapter) + ["rows"] * bool(run.recipe))
        what = f", {run.kind}" + f", {run.steps:,} steps" * bool(run.steps)
        counts[Training(what, target if run.recipe else shape, config, learns)] += 1
    return [training.load(n) for training, n in counts.items()]


def _task_loads(study, methods, task, sources, targets, seeds, shape):  # of learning a task in each source
    groups = [study.methods[group[0]] for source in sources for group in _alike(study, methods, source)]
    whole = [len(targets) if method.mlm == "target" else 1 for method in groups if not method.adapters]
    adapters, tuning = [method for method in groups if method.adapters], FineTuning(study.scale, study.paper, shape)
    runs = {False: sum(whole), True: len(adapters)}
    return [tuning.load(task, n * seeds, with_adapters) for with_adapters, n in runs.items() if n]


def _mad_x(
    scale,
    language,
    seeds=0,
    steps=0,
    model="",
    kinds="",
    question_source="",
    questions="",
    vocabulary="",
    **_,
):
    languages = _each(*_kinds(kinds))
    shape, steps = _shape(scale, "mad-x", model), steps or 80 * (scale == "mini")
    study = Transfer("", tuple(languages), scale, own_vocabulary=tuple(vocabulary.split()))
    methods = [name for name, method in METHODS.items() if vocabulary or not method.recipe]
    unseen = [code for kind, codes in _by_kind(kinds) if "not seen" in kind for code in codes]
    curve_targets = [code for code in unseen if code != language][:4]
    full, vocab = scale_lapt(scale, "mad-x-adapter", steps).steps, 700 if scale == "mini" else 10_000
    runs = required_runs(study, methods, languages, languages)
    runs += [language_spec(study, "MAD-X", code, steps=full // part) for code in curve_targets for part in (4, 2)]
    three_methods = ["XLM-R", "MAD-X -INV", "MAD-X"]
    found = _language_loads(study, runs, shape, steps, vocab)
    once = [name for name in methods if scale == "paper" and METHODS[name].mlm == "target"]  # Section 5.2
    found += _task_loads(study, [m for m in methods if m not in once], "ner", languages, languages, seeds, shape)
    found += _task_loads(study, once, "ner", languages, languages, 1, shape)
    wirings = [name for name in WIRINGS if name not in methods]
    found += _task_loads(study, wirings, "ner", languages, languages, seeds, shape)
    if scale != "custom" and "en" in languages:  # Table 5: mBERT has the same layers
        found += _task_loads(study, list(MBERT), "ner", ["en"], languages, seeds, shape)
    found += _task_loads(study, ["MAD-X"], "ner", [language] * bool(curve_targets), curve_targets, 3, shape)
    found += _task_loads(study, three_methods, "qa", [question_source], questions.split(), min(seeds, 3), shape)
    return Needs(found, dict(text=languages, ner=languages, qa=_each(question_source, questions)))


def _unks_everywhere(
    scale,
    language,
    seeds=0,
    steps=0,
    vocab_size=0,
    model="",
    sources="",
    targets="",
    exchange_targets="",
    task="ner",
    tree_sources="",
    tree_targets="",
    source_adapters="",
    **_,
):
    paper, mini = "unks-everywhere", scale == "mini"
    shape, steps, vocab = _shape(scale, paper, model), steps or 40 * mini, vocab_size or (700 if mini else 10_000)
    one_of_each_kind = [codes[0] for _, codes in _by_kind(targets)]
    sources, tree_sources = _each(sources), _each(tree_sources)
    targets, tree_targets = _each(*_kinds(targets)), _each(*_kinds(tree_targets))
    exchanged = _each(*_kinds(exchange_targets))
    in_names, in_trees = UNKS | LANGUAGE_ONLY | FMT, [name for name in UNKS if name != "MAD-X"]
    own = (*targets, *exchanged, *tree_targets)
    study = Transfer(
        "",
        (*sources, *targets),
        scale,
        own_vocabulary=own,
        paper=paper,
        methods=in_names | ALL_LAYERS,
        published_adapters=source_adapters,
    )
    parts = [
        (in_names, task, sources, targets),
        (ALL_LAYERS, task, sources, one_of_each_kind[-1:] if mini else targets),
    ]
    parts += [(["mBERT", "EL-RAND", "EL-LEX", *FMT], task, sources[:1], exchanged)] * bool(exchanged)
    parts += [(in_trees, "dp", tree_sources, tree_targets)] * bool(tree_targets)
    runs = dict.fromkeys(run for methods, _, *pairs in parts for run in required_runs(study, methods, *pairs))
    adapters = list(dict.fromkeys(filter(None, map(study.published, runs))))
    runs = [run for run in runs if not study.published(run)]
    found = _language_loads(study, runs, shape, steps, vocab)
    what, two_amounts, two_methods = ", other dimensions and smaller amounts of text", 2, 2
    config = scale_lapt(scale, paper + "-adapter", steps)
    others = Training(what, replace(shape, vocab=vocab), config, "adapter+rows")
    found.append(others.load(len(one_of_each_kind) + two_amounts * two_methods))
    for methods, name, *pairs in parts:
        found += _task_loads(study, list(methods), name, *pairs, seeds, shape)
    tuning, curve_seeds = FineTuning(scale, paper, shape), 3
    found.append(tuning.load(task, curve_seeds))  # of mBERT, which the curves are compared with
    found.append(tuning.load(task, seeds + curve_seeds, adapters=True))
    text = _each(*sources, *targets, *exchanged, *tree_sources, *tree_targets)
    named = _each(*sources, *targets, *exchanged)
    return Needs(found, {"text": text, task: named, "dp": [*tree_sources, *tree_targets]}, adapters)


_STARTS = ("WECHSEL", "TransInner", "FullRand")


def _gpt2_jobs(scale, medium, low, ngram_languages, amounts) -> Iterator[Job]:
    yield from [Job("gpt2")] * len(_STARTS) * len(medium)
    yield from [Job("low")] * len(_STARTS) * len(low)
    # in one language, embeddings first or all at once: WECHSEL, TransInner and shuffled embeddings. At the paper's
    # scale these are shorter runs; otherwise two of the six are among those above
    yield from [Job("freezing")] * 6 if scale == "paper" else [Job("gpt2")] * 4
    for _ in ngram_languages:
        yield from [Job("gpt2")] * 2  # n-grams and TFR of fastText
    yield from [Job("low")] * amounts
    yield from [Job("gpt2"), Job("source")]  # compared byte by byte


def _roberta_jobs(scale, medium, ngram_languages, stages, seeds) -> Iterator[Job]:
    both = ("nli", "ner")
    other_tasks = ("ner",) if scale == "mini" else both
    for _ in medium:
        yield from [Job("roberta", both * stages * seeds)] * len(_STARTS)
    for _ in ngram_languages:
        yield from [Job("roberta", other_tasks * stages * seeds)] * 2  # n-grams and TFR of fastText
    for language in medium if scale != "custom" else []:
        monolingual = scale == "paper" and language in MONOLINGUAL
        yield from [Job("", other_tasks * seeds)] * (1 + monolingual)  # and XLM-R


def _wechsel(scale, language, seeds=0, steps=0, vocab_size=0, roberta="", gpt2="", medium="", low="", **_):
    mini, custom = scale == "mini", scale == "custom"
    medium, low = (_each(language), []) if custom else (_each(medium, language), _each(low))
    vocab, steps, found = vocab_size or (1500 if mini else 50_000), steps or 40 * mini, []
    stages, ngram_languages = (2, ["sw"]) if mini else (3, medium)
    less_text = {"mini": 2 * 4, "paper": 4 * 4, "custom": 0}[scale]  # amounts of text, and starts
    if gpt2 or not custom:
        source, config = _shape(scale, "wechsel-gpt2", gpt2), scale_lapt(scale, "wechsel-gpt2", steps)
        target = replace(source, vocab=vocab)
        low_resource = scale_lapt(scale, "wechsel-gpt2-low-resource", 3 * steps if mini else steps)
        shorter = replace(config, steps=config.steps * 3 // 10)  # 75,000 of 250,000
        trainings = {
            "gpt2": Training(" of GPT-2", target, config),
            "low": Training(" of GPT-2, with little text, at most", target, low_resource),
            "freezing": Training(" of GPT-2, with and without freezing", target, shorter),
            "source": Training(" of GPT-2, source vocabulary", source, config),
        }
        jobs = _gpt2_jobs(scale, medium, low, ngram_languages, less_text)
        found += _count(jobs, trainings, FineTuning(scale, "wechsel", source))
    if roberta or not custom:
        target = replace(_shape(scale, "wechsel-roberta", roberta), vocab=vocab)
        training = Training(" of RoBERTa", target, scale_lapt(scale, "wechsel-roberta", steps))
        jobs = _roberta_jobs(scale, medium, ngram_languages, stages, seeds)
        found += _count(jobs, {"roberta": training}, FineTuning(scale, "wechsel", target))
    text = _each(*medium, *low, "fr" * (scale == "paper"))
    probed = [code for code in medium if code != "sw"] or medium
    return Needs(found, dict(text=text, nli=medium, ner=medium, pos=probed))


def _compare_jobs(starts, spoken, made, aligned, tasks, seeds) -> Iterator[Job]:  # tasks: of spoken languages
    for _ in range(seeds):
        yield from [Job("auxiliary")] * len({*starts, *spoken})
        for language in [*spoken, *made]:
            scored = tasks if language in spoken else ("pos", "dp")
            # eight methods, three settings of two of them, two distillations, and four that need a dictionary
            settings, with_dictionary = 5 * (language in spoken), 4 * (aligned and language in spoken)
            yield from [Job("target", scored)] * (8 + settings + with_dictionary)
            yield from [Job("source", scored), Job("adapter", scored)]


def _compare(
    scale,
    language,
    seeds=1,
    steps=0,
    vocab_size=0,
    model="",
    compare="sw am",
    beginnings="sw uk am ka",
    syntax="qal qka",
    pos="",
    dp="",
    dictionary="",
    **_,
):
    paper, mini = "embedding-structure", scale == "mini"
    source, config = _shape(scale, paper, model), replace(scale_lapt(scale, paper, steps or 40 * mini), mode="full")
    target = replace(source, vocab=vocab_size or (650 if mini else 32_770))
    adapters = scale_lapt(scale, "mad-x-adapter", config.steps)
    adapters = replace(adapters, batch_size=config.batch_size, length=config.length)
    half = replace(target, layers=target.layers // 2, width=target.width // 2, inner=target.inner // 2)
    trainings = {
        "auxiliary": Training(", auxiliary model", half, replace(config, mode="all")),
        "target": Training(", target vocabulary", target, config),
        "source": Training(", source vocabulary", source, config),
        "adapter": Training(", language adapter", source, adapters, "adapter"),
    }
    spoken, made = (_each(language, compare), syntax.split()) if mini else ([language], [])
    given = () if mini else tuple(task for task, files in dict(pos=pos, dp=dp).items() if files)
    starts = _each(language, beginnings) if mini else [language]
    jobs = _compare_jobs(starts, spoken, made, mini or bool(dictionary), given, seeds)
    return Needs(
        _count(jobs, trainings, FineTuning(scale, "", source)), dict.fromkeys(("text", *given), _each(language))
    )


_CHAPTERS: dict[str, Callable[..., Needs]] = {
    "focus": _focus,
    "embedding-structure": _embedding_structure,
    "mad-x": _mad_x,
    "unks-everywhere": _unks_everywhere,
    "wechsel": _wechsel,
    "compare": _compare,
}


def needs(chapter: str, language: str, scale: str = "paper", **parameters) -> Needs:  # parameters of the chapter
    "What a chapter trains and reads; `ValueError` where there is no such chapter."
    if chapter not in _CHAPTERS:
        raise ValueError(f"no chapter {chapter!r}; choose from {', '.join(_CHAPTERS)}")
    if scale not in SCALES:
        raise ValueError(f"scale {scale!r}: choose from {', '.join(SCALES)}")
    usual = dict.fromkeys(PAPER_PARAMETERS.get(chapter, ()), "")
    return _CHAPTERS[chapter](scale, language, **scale_parameters(chapter, scale, **usual | parameters))


def loads(chapter: str, language: str, scale: str = "paper", **parameters) -> list[Load]:  # parameters of the chapter
    "What a chapter trains; `ValueError` where there is no such chapter."
    runs = Counter()
    for load in needs(chapter, language, scale, **parameters).loads:
        runs[replace(load, runs=0)] += load.runs
    without_files = tuple(f"fine-tuning, {t}" for t in _TOKENS if scale == "custom" and not parameters.get(t))
    return [replace(load, runs=n) for load, n in runs.items() if not load.what.startswith(without_files)]


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


def rate_of_tokens(found: list[Load], tokens_per_second: float) -> dict:  # device, flops_per_second
    "What so many tokens a second come to in operations, by the largest runs of LAPT."
    if not 0 < tokens_per_second < math.inf:
        raise ValueError(f"tokens_per_second {tokens_per_second:g}: give how many tokens LAPT trains on in a second")
    a_token = [load.flops / load.tokens for load in found if load.what.startswith("LAPT")]
    device = f"{tokens_per_second:,.0f} tokens a second"
    return dict(device=device, flops_per_second=tokens_per_second * max(a_token))


def _hours(h):
    if h < 1 / 60:
        return f"{h * 3600:.0f} s"
    return f"{h * 60:.0f} min" if h < 2 else f"{h:,.0f} h"


def budget(
    chapter: str,
    language: str,
    scale: str = "paper",
    measured: dict | None = None,  # from `measure_throughput`, `measured_rate` or `rate_of_tokens`
    **parameters,  # of the chapter
) -> pd.DataFrame:  # a row for each kind of run, and their sum
    """What a chapter trains and how long that takes; operations are counted.

    Times are those of a quarter of each machine's peak, or of what was measured on one of them.
    """
    import pandas as pd

    found = loads(chapter, language, scale, **parameters)
    rates = {name: machine.peak * SHARE for name, machine in MACHINES.items()}
    if measured:
        known = next((name for name in rates if name.split()[0] in measured["device"]), None)
        rates.pop(known, None)  # what was assumed of this machine
        rates[f"measured: {measured['device']}"] = measured["flops_per_second"]

    def row(load):
        return {
            "runs": load.runs,
            "steps each": f"{load.steps:,}",
            "samples each": f"{load.samples:,}",
            "tokens each": f"{load.tokens:,}",
        }

    def cost(flops):
        return {"operations": f"{flops:.1e}"} | {name: _hours(flops / rate / 3600) for name, rate in rates.items()}

    rows = {load.what: row(load) | cost(load.runs * load.flops) for load in found}
    total = dict.fromkeys(next(iter(rows.values())), "") | {"runs": sum(load.runs for load in found)}
    rows["together"] = total | cost(sum(load.runs * load.flops for load in found))
    return pd.DataFrame(rows).T


def _without_weights(shape: Shape, layers: int) -> PreTrainedModel:
    "A model of a shape, with so many layers."
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import GPT2Config, GPT2LMHeadModel, XLMRobertaConfig, XLMRobertaForMaskedLM

    heads = shape.width // 64 if shape.width % 64 == 0 else 1
    sizes = dict(vocab_size=shape.vocab, bos_token_id=0, eos_token_id=0)
    if shape.masked:
        sizes |= dict(hidden_size=shape.width, intermediate_size=shape.inner, num_hidden_layers=layers)
        sizes |= dict(num_attention_heads=heads, attention_probs_dropout_prob=0, max_position_embeddings=4098)
        config, kind = XLMRobertaConfig(**sizes), XLMRobertaForMaskedLM
    else:
        sizes |= dict(n_embd=shape.width, n_inner=shape.inner, n_layer=layers, n_head=heads, attn_pdrop=0)
        config, kind = GPT2Config(**sizes, n_positions=4096), GPT2LMHeadModel
    with FakeTensorMode():
        return kind(config).train()


@cache
def memory_needed(
    shape: Shape,
    config: LaptConfig,
    micro_batch: int = 0,  # blocks at a time; 0: as many as are usual
) -> float:  # GB
    "Memory of a training run on one device."
    import torch

    from vocab_lit.training.memory import micro_batches, step_memory

    micro = micro_batch or micro_batches(config)[0]
    models = [_without_weights(shape, layers) for layers in (1, 2)]
    one, two = (step_memory(model, config, micro, half=torch.bfloat16).total for model in models)
    return (one + (shape.layers - 1) * (two - one)) / 1e9


def disk_needed(
    shape: Shape,
    kept: int = 0,  # whole models that stay
) -> float:  # GB
    "Room for the model, for checkpoints while a run lasts, and for models that stay."
    return (4 + 3 * 12 + 4 * kept) * shape.parameters / 1e9


_PRESETS = {  # of a chapter's source models, and the parameter that names another model
    "focus": {"focus": "model"},
    "embedding-structure": {"embedding-structure": "model"},
    "mad-x": {"mad-x": "model"},
    "unks-everywhere": {"unks-everywhere": "model"},
    "wechsel": {"wechsel-gpt2": "gpt2", "wechsel-roberta": "roberta"},
    "compare": {"embedding-structure": "model"},
}


def _source_models(chapter: str, scale: str, parameters: dict) -> dict[str, str]:  # preset: folder or hub name
    given = {} if scale == "mini" else {p: parameters.get(option) for p, option in _PRESETS[chapter].items()}
    if scale == "custom":
        return {preset: model for preset, model in given.items() if model}
    return {preset: given.get(preset) or scale_models(preset)[scale != "mini"] for preset in _PRESETS[chapter]}


@dataclass(frozen=True)
class Plan:
    "What a chapter would do; `print` shows it."

    chapter: str
    language: str
    scale: str
    reads: pd.DataFrame  # name, what of it, where it is
    budget: pd.DataFrame
    models: list[tuple[str, Shape, LaptConfig]]  # what is trained, and with what
    disk: float  # GB
    settings: pd.DataFrame  # hyper-parameters beside the paper's; empty where the chapter has no paper
    measured: dict | None = None  # throughput of a device; None: a share of the peak is assumed of all

    @property
    def _rates(self) -> str:
        if not self.measured:
            return f"times are computed for {SHARE:.0%} of each machine's peak, on one of them."
        rate = self.measured["flops_per_second"] / 1e12
        return (
            f"times are computed for {SHARE:.0%} of each machine's peak, on one of them, but for "
            f"{self.measured['device']} from what was measured: {rate:.3g} TFLOP/s."
        )

    @property
    def memory(self) -> float:  # GB
        "Of the model that takes most."
        return max(memory_needed(shape, config) for _, shape, config in self.models)

    @property
    def _memory(self) -> str:
        lines, most = [], 0
        for model, shape, config in self.models:
            usual, least = memory_needed(shape, config), memory_needed(shape, config, 1)
            lines.append(f"{Path(model).name}: about {usual:.2g} GB, or {least:.2g} GB one block at a time")
            most = max(most, least)
        fits = ", ".join(n for n, m in MACHINES.items() if m.memory > most)
        return f"Memory of {'; of '.join(lines)}, which is in {fits or 'none of these'}."

    @property
    def _settings(self) -> list[str]:
        if self.settings.empty:
            return []
        scale = "mini" if self.scale == "mini" else "paper"
        shown = self.settings[["paper", f"scale {scale}", "section"]].rename(columns={f"scale {scale}": "here"})
        return ["Its hyper-parameters, beside the paper's\n" + shown.reset_index().to_string(index=False, header=False)]

    def __str__(self) -> str:
        times = self.budget.drop(columns=["samples each", "tokens each"])
        wide = self.reads.what.str.len().max()
        alike = self.reads.groupby(["what", "name", "where"], sort=False).part.agg(
            lambda parts: ", ".join(p for p in parts if p)
        )
        reads = [
            f"{what:<{wide}}  {name}{f' ({part})' * bool(part)}: {where}" for (what, name, where), part in alike.items()
        ]
        return "\n\n".join(
            [
                f"Chapter {self.chapter}, {self.language}, scale {self.scale}. Nothing was trained or written.",
                "It reads\n" + "\n".join(reads),
                "It trains\n" + times.to_string(justify="right"),
                *self._settings,
                f"Operations are counted; {self._rates}\n{self._memory} Disk: about {self.disk:.1f} GB.",
            ]
        )


_TEXT_OF = {"compare": "focus"}  # a chapter without a paper reads what this one reads
_FILES = ("text", "pos", "ner", "qa", "nli", "dp", "dictionary", "source_text")


def _custom_reads(parameters, languages):
    found = []
    for what in _FILES:
        given = parameters.get(what) or ()
        if isinstance(given, str):
            given = [given] if Path(given).is_file() else given.split()
        if isinstance(given, (list, tuple)):
            spoken = languages.get(what, languages["text"])
            names = dict.fromkeys(file.replace("{language}", code) for file in given for code in spoken)
            found += [(what, name, "", "here" if Path(name).is_file() else "missing") for name in names]
    return found


def _hub_row(what, name, language):
    source = source_for(name, what, language)
    try:
        part = source.of(source.files or source.config, language)
    except ValueError as e:
        return what, source.name, language, str(e)
    part += f" ({source.revision})" if source.revision else ""
    return what, source.name, part, where_is(source.name, True) + (f"; {source.note}" if source.note else "")


def _paper_reads(chapter, parameters, languages):
    preset = PAPER_TEXT[_TEXT_OF.get(chapter, chapter)]
    corpora = [(parameters.get("corpus") or preset.corpus_of(code), code) for code in languages["text"]]
    found = [_hub_row("text", corpus, code) for corpus, code in corpora]
    for task in [name for name in languages if name != "text"]:
        for code in languages[task]:
            name = data_set(chapter, task, code, parameters.get(task)) or DEFAULTS[task]
            found.append(_hub_row(task, name, code))
    if chapter == "wechsel":
        files = dict.fromkeys(file for code in languages["text"] for file in word_files(code).items())
        found += [(what, at.rsplit("/", 1)[-1], "", f"by hand, from {at}") for what, at in files]
    return found


def _baselines(chapter, scale, languages):  # models that WECHSEL's are compared with
    if chapter != "wechsel" or scale == "custom":
        return []
    if scale == "mini":
        return [scale_models("focus")[0]]
    return [MODELS["XLM-R"], *(MODELS[MONOLINGUAL[code]] for code in languages["nli"] if code in MONOLINGUAL)]


def _reads(chapter, language, scale, models, parameters, languages):  # rows of what, name, part, where
    found = [("model", model, "", "bundled" if scale == "mini" else where_is(model)) for model in models]
    if scale == "mini":
        return found + [("text and tasks", "phrasebook and constructed languages", language, "bundled")]
    if scale == "custom":
        return found + _custom_reads(parameters, languages)
    return found + _paper_reads(chapter, parameters, languages)


def plan(
    chapter: str,
    language: str,
    scale: str = "mini",
    tokens_per_second: float = 0,  # of LAPT on the machine that will be used; 0: what `bench gpu` measured, if it did
    **parameters,  # of the chapter
) -> Plan:
    "What a chapter would read and train, and where all that is, without network; nothing is trained or written."
    import pandas as pd

    found = loads(chapter, language, scale, **parameters)
    measured = rate_of_tokens(found, tokens_per_second) if tokens_per_second else measured_rate()
    if scale == "custom":
        options = {option: parameters.get(option) for option in _PRESETS[chapter].values()}
        check_custom(text=parameters.get("text"), **options)
    sources = _source_models(chapter, scale, parameters)
    needed = needs(chapter, language, scale, **parameters)
    languages = needed.languages
    models = [*sources.values(), *_baselines(chapter, scale, languages)]
    reads = _reads(chapter, language, scale, models, parameters, languages)
    reads += [("language adapter", name, "", where_is(name)) for name in needed.adapters]
    largest = max(map(shape_of, sources.values()), key=lambda shape: shape.parameters)
    kept = next((load.runs for load in found if load.what == "LAPT, whole model"), 0)
    return Plan(
        chapter,
        language,
        scale,
        pd.DataFrame(reads, columns=["what", "name", "part", "where"]),
        budget(chapter, language, scale, measured, **parameters),
        [(model, shape_of(model), scale_lapt(scale, preset)) for preset, model in sources.items()],
        disk_needed(largest, kept),
        hyperparameters(chapter) if chapter in PAPER_PARAMETERS else pd.DataFrame(),
        measured,
    )


def on_this_machine(chapter: str, language: str) -> str:
    "The device at hand, and what a chapter takes on it."
    device, paper = find_device(), plan(chapter, language, "paper")
    known = next(
        (
            n
            for n in MACHINES
            if n.split()[0] in device.name
            or (device.fixed_shapes and "TPU" in n)
            or ("T4" in n and "T4" in device.name)
        ),
        "",
    )
    total = sum(load.runs * load.flops for load in loads(chapter, language))
    times = (
        f"{_hours(total / (MACHINES[known].peak * SHARE) / 3600)} on this machine ({known})"
        if known
        else ", ".join(f"{_hours(total / (m.peak * SHARE) / 3600)} on {n}" for n, m in MACHINES.items())
    )
    return (
        f"Device: {device.name}, {f'{device.memory / 1e9:.0f} GB' if device.memory else 'memory not known'}, "
        f"{device.precision}.\n"
        f"At scale mini: minutes on two cores and about 2 GB of memory; nothing is downloaded.\n"
        f"At scale paper, all of the chapter with the paper's steps: about {times}, and {paper.memory:.0f} GB of "
        "memory. Set steps to a hundredth of the paper's for a first impression."
    )


COLAB = Path("/content")  # where a runtime of Colab keeps its files


def begin_on_colab(
    chapter: str,
    language: str,
    keep_on_drive: bool,  # the reader's Google Drive, which they are asked to open
) -> str:  # what `on_this_machine` says
    "Go to the folder that a chapter runs in."
    top = COLAB
    if keep_on_drive:
        from google.colab import drive

        drive.mount(str(COLAB / "drive"))
        top = COLAB / "drive" / "MyDrive"
    here = top / "vocab_lit" / "book"  # results go into ../_build
    here.mkdir(parents=True, exist_ok=True)
    os.chdir(here)
    return on_this_machine(chapter, language)
