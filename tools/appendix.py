"""The appendix of a page: what a story does not need, on a page of its own behind it.

Cells tagged `appendix` run where they stand in the notebook. On the page their section ends in a link instead.
"""

import re
from pathlib import Path

from tools.notebooks import read_notebook, source, tags, text_cell

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


def _sections(cells: list[dict]) -> list[tuple[str, list[dict]]]:
    "The cells of a page by section; before the first heading the name is empty."
    sections = [("", [])]
    for cell in cells:
        if heading := _section(cell):
            sections.append((heading, []))
        sections[-1][1].append(cell)
    return sections


def slug(heading: str) -> str:
    "The anchor that MyST makes from a heading."
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def _anchors(cells: list[dict]) -> set[str]:
    "What links call the headings of cells."
    written = [source(cell) for cell in cells if cell["cell_type"] == "markdown"]
    return {slug(heading) for text in written for heading in re.findall("^#+ (.+)$", text, re.M)}


def _lead_to_each_other(pages: dict[str, list[dict]]) -> None:
    "Let links within a notebook lead to the page that has their heading."
    homes = {anchor: page for page, cells in pages.items() for anchor in _anchors(cells)}
    for cells in pages.values():
        here = _anchors(cells)

        def link(found: re.Match, here: set[str] = here) -> str:
            at_home = found[1] in here or found[1] not in homes
            return found[0] if at_home else f"]({homes[found[1]]}.ipynb#{found[1]})"

        for cell in cells:
            if cell["cell_type"] == "markdown":
                cell["source"] = re.sub(r"\]\(#([\w-]+)\)", link, source(cell))


def _is_seen(cell: dict) -> bool:
    "Whether a page shows anything of a cell."
    hidden = {"remove-cell"} if cell.get("outputs") else {"remove-cell", "remove-input"}
    return cell["cell_type"] == "markdown" or not hidden & set(tags(cell))


def divide(
    nb: dict,  # a page, which is changed in place
    name: str,  # of the page
) -> dict | None:  # None where no cell is tagged
    "Take the cells tagged `appendix` out of a page; the page that has them."
    kept, taken = [], []
    for heading, cells in _sections(nb["cells"]):
        more = [cell for cell in cells if TAG in tags(cell) and _is_seen(cell)]
        rest = [cell for cell in cells if TAG not in tags(cell)]
        kept += rest
        if not more:
            continue
        if heading and rest:
            link = f"*More on this: [the appendix]({appendix_of(name)}.ipynb#{slug(heading)}).*"
            kept.append(text_cell(f"more-{more[0]['id']}", link))
        if not _section(more[0]):
            taken.append(text_cell(f"section-{more[0]['id']}", f"## {heading or UNDER_TITLE}"))
        taken += more
    if not taken:
        return None
    _lead_to_each_other({name: kept, appendix_of(name): taken})
    title = next(found[1] for cell in kept if (found := re.search("^# (.+)$", source(cell), re.M)))
    begin = f"# {title}: appendix\n\nThe tables, figures and settings that [the chapter]({name}.ipynb) leaves out."
    nb["cells"] = kept
    return nb | {"cells": [text_cell(TAG, begin), *taken]}
