"""What the trials found: the sentences are made from records, and the bundled ones are up to date."""

import json

import pandas as pd

from studies.evidence import (
    _END,
    _START,
    _WORDS,
    EVIDENCE,
    comparable,
    evidence,
    field_evidence,
    real_evidence,
    real_means,
    way_in_words,
)
from vocab_lit.study.report import UNKNOWN
from vocab_lit.text.corpus import data_path


def test_the_bundled_sentences_are_those_of_the_records():
    assert json.loads(data_path(EVIDENCE).read_text(encoding="utf-8")) == evidence()


def test_advice_has_a_number_of_such_languages_if_records_have_one(tmp_path):
    one = dict(model="m", language="cy", limit="all", task="pos", source="cy", metric="accuracy")
    scores = {"focus": 0.85, "lapt": 0.8}
    trial = pd.DataFrame(
        [dict(one, setting=way, value=score, seed=seed) for way, score in scores.items() for seed in (0, 1)]
    )
    unknown = dict(setting="untouched", metric=UNKNOWN, language="cy", value=0.02)
    path = tmp_path / "records.csv"
    pd.concat([trial, pd.DataFrame([unknown])]).to_csv(path, index=False)
    said = "POS accuracy of 85 with a target vocabulary, 80 with the source's, of another model in other languages "
    said += "(m in cy, text: all)"
    assert field_evidence("replace", True, path) == said
    assert field_evidence("replace", False, path) == "" == field_evidence("extend", True, path)
    assert field_evidence("keep", True, path) == ""


def test_the_evidence_of_the_real_trial_is_the_means_of_its_cells(tmp_path):
    path = tmp_path / "records.csv"
    header = "setting,model,language,limit,seed,metric,value,step,task"
    kept = ("lapt", 0, 3.0, 2.0, 10), ("lapt", 1, 3.2, 2.2, 10)
    cells = *kept, ("continued-500", 0, 2.9, 2.1, 8), ("untouched", 0, 3, 3, 9)
    values = [
        f"{way},m,sw,1MB,{seed},{metric},{value},{step},"
        for way, seed, *numbers in cells
        for (metric, step), value in zip((_START, _END, _WORDS), numbers)
    ]
    path.write_text("\n".join([header, *values]), encoding="utf-8")
    found = "vocabulary kept 3.10 to 2.10, 500 tokens added 2.90 to 2.10 with 20% fewer tokens"
    assert real_evidence(path=path) == [f"m in sw (1MB, 1 seed): {found}"]
    assert real_evidence(True, path) == real_evidence(False, path) == real_evidence(path=path)  # of m nothing is known
    path.write_text("\n".join([header, *values[:6]]), encoding="utf-8")
    assert real_evidence(path=path) == [] and real_means(path)["m", "sw", "1MB"]["lapt"]["seeds"] == 2


def test_ways_are_told_in_words_and_compared_at_one_rate():
    assert way_in_words("blend-8000") == "replaced by 8,000 tokens (blend)"
    assert way_in_words("lapt-1e-5") == "vocabulary kept at a rate of 1e-5"
    assert way_in_words("continued-500-3e-5") == "500 tokens added at a rate of 3e-5"
    assert way_in_words("continued-500-blend") == "continued-500-blend" and way_in_words("untouched") == "untouched"
    assert {line.split()[0] for line in real_evidence(True)} == {"gemma3-270m-trimmed"}
    assert {line.split()[0] for line in real_evidence(False)} == {"smollm2-135m"}
    assert comparable(dict.fromkeys(("lapt-1e-5", "lapt", "continued-500-1e-5", "lapt-replay"), {})) == {
        "lapt": "lapt-1e-5",
        "continued-500": "continued-500-1e-5",
    }
    assert comparable({"lapt": {}, "untouched": {}}) == {}
