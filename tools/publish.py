"""From notebooks to a tested library and a book."""

import ast
import builtins
import difflib
import gc
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import symtable
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import yaml
from babel import Locale
from tqdm.auto import tqdm

import vocab_lit
from studies.findings import MUST_HOLD
from studies.recorded import ANEW, lay_out, measured_anew
from tools.facts import FACTS, idea_picture, social_card
from vocab_lit.models.card import markdown_table
from vocab_lit.study.results import environment, fingerprint
from vocab_lit.text.extras import import_extra
from vocab_lit.text.phrasebook import find_locale


def checkout() -> Path:  # the top folder of the repository
    "The checkout this runs in; `FileNotFoundError` where there is none."
    here = Path(vocab_lit.__file__).resolve().parent.parent
    for folder in (here, *[Path.cwd(), *Path.cwd().parents]):
        if (folder / "settings.ini").is_file() and (folder / "nbs").is_dir() and (folder / "book").is_dir():
            return folder
    raise FileNotFoundError(
        "no checkout of vocab_lit here: notebooks, chapters and the book are not part of the "
        "installed package; clone the repository and run this inside it"
    )


def settings(
    root: Path | None = None,  # the checkout; by default the one this runs in
) -> dict[str, str]:  # every entry, with references to other entries filled in
    "The entries of `settings.ini`."
    ini = ConfigParser(delimiters=["="])
    ini.read((root or checkout()) / "settings.ini", encoding="utf-8")
    return dict(ini["DEFAULT"])


@dataclass
class Cell:
    "A code cell of a notebook without its directives."

    id: str  # the cell's id in the notebook file
    source: str  # Python source
    directives: dict[str, str]  # `#| test: a name` is {"test": "a name"}
    index: int  # position among all cells of the notebook, from 0

    @property
    def label(self) -> str:  # the first words of the cell, to find it by
        "How a message names the cell."
        text = self.directives.get("test") or self.source.split("\n")[0]
        return f'cell "{text if "test" in self.directives else text[:60]}" ({self.id})'


def code_cells(
    path: Path,  # a notebook
) -> list[Cell]:  # its code cells in order
    "Read the code cells of a notebook."
    cells = []
    for i, c in enumerate(json.loads(Path(path).read_text(encoding="utf-8"))["cells"]):
        if c["cell_type"] != "code":
            continue
        source, directives = "".join(c["source"]), {}
        while m := re.match(r"\s*#\|[ \t]*([\w-]+):?[ \t]*(.*)\n?", source):
            directives[m[1]], source = m[2].strip(), source[m.end() :]
        cells.append(Cell(c.get("id", ""), re.sub(r"^[%!].*\n?", "", source, flags=re.M).strip("\n"), directives, i))
    return cells


def names(
    source: str,  # Python source
) -> tuple[set[str], set[str]]:  # (names it binds at its top level, names it needs from elsewhere)
    "What a piece of code binds and needs."
    top = symtable.symtable(source, "cell", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    tables, needed = [top], set()
    for table in tables:
        tables += table.get_children()
        needed |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and s.is_global()}
    return bound, needed - bound - set(dir(builtins)) - {"__name__", "__file__"}


def _indent(source: str) -> str:
    "Indent code by four spaces, the inside of triple-quoted strings excepted."
    inside = set()
    several_lines = re.search("\"\"\"|'''", source)
    for node in ast.walk(ast.parse(source)) if several_lines else ():
        if not isinstance(node, (ast.Constant, ast.JoinedStr)) or node.end_lineno == node.lineno:
            continue
        if re.search("\"\"\"|'''", ast.get_source_segment(source, node)):
            inside |= set(range(node.lineno, node.end_lineno))
    return "\n".join(line if i in inside or not line else "    " + line for i, line in enumerate(source.split("\n")))


def _imports(cell: Cell) -> dict[str, str]:
    "Each name that a cell's import statements bind, with a statement that binds it alone."
    found, top = {}, ast.parse(cell.source).body
    for node in [
        *top,
        *(n for block in top if isinstance(block, ast.If) for n in block.body),
    ]:  # `if TYPE_CHECKING:` too
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for alias in node.names:
            start = f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
            found[alias.asname or alias.name.split(".")[0]] = f"{start}import {ast.unparse(alias)}"
    return found


@dataclass
class _Source:
    "The names a notebook offers to its tests."

    library: str  # full name of the module it exports
    exported: set[str] = field(default_factory=set)  # names its exported cells bind
    imports: dict[str, str] = field(default_factory=dict)  # name to import statement
    examples: dict[str, list[Cell]] = field(default_factory=dict)  # name to the example cells that bind it

    def add(self, cell: Cell) -> None:
        "Take in the names of a cell that is not a test."
        bound, _ = names(cell.source)
        imports = _imports(cell)
        self.imports |= imports
        if {"export", "exporti", "exports"} & cell.directives.keys():
            self.exported |= bound - imports.keys()
        elif "notest" not in cell.directives and cell.directives.get("eval") != "false":
            for name in bound - imports.keys():
                self.examples.setdefault(name, []).append(cell)

    def find(self, needed: set[str], cell: Cell) -> tuple[set[str], list[Cell]]:
        "The import statements and example cells that give a cell the names it needs."
        statements, cells = set(), {}
        for name in sorted(needed):
            at = [c for c in self.examples.get(name, []) if c is not cell]
            if len(at) + (name in self.exported) > 1:
                raise ValueError(
                    f"{cell.label}: {name!r} is bound in more than one cell "
                    f"({', '.join(c.label for c in at)}); give each its own name"
                )
            if at:
                cells[at[0].index] = at[0]
            elif name in self.exported:
                statements.add(f"from {self.library} import {name}")
            elif name in self.imports:
                statements.add(self.imports[name])
            elif name == "display":
                statements.add("from IPython.display import display")
            else:
                raise ValueError(f"{cell.label}: {name!r} is not defined by the library, an import or an example")
        return statements, [cells[i] for i in sorted(cells)]


_BANNER = "# AUTOGENERATED! DO NOT EDIT! File to edit: "


def _in_checkout(path: Path) -> str:  # as nbs/02_tokens/01_vocab.ipynb
    "The path of a notebook in its checkout."
    parts = path.parts
    top = max(i for i, part in enumerate(parts) if part in ("nbs", "book"))
    return "/".join(parts[top:])


def _unnumbered(name: str) -> str:
    return re.sub(r"^\d+_", "", name)


def _module(path: Path) -> str | None:  # as tokens.vocab; None where a notebook exports nothing
    "The module that a library notebook is exported to."
    return next((c.directives["default_exp"] for c in code_cells(path) if "default_exp" in c.directives), None)


def _test_file(path: Path) -> str:  # as tokens/test_vocab.py
    "The name of the test module of a library notebook, below `tests`."
    room = _in_checkout(path).split("/")[1:-1]
    module = _module(path)
    name = module.split(".")[-1] if module and module != "__init__" else _unnumbered(path.stem)
    return "/".join([*map(_unnumbered, room), f"test_{name}.py"])


