"""The chapters again, with more languages and more seeds, into one table that the book is measured against."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from filelock import FileLock

from studies.chapters.budget import needs
from studies.papers.store import Cell, with_needs
from studies.records.recorded import (
    SCALE,
    chapter_of,
    gather,
    keep_declared,
    keep_pages,
    measured_anew,
    pages_path,
    study_path,
)
from tools.book import run_all, share_cores
from tools.chapters import chapter_defaults, study_runs
from tools.jobs import Job, run_jobs
from tools.notebooks import checkout
from tools.run_pages import run_chapter


def _has_tables(name):  # those of a trial are not shown
    return name == chapter_of(name) and "paper_tables" in chapter_defaults(name)


def _run(name, language, parameters, folder, bar=None):  # a run of a chapter, and the table afterwards
    given = parameters | dict(records=str(folder / "records" / name))
    if _has_tables(name):
        given["paper_tables"] = True
    page = folder / "pages" / f"{name}-{language}.ipynb"
    run_chapter(chapter_of(name), language, out=page, bar=bar, parameters=given)
    with FileLock(folder / ".table.lock"):  # several runs may end at once
        gather(folder / "records")
    return page


def study_jobs(
    names: Iterable[str] = (),  # chapters and trials; none: all of the study
) -> dict[str, Job]:  # by chapter and language
    "The runs of the study; `ValueError` for a chapter it has not."
    root = checkout()
    runs = study_runs(root)
    if unknown := sorted(set(names) - set(runs)):
        raise ValueError(f"the study has no chapter {unknown[0]!r}; choose from {', '.join(runs)}")
    run = partial(_run, folder=root / "_build" / "records")
    return {
        f"{name} ({language})": Job(partial(run, name, language, parameters), seconds=3600)
        for name in (names or runs)
        for language, parameters in runs[name].items()
    }


def declared_cells(name: str) -> list[Cell]:
    "Return the cells of a chapter or a trial of the study, also those of the paper's tables."
    runs = study_runs()[name].items()
    needed = [needs(chapter_of(name), language, SCALE, **parameters) for language, parameters in runs]
    return with_needs(cell for one in needed for cell in (one.cells + one.table_cells * _has_tables(name)))


PAGES = "pages"  # the book's own, in the place of a chapter


def record_pages() -> Path:  # the file
    "Measure all numbers of the book's pages anew, and keep them."
    run_all(anew=True)
    folder = checkout() / "_build" / "study"
    if any(measured_anew(chapter)["taken over"] for chapter in folder.glob("*")):
        raise RuntimeError(f"another build has laid out records in {folder} meanwhile; run it alone")
    keep_pages(folder)
    return pages_path()


def run_study(
    names: Iterable[str] = (),  # chapters and trials; none: all of the study
) -> Path:  # the table
    "Run the chapters of the study and write their numbers into one table; rows that no cell makes go at the end."
    run_jobs(study_jobs(names), share_cores())
    keep_declared({name: declared_cells(name) for name in names or study_runs()})
    return study_path()
