"""Sentences of advice, each computed from the records that it rests on.

A page has a sentence between markers of its name, like any other fact. The words of a sentence are chosen by its
numbers, so that other records give other advice. `python -m tools advice` lists all with their records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from vocab_lit.methods.registry import RECIPES, get_recipe
from vocab_lit.text.corpus import data_path
from vocab_lit.text.markup import markdown_cell, markdown_table

if TYPE_CHECKING:
    import pandas as pd


STARTS, EXTENDED, TRAINED = "starts.csv", "starts-extended.csv", "starts-trained.csv"
ONE_PASS, FIELD, STUDY = "real-trial/one-pass.csv", "field/records.csv", "records/study.csv.gz"
CHAPTER, SPEEDRUN = "real-trial/chapter.json", "speedrun.csv"
OLD_SPEEDRUN = "speedrun-line-ends.csv"  # of runs that learnt and scored an end token behind every line
LEVEL = 0.01  # bits per byte: two that differ by less are level
BETWEEN_SEEDS = 0.03  # bits per byte, the range of three seeds of the same training in data/real-trial/seeds.csv

_MODELS = {"gemma3-270m": "Gemma 3 270M", "gemma3-270m-trimmed": "Gemma 3 270M", "smollm2-135m": "SmolLM2 135M"}
READS, UNREAD = "gemma3-270m-trimmed", "smollm2-135m"


class Advice(NamedTuple):
    "A sentence or a table of advice."

    name: str  # of its marker
    records: tuple[str, ...]  # files in `data` that it is computed from
    says: Callable[[], str]  # Markdown


ADVICE: dict[str, Advice] = {}


def rests_on(*records: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    "Register what computes a piece of advice, under its name."

    def register(says: Callable[[], str]) -> Callable[[], str]:
        ADVICE[says.__name__] = Advice(says.__name__, records, says)
        return says

    return register


def listed(names: Sequence[str]) -> str:
    "Names with commas and an *and*."
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last


def seeds_told(n: int) -> str:
    "How many seeds numbers are of, where they are fewer than three."
    return {1: "one seed", 2: "two seeds"}.get(n, "")


def seeds_of(rows: pd.DataFrame) -> str:
    "What to say of the seeds of some rows, in brackets."
    cell = [column for column in ("model", "language", "setting", "method") if column in rows]
    told = seeds_told(rows.groupby(cell).seed.nunique().min())
    return f" ({told})" if told else ""


def scope_of_pass() -> str:
    "What to say of the trial of one pass, in brackets."
    return f"{seeds_of(rows_of(ONE_PASS)).removesuffix(')')}, line ends scored)"


@cache
def rows_of(path: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(data_path(*path.split("/")), low_memory=False)


def _file(path: str) -> Any:
    return json.loads(data_path(*path.split("/")).read_text(encoding="utf-8"))


# ---- before training: data/starts.csv


class Duel(NamedTuple):
    "How often one method starts lower than another, over models and languages."

    lower: list[str]  # such as "Gemma 3 270M: sw"
    level: list[str]
    higher: list[str]

    @property
    def n(self) -> int:
        return len(self.lower) + len(self.level) + len(self.higher)


def _duel(differences: Mapping[str, float]) -> Duel:
    "Sort cases by the difference of two numbers."
    sides: dict[str, list[str]] = {side: [] for side in Duel._fields}
    for case, difference in differences.items():
        side = "lower" if difference < 0 else "higher"
        sides["level" if abs(difference) < LEVEL else side].append(case)
    return Duel(**sides)


@cache
def starts(path: str = STARTS) -> pd.DataFrame:  # rows: (model, language); columns: methods; bits per byte
    "The starts of pretrained models."
    return rows_of(path).pivot_table("bits_per_byte", ["model", "language"], "method")


@cache
def trained_starts() -> pd.DataFrame:  # rows: (model, language, seed); columns: methods; bits per byte
    "Pretrained models after a little training from each start."
    return rows_of(TRAINED).pivot_table("bits_per_byte", ["model", "language", "seed"], "method")


def duel(one: str, other: str, path: str = STARTS) -> Duel:
    "Compare the starts of two methods wherever both are known."
    both = starts(path)[[one, other]].dropna()
    return _duel({f"{model}/{language}": d for (model, language), d in (both[one] - both[other]).items()})


def _cases(cases: Sequence[str]) -> str:
    "Cases by model, such as: Gemma 3 270M (sw, ka)."
    by_model: dict[str, list[str]] = {}
    for case in cases:
        model, language = case.split("/")
        by_model.setdefault(_MODELS[model], []).append(language)
    return listed([f"{model} ({', '.join(languages)})" for model, languages in by_model.items()])


def compared(one: str, other: str, path: str = STARTS) -> str:
    "A method beside another in words: lower in so many cases, and where not."
    found = duel(one, other, path)
    of = f"of {found.n} cases"
    if len(found.lower) == found.n:
        return f"starts below `{other}` in all {found.n} cases"
    if len(found.higher) == found.n:
        return f"starts above `{other}` in all {found.n} cases"
    told = f"starts below `{other}` in {len(found.lower)} {of}"
    if found.higher:
        told += f", above it in {_cases(found.higher)}"
    return told + (f", level with it in {_cases(found.level)}" if found.level else "")


def text_alone() -> list[str]:  # of those whose starts are known
    "The methods that need no more than text in the language, or nothing."
    return [m for m in starts().columns if m in RECIPES and RECIPES[m].needs in ("", "token vectors", "word vectors")]


@cache
def lowest() -> dict[str, list[str]]:  # by method: cases
    "Which of the methods that need text alone starts lowest, in each case where more than two are known."
    table = starts()[text_alone()].dropna(thresh=3)
    cases: dict[str, list[str]] = {}
    for (model, language), row in table.iterrows():
        cases.setdefault(str(row.idxmin()), []).append(f"{model}/{language}")
    return dict(sorted(cases.items(), key=lambda item: -len(item[1])))


@rests_on(STARTS)
def best_start() -> str:
    "Which method starts lowest."
    (best, cases), *others = lowest().items()
    n = sum(map(len, lowest().values()))
    told = f"of what needs no dictionary `{best}` starts lowest in {len(cases)} of {n} cases, on two pretrained models"
    told += seeds_of(rows_of(STARTS))
    rest = [f"`{method}` in {_cases(where)}" for method, where in others]
    return f"{told}; {listed(rest)}" if rest else told


def _beside(method: str, *others: str) -> str:
    "A method's starts beside those of others."
    return f"{'; it '.join(compared(method, other) for other in others)}{seeds_of(rows_of(STARTS))}"


@rests_on(STARTS)
def wechsel_starts() -> str:
    "WECHSEL's starts beside random mapping and blend."
    return _beside("wechsel", "random-mapping", "blend")


@rests_on(STARTS)
def focus_starts() -> str:
    "FOCUS's starts beside random mapping and the mean of subtokens."
    return _beside("focus", "random-mapping", "subtoken-mean")


@rests_on(STARTS)
def structure_starts() -> str:
    "The starts of initialisation by script and position beside random mapping and the mean of subtokens."
    return _beside("script-posn-ident", "random-mapping", "subtoken-mean")


# ---- after one pass: data/field/records.csv, three seeds


@cache
def field_ends() -> pd.Series:  # by method, the mean over languages
    "Bits per byte after one pass over real text, of replaced vocabularies in a model of six million weights."
    rows = rows_of(FIELD).query("metric == 'bits per byte at the end'")
    return rows.groupby(["setting", "language"]).value.mean().unstack().mean(axis="columns")


@rests_on(FIELD)
def lead_left() -> str:
    "What a pass over real text leaves of the lead of FOCUS over random mapping."
    rows = rows_of(FIELD).query("setting in ('focus', 'random-mapping')")
    is_start = (rows.metric == "bits per byte") & (rows.step == 0)

    def lead(chosen: pd.DataFrame) -> pd.Series:  # by language
        bits = chosen.groupby(["setting", "language"]).value.mean().unstack()
        return bits.loc["random-mapping"] - bits.loc["focus"]

    left = lead(rows[rows.metric == "bits per byte at the end"]) / lead(rows[is_start])
    return (
        f"one pass over half a megabyte of real text leaves {100 * left.min():.0f} to {left.max():.0%} of FOCUS's lead"
    )


def after_a_pass(method: str, beside: str = "focus") -> str:
    d = field_ends()[method] - field_ends()[beside]
    if abs(d) < LEVEL:
        return f"after a pass over real text level with `{beside}`"
    return f"after a pass over real text {abs(d):.2f} bits per byte {'above' if d > 0 else 'below'} `{beside}`"


def _when() -> dict[str, tuple[str, str]]:  # by methods: when to take them, what the records say of them
    "The lines of the table of methods."
    baselines = "`identity`, `normal`, `mean-resizing`, `random-mapping`, `full-rand`"
    above = field_ends()[["clp", "omp"]] - field_ends()["focus"]
    return {
        "`blend`": ("text in the language; the default", best_start()),
        "`subtoken-mean`": (
            "text is scarce: no static embeddings are trained",
            f"{compared('subtoken-mean', 'blend')}; {after_a_pass('subtoken-mean')}",
        ),
        "`focus`": (
            "to repeat the paper",
            f"{compared('focus', 'random-mapping')}; {compared('focus', 'blend')}",
        ),
        "`wechsel`": (
            "a model of one language, and a dictionary",
            f"{compared('wechsel', 'blend')}; {after_a_pass('wechsel')}",
        ),
        "`ofa`": (
            "the same, with the overlap copied",
            f"{compared('ofa', 'blend')}; {after_a_pass('ofa')}",
        ),
        "`script-posn-ident`": (
            "to repeat the paper, without text and without a dictionary",
            f"{compared('script-posn-ident', 'subtoken-mean')}; {after_a_pass('script-posn-ident')}",
        ),
        "`reinit-script-posn-ident` and others": (
            "to repeat the paper",
            f"{after_a_pass('reinit-script-posn-ident')}: tokens of an unknown script are sampled from N(0, 1)",
        ),
        "`mf1-lex-projected`, `ofa-100`": (
            "many languages, little storage",
            after_a_pass("mf1-lex-projected"),
        ),
        "`omp`, `clp`": (
            "a model with the target vocabulary, and most tokens overlap",
            f"`clp` {compared('clp', 'blend')}; after a pass {above.min():.2f} to {above.max():.2f} above `focus`",
        ),
        baselines: ("to compare with", f"`mean-resizing` {after_a_pass('mean-resizing')}"),
    }


@rests_on(STARTS, FIELD)
def methods_when() -> str:
    "The table of methods: how, when, and what the records say."
    rows = []
    for methods, (when, record) in _when().items():
        recipe = get_recipe(methods.split("`")[1])
        rows.append([methods, recipe.paper or "this package", recipe.about.rstrip("."), when, record])
    return markdown_table(["method", "paper", "how", "take it with", "what the records say"], rows, markdown_cell)


# ---- after one pass over half a megabyte: data/real-trial/one-pass.csv


@cache
def _ends(metric: str = "bits per byte") -> pd.DataFrame:  # rows: (model, way); columns: languages
    "The last number of each run: where its training ended, and not its best checkpoint."
    rows = rows_of(ONE_PASS).query("metric == @metric").sort_values("step")
    return rows.groupby(["model", "setting", "language"]).value.last().unstack()


@cache
def _before() -> pd.DataFrame:  # as `_ends`, before training
    rows = rows_of(ONE_PASS).query("metric == 'bits per byte' and step == 0")
    return rows.groupby(["model", "setting", "language"]).value.first().unstack()


WORDS, _OTHER = "tokens per word", "bits per byte in another language"
_SAME_RATE = {READS: "{}-3e-5", UNREAD: "{}"}  # ways of a model that learn at the same rate
_ADDED = {500: "continued-500", 2000: "continued-2000"}


RATES = {  # peak learning rates of a model, the lowest first, and the ways that have them
    READS: {"1e-5": "lapt-1e-5", "3e-5": "lapt-3e-5"},
    UNREAD: {"3e-5": "lapt-3e-5", "1e-4": "lapt", "3e-4": "lapt-3e-4"},
}


def advised_rate(model: str) -> str:
    "The lowest rate whose mean end is above the lowest mean end by no more than seeds differ."
    ends = {rate: _ends().loc[(model, way)].mean() for rate, way in RATES[model].items()}
    return next(rate for rate, end in ends.items() if end <= min(ends.values()) + BETWEEN_SEEDS)


def why_the_rate(model: str) -> str:
    return f"{advised_rate(model)} is the lowest rate whose mean end is within {BETWEEN_SEEDS:g} bits of the best"


def kept_way(model: str) -> str:
    return _SAME_RATE[model].format("lapt")


def added_way(model: str, n: int) -> str:
    return _SAME_RATE[model].format(_ADDED[n])


def of_languages(model: str, ways: Sequence[str], metric: str = "bits per byte") -> str:
    "A number of each language, one of each way, with arrows between."
    table, digits = _ends(metric).loc[model], 1 if metric == WORDS else 2
    told = {
        language: " → ".join(f"{table.loc[way, language]:.{digits}f}" for way in ways)
        for language in table.loc[list(ways)].dropna(axis="columns").columns
    }
    return ", ".join(f"{language} {numbers}" for language, numbers in told.items())


def _ends_told(model: str, one: str, other: str, than: str) -> str:
    "Say in which languages a way ends lower, level and higher than another."
    table = _ends().loc[model].loc[[one, other]].dropna(axis="columns")
    found = _duel({str(language): a - b for language, (a, b) in table.items()})
    parts = [f"{side} in {listed(there)}" for side, there in found._asdict().items() if there]
    return f"beside {than} ends {', '.join(parts)}"


def pass_numbers() -> pd.DataFrame:  # columns: model, language, added, start, end, words
    "Bits per byte at the start and the end of a pass, and tokens per word, by tokens added, at one rate a model."
    import pandas as pd

    rows = []
    for model in (UNREAD, READS):
        ways = {0: kept_way(model), **{n: added_way(model, n) for n in _ADDED}}
        for language in _ends().columns:
            for added, way in ways.items():
                start, end, words = (table.loc[(model, way), language] for table in (_before(), _ends(), _ends(WORDS)))
                rows.append(dict(model=model, language=language, added=added, start=start, end=end, words=words))
    return pd.DataFrame(rows)


@rests_on(ONE_PASS)
def new_tokens() -> str:
    "What added tokens buy and cost, over both models."
    table = pass_numbers().pivot(index=["model", "language"], columns="added", values=["end", "words"])
    cost = (table["end"][2000] - table["end"][0]).tolist()
    saved = (1 - table["words"][2000] / table["words"][0]).tolist()
    higher = [c for c in cost if c > LEVEL]
    told = f"2,000 added tokens make text {min(saved):.0%} to {max(saved):.0%} shorter"
    lost = f"they cost {min(higher):.2f} to {max(higher):.2f} bits per byte in {len(higher)} of {len(cost)} cases"
    return f"{told}; after a pass over 0.5 MB {lost}{scope_of_pass()}"


@rests_on(ONE_PASS)
def advice() -> str:
    "The README's table: ways, with where each began and ended in Swahili."
    columns = {UNREAD: "SmolLM2 135M, which has not read it", READS: "Gemma 3 270M, which has"}
    numbers = pass_numbers().query("language == 'sw'").set_index(["model", "added"])

    def cell(model: str, n: int) -> str:
        row = numbers.loc[(model, n)]
        return f"{row.start:.2f} → {row.end:.2f}; {row.words:.1f}"

    ways = {"`lapt` alone": 0, "`--extend 500`": 500, "`--extend 2000`": 2000}
    rows = [[told, *(cell(model, n) for model in columns)] for told, n in ways.items()]
    about = f"0.5 MB of Swahili: bits per byte, before → after one pass; tokens per word{scope_of_pass()}."
    table = markdown_table(["way", *columns.values()], rows, markdown_cell)
    return f"{about}\n\n{table}\n\nIn four languages, {new_tokens()}."


def english_ends(model: str, ways: dict[str, str]) -> str:  # {way: what is said behind its numbers}
    "English before, and where it ends by each way: least to most, over the languages."
    table = _ends(_OTHER).loc[model]
    spans = {way: table.loc[way].dropna() for way in ways}
    ends = [f"{span.min():.2f} to {span.max():.2f}{ways[way]}" for way, span in spans.items()]
    return f"English, {table.loc['untouched'].iloc[0]:.2f} before, ends at {listed(ends)}"


@rests_on(ONE_PASS)
def rate_unread() -> str:
    "The learning rate of a model that has not read the language."
    slow, fast = (_ends_told(UNREAD, way, "lapt", "1e-4") for way in ("lapt-3e-5", "lapt-3e-4"))
    english = english_ends(UNREAD, {"lapt": " with 1e-4", "lapt-3e-4": " with 3e-4"})
    return f"{why_the_rate(UNREAD)}: 3e-5 {slow}; 3e-4 {fast}; {english}{seeds_of(rows_of(ONE_PASS))}"


@rests_on(ONE_PASS)
def rate_read() -> str:
    "The learning rate of a model that has read the language."
    slow = _ends_told(READS, "lapt-1e-5", "lapt-3e-5", "3e-5")
    english = english_ends(READS, {"lapt-1e-5": " with 1e-5", "lapt-3e-5": " with 3e-5"})
    return f"{why_the_rate(READS)}: 1e-5 {slow}; {english}{seeds_of(rows_of(ONE_PASS))}"


# ---- further sentences


@rests_on(ONE_PASS)
def replay() -> str:
    "What a tenth of English among the training text keeps, and costs."
    language = "cy"
    bits, english = (table.loc[UNREAD][language] for table in (_ends(), _ends(_OTHER)))
    kept = f"English at {english['lapt-replay']:.2f} bits per byte instead of {english['lapt']:.2f}"
    cost = bits["lapt-replay"] - bits["lapt"]
    return f"after a pass over Welsh, SmolLM2's {kept}, and its Welsh {cost:.2f} higher{seeds_of(rows_of(ONE_PASS))}"


@rests_on(CHAPTER)
def trim_costs() -> str:
    "What trimming costs on lines that were not counted, in the page of the real model."
    lines = _file(CHAPTER)["trim"]["output"]
    tokens = next(line for line in lines if "are trimmed to" in line).strip("· ").split(":")[0]
    heading = next(n for n, line in enumerate(lines) if "tokenized differently" in line and "┃" in line)
    rows = [line.strip("│ ").split("│") for line in lines[heading:] if line.startswith("│") and ".txt" in line]
    changed = [f"{row[2].strip()} of unseen {row[0].strip().removesuffix('.txt').capitalize()} lines" for row in rows]
    return f"{tokens}; {listed(changed)} are then tokenized differently"


@rests_on(EXTENDED)
def extended_start() -> str:
    "Which method starts lowest when tokens are added."
    best = starts(EXTENDED).drop(columns="untouched").idxmin(axis="columns")
    method, n = next(iter(best.value_counts().items()))
    lowest = f"with added tokens `{method}` starts lowest in {n} of {len(best)} cases"
    other = "blend" if method == "subtoken-mean" else "subtoken-mean"
    return f"{lowest}, and {compared(str(method), other, EXTENDED)}{seeds_of(rows_of(EXTENDED))}"


@rests_on(SPEEDRUN)
def equal_time() -> str:
    "The recipes of the speedrun's budget that most have run, lowest first, for each precision."
    runs = rows_of(SPEEDRUN).query("valid == 'yes'")
    minutes = runs.minutes.mode()[0]
    told = []
    for precision, there in runs[runs.minutes == minutes].groupby("precision"):
        first = there.sort_values("score").head(3)
        told.append(f"{listed([f'`{r.recipe}` ({r.score:.2f})' for r in first.itertuples()])} in {precision}")
    return (
        f"in {minutes:g} CPU-minutes of SmolLM2 in Swahili the lowest bits per byte are those of {'; '.join(told)}, "
        "one seed each"
    )
