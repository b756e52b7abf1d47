"""The records of the speedrun: every recipe can be read, and table and curves say what the records do."""

import csv
import re

import pytest
import yaml

from studies.trials.speedrun import CALIBRATED, RECORD, read_recipe, verdict
from studies.trials.speedrun_records import (
    best,
    bits_after,
    compared,
    curve_points,
    curves,
    findings,
    read_records,
    records_table,
)
from tools.notebooks import checkout, read_notebook, source
from vocab_lit.study.study_file import read_study
from vocab_lit.text.corpus import data_path

HEADER = "date,recipe,hash,minutes,score,kept,kept_before,valid,cpu_seconds,precision,steps,tokens_per_word,curve\n"
ROWS = """2026-01-01,slow,aa,3,2.5,1.20,1.10,"no: en rose by 9.1%, and 5% are allowed",175,fp32,40,2.8,0.2 3.5; 2.9 2.5
2026-01-01,good,bb,3,2.6,1.12,1.10,yes,178,fp32,44/45,2.8,0.20 3.4; 2.95 2.6
2026-01-01,late,cc,3,2.7,1.12,1.10,yes,178,fp32,44,2.8,0.20 3.4; 2.95 2.7
2026-01-01,long,ee,9,2.2,1.12,1.10,yes,500,fp32,140,2.8,0.20 3.4; 8.95 2.2
2026-01-01,short,dd,1,2.4,1.12,1.10,yes,58,fp32,14,2.8,0.20 3.4; 0.95 2.4
"""


@pytest.fixture
def some(tmp_path):
    (tmp_path / "records.csv").write_text(HEADER + ROWS, encoding="utf-8")
    return read_records(tmp_path / "records.csv")


def test_the_best_record_is_the_lowest_that_is_valid_of_the_budget_that_most_recipes_have_run(some):
    assert some.recipe.tolist() == ["long", "good", "late", "slow", "short"]
    assert compared(some).recipe.tolist() == ["good", "late", "slow"] and best(some).recipe == "good"
    assert compared(some[some.minutes != 3]).recipe.tolist() == ["long"]
    assert best(some.assign(precision=["fp32", "bf16", "fp32", "fp32", "fp32"])).recipe == "good"
    assert compared(some.assign(precision=["fp32", "bf16", "bf16", "fp32", "bf16"])).recipe.tolist() == ["good", "late"]
    with pytest.raises(ValueError, match="no record is valid"):
        best(some[~some.is_valid])


def test_the_table_marks_valid_scores_and_the_curves_have_the_points(some):
    table = records_table(some)
    assert table.score.tolist() == ["**2.200**", "**2.600**", "**2.700**", "2.500", "**2.400**"]
    assert table.English[1] == "1.100 → 1.120" and table.steps[1] == "44/45"
    points = curve_points(some)
    assert points[points.recipe == "short"].iloc[:, 1:].to_numpy().tolist() == [[0.2, 3.4], [0.95, 2.4]]
    assert {t.get_text() for t in curves(some).axes[0].get_legend().get_texts()} >= set(some.recipe)


def test_what_a_curve_has_between_two_points_lies_on_their_line_and_the_page_s_findings_hold(some):
    halfway = bits_after(compared(some), (0.2 + 2.9) / 2)
    assert halfway["slow"] == pytest.approx(3.0) and bits_after(compared(some), 0.2)["late"] == 3.4
    told = findings(read_records())
    assert all(told.values()) and f"`{best(read_records()).recipe}` has the lowest" in next(iter(told))


def test_bundled_records_are_of_bundled_recipes_and_their_verdicts_follow_from_their_numbers():
    with open(data_path("speedrun.csv"), encoding="utf-8", newline="") as file:
        assert tuple(next(csv.reader(file))) == RECORD
    for row in read_records().itertuples():
        assert (data_path("speedrun") / f"{row.recipe}.yml").is_file()
        budget = 60 * row.minutes * row.calibration / CALIBRATED
        assert verdict({"en": row.kept}, {"en": row.kept_before}, row.cpu_seconds / budget) == row.valid


def test_bundled_recipes_and_their_track_can_be_read():
    track = read_study(data_path("speedrun", "track.yml"), "DIR")
    assert set(track.other) == {"sw", "en"} and track.keep_text
    for file in sorted(data_path("speedrun").glob("*.yml")):
        if file.stem != "track":
            assert read_recipe(file).lapt.steps is None


def test_the_recipe_that_the_page_shows_is_the_bundled_one():
    prose = "".join(source(cell) for cell in read_notebook(checkout() / "book" / "speedrun.ipynb")["cells"])
    name, shown = re.search(r"This is `data/speedrun/(.+?)`.*?```yaml\n(.*?)```", prose, re.S).groups()
    file = data_path("speedrun", name).read_text(encoding="utf-8")
    assert yaml.safe_load(shown) == yaml.safe_load(file)
