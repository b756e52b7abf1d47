"""What the frozen states of a model tell a linear classifier: parts of speech, and inference (WECHSEL, Appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from vocab_lit.models.compatibility import check_rows
from vocab_lit.models.model_class import max_length
from vocab_lit.tasks.evaluate import linear_classifier, mean_states, text_rows
from vocab_lit.tasks.pairs import Pair
from vocab_lit.tasks.tagging import Tagged, windows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def states(
    model: PreTrainedModel,  # masked or causal language model; it is not changed
    tokenizer: PreTrainedTokenizerBase,  # the model's
    examples: Sequence[Tagged] | Sequence[Pair],
) -> tuple[np.ndarray, list[str]]:  # (n, features), and n labels
    "Return mean states of each word and its tag, or of premise and hypothesis side by side and the label of the pair."
    check_rows(model, tokenizer)
    length = min(512, max_length(model), tokenizer.model_max_length)
    pairs = [example for example in examples if isinstance(example, Pair)]
    if pairs:
        texts = [text for pair in pairs for text in (pair.premise, pair.hypothesis)]
        means = mean_states(model, tokenizer, list(text_rows(tokenizer, texts, length)), len(texts))
        return means.reshape(len(pairs), -1), [pair.label for pair in pairs]
    sentences = [example for example in examples if isinstance(example, Tagged)]
    first = list(accumulate((len(sentence.words) for sentence in sentences), initial=0))
    cut = windows(tokenizer, [sentence.words for sentence in sentences], length)
    rows = [(w.ids, [k if k < 0 else first[w.sentence] + w.start + k for k in w.words]) for w in cut]
    tags = [tag for sentence in sentences for tag in sentence.tags]
    return mean_states(model, tokenizer, rows, first[-1]), tags


def probe(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    train: Sequence[Tagged] | Sequence[Pair],
    test: Sequence[Tagged] | Sequence[Pair],
) -> float:  # 0 to 1
    "Return the accuracy of a linear classifier on frozen states."
    known, labels = states(model, tokenizer, train)
    asked, gold = states(model, tokenizer, test)
    predicted = linear_classifier(known, labels).predict(asked)
    return float((predicted == np.array(gold)).mean())
