"""Parameters of chapters, from a setup file or as they were typed."""

from pathlib import Path

import pytest

from studies.papers.setup_parameters import absolute_names, chapter_parameters
from vocab_lit.app.setup_file import read_setup
from vocab_lit.text.corpus import data_path


@pytest.fixture
def place(tmp_path):
    (tmp_path / "swahili.txt").write_text("Habari ya asubuhi\n")
    (tmp_path / "ner.tsv").write_text("Amina\tB-PER\n")
    (tmp_path / "models").mkdir()
    return tmp_path


def test_chapters_get_what_they_know_and_a_model_by_its_kind(place):
    (place / "sw.yml").write_text("text: swahili.txt\nlapt: {steps: 100}\nner: {train: ner.tsv, test: ner.tsv}\n")
    setup = read_setup(place / "sw.yml")
    assert chapter_parameters(setup, {"text"}) == {"text": str(place / "swahili.txt")}
    assert chapter_parameters(setup | dict(text=["a", "b"]), {"text"}) == {"text": ["a", "b"]}
    files = f"{place / 'ner.tsv'} {place / 'ner.tsv'}"
    assert chapter_parameters(setup, {"steps", "ner"}) == {"steps": 100, "ner": files}
    for name, kind in (("mini-roberta", "roberta"), ("mini-gpt2", "gpt2")):
        model = str(data_path("models", name))
        assert chapter_parameters(dict(model=model), {"roberta", "gpt2"}) == {kind: model}
    with pytest.raises(ValueError, match="spaces divide the files"):
        chapter_parameters(dict(ner=dict(test="my file.tsv")), {"ner"})


def test_names_of_files_that_were_typed_are_those_seen_from_everywhere(place, monkeypatch):
    monkeypatch.chdir(place)
    typed = dict(
        model="models",
        text="swahili.txt",
        ner="ner.tsv ner.tsv",
        pos="no.conllu",
        dp="{language}.conllu",
        texts="sw=swahili.txt am=none",
        records="new",
        corpus="models",
        steps=3,
        gpt2="a/b",
        dictionary="",
    )
    assert absolute_names(typed) == typed | dict(
        model=str(place / "models"),
        text=str(place / "swahili.txt"),
        ner=f"{place / 'ner.tsv'} {place / 'ner.tsv'}",
        dp=str(place / "{language}.conllu"),
        texts=f"sw={place / 'swahili.txt'} am=none",
        records=str(place / "new"),
    )
    Path("two words.txt").write_text("a")
    assert absolute_names(dict(text="two words.txt")) == dict(text=str(place / "two words.txt"))
