"""The same experiment on a bundled model in minutes, on the paper's model, or on your own."""

from __future__ import annotations

import copy
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from studies.constructed import LANGUAGES, world_of
from studies.hub import (
    MODELS,
    HubText,
    Sample,
    StoredText,
    get_source,
    has_task,
    hub_model,
    hub_splits,
    stored_mix,
    stored_text,
    word_files,
)
from studies.presets import PAPER_TEXT, PaperText, paper_of
from vocab_lit.methods.recipe import Copy, Gaussian, RandomMapping, Recipe
from vocab_lit.methods.registry import get_recipe
from vocab_lit.models.auxiliary import embedding_vectors, smaller_model
from vocab_lit.models.device import find_device
from vocab_lit.models.new_rows import only_new_rows
from vocab_lit.models.source import load_model
from vocab_lit.models.transplant import Transplant, transplant
from vocab_lit.tasks.evaluate import read_examples
from vocab_lit.tasks.finetune import fine_tune_seeds
from vocab_lit.tasks.nli import Pair
from vocab_lit.tasks.parsing import Parsed
from vocab_lit.tasks.qa import Answer, Question
from vocab_lit.tasks.settings import PAPERS, PERPLEXITY, TASK_PRESETS, TaskConfig, task_settings
from vocab_lit.tasks.splits import hold_out
from vocab_lit.tasks.tagging import Tagged
from vocab_lit.text.corpus import data_path, mix, read_lines, split_lines
from vocab_lit.text.files import write_file
from vocab_lit.text.phrasebook_tasks import inferences, questions
from vocab_lit.tokens.continued import extend_on_text
from vocab_lit.tokens.expansion import expand_tokenizer
from vocab_lit.tokens.tokenizer import load_tokenizer, train_tokenizer_like
from vocab_lit.tokens.trim import trim
from vocab_lit.tokens.vocab import Vocab, overlap
from vocab_lit.training.distil import Teacher, snippet_rows
from vocab_lit.training.lapt import lapt
from vocab_lit.training.lm_data import PackedBlocks, pack
from vocab_lit.training.lm_loss import heldout_loss
from vocab_lit.training.perplexity import perplexity
from vocab_lit.training.settings import PRESETS, LaptConfig
from vocab_lit.training.stages import total_steps
from vocab_lit.vectors.align import AlignedVectors, align_tokens
from vocab_lit.vectors.dictionary import read_dictionary
from vocab_lit.vectors.settings import fasttext_or_ppmi
from vocab_lit.vectors.token_vectors import TokenVectors, carry_vectors, encode_lines
from vocab_lit.vectors.word_vectors import WordVectors, from_words, open_words, static_vectors, train_words

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from vocab_lit.methods.factored import Factors


Splits = tuple[list, list, list]  # examples of a task: train, dev, test


@dataclass(frozen=True)
class Setup:
    "A source model, text in a target language or several, and budgets."

    scale: str  # mini, paper or custom
    language: str  # code of the target language, or several with a plus between them
    model: str  # folder or hub name of the source model
    train: Sequence[str] = field(repr=False)  # training text
    held_out: Sequence[str] = field(repr=False)  # text for evaluation
    vocab_size: int  # of the target vocabulary
    lapt: LaptConfig  # hyper-parameters of LAPT
    # of a task and a language; with test_only, the first two are empty
    splits: Callable[..., Splits] | None = field(default=None, repr=False)
    # of a task and a language: whether there are examples; None: of all
    has_task: Callable[[str, str], bool] | None = field(default=None, repr=False)
    tasks: Mapping[str, TaskConfig] = field(default_factory=lambda: TASK_PRESETS)  # hyper-parameters of fine-tuning
    split_digits: bool = False  # whether the target tokenizer splits numbers into digits
    source_text: Sequence[str] = field(default=(), repr=False)  # text in the source model's language, for WECHSEL
    pairs: Sequence[tuple[str, str]] = field(default=(), repr=False)  # a dictionary from that language to the target's
    # word vectors of the source model's language and of the target's; "": trained on text
    word_files: tuple[str, str] = ("", "")
    # a part of the training text, for the vocabulary and auxiliary embeddings; (): all of it
    vocab_text: Iterable[str] = field(default=(), repr=False)
    vector_epochs: int = 0  # passes of fastText over it; 0: as many as `token_fasttext` makes


def _questions(language, n, seed, held_out):
    found = questions(language, n, seed, held_out)
    return [Question(f"{language}-{q.number}", q.question, q.context, (Answer(q.answer, q.start),)) for q in found]


def _pairs(language, n, seed, held_out):
    return [Pair(*inference[:3]) for inference in inferences(language, n, seed, held_out, names=4)]


def _sentences(language, n, seed, held_out):
    return world_of(language).sentences(language, n, seed, held_out)


def _tags(*asked):
    return [Tagged(s.words, s.tags) for s in _sentences(*asked)]


def _names(*asked):
    return [Tagged(s.words, s.labels) for s in _sentences(*asked)]


def _trees(*asked):
    return [Parsed(s.words, s.heads, s.relations) for s in _sentences(*asked)]


@dataclass(frozen=True)
class MiniTask:
    "Where the examples of a task come from at scale mini, and how many there are."

    examples: Callable[[str, int, int, bool], list]  # of a language, so many, by a seed, from what is held out or not
    train: int
    dev: int = 40
    test: int = 150


PHRASEBOOK_TASKS = {
    "pos": MiniTask(_tags, train=60),
    "ner": MiniTask(_names, train=60),
    "qa": MiniTask(_questions, train=800, dev=80, test=130),
    "nli": MiniTask(_pairs, train=498, dev=60),
}
CONSTRUCTED_TASKS = {
    "pos": MiniTask(_tags, train=200),
    "ner": MiniTask(_names, train=200),
    "dp": MiniTask(_trees, train=200),
}


