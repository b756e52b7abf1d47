"""The tables that trials write into `data`: what identifies a row, and how rows are written, stamped and read again."""

from __future__ import annotations

import csv
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import vocab_lit
from vocab_lit.runs.grid import environment
from vocab_lit.text.corpus import data_path
from vocab_lit.text.files import one_at_a_time

if TYPE_CHECKING:
    import pandas as pd

STAMP = ("date", "machine", "version")  # columns that say when and with what a row was measured


def replace_file(path: Path, content: bytes) -> None:
    "Write a file wholly or not at all, in the place of the one that is there."
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}-{path.name}")
    part.write_bytes(content)
    part.replace(path)


def _cell(value: object) -> str:
    return "" if value is None or value != value else str(value)


@dataclass(frozen=True)
class Record:
    "A table in `data`, in CSV; `path` is of another one with the same columns."

    file: str  # its name below `data`
    key: tuple[str, ...]  # columns that identify what is measured at once; none: all rows are measured at once
    columns: tuple[str, ...] = ()  # all but the stamp; none: those of the rows
    is_sorted: bool = False  # by the key

    def path(self, path: str | Path | None = None) -> Path:
        "Return the file of the table."
        return Path(path or data_path() / self.file)

    def rows(self, path: str | Path | None = None) -> list[dict[str, str]]:
        "Read the rows as text; none where there is no file."
        file = self.path(path)
        if not file.is_file():
            return []
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def frame(self, path: str | Path | None = None) -> pd.DataFrame:
        "Read the table without its stamp."
        import pandas as pd

        wanted = set(self.columns)
        return pd.read_csv(self.path(path), usecols=lambda name: name in wanted if wanted else name not in STAMP)

    def has(self, case: Mapping[str, object], path: str | Path | None = None) -> bool:
        "Whether the table has a row with these values."
        wanted = {name: _cell(value) for name, value in case.items()}
        return any(wanted.items() <= row.items() for row in self.rows(path))

    def _groups(self, rows: Iterable[dict[str, str]]) -> dict[tuple[str, ...], list[dict[str, str]]]:
        "Return rows by their key."
        groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in self.key), []).append(row)
        return groups

    def write(self, rows: Iterable[Mapping[str, object]], path: str | Path | None = None) -> None:
        "Write rows in the place of those with the same key; a row that is there already keeps its stamp."
        file, new = self.path(path), [{name: _cell(value) for name, value in row.items()} for row in rows]
        if not new:
            return
        stamp = dict(zip(STAMP, (time.strftime("%Y-%m-%d"), environment()["device"], vocab_lit.__version__)))
        lock = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]
        with one_at_a_time(Path(gettempdir(), lock)):  # a lock beside the table would be part of the bundled data
            groups = self._groups(self.rows(file))
            for identity, measured in self._groups(new).items():
                old = groups.get(identity, [])
                groups[identity] = [
                    next((row for row in old if one.items() <= row.items()), stamp | one) for one in measured
                ]
            ordered = sorted(groups) if self.is_sorted else groups
            replace_file(file, self._text([row for identity in ordered for row in groups[identity]]).encode())

    def _text(self, table: Sequence[Mapping[str, str]]) -> str:
        from io import StringIO

        used = dict.fromkeys(name for row in table for name in row)
        columns = dict.fromkeys([*(self.columns or (name for name in used if name not in STAMP)), *STAMP])
        text = StringIO()
        writer = csv.DictWriter(text, [name for name in columns if name in used], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
        return text.getvalue()

    def measure(
        self,
        cases: Iterable[dict[str, Any]],  # the columns that identify each
        measure: Callable[[dict[str, Any]], dict[str, Any]],  # the other columns of a case's row
        path: str | Path | None = None,
        again: bool = False,  # measure also the cases that the table has
    ) -> None:
        "Measure cases and write each at once; those that the table has are skipped, so that a trial resumes."
        for case in cases:
            if again or not self.has(case, path):
                self.write([case | measure(case)], path)
