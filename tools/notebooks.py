"""Notebooks as they lie in the checkout: their cells, the modules they are exported to, and their parameters."""

import ast
import json
import re
from collections.abc import Iterable
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METADATA = {  # of every notebook, whichever editor wrote it
    "kernelspec": {"display_name": "python3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
EXPORTED = {"export", "exporti", "exports"}  # directives of cells that go into the library


def checkout() -> Path:
    "The top folder of the repository."
    return Path(__file__).resolve().parents[1]


def settings(root: Path | None = None) -> dict[str, str]:
    "The entries of `settings.ini`, with references to other entries filled in."
    ini = ConfigParser(delimiters=["="])
    ini.read((root or checkout()) / "settings.ini", encoding="utf-8")
    return dict(ini["DEFAULT"])


def texts(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    "The texts of files, by their paths below `root`."
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in sorted(paths)}


def write_changed(root: Path, wanted: dict[str, str]) -> list[str]:
    "Write texts by their paths below `root` where a file has another one; the files that changed."
    changed = [p for p, text in wanted.items() if not (root / p).exists() or (root / p).read_text("utf-8") != text]
    for p in changed:
        (root / p).parent.mkdir(parents=True, exist_ok=True)
        (root / p).write_text(wanted[p], encoding="utf-8")
    return changed


def read_notebook(path: Path) -> dict:
    "A notebook as JSON."
    return json.loads(path.read_text(encoding="utf-8"))


def notebook_text(nb: dict) -> str:
    "The text of a notebook's file, in one layout for all."
    return json.dumps(nb, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def text_cell(id: str, text: str) -> dict:
    "A cell of Markdown."
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": text}


def source(cell: dict) -> str:
    "The text of a cell, which the file has as a string or as lines."
    return "".join(cell["source"])


def tags(cell: dict) -> list[str]:
    "The tags of a cell."
    return cell["metadata"].get("tags", [])


@dataclass
class Cell:
    "A code cell of a notebook without its directives."

    id: str  # the cell's id in the notebook file
    source: str  # Python source
    directives: dict[str, str]  # `#| test: a name` is {"test": "a name"}
    index: int  # position among all cells of the notebook, from 0

    @property
    def label(self) -> str:
        "How a message names the cell: its test, or its first line, and its id."
        first_line = self.source.split("\n")[0][:60]
        return f'cell "{self.directives.get("test") or first_line}" ({self.id})'


def code_cells(path: Path) -> list[Cell]:
    "The code cells of a notebook in order."
    cells = []
    for index, cell in enumerate(read_notebook(path)["cells"]):
        if cell["cell_type"] != "code":
            continue
        text, directives = source(cell), {}
        while directive := re.match(r"\s*#\|[ \t]*([\w-]+):?[ \t]*(.*)\n?", text):
            directives[directive[1]] = directive[2].strip()
            text = text[directive.end() :]
        text = re.sub(r"^[%!].*\n?", "", text, flags=re.M).strip("\n")
        cells.append(Cell(cell.get("id", ""), text, directives, index))
    return cells


def library_notebooks(root: Path) -> list[Path]:
    "The notebooks that the library is made of, in the order of reading."
    paths = (root / "nbs").rglob("*.ipynb")
    return sorted(p for p in paths if not any(part.startswith(".") for part in p.relative_to(root).parts))


def source_notebooks(root: Path) -> list[Path]:
    "The notebooks that people write: those of the library, then the chapters."
    return [*library_notebooks(root), *sorted((root / "book").glob("*.ipynb"))]


def in_checkout(path: Path) -> str:
    "The path of a notebook in its checkout, such as nbs/02_tokens/01_vocab.ipynb."
    top = max(i for i, part in enumerate(path.parts) if part in ("nbs", "book"))
    return "/".join(path.parts[top:])


def unnumbered(name: str) -> str:
    "The name of a room or notebook without its number."
    return re.sub(r"^\d+_", "", name)


def module_name(path: Path) -> str | None:
    "The module that a notebook is exported to, such as tokens.vocab; None where it exports nothing."
    return next((c.directives["default_exp"] for c in code_cells(path) if "default_exp" in c.directives), None)


def parameters(nb: dict) -> tuple[dict | None, dict[str, ast.expr]]:
    "The cell of a chapter that is tagged `parameters`, and the values in it by name."
    cell = next((c for c in nb["cells"] if "parameters" in tags(c)), None)
    statements = ast.parse(source(cell)).body if cell else []
    values = {}
    for statement in statements:
        if isinstance(statement, ast.Assign):
            values |= {target.id: statement.value for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            values[statement.target.id] = statement.value
    return cell, values


def defaults(nb: dict) -> dict[str, Any]:
    "The parameters of a chapter with their values."
    return {name: ast.literal_eval(value) for name, value in parameters(nb)[1].items()}
