"""From an executed notebook to a page of the book: links, labels, titles and figures."""

import json
import os
import re
import tempfile
from pathlib import Path

from tools.appendix import TAG as APPENDIX
from tools.chapters import chapters, page_names
from tools.notebooks import METADATA, checkout, source, tags

INJECTED = "injected-parameters"  # papermill's tag of the cell with the values of a run

_LABEL = re.compile(r"^\(([\w-]+)\)=|^\$\$ *\(([\w-]+)\)|^ *:(?:name|label): *([\w-]+)", re.M)


def page_links(text: str, here: str, there: str, root: Path, language: str = "") -> str:
    """Turn links between source notebooks into links between their pages, in the same language where there is one.

    `here` is the folder of the text in the checkout (nbs/ROOM, or book), `there` that of the page (book/library/ROOM,
    book/runs or book).
    """
    pages = {f"book/{name}.ipynb": f"book/runs/{runs[0]}.ipynb" for name, runs in page_names(root).items()}
    for name, runs in chapters(root).items():
        if language in runs:
            pages[f"book/{name}.ipynb"] = f"book/runs/{name}-{language}.ipynb"

    def link(match):
        target = os.path.normpath(f"{here}/{match[1]}")
        if not re.fullmatch(r"(nbs|nbs/[\w-]+|book)/[\w-]+\.(ipynb|md)", target):
            return match[0]
        page = pages.get(target, re.sub("^nbs/", "book/library/", target))
        return f"]({os.path.relpath(root / page, root / there)}{match[2]}"

    return re.sub(r"\]\(([\w./-]+)(#[\w-]*\)|\))", link, text)


def _with_suffix(text: str, labels: set[str], suffix: str) -> str:
    "Labels and references to them with the page's language, so that each is there once in the book."
    longest_first = sorted(labels, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    return re.sub(rf"(?<![\w-])({either})(?![\w-])", rf"\1-{suffix}", text) if labels and suffix else text


def _without_stamps(text: str) -> str:
    return re.sub(r"<!-- ([a-z]+) -->.*?<!-- /\1 -->\n*", "", text, flags=re.S)


def _without_folders(outputs: list) -> list:
    "Outputs without the folders that only this machine has."
    text = json.dumps(outputs, ensure_ascii=False).replace(f"{checkout()}/", "")
    for path, instead in ((r"/ipykernel_\d+/\d+\.py", "cell"), (r"/tmp\w+", "FOLDER")):
        text = re.sub(re.escape(tempfile.gettempdir()) + path, instead, text)
    return json.loads(text)


def _describe(figure: dict, cell: dict) -> None:
    "Give a figure its description: the one it brings, or that of the cell's `#| fig-alt`."
    by_hand = re.search(r"^#\| *fig-alt: *(.*)", source(cell), re.M)
    alt = figure["metadata"].pop("image/png", {}).get("alt") or (by_hand and by_hand[1])
    if alt:
        cell["metadata"].setdefault("mystnb", {})["image"] = {"alt": alt}


def _data_cell(figure: dict, cell: dict, out: Path) -> list[dict]:
    "Write the numbers of a figure beside the page `out`; the cell that links to them."
    csv = figure["data"].pop("text/csv", None)
    if not csv:
        return []
    path = out.parent / "data" / f"{out.stem}-{cell['id']}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(csv), encoding="utf-8")
    link = f":::{{container}} figure-data\n{{download}}`data (CSV) <data/{path.name}>`\n:::"
    beside = {"tags": [APPENDIX]} if APPENDIX in tags(cell) else {}
    return [{"cell_type": "markdown", "id": f"data-{cell['id']}", "metadata": beside, "source": link}]


def _shown(cell: dict, out: Path) -> list[dict]:
    "A code cell as the page shows it, with a cell behind it that links to the data of its figure."
    cell["outputs"] = _without_folders(cell["outputs"])
    figures = [output for output in cell["outputs"] if "image/png" in output.get("data", {})]
    for figure in figures:
        _describe(figure, cell)
    return [cell, *(made for figure in figures for made in _data_cell(figure, cell, out))]


def write_page(nb: dict, out: Path, here: Path, root: Path, language: str, title: str, under_title: str) -> None:
    """Turn an executed notebook of the folder `here` into the page `out`, in place.

    `language` is that of the page, empty for most; `title` is added to the notebook's own; both it and `under_title`
    are Markdown.
    """
    written = [cell for cell in nb["cells"] if cell["cell_type"] == "markdown"]
    labels = {next(filter(None, label)) for cell in written for label in _LABEL.findall(source(cell))}
    folders = dict(here=here.relative_to(root).as_posix(), there=os.path.relpath(out.parent, root))
    for cell in written:
        text = _with_suffix(_without_stamps(source(cell)), labels, language)
        cell["source"] = page_links(text, root=root, language=language, **folders)
    for cell in written:
        cell["source"], titled = re.subn(
            r"^# .*", lambda heading: f"{heading[0]}{title}\n\n{under_title}", cell["source"], count=1, flags=re.M
        )
        if titled:
            break
    for before, cell in zip(nb["cells"], nb["cells"][1:]):
        if INJECTED in tags(cell):  # is shown as the cell of the defaults is
            cell["id"], cell["metadata"]["tags"] = f"{before['id']}-run", [*tags(before), INJECTED]
    for cell in nb["cells"]:
        cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key in ("tags", "mystnb")}
    cells = [_shown(cell, out) if cell.get("outputs") else [cell] for cell in nb["cells"]]
    nb["cells"] = [cell for group in cells for cell in group]
    nb["metadata"] = METADATA | {"mystnb": {"execution_mode": "off"}}
