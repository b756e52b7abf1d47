import json
import re
import statistics
from csv import DictReader

import pandas as pd
import pytest

from studies.advice import of_study as advice_of_study
from studies.advice import of_ways as advice_of_ways
from studies.records import summaries as advice
from tools.notebooks import checkout
from vocab_lit.text.corpus import data_path
from vocab_lit.training.recommended import LAPT_RATES

PAGES = ("README.md", "book/*.md", "book/*.ipynb")
NUMBERS = ("bits_after", "value", "bits_per_byte", "score", "obeyed", "sw bits per byte")  # columns of the records
MODULES = (advice, advice_of_study, advice_of_ways)


def rows_of(path):
    with open(data_path(*path.split("/")), encoding="utf-8", newline="") as file:
        return list(DictReader(file))


@pytest.fixture
def other_records(monkeypatch):
    "The same cells with other numbers: the advice must follow."

    def turned(path):
        rows = pd.read_csv(data_path(*path.split("/")), low_memory=False)
        for column in set(NUMBERS) & set(rows):
            rows[column] = rows[column].sample(frac=1, random_state=3).to_numpy()
        return rows

    for module in MODULES:
        monkeypatch.setattr(module, "rows_of", turned)
    cached = [made for m in MODULES for made in vars(m).values() if hasattr(made, "cache_clear")]
    for made in cached:
        made.cache_clear()
    yield
    for made in cached:
        made.cache_clear()


def test_every_piece_of_advice_names_records_that_are_there():
    for piece in advice.ADVICE.values():
        assert piece.records and all(data_path(*record.split("/")).is_file() for record in piece.records), piece.name


def test_advice_changes_when_its_records_change(request):
    told = {name: piece.says() for name, piece in advice.ADVICE.items()}
    request.getfixturevalue("other_records")
    of_tables = [name for name, piece in advice.ADVICE.items() if any("csv" in record for record in piece.records)]
    assert len(of_tables) > 8
    for name in of_tables:
        assert advice.ADVICE[name].says() != told[name], name


def test_every_piece_of_advice_stands_on_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for page in PAGES for path in checkout().glob(page))
    assert [name for name in advice.ADVICE if f"<!-- {name} -->" not in pages] == []


_ENCODER = re.compile(r"\*(?:No|Yes):\* (.+)\. NER as it comes → with a new vocabulary: (\d+) → (\d+)\.")


def test_the_words_of_advice_follow_its_numbers(request):
    before = advice_of_study.decision()
    assert "*No:* `--vocab-size N`" in before and f"--learning-rate {advice.advised_rate(advice.UNREAD)}`" in before
    request.getfixturevalue("other_records")
    after = advice_of_study.decision()
    for told, n in ((before, 2), (after, 2)):
        leaves = _ENCODER.findall(told)
        assert len(leaves) == n
        for what, source, target in leaves:
            assert (what == "`--vocab-size N`") == (int(target) > int(source) + 1), what
    assert f"--learning-rate {advice.advised_rate(advice.UNREAD)}`" in after


def test_the_recommended_rates_are_those_that_the_record_advises():
    pretrained = {True: advice.READS, False: advice.UNREAD}
    assert {known: float(advice.advised_rate(model)) for known, model in pretrained.items()} == {
        known: LAPT_RATES[known] for known in pretrained
    }


def test_the_advised_rate_is_the_lowest_within_what_seeds_differ_by():
    ends = {}
    for row in rows_of(advice.ONE_PASS):
        if (row["model"], row["metric"]) == ("smollm2-135m", "bits per byte"):
            ends.setdefault((row["setting"], row["language"]), {})[float(row["step"])] = float(row["value"])
    mean = {
        way: statistics.mean(steps[max(steps)] for (setting, _), steps in ends.items() if setting == way)
        for way in ("lapt-3e-5", "lapt", "lapt-3e-4")
    }
    assert mean["lapt-3e-5"] > mean["lapt-3e-4"] + 0.03 > mean["lapt"] > mean["lapt-3e-4"]
    assert advice.advised_rate("smollm2-135m") == "1e-4"


def test_the_range_of_seeds_is_that_of_three_runs():
    runs = [*rows_of("real-trial/seeds.csv"), *rows_of("real-trial/records.csv")]
    ends = {}
    for row in runs:
        cell = row["setting"], row["model"], row["language"], row["metric"]
        if cell == ("lapt", "smollm2-135m", "sw", "bits per byte"):
            ends.setdefault(row["seed"], {})[float(row["step"])] = float(row["value"])
    last = [steps[max(steps)] for steps in ends.values()]
    assert len(last) == 3 and max(last) - min(last) == pytest.approx(advice.BETWEEN_SEEDS, abs=0.005)


