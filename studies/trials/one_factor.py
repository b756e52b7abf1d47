"""One factor at a time, on one pair of languages: does the order of two methods become the paper's?

    python -m studies trial one-factor mad-x

`data/records/one_factor.csv` gets a row for each fine-tuning; rows that it has are not computed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from typer import Argument, Option

from studies.papers.adaptation import Adaptation
from studies.papers.cells import paper_methods
from studies.papers.experiment import FOCUS_METHODS, Targets
from studies.papers.printed import having
from studies.papers.transfer import METHODS, UNKS, Transfer, transfer
from studies.records.record import Record
from vocab_lit.models.device import PRECISION

KEY = ("paper", "source", "target", "task", "factor", "value", "steps", "method")
UNITS = {"ner": "F1", "pos": "points of accuracy"}
RECORD = Record("records/one_factor.csv", KEY, (*KEY, "seed", "score"))

# the option of the setups that a factor is
FACTORS = {"training steps": "steps", "lines of text": "limit", "labelled sentences": "examples"}


@dataclass(frozen=True)
class Comparison:
    "A finding about two methods, on one pair of languages."

    paper: str
    finding: str  # id of the claim
    methods: tuple[str, str]  # the one that the paper finds better, and the other
    source: str  # language of the labelled sentences
    target: str
    task: str = "ner"


@dataclass(frozen=True)
class OneFactor:
    "A comparison while one factor varies."

    compared: Comparison
    factor: str  # a name in `FACTORS`
    values: tuple[int, ...]
    recorded: int  # the value in the recorded study
    steps: int  # of training, where they are not the factor
    seeds: int = 5  # fine-tunings of each model

    @property
    def names(self) -> dict[str, str]:
        "What identifies the trial among the rows of the record, by column."
        compared = self.compared
        languages = dict(source=compared.source, target=compared.target)
        return dict(paper=compared.paper, **languages, task=compared.task, factor=self.factor)

    @property
    def label(self) -> str:
        "The factor and the languages, as a figure names them."
        return f"{self.factor} ({' to '.join(dict.fromkeys([self.compared.source, self.compared.target]))})"


_FOCUS = Comparison("focus", "focus-tasks-wechsel", ("focus", "wechsel"), "am", "am")
_STRUCTURE = Comparison(
    "embedding-structure", "es-new-vocabulary", ("SCRIPT+POSN+IDENT", "off-the-shelf"), "te", "te", "pos"
)
_MADX = Comparison("mad-x", "madx-over-xlmr", ("MAD-X", "XLM-R"), "en", "sw")
_MADX_FI = replace(_MADX, target="fi")
_UNKS = Comparison("unks-everywhere", "unks-new-scripts", ("EL-LEX", "mBERT"), "en", "am")
_UNKS_FACTORED = replace(_UNKS, methods=("MF10-KMEANS-LEX", "mBERT"))
TRIALS = (
    OneFactor(_FOCUS, "training steps", (15, 60, 240, 480), recorded=60, steps=60),
    OneFactor(_STRUCTURE, "training steps", (10, 40, 160, 640), recorded=40, steps=40),
    OneFactor(_MADX, "training steps", (20, 80, 320, 1280), recorded=80, steps=80),
    OneFactor(_MADX, "labelled sentences", (60, 240, 480), recorded=60, steps=80, seeds=2),
    OneFactor(_MADX, "lines of text", (1000, 4000, 16_000), recorded=4000, steps=320),
    OneFactor(_MADX_FI, "training steps", (20, 80, 320, 1280), recorded=80, steps=80),
    OneFactor(_UNKS, "training steps", (10, 40, 160, 640), recorded=40, steps=40),
    OneFactor(_UNKS_FACTORED, "training steps", (10, 40, 160, 640), recorded=40, steps=40),
)


_WAYS = {  # the methods of papers that adapt a model to one language
    "focus": FOCUS_METHODS,
    "embedding-structure": {
        "off-the-shelf": Adaptation(mode=""),
        **{name: Adaptation("new", recipe, "full") for name, recipe in paper_methods().items()},
    },
}


def _measure(trial: OneFactor, value: int, method: str, work: Path) -> list[float]:
    "Return the score of each fine-tuning of a method at a value of the factor."
    options = dict(steps=trial.steps) | {FACTORS[trial.factor]: value}
    paper, pair = trial.compared.paper, (trial.compared.source, trial.compared.target)
    if paper in _WAYS:
        target = Targets("mini", preset=paper, source_language="en", **options)(pair[1])  # of WECHSEL's dictionary
        rows = target.follow(_WAYS[paper][method], tasks=[trial.compared.task], seeds=trial.seeds)
        return [row["value"] for row in rows if row["metric"] == trial.compared.task]
    own = pair[1:] if paper == "unks-everywhere" else ()
    methods = UNKS if own else METHODS
    study = Transfer(work, pair, "mini", options, own, paper=paper, methods=methods)
    return transfer(study, [method], trial.compared.task, pair[:1], pair[1:], range(trial.seeds)).value.to_list()


def run_trial(
    trial: OneFactor,
    work: Path,  # folder of trained adapters
    record: Path | None = None,  # another table
    measure: Callable[[OneFactor, int, str, Path], list[float]] = _measure,
) -> None:
    "Measure what the record lacks of a trial, and add it."
    for value in trial.values:
        steps = value if FACTORS[trial.factor] == "steps" else trial.steps
        for method in trial.compared.methods:
            case: dict[str, object] = trial.names | dict(value=value, steps=steps, method=method)
            if not RECORD.has(case, record):
                scores = measure(trial, value, method, work)
                rows = [case | dict(seed=seed, score=round(score, 2)) for seed, score in enumerate(scores)]
                RECORD.write(rows, record)


@dataclass(frozen=True)
class Curve:
    "The scores of a trial's two methods over its factor."

    trial: OneFactor
    scores: pd.DataFrame  # columns value, method, seed and score

    @classmethod
    def of(cls, trial: OneFactor, rows: pd.DataFrame) -> Curve:  # rows: of the record
        "Return the curve of a trial among the rows of all."
        return cls(trial, having(rows, trial.names | dict(method=list(trial.compared.methods))))

    @property
    def differences(self) -> pd.Series:  # by value, ascending
        "The mean score of the method that the paper finds better, less that of the other."
        means = self.scores.groupby(["value", "method"]).score.mean().unstack()
        better, other = self.trial.compared.methods
        return (means[better] - means[other]).dropna()

    @property
    def noise(self) -> float:
        "Two standard errors of such a difference, pooled over the values."
        by_cell = self.scores.groupby(["value", "method"]).score
        deviation = np.sqrt((by_cell.var() * (by_cell.size() - 1)).sum() / (by_cell.size() - 1).sum())
        return float(2 * deviation * np.sqrt(2 / by_cell.size().min()))

    @property
    def crossing(self) -> float | None:
        "The value from which on the paper's order holds: the first one, or between two on a logarithmic axis; or None."
        differences = self.differences
        holds = differences > 0
        if not holds.iloc[-1]:
            return None
        if holds.all():
            return float(differences.index[0])
        last = int(np.flatnonzero(~holds)[-1])  # after which it holds
        (low, high), (below, above) = np.log(differences.index[last : last + 2]), differences.iloc[last : last + 2]
        return float(np.exp(low + (high - low) * below / (below - above)))

    @property
    def outcome(self) -> str:
        "What the curve shows: a key of the page's sentences."
        differences, noise = self.differences, self.noise
        first, last = differences.iloc[0], differences.iloc[-1]
        if abs(last) <= noise:
            return "tied"
        if last < 0:
            return "falls" if first > -noise else "never"
        if (differences <= 0).any():
            return "overtakes"
        return "always" if first > noise else "emerges"


def main(
    papers: Annotated[list[str], Argument(help="Names of papers, such as mad-x.")],
    out: Annotated[Path | None, Option(help="Another table.", show_default=f"data/{RECORD.file}")] = None,
    work: Annotated[Path, Option(help="Folder of trained adapters.")] = Path("_build/one_factor"),
) -> None:
    """Add the scores of two methods over one factor at a time to data/records/one_factor.csv.

    Example: `python -m studies trial one-factor mad-x`
    """
    known = list(dict.fromkeys(trial.compared.paper for trial in TRIALS))
    if unknown := sorted(set(papers) - set(known)):
        raise ValueError(f"no trial of {unknown[0]!r}; choose from {', '.join(known)}")
    os.environ[PRECISION] = "fp32"  # as the recorded study, whatever a processor is fastest in
    for trial in TRIALS:
        if trial.compared.paper in papers:
            run_trial(trial, work / trial.compared.paper, out)
