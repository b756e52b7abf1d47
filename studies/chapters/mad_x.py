"""What the chapter on MAD-X measures, and what its tables, figures and sentences show of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from studies.chapters.lesson import Lesson, Needs, each_once, english_name, source_shape
from studies.data.availability import check_models
from studies.data.presets import languages_by_kind
from studies.figures.charts import score_curves
from studies.papers.cells import EARLY_STEPS, MAD_X_STEPS, mad_x_curves, mad_x_tables, share_of_steps
from studies.papers.printed import published
from studies.papers.setups import MINI_STEPS, scale_lapt
from studies.papers.store import Cell
from studies.papers.transfer import (
    METHODS,
    WIRINGS,
    Transfer,
    budget_cells,
    learn_languages,
    required_runs,
    transfer,
    transfer_by_steps,
    transfer_cells,
)
from studies.records.findings import page_table, standing, what_we_see
from studies.records.recorded import study_rows
from studies.trials.topic_transfer import ALONE, KEPT, LANGUAGES, RATES, TABLE
from vocab_lit.runs.grid import Workers

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

OURS = "MAD-X, target vocabulary"
RENAMED = {"MAD-X, new vocabulary": OURS}
PAIRS = ("all pairs", "known to known", "known to unknown", "unknown to known")  # by script
REAL_METHODS = {
    "full fine-tuning": "XLM-R",
    "LAPT": "XLM-R MLM-TRG",
    "task adapter": "MAD-X -LAD-INV",
    "MAD-X": "MAD-X",
}  # ours, and the paper's
FOUND = (", means kept", "")  # how translations were looked for
REAL_LANGUAGES = dict(zip(LANGUAGES[1:], ("Swahili", "Georgian", "Maltese")))


@dataclass
class MadXChapter(Lesson):
    "The chapter's parameters, by their names, and what is measured with them."

    paper: ClassVar[str] = "mad-x"
    kinds: str = ""
    question_source: str = ""
    questions: str = ""
    vocabulary: str = ""
    model: str = ""
    text: str = ""
    ner: str = ""
    qa: str = ""

    def reached(self) -> MadXChapter:
        sources = dict(corpus=self.corpus, ner=self.ner, qa=self.qa)
        return self.within_reach(sources, "kinds", "question_source", "questions", "vocabulary", "seeds")

    @property
    def options(self) -> dict[str, Any]:
        "What the scale does not decide."
        options: dict[str, Any] = dict(steps=self.steps or (MINI_STEPS["mad-x"] if self.scale == "mini" else 0))
        if self.scale != "mini":
            options |= dict(ner=self.ner, qa=self.qa)
        if self.scale == "custom":
            options |= dict(model=self.model, text=self.text)
        if self.scale == "paper":
            options |= dict(corpus=self.corpus, limit=self.max_lines)
        return options

    @cached_property
    def kind_of(self) -> dict[str, str]:
        "The kind of each language."
        return languages_by_kind(self.kinds)

    @property
    def unknown(self) -> list[str]:
        "Languages that get a target vocabulary, as the source vocabulary does not have their script."
        return self.vocabulary.split()

    @cached_property
    def study(self) -> Transfer:
        "The pairs of all languages."
        low = tuple(code for code, kind in self.kind_of.items() if not kind.startswith("high resource"))
        return Transfer(
            self.records,
            tuple(self.kind_of),
            self.scale,
            self.options,
            own_vocabulary=tuple(self.unknown),
            low_resource=low,
            workers=Workers(self.workers, self.cluster),
        )

    @property
    def methods(self) -> list[str]:
        "Those that are compared; ours alone where languages get a vocabulary of their own."
        return [name for name, method in METHODS.items() if self.vocabulary or not method.recipe]

    @cached_property
    def tables(self) -> dict[str, dict]:
        "Arguments of `transfer` for each table."
        questions = self.questions.split() if self.scale != "custom" or self.qa else []
        asked = (list(self.kind_of), self.methods, self.seeds, self.question_source, questions)
        return mad_x_tables(self.scale, *asked)

    def curves(self, full: int) -> dict[str, Any]:  # full: steps of an adapter
        "Arguments of `transfer_by_steps`."
        seen = [code for code, kind in self.kind_of.items() if "not seen" not in kind]
        return mad_x_curves(self.language, list(self.kind_of), seen, full)

    @property
    def cells(self) -> list[Cell]:
        "Declare the tables' transfers, and scores by how long adapters were trained."
        full = scale_lapt(self.scale, "mad-x-adapter", self.options["steps"]).steps
        curves = self.curves(full)
        cells = [cell for asked in self.tables.values() for cell in transfer_cells(self.study, **asked)]
        return cells + budget_cells(self.study, **curves, full=dict.fromkeys(curves["targets"], full))

    def needs(self) -> Needs:
        "What the chapter trains and reads; nothing is loaded."
        languages = list(self.kind_of)
        asked = self.tables.get("questions", dict(sources=[self.question_source], targets=[]))
        questions = each_once(*asked["sources"], *asked["targets"])  # which have language adapters, too
        read = dict(text=each_once(*languages, *questions), ner=languages, qa=questions)
        return Needs(self.cells, read, {"": source_shape(self.scale, self.paper, self.model)}, self.paper)

    def measure(self) -> MadXNumbers:
        "Compute what is not recorded yet; the numbers."
        languages = list(self.kind_of)
        check_models("mad-x", self.scale, languages)
        learn_languages(self.study, required_runs(self.study, self.methods, languages, languages))
        measured = {name: transfer(self.study, **given) for name, given in self.tables.items() if given["methods"]}
        scores = pd.concat([measured[name] for name in ("names", "once") if name in measured], ignore_index=True)
        curves = transfer_by_steps(self.study, **self.curves(self.study.target(self.language, True).lapt_config.steps))
        return MadXNumbers(self, scores.replace({"method": RENAMED}), measured["wirings"], curves)


@dataclass(frozen=True)
class MadXNumbers:
    "The numbers of a page."

    chapter: MadXChapter
    scores: pd.DataFrame  # NER: method, source, target, seed, value
    wired: pd.DataFrame  # the same, by how adapters are stacked
    curves: pd.DataFrame  # by steps: target, step, seed, value

    @cached_property
    def names(self) -> dict[str, str]:
        "What English calls the languages."
        return {code: english_name(code) for code in (*self.chapter.kind_of, self.chapter.language)}

    @cached_property
    def recorded(self) -> pd.DataFrame:  # as `scores`
        "The scores of several fine-tunings that are recorded; none where languages are missing."
        if self.chapter.scale != "mini":
            return self.scores[:0]
        rows = study_rows("mad-x").query("scale == 'mini' and what == 'transfer' and task == 'ner'")
        rows = rows.rename(columns={"language": "target"}).replace({"method": RENAMED})
        languages = set(self.chapter.kind_of)
        rows = rows[rows.source.isin(languages) & rows.target.isin(languages)]
        if not languages <= set(rows.target):
            return self.scores[:0]
        return rows.groupby(["method", "source", "target", "seed"]).value.mean().reset_index()

    def by_script(self, scores: pd.DataFrame) -> pd.DataFrame:  # rows: methods; columns: PAIRS
        "Means over the pairs of languages whose scripts the model knows, or not."
        from_new, to_new = (scores[side].isin(self.chapter.unknown) for side in ("source", "target"))
        parts = (scores, scores[~from_new & ~to_new], scores[~from_new & to_new], scores[from_new & ~to_new])
        return pd.DataFrame({name: part.groupby("method").value.mean() for name, part in zip(PAIRS, parts)})

    @cached_property
    def by_seed(self) -> pd.DataFrame:  # rows: seeds and methods; columns: PAIRS
        "Those means of each fine-tuning: the recorded ones where there are any, else the page's."
        scores = self.recorded if len(self.recorded) else self.scores
        methods = set(self.scores.method)
        kept = scores[scores.method.isin(methods)]
        return pd.concat({seed: self.by_script(rows) for seed, rows in kept.groupby("seed")}, names=["seed"])

    @cached_property
    def mean(self) -> pd.DataFrame:  # rows: methods; columns: PAIRS
        "Those means over the fine-tunings."
        return self.by_seed.groupby("method").mean().reindex(self.scores.method.unique())

    def lead(self, a: str, b: str, pairs: str = "all pairs") -> float:
        "Points by which method a is ahead of method b."
        return float(self.mean.at[a, pairs] - self.mean.at[b, pairs])


def real_scores(metric: str = "accuracy", method: str = "") -> pd.DataFrame:  # columns: method, language, seed, value
    "What is recorded of a pretrained encoder, of all methods or of one."
    table = TABLE.frame()
    table = table[table.metric == metric]
    return table[table.method == method] if method else table


def _mean_and_deviation(values: pd.Series) -> str:
    "The mean of numbers and their standard deviation, as a table has them."
    if not len(values := values.dropna()):
        return ""
    return f"{values.mean():.1f}" + (f"±{values.std():.1f}" if len(values) > 1 else "")


def _real_means() -> pd.Series:  # by method and seed
    "Accuracies, mean of the languages that nothing was learnt in."
    return real_scores().groupby(["method", "seed"], sort=False).value.mean()


def transfer_table(numbers: MadXNumbers) -> Markdown:
    "The averages of the paper's Table 2; ours by script, and those of a pretrained model beside them."
    paper = published("mad-x", 2).query("language == 'avg'").set_index("method").value
    real = _real_means()
    of_paper = {theirs: ours for ours, theirs in REAL_METHODS.items() if ours in real}
    rows = []
    for method in numbers.mean.index:
        row = {"method": method, "the paper, all pairs": f"{paper[method]:.1f}" if method in paper else ""}
        for pairs in PAIRS:
            row[f"here, {pairs}"] = _mean_and_deviation(numbers.by_seed[pairs].xs(method, level="method"))
        row["real: topics"] = _mean_and_deviation(real[of_paper[method]]) if method in of_paper else ""
        rows.append(row)
    return page_table(pd.DataFrame(rows))


def transfer_seen(numbers: MadXNumbers) -> Markdown:
    "Which method is best over all pairs, and where the model does not know a script."
    lead, to_new, from_new = numbers.lead, *PAIRS[2:]
    seen = {
        f"Over all pairs {standing(numbers.mean['all pairs'], 'MAD-X')}.": True,
        f"XLM-R is {lead('XLM-R', 'MAD-X'):.1f} points better; in the paper MAD-X is better.": (
            lead("XLM-R", "MAD-X") > 2
        ),
        f"As in the paper, text of the target helps more than text of the source, by "
        f"{lead('XLM-R MLM-TRG', 'XLM-R MLM-SRC'):.1f} points.": lead("XLM-R MLM-TRG", "XLM-R MLM-SRC") > 0.5,
    }
    if numbers.chapter.unknown:
        there = numbers.mean[from_new]
        lost = f"from an unknown script to a known one MAD-X has {there['MAD-X']:.1f}, XLM-R {there['XLM-R']:.1f}"
        seen[f"Most is lost where the model does not know a script: {lost}."] = lead("XLM-R", "MAD-X", from_new) > 8
        mended = f"from known scripts to unknown ones by {lead(OURS, 'MAD-X', to_new):.1f} points, the other way by "
        seen[f"A target vocabulary mends that: {mended}{lead(OURS, 'MAD-X', from_new):.1f}."] = (
            lead(OURS, "MAD-X", to_new) > 3 and lead(OURS, "MAD-X", from_new) > 15
        )
    return what_we_see(seen)


def stacking_seen(numbers: MadXNumbers) -> Markdown:
    "By how much the two ways to stack adapters differ."
    scores = numbers.recorded[numbers.recorded.method.isin(WIRINGS)]
    found = numbers.by_script(scores if len(scores) else numbers.wired)["all pairs"]
    paper, library = found["MAD-X"], found["MAD-X, stacked as in the library"]
    told = f"Stacked as in the library, MAD-X has {library:.1f} over all pairs; as in the paper, {paper:.1f}."
    return what_we_see({told: abs(library - paper) < 6}, "Equations 4 and 5.")


def training_figure(numbers: MadXNumbers) -> Figure:
    "F1 in a target language by the steps that its adapter was trained for."
    curves = numbers.curves.rename(columns={"target": "language"})
    return score_curves(curves, names=numbers.names, xlabel="steps of training the target's language adapter")


def training_seen(numbers: MadXNumbers) -> Markdown:
    "Return how much of an adapter's gain comes by the step that the paper names, and how much after it."
    by_steps = numbers.curves.groupby(["target", "step"]).value.mean().unstack()
    first, last = by_steps.columns[0], by_steps.columns[-1]
    early = share_of_steps(last, EARLY_STEPS)
    changes = [f"{numbers.names[c]} from {row[first]:.0f} to {row[early]:.0f}" for c, row in by_steps.iterrows()]
    soon, later = by_steps[early] - by_steps[first], by_steps[last] - by_steps[early]
    rest = f"from {later.min():+.0f} to {later.max():+.0f} points"
    share = f"{EARLY_STEPS / MAD_X_STEPS:.0%} of the steps ({early} of {last})"
    findings = {
        f"The first {share} change the F1 as follows: {'; '.join(changes)}.": True,
        f"As in the paper, the later steps change it less: {rest}.": later.mean() <= soon.mean(),
        f"Unlike in the paper, the later steps change it more: {rest}.": later.mean() > soon.mean(),
    }
    if blind := [code for code in by_steps.index if code in numbers.chapter.unknown]:
        spread = numbers.curves[numbers.curves.step == last].groupby("target").value.std()[blind].max()
        findings[
            f"Where the script is unknown, three fine-tunings have a standard deviation of up to {spread:.0f} points."
        ] = spread > 4
    return what_we_see({sentence: True for sentence, holds in findings.items() if holds})


def real_table() -> Markdown:
    "Accuracies of a pretrained encoder by language."
    rows = real_scores()
    order = [method for method in (ALONE, *reversed(RATES), KEPT) if method in set(rows.method)]
    cells = []
    for method in order:
        of_method = rows[rows.method == method].set_index("language").value
        shown = {name: _mean_and_deviation(of_method[[code]]) for code, name in REAL_LANGUAGES.items()}
        cells.append({"method": method, **shown})
    return page_table(pd.DataFrame(cells))


def real_seen() -> Markdown:
    "Which method is best in a pretrained encoder, and whether the target's own adapters help."
    rows = real_scores()
    means, own = rows.groupby("method", sort=False).value.mean(), []
    if KEPT not in means:
        return what_we_see({})
    for code, name in REAL_LANGUAGES.items():
        by_method = rows[rows.language == code].groupby("method").value.mean()
        own.append(f"{by_method['MAD-X'] - by_method[KEPT]:+.0f} points in {name}")
    near, around = (real_scores(f"translations found{where}").groupby("method").value.mean() for where in FOUND)
    losses = real_scores("loss before", "MAD-X"), real_scores("loss after", "MAD-X")
    before, after = (rows.value.mean() for rows in losses)
    lost = f"{near[ALONE]:.0f}% of sentences lie nearest to their English translations, with them {near['MAD-X']:.0f}%"
    moved = f"{near['MAD-X']:.0f} to {around['MAD-X']:.0f}%"
    return what_we_see(
        {
            f"In the mean of the three languages {standing(means, 'MAD-X')}.": True,
            f"A language's own adapters in place of English's change the accuracy by {', '.join(own)}.": True,
            f"The loss on unseen text falls from {before:.1f} to {after:.1f} nats.": after < before,
            f"But without language adapters {lost}.": near["MAD-X"] < near[ALONE] - 30,
            f"Around the mean of each language the share rises from {moved}: an adapter moves all of its language's "
            "vectors, and the classifier of English topics does not follow.": around["MAD-X"] > near["MAD-X"] + 20,
        }
    )
