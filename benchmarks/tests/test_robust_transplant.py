"""Transplants and expansions of every family of tokenizers with every architecture and kind of method."""

import itertools
from dataclasses import replace

import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

from benchmarks.tests.toys import BODY, FAMILIES, MODELS, NAMES, WORDS, fast, logits, small_model, vectors_of
from vocab_lit.methods.factored import FactoredRecipe
from vocab_lit.methods.plan import Plan
from vocab_lit.methods.registry import RECIPES, get_recipe
from vocab_lit.methods.settings import copies_overlap
from vocab_lit.models.source import load_model
from vocab_lit.models.token_tensors import token_parameters
from vocab_lit.models.transplant import transplant
from vocab_lit.tokens.expansion import expand_tokenizer
from vocab_lit.tokens.vocab import Vocab
from vocab_lit.vectors.align import AlignedVectors
from vocab_lit.vectors.token_vectors import carry_vectors

ARCHITECTURES = [(name, tied) for name in MODELS for tied in (True, False)]
TARGET_WORDS = [*WORDS[::-1][:9], "soko", "kiti"]


def kind_of(method: str) -> tuple:
    "The class of a recipe and those of its steps."
    recipe = get_recipe(method)
    return type(recipe), *map(type, recipe.steps)


ONE_OF_EACH = list({kind_of(method): method for method in sorted(RECIPES)}.values())


def quick(recipe):
    "The recipe with few steps, where it factorises the embeddings."
    if not isinstance(recipe, FactoredRecipe):
        return recipe
    return replace(recipe, factoring=replace(recipe.factoring, steps=20))


def by_hand(plan, i, old):
    "A row or bias from its weights, None where it is randomly initialised."
    if plan.group[i] >= 0:
        return None
    weights = plan.row(i).tocoo()
    return sum(float(v) * old[j].double() for v, j in zip(weights.data, weights.coords[1]))


def check_parameters(before, after, plan, recipe, n_target):
    assert after.keys() == before.keys()
    for name, p in after.items():
        assert len(p) == n_target and p.shape[1:] == before[name].shape[1:] and torch.isfinite(p).all()
        if recipe.untrained or (isinstance(recipe, FactoredRecipe) and name == "input"):
            continue
        for i in range(n_target):
            if (due := by_hand(plan, i, before[name])) is not None:
                assert torch.allclose(p[i].double(), due, rtol=1e-4, atol=1e-4), (name, i)
        copied = plan.copied >= 0
        assert torch.equal(p[copied], before[name][plan.copied[copied]])


def check_saved(result, model, new, place):
    saved = result.save_pretrained(place)
    loaded, tokenizer = type(model).from_pretrained(saved).eval(), AutoTokenizer.from_pretrained(saved)
    for text in ("maji moto na ziwa", "ጸሐይ gari! 1999", "Maji ﬁ"):
        assert tokenizer(text)["input_ids"] == new(text)["input_ids"]
    ids = (new("maji moto na ziwa")["input_ids"] or [0])[:40]
    scores = logits(loaded, ids)
    assert torch.allclose(scores, logits(model, ids), atol=1e-5) and torch.isfinite(scores).all()
    assert scores.shape[1] == len(Vocab.from_tokenizer(new))
    assert token_parameters(loaded).keys() == token_parameters(model).keys()
    assert Plan.load(saved, Vocab.from_tokenizer(tokenizer)).summary().equals(result.plan.summary())
    assert type(load_model(saved)) is type(model)


