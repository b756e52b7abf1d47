"""The commands on other systems."""

import os
import subprocess
import sys

from tools.notebooks import checkout

ENVIRONMENT = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}  # of a pipe on Windows


def _run(*command: str) -> subprocess.CompletedProcess:
    environment = os.environ | ENVIRONMENT
    return subprocess.run([sys.executable, *command], cwd=checkout(), env=environment, capture_output=True)


def test_every_command_runs_to_its_end_without_what_windows_lacks(tmp_path):
    done = _run("-m", "tools.commands", str(tmp_path), "--as-windows")
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    assert "▁" in done.stdout.decode("utf-8")  # not in cp1252
    assert not list(tmp_path.rglob(".*.part"))
    ours = {"README.md", "vocab_lit.json", "losses.csv", "metrics.jsonl", "report.html", "clean.txt", "sw.vec"}
    files = [file for file in tmp_path.rglob("*") if file.name in ours]
    assert {file.name for file in files} == ours and not [file for file in files if b"\r\n" in file.read_bytes()]


def test_the_process_that_plays_windows_lacks_and_forbids_what_windows_does(tmp_path):
    program = """
import os, sys
from pathlib import Path

from tools.windows import pretend

pretend()
here, told = Path(sys.argv[1]), []


def tried(what, act):
    try:
        act()
    except Exception as e:
        told.append(f"{what}: {type(e).__name__}")


def imported(code):
    return lambda: exec(code, {"__name__": "vocab_lit.some", "__builtins__": __builtins__})


for code in ("import fcntl", "from os import fork", "import os; os.getuid()", "import signal; signal.SIGUSR1"):
    tried(code, imported(code))
imported("import signal; signal.SIGTERM; import os.path; os.path.join")()
import fcntl  # as other packages may, here

(here / "full").mkdir()
(here / "empty").mkdir()
(here / "full/a").write_text("x\\n")
with open(here / "full/a") as file:
    tried("remove", (here / "full/a").unlink)
    tried("move", lambda: os.replace(here / "full", here / "new"))
tried("replace", lambda: os.replace(here / "full", here / "empty"))
tried("rename", lambda: os.rename(here / "full", here / "empty"))
tried("name", lambda: (here / "a:b").write_text("x"))
tried("folder", (here / "NUL.txt").mkdir)
tried("letters", lambda: (here / "b").write_text("\\u2581"))
assert (here / "full/a").read_bytes() == b"x\\r\\n"
os.replace(here / "full", here / "new")
print(*told, sep="\\n")
"""
    done = _run("-c", program, str(tmp_path))
    assert done.stderr == b"" and done.stdout.decode().splitlines() == [
        "import fcntl: ModuleNotFoundError",
        "from os import fork: ImportError",
        "import os; os.getuid(): AttributeError",
        "import signal; signal.SIGUSR1: AttributeError",
        "remove: PermissionError",
        "move: PermissionError",
        "replace: PermissionError",
        "rename: PermissionError",
        "name: OSError",
        "folder: OSError",
        "letters: UnicodeEncodeError",
    ]
