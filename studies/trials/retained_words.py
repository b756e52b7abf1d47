"""What frequent words of a retained language cost and save when a vocabulary is trimmed, before any training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from typer import Argument, Option

from studies.records.record import Record
from vocab_lit.models.pipeline import trim_files
from vocab_lit.models.source import FolderSource
from vocab_lit.text.corpus import read_lines
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.training.perplexity import perplexity

RECORD = Record(
    "retained-words.csv",
    ("model", "keep"),
    ("model", "keep", "words", "tokens", "megabytes", "test", "before", "after"),
)
WORDS = (0, 20_000, 60_000)
LINES = 120  # of each test text
WINDOW = dict(length=256, stride=240)


def bits_of(source: FolderSource, tests: dict[str, list[str]]) -> dict[str, float]:
    "Measure bits per byte on each test text."
    model = source.load().float().eval()
    return {name: perplexity(model, source.tokenizer, lines, **WINDOW).bits_per_byte for name, lines in tests.items()}


def measure(
    source: FolderSource, text: str, keep: str, language: str, tests: dict[str, list[str]]
) -> Iterator[dict[str, object]]:  # a row for each number of words and each test text
    "Trim a model with more and more frequent words of a language, and measure text that no vocabulary was made from."
    before = bits_of(source, tests)
    for n in WORDS:
        with TemporaryDirectory() as folder:
            settings = TrimSettings(words=f"{language}:{n}" if n else "")
            trim_files(source, [text, keep], Path(folder, "out"), settings)
            small = FolderSource(Path(folder, "out"))
            after = bits_of(small, tests)
            size = dict(tokens=len(small.tokenizer), megabytes=round(4 * small.sizes["parameters"] / 1e6))
        for test, bits in after.items():
            yield dict(words=n, **size, test=test, before=round(before[test], 4), after=round(bits, 4))


def main(
    model: Annotated[Path, Argument(help="Folder of a causal language model.")],
    name: Annotated[str, Option(help="Name of the model.")],
    text: Annotated[str, Option(help="Text in the target language.")],
    keep: Annotated[str, Option(help="Text in the retained language.")],
    language: Annotated[str, Option(help="Code of the retained language.")],
    test: Annotated[list[str], Option(metavar="NAME=FILE", help="Text that is not retained. May be repeated.")],
) -> None:
    """Add a row for each number of words and each test text to data/retained-words.csv.

    Example: `python -m studies trial retained-words MODEL --name smollm2-135m --text sw.txt --keep en.txt --language en
    --test news=news.txt`
    """
    tests = {title: read_lines(file)[:LINES] for title, file in (one.split("=", 1) for one in test)}
    source, case = FolderSource.open(model), dict(model=name, keep=Path(keep).name)
    RECORD.write([case | row for row in measure(source, text, keep, language, tests)])
