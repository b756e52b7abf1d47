import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Sequence as Many
from transformers import TrainerCallback

from studies.experiment import EXTENSION, FOCUS_METHODS, VOCABULARY_WAYS, ExpandedTarget, Target, Targets, focus_methods
from studies.hub import HubText
from studies.presets import PAPER_TEXT
from studies.setups import SetupOptions, _hub_text, get_setup, scale_lapt
from vocab_lit.study.adaptation import VOCABULARIES
from vocab_lit.study.results import published
from vocab_lit.tasks.parsing import Parsed, write_trees
from vocab_lit.tasks.qa import Question
from vocab_lit.tasks.tagging import UPOS
from vocab_lit.text.phrasebook import dictionary as names_in
from vocab_lit.tokens.vocab import overlap
from vocab_lit.training.lapt import lapt
from vocab_lit.training.lm_data import PackedBlocks, pack
from vocab_lit.training.perplexity import perplexity
from vocab_lit.training.settings import PRESETS, LaptConfig
from vocab_lit.vectors.word_vectors import save_words, word_ppmi


@pytest.fixture(scope="module")
def workplace():
    place = Path(tempfile.mkdtemp())
    return SimpleNamespace(
        place=place,
    )


@pytest.fixture(scope="module")
def mini_setup(workplace):
    place = workplace.place
    mini = get_setup("mini", "sw", limit=2600)
    (place / "text.txt").write_text("\n".join(mini.train[:1500]), encoding="utf-8")
    return SimpleNamespace(
        mini=mini,
    )


@pytest.fixture(scope="module")
def swahili():
    targets = Targets("mini", steps=4, limit=1500)
    sw = targets("sw")
    losses = {m: round(sw.loss(sw.transplant(m).model), 2) for m in ("random", "focus")}
    return SimpleNamespace(
        losses=losses,
        sw=sw,
        targets=targets,
    )


@pytest.fixture(scope="module")
def focus_tables():
    bilingual = get_setup("mini", "sw", source_language="en", limit=800, vocab_size=300, steps=3)
    few_names, one_epoch = (
        [part[:8] for part in bilingual.splits("ner", "sw")],
        replace(bilingual.tasks["ner"], epochs=1),
    )
    bilingual = Target(
        replace(
            bilingual,
            held_out=bilingual.held_out[:15],
            source_text=bilingual.source_text[:500],
            lapt=replace(bilingual.lapt, batch_size=4, length=32, eval_every=3),
            splits=lambda task, language: few_names,
            tasks={"ner": one_epoch},
        )
    )
    followed = {name: pd.DataFrame(bilingual.follow(way, tasks=("ner",))) for name, way in FOCUS_METHODS.items()}
    return SimpleNamespace(
        bilingual=bilingual,
        followed=followed,
    )


@pytest.fixture(scope="module")
def two_languages():
    both = Targets("mini", steps=2, limit=600, preset="embedding-structure")("et+hy")
    default_size, one_epoch = both.setup.vocab_size, {t: replace(c, epochs=1) for t, c in both.setup.tasks.items()}
    both = Target(replace(both.setup, vocab_size=400, tasks=one_epoch))

    def few_examples(task, language):
        return [part[:8] for part in both.setup.splits(task, language)]

    scored = pd.DataFrame(Target(replace(both.setup, splits=few_examples)).scores("script-posn-ident", "full", seeds=1))
    scored.round(2)
    return SimpleNamespace(
        both=both,
        default_size=default_size,
        scored=scored,
    )


