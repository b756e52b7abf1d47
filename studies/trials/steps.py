"""Commands as a reader types them, run one after another in a folder whose record says what each printed and took."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vocab_lit.models.gguf_weights import CACHE
from vocab_lit.text.corpus import write_json

_TOKENS_PER_WORD = r"tokens per word +([\d.]+)"
_BITS = r"bits[_ ]per[_ ]byte +([\d.]+)"


@dataclass(frozen=True)
class Step:
    "A command."

    name: str
    command: str  # as a reader types it; empty: what it makes is there
    makes: str = ""  # a file or folder


Asked = Mapping[str, Mapping[str, Callable[[Path], dict]]]  # by step: measurements that follow it, by name


def size_mb(path: Path) -> float:
    "The size of a file, or of the weights in a folder."
    files = path.glob("*.safetensors") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) / 1e6


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def run_step(
    step: Step,
    place: Path,  # the folder that it runs in
) -> dict:
    "What a command printed and took; `SystemExit` with its errors where it fails."
    if step.makes:
        _remove(place / step.makes)  # what an interrupted run left
    words = shlex.split(step.command)
    command = [sys.executable, "-m", "vocab_lit", *words[1:]]
    env = os.environ | {"COLUMNS": "88", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1", CACHE: str(place / "cache")}
    with open(place / "out", "w+b") as out, open(place / "err", "w+b") as err:
        process = subprocess.Popen(command, cwd=place, env=env, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, said = (file.read().decode().replace(f"{place}/", "") for file in (out, err))
    if status:
        raise SystemExit(f"{step.command}\n{said}")
    log = [line for line in said.splitlines() if line.startswith("· ") and not line.startswith("· loading")]
    taken = dict(cpu_seconds=round(used.ru_utime + used.ru_stime, 1), memory_mb=round(used.ru_maxrss / 1024))
    made = dict(file_mb=round(size_mb(place / step.makes), 1)) if step.makes else {}
    lines = [line.rstrip() for line in [*log, *printed.splitlines()]]
    return dict(command=step.command, output=lines) | taken | made | _numbers(printed)


def _numbers(printed: str) -> dict:
    patterns = {"tokens_per_word": _TOKENS_PER_WORD, "bits_per_byte": _BITS}
    return {name: float(match[1]) for name, pattern in patterns.items() if (match := re.search(pattern, printed))}


def _depending(step: Step, steps: Sequence[Step]) -> list[str]:
    "Return the names of a step and of those that read what it makes, directly or not."
    made, names = {step.makes}, [step.name]
    for other in steps:
        if other.name not in names and made & set(shlex.split(other.command)):
            made.add(other.makes)
            names.append(other.name)
    return names


def run_steps(
    steps: Sequence[Step],
    file: Path,  # the record, in the folder that they run in
    asked: Asked,
) -> dict:
    "Run the steps that a record lacks, or has by another command, and those that are made of them; it is written anew."
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for step in steps:
        if record.get(step.name, {}).get("command", "") != step.command:
            for name in _depending(step, steps):
                for old in (name, *asked.get(name, ())):
                    record.pop(old, None)
            print(step.command, flush=True)
            record[step.name] = run_step(step, file.parent)
            write_json(record, file)
        for name, ask in asked.get(step.name, {}).items():
            if name not in record:
                record[name] = ask(file.parent)
                write_json(record, file)
    return record


def matching(
    answers: Mapping[str, str],  # by what was asked
    rules: Mapping[str, str],  # what an answer to it is to match
) -> int:
    "How many answers match their rules."
    return sum(bool(re.search(rules[asked], answer)) for asked, answer in answers.items())
