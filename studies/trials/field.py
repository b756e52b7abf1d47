"""A study's records in one file that others can check: who made them, when, with what, and on which data."""

from __future__ import annotations

import hashlib
import io
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from studies.figures.style import INK, PALETTE, described, plt, use_style
from studies.papers.printed import record_rows
from vocab_lit.runs.grid import environment
from vocab_lit.study.report import BEST, BITS, PLACE, UNKNOWN, measures
from vocab_lit.study.study import StudyRun, study_facts
from vocab_lit.text.corpus import data_path
from vocab_lit.text.files import write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FORMAT = "vocab-lit study 1"
ABOUT = ("format", "contributor", "date", "study", "files", "ways", "measures", "seeds", "device", "versions", "table")
COLUMNS = (
    *("setting", *PLACE, "method", "mode", "vocabulary", "seed", "chapter", "scale", "what", "task", "source"),
    *("metric", "step", "value", "seconds", "device", "library", "fingerprint"),
)
_CELL = ["setting", *PLACE, "seed"]
IN_LANGUAGE, ZERO_SHOT = "in language", "zero-shot"


def _text_of(table: pd.DataFrame) -> str:
    return table.reindex(columns=list(COLUMNS)).to_csv(index=False, float_format="%.8g", lineterminator="\n")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def about_file(path: str | Path) -> Path:
    "The file that describes shared records, beside them."
    return Path(path).with_suffix(".json")


def shared_form(
    table: pd.DataFrame,  # a row per value
    about: Mapping[str, object],  # study, files, ways, measures, seeds (by way)
    contributor: str,
) -> tuple[dict, str]:
    "The description of shared records, and their table as text."
    text = _text_of(table)
    made = dict(contributor=contributor, date=time.strftime("%Y-%m-%d"), **environment())
    return dict(format=FORMAT, **made, **about, table=_digest(text)), text


def write_shared(
    path: str | Path,  # a new file; a second one with the suffix .json describes it
    table: pd.DataFrame,
    about: Mapping[str, object],
    contributor: str,
) -> None:
    "Write records to share; `ValueError` where they are not whole, and then nothing is written."
    described, text = shared_form(table, about, contributor)
    _check(described, text, Path(path).name)
    with write_text(path) as file, write_text(about_file(path)) as beside:
        file.write(text)
        beside.write(json.dumps(described, ensure_ascii=False, indent=1) + "\n")


def _described(said: str) -> dict | None:
    "The description of shared records from JSON; None where it is about something else."
    try:
        about = json.loads(said)
    except ValueError:
        return None
    return about if isinstance(about, dict) and about.get("format") == FORMAT else None


def _problems(about: dict, text: str, table: pd.DataFrame) -> Iterator[str]:
    "Yield what is wrong with shared records; each check relies on those before it."
    yield from (f"its description has no {key}" for key in ABOUT if not about.get(key))
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(about["date"])) or not str(about["contributor"]).strip():
        given = f"date {about['date']!r} and contributor {about['contributor']!r}"
        yield f"{given}; give a day as 2026-01-31, and a name"
    if _digest(text) != about["table"]:
        yield "the table is not the one that was written; share the study again"
    if tuple(table.columns) != COLUMNS:
        yield f"its columns are not {', '.join(COLUMNS)}"
    for row in table[~np.isfinite(table.value)].itertuples():
        yield f"{row.metric} of {row.setting} is no number"
    is_share = (table.what == "task") | (table.metric == UNKNOWN)
    is_zero = table.metric.isin([BITS, BEST]) & (table.value == 0)
    for row in table[(table.value < 0) | (is_share & (table.value > 1)) | is_zero].itertuples():
        yield f"{row.metric} of {row.setting} in {row.language} is {row.value:g}, which cannot be"
    for row in table[table.duplicated([*_CELL, "what", "task", "source", "metric", "step"])].itertuples():
        yield f"{row.metric} of {row.setting} stands there twice"
    marks = table.groupby(_CELL, sort=False).fingerprint.nunique()
    if (marks > 1).any() or table.groupby("fingerprint").ngroups != len(marks):
        yield "fingerprints and cells do not go together"
    for cell in sorted(set(marks.index) - set(table[table.metric == BEST].groupby(_CELL).groups)):
        yield f"{' '.join(map(str, cell))} has no {BEST}"
    for (way, *place), seeds in table.groupby(["setting", *PLACE], sort=False).seed.unique().items():
        if way not in about["seeds"]:
            yield f"the way {way} is not described"
        for seed in sorted(set(about["seeds"][way]) - set(seeds)):
            yield f"{way} in {' '.join(place)} has no seed {seed}; finish the study, and share it then"
    yield from (f"it has no records of the way {way}" for way in sorted(set(about["seeds"]) - set(table.setting)))


def _check(about: dict | None, text: str, name: str) -> pd.DataFrame:
    import pandas as pd

    if about is None:
        raise ValueError(f"{name}: no records of a study; `python -m studies share FILE` writes them")
    if not text.strip():
        raise ValueError(f"{name}: there are no records in it")
    kinds = dict.fromkeys(set(COLUMNS) - {"seed", "step", "value", "seconds"}, str)
    try:
        table = pd.read_csv(
            io.StringIO(text), dtype=kinds, keep_default_na=False, na_values={c: [""] for c in ("step", "value")}
        )
        table = table.astype({"value": float, "seed": int})
    except (ValueError, KeyError) as e:
        raise ValueError(f"{name}: the table cannot be read: {str(e).splitlines()[0]}") from None
    for problem in _problems(about, text, table):
        raise ValueError(f"{name}: {problem}")
    return table.assign(contributor=about["contributor"], date=about["date"])


