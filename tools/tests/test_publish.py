from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest import mock
from tools.facts import FACTS
from tools.publish import LINES, PageJob, chapter_defaults, chapters, check_chapters, check_clean, check_conditionals, check_generated, check_html, check_lengths, checkout, clean, code_cells, generated, library_notebooks, llms_text, names, page_links, pages, public_names, pytest_module, reference, regenerate, run_chapter, run_jobs, set_parameters, settings, source_files, stamped, status
import nbformat
import os
import pytest
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types
import tools.publish as publish
import studies.budget


@pytest.fixture(scope='module')
def cell_adf9f9ce():
    global demo_cells, toy, write_notebook
    def write_notebook(path, *cells):
        "Write a notebook of code cells whose ids are a0, a1, ..."
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s, id=f"a{i}") for i, s in enumerate(cells)])
        nb.metadata = {
            "kernelspec": {"display_name": "python3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, path)
        return path


    demo_cells = [
        "#| default_exp toy",
        "#| export\nimport math\ndef double(x): return 2 * x",
        "import numpy as np",
        "four = double(2)\nfour",
        "#| test: twice two is four\nassert four == 4 and np.log(math.e) == 1",
        "four + 1",
    ]
    toy = write_notebook(Path(tempfile.mkdtemp()) / "nbs" / "00_toy.ipynb", *demo_cells)
    code_cells(toy)[4]


@pytest.fixture(scope='module')
def cell_339aad0c(cell_adf9f9ce):
    global broken, run_pytest, try_cells
    def run_pytest(folder, *options):
        "Run pytest on a folder of its own and return the finished process."
        command = [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", "--rootdir", str(folder)]
        return subprocess.run([*command, *options, str(folder)], capture_output=True, text=True)


    def try_cells(*cells):
        "Make tests of cells that export nothing, run them and return the finished process."
        folder = Path(tempfile.mkdtemp())
        name, text = pytest_module(write_notebook(folder / "nbs" / "02_try.ipynb", *cells))
        (folder / "tests").mkdir()
        (folder / "tests" / name).write_text(text, encoding="utf-8")
        (folder / "tests" / "conftest.py").write_text(publish._CONFTEST, encoding="utf-8")
        return run_pytest(folder / "tests")


    broken = try_cells(
        "half = 21",
        "#| test: half of it\nassert half * 2 == 42",
        "#| test: a third\nassert [half // 3] == [8], 'not a third'",
    )
    print(broken.stdout)


@pytest.fixture(scope='module')
def cell_730cddf9(cell_adf9f9ce):
    global repo, written
    repo = toy.parent.parent
    (repo / "settings.ini").write_text("[DEFAULT]\nlib_name = toys\nlib_path = toys\nversion = 0.0.1\n")
    toy.with_name("01_bad.ipynb").unlink(missing_ok=True)
    written = regenerate(repo)
    written


@pytest.fixture(scope='module')
def cell_76dade81():
    global cfg
    cfg = settings()
    stamped("Get it:\n<!-- clone --><!-- /clone -->", "README.md", cfg)


@pytest.fixture(scope='module')
def cell_48052382():
    global tiny
    tiny = {
        "cells": [
            {
                "metadata": {"tags": ["parameters"]},
                "source": 'language = "sw" # a locale\nscale = "mini"\nseed = 0\nsteps:int = 100 # updates',
            }
        ]
    }
    set_parameters(tiny, "chapter demo", language="ti", steps=5)
    print(tiny["cells"][0]["source"])


@pytest.fixture(scope='module')
def cell_7b562f48(cell_adf9f9ce, cell_730cddf9, cell_76dade81):
    global f, hello, links, nb, page, run_hello, text
    page = write_notebook(
        repo / "book" / "hello.ipynb",
        "language = 'sw'\nscale = 'mini'\nboom = False",
        "print(f'hello, {language}')\nassert not boom",
        "#| eval: false\nraise SystemExit",
    )
    nb = nbformat.read(page, as_version=4)
    nb.cells[0].metadata.tags = ["parameters"]
    links = "[toy](../nbs/00_toy.ipynb), [other](other.ipynb#end) and [hall](hall.ipynb)"
    text = f"(first-label)=\n# Hello\n\nSee [](first-label), {links}."
    nb.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="m0"))
    nbformat.write(nb, page)
    (repo / "book" / "chapters.yml").write_text(
        "chapters: {hello: {sw: {}, am: {boom: false}}, other: {ka: {}}}\npages: [hall]\n"
    )
    with (repo / "settings.ini").open("a") as f:
        f.writelines(
            f"{k} = {cfg[k]}\n"
            for k in ("user", "repo", "branch", "git_url", "min_python", "below_python", "title", "author", "doc_host")
        )
    hello = repo / "book" / "runs" / "hello-am.ipynb"


    def run_hello():
        shown = dict(params={"language": "am"}, reads=[repo / "records"])
        return publish._execute(page, hello, "chapter hello (am)", "am", " (Amharic)", **shown)


    run_hello()
    print(nbformat.read(hello, as_version=4).cells[0].source)


@pytest.fixture(scope='module')
def cell_17bbb17f():
    global log, sleeper, toy_jobs
    def sleeper(name, took=0.05, error=None):
        def run(bar):
            log.append(name)
            time.sleep(took)
            if error:
                raise ValueError(error)
            return Path(name)

        return run


    log = []
    toy_jobs = {
        "a-1": PageJob(sleeper("a-1"), 1),
        "a-2": PageJob(sleeper("a-2"), 5, ["a-1"]),
        "b": PageJob(sleeper("b"), 3),
        "c": PageJob(sleeper("c"), 2),
        "last": PageJob(sleeper("last"), 4, ["a-1", "a-2", "b"]),
    }
    publish._ways(toy_jobs)


@pytest.fixture(scope='module')
def cell_06962df4(cell_adf9f9ce):
    global home, name, nb, seconds, told
    home = Path(tempfile.mkdtemp())
    (home / "measured").mkdir()
    (home / "measured" / "cell.json").write_text('{"seconds": 90}')
    for name in ("hello", "runs/hello-sw", "runs/hello-am", "runs/hall", "library/00_lib"):
        write_notebook(home / "book" / f"{name}.ipynb", 'records = "../measured"')
    write_notebook(home / "nbs" / "00_lib.ipynb")
    for name, seconds in (
        ("hello", 0),
        ("runs/hello-sw", 500),
        ("runs/hello-am", 40),
        ("runs/hall", 6),
        ("library/00_lib", 6),
    ):
        nb = nbformat.read(home / "book" / f"{name}.ipynb", as_version=4)
        nb.cells[0].metadata.tags = ["parameters"]
        if seconds:
            nb.metadata.made = {
                "key": "",
                "seconds": seconds,
                "at": "2026-01-02 03:04",
                "parameters": {"language": name[-2:], "seeds": 1} if "-" in name else {},
            }
        nbformat.write(nb, home / "book" / f"{name}.ipynb")
    (home / "book" / "chapters.yml").write_text("chapters: {hello: {sw: {}, am: {seeds: 1}, ka: {}}}\npages: [hall]\n")
    told = status(home)
    print(told)


@pytest.fixture(scope='module')
def cell_ab85e56b():
    global site
    site = Path(tempfile.mkdtemp()).resolve()
    (site / "sub").mkdir()
    (site / "a.html").write_text(
        '<h1 id="one"></h1><a href="sub/b.html#two">b</a> <a href="#one">up</a><a href="#"></a>'
        '<a href="sub/b.html?q=1">q</a><img src="data:image/png;base64,x" alt="dot">'
    )
    (site / "sub" / "b.html").write_text(
        '<a name="two" href="../a.html">a</a> <a href="https://example.org/x">x</a> <a href="f%20x.csv">f</a>'
    )
    (site / "sub" / "f x.csv").write_text("1")
    check_html(site)


def test_names_are_told_apart_as_the_compiler_does():
    assert names("a = [i for i in b]") == ({"a"}, {"b"})
    assert names("def f(x):\n    y = x + z\n    return y\nimport os.path as p, sys") == ({"f", "p", "sys"}, {"z"})
    assert names("def t():\n    v = v0\n    assert all(v == u for u in us)") == ({"t"}, {"v0", "us"})
    assert names("try: pass\nexcept Error as e: e.args\nprint(len(s := 'x'))") == ({"e", "s"}, {"Error"})


def test_strings_over_several_lines_keep_their_text():
    block = 'text = """one\n  two\nthree"""\nif text:\n    more = f"""{text}\nend"""'
    scope = {}
    exec("def f():\n" + publish._indent(block) + "\n    return text, more\nresult = f()", scope)
    assert scope["result"] == ("one\n  two\nthree", "one\n  two\nthree\nend")


def test_only_what_a_test_needs_is_pulled_in(cell_adf9f9ce):
    name, text = pytest_module(toy, "toys")
    assert name == "test_toy.py"
    assert text.split("\n\n\n")[0].split("\n") == [
        "# AUTOGENERATED! DO NOT EDIT! File to edit: nbs/00_toy.ipynb.",
        "from toys.toy import double",
        "import math",
        "import numpy as np",
        "import pytest",
    ]
    assert "def test_twice_two_is_four(cell_a3):" in text and "four + 1" not in text
    assert pytest_module(toy, "toys")[1] == text
    apart = write_notebook(
        toy.with_name("02_apart.ipynb"),
        "#| default_exp apart",
        "#| export\nprint('registered')",
        "#| test: one is one\nassert 1 == 1",
    )
    assert pytest_module(apart, "toys")[1].split("\n\n\n")[0].split("\n")[1:] == ["import pytest", "import toys.apart"]
    apart.unlink()
    typed = write_notebook(
        toy.with_name("03_typed.ipynb"),
        "#| default_exp typed",
        "#| export\nif TYPE_CHECKING:\n    import math",
        "#| test: pi is more than three\nassert math.pi > 3",
    )
    header = pytest_module(typed, "toys")[1].split("\n\n\n")[0].split("\n")
    assert header[1:] == ["import math", "import pytest", "import toys.typed"]  # and not from toys.typed
    typed.unlink()


def test_what_cannot_become_a_test_is_refused_by_notebook_and_cell(cell_adf9f9ce):
    def refuse(*cells, match):
        with pytest.raises(ValueError, match=match):
            pytest_module(write_notebook(toy.with_name("01_bad.ipynb"), *cells))


    refuse("#| test: lost\nassert nowhere", match=r'nbs/01_bad.ipynb, cell "lost" \(a0\): \'nowhere\' is not defined')
    refuse(
        "x = 1",
        "x = 2",
        "#| test: which\nassert x",
        match=r'"which" .*x. is bound in more than one cell \(cell "x = 1" \(a0\), cell "x = 2"',
    )
    refuse("#| test: one\nassert 1", "#| test: One\nassert 1", match="a second test with this name")
    refuse("#| test: one\ny = 1", "#| test: two\nassert y", match="'y' is not defined")
    refuse("#| test: one\nassert (", match="01_bad.ipynb")


def test_a_false_assertion_in_a_notebook_fails_pytest_and_points_to_its_cell(cell_339aad0c):
    assert broken.returncode == 1 and "1 failed, 1 passed" in broken.stdout
    assert "AssertionError: not a third" in broken.stdout and "At index 0 diff: 7 != 8" in broken.stdout
    assert 'notebook nbs/02_try.ipynb, cell "a third" (a2)' in broken.stdout


def test_a_failing_example_is_the_failure_of_the_tests_that_need_it_and_of_no_others(cell_339aad0c):
    ran = try_cells(
        "z = 1 // 0",
        "#| test: needs z\nassert z",
        "#| test: needs nothing\nassert True",
        "#| test: later\n#| slow\nassert False",
    )
    assert "1 passed, 1 skipped, 1 error" in ran.stdout and "ZeroDivisionError" in ran.stdout
    assert 'notebook nbs/02_try.ipynb, cell "needs z" (a1)' in ran.stdout


def test_what_differs_from_the_notebooks_is_named_and_regenerating_repairs_it(cell_730cddf9):
    assert written == ["tests/conftest.py", "tests/test_toy.py", "toys/__init__.py", "toys/toy.py"]
    assert check_generated(repo) == [] == regenerate(repo)
    (repo / "toys" / "toy.py").write_text("def double(x): return 3 * x\n")
    (repo / "tests" / "test_toy.py").unlink()
    (repo / "tests" / "test_gone.py").write_text("# AUTOGENERATED! DO NOT EDIT! File to edit: nbs/09_gone.ipynb.\n")
    (repo / "tests" / "test_mine.py").write_text("def test_mine(): pass\n")
    found = [line.split(": ")[0] for line in check_generated(repo)]
    assert found == ["toys/toy.py", "tests/test_toy.py", "tests/test_gone.py", "tests/test_mine.py"]
    assert regenerate(repo) == ["tests/test_toy.py", "toys/toy.py", "tests/test_gone.py"]
    assert check_generated(repo) == ["tests/test_mine.py: no notebook generates it"]
    (repo / "tests" / "test_mine.py").unlink()


def test_generated_tests_run_against_the_generated_library(cell_730cddf9):
    assert "tests/test_toy.py" in written
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", "tests"],
        cwd=repo,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(repo), "PATH": ""},
    )
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_a_room_is_a_package_with_its_first_page_s_first_sentence_and_its_tests_lie_in_a_folder_of_the_same_name(cell_adf9f9ce, cell_730cddf9):
    hall = repo / "nbs" / "01_hall"
    inside = write_notebook(
        hall / "02_door.ipynb", "#| default_exp hall.door", "#| export\nopen_ = True", "#| test: open\nassert open_"
    )
    (hall / "index.md").write_text("# Hall\n\nDoors are opened here. More.\n")
    files, problems = generated(repo)
    assert not problems and files["toys/hall/__init__.py"] == '"Doors are opened here."\n'
    assert "from toys.hall.door import open_" in files["tests/hall/test_door.py"]
    assert publish._test_file(write_notebook(hall / "03_bare.ipynb", "1")) == "hall/test_bare.py"
    shutil.rmtree(hall)


