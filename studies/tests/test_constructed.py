import os
import subprocess
import sys
import unicodedata
from collections import Counter
from types import SimpleNamespace

import conllu
import pytest
import regex

from testkit.constructed import (
    ACRONYMS,
    CASED,
    CONSONANTS,
    LANGUAGES,
    NAMES,
    VOWELS,
    _changed,
    _lexicon,
    dictionary,
    lines,
    name,
    parallel,
    sentences,
    spell,
    to_conllu,
    word,
    world_of,
)
from testkit.constructed_events import CLASSES, COMPANIES, CONCEPTS, FAMILIES, PLACES, TOPICS, events


@pytest.fixture(scope="module")
def word_pairs():
    pairs = dictionary("qaa", "qda")
    return SimpleNamespace(
        pairs=pairs,
    )


def test_concepts_and_names_are_many_enough_and_each_is_one_thing():
    assert 280 <= len(CONCEPTS) <= 310 and sum(map(len, CLASSES.values())) == len(CONCEPTS)
    assert 130 <= len(NAMES) + len(ACRONYMS) <= 160
    assert len({*NAMES.values(), *ACRONYMS.values()}) == len(NAMES) + len(ACRONYMS)
    assert all(list(map(len, groups)) == [1, 10, 4, 4] for groups in TOPICS.values())
    assert all(isinstance(c, str) for c in CONCEPTS)


def test_words_of_a_family_differ_by_its_regular_changes_and_the_declared_share_of_others_and_families_differ():
    def same_share(a, b):
        return sum(_changed(_lexicon(a)[c], LANGUAGES[b].sounds) == _lexicon(b)[c] for c in CONCEPTS) / len(CONCEPTS)

    for a, b in (
        ("qaa", "qab"),
        ("qaa", "qal"),
        ("qac", "qbb"),
        ("qba", "qdb"),
        ("qba", "qbk"),
        ("qda", "qdk"),
        ("qca", "qea"),
        ("qda", "qsa"),
    ):
        other = sum(LANGUAGES[x].new + LANGUAGES[x].borrowed for x in (a, b))
        assert abs(1 - same_share(a, b) - other) < 0.06, (a, b)
    assert _changed("patos", "p>f,a>p,s>x") == "fptox"  # all at once
    for a, b in (("qaa", "qam"), ("qaa", "qka"), ("qca", "qeb"), ("qda", "qba")):
        assert same_share(a, b) < 0.03, (a, b)
    assert abs(sum(_lexicon("qac")[c] == _lexicon("qaa")[c] for c in CONCEPTS) / len(CONCEPTS) - 0.1) < 0.05  # loans


def test_letters_are_what_unicode_says_they_are():
    upper = {"x": "SH"}
    for c in CONSONANTS:
        sound = upper.get(c, c.upper())
        syllables = [unicodedata.name(spell(c + v, "Ethi")).removeprefix("ETHIOPIC SYLLABLE ") for v in (*VOWELS, "")]
        assert syllables == [sound + v for v in ("AA", "EE", "I", "O", "U", "E")], c
        if c not in "fxz":
            assert unicodedata.name(spell(c, "Deva")[0]) == f"DEVANAGARI LETTER {sound}A"
        if c not in "xychfzv":
            assert unicodedata.name(spell(c, "Cyrl")).startswith("CYRILLIC SMALL LETTER ")
            assert sound in unicodedata.name(spell(c, "Cyrl")).split()[-1]
    assert [unicodedata.name(x).split()[-1] for x in spell("ketu", "Deva")] == ["KA", "E", "TA", "U"]
    assert spell("namas", "Deva") == "नमस्"
    assert spell("ila", "Deva") == "इल"
    assert spell("uto", "Arab") == "ئۇتو"
    assert spell("kitab", "Cyrl") == "китаб"
    assert spell("xica", "Latn") == "shicha"
    assert spell("kum", "Khmr") == "កុម"


def test_different_words_are_written_differently_in_every_script_and_with_its_letters_only():
    words = sorted({sounds for code in LANGUAGES for sounds in _lexicon(code).values()} | set(NAMES.values()))
    for s in ("Latn", "Cyrl", "Arab", "Deva", "Sinh", "Khmr", "Ethi"):
        assert len({spell(w, s) for w in words}) == len(words), s
        assert all(regex.fullmatch(rf"[\p{{Script={s}}}]+", spell(w, s)) for w in words), s


def test_held_out_events_are_never_training_events_and_an_event_draws_on_one_topic():
    held = [e for seed in range(4) for e in events(500, seed, held_out=True)]
    trained = [e for seed in range(4) for e in events(3000, seed)]
    assert not set(held) & set(trained) and len(set(held)) > 1800

    def flat(x):
        return [z for y in x for z in flat(y)] if isinstance(x, tuple) else [x]

    topic_of = {w: t for t, groups in TOPICS.items() for g in groups for w in g} | PLACES | FAMILIES | COMPANIES
    for e in trained[:2000]:
        assert len({topic_of[x] for x in flat(e) if x in topic_of}) <= 1, e


