"""The papers' tables: what stands in them is what the paper prints and what the study recorded."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.chapters.paper_page import ONLY_PAPER, overview, paper_tables
from studies.chapters.printed_states import computed_rows
from studies.papers.computed import adapter_parameters
from studies.papers.printed import PAPER_NAMES, published
from studies.papers.tables import Exhibit, Numbers, PaperTables, count_agreement, read_exhibits

BOOK = Path(__file__).parents[2] / "book"
PAPER_TABLES = {  # all tables and figures of results and hyper-parameters
    "focus": "T1 T2 T3 T4 F2 T5 T6 T7 T8",
    "wechsel": "T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 F2 F5 F3",
    "mad-x": "T1 T2 T3 T4 T5 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12",
    "unks-everywhere": "T1 T2 F2 T3a T3b F3 T5a T5b T5c T5d T6 T7 T8 T9a T9b T9c T9d",
    "embedding-structure": "F1 F2 F3 F4 F5 T1 T2 T3 T4 T5 T6 T7 T8 T9",
}
WITH_FILES = {"wechsel", "wechsel-en"}  # methods that need files of the reader at scale paper
ONLY_AT_PAPER = {"Table 5b", "Table 5c", "Table 9a", "Table 9b", "Table 9c", "Table 9d"}  # of UNKs Everywhere
BEFORE = {"focus": 8, "wechsel": 9, "mad-x": 5, "unks-everywhere": 9}  # tables with numbers of ours, at least


@pytest.fixture(scope="module")
def tables():
    return {paper: paper_tables(paper) for paper in PAPER_NAMES}


def names_of(paper):
    words = {"T": "Table ", "F": "Figure "}
    return [words[name[0]] + name[1:] for name in PAPER_TABLES[paper].split()]


@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_every_table_and_figure_of_a_paper_is_on_its_page(paper):
    page = json.loads((BOOK / f"{paper}-tables.ipynb").read_text(encoding="utf-8"))
    code = "".join("".join(cell["source"]) for cell in page["cells"] if cell["cell_type"] == "code")
    listed = [exhibit.name for exhibit in read_exhibits(paper)]
    assert [name for name in names_of(paper) if name not in listed] == []
    assert [name for name in listed if f'tables.show("{name}")' not in code] == []


def test_ours_stand_in_as_many_tables_as_before(tables):
    for paper, least in BEFORE.items():
        shown = overview(tables[paper]).set_index("")["beside the paper's numbers"]
        assert (shown != ONLY_PAPER).sum() >= least, shown


def test_at_most_a_quarter_are_for_scale_paper_only(tables):
    shown = pd.concat([overview(of_paper) for of_paper in tables.values()])["beside the paper's numbers"]
    assert (shown == ONLY_PAPER).mean() <= 0.25, shown.value_counts()


@pytest.mark.parametrize("scale", ["mini", "paper"])
@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_every_table_is_computed_by_cells_of_its_chapter(paper, scale):
    for exhibit in read_exhibits(paper):
        for numbers in filter(None, (exhibit.ours, exhibit.across)):
            if numbers.computed or numbers.file or (scale == "mini" and exhibit.name in ONLY_AT_PAPER):
                continue
            rows = computed_rows(paper, numbers, "sw", scale)
            assert len(rows), exhibit.name
            if scale == "paper" and numbers.where.get("task") != "dp":  # trees have fewer methods
                assert set(numbers.names.get("method", ())) - set(rows.method) <= WITH_FILES, exhibit.name


@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_all_printed_numbers_of_a_table_are_shown(paper, tables):
    for exhibit in tables[paper].exhibits.values():
        if exhibit.kind != "table" or not exhibit.printed or exhibit.printed.value == "note":
            continue
        where = exhibit.printed.where
        printed = published(paper, where["table"]).dropna(subset="value")
        for column, values in where.items():
            printed = printed[printed[column].isin([values] if isinstance(values, str) else values)]
        for column, values in exhibit.printed.names.items():
            printed = printed[printed[column].isin(list(values))]
        rows = tables[paper].long(exhibit).query("side == 'paper'")
        assert sorted(rows.value) == sorted(printed.value), exhibit.name


def test_a_cell_is_the_mean_of_the_records(tables):
    table = tables["focus"].table(tables["focus"].exhibits["Table 4"])
    records = tables["focus"].records.query("scale == 'mini' and what == 'loss' and language == 'sw'")
    focus = records[records.method == "focus"].value
    assert table.loc[("FOCUS",), ("sw", "ours")] == f"{focus.mean():.2f} ± {focus.std():.2f}".replace(
        " ", "\N{NO-BREAK SPACE}"
    )
    assert table.loc[("FOCUS",), ("sw", "paper")] == "4.80"


def test_perplexities_are_those_of_the_recorded_losses(tables):
    table = tables["wechsel"].table(tables["wechsel"].exhibits["Table 4"])
    records = tables["wechsel"].records
    best = records.query("metric == 'best loss' and lines == '600' and language == 'gd' and method == 'WECHSEL'").value
    assert table.loc[("WECHSEL-GPT2",), ("gd", "ours")] == f"{2.718281828 ** best.item():.2f}"


def test_a_difference_is_taken_pair_by_pair():
    keys = dict(what="transfer", language=["sw", "sw", "am", "am"], source="en", seed=0)
    rows = pd.DataFrame(keys | dict(method=["A", "B", "A", "B"], value=[5.0, 3.0, 1.0, 4.0]))
    found = Numbers(where={"method": "A"}, minus={"method": "B"}).select(rows)
    assert dict(zip(found.language, found.value)) == {"sw": 2.0, "am": -3.0}


def test_agreement_counts_pairs_of_rows_as_brute_force():
    theirs = pd.DataFrame({"x": dict(a=3.0, b=2.0, c=2.0, d=1.0, e=0.0)})
    ours = pd.DataFrame({"y": dict(a=10.0, b=20.0, c=5.0, d=5.0, f=7.0)})
    pairs = [(x, y) for x, y in combinations("abcd", 2) if theirs.x[x] != theirs.x[y]]
    same = [(x, y) for x, y in pairs if (theirs.x[x] - theirs.x[y]) * (ours.y[x] - ours.y[y]) > 0]
    assert count_agreement(theirs, ours) == (len(same), len(pairs)) == (3, 5)


def test_rows_are_compared_on_the_columns_that_both_have():
    theirs = pd.DataFrame({"easy": dict(a=90.0, b=91.0), "hard": dict(a=10.0)})
    assert count_agreement(theirs, pd.DataFrame({"one": dict(a=1.0, b=2.0)})) == (1, 1)
    assert count_agreement(theirs, pd.DataFrame({"one": dict(a=1.0), "two": dict(b=2.0)})) == (0, 0)


def test_numbers_of_different_tasks_or_steps_are_not_compared(tables):
    probes = tables["wechsel"].exhibits["Table 8"]
    printed, rows = published("wechsel", 8), tables["wechsel"].long(probes)
    assert {row.task for row in printed.itertuples()} == {"NLI", "POS", "CLM"} and probes.within == ["task"]
    whole = tables["wechsel"].agreement(probes)
    by_task = [
        tables["wechsel"].agreement(
            probes.model_copy(update=dict(ours=probes.ours.model_copy(update=dict(names=names))))
        )
        for task in probes.ours.names["metric"]
        for names in [probes.ours.names | dict(metric={task: probes.ours.names["metric"][task]})]
    ]
    assert len(rows) and whole == (sum(one.same for one in by_task), sum(one.pairs for one in by_task))
    assert (
        tables["wechsel"].agreement(tables["wechsel"].exhibits["Table 3"]).pairs == 9
    )  # three methods, at three steps


def test_the_sentence_depends_on_the_agreement(tables):
    exhibit = tables["focus"].exhibits["Table 4"]
    assert tables["focus"].sentence(exhibit).startswith("Ours have the paper's order in 10 of 10")
    records = tables["focus"].records.assign(value=-tables["focus"].records.value)
    assert "only 0 of 10" in PaperTables("focus", records).sentence(exhibit)


def test_a_table_says_on_which_days_its_numbers_were_recorded(tables):
    records = tables["wechsel"].records
    exhibit = tables["wechsel"].exhibits["Table 8"]
    of_table = records.what == "grid"
    for days, said in (("2020-01-01", "2020-01-01"), (["2020-02-01", "2020-01-01"], "2020-01-01 to 2020-02-01")):
        dates = records.date.where(~of_table, pd.Series(np.resize(days, len(records)), records.index))
        dated = PaperTables("wechsel", records.assign(date=dates))
        assert dated.dates(exhibit) == said
        texts = "".join(shown.data for shown in dated.show("Table 8") if hasattr(shown, "data"))
        assert ("recorded from 2020-01-01 to 2020-02-01" in texts) == (" to " in said)
    assert tables["wechsel"].dates(tables["wechsel"].exhibits["Table 1"]) == ""


def test_hyperparameters_are_shown_and_what_is_for_scale_paper_only_says_so(tables):
    (presets,) = tables["wechsel"].show("Table 5")
    assert list(presets) == ["paper", "scale paper", "scale mini"]
    _, said = tables["unks-everywhere"].show("Table 5b")
    assert said.data.startswith("**Scale paper only.**")


def test_the_library_adds_as_many_weights_as_mad_x_prints():
    ours = adapter_parameters().set_index(["method", "metric"]).value
    printed = published("mad-x", 4).set_index(["method", "metric"]).value
    assert (ours - printed).abs().max() <= 0.011


def test_an_exhibit_without_numbers_needs_a_reason():
    with pytest.raises(ValueError, match="Table 1: give ours or real"):
        Exhibit(name="Table 1", title="Sizes")


def test_a_wrong_list_is_refused_by_its_file(tmp_path):
    file = tmp_path / "x.yml"
    file.write_text("exhibits:\n- {name: Table 1, title: Sizes, paper_only: none, colour: red}\n")
    with pytest.raises(ValueError, match=r"x.yml.*\n.*colour"):
        read_exhibits("focus", file)
