"""Every computed sentence with the pages that it stands on and the records, and their seeds, that it comes from."""

import json
from pathlib import Path

from studies.advice import of_study as advice_of_study  # noqa: F401, which register theirs
from studies.advice.evidence import EVIDENCE
from studies.records.summaries import ADVICE, rows_of
from tools.facts import FACTS, RECORDS
from tools.prose import pages
from vocab_lit.text.corpus import data_path

_INSPECT = {  # what `vocab-lit inspect` tells of a trial, to its records
    "extend": ("field/records.csv",),
    "replace": ("field/records.csv",),
    "decoder": ("real-trial/one-pass.csv",),
    "tokens": ("real-trial/one-pass.csv",),
}


def _seeds(record: str) -> str:
    "A record with its number of seeds, where it has a column of them."
    if ".csv" not in record:
        return record
    rows = rows_of(record)
    return f"{record} ({rows.seed.nunique()} seeds)" if "seed" in rows else record


def listed_advice(root: Path) -> str:
    "The list, in Markdown."
    texts, parts = pages(root), []
    for name in FACTS:
        where = [path for path, text in texts.items() if f"<!-- {name} -->" in text]
        records = ADVICE[name].records if name in ADVICE else RECORDS[name]
        parts.append((name, where, records, FACTS[name]()))
    told = json.loads(data_path(EVIDENCE).read_text(encoding="utf-8"))
    for name, records in _INSPECT.items():
        said = "\n".join(f"- {known}: {sentence}" for known, sentence in told[name].items())
        parts.append((name, ["vocab-lit inspect"], records, said))
    return "\n\n".join(_part(*part) for part in parts)


def _part(name: str, where: list[str], records: tuple[str, ...], said: str) -> str:
    "A sentence, or a table, under its name."
    begins = (
        f"## {name}\n\nOn: {', '.join(where) or 'no page'}. From: {', '.join(map(_seeds, records)) or 'no record'}."
    )
    return f"{begins}\n\n{said}"
