"""What the chapter on UNKs Everywhere measures, and what its tables, figures and sentences show of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from studies.chapters.lesson import Lesson, Needs, each_once, english_name, mean_and_range, source_shape
from studies.data.coverage import coverage, overlap_kinds
from studies.data.presets import PAPER_PARAMETERS, languages_by_kind
from studies.figures.charts import loss_curves
from studies.figures.style import INK, PALETTE, described, plt, use_style
from studies.papers.cells import TEXT_LIMITS, correlated_kinds, unks_methods, unks_tables
from studies.papers.costs import Shape
from studies.papers.printed import published
from studies.papers.setups import MINI_STEPS
from studies.papers.store import Cell, with_needs
from studies.papers.transfer import PROJECTED, UNKS, Transfer, budget_cells, transfer, transfer_cells
from studies.records.findings import page_table, standing, what_we_see
from studies.records.summaries import starts
from studies.trials.real_topics import AS_IT_COMES, TABLE
from testkit.constructed import LANGUAGES
from vocab_lit.runs.grid import Workers
from vocab_lit.tokens.vocab import fit

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

NEW, KNOWN = "new script", "known script"
NER, LAS = "entity_f1", "las"
ROWS = {  # of the table of scores: what a row is called, our name of the method, and that of `data/real-topics.csv`
    "source vocabulary": ("mBERT", AS_IT_COMES),
    "MAD-X 2.0": ("MAD-X 2.0", ""),
    "EL-RAND": ("EL-RAND", "el-rand"),
    "EL-LEX": ("EL-LEX", "el-lex"),
    "MF1-RAND": ("MF1-RAND", ""),
    "MF1-LEX": ("MF1-LEX", "mf1-lex"),
    "MF1-LEX, projected": ("MF1-LEX, projected", "mf1-lex-projected"),
    "MF10-KMEANS-LEX": ("MF10-KMEANS-LEX", "mf10-kmeans-lex"),
    "MF10-KMEANS-LEX, projected": ("MF10-KMEANS-LEX, projected", "mf10-kmeans-lex-projected"),
    "MF10-NEURAL-LEX": ("MF10-NEURAL-LEX", ""),
    "FMT-LEXINIT": ("FMT-LEXINIT", ""),
    "blend": ("", "blend"),
}
LOW_DIMENSIONAL = ["MF1-LEX", "MF10-KMEANS-LEX", "MF10-NEURAL-LEX"]
FOLLOWED = ["EL-RAND", "EL-LEX", *LOW_DIMENSIONAL, "MF1-LEX, projected"]  # in the figure of training


def language_name(code: str) -> str:
    "What English calls a language, also a constructed one."
    if code in LANGUAGES:
        return LANGUAGES[code].name
    return english_name(code)


@dataclass
class UnksChapter(Lesson):
    "The chapter's parameters, by their names, and what is measured with them."

    paper: ClassVar[str] = "unks-everywhere"
    sources: str = ""
    targets: str = ""
    exchange_targets: str = ""
    task: str = "ner"
    tree_sources: str = ""
    tree_targets: str = ""
    model: str = ""
    text: str = ""
    ner: str = ""
    dp: str = ""
    source_adapters: str = ""
    vocab_size: int = 0

    def reached(self) -> UnksChapter:
        sources = {name: getattr(self, name) for name in ("corpus", "task", "ner", "dp")}
        return self.within_reach(sources, *PAPER_PARAMETERS["unks-everywhere"])

    @cached_property
    def kinds(self) -> dict[str, str]:
        "The target languages in which the task is used, and the kind of each."
        return languages_by_kind(self.targets)

    @cached_property
    def every_kind(self) -> dict[str, str]:
        "Those, and those of embeddings that are swapped, and of parsing."
        return self.kinds | languages_by_kind(self.exchange_targets) | languages_by_kind(self.tree_targets)

    @property
    def options(self) -> dict[str, Any]:
        "Options of the setup of each language."
        options: dict[str, Any] = dict(steps=self.steps, vocab_size=self.vocab_size)
        if self.scale == "mini":
            return options | dict(steps=self.steps or MINI_STEPS["unks-everywhere"])
        options |= dict(ner=self.ner, dp=self.dp)
        if self.scale == "custom":
            return options | dict(model=self.model, text=self.text)
        return options | dict(corpus=self.corpus, limit=self.max_lines)

    @cached_property
    def study(self) -> Transfer:
        "The languages and methods of the tables."
        sources = [*self.sources.split(), *self.tree_sources.split()]
        everywhere = tuple(dict.fromkeys([*sources, *self.every_kind]))
        bare = Transfer(
            self.records,
            everywhere,
            self.scale,
            self.options,
            own_vocabulary=tuple(self.every_kind),
            paper="unks-everywhere",
            published_adapters=self.source_adapters,
            workers=Workers(self.workers, self.cluster),
        )
        return replace(bare, methods=unks_methods(self.shape.width))

    @property
    def shape(self) -> Shape:
        "The size of the source model."
        return source_shape(self.scale, self.paper, self.model)

    @cached_property
    def tables(self) -> dict[str, dict]:
        "Arguments of `transfer` for each table."
        exchanged, trees = (list(languages_by_kind(said)) for said in (self.exchange_targets, self.tree_targets))
        sources, tree_sources = self.sources.split(), self.tree_sources.split()
        return unks_tables(self.scale, self.task, sources, self.kinds, exchanged, tree_sources, trees, self.seeds)

    def _measured_shares(self, code: str) -> dict[str, float]:
        here = self.study.target(code)
        found = coverage(here.source_tokenizer, here.tokenizer)
        text = fit(here.source_tokenizer, here.setup.held_out[:300])
        return {
            "tokens": found["tokens"],
            "unknown": found["unknown share"],
            "shared": found["overlapping share"],
            "unknown in a text": text.unk_rate,
            "tokens per word, old": text.fertility,
        }

    def coverage_cell(self, code: str) -> Cell:
        "Declare which tokens of a language are unknown or shared."
        return Cell(dict(what="coverage", language=code, scale=self.scale), partial(self._measured_shares, code))

    def _overlap_kinds(self, code: str) -> dict[str, float]:
        here = self.study.target(code)
        return overlap_kinds(here.source_vocab, here.vocab).to_dict()

    @property
    def cells(self) -> list[Cell]:
        "Declare the tables' transfers, and shares of tokens."
        transfers = [cell for asked in self.tables.values() for cell in transfer_cells(self.study, **asked)]
        return [*transfers, *map(self.coverage_cell, correlated_kinds(self.scale, self.kinds))]

    @property
    def table_cells(self) -> list[Cell]:
        "Declare Tables 1 and 6, scores by amounts of text (Figure 3), and at scale paper all languages of Table 8."
        key = dict(what="overlap kinds", scale=self.scale)
        kinds = [Cell(key | dict(language=code), partial(self._overlap_kinds, code)) for code in self.kinds]
        sources, named = self.sources.split(), dict(task=self.task, seeds=range(self.seeds))
        cells = [*kinds, *map(self.coverage_cell, self.study.languages)]
        if grid := TEXT_LIMITS.get(self.scale):
            budget = dict(methods=["EL-LEX", "MF10-KMEANS-LEX"], by="limit", full={self.language: grid[-1]})
            cells += budget_cells(self.study, sources[0], [self.language], grid, self.task, range(3), **budget)
        if self.scale == "paper":
            longer = ["MF10-KMEANS-LEX, longer rows"]
            cells += transfer_cells(self.study, longer, sources=sources, targets=list(self.kinds), **named)
        return cells

    def needs(self) -> Needs:
        "What the chapter trains and reads; nothing is loaded."
        cells = self.cells
        runs = [run for cell in with_needs(cells) if cell.leaves for run in cell.measure.args[1:]]
        exchanged, trees = (list(languages_by_kind(said)) for said in (self.exchange_targets, self.tree_targets))
        sources, tree_sources = each_once(self.sources), each_once(self.tree_sources)
        named = each_once(*sources, *self.kinds, *exchanged)
        read = {"text": each_once(*named, *tree_sources, *trees), self.task: named, "dp": [*tree_sources, *trees]}
        adapters = list(dict.fromkeys(filter(None, map(self.study.published, runs))))
        return Needs(cells, read, {"": self.shape}, self.paper, adapters, table_cells=self.table_cells)

    def measure(self) -> UnksNumbers:
        "Compute what is not recorded yet; the numbers."
        stamp = self.study.stamp
        self.compute(stamp)
        scores = {name: transfer(self.study, **asked) for name, asked in self.tables.items()}
        rows = self.store.frame(stamp)
        correlated = list(correlated_kinds(self.scale, self.kinds))
        coverages = rows[rows.what == "coverage"].pivot(index="language", columns="metric", values="value")
        losses = rows.query("what == 'language' and metric == 'loss' and limit == 0 and language == @self.language")
        return UnksNumbers(self, scores, coverages.loc[correlated], losses)


@dataclass(frozen=True)
class UnksNumbers:
    "The numbers of a page."

    chapter: UnksChapter
    scores: dict[str, pd.DataFrame]  # by table: method, source, target, metric, seed, value
    coverages: pd.DataFrame  # rows: languages; columns: shares of a target vocabulary, `unknown` and `shared`
    losses: pd.DataFrame  # in training on the text of the page's language

    def cells(self, table: str, metric: str) -> pd.DataFrame:  # columns: method, script, value; a row for each pair
        "Scores of each source and target language, as means over seeds."
        rows = self.scores.get(table, pd.DataFrame(columns=["metric", "method", "source", "target", "value"]))
        rows = rows[rows.metric == metric].groupby(["method", "source", "target"], sort=False).value.mean()
        pairs = rows.reset_index()
        return pairs.assign(script=[self._script(code) for code in pairs.target])

    def _script(self, code: str) -> str:
        return NEW if self.chapter.every_kind.get(code) == NEW else KNOWN

    @cached_property
    def means(self) -> dict[str, pd.DataFrame]:  # rows: methods; columns: known and new script, all
        "Mean scores by metric."
        return {NER: self._means("names", NER), LAS: self._means("trees", LAS)}

    def _means(self, table, metric):
        cells = self.cells(table, metric)
        by_script = cells.pivot_table(index="method", columns="script", values="value", sort=False)
        return by_script.assign(all=cells.groupby("method", sort=False).value.mean())

    def lead(self, one: str, other: str, script: str = "all", metric: str = NER) -> float:
        "Points by which a method is ahead of another."
        table = self.means[metric]
        return float(table.loc[one, script] - table.loc[other, script])

    @cached_property
    def zero_shot(self) -> pd.DataFrame:  # columns: language, value, unknown and shared in per cent
        "The score of the model as it comes, and what its vocabulary misses."
        f1 = self.scores["zero-shot"].groupby("target").value.mean()
        shares = self.coverages[["unknown", "shared"]] * 100
        return shares.assign(value=f1).rename_axis("language").reset_index()

    @cached_property
    def curves(self) -> pd.DataFrame:  # columns: method, step, value
        "Losses in training, of the methods that the figure shows."
        recipes = {(UNKS | PROJECTED)[method].recipe: method for method in FOLLOWED}
        parts = self.losses.kind.str.rsplit(" + ", n=1)
        without_last = self.losses.kind.str.contains("last layer left out") & ~self.losses.kind.str.contains(" of ")
        rows = self.losses.assign(method=[recipes.get(part[-1]) for part in parts])[without_last.to_numpy()]
        rows = rows[rows.method.notna()]
        order = rows.method.map(FOLLOWED.index)
        return rows.assign(order=order).sort_values(["order", "step"])[["method", "step", "value"]]


def factor_figure() -> Figure:
    "What a new language trains: all of its embeddings, or low-dimensional ones beside up-projections that stay."
    use_style()
    fig, axes = plt.subplots(1, 2, figsize=(8, 2.4), width_ratios=[1, 1.5], layout="constrained")
    tall, wide, low = 3.0, 2.3, 0.3  # V', D and k
    frozen = dict(facecolor="none", edgecolor=INK, hatch="//", linewidth=1)
    trained = dict(facecolor=PALETTE[0], edgecolor=INK, linewidth=1)
    boxes = [
        (axes[0], (0, 0), (wide, tall), trained, "E′", "V′ × D\n7.7 million"),
        (axes[1], (0, 0), (low, tall), trained, "F′", "V′ × k\n1 million"),
        (axes[1], (1.3, tall / 2 - low / 2), (wide, low), frozen, "G", "k × D\nas in the source model"),
    ]
    for ax, corner, (width, height), style, name, size in boxes:
        ax.add_patch(plt.Rectangle(corner, width, height, **style))
        middle = corner[0] + width / 2
        ax.text(middle, corner[1] + height + 0.1, name, ha="center", va="bottom", fontweight="bold")
        ax.text(middle, corner[1] - 0.12, size, ha="center", va="top", fontsize="small")
    axes[1].text(0.8, tall / 2, "×", ha="center", va="center", fontsize="x-large")
    for ax, title, right in zip(axes, ("EL: full-dimensional", "MF: low-dimensional"), (wide, wide + 1.3)):
        ax.set(title=title, xlim=(-0.5, right + 0.3), ylim=(-0.9, tall + 0.5), aspect="equal")
        ax.axis("off")
    numbers = pd.DataFrame({"matrix": ["E'", "F'", "G"], "rows": [10_000, 10_000, 100], "columns": [768, 100, 768]})
    return described(fig, numbers, "Matrices: E' is trained as a whole; or F', which is narrow, times G, which stays.")


def coverage_seen(numbers: UnksNumbers) -> Markdown:
    "How the score goes with the two shares, here and in the paper."
    r = numbers.zero_shot[["unknown", "shared", "value"]].corr().value
    printed = published("unks-everywhere", "F2").set_index("metric").value
    unknown = printed["correlation of F1 and unknown tokens"]
    shared = printed["correlation of F1 and lexical overlap"]
    falls = f"F1 falls with the share of unknown tokens (r = {r.unknown:.2f}) and rises with the overlap"
    known = numbers.zero_shot[numbers.zero_shot.unknown < 0.5].value
    apart = f"Where no token is unknown ({len(known)} languages), F1 still lies between {known.min():.0f} and"
    return what_we_see(
        {
            f"{falls} (r = {r.shared:.2f}); the paper has {unknown:.2f} and {shared:.2f}.": r.unknown < 0 < r.shared,
            f"{apart} {known.max():.0f}: coverage does not explain all.": known.max() - known.min() > 4,
        },
        "What we see of unknown tokens.",
    )


def printed_scores() -> pd.DataFrame:  # columns: method, script, value; a row for each language
    "The F1 of NER that the paper's Table 3 has for each language."
    kinds = languages_by_kind(str(PAPER_PARAMETERS["unks-everywhere"]["targets"]))
    rows = published("unks-everywhere", "3a").query("metric == 'F1' and language in @kinds")
    return rows.assign(script=[NEW if kinds[code] == NEW else KNOWN for code in rows.language])


def real_topics() -> pd.DataFrame:  # rows: methods; columns: languages; each cell a list of scores
    "Accuracy of a pretrained encoder in topics, by seed."
    rows = TABLE.frame()
    return rows.groupby(["method", "language"], sort=False).accuracy.apply(list).unstack()


def score_table(numbers: UnksNumbers) -> Markdown:
    "The paper's Table 3 by script, ours, and topics with a pretrained encoder."
    cells, printed, real = numbers.cells("names", NER), printed_scores(), real_topics()
    rows = []
    for title, (method, topics) in ROWS.items():
        row = {"method": title}
        for where, scores in (("the paper", printed), ("here", cells)):
            for script in (KNOWN, NEW):
                chosen = scores[(scores.method == method) & (scores.script == script)]
                row[f"{where}, {script}s"] = mean_and_range(chosen.value)
        for code in real:
            scores = real[code].get(topics)
            row[f"real: {language_name(code)}"] = mean_and_range(pd.Series(scores, dtype=float))
        if any(list(row.values())[1:]):
            rows.append(row)
    return page_table(pd.DataFrame(rows))


def scores_seen(numbers: UnksNumbers) -> Markdown:
    "Which method is best in known and in new scripts, and what each part of the method brings."
    means, lead = numbers.means[NER], numbers.lead
    shown = means.loc[[method for method, _ in ROWS.values() if method in means.index]]
    names = {"mBERT": "source vocabulary"}
    seen = {
        f"In known scripts {standing(shown[KNOWN], 'EL-LEX', names)}.": True,
        f"In new scripts {standing(shown[NEW], 'EL-LEX', names)}.": True,
    }
    gains = [lead("EL-LEX", "MAD-X 2.0", script) for script in (NEW, KNOWN)]
    told = f"EL-LEX is {gains[0]:.1f} points better than MAD-X 2.0 in new scripts"
    seen[f"{told}; in known ones its lead is {gains[1]:+.1f}."] = gains[0] > 1 and gains[1] < 3
    full, low = lead("EL-LEX", "EL-RAND"), lead("MF1-LEX", "MF1-RAND")
    seen[f"Copying the overlap gains {full:.1f} points for EL and {low:.1f} for MF1."] = min(full, low) > 4
    behind = [lead("EL-LEX", method) for method in LOW_DIMENSIONAL]
    seen[
        "Unlike in the paper, low-dimensional embeddings are worse than full-dimensional ones after so few steps, by "
        f"{min(behind):.1f} to {max(behind):.1f} points."
    ] = min(behind) > 2
    gained = [lead(method, method.removesuffix(", projected")) for method in PROJECTED]
    seen[f"Projected, as in our variant, they gain {min(gained):.1f} to {max(gained):.1f} points."] = min(gained) > 0
    if len(numbers.means[LAS]):
        best = standing(numbers.means[LAS]["all"], "EL-LEX", names)
        seen[f"In dependency parsing (labelled attachment score, no table), {best}."] = True
    return what_we_see(seen)


def topics_seen() -> Markdown:
    "Which method is best in topics with a pretrained encoder, and how pretrained causal models start."
    seen = {}
    scores = real_topics().map(lambda found: float(np.mean(found)) if isinstance(found, list) else np.nan)
    for code in scores:
        best = standing(scores[code], "el-lex", {topics: title for title, (_, topics) in ROWS.items()})
        seen[f"In topics in {language_name(code)} {best}."] = True
    known = starts()[["identity", "blend"]].dropna()
    lower = int((known.blend < known.identity).sum())
    low, high = known.identity.min(), known.identity.max()
    told = f"As a start, before training, EL-LEX has {low:.1f} to {high:.1f} bits per byte in Gemma 3 270M and SmolLM2"
    blends = f"`blend` has {known.blend.min():.1f} to {known.blend.max():.1f}"
    seen[f"{told}, {blends} and is lower in {lower} of {len(known)} cases (one seed)."] = lower == len(known)
    return what_we_see(seen, "What we see in real models.")


def training_figure(numbers: UnksNumbers) -> Figure:
    "The held-out losses before and after training on the text of the page's language."
    return loss_curves(numbers.curves)


def training_seen(numbers: UnksNumbers) -> Markdown:
    "How far low-dimensional embeddings are behind after training."
    path = numbers.curves.pivot_table(index="step", columns="method", values="value")
    end, last = path.iloc[-1], path.index[-1]
    name = language_name(numbers.chapter.language)
    above = end[LOW_DIMENSIONAL].min() - end["EL-LEX"]
    told = f"After {last:.0f} steps in {name} {standing(end, 'EL-LEX', digits=2, lower=True)}."
    behind = f"The paper's best low-dimensional embeddings end {above:.2f} nats above EL-LEX."
    sampled, ours = path["MF1-LEX"], path["MF1-LEX, projected"]
    both = f"MF1-LEX goes from {sampled.iloc[0]:.1f} to {sampled.iloc[-1]:.2f} nats"
    beside = f"{both}; projected, it goes from {ours.iloc[0]:.1f} to {ours.iloc[-1]:.2f}."
    return what_we_see({told: True, behind: above > 0.1, beside: ours.iloc[-1] < sampled.iloc[-1]})