def pytest_module(
    path: Path,  # a library notebook
    library: str = "vocab_lit",  # name of the package it exports to
) -> tuple[str, str]:  # (file name, source); the source is empty for a notebook without tests
    "The pytest module of a notebook; `ValueError` names the cell that cannot become a test."
    cells, where, module = code_cells(path), _in_checkout(path), _module(path)
    full_name = library if module == "__init__" else f"{library}.{module}"
    source, tests = _Source(full_name), [c for c in cells if "test" in c.directives]
    header, fixtures, functions = {"import pytest"}, {}, {}

    def need(found):
        header.update(found[0])
        for c in found[1]:
            if c.index in fixtures:
                continue
            bound, needed = names(c.source)
            args = need(source.find(needed, c))
            fixtures[c.index] = (
                f"@pytest.fixture(scope='module')\ndef {_fixture(c)}({', '.join(args)}):\n"
                f"    # {where}, {c.label}\n    global {', '.join(sorted(bound))}\n{_indent(c.source)}\n"
            )
        return [_fixture(c) for c in found[1]]

    try:
        for c in cells:
            "test" in c.directives or source.add(c)
        for c in tests:
            name = "test_" + re.sub(r"\W+", "_", c.directives["test"].lower()).strip("_")
            if name in functions:
                raise ValueError(f"{c.label}: a second test with this name; every test has its own")
            _, needed = names(f"def {name}():\n{_indent(c.source)}")
            args = need(source.find(needed, c))
            marks = "".join(f"@pytest.mark.{m}\n" for m in ("slow", "gpu") if m in c.directives)
            functions[name] = (
                f"{marks}@pytest.mark.cell({where!r}, {c.label!r})\n"
                f"def {name}({', '.join(args)}):\n{_indent(c.source)}\n"
            )
    except (ValueError, SyntaxError) as e:
        raise ValueError(f"{where}, {e}") from None
    if module and not any(s.startswith(f"from {full_name} ") for s in header):
        header.add(f"import {full_name}")  # which may only register something
    head = f"{_BANNER}{where}.\n{_join_imports(header)}\n"
    text = "\n\n".join([head, *(fixtures[i] for i in sorted(fixtures)), *functions.values()])
    return _test_file(path), text if tests else ""


def _join_imports(statements: set[str]) -> str:
    "Import statements in order, one for each module that names are imported from."
    lines = {}
    for s in sorted(statements):
        start, mid, name = s.partition(" import ")
        lines.setdefault(start + mid, []).append(name)
    return "\n".join(start + ", ".join(found) for start, found in lines.items())


def _fixture(cell: Cell) -> str:
    "The name of the fixture that runs an example cell."
    return "cell_" + re.sub(r"\W", "_", cell.id or str(cell.index))


def library_notebooks(root: Path) -> list[Path]:  # in the order of reading
    "The notebooks that the library is made of."
    return sorted(
        p
        for p in (root / "nbs").rglob("*.ipynb")
        if not any(part.startswith(".") for part in p.relative_to(root).parts)
    )


def _room_docstring(room: Path) -> str:
    "The docstring of a room's package: the first sentence of its first page."
    page = room / "index.md"
    sentences = re.findall(r"^[A-Z].*?\.(?=\s)", page.read_text(encoding="utf-8"), re.M) if page.is_file() else []
    return f'"{sentences[0]}"\n' if sentences else ""


def generated(
    root: Path,  # a checkout
) -> tuple[dict[str, str], list[str]]:  # (path inside the checkout to text, cells that cannot become tests)
    "The files that the library notebooks stand for: the package and its tests."
    from nbdev.export import nb_export

    cfg, files, problems = settings(root), {}, []
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copytree(root / "nbs", Path(tmp) / "nbs", ignore=shutil.ignore_patterns(".*"))
        package = Path(tmp) / cfg["lib_path"]
        for path in library_notebooks(Path(tmp)):
            nb_export(path, lib_path=package)
            try:
                name, text = pytest_module(path, cfg["lib_name"])
            except ValueError as e:
                problems.append(str(e))
            else:
                files |= {f"tests/{name}": text} if text else {}
        for room in (Path(tmp) / "nbs").glob("*_*/"):
            init = package / _unnumbered(room.name) / "__init__.py"
            if init.parent.is_dir() and not init.exists():
                init.write_text(_room_docstring(room), encoding="utf-8")
        with (package / "__init__.py").open("a", encoding="utf-8") as f:
            f.write(f'__version__ = "{cfg["version"]}"\n')
        files |= _texts(Path(tmp), package.rglob("*.py"))
    return files, problems


def _texts(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    "The texts of files, by their paths below `root`."
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in sorted(paths)}


def _on_disk(root: Path) -> dict[str, str]:
    "What lies where generated files belong; `_modidx.py` is an index that nbdev's own commands write beside them."
    folders = [root / settings(root)["lib_path"], root / "tests"]
    return _texts(root, [p for f in folders for p in f.rglob("*.py") if p.name != "_modidx.py"])


def check_generated(root: Path | None = None) -> list[str]:  # one line for each file that is not what the notebooks say
    "Compare the library and the tests with what the notebooks would generate; writes nothing."
    root = root or checkout()
    (new, problems), old = generated(root), _on_disk(root)
    return (
        problems
        + [
            f"{p}: is not what the notebooks generate; edit the notebook, not this file"
            for p in sorted(new)
            if p in old and new[p] != old[p]
        ]
        + [f"{p}: missing" for p in sorted(new.keys() - old.keys())]
        + [f"{p}: no notebook generates it" for p in sorted(old.keys() - new.keys())]
    )


def regenerate(root: Path | None = None) -> list[str]:  # the files that changed
    "Write the library and the tests, remove what has no notebook; `ValueError` for a cell that cannot be a test."
    root = root or checkout()
    (new, problems), old = generated(root), _on_disk(root)
    changed = [p for p in sorted(new) if new[p] != old.get(p)]
    gone = [p for p in sorted(old.keys() - new.keys()) if "AUTOGENERATED! DO NOT EDIT!" in old[p][:500]]
    for p in changed:
        (root / p).parent.mkdir(parents=True, exist_ok=True)
        (root / p).write_text(new[p], encoding="utf-8")
    for p in gone:
        (root / p).unlink()
    if problems:
        raise ValueError("\n".join(problems))
    return changed + gone


