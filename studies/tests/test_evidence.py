"""What the trials found: the sentences are made from records, and the bundled ones are up to date."""

import json

import pandas as pd

from studies.advice.evidence import EVIDENCE, evidence, field_evidence, real_evidence
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


def test_the_evidence_of_the_real_trial_is_that_of_its_cells():
    rows = pd.read_csv(data_path("real-trial", "one-pass.csv"))
    assert set(rows.device) == {"NVIDIA H200"}  # as README says
    cell = rows[(rows.model == "smollm2-135m") & (rows.language == "ka") & (rows.metric == "bits per byte")]
    bits = cell.sort_values("step").groupby("setting").value
    [georgian] = [line for line in real_evidence(False) if line.startswith("smollm2-135m in ka")]
    for way, told in {"lapt": "vocabulary kept", "continued-2000": "2,000 tokens added"}.items():
        assert f"{told} {bits.first()[way]:.2f} to {bits.last()[way]:.2f}" in georgian
    assert "80% fewer tokens" in georgian and {line.split()[0] for line in real_evidence(True)} == {
        "gemma3-270m-trimmed"
    }
    assert len(real_evidence()) == 8