def test_an_import_of_a_later_room_breaks_the_contract_also_inside_a_function():
    root = checkout()
    copied = Path(tempfile.mkdtemp())
    shutil.copytree(root / "vocab_lit", copied / "vocab_lit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "pyproject.toml", copied)


    def lint_imports():
        command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
        return subprocess.run(
            command, cwd=copied, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(copied)}
        )


    assert lint_imports().returncode == 0
    with (copied / "vocab_lit" / "text" / "corpus.py").open("a") as f:
        f.write("def look_up():\n    from tools.publish import status\n")
    broken_contract = lint_imports()
    assert broken_contract.returncode == 1 and "vocab_lit.text.corpus -> tools.publish" in broken_contract.stdout


def test_an_output_is_found_by_notebook_and_cell_and_cleaning_keeps_tags(cell_adf9f9ce, cell_730cddf9):
    nb = nbformat.read(write_notebook(repo / "nbs" / "03_dirty.ipynb", "1 + 1", "2 + 2"), as_version=4)
    nb.cells[1].execution_count = 7
    nb.cells[1].outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "4"}, execution_count=7)]
    nb.cells[1].metadata = {"tags": ["parameters"], "collapsed": False}
    nbformat.write(nb, repo / "nbs" / "03_dirty.ipynb")
    assert check_clean(repo) == ['nbs/03_dirty.ipynb, cell "2 + 2" (a1): has outputs, execution_count, metadata collapsed']
    assert clean(repo) == ["nbs/03_dirty.ipynb"] and check_clean(repo) == [] == clean(repo)
    cleaned = nbformat.read(repo / "nbs" / "03_dirty.ipynb", as_version=4)
    assert cleaned.cells[1].metadata == {"tags": ["parameters"]} and cleaned.cells[1].source == "2 + 2"
    (repo / "nbs" / "03_dirty.ipynb").unlink()


