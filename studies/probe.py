"""What a model's states know before anything is trained: parts of speech, and inference (Minixhofer et al., 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

from vocab_lit.models.compatibility import check_rows
from vocab_lit.models.model_class import max_length
from vocab_lit.tasks.evaluate import linear_classifier, mean_states, text_rows
from vocab_lit.tasks.settings import get_task
from vocab_lit.tasks.tagging import Tagged, windows
from vocab_lit.tasks.task import divide

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from vocab_lit.tasks.pairs import Pair
    from vocab_lit.tasks.task import Task

Rows = list[tuple[list[int], list[int]]]  # as `mean_states` takes them


def _words(tokenizer: PreTrainedTokenizerBase, examples: Sequence[Tagged], length: int) -> tuple[Rows, list[int]]:
    "Rows with a mean for each word, and the sentence that each row is of."
    first = list(accumulate((len(e.words) for e in examples), initial=0))
    cut = list(windows(tokenizer, [e.words for e in examples], length))
    counts = [[k if k < 0 else first[w.sentence] + w.start + k for k in w.words] for w in cut]
    return [(w.ids, counted) for w, counted in zip(cut, counts)], [w.sentence for w in cut]


def _texts(tokenizer: PreTrainedTokenizerBase, examples: Sequence[Pair], length: int) -> tuple[Rows, list[int]]:
    "Rows with a mean for each premise and each hypothesis, and the text that each row is of."
    rows, texts = [], list(chain.from_iterable((e.premise, e.hypothesis) for e in examples))
    whose = []
    for number, text in enumerate(texts):
        for ids, counted in text_rows(tokenizer, [text], length):
            rows.append((ids, [k if k < 0 else number for k in counted]))
            whose.append(number)
    if not texts:
        list(text_rows(tokenizer, [""], length))  # refuses rows without room
    return rows, whose


_ROWS = {"pos": _words, "nli": _texts}


def _rows(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: Sequence, task: Task, length: int):
    check_rows(model, tokenizer)
    if task.name not in _ROWS:
        raise ValueError(f"there is no probe for {task.name}; choose from {', '.join(_ROWS)}")
    length = min(length or 512, max_length(model), tokenizer.model_max_length)
    return _ROWS[task.name](tokenizer, examples, length)


def _features(means: np.ndarray, task: Task, compare: bool) -> np.ndarray:
    "Of a word its mean; of a pair both means side by side, and to compare their difference and product."
    if task.name == "pos":
        return means
    u, v = means[::2], means[1::2]
    return np.hstack([u, v, abs(u - v), u * v] if compare else [u, v])


def states(
    model: PreTrainedModel,  # masked or causal language model; it is not changed
    tokenizer: PreTrainedTokenizerBase,  # the model's
    examples: Sequence,  # of the task: tagged sentences, or pairs
    task: str | Task,  # pos or nli
    length: int = 0,  # tokens in a row; 0: 512, and never more than the model takes
    compare: bool = False,  # nli: also the difference of the two means without its sign, and their product
    batch_size: int = 32,
    rows: Rows | None = None,  # of the examples, where they are there
) -> np.ndarray:  # (answers, features) float32: a row for each word, or for each pair
    "The features of frozen states that a linear classifier is trained on, a row for each word or pair."
    task = get_task(task)
    rows = _rows(model, tokenizer, examples, task, length)[0] if rows is None else rows
    n = sum(len(e.words) for e in examples) if task.name == "pos" else 2 * len(examples)
    return _features(mean_states(model, tokenizer, rows, n, batch_size), task, compare)


def _answers(task: Task, name: str, examples: Sequence) -> list[str]:
    "Gold labels of a split; `ValueError` where there are none."
    if not (answers := [label for e in examples for label in task.asked(e)]):
        raise ValueError(f"the {name} split has no {task.asks}; give at least one")
    return answers


def probe(
    model: PreTrainedModel,  # masked or causal language model; it is not changed
    tokenizer: PreTrainedTokenizerBase,  # the model's
    train: Sequence,
    test: Sequence,  # examples of the task
    task: str | Task,  # pos or nli
    length: int = 0,  # tokens in a row; 0: 512, and never more than the model takes
    compare: bool = False,  # nli: also what the two sentences have in common
    max_train: int = 0,  # examples to train on; a random sample where there are more; 0: all
    batch_size: int = 32,
) -> dict[str, Any]:  # accuracy; majority (always the most frequent answer); train, test (answers); long (texts)
    "Accuracy of a linear classifier on frozen states."
    task = get_task(task)
    if max_train and len(train) > max_train:
        train = divide(train, 0, max_train)[0]
    known, asked = _answers(task, "training", train), _answers(task, "test", test)
    rows = [_rows(model, tokenizer, split, task, length) for split in (train, test)]
    frequency = Counter(known)
    if len(frequency) < 2:
        raise ValueError(f"all training {task.asks} have the label {known[0]}; a classifier needs at least two")
    of_train, of_test = (
        states(model, tokenizer, split, task, length, compare, batch_size, split_rows)
        for split, (split_rows, _) in zip((train, test), rows)
    )
    predicted = linear_classifier(of_train, known).predict(of_test)
    return dict(
        accuracy=float((predicted == np.array(asked)).mean()),
        majority=asked.count(frequency.most_common(1)[0][0]) / len(asked),
        train=len(known),
        test=len(asked),
        long=sum(n > 1 for _, whose in rows for n in Counter(whose).values()),  # texts that are longer than a row
    )
