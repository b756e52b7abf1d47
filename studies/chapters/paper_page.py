"""The page of a paper's tables: which records it shows, and what it says at the top."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from studies.papers.store import beside_book
from studies.papers.tables import PaperTables
from studies.records.recorded import fresh_rows, study_rows

ONLY_PAPER, OURS, REAL = "scale paper only", "ours", "a pretrained model"


def paper_tables(
    paper: str,  # such as focus
    scale: str = "mini",
    records: str | Path = "",  # the folder of a chapter's records, for another scale than mini
) -> PaperTables:
    "Return a paper's tables beside the recorded study at scale mini, elsewhere beside the records of a run."
    return PaperTables(paper, study_rows(paper) if scale == "mini" else fresh_rows(beside_book(records), paper), scale)


def overview(tables: PaperTables) -> pd.DataFrame:  # columns: exhibit, title, numbers, same order, dates
    "Return what stands beside each table and figure of the paper, and in how many pairs of rows the order is the same."
    rows = []
    for name, exhibit in tables.exhibits.items():
        agreement = tables.agreement(exhibit)
        sides, days = tables.sides(exhibit), tables.dates(exhibit)
        has_ours = exhibit.kind == "presets" or "ours" in sides
        beside = [OURS] * has_ours + [REAL] * bool(sides.keys() & exhibit.real.keys())
        same = f"{agreement.same} of {agreement.pairs}" if agreement and agreement.pairs else ""
        nothing = ONLY_PAPER if tables.scale == "mini" else "none in these records"
        rows.append((name, exhibit.title, " and ".join(beside) or nothing, same, days))
    columns = ["", "what it shows", "beside the paper's numbers", "pairs of rows in its order", "ours recorded"]
    return pd.DataFrame(rows, columns=columns)
