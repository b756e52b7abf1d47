import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers

from studies.papers.adaptation import Adaptation
from studies.papers.setups import get_setup
from studies.papers.transfer import (
    _EMBEDDINGS,
    ALL_LAYERS,
    FMT,
    LANGUAGE_ONLY,
    METHODS,
    PROJECTED,
    UNKS,
    WIRINGS,
    Transfer,
    _alike,
    _by_budget,
    _factors_file,
    _fetch_adapter,
    _learn_task,
    _score,
    _with_languages,
    language_spec,
    learn_factors,
    learn_language,
    learn_languages,
    required_runs,
    source_model,
    transfer,
    transfer_by_steps,
    transfer_scores,
)
from testkit.phrasebook import lines
from vocab_lit.methods.factored import Factoring, factorize
from vocab_lit.methods.registry import get_recipe
from vocab_lit.models.adapterhub import load_adapter, save_adapter
from vocab_lit.models.factored_embedding import factored
from vocab_lit.models.madx import TASK, AdapterConfig, MadX
from vocab_lit.models.source import load_model
from vocab_lit.models.token_tensors import token_parameters
from vocab_lit.runs.grid import Workers
from vocab_lit.tasks.finetune import evaluate, fine_tune
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.tokenizer_file import save_tokenizer
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.training.lapt import lapt
from vocab_lit.training.lm_data import pack
from vocab_lit.training.settings import LaptConfig


@pytest.fixture(scope="module")
def tiny_setup():
    folder, english = Path(tempfile.mkdtemp()), lines("en", 700, seed=1)
    tokenizer = train_tokenizer(english, "unigram", 400)
    tokenizer.model_max_length = 48
    torch.manual_seed(0)
    reading = dict(steps=70, learning_rate=5e-3, batch_size=16, length=48, eval_every=70, warmup=10)
    sizes = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=2, intermediate_size=96)
    tiny_config = transformers.XLMRobertaConfig(vocab_size=400, **sizes, max_position_embeddings=52, pad_token_id=1)
    tiny_model, blocks = transformers.XLMRobertaForMaskedLM(tiny_config), pack(tokenizer, english, 48)
    lapt(tiny_model, tokenizer, blocks, blocks[:4], LaptConfig(**reading))
    tiny_model.save_pretrained(folder / "model")
    save_tokenizer(tokenizer, folder / "model")

    def write_words(name, sentences):
        rows = ["".join(f"{word}\t{tag}\n" for word, tag in zip(s.words, s.tags)) for s in sentences]
        (folder / name).write_text("\n".join(rows), encoding="utf-8")

    for language, text in (("en", english), ("sw", lines("sw", 300, seed=1))):
        (folder / f"{language}.txt").write_text("\n".join(text[:300]), encoding="utf-8")
        train, dev, test = get_setup("mini", language, limit=1).splits("ner", language)
        for part, sentences in (("train", train[:40]), ("dev", dev[:6]), ("test", test[:20])):
            write_words(f"{language}-{part}", sentences)
    files = {
        "en": " ".join(str(folder / f"en-{part}") for part in ("train", "dev", "test")),
        "sw": str(folder / "sw-test"),
    }
    asked = dict(model=str(folder / "model"), text=str(folder / "{language}.txt"), ner=files, steps=2, vocab_size=300)
    quick = dict(epochs=2, batch_size=8, learning_rate=2e-2, eval_every=8, warmup_steps=0)
    small = dict(scale="custom", options=asked, own_vocabulary=("sw",), settings={"ner": quick}, rates={"": 5e-3})
    return SimpleNamespace(
        asked=asked,
        english=english,
        folder=folder,
        small=small,
        tiny_config=tiny_config,
    )


@pytest.fixture(scope="module")
def tiny_study(tiny_setup):
    folder, small = tiny_setup.folder, tiny_setup.small
    tiny = Transfer(folder / "study", ("en", "sw"), **small, workers=Workers(1))
    scores = transfer(tiny, METHODS, "ner", sources=["en"])
    scores.pivot(index="method", columns="target", values="value").loc[list(METHODS)].round(1)
    return SimpleNamespace(
        scores=scores,
        tiny=tiny,
    )


