"""Damaged and hostile GGUF files are one line each, write nothing, and take no memory by what their headers promise."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.tests.hostile_gguf import DATA, TEXT, gguf_file, gpt2, hostile, places
from benchmarks.tests.test_robust_commands import call
from benchmarks.tests.toys import file_limit
from vocab_lit.cli.main import app
from vocab_lit.gguf.container import GgufFile
from vocab_lit.gguf.tokens import names_of_ids, token_tables
from vocab_lit.models.check import check_model
from vocab_lit.tokens.gguf_tokenizer import GgufTokenizer

TRIALS = 300  # changed headers of each of two tokenizers
_READ = """
import json, re, resource, sys
from pathlib import Path
from vocab_lit.models.pipeline import trim_files

def in_status(name):  # bytes
    return int(re.search(rf"{name}:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) << 10

size, room = in_status("VmSize"), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
told = {}
for path in sorted(Path(sys.argv[1]).glob("*.gguf")):
    try:
        told[path.name] = trim_files(path, [Path(sys.argv[1], "sw.txt")], Path(sys.argv[1], "never.gguf")) and ""
    except (ValueError, OSError) as e:
        told[path.name] = str(e)
print(json.dumps([in_status("VmHWM") >> 20, told]))
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    "A folder with a text and two files that are whole."
    place = tmp_path_factory.mktemp("hostile")
    (place / "sw.txt").write_text(TEXT)
    (place / "llama.gguf").write_bytes(gguf_file())
    (place / "gpt2.gguf").write_bytes(gguf_file(gpt2()))
    return place


def trim(desk: Path, name: str) -> tuple[int, str]:
    return call("trim", desk / name, "--text", desk / "sw.txt", "--out", desk / "never.gguf")


def test_the_files_are_whole_but_for_what_is_wrong_with_them(desk):
    for name in ("llama.gguf", "gpt2.gguf"):
        assert trim(desk, name) == (0, "")
        (desk / "never.gguf").unlink()


@pytest.fixture(scope="module")
def given(desk) -> dict[str, str]:
    "What is said of each file that is damaged, by its name."
    said_of = {}
    for name, content, said in hostile():
        (desk / f"{name}.gguf").write_bytes(content)
        said_of[f"{name}.gguf"] = said
    return said_of | dict(places(desk))


CALLS = {
    "trim": "FILE --text TEXT --out OUT.gguf",
    "transplant": "FILE --text TEXT --extend 5 --expansion continued --method identity --out OUT.gguf",
    "lapt": "FILE --text TEXT --steps 1 --out OUT",
    "export": "FOLDER --like FILE --out OUT.gguf",
    "inspect": "FILE --text TEXT",
    "check": "WHOLE --source FILE",
}
NOT_REFUSED = {  # whose merges the check of another file does not need, and what may be a model's folder
    ("merges-unknown.gguf", "check"),
    *(("folder.gguf", command) for command in CALLS if command != "trim"),
}


@pytest.mark.parametrize("command", CALLS)
def test_each_is_one_line_and_nothing_is_written(desk, given, command, monkeypatch, tmp_path):
    monkeypatch.setenv("VOCAB_LIT_CACHE", str(tmp_path))
    known = {"TEXT": desk / "sw.txt", "WHOLE": desk / "llama.gguf", "FOLDER": desk}
    known |= {"OUT": desk / "never", "OUT.gguf": desk / "never.gguf"}
    before = sorted(desk.iterdir())
    for name, said in given.items():
        if (name, command) in NOT_REFUSED:
            continue
        words = (known.get(word, desk / name if word == "FILE" else word) for word in CALLS[command].split())
        code, line = call(command, *words)
        assert code == 1 and re.search(said, line) and "\n" not in line, (name, code, line)
        assert line.startswith("vocab-lit: ") and "internal error" not in line, (name, line)
    assert sorted(desk.iterdir()) == before
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_check_and_explain_say_what_is_wrong_with_a_file(desk, given):
    for name, said in given.items():
        (desk / name).with_suffix(".plan.npz").write_bytes(b"")
        for command in (["check", desk / name], ["explain", desk / name, "maji"]):
            result = CliRunner().invoke(app, list(map(str, command)))
            assert result.exit_code == 1 and isinstance(result.exception, SystemExit), (command, result.exception)
            assert "Traceback" not in result.output and "internal error" not in result.output, command
        if (desk / name).is_file() and "-of-" not in name:
            [finding] = [finding for finding in check_model(desk / name) if finding.breaks][:1]
            assert re.search(said, finding.what), (name, finding)
        (desk / name).with_suffix(".plan.npz").unlink()


def test_no_memory_is_taken_by_what_a_header_promises(tmp_path):
    (tmp_path / "sw.txt").write_text(TEXT)
    n = 0
    for name, content, _ in hostile():
        if b"gpt2" not in content:  # whose tokenizer needs transformers
            (tmp_path / f"{name}.gguf").write_bytes(content)
            n += 1
    command = [sys.executable, "-c", _READ, str(tmp_path), str(64 << 20)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, told = json.loads(done.stdout)
    assert len(told) == n > 60 and all(told.values()) and peak < 150, (peak, told)  # MB


def _read(path: Path) -> None:
    "All that trimming reads before it counts."
    file = GgufFile(path)
    GgufTokenizer(file)
    names_of_ids(file)
    token_tables(file)


def test_whatever_bytes_change_in_a_header_it_is_read_or_refused_in_a_line(tmp_path):
    random, path = np.random.default_rng(0), tmp_path / "flipped.gguf"
    outcomes = Counter()
    for fields in (None, gpt2()):
        whole = np.frombuffer(gguf_file(fields), np.uint8)
        header = len(whole) - len(DATA)
        for trial in range(TRIALS):
            flipped = whole.copy()
            at = random.integers(0, header, random.integers(1, 4))
            flipped[at] = random.integers(0, 256, len(at))
            cut = random.integers(0, header) if trial % 5 == 0 else len(whole)
            path.write_bytes(flipped[:cut].tobytes())
            try:
                _read(path)
                outcomes["read"] += 1
            except (ValueError, OSError) as e:
                assert "\n" not in str(e) and len(str(e)) < 1000 and str(path) in str(e), e
                outcomes["refused"] += 1
    assert min(outcomes["read"], outcomes["refused"]) > TRIALS / 10, outcomes


def test_a_full_disk_is_one_line_and_leaves_nothing(desk):
    before = sorted(desk.iterdir())
    for room in (1, 900):
        with file_limit(room):
            code, said = trim(desk, "llama.gguf")
        assert code == 1 and said == f"vocab-lit: cannot write {desk / 'never.gguf'}: File too large", said
    assert sorted(desk.iterdir()) == before
