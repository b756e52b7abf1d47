"""Tokens of a text added to a tokenizer: its merges continued, a second tokenizer's, or words as whole strings."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, grows
from benchmarks.runner import Case, Part, as_sides
from testkit.made import write_zipf_text
from testkit.process import Meter

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def _with_auxiliary(source, lines, n) -> PreTrainedTokenizerBase:
    "The tokens of a second tokenizer that the first one lacks."
    from vocab_lit.tokens.expansion import expand_tokenizer
    from vocab_lit.tokens.train import train_tokenizer_like
    from vocab_lit.tokens.vocab import Vocab, overlap

    language = train_tokenizer_like(source, lines, n + len(source), "bpe")
    lacking = np.cumsum(overlap(Vocab.from_tokenizer(source), Vocab.from_tokenizer(language)) < 0)
    return expand_tokenizer(source, language, int(np.searchsorted(lacking, n)) + 1)


def _with_trainer(source, lines, n) -> PreTrainedTokenizerBase:
    "The tokens of a plain call of the `tokenizers` library, as whole strings."
    from tokenizers import Tokenizer, models, trainers

    fresh = Tokenizer(models.BPE())
    fresh.pre_tokenizer = source.backend_tokenizer.pre_tokenizer
    fresh.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=n, show_progress=False))
    made, decoder = copy.deepcopy(source), source.backend_tokenizer.decoder
    words = [decoder.decode([piece]) for piece in fresh.get_vocab()]
    made.add_tokens([word for word in words if "�" not in word])  # bytes that are no text
    return made


def expand(side: str, source: PreTrainedTokenizerBase, lines: Iterable[str], n: int) -> PreTrainedTokenizerBase:
    "A byte-level BPE tokenizer with n more tokens of a text, or fewer where a side finds fewer."
    from vocab_lit.tokens.continued import extend_on_text

    if side == "vocab_lit":
        return extend_on_text(source, lines, n).tokenizer
    return (_with_auxiliary if side == "auxiliary" else _with_trainer)(source, lines, n)


def expansion(meter: Meter, side: str, folder: str, n: int) -> dict:
    "A tokenizer expanded by tokens of a text, from a folder with both."
    from vocab_lit.text.corpus import Lines
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.vocab import fit

    folder = Path(folder)
    source = load_tokenizer(folder / "source")
    with meter:
        made = expand(side, source, Lines(folder / "text.txt"), n)
    unseen = list(Lines(folder / "unseen.txt"))
    used = set(itertools.chain(*made(unseen)["input_ids"]))
    added = set(range(len(source), len(made)))
    return dict(added=len(added), tokens_per_word=fit(made, unseen).fertility, in_use=len(added & used) / len(added))


def expansion_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Texts of four sizes, with one source tokenizer and one text to judge by."
    from testkit.phrasebook import lines
    from vocab_lit.tokens.train import train_tokenizer

    n_lines, size, n = (300, 400, 100) if small else (3000, 2000, 4000)
    source = train_tokenizer(lines("en", n_lines, seed=0), "bpe", size)
    for mb in sizes:
        folder = place / f"{mb}"
        source.save_pretrained(folder / "source")
        write_zipf_text(folder / "text.txt", mb)
        write_zipf_text(folder / "unseen.txt", min(mb, 1), seed=1)
        yield Case(f"{mb:g} MB", dict(folder=str(folder), n=n), mb)


PART = Part(
    "expansion",
    "tokens of a text added to a tokenizer: its merges go on, a second tokenizer, or words by hand",
    6,
    "MB of text",
    as_sides(expansion, "vocab_lit", "auxiliary", "trainer"),
    expansion_cases,
    sizes=(1, 3, 10, 50),
    main=(10,),
    tiny=(0.05,),
    claims=(
        Claim(
            "tokens per word, vocab_lit / auxiliary, 10 MB",
            lambda runs: 1 / runs.ratio("tokens_per_word", "auxiliary", 10),
            high=1,
        ),
        Claim("CPU time over MB of text, exponent", grows("cpu_seconds"), high=1.1),
        Claim("extra memory over MB of text, exponent", grows("extra_mb"), high=0.8),
    ),
    facts=dict(added="tokens added", tokens_per_word="tokens per word", in_use="share of the added in use"),
)
