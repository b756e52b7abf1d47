"""Linear probes of frozen states, beside states of one text at a time."""

import numpy as np
import pytest
import torch

from studies.models.probe import probe, states
from vocab_lit.models.source import load_model
from vocab_lit.tasks.pairs import Pair
from vocab_lit.tasks.tagging import Tagged
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer

SENTENCES = [
    Tagged(("the", "lakes", "of", "Malawi"), ("DET", "NOUN", "ADP", "PROPN")),
    Tagged(("rivers", "of", "the", "north"), ("NOUN", "ADP", "DET", "NOUN")),
]
PAIRS = [Pair("the lake", "the lakes of the north", "same"), Pair("of the north", "the river", "other")]


@pytest.fixture(scope="module")
def model():
    folder = data_path("models", "mini-roberta")
    return load_model(folder).float().eval(), load_tokenizer(folder)


def mean_of(model, text, start=0, end=None):  # of the tokens of a part of a text, alone in a batch
    net, tokenizer = model
    coded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
    places, special = coded["offset_mapping"], coded["special_tokens_mask"]
    chosen = [i for i, (a, b) in enumerate(places) if not special[i] and start <= a and b <= (end or len(text))]
    with torch.no_grad():
        hidden = net.base_model(torch.tensor([coded["input_ids"]])).last_hidden_state[0]
    return hidden[chosen].mean(0).numpy()


def test_a_word_has_the_mean_of_its_subtokens_in_its_sentence(model):
    found, tags = states(*model, SENTENCES)
    assert tags == ["DET", "NOUN", "ADP", "PROPN", "NOUN", "ADP", "DET", "NOUN"]
    text = " ".join(SENTENCES[1].words)
    starts = np.cumsum([0, *(len(word) + 1 for word in SENTENCES[1].words)])
    for place, (word, start) in enumerate(zip(SENTENCES[1].words, starts)):
        expected = mean_of(model, text, start, start + len(word))
        assert np.allclose(found[4 + place], expected, atol=1e-4), word


def test_a_pair_has_the_means_of_both_texts_side_by_side(model):
    found, labels = states(*model, PAIRS)
    assert labels == ["same", "other"]
    expected = [np.hstack([mean_of(model, pair.premise), mean_of(model, pair.hypothesis)]) for pair in PAIRS]
    assert np.allclose(found, expected, atol=1e-4)


def test_a_probe_learns_from_training_and_is_right_on_the_same_and_wrong_on_exchanged_labels(model):
    assert probe(*model, SENTENCES, SENTENCES) == 1
    exchanged = [
        Pair(PAIRS[0].premise, PAIRS[0].hypothesis, "other"),
        Pair(PAIRS[1].premise, PAIRS[1].hypothesis, "same"),
    ]
    assert probe(*model, PAIRS, PAIRS) == 1 and probe(*model, PAIRS, exchanged) == 0
