import re

from tools.notebooks import checkout
from vocab_lit.app.settings import AdaptOptions
from vocab_lit.text.settings import options
from vocab_lit.training.recommended import REPLAY, RETENTION

# of runs whose results are recorded with another share: below these headings, in these pages
RECORDED = {"README.md": 1, "book/index.md": 1, "book/tutorial.md": 1}


def shares(page):
    return re.findall(r"--replay (\d[\d.]*\d)", (checkout() / page).read_text(encoding="utf-8"))


def test_pages_recommend_the_share_of_replay_that_the_library_does():
    pages = ["README.md", *(path.relative_to(checkout()).as_posix() for path in (checkout() / "book").glob("*.md"))]
    others = {page: [share for share in shares(page) if share != f"{REPLAY:g}"] for page in pages}
    assert {page: len(found) for page, found in others.items() if found} == RECORDED


def test_no_page_states_a_learning_rate_by_itself():
    for page in ("README.md", "book/guide.md", "book/index.md", "book/sheet.md"):
        text = (checkout() / page).read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```|<!-- (\w+) -->.*?<!-- /\1 -->", "", text, flags=re.S)
        assert re.findall(r"\b[1-9]e-\d", prose) == [], page


def test_the_help_of_adapt_names_the_recommended_limit_of_forgetting():
    assert re.findall(r"(\d+)%", options(AdaptOptions)["keep"].help) == [f"{100 * (RETENTION - 1):.0f}"]
