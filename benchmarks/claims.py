"""The runs of a part as a table, and the numbers that a part should reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class Runs:
    "The runs of one part: `table` has a row for each run, `checks` the compared results of each case."

    def __init__(self, record: dict):  # of `run_part`
        import pandas as pd

        self.table: pd.DataFrame = pd.DataFrame(record["runs"])
        self.checks: dict[str, dict] = record["checks"]

    def values(self, measure: str, side: str = "vocab_lit", case: str | float | None = None) -> np.ndarray:  # (rounds,)
        "One measure of a side, round by round; `case` is a name or a size, by default the largest."
        t = self.table
        t = t[t.side == side] if side in set(t.side) else t[:0]
        if case is None:
            case = t["size"].max() if "size" in t and t["size"].notna().any() else next(iter(t["case"]), "")
        return t[(t["case"] if isinstance(case, str) else t["size"]) == case][measure].to_numpy(float)

    def ratio(self, measure: str, other: str, case: str | float | None = None, side: str = "vocab_lit") -> np.ndarray:
        "Another side's measure divided by this package's, round by round."
        theirs, ours = self.values(measure, other, case), self.values(measure, side, case)
        return theirs[: len(ours)] / ours[: len(theirs)]

    def growth(self) -> pd.DataFrame:  # columns series, side, size, cpu_seconds, extra_mb, peak_mb
        "Medians at each size."
        if "size" not in self.table:
            return self.table[:0]
        sized = self.table[self.table["size"].notna()].groupby(["series", "side", "size"], sort=False)
        return sized[["cpu_seconds", "extra_mb", "peak_mb"]].median().reset_index()

    def curve(self, measure: str, series: str = "", side: str = "vocab_lit") -> pd.Series:  # by size
        "The median of a measure at each size; empty if it was not measured."
        t = self.table
        if not {measure, "size"} <= {*t}:
            return t.squeeze()[:0]
        return t[(t.series == series) & (t.side == side)].groupby("size")[measure].median().dropna()

    def cases(self, start: str = "", side: str = "vocab_lit") -> list[str]:
        "Names of the cases of a side that begin with `start`."
        names = self.table["case"][self.table.side == side].unique()
        return [name for name in names if name.startswith(start)]


Value = Callable[[Runs], Iterable[float]]  # a number for each round


@dataclass(frozen=True)
class Claim:
    "A number that a part should reach."

    text: str
    value: Value
    low: float | None = None  # at least so much
    high: float | None = None  # at most so much
    note: str = ""  # why, where it is not reached

    @property
    def limit(self) -> str:
        "The number to reach, in words."
        if self.low is not None:
            return f"at least {self.low:g}"
        return f"at most {self.high:g}" if self.high is not None else ""

    def measured(self, record: dict | None) -> list[float]:
        "The numbers in the record of a part, without missing ones."
        return [v for v in (self.value(Runs(record)) if record else []) if v == v]

    def holds(self, values: list[float]) -> str:
        "Whether the median reaches the number: yes, no, not measured, or nothing where none is to be reached."
        if not values or not self.limit:
            return "" if values else "not measured"
        low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
        return "yes" if low <= np.median(values) <= high else "no"


def exponent(sizes: Iterable[float], values: Iterable[float]) -> float:
    "The power of the size with which the values grow, by least squares in logarithms; nan where one is not positive."
    x, y = np.asarray(sizes, float), np.asarray(values, float)
    return float(np.polyfit(np.log(x), np.log(y), 1)[0]) if len(x) > 1 and (y > 0).all() else float("nan")


def grows(measure: str, side: str = "vocab_lit", series: str = "") -> Value:
    "The exponent of one side's cost over size."

    def value(runs: Runs) -> list[float]:
        curve = runs.curve(measure, series, side)
        return [exponent(curve.index, curve)] if len(curve) else []

    return value


def ratio(measure: str, other: str, case: str | float | None = None, side: str = "vocab_lit") -> Value:
    "Another side's measure divided by this package's."
    return lambda runs: runs.ratio(measure, other, case, side)


def values(measure: str, side: str = "vocab_lit", case: str | float | None = None) -> Value:
    "A measure of one side."
    return lambda runs: runs.values(measure, side, case)


def extreme(reduce: Callable, measure: str, other: str = "", power: int = 1) -> Value:
    "The minimum or maximum of all cases, round by round: of this package's measure, or of another side's ratio to it."

    def value(runs: Runs) -> Iterable[float]:
        each = [runs.ratio(measure, other, c) ** power if other else runs.values(measure, case=c) for c in runs.cases()]
        return reduce(each, 0) if each and all(map(len, each)) else []

    return value


def medians(start: str, measure: str, other: str = "", inverse: bool = False) -> Value:
    "The median of each case that begins with `start`: this package's, or another side's ratio to it, or the inverse."

    def value(runs: Runs) -> list[float]:
        if not other:
            return [float(np.median(runs.values(measure, case=case))) for case in runs.cases(start)]
        ratios = [runs.ratio(measure, other, case) for case in runs.cases(start, other)]
        return [float(np.median(1 / r if inverse else r)) for r in ratios]

    return value


def checks(fact: str, start: str = "") -> Value:
    "A fact of the compared results, in each case that begins with `start`."
    return lambda runs: [check[fact] for case, check in runs.checks.items() if case.startswith(start)]
