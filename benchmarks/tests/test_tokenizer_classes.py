"""The sweep over tokenizer classes of transformers."""

import pytest

from benchmarks.tokenizer_classes import STEPS, try_form
from benchmarks.verdicts import Record, TokenizerVerdict
from testkit.tiny_tokenizers import FORMS, TokenizerClass, tokenizer_classes
from vocab_lit.text.corpus import data_path


def verdicts(name, model_type, form):
    return {v.step: v for v in try_form(TokenizerClass(name, model_type), FORMS[form])}


@pytest.mark.parametrize(("name", "model_type", "form"), [("BertTokenizer", "bert", 1), ("GPT2Tokenizer", "gpt2", 4)])
def test_a_selection_of_classes_is_right(name, model_type, form):
    made = verdicts(name, model_type, form)
    assert set(made) == {"opened", *STEPS} and {v.result for v in made.values()} == {"right"}, made


def test_every_class_that_transformers_maps_is_there_once_for_each_model_type_that_counts():
    from transformers.models.auto import tokenization_auto as auto

    classes = tokenizer_classes()
    assert {c.name for c in classes} == {name for name in auto.TOKENIZER_MAPPING_NAMES.values() if name}
    assert len(set(classes)) == len(classes) and any(c.distrusted for c in classes)


def test_the_bundled_record_has_nothing_wrong_and_a_reason_for_each_refusal():
    kept = Record.read(data_path("tokenizer_classes.json"), TokenizerVerdict)
    assert not kept["wrong"] and not kept["crashed"] and len(kept["right"]) >= 600
    assert {v.name for v in kept.verdicts} == {c.name for c in tokenizer_classes()}
    assert all(v.why for v in kept.verdicts if v.result != "right")