@pytest.fixture(scope="module")
def local_hub(workplace, mini_setup):
    place = workplace.place
    mini = mini_setup.mini
    hub = place / "hub"
    shutil.copytree(mini.model, hub / "FacebookAI/xlm-roberta-base")

    def shard(at, rows, features=None):
        (hub / at).parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_dict(rows, features).to_parquet(hub / at)

    shard(
        "statmt/cc100/sw/train/0000.parquet",
        {"id": [str(i) for i in range(1500)], "text": [line + "\n" for line in mini.train[:1500]]},
    )
    shard("statmt/cc100/de/train/0000.parquet", {"id": ["0"] * 50, "text": mini.train[:50]})
    shard("HuggingFaceFW/fineweb-2/data/swh_Latn/train/000_00000.parquet", {"text": mini.train[1500:2500]})
    shard("HuggingFaceFW/fineweb-2/data/sme_Latn/train/000_00000.parquet", {"text": mini.train[1000:1400]})
    tagged = dict(tokens=[["Asha", "yupo"]] * 20, upos=[["PROPN", "VERB"]] * 20)
    for split in ("train", "validation", "test"):
        shard(f"commul/universal_dependencies/sme_giella/{split}-00000-of-00001.parquet", tagged)
    names = Features(tokens=Many(Value("string")), ner_tags=Many(ClassLabel(names=["O", "B-PER", "I-PER"])))
    for at in ("unimelb-nlp/wikiann/sw/{}-00000-of-00001.parquet", "masakhane/masakhaner2/swa/{}/0000.parquet"):
        for n, split in enumerate(("train", "validation", "test"), len(at)):
            shard(at.format(split), {"tokens": [["Asha", "yupo"]] * n, "ner_tags": [[1, 0]] * n}, names)

    def offline(patch):
        patch.setenv("VOCAB_LIT_HUB", str(hub))
        patch.setattr("datasets.config.HF_DATASETS_CACHE", place / "cache")
        for at in ("huggingface_hub.constants.HF_HUB_OFFLINE", "datasets.config.HF_HUB_OFFLINE"):
            patch.setattr(at, True)

    with pytest.MonkeyPatch.context() as patch:
        offline(patch)
        paper = Target(get_setup("paper", "sw", vocab_size=600, steps=2))
        moved = paper.transplant("focus")
        splits = {
            "": paper.setup.splits("ner", "sw"),
            "masakhaner2": get_setup("paper", "sw", ner="masakhaner2", limit=50).splits("ner", "sw"),
        }
    return SimpleNamespace(
        hub=hub,
        moved=moved,
        offline=offline,
        paper=paper,
        shard=shard,
        splits=splits,
    )


@pytest.mark.slow
def test_distilled_embeddings_are_those_of_new_tokens_and_nearer_to_the_text_than_the_mean_that_they_begin_with(
    swahili,
):
    sw = swahili.sw
    assert sw.distils
    mean, distilled = sw.transplant("mean"), sw.distilled("mean", lm=True)
    rows, learnt = (made.model.get_input_embeddings().weight.detach() for made in (mean, distilled))
    assert [i for i in range(len(rows)) if torch.equal(rows[i], learnt[i])] == np.flatnonzero(
        mean.plan.copied >= 0
    ).tolist()
    assert sw.loss(distilled.model) < sw.loss(mean.model)


def test_at_scale_mini_focus_starts_far_below_random_mapping_and_below_a_uniform_guess(swahili):
    losses, targets, sw = swahili.losses, swahili.targets, swahili.sw
    assert losses["focus"] < 6.5 < float(torch.log(torch.tensor(700))) < losses["random"]
    assert targets("sw") is sw and targets("sw", 1).setup.train != sw.setup.train
    counts = sw.overlap_counts()
    assert (
        counts["minCount 10"] <= counts["all"] < counts["vocabulary"] == 700 and counts["not symbols"] < counts["all"]
    )
    curve = sw.along("focus")
    assert (
        [r["step"] for r in curve] == [0, 1, 2, 3, 4]
        and abs(curve[0]["value"] - losses["focus"]) < 0.01
        and curve[-1]["value"] < curve[0]["value"]
    )
    assert sw.vectors("token vectors") is sw.vectors("token vectors") and sw.vectors("") is None


def test_token_vectors_come_from_an_auxiliary_model_that_is_trained_once_with_the_target_vocabulary():
    short = Targets("mini", steps=4, limit=1500)("sw")
    v = short.vectors("token vectors", "auxiliary")
    small, matrix = short.auxiliary_model, short.auxiliary_model.get_input_embeddings().weight.detach().numpy()
    assert small.config.hidden_size * 2 == short.source_model().config.hidden_size
    assert (v.matrix[v.known] == matrix[v.known]).all() and v.known.sum() > 0.9 * len(short.vocab)
    assert short.loss(small) < np.log(len(short.vocab))  # it has learned something
    made = short.transplant("clp", how="auxiliary").plan
    assert not np.array_equal(made.step, short.transplant("clp").plan.step) or made.is_low_rank.any()
    assert short.vectors("token vectors", "auxiliary") is v


