import ast
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, XLMRobertaConfig, XLMRobertaForMaskedLM

import vocab_lit
from studies.chapters.budget import CHAPTERS, loads, needs, on_this_machine, plan
from studies.data.hub_sources import MODELS
from studies.papers.cells import scored_steps
from studies.papers.costs import (
    _SHAPES,
    SHARE,
    Shape,
    batch_flops,
    lapt_flops,
    measure_throughput,
    measured_rate,
    memory_needed,
    run_flops,
    shape_of,
)
from studies.papers.transfer import PROJECTED, UNKS
from testkit.live_bytes import bytes_of_steps
from testkit.phrasebook import lines
from vocab_lit.models.madx import MadX
from vocab_lit.models.source import load_model
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.training.settings import MODES, PRESETS, LaptConfig


@pytest.fixture(scope="module")
def small_model():
    text = lines("sw", 300, seed=0)
    tokenizer = train_tokenizer(text, "unigram", 500)
    tiny = XLMRobertaForMaskedLM(
        XLMRobertaConfig(
            vocab_size=500,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=48,
            pad_token_id=1,
            max_position_embeddings=34,
        )
    )
    small, one = Shape(2, 32, 48, 500), LaptConfig(steps=100, batch_size=16, length=32)
    return SimpleNamespace(one=one, small=small, text=text, tiny=tiny, tokenizer=tokenizer)


@pytest.fixture(scope="module")
def published_throughput():
    bert, gpt2 = Shape(12, 768, 3072, 30_522), _SHAPES[MODELS["GPT-2"]]

    def share(shape, length, asked, tokens_per_second, peak):
        return batch_flops(shape, length, length, asked) / length * tokens_per_second / peak

    published_shares = {
        "WECHSEL, GPT-2 on a TPU v3-8": share(gpt2, 512, 511, 250_000 * 512 * 512 / (4 * 86_400), 4 * 123e12),
        "nanoGPT, GPT-2 on A100": share(gpt2, 1024, 1023, 300e9 / (8 * 4 * 86_400), 312e12),
        "MosaicBERT's BERT-Base on A100": share(bert, 128, 19, 70_000 * 4096 * 128 / (8 * 11.5 * 3600), 312e12),
    }
    return SimpleNamespace(published_shares=published_shares)


@pytest.fixture(scope="module")
def throughput():
    here = measure_throughput()
    return SimpleNamespace(here=here)


def test_operations_by_shape_are_those_that_torch_counts_in_every_mode_for_causal_models_and_with_adapters(small_model):
    small, one, tiny, tokenizer, text = (
        small_model.small,
        small_model.one,
        small_model.tiny,
        small_model.tokenizer,
        small_model.text,
    )
    for mode in MODES:
        assert run_flops(small, replace(one, mode=mode)) == pytest.approx(
            lapt_flops(tiny, tokenizer, replace(one, mode=mode)), rel=0.01
        )
    causal, bpe = (
        GPT2LMHeadModel(
            GPT2Config(vocab_size=500, n_embd=32, n_layer=2, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=2)
        ),
        train_tokenizer(text, "bpe", 500),
    )
    assert run_flops(Shape(2, 32, 128, 500, False), one) == pytest.approx(lapt_flops(causal, bpe, one), rel=0.02)
    madx = MadX(tiny)
    madx.add_language("sw")
    with madx.learning("sw"):
        assert run_flops(small, one, "adapter") == pytest.approx(lapt_flops(tiny, tokenizer, one), rel=0.01)
    for folder in data_path("models").glob("mini-*"):
        shape, model = shape_of(str(folder)), load_model(folder)
        assert shape.masked == ("gpt2" not in folder.name) and shape.parameters == pytest.approx(
            sum(p.numel() for p in model.parameters()), rel=0.06
        )
    with pytest.raises(ValueError, match="the shape of no/model is not known without its config.json"):
        shape_of("no/model")
    assert _SHAPES[MODELS["XLM-R"]].parameters == pytest.approx(278e6, rel=0.01) and _SHAPES[
        MODELS["GPT-2"]
    ].parameters == pytest.approx(124e6, rel=0.02)


