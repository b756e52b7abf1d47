import json
import os
import re
import runpy
import subprocess
import sys
import types
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest import mock

import nbformat
import pytest

import studies.chapters.colab
from tools.chapters import page_names
from tools.colab import edition, edition_link, editions, install_cell, write_editions
from tools.make_tests import names
from tools.markdown import bibliography, plain
from tools.notebooks import checkout, settings, source
from tools.run_editions import code_of, first_cells
from tools.tests.toys import insert_text, write_notebook

CFG = dict(doc_host="https://x.example", doc_baseurl="/lib", git_url="https://git.example/u/lib", branch="main")
BIB = r"""@article{one2020, author = {Vuli{\'c}, Ivan and Ramón, Íñ\'{e}s}, year = {2020}, doi = {10.1/x}}

@article{two2021,
  title = {{BIG} {N}ames},
  author = {de Melo, A. and B, C. and D, E.},
  year = {2021}, pages = {1--2}}
"""


@pytest.fixture
def book(tmp_path):
    "A repository with a chapter in two languages that has an appendix, and a page."
    (tmp_path / "book").mkdir()
    entries = "".join(f"{name} = {value}\n" for name, value in settings().items() if "%" not in value)
    (tmp_path / "settings.ini").write_text(f"[DEFAULT]\n{entries}")
    (tmp_path / "book" / "references.bib").write_text(BIB, encoding="utf-8")
    (tmp_path / "book" / "chapters.yml").write_text(
        "chapters: {hello: {sw: {}, am: {steps: 3}}}\npages: [hall, field]\ncolab: [hall]\n"
    )
    parameters = 'language = "sw"  # a locale\n# of training\nsteps = 0\nfast = True\nrate = 0.5'
    cells = [parameters, "import math", "unused = 1", "made = [math.pi]", "if made:\n    fill(made)"]
    cells += ["made.append(2)", "made", "print(made)", "use_style()\nleft = 1"]
    tagged = [["parameters", "appendix"], ["remove-cell"], *[["appendix", "remove-input"]] * 4, ["remove-input"]]
    chapter = write_notebook(tmp_path / "book" / "hello.ipynb", *cells, tags=dict(enumerate(tagged)))
    nb = nbformat.read(chapter, 4)
    nb.cells[-1].metadata.tags = ["hide-cell", "appendix"]
    nb.cells.insert(1, nbformat.v4.new_markdown_cell("# Hello\n\nSay {cite:p}`one2020`, see [it](#more).", id="m1"))
    nb.cells.insert(8, nbformat.v4.new_markdown_cell("## The end\n\n[hall](hall.ipynb#x)", id="m2"))
    nb.cells.insert(10, nbformat.v4.new_markdown_cell("## More", id="m3", metadata={"tags": ["appendix"]}))
    nbformat.write(nb, chapter)
    insert_text(write_notebook(tmp_path / "book" / "hall.ipynb", "1"), "# Hall")
    return tmp_path


@cache
def cells_of(name):
    "The cells of an edition of the book."
    return json.loads(edition(checkout(), name))["cells"]


def texts(cells, kind):
    return [source(cell) for cell in cells if cell["cell_type"] == kind]


def test_myst_becomes_plain_markdown_with_whole_addresses(book):
    def seen(text):
        return plain(text, book, CFG, "hello-sw.html")

    here, references = "https://x.example/lib/book", "https://x.example/lib/book/references.html"
    assert seen("{cite:p}`one2020,two2021`") == (
        f"([Vulić and Ramón, 2020](https://doi.org/10.1/x); [de Melo et al., 2021]({references}))"
    )
    assert seen("{cite:t}`two2021`") == f"[de Melo et al. (2021)]({references})"
    for link, address in {
        "#below": f"{here}/runs/hello-sw.html#below",
        "hello-am.ipynb": f"{here}/runs/hello-am.html",
        "../guide.md#x": f"{here}/guide.html#x",
        "../library/02_tokens/01_vocab.ipynb": f"{here}/library/02_tokens/01_vocab.html",
        "../_static/idea.svg": "https://x.example/lib/_static/idea.svg",
        "../../data/x.csv": "https://git.example/u/lib/blob/main/data/x.csv",
        "https://a.b/c.md": "https://a.b/c.md",
    }.items():
        assert seen(f"[a]({link})") == f"[a]({address})"
    assert seen(":::{admonition} Before\nOne\n\n- two\n:::\nend") == "> **Before**\n>\n> One\n>\n> - two\nend"
    image = "```{image} ../_static/a.svg\n:class: drawing\n:alt: A frozen model\n```"
    assert seen(image) == "![A frozen model](https://x.example/lib/_static/a.svg)"
    assert seen("(label)=\n## A\n`{language}`") == "## A\n`{language}`"
    for left in ("{doc}`x`", ":::{figure} x\n:::", "```{note}\nx\n```"):
        with pytest.raises(ValueError, match=r"^hello-sw.html: .* has no plain Markdown; see tools/markdown.py$"):
            seen(f"Text\n{left}")


