import json
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertForMaskedLM,
    GPT2LMHeadModel,
    RobertaForMaskedLM,
    XLMRobertaForMaskedLM,
)
from typer.testing import CliRunner

from studies.__main__ import app
from studies.models.bundled import (
    LossLog,
    evaluate_language,
    fetch_field_model,
    in_proportion,
    load_source_model,
    pair_blocks,
    text_of,
    train_recipe_tokenizer,
    train_source_model,
    training_blocks,
    untrained_model,
)
from studies.models.cards import model_card
from studies.models.recipes import FIELD_RECIPES, RECIPES, ModelRecipe
from studies.models.transfer import POS_CONFIG, make_model, measure_transfer, transfer_section, zero_shot_pos
from testkit.constructed import LANGUAGES, world_of
from testkit.phrasebook import lines
from vocab_lit.models.model_class import max_length
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.tokens.vocab import Vocab, fit
from vocab_lit.training.lm_data import pack

TINY = dict(batch_size=4, dim=16, heads=2, feed_forward=16, layers=1)
FIELD = data_path("models", "field-xlmr")


def read_record(folder):
    return json.loads((folder / "heldout.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def bundled():
    return {name: load_source_model(name) for name in RECIPES}


@pytest.fixture(scope="module")
def records():
    return {name: read_record(data_path("models", name)) for name in RECIPES}


@pytest.fixture(scope="module")
def fetched_field_model(tmp_path_factory):
    "A copy of field-xlmr with the weights that the repository's history has."
    folder = tmp_path_factory.mktemp("models") / "field-xlmr"
    shutil.copytree(FIELD, folder)
    try:
        return fetch_field_model(folder)
    except FileNotFoundError as e:
        pytest.skip(str(e))


def test_field_xlmr_is_fetched_and_is_what_its_record_says(fetched_field_model):
    parameters = read_record(FIELD)["parameters"]
    plain = AutoModelForMaskedLM.from_pretrained(fetched_field_model)
    assert type(plain) is XLMRobertaForMaskedLM and plain.num_parameters() == parameters
    assert load_source_model(fetched_field_model)[0].num_parameters() == parameters


def test_field_xlmr_knows_more_than_the_baselines():
    field_record = read_record(FIELD)
    zero_shot = pd.DataFrame(json.loads((FIELD / "zero_shot.json").read_text(encoding="utf-8")))
    accuracy = 100 * zero_shot.drop(columns=["train", "seed"]).groupby("model", sort=False).mean()
    assert json.loads(json.dumps(asdict(FIELD_RECIPES["field-xlmr"]))) == field_record["recipe"]
    assert (FIELD / "README.md").read_text(encoding="utf-8") == model_card(field_record) + transfer_section(zero_shot)
    own, random, mini = (accuracy.loc[name] for name in ("field-xlmr", "random weights", "mini-xlmr (bundled)"))
    assert own.en > random.en + 1 and own.de > random.de + 5 and (own > random).mean() > 0.7
    assert (mini > own).mean() > 0.5 and own.en > mini.en and own.de > mini.de


def test_the_bundled_models_are_small_stored_in_half_precision_and_load_in_single_precision_with_plain_transformers(
    bundled, records
):
    kinds = {
        "mini-xlmr": (8000, XLMRobertaForMaskedLM),
        "mini-mbert": (8000, BertForMaskedLM),
        "mini-roberta": (2000, RobertaForMaskedLM),
        "mini-gpt2": (2000, GPT2LMHeadModel),
    }
    assert list(kinds) == list(RECIPES)
    for name, (size, cls) in kinds.items():
        folder, auto = data_path("models", name), AutoModelForCausalLM if name == "mini-gpt2" else AutoModelForMaskedLM
        assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < 8e6
        assert {w.dtype for w in load_file(folder / "model.safetensors").values()} == {torch.float16}
        plain, plain_tokenizer = auto.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        assert type(plain) is type(bundled[name][0]) is cls and plain.num_parameters() == records[name]["parameters"]
        for p in plain.parameters():
            assert p.dtype == torch.float32 and torch.equal(p, p.half().float()) and p.isfinite().all()
        assert len(plain_tokenizer) == plain.config.vocab_size == size and plain_tokenizer.model_max_length == 72
        assert plain.get_output_embeddings().weight is plain.get_input_embeddings().weight
        assert plain.config.pad_token_id == plain_tokenizer.pad_token_id
        fresh, kept = (m.config.to_dict() for m in (untrained_model(plain_tokenizer, RECIPES[name]), plain))
        assert {k for k in kept if kept[k] != fresh.get(k)} <= {"architectures", "dtype", "use_cache", "_name_or_path"}
        recorded = asdict(ModelRecipe()) | records[name]["recipe"]
        assert json.loads(json.dumps(recorded)) == json.loads(json.dumps(asdict(RECIPES[name])))
        assert (folder / "README.md").read_text(encoding="utf-8") == model_card(records[name])


def test_special_tokens_are_those_of_the_originals(bundled):
    roles = {
        "mini-xlmr": ("<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"),
        "mini-roberta": ("<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"),
        "mini-mbert": (None, None, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"),
        "mini-gpt2": ("<|endoftext|>",) * 3 + (None,) * 4,
    }
    ids = {
        "mini-xlmr": (0, 2, 3, 2, 1, 0, 7999),
        "mini-roberta": (0, 2, 3, 2, 1, 0, 4),
        "mini-mbert": (None, None, 1, 3, 0, 2, 4),
        "mini-gpt2": (1999,) * 3 + (None,) * 4,
    }
    names = [f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
    for name, (_, own) in bundled.items():
        assert tuple(getattr(own, n) for n in names) == roles[name]
        assert tuple(getattr(own, f"{n}_id") for n in names) == ids[name]
        whole, inside = (
            own("Paris – 2 euros.")["input_ids"],
            own("Paris – 2 euros.", add_special_tokens=False)["input_ids"],
        )
        assert whole == (inside if name == "mini-gpt2" else [own.cls_token_id, *inside, own.sep_token_id])


def test_the_byte_level_vocabularies_are_the_same_but_for_special_tokens_and_any_text_comes_back(bundled):
    first, second = (bundled[name][1] for name in ("mini-roberta", "mini-gpt2"))
    expected = ["ĠParis", "ĠâĢĵ", "ĠFrance", ",", "Ġ2", "Ġeuros", "."]
    assert first.tokenize("Paris – France, 2 euros.") == second.tokenize("Paris – France, 2 euros.") == expected
    text = "Paris – 2019, ქართული и日本."
    for own in (first, second):
        ids = own(text)["input_ids"]
        assert own.decode(ids, skip_special_tokens=True).strip() == text and own.unk_token_id not in ids
    ordinary = first.convert_ids_to_tokens(range(5, 2000))
    assert second.convert_ids_to_tokens(range(1999))[:1995] == ordinary and len(set(ordinary)) == 1995
    assert json.loads(second.backend_tokenizer.to_str())["model"]["vocab"]["<|endoftext|>"] == 1999


def test_the_recorded_held_out_losses_are_the_models(bundled, records):
    for name, code in {"mini-xlmr": "sw", "mini-mbert": "qda", "mini-roberta": "en", "mini-gpt2": "en"}.items():
        source, unseen = records[name]["source"], records[name]["unseen"]
        assert abs(evaluate_language(*bundled[name], code) - {**source, **unseen}[code]) < 0.02, code
        worst = max(source.values())
        assert worst < 2.5 and all(unseen[code] > worst for code in ("sw", "et", "uk") if code in unseen)
    for name in ("mini-roberta", "mini-gpt2"):
        unseen = records[name]["unseen"]
        assert min(unseen.values()) > 2 * records[name]["source"]["en"]
        assert set(unseen) == {"fr", "de", "zh", "sw", "gd", "ug"}


def test_scripts_that_mini_mbert_lacks_are_unknown_to_it_and_others_are_not(bundled):
    _, tokenizer = bundled["mini-mbert"]
    for code in RECIPES["mini-mbert"].unseen:
        share = fit(tokenizer, world_of(code).lines(code, 40, seed=0, held_out=True)).unk_rate
        if code in ("el", "he", "am", "km", "si"):
            assert share > 0.4, code
        elif world_of(code).script(code) in ("Ethi", "Khmr", "Sinh"):
            assert share > 0.7, code
        else:
            assert share < 0.2, code
    lacking = {"Ethi", "Khmr", "Sinh", "Grek", "Hebr", "Armn", "Thai"}
    assert not lacking & {t.script for t in Vocab.from_tokenizer(tokenizer)}


def test_blocks_of_pairs_begin_with_a_whole_sentence_in_each_of_two_languages():
    small = ModelRecipe(locales=("en", "ka", "he"), vocab_size=400, frames=80, tokenizer_lines=80, **TINY)
    small_tokenizer = train_recipe_tokenizer(small)
    blocks = pair_blocks(small_tokenizer, 40, small)
    assert blocks.shape == (40, 72) and (blocks != small_tokenizer.pad_token_id).all()
    assert (blocks == pair_blocks(small_tokenizer, 40, small)).all()
    for block in blocks.tolist():
        first, second = small_tokenizer.decode(block).split("</s>")[:2]
        assert first != second and all(text.startswith("<s>") and text.endswith(".") for text in (first, second))
    texts = [text for i, code in enumerate(small.locales) for text in lines(code, 160 if code == "en" else 80, i)]
    plain, blocks = pack(small_tokenizer, texts, 72), training_blocks(small_tokenizer, small)
    assert abs((len(blocks) - len(plain)) / len(blocks) - 0.3) < 0.03


def test_pairs_are_of_one_world_and_its_first_language_is_in_most_of_them():
    class Echo:  # a world whose sentences are the codes of their languages
        def parallel(self, a, b, n, seed):
            return [(SimpleNamespace(text=a), SimpleNamespace(text=b))] * n

    echoes = {True: Echo(), False: Echo()}
    codes = ("en", "ka", "de", "qaa", "qbb", "qca")

    def numbered(texts, verbose):
        return {"input_ids": [[codes.index(text)] for text in texts]}  # for a tokenizer

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(pair_blocks.__globals__, "world_of", lambda code: echoes[code in LANGUAGES])
        blocks = pair_blocks(numbered, 6000, ModelRecipe("bert", codes)).tolist()
    pairs = Counter((codes[block[0]], codes[block[1]]) for block in blocks)
    assert all((a in LANGUAGES) == (b in LANGUAGES) and a != b for a, b in pairs) and len(pairs) == 12

    def share(test):
        return sum(n for pair, n in pairs.items() if test(pair)) / 6000

    assert abs(share(lambda p: p[0] in LANGUAGES) - 0.5) < 0.15
    assert abs(share(lambda p: "en" in p or "qaa" in p) - 5 / 6) < 0.1
    assert abs(share(lambda p: p[0] in ("en", "qaa")) - 5 / 12) < 0.1


def test_one_recipe_type_makes_a_model_of_another_kind_with_both_worlds_in_it():
    few = dict(vocab_size=400, frames=60, events=60, tokenizer_lines=100, steps=4)
    both = ModelRecipe("bert", ("en", "qaa", "qba"), ("sw", "qal"), **few, **TINY)
    assert len(text_of(both, 0)) > 100 and len(text_of(both, 2, 5)) == 5
    assert text_of(both, 1) == world_of("qaa").lines("qaa", 60, seed=1)
    with tempfile.TemporaryDirectory() as out:
        train_source_model(out, both, log_every=1, save_every=4)
        stored, stored_tokenizer = load_source_model(out)
        assert {w.dtype for w in load_file(Path(out) / "model.safetensors").values()} == {torch.float16}
        assert type(stored) is BertForMaskedLM and stored.dtype == torch.float32
        assert stored.config.max_position_embeddings == 72 and stored.config.type_vocab_size == 2
        assert set(json.loads((Path(out) / "heldout.json").read_text())["unseen"]) == {"sw", "qal"}
        card = (Path(out) / "README.md").read_text()
    said = ("| qal | ", "BertForMaskedLM", "in English, 120 frames", "60 sentences in each of 2 languages (qaa qba)")
    said += ("Departure from multilingual BERT**: 30% of",)
    assert all(words in card for words in said)


def test_an_english_recipe_makes_a_masked_or_a_causal_model_the_same_one_each_time():
    few = TINY | dict(vocab_size=300, frames=60, pair_share=0, steps=2, feed_forward=24)
    english = ModelRecipe(locales=("en",), unseen=("gd",), **few)
    for kind, cls in (("roberta", RobertaForMaskedLM), ("gpt2", GPT2LMHeadModel)):
        masked, recipe = kind == "roberta", replace(english, architecture=kind)
        with tempfile.TemporaryDirectory() as out:
            first, own = load_source_model(train_source_model(Path(out) / "a", recipe, log_every=1))
            card, record = (Path(out, "a", file).read_text() for file in ("README.md", "heldout.json"))
            with pytest.MonkeyPatch.context() as patch:  # measuring changes no weights
                patch.setitem(train_source_model.__globals__, "measure", lambda *_: None)
                again = load_source_model(train_source_model(Path(out) / "b", recipe, log_every=1))[0]
        start = untrained_model(own, recipe)
        assert type(first) is cls and len(own) == 300 and max_length(first) == 72
        assert own.unk_token_id == (3 if masked else 299)
        plain = train_tokenizer(text_of(recipe, 0), "bpe", 300 if masked else 304)
        ordinary = plain.convert_ids_to_tokens(range(5, 299 if masked else 304))
        assert own.convert_ids_to_tokens(range(5 * masked, 299)) == ordinary
        assert own.decode(own("Paris, 日本")["input_ids"], skip_special_tokens=True).strip() == "Paris, 日本"
        assert own.tokenize("Paris, 日本") == plain.tokenize("Paris, 日本")
        assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters()))
        assert not torch.equal(first.get_input_embeddings().weight, start.get_input_embeddings().weight)
        assert 24 in {w for p in first.parameters() for w in p.shape}
        assert not any(m.p for m in start.modules() if isinstance(m, torch.nn.Dropout))
        record = json.loads(record)
        assert set(record["source"]) == {"en"} and set(record["unseen"]) == {"gd"}
        said = ("in English, 120 frames", f"(`{cls.__name__}`)", "No token is unknown")
        assert all(words in card for words in said)
        assert not any(word in card for word in ("multilingual", "translation", "Departure", "{"))
        assert ("masking 20%" in card) == ("masked" in card) == masked != ("causal" in card)


def test_an_interrupted_run_resumes_from_its_checkpoint_and_stores_a_model_that_loads():
    def stop_at_5(self, args, state, control, **_):
        if state.global_step == 5:
            raise KeyboardInterrupt

    few = dict(vocab_size=300, frames=60, tokenizer_lines=100, steps=6)
    tiny_recipe = ModelRecipe(locales=("en", "ka"), unseen=("sw",), **few, **TINY)
    with tempfile.TemporaryDirectory() as out:
        work = Path(out) / "work"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LossLog, "on_step_end", stop_at_5)
            with pytest.raises(KeyboardInterrupt):
                train_source_model(out, tiny_recipe, log_every=1, save_every=3)
        assert int((work / "training.csv").read_text().splitlines()[-1].split(",")[0]) >= 4
        resumed = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LossLog, "on_step_end", lambda _, args, state, *__, **___: resumed.append(state.global_step))
            train_source_model(out, tiny_recipe, log_every=1, save_every=3)
        assert resumed == [4, 5, 6]
        assert list(pd.read_csv(Path(out) / "training.csv").step) == [1, 2, 3, 4, 5, 6]
        assert not work.exists()
        assert set(json.loads((Path(out) / "heldout.json").read_text())["source"]) == {"en", "ka"}
        with pytest.raises(ValueError, match="already holds a model"):
            train_source_model(out, tiny_recipe)
        assert "| ka | " in (Path(out) / "README.md").read_text()
        assert load_source_model(out)[0].config.hidden_size == 16


