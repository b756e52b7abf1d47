"""Scale paper: presets, and runs from a mirror of the Hub."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from studies.chapters.focus import FocusChapter
from studies.data.hub import HubText
from studies.data.hub_sources import word_files
from studies.papers.experiment import Target, focus_methods
from studies.papers.setups import SetupOptions, get_setup, paper_text, scale_lapt
from testkit.phrasebook import dictionary as names_in
from vocab_lit.training.lm_data import PackedBlocks, pack
from vocab_lit.training.settings import PRESETS


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
        german = get_setup("paper", "de", vocab_size=290)
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
        kept = Target(replace(few, vocab_size=290))
        blocks = kept.packed("train")
        assert isinstance(blocks, PackedBlocks) and blocks.file.parent == few.train.beside("x").parent
        written = blocks.file.stat().st_mtime_ns
        again = Target(replace(few, vocab_size=290)).packed("train")
        assert again.file == blocks.file and again.file.stat().st_mtime_ns == written
        assert torch.equal(torch.stack(list(blocks)), pack(kept.tokenizer, list(few.train), blocks.length))
        text = SetupOptions("paper", "de", preset="wechsel-gpt2")
        assert paper_text(text, "de") == HubText("oscar-2019", "de", max_bytes=4 * 2**30)
        assert paper_text(text, "sw") == HubText("cc100", "sw")
        text = SetupOptions("paper", "myv", preset="embedding-structure", language_model="lid.bin")
        read = {code: paper_text(text, code) for code in ("myv", "et")}
        assert {code: found.language_model for code, found in read.items()} == {"myv": "lid.bin", "et": ""}
        mixed = get_setup("paper", "sw+gd", preset="embedding-structure", **model)
        assert {*mixed.train} <= {*mini.train} and len(mixed.held_out) > 20


def test_word_vectors_from_little_text_have_the_dimensions_of_a_file_beside_them(workplace, mini_setup):
    file = workplace.place / "cc.en.vec"  # as fastText publishes them, with fewer numbers
    rows = np.random.default_rng(0).normal(size=(40, 30)).round(3)
    words = [f"word{i}" for i in range(40)]
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows)]
    file.write_text("40 30\n" + "".join(lines), encoding="utf-8")
    paper = replace(mini_setup.mini, scale="paper", train=mini_setup.mini.train[:300], word_files=(str(file), ""))
    of_source, of_target = Target(paper).words()
    assert (of_source.dim, of_target.dim) == (30, 30)
    assert of_target.model is not None  # fastText, however small the text (WECHSEL, Table 11)
    assert Target(replace(paper, scale="mini")).words()[1].model is None  # counts
    assert Target(replace(paper, scale="mini")).words()[1].dim == 30


def test_languages_without_published_word_vectors_go_without_the_methods_that_need_them(workplace, mini_setup):
    assert "vectors of xh" not in word_files("xh") and "vectors of sw" in word_files("sw")  # Table 4 has a dash
    files = dict(dictionary="d", source_text="t", target_vectors=str(workplace.place / "cc.{language}.300.bin"))
    (workplace.place / "cc.sw.300.bin").touch()
    chapter = FocusChapter("sw", "paper", **files)
    assert set(chapter.ways("sw")) == set(focus_methods(True, True))
    assert set(chapter.ways("sw")) - set(chapter.ways("xh")) == {"focus-word", "wechsel", "wechsel-en"}