@pytest.fixture(scope="module")
def language_losses(tiny_study):
    tiny = tiny_study.tiny
    losses = (
        tiny.study.frame(tiny.stamp)
        .query("what == 'language'")
        .pivot(index=["kind", "language"], columns="step", values="value")
    )
    losses.round(2)
    return SimpleNamespace(
        losses=losses,
    )


@pytest.fixture(scope="module")
def unks_study(tiny_setup, tiny_study):
    folder = tiny_setup.folder
    tiny = tiny_study.tiny
    kinds = {"mBERT", "MAD-X 2.0", "EL-LEX", "MF1-RAND", "MF10-KMEANS-LEX", "FMT-LEXINIT"}
    methods = {name: method for name, method in (UNKS | FMT).items() if name in kinds}
    unks = replace(tiny, folder=folder / "unks", methods=methods)
    unks_scores = transfer(unks, unks.methods, "ner", sources=["en"])
    unks.study.frame(unks.stamp).query("what == 'language'").pivot(
        index=["kind", "language"], columns="step", values="value"
    ).round(2)
    return SimpleNamespace(
        unks=unks,
        unks_scores=unks_scores,
    )


@pytest.fixture(scope="module")
def scores_by_steps(tiny_study):
    tiny = tiny_study.tiny
    by_steps = transfer_by_steps(tiny, "en", ["sw"], [0, 1, 2], "ner")
    by_steps.round(1)
    return SimpleNamespace(
        by_steps=by_steps,
    )


def test_each_language_is_learnt_once_in_each_way_that_is_needed(tiny_study, language_losses):
    tiny = tiny_study.tiny
    losses = language_losses.losses
    whole, plain, inv = (Adaptation(language="sw"), *(language_spec(tiny, m, "sw") for m in ("MAD-X -INV", "MAD-X")))
    new = language_spec(tiny, "MAD-X, new vocabulary", "sw")
    assert [w.kind for w in (whole, plain, inv, new)] == [
        "whole model",
        "language adapter",
        "language adapter, invertible",
        "language adapter, invertible + script-posn-ident",
    ]
    assert set(losses.index) == {(w.kind, code) for w in (whole, plain, inv) for code in ("en", "sw")} | {
        (new.kind, "sw")
    }
    assert (
        required_runs(tiny, ["MAD-X", "XLM-R MLM-SRC", "MAD-X"], ["en"], ["en", "sw"])
        == [replace(inv, language="en"), inv, Adaptation(language="en")]
        and required_runs(tiny, ["XLM-R", "MAD-X -LAD-INV"], ["en"], ["sw"]) == []
    )
    assert (losses[2] < losses[0]).loc[[(w.kind, "sw") for w in (whole, inv, new)]].all()
    madx = MadX(tiny.target("en").source_model())
    for name, what, invertible, own in (
        ("plain", plain, False, False),
        ("inv", inv, True, False),
        ("new", new, True, True),
    ):
        load_adapter(madx, tiny.place(what), "language", name)
        assert (madx.get("language", name).coupling is not None) == invertible and (name in madx.tokenizers) == own
    assert len(madx.tokenizers["new"]) == 300


def test_a_cell_of_mad_x_equals_a_pipeline_by_hand(tiny_study):
    tiny, scores = tiny_study.tiny, tiny_study.scores
    here, config = tiny.target("en"), tiny.config("ner", "en", True)
    model, tokenizer = load_model(here.setup.model).float(), here.source_tokenizer
    before = {k: v.clone() for k, v in model.state_dict().items()}
    by_hand = MadX(model, "paper", "always")
    for language in ("en", "sw"):
        by_hand.add_language(language, seed=0)
        text = tiny.target(language, True)
        with by_hand.learning(language):
            rate = replace(text.lapt_config, learning_rate=5e-3)
            lapt(model, tokenizer, text.packed("train", True), text.packed("held_out", True), rate, 0)
    assert all(torch.equal(v, model.state_dict()[k]) for k, v in before.items())  # nothing of the base model changes
    result = fine_tune(model, tokenizer, *here.setup.splits("ner", "en"), "ner", 0, config, by_hand.attach("ner", "en"))
    found = scores.query("method == 'MAD-X'").set_index("target").value
    assert found.min() > 3  # such a number is no accident
    assert found["en"] == pytest.approx(100 * result.test)
    result.model.madx.activate("sw", "ner")
    assert found["sw"] == pytest.approx(
        100
        * evaluate(result.model, tokenizer, tiny.target("sw").setup.splits("ner", "sw")[2], "ner", config)["entity_f1"]
    )
    tuned = {k: v for k, v in result.model.state_dict().items() if "madx" not in k and "classifier" not in k}
    assert all(torch.equal(v, before[k]) for k, v in tuned.items())


