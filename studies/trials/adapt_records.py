"""What `vocab-lit adapt` made of real models and texts in a given time."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from studies.records.record import Record
from vocab_lit.models.source import Source
from vocab_lit.runs.measure import Measure, bits_of, read_measures
from vocab_lit.text.corpus import data_path, read_lines, write_json

RECORD = Record("adapt.csv", ("source", "language", "minutes", "asked", "keep", "seed"), is_sorted=True)
UNSEEN = 150  # lines
MEASURES = ("bits", "tokens_per_word", "words_per_second", "tokens", "megabytes")  # keys of a report's rows


def row_of(
    report: dict[str, Any],
    source: str,
    language: str,
    unseen: tuple[float, float] | None = None,  # bits per byte of text that was not retained, before and after
) -> dict[str, object]:
    "Return the row of the table that a report makes."
    request, measures = report["asked"], read_measures(report)
    retained = [measure for key, measure in measures.items() if key.startswith("kept-")]
    words = "words" if request.get("keep") else "nothing"
    row: dict[str, object] = dict(
        source=source,
        language=language,
        minutes=f"{report['minutes']['budget']:g}",
        asked=request.get("candidates", "all"),
        keep="text" if retained else words,
        seed=request.get("seed", 0),
        raced=" ".join(c["candidate"] for c in report["candidates"]),
        winner=report["winner"],
        steps=report["training"]["steps"],
        spent=f"{report['minutes']['spent']:.2f}",
        gigabytes=report["peak_gigabytes"],
        device=report["device"],
    )
    worst = max(retained, key=lambda measure: measure.after / measure.before, default=None)
    shown = {key: measures[key] for key in MEASURES} | {"kept": worst}
    for key, measure in shown.items():
        row |= {f"{key}_{at}": _short(getattr(measure, at)) if measure else "" for at in ("before", "after")}
    return row | {f"unseen_{at}": _short(bits) for at, bits in zip(("before", "after"), unseen or ())}


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def unseen_bits(model: Path, file: Path) -> float:
    "Return a model's bits per byte on the first lines of a text that was neither trained on nor retained."
    source = Source.open(model).with_weights()
    return bits_of(source.load().float(), source.tokenizer, read_lines(file)[:UNSEEN])[0]


def example_of(
    report: dict[str, Any], megabytes: tuple[float, float] | None, unseen: tuple[float, float] | None
) -> dict[str, Any]:
    "Return what the README shows of a run: its decisions, before and after; MB of GGUF files if there are any."
    rows = [measure for key, measure in read_measures(report).items() if key != "megabytes" or not megabytes]
    if unseen:
        rows.insert(1, Measure("unseen", "bits per byte, other English", *unseen))
    if megabytes:
        rows.append(Measure("megabytes", "MB of the GGUF file", *megabytes))
    decided = [*dict.fromkeys(report["decided"])]
    return dict(minutes=report["minutes"]["budget"], decided=decided, rows=[*map(asdict, rows)])


def main(
    out: Annotated[list[Path], Argument(help="Folders that `vocab-lit adapt` made.")],
    language: Annotated[str, Option(help="Code of the language.")],
    source: Annotated[str, Option(help="Name of the model.")],
    unseen: Annotated[
        tuple[Path, Path] | None, Option(metavar="MODEL FILE", help="The source, and text that is not retained.")
    ] = None,
    example: Annotated[bool, Option("--example", help="Show the run in the README.")] = False,
    gguf: Annotated[tuple[Path, Path] | None, Option(help="GGUF files of the example, before and after.")] = None,
    table: Annotated[Path | None, Option(help="Another table.", show_default="data/adapt.csv")] = None,
) -> None:
    """Add runs of `vocab-lit adapt` to data/adapt.csv, from their `report.json`.

    Example: `python -m studies trial adapt-records OUT --language sw --source gemma3-270m.gguf`
    """
    before = unseen_bits(*unseen) if unseen else 0.0
    for folder in out:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        other = (before, unseen_bits(folder, unseen[1])) if unseen else None
        RECORD.write([row_of(report, source, language, other)], table)
        if example:
            sizes = tuple(round(file.stat().st_size / 1e6, 1) for file in gguf) if gguf else None
            write_json(example_of(report, sizes, other), data_path("real-trial") / "adapt.json")
