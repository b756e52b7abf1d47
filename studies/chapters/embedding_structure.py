"""What the chapter on Embedding Structure measures, and what its tables, figures and sentences show of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

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
from studies.data.availability import has_task
from studies.data.hub_sources import MODELS, cldr_code
from studies.figures.charts import loss_curves
from studies.figures.embeddings import group_map
from studies.papers.cells import FEW_RULES, fine_tunings, paper_methods, source_gaussian
from studies.papers.costs import OnText, Shape, run_flops, shape_of
from studies.papers.experiment import Target, Targets
from studies.papers.printed import published
from studies.papers.setups import MINI_STEPS, scale_lapt, scale_vocab_size
from studies.papers.store import Cell, cell_stamp
from studies.records.findings import page_table, standing, what_we_see
from studies.records.summaries import LEVEL, starts
from studies.trials.embedding_clusters import CLUSTERS, MAP, Clusters
from vocab_lit.methods.registry import get_recipe

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

    from vocab_lit.training.settings import LaptConfig

FEW_OF_OURS = ("RANDOM", "IDENT", "SCRIPT+POSN+IDENT")  # at scale mini
OURS = ", source Gaussian"  # behind a method's name: our rule for tokens that no rule of the paper covers
SHOWN = (
    *("full vocabulary", "RANDOM", "IDENT", "SCRIPT", "SCRIPT+POSN", "SCRIPT+IDENT", "SCRIPT+POSN+IDENT"),
    *("FOCUS+IDENT", "IDENT" + OURS, "SCRIPT+POSN+IDENT" + OURS),
)
STARTING = (  # methods of the table of starts
    *("RANDOM", "IDENT", "SCRIPT+POSN+IDENT", "FOCUS+IDENT"),
    *("RANDOM" + OURS, "IDENT" + OURS, "SCRIPT+POSN+IDENT" + OURS, "subtoken-mean", "blend"),
)
REAL_MODELS = {"gemma3-270m": "Gemma 3 270M", "smollm2-135m": "SmolLM2 135M"}
REAL_STARTS = {  # what `data/starts.csv` calls methods
    "SCRIPT+POSN+IDENT": "reinit-script-posn-ident",
    "RANDOM" + OURS: "normal",
    "IDENT" + OURS: "identity",
    "SCRIPT+POSN+IDENT" + OURS: "script-posn-ident",
    "FOCUS+IDENT": "focus",
    "subtoken-mean": "subtoken-mean",
    "blend": "blend",
}
CLUSTER_MODELS = {"multilingual-e5-small": "multilingual-e5-small"} | REAL_MODELS
PAGE_MODEL = "the small XLM-R"  # of scale `mini`
SETUPS = {"": "off-the-shelf", "full": "FULL", "emb": "EMB"}  # what the paper calls our modes


def _flops(shape: Shape, tokens: int, config: LaptConfig) -> dict[str, int]:
    return {"flops": run_flops(replace(shape, vocab=tokens), config)}


@dataclass
class StructureChapter(Lesson):
    "The chapter's parameters, by their names, and what is measured with them."

    paper: ClassVar[str] = "embedding-structure"
    model: str = ""
    text: str = ""
    pos: str = ""
    ner: str = ""
    language_model: str = ""
    vocab_size: int = 0
    compare: str = ""
    mixed: str = ""
    family: str = ""
    syntax: str = "qal qka"

    def reached(self) -> StructureChapter:
        sources = dict(corpus=self.corpus, pos=self.pos, ner=self.ner)
        chapter = self.within_reach(sources, "compare", "mixed", "family", "seeds")
        if not chapter.tasks:
            raise ValueError("scale custom needs files of a task: set pos or ner, or both")
        return chapter

    @property
    def tasks(self) -> dict[str, str]:
        "The tasks for which there are data, and the data's names."
        data = dict(pos=self.pos, ner=self.ner)
        return {task: name for task, name in data.items() if name or self.scale != "custom"}

    @property
    def lapt_steps(self) -> int:
        "The steps of continued pretraining; 0 for the paper's number."
        return self.steps or MINI_STEPS[self.paper] * (self.scale == "mini")

    @cached_property
    def targets(self) -> Targets:
        "The languages of the scale."
        files = dict(model=self.model, text=[self.text] if self.text else (), pos=self.pos, ner=self.ner)
        sizes = dict(vocab_size=self.vocab_size, steps=self.lapt_steps, limit=self.max_lines, corpus=self.corpus)
        paper = dict(preset="embedding-structure", language_model=self.language_model)
        return Targets(self.scale, self.records, **files, **sizes, **paper)

    @property
    def here(self) -> Target:
        "The language of the page."
        return self.targets(self.language)

    @property
    def languages(self) -> list[str]:
        "The languages of the tables, that of the page first."
        others = [] if self.scale == "custom" else self.compare.split()
        return list(dict.fromkeys([self.language, *others]))

    @property
    def first(self) -> str:
        "The language in which, at scale `mini`, every method is trained with a frozen encoder too."
        return self.compare.split()[0] if self.scale == "mini" else self.language

    @property
    def stamp(self) -> str:
        "What decides the numbers beside the keys of their records."
        sizes = (str(self.vocab_size), str(self.steps), str(self.max_lines))
        return cell_stamp(self.scale, self.model, self.text, self.corpus, self.pos, self.ner, *sizes)

    def _grid(self, whole: bool) -> list[tuple[str, str, str]]:  # name, recipe and mode of each model
        "The models of a language; at mini, embeddings alone learn with few methods or with all (whole)."
        methods, ours, frozen = paper_methods(), source_gaussian(), paper_methods()
        if self.scale == "mini":
            ours = {name: recipe for name, recipe in ours.items() if name.split(",")[0] in FEW_OF_OURS}
            frozen = methods if whole else FEW_RULES
        grid = [("full vocabulary", "", ""), ("full vocabulary", "", "full")]
        grid += [(name, recipe, "full") for name, recipe in (methods | ours).items()]
        return grid + [(name, methods[name], "emb") for name in frozen]

    @property
    def _vocabulary(self) -> int:
        return self.vocab_size or scale_vocab_size(self.scale, self.paper)

    def _trained(self, recipe: str, mode: str, times: int = 1) -> OnText:
        words = f", {mode}" + ", source vocabulary" * (not recipe) + ", three times as long" * (times > 1)
        config = scale_lapt(self.scale, self.paper, self.lapt_steps)
        return OnText(words, replace(config, mode=mode, steps=times * config.steps), self._vocabulary * bool(recipe))

    def _mini(self, **options: int) -> Targets:
        return Targets("mini", preset=self.paper, **dict(steps=self.lapt_steps) | options)

    def _is_constructed(self, setting: str) -> bool:
        return self.scale == "mini" and setting in self.syntax.split()

    def _scored(self, setting: str, recipe: str, mode: str, languages: Sequence[str]) -> list[dict[str, Any]]:
        made, tasks = self.targets, list(self.tasks)
        if self._is_constructed(setting):  # these have fewer words
            made, tasks = self._mini(vocab_size=500), ["pos"]
        return made(setting).scores(recipe, mode, languages=languages, tasks=tasks, seeds=self.seeds)

    def _scores(
        self,
        setting: str,  # a language, or several that share a model
        grid: Iterable[tuple[str, str, str]],
        languages: Sequence[str] = (),  # that are scored; none: all
    ) -> list[Cell]:
        "Declare the scores of models."
        tasks = {"pos": ""} if self._is_constructed(setting) else self.tasks
        codes = languages or setting.split("+")
        tuned = [t for code in codes for t, name in tasks.items() if self.scale != "paper" or has_task(t, code, name)]
        key = dict(what="scores", setting=setting, seeds=self.seeds, scale=self.scale)
        return [
            Cell(
                key | dict(method=name, recipe=recipe, mode=mode),
                partial(self._scored, setting, recipe, mode, languages),
                ((self._trained(recipe, mode),) if mode else ()) + fine_tunings(tuned, self.seeds),
            )
            for name, recipe, mode in grid
        ]

    def _longer(self, recipe: str) -> list[dict[str, Any]]:
        return self._mini(steps=3 * self.lapt_steps)(self.first).along(recipe)

    @property
    def cells(self) -> list[Cell]:
        "Declare what the page shows, and groups of languages of the recorded study."
        cells = [cell for code in self.languages for cell in self._scores(code, self._grid(code == self.first))]
        mini, several = self.scale == "mini", self._grid(whole=True)[1:]  # all but off-the-shelf
        if mini:
            source, wanted = several[:1], [*FEW_RULES, "SCRIPT+POSN+IDENT" + OURS]
            several = [model for model in several if model[2] == "full" and model[0] in wanted]
            cells += [cell for code in self.syntax.split() for cell in self._scores(code, source + several)]
            key = dict(what="longer", setting=self.first, scale=self.scale)
            for name in ("RANDOM", "SCRIPT+POSN+IDENT"):
                measure = partial(self._longer, paper_methods()[name])
                cells.append(Cell(key | dict(method=name), measure, (self._trained("any", "full", 3),)))
        for group in () if self.scale == "custom" else (self.mixed, self.family):
            cells += self._scores(group, several, group.split("+")[-2:] if mini else group.split("+"))
        return cells

    @property
    def table_cells(self) -> list[Cell]:
        "Declare operations of trainings (Figure 4), and of a step of XLM-R by which logits it computes."
        shape, key = source_shape(self.scale, self.paper, self.model), dict(scale=self.scale)
        training = self._trained("", "full").config
        cells = [
            Cell(key | dict(what="flops", setting=code, vocabulary=name), partial(_flops, shape, tokens, training))
            for code in self.languages
            for name, tokens in {"full": shape.vocab, "reduced": self._vocabulary}.items()
        ]
        xlmr = shape_of(MODELS["XLM-R"])
        for positions, share in {"every position": 1.0, "masked positions": 0.15}.items():
            step = replace(scale_lapt("paper", self.paper), steps=1, mode="all", mask_probability=share)
            for tokens in (32_770, xlmr.vocab):
                named = key | dict(what="shape", vocabulary=tokens, head=positions)
                cells.append(Cell(named, partial(_flops, xlmr, tokens, step)))
        return cells

    def needs(self) -> Needs:
        "What the chapter trains and reads; nothing is loaded."
        others = () if self.scale == "custom" else (self.compare, self.mixed, self.family)
        read = dict.fromkeys(("text", "pos", "ner"), each_once(self.language, *others))
        shapes = {"": source_shape(self.scale, self.paper, self.model)}
        return Needs(self.cells, read, shapes, self.paper, table_cells=self.table_cells)

    def measure(self) -> StructureNumbers:
        "Compute what is not recorded yet, the groups of languages of the recorded study among it; the numbers."
        self.compute(self.stamp)
        return StructureNumbers(self, self.store.frame(self.stamp).query("scale == @self.scale"))


@dataclass(frozen=True)
class StructureNumbers:
    "The numbers of a page."

    chapter: StructureChapter
    rows: pd.DataFrame

    @cached_property
    def names(self) -> dict[str, str]:  # by code
        "What English calls the languages."
        return {code: english_name(cldr_code(code)) for code in self.chapter.languages}

    @cached_property
    def uncovered(self) -> pd.Series:  # by language
        "The share of target tokens that no rule of the paper covers."
        recipe, shares = get_recipe(paper_methods()["SCRIPT+POSN+IDENT"]), {}
        for code in self.chapter.languages:
            target = self.chapter.targets(code)
            steps = recipe.plan(target.source_vocab, target.vocab).summary().set_index("step").share
            shares[code] = steps.get("StandardNormal", 0.0)
        return pd.Series(shares)

    @property
    def sides(self) -> dict[str, list[str]]:
        "The languages whose script the source model knows, and the others; a side without languages is left out."
        sides = {
            "known scripts": [code for code in self.chapter.languages if self.uncovered[code] < 0.5],
            "unknown scripts": [code for code in self.chapter.languages if self.uncovered[code] >= 0.5],
        }
        return {side: codes for side, codes in sides.items() if codes}

    @property
    def compared(self) -> dict[str, dict[str, list[str]]]:
        "The languages of each column of a task: NER by script, POS all together."
        return {"pos": {"here": self.chapter.languages}, "ner": self.sides}

    @cached_property
    def scored(self) -> pd.DataFrame:
        "Scores and losses of single languages, methods in the paper's order."
        chapter = self.chapter
        order = {name: i for i, name in enumerate(["full vocabulary", *paper_methods(), *source_gaussian()])}
        rows = self.rows[(self.rows.what == "scores") & self.rows.setting.isin(chapter.languages)]
        rows = rows[rows.seeds == chapter.seeds]
        rows = rows.assign(
            setup=rows["mode"].map(SETUPS),
            language=rows.setting,
            turn=rows["mode"].map(list(SETUPS).index),
            order=rows.method.map(order),
            place=rows.setting.map(chapter.languages.index),
        )
        return rows.sort_values(["turn", "order", "place"], kind="stable")

    def means(self, metric: str, setup: str = "FULL") -> pd.DataFrame:  # rows: methods; columns: languages
        "Scores, or losses where training ended, over seeds."
        rows = self.scored[(self.scored.metric == metric) & (self.scored.setup == setup)]
        return rows.groupby(["method", "language"], sort=False).value.mean().unstack()

    @cached_property
    def starts(self) -> pd.DataFrame:  # rows: methods; columns: languages
        "Losses before training."
        rows = self.scored.query("metric == 'loss' and step == 0 and setup == 'FULL'")
        return rows.groupby(["method", "language"], sort=False).value.mean().unstack()

    @property
    def longer(self) -> pd.DataFrame:  # columns: method, step, value
        "Losses on the way of a training three times as long."
        return self.rows[(self.rows.what == "longer") & (self.rows.metric == "loss")]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(", ".join(names).rsplit(", ", 1))


def cluster_figure(model: str = "multilingual-e5-small") -> Figure:
    "Tokens of two scripts and two positions, on two principal components and on the axes between their means."
    tokens = MAP.frame()
    return group_map(tokens[tokens.model == model])


def cluster_rows(chapter: StructureChapter) -> pd.DataFrame:  # columns: model, groups, n, plane, all_dimensions
    "How many tokens are nearest to the mean of their own group: the page's source model, and the recorded ones."
    here = chapter.here
    matrix = here.adapted()[0].get_input_embeddings().weight.detach().float().numpy()
    name = PAGE_MODEL if chapter.scale == "mini" else "the source model"
    ours = pd.DataFrame(Clusters.of(here.source_vocab, matrix).rows()).assign(model=name)
    recorded = CLUSTERS.frame()
    recorded = recorded[recorded.model.isin(list(CLUSTER_MODELS))]
    return pd.concat([recorded.assign(model=recorded.model.map(CLUSTER_MODELS)), ours], ignore_index=True)


def cluster_table(rows: pd.DataFrame) -> Markdown:
    "Those shares beside chance, a line for each grouping and a column for each model."
    cells = rows.assign(
        share=[
            f"{all:.0%} ({plane:.0%}; {1 / n:.0%})" for all, plane, n in zip(rows.all_dimensions, rows.plane, rows.n)
        ]
    )
    table = cells.pivot(index="groups", columns="model", values="share")
    table = table.reindex(index=rows.groups.unique(), columns=rows.model.unique()).fillna("")
    return page_table(table.rename_axis(columns=None).reset_index(names="tokens grouped by"))


def clusters_seen(rows: pd.DataFrame) -> Markdown:
    "Where the groups are, in all dimensions and in the plane."
    position, seen = rows[rows.groups == "position"], {}
    told = _listed([f"{share:.0%} in {model}" for share, model in zip(position.all_dimensions, position.model)])
    seen[f"Nearest to the mean of their own position are {told} (chance: 50%)."] = position.all_dimensions.min() > 0.65
    planes = rows[rows.groups == "script and position"]
    seen[
        f"Two principal components are not enough to see the groups: in the plane {planes.plane.min():.0%} to "
        f"{planes.plane.max():.0%} are nearest to the mean of their own script and position, in all dimensions "
        f"{planes.all_dimensions.min():.0%} to {planes.all_dimensions.max():.0%}."
    ] = planes.plane.max() < planes.all_dimensions.min()
    return what_we_see(seen)


def start_table(numbers: StructureNumbers) -> Markdown:
    "Losses before training here, and bits per byte of pretrained models."
    trained, rows = real_trained(), []
    for method in STARTING:
        cells = {"method": method}
        for side, codes in numbers.sides.items():
            losses = numbers.starts.reindex([method])[codes].loc[method]
            cells[f"{side}, nats"] = mean_and_range(losses)
        for model, name in REAL_MODELS.items():
            bits = real_starts(model).get(method, pd.Series(dtype=float))
            cells[f"real: {name}, bits per byte"] = mean_and_range(bits, 2)
        cells[f"{AFTER_TRAINING}, bits per byte"] = mean_and_range(trained.get(method, pd.Series(dtype=float)), 2)
        rows.append(cells)
    return page_table(pd.DataFrame(rows))


def real_trained() -> pd.DataFrame:  # rows: seeds; columns: methods
    "A pretrained model after a little training from each start, bits per byte."
    return after_training({theirs: ours for ours, theirs in REAL_STARTS.items()})


def real_starts(model: str) -> pd.DataFrame:  # rows: languages; columns: methods
    "The starts of a pretrained model in the languages where all of these methods are known."
    bits = starts().loc[model].reindex(columns=list(REAL_STARTS.values())).dropna()
    return bits.rename(columns={theirs: ours for ours, theirs in REAL_STARTS.items()})


def starts_seen(numbers: StructureNumbers) -> Markdown:
    "Which method starts lowest, and what the fallback decides."
    seen, copying = {}, "SCRIPT+POSN+IDENT"
    for side, codes in numbers.sides.items():
        losses = numbers.starts[codes].mean(axis=1).drop("full vocabulary", errors="ignore")
        seen[f"In {side} {standing(losses, copying + OURS, lower=True)}."] = True
    for model, name in REAL_MODELS.items():
        bits = real_starts(model)
        best = standing(bits.mean(), copying + OURS, digits=2, lower=True)
        seen[f"In {name} ({', '.join(bits.index)}) {best}."] = True
    bits = pd.concat({name: real_starts(model) for model, name in REAL_MODELS.items()})
    by_group = bits["IDENT" + OURS] - bits[copying + OURS]
    behind = bits[copying + OURS] - bits["FOCUS+IDENT"]
    n, lowered, lower_still = len(bits), int((by_group > LEVEL).sum()), int((behind > LEVEL).sum())
    seen[
        f"In pretrained models groups lower the start in {lowered} of {n} cases, by up to {by_group.max():.2f} bits "
        f"per byte. FOCUS starts lower still in {lower_still} of {n}, by up to {behind.max():.2f}."
    ] = lower_still > n / 2
    normal = bits[copying] - bits[copying + OURS]
    (model, language), worst = normal.idxmax(), bits.loc[normal.idxmax()]
    seen[
        f"In {model} ({language}), which has no group for the script, N(0, 1) starts at {worst[copying]:.1f} bits per "
        f"byte and the source Gaussian at {worst[copying + OURS]:.1f}."
    ] = normal.max() > 5
    seen[trained_seen(real_trained(), copying + OURS)] = True
    return what_we_see(seen)


def task_table(numbers: StructureNumbers) -> Markdown:
    "The paper's averages of Tables 1 and 2 under FULL, and ours; NER by script."
    columns: dict[str, list[str]] = {"method, FULL": list(SHOWN)}
    for task, number in (("pos", 1), ("ner", 2)):
        if task not in numbers.chapter.tasks:
            continue
        printed = published("embedding-structure", number).query("language == 'avg' and setup == 'FULL'")
        printed, ours = printed.set_index("method").value, numbers.means(task).reindex(list(SHOWN))
        columns[f"{task.upper()}, paper"] = [f"{printed[m]:.1f}" if m in printed else "" for m in SHOWN]
        for where, codes in numbers.compared[task].items():
            columns[f"{task.upper()}, {where}"] = [mean_and_range(ours.loc[method, codes]) for method in SHOWN]
    return page_table(pd.DataFrame(columns))


def tasks_seen(numbers: StructureNumbers) -> Markdown:
    "What is best in each task and script."
    seen, method = {}, "SCRIPT+POSN+IDENT" + OURS
    rows = [method, *(name for name in SHOWN if name != method)]
    for task in numbers.chapter.tasks:
        scores = numbers.means(task).reindex(rows)
        for where, codes in numbers.compared[task].items():
            told = _listed([numbers.names[code] for code in codes])
            best = standing(scores[codes].mean(axis=1), method)
            seen[f"{task.upper()}, {where} ({told}): {best}."] = True
    return what_we_see(seen)


def fallback_seen(numbers: StructureNumbers) -> Markdown:
    "What the rule for uncovered tokens decides where the script is unknown, and where it is known."
    task = "ner" if "ner" in numbers.chapter.tasks else "pos"
    scores, sides, seen = numbers.means(task), numbers.sides, {}
    if codes := sides.get("unknown scripts"):
        mean = scores[codes].mean(axis=1)
        paper, ours, focus = (mean[m] for m in ("SCRIPT+POSN+IDENT", "SCRIPT+POSN+IDENT" + OURS, "FOCUS+IDENT"))
        covered = 1 - numbers.uncovered[codes].min()
        seen[f"In unknown scripts a rule covers at most {covered:.0%} of the tokens."] = covered < 0.2
        seen[
            f"The source Gaussian raises SCRIPT+POSN+IDENT there from {paper:.0f} to {ours:.0f} points of "
            f"{task.upper()}, and FOCUS has {focus:.0f}: the fallback decides whether sampling rivals FOCUS."
        ] = ours - paper > 10 and abs(ours - focus) < 9
    if codes := sides.get("known scripts"):
        mean = scores[codes].mean(axis=1)
        gain = mean["IDENT" + OURS] - mean["IDENT"]
        seen[f"In known scripts IDENT gains {gain:.0f} points by it: what makes IDENT weak is N(0, 1)."] = gain > 10
    return what_we_see(seen, "What no rule covers.")


def frozen_seen(numbers: StructureNumbers) -> Markdown:
    "What a frozen encoder changes in losses and in scores."
    task = "ner" if "ner" in numbers.chapter.tasks else "pos"
    rows = numbers.scored.query("metric == 'loss' and step > 0")
    ends = rows.pivot_table("value", ["method", "language"], "setup").dropna(subset=["EMB", "FULL"])
    lower = int((ends.FULL < ends.EMB).sum())
    gain = (numbers.means(task) - numbers.means(task, "EMB")).stack().mean()
    return what_we_see(
        {
            f"FULL ends with a lower loss than EMB in {lower} of {len(ends)} cases.": lower > 0.8 * len(ends),
            f"In {task.upper()} its lead is {gain:+.1f} points on average, against the paper: after so short a "
            "training, fine-tuning makes up for a frozen encoder.": gain < 2,
        },
        "What to train.",
    )


def training_figure(numbers: StructureNumbers) -> Figure | None:
    "The losses of RANDOM and SCRIPT+POSN+IDENT on the way; none where they are not followed."
    rows = numbers.longer
    return loss_curves(rows[["method", "step", "value"]], log=True) if len(rows) else None


def training_seen(numbers: StructureNumbers) -> Markdown:
    "Whether RANDOM catches up."
    path = numbers.longer.pivot_table(index="step", columns="method", values="value")
    if not len(path):
        return what_we_see({})
    random, sampled = path["RANDOM"], path["SCRIPT+POSN+IDENT"]
    return what_we_see(
        {
            f"RANDOM has a loss of {random.iloc[-1]:.2f} after {path.index[-1]:.0f} steps. SCRIPT+POSN+IDENT begins "
            f"with {sampled.iloc[0]:.2f} and ends with {sampled.iloc[-1]:.2f}.": sampled.iloc[0] < random.iloc[-1]
        },
        "What training makes of it.",
    )
