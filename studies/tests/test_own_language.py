import json
import sys
import types
from pathlib import Path

import pytest

from studies.data.own_language import Own, command, prepare
from vocab_lit.text.corpus import data_path


@pytest.fixture
def poem(tmp_path):
    "A file of 300 lines, one of them twice."
    file = tmp_path / "my poem.txt"
    file.write_text("".join(f"line {n}\n" for n in [*range(300), 5]), encoding="utf-8")
    return file


def lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def test_a_text_comes_from_a_file_an_address_an_upload_or_the_phrasebook_and_a_tenth_is_held_out(
    poem, tmp_path, monkeypatch
):
    names = ("google.colab", "google.colab.files")
    uploaded = types.SimpleNamespace(upload=lambda: {"mine.txt": poem.read_bytes()})
    for name, module in zip(names, (types.SimpleNamespace(files=uploaded), uploaded)):
        monkeypatch.setitem(sys.modules, name, module)
    for number, text in enumerate([str(poem), poem.as_uri(), "upload"]):
        mine = prepare("some/model", text, "sw", str(tmp_path / str(number)))
        train, unseen = lines(mine.train), lines(mine.unseen)
        assert (len(train), len(unseen)) == (270, 30) and set(train) | set(unseen) == {f"line {n}" for n in range(300)}
        assert mine.model == "some/model" and mine.train.parent == mine.out == tmp_path / str(number)
        assert not mine.is_mini and mine.options == []
    mini = prepare("", "", "am", "")
    assert "በ" in mini.train.read_text(encoding="utf-8") and mini.is_mini and mini.options
    assert mini.model == str(data_path("models", "mini-xlmr"))


def test_a_text_that_is_too_short_and_an_upload_elsewhere_are_refused(tmp_path):
    short = tmp_path / "short.txt"
    short.write_text("one\n" * 200)
    with pytest.raises(ValueError, match="short.txt: has 1 different lines, 100 are needed"):
        prepare("", str(short), "sw", str(tmp_path))
    with pytest.raises(ValueError, match='text = "upload" works on Colab'):
        prepare("", "upload", "sw", str(tmp_path))


def test_what_inspect_advises_is_done_with_the_model_that_was_trimmed(tmp_path, monkeypatch):
    mine, run = Own("big/model", tmp_path / "train.txt", tmp_path / "unseen.txt", tmp_path), []
    monkeypatch.setattr("studies.data.own_language.command", lambda *words: run.append([*map(str, words)]))
    advice = f"vocab-lit transplant big/model --text '{mine.train}' --extend 9 --expansion continued --out DIR"
    start = mine.as_advised({"what": "extend", "command": advice}, tmp_path / "small")
    assert start == tmp_path / "start" and run == [
        f"transplant|{tmp_path / 'small'}|--text|{mine.train}|--extend|9|--expansion|continued|--out|{start}".split("|")
    ]
    assert mine.as_advised({"what": "keep"}, "big/model") == "big/model" and len(run) == 1
    assert Own("m.gguf", mine.train, mine.unseen, tmp_path).path("start") == tmp_path / "start.gguf"


def test_a_command_runs_in_folders_with_blanks_is_not_repeated_and_its_failure_is_told(poem, tmp_path, capfd):
    told = tmp_path / "of methods.json"
    command("methods", "--json", to=told)
    assert "focus" in {row["method"] for row in json.loads(told.read_text())}
    made = tmp_path / "made"
    made.mkdir()
    (made / "config.json").write_text("{}")
    command("trim", "nothing", "--out", made)
    assert f"{made} is there from before" in capfd.readouterr().out
    with pytest.raises(RuntimeError, match="vocab-lit trim failed; the line above says why"):
        command("trim", Path("no such"), "--text", poem, "--out", tmp_path / "other")
