"""The page *Ten minutes* as a reader follows it, timed: `python -m tools.tutorial DIR`.

DIR gets all that the page's commands make (8 GB), and an empty HOME. The repository's address leads to this checkout's
last commit. What each section took and printed goes into `DIR/tutorial.json`; a section that is there already is left
alone, so that an interrupted run goes on. At the end it becomes `data/real-trial/tutorial.json`, which the page shows.
`taskset -c 0 python -m tools.tutorial DIR` measures on one core.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from tools.notebooks import checkout
from tools.run_editions import serve_this_checkout
from vocab_lit.text.corpus import write_json

PAGE = Path("book", "tutorial.md")
RECORD = Path("data", "real-trial", "tutorial.json")
_BLOCK = re.compile(r"```bash\n(.*?)```", re.S)
_STAYS = re.compile(r"^(?:cd|\.) .+$", re.M)  # what a shell keeps for the next command
_OURS = ("PYTHONPATH", "VIRTUAL_ENV", "VOCAB_LIT_REAL", "VOCAB_LIT_HUB")


def sections(page: str) -> dict[str, str]:
    "The commands of each section of a page that has some."
    parts = [part.partition("\n") for part in re.split("^## ", page, flags=re.M)[1:]]
    return {title: "".join(_BLOCK.findall(body)) for title, _, body in parts if _BLOCK.search(body)}


def _bare(place: Path) -> dict[str, str]:
    "The environment of a reader who has nothing yet: an empty HOME, and no Python of ours."
    home = place / "home"
    home.mkdir(exist_ok=True)
    ours = str(checkout() / ".venv")
    path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if not part.startswith(ours))
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return kept | dict(HOME=str(home), PATH=path, COLUMNS="88", TQDM_DISABLE="1")


def run_section(commands: str, place: Path, env: dict[str, str]) -> dict:
    "Run commands in a folder and return what they took and printed; `SystemExit` with their output if one fails."
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out:
        shell = subprocess.Popen(["bash", "-ec", commands], cwd=place, env=env, stdout=out, stderr=out)
        _, status, used = os.wait4(shell.pid, 0)
        shell.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read().decode().replace(f"{place}/", "")
    if shell.returncode:
        raise SystemExit(f"{commands}\n{printed}")
    return dict(
        seconds=round(time.monotonic() - begun),
        cpu_seconds=round(used.ru_utime + used.ru_stime),
        memory_mb=round(used.ru_maxrss / 1024),
        output=[line.rstrip() for line in printed.splitlines()],
    )


def follow(commands: dict[str, str], place: Path, env: dict[str, str]) -> dict[str, dict]:
    "Run the sections' commands that the record in the folder does not have yet, and write it after each section."
    file, state = place / RECORD.name, ""
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    anew = False  # what comes behind a section that ran reads what that made
    for title, block in commands.items():
        anew = anew or record.get(title, {}).get("commands") != block
        if anew:
            record[title] = dict(commands=block) | run_section(state + block, place, env)
            write_json(record, file)
            print(title, *(record[title][key] for key in ("seconds", "cpu_seconds", "memory_mb")), flush=True)
        state += "".join(f"{line}\n" for line in _STAYS.findall(block))
    return record


def main(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a reader.")],
    constraints: Annotated[Path | None, typer.Option(help="Versions that pip installs: a file that it reads.")] = None,
) -> None:
    "Follow the page, and write the record."
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    with tempfile.TemporaryDirectory() as served:
        serve_this_checkout(Path(served))
        env = _bare(place)
        if constraints:  # pip divides the variable at blanks
            env["PIP_CONSTRAINT"] = str(shutil.copy(constraints, served))
        record = follow(sections((checkout() / PAGE).read_text(encoding="utf-8")), place, env)
    write_json(record, checkout() / RECORD)


if __name__ == "__main__":
    typer.run(main)
