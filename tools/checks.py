"""What `make test` looks at before it runs the tests; nothing here writes a file."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.appendix import appendices
from tools.chapters import page_names
from tools.count import count, total
from tools.export import clean_notebook, generated, on_disk
from tools.notebooks import (
    code_cells,
    in_checkout,
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
PLAIN = ("testkit", "studies", "benchmarks", "tools")  # packages that are written by hand
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TOP = {  # what git keeps at the top of the repository
    *("nbs", "vocab_lit", "tests", "book", "data", *PLAIN),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE"),
    *("pyproject.toml", "settings.ini", "setup.py", "MANIFEST.in", "constraints.txt", "constraints-colab.txt"),
    *("Makefile", "conftest.py", "_config.yml", "_toc.yml"),
    *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml"),
}


def _stray(old: dict, new: dict) -> list[str]:
    "What cleaning takes from a cell."
    dirty = [key for key in ("outputs", "execution_count") if old.get(key)]
    return dirty + [f"metadata {key}" for key in sorted(old["metadata"].keys() - new["metadata"].keys())]


def check_clean(root: Path) -> list[str]:
    "The notebooks that carry outputs or stray metadata, with the cell and what is wrong."
    problems = []
    for path in source_notebooks(root):
        nb, where = read_notebook(path), path.relative_to(root).as_posix()
        cleaned = clean_notebook(nb)
        in_cells = []
        for old, new in zip(nb["cells"], cleaned["cells"]):
            if stray := _stray(old, new):
                first_line = source(old).split("\n")[0][:60]
                in_cells.append(f'{where}, cell "{first_line}" ({old.get("id", "no id")}): has {", ".join(stray)}')
        problems += in_cells
        if nb["metadata"] != cleaned["metadata"]:
            problems.append(f"{where}, notebook metadata: another kernel or editor")
        elif not in_cells and path.read_text(encoding="utf-8") != notebook_text(cleaned):
            problems.append(f"{where}, layout of the file")
    return problems


def check_stamps(root: Path) -> list[str]:
    "The files with an address that `settings.ini` does not have, or a fact that is no longer so."
    stale = [path for path, (old, new) in stamped_files(root, facts=True).items() if old != new]
    return [f"{path}: a link or computed fact is stale; run `make lib`" for path in stale]


def check_generated(root: Path) -> list[str]:
    "The files of the library and the tests that are not what the notebooks say."
    (new, problems), old = generated(root), on_disk(root)
    different = [path for path in sorted(new.keys() & old.keys()) if new[path] != old[path]]
    problems += [f"{path}: is not what the notebooks generate; edit the notebook, not this file" for path in different]
    problems += [f"{path}: missing" for path in sorted(new.keys() - old.keys())]
    return problems + [f"{path}: no notebook generates it" for path in sorted(old.keys() - new.keys())]


def _plain_modules(root: Path) -> list[Path]:
    return [path for package in PLAIN for path in sorted((root / package).rglob("*.py"))]


def _code(root: Path) -> Iterator[tuple[str, str]]:
    "The code that people write, by cell or module: where it is, and the source."
    for path in source_notebooks(root):
        for cell in code_cells(path):
            yield f"{path.relative_to(root).as_posix()}, {cell.label}", cell.source
    for path in _plain_modules(root):
        yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def check_conditionals(root: Path) -> list[str]:
    "The conditional expressions inside conditional expressions."
    problems = []
    for where, code in _code(root):
        if len(re.findall(r"\bif\b", code)) < 2:
            continue
        for outer in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.IfExp)):
            if sum(isinstance(node, ast.IfExp) for node in ast.walk(outer)) > 1:
                problems.append(f"{where}: {ast.unparse(outer)[:60]} ... holds another condition")
    return problems


def check_lengths(root: Path) -> list[str]:
    "The code cells of chapters that are too long; parameters have a line each."
    problems = []
    for path in sorted((root / "book").glob("*.ipynb")):
        nb = read_notebook(path)
        listed, names = parameters(nb)
        for cell in code_cells(path):
            raw = nb["cells"][cell.index]
            lines, most = len(source(raw).splitlines()), max(LINES, len(names)) if raw is listed else LINES
            if lines > most:
                problems.append(f"{path.relative_to(root).as_posix()}, {cell.label}: {lines} lines, {most} at most")
    return problems


def check_cells(root: Path) -> list[str]:
    "The exported cells that hold more than one function, one class, or small definitions that belong together."
    problems = []
    for path in [path for room in CELL_ROOMS for path in sorted((root / "nbs" / room).glob("*.ipynb"))]:
        cells = read_notebook(path)["cells"]
        for cell in code_cells(path):
            definitions = [node for node in ast.parse(cell.source).body if isinstance(node, _DEFINITIONS)]
            if "export" not in cell.directives or not definitions:
                continue
            is_class = len(definitions) == 1 and isinstance(definitions[0], ast.ClassDef)
            lines, most = len(source(cells[cell.index]).splitlines()), CLASS_LINES if is_class else CELL_LINES
            if lines > most + CELL_MARGIN:
                names = ", ".join(node.name for node in definitions)
                problems.append(f"{path.relative_to(root).as_posix()}, {names}: {lines} lines, {most} at most")
    return problems


def _text_writers(code: str) -> Iterator[tuple[ast.Call, str]]:
    "The calls that write text to a file, and the argument that says how a line ends."
    for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        opens = name == "open" and any(isinstance(arg, ast.Constant) and arg.value == "w" for arg in call.args)
        if opens or (name == "write_text" and isinstance(call.func, ast.Attribute)):
            yield call, "newline"
        if name == "to_csv" and call.args:
            yield call, "lineterminator"


def check_line_ends(root: Path) -> list[str]:
    "The places of the library that end lines of text as the system does."
    problems = []
    for path in sorted((root / "vocab_lit").rglob("*.py")):
        for call, how in _text_writers(path.read_text(encoding="utf-8")):
            if how not in [keyword.arg for keyword in call.keywords]:
                problems.append(f"{path.relative_to(root).as_posix()}, line {call.lineno}: {how} is not given")
    return problems


def _contents_problems(root: Path, entries: list[str]) -> list[str]:
    "Rooms of the library that `_toc.yml` lacks, and rooms in it that are gone."
    rooms = {page.parent.name for page in (root / "nbs").glob("*/index.md")}
    wanted = [line for room in sorted(rooms) for line in (f"{room}/index", f"{room}/[0-9]*")]
    listed = [entry.removeprefix("book/library/") for entry in entries if re.match("book/library/.*/", entry)]
    missing = [f"_toc.yml: has no line for book/library/{line}" for line in wanted if line not in listed]
    return missing + [f"_toc.yml: there is no book/library/{line}" for line in listed if line not in wanted]


def check_chapters(root: Path) -> list[str]:
    "The notebooks of the book that are not in all three places: book/, `book/chapters.yml` and `_toc.yml`."
    notebooks = {path.stem: path for path in sorted((root / "book").glob("*.ipynb"))}
    wanted, toc = page_names(root), (root / "_toc.yml").read_text(encoding="utf-8")
    entries = re.findall(r"^ *- (?:file|glob): (\S+)", toc, re.M)
    problems = [f"book/chapters.yml: {n} has no notebook book/{n}.ipynb" for n in wanted if n not in notebooks]
    problems += [f"book/{n}.ipynb: not in book/chapters.yml" for n in notebooks if n not in wanted]
    made = [page for name, runs in wanted.items() for page in [*runs, *appendices(root, name, runs)]]
    listed = [entry.removeprefix("book/runs/") for entry in entries if entry.startswith("book/runs/")]
    problems += [f"_toc.yml: has no line `- file: book/runs/{page}`" for page in made if page not in listed]
    problems += [f"_toc.yml: there is no book/runs/{page}" for page in listed if page not in [*made, STATUS]]
    return problems + _contents_problems(root, entries)


def check_top(root: Path) -> list[str]:
    "The files and folders at the top that nobody expects there; none where git does not keep them."
    if not (root / ".git").exists():
        return []
    kept = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    names = {path.partition("/")[0] for path in kept.split("\0") if path}
    return [f"{name}: stands at the top" for name in sorted(names - TOP)]


def check_numbers(root: Path) -> list[str]:
    "The notebooks of a room that have a number in common."
    problems = []
    for room in sorted((root / "nbs").glob("*_*/")):
        by_number: dict[str, list[str]] = {}
        for path in sorted(room.glob("*.ipynb")):
            by_number.setdefault(path.name.partition("_")[0], []).append(path.stem)
        alike = [names for names in by_number.values() if len(names) > 1]
        problems += [f"nbs/{room.name}: {', '.join(names)}" for names in alike]
    return problems


def check_labels(root: Path) -> list[str]:
    "The tests whose names are too long to be read in a list."
    problems = []
    for path in library_notebooks(root):
        labels = [cell.directives["test"] for cell in code_cells(path) if "test" in cell.directives]
        problems += [f"{in_checkout(path)}: {label}" for label in labels if len(label) > LABEL]
    return problems


def check_findings(root: Path) -> list[str]:
    "The sentences of pages with a measured number that no record makes."
    return [f"{path}: {sentence}" for path, text in pages(root).items() for sentence in measured_by_hand(text)]


MOST = {"lines of code": 20_500, "private functions that are called once": 220, "uses of Any": 130, "casts": 37}


def check_counts(root: Path) -> list[str]:
    "What the library has more of than it may."
    package = settings(root)["lib_path"]
    counts = total(count(root / package).values())
    found = {
        "lines of code": counts.lines,
        "private functions that are called once": len(counts.called_once),
        "uses of Any": counts.untyped["Any"],
        "casts": counts.untyped["cast("],
    }
    return [f"{package}: {found[what]:,} {what}, {most:,} at most" for what, most in MOST.items() if found[what] > most]


CHECKS = {  # what repairs a problem: the check that tells it
    "`make lib` cleans notebooks": check_clean,
    "`make lib` writes addresses": check_stamps,
    "A chapter stands in book/, book/chapters.yml and _toc.yml": check_chapters,
    "Give the inner condition a name, or write the choice as a table": check_conditionals,
    "Divide a cell between two thoughts, or move what others could use into the library": check_lengths,
    "Divide an exported cell: one function, one class, or small definitions that belong together": check_cells,
    "Compute the number from a record: a marker of tools/facts.py, or a code cell": check_findings,
    "Shorten the library; `python -m tools.count` shows where it grew": check_counts,
    "Give each notebook of a room a number of its own": check_numbers,
    f"Name the behaviour of a test in at most {LABEL} characters": check_labels,
    'End lines alike on every system: newline="\\n", lineterminator="\\n"': check_line_ends,
    "Remove it, or add its name to TOP in tools/checks.py": check_top,
    "Edit notebooks, never generated files, then `make lib`": check_generated,
}


def check(root: Path) -> bool:
    "Print what is not in order and what repairs it; whether all is."
    in_order = True
    for repair, find in CHECKS.items():
        if problems := find(root):
            print(*problems, f"{repair}.", sep="\n")
            in_order = False
    return in_order
