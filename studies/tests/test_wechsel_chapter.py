from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from studies.chapters.lesson import DASH, mean_and_range
from studies.chapters.wechsel import (
    MULTILINGUAL,
    SHOWN,
    WechselChapter,
    WechselNumbers,
    printed,
    rotation_example,
)
from studies.papers.printed import published
from tools.chapters import chapter_defaults
from vocab_lit.study.exercises_wechsel import PAIRS


def chapter_of(**given):
    return WechselChapter(**chapter_defaults("wechsel") | given)


def course(method, step, value, metric="loss", model="gpt2", language="sw", lines=0):
    return dict(
        **dict(what="course", model=model, language=language, method=method),
        **dict(lines=lines, metric=metric, step=step, value=value),
    )


def test_the_chapter_takes_the_parameters_of_its_notebook():
    assert {field.name for field in fields(WechselChapter)} == set(chapter_defaults("wechsel"))


def test_printed_perplexities_are_those_of_the_paper():
    assert printed(3, setup="250k").WECHSEL["fr"] == 19.71 and printed(4).FullRand["su"] == 149.46
    assert printed(2, setup="0", task="NLI").WECHSEL["fr"] == 78.25
    assert len(printed(3, setup="0")) == published("wechsel", 3).language.nunique()


def test_perplexities_are_taken_at_a_share_of_the_training():
    chapter = chapter_of(medium="de", low="gd", seeds=1)
    losses = [("WECHSEL", 0, 3), ("WECHSEL", 4, 2), ("WECHSEL", 10, 1), ("FullRand", 0, 5), ("FullRand", 10, 2)]
    rows = [course(*row) for row in losses]
    rows += [course("WECHSEL", 0, 9, lines=600), course("WECHSEL", 0, 9, model="roberta")]
    rows += [course("TransInner", None, 2, "best loss", language="gd", lines=600)]
    numbers = WechselNumbers(chapter, pd.DataFrame(rows))
    assert numbers.perplexities(0).loc["sw"].to_dict() == pytest.approx({"WECHSEL": np.exp(3), "FullRand": np.exp(5)})
    assert numbers.perplexities(0.2).WECHSEL["sw"] == pytest.approx(np.exp(2))  # the first step after a fifth
    assert numbers.perplexities(1).FullRand["sw"] == pytest.approx(np.exp(2))
    assert numbers.best.TransInner["gd"] == pytest.approx(np.exp(2)) and list(numbers.best.index) == ["gd"]


def test_scores_are_of_the_first_step_and_the_last():
    chapter = chapter_of(medium="de", low="gd", seeds=1)
    rows = [course("WECHSEL", step, value, "ner", "roberta") for step, value in ((0, 10), (4, 20), (40, 30))]
    rows += [course("WECHSEL", 40, 99, "ner", "roberta", language="fr")]  # not on the page
    other = dict(course(MULTILINGUAL, None, 50, "ner", ""), what="baseline")
    scores = WechselNumbers(chapter, pd.DataFrame([*rows, other])).scores.loc["sw"]
    assert scores["ner", "start", "WECHSEL"] == 10 and scores["ner", "end", "WECHSEL"] == 30
    assert scores["ner", "end", MULTILINGUAL] == 50 and len(scores) == 3


def test_a_cell_has_the_mean_and_the_range():
    assert mean_and_range(pd.Series([1.0, 2.0, 6.0]), 0) == f"3\N{NO-BREAK SPACE}(1{DASH}6)"
    assert mean_and_range(pd.Series([2.26]), 1) == "2.3" and mean_and_range(pd.Series([], dtype=float)) == ""


def test_the_figure_has_pairs_of_the_dictionary():
    assert set(SHOWN) <= set(map(tuple, PAIRS)) and "English and Swahili" in rotation_example().alt