def test_mad_x_is_the_paper_s_text_and_each_wiring_differs_from_it_in_what_it_says(tiny_study):
    tiny = tiny_study.tiny
    shapes = {name: (m.stack, m.inverse) for name, m in WIRINGS.items()}
    assert shapes == {
        "MAD-X": ("paper", "always"),
        "MAD-X, inverse in MLM only": ("paper", "mlm"),
        "MAD-X, stacked as in the library": ("library", "always"),
        "MAD-X, as in the library": ("library", "mlm"),
    }
    assert len({replace(m, stack="", inverse="") for m in WIRINGS.values()}) == 1
    assert {METHODS[name].stack for name in ("MAD-X -INV", "MAD-X", "MAD-X, new vocabulary")} == {"paper"}
    here, config, wired = tiny.target("en"), tiny.config("ner", "en", True), {}
    for name, (stack, inverse) in shapes.items():
        by_hand = MadX(load_model(here.setup.model).float(), stack, inverse)
        load_adapter(by_hand, tiny.place(language_spec(tiny, "MAD-X", "en")), "language", "en")
        attach, splits = by_hand.attach("ner", "en"), here.setup.splits("ner", "en")
        tuned = fine_tune(by_hand.model, here.source_tokenizer, *splits, "ner", 0, config, attach)
        wired[name] = 100 * tuned.test
    got = transfer(tiny, WIRINGS, "ner", ["en"], ["en", "sw"]).query("target == 'en'").set_index("method").value
    assert got.to_dict() == pytest.approx(wired) and len(set(wired.values())) > 1
    assert language_spec(tiny, "MAD-X, as in the library", "sw") == language_spec(tiny, "MAD-X", "sw")


def test_a_language_with_little_text_has_the_paper_s_smaller_batches_except_at_mini(tiny_setup):
    folder, asked = tiny_setup.folder, tiny_setup.asked
    paper_study = Transfer(folder, ("en", "sw"), "custom", asked, low_resource=("sw",))
    for adapters in (False, True):
        assert [paper_study.config("ner", code, adapters).batch_size for code in ("en", "sw")] == [16, 8]
    assert replace(paper_study, settings={"ner": {"batch_size": 4}}).config("ner", "sw", True).batch_size == 4
    both_alike = Transfer(folder, ("en", "sw"), low_resource=("sw",), options={"limit": 200})
    assert both_alike.config("ner", "sw", True) == both_alike.config("ner", "en", True)
    assert replace(paper_study, low_resource=()).stamp != paper_study.stamp


def test_training_on_the_target_s_text_uses_the_target_s_model_and_on_the_source_s_the_source_s(tiny_study):
    tiny, scores = tiny_study.tiny, tiny_study.scores
    splits, config = tiny.target("en").setup.splits("ner", "en"), tiny.config("ner", "en", False)
    for name, text in (("XLM-R MLM-TRG", "sw"), ("XLM-R MLM-SRC", "en"), ("XLM-R", None)):
        at = tiny.place(Adaptation(language=text)) if text else tiny.target("en").setup.model
        tuned = fine_tune(load_model(at).float(), load_tokenizer(at), *splits, "ner", 0, config).model
        f1 = evaluate(tuned, load_tokenizer(at), tiny.target("sw").setup.splits("ner", "sw")[2], "ner", config)[
            "entity_f1"
        ]
        (found,) = scores[(scores.method == name) & (scores.target == "sw")].value
        assert found == pytest.approx(100 * f1) and found > 3
    assert scores.query("target == 'en' and method.str.contains('MLM')").value.nunique() == 1  # both train on English


