"""Every architecture and family of tokenizers in training."""

import numpy as np
import pytest
import torch

from benchmarks.tests.toys import FAMILIES, MODELS, WORDS, small_model
from vocab_lit.models.madx import LANGUAGE, AdapterConfig, MadX
from vocab_lit.training.lapt import lapt
from vocab_lit.training.lm_data import mask_tokens
from vocab_lit.training.settings import LaptConfig

FEW = LaptConfig(steps=1, batch_size=2, length=8, learning_rate=1e-2, eval_every=1)
TEXT = ["maji moto ni ziwa na gari", "gari na basi 1 2 ! nyumba", "nyumba ziwa na maji", "ጸሐይ 1 maji"] * 5
WITHOUT_ADAPTERS = ("DistilBERT", "ALBERT", "GPT-2", "Llama", "T5", "mT5")


def losses(model, tokenizer) -> list[float]:
    "Before and after a step."
    return lapt(model, tokenizer, TEXT, TEXT, FEW).loss.tolist()


def adapter_losses(name, tokenizer) -> list[float]:
    madx = MadX(small_model(name, tokenizer))
    madx.add_language("sw", LANGUAGE if name != "ELECTRA" else AdapterConfig(2))
    with madx.learning("sw") as model:
        return losses(model, tokenizer)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_trained_or_refused_in_a_sentence(name):
    tokenizer = FAMILIES["unigram"](WORDS)
    if name in ("T5", "mT5"):
        with pytest.raises(ValueError, match="is an encoder-decoder, which is pretrained in another way"):
            losses(small_model(name, tokenizer), tokenizer)
    else:
        both = losses(small_model(name, tokenizer), tokenizer)
        assert np.isfinite(both).all() and len(both) == 2


@pytest.mark.parametrize("name", MODELS)
def test_an_adapter_is_trained_or_refused_in_a_sentence(name):
    tokenizer = FAMILIES["unigram"](WORDS)
    if name in WITHOUT_ADAPTERS:
        with pytest.raises(ValueError, match="adapters go into encoders whose layers end in a normalisation"):
            adapter_losses(name, tokenizer)
    else:
        both = adapter_losses(name, tokenizer)
        assert np.isfinite(both).all() and len(both) == 2


def test_an_invertible_adapter_needs_embeddings_as_wide_as_the_layers():
    refusal = "the embeddings have 10 dimensions and the layers 12; an invertible adapter needs the same number in both"
    with pytest.raises(ValueError, match=refusal):
        MadX(small_model("ELECTRA", FAMILIES["unigram"](WORDS))).add_language("sw")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_tokenizers_can_be_trained_with_and_masks_use_ids_of_pieces_alone(family):
    tokenizer = FAMILIES[family](WORDS)
    assert len(losses(small_model("BERT", tokenizer), tokenizer)) == 2
    ids = set(tokenizer.get_vocab().values())
    every = torch.tensor(sorted(ids)).repeat(4000 // len(ids))
    inputs, labels = mask_tokens(every, tokenizer, torch.Generator().manual_seed(0), 0.5)
    assert set(inputs.tolist()) <= ids and set(labels.tolist()) - {-100} == ids - set(tokenizer.all_special_ids)
