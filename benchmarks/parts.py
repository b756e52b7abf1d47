"""The benchmarks by name, and some of them measured."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.runner import Part, run_part
from vocab_lit.text.corpus import write_json

MODULES = (
    *("focus", "focus_process", "wechsel", "lapt", "memory", "text", "adapters", "nmf"),
    *("trim", "expansion", "transplant", "load", "feed", "gguf_trim", "real", "gpu", "step_memory"),
)
AT_REST = 0.5  # load average up to which a machine is at rest
PARTS: dict[str, Part] = {part.name: part for part in (import_module(f"benchmarks.{name}").PART for name in MODULES)}


def _check_part(part: Part, small: bool = False, models: Sequence[str] = (), texts: object = None, **_: object) -> None:
    "`ValueError` where a part cannot be measured here."
    import torch

    if part.gpu and not small and not torch.cuda.is_available():
        raise ValueError(f"{part.name}: there is no GPU that torch can use here")
    if models and not part.takes_models:
        taking = " and ".join(name for name, other in PARTS.items() if other.takes_models)
        raise ValueError(f"{part.name} measures what it makes; models are for {taking}")
    if texts and not part.takes_texts:
        taking = " and ".join(name for name, other in PARTS.items() if other.takes_texts)
        raise ValueError(f"{part.name} measures on text that it makes; texts are for {taking}")


def run_bench(
    names: Sequence[str],  # of parts, or "all" for those that need not be named
    out: str | Path | None,  # JSON file in which these parts replace older ones; None: no file
    loaded: bool = False,  # whether parts that are recorded on a machine at rest are recorded all the same
    **options,  # of `run_part`
) -> dict[str, dict]:  # {part: record}
    "Measure some parts and keep the records."
    if unknown := [name for name in names if name not in PARTS and name != "all"]:
        raise ValueError(f"no part {unknown[0]!r}; choose from {', '.join(PARTS)}, or all")
    chosen = [part for part in PARTS.values() if part.name in names or ("all" in names and not part.named)]
    for part in chosen:
        _check_part(part, **options)
    records, load = {}, os.getloadavg()[0]
    if load > AT_REST and not (loaded or options.get("small")) and any(part.at_rest for part in chosen):
        hint = "wait until nothing else computes, or give --loaded"
        raise ValueError(f"the load average is {load:.2f}, and above {AT_REST} nothing is recorded: {hint}")
    for part in chosen:
        records[part.name] = run_part(part, **options)
        if out:
            file = Path(out)
            file.parent.mkdir(parents=True, exist_ok=True)
            kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            write_json(kept | {part.name: records[part.name]}, file)
    return records
