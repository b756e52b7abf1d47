"""Word vectors and tokenizers read from files, beside gensim, fastText and transformers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.claims import Claim, ratio
from benchmarks.runner import Case, Part, as_sides
from testkit.made import random_tokenizers, write_fasttext
from testkit.process import Meter


def _open_vectors(side, file):
    "A function that gives the vector of a word."
    if side == "vocab_lit":
        from vocab_lit.vectors.word_vectors import open_words

        return open_words(file).vector
    if side == "gensim":
        from gensim.models import KeyedVectors

        return KeyedVectors.load_word2vec_format(file).get_vector
    import fasttext

    return fasttext.load_model(file).get_word_vector


def load_vectors(meter: Meter, side: str, file: str, probe: list[str]) -> dict:
    "Word vectors read from a file, and a few of them looked up."
    import vocab_lit.vectors.word_vectors  # noqa: F401  (imports are not counted)

    with meter:
        vector = _open_vectors(side, file)
        sums = sum(float(abs(vector(word)).sum()) for word in probe)
    return dict(sums=sums)


def load_tokens(meter: Meter, side: str, folder: str) -> dict:
    "A tokenizer read from a folder, and what its tokens are."
    from transformers import AutoTokenizer

    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.vocab import Vocab

    with meter:
        ours = side == "vocab_lit"
        tokens = Vocab.from_tokenizer(load_tokenizer(folder)) if ours else AutoTokenizer.from_pretrained(folder)
    return dict(sums=len(tokens))


def load(meter: Meter, side: str, **arguments) -> dict:
    "Either of the two, by the arguments given."
    return (load_tokens if "folder" in arguments else load_vectors)(meter, side, **arguments)


def load_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Files of vectors and tokenizers of four sizes."
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.token_vectors import write_table

    dim, vectors, table = 8 if small else 300, place / "v.bin", place / "v.vec"
    for n in sizes:
        tokenizer, folder = random_tokenizers(n, 10, 0)[0], place / f"{n}"
        tokenizer.save_pretrained(folder)
        ours = "vocab_lit"
        yield Case(f"tokenizer of {n:,} tokens", dict(folder=str(folder)), n, "tokenizer", sides=(ours, "transformers"))
        words = [t.text for t in Vocab.from_tokenizer(tokenizer) if t.kind == "text"]
        probe = words[:: max(1, n // 1000)]
        write_fasttext(vectors, words, dim)
        case = dict(file=str(vectors), probe=probe)
        yield Case(f".bin of {n:,} words", case, n, ".bin", sides=(ours, "fasttext"))
        write_table(table, words, np.random.default_rng(0).normal(size=(len(words), dim)).astype(np.float32))
        yield Case(f".vec of {n:,} words", case | dict(file=str(table)), n, ".vec", sides=(ours, "gensim"))


def _claim(other, what, case) -> Claim:
    return Claim(f"CPU time, {other} / vocab_lit, {what}", ratio("cpu_seconds", other, case))


PART = Part(
    "load",
    "word vectors (.vec, .bin) and tokenizers of up to 250,000 read, beside gensim, fastText and transformers",
    4,
    "words or tokens",
    as_sides(load, "vocab_lit", "gensim", "fasttext", "transformers"),
    load_cases,
    sizes=(31_250, 62_500, 125_000, 250_000),
    main=(250_000,),
    tiny=(200,),
    claims=(
        _claim("gensim", "a .vec of 250,000 x 300", ".vec of 250,000 words"),
        _claim("fasttext", "a .bin of 250,000 x 300", ".bin of 250,000 words"),
        _claim("transformers", "a tokenizer of 250,000", "tokenizer of 250,000 tokens"),
    ),
)