def _mini_splits(task: str, language: str, test_only: bool = False) -> Splits:
    constructed = language in LANGUAGES
    tasks = CONSTRUCTED_TASKS if constructed else PHRASEBOOK_TASKS
    if task not in tasks:
        kind = "a constructed language" if constructed else "which the phrasebook speaks"
        raise ValueError(f"no examples of {task} in {language}, {kind}; choose from {', '.join(tasks)}")
    mini = tasks[task]
    test = mini.examples(language, mini.test, 503, True)
    if test_only:
        return [], [], test
    return mini.examples(language, mini.train, 501, False), mini.examples(language, mini.dev, 502, True), test


_MINI_TASK = dict(
    learning_rate=1e-3,
    batch_size=8,
    epochs=6,
    eval_every=2,
    max_length=72,
    schedule="constant",
    stride=8,
    warmup_steps=0,
    weight_decay=0.0,
)
_MINI_TASKS = {
    "qa": dict(batch_size=16, epochs=8),
    "nli": dict(batch_size=16, epochs=8, eval_every=4, schedule="linear", warmup_steps=0.2),
}
_FEWER_EPOCHS = {("focus", "qa"): 4}  # half the others', as this chapter has the most models to score


def _mini_config(task: str, config: TaskConfig, learning_rate: float) -> TaskConfig:
    settings = _MINI_TASK | dict(learning_rate=learning_rate) | _MINI_TASKS.get(task, {})
    known = {f.name for f in fields(config)}
    return replace(config, **{name: value for name, value in settings.items() if name in known})


def _paper_splits(task: str, language: str, test_only: bool = False, *, names: dict, divide: bool) -> Splits:
    return hub_splits(task, language, names.get(task, ""), test_only, divide)


def _paper_has_task(task: str, language: str, *, names: dict) -> bool:
    return has_task(task, language, names.get(task, ""))


TaskFiles = str | dict[str, str] | Sequence[tuple[str, str]]  # names, separated by spaces; or these by language


def _files(given: TaskFiles, language: str) -> list[str]:  # of one language
    given = given if isinstance(given, str) else dict(given).get(language, "")
    return [f.replace("{language}", language) for f in given.split()]


def _custom_splits(task: str, language: str, test_only: bool = False, *, files: dict) -> Splits:
    paths = _files(files.get(task, ""), language)
    if not paths:
        expected = f"training, development and test file of {language}, separated by spaces"
        raise ValueError(f"scale custom needs the files of the task: set {task} to {expected}")
    if test_only or len(paths) == 1:
        return [], [], read_examples(task, paths[-1])
    train, *dev, test = [read_examples(task, f) for f in paths]
    return (train, *dev, test) if dev else (*hold_out(train), test)


# source models at mini and on the Hub; of the others XLM-R
_XLMR = ("mini-xlmr", MODELS["XLM-R"])
_MODELS = {
    "unks-everywhere": ("mini-mbert", MODELS["mBERT"]),
    "wechsel-roberta": ("mini-roberta", MODELS["RoBERTa"]),
    "wechsel-gpt2": ("mini-gpt2", MODELS["GPT-2"]),
    "wechsel-gpt2-low-resource": ("mini-gpt2", MODELS["GPT-2"]),
}
# of the others 50,000; MAD-X keeps the source vocabulary, and has here that of UNKs Everywhere
_VOCAB_SIZES = {"embedding-structure": 32_770, "mad-x": 10_000, "unks-everywhere": 10_000}


@dataclass(frozen=True)
class MiniRates:
    "Learning rates at scale mini: the best of sweeps of the same width."

    lapt: float  # by held-out loss
    tasks: Mapping[str, float] = field(default_factory=dict)  # by the source's development split; of the others 1e-3


MINI_RATES = {
    "mad-x": MiniRates(1e-3, {"qa": 1e-3}),
    "mad-x-adapter": MiniRates(4e-3, {"ner": 1e-2, "pos": 1e-2, "qa": 5e-3}),
    "unks-everywhere": MiniRates(1e-3, {"ner": 5e-4, "dp": 5e-4}),
    "unks-everywhere-adapter": MiniRates(1e-2, {"ner": 1e-2, "dp": 5e-3}),
    "wechsel-roberta": MiniRates(2e-3, {"nli": 7e-4}),
    "wechsel-gpt2": MiniRates(4e-3),
    "wechsel-gpt2-low-resource": MiniRates(4e-3),
    "token-distillation": MiniRates(5e-3),
}
# evaluations of a run that is shorter than the paper's; of the others 5. WECHSEL gives scores at a tenth of the steps
_EVALUATIONS = {"wechsel-roberta": 10, "wechsel-gpt2": 10, "wechsel-gpt2-low-resource": 30}


