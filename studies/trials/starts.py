"""How well models predict a language right after their vocabulary was replaced, by every method, before any training.

    python -m studies.trials.starts TEXT HELD_OUT MODEL [MODEL ...] --language sw [--source-text EN --dictionary D]

TEXT is what tokenizer and vectors are trained on, HELD_OUT lines that it does not have, MODEL a folder of a causal
model. A row for each method is added to `data/starts.csv`; `--missing` leaves those alone that are there. With
`--packages FOLDER` methods of other packages are measured too, in environments that are made there. With `--trained`
each model is trained on TEXT first, for 40 steps of 4 x 64 tokens; `data/starts-trained.csv` has those.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm.auto import tqdm

from studies.trials.package_starts import METHODS as PACKAGE_METHODS
from studies.trials.package_starts import PackageCase, embeddings_of_packages
from vocab_lit.methods.recipe import Gaussian, Recipe
from vocab_lit.methods.registry import get_recipe
from vocab_lit.models.source import Source, load_model
from vocab_lit.models.transplant import transplant
from vocab_lit.text.corpus import Lines
from vocab_lit.tokens.continued import extend_on_text
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.vocab import fit
from vocab_lit.training.lapt import lapt
from vocab_lit.training.settings import LaptConfig
from vocab_lit.vectors.align import align_tokens
from vocab_lit.vectors.settings import read_dictionary
from vocab_lit.vectors.token_vectors import token_vectors
from vocab_lit.vectors.word_vectors import static_vectors, train_words

if TYPE_CHECKING:
    import numpy as np
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from vocab_lit.vectors.align import AlignedVectors
    from vocab_lit.vectors.token_vectors import TokenVectors
    from vocab_lit.vectors.word_vectors import WordVectors

TABLE, TRAINED = Path("data/starts.csv"), Path("data/starts-trained.csv")
UNTOUCHED = "untouched"  # the model with its own vocabulary
METHODS = (
    *(UNTOUCHED, "blend", "focus", "subtoken-mean", "clp", "mean-resizing", "identity", "random-mapping"),
    *("wechsel", "ofa", "omp", "omp-tokensurgeon", "focus-word", "focus-symbolic", "script-posn-ident", "normal"),
)
AT_MEAN = " at mean"  # behind a method's name: what it would sample lies at the mean of the source embeddings
TRAINING = LaptConfig(steps=40, batch_size=4, length=64, learning_rate=3e-4, eval_every=40)  # of `--trained`
KEYS = ("model", "language", "method", "seed")
COLUMNS = [*KEYS[:3], "bits_per_byte", "seed", "tokens", "tokens_per_word", "sampled", "text", "held_out"]


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


def recipe_of(method: str) -> Recipe:
    "A recipe by its name, or one that lays what it would sample at the mean."
    name = method.removesuffix(AT_MEAN)
    recipe = get_recipe(name)
    if name == method:
        return recipe
    return replace(recipe, steps=(*recipe.steps[:-1], Gaussian(covariance=1e-5)))


def needs_two_languages(method: str) -> bool:
    "Whether a method needs word vectors of both languages and a dictionary."
    return method in PACKAGE_METHODS["wechsel"] or (
        method != UNTOUCHED and not _is_of_package(method) and recipe_of(method).needs == "aligned vectors"
    )


def _is_of_package(method: str) -> bool:
    return any(method in made for made in PACKAGE_METHODS.values())


@dataclass
class Start:
    "A model and a tokenizer of another language, and what methods need beside them."

    source: Source
    tokenizer: PreTrainedTokenizerBase  # of the language
    lines: Lines  # text of the language
    seed: int
    words: Sequence[WordVectors] = ()  # of the source and the target language
    dictionary: Sequence[tuple[str, str]] = ()
    trained: bool = False  # whether a model is trained before it is measured

    @cached_property
    def token_vectors(self) -> TokenVectors:
        "What FOCUS needs."
        return token_vectors(self.tokenizer, self.lines, seed=self.seed)

    @cached_property
    def aligned_vectors(self) -> AlignedVectors:
        "What WECHSEL needs."
        return align_tokens(*self.words, self.source.tokenizer, self.tokenizer, self.dictionary)

    def vectors(
        self,
        needs: str,  # as a recipe says
    ) -> TokenVectors | AlignedVectors | None:
        "What a recipe needs."
        if needs == "word vectors":
            return static_vectors(needs, self.tokenizer, self.lines, seed=self.seed)
        return getattr(self, needs.replace(" ", "_")) if needs else None

    def with_embeddings(self, embeddings: np.ndarray) -> PreTrainedModel:  # (n_target, dim)
        "The model with these embeddings on both sides."
        model = transplant(load_model(self.source), self.source, self.tokenizer, "identity").model
        weight = model.get_input_embeddings().weight
        if model.get_output_embeddings().weight is not weight:
            raise ValueError(f"{self.source.name} has output embeddings of its own, and packages make one side alone")
        weight.data[:] = torch.from_numpy(embeddings)
        return model

    def measured(
        self,
        methods: Sequence[str],
        held_out: Sequence[str],
        packages: Path | None = None,  # folder of environments
    ) -> Iterator[dict[str, Any]]:  # method, bits_per_byte, tokens, tokens_per_word and sampled of each
        "Replace the model's vocabulary by each method that has what it needs, and measure it."

        def row(method: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sampled: int | str):
            if self.trained:
                lapt(model, tokenizer, self.lines, held_out, TRAINING, self.seed)
            bits, words = bits_per_byte(model.eval(), tokenizer, held_out), fit(tokenizer, held_out).fertility
            facts = dict(tokens=len(tokenizer), tokens_per_word=round(words, 3), sampled=sampled)
            return dict(method=method, bits_per_byte=round(bits, 4)) | facts

        of_packages = [method for method in methods if _is_of_package(method)]
        for method in tqdm([method for method in methods if method not in of_packages]):
            model = load_model(self.source)
            if method == UNTOUCHED:
                yield row(method, model, self.source.tokenizer, 0)
                continue
            recipe = recipe_of(method)
            if recipe.needs == "aligned vectors" and not self.words:
                continue
            made = transplant(model, self.source, self.tokenizer, recipe, self.vectors(recipe.needs), self.seed)
            yield row(method, model, made.tokenizer, int((made.plan.group >= 0).sum()))
        if packages and of_packages:
            for method, embeddings in embeddings_of_packages(self._case(), packages, of_packages):
                yield row(method, self.with_embeddings(embeddings), self.tokenizer, "")

    def _case(self) -> PackageCase:
        rows = load_model(self.source).get_input_embeddings().weight.detach().float().numpy()
        return PackageCase(self.source.tokenizer, self.tokenizer, rows, self.token_vectors, self.words, self.dictionary)


def read_rows(path: Path) -> dict[tuple[str, ...], dict[str, Any]]:  # by model, language, method and seed
    "The rows of a table."
    if not path.is_file():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {tuple(row[key] for key in KEYS): row for row in csv.DictReader(file)}


def add_rows(
    rows: Iterable[dict[str, Any]],
    path: Path,
) -> None:
    "Write rows to a table as they come; a row of the same model, language, method and seed gives way."
    table = read_rows(path)
    for row in rows:
        table[tuple(str(row[key]) for key in KEYS)] = row
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table[key] for key in sorted(table))


def main(argv: Sequence[str] | None = None) -> None:
    "Measure the starts of models in one language."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, help in (("text", "file, one text a line"), ("held_out", "file of unseen lines")):
        parser.add_argument(name, type=Path, help=help)
    parser.add_argument("models", type=Path, nargs="+", help="folders")
    parser.add_argument("--language", required=True, help="code, for the table")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--source-text", type=Path, help="text of the source language, for wechsel and ofa")
    parser.add_argument("--dictionary", type=Path, help="pairs of a source and a target word, for wechsel and ofa")
    parser.add_argument("--packages", type=Path, help="folder of the environments of other packages")
    parser.add_argument("--missing", action="store_true", help="leave alone what the table has")
    parser.add_argument("--tokens", type=int, default=16_000, help="size of the vocabulary")
    parser.add_argument("--extend", type=int, default=0, help="add so many tokens to the model's; give another --out")
    parser.add_argument("--held-out-bytes", type=int, default=5000, help="at most so much of the unseen lines")
    parser.add_argument("--trained", action="store_true", help="train each model first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    args.out = args.out or (TRAINED if args.trained else TABLE)
    lines, held_out = Lines(args.text), first_lines(Lines(args.held_out), args.held_out_bytes)
    words, dictionary = (), ()
    if args.source_text and args.dictionary and any(needs_two_languages(method) for method in args.methods):
        words = tuple(train_words(Lines(text), seed=args.seed) for text in (args.source_text, args.text))
        dictionary = read_dictionary(args.dictionary)
    known = read_rows(args.out) if args.missing else {}
    for folder in args.models:
        of_all = dict(model=folder.name, language=args.language, seed=args.seed, text=args.text.name)
        of_all["held_out"] = args.held_out.name
        methods = [m for m in args.methods if (folder.name, args.language, m, str(args.seed)) not in known]
        if not methods:
            continue
        source = Source.open(folder)
        if args.extend:
            tokenizer = extend_on_text(source.tokenizer, lines, args.extend).tokenizer
        else:
            tokenizer = train_tokenizer_like(source.tokenizer, lines, vocab_size=args.tokens)
        start = Start(source, tokenizer, lines, args.seed, words, dictionary, args.trained)
        add_rows((of_all | row for row in start.measured(methods, held_out, args.packages)), args.out)


if __name__ == "__main__":
    main()
