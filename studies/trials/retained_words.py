"""What frequent words of a retained language cost and save when a vocabulary is trimmed, before any training.

    python -m studies.trials.retained_words MODEL --name smollm2-135m --text sw.txt --keep en.txt --language en \\
        --test news=news.txt --test FLORES=flores.txt

A row for each number of words and each test text is added to `data/retained-words.csv`.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from vocab_lit.models.pipeline import trim_files
from vocab_lit.models.source import FolderSource
from vocab_lit.text.corpus import read_lines
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.training.perplexity import perplexity

TABLE = Path("data/retained-words.csv")
WORDS = (0, 20_000, 60_000)
LINES = 120  # of each test text
WINDOW = dict(length=256, stride=240)


def bits_of(source: FolderSource, tests: dict[str, list[str]]) -> dict[str, float]:
    "Measure bits per byte on each test text."
    model = source.load().float().eval()
    return {name: perplexity(model, source.tokenizer, lines, **WINDOW).bits_per_byte for name, lines in tests.items()}


def measure(
    source: FolderSource, name: str, text: str, keep: str, language: str, tests: dict[str, list[str]]
) -> Iterator[dict[str, object]]:  # a row for each number of words and each test text
    "Trim a model with more and more frequent words of a language, and measure text that no vocabulary was made from."
    before = bits_of(source, tests)
    for n in WORDS:
        with TemporaryDirectory() as folder:
            settings = TrimSettings(words=f"{language}:{n}" if n else "")
            trim_files(source, [text, keep], Path(folder, "out"), settings)
            small = FolderSource(Path(folder, "out"))
            after, sizes = bits_of(small, tests), small.sizes
        for test, bits in after.items():
            yield dict(
                model=name,
                keep=Path(keep).name,
                words=n,
                tokens=len(small.tokenizer),
                megabytes=round(4 * sizes["parameters"] / 1e6),
                test=test,
                before=round(before[test], 4),
                after=round(bits, 4),
            )


def add_rows(rows: Sequence[dict[str, object]], path: Path = TABLE) -> None:
    "Write rows to the table; those of the same model and text to retain are replaced."
    there = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.is_file() else []
    new = {(row["model"], row["keep"]) for row in rows}
    others = [row for row in there if (row["model"], row["keep"]) not in new]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([*others, *rows])


def main() -> None:
    "Run from the command line."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a causal language model")
    for option in ("name", "text", "keep", "language"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--test", action="append", required=True, help="NAME=FILE: text that is not retained")
    given = parser.parse_args()
    pairs = (test.split("=", 1) for test in given.test)
    tests = {name: read_lines(file)[:LINES] for name, file in pairs}
    source = FolderSource.open(given.model)
    add_rows(list(measure(source, given.name, given.text, given.keep, given.language, tests)))


if __name__ == "__main__":
    main()
