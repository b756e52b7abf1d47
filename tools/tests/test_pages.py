import os
import re
import runpy
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path
from unittest import mock

import nbformat
import pytest

from studies.records.recorded import lay_out
from tools import run_pages
from tools.appendix import divide
from tools.export import regenerate
from tools.kernels import forked_kernels
from tools.notebooks import checkout, settings
from tools.pages import page_links
from tools.run_pages import Page, make, run_chapter
from tools.tests.toys import DEMO, SETTINGS, insert_text, read, write_notebook

LINKS = "[toy](../nbs/00_toy.ipynb), [other](other.ipynb#end) and [hall](hall.ipynb)"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    "A repository with a library, a chapter in two languages, another one and a page."
    root = tmp_path_factory.mktemp("site")
    write_notebook(root / "nbs" / "00_toy.ipynb", *DEMO)
    used = ["user", "repo", "branch", "git_url", "min_python", "below_python", "title", "author", "doc_host"]
    entries = "".join(f"{name} = {settings()[name]}\n" for name in used)
    (root / "settings.ini").write_text(SETTINGS + entries)
    regenerate(root)
    cells = "language = 'sw'\nscale = 'mini'\nboom = False", "print(f'hello, {language}')\nassert not boom"
    tags = {0: ["parameters"]}
    write_notebook(root / "book" / "hello.ipynb", *cells, "#| eval: false\nraise SystemExit", tags=tags)
    insert_text(root / "book" / "hello.ipynb", f"(first-label)=\n# Hello\n\nSee [](first-label), {LINKS}.")
    (root / "book" / "chapters.yml").write_text(
        "chapters: {hello: {sw: {}, am: {boom: false}}, other: {ka: {}}}\npages: [hall]\n"
    )
    return root


def page(site, name, **options):
    return Page(site / "book" / f"{name}.ipynb", site / "book" / "runs" / f"{name}.ipynb", name, **options)


def hello(site):
    "The chapter in Amharic."
    notebook, out = site / "book" / "hello.ipynb", site / "book" / "runs" / "hello-am.ipynb"
    given = dict(title=" (Amharic)", parameters={"language": "am"}, reads=(site / "records",))
    return Page(notebook, out, "chapter hello (am)", "am", **given)


def test_a_page_of_another_language_opens_its_own_edition(site):
    sphinx_of = runpy.run_path(str(checkout() / "book" / "_ext" / "pages.py"))
    place = "https://colab.research.google.com/github/{user}/{repo}/blob/colab/".format(**settings(site))

    def opened(name):
        buttons = [{"url": "https://colab.research.google.com/github/old"}, {"url": "https://x.example/issues"}]
        context = {"header_buttons": [{"buttons": buttons[:1]}, {"buttons": buttons}, {"type": "javascript"}]}
        app = types.SimpleNamespace(srcdir=str(site))
        sphinx_of["source_buttons"](app, f"book/runs/{name}", "", context, None)
        *groups, last = context["header_buttons"]
        assert last == {"type": "javascript"}
        return [[button["url"] for button in group["buttons"]] for group in groups]

    for name in ("hello-am", "hello-sw"):
        assert opened(name) == [[f"{place}{name}.ipynb"], [f"{place}{name}.ipynb", "https://x.example/issues"]]
    assert opened("hall") == [["https://x.example/issues"]]  # has no edition, and so no button that opens nothing
    assert f"[Open in Colab]({place}hello-am.ipynb)" in read(make(hello(site))).cells[0].source


def test_a_run_has_its_own_values_labels_and_title_and_keeps_its_outputs(site):
    done = read(make(hello(site)))
    assert done.cells[0].source.startswith("(first-label-am)=\n# Hello (Amharic)\n\n[Open in Colab](https://colab")
    links = "[](first-label-am), [toy](../library/00_toy.ipynb), [other](other-ka.ipynb#end) and [hall](hall.ipynb)"
    assert links in done.cells[0].source
    default, given, greeting, _ = done.cells[1:]
    assert default.source.startswith("language = 'sw'") and given.source == '# Parameters\nlanguage = "am"\n'
    assert given.metadata.tags == ["parameters", "injected-parameters"] and given.id == f"{default.id}-run"
    assert greeting.outputs[0].text == "hello, am\n"
    assert all("papermill" not in c.metadata and "execution" not in c.metadata for c in done.cells)


def code_and_outputs(path):
    "The source of each code cell, and its outputs but for warnings and progress bars."
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    return [(cell.source, [one for one in cell.outputs if one.get("name") != "stderr"]) for cell in cells]