def test_every_entry_of_the_bibliography_has_authors_and_a_year():
    entries = bibliography(checkout() / "book" / "references.bib")
    text = (checkout() / "book" / "references.bib").read_text(encoding="utf-8")
    assert entries.keys() == set(re.findall(r"^@\w+\{([\w-]+),", text, re.M))
    assert all(re.fullmatch(r"[^{}\\]+", named) and re.fullmatch(r"\d{4}", year) for named, year, _ in entries.values())
    assert entries["pfeiffer2020madx"][0] == "Pfeiffer et al."


def test_an_edition_has_forms_the_story_and_of_the_appendix_what_the_story_needs(book):
    assert list(editions(book)) == ["hello-sw", "hello-am", "hall"]
    made = json.loads(edition(book, "hello-am"))
    nbformat.validate(made)
    title, install, form, first, then, end, style, link = made["cells"]
    site = f"{settings(book)['doc_host']}{settings(book)['doc_baseurl']}/book/runs"
    assert source(title).startswith(f"# Hello\n\n[This page in the book]({site}/hello-am.html)")
    assert "([Vulić and Ramón, 2020](https://doi.org/10.1/x))" in source(title)
    assert f"[it]({site}/hello-am-appendix.html#more)" in source(title)
    assert 'begin("hello", "am", clone, keep_on_drive)' in source(install)
    assert source(form).split("\n") == [
        "# @title What to run",
        "# @markdown a locale",
        'language = "am"  # @param ["sw", "am"] {allow-input: true}',
        "# @markdown of training",
        'steps = 3  # @param {type:"integer"}',
        'fast = True  # @param {type:"boolean"}',
        'rate = 0.5  # @param {type:"number"}',
    ]
    shown = [
        "# @title A first look",
        "import math",
        "made = [math.pi]",
        "if made:\n    fill(made)",
        "made.append(2)",
        "made",
    ]
    assert source(first).split("\n\n") == shown and first["metadata"]["cellView"] == "form"
    assert source(then) == f"## The end\n\n[hall]({site}/hall.html#x)"
    assert source(end) == "print(made)" and end["metadata"] == {}
    assert source(style) == "# @title The end: preparation\n\nuse_style()\nleft = 1;"
    assert "hello-am-appendix.html#more" in source(link) and "unused" not in edition(book, "hello-am")


def test_editions_are_written_into_a_folder_of_their_own(book):
    folder = write_editions(book)
    (folder / "gone.ipynb").write_text("{}")
    assert write_editions(book) == folder
    assert {path.stem for path in folder.iterdir()} == set(editions(book))
    assert (folder / "hall.ipynb").read_text(encoding="utf-8") == edition(book, "hall")


