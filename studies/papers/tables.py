"""The tables and figures of the papers, with our numbers beside theirs.

A table is data: `data/published/NAME.yml` says for each table and figure of a paper where its numbers are, among those
that the paper prints (`data/published/NAME.csv`), in the recorded study and in records of pretrained models. One
function lays them out as the paper does, another counts in how many comparisons they have the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from studies.papers.computed import COMPUTED, WITH_MINI
from studies.papers.hyperparameters import hyperparameters
from studies.papers.printed import RECORDS, having, published, unstack_in_order
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

_TRANSFORMS: dict[str, Callable[[pd.Series], pd.Series]] = {
    "": lambda values: values,
    "exp": np.exp,  # from nats to perplexity
    "percent": lambda values: 100 * values,
}
_ALIKE = ("setup", "dataset", "seed")  # columns, besides those of records, in which a difference's two sides agree


class Numbers(BaseModel):
    "Where numbers are in a table of records, and what the paper calls their rows and columns."

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: str = ""  # CSV below `data`; empty: the recorded study, or the printed numbers
    computed: str = ""  # or the function of `computed` that makes them
    value: str = "value"  # the column of the numbers
    where: dict[str, str | list[str]] = {}  # by column, the values that a number must have
    columns: dict[str, str] = {}  # by column of the paper's table, that of the records
    # by column of the records: the values that are shown, in order, with what the paper calls each in which columns
    names: dict[str, list[str] | dict[str, str | dict[str, str]]] = {}
    fixed: dict[str, str] = {}  # by column of the paper's table, what it holds for all numbers
    minus: dict[str, str] = {}  # by column, what those that are subtracted have
    transform: Literal["", "exp", "percent"] = ""  # from the records' unit to the paper's
    at_paper: dict[Literal["where", "names", "fixed"], dict] = {}  # at scale paper, in place of some entries of these

    def at(self, scale: str) -> Numbers:
        "Return these numbers at a scale."
        changes = {name: getattr(self, name) | entries for name, entries in self.at_paper.items()}
        return self.model_copy(update=changes) if scale == "paper" else self

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        "Return the rows that are meant under the paper's names; `KeyError` for a column that the records lack."
        rows = self._difference(rows) if self.minus else having(rows, self.where)
        for column, listed in self.names.items():
            names = listed if isinstance(listed, dict) else {name: name for name in listed}
            rows = rows[rows[column].isin(list(names))]
            rows = rows.iloc[np.argsort(rows[column].map(list(names).index), kind="stable")]
            places = [name if isinstance(name, dict) else {column: name} for name in rows[column].map(names)]
            rows = rows.assign(**pd.DataFrame(places, index=rows.index))
        rows = rows.assign(**{place: rows[column] for place, column in self.columns.items()}, **self.fixed)
        if self.value == "note":  # words
            return rows.assign(value=rows.note)
        numbers = _TRANSFORMS[self.transform](rows[self.value].astype(float))
        return rows.assign(value=numbers).dropna(subset="value")

    def _difference(self, rows: pd.DataFrame) -> pd.DataFrame:
        "Return the rows of `where` less those of `minus`, which agree with them in all else."
        keys = [column for column in rows if column in (*RECORDS, *_ALIKE) and column not in self.minus]
        second = having(rows, self.where | self.minus).groupby(keys, sort=False)[self.value].mean()
        both = having(rows, self.where).merge(second.rename("subtrahend").reset_index(), on=keys)
        return both.assign(**{self.value: both[self.value].astype(float) - both.subtrahend})


_FROM_OURS = ("curves", "scatter", "costs")  # figures that need numbers of ours
_NOT_RECORDED = "*The records on this page have no numbers for it.*"


class Sentences(BaseModel):
    "What is said of a comparison, with {same} and {pairs} for its numbers."

    model_config = ConfigDict(extra="forbid", frozen=True)
    agree: str  # where two thirds of the pairs of rows have the paper's order
    differ: str


class Exhibit(BaseModel):
    "A table or a figure of a paper."

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str  # such as Table 4
    title: str
    kind: Literal["table", "matrices", "curves", "scatter", "costs", "planes", "presets"] = "table"
    index: list[str] = ["method"]  # columns that name a row
    columns: list[str] = ["language"]  # columns that name a column
    printed: Numbers | None = None
    ours: Numbers | None = None
    across: Numbers | None = None  # the other axis of a scatter plot or of costs, by its columns
    real: dict[str, Numbers] = {}  # by the name of the pretrained model
    digits: int = 1
    within: list[str] = []  # of index and columns: rows are compared where these are the same
    says: Sentences | None = None
    note: str = ""  # what has to be known to compare
    mini: str = ""  # the same, at scale mini
    paper_only: str = ""  # why scale mini has no numbers for it
    labels: dict[str, str] = {}  # of the axes x and y
    logarithmic: bool = False

    @model_validator(mode="after")
    def _has_numbers_or_a_reason(self) -> Exhibit:
        if not (self.ours or self.real or self.paper_only or self.kind == "presets"):
            raise ValueError(f"{self.name}: give ours or real, or say in paper_only why there are none")
        return self


def read_exhibits(
    paper: str,  # such as focus
    path: str | Path = "",  # YAML; empty: the bundled file
) -> list[Exhibit]:
    "Read the list of a paper's tables and figures; `ValueError` with the file and what is wrong in it."
    path = Path(path or data_path("published", f"{paper}.yml"))
    try:
        return [Exhibit(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["exhibits"]]
    except (ValidationError, TypeError, KeyError, yaml.YAMLError) as error:
        raise ValueError(f"{path.name}: {error}") from None


class Agreement(NamedTuple):
    "Comparisons of two rows."

    same: int  # with the paper's order
    pairs: int  # in all


def count_agreement(
    theirs: pd.DataFrame,  # numbers by row and column; NaN where there is none
    ours: pd.DataFrame,
) -> Agreement:
    """Compare each two rows that both have, each side on the mean difference over the columns that both rows have.

    What the paper prints as equal is left out; a tie of ours is no agreement.
    """
    same = pairs = 0
    for a, b in combinations([row for row in theirs.index if row in ours.index], 2):
        printed, measured = ((side.loc[a] - side.loc[b]).mean() for side in (theirs, ours))
        if np.isnan(printed) or np.isnan(measured) or abs(printed) < 1e-9:
            continue
        pairs += 1
        same += bool(printed * measured > 0)
    return Agreement(same, pairs)


def _cell(rows: pd.DataFrame, digits: int) -> str:
    "The mean, and the standard deviation between seeds: the printed one, or the sample's where there are several."
    if isinstance(rows.value.iloc[0], str):
        return ", ".join(dict.fromkeys(rows.value))
    by_seed = rows.groupby("seed").value.mean()
    deviation = by_seed.std() if len(by_seed) > 1 else rows["std"].mean()
    shown = "" if np.isnan(deviation) else f"\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{deviation:.{digits}f}"
    return f"{by_seed.mean():,.{digits}f}{shown}"


@dataclass(frozen=True)
class PaperTables:
    "The tables and figures of one paper, beside records."

    paper: str
    records: pd.DataFrame  # as `study_rows`: of the paper's chapter
    scale: str = "mini"

    @cached_property
    def exhibits(self) -> dict[str, Exhibit]:
        "All tables and figures, by name."
        return {exhibit.name: exhibit for exhibit in read_exhibits(self.paper)}

    @cached_property
    def printed(self) -> pd.DataFrame:
        "All numbers that the paper prints."
        return published(self.paper)

    def _source(self, numbers: Numbers) -> pd.DataFrame:
        if numbers.computed:
            return COMPUTED[numbers.computed]()
        if numbers.file:
            return pd.read_csv(data_path(numbers.file), dtype=str, keep_default_na=False, na_values={"value": [""]})
        return self.records[self.records.scale == self.scale]

    def sides(self, exhibit: Exhibit) -> dict[str, pd.DataFrame]:
        "The numbers of a table by where they come from, under the paper's names of rows and columns."
        found = {}
        if exhibit.kind == "presets":  # which have no records
            return found
        if exhibit.printed:
            found["paper"] = exhibit.printed.select(self.printed).assign(seed=0)
        if exhibit.ours and (self.scale == "mini" or exhibit.ours.computed not in WITH_MINI):
            found["ours"] = exhibit.ours.at(self.scale).select(self._source(exhibit.ours))
        for model, numbers in exhibit.real.items():
            found[model] = numbers.select(self._source(numbers))
        found = {side: rows for side, rows in found.items() if len(rows)}
        if exhibit.kind in _FROM_OURS and not ("ours" in found and self._has_other_axis(exhibit)):
            return {}
        return found

    def _has_other_axis(self, exhibit: Exhibit) -> bool:
        return exhibit.across is None or len(exhibit.across.select(self._source(exhibit.across))) > 0

    def dates(self, exhibit: Exhibit) -> str:  # "": no number is from the recorded study
        "Return the day on which our numbers were recorded, or the first and the last."
        numbers = exhibit.ours
        if not numbers or numbers.computed or numbers.file:
            return ""
        days = sorted(set(numbers.at(self.scale).select(self._source(numbers)).get("date", [])))
        return " to ".join(dict.fromkeys([days[0], days[-1]])) if days else ""

    def long(self, exhibit: Exhibit) -> pd.DataFrame:  # columns side, row, column (tuples), seed, value and std
        "A row for each number of a table."
        parts = []
        for side, rows in self.sides(exhibit).items():
            row, column = (list(map(tuple, rows[names].to_numpy())) for names in (exhibit.index, exhibit.columns))
            numbers = rows.reindex(columns=["seed", "value", "std"]).fillna({"seed": 0})
            parts.append(numbers.assign(side=side, row=row, column=column))
        return pd.concat(parts, ignore_index=True)

    def table(self, exhibit: Exhibit) -> pd.DataFrame:  # of texts; columns end with where the number comes from
        "The numbers in the paper's layout, ours beside them."
        rows = self.long(exhibit)
        cells = rows.groupby(["row", "column", "side"], sort=False)[["seed", "value", "std"]]
        texts = unstack_in_order(cells.apply(lambda numbers: _cell(numbers, exhibit.digits)), 2).fillna("")
        order, sides = dict.fromkeys(rows.column), dict.fromkeys(rows.side)
        texts = texts[[(column, side) for column in order for side in sides if (column, side) in texts.columns]]
        texts.columns = pd.MultiIndex.from_tuples([(*column, side) for column, side in texts.columns])
        texts.index = pd.MultiIndex.from_tuples(texts.index, names=exhibit.index)
        return texts

    def matrices(self, exhibit: Exhibit) -> Figure:
        "Heat maps of pairs of languages, the paper's beside ours."
        from studies.figures.charts import heat_map

        (row,), (column,) = exhibit.index, exhibit.columns
        panels = {
            side: unstack_in_order(rows.groupby([row, column], sort=False).value.mean())
            for side, rows in self.sides(exhibit).items()
        }
        difference = bool(exhibit.ours and exhibit.ours.minus)
        return heat_map(panels, difference=difference, digits=exhibit.digits)

    def curves(self, exhibit: Exhibit) -> Figure:
        "Lines over the steps of training, one for each row, with a panel for each column."
        from studies.figures.charts import loss_curves

        rows = self.sides(exhibit)["ours"]
        names = rows[exhibit.columns].agg(", ".join, axis="columns")
        rows = rows.assign(step=rows.step.astype(float), language=names)
        return loss_curves(rows, ylabel=exhibit.labels["y"], log=exhibit.logarithmic)

    def _both_axes(self, exhibit: Exhibit) -> pd.DataFrame:  # as the numbers, with the column across
        assert exhibit.across, exhibit.name
        rows, other = self.sides(exhibit)["ours"], exhibit.across.select(self._source(exhibit.across))
        keys = [key for key in exhibit.index + exhibit.columns if other[key].ne("").any()]
        across = other.groupby(keys, sort=False).value.mean().rename("across")
        return rows.merge(across.reset_index(), on=keys)

    def scatter(self, exhibit: Exhibit) -> Figure:
        "A point for each row of the table, and Pearson's r."
        from studies.figures.charts import correlations

        points = self._both_axes(exhibit).groupby(exhibit.columns, sort=False)[["value", "across"]].mean()
        points = points.reset_index().rename(columns={exhibit.columns[0]: "language"})
        return correlations(points, {"across": exhibit.labels["x"]}, ylabel=exhibit.labels["y"])

    def costs(self, exhibit: Exhibit) -> Figure:
        "Scores over the floating point operations of training."
        from studies.figures.charts import score_flops

        rows = self._both_axes(exhibit).rename(columns={"across": "flops"})
        return score_flops(rows, ylabel=exhibit.labels["y"])

    def planes(self, exhibit: Exhibit) -> Figure:
        "Tokens on two principal components, a row of panels for each model."
        from studies.figures.embeddings import token_planes

        points = pd.concat([rows.assign(model=side) for side, rows in self.sides(exhibit).items()])
        return token_planes(points.astype({"x": float, "y": float}), by=exhibit.index)

    def presets(self, exhibit: Exhibit) -> pd.DataFrame:
        "The hyper-parameters that the paper prints, beside ours."
        rows = hyperparameters(self.paper).reset_index(names=["stage", "setup", "parameter"])
        rows = having(rows, exhibit.printed.where if exhibit.printed else {})
        return rows.set_index(["stage", "setup", "parameter"])[["paper", "scale paper", "scale mini"]]

    def agreement(self, exhibit: Exhibit) -> Agreement | None:  # None where one side is missing
        "In how many pairs of rows ours have the paper's order."
        if exhibit.kind != "table" or not (exhibit.printed and exhibit.ours) or exhibit.printed.value == "note":
            return None
        rows = self.long(exhibit)
        rows = rows[[not any(part.startswith("avg") for part in column) for column in rows.column]]
        if "ours" not in set(rows.side) or exhibit.index == ["metric"]:
            return None
        names = [*exhibit.index, *exhibit.columns]
        groups = [str([place[names.index(name)] for name in exhibit.within]) for place in rows.row + rows.column]
        rows = rows.assign(group=groups, row=rows.row.map(str), column=rows.column.map(str))
        counts = []
        for _, of_group in rows.groupby("group", sort=False):
            sides = of_group.pivot_table(index="row", columns=["side", "column"], values="value", sort=False)
            if {"paper", "ours"} <= set(of_group.side):
                counts.append(count_agreement(sides["paper"].dropna(how="all"), sides["ours"].dropna(how="all")))
        return Agreement(*map(sum, zip(*counts))) if counts else None

    def sentence(self, exhibit: Exhibit) -> str:
        "What the comparison says; empty where nothing is compared."
        counts = self.agreement(exhibit)
        if not exhibit.says or not counts or not counts.pairs:
            return ""
        said = exhibit.says.agree if 3 * counts.same >= 2 * counts.pairs else exhibit.says.differ
        return said.format(same=counts.same, pairs=counts.pairs)

    def show(self, name: str) -> list[pd.DataFrame | Figure | Markdown]:
        "The table or the figure, and what is said of it; `KeyError` where the paper's list has none of that name."
        from IPython.display import Markdown

        exhibit = self.exhibits[name]
        sides, texts = self.sides(exhibit), [self.sentence(exhibit), exhibit.note]
        if self.scale == "mini":
            days = self.dates(exhibit)
            texts += [exhibit.mini]
            texts += [f"Ours were recorded from {days}; the library has changed in between."] if " " in days else []
            texts += [f"**Scale paper only.** {exhibit.paper_only}"] if exhibit.paper_only else []
        shown = [getattr(self, exhibit.kind)(exhibit)] if exhibit.kind == "presets" or sides else []
        is_missing = self.scale != "mini" and exhibit.ours and "ours" not in sides
        texts += [_NOT_RECORDED] if is_missing or not (shown or exhibit.paper_only) else []
        texts = [text for text in texts if text]
        return [*shown, *([Markdown("\n\n".join(texts))] if texts else [])]
