"""Numbers of the papers' vocabularies that need no training."""

import pytest

from studies.papers.printed import published
from studies.trials.real_vocabularies import COLUMNS, FOOTNOTE, TRAINED, beside, measure, recorded
from testkit.phrasebook import lines
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer

MODELS = {
    "xlm-roberta-base": "mini-xlmr",
    "bert-base-multilingual-cased": "mini-mbert",
    "roberta-base": "mini-roberta",
    "gpt2": "mini-gpt2",
}


RULES = ("copied", "combined", "sampled, rare")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    root = tmp_path_factory.mktemp("vocabularies")
    (root / "tokenizers/focus/sw").mkdir(parents=True)
    for name, bundled in MODELS.items():
        (root / "tokenizers" / name).symlink_to(data_path("models", bundled))
    (root / "tokenizers/focus/sw/theirs").symlink_to(data_path("models", "mini-roberta"))
    for code in ("sw", "am", "ka", "et"):
        (root / "texts" / code).mkdir(parents=True)
        (root / "texts" / code / f"phrases-{code}.txt").write_text(
            "\n".join(lines(code, 150, seed=0)), encoding="utf-8"
        )
    return measure(root / "tokenizers", root / "texts")


def test_overlap_unknown_tokens_and_parameters_are_those_of_counting_by_hand(measured):
    source, theirs = (load_tokenizer(data_path("models", name)) for name in ("mini-xlmr", "mini-roberta"))

    def found(paper, vocabulary, language, metric):  # by what it is of
        asked = dict(paper=paper, vocabulary=vocabulary, language=language, metric=metric)
        rows = measured.loc[(measured[list(asked)] == list(asked.values())).all(axis="columns")]
        return dict(zip(rows.of, rows.value))

    theirs_alone = ("focus", "the authors' theirs", "sw")
    shares = found(*theirs_alone, "share of the embeddings, %")
    assert sum(shares.values()) == pytest.approx(100, abs=0.01) and set(shares) == {*RULES}
    told = found(*theirs_alone, "tokens in the target vocabulary")[""]
    shared = found(*theirs_alone, "tokens in the overlap, all")[""]
    assert told == len(theirs) and shared == pytest.approx(told * shares["copied"] / 100, abs=0.1)
    unknown = [found("unks-everywhere", TRAINED, code, "unknown tokens, %")[""] for code in ("am", "ka")]
    assert unknown[0] > 80 > 5 > unknown[1]
    of_rules = found("embedding-structure", TRAINED, "et", "share of the embeddings, %")
    assert sum(of_rules.values()) == pytest.approx(100, abs=0.01)
    million = measured[measured.metric == "parameters, million"].set_index("source").value
    assert million["xlm-roberta-base"] == pytest.approx(len(source) * 768 / 1e6, abs=0.001)
    assert set(measured.columns) == set(COLUMNS) and "phrases-sw" in set(measured.texts)


def test_what_is_recorded_stands_beside_the_printed_number_of_its_table_and_language():
    rows = recorded()
    assert list(rows.columns) == COLUMNS and (rows["where"] != "").any()
    one = published("unks-everywhere", 1).set_index(["metric", "language"]).value
    of_table = rows[(rows["where"] == "Table 1") & (rows.paper == "unks-everywhere")]
    assert len(of_table) == 14 and all(r.printed == one[r.metric, r.language] for r in of_table.itertuples())
    eight = published("focus", 8).set_index(["metric", "language"]).value
    of_table = rows[(rows["where"] == "Table 8") & (rows.vocabulary == TRAINED)]
    assert len(of_table) == 6 and all(r.printed == eight[r.metric, r.language] for r in of_table.itertuples())
    extended = rows[rows["where"] == FOOTNOTE]
    assert len(extended) == 2 and set(extended.printed) == {273_000}
    shown = beside(rows, "unks-everywhere", "lexical overlap, %")
    assert len(shown) == 7 and shown.loc["am"].iloc[0, 0] == "4.37 / 13"


def test_folders_without_tokenizers_or_text_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no folder of text; give one for each language"):
        measure(tmp_path, tmp_path)
    (tmp_path / "sw").mkdir()
    with pytest.raises(ValueError, match="has no folder bert-base-multilingual-cased"):
        measure(tmp_path, tmp_path)
