import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat

from tools.notebooks import checkout

PAGE = (checkout() / "book" / "course.md").read_text(encoding="utf-8")


def test_the_notebooks_of_a_class_are_run_and_what_is_right_is_counted(tmp_path):
    (tmp_path / "answers").mkdir()
    cells = ["from vocab_lit.study.exercises import check", 'check("focus-1", [0.6, 0.4, 0])', "1 / 0"]
    cells += ['check("focus-1", [1, 0, 0])', 'check("focus-1", (0.6, 0.4, 0))']
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "answers" / "student.ipynb")
    (command,) = re.findall(r"```bash\n(jupyter .*)\n```", PAGE)
    (count,) = re.findall(r"```python\n(import json.*?)```", PAGE, re.S)
    run = dict(cwd=tmp_path, check=True, capture_output=True, text=True)
    jupyter = shlex.quote(str(Path(sys.executable).with_name("jupyter")))
    subprocess.run(command.replace("jupyter", jupyter, 1), shell=True, **run)
    counted = subprocess.run([sys.executable, "-c", count], **run)
    assert counted.stdout == "student 2 right\n"


def test_the_course_has_every_chapter_of_a_paper():
    chapters = ["focus", "wechsel", "embedding-structure", "unks-everywhere", "mad-x"]
    assert re.findall(r"^\| \d .*?\(([\w-]+)\.ipynb\) \| \d", PAGE, re.M)[1:6] == chapters
