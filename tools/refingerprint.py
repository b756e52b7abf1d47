"""The fingerprints of the pages' records by what the chapters declare today, where samples computed anew agree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from studies.papers.store import CellStore
from studies.records.recorded import keep_pages, kept_records, largest_difference
from tools.chapters import chapter_path, chapters, check_parameters, pages
from tools.notebooks import checkout, defaults, source
from vocab_lit.runs.grid import fingerprint, read_record
from vocab_lit.text.corpus import write_json

WITHIN = 0.01  # share of a number by which a sample may differ from its record


def kind_of(record: Mapping) -> str:  # such as wechsel course gpt2
    "What a record is of: records of a kind are made by the same code."
    key = record["key"]
    return " ".join(
        str(one) for one in (record["chapter"], *(key.get(c, "") for c in ("what", "model", "kind", "methods"))) if one
    )


def _is_among(kind: str, parts: Iterable[str]) -> bool:
    return any(part in kind for part in parts)


@dataclass
class Anew:
    "Kept records that chapters are given in place of computing them, but for a sample of each kind."

    kept: dict[tuple[str, str], dict]  # by chapter and file
    drawn: set[tuple[str, str]]  # of them, what is computed
    offered: set[tuple[str, str]] = field(default_factory=set)

    def read(self, read, store: CellStore, key: Mapping, fingerprint: str = "") -> dict | None:
        "The record of a cell, as a `CellStore` reads it; one that is kept is laid down first, once."
        path = store.path(key)
        name = (path.parent.name, path.name)
        if name in self.kept and name not in self.drawn | self.offered:
            self.offered.add(name)
            self.lay(path, fingerprint)
        return read(store, key, fingerprint)

    def lay(self, path: Path, mark: str) -> None:
        "Put a kept record down with another fingerprint."
        kept = self.kept[path.parent.name, path.name]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(dict(kept, fingerprint=mark, library=fingerprint(), measured_by=kept["library"]), path)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        "Inside the block each `CellStore` reads so."
        read = CellStore.read
        CellStore.read = lambda store, key, fingerprint="": self.read(read, store, key, fingerprint)  # pyright: ignore
        try:
            yield
        finally:
            CellStore.read = read


def drawn(records: Mapping[tuple[str, str], dict], sample: int, anew: Iterable[str]) -> set[tuple[str, str]]:
    "So many records of each kind, always the same ones; all of the kinds that have one of `anew` in them."
    by_kind: dict[str, list] = {}
    for name, record in records.items():
        by_kind.setdefault(kind_of(record), []).append(name)
    chosen = set()
    for kind, names in by_kind.items():
        names.sort(key=lambda name: hashlib.sha256(" ".join(name).encode()).digest())
        chosen.update(names if _is_among(kind, anew) else names[:sample])
    return chosen


def run_notebook(name: str, records: Path, **parameters: object) -> None:
    "Run the code of a page of the book in this process, silently."
    from papermill.iorw import load_notebook_node
    from papermill.parameterize import parameterize_notebook

    nb, given = load_notebook_node(str(chapter_path(name))), dict(records=str(records), workers=1, **parameters)
    check_parameters(name, given, defaults(nb))
    nb = parameterize_notebook(nb, given, kernel_name="python3", language="python")
    space: dict[str, object] = {"__name__": "__main__"}
    with chdir(checkout() / "book"), redirect_stdout(StringIO()):
        for n, cell in enumerate(nb["cells"]):
            if cell["cell_type"] == "code":
                exec(compile(source(cell), f"{name}, cell {n}", "exec"), space)  # noqa: S102


def rows(folder: Path, kept: Mapping[tuple[str, str], dict]) -> list[dict]:
    "Of each kind how many records there are, are computed anew and agree, and the largest difference of these."
    found: dict[str, dict] = {}
    for name, record in kept.items():
        kind, fresh = kind_of(record), read_record(folder.joinpath(*name))
        row = found.setdefault(kind, dict(kind=kind, records=0, anew=0, agree=0, largest=0.0))
        row["records"] += 1
        if fresh and "measured_by" not in fresh:
            apart = largest_difference(fresh, record)
            row["anew"] += 1
            row["agree"] += apart <= WITHIN
            row["largest"] = max(row["largest"], apart)
    return list(found.values())


def refingerprint(
    names: Iterable[str] = (),  # chapters and pages; none: all that have records
    sample: int = 1,  # records of each kind that are computed anew
    anew: Iterable[str] = (),  # parts of kinds whose records are all computed anew, and replaced
    folder: str | Path = "",  # where they are computed; empty: a temporary one
) -> tuple[list[dict], bool]:  # a row for each kind, and whether the file is written
    "Make the fingerprints of the pages' records anew; written only where all samples agree."
    kept = {(record["chapter"], record["file"]): record for record in kept_records()}
    names = list(names) or list(dict.fromkeys(chapter for chapter, _ in kept))
    mine = {name: record for name, record in kept.items() if name[0] in names}
    given = Anew(mine, drawn(mine, sample, anew))
    with TemporaryDirectory() as temporary, given.in_place():
        made = Path(folder or temporary).absolute()
        for name in names:
            runs = chapters().get(name, {}) | ({} if name not in pages() else {"": {}})
            for language, parameters in runs.items():
                of_language = dict(language=language, scale="mini") if language else {}
                run_notebook(name, made / name, **of_language, **parameters)
        told = rows(made, mine)
        stale = [row for row in told if row["agree"] < row["anew"] and not _is_among(row["kind"], anew)]
        if stale:
            return told, False
        for name, record in mine.items():
            path = made.joinpath(*name)
            if not _is_among(kind_of(record), anew) and (fresh := read_record(path)):
                given.lay(path, fresh["fingerprint"])
        others = [record for name, record in kept.items() if name[0] not in names]
        keep_pages(made, others=others)
    return told, True
