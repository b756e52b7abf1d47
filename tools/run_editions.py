"""Run Colab editions as Colab would: in an environment of its versions that their own cell has made.

python -m tools.run_editions                      the first cells of every chapter's edition, to its first section
python -m tools.run_editions --begin focus-sw     the first cells of this one
python -m tools.run_editions --whole focus-sw     this one to its end, at scale mini, after the first cells of all

It runs where nothing of this package is installed, and imports PyYAML and the standard library. The repository's
address leads to this checkout's last commit, and /content to a folder that is removed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.colab import edition, editions
from tools.notebooks import checkout, settings, source

_COLAB = """import sys, types
from importlib.machinery import ModuleSpec
from IPython.core.interactiveshell import InteractiveShell

name = "google.colab"  # as Colab's kernel has loaded it
sys.modules[name] = types.ModuleType(name)
sys.modules[name].__spec__ = ModuleSpec(name, None)
shell = InteractiveShell.instance()
for cell in CELLS:
    print("##", cell.partition(chr(10))[0], flush=True)
    shell.run_cell(cell).raise_error()
"""


def code_of(cells: list[dict]) -> list[str]:
    "The code of an edition, by cell."
    return [source(cell) for cell in cells if cell["cell_type"] == "code"]


def first_cells(cells: list[dict]) -> list[str]:
    "The code of an edition up to its first section: what installs, imports and reads."
    ends = (i for i, cell in enumerate(cells) if i and re.search("^## ", source(cell), re.M))
    return code_of(cells[: next(ends, len(cells))])


def _run(name: str, whole: bool, content: Path) -> bool:
    "Run an edition in a process of its own; whether it came to its end."
    cells = json.loads(edition(checkout(), name))["cells"]
    code = [cell.replace("/content", str(content)) for cell in (code_of if whole else first_cells)(cells)]
    log = content / f"{name}.log"
    with log.open("w", encoding="utf-8") as f:
        command = [sys.executable, "-c", _COLAB.replace("CELLS", repr(code))]
        done = subprocess.run(command, stdout=f, stderr=f, cwd=content)
    told = "ran to its end" if whole else "its first cells ran"
    print(f"{name}: {'failed' if done.returncode else told}", flush=True)
    if done.returncode:
        print(log.read_text(encoding="utf-8")[-4000:], file=sys.stderr)
    return not done.returncode


def serve_this_checkout(content: Path) -> None:
    "Let git find this checkout's last commit at the repository's address."
    copy, cfg = content / "origin", settings()
    subprocess.run(["git", "clone", "-q", checkout(), copy], check=True)
    subprocess.run(["git", "checkout", "-q", "-B", cfg["branch"]], cwd=copy, check=True)
    instead = {"KEY_0": f"url.file://{copy}.insteadOf", "VALUE_0": cfg["git_url"], "COUNT": "1"}
    os.environ.update({f"GIT_CONFIG_{name}": value for name, value in instead.items()})


def main() -> None:
    "Run the editions; the exit status is 1 where one fails."
    parser = argparse.ArgumentParser(prog="python -m tools.run_editions")
    parser.add_argument("--whole", nargs="*", default=[], help="editions that run to their end")
    parser.add_argument(
        "--begin", nargs="*", help="editions of which only the first cells run; default: one of each chapter"
    )
    parser.add_argument("--constraints", type=Path, help="versions that the cell installs, as pip reads them")
    given = parser.parse_args()
    one_of = {chapter: name for name, (chapter, _) in editions(checkout()).items()}  # of each chapter
    with tempfile.TemporaryDirectory() as folder:
        content = Path(folder)
        serve_this_checkout(content)
        if given.constraints:  # pip divides the variable at blanks
            os.environ["PIP_CONSTRAINT"] = str(shutil.copy(given.constraints, content))
        names = one_of.values() if given.begin is None else given.begin
        begun = [_run(name, False, content) for name in names]
        ended = [_run(name, True, content) for name in given.whole]
    sys.exit(not all(begun + ended))


if __name__ == "__main__":
    main()
