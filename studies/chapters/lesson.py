"""What the chapters that teach have in common: their parameters, names of languages, and cells of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import pandas as pd
from babel import Locale

from studies.data.availability import Adapter, Datum, reachable_parameters
from studies.papers.costs import Shape, shape_of
from studies.papers.setups import scale_models
from studies.papers.store import Cell, CellStore, beside_book
from studies.records.findings import standing
from studies.records.summaries import trained_starts
from studies.trials.starts import TRAINING
from vocab_lit.runs.grid import Workers

SPACE = "\N{NO-BREAK SPACE}"
AFTER_TRAINING = f"real: SmolLM2 (sw), {TRAINING.steps} steps"  # a column's title
DASH = "\N{WORD JOINER}–\N{WORD JOINER}"  # between the ends of a range, which stays on one line


@dataclass
class Needs:
    "What a chapter trains and reads."

    cells: list[Cell]  # of the lesson
    languages: dict[str, list[str]]  # of text, and of each task
    shapes: dict[str, Shape]  # of its source models
    paper: str = ""  # whose hyper-parameters fine-tunings have
    adapters: Iterable[str] = ()  # published ones, by folder or name
    left_out: list[Datum | Adapter] = field(default_factory=list)  # what cannot be had
    table_cells: list[Cell] = field(default_factory=list)  # of the page of the paper's tables alone


def source_shape(scale: str, preset: str, model: str = "") -> Shape:
    "The size of a chapter's source model: of a folder or name, or the scale's own."
    return shape_of(model or scale_models(preset)[scale != "mini"])


def each_once(*given: str) -> list[str]:
    "Languages of texts with spaces or plus signs between them, in order."
    return list(dict.fromkeys(language for text in given for language in re.split(r"[\s+]+", text) if language))


@dataclass
class Lesson:
    "A chapter's parameters, by their names: what it trains follows from them, whether it runs or is planned."

    paper: ClassVar[str]  # the chapter's name
    language: str
    scale: str = "mini"
    corpus: str = ""
    max_lines: int = 0
    seeds: int = 0
    steps: int = 0
    workers: int = 0
    cluster: str = ""
    records: str = ""
    paper_tables: bool = False  # whether cells of the page of the paper's tables are computed too

    @classmethod
    def planned(cls, language: str, scale: str, parameters: Mapping[str, Any]) -> Self:
        "The chapter with those of some parameters that it has, and the defaults of the others."
        known = {one.name for one in fields(cls)} - {"language", "scale"}
        return cls(language, scale, **{name: value for name, value in parameters.items() if name in known})

    @property
    def cells(self) -> list[Cell]:
        "Declare what the lesson shows; nothing is loaded."
        raise NotImplementedError

    @property
    def table_cells(self) -> list[Cell]:
        "Declare what only the page of the paper's tables shows; nothing is loaded."
        return []

    @cached_property
    def store(self) -> CellStore:
        "The records of the chapter."
        return CellStore(self.records, Workers(self.workers, self.cluster))

    def compute(self, stamp: str) -> None:
        "Compute the cells that are not recorded yet."
        self.store.cells([*self.cells, *(self.table_cells if self.paper_tables else ())], stamp)

    def needs(self) -> Needs:
        "What the chapter trains and reads; nothing is loaded."
        raise NotImplementedError

    @classmethod
    def of(
        cls,
        names: Mapping[str, Any],  # of a notebook, as `globals()` gives them
    ) -> Self:
        "The chapter with the parameters of a notebook; what cannot be reached is told, and left out."
        given = {one.name: names[one.name] for one in fields(cls)}
        return cls(**given | dict(records=str(beside_book(given["records"])))).reached()

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


def mean_and_range(values: pd.Series, digits: int = 1) -> str:
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
