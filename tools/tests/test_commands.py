"""The commands on other systems."""

import json
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


PROGRAM = """
import json, os, sys
from pathlib import Path
from tools.windows import pretend

pretend()
here = Path(sys.argv[1])
(here / "full").mkdir()
(here / "empty").mkdir()
(here / "full/a").write_text("x\\n")
names = {"__name__": "vocab_lit.some", "__builtins__": __builtins__, "here": here, "file": open(here / "full/a")}
for code in json.loads(sys.argv[2]):
    try:
        exec(code, names)
    except Exception as e:
        print(type(e).__name__)
    else:
        print("")
import fcntl  # as other packages may, here
"""
TRIALS = {  # code, and the error that it ends in
    "import fcntl": "ModuleNotFoundError",
    "from os import fork": "ImportError",
    "import os; os.getuid()": "AttributeError",
    "import signal; signal.SIGUSR1": "AttributeError",
    "signal.SIGTERM; import os.path; os.path.join": "",
    "(here / 'full/a').unlink()": "PermissionError",
    "os.replace(here / 'full', here / 'new')": "PermissionError",
    "file.close(); os.replace(here / 'full', here / 'empty')": "PermissionError",
    "os.rename(here / 'full', here / 'empty')": "PermissionError",
    "(here / 'a:b').write_text('x')": "OSError",
    "(here / 'NUL.txt').mkdir()": "OSError",
    "(here / 'b').write_text('\u2581')": "UnicodeEncodeError",
    "assert (here / 'full/a').read_bytes() == b'x\\r\\n'": "",
    "os.replace(here / 'full', here / 'newer')": "",
}


def test_the_process_that_simulates_windows_lacks_and_forbids_what_windows_does(tmp_path):
    done = _run("-c", PROGRAM, str(tmp_path), json.dumps([*TRIALS]))
    assert (done.stderr, done.stdout.decode().splitlines()) == (b"", [*TRIALS.values()])
