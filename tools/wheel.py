"""What a wheel holds: the library and the data that its commands read, and nothing of the workshop."""

import re
import sys
import zipfile
from pathlib import Path

import typer

from tools.notebooks import checkout

DATA = re.compile(
    r"languages\.(yml|csv)|papers\.csv|pre_tokenizers\.yml|tokenizers/[\w.-]+|field/sources\.csv|report/[\w.-]+"
    r"|text/\w+\.txt"
    r"|models/mini-(gpt2|mbert|roberta|xlmr)/[\w.]+"
)


def problems(files: list[str], modules: set[str]) -> list[str]:
    "What is wrong with a wheel that has these files; `modules` are the library's in the checkout."
    inside = {name for name in files if not re.match(r"[\w.-]+\.dist-info/", name)}
    data = {name for name in inside if name.startswith("vocab_lit/data/")}
    wrong = [f"{name} is not in the wheel" for name in sorted(modules - inside)]
    wrong += [f"{name} does not belong into the wheel" for name in sorted(inside - data - modules)]
    unread = [name for name in sorted(data) if not DATA.fullmatch(name.removeprefix("vocab_lit/data/"))]
    wrong += [f"{name} is data that no command reads" for name in unread]
    return wrong if data else [*wrong, "the wheel has no data"]


def library_files(root: Path) -> set[str]:
    "The files of the library in a checkout, by their paths in the wheel."
    package = root / "vocab_lit"
    files = [*package.rglob("*.py"), package / "py.typed"]
    return {path.relative_to(root).as_posix() for path in files if path.name != "_modidx.py"}


def main(wheel: Path) -> None:
    "Check which files a wheel holds."
    with zipfile.ZipFile(wheel) as files:
        sys.exit("\n".join(problems(files.namelist(), library_files(checkout()))) or None)


if __name__ == "__main__":
    typer.run(main)
