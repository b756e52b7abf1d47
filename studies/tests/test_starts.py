import csv
import math

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from studies.starts import COLUMNS, add_rows, bits_per_byte, first_lines, main
from vocab_lit.text.phrasebook import lines
from vocab_lit.tokens.pipeline import save_tokenizer
from vocab_lit.tokens.train import train_tokenizer


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starts")
    tokenizer = train_tokenizer(lines("en", 300, seed=0), "bpe", 400)
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), **sizes, tie_word_embeddings=True, bos_token_id=0, eos_token_id=2)
    model = LlamaForCausalLM(config).eval()
    model.save_pretrained(folder / "model")
    save_tokenizer(tokenizer, folder / "model")
    swahili = lines("sw", 330, seed=0)
    for name, part in (("text.txt", swahili[:300]), ("unseen.txt", swahili[300:])):
        (folder / name).write_text("\n".join(part) + "\n", encoding="utf-8")
    return folder, model, tokenizer


def test_bits_per_byte_are_those_of_each_line_by_itself(english):
    _, model, tokenizer = english
    texts, nats = lines("en", 11, seed=5), 0.0
    for text in texts:
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        nats += float(model(input_ids=ids, labels=ids).loss.detach()) * (ids.shape[1] - 1)
    expected = nats / math.log(2) / sum(len(text.encode()) for text in texts)
    assert bits_per_byte(model, tokenizer, texts, at_once=4) == pytest.approx(expected, rel=1e-5)


def test_every_method_has_a_row_and_the_table_keeps_those_of_other_runs(english, tmp_path):
    folder, model, tokenizer = english
    other = dict.fromkeys(COLUMNS, "1") | dict(model="other")
    add_rows([other], tmp_path / "starts.csv")
    paths = [str(folder / name) for name in ("model", "text.txt", "unseen.txt")]
    asked = ["--methods", "untouched", "blend", "focus", "wechsel"]
    asked += ["--language", "sw", "--tokens", "400", "--held-out-bytes", "600"]
    for _ in range(2):
        main([*paths, *asked, "--out", str(tmp_path / "starts.csv")])
    with open(tmp_path / "starts.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["blend", "focus", "untouched", "1"] and rows[-1] == other
    unseen = first_lines((folder / "unseen.txt").read_text(encoding="utf-8").splitlines(), 600)
    assert float(rows[2]["bits_per_byte"]) == pytest.approx(bits_per_byte(model, tokenizer, unseen), abs=1e-3)
    assert rows[0]["tokens"] == "400" and rows[0]["text"] == "text.txt" and rows[0]["held_out"] == "unseen.txt"


def test_lines_are_taken_whole():
    assert first_lines(["é" * 2, " ", "abc", "d"], 7) == ["éé", "abc"] and first_lines(["abc"], 2) == []
