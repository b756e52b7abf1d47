import csv
import statistics
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from studies.chapters.focus import REAL, ROWS, FocusChapter, mixture_example, real_starts
from studies.chapters.lesson import DASH, mean_and_range
from tools.chapters import chapter_defaults
from vocab_lit.text.corpus import data_path


def test_the_chapter_takes_the_parameters_of_its_notebook():
    assert {field.name for field in fields(FocusChapter)} == set(chapter_defaults("focus"))


@pytest.mark.parametrize(
    "model, languages", [("gemma3-270m", ["ka", "sw"]), ("smollm2-135m", ["cy", "ka", "mt", "sw"])]
)
def test_starts_of_real_models_are_those_of_the_record(model, languages):
    with open(data_path("starts.csv"), encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == model]
    starts = real_starts(model)
    assert starts.index.tolist() == languages and set(starts) == set(ROWS) - {"focus-word"}
    for method in starts:
        named = [row for row in rows if row["method"] == REAL.get(method, method) and row["language"] in languages]
        assert starts[method].mean() == pytest.approx(statistics.fmean(float(row["bits_per_byte"]) for row in named))


def test_a_cell_has_the_mean_and_the_range_of_languages():
    assert mean_and_range(pd.Series([1.0, 2.0, 4.0])) == f"2.3\N{NO-BREAK SPACE}(1.0{DASH}4.0)"
    assert mean_and_range(pd.Series([1.25, np.nan]), 2) == "1.25" and mean_and_range(pd.Series([np.nan])) == ""


def test_figure_1_shows_a_token_at_the_mean_of_its_parts():
    data = mixture_example().data.set_index("token")
    parts = data[data.weight > 0]
    assert parts.weight.sum() == pytest.approx(1) and parts.weight.is_monotonic_decreasing
    assert {"Syria", "Lebanon", "Algeria"} < set(parts.index) and (data.weight == 0).sum() == 2
    for axis in ("model_x", "model_y"):  # principal components keep means
        assert data[axis]["Kiarabu"] == pytest.approx(parts.weight @ parts[axis], abs=1e-4)