def test_the_assumed_share_lies_within_the_published_ones(published_throughput):
    published_shares = published_throughput.published_shares
    assert min(published_shares.values()) * 0.9 < SHARE < max(published_shares.values()) < 0.4


def test_what_is_measured_is_consistent(throughput):
    here = throughput.here
    assert (
        here["share"] > 0  # beside other work it may be anything: both are clock times
        and here["device"]
        and here["flops_per_second"] == pytest.approx(here["share"] * here["products_per_second"])
    )
    per_token = here["flops_per_second"] / here["tokens_per_second"]
    assert per_token == pytest.approx(
        batch_flops(shape_of(str(data_path("models", "mini-xlmr"))), 72, 72, 11) / 72, rel=0.05
    )


def test_loads_are_those_of_the_chapters_own_loops():
    def runs(*args, **kw):
        return {load.what: load.runs for load in loads(*args, **kw)}

    focus = {load.what: load for load in loads("focus", "sw", dictionary="d", source_text="t")}
    replaced = focus["LAPT, replaced vocabulary"]
    assert (replaced.steps, replaced.samples, replaced.tokens) == (390_625, 50_000_000, 50_000_000 * 256)  # Table 5
    assert replaced.flops == pytest.approx(run_flops(Shape(12, 768, 3072, 50_000), PRESETS["focus"]))
    assert {what: load.runs for what, load in focus.items()} == {
        "LAPT, original vocabulary": 1,
        "LAPT, replaced vocabulary": 6,
        "LAPT, replaced vocabulary, two stages": 1,
        "LAPT, extended vocabulary": 2,
        "fine-tuning, ner": 5 * (2 * 8 + 3),  # Table 3 has two data sets of Swahili names; three ways are not printed
        "fine-tuning, nli": 5 * 8,  # Table 2, with five seeds (Section 3.3)
        "fine-tuning, qa": 5 * 8,
    }
    assert runs("focus", "sw", "mini")["LAPT, replaced vocabulary"] == 2 * 6
    assert focus["LAPT, replaced vocabulary, two stages"].steps == 468_750  # 20% more, Section 3.1
    assert (
        runs("focus", "sw")["LAPT, replaced vocabulary"]
        == runs("focus", "sw", dictionary="d")["LAPT, replaced vocabulary"] - 1
    )
    wechsel = {load.what: load for load in loads("wechsel", "sw", medium="fr de zh sw", low="su gd ug mg", seeds=1)}
    assert wechsel["LAPT of GPT-2"].tokens == pytest.approx(65.5e9, rel=0.01)  # Table 1
    assert wechsel["LAPT of RoBERTa"].runs == 4 * 3  # Table 2
    low_resource = wechsel["LAPT of GPT-2, with little text, at most"]
    assert (low_resource.runs, low_resource.steps) == (4 * 3, 250_000)  # Table 4
    assert wechsel["LAPT of GPT-2"].runs == 4 * 3  # Table 3
    # three stages of three starts, four times XLM-R and three monolingual models
    assert wechsel["fine-tuning, nli"].runs == wechsel["fine-tuning, ner"].runs == 4 * 3 * 3 + 4 + 3
    asked = dict(kinds="seen: en tr; script: am", questions="en am", vocabulary="am")
    mad, five = runs("mad-x", "en", **asked, seeds=1), runs("mad-x", "en", **asked, seeds=5)
    assert (
        mad["LAPT, whole model"] == 3
        and mad["LAPT, language adapter"] == 3
        and mad["LAPT, language adapter, invertible"] == 3
        and mad["LAPT, language adapter, invertible + script-posn-ident"] == 1
    )
    assert (
        mad["fine-tuning, ner"] == 3 * (1 + 1 + 3) + 1
        and mad["fine-tuning, ner, adapters"] == 3 * 3 + 1 + 3 * 3 + 2 + 3
    )  # mBERT once; in Amharic an adapter more, as its vocabulary is another; three other wirings, beside which MAD-X
    # stands by itself and not with its target vocabulary; and three seeds with less training
    assert five["fine-tuning, ner"] == 5 * 3 * (1 + 1) + 3 * 3 + 5  # Section 5.2: MLM-TRG once for each pair
    assert five["fine-tuning, qa"] == 3 and five["fine-tuning, qa, adapters"] == 2 * 3
    short = loads("focus", "sw", "mini", steps=10)[1]
    assert short.steps == 10 and short.tokens == 10 * 16 * 72
    for chapter in CHAPTERS:
        for scale in ("mini", "paper"):
            assert all(load.runs > 0 and load.flops > 0 for load in loads(chapter, "sw", scale))
    with pytest.raises(ValueError, match="no chapter 'no'; choose from focus"):
        loads("no", "sw")
    with pytest.raises(ValueError, match="scale 'huge'"):
        loads("focus", "sw", "huge")


