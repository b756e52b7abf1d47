"""What the trials found, in the sentences that `vocab-lit inspect` tells: `python -m studies.evidence` writes them."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from vocab_lit.study.report import UNKNOWN
from vocab_lit.text.corpus import data_path, write_json

VERDICTS = ("keep", "trim", "extend", "replace")
_ADVISED = {"replace": ("focus", "a target vocabulary"), "extend": ("focus-extended", "an extended vocabulary")}


def _unknown_to_source(rows: list[dict[str, str]]) -> dict[str, float]:  # {language: share of the characters}
    shares: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (row["setting"], row["metric"]) == ("untouched", UNKNOWN):
            shares[row["language"]].append(float(row["value"]))
    return {language: fmean(values) for language, values in shares.items()}


def field_evidence(
    advice: str,  # a verdict of `vocab-lit inspect`: keep, trim, extend or replace
    is_known: bool,  # whether the vocabulary knows the script of the text
    path: str | Path | None = None,  # of shared records; None: the field trial's
) -> str:  # empty where they say nothing about it
    "What the field trial found in such a case, and with whose model and languages, in one sentence."
    if advice not in _ADVISED:
        return ""
    with open(path or data_path("field/records.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    alike = {language for language, share in _unknown_to_source(rows).items() if (share < 0.5) == is_known}
    way, named = _ADVISED[advice]
    scores = [row for row in rows if row["setting"] in (way, "lapt") and row["language"] in alike]
    scores = [
        row for row in scores if (row["task"], row["metric"], row["source"]) == ("pos", "accuracy", row["language"])
    ]
    reached = {
        setting: [float(row["value"]) for row in scores if row["setting"] == setting] for setting in (way, "lapt")
    }
    if not all(reached.values()):
        return ""
    told = (", ".join(dict.fromkeys(row[name] for row in scores)) for name in ("model", "language", "limit"))
    whose = "of another model in other languages ({} in {}, text: {})".format(*told)
    with_way, with_source = (100 * fmean(values) for values in reached.values())
    return f"POS accuracy of {with_way:.0f} with {named}, {with_source:.0f} with the source's, {whose}"


_REAL = "real-trial/one-pass.csv"
_READERS = {"gemma3-270m-trimmed": True, "smollm2-135m": False}  # models of the trial: whether they read its languages
_START, _END = ("bits per byte", "0"), ("bits per byte at the end", "")
_WORDS = ("tokens per word", "")


def real_means(
    path: str | Path | None = None,  # of shared records; None: the real trial's, of a whole pass
) -> dict[tuple[str, str, str], dict[str, dict[str, float]]]:  # by (model, language, amount) and way
    "The numbers of the real trial: start, end, tokens per word, and how many seeds there are."
    with open(path or data_path(_REAL), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = {_START: "start", _END: "end", _WORDS: "tokens_per_word"}
    values: dict[tuple, list[float]] = defaultdict(list)
    for row in rows:
        measure = wanted.get((row["metric"], row["step"].removesuffix(".0")))
        if measure and not row["task"]:
            place = (row["model"], row["language"], row["limit"])
            values[place, row["setting"], measure].append(float(row["value"]))
    means: dict[tuple[str, str, str], dict[str, dict[str, float]]] = defaultdict(dict)
    for (place, way, measure), numbers in values.items():
        means[place].setdefault(way, dict(seeds=len(numbers)))[measure] = fmean(numbers)
    return dict(means)


_KEPT = "lapt"  # begins the names of ways that keep the vocabulary
_WAY = re.compile(r"(?P<how>[a-z]+)(-(?P<tokens>\d+))?(-(?P<rate>\d+e-\d+))?")


def _parts(way: str) -> re.Match[str] | None:
    "How a way makes its vocabulary, with how many tokens and at what rate it learns; None where it is named otherwise."
    named = _WAY.fullmatch(way)
    return named if named and (named["tokens"] or named["how"] == _KEPT) else None


def way_in_words(way: str) -> str:  # such as continued-500
    "A way of the real trial as it is told; one that is named otherwise by its name."
    named = _parts(way)
    if not named:
        return way
    n_tokens = int(named["tokens"] or 0)
    told = f"replaced by {n_tokens:,} tokens ({named['how']})"
    if named["how"] == _KEPT:
        told = "vocabulary kept"
    elif named["how"] == "continued":
        told = f"{n_tokens:,} tokens added"
    return f"{told} at a rate of {named['rate']}" if named["rate"] else told


def comparable(
    ways: Mapping[str, Mapping[str, float]],  # as `real_means` has them
) -> dict[str, str]:  # by its name without a rate: lapt, continued-500 ...
    "The ways of a model that learn at the same rate: that of the first one with other tokens."
    parts = {way: named for way in ways if (named := _parts(way))}
    others = [named for named in parts.values() if named["how"] != _KEPT]
    same = {way: named for way, named in parts.items() if others and named["rate"] == others[0]["rate"]}
    return {"-".join(filter(None, named.group("how", "tokens"))): way for way, named in same.items()}


def real_evidence(
    reads: bool | None = None,  # whether the model reads the language; None: what is known of both kinds
    path: str | Path | None = None,  # of shared records; None: the real trial's, of a whole pass
) -> list[str]:  # a sentence for each model, language and amount of text that has two ways to compare
    "What the real trial found when a vocabulary was kept, extended or replaced, before and after training."
    told = []
    for (model, language, amount), ways in real_means(path).items():
        same = {name: way for name, way in comparable(ways).items() if {"start", "end"} <= ways[way].keys()}
        if _KEPT not in same or (reads is not None and _READERS.get(model, reads) != reads):
            continue
        found = ", ".join(_found(name, ways[way], ways[same[_KEPT]]) for name, way in same.items())
        seeds = min(ways[way]["seeds"] for way in same.values())
        told.append(f"{model} in {language} ({amount}, {seeds:.0f} seed{'s' * (seeds > 1)}): {found}")
    return told


def _found(way: str, row: Mapping[str, float], kept: Mapping[str, float]) -> str:
    "The bits per byte of a way, and the tokens that it saves."
    bits = f"{way_in_words(way)} {row['start']:.2f} to {row['end']:.2f}"
    if way.startswith(_KEPT) or not (row.get("tokens_per_word") and kept.get("tokens_per_word")):
        return bits
    return f"{bits} with {1 - row['tokens_per_word'] / kept['tokens_per_word']:.0%} fewer tokens"


EVIDENCE = "report/evidence.json"  # below `data`


def evidence() -> dict[str, dict[str, str]]:  # by verdict, or decoder, and by whether the language is known
    "What `vocab_lit.study.report.trial_evidence` reads."
    masked = {advice: {str(known): field_evidence(advice, known) for known in (True, False)} for advice in VERDICTS}
    return masked | {"decoder": {str(reads): "; ".join(real_evidence(reads)) for reads in (True, False, None)}}


if __name__ == "__main__":
    write_json(evidence(), data_path() / EVIDENCE)
