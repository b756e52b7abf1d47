"""The published tables are whole, and their averages follow from their cells but for those that are known."""

import itertools
import math

import pandas as pd
import pytest

from studies.papers.printed import (
    PAPER_NAMES,
    mismatches,
    published,
    recompute_averages,
    table,
    unstack_in_order,
)

KEYS = ["table", "setup", "method", "language", "task", "dataset", "metric"]
STRUCTURE = published("embedding-structure")
SCORES = STRUCTURE[STRUCTURE.metric.isin(["accuracy", "F1"])]
GAPS = recompute_averages(SCORES)
MAD_X = published("mad-x")
TRANSFERS = MAD_X[MAD_X.table.isin([f"F{n}" for n in range(7, 13)])]
COLUMNS = MAD_X[(MAD_X.table == "2") & (MAD_X.language != "avg")]
APART = {
    "over targets": recompute_averages(COLUMNS, TRANSFERS.assign(language=TRANSFERS.setup), ["method", "language"]),
    "over sources": recompute_averages(COLUMNS, TRANSFERS, ["method", "language"]),
}


def is_whole(rows, words=()):  # each number once; where a word is printed, the note has it
    assert not rows.duplicated(KEYS).any()
    assert (rows.value.isna() == rows.metric.isin(list(words))).all() and rows.note[rows.value.isna()].ne("").all()
    return rows.groupby("table").size().to_dict()


def test_every_paper_of_the_book_has_printed_numbers():
    assert all(set(published(paper).paper) == {paper} for paper in PAPER_NAMES)


def test_printed_averages_follow_from_rows_but_for_four():
    averages = recompute_averages(published("focus"))
    wrong = mismatches(averages)
    assert len(averages) == 30 and set(averages.cells) == {3, 4}
    assert wrong.table.tolist() == ["3"] * 4 and set(wrong.dataset) == {"GermEval14 / MasakhaNERv2"}
    assert list(zip(wrong.setup, wrong.method, wrong.difference.round(3))) == [
        ("original vocabulary", "off-the-shelf", 0.275),
        ("replaced vocabulary", "Random + LAPT", 0.15),
        ("extended vocabulary", "Random + LAPT", 0.325),
        ("extended vocabulary", "FOCUS + LAPT", 0.325),
    ]
    assert wrong.note.str.contains("no choice among the printed rows").all()
    for r in wrong.itertuples():  # no subset of the row fits
        row = published("focus", 3).query("setup == @r.setup and method == @r.method")
        row = row[row.dataset.isin(["GermEval14", "MasakhaNERv2"])].value.tolist()
        subsets = [some for n in range(1, 5) for some in itertools.combinations(row, n)]
        assert len(row) == 4 and all(abs(sum(some) / len(some) - r.printed) > 0.05 for some in subsets)


def test_the_published_tables_have_their_columns_and_numbers():
    rows = published("focus")
    assert list(rows) == ["paper", *KEYS, "value", "std", "seeds", "note"]
    sizes = {"1": 5, "2": 64, "3": 66, "4": 42, "5": 11, "6": 50, "7": 5, "8": 10}
    assert is_whole(rows, ["learning rate schedule"]) == sizes
    assert (rows["std"].isna() | rows.seeds.eq(5).fillna(False)).all()
    assert rows["std"].notna().sum() == 8 * 6 + 8 * 7 - 4
    steps = published("focus", 5).set_index("metric").value
    assert steps["training samples"] / steps["batch size"] == steps["resulting train steps"]
    assert published("focus", 7).value.sum() == 100
    with pytest.raises(ValueError, match="no table 9; choose from 1, 2"):
        published("focus", 9)
    with pytest.raises(ValueError, match="no published tables of 'nobody'; choose from .*focus"):
        published("nobody")


def test_averages_of_embedding_structure_follow_but_for_nineteen():
    uneven = mismatches(GAPS)
    assert len(GAPS) == 94 and len(uneven) == 19
    left_out = GAPS.note == "leaves out Armenian"
    without_armenian = recompute_averages(SCORES[SCORES.language != "hy"])["mean"]
    assert left_out.sum() == 16 and set(GAPS[left_out].table) == {"1", "3"}
    assert (GAPS.printed - without_armenian)[left_out].abs().max() <= 0.1
    assert (GAPS.difference[left_out].abs() > 0.5).all()
    others = uneven[~left_out[uneven.index]]
    assert [(r.table, r.setup, r.method, round(r.difference, 2)) for r in others.itertuples()] == [
        ("2", "FULL", "SCRIPT+IDENT", 0.36),
        ("8", "off-the-shelf", "full vocabulary", 0.42),
        ("8", "FULL", "SCRIPT+POSN", 0.13),
    ]
    assert uneven.note.ne("").all()
    full = SCORES[(SCORES.table == "2") & (SCORES.setup == "FULL")]
    estonian = full[full.language == "et"].set_index("method").value
    assert estonian["SCRIPT+IDENT"] == estonian["IDENT"]
    row = full[(full.method == "SCRIPT+IDENT") & ~full.language.isin(["et", "avg"])]
    assert round((row.value.sum() + 91.87) / 7, 1) == 89.5  # as printed
    uralic = SCORES[(SCORES.table == "8") & (SCORES.setup == "off-the-shelf")].set_index("language").value
    assert round((uralic.drop("avg").sum() - uralic["sme"] + 73.84) / 6, 1) == uralic["avg"]


