"""What the chapter on WECHSEL measures, and what its tables, figures and sentences show of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from studies.chapters.lesson import (
    AFTER_TRAINING,
    Lesson,
    Needs,
    after_training,
    each_once,
    english_name,
    mean_and_range,
    source_shape,
    trained_seen,
)
from studies.data.availability import check_models
from studies.data.hub import hub_model
from studies.data.hub_sources import MODELS, MONOLINGUAL
from studies.figures.charts import loss_curves
from studies.figures.embeddings import alignment_map
from studies.models.probe import probe
from studies.papers.cells import (
    AMOUNTS,
    FREEZING,
    LITTLE_TEXT,
    NEIGHBOURS,
    OF_ALL_TEXT,
    SUBWORDS,
    TABLE_LANGUAGES,
    THREE_STARTS,
    WECHSEL_STARTS,
    fine_tunings,
    scored_steps,
)
from studies.papers.costs import OnText
from studies.papers.experiment import PartOfText, Target, Targets
from studies.papers.printed import published
from studies.papers.setups import MINI_STEPS, scale_lapt, scale_models, scale_vocab_size
from studies.papers.store import Cell, cell_stamp
from studies.records.findings import page_table, standing, what_we_see
from studies.records.summaries import LEVEL, starts
from vocab_lit.models.source import load_model
from vocab_lit.study.exercises_wechsel import PAIRS
from vocab_lit.text.corpus import data_path, read_lines
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.vectors.align import known_pairs, rotation
from vocab_lit.vectors.word_vectors import train_words

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

    from vocab_lit.methods.recipe import Recipe

ROWS = {  # of the table of perplexities: our name of a method, and that of `data/starts.csv`
    "WECHSEL": "wechsel",
    "TransInner": "",
    "FullRand": "",
    "random mapping": "random-mapping",
    "blend": "blend",
}
REAL_MODELS = {"gemma3-270m": "Gemma 3", "smollm2-135m": "SmolLM2"}
TRAININGS = {  # preset, and what a plan calls them; low: with little text
    "gpt2": ("wechsel-gpt2", " of GPT-2"),
    "roberta": ("wechsel-roberta", " of RoBERTa"),
    "low": ("wechsel-gpt2-low-resource", " of GPT-2, with little text, at most"),
}
MULTILINGUAL = "XLM-R_Base"  # as the paper calls it
SHOWN = (  # translations in the figure
    ("months", "miezi"),
    ("minutes", "dakika"),
    ("dollars", "dola"),
    ("weeks", "wiki"),
    ("english", "kiingereza"),
    ("germany", "ujerumani"),
    ("south", "kusini"),
    ("islands", "visiwa"),
)


@dataclass
class WechselChapter(Lesson):
    "The chapter's parameters, by their names, and what is measured with them."

    paper: ClassVar[str] = "wechsel"
    medium: str = ""
    low: str = ""
    roberta: str = ""
    gpt2: str = ""
    text: str = ""
    source_text: str = ""
    source_vectors: str = ""
    target_vectors: str = ""
    dictionary: str = ""
    nli: str = ""
    ner: str = ""
    vocab_size: int = 0

    def reached(self) -> WechselChapter:
        chapter = self.within_reach(dict(corpus=self.corpus), "medium", "low", "seeds")
        if not chapter.targets:
            raise ValueError(
                "scale custom needs a model: set roberta to the folder of a masked one, gpt2 to that of a causal one, "
                "or both"
            )
        check_models("wechsel", chapter.scale, chapter.languages)
        return chapter

    @property
    def languages(self) -> list[str]:
        "The languages of the tables."
        medium = [] if self.scale == "custom" else self.medium.split()
        return list(dict.fromkeys([*medium, self.language]))

    @property
    def low_languages(self) -> list[str]:
        "The languages that are given little text."
        return [] if self.scale == "custom" else self.low.split()

    @property
    def steps_asked(self) -> int:
        "Steps of training, or 0 for the number of the scale's preset."
        return self.steps or (MINI_STEPS["wechsel"] if self.scale == "mini" else 0)

    @property
    def files(self) -> dict[str, Any]:
        "The reader's own files and sizes, by option."
        named = ("source_text", "source_vectors", "target_vectors", "dictionary", "nli", "ner", "vocab_size", "corpus")
        given = {name: getattr(self, name) for name in named}
        return given | dict(text=[self.text] if self.text else (), limit=self.max_lines)

    @cached_property
    def targets(self) -> dict[str, Targets]:  # gpt2, roberta or both
        "The languages, with each of the two models."
        folders = dict(roberta=self.roberta, gpt2=self.gpt2)
        return {
            name: Targets(
                *(self.scale, self.records),
                preset=f"wechsel-{name}",
                model=folder,
                steps=self.steps_asked,
                **self.files,
            )
            for name, folder in folders.items()
            if self.scale != "custom" or folder
        }

    def _training(self, kind: str) -> OnText:  # of TRAININGS
        "Declare a training; one with little text stops when it no longer helps."
        preset, words = TRAININGS[kind]
        longer = 3 if kind == "low" and self.scale == "mini" else 1
        config = scale_lapt(self.scale, preset, longer * self.steps_asked)
        size = self.vocab_size or scale_vocab_size(self.scale, self.paper)
        return OnText(words, config, size, model="roberta" if kind == "roberta" else "gpt2")

    def _with_little_text(self, code: str) -> Target:
        files = self.files | dict(limit=LITTLE_TEXT["mini"] if self.scale == "mini" else self.max_lines)
        preset, steps = TRAININGS["low"][0], self._training("low").config.steps if self.steps_asked else 0
        return Targets(self.scale, self.records, preset=preset, model=self.gpt2, steps=steps, **files)(code)

    def _part(self, amount: int | str, words_of_all: bool, code: str) -> PartOfText:
        "A language with a part of its text, trained as those with little text."
        return PartOfText(self.targets["gpt2"](code), amount, self._training("low").config, words_of_all)

    @property
    def tasks(self) -> list[str]:
        "The tasks for which there are data."
        return [task for task in ("nli", "ner") if self.scale != "custom" or getattr(self, task)]

    def _baseline(self, code: str, name: str) -> list[dict[str, Any]]:
        "Scores of another model, fine-tuned with its own vocabulary."
        target, folder = self.targets["roberta"](code), hub_model(name)
        model, tokenizer, rows = load_model(folder).float(), load_tokenizer(folder), []
        for task in self.other_tasks:
            rows += [dict(metric=task, **row) for row in target.task_rows(model, tokenizer, task, code, self.seeds)]
        return rows

    def _course(self, target: Callable[[str], Target], code: str, start: str, scoring: dict) -> list[dict[str, Any]]:
        rows = target(code).along(seeds=self.seeds, **scoring, **WECHSEL_STARTS[start])
        losses = [row["value"] for row in rows if row["metric"] == "loss"]
        return [*rows, dict(metric="best loss", value=min(losses))]

    def _courses(
        self,
        kind: str,  # of TRAININGS
        languages: Iterable[str],
        starts: Iterable[str],  # of WECHSEL_STARTS
        lines: int | str = 0,  # of text, or its size; 0: all
        target: Callable[[str], Target] | None = None,  # of a language; None: with all text
        tasks: Sequence[str] = (),
    ) -> list[Cell]:
        "Declare losses along the training, and task scores at some of its steps."
        training = self._training(kind)
        model, at = training.model, scored_steps(training.config.steps)
        key = dict(what="course", model=model, lines=lines, scale=self.scale)
        if model == "roberta":
            key |= dict(seeds=self.seeds)
        scoring = dict(at=at, tasks=list(tasks)) if tasks else {}
        tuned = fine_tunings(tasks, self.seeds * len(at), model)
        measure = partial(self._course, target or self.targets[model])
        return [
            Cell(key | dict(language=code, method=start), partial(measure, code, start, scoring), (training, *tuned))
            for code in languages
            for start in starts
        ]

    @property
    def other_tasks(self) -> list[str]:
        "The tasks of what is compared with the three starts."
        return [task for task in self.tasks if task == "ner" or self.scale != "mini"]

    @property
    def cells(self) -> list[Cell]:
        "Declare trainings of GPT-2 and RoBERTa, and models that they are compared with."
        cells = []
        if "gpt2" in self.targets:
            lines = LITTLE_TEXT.get(self.scale, 0)
            cells += self._courses("gpt2", self.languages, THREE_STARTS)
            cells += self._courses("low", self.low_languages, THREE_STARTS, lines, self._with_little_text)
        if "roberta" not in self.targets:
            return cells
        cells += self._courses("roberta", self.languages, THREE_STARTS, tasks=self.tasks)
        key = dict(what="baseline", scale=self.scale, seeds=self.seeds)
        tuned = fine_tunings(self.other_tasks, self.seeds, "roberta")
        for code in self.languages if self.scale != "custom" else ():
            models = {MULTILINGUAL: scale_models("focus")[self.scale == "paper"]}
            if self.scale == "paper" and code in MONOLINGUAL:
                models[MONOLINGUAL[code]] = MODELS[MONOLINGUAL[code]]
            for name, model in models.items():
                cells.append(Cell(key | dict(language=code, method=name), partial(self._baseline, code, model), tuned))
        return cells

    def _probed(self, code: str, recipe: Recipe) -> dict[str, float]:
        "What a linear classifier reads from RoBERTa before training, and the perplexity of GPT-2."
        found = {}
        if "roberta" in self.targets:
            target = self.targets["roberta"](code)
            model, tasks = target.transplant(recipe).model, ["pos"] * (self.scale != "custom")
            for task in tasks + [task for task in self.tasks if task == "nli"]:
                if target.setup.knows(task, code):
                    train, _, test = target.setup.splits(task, code)
                    found[f"{task.upper()} probe"] = 100 * probe(model, target.tokenizer, train, test)
        if "gpt2" in self.targets:
            target = self.targets["gpt2"](code)
            found["perplexity"] = float(np.exp(target.loss(target.transplant(recipe).model)))
        return found

    def _in_table(self, table: str) -> list[str]:
        "The languages of one of the further tables."
        codes = TABLE_LANGUAGES.get(self.scale, {}).get(table)
        return [code for code in self.languages if codes is None or code in codes.split()]

    @property
    def table_cells(self) -> list[Cell]:
        "Declare Tables 8 to 11, and Figures 3 and 6."
        cells, subwords = [], self._in_table("subwords")
        if "gpt2" in self.targets:
            cells += self._courses("gpt2", self._in_table("freezing"), FREEZING)
            cells += self._courses("gpt2", subwords, SUBWORDS)
            for amount in AMOUNTS.get(self.scale, ()):
                for start in (*THREE_STARTS, OF_ALL_TEXT):
                    part = partial(self._part, amount, start == OF_ALL_TEXT)
                    cells += self._courses("low", self._in_table("amounts"), [start], amount, part)
        if "roberta" in self.targets and self.other_tasks:
            cells += self._courses("roberta", subwords, SUBWORDS, tasks=self.other_tasks)
        key = dict(what="grid", scale=self.scale)
        return cells + [
            Cell(key | dict(language=code, method=name), partial(self._probed, code, recipe))
            for code in self._in_table("neighbours")
            for name, recipe in NEIGHBOURS.items()
        ]

    def needs(self) -> Needs:
        "What the chapter trains and reads; nothing is loaded."
        folders = dict(gpt2=self.gpt2, roberta=self.roberta)
        shapes = {
            name: source_shape(self.scale, f"wechsel-{name}", folders[name]) for name in folders if name in self.targets
        }
        text = each_once(*self.languages, *self.low_languages)
        read = dict(text=text, nli=self.languages, ner=self.languages)
        return Needs(self.cells, read, shapes, self.paper, table_cells=self.table_cells)

    def measure(self) -> WechselNumbers:
        "Compute what is not recorded yet; the numbers."
        files = (str(value) for value in self.files.values())
        stamp = cell_stamp(self.scale, self.roberta, self.gpt2, *files, str(self.steps_asked))
        self.compute(stamp)
        rows = self.store.frame(stamp)
        tuned_as_asked = rows.seeds.isna() | (rows.seeds == self.seeds) if "seeds" in rows else True
        return WechselNumbers(self, rows[(rows.scale == self.scale) & tuned_as_asked])


@dataclass(frozen=True)
class WechselNumbers:
    "The numbers of a page."

    chapter: WechselChapter
    rows: pd.DataFrame  # what, model, language, method, lines, metric, step, value

    @property
    def names(self) -> dict[str, str]:
        "What English calls the languages."
        codes = (*self.chapter.languages, *self.chapter.low_languages)
        return {code: english_name(code) for code in codes}

    def _course(self, model: str, languages: list[str], few: bool = False) -> pd.DataFrame:
        lines, rows = LITTLE_TEXT.get(self.chapter.scale, 0) if few else 0, self.rows
        rows = rows[(rows.what == "course") & (rows.model == model) & (rows.lines == lines)]
        rows = rows[rows.language.isin(languages) & rows.method.isin(THREE_STARTS)]
        order = rows.method.map(THREE_STARTS.index)
        return rows.assign(order=order).sort_values(["language", "order", "step"])

    @cached_property
    def curves(self) -> pd.DataFrame:
        "Perplexities of GPT-2 in training."
        rows = self._course("gpt2", self.chapter.languages)
        return rows[rows.metric == "loss"].assign(value=lambda d: np.exp(d.value))

    def perplexities(self, share: float) -> pd.DataFrame:  # rows: languages; columns: methods
        "Perplexities of GPT-2 after a share of the training."
        steps = sorted(self.curves.step.unique())
        step = next(step for step in steps if step >= share * steps[-1])
        return self.curves[self.curves.step == step].pivot_table(index="language", columns="method", values="value")

    @cached_property
    def best(self) -> pd.DataFrame:  # rows: languages; columns: methods
        "The lowest perplexities of GPT-2 with little text."
        rows = self._course("gpt2", self.chapter.low_languages, few=True)
        rows = rows[rows.metric == "best loss"].assign(value=lambda d: np.exp(d.value))
        return rows.pivot_table(index="language", columns="method", values="value")

    @cached_property
    def scores(self) -> pd.DataFrame:  # rows: languages; columns: (task, stage, method)
        "What RoBERTa scores before training (start) and after it (end), and another model as it comes (end)."
        rows = self._course("roberta", self.chapter.languages)
        rows = rows[rows.metric.isin(self.chapter.tasks) & rows.step.isin([0, rows.step.max()])]
        rows = rows.assign(stage=np.where(rows.step == 0, "start", "end"))
        others = self.rows[(self.rows.what == "baseline") & self.rows.language.isin(self.chapter.languages)]
        both = pd.concat([rows, others.assign(stage="end")])
        return both.pivot_table(index="language", columns=["metric", "stage", "method"], values="value")


def rotation_example() -> Figure:
    "Word vectors of the library's own texts, before and after the rotation."
    texts = (read_lines(data_path("text", f"{code}.txt")) for code in ("en", "sw"))
    english, swahili = (train_words(lines, dim=16) for lines in texts)
    R = rotation(english, swahili, known_pairs(english, swahili, map(tuple, PAIRS)))
    casings = known_pairs(english, swahili, SHOWN)
    shown = list({pair[1].lower(): pair for pair in casings}.values())
    sides = [words.matrix(side) for words, side in zip((english, swahili), zip(*shown))]
    return alignment_map(*sides, sides[0] @ R, shown, languages=("English", "Swahili"))


def real_starts(model: str) -> pd.DataFrame:  # rows: languages; columns: methods of `ROWS`
    "The starts of a pretrained model, bits per byte, in the languages where WECHSEL's is known."
    names = {real: name for name, real in ROWS.items() if real}
    return starts().loc[model][list(names)].dropna().rename(columns=names)


def real_trained() -> pd.DataFrame:  # rows: seeds; columns: methods of `ROWS`
    "A pretrained model after a little training from each start, bits per byte."
    return after_training({real: name for name, real in ROWS.items() if real})


def printed(number: int, **where: str) -> pd.DataFrame:  # rows: languages; columns: methods
    "Numbers of a table of the paper, with methods as we call them."
    rows = published("wechsel", number)
    for column, value in where.items():
        rows = rows[rows[column] == value]
    methods = rows.method.str.replace("-GPT2", "").str.replace("-RoBERTa", "")
    return rows.assign(method=methods).pivot_table(index="language", columns="method", values="value")


def perplexity_table(numbers: WechselNumbers) -> Markdown:
    "The paper's perplexities of GPT-2 and ours, and the starts of pretrained models."
    columns = {"GPT-2: paper": (printed(3, setup="250k"), 1)}
    if "gpt2" in numbers.chapter.targets:
        columns["GPT-2: ours"] = (numbers.perplexities(1), 0)
    columns["little text: paper"] = (printed(4), 0)
    if len(numbers.best):
        columns["little text: ours"] = (numbers.best, 0)
    columns |= {f"real: {name}, start": (real_starts(model), 2) for model, name in REAL_MODELS.items()}
    columns[AFTER_TRAINING] = (real_trained(), 2)
    empty = pd.Series(dtype=float)
    table = {
        title: [mean_and_range(values.get(method, empty), digits) for method in ROWS]
        for title, (values, digits) in columns.items()
    }
    return page_table(pd.DataFrame({"method": list(ROWS)} | table))


def perplexities_seen(numbers: WechselNumbers) -> Markdown:
    "Which start is best at the end, with little text, and in pretrained models."
    seen, names = {}, numbers.names
    if "gpt2" in numbers.chapter.targets:
        end = numbers.perplexities(1)
        lead = end.FullRand / end.WECHSEL
        told = f"GPT-2 has {lead.min():.1f} to {lead.max():.1f} times WECHSEL's perplexity at the end with FullRand"
        last = end.TransInner > end.FullRand
        seen[f"{told}; TransInner is worse than FullRand in {last.sum()} of {len(end)} languages."] = lead.min() > 1.1
    if len(numbers.best):
        others = numbers.best[["TransInner", "FullRand"]].min(axis=1)
        won = [names[code] for code in others.index if numbers.best.WECHSEL[code] < others[code]]
        seen[f"With little text WECHSEL is best in {' and '.join(won) or 'no language'}."] = len(won) > 0
    for model, name in REAL_MODELS.items():
        bits = real_starts(model)
        best = standing(bits.mean(), "WECHSEL", digits=2, lower=True)
        above = list(bits.index[bits["random mapping"] + LEVEL < bits.WECHSEL])
        worse = f"; WECHSEL starts above random mapping in {', '.join(above)}" if above else ""
        seen[f"In {name} ({', '.join(bits.index)}) {best}{worse}."] = True
    seen[trained_seen(real_trained(), "WECHSEL")] = True
    return what_we_see(seen)


def training_figure(numbers: WechselNumbers) -> Figure:
    "The perplexities of GPT-2 in training."
    return loss_curves(numbers.curves, names=numbers.names, ylabel="perplexity", log=True)


def training_seen(numbers: WechselNumbers) -> Markdown:
    "How much of the training of the others WECHSEL saves."
    start, fifth, end = (numbers.perplexities(share) for share in (0, 0.2, 1))
    ahead = (end.FullRand > fifth.WECHSEL).sum()
    told = f"After a fifth of the steps WECHSEL is below FullRand's end in {ahead} of {len(end)} languages."
    higher = (start.TransInner > start.FullRand).sum()
    highest = f"TransInner starts above FullRand in {higher} of {len(start)} languages: confident mistakes cost more."
    return what_we_see({told: ahead > 0, highest: higher > 0})


def task_table(numbers: WechselNumbers) -> Markdown:
    "The paper's scores of RoBERTa and ours, before training and after it."
    stages = {"start": "0", "end": "250k"}
    columns: dict[str, list[str]] = {"model": [*THREE_STARTS, "XLM-R"]}
    methods, empty = [*THREE_STARTS, MULTILINGUAL], pd.Series(dtype=float)
    for task in numbers.chapter.tasks:
        for stage, setup in stages.items():
            theirs = printed(2, setup=setup, task=task.upper())
            if stage == "end":
                theirs = theirs.join(printed(2, setup="more training", task=task.upper()))
            columns[f"{task.upper()}, {stage}: paper"] = [mean_and_range(theirs.get(m, empty), 1) for m in methods]
            ours = [numbers.scores.get((task, stage, m), empty) for m in methods]
            columns[f"{task.upper()}, {stage}: ours"] = [mean_and_range(values, 0) for values in ours]
    return page_table(pd.DataFrame(columns))


def tasks_seen(numbers: WechselNumbers) -> Markdown:
    "Which start is best in each task, and where a multilingual model is better."
    seen = {}
    for task in numbers.chapter.tasks:
        for stage, when in (("start", "before training"), ("end", "at the end")):
            mean = numbers.scores[task][stage].mean()
            names = {MULTILINGUAL: "XLM-R"}
            seen[f"In {task.upper()} {when} {standing(mean, 'WECHSEL', names)}."] = True
    if ("ner", "end", MULTILINGUAL) in numbers.scores:
        ner = numbers.scores["ner"]["end"]
        better = [numbers.names[code] for code in ner.index if ner[MULTILINGUAL][code] > ner.WECHSEL[code]]
        told = f"The small multilingual XLM-R is better than WECHSEL in NER of {' and '.join(better) or 'no language'}"
        seen[f"{told}; in the paper it is worse in all languages."] = len(better) > 0
    return what_we_see(seen)


def of_decoders(numbers: WechselNumbers) -> list[Markdown | Figure]:
    "What the page shows of GPT-2 and of pretrained decoders."
    shown: list[Markdown | Figure] = [perplexity_table(numbers), perplexities_seen(numbers)]
    if "gpt2" in numbers.chapter.targets:
        shown += [training_figure(numbers), training_seen(numbers)]
    return shown


def of_encoders(numbers: WechselNumbers) -> list[Markdown]:
    "What the page shows of RoBERTa, where there is one and data of a task."
    if "roberta" not in numbers.chapter.targets or not numbers.chapter.tasks:
        return []
    return [task_table(numbers), tasks_seen(numbers)]
