"""Trees: found, learnt and scored."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    MBartConfig,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from studies.data.parser import PARSERS
from studies.data.parsing import Parsed, ParsingConfig, attachment, best_tree, dp, fault, parsing_rows
from testkit.phrasebook import lines
from vocab_lit.models.adapterhub import head_labels, is_task, load_adapter, load_head, save_adapter
from vocab_lit.models.madx import MadX
from vocab_lit.models.source import load_model
from vocab_lit.tasks.finetune import Collate, evaluate, fine_tune, predict, prepare, with_head
from vocab_lit.tasks.task import notes, row_notes
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.train import train_tokenizer

WORDS = {
    "det": ("the", "a"),
    "amod": ("big", "old", "new"),
    "noun": ("house", "child", "city", "book", "friend"),
    "verb": ("sees", "finds", "has"),
    "case": ("in", "near"),
}


def toy_tree(rng):  # "the old child finds a book near the city ."
    found = []  # words, relations and heads: what is in a phrase hangs on its noun, all else on the verb

    def add(kind, relation, head):
        found.append((str(rng.choice(WORDS[kind])) if kind in WORDS else kind, relation, head))

    def phrase(relation, head):
        parts = (["case"] if relation == "obl" else []) + ["det"] + ["amod"] * int(rng.random() < 0.5)
        noun = len(found) + len(parts) + 1
        for part in parts:
            add(part, part, noun)
        add("noun", relation, head)

    phrase("nsubj", "verb")
    add("verb", "root", 0)
    verb = len(found)
    phrase("obj", "verb")
    if rng.random() < 0.5:
        phrase("obl", "verb")
    add(".", "punct", "verb")
    words, relations, heads = zip(*found)
    return Parsed(words, tuple(verb if head == "verb" else head for head in heads), relations)


def repeated(tree, times):  # one tree: the root of each copy but the first hangs on word 2
    heads = list(tree.heads)
    for i in range(1, times):
        heads += [head + len(tree.words) * i if head else 2 for head in tree.heads]
    return Parsed(tree.words * times, tuple(heads), tree.relations * times)


RNG = np.random.default_rng(0)
TOYS = [toy_tree(RNG) for _ in range(120)]
SPLITS = TOYS[:64], TOYS[64:80], TOYS[80:120]
LONG = [repeated(tree, times) for tree, times in zip(TOYS, (1, 2, 9, 4, 15))]
LABELS = dp.labels(TOYS)
QUICK = ParsingConfig(learning_rate=3e-3, batch_size=8, epochs=3)
MINI, MINI_TOKENIZER = load_model(data_path("models", "mini-xlmr")), load_tokenizer(data_path("models", "mini-xlmr"))
TEXT = lines("en", 300, seed=0) + [" ".join(t.words) for t in TOYS]
# as XLM-R, BERT and RoBERTa, and as GPT-2: no special tokens around a text
TOKENIZERS = {kind: train_tokenizer(TEXT, kind, 300) for kind in ("unigram", "wordpiece", "bpe")}
TOKENIZERS["bare"] = train_tokenizer(TEXT, "bpe", 300, around=(False, False))
BODY = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
DISTIL = dict(dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=24)
GPT = dict(n_embd=16, n_layer=2, n_head=2, n_positions=24)
SMALL = {
    "bert": (BertForMaskedLM, BertConfig, dict(BODY, max_position_embeddings=24), "wordpiece"),
    "roberta": (RobertaForMaskedLM, RobertaConfig, dict(BODY, max_position_embeddings=26), "bpe"),
    "xlm-r": (XLMRobertaForMaskedLM, XLMRobertaConfig, dict(BODY, max_position_embeddings=26), "unigram"),
    "distilbert": (DistilBertForMaskedLM, DistilBertConfig, DISTIL, "wordpiece"),
    "gpt2": (GPT2LMHeadModel, GPT2Config, GPT, "bare"),
}


def small_model(name):  # untrained, with a tokenizer that fits it
    cls, config, body, family = SMALL[name]
    tok = TOKENIZERS[family]
    ids = {f"{role}_token_id": getattr(tok, f"{role}_token_id") for role in ("bos", "eos", "pad")}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return cls(config(vocab_size=len(tok), **ids, **body)).eval(), tok


def randomise(parameters, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in parameters:
            p.copy_(torch.randn(p.shape, generator=generator) * scale)


def random_parser(model):  # with a randomly initialised head
    new, head = with_head(model, "dp", LABELS)
    randomise(head, seed=0, scale=0.3)
    return new


def output_at_heads(parser, batch):  # relations at the heads of the batch, whether the model trains or not
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "words", "heads")}
    return parser(**inputs, exists=batch["heads"] != -1)


def parse(model, tokenizer, texts, config=None):  # words of each sentence
    unparsed = [Parsed(tuple(words), (0,) * len(words), ("",) * len(words)) for words in texts]
    return predict(model, tokenizer, unparsed, dp, config)


def test_the_parser_is_a_biaffine_one_over_mean_vectors():
    for name in SMALL:
        model, tok = small_model(name)
        new = random_parser(model)
        trees = [
            Parsed(("a", "new", "book"), (3, 3, 0), ("det", "amod", "root")),
            Parsed(("the", "child"), (2, 0), ("det", "root")),
            Parsed(("in", "a", "city", "."), (3, 3, 0, 3), ("case", "det", "root", "punct")),
        ]
        W, R = new.biaffine_arcs.weight[0], new.biaffine_rels.weight
        rows = dp.rows(tok, trees, LABELS, 24, dp.config)
        batch = Collate(new, tok, dp)(rows)
        with torch.no_grad():
            found = dp.scores(new, batch, dp.config)
            given = output_at_heads(new, batch)
            for i, (r, tree) in enumerate(zip(rows, trees)):
                states = new.base_model(input_ids=r.inputs["input_ids"][None]).last_hidden_state[0]
                x = [states[0], *(states[r.inputs["words"] == w].mean(0) for w in range(len(tree.words)))]
                assert name != "gpt2" or r.inputs["input_ids"][0] == tok.bos_token_id
                one = torch.ones(1)
                for w in range(1, len(x)):
                    a = torch.cat([x[w], one])
                    arcs, best = found.arcs[i, w - 1], found.best[i, w - 1]
                    assert torch.allclose(arcs[: len(x)], torch.stack([a @ W @ y for y in x]), atol=1e-4)
                    assert (arcs[len(x) :] < -1e30).all()
                    scores = torch.stack([torch.stack([a @ M @ torch.cat([y, one]) for M in R]) for y in x])
                    assert torch.allclose(given.relations[i, w - 1], scores[tree.heads[w - 1]], atol=1e-4)
                    root = LABELS.index("root")
                    scores[1:, root] = -torch.inf
                    assert best[0] == root and best[1 : len(x)].tolist() == scores[1:].argmax(1).tolist()


def test_relations_are_scored_in_16_bits_too():
    model, tokenizer = small_model("bert")
    parser, _ = with_head(model, "dp", LABELS)
    inputs = tokenizer(["a b"], return_tensors="pt")
    words = torch.arange(inputs["input_ids"].shape[1])[None] - 1
    exists = torch.ones(1, words.shape[1], dtype=torch.bool)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        best = parser.eval()(words=words, exists=exists, input_ids=inputs["input_ids"]).best
    root = LABELS.index("root")
    assert (best[..., 0] == root).all() and (best[..., 1:] != root).all()


def test_the_head_is_all_that_is_new_the_encoder_is_copied():
    for name in SMALL:
        model, _ = small_model(name)
        new, head = with_head(model, "dp", LABELS)
        heads = set(head)
        names = {name for name, p in new.named_parameters() if p in heads}
        assert names == {"biaffine_arcs.weight", "biaffine_rels.weight"}
        assert new.biaffine_rels.weight.shape == (8, 17, 17)
        source = model.base_model.state_dict()
        assert all(torch.equal(v, source[k]) for k, v in new.base_model.state_dict().items())
        assert "pooler" not in " ".join(new.state_dict())
        assert new.dropout.p == 0.1 and new.config.id2label[0] == LABELS[0]
        assert type(new).__name__.endswith("ForDependencyParsing")
    assert with_head(MINI, "dp", LABELS)[0].dropout.p == MINI.config.hidden_dropout_prob == 0

    class Unfit:
        config, base_model = MBartConfig(), None

    with pytest.raises(ValueError, match="no head for dependency parsing on mbart models"):
        with_head(Unfit(), "dp", LABELS)
    assert (
        len(PARSERS) == len(list(PARSERS)) and MBartConfig not in PARSERS and PARSERS[BertConfig] is PARSERS[BertConfig]
    )


def test_rows_keep_every_word_once():
    assert all(fault(t.heads) is None for t in LONG)
    for name, tok in {**TOKENIZERS, "mini": MINI_TOKENIZER}.items():
        for length, pooling in ((24, "mean"), (24, "first"), (2000, "mean")):
            rows = parsing_rows(tok, LONG, LABELS, length, ParsingConfig(pooling=pooling))
            for i, tree in enumerate(LONG):
                mine = [r for r in rows if r.example == i]
                assert [w for r in mine for w in range(*r.place[1:])] == list(range(len(tree.words)))
                assert len(mine) == 1 or length == 24
                for r in mine:
                    start, first, last = r.place
                    ids, words, heads, relations = (
                        r.inputs[k].tolist() for k in ("input_ids", "words", "heads", "labels")
                    )
                    n, core = len(heads), range(first - start, last - start)
                    begin = tok.bos_token_id if name == "bare" else tok("a")["input_ids"][0]
                    assert len(ids) == len(words) <= length and ids[0] == begin and words[0] == -1
                    counted = [w for w in words if w >= 0]
                    assert set(counted) == set(range(n)) and (pooling == "mean" or len(counted) == n)
                    for w in range(n):
                        h, expected = tree.heads[start + w], (-100, -100)
                        if w in core and (h == 0 or start < h <= start + n):
                            expected = h and h - start, LABELS.index(tree.relations[start + w])
                        assert (heads[w], relations[w]) == expected


def test_words_without_a_subtoken_unknown_relations():
    strange = Parsed(("\u200b", "the", "house"), (3, 3, 0), ("det", "det:x", "xyz"))
    odd = parsing_rows(MINI_TOKENIZER, [strange], LABELS, 72, dp.config)[0]
    # no subtoken; a relation that training never shows
    assert odd.inputs["heads"].tolist() == [3, 3, 0] and odd.inputs["labels"].tolist() == [
        -100,
        LABELS.index("det"),
        -100,
    ]
    long_words = Parsed(("house" * 30,) * 5, (0, 1, 2, 3, 4), ("root",) * 5)
    giants = parsing_rows(MINI_TOKENIZER, [long_words], LABELS, 24, dp.config)
    # every window has more than its core
    assert len(giants) > 1 and all(len(r.inputs["heads"]) > r.place[2] - r.place[1] for r in giants)
    assert parsing_rows(MINI_TOKENIZER, [Parsed((), (), ())], LABELS, 72, dp.config)[0].place == (0, 0, 0)
    with pytest.raises(ValueError, match="2 tokens leave no room for text beside 2 special tokens"):
        parsing_rows(MINI_TOKENIZER, TOYS, LABELS, 2, dp.config)
    speechless = train_tokenizer(TEXT, "bpe", 300, around=(False, False))
    speechless.bos_token = speechless.cls_token = speechless.eos_token = None
    with pytest.raises(ValueError, match="no token for the beginning of a text, which a parser needs"):
        parsing_rows(speechless, TOYS, LABELS, 72, dp.config)


def test_long_sentences_become_one_tree_each():
    for name in SMALL:
        model, tok = small_model(name)
        new = random_parser(model)
        texts = [("the",), LONG[4].words, (), ("the", "house" * 30, ".") * 3, LONG[2].words]
        got = parse(new, tok, texts)
        assert [t.words for t in got] == texts and all(fault(t.heads) is None for t in got)
        assert all((r == "root") == (h == 0) for t in got for r, h in zip(t.relations, t.heads))
        n_words = len(texts[1])
        rows = dp.rows(tok, [Parsed(texts[1], (0,) * n_words, ("",) * n_words)], LABELS, 24, dp.config)
        table, names = np.full((n_words, n_words + 1), -1e6), {}
        for r in rows:
            batch = Collate(new, tok, dp)([r])
            with torch.no_grad():
                out = dp.scores(new, batch, dp.config)
            start, first, last = r.place
            for w in range(first, last):
                for h, score in enumerate(out.arcs[0, w - start].log_softmax(-1).tolist()):
                    at = w, h and h + start
                    table[at], names[at] = score, LABELS[out.best[0, w - start, h]]
        assert len(rows) > 5 and got[1].heads == best_tree(table)
        assert got[1].relations == tuple(names[w, h] for w, h in enumerate(got[1].heads))
        tiny = parse(
            new, tok, [("the", "house", "."), ("a",) * 50], ParsingConfig(max_length=3)
        )  # a window for each word
        assert [len(t.words) for t in tiny] == [3, 50] and all(fault(t.heads) is None for t in tiny)
        # heads that no window shows: the nearest
        assert all(abs(h - w) == 1 for t in tiny for w, h in enumerate(t.heads, 1) if h)


def test_the_model_learns_las_decides():
    learnt = fine_tune(MINI, MINI_TOKENIZER, *SPLITS, dp, config=QUICK)
    trees = parse(learnt.model, MINI_TOKENIZER, [t.words for t in SPLITS[2]])
    assert learnt.scores == attachment(SPLITS[2], trees) == evaluate(learnt.model, MINI_TOKENIZER, SPLITS[2], dp)
    assert learnt.test == learnt.scores["las"] > 0.9 and learnt.scores["uas"] >= learnt.test
    assert learnt.dev == learnt.history.dev.max()
    assert learnt.dev == evaluate(learnt.model, MINI_TOKENIZER, SPLITS[1], dp)["las"]


def test_the_loss_is_the_mean_over_words_of_two_cross_entropies():

    def random_head(model, head):
        randomise(head, seed=3, scale=0.02)

    def one_step(found, **options):  # loss of the first step and weights after it
        config = ParsingConfig(learning_rate=1e-3, batch_size=32, epochs=1, max_grad_norm=1e9, **options)
        few = TOYS[:4]
        result = fine_tune(MINI, MINI_TOKENIZER, found, few, few, dp, config=config, attach=random_head)
        return result.history.loss[0], result.model.state_dict()

    some_trees = [*TOYS[:11], LONG[2]]
    fresh, head = with_head(MINI, "dp", dp.labels(some_trees))
    random_head(fresh, head)
    arcs, relations, known = [], [], dp.labels(some_trees)
    for r in parsing_rows(MINI_TOKENIZER, some_trees, known, 72, dp.config):
        with torch.no_grad():
            out = output_at_heads(fresh, Collate(fresh, MINI_TOKENIZER, dp)([r]))
        for w, (head, relation) in enumerate(zip(r.inputs["heads"].tolist(), r.inputs["labels"].tolist())):
            if relation >= 0:
                arcs.append(-out.arcs[0, w].log_softmax(-1)[head].item())
                relations.append(-out.relations[0, w].log_softmax(-1)[relation].item())
    whole, weights = one_step(some_trees)
    parts, in_parts = one_step(some_trees, micro_batch=2)
    assert len(arcs) < sum(len(t.words) for t in some_trees)  # some heads are in no window
    assert whole == pytest.approx(np.mean(arcs) + np.mean(relations), abs=1e-4) and parts == pytest.approx(
        whole, abs=1e-4
    )
    step, apart = (
        sum(((a[k] - weights[k]) ** 2).sum() for k in weights).sqrt() for a in (fresh.state_dict(), in_parts)
    )
    assert apart < 0.02 * step, (apart, step)


def test_every_architecture_is_fine_tuned():
    trees = [LONG[1], Parsed(("\u200b", "house"), (2, 0), ("det", "root")), *TOYS[:3]]
    config = ParsingConfig(learning_rate=2e-2, batch_size=4, epochs=10, eval_every=10)
    for name in SMALL:
        model, tok = small_model(name)
        got = fine_tune(model, tok, trees, trees, trees, dp, config=config)
        assert got.test > 0.4, (name, got.history)


def test_what_is_longer_than_the_model_is_said():
    train, dev, test = TOYS[:20], [*TOYS[:2], LONG[4]], [LONG[3], LONG[2]]
    data = prepare(MINI, MINI_TOKENIZER, train, dev, test, dp, ParsingConfig(max_length=40))
    said = list(row_notes(dp, training=data.train, development=data.dev[1], test=data.test[1]))

    def outside(trees):  # words whose head their own window does not hold
        n = 0
        for r in parsing_rows(MINI_TOKENIZER, trees, LABELS, 40, dp.config):
            start, first, last = r.place
            n += sum(
                h > 0 and not start < h <= start + len(r.inputs["heads"]) for h in trees[r.example].heads[first:last]
            )
        return n

    assert outside(dev) > 9 and outside(test) > 9
    windows, head = (
        "are longer than a row and are read in windows",
        "of their words have their head in no window with them",
    )
    assert said == [
        f"1 development sentences {windows}; {outside(dev)} {head}, which cannot be learnt or found",
        f"2 test sentences {windows}; {outside(test)} {head}, which cannot be learnt or found",
    ]
    new_relation = Parsed(("a", "b"), (0, 1), ("root", "flat:name"))
    known = replace(train[0], relations=("det:x", *train[0].relations[1:]))
    assert list(notes(dp, train, train, [new_relation, known])) == [
        "1 words of the test split have relations that training never shows (flat); they count as wrong",
        "1 of 2 test sentences are also in the training split",
    ]


def test_adapters_and_heads_of_parsers_are_trained_alone(tmp_path):
    madx = MadX(load_model(data_path("models", "mini-xlmr")).float())
    madx.add_language("en")
    madx.add_language("sw", seed=1)
    generator = torch.Generator().manual_seed(0)
    for language in madx.languages:
        for p in madx.get("language", language).parameters():
            torch.nn.init.normal_(p, std=0.05, generator=generator)
    attach, two = madx.attach("dp", "en"), replace(QUICK, epochs=2)
    stacked = fine_tune(madx.model, MINI_TOKENIZER, *SPLITS, dp, config=two, attach=attach)
    save_adapter(stacked.model.madx, "task", "dp", tmp_path / "dp", head=True)
    kept, now = dict(madx.model.base_model.named_parameters()), dict(stacked.model.base_model.named_parameters())
    assert all(torch.equal(p, now[k]) for k, p in kept.items()) and stacked.test > 0.5
    trained = {name.split(".")[0] for name, p in stacked.model.named_parameters() if p.requires_grad}
    assert trained == {"madx", "biaffine_arcs", "biaffine_rels"}
    assert is_task(tmp_path / "dp") and head_labels(tmp_path / "dp") == dp.labels(SPLITS[0])
    new, _ = with_head(madx.model, "dp", head_labels(tmp_path / "dp"))
    there = madx.onto(new)
    load_adapter(there, tmp_path / "dp", "task")
    load_head(new, tmp_path / "dp")
    scores = {}
    for language in ("en", "sw", None):
        there.activate(language, "dp")
        scores[language] = evaluate(new, MINI_TOKENIZER, SPLITS[2], dp)
    assert scores["en"] == stacked.scores and len({tuple(s.values()) for s in scores.values()}) == 3
    with pytest.raises(ValueError, match=r"biaffine_rels.weight is .8, 129, 129. where this model has .1, 129, 129."):
        load_head(with_head(madx.model, "dp", ["root"])[0], tmp_path / "dp")


def test_a_parser_s_head_in_the_files_of_the_adapters_library_is_read(tmp_path):
    untrained, _ = with_head(MINI, "dp", LABELS)
    names = LABELS
    shapes = {name: p.shape for name, p in untrained.named_parameters() if "biaffine" in name}
    random_weights = {name: torch.randn(s, generator=torch.Generator().manual_seed(1)) for name, s in shapes.items()}
    (tmp_path / "library").mkdir()
    numbers = {label: i for i, label in enumerate(names)}
    facts = {
        "config": {"head_type": "dependency_parsing", "label2id": numbers, "num_labels": len(names)},
        "hidden_size": 128,
        "model_class": "XLMRobertaAdapterModel",
        "model_name": "",
        "model_type": "xlm-roberta",
        "name": "ud",
        "version": "adapters.1.3.0",
    }
    (tmp_path / "library" / "head_config.json").write_text(json.dumps(facts))
    stored = {f"heads.ud.{name}": weight for name, weight in random_weights.items()}
    save_file(stored, tmp_path / "library" / "model_head.safetensors")
    assert head_labels(tmp_path / "library") == names and is_task(tmp_path / "library")
    there, _ = with_head(MINI, "dp", names)
    load_head(there, tmp_path / "library")
    loaded = dict(there.named_parameters())
    assert all(torch.equal(weight, loaded[name]) for name, weight in random_weights.items())
