"""The checks that need a GPU, in one command of at most ten minutes: `python -m benchmarks.gpu_checks --out gpu.json`.

Each check is a process of its own with a time limit. The record is written after each, so that what was measured stays
if a later check fails or the machine is taken away. For the same reason this module imports the standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent.parent
MINUTES = 9.5  # of all checks, so that a machine lent for ten minutes suffices
STARTS = 45  # seconds that `adapt` may take beside its budget
TOKENS = (262_144, 65_536, 16_384)  # of the vocabularies whose training is timed
FSDP = dict(  # Accelerate's configuration of book/clusters.md, for one GPU
    compute_environment="LOCAL_MACHINE",
    distributed_type="FSDP",
    num_machines=1,
    num_processes=1,
    fsdp_config=dict(
        fsdp_version=2,
        fsdp_reshard_after_forward=True,
        fsdp_state_dict_type="SHARDED_STATE_DICT",
        fsdp_cpu_ram_efficient_loading=False,
    ),
)


class Check(NamedTuple):
    "A command, how long it may take, and how its numbers are read from what it prints."

    name: str
    seconds: float
    command: list[str]
    read: Callable[[str], object]


def printed_json(printed: str) -> object:
    "Return the JSON that a command prints after its other lines."
    start = re.search(r"^[\[{]", printed, re.M)
    if not start:
        raise ValueError("no JSON was printed")
    return json.JSONDecoder().raw_decode(printed[start.start() :])[0]


def last_line(printed: str) -> str:
    "Return the last line that a command prints."
    return (printed.strip().splitlines() or [""])[-1]


def error_line(errors: str) -> str:
    "Return the first line that names an error, else the last line."
    named = re.search(r"^(?:\[rank\d+\]: )?((?:vocab-lit|benchmarks): .+|[\w.]*(?:Error|Exception)\b.*)$", errors, re.M)
    return named[1] if named else last_line(errors)


def read_adapt(printed: str) -> dict:
    "Return what a report of `adapt` says of the result."
    report = printed_json(printed)
    return {name: report[name] for name in ("winner", "untrained", "rows", "minutes", "training", "decided")}


def checks(
    folder: Path, model: str, text: str, small: bool, remaining: Callable[[], float] = lambda: 60 * MINUTES
) -> Iterator[Check]:
    """Yield all checks in order.

    folder: for what they write
    model: a folder; empty: the shape of Gemma 3 270M with random weights is timed, and a bundled model adapted
    text: a file in a language that the model is to learn
    remaining: the seconds that are left, of which `adapt`, the last, takes what three minutes do not exceed
    """

    def module(name: str, *words: object) -> list[str]:
        return [sys.executable, "-m", name, *map(str, words)]

    source = model or HOME / "data/models/mini-gpt2"
    steps = ("--steps", 2 if small else 10, "--batch-size", 4, "--length", 64, "--eval-every", 1)
    lapt = (
        "vocab_lit",
        "lapt",
        source,
        "--text",
        text,
        *steps,
        "--precision",
        "fp32",
        "--json",
    )  # so that losses compare
    named = ("--model", model) if model else ()
    size = ("--small",) if small else ("--rounds", 1)
    config = folder / "fsdp.json"
    config.write_text(json.dumps(FSDP), encoding="utf-8")
    files = [file for place in ("tests", "benchmarks/tests") for file in sorted((HOME / place).rglob("test_*.py"))]
    tests = [file for file in files if "mark.gpu" in file.read_text(encoding="utf-8")]
    environment = "import json; from benchmarks.runner import environment; print(json.dumps(environment()))"
    yield Check("environment", 60, [sys.executable, "-c", environment], printed_json)
    options = ("--import-mode=importlib", "-W", "default")  # warnings between other versions are not ours
    pytest = ("pytest", "-q", "-m", "gpu", "-o", "addopts=", "-p", "no:cacheprovider", *options)
    yield Check("tests", 120, module(*pytest, *tests), last_line)
    for n in TOKENS:
        case = f"{Path(model).name or 'Gemma 3 270M'}, {n:,} tokens"
        timed = module("benchmarks", "gpu", *size, *named, "--case", case, "--json", "--out", folder / "bench.json")
        yield Check(f"training, {n:,} tokens", 90, timed, lambda printed: printed_json(printed)["gpu"]["runs"])
    yield Check("lapt", 60, module(*lapt, "--out", folder / "one"), printed_json)
    fsdp = module("accelerate.commands.launch", "--config_file", config, "-m", *lapt, "--out", folder / "fsdp")
    yield Check("lapt, FSDP", 60, fsdp, printed_json)
    minutes = 0.1 if small else max(0.5, min(3, (remaining() - STARTS) / 60))
    adapt = ("adapt", source, "--text", text, "--minutes", f"{minutes:.2f}", "--out", folder / "adapted", "--json")
    yield Check("adapt", 240, module("vocab_lit", *adapt), read_adapt)


def run_check(check: Check, seconds: float, log: Path) -> dict:
    "Run a check for at most some seconds, and return its status, its time and its result or its last error line."
    began = time.monotonic()
    paths = filter(None, (str(HOME), os.environ.get("PYTHONPATH")))
    more = dict(PYTHONPATH=os.pathsep.join(paths), HF_HUB_OFFLINE="1", TQDM_DISABLE="1", TOKENIZERS_PARALLELISM="false")
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    process = subprocess.Popen(check.command, env=os.environ | more, **pipes)
    try:
        printed, errors = process.communicate(timeout=seconds)
        status = "failed" if process.returncode else "done"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it has started
        printed, errors = process.communicate()
        status = "out of time"
    with log.open("a", encoding="utf-8") as file:
        file.write(f"==== {check.name}: {' '.join(check.command)}\n{printed}\n{errors}\n")
    result = error = None
    try:
        result = check.read(printed) if status == "done" else None
    except (ValueError, LookupError, TypeError) as e:
        status, errors = "failed", f"what it printed cannot be read: {e}"
    if status != "done":
        error = error_line(errors) or last_line(printed) or f"exit status {process.returncode}"
    facts = dict(status=status, seconds=round(time.monotonic() - began, 1), result=result, error=error)
    return {name: value for name, value in facts.items() if value is not None}


def run_checks(out: Path, model: str = "", text: str = "", small: bool = False, minutes: float = MINUTES) -> dict:
    "Run all checks, write the record after each, and return it."
    deadline = time.monotonic() + 60 * minutes

    def remaining() -> float:
        return deadline - time.monotonic()

    out, log = out.resolve(), out.resolve().with_suffix(".log")
    out.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    record: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as folder:
        for check in checks(Path(folder), model, text or str(HOME / "data/text/sw.txt"), small, remaining):
            seconds = min(check.seconds, remaining())
            record[check.name] = run_check(check, seconds, log) if seconds > 1 else dict(status="no time was left")
            out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            print(check.name, *(v for k, v in record[check.name].items() if k != "result"), sep=", ", flush=True)
    return record


def main() -> None:
    "Run the checks that the command line describes; exit with 1 if one is not done."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("_build/gpu.json"), help="the record; a log is written beside")
    model, text = (os.environ.get(f"VOCAB_LIT_GPU_{name}", "") for name in ("MODEL", "TEXT"))
    parser.add_argument("--model", default=model, help="folder of a causal model (default: $VOCAB_LIT_GPU_MODEL)")
    parser.add_argument("--text", default=text, help="text to learn (default: $VOCAB_LIT_GPU_TEXT, else Swahili)")
    parser.add_argument("--small", action="store_true", help="a trial in tiny sizes, also without a GPU")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of all checks together")
    record = run_checks(**vars(parser.parse_args()))
    sys.exit(any(check["status"] != "done" for check in record.values()))


if __name__ == "__main__":
    main()
