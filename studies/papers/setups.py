"""The source model, the text, the tasks and the hyper-parameters of a scale: mini, paper or custom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

from studies.data.availability import has_task
from studies.data.hub import HubText, Sample, hub_model, hub_splits, stored_mix, stored_text
from studies.data.hub_sources import MODELS, get_source
from studies.data.parsing import Parsed
from studies.data.phrasebook_tasks import inferences, questions
from studies.data.presets import PAPER_TEXT, PaperText, on_data_sets, paper_of, task_and_set
from studies.data.task_changes import changed_settings
from testkit.constructed import LANGUAGES, world_of
from vocab_lit.tasks.evaluate import read_examples
from vocab_lit.tasks.pairs import Answer, Pair, Question
from vocab_lit.tasks.settings import GIVEN_SPLITS, TASKS, papers
from vocab_lit.tasks.tagging import Tagged
from vocab_lit.tasks.task import TaskConfig, hold_out
from vocab_lit.text.corpus import data_path, mix, read_lines, split_lines
from vocab_lit.text.settings import SettingError, existing_file
from vocab_lit.training.settings import PRESETS, LaptConfig
from vocab_lit.vectors.settings import read_dictionary

Splits = tuple[list, list, list]  # examples of a task: train, dev, test


def default_configs() -> dict[str, TaskConfig]:  # by task
    "The hyper-parameters that tasks have of their own."
    return {name: task.config for name, task in TASKS.items()}


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
    tasks: Mapping[str, TaskConfig] = field(default_factory=default_configs)  # hyper-parameters of fine-tuning
    split_digits: bool = False  # whether the target tokenizer splits numbers into digits
    source_text: Sequence[str] = field(default=(), repr=False)  # text in the source model's language, for WECHSEL
    pairs: Sequence[tuple[str, str]] = field(default=(), repr=False)  # a dictionary from that language to the target's
    # word vectors of the source model's language and of the target's; "": trained on text
    word_files: tuple[str, str] = ("", "")
    # a part of the training text, for the vocabulary and auxiliary embeddings; (): all of it
    vocab_text: Iterable[str] = field(default=(), repr=False)
    vector_epochs: int = 0  # passes of fastText over it; 0: as many as `token_vectors` makes

    def knows(self, task: str, language: str) -> bool:
        "Whether a task has examples in a language, as far as is known."
        return self.has_task is None or self.has_task(task, language)


_READ = {  # by task, an example of a sentence
    "pos": lambda s: Tagged(s.words, s.tags),
    "ner": lambda s: Tagged(s.words, s.labels),
    "dp": lambda s: Parsed(s.words, s.heads, s.relations),
}


def _mini_examples(task: str, language: str, n: int, seed: int, held_out: bool) -> list:
    if task == "qa":
        asked = questions(language, n, seed, held_out)
        return [Question(f"{language}-{q.number}", q.question, q.context, (Answer(q.answer, q.start),)) for q in asked]
    if task == "nli":
        return [Pair(*inference[:3]) for inference in inferences(language, n, seed, held_out, names=4)]
    return list(map(_READ[task], world_of(language).sentences(language, n, seed, held_out)))


# how many examples a task has at scale mini: to train on, for development and for the test
PHRASEBOOK_TASKS = {"pos": (60, 40, 150), "ner": (60, 40, 150), "qa": (800, 80, 130), "nli": (498, 60, 150)}
CONSTRUCTED_TASKS = dict.fromkeys(("pos", "ner", "dp"), (200, 40, 150))


def _mini_splits(task: str, language: str, test_only: bool = False, *, train: int = 0) -> Splits:
    constructed = language in LANGUAGES
    tasks = CONSTRUCTED_TASKS if constructed else PHRASEBOOK_TASKS
    if task not in tasks:
        kind = "a constructed language" if constructed else "which the phrasebook speaks"
        raise ValueError(f"no examples of {task} in {language}, {kind}; choose from {', '.join(tasks)}")
    counts = (train or tasks[task][0], *tasks[task][1:])
    of_splits = zip(counts, (501, 502, 503), (False, True, True))  # seeds, and whether they are held out
    train_part, dev, test = (
        [] if test_only and seed != 503 else _mini_examples(task, language, n, seed, held_out)
        for n, seed, held_out in of_splits
    )
    return train_part, dev, test


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
    task, name = task_and_set(task, names)
    return hub_splits(task, language, name, test_only, divide)


def _paper_has_task(task: str, language: str, *, names: dict) -> bool:
    task, name = task_and_set(task, names)
    return has_task(task, language, name)


TaskFiles = str | dict[str, str] | Sequence[tuple[str, str]]  # names, separated by spaces; or these by language


def _files(given: TaskFiles, language: str) -> list[str]:  # of one language
    given = given if isinstance(given, str) else dict(given).get(language, "")
    return [f.replace("{language}", language) for f in given.split()]


def task_files(task: str, paths: Sequence[str]) -> dict[str, str]:  # train, dev, test
    "The files of a task by split, told apart by their number."
    if len(paths) not in GIVEN_SPLITS:
        problem = "give training, development and test file, or the first and last, or a test file alone"
        raise SettingError(task, problem)
    for path in paths:
        existing_file(task, path)
    return dict(zip(GIVEN_SPLITS[len(paths)], paths))


def _custom_splits(task: str, language: str, test_only: bool = False, *, files: dict) -> Splits:
    paths = _files(files.get(task, ""), language)
    if not paths:
        expected = f"training, development and test file of {language}, separated by spaces"
        raise ValueError(f"scale custom needs the files of the task: set {task} to {expected}")
    by_split = task_files(task, paths[-1:] if test_only else paths)
    if "train" not in by_split:
        return [], [], read_examples(task, by_split["test"])
    train, test = (read_examples(task, by_split[split]) for split in ("train", "test"))
    if "dev" in by_split:
        return train, read_examples(task, by_split["dev"]), test
    return (*hold_out(train), test)


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
# steps of continued pretraining in the chapters at mini
MINI_STEPS = {"focus": 60, "embedding-structure": 40, "mad-x": 80, "unks-everywhere": 40, "wechsel": 40}
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
    examples: int = 0  # mini: labelled examples to fine-tune on; 0: those of the task
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
    of: Sequence[str] = (),  # languages and data sets, as in `changed_settings`
) -> Mapping[str, TaskConfig]:  # by task
    "The hyper-parameters of fine-tuning at a scale; of tasks that the paper does not have, the tasks' own."
    paper, adapters = preset.removesuffix("-adapter"), preset.endswith("-adapter")
    paper = "wechsel" if paper.startswith("wechsel") else paper
    others = default_configs() if paper in ("focus", "embedding-structure") else {}
    tasks = {**others, **{task: changed_settings(paper, task, adapters, cases=of) for task in papers()[paper]}}
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

    splits = partial(_mini_splits, train=options.examples)
    made = _Material(scale_models(options.preset)[0], {code: lines(code) for code in options.languages}, splits)
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
        code: split_lines(read_lines(*paths)[: options.limit or None], seed=options.seed)
        for code, paths in files_of.items()
    }
    splits = partial(_custom_splits, files=options.task_files)
    return _Material(hub_model(options.model), text, splits, **_bilingual(options))


def paper_text(options: SetupOptions, language: str) -> HubText:
    "Return which text of a language is read at scale paper."
    preset = PAPER_TEXT[paper_of(options.paper)]
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
    texts = {code: paper_text(options, code) for code in options.languages}
    of_tasks = [(task, name) for task, names in options.task_files.items() for name in names.split()]
    for task, name in [*(("text", text.corpus) for text in texts.values()), *of_tasks]:
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


def _task_configs(options: SetupOptions) -> Mapping[str, TaskConfig]:  # by task, and by task and data set
    configs = partial(scale_tasks, options.scale, options.preset)
    made = dict(configs([*options.languages, *map(str, options.task_files.values())]))
    if options.scale == "paper":
        for task, names in options.task_files.items():
            for named in on_data_sets(task, names):
                made[named] = configs([*options.languages, *task_and_set(named, options.task_files)])[task]
    return made


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
        _task_configs(options),
        split_digits=scale == "mini" and scale_models(options.preset) == scale_models("focus"),  # as its own tokenizer
        source_text=material.source_text,
        pairs=material.pairs,
        word_files=(options.fill(options.source_vectors), options.fill(options.target_vectors)),
        vocab_text=material.vocab_text(train),
        vector_epochs=material.vector_epochs,
    )
