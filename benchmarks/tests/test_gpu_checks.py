"""The checks that need a GPU, tried without one."""

import json
import shlex
import sys

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from typer.testing import CliRunner

from benchmarks.gpu_checks import Check, checks, error_line, last_line, printed_json, run_check, run_checks
from benchmarks.tables import gpu_report
from vocab_lit.cli.main import app


def python(program: str, seconds: float = 60, read=printed_json) -> Check:
    return Check("one", seconds, [sys.executable, "-c", program], read)


def test_a_check_is_done_fails_or_runs_out_of_time(tmp_path):
    def facts(program, seconds=60.0):
        found = run_check(python(program), seconds, tmp_path / "log")
        return {name: value for name, value in found.items() if name != "seconds"}

    assert facts("print('text'); print('[1,'); print('2] 3')") == dict(status="done", result=[1, 2])
    assert facts("1 / 0") == dict(status="failed", error="ZeroDivisionError: division by zero")
    assert facts("print('text')")["error"] == "what it printed cannot be read: no JSON was printed"
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    late = run_check(python(child), 1.0, tmp_path / "log")
    assert late["status"] == "out of time" and late["seconds"] < 60  # the child that holds the pipe is ended too
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


def test_the_error_of_a_process_is_found_among_those_of_its_launcher():
    errors = "vocab-lit: no text\nTraceback\n  raise ChildFailedError(\ntorch.ChildFailedError: \n=====\n"
    assert error_line(errors) == "vocab-lit: no text"
    assert error_line("[rank0]: ValueError: a\n====") == "ValueError: a" and error_line("a\nb") == "b"
    assert last_line("") == ""


def test_a_check_that_fails_stops_no_other_and_the_record_is_whole_after_each(tmp_path, monkeypatch):
    written, out = [], tmp_path / "new/gpu.json"

    def some(*_):
        yield Check("first", 60, [sys.executable, "-c", "1 / 0"], printed_json)
        written.append(json.loads(out.read_text()))
        yield Check("second", 60, [sys.executable, "-c", "print('{}')"], printed_json)

    monkeypatch.setattr("benchmarks.gpu_checks.checks", some)
    record = run_checks(out)
    assert [*written[0]] == ["first"] and record["second"] == dict(record["second"], status="done", result={})
    assert json.loads(out.read_text()) == record and record["first"]["status"] == "failed"
    assert {check["status"] for check in run_checks(out, minutes=0).values()} == {"no time was left"}


def test_the_commands_of_the_checks_are_accepted(tmp_path):
    given = {check.name: check for check in checks(tmp_path, "", "data/text/sw.txt", False, lambda: 100)}
    assert sum(check.seconds for check in given.values()) < 900 and [*given][-1] == "adapt"
    config = load_config_from_file(given["lapt, FSDP"].command[4])
    assert (config.distributed_type, config.num_processes, config.fsdp_config["fsdp_version"]) == ("FSDP", 1, 2)
    assert given["lapt, FSDP"].command[6:-1] == given["lapt"].command[2:-1]  # but for the folder
    minutes = given["adapt"].command[given["adapt"].command.index("--minutes") + 1]
    assert minutes == "0.92"  # of 100 seconds, 45 for the rest
    for name in ("lapt", "adapt"):
        words = given[name].command[3:]
        result = CliRunner().invoke(app, [*words, "--dry-run"])
        assert result.exit_code == 0, (shlex.join(words), result.output)
    files = [word for word in map(str, given["tests"].command) if "test_" in word]
    assert {file.rpartition("/")[2] for file in files} >= {"test_lapt.py", "test_gpu.py", "test_trainable.py"}


def test_a_page_has_the_record_with_device_and_date_or_says_untested(trial):
    assert gpu_report(None).startswith("**Untested**") and "benchmarks.gpu_checks" in gpu_report(None)
    about = dict(device="NVIDIA X", date="2026-11-29", versions=dict(torch="2.11.0"))
    bits = dict(key="bits", before=2.5, after=2.0)
    record = {
        "environment": dict(status="done", seconds=3.0, result=about),
        "tests": dict(status="done", seconds=9.0, result="5 passed"),
        "lapt": dict(status="done", seconds=9.0, result=[dict(step=0, loss=3.0), dict(step=1, loss=2.5)]),
        "lapt, FSDP": dict(status="failed", seconds=9.0, error="no GPU"),
        "training, 300 tokens": dict(status="done", seconds=9.0, result=trial["gpu"]["runs"]),
        "adapt": dict(status="done", seconds=9.0, result=dict(winner="trim", rows=[bits])),
    }
    shown = gpu_report(record)
    assert shown.startswith("Measured on NVIDIA X, 2026-11-29, torch 2.11.0.")
    for part in ("5 passed", "3.0000 → 2.5000", "no GPU", "trim: 2.50 → 2.00", "tokens per second", "Trainer, bf16"):
        assert part in shown, part
    without = gpu_report({"environment": dict(status="failed", seconds=1.0, error="no torch")})
    assert without.startswith("Measured on unknown device") and "no torch" in without


@pytest.mark.slow
def test_all_checks_run_in_tiny_sizes(tmp_path):
    record = run_checks(tmp_path / "gpu.json", small=True)
    failed = {name: check["error"] for name, check in record.items() if check["status"] != "done"}
    assert not {*failed} - {"lapt, FSDP"}, failed  # which needs a GPU
    assert "passed" in record["tests"]["result"] or "skipped" in record["tests"]["result"]
    if not failed:
        losses = [[point["loss"] for point in record[name]["result"]] for name in ("lapt", "lapt, FSDP")]
        assert losses[1] == pytest.approx(losses[0], abs=1e-3)
    assert gpu_report(record).count("training, ") == 3
