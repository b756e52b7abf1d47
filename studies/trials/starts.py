"""Bits per byte of models right after their vocabulary was replaced or extended, by every method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import accumulate, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import torch
from typer import Argument, Option

from studies.records.record import Record
from studies.trials.package_starts import METHODS as PACKAGE_METHODS
from studies.trials.package_starts import TWO_LANGUAGES, PackageCase, embeddings_of_package
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

UNTOUCHED = "untouched"  # the model with its own vocabulary
METHODS = (
    *(UNTOUCHED, "blend", "focus", "subtoken-mean", "clp", "mean-resizing", "identity", "random-mapping"),
    *("wechsel", "ofa", "omp", "omp-tokensurgeon", "focus-word", "focus-symbolic", "script-posn-ident", "normal"),
)
AT_MEAN = " at mean"  # behind a method's name: what it would sample lies at the mean of the source embeddings
TRAINING = LaptConfig(steps=40, batch_size=4, length=64, learning_rate=3e-4, eval_every=40)  # of `--trained`
KEYS = ("model", "language", "method", "seed")
_COLUMNS = (*KEYS[:3], "bits_per_byte", "seed", "tokens", "tokens_per_word", "sampled", "text", "held_out")
TABLE, EXTENDED, TRAINED = (
    Record(f"starts{kind}.csv", KEYS, _COLUMNS, is_sorted=True) for kind in ("", "-extended", "-trained")
)


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
    if method in PACKAGE_METHODS or method == UNTOUCHED:
        return method == TWO_LANGUAGES
    return recipe_of(method).needs == "aligned vectors"


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

    def package_case(self) -> PackageCase:
        "Return what other packages start from."
        rows = load_model(self.source).get_input_embeddings().weight.detach().float().numpy()
        return PackageCase(self.source.tokenizer, self.tokenizer, rows, self.token_vectors, self.words, self.dictionary)

    def made(self, method: str, packages: Path | None) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, int | str]:
        "Return the model and the tokenizer that a method gives, and how many embeddings it samples, if that is known."
        if method in PACKAGE_METHODS:
            embeddings = embeddings_of_package(self.package_case(), packages or Path(), method)
            return self.with_embeddings(embeddings), self.tokenizer, ""
        model = load_model(self.source)
        if method == UNTOUCHED:
            return model, self.source.tokenizer, 0
        recipe = recipe_of(method)
        result = transplant(model, self.source, self.tokenizer, recipe, self.vectors(recipe.needs), self.seed)
        return result.model, result.tokenizer, int((result.plan.group >= 0).sum())

    def measure(
        self,
        method: str,
        held_out: Sequence[str],
        packages: Path | None = None,  # folder of environments
    ) -> dict[str, Any]:  # bits_per_byte, tokens, tokens_per_word and sampled
        "Replace the model's vocabulary by a method, and measure it."
        model, tokenizer, sampled = self.made(method, packages)
        if self.trained:
            lapt(model, tokenizer, self.lines, held_out, TRAINING, self.seed)
        bits, words = bits_per_byte(model.eval(), tokenizer, held_out), fit(tokenizer, held_out).fertility
        numbers = dict(bits_per_byte=round(bits, 4), tokens=len(tokenizer), tokens_per_word=round(words, 3))
        return numbers | dict(sampled=sampled)


def main(
    text: Annotated[Path, Argument(help="Text of the language, which tokenizer and vectors are trained on.")],
    held_out: Annotated[Path, Argument(help="Unseen lines.")],
    models: Annotated[list[Path], Argument(help="Folders of causal models.")],
    language: Annotated[str, Option(help="Code of the language, for the table.")],
    methods: Annotated[list[str] | None, Option("--method", help="May be repeated.", show_default="all")] = None,
    source_text: Annotated[Path | None, Option(help="Text of the source language, for wechsel and ofa.")] = None,
    dictionary: Annotated[Path | None, Option(help="Pairs of source and target words, for wechsel and ofa.")] = None,
    packages: Annotated[
        Path | None, Option(help="Measure other packages' methods too, in environments that are made in this folder.")
    ] = None,
    missing: Annotated[bool, Option("--missing", help="Skip what the table has.")] = False,
    tokens: Annotated[int, Option(help="Size of the vocabulary.")] = 16_000,
    extend: Annotated[int, Option(help="Add so many tokens to the model's instead.")] = 0,
    held_out_bytes: Annotated[int, Option(help="Bytes of the unseen lines at most.")] = 5000,
    trained: Annotated[bool, Option("--trained", help="Train each model first, 40 x 4 x 64 tokens.")] = False,
    seed: int = 0,
    out: Annotated[Path | None, Option(help="Another table.", show_default="starts[-extended|-trained].csv")] = None,
) -> None:
    """Add a row for each model and method to data/starts.csv (or -extended, -trained), before any other training.

    Example: `python -m studies trial starts sw.txt unseen.txt MODEL --language sw --source-text en.txt --dictionary D`
    """
    lines, unseen = Lines(text), first_lines(Lines(held_out), held_out_bytes)
    two = bool(source_text and dictionary) and any(map(needs_two_languages, methods or METHODS))
    words = tuple(train_words(Lines(file), seed=seed) for file in (source_text, text) if file) if two else ()
    pairs = read_dictionary(dictionary) if two and dictionary else ()

    @cache
    def start(folder: Path) -> Start:
        source = Source.open(folder)
        if extend:
            tokenizer = extend_on_text(source.tokenizer, lines, extend).tokenizer
        else:
            tokenizer = train_tokenizer_like(source.tokenizer, lines, vocab_size=tokens)
        return Start(source, tokenizer, lines, seed, words, pairs, trained)

    def measure(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
        row = start(folder).measure(case["method"], unseen, packages)
        return row | dict(text=text.name, held_out=held_out.name)

    untrained = EXTENDED if extend else TABLE
    table = TRAINED if trained else untrained
    possible = [
        m for m in methods or METHODS if (two or not needs_two_languages(m)) and (packages or m not in PACKAGE_METHODS)
    ]
    for folder in models:
        cases = [dict(model=folder.name, language=language, method=method, seed=seed) for method in possible]
        table.measure(cases, partial(measure, folder), out, again=not missing)