def run_by_papermill(notebook, out, *parameters):
    "Run a notebook by papermill's command in the checkout's top folder."
    given = [word for parameter in parameters for word in ("-p", *parameter.split("="))]
    command = [sys.executable, "-m", "papermill", f"book/{notebook.name}", str(out), "--no-progress-bar", *given]
    env = os.environ | {"PYTHONPATH": str(checkout())}
    subprocess.run(command, cwd=notebook.parents[1], env=env, check=True, capture_output=True)
    return code_and_outputs(out)


def test_papermill_s_command_gives_the_cells_of_a_page(site, tmp_path):
    write_notebook(
        site / "book" / "told.ipynb",
        "language = 'sw'\nsteps = 5\nrate = 1e-4",
        "import sys\nprint('slow', file=sys.stderr)\nprint(language, steps, rate)",
        tags={0: ["parameters"]},
    )
    told = page(site, "told", parameters=dict(language="am", steps=2, rate=1e-4))
    make(told)
    ours = code_and_outputs(site / "_build" / "executed" / "runs-told.ipynb")
    assert ours == run_by_papermill(told.notebook, tmp_path / "out.ipynb", "language=am", "steps=2")
    assert len(ours) == 3 and ours[-1][1][0].text == "am 2 0.0001\n"


@pytest.mark.slow  # a minute; every result is taken from the book's records
def test_papermill_s_command_gives_the_cells_of_a_chapter(tmp_path):
    lay_out(tmp_path / "study", anew=sys.maxsize)
    given = dict(language="am", steps=40, records=str(tmp_path / "study" / "compare"))
    run_chapter("compare", "am", out=tmp_path / "ours.ipynb", parameters=given)
    executed = checkout() / "_build" / "executed" / f"{tmp_path.name}-ours.ipynb"
    words = [f"{name}={value}" for name, value in given.items()]
    theirs = run_by_papermill(checkout() / "book" / "compare.ipynb", tmp_path / "out.ipynb", *words)
    assert code_and_outputs(executed) == theirs
    executed.unlink()


def test_a_page_is_made_again_only_when_something_it_depends_on_has_changed(site):
    def written():
        return make(hello(site)).stat().st_mtime_ns

    first = written()
    assert written() == first
    (site / "records").mkdir()
    (site / "records" / "1.json").write_text("1\n")
    second = written()
    assert second > first
    (site / "toys" / "extra.py").write_text("x = 1\n")
    assert written() > second


def test_a_page_whose_text_alone_has_changed_takes_the_outputs_that_are_there(site):
    before = read(make(hello(site)))
    notebook = site / "book" / "hello.ipynb"
    unchanged, greeting = notebook.read_text(), read(notebook)
    greeting.cells[0].source = greeting.cells[0].source.replace("# Hello", "# Good day")
    nbformat.write(greeting, notebook)
    with mock.patch.object(run_pages, "_run", side_effect=AssertionError("executed again")):
        after = read(make(hello(site)))
    assert after.cells[0].source.startswith("(first-label-am)=\n# Good day (Amharic)")
    assert [c.outputs for c in after.cells[1:]] == [c.outputs for c in before.cells[1:]] != [[]]
    assert after.metadata.made.at == before.metadata.made.at
    greeting.cells[2].source += "\nprint('and more')"
    nbformat.write(greeting, notebook)
    assert read(make(hello(site))).cells[3].outputs[0].text == "hello, am\nand more\n"
    notebook.write_text(unchanged)


def test_links_lead_from_page_to_page_in_the_same_language_where_there_is_one(site):
    for link, page_link in {
        "../nbs/00_toy.ipynb#sec": "../library/00_toy.ipynb#sec",
        "../nbs/02_room/01_toy.ipynb": "../library/02_room/01_toy.ipynb",
        "hello.ipynb": "hello-am.ipynb",
        "other.ipynb": "other-ka.ipynb",
        "hall.ipynb": "hall.ipynb",
        "glossary.md#x": "../glossary.md#x",
        "https://a.b/hello.ipynb": "https://a.b/hello.ipynb",
        "../data/x.csv": "../data/x.csv",
    }.items():
        assert page_links(f"[a]({link})", "book", "book/runs", site, "am") == f"[a]({page_link})"
    linked = page_links("[a](nbs/00_toy.ipynb) [b](hello.ipynb)", "book", "book", site)
    assert linked == "[a](nbs/00_toy.ipynb) [b](runs/hello-sw.ipynb)"
    text = "[a](01_more.ipynb#x) [b](../../book/hello.ipynb) [c](../03_next/01_y.ipynb)"
    linked = page_links(text, "nbs/02_room", "book/library/02_room", site)
    assert linked == "[a](01_more.ipynb#x) [b](../../runs/hello-sw.ipynb) [c](../03_next/01_y.ipynb)"