_METADATA = {
    "kernelspec": {"display_name": "python3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def source_notebooks(root: Path) -> list[Path]:  # library notebooks, then chapters
    "The notebooks that people write."
    return [*library_notebooks(root), *sorted((root / "book").glob("*.ipynb"))]


def clean_notebook(
    nb: dict,  # a notebook as JSON; changed in place
) -> list[str]:  # what was not clean, by cell
    "Remove outputs, execution counts and stray metadata."
    found = []
    for c in nb["cells"]:
        dirty = [k for k in ("outputs", "execution_count") if c.get(k)]
        dirty += [f"metadata {k}" for k in sorted(c["metadata"].keys() - {"tags", "mystnb"})]
        start = "".join(c["source"]).split("\n")[0][:60]
        if dirty:
            found.append(f'cell "{start}" ({c.get("id", "no id")}): has {", ".join(dirty)}')
        c["metadata"] = {k: v for k, v in c["metadata"].items() if k in ("tags", "mystnb")}
        if c["cell_type"] == "code":
            c |= {"outputs": [], "execution_count": None}
    if nb["metadata"] != _METADATA:
        found.append("notebook metadata: another kernel or editor")
    nb["metadata"] = _METADATA
    return found


def _clean_text(text: str) -> tuple[str, list[str]]:
    "A notebook's clean text, and what was not clean."
    nb = json.loads(text)
    found = clean_notebook(nb)
    new = json.dumps(nb, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return new, found or (["layout of the file"] if new != text else [])


def check_clean(root: Path | None = None) -> list[str]:  # notebook, cell and what is wrong, one line each
    "Find the notebooks that carry outputs or stray metadata; writes nothing."
    root = root or checkout()
    return [f"{p}, {f}" for p, text in _texts(root, source_notebooks(root)).items() for f in _clean_text(text)[1]]


def clean(root: Path | None = None) -> list[str]:  # the notebooks that changed
    "Clean every notebook that people write."
    root = root or checkout()
    texts = _texts(root, source_notebooks(root))
    changed = {p: new for p, old in texts.items() if (new := _clean_text(old)[0]) != old}
    for p, new in changed.items():
        (root / p).write_text(new, encoding="utf-8")
    return list(changed)


def check_conditionals(root: Path | None = None) -> list[str]:  # notebook, cell and code, one line each
    "Find conditional expressions inside conditional expressions; writes nothing."
    root = root or checkout()
    found = []
    for path in source_notebooks(root):
        for cell in code_cells(path):
            if len(re.findall(r"\bif\b", cell.source)) < 2:
                continue
            outer = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.IfExp)]
            nested = [node for node in outer if sum(isinstance(n, ast.IfExp) for n in ast.walk(node)) > 1]
            where = f"{path.relative_to(root).as_posix()}, {cell.label}"
            found += [f"{where}: {ast.unparse(node)[:60]} ... holds another condition" for node in nested]
    return found


LINES = 20  # of a chapter's code cell


def check_lengths(root: Path | None = None) -> list[str]:  # notebook, cell and its lines, one line each
    "Find the code cells of chapters that are too long; writes nothing."
    root = root or checkout()
    found = []
    for path in sorted((root / "book").glob("*.ipynb")):
        nb = json.loads(path.read_text(encoding="utf-8"))
        listed, parameters = _parameters(nb)
        for cell in code_cells(path):
            lines = len("".join(nb["cells"][cell.index]["source"]).splitlines())
            most = max(LINES, len(parameters)) if nb["cells"][cell.index] is listed else LINES
            if lines > most:
                found.append(f"{path.relative_to(root).as_posix()}, {cell.label}: {lines} lines, {most} at most")
    return found


_COLAB_CELL = """# On Colab: install the package beside the PyTorch that is there, and say what this machine is.
# Elsewhere this cell does nothing.
import importlib.metadata
import subprocess
import sys

keep_on_drive = False  # @param {type:"boolean"}
if "google.colab" in sys.modules:
    kept = [f"{name}=={importlib.metadata.version(name)}" for name in ("torch", "numpy", "pandas")]
    package = "PACKAGE"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *kept, package], check=True)
    from studies.budget import begin_on_colab

    print(begin_on_colab("CHAPTER", "LANGUAGE", keep_on_drive))"""


def _parameters(
    nb: dict,  # a notebook as JSON
) -> tuple[dict | None, dict[str, ast.expr]]:  # the cell tagged `parameters`, and the values in it
    "The parameters of a chapter."
    cell = next((c for c in nb["cells"] if "parameters" in c["metadata"].get("tags", [])), None)
    nodes = ast.parse("".join(cell["source"])).body if cell else []
    return cell, {
        t.id: n.value
        for n in nodes
        if isinstance(n, (ast.Assign, ast.AnnAssign))
        for t in getattr(n, "targets", None) or [n.target]
    }


def _defaults(nb: dict) -> dict[str, object]:
    return {name: ast.literal_eval(value) for name, value in _parameters(nb)[1].items()}


def _bibtex(cfg: dict[str, str]) -> str:
    "How to cite the package."
    fields = dict(
        title=f"{cfg['title']}: a new vocabulary for a new language",
        author=f"{{{cfg['author']}}}",
        version=cfg["version"],
        url=cfg["git_url"],
    )
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return f"@software{{{cfg['lib_name']},\n" + ",\n".join(lines) + "\n}"


def _badges(cfg: dict[str, str], blob: str) -> str:  # blob: the address of the repository's files
    "The licence, the versions of Python and the book, as images that link to them."
    shields = {
        "licence-Apache--2.0-blue": f"{blob}/LICENSE",
        f"python-{cfg['min_python']}_to_before_{cfg['below_python']}-blue": f"{blob}/settings.ini",
        "book-read-blue": f"{cfg['doc_host']}/{cfg['repo']}",
    }
    images = [
        f"[![{badge.split('-')[0]}](https://img.shields.io/badge/{badge})]({link})" for badge, link in shields.items()
    ]
    return " ".join(images)


def _stamps(
    cfg: dict[str, str],  # entries of settings.ini
    path: str,  # the file's path in the checkout
) -> dict[str, str]:  # name of a marker to its text
    "What stands between the markers of a file."
    url, blob = cfg["git_url"], f"{cfg['git_url']}/blob/{cfg['branch']}"
    colab = f"https://colab.research.google.com/github/{cfg['user']}/{cfg['repo']}/blob/{cfg['branch']}/{path}"
    colab = f"[Open in Colab]({colab}) · " if path.startswith("book/") else ""
    return dict(
        links=f"{colab}[this notebook]({blob}/{path}) · [repository]({url})",
        repository=f"[{cfg['user']}/{cfg['repo']}]({url})",
        badges=_badges(cfg, blob),
        license=f"[Apache-2.0]({blob}/LICENSE)",
        clone=f"```bash\ngit clone {url}\ncd {cfg['repo']}\n```",
        python=f"Python {cfg['min_python']} or newer, below {cfg['below_python']}",
        cite=f"```bibtex\n{_bibtex(cfg)}\n```",
    )


_PAGE = re.compile(
    r"\]\((?:https?://[^()\s]+/)?(book/[\w/-]+\.html(?:#[\w-]+)?)\)"
)  # a link to a page of the built book


def _fill(text: str, path: str, cfg: dict[str, str]) -> str:
    "Fill in the markers of a Markdown text; `ValueError` for an unknown one."
    known = _stamps(cfg, path)
    asked = set(re.findall(r"<!-- (\w+) -->", text))
    known |= {name: compute() for name, compute in FACTS.items() if name in asked}  # which takes seconds

    def fill(m):
        if m[1] not in known:
            choices = ", ".join([*known, *sorted(FACTS.keys() - known.keys())])
            raise ValueError(f"{path}: no text for the marker {m[0][:20]!r}; choose from {choices}")
        # Markdown leaves a line that begins with a comment as it is, so the text stands on lines of its own
        around = "\n" if m.start() == 0 or text[m.start() - 1] == "\n" else ""
        return f"<!-- {m[1]} -->{around}{known[m[1]]}{around}<!-- /{m[1]} -->"

    filled = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", fill, text, flags=re.S)
    return _PAGE.sub(rf"]({cfg['doc_host']}{cfg['doc_baseurl']}/\1)", filled) if path == "README.md" else filled


def _colab_cell(cfg: dict[str, str], chapter: str, language: str) -> str:
    "The cell that installs the package on Colab."
    package = f"{cfg['lib_name']}[chapters] @ git+{cfg['git_url']}@{cfg['branch']}"
    words = {"PACKAGE": package, "CHAPTER": chapter, "LANGUAGE": language}
    return re.sub("|".join(words), lambda m: words[m[0]], _COLAB_CELL)


def stamped(
    text: str,  # a file's text
    path: str,  # its path in the checkout
    cfg: dict[str, str],  # entries of settings.ini
) -> str:  # the text with addresses as settings.ini has them
    "Write the addresses into a Markdown file, `_config.yml`, `CITATION.cff` or a notebook."
    if path.endswith(".svg"):
        return idea_picture()
    if path.endswith((".yml", ".cff")):
        return re.sub(
            r"^(\s*[\w-]+: ).*?( *# settings\.ini: (\w+))$", lambda m: m[1] + cfg[m[3]] + m[2], text, flags=re.M
        )
    if not path.endswith(".ipynb"):
        return _fill(text, path, cfg)
    nb = json.loads(text)
    for c in nb["cells"]:
        source = "".join(c["source"])
        if c["cell_type"] == "markdown":
            source = _fill(source, path, cfg)
        elif "colab" in c["metadata"].get("tags", []):
            source = _colab_cell(cfg, Path(path).stem, _defaults(nb).get("language", ""))
            c["metadata"]["tags"] = ["colab", "remove-cell"]
        c["source"] = source.splitlines(keepends=True)
    return json.dumps(nb, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _stampable(root: Path) -> dict[str, tuple[str, str]]:
    "The files that are stamped: path to (text as it is, text as it should be)."
    cfg, book = settings(root), root / "book"
    paths = [root / "README.md", root / "_config.yml", root / "CITATION.cff", book / "_static" / "idea.svg"]
    paths += [*book.glob("*.md"), *book.glob("*.ipynb")]
    texts = _texts(root, [p for p in paths if p.exists()])
    return {p: (text, stamped(text, p, cfg)) for p, text in texts.items()}


def check_stamps(root: Path | None = None) -> list[str]:  # one line for each file with a stale address
    "Find the addresses that `settings.ini` does not have, and facts that are no longer so; writes nothing."
    files = _stampable(root or checkout())
    stale = [p for p, (old, new) in files.items() if old != new]
    return [f"{p}: a link, Colab cell or computed fact is stale; run `make lib`" for p in stale]


def stamp(root: Path | None = None) -> list[str]:  # the files that changed
    "Write the addresses of settings.ini wherever they belong."
    root = root or checkout()
    changed = {p: new for p, (old, new) in _stampable(root).items() if old != new}
    for p, new in changed.items():
        (root / p).write_text(new, encoding="utf-8")
    return list(changed)


_read_yaml = cache(yaml.safe_load)  # reading takes longer than most of what asks for it


def _book(root: Path | None) -> dict:
    return _read_yaml(((root or checkout()) / "book" / "chapters.yml").read_text(encoding="utf-8"))


def chapters(root: Path | None = None) -> dict[str, dict[str, dict]]:  # chapter to language to parameters
    "The chapters of the book, in order, and the runs that are its pages; the first language of a chapter runs first."
    return {
        name: {language: params or {} for language, params in runs.items()}
        for name, runs in (_book(root).get("chapters") or {}).items()
    }


def study_runs(root: Path | None = None) -> dict[str, dict[str, dict]]:  # chapter to language to parameters
    "The runs of the recorded study, which is larger than the book."
    return {name: dict(runs) for name, runs in (_book(root).get("study") or {}).items()}


def pages(root: Path | None = None) -> list[str]:  # book/NAME.ipynb
    "The notebooks of the book without a language, which run after the chapters."
    return _book(root).get("pages") or []


def check_chapters(root: Path | None = None) -> list[str]:  # one line for each notebook that is not in all three places
    "Compare the notebooks of the book with `book/chapters.yml` and with its contents in `_toc.yml`."
    root = root or checkout()
    there, toc = {p.stem for p in (root / "book").glob("*.ipynb")}, (root / "_toc.yml").read_text(encoding="utf-8")
    wanted = {name: [f"{name}-{language}" for language in runs] for name, runs in chapters(root).items()} | {
        name: [name] for name in pages(root)
    }
    return (
        [f"book/chapters.yml: {n} has no notebook book/{n}.ipynb" for n in wanted if n not in there]
        + [f"book/{n}.ipynb: not in book/chapters.yml" for n in sorted(there - wanted.keys())]
        + [
            f"_toc.yml: has no line `- file: book/runs/{p}`"
            for ps in wanted.values()
            for p in ps
            if not re.search(rf"^ *- file: book/runs/{p}$", toc, re.M)
        ]
        + [
            f"book/{n}.ipynb: no cell is tagged colab"
            for n in chapters(root)
            if n in there and '"colab"' not in (root / "book" / f"{n}.ipynb").read_text(encoding="utf-8")
        ]
    )


def check_parameters(
    name: str,  # of the chapter, for messages
    given: Iterable[str],
    known: Iterable[str],  # names of parameters
) -> None:
    "`ValueError` for a name that is not known."
    known = list(known)
    if bad := sorted(set(given) - set(known)):
        near = [
            f" (did you mean {found[0]}?)" if (found := difflib.get_close_matches(b, known, 1)) else "" for b in bad
        ]
        raise ValueError(
            f"{name} has no parameter {', '.join(map(''.join, zip(bad, near)))}; it has {', '.join(known)}"
        )


def set_parameters(
    nb: dict,  # a notebook as JSON; changed in place
    name: str,  # of the chapter, for messages
    **params,  # new values
) -> None:
    "Put values into the cell tagged `parameters`; `ValueError` for a name that is not in it."
    cell, known = _parameters(nb)
    if cell is None:
        raise ValueError(f"{name}: no cell is tagged 'parameters'")
    lines = "".join(cell["source"]).split("\n")
    check_parameters(name, params, known)
    for key in params:
        at = known[key]
        if at.end_lineno > at.lineno:
            raise ValueError(f"{name}: the default of {key} is longer than a line")
        line = lines[at.lineno - 1].encode()
        lines[at.lineno - 1] = (line[: at.col_offset] + repr(params[key]).encode() + line[at.end_col_offset :]).decode()
    cell["source"] = "\n".join(lines)


def page_links(
    text: str,  # Markdown
    here: str,  # folder of the text in the checkout: nbs/ROOM, or book
    there: str,  # folder of the page: book/library/ROOM, book/runs or book
    root: Path,  # the checkout
    language: str = "",  # of the page
) -> str:  # with links between pages of the book
    "Turn links between source notebooks into links between their pages."
    made = {
        f"book/{name}.ipynb": f"book/runs/{name}-{language if language in run else next(iter(run))}.ipynb"
        for name, run in chapters(root).items()
    }
    made |= {f"book/{name}.ipynb": f"book/runs/{name}.ipynb" for name in pages(root)}

    def link(m):
        source = os.path.normpath(f"{here}/{m[1]}")
        if not re.fullmatch(r"(nbs|nbs/[\w-]+|book)/[\w-]+\.(ipynb|md)", source):
            return m[0]
        page = made.get(source, re.sub("^nbs/", "book/library/", source))
        return f"]({os.path.relpath(root / page, root / there)}{m[2]}"

    return re.sub(r"\]\(([\w./-]+)(#[\w-]*\)|\))", link, text)


def _elsewhere(outputs: list):  # without folders that only this machine has
    text = json.dumps(outputs, ensure_ascii=False).replace(f"{checkout()}/", "")
    for path, said in ((r"/ipykernel_\d+/\d+\.py", "cell"), (r"/tmp\w+", "FOLDER")):
        text = re.sub(re.escape(tempfile.gettempdir()) + path, said, text)
    return json.loads(text)


def _page(nb: dict, out: Path, suffix: str, title: str, links: str, link: Callable[[str], str] = str) -> None:
    "Turn an executed notebook into the page `out`, in place; `link` turns the links of a text."
    text = "\n".join("".join(c["source"]) for c in nb["cells"] if c["cell_type"] == "markdown")
    found = re.findall(r"^\(([\w-]+)\)=|^\$\$ *\(([\w-]+)\)|^ *:(?:name|label): *([\w-]+)", text, re.M)
    labels = {a or b or c for a, b, c in found}
    labels = "|".join(re.escape(x) for x in sorted(labels, key=len, reverse=True))
    nb["cells"] = [c for c in nb["cells"] if "colab" not in c["metadata"].get("tags", [])]
    titled = False
    for c in nb["cells"]:
        c["metadata"] = {k: v for k, v in c["metadata"].items() if k in ("tags", "mystnb")}
        if c["cell_type"] != "markdown":
            continue
        source = re.sub(r"<!-- ([a-z]+) -->.*?<!-- /\1 -->\n*", "", "".join(c["source"]), flags=re.S)
        if labels and suffix:
            source = re.sub(rf"(?<![\w-])({labels})(?![\w-])", rf"\1-{suffix}", source)
        source = link(source)
        if not titled:
            source, titled = re.subn(r"^# .*", lambda m: f"{m[0]}{title}\n\n{links}", source, count=1, flags=re.M)
        c["source"] = source
    for c in nb["cells"]:
        if c.get("outputs"):
            c["outputs"] = _elsewhere(c["outputs"])
    nb["cells"] = [made for c in nb["cells"] for made in (c, *_figure_data(c, out))]
    nb["metadata"] = _METADATA | {"mystnb": {"execution_mode": "off"}}


def _figure_data(cell: dict, out: Path) -> list[dict]:
    "Describe the figure of a cell, in place, and write its numbers beside the page; the cell that links to them."
    for o in cell.get("outputs", []):
        if "image/png" not in o.get("data", {}):
            continue
        told = re.search(r"^#\| *fig-alt: *(.*)", "".join(cell["source"]), re.M)
        alt = o["metadata"].pop("image/png", {}).get("alt") or (told and told[1])
        if alt:
            cell["metadata"].setdefault("mystnb", {})["image"] = {"alt": alt}
        if csv := o["data"].pop("text/csv", None):
            path = out.parent / "data" / f"{out.stem}-{cell['id']}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(csv), encoding="utf-8")
            return [
                {
                    "cell_type": "markdown",
                    "id": f"data-{cell['id']}",
                    "metadata": {},
                    "source": f":::{{container}} figure-data\n{{download}}`data (CSV) <data/{path.name}>`\n:::",
                }
            ]
    return []


# progress bars and their warnings have no place on a page
_QUIET = {
    "TQDM_DISABLE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "PYTHONWARNINGS": "ignore:IProgress not found",
    "TOKENIZERS_PARALLELISM": "false",
}


_ALL_ANEW = "VOCAB_LIT_MEASURE_ALL"  # environment variable of the book's build: yes or no


def _key(root: Path, nb: dict, reads: Iterable[Path] = ()) -> str:  # what a page's numbers depend on
    code = ["".join(c["source"]) for c in nb["cells"] if c["cell_type"] == "code"]
    pins = [(root / f).read_text(encoding="utf-8") for f in ("constraints.txt", "settings.ini") if (root / f).exists()]
    folders = [root / settings(root)["lib_path"], root / "data", *reads]
    return fingerprint(json.dumps(code), *pins, os.environ.get(_ALL_ANEW, ""), folders=folders, compared=True)


def page_info(page: Path) -> dict:  # empty where there is no page
    "How a page was made: key, seconds, at (when it was done), parameters."
    try:
        return json.loads(page.read_text(encoding="utf-8"))["metadata"]["made"]
    except (FileNotFoundError, KeyError):
        return {}


def _run(
    path: Path,  # a notebook
    nb: dict,  # the same, with its parameters
    executed: Path,  # where it goes with its outputs
    name: str,  # what messages and the progress bar call it
    made: dict,  # key and parameters
    bar: dict | None,  # tqdm options; no bar without
) -> None:
    "Execute a notebook; `RuntimeError` names the cell that failed."
    nbformat, papermill = (import_extra(module, "chapters") for module in ("nbformat", "papermill"))
    failed = executed.parents[1] / "failed" / executed.name
    for folder in (failed.parent, executed.parent):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(_QUIET)
    start = time.perf_counter()
    try:
        ran = papermill.execute_notebook(
            nbformat.from_dict(nb),
            str(failed),
            kernel_name="python3",
            # the folder of the kernel; papermill's `cwd` changes that of this process, which other pages share
            resources={"metadata": {"path": str(path.parent)}},
            progress_bar=bar or False,
            request_save_on_cell_execute=False,  # which would write all outputs again for each cell
            extra_arguments=["--log-level=50"],
        )
    except papermill.PapermillExecutionError as e:
        line = e.source.strip().splitlines()[0]
        raise RuntimeError(
            f'{name}: the cell that begins "{line}" failed with {e.ename}: {e.evalue}'
            f"; the run up to there, with the traceback, is in {failed}"
        ) from None
    took = dict(seconds=round(time.perf_counter() - start), at=time.strftime("%Y-%m-%d %H:%M"))
    ran["metadata"]["made"] = made | took
    failed.write_text(nbformat.writes(nbformat.from_dict(ran)), encoding="utf-8")
    failed.replace(executed)


def _with_outputs(nb: dict, ran: dict) -> None:
    "Put the outputs of an executed notebook into one with the same code, in place."
    outputs = (c["outputs"] for c in ran["cells"] if c["cell_type"] == "code")
    for c in nb["cells"]:
        if c["cell_type"] == "code":
            c["outputs"] = next(outputs)


def _execute(
    path: Path,  # a notebook
    out: Path,  # where its page goes
    name: str,  # what messages and the progress bar call it
    suffix: str = "",  # of labels
    title: str = "",  # added to the title
    params: dict | None = None,  # values for its parameters cell
    bar: dict | None = None,  # tqdm options; no bar without
    reads: Iterable[Path] = (),  # folders, beside library and data, whose files its numbers depend on
    note: str = "",  # Markdown, behind the time under the title
) -> Path:  # `out`
    "Write a notebook's page where it is not up to date, and execute it where its code or what that reads has changed."
    root = next(folder for folder in path.parents if (folder / "settings.ini").is_file())
    nb = json.loads(path.read_text(encoding="utf-8"))
    if params:
        set_parameters(nb, name, **params)
    for c in nb["cells"]:
        # a page shows a test, `make test` runs it
        if re.match(r"(#\|.*\n)*#\| *(eval: *false|test:)", "".join(c["source"])):
            c["metadata"].setdefault("tags", []).append("skip-execution")
    made = dict(
        key=_key(root, nb, reads),
        whole=hashlib.sha256(json.dumps(nb).encode()).hexdigest()[:16],
        parameters=params or {},
    )
    if made.items() <= page_info(out).items():
        return out
    executed = root / "_build" / "executed" / f"{out.parent.name}-{out.name}"
    if page_info(executed).get("key") != made["key"]:
        _run(path, nb, executed, name, made, bar)
    ran = json.loads(executed.read_text(encoding="utf-8"))
    _with_outputs(nb, ran)
    made = ran["metadata"]["made"] | made
    here = path.parent.relative_to(root).as_posix()
    links = _stamps(settings(root), path.relative_to(root).as_posix())["links"]
    link = partial(page_links, here=here, there=out.parent.relative_to(root).as_posix(), root=root, language=suffix)
    _page(nb, out, suffix, title, f"{links} · ran in {made['seconds']} s on {os.cpu_count()} cores{note}", link)
    nb["metadata"]["made"] = made
    out.parent.mkdir(parents=True, exist_ok=True)
    part = executed.with_suffix(".page")
    part.write_text(json.dumps(nb, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return part.replace(out)


def _chapter(name: str) -> Path:  # its notebook
    there = {p.stem: p for p in sorted((checkout() / "book").glob("*.ipynb"))}
    if name not in there:
        raise ValueError(f"no chapter {name!r}; choose from {', '.join(there) or 'none'}")
    return there[name]


def chapter_defaults(
    name: str,  # the chapter `book/NAME.ipynb`
) -> dict[str, object]:  # by name
    "The parameters of a chapter with their defaults."
    return _defaults(json.loads(_chapter(name).read_text(encoding="utf-8")))


def run_chapter(
    name: str,  # the chapter `book/NAME.ipynb`
    language: str,  # locale code
    scale: str = "mini",  # mini, paper or custom
    # the executed notebook; by default book/runs/NAME-LANGUAGE.ipynb, a page of the book, or beside the book for
    # other scales
    out: str | Path | None = None,
    bar: dict | None = None,  # options of the progress bar
    parameters: dict[str, object] | None = None,  # others of the chapter, by name; `chapter_defaults` has them
) -> Path:  # the executed notebook
    "Run a chapter for one language; at scale mini it becomes a page of the book."
    root, notebook = checkout(), _chapter(name)
    if scale not in ("mini", "paper", "custom"):
        raise ValueError(f"no scale {scale!r}; choose from mini, paper, custom")
    if scale == "mini":
        find_locale(language)  # raises where the phrasebook has no such language
    if not re.fullmatch(r"[\w.@-]*\w", language):
        raise ValueError(f"language {language!r}: give a code such as sw, which also names the page")
    if out is None and scale == "mini":
        out = root / "book" / "runs" / f"{name}-{language}.ipynb"
    elif out is None:
        out = root / "_build" / "chapters" / f"{name}-{language}-{scale}.ipynb"
    title = f" ({Locale('en').languages.get(language, language)})"
    params = (parameters or {}) | dict(language=language, scale=scale)
    bar = {"desc": f"{name} ({language})"} if bar is None else bar
    is_page = Path(out).parent == root / "book" / "runs"
    taken = is_page and measured_anew(root / "_build" / "study" / name)["taken over"]
    note = ", with most measurements [taken from the record](status.md)" if taken else ""
    return _execute(notebook, Path(out), f"chapter {name} ({language})", language, title, params, bar, note=note)


@dataclass
class PageJob:
    "A page to make."

    run: Callable[..., Path]  # called with `bar`, the options of a progress bar; returns the page
    seconds: float  # expected
    after: list[str] = field(default_factory=list)  # jobs that are done before


def _ways(
    jobs: dict[str, PageJob],
) -> dict[str, float]:  # seconds from the start of a job to the end of the longest chain of jobs it begins
    ways = {}
    for name in reversed(jobs):
        ways[name] = jobs[name].seconds + max((ways[n] for n in ways if name in jobs[n].after), default=0)
    return ways


def run_jobs(
    jobs: dict[str, PageJob],  # by name; a job stands behind those it comes after
    workers: int,  # how many run at a time
) -> list[Path]:  # the pages
    "Run jobs, the longest way to the end first; `RuntimeError` names what failed and what was not run for it."
    quiet, free = not sys.stderr.isatty(), list(range(1, workers + 1))

    def run(name):
        at = free.pop()
        try:
            return jobs[name].run(bar={} if quiet else {"desc": f"  {name}", "position": at, "leave": False})
        finally:
            free.append(at)

    ways = _ways(jobs)
    waiting, running, made, failed = sorted(jobs, key=lambda name: -ways[name]), {}, {}, {}
    with ThreadPoolExecutor(workers) as pool, tqdm(total=len(jobs), desc="notebooks", disable=quiet) as bar:
        while waiting or running:
            for name in list(waiting):
                if lost := [n for n in jobs[name].after if n in failed]:
                    failed[name] = f"{name}: not run, since {lost[0]} failed"
                elif len(running) < workers and made.keys() >= set(jobs[name].after):
                    running[pool.submit(run, name)] = name
                else:
                    continue
                waiting.remove(name)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name, error = running.pop(future), future.exception()
                if error:
                    failed[name] = str(error)
                else:
                    made[name] = future.result()
                if quiet:
                    print(
                        f"{'failed' if error else 'done'}: {name} ({len(made) + len(failed)} of {len(jobs)})",
                        flush=True,
                    )
            bar.update(len(made) + len(failed) - bar.n)
    if failed:
        raise RuntimeError("\n".join(failed.values()))
    return list(made.values())


_IMPORTED = (  # what most pages import, and what starts a kernel
    "ipykernel.kernelapp",
    "matplotlib.pyplot",  # its backend, which shows figures, finds its kernel when it is imported
    "seaborn",
    "sklearn.linear_model",
    "transformers.trainer",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.roberta.modeling_roberta",
    "transformers.models.xlm_roberta.modeling_xlm_roberta",
    "gensim.models.fasttext",
    "babel.numbers",
    "fontTools.ttLib",
)


def serve_kernels(
    modules: Iterable[str] = _IMPORTED,  # imported once, before any kernel
) -> None:
    "Fork a kernel for each line of standard input, JSON with its arguments, folder and environment; print its number."
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # what is there is not looked through again, so that it stays shared
    signal.signal(signal.SIGCHLD, _forget_ended)
    for line in sys.stdin:
        kernel = os.fork()
        if kernel:
            print(kernel, flush=True)
        else:
            _become_kernel(**json.loads(line))
            break


def _forget_ended(*_):
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def _become_kernel(arguments, cwd, env):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    if "pandas" in sys.modules:  # asks when it is imported whether it writes for a terminal
        sys.modules["pandas"].set_option("display.max_columns", 20)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


class _Forked:
    "What jupyter_client asks of a `subprocess.Popen`, of a process that another one has forked."

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid = pid

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        while self.poll() is None:
            time.sleep(0.02)
        return 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def forked_kernels(
    modules: Iterable[str] = _IMPORTED,
) -> Iterator[None]:
    "Inside the block notebooks run in kernels that are forked from one process; elsewhere than on Linux in usual ones."
    if sys.platform != "linux":
        yield
        return
    from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

    code = f"from tools.publish import serve_kernels; serve_kernels({list(modules)})"
    # what some modules ask for when they are imported; a process that has started CUDA could not be forked
    early = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server = subprocess.Popen([sys.executable, "-c", code], env=os.environ | _QUIET | early, **pipes)
    asking = Lock()

    class ForkedKernel(LocalProvisioner):
        async def launch_kernel(self, cmd, **options):
            arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
            asked = dict(arguments=arguments, cwd=str(options.get("cwd") or Path.cwd()), env=dict(options["env"]))
            with asking:
                print(json.dumps(asked), file=server.stdin, flush=True)
                self.pid = int(server.stdout.readline())
            self.process, self.pgid = _Forked(self.pid), self.pid
            return self.connection_info

    factory = KernelProvisionerFactory.instance()
    usual, factory.default_provisioner_name = factory.default_provisioner_name, "forked"
    factory.provisioners["forked"] = SimpleNamespace(load=lambda: ForkedKernel)
    try:
        yield
    finally:
        factory.default_provisioner_name = usual
        del factory.provisioners["forked"]
        server.stdin.close()
        server.wait()
        server.stdout.close()


def _jobs(root: Path) -> dict[str, PageJob]:  # what the book is made of
    library, runs, jobs = root / "book" / "library", root / "book" / "runs", {}

    def add(name, out, run, guess, after=()):
        jobs[name] = PageJob(run, page_info(out).get("seconds", guess), list(after))

    for name, languages in chapters(root).items():
        first = f"{name} ({next(iter(languages))})"
        for language, params in languages.items():
            run = partial(run_chapter, name, language, parameters=params)
            after = [first] if first in jobs else []
            add(f"{name} ({language})", runs / f"{name}-{language}.ipynb", run, 240, after)
    measured, records = list(jobs), [root / "_build" / "study" / name for name in chapters(root)]
    for name in pages(root):
        notebook, out = root / "book" / f"{name}.ipynb", runs / f"{name}.ipynb"
        add(name, out, partial(_execute, notebook, out, f"page {name}", reads=records), 30, measured)
    for p in library_notebooks(root):
        name, out = p.relative_to(root / "nbs").with_suffix("").as_posix(), library / p.relative_to(root / "nbs")
        add(name, out, partial(_execute, p, out, f"notebook nbs/{name}.ipynb"), p.stat().st_size / 3000)
    return jobs


def _lay_out(root: Path, anew: bool) -> None:
    "Put the records of the pages in place, or take them away."
    os.environ[_ALL_ANEW] = "yes" if anew else "no"
    lay_out(root / "_build" / "study", anew=1 if anew else ANEW)


def _workers() -> int:
    return min(4, os.cpu_count() or 1)  # pages at a time


def share_cores() -> int:  # how many pages run at a time
    "Give every page its share of the cores, as many threads and processes."
    workers = _workers()
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        os.environ.setdefault(name, str(max(1, (os.cpu_count() or 1) // workers)))
    return workers


def run_all(
    anew: bool = False,  # whether all is measured anew; otherwise one cell in twenty is, and the others are taken over
) -> list[Path]:  # the pages
    "Run every chapter for its languages at scale mini, the notebooks that read their records, and the library's."
    root, workers = checkout(), share_cores()
    _lay_out(root, anew)
    library = root / "book" / "library"
    for p in library.rglob("*.ipynb"):
        if not (root / "nbs" / p.relative_to(library)).exists():
            p.unlink()  # its notebook was renamed
    os.environ[MUST_HOLD] = "1"
    with forked_kernels():
        return run_jobs(_jobs(root), workers + 1)  # a page often waits for its kernel


def _option_help(value: ast.expr | None) -> str:
    "The help text of an option of the command line; empty for other values."
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)] if value else []
    helps = [k.value for call in calls for k in call.keywords if k.arg == "help"]
    return next((text.value for text in helps if isinstance(text, ast.Constant)), "")


def _described_names(
    node: ast.stmt,
    lines: list[str],  # of the cell
) -> list[tuple[str, str]]:  # name, and its docstring's first line, or the comment behind it, or its value
    "The public names that a statement binds."
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        found = [(node.name, (ast.get_docstring(node) or "").split("\n")[0])]
    else:
        targets = [t.id for t in getattr(node, "targets", [getattr(node, "target", None)]) if isinstance(t, ast.Name)]
        value = getattr(node, "value", None)
        text = lines[node.end_lineno - 1].partition(" # ")[2] or _option_help(value)
        if not text and value:
            text = f"`{textwrap.shorten(ast.unparse(value), 80, placeholder=' ...')}`"
        found = [(name, text) for name in targets]
    return [(name, text) for name, text in found if not name.startswith("_")]


def _anchor(heading: str) -> str:  # as MyST makes it from a heading
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def public_names(
    path: Path,  # a library notebook
) -> dict[str, tuple[str, str]]:  # name: (anchor of its section or "", what it is)
    "What a notebook exports for its users."
    found, anchor = {}, ""
    cells = {c.index: c for c in code_cells(path)}
    for i, c in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if c["cell_type"] == "markdown":
            headings = re.findall(r"^##+ (.*)", "".join(c["source"]), re.M)
            anchor = _anchor(headings[-1]) if headings else anchor
        if i in cells and "export" in cells[i].directives:
            for node in ast.parse(cells[i].source).body:
                found |= {name: (anchor, told) for name, told in _described_names(node, cells[i].source.split("\n"))}
    return found


def reference(root: Path | None = None) -> str:  # Markdown
    "Every public name of the library, module by module, with a link to where it is explained."
    parts = [
        "# Reference\n\nEvery public name of the library by module, with a link to the section that explains it and "
        "shows its code. `vocab-lit --help` lists the commands."
    ]
    root = root or checkout()
    for path in library_notebooks(root):
        module, names, page = _module(path), public_names(path), path.relative_to(root / "nbs").as_posix()
        if not module or not names:
            continue
        full_name = "vocab_lit" if module == "__init__" else f"vocab_lit.{module}"
        rows = [(f"[`{name}`]({page}{'#' * bool(anchor)}{anchor})", told) for name, (anchor, told) in names.items()]
        parts += [f"## `{full_name}`", f"[{path.stem}]({page})", markdown_table(["name", "what it is"], rows)]
    return "\n\n".join(parts) + "\n"


LIMIT = 480  # seconds a page of the book may take


def _records(root: Path, name: str) -> str:  # row of a chapter's records
    nb = json.loads((root / "book" / f"{name}.ipynb").read_text(encoding="utf-8"))
    folder = root / "book" / _defaults(nb).get("records", "")
    found = {p: json.loads(p.read_text(encoding="utf-8")) for p in folder.glob("*.json")}
    here = [record for record in found.values() if "measured_by" not in record]

    def minutes(records):
        return f"{sum(record.get('seconds', 0) for record in records) / 60:.1f}"

    def day(file):
        return time.strftime("%Y-%m-%d", time.localtime(file.stat().st_mtime))

    if not found:
        return f"| {name} | 0 | | | | | |"
    days = [record.get("date") or day(file) for file, record in found.items()]
    counts, made = measured_anew(folder), f"{min(days)} to {max(days)}"
    numbers = (len(found), minutes(found.values()), len(here), minutes(here), f"{counts['agree']} of {counts['kept']}")
    return f"| {name} | {' | '.join(map(str, numbers))} | {made} |"


def _table(
    root: Path,
    paths: Iterable[Path],  # of pages
    parameters: bool,  # whether they have any
) -> tuple[str, str]:  # minutes of all pages that are there, and a table of them
    made = [(p, info) for p in paths if (info := page_info(p))]

    def told(info):
        return ", ".join(f"`{k} = {v}`" for k, v in info["parameters"].items() if k != "scale")

    header = ["page", *["parameters"] * parameters, "seconds", "made"]
    rows = [
        [
            f"[{p.stem}]({os.path.relpath(p, root / 'book' / 'runs')})",
            *[told(i)] * parameters,
            f"{i['seconds']}{' **over the limit**' * (i['seconds'] > LIMIT)}",
            i["at"],
        ]
        for p, i in made
    ]
    minutes = sum(info["seconds"] for _, info in made) / 60
    return f"{minutes:.0f} minutes", markdown_table(header, rows)


_STATUS = """# Status

How the pages of this book were made: {chapter_minutes} of run time for chapters and comparisons and {library_minutes} \
for library notebooks, {workers} at a time. No page may take more than {limit} minutes. Device: {device}. \
Versions: {versions}.

## Chapters and comparisons

{chapter_table}

A page takes less time than its numbers did: it reads measurements that are [kept with the \
package](../library/08_experiments/10_recorded.ipynb), but for one in twenty (or none, in a book that is measured \
anew), and what an earlier run has left. The table says how many measurements there are and how many minutes they \
took, how many of them were made here, and how many of these are within 1% of what is kept.

| chapter | measurements | minutes | made here | minutes | as kept | made |
|---|---|---|---|---|---|---|
{records}

## Library

Tests are shown on these pages and run by `make test`.

{library_table}
"""


def status(root: Path | None = None) -> str:  # Markdown
    "How long every page took, for which language and parameters, when and on what."
    root = root or checkout()
    chapter_pages = [f"{name}-{language}" for name, runs in chapters(root).items() for language in runs]
    runs = [root / "book" / "runs" / f"{name}.ipynb" for name in [*chapter_pages, *pages(root)]]
    library = [root / "book" / "library" / p.relative_to(root / "nbs") for p in library_notebooks(root)]
    chapter_minutes, chapter_table = _table(root, runs, True)
    library_minutes, library_table = _table(root, library, False)
    machine = environment()
    return _STATUS.format(
        chapter_minutes=chapter_minutes,
        library_minutes=library_minutes,
        workers=_workers() + 1,
        limit=LIMIT // 60,
        device=machine["device"],
        versions=", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
        chapter_table=chapter_table,
        records="\n".join(_records(root, name) for name in chapters(root)),
        library_table=library_table,
    )


def source_files(root: Path) -> dict[str, str]:  # such as book/runs/focus-am: book/focus.ipynb
    "The file of the repository that each page was made from, by Sphinx's name of the page; not of generated pages."
    found = {f"book/runs/{name}-{code}": f"book/{name}.ipynb" for name, run in chapters(root).items() for code in run}
    found |= {f"book/runs/{name}": f"book/{name}.ipynb" for name in pages(root)}
    for path in [*(root / "book").glob("*.md"), *(root / "nbs").glob("*/index.md"), *library_notebooks(root)]:
        file = path.relative_to(root)
        found[re.sub("^nbs/", "book/library/", file.with_suffix("").as_posix())] = file.as_posix()
    return found


def _heading(path):  # of a notebook or a text
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    return re.search(r"^# (.+)$", text, re.M)[1]


def llms_text(root: Path) -> str:  # Markdown
    "What the book has, a link to a page each, as llmstxt.org describes it."
    cfg, sources = settings(root), source_files(root)
    parts = [f"# {cfg['title']}", f"> {cfg['description']}"]
    listed = {"Start": ["book/guide", "book/running", "book/glossary", "book/notation"]}
    firsts = [f"book/runs/{name}-{next(iter(run))}" for name, run in chapters(root).items()]
    listed["Chapters"] = firsts + [f"book/runs/{name}" for name in pages(root)]
    listed["Library"] = [name for name, file in sources.items() if re.match(r"nbs/.*\.ipynb$", file)]
    for title, names in listed.items():
        lines = [f"- [{_heading(root / sources[name])}]({name}.html)" for name in names]
        parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


class _Html(HTMLParser):
    "What a page links to, loads and shows."

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.loads, self.bare = {"", "top"}, set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        a = {k: v or "" for k, v in attrs}
        self.ids |= {a[k] for k in ("id", "name") if k in a}
        if tag == "a" and "href" in a:
            self.links.add(a["href"])
        elif tag == "link" and a.get("rel") in ("stylesheet", "preload", "icon", "shortcut icon"):
            self.loads.add(a["href"])
        elif "src" in a:
            self.loads.add(a["src"])
        if tag == "img" and (not a.get("alt") or a["alt"] == a["src"]):
            self.bare.add(a["src"])


def _outside_faults(url: str, loaded: bool, own: dict[str, Path]) -> list[str]:
    "What is wrong with an address outside the book."
    at = urlsplit(url)
    well_formed = re.fullmatch(r"https?", at.scheme) and re.fullmatch(r"[\w-]+(\.[\w-]+)+", at.netloc)
    if not well_formed or re.search(r"\s", url):
        faults = [f"{url} is no address"]
    else:
        faults = [f"loads {url} from the network"] if loaded else []
    path = unquote(at._replace(fragment="").geturl())
    lost = [
        start
        for start, folder in own.items()
        if url.startswith(start) and not (folder / path.removeprefix(start)).exists()
    ]
    return faults + [f"{url} is no file of the repository" for _ in lost]


def _inside_faults(url: str, target: Path, pages: dict[Path, _Html]) -> list[str]:
    "What is wrong with a link inside the book."
    if not target.is_file():
        return [f"the link {url} leads nowhere"]
    section = unquote(urlsplit(url).fragment)
    return [f"{url} has no such section"] if target in pages and section not in pages[target].ids else []


def check_html(
    html: Path,  # folder of the built book
    own: dict[str, Path] | None = None,  # beginning of an address: the folder that lies there
) -> tuple[list[str], list[str]]:  # (what is wrong, a line each; the addresses outside the book)
    "Look at all links and images of the built book."
    read = {p: _Html(p.read_text(encoding="utf-8")) for p in sorted(html.rglob("*.html")) if "_static" not in p.parts}
    wrong, outside = [], set()
    for page, found in read.items():
        name = page.relative_to(html).as_posix()
        wrong += [f"{name}: the image {src} has no description" for src in sorted(found.bare)]
        for url in sorted(found.links | found.loads):
            at = urlsplit(url)
            if at.scheme == "data":
                continue
            if at.scheme or at.netloc:
                outside.add(url)
                faults = _outside_faults(url, url in found.loads, own or {})
            else:
                target = (page.parent / unquote(at.path)).resolve() if at.path else page
                faults = _inside_faults(url, target, read)
            wrong += [f"{name}: {fault}" for fault in faults]
    return wrong, sorted(outside)


def generated_pages(root: Path) -> dict[str, str]:  # path below book to Markdown
    "The pages that no notebook stands behind: the reference, the status, and the first page of each room."
    made = {"library/reference.md": reference(root), "runs/status.md": status(root)}
    for page in sorted((root / "nbs").glob("*/index.md")):
        room = page.parent.name
        text = page_links(page.read_text(encoding="utf-8"), f"nbs/{room}", f"book/library/{room}", root)
        made[f"library/{room}/index.md"] = text
    return made


def _write_changed(file: Path, text: str) -> None:
    "Write a text where the file has another one: what has not changed is not built again."
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _build_html(root: Path, strict: bool = True) -> Path:  # the folder
    "Build the pages that have changed; `RuntimeError` tells warnings, and the next call begins anew."
    for path, text in generated_pages(root).items():
        _write_changed(root / "book" / path, text)
    log, html = root / "_build" / "book.log", root / "_build" / "html"
    log.parent.mkdir(exist_ok=True)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", *["-W", "-n", "--keep-going"] * strict]
    with log.open("w", encoding="utf-8") as f:
        done = subprocess.run(command, cwd=root, stdout=f, stderr=f)
    if done.returncode:
        shutil.rmtree(root / "_build" / ".doctrees", ignore_errors=True)  # else warnings would not be told again
        lines = log.read_text(encoding="utf-8").splitlines()
        shown = [x for x in lines if re.search(r"WARNING|ERROR", x)] or lines[-9:]
        raise RuntimeError("\n".join(["the book has warnings or errors:", *shown, f"The whole log: {log}"]))
    _write_changed(html / "llms.txt", llms_text(root))
    social_card().savefig(html / "_static" / "card.png")
    return html


def build_page(
    name: str,  # a chapter or page, book/NAME.ipynb, or a library notebook such as 02_tokens/01_vocab
    language: str = "",  # of a chapter; its first one where none is given
) -> Path:  # the page
    "Run one notebook and build its page into a book that is there, or into one of this page alone."
    root = checkout()
    languages = chapters(root).get(name)
    job = f"{name} ({language or next(iter(languages))})" if languages else name
    jobs = _jobs(root)
    if job not in jobs:
        raise ValueError(f"no page {job!r}; choose from {', '.join(jobs)}")
    _lay_out(root, anew=False)
    with forked_kernels():
        made = jobs[job].run(bar={"desc": job})
    return (_build_html(root, strict=False) / made.relative_to(root)).with_suffix(".html")


def _tell_differences(root: Path) -> None:
    "Print where numbers that were measured anew are not those of the record."
    for name in chapters(root):
        counts = measured_anew(root / "_build" / "study" / name)
        if lost := counts["kept"] - counts["agree"]:
            print(
                f"{name}: {lost} of {counts['kept']} measurements made anew are more than 1% from the record; where "
                "another machine does not explain that, `make records ARGS=pages` makes all of them anew",
                flush=True,
            )


def build_book(
    anew: bool = False,  # whether all is measured anew, as in `run_all`
) -> Path:  # the book's first page
    "Run all notebooks, write the generated pages and build the book; warnings, dead links and bare images are errors."
    run_all(anew)
    root = checkout()
    print("building the pages ...", flush=True)
    html = _build_html(root)
    cfg = settings(root)
    wrong, outside = check_html(
        html,
        {
            f"{start}/blob/{cfg['branch']}/": root
            for start in (cfg["git_url"], f"https://colab.research.google.com/github/{cfg['user']}/{cfg['repo']}")
        },
    )
    (root / "_build" / "outside.txt").write_text("\n".join(outside) + "\n", encoding="utf-8")
    print(f"{len(outside)} addresses outside the book are listed in {root / '_build' / 'outside.txt'}", flush=True)
    _tell_differences(root)
    if wrong:
        raise RuntimeError("\n".join(["the pages are built and have faults:", *wrong]))
    return html / "index.html"


def _check() -> int:
    "Print what is not in order and what repairs it; the number of problems."
    found = {
        "`make lib` cleans notebooks": check_clean(),
        "`make lib` writes addresses": check_stamps(),
        "A chapter stands in book/, book/chapters.yml and _toc.yml": check_chapters(),
        "Give the inner condition a name, or write the choice as a table": check_conditionals(),
        "Divide a cell between two thoughts, or move what others could use into the library": check_lengths(),
        "Edit notebooks, never generated files, then `make lib`": check_generated(),
    }
    for repair, problems in found.items():
        if problems:
            print(*problems, f"{repair}.", sep="\n")
    return sum(map(len, found.values()))


def _is_anew(argument: str) -> bool:
    if argument != "anew":
        raise ValueError(f"unknown argument {argument!r} of book; there is only anew, which measures all numbers anew")
    return True


def main(command: str = "", *args: str) -> None:
    "What the Makefile calls."
    if command == "check":
        sys.exit(min(1, _check()))
    elif command == "lib":
        for path in dict.fromkeys(clean() + stamp() + regenerate()):
            print("changed:", path)
    elif command == "chapter":
        print("written:", run_chapter(*args))
    elif command == "page":
        print(f"The page is ready: open {build_page(*args)}")
    elif command == "book":
        print(f"The book is ready: open {build_book(*map(_is_anew, args))}")
    else:
        raise ValueError(f"unknown command {command!r}; choose from check, lib, chapter, page, book")
