"""Vocabularies, starts and trainings of chapters, at scale mini and with files of one's own."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import TrainerCallback

from studies.data.parsing import Parsed
from studies.papers.experiment import (
    EXTENSION,
    FOCUS_METHODS,
    VOCABULARY_WAYS,
    ExpandedTarget,
    PartOfText,
    Target,
    Targets,
    focus_methods,
)
from studies.papers.printed import published
from studies.papers.setups import get_setup, scale_lapt
from vocab_lit.study.study_file import VOCABULARIES
from vocab_lit.tasks.pairs import Question
from vocab_lit.tasks.tagging import UPOS
from vocab_lit.tokens.vocab import overlap
from vocab_lit.training.lapt import lapt
from vocab_lit.training.perplexity import perplexity
from vocab_lit.training.settings import LaptConfig
from vocab_lit.vectors.word_vectors import save_words, train_words


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


def test_a_part_of_the_text_is_some_of_its_lines_with_its_own_vocabulary_and_the_same_evaluation():
    whole = Targets("mini", limit=400, preset="wechsel-gpt2")("sw")
    config = scale_lapt("mini", "wechsel-gpt2-low-resource", 5)
    part, of_all = (PartOfText(whole, 100, config, words_of_all) for words_of_all in (False, True))
    assert len(part.setup.train) == 100 and set(part.setup.train) < set(whole.setup.train)
    assert part.setup.train == of_all.setup.train and part.setup.held_out == whole.setup.held_out
    assert part.setup.lapt == config and part.vocab_text == part.setup.train
    assert set(part.words()[1].words) < set(whole.words()[1].words) == set(of_all.words()[1].words)
    size = sum(len(line.encode()) + 1 for line in whole.setup.train)
    by_size = PartOfText(whole, f"{size / 2 / 2**20}MiB", config)
    assert len(by_size.setup.train) == pytest.approx(len(whole.setup.train) / 2, abs=1)


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
    save_words(train_words(bilingual.setup.train, "ppmi", dim=8), place / "words.vec")
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
    with pytest.raises(ValueError, match="--ner: give training, development and test file"):
        get_setup(**options, ner=f"{files} {place / 'test.tsv'}").splits("ner", "et")


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
    rows = [enumerate(zip(tree.words, tree.heads, tree.relations), 1) for tree in test]
    conllu = ["".join(f"{i}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_\n" for i, (w, h, r) in tree) for tree in rows]
    (place / "qal.conllu").write_text("\n".join(conllu), encoding="utf-8")
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