def test_small_languages_are_repeated_until_sampling_weights_are_those_of_alpha():
    sizes = {"en": 100, "fi": 10}
    numbered_blocks = {code: torch.arange(n)[:, None] + 1000 * k for k, (code, n) in enumerate(sizes.items())}
    once = in_proportion(numbered_blocks, 1)
    assert torch.equal(once, torch.cat(list(numbered_blocks.values())))
    counts = Counter(in_proportion(numbered_blocks, 0.5)[:, 0].tolist())
    finnish = {i: n for i, n in counts.items() if i >= 1000}
    assert all(counts[i] == 1 for i in range(100)) and set(finnish.values()) == {3, 4} and len(finnish) == 10
    assert abs(sum(finnish.values()) / counts.total() - 10**0.5 / (100**0.5 + 10**0.5)) < 0.01
    assert len(in_proportion(numbered_blocks, 0)) == 200


def test_sinusoidal_positions_tell_how_far_apart_they_are_and_are_as_large_as_random_ones(bundled):
    _, tokenizer = bundled["mini-xlmr"]
    waves = ModelRecipe(sinusoids=True, dim=64, heads=2, feed_forward=16, layers=1)
    sines, random = (
        untrained_model(tokenizer, recipe).roberta.embeddings.position_embeddings.weight.detach()
        for recipe in (waves, replace(waves, sinusoids=False))
    )
    products = sines @ sines.T
    apart = [products.diagonal(k) for k in (0, 1, 2, 3)]
    assert all(d.std() < 1e-4 * d.mean() for d in apart) and apart[0][0] > apart[1][0] > apart[2][0] > apart[3][0]
    assert abs(sines.pow(2).mean().sqrt() / random.pow(2).mean().sqrt() - 1) < 0.05
    causal = untrained_model(bundled["mini-gpt2"][1], replace(waves, architecture="gpt2"))
    assert torch.allclose(causal.transformer.wpe.weight.norm(dim=1), causal.transformer.wpe.weight[0].norm())


