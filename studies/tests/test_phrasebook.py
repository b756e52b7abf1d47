"""Sentences of every locale, with labels, tags and dictionaries."""

import os
import subprocess
import sys
from collections import Counter

import pytest
import regex
from babel import Locale

from testkit.frames import frames, world
from testkit.phrasebook import (
    _BRACKETS,
    _WORD,
    LABELS,
    SOURCE_LOCALES,
    TAGS,
    _clean,
    _phrase,
    _tags,
    dictionary,
    find_locale,
    lines,
    locales,
    parallel,
    part_segments,
    sentences,
)


def test_an_unknown_or_thin_locale_is_refused():
    with pytest.raises(
        ValueError, match=r"no text for 'swahili': CLDR has no such locale. Near it: sw \(Swahili\).*locales\(\) lists"
    ):
        find_locale("swahili")
    with pytest.raises(ValueError, match="no text for 'bho': CLDR names fewer than 20"):
        lines("bho", 5, 0)
    with pytest.raises(ValueError, match="no text for ''"):
        find_locale("")
    assert str(find_locale("pt-PT")) == "pt_PT"


def test_a_locale_without_a_wording_has_no_placeholder():
    assert (
        _phrase(lambda at: "-3 d", find_locale("sw")) is None and _phrase(lambda at: str(at), find_locale("sw")) == "sw"
    )
    assert part_segments(find_locale("wo"), ("measure", 5, "length-kilometer")) is None
    for code in ("xh", "wo", "ceb", "mg", "se", "am", "sw", "mi"):
        text = " ".join(lines(code, 300, seed=3))
        assert not regex.search(r" or |\bM\d\d\b|[-+]\d+ (?:y|m|w|d|h|min|s)\b", text), code
        assert not regex.search(r"(?:length|mass|volume|duration|power|digital|area|speed)-", text), code
    assert "Thu" not in " ".join(lines("ceb", 500, seed=0))


def test_labels_are_well_formed_and_every_word_lies_where_it_says():
    for code in ("en", "de", "sw", "hi", "am", "km", "zh", "ar", "ka", "my"):
        said = sentences(code, 300, seed=2)
        assert lines(code, 300, seed=2) == [s.text for s in said]
        for s in said:
            assert len(s.words) == len(s.labels) == len(s.offsets)
            assert [s.text[a:b] for a, b in s.offsets] == list(s.words)
            assert "".join(s.words) == regex.sub(r"\s", "", s.text), s.text
            for before, label in zip(("O", *s.labels), s.labels):
                assert label == "O" or (label[1] == "-" and label[2:] in LABELS)
                assert label[0] != "I" or before[2:] == label[2:]


def test_labelled_names_are_cldr_s_names():
    def spans(s, kind):  # the texts labelled as one kind
        starts = [i for i, label in enumerate(s.labels) if label == f"B-{kind}"]

        def end(i):
            while i + 1 < len(s.labels) and s.labels[i + 1] == f"I-{kind}":
                i += 1
            return s.offsets[i][1]

        return [s.text[s.offsets[i][0] : end(i)] for i in starts]

    for code, table, kind in (
        ("sw", "languages", "LANG"),
        ("am", "languages", "LANG"),
        ("de", "scripts", "SCR"),
        ("hi", "scripts", "SCR"),
    ):
        names = {_clean(_BRACKETS.sub("", n)) for n in getattr(Locale(code), table).values()}
        labelled = [t for s in sentences(code, 400, seed=4) for t in spans(s, kind)]
        assert len(labelled) > 100 and set(labelled) <= names, set(labelled) - names


def test_tags_are_those_that_one_would_give_by_hand():
    def tag_text(locale, segment, label):
        return " ".join(f"{w}/{t}" for w, t in zip(_WORD.findall(segment), _tags(find_locale(locale), segment, label)))

    assert tag_text("en", "in 3 weeks", "DATE") == "in/ADP 3/NUM weeks/NOUN"
    assert tag_text("en", "3 weeks ago", "DATE") == "3/NUM weeks/NOUN ago/ADP"
    assert tag_text("de", "vor 3 Jahren", "DATE") == "vor/ADP 3/NUM Jahren/NOUN"
    assert tag_text("te", "3 నెలల్లో", "DATE") == "3/NUM నెలల్లో/NOUN"
    assert tag_text("am", "ከ3 ዓመታት በፊት", "DATE") == "ከ/ADP 3/NUM ዓመታት/NOUN በፊት/ADP"
    assert tag_text("am", "4 ፌብ", "DATE") == "4/NUM ፌብ/NOUN"
    assert (
        tag_text("ru", "четверг, 4 марта 2021 г.", "DATE")
        == "четверг/NOUN ,/PUNCT 4/NUM марта/NOUN 2021/NUM г/NOUN ./PUNCT"
    )
    assert tag_text("fi", "tiistaina 4. toukokuuta", "DATE") == "tiistaina/NOUN 4/NUM ./PUNCT toukokuuta/NOUN"
    assert tag_text("he", "4 במרץ", "DATE") == "4/NUM במרץ/NOUN"
    assert tag_text("es", "4 de marzo", "DATE") == "4/NUM de/ADP marzo/NOUN"
    assert tag_text("eu", "2021(e)ko mar.", "DATE") == "2021/NUM (/PUNCT e/X )/PUNCT ko/X mar/NOUN ./PUNCT"
    assert tag_text("ko", "3월 4일", "DATE") == "3/NUM 월/NOUN 4/NUM 일/NOUN"
    assert tag_text("km", "3 ឆ្នាំមុន", "DATE") == "3/NUM ឆ្នាំមុន/NOUN"
    assert tag_text("sw", "dola za Marekani 5", "CUR") == "dola/NOUN za/ADP Marekani/PROPN 5/NUM"
    assert tag_text("es", "2 millones de euros", "CUR").split()[2] == "de/ADP"
    assert tag_text("en", "5 kilometers per hour", "MEAS") == "5/NUM kilometers/NOUN per/ADP hour/NOUN"
    assert tag_text("hu", "5 kilométer per óra", "MEAS").split()[2] == "per/ADP"
    assert tag_text("en", "4:05 PM", "TIME").endswith("PM/NOUN")
    assert tag_text("fr", " et ", "O") == "et/CCONJ"
    assert tag_text("en", "Trinidad & Tobago", "LOC") == "Trinidad/PROPN &/PUNCT Tobago/PROPN"
    assert tag_text("ko", "4일 ~ 5일", "DATE").split()[2] == "~/SYM"