def test_a_condition_inside_a_condition_is_found_also_below_a_call(cell_adf9f9ce, cell_730cddf9):
    nested = "y = f(1 if a else 2) if b else 3"
    one = write_notebook(repo / "nbs" / "03_twice.ipynb", "x = 1 if a else 2", nested, "[1 if a else 2]")
    assert [line.split(": f(")[0] for line in check_conditionals(repo)] == [f'nbs/03_twice.ipynb, cell "{nested}" (a1)']
    one.unlink()
    assert check_conditionals(repo) == []


def test_a_long_cell_of_a_chapter_is_found_parameters_have_a_line_each_and_the_library_may_have_long_ones(cell_adf9f9ce, cell_730cddf9):
    long = "\n".join(f"a{n} = {n}" for n in range(LINES + 1))
    one = write_notebook(repo / "book" / "long.ipynb", long.rpartition("\n")[0], long, long)
    nb = nbformat.read(one, as_version=4)
    nb.cells[2].metadata.tags = ["parameters"]
    nbformat.write(nb, one)
    write_notebook(repo / "nbs" / "03_long.ipynb", long)
    assert check_lengths(repo) == ['book/long.ipynb, cell "a0 = 0" (a1): 21 lines, 20 at most']
    nb.cells[2].source = f"# explained on a line of its own\n{long}"
    nbformat.write(nb, one)
    assert check_lengths(repo)[1:] == [
        'book/long.ipynb, cell "# explained on a line of its own" (a2): 22 lines, 21 at most'
    ]
    one.unlink()
    (repo / "nbs" / "03_long.ipynb").unlink()
    assert check_lengths(repo) == []


