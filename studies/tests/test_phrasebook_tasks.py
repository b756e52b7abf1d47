"""Questions and inferences of the phrasebook."""

from collections import Counter

import pytest
import regex

from studies.data.phrasebook_tasks import inferences, questions
from testkit.phrasebook import dictionary, sentences


def test_the_answer_is_where_it_is_said_to_be_and_fills_the_question():
    for code in ("en", "sw", "am", "ka"):
        asked = questions(code, 300, seed=1)
        assert len(asked) > 120 and len({q.context for q in asked}) > 0.99 * len(asked)
        for q in asked:
            assert q.context[q.start : q.start + len(q.answer)] == q.answer and q.question.count("?") == 1
            whole = q.question.replace("?", q.answer)
            assert q.context.count(whole) >= 1 and q.context.count(q.question.strip("?")) == 1
            assert q.context.index(whole) + q.question.index("?") == q.start
    assert 60 < sum(q.question[0] == "?" for q in questions("en", 300, seed=1)) < 180


def test_questions_are_parallel_and_held_out_ones_are_new():
    english, swahili = ({q.number: q for q in questions(code, 300, seed=2)} for code in ("en", "sw"))
    both = english.keys() & swahili.keys()
    assert len(both) > 150 and all((english[i].question[0] == "?") == (swahili[i].question[0] == "?") for i in both)
    names = dict(dictionary("en", "sw", phrases=True))
    assert sum(names.get(english[i].answer.lower()) == swahili[i].answer.lower() for i in both) > 0.6 * len(both)
    assert questions("en", 50, seed=2) == questions("en", 50, seed=2) != questions("en", 50, seed=3)
    new = {s.text for s in sentences("en", 100, 5, held_out=True)}
    assert all(any(s in q.context for s in new) for q in questions("en", 50, seed=5, held_out=True))
    with pytest.raises(ValueError, match="no text for 'xx'"):
        questions("xx", 5, 0)


def test_inferences_are_those_that_a_reader_would_check_by_eye():
    assert [i[:3] for i in inferences("en", 6, seed=4)] == [
        ("France – German, 3 months ago.", "French – France.", "contradiction"),
        ("Germany – German, 3 months ago.", "French – France.", "neutral"),
        ("France – French, 3 months ago.", "French – France.", "entailment"),
        ("in 6 seconds, France – Russian.", "French – Germany.", "neutral"),
        ("in 6 seconds, France – French.", "French – Germany.", "contradiction"),
        ("in 6 seconds, Germany – French.", "French – Germany.", "entailment"),
    ]
    assert [i[:3] for i in inferences("sw", 6, seed=4)] == [
        ("Ufaransa – Kijerumani, miezi 3 iliyopita.", "Kifaransa – Ufaransa.", "contradiction"),
        ("Ujerumani – Kijerumani, miezi 3 iliyopita.", "Kifaransa – Ufaransa.", "neutral"),
        ("Ufaransa – Kifaransa, miezi 3 iliyopita.", "Kifaransa – Ufaransa.", "entailment"),
        ("baada ya sekunde 6, Ufaransa – Kirusi.", "Kifaransa – Ujerumani.", "neutral"),
        ("baada ya sekunde 6, Ufaransa – Kifaransa.", "Kifaransa – Ujerumani.", "contradiction"),
        ("baada ya sekunde 6, Ujerumani – Kifaransa.", "Kifaransa – Ujerumani.", "entailment"),
    ]
    # no words for a time: another territory
    assert inferences("xh", 3, seed=4)[0].premise == "EFrance – IsiJamani, E-Iraq."


def test_every_hypothesis_comes_once_with_each_label():
    for code, names in (("en", 4), ("sw", 12), ("am", 3), ("ka", 2), ("xh", 4), ("yi", 3)):
        drawn = inferences(code, 300, seed=1, names=names)
        each = dict.fromkeys(("entailment", "neutral", "contradiction"), len(drawn) // 3)
        assert 260 < len(drawn) <= 300 and Counter(i.label for i in drawn) == each
        kept = Counter()  # contradictions that keep the first name, or the second; entailments with both turned round
        for three in zip(drawn[::3], drawn[1::3], drawn[2::3]):
            assert len({(i.hypothesis, i.number) for i in three}) == 1
            for i in three:
                pair, facts = i.hypothesis[:-1].split(" – "), regex.split(r"[,;:] | – ", i.premise[:-1])
                said = [name in facts for name in pair]
                assert len(facts) == 3 and all(facts), i
                assert sum(said) == {"entailment": 2, "neutral": 0, "contradiction": 1}[i.label], i
                if i.label == "contradiction":
                    kept[said[0]] += 1
                if i.label == "entailment":
                    kept["turned"] += i.hypothesis[:-1] not in i.premise
        assert min(kept.values()) > 0.3 * len(drawn) // 3 and len(kept) == 3


def test_only_both_sentences_give_the_label_away():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    train, test = inferences("en", 900, seed=1), inferences("en", 300, seed=2, held_out=True)

    def score(read):  # accuracy of a linear classifier over words
        words = CountVectorizer(token_pattern=r"\S+")
        learnt = LogisticRegression(max_iter=1000).fit(words.fit_transform(map(read, train)), [i.label for i in train])
        return learnt.score(words.transform(map(read, test)), [i.label for i in test])

    def names(text):
        return set(regex.findall(r"\p{L}+", text))

    assert score(lambda i: i.hypothesis) == pytest.approx(1 / 3)  # each comes with every label
    assert score(lambda i: i.premise) < 0.4
    assert score(lambda i: f"{i.premise} {regex.sub(r'(?=[^ ]+)', '2', i.hypothesis)}") < 0.4
    assert score(lambda i: f"common{len(names(i.premise) & names(i.hypothesis))}") == 1


def test_inferences_are_parallel_and_held_out_ones_are_new():
    english, swahili = ({(i.number, i.label): i for i in inferences(code, 300, seed=2)} for code in ("en", "sw"))
    names = dict(dictionary("en", "sw", phrases=True))
    assert swahili.keys() == english.keys()
    assert all(
        [names[x.lower()] for x in english[k].hypothesis[:-1].split(" – ")]
        == [x.lower() for x in i.hypothesis[:-1].split(" – ")]
        for k, i in swahili.items()
    )
    assert inferences("en", 90, seed=2) == inferences("en", 300, seed=2)[:90] != inferences("en", 90, seed=3)
    assert len(inferences("en", 11, seed=2)) == 9
    kept_for_training = {i.premise for seed in range(8) for i in inferences("en", 900, seed)}
    assert not kept_for_training & {i.premise for i in inferences("en", 900, seed=9, held_out=True)}
    assert len({i.hypothesis for i in inferences("en", 900, seed=0)}) == 18
    assert len({i.hypothesis for i in inferences("en", 900, seed=0, names=12)}) > 150
    with pytest.raises(ValueError, match="no text for 'xx'"):
        inferences("xx", 6, 0)
    with pytest.raises(ValueError, match="facts about 13 languages and territories; choose from 2 to 12"):
        inferences("en", 6, 0, names=13)
