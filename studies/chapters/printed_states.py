"""Which of the papers' printed tables scale paper computes, language by language, and what of them it leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from studies.chapters.budget import needs
from studies.data.availability import Datum, data_of, state_of
from studies.data.hub_sources import SOURCES, get_source, word_files
from studies.data.presets import PAPER_TEXT
from studies.papers.printed import PAPER_NAMES, having, published
from studies.papers.store import with_needs
from studies.papers.tables import Numbers, read_exhibits
from studies.records.recorded import OF_CELL, declared_rows

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


@cache
def _declared(paper: str, language: str, scale: str) -> pd.DataFrame:  # columns of OF_CELL
    import pandas as pd

    needed = needs(paper, language, scale)
    return pd.DataFrame(list(declared_rows(with_needs(needed.cells + needed.table_cells))), columns=OF_CELL)


_PAGES = {"embedding-structure": "et", "mad-x": "en", "unks-everywhere": "am", "wechsel": "sw"}


def computed_rows(
    paper: str,
    numbers: Numbers,
    language: str = "sw",  # of the page, where it decides what the chapter computes
    scale: str = "paper",
) -> pd.DataFrame:  # columns of OF_CELL
    "Return what names the rows of a table that cells of the paper's chapter compute."
    rows, numbers = _declared(paper, _PAGES.get(paper, language), scale), numbers.at(scale)
    rows = having(rows, {column: value for column, value in numbers.where.items() if column in rows})
    named = {column: list(names) for column, names in numbers.names.items() if column in rows}
    return having(rows, named)


def _computed_languages(paper: str, numbers: Numbers | None, printed: Iterable[str]) -> set[str]:
    "Return the languages of a table that cells at scale paper compute on the pages of the printed languages."
    if not numbers or numbers.computed or numbers.file:
        return set()
    pages = dict.fromkeys(_PAGES.get(paper, code) for code in printed)
    return {code for page in pages for code in computed_rows(paper, numbers, page).language}


def table_states() -> pd.DataFrame:
    """Return every table and language that the papers print results of, and whether scale paper computes it.

    Columns are chapter, table, data set, language, state (runs, left out) and why.
    """
    import pandas as pd

    rows = []
    for paper, tables in RESULTS.items():
        exhibits = {exhibit.name.replace("Figure ", "F").split()[-1]: exhibit for exhibit in read_exhibits(paper)}
        for table in tables.split():
            printed = list(_printed(paper, table))
            computed = _computed_languages(paper, exhibits[table].ours, dict(printed))
            for language, data_set in printed:
                needed = _read(paper, language, data_set)
                missing = [f"{datum.what}: {datum.state.where}" for datum in needed if not datum.state.there]
                if language not in computed:
                    missing = missing or ["no cell computes it"]
                why = "; ".join(missing or _notes(paper, table, language, needed))
                state = "left out" if missing else "runs"
                rows.append((paper, table, data_set or PAPER_TEXT[paper].corpus_of(language), language, state, why))
    return pd.DataFrame(rows, columns=["chapter", "table", "data set", "language", "state", "why"])


def states_table() -> pd.DataFrame:
    "The same, with the languages of a table in a line for each reason."
    states = table_states()
    keys = ["chapter", "table", "data set", "state", "why"]
    lines = states.groupby(keys, sort=False).language.agg(" ".join).reset_index()
    return lines.assign(chapter=lines.chapter.map(PAPER_NAMES)).set_index(keys[:3])[["language", "state", "why"]]
