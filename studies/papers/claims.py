"""Every finding of the papers as one line that can be checked: on their own numbers, and on ours."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import yaml

from studies.papers.printed import RECORDS, having, plain_text, published, record_rows
from studies.papers.store import CellStore, beside_book
from vocab_lit.runs.grid import fingerprint
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    import pandas as pd


EXACT = ("every", "count", "between")
_HOW = ("more_than", "sides", "over", "lower", "by", "as", "less_std")
KEYS = ("better", "than", "rises", "falls", "with", *_HOW, *EXACT)
TABLES = ("table", "setup", "method", "language", "task", "dataset", "metric")  # columns of the papers' numbers


FIELD = "field"  # scale of the records of the field trial
REAL = "real"  # of the starts of pretrained models


def listed(value: object) -> list:
    "A list as it is, and any other value as a list of one."
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True)
class Claim:
    "A finding of a paper, and how to check it."

    id: str
    paper: str  # name of a file of published tables; there may be none where no claim asks for it
    where: str  # section
    says: str  # in our words
    published: dict | str  # a predicate over the paper's numbers, or why there is none
    records: dict | str  # the same over ours
    field: dict | None = None  # the same over the field trial's, where it can be asked of them
    real: dict | None = None  # and over the starts of pretrained models
    beyond: str = ""  # why the bundled models and the recorded study have fewer than six pairs, which decide nothing


def _near(name, names):  # for messages
    lower = {str(n).lower(): str(n) for n in names}
    near = difflib.get_close_matches(str(name).lower(), lower, 1, 0)
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


_SIDES = ("better", "than", "rises", "falls", "with")


def _sides(predicate):  # what it compares or correlates
    sides = [predicate[k] for k in _SIDES if predicate.get(k) is not None and predicate[k] != "others"]
    return [{"method": s} if isinstance(s, (str, list)) else s for s in sides]


def _unknown_key(predicate, columns):
    parts = [predicate, *(s for s in _sides(predicate) if isinstance(s, dict))]
    for key in (
        key for part in parts for key in part if key not in columns and (key not in KEYS or part is not predicate)
    ):
        return f"unknown key {key!r}{_near(key, (*KEYS, *columns))}"
    return None


def _unknown_column(predicate, columns):
    for column in predicate.get("over", ()):
        if column not in (*columns, "seed"):
            return f"unknown column {column!r}{_near(column, columns)}"
    return None


def _unknown_choice(predicate, columns):
    for key, choices in (("sides", ("best", "mean", "worst")), ("as", ("ratio",))):
        if predicate.get(key, choices[0]) not in choices:
            return f"{key} {predicate[key]!r}: choose from {', '.join(choices)}"
    return None


def _compares_nothing(predicate, columns):
    if {k for k in _SIDES if k in predicate} in ({"better", "than"}, {"rises", "with"}, {"falls", "with"}):
        return None
    return "needs better and than, or rises or falls and with"


def _twice_exact(predicate, columns):
    exact = [k for k in EXACT if k in predicate]
    return f"{exact[0]} and {exact[1]}: one is enough" if len(exact) > 1 else None


def _check(predicate, columns, at, inner=False):
    "Refuse a predicate that is not well formed."
    if not isinstance(predicate, dict):
        raise ValueError(f"{at}: {predicate!r} is neither a predicate nor a reason")
    rules = [_unknown_key, _unknown_column, _unknown_choice] + [_compares_nothing, _twice_exact] * (not inner)
    for rule in rules:
        if problem := rule(predicate, columns):
            raise ValueError(f"{at}: {problem}")
    if "more_than" in predicate and not inner:
        _check(predicate["more_than"], columns, at, inner=True)


def _read_claims(path):  # by paper
    try:
        file = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as e:
        raise ValueError(f"{path.name} is not YAML: {' '.join(str(e).split())}") from None
    if not isinstance(file, dict):
        raise ValueError(f"{path.name}: expected the names of papers with a list of claims under each")
    return {paper: found for paper, found in file.items() if paper != "shared"}  # values used in several places


def _claim(said, paper, file):
    at, names = f"{file}, {paper}, {said.get('id')!r}", Claim.__dataclass_fields__
    if unknown := [k for k in said if k not in names]:
        raise ValueError(f"{at}: unknown key {unknown[0]!r}{_near(unknown[0], names)}")
    if missing := [k for k in names if k not in ("paper", FIELD, REAL, "beyond") and not said.get(k)]:
        raise ValueError(f"{at}: has no {missing[0]}")
    for side, columns in (("published", TABLES), ("records", RECORDS), (FIELD, RECORDS), (REAL, RECORDS)):
        says_why_not = isinstance(said.get(side), str) and side not in (FIELD, REAL)
        if side in said and not says_why_not:
            _check(said[side], columns, f"{at}, {side}")
    return Claim(paper=paper, **said)


def load_claims(
    path: str | Path | None = None,  # YAML: under each paper its claims; or a folder of such files; None: ours
) -> list[Claim]:
    "Read claims; `ValueError` with file and claim where something in them is not known."
    path, out, papers = Path(path or data_path("claims")), [], [p.stem for p in data_path("published").glob("*.csv")]
    files = sorted(path.glob("*.yml"), key=lambda f: (f.stem not in papers, f.stem)) if path.is_dir() else [path]
    for file, paper, of_paper in [(one, *item) for one in files for item in _read_claims(one).items()]:
        if paper not in papers and any(isinstance(said.get("published"), dict) for said in of_paper):
            raise ValueError(f"{file.name}: no paper {paper!r}{_near(paper, papers)}")
        out += [_claim(said, paper, file.name) for said in of_paper]
    ids = [claim.id for claim in out]
    if twice := [name for i, name in enumerate(ids) if name in ids[:i]]:
        raise ValueError(f"{path.name}: {twice[0]!r} is the name of two claims")
    return out


def printed_rows(paper: str) -> pd.DataFrame:  # columns of TABLES as text, value and seeds
    "The numbers that a paper prints."
    return published(paper).dropna(subset="value").rename(columns={"seeds": "seed"})


def read_records(
    folder: str | Path = "../_build/study",  # with a folder of records for each chapter
    library: str | None = None,  # stamp of the library that made them; None: the present one; "": any
) -> pd.DataFrame:  # as `record_rows`
    "The records of all chapters and scales that the present library has made."
    import pandas as pd

    folders = [f for f in sorted(beside_book(folder).glob("*")) if f.is_dir()]
    frames = [CellStore(f).frame().assign(chapter=f.name) for f in folders]
    frames = [frame for frame in frames if len(frame)] or [pd.DataFrame(columns=["value", "step", "library"])]
    found = pd.concat(frames, ignore_index=True)
    return record_rows(found if library == "" else found[found.library == (library or fingerprint())])


def with_starts(
    rows: pd.DataFrame,  # as `read_records` gives
    path: str | Path | None = None,  # as `studies.trials.starts` writes it; None: the package's
) -> pd.DataFrame:  # the same columns
    "Those rows and the starts of pretrained models with a vocabulary of another language."
    import pandas as pd

    starts = pd.read_csv(path or data_path("starts.csv")).rename(columns={"bits_per_byte": "value"})
    named = starts.assign(chapter="starts", scale=REAL, what="held-out text", metric="bits per byte")
    return pd.concat([rows, record_rows(named.drop(columns="text"))[list(rows.columns)]], ignore_index=True)


def _where(predicate):
    return {k: v for k, v in predicate.items() if k not in KEYS}


def _cells(rows, side, over, predicate):  # one number for each pair
    best, worst = ("min", "max") if predicate.get("lower") else ("max", "min")
    several = {"best": best, "mean": "mean", "worst": worst}[predicate.get("sides", "best")]
    cells = having(rows, side).groupby([*over, *(c for c in side if c not in over)], sort=False).value.mean()
    return cells.groupby(over, sort=False).agg(several)


def _others(rows, better):  # all methods, or what is compared, but those of one side
    column, mine = next(iter(better.items()))
    return {column: sorted(set(rows[column]) - {plain_text(value) for value in listed(mine)})}


def differences(
    rows: pd.DataFrame,  # from `printed_rows` or `record_rows`
    predicate: dict,
) -> pd.Series:  # index: what the two of a pair have in common; above 0 where the claim says so
    "By how much the one side of a predicate is better than the other, or their ratio, for each pair."
    chosen, better = having(rows, _where(predicate)), _sides(predicate)[0]
    than = _others(chosen, better) if predicate["than"] == "others" else _sides(predicate)[1]
    compared = {*better, *than} | ({"step"} if "stage" in {*better, *than} else set())
    columns = TABLES if "table" in rows else RECORDS
    over = predicate.get("over") or [c for c in columns if c not in compared]
    a, b = (_cells(chosen, side, over, predicate) for side in (better, than))
    a, b = a.align(b, join="inner")
    if predicate.get("as"):
        return a / b
    return b - a if predicate.get("lower") else a - b


LEVEL, DRAWS = 0.05, 4999


@dataclass(frozen=True)
class Evidence:
    "Differences of pairs, less `by`, whose mean is tested."

    pairs: pd.Series  # by what the two of a pair have in common
    samples: tuple[np.ndarray, ...]  # one; for two groups, two
    permutation: ClassVar[str] = "samples"  # what scipy permutes: the signs

    @staticmethod
    def statistic(*samples, axis=-1):
        return samples[0].mean(axis=axis)

    @property
    def tested(self) -> float:
        return float(self.statistic(*self.samples))

    @property
    def standardised(self) -> float:
        "The statistic over the pooled standard deviation."
        freedom = sum(len(s) - 1 for s in self.samples)
        squares = sum(((s - s.mean()) ** 2).sum() for s in self.samples)
        deviation = np.sqrt(squares / freedom) if freedom else 0
        return self.tested / deviation if deviation > 1e-12 else np.nan

    @property
    def agree(self) -> float:  # pairs with the claimed sign
        return int((self.samples[0] > 0).sum())

    @property
    def p(self) -> float:
        from scipy.stats import permutation_test

        if min(map(len, self.samples)) < 2:  # of one, nothing can be permuted
            return 1.0
        asked = dict(permutation_type=self.permutation, n_resamples=DRAWS, random_state=0)
        return float(permutation_test(self.samples, self.statistic, **asked).pvalue)


class TwoGroups(Evidence):
    "Differences in two groups of pairs, whose means are compared."

    permutation = "independent"  # the members of the groups
    agree = np.nan

    @staticmethod
    def statistic(*samples, axis=-1):
        first, second = samples
        return first.mean(axis=axis) - second.mean(axis=axis)


@dataclass(frozen=True)
class Correlation(Evidence):
    "Two numbers for each pair, the first in `samples`, and Pearson's r."

    partners: np.ndarray  # of the numbers in `samples`; both with mean 0 and length 1
    permutation: ClassVar[str] = "pairings"
    agree = np.nan

    def statistic(self, *samples, axis=-1):
        return np.moveaxis(samples[0], axis, -1) @ self.partners

    @property
    def standardised(self) -> float:
        return self.tested


def _unit(values):
    centred = values - values.mean()
    return centred / np.sqrt((centred**2).sum())


def _correlation(rows, predicate) -> Correlation:
    rows, over = having(rows, _where(predicate)), predicate.get("over", ["language"])
    x, y = (_cells(rows, side, over, predicate) for side in _sides(predicate))
    x, y = x.align(y, join="inner")
    if not len(x):
        return Correlation(x, (x.to_numpy(),), y.to_numpy())
    return Correlation(x, (_unit(x.to_numpy()),), _unit(y.to_numpy()))


def _comparison(rows, predicate) -> Evidence:
    import pandas as pd

    by, first, inner = predicate.get("by", 0), differences(rows, predicate), predicate.get("more_than")
    if not inner:
        return Evidence(first, (first.to_numpy() - by,))
    second = differences(rows, {k: v for k, v in predicate.items() if k != "more_than"} | inner)
    changed = [c for c in inner if c in first.index.names]
    if any(isinstance(side.get(c), list) for side in (predicate, inner) for c in changed):
        return TwoGroups(pd.concat([first, second]), (first.to_numpy() - by, second.to_numpy()))
    if changed:
        first, second = first.droplevel(changed), second.droplevel(changed)
    first, second = first.align(second, join="inner")
    return Evidence(first - second, ((first - second).to_numpy() - by,))


def _holds(predicate, effect, evidence):  # whether an exact statement does
    if "every" in predicate:
        return evidence.agree == len(evidence.pairs)
    if "count" in predicate:
        return evidence.agree == predicate["count"]
    low, high = predicate["between"]
    return (low is None or effect >= low - 1e-9) and (high is None or effect <= high + 1e-9)


def _verdict(predicate, tested, p):
    if not p < LEVEL:
        return "undecided"
    as_said = tested < 0 if "falls" in predicate else tested > 0
    return "supported" if as_said else "contradicted"


def _comparable(rows, predicate):  # without printed averages, unless they are asked for
    if "table" not in rows:
        return rows
    if predicate.get("language") != "avg":
        rows = rows[~rows.language.str.startswith("avg")]
    return rows if "metric" in predicate else rows[~rows.metric.str.contains(" / ", regex=False)]


def judge(
    rows: pd.DataFrame,  # from `printed_rows` or `record_rows`, of one scale
    predicate: dict,
) -> dict:  # verdict, effect, standardised, p, pairs, agree (pairs with the claimed sign), languages, seeds
    "What the rows say about a predicate."
    out = dict.fromkeys(("verdict", "effect", "standardised", "p", "pairs", "agree"), np.nan)
    out |= dict(verdict="no numbers", pairs=0, languages="", seeds=0)
    if rows.empty:
        return out
    rows = _comparable(rows, predicate)
    if predicate.get("less_std"):  # as a table's caption compares: the mean less the standard deviation
        rows = rows.assign(value=rows.value - rows["std"].fillna(0))
    evidence = (_correlation if "with" in predicate else _comparison)(rows, predicate)
    out |= dict(pairs=len(evidence.pairs), **_extent(rows, predicate, evidence.pairs))
    if not all(map(len, evidence.samples)):
        return out
    effect = evidence.tested + predicate.get("by", 0)
    out |= dict(effect=effect, standardised=evidence.standardised, agree=evidence.agree)
    if any(k in predicate for k in EXACT):
        return out | dict(verdict="supported" if _holds(predicate, effect, evidence) else "contradicted")
    p = evidence.p
    return out | dict(verdict=_verdict(predicate, evidence.tested, p), p=p)


def _extent(rows, predicate, pairs):  # how many languages and seeds speak
    used = having(rows, {k: v for k, v in _where(predicate).items() if k != "language"})
    if "language" in pairs.index.names:
        languages = pairs.index.get_level_values("language")
    else:
        languages = having(used, {k: v for k, v in predicate.items() if k == "language"}).language
    seeds = used.seed.max() if "table" in rows else used.seed.nunique()
    return dict(languages=" ".join(sorted(set(languages) - {""})), seeds=seeds)


NAMES = ("table", "setup", "method", "metric", "task", "what", "model", "mode")


class _Unknown(ValueError):
    "A name that no row has."


def _look_up(predicate, rows, at):
    "Refuse names that none of the rows has."
    for part in (predicate, *filter(lambda s: isinstance(s, dict), _sides(predicate))):
        for column in set(NAMES) & set(part):
            known = set(rows[column].unique())
            if unknown := [w for w in listed(part[column]) if plain_text(w) not in known]:
                raise _Unknown(f"{at}: no {column} {unknown[0]!r}{_near(unknown[0], sorted(known))}")
    if inner := predicate.get("more_than"):
        _look_up(inner, rows, at)


def _judged(claim, source, predicate, rows, strict):
    row = dict(id=claim.id, paper=claim.paper, where=claim.where, says=claim.says, source=source)
    if isinstance(predicate, str):
        return row | dict(verdict="not checked", why=predicate)
    try:
        if source in ("published", "mini", FIELD, REAL) and len(rows):
            _look_up(predicate, rows, f"claim {claim.id!r}, {source}")
        row |= judge(rows, predicate)
    except _Unknown as e:
        if strict or source == "published":
            raise
        return row | dict(verdict="no numbers", why=str(e))
    if claim.beyond and source in ("mini", "recorded") and row["verdict"] in ("undecided", "no numbers"):
        return row | dict(verdict="beyond reach", why=claim.beyond)
    return row | (dict(why="no records of both sides") if row["verdict"] == "no numbers" else {})


def verdicts(
    claims: Iterable[Claim],
    records: pd.DataFrame | None = None,  # from `read_records`; None: the papers' numbers alone
    # whether a name that is in no record of a chapter run at scale mini is refused; otherwise it is the reason (why)
    strict: bool = True,
) -> pd.DataFrame:  # a row per claim and source: id, paper, where, says, source, what `judge` gives, why if not checked
    "What the papers' own numbers (source `published`) and ours (source: the scale, as `mini`) say about all claims."
    import pandas as pd

    claims = list(claims)
    papers = {c.paper for c in claims if isinstance(c.published, dict)}
    printed, out = {paper: printed_rows(paper) for paper in papers}, []
    if records is not None:
        by_chapter = dict(list(records.groupby("chapter")))
    for claim in claims:
        out.append(_judged(claim, "published", claim.published, printed.get(claim.paper), strict))
        if records is None:
            continue
        of_claim = claim.records.get("chapter") if isinstance(claim.records, dict) else claim.paper
        chapter = by_chapter.get(of_claim, records[:0])
        for scale in dict.fromkeys(["mini", *chapter.scale.unique()]):
            out.append(_judged(claim, scale, claim.records, chapter[chapter.scale == scale], strict))
        for trial, predicate in ((FIELD, claim.field), (REAL, claim.real)):
            rows = records[records.scale == trial]
            if predicate and len(rows):
                out.append(_judged(claim, trial, predicate, rows, strict))
    judged = pd.DataFrame(out)
    other = judged.source.str.contains(", ")  # a chapter with another setting, of which few claims are asked
    return judged[~other | judged.verdict.isin(["supported", "contradicted", "undecided"])].reset_index(drop=True)


def summary(
    found: pd.DataFrame,  # from `verdicts`
) -> pd.DataFrame:  # rows (source, paper), columns verdicts
    "How many claims are supported, contradicted, undecided, beyond reach, without numbers and not checked."
    counts = found.groupby(["source", "paper"], sort=False).verdict.value_counts().unstack(fill_value=0)
    return counts.reindex(
        columns=["supported", "contradicted", "undecided", "beyond reach", "no numbers", "not checked"], fill_value=0
    ).rename_axis(columns=None)


def _in_lines(sentence):  # as wide as a label may be
    return textwrap.fill(sentence, 52)


def effect_dots(
    found: pd.DataFrame,  # from `verdicts`, of one paper
    most: float = 3,  # effects beyond this are drawn at it
    path: str | Path | None = None,
):
    "Standardised effects of the claims, a colour for each verdict; what is beyond reach is half filled."
    from studies.figures.charts import INK, PALETTE, described, plt, use_style

    use_style()
    blue, orange, _, _, _, grey, *_ = PALETTE
    colours = {"supported": blue, "contradicted": orange, "undecided": grey, "beyond reach": grey}
    half = dict(fillstyle="left", markerfacecoloralt="none")
    rows = found[found.standardised.notna()]
    names, sources = (list(dict.fromkeys(rows[c])) for c in ("id", "source"))
    markers = {source: "osD^v"[i % 5] for i, source in enumerate(sources)}
    sentences = rows.drop_duplicates("id").says.map(_in_lines)
    ends = np.cumsum([0, *(1.6 + text.count("\n") for text in sentences)])  # a row is as high as its lines, and a gap
    middles = dict(zip(names, (ends[1:] + ends[:-1]) / 2))
    fig, ax = plt.subplots(figsize=(9, 0.9 + 0.16 * ends[-1]), layout="constrained")
    for (source, verdict), part in rows.groupby(["source", "verdict"], sort=False):
        style = dict(linestyle="", marker=markers[source], markersize=6, markeredgewidth=1.5, color=colours[verdict])
        if verdict == "beyond reach":
            style |= half
        elif source != "published":
            style |= dict(markerfacecolor="none")
        ax.plot(part.standardised.clip(-most, most), part.id.map(middles), **style)
    ax.axvline(0, color=INK, linewidth=1)
    said = f"standardised effect, above 0 where the claim says so; beyond {most:g} it is drawn at {most:g}"
    ax.set(yticks=list(middles.values()), ylim=(ends[-1] + 0.2, -0.2), xlabel=said)
    ax.set_yticklabels(sentences, fontsize=9.5)
    handles = []
    for verdict in [verdict for verdict in colours if verdict in set(rows.verdict)]:
        face = half if verdict == "beyond reach" else {}
        handles.append(plt.Line2D([], [], linestyle="", marker="s", color=colours[verdict], label=verdict, **face))
    for source, marker in markers.items():
        face, label = (INK, "the paper's numbers") if source == "published" else ("none", f"ours, {source}")
        handles.append(plt.Line2D([], [], linestyle="", marker=marker, color=INK, markerfacecolor=face, label=label))
    fig.legend(handles=handles, loc="outside upper center", ncols=4)
    counts = []
    for source, part in rows.groupby("source", sort=False):
        each = ", ".join(f"{n} {verdict}" for verdict, n in part.verdict.value_counts().items())
        counts.append(f"{'the paper' if source == 'published' else source}: {each}")
    data = rows[["id", "says", "source", "verdict", "effect", "standardised", "p", "pairs"]]
    alt = f"Standardised effects of {len(names)} claims. {'; '.join(counts)}."
    return described(fig, data, alt, path)