def test_a_new_address_reaches_text_configuration_and_the_colab_cell(cell_adf9f9ce, cell_730cddf9, cell_76dade81):
    fork = cfg | {"user": "someone", "git_url": "https://github.com/someone/vocab_lit"}
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
    path = write_notebook(repo / "book" / "demo.ipynb", "old")
    nb = nbformat.read(path, as_version=4)
    nb.cells[0].metadata.tags = ["colab"]
    nb.cells.insert(0, nbformat.v4.new_markdown_cell("# A\n<!-- links --><!-- /links -->", id="m0"))
    nb.cells.append(nbformat.v4.new_code_cell('language = "am" # a locale', id="p0", metadata={"tags": ["parameters"]}))
    nbformat.write(nb, path)
    text = stamped(path.read_text(), "book/demo.ipynb", fork)
    assert (
        "vocab_lit[chapters] @ git+https://github.com/someone/vocab_lit@main" in text
        and '"remove-cell"' in text
        and r"begin_on_colab(\"demo\", \"am\", keep_on_drive)" in text
    )
    assert "github/someone/vocab_lit/blob/main/book/demo.ipynb)" in text and stamped(text, "book/demo.ipynb", fork) == text
    badges = stamped("<!-- badges --><!-- /badges -->", "README.md", cfg | {"min_python": "3.19"})
    assert "badge/python-3.19_to_before_3.14-blue" in badges and "/blob/main/LICENSE)" in badges
    with pytest.MonkeyPatch.context() as patch:
        computed = []
        patch.setitem(FACTS, "averages", lambda: computed.append(1) or "3 of 7")
        found = stamped("Of <!-- averages -->1 of 7<!-- /averages --> none", "README.md", cfg)
        assert found == "Of <!-- averages -->3 of 7<!-- /averages --> none"
        stamped("<!-- repository --><!-- /repository -->", "README.md", cfg)
        assert len(computed) == 1  # what a page does not have is not computed for it
    with pytest.raises(ValueError, match="no text for the marker '<!-- colour -->"):
        stamped("<!-- colour --><!-- /colour -->", "README.md", cfg)
    path.unlink()


