"""Topics in scripts that a real encoder does not read, with its vocabulary and with new ones.

    python -m studies.trials.real_topics MODEL SIB200 --languages am ka te --seeds 0 1 2

MODEL is the folder of a BERT encoder, SIB200 that of the data set, with a folder for each language. A classifier on
the mean of the encoder's outputs and the whole model are fine-tuned on the 701 training sentences of a language, on
which a new vocabulary is trained too. What has been measured is not measured again.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

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

TABLE = Path("data/real-topics.csv")
AS_IT_COMES = "source"  # the model with its own vocabulary
_LOW = ("mf1-lex", "mf1-lex-projected", "mf10-kmeans-lex", "mf10-kmeans-lex-projected")
METHODS = (AS_IT_COMES, "el-rand", "el-lex", *_LOW, "blend")
FOLDERS = {"am": "amh_Ethi", "en": "eng_Latn", "ka": "kat_Geor", "te": "tel_Telu", "th": "tha_Thai"}
COLUMNS = ["model", "language", "method", "seed", "accuracy", "unknown", "tokens_per_word", "tokens", "epochs"]
TOKENS, LENGTH, BATCH, EPOCHS = 4000, 32, 16, 3
RATES = {"embeddings": 1e-3, "others": 1e-4}  # of all methods alike, and of the classifier that of the embeddings


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

    def measure(
        self,
        method: str,
        train: Topics,
        test: Topics,
        seed: int,
    ) -> dict[str, float | int]:  # by the last columns of the table
        "Fine-tune the model with a vocabulary, and test it."
        torch.manual_seed(seed)
        model, tokenizer = self.source.load().float(), self.source.tokenizer
        if method != AS_IT_COMES:
            target = train_tokenizer_like(tokenizer, train.sentences, vocab_size=TOKENS)
            needs = get_recipe(method).needs
            vectors = token_vectors(target, train.sentences, seed=seed) if needs else None
            factors = self.factors_for(method)
            made = transplant(model, tokenizer, target, method, vectors, seed, factors=factors)
            model, tokenizer = made.model, made.tokenizer
        names = sorted(set(train.topics))
        classifier = Classifier(model, len(names))
        fine_tune(classifier, tokenizer, train, names, seed)
        text = fit(tokenizer, test.sentences)
        scored = dict(accuracy=round(accuracy(classifier, tokenizer, test, names), 1))
        facts = dict(unknown=round(text.unk_rate, 3), tokens_per_word=round(text.fertility, 2))
        return scored | facts | dict(tokens=len(tokenizer), epochs=EPOCHS)


def read_table(path: Path) -> list[dict[str, str]]:
    "The rows that were measured."
    if not path.is_file():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def add_rows(path: Path, columns: Sequence[str], rows: Iterable[dict]) -> None:
    "Write rows behind those of a table, which is made where it is not there."
    rows, is_new = list(rows), not path.is_file()  # measured first
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def main(argv: Sequence[str] | None = None) -> None:
    "Measure the methods in languages."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of an encoder")
    parser.add_argument("data", type=Path, help="folder of SIB-200")
    parser.add_argument("--languages", nargs="+", choices=FOLDERS, default=["am", "ka"])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--out", type=Path, default=TABLE)
    args = parser.parse_args(argv)
    encoder = Encoder(args.model)
    known = {tuple(row[key] for key in COLUMNS[:4]) for row in read_table(args.out)}
    for seed in args.seeds:
        for language in args.languages:
            train, test = (read_topics(args.data / FOLDERS[language] / f"{part}.tsv") for part in ("train", "test"))
            for method in args.methods:
                key = dict(model=args.model.name, language=language, method=method, seed=seed)
                if tuple(map(str, key.values())) not in known:
                    add_rows(args.out, COLUMNS, [key | encoder.measure(method, train, test, seed)])


if __name__ == "__main__":
    main()