def check_transplant(old, new, name, tied, method, place) -> str:
    "Transplant, save and load; return why it is refused, or nothing."
    recipe, model, vectors = quick(get_recipe(method)), small_model(name, old, tied), vectors_of(new, 0)
    if recipe.needs == "aligned vectors":
        vectors = AlignedVectors(vectors_of(old, 1), vectors)
    before = {k: p.detach().clone() for k, p in token_parameters(model).items()}
    try:
        result = transplant(model, old, new, recipe, vectors, seed=1)
    except ValueError as e:
        assert all(torch.equal(p, before[k]) for k, p in token_parameters(model).items()) and "\n" not in str(e)
        return str(e)
    target, plan = Vocab.from_tokenizer(new), result.plan
    assert model.config.vocab_size == len(target)
    check_parameters(before, token_parameters(model), plan, recipe, len(target))
    check_saved(result, model, new, place)
    if copies_overlap(recipe) and not isinstance(recipe, FactoredRecipe) and not recipe.untrained:
        shared = [t.id for t in target if t.kind == "text" and plan.copied[t.id] >= 0][:9]
        ids = plan.copied[shared]
        if shared:  # a text of overlapping tokens has the same logits
            due = logits(small_model(name, old, tied), ids.tolist())[:, ids]
            assert torch.allclose(due, logits(model, shared)[:, shared], atol=1e-4)
    return ""


def try_out(trials, place) -> pd.DataFrame:
    "Old and new family, architecture, tied or not, and method of each trial, with why it is refused."
    rows = []
    for n, (before, after, name, tied, method) in enumerate(trials):
        old, new = FAMILIES[before](WORDS), FAMILIES[after](TARGET_WORDS)
        try:
            refused = check_transplant(old, new, name, tied, method, place / str(n))
        except Exception as e:
            about = f"{before} to {after}, {name}, {'tied' if tied else 'untied'}, {method}"
            raise AssertionError(f"{about}: {type(e).__name__} {e}") from e
        rows.append(dict(old=before, new=after, model=name, tied=tied, method=method, refused=refused))
    return pd.DataFrame(rows)


def check_refusals(rows):
    "Factorised embeddings need a tied head, and nothing else is refused."
    factored = rows.method.map(lambda method: isinstance(RECIPES[method], FactoredRecipe))
    tied = rows.tied & (rows.model != "DeBERTa, new head")
    refused = rows.refused != ""
    assert (refused == (factored & ~tied)).all(), rows[refused].to_string()
    assert rows.refused[refused].str.contains("is not tied to its input embeddings").all()


