import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import studies.budget
from tools.facts import FACTS
from tools.notebooks import settings
from tools.stamps import colab_cell, stamped
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


def test_a_new_address_reaches_the_colab_cell(tmp_path, fork):
    path = write_notebook(
        tmp_path / "book" / "demo.ipynb", "old", 'language = "am" # a locale', tags={0: ["colab"], 1: ["parameters"]}
    )
    insert_text(path, "# A\n<!-- links --><!-- /links -->")
    text = stamped(path.read_text(), "book/demo.ipynb", fork)
    assert "https://github.com/someone/vocab_lit" in text and '"remove-cell"' in text
    assert r"begin_on_colab(\"demo\", \"am\", keep_on_drive)" in text and "--branch=main" in text
    assert "github/someone/vocab_lit/blob/main/book/demo.ipynb)" in text
    assert stamped(text, "book/demo.ipynb", fork) == text


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


def test_the_colab_cell_fetches_and_installs_keeps_what_is_in_memory_and_does_nothing_elsewhere(
    tmp_path, cfg, monkeypatch
):
    calls, printed = [], []
    assert callable(studies.budget.begin_on_colab)  # imported before this looks like Colab
    source = colab_cell(cfg, "focus", "sw").replace("/content", str(tmp_path))
    answers = types.SimpleNamespace(returncode=0)

    def run(command, **_):
        calls.append(list(map(str, command)))
        return answers

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(studies.budget, "COLAB", tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(source, {})
    assert not calls and not list(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    drive = types.SimpleNamespace(mount=lambda at: calls.append(at))
    spec = ModuleSpec("google.colab", None)  # as every imported module has one
    monkeypatch.setitem(sys.modules, "google.colab", types.SimpleNamespace(drive=drive, __spec__=spec))
    answers.returncode = 128  # as git has it
    with pytest.raises(SystemExit, match=f"^{cfg['git_url']} does not answer, or has no main; put your copy's address"):
        exec(source, {})
    answers.returncode = 0
    calls.clear()
    for asked in (False, True):
        exec(source.replace("keep_on_drive = False", f"keep_on_drive = {asked}"), {"print": printed.append})
        folder = tmp_path / ("drive/MyDrive" if asked else "") / "vocab_lit" / "book"
        assert Path.cwd().resolve() == folder.resolve()
    clone = str(tmp_path / "vocab_lit")
    fetched, first, second, mounted = calls
    assert fetched[:2] == ["git", "clone"] and fetched[-2:] == [cfg["git_url"], clone]
    assert first == second and first[1:5] == ["-m", "pip", "install", "-q"] and first[5].startswith("torch==2.")
    assert first[-1] == f"{clone}[all]" and sys.path[0] == clone and mounted == str(tmp_path / "drive")
    assert "scale mini" in printed[0] and "scale paper" in printed[0] and "GB" in printed[0]
