"""A paper's main finding on our records and, where these do not support it, how one factor at a time changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from studies.chapters.lesson import english_name
from studies.data.presets import MINI_PARAMETERS
from studies.papers.claims import load_claims, verdicts
from studies.papers.printed import record_rows
from studies.records.recorded import study_rows, with_study
from studies.trials.one_factor import RECORD, TRIALS, UNITS, Curve

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

MAIN_FINDINGS = {  # of each abstract, by the id of the claim
    "focus": "focus-tasks-wechsel",
    "embedding-structure": "es-new-vocabulary",
    "mad-x": "madx-over-xlmr",
    "unks-everywhere": "unks-new-scripts",
    "wechsel": "wechsel-roberta",
}
OUTCOMES = {
    "overtakes": "{better} overtakes {other} after about {crossing} {factor}",
    "emerges": "{better} and {other} are tied (within noise) at {first} {factor}, and {better} is better at {last}",
    "always": "{better} is better than {other} from {first} to {last} {factor}",
    "falls": "{better} and {other} are tied (within noise) at {first} {factor}, and {other} is better at {last}",
    "never": "{better} does not overtake {other} within {last} {factor}",
    "tied": "{better} and {other} are tied (within noise) at {last} {factor}",
}
CONCLUSIONS = {
    "artefact": "So our verdict depends on the small setting and does not speak against the paper: with more of one "
    "factor, its order appears on this pair. Other pairs were not tried.",
    "already": "So on this pair our records have the paper's order already; other pairs decide the verdict above.",
    "open": "So what was varied is not enough, on this pair and up to these values. That does not speak against the "
    "paper, whose model is much larger: twelve layers of 768 dimensions, ours three of 128.",
}


def finding_verdicts(paper: str) -> pd.DataFrame:  # rows: sources, as published and recorded; columns as `verdicts`
    "Return what the paper's numbers and the recorded study say about its main finding."
    claims = [claim for claim in load_claims() if claim.id == MAIN_FINDINGS[paper]]
    study = with_study(record_rows(pd.DataFrame(columns=["value", "step"])))
    found = verdicts(claims, study, strict=False).set_index("source")
    return found[[source == "published" or source.startswith("recorded") for source in found.index]]


def verdict_sentence(found: pd.DataFrame) -> str:  # as `finding_verdicts`
    "Return the main finding with both verdicts."
    printed, ours = found.loc["published"], found.loc["recorded"]
    pairs = f"{ours.agree:.0f} of {ours.pairs:.0f} pairs have its sign"
    trials = found[found.index.str.startswith("recorded, ")].dropna(subset="pairs").itertuples()
    longer = [
        f" Its trial with {one.Index.removeprefix('recorded, ')} of training, one seed: *{one.verdict}* "
        f"({one.agree:.0f} of {one.pairs:.0f})."
        for one in trials
    ]
    return (
        f"**The main finding**: {printed.says} The paper's own numbers: *{printed.verdict}*. "
        f"The recorded study of small models: *{ours.verdict}* ({pairs}).{''.join(longer)}"
    )


def _rounded(value: float) -> str:  # to two digits
    return f"{float(f'{value:.2g}'):,.0f}"


def curve_sentence(curve: Curve) -> str:
    "Return what a curve shows, with its scope."
    trial, differences = curve.trial, curve.differences
    better, other = trial.compared.methods
    crossing = _rounded(curve.crossing or 0)
    first, last = (f"{value:,}" for value in (differences.index[0], differences.index[-1]))
    said = OUTCOMES[curve.outcome].format(
        better=better, other=other, crossing=crossing, factor=trial.factor, first=first, last=last
    )
    languages = list(dict.fromkeys([trial.compared.source, trial.compared.target]))
    scope = " to ".join(map(english_name, languages))
    at_first, at_last = (f"{round(difference, 1) + 0.0:+.1f}" for difference in differences.iloc[[0, -1]])
    edges = f"{at_first} {UNITS[trial.compared.task]} at {first}, {at_last} at {last}"
    noise = f"two standard errors: {curve.noise:.1f}"
    return f"{said} ({edges}; {noise}; {scope} alone, {trial.seeds} fine-tunings, one training on text)."


def conclusion(curves: list[Curve]) -> str:
    "Return what the curves of a paper say together."
    outcomes = {curve.outcome for curve in curves}
    if outcomes & {"overtakes", "emerges"}:
        return CONCLUSIONS["artefact"]
    return CONCLUSIONS["already" if "always" in outcomes else "open"]


def curves_figure(curves: list[Curve]) -> Figure:
    "Draw the scores over each factor, a panel for each, with a dotted line at the recorded study's value."
    from studies.figures.charts import described, loss_curves

    rows = pd.concat([curve.scores.assign(language=curve.trial.label) for curve in curves]).drop_duplicates()
    figure = loss_curves(
        rows.rename(columns={"value": "step", "score": "value"}), ylabel=UNITS[curves[0].trial.compared.task], columns=2
    )
    trials = {curve.trial.label: curve.trial for curve in curves}
    for axes, (label, trial) in zip(figure.axes, trials.items()):
        axes.set(xscale="log", xlabel=label, title="")
        axes.set_xticks(trial.values, [f"{value:,}" for value in trial.values])
        axes.minorticks_off()
        axes.axvline(trial.recorded, color="grey", linestyle=":")
    return described(figure, rows, " ".join(map(curve_sentence, curves)))


def main_finding(paper: str) -> list[Markdown | Figure]:
    "Return what a page shows of a paper's main finding."
    from IPython.display import Markdown

    shown = [Markdown(verdict_sentence(finding_verdicts(paper)))]
    recorded = RECORD.frame()
    curves = [Curve.of(trial, recorded) for trial in TRIALS if trial.compared.paper == paper]
    if not curves:
        return shown
    parts = []
    for compared in dict.fromkeys(curve.trial.compared for curve in curves):
        some = [curve for curve in curves if curve.trial.compared == compared]
        sentences = "\n".join(f"- {curve_sentence(curve)}" for curve in some)
        parts.append(f"{sentences}\n\n{conclusion(some)}")
    return [*shown, curves_figure(curves), Markdown("\n\n".join(parts))]


def scripts_sentence() -> Markdown:
    "Return how far MAD-X is from XLM-R in pairs with a script that the small model lacks, and in the others."
    from IPython.display import Markdown

    rows = study_rows("mad-x").query("scale == 'mini' and what == 'transfer' and metric == 'entity_f1'")
    means = rows.groupby(["source", "language", "method"]).value.mean().unstack()
    difference = means["MAD-X"] - means["XLM-R"]
    pairs = difference.index.to_frame()
    lacks = pairs.isin(str(MINI_PARAMETERS["mad-x"]["vocabulary"]).split()).any(axis="columns")
    without, covered = difference[lacks].mean(), difference[~lacks].mean()
    larger = "larger" if without < covered else "not larger"
    return Markdown(
        f"In the recorded study the gap is {larger} where the small model lacks the script of one of the two "
        f"languages: MAD-X less XLM-R is {without:+.1f} F1 in these {lacks.sum()} pairs and {covered:+.1f} in the "
        f"other {(~lacks).sum()}. XLM-R covers all scripts of the paper's languages."
    )
