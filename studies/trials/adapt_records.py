"""What `vocab-lit adapt` made of real models and texts in a given time.

    python -m studies.trials.adapt_records OUT [OUT ...] --language sw --source gemma3-270m.gguf

OUT is a folder that `vocab-lit adapt` made. A row for each is added to `data/adapt.csv`, from its `report.json`; with
`--unseen MODEL FILE` it has bits per byte on text that was not retained. With `--example GGUF GGUF` the README shows
the run.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vocab_lit.models.source import Source
from vocab_lit.runs.measure import Measure, bits_of, read_measures
from vocab_lit.text.corpus import read_lines, write_json

TABLE, EXAMPLE = Path("data/adapt.csv"), Path("data/real-trial/adapt.json")
UNSEEN = 150  # lines
KEYS = ("source", "language", "minutes", "asked", "keep", "seed")
MEASURES = ("bits", "tokens_per_word", "words_per_second", "tokens", "megabytes")  # keys of a report's rows


def row_of(
    report: dict[str, Any],
    source: str,
    language: str,
    unseen: tuple[float, float] | None = None,  # bits per byte of text that was not retained, before and after
) -> dict[str, object]:
    "The row of the table that a report makes."
    asked, measures = report["asked"], read_measures(report)
    kept = [measure for key, measure in measures.items() if key.startswith("kept-")]
    told: dict[str, object] = dict(
        source=source,
        language=language,
        minutes=f"{report['minutes']['budget']:g}",
        asked=asked.get("candidates", "all"),
        keep=_kept_as(kept, asked.get("keep")),
        seed=asked.get("seed", 0),
        raced=" ".join(c["candidate"] for c in report["candidates"]),
        winner=report["winner"],
        steps=report["training"]["steps"],
        spent=f"{report['minutes']['spent']:.2f}",
        gigabytes=report["peak_gigabytes"],
        device=report["device"],
    )
    for key in MEASURES:
        told |= {f"{key}_{at}": _short(getattr(measures[key], at)) for at in ("before", "after")}
    worst = max(kept, key=lambda measure: measure.after / measure.before, default=None)
    told |= {f"kept_{at}": _short(getattr(worst, at)) if worst else "" for at in ("before", "after")}
    return told | {f"unseen_{at}": _short(bits) for at, bits in zip(("before", "after"), unseen or ())}


def _kept_as(measured: list, asked: list | None) -> str:
    "How the text or words to retain were given."
    if measured:
        return "text"
    return "words" if asked else "nothing"


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def unseen_bits(model: str | Path, file: str | Path) -> float:
    "Bits per byte of a model on the first lines of a text that was neither learnt nor retained."
    source = Source.open(model).with_weights()
    return bits_of(source.load().float(), source.tokenizer, read_lines(file)[:UNSEEN])[0]


def example_of(
    report: dict[str, Any], megabytes: tuple[float, float] | None, unseen: tuple[float, float] | None
) -> dict[str, Any]:
    "What the README shows of a run: its decisions, before and after; MB of GGUF files where there are."
    rows = [measure for key, measure in read_measures(report).items() if key != "megabytes" or not megabytes]
    if unseen:
        rows.insert(1, Measure("unseen", "bits per byte, other English", *unseen))
    if megabytes:
        rows.append(Measure("megabytes", "MB of the GGUF file", *megabytes))
    decided = [*dict.fromkeys(report["decided"])]
    return dict(minutes=report["minutes"]["budget"], decided=decided, rows=[*map(asdict, rows)])


def add_row(row: dict[str, object], path: Path) -> None:
    "Write a row to a table; one of the same model, language, time and candidates gives way."
    there = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.is_file() else []
    others = [r for r in there if any(str(r[key]) != str(row[key]) for key in KEYS)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*others, row], key=lambda r: [str(r[key]) for key in KEYS]))


def main() -> None:
    "Run from the command line."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="+", type=Path)
    parser.add_argument("--language", required=True)
    parser.add_argument("--source", required=True, help="what the model is called")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--example", nargs="*", type=Path, help="show the run in the README; the GGUF files, if any")
    parser.add_argument(
        "--unseen", nargs=2, metavar=("MODEL", "FILE"), help="the source, and text that is not retained"
    )
    asked = parser.parse_args()
    before_training = unseen_bits(*asked.unseen) if asked.unseen else 0.0
    for out in asked.out:
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
        unseen = (before_training, unseen_bits(out, asked.unseen[1])) if asked.unseen else None
        add_row(row_of(report, asked.source, asked.language, unseen), asked.table)
        if asked.example is not None:
            before, after = (round(file.stat().st_size / 1e6, 1) for file in asked.example) if asked.example else (0, 0)
            write_json(example_of(report, (before, after) if before else None, unseen), EXAMPLE)


if __name__ == "__main__":
    main()
