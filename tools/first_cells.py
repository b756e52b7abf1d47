"""Run what a chapter begins with, its imports and parameters, as a reader on Colab does after the cell that installs.

python -m tools.first_cells        each chapter in a process of its own; nothing is trained
"""

import subprocess
import sys
from pathlib import Path

from tools.chapters import chapter_path, chapters
from tools.notebooks import read_notebook, source, tags

VERSIONS = "environment()"  # the cell that shows them is the last of the first ones


def first_cells(path: Path) -> str:
    "The code of a notebook up to the cell that shows the versions: its parameters and imports."
    code = []
    for cell in read_notebook(path)["cells"]:
        if cell["cell_type"] == "code" and "colab" not in tags(cell):
            code.append(source(cell))
            if VERSIONS in code[-1]:
                return "\n".join(code)
    raise ValueError(f"{path}: no cell shows the versions by {VERSIONS}")


def main() -> None:
    "Run the first cells of all chapters; the exit status is that of the first that fails."
    for name in chapters():
        done = subprocess.run([sys.executable, "-c", first_cells(chapter_path(name))], stdout=subprocess.DEVNULL)
        print(f"{name}: {'its first cells ran' if not done.returncode else 'failed'}")
        if done.returncode:
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
