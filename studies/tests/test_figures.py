"""Figures stand out from light and dark pages, and keep their numbers and a description."""

import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib.colors import to_rgb

from studies.figures.style import INK, PALETTE, LazyExtra, _number, described, plain_cell, plt, ranges
from vocab_lit.text.errors import MissingExtra


def contrast(a, b):  # WCAG 2: 1 for equal colours, 21 for black on white
    def light(c):
        return np.dot(
            [0.2126, 0.7152, 0.0722], [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(c)]
        )

    x, y = sorted((light(a), light(b)))
    return (y + 0.05) / (x + 0.05)


def test_colours_stand_out_from_white_and_from_dark_pages():
    assert contrast("#000", "#fff") == pytest.approx(21) and contrast("#777", "#777") == 1
    assert all(contrast(c, page) >= 3 for c in PALETTE for page in ("#ffffff", "#121212"))
    assert min(contrast(INK, "#ffffff"), contrast(INK, "#121212")) > 4


def test_a_notebook_keeps_numbers_and_description_with_the_image():
    alone = pd.DataFrame({"x": [0, 1], "value": [2.5, np.nan]})
    figure = described(plt.figure(figsize=(1, 1)), alone, "one number")
    kept, told = DisplayFormatter().format(figure)
    assert (
        kept["text/csv"] == "x,value\n0,2.5\n1,\n"
        and told["image/png"] == {"alt": "one number"}
        and figure.alt == "one number"
        and figure.data is alone
    )
    assert ranges(alone, "x") == "0 2.5, 1 no value" and ranges(alone, "x", most=1) == "2 groups by x, 2.5"
    assert [_number(v) for v in (7.1234, 45210.0, 3.1e6, 0.00012, 1000.0, -12345)] == [
        "7.12",
        "45210",
        "3.1e+06",
        "0.00012",
        "1000",
        "-12345",
    ]


def test_a_lazy_module_is_imported_at_its_first_use():
    lazy = LazyExtra("html.entities", "chapters")
    assert lazy.html5["amp;"] == "&" and not hasattr(lazy, "__wrapped__")
    with pytest.raises(MissingExtra, match=r"^nowhere is not installed; pip install 'vocab_lit\[chapters\]'$"):
        LazyExtra("nowhere", "chapters").figure()


def test_no_cell_of_a_csv_file_becomes_a_formula():
    assert [plain_cell(v) for v in ("=1+1", "@x", "-", "sw", -1.5, "")] == ["'=1+1", "'@x", "'-", "sw", -1.5, ""]
    assert [plain_cell(v) for v in ("+1", "\t=1", "\r=1")] == ["'+1", "'\t=1", "'\r=1"]