def _both_files(path: Path) -> tuple[dict | None, str]:
    "The description of shared records, and their table as text."
    text = path.read_text(encoding="utf-8")
    if text.startswith("# "):  # of version 0.1: the description is the first line
        first, _, text = text.partition("\n")
        return _described(first.removeprefix("# ")), text
    beside = about_file(path)
    return (_described(beside.read_text(encoding="utf-8")) if beside.is_file() else None), text


def read_shared(
    path: str | Path,
) -> pd.DataFrame:  # the columns of COLUMNS, and contributor and date
    "Read shared records; `ValueError` where they are not whole."
    try:
        about, text = _both_files(Path(path))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not UTF-8, and so no records of a study") from None
    return _check(about, text, str(path))


def field_rows(
    *paths: str | Path,  # of shared records
) -> pd.DataFrame:  # as `record_rows`; scale is field
    "Shared records in the form in which claims are checked: the way as method, scores in points, and their kind."
    import pandas as pd

    table = pd.concat([read_shared(path) for path in paths], ignore_index=True)
    of_task = table.what == "task"
    table["kind"] = np.where(table.source == table.language, IN_LANGUAGE, ZERO_SHOT)
    table.loc[~of_task, "kind"] = ""
    table.loc[of_task, "value"] *= 100
    return record_rows(table.assign(method=table.setting, setting=""))


TRIAL, CURVES, RATES = "records", "curves", "rates"


def own_records(
    study: str = TRIAL,  # TRIAL, CURVES or RATES
) -> Path:
    "The records of the field trial, of its learning curves or of its learning rates."
    return data_path("field", f"{study}.csv")


def with_field(
    rows: pd.DataFrame,  # as `read_records` gives
    *paths: str | Path,  # of shared records; none: the field trial's
) -> pd.DataFrame:  # the same columns
    "Those rows and the field trial's; `verdicts` judges each scale by itself."
    import pandas as pd

    of_field = field_rows(*(paths or [own_records()]))
    return pd.concat([rows, of_field[list(rows.columns)]], ignore_index=True)


def contributed_files() -> list[Path]:
    "The records that others have contributed to this version of the package."
    return sorted(data_path("field").glob("contributed/*.csv"))


def share_study(
    run: StudyRun,
    contributor: str,
) -> Path:  # the file
    "Write the records of a study that is complete as a file for others; `ValueError` where one is missing."
    missing = [cell for cell in run.study.cells if not run.record(cell)]
    if missing:
        problem = f"{len(missing)} of {len(run.study.cells)} cells have no record, such as {missing[0]}"
        raise ValueError(f"{problem}; finish the study by `vocab-lit study {run.study.path}`, and share it then")
    study = run.study
    seeds = {name: list(way.only.get("seeds", study.seeds)) for name, way in study.ways.items()}
    facts = study_facts(study, run.digests)
    files = {name if "{data}" in name else Path(name).name: digest for name, digest in facts["files"].items()}
    about = dict(study=study.name, files=files, ways=facts["ways"], measures=facts["measures"], seeds=seeds)
    path = run.out / (re.sub(r"[^\w.-]+", "-", f"{study.name}-{contributor}") + ".csv")
    write_shared(path, run.frame(), about, contributor)
    return path


def distances(
    table: pd.DataFrame,  # as for `measures`
    baseline: str,  # the way that the others are compared with
    measure: str,  # of those that `measures` names
) -> pd.DataFrame:  # rows: model, language, limit; a column for each way
    "The ways' values less the baseline's, means over seeds; `ValueError` where nothing can be compared."
    rows = measures(table)
    if measure not in set(rows.measure):
        raise ValueError(f"no measure {measure!r}; choose from {', '.join(rows.measure.unique())}")
    rows = rows[rows.measure == measure]
    values = rows.pivot_table(index=[*PLACE, "seed"], columns="setting", values="value", sort=False)
    if baseline not in values:
        raise ValueError(f"no {measure} of the way {baseline!r}; choose from {', '.join(values)}")
    apart = values.drop(columns=baseline).sub(values[baseline], axis=0)
    return apart.groupby(list(PLACE), sort=False).mean()


def distance_dots(
    table: pd.DataFrame,
    baseline: str,
    measure: str,
    path: str | Path | None = None,
) -> Figure:
    "How far each way is from the baseline: a dot for each language, and a bar at their mean; the best way is on top."
    use_style()
    apart = distances(table, baseline, measure)
    less_is_better = measure.startswith(BITS)
    means = apart.mean().sort_values(ascending=less_is_better)
    fig, ax = plt.subplots(figsize=(7.5, 0.28 * len(means) + 1.1), layout="constrained")
    for i, (language, part) in enumerate(apart[means.index].groupby(level="language", sort=False)):
        places = np.tile(np.arange(len(means)), len(part))  # for each model and amount
        style = dict(linestyle="", marker="osD^vP"[i % 6], markersize=5, color=PALETTE[i % len(PALETTE)])
        ax.plot(part.to_numpy().ravel(), places, label=language, **style)
    bar = dict(linestyle="", marker="|", markersize=13, markeredgewidth=2, color=INK)
    ax.plot(means, range(len(means)), label="mean", **bar)
    ax.axvline(0, color=INK, linewidth=1)
    better = "left" if less_is_better else "right"
    xlabel = f"{measure}, less that of {baseline}: {better} is better"
    ax.set(yticks=range(len(means)), yticklabels=means.index, ylim=(len(means) - 0.4, -0.6), xlabel=xlabel)
    ax.grid(axis="x", visible=False)
    fig.legend(loc="outside right upper")
    told = ", ".join(f"{way} {mean:+.3g}" for way, mean in means.items())
    return described(fig, apart.stack().rename("distance").reset_index(), f"{xlabel}. Means: {told}.", path)