@dataclass(frozen=True)
class SetupOptions:
    "What a setup is chosen by."

    scale: str  # mini, paper or custom
    # mini: a CLDR code or a constructed language; paper: the corpus's code; custom: any name; several with a plus
    language: str
    model: str = ""  # custom: folder or hub name of the source model; paper: another than the paper's
    text: str | Path | Sequence[str | Path] = ()  # custom: text files, one for each language; {language} is filled in
    # custom: files of the tasks: training, development (may be left out) and test, separated by spaces; or these by
    # language; paper: short names of data sets
    pos: TaskFiles = ""
    ner: TaskFiles = ""
    qa: TaskFiles = ""
    nli: TaskFiles = ""
    dp: TaskFiles = ""
    # custom, paper: for WECHSEL; {language} is filled in; vectors that are not given are trained on text
    dictionary: str = ""
    source_text: str | Sequence[str] = ""
    source_vectors: str = ""
    target_vectors: str = ""
    vocab_size: int = 0  # 0: at mini 700, or 1,500 for several languages and WECHSEL, otherwise the paper's
    steps: int = 0  # 0: 60 at mini, otherwise the paper's
    limit: int = 0  # lines of each language to read; 0: 4,000 at mini, otherwise all
    max_bytes: int = 0  # paper: of each language's text; 0: as much as the paper has
    # paper: bytes of the text that a vocabulary and auxiliary embeddings are trained on, which is held in memory; of
    # more a sample is taken; 0: as the paper does
    sample_bytes: int = 0
    cleaned: bool | None = None  # paper: leave out what is no sentence, and copies; None: as the paper does
    # paper: fastText's file for identifying languages, to leave English lines out where the paper does; "": they stay
    language_model: str = ""
    seed: int = 0  # mini: which sentences; otherwise which lines are held out
    preset: str = "focus"  # whose hyper-parameters
    corpus: str = ""  # paper: a short name, as cc100, fineweb-2, mc4, oscar or wikipedia; "": the paper's
    # mini: a language of the source model to align the target with; "": English for WECHSEL's presets, otherwise none
    source_language: str = ""

    @property
    def languages(self) -> list[str]:
        return self.language.split("+")

    @property
    def paper(self) -> str:  # or a part of it, as wechsel-gpt2
        return self.preset.removesuffix("-adapter")

    @property
    def task_files(self) -> dict[str, TaskFiles]:
        files = dict(pos=self.pos, ner=self.ner, qa=self.qa, nli=self.nli, dp=self.dp)
        return {task: given for task, given in files.items() if given}

    def fill(self, name: str) -> str:
        return name.replace("{language}", self.language)


def scale_models(preset: str) -> tuple[str, str]:  # at mini a folder, at paper a hub name
    "The source models of a paper."
    bundled, name = _MODELS.get(preset.removesuffix("-adapter"), _XLMR)
    return str(data_path("models", bundled)), name


