from pathlib import Path
from benchmarks.architectures import Record, TASKS, architectures, compared_table, counts_table, make_record, reason_of, reasons_table, sweep
from vocab_lit.text.corpus import data_path
import pytest
import tempfile


def test_a_selection_of_classes_is_right_or_refused():
    import pytest
    from transformers.models.auto import modeling_auto

    SOME = [
        "RobertaForTokenClassification",
        "XLNetLMHeadModel",
        "GPT2ForSequenceClassification",
        "MobileBertForMaskedLM",
        "M2M100ForConditionalGeneration",
        "WhisperForConditionalGeneration",
        "LlavaForConditionalGeneration",
        "XGLMForCausalLM",
        "LukeModel",
        "CLIPModel",
    ]


    def named(names):  # one class of a model type, or several
        return {names} if isinstance(names, str) else {*names}


    with pytest.MonkeyPatch.context() as fewer:  # model types that have no class of the selection are left out
        for mapping in TASKS.values():
            types = getattr(modeling_auto, mapping)
            fewer.setattr(modeling_auto, mapping, {t: names for t, names in types.items() if named(names) & {*SOME}})
        selected = [a for a in architectures() if a.name in SOME]
    verdicts = {v.name: v for v in sweep(selected)}
    assert len(verdicts) >= 9 and {v.result for v in verdicts.values()} == {"right"}, verdicts
    assert {n for n, v in verdicts.items() if v.pad_moved} == {
        "M2M100ForConditionalGeneration",
        "XGLMForCausalLM",
        "LukeModel",
    }


@pytest.mark.slow
def test_every_class_that_transformers_maps_is_right_or_refused():
    counts = counts_table(make_record(sweep())).set_index("task").loc["all"]
    assert counts.wrong == counts.crashed == 0 and counts.right >= 600, counts


def test_the_record_that_comes_with_the_package_has_nothing_wrong_and_a_reason_for_each_class_that_is_not_right():
    kept = Record.read(data_path("architectures.json"))
    total = counts_table(kept).set_index("task").loc["all"]
    assert total.wrong == total.crashed == 0 and total.right >= 600 and total.sum() == len(kept.verdicts)
    assert all(v.why for v in kept.verdicts if v.result != "right")
    refused = reasons_table(kept["refused"])
    assert refused.classes.sum() == total.refused and not refused.reason.str.contains("the sweep").any()
    moved = compared_table(kept).set_index("padding").loc["moved"]
    assert moved.right + moved.refused == total.right and moved["outputs compared"] > 0.8 * moved.right
    assert {v.name for v in kept["right"] if "counted from the padding" in reason_of(v)} >= {"MPNetModel"}
    with tempfile.TemporaryDirectory() as place:
        kept.write(Path(place, "again.json"))
        assert Path(place, "again.json").read_text() == data_path("architectures.json").read_text()