def test_transplants_are_right_for_tokenizers_models_and_methods_of_every_kind(tmp_path):
    families = list(FAMILIES)
    n, trials = len(families), []
    for i, architecture in enumerate(ARCHITECTURES):
        old, new = families[i % n], families[(i // len(ONE_OF_EACH) + i) % n]
        trials.append((old, new, *architecture, ONE_OF_EACH[i % len(ONE_OF_EACH)]))
    rows = try_out(trials, tmp_path)
    check_refusals(rows)
    assert {*map(kind_of, rows.method)} == {*map(kind_of, RECIPES)}
    assert {*rows.old} == {*rows.new} == {*FAMILIES}
    assert {*zip(rows.model, rows.tied)} == {*ARCHITECTURES}


@pytest.mark.slow
def test_transplants_are_right_for_every_method_with_every_model_and_every_target_tokenizer(tmp_path):
    old = itertools.cycle(FAMILIES)
    every = itertools.product(FAMILIES, ARCHITECTURES, sorted(RECIPES))
    check_refusals(try_out([(next(old), new, *model, method) for new, model, method in every], tmp_path))


def test_a_model_with_token_rows_in_an_unknown_place_is_refused_by_name():
    class BertOfNextYear(BertForMaskedLM):
        def __init__(self, config):
            super().__init__(config)
            self.pairs = nn.Parameter(torch.zeros(2 * config.vocab_size, 3))

    old = FAMILIES["unigram"](WORDS)
    unknown = BertOfNextYear(BertConfig(vocab_size=len(old), **BODY))
    before = {k: v.clone() for k, v in unknown.state_dict().items()}
    refusal = "a BertOfNextYear cannot be given another vocabulary: pairs of shape .* depends"
    with pytest.raises(ValueError, match=refusal):
        transplant(unknown, old, FAMILIES["bpe"](WORDS), "identity")
    assert all(torch.equal(v, before[k]) for k, v in unknown.state_dict().items())


def same_kind(a, b) -> bool:
    "Whether tokens of one tokenizer can be added to the other."
    return a.model == b.model and (a.model != "BPE" or (a.byte_level, a.mark, a.end) == (b.byte_level, b.mark, b.end))


def check_expanded(before, after, old, language, new):
    source, target, ids = Vocab.from_tokenizer(old), Vocab.from_tokenizer(new), new.get_vocab()
    # text can also have these where they are not matched, so they move behind what is new
    moved = {token.content for token in old.added_tokens_decoder.values() if not token.special}
    assert all(ids[piece] == i for piece, i in old.get_vocab().items() if piece not in moved)
    assert new.special_tokens_map == {k: v for k, v in old.special_tokens_map.items() if isinstance(v, str)}
    for text in ("maji moto", "gari 1 na 2!", " na maji <sw>"):
        assert new.tokenize(text) == old.tokenize(text)
    stay = [t for t in source if old.convert_ids_to_tokens(t.id) not in moved]
    assert all(target.tokens[t.id].key == t.key for t in stay if t.kind == "text")
    if before not in ("suffix", "byte-fallback", "characters"):  # toys of these families have no merges
        assert len(new.tokenize("soko zebra")) == 2
    if len(target) == len(source):
        return  # Llama's bytes were all there
    model = small_model("XLM-R", old)
    rows = model.get_input_embeddings().weight.detach().clone()
    if after == "characters":
        transplant(model, old, new, "identity")
    else:
        vectors = carry_vectors(vectors_of(language, 0), Vocab.from_tokenizer(language), target)
        transplant(model, old, new, "focus", vectors)
    used, weight = torch.tensor([t.id for t in stay if t.kind != "unused"]), model.get_input_embeddings().weight
    assert torch.equal(weight[used], rows[used]) and len(weight) == len(target)


@pytest.mark.parametrize("before", FAMILIES)
def test_expansion_keeps_source_ids_and_rows_and_finds_new_pieces(before):
    old = FAMILIES[before](WORDS)
    for after in FAMILIES:
        language = FAMILIES[after](["ziwa", "kiti", "soko", "ውሃ", "zebra"])
        a, b = (Vocab.from_tokenizer(t).dialect for t in (old, language))
        if same_kind(a, b):
            check_expanded(before, after, old, language, expand_tokenizer(old, language, 100))
            continue
        refusal = "one of the same kind" if a.model != b.model else "marks words by"
        with pytest.raises(ValueError, match=refusal):
            expand_tokenizer(old, language, 100)


def end_marking_bpe(pieces, merges):
    vocab = {piece: i for i, piece in enumerate([*NAMES, *pieces])}
    made = Tokenizer(models.BPE(vocab, merges, end_of_word_suffix="</w>", unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.BPEDecoder()
    return fast(made)


def test_bpe_tokenizers_that_mark_ends_of_words_tokenize_source_words_as_before():
    letters = sorted(set("majitofu"))
    letters += [f"{c}</w>" for c in letters]
    merges = [("m", "a"), ("j", "i"), ("j", "i</w>"), ("ma", "ji"), ("ma", "ji</w>")]
    old = end_marking_bpe([*letters, "maji", "ma", "ji</w>", "maji</w>", "ji"], merges)
    merges = [("m", "o"), ("t", "o</w>"), ("mo", "to</w>")]
    new = expand_tokenizer(old, end_marking_bpe([*letters, "mo", "to</w>", "moto</w>"], merges), 100)
    assert old.tokenize("maji majifu") == new.tokenize("maji majifu") == ["maji</w>", "maji", "f", "u</w>"]
    assert old.tokenize("moto") == ["m", "o", "t", "o</w>"] and new.tokenize("moto") == ["moto</w>"]
