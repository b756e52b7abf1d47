import re

import pandas as pd
import pytest

from studies.records.findings import MUST_HOLD, page_table, standing, what_we_see


def test_findings_that_hold_are_told_others_are_named_as_such_and_are_an_error_where_the_book_is_built():
    both = {"It rains.": True, "It snows.": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(MUST_HOLD, raising=False)
        assert (
            what_we_see(both).data
            == "**What we see.** It rains.\n\n> **Not on this page**, but on those of the book: It snows."
        )
        assert what_we_see({"It rains.": True}, "Rows.").data == "**Rows.** It rains."
        assert what_we_see({"It snows.": False}).data.startswith("> **Not on this page**")
        patch.setenv(MUST_HOLD, "1")
        assert "It rains." in what_we_see({"It rains.": True}).data
        with pytest.raises(AssertionError, match="not so: It snows."):
            what_we_see(both)


def test_a_page_s_table_keeps_numbers_as_they_are_written_and_has_no_index():
    shown = page_table(pd.DataFrame({"method": ["`focus`"], "loss": ["3.90"]}, index=["a"])).data
    assert [re.sub(" +", " ", line) for line in shown.split("\n")[::2]] == ["| method | loss |", "| `focus` | 3.90 |"]


def test_a_method_has_a_rank_and_a_distance_from_the_best_row():
    f1 = pd.Series({"a": 70.3, "b": 80.6, "c": None, "d": 73.8}, dtype=float)
    assert standing(f1, "a", {"b": "B"}) == "*a* ranks third of three (70.3), 10.3 below *B*"
    assert standing(f1, "b") == "*b* is the best of three (80.6)"
    assert standing(f1, "a", digits=2, lower=True) == "*a* is the lowest of three (70.30)"
    assert standing(f1, "d", lower=True, digits=0) == "*d* ranks second of three (74), 4 above *a*"
    assert standing(f1, "c") == "*b* is the best of three (80.6)"
    many = pd.Series({f"m{n}": float(-n) for n in range(14)})
    assert standing(many, "m13") == "*m13* ranks 14 of 14 (-13.0), 13.0 below *m0*"
    with pytest.raises(KeyError, match="no row 'missing'; choose from a, b, c, d"):
        standing(f1, "missing")


def test_methods_within_noise_of_the_best_are_on_par():
    bits = pd.Series({"a": 2.304, "b": 2.301, "c": 2.309, "d": 2.34})
    assert standing(bits, "a", digits=2, lower=True) == "*a* (2.30) is on par with *b*, the lowest of four"
    assert standing(bits, "b", digits=2, lower=True) == "*b* (2.30) is on par with *a*, the lowest of four"
    assert standing(bits, "c", digits=2, lower=True) == "*c* ranks third of four (2.31), 0.01 above *b*"
    at_level = dict(digits=2, lower=True, noise=0.01)
    assert standing(bits, "c", **at_level) == "*c* (2.31) is on par with *b* and *a*, the lowest of four"
    assert standing(bits, "d", **at_level) == "*d* ranks fourth of four (2.34), 0.04 above *b*"
