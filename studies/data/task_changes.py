"""What papers change of their fine-tuning in a language or on a data set, and in languages with little text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vocab_lit.tasks.settings import task_settings
from vocab_lit.tasks.task import TaskConfig

# by paper and task, then by language or short name of a data set: settings by name
CHANGES: dict[tuple[str, str], dict[str, dict[str, float]]] = {
    ("focus", "ner"): {  # Table 6
        "sw": dict(epochs=25),
        "germeval14": dict(epochs=25),
        "masakhaner2": dict(epochs=25, learning_rate=2e-5),
    },
    ("focus", "qa"): {"sw": dict(epochs=25)},
}
LOW_RESOURCE_BATCH = {("mad-x", "ner"): 8}  # batch size in languages with little text; MAD-X, Section 5.2


def changed_settings(
    paper: str, task: str, adapters: bool = False, low_resource: bool = False, cases: Sequence[str] = ()
) -> TaskConfig:
    """The settings of `task_settings`, with what a paper changes.

    low_resource: whether the training language has little text
    cases: the training language, and the data set's short name; the last takes precedence
    """
    config = task_settings(paper, task, adapters)
    for name in cases:
        config = replace(config, **CHANGES.get((paper, task), {}).get(name, {}))
    if low_resource and (paper, task) in LOW_RESOURCE_BATCH:
        return replace(config, batch_size=LOW_RESOURCE_BATCH[paper, task])
    return config
