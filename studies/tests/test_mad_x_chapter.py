"""The chapter on MAD-X: the steps of its Figure 6, and what is said of them."""

from types import SimpleNamespace

import pandas as pd
import pytest

from studies.chapters.mad_x import MadXNumbers, training_seen
from studies.papers.cells import FIGURE_6, mad_x_curves


@pytest.mark.parametrize(
    ("full", "grid"),
    [
        (250_000, list(FIGURE_6)),
        (80, [0, 2, 3, 6, 16, 32, 80]),
        (320, [0, 6, 13, 26, 64, 128, 320]),
        (4, [0, 1, 2, 4]),  # those that round to the same step are trained once
    ],
)
def test_adapters_are_trained_for_the_same_shares_of_all_steps_as_the_papers(full, grid):
    asked = mad_x_curves("en", ["en", "fi", "sw"], ["en", "fi"], full)
    assert asked["grid"] == grid and asked["targets"] == ["sw"]


@pytest.mark.parametrize(("end", "words"), [(41, "As in the paper"), (60, "Unlike in the paper")])
def test_the_chapter_compares_the_gain_by_the_papers_early_step_with_that_of_the_rest(end, words):
    values = {0: 20, 2: 25, 3: 28, 6: 36, 16: 38, 32: 39, 80: end}
    curves = pd.DataFrame([dict(target="sw", step=step, seed=0, value=value) for step, value in values.items()])
    numbers = MadXNumbers(SimpleNamespace(kind_of={"sw": "not seen"}, language="en", unknown=[]), None, None, curves)
    text = training_seen(numbers).data
    assert "The first 8% of the steps (6 of 80) change the F1 as follows: Swahili from 20 to 36." in text
    assert f"{words}, the later steps change it" in text and f"{end - 36:+d} points" in text
    assert text.count(" in the paper, ") == 1
