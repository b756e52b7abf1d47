"""The sweep over model classes of transformers."""

import pytest
from transformers.models.auto import modeling_auto

from benchmarks.architectures import architectures, sweep
from benchmarks.verdicts import TASKS, Record, compared_table, counts_table, make_record, reason_of, reasons_table
from vocab_lit.text.corpus import data_path

MOVED = ["M2M100ForConditionalGeneration", "XGLMForCausalLM", "LukeModel"]  # refused where the padding id moves
QUICK = ["RobertaForTokenClassification", "XLNetLMHeadModel", "GPT2ForSequenceClassification", "CLIPModel"]
LONG = ["MobileBertForMaskedLM", "WhisperForConditionalGeneration", "LlavaForConditionalGeneration"]


@pytest.mark.parametrize("names", [MOVED + QUICK, pytest.param(LONG, marks=pytest.mark.slow)])
def test_a_selection_of_classes_is_right(names, monkeypatch):
    for mapping in TASKS.values():  # model types that have no class of the selection are left out
        types = getattr(modeling_auto, mapping)
        fewer = {t: some for t, some in types.items() if {*([some] if isinstance(some, str) else some)} & {*names}}
        monkeypatch.setattr(modeling_auto, mapping, fewer)
    verdicts = {v.name: v for v in sweep([a for a in architectures() if a.name in names])}
    assert set(verdicts) == set(names) and {v.result for v in verdicts.values()} == {"right"}, verdicts
    assert {name for name, v in verdicts.items() if v.pad_moved} == {*MOVED} & {*names}


@pytest.mark.slow
def test_every_class_that_transformers_maps_is_right_or_refused():
    counts = counts_table(make_record([*sweep()])).set_index("task").loc["all"]
    assert counts.wrong == counts.crashed == 0 and counts.right >= 600, counts


def test_the_bundled_record_has_nothing_wrong_and_a_reason_for_each_class_that_is_not_right(tmp_path):
    kept = Record.read(data_path("architectures.json"))
    total = counts_table(kept).set_index("task").loc["all"]
    assert total.wrong == total.crashed == 0 and total.right >= 600 and total.sum() == len(kept.verdicts)
    assert all(v.why for v in kept.verdicts if v.result != "right")
    refused = reasons_table(kept["refused"])
    assert refused.classes.sum() == total.refused and not refused.reason.str.contains("the sweep").any()
    moved = compared_table(kept).set_index("padding").loc["moved"]
    assert moved.right + moved.refused == total.right and moved["outputs compared"] > 0.8 * moved.right
    assert {v.name for v in kept["right"] if "counted from the padding" in reason_of(v)} >= {"MPNetModel"}
    kept.write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == data_path("architectures.json").read_text()
