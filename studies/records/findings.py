"""Sentences about numbers, each with a check of what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown


MUST_HOLD = "VOCAB_LIT_FINDINGS_MUST_HOLD"  # environment variable, set where the book is built


def what_we_see(
    findings: Mapping[str, bool],  # sentences in Markdown, and whether each is so
    title: str = "What we see.",
) -> Markdown:
    "A paragraph of findings; `AssertionError` where one does not hold and the book is being built."
    from IPython.display import Markdown

    false = [sentence for sentence, holds in findings.items() if not holds]
    if false and os.environ.get(MUST_HOLD):
        raise AssertionError(f"not so: {false[0]}")
    true = [sentence for sentence in findings if sentence not in false]
    parts = [f"**{title}** {' '.join(true)}"] if true else []
    if false:
        parts.append(f"> **Not on this page**, but on those of the book: {' '.join(false)}")
    return Markdown("\n\n".join(parts))


def page_table(
    rows: pd.DataFrame,  # its cells in Markdown; the index is left out
) -> Markdown:
    "A table of a page, with numbers as they are written."
    from IPython.display import Markdown

    return Markdown(rows.to_markdown(index=False, disable_numparse=True))


def standing(
    numbers: pd.Series,  # a number for each row of a table
    method: str,  # the row that the text is about
    names: Mapping[str, str] | None = None,  # what the text calls a row, where that differs
    digits: int = 1,
    lower: bool = False,  # smaller numbers are better, as losses
) -> str:
    """The best row of a table and the place of a method in it, as the end of a sentence without its stop.

    `KeyError` where no row is the method's; a row without a number has no place.
    """
    if method not in numbers.index:
        raise KeyError(f"no row {method!r}; choose from {', '.join(map(str, numbers.index))}")
    ranked = numbers.dropna().sort_values(ascending=lower, kind="stable")
    called = [f"*{(names or {}).get(name, name)}*" for name in ranked.index]
    texts = [f"{value:.{digits}f}" for value in ranked]
    best = f"{called[0]} is {'lowest' if lower else 'best'} with {texts[0]}"
    if method not in ranked.index[1:]:
        return best
    place = ranked.index.get_loc(method)
    return f"{best}; {called[place]}, with {texts[place]}, is number {place + 1} of {len(ranked)}"
