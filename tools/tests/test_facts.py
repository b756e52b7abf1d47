import gzip
import json
import re
import statistics
from collections import Counter
from csv import DictReader

import numpy as np
import pytest
import torch
import typer

import vocab_lit.cli.main
from testkit.phrasebook import lines
from tools import facts
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer


class Trial:
    "The records of the field trial, read by hand."

    def __init__(self):
        with (data_path("field") / "records.csv").open(encoding="utf-8") as file:
            self.rows = list(DictReader(file))
        self.languages = sorted({row["language"] for row in self.rows})

    def tagged(self):
        "The languages that have treebanks of their own."
        return sorted({r["language"] for r in self.rows if r["task"] == "pos" and r["source"] == r["language"]})

    def mean(self, language, way, metric, **other):
        wanted = dict(other, language=language, setting=way, metric=metric)
        return statistics.mean(float(row["value"]) for row in self.rows if wanted.items() <= row.items())

    def lead(self, language, when):
        "How far FOCUS is below random mapping, in bits per byte."
        metric, other = ("bits per byte", {"step": "0"}) if when == "at the start" else (f"bits per byte {when}", {})
        focus, random = (self.mean(language, way, metric, **other) for way in ("focus", "random-mapping"))
        return random - focus


@pytest.fixture(scope="module")
def trial():
    return Trial()


@pytest.fixture(scope="module")
def study_mean():
    "A function that gives a mean of the recorded study, over seeds and then over languages."
    with gzip.open(data_path("records", "study.csv.gz"), "rt", encoding="utf-8") as file:
        rows = [row for row in DictReader(file) if row["scale"] == "mini"]

    def of_language(language, wanted):
        return statistics.mean(
            float(row["value"]) for row in rows if row["language"] == language and wanted.items() <= row.items()
        )

    def mean(languages, **wanted):
        return statistics.mean(of_language(language, wanted) for language in languages)

    return mean


def test_each_column_of_the_evidence_adds_up_to_the_number_of_claims_in_the_file():
    texts = [file.read_text(encoding="utf-8") for file in (data_path() / "claims").glob("*.yml")]
    claims_in_file = sum(len(re.findall(r"^ +- id: ", text, re.M)) for text in texts)
    columns = list(zip(*(line.strip("| ").split(" | ") for line in facts.evidence().splitlines()[2:])))
    assert {len(c) for c in columns} == {5} and len(columns) == 1 + facts.judged().source.nunique() >= 3
    for column in columns[1:]:
        numbers = [int(cell.strip("*")) for cell in column]
        assert sum(numbers[:-1]) == numbers[-1] == claims_in_file
    told = [int(n) for n in re.findall(r"\d+", facts.findings())]
    assert told[0] == claims_in_file == sum(told[1:])
    assert [str(n) for n in told[1:]] == list(columns[1][:-1])


def test_numbers_of_the_results_are_those_of_the_table_of_records(trial, study_mean):
    ner = dict(chapter="embedding-structure", metric="ner", mode="full")
    unknown, known = ("hy", "te"), ("et", "fi", "he", "uk")
    for languages, share in ((unknown, (0.2, 0.5)), (known, (0, 0.1))):
        for language in languages:
            tokenizer = load_tokenizer(data_path("models", "mini-xlmr"))
            ids = tokenizer("\n".join(lines(language, 100, seed=0)))["input_ids"]
            assert share[0] <= np.mean(np.array(ids) == tokenizer.unk_token_id) <= share[1], language
    scores = facts.ner_scores()
    assert scores.unknown["FOCUS"] == pytest.approx(study_mean(unknown, method="FOCUS+IDENT", **ner))
    assert scores.known["trained"] == pytest.approx(study_mean(known, method="full vocabulary", **ner))
    starts = dict(chapter="focus", what="loss", metric="loss")
    ten = ("am", "ar", "de", "et", "fi", "he", "km", "ne", "sw", "uk")
    gap = study_mean(ten, method="random", **starts) - study_mean(ten, method="focus", **starts)
    assert f"FOCUS starts {gap:.1f} nats below" in facts.results()
    told = re.search(r"leaves (\d+) to (\d+)% of FOCUS's lead", facts.results())
    shares = [
        100 * trial.lead(language, "at the end") / trial.lead(language, "at the start") for language in trial.languages
    ]
    assert told.groups() == (f"{min(shares):.0f}", f"{max(shares):.0f}")


def test_the_line_keeps_its_text_under_both_vocabularies_and_the_losses_are_those_of_the_records(study_mean):
    for tokens in facts._example_tokens():
        assert "".join(tokens).replace("▁", " ").strip() == facts.EXAMPLE
    before, after = map(len, facts._example_tokens())
    assert after < before / 2
    curve = dict(chapter="focus", what="curve", metric="loss", method="focus")
    assert f"**{study_mean(['sw'], step='0', **curve):.1f} to {study_mean(['sw'], step='60', **curve):.1f} nats**" in (
        facts.before_after()
    )


