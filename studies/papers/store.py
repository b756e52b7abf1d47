"""A folder of records that computes cells in parallel, and before them the cells that they need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from vocab_lit.runs.grid import ResultStore, Workers, library_fingerprint, plain_value, read_record, record_rows
from vocab_lit.text.corpus import write_json


def cell_stamp(
    *texts: str,  # what decides the values of a study's cells beside their keys
) -> str:
    "Return two hashes with a hyphen between: of the library and of the texts that a record must have been made with."
    return f"{library_fingerprint()}-{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Cell:
    "Numbers that are measured together: their key, their measurement, and the trainings that it takes."

    key: Mapping[str, Hashable]  # setup, method, language, seed, ...
    measure: Callable[[], dict | list[dict]]  # {metric: value}, or a list of {"metric": ..., "value": ..., ...}
    trains: tuple[object, ...] = ()  # trainings and fine-tunings, which a plan adds up
    needs: tuple[Cell, ...] = ()  # cells whose results it uses
    leaves: Path | None = None  # a folder that it writes besides its record, for cells that need it

    @property
    def name(self) -> str:
        "The key as text, in which the order of its parts does not count."
        return json.dumps({name: plain_value(self.key[name]) for name in sorted(self.key)}, ensure_ascii=False)


def with_needs(cells: Iterable[Cell]) -> list[Cell]:
    "Return cells and those that they need, each once, in an order in which they can be computed."
    ordered: dict[str, Cell] = {}
    for cell in cells:
        for one in (*with_needs(cell.needs), cell):
            ordered.setdefault(one.name, one)
    return list(ordered.values())


def beside_book(folder: str | Path) -> Path:
    "Return a folder as notebooks name it, from `book`, also where papermill runs them in the checkout's top folder."
    is_top = Path("book", "chapters.yml").is_file()
    return Path("book" if is_top else "", folder).absolute()


class CellStore(ResultStore):
    "A folder of records, whose cells are computed in parallel and read as one table."

    def __init__(self, folder: str | Path, workers: Workers | None = None):
        super().__init__(beside_book(folder), workers)

    def cells(
        self,
        cells: Iterable[Cell],
        fingerprint: str = "",  # as in `cell`
        used: bool = False,  # whether what they leave is used, so that their records are not enough
    ) -> None:
        "Compute the cells that are missing, and before them what these need, several at a time."
        from tqdm.auto import tqdm

        cells = list(cells)
        for cell in cells:
            if used and cell.leaves and not cell.leaves.is_dir():
                self.path(cell.key).unlink(missing_ok=True)
        missing = [cell for cell in cells if not self.read(cell.key, fingerprint)]
        if needed := with_needs(one for cell in missing for one in cell.needs):
            self.cells(needed, fingerprint, used=True)
        calls = [partial(self.cell, cell.key, cell.measure, fingerprint) for cell in missing]
        self.folder.mkdir(parents=True, exist_ok=True)
        with tqdm(total=len(calls), desc=self.folder.name, unit=" cells", delay=2, leave=False) as bar:
            for record in self.workers.run(calls, self.folder):
                if not self.read(record["key"], fingerprint):
                    write_json(record, self.path(record["key"]))  # a shared folder may show it late
                bar.update()

    def frame(
        self,
        fingerprint: str | None = None,  # only records with this one; None: all
    ) -> pd.DataFrame:
        "Return a row for each value: the key's columns, metric, value, seconds, device and library (its fingerprint)."
        records = filter(None, map(read_record, sorted(self.folder.glob("*.json"))))
        chosen = (record for record in records if fingerprint in (None, record["fingerprint"]))
        return pd.DataFrame([row for record in chosen for row in record_rows(record)])
