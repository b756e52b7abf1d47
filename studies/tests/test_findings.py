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


def test_the_best_row_of_a_table_is_named_with_the_place_of_the_method_that_a_text_is_about():
    f1 = pd.Series({"a": 70.3, "b": 80.6, "c": None, "d": 73.8}, dtype=float)
    assert standing(f1, "a", {"b": "B"}) == "*B* is best with 80.6; *a*, with 70.3, is number 3 of 3"
    assert standing(f1, "b") == "*b* is best with 80.6"
    assert standing(f1, "a", digits=2, lower=True) == "*a* is lowest with 70.30"
    assert standing(f1, "d", lower=True, digits=0) == "*a* is lowest with 70; *d*, with 74, is number 2 of 3"
    assert standing(f1, "c") == "*b* is best with 80.6"
    with pytest.raises(KeyError, match="no row 'missing'; choose from a, b, c, d"):
        standing(f1, "missing")
