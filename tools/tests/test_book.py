import re

import nbformat
import pytest
from typer.testing import CliRunner

from tools import book
from tools.__main__ import app
from tools.book import llms_text, page_jobs, source_files
from tools.chapters import chapters
from tools.jobs import JobsFailed
from tools.notebooks import checkout, library_notebooks
from tools.reference import public_names, public_page, reference
from tools.status import status
from tools.tests.toys import insert_text, read, write_notebook


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    "A repository whose pages have been made, but for one."
    root = tmp_path_factory.mktemp("home")
    (root / "measured").mkdir()
    (root / "measured" / "cell.json").write_text('{"seconds": 90}')
    write_notebook(root / "nbs" / "00_lib.ipynb")
    seconds = {"hello": 0, "runs/hello-sw": 500, "runs/hello-am": 40, "runs/hall": 6, "library/00_lib": 6}
    for name, took in seconds.items():
        path = root / "book" / f"{name}.ipynb"
        write_notebook(path, 'records = "../measured"', tags={0: ["parameters"]})
        nb = read(path)
        given = {"language": name[-2:], "seeds": 1} if "-" in name else {}
        if took:
            nb.metadata.made = {"key": "", "seconds": took, "at": "2026-01-02 03:04", "parameters": given}
        nbformat.write(nb, path)
    (root / "book" / "chapters.yml").write_text("chapters: {hello: {sw: {}, am: {seeds: 1}, ka: {}}}\npages: [hall]\n")
    return root


def test_the_status_names_every_page_with_its_time_and_what_took_too_long(home):
    shown = status(2, home)
    assert "9 minutes of run time for chapters and comparisons and 0 minutes" in shown
    assert "torch" in shown.split("## Chapters")[0]
    assert (
        "| page | parameters | seconds | made |\n| --- | --- | --- | --- |\n"
        "| [hello-sw](hello-sw.ipynb) | `language = sw`, `seeds = 1` | 500 **over the limit** | 2026-01-02 03:04 |\n"
        "| [hello-am](hello-am.ipynb) | `language = am`, `seeds = 1` | 40 | 2026-01-02 03:04 |\n"
        "| [hall](hall.ipynb) |  | 6 |"
    ) in shown
    assert "hello-ka" not in shown and "| hello | 1 | 1.5 | 1 | 1.5 | 0 of 0 | 20" in shown
    assert "| page | seconds | made |\n| --- | --- | --- |\n| [00_lib](../library/00_lib.ipynb) | 6 | 2026" in shown


def test_the_first_language_runs_before_the_others_pages_after_all_and_times_come_from_earlier_pages(home):
    jobs = page_jobs(home)
    assert list(jobs) == ["hello (sw)", "hello (am)", "hello (ka)", "hall", "00_lib"]
    assert [job.seconds for job in jobs.values()] == [500, 40, 240, 6, 6]
    first, *others = list(jobs)[:3]
    assert [list(job.after) for job in jobs.values()] == [[], [first], [first], [first, *others], []]


def test_every_page_of_the_contents_has_its_source_and_llms_txt_lists_the_pages():
    here = checkout()
    sources = source_files(here)
    assert sources["book/runs/focus-am"] == sources["book/runs/focus-sw"] == "book/focus.ipynb"
    assert sources["book/runs/claims"] == "book/claims.ipynb" and sources["book/guide"] == "book/guide.md"
    assert sources["book/library/04_methods/05_focus"] == "nbs/04_methods/05_focus.ipynb"
    assert sources["book/library/04_methods/index"] == "nbs/04_methods/index.md"
    assert "book/runs/status" not in sources and all((here / file).is_file() for file in sources.values())
    listed = llms_text(here)
    assert "[FOCUS: new tokens from overlapping ones](book/runs/focus-sw.html)" in listed
    addresses = re.findall(r"\]\((.+)\.html\)", listed)
    assert len(set(addresses)) == len(addresses) and set(addresses) <= set(sources)
    assert len(addresses) > len(library_notebooks(here)) + len(chapters(here))
    linked = re.findall(r"vocab_lit/(book/[\w/-]+)\.html\)", (here / "README.md").read_text(encoding="utf-8"))
    assert linked and set(linked) <= sources.keys()