def test_the_same_code_runs_on_one_s_own_model_and_text(workplace, mini_setup):
    place = workplace.place
    mini = mini_setup.mini
    own = Target(get_setup("custom", "my Swahili", mini.model, str(place / "text.txt"), vocab_size=600, steps=10))
    assert (
        own.setup.held_out
        and not set(own.setup.held_out) & set(own.setup.train)
        and own.setup.lapt == replace(LaptConfig(), steps=10, eval_every=2)
    )
    assert (
        len(own.transplant("focus").tokenizer) == 600
        and own.lapt_config.length == own.packed("held_out").shape[1] == 72
    )
    for options, match in (
        (dict(scale="custom"), "needs a model folder: set model, and text files: set text$"),
        (dict(scale="custom", model="m"), "custom needs text files: set text$"),
        (dict(scale="huge"), "choose from mini, paper, custom"),
    ):
        with pytest.raises(ValueError, match=match):
            get_setup(language="sw", **options)


def test_a_run_that_was_killed_inside_a_cell_resumes_from_its_checkpoint_with_the_models_from_on_the_way(
    workplace, swahili
):
    place = workplace.place
    sw = swahili.sw
    steps, options = [], dict(method="mean", at=(2,), tasks=("ner",))

    def counting(stop, real=lapt):  # `lapt` that counts its steps and is killed after some
        class Count(TrainerCallback):
            def on_step_end(self, args, state, control, **_):
                steps.append(state.global_step)
                if state.global_step == stop:
                    raise KeyboardInterrupt

        return lambda *args, callbacks=(), **more: real(*args, callbacks=[*callbacks, Count()], **more)

    examples = [part[:8] for part in sw.setup.splits("ner", "sw")]
    quick = replace(
        sw.setup,
        train=sw.setup.train[:300],
        held_out=sw.setup.held_out[:10],
        lapt=replace(sw.setup.lapt, batch_size=4, length=32),
        vocab_size=300,
        splits=lambda task, language: examples,
        tasks={"ner": replace(sw.setup.tasks["ner"], epochs=1)},
    )
    whole = Target(quick).along(**options)
    with pytest.MonkeyPatch.context() as patch:
        for stop in (3, None):
            patch.setitem(Target.train.__globals__, "lapt", counting(stop))
            here, work = Target(quick, place / "runs"), place / "runs"
            if stop:
                with pytest.raises(KeyboardInterrupt):
                    here.along(**options)
                (run,) = work.iterdir()
                assert run.name.startswith("sw-") and (run / "checkpoint-2").is_dir() and (run / "seen-2.pt").is_file()
            else:
                again = here.along(**options)
        assert steps == [1, 2, 3, 3, 4] and not list(work.iterdir()) and again == whole
        patch.setitem(Target.train.__globals__, "lapt", counting(1))
        for run in (
            lambda: here.scores("mean", "all", tasks=()),
            lambda: here.along("mean"),
            lambda: here.scores("mean", "emb", tasks=()),
        ):
            with pytest.raises(KeyboardInterrupt):
                run()
        assert len(list(work.iterdir())) == 2  # one for each run: the first two are the same
    assert Target(quick, place / "other").along("mean")[-1]["step"] == 4 and not list((place / "other").iterdir())
    assert Targets("mini", place).work is None and Targets("custom", place).work == place / "runs"


