"""Colab editions: of each chapter and language a notebook that Colab shows as it is meant.

Colab opens notebooks of a repository, and its links carry no parameters: so there is one for each language, on a branch
of their own to which the book's workflow pushes what `make book` has written into `_build/colab`. An edition has plain
Markdown, forms in place of code that the page hides, and of the appendix only what its code needs.
"""

import ast
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tools.appendix import TAG as APPENDIX
from tools.appendix import divide
from tools.chapters import chapters, check_parameters, colab_pages, page_names
from tools.make_tests import names
from tools.markdown import plain
from tools.notebooks import (
    METADATA,
    defaults,
    notebook_text,
    parameters,
    read_notebook,
    settings,
    source,
    tags,
    text_cell,
)
from tools.pages import page_links

BUILT = "_build/colab"
EDITIONS = "colab"  # a branch of the repository
SILENT, SOLUTION = "remove-cell", "hide-cell"
HIDDEN = {SILENT, SOLUTION, "remove-input", "hide-input"}
FIRST = ("language", "scale", "steps")  # parameters with a field; a notebook with few has one for each
FEW = 8
SHOW = {"display", "print", "what_we_see"}  # functions that change nothing
SETS_UP = "use_style()"  # what the figures of a notebook look like
TITLE = re.compile(r"^(?:##+ |\*\*(?=\d+\. ))(.+?)(?:\.?\*\*.*)?$", re.M)  # of a section, or of an exercise
CHOICES = {"scale": ["mini", "paper", "custom"]}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}

_INSTALL = """# @title Install the library, and see what this machine can do
# @markdown Keep results and checkpoints in your Google Drive, where another session finds them:
keep_on_drive = False  # @param {type:"boolean"}
import importlib.metadata
import subprocess
import sys
from pathlib import Path

if "google.colab" in sys.modules:
    address, clone = "URL", Path("/content/REPO")
    fetch = ["git", "clone", "-q", "--depth=1", "--branch=BRANCH", address, clone]
    if not clone.exists() and subprocess.run(fetch).returncode:
        raise SystemExit(f"{address} does not answer, or has no BRANCH; put your copy's address into this cell")
    kept = [f"{name}=={importlib.metadata.version(name)}" for name in ("torch", "numpy", "pandas")]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *kept, f"{clone}[all]"], check=True)
    sys.path.insert(0, str(clone))
    from studies.chapters.colab import begin

    print(begin("CHAPTER", "LANGUAGE", clone, keep_on_drive))"""


def editions(root: Path) -> dict[str, tuple[str, str]]:
    "The editions: name to the notebook `book/NAME.ipynb` that each is made from, and its language."
    made = {f"{name}-{language}": (name, language) for name, of in chapters(root).items() for language in of}
    return made | {name: (name, "") for name in colab_pages(root)}


def first_edition(root: Path, path: str) -> str:
    "The edition that a file of the checkout leads to; empty where it has none."
    name = Path(path).stem
    pages = page_names(root).get(name, [])
    is_there = path == f"book/{name}.ipynb" and pages and pages[0] in editions(root)
    return pages[0] if is_there else ""


def edition_link(cfg: dict[str, str], edition: str) -> str:
    "The address at which Colab opens an edition."
    place = f"{cfg['user']}/{cfg['repo']}/blob/{EDITIONS}"
    return f"https://colab.research.google.com/github/{place}/{edition}.ipynb"


def install_cell(cfg: dict[str, str], chapter: str, language: str) -> str:
    "The code that fetches the repository on Colab, installs the library and goes to the chapter's folder."
    words = dict(REPO=cfg["repo"], BRANCH=cfg["branch"], URL=cfg["git_url"], CHAPTER=chapter, LANGUAGE=language)
    return re.sub(r"\b(REPO|BRANCH|URL|CHAPTER|LANGUAGE)\b", lambda word: words[word[0]], _INSTALL)


def _form(id: str, code: str) -> dict:
    "A code cell of which Colab shows title and fields."
    view = {"cellView": "form", "jupyter": {"source_hidden": True}}  # for Colab, and for JupyterLab
    return {"cell_type": "code", "id": id, "execution_count": None, "metadata": view, "outputs": [], "source": code}


def _field(name: str, value: object, choices: list[str]) -> str:
    "A parameter's line with its field."
    listed = f"{json.dumps(choices)} {{allow-input: true}}" if choices else f'{{type:"{_TYPES[type(value)]}"}}'
    written = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    return f"{name} = {written}  # @param {listed}"