def test_the_tables_of_embedding_structure_are_whole():
    sizes = {"1": 138, "2": 123, "3": 144, "4": 128, "5": 40, "6": 6, "7": 9, "8": 112, "9": 96}
    assert is_whole(STRUCTURE, ["family", "script", "learning rate schedule"]) == sizes
    assert (SCORES.seeds.eq(4).fillna(False) == SCORES["std"].notna()).all()
    assert (SCORES["std"].isna() == SCORES.language.eq("avg")).all()
    assert set(SCORES.setup) == {"off-the-shelf", "FULL", "EMB"} and SCORES.method.nunique() == 8
    in_table_8 = published("embedding-structure", 8).language.unique().tolist()
    assert [code for code in in_table_8 if code != "avg"] == ["myv", "et", "fi", "hu", "sme", "ru"]
    assert SCORES.groupby("table").language.nunique().to_dict() == {"1": 9, "2": 8, "3": 9, "4": 8, "8": 7, "9": 6}
    assert ((SCORES.metric == "accuracy") == SCORES.table.isin(["1", "3", "8"])).all()
    assert SCORES.value.between(0, 100).all()
    again = SCORES[SCORES.setup == "off-the-shelf"].groupby(["task", "language"]).value.nunique()  # in every table
    assert again.drop("avg", level="language").eq(1).all()


def test_what_follows_from_the_matrices_of_mad_x_and_what_does_not():
    agree = {
        how: 16 - mismatches(a).groupby("method").size().reindex(COLUMNS.method.unique(), fill_value=0)
        for how, a in APART.items()
    }
    assert agree["over targets"].to_dict() == {
        "XLM-R": 0,
        "XLM-R MLM-SRC": 4,
        "XLM-R MLM-TRG": 16,
        "MAD-X -LAD-INV": 16,
        "MAD-X -INV": 14,
        "MAD-X": 14,
    }
    assert agree["over sources"].sum() == 1 and all((a.cells == 16).all() and len(a) == 96 for a in APART.values())
    targets_of = APART["over targets"].set_index(["method", "language"])
    assert targets_of.difference.loc[["XLM-R MLM-TRG", "MAD-X -LAD-INV"]].abs().max() < 0.06
    assert set(mismatches(targets_of).loc[["MAD-X -INV", "MAD-X"]].index.get_level_values("language")) == {"ja", "xmf"}
    flips = pd.Series(
        {(m, target): 2 * v / 16 for m in ("MAD-X", "MAD-X -INV") for target, v in (("ja", 12.6), ("xmf", -2.1))}
    ).reindex(targets_of.index, fill_value=0)
    left = (targets_of.difference + flips).abs().loc[["MAD-X -INV", "MAD-X"]]
    assert left[left > 0.1].index.tolist() == [("MAD-X -INV", "ja")]
    tables_5 = MAD_X[(MAD_X.table == "5") & (MAD_X.language != "avg")]
    from_english, english_rows = (
        rows.set_index(["method", "language"]).value for rows in (tables_5, TRANSFERS[TRANSFERS.setup == "en"])
    )
    from_table_2 = COLUMNS[COLUMNS.language == "en"].set_index("method").value
    assert (from_table_2 - from_english.groupby("method").mean()).dropna().abs().max() < 0.06  # 2 and 5 agree
    rows_apart = (from_english - english_rows).abs().groupby("method").max()
    assert rows_apart[["XLM-R", "XLM-R MLM-SRC"]].round(1).tolist() == [22.4, 14.1]
    assert rows_apart.drop(["XLM-R", "XLM-R MLM-SRC", "mBERT"]).max() < 0.1 + 1e-9


