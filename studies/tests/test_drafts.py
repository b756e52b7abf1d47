import csv

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.tiny_gguf import TOKENS, write_tiny
from studies import drafts
from studies.phrasebook import lines
from studies.toy_tokenizers import chat_tokenizer
from vocab_lit.text.errors import SettingError
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.tokens.tokenizer_file import TokenizerFile
from vocab_lit.tokens.train import train_tokenizer


def test_a_model_agrees_with_itself_but_for_tokens_that_drafts_cannot_choose(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "PROMPTS", {"en": 3, "sw": 2})
    monkeypatch.setattr(drafts, "SIZES", (60, 9_999))
    monkeypatch.setattr(drafts, "WORDS", 2)
    for kind in ("ntrex", "text"):
        (tmp_path / kind).mkdir()
        for language in drafts.PROMPTS:
            (tmp_path / kind / f"{language}.txt").write_text("\n".join(lines(language, 60, seed=0)), encoding="utf-8")
    tokenizer = train_tokenizer(lines("en", 200, seed=0), "bpe", 400)
    shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.3, **shape))
    model.save_pretrained(tmp_path / "large")
    tokenizer.save_pretrained(tmp_path / "large")
    rows = list(drafts.measured(tmp_path / "large", {"copy": tmp_path / "large"}, tmp_path))
    assert [(r["drafter"], r["vocabulary"]) for r in rows[:2]] == [("itself", "all"), ("itself", 60)]
    assert len(rows) == 8
    for row in rows:
        assert (row["agreement"] == 1) == (row["accepted"] == 1)
        assert row["per_pass"] == pytest.approx(row["per_pass_by_formula"], abs=1.5)
    assert all(row["agreement"] == 1 for row in rows if row["vocabulary"] == "all")
    assert any(row["agreement"] < 1 for row in rows)


def test_files_are_measured_in_llama_cpp(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "WORDS", 2)
    monkeypatch.setattr(drafts, "IN_LLAMA_CPP", 4)
    (tmp_path / "ntrex").mkdir()
    (tmp_path / "ntrex/en.txt").write_text("\n".join(lines("en", 60, seed=0)), encoding="utf-8")
    files = [write_tiny(tmp_path / f"{seed}.gguf", TOKENS["llama"](), table="F32", seed=seed) for seed in (0, 1)]
    drafts.main([str(files[0]), str(tmp_path), str(tmp_path / "out.csv"), f"other={files[1]}"])
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        own, other = csv.DictReader(file)
    assert (own["drafter"], other["drafter"]) == ("itself", "other")
    assert int(own["accepted"]) > 0.8 * int(own["drafted"]) and int(other["accepted"]) < 0.5 * int(other["drafted"])
    for row in (own, other):
        assert row["prompts"] == row["same_texts"] == str(drafts.IN_LLAMA_CPP)
        assert float(row["speedup"]) == pytest.approx(float(row["with_drafter"]) / float(row["alone"]), rel=0.02)


def test_frequent_tokens_cover_all_texts_alike_with_those_that_end_a_text():
    english, swahili = lines("en", 300, seed=0), lines("sw", 300, seed=0)
    bpe = TokenizerFile(train_tokenizer(english + swahili, "bpe", 700))
    counts = {"sw": bpe.count(swahili)}
    half, whole = (drafts.most_frequent(bpe, counts, TrimSettings(coverage=share)) for share in (0.5, 1))
    assert whole[: len(half)] == half and set(whole) - bpe.special == set(counts["sw"].nonzero()[0].tolist())
    both = {"sw": bpe.count(swahili * 9), "en": bpe.count(english)}
    alike = {"sw": bpe.count(swahili), "en": bpe.count(english * 5)}
    few = TrimSettings(vocab_size=50)
    assert drafts.most_frequent(bpe, both, few) == drafts.most_frequent(bpe, alike, few)
    gemma = TokenizerFile(chat_tokenizer("gemma3", english + swahili, 700))
    ids = drafts.most_frequent(gemma, {"sw": gemma.count(swahili)}, TrimSettings(vocab_size=100))
    assert len(set(ids)) == 100 and gemma.tokenizer.convert_tokens_to_ids("<end_of_turn>") in ids
    with pytest.raises(SettingError, match="--vocab-size 2: the special tokens that a model writes are 3 of them"):
        drafts.most_frequent(gemma, {"sw": gemma.count(swahili)}, TrimSettings(vocab_size=2))
