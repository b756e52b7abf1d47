"""Advice that rests on the recorded study of models of a million weights, and the tree of all decisions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from studies.advice.of_ways import ADAPTED, ways_in_time
from studies.records.summaries import (
    CHAPTER,
    FIELD,
    LEVEL,
    ONE_PASS,
    READS,
    STUDY,
    UNREAD,
    WORDS,
    added_way,
    advised_rate,
    after_a_pass,
    kept_way,
    listed,
    of_languages,
    pass_numbers,
    rate_read,
    rate_unread,
    rests_on,
    rows_of,
)
from vocab_lit.training.recommended import REPLAY

if TYPE_CHECKING:
    import pandas as pd

TOPICS = "real-topics.csv"
SOURCE = "full vocabulary"  # of the study's methods

_UNKNOWN = ("hy", "te")  # scripts of which the bundled model has no letter


def _mini(chapter: str, metric: str = "", what: str = "") -> pd.DataFrame:
    "Rows of a chapter at scale mini."
    rows = rows_of(STUDY).query("chapter == @chapter and scale == 'mini'")
    for column, wanted in (("metric", metric), ("what", what)):
        rows = rows[rows[column] == wanted] if wanted else rows
    return rows


@cache
def ner_scores() -> pd.DataFrame:  # rows: the model as it comes, and trained ones; columns: unknown, known
    "F1 of NER, in the study of Embedding Structure: means over languages in unknown and in known scripts."
    rows = _mini("embedding-structure", "ner")
    rows = rows.assign(mode=rows["mode"].fillna("as it comes"))
    table = rows.groupby(["method", "mode", "language"]).value.mean().unstack()
    ways = {
        "as it comes": (SOURCE, "as it comes"),
        "trained": (SOURCE, "full"),
        "FOCUS": ("FOCUS+IDENT", "full"),
        "rule": ("SCRIPT+POSN+IDENT", "full"),
        "source Gaussian": ("SCRIPT+POSN+IDENT, source Gaussian", "full"),
    }
    scores = table.loc[list(ways.values())].set_axis(list(ways)).dropna(axis="columns")
    unknown = scores.columns.isin(_UNKNOWN)
    sides = {"unknown": unknown, "known": ~unknown}
    means = {side: scores.loc[:, there].mean(axis="columns") for side, there in sides.items()}
    return scores.assign(**means)[list(means)]


@cache
def _focus_ner() -> pd.DataFrame:  # columns: as it comes, FOCUS; rows: languages whose script the model knows
    table = _mini("focus", "ner").groupby(["method", "language"]).value.mean().unstack(0)
    return table[["off-the-shelf", "focus"]].dropna().drop(index=["am", "km"])


@rests_on(STUDY)
def vocabulary_pays() -> str:
    "Whether a new vocabulary raises NER, beside the model as it comes."
    from babel import Locale

    means = ner_scores().loc[["as it comes", "FOCUS"]]
    known, focus = means.known, _focus_ner()
    change = known["FOCUS"] - known["as it comes"]
    direction = "gains" if change > 0 else "loses"
    verdict = "gains nothing" if abs(change) <= 1 else direction
    lost = (focus["off-the-shelf"] - focus["focus"]).sort_values(ascending=False)
    worst = str(lost.index[0])
    name = Locale(worst).english_name
    where = f"{len(lost[lost > 0])} of {len(lost)} languages of FOCUS's study lose, most {name}"
    seeds = f"{focus.loc[worst, 'off-the-shelf']:.0f} → {focus.loc[worst, 'focus']:.0f}, one seed"
    return (
        "**A new vocabulary pays where the source's fails.** NER in unknown scripts: "
        f"{means.unknown['as it comes']:.0f} as the model comes, {means.unknown['FOCUS']:.0f} with FOCUS. In known "
        f"scripts it {verdict}: {known['as it comes']:.0f} and {known['FOCUS']:.0f}; {where} ({seeds})."
    )


@rests_on(STUDY)
def structure_scores() -> str:
    "Sampling by script and position beside FOCUS and the model as it comes, in known and unknown scripts."
    names = {
        "as it comes": "as the model comes",
        "FOCUS": "with FOCUS",
        "source Gaussian": "with `script-posn-ident`",
        "rule": "with the paper's rule",
    }
    ner = ner_scores().loc[list(names)].rename(index=names)

    def ranked(side: str) -> str:
        return listed([f"{value:.0f} {name}" for name, value in ner[side].sort_values(ascending=False).items()])

    return f"NER in scripts that the model knows: {ranked('known')}. In unknown ones: {ranked('unknown')}."


@rests_on(STUDY)
def whole_or_embeddings() -> str:
    "Whether training the whole model is worth it beside training the embeddings alone, by scores and by losses."
    rows = _mini("embedding-structure", what="scores")

    def differences(metrics: tuple[str, ...], step: float | None = None) -> pd.Series:
        "The whole model less the embeddings alone, in each case."
        chosen = rows[rows.metric.isin(metrics) & (rows.step.isna() if step is None else rows.step == step)]
        table = chosen.groupby(["method", "language", "metric", "mode"]).value.mean().unstack()
        return (table["full"] - table["emb"]).dropna()

    scores, losses = differences(("ner", "pos")), differences(("loss",), rows.step.max())
    above = int((scores > 0).sum())
    advice = "Train everything" if above > len(scores) / 2 else "Try training the embeddings alone, too"
    return (
        f"{advice}: with the whole model trained, scores are higher in {above} of {len(scores)} cases (median "
        f"difference {scores.median():+.1f} points), and losses lower in {int((losses < 0).sum())} of {len(losses)}."
    )


def _chat() -> str:
    "What became of the chat model of the page of the real model."
    from studies.trials import real_page as page

    record = page.load_record()
    rights = " → ".join(str(record["chats"][side]["right"]) for side in ("before", "trained"))
    values = " → ".join(f"{page.bits(record, side):.2f}" for side in ("chat model", "chat model trained"))
    right = f"right answers in English: {rights} of {len(page.QUESTIONS)}"
    return f"Bits per byte in Chichewa: {values}; {right} (one seed)"


def _vocabulary_advice(side: str) -> str:
    "Whether an encoder gets a new vocabulary, in scripts that it knows or in others, with its scores."
    before, after = ner_scores().loc[["as it comes", "FOCUS"], side]
    what = "`--vocab-size N`" if after - before > 1 else "keep its vocabulary"
    return f"{what}. NER as it comes → with a new vocabulary: {before:.0f} → {after:.0f}"


def _extended_between() -> str:
    "Where new tokens lower the bits of a model that has not read the language, after a pass; empty where nowhere."
    table = pass_numbers().query("model == @UNREAD").pivot(index="language", columns="added", values=["end", "words"])
    words = table["words"][0][table["end"][2000] < table["end"][0] - LEVEL]
    told = listed([f"{language} ({n:.1f} tokens a word)" for language, n in words.items()])
    return f", with `--extend 2000` between where it is as long in tokens as {told}" if len(words) else ""


@rests_on(ONE_PASS, STUDY, CHAPTER, ADAPTED)
def decision() -> str:
    "What to do as a tree, as nested lists, with the numbers on its leaves."
    own_unread, more = kept_way(UNREAD), added_way(UNREAD, 2000)
    own_read, few = kept_way(READS), added_way(READS, 500)
    lines = (
        (0, "**Is there text in the language?**"),
        (1, "*No:* give the words that you need as a list, `transplant MODEL --tokens terms.tsv`."),
        (1, "*Less than half a megabyte:* run `vocab-lit inspect`; the trial has no numbers for so little."),
        (1, "*More:* **what is the model?**"),
        (2, "*An encoder.* **Does it know the script?**"),
        (3, f"*No:* {_vocabulary_advice('unknown')}."),
        (3, f"*Yes:* {_vocabulary_advice('known')}."),
        (2, "*A decoder.* **Does it read the language?**"),
        (3, f"*In minutes:* `adapt MODEL --text mine.txt --keep english.txt --minutes 8`. {ways_in_time()}"),
        (3, f"*No:* `trim`, then `lapt --learning-rate {advised_rate(UNREAD)}`{_extended_between()}."),
        (4, f"Rates: {rate_unread()}."),
        (4, f"Bits per byte after a pass, its own tokens → 2,000 more: {of_languages(UNREAD, (own_unread, more))}."),
        (4, f"Tokens per word: {of_languages(UNREAD, (own_unread, more), WORDS)}."),
        (3, f"*Yes:* `trim`, then `lapt --learning-rate {advised_rate(READS)}`."),
        (4, f"Rates: {rate_read()}."),
        (4, f"Bits per byte, untrained → 1e-5 → 3e-5: {of_languages(READS, ('untouched', 'lapt-1e-5', own_read))}."),
        (4, f"With 500 tokens more: {of_languages(READS, (few,))}."),
        (4, f"Tokens per word, its own → 500 more: {of_languages(READS, (own_read, few), WORDS)}."),
        (2, f"*A chat model:* as for a decoder, with `lapt --keep-text english.txt --replay {REPLAY:g}`."),
        (3, f"{_chat()}."),
    )
    return ":::{div} tree\n" + "\n".join(f"{'  ' * depth}- {text}" for depth, text in lines) + "\n:::"


@cache
def _scores(chapter: str, metric: str) -> pd.DataFrame:  # rows: (source, language); columns: methods
    "Scores of transfer, means over seeds."
    return _mini(chapter, metric, "transfer").groupby(["source", "language", "method"]).value.mean().unstack()


def _wins(table: pd.DataFrame, one: str, other: str, unit: str) -> tuple[int, int, str]:
    "In how many cases a method scores above another, of how many, and that in words."
    difference = (table[one] - table[other]).dropna()
    above, n = int((difference > 0).sum()), len(difference)
    return above, n, f"{above} of {n} {unit} (median difference {difference.median():+.0f} points)"


def _supported(table: pd.DataFrame, unit: str, *advised: tuple[str, str, str]) -> list[str]:
    "Of advice, each with the method that it takes and the one that it does not: what most cases support."
    told = []
    for advice, one, other in advised:
        above, n, words = _wins(table, one, other, unit)
        if above > n / 2:
            told.append(f"- {advice}: {one} is above {other} in {words}.")
    return told


@rests_on(STUDY, TOPICS)
def unks_scores() -> str:
    "What pays in UNKs Everywhere, as a list."
    table = _scores("unks-everywhere", "entity_f1").loc["en"]
    storage = "Low-dimensional embeddings save memory and storage, and cost accuracy after short training"
    told = _supported(table, "languages", ("Copy the overlap", "EL-LEX", "EL-RAND"), (storage, "EL-LEX", "MF1-LEX"))
    topics = rows_of(TOPICS).groupby(["language", "method"]).accuracy.mean().unstack()
    low = _wins(topics, "mf1-lex-projected", "el-lex", "languages")[2]
    told.append(f"- In topics with a pretrained encoder *MF1-LEX, projected* is above EL-LEX in {low}.")
    others = ("EL-LEX", "FMT-LEXINIT")
    beside = [f"above {method} in {_wins(table, 'mBERT', method, 'languages')[2]}" for method in others]
    return "\n".join([*told, f"- Compare with the model as it comes: it is {listed(beside)}."])


def _pairs_of_languages() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:  # all, to new scripts, within known ones
    "Scores of MAD-X and its baselines, of pairs of different languages."
    table = _scores("mad-x", "entity_f1").rename(columns={"MAD-X, new vocabulary": "MAD-X, target vocabulary"})
    sources, languages = (table.index.get_level_values(level) for level in ("source", "language"))
    to_new, from_new = (codes.isin(["am", "km"]) for codes in (languages, sources))
    differ = sources != languages
    return table[differ], table[to_new & ~from_new], table[~to_new & differ]


@rests_on(STUDY)
def mad_x_scores() -> str:
    "What pays in MAD-X, as a list."
    every, far, near = _pairs_of_languages()
    unit = "pairs of languages"
    new = ("A language in an unknown script needs embeddings of its own", "MAD-X, target vocabulary", "MAD-X")
    plain = ("In scripts that the model knows, try it without adapters first", "XLM-R", "MAD-X")
    whole = ("Or train the whole model on the target's text before fine-tuning", "XLM-R MLM-TRG", "MAD-X")
    told = [*_supported(far, unit, new, whole), *_supported(near, unit, plain)]
    inverse = _wins(every, "MAD-X", "MAD-X -INV", unit)[2]
    return "\n".join([*told, f"- With invertible adapters MAD-X is above MAD-X -INV in {inverse}."])


@rests_on(STUDY, FIELD)
def low_dimensional() -> str:
    "What low-dimensional embeddings cost."
    table = _scores("unks-everywhere", "entity_f1").loc["en"]
    above = _wins(table, "EL-LEX", "MF1-LEX, projected", "languages")[2]
    ended = after_a_pass("mf1-lex-projected")
    return f"in NER after short training full-dimensional embeddings are above them in {above}; {ended}"


@rests_on(STUDY)
def adapters_pay() -> str:
    "Adapters beside the fine-tuned model, by whether the model knows the scripts."
    _, far, near = _pairs_of_languages()
    near = near.drop(index=["am", "km"], level="source")
    unit = "pairs of languages"
    near_wins = _wins(near, "MAD-X", "XLM-R", unit)[2]
    far_wins = _wins(far, "MAD-X, target vocabulary", "XLM-R", unit)[2]
    return (
        f"in NER of our study adapters are above fine-tuning of the whole model in {near_wins} in scripts that the "
        f"model knows, and with a new vocabulary, towards unknown scripts, in {far_wins}"
    )


@rests_on(STUDY)
def distilled() -> str:
    "What distillation is worth after further training, beside the subtoken mean that it begins with and FOCUS."
    names = {"mean": "subtoken mean", "mean, distilled": "distilled", "mean, distilled, LM": "with language modelling"}
    losses = _losses("end").loc[[*names, "focus"]].rename(index=names | {"focus": "FOCUS"}).dropna(axis="columns")
    told = [
        f"{language} {', '.join(f'{name} {loss:.2f}' for name, loss in losses[language].items())}"
        for language in losses
    ]
    return f"losses after the same further training, in a model of a million weights: {'; '.join(told)}"


@cache
def _losses(what: str) -> pd.DataFrame:  # rows: methods; columns: languages
    rows = _mini("compare", "end", "way") if what == "end" else _mini("compare", "loss", "start")
    return rows.groupby(["method", "language"]).value.mean().unstack()


def _lowest_losses(what: str, language: str, n: int = 3) -> str:
    there = _losses(what)[language].dropna()
    recipes = there[[method for method in there.index if "old vocabulary" not in method]].nsmallest(n)
    return listed([f"{method} ({loss:.1f})" for method, loss in recipes.items()])


@rests_on(STUDY)
def compare_losses() -> str:
    "Which methods are lowest in Compare, as a list."
    apart = _losses("start").loc[["clp", "omp", "random"], "am"]
    return "\n".join(
        (
            f"- Where most words' script is known, as in Swahili, these start lowest: {_lowest_losses('start', 'sw')}.",
            f"- In an unknown script, Amharic: {_lowest_losses('start', 'am')}. Linear combinations that are not "
            f"convex: CLP starts at {apart['clp']:.0f} nats, OMP at {apart['omp']:.0f}; random mapping at "
            f"{apart['random']:.0f}.",
            f"- After training these are lowest in Swahili: {_lowest_losses('end', 'sw')}; in Amharic: "
            f"{_lowest_losses('end', 'am')}.",
        )
    )
