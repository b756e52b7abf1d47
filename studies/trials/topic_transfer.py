"""Zero-shot transfer of topic classification from English, by MAD-X, LAPT, LoRA and fine-tuning."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import torch
from torch import nn
from typer import Argument, Option

from studies.records.record import Record
from studies.trials import real_topics
from studies.trials.real_topics import mean_outputs
from vocab_lit.models.adapterhub import load_adapter, save_adapter
from vocab_lit.models.madx import MadX
from vocab_lit.models.pipeline import trim_files
from vocab_lit.text.corpus import read_lines
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.training.lapt import lapt
from vocab_lit.training.settings import LaptConfig

if TYPE_CHECKING:
    from transformers import BertForMaskedLM, BertModel, PreTrainedTokenizerBase

_KEY = ("model", "method", "language", "seed", "metric")
TABLE = Record("topic-transfer.csv", _KEY, (*_KEY, "value"))
LANGUAGES = ("eng_Latn", "swh_Latn", "kat_Geor", "mlt_Latn")  # folders of SIB-200, the source first
ALONE, KEPT = "classifier alone", "MAD-X, English adapters kept"
RATES = {  # of training on topics, chosen before any result
    "MAD-X": 1e-3,
    "LAPT": 5e-5,
    "task adapter": 1e-3,
    "full fine-tuning": 5e-5,
    "LoRA": 1e-3,
}
LEARNT, SCORED, UNSEEN = 400, 200, 60  # sentences for training, of the test set, and to validate adapters
PAIRED = 100  # sentences, and their translations into English
TASK_STEPS, TEXT_STEPS, BATCH, LONGEST = 50, 150, 8, 32
ON_TEXT = LaptConfig(steps=TEXT_STEPS, batch_size=2 * BATCH, length=LONGEST, learning_rate=1e-3, eval_every=TEXT_STEPS)
WHOLE_RATE = 1e-4  # of LAPT, which trains all weights


class Topics(NamedTuple):
    "Sentences and the numbers of their topics."

    texts: list[str]
    labels: torch.Tensor


def read_topics(folder: Path, language: str, split: str, most: int) -> Topics:
    "Read the first sentences of a split of SIB-200; topics are numbered in alphabetical order."
    texts, topics = real_topics.read_topics(folder / language / f"{split}.tsv")
    names = sorted(set(topics))
    return Topics(texts[:most], torch.tensor([names.index(topic) for topic in topics[:most]]))


class Classifier(nn.Module):
    "An encoder whose mean vector of a sentence, standardised, is classified."

    def __init__(self, body: BertModel, tokenizer: PreTrainedTokenizerBase):
        super().__init__()
        self.body, self.tokenizer, self.head = body, tokenizer, nn.Linear(1, 1)
        self.centre = self.spread = torch.zeros(())

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        "The mean of the last layer's vectors of each sentence."
        given = self.tokenizer(list(texts), padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
        return mean_outputs(self.body, given)

    @torch.no_grad()
    def all_vectors(self, texts: Sequence[str]) -> torch.Tensor:
        "Those of many sentences, those of like length at a time."
        self.eval()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        parts = [self.vectors([texts[i] for i in order[at : at + BATCH]]) for at in range(0, len(order), BATCH)]
        vectors = torch.cat(parts)
        return vectors[torch.tensor(order).argsort()]

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        return self.head((vectors - self.centre) / self.spread)

    def fit_head(self, topics: Topics, vectors: torch.Tensor) -> None:
        "Logistic regression on the vectors of the model as it is."
        self.centre, self.spread = vectors.mean(0), vectors.std(0)
        self.head = nn.Linear(vectors.shape[1], int(topics.labels.max()) + 1)
        nn.init.zeros_(self.head.weight)
        optimizer = torch.optim.LBFGS(self.head.parameters(), max_iter=200)

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self(vectors), topics.labels) + 0.01 * self.head.weight.square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    def accuracy(self, topics: Topics) -> float:
        "In per cent."
        with torch.no_grad():
            right = self(self.all_vectors(topics.texts)).argmax(1) == topics.labels
        return 100 * right.double().mean().item()

    def train_on(self, topics: Topics, rate: float, seed: int) -> None:
        "Train what is not frozen, and the head, on shuffled sentences."
        torch.manual_seed(seed)
        body = [p for p in self.body.parameters() if p.requires_grad]
        groups = [{"params": body, "lr": rate}, {"params": list(self.head.parameters()), "lr": 1e-3}]
        optimizer = torch.optim.AdamW(groups, weight_decay=0)
        decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / TASK_STEPS)
        order = chain.from_iterable(torch.randperm(len(topics.texts)).split(BATCH) for _ in range(TASK_STEPS))
        self.train()
        for batch in islice(order, TASK_STEPS):
            logits = self(self.vectors([topics.texts[i] for i in batch.tolist()]))
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, topics.labels[batch]).backward()
            optimizer.step()
            decay.step()


def _loss_rows(method: str, language: str, losses: dict[str, float]) -> list[dict[str, Any]]:
    "Return the rows of training on text, by metric."
    row = dict(method=method, language=language, seed=0)
    return [row | dict(metric=metric, value=loss) for metric, loss in losses.items()]


def share_found(own: torch.Tensor, others: torch.Tensor) -> float:
    "The per cent of vectors that have that of the same number nearest to them, by cosine."
    cosines = nn.functional.normalize(own) @ nn.functional.normalize(others).T
    return 100 * (cosines.argmax(1) == torch.arange(len(own))).double().mean().item()


@dataclass(frozen=True, eq=False)
class TopicTransfer:
    "A model, its data, and a folder for what is made once."

    model: Path
    topics: Path
    work: Path
    languages: Sequence[str] = LANGUAGES
    texts: Path | None = None  # folder of a file for each language; None: the sentences of topics are the text

    def read(self, language: str, split: str) -> Topics:
        most = {"train": LEARNT, "dev": UNSEEN, "test": SCORED}
        return read_topics(self.topics, language, split, most[split])

    def text(self, language: str) -> list[str]:
        "What is trained on without topics."
        if self.texts is None:
            return self.read(language, "train").texts
        return read_lines(self.texts / f"{language}.txt")

    @cached_property
    def trimmed(self) -> Path:
        "The model with the tokens that the sentences and texts have."
        out, files = self.work / "trimmed", []
        if out.exists():
            return out
        for language in self.languages:
            sentences = [self.read(language, split).texts for split in ("train", "dev", "test")]
            files.append(self.work / f"{language}.txt")
            lines = chain(self.text(language), *sentences)
            files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        trim_files(self.model, files, out, TrimSettings(coverage=1, characters="text"))
        return out

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return load_tokenizer(self.trimmed)

    def body(self, folder: Path | None = None) -> BertModel:
        from transformers import BertModel

        folder = folder or self.trimmed
        return cast("BertModel", BertModel.from_pretrained(folder, add_pooling_layer=False).float())

    def _on_text(
        self,
        model: BertForMaskedLM,
        languages: Sequence[str],
        config: LaptConfig | None = None,
    ) -> dict[str, float]:  # by metric
        "Train on texts in languages; the loss on other sentences before and after."
        mixed = list(chain.from_iterable(zip(*map(self.text, languages))))
        unseen = chain.from_iterable(self.read(code, "dev").texts for code in languages)
        losses = lapt(model, self.tokenizer, mixed, list(unseen), config or ON_TEXT).loss
        return {"loss before": float(losses.iloc[0]), "loss after": float(losses.iloc[-1])}

    @cached_property
    def _masked(self) -> BertForMaskedLM:
        "The encoder with a new head for masked tokens, which is trained alone on all languages."
        from transformers import BertForMaskedLM

        torch.manual_seed(0)
        model = BertForMaskedLM.from_pretrained(self.trimmed).float()
        for p in model.bert.parameters():
            p.requires_grad_(False)
        self._on_text(model, self.languages)
        return cast("BertForMaskedLM", model)

    def adapter(self, language: str) -> Iterator[dict[str, Any]]:  # rows
        "Train a language adapter if it is not there yet."
        folder = self.work / language
        if folder.exists():
            return
        madx = MadX(self._masked)
        madx.add_language(language)
        with madx.learning(language):
            losses = self._on_text(self._masked, [language])
        save_adapter(madx, "language", language, folder)
        madx.remove()
        yield from _loss_rows("MAD-X", language, losses)

    def lapt(self, language: str) -> Iterator[dict[str, Any]]:  # rows
        "Train the whole model on a language's text if that is not done yet."
        folder = self._lapted(language)
        if folder.exists():
            return
        masked = copy.deepcopy(self._masked)
        masked.requires_grad_(True)
        losses = self._on_text(masked, [language], replace(ON_TEXT, learning_rate=WHOLE_RATE))
        masked.bert.save_pretrained(folder)
        yield from _loss_rows("LAPT", language, losses)

    def _lapted(self, language: str) -> Path:
        return self.work / f"lapt-{language}"

    @cached_property
    def _frozen(self) -> torch.Tensor:
        "Return the original model's vectors of the training sentences."
        return Classifier(self.body(), self.tokenizer).all_vectors(self.read(self.languages[0], "train").texts)

    def _made(self, method: str, seed: int) -> Classifier:
        "A classifier whose head is fitted, and in which what the method trains is not frozen."
        from peft import LoraConfig, get_peft_model

        body, learnt = self.body(), self.read(self.languages[0], "train")
        body.requires_grad_(False)
        model = Classifier(body, self.tokenizer)
        if method == "MAD-X":
            madx = MadX(body)
            for language in self.languages:
                load_adapter(madx, self.work / language, "language", language)
            madx.requires_grad_(False)
            madx.activate(self.languages[0])
            model.fit_head(learnt, model.all_vectors(learnt.texts))
            madx.add_task("topics", seed=seed)
            madx.activate(self.languages[0], "topics")
            return model
        model.fit_head(learnt, self._frozen)
        if method == "task adapter":
            madx = MadX(body)
            madx.add_task("topics", seed=seed)
            madx.activate(task="topics")
        if method == "LoRA":
            torch.manual_seed(seed)
            model.body = get_peft_model(body, LoraConfig(r=8, lora_alpha=16, target_modules=["query", "value"]))
        if method == "full fine-tuning":
            body.encoder.requires_grad_(True)
        return model

    def _after_lapt(self, language: str) -> Classifier:
        "A classifier on the model that was trained on a language's text; all of its layers are trained."
        body, learnt = self.body(self._lapted(language)), self.read(self.languages[0], "train")
        body.embeddings.requires_grad_(False)
        model = Classifier(body, self.tokenizer)
        model.fit_head(learnt, model.all_vectors(learnt.texts))
        return model

    def translations(self) -> Iterator[dict[str, Any]]:
        "How many per cent of sentences lie nearest to their English translations, and do so around languages' means."
        source, model = self.languages[0], Classifier(self.body(), self.tokenizer)
        madx = MadX(model.body)
        for language in self.languages:
            load_adapter(madx, self.work / language, "language", language)

        def vectors(language: str, adapter: str | None) -> torch.Tensor:
            madx.activate(adapter)
            return model.all_vectors(self.read(language, "test").texts[:PAIRED])

        for method in (ALONE, KEPT, "MAD-X"):
            english = vectors(source, None if method == ALONE else source)
            for language in self.languages[1:]:
                own = vectors(language, {ALONE: None, KEPT: source}.get(method, language))
                centred = share_found(own - own.mean(0), english - english.mean(0))
                row = dict(method=method, language=language, seed=0)
                yield row | dict(metric="translations found", value=centred)
                yield row | dict(metric="translations found, means kept", value=share_found(own, english))

    def scores(self, method: str, seed: int) -> Iterator[dict[str, Any]]:
        "Yield a method's accuracies in the languages whose topics it was not trained on."
        train = self.read(self.languages[0], "train")
        model = None if method == "LAPT" else self._made(method, seed)
        if model and method in RATES:
            model.train_on(train, RATES[method], seed)
        for language in self.languages[1:]:
            test, row = self.read(language, "test"), dict(language=language, seed=seed, metric="accuracy")
            adapted = model or self._after_lapt(language)
            if not model:
                adapted.train_on(train, RATES["LAPT"], seed)
            adapters = {"MAD-X": language, KEPT: self.languages[0]} if method == "MAD-X" else {method: ""}
            for name, adapter in adapters.items():
                if adapter:
                    adapted.body.madx.activate(adapter, "topics")
                yield row | dict(method=name, value=adapted.accuracy(test))


def main(
    model: Annotated[Path, Argument(help="Folder of an encoder such as multilingual-e5-small.")],
    topics: Annotated[Path, Argument(help="Folder of SIB-200, with a folder for each language.")],
    texts: Annotated[
        Path | None,
        Option(
            help="Folder of a text for each language, such as swh_Latn.txt.", show_default="the sentences of the topics"
        ),
    ] = None,
    work: Annotated[Path, Option(help="Folder for what is made once.")] = Path("_build/topic-transfer"),
    seeds: Annotated[list[int] | None, Option("--seed", help="May be repeated.", show_default="0 1 2")] = None,
    table: Annotated[Path | None, Option(help="Another table.", show_default="data/topic-transfer.csv")] = None,
) -> None:
    """Train topics on English and test them in other languages; add rows to data/topic-transfer.csv. It resumes.

    The model is trimmed to the texts. Every method begins with the classifier that fits the frozen model best; language
    adapters and LAPT train on the texts.

    Example: `python -m studies trial topic-transfer MODEL SIB200 --texts FOLDER`
    """
    work.mkdir(parents=True, exist_ok=True)
    study, name = TopicTransfer(model, topics, work, texts=texts), dict(model=model.name)

    def add(*parts: Iterator[dict[str, Any]]) -> None:
        TABLE.write([name | row | dict(value=f"{row['value']:.3f}") for row in chain(*parts)], table)

    for language in study.languages:
        add(study.adapter(language))
    for language in study.languages[1:]:
        add(study.lapt(language))
    for method, seed in [(ALONE, 0), *((method, seed) for seed in seeds or range(3) for method in RATES)]:
        if not TABLE.has(name | dict(method=method, seed=seed, metric="accuracy"), table):
            add(study.scores(method, seed), study.translations() if method == ALONE else iter(()))