def test_the_ways_that_no_other_beats_are_the_front():
    rows = [row for row in rows_of(advice_of_ways.KEPT) if row["way"] != "as it comes"]
    points = {row["way"]: (float(row["sw bits per byte"]), -int(row["obeyed"])) for row in rows}

    def beaten(way):
        mine = points[way]
        return any(o != mine and o[0] <= mine[0] and o[1] <= mine[1] for o in points.values())

    told = advice_of_ways.kept_told().split("obeyed: ")[1].split(". With")[0]
    assert [way for way in points if f"*{way}*" in told] == [way for way in points if not beaten(way)]


def test_numbers_of_one_seed_are_called_so():
    for name in ("new_tokens", "rate_read", "rate_unread", "replay", "extended_start", "best_start"):
        assert "one seed" in advice.ADVICE[name].says(), name
    assert advice.seeds_told(3) == ""


def test_a_method_s_starts_are_counted_in_favour_of_the_lower():
    bits = {(r["model"], r["language"], r["method"]): float(r["bits_per_byte"]) for r in rows_of(advice.STARTS)}
    pairs = [
        (bits[model, language, "focus"], value)
        for (model, language, method), value in bits.items()
        if method == "random-mapping"
    ]
    found = advice.duel("focus", "random-mapping")
    assert len(found.lower) == sum(a < b - advice.LEVEL for a, b in pairs) and found.n == len(pairs)
    assert "smollm2-135m/cy" in found.higher and bits["smollm2-135m", "cy", "focus"] > 6
    told = advice.compared("focus", "random-mapping")
    assert "above it in Gemma 3 270M (ka) and SmolLM2 135M (cy, ka, kk, sw)" in told


def test_an_end_is_the_last_number_and_not_the_best():
    run = [
        float(row["value"])
        for row in sorted(rows_of(advice.ONE_PASS), key=lambda row: float(row["step"] or 0))
        if (row["model"], row["language"], row["setting"], row["metric"])
        == ("gemma3-270m-trimmed", "ka", "lapt-1e-5", "bits per byte")
    ]
    assert min(run) < run[-1]
    assert (
        f"→ {run[-1]:.2f} →" in advice_of_study.decision() and f"→ {min(run):.2f} →" not in advice_of_study.decision()
    )


def test_the_leaves_of_the_tree_have_the_ends_of_the_records():
    tree, ends = advice_of_study.decision(), {}
    for row in rows_of(advice.ONE_PASS):
        if row["metric"] == "bits per byte" and row["model"] == "smollm2-135m":
            ends.setdefault((row["setting"], row["language"]), {})[float(row["step"])] = float(row["value"])
    last = {key: steps[max(steps)] for key, steps in ends.items()}
    for language in ("sw", "cy", "ka", "mt"):
        assert f"{language} {last['lapt', language]:.2f} → {last['continued-2000', language]:.2f}" in tree


def test_a_new_vocabulary_is_compared_with_the_model_as_it_comes():
    rows = pd.read_csv(data_path("records", "study.csv.gz"), low_memory=False)
    rows = rows[(rows.chapter == "embedding-structure") & (rows.scale == "mini") & (rows.metric == "ner")]
    untouched = rows[(rows.method == "full vocabulary") & rows["mode"].isna()]
    for side, languages in (("unknown", ("hy", "te")), ("known", ("et", "fi", "he", "uk"))):
        means = [untouched[untouched.language == language].value.mean() for language in languages]
        assert advice_of_study.ner_scores().loc["as it comes", side] == pytest.approx(statistics.mean(means))
    assert "most Swahili (81 → 70, one seed)" in advice_of_study.vocabulary_pays()


def test_the_lines_that_trimming_changes_are_those_of_the_chapter():
    output = "\n".join(
        json.loads(data_path("real-trial", "chapter.json").read_text(encoding="utf-8"))["trim"]["output"]
    )
    shares = re.findall(r"│ (?:chichewa|english)\.txt +│ +[\d,]+ │ +([\d.]+%)", output)
    assert len(shares) == 2 and all(share in advice.trim_costs() for share in shares)
