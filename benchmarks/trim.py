"""A vocabulary trimmed to a text, beside vocabtrimmer and skeletoken."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.claims import Claim, Runs, checks, ratio
from benchmarks.runner import Case, Part, Sizes
from testkit.made import LETTERS
from testkit.peers import trimmed_facts
from testkit.process import Meter

PEER_NAMES = ("vocabtrimmer", "skeletoken")


def write_trim_case(folder: Path, n_tokens: int, dim: int, n_lines: int) -> dict:
    "Write a masked model with so many tokens, and a text that needs a twentieth of them."
    from tokenizers import pre_tokenizers
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    from testkit.toy_tokenizers import toy_tokenizer
    from vocab_lit.tokens.tokenizer_file import save_tokenizer

    rng = np.random.default_rng(0)
    words = list(dict.fromkeys(map("".join, rng.choice(list(LETTERS), (n_tokens, 8)))))[: n_tokens - 5 - len(LETTERS)]
    tokenizer = toy_tokenizer("unigram", words, LETTERS)
    splits = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]  # as XLM-R's
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    shape = dict(hidden_size=dim, num_hidden_layers=1, num_attention_heads=2, intermediate_size=dim)
    config = XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, **shape)
    XLMRobertaForMaskedLM(config).save_pretrained(folder / "model")
    save_tokenizer(tokenizer, folder / "model")
    ranks = ((n_tokens // 20) ** rng.random((n_lines, 18))).astype(int)  # Zipf's law
    lines = (" ".join(words[20 * rank - 20] for rank in row) for row in ranks)
    (folder / "text").mkdir()
    (folder / "text/train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return dict(folder=str(folder))


def trimmed(meter: Meter, folder: str) -> dict:
    "A model trimmed to a text, from a folder that `write_trim_case` wrote."
    from vocab_lit.models.pipeline import trim_files
    from vocab_lit.tokens.settings import TrimSettings

    folder = Path(folder)
    out = folder / "vocab_lit"
    shutil.rmtree(out, ignore_errors=True)
    with meter:
        trim_files(folder / "model", [folder / "text/train.txt"], out, TrimSettings(coverage=1, characters="none"))
    return trimmed_facts(out)


def trim_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Vocabularies of four sizes."
    dim, n_lines = (8, 20) if small else (128, 10_000)
    warm_up = write_trim_case(place / "warm-up", 400, 8, 20)
    for n in sizes:
        yield Case(f"{n:,} tokens", write_trim_case(place / f"{n}", n, dim, n_lines), n, warm_up=warm_up)


def compare_trimmed(folder: Path) -> dict:
    "How many lines of the text each result tokenizes otherwise than the source's tokenizer."
    from transformers import AutoTokenizer

    lines = (folder / "text/train.txt").read_text(encoding="utf-8").splitlines()[:1000]

    def tokenized(name):
        tokenizer = AutoTokenizer.from_pretrained(folder / name)
        return [tokenizer.convert_ids_to_tokens(row) for row in tokenizer(lines)["input_ids"]]

    due = tokenized("model")
    sides = [name for name in ("vocab_lit", *PEER_NAMES) if (folder / name / "tokenizer.json").is_file()]
    return {f"lines otherwise, {name}": sum(a != b for a, b in zip(due, tokenized(name))) for name in sides}


def _rows_beside_smallest(runs: Runs) -> np.ndarray | list:
    others = [runs.values("rows", peer) for peer in PEER_NAMES if peer in set(runs.table.side)]
    return runs.values("rows") / np.min(others, 0) if others else []


READ = "the tokenizer is read by transformers on both sides, a third of our time"
CLAIMS = (
    *(
        Claim(f"CPU time, {peer} / vocab_lit, 250,000 tokens", ratio("cpu_seconds", peer), low=5, note=READ)
        for peer in PEER_NAMES
    ),
    Claim("embeddings left, vocab_lit / the smallest other side, the same", _rows_beside_smallest, high=1.001),
    Claim("lines of the text tokenized differently by vocab_lit", checks("lines otherwise, vocab_lit"), high=0),
)
PART = Part(
    "trim",
    "a vocabulary trimmed to a text, beside vocabtrimmer and skeletoken: time, memory, size, equal tokens",
    3,
    "tokens",
    {"vocab_lit": trimmed},
    trim_cases,
    sizes=Sizes((31_250, 62_500, 125_000, 250_000), main=(250_000,), tiny=(400,)),
    peers=PEER_NAMES,
    claims=CLAIMS,
    compare=compare_trimmed,
    facts=dict(rows="embeddings left", folder_mb="MB of the folder"),
)
