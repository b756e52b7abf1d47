"""Findings that are typed beside the records are found on a page, and others are left alone."""

import pytest

from tools.notebooks import checkout
from tools.prose import measured_by_hand, pages

TYPED = (
    "FOCUS's lead is 2.1 nats after training.",
    "It goes from 50 → 67 with a new vocabulary.",
    "Swahili ends lower by 0.03 than before.",
    "A trimmed model writes 2.9 times as fast.",
    "- After a pass 12 % of the lead is left.",
)
LEFT = (
    "<!-- speed -->It is 2.9 times as fast.<!-- /speed -->",
    "```text\nit takes 2.9 times as many tokens\n```",
    "**What the paper says.** MAD-X is ahead by 5.6 points.",
    "English may rise by 5% of its bits.",
    'The sentence is exact ("by 6.9 points").',
    "All ways are trained for 300 steps of 8 x 64 tokens at 1e-4.",
)


@pytest.mark.parametrize("sentence", TYPED)
def test_a_measured_number_that_is_typed_is_found(sentence):
    assert list(measured_by_hand(f"A heading\n\n{sentence} Another sentence."))


@pytest.mark.parametrize("text", LEFT)
def test_computed_numbers_papers_and_limits_are_left_alone(text):
    assert list(measured_by_hand(text)) == []


def test_no_page_has_a_number_typed_beside_the_records():
    found = {path: list(measured_by_hand(text)) for path, text in pages(checkout()).items()}
    assert {path: sentences for path, sentences in found.items() if sentences} == {}
    assert len(found) > 25 and any("<!--" in text for text in pages(checkout()).values())
