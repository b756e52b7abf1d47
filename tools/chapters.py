"""The chapters of the book: `book/chapters.yml`, their notebooks and their parameters."""

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.notebooks import checkout, defaults, read_notebook

_read_yaml = cache(yaml.safe_load)  # reading takes longer than most of what asks for it


def _book(root: Path | None) -> dict:
    return _read_yaml(((root or checkout()) / "book" / "chapters.yml").read_text(encoding="utf-8"))


def _runs(root: Path | None, part: str) -> dict[str, dict[str, dict]]:
    runs = _book(root).get(part) or {}
    return {name: {language: given or {} for language, given in of.items()} for name, of in runs.items()}


def chapters(root: Path | None = None) -> dict[str, dict[str, dict]]:
    "The chapters in order, each with its languages and their parameters; the first language runs first."
    return _runs(root, "chapters")


def study_runs(root: Path | None = None) -> dict[str, dict[str, dict]]:
    "The runs of the recorded study, which is larger than the book: chapter to language to parameters."
    return _runs(root, "study")


def pages(root: Path | None = None) -> list[str]:
    "The notebooks of the book without a language, which run after the chapters."
    return _book(root).get("pages") or []


def colab_pages(root: Path | None = None) -> list[str]:
    "The pages that Colab opens, beside the chapters."
    return _book(root).get("colab") or []


def page_names(root: Path) -> dict[str, list[str]]:
    "The pages of each notebook of the book, below book/runs, the first language's first."
    names = {name: [f"{name}-{language}" for language in runs] for name, runs in chapters(root).items()}
    return names | {name: [name] for name in pages(root)}


def chapter_path(name: str) -> Path:
    "The notebook of a chapter; `ValueError` says which there are."
    paths = {p.stem: p for p in sorted((checkout() / "book").glob("*.ipynb"))}
    if name not in paths:
        raise ValueError(f"no chapter {name!r}; choose from {', '.join(paths) or 'none'}")
    return paths[name]


def chapter_defaults(name: str) -> dict[str, Any]:
    "The parameters of the chapter `book/NAME.ipynb` with their defaults."
    return defaults(read_notebook(chapter_path(name)))


def check_parameters(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    "`ValueError` for a given name that is no parameter of the chapter, with the known name that is near."
    known = list(known)
    unknown = []
    for parameter in sorted(set(given) - set(known)):
        near = difflib.get_close_matches(parameter, known, 1)
        unknown.append(f"{parameter} (did you mean {near[0]}?)" if near else parameter)
    if unknown:
        raise ValueError(f"{name} has no parameter {', '.join(unknown)}; it has {', '.join(known)}")
