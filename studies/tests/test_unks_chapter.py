from dataclasses import fields

import pandas as pd
import pytest

from studies.chapters.unks_everywhere import (
    KNOWN,
    NER,
    NEW,
    UnksChapter,
    UnksNumbers,
    factor_figure,
    printed_scores,
)
from studies.papers.printed import published
from tools.chapters import chapter_defaults


def chapter_of(**given):
    return UnksChapter(**chapter_defaults("unks-everywhere") | given)


def test_the_chapter_takes_the_parameters_of_its_notebook():
    assert {field.name for field in fields(UnksChapter)} == set(chapter_defaults("unks-everywhere"))


def test_printed_scores_have_the_means_that_the_paper_prints():
    table = published("unks-everywhere", "3a").query("metric == 'F1'")
    printed = table[table.language == "avg new"].set_index("method").value
    found = printed_scores().query("script == @NEW").groupby("method").value.mean()
    assert set(found.index) == set(printed.index)
    assert (found - printed[found.index]).abs().max() < 0.1


def test_scores_are_means_of_seeds_and_then_of_pairs():
    chapter = chapter_of(targets="seen: ka; covered script: et; new script: am", exchange_targets="", tree_targets="")
    rows = [("en", "ka", 0, 10), ("en", "ka", 1, 20), ("en", "et", 0, 30), ("en", "am", 0, 6), ("ar", "am", 0, 8)]
    other = [("en", "ka", 0, 1), ("en", "et", 0, 1), ("en", "am", 0, 1), ("ar", "am", 0, 5)]
    of_methods = [("EL-LEX", *row) for row in rows] + [("MF1-LEX", *row) for row in other]
    scores = pd.DataFrame(of_methods, columns=["method", "source", "target", "seed", "value"]).assign(metric=NER)
    numbers = UnksNumbers(chapter, {"names": scores}, pd.DataFrame(), pd.DataFrame())
    means = numbers.means[NER].loc["EL-LEX"]
    assert (means[KNOWN], means[NEW], means["all"]) == (22.5, 7, 14.75)  # 15 and 30; 6 and 8
    assert numbers.lead("EL-LEX", "MF1-LEX") == 14.75 - 2
    assert numbers.lead("EL-LEX", "MF1-LEX", NEW) == 4


def test_curves_are_of_the_whole_text_and_the_usual_dimensions():
    adapter = "adapter, gelu, last layer left out"
    kinds = ["el-lex", "mf1-lex-projected", "mf1-lex", "mf10-kmeans-lex of 50", "el-rand"]
    rows = [(f"{adapter} + {kind}", step, 5 - step) for kind in kinds for step in (0, 1)]
    rows += [("adapter, gelu + el-lex", 0, 9), (adapter, 0, 9)]
    losses = pd.DataFrame(rows, columns=["kind", "step", "value"])
    curves = UnksNumbers(chapter_of(), {}, pd.DataFrame(), losses).curves
    assert curves.values.tolist() == [
        [method, step, 5 - step] for method in ("EL-RAND", "EL-LEX", "MF1-LEX", "MF1-LEX, projected") for step in (0, 1)
    ]


def test_figure_1_counts_a_seventh_of_the_parameters():
    sizes = factor_figure().data.set_index("matrix").prod(axis=1)
    assert sizes["E'"] / sizes["F'"] == pytest.approx(7.68)