def test_a_folder_of_text_trains_a_model_and_an_interrupted_run_gives_the_same_one_as_a_run_in_one_go():
    def stop_at_5(self, args, state, control, **_):
        if state.global_step == 5:
            raise KeyboardInterrupt

    def stop_masked_at_5(self, args, state, control, **_):
        if self.before and state.global_step == 5:
            raise KeyboardInterrupt

    tiny = dict(length=32, dim=16, heads=2, feed_forward=16, layers=1, steps=6, batch_size=4)
    mixture = dict(vocab_size=260, alpha=0.3, tokenizer_lines=100, causal_steps=6)
    text_recipe = ModelRecipe(locales=("en", "de"), unseen=("fr",), **mixture, **tiny, pair_share=0.3, sinusoids=True)
    with tempfile.TemporaryDirectory() as top:
        folder, first, second = (Path(top) / name for name in ("text", "a", "b"))
        folder.mkdir()
        for code, n in (("en", 200), ("de", 50), ("fr", 40)):
            (folder / f"{code}.train.txt").write_text("\n".join(lines(code, n, 1)), encoding="utf-8")
            (folder / f"{code}.heldout.txt").write_text("\n".join(lines(code, 40, 2)), encoding="utf-8")
        (folder / "sources.md").write_text("Facts (CC0).")

        def train(out, recipe=text_recipe):
            return train_source_model(out, recipe, log_every=1, save_every=3, text=folder, bf16=True)

        for stop in (stop_at_5, stop_masked_at_5):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LossLog, "on_step_end", stop)
                with pytest.raises(KeyboardInterrupt):
                    train(first)
        with pytest.raises(ValueError, match="another learning_rate; resume"):
            train(first, replace(text_recipe, learning_rate=1e-3))
        own = load_source_model(train(first))
        with pytest.MonkeyPatch.context() as patch:  # measuring changes no weights
            patch.setitem(train_source_model.__globals__, "measure", lambda *_: None)
            straight = load_source_model(train(second))[0]
        assert all(torch.equal(a, b) for a, b in zip(own[0].parameters(), straight.parameters()))
        record = json.loads((first / "heldout.json").read_text())
        assert set(record["source"]) == {"en", "de"} and set(record["unseen"]) == {"fr"}
        assert record["run"]["tokens"] == (6 + 6) * 4 * 32
        assert list(pd.read_csv(first / "training.csv").step) == list(range(1, 13))
        from_file, from_phrasebook = (round(evaluate_language(*own, "de", where), 4) for where in (folder, None))
        assert record["source"]["de"] == from_file != from_phrasebook
        card = (first / "README.md").read_text()
        assert "2 languages (en de), sampled with alpha 0.3. Facts (CC0)." in card and "held-out lines" in card
        assert "--model field-xlmr --text FOLDER" in card and "# field-xlmr" in card
        assert "phrasebook" not in card and "translation" not in card and "6 steps before them" in card
        for missing in ("fr.heldout.txt", "de.train.txt"):  # before anything is made
            (folder / missing).rename(folder / "elsewhere.txt")
            with pytest.raises(ValueError, match=f"expected one file {missing}.*found 0"):
                train(Path(top) / "c")
        assert not (Path(top) / "c").exists()

    def _no_data(*parts):
        raise FileNotFoundError

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(load_source_model.__globals__, "data_path", _no_data)
        told = "field-xlmr is not there; .* --model field-xlmr --fetch`, .* --model field-xlmr --text FOLDER` trains it"
        with pytest.raises(FileNotFoundError, match=told):
            load_source_model("field-xlmr")


