"""What `make test` looks at before it runs the tests; nothing here writes a file."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path

from tools.appendix import appendices
from tools.chapters import page_names
from tools.count import count, total
from tools.export import clean_notebook, generated, on_disk
from tools.notebooks import (
    Cell,
    code_cells,
    library_notebooks,
    notebook_text,
    parameters,
    read_notebook,
    settings,
    source,
    source_notebooks,
)
from tools.prose import measured_by_hand, pages
from tools.stamps import stamped_files

LABEL = 60  # characters of a test's name
LINES = 20  # of a chapter's code cell
CELL_ROOMS = ("05_models", "06_training", "10_cli", "12_runs")  # subpackages whose exported cells are limited
CELL_LINES, CLASS_LINES = 60, 100  # of an exported cell with functions or several definitions; with one class
CELL_MARGIN = 4  # further lines of such a cell: its directive, a constant, blank lines
STATUS = "status"  # the page of book/runs that no notebook stands behind
PLAIN = ("testkit", "studies", "benchmarks", "tools")  # packages of plain modules
MOST = {"lines of code": 20_900, "private functions that are called once": 220, "uses of Any": 130, "casts": 37}
TOP = {  # what git keeps at the top of the repository
    *("nbs", "vocab_lit", "tests", "book", "data", *PLAIN),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE"),
    *("pyproject.toml", "settings.ini", "setup.py", "MANIFEST.in", "constraints.txt", "constraints-colab.txt"),
    *("Makefile", "conftest.py", "_config.yml", "_toc.yml"),
    *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml"),
}
CHECKS: dict[str, Callable[[Path], list[str]]] = {}  # what repairs a problem: the check that finds it


def _repaired_by(repair: str) -> Callable[[Callable[[Path], Iterator[str]]], Callable[[Path], list[str]]]:
    "Register a check of a checkout, which yields problems, with what repairs them."

    def register(find: Callable[[Path], Iterator[str]]) -> Callable[[Path], list[str]]:
        CHECKS[repair] = wraps(find)(lambda root: list(find(root)))
        return CHECKS[repair]

    return register


def _cells(root: Path, paths: list[Path]) -> Iterator[tuple[str, Cell, dict]]:
    "The code cells of notebooks: the path below `root`, the cell without its directives, and the cell as it is."
    for path in paths:
        cells = read_notebook(path)["cells"]
        for cell in code_cells(path):
            yield path.relative_to(root).as_posix(), cell, cells[cell.index]


@_repaired_by("`make lib` cleans notebooks")
def check_clean(root: Path) -> Iterator[str]:
    "The notebooks that carry outputs or stray metadata, with the cell and what is wrong."
    for path in source_notebooks(root):
        nb, where, is_clean = read_notebook(path), path.relative_to(root).as_posix(), True
        cleaned = clean_notebook(nb)
        for old, new in zip(nb["cells"], cleaned["cells"]):
            stray = [key for key in ("outputs", "execution_count") if old.get(key)]
            stray += [f"metadata {key}" for key in sorted(old["metadata"].keys() - new["metadata"].keys())]
            if stray:
                is_clean, first_line = False, source(old).split("\n")[0][:60]
                yield f'{where}, cell "{first_line}" ({old.get("id", "no id")}): has {", ".join(stray)}'
        if nb["metadata"] != cleaned["metadata"]:
            yield f"{where}, notebook metadata: another kernel or editor"
        elif is_clean and path.read_text(encoding="utf-8") != notebook_text(cleaned):
            yield f"{where}, layout of the file"


@_repaired_by("`make lib` writes addresses")
def check_stamps(root: Path) -> Iterator[str]:
    "The files with an address that `settings.ini` does not have, or an outdated fact."
    for path, (old, new) in stamped_files(root, facts=True).items():
        if old != new:
            yield f"{path}: a link or computed fact is stale; run `make lib`"


@_repaired_by("A chapter stands in book/, book/chapters.yml and _toc.yml")
def check_chapters(root: Path) -> Iterator[str]:
    "The notebooks of the book and rooms of the library that are not in all of book/, `book/chapters.yml`, `_toc.yml`."
    notebooks = sorted(path.stem for path in (root / "book").glob("*.ipynb"))
    wanted, toc = page_names(root), (root / "_toc.yml").read_text(encoding="utf-8")
    entries = re.findall(r"^ *- (?:file|glob): (\S+)", toc, re.M)
    yield from (f"book/chapters.yml: {n} has no notebook book/{n}.ipynb" for n in wanted if n not in notebooks)
    yield from (f"book/{n}.ipynb: not in book/chapters.yml" for n in notebooks if n not in wanted)
    made = [page for name, runs in wanted.items() for page in [*runs, *appendices(root, name, runs)]]
    listed = [entry.removeprefix("book/runs/") for entry in entries if entry.startswith("book/runs/")]
    yield from (f"_toc.yml: has no line `- file: book/runs/{page}`" for page in made if page not in listed)
    yield from (f"_toc.yml: there is no book/runs/{page}" for page in listed if page not in [*made, STATUS])
    rooms = sorted(page.parent.name for page in (root / "nbs").glob("*/index.md"))
    made = [line for room in rooms for line in (f"{room}/index", f"{room}/[0-9]*")]
    listed = [entry.removeprefix("book/library/") for entry in entries if re.match("book/library/.*/", entry)]
    yield from (f"_toc.yml: has no line for book/library/{line}" for line in made if line not in listed)
    yield from (f"_toc.yml: there is no book/library/{line}" for line in listed if line not in made)


@_repaired_by("Give the inner condition a name, or write the choice as a table")
def check_conditionals(root: Path) -> Iterator[str]:
    "The conditional expressions inside conditional expressions, in cells and plain modules."
    code = [(f"{where}, {cell.label}", cell.source) for where, cell, _ in _cells(root, source_notebooks(root))]
    modules = [path for package in PLAIN for path in sorted((root / package).rglob("*.py"))]
    code += [(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in modules]
    for where, text in code:
        tree = ast.parse(text) if len(re.findall(r"\bif\b", text)) > 1 else ast.Module([], [])
        for outer in (node for node in ast.walk(tree) if isinstance(node, ast.IfExp)):
            if sum(isinstance(node, ast.IfExp) for node in ast.walk(outer)) > 1:
                yield f"{where}: {ast.unparse(outer)[:60]} ... holds another condition"


@_repaired_by("Divide a cell between two thoughts, or move what others could use into the library")
def check_lengths(root: Path) -> Iterator[str]:
    "The code cells of chapters that are too long; parameters have a line each."
    for path in sorted((root / "book").glob("*.ipynb")):
        listed, names = parameters(read_notebook(path))
        for where, cell, raw in _cells(root, [path]):
            lines, most = len(source(raw).splitlines()), max(LINES, len(names)) if raw == listed else LINES
            if lines > most:
                yield f"{where}, {cell.label}: {lines} lines, {most} at most"


@_repaired_by("Divide an exported cell: one function, one class, or small definitions that belong together")
def check_cells(root: Path) -> Iterator[str]:
    "The exported cells that hold more than one function, one class, or small definitions that belong together."
    for where, cell, raw in _cells(
        root, [path for room in CELL_ROOMS for path in sorted((root / "nbs" / room).glob("*.ipynb"))]
    ):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        definitions = [node for node in ast.parse(cell.source).body if isinstance(node, kinds)]
        is_class = len(definitions) == 1 and isinstance(definitions[0], ast.ClassDef)
        lines, most = len(source(raw).splitlines()), CLASS_LINES if is_class else CELL_LINES
        if "export" in cell.directives and definitions and lines > most + CELL_MARGIN:
            yield f"{where}, {', '.join(node.name for node in definitions)}: {lines} lines, {most} at most"


@_repaired_by("Compute the number from a record: a marker of tools/facts.py, or a code cell")
def check_findings(root: Path) -> Iterator[str]:
    "The sentences of pages with a measured number that no record makes."
    for path, text in pages(root).items():
        yield from (f"{path}: {sentence}" for sentence in measured_by_hand(text))


@_repaired_by("Shorten the library; `python -m tools.count` shows where it grew")
def check_counts(root: Path) -> Iterator[str]:
    "What the library has more of than it may."
    package = settings(root)["lib_path"]
    counts = total(count(root / package).values())
    found = counts.lines, len(counts.called_once), counts.untyped["Any"], counts.untyped["cast("]
    for n, (what, most) in zip(found, MOST.items()):
        if n > most:
            yield f"{package}: {n:,} {what}, {most:,} at most"


@_repaired_by("Give each notebook of a room a number of its own")
def check_numbers(root: Path) -> Iterator[str]:
    "The notebooks of a room that have a number in common."
    by_number = defaultdict(list)
    for path in sorted((root / "nbs").glob("*_*/*.ipynb")):
        by_number[path.parent.name, path.name.partition("_")[0]].append(path.stem)
    yield from (f"nbs/{room}: {', '.join(names)}" for (room, _), names in by_number.items() if len(names) > 1)


@_repaired_by(f"Name the behaviour of a test in at most {LABEL} characters")
def check_labels(root: Path) -> Iterator[str]:
    "The tests whose names are too long to be read in a list."
    for where, cell, _ in _cells(root, library_notebooks(root)):
        if len(label := cell.directives.get("test", "")) > LABEL:
            yield f"{where}: {label}"


def _text_writers(code: str) -> Iterator[tuple[ast.Call, str]]:
    "The calls that write text to a file, and the argument that says how a line ends."
    for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        opens = name == "open" and any(isinstance(arg, ast.Constant) and arg.value == "w" for arg in call.args)
        if opens or (name == "write_text" and isinstance(call.func, ast.Attribute)):
            yield call, "newline"
        if name == "to_csv" and call.args:
            yield call, "lineterminator"


@_repaired_by('End lines alike on every system: newline="\\n", lineterminator="\\n"')
def check_line_ends(root: Path) -> Iterator[str]:
    "The places of the library that end lines of text as the system does."
    for path in sorted((root / "vocab_lit").rglob("*.py")):
        for call, how in _text_writers(path.read_text(encoding="utf-8")):
            if how not in [keyword.arg for keyword in call.keywords]:
                yield f"{path.relative_to(root).as_posix()}, line {call.lineno}: {how} is not given"


@_repaired_by("Remove it, or add its name to TOP in tools/checks.py")
def check_top(root: Path) -> Iterator[str]:
    "The files and folders at the top that nobody expects there; none without a git repository."
    if (root / ".git").exists():
        kept = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
        names = {path.partition("/")[0] for path in kept.split("\0") if path}
        yield from (f"{name}: stands at the top" for name in sorted(names - TOP))


@_repaired_by("Edit notebooks, never generated files, then `make lib`")
def check_generated(root: Path) -> Iterator[str]:
    "The files of the library and the tests that are not what the notebooks generate."
    (new, problems), old = generated(root), on_disk(root)
    yield from problems
    for path in sorted(new.keys() & old.keys()):
        if new[path] != old[path]:
            yield f"{path}: is not what the notebooks generate; edit the notebook, not this file"
    yield from (f"{path}: missing" for path in sorted(new.keys() - old.keys()))
    yield from (f"{path}: no notebook generates it" for path in sorted(old.keys() - new.keys()))


def check(root: Path) -> bool:
    "Print what is not in order and what repairs it; whether all is."
    in_order = True
    for repair, find in CHECKS.items():
        if problems := find(root):
            print(*problems, f"{repair}.", sep="\n")
            in_order = False
    return in_order
