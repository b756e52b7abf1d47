import pytest

from tools.facts import FACTS
from tools.notebooks import settings
from tools.stamps import stamped
from tools.tests.toys import insert_text, write_notebook


@pytest.fixture
def cfg():
    return settings()


@pytest.fixture
def fork(cfg):
    return cfg | {"user": "someone", "git_url": "https://github.com/someone/vocab_lit"}


def test_a_new_address_reaches_texts_and_configuration(fork):
    assert (
        stamped("See <!-- repository -->old<!-- /repository -->.", "README.md", fork)
        == "See <!-- repository -->[someone/vocab_lit](https://github.com/someone/vocab_lit)<!-- /repository -->."
    )
    assert (
        stamped("repository:\n  url: x # settings.ini: git_url\n", "_config.yml", fork)
        == "repository:\n  url: https://github.com/someone/vocab_lit # settings.ini: git_url\n"
    )
    for link in ("book/guide.html", "https://old.example/site/book/guide.html"):
        assert stamped(f"[a]({link})", "README.md", fork | {"doc_host": "https://x.example"}) == (
            "[a](https://x.example/vocab_lit/book/guide.html)"
        )
    block = stamped("<!-- repository --><!-- /repository -->", "README.md", fork)
    assert block.split("\n")[0] == "<!-- repository -->" and stamped(block, "README.md", fork) == block


def test_a_notebook_leads_to_its_colab_edition_where_it_has_one(tmp_path, fork):
    path = write_notebook(tmp_path / "book" / "demo.ipynb", "1")
    insert_text(path, "# A\n<!-- links --><!-- /links -->")
    text = stamped(path.read_text(), "book/demo.ipynb", fork, edition="demo-am")
    assert "github/someone/vocab_lit/blob/colab/demo-am.ipynb)" in text
    assert stamped(text, "book/demo.ipynb", fork, edition="demo-am") == text
    assert "colab" not in stamped(text, "book/demo.ipynb", fork)


def test_badges_have_the_versions_of_the_settings(cfg):
    badges = stamped("<!-- badges --><!-- /badges -->", "README.md", cfg | {"min_python": "3.19"})
    assert "badge/python-3.19_to_before_3.15-blue" in badges and "/blob/main/LICENSE)" in badges


def test_facts_are_computed_where_a_page_has_them_and_asks_for_them_and_unknown_markers_are_refused(cfg, monkeypatch):
    computed = []
    monkeypatch.setitem(FACTS, "averages", lambda: computed.append(1) or "3 of 7")
    text = "Of <!-- averages -->1 of 7<!-- /averages --> none"
    assert stamped(text, "README.md", cfg) == text and not computed
    assert stamped(text, "README.md", cfg, facts=True) == "Of <!-- averages -->3 of 7<!-- /averages --> none"
    stamped("<!-- repository --><!-- /repository -->", "README.md", cfg, facts=True)
    assert len(computed) == 1
    with pytest.raises(ValueError, match="no text for the marker '<!-- colour -->"):
        stamped("<!-- colour --><!-- /colour -->", "README.md", cfg, facts=True)
