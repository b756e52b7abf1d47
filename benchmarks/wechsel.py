"""WECHSEL beside the code of its authors, and beside the bare product of all vectors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, ratio
from benchmarks.runner import Case, Part
from testkit.made import random_tokenizers, write_case, write_fasttext
from testkit.peers import open_case
from testkit.process import Meter
from vocab_lit.text.errors import import_extra

if TYPE_CHECKING:
    from vocab_lit.tokens.vocab import Vocab


def wechsel(meter: Meter, folder: str) -> None:
    "Token vectors, neighbours and target embeddings by WECHSEL, from a folder that `write_wechsel_case` wrote."
    import torch

    from vocab_lit.methods.registry import get_recipe
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.align import align_tokens
    from vocab_lit.vectors.settings import read_dictionary
    from vocab_lit.vectors.word_vectors import open_words

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    words = [open_words(folder / f"{which}.bin") for which in ("source", "target")]
    embeddings, subwords = torch.from_numpy(embeddings), (folder / "subwords").read_text()
    with meter:
        aligned = align_tokens(*words, old, new, read_dictionary(folder / "pairs.txt"), subwords)
        plan = get_recipe("wechsel").plan(Vocab.from_tokenizer(old), Vocab.from_tokenizer(new), aligned)
        made = plan.apply(embeddings)
    np.save(folder / "vocab_lit.npy", made.numpy())
    plan.save(folder / "plan.npz")


def product(meter: Meter, folder: str, dim: int = 300, tile: int = 512) -> None:
    "The product (n_target, n_source) that any search needs, without the search."
    import torch

    from vocab_lit.vectors.align import unit_rows

    old, new, _ = open_case(Path(folder))
    rng, out = np.random.default_rng(0), torch.empty(tile, len(old))
    keys, queries = (unit_rows(rng.normal(size=(len(t), dim)).astype(np.float32)) for t in (old, new))
    with meter:
        for some in queries.split(tile):
            torch.mm(some, keys.T, out=out[: len(some)])


def write_wechsel_case(
    folder: Path, tokenizers: Sequence, write_words: Callable, pairs: Sequence, dim: int, subwords: str = "ngrams"
) -> dict:
    """Write source and target tokenizer, source embeddings, word vectors of both languages and a dictionary.

    `write_words(i, path)` writes the vectors of the source's words (0) or the target's (1).
    """
    write_case(folder, *tokenizers, dim)
    for i, which in enumerate(("source", "target")):
        write_words(i, folder / f"{which}.bin")
    (folder / "pairs.txt").write_text("\n".join(map("\t".join, pairs)) + "\n", encoding="utf-8")
    (folder / "subwords").write_text(subwords)
    return dict(folder=str(folder))


def write_scattered(folder: Path, n_old: int, n_new: int, vector_dim: int, dim: int) -> dict:
    "Write a case of random words, whose target vectors are around the rotated centres of the source's."
    from vocab_lit.tokens.vocab import Vocab

    tokenizers = random_tokenizers(n_old, n_new, 0)
    words = [[t.text.strip() for t in Vocab.from_tokenizer(t) if t.kind == "text"] for t in tokenizers]
    turns = None, np.linalg.qr(np.random.default_rng(2).normal(size=(vector_dim, vector_dim)))[0]

    def write_words(i, path):
        write_fasttext(path, words[i], vector_dim, i, turns[i])

    return write_wechsel_case(folder, tokenizers, write_words, list(zip(*(some[:5000] for some in words))), dim)


def wechsel_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Random vocabularies of four sizes with vectors of words; then trained tokenizers and vectors."
    warm_up = write_scattered(place / "warm-up", 60, 39, 4, 8)
    for n in sizes:
        n_old, dims = n * 5 // 2, (4, 8) if small else (300, 768)
        case = write_scattered(place / f"{n}", n_old, n, *dims)
        yield Case(f"{n_old:,} to {n:,} tokens", case, n, warm_up=warm_up)
    if not small:
        yield from _trained_cases(place, warm_up)


def _trained_cases(place, warm_up) -> Iterator[Case]:
    from testkit.phrasebook import dictionary, lines
    from vocab_lit.tokens.train import train_tokenizer
    from vocab_lit.vectors.word_vectors import train_words

    save_facebook_model = import_extra("gensim.models.fasttext", "fasttext").save_facebook_model
    texts = [lines(language, 3000, seed=i) for i, language in enumerate(("en", "sw"))]
    # far fewer dimensions than pairs, so that single precision is enough for the rotation
    models = [train_words(text, "fasttext", dim=32).model for text in texts]

    def write_words(i, path):
        save_facebook_model(models[i], str(path))

    for kind, subwords in (("bpe", "ngrams"), ("bpe", "tfr"), ("unigram", "ngrams"), ("wordpiece", "tfr")):
        tokenizers, pairs = [train_tokenizer(text, kind, 1000) for text in texts], dictionary("en", "sw")
        case = write_wechsel_case(place / f"{kind}-{subwords}", tokenizers, write_words, pairs, 64, subwords)
        name, sides = f"English to Swahili {kind}, {subwords}", ("vocab_lit", "wechsel")
        yield Case(name, case, once=True, warm_up=warm_up, sides=sides)


def compare_neighbours(folder: Path) -> dict:
    "How the two results of WECHSEL differ, and why."
    from vocab_lit.methods.plan import Plan
    from vocab_lit.tokens.vocab import Vocab

    ours, theirs = np.load(folder / "vocab_lit.npy"), np.load(folder / "wechsel.npy")  # (n_target, dim)
    source, target, _ = open_case(folder)
    old, new = map(Vocab.from_tokenizer, (source, target))
    plan = Plan.load(folder / "plan.npz", new)
    sources = json.loads((folder / "sources.json").read_text(encoding="utf-8"))
    counts, worst = Counter({"same neighbours": 0}), 0.0
    for token in new:
        theirs_of = sources.get(target.convert_ids_to_tokens(token.id))
        mixed = plan.steps[plan.step[token.id]] == "NearestNeighbours"
        if not _is_word(token):
            how = "special or no text"
        elif mixed and theirs_of:
            row = plan.weights[[token.id]]
            weights = dict(zip(row.indices.tolist(), row.data.tolist()))
            how = _compared(old, weights, source.convert_tokens_to_ids(theirs_of[0]), theirs_of[1])
        else:
            how = "vector on one side only" if mixed != (theirs_of is not None) else "no vector"
        counts[how] += 1
        if how == "same neighbours":
            worst = max(worst, float(np.abs(ours[token.id] - theirs[token.id]).max()))
    return dict(counts) | {"largest difference": worst}


def _is_word(token) -> bool:
    return bool(token.kind == "text" and token.text.strip())


def _compared(old: Vocab, weights: dict[int, float], ids: list[int], similarities: list[float]) -> str:
    "How our neighbours of a token (source id to weight) differ from theirs (ids, and the similarities of these)."
    if set(ids) == set(weights):
        return "same neighbours"
    if not all(_is_word(old[i]) for i in ids):
        return "special or pieces mixed in"
    # the last places are shared by tokens of one text, or of one similarity: weight = exp(similarity / 0.1) / sum
    smallest, largest = min(weights.values()), max(weights.values())
    last = max(similarities) + 0.1 * np.log(smallest / largest) if smallest > 0 else np.inf
    same_texts = {old[i].text.strip() for i in set(ids) - set(weights)} <= {old[i].text.strip() for i in weights}
    tied = same_texts or abs(min(similarities) - last) < 1e-5
    return "equally near" if tied else "other neighbours"


def _worst(runs) -> list[float]:
    return [max(check["largest difference"] for check in runs.checks.values())] if runs.checks else []


BESIDE = "wechsel / vocab_lit"
CLAIMS = (
    Claim(f"CPU time, {BESIDE}, 50,000 to 20,000 tokens of 300 dimensions", ratio("cpu_seconds", "wechsel"), low=2.5),
    Claim("CPU time, vocab_lit / bare product", lambda runs: 1 / runs.ratio("cpu_seconds", "product"), high=1.4),
    Claim(f"extra memory, {BESIDE}", ratio("extra_mb", "wechsel"), low=4),
    Claim("largest difference where the neighbours are the same, all cases", _worst, high=1e-4),
)
PART = Part(
    "wechsel",
    "WECHSEL beside the code of its authors, and the bare product of all vectors",
    2,
    "new tokens",
    {"vocab_lit": wechsel, "product": product},
    wechsel_cases,
    sizes=(2500, 5000, 10_000, 20_000),
    main=(20_000,),
    tiny=(120,),
    peers=("wechsel",),
    claims=CLAIMS,
    compare=compare_neighbours,
)