def test_a_study_that_is_run_again_reads_its_records_and_trains_again_what_was_deleted(tiny_setup, tiny_study):
    small, asked = tiny_setup.small, tiny_setup.asked
    tiny, scores = tiny_study.tiny, tiny_study.scores
    import os
    import pickle

    import studies.papers.transfer

    def times():
        return {p: p.stat().st_mtime_ns for p in tiny.folder.rglob("*")}

    written = times()
    assert transfer(tiny, METHODS, "ner", sources=["en"]).equals(scores) and times() == written
    assert not list(tiny.trained.glob("*.run"))  # checkpoints last as long as the training
    sent = studies.papers.transfer.Transfer(os.path.relpath(tiny.folder), tiny.languages, **small)
    other = replace(sent, options=asked | {"steps": 5})
    assert sent.folder.is_absolute() and sent.folder.resolve() == tiny.folder.resolve()
    assert pickle.loads(pickle.dumps(sent)).stamp == sent.stamp != other.stamp
    gone = language_spec(tiny, "MAD-X -INV", "sw")
    shutil.rmtree(tiny.place(gone))
    assert transfer(tiny, METHODS, "ner", sources=["en"]).equals(scores)
    assert not tiny.place(gone).is_dir()  # records are there, and nothing uses it
    learn_languages(tiny, [gone], used=True)
    assert tiny.place(gone).is_dir()
    with pytest.raises(ValueError, match="no method 'MADX'; choose from XLM-R, "):
        transfer(tiny, ["MADX"], "ner")
    with pytest.raises(ValueError, match="the training split has no words"):
        transfer(tiny, ["XLM-R"], "ner", sources=["sw"])


def test_methods_share_the_task_adapter_where_the_source_side_is_the_same_and_one_of_them_equals_a_pipeline_by_hand(
    unks_study,
):
    unks, unks_scores = unks_study.unks, unks_study.unks_scores
    assert [list(g) for g in _alike(unks, list(unks.methods), "en")] == [
        ["mBERT"],
        ["MAD-X 2.0", "MF1-RAND", "EL-LEX", "MF10-KMEANS-LEX"],
        ["FMT-LEXINIT"],
    ]
    assert (
        list(UNKS)[:3] == ["mBERT", "MAD-X", "MAD-X 2.0"]
        and len(UNKS) == 11
        and {m.recipe for m in UNKS.values()} - {""} == set(_EMBEDDINGS.values())
    )
    recipes = {name: get_recipe(m.recipe) for name, m in (UNKS | PROJECTED).items() if name.startswith("MF")}
    assert {name for name, recipe in recipes.items() if not recipe.sampled} == {*PROJECTED}  # Section 4.2
    for name, method in PROJECTED.items():
        papers = UNKS[name.removesuffix(", projected")]
        assert replace(method, text=replace(method.text, recipe=papers.recipe)) == papers
    assert all(shape.leave_out == (-1,) for m in list(UNKS.values())[2:] for shape in (m.text.adapter, m.task))
    assert {shape.activation for m in list(UNKS.values())[1:] for shape in (m.text.adapter, m.task)} == {"gelu"}
    english = unks_scores[unks_scores.target == "en"].set_index("method").value  # which keeps its vocabulary
    assert english["EL-LEX"] == english["MAD-X 2.0"] == english["MF1-RAND"] and english.notna().all()
    here, there = unks.target("en", True), unks.target("sw", True)
    model, source = here.source_model(), here.source_tokenizer
    factors = {how: learn_factors(unks, how) for how in (Factoring(), Factoring(10))}
    assert torch.equal(factors[Factoring()].F, factorize(model.get_input_embeddings().weight, Factoring()).F)
    start = there.transplant("mf10-kmeans-lex", factors=factors[Factoring(10)])
    by_hand, shape = MadX(model), AdapterConfig(2, "gelu", 2, (-1,))
    by_hand.add_language("en", shape)
    with by_hand.learning("en"):
        rate = replace(here.lapt_config, learning_rate=5e-3)
        lapt(model, source, here.packed("train", True), here.packed("held_out", True), rate, 0)
    by_hand.add_language(
        "sw", shape, {n: p.detach() for n, p in token_parameters(start.model).items()}, there.tokenizer
    )
    with by_hand.learning("sw"), factored(model, start.layer):
        lapt(model, there.tokenizer, there.packed("train"), there.packed("held_out"), there.lapt_config, 0)
    by_hand.activate("en")
    config = unks.config("ner", "en", True)
    attach = by_hand.attach("ner", "en", AdapterConfig(16, "gelu", 0, (-1,)))  # in the last layer neither has a part
    result = fine_tune(model, source, *here.setup.splits("ner", "en"), "ner", 0, config, attach)
    result.model.madx.activate("sw", "ner")
    f1 = evaluate(result.model, there.tokenizer, there.setup.splits("ner", "sw")[2], "ner", config)["entity_f1"]
    assert unks_scores.query("method == 'MF10-KMEANS-LEX' and target == 'sw'").value.item() == pytest.approx(100 * f1)