@pytest.mark.parametrize("name", editions(checkout()))
def test_an_edition_of_the_book_is_valid_plain_and_defines_every_name_before_it_uses_it(name):
    cells = cells_of(name)
    nbformat.validate({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert not re.search(r"\{cite|^:::|^```\{|^\([\w-]+\)=|<!-- ", "\n".join(texts(cells, "markdown")), re.M)
    code, known = texts(cells, "code"), {"display"}
    assert code[0].startswith("# @title Install") and 'keep_on_drive = False  # @param {type:"boolean"}' in code[0]
    assert code[1].startswith("# @title What to run") and "# @param" in code[1]
    for cell in cells:
        hidden = cell["metadata"].get("cellView") == "form"
        assert cell["cell_type"] != "code" or hidden == source(cell).startswith("# @title ")
    titles = [text.split("\n")[0] for text in code if text.startswith("# @title ")]
    assert len(set(titles)) == len(titles) and not any(re.match(r"# @title \d|.*\*\*", title) for title in titles)
    exercises = set(re.findall(r'^check\("([\w-]+)"', "\n".join(code), re.M))
    assert len(exercises) == len([title for title in titles if re.match(r"# @title Solution: \d\. \w", title)])
    for text in code:
        bound, used = names(text)
        assert used <= known, f"{used - known} in {text[:200]}"
        known |= bound


def test_every_page_that_offers_colab_opens_the_edition_of_its_language():
    root, cfg = checkout(), settings()
    for name, runs in page_names(root).items():
        text = (root / "book" / f"{name}.ipynb").read_text(encoding="utf-8")
        offered = re.findall(r"\[Open in Colab\]\(([^)]+)\)", text)
        assert offered == [edition_link(cfg, page) for page in runs[:1] if page in editions(root)]
    assert edition_link(cfg, "focus-am").endswith("/blob/colab/focus-am.ipynb")
    assert 'language = "am"' in "".join(texts(cells_of("focus-am"), "code"))


def test_the_cell_installs_all_extras_but_the_one_that_builds_the_book():
    with mock.patch("setuptools.setup"):
        extras = runpy.run_path(str(checkout() / "setup.py"))["extras"](settings())
    others = {name: packages for name, packages in extras.items() if name in settings()["extras"].split()}
    of_book = [re.split(r"[<>=;]", package)[0].replace("-", "_") for package in others.pop("book")]
    assert {package for packages in others.values() for package in packages} <= {*extras["all"]}
    for name in editions(checkout()):
        assert "{clone}[all]" in texts(cells_of(name), "code")[0]
    files = (path for name in ("vocab_lit", "studies", "testkit") for path in (checkout() / name).rglob("*.py"))
    imported = re.compile(rf"^ *(?:from|import) ({'|'.join(of_book)})\b", re.M)
    assert not [path for path in files if imported.search(path.read_text(encoding="utf-8"))]


def test_the_cell_fetches_and_installs_keeps_what_is_in_memory_and_does_nothing_elsewhere(tmp_path, monkeypatch):
    calls, printed, cfg = [], [], settings()
    source = install_cell(cfg, "focus", "sw").replace("/content", str(tmp_path))
    answers = types.SimpleNamespace(returncode=0)

    def run(command, **_):
        calls.append(list(map(str, command)))
        return answers

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "path", list(sys.path))
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
    assert re.search(rf"^This runtime: {os.cpu_count()} cores, \d+ of \d+ GB of memory", printed[0])
    assert "scale mini" in printed[0] and "scale paper" in printed[0]
    assert len(studies.chapters.colab.begin("own-language", "", tmp_path / "vocab_lit", False).split("\n")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", {of[0]: name for name, of in editions(checkout()).items()}.values())
def test_an_edition_runs_to_its_end_at_mini(name, tmp_path):
    papermill = pytest.importorskip("papermill")
    (tmp_path / "book").mkdir()
    notebook, ran = tmp_path / f"{name}.ipynb", tmp_path / "ran.ipynb"
    notebook.write_text(edition(checkout(), name), encoding="utf-8")
    with mock.patch.dict(os.environ, PYTHONPATH=str(checkout())):
        done = papermill.execute_notebook(notebook, ran, cwd=tmp_path / "book", kernel_name="python3")
    shown = json.dumps([cell.outputs for cell in done.cells if cell.cell_type == "code"])
    assert not re.search(r"\{cite|:::", shown) and shown.count("image/png") + shown.count("text/html") > 1


def test_the_first_cells_of_an_edition_end_before_its_first_section():
    cells = cells_of("focus-sw")
    assert [text.split("\n")[0] for text in first_cells(cells)] == [
        "# @title Install the library, and see what this machine can do",
        "# @title What to run",
        "# @title Other parameters: a double click shows them",
        "# @title Preparation",
    ]
    assert len(code_of(cells)) > len(first_cells(cells))
