"""A linear classifier on frozen states."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, RobertaConfig, RobertaForMaskedLM

from studies.phrasebook import lines, sentences
from studies.phrasebook_tasks import inferences
from studies.probe import probe, states
from vocab_lit.models.source import load_model
from vocab_lit.tasks.pairs import Pair
from vocab_lit.tasks.tagging import Tagged, windows
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.tokenizer_file import ids_around
from vocab_lit.tokens.train import train_tokenizer


@pytest.fixture(scope="module")
def mini_model():

    mini, mini_tokenizer = (
        load_model(data_path("models", "mini-xlmr")),
        load_tokenizer(data_path("models", "mini-xlmr")),
    )
    return SimpleNamespace(mini=mini, mini_tokenizer=mini_tokenizer)


@pytest.fixture(scope="module")
def tagged(mini_model):

    mini = mini_model.mini
    mini_tokenizer = mini_model.mini_tokenizer
    english = [Tagged(s.words, s.tags) for s in sentences("en", 160, seed=0)]
    states(mini, mini_tokenizer, english[:3], "pos").shape, sum(len(s.words) for s in english[:3])
    return SimpleNamespace(english=english)


@pytest.fixture(scope="module")
def small():

    some_text = lines("en", 400, seed=0)
    TOKENIZERS = {kind: train_tokenizer(some_text, kind, 400) for kind in ("wordpiece", "bpe")}
    TOKENIZERS["bare"] = train_tokenizer(some_text, "bpe", 400, around=(False, False))
    BODY = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    BODY |= dict(vocab_size=400, max_position_embeddings=40, initializer_range=0.5)
    GPT = dict(vocab_size=400, n_embd=16, n_layer=2, n_head=2, n_positions=38, initializer_range=0.5)
    torch.manual_seed(0)
    SMALL = {
        "wordpiece": BertForMaskedLM(BertConfig(**BODY, pad_token_id=0)),
        "bpe": RobertaForMaskedLM(RobertaConfig(**BODY, pad_token_id=1)),
        "bare": GPT2LMHeadModel(GPT2Config(**GPT, bos_token_id=2, eos_token_id=2)),
    }
    stated = [Pair(a, b, "x") for a, b in zip(some_text[:12], some_text[12:24])]
    return SimpleNamespace(SMALL=SMALL, TOKENIZERS=TOKENIZERS, some_text=some_text, stated=stated)


@pytest.fixture(scope="module")
def tag_probes(mini_model):

    mini = mini_model.mini
    mini_tokenizer = mini_model.mini_tokenizer

    def tagged(code, n, seed, held_out=False):
        return [Tagged(s.words, s.tags) for s in sentences(code, n, seed, held_out)]

    def word_classes(model, code):
        return probe(model, mini_tokenizer, tagged(code, 60, 0), tagged(code, 60, 1, held_out=True), "pos")

    with torch.random.fork_rng():
        torch.manual_seed(0)
        untrained = type(mini)(mini.config)
    classes = {code: word_classes(mini, code) for code in ("en", "sw")}
    classes["en, untrained model"] = word_classes(untrained, "en")
    return SimpleNamespace(classes=classes, word_classes=word_classes)


@pytest.fixture(scope="module")
def pair_probes(mini_model):

    mini = mini_model.mini
    mini_tokenizer = mini_model.mini_tokenizer

    def inferred(code, n, seed, held_out=False):
        return [Pair(*inference[:3]) for inference in inferences(code, n, seed, held_out)]

    pairs, more_pairs = inferred("en", 450, 0), inferred("en", 300, 1, held_out=True)
    of_pairs = {c: probe(mini, mini_tokenizer, pairs, more_pairs, "nli", compare=c) for c in (False, True)}
    return SimpleNamespace(inferred=inferred, of_pairs=of_pairs)


def test_a_mean_is_that_of_the_tokens_of_one_sentence_alone(small):
    SMALL = small.SMALL
    TOKENIZERS = small.TOKENIZERS
    stated = small.stated
    for kind, model in SMALL.items():
        tok, model = TOKENIZERS[kind], model.train()
        for compare in (False, True):
            got = states(model, tok, stated, "nli", compare=compare)
            assert got.shape == (12, 64 if compare else 32) and got.dtype == np.float32
            assert np.allclose(got, states(model, tok, stated, "nli", compare=compare, batch_size=1), atol=1e-5)
        for pair, features in zip(stated, got):
            if max(len(tok(t)["input_ids"]) for t in (pair.premise, pair.hypothesis)) > 38:
                continue
            u, v = [], []
            for text, mean in ((pair.premise, u), (pair.hypothesis, v)):
                coded = tok(text, return_tensors="pt", return_special_tokens_mask=True)
                with torch.no_grad():
                    hidden = model.eval()(input_ids=coded["input_ids"], output_hidden_states=True).hidden_states[-1][0]
                mean += hidden[coded["special_tokens_mask"][0] == 0].mean(0).tolist()
            u, v = np.array(u), np.array(v)
            assert np.allclose(features, np.concatenate([u, v, abs(u - v), u * v]), atol=1e-5), kind
        model.train()
        states(model, tok, stated[:1], "nli")
        assert model.training


def test_a_word_s_mean_is_over_its_subtokens(mini_model, small):
    SMALL = small.SMALL
    TOKENIZERS = small.TOKENIZERS
    mini = mini_model.mini
    mini_tokenizer = mini_model.mini_tokenizer
    texts = [Tagged(s.words, s.labels) for s in sentences("en", 5, seed=3)]
    texts += [Tagged((), ()), Tagged(("Kenya", "na") * 40, ("X", "X") * 40)]
    for kind, model in SMALL.items():
        tok = TOKENIZERS[kind]
        got = states(model, tok, texts, "pos", length=30)
        assert np.allclose(got, states(model, tok, texts, "pos", length=30, batch_size=1), atol=1e-5)
        by_hand = []
        for w in windows(tok, [t.words for t in texts], 30):
            with torch.no_grad():
                hidden = model.eval()(input_ids=torch.tensor([w.ids]), output_hidden_states=True).hidden_states[-1][0]
            by_hand += [
                hidden[[k for k, word in enumerate(w.words) if word == j]].mean(0).tolist() for j in range(w.size)
            ]
        assert np.allclose(got, by_hand, atol=1e-5), kind
    blank = states(mini, mini_tokenizer, [Tagged(("Nairobi", "\u200b", "Mombasa"), ("X",) * 3)], "pos")
    assert (blank[1] == 0).all() and (blank[[0, 2]] != 0).any()


def test_the_mean_of_a_long_sentence_is_over_all_its_windows(small):
    SMALL = small.SMALL
    TOKENIZERS = small.TOKENIZERS
    some_text = small.some_text
    long = Pair(" ".join(some_text[:6]), "", "x")
    for kind, model in SMALL.items():
        tok = TOKENIZERS[kind]
        ids, total = tok(long.premise, add_special_tokens=False)["input_ids"], 0
        before, after = ids_around(tok)
        room = 38 - len(before) - len(after) if kind != "wordpiece" else 40 - len(before) - len(after)
        for at in range(0, len(ids), room):
            row = torch.tensor([before + ids[at : at + room] + after])
            with torch.no_grad():
                hidden = model.eval()(input_ids=row, output_hidden_states=True).hidden_states[-1][0]
            total += hidden[len(before) : row.shape[1] - len(after)].sum(0)
        got = states(model, tok, [long], "nli")
        assert (
            len(ids) > 3 * room and np.allclose(got[0, :16], total / len(ids), atol=1e-4) and (got[0, 16:] == 0).all()
        )


def test_a_probe_reads_what_is_there_repeats(mini_model, tag_probes):
    classes = tag_probes.classes
    mini = mini_model.mini
    word_classes = tag_probes.word_classes
    assert classes["en"]["accuracy"] > 0.9 > classes["en, untrained model"]["accuracy"] > classes["en"]["majority"]
    before = {k: v.clone() for k, v in mini.state_dict().items()}
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    assert word_classes(mini, "en") == classes["en"]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(v, before[k]) for k, v in mini.state_dict().items())


def test_compared_two_sentences_tell_what_side_by_side_they_hide(pair_probes):
    of_pairs = pair_probes.of_pairs
    assert abs(of_pairs[False]["accuracy"] - 1 / 3) < 0.07 and of_pairs[True]["accuracy"] > 0.7
    assert of_pairs[True]["majority"] == pytest.approx(1 / 3)
    assert [of_pairs[True][name] for name in ("train", "test", "long")] == [450, 300, 0]


def test_splits_without_answers_and_other_tasks_are_refused(mini_model, tagged, small, pair_probes):
    SMALL = small.SMALL
    english = tagged.english
    inferred = pair_probes.inferred
    mini = mini_model.mini
    mini_tokenizer = mini_model.mini_tokenizer
    stated = small.stated

    def refused(match, *splits, task="pos", model=mini, tok=mini_tokenizer, **options):
        with pytest.raises(ValueError, match=match):
            probe(model, tok, *splits, task, **options)

    refused("the training split has no words; give at least one", [], english[:2])
    refused("the test split has no pairs", stated, [], task="nli")
    refused("there is no probe for ner; choose from pos, nli", english[:2], english[:2], task="ner")
    refused("unknown task 'parse'", english[:2], english[:2], task="parse")
    refused("all training pairs have the label x; a classifier needs at least two", stated, stated, task="nli")
    refused(
        "the tokenizer has 8000 token ids and the model 400 embeddings", stated, stated, task="nli", model=SMALL["bpe"]
    )
    refused("2 tokens leave no room for text beside 2 special tokens", stated, stated, task="nli", length=2)
    few = inferred("en", 30, 0)
    labels = [[Pair(e.premise, e.hypothesis, label) for e, label in zip(few, told)] for told in ("aab", "abb")]
    assert probe(mini, mini_tokenizer, *labels, "nli")["majority"] == pytest.approx(1 / 3)
    assert probe(mini, mini_tokenizer, few, few[:9], "nli", max_train=15)["train"] == 15
    short = probe(mini, mini_tokenizer, few[:6], few[6:9], "nli", length=8)
    long = sum(len(mini_tokenizer(t)["input_ids"]) > 8 for e in few[:9] for t in (e.premise, e.hypothesis))
    assert short["long"] == long > 0
    unseen = [Pair(e.premise, e.hypothesis, "other") for e in few[:3]]
    assert probe(mini, mini_tokenizer, few, unseen, "nli")["accuracy"] == 0


def test_features_of_unlike_scales_count_alike(mini_model, tag_probes):
    classes = tag_probes.classes
    mini = mini_model.mini
    word_classes = tag_probes.word_classes
    scales = torch.logspace(-3, 3, mini.config.hidden_size)

    def scale(module, args, out):
        return out.__class__(last_hidden_state=out.last_hidden_state * scales)

    hook = mini.base_model.register_forward_hook(scale)
    scaled = word_classes(mini, "en")
    hook.remove()
    assert scaled["accuracy"] == pytest.approx(classes["en"]["accuracy"], abs=0.003)