def test_averages_and_parameters_of_mad_x():
    tabled = MAD_X[MAD_X.table.isin(["2", "3", "5"])]
    wrong = mismatches(recompute_averages(tabled))
    assert len(recompute_averages(tabled)) == 19 and wrong.table.tolist() == ["3"] + ["5"] * 7
    assert wrong.method.iloc[0] == "MAD-X -INV" and wrong["mean"].iloc[0] == pytest.approx(68.9545, abs=1e-4)
    assert wrong.note.tolist() == ["the row has 69.0: perhaps a slip of one digit"] + ["leaves out English"] * 7
    assert recompute_averages(tabled[(tabled.table == "5") & (tabled.language != "en")]).difference.abs().max() < 0.05

    def million(*sizes, biases):  # of the dimensions of bottlenecks: language 384, task 48, in each of 12 layers
        return sum(12 * (2 * 768 * d + biases * (768 + d)) for d in sizes) / 1e6

    def added(biases):
        invertible = 2 * (2 * 384 * 192 + biases * (384 + 192)) / 1e6
        both, alone = million(384, 48, biases=biases), million(48, biases=biases)
        return pd.Series({"MAD-X": both + invertible, "MAD-X -INV": both, "MAD-X -LAD-INV": alone})

    def cut(x):
        return (x * 100 + 1e-9) // 1 / 100

    printed = published("mad-x", 4).set_index(["metric", "method"]).value.unstack("metric")
    assert cut(added(0)).to_dict() == printed["added parameters, million"].to_dict()
    assert cut(added(0) / 2.7).to_dict() == printed["share of the model, percent"].to_dict()
    assert (added(1) * 1e6).round().astype(int).tolist() == [8_282_304, 7_986_240, 894_528]


def test_the_tables_of_mad_x_are_whole():
    figures = {f"F{n}": 256 for n in (3, 4, 5, *range(7, 13))}
    sizes = {"1": 48, "2": 102, "3": 72, "4": 6, "5": 119} | figures
    assert is_whole(MAD_X, ["family", "covered by mBERT and XLM-R"]) == sizes
    assert MAD_X["std"].isna().all() and TRANSFERS.value.between(0, 100).all()
    by_figure = MAD_X[MAD_X.table.isin(list(figures))].groupby("table")
    grid = {name: rows.pivot(index="setup", columns="language", values="value") for name, rows in by_figure}
    assert all(g.shape == (16, 16) and g.notna().all(axis=None) for g in grid.values())
    for other, difference in (("F9", "F4"), ("F11", "F5"), ("F7", "F3")):
        assert (grid["F12"] - grid[other] - grid[difference]).abs().max(axis=None) < 1e-9
    assert set(TRANSFERS[TRANSFERS.note.ne("")].table) == {"F11", "F12"} and TRANSFERS.note.ne("").sum() == 512
    assert (grid["F5"].loc["mi"] < 0).sum() == 15  # "only consistently lower with ... Maori" (Section 7)


def test_tables_give_mean_deviation_and_number_of_seeds_by_hand():
    rows = pd.DataFrame(
        dict(
            method=["b", "b", "a", "b"],
            language=["sw", "sw", "sw", "am"],
            seed=[0, 1, 0, 0],
            value=[1.0, 2.0, 4.0, math.nan],
        )
    )
    t = table(rows)
    assert t.index.tolist() == ["b", "a"] and t.columns.tolist() == ["sw", "am"]
    assert t.loc["b"].tolist() == ["1.50 ± 0.71 (2)", ""] and t.loc["a"].tolist() == ["4.00", ""]


def test_every_value_of_an_incomplete_table_stays_in_its_cell():
    # rows and columns out of alphabetical order
    incomplete = {("b", "sw"): 1.0, ("b", "am"): 2.0, ("a", "de"): 3.0, ("a", "am"): 4.0, ("c", "sw"): 5.0}
    t = unstack_in_order(pd.Series(incomplete))
    assert t.index.tolist() == ["b", "a", "c"] and t.columns.tolist() == ["sw", "am", "de"]
    assert t.T.unstack().dropna().to_dict() == incomplete
    rows = pd.DataFrame([(*cell, value) for cell, value in incomplete.items()], columns=["method", "language", "value"])
    t = table(rows, digits=0)
    assert {
        (row, column): float(t.loc[row, column]) for row in t.index for column in t if t.loc[row, column]
    } == incomplete
    t = table(rows.assign(task="ner", seed=0), ["task", "method"], ["seed", "language"], digits=0)
    assert t.columns.tolist() == [(0, "sw"), (0, "am"), (0, "de")] and t.index.tolist() == [("ner", m) for m in "bac"]
    filled = {(row[1], column[1]): t.loc[row, column] for row in t.index for column in t}
    assert {cell: float(text) for cell, text in filled.items() if text} == incomplete
    assert table(rows.assign(task="ner"), ["task", "method"]).loc["ner"].equals(table(rows))
