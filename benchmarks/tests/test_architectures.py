"""The sweep over model classes of transformers."""

import json
import shutil

import pytest
from safetensors.torch import load_file, save_file
from transformers.models.auto import modeling_auto

from benchmarks.architectures import Architecture, architectures, build, check_folder, made_of, sweep
from benchmarks.architectures import target_tokenizer as target_for
from benchmarks.verdicts import (
    TASKS,
    Record,
    Wrong,
    compared_table,
    counts_table,
    make_record,
    reason_of,
    reasons_table,
)
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


def keep_old_ids(source, made):
    before, after = (json.loads((folder / "config.json").read_text()) for folder in (source, made))
    old = {name: id for name, id in before.items() if name.endswith("_token_id") and after.get(name) != id}
    assert old
    (made / "config.json").write_text(json.dumps(after | old))


def flip_tie(source, made):
    config = json.loads((made / "config.json").read_text())
    tied = config.get("tie_word_embeddings", True)
    (made / "config.json").write_text(json.dumps(config | dict(tie_word_embeddings=not tied)))


EMBEDDINGS = ("word_embeddings.weight", "wte.weight", "embed_tokens.weight", "shared.weight")


def change_last_row(source, made):
    tensors = load_file(made / "model.safetensors")
    [name] = [name for name in tensors if name.endswith(EMBEDDINGS)]
    tensors[name][-1] += 1
    save_file(tensors, made / "model.safetensors", metadata=dict(format="pt"))


PLANTED_IN = [
    ("GPT2LMHeadModel", "gpt2"),
    ("RobertaForTokenClassification", "roberta"),
    ("BertForMaskedLM", "bert"),
    ("XLMRobertaForMaskedLM", "xlm-roberta"),
    ("LlamaForCausalLM", "llama"),
    ("T5ForConditionalGeneration", "t5"),
]


@pytest.mark.parametrize(("name", "model_type"), PLANTED_IN)
def test_ids_that_stayed_and_a_flag_and_a_row_that_changed_are_seen(name, model_type, tmp_path):
    tiny, target = build(Architecture(name, model_type, ""), tmp_path / "source"), target_for(True, pad_moved=True)
    made_of(tiny, target, opened=True).save_pretrained(tmp_path / "made", model=str(tiny.folder))
    check_folder(tiny, tmp_path / "made", target)
    for plant in (keep_old_ids, flip_tie, change_last_row):
        shutil.copytree(tmp_path / "made", tmp_path / plant.__name__)
        plant(tiny.folder, tmp_path / plant.__name__)
        with pytest.raises(Wrong):
            check_folder(tiny, tmp_path / plant.__name__, target)


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