def test_the_colab_cell_keeps_what_is_in_memory_stores_results_on_the_drive_if_asked_and_does_nothing_elsewhere():
    content, calls, printed = Path(tempfile.mkdtemp()), [], []
    assert callable(studies.budget.begin_on_colab)  # imported before this looks like Colab
    source = publish._COLAB_CELL.replace("CHAPTER", "focus").replace("LANGUAGE", "sw")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", lambda *args, **kwargs: calls.append(args[0]))
        patch.chdir(content)
        patch.setattr(studies.budget, "COLAB", content)
        exec(source, {})
        assert not calls and not list(content.iterdir())
        patch.setitem(sys.modules, "google", types.ModuleType("google"))
        patch.setitem(
            sys.modules,
            "google.colab",
            types.SimpleNamespace(
                drive=types.SimpleNamespace(mount=lambda at: calls.append(at)),
                __spec__=ModuleSpec("google.colab", None),  # as every imported module has one
            ),
        )
        for asked in (False, True):
            exec(source.replace("keep_on_drive = False", f"keep_on_drive = {asked}"), {"print": printed.append})
            assert Path.cwd().resolve() == (content / ("drive/MyDrive" if asked else "") / "vocab_lit" / "book").resolve()
    first, second, mounted = calls
    assert (
        first == second
        and first[1:5] == ["-m", "pip", "install", "-q"]
        and first[5].startswith("torch==2.")
        and first[-1] == "PACKAGE"
        and mounted == str(content / "drive")
    )
    assert "scale mini" in printed[0] and "scale paper" in printed[0] and "GB" in printed[0]


def test_a_chapter_is_a_notebook_a_list_of_languages_and_lines_of_contents(cell_adf9f9ce):
    site = Path(tempfile.mkdtemp())
    for name in ("hello", "extra", "hall"):
        write_notebook(site / "book" / f"{name}.ipynb", "1")
    (site / "book" / "chapters.yml").write_text(
        "chapters:\n  hello:\n    sw:\n    am: {seeds: 1}\n  lost: {sw: {}}\npages: [hall]\n"
    )
    (site / "_toc.yml").write_text(
        "- file: book/runs/hello-sw\n- file: book/runs/hello-am2\n# - file: book/runs/hall\n- file: book/runs/lost-sw\n"
    )
    assert chapters(site) == {"hello": {"sw": {}, "am": {"seeds": 1}}, "lost": {"sw": {}}} and pages(site) == ["hall"]
    assert check_chapters(site) == [
        "book/chapters.yml: lost has no notebook book/lost.ipynb",
        "book/extra.ipynb: not in book/chapters.yml",
        "_toc.yml: has no line `- file: book/runs/hello-am`",
        "_toc.yml: has no line `- file: book/runs/hall`",
        "book/hello.ipynb: no cell is tagged colab",
    ]
    (site / "book" / "chapters.yml").write_text("chapters:\npages:\n")
    assert chapters(site) == {} and pages(site) == []


def test_values_go_into_the_author_s_lines_and_unknown_names_are_refused(cell_48052382):
    assert tiny["cells"][0]["source"] == "language = 'ti' # a locale\nscale = \"mini\"\nseed = 0\nsteps:int = 5 # updates"
    with pytest.raises(
        ValueError,
        match=r"chapter demo has no parameter lr, stpes \(did you mean steps\?\); it has language, scale, seed, steps",
    ):
        set_parameters(tiny, "chapter demo", stpes=1, lr=2)
    with pytest.raises(ValueError, match="no cell is tagged 'parameters'"):
        set_parameters({"cells": []}, "demo")


def test_a_run_has_its_own_values_labels_and_title_and_keeps_its_outputs(cell_7b562f48):
    done = nbformat.read(hello, as_version=4)
    assert done.cells[0].source.startswith("(first-label-am)=\n# Hello (Amharic)\n\n[Open in Colab](https://colab")
    assert (
        "[](first-label-am), [toy](../library/00_toy.ipynb), [other](other-ka.ipynb#end) and [hall](hall.ipynb)"
        in done.cells[0].source
    )
    assert done.cells[1].source.startswith("language = 'am'") and done.cells[2].outputs[0].text == "hello, am\n"
    assert all("papermill" not in c.metadata and "execution" not in c.metadata for c in done.cells)


def test_a_page_is_made_again_only_when_something_it_depends_on_has_changed(cell_730cddf9, cell_7b562f48):
    first = run_hello().stat().st_mtime_ns
    assert run_hello().stat().st_mtime_ns == first
    (repo / "records").mkdir()
    (repo / "records" / "1.json").write_text("1\n")
    second = run_hello().stat().st_mtime_ns
    assert second > first
    (repo / "toys" / "extra.py").write_text("x = 1\n")
    assert run_hello().stat().st_mtime_ns > second


