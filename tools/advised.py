"""List computed sentences with the pages that show them and the records, and their seeds, that they come from."""

import json
from pathlib import Path

from studies.advice import of_study as advice_of_study  # noqa: F401, which register theirs
from studies.advice.evidence import EVIDENCE
from studies.records.summaries import ADVICE, rows_of
from tools.facts import FACTS, RECORDS
from tools.prose import pages
from vocab_lit.text.corpus import data_path

_INSPECT = {  # findings that `vocab-lit inspect` reports, with their records
    **dict.fromkeys(("extend", "replace"), ("field/records.csv",)),
    **dict.fromkeys(("decoder", "tokens"), ("real-trial/one-pass.csv",)),
}


def _with_seeds(record: str) -> str:
    "A record with its number of seeds, if it has a column of them."
    rows = rows_of(record) if ".csv" in record else ()
    return f"{record} ({rows.seed.nunique()} seeds)" if "seed" in rows else record


def _part(name: str, places: list[str], records: tuple[str, ...], text: str) -> str:
    "A sentence, or a table, under its name."
    sources = ", ".join(map(_with_seeds, records)) or "no record"
    return f"## {name}\n\nOn: {', '.join(places) or 'no page'}. From: {sources}.\n\n{text}"


def list_advice(root: Path) -> str:
    "The list, in Markdown."
    texts, parts = pages(root), []
    for name, compute in FACTS.items():
        places = [path for path, text in texts.items() if f"<!-- {name} -->" in text]
        parts.append(_part(name, places, ADVICE[name].records if name in ADVICE else RECORDS[name], compute()))
    evidence = json.loads(data_path(EVIDENCE).read_text(encoding="utf-8"))
    for name, records in _INSPECT.items():
        sentences = "\n".join(f"- {known}: {sentence}" for known, sentence in evidence[name].items())
        parts.append(_part(name, ["vocab-lit inspect"], records, sentences))
    return "\n\n".join(parts)
