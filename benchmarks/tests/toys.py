"""Tokenizers of every family and tiny models of every architecture, for the tests of robustness."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version

import numpy as np
import torch
import transformers
from packaging.version import parse
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from testkit.toy_tokenizers import toy_tokenizer
from vocab_lit.tokens.vocab import Vocab
from vocab_lit.vectors.token_vectors import TokenVectors

NAMES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
WORDS = ["maji", "moto", "ni", "ziwa", "gari", "na", "basi", "1", "2", "ጸሐይ", "!", "nyumba", "Maji"]


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    "Inside the block, no file of this process can have more bytes."
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def fast(tokenizer: Tokenizer, names=NAMES) -> PreTrainedTokenizerFast:
    roles = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), names))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=names[0], eos_token=names[2], **roles)


def characters(words):
    pieces = [*NAMES, *sorted(set(" ".join(words)))]
    made = Tokenizer(models.WordLevel({p: i for i, p in enumerate(pieces)}, unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Split(Regex("."), "isolated"), decoders.Fuse()
    return fast(made)


def with_added(family, words):
    made = toy_tokenizer(family, words[2:], ["ma", "ji"])
    made.add_tokens([AddedToken(" na"), "maji", AddedToken("ጸሐይ", single_word=True)])
    made.add_special_tokens({"additional_special_tokens": ["<sw>"]})
    return made


def with_gaps(words):
    names = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    ids = {p: i for i, p in enumerate(names)} | {w: 9 + 3 * i for i, w in enumerate(words)}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    return fast(made, names)


def with_copies(words):
    made = toy_tokenizer("unigram", [*words, "ﬁ", "fi", "e\u0301", "é"], ["ﬁ", "fi"])
    made.backend_tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    made.add_tokens(["maji", " moto"])
    return made


PLAIN = ("unigram", "bpe", "wordpiece", "suffix", "byte-fallback")
FAMILIES = {  # {name: makes a tokenizer of words}
    **{family: partial(toy_tokenizer, family, medial=["ma", "ji"]) for family in PLAIN},
    "characters": characters,
    "added": partial(with_added, "unigram"),
    "added to bpe": partial(with_added, "bpe"),
    "added to wordpiece": partial(with_added, "wordpiece"),
    "gaps": with_gaps,
    "copies": with_copies,
}
BODY = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)
BODY |= dict(max_position_embeddings=42)
DISTIL = dict(dim=12, n_layers=2, n_heads=2, hidden_dim=40, max_position_embeddings=42)
DEBERTA = BODY | dict(relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"])
T5 = dict(d_model=12, d_kv=6, d_ff=40, num_layers=2, num_heads=2)
MODELS = {  # {name: (class, shape)}
    "BERT": ("BertForMaskedLM", BODY),
    "RoBERTa": ("RobertaForMaskedLM", BODY),
    "XLM-R": ("XLMRobertaForMaskedLM", BODY),
    "DistilBERT": ("DistilBertForMaskedLM", DISTIL),
    "DeBERTa": ("DebertaV2ForMaskedLM", DEBERTA),
    "DeBERTa, new head": ("DebertaV2ForMaskedLM", DEBERTA | dict(legacy=False)),
    "ELECTRA": ("ElectraForMaskedLM", BODY | dict(embedding_size=10)),
    "ALBERT": ("AlbertForMaskedLM", BODY | dict(embedding_size=10)),
    "GPT-2": ("GPT2LMHeadModel", dict(n_embd=12, n_layer=2, n_head=2, n_positions=42)),
    "Llama": ("LlamaForCausalLM", BODY),
    "T5": ("T5ForConditionalGeneration", T5),
    "mT5": ("MT5ForConditionalGeneration", T5),
}
if parse(version("transformers")) < parse("5.20.2"):
    del MODELS["DeBERTa, new head"]  # transformers itself does not load what it saved


def small_model(name: str, tokenizer, tied: bool = True, spare: int = 2) -> PreTrainedModel:
    "A model with random weights, and some embeddings more than there are tokens."
    class_name, shape = MODELS[name]
    model_class = getattr(transformers, class_name)
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("bos", "eos", "pad")}
    if shape is T5:
        ids["decoder_start_token_id"] = tokenizer.pad_token_id
    n_tokens = len(Vocab.from_tokenizer(tokenizer)) + spare
    torch.manual_seed(0)
    model = model_class(model_class.config_class(vocab_size=n_tokens, tie_word_embeddings=tied, **shape, **ids)).eval()
    if shape is T5 and not tied:  # in transformers they are told by their files alone
        model.lm_head.weight = nn.Parameter(model.lm_head.weight.clone())
    for p in model.parameters():
        nn.init.normal_(p, std=0.3)
    return model


@torch.no_grad()
def logits(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:  # (len(ids), tokens)
    "At every position of one sequence."
    more = dict(decoder_input_ids=torch.tensor([ids])) if model.config.is_encoder_decoder else {}
    return model(input_ids=torch.tensor([ids]), **more).logits[0]


def vectors_of(tokenizer, seed: int) -> TokenVectors:
    "Random vectors of 8 dimensions."
    n = len(Vocab.from_tokenizer(tokenizer))
    return TokenVectors(np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float32), np.ones(n, bool), "random")