def test_every_way_of_focus_starts_from_its_own_vocabulary_and_embeddings_and_is_scored_where_its_training_ends(
    focus_tables,
):
    followed = focus_tables.followed
    last = {name: int(rows.step.max()) for name, rows in followed.items()}
    assert last == {name: {"": 0, "all": 3, "two-stage": 4}[way.mode] for name, way in FOCUS_METHODS.items()}
    assert all(rows[rows.metric == "ner"].step.tolist() == [last[name]] for name, rows in followed.items())
    first = {name: rows[rows.metric == "loss"].value.iloc[0] for name, rows in followed.items()}
    assert first["off-the-shelf"] == pytest.approx(first["LAPT"], abs=1e-5)
    assert first["random"] == pytest.approx(first["random, two stages"], abs=1e-5)
    others = [name for name in first if name not in ("LAPT", "random, two stages")]
    assert len({round(first[name], 5) for name in others}) == len(others)
    printed = published("focus")
    printed = printed[printed.table.isin(["2", "3"])]
    paper = {way.printed for way in FOCUS_METHODS.values() if way.printed}
    assert paper == set(zip(printed.setup, printed.method))
    assert set(FOCUS_METHODS) - set(focus_methods(False, True)) == {"wechsel", "wechsel-en"}
    assert set(FOCUS_METHODS) - set(focus_methods(True, False)) == {"wechsel-en"}


def test_an_extended_vocabulary_keeps_the_source_s_embeddings_and_has_focus_s_for_the_new_tokens(focus_tables):
    bilingual = focus_tables.bilingual
    more = ExpandedTarget(bilingual, round(EXTENSION * bilingual.setup.vocab_size))
    extended, n = more.transplant("focus"), len(bilingual.source_vocab)
    first_tokens = [t.piece for t in bilingual.vocab if t.kind == "text"][:180]
    assert {t.piece for t in more.vocab.tokens[n:]} <= set(first_tokens) and len(first_tokens) == 180
    assert n + 50 < len(more.vocab) < n + 180
    embeddings = extended.model.get_input_embeddings().weight
    assert torch.equal(embeddings[:n], bilingual.source_model().get_input_embeddings().weight[:n])
    replaced = bilingual.transplant("focus").model.get_input_embeddings().weight
    mixed = [t for t in more.vocab if extended.plan.steps[extended.plan.step[t.id]] == "SparsemaxSimilarity"]
    own_id = {t.piece: t.id for t in bilingual.vocab}
    alike = [torch.allclose(embeddings[t.id], replaced[own_id[t.piece]], atol=1e-5) for t in mixed]
    assert len(mixed) > 50 and sum(alike) > 0.5 * len(mixed)
    assert more.vectors("") is None


def test_a_trimmed_vocabulary_has_the_source_s_embeddings_and_is_as_good_as_the_source_s_before_any_training(
    focus_tables,
):
    bilingual = focus_tables.bilingual
    short = Target(replace(bilingual.setup, held_out=bilingual.setup.held_out[:4], train=bilingual.setup.train[:300]))
    kept, trimmed = VOCABULARY_WAYS["keep"], VOCABULARY_WAYS["trim"]
    fewer, longer = (short.with_vocabulary(name) for name in ("trim", "continued"))
    begun = [
        {r["metric"]: r["value"] for r in target.along(way.recipe, "", 0, (0,), ("ppl",))}
        for target, way in ((short, kept), (fewer, trimmed))
    ]
    assert {way.vocabulary for way in VOCABULARY_WAYS.values()} == set(VOCABULARIES)
    pieces, source_pieces = ([t.piece for t in vocab] for vocab in (fewer.vocab, fewer.source_vocab))
    assert len(pieces) < 0.4 * len(source_pieces) and set(pieces) <= set(source_pieces)
    # the logits are the same, and the probability of tokens that the text lacks is shared out among the others
    assert 0 <= begun[0]["ppl"] - begun[1]["ppl"] < 0.25 * begun[0]["ppl"]
    assert begun[0]["ppl"] == pytest.approx(
        perplexity(short.source_model(), short.source_tokenizer, short.setup.held_out).bits_per_byte
    )
    grown = [t.piece for t in longer.vocab]
    assert grown[: len(source_pieces)] == source_pieces and 50 < len(grown) - len(source_pieces) <= EXTENSION * 300


