import csv
import math

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from studies.trials.package_starts import PackageCase
from studies.trials.starts import TABLE, Start, bits_per_byte, first_lines, main
from testkit.phrasebook import lines
from vocab_lit.models.source import Source
from vocab_lit.tokens.tokenizer_file import save_tokenizer
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.vectors.token_vectors import token_vectors
from vocab_lit.vectors.word_vectors import train_words

fasttext = pytest.importorskip("fasttext")


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


def measured(folder, out, methods, **options):
    "Measure methods in Swahili."
    files = folder / "text.txt", folder / "unseen.txt", [folder / "model"]
    main(*files, "sw", methods, tokens=400, held_out_bytes=600, out=out, **options)


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
    other = dict.fromkeys(TABLE.columns, "1") | dict(model="other")
    TABLE.write([other], tmp_path / "starts.csv")
    methods = ["untouched", "blend", "focus", "focus at mean", "wechsel"]
    for missing in (False, True):
        measured(folder, tmp_path / "starts.csv", methods, missing=missing)
    with open(tmp_path / "starts.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["blend", "focus", "focus at mean", "untouched", "1"]
    assert other.items() <= rows[-1].items()
    unseen = first_lines((folder / "unseen.txt").read_text(encoding="utf-8").splitlines(), 600)
    assert float(rows[3]["bits_per_byte"]) == pytest.approx(bits_per_byte(model, tokenizer, unseen), abs=1e-3)
    words, tokens = sum(len(text.split()) for text in unseen), sum(len(tokenizer.tokenize(text)) for text in unseen)
    assert float(rows[3]["tokens_per_word"]) == pytest.approx(tokens / words, abs=1e-3)
    assert rows[0]["sampled"] == "0" != rows[1]["sampled"] == rows[2]["sampled"]
    assert rows[0]["tokens"] == "400" and rows[0]["text"] == "text.txt" and rows[0]["held_out"] == "unseen.txt"


def test_a_vocabulary_is_extended_too(english, tmp_path):
    folder, _, tokenizer = english
    measured(folder, tmp_path / "extended.csv", ["blend"], extend=30)
    [row] = [*csv.DictReader((tmp_path / "extended.csv").read_text(encoding="utf-8").splitlines())]
    assert int(row["tokens"]) == len(tokenizer) + 30


def test_what_is_trained_first_ends_lower_than_it_starts(english, tmp_path):
    folder, *_ = english
    for trained in (False, True):
        measured(folder, tmp_path / f"{trained}.csv", ["blend", "normal"], trained=trained)
    starts, ends = (TABLE.rows(tmp_path / f"{trained}.csv") for trained in (False, True))
    assert [row["method"] for row in starts] == [row["method"] for row in ends] == ["blend", "normal"]
    for start, end in zip(starts, ends):
        assert float(end["bits_per_byte"]) < float(start["bits_per_byte"]) - 0.02


def test_lines_are_taken_whole():
    assert first_lines(["é" * 2, " ", "abc", "d"], 7) == ["éé", "abc"] and first_lines(["abc"], 2) == []


def test_other_packages_start_from_the_same_vectors(english, tmp_path):
    folder, _, tokenizer = english
    words = [train_words(lines(language, 300, seed=0)) for language in ("en", "sw")]
    vectors = token_vectors(tokenizer, lines("en", 300, seed=0))
    case = PackageCase(tokenizer, tokenizer, np.eye(len(tokenizer)), vectors, words, [("water", "maji")])
    case.write(tmp_path)
    made = fasttext.load_model(str(tmp_path / "vectors.bin"))
    id = tokenizer("water", add_special_tokens=False)["input_ids"][0]
    piece = tokenizer.convert_ids_to_tokens(id)
    assert np.allclose(made.get_word_vector(piece), vectors.matrix[id], atol=1e-6) and vectors.known[id]
    for name, language in zip(("source", "target"), words):
        read, counts = fasttext.load_model(str(tmp_path / f"{name}.bin")).get_words(include_freq=True)
        assert dict(zip(read, counts)) == dict(zip(language.words, language.counts.astype(int)))


def test_a_model_gets_the_embeddings_of_a_package_on_both_sides(english):
    folder, model, tokenizer = english
    start = Start(Source.open(folder / "model"), tokenizer, lines("en", 10, seed=0), 0)
    given = np.random.default_rng(0).normal(size=(len(tokenizer), 16)).astype(np.float32)
    made = start.with_embeddings(given)
    assert np.array_equal(made.get_output_embeddings().weight.detach().numpy(), given)
    assert made.lm_head.weight is made.model.embed_tokens.weight
