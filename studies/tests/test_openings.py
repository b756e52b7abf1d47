import json

from studies.data.openings import OWN, SENTENCES, TABLE, opening, tokens_of
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer


def test_the_tokens_are_the_tokenizers_own():
    folder = data_path("models", "mini-xlmr")
    assert tokens_of(folder, {"en": SENTENCES["en"]})["en"] == load_tokenizer(folder).tokenize(SENTENCES["en"])


def test_recorded_tokens_spell_the_sentences():
    for language, row in json.loads(TABLE.read_text(encoding="utf-8")).items():
        assert row["text"] == SENTENCES[language]
        for name in ("XLM-R", OWN):
            if tokens := row["tokens"].get(name):
                spelled = "".join(tokens).replace("▁", "")
                assert spelled == row["text"].replace(" ", ""), (language, name)


def test_each_token_has_a_box_and_an_unknown_one_is_marked():
    shown = opening("am", "XLM-R", "mBERT", OWN).data
    record = json.loads(TABLE.read_text(encoding="utf-8"))["am"]
    assert OWN not in record["tokens"] and OWN not in shown
    assert shown.count("<span") == len(record["tokens"]["XLM-R"]) + len(record["tokens"]["mBERT"])
    assert shown.count("font-weight: bold") == 11
    assert opening("xx", "XLM-R").data == ""
