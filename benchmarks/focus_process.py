"""FOCUS as a whole process beside the code of its authors: from the folder of a model to a folder that loads."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, checks, extreme
from benchmarks.focus import copied_ids, write_vectors
from benchmarks.runner import Case, Part
from testkit.made import TINY, random_tokenizers, write_zipf_text
from testkit.process import Meter

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def focus_process(meter: Meter, folder: str, whole: bool) -> None:
    "A target vocabulary by FOCUS, imports, reading and saving included, from a folder that `write_process_case` wrote."
    at = Path(folder)
    shutil.rmtree(at / "vocab_lit", ignore_errors=True)  # of the round before
    with meter:
        from vocab_lit.methods.settings import TransplantSettings
        from vocab_lit.models.pipeline import transplant_files

        settings = TransplantSettings.of(method="focus", tokenizer=at / "new", vectors=at / "vectors.bin")
        transplant_files((at / "model").resolve(), [], at / "vocab_lit", settings)


def write_process_case(folder: Path, new: PreTrainedTokenizerBase, vector_dim: int) -> dict:
    "Write a target tokenizer beside the source model in a folder, and a vector for each of its tokens with a text."
    new.save_pretrained(folder / "new")
    return write_vectors(folder, new, vector_dim) | dict(whole=True)


def _write_model(kind: str, tokenizer: PreTrainedTokenizerBase, folder: Path, small: bool) -> None:
    "Write a masked or a causal model with a tokenizer, of the size of a base model."
    from transformers import GPT2Config, GPT2LMHeadModel, XLMRobertaConfig, XLMRobertaForMaskedLM

    from vocab_lit.tokens.tokenizer_file import save_tokenizer

    shape = dict(vocab_size=len(tokenizer), **(TINY if small else {}))
    if kind == "causal":
        GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=2)).save_pretrained(folder)
    else:
        XLMRobertaForMaskedLM(XLMRobertaConfig(**shape, max_position_embeddings=514)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)


def _trained_like(model: Path, n: int, place: Path) -> PreTrainedTokenizerBase:
    "A target tokenizer in the pipeline of a model's own."
    from vocab_lit.text.corpus import read_lines
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.train import train_tokenizer_like

    write_zipf_text(place / "text.txt", 8)
    return train_tokenizer_like(load_tokenizer(model), read_lines(place / "text.txt"), n)


def process_cases(place: Path, sizes: tuple, small: bool, models: Sequence[str] = ()) -> Iterator[Case]:
    "A masked and a causal model with random vocabularies, or the models that are named."
    [n], vector_dim = sizes, 6 if small else 300
    for model in models:
        folder = place / Path(model).name
        folder.mkdir()
        (folder / "model").symlink_to(Path(model).resolve())
        case = write_process_case(folder, _trained_like(folder / "model", n, folder), vector_dim)
        yield Case(f"{Path(model).name} to {n:,} tokens", case)
    for kind in () if models else ("masked", "causal"):
        old, new = random_tokenizers(n * 5 // 2, n, n // 4)
        _write_model(kind, old, place / kind / "model", small)
        case = write_process_case(place / kind, new, vector_dim)
        yield Case(f"{kind}, {n * 5 // 2:,} to {n:,} tokens", case)


def _saved_embeddings(folder: Path) -> np.ndarray:  # (rows, dim) float32
    from vocab_lit.models.lazy_weights import input_weight, rows_of
    from vocab_lit.models.source import open_model

    return rows_of(input_weight(open_model(folder)))[:].float().numpy()


def compare_saved(folder: Path) -> dict:
    "Which of the saved embeddings differ, and by how much if the other side's copies are taken for right."
    from vocab_lit.methods.focus import sparsemax_weights
    from vocab_lit.methods.plan import Plan
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.vectors.word_vectors import read_vectors

    tokenizer = load_tokenizer(folder / "new")
    plan, vectors = Plan.load(folder / "vocab_lit"), read_vectors(folder / "vectors.bin", tokenizer)
    n, source = len(tokenizer), _saved_embeddings(folder / "model")
    ours, theirs = (_saved_embeddings(folder / side)[:n] for side in ("vocab_lit", "deepfocus"))
    their_ids, our_ids, known = copied_ids(theirs, source), plan.copied[:n], vectors.known[:n]
    copied = (their_ids >= 0) | (our_ids >= 0)
    differ = np.abs(ours - theirs).max(1) >= 1e-3
    kinds = Counter(plan.target[i].kind for i in np.flatnonzero(differ & copied).tolist())
    anchors, rows = np.flatnonzero(known & (their_ids >= 0)), np.flatnonzero(known & (their_ids < 0))
    remade = sparsemax_weights(vectors.matrix, rows, anchors) @ source[their_ids[anchors]]
    return {
        "tokens": n,
        "copied otherwise": int((differ & copied).sum()),
        "which": ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
        "mixed otherwise": int((differ & ~copied).sum()),
        "largest difference with the same copies": float(np.abs(remade - theirs[rows]).max(initial=0)),
    }


IMPORTS = "importing PyTorch and transformers is most of what a process takes, on both sides"
TITLES = {"cpu_seconds": "CPU time", "peak_mb": "peak memory"}
BESIDE = "of the process, deepfocus / vocab_lit, each model"
CLAIMS = (
    *(Claim(f"{t} {BESIDE}", extreme(np.min, m, "deepfocus"), low=3.5, note=IMPORTS) for m, t in TITLES.items()),
    Claim(
        "largest difference of a mixed row with the copies of deepfocus, each model",
        checks("largest difference with the same copies"),
        high=1e-4,
    ),
)
PART = Part(
    "process",
    "FOCUS as a whole process beside the code of its authors, with imports, reading and saving",
    2,
    "new tokens",
    {"vocab_lit": focus_process},
    process_cases,
    sizes=(20_000,),
    tiny=(120,),
    peers=("deepfocus",),
    claims=CLAIMS,
    compare=compare_saved,
    takes_models=True,
)
