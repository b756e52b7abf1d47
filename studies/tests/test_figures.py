"""Figures stand out from light and dark pages, and keep their numbers and a description."""

import numpy as np
import pandas as pd
import pytest
from IPython.core.formatters import DisplayFormatter

from studies.figures.style import INK, PALETTE, LazyExtra, described, format_number, plain_cell, plt, ranges
from vocab_lit.text.errors import MissingExtra


def test_colours_stand_out_from_white_and_from_dark_pages(contrast):
    assert contrast("#000", "#fff") == pytest.approx(21) and contrast("#777", "#777") == 1
    assert all(contrast(c, page) >= 3 for c in PALETTE for page in ("#ffffff", "#121212"))
    assert min(contrast(INK, "#ffffff"), contrast(INK, "#121212")) > 4


def test_a_notebook_keepsformat_numbers_and_description_with_the_image():
    alone = pd.DataFrame({"x": [0, 1], "value": [2.5, np.nan]})
    figure = described(plt.figure(figsize=(1, 1)), alone, "one number")
    kept, told = DisplayFormatter().format(figure)
    assert kept["text/csv"] == "x,value\n0,2.5\n1,\n" and told["image/png"] == {"alt": "one number"}
    assert figure.alt == "one number" and figure.data is alone
    assert ranges(alone, "x") == "0 2.5, 1 no value" and ranges(alone, "x", most=1) == "2 groups by x, 2.5"
    numbers = {7.1234: "7.12", 45210.0: "45210", 3.1e6: "3.1e+06", 0.00012: "0.00012", 1000.0: "1000", -12345: "-12345"}
    assert {v: format_number(v) for v in numbers} == numbers


def test_a_lazy_module_is_imported_at_its_first_use():
    lazy = LazyExtra("html.entities", "chapters")
    assert lazy.html5["amp;"] == "&" and not hasattr(lazy, "__wrapped__")
    with pytest.raises(MissingExtra, match=r"^nowhere is not installed; pip install 'vocab_lit\[chapters\]'$"):
        LazyExtra("nowhere", "chapters").figure()


def test_no_cell_of_a_csv_file_becomes_a_formula():
    assert [plain_cell(v) for v in ("=1+1", "@x", "-", "sw", -1.5, "")] == ["'=1+1", "'@x", "'-", "sw", -1.5, ""]
    assert [plain_cell(v) for v in ("+1", "\t=1", "\r=1")] == ["'+1", "'\t=1", "'\r=1"]