def test_a_page_whose_text_alone_has_changed_takes_the_outputs_that_are_there(cell_7b562f48):
    before = nbformat.read(run_hello(), as_version=4)
    greeting = nbformat.read(page, as_version=4)
    greeting.cells[0].source = greeting.cells[0].source.replace("# Hello", "# Good day")
    nbformat.write(greeting, page)
    with mock.patch.object(publish, "_run", side_effect=AssertionError("executed again")):
        after = nbformat.read(run_hello(), as_version=4)
    assert after.cells[0].source.startswith("(first-label-am)=\n# Good day (Amharic)")
    assert [c.outputs for c in after.cells[1:]] == [c.outputs for c in before.cells[1:]] != [[]]
    assert after.metadata.made.at == before.metadata.made.at
    greeting.cells[2].source += "\nprint('and more')"
    nbformat.write(greeting, page)
    assert nbformat.read(run_hello(), as_version=4).cells[2].outputs[0].text == "hello, am\nand more\n"


def test_links_lead_from_page_to_page_in_the_same_language_where_there_is_one(cell_730cddf9):
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
        assert page_links(f"[a]({link})", "book", "book/runs", repo, "am") == f"[a]({page_link})"
    assert (
        page_links("[a](nbs/00_toy.ipynb) [b](hello.ipynb)", "book", "book", repo)
        == "[a](nbs/00_toy.ipynb) [b](runs/hello-sw.ipynb)"
    )
    text = "[a](01_more.ipynb#x) [b](../../book/hello.ipynb) [c](../03_next/01_y.ipynb)"
    found = page_links(text, "nbs/02_room", "book/library/02_room", repo)
    assert found == "[a](01_more.ipynb#x) [b](../../runs/hello-sw.ipynb) [c](../03_next/01_y.ipynb)"


def test_a_page_shows_a_test_without_running_it_and_a_figure_s_numbers_lie_beside_the_page(cell_adf9f9ce, cell_730cddf9):
    plotted = """class Figure:
    def _repr_mimebundle_(self, **kwargs):
        data = {"image/png": "aGk=", "text/csv": "a,b\\n1,2\\n", "text/plain": "<Figure>"}
        return data, {"image/png": {"alt": "a rising line"}}
Figure()"""
    shown = write_notebook(
        repo / "book" / "shown.ipynb",
        "#| test: not here\nraise SystemExit",
        plotted,
        "#| fig-alt: by hand\nclass Hand:\n    def _repr_png_(self): return b'hi'\nHand()",
        "import os, tempfile, vocab_lit\nprint(os.path.basename(os.getcwd()), tempfile.mkdtemp() + '/a')",
        "print(vocab_lit.__file__)",
    )
    folders = []
    with mock.patch("os.chdir", side_effect=folders.append):
        cells = nbformat.read(publish._execute(shown, repo / "book" / "runs" / "shown.ipynb", "shown"), as_version=4).cells
    assert set(folders) <= {os.getcwd()}  # other pages are made by this process at the same time
    assert [c.cell_type for c in cells] == ["code", "code", "markdown", "code", "code", "code"]
    assert "<data/shown-a1.csv>" in cells[2].source
    assert [c.metadata.get("mystnb") for c in cells if c.cell_type == "code"] == [
        None,
        {"image": {"alt": "a rising line"}},
        {"image": {"alt": "by hand"}},
        None,
        None,
    ]
    told = [c.outputs[0].text for c in cells[-2:]]
    assert told == ["book FOLDER/a\n", "vocab_lit/__init__.py\n"]  # nothing of this machine
    assert (repo / "book" / "runs" / "data" / "shown-a1.csv").read_text() == "a,b\n1,2\n"
    assert list(cells[1].outputs[0].data) == ["image/png", "text/plain"]
    shown.unlink()


def test_a_failing_cell_is_named_with_its_chapter_and_error(cell_730cddf9, cell_7b562f48):
    with pytest.raises(RuntimeError, match=r'^chapter hello \(am\): the cell that begins "print.*" failed with Assert'):
        publish._execute(page, repo / "book" / "runs" / "hello-sw.ipynb", "chapter hello (am)", params={"boom": True})
    assert not (repo / "book" / "runs" / "hello-sw.ipynb").exists()
    with pytest.raises(ValueError, match="no chapter 'nowhere'"):
        run_chapter("nowhere", "sw")
    with pytest.raises(ValueError, match="no scale 'huge'"):
        run_chapter("focus", "sw", "huge")
    with pytest.raises(ValueError, match="give a code such as sw"):
        run_chapter("focus", "../x", "custom")
    with pytest.raises(ValueError, match="zz9"):
        run_chapter("focus", "zz9")
    with pytest.raises(
        ValueError, match=r"chapter focus \(sw\) has no parameter seed \(did you mean seeds\?\); it has language, scale"
    ):
        run_chapter("focus", "sw", parameters={"seed": 1})
    assert chapter_defaults("focus")["scale"] == "mini" and list(chapter_defaults("wechsel"))[:2] == ["language", "scale"]
    with pytest.raises(ValueError, match="no chapter 'nowhere'"):
        chapter_defaults("nowhere")


