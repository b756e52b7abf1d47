"""The appendix of a page: what a story does not need, on a page of its own behind it.

Cells tagged `appendix` run where they stand in the notebook. On the page their section ends in a link instead.
"""

import re
from pathlib import Path

from tools.notebooks import read_notebook, source, tags

TAG = "appendix"
UNDER_TITLE = "This page"  # heads, in the appendix, what stands before the first section


def appendix_of(page: str) -> str:
    "The name of a page's appendix."
    return f"{page}-{TAG}"


def appendices(root: Path, name: str, runs: list[str]) -> list[str]:
    "The appendices of a notebook's pages: of each run one, where a cell of `book/NAME.ipynb` is for it."
    notebook = root / "book" / f"{name}.ipynb"
    if not notebook.is_file():
        return []
    has_one = any(TAG in tags(cell) for cell in read_notebook(notebook)["cells"])
    return [appendix_of(page) for page in runs] if has_one else []


def _section(cell: dict) -> str:
    "The heading of the section that a cell begins, empty where it begins none."
    headings = re.findall(r"^## (.+)$", source(cell), re.M) if cell["cell_type"] == "markdown" else []
    return headings[-1] if headings else ""


def _text(id: str, text: str) -> dict:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": text}


def _sections(cells: list[dict]) -> list[tuple[str, list[dict]]]:
    "The cells of a page by section; before the first heading the name is empty."
    sections = [("", [])]
    for cell in cells:
        if heading := _section(cell):
            sections.append((heading, []))
        sections[-1][1].append(cell)
    return sections


def _slug(heading: str) -> str:
    "What a link calls a heading."
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def divide(
    nb: dict,  # a page, which is changed in place
    name: str,  # of the page
) -> dict | None:  # None where no cell is tagged
    "Take the cells tagged `appendix` out of a page; the page that has them."
    kept, taken = [], []
    for heading, cells in _sections(nb["cells"]):
        more = [cell for cell in cells if TAG in tags(cell)]
        rest = [cell for cell in cells if TAG not in tags(cell)]
        kept += rest
        if not more:
            continue
        if heading and rest:
            link = f"*More on this: [the appendix]({appendix_of(name)}.ipynb#{_slug(heading)}).*"
            kept.append(_text(f"more-{more[0]['id']}", link))
        if not _section(more[0]):
            taken.append(_text(f"section-{more[0]['id']}", f"## {heading or UNDER_TITLE}"))
        taken += more
    if not taken:
        return None
    title = next(found[1] for cell in kept if (found := re.search("^# (.+)$", source(cell), re.M)))
    begin = f"# {title}: appendix\n\nThe tables, figures and settings that [the chapter]({name}.ipynb) leaves out."
    nb["cells"] = kept
    return nb | {"cells": [_text(TAG, begin), *taken]}
