"""Steps of a folder: each is run once, and again with all that is made of it."""

import json
import shlex

import pytest

from studies.trials.steps import Step, run_step, run_steps
from vocab_lit.text.corpus import data_path

MODEL = shlex.quote(str(data_path("models", "mini-gpt2")))


def test_a_command_is_run_and_measured_and_one_that_fails_ends_all(tmp_path):
    (tmp_path / "a.txt").write_text("habari ya asubuhi\n", encoding="utf-8")
    entry = run_step(Step("x", f"vocab-lit evaluate {MODEL} --task ppl --test a.txt"), tmp_path)
    assert entry["bits_per_byte"] > 0 and entry["cpu_seconds"] > 0.5 and entry["memory_mb"] > 100
    with pytest.raises(SystemExit, match=r"b\.txt"):
        run_step(Step("x", f"vocab-lit evaluate {MODEL} --task ppl --test b.txt"), tmp_path)


def _steps(longest=16):
    commands = {
        "there": "",
        "first.txt": "vocab-lit clean text.txt --out first.txt",
        "short.txt": f"vocab-lit clean text.txt --mean-length {longest} --out short.txt",
        "shorter.txt": "vocab-lit clean short.txt --mean-length 5 --out shorter.txt",
        "apart.txt": "vocab-lit clean text.txt --min-tokens 1 --out apart.txt",
    }
    return [Step(f"make {makes}", command, makes) for makes, command in commands.items()]


def _ran(capsys):
    return [line.rpartition(" ")[2] for line in capsys.readouterr().out.splitlines()]


def test_a_step_is_run_once_and_one_whose_command_has_changed_again_with_what_is_made_of_it(tmp_path, capsys):
    (tmp_path / "text.txt").write_text("a bee\nseven letters\nunderstandable contradictions\n", encoding="utf-8")
    asked = {"make shorter.txt": {"asked": lambda place: {"lines": (place / "shorter.txt").read_text().splitlines()}}}
    file = tmp_path / "record.json"
    record = run_steps(_steps(), file, asked)
    assert _ran(capsys) == ["first.txt", "short.txt", "shorter.txt", "apart.txt"] and "make there" not in record
    assert record == json.loads(file.read_text()) and record["asked"] == {"lines": ["a bee"]}

    file.write_text(json.dumps(record | {"asked": {"lines": ["of before"]}}))
    assert run_steps(_steps(), file, asked)["asked"] == {"lines": ["of before"]} and not _ran(capsys)

    assert run_steps(_steps(longest=6), file, asked)["asked"] == {"lines": ["a bee"]}
    assert _ran(capsys) == ["short.txt", "shorter.txt"]  # and nothing of what was made of neither
