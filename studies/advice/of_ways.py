"""Advice on ways to train, from the records of those that were tried beside plain language modelling."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from studies.records.summaries import BETWEEN_SEEDS, LEVEL, OLD_SPEEDRUN, ONE_PASS, listed, rests_on, rows_of
from vocab_lit.text.markup import markdown_table

if TYPE_CHECKING:
    import pandas as pd

ADAPTED = "adapt.csv"
KEPT, PLAN, TOKEN_RATES = (f"real-trial/{name}.csv" for name in ("kept", "learned-plan", "embedding-rates"))
ALL, REPLAY, MERGED = "all weights", "replay of English", "half source, half all weights"  # ways of `KEPT`


@cache
def _kept() -> pd.DataFrame:  # by way, the source first; columns: sw, en (bits per byte), obeyed, ended, ...
    return rows_of(KEPT).set_index("way").rename(columns=lambda name: name.removesuffix(" bits per byte"))


@cache
def _adapted() -> pd.DataFrame:  # a row for each run that had text to keep, and of what it chose
    rows = rows_of(ADAPTED)
    way = rows.winner.str.partition("-")[0]
    return rows[rows.keep == "text"].assign(way=way)


@rests_on(ADAPTED)
def ways_in_time() -> str:
    "Which vocabulary is ahead after the same few minutes, and what it costs English that was not retained."
    runs, group = _adapted().query("source == 'smollm2-135m'"), ["language", "minutes"]
    runs = runs[runs.groupby(group).way.transform("nunique") > 1]
    runs = runs.sort_values("bits_after").drop_duplicates([*group, "way"])  # the best of each way
    bits, beaten = runs.pivot_table("bits_after", group, "way"), []
    for way in bits.columns.drop("extend"):
        both = bits[["extend", way]].dropna()
        beaten.append(f"{way} in {(both.extend < both[way] - LEVEL).sum()} of {len(both)} languages")
    minutes = listed(sorted({f"{value:g}" for value in runs.minutes}))
    english = runs.unseen_after / runs.unseen_before - 1
    return (
        f"SmolLM2, after {minutes} minutes: trim-and-extend beats {listed(beaten[::-1])} (one seed). "
        f"English news, which was not retained, changes by {english.min():+.1%} to {english.max():+.1%}."
    )


@rests_on(KEPT)
def kept_table() -> str:
    "Bits per byte and answers of a chat model, by the way in which it was trained."
    rows = [
        [row.Index, f"{row.sw:.3f}", f"{row.en:.3f}", row.obeyed, row.ended, f"{row.cpu_seconds:.0f}"]
        for row in _kept().itertuples()
    ]
    return markdown_table(["", "Swahili", "English", "obeyed", "ended", "CPU seconds"], rows)


def _not_beaten(table: pd.DataFrame) -> pd.DataFrame:
    "The ways beside which no other is lower in Swahili and obeys as much, the lowest in Swahili first."
    table = table.sort_values(["sw", "obeyed"], ascending=[True, False])
    return table[table.obeyed > table.obeyed.cummax().shift(fill_value=-1)]


@rests_on(KEPT)
def kept_told() -> str:
    "Which ways no other beats in both, and what English bits tell of that which obeys least."
    source, *_ = _kept().itertuples()
    ways = _kept().iloc[1:]
    best = [f"*{row.Index}* ({row.sw:.2f}, {row.obeyed})" for row in _not_beaten(ways).itertuples()]
    worst = ways.loc[ways.obeyed.idxmin()]
    return (
        f"As it comes, the model obeys {source.obeyed} of {source.instructions} instructions. Not beaten by another "
        f"way both in Swahili and in instructions obeyed: {listed(best)}. With *{worst.name}*, which obeys fewest, "
        f"{worst.ended} answers end, and English bits per byte change by {worst.en - source.en:+.2f}."
    )


@rests_on(KEPT)
def kept_answers() -> str:
    "How much of what a chat model obeys is left, in half a sentence."
    obeyed = _kept().obeyed
    return (
        f"of {obeyed.iloc[0]} English instructions that SmolLM2-Instruct obeys, {obeyed[ALL]} are left after 40 steps "
        f"of Swahili, {obeyed[REPLAY]} with a tenth of English, and {obeyed[MERGED]} when the models before and after "
        "are averaged (one seed)"
    )


@cache
def _plan() -> pd.DataFrame:  # by setting, the lowest end first; columns: parameters, seconds, start, half, end, ...
    import pandas as pd

    rows = rows_of(PLAN)

    def along(metric: str) -> pd.DataFrame:
        "A number at the start, and at each evaluation."
        return rows[(rows.metric == metric) & rows.step.notna()].pivot(index="setting", columns="step", values="value")

    bits, english = along("bits per byte"), along("bits per byte in another language")
    table = pd.DataFrame(
        {
            "parameters": rows[rows.metric == "trainable parameters"].set_index("setting").value,
            "seconds": along("CPU seconds trained").max(axis="columns"),
            "start": bits[0],
            "half": [row.dropna().iloc[1] for _, row in bits.iterrows()],
            "end": bits.ffill(axis="columns").iloc[:, -1],
            "before": english[0],
            "english": english.ffill(axis="columns").iloc[:, -1],
        }
    )
    return table.sort_values("end")


@rests_on(PLAN)
def plan_table() -> str:
    "What learns, and what comes of it at equal CPU time."
    rows = [
        [row.Index, f"{row.parameters:,.0f}", f"{row.seconds:.0f}"]
        + [f"{bits:.3f}" for bits in (row.start, row.half, row.end, row.english)]
        for row in _plan().itertuples()
    ]
    return markdown_table(["", "parameters", "CPU seconds", "start", "half", "end", "English"], rows)


@rests_on(PLAN)
def plan_told() -> str:
    "The best run of each kind of thing that learns."
    table = _plan()
    kinds = {"all": "all weights", "new": "new embeddings", "plan": "a plan"}
    kind_of = table.index.str.extract(f"({'|'.join(kinds)})", expand=False)
    best = table.groupby(kind_of).end.min().sort_values()
    told = [f"{kinds[kind]} {end:.2f}" for kind, end in best.items()]
    kept = table.iloc[0]
    above = table[table.end > table.start]
    return (
        f"At equal time the best of each kind end at: {', '.join(told)}. English, {kept.before:.2f} before, is "
        f"{kept.english:.2f} after {kept.name}. {len(above)} of {len(table)} runs end above their start: "
        f"{listed([f'*{name}*' for name in above.index])}."
    )


@rests_on(TOKEN_RATES)
def token_rates() -> str:
    "The table of other rates for token embeddings, and how far they are apart."
    table = rows_of(TOKEN_RATES).set_index("way").iloc[:, :2]
    sw = table.iloc[:, 0].sort_values()
    rows = [[way, *(f"{bits:.3f}" for bits in row)] for way, row in table.iterrows()]
    gain = table.iloc[0, 0] - sw.iloc[0]
    size = "no more than" if gain <= BETWEEN_SEEDS else "more than"
    told = (
        f"Lowest in Swahili is *{sw.index[0]}*, by {gain:.3f} below *{table.index[0]}*: {size} the "
        f"{BETWEEN_SEEDS:g} that three seeds differ by."
    )
    return f"{markdown_table(['', 'Swahili', 'English'], rows)}\n\n{told}"


def _placed(recipe: str) -> str:
    "The place and the score of a recipe, among those of its budget and precision in the older runs."
    runs = rows_of(OLD_SPEEDRUN)
    mine = runs[runs.recipe == recipe].iloc[0]
    beside = runs[(runs.minutes == mine.minutes) & (runs.precision == mine.precision)].sort_values("score")
    place = beside.recipe.tolist().index(recipe) + 1
    return f"rank {place} of {len(beside)} recipes, at {mine.score:.2f} bits per byte (line ends scored)"


@rests_on(OLD_SPEEDRUN)
def plan_placed() -> str:
    "Where the plan that learns stands in the speedrun."
    return _placed("plan")


@rests_on(ONE_PASS, OLD_SPEEDRUN)
def alm_told() -> str:
    "What a teacher that has hardly read the language teaches."
    rows = rows_of(ONE_PASS).query("setting == 'continued-2000-alm' and metric == 'bits per byte'")
    bits = rows.sort_values("step").groupby("language").value.agg(["first", "last"])
    told = [f"{language} {row['first']:.2f} → {row['last']:.2f}" for language, row in bits.iterrows()]
    worse = (bits["last"] > bits["first"]).sum()
    return (
        f"With SmolLM2 itself as the teacher, SmolLM2 with 2,000 tokens more gets worse in {worse} of {len(bits)} "
        f"languages in a pass over half a megabyte ({', '.join(told)}; one seed). With language modelling besides, it "
        f"is {_placed('alm-lm')}; the same tokens without a teacher are {_placed('extend-500')}."
    )
