"""The command `python -m benchmarks`."""

import json

from typer.testing import CliRunner

from benchmarks.__main__ import app


def run(*arguments, code=0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    return result.stdout if code == 0 else result.stderr


def test_parts_are_listed_and_measured(tmp_path):
    listed = {row["part"]: row for row in json.loads(run("--folder", tmp_path, "--json"))}
    assert {"focus", "wechsel", "nmf", "lapt", "adapters", "load", "transplant", "memory"} <= set(listed)
    assert listed["focus"]["beside"] == "deepfocus (not installed)" and "nmf" in run()
    measured = run("nmf", "--small", "--folder", tmp_path, "--out", tmp_path / "bench.json")
    assert "| vocab_lit" in measured and "grows with" in measured
    assert json.loads((tmp_path / "bench.json").read_text())["nmf"]["runs"]


def test_an_error_is_one_line():
    assert "no part 'fokus'" in run("fokus", code=1)
