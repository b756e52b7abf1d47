"""Records of the benchmark as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, Runs, exponent
from benchmarks.parts import PARTS

if TYPE_CHECKING:
    import pandas as pd


def _number(x: float | str | None) -> str:
    if isinstance(x, str):
        return x
    if x is None or x != x:
        return ""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


def _spread(values: Iterable[float], digits: int = 2) -> str:
    "The median, and between what it lies."
    values = np.asarray(list(values), float)
    if not len(values):
        return ""
    median = f"{np.median(values):.{digits}f}"
    return median if len(values) == 1 else f"{median} ({values.min():.{digits}f} to {values.max():.{digits}f})"


def machines_table(records: dict) -> pd.DataFrame:  # a row for each kind of machine
    "On what machines, and with what packages, the parts of a record were measured."
    import pandas as pd

    parts: dict[tuple[str, str], list[str]] = {}
    for part, record in records.items():
        about = record["environment"]
        machine = (
            f"{about['processor']} {about['device'].upper()}, {about['cores']} cores "
            f"({', '.join(about['instructions'])}), {about['memory_gb']} GB, {about['system']}"
        )
        packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
        parts.setdefault((machine, f"Python {about['python']}, {packages}"), []).append(part)
    rows = [(*machine, ", ".join(names)) for machine, names in parts.items()]
    return pd.DataFrame(rows, columns=["machine", "packages", "parts"])


def side_table(name: str, record: dict) -> pd.DataFrame:  # a row for each case and side
    "Medians over the rounds; ratios say how many times more than this package a side takes."
    import pandas as pd

    runs, part = Runs(record), PARTS[name]
    groups = runs.table.groupby(["case", "side"], sort=False)
    only_sized = part.compare and part.sizes.curve  # of the small cases of a part that compares, only the results count
    shown = [(key, t) for key, t in groups if not only_sized or t["size"].notna().any()]
    return pd.DataFrame([_side_row(runs, part.facts, *key, t) for key, t in shown])


def _side_row(runs: Runs, facts: dict, case: str, side: str, t: pd.DataFrame) -> dict:
    ours = side == "vocab_lit"
    row = {
        "case": case,
        "side": side,
        "CPU seconds": _number(t.cpu_seconds.median()),
        "times": "" if ours else _spread(runs.ratio("cpu_seconds", side, case)),
        "extra MB": _number(t.extra_mb.median()),
        "times ": "" if ours or t.extra_mb.min() <= 10 else _spread(runs.ratio("extra_mb", side, case)),
        "peak MB": _number(t.peak_mb.median()),
    }
    for fact, title in facts.items():
        if fact in t:
            in_words = t[fact].dtype == object or fact == "digest"
            row[title] = _number(t[fact].iloc[0] if in_words else t[fact].median())
    return row


def growth_table(name: str, record: dict) -> pd.DataFrame:  # a row for each curve
    "CPU seconds at each size, and the exponents of time and memory."
    import pandas as pd

    rows = []
    for (series, side), t in Runs(record).growth().groupby(["series", "side"], sort=False):
        row = {"curve": series, "side": side} | {f"{n:,g}": _number(v) for n, v in zip(t["size"], t.cpu_seconds)}
        for title, measure in (("time", "cpu_seconds"), ("extra memory", "extra_mb")):
            power = exponent(t["size"], t[measure])
            row[f"{title} grows with"] = "" if power != power else f"{power:.2f}"
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.drop(columns="curve") if len(table) and not table.curve.any() else table


def _measured(values: list[float]) -> str:
    if values and 0 < max(values) < 0.01:
        return f"{max(values):.0e}"
    return _spread(values, 0 if all(float(v).is_integer() for v in values) else 2)


def _claim_row(part: str, claim: Claim, record: dict | None) -> dict:
    values = claim.measured(record)
    holds = claim.holds(values)
    row = {"part": part, "claim": claim.text, "measured": _measured(values), "wanted": claim.limit, "holds": holds}
    return row | {"note": claim.note if holds == "no" else ""}


def claims_table(records: dict[str, dict]) -> pd.DataFrame:  # {part: record}; a row for each claim
    "What was claimed, what was measured and whether it holds, by the median."
    import pandas as pd

    rows = [_claim_row(name, claim, records.get(name)) for name, part in PARTS.items() for claim in part.claims]
    return pd.DataFrame(rows)


def checks_table(checks: dict[str, dict]) -> pd.DataFrame:  # a row for each case
    "How the results of the sides differ."
    import pandas as pd

    return pd.DataFrame(checks).T.fillna(0).map(_number).rename_axis("case").reset_index()


def list_parts(there: Sequence[str] = ()) -> list[dict]:  # there: the peers that are installed
    "Name, subject, peers and minutes of each part."
    rows = []
    for part in PARTS.values():
        peers = ", ".join(peer if peer in there else f"{peer} (not installed)" for peer in part.peers)
        rows.append(dict(part=part.name, measures=part.about, beside=peers, minutes_a_round=part.minutes))
    return rows


def _markdown(table: pd.DataFrame) -> str:
    return table.to_markdown(index=False, disable_numparse=True)


def _check_finding(check: dict) -> str:
    "What a check of a GPU found, in a few words."
    found = check.get("result")
    if isinstance(found, dict) and "rows" in found:  # of adapt
        bits = next(row for row in found["rows"] if row["key"] == "bits")
        return f"{found['winner']}: {bits['before']:.2f} → {bits['after']:.2f} bits per byte"
    if isinstance(found, list) and "loss" in found[0]:
        return f"held-out loss {found[0]['loss']:.4f} → {found[-1]['loss']:.4f}"
    return found if isinstance(found, str) else check.get("error", "")


def gpu_report(record: dict[str, dict] | None) -> str:  # of `benchmarks.gpu_checks`; None: there is none
    "What the checks on a GPU found, with device and date, as Markdown; without a record, that they are untested."
    import pandas as pd

    if not record:
        command = "python -m benchmarks.gpu_checks --out data/records/gpu.json"
        return f"**Untested**: no record of a GPU is here yet. `{command}` writes one, in ten minutes at most."
    about = record["environment"].get("result", {})
    versions = [f"{name} {version}" for name, version in about.get("versions", {}).items()]
    machine = ", ".join([about.get("device", "unknown device"), about.get("date", "unknown date"), *versions])
    rows = [
        dict(check=name, status=one["status"], seconds=one.get("seconds", ""), found=_check_finding(one))
        for name, one in record.items()
    ]
    training = [one.get("result", []) for name, one in record.items() if name.startswith("training")]
    tables = [_markdown(pd.DataFrame(rows))]
    if runs := [run for some in training for run in some]:
        tables.append(_markdown(side_table("gpu", dict(runs=runs, checks={}))))
    return "\n\n".join([f"Measured on {machine}.", *tables])


def report(records: dict[str, dict]) -> str:  # {part: record}
    "All tables as Markdown."
    out = []
    for name, record in records.items():
        about = PARTS[name].about
        out += [f"## {name}", about[0].upper() + about[1:] + ".", _markdown(side_table(name, record))]
        if len(grown := growth_table(name, record)):
            out += [f"CPU seconds by {PARTS[name].unit}:", _markdown(grown)]
        if record["checks"]:
            out += ["Results:", _markdown(checks_table(record["checks"]))]
    claims = claims_table(records)
    return "\n\n".join([*out, "## Claims", _markdown(claims[claims.part.isin(list(records))])]) + "\n"