def scale_lapt(
    scale: str,
    preset: str = "focus",
    steps: int = 0,  # 0: 60 at mini, otherwise the paper's
) -> LaptConfig:
    "The hyper-parameters of LAPT at a scale."
    config = PRESETS.get(preset) or PRESETS[preset.removesuffix("-adapter")]
    if scale == "mini":  # what this model learns in a minute
        rates = MINI_RATES.get(preset)
        swept = dict(learning_rate=rates.lapt, schedule="linear", warmup=0.1) if rates else dict(learning_rate=2e-3)
        config = replace(config, steps=60, batch_size=16, length=72, **swept)
    if steps:
        config = replace(config, steps=steps, max_epochs=0)
    eval_every = min(config.eval_every, max(1, config.steps // _EVALUATIONS.get(preset, 5)))
    evaluations_without_gain = config.patience // config.eval_every
    return replace(config, eval_every=eval_every, patience=evaluations_without_gain * eval_every)


def scale_tasks(
    scale: str,
    preset: str = "focus",
    of: Sequence[str] = (),  # languages and data sets, as in `task_settings`
) -> Mapping[str, TaskConfig]:  # by task
    "The hyper-parameters of fine-tuning at a scale; of tasks that the paper does not have, the tasks' own."
    paper, adapters = preset.removesuffix("-adapter"), preset.endswith("-adapter")
    paper = "wechsel" if paper.startswith("wechsel") else paper
    others = TASK_PRESETS if paper in ("focus", "embedding-structure") else {}
    tasks = {**others, **{task: task_settings(paper, task, adapters, of=of) for task in PAPERS[paper]}}
    if scale != "mini":
        return tasks
    rates = MINI_RATES[preset].tasks if preset in MINI_RATES else {}
    minis = {task: _mini_config(task, config, rates.get(task, 1e-3)) for task, config in tasks.items()}
    return {task: replace(mini, epochs=_FEWER_EPOCHS.get((preset, task), mini.epochs)) for task, mini in minis.items()}


def check_custom(text: object, **models: object) -> None:  # the parameters, by name
    "`ValueError` where a model or text is missing at scale custom."
    missing = [] if any(models.values()) else [f"a model folder: set {' or '.join(models)}"]
    missing += [] if text else ["text files: set text"]
    if missing:
        raise ValueError(f"scale custom needs {', and '.join(missing)}")


@dataclass
class _Material:  # what a scale makes of the options
    model: str
    text: dict[str, tuple[Sequence[str], Sequence[str]]]  # by language: training and held-out text
    splits: Callable[..., Splits]
    source_text: Sequence[str] = ()
    pairs: Sequence[tuple[str, str]] = ()
    has_task: Callable[[str, str], bool] | None = None
    mixed: Callable[..., Sequence[str]] = lambda texts, seed: list(mix(texts, seed=seed))  # of several languages
    vocab_text: Callable[[Sequence[str]], Iterable[str]] = lambda train: ()  # of the training text; (): all of it
    vector_epochs: int = 0


def _mini(options: SetupOptions) -> _Material:
    def lines(language):
        world, held_out = world_of(language), 300 // len(options.languages)
        train = world.lines(language, options.limit or 4000, 2 * options.seed + 1)
        return train, world.lines(language, held_out, 0, held_out=True)

    made = _Material(scale_models(options.preset)[0], {code: lines(code) for code in options.languages}, _mini_splits)
    if source := options.source_language or "en" * options.paper.startswith("wechsel"):
        made.source_text = world_of(source).lines(source, 4000, 2 * options.seed + 2)
        made.pairs = world_of(source).dictionary(source, options.language)
    return made


def _bilingual(options: SetupOptions) -> dict:  # from files: text of the source language, and a dictionary
    text = [options.source_text] if isinstance(options.source_text, str) else options.source_text
    return dict(
        source_text=read_lines(*text) if options.source_text else (),
        pairs=read_dictionary(options.fill(options.dictionary)) if options.dictionary else (),
    )


def _custom(options: SetupOptions) -> _Material:
    text = [options.text] if isinstance(options.text, (str, Path)) else options.text
    files, codes = [options.fill(str(f)) for f in text], options.languages
    check_custom(model=options.model, text=files)
    if len(codes) > 1 and len(files) != len(codes):
        raise ValueError(f"{len(files)} text files for {len(codes)} languages; give one for each")
    files_of = {codes[0]: files} if len(codes) == 1 else {code: [file] for code, file in zip(codes, files)}
    text = {
        code: split_lines(read_lines(*found)[: options.limit or None], seed=options.seed)
        for code, found in files_of.items()
    }
    splits = partial(_custom_splits, files=options.task_files)
    return _Material(hub_model(options.model), text, splits, **_bilingual(options))


def _hub_text(options: SetupOptions, preset: PaperText, language: str) -> HubText:
    cleaned = preset.cleaned if options.cleaned is None else options.cleaned
    max_bytes = options.max_bytes or preset.max_bytes.get(language, 0)
    english_out = options.language_model if language in preset.without_english else ""
    corpus = options.corpus or preset.corpus_of(language)
    return HubText(corpus, language, options.limit, max_bytes, cleaned, english_out)


def _vocab_text(train: Sequence[str], *, preset: PaperText, options: SetupOptions) -> Iterable[str]:
    seed = options.seed
    if options.sample_bytes:
        return Sample(train, options.sample_bytes, options.sample_bytes, seed=seed)
    if len(options.languages) > 1:
        return Sample(train, lines=preset.mixed_lines)
    return Sample(train, preset.whole_up_to, preset.sample_bytes, seed=seed)


def _paper(options: SetupOptions) -> _Material:
    preset = PAPER_TEXT[paper_of(options.paper)]
    texts = {code: _hub_text(options, preset, code) for code in options.languages}
    for task, name in [*(("text", text.corpus) for text in texts.values()), *options.task_files.items()]:
        get_source(name, task)  # which checks the name
    model = hub_model(options.model or scale_models(options.preset)[1])
    text = {code: stored_text(text, seed=options.seed) for code, text in texts.items()}
    splits = partial(_paper_splits, names=options.task_files, divide=options.paper == "embedding-structure")
    has = partial(_paper_has_task, names=options.task_files)
    mixed = partial(stored_mix, cap=preset.mixed_bytes)
    vocab_text = partial(_vocab_text, preset=preset, options=options)
    epochs = preset.vector_epochs.get(options.language, 0)
    more = dict(has_task=has, mixed=mixed, vocab_text=vocab_text, vector_epochs=epochs)
    return _Material(model, text, splits, **more, **_bilingual(options))


SCALES = {"mini": _mini, "paper": _paper, "custom": _custom}


def scale_vocab_size(
    scale: str,
    preset: str = "focus",
    several: bool = False,  # whether several languages share it
) -> int:
    "The size of a target vocabulary at a scale."
    paper = paper_of(preset)
    if scale != "mini":
        return _VOCAB_SIZES.get(paper, 50_000)
    return 1500 if several or paper == "wechsel" else 700


def get_setup(
    scale: str,  # mini, paper or custom
    language: str,  # code of the target language, or several with a plus between them
    model: str = "",  # custom: folder or hub name of the source model; paper: another than the paper's
    text: str | Path | Sequence[str | Path] = (),  # custom: text files, one for each language
    **options,  # others of `SetupOptions`
) -> Setup:
    "The setup of a scale; `ValueError` where something is missing."
    if scale not in SCALES:
        raise ValueError(f"scale {scale!r}: choose from {', '.join(SCALES)}")
    options = SetupOptions(scale, language, model, text, **options)
    material = SCALES[scale](options)
    for code, (train, held_out) in material.text.items():
        if not held_out:
            raise ValueError(f"{len(train)} lines of {code} leave none to evaluate on; give more")
    train = {code: lines for code, (lines, _) in material.text.items()}
    held_out = [lines[: 2000 // len(train)] for _, lines in material.text.values()]
    train = material.mixed(train, seed=options.seed) if len(train) > 1 else train[language]
    return Setup(
        scale,
        language,
        material.model,
        train,
        [line for lines in held_out for line in lines],
        options.vocab_size or scale_vocab_size(scale, options.preset, len(options.languages) > 1),
        scale_lapt(scale, options.preset, options.steps),
        material.splits,
        material.has_task,
        scale_tasks(scale, options.preset, [*options.languages, *map(str, options.task_files.values())]),
        split_digits=scale == "mini" and scale_models(options.preset) == scale_models("focus"),  # as its own tokenizer
        source_text=material.source_text,
        pairs=material.pairs,
        word_files=(options.fill(options.source_vectors), options.fill(options.target_vectors)),
        vocab_text=material.vocab_text(train),
        vector_epochs=material.vector_epochs,
    )


EXTENSION = 0.6  # share of the target vocabulary that is added: FOCUS, Section 3.1, adds 30,000 of 50,000 tokens


@dataclass(frozen=True)
class Adaptation:
    "A way to adapt a source model to a language, such as a row of FOCUS's Tables 2 and 3."

    vocabulary: str  # one of `VOCABULARIES`
    recipe: str | Recipe = ""  # of the target embeddings; "": all are the source's
    mode: str = "all"  # of LAPT; "": none
    printed: str = ""  # what the paper's tables call it; "": they lack it
    vectors: Mapping[str, object] = field(default_factory=dict)  # how auxiliary embeddings are made


_RANDOM_EXTENSION = Recipe(
    "random extension",
    (Copy(), RandomMapping()),
    "Wang et al. (2020)",
    "Overlapping tokens are copied, others get the embedding of a random source token.",
)
FOCUS_METHODS = {
    "off-the-shelf": Adaptation("original", mode="", printed="off-the-shelf"),
    "LAPT": Adaptation("original", printed="LAPT"),
    "random": Adaptation("replaced", "random"),
    "random, two stages": Adaptation("replaced", "random", "two-stage", "Random + LAPT"),
    "wechsel-en": Adaptation("replaced", "wechsel", printed="WECHSEL_EN + LAPT", vectors={"source_only": True}),
    "wechsel": Adaptation("replaced", "wechsel", printed="WECHSEL + LAPT"),
    "focus-symbolic": Adaptation("replaced", "focus-symbolic"),
    "focus-word": Adaptation("replaced", "focus-word"),
    "focus": Adaptation("replaced", "focus", printed="FOCUS + LAPT"),
    "random, extended": Adaptation("extended", _RANDOM_EXTENSION, printed="Random + LAPT"),
    "focus, extended": Adaptation("extended", "focus", printed="FOCUS + LAPT"),
}


_TRIMMED = Recipe(
    "trim",
    (Copy(fuzzy=False), Gaussian()),
    "Abdaoui et al. (2020)",
    "Every token overlaps.",
)
VOCABULARY_WAYS = {
    "keep": Adaptation("original"),
    "trim": Adaptation("trimmed", _TRIMMED),
    "extend": Adaptation("extended", "focus"),
    "continue": Adaptation("continued", "focus"),
    "replace": Adaptation("replaced", "focus"),
}


def focus_methods(
    dictionary: bool,  # whether there is one between the model's language and the target, which WECHSEL needs
    source_text: bool,  # whether there is text in the model's language, which WECHSEL-EN needs
) -> dict[str, Adaptation]:  # by name
    "Those of `FOCUS_METHODS` that are possible."

    def is_possible(way):
        if way.vectors.get("source_only") and not source_text:
            return False
        return way.recipe != "wechsel" or dictionary

    return {name: way for name, way in FOCUS_METHODS.items() if is_possible(way)}


class Target:
    "A target language for a source model: its tokenizer, vectors and evaluation text, each made once."

    def __init__(
        self,
        setup: Setup,
        work: str | Path | None = None,  # folder for checkpoints of continued pretraining; None: none are written
    ):
        self.setup, self.work, self._vectors, self._packed = setup, work, {}, {}

    @cached_property
    def source_tokenizer(self) -> PreTrainedTokenizerBase:
        return load_tokenizer(self.setup.model)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        setup = self.setup
        return train_tokenizer_like(
            self.source_tokenizer, self.vocab_text, setup.vocab_size, split_digits=setup.split_digits
        )

    @property
    def vocab_text(self) -> Iterable[str]:
        "The text that the vocabulary and auxiliary embeddings are trained on."
        return self.setup.vocab_text or self.setup.train

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.from_tokenizer(self.tokenizer)

    @cached_property
    def source_vocab(self) -> Vocab:
        return Vocab.from_tokenizer(self.source_tokenizer)

    @cached_property
    def lapt_config(self) -> LaptConfig:  # blocks are no longer than the source model's longest input
        return replace(self.setup.lapt, length=min(self.setup.lapt.length, self.source_tokenizer.model_max_length))

    def source_model(self) -> PreTrainedModel:  # loaded anew
        return load_model(self.setup.model).float()

    def packed(
        self,
        text: str,  # the setup's: train or held_out
        kept: bool = False,  # under the source vocabulary; otherwise under the target's
    ) -> torch.Tensor | PackedBlocks:  # (n, length) token ids
        "The setup's text in blocks; of text in the cache, in a file beside it."
        if (text, kept) not in self._packed:
            tokenizer = self.source_tokenizer if kept else self.tokenizer
            lines, length = getattr(self.setup, text), self.lapt_config.length
            make = _pack_beside if isinstance(lines, StoredText) else pack
            self._packed[text, kept] = make(tokenizer, lines, length)
        return self._packed[text, kept]

    def words(self, how: str = "auto") -> tuple[WordVectors, WordVectors]:  # of the source and the target language
        "Word vectors from the setup's files, or trained on its text."
        setup = self.setup
        sides = (
            ("of the model's language", "source_vectors", "source_text", setup.source_text),
            ("of the target language", "target_vectors", "text", setup.train),
        )
        for (whose, option, text_option, text), file in zip(sides, setup.word_files):
            if not (file or text):
                given = f"set {option} to a file of them, or {text_option} to text"
                raise ValueError(f"WECHSEL needs word vectors {whose}: {given}{_published_files(setup)}")
        texts = [text for *_, text in sides]
        return tuple(open_words(file or _trained(tuple(text), how)) for file, text in zip(setup.word_files, texts))

    def vectors(
        self,
        needs: str,  # of the target tokens, or of both vocabularies, as a recipe says
        how: str = "auto",  # they are made: fasttext, ppmi, or by the size of the text
        subwords: str = "auto",  # from words to tokens, for WECHSEL
        source_only: bool = False,  # WECHSEL-EN: of the source tokens, those that text of the model's language has
        **training,  # other options of `static_vectors`
    ) -> TokenVectors | AlignedVectors | None:
        "Static vectors of the kind a recipe needs."
        if not needs:
            return None
        asked = (needs, how, subwords, source_only, *training.items())
        if asked not in self._vectors:
            aligned = needs == "aligned vectors"
            made = self._aligned(how, subwords, source_only) if aligned else self._static(needs, how, **training)
            self._vectors[asked] = made
        return self._vectors[asked]

    def _static(self, needs, how, **training):
        if how == "auxiliary":
            return embedding_vectors(self.auxiliary_model, self.tokenizer, self.tokenizer)
        _, words_of_target = self.setup.word_files
        if needs == "word vectors" and words_of_target:
            return from_words(words_of_target, self.tokenizer)
        if self.setup.vector_epochs and fasttext_or_ppmi(self.vocab_text, how) == "fasttext":
            training = {"epochs": self.setup.vector_epochs} | training
        return static_vectors(needs, self.tokenizer, self.vocab_text, how, **training)

    @cached_property
    def source_language_vocab(self) -> Vocab:
        "The tokens of the model's language: of a vocabulary as large as the target's, from the setup's source text."
        setup = self.setup
        if not setup.source_text:
            raise ValueError("WECHSEL-EN needs text in the model's language: set source_text")
        text = setup.source_text
        tokenizer = train_tokenizer_like(self.source_tokenizer, text, setup.vocab_size, split_digits=setup.split_digits)
        return Vocab.from_tokenizer(tokenizer)

    @cached_property
    def auxiliary_model(self) -> PreTrainedModel:
        "A smaller model with the target vocabulary, trained from scratch on the setup's text, for CLP and OMP."
        model = smaller_model(self.source_model(), self.source_tokenizer, self.tokenizer)
        config = replace(self.lapt_config, mode="all", eval_every=self.lapt_config.steps)
        self._train(model, self.tokenizer, False, config, 0)
        return model

    def _aligned(self, how, subwords, source_only):
        if not self.setup.pairs:
            given = "set dictionary to a file of two columns"
            languages = "the model's language and the target's"
            raise ValueError(f"WECHSEL needs a dictionary between {languages}: {given}{_published_files(self.setup)}")
        only = self.source_language_vocab if source_only else None
        words = self.words(how)
        return align_tokens(*words, self.source_tokenizer, self.tokenizer, self.setup.pairs, subwords, only=only)

    def transplant(
        self,
        method: str | Recipe,  # a recipe, or its name
        seed: int = 0,
        # vectors are made: fasttext, ppmi, by the size of the text, or, of tokens, by an auxiliary model (auxiliary)
        how: str = "auto",
        factors: Factors | None = None,  # for recipes of low-dimensional embeddings
        **vectors,  # other options of `vectors`
    ) -> Transplant:
        "The source model with the target vocabulary, initialised by a method."
        recipe, model = method if isinstance(method, Recipe) else get_recipe(method), self.source_model()
        made = self.vectors(recipe.needs, how, **vectors)
        return transplant(model, self.source_tokenizer, self.tokenizer, recipe, made, seed, factors=factors)

    @cached_property
    def distils(self) -> bool:
        "Whether new tokens can learn from the source model: its tokenizer has to know what they stand for."
        new = [t.id for t, old in zip(self.vocab, overlap(self.source_vocab, self.vocab)) if old < 0]
        return any(True for _ in snippet_rows(self.tokenizer, self.source_tokenizer, self.setup.held_out, new))

    def distilled(
        self,
        method: str | Recipe,
        seed: int = 0,
        lm: bool = False,  # whether the new tokens learn language modelling besides
        **making,  # as in `transplant`
    ) -> Transplant:
        "A transplant whose new tokens have then learnt from the source model, at mini in as many steps as LAPT has."
        made, preset = self.transplant(method, seed, **making), PRESETS["token-distillation"]
        is_mini = self.setup.scale == "mini"
        config = scale_lapt(self.setup.scale, "token-distillation", self.lapt_config.steps if is_mini else 0)
        length, snippets = min(preset.length, self.lapt_config.length), 5 if is_mini else preset.distil_snippets
        config = replace(config, length=length, eval_every=config.steps, distil_snippets=snippets, distil_lm=lm)
        source = self.source_model().eval().requires_grad_(False)
        teacher = Teacher(source, self.source_tokenizer, made.plan.new_tokens)
        with only_new_rows(made.model, teacher.new):
            lapt(made.model, self.tokenizer, self.setup.train, self.packed("held_out"), config, seed, teacher=teacher)
        return made

    def loss(self, model: PreTrainedModel) -> float:  # nats per masked token
        "Held-out loss of a model with the target vocabulary."
        return heldout_loss(model.to(find_device().torch), self.tokenizer, self.packed("held_out"))

    def overlap_counts(self) -> dict[str, int]:
        "How many tokens the target vocabulary shares with the source's, as FOCUS's Table 8 counts them."
        import numpy as np

        shared = overlap(self.source_vocab, self.vocab) >= 0
        ids = encode_lines(self.tokenizer, self.setup.train)
        frequent = np.bincount(ids[ids >= 0], minlength=len(self.vocab)) >= 10
        words = np.array([t.kind == "text" and not t.is_symbol for t in self.vocab])
        return {
            "all": shared.sum(),
            "minCount 10": (shared & frequent).sum(),
            "not symbols": (shared & words).sum(),
            "vocabulary": len(shared),
        }

    def _begin(self, method, seed, **making):  # model and tokenizer before any training
        if not method:
            return self.source_model(), self.source_tokenizer
        return self.transplant(method, seed, **making).model, self.tokenizer

    def _untrained(self, model, tokenizer, keeps):  # losses by step where there is no step
        import pandas as pd

        loss = heldout_loss(model.to(find_device().torch), tokenizer, self.packed("held_out", keeps))
        return pd.DataFrame([(0, loss)], columns=["step", "loss"])

    def course(
        self,
        method: str | Recipe,  # "": the source model keeps its vocabulary
        mode: str = "all",  # of LAPT; "": none
        seed: int = 0,
        at: Sequence[int] = (),  # steps whose models are wanted; 0: before training
        kept: list[Path] | None = None,  # where folders of checkpoints are listed; None: they are removed here
        **making,  # of the target embeddings, as in `transplant`
    ) -> tuple[pd.DataFrame, dict[int, PreTrainedModel]]:  # losses by step, and models
        "Initialisation and continued pretraining, with models from on the way."
        (made, tokenizer), snapshots = self._begin(method, seed, **making), _Snapshots(at)
        if 0 in at:
            snapshots.keep(made, 0)
        if mode:
            config = replace(self.lapt_config, mode=mode)
            losses = self._train(made, tokenizer, not method, config, seed, kept, snapshots)
        else:
            losses = self._untrained(made, tokenizer, not method)
        return losses, {step: _with_weights(made, state) for step, state in sorted(snapshots.states.items())}

    def along(
        self,
        method: str | Recipe,
        mode: str = "all",
        seed: int = 0,
        at: Sequence[int] = (),  # steps at which tasks are scored
        tasks: Sequence[str] = (),  # those of `setup.tasks`, and ppl: bits per byte of the held-out text
        seeds: int = 1,  # fine-tunings
        **making,
    ) -> list[dict]:  # records with metric, step, value and, of a task, task_seed
        "Losses on the way of continued pretraining, and task scores at some of its steps."
        kept, tokenizer = [], self.tokenizer if method else self.source_tokenizer
        losses, models = self.course(method, mode, seed, at if tasks else (), kept, **making)
        found = _loss_rows(losses)
        for step, model in models.items():
            for task in tasks:
                for row in self._task_rows(model, tokenizer, task, self.setup.language, seeds):
                    found.append(dict(metric=task, step=step, **row))
        _remove(kept)
        return found

    def _task_rows(self, model, tokenizer, task, language, seeds):  # of fine-tunings; of ppl, which has none, one row
        if task == PERPLEXITY:
            return [dict(value=perplexity(model, tokenizer, self.setup.held_out).bits_per_byte)]
        splits, config = self.setup.splits(task, language), self.setup.tasks[task]
        rows = fine_tune_seeds(model, tokenizer, *splits, task, range(seeds), config)
        return [dict(task_seed=r.seed, value=100 * r.test) for r in rows.itertuples()]

    def with_vocabulary(self, name: str) -> Target:  # of `VOCABULARIES`
        "The same language and model with another target vocabulary."
        return VOCABULARIES[name](self)

    def follow(
        self,
        way: Adaptation,
        seed: int = 0,
        tasks: Sequence[str] = (),
        seeds: int = 1,  # fine-tunings
    ) -> list[dict]:  # records as of `along`
        "One row of a table: the losses of an adaptation, and the scores of tasks at its end."
        with_vocabulary = self.with_vocabulary(way.vocabulary)
        end = total_steps(replace(self.lapt_config, mode=way.mode)) if way.mode else 0
        return with_vocabulary.along(way.recipe, way.mode, seed, (end,), tasks, seeds, **way.vectors)

    def adapted(
        self,
        method: str = "",  # a recipe's name; "": the source model keeps its vocabulary
        mode: str = "",  # of LAPT; "": none
        seed: int = 0,
        kept: list[Path] | None = None,  # as in `course`
    ) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, pd.DataFrame]:  # model, tokenizer, losses by step
        "The model after initialisation and continued pretraining."
        model, tokenizer = self._begin(method, seed)
        if not mode:
            return model, tokenizer, self._untrained(model, tokenizer, not method)
        # evaluations are checkpoints too
        eval_every = self.lapt_config.eval_every if self.work else self.lapt_config.steps
        config = replace(self.lapt_config, mode=mode, eval_every=eval_every)
        return model, tokenizer, self._train(model, tokenizer, not method, config, seed, kept)

    def scores(
        self,
        method: str = "",
        mode: str = "",
        seed: int = 0,
        languages: Sequence[str] = (),  # to score; none: all of the setup
        tasks: Sequence[str] = ("pos", "ner"),
        seeds: int = 4,  # fine-tunings
    ) -> list[dict]:  # records with metric, value and, of a task, language and task_seed
        "Loss and task scores after initialisation and continued pretraining; tasks without examples are left out."
        kept = []
        model, tokenizer, losses = self.adapted(method, mode, seed, kept)
        found = _loss_rows(losses)
        for language in languages or self.setup.language.split("+"):
            for task in tasks:
                if self.setup.has_task and not self.setup.has_task(task, language):
                    continue
                for row in self._task_rows(model, tokenizer, task, language, seeds):
                    found.append(dict(metric=task, target=language, **row))
        _remove(kept)
        return found

    def _train(self, model, tokenizer, keeps, config, seed, kept=None, snapshots=None):  # keeps: the source vocabulary
        train, held_out = (self.packed(text, keeps) for text in ("train", "held_out"))
        callbacks = [snapshots.callback()] if snapshots else []
        run = partial(lapt, model, tokenizer, train, held_out, config, seed, callbacks=callbacks)
        if not self.work:
            return run()
        folder = Path(self.work, f"{self.setup.language}-{self._run_name(model, train, config, seed)}")
        if snapshots:
            snapshots.folder = folder
        losses = run(folder=folder, resume=folder.is_dir())
        if kept is None:
            _remove([folder])
        else:
            kept.append(folder)
        return losses

    def _run_name(self, model, train, config, seed):  # a hash of what a run begins with
        import torch

        h = hashlib.blake2b(repr((self.setup.model, config, seed)).encode(), digest_size=8)
        first, last = (torch.as_tensor(train[i]) for i in (0, len(train) - 1))
        for tensor in (model.get_input_embeddings().weight.detach(), first, last):
            h.update(tensor.contiguous().numpy().tobytes())
        return h.hexdigest()


def _pack_beside(tokenizer, text, length) -> PackedBlocks:  # made once, also by several processes
    from filelock import FileLock

    made_by = hashlib.blake2b(tokenizer.backend_tokenizer.to_str().encode(), digest_size=8).hexdigest()
    file = text.beside(f"tokens-{made_by}-{length}")
    with FileLock(f"{file}.lock"):
        return PackedBlocks(file, length) if file.is_file() else pack(tokenizer, text, length, file)


def _loss_rows(losses):
    return [dict(metric="loss", step=int(r.step), value=r.loss) for r in losses.itertuples()]


def _remove(folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _published_files(setup):  # where the papers' files are
    if setup.scale != "paper":
        return ""
    return "; download " + ", ".join(f"{what}: {at}" for what, at in word_files(setup.language).items())


class _Snapshots:
    "A model's weights at some steps, in the folder of the run where there is one, so that a run that resumes has them."

    def __init__(self, at):
        self.at, self._states, self.folder = at, {}, None

    def keep(self, model, step):
        import torch

        state = {name: w.detach().cpu().clone() for name, w in model.state_dict().items()}
        if not self.folder or not step:
            self._states[step] = state  # step 0 is made anew
        elif not (file := self.folder / f"seen-{step}.pt").exists():
            with write_file(file) as part:
                torch.save(state, part)

    def callback(self):  # for the Trainer
        from transformers import TrainerCallback

        class Keep(TrainerCallback):
            def on_step_end(_, args, state, control, model=None, **__):
                if state.global_step in self.at and state.is_world_process_zero:
                    self.keep(model, state.global_step)

        return Keep()

    @property
    def states(self):
        import torch

        files = self.folder.glob("seen-*.pt") if self.folder else ()
        return self._states | {int(f.stem[5:]): torch.load(f, mmap=True) for f in files}


def _with_weights(model, state):
    changed = copy.deepcopy(model)
    changed.load_state_dict(state)
    return changed.eval()


@lru_cache(maxsize=8)
def _trained(text, how):  # of one text, for all languages and methods
    # fastText with 100 dimensions, as the paper's code trains it
    return train_words(text, how, **({"dim": 100} if how == "fasttext" else {}))


@cache
def _target(options, work, language, seed):
    return Target(get_setup(language=language, seed=seed, **dict(options)), work)


def _hashable(value):
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


class ExpandedTarget(Target):
    "A target language whose first tokens are added to the source vocabulary."

    def __init__(
        self,
        language: Target,  # with a vocabulary of its own
        n: int,  # how many of its first tokens to consider
    ):
        super().__init__(language.setup, language.work)
        self.language, self.n = language, n

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return expand_tokenizer(self.source_tokenizer, self.language.tokenizer, self.n)

    def vectors(self, needs: str, *how, **more) -> TokenVectors | None:
        "Static vectors of the language's own vocabulary, for its tokens in the expanded one."
        if not needs:
            return None
        made = self.language.vectors(needs, *how, **more)
        return carry_vectors(made, self.language.vocab, self.vocab)


class DerivedTarget(Target):
    "A target language whose vocabulary is made from the source's and the text."

    def __init__(
        self,
        language: Target,
        # of the source tokenizer and text, the target tokenizer
        derive: Callable[[PreTrainedTokenizerBase, Iterable[str]], PreTrainedTokenizerBase],
    ):
        super().__init__(language.setup, language.work)
        self.derive = derive

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self.derive(self.source_tokenizer, self.vocab_text)


def _extension(target: Target) -> int:
    return round(EXTENSION * target.setup.vocab_size)


def _trimmed(target: Target) -> Target:
    return DerivedTarget(target, lambda source, lines: trim(source, {target.setup.language: lines}).tokenizer)


def _continued(target: Target) -> Target:
    return DerivedTarget(target, lambda source, lines: extend_on_text(source, lines, _extension(target)).tokenizer)


VOCABULARIES: dict[str, Callable[[Target], Target]] = {  # of a target with a vocabulary of its own
    "original": lambda target: target,  # which keeps the source's where no recipe makes embeddings
    "trimmed": _trimmed,
    "extended": lambda target: ExpandedTarget(target, _extension(target)),
    "continued": _continued,
    "replaced": lambda target: target,
}


class Targets:
    "The targets of a scale, by language and seed, each made once in a process."

    def __init__(
        self,
        scale: str,
        work: str | Path = "",  # folder of records; below it, checkpoints are kept while a run lasts, but not at mini
        **options,  # of `get_setup`, but for language and seed
    ):
        self.options = tuple((name, _hashable(value)) for name, value in dict(options, scale=scale).items())
        # workers may run elsewhere
        self.work = Path(work, "runs").absolute() if work and scale != "mini" else None

    def __call__(self, language: str, seed: int = 0) -> Target:
        return _target(self.options, self.work, language, seed)
