"""Speed, memory and equality beside what people use today, in one run."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import hashlib
import importlib
import itertools
import json
import os
import platform
import re
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from tqdm.auto import tqdm

from benchmarks.baselines import (
    Meter,
    adapter_batch,
    apart,
    measure,
    open_case,
    peer_python,
    train_steps,
    trimmed_facts,
)
from vocab_lit.text.corpus import data_path, write_json
from vocab_lit.text.extras import import_extra

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast, Trainer, TrainerCallback

    from vocab_lit.training.lm_data import MaskedBlocks


@dataclass(frozen=True)
class Case:
    "Inputs for all sides."

    name: str
    arguments: dict  # of every side
    size: float | None = None  # place on the curve of growth; None: not on it
    series: str = ""  # the curve, where a part has several
    once: bool = False  # not in every round, as only its results count
    warm_up: dict | None = None  # arguments of a smaller run before
    sides: tuple = ()  # only these; empty: all of the part's


@dataclass(frozen=True)
class Part:
    "What is measured together."

    about: str  # what is compared, for the list of parts
    minutes: float  # of one round, about
    sides: dict[str, tuple[str, dict]]  # {side: (function, arguments of its own)}; the first is this package's
    # given a folder, sizes, whether all else is tiny, and models where it takes them, writes the next case's inputs
    cases: Callable[..., Iterator[Case]]
    unit: str  # of sizes
    sizes: tuple = ()  # of the curve of growth
    main: tuple = ()  # those that are measured in every round, for the claims
    tiny: tuple = ()  # sizes for a trial in seconds
    peers: tuple = ()  # the sides with environments of their own
    compare: Callable[[Path], dict] | None = None  # of the results in a case's folder
    facts: dict = field(default_factory=dict)  # {what sides tell beside time and memory: how the table writes it}
    exact: bool = False  # memory counts to the MB
    named: bool = False  # runs only when it is named
    gpu: bool = False
    takes_models: bool = False  # whether its cases can be those of models that are named


PARTS: dict[str, Part] = {}


@dataclass(frozen=True)
class Claim:
    "A number that a part should reach."

    part: str
    text: str
    value: Callable[[Runs], Iterable[float]]  # one for each round
    low: float | None = None  # at least so much
    high: float | None = None  # at most so much
    note: str = ""  # why, where it is not reached


CLAIMS: list[Claim] = []


class Runs:
    "What was measured in one part."

    def __init__(self, record: dict):  # of `run_part`
        import pandas as pd

        self.table, self.checks = pd.DataFrame(record["runs"]), record["checks"]

    def values(
        self, measure: str, side: str = "vocab_lit", case: str | float | None = None
    ) -> np.ndarray:  # case: a name or a size; None: the largest. (rounds,)
        "What one side took, round by round."
        t = self.table
        t = t[t.side == side] if side in set(t.side) else t[:0]
        if case is None:
            case = t["size"].max() if "size" in t and t["size"].notna().any() else next(iter(t["case"]), "")
        return t[(t["case"] if isinstance(case, str) else t["size"]) == case][measure].to_numpy(float)

    def ratio(
        self, measure: str, other: str, case: str | float | None = None, side: str = "vocab_lit"
    ) -> np.ndarray:  # (rounds,)
        "How many times more another side took than this package, round by round."
        theirs, ours = self.values(measure, other, case), self.values(measure, side, case)
        return theirs[: len(ours)] / ours[: len(theirs)]

    def growth(self) -> pd.DataFrame:  # columns series, side, size, cpu_seconds, extra_mb
        "Medians at each size."
        if "size" not in self.table:
            return self.table[:0]
        return (
            self.table[self.table["size"].notna()]
            .groupby(["series", "side", "size"], sort=False)[["cpu_seconds", "extra_mb", "peak_mb"]]
            .median()
            .reset_index()
        )


def exponent(sizes: Iterable[float], values: Iterable[float]) -> float:  # nan where a value is not positive
    "The slope of a curve in logarithms, by least squares."
    x, y = np.asarray(sizes, float), np.asarray(values, float)
    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if len(x) > 1 and (y > 0).all() else float("nan")


def grows(measure: str, side: str = "vocab_lit") -> Callable[[Runs], list[float]]:
    "A claim's number: the slope of one side's cost over size, in logarithms."

    def value(runs):
        t = runs.growth()
        t = t[t.side == side]
        return [exponent(t["size"], t[measure])] if len(t) else []

    return value


def write_fasttext(path: Path, words: list[str], dim: int, seed: int = 0, turn: np.ndarray | None = None) -> None:
    "Write a fastText .bin of word vectors, scattered around 200 centres, or around these turned by a matrix."
    fasttext = import_extra("fasttext", "fasttext")
    rng = np.random.default_rng(seed)
    text = path.with_suffix(".txt")
    text.write_text(
        " ".join(w for w in words for _ in range(2)) + "\n", encoding="utf-8"
    )  # twice, so that minCount drops the line end
    model = fasttext.train_unsupervised(str(text), dim=dim, minCount=2, epoch=0, maxn=0, bucket=0, thread=1, verbose=0)
    shape = model.get_input_matrix().shape
    centres = np.random.default_rng(0).normal(size=(200, dim)) @ (np.eye(dim) if turn is None else turn)
    model.set_matrices(
        (centres[rng.integers(200, size=shape[0])] + rng.normal(size=shape)).astype(np.float32),
        model.get_output_matrix(),
    )
    model.save_model(str(path))
    text.unlink()


def random_tokenizers(n_old: int, n_new: int, shared: int) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
    "Two Unigram tokenizers of random words of which so many are shared."
    from vocab_lit.tokens.vocab import toy_tokenizer

    letters = np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), (n_old + n_new, 8))
    words = list(dict.fromkeys(map("".join, letters)))
    return toy_tokenizer("unigram", words[: n_old - 5]), toy_tokenizer(
        "unigram", words[n_old - 5 - shared : n_old - 10 - shared + n_new]
    )


def write_case(folder: Path, old: PreTrainedTokenizerBase, new: PreTrainedTokenizerBase, dim: int) -> Path:
    "Write tokenizers and old embeddings."
    old.save_pretrained(folder / "old")
    new.save_pretrained(folder / "new")
    np.save(folder / "embeddings.npy", np.random.default_rng(1).normal(size=(len(old), dim)).astype(np.float32))
    return folder


def focus(meter: Meter, folder: str) -> None:
    "Rows for a new vocabulary by FOCUS, from a folder that `write_case` wrote."
    import torch

    from vocab_lit.methods.recipe import get_recipe
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.word_vectors import read_vectors

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    vectors, embeddings = read_vectors(folder / "vectors.bin", new), torch.from_numpy(embeddings)
    with meter:
        made = get_recipe("focus").plan(Vocab.from_tokenizer(old), Vocab.from_tokenizer(new), vectors).apply(embeddings)
    np.save(folder / "vocab_lit.npy", made.numpy())


def focus_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Random vocabularies of four sizes, with vectors of tokens."
    from vocab_lit.text.phrasebook import lines
    from vocab_lit.tokens.tokenizer import train_tokenizer
    from vocab_lit.tokens.vocab import Vocab

    def written(name, old, new, dim=64, vector_dim=50):
        folder = write_case(place / name, old, new, dim)
        write_fasttext(
            folder / "vectors.bin",
            [
                t.piece
                for t in Vocab.from_tokenizer(new)
                if t.kind in ("text", "byte") and not any(c.isspace() for c in t.piece)
            ],
            vector_dim,
        )
        return dict(folder=str(folder))

    warm_up = written("warm-up", *random_tokenizers(60, 40, 20), 8, 6)
    for n in sizes:
        case = written(f"{n}", *random_tokenizers(n * 5 // 2, n, n // 4), *((8, 6) if small else (768, 300)))
        yield Case(f"{n * 5 // 2:,} to {n:,} tokens, {n // 4:,} shared", case, n, warm_up=warm_up)
    if small:
        return
    text = {language: lines(language, 3000, seed=0) for language in ("en", "sw")}
    kinds = {
        k: [train_tokenizer(text[language], k, 1000) for language in ("en", "sw")]
        for k in ("unigram", "wordpiece", "bpe")
    }
    for a, b in (
        ("unigram", "unigram"),
        ("wordpiece", "wordpiece"),
        ("wordpiece", "unigram"),
        ("bpe", "bpe"),
        ("bpe", "unigram"),
    ):
        yield Case(
            f"English {a} to Swahili {b}", written(f"{a}-{b}", kinds[a][0], kinds[b][1]), once=True, warm_up=warm_up
        )


def compare_rows(folder: Path) -> dict:
    "How the two results of FOCUS differ."
    from vocab_lit.tokens.vocab import Vocab, overlap

    ours, theirs = np.load(folder / "vocab_lit.npy"), np.load(folder / "deepfocus.npy")
    old, new, embeddings = open_case(folder)
    old, new = Vocab.from_tokenizer(old), Vocab.from_tokenizer(new)
    shared = overlap(old, new)

    def is_copy(x, ids):
        return (ids >= 0) & (x == embeddings[ids]).all(1)

    table = {row.tobytes(): i for i, row in reversed(list(enumerate(embeddings)))}
    their_ids = np.array([table.get(row.tobytes(), -1) for row in theirs])
    mixed = (shared < 0) & (their_ids < 0)
    differ = np.flatnonzero(their_ids != shared)
    kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(new[i].kind for i in differ).items())
    return {
        "copied alike": int((is_copy(ours, shared) & is_copy(theirs, shared)).sum()),
        "mixed": int(mixed.sum()),
        "largest difference": float(np.abs(ours - theirs)[mixed].max(initial=0)),
        "copied otherwise": len(differ),
        "which": kinds,
    }


PARTS["focus"] = Part(
    "FOCUS beside the code of its authors: time, memory, equal rows",
    1.5,
    {"vocab_lit": ("focus", {}), "deepfocus": ("deepfocus", {})},
    focus_cases,
    "new tokens",
    (2500, 5000, 10_000, 20_000),
    (20_000,),
    (120, 240),
    ("deepfocus",),
    compare_rows,
)
CLAIMS += [
    Claim(
        "focus",
        "CPU time, deepfocus / vocab_lit, 50,000 to 20,000 tokens",
        lambda r: r.ratio("cpu_seconds", "deepfocus"),
        10,
    ),
    Claim("focus", "extra memory, deepfocus / vocab_lit, the same", lambda r: r.ratio("extra_mb", "deepfocus"), 8),
    Claim("focus", "extra memory grows with the new tokens to the power of", grows("extra_mb"), high=1.2),
    Claim(
        "focus",
        "largest difference of a mixed row, the same case",
        lambda r: [c["largest difference"] for n, c in r.checks.items() if n.startswith("50,000")],
        high=1e-4,
    ),
    Claim(
        "focus",
        "rows that are copied otherwise, the same case",
        lambda r: [c["copied otherwise"] for n, c in r.checks.items() if n.startswith("50,000")],
        high=0,
    ),
]


def wechsel(meter: Meter, folder: str) -> None:
    "Vectors of tokens, neighbours and rows by WECHSEL, from a folder that `write_case` wrote."
    import torch

    from vocab_lit.methods.recipe import get_recipe
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.align import align_tokens, read_dictionary
    from vocab_lit.vectors.word_vectors import open_words

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    words, embeddings = (
        [open_words(folder / f"{which}.bin") for which in ("source", "target")],
        torch.from_numpy(embeddings),
    )
    with meter:
        aligned = align_tokens(
            *words, old, new, read_dictionary(folder / "pairs.txt"), (folder / "subwords").read_text()
        )
        plan = get_recipe("wechsel").plan(Vocab.from_tokenizer(old), Vocab.from_tokenizer(new), aligned)
        made = plan.apply(embeddings)
    np.save(folder / "vocab_lit.npy", made.numpy())
    plan.save(folder / "plan.npz")


def product(meter: Meter, folder: str, dim: int = 300, tile: int = 512) -> None:
    "The product that any search needs, without the search."
    import torch

    from vocab_lit.vectors.align import unit_rows

    old, new, _ = open_case(Path(folder))
    rng, out = np.random.default_rng(0), torch.empty(tile, len(old))
    keys, queries = (unit_rows(rng.normal(size=(len(t), dim)).astype(np.float32)) for t in (old, new))
    with meter:
        for some in queries.split(tile):
            torch.mm(some, keys.T, out=out[: len(some)])


def wechsel_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Random vocabularies of four sizes with vectors of words."
    save_facebook_model = import_extra("gensim.models.fasttext", "fasttext").save_facebook_model
    from vocab_lit.text.phrasebook import dictionary, lines
    from vocab_lit.tokens.tokenizer import train_tokenizer
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.word_vectors import word_fasttext

    def written(name, old, new, write, pairs, dim, subwords="ngrams"):
        folder = write_case(place / name, old, new, dim)
        for which in (0, 1):
            write(which, folder / f"{('source', 'target')[which]}.bin")
        (folder / "pairs.txt").write_text("\n".join(map("\t".join, pairs)) + "\n", encoding="utf-8")
        (folder / "subwords").write_text(subwords)
        return dict(folder=str(folder))

    def scattered(n_old, n_new, dim, rows):
        old, new = random_tokenizers(n_old, n_new, 0)
        words = [[t.text.strip() for t in Vocab.from_tokenizer(t) if t.kind == "text"] for t in (old, new)]
        turn = np.linalg.qr(np.random.default_rng(2).normal(size=(dim, dim)))[0]
        return written(
            f"{n_new}",
            old,
            new,
            lambda i, path: write_fasttext(path, words[i], dim, i, turn if i else None),
            list(zip(*(w[:5000] for w in words))),
            rows,
        )

    warm_up = scattered(60, 39, 4, 8)
    for n in sizes:
        yield Case(
            f"{n * 5 // 2:,} to {n:,} tokens",
            scattered(n * 5 // 2, n, *((4, 8) if small else (300, 768))),
            n,
            warm_up=warm_up,
        )
    if small:
        return
    text = {language: lines(language, 3000, seed=i) for i, language in enumerate(("en", "sw"))}
    models = [
        word_fasttext(t, dim=32) for t in text.values()
    ]  # far fewer dimensions than pairs, so that single precision is enough for the rotation
    for kind, subwords in (("bpe", "ngrams"), ("bpe", "tfr"), ("unigram", "ngrams"), ("wordpiece", "tfr")):
        case = written(
            f"{kind}-{subwords}",
            *(train_tokenizer(t, kind, 1000) for t in text.values()),
            lambda i, path: save_facebook_model(models[i], str(path)),
            dictionary("en", "sw"),
            64,
            subwords,
        )
        yield Case(
            f"English to Swahili {kind}, {subwords}", case, once=True, warm_up=warm_up, sides=("vocab_lit", "wechsel")
        )


def compare_neighbours(folder: Path) -> dict:
    "How the two results of WECHSEL differ, and why."
    from vocab_lit.methods.recipe import load_plan
    from vocab_lit.tokens.vocab import Vocab

    ours, theirs = np.load(folder / "vocab_lit.npy"), np.load(folder / "wechsel.npy")
    source, target, _ = open_case(folder)
    old, new = map(Vocab.from_tokenizer, (source, target))
    plan = load_plan(folder / "plan.npz", new)
    sources = json.loads((folder / "sources.json").read_text(encoding="utf-8"))
    worst = 0.0
    found = Counter({"same neighbours": 0})

    def is_word(t):
        return t.kind == "text" and t.text.strip()

    for token in new:
        told = sources.get(target.convert_ids_to_tokens(token.id))
        mixed = plan.steps[plan.step[token.id]] == "NearestNeighbours"
        if not mixed or told is None:
            if not is_word(token):
                reason = "special or no text"
            elif mixed == (told is not None):
                reason = "no vector"
            else:
                reason = "vector on one side only"
            found[reason] += 1
            continue
        ids, row = source.convert_tokens_to_ids(told[0]), plan.weights[[token.id]]
        weight = dict(zip(row.indices.tolist(), row.data.tolist()))

        def text(some):
            return {old[i].text.strip() for i in some}

        if set(ids) == set(weight):
            found["same neighbours"] += 1
            worst = max(worst, float(np.abs(ours[token.id] - theirs[token.id]).max()))
        elif not all(is_word(old[i]) for i in ids):
            found["special or pieces mixed in"] += 1
        else:  # the last places are shared by tokens of one text, or of one similarity
            smallest, largest = min(weight.values()), max(weight.values())
            last = max(told[1]) + 0.1 * np.log(smallest / largest) if smallest > 0 else np.inf
            same_texts = text(set(ids) - set(weight)) <= text(weight)
            tied = same_texts or abs(min(told[1]) - last) < 1e-5
            found["equally near" if tied else "other neighbours"] += 1
    return dict(found) | {"largest difference": worst}


PARTS["wechsel"] = Part(
    "WECHSEL beside the code of its authors, and the bare product of all vectors",
    2,
    {"vocab_lit": ("wechsel", {}), "wechsel": ("wechsel", {}), "product": ("product", {})},
    wechsel_cases,
    "new tokens",
    (2500, 5000, 10_000, 20_000),
    (20_000,),
    (120,),
    ("wechsel",),
    compare_neighbours,
)
CLAIMS += [
    Claim(
        "wechsel",
        "CPU time, wechsel / vocab_lit, 50,000 to 20,000 tokens of 300 dimensions",
        lambda r: r.ratio("cpu_seconds", "wechsel"),
        2.5,
    ),
    Claim("wechsel", "CPU time, vocab_lit / bare product", lambda r: 1 / r.ratio("cpu_seconds", "product"), high=1.4),
    Claim("wechsel", "extra memory, wechsel / vocab_lit", lambda r: r.ratio("extra_mb", "wechsel"), 4),
    Claim(
        "wechsel",
        "largest difference where the neighbours are the same, all cases",
        lambda r: [max(c["largest difference"] for c in r.checks.values())] if r.checks else [],
        high=1e-4,
    ),
]


def _plain_trainers() -> dict[str, type[Trainer]]:
    "The plain Trainer on the data in their order, with the model's own loss and without any head."
    from torch.utils.data import SequentialSampler
    from transformers import Trainer

    class InOrder(Trainer):
        def _get_train_sampler(self, train_dataset=None):
            return SequentialSampler(train_dataset or self.train_dataset)

    class NoHead(InOrder):  # the encoder's output is made smaller
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            return model.base_model(input_ids=inputs["input_ids"]).last_hidden_state.float().square().mean()

    return {"plain": InOrder, "no head": NoHead}


def _clock(warm_up: int) -> TrainerCallback:  # with `times` of wall and processor
    "The time after the warm-up and after each step since."
    import torch
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        times = []

        def on_step_end(self, args, state, control, **_):
            if state.global_step < warm_up:
                return
            if torch.cuda.is_available() and state.global_step in (warm_up, state.max_steps):
                torch.cuda.synchronize()
            self.times.append((time.perf_counter(), time.process_time()))

    return Clock()


def random_model(n_tokens: int, **shape) -> PreTrainedModel:  # shape: what differs from XLM-R base
    "A model with random weights, the same each time."
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    settings = dict(
        vocab_size=n_tokens,
        max_position_embeddings=514,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return XLMRobertaForMaskedLM(XLMRobertaConfig(**settings | shape))


def make_trainer(
    side: str,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    blocks: torch.Tensor,
    batch: int,
    steps: int,
    folder: str,
) -> Trainer:
    "One side's trainer, for so many steps."
    from vocab_lit.training.lm_data import MaskedBlocks
    from vocab_lit.training.settings import LaptConfig
    from vocab_lit.training.trainer import LaptTrainer, training_arguments

    config = LaptConfig(
        steps=steps,
        batch_size=batch,
        micro_batch=batch,
        length=blocks.shape[1],
        schedule="constant",
        warmup=0,
        eval_every=10**6,
    )
    args = training_arguments(config, 0, folder, eval_strategy="no", eval_on_start=False, logging_first_step=True)
    data = MaskedBlocks(blocks, steps * batch, tokenizer)
    if side == "vocab_lit":
        return LaptTrainer(model, args, config, train_dataset=data)
    return _plain_trainers()[side](model, args, train_dataset=data)


def count_flops(
    side: str,
    model: PreTrainedModel,
    data: MaskedBlocks,
) -> int:  # of one forward and backward pass over all of the data
    "Floating-point operations of a side, as torch counts them, without what is computed again to save memory."
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from vocab_lit.training.lm_loss import lm_loss

    batch = {k: torch.stack([row[k] for row in data]).to(model.device) for k in ("input_ids", "labels")}
    with (
        torch.autocast(model.device.type, torch.bfloat16, enabled=side == "vocab_lit" and model.device.type == "cuda"),
        FlopCounterMode(display=False) as counter,
    ):
        (lm_loss(model, **batch, max_logits=2**62) if side == "vocab_lit" else model(**batch).loss).backward()
    return counter.get_total_flops()


def lapt(
    meter: Meter,
    side: str,
    n_tokens: int,
    batch: int,
    length: int,
    steps: int,  # that are measured
    **shape,  # passed to `random_model`
) -> dict:
    "Steps of training after a warm-up: this package's, or what it is compared with."
    import torch

    from vocab_lit.tokens.vocab import toy_tokenizer
    from vocab_lit.training.trainer import answering_with_loss

    tokenizer = toy_tokenizer("unigram", (f"w{i}" for i in range(n_tokens - 5)))
    model = random_model(n_tokens, **shape)
    warm_up = 1
    blocks = torch.randint(
        5, n_tokens - 5, (batch * (warm_up + steps), length), generator=torch.Generator().manual_seed(0)
    )
    clock = _clock(warm_up)
    with (
        tempfile.TemporaryDirectory() as folder,
        answering_with_loss(model) if side == "vocab_lit" else contextlib.nullcontext(),
    ):
        trainer = make_trainer(side, model, tokenizer, blocks, batch, warm_up + steps, folder)
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


_TINY = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)


def lapt_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Models of XLM-R base's shape with four sizes of vocabulary."
    for n in sizes:
        yield Case(
            f"XLM-R base, {n:,} tokens",
            dict(n_tokens=n, steps=2) | (dict(batch=4, length=16, **_TINY) if small else dict(batch=4, length=256)),
            n,
        )


def _sides(call, *names):
    return {name: (call, dict(side=name)) for name in names}


PARTS["lapt"] = Part(
    "training steps beside the same Trainer with the model's own loss, and without any head",
    5,
    _sides("lapt", "vocab_lit", "plain", "no head"),
    lapt_cases,
    "tokens in the vocabulary",
    (32_000, 64_000, 128_000, 250_002),
    (32_000, 250_002),
    (300,),
    facts=dict(tokens_per_cpu_second="tokens per CPU-second", loss="loss of the first step"),
)
CLAIMS += [
    Claim(
        "lapt", "tokens per CPU-second, vocab_lit / plain, 250,002 tokens", lambda r: r.ratio("cpu_seconds", "plain"), 2
    ),
    Claim(
        "lapt",
        "the same without any head / plain, which is the limit",
        lambda r: r.ratio("cpu_seconds", "plain", side="no head"),
    ),
    Claim(
        "lapt",
        "tokens per CPU-second, vocab_lit / plain, 32,000 tokens",
        lambda r: r.ratio("cpu_seconds", "plain", 32_000),
    ),
    Claim(
        "lapt",
        "difference of the two losses of the first step",
        lambda r: abs(r.values("loss") - r.values("loss", "plain")),
        high=1e-5,
    ),
]


def write_text(path: Path, mb: float) -> None:
    "Write numbered phrasebook lines until the file has so many MB."
    from vocab_lit.text.phrasebook import lines

    enough = int(mb * 10**6 / 20) + 1  # lines are longer than 20 bytes
    size, some = 0, lines("sw", min(enough, 5000), seed=0)
    with open(path, "wb") as f:
        for i, line in enumerate(itertools.cycle(some)):
            size += f.write(f"{line} {i}\n".encode())
            if size >= mb * 10**6:
                return


def memory(meter: Meter, file: str, steps: int = 4) -> None:
    "From reading the file to the saved model."
    from vocab_lit.training.settings import LaptConfig
    from vocab_lit.training.training_run import lapt_files

    out = f"{file}.out"
    with meter:
        lapt_files(
            data_path("models", "mini-xlmr"),
            [file],
            out,
            LaptConfig(steps=steps, batch_size=8, length=72, eval_every=steps),
            say=lambda _: None,
        )
    shutil.rmtree(out)


def memory_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Files of text of growing size."
    for mb in sizes:
        write_text(file := place / f"{mb}.txt", mb)
        yield Case(f"{mb} MB of text", dict(file=str(file), steps=1 if small else 4), mb)


PARTS["memory"] = Part(
    "peak memory of training on ever larger files of text",
    3,
    {"vocab_lit": ("memory", {})},
    memory_cases,
    "MB of text",
    (5, 10, 20, 40),
    (5, 40),
    (0.02,),
    exact=True,
)
CLAIMS += [
    Claim(
        "memory",
        "peak memory with 40 MB of text / with 5 MB",
        lambda r: r.values("peak_mb", case=40) / r.values("peak_mb", case=5),
        high=1.02,
    )
]


_HEAPS = 0.6  # power of the text's length with which the number of different words grows


def write_zipf_text(path: Path, mb: float, seed: int = 0) -> None:
    "Write lines of words by Zipf's law until the file has so many MB."
    from vocab_lit.text.phrasebook import lines

    known = list(dict.fromkeys(word for line in lines("sw", 400, seed=0) for word in line.split() if word.isalpha()))
    rng, size, letters = np.random.default_rng(seed), 0, "aeioubdgklmnprstwyz"

    def word(rank):
        more, at = divmod(rank, len(known))
        changed = known[at]
        while more:
            more, letter = divmod(more - 1, len(letters))
            changed += letters[letter]
        return changed

    word = functools.lru_cache(200_000)(word)
    with open(path, "wb") as f:
        while size < mb * 10**6:
            ranks = 10 * (rng.random(12_000) ** (-1 / _HEAPS) - 1)
            words = map(word, np.minimum(ranks, 1e9).astype(int).tolist())
            size += f.write("".join(" ".join(line) + "\n" for line in zip(*[words] * 12)).encode())


def _stages(small: bool) -> dict:  # {name: what is done with lines}
    from vocab_lit.text.corpus import Amount, clean, sample_lines
    from vocab_lit.tokens.tokenizer import KINDS, train_tokenizer
    from vocab_lit.vectors.word_vectors import word_fasttext

    size = 300 if small else 8_000
    return {
        "read": lambda lines: sum(1 for _ in lines),
        "clean": lambda lines: sum(1 for _ in clean(lines)),
        "sample": lambda lines: len(sample_lines(lines, Amount(5_000_000, bytes=True))),
        **{kind: functools.partial(train_tokenizer, kind=kind, vocab_size=size) for kind in KINDS},
        "vectors": lambda lines: word_fasttext(lines, dim=32, epochs=1, min_count=5),
    }


def text_stage(meter: Meter, stage: str, file: str, small: bool) -> None:
    "One thing that is done with all lines of a file."
    from vocab_lit.text.corpus import Lines

    do = _stages(small)[stage]
    with meter, warnings.catch_warnings(action="ignore"):  # one epoch is few
        do(Lines(file))


def text_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Every stage on files of growing size."
    for mb in sizes:
        write_zipf_text(file := place / f"{mb}.txt", mb)
        for stage in _stages(small):
            yield Case(f"{stage}, {mb:g} MB", dict(stage=stage, file=str(file), small=small), mb, stage)
        file.unlink()


PARTS["text"] = Part(
    "time and memory of reading, cleaning and sampling text, and of training tokenizers and vectors on it",
    60,
    {"vocab_lit": ("text_stage", {})},
    text_cases,
    "MB of text",
    (10, 30, 100, 1000),
    (),
    (0.3,),
    exact=True,
    named=True,
)


def _stage(runs, stage, measure):  # a number for each size
    table = runs.growth()
    table = table[table.series == stage]
    return table["size"].tolist(), table[measure].tolist()


CLAIMS += [
    Claim(
        "text",
        f"CPU time of {stage} over MB of text, exponent",
        lambda r, stage=stage: [exponent(*_stage(r, stage, "cpu_seconds"))],
        high=1.05,
    )
    for stage in ("read", "clean", "sample", "unigram", "wordpiece", "bpe", "vectors")
] + [
    Claim(
        "text",
        f"peak memory of {stage}, largest text / smallest",
        lambda r, stage=stage: [max(peaks := _stage(r, stage, "peak_mb")[1]) / peaks[0]],
        high=high,
    )
    for stage, high in (("read", 1.05), ("sample", 1.1), ("unigram", None), ("bpe", None), ("vectors", None))
]


@contextlib.contextmanager
def adapter_model(
    what: str,  # language or task
    shape: dict,  # what differs from BERT base
) -> Iterator[PreTrainedModel]:  # a BERT in which only that learns
    "A random model with adapters, as `lapt` and `fine_tune` train it."
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertForTokenClassification

    from vocab_lit.models.madx import MadX

    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(**shape, num_labels=17)
        madx = MadX(BertForMaskedLM(config))
        madx.add_language("lang")
        if what == "language":
            with madx.learning("lang") as model:
                yield model.train()
        else:
            attach = madx.attach("task", "lang")
            tagger = BertForTokenClassification(config)
            attach(tagger, tagger.classifier.parameters())
            madx = attach = None  # the other model is not needed any more
            gc.collect()
            yield tagger.train()


def flops_below(model: PreTrainedModel, inputs: dict) -> int:
    "Operations of a forward pass before the first module that learns: these need no backward pass."
    from torch.utils.flop_counter import FlopCounterMode

    counts, handles = [], []
    with FlopCounterMode(display=False) as counter:
        for m in model.modules():
            if any(p.requires_grad for p in m.parameters(recurse=False)):
                handles.append(m.register_forward_pre_hook(lambda *_: counts.append(counter.get_total_flops())))
        model(**inputs)
    for h in handles:
        h.remove()
    return counts[0]


def adapters(meter: Meter, side: str, what: str, steps: int, batch: int, length: int, shape: dict) -> dict:
    "Steps of training with a language adapter or a task adapter."
    from transformers import BertConfig

    from vocab_lit.training.lm_loss import lm_loss

    with contextlib.ExitStack() as stack:

        def make():
            model = stack.enter_context(adapter_model(what, shape))
            at_labels = (side, what) == ("vocab_lit", "language")
            return model, lambda: lm_loss(model, **inputs) if at_labels else model(**inputs).loss

        inputs = adapter_batch(what, batch, length, BertConfig(**shape).vocab_size)
        told = train_steps(meter, lambda: made.append(make()) or made[0], steps) if (made := []) == [] else {}
        return told | dict(below_gflop=flops_below(made[0][0], inputs) / 1e9)


_TASK = "task on a language that stays"


def adapters_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Batches of growing size with a language adapter, and one with a task adapter."
    more = (
        dict(steps=2, length=16, shape=dict(vocab_size=300, max_position_embeddings=16) | _TINY)
        if small
        else dict(steps=2, length=128, shape={})
    )
    for batch in sizes:
        yield Case(f"language, {batch} blocks", dict(what="language", batch=batch, **more), batch)
    yield Case(_TASK, dict(what="task", batch=4 if small else 8, **more), sides=("vocab_lit", "adapters"))


PARTS["adapters"] = Part(
    "training steps with adapters beside AdapterHub's package",
    3,
    _sides("adapters", "vocab_lit", "all positions") | {"adapters": ("adapters", {})},
    adapters_cases,
    "blocks of 128 tokens",
    (1, 2, 4, 8),
    (8,),
    (4,),
    ("adapters",),
    facts=dict(gflop="GFLOP of a step", below_gflop="before what learns", trained="weights that learn"),
)
CLAIMS += [
    Claim(
        "adapters",
        "CPU time of a step, adapters / vocab_lit, language adapter, 8 blocks",
        lambda r: r.ratio("cpu_seconds", "adapters"),
        1,
    ),
    Claim(
        "adapters",
        "peak memory, adapters / vocab_lit, the same",
        lambda r: r.ratio("peak_mb", "adapters"),
        1,
        note="importing this package takes more memory than that one; beyond the imports it takes less",
    ),
    Claim(
        "adapters",
        "memory beyond the imports, adapters / vocab_lit, the same",
        lambda r: r.ratio("extra_mb", "adapters"),
        1,
    ),
    Claim(
        "adapters",
        "CPU time of a step, adapters / vocab_lit, task adapter",
        lambda r: r.ratio("cpu_seconds", "adapters", _TASK),
        1.3,
        note="a task adapter stands in every layer from the first on, and both compute the same; what lies below the "
        "first is a twelfth of the forward pass",
    ),
]


def embedding_like(n_tokens: int, dim: int, seed: int = 0) -> np.ndarray:  # float32
    "A matrix like embeddings: falling spread over rotated dimensions, and a few dimensions ten times as large."
    rng = np.random.default_rng(seed)
    rows, spread = rng.standard_normal((n_tokens, dim), np.float32), (1 + np.arange(dim)) ** -0.5
    rows = rows * spread.astype(np.float32) @ np.linalg.qr(rng.standard_normal((dim, dim)))[0].astype(np.float32)
    rows[:, rng.choice(dim, 3, replace=False)] *= 10
    return rows + (0.3 * rows.std() * rng.standard_normal(dim)).astype(np.float32)


def printed_steps(
    X: np.ndarray, G: np.ndarray, n: int
) -> np.ndarray:  # G after n updates as Ding et al. (2010) print them
    "The multiplicative updates of Semi-NMF as they are printed, with the whole matrix in each step."
    plus, minus = lambda M: (abs(M) + M) / 2, lambda M: (abs(M) - M) / 2
    for _ in range(n):
        F = X @ G.T @ np.linalg.inv(G @ G.T)
        FX, FF = F.T @ X, F.T @ F
        G = G * np.sqrt((plus(FX) + minus(FF) @ G) / (minus(FX) + plus(FF) @ G + 1e-9))
    return G


def nmf(meter: Meter, side: str, n_tokens: int, dim: int, components: int, steps: dict[str, int]) -> dict:
    "A factorisation of an embedding matrix: its seconds and its error."
    from vocab_lit.methods.semi_nmf import SemiNMF

    X, start = embedding_like(n_tokens, dim), np.random.default_rng(1).random((components, dim)) + 1e-4

    def fit(n):
        return SemiNMF(components, "mu" if side == "vocab_lit" else side, start, max_iter=n).fit(X)

    run = (lambda n: printed_steps(X.astype(np.float64), start, n)) if side == "printed" else fit
    with (once := Meter()):
        run(1)  # threads and memory are there
    with meter:
        made = run(steps[side])
    cpu, n = meter.record["cpu_seconds"], steps[side]
    step = (cpu - once.record["cpu_seconds"]) / (n - 1)
    if side == "printed":
        return dict(cpu_seconds=steps["vocab_lit"] * step, step_seconds=step)
    return dict(step_seconds=step, error=float(made.reconstruction_err_ / np.linalg.norm(X)))


def nmf_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Matrices of four sizes."
    more = (
        dict(dim=32, components=6, steps=dict(vocab_lit=60, hals=10, printed=3))
        if small
        else dict(dim=768, components=100, steps=dict(vocab_lit=3000, hals=300, printed=3))
    )
    for n in sizes:
        yield Case(f"{n:,} tokens", dict(n_tokens=n, **more), n)


PARTS["nmf"] = Part(
    "a factorisation (3,000 steps of mu, 300 of hals) beside the updates as they are printed",
    3,
    _sides("nmf", "vocab_lit", "hals", "printed"),
    nmf_cases,
    "tokens",
    (30_000, 60_000, 120_000, 250_000),
    (30_000, 120_000, 250_000),
    (400, 800),
    facts=dict(step_seconds="seconds of a step", error="relative error"),
)
_MU = 120_000
CLAIMS += [
    Claim(
        "nmf",
        "CPU seconds, 3,000 steps of mu, 120,000 x 768, 100 components",
        lambda r: r.values("cpu_seconds", case=_MU),
        high=40,
    ),
    Claim("nmf", "CPU time, printed updates / mu, measured here", lambda r: r.ratio("cpu_seconds", "printed", _MU)),
    Claim(
        "nmf",
        "CPU time, the paper's package (reported with 4.0 s a step; not run) / mu",
        lambda r: 12_000 / r.values("cpu_seconds", case=_MU),
        200,
    ),
    Claim("nmf", "CPU seconds, 300 steps of hals", lambda r: r.values("cpu_seconds", "hals", _MU), high=15),
    Claim("nmf", "error of hals / error of mu", lambda r: r.ratio("error", "hals", _MU), high=1),
    Claim(
        "nmf",
        "a step of mu, 250,000 tokens / 30,000",
        lambda r: r.values("step_seconds", case=250_000) / r.values("step_seconds", case=30_000),
        high=1.1,
    ),
]


def write_trim_case(folder: Path, n_tokens: int, dim: int, n_lines: int) -> dict:
    "Write a masked model with so many tokens, and a text that needs a twentieth of them."
    from tokenizers import pre_tokenizers
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    from vocab_lit.tokens.tokenizer import save_tokenizer
    from vocab_lit.tokens.vocab import toy_tokenizer

    rng, letters = np.random.default_rng(0), "abcdefghijklmnopqrstuvwxyz"
    words = list(dict.fromkeys(map("".join, rng.choice(list(letters), (n_tokens, 8)))))[: n_tokens - 5 - len(letters)]
    tokenizer = toy_tokenizer("unigram", words, letters)
    splits = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]  # as XLM-R's
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    shape = dict(hidden_size=dim, num_hidden_layers=1, num_attention_heads=2, intermediate_size=dim)
    config = XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, **shape)
    XLMRobertaForMaskedLM(config).save_pretrained(folder / "model")
    save_tokenizer(tokenizer, folder / "model")
    ranks = ((n_tokens // 20) ** rng.random((n_lines, 18))).astype(int)  # Zipf's law
    (folder / "text").mkdir()
    lines = (" ".join(words[20 * rank - 20] for rank in row) for row in ranks)
    (folder / "text/train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return dict(folder=str(folder))


def trimmed(meter: Meter, folder: str) -> dict:
    "A model trimmed to a text, from a folder that `write_trim_case` wrote."
    from vocab_lit.app.pipeline import trim_files

    from vocab_lit.tokens.settings import TrimSettings

    folder = Path(folder)
    out = folder / "vocab_lit"
    shutil.rmtree(out, ignore_errors=True)
    with meter:
        trim_files(folder / "model", [folder / "text/train.txt"], out, TrimSettings(coverage=1, characters="none"))
    return trimmed_facts(out)


def trim_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Vocabularies of four sizes."
    warm_up = write_trim_case(place / "warm-up", 400, 8, 20)
    for n in sizes:
        case = write_trim_case(place / f"{n}", n, 8 if small else 128, 20 if small else 10_000)
        yield Case(f"{n:,} tokens", case, n, warm_up=warm_up)


def compare_trimmed(folder: Path) -> dict:
    "How many lines of the text each result divides otherwise than the source's tokenizer."
    from transformers import AutoTokenizer

    def pieces(name):
        tokenizer = AutoTokenizer.from_pretrained(folder / name)
        return [tokenizer.convert_ids_to_tokens(row) for row in tokenizer(lines)["input_ids"]]

    lines, found = (folder / "text/train.txt").read_text(encoding="utf-8").splitlines()[:1000], {}
    due = pieces("model")
    for name in ("vocab_lit", *PARTS["trim"].peers):
        if (folder / name / "tokenizer.json").is_file():
            found[f"lines otherwise, {name}"] = sum(a != b for a, b in zip(due, pieces(name)))
    return found


PARTS["trim"] = Part(
    "a vocabulary trimmed to a text, beside vocabtrimmer and skeletoken: time, memory, size, equal tokens",
    3,
    {"vocab_lit": ("trimmed", {}), "vocabtrimmer": ("vocabtrimmer", {}), "skeletoken": ("skeletoken", {})},
    trim_cases,
    "tokens",
    (31_250, 62_500, 125_000, 250_000),
    (250_000,),
    (400,),
    ("vocabtrimmer", "skeletoken"),
    compare_trimmed,
    dict(rows="embeddings left", folder_mb="MB of the folder"),
)


def _rows_beside(runs):  # those of the smallest other side
    others = [runs.values("rows", peer) for peer in PARTS["trim"].peers if peer in set(runs.table.side)]
    return runs.values("rows") / np.min(others, 0) if others else []


CLAIMS += [
    Claim(
        "trim",
        f"CPU time, {peer} / vocab_lit, 250,000 tokens",
        lambda r, peer=peer: r.ratio("cpu_seconds", peer),
        5,
        note="the tokenizer is read by transformers on both sides, a third of our time",
    )
    for peer in PARTS["trim"].peers
] + [
    Claim("trim", "embeddings left, vocab_lit / the smallest other side, the same", _rows_beside, high=1.001),
    Claim(
        "trim",
        "lines of the text divided otherwise by vocab_lit",
        lambda r: [c["lines otherwise, vocab_lit"] for c in r.checks.values()],
        high=0,
    ),
]


def _expanded(side: str, source: PreTrainedTokenizerBase, lines: Iterable[str], n: int) -> PreTrainedTokenizerBase:
    "A byte-level BPE tokenizer with n more tokens of a text, or fewer where a side finds fewer."
    from tokenizers import Tokenizer, models, trainers

    from vocab_lit.tokens.continued import extend_on_text
    from vocab_lit.tokens.expansion import expand_tokenizer
    from vocab_lit.tokens.tokenizer import train_tokenizer_like
    from vocab_lit.tokens.vocab import Vocab, overlap

    if side == "vocab_lit":
        return extend_on_text(source, lines, n).tokenizer
    if side == "auxiliary":
        language = train_tokenizer_like(source, lines, n + len(source), "bpe")
        lacking = np.cumsum(overlap(Vocab.from_tokenizer(source), Vocab.from_tokenizer(language)) < 0)
        return expand_tokenizer(source, language, int(np.searchsorted(lacking, n)) + 1)
    fresh = Tokenizer(models.BPE())
    fresh.pre_tokenizer = source.backend_tokenizer.pre_tokenizer
    fresh.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=n, show_progress=False))
    made, decoder = copy.deepcopy(source), source.backend_tokenizer.decoder
    words = [decoder.decode([piece]) for piece in fresh.get_vocab()]
    made.add_tokens([word for word in words if "�" not in word])  # bytes that are no text
    return made


def expansion(meter: Meter, side: str, folder: str, n: int) -> dict:
    "A tokenizer with tokens of a text, from a folder with both."
    from vocab_lit.text.corpus import Lines
    from vocab_lit.tokens.tokenizer import load_tokenizer
    from vocab_lit.tokens.vocab import fertility

    folder = Path(folder)
    source = load_tokenizer(folder / "source")
    with meter:
        made = _expanded(side, source, Lines(folder / "text.txt"), n)
    unseen = list(Lines(folder / "unseen.txt"))
    used = set(itertools.chain(*made(unseen)["input_ids"]))
    new = set(range(len(source), len(made)))
    return dict(added=len(new), tokens_per_word=fertility(made, unseen), in_use=len(new & used) / len(new))


def expansion_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Texts of four sizes, with one source tokenizer and one text to judge by."
    from vocab_lit.text.phrasebook import lines
    from vocab_lit.tokens.tokenizer import train_tokenizer

    source = train_tokenizer(lines("en", 300 if small else 3000, seed=0), "bpe", 400 if small else 2000)
    for mb in sizes:
        folder = place / f"{mb}"
        source.save_pretrained(folder / "source")
        write_zipf_text(folder / "text.txt", mb)
        write_zipf_text(folder / "unseen.txt", min(mb, 1), seed=1)
        yield Case(f"{mb:g} MB", dict(folder=str(folder), n=100 if small else 4000), mb)


PARTS["expansion"] = Part(
    "tokens of a text added to a tokenizer: its merges go on, a second tokenizer, or words by hand",
    6,
    _sides("expansion", "vocab_lit", "auxiliary", "trainer"),
    expansion_cases,
    "MB of text",
    (1, 3, 10, 50),
    (10,),
    (0.05,),
    facts=dict(added="tokens added", tokens_per_word="tokens per word", in_use="share of the added in use"),
)
CLAIMS += [
    Claim(
        "expansion",
        "tokens per word, vocab_lit / auxiliary, 10 MB",
        lambda r: 1 / r.ratio("tokens_per_word", "auxiliary", 10),
        high=1,
    ),
    Claim("expansion", "CPU time over MB of text, exponent", grows("cpu_seconds"), high=1.1),
    Claim("expansion", "extra memory over MB of text, exponent", grows("extra_mb"), high=0.8),
]


def write_decoder(folder: Path, n_tokens: int, hidden: int, layers: int = 32) -> None:
    "Write a Llama in bf16, a file for each layer, one in memory at a time."
    import torch
    from safetensors.torch import save_file
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=n_tokens,
        hidden_size=hidden,
        intermediate_size=hidden * 9 // 4,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        num_key_value_heads=hidden // 256 or 1,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        dtype="bfloat16",
        architectures=["LlamaForCausalLM"],
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=1,
    )
    config.save_pretrained(folder)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in LlamaForCausalLM(config).named_parameters()}
    inner = {
        name: torch.randn(shape, dtype=torch.bfloat16) * 0.02 for name, shape in shapes.items() if ".layers.0." in name
    }
    files = {
        "model-head.safetensors": ["lm_head.weight", "model.norm.weight"],
        "model-embeddings.safetensors": ["model.embed_tokens.weight"],
    }
    files |= {f"model-{n:02}.safetensors": [name.replace(".0.", f".{n}.") for name in inner] for n in range(layers)}
    for file, names in files.items():
        save_file(
            {
                n: inner[re.sub(r"layers\.\d+", "layers.0", n)]
                if ".layers." in n
                else torch.randn(shapes[n], dtype=torch.bfloat16) * 0.02
                for n in names
            },
            folder / file,
            {"format": "pt"},
        )
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": {n: file for file, names in files.items() for n in names}})
    )


def _digest(folder: Path) -> str:  # of all tensors by name, whatever files they are in
    import torch
    from safetensors import safe_open

    found = {}
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as f:
            found |= {
                name: hashlib.sha256(f.get_tensor(name).view(torch.uint8).numpy()).hexdigest()
                for name in f.keys()  # noqa: SIM118 (a file has no iterator)
            }
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def transplant(meter: Meter, side: str, model: str, tokenizer: str, vectors: str, out: str) -> dict:
    "A new vocabulary for a decoder, in its files or with the model in memory."
    import vocab_lit.app.pipeline as pipeline

    from vocab_lit.methods.settings import TransplantSettings
    from vocab_lit.models.lazy_weights import stored_tensors
    from vocab_lit.models.source import Source

    whole = patch.object(Source, "open_weights", Source.load) if side == "loaded" else contextlib.nullcontext()
    with whole, meter:
        pipeline.transplant_files(model, [], out, TransplantSettings.of(tokenizer=tokenizer, vectors=vectors))

    def token_bytes(folder):
        stored = stored_tensors(folder)
        return sum(stored[name].size for name in ("lm_head.weight", "model.embed_tokens.weight") if name in stored)

    tokens = max(map(token_bytes, (model, out))) / 2**20
    told = dict(tokens_mb=tokens, times=meter.record["extra_mb"] / tokens, digest=_digest(Path(out)))
    shutil.rmtree(out)
    return told


def transplant_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Decoders of growing width, with two sizes of the new vocabulary."
    from vocab_lit.vectors.token_vectors import TokenVectors, save_vectors

    n_old, layers, news = (300, 2, (200,)) if small else (128_256, 32, (50_000, 128_256))
    rng = np.random.default_rng(0)
    for n in news:
        old, new = random_tokenizers(n_old, n, n // 5)
        new.save_pretrained(place / f"{n}")
        points = rng.normal(size=(200, 64))[rng.integers(200, size=n)] + rng.normal(size=(n, 64))
        save_vectors(TokenVectors(points.astype(np.float32), np.arange(n) > 4, "random"), new, place / f"{n}.npz")
    for width in sizes:
        (model := place / f"model-{width}").mkdir()
        write_decoder(model, n_old, width, layers)
        old.save_pretrained(model)
        for n in news:
            case = dict(
                model=str(model), tokenizer=str(place / f"{n}"), vectors=str(place / f"{n}.npz"), out=str(place / "out")
            )
            yield Case(f"{width} dimensions, {n_old:,} to {n:,} tokens", case, width, f"to {n:,} tokens")
        shutil.rmtree(model)


PARTS["transplant"] = Part(
    "a decoder of up to 6 billion weights gets a new vocabulary, in its files or loaded (25 GB of disk)",
    12,
    _sides("transplant", "vocab_lit", "loaded"),
    transplant_cases,
    "dimensions",
    (512, 1024, 2048, 4096),
    (4096,),
    (128,),
    facts=dict(tokens_mb="MB of embeddings and head", times="extra over these", digest="result"),
    exact=True,
    named=True,
)
CLAIMS += [
    Claim(
        "transplant",
        "extra memory / embeddings and head, weights in their files, largest decoder",
        lambda r: r.values("times"),
        high=1.5,
    ),
    Claim("transplant", "the same with all weights loaded", lambda r: r.values("times", "loaded")),
    Claim(
        "transplant",
        "different results of the two ways",
        lambda r: r.table.groupby("case").digest.nunique() - 1,
        high=0,
    ),
]


def load(meter: Meter, side: str, file: str, probe: list[str]) -> dict:
    "Word vectors read from a file, and a few of them looked up."
    from vocab_lit.vectors.word_vectors import open_words

    def look_up():
        if side == "vocab_lit":
            return open_words(file).vector
        if side == "gensim":
            from gensim.models import KeyedVectors

            return KeyedVectors.load_word2vec_format(file).get_vector
        import fasttext

        return fasttext.load_model(file).get_word_vector

    with meter:
        vector = look_up()
        sums = sum(float(abs(vector(word)).sum()) for word in probe)
    return dict(sums=sums)


def load_tokens(meter: Meter, side: str, folder: str) -> dict:
    "A tokenizer read from a folder, and what its tokens are."
    from transformers import AutoTokenizer

    from vocab_lit.tokens.tokenizer import load_tokenizer
    from vocab_lit.tokens.vocab import Vocab

    with meter:
        n = len(
            Vocab.from_tokenizer(load_tokenizer(folder))
            if side == "vocab_lit"
            else AutoTokenizer.from_pretrained(folder)
        )
    return dict(sums=n)


def load_any(meter: Meter, side: str, **arguments) -> dict:
    "Either of the two, by the arguments given."
    return (load_tokens if "folder" in arguments else load)(meter, side, **arguments)


def load_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Files of vectors and tokenizers of four sizes."
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.token_vectors import write_table

    dim = 8 if small else 300
    for n in sizes:
        tokenizer = random_tokenizers(n, 10, 0)[0]
        tokenizer.save_pretrained(place / f"{n}")
        yield Case(
            f"tokenizer of {n:,} tokens",
            dict(folder=str(place / f"{n}")),
            n,
            "tokenizer",
            sides=("vocab_lit", "transformers"),
        )
        words = [t.text for t in Vocab.from_tokenizer(tokenizer) if t.kind == "text"]
        probe = words[:: max(1, n // 1000)]
        write_fasttext(place / "v.bin", words, dim)
        yield Case(
            f".bin of {n:,} words",
            dict(file=str(place / "v.bin"), probe=probe),
            n,
            ".bin",
            sides=("vocab_lit", "fasttext"),
        )
        write_table(place / "v.vec", words, np.random.default_rng(0).normal(size=(len(words), dim)).astype(np.float32))
        yield Case(
            f".vec of {n:,} words",
            dict(file=str(place / "v.vec"), probe=probe),
            n,
            ".vec",
            sides=("vocab_lit", "gensim"),
        )


PARTS["load"] = Part(
    "word vectors (.vec, .bin) and tokenizers of up to 250,000 read, beside gensim, fastText and transformers",
    4,
    _sides("load_any", "vocab_lit", "gensim", "fasttext", "transformers"),
    load_cases,
    "words or tokens",
    (31_250, 62_500, 125_000, 250_000),
    (250_000,),
    (200,),
)
CLAIMS += [
    Claim(
        "load",
        f"CPU time, {other} / vocab_lit, {what}",
        lambda r, other=other, case=case: r.ratio("cpu_seconds", other, case),
    )
    for other, what, case in (
        ("gensim", "a .vec of 250,000 x 300", ".vec of 250,000 words"),
        ("fasttext", "a .bin of 250,000 x 300", ".bin of 250,000 words"),
        ("transformers", "a tokenizer of 250,000", "tokenizer of 250,000 tokens"),
    )
]


def environment() -> dict:
    "What the numbers were measured with; nothing that names the machine."
    from vocab_lit.models.device import find_device

    flags = set()
    with contextlib.suppress(OSError):
        flags = set(Path("/proc/cpuinfo").read_text().split())
    device = find_device()
    return dict(
        device=device.kind if device.kind == "cpu" else device.name,
        processor=platform.machine(),
        cores=os.cpu_count(),
        memory_gb=round(device.memory / 2**30) if device.memory else None,
        instructions=[f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f in flags],
        system=platform.system(),
        python=platform.python_version(),
        versions={name: version(name) for name in ("torch", "numpy", "transformers", "gensim", "fasttext")},
        date=str(date.today()),
    )


def turns(
    part: Part,
    case: Case,
    rounds: int,
    sizes: tuple,  # of the part, as they are measured
    missing: tuple = (),  # sides whose package is not there
) -> list[tuple[int, str]]:  # (round, side)
    "Who runs when: ours, theirs, ours, theirs."
    once = case.once or not (case.size is None or case.size in part.main or case.size == max(sizes))
    return [(n, side) for n in range(1 if once else rounds) for side in case.sides or part.sides if side not in missing]


def _function(name):
    "A side's function: of this module, or by its full name."
    module, _, name = name.rpartition(".")
    return getattr(importlib.import_module(module), name) if module else globals()[name]


def _check_part(name, small, models) -> None:
    "`ValueError` where a part cannot be measured here."
    import torch

    part = PARTS[name]
    if part.gpu and not small and not torch.cuda.is_available():
        raise ValueError(f"{name}: there is no GPU that torch can use here")
    if models and not part.takes_models:
        taking = " and ".join(name for name, part in PARTS.items() if part.takes_models)
        raise ValueError(f"{name} measures what it makes; only {taking} takes models")


def run_part(
    name: str,  # of PARTS
    rounds: int = 3,  # how often the sides run on the cases of the claims, in turns
    small: bool = False,  # tiny sizes, once, this package's sides in this process
    folder: str | Path = "_build/bench",  # where environments of other packages are
    install: bool = False,  # whether to make that which is missing
    largest: float = float("inf"),  # leave out larger sizes
    models: Sequence[str] = (),  # folders or hub names, where the part takes them; none: its own
) -> dict:  # environment, rounds, runs, checks
    "Measure one part."

    part, runs, checks = PARTS[name], [], {}
    pythons = {peer: peer_python(peer, folder, install) for peer in part.peers}
    missing = tuple(peer for peer, python in pythons.items() if not python)

    def run(case, side):
        call, own = part.sides[side]
        given = [dict(a, **own) if a else None for a in (case.arguments, case.warm_up)]
        if side in pythons:
            return apart(call, *given, python=pythons[side])
        if small:
            return measure(_function(call), *given)
        full = call if "." in call else f"benchmarks.bench.{call}"
        return apart(full, *given, threads="" if part.gpu else "1", exact=part.exact)

    sizes = part.tiny if small else tuple(s for s in part.sizes if s <= largest)
    with tempfile.TemporaryDirectory() as place, tqdm(desc=name, unit=" runs") as bar:
        named = dict(models=models) if models else {}
        for case in part.cases(Path(place), sizes, small, **named):
            for n, side in turns(part, case, 1 if small else rounds, sizes, missing):
                told = dict(case=case.name, series=case.series, size=case.size, side=side, round=n) | run(case, side)
                runs.append({k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in told.items()})
                bar.update()
            if part.compare and len(missing) < len(pythons):
                checks[case.name] = part.compare(Path(case.arguments["folder"]))
    return dict(environment=environment(), rounds=rounds, runs=runs, checks=checks)


def _number(x: float | None) -> str:
    if x is None or x != x:
        return ""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


def _spread(values: Iterable[float], digits: int = 2) -> str:  # the median, and between what it lies
    values = np.asarray(list(values), float)
    told = f"{np.median(values):.{digits}f}" if len(values) else ""
    return told + (f" ({values.min():.{digits}f} to {values.max():.{digits}f})" if len(values) > 1 else "")


def side_table(name: str, record: dict) -> pd.DataFrame:  # a row for each case and side
    "Medians over the rounds; ratios say how many times more than this package a side takes."
    import pandas as pd

    runs, rows, part = Runs(record), [], PARTS[name]
    for (case, side), t in runs.table.groupby(["case", "side"], sort=False):
        if part.compare and t["size"].isna().all():
            continue  # small cases, of which only the results count

        def times(measure, side=side, case=case):
            return "" if side == "vocab_lit" else _spread(runs.ratio(measure, side, case))

        row = {
            "case": case,
            "side": side,
            "CPU seconds": _number(t.cpu_seconds.median()),
            "times": times("cpu_seconds"),
            "extra MB": _number(t.extra_mb.median()),
            "times ": times("extra_mb") if t.extra_mb.min() > 10 else "",
            "peak MB": _number(t.peak_mb.median()),
        }
        facts = {
            title: t[fact].iloc[0] if t[fact].dtype == object or fact == "digest" else t[fact].median()
            for fact, title in part.facts.items()
            if fact in t
        }
        rows.append(row | {title: x if isinstance(x, str) else _number(x) for title, x in facts.items()})
    return pd.DataFrame(rows)


def growth_table(name: str, record: dict) -> pd.DataFrame:  # a row for each curve
    "CPU seconds at each size, and the exponents of time and memory."
    import pandas as pd

    rows = []
    for (series, side), t in Runs(record).growth().groupby(["series", "side"], sort=False):
        rows.append(
            {"curve": series, "side": side}
            | {f"{n:,g}": _number(v) for n, v in zip(t["size"], t.cpu_seconds)}
            | {
                f"{m} grows with": f"{e:.2f}" if (e := exponent(t["size"], t[c])) == e else ""
                for m, c in (("time", "cpu_seconds"), ("extra memory", "extra_mb"))
            }
        )
    table = pd.DataFrame(rows)
    return table.drop(columns="curve") if len(table) and not table.curve.any() else table


def _limit(claim: Claim) -> str:
    if claim.low is not None:
        return f"at least {claim.low:g}"
    return f"at most {claim.high:g}" if claim.high is not None else ""


def _holds(claim: Claim, values: list[float]) -> str:  # by the median
    if not values:
        return "not measured"
    if not _limit(claim):
        return ""
    low_enough = claim.high is None or np.median(values) <= claim.high
    high_enough = claim.low is None or np.median(values) >= claim.low
    return "yes" if low_enough and high_enough else "no"


def _measured(values: list[float]) -> str:
    if values and 0 < max(values) < 0.01:
        return f"{max(values):.0e}"
    return _spread(values, 0 if all(float(v).is_integer() for v in values) else 2)


def claims_table(records: dict[str, dict]) -> pd.DataFrame:  # {part: record}; a row for each claim
    "What was claimed, what was measured and whether it holds, by the median."
    import pandas as pd

    rows = []
    for c in CLAIMS:
        values = [v for v in (c.value(Runs(records[c.part])) if c.part in records else []) if v == v]
        holds = _holds(c, values)
        rows.append(
            {
                "part": c.part,
                "claim": c.text,
                "measured": _measured(values),
                "wanted": _limit(c),
                "holds": holds,
                "note": c.note * (holds == "no"),
            }
        )
    return pd.DataFrame(rows)


def report(records: dict[str, dict]) -> str:  # {part: record}
    "All tables as Markdown."
    import pandas as pd

    def table(t):
        return t.to_markdown(index=False, disable_numparse=True)

    out = []
    for name, record in records.items():
        out += [
            f"## {name}",
            PARTS[name].about[0].upper() + PARTS[name].about[1:] + ".",
            table(side_table(name, record)),
        ]
        if len(grown := growth_table(name, record)):
            out += [f"CPU seconds by {PARTS[name].unit}:", table(grown)]
        if record["checks"]:
            out += [
                "Results:",
                table(
                    pd.DataFrame(record["checks"])
                    .T.fillna(0)
                    .map(lambda x: x if isinstance(x, str) else _number(x))
                    .rename_axis("case")
                    .reset_index()
                ),
            ]
    claims = claims_table(records)
    return "\n\n".join([*out, "## Claims", table(claims[claims.part.isin(list(records))])]) + "\n"


def run_bench(
    parts: list[str],  # names of PARTS, or "all" for those that need not be named
    out: str | Path | None,  # JSON file in which these parts take the place of older ones; None: no file
    **options,  # of run_part
) -> dict:  # {part: record}
    "Measure some parts and keep the records."
    if unknown := [p for p in parts if p not in PARTS and p != "all"]:
        raise ValueError(f"no part {unknown[0]!r}; choose from {', '.join(PARTS)}, or all")
    chosen = [p for p in PARTS if p in parts or ("all" in parts and not PARTS[p].named)]
    for name in chosen:
        _check_part(name, options.get("small", False), options.get("models", ()))
    out, records = Path(out) if out else None, {}
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        records[name] = run_part(name, **options)
        if out:
            write_json(
                (json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}) | {name: records[name]}, out
            )
    return records