def test_the_picture_has_all_tokens_the_colours_of_the_plan_and_the_weights_that_the_readme_s_lines_print():
    picture = facts.idea_picture()
    before, after = facts._example_kinds()
    assert all(f">{token}</text>" in picture for token, _ in before + after)
    assert {kind for _, kind in after} == {"copied", "new"} and dict(after)[facts.SHOWN] == "new"
    source, target, plan = facts._example_run()
    matrix = np.random.default_rng(0).normal(size=(len(source), 3))
    terms = plan.explain(facts.SHOWN)
    made = terms.weight.to_numpy() @ matrix[source.convert_tokens_to_ids(list(terms.source))]
    assert np.isclose(terms.weight.sum(), 1, atol=1e-5)
    assert np.allclose(
        plan.apply(torch.tensor(matrix, dtype=torch.float32))[target.convert_tokens_to_ids(facts.SHOWN)],
        made,
        atol=1e-5,
    )
    for weight, name in zip(terms.weight.head(4), terms.source):
        assert f">{weight:.2f} × {name}<".replace(">0", ">") in picture


def test_the_real_line_s_boxes_stay_in_the_picture_and_every_filled_colour_has_one_for_dark_pages():
    picture = facts.real_picture()
    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="30"', picture)
    assert len(boxes) == sum(int(n) for n in re.findall(r">[^<:]+: (\d+) tokens", picture))
    height = float(re.search(r'viewBox="0 0 400 (\d+)"', picture)[1])
    assert all(float(x) + float(width) <= 384 and float(y) + 30 < height for x, y, width in boxes)
    for drawn in (picture, facts.idea_picture()):
        style = re.search("<style>.*</style>", drawn)[0]
        assert set(re.findall('fill="(#[0-9a-f]{6})"', drawn)) <= set(re.findall(r'\[fill="(.{7})"\]', style))
    for _, before, after in facts.real_numbers().values():
        assert f">{before} → {after}<" in picture


def test_all_tokens_are_on_the_card_none_beyond_its_right_edge():
    card = facts.social_card()
    shown = {text.get_text() for text in card.texts}
    assert set().union(*facts._example_tokens()) <= shown
    ends = [text.get_window_extent(card.canvas.get_renderer()).x1 for text in card.texts]
    assert max(ends) < 0.98 * card.bbox.width and list(card.bbox.size) == [1200, 630]


def test_ratios_are_medians_over_the_rounds_by_hand():
    record = json.loads(data_path("bench.json").read_text(encoding="utf-8"))
    seconds = {(r["case"], r["round"], r["side"]): r["cpu_seconds"] for r in record["real"]["runs"]}
    cases = {case for case, *_ in seconds}
    assert len(cases) == 5
    for name in cases:
        ratios = [
            seconds[case, turn, side] / seconds[case, turn, "reading"]
            for case, turn, side in seconds
            if case == name and side == "vocab_lit"
        ]
        assert f"{name} {statistics.median(ratios):.1f}" in facts.speed()


def test_every_command_is_in_the_tables_once():
    there = set(typer.main.get_command(vocab_lit.cli.main.app).commands)
    assert {"inspect", "transplant", "lapt", "adapt"} <= there
    assert sorted(re.findall(r"`(\w+)`", facts.commands().split("\n", 2)[2])) == sorted(there)
    rows = [row.strip("| ").split(" | ") for row in facts.all_commands().splitlines()[2:]]
    assert sorted(name.strip("`") for name, _ in rows) == sorted(there)
    assert all(told.endswith(".") for _, told in rows)


def test_the_speedrun_told_is_the_lowest_valid_record_of_the_budget_with_most_records():
    with open(data_path("speedrun.csv"), encoding="utf-8", newline="") as file:
        rows = list(DictReader(file))
    most = Counter(row["minutes"] for row in rows).most_common(1)[0][0]
    valid = [row for row in rows if row["valid"] == "yes" and row["minutes"] == most]
    first = min(valid, key=lambda row: float(row["score"]))
    assert f"Best in {most} CPU-minutes (SmolLM2, Swahili): `{first['recipe']}`" in facts.speedrun()
    assert f"{float(first['before']):.2f} → {float(first['score']):.2f}" in facts.speedrun()


def test_the_tables_of_the_first_page_have_the_numbers_of_records():
    def rows(table):
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        return {what: (float(before.replace(",", "")), float(after.replace(",", ""))) for what, before, after in cells}

    record = json.loads(data_path("real-trial", "adapt.json").read_text(encoding="utf-8"))["rows"]
    record = [row for row in record if row["key"] in facts._SHOWN]
    adapted = rows(facts.adapt_table())
    assert list(adapted.values()) == [pytest.approx((row["before"], row["after"]), rel=0.004) for row in record]
    assert next(iter(adapted)) == "bits per byte, Swahili"
    line = facts.real()
    for what, (before, after) in rows(facts.real_table()).items():
        digits = 0 if what == "MB" else 2
        assert f"{before:.{digits}f} → {after:.{digits}f}" in line, what
