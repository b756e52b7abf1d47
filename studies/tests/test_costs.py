"""The operations of a run are those that a count by hand gives."""

from dataclasses import replace

import torch
from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

from studies.papers.costs import lapt_flops
from testkit.phrasebook import lines
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.training.settings import LaptConfig

LAYERS, WIDTH, INNER, VOCAB, LENGTH = 2, 32, 48, 500, 32
SIZES = dict(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=2, intermediate_size=INNER)


def by_hand(tokens: int, asked: int) -> tuple[int, int, int]:
    "Products of one step in blocks, attention and head, forward; backward costs the same for inputs and for weights."
    block = tokens * 2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    attention = tokens * 2 * 2 * LENGTH * WIDTH
    head = asked * 2 * (WIDTH * WIDTH + WIDTH * VOCAB)
    return LAYERS * block, LAYERS * attention, head


def test_operations_are_those_of_a_count_by_hand():
    torch.manual_seed(7)
    shape = XLMRobertaConfig(vocab_size=VOCAB, pad_token_id=1, max_position_embeddings=34, **SIZES)
    model, tokenizer = XLMRobertaForMaskedLM(shape), train_tokenizer(lines("sw", 500, seed=0), "unigram", VOCAB)
    one = LaptConfig(steps=100, batch_size=16, length=LENGTH)
    block, attention, head = by_hand(16 * LENGTH, 16 * 5)
    everything = 3 * block + 3 * attention + 3 * head
    assert abs(lapt_flops(model, tokenizer, one) / (100 * everything) - 1) < 0.01
    frozen = 2 * block + 3 * attention + 3 * head  # no products for the blocks' weights
    assert abs(lapt_flops(model, tokenizer, replace(one, mode="emb")) / (100 * frozen) - 1) < 0.01
    assert abs(lapt_flops(model, tokenizer, replace(one, mode="full")) / (10 * frozen + 90 * everything) - 1) < 0.01
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
