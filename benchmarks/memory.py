"""Peak memory of training on ever larger files of text."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.claims import Claim
from benchmarks.runner import Case, Part, Sizes
from testkit.process import Meter
from vocab_lit.text.corpus import data_path


def write_text(path: Path, mb: float) -> None:
    "Write numbered phrasebook lines until the file has so many MB."
    from testkit.phrasebook import lines

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

    out, config = f"{file}.out", LaptConfig(steps=steps, batch_size=8, length=72, eval_every=steps)
    with meter:
        lapt_files(data_path("models", "mini-xlmr"), [file], out, config)
    shutil.rmtree(out)


def memory_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Files of text of growing size."
    for mb in sizes:
        file = place / f"{mb}.txt"
        write_text(file, mb)
        yield Case(f"{mb} MB of text", dict(file=str(file), steps=1 if small else 4), mb)


PART = Part(
    "memory",
    "peak memory of training on ever larger files of text",
    3,
    "MB of text",
    {"vocab_lit": memory},
    memory_cases,
    sizes=Sizes((5, 10, 20, 40), main=(5, 40), tiny=(0.02,)),
    claims=(
        Claim(
            "peak memory with 40 MB of text / with 5 MB",
            lambda runs: runs.values("peak_mb", case=40) / runs.values("peak_mb", case=5),
            high=1.02,
        ),
    ),
    exact=True,
)
