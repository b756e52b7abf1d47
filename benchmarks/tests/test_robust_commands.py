"""Every command of `vocab-lit`: its help, and mistakes told in one line."""

import re
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.tests.toys import file_limit, small_model
from testkit.examples import tiny_model
from testkit.phrasebook import lines
from vocab_lit.cli.main import app
from vocab_lit.text.cleaning import _Hashes
from vocab_lit.tokens.load import load_tokenizer

QUICK = "--steps 1 --batch-size 2 --length 16"
CALLS = {
    "inspect": "inspect MODEL --text TEXT",
    "tokenizer": "tokenizer --text TEXT --vocab-size 300 --out OUT",
    "transplant": "transplant MODEL --text TEXT --vocab-size 300 --method identity --out OUT",
    "factorize": "factorize MODEL --steps 5 --out OUT",
    "lapt": f"lapt MODEL --text TEXT {QUICK} --out OUT",
    "adapter train": f"adapter train MODEL --text TEXT --name sw {QUICK} --out OUT",
    "vectors train": "vectors train --text TEXT --out OUT.vec",
    "ppl": "evaluate MODEL --task ppl --test TEXT",
    "clean": "clean TEXT --out OUT",
    "ner": "evaluate MODEL --task ner --train TEXT --test TEXT --out OUT",
    "adapt": "adapt MODEL --text TEXT --minutes 0.1 --out OUT",
}
FILES = {
    "sw.txt": "\n".join(lines("sw", 200, seed=0)).encode(),
    "names.tsv": b"Maji\tO\n\n" * 40,
    "empty.txt": b"",
    "utf16.txt": "habari\n".encode("utf-16"),
    "wide.txt": "habari\n".encode("utf-16-le"),
    "latin.txt": "schön\n".encode("latin-1"),
    "program": b"\x7fELF\0\0\n",
    "photo": bytes(range(128, 256)),
}
WRONG = {  # {argument: {what is given: what is said}}
    "text": {
        "none.txt": "no such",
        "empty.txt": "empty|too few lines|no line|no sentence",
        "utf16.txt": "utf16.txt is UTF-16 or no text",
        "wide.txt": "wide.txt is UTF-16 or no text",
        "latin.txt": "latin.txt, line 1: not UTF-8",
        "program": "program is UTF-16 or no text",
        "photo": "photo, line 1: not UTF-8",
        "bare": "is a folder|no such|tokenizer.json is JSON over several lines",
    },
    "model": {
        "none": "no such|folder",
        "none/at/all": "no such|folder",
        "bare": "no config.json",
        "torn": "config.json is damaged",
        "full": "no tokenizer here|no config.json",
        "sw.txt": "is a file|not a tokenizer",
    },
    "out": {"full": "exists", "sw.txt/x": "cannot write to"},
}
MISTAKES = [
    (name, kind, given, match)
    for name, words in CALLS.items()
    for kind, mistakes in WRONG.items()
    for given, match in mistakes.items()
    # a tokenizer alone can be looked at
    if kind.upper() in words.split() and not (name == "inspect" and given in ("bare", "torn"))
]


def commands(command=None, path=()) -> list[tuple]:
    "Every command that does something, with its place."
    command = command or typer.main.get_command(app)
    if not hasattr(command, "commands"):
        return [(path, command)]
    return [leaf for name, c in command.commands.items() for leaf in commands(c, (*path, name))]


def call(*arguments) -> tuple[int, str]:
    "Exit code, and what is said besides steps and progress bars."
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), (arguments, result.exception)
    said = [line for line in result.stderr.splitlines() if line and not re.match(r"·|.*\[\d\d:\d\d", line)]
    return result.exit_code, "\n".join(said)


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    "A folder with models, texts and what is neither."
    place = tmp_path_factory.mktemp("desk")
    base = load_tokenizer(tiny_model(place, 400) / "model")
    small_model("T5", base, spare=0).save_pretrained(place / "t5")
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    (place / "full").mkdir()
    (place / "full/mine.txt").write_text("mine")
    for name in ("t5", "bare", "torn"):
        base.save_pretrained(place / name)
    (place / "torn/config.json").write_text("{")
    return place


def attempt(desk, name, model="model", text="", out="out") -> tuple[int, str]:
    "Call a command with something in place of a model, a text or a folder."
    text = text or ("names.tsv" if name == "ner" else "sw.txt")
    places = {"MODEL": desk / model, "TEXT": desk / text, "OUT": desk / out, "OUT.vec": desk / f"{out}.vec"}
    return call(*(places.get(word, word) for word in CALLS[name].split()))


def check_mistakes(desk, mistakes):
    before = {p: p.stat().st_mtime_ns for p in desk.rglob("*")}
    for name, kind, given, match in mistakes:
        code, said = attempt(desk, name, **{kind: given})
        assert code == 1 and re.search(match, said) and "\n" not in said, (name, kind, given, said)
        assert kind == "out" or said.startswith("vocab-lit: "), (name, kind, given, said)
    assert {p: p.stat().st_mtime_ns for p in desk.rglob("*")} == before


def test_help_says_what_every_command_and_every_option_is_for_with_an_example():
    for path, command in commands():
        assert command.help and command.help.strip().split("\n")[0].endswith("."), path
        if any(p.name != "as_json" for p in command.params):
            assert f"Example: `vocab-lit {' '.join(path)}" in command.help, path
        for p in command.params:
            assert getattr(p, "help", None), (path, p.name)
        assert call(*path, "--help") == (0, "")
        assert call(*path, "--no-such-option")[0] == 2
    assert call("nothing")[0] == 2 and call("adapter", "nothing")[0] == 2


def test_a_mistake_is_told_in_a_line_and_nothing_is_written(desk):
    told = MISTAKES[::3]
    assert {name for name, *_ in told} == {*CALLS}
    assert {given for *_, given, _ in told} == {given for kind in WRONG.values() for given in kind}
    check_mistakes(desk, told)
    for name in ("lapt", "adapter train"):
        assert attempt(desk, name, "t5")[0] == 1


@pytest.mark.slow
def test_every_mistake_of_every_command_is_told_in_a_line(desk):
    check_mistakes(desk, MISTAKES)


def test_a_full_temporary_folder_is_one_line():
    with file_limit(4096), pytest.raises(OSError, match="^cannot write a temporary file: "):
        hashes = _Hashes(cache=64)  # `clean` remembers lines in it
        for number in range(10**6):
            hashes.add(number * 7919)


@pytest.mark.parametrize(
    "name", ["tokenizer", "transplant", "factorize", "lapt", "adapter train", "vectors train", "clean", "adapt"]
)
def test_a_full_disk_is_one_line_and_leaves_no_folder_under_the_name_that_was_asked_for(desk, name):
    import joblib  # noqa: F401  (which tries at its import whether it can write)

    for room in (1, 700):
        with file_limit(room):
            code, said = attempt(desk, name)
        told = re.fullmatch(r"vocab-lit: cannot write \S+: .*File too large.*", said)
        assert code == 1 and told, (room, said)
        assert name in ("lapt", "adapter train", "adapt") or not list(desk.glob("*out*"))
        hidden, weights = list(desk.glob(".*")), list(desk.glob("out/*.safetensors"))
        assert not hidden and not weights and not (desk / "out/config.json").exists()
        shutil.rmtree(desk / "out", ignore_errors=True)
