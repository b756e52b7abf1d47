"""How often a command opens its text: once to look whether it is text, and once for each pass over it."""

import sys
from collections import Counter

import pytest

from testkit.examples import run, tiny_model
from testkit.phrasebook import lines
from testkit.tiny_gguf import llama_tokens, write_tiny

OPENED = Counter()  # by the path of a text
sys.addaudithook(lambda event, args: OPENED.update([str(args[0])]) if event == "open" else None)

PASSES = {  # beside the look at its beginning
    "tokenizer": (4, "--vocab-size", 500),  # whether it fills the vocabulary, is it empty, and two of training
    "inspect": (1,),
    "transplant": (2, "--vocab-size", 500),  # whether it fills the vocabulary; all others are over what is kept
    "trim": (1,),
    "lapt": (3, "--steps", 2, "--batch-size", 2, "--length", 64),  # what is held out, training, and bits per byte
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opens")
    return tiny_model(folder) / "model", write_tiny(folder / "tiny.gguf", llama_tokens())


def opened(command, folder, *options, model=()):
    "How often a command opens a text that no command has seen before."
    (text := folder / f"{command}.txt").write_text("\n".join(lines("sw", 600, seed=0)))
    OPENED.clear()
    out = () if command == "inspect" else ("--out", folder / f"made{'.gguf' * (folder.name == 'gguf')}")
    run(command, *model, "--text", text, *options, *out)
    return OPENED[str(text)]


@pytest.mark.parametrize("command", PASSES)
def test_a_text_is_opened_once_for_each_pass(command, models, tmp_path):
    passes, *options = PASSES[command]
    model = () if command == "tokenizer" else (models[0],)
    assert opened(command, tmp_path, *options, model=model) <= 1 + passes


def test_trimming_a_gguf_file_reads_its_text_once(models, tmp_path):
    (folder := tmp_path / "gguf").mkdir()
    assert opened("trim", folder, model=(models[1],)) <= 2
