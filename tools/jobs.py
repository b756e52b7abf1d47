"""Run jobs that wait for each other side by side, those that begin the longest chain first."""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tqdm.auto import tqdm


@dataclass(frozen=True)
class Job:
    "A page to make."

    run: Callable[..., Path]  # called with `bar`, the options of a progress bar; returns the page
    seconds: float  # expected
    after: Sequence[str] = ()  # jobs that have ended before, also those that failed


class JobsFailed(RuntimeError):
    "Some jobs failed: `failed` has their messages by name."

    def __init__(self, failed: dict[str, str]):
        super().__init__("\n".join([f"failed: {', '.join(failed)}", *failed.values()]))
        self.failed = failed


def run_jobs(jobs: dict[str, Job], workers: int) -> list[Path]:
    "Run all jobs, `workers` at a time, and return their pages; `JobsFailed`, when all have ended, names the failed."
    order = TopologicalSorter({name: job.after for name, job in jobs.items()})
    order.prepare()
    quiet, rows = not sys.stderr.isatty(), list(range(1, workers + 1))  # rows of a terminal, for progress bars
    waiting, running, made, failed = [], {}, {}, {}

    @cache
    def seconds_to_end(name: str) -> float:
        "Seconds of the longest chain of jobs that a job begins."
        return jobs[name].seconds + max((seconds_to_end(n) for n, job in jobs.items() if name in job.after), default=0)

    def run(name: str) -> Path:
        row = rows.pop()
        try:
            return jobs[name].run(bar={} if quiet else {"desc": f"  {name}", "position": row, "leave": False})
        finally:
            rows.append(row)

    with ThreadPoolExecutor(workers) as pool, tqdm(total=len(jobs), desc="notebooks", disable=quiet) as bar:
        while order.is_active():
            waiting = sorted([*waiting, *order.get_ready()], key=seconds_to_end, reverse=True)
            while waiting and len(running) < workers:
                name = waiting.pop(0)
                running[pool.submit(run, name)] = name
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name, error = running.pop(future), future.exception()
                if error:
                    failed[name] = str(error)
                else:
                    made[name] = future.result()
                order.done(name)
                bar.update()
                if quiet:
                    ended = f"{len(made) + len(failed)} of {len(jobs)}"
                    print(f"{'failed' if error else 'done'}: {name} ({ended})", flush=True)
    if failed:
        raise JobsFailed(failed)
    return list(made.values())