def test_a_run_begins_after_what_it_needs_the_longest_way_first_and_a_failure_stops_only_what_needs_it(cell_17bbb17f):
    log.clear()
    assert {p.name for p in run_jobs(toy_jobs, 1)} == set(toy_jobs) and log == ["a-1", "a-2", "b", "last", "c"]
    log.clear()
    run_jobs(toy_jobs, 2)
    assert set(log[:2]) == {"a-1", "b"} and log.index("last") > log.index("a-2")
    log.clear()
    with pytest.raises(RuntimeError, match="^boom\na-2: not run, since a-1 failed\nlast: not run, since a-1 failed$"):
        run_jobs(toy_jobs | {"a-1": PageJob(sleeper("a-1", error="boom"), 1, [])}, 1)
    assert log == ["a-1", "b", "c"]


def test_a_forked_kernel_finds_its_modules_imported_and_is_otherwise_as_any_other(cell_adf9f9ce, cell_730cddf9, cell_7b562f48):
    if sys.platform != "linux":
        pytest.skip("kernels are forked on Linux only")
    asked = write_notebook(
        repo / "book" / "asked.ipynb",
        "import os, subprocess, sys\nfound = 'tabnanny' in sys.modules, os.path.basename(os.getcwd())",
        "print(*found, subprocess.run('exit 3', shell=True).returncode, os.environ['TQDM_DISABLE'])",
    )
    fails = write_notebook(repo / "book" / "fails.ipynb", "raise ArithmeticError")
    dies = write_notebook(repo / "book" / "dies.ipynb", "import os\nos._exit(1)")
    draws = write_notebook(
        repo / "book" / "draws.ipynb",
        "import matplotlib.pyplot as plt\nline = plt.plot([1, 2])",
        "import pandas as pd\nprint(pd.get_option('display.max_columns'))",
    )
    with publish.forked_kernels(["tabnanny", "ipykernel.kernelapp", "matplotlib.pyplot", "pandas"]):
        answered = nbformat.read(publish._execute(asked, hello.with_name("asked.ipynb"), "asked"), as_version=4)
        drawn = nbformat.read(publish._execute(draws, hello.with_name("draws.ipynb"), "draws"), as_version=4)
        with pytest.raises(RuntimeError, match="failed with ArithmeticError"):
            publish._execute(fails, hello.with_name("fails.ipynb"), "fails")
        with pytest.raises(Exception, match="Kernel died"):
            publish._execute(dies, hello.with_name("dies.ipynb"), "dies")
    assert answered.cells[1].outputs[0].text == "True book 3 1\n"
    assert ["image/png" in o.data for o in drawn.cells[0].outputs] == [True]
    assert drawn.cells[1].outputs[0].text == "20\n"  # as in a usual kernel
    usual = nbformat.read(publish._execute(asked, hello.with_name("usual.ipynb"), "asked"), as_version=4)
    assert usual.cells[1].outputs[0].text.startswith("False book 3")


def test_no_library_notebook_runs_its_command_line_when_it_is_a_page():
    commands = [
        line
        for path in library_notebooks(checkout())
        for cell in code_cells(path)
        for line in cell.source.splitlines()
        if re.match(r"if __name__ == .__main__.", line)
    ]
    assert commands and all('"__file__" in globals()' in line for line in commands), commands


def test_the_reference_has_every_public_name_with_its_section_and_its_first_line(cell_adf9f9ce, cell_730cddf9):
    listed = write_notebook(
        repo / "nbs" / "04_listed.ipynb",
        "#| default_exp listed",
        "\n".join(
            [
                "#| export",
                'def f(x): # no\n    "Does a | b.\\nMore."',
                'class K:\n    "A kind."',
                "def _hidden(): pass",
                "SIZE = 3 # tokens\nBOTH = (1, 2)",
                'Text = Annotated[str, Option("--text", help="A file.")]',
            ]
        ),
        "def example(): pass",
        "#| export\nLIMIT:int = 2",
    )
    nb = nbformat.read(listed, as_version=4)
    nb.cells.insert(1, nbformat.v4.new_markdown_cell("## What `f` does, and why", id="h1"))
    nbformat.write(nb, listed)
    assert public_names(listed) == {
        "f": ("what-f-does-and-why", "Does a | b."),
        "K": ("what-f-does-and-why", "A kind."),
        "SIZE": ("what-f-does-and-why", "tokens"),
        "BOTH": ("what-f-does-and-why", "`(1, 2)`"),
        "Text": ("what-f-does-and-why", "A file."),
        "LIMIT": ("what-f-does-and-why", "`2`"),
    }
    assert (
        "## `vocab_lit.listed`\n\n[04_listed](04_listed.ipynb)\n\n| name | what it is |\n| --- | --- |\n"
        "| [`f`](04_listed.ipynb#what-f-does-and-why) | Does a \\| b. |\n"
    ) in reference(repo)
    listed.unlink()
    whole = reference()
    assert (
        all(f"[`{name}`](10_book/01_publish.ipynb#" in whole for name in ("checkout", "run_all", "PageJob"))
        and "`_page`" not in whole
    )