def test_parameters_have_the_chapters_names_and_defaults():
    import inspect

    book = Path(vocab_lit.__file__).parents[1] / "book"
    for chapter, count in CHAPTERS.items() if book.is_dir() else ():
        cell = next(
            "".join(c["source"])
            for c in json.loads((book / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
            if "parameters" in c["metadata"].get("tags", [])
        )
        there = {n.targets[0].id: ast.literal_eval(n.value) for n in ast.parse(cell).body}
        for name, p in inspect.signature(count).parameters.items():
            if p.default is not p.empty:
                assert there[name] == p.default, (chapter, name)


def test_the_loads_of_a_chapter_at_scale_mini_counted_by_hand(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # published adapters can be had

    def runs(*args, **kw):
        return {load.what: load.runs for load in loads(*args, **kw)}

    assert runs("embedding-structure", "et", "mini", compare="hy", mixed="et+hy", family="et+fi") == {
        "LAPT, full, source vocabulary": 4,
        "LAPT, full": 20 + 8 + 8,
        "LAPT, full, three times as long": 2,
        "LAPT, emb": 7 + 3,
        "fine-tuning, pos": 34 + 10 + 16,
        "fine-tuning, ner": 34 + 16,
    }
    assert runs("embedding-structure", "et", compare="hy", mixed="et+hy", family="et+fi", seeds=1) == {
        "LAPT, full, source vocabulary": 4,
        "LAPT, full": 2 * 13 + 2 * 13,
        "LAPT, emb": 2 * 7 + 2 * 7,
        "fine-tuning, pos": 2 * 22 + 2 * 2 * 21,
        "fine-tuning, ner": 2 * 22 + 2 * 2 * 21,
    }
    read = needs("embedding-structure", "et").languages["text"]  # of Tables 1, 3 and 8
    assert read == ["et", "hy", "eu", "myv", "he", "ru", "sme", "te", "fi", "hu"]
    of_paper = runs("embedding-structure", "et", seeds=1)
    assert of_paper["fine-tuning, pos"] == 8 * 22 + (8 + 6) * 21
    assert of_paper["fine-tuning, ner"] == 6 * 22 + (6 + 4) * 21  # the Hub has no names of Erzya and North Sámi
    mine = dict(model=str(data_path("models", "mini-xlmr")), text="my.txt", pos="a b")
    assert (
        runs("compare", "my", "custom", **mine)
        == {
            "LAPT, auxiliary model": 1,
            "LAPT, target vocabulary": 13,
            "LAPT, source vocabulary": 1,
            "LAPT, language adapter": 1,
            "fine-tuning, pos": 15,
        }
        and runs("compare", "my", "custom", **mine, dictionary="d")["fine-tuning, pos"] == 19
        and runs("compare", "sw", "mini")["LAPT, auxiliary model"] == 4
        and runs("compare", "sw", "mini")["LAPT, target vocabulary"] == 2 * (8 + 3 + 2 + 4) + 2 * 8
    )
    gelu = "LAPT, language adapter, invertible, gelu"
    embeddings = {method.recipe for method in UNKS.values()} - {""}
    assert runs("unks-everywhere", "am", "mini") == {
        gelu: 2 + 4,
        f"{gelu}, last layer left out": 2 + 4 + 1 + 3,
        **{f"{gelu}, last layer left out + {recipe}": 4 + 3 + 2 * recipe.startswith("el") for recipe in embeddings},
        **{f"{gelu}, last layer left out + {method.recipe}": 4 for method in PROJECTED.values()},
        **{f"{gelu} + {recipe}": 1 for recipe in embeddings},
        "LAPT, el-rand": 4 + 2,
        "LAPT, el-lex": 4 + 2,
        f"{gelu}, last layer left out + mf10-kmeans-lex of 50": 3,
        "fine-tuning, ner": 2 * 2 + 2 + 3,
        "fine-tuning, ner, adapters": 2 * 3 + 2 + 1 + 1,
        "fine-tuning, dp": 1,
        "fine-tuning, dp, adapters": 1,
    }
    names_alone = dict(tree_sources="none", tree_targets="none")
    at_paper = runs("unks-everywhere", "am", **names_alone)
    trained = runs("unks-everywhere", "am", **names_alone, source_adapters="none")
    differences = {what: n - at_paper.get(what, 0) for what, n in trained.items() if n != at_paper.get(what, 0)}
    assert differences == {gelu: 4, f"{gelu}, last layer left out": 4}  # of the four sources
    assert (
        at_paper["LAPT, el-lex"] == at_paper[f"{gelu} + el-lex"] == at_paper[gelu] == 15
    )  # WikiANN has no Erzya and no Wolof
    assert runs("wechsel", "sw", "mini") == {
        "LAPT of GPT-2": 9,
        "LAPT of GPT-2, with little text, at most": 6,
        "LAPT of RoBERTa": 9,
        "fine-tuning, nli": 27,
        "fine-tuning, ner": 27 + 3,
    }


def test_a_plan_has_the_lesson_and_apart_from_it_what_the_page_of_the_papers_tables_takes():
    shown = plan("wechsel", "sw", "mini").budget
    rows = {what: n for what, n in shown.runs.items() if what.startswith("tables")}
    assert rows == {  # in German, Chinese and Swahili
        "tables: LAPT of GPT-2": 4 + 2 * 2,  # Figures 3 and 6 in German, Table 9 in two languages
        "tables: LAPT of GPT-2, with little text, at most": 2 * 4 * 3,  # Table 11
        "tables: LAPT of RoBERTa": 2 * 2,  # Table 10
        "tables: fine-tuning, ner": 2 * 2 * 3,
    }
    assert shown.runs["together"] == 9 + 6 + 9 + 27 + 30
    assert shown.runs["with the paper's tables"] == shown.runs["together"] + sum(rows.values())
    french = plan("wechsel", "fr", "paper", medium="fr", low="su", seeds=1).budget.runs
    assert french["tables: LAPT of GPT-2, with little text, at most"] == 4 * 4  # the four sizes that the paper prints
    limits = plan("unks-everywhere", "am", "mini").budget.runs
    adapter = "language adapter, invertible, gelu, last layer left out + mf10-kmeans-lex"
    assert limits[f"tables: LAPT, {adapter}, less text"] == 2 and limits["tables: fine-tuning, ner, adapters"] == 3
    assert "tables" not in str(list(plan("compare", "sw", "mini").budget.index))
    assert "for the page of the paper's tables" in str(plan("focus", "sw", "mini"))


def test_the_first_scores_on_the_way_are_after_a_step_at_least():
    assert [scored_steps(steps) for steps in (250_000, 40, 3)] == [(0, 25_000, 250_000), (0, 4, 40), (0, 1, 3)]


def test_a_measured_rate_takes_the_place_of_the_assumed_share_and_a_plan_says_which_it_used():
    runs = [dict(side="vocab_lit", flops_per_second=rate) for rate in (2e14, 4e14, 9e14)] + [dict(side="Trainer")]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assumed = plan("focus", "sw", "paper")
        assert "25% of each machine's peak" in str(assumed) and "measured" not in str(assumed)
        Path("_build/bench").mkdir(parents=True)
        gpu_record = dict(environment=dict(device="NVIDIA H200"), runs=runs)
        Path("_build/bench/bench.json").write_text(json.dumps(dict(gpu=gpu_record)), encoding="utf-8")
        assert measured_rate() == dict(device="NVIDIA H200", flops_per_second=4e14)
        found = plan("focus", "sw", "paper")
        assert "H200" not in found.budget and "A100 40GB" in found.budget
        assert "but for NVIDIA H200 from what was measured: 400 TFLOP/s" in str(found)
        hours = sum(load.runs * load.flops for load in loads("focus", "sw", "paper")) / 4e14 / 3600
        assert found.budget["measured: NVIDIA H200"]["together"] == f"{hours:,.0f} h"
        given = plan("focus", "sw", "paper", tokens_per_second=100_000)
        lapt_loads = [load for load in loads("focus", "sw", "paper") if load.what.startswith("LAPT")]
        largest = max(lapt_loads, key=lambda load: load.flops / load.tokens)
        hours = largest.runs * largest.tokens / 100_000 / 3600
        assert given.budget["measured: 100,000 tokens a second"][largest.what] == f"{hours:,.0f} h"
        with pytest.raises(ValueError, match="tokens_per_second -1"):
            plan("focus", "sw", "paper", tokens_per_second=-1)


def test_times_are_those_of_the_machine_at_hand_where_it_is_in_the_table():
    with pytest.MonkeyPatch.context() as patch:
        from vocab_lit.models.device import Device

        for device, said in (
            (Device("cuda", "Tesla T4", 15 * 10**9, "fp16"), "(Colab T4)"),
            (Device("cuda", "NVIDIA A100-SXM4-40GB", 40 * 10**9, "bf16"), "(A100 40GB)"),
            (Device("xla", "TPU through torch_xla", None, "bf16"), "(Colab TPU v5e-1)"),
            (Device("cpu", "x86_64 CPU, 2 threads", 13 * 10**9), "h on Colab T4"),
        ):
            patch.setitem(on_this_machine.__globals__, "find_device", lambda device=device: device)
            assert said in on_this_machine("focus", "sw") and "scale paper" in on_this_machine("focus", "sw")


def _bytes_of_a_step(shape, blocks: int, length: int) -> int:
    "What the tensors of real steps of an XLM-R of a shape hold in bf16, with 15% of the tokens as targets."
    sizes = dict(hidden_size=shape.width, intermediate_size=shape.inner, num_hidden_layers=shape.layers)
    sizes |= dict(num_attention_heads=2, attention_probs_dropout_prob=0, max_position_embeddings=length + 2)
    ids = torch.full((blocks, length), 5)
    labels = torch.where(torch.arange(length) < 0.15 * length, ids, -100)
    return bytes_of_steps(XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=shape.vocab, **sizes)), ids, labels, True)


def test_a_plan_says_where_each_name_is_writes_nothing_and_asks_no_network():
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        import socket

        patch.setattr(socket, "create_connection", lambda *a, **k: (_ for _ in ()).throw(AssertionError("network")))
        patch.setenv("VOCAB_LIT_HUB", folder)
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        has = "en zh ja ar ka ur hi cdo mi ilo gn xmf sd bh am bo dv si sw et"  # not Khmer
        for code in has.split():
            Path(folder, "unimelb-nlp/wikiann", code).mkdir(parents=True)
            Path(folder, "unimelb-nlp/wikiann", code, "test-0.parquet").touch()
        made = plan("unks-everywhere", "am", "paper", dp="", corpus="fineweb-2")
        where = made.reads.set_index("what")["where"]
        assert (
            where["model"].startswith(("on the Hugging Face Hub", "downloaded"))
            and set(where["ner"])
            == {
                "mirror",
                "left out: unimelb-nlp/wikiann has no myv; it has 176 other languages",
                "left out: unimelb-nlp/wikiann has no wo; it has 176 other languages",
                "left out: the mirror's unimelb-nlp/wikiann has no test files of km",
            }
            and "amh_Ethi" in made.reads.query("what == 'text'").part.tolist()
            and "universal_dependencies" in str(made)
            and "Its hyper-parameters, beside the paper's" in str(made)
        )
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

        def places(*args, **kw):
            return plan(*args, "paper", **kw).reads["where"].to_csv()

        assert "no mirror" not in places("focus", "sw") and "nowhere: the Hub is switched off" in places("focus", "sw")
        assert "by hand, from https://dl.fbaipublicfiles.com/fasttext" in places("wechsel", "sw")
        assert "masakhaner2 has no et" in places("embedding-structure", "et", ner="masakhaner2")

        def parts(of, *args, **kw):
            return plan(*args, "paper", **kw).reads.query("what == @of").part.str.extract("([a-z]{2})")[0].tolist()

        assert parts("text", "embedding-structure", "et", compare="hy et", mixed="et+he", family="et+fi") == [
            "et",
            "hy",
            "he",
            "fi",
        ]
        mad = dict(kinds="high: en; not seen: sw", question_source="en", questions="en es", vocabulary="")
        assert (
            parts("ner", "mad-x", "en", **mad) == ["en", "sw"]
            and len(plan("mad-x", "en", "paper", **mad).reads.query("what == 'text'"))
            == 3  # also of questions' languages
            and len(plan("mad-x", "en", "paper", **mad).reads.query("what == 'qa'")) == 2
        )
        assert (
            parts("text", "wechsel", "sw", medium="de", low="gd", corpus="cc100") == ["de", "sw", "gd"]
            and plan("wechsel", "sw", "paper", medium="de", low="gd").reads.to_csv().count("cc.en.300") == 2
        )  # name and address
        assert (
            len(
                plan(
                    "unks-everywhere",
                    "am",
                    "paper",
                    sources="en",
                    targets="seen: ka; new: am",
                    tree_sources="en",
                    tree_targets="seen: et",
                ).reads
            )
            == 1 + 4 + 3 + 2 + 1  # the adapter of English is AdapterHub's
        )
        small = [str(data_path("models", m)) for m in ("mini-gpt2", "mini-roberta")]
        mine = plan("focus", "my", "custom", model=str(data_path("models", "mini-xlmr")), text="/no/such/text")
        assert mine.reads["where"].tolist() == ["folder", "missing"] and mine.budget.runs["together"] == 13
        several = plan("mad-x", "en", "custom", model=small[0], text="/no/{language}.txt", qa="/no/a /no/b", **mad)
        assert (
            several.reads["name"].tolist()[1:] == ["/no/en.txt", "/no/sw.txt", "/no/es.txt", "/no/a", "/no/b"]
            and not any("ner" in row for row in several.budget.index)
            and any("qa" in row for row in several.budget.index)
        )
        assert (
            plan("wechsel", "my", "custom", gpt2=small[0], roberta=small[1], text="/no/such/text")
            .reads["name"]
            .tolist()[:2]
            == small
        )
        for chapter, name in (("focus", "model"), ("wechsel", "gpt2 or roberta")):
            with pytest.raises(
                ValueError, match=f"scale custom needs a model folder: set {name}, and text files: set text$"
            ):
                plan(chapter, "my", "custom", **{"wechsel": dict(model=small[0])}.get(chapter, {}))
        assert len(list(Path(folder).rglob("*.parquet"))) == len(list(Path(folder, "unimelb-nlp/wikiann").iterdir()))
    wechsel_models = {"wechsel-gpt2": "GPT-2", "wechsel-roberta": "RoBERTa"}
    assert (
        plan("focus", "sw").reads["where"].unique().tolist() == ["bundled"]
        and plan("focus", "sw").memory < 1 < plan("focus", "sw", "paper").memory
    )
    both = {preset: memory_needed(_SHAPES[MODELS[m]], PRESETS[preset]) for preset, m in wechsel_models.items()}
    assert plan("wechsel", "sw", "paper").memory == max(both.values()) > 15
    mini = plan("wechsel", "my", "custom", roberta=small[1], text="t")
    assert 0.8 < mini.memory * 1e9 / 1.15 / _bytes_of_a_step(mini.models[0][1], blocks=32, length=512) < 1.25
    assert f"Memory of {Path(small[1]).name}: about {mini.memory:.2g} GB, or " in str(mini)
    named = plan("wechsel", "sw", "paper", medium="fr de").reads.query("what == 'model'")["name"].tolist()
    assert named == [MODELS[m] for m in ("GPT-2", "RoBERTa", "XLM-R", "CamemBERT", "GBERT_Base")]
    with pytest.raises(ValueError, match="no corpus 'x'"):
        plan("focus", "sw", "paper", corpus="x")
