"""What the chapters that teach have in common: their parameters, names of languages, and cells of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import pandas as pd
from babel import Locale

from studies.data.availability import reachable_parameters
from studies.records.findings import standing
from studies.records.summaries import trained_starts
from studies.trials.starts import TRAINING

SPACE = "\N{NO-BREAK SPACE}"
AFTER_TRAINING = f"real: SmolLM2 (sw), {TRAINING.steps} steps"  # a column's title
DASH = "\N{WORD JOINER}–\N{WORD JOINER}"  # between the ends of a range, which stays on one line


@dataclass
class Lesson:
    "A chapter's parameters, by their names."

    paper: ClassVar[str]  # the chapter's name
    language: str
    scale: str
    corpus: str
    max_lines: int
    seeds: int
    steps: int
    workers: int
    cluster: str
    records: str

    @classmethod
    def of(
        cls,
        names: Mapping[str, Any],  # of a notebook, as `globals()` gives them
    ) -> Self:
        "The chapter with the parameters of a notebook; what cannot be reached is told, and left out."
        return cls(**{field.name: names[field.name] for field in fields(cls)}).reached()

    def reached(self) -> Self:
        "The same with what can be reached."
        raise NotImplementedError

    def within_reach(
        self,
        sources: Mapping[str, Any],  # data and the reader's own files, by parameter
        *asked: str,  # parameters that name what is measured
    ) -> Self:
        "The same without what these parameters ask for and nobody can reach, which is told."
        given = {name: getattr(self, name) for name in asked}
        found = reachable_parameters(self.paper, self.scale, self.language, sources, look=True, **given)
        found.show()
        return replace(self, **found.parameters)


def english_name(code: str) -> str:
    "What English calls a language."
    return Locale("en").languages.get(code, code)


def mean_and_range(
    values: pd.Series,
    digits: int = 1,
) -> str:
    "The mean of numbers and the lowest and highest of them, as a table has them."
    values = values.dropna()
    if not len(values):
        return ""
    mean, low, high = (f"{value:.{digits}f}" for value in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean}{SPACE}({low}{DASH}{high})"


def after_training(
    names: Mapping[str, str],  # what `data/starts-trained.csv` calls methods, and what the chapter does
) -> pd.DataFrame:  # rows: seeds; columns: methods, as the chapter calls them
    "The bits per byte of SmolLM2 in Swahili after a little training from each start."
    bits = trained_starts().loc[("smollm2-135m", "sw")].rename(columns=names)
    return bits[[name for name in names.values() if name in bits]]


def trained_seen(
    bits: pd.DataFrame,  # of `after_training`
    method: str,
) -> str:
    "Which start ends lowest, and where a method stands, as a sentence."
    tokens = f"{TRAINING.batch_size} x {TRAINING.length} tokens"
    trained = f"After {TRAINING.steps} steps of {tokens} in SmolLM2 (sw, {len(bits)} seeds)"
    return f"{trained} {standing(bits.mean(), method, digits=2, lower=True)}."
