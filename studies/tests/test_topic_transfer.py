import pytest
import torch

from studies.trials import topic_transfer
from studies.trials.topic_transfer import RATES, Classifier, TopicTransfer, read_topics, share_found
from vocab_lit.text.corpus import data_path, read_lines
from vocab_lit.training.settings import LaptConfig

LANGUAGES = ("one", "other")
FEW = LaptConfig(steps=2, batch_size=2, length=32, learning_rate=1e-2, eval_every=2)
NAMES = ("travel", "sports", "health")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    "The bundled BERT and sentences of the library, each with a topic."
    folder = tmp_path_factory.mktemp("topics")
    for language, code in zip((*LANGUAGES, "copy"), ("en", "sw", "en")):
        (folder / language).mkdir()
        lines = iter(read_lines(data_path("text", f"{code}.txt")))
        for split, n in (("train", 24), ("dev", 6), ("test", 6)):
            rows = [f'{i}\t{NAMES[i % 3]}\t"{next(lines)}' for i in range(n)]
            text = "\n".join(["index_id\tcategory\ttext", *rows]) + "\n"
            (folder / language / f"{split}.tsv").write_text(text, encoding="utf-8")
    return TopicTransfer(data_path("models", "mini-mbert"), folder, tmp_path_factory.mktemp("work"), LANGUAGES)


def test_topics_are_numbered_in_alphabetical_order(study):
    topics = read_topics(study.topics, "one", "train", 4)
    assert topics.labels.tolist() == [2, 1, 0, 2]  # of health, sports, travel
    assert len(topics.texts) == 4 and topics.texts[0].startswith('"')  # a quote that opens a sentence is no CSV's


def test_padding_has_no_part_in_the_vector_of_a_sentence(study):
    model, texts = Classifier(study.body(), study.tokenizer), study.read("one", "train").texts[:9]
    together = model.all_vectors(texts)
    for text, vector in zip(texts, together):
        ids = study.tokenizer(text, return_tensors="pt", truncation=True, max_length=topic_transfer.LONGEST)
        with torch.no_grad():
            alone = model.body(**ids).last_hidden_state[0].mean(0)
        assert torch.allclose(alone, vector, atol=1e-4)


def test_no_other_head_fits_better(study):
    model, topics = Classifier(study.body(), study.tokenizer), study.read("one", "train")
    vectors = model.all_vectors(topics.texts)
    model.fit_head(topics, vectors)
    loss = torch.nn.functional.cross_entropy(model(vectors), topics.labels)
    loss = loss + 0.01 * model.head.weight.square().sum()  # convex, so a flat place is the lowest
    steepest = torch.autograd.grad(loss, list(model.head.parameters()))
    assert max(float(g.abs().max()) for g in steepest) < 1e-3


@pytest.mark.parametrize("method", [name for name in RATES if name not in ("MAD-X", "LAPT")])
def test_a_method_changes_what_it_trains_alone(study, method, monkeypatch):
    monkeypatch.setattr(topic_transfer, "TASK_STEPS", 2)
    model = study._made(method, seed=0)
    before = {name: p.detach().clone() for name, p in model.body.named_parameters()}
    model.train_on(study.read("one", "train"), RATES[method], seed=0)
    moved = [name for name, p in model.body.named_parameters() if not torch.equal(p, before[name])]
    named = {"task adapter": "madx", "LoRA": "lora_", "full fine-tuning": "encoder."}[method]
    assert moved and all(named in name for name in moved)


def test_a_sentence_is_nearest_to_itself(study, monkeypatch, tmp_path):
    monkeypatch.setattr(topic_transfer, "ON_TEXT", FEW)
    same = TopicTransfer(study.model, study.topics, tmp_path, ("one", "copy"))
    for language in same.languages:
        list(same.adapter(language))
    found = {(row["method"], row["metric"]): row["value"] for row in same.translations()}
    kept = [value for (method, _), value in found.items() if method in (topic_transfer.ALONE, topic_transfer.KEPT)]
    assert kept == [100] * 4
    there = torch.eye(3)
    moved = there + torch.tensor([0.0, 9, 0])  # all by the same
    assert share_found(moved, there) < 50
    assert share_found(moved - moved.mean(0), there - there.mean(0)) == 100


def test_adapters_of_languages_are_swapped(study, monkeypatch):
    monkeypatch.setattr(topic_transfer, "ON_TEXT", FEW)
    monkeypatch.setattr(topic_transfer, "TASK_STEPS", 2)
    rows = [row for language in LANGUAGES for row in study.adapter(language)]
    assert [(row["language"], row["metric"]) for row in rows[::2]] == [(code, "loss before") for code in LANGUAGES]
    assert not list(study.adapter("one"))  # it is there
    model = study._made("MAD-X", seed=0)
    texts = study.read("other", "test").texts
    vectors = {}
    for adapter in LANGUAGES:
        model.body.madx.activate(adapter, "topics")
        vectors[adapter] = model.all_vectors(texts)
    assert not torch.allclose(vectors["one"], vectors["other"], atol=1e-4)
    scored = list(study.scores("MAD-X", 0))
    assert {row["method"] for row in scored} == {"MAD-X", topic_transfer.KEPT}


def test_lapt_trains_the_whole_model_on_a_language_s_text(study, monkeypatch, tmp_path):
    monkeypatch.setattr(topic_transfer, "ON_TEXT", FEW)
    monkeypatch.setattr(topic_transfer, "TASK_STEPS", 2)
    lines = read_lines(data_path("text", "sw.txt"))[100:140]
    for language in LANGUAGES:
        (tmp_path / f"{language}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    own = TopicTransfer(study.model, study.topics, tmp_path / "work", LANGUAGES, tmp_path)
    own.work.mkdir()
    assert own.text("other") == lines
    assert [row["metric"] for row in own.lapt("other")] == ["loss before", "loss after"]
    assert not list(own.lapt("other"))  # it is there
    trained, untrained = own._after_lapt("other").body, own.body()
    same = [torch.equal(a, b) for a, b in zip(trained.parameters(), untrained.parameters())]
    assert not any(same)
    assert [row["language"] for row in own.scores("LAPT", 0)] == ["other"]
