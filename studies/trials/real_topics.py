"""Topic classification in scripts that a real encoder does not cover, with its vocabulary and with new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import torch
from torch import nn
from typer import Argument, Option
from typer.models import OptionInfo

from studies.records.record import Record
from vocab_lit.methods.factored import Factors, factorize
from vocab_lit.methods.registry import get_recipe
from vocab_lit.models.source import Source
from vocab_lit.models.transplant import transplant
from vocab_lit.tasks.pairs import read_rows
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.vocab import fit
from vocab_lit.vectors.token_vectors import token_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

AS_IT_COMES = "source"  # the model with its own vocabulary
_LOW = ("mf1-lex", "mf1-lex-projected", "mf10-kmeans-lex", "mf10-kmeans-lex-projected")
METHODS = (AS_IT_COMES, "el-rand", "el-lex", *_LOW, "blend")
FOLDERS = {"am": "amh_Ethi", "en": "eng_Latn", "ka": "kat_Geor", "te": "tel_Telu", "th": "tha_Thai"}
_KEYS = ("model", "language", "method", "seed")
TABLE = Record("real-topics.csv", _KEYS, (*_KEYS, "accuracy", "unknown", "tokens_per_word", "tokens", "epochs"))
TOKENS, LENGTH, BATCH, EPOCHS = 4000, 32, 16, 3
RATES = {"embeddings": 1e-3, "others": 1e-4}  # of all methods; the classifier has that of the embeddings


class Topics(NamedTuple):
    "Sentences and what they are about."

    sentences: list[str]
    topics: list[str]


def read_topics(path: Path) -> Topics:
    "A file of SIB-200: a table with tabs, with the columns `text` and `category`."
    rows = [row for _, row in read_rows(path, "sentences")]
    return Topics([row["text"] for row in rows], [row["category"] for row in rows])


def mean_outputs(encoder: nn.Module, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:  # (n, dimensions)
    "The mean of an encoder's outputs over the tokens of each sentence."
    real = batch["attention_mask"][..., None]
    return (encoder(**batch).last_hidden_state * real).sum(1) / real.sum(1)


class Classifier(nn.Module):
    "An encoder, and a linear classifier on the mean of its outputs."

    def __init__(self, encoder: nn.Module, n_topics: int):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(encoder.config.hidden_size, n_topics)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:  # (n, n_topics)
        return self.head(mean_outputs(self.encoder, batch))


def batches(
    tokenizer: PreTrainedTokenizerBase,
    sentences: Sequence[str],
    order: Sequence[int],
    longest: int = LENGTH,  # tokens of a sentence, which is cut there
) -> Iterator[tuple[Sequence[int], dict[str, torch.Tensor]]]:  # which sentences, and their tokens
    "Sentences in an order, some at a time."
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        texts = [sentences[i] for i in chosen]
        coded = tokenizer(texts, truncation=True, max_length=longest, padding=True, return_tensors="pt")
        yield chosen, {name: coded[name] for name in ("input_ids", "attention_mask")}


def fine_tune(
    classifier: Classifier,
    tokenizer: PreTrainedTokenizerBase,
    train: Topics,
    names: Sequence[str],  # of the topics
    seed: int,
) -> None:
    "Train all parameters that are not frozen."
    labels = torch.tensor([names.index(topic) for topic in train.topics])
    fast, slow = [], []
    for name, parameter in classifier.named_parameters():
        (fast if "word_embeddings" in name or "head" in name else slow).append(parameter)
    groups = [dict(params=fast, lr=RATES["embeddings"]), dict(params=slow, lr=RATES["others"])]
    optimizer = torch.optim.AdamW([group for group in groups if group["params"]])
    steps = EPOCHS * -(-len(labels) // BATCH)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    shuffle = torch.Generator().manual_seed(seed)
    classifier.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(labels), generator=shuffle).tolist()
        for chosen, batch in batches(tokenizer, train.sentences, order):
            optimizer.zero_grad()
            nn.functional.cross_entropy(classifier(batch), labels[chosen]).backward()
            optimizer.step()
            falling.step()


@torch.inference_mode()
def accuracy(
    classifier: Classifier,
    tokenizer: PreTrainedTokenizerBase,
    test: Topics,
    names: Sequence[str],
) -> float:  # in per cent
    "How many sentences get their topic."
    classifier.eval()
    right = 0
    for chosen, batch in batches(tokenizer, test.sentences, range(len(test.topics))):
        found = classifier(batch).argmax(1).tolist()
        right += sum(names[topic] == test.topics[i] for i, topic in zip(chosen, found))
    return 100 * right / len(test.topics)


@dataclass
class Encoder:
    "A source model, and what is computed of it once."

    folder: Path
    factors: dict[object, Factors] = field(default_factory=dict)

    @cached_property
    def source(self) -> Source:
        return Source.open(self.folder)

    def factors_for(self, method: str) -> Factors | None:
        "The factors that a recipe needs; None: it needs none."
        factoring = getattr(get_recipe(method), "factoring", None)
        if factoring and factoring not in self.factors:
            embeddings = self.source.load().get_input_embeddings().weight[: len(self.source.tokenizer)]
            self.factors[factoring] = factorize(embeddings, factoring)
        return self.factors.get(factoring)

    def measure(self, method: str, train: Topics, test: Topics, seed: int) -> dict[str, Any]:
        "Fine-tune the model with a vocabulary and test it; return the last columns of the table."
        torch.manual_seed(seed)
        model, tokenizer = self.source.load().float(), self.source.tokenizer
        if method != AS_IT_COMES:
            target = train_tokenizer_like(tokenizer, train.sentences, vocab_size=TOKENS)
            vectors = token_vectors(target, train.sentences, seed=seed) if get_recipe(method).needs else None
            factors = self.factors_for(method)
            made = transplant(model, tokenizer, target, method, vectors, seed, factors=factors)
            model, tokenizer = made.model, made.tokenizer
        names = sorted(set(train.topics))
        classifier = Classifier(model, len(names))
        fine_tune(classifier, tokenizer, train, names, seed)
        text = fit(tokenizer, test.sentences)
        return dict(
            accuracy=round(accuracy(classifier, tokenizer, test, names), 1),
            unknown=round(text.unk_rate, 3),
            tokens_per_word=round(text.fertility, 2),
            tokens=len(tokenizer),
            epochs=EPOCHS,
        )


def _repeated(name: str, help: str, usual: str) -> OptionInfo:
    return Option(name, help=f"{help}. May be repeated.", show_default=usual)


def main(
    model: Annotated[Path, Argument(help="Folder of a BERT encoder.")],
    data: Annotated[Path, Argument(help="Folder of SIB-200, with a folder for each language.")],
    languages: Annotated[list[str] | None, _repeated("--language", f"Of {' '.join(FOLDERS)}", "am ka")] = None,
    methods: Annotated[list[str] | None, _repeated("--method", "Of replacing the vocabulary", "all")] = None,
    seeds: Annotated[list[int] | None, _repeated("--seed", "Of fine-tuning", "0")] = None,
    out: Annotated[Path | None, Option(help="Another table.", show_default="data/real-topics.csv")] = None,
) -> None:
    """Fine-tune an encoder on the 701 sentences of a language with each vocabulary; it resumes.

    Example: `python -m studies trial real-topics MODEL SIB200 --language am --language ka --seed 0 --seed 1`
    """
    encoder = Encoder(model)

    def measure(case: dict[str, Any]) -> dict[str, Any]:
        train, test = (read_topics(data / FOLDERS[case["language"]] / f"{part}.tsv") for part in ("train", "test"))
        return encoder.measure(case["method"], train, test, case["seed"])

    cases = product(seeds or [0], languages or ["am", "ka"], methods or METHODS)
    named = [dict(model=model.name, language=language, method=method, seed=seed) for seed, language, method in cases]
    TABLE.measure(named, measure, out)
