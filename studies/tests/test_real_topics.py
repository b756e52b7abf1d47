import random

import pytest
import torch
from transformers import BertConfig, BertModel

from studies.trials import real_topics
from studies.trials.real_topics import AS_IT_COMES, TABLE, Classifier, Topics, batches, main, read_topics
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.tokenizer_file import save_tokenizer


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    "A folder of a small encoder with random weights."
    folder, tokenizer = tmp_path_factory.mktemp("encoder"), load_tokenizer(data_path("models", "mini-mbert"))
    torch.manual_seed(0)
    size = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    BertModel(BertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    "A data set in which the letters of a sentence decide its topic; mBERT's vocabulary has none of them."
    root, chance = tmp_path_factory.mktemp("sib"), random.Random(0)
    folder = root / "amh_Ethi"
    folder.mkdir()
    letters = {"health": "ሀለሐመሠረ", "travel": "ሰሸቀበተቸ"}
    for part, n in (("train", 40), ("test", 20)):
        rows = []
        for i in range(n):
            topic = chance.choice(list(letters))
            words = ["".join(chance.choices(letters[topic], k=3)) for _ in range(4)]
            rows.append(f'{i}\t{topic}\t{" ".join(words)} "')
        (folder / f"{part}.tsv").write_text("\n".join(["index_id\tcategory\ttext", *rows]) + "\n", encoding="utf-8")
    return root


def test_a_file_of_topics_is_read_with_its_quotation_marks(data):
    read = read_topics(data / "amh_Ethi" / "test.tsv")
    assert len(read.sentences) == 20 and set(read.topics) == {"health", "travel"}
    assert all(sentence.endswith(' "') for sentence in read.sentences)


def test_padding_does_not_change_what_a_sentence_gets(encoder):
    tokenizer, model = load_tokenizer(encoder), BertModel.from_pretrained(encoder)
    classifier = Classifier(model, 3).eval()
    sentences = ["one", "one two three four five six"]
    with torch.inference_mode():
        together = classifier(next(batches(tokenizer, sentences, [0, 1]))[1])
        alone = [classifier(next(batches(tokenizer, sentences, [i]))[1])[0] for i in (0, 1)]
    assert torch.allclose(together, torch.stack(alone), atol=1e-5)


def test_a_new_vocabulary_tells_topics_that_unknown_tokens_hide(encoder, data, tmp_path, monkeypatch):
    monkeypatch.setattr(real_topics, "EPOCHS", 12)
    monkeypatch.setattr(real_topics, "TOKENS", 60)
    out = tmp_path / "out.csv"
    methods = [AS_IT_COMES, "el-lex", "mf1-lex"]
    main(encoder, data, ["am"], methods, out=out)
    rows = {row["method"]: row for row in TABLE.rows(out)}
    assert list(rows) == methods
    test = read_topics(data / "amh_Ethi" / "test.tsv").topics
    most = 100 * max(test.count(topic) for topic in set(test)) / len(test)
    assert float(rows[AS_IT_COMES]["accuracy"]) <= most  # all sentences look alike
    assert float(rows["el-lex"]["accuracy"]) > 90 and float(rows["mf1-lex"]["accuracy"]) > 90
    assert float(rows[AS_IT_COMES]["unknown"]) > 0.7 > 0.01 > float(rows["el-lex"]["unknown"])
    before = out.read_bytes()
    main(encoder, data, ["am"], ["el-lex"], out=out)  # has been measured
    assert out.read_bytes() == before


def test_topics_are_named_tuples_of_equal_length(data):
    train = read_topics(data / "amh_Ethi" / "train.tsv")
    assert isinstance(train, Topics) and len(train.sentences) == len(train.topics) == 40
