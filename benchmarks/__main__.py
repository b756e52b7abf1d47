"""The command `python -m benchmarks`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import click
import pandas as pd
from typer import Argument, Exit, Option, Typer, echo
from typer.core import TyperCommand

from benchmarks.parts import PARTS, run_bench
from benchmarks.tables import list_parts, report
from testkit.peers import PEERS, peer_python
from vocab_lit.text.errors import MissingExtra

HOME = Path("_build/bench")
for name, value in (("TRANSFORMERS_VERBOSITY", "error"), ("HF_HUB_DISABLE_PROGRESS_BARS", "1")):
    os.environ.setdefault(name, value)  # before transformers is imported, which the parts do when they run


class OneLine(TyperCommand):
    "A command that prints errors of the user as one line."

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (ValueError, OSError, MissingExtra) as e:
            echo(f"benchmarks: {' '.join(str(e).split())}", err=True)
            raise Exit(1) from None


def named_texts(value: str) -> tuple[str, list[str]]:
    "The name and the files of `--text`."
    name, _, files = value.partition("=")
    if missing := next((file for file in files.split(",") if not Path(file).is_file()), None):
        raise ValueError(f"--text {value}: there is no file {missing!r}; give NAME=FILE,FILE")
    return name, files.split(",")


_MODEL = (
    "Model folder or hub name whose tokenizer feed measures, GGUF file of gguf, both of real, or what gpu trains. May "
    "be repeated. By default tokenizers of four sizes, or a tiny GGUF file, are made."
)
_TEXT = "Texts that gguf and real read, such as sw+en=swahili.txt,english.txt. May be repeated."
_OUT = "JSON file in which these parts replace older ones; by default _build/bench/bench.json, with --small none."
_INSTALL = "Make missing environments of the other packages; without them vocab_lit is measured alone."

app = Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)


@app.command(cls=OneLine)
def bench(
    parts: Annotated[
        list[str] | None, Argument(help="Parts to measure; all: all that need not be named.", show_default="list them")
    ] = None,
    rounds: Annotated[int, Option(min=1, help="How often the sides run in turns on the cases of claims.")] = 3,
    small: Annotated[bool, Option("--small", help="Tiny sizes, once: a trial in seconds.")] = False,
    install: Annotated[bool, Option("--install", help=_INSTALL)] = False,
    largest: Annotated[float, Option(help="Leave out larger sizes.", show_default="all sizes")] = float("inf"),
    folder: Annotated[Path, Option(help="Where the environments of the other packages are, env-NAME each.")] = HOME,
    model: Annotated[list[str] | None, Option(help=_MODEL, show_default=False)] = None,
    case: Annotated[str, Option(help="Measure only cases whose names begin so.", show_default="all")] = "",
    text: Annotated[list[str] | None, Option(metavar="NAME=FILE,FILE", help=_TEXT, show_default=False)] = None,
    loaded: Annotated[bool, Option("--loaded", help="Record real although other programs compute, too.")] = False,
    out: Annotated[Path | None, Option(help=_OUT, show_default=False)] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure speed and memory beside the packages that people use today, each in an environment of its own.

    A part has cases of four sizes, so that one sees how the cost grows. Every run is a process on one thread; the
    sides take turns, and ratios are of runs that followed each other.

    Example: `python -m benchmarks`, then `python -m benchmarks focus wechsel --install`

    Example: `python -m benchmarks transplant --largest 2048 --rounds 1`

    Example: `python -m benchmarks gguf --model gemma.gguf --text sw+en=swahili.txt,english.txt --rounds 5`

    Example: `python -m benchmarks real --model gemma --model gemma.gguf --text sw+en=swahili.txt,english.txt`

    Example: `python -m benchmarks feed --model FacebookAI/xlm-roberta-base --model models/my-gpt2`
    """
    if not parts:
        rows = list_parts([peer for peer in PEERS if peer_python(peer, folder)])
        print(json.dumps(rows, indent=1) if as_json else pd.DataFrame(rows).to_markdown(index=False))
        return
    out = out or (None if small else HOME / "bench.json")
    named = dict(case_start=case, models=model or (), texts=dict(map(named_texts, text or ())))
    options = dict(rounds=rounds, small=small, folder=folder, install=install, largest=largest) | named
    records = run_bench(parts, out, loaded, **options)
    print(json.dumps(records, indent=1) if as_json else report(records))
    missing = [(n, peer) for n in records for peer in PARTS[n].peers if not peer_python(peer, folder)]
    for part, peer in missing:
        why = f"{peer} is not in {folder}; {part} was measured without it"
        echo(f"note: {why}, and --install makes its environment", err=True)


if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
