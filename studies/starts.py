"""How well models predict a language right after their vocabulary was replaced, by every method, before any training.

    python -m studies.starts MODEL TEXT HELD_OUT --language sw [--methods blend focus] [--source-text EN --dictionary D]

MODEL is a folder of a causal model, TEXT what tokenizer and vectors are trained on, HELD_OUT lines that it does not
have. A row for each method is added to `data/starts.csv`.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm.auto import tqdm

from vocab_lit.methods.registry import get_recipe
from vocab_lit.models.source import Source, load_model
from vocab_lit.models.transplant import transplant
from vocab_lit.text.corpus import Lines
from vocab_lit.tokens.like import train_tokenizer_like
from vocab_lit.vectors.token_vectors import token_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from vocab_lit.vectors.align import AlignedVectors
    from vocab_lit.vectors.token_vectors import TokenVectors

TABLE = Path("data/starts.csv")
METHODS = ("blend", "focus", "subtoken-mean", "clp", "mean-resizing", "identity")
UNTOUCHED = "untouched"  # the model with its own vocabulary
COLUMNS: list[str] = ["model", "language", "method", "bits_per_byte", "seed", "tokens", "text", "held_out"]


def first_lines(
    lines: Iterable[str],
    most: int,  # bytes
) -> list[str]:
    "The first lines that have no more bytes together; none is cut."
    filled = [line for line in lines if line.strip()]
    ends = accumulate(len(line.encode()) for line in filled)
    return [line for line, _ in zip(filled, takewhile(lambda end: end <= most, ends))]


@torch.inference_mode()
def bits_per_byte(
    model: PreTrainedModel,  # a causal one
    tokenizer: PreTrainedTokenizerBase,
    lines: Sequence[str],  # each is predicted by itself, after the token that begins a text, or ends one
    at_once: int = 8,
) -> float:
    "Bits that a model needs for a byte of unseen lines."
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    ids = sorted((tokenizer(line, add_special_tokens=False)["input_ids"] for line in lines), key=len)
    nats = 0.0
    for start in range(0, len(ids), at_once):
        texts = [torch.tensor([first, *text]) for text in ids[start : start + at_once]]
        batch = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=0)
        real = torch.nn.utils.rnn.pad_sequence([torch.ones_like(text) for text in texts], batch_first=True)
        logits = model(input_ids=batch, attention_mask=real).logits[:, :-1]
        is_text = real[:, 1:].bool()
        nats += torch.nn.functional.cross_entropy(
            logits[is_text].float(), batch[:, 1:][is_text], reduction="sum"
        ).item()
    return nats / math.log(2) / sum(len(line.encode()) for line in lines)


def starts(
    source: Source,
    tokenizer: PreTrainedTokenizerBase,  # of the language
    methods: Iterable[str],
    vectors: dict[str, TokenVectors | AlignedVectors | None],  # by what a recipe needs; "" for nothing
    held_out: Sequence[str],
    seed: int = 0,
) -> Iterator[dict[str, Any]]:  # method, bits_per_byte and tokens of each
    "Replace a model's vocabulary by each method that there are vectors for, and measure it."
    for method in methods:
        model, own = load_model(source), source.tokenizer
        if method != UNTOUCHED:
            recipe = get_recipe(method)
            if recipe.needs not in vectors:
                continue
            own = transplant(model, source, tokenizer, recipe, vectors[recipe.needs], seed).tokenizer
        yield dict(method=method, bits_per_byte=round(bits_per_byte(model.eval(), own, held_out), 4), tokens=len(own))


def aligned(args: argparse.Namespace, source: Source, tokenizer: PreTrainedTokenizerBase) -> AlignedVectors:
    "Vectors of both languages' tokens, from a text of each and a dictionary."
    from vocab_lit.vectors.align import align_tokens
    from vocab_lit.vectors.dictionary import read_dictionary
    from vocab_lit.vectors.word_vectors import train_words

    of_source, of_target = (train_words(Lines(text), "auto", args.seed, 1) for text in (args.source_text, args.text))
    return align_tokens(of_source, of_target, source.tokenizer, tokenizer, read_dictionary(args.dictionary))


def add_rows(
    rows: Iterable[dict[str, Any]],
    path: Path,
) -> None:
    "Write rows to a table as they come; a row of the same model, language, method and seed gives way."
    keys = ("model", "language", "method", "seed")
    table: dict[tuple[str, ...], dict[str, Any]] = {}
    if path.is_file():
        with open(path, encoding="utf-8", newline="") as file:
            table = {tuple(row[key] for key in keys): row for row in csv.DictReader(file)}
    for row in rows:
        table[tuple(str(row[key]) for key in keys)] = row
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table[key] for key in sorted(table))


def main(argv: Sequence[str] | None = None) -> None:
    "Measure the starts of one model in one language."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, help in (("model", "folder"), ("text", "file, one text a line"), ("held_out", "file of unseen lines")):
        parser.add_argument(name, type=Path, help=help)
    parser.add_argument("--language", required=True, help="code, for the table")
    parser.add_argument("--methods", nargs="+", default=[UNTOUCHED, *METHODS])
    parser.add_argument("--source-text", type=Path, help="text of the source language, for wechsel and ofa")
    parser.add_argument("--dictionary", type=Path, help="pairs of a source and a target word, for wechsel and ofa")
    parser.add_argument("--tokens", type=int, default=16_000, help="size of the vocabulary")
    parser.add_argument("--held-out-bytes", type=int, default=5000, help="at most so much of the unseen lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=TABLE)
    args = parser.parse_args(argv)
    source, lines = Source.from_pretrained(args.model), Lines(args.text)
    tokenizer = train_tokenizer_like(source.tokenizer, lines, vocab_size=args.tokens)
    vectors: dict[str, Any] = {"": None, "token vectors": token_vectors(tokenizer, lines, seed=args.seed)}
    if args.source_text and args.dictionary:
        vectors["aligned vectors"] = aligned(args, source, tokenizer)
    held_out = first_lines(Lines(args.held_out), args.held_out_bytes)
    of_all = dict(model=args.model.name, language=args.language, seed=args.seed, text=args.text.name)
    of_all["held_out"] = args.held_out.name
    made = starts(source, tokenizer, tqdm(args.methods), vectors, held_out, args.seed)
    add_rows((of_all | row for row in made), args.out)


if __name__ == "__main__":
    main()