def test_in_mad_x_2_0_no_adapter_has_a_part_in_the_last_layer_in_mad_x_all_have_and_each_task_adapter_is_its_own(
    tiny_setup, unks_study
):
    tiny_config = tiny_setup.tiny_config
    unks = unks_study.unks
    study = replace(unks, methods=UNKS | LANGUAGE_ONLY | ALL_LAYERS)
    last = str(tiny_config.num_hidden_layers - 1)
    parts = {}
    for name in ("MAD-X", "MAD-X 2.0", *LANGUAGE_ONLY):
        madx, words = MadX(study.target("en").source_model()), study.target("en").source_tokenizer
        madx.add_language("en", study.methods[name].text.adapter)
        learnt = _learn_task(study, madx, words, "en", "en", "ner", 0, study.methods[name].task).madx
        parts[name] = [last in learnt.get(kind, of).layers for kind, of in (("language", "en"), ("task", "ner"))]
    assert list(parts.values()) == [[True, True], [False, False], [False, True]]
    alike = [
        list(group) for group in _alike(study, ["MAD-X", "MAD-X 2.0", *LANGUAGE_ONLY, "EL-LEX", "EL-LEX, 12Ad"], "en")
    ]
    assert alike == [["MAD-X", "EL-LEX, 12Ad"], ["MAD-X 2.0", "EL-LEX"], [*LANGUAGE_ONLY]]
    assert not language_spec(study, "EL-LEX, 12Ad", "sw").adapter.leave_out


def test_a_published_adapter_takes_the_place_of_training_in_languages_that_keep_the_vocabulary_without_what_is_left_out(
    tiny_setup, unks_study
):
    english, folder, asked = tiny_setup.english, tiny_setup.folder, tiny_setup.asked
    unks = unks_study.unks
    golden = data_path("golden", "adapters", "bert")
    base = transformers.BertForMaskedLM.from_pretrained(golden / "base")
    base.resize_token_embeddings(300)
    words = train_tokenizer(english, "wordpiece", 300)
    words.model_max_length = base.config.max_position_embeddings
    base.save_pretrained(folder / "golden")
    save_tokenizer(words, folder / "golden")
    shutil.copytree(golden / "lang", folder / "published-en")
    published = replace(
        unks,
        folder=folder / "published",
        options=asked | {"model": str(folder / "golden")},
        methods={name: UNKS[name] for name in ("MAD-X", "MAD-X 2.0")},
        published_adapters=str(folder / "published-{language}"),
    )
    assert published.stamp != replace(published, published_adapters="").stamp
    runs = {name: language_spec(published, name, "en") for name in published.methods}
    learn_languages(published, runs.values())
    taken = {}
    for name, run in runs.items():
        madx = MadX(base)
        load_adapter(madx, published.place(run), "language", "en")
        taken[name] = madx.get("language", "en").state_dict()
        madx.remove()
    madx = MadX(base)
    load_adapter(madx, golden / "lang", "language", "en")
    expected = madx.get("language", "en").state_dict()
    assert taken["MAD-X"].keys() == expected.keys() > taken["MAD-X 2.0"].keys()
    assert all(torch.equal(value, expected[part]) for found in taken.values() for part, value in found.items())
    rows = published.study.frame(published.stamp)
    assert len(rows) == 2 and (rows.step == 0).all() and rows.value.gt(0).all()  # nothing was trained
    assert not published.published(language_spec(published, "MAD-X", "sw"))  # which has a vocabulary of its own
    scores_with = transfer(replace(published, own_vocabulary=()), ["MAD-X 2.0"], "ner", ["en"], ["en"])
    assert scores_with.value.notna().all()
    with pytest.MonkeyPatch.context() as patch:
        asked_for = []
        patch.setenv("VOCAB_LIT_HUB", str(folder))
        patch.setattr("huggingface_hub.snapshot_download", asked_for.append)
        shutil.copytree(golden / "lang", folder / "AdapterHub" / "en")
        assert _fetch_adapter("AdapterHub/en") == folder / "AdapterHub" / "en" and not asked_for
        _fetch_adapter("AdapterHub/ja")
        assert asked_for == ["AdapterHub/ja"]