def test_wechsel_en_combines_tokens_of_an_english_vocabulary_only_and_word_fasttext_takes_the_file_of_word_vectors(
    workplace, focus_tables
):
    place = workplace.place
    bilingual = focus_tables.bilingual
    english = overlap(bilingual.source_language_vocab, bilingual.source_vocab, fuzzy=False) >= 0
    for method, only in (("wechsel", False), ("wechsel-en", True)):
        moved = bilingual.transplant("wechsel", **FOCUS_METHODS[method].vectors)
        used = moved.plan.weights[moved.plan.step == moved.plan.steps.index("NearestNeighbours")].indices
        assert len(used) and english[used].all() == only
    with pytest.raises(ValueError, match="WECHSEL-EN needs text in the model's language: set source_text"):
        Target(replace(bilingual.setup, source_text=(), word_files=("a.vec", "b.vec"))).vectors(
            "aligned vectors", source_only=True
        )
    save_words(word_ppmi(bilingual.setup.train, 8), place / "words.vec")
    from_file = Target(replace(bilingual.setup, word_files=("", str(place / "words.vec"))))
    assert from_file.vectors("word vectors").matrix.shape == (300, 8)
    assert bilingual.vectors("word vectors").matrix.shape == (300, 64)
    few = bilingual.vectors("word vectors", "fasttext", dim=4, epochs=90)
    assert few.matrix.shape == (300, 4) and few is bilingual.vectors("word vectors", "fasttext", dim=4, epochs=90)


def test_several_languages_share_a_vocabulary_and_are_scored_one_by_one(two_languages):
    default_size, both, scored = two_languages.default_size, two_languages.both, two_languages.scored
    assert default_size == 1500 and len(both.vocab) == 400 and {"Latn", "Armn"} <= {t.script for t in both.vocab}
    armenian = sum(any("\u0530" <= c <= "\u058f" for c in line) for line in both.setup.train) / len(both.setup.train)
    assert abs(armenian - 0.5) < 0.06 and len(both.setup.train) > 1000
    assert scored.query("metric == 'loss'").step.tolist() == [0, 2] and scored.query("metric != 'loss'")[
        ["target", "metric"]
    ].values.tolist() == [["et", "pos"], ["et", "ner"], ["hy", "pos"], ["hy", "ner"]]
    assert both.setup.lapt.mode == "full" and both.setup.lapt.schedule == "linear" and both.setup.lapt.steps == 2
    kept, tokenizer, losses = both.adapted()
    assert len(tokenizer) == 8000 and losses.step.tolist() == [0]
    train, dev, test = both.setup.splits("ner", "et")
    assert not {s.words for s in train} & {s.words for s in test} and any(
        t.startswith("B-") for s in test for t in s.tags
    )


def test_tasks_come_from_one_s_own_files(workplace, mini_setup, two_languages):
    place = workplace.place
    mini = mini_setup.mini
    both = two_languages.both
    train = both.setup.splits("ner", "et")[0]
    rows = "\n".join(f"{w}\t{t}" if w else "" for s in train for w, t in [*zip(s.words, s.tags), ("", "")])
    for name in ("train", "dev", "test"):
        (place / f"{name}.tsv").write_text(rows, encoding="utf-8")
    options = dict(scale="custom", language="et", model=mini.model, text=str(place / "text.txt"))
    files = " ".join(str(place / f"{name}.tsv") for name in ("train", "dev", "test"))
    assert get_setup(**options, ner=files).splits("ner", "et") == (train, train, train)
    short = get_setup(**options, ner=files.replace(str(place / "dev.tsv"), "")).splits("ner", "et")
    assert len(short[0]) + len(short[1]) == len(short[2]) == len(train)
    with pytest.raises(ValueError, match="scale custom needs the files of the task: set pos"):
        get_setup(**options, ner=files).splits("pos", "et")
    named = get_setup(**options, ner=files.replace("train.tsv", "{language}.tsv").replace("dev.tsv", "{language}.tsv"))
    assert named.splits("ner", "test") == (train, train, train) and named.splits("ner", "no such", test_only=True) == (
        [],
        [],
        train,
    )
    by_language = get_setup(**options, ner={"et": files, "fi": str(place / "test.tsv")})
    assert by_language.splits("ner", "et")[0] == train and by_language.splits("ner", "fi") == ([], [], train)
    with pytest.raises(ValueError, match="test file of sw"):
        by_language.splits("ner", "sw")


