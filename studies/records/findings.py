"""Sentences about numbers, each with a check of what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from studies.records.summaries import listed

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


_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_RANKS = (
    "first",
    "second",
    "third",
    *(f"{n}th" for n in ("four", "fif", "six", "seven", "eigh", "nin", "ten", "eleven")),
)


def standing(
    numbers: pd.Series,  # a number for each row of a table
    method: str,  # the row that the text is about
    names: Mapping[str, str] | None = None,  # names of rows in the text, where they differ
    digits: int = 1,
    lower: bool = False,  # smaller numbers are better, as losses
    noise: float = 0.0,  # differences below this, or that the digits do not show, are ties
) -> str:
    """Return the rank of a method and its distance from the best row, as a sentence without its full stop.

    `KeyError` where no row is the method's; where it has no number, the best row is named.
    """
    if method not in numbers.index:
        raise KeyError(f"no row {method!r}; choose from {', '.join(map(str, numbers.index))}")
    ranked = numbers.dropna().sort_values(ascending=lower, kind="stable")
    text = {row: f"*{(names or {}).get(row, row)}*" for row in ranked.index}
    best, most = ranked.index[0], f"the {'lowest' if lower else 'best'} of {_numeral(len(ranked), _COUNTS)}"
    if method not in ranked.index:
        return f"{text[best]} is {most} ({ranked[best]:.{digits}f})"
    gaps = (ranked - ranked[best]).abs()
    tied = gaps[gaps < max(noise, 0.5 * 10**-digits)].index
    subject, number = text[method], f"({ranked[method]:.{digits}f})"
    if method not in tied:
        rank = _numeral(ranked.index.get_loc(method) + 1, _RANKS)
        side = "above" if lower else "below"
        of = f"ranks {rank} of {_numeral(len(ranked), _COUNTS)} {number}"
        return f"{subject} {of}, {gaps[method]:.{digits}f} {side} {text[best]}"
    if len(tied) == 1:
        return f"{subject} is {most} {number}"
    return f"{subject} {number} is on par with {listed([text[row] for row in tied if row != method])}, {most}"


def _numeral(n: int, words: Sequence[str]) -> str:
    return words[n - 1] if n <= len(words) else str(n)
