"""Whole commands on a real model, beside a process that opens the tokenizer and encodes the text once."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.claims import Claim, ratio, values
from benchmarks.gguf_trim import tiny_file_and_texts
from benchmarks.runner import Case, Part
from testkit.process import Meter

READING = """
import sys, torch, transformers
tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    tokenizer(file.read().splitlines(), add_special_tokens=False)
"""
GROWN = "--extend 2000 --expansion continued"
TRAINED = "two vocabularies are trained, compared in seven sizes, and the model reads a text"
# {case: (command, largest CPU time over that of reading, largest memory in MB, why that is not reached)}
COMMANDS = {
    "inspect": ("inspect MODEL --text TEXT", 1.8, 700, f"reading alone takes 861 MB; {TRAINED}"),
    "transplant": (f"transplant MODEL --text TEXT {GROWN} --out OUT", 3, 1300, ""),
    "trim": ("trim MODEL --text TEXT --text OTHER --out OUT", 2, 900, "reading alone takes 861 MB"),
    "trim, GGUF": ("trim FILE --text TEXT --text OTHER --out OUT", 0.8, 240, ""),
    "transplant, GGUF": (
        f"transplant FILE --text TEXT {GROWN} --out OUT",
        1.5,
        600,
        "of the CPU time the text takes 20%, the plan 20%, the tokenizer 16% and its merges 12%",
    ),
}
TINY = ("inspect", "trim, GGUF")  # commands of a trial


def _child(arguments: Sequence[str]) -> dict[str, float]:
    "CPU time, memory and load of a process, which is the largest child of this one; `ValueError` where it fails."
    start, before = time.perf_counter(), os.times()
    done = subprocess.run([sys.executable, "-P", *arguments], text=True, capture_output=True)
    if done.returncode:
        raise ValueError(f"{arguments}: {done.stderr.strip().splitlines()[-1:]}")
    after, largest = os.times(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peak = largest / (2**20 if sys.platform == "darwin" else 2**10)
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    took = dict(cpu_seconds=user + system, seconds=time.perf_counter() - start)
    return took | dict(extra_mb=peak, peak_mb=peak, load=os.getloadavg()[0])


def command(meter: Meter, line: str, names: dict[str, str]) -> dict[str, float]:
    "A command of vocab-lit."
    shutil.rmtree(names["OUT"], ignore_errors=True)
    for file in Path(names["OUT"]).parent.glob("out.*"):
        file.unlink()
    with meter:
        pass  # nothing works in this process
    return _child(["-m", "vocab_lit", *(names.get(word, word) for word in line.split())])


def reading(meter: Meter, line: str, names: dict[str, str]) -> dict[str, float]:
    "The tokenizer opened and the text encoded."
    with meter:
        pass
    return _child(["-c", READING, names["MODEL"], names["TEXT"]])


def real_cases(
    place: Path, sizes: tuple, small: bool, models: Sequence[str] = (), texts: dict[str, list[str]] | None = None
) -> Iterator[Case]:
    "Each command on a folder and a GGUF file of one model, with a text of each of two languages."
    if models and not texts:
        raise ValueError("real needs --text, such as sw+en=swahili.txt,english.txt")
    if not models:
        from vocab_lit.text.corpus import data_path

        file, texts = tiny_file_and_texts(place)
        models = [str(data_path("models/mini-xlmr")), str(file)]
    folders, files = ([m for m in models if m.endswith(".gguf") == is_gguf] for is_gguf in (False, True))
    text, other = next(iter((texts or {}).values()))
    for name, (line, *_) in COMMANDS.items():
        of_file = "FILE" in line
        if not folders or (of_file and not files) or (small and name not in TINY):
            continue
        out = str(place / f"out{'.gguf' if of_file else ''}")
        names = dict(MODEL=folders[0], FILE="".join(files[:1]), TEXT=text, OTHER=other, OUT=out)
        yield Case(name, dict(line=line, names=names))


def _claims(case: str) -> tuple[Claim, Claim]:
    _, most, memory, note = COMMANDS[case]
    return (
        Claim(f"CPU time of {case} / of reading", ratio("cpu_seconds", "vocab_lit", case, "reading"), None, most, note),
        Claim(f"memory of {case}, MB", values("peak_mb", case=case), None, memory, note),
    )


PART = Part(
    "real",
    "whole commands on a real model, beside opening its tokenizer and encoding the text once",
    4,
    "tokens",
    dict(vocab_lit=command, reading=reading),
    real_cases,
    claims=tuple(claim for case in COMMANDS for claim in _claims(case)),
    facts=dict(load="load average"),
    named=True,
    takes_models=True,
    takes_texts=True,
    at_rest=True,
)
