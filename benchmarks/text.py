"""Time and memory of each thing that is done with text, and of training tokenizers and vectors on it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.claims import Claim, Value, grows
from benchmarks.runner import Case, Part
from testkit.made import write_zipf_text
from testkit.process import Meter


def stages(small: bool) -> dict[str, Callable]:
    "What is done with lines, by name."
    from vocab_lit.text.cleaning import clean
    from vocab_lit.text.corpus import Amount, sample_lines
    from vocab_lit.tokens.settings import KINDS
    from vocab_lit.tokens.train import train_tokenizer
    from vocab_lit.vectors.word_vectors import train_words

    size = 300 if small else 8_000
    return {
        "read": lambda lines: sum(1 for _ in lines),
        "clean": lambda lines: sum(1 for _ in clean(lines)),
        "sample": lambda lines: len(sample_lines(lines, Amount(5_000_000, bytes=True))),
        **{kind: functools.partial(train_tokenizer, kind=kind, vocab_size=size) for kind in KINDS},
        "vectors": lambda lines: train_words(lines, "fasttext", dim=32, epochs=1, min_count=5),
    }


def text_stage(meter: Meter, stage: str, file: str, small: bool) -> None:
    "One thing that is done with all lines of a file."
    from vocab_lit.text.corpus import Lines

    do = stages(small)[stage]
    with meter, warnings.catch_warnings(action="ignore"):  # one epoch is few
        do(Lines(file))


def text_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Every stage on files of growing size."
    for mb in sizes:
        file = place / f"{mb}.txt"
        write_zipf_text(file, mb)
        for stage in stages(small):
            yield Case(f"{stage}, {mb:g} MB", dict(stage=stage, file=str(file), small=small), mb, stage)
        file.unlink()


def _peak_ratio(stage: str) -> Value:
    "Peak memory with the largest text divided by that with the smallest."

    def value(runs):
        peaks = runs.curve("peak_mb", stage)
        return [peaks.max() / peaks.iloc[0]]

    return value


TIMED = ("read", "clean", "sample", "unigram", "wordpiece", "bpe", "vectors")
PEAKS = {"read": 1.05, "sample": 1.1, "unigram": None, "bpe": None, "vectors": None}
CLAIMS = (
    *(Claim(f"CPU time of {s} over MB of text, exponent", grows("cpu_seconds", series=s), high=1.05) for s in TIMED),
    *(Claim(f"peak memory of {s}, largest text / smallest", _peak_ratio(s), high=high) for s, high in PEAKS.items()),
)
PART = Part(
    "text",
    "time and memory of reading, cleaning and sampling text, and of training tokenizers and vectors on it",
    60,
    "MB of text",
    {"vocab_lit": text_stage},
    text_cases,
    sizes=(10, 30, 100, 1000),
    tiny=(0.05,),
    claims=CLAIMS,
    exact=True,
    named=True,
)