def test_zero_shot_tagging_trains_on_one_language_and_tests_on_others(bundled):
    model, _ = bundled["mini-xlmr"]

    def treebank(words, n):  # sentences of nouns and verbs by turns
        def sentence(i):
            tags = ("NOUN", "VERB")
            rows = (f"{k + 1}\t{words[(i + k) % 4]}\t_\t{tags[(i + k) % 2]}\t_\t_\t0\t_\t_\t_" for k in range(6))
            return "\n".join(rows) + "\n\n"

        return "".join(sentence(i) for i in range(n))

    with tempfile.TemporaryDirectory() as top:
        top = Path(top)
        with pytest.raises(ValueError, match="no en.train.conllu in"):
            zero_shot_pos("mini-xlmr", top)
        english, german = ("France", "euros", "Cairo", "Paris"), ("euros", "France", "Paris", "Cairo")
        for file, words in (("en.train", english), ("en.dev", english), ("en.test", english), ("de.test", german)):
            (top / f"{file}.conllu").write_text(treebank(words, 40))
        config = replace(POS_CONFIG, learning_rate=3e-3, epochs=6)
        found = zero_shot_pos("mini-xlmr", top, seeds=(0,), config=config)
        # German has nouns and verbs the other way around
        assert found.train.tolist() == ["en"] and found.en[0] > 0.95 and found.de[0] < 0.05

        tagged = []

        def keep_model(model, *_):
            return SimpleNamespace(model=tagged.append(model))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("vocab_lit.tasks.finetune.fine_tune", keep_model)
            patch.setattr("vocab_lit.tasks.finetune.evaluate", lambda *_: {"accuracy": 1.0})
            for random_weights in (False, True):
                zero_shot_pos("mini-xlmr", top, seeds=(0,), random_weights=random_weights)
        stored, kept, forgotten = (m.get_input_embeddings().weight for m in (model, *tagged))
        assert torch.equal(stored, kept) and not torch.equal(stored, forgotten)

        own = Path(shutil.copytree(data_path("models", "mini-xlmr"), top / "own"))
        quick = dict(config=replace(POS_CONFIG, epochs=1), n_train=8, n_test=4)
        table = measure_transfer(own, top, seeds=(0, 1), **quick)
        assert table.model.tolist() == [
            name for name in ("own", "random weights", "mini-xlmr (bundled)") for _ in (0, 1)
        ]
        assert table.de[:2].tolist() == table.de[4:].tolist()
        assert len(json.loads((own / "zero_shot.json").read_text())) == 6
        card = (own / "README.md").read_text()
        assert "| language | own | random weights | mini-xlmr (bundled) |\n|---|---|---|---|\n| de | " in card
        assert (
            f"| de | {100 * table.de[:2].mean():.1f} ± {100 * table.de[:2].std():.1f} | " in card and "2 seeds" in card
        )


def test_the_command_makes_the_model_that_is_asked_for():
    made = []

    def note(out, recipe, **options):
        made.append((str(out), recipe, options))

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as empty:
        patch.setitem(make_model.__globals__, "train_source_model", note)
        asked = (
            "",
            "--model mini-gpt2",
            "--model mini-mbert --out x --steps 7 --frames 9 --seed 3",
            "--model field-xlmr --text y --out x --micro-batch 4 --bf16",
        )
        for line in asked:
            assert CliRunner().invoke(app, ["model", *line.split()]).exit_code == 0
        # neither without the other; treebanks are looked for before training
        for line in ("--model field-xlmr", "--text y", f"--treebanks {empty}"):
            assert CliRunner().invoke(app, ["model", *line.split()]).exit_code == 1
    plain = dict(text=None, micro_batch=0, bf16=False)
    assert made == [
        ("mini-xlmr", ModelRecipe(), plain),
        ("mini-gpt2", RECIPES["mini-gpt2"], plain),
        ("x", replace(RECIPES["mini-mbert"], steps=7, frames=9, seed=3), plain),
        ("x", FIELD_RECIPES["field-xlmr"], dict(text="y", micro_batch=4, bf16=True)),
    ]
