"""Which of the papers' printed tables scale paper computes, language by language, and what of them it leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from studies.data.availability import Datum, data_of, state_of
from studies.data.hub_sources import SOURCES, get_source, word_files
from studies.data.presets import PAPER_TEXT
from studies.papers.printed import PAPER_NAMES, published
from studies.papers.tables import read_exhibits

if TYPE_CHECKING:
    import pandas as pd

# the tables of results; others print hyper-parameters, facts and judgements
RESULTS = {
    "focus": "2 3 4 8",
    "embedding-structure": "1 2 3 4 8 9",
    "mad-x": "2 3 5 F3 F4 F5 F7 F8 F9 F10 F11 F12",
    "unks-everywhere": "1 3a 3b 5a 5b 5c 5d 6 7 8 9a 9b 9c 9d",
    "wechsel": "2 3 4 7 8 9 10 11",
}
_DATA_SETS = {  # as the papers call them: task and short name
    "XNLI": ("nli", "xnli"),
    "GermanQuAD": ("qa", "germanquad"),
    "TyDiQA GoldP": ("qa", "tydiqa"),
    "XQuAD": ("qa", "xquad"),
    "WikiANN": ("ner", "wikiann"),
    "GermEval14": ("ner", "germeval14"),
    "MasakhaNERv2": ("ner", "masakhaner2"),
    "UD": ("pos", "universal-dependencies"),
    "UD GSD": ("pos", "universal-dependencies"),
}


def _printed(paper: str, table: str) -> Iterable[tuple[str, str]]:  # languages and data sets, "" for text
    rows = published(paper, table).query("language != '' and not language.str.startswith('avg')")
    sets = rows.dataset.where(rows.dataset.isin(list(_DATA_SETS)), "")
    single = rows[~rows.dataset.fillna("").str.contains(" / ", regex=False)].assign(dataset=sets)
    return list(dict.fromkeys(zip(single.language, single.dataset)))


def _read(paper: str, language: str, data_set: str) -> list[Datum]:
    "What a cell of a table needs: the text of its language, and a data set."
    task, name = _DATA_SETS.get(data_set, ("text", ""))
    needed = data_of(paper, "text", language, {})
    if name:
        source = get_source(name, task)
        needed.append(Datum(task, source, language, state_of(source, language)))
    return needed


def _notes(paper: str, table: str, language: str, needed: list[Datum]) -> Iterable[str]:
    "What has to be known of a cell that is computed."
    corpus, text = SOURCES[PAPER_TEXT[paper].corpus_of(language)], needed[0].source
    if text is not corpus:
        yield f"text of {text.name} in place of {corpus.name}"
    if any("gated" in datum.source.note for datum in needed):
        yield "once the terms of its text are agreed to"
    if paper == "focus" and table == "4" and f"vectors of {language}" not in word_files(language):
        yield "without the methods that need word vectors, which nobody has published"


def _lost(paper: str) -> dict[str, str]:
    "What of each table no cell computes at scale paper, by the table's number."
    exhibits = {exhibit.name.replace("Figure ", "F").split()[-1]: exhibit for exhibit in read_exhibits(paper)}
    found = {name: exhibit.no_cell for name, exhibit in exhibits.items() if exhibit.no_cell}
    return found | {name: "it" for name, exhibit in exhibits.items() if exhibit.ours and exhibit.ours.computed}


def table_states() -> pd.DataFrame:
    """Return every table and language that the papers print results of, and whether scale paper computes it.

    Columns are chapter, table, data set, language, state (runs, runs in part, left out) and why.
    """
    import pandas as pd

    rows = []
    for paper, tables in RESULTS.items():
        lost = _lost(paper)
        for table in tables.split():
            for language, data_set in _printed(paper, table):
                needed = _read(paper, language, data_set)
                missing = [f"{datum.what}: {datum.state.where}" for datum in needed if not datum.state.there]
                without = [f"no cell computes {lost[table]}"] if table in lost else []
                why = "; ".join(missing or [*without, *_notes(paper, table, language, needed)])
                runs = "runs in part" if without else "runs"
                state = "left out" if missing else runs
                rows.append((paper, table, data_set or PAPER_TEXT[paper].corpus_of(language), language, state, why))
    return pd.DataFrame(rows, columns=["chapter", "table", "data set", "language", "state", "why"])


def states_table() -> pd.DataFrame:
    "The same, with the languages of a table in a line for each reason."
    states = table_states()
    keys = ["chapter", "table", "data set", "state", "why"]
    lines = states.groupby(keys, sort=False).language.agg(" ".join).reset_index()
    return lines.assign(chapter=lines.chapter.map(PAPER_NAMES)).set_index(keys[:3])[["language", "state", "why"]]
