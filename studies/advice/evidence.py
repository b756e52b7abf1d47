"""What the trials found, as `vocab-lit inspect` tells it: `python -m studies.advice.evidence` writes the sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from studies.records.summaries import (
    LEVEL,
    ONE_PASS,
    RATES,
    READS,
    UNREAD,
    english_ends,
    listed,
    pass_numbers,
    rows_of,
    seeds_of,
    why_the_rate,
)
from vocab_lit.study.report import UNKNOWN
from vocab_lit.text.corpus import data_path, write_json

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("keep", "trim", "extend", "replace")
_ADVISED = {"replace": ("focus", "a target vocabulary"), "extend": ("focus-extended", "an extended vocabulary")}


def field_evidence(
    advice: str,  # a verdict of `vocab-lit inspect`: keep, trim, extend or replace
    is_known: bool,  # whether the vocabulary knows the script of the text
    path: str | Path | None = None,  # of shared records; None: the field trial's
) -> str:  # empty where they say nothing about it
    "What the field trial found in such a case, and with whose model and languages, in one sentence."
    if advice not in _ADVISED:
        return ""
    import pandas as pd

    rows = pd.read_csv(path or data_path("field/records.csv"), dtype=str, keep_default_na=False)
    rows = rows.assign(value=pd.to_numeric(rows.value))
    shares = rows[(rows.setting == "untouched") & (rows.metric == UNKNOWN)].groupby("language").value.mean()
    alike = shares.index[(shares < 0.5) == is_known]
    way, named = _ADVISED[advice]
    scores = rows[rows.setting.isin([way, "lapt"]) & rows.language.isin(alike) & (rows.source == rows.language)]
    scores = scores[(scores.task == "pos") & (scores.metric == "accuracy")]
    reached = 100 * scores.groupby("setting").value.mean()
    if len(reached) < 2:
        return ""
    told = (", ".join(scores[name].unique()) for name in ("model", "language", "limit"))
    whose = "of another model in other languages ({} in {}, text: {})".format(*told)
    return f"POS accuracy of {reached[way]:.0f} with {named}, {reached['lapt']:.0f} with the source's, {whose}"


_READERS = {READS: True, UNREAD: False}  # models of the trial: whether they read its languages


def real_evidence(
    reads: bool | None = None,  # whether the model reads the language; None: what is known of both kinds
) -> list[str]:  # a sentence for each model and language
    "What the real trial found when a vocabulary was kept or extended, before a pass over the text and at its end."
    told = []
    for (model, language), ways in pass_numbers().groupby(["model", "language"]):
        if reads is None or _READERS[model] == reads:
            found = ", ".join(_found(row, ways.iloc[0]) for _, row in ways.iterrows())
            told.append(f"{model} in {language} (0.5 MB, one seed, line ends scored): {found}")
    return told


def _found(row: pd.Series, kept: pd.Series) -> str:
    "The bits per byte of a way, and the tokens that it saves."
    if not row.added:
        return f"vocabulary kept {row.start:.2f} to {row.end:.2f}"
    saved = 1 - row.words / kept.words
    return f"{row.added:,} tokens added {row.start:.2f} to {row.end:.2f} with {saved:.0%} fewer tokens"


def token_costs(model: str) -> str:
    "What added tokens did to a decoder of the real trial, before training and after, and what its rates did."
    of_model = pass_numbers().query("model == @model")
    table = of_model.pivot(index="language", columns="added", values=["start", "end", "words"])
    saved = 1 - table["words"][[500, 2000]].div(table["words"][0], axis="index")
    lower = {when: table[when][[500, 2000]].lt(table[when][0] - LEVEL, axis="index") for when in ("start", "end")}
    before, after = (f"{there.sum(axis=None)} of {there.size}" for there in lower.values())
    where = listed(table.index[lower["end"].any(axis="columns")].tolist())
    rates = english_ends(model, {way: f" with {rate}" for rate, way in RATES[model].items()})
    knows = "reads" if _READERS[model] else "does not read"
    return (
        f"in our trial of {model}, which {knows} the languages, 500 or 2,000 added tokens made text "
        f"{saved.min(axis=None):.0%} to {saved.max(axis=None):.0%} shorter; their bits per byte were lower than those "
        f"of its own vocabulary in {before} cases before training, and in {after} after a pass over 0.5 MB"
        f"{f' ({where})' * bool(where)}; {why_the_rate(model)}; {rates}{seeds_of(rows_of(ONE_PASS))}"
    )


EVIDENCE = "report/evidence.json"  # below `data`


def evidence() -> dict[str, dict[str, str]]:  # by verdict, decoder or tokens, and by whether the language is known
    "What `vocab_lit.study.report.trial_evidence` reads."
    masked = {advice: {str(known): field_evidence(advice, known) for known in (True, False)} for advice in VERDICTS}
    costs = {str(reads): token_costs(model) for model, reads in _READERS.items()}
    return masked | {
        "decoder": {str(reads): "; ".join(real_evidence(reads)) for reads in (True, False, None)},
        "tokens": costs | {"None": ". And ".join(costs.values())},
    }


if __name__ == "__main__":
    write_json(evidence(), data_path() / EVIDENCE)
