"""A toy repository with one library notebook, for the tests of the tools."""

import subprocess
import sys
from pathlib import Path

import nbformat

from tools.notebooks import METADATA

DEMO = (
    "#| default_exp toy",
    "#| export\nimport math\ndef double(x): return 2 * x",
    "import numpy as np",
    "four = double(2)\nfour",
    "#| test: twice two is four\nassert four == 4 and np.log(math.e) == 1",
    "four + 1",
)
SETTINGS = "[DEFAULT]\nlib_name = toys\nlib_path = toys\nversion = 0.0.1\n"


def write_notebook(path: Path, *cells: str, tags: dict[int, list[str]] | None = None) -> Path:
    "Write a notebook of code cells whose ids are a0, a1, ..., some of them with tags."
    made = [nbformat.v4.new_code_cell(cell, id=f"a{i}") for i, cell in enumerate(cells)]
    for index, given in (tags or {}).items():
        made[index].metadata.tags = given
    nb = nbformat.v4.new_notebook(cells=made)
    nb.metadata = METADATA
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, path)
    return path


def read(path: Path) -> nbformat.NotebookNode:
    "A notebook as nbformat gives it."
    return nbformat.read(path, as_version=4)


def insert_text(path: Path, text: str) -> None:
    "Put a Markdown cell before the first cell of a notebook."
    nb = read(path)
    nb.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="m0"))
    nbformat.write(nb, path)


def run_pytest(folder: Path, **options) -> subprocess.CompletedProcess:
    "Run pytest on a folder of its own."
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--color=no",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        folder,
        folder,
    ]
    return subprocess.run(command, capture_output=True, text=True, **options)
