"""Tokenizers, vectors and text of any size, made for the cases."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vocab_lit.text.errors import import_extra

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

TINY = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48)  # shape of a model
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def random_words(n: int) -> list[str]:
    "At most so many different words of eight letters."
    letters = np.random.default_rng(0).choice(list(LETTERS), (n, 8))
    return list(dict.fromkeys(map("".join, letters)))


def random_tokenizers(n_old: int, n_new: int, shared: int) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
    "Source and target Unigram tokenizers of random words, with so many overlapping tokens."
    from testkit.toy_tokenizers import toy_tokenizer

    words, end = random_words(n_old + n_new), n_old - 5  # five tokens are special
    old, new = words[:end], words[end - shared : end - shared + n_new - 5]
    return toy_tokenizer("unigram", old), toy_tokenizer("unigram", new)


def write_case(folder: Path, old: PreTrainedTokenizerBase, new: PreTrainedTokenizerBase, dim: int) -> Path:
    "Write source and target tokenizer and source embeddings (n_source, dim)."
    old.save_pretrained(folder / "old")
    new.save_pretrained(folder / "new")
    np.save(folder / "embeddings.npy", np.random.default_rng(1).normal(size=(len(old), dim)).astype(np.float32))
    return folder


def write_fasttext(path: Path, words: list[str], dim: int, seed: int = 0, turn: np.ndarray | None = None) -> None:
    "Write a fastText .bin of word vectors, scattered around 200 centres, or around these rotated by a matrix."
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(200, dim))
    if turn is not None:
        centres = centres @ turn

    def scattered(written: list[str]) -> np.ndarray:
        return centres[rng.integers(200, size=len(written))] + rng.normal(size=(len(written), dim))

    write_word_vectors(path, dict.fromkeys(words, 2), dim, scattered)


def write_word_vectors(
    path: Path, counts: Mapping[str, int], dim: int, vectors: Callable[[list[str]], np.ndarray]
) -> None:
    """Write a fastText .bin of word vectors without n-grams.

    counts: how often each word occurs, at least twice; none has white space
    vectors: those of words (n, dim), in the order of the file
    """
    fasttext = import_extra("fasttext", "fasttext")
    text = path.with_suffix(".txt")
    again = (word for word, count in counts.items() for _ in range(count))  # minCount drops the line end
    text.write_text(" ".join(again) + "\n", encoding="utf-8")
    loss = "ns" if len(counts) > 1000 else "softmax"  # the former has a table of ten million negative samples
    options = dict(minCount=2, epoch=0, maxn=0, bucket=0, thread=1, verbose=0, loss=loss)
    model = fasttext.train_unsupervised(str(text), dim=dim, **options)
    model.set_matrices(vectors(model.get_words()).astype(np.float32), model.get_output_matrix())
    model.save_model(str(path))
    text.unlink()


HEAPS = 0.6  # power of the text's length with which the number of different words grows


def write_zipf_text(path: Path, mb: float, seed: int = 0) -> None:
    "Write lines of twelve words by Zipf's law until the file has so many MB."
    from testkit.phrasebook import lines

    known = list(dict.fromkeys(word for line in lines("sw", 400, seed=0) for word in line.split() if word.isalpha()))
    letters = "aeioubdgklmnprstwyz"

    @functools.lru_cache(200_000)
    def word(rank: int) -> str:  # a known word, with a suffix that numbers its copies
        copy, at = divmod(rank, len(known))
        suffix = ""
        while copy:
            copy, letter = divmod(copy - 1, len(letters))
            suffix += letters[letter]
        return known[at] + suffix

    rng, size = np.random.default_rng(seed), 0
    with open(path, "wb") as f:
        while size < mb * 10**6:
            ranks = 10 * (rng.random(12_000) ** (-1 / HEAPS) - 1)
            words = map(word, np.minimum(ranks, 1e9).astype(int).tolist())
            size += f.write("".join(" ".join(line) + "\n" for line in zip(*[words] * 12)).encode())
