import re

import pandas as pd
import pytest

from studies.findings import MUST_HOLD, page_table, what_we_see


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
