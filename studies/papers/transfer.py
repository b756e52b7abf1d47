"""Learn a task in one language and use it in another, in all the ways of MAD-X and UNKs Everywhere."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from studies.data.hub import hub_model
from studies.data.task_changes import changed_settings
from studies.papers.adaptation import Adaptation
from studies.papers.costs import OnTask, OnText
from studies.papers.experiment import Target, Targets
from studies.papers.setups import scale_lapt, scale_models, scale_vocab_size
from studies.papers.store import Cell, CellStore, cell_stamp, with_needs
from vocab_lit.methods.factored import Factoring, Factors, factorize, load_factors
from vocab_lit.models.adapterhub import load_adapter, save_adapter
from vocab_lit.models.device import find_device
from vocab_lit.models.factored_embedding import factored
from vocab_lit.models.madx import LANGUAGE, TASK, AdapterConfig, MadX
from vocab_lit.models.source import load_model
from vocab_lit.models.token_tensors import token_parameters
from vocab_lit.runs.folder import made_once
from vocab_lit.runs.grid import Workers
from vocab_lit.tasks.finetune import evaluate, fine_tune
from vocab_lit.tasks.task import TaskConfig
from vocab_lit.text.files import in_mirror, write_file, write_folder
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.tokenizer_file import save_tokenizer
from vocab_lit.training.lm_loss import heldout_loss

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Method:
    "How a task gets from one language to another: what learns on text, what learns the task, and how both are wired."

    text: Adaptation | None = None  # what learns on a language's text; None: nothing does
    mlm: str = ""  # where that is the whole model, before it learns the task: on whose text, source or target
    task: AdapterConfig | None = None  # of the adapter that learns the task; None: the whole model learns it
    stack: str = "library"  # how the task adapter stands on the language adapter, as in `MadX`
    inverse: str = "mlm"  # where the invertible adapter is undone, as in `MadX`
    model: str = ""  # mBERT, where the source model is not the study's; for methods without parts

    @property
    def recipe(self) -> str:
        "How embeddings of a target vocabulary begin, in languages that get one; they learn with the adapter, or alone."
        return str(self.text.recipe) if self.text else ""

    @property
    def parts(self) -> bool:
        "Whether anything is swapped between languages, or added for the task; otherwise there are whole models only."
        return bool(self.task or (self.text and not self.text.whole))

    def on_text(self, language: str, has_own: bool, **budget: int) -> Adaptation | None:
        "What learns on the text of a language, which may have a vocabulary of its own; None: nothing but whole models."
        asked = self.text if has_own or not self.text else Adaptation(adapter=self.text.adapter)
        return None if asked is None or asked.whole else replace(asked, language=language, **budget)


def _method(
    shape: AdapterConfig | None = None,  # of the language adapter
    recipe: str = "",
    **more,
) -> Method:
    return Method(Adaptation("new" if recipe else "keep", recipe, adapter=shape), **more)


_PAPER = dict(task=TASK, stack="paper", inverse="always")  # equation 2 and Section 4.3

METHODS = {
    "XLM-R": Method(),
    "XLM-R MLM-SRC": Method(Adaptation(), "source"),
    "XLM-R MLM-TRG": Method(Adaptation(), "target"),
    "MAD-X -LAD-INV": Method(task=TASK),
    "MAD-X -INV": _method(replace(LANGUAGE, invertible=0), **_PAPER),
    "MAD-X": _method(LANGUAGE, **_PAPER),
    "MAD-X, new vocabulary": _method(LANGUAGE, "script-posn-ident", **_PAPER),
}
WIRINGS = {
    "MAD-X": METHODS["MAD-X"],
    "MAD-X, inverse in MLM only": _method(LANGUAGE, task=TASK, stack="paper"),
    "MAD-X, stacked as in the library": _method(LANGUAGE, task=TASK, inverse="always"),
    "MAD-X, as in the library": _method(LANGUAGE, task=TASK),
}
MBERT = {"mBERT": Method(model="mBERT")}


# shapes of language and task adapter: of MAD-X with GELU, and of MAD-X 2.0
_V1 = replace(LANGUAGE, activation="gelu"), replace(TASK, activation="gelu")
_V2 = tuple(replace(shape, leave_out=(-1,)) for shape in _V1)
_EMBEDDINGS = {
    f"{kind}-{start}": f"{kind}-{start}".lower()
    for start in ("RAND", "LEX")
    for kind in ("EL", "MF1", "MF10-KMEANS", "MF10-NEURAL")
}

UNKS = {
    "mBERT": Method(),
    "MAD-X": _method(_V1[0], task=_V1[1]),
    "MAD-X 2.0": _method(_V2[0], task=_V2[1]),
    **{name: _method(_V2[0], recipe, task=_V2[1]) for name, recipe in _EMBEDDINGS.items()},
}  # the rows of Table 3
FMT = {"FMT-RANDINIT": _method(recipe="el-rand"), "FMT-LEXINIT": _method(recipe="el-lex")}  # further ones of Table 5
# those of Table 5 with adapters in all layers; that of MAD-X 2.0 is MAD-X
ALL_LAYERS = {f"{name}, 12Ad": _method(_V1[0], recipe, task=_V1[1]) for name, recipe in _EMBEDDINGS.items()}
# what is not in the paper
LANGUAGE_ONLY = {"MAD-X 2.0, task adapter in all layers": _method(_V2[0], task=_V1[1])}
PROJECTED = {
    f"{name}, projected": _method(_V2[0], _EMBEDDINGS[name] + "-projected", task=_V2[1])
    for name in ("MF1-LEX", "MF10-KMEANS-LEX")
}


@dataclass(frozen=True)
class Transfer:
    "A study of transfer between languages."

    folder: str | Path  # of the records; what is trained goes into folders below
    languages: tuple[str, ...]  # sources and targets
    scale: str = "mini"  # mini, paper or custom
    options: dict = field(default_factory=dict)  # others of `get_setup`, as model, text, ner, steps
    own_vocabulary: tuple[str, ...] = ()  # languages that get a target vocabulary, in methods with a recipe
    # those with little text, where a paper has other hyper-parameters for them; at mini all have the same
    low_resource: tuple[str, ...] = ()
    # of fine-tuning by task, as {"qa": {"stride": 32}}, in place of the scale's
    settings: dict[str, dict] = field(default_factory=dict)
    paper: str = "mad-x"  # whose hyper-parameters: mad-x or unks-everywhere
    methods: dict[str, Method] = field(default_factory=lambda: METHODS | WIRINGS | MBERT)  # by name
    # learning rates on text by recipe, in place of the scale's
    rates: dict[str, float] = field(default_factory=dict)
    # folder, or name on the Hub, of a published language adapter, with {language} for the code; it takes the place of
    # training one in the languages that keep the source vocabulary; "": all are trained
    published_adapters: str = ""
    workers: Workers = field(default_factory=Workers)  # who computes its cells

    def __post_init__(self):
        object.__setattr__(self, "folder", Path(self.folder).absolute())  # workers may run elsewhere

    @cached_property
    def stamp(self) -> str:  # of the records
        said = (
            self.scale,
            sorted(self.options.items()),
            self.own_vocabulary,
            self.low_resource,
            sorted(self.settings.items()),
            self.paper,
            sorted(self.methods.items(), key=repr),
            sorted(self.rates.items()),
            self.published_adapters,
        )
        return cell_stamp(repr(said))

    @property
    def study(self) -> CellStore:
        return CellStore(self.folder, self.workers)

    def target(
        self,
        language: str,
        adapters: bool = False,
        **budget,  # steps or limit, where they are not the setup's
    ) -> Target:
        return Targets(self.scale, preset=self.paper + "-adapter" * adapters, **self.options | budget)(language)

    def published(self, run: Adaptation) -> str:  # a folder or a name; "": it is trained
        "The published adapter that takes the place of a run."
        trained = run.recipe or run.budget or not run.adapter or run.language in self.own_vocabulary
        return "" if trained else self.published_adapters.replace("{language}", run.language)

    def config(self, task: str, language: str, adapters: bool) -> TaskConfig:
        config = self.target(language, adapters).setup.tasks[task]
        if self.scale != "mini" and language in self.low_resource:
            smaller = changed_settings(self.paper, task, adapters, low_resource=True)
            config = replace(config, batch_size=smaller.batch_size)
        return replace(config, **self.settings.get(task, {}))

    @property
    def trained(self) -> Path:
        return Path(self.folder) / f"trained-{self.stamp}"

    def place(self, run: Adaptation) -> Path:  # its folder
        "Where the result of a run on a language's text lies."
        return self.trained / run.name


def _factors_file(study, how):
    shape = f"{how.clusters}-{how.grouping}-{how.components}-{how.solver}-{how.steps}"
    return study.trained / f"factors-{shape}.safetensors"


def learn_factors(study: Transfer, how: Factoring) -> Factors:
    "The factors of the embeddings of the study's model, kept beside the records and made once."
    file = _factors_file(study, how)

    def make(file):
        target = study.target(study.languages[0])
        embeddings = load_model(target.setup.model).get_input_embeddings().weight[: len(target.source_tokenizer)]
        with write_file(file) as part:
            factorize(embeddings, how).save(part)

    made_once(file, make)
    return load_factors(file)


def _checkpoints(study, run):  # of a run, while it lasts; at scale mini there are none
    return None if study.scale == "mini" else study.place(run).with_name(run.name + ".run")


def _train_model(study: Transfer, run: Adaptation, target: Target, model, seed):  # losses by step
    rate = study.rates.get(run.recipe, target.lapt_config.learning_rate)
    config = replace(target.lapt_config, mode="all", learning_rate=rate)
    if study.scale == "mini":
        config = replace(config, eval_every=config.steps)
    tokenizer = target.tokenizer if run.recipe else target.source_tokenizer
    folder = _checkpoints(study, run)
    return target.train(model, tokenizer, not run.recipe, config, seed, kept=[], folder=folder)


def _learn_model(study: Transfer, run: Adaptation, target: Target, seed: int):
    model, tokenizer = target.source_model(), target.source_tokenizer
    losses = _train_model(study, run, target, model, seed)
    with write_folder(study.place(run)) as new:
        model.save_pretrained(new)
        save_tokenizer(tokenizer, new)
    return losses


def _learn_adapter(study: Transfer, run: Adaptation, target: Target, seed: int):
    model = target.source_model()
    madx, embeddings, layer, tokenizer = MadX(model), None, None, None
    if run.recipe:
        factors = learn_factors(study, run.factoring) if run.factoring else None
        start = target.transplant(run.recipe, seed, factors=factors)
        embeddings = {name: p.detach() for name, p in token_parameters(start.model).items()}
        layer, tokenizer = start.layer, target.tokenizer
    every_layer = tuple(range(model.config.num_hidden_layers))
    shape = run.adapter or replace(LANGUAGE, invertible=0, leave_out=every_layer)
    madx.add_language(run.language, shape, embeddings, tokenizer, seed)
    with madx.learning(run.language), factored(model, layer) if layer else nullcontext():
        losses = _train_model(study, run, target, model, seed)
    save_adapter(madx, "language", run.language, study.place(run))
    return losses


def _fetch_adapter(name):  # a folder
    if Path(name).is_dir():
        return name
    if folder := in_mirror(name):
        return folder
    from huggingface_hub import snapshot_download

    return snapshot_download(name)


def _take_published(study: Transfer, run: Adaptation, target: Target) -> list[dict]:  # records with step and value
    madx = MadX(target.source_model())
    folder = _fetch_adapter(study.published(run))
    load_adapter(madx, folder, "language", run.language, run.adapter.leave_out)
    madx.activate(run.language)
    loss = heldout_loss(
        madx.model.to(find_device().torch), target.source_tokenizer, target.packed("held_out", kept=True)
    )
    save_adapter(madx, "language", run.language, study.place(run))
    return [dict(metric="loss", step=0, value=loss, tokens=len(target.source_tokenizer))]


def learn_language(study: Transfer, run: Adaptation, seed: int = 0) -> list[dict]:  # records with step and value
    "Train a model, embeddings or an adapter on a language's text, or take a published adapter, and save it."
    folder, target = study.place(run), study.target(run.language, not run.whole, **run.budget)
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that ended before its record was written
    folder.parent.mkdir(parents=True, exist_ok=True)
    if study.published(run):
        return _take_published(study, run, target)
    losses = (_learn_model if run.whole else _learn_adapter)(study, run, target, seed)
    if checkpoints := _checkpoints(study, run):
        shutil.rmtree(checkpoints, ignore_errors=True)
    tokens = len(target.tokenizer if run.recipe else target.source_tokenizer)
    return [dict(metric="loss", step=int(r.step), value=r.loss, tokens=tokens) for r in losses.itertuples()]


def language_spec(study: Transfer, method: str, language: str, **budget) -> Adaptation | None:
    "What a method has for a language besides the source model; None: nothing."
    return study.methods[method].on_text(language, language in study.own_vocabulary, **budget)


def required_runs(
    study: Transfer, methods: Iterable[str], sources: Iterable[str], targets: Iterable[str]
) -> list[Adaptation]:  # each once
    "What has to be trained on text before the tasks."
    runs = []
    for method in methods:
        texts = {"": [], "source": sources, "target": targets}[study.methods[method].mlm]
        runs += [Adaptation(language=language) for language in texts]
        runs += [language_spec(study, method, language) for language in (*sources, *targets)]
    return list(dict.fromkeys(filter(None, runs)))


def language_cell(study: Transfer, run: Adaptation) -> Cell:
    "The losses of a run on a language's text, and in a folder what it trains."
    about = dict(kind=run.kind, language=run.language, steps=run.steps, limit=run.limit)
    preset, options = study.paper + "-adapter" * (not run.whole), study.options
    learns = "+".join(["adapter"] * bool(run.adapter) + ["rows"] * bool(run.recipe))
    size = (options.get("vocab_size") or scale_vocab_size(study.scale, study.paper)) * bool(run.recipe)
    words = f", {run.kind}" + f", {run.steps:,} steps" * bool(run.steps) + ", less text" * bool(run.limit)
    config = scale_lapt(study.scale, preset, run.steps or options.get("steps", 0))
    trains = () if study.published(run) else (OnText(words, config, size, learns=learns),)
    key = dict(what="language", scale=study.scale, **about)
    return Cell(key, partial(learn_language, study, run), trains, leaves=study.place(run))


def learn_languages(
    study: Transfer,
    runs: Iterable[Adaptation],
    used: bool = False,  # whether what is trained is used, so that a record of its losses is not enough
) -> None:
    "Train what is missing, several at a time."
    study.study.cells([language_cell(study, run) for run in dict.fromkeys(runs)], study.stamp, used)


@lru_cache(maxsize=32)
def _examples(splits, task, target):
    return splits(task, target, test_only=True)[2]  # each method is scored on the same


def _on_test(study, model, tokenizer, task, config, target, **more):
    examples = _examples(study.target(target).setup.splits, task, target)
    scores = evaluate(model, tokenizer, examples, task, config)
    return [dict(metric=metric, target=target, value=100 * value, **more) for metric, value in scores.items()]


def source_model(study: Transfer, method: str) -> str:  # its folder
    "The model that a method begins with."
    if study.methods[method].model == "mBERT":
        bundled, name = scale_models("unks-everywhere")
        return bundled if study.scale == "mini" else hub_model(name)
    return study.target(study.languages[0]).setup.model


def _whole(study, method, source, targets, task, seed):
    config, splits, out = study.config(task, source, False), study.target(source).setup.splits(task, source), []
    mlm = study.methods[method].mlm
    for text in {"": [""], "source": [source], "target": targets}[mlm]:
        at = study.place(Adaptation(language=text)) if text else source_model(study, method)
        tokenizer = load_tokenizer(at)
        result = fine_tune(load_model(at).float(), tokenizer, *splits, task, seed, config)
        for target in [text] if mlm == "target" else targets:
            out += _on_test(study, result.model, tokenizer, task, config, target)
    return out


def _with_languages(study, method, folders):
    # {name: folder of an adapter}; the source model with them, wired as in the method, and its tokenizer
    target, m = study.target(study.languages[0]), study.methods[method]
    madx = MadX(target.source_model(), m.stack, m.inverse)
    for name, folder in folders.items():
        load_adapter(madx, folder, "language", name)
    return madx, load_tokenizer(target.setup.model)


def _attach(madx, shape, task, language, seed):  # for `fine_tune`
    if shape:
        return madx.attach(task, language, shape, seed)

    def attach(new, head):  # full-model transfer: everything learns but the source embeddings
        languages = set(madx.onto(new).parameters())
        for p in new.parameters():
            p.requires_grad_(p not in languages and p is not new.get_input_embeddings().weight)

    return attach


def _learn_task(study, madx, tokenizer, source, language, task, seed, shape):
    # language: the adapter below; shape: of the task adapter, None: the whole model learns
    madx.activate(language)
    splits, config = study.target(source).setup.splits(task, source), study.config(task, source, bool(shape))
    tokenizer = madx.tokenizers.get(language, tokenizer)
    attach = _attach(madx, shape, task, language, seed)
    return fine_tune(madx.model, tokenizer, *splits, task, seed, config, attach).model


def _score(study, model, tokenizer, run, target, task, adapters, **more):  # with what was trained on the target's text
    if run:
        load_adapter(model.madx, study.place(run), "language", "in-use")
    model.madx.activate("in-use" if run else None, task if adapters else None)
    tokenizer = model.madx.tokenizers.get("in-use", tokenizer)
    scores = _on_test(study, model, tokenizer, task, study.config(task, target, adapters), target, **more)
    if run:
        model.madx.delete("language", "in-use")
    return scores


def _with_parts(study, methods, source, targets, task, seed):  # alike in the source language
    shape, there = study.methods[methods[0]].task, language_spec(study, methods[0], source)
    madx, tokenizer = _with_languages(study, methods[0], {source: study.place(there)} if there else {})
    model = _learn_task(study, madx, tokenizer, source, source if there else None, task, seed, shape)
    scores = []
    for method in methods:
        for target in targets:
            run = language_spec(study, method, target)
            scores += _score(study, model, tokenizer, run, target, task, bool(shape), method=method)
    return scores


def transfer_scores(
    study: Transfer,
    methods: Sequence[str],  # of the study's, alike in the source language
    source: str,
    targets: Sequence[str],
    task: str,
    seed: int = 0,
) -> list[dict]:  # records with method, metric, target and value
    "Learn a task in one language and score it in others; what is trained on text must be there."
    if study.methods[methods[0]].parts:
        return _with_parts(study, methods, source, targets, task, seed)
    return [r | dict(method=method) for method in methods for r in _whole(study, method, source, targets, task, seed)]


def _alike(study, methods, source):  # groups of methods that learn the task in the same way
    groups = {}
    for name in methods:
        m = study.methods[name]
        wiring = (m.stack, m.inverse)
        alike = (m.mlm, m.model, m.parts, m.task, wiring, language_spec(study, name, source))
        groups.setdefault(alike, []).append(name)
    return groups.values()


def _table(study: Transfer, cells: Sequence[Cell]) -> pd.DataFrame:
    "A row for each value of the cells; what is missing is computed, first what is trained on text."
    import pandas as pd

    study.study.cells(with_needs(one for cell in cells for one in cell.needs), study.stamp)
    study.study.cells(cells, study.stamp)
    records = [study.study.read(cell.key, study.stamp) for cell in cells]
    return pd.DataFrame([dict(record["key"], **value) for record in records for value in record["values"]])


def _fine_tunings(study, methods, source, targets, task):  # of one cell
    method = study.methods[methods[0]]
    n = len(targets) * len(methods) if method.mlm == "target" else 1
    return (OnTask(task, bool(method.task)),) * n


def transfer_cells(
    study: Transfer,
    methods: Iterable[str],
    task: str,
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),  # none: all of the study's languages
    seeds: Iterable[int] = (0,),
) -> list[Cell]:
    "A task learnt in each source by methods that are alike there, and scored in all targets."
    methods, seeds = list(methods), list(seeds)
    sources, targets = list(sources or study.languages), list(targets or study.languages)
    if unknown := next((m for m in methods if m not in study.methods), None):
        raise ValueError(f"no method {unknown!r}; choose from {', '.join(study.methods)}")
    asked = dict(what="transfer", scale=study.scale, targets=" ".join(targets), task=task)
    cells = []
    for source, group in [(one, group) for one in sources for group in _alike(study, methods, one)]:
        needs = tuple(language_cell(study, run) for run in required_runs(study, group, [source], targets))
        for seed in seeds:
            key = dict(asked, methods=" + ".join(group), source=source, seed=seed)
            measure = partial(transfer_scores, study, group, source, targets, task, seed)
            cells.append(Cell(key, measure, _fine_tunings(study, group, source, targets, task), needs))
    return sorted(cells, key=lambda cell: study.methods[cell.measure.args[1][0]].mlm != "target")  # the longest first


def transfer(
    study: Transfer,
    methods: Iterable[str],
    task: str,
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),  # none: all of the study's languages
    seeds: Iterable[int] = (0,),
) -> pd.DataFrame:  # columns method, source, target, metric, seed, value
    "All records of some methods; what is missing is computed, first what is trained on text and then the tasks."
    methods = list(methods)
    table = _table(study, transfer_cells(study, methods, task, sources, targets, seeds))
    scores = table[["method", "source", "target", "metric", "seed", "value"]]
    return scores.sort_values("method", key=lambda c: c.map(methods.index), kind="stable", ignore_index=True)


def _less(study, method, target, by, n, full):  # what a method has for the target after less training
    return language_spec(study, method, target, **({} if n == full else {by: n}))  # the full run is not trained twice


def _by_budget(study, methods, source, targets, by, grid, task, seed, full=None):  # methods: alike in the source
    full = full or {target: full_budget(study, target, by) for target in targets}
    below = {source: study.place(language_spec(study, methods[0], source))}
    madx, tokenizer = _with_languages(study, methods[0], below)
    shape = study.methods[methods[0]].task
    model = _learn_task(study, madx, tokenizer, source, source, task, seed, shape)
    scores = []
    for method in methods:
        for target in targets:
            for n in grid:
                run = _less(study, method, target, by, n, full[target]) if n else None
                scores += _score(study, model, tokenizer, run, target, task, True, method=method, step=n)
    return scores


def full_budget(study: Transfer, target: str, by: str = "steps") -> int:
    "The steps, or the lines of text (limit), that a language's adapter is trained on."
    setting = study.target(target, True)
    return setting.lapt_config.steps if by == "steps" else len(setting.setup.train)


def budget_cells(
    study: Transfer,
    source: str,
    targets: Sequence[str],
    grid: Sequence[int],  # of training the targets' adapters; 0: none is used
    task: str,
    seeds: Iterable[int] = (0,),
    methods: Sequence[str] = ("MAD-X",),  # with language adapters
    by: str = "steps",  # what the grid counts: steps, or lines of text (limit)
    full: Mapping[str, int] | None = None,  # as `full_budget` gives it for each target; None: it is looked up
) -> list[Cell]:
    "A task learnt in the source, and scored in targets whose adapters were trained less and less."
    full = full or {target: full_budget(study, target, by) for target in targets}
    grid_key = dict(steps=" ".join(map(str, grid)), targets=" ".join(targets))
    asked = dict(what=by, scale=study.scale, source=source, task=task, **grid_key)
    cells, seeds = [], list(seeds)
    runs = [language_spec(study, method, source) for method in methods]
    runs += [_less(study, m, target, by, n, full[target]) for m in methods for target in targets for n in grid if n]
    needs = tuple(language_cell(study, run) for run in dict.fromkeys(runs))
    for group in _alike(study, methods, source):
        for seed in seeds:
            measure = partial(_by_budget, study, group, source, targets, by, grid, task, seed, full)
            key = dict(asked, methods=" + ".join(group), seed=seed)
            cells.append(Cell(key, measure, (OnTask(task, True),), needs))
    return cells


def transfer_by_steps(
    study: Transfer,
    source: str,
    targets: Sequence[str],
    grid: Sequence[int],  # as in `budget_cells`
    task: str,
    seeds: Iterable[int] = (0,),
    methods: Sequence[str] = ("MAD-X",),
    by: str = "steps",
) -> pd.DataFrame:  # columns method, target, metric, step, seed, value
    "Scores by how long, or on how much text, what the target language has was trained."
    table = _table(study, budget_cells(study, source, targets, grid, task, seeds, methods, by))
    return table[["method", "target", "metric", "step", "seed", "value"]]
