import csv
import statistics
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from studies.chapters.embedding_structure import (
    REAL_STARTS,
    SHOWN,
    StructureChapter,
    StructureNumbers,
    cluster_table,
    fallback_seen,
    real_starts,
    task_table,
)
from studies.chapters.lesson import DASH, mean_and_range
from tools.chapters import chapter_defaults
from vocab_lit.text.corpus import data_path

MINI = dict(scale="mini", language="et", compare="et hy", seeds=1)


@pytest.fixture(scope="module")
def numbers():
    "Scores of two languages, the second in an unknown script."
    chapter = StructureChapter(**chapter_defaults("embedding-structure") | MINI)
    place = {method: i for i, method in enumerate(SHOWN)}
    rows = [
        dict(what="scores", setting=code, method=method, mode=mode, seeds=1, metric=metric, step=np.nan, value=value)
        for code, lower in (("et", 0), ("hy", 40))
        for mode in ("full", "emb")
        for metric in ("pos", "ner")
        for method in SHOWN
        for value in [90.0 - place[method] - lower * (method == "SCRIPT+POSN+IDENT")]
    ]
    made = StructureNumbers(chapter, pd.DataFrame(rows))
    made.__dict__["uncovered"] = pd.Series({"et": 0.0, "hy": 0.97})
    return made


def test_the_chapter_takes_the_parameters_of_its_notebook():
    assert {field.name for field in fields(StructureChapter)} == set(chapter_defaults("embedding-structure"))


@pytest.mark.parametrize("model", ["gemma3-270m", "smollm2-135m"])
def test_starts_of_real_models_are_those_of_the_record(model):
    with open(data_path("starts.csv"), encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == model]
    starts = real_starts(model)
    assert starts.index.tolist() == ["cy", "ka", "kk", "ko", "mt", "sw"] and set(starts) == set(REAL_STARTS)
    for method, name in REAL_STARTS.items():
        named = [row for row in rows if row["method"] == name and row["language"] in starts.index]
        assert starts[method].mean() == pytest.approx(statistics.fmean(float(row["bits_per_byte"]) for row in named))


def test_a_table_divides_languages_by_script(numbers):
    assert numbers.sides == {"known scripts": ["et"], "unknown scripts": ["hy"]}
    line = next(line for line in task_table(numbers).data.splitlines() if "| SCRIPT+POSN+IDENT " in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    at = SHOWN.index("SCRIPT+POSN+IDENT")
    # Tables 1 and 2 of the paper print averages of 91.3 and 89.6
    together = f"{70 - at}.0\N{NO-BREAK SPACE}({50 - at}.0{DASH}{90 - at}.0)"
    assert cells[1:] == ["91.3", together, "89.6", f"{90 - at}.0", f"{50 - at}.0"]


def test_a_finding_that_does_not_hold_is_marked(numbers):
    told = fallback_seen(numbers).data
    assert "In unknown scripts a rule covers at most 3% of the tokens." in told.split("Not on this page")[0]
    assert "IDENT gains" in told.split("Not on this page")[1]  # these scores fall from row to row


def test_a_cell_has_the_mean_and_the_range_of_languages():
    assert mean_and_range(pd.Series([1.0, 2.0, 4.0])) == f"2.3\N{NO-BREAK SPACE}(1.0{DASH}4.0)"
    assert mean_and_range(pd.Series([1.25, np.nan]), 2) == "1.25" and mean_and_range(pd.Series([np.nan])) == ""
    rows = pd.DataFrame([dict(model="a", groups="script", n=4, plane=0.3, all_dimensions=0.8)])
    assert "80% (30%; 25%)" in cluster_table(rows).data