def test_a_page_may_lie_outside_the_checkout(site, tmp_path, monkeypatch):
    inside = hello(site)
    make(inside)
    outside = make(replace(inside, out=tmp_path / "runs" / "hello-am.ipynb"))  # not run again
    (toy,) = re.findall(r"\[toy\]\((.*?)\)", read(outside).cells[0].source)
    assert (outside.parent / toy).resolve() == (site / "book/library/00_toy.ipynb").resolve()
    monkeypatch.chdir(tmp_path)
    relative = make(replace(inside, out=Path("there", "runs", "hello-am.ipynb")))
    assert relative.is_file() and "[toy](" in read(relative).cells[0].source


PLOTTED = """class Figure:
    def _repr_mimebundle_(self, **kwargs):
        data = {"image/png": "aGk=", "text/csv": "a,b\\n1,2\\n", "text/plain": "<Figure>"}
        return data, {"image/png": {"alt": "a rising line"}}
Figure()"""


def test_a_page_shows_a_test_without_running_it_and_a_figure_s_numbers_lie_beside_the_page(site):
    write_notebook(
        site / "book" / "shown.ipynb",
        "#| test: not here\nraise SystemExit",
        PLOTTED,
        "#| fig-alt: by hand\nclass Hand:\n    def _repr_png_(self): return b'hi'\nHand()",
        "import os, tempfile, vocab_lit\nprint(os.path.basename(os.getcwd()), tempfile.mkdtemp() + '/a')",
        "print(vocab_lit.__file__)",
    )
    folders = []
    with mock.patch("os.chdir", side_effect=folders.append):
        cells = read(make(page(site, "shown"))).cells
    assert set(folders) <= {os.getcwd()}  # other pages are made by this process at the same time
    assert [c.cell_type for c in cells] == ["code", "code", "markdown", "code", "code", "code"]
    assert "<data/shown-a1.csv>" in cells[2].source
    images = [c.metadata["mystnb"]["image"] if "mystnb" in c.metadata else None for c in cells if c.cell_type == "code"]
    assert images == [None, {"alt": "a rising line"}, {"alt": "by hand"}, None, None]
    printed = [c.outputs[0].text for c in cells[-2:]]
    assert printed == ["book FOLDER/a\n", "vocab_lit/__init__.py\n"]  # nothing of this machine
    assert (site / "book" / "runs" / "data" / "shown-a1.csv").read_text() == "a,b\n1,2\n"
    assert list(cells[1].outputs[0].data) == ["image/png", "text/plain"]


def test_a_failing_cell_is_named_with_its_chapter_and_error(site):
    out = site / "book" / "runs" / "hello-sw.ipynb"
    failing = Page(site / "book" / "hello.ipynb", out, "chapter hello (am)", parameters={"boom": True})
    with pytest.raises(RuntimeError, match=r'^chapter hello \(am\): the cell that begins "print.*" failed with Assert'):
        make(failing)


def test_a_page_that_fails_has_its_text_its_outputs_up_to_there_and_a_notice_and_is_made_again(site):
    failing = replace(hello(site), parameters={"language": "am", "boom": True})
    with pytest.raises(RuntimeError):
        make(failing)
    failed = read(failing.out)
    text = failed.cells[0].source
    assert text.startswith("(first-label-am)=\n# Hello (Amharic)\n\n:::{error}\nThis page could not be made:")
    assert "failed with AssertionError" in text and "`make page NAME=hello LANGUAGE=am`" in text
    assert str(site) not in text
    assert [output.text for output in failed.cells[3].outputs] == ["hello, am\n"]
    assert "{error}" not in read(make(hello(site))).cells[0].source

    unknown = replace(hello(site), parameters={"languages": "am"})  # fails before it runs
    with pytest.raises(ValueError, match="no parameter languages"):
        make(unknown)
    assert "no parameter languages" in read(unknown.out).cells[0].source


def test_a_page_outside_of_the_book_that_fails_is_left_as_it_is(site, tmp_path):
    with pytest.raises(RuntimeError):
        make(replace(hello(site), out=tmp_path / "hello.ipynb", parameters={"boom": True}))
    assert not (tmp_path / "hello.ipynb").exists()