LISTED = """#| export
def f(x): # no
    "Does a | b.\\nMore."
class K:
    "A kind."
def _hidden(): pass
SIZE = 3 # tokens
BOTH = (1, 2)
Text = Annotated[str, Option("--text", help="A file.")]
class Kept(Settings):
    "What is kept."
    share: float = option(0.5, "of all lines", shown="half")
    count: int = option(3, "lines")"""


def test_the_reference_has_every_public_name_with_its_section_and_its_first_line(repo):
    cells = "#| default_exp listed", LISTED, "def example(): pass", "#| export\nLIMIT:int = 2"
    listed = write_notebook(repo / "nbs" / "04_listed.ipynb", *cells)
    insert_text(listed, "## What `f` does, and why")
    assert public_names(listed) == {
        "f": ("what-f-does-and-why", "Does a | b."),
        "K": ("what-f-does-and-why", "A kind."),
        "SIZE": ("what-f-does-and-why", "tokens"),
        "BOTH": ("what-f-does-and-why", "`(1, 2)`"),
        "Text": ("what-f-does-and-why", "A file."),
        "Kept": ("what-f-does-and-why", "What is kept."),
        "LIMIT": ("what-f-does-and-why", "`2`"),
    }
    page = reference(repo)
    assert (
        "## `vocab_lit.listed`\n\n[04_listed](04_listed.ipynb)\n\n| name | what it is |\n| --- | --- |\n"
        "| [`f`](04_listed.ipynb#what-f-does-and-why) | Does a \\| b. |\n"
    ) in page
    assert (
        "Options of `Kept`:\n\n| option | default | meaning |\n| --- | --- | --- |\n"
        "| `share` | `'half'` | of all lines |\n| `count` | `3` | lines |\n"
    ) in page


def test_the_reference_has_the_names_of_the_library():
    page = reference()
    assert all(f"[`{name}`](01_text/01_corpus.ipynb#" in page for name in ("data_path", "read_lines", "mix"))
    assert "[`clean`](01_text/07_cleaning.ipynb)" in page
    assert "`_page`" not in page


def test_every_public_class_and_function_has_a_section_from_its_docstring():
    import vocab_lit

    page = public_page()
    documented = re.findall(r"^\.\. auto(?:class|function):: vocab_lit\.(.+)\.(\w+)$", page, re.M)
    listed = [(module, name) for module, names in vocab_lit.PUBLIC.items() for name in names if not name.isupper()]
    assert documented == listed and len(documented) > 20
    assert "## `MadX`\n\n```{eval-rst}\n.. autoclass:: vocab_lit.models.madx.MadX\n   :members:\n```\n" in page


def test_the_book_is_built_from_records_or_anew_and_another_word_is_refused_before_anything_is_run(monkeypatch):
    built = []
    monkeypatch.setattr(book, "build_book", built.append)
    codes = [CliRunner().invoke(app, ["book", *words]).exit_code for words in ([], ["anew"], ["new"])]
    assert codes == [0, 0, 2] and built == [False, True]


def test_a_page_that_fails_prevents_no_other_page_and_is_named_at_the_end(monkeypatch, tmp_path):
    def run_all(anew):
        raise JobsFailed({"compare (sw)": "an assertion"})

    built = []
    monkeypatch.setattr(book, "run_all", run_all)
    monkeypatch.setattr(book, "_build_html", lambda root, strict: built.append(strict) or tmp_path)
    monkeypatch.setattr(book, "_tell_differences", lambda root: None)
    monkeypatch.setattr(book, "_check_built", lambda root, html: ["a dead link"])
    message = r"a dead link\n.*notice on each page.*\nfailed: compare \(sw\)\nan assertion$"
    with pytest.raises(RuntimeError, match=message):
        book.build_book()
    assert built == [False]  # warnings of pages without a failed one's figures stop nothing