def test_full_model_transfer_trains_embeddings_alone_then_the_task_with_the_source_embeddings_frozen_and_swaps_them(
    unks_study,
):
    unks, unks_scores = unks_study.unks, unks_study.unks_scores
    embeddings_only = language_spec(unks, "FMT-LEXINIT", "sw")
    assert (
        embeddings_only.kind == "el-lex"
        and language_spec(unks, "FMT-LEXINIT", "en") is None
        and language_spec(unks, "mBERT", "sw") is None
    )
    madx, tokenizer = _with_languages(unks, "FMT-LEXINIT", {"sw": unks.place(embeddings_only)})
    assert not madx.get("language", "sw").layers and madx.own_embeddings("sw") is not None
    tuned = _learn_task(unks, madx, tokenizer, "en", None, "ner", 0, None)
    assert (
        not any(p.requires_grad for p in tuned.madx.parameters())
        and not tuned.get_input_embeddings().weight.requires_grad
    )
    original = unks.target("en").source_model().state_dict()
    assert torch.equal(tuned.get_input_embeddings().weight, original["roberta.embeddings.word_embeddings.weight"])
    assert not any(
        torch.equal(p, original[n])
        for n, p in tuned.named_parameters()
        if ".layer." in n and n in original and p.dim() > 1
    )
    swapped = _score(unks, tuned, tokenizer, embeddings_only, "sw", "ner", False)[0]["value"]
    assert swapped == unks_scores.query("method == 'FMT-LEXINIT' and target == 'sw'").value.item()
    assert torch.equal(
        tuned.get_input_embeddings().weight, original["roberta.embeddings.word_embeddings.weight"]
    ) and tuned.madx.languages == ["sw"]


def test_at_scale_mini_the_same_code_runs_on_a_bundled_model_and_trains_with_one_evaluation_at_the_end(tiny_setup):
    folder = tiny_setup.folder
    options = {"steps": 2, "limit": 200, "vocab_size": 200}
    mini = Transfer(folder / "mini", ("en", "am"), options=options, own_vocabulary=("am",), workers=Workers(1))
    got = learn_language(mini, language_spec(mini, "MAD-X, new vocabulary", "am"))
    assert [row["step"] for row in got] == [0, 2] and got[1]["value"] < got[0]["value"] and got[0]["tokens"] == 200
    assert [p.name for p in mini.trained.iterdir()] == ["am-language-adapter-invertible-script-posn-ident"]
    assert mini.config("ner", "en", True).learning_rate > mini.config("ner", "en", False).learning_rate


