"""The record of the real model's chapter: whole, as its commands printed it, and what the page shows of it."""

import copy
import re

import numpy as np
import pandas as pd
import pytest

from studies.trials import real_page as page
from studies.trials.real_chapter import ADDED, QUESTIONS, differences, steps
from tools.notebooks import checkout, read_notebook, source
from vocab_lit.text.corpus import data_path


@pytest.fixture(scope="module")
def record():
    return page.load_record()


def test_each_command_of_the_chapter_is_recorded_with_what_it_printed_and_took(record):
    assert {step.name: step.command for step in steps()} == {
        name: entry["command"] for name, entry in record.items() if name not in ("said", "chats")
    }
    for step in steps():
        entry = record[step.name]
        assert entry["output"] and entry["cpu_seconds"] > 0 and entry["memory_mb"] > 50
        assert ("file_mb" in entry) == bool(step.makes)
        if "--task ppl" in step.command:
            [printed] = re.findall(r"bits per byte\W+([\d.]+)", "\n".join(entry["output"]))
            assert entry["bits_per_byte"] == float(printed)


def test_the_shown_tokens_are_a_verse_of_the_text_in_both_vocabularies(record):
    verses = {"".join(piece for piece, _ in record["said"][side]["pieces"]).strip() for side in ("before", "after")}
    [verse] = verses
    assert verse.startswith("Koma Yona ananyamuka kuti athawire ku Tarisisi")
    assert not any(new for _, new in record["said"]["before"]["pieces"])
    assert sum(new for _, new in record["said"]["after"]["pieces"]) > 3
    for side in ("before", "extended", "trained"):
        answers = record["chats"][side]["text"]
        assert record["chats"][side]["right"] == sum(bool(re.search(QUESTIONS[q], answers[q])) for q in QUESTIONS)


def test_the_page_s_tables_and_figures_have_the_record_s_numbers_and_its_prose_has_none(record):
    ways = page.way_rows(record).set_index("model")["bits per byte, Chichewa"]
    for title, side in {
        "original": "untouched",
        "trimmed and trained": "trained without new tokens",
        "trimmed, extended and trained": "trained",
    }.items():
        assert float(ways[title]) == pytest.approx(record[f"{side} in jonah.txt"]["bits_per_byte"], abs=6e-4)
    points = page.added_points(record).set_index("added")
    starts = {0: page.bits(record, "trimmed")} | {n: page.bits(record, f"start {n}") for n in ADDED}
    assert dict(points["bits per byte"]) == starts and points["tokens of Jonah"].is_monotonic_decreasing
    [axes] = page.added_figure(record).axes
    drawn = {line.get_label(): line.get_ydata().tolist() for line in axes.lines[1:]}
    assert drawn == {
        "before training": list(starts.values()),
        "after training": points["after training"].dropna().tolist(),
    }
    written = [float(text.get_text()) for text in axes.texts]
    assert written == [round(value, 2) for values in drawn.values() for value in values]
    assert dict(points["after training"].dropna()) == {
        0: page.bits(record, page.KEPT),
        2000: page.bits(record, "trained"),
    }
    kept = page.trim_points(record).query("tokens == 30_000").set_index("text").lines
    [row] = [line for line in record["trim"]["output"] if line.startswith("│  30,000 ")]
    assert [f"{kept[text]:.1f}%" in row for text in ("Chichewa", "English")] == [True, True]
    speed = page.speed_rows(record).set_index("")
    said = record["said"]["after"]
    words = said["tokens_per_second"] / said["tokens_per_word"]
    assert float(speed.loc["words per second", "after"]) == pytest.approx(words, abs=0.51)
    cells = read_notebook(checkout() / "book" / "real.ipynb")["cells"]
    prose = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    prose = re.sub(r"```.*?```|\]\(.*?\)|<!-- (\w+) -->.*?<!-- /\1 -->", "", prose, flags=re.S)
    assert not re.findall(r"\d\.\d", prose)


def test_the_trial_s_table_and_curves_have_the_numbers_of_its_records():
    passed = pd.read_csv(data_path("real-trial", "one-pass.csv")).query("metric == 'bits per byte' and step == 300")
    ends = passed[passed.setting.isin(["continued-2000", "continued-2000-3e-5"])].value
    shown = [re.search(r"→ ([\d.]+) ", cell)[1] for cell in page.trial_rows()["2,000 added"]]
    assert sorted(shown) == sorted(f"{end:.2f}" for end in ends)
    trial = pd.read_csv(data_path("real-trial", "records.csv"))
    figure = page.training_figure(trial)
    data = figure.data
    starts = trial.query("metric == 'bits per byte' and step == 0").value
    assert data["bits per byte"].max() == pytest.approx(max(starts))
    assert len(figure.axes) == 6 and figure.get_figwidth() > figure.get_figheight()


def test_the_captions_of_figures_hold_for_the_records(record):
    shares = page.trim_points(record).pivot(index="tokens", columns="text", values="lines")[:-1]
    assert (shares.English < shares.Chichewa).all()
    points = page.added_points(record)
    assert (points["bits per byte"] - points["after training"]).min() > 2 * np.ptp(points["bits per byte"])
    curves = page._trial_curves(pd.read_csv(data_path("real-trial", "records.csv")))
    spread = curves.groupby(["model", "language", "step"])["bits per byte"].agg(np.ptp).unstack()
    assert (spread[60] < spread[0] / 2).all()


def test_a_repetition_is_compared_number_by_number(record):
    again = copy.deepcopy(record)
    assert not differences(record, again)
    again["trim"]["file_mb"] += 2
    again["untouched in jonah.txt"]["bits_per_byte"] += 0.02
    again["trained in jonah.txt"]["bits_per_byte"] += 0.2
    assert [line.partition(":")[0] for line in differences(record, again)] == [*("trim", "trained in jonah.txt")]


def test_the_page_on_plans_that_learn_says_what_its_record_says():
    rows = pd.read_csv(data_path("real-trial", "learned-plan.csv")).query("metric == 'bits per byte'")
    bits = rows.set_index(["setting", "step"]).value.unstack()
    starts, halves, ends = bits[0], bits[30], bits[60].fillna(bits[40])
    assert ends["all-1e-4"] < ends.drop("all-1e-4").min() - 0.3
    assert ends.drop("all-1e-4").idxmin() == halves.idxmin() == "mean-new-3e-4"
    assert all(ends[way] < starts[way] for way in ("mean-plan-1e-3", "mean-plan-3e-3"))
    assert all(ends[way] > starts[way] for way in ("plan-1e-3", "plan-3e-3", "mean-plan-1e-2"))
