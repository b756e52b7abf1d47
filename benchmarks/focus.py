"""FOCUS beside the code of its authors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.claims import Claim, checks, grows, ratio
from benchmarks.runner import Case, Part
from testkit.made import random_tokenizers, write_case, write_fasttext
from testkit.peers import open_case
from testkit.process import Meter


def focus(meter: Meter, folder: str) -> None:
    "Target embeddings by FOCUS, from a folder that `write_focus_case` wrote."
    import torch

    from vocab_lit.methods.registry import get_recipe
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.word_vectors import read_vectors

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    vectors, embeddings = read_vectors(folder / "vectors.bin", new), torch.from_numpy(embeddings)
    with meter:
        made = get_recipe("focus").plan(Vocab.from_tokenizer(old), Vocab.from_tokenizer(new), vectors).apply(embeddings)
    np.save(folder / "vocab_lit.npy", made.numpy())


def write_vectors(folder: Path, tokenizer, dim: int) -> dict:
    "Write a vector for each token with a text; return the arguments of a case."
    from vocab_lit.tokens.vocab import Vocab

    with_text = [t.piece for t in Vocab.from_tokenizer(tokenizer) if t.kind in ("text", "byte")]
    write_fasttext(folder / "vectors.bin", [t for t in with_text if not any(c.isspace() for c in t)], dim)
    return dict(folder=str(folder))


def write_focus_case(folder: Path, old, new, dim: int, vector_dim: int) -> dict:
    "Write two tokenizers, source embeddings and a vector for each target token with a text."
    return write_vectors(write_case(folder, old, new, dim), new, vector_dim)


def focus_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Random vocabularies of four sizes, with vectors of tokens; then trained tokenizers of each kind."
    dims = (8, 6) if small else (768, 300)
    warm_up = write_focus_case(place / "warm-up", *random_tokenizers(60, 40, 20), 8, 6)
    for n in sizes:
        n_old, shared = n * 5 // 2, n // 4
        case = write_focus_case(place / f"{n}", *random_tokenizers(n_old, n, shared), *dims)
        yield Case(f"{n_old:,} to {n:,} tokens, {shared:,} shared", case, n, warm_up=warm_up)
    if small:
        return
    english, swahili = map(_trained, ("en", "sw"))
    for pair in ("unigram-unigram", "wordpiece-wordpiece", "wordpiece-unigram", "bpe-bpe", "bpe-unigram"):
        a, b = pair.split("-")
        case = write_focus_case(place / pair, english[a], swahili[b], 64, 50)
        yield Case(f"English {a} to Swahili {b}", case, once=True, warm_up=warm_up)


def _trained(language: str) -> dict:  # by kind
    from testkit.phrasebook import lines
    from vocab_lit.tokens.train import train_tokenizer

    text = lines(language, 3000, seed=0)
    return {kind: train_tokenizer(text, kind, 1000) for kind in ("unigram", "wordpiece", "bpe")}


def copied_ids(made: np.ndarray, embeddings: np.ndarray) -> np.ndarray:  # (n,) -1 where a row is none of them
    "The first of the source embeddings (n_source, dim) that each made one (n, dim) is, to the bit."
    first_id = {row.tobytes(): i for i, row in reversed(list(enumerate(embeddings)))}
    return np.array([first_id.get(row.tobytes(), -1) for row in made])


def compare_rows(folder: Path) -> dict:
    "How the two results of FOCUS differ."
    from vocab_lit.tokens.vocab import Vocab, overlap

    ours, theirs = np.load(folder / "vocab_lit.npy"), np.load(folder / "deepfocus.npy")  # (n_target, dim)
    old, new, embeddings = open_case(folder)
    old, new = Vocab.from_tokenizer(old), Vocab.from_tokenizer(new)
    shared = overlap(old, new)  # (n_target,) source ids, -1 where there is none
    their_ids = copied_ids(theirs, embeddings)
    alike = (shared >= 0) & (ours == embeddings[shared]).all(1) & (theirs == embeddings[shared]).all(1)
    mixed = (shared < 0) & (their_ids < 0)
    differ = np.flatnonzero(their_ids != shared)
    kinds = Counter(new[i].kind for i in differ)
    return {
        "copied alike": int(alike.sum()),
        "mixed": int(mixed.sum()),
        "largest difference": float(np.abs(ours - theirs)[mixed].max(initial=0)),
        "copied otherwise": len(differ),
        "which": ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
    }


CLAIMS = (
    Claim("CPU time, deepfocus / vocab_lit, 50,000 to 20,000 tokens", ratio("cpu_seconds", "deepfocus"), low=10),
    Claim("extra memory, deepfocus / vocab_lit, the same", ratio("extra_mb", "deepfocus"), low=8),
    Claim("extra memory grows with the new tokens to the power of", grows("extra_mb"), high=1.2),
    Claim("largest difference of a mixed row, the same case", checks("largest difference", "50,000"), high=1e-4),
    Claim("rows that are copied otherwise, the same case", checks("copied otherwise", "50,000"), high=0),
)
PART = Part(
    "focus",
    "FOCUS beside the code of its authors: time, memory, equal rows",
    1.5,
    "new tokens",
    {"vocab_lit": focus},
    focus_cases,
    sizes=(2500, 5000, 10_000, 20_000),
    main=(20_000,),
    tiny=(120, 240),
    peers=("deepfocus",),
    claims=CLAIMS,
    compare=compare_rows,
)
