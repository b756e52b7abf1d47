import subprocess

import nbformat

from tools import checks
from tools.chapters import chapters, pages
from tools.checks import (
    CELL_LINES,
    CELL_MARGIN,
    CLASS_LINES,
    LINES,
    check_cells,
    check_chapters,
    check_conditionals,
    check_counts,
    check_lengths,
    check_line_ends,
    check_top,
)
from tools.notebooks import checkout, code_cells, library_notebooks
from tools.tests.toys import read, write_notebook


def test_a_condition_inside_a_condition_is_found_also_below_a_call_and_in_plain_modules(repo):
    nested = "y = f(1 if a else 2) if b else 3"
    write_notebook(repo / "nbs" / "03_twice.ipynb", "x = 1 if a else 2", nested, "[1 if a else 2]")
    assert [line.split(": f(")[0] for line in check_conditionals(repo)] == [f'nbs/03_twice.ipynb, cell "{nested}" (a1)']
    (repo / "nbs" / "03_twice.ipynb").unlink()
    assert check_conditionals(repo) == []
    (repo / "tools").mkdir()
    (repo / "tools" / "odd.py").write_text(nested)
    assert [line.split(": f(")[0] for line in check_conditionals(repo)] == ["tools/odd.py"]


def test_a_long_cell_of_a_chapter_is_found_parameters_have_a_line_each_and_the_library_may_have_long_ones(repo):
    long = "\n".join(f"a{n} = {n}" for n in range(LINES + 1))
    chapter = repo / "book" / "long.ipynb"
    write_notebook(chapter, long.rpartition("\n")[0], long, long, tags={2: ["parameters"]})
    write_notebook(repo / "nbs" / "03_long.ipynb", long)
    assert check_lengths(repo) == ['book/long.ipynb, cell "a0 = 0" (a1): 21 lines, 20 at most']
    nb = read(chapter)
    nb.cells[2].source = f"# explained on a line of its own\n{long}"
    nbformat.write(nb, chapter)
    assert check_lengths(repo)[1].endswith('"# explained on a line of its own" (a2): 22 lines, 21 at most')
    chapter.unlink()
    assert check_lengths(repo) == []


def test_an_exported_cell_holds_one_function_one_class_or_small_definitions_and_a_larger_one_is_named(repo):
    def function(name, lines):
        return "\n".join([f"def {name}():", *["    pass"] * (lines - 1)])

    def written(*cells, room="06_training"):
        write_notebook(repo / "nbs" / room / "00_long.ipynb", *(f"#| export\n{cell}" for cell in cells))
        return check_cells(repo)

    most = CELL_LINES + CELL_MARGIN - 1  # beside the directive
    one_class = "\n".join(["class C:", *["    a = 0"] * (CLASS_LINES + CELL_MARGIN - 2)])
    assert written(function("f", most), one_class, "x = 0\n" * 200, f"{function('g', 9)}\n{function('h', 9)}") == []
    assert written(function("f", most + 1)) == ["nbs/06_training/00_long.ipynb, f: 65 lines, 60 at most"]
    assert written(f"{one_class}\n    b = 0") == ["nbs/06_training/00_long.ipynb, C: 105 lines, 100 at most"]
    two = f"{function('f', 40)}\n{function('g', 40)}"
    assert written(two) == ["nbs/06_training/00_long.ipynb, f, g: 81 lines, 60 at most"]
    assert written(f"{one_class}\n{function('f', 2)}")[0].startswith("nbs/06_training/00_long.ipynb, C, f: 106")
    assert written("x = 0") == [] and written(two, room="01_text") == []
    write_notebook(repo / "nbs" / "06_training" / "00_long.ipynb", two)  # an example
    assert check_cells(repo) == []


