import pytest
import yaml

from studies.data.presets import (
    PAPER_PARAMETERS,
    PAPER_TEXT,
    data_set,
    languages_by_kind,
    paper_of,
    scale_parameters,
)
from studies.papers.printed import published
from vocab_lit.text.corpus import data_path

XLMR, MBERT = "FacebookAI/xlm-roberta-base", "google-bert/bert-base-multilingual-cased"


def printed(paper, table):  # languages, without averages
    return {code for code in published(paper, table).language if code and not code.startswith("avg")}


def test_languages_are_those_of_the_papers_tables_and_their_kinds_are_true_of_the_source_model():
    resources = yaml.safe_load(data_path("languages.yml").read_text(encoding="utf-8"))["resources"]
    pretrained_on = {r["hub"]: set(r["languages"]) for r in resources if r["kind"] == "model"}
    parameters = PAPER_PARAMETERS
    assert set(parameters["focus"]["compare"].split()) == printed("focus", 4)
    structure = parameters["embedding-structure"]
    for name, table in (("compare", 1), ("mixed", 3), ("family", 8)):
        assert set(structure[name].replace("+", " ").split()) == printed("embedding-structure", table), name
    mad_x = languages_by_kind(parameters["mad-x"]["kinds"])
    assert list(mad_x.values()) == sorted(mad_x.values(), key=list(mad_x.values()).index) and len(mad_x) == 16
    assert set(mad_x) == printed("mad-x", 1) and set(parameters["mad-x"]["questions"].split()) == printed("mad-x", 3)
    covered = published("mad-x", 1).query("metric == 'covered by mBERT and XLM-R'").set_index("language").note
    for code, kind in mad_x.items():
        assert ("not seen" in kind) == (code not in pretrained_on[XLMR]) == (covered[code] != "yes"), code
    for name, table in (("targets", "3a"), ("tree_targets", "3b")):
        targets = languages_by_kind(parameters["unks-everywhere"][name])
        assert set(targets) == printed("unks-everywhere", table)
        assert all((kind == "seen") == (code in pretrained_on[MBERT]) for code, kind in targets.items())
    assert {*parameters["wechsel"]["medium"].split()} == printed("wechsel", 3)
    assert {*parameters["wechsel"]["low"].split()} == printed("wechsel", 4)
    # XLM-R was pretrained on what mini's model was not
    assert {"sw", "am", "km"} <= pretrained_on[XLMR] and "et" in pretrained_on[MBERT]


def test_a_parameter_that_is_given_stays_and_the_scale_has_the_others():
    assert [data_set("focus", "qa", language) for language in ("de", "sw")] == ["germanquad", "tydiqa"]
    assert data_set("focus", "qa", "sw", "xquad") == "xquad" and data_set("mad-x", "qa", "de") == ""
    chosen = scale_parameters("mad-x", "paper", kinds="seen: en", vocabulary="", seeds=0, questions="en")
    assert chosen == dict(kinds="seen: en", vocabulary="", seeds=5, questions="en")
    assert scale_parameters("mad-x", "mini", vocabulary="")["vocabulary"] == "am km"
    assert scale_parameters("mad-x", "custom", vocabulary="none", kinds="")["vocabulary"] == ""
    with pytest.raises(ValueError, match="mixed none: the chapter embedding-structure needs some; leave it out"):
        scale_parameters("embedding-structure", "mini", compare="et", mixed="none")
    assert scale_parameters("compare", "paper", compare="sw", steps=0) == dict(compare="sw", steps=0)
    assert [paper_of(p) for p in ("wechsel-gpt2", "mad-x-adapter", "focus")] == ["wechsel", "mad-x", "focus"]
    text = PAPER_TEXT["focus"]
    assert (text.corpus_of("sw"), text.corpus_of("lb"), text.corpus_of("hmn")) == ("cc100", "oscar-filtered", "mc4")
