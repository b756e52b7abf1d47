"""What the papers print about training is what scale paper does, read where a run reads it."""

from dataclasses import fields, replace
from functools import partial

import pytest
from tokenizers import models
from transformers import BertTokenizer, GPT2Tokenizer, RobertaTokenizer, XLMRobertaTokenizer

from studies.data.hub_sources import MODELS
from studies.data.presets import PAPER_PARAMETERS, PAPER_TEXT
from studies.models.recipes import RECIPES, TOKENIZERS
from studies.papers.hyperparameters import find_value, hyperparameters, printed_hyperparameters, taken
from studies.papers.setups import SetupOptions
from studies.papers.transfer import UNKS
from vocab_lit.models.madx import AdapterConfig
from vocab_lit.tasks.settings import TASKS, papers
from vocab_lit.text.settings import CleanSettings
from vocab_lit.training.settings import PRESETS, LaptConfig


def is_same(value, printed):  # printed: text of the table
    if isinstance(value, (bool, str)) or value is None or printed.isalpha():
        return str(value) == printed
    return float(value) == float(printed)


def wrong_lines(paper, values):  # of the table, that the values do not follow
    rows, found = printed_hyperparameters(paper), []
    lines = {(row.setup, row.stage, row.parameter): row for row in rows.itertuples()}
    for (setup, stage, name), value in values.items():
        stages = (stage, "tasks") if stage in papers()[paper] else (stage,)
        asked = [(s, place, name) for place in stages for s in (setup, "")]
        line = next((lines[key] for key in asked if key in lines), None)
        if line is None:
            found.append((setup, stage, name, value, "has no line"))
        elif not is_same(value, line.ours or line.value):
            found.append((setup, stage, name, value, line.ours or line.value))
    return found


def wrong_prints(paper):  # printed numbers that no setting has, or that it does not follow
    values, rows = taken(paper, "paper"), printed_hyperparameters(paper)
    found = [(row, find_value(values, row.setup, row.stage, row.parameter)) for row in rows.itertuples() if row.value]
    return {(row.stage, row.parameter) for row, value in found if not is_same(value, row.ours or row.value)}


def test_every_preset_is_what_its_paper_prints_and_what_is_not_followed_or_not_said_has_a_note():
    for paper in PAPER_TEXT:
        derived = {"samples", "tokens"}
        values = {key: value for key, value in taken(paper, "paper").items() if key[2] not in derived}
        assert not wrong_lines(paper, values), paper
        assert not wrong_prints(paper), paper
        rows = printed_hyperparameters(paper)
        assert not rows.duplicated(["setup", "stage", "parameter"]).any()
        assert (rows.note[rows.ours != ""] != "").all() and (rows.section[rows.value != ""] != "").all()
        assert ((rows.value != "") | (rows.ours != "")).all(), paper
        assert len(hyperparameters(paper)) == len(rows)
        assert hyperparameters(paper)["scale paper"].ne("").all()
    assert taken("focus", "paper")["", "LAPT", "samples"] == 50_000_000
    shown = hyperparameters("wechsel").loc[("LAPT", "GPT-2", "learning_rate")]
    assert shown.tolist()[:4] == ["5e-4", "5e-4", "0.004", "Table 6"]
    shown = hyperparameters("mad-x").loc[("LAPT", "", "warmup")]
    assert (shown.paper, shown["scale paper"]) == ("not said", "0") and "transformers" in shown.note
    names = {field.name for field in fields(LaptConfig)} - {"betas", "micro_batch", "embeddings", "lora"}
    names = {name for name in names | {"beta1", "beta2"} if not name.startswith("distil")}
    assert names <= {name for _, stage, name in taken("focus", "paper") if stage == "LAPT"}


def test_tokenizers_are_of_the_kind_that_transformers_has_for_the_papers_models():
    classes = {
        "xlm-roberta": XLMRobertaTokenizer,
        "bert": BertTokenizer,
        "roberta": RobertaTokenizer,
        "gpt2": GPT2Tokenizer,
    }
    kinds = {models.Unigram: "unigram", models.WordPiece: "wordpiece", models.BPE: "bpe"}
    assert {r.architecture for r in RECIPES.values()} == set(classes)
    assert all(kinds[cls.model] == TOKENIZERS[name]["kind"] for name, cls in classes.items())


