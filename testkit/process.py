"""CPU time and memory of a piece of work, in this process or in one of its own."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

Side = Callable[..., dict | None]  # takes a meter, under which it works, and arguments; returns facts


def memory_mb(pid: int | str = "self") -> tuple[float, float]:
    "Resident memory of a process, usually this one, now and at its peak, in MB."
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:  # no Linux; the peak is then that of the whole process
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        return peak, peak
    return int(status["VmRSS"].split()[0]) / 2**10, int(status["VmHWM"].split()[0]) / 2**10


class Meter:
    "Measures the block inside `with`: `record` has cpu_seconds, seconds, extra_mb and peak_mb."

    def __enter__(self) -> Meter:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # free memory counts as new when it is used again
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now
        self.record, self.before = {}, memory_mb()[0]
        self.start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_) -> None:
        seconds, cpu = time.perf_counter() - self.start[0], time.process_time() - self.start[1]
        peak = memory_mb()[1]
        self.record = dict(cpu_seconds=cpu, seconds=seconds, extra_mb=peak - self.before, peak_mb=peak)


def measure(side: Side, arguments: dict, warm_up: dict | None = None) -> dict:
    "Run one side in this process, after a smaller run with the arguments `warm_up`; measurements and facts."
    gc.freeze()  # present objects need not be looked through each time
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if warm_up:
                side(Meter(), **warm_up)
            facts = side(meter := Meter(), **arguments) or {}
    finally:
        gc.unfreeze()
    return meter.record | facts


def apart(
    side: str,  # its full name, such as "benchmarks.focus.focus"
    arguments: dict,
    warm_up: dict | None = None,
    python: str = sys.executable,  # another interpreter, for another package
    threads: str = "1",  # empty: as many as it takes
    exact: bool = False,  # glibc returns freed memory at once, so that the peak is exact, at some cost in time
) -> dict:
    "Run one side in a process of its own; `ValueError` with the last line of its error."
    here = str(Path(__file__).parent.parent)
    more = {"TQDM_DISABLE": "1", "PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))}
    if threads:
        more["OMP_NUM_THREADS"] = threads
    if exact:
        more["MALLOC_MMAP_THRESHOLD_"] = "262144"
    done = subprocess.run(
        [python, "-P", "-W", "ignore", "-m", "testkit.process", side, json.dumps([arguments, warm_up])],
        text=True,
        capture_output=True,
        env=os.environ | more,
    )
    if done.returncode:
        message = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise ValueError(f"{side} failed with {arguments}: {message}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    "Run the side that the command line names, and print what was measured as JSON."
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", help="a function by its module, such as benchmarks.focus.ours")
    parser.add_argument("arguments", type=json.loads, help="what it is called with, a list as JSON")
    given = parser.parse_args()
    module, _, name = given.side.rpartition(".")
    side = getattr(importlib.import_module(module), name)
    print(f"\n{json.dumps(measure(side, *given.arguments))}")


if __name__ == "__main__":
    main()
