"""The numbers that the papers print, and ours beside them in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    import pandas as pd

PAPER_NAMES = {  # the papers of this book, as the file names of their tables call them
    "focus": "FOCUS",
    "embedding-structure": "Embedding Structure",
    "wechsel": "WECHSEL",
    "mad-x": "MAD-X",
    "unks-everywhere": "UNKs Everywhere",
}


def having(rows: pd.DataFrame, where: Mapping[str, object]) -> pd.DataFrame:
    "Return the rows whose columns of text have a wanted value, or one of a list of them."
    for column, wanted in where.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        rows = rows[rows[column].isin([plain_text(value) for value in values])]
    return rows


_NAMES = ["table", "setup", "method", "language", "dataset", "metric"]  # what names a printed number


def published(
    paper: str,  # such as "focus"
    table: str | int | None = None,  # number of a table; all where it is None
) -> pd.DataFrame:  # columns paper, table, setup, method, language, task, dataset, metric, value, std, seeds, note
    "The numbers that a paper prints."
    import pandas as pd

    folder = data_path("published")
    if paper == "hyperparameters" or not (folder / f"{paper}.csv").is_file():
        papers = ", ".join(sorted(p.stem for p in folder.glob("*.csv") if p.stem != "hyperparameters"))
        raise ValueError(f"no published tables of {paper!r}; choose from {papers}")
    text = dict.fromkeys([*_NAMES, "paper", "task", "note"], str)
    numbers = {c: [""] for c in ("value", "std", "seeds")}
    rows = pd.read_csv(
        folder / f"{paper}.csv", dtype=text | {"seeds": "Int64"}, keep_default_na=False, na_values=numbers
    )
    if table is None:
        return rows
    if str(table) not in set(rows.table):
        raise ValueError(f"{paper} has no table {table}; choose from {', '.join(rows.table.unique())}")
    return rows[rows.table == str(table)].reset_index(drop=True)


GROUPS = {  # of UNKs Everywhere
    "avg seen": ["ka", "ur", "hi"],
    "avg covered": ["cdo", "mi", "ilo", "gn", "xmf", "sd", "myv", "bh", "wo"],
    "avg new": ["am", "bo", "km", "dv", "si"],
}


def recompute_averages(
    rows: pd.DataFrame,  # from `published`; with cells, averages alone
    cells: pd.DataFrame | None = None,  # what the averages are over; None: the other rows
    same: Iterable[str] = _NAMES,  # columns in which an average agrees with what it is over
) -> pd.DataFrame:  # table, setup, method, language, dataset, metric, printed, mean, difference, cells (how many), note
    "Each printed average beside the mean of the printed numbers it is over."
    if cells is None:
        is_average = rows.language.str.startswith("avg") | rows.metric.str.contains(" / ", regex=False)
        averages, others = rows[is_average], rows[~is_average]
    else:
        averages, others = rows, cells
    averages = averages.reset_index(drop=True)
    everywhere = list(others.language.unique())
    over = averages.assign(
        average=averages.index,
        language=[GROUPS.get(c, everywhere) if c.startswith("avg") else [c] for c in averages.language],
        dataset=averages.dataset.str.split(" / "),
        metric=averages.metric.str.split(" / "),
    )
    for column in ("language", "dataset", "metric"):
        over = over.explode(column)
    pairs = over.merge(others, on=list(same), suffixes=("", " of a cell"))
    means = pairs.groupby("average")["value of a cell"].agg(["mean", "size"])
    out = averages[_NAMES].assign(printed=averages.value, mean=means["mean"], cells=means["size"])
    return out.assign(difference=out.printed - out["mean"], note=averages.note)


def mismatches(
    averages: pd.DataFrame,  # from `recompute_averages`
    by: float = 0.1,  # differences up to this come from rounding
) -> pd.DataFrame:
    "The averages that do not match the printed cells they are over."
    return averages[averages.difference.abs() > by + 1e-9]


def unstack_in_order(
    cells: pd.Series,  # a value for each (row, column), which the levels of the index name
    n_columns: int = 1,  # so many of the last levels name a column
) -> pd.DataFrame:  # NaN where there is no value
    "A series as a table, with rows and columns in the order of appearance."
    # `unstack(sort=False)` of pandas 2.2 and 2.3 moves the values of incomplete tables into other cells
    levels = list(range(cells.index.nlevels))
    in_rows, in_columns = levels[:-n_columns], levels[-n_columns:]
    rows, columns = cells.index.droplevel(in_columns).unique(), cells.index.droplevel(in_rows).unique()
    return cells.unstack(in_columns).reindex(index=rows, columns=columns)


def _mean_std(values, digits):
    values = values.dropna()
    if not len(values):
        return ""
    if len(values) == 1:
        return f"{values.iloc[0]:.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std():.{digits}f} ({len(values)})"


def table(
    df: pd.DataFrame,  # a row per value, as `CellStore.frame` gives
    index: str | list[str] = "method",  # columns that name a row
    columns: str | list[str] = "language",  # columns that name a column
    digits: int = 2,
) -> pd.DataFrame:  # of texts such as "5.01 ± 0.03 (3)"
    "Mean, sample standard deviation and number of seeds of each cell, in the order of appearance."
    in_rows, in_columns = ([part] if isinstance(part, str) else list(part) for part in (index, columns))
    cells = df.groupby([*in_rows, *in_columns], sort=False).value.agg(lambda v: _mean_std(v, digits))
    return unstack_in_order(cells, len(in_columns)).fillna("")


RECORDS = (  # and of ours
    *("chapter", "what", "setting", "model", "method", "mode", "vocabulary", "head", "start", "kind", "source"),
    *("language", "task", "metric", "lines", "limit", "steps", "step", "stage"),
)


def plain_text(value: object) -> str:
    "Return a value as the tables of records and the printed ones write it: 4.0 and 4 are the same, NaN is empty."
    if value is None or value != value:  # NaN
        return ""
    return f"{value:.12g}" if isinstance(value, (int, float, np.number)) else str(value)


def _stages(step, curve):  # curve: a number for each
    import pandas as pd

    first, last = (step.groupby(curve).transform(edge) for edge in ("min", "max"))
    tenth = step.where((step > first) & (step >= last / 10)).groupby(curve).transform("min")
    stage = pd.Series("", step.index, object)
    for name, at in (("early", tenth), ("end", last), ("start", first)):
        stage = stage.mask(step == at, name)
    return stage


def record_rows(
    records: pd.DataFrame,  # a row per value: the keys of the records, metric, value
) -> pd.DataFrame:  # columns of RECORDS as text, scale, seed and value
    "Records of chapters in one form."
    import pandas as pd

    def first_of(*names, default: float | str = np.nan):  # of columns, the first that has a value in a row
        values = np.full(len(records), default, object)
        for column in (records[name].to_numpy(object) for name in reversed(names) if name in records):
            values = np.where(pd.notna(column), column, values)
        return pd.Series(values, records.index).infer_objects()

    rows = records.assign(
        language=first_of("target", "language", "setting"),
        seed=first_of("task_seed", "seed", default=0),
        scale=first_of("scale", default="mini"),
        stage="",
    )
    rows = rows.reindex(columns=[*RECORDS, "scale", "seed", "value"]).dropna(subset="value").astype({"value": float})
    for c in (*RECORDS, "scale"):
        if c not in ("step", "stage"):
            rows[c] = rows[c].map(plain_text)
    curve = rows.groupby([c for c in rows if c not in ("step", "stage", "value")], sort=False).ngroup()
    return rows.assign(stage=_stages(rows.step.astype(float), curve), step=rows.step.map(plain_text)).reset_index(
        drop=True
    )