def test_trees_come_from_constructed_languages_and_from_files(workplace, mini_setup):
    place = workplace.place
    mini = mini_setup.mini
    unks = get_setup("mini", "qal", preset="unks-everywhere-adapter", limit=50)
    assert (
        unks.model.endswith("mini-mbert")
        and len(unks.train) == 50
        and set(unks.tasks) == {"ner", "dp"}
        and unks.vocab_size == 700
        and not unks.split_digits
    )
    train, dev, test = unks.splits("dp", "qal")
    assert (
        list(map(len, (train, dev, test))) == [200, 40, 150]
        and isinstance(train[0], Parsed)
        and not {s.words for s in train} & {s.words for s in test}
    )
    assert [s.words for s in unks.splits("ner", "qal")[0]] == [s.words for s in train] and set(
        unks.splits("pos", "qal")[0][0].tags
    ) <= set(UPOS)
    for task, language, match in (
        ("dp", "et", "no examples of dp in et, which the phrasebook speaks; choose from pos, ner, qa, nli"),
        ("qa", "qal", "no examples of qa in qal, a constructed language; choose from pos, ner, dp"),
    ):
        with pytest.raises(ValueError, match=match):
            unks.splits(task, language)
    write_trees(test, place / "qal.conllu")
    treebank = get_setup(
        "custom",
        "qal",
        mini.model,
        str(place / "text.txt"),
        dp=f"{place / 'qal.conllu'} {place / 'qal.conllu'}",
        preset="unks-everywhere",
        limit=200,
    )
    assert (
        treebank.splits("dp", "qal")[2] == test
        and len(treebank.train) + len(treebank.held_out) == 200
        and (treebank.tasks["dp"].learning_rate, treebank.lapt.learning_rate) == (2e-5, 1e-4)
    )


def test_questions_and_pairs_come_from_files(workplace, mini_setup, two_languages):
    place = workplace.place
    mini = mini_setup.mini
    both = two_languages.both
    asked = both.setup.splits("qa", "et")
    assert (
        len(asked[0]) > 500
        and isinstance(asked[0][0], Question)
        and both.setup.splits("qa", "et", test_only=True) == ([], [], asked[2])
    )
    assert {q.context for q in asked[0]}.isdisjoint(q.context for q in asked[1] + asked[2]) and asked[2][
        0
    ].id.startswith("et-")
    inferred = both.setup.splits("nli", "et")
    assert (
        [len(part) for part in inferred] == [498, 60, 150]
        and {p.label for p in inferred[0]} == {"entailment", "neutral", "contradiction"}
        and not {p.premise for p in inferred[0]} & {p.premise for p in inferred[2]}
    )
    squad = {
        "data": [
            {
                "paragraphs": [
                    {
                        "context": q.context,
                        "qas": [
                            {
                                "id": q.id,
                                "question": q.question,
                                "answers": [{"text": a.text, "answer_start": a.start} for a in q.answers],
                            }
                        ],
                    }
                    for q in asked[2]
                ]
            }
        ]
    }
    (place / "q.json").write_text(json.dumps(squad), encoding="utf-8")
    (place / "p.tsv").write_text("premise\thypothesis\tlabel\n" + "a b\ta\tentailment\n" * 20, encoding="utf-8")
    options = dict(scale="custom", language="et", model=mini.model, text=str(place / "{language}.txt"))
    (place / "et.txt").write_text((place / "text.txt").read_text(encoding="utf-8"), encoding="utf-8")
    given = get_setup(
        **options,
        qa=f"{place / 'q.json'} {place / 'q.json'} {place / 'q.json'}",
        nli=f"{place / 'p.tsv'} {place / 'p.tsv'}",
    )
    assert (
        given.splits("qa", "et") == (asked[2],) * 3
        and list(map(len, given.splits("nli", "et"))) == [18, 2, 20]
        and given.train
    )


