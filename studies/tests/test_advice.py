import json
import re
import statistics
from csv import DictReader

import pandas as pd
import pytest

from studies import advice, advice_of_study
from tools.notebooks import checkout
from vocab_lit.text.corpus import data_path

PAGES = ("README.md", "book/*.md", "book/*.ipynb")
NUMBERS = ("value", "bits_per_byte", "score")  # columns of the records


def rows_of(path):
    with open(data_path(*path.split("/")), encoding="utf-8", newline="") as file:
        return list(DictReader(file))


@pytest.fixture
def other_records(monkeypatch):
    "The same cells with other numbers: the advice must follow."

    def turned(path):
        rows = pd.read_csv(data_path(*path.split("/")), low_memory=False)
        for column in set(NUMBERS) & set(rows):
            rows[column] = rows[column].sample(frac=1, random_state=0).to_numpy()
        return rows

    for module in (advice, advice_of_study):
        monkeypatch.setattr(module, "rows_of", turned)
    cached = [made for m in (advice, advice_of_study) for made in vars(m).values() if hasattr(made, "cache_clear")]
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
    assert "above it in Gemma 3 270M (ka) and SmolLM2 135M (cy, ka, sw)" in advice.compared("focus", "random-mapping")


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
