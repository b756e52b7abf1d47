"""Every command of the command line, run to its end: python -m tools.commands FOLDER [--as-windows].

What a system or a version of Python must pass that the tests do not run on. All is written to the folder.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

_COMMANDS = """
methods
clean sw.txt --out clean.txt
inspect {xlmr} --text sw.txt
trim {xlmr} --text sw.txt --out trimmed
tokenizer --text sw.txt --vocab-size 500 --out tokenizer
vectors train --text sw.txt --out sw.vec
transplant {xlmr} --text sw.txt --tokenizer tokenizer --language sw --out model-sw
explain model-sw Kiarabu
lapt model-sw --text sw.txt --steps 2 --batch-size 4 --out trained
report trained --text sw.txt --out report.html
check trained
evaluate {gpt2} --task ppl --test few.txt
"""


def run(folder: Path) -> None:
    "Run the commands, one after the other; `SystemExit` names the first that fails."
    from testkit.phrasebook import lines
    from vocab_lit.cli.main import app
    from vocab_lit.text.corpus import data_path

    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    for name, n in (("sw.txt", 300), ("few.txt", 20)):
        Path(name).write_text("\n".join(lines("sw", n, seed=0)), encoding="utf-8", newline="\n")
    places = {name: str(data_path("models", f"mini-{name}")) for name in ("xlmr", "gpt2")}
    for command in _COMMANDS.strip().splitlines():
        print(f"\n$ vocab-lit {command}", flush=True)
        if code := app([word.format(**places) for word in command.split()], standalone_mode=False):
            sys.exit(f"vocab-lit {command}: exit code {code}")


def main(
    folder: Annotated[Path, typer.Argument(help="What the commands write goes there.")],
    as_windows: Annotated[
        bool, typer.Option("--as-windows", help="Pretend to be Windows where Python can tell.")
    ] = False,
) -> None:
    "Run every command of the command line to its end."
    if as_windows:
        from tools.windows import pretend

        pretend()
    run(folder)


if __name__ == "__main__":
    typer.run(main)