def test_every_word_hangs_on_one_head_below_one_root_no_arcs_cross_and_every_word_lies_where_it_says():
    for code, at in LANGUAGES.items():
        for t in sentences(code, 400, seed=2):
            n = len(t.words)
            assert n == len(t.labels) == len(t.tags) == len(t.heads) == len(t.relations) == len(t.offsets)
            assert [h == 0 for h in t.heads] == [r == "root" for r in t.relations] and t.heads.count(0) == 1
            for i in range(1, n + 1):
                path = [i]
                while path[-1]:
                    path.append(t.heads[path[-1] - 1])
                    assert len(path) <= n + 1
            spans = [(min(i, h), max(i, h)) for i, h in enumerate(t.heads, 1) if h]
            assert not any(a < c < b < d for a, b in spans for c, d in spans), t.text
            assert [t.text[a:b] for a, b in t.offsets] == list(t.words) and "".join(t.words) == t.text.replace(" ", "")
            assert not regex.search(r"^\s|\s\s|\s[.,?)।።។،؟፣]|\(\s|\s$", t.text)
            assert at.script not in CASED or t.text[0].isupper() or t.text[0].isdigit()
            assert all(
                t.relations[h - 1] != "punct" and t.tags[h - 1] not in ("ADP", "DET", "AUX", "CCONJ", "PUNCT", "PART")
                for h in t.heads
                if h
            )


def test_a_language_is_written_in_its_script_but_for_acronyms_and_glosses():
    latin_names = {*ACRONYMS.values()} | {spell(x, "Latn").capitalize() for x in NAMES.values()}
    for code, at in LANGUAGES.items():
        for w in {w for t in sentences(code, 300, seed=0) for w in t.words}:
            written = "Latn" if w in latin_names else at.script
            assert not regex.search(r"\p{L}", w) or regex.fullmatch(rf"[\p{{Script={written}}}]+", w), (code, w)


def test_words_stand_in_the_order_the_table_says():
    def children(tree, head, relation):  # of a word, by a relation
        return [i for i, (r, h) in enumerate(zip(tree.relations, tree.heads)) if r == relation and h == head + 1]

    side = {"adjective": "amod", "adposition": "case"}
    for code, at in LANGUAGES.items():
        seen = Counter()
        for t in sentences(code, 600, seed=3):
            root = t.heads.index(0)
            subject, objects = children(t, root, "nsubj")[0], children(t, root, "obj")
            if t.tags[root] == "VERB":
                letters = sorted([(root, "V"), (subject, "S"), *((i, "O") for i in objects)])
                order = "".join(letter for _, letter in letters)
                assert order == (at.order if objects else at.order.replace("O", "")), (code, t.text)
                for i in children(t, root, "obl"):
                    assert (i < root) == (at.order == "SOV") and i > subject
            else:
                copula = children(t, root, "cop")[0]
                assert (copula < root) == (at.order != "SOV") and (copula < subject) == (at.order == "VSO")
            for i, (r, h) in enumerate(zip(t.relations, t.heads), 1):
                for which, relation in {**side, "genitive": "nmod"}.items():
                    if r == relation:
                        assert (i < h) == (getattr(at, which) == "before"), (code, which, t.text)
                assert r not in ("det", "nummod", "aux", "cc") or i < h
                assert r not in ("conj", "appos", "flat") or i > h
                seen[r] += 1
        everywhere = "root nsubj obj obl amod nummod nmod det case cop advmod conj cc punct flat appos"
        assert set(seen) == {*everywhere.split(), *([] if at.tenses else ["aux"])}, code
        assert (seen["det"] > 150) == at.article


def test_cases_plurals_and_tenses_are_marked_where_the_language_has_them():
    def forms(at, *case):  # of all nouns
        numbers = ((), ("plural",)) if at.tenses else ((),)
        return {
            word(at.code, noun, *number, *(c for c in case if c in at.cases))
            for noun in CLASSES["NOUN"]
            for number in numbers
        }

    for code, at in LANGUAGES.items():
        plain, acc, gen = forms(at), forms(at, "acc"), forms(at, "gen")
        tenses = ((), ("past",), ("future",)) if at.tenses else ((),)
        verbs = {word(code, verb, *tense) for verb in CLASSES["VERB"] for tense in tenses}
        for t in sentences(code, 600, seed=4):
            words = (t.words[0].lower(), *t.words[1:])
            cased = {h for r, h in zip(t.relations, t.heads) if r == "case"}
            for i, (w, tag, r) in enumerate(zip(words, t.tags, t.relations)):
                if tag == "NOUN" and r == "obj":
                    assert w in acc, (code, t.text)
                if tag == "NOUN" and r == "nmod":
                    assert w in gen and (i + 1 in cased) == ("gen" not in at.cases), (code, t.text)
                if tag == "NOUN" and r == "nsubj":
                    assert w in plain
                if tag == "VERB":
                    assert w in verbs and not ("aux" in t.relations and at.tenses)
    assert word("qac", "boat", "acc").startswith(word("qac", "boat"))
    assert word("qac", "boat", "acc") != word("qac", "boat", "plural")