def test_presets_have_the_rates_of_their_kind(workplace, mini_setup):
    place = workplace.place
    mini = mini_setup.mini
    setups = {
        preset: get_setup("custom", "et", mini.model, str(place / "text.txt"), preset=preset)
        for preset in ("mad-x", "mad-x-adapter")
    }
    assert {p: (s.lapt.learning_rate, s.tasks["ner"].learning_rate, s.lapt.steps) for p, s in setups.items()} == {
        "mad-x": (5e-5, 5e-5, 250_000),
        "mad-x-adapter": (1e-4, 1e-4, 250_000),
    }
    gpt2 = scale_lapt("paper", "wechsel-gpt2")
    assert (
        gpt2 == PRESETS["wechsel-gpt2"] and 0.1 * gpt2.steps % gpt2.eval_every == 0
    )  # Table 3 has a tenth of the steps
    assert scale_lapt("mini", "wechsel-gpt2", 40).eval_every == 4
    low_resource = "wechsel-gpt2-low-resource"
    assert scale_lapt("paper", low_resource) == PRESETS[low_resource]
    protocol = scale_lapt("mini", low_resource, 120)  # stops after four evaluations without a lower loss, as the paper
    assert (protocol.eval_every, protocol.patience) == (4, 16)
    small = get_setup("mini", "et", preset="mad-x-adapter", limit=1)
    assert (
        small.lapt.steps == 60
        and small.tasks["ner"].pooling == "first"
        and small.tasks["qa"].stride == 8
        and small.tasks["ner"].learning_rate
        > get_setup("mini", "et", preset="mad-x", limit=1).tasks["ner"].learning_rate
    )


def test_scale_paper_runs_from_a_mirror_from_text_to_transplanted_model_and_names_what_is_not_there(
    workplace, mini_setup, local_hub
):
    place = workplace.place
    mini = mini_setup.mini
    paper, hub, moved, splits, offline = (
        local_hub.paper,
        local_hub.hub,
        local_hub.moved,
        local_hub.splits,
        local_hub.offline,
    )
    assert (
        paper.setup.model == str(hub / "FacebookAI/xlm-roberta-base")
        and len(moved.tokenizer) == 600
        and moved.model.get_input_embeddings().weight.shape[0] == 600
    )
    assert set(paper.setup.train) | set(paper.setup.held_out) == set(mini.train[:1500]) and paper.setup.lapt == replace(
        PRESETS["focus"], steps=2, eval_every=1
    )
    n = len("unimelb-nlp/wikiann/sw/{}-00000-of-00001.parquet")
    assert (
        list(map(len, splits[""])) == [n, n + 1, n + 2] != list(map(len, splits["masakhaner2"]))
    )  # the data set's own division
    with pytest.MonkeyPatch.context() as patch:
        offline(patch)
        german = get_setup("paper", "de", vocab_size=300)
        with pytest.warns(UserWarning, match="in 1 epochs"):
            once = Target(replace(mini, vector_epochs=german.vector_epochs)).vectors("token vectors", "fasttext")
        assert (german.vector_epochs, paper.setup.vector_epochs) == (1, 0)
        assert once.name.startswith("token fastText (1 epochs, ")
        assert set(get_setup("paper", "sw", corpus="fineweb-2", limit=900).train) < set(mini.train[1500:2500])
        for options, error, match in (
            (dict(corpus="cc1000"), ValueError, "no corpus 'cc1000'; choose from cc100"),
            (
                dict(qa="wikiann"),
                ValueError,
                "no data set for qa 'wikiann'; choose from squad, xquad, tydiqa, germanquad",
            ),
            (
                dict(preset="unks-everywhere"),
                FileNotFoundError,
                "the model google-bert/bert-base-multilingual-cased is not there",
            ),
            (dict(preset="mad-x"), ValueError, "the data set wikimedia/wikipedia does not load for sw"),
            (dict(corpus="mc4"), ValueError, "the data set allenai/c4 does not load for sw"),
        ):
            with pytest.raises(error, match=match):
                get_setup("paper", "sw", **options)
        bilingual = Target(get_setup("paper", "sw", "FacebookAI/xlm-roberta-base", preset="wechsel-roberta", limit=300))
        with pytest.raises(
            ValueError,
            match="set dictionary to a file of two columns; download vectors of English: https://.*cc.sw.300.bin.gz.*dicts/data/swahili.txt",
        ):
            bilingual.vectors("aligned vectors")
        (place / "en-sw.txt").write_text(
            "".join(f"{a} {b}\n" for a, b in names_in("en", "sw") if " " not in a + b), encoding="utf-8"
        )  # as MUSE writes them
        dictionary = get_setup(
            "paper",
            "sw",
            "FacebookAI/xlm-roberta-base",
            preset="wechsel-roberta",
            limit=300,
            dictionary=str(place / "en-{language}.txt"),
        ).pairs
        assert dictionary == [(a, b) for a, b in names_in("en", "sw") if " " not in a + b]
        sami = get_setup("paper", "sme", preset="embedding-structure", limit=300, vocab_size=600)
        sami = replace(sami, tasks={task: replace(config, epochs=1) for task, config in sami.tasks.items()})
        assert sami.has_task("pos", "sme") and not sami.has_task("ner", "sme")
        assert [row["metric"] for row in Target(sami).scores(seeds=1)] == ["loss", "pos"]
        structure = dict(model="FacebookAI/xlm-roberta-base", preset="embedding-structure", limit=300)
        with pytest.raises(ValueError, match="the data set oscar-corpus/OSCAR-2201 does not load for sw"):
            get_setup("paper", "sw", **structure)
        divided = get_setup("paper", "sw", corpus="cc100", **structure)
        with pytest.raises(ValueError, match="sentences are too few for 256"):
            divided.splits("ner", "sw")


