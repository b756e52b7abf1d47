"""What people type on the pages of the book, and measured numbers in it, which belong between markers or into code."""

import re
from collections.abc import Iterator
from pathlib import Path

from tools.notebooks import read_notebook, source

_COMPUTED = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->|```.*?```", re.S)  # and code
_QUOTED = re.compile(r'"[^"\n]*"|\*[^*\n]+\*')
_MEASURED = re.compile(
    r"→|\b\d[\d.,]* (?:bits|nats|points|tokens a second|CPU.seconds)\b|\b\d[\d.]* ?% of|"
    r"\b\d[\d.]* times (?:as|more|less|the)\b|\b(?:lower|higher|ahead|behind|above|below) (?:in|by) \d"
)
_OF_OTHERS = re.compile(r"paper|print|at most|at least|more than|may ", re.I)  # a paper's number, or a limit


def pages(root: Path) -> dict[str, str]:
    "The texts that people read, by path: README, and the Markdown of the book."
    found = [root / "README.md", *sorted((root / "book").glob("*.md")), *sorted((root / "book").glob("*.ipynb"))]
    return {path.relative_to(root).as_posix(): _markdown(path) for path in found}


def _markdown(path: Path) -> str:
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n".join(source(c) for c in read_notebook(path)["cells"] if c["cell_type"] == "markdown")


def measured_by_hand(text: str) -> Iterator[str]:
    "The sentences with a measured number that is typed, and neither a paper's nor a limit."
    for sentence in re.split(r"(?<=[.:;])\s|\n", _COMPUTED.sub("", text)):
        if _MEASURED.search(_QUOTED.sub("", sentence)) and not _OF_OTHERS.search(sentence):
            yield sentence.strip()