def test_a_place_s_case_is_a_suffix_where_there_is_a_locative():
    for code, at in LANGUAGES.items():
        inside = []
        for t in sentences(code, 800, seed=5):
            cased = {h for r, h in zip(t.relations, t.heads) if r == "case"}
            for i, (r, label) in enumerate(zip(t.relations, t.labels)):
                if r == "obl" and label == "B-LOC" and i + 1 not in cased:
                    inside.append(t.words[i])
        if "loc" in at.cases:
            places = {name(code, place, "loc") for place in PLACES}
            assert len(inside) > 30, code
            assert {w[0].upper() + w[1:] for w in inside} <= {w[0].upper() + w[1:] for w in places}, code
        else:
            assert not inside, code


def test_labels_mark_whole_names_and_nothing_else():
    for code, at in LANGUAGES.items():
        counts = Counter()
        for t in sentences(code, 500, seed=6):
            for i, (label, tag) in enumerate(zip(t.labels, t.tags)):
                before = t.labels[i - 1] if i else "O"
                assert label == "O" or label[2:] in ("PER", "LOC", "ORG")
                assert label[0] != "I" or before[2:] == label[2:]
                assert tag != "PROPN" or label != "O"
                assert t.relations[i] != "flat" or label == "I-PER"
                counts[label] += 1
        assert min(counts[f"B-{kind}"] for kind in ("PER", "LOC", "ORG")) > 80, code
        assert min(counts["I-PER"], counts["I-ORG"]) > 40, code
        in_ascii = {r for t in sentences(code, 500, seed=6) for r, w in zip(t.relations, t.words) if w.isascii()}
        assert "appos" in in_ascii or at.script == "Latn"


def test_parallel_sentences_have_the_same_relations_but_for_what_morphology_and_script_replace():
    for a, b in (("qaa", "qab"), ("qaa", "qsa"), ("qda", "qka"), ("qca", "qbb")):
        for x, y in parallel(a, b, 300, seed=7):

            def kept(t):
                return Counter(r for r in t.relations if r not in ("case", "det", "aux", "appos", "punct"))

            assert x.frame == y.frame and kept(x) == kept(y), (x.text, y.text)
            assert sorted(w for w in x.words if w.isdigit()) == sorted(w for w in y.words if w.isdigit())


def test_what_the_dictionary_pairs_is_said_of_the_same_thing(word_pairs):
    pairs = word_pairs.pairs
    for a, b in (("qaa", "qda"), ("qac", "qea"), ("qka", "qbk")):
        known = {}
        for x, y in dictionary(a, b):
            known.setdefault(x, set()).add(y)
        found = 0
        for s, t in parallel(a, b, 500, seed=8):
            others = {w.lower() for w in t.words}
            for w, tag in zip(s.words, s.tags):
                if tag in ("ADJ", "ADV", "NUM") and w.lower() in known:  # never inflected
                    assert known[w.lower()] & others, (w, s.text, t.text)
                    found += 1
        assert found > 200
    assert dictionary("qda", "qaa") == sorted((y, x) for x, y in pairs) and len(pairs) > 400
    assert not any(" " in x + y for x, y in pairs) and any(" " in x for x, _ in dictionary("qaa", "qda", phrases=True))


def test_every_code_has_its_world_and_one_that_nobody_speaks_is_refused():
    assert [world_of(c).__name__ for c in ("qaa", "sw", "qsa")] == [
        "testkit.constructed",
        "testkit.phrasebook",
        "testkit.constructed",
    ]
    with pytest.raises(ValueError, match=r"no constructed language 'sw'; choose from qaa \(Aurian\), qab"):
        sentences("sw", 5, 0)
    with pytest.raises(ValueError, match="no text for 'qzz'"):
        world_of("qzz")
    with pytest.raises(ValueError, match="no constructed language 'en'"):
        dictionary("qaa", "en")


def test_sentences_repeat_with_the_seed_in_other_processes():
    program = "import testkit.constructed as c; print(c.sentences('qea', 50, 5), c.dictionary('qaa', 'qka'))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": s},
        ).stdout
        for s in "12"
    }
    assert runs == {f"{sentences('qea', 50, 5)} {dictionary('qaa', 'qka')}\n"}
    assert lines("qea", 50, 5) != lines("qea", 50, 6)


def test_the_files_are_read_back_by_conllu():
    for code in ("qaa", "qda", "qka"):
        trees = sentences(code, 60, seed=9)
        for t, parsed in zip(trees, conllu.parse(to_conllu(trees)), strict=True):
            columns = [(w["form"], w["upos"], w["head"], w["deprel"]) for w in parsed]
            assert columns == list(zip(t.words, t.tags, t.heads, t.relations))
            joined = "".join(w["form"] + ("" if w["misc"] else " ") for w in parsed).strip()
            assert parsed.metadata["text"] == t.text == joined