def test_every_word_has_a_tag_that_says_more_than_its_label():
    for code in ("en", "sw", "am", "hy", "eu", "et", "te", "hu", "uk", "ru", "he", "fi", "zh", "km"):
        inside = {kind: Counter() for kind in ("O", *LABELS)}
        for s in sentences(code, 300, seed=0):
            assert len(s.tags) == len(s.words) and set(s.tags) <= set(TAGS)
            assert all((tag == "NUM") == w.isnumeric() for w, tag in zip(s.words, s.tags))
            for tag, label in zip(s.tags, s.labels):
                inside[label[2:] or "O"][tag] += 1
        for kind, least in (("DATE", 3), ("MEAS", 2), ("CUR", 2), ("O", 2)):
            assert sum(n > 3 for n in inside[kind].values()) >= least, (code, kind, inside[kind])
        assert set(inside["O"]) == {"PUNCT", "CCONJ"}
        assert set(inside["LOC"]) <= {"PROPN", "PUNCT"}
        assert inside["DATE"]["NOUN"] > 50


def test_what_was_said_in_other_languages_before_changes_nothing():
    program = """
import sys
from testkit.phrasebook import lines
for code in sys.argv[1:]:
    lines(code, 30, seed=0)
print(lines("km", 200, seed=0))
"""
    said = [
        subprocess.run([sys.executable, "-c", program, *others], capture_output=True, text=True, check=True).stdout
        for others in ((), ("fi", "th"))
    ]
    assert said[0] == said[1] and "វិច្ឆិកា" in said[0]  # November


def test_parallel_sentences_say_the_same_things():
    pairs = parallel("de", "sw", 400, seed=6)
    assert len(pairs) > 250

    def types(s):  # of the sentence's names and phrases
        return sorted(label for label in s.labels if label[:2] == "B-")

    for a, b in pairs:
        assert a.frame == b.frame and types(a) == types(b), (a.text, b.text)

    def numbers(s):
        return sorted(regex.findall(r"\d+", s.text))

    assert sum(numbers(a) == numbers(b) for a, b in pairs) > 0.85 * len(pairs)


def test_the_dictionary_holds_single_words():
    swahili = dictionary("en", "sw")
    assert {("germany", "ujerumani"), ("friday", "ijumaa"), ("french", "kifaransa")} <= set(swahili)
    assert not any(" " in x + y for x, y in swahili)
    assert ("south africa", "afrika kusini") in dictionary("en", "sw", phrases=True)
    assert dictionary("sw", "en") == sorted({(y, x) for x, y in swahili})


def test_sentences_repeat_with_the_seed_in_other_processes():
    program = "import testkit.phrasebook as p; print(p.lines('sw', 200, 5), p.dictionary('en', 'am'))"
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
    assert runs == {f"{lines('sw', 200, 5)} {dictionary('en', 'am')}\n"} and lines("sw", 200, 5) != lines("sw", 200, 6)


def test_forty_languages_in_many_scripts_give_distinct_sentences():
    table = locales()
    assert len(table) >= 40 and table.source.sum() == 19 and set(SOURCE_LOCALES) <= set(table.index)
    known = set(table[table.source].script)
    assert len(known) == 9 and {"am", "km", "si", "my", "te"} <= set(
        table[~table.source & ~table.script.isin(known)].index
    )
    assert {"sw", "et", "uk", "ur", "ne"} <= set(table[~table.source & table.script.isin(known)].index)
    others = "sw et uz uk ur ne am km si my ha is hu ja zh te ug sd eu hy mi gd"
    for code in [*SOURCE_LOCALES, *others.split()]:
        texts = lines(code, 60, seed=0)
        assert len(texts) > 48 and len(set(texts)) > 0.95 * len(texts), code


def test_held_out_text_is_new_text():
    for code in ("en", "sw", "am"):
        seen, new = set(lines(code, 2000, seed=0)), lines(code, 300, seed=0, held_out=True)
        assert sum(t in seen for t in new) < 0.02 * len(new), code


def test_the_world_agrees_with_what_one_can_look_up():
    swiss = world()["CH"]
    assert len(world()) == 150
    assert set(swiss.official) <= {"de", "gsw", "fr", "it", "rm"}
    assert swiss.currency == "CHF"
    assert swiss.zone == "Europe/Zurich"
    assert {"AT", "IT"} <= set(swiss.neighbours) and "CH" not in swiss.neighbours
    for place in world().values():
        assert all(place.code in world()[other].neighbours for other in place.neighbours), place.code


def test_held_out_frames_are_never_training_frames_whatever_the_seeds():
    held = [f for seed in range(3) for f in frames(600, seed, held_out=True)]
    assert not set(held) & {f for seed in range(3) for f in frames(3000, seed)} and len(set(held)) > 0.98 * len(held)
