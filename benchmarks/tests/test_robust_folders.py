"""A damaged folder of a model is told in one line, by `check` and by what reads the model."""

import json
import re
import shutil

import pytest
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM
from typer.testing import CliRunner

from testkit.phrasebook import lines
from vocab_lit.cli.main import app
from vocab_lit.tokens.train import train_tokenizer

ROWS = 300
DAMAGES = [  # file, place in it, what is written there, what `check` says
    ("config.json", "pad_token_id", ROWS, r"pad_token_id 300, and vocab_size 300"),
    ("config.json", "vocab_size", "8000", "vocab_size"),
    ("config.json", "vocab_size", 0, "model of config.json"),
    ("config.json", "hidden_act", "x", "model of config.json cannot be read: KeyError: 'x'"),
    ("config.json", "num_attention_heads", 0, "config.json cannot be read: ZeroDivisionError"),
    ("config.json", "dtype", "x", "config.json cannot be read: AttributeError: module 'torch' has no attribute 'x'"),
    ("config.json", "architectures", 5, "architectures"),
    ("config.json", "architectures", {"x": 1}, "architectures {'x': 1}; write the name of the class in a list"),
    ("config.json", "eos_token_id", ["x"], "eos_token_id"),
    ("config.json", "text_config", 5, "config.json cannot be read"),
    ("config.json", "quantization_config", "x", "quantised|config.json cannot be read"),
    ("generation_config.json", "eos_token_id", ["x"], r"eos_token_id \['x'\]; write the id of a token"),
    ("generation_config.json", "pad_token_id", "8000", "settings of generation cannot be read"),
    ("generation_config.json", "bad_words_ids", 5, "bad_words_ids 5; write the id"),
    ("tokenizer_config.json", "eos_token", 5, "the tokenizer cannot be read"),
    ("tokenizer_config.json", "model_max_length", "x", "the tokenizer cannot be read"),
    ("tokenizer_config.json", "extra_special_tokens", 5, "the tokenizer cannot be read"),
    ("tokenizer.json", "model", {"type": "X"}, "the tokenizer cannot be read: Exception: "),
    ("tokenizer.json", "version", None, "the tokenizer cannot be read: Exception: "),
    ("tokenizer_config.json", "", [], "tokenizer_config.json is damaged: expected a JSON object"),
    ("vocab_lit.json", "", [1], "vocab_lit.json is damaged: expected a JSON object"),
    ("model.safetensors", "", {}, "model.safetensors is damaged or cut short"),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    "A folder with a model and a text."
    place = tmp_path_factory.mktemp("damaged")
    tokenizer = train_tokenizer(lines("sw", 200, seed=0), "bpe", ROWS, around=(False, False))
    small = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1)
    ids = dict(bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=0)
    LlamaForCausalLM(LlamaConfig(vocab_size=ROWS, **small, **ids)).save_pretrained(place / "whole")
    tokenizer.save_pretrained(place / "whole")
    (place / "sw.txt").write_text("\n".join(lines("sw", 40, seed=0)), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def said_of(desk):
    "What a command says of the damaged folder, and its exit code; a traceback fails."

    def ask(command) -> tuple[str, int]:
        rest = ["--text", desk / "sw.txt", "--out", desk / "out"] if command == "trim" else []
        shutil.rmtree(desk / "out", ignore_errors=True)
        result = CliRunner().invoke(app, [str(word) for word in (command, desk / "damaged", *rest)])
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
        errors = [line for line in result.stderr.splitlines() if line.startswith("vocab-lit: ")]
        assert len(errors) == (command != "check" and result.exit_code == 1), (command, result.stderr)
        return result.stdout + "".join(errors), result.exit_code

    return ask


@pytest.mark.parametrize(("file", "key", "value", "match"), DAMAGES, ids=str)
def test_damage_is_told_in_a_line(desk, said_of, file, key, value, match):
    folder = desk / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(desk / "whole", folder)
    before = json.loads((folder / file).read_text()) if key else {}
    (folder / file).write_text(json.dumps(before | {key: value} if key else value))
    said, code = said_of("check")
    assert code == 1 and re.search(match, said), said
    for command in ("inspect", "trim"):
        said, code = said_of(command)
        assert code == 0 or re.search(match, said), (command, said)
    assert code == 1 or file == "vocab_lit.json", said  # whose note is read by `check` alone


def test_a_row_that_is_no_numbers_is_told_by_check(desk, said_of):
    shutil.rmtree(desk / "damaged", ignore_errors=True)
    shutil.copytree(desk / "whole", desk / "damaged")
    weights = load_file(desk / "damaged/model.safetensors")
    weights["model.embed_tokens.weight"][7, 0] = float("nan")
    save_file(weights, desk / "damaged/model.safetensors", {"format": "pt"})
    said, code = said_of("check")
    assert code == 1 and "1 of 300 rows of model.embed_tokens.weight are not finite" in said, said
