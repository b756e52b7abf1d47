import copy
import csv

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from studies.trials import drafts
from testkit.phrasebook import lines
from testkit.tiny_gguf import TOKENS, write_tiny
from testkit.toy_tokenizers import chat_tokenizer
from vocab_lit.text.errors import SettingError
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.tokens.tokenizer_file import TokenizerFile
from vocab_lit.tokens.train import train_tokenizer


@pytest.fixture(scope="module")
def pair():
    "A tokenizer, a large model, a small one that differs from it, and the texts of the large one."
    tokenizer = train_tokenizer(lines("en", 200, seed=0), "bpe", 400)
    shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    torch.manual_seed(0)
    large = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), initializer_range=0.3, **shape)).eval()
    small = copy.deepcopy(large)
    with torch.no_grad():
        for p in small.parameters():
            p += 0.02 * torch.randn(p.shape)
    return tokenizer, large, small, drafts.greedy_texts(large, tokenizer, lines("en", 6, seed=0), 24)


def test_a_model_agrees_with_itself_but_for_tokens_that_drafts_lack(tmp_path, monkeypatch, pair):
    monkeypatch.setattr(drafts, "PROMPTS", {"en": 3, "sw": 2})
    monkeypatch.setattr(drafts, "SIZES", (60, 9_999))
    monkeypatch.setattr(drafts, "WORDS", 2)
    for kind in ("ntrex", "text"):
        (tmp_path / kind).mkdir()
        for language in drafts.PROMPTS:
            (tmp_path / kind / f"{language}.txt").write_text("\n".join(lines(language, 60, seed=0)), encoding="utf-8")
    for part in pair[:2]:
        part.save_pretrained(tmp_path / "large")
    rows = list(drafts.measured(tmp_path / "large", {"itself": None, "copy": tmp_path / "large"}, tmp_path))
    assert [(r["drafter"], r["vocabulary"]) for r in rows[:2]] == [("itself", "all"), ("itself", 60)]
    assert len(rows) == 8
    for row in rows:
        assert (row["agreement"] == 1) == (row["accepted"] == 1)
        assert row["per_pass"] == pytest.approx(row["per_pass_by_formula"], abs=1.5)
    assert all(row["agreement"] == 1 for row in rows if row["vocabulary"] == "all")
    assert any(row["agreement"] < 1 for row in rows)


def test_texts_are_those_of_transformers_with_a_drafter(pair):
    _, large, small, texts = pair
    options = dict(do_sample=False, max_new_tokens=24, pad_token_id=0)
    for prompt, new in texts[:3]:
        ids = torch.tensor([prompt])
        out = large.generate(ids, attention_mask=torch.ones_like(ids), assistant_model=small, **options)
        assert out[0, len(prompt) :].tolist() == new


def test_what_is_accepted_is_what_drafting_by_hand_accepts(pair):
    _, large, small, texts = pair

    @torch.no_grad()
    def best(model, ids):
        return int(model(torch.tensor([ids])).logits[0, -1].argmax())

    def by_hand(prompt, new, length):
        at = drafted = taken = passes = 0
        while at < len(new):
            draft = []
            for _ in range(min(length, len(new) - at)):
                draft.append(best(small, prompt + new[:at] + draft))
            checked = [best(large, prompt + new[:at] + draft[:i]) for i in range(len(draft))]
            run = next((i for i, (a, b) in enumerate(zip(draft, checked)) if a != b), len(draft))
            drafted, taken, passes, at = drafted + len(draft), taken + run, passes + 1, at + run + 1
        return drafted, taken, passes

    agreed = drafts.agreements(small, texts)
    for length in (1, 3, 5):
        told = drafts.accepted(agreed[:3], length)
        sums = np.sum([by_hand(*text, length) for text in texts[:3]], axis=0).tolist()
        assert [told.drafted, told.accepted, told.passes] == sums
    assert 0.1 < drafts.accepted(agreed, 1).share < 0.95  # neither all nor nothing


def test_the_formula_is_what_independent_drafts_come_to():
    drawn = [np.random.default_rng(0).random(200_000) < 0.7]
    for length in (1, 4, 8):
        told = drafts.accepted(drawn, length)
        assert told.per_pass == pytest.approx(drafts.expected_tokens(0.7, length), rel=0.01)
        assert told.speedup(0.1) == pytest.approx(drafts.expected_speedup(0.7, length, 0.1), rel=0.01)
    assert drafts.expected_tokens(1, 4) == 5 and drafts.expected_speedup(0, 4, 0.25) == 0.5


def test_the_largest_cost_of_a_step_is_that_of_its_gain():
    for alpha in (0.2, 0.5, 0.8):
        assert drafts.largest_cost(alpha) == pytest.approx(alpha)
        for speedup in (1.0, 1.3, 2.0):
            cost, costs = drafts.largest_cost(alpha, speedup), np.arange(0, 1, 0.001)
            gains = [c for c in costs if max(drafts.expected_speedup(alpha, g, c) for g in range(1, 33)) >= speedup]
            assert cost == pytest.approx(max(gains), abs=0.001) if gains else cost < 0


def test_a_head_of_some_tokens_finds_the_best_of_these(pair):
    _, large, _, texts = pair
    ids = sorted({id for _, new in texts for id in new})[::2]
    before, prompt = large.lm_head, torch.tensor([texts[0][0]])
    with torch.no_grad():
        whole = large(prompt).logits
        with drafts.fewer_logits(large, ids):
            assert torch.equal(large(prompt).logits, whole[..., ids])
    assert large.lm_head is before and drafts.step_seconds(large) > 0
    some = drafts.agreements(large, texts, ids)
    assert not all(text.all() for text in some)
    for (_, new), text in zip(texts, some):
        assert text.tolist() == [id in ids for id in new]  # by itself, all that it can write


def test_files_are_measured_in_llama_cpp(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "WORDS", 2)
    monkeypatch.setattr(drafts, "IN_LLAMA_CPP", 4)
    (tmp_path / "ntrex").mkdir()
    (tmp_path / "ntrex/en.txt").write_text("\n".join(lines("en", 60, seed=0)), encoding="utf-8")
    files = [write_tiny(tmp_path / f"{seed}.gguf", TOKENS["llama"](), table="F32", seed=seed) for seed in (0, 1)]
    drafts.main(files[0], tmp_path, tmp_path / "out.csv", [f"other={files[1]}"])
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