def test_the_status_names_every_page_with_its_time_and_what_took_too_long(cell_06962df4):
    assert (
        "9 minutes of run time for chapters and comparisons and 0 minutes" in told
        and "torch" in told.split("## Chapters")[0]
    )
    assert (
        "| page | parameters | seconds | made |\n| --- | --- | --- | --- |\n"
        "| [hello-sw](hello-sw.ipynb) | `language = sw`, `seeds = 1` | 500 **over the limit** | 2026-01-02 03:04 |\n"
        "| [hello-am](hello-am.ipynb) | `language = am`, `seeds = 1` | 40 | 2026-01-02 03:04 |\n"
        "| [hall](hall.ipynb) |  | 6 |"
    ) in told
    assert (
        "hello-ka" not in told
        and "| hello | 1 | 1.5 | 1 | 1.5 | 0 of 0 | 20" in told
        and "| page | seconds | made |\n| --- | --- | --- |\n| [00_lib](../library/00_lib.ipynb) | 6 | 2026" in told
    )


def test_the_first_language_of_a_chapter_runs_before_the_others_pages_after_all_times_come_from_earlier_pages(cell_06962df4):
    made_of = publish._jobs(home)
    assert list(made_of) == ["hello (sw)", "hello (am)", "hello (ka)", "hall", "00_lib"]
    assert [job.seconds for job in made_of.values()] == [500, 40, 240, 6, 6]
    assert [j.after for j in made_of.values()] == [
        [],
        ["hello (sw)"],
        ["hello (sw)"],
        ["hello (sw)", "hello (am)", "hello (ka)"],
        [],
    ]


def test_every_page_of_the_contents_has_its_source_and_llms_txt_lists_the_pages():
    here = checkout()
    sources = source_files(here)
    assert sources["book/runs/focus-am"] == sources["book/runs/focus-sw"] == "book/focus.ipynb"
    assert sources["book/runs/claims"] == "book/claims.ipynb" and sources["book/guide"] == "book/guide.md"
    assert sources["book/library/04_methods/08_focus"] == "nbs/04_methods/08_focus.ipynb"
    assert sources["book/library/04_methods/index"] == "nbs/04_methods/index.md"
    assert "book/runs/status" not in sources and all((here / file).is_file() for file in sources.values())
    listed = llms_text(here)
    assert "[FOCUS: new tokens from overlapping ones](book/runs/focus-sw.html)" in listed
    addresses = re.findall(r"\]\((.+)\.html\)", listed)
    assert len(set(addresses)) == len(addresses) and set(addresses) <= set(sources)
    assert len(addresses) > len(library_notebooks(here)) + len(chapters(here))
    linked = re.findall(r"vocab_lit/(book/[\w/-]+)\.html\)", (here / "README.md").read_text(encoding="utf-8"))
    assert linked and set(linked) <= sources.keys()


def test_dead_links_dead_sections_undescribed_images_and_what_comes_from_the_network_are_found(cell_ab85e56b):
    assert check_html(site) == ([], ["https://example.org/x"]) == check_html(site, {"https://example.org/y": site})
    assert check_html(site, {"https://example.org/": site})[0] == [
        "sub/b.html: https://example.org/x is no file of the repository"
    ]
    (site / "x").write_text("")
    assert check_html(site, {"https://example.org/": site})[0] == []
    bad = Path(tempfile.mkdtemp()).resolve()
    (bad / "a.html").write_text(
        '<a href="gone.html"></a><a href="#none"></a><a href="b.html#none"></a><a href="htp:/x"></a>'
        '<a href="https://no host/"></a><script src="https://cdn.example.org/x.js"></script><img src="b.html">'
        '<img src="b.html?1" alt="b.html?1"><link rel="stylesheet" href="//fonts.example.org/f.css">'
    )
    (bad / "b.html").write_text("")
    assert check_html(bad)[0] == [
        "a.html: the image b.html has no description",
        "a.html: the image b.html?1 has no description",
        "a.html: #none has no such section",
        "a.html: //fonts.example.org/f.css is no address",
        "a.html: b.html#none has no such section",
        "a.html: the link gone.html leads nowhere",
        "a.html: htp:/x is no address",
        "a.html: loads https://cdn.example.org/x.js from the network",
        "a.html: https://no host/ is no address",
    ]


def test_the_book_is_built_from_records_or_anew_and_another_word_is_refused_before_anything_is_run():
    assert publish._is_anew("anew")
    with pytest.raises(ValueError, match="unknown argument 'new' of book; there is only anew"):
        publish._main("book", "new")