def test_the_baseline_mbert_is_another_model_fine_tuned_as_xlm_r_is(tiny_setup):
    folder = tiny_setup.folder
    short = Transfer(folder / "mini", ("en",), options={"limit": 200}, settings={"ner": dict(epochs=1, eval_every=1)})
    assert [Path(source_model(short, name)).name for name in ("mBERT", "XLM-R")] == ["mini-mbert", "mini-xlmr"]
    (scored,) = transfer_scores(short, ["mBERT"], "en", ["en"], "ner")
    here, at = short.target("en"), data_path("models", "mini-mbert")
    tuned = fine_tune(
        load_model(at).float(),
        load_tokenizer(at),
        *here.setup.splits("ner", "en"),
        "ner",
        0,
        short.config("ner", "en", False),
    )
    assert scored == {
        "metric": "entity_f1",
        "target": "en",
        "value": pytest.approx(100 * tuned.test),
        "method": "mBERT",
    }
    assert [list(group) for group in _alike(short, ["XLM-R", "mBERT"], "en")] == [["XLM-R"], ["mBERT"]]


def test_the_adapters_of_a_step_are_used_and_all_steps_are_the_full_number_s(tiny_study, scores_by_steps):
    scores, tiny = tiny_study.scores, tiny_study.tiny
    by_steps = scores_by_steps.by_steps
    assert by_steps.step.tolist() == [0, 1, 2]
    assert by_steps.set_index("step").value[2] == pytest.approx(
        scores.query("method == 'MAD-X' and target == 'sw'").value.item()
    )
    weights = [
        load_adapter(
            madx := MadX(tiny.target("en").source_model()),
            tiny.place(language_spec(tiny, "MAD-X", "sw", steps=n)),
            "language",
        )
        and madx.get("language", "sw").state_dict()
        for n in (1, 0)
    ]
    assert not any(torch.equal(v, weights[1][k]) for k, v in weights[0].items())
    strange = MadX(tiny.target("en").source_model())
    strange.add_language("en")
    with torch.no_grad():
        for p in strange.parameters():
            p.normal_(std=0.1, generator=torch.Generator().manual_seed(0))
    save_adapter(strange, "language", "en", tiny.place(language_spec(tiny, "MAD-X", "en", steps=3)))
    found = {r["step"]: r["value"] for r in _by_budget(tiny, ["MAD-X"], "en", ["en"], "steps", [0, 3, 2], "ner", 0)}
    madx, tokenizer = _with_languages(
        tiny,
        "MAD-X",
        {
            "en": tiny.place(language_spec(tiny, "MAD-X", "en")),
            "strange": tiny.place(language_spec(tiny, "MAD-X", "en", steps=3)),
        },
    )
    model, by_hand = _learn_task(tiny, madx, tokenizer, "en", "en", "ner", 0, TASK), {}
    for n, adapter in ((0, None), (3, "strange"), (2, "en")):
        model.madx.activate(adapter, "ner")
        by_hand[n] = (
            100
            * evaluate(
                model, tokenizer, tiny.target("en").setup.splits("ner", "en")[2], "ner", tiny.config("ner", "en", True)
            )["entity_f1"]
        )
    assert found == pytest.approx(by_hand) and len(set(by_hand.values())) > 1
    assert not tiny.place(language_spec(tiny, "MAD-X", "sw", steps=2)).exists()  # all steps are not trained twice


def test_methods_with_the_same_adapter_in_the_source_language_share_the_task_and_factors_are_made_once(unks_study):
    unks = unks_study.unks
    both = transfer_by_steps(unks, "en", ["sw"], [0, 200], "ner", methods=["EL-LEX", "MF1-RAND"], by="limit")
    both = both.pivot(index="step", columns="method", values="value")
    alone = transfer_by_steps(unks, "en", ["sw"], [0, 200], "ner", methods=["MF1-RAND"], by="limit")
    assert both["MF1-RAND"].tolist() == alone.value.tolist()
    assert (
        both.loc[0].nunique() == 1
        and sum(r["what"] == "limit" for _, r in unks.study.frame(unks.stamp).iterrows()) == 6
    )
    first = learn_factors(unks, Factoring(10))
    first_written = _factors_file(unks, Factoring(10)).stat().st_mtime_ns
    assert (
        torch.equal(learn_factors(unks, Factoring(10)).F, first.F)
        and _factors_file(unks, Factoring(10)).stat().st_mtime_ns == first_written
    )
    assert [
        learn_factors(unks, Factoring(solver=s, steps=3 * (s != "svd"))).facts["solver"] for s in ("svd", "hals", "svd")
    ] == ["svd", "hals", "svd"]  # each of its own
