"""The records of the speedrun: a table, curves along the training, and the best recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from studies.figures.charts import score_curves
from studies.records.summaries import BETWEEN_SEEDS
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECORDS = ("speedrun.csv",)  # in the bundled data
_RECIPES = "https://github.com/vocab-lit/vocab_lit/blob/main/data/speedrun"
EARLY = 2.5  # calibrated CPU-minutes


def read_records(
    path: str | Path = "",  # empty: the bundled ones
) -> pd.DataFrame:  # a row per run, the longest budget first, the best recipe first in each
    "The records of speedruns."
    records = pd.read_csv(path or data_path(*RECORDS), dtype={"hash": str, "fingerprint": str, "steps": str})
    records["is_valid"] = records.valid == "yes"
    by = ["minutes", "is_valid", "score"]
    return records.sort_values(by, ascending=[False, False, True], kind="stable", ignore_index=True)


def compared(records: pd.DataFrame) -> pd.DataFrame:
    "The records of the precision and the budget that most recipes have run; of several such budgets, of the longest."
    by = ["precision", "minutes"]
    recipes = records.groupby(by).recipe.transform("nunique")
    most = records[recipes == recipes.max()]
    longest = most[most.minutes == most.minutes.max()]
    return longest[longest.precision == longest.precision.max()]


def best(records: pd.DataFrame) -> pd.Series:
    "The valid record with the lowest score in the budget that is compared, whatever the precision; else `ValueError`."
    some = records[records.minutes == compared(records).minutes.iloc[0]]
    valid = some[some.is_valid].sort_values("score", kind="stable")
    if valid.empty:
        raise ValueError("no record is valid: each rose in English, or costs too much")
    return valid.iloc[0]


def records_table(records: pd.DataFrame) -> pd.DataFrame:  # cells in Markdown
    "The table of the page."
    rows = [
        dict(
            recipe=f"[{r.recipe}]({_RECIPES}/{r.recipe}.yml)",
            minutes=f"{r.minutes:g}",
            precision=r.precision,
            score=f"**{r.score:.3f}**" if r.is_valid else f"{r.score:.3f}",
            English=f"{r.kept_before:.3f} → {r.kept:.3f}",
            valid=r.valid,
            steps=r.steps,
        )
        | {"tokens per word": f"{r.tokens_per_word:.2f}"}
        for r in records.itertuples()
    ]
    return pd.DataFrame(rows)


def bits_after(records: pd.DataFrame, minutes: float) -> pd.Series:  # by recipe, of one budget
    "Bits per byte that each recipe's curve has after so many calibrated CPU-minutes, between its points in a line."
    points = curve_points(records).groupby("recipe")
    return pd.Series({name: np.interp(minutes, part.minutes, part.bits) for name, part in points})


def findings(records: pd.DataFrame) -> dict[str, bool]:
    "What the records say, and whether they do."
    some, first = compared(records), best(records)
    early = bits_after(some, EARLY)
    some = some.set_index("recipe")
    scores = some.score
    english = some.kept / some.kept_before - 1
    by_tokens = scores.loc[["trim", "trim-4000", "trim-12000"]]
    listed, extended = (
        ", ".join(f"{name} {scores[name]:.3f}" for name in names)
        for names in (by_tokens.index, ("extend-500", "extend-2000"))
    )
    before, after = f"{first.before:.2f} → {first.score:.2f}", f"{first.kept_before:.2f} → {first.kept:.2f}"
    apart = abs(scores["lapt-replay"] - scores["trim"])
    return {
        f"`{first.recipe}` has the lowest bits per byte at {first.minutes:g} minutes: {before}, English {after}.": (
            first.is_valid
        ),
        f"It leads already after {EARLY:g} minutes ({early[first.recipe]:.2f}).": early.idxmin() == first.recipe,
        f"After trimming, more new tokens are better: {listed}.": by_tokens.is_monotonic_decreasing,
        f"So they are without: {extended}.": scores["extend-2000"] < scores["extend-500"],
        f"Without new tokens, trimming changes bits per byte by {apart:.3f}; seeds differ by {BETWEEN_SEEDS:g} in the "
        "trial.": apart < BETWEEN_SEEDS,
        f"English gets worse least with LoRA ({english['lora']:+.1%}), most with {english.idxmax()} "
        f"({english.max():+.1%}).": english.idxmin() == "lora",
    }


def curve_points(records: pd.DataFrame) -> pd.DataFrame:  # recipe, minutes (spent), bits
    "The points of the curves, in calibrated CPU-minutes and bits per byte."
    points = [
        (r.recipe, *map(float, point.split())) for r in records.itertuples() for point in str(r.curve).split("; ")
    ]
    return pd.DataFrame(points, columns=["recipe", "minutes", "bits"])


def curves(records: pd.DataFrame) -> Figure:
    "Bits per byte along the training, a curve for each recipe of one budget."
    points = curve_points(records).rename(columns={"recipe": "language", "minutes": "step", "bits": "value"})
    return score_curves(points, None, "calibrated CPU-minutes", "bits per byte of 25 sentences")
