"""Languages made for the purpose, with scripts, families, word order and morphology of their own."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from types import ModuleType

import regex

from testkit import phrasebook
from testkit.constructed_events import COMPANIES, CONCEPTS, FAMILIES, GIVEN, PLACES, TOPICS, events, seeded
from testkit.phrasebook import find_locale

CONSONANTS, VOWELS = "ptkbdgfsxvzmnlryhc", "aeiou"


def _coined(rng, consonants, syllables, coda):
    "A new word: syllables of consonant and vowel, some of them closed."
    word = ""
    for _ in range(syllables):
        word += rng.choice(consonants) + rng.choice(VOWELS)
        word += rng.choice(consonants) if rng.random() < coda else ""
    return word


def _different(rng, keys, coin) -> dict[str, str]:
    "A word for each key, no two alike."
    words = {}  # the key of each word
    for key in keys:
        while (word := coin(rng, key)) in words:
            pass
        words[word] = key
    return {key: word for word, key in words.items()}


def _coined_name(rng, key):
    return _coined(rng, CONSONANTS, rng.choice((2, 2, 3)), 0.3)


def _coined_acronym(rng, key):
    return "".join(rng.choices("ABDEGIKLMNOPRSTUVZ", k=rng.choice((2, 3, 3))))


NAMES = _different(seeded("names"), [*PLACES, *FAMILIES, *COMPANIES, *GIVEN], _coined_name)
ACRONYMS = _different(seeded("acronyms"), [f"acronym {topic}" for topic in TOPICS], _coined_acronym)


@dataclass(frozen=True)
class Language:
    "How one constructed language is written, ordered and inflected."

    code: str  # from qaa to qtz
    name: str
    group: str  # source, seen script or unseen script
    script: str  # ISO 15924
    family: str
    order: str  # SVO, SOV or VSO
    adposition: str  # before or after its noun
    adjective: str
    genitive: str
    article: bool  # whether there is a definite article
    cases: tuple[str, ...]  # those that a suffix marks, of acc, gen and loc
    tenses: bool  # by suffix; otherwise by a word, and then nouns have no plural either
    sounds: str = ""  # regular changes since the family's common language
    new: float = 0.0  # share of words that are not the family's
    lender: str = ""  # code of the language that words are borrowed from
    borrowed: float = 0.0  # their share


_ROWS = """
qaa Aurian    source   Latn auric  SVO before before after  yes -           yes -               0   -   0
qab Bellan    source   Latn auric  SVO before after  after  yes -           no  p>f,s>x,o>u     .15 -   0
qac Corvic    source   Latn tundic SOV after  before before no  acc,gen,loc yes -               0   qaa .1
qba Drevan    source   Cyrl slovic SVO before before after  no  acc,gen     yes -               0   -   0
qbb Eskai     source   Cyrl tundic SOV after  before before no  acc,gen,loc yes k>h,b>v,a>o     .15 qba .1
qca Farisi    source   Arab samic  VSO before after  after  yes -           yes -               0   -   0
qda Gandhari  source   Deva indric SOV after  before before no  acc,gen     yes -               0   qca .05
qdb Hemali    source   Deva slovic SVO before before after  no  acc,gen     yes d>z,g>h,e>i     .15 qda .1
qal Aurelan   seen     Latn auric  SVO before before after  yes -           yes t>d,v>b,u>o     .1  -   0
qam Mirrish   seen     Latn mirric SOV after  before before no  acc,loc     yes -               0   -   0
qbk Dravik    seen     Cyrl slovic SVO before before after  no  acc,gen     yes t>c,l>r,i>e     .1  -   0
qdk Girani    seen     Deva indric SOV after  before before no  acc,gen     yes k>g,s>z,u>o     .1  -   0
qea Tigari    unseen   Ethi samic  VSO before after  after  yes -           yes b>f,x>s,i>e     .1  -   0
qeb Wolani    unseen   Ethi wolic  SOV after  before before no  acc,gen     yes -               0   -   0
qka Khemar    unseen   Khmr khemic SVO before after  after  no  -           no  -               0   -   0
qsa Sindali   unseen   Sinh indric SOV after  before before no  acc,gen,loc yes h>k,v>b,e>a     .1  -   0
"""


def _language(row):
    cells = ["" if cell == "-" else cell for cell in row.split()]
    said = dict(zip((column.name for column in fields(Language)), cells, strict=True))
    said["group"] += "" if said["group"] == "source" else " script"
    said["cases"] = tuple(filter(None, said["cases"].split(",")))
    said |= {column: said[column] == "yes" for column in ("article", "tenses")}
    said |= {column: float(said[column] or 0) for column in ("new", "borrowed")}
    return Language(**said)


LANGUAGES = {language.code: language for language in map(_language, _ROWS.strip().splitlines())}


def find_language(code: str) -> Language:
    "A constructed language by its code; `ValueError` says which there are."
    if code in LANGUAGES:
        return LANGUAGES[code]
    known = ", ".join(f"{language.code} ({language.name})" for language in LANGUAGES.values())
    raise ValueError(f"no constructed language {code!r}; choose from {known}")


def script(code: str) -> str:  # ISO 15924 code, such as Latn
    "The script a constructed language is written in."
    return find_language(code).script


SUFFIXES = ("plural", "acc", "gen", "loc", "past", "future")


@functools.cache
def _roots(family) -> dict[str, str]:  # concept or suffix to sounds
    rng = seeded("family", family)
    consonants = rng.sample(CONSONANTS, 12)

    def coin(rng, key):
        long = CONCEPTS.get(key) in ("NOUN", "VERB", "ADJ", "ADV", "NUM")
        return _coined(rng, consonants, rng.choice((2, 2, 2, 3)) if long else 1, 0.2 if long else 0.4)

    return _different(rng, [*CONCEPTS, *SUFFIXES], coin)


def _changed(sounds, changes):
    return sounds.translate({ord(a): b for a, b in (change.split(">") for change in changes.split(",") if change)})


@functools.cache
def _lexicon(code) -> dict[str, str]:  # concept or suffix to sounds
    at, words = LANGUAGES[code], {}
    for key, root in _roots(at.family).items():
        chance = seeded(code, key).random() if key in CONCEPTS else 1.0
        if chance < at.new:
            words[key] = _roots(code)[key]
        elif chance < at.new + at.borrowed:
            words[key] = _lexicon(at.lender)[key]
        else:
            words[key] = _changed(root, at.sounds)
    return words


_ALPHABETS = {  # a letter or two for each of CONSONANTS, then of VOWELS
    "Latn": "p t k b d g f s sh v z m n l r y h ch a e i o u",
    "Cyrl": "п т к б д г ф с ш в з м н л р й х ч а е и о у",
    "Arab": "پ ت ك ب د گ ف س ش ۋ ز م ن ل ر ي ھ چ ا ې ى و ۇ",
}  # as Uyghur, which writes its vowels
_SIGNS = {  # consonants, vowels on their own, vowel signs after a consonant, sign of no vowel
    "Deva": ("प त क ब द ग फ स श व ज म न ल र य ह च", "अ ए इ ओ उ", " े ि ो ु", "्"),
    "Sinh": ("ප ත ක බ ද ග ෆ ස ශ ව ජ ම න ල ර ය හ ච", "අ එ ඉ ඔ උ", " ෙ ි ො ු", "්"),
    "Khmr": ("ព ត ក ប ដ គ ផ ស ឆ វ ជ ម ន ល រ យ ហ ច", "អា អេ អិ អោ អុ", "ា េ ិ ោ ុ", ""),
}
_ETHIOPIC = dict(zip(CONSONANTS, "ፐተከበደገፈሰሸቨዘመነለረየሀቸ"))  # each followed by its other six orders
_ETHIOPIC_ORDER = dict(u=1, i=2, a=3, e=4, o=6)


def spell(sounds: str, script: str) -> str:
    "A word in a script, in lower case."
    if script in _ALPHABETS:
        mute = "ئ" if script == "Arab" and sounds[0] in VOWELS else ""  # carries a vowel that begins a word
        return mute + "".join(_LETTERS[script][s] for s in sounds)
    return "".join(
        _written(consonant, vowel, script)
        for consonant, vowel in regex.findall(f"([{CONSONANTS}]?)([{VOWELS}]?)", sounds)
        if consonant or vowel
    )


_LETTERS = {script: dict(zip(CONSONANTS + VOWELS, letters.split())) for script, letters in _ALPHABETS.items()}


def _written(consonant, vowel, script):
    "A consonant, a vowel or both."
    if script == "Ethi":
        return chr(ord(_ETHIOPIC.get(consonant, "አ")) + _ETHIOPIC_ORDER.get(vowel, 5))
    letters, alone, signs, none = _SIGNS[script]
    if not consonant:
        return alone.split()[VOWELS.index(vowel)]
    return letters.split()[CONSONANTS.index(consonant)] + (signs.split(" ")[VOWELS.index(vowel)] if vowel else none)


CASED = ("Latn", "Cyrl")


@functools.cache
def word(code: str, concept: str, *suffixes: str) -> str:
    "The word of one of CONCEPTS with some of SUFFIXES, in lower case."
    find_language(code)
    return spell("".join(_lexicon(code)[key] for key in (concept, *suffixes)), script(code))


@functools.cache
def name(code: str, key: str, *suffixes: str) -> str:
    "One of NAMES or ACRONYMS with some of SUFFIXES, with a capital if the script has them."
    if key in ACRONYMS:
        return ACRONYMS[key]
    at, sounds = find_language(code), NAMES[key]
    if key in PLACES and seeded(code, key).random() < 0.25:
        sounds = _changed(sounds, at.sounds)
    return _capital(spell(sounds + "".join(_lexicon(code)[s] for s in suffixes), at.script), at.script)


def _capital(text, script):
    return text[0].upper() + text[1:] if script in CASED else text


@dataclass
class _Word:
    form: str
    tag: str  # Universal POS
    relation: str  # to its head
    entity: tuple = ()  # type and a number, the same in all words of a name
    before: list = field(default_factory=list)  # words that hang on it, from left to right
    after: list = field(default_factory=list)


def _punctuation(mark):
    return _Word(mark, "PUNCT", "punct")


def _in_order(word, head, out):
    "Words of a tree from left to right, each with its head."
    for child in word.before:
        _in_order(child, word, out)
    out.append((word, head))
    for child in word.after:
        _in_order(child, word, out)
    return out


def _put(head, child, side):
    "Hang a word on another one, as the outermost on its side."
    if side == "before":
        head.before.insert(0, child)
    else:
        head.after.append(child)
    return head


class _Phrases:
    "Builds phrases in one language."

    def __init__(self, at: Language):
        self.at, self.names = at, 0

    def say(self, concept, relation, *suffixes):
        return _Word(word(self.at.code, concept, *suffixes), CONCEPTS[concept], relation)

    def name(self, key, kind, relation, suffixes=(), glossed=False):
        "A name; in other scripts sometimes with the Latin spelling in brackets."
        self.names += 1
        said = _Word(name(self.at.code, key, *suffixes), "PROPN", relation, (kind, self.names))
        if glossed and self.at.script != "Latn" and key in NAMES:
            self.names += 1
            gloss = _Word(_capital(spell(NAMES[key], "Latn"), "Latn"), "PROPN", "appos", (kind, self.names))
            gloss.before, gloss.after = [_punctuation("(")], [_punctuation(")")]
            said.after.append(gloss)
        return said

    def phrase(self, what, relation, case=None):
        "A noun phrase in its role; case: acc, gen, loc or None."
        marked = (case,) if case in self.at.cases else ()
        phrase = getattr(self, f"_{what[0]}")(what[1:], relation, marked)
        if case == "gen" and not marked:
            _put(phrase, self.say("of", "case"), self.at.adposition)
        return phrase

    def with_adposition(self, adposition, what, relation):
        "An oblique; where there is a locative, it says `in` of places."
        if adposition == "in" and what[0] == "place" and "loc" in self.at.cases:
            return self.phrase(what, relation, "loc")
        return _put(self.phrase(what, relation), self.say(adposition, "case"), self.at.adposition)


class _Speaker(_Phrases):
    "Knows the kinds of noun phrases; each method gets what to say, its role and the suffix of its case, if any."

    def _noun(self, what, relation, marked):
        concept, plural, determiner, numeral, adjective, owner = what
        noun = self.say(concept, relation, *["plural"] * (plural and self.at.tenses), *marked)
        if adjective:
            _put(noun, self.say(adjective, "amod"), self.at.adjective)
        if numeral:
            _put(noun, self._numeral(numeral), "before")
        if determiner == "this" or determiner and self.at.article:
            _put(noun, self.say(determiner, "det"), "before")
        return _put(noun, self.phrase(owner, "nmod", "gen"), self.at.genitive) if owner else noun

    def _numeral(self, numeral):
        return self.say(numeral, "nummod") if numeral in CONCEPTS else _Word(numeral, "NUM", "nummod")

    def _and(self, parts, relation, marked):
        case = marked[0] if marked else None
        first, *others = [self.phrase(part, relation if i == 0 else "conj", case) for i, part in enumerate(parts)]
        for other in others[:-1]:
            _put(other, _punctuation(COMMA.get(self.at.script, ",")), "before")
        _put(others[-1], self.say("and", "cc"), "before")
        first.after += others
        return first

    def _person(self, what, relation, marked):
        given, family, trade, glossed = what
        of_name = () if trade else marked  # a suffix goes on the last word of the name, or on the trade
        key, suffixes = (given, ()) if given else (family, of_name)
        person = self.name(key, "PER", "appos" if trade else relation, suffixes, glossed and not given)
        if given:
            person.after.append(_Word(name(self.at.code, family, *of_name), "PROPN", "flat", person.entity))
        return _put(self.say(trade, relation, *marked), person, "after") if trade else person

    def _institution(self, what, relation, marked):
        "The name of an organisation that holds a place's, such as Bank of Minu."
        head, seat = self.say(what[0], relation, *marked), self.phrase(("place", what[1], False), "nmod", "gen")
        for part in (head, seat, *seat.before, *seat.after):
            part.entity = ("ORG", -self.names)
        return _put(head, seat, self.at.genitive)

    def _place(self, what, relation, marked):
        return self.name(what[0], "LOC", relation, marked, what[1])

    def _organisation(self, what, relation, marked):
        return self.name(what[0], "ORG", relation, marked, what[1])

    def _pronoun(self, what, relation, marked):
        return self.say(what[0], relation, *marked)

    def _year(self, what, relation, marked):
        return _Word(what[0], "NUM", relation)

    def _adjective(self, what, relation, marked):
        return self.say(what[0], relation)


COMMA, QUESTION = {"Arab": "،", "Ethi": "፣"}, {"Arab": "؟"}
STOP = {"Deva": "।", "Ethi": "።", "Khmr": "។", "Arab": "."}


def _clause(speaker, subject, verb, tense, thing, obliques, adverb, negated):
    at, suffixes = speaker.at, [tense] if speaker.at.tenses and tense != "present" else []
    root = speaker.say(verb, "root", *suffixes)
    subjects = [speaker.phrase(subject, "nsubj")]
    objects = [speaker.phrase(thing, "obj", "acc")] if thing else []
    others = [speaker.with_adposition(*oblique, "obl") for oblique in obliques]
    adverbs = [speaker.say(adverb, "advmod")] if adverb else []
    root.before, root.after = {
        "SVO": (subjects + adverbs, objects + others),
        "SOV": (subjects + others + objects + adverbs, []),
        "VSO": ([], subjects + objects + others + adverbs),
    }[at.order]
    if not at.tenses and tense != "present":
        root.before.append(speaker.say({"past": "did", "future": "will"}[tense], "aux"))
    if negated:
        root.before.append(speaker.say("not", "advmod"))
    return root


def _copula(speaker, subject, predicate, negated):
    place = predicate[0] == "place"
    root = speaker.with_adposition("in", predicate, "root") if place else speaker.phrase(predicate, "root")
    who, be = speaker.phrase(subject, "nsubj"), [speaker.say("be", "cop")]
    if negated:
        be.insert(0, speaker.say("not", "advmod"))
    root.before = {"SVO": [who, *be], "SOV": [who], "VSO": [*be, who]}[speaker.at.order] + root.before
    if speaker.at.order == "SOV":
        root.after += be
    return root


@dataclass(frozen=True)
class Tree:
    "One event said in one language, with its dependency tree."

    text: str  # natural text
    words: tuple[str, ...]  # words, numbers and single punctuation marks
    labels: tuple[str, ...]  # a BIO label for each word, of PER, LOC and ORG
    tags: tuple[str, ...]  # a Universal POS tag for each word
    heads: tuple[int, ...]  # the number of each word's head, from 1; 0: the root
    relations: tuple[str, ...]  # Universal Dependencies relation of each word to its head
    offsets: tuple[tuple[int, int], ...]  # where each word lies: text[start:end] == word
    frame: int  # number of the event among those drawn


def _tree(at, event, number):
    "One event in one language."
    kind, *said, question = event
    root = (_clause if kind == "clause" else _copula)(_Speaker(at), *said)
    root.after.append(_punctuation(QUESTION.get(at.script, "?") if question else STOP.get(at.script, ".")))
    ordered = _in_order(root, None, [])
    ordered[0][0].form = _capital(ordered[0][0].form, at.script)
    words, text, offsets = [w for w, _ in ordered], "", []
    for w in words:
        joined = text[-1:] in ("", "(") or (w.tag == "PUNCT" and w.form != "(")
        text += "" if joined else " "
        offsets.append((len(text), len(text) + len(w.form)))
        text += w.form
    number_of = {id(w): i for i, w in enumerate(words, 1)}
    heads = (number_of.get(id(head), 0) for _, head in ordered)
    forms, tags, relations = zip(*((w.form, w.tag, w.relation) for w in words))
    return Tree(text, forms, tuple(_bio(words)), tags, tuple(heads), relations, tuple(offsets), number)


def _bio(words):
    "The BIO label of each word."
    before = ()
    for w in words:
        position = "I" if w.entity == before else "B"
        yield f"{position}-{w.entity[0]}" if w.entity else "O"
        before = w.entity


def sentences(code: str, n: int, seed: int, held_out: bool = False) -> list[Tree]:
    """Express `n` events, the same in every language for the same n and seed, in one language.

    `held_out`: draw from the events kept for evaluation, which no training text contains.
    """
    at = find_language(code)
    return [_tree(at, event, i) for i, event in enumerate(events(n, seed, held_out))]


def lines(code: str, n: int, seed: int, held_out: bool = False) -> list[str]:
    "The text of `sentences`."
    return [s.text for s in sentences(code, n, seed, held_out)]


def parallel(a: str, b: str, n: int, seed: int, held_out: bool = False) -> list[tuple[Tree, Tree]]:
    "`sentences` of two languages, in pairs of the same event."
    return list(zip(sentences(a, n, seed, held_out), sentences(b, n, seed, held_out)))


def dictionary(a: str, b: str, phrases: bool = False) -> list[tuple[str, str]]:
    "All concepts and names, with `phrases` also full names, in lower case without suffixes: sorted pairs of words."

    def words(code: str) -> list[str]:
        made = [word(code, concept) for concept in CONCEPTS] + [name(code, key) for key in (*NAMES, *ACRONYMS)]
        full_names = [f"{name(code, given)} {name(code, family)}" for given in GIVEN for family in FAMILIES]
        return [text.lower() for text in made + full_names * phrases]

    return sorted(set(zip(words(a), words(b))))


def world_of(code: str) -> ModuleType:
    "`testkit.phrasebook` or `testkit.constructed`, whichever has a language; `ValueError` if neither has it."
    if code in LANGUAGES:
        return sys.modules[__name__]
    find_locale(code)
    return phrasebook


def to_conllu(trees: Sequence[Tree]) -> str:
    "Trees as a CoNLL-U file."

    def rows(tree):
        yield f"# text = {tree.text}"
        for i, (w, tag, head, relation) in enumerate(zip(tree.words, tree.tags, tree.heads, tree.relations)):
            end = tree.offsets[i][1]
            attached = i + 1 < len(tree.words) and tree.offsets[i + 1][0] == end
            yield f"{i + 1}\t{w}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{'SpaceAfter=No' if attached else '_'}"

    return "".join("\n".join(rows(tree)) + "\n\n" for tree in trees)
