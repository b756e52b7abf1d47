import re
import shlex
import subprocess
import sys
from pathlib import Path

from tools.notebooks import checkout
from tools.tests.toys import write_notebook

PAGE = (checkout() / "book" / "course.md").read_text(encoding="utf-8")


def test_a_class_is_run_and_each_exercise_counted_once(tmp_path):
    (tmp_path / "answers").mkdir()
    once, again, other = 'check("focus-1", [0.6, 0.4, 0])', "check('focus-2', [-1, 1, -1])", 'check("wechsel-2", 0.004)'
    cells = ["from vocab_lit.study.exercises import check", once, "1 / 0", 'check("focus-1", [1, 0, 0])', once]
    cells += [again, 'check("focus-2", [0, 0, 1])', 'check("embedding-structure-1", [5, 13**0.5])']
    cells += [other, f"# @title Solution: 2. A low temperature\n\n{other}"]
    write_notebook(tmp_path / "answers" / "student.ipynb", *cells, tags={8: ["hide-cell"]})
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
