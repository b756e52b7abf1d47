"""A larger study than a page can measure, computed once and kept in `data/records/`: more languages and more seeds."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import vocab_lit
from studies.papers.claims import RECORDS, record_rows
from studies.papers.printed import plain_text
from studies.papers.store import Cell, CellStore
from studies.records.record import replace_file
from vocab_lit.runs.grid import environment, fingerprint, read_record
from vocab_lit.text.corpus import data_path, write_json

if TYPE_CHECKING:
    import pandas as pd


CELL = tuple(c for c in (*RECORDS, "scale") if c != "stage")  # columns that name a cell, without its seed
# columns that name what is replaced together: all steps and metrics of a seed
_TOGETHER = [c for c in (*CELL, "seed") if c not in ("metric", "step")]
MADE = ("version", "library", "date", "device")  # columns that say what a number was made with
SCALE = "mini"  # of the study; a trial has its name behind it


def is_duration(metric: str) -> bool:
    "Whether a metric is a run time: it differs between machines, and is never compared with a record."
    return metric in ("making", "training") or "seconds" in metric


def study_path() -> Path:
    "The bundled table."
    return data_path() / "records" / "study.csv.gz"


def study_rows(
    chapter: str = "",  # such as focus; empty: all
    path: str | Path | None = None,  # another table
) -> pd.DataFrame:  # columns of RECORDS as text, scale, seed, value, and those of MADE
    "The numbers of the recorded study; no rows where it has not been computed."
    import pandas as pd

    path = Path(path or study_path())
    if not path.is_file():
        return pd.DataFrame(columns=[*RECORDS, "scale", "seed", "value", *MADE]).astype({"value": float})
    rows = pd.read_csv(path, dtype=dict.fromkeys([*RECORDS, "scale", *MADE], str), keep_default_na=False)
    return rows[rows.chapter == chapter].reset_index(drop=True) if chapter else rows


def with_study(
    rows: pd.DataFrame,  # as `read_records` gives
    path: str | Path | None = None,  # another table than the bundled one
) -> pd.DataFrame:  # the same columns
    "Those rows and the study's, with `recorded` for `mini` in the scale; `verdicts` judges each scale by itself."
    import pandas as pd

    study = study_rows(path=path)
    study = study.assign(scale=study.scale.str.replace(SCALE, "recorded"))
    return pd.concat([rows, study[list(rows.columns)]], ignore_index=True) if len(study) else rows


def chapter_of(
    name: str,  # of a chapter or a trial, such as `focus` or `focus, 240 steps`
) -> str:
    "The chapter of a trial."
    return name.partition(", ")[0]


def fresh_rows(
    folder: str | Path,  # of a chapter's records
    chapter: str = "",  # empty: as the folder is called
) -> pd.DataFrame:  # columns of RECORDS as text, scale (with the name of the trial, if it is one), seed and value
    "The numbers that the present library has measured, or taken over from `lay_out`, without times."
    import pandas as pd

    recorded = CellStore(folder).frame()
    recorded = recorded[recorded.library == fingerprint()] if len(recorded) else pd.DataFrame(columns=["value", "step"])
    name = Path(folder).name
    rows = record_rows(recorded.assign(chapter=chapter or chapter_of(name)))
    rows["scale"] += name.removeprefix(chapter_of(name))
    return rows[rows.metric != "seconds"].reset_index(drop=True)


def _names(table):  # of the chapter or the trial, for each row
    return table.chapter + table.scale.str.removeprefix(SCALE)


def _write(table, path):
    text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    replace_file(path, gzip.compress(text.encode(), mtime=0))


OF_CELL = [c for c in RECORDS if c not in ("chapter", "metric", "step", "stage")]


def _seeds(key):  # that rows of a cell may have; None: any
    if key.get("tasks"):  # of each a number of fine-tunings
        return None
    return {key["seed"]} if "seed" in key else set(range(int(key.get("seeds", 1))))


def declared_rows(
    cells: Iterable[Cell],
) -> dict[tuple[str, ...], set[int] | None]:  # columns of OF_CELL: the seeds, None: any
    "Return what names the rows of cells."
    found: dict[tuple[str, ...], set[int] | None] = {}
    for cell in cells:
        key = {name: plain_text(value) for name, value in cell.key.items()}
        setting = key.get("setting", "")
        languages = key["targets"].split() if "targets" in key else [key.get("language", setting), *setting.split("+")]
        choices = {column: [key.get(column, "")] for column in OF_CELL}
        choices |= dict(method=key.get("methods", key.get("method", "")).split(" + "), language=languages)
        seeds = _seeds(cell.key)
        for name in product(*choices.values()):
            known = found.get(name, set())
            found[name] = None if seeds is None or known is None else known | seeds
    return found


def is_declared(
    rows: pd.DataFrame,  # as `study_rows`: of one chapter or trial
    cells: Iterable[Cell],
) -> list[bool]:  # for each row
    "Tell whether a row has the key of one of the cells."
    names = declared_rows(cells)
    keys = zip(rows[OF_CELL].itertuples(index=False, name=None), rows.seed)
    return [name in names and (names[name] is None or seed in names[name]) for name, seed in keys]


def keep_declared(
    cells: Mapping[str, Iterable[Cell]],  # by chapter and trial
    path: str | Path | None = None,  # the table, which is replaced; None: the bundled one
) -> None:
    "Take the rows of these chapters and trials that no cell makes out of the table."
    path, table = Path(path or study_path()), study_rows(path=path)
    names, stale = _names(table), np.zeros(len(table), bool)
    for name, declared in cells.items():
        stale[names == name] = ~np.array(is_declared(table[names == name], declared), bool)
    if stale.any():
        _write(table[~stale], path)


def gather(
    folder: str | Path,  # with a folder of records for each chapter and trial
    path: str | Path | None = None,  # the table, which is replaced; None: the bundled one
) -> pd.DataFrame:  # the table as it is now
    "Write the records of the present library into the table, in place of the rows of the same keys."
    import pandas as pd

    path, table = Path(path or study_path()), study_rows(path=path)
    made = dict(version=vocab_lit.__version__, library=fingerprint(), date=time.strftime("%Y-%m-%d"))
    for records in sorted(p for p in Path(folder).glob("*") if p.is_dir()):
        rows = fresh_rows(records).assign(**made, device=environment()["device"])
        if len(rows) and len(table):
            is_replaced = pd.MultiIndex.from_frame(table[_TOGETHER]).isin(pd.MultiIndex.from_frame(rows[_TOGETHER]))
            table = pd.concat([table[~is_replaced], rows], ignore_index=True)
        elif len(rows):
            table = rows

    _write(table, path)
    return table


ANEW = 20  # one cell in so many is measured anew
# cells that need models of their own, of which fewer are
_TRAINED_FOR = {"transfer", "steps", "limit", "guesses"}


def pages_path() -> Path:
    "The bundled file: JSON, a record in each line."
    return data_path() / "records" / "pages.jsonl.gz"


def kept_records(
    path: str | Path | None = None,  # a file from `keep_pages`; None: the bundled one
) -> list[dict]:
    "The records of the pages."
    path = Path(path or pages_path())
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def keep_pages(
    folder: str | Path,  # with a folder of records for each chapter
    path: str | Path | None = None,  # the file, which is replaced; None: the bundled one
    others: Iterable[dict] = (),  # records that are kept as they are
) -> int:  # how many records it has
    "Write what the present library has measured or taken over at scale mini into one file."
    path, kept, library = Path(path or pages_path()), list(others), fingerprint()
    for file in sorted(Path(folder).glob("*/*.json")):
        record = read_record(file)
        if record and record["library"] == library and record["key"].get("scale", SCALE) == SCALE:
            today = time.strftime("%Y-%m-%d", time.localtime(file.stat().st_mtime))
            made = dict(library=record.pop("measured_by", library), date=record.get("date", today))
            kept.append(dict(record, **made, chapter=file.parent.name, file=file.name))
    kept.sort(key=lambda record: (record["chapter"], record["file"]))
    lines = "".join(json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n" for record in kept)
    replace_file(path, gzip.compress(lines.encode(), mtime=0))
    return len(kept)


def _is_measured_anew(record, library, anew):
    drawn = hashlib.sha256(f"{library} {record['chapter']} {record['file']}".encode()).hexdigest()
    rarer = 5 if anew > 1 and record["key"].get("what") in _TRAINED_FOR else 1
    return int(drawn, 16) % (anew * rarer) == 0


def lay_out(
    folder: str | Path,  # with a folder of records for each chapter
    path: str | Path | None = None,  # a file from `keep_pages`; None: the bundled one
    anew: int = ANEW,  # one cell in so many, or fewer, is left out, to be measured anew; 1: all are
) -> None:
    "Put the records of the pages where chapters look for them; what the present library has measured there stays."
    library = fingerprint()
    wanted = {Path(folder, kept["chapter"], kept["file"]): kept for kept in kept_records(path)}
    wanted = {file: kept for file, kept in wanted.items() if not _is_measured_anew(kept, library, anew)}
    for file in Path(folder).glob("*/*.json"):
        there = read_record(file)
        if there and "measured_by" in there and file not in wanted:
            file.unlink()
    for file, kept in wanted.items():
        there = read_record(file)
        if there is None or not there["fingerprint"].startswith(library):
            texts = kept["fingerprint"].partition("-")[2]
            taken = dict(kept, fingerprint=f"{library}-{texts}", library=library, measured_by=kept["library"])
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(taken, file)


def _numbers(record):  # by what names them
    rows = [dict(row) for row in record["values"] if not is_duration(row["metric"])]
    return {json.dumps({**row, "value": None}, sort_keys=True): row["value"] for row in rows}


def largest_difference(measured: dict, kept: dict) -> float:  # as a share; infinite where one lacks a number
    "How far the numbers of a record are from those of another."
    kept_numbers, largest = _numbers(kept), 0.0
    for name, a in _numbers(measured).items():
        b = kept_numbers.get(name)
        if a != b:
            largest = max(largest, math.inf if None in (a, b) else abs(a - b) / max(abs(a), abs(b)))
    return largest


def measured_anew(
    folder: str | Path,  # of a chapter's records
    path: str | Path | None = None,  # a file from `keep_pages`; None: the bundled one
    within: float = 0.01,  # a share of the number
) -> dict[str, int]:  # records that are taken over, those measured here, and how many of these are kept, and agree
    "How the records of a chapter were made, and whether those measured here are as they are kept."
    folder, library, counts = Path(folder), fingerprint(), dict.fromkeys(("taken over", "measured", "kept", "agree"), 0)
    kept = {record["file"]: record for record in kept_records(path) if record["chapter"] == folder.name}
    for file in folder.glob("*.json"):
        record = read_record(file)
        if record is None or record["library"] != library:
            continue
        if "measured_by" in record:
            counts["taken over"] += 1
            continue
        counts["measured"] += 1
        if file.name in kept:
            counts["kept"] += 1
            counts["agree"] += largest_difference(record, kept[file.name]) <= within
    return counts


GROUP = ("chapter", "what", "task", "metric", "scale")  # cells that are expected to vary alike
FAR = 5  # intervals from the mean: no chance explains that
_LEAST_SEEDS, _LEAST_SHARE = 3, 1e-3  # the least that a number moves, as a share of it: sums in another order


def spread(
    rows: pd.DataFrame,  # as `study_rows`
) -> pd.DataFrame:  # index: CELL; mean, std, n (seeds), interval (half the interval of prediction)
    "The mean of every cell that has several seeds, and how far another seed is expected from it."
    from scipy.stats import t

    seeds = rows.groupby([*CELL, "seed"], sort=False).value.mean()  # a number may stand in several records
    cells = seeds.groupby(list(CELL), sort=False).agg(["mean", "std", "count"])
    cells = cells[cells["count"] >= _LEAST_SEEDS].rename(columns={"count": "n"})
    own = cells["std"] ** 2
    shared = own.groupby(list(GROUP)).transform("mean")
    moves = np.sqrt((own + shared) / 2).clip(lower=_LEAST_SHARE * cells["mean"].abs())
    return cells.assign(interval=t.ppf(0.975, 2 * (cells.n - 1)) * moves * np.sqrt(1 + 1 / cells.n))


def beside_study(
    fresh: pd.DataFrame,  # as `record_rows`, with the column chapter
    study: pd.DataFrame,  # as `study_rows`
) -> pd.DataFrame:  # the columns of CELL, seed, value, mean, std, n, interval, distance (in intervals)
    "Each number that was measured now and is in the study too, with the spread it has there; no durations."
    fresh = fresh[~fresh.metric.map(is_duration).astype(bool)]
    both = fresh.merge(spread(study).reset_index(), on=list(CELL))
    distance = (both.value - both["mean"]).abs() / both.interval
    return both.assign(distance=distance.fillna(0.0))


def told_spread(
    both: pd.DataFrame,  # from `beside_study`
) -> str:
    "How many of the numbers lie within the spread of the study, in one sentence."
    if both.empty:
        return "The recorded study has none of the numbers measured here."
    within = int((both.distance <= 1).sum())
    return (
        f"The recorded study has {len(both)} of the numbers measured here, from {both.n.min():.0f} seeds or more: "
        f"{within} lie within its spread and {len(both) - within} outside."
    )


def outside(
    both: pd.DataFrame,  # from `beside_study`
) -> pd.DataFrame:  # the farthest first: what names the cells, measured, recorded, std, distance
    "The numbers outside the spread; `ValueError` where one is so far out that chance does not explain it."
    rows = both[both.distance > 1].sort_values("distance", ascending=False)
    named = [c for c in CELL if c not in ("chapter", "scale") and rows[c].astype(bool).any()]
    shown = rows.rename(columns={"value": "measured", "mean": "recorded"})
    shown = shown[[*named, "measured", "recorded", "std", "n", "distance"]].reset_index(drop=True)
    if len(rows) and rows.distance.iloc[0] > FAR:
        worst = " ".join(str(shown[c][0]) for c in named if shown[c][0])
        raise ValueError(
            f"{worst}: {shown.measured[0]:.4g} was measured and {shown.recorded[0]:.4g} recorded, "
            f"{shown.distance[0]:.0f} times as far as another seed moves it; find what changed, and compute the "
            "study anew with `make records` if the new number is right"
        )
    return shown


_MOST_PANELS = 6


def spread_plot(
    both: pd.DataFrame,  # from `beside_study`
    path: str | Path | None = None,
):
    "What was measured over what is recorded, with the interval in which another seed is expected; a panel per metric."
    from studies.figures.charts import INK, PALETTE, described, plt, use_style

    use_style()
    groups = list(both.groupby(["task", "metric"], sort=False))
    groups = sorted(groups, key=lambda group: -len(group[1]))[:_MOST_PANELS]
    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    size = (3 * columns, 2.7 * lines + 0.4)
    fig, axes = plt.subplots(lines, columns, squeeze=False, layout="constrained", figsize=size)
    for ax, ((task, metric), part) in zip(axes.flat, groups):
        for within, colour in ((True, PALETTE[0]), (False, PALETTE[1])):
            some = part[(part.distance <= 1) == within]
            said = "within the interval" if within else "outside"
            style = dict(linestyle="", marker="o", markersize=3.5, elinewidth=0.8, color=colour, label=said)
            ax.errorbar(some["mean"], some.value, xerr=some.interval, **style)
        ax.axline((part["mean"].iloc[0],) * 2, slope=1, color=INK, linewidth=0.8, dashes=(3, 2))
        ax.set_title(" ".join(filter(None, (task, metric))))
    for ax in list(axes.flat)[len(groups) :]:
        ax.remove()
    fig.supxlabel("recorded: mean of the seeds and interval", fontsize="medium", color=INK)
    fig.supylabel("measured here", fontsize="medium", color=INK)
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    data = both[["language", "method", "task", "metric", "value", "mean", "interval"]]
    return described(fig, data, f"Measured over recorded numbers, {told_spread(both)}", path)
