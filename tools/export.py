"""`make lib`: notebooks are cleaned and stamped, the library is exported and the tests are made. Imports no library."""

import ast
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.make_tests import BANNER, file_name, pytest_module
from tools.notebooks import (
    METADATA,
    code_cells,
    library_notebooks,
    notebook_text,
    read_notebook,
    settings,
    source_notebooks,
    texts,
    unnumbered,
    write_changed,
)
from tools.stamps import stamped_files


def clean_notebook(nb: dict) -> dict:
    "A notebook without outputs, execution counts and stray metadata."
    from nbdev.clean import clean_nb

    cells = [cell | {"metadata": dict(cell["metadata"])} for cell in nb["cells"]]
    new = nb | {"cells": cells}
    clean_nb(new, allowed_cell_metadata_keys=["tags", "mystnb"])
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"] = []  # which clean_nb clears with all tags or not at all
    return new | {"metadata": METADATA}


def clean(root: Path) -> list[str]:
    "Clean every notebook that people write; those that changed."
    paths = source_notebooks(root)
    wanted = {p.relative_to(root).as_posix(): notebook_text(clean_notebook(read_notebook(p))) for p in paths}
    return write_changed(root, wanted)


def stamp(root: Path, facts: bool = False) -> list[str]:
    "Write addresses and versions, and computed facts where asked for; the files that changed."
    return write_changed(root, {path: new for path, (_, new) in stamped_files(root, facts).items()})


def _room_docstring(room: Path) -> str:
    "The docstring of a room's package: the first sentence of its first page."
    page = room / "index.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    sentence = re.search(r"^[A-Z].*?\.(?=\s)", text, re.M)
    return f'"{sentence[0]}"\n' if sentence else ""


def _with_absolute_imports(file: Path, package: Path) -> str:
    "A module's text with the imports as the notebook has them; nbdev makes those of one line relative."
    parts = file.relative_to(package.parent).with_suffix("").parts

    def absolute(match: re.Match) -> str:
        place = [*parts[: len(parts) - len(match[2])], *filter(None, [match[3]])]
        return f"{match[1]}from {'.'.join(place)} import "

    return re.sub(r"^( *)from (\.+)([\w.]*) import ", absolute, file.read_text(encoding="utf-8"), flags=re.M)


def _export_library(root: Path, version: str, package: Path) -> None:
    "Export the notebooks below `root` into a folder."
    from nbdev.export import nb_export

    for path in library_notebooks(root):
        nb_export(str(path), lib_path=str(package))
    for file in package.rglob("*.py"):
        file.write_text(_with_absolute_imports(file, package), encoding="utf-8")
    for room in (root / "nbs").glob("*_*/"):
        init = package / unnumbered(room.name) / "__init__.py"
        if init.parent.is_dir() and not init.exists():
            init.write_text(_room_docstring(room), encoding="utf-8")
    with (package / "__init__.py").open("a", encoding="utf-8") as f:
        f.write(f'__version__ = "{version}"\n')
    (package / "py.typed").touch()  # says that the annotations are there to be checked


def generated(root: Path) -> tuple[dict[str, str], list[str]]:
    "The library and its tests, path to text, as the notebooks have them; and the cells that cannot become tests."
    cfg, tests, problems = settings(root), {}, []
    for path in library_notebooks(root):
        try:
            tests[f"tests/{file_name(path)}"] = pytest_module(path, cfg["lib_name"])
        except ValueError as e:
            problems.append(str(e))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(root / "nbs", copy / "nbs", ignore=shutil.ignore_patterns(".*"))
        _export_library(copy, cfg["version"], copy / cfg["lib_path"])
        files = texts(copy, _library_files(copy / cfg["lib_path"]))
    return files | {path: text for path, text in tests.items() if text}, problems


def _library_files(package: Path) -> list[Path]:
    "The files of a package; `_modidx.py` is an index that nbdev's own commands write beside them."
    return [*(p for p in package.rglob("*.py") if p.name != "_modidx.py"), *package.glob("py.typed")]


def on_disk(root: Path) -> dict[str, str]:
    "What lies where generated files belong."
    return texts(root, [*_library_files(root / settings(root)["lib_path"]), *(root / "tests").rglob("*.py")])


def check_syntax(root: Path) -> list[str]:
    "The cells of the library's notebooks that Python cannot read, with the line."
    problems = []
    for path in library_notebooks(root):
        for cell in code_cells(path):
            try:
                ast.parse(cell.source)
            except SyntaxError as e:
                problems.append(f"{path.relative_to(root).as_posix()}, {cell.label}, line {e.lineno}: {e.msg}")
    return problems


WRITTEN = "_build/generated.json"  # the digest of each file that `regenerate` has written


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _not_in_git(root: Path, paths: set[str]) -> set[str]:
    "Those of some files that git's index has otherwise or not at all; all of them where there is no git."
    same = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True).stdout.splitlines()
    other = subprocess.run(["git", "ls-files", "--modified"], cwd=root, capture_output=True, text=True)
    return paths - (set(same) - set(other.stdout.splitlines()))


def edited_by_hand(root: Path, new: dict[str, str], old: dict[str, str]) -> list[str]:
    "The generated files that would lose what somebody wrote into them: neither git nor an earlier export has that."
    record = root / WRITTEN
    written = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    changed = {path for path in old.keys() & new.keys() if old[path] != new[path]}
    return [path for path in sorted(_not_in_git(root, changed)) if written.get(path) != _digest(old[path])]


def regenerate(root: Path) -> list[str]:
    """Write the library and the tests and remove what has no notebook.

    All is checked before anything is written: `ValueError` for a cell that Python cannot read or that cannot be a test,
    and for a file that somebody has edited by hand.
    """
    if problems := check_syntax(root):
        raise ValueError("\n".join(problems))
    (new, problems), old = generated(root), on_disk(root)
    hint = "edited by hand; move the change into its notebook, then `git checkout` the file"
    problems += [f"{path}: {hint}" for path in edited_by_hand(root, new, old)]
    if problems:
        raise ValueError("\n".join(problems))
    changed = write_changed(root, new)
    write_changed(root, {WRITTEN: json.dumps({path: _digest(text) for path, text in new.items()})})
    gone = [path for path in sorted(old.keys() - new.keys()) if BANNER.strip() in old[path][:500]]
    for path in gone:
        (root / path).unlink()
    return changed + gone