def test_at_scale_paper_text_is_read_to_its_end_or_to_what_the_paper_takes_cleaned_where_it_does_and_kept_in_the_cache(
    mini_setup, local_hub
):
    mini = mini_setup.mini
    offline, shard = local_hub.offline, local_hub.shard
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        offline(patch)
        real = HubText.__iter__.__globals__["hub_lines"]
        patch.setitem(HubText.__iter__.__globals__, "hub_lines", lambda *given: asked.append(given) or real(*given))
        whole, few = get_setup("paper", "sw"), get_setup("paper", "sw", limit=50)
        assert asked[0] == ("cc100", "sw", None) and asked[-1] == ("cc100", "sw", 50)
        assert len(few.train) < 50 < len(whole.train) and list(whole.vocab_text) == list(whole.train)
        sampled = list(get_setup("paper", "sw", sample_bytes=10_000).vocab_text)
        assert 5_000 < sum(len(line.encode()) for line in sampled) < 15_000 and set(sampled) < set(whole.train)
        short = get_setup("paper", "sw", max_bytes=5_000)
        assert sum(len(line.encode()) for line in [*short.train, *short.held_out]) <= 5_000
        noisy = [*mini.train[:400], "x", "12 34 56 a", mini.train[0]]
        shard("statmt/cc100/gd/train/0000.parquet", {"text": noisy})
        model = dict(model="FacebookAI/xlm-roberta-base", corpus="cc100")
        structure = get_setup("paper", "gd", preset="embedding-structure", **model)
        as_it_is = get_setup("paper", "gd", preset="embedding-structure", cleaned=False, **model)
        assert {"x", "12 34 56 a"} <= {*as_it_is.train, *as_it_is.held_out}
        assert not {"x", "12 34 56 a"} & {*structure.train, *structure.held_out}
        kept = Target(replace(few, vocab_size=300))
        blocks = kept.packed("train")
        assert isinstance(blocks, PackedBlocks) and blocks.file.parent == few.train.beside("x").parent
        written = blocks.file.stat().st_mtime_ns
        again = Target(replace(few, vocab_size=300)).packed("train")
        assert again.file == blocks.file and again.file.stat().st_mtime_ns == written
        assert torch.equal(torch.stack(list(blocks)), pack(kept.tokenizer, list(few.train), blocks.length))
        wechsel, text = PAPER_TEXT["wechsel"], SetupOptions("paper", "de", preset="wechsel-gpt2")
        assert _hub_text(text, wechsel, "de") == HubText("oscar-2019", "de", max_bytes=4 * 2**30)
        assert _hub_text(text, wechsel, "sw") == HubText("cc100", "sw")
        text = SetupOptions("paper", "myv", preset="embedding-structure", language_model="lid.bin")
        read = {code: _hub_text(text, PAPER_TEXT["embedding-structure"], code) for code in ("myv", "et")}
        assert {code: found.language_model for code, found in read.items()} == {"myv": "lid.bin", "et": ""}
        mixed = get_setup("paper", "sw+gd", preset="embedding-structure", **model)
        assert {*mixed.train} <= {*mini.train} and len(mixed.held_out) > 20