@pytest.mark.parametrize(
    "given, message",
    [
        (("nowhere", "sw"), "no chapter 'nowhere'"),
        (("focus", "sw", "huge"), "no scale 'huge'"),
        (("focus", "../x", "custom"), "give a code such as sw"),
        (("focus", "zz9"), "zz9"),
    ],
)
def test_a_run_that_cannot_be_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        run_chapter(*given)


def test_a_wrong_parameter_of_a_chapter_is_refused_before_it_runs():
    message = r"chapter focus \(sw\) has no parameter seed \(did you mean seeds\?\); it has language, scale"
    with pytest.raises(ValueError, match=message):
        run_chapter("focus", "sw", parameters={"seed": 1})


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")
def test_a_forked_kernel_finds_its_modules_imported_and_is_otherwise_as_any_other(site):
    write_notebook(
        site / "book" / "asked.ipynb",
        "import os, subprocess, sys\nthere = 'tabnanny' in sys.modules, os.path.basename(os.getcwd())",
        "print(*there, subprocess.run('exit 3', shell=True).returncode, os.environ['TQDM_DISABLE'])",
    )
    write_notebook(site / "book" / "fails.ipynb", "raise ArithmeticError")
    write_notebook(site / "book" / "dies.ipynb", "import os\nos._exit(1)")
    write_notebook(
        site / "book" / "draws.ipynb",
        "import matplotlib.pyplot as plt\nline = plt.plot([1, 2])",
        "import pandas as pd\nprint(pd.get_option('display.max_columns'))",
    )
    with forked_kernels([]):
        pass  # whose process has none of these modules
    with forked_kernels(["tabnanny", "ipykernel.kernelapp", "matplotlib.pyplot", "pandas"]):
        answered, drawn = (read(make(page(site, name))) for name in ("asked", "draws"))
        with pytest.raises(RuntimeError, match="failed with ArithmeticError"):
            make(page(site, "fails"))
        with pytest.raises(Exception, match="Kernel died"):
            make(page(site, "dies"))
    assert answered.cells[1].outputs[0].text == "True book 3 1\n"
    assert ["image/png" in o.data for o in drawn.cells[0].outputs] == [True]
    assert drawn.cells[1].outputs[0].text == "20\n"  # as in a usual kernel
    usual = Page(site / "book" / "asked.ipynb", site / "book" / "runs" / "usual.ipynb", "asked")
    assert read(make(usual)).cells[1].outputs[0].text.startswith("False book 3")


def story_with_more():
    "A page with two sections, one of which keeps a cell for itself, and the other none."
    code = nbformat.v4.new_code_cell("1", id="a0", metadata={"tags": ["appendix"]})
    more = nbformat.v4.new_markdown_cell("## Settings\n\nAll of them.", id="a1", metadata={"tags": ["appendix"]})
    texts = [("m0", "# Hello (Swahili)\n\nran, [set](#settings)"), ("m1", "## How it ends?\n\nWell.")]
    begin, end = (nbformat.v4.new_markdown_cell(text, id=id) for id, text in texts)
    silent = nbformat.v4.new_code_cell("x = 1", id="a2", metadata={"tags": ["appendix", "remove-input"]})
    return {"metadata": {"made": {}}, "cells": [begin, silent, end, code, more]}


def test_what_is_tagged_for_the_appendix_stands_on_a_page_of_its_own_and_its_section_leads_there():
    page = story_with_more()
    appendix = divide(page, "hello-sw")
    assert [cell["source"] for cell in page["cells"]] == [
        "# Hello (Swahili)\n\nran, [set](hello-sw-appendix.ipynb#settings)",
        "## How it ends?\n\nWell.",
        "*More on this: [the appendix](hello-sw-appendix.ipynb#how-it-ends).*",
    ]
    title, *others = (cell["source"] for cell in appendix["cells"])
    assert title.startswith("# Hello (Swahili): appendix\n\n") and "(hello-sw.ipynb)" in title
    assert others == ["## How it ends?", "1", "## Settings\n\nAll of them."]
    assert appendix["metadata"] == page["metadata"]


def test_a_page_without_such_cells_stays_whole():
    page = story_with_more()
    page["cells"] = [cell for cell in page["cells"] if cell["cell_type"] == "markdown"][:2]
    assert divide(page, "hello-sw") is None and len(page["cells"]) == 2