def test_a_hyper_parameter_that_is_changed_is_found():
    for preset, paper, changes in (
        ("wechsel-gpt2", "wechsel", dict(weight_decay=0.1)),
        ("focus", "focus", dict(betas=(0.9, 0.98))),
        ("embedding-structure", "embedding-structure", dict(learning_rate=5e-5)),
        ("mad-x-adapter", "mad-x", dict(batch_size=32)),
        ("unks-everywhere", "unks-everywhere", dict(warmup=0.1)),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(PRESETS, preset, replace(PRESETS[preset], **changes))
            assert wrong_lines(paper, {k: v for k, v in taken(paper, "paper").items() if k[1] == "LAPT"}), preset
    for paper, task, changes in (
        ("focus", "nli", dict(weight_decay=0.01)),
        ("embedding-structure", "pos", dict(patience=4)),
        ("mad-x", "ner", dict(batch_size=32)),
        ("unks-everywhere", "dp", dict(learning_rate=1e-4)),
        ("wechsel", "ner", dict(warmup_steps=0)),
    ):
        with pytest.MonkeyPatch.context() as patch:
            settings = TASKS[task].papers[paper]
            patch.setitem(TASKS[task].papers, paper, settings._replace(whole=replace(settings.whole, **changes)))
            assert any(stage == task for _, stage, *_ in wrong_lines(paper, taken(paper, "paper")))
    with pytest.raises(ValueError, match="no hyper-parameters of 'nobody'; choose from focus"):
        hyperparameters("nobody")


SOURCE, KIND, LIMIT, CORPUS = ("LAPT", "source model"), ("vocabulary", "kind"), ("text", "limit"), ("text", "corpus")
OTHER_MODEL, OTHER_TEXT = ("mini-mbert", MODELS["mBERT"]), replace(PAPER_TEXT["wechsel"], others={})
FEWER = UNKS["MF10-KMEANS-LEX"]
HELD_OUT = ("tasks", "share of the training split where there is no development split")
ENGLISH, TREES = "probability of English that removes a line", "development sentences of a treebank without any"
WIKIANN = ("share of training sentences", "development sentences at least", "test sentences at least")


@pytest.mark.parametrize(
    ("paper", "place", "changed", "found"),
    [
        ("focus", "setups._XLMR", OTHER_MODEL, [SOURCE, KIND]),
        ("embedding-structure", "setups._XLMR", OTHER_MODEL, [SOURCE, KIND]),
        ("mad-x", "setups._XLMR", OTHER_MODEL, [SOURCE]),
        ("unks-everywhere", "setups._MODELS", {}, [SOURCE, KIND]),
        ("wechsel", "setups._MODELS", {}, [SOURCE, KIND]),
        *((paper, "hyperparameters.SetupOptions", partial(SetupOptions, limit=9), [LIMIT]) for paper in PAPER_TEXT),
        ("focus", "hyperparameters.EXTENSION", 0.5, [("vocabulary", "tokens that a vocabulary is extended with")]),
        ("focus", "hyperparameters.development_size", lambda task, n: 300, [HELD_OUT]),
        ("embedding-structure", "hyperparameters.development_size", lambda task, n: n // 10, [("splits", TREES)]),
        (
            "embedding-structure",
            "hyperparameters.split_wikiann",
            lambda names: (names[:20], names[20:40], names[40:]),
            [("splits", f"{part}, WikiANN") for part in WIKIANN],
        ),
        ("embedding-structure", "hyperparameters.HubText.cleaning", CleanSettings(), [("text", ENGLISH)]),
        ("mad-x", "hyperparameters.mad_x_tables", lambda *_: {"questions": dict(seeds=range(5))}, [("qa", "seeds")]),
        (
            "unks-everywhere",
            "hyperparameters.UNKS",
            {"MF10-KMEANS-LEX": replace(FEWER, text=replace(FEWER.text, recipe="mf1-lex", adapter=AdapterConfig(2)))},
            [("adapters", "activation"), ("adapters", "layers left out"), ("factorisation", "clusters")],
        ),
        ("wechsel", "setups.PAPER_TEXT", PAPER_TEXT | {"wechsel": OTHER_TEXT}, [CORPUS]),
    ],
)
def test_what_scale_paper_does_otherwise_is_found(monkeypatch, paper, place, changed, found):
    monkeypatch.setattr(f"studies.papers.{place}", changed)
    assert wrong_prints(paper) == set(found)


def test_the_steps_of_the_factorisation_are_those_of_a_run(monkeypatch):
    monkeypatch.setattr("vocab_lit.methods.semi_nmf._STEPS", {"mu": (lambda g, s: (g,), 2000)})
    assert wrong_prints("unks-everywhere") == {("factorisation", "steps of Semi-NMF")}
    assert PAPER_PARAMETERS["focus"]["task_seeds"] == 5
