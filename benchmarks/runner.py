"""Parts of the benchmark, their cases, and one part measured: every run in a process, sides in turns."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from tqdm.auto import tqdm

from benchmarks.claims import Claim
from testkit.peers import PEERS, peer_python
from testkit.process import Side, apart, measure

PACKAGES = ("torch", "numpy", "transformers", "gensim", "fasttext")  # whose versions a record has


@dataclass(frozen=True)
class Case:
    "Inputs for all sides."

    name: str
    arguments: dict  # of every side
    size: float | None = None  # place on the curve of growth; None: not on it
    series: str = ""  # the curve, where a part has several
    once: bool = False  # not in every round, as only its results count
    warm_up: dict | None = None  # arguments of a smaller run before
    sides: tuple[str, ...] = ()  # only these; empty: all of the part's


class Sizes(NamedTuple):
    "Sizes of the cases of a part."

    curve: tuple[float, ...] = ()  # of growth
    main: tuple[float, ...] = ()  # those that are measured in every round, for the claims
    tiny: tuple[float, ...] = ()  # for a trial in seconds


@dataclass(frozen=True)
class Part:
    "One benchmark: what is compared, on which cases, and what it should reach."

    name: str
    about: str  # what is compared, for the list of parts
    minutes: float  # of one round, about
    unit: str  # of sizes
    own: dict[str, Side]  # the sides that run in this environment; the first is this package's
    # given a folder, sizes, whether all else is tiny (and models), writes the next case's inputs
    cases: Callable[..., Iterator[Case]]
    sizes: Sizes = Sizes()
    peers: tuple[str, ...] = ()  # names in PEERS
    claims: tuple[Claim, ...] = ()
    compare: Callable[[Path], dict] | None = None  # of the results in a case's folder
    facts: dict[str, str] = field(default_factory=dict)  # {facts beside time and memory: their headings}
    exact: bool = False  # memory counts to the MB
    named: bool = False  # runs only when it is named
    gpu: bool = False
    takes_models: bool = False  # whether its cases can be those of models that are named
    takes_texts: bool = False  # whether it reads texts that are named
    at_rest: bool = False  # whether it is recorded on a machine where nothing else computes

    @property
    def sides(self) -> tuple[str, ...]:
        "This package's side, peers, and what else it is compared with."
        first, *others = self.own
        return first, *self.peers, *others

    def run(self, case: Case, side: str, pythons: dict[str, str | None], here: bool = False) -> dict:
        "Measure one side on a case; `pythons` are the interpreters of peers."
        is_peer = side in pythons
        if here and not is_peer:
            return measure(self.own[side], case.arguments, case.warm_up)
        call, given = _call(PEERS[side].run if is_peer else self.own[side])
        threads = "" if self.gpu else "1"
        options = dict(python=pythons[side]) if is_peer else dict(threads=threads, exact=self.exact)
        warm_up = case.warm_up and case.warm_up | given
        return apart(call, case.arguments | given, warm_up, **options)


def as_sides(side: Side, *names: str) -> dict[str, Side]:
    "Several sides by one function that takes their name."
    return {name: functools.partial(side, side=name) for name in names}


def _call(side: Side) -> tuple[str, dict]:
    "The full name of a side's function, and what it is always given."
    function, given = (side.func, side.keywords) if isinstance(side, functools.partial) else (side, {})
    return f"{function.__module__}.{function.__qualname__}", given


def environment() -> dict:
    "Processor, memory and versions; nothing that names the machine."
    from vocab_lit.models.device import find_device

    flags, installed = set(), {package.name: package.version for package in distributions()}
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
        versions={name: installed[name] for name in PACKAGES if name in installed},
        date=str(date.today()),
    )


def turns(
    part: Part, case: Case, rounds: int, sizes: Sequence[float], missing: Sequence[str] = ()
) -> list[tuple[int, str]]:  # (round, side)
    "Who runs when: ours, theirs, ours, theirs; `sizes` are measured, and packages of some sides are missing."
    every_round = case.size is None or case.size in part.sizes.main or case.size == max(sizes)
    n = rounds if every_round and not case.once else 1
    return [(turn, side) for turn in range(n) for side in case.sides or part.sides if side not in missing]


def run_part(
    part: Part,
    rounds: int = 3,  # how often the sides run on the cases of the claims, in turns
    small: bool = False,  # tiny sizes, once, this package's sides in this process
    folder: str | Path = "_build/bench",  # where environments of other packages are
    install: bool = False,  # whether to make those that are missing
    largest: float = float("inf"),  # leave out larger sizes
    models: Sequence[str] = (),  # folders, hub names or files, where the part takes them; none: its own
    texts: Mapping[str, Sequence[str]] | None = None,  # {name: files}, where the part takes them
    case_start: str = "",  # measure only cases whose names begin so
) -> dict:  # environment, rounds, runs, checks
    "Measure one part."
    pythons = {peer: peer_python(peer, folder, install) for peer in part.peers}
    missing = [peer for peer, python in pythons.items() if not python]
    sizes = part.sizes.tiny if small else tuple(size for size in part.sizes.curve if size <= largest)
    given = dict(models=models) if models else {}
    given |= dict(texts=texts) if texts else {}
    runs, checks = [], {}
    with tempfile.TemporaryDirectory() as place, tqdm(desc=part.name, unit=" runs") as bar:
        for case in part.cases(Path(place), sizes, small, **given):
            if not case.name.startswith(case_start):
                continue
            for n, side in turns(part, case, 1 if small else rounds, sizes, missing):
                about = dict(case=case.name, series=case.series, size=case.size, side=side, round=n)
                run = about | part.run(case, side, pythons, here=small)
                runs.append({k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in run.items()})
                bar.update()
            if part.compare and (not part.peers or len(missing) < len(pythons)):
                checks[case.name] = part.compare(Path(case.arguments["folder"]))
    return dict(environment=environment(), rounds=rounds, runs=runs, checks=checks)
