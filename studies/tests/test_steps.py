"""Steps of a folder: each is run once, and again with all that is made of it."""

import json
import shlex

import pytest

from studies.steps import Step, run_step, run_steps
from vocab_lit.text.corpus import data_path

MODEL = shlex.quote(str(data_path("models", "mini-gpt2")))


def test_a_command_is_run_and_measured_and_one_that_fails_ends_all(tmp_path):
    (tmp_path / "a.txt").write_text("habari ya asubuhi\n", encoding="utf-8")
    entry = run_step(Step("x", f"vocab-lit evaluate {MODEL} --task ppl --test a.txt"), tmp_path)
    assert entry["bits_per_byte"] > 0 and entry["cpu_seconds"] > 0.5 and entry["memory_mb"] > 100
    with pytest.raises(SystemExit, match=r"b\.txt"):
        run_step(Step("x", f"vocab-lit evaluate {MODEL} --task ppl --test b.txt"), tmp_path)


def _steps(first="vocab-lit methods"):
    lines = {"half": f"vocab-lit merge {MODEL} {MODEL} --out half", "sizes": "vocab-lit methods --json"}
    half, sizes = (Step(name, command, name * (name == "half")) for name, command in lines.items())
    again = Step("again", f"vocab-lit merge half {MODEL} --out again", "again")
    return [Step("there", "", "there"), Step("first", first), half, again, sizes]


def _ran(capsys):
    return [line.split()[1] for line in capsys.readouterr().out.splitlines()]


def test_a_step_is_run_once_and_one_whose_command_has_changed_again_with_what_is_made_of_it(tmp_path, capsys):
    asked = {"again": {"asked": lambda place: {"files": len(list((place / "again").iterdir()))}}}
    file = tmp_path / "record.json"
    record = run_steps(_steps(), file, asked)
    assert _ran(capsys) == ["methods", "merge", "merge", "methods"]
    assert record == json.loads(file.read_text()) and record["asked"]["files"] > 3 and "there" not in record

    file.write_text(json.dumps(record | {"asked": {"files": -1}}))
    assert run_steps(_steps(), file, asked)["asked"] == {"files": -1} and not _ran(capsys)

    changed = _steps(first="vocab-lit methods --help")
    changed[2] = Step("half", f"vocab-lit merge {MODEL} {MODEL} --weights 1,3 --out half", "half")
    record = run_steps(changed, file, asked)
    assert record["asked"]["files"] > 3  # asked anew of what was made anew
    assert _ran(capsys) == ["methods", "merge", "merge"]  # and not the last one, which reads none of it
