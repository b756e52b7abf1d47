"""The command `python -m benchmarks`."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks import parts
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


def test_whole_commands_are_recorded_at_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "AT_REST", -1.0)  # no machine is
    with pytest.raises(ValueError, match="above -1.0 nothing is recorded: .* --loaded"):
        parts.run_bench(["real"], tmp_path / "bench.json", rounds=1)
    assert not (tmp_path / "bench.json").exists()


def test_a_whole_command_is_measured_as_it_runs(trial):
    runs = trial["real"]["runs"]
    assert {run["case"] for run in runs} == {"inspect", "trim, GGUF"} and len(runs) == 4
    for run in runs:  # each imports torch and transformers
        assert run["cpu_seconds"] > 0.5 and run["peak_mb"] > 200 and run["load"] >= 0
