import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from studies import drafts
from vocab_lit.text.phrasebook import lines
from vocab_lit.tokens.train import train_tokenizer


def test_a_model_agrees_with_itself_but_for_tokens_that_drafts_cannot_choose(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "PROMPTS", {"en": 3, "sw": 2})
    monkeypatch.setattr(drafts, "SIZES", (60,))
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
