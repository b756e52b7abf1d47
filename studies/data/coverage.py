"""What the source tokenizer knows of a target vocabulary (Pfeiffer et al., 2021, Tables 1 and 6)."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
from fontTools import unicodedata as ucd
from transformers import PreTrainedTokenizerBase

from vocab_lit.tokens.tokenizer_file import TokenizerFile
from vocab_lit.tokens.vocab import Token, Vocab, overlap


def unknown_tokens(
    source: PreTrainedTokenizerBase, target: Vocab
) -> np.ndarray:  # (n_target,) bool; False for special tokens and for bytes that are no text
    "Which tokens of a target vocabulary the source tokenizer cannot compose (Pfeiffer et al., 2021, Table 1)."
    tokenizer, beginning = TokenizerFile(source).with_letter()
    tokens = [t for t in target if t.kind == "text"]
    texts = [t.text if t.word_start else beginning + t.text for t in tokens]
    out = np.zeros(len(target), bool)
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    out[[t.id for t in tokens]] = [source.unk_token_id in encoding.ids for encoding in encoded]
    return out


def overlapping(source: Vocab, target: Vocab) -> list[Token]:
    "The target's text tokens that the source has too."
    pairs = overlap(source, target, fuzzy=source.dialect != target.dialect)
    return [t for t in target if t.kind == "text" and pairs[t.id] >= 0]


def coverage(
    source: PreTrainedTokenizerBase | Vocab, target: PreTrainedTokenizerBase | Vocab
) -> dict[str, float]:  # number of tokens, of unknown and of overlapping ones, and the shares of the last two
    "The share of a target vocabulary that the source cannot compose, and its overlap (Pfeiffer et al., 2021, Table 1)."
    source, target = Vocab.of(source), Vocab.of(target)
    tokens = sum(t.kind == "text" for t in target)
    unknown = int(unknown_tokens(source.own_tokenizer, target).sum())
    shared = len(overlapping(source, target))
    return {
        "tokens": tokens,
        "unknown": unknown,
        "overlapping": shared,
        "unknown share": unknown / max(tokens, 1),
        "overlapping share": shared / max(tokens, 1),
    }


KINDS = ("Numbers", "Lat Char", "Lat (S)W", "Oth Char", "Oth (S)W")


def _kind(text: str) -> str:
    if any(unicodedata.category(c)[0] == "N" for c in text):
        return "Numbers"
    script = "Lat" if any(ucd.script(c) == "Latn" for c in text) else "Oth"
    return f"{script} {'Char' if len(text) < 2 else '(S)W'}"


def overlap_kinds(
    source: Vocab, target: Vocab
) -> pd.Series:  # a share for each of `KINDS`, 1 together; all 0 where nothing overlaps
    "The overlapping tokens by kind (Pfeiffer et al., 2021, Table 6)."
    kinds = pd.Series([_kind(t.text) for t in overlapping(source, target)], dtype=str)
    return kinds.value_counts(normalize=True).reindex(list(KINDS), fill_value=0.0).rename("share")