def test_text_that_ends_its_lines_as_the_system_does_is_found_in_the_library(repo):
    (repo / "vocab_lit").mkdir(exist_ok=True)
    writes = "Path(x).write_text(y{})\nopen(x, 'w'{})\nopen(x, 'wb')\nopen(x)\nwrite_text(x)\ntable.to_csv({})\n"
    (repo / "vocab_lit" / "writes.py").write_text(writes.format("", "", "x"))
    told = [f"vocab_lit/writes.py, line {n}: {how} is not given" for n, how in ((1, "newline"), (2, "newline"))]
    assert check_line_ends(repo) == [*told, "vocab_lit/writes.py, line 6: lineterminator is not given"]
    (repo / "vocab_lit" / "writes.py").write_text(writes.format(*[", newline='\\n'"] * 2, ""))
    assert check_line_ends(repo) == []


def test_a_file_or_folder_that_git_keeps_at_the_top_is_one_of_those_that_are_expected_there(repo):
    assert check_top(repo) == []  # no repository of git
    (repo / "notes").mkdir()
    for name in ("STOP.txt", "notes/today.md", "left.txt"):
        (repo / name).write_text("x")
    for command in (["init", "-q"], ["add", "nbs", "settings.ini", "STOP.txt", "notes"]):
        subprocess.run(["git", *command], cwd=repo, check=True)
    assert check_top(repo) == ["STOP.txt: stands at the top", "notes: stands at the top"]
    subprocess.run(["git", "rm", "-q", "--cached", "-r", "STOP.txt", "notes"], cwd=repo, check=True)
    assert check_top(repo) == [] == check_top(checkout())


def test_a_chapter_is_a_notebook_a_list_of_languages_and_lines_of_contents(tmp_path):
    for name in ("hello", "extra", "hall"):
        write_notebook(tmp_path / "book" / f"{name}.ipynb", "1")
    listed = tmp_path / "book" / "chapters.yml"
    listed.write_text("chapters:\n  hello:\n    sw:\n    am: {seeds: 1}\n  lost: {sw: {}}\npages: [hall]\n")
    (tmp_path / "_toc.yml").write_text(
        "- file: book/runs/hello-sw\n- file: book/runs/hello-am2\n# - file: book/runs/hall\n- file: book/runs/lost-sw\n"
    )
    assert chapters(tmp_path) == {"hello": {"sw": {}, "am": {"seeds": 1}}, "lost": {"sw": {}}}
    assert pages(tmp_path) == ["hall"]
    assert check_chapters(tmp_path) == [
        "book/chapters.yml: lost has no notebook book/lost.ipynb",
        "book/extra.ipynb: not in book/chapters.yml",
        "_toc.yml: has no line `- file: book/runs/hello-am`",
        "_toc.yml: has no line `- file: book/runs/hall`",
        "_toc.yml: there is no book/runs/hello-am2",
    ]
    listed.write_text("chapters:\npages:\n")
    assert chapters(tmp_path) == {} and pages(tmp_path) == []


def test_the_contents_have_every_room_of_the_library_and_no_other(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "chapters.yml").write_text("chapters:\npages:\n")
    (tmp_path / "nbs" / "01_hall").mkdir(parents=True)
    (tmp_path / "nbs" / "01_hall" / "index.md").write_text("# Hall\n")
    (tmp_path / "_toc.yml").write_text("- file: book/library/01_hall/index\n- file: book/library/02_gone/index\n")
    assert check_chapters(tmp_path) == [
        "_toc.yml: has no line for book/library/01_hall/[0-9]*",
        "_toc.yml: there is no book/library/02_gone/index",
    ]


def test_no_library_notebook_runs_its_command_line_when_it_is_a_page():
    cells = [cell for path in library_notebooks(checkout()) for cell in code_cells(path)]
    lines = [line for cell in cells for line in cell.source.splitlines()]
    commands = [line for line in lines if line.startswith(("if __name__ == '__main__'", 'if __name__ == "__main__"'))]
    assert commands and all('"__file__" in globals()' in line for line in commands), commands


def test_a_library_that_grows_is_found(repo, monkeypatch):
    (repo / "toys").mkdir(exist_ok=True)
    (repo / "toys" / "grown.py").write_text("x: Any = 1\n" * 3)
    assert check_counts(repo) == []
    monkeypatch.setitem(checks.MOST, "uses of Any", 2)
    assert check_counts(repo) == ["toys: 3 uses of Any, 2 at most"]
