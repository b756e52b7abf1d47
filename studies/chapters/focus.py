"""What the chapter on FOCUS measures, and what its tables, figures and sentences show of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from studies.chapters.lesson import (
    AFTER_TRAINING,
    SPACE,
    Lesson,
    Needs,
    after_training,
    each_once,
    english_name,
    mean_and_range,
    source_shape,
    trained_seen,
)
from studies.data.availability import tasks_with_data
from studies.data.presets import data_set
from studies.figures.charts import loss_curves
from studies.figures.embeddings import show_mixture
from studies.papers.adaptation import Adaptation
from studies.papers.cells import fine_tunings
from studies.papers.costs import OnText
from studies.papers.experiment import EXTENSION, FOCUS_VOCABULARIES, Target, Targets, focus_methods
from studies.papers.printed import published, unstack_in_order
from studies.papers.setups import scale_lapt, scale_vocab_size
from studies.papers.store import Cell, cell_stamp
from studies.records.findings import page_table, standing, what_we_see
from studies.records.summaries import LEVEL, STUDY, rows_of, starts
from testkit.phrasebook import locales
from vocab_lit.models.source import Source
from vocab_lit.models.transplant import transplant
from vocab_lit.text.corpus import data_path, read_lines
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.vectors.token_vectors import token_vectors

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

STARTS = ("random", "focus-symbolic", "focus-word", "focus", "wechsel", "wechsel-en")
BASELINES = ("subtoken-mean", "blend")  # which the paper does not have
ROWS = {  # of the table of starts: our name of a method, and the paper's
    "random": "Random",
    "focus-symbolic": "Symbolic Overlap",
    "focus-word": "Word-fastText",
    "wechsel": "WECHSEL",
    "focus": "FOCUS",
    "subtoken-mean": "",
    "blend": "",
}
REAL = {"random": "random-mapping"}  # names that `data/starts.csv` has for methods
REAL_MODELS = {"gemma3-270m": "Gemma 3", "smollm2-135m": "SmolLM2"}
SHOWN = {  # of the table of tasks: label, and method
    "source vocabulary, no LAPT": "off-the-shelf",
    "source vocabulary, LAPT": "LAPT",
    "random, two stages": "random, two stages",
    "WECHSEL": "wechsel",
    "FOCUS": "focus",
    "extended, FOCUS": "focus, extended",
}


@dataclass
class FocusChapter(Lesson):
    "The chapter's parameters, by their names, and what is measured with them."

    paper: ClassVar[str] = "focus"
    model: str = ""
    text: str = ""
    dictionary: str = ""
    source_text: str = ""
    source_vectors: str = ""
    target_vectors: str = ""
    tasks: str = "ner nli qa"
    ner: str = ""
    nli: str = ""
    qa: str = ""
    task_seeds: int = 0
    vocab_size: int = 0
    compare: str = ""

    def reached(self) -> FocusChapter:
        chapter = self
        if self.scale == "paper":
            tasks = {task: data_set("focus", task, self.language, getattr(self, task)) for task in ("ner", "qa")}
            chapter = replace(self, **tasks)
        return chapter.within_reach(dict(chapter.files, corpus=self.corpus), "compare", "seeds", "task_seeds")

    @property
    def files(self) -> dict[str, Any]:
        "The reader's own files, by option."
        named = ("dictionary", "source_text", "source_vectors", "target_vectors", "ner", "nli", "qa")
        return dict(text=[self.text] if self.text else ()) | {name: getattr(self, name) for name in named}

    @cached_property
    def targets(self) -> Targets:
        "The languages of the scale."
        english = dict(source_language="en") if self.scale == "mini" else {}
        sizes = dict(vocab_size=self.vocab_size, steps=self.steps, corpus=self.corpus, limit=self.max_lines)
        return Targets(self.scale, self.records, model=self.model, **sizes, **self.files, **english)

    @property
    def here(self) -> Target:
        "The language of the page."
        return self.targets(self.language)

    @property
    def languages(self) -> list[str]:
        "The languages of the table of starts, that of the page first."
        others = [] if self.scale == "custom" else self.compare.split()
        start = others.index(self.language) if self.language in others else 0
        return list(dict.fromkeys([self.language, *others[start:], *others[:start]]))

    def ways(self, code: str) -> dict[str, Adaptation]:
        "The methods that are possible in a language."
        mini, vectors = self.scale == "mini", self.target_vectors.replace("{language}", code)
        has_vectors = not vectors or Path(vectors).is_file()
        return focus_methods(mini or bool(self.dictionary), mini or bool(self.source_text), has_vectors)

    @cached_property
    def starting(self) -> dict[str, Adaptation]:
        "The methods whose losses before training are measured."
        ways = self.ways(self.language)
        starting = {name: ways[name] for name in STARTS if name in ways}
        starting |= {name: Adaptation("new", name) for name in BASELINES}
        if self.scale == "mini":  # elsewhere the size of the text chooses fastText
            fasttext = dict(how="fasttext", epochs=None)
            starting["focus-word-fasttext"] = Adaptation("new", "focus-word", vectors=fasttext)
            starting["focus-fasttext"] = Adaptation("new", "focus", vectors=fasttext)
        return starting

    def _start_loss(self, code: str, way: Adaptation, seed: int) -> dict[str, float]:
        target = self.targets(code, seed)
        return {"loss": target.loss(target.transplant(way.recipe, seed, **way.vectors).model)}

    def _overlap(self, code: str) -> dict[str, int]:
        return self.targets(code).overlap_counts()

    def _is_possible(self, name: str, code: str) -> bool:
        if name == "wechsel" and code != self.language and self.scale != "mini":
            return False  # its dictionary and word vectors are those of the page's language
        return name not in self.ways(self.language) or name in self.ways(code)

    @cached_property
    def stamp(self) -> str:
        "What decides the numbers beside the keys of their records."
        files = (str(value) for value in self.files.values())
        sizes = (str(self.vocab_size), str(self.steps), str(self.task_seeds), str(self.max_lines))
        return cell_stamp(self.scale, self.model, *files, self.corpus, *sizes)

    @cached_property
    def asked_tasks(self) -> list[str]:
        "The tasks for which there are data."
        return tasks_with_data("focus", self.scale, self.language, self.tasks.split(), self.files)

    def _follow(self, way: Adaptation, seed: int, tasks: Sequence[str]) -> list[dict[str, Any]]:
        return self.targets(self.language, seed).follow(way, seed, tasks, self.task_seeds)

    def _curve(self, name: str, way: Adaptation, seed: int) -> Cell:
        "Declare the losses of a method in training, and its task scores."
        config, size = scale_lapt(self.scale, self.paper, self.steps), self.vocab_size or scale_vocab_size(self.scale)
        sizes = {"new": dict(vocab=size), "extended": dict(added=round(EXTENSION * size))}
        words = f", {FOCUS_VOCABULARIES[way.vocabulary]} vocabulary" + ", two stages" * (way.mode == "two-stage")
        training = OnText(words, replace(config, mode=way.mode or "all"), **sizes.get(way.vocabulary, {}))
        # tasks after the first seed's training alone; what the paper does not train on the first task alone
        of_first_seed = tuple(self.asked_tasks if way.printed else self.asked_tasks[:1])
        tasks = () if seed else of_first_seed
        key = dict(
            what="curve", language=self.language, method=name, seed=seed, scale=self.scale, tasks=" ".join(tasks)
        )
        trains = (training,) if way.mode else ()
        return Cell(key, partial(self._follow, way, seed, tasks), trains + fine_tunings(tasks, self.task_seeds))

    @property
    def cells(self) -> list[Cell]:
        "Declare losses before training, losses in training and task scores."
        curves = [
            self._curve(name, way, seed)
            for seed in range(self.seeds)
            for name, way in self.ways(self.language).items()
            if not seed or way.vocabulary == "new"
        ]
        starts = [
            Cell(
                dict(what="loss", language=code, method=name, seed=seed, scale=self.scale),
                partial(self._start_loss, code, way, seed),
            )
            for seed in range(self.seeds)
            for code in self.languages
            for name, way in self.starting.items()
            if self._is_possible(name, code)
        ]
        return starts + curves

    @property
    def table_cells(self) -> list[Cell]:
        "Declare how many tokens overlap in each language (Table 8)."
        return [
            Cell(dict(what="overlap", language=code, scale=self.scale), partial(self._overlap, code))
            for code in self.languages
        ]

    def needs(self) -> Needs:
        "What the chapter trains and reads; nothing is loaded."
        read = {"text": [self.language] if self.scale == "custom" else each_once(self.language, self.compare)}
        read |= {task.partition(":")[0]: [self.language] for task in self.asked_tasks}
        shapes = {"": source_shape(self.scale, self.paper, self.model)}
        return Needs(self.cells, read, shapes, self.paper, table_cells=self.table_cells)

    def measure(self) -> FocusNumbers:
        "Compute what is not recorded yet; the numbers."
        self.compute(self.stamp)
        ways, rows = self.ways(self.language), self.store.frame(self.stamp)
        rows = rows[(rows.scale == self.scale) & (rows.seed < self.seeds)]
        losses = rows[(rows.what == "loss") & rows.language.isin(self.languages)]
        curves = rows[(rows.what == "curve") & (rows.language == self.language)]
        order = curves.method.map(list(ways).index)
        return FocusNumbers(self, losses, curves.assign(order=order).sort_values(["order", "seed", "step"]))


@dataclass(frozen=True)
class FocusNumbers:
    "The numbers of a page."

    chapter: FocusChapter
    losses: pd.DataFrame  # before training: language, method, seed, value
    followed: pd.DataFrame  # in training: method, metric, seed, step, value

    @cached_property
    def mean(self) -> pd.DataFrame:  # rows: languages; columns: methods
        "Losses before training, over seeds."
        return self.losses.pivot_table(index="language", columns="method", values="value")

    @cached_property
    def by_script(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        "The losses of languages whose script the source vocabulary has, and those of the others."
        scripts = {token.script for token in self.chapter.here.source_vocab}
        known = locales().script.reindex(self.mean.index).isin(scripts)
        return self.mean[known], self.mean[~known]

    @property
    def name(self) -> str:
        "What English calls the language."
        return english_name(self.chapter.language)

    @cached_property
    def curves(self) -> pd.DataFrame:
        "The losses in training with a vocabulary of the language's own; the second of two stages alone."
        ways, rows = self.chapter.ways(self.chapter.language), self.followed[self.followed.metric == "loss"]
        rows = rows[[ways[method].vocabulary == "new" for method in rows.method]]
        first_stage = rows.step.max() - self.chapter.here.lapt_config.steps
        in_two_stages = rows.method == "random, two stages"
        rows = rows.assign(step=rows.step.where(~in_two_stages, rows.step - first_stage))
        return rows[rows.step >= 0]

    @cached_property
    def scores(self) -> pd.DataFrame:  # rows: methods; columns: tasks
        "What the models score in the tasks."
        rows = self.followed[self.followed.metric.isin(self.chapter.asked_tasks)]
        return unstack_in_order(rows.groupby(["method", "metric"], sort=False).value.mean())

    def score(self, task: str, method: str) -> str:
        "A score in per cent, and the standard error of a share of as many test examples."
        value = self.scores[task][method]
        examples = len(self.chapter.here.setup.splits(task, self.chapter.language)[2])
        return f"{value:.1f}{SPACE}±{SPACE}{math.sqrt(value * (100 - value) / examples):.1f}"


def mixture_example(token: str = "▁Kiarabu") -> Figure:
    "A new token of the library's own text among overlapping ones, before and after."
    lines, source = read_lines(data_path("text", "sw.txt")), Source.open(data_path("models", "mini-xlmr"))
    tokenizer = train_tokenizer(lines, "unigram", vocab_size=700)
    vectors = token_vectors(tokenizer, lines)
    made = transplant(source.load(), source.tokenizer, tokenizer, "focus", vectors)
    id = tokenizer.convert_tokens_to_ids(token)
    parts, copied = made.plan.weights[[id]], made.plan.copied
    vocab = made.plan.target
    used = [int(np.flatnonzero(copied == source_id)[0]) for source_id in parts.indices[np.argsort(-parts.data)]]
    anchors = [i for i in np.flatnonzero((copied >= 0) & vectors.known).tolist() if i not in used]
    others = [i for i in anchors if len(vocab[i].text) > 4][:2]
    weights = np.r_[-np.sort(-parts.data), np.zeros(len(others))]
    embeddings = made.model.get_input_embeddings().weight.detach().numpy()
    texts = [vocab[i].text for i in used + others]
    static = vectors.matrix[[id, *used, *others]]
    return show_mixture(vocab[id].text, texts, weights, static, embeddings[used + others])


def real_starts(model: str) -> pd.DataFrame:  # rows: languages; columns: methods of `ROWS`
    "The starts of a pretrained model, bits per byte, in the languages where all methods are known."
    methods = [REAL.get(name, name) for name in ROWS if name != "focus-word"]
    return starts().loc[model][methods].dropna().rename(columns={real: name for name, real in REAL.items()})


def real_trained() -> pd.DataFrame:  # rows: seeds; columns: methods of `ROWS`
    "A pretrained model after a little training from each start, bits per byte."
    return after_training({REAL.get(name, name): name for name in ROWS})


def start_table(numbers: FocusNumbers) -> Markdown:
    "The paper's table of losses before training, ours and those of pretrained models beside it."
    paper = published("focus", 4).groupby("method").value
    known, unknown = numbers.by_script
    real = {name: real_starts(model) for model, name in REAL_MODELS.items()}
    trained, rows = real_trained(), []
    for method, printed in ROWS.items():
        cells = {"method": method, "paper": mean_and_range(paper.get_group(printed)) if printed else ""}
        for where, losses in (("ours: known scripts", known), ("ours: unknown scripts", unknown)):
            if len(losses):
                cells[where] = mean_and_range(losses.get(method, pd.Series(dtype=float)))
        for name, bits in real.items():
            of_method = bits.get(method, pd.Series(dtype=float))
            cells[f"real: {name}"] = mean_and_range(of_method, 2)
        cells[AFTER_TRAINING] = mean_and_range(trained.get(method, pd.Series(dtype=float)), 2)
        rows.append(cells)
    return page_table(pd.DataFrame(rows))


def _over_seeds(method: str) -> str:
    "The lowest and highest recorded loss before training in Swahili, and over how many seeds."
    rows = rows_of(STUDY).query("chapter == 'focus' and what == 'curve' and language == 'sw' and metric == 'loss'")
    rows = rows[(rows.method == method) & (rows.step == 0)]
    return f"{rows.value.min():.1f} to {rows.value.max():.1f} nats in {rows.seed.nunique()} seeds"


def starts_seen(numbers: FocusNumbers) -> Markdown:
    "Which methods start lowest, in known and unknown scripts and in pretrained models."
    seen = {}
    for scripts, losses in zip(("known", "unknown"), numbers.by_script):
        if len(losses):
            best = standing(losses.mean()[[m for m in ROWS if m in losses]], "focus", lower=True)
            seen[f"In {scripts} scripts {best}."] = True
    known, unknown = numbers.by_script
    if len(known):
        lead = (known["focus-symbolic"] - known.focus).min()
        seen[f"FOCUS starts at least {lead:.1f} nats below symbols alone where the script is known."] = lead > 1
    if len(unknown) and "wechsel" in unknown:
        lower = int((unknown.wechsel < unknown.focus).sum())
        seen[f"WECHSEL starts lower than FOCUS in {lower} of {len(unknown)} unknown scripts."] = lower > 0
    seen[f"In Swahili, random mapping starts at {_over_seeds('random')}, FOCUS at {_over_seeds('focus')}."] = True
    for model, name in REAL_MODELS.items():
        bits = real_starts(model)
        best = standing(bits.mean(), "focus", digits=2, lower=True)
        above = bits.index[bits.focus > bits.random + LEVEL]
        worse = f", and starts above random mapping in {', '.join(above)}" if len(above) else ""
        seen[f"In {name} ({', '.join(bits.index)}) {best}{worse}."] = True
    seen[trained_seen(real_trained(), "focus")] = True
    return what_we_see(seen)


def training_figure(numbers: FocusNumbers) -> Figure:
    "The held-out losses in training."
    return loss_curves(numbers.curves, names={numbers.chapter.language: numbers.name})


def training_seen(numbers: FocusNumbers) -> Markdown:
    "Which method is ahead at the end of training, and by how much."
    path = numbers.curves.pivot_table(index="step", columns="method", values="value")
    path = path[list(dict.fromkeys(numbers.curves.method))]
    start, end = path.iloc[0], path.iloc[-1]
    falls = f"random mapping falls from {start['random']:.1f} to {end['random']:.1f} nats, FOCUS to {end['focus']:.1f}"
    seen = {f"In {numbers.name} {falls}.": end["focus"] < end["random"]}
    seen[f"At the end {standing(end, 'focus', digits=2, lower=True)}."] = True
    ahead = end["random, two stages"] - end["focus"]
    seen[
        f"After {path.index[-1]:.0f} steps FOCUS is still {ahead:.1f} nats below random initialisation in two stages."
    ] = ahead > 0.2
    if "wechsel" in path:
        first, last = (edge["wechsel"] - edge["focus"] for edge in (start, end))
        shrinks = f"WECHSEL's loss minus FOCUS's is {first:+.1f} nats at the start and {last:+.1f} at the end."
        seen[shrinks] = abs(last) < abs(first)
    return what_we_see(seen)


def _printed_averages() -> pd.DataFrame:  # rows: methods as the paper calls them; columns: tasks
    printed = pd.concat([published("focus", number) for number in (2, 3)])
    printed = printed[(printed.language == "avg") & (printed.dataset != "GermEval14 / MasakhaNERv2")]
    printed = printed.assign(row=printed.setup + ": " + printed.method, task=printed.task.str.lower())
    return unstack_in_order(printed.set_index(["row", "task"]).value)


def task_table(numbers: FocusNumbers) -> Markdown:
    "The averages of the paper's tables of tasks, and our scores with their standard errors."
    theirs, ways = _printed_averages(), numbers.chapter.ways(numbers.chapter.language)
    shown = {label: method for label, method in SHOWN.items() if method in numbers.scores.index}
    columns: dict[str, list[str]] = {"model": list(shown)}
    for task in theirs:
        printed = [theirs[task].get(": ".join(ways[method].printed)) for method in shown.values()]
        columns[f"{task.upper()}: paper"] = [f"{value:.1f}" for value in printed]
        if task in numbers.scores:
            columns[f"{task.upper()}: here"] = [numbers.score(task, method) for method in shown.values()]
    return page_table(pd.DataFrame(columns))


def tasks_seen(numbers: FocusNumbers) -> Markdown:
    "Which model is best in each task, and how far FOCUS is ahead of random initialisation."
    scores, seen = numbers.scores, {}
    for task, found in scores.items():
        shown = found[[method for method in SHOWN.values() if method in found.index]]
        best = standing(shown, "focus", {method: label for label, method in SHOWN.items()})
        seen[f"In {str(task).upper()} {best}."] = True
    if len(scores.columns):
        gains = scores.loc["focus"] - scores.loc["random, two stages"]
        told = ", ".join(f"{gain:+.0f} points in {task.upper()}" for task, gain in gains.items())
        seen[f"The lead of FOCUS over random initialisation in two stages is {told}."] = gains.mean() > 0
    return what_we_see(seen)