def _parameter_forms(nb: dict, languages: list[str], given: Mapping[str, object]) -> list[dict]:
    "The cell of parameters as a form, and a second one of those that few readers change."
    cell, known = parameters(nb)
    if cell is None:
        return []
    choices, first, others, above = CHOICES | {"language": languages}, [], [], []
    usual, of_line = defaults(nb), {value.lineno: name for name, value in known.items()}
    for number, line in enumerate(source(cell).split("\n"), 1):
        name = of_line.get(number)
        if name is None:
            above.append(line)
            continue
        value, remark = given.get(name, usual[name]), line.encode()[known[name].end_col_offset :].decode()
        if len(known) > FEW and name not in FIRST:
            others += [*above, f"{name} = {value!r}{remark}" if name in given else line]
        else:
            about = [*above, remark]
            first += [f"# @markdown {text.strip(' #')}" for text in about if text.strip()]
            first.append(_field(name, value, choices.get(name, [])))
        above = []
    made = [_form(cell["id"], "\n".join(["# @title What to run", *first]))]
    more = ["# @title Other parameters: a double click shows them", *others]
    return [*made, _form(f"{cell['id']}-more", "\n".join(more))] if others else made


def _changed(code: str) -> set[str]:
    "The names of what calls change whose value nothing takes: `study.cells(...)`, `learn_languages(study, ...)`."
    statements = (node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Expr))
    calls = [call for call in statements if isinstance(call, ast.Call)]
    objects = [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
    objects += [call.args[0] for call in calls if call.args and getattr(call.func, "id", "") not in SHOW]
    return {changed.id for changed in objects if isinstance(changed, ast.Name)}


def _keep_what_is_needed(cells: list[dict]) -> None:
    "Of the appendix, take those code cells into the story that it does not run without; nothing of them is shown."
    needed: set[str] = set()
    for cell in reversed([cell for cell in cells if cell["cell_type"] == "code"]):
        bound, used = names(source(cell))
        gives = (bound | _changed(source(cell))) & needed or SETS_UP in source(cell)
        if APPENDIX in tags(cell) and gives:
            cell["metadata"]["tags"] = [SILENT]
        if APPENDIX not in tags(cell):
            needed |= used


def _title(section: str, cell: dict, given: Counter[str]) -> str:
    "The title of hidden code: what it is of its section, and a number where an earlier cell has that title."
    is_solution, shows_nothing = SOLUTION in tags(cell), SILENT in tags(cell)
    parts = ["solution"] * is_solution + [section] * bool(section) + ["preparation"] * shows_nothing
    words = ": ".join(parts) or "a first look"
    title = f"{words[0].upper()}{words[1:]}"
    given[title] += 1
    return f"{title} ({given[title]})" if given[title] > 1 else title


def _story(cells: list[dict]) -> list[dict]:
    "The cells of an edition behind its forms: hidden code has the title of its section, and stands together."
    made, section, silent = [], "", []
    given: Counter[str] = Counter()
    for cell, following in zip(cells, [*cells[1:], {"cell_type": "", "metadata": {}}]):
        if cell["cell_type"] == "markdown":
            section = ([section] + TITLE.findall(source(cell)))[-1]
            made.append(text_cell(cell["id"], source(cell)))
        elif not HIDDEN & set(tags(cell)):
            made.append(_form(cell["id"], source(cell)) | {"metadata": {}})
        elif SILENT in tags(cell) and HIDDEN & set(tags(following)):
            silent.append(source(cell))
        else:
            code = [f"# @title {_title(section, cell, given)}", *silent, source(cell).rstrip()]
            made.append(_form(cell["id"], "\n\n".join(code) + ";" * (SILENT in tags(cell))))
            silent = []
    return made


def edition(root: Path, page: str) -> str:
    "The text of an edition's file."
    name, language = editions(root)[page]
    cfg, nb = settings(root), read_notebook(root / "book" / f"{name}.ipynb")
    languages, site = chapters(root).get(name, {}), f"{cfg['doc_host']}{cfg['doc_baseurl']}"
    given = languages[language] | {"language": language} if language else {}
    check_parameters(name, given, defaults(nb))
    forms = _parameter_forms(nb, list(languages), given)
    listed, _ = parameters(nb)
    nb["cells"] = [cell for cell in nb["cells"] if cell is not listed]
    _keep_what_is_needed(nb["cells"])
    for cell in nb["cells"]:
        text = source(cell)
        is_text = cell["cell_type"] == "markdown"
        cell["source"] = page_links(text, "book", "book/runs", root, language) if is_text else text
    divide(nb, page)
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = plain(cell["source"], root, cfg, f"{page}.html")
    title, *story = _story(nb["cells"])
    heading, _, rest = title["source"].partition("\n")
    there = f"[This page in the book]({site}/book/runs/{page}.html) · [repository]({cfg['git_url']})"
    how = "*Runtime, Run all* runs this page from top to bottom. A double click on a form shows its code."
    title["source"] = f"{heading}\n\n{there}\n\n{how}\n\n{rest.strip()}".strip()
    install = _form("install", install_cell(cfg, name, language))
    made = {"cells": [title, install, *forms, *story], "nbformat": 4, "nbformat_minor": 5}
    colab = {"colab": {"provenance": [], "toc_visible": True}}
    for cell in made["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return notebook_text(made | {"metadata": METADATA | colab})


def write_editions(root: Path) -> Path:
    "Write all editions into a folder that holds nothing else; the folder."
    folder = root / BUILT
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page in editions(root):
        (folder / f"{page}.ipynb").write_text(edition(root, page), encoding="utf-8")
    return folder
