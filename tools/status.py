"""The page of the book that says how long every page took, and which numbers were measured for it."""

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

from tools.chapters import chapters, page_names
from tools.notebooks import checkout, defaults, library_notebooks, read_notebook
from tools.run_pages import page_info

_HEADS = ["chapter", "measurements", "minutes", "made here", "minutes", "as kept", "made"]
LIMIT = 480  # seconds a page of the book may take
_STATUS = """# Status

How the pages of this book were made: {chapter_minutes} minutes of run time for chapters and comparisons and \
{library_minutes} minutes for library notebooks, {workers} at a time. No page may take more than {limit} minutes. \
Device: {device}. Versions: {versions}.

## Chapters and comparisons

{chapter_table}

A page takes less time than its numbers did: it reads measurements that are [kept in the \
repository](../workshop.md#the-recorded-study), but for one in twenty (or none, in a book that is measured anew), and \
what an earlier run has left. The table says how many measurements there are and how many minutes they took, how many \
of them were made here, and how many of these are within 1% of what is kept.

{records}

## Library

Tests are shown on these pages and run by `make test`.

{library_table}
"""


def _minutes(records: Iterable[dict]) -> str:
    return f"{sum(record.get('seconds', 0) for record in records) / 60:.1f}"


def _records_row(root: Path, name: str) -> list[object]:
    "The row of a chapter in the table of measurements."
    from studies.records.recorded import measured_anew

    folder = root / "book" / defaults(read_notebook(root / "book" / f"{name}.ipynb")).get("records", "")
    records = {file: json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")}
    if not records:
        return [name, 0, *[""] * 5]
    here = [record for record in records.values() if "measured_by" not in record]
    changed = {file: time.strftime("%Y-%m-%d", time.localtime(file.stat().st_mtime)) for file in records}
    days = [record.get("date") or changed[file] for file, record in records.items()]
    counts, minutes = measured_anew(folder), [_minutes(some) for some in (records.values(), here)]
    kept = f"{counts['agree']} of {counts['kept']}"
    return [name, len(records), minutes[0], len(here), minutes[1], kept, f"{min(days)} to {max(days)}"]


def _table(root: Path, paths: list[Path], parameters: bool) -> tuple[str, str]:
    "The minutes of all pages that are there, and a table of them, with their parameters if they have any."
    from vocab_lit.text.markup import markdown_cell, markdown_table

    made = {path: info for path in paths if (info := page_info(path))}
    rows = []
    for path, info in made.items():
        given = ", ".join(f"`{k} = {v}`" for k, v in info["parameters"].items() if k != "scale")
        seconds = f"{info['seconds']}{' **over the limit**' * (info['seconds'] > LIMIT)}"
        link = f"[{path.stem}]({os.path.relpath(path, root / 'book' / 'runs')})"
        rows.append([link, *[given] * parameters, seconds, info["at"]])
    minutes, heads = sum(info["seconds"] for info in made.values()) / 60, ["parameters"] * parameters
    return f"{minutes:.0f}", markdown_table(["page", *heads, "seconds", "made"], rows, markdown_cell)


def status(workers: int, root: Path | None = None) -> str:
    "How long every page took, for which language and parameters, when and on what, in Markdown."
    from vocab_lit.runs.grid import environment
    from vocab_lit.text.markup import markdown_table

    root, machine = root or checkout(), environment()
    runs = [root / "book" / "runs" / f"{page}.ipynb" for pages in page_names(root).values() for page in pages]
    library = [root / "book" / "library" / p.relative_to(root / "nbs") for p in library_notebooks(root)]
    chapter_minutes, chapter_table = _table(root, runs, parameters=True)
    library_minutes, library_table = _table(root, library, parameters=False)
    return _STATUS.format(
        chapter_minutes=chapter_minutes,
        library_minutes=library_minutes,
        workers=workers,
        limit=LIMIT // 60,
        device=machine["device"],
        versions=", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        chapter_table=chapter_table,
        records=markdown_table(_HEADS, [_records_row(root, name) for name in chapters(root)]),
        library_table=library_table,
    )
