"""Sentences of advice, each computed from the records that it rests on.

A page has a sentence between markers of its name, like any other fact. The words of a sentence are chosen by its
numbers, so that other records give other advice. `python -m studies.advice` lists all with their records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from vocab_lit.methods.registry import RECIPES, get_recipe
from vocab_lit.text.corpus import data_path
from vocab_lit.text.markup import markdown_table, of_ours

if TYPE_CHECKING:
    import pandas as pd


STARTS, EXTENDED = "starts.csv", "starts-extended.csv"
ONE_PASS, FIELD, STUDY = "real-trial/one-pass.csv", "field/records.csv", "records/study.csv.gz"
CHAPTER, SPEEDRUN = "real-trial/chapter.json", "speedrun.csv"
LEVEL = 0.01  # bits per byte: two that differ by less are level

_MODELS = {"gemma3-270m": "Gemma 3 270M", "gemma3-270m-trimmed": "Gemma 3 270M", "smollm2-135m": "SmolLM2 135M"}
_READS, _UNREAD = "gemma3-270m-trimmed", "smollm2-135m"
_SOURCE = "full vocabulary"  # of the study's methods


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


def _seeds(rows: pd.DataFrame) -> str:
    "What to say of the seeds of some rows, in brackets."
    cell = [column for column in ("model", "language", "setting", "method") if column in rows]
    told = seeds_told(rows.groupby(cell).seed.nunique().min())
    return f" ({told})" if told else ""


@cache
def _table(path: str) -> pd.DataFrame:
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


@cache
def starts(path: str = STARTS) -> pd.DataFrame:  # rows: (model, language); columns: methods; bits per byte
    "The starts of pretrained models."
    return _table(path).pivot_table("bits_per_byte", ["model", "language"], "method")


def duel(one: str, other: str, path: str = STARTS) -> Duel:
    "One method's starts beside another's, wherever both are known."
    both = starts(path)[[one, other]].dropna()
    difference = both[one] - both[other]
    named = [f"{model}/{language}" for model, language in both.index]
    sides = {side: [] for side in Duel._fields}
    for case, d in zip(named, difference):
        side = "level" if abs(d) < LEVEL else "lower" if d < 0 else "higher"
        sides[side].append(case)
    return Duel(**sides)


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
    told = f"`{best}` starts lowest in {len(cases)} of {n} cases, on two pretrained models{_seeds(_table(STARTS))}"
    rest = [f"`{method}` in {_cases(where)}" for method, where in others]
    return f"{told}; {listed(rest)}" if rest else told


@rests_on(STARTS)
def focus_starts() -> str:
    "FOCUS's starts beside random mapping, another implementation of it, and blend."
    beside = [compared("focus", other) for other in ("random-mapping", "deepfocus", "blend")]
    return f"{'; it '.join(beside)}{_seeds(_table(STARTS))}"


@rests_on(STARTS)
def wechsel_starts() -> str:
    "WECHSEL's starts beside random mapping and blend."
    beside = [compared("wechsel", other) for other in ("random-mapping", "blend")]
    return f"{'; it '.join(beside)}{_seeds(_table(STARTS))}"


# ---- after one pass: data/field/records.csv, three seeds


@cache
def field_ends() -> pd.Series:  # by method, the mean over languages
    "Bits per byte after one pass over real text, of replaced vocabularies in a model of six million weights."
    rows = _table(FIELD).query("metric == 'bits per byte at the end'")
    return rows.groupby(["setting", "language"]).value.mean().unstack().mean(axis="columns")


def _after_a_pass(method: str, beside: str = "focus") -> str:
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
            f"{compared('subtoken-mean', 'blend')}; {_after_a_pass('subtoken-mean')}",
        ),
        "`focus`": (
            "to repeat the paper",
            f"{compared('focus', 'random-mapping')}; {compared('focus', 'blend')}",
        ),
        "`wechsel`": (
            "a model of one language, and a dictionary",
            f"{compared('wechsel', 'blend')}; {_after_a_pass('wechsel')}",
        ),
        "`ofa`": (
            "the same, with the overlap copied",
            f"{compared('ofa', 'blend')}; {_after_a_pass('ofa')}",
        ),
        "`script-posn-ident`": (
            "neither text nor a dictionary",
            f"{_after_a_pass('script-posn-ident')}",
        ),
        "`reinit-script-posn-ident` and others": (
            "to repeat the paper",
            f"{_after_a_pass('reinit-script-posn-ident')}: tokens of an unknown script are sampled from N(0, 1)",
        ),
        "`mf1-lex`, `ofa-100`": (
            "many languages, little storage",
            _after_a_pass("mf1-lex"),
        ),
        "`omp`, `clp`": (
            "a model with the target vocabulary, and most tokens overlap",
            f"`clp` {compared('clp', 'blend')}; after a pass {above.min():.2f} to {above.max():.2f} above `focus`",
        ),
        baselines: ("to compare with", f"`mean-resizing` {_after_a_pass('mean-resizing')}"),
    }


@rests_on(STARTS, FIELD)
def methods_when() -> str:
    "The table of methods: how, when, and what the records say."
    rows = []
    for methods, (when, record) in _when().items():
        recipe = get_recipe(methods.split("`")[1])
        rows.append([methods, recipe.paper or "this package", recipe.about.rstrip("."), when, record])
    return markdown_table(["method", "paper", "how", "take it with", "what the records say"], rows, of_ours)


# ---- after one pass over half a megabyte: data/real-trial/one-pass.csv


@cache
def _ends(metric: str = "bits per byte") -> pd.DataFrame:  # rows: (model, way); columns: languages
    "The last number of each run: where its training ended, and not its best checkpoint."
    rows = _table(ONE_PASS).query("metric == @metric").sort_values("step")
    return rows.groupby(["model", "setting", "language"]).value.last().unstack()


@cache
def _before() -> pd.DataFrame:  # as `_ends`, before training
    rows = _table(ONE_PASS).query("metric == 'bits per byte' and step == 0")
    return rows.groupby(["model", "setting", "language"]).value.first().unstack()


_WORDS, _OTHER = "tokens per word", "bits per byte in another language"
_SAME_RATE = {_READS: "{}-3e-5", _UNREAD: "{}"}  # ways of a model that learn at the same rate
_ADDED = {500: "continued-500", 2000: "continued-2000"}


def _kept(model: str) -> str:
    return _SAME_RATE[model].format("lapt")


def _added(model: str, n: int) -> str:
    return _SAME_RATE[model].format(_ADDED[n])


def _of_languages(model: str, ways: Sequence[str], metric: str = "bits per byte") -> str:
    "A number of each language, one of each way, with arrows between."
    table, digits = _ends(metric).loc[model], 1 if metric == _WORDS else 2
    told = {
        language: " → ".join(f"{table.loc[way, language]:.{digits}f}" for way in ways)
        for language in table.loc[list(ways)].dropna(axis="columns").columns
    }
    return ", ".join(f"{language} {numbers}" for language, numbers in told.items())


def _sides(model: str, one: str, other: str) -> Duel:
    "In which languages one way ends lower than another."
    table = _ends().loc[model].loc[[one, other]].dropna(axis="columns")
    sides: dict[str, list[str]] = {side: [] for side in Duel._fields}
    for language, (a, b) in table.items():
        side = "level" if abs(a - b) < LEVEL else "lower" if a < b else "higher"
        sides[side].append(str(language))
    return Duel(**sides)


def _ends_told(model: str, one: str, other: str, than: str) -> str:
    "In words: in which languages a way ends lower, level and higher."
    found = _sides(model, one, other)
    parts = [f"{side} in {listed(there)}" for side, there in found._asdict().items() if there]
    return f"beside {than} ends {', '.join(parts)}"


def pass_numbers() -> pd.DataFrame:  # columns: model, language, added, start, end, words
    "Bits per byte at the start and the end of a pass, and tokens per word, by tokens added, at one rate a model."
    import pandas as pd

    rows = []
    for model in (_UNREAD, _READS):
        ways = {0: _kept(model), **{n: _added(model, n) for n in _ADDED}}
        for language in _ends().columns:
            for added, way in ways.items():
                start, end, words = (table.loc[(model, way), language] for table in (_before(), _ends(), _ends(_WORDS)))
                rows.append(dict(model=model, language=language, added=added, start=start, end=end, words=words))
    return pd.DataFrame(rows)


@rests_on(ONE_PASS)
def new_tokens() -> str:
    "What added tokens buy and cost, over both models."
    ends, words = _ends(), _ends(_WORDS)
    cost, saved = [], []
    for model in (_UNREAD, _READS):
        kept, added = (ends.loc[(model, way)] for way in (_kept(model), _added(model, 2000)))
        cost += (added - kept).tolist()
        saved += (1 - words.loc[(model, _added(model, 2000))] / words.loc[(model, _kept(model))]).tolist()
    higher = [c for c in cost if c > LEVEL]
    told = f"2,000 added tokens make text {min(saved):.0%} to {max(saved):.0%} shorter"
    lost = f"they cost {min(higher):.2f} to {max(higher):.2f} bits per byte in {len(higher)} of {len(cost)} cases"
    return f"{told}; after a pass over 0.5 MB {lost}{_seeds(_table(ONE_PASS))}"


@rests_on(ONE_PASS)
def advice() -> str:
    "The README's table: ways, with where each began and ended in Swahili."
    language, columns = "sw", {_UNREAD: "SmolLM2 135M, which has not read it", _READS: "Gemma 3 270M, which has"}

    def cell(model: str, n: int) -> str:
        place = (model, _added(model, n) if n else _kept(model))
        start, end, words = (table.loc[place, language] for table in (_before(), _ends(), _ends(_WORDS)))
        return f"{start:.2f} → {end:.2f}; {words:.1f}"

    ways = {"`lapt` alone": 0, "`--extend 500`": 500, "`--extend 2000`": 2000}
    rows = [[told, *(cell(model, n) for model in columns)] for told, n in ways.items()]
    about = f"0.5 MB of Swahili: bits per byte, before → after one pass; tokens per word{_seeds(_table(ONE_PASS))}."
    table = markdown_table(["way", *columns.values()], rows, of_ours)
    return f"{about}\n\n{table}\n\nIn four languages, {new_tokens()}."


def _forgotten(model: str, way: str) -> str:
    "English after training in each language, least to most."
    values = _ends(_OTHER).loc[(model, way)].dropna()
    return f"{values.min():.2f} to {values.max():.2f}"


@rests_on(ONE_PASS)
def rate_unread() -> str:
    "The learning rate of a model that has not read the language."
    fast = _ends_told(_UNREAD, "lapt-3e-4", "lapt", "1e-4")
    english = f"English, {_ends(_OTHER).loc[(_UNREAD, 'untouched')].iloc[0]:.2f} before, ends at"
    costs = f"{_forgotten(_UNREAD, 'lapt')} with 1e-4 and {_forgotten(_UNREAD, 'lapt-3e-4')} with 3e-4"
    slow = _ends_told(_UNREAD, "lapt-3e-5", "lapt", "1e-4")
    return f"3e-5 {slow}; 3e-4 {fast}; {english} {costs}{_seeds(_table(ONE_PASS))}"


@rests_on(ONE_PASS)
def rate_read() -> str:
    "The learning rate of a model that has read the language."
    slow = _ends_told(_READS, "lapt-1e-5", "lapt-3e-5", "3e-5")
    english = f"English, {_ends(_OTHER).loc[(_READS, 'untouched')].iloc[0]:.2f} before, ends at"
    costs = f"{_forgotten(_READS, 'lapt-1e-5')} and {_forgotten(_READS, 'lapt-3e-5')}"
    return f"1e-5 {slow}; {english} {costs}{_seeds(_table(ONE_PASS))}"


# ---- the study of models of a million weights: data/records/study.csv.gz

_UNKNOWN = ("hy", "te")  # scripts of which the bundled model has no letter


@cache
def ner_scores() -> pd.DataFrame:  # rows: the model as it comes, and trained ones; columns: unknown, known
    "F1 of NER, in the study of Embedding Structure: means over languages in unknown and in known scripts."
    rows = _table(STUDY).query("chapter == 'embedding-structure' and scale == 'mini' and metric == 'ner'")
    rows = rows.assign(mode=rows["mode"].fillna("as it comes"))
    table = rows.groupby(["method", "mode", "language"]).value.mean().unstack()
    ways = {
        "as it comes": (_SOURCE, "as it comes"),
        "trained": (_SOURCE, "full"),
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
    rows = _table(STUDY).query("chapter == 'focus' and scale == 'mini' and metric == 'ner'")
    table = rows.groupby(["method", "language"]).value.mean().unstack(0)[["off-the-shelf", "focus"]].dropna()
    return table.drop(index=["am", "km"])


@rests_on(STUDY)
def vocabulary_pays() -> str:
    "Whether a new vocabulary raises NER, beside the model as it comes."
    from babel import Locale

    means = ner_scores().loc[["as it comes", "FOCUS"]]
    known, focus = means.known, _focus_ner()
    change = known["FOCUS"] - known["as it comes"]
    verdict = "gains" if change > 1 else "loses" if change < -1 else "gains nothing"
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


def _chat() -> str:
    "What became of the chat model of the page of the real model."
    from studies import real_page as page

    record = page.load_record()
    rights = " → ".join(str(record["chats"][side]["right"]) for side in ("before", "trained"))
    values = " → ".join(f"{page.bits(record, side):.2f}" for side in ("chat model", "chat model trained"))
    right = f"right answers in English: {rights} of {len(page.QUESTIONS)}"
    return f"Bits per byte in Chichewa: {values}; {right} (one seed)"


@rests_on(ONE_PASS, STUDY, CHAPTER)
def decision() -> str:
    "What to do as a tree, as nested lists, with the numbers on its leaves."
    ner = ner_scores()
    unknown, known = (f"{ner[side]['as it comes']:.0f} → {ner[side]['FOCUS']:.0f}" for side in ("unknown", "known"))
    own_unread, more = _kept(_UNREAD), _added(_UNREAD, 2000)
    own_read, few = _kept(_READS), _added(_READS, 500)
    lines = (
        (0, "**Is there text in the language?**"),
        (1, "*No:* give the words that you need as a list, `transplant MODEL --tokens terms.tsv`."),
        (1, "*Less than half a megabyte:* run `vocab-lit inspect`; the trial has no numbers for so little."),
        (1, "*More:* **what is the model?**"),
        (2, "*An encoder.* **Does it know the script?**"),
        (3, f"*No:* `--vocab-size N`. NER as it comes → with a new vocabulary: {unknown}."),
        (3, f"*Yes:* keep its vocabulary. NER: {known}."),
        (2, "*A decoder.* **Does it read the language?**"),
        (
            3,
            "*No:* `trim`, then `lapt --learning-rate 1e-4`; where the language is spelled in bytes, `--extend 2000` "
            "between.",
        ),
        (4, f"Rates: {rate_unread()}."),
        (4, f"Bits per byte after a pass, its own tokens → 2,000 more: {_of_languages(_UNREAD, (own_unread, more))}."),
        (4, f"Tokens per word: {_of_languages(_UNREAD, (own_unread, more), _WORDS)}."),
        (3, "*Yes:* `trim`, then `lapt`, at 1e-5 if it must keep its English."),
        (4, f"Rates: {rate_read()}."),
        (4, f"Bits per byte, untrained → 1e-5 → 3e-5: {_of_languages(_READS, ('untouched', 'lapt-1e-5', own_read))}."),
        (4, f"With 500 tokens more: {_of_languages(_READS, (few,))}."),
        (4, f"Tokens per word, its own → 500 more: {_of_languages(_READS, (own_read, few), _WORDS)}."),
        (2, "*A chat model:* as for a decoder, with `lapt --keep-text english.txt --replay 0.25`."),
        (3, f"{_chat()}."),
    )
    return ":::{div} tree\n" + "\n".join(f"{'  ' * depth}- {text}" for depth, text in lines) + "\n:::"


# ---- further sentences


@rests_on(ONE_PASS)
def replay() -> str:
    "What a tenth of English among the training text keeps, and costs."
    language = "cy"
    bits, english = (table.loc[_UNREAD][language] for table in (_ends(), _ends(_OTHER)))
    kept = f"English at {english['lapt-replay']:.2f} bits per byte instead of {english['lapt']:.2f}"
    cost = bits["lapt-replay"] - bits["lapt"]
    return f"after a pass over Welsh, SmolLM2's {kept}, and its Welsh {cost:.2f} higher{_seeds(_table(ONE_PASS))}"


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
    return f"{lowest}, and {compared(str(method), 'subtoken-mean', EXTENDED)}{_seeds(_table(EXTENDED))}"


@rests_on(SPEEDRUN)
def equal_time() -> str:
    "The recipes of the speedrun's budget that most have run, lowest first."
    runs = _table(SPEEDRUN).query("valid == 'yes'")
    minutes = runs.minutes.mode()[0]
    first = runs[runs.minutes == minutes].sort_values("score").head(3)
    told = listed([f"`{recipe}` ({score:.2f})" for recipe, score in zip(first.recipe, first.score)])
    return (
        f"in {minutes:g} CPU-minutes of SmolLM2 in Swahili the lowest bits per byte are those of {told}, one seed each"
    )


# ---- what to do, of three chapters: data/records/study.csv.gz


@cache
def _scores(chapter: str, metric: str) -> pd.DataFrame:  # rows: (source, language); columns: methods
    "Scores of transfer, means over seeds."
    rows = _table(STUDY).query("chapter == @chapter and scale == 'mini' and metric == @metric and what == 'transfer'")
    return rows.groupby(["source", "language", "method"]).value.mean().unstack()


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


@rests_on(STUDY)
def unks_scores() -> str:
    "What pays in UNKs Everywhere, as a list."
    table = _scores("unks-everywhere", "entity_f1").loc["en"]
    storage = "Low-dimensional embeddings save memory and storage, and cost accuracy after short training"
    told = _supported(
        table,
        "languages",
        ("Copy the overlap", "EL-LEX", "EL-RAND"),
        (storage, "EL-LEX", "MF1-LEX"),
        ("With ten up-projections, learn the clusters with the factors", "MF10-NEURAL-LEX", "MF10-KMEANS-LEX"),
    )
    beside = [f"{method} is above it in {_wins(table, method, 'mBERT', 'languages')[2]}" for method in _OF_UNKS]
    return "\n".join([*told, f"- Compare with the model as it comes: {listed(beside)}."])


_OF_UNKS = ("EL-LEX", "FMT-LEXINIT")


@rests_on(STUDY)
def mad_x_scores() -> str:
    "What pays in MAD-X, as a list."
    table = _scores("mad-x", "entity_f1")
    sources, languages = (table.index.get_level_values(level) for level in ("source", "language"))
    is_far = languages.isin(["am", "km"]) & ~sources.isin(["am", "km"])
    is_near, unit = ~languages.isin(["am", "km"]) & (sources != languages), "pairs of languages"
    new = ("A language in an unknown script needs embeddings of its own", "MAD-X, new vocabulary", "MAD-X")
    plain = ("In scripts that the model knows, try it without adapters first", "XLM-R", "MAD-X")
    whole = ("Or train the whole model on the target's text before fine-tuning", "XLM-R MLM-TRG", "MAD-X")
    told = [*_supported(table[is_far], unit, new, whole), *_supported(table[is_near], unit, plain)]
    inverse = _wins(table[sources != languages], "MAD-X", "MAD-X -INV", unit)[2]
    return "\n".join([*told, f"- With invertible adapters MAD-X is above MAD-X -INV in {inverse}."])


@cache
def _losses(what: str) -> pd.DataFrame:  # rows: methods; columns: languages
    rows = _table(STUDY).query("chapter == 'compare' and scale == 'mini' and what == 'start' and metric == 'loss'")
    if what == "end":
        rows = _table(STUDY).query("chapter == 'compare' and scale == 'mini' and what == 'way' and metric == 'end'")
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
            f"convex leave the region in which the model expects embeddings: CLP starts at {apart['clp']:.0f} nats, "
            f"OMP at {apart['omp']:.0f}, random mapping at {apart['random']:.0f}.",
            f"- After training these are lowest in Swahili: {_lowest_losses('end', 'sw')}; in Amharic: "
            f"{_lowest_losses('end', 'am')}.",
        )
    )
