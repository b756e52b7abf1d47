"""Jobs that wait for each other run side by side, the longest way to the end first."""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

from tqdm.auto import tqdm


@dataclass(frozen=True)
class Job:
    "A page to make."

    run: Callable[..., Path]  # called with `bar`, the options of a progress bar; returns the page
    seconds: float  # expected
    after: Sequence[str] = ()  # jobs that have ended before, also those that failed


def ways(jobs: dict[str, Job]) -> dict[str, float]:
    "The seconds from the start of each job to the end of the longest chain of jobs that it begins."
    order = TopologicalSorter({name: job.after for name, job in jobs.items()}).static_order()
    seconds = {}
    for name in reversed(list(order)):
        behind = [seconds[other] for other, job in jobs.items() if name in job.after]
        seconds[name] = jobs[name].seconds + max(behind, default=0)
    return seconds


class JobsFailed(RuntimeError):
    "Some jobs failed: `failed` has their messages by name."

    def __init__(self, failed: dict[str, str]):
        super().__init__("\n".join([f"failed: {', '.join(failed)}", *failed.values()]))
        self.failed = failed


class _Bars:
    "Progress bars on a terminal, one for each job that runs; lines elsewhere."

    def __init__(self, jobs: int, workers: int):
        self.quiet = not sys.stderr.isatty()
        self.free = list(range(1, workers + 1))
        self.total = tqdm(total=jobs, desc="notebooks", disable=self.quiet)

    def run(self, name: str, job: Job) -> Path:
        position = self.free.pop()
        try:
            return job.run(bar={} if self.quiet else {"desc": f"  {name}", "position": position, "leave": False})
        finally:
            self.free.append(position)

    def tell(self, name: str, failed: bool, ended: int) -> None:
        self.total.update(ended - self.total.n)
        if self.quiet:
            print(f"{'failed' if failed else 'done'}: {name} ({ended} of {self.total.total})", flush=True)


def run_jobs(jobs: dict[str, Job], workers: int) -> list[Path]:
    "Run all jobs, `workers` at a time, and return their pages; `JobsFailed`, when all have ended, names the failed."
    bars, longest, made, failed = _Bars(len(jobs), workers), ways(jobs), {}, {}
    order = TopologicalSorter({name: job.after for name, job in jobs.items()})
    order.prepare()
    waiting, running = [], {}
    with ThreadPoolExecutor(workers) as pool, bars.total:
        while order.is_active():
            waiting = sorted([*waiting, *order.get_ready()], key=lambda name: -longest[name])
            while waiting and len(running) < workers:
                name = waiting.pop(0)
                running[pool.submit(bars.run, name, jobs[name])] = name
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name, error = running.pop(future), future.exception()
                if error:
                    failed[name] = str(error)
                else:
                    made[name] = future.result()
                order.done(name)
                bars.tell(name, bool(error), len(made) + len(failed))
    if failed:
        raise JobsFailed(failed)
    return list(made.values())
