from dataclasses import replace

from studies.data.task_changes import changed_settings
from vocab_lit.tasks.settings import task_settings


def test_focus_trains_longer_in_some_languages_and_data_sets():
    names = task_settings("focus", "ner")
    assert changed_settings("focus", "ner", cases=["sw"]) == replace(names, epochs=25)
    both = changed_settings("focus", "ner", cases=["ha", "masakhaner2"])
    assert both == replace(names, epochs=25, learning_rate=2e-5)
    assert changed_settings("focus", "ner", cases=["sw", "masakhaner2"]).learning_rate == 2e-5
    assert changed_settings("focus", "qa", cases=["sw"]).epochs == 25
    assert changed_settings("focus", "ner") == names


def test_mad_x_has_smaller_batches_in_languages_with_little_text():
    for adapters in (False, True):  # MAD-X, Section 5.2: 16 and 8 for high-resource and low-resource languages
        usual = task_settings("mad-x", "ner", adapters)
        assert usual.batch_size == 16
        assert changed_settings("mad-x", "ner", adapters, low_resource=True) == replace(usual, batch_size=8)
    for paper, task in (("mad-x", "qa"), ("unks-everywhere", "ner"), ("wechsel", "ner")):  # which make no difference
        assert changed_settings(paper, task, low_resource=True) == task_settings(paper, task)
