"""What the constructed languages speak about: concepts, names, and events drawn at random."""

from __future__ import annotations

import random

from testkit.frames import is_held_out

TOPICS = {
    name: tuple(tuple(words.split()) for words in line.split(" | "))
    for name, line in {
        "sea": "captain | boat harbour wave fish net sailor island wind shore rope"
        " | catch pull cross sink | deep salty calm rough",
        "farm": "farmer | field cow horse grain plough barn sheep seed fence milk"
        " | sow feed harvest grow | ripe dry green heavy",
        "music": "singer | song drum flute dance string stage tune choir bell voice"
        " | play hear compose sing | loud sweet slow sad",
        "school": "teacher | book lesson pupil pen word page class question answer story"
        " | read write learn sit | clever easy hard young",
        "market": "merchant | coin price shop cloth basket customer gold stone jewel trade"
        " | buy sell weigh haggle | cheap dear rich poor",
        "castle": "soldier | wall gate sword king battle army tower shield flag enemy"
        " | attack guard build fight | strong high brave proud",
        "hospital": "doctor | nurse fever medicine blood bone wound bed pain heart cough"
        " | heal wash cut sleep | sick weak clean warm",
        "sport": "player | ball game team race goal prize crowd coach club season"
        " | win lose throw run | fast tall early late",
        "kitchen": "cook | bread soup oven knife salt apple pot spoon plate honey"
        " | bake eat stir boil | fresh hot bitter tasty",
        "court": "judge | law crime thief witness prison debt promise reason rule vote"
        " | accuse free punish speak | guilty just secret severe",
        "forest": "hunter | tree bear bird river path leaf wolf root nest mushroom"
        " | follow chase climb hide | wild dark quiet thick",
        "sky": "astronomer | star moon cloud planet rain comet night light storm sun"
        " | watch measure name shine | bright round cold distant",
    }.items()
}
NOUNS = ("man", "woman", "child", "friend", "house", "road", "year", "gift", "table", "door")
VERBS = ("see", "find", "like", "need", "show", "wait")  # the last without an object
ADJECTIVES = ("big", "small", "old", "new", "good", "red")
ADVERBS = ("often", "never", "today", "here", "again", "now", "soon", "together", "well", "there")
NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PRONOUNS = ("she", "he", "they")
ADPOSITIONS = ("in", "from", "to", "with", "for", "of")
INSTITUTIONS = ("bank", "union", "museum", "company", "party", "council")  # said only in names of organisations


def _of_topics(group):
    return [word for groups in TOPICS.values() for word in groups[group]]


CLASSES = {
    "NOUN": [*_of_topics(0), *_of_topics(1), *NOUNS, *INSTITUTIONS],
    "VERB": [*_of_topics(2), *VERBS],
    "ADJ": [*_of_topics(3), *ADJECTIVES],
    **dict(ADV=[*ADVERBS], NUM=[*NUMERALS], PRON=[*PRONOUNS], ADP=[*ADPOSITIONS]),
    "DET": ["the", "this"],
    "CCONJ": ["and"],
    "PART": ["not"],
    "AUX": ["be", "will", "did"],
}
CONCEPTS = {concept: tag for tag, words in CLASSES.items() for concept in words}  # gloss to Universal POS tag


def seeded(*key: object) -> random.Random:
    return random.Random("|".join(map(str, key)))  # strings seed alike in every process


PLACES = {f"place {i} {t}": t for i in range(5) for t in TOPICS}
FAMILIES = {f"family {i} {t}": t for i in range(3) for t in TOPICS}
COMPANIES = {f"company {t}": t for t in TOPICS}
GIVEN = tuple(f"given {i}" for i in range(30))


def _one(rng, words):
    return words[min(int(len(words) * rng.random() ** 1.4), len(words) - 1)]  # the first are the most frequent


def _maybe(rng, share, draw):
    return draw() if rng.random() < share else None


def _person(rng, topic):
    "A person of the topic: given name or None, family name, trade or None, whether a gloss in Latin letters follows."
    i = rng.randrange(6)
    given = _maybe(rng, 0.5, lambda: GIVEN[(5 * list(TOPICS).index(topic) + 7 * i) % 30])
    trade = _maybe(rng, 0.25, lambda: TOPICS[topic][0][0])
    return ("person", given, f"family {i // 2} {topic}", trade, rng.random() < 0.1)


def _organisation(rng, topic):
    seat, number = f"place {rng.randrange(2)} {topic}", list(TOPICS).index(topic)
    if rng.random() < 0.4:
        return ("institution", INSTITUTIONS[(number + int(seat[6])) % 6], seat)
    return ("organisation", rng.choice((f"company {topic}", f"acronym {topic}")), rng.random() < 0.1)


def _place(rng, topic):
    return ("place", f"place {_one(rng, range(5))} {topic}", rng.random() < 0.1)  # last: a gloss in Latin letters


def _someone(rng, topic):
    draw = rng.random()
    if draw < 0.12:
        return ("pronoun", rng.choice(PRONOUNS))
    if draw < 0.55:
        return _person(rng, topic)
    if draw < 0.8:
        return _organisation(rng, topic)
    return _thing(rng, topic, (TOPICS[topic][0][0], *NOUNS[:4]))


def _thing(rng, topic, nouns, deep=False):
    "A noun with what goes with it: (concept, plural, determiner, numeral, adjective, genitive)."
    noun = _one(rng, nouns)
    at = TOPICS[topic][1].index(noun) if noun in TOPICS[topic][1] else 0
    plural = rng.random() < 0.3
    numeral = _maybe(rng, 0.4 * plural, lambda: _numeral(rng, at))
    adjective = _maybe(rng, 0.4, lambda: _adjective(rng, topic, at))
    owner = None if deep else _maybe(rng, 0.25, lambda: _owner(rng, topic))
    determiner = rng.choice(("the", "the", "this", None, None)) if numeral is None else None
    return ("noun", noun, plural, determiner, numeral, adjective, owner)


def _numeral(rng, at):
    return rng.choice(NUMERALS) if rng.random() < 0.5 else str(rng.choice((2, 3, 5, 10 + at, 20 + at, 100)))


def _adjective(rng, topic, at):
    return TOPICS[topic][3][(at + rng.randrange(2)) % 4] if rng.random() < 0.8 else _one(rng, ADJECTIVES)


def _owner(rng, topic):
    if rng.random() < 0.6:
        return rng.choice((_place, _person, _organisation))(rng, topic)
    return _thing(rng, topic, TOPICS[topic][1][:5], True)


def _object(rng, topic, verb):
    if rng.random() < 0.12:
        return _person(rng, topic)
    nouns, verbs = TOPICS[topic][1:3]
    of_verb = [nouns[(2 * verbs.index(verb) + j) % 10] for j in range(4)] if verb in verbs else []
    nouns = of_verb or [*nouns[:4], *NOUNS[4:]]
    if rng.random() > 0.12:
        return _thing(rng, topic, nouns)
    return ("and", *(_thing(rng, topic, [noun], True) for noun in rng.sample(nouns, rng.choice((2, 2, 3)))))


def _oblique(rng, topic):
    adposition = rng.choice(("in", "in", "from", "to", "with", "for"))
    if adposition in ("in", "from", "to"):
        year = adposition == "in" and rng.random() < 0.3
        return (adposition, _year(rng, topic) if year else _place(rng, topic))
    return (adposition, _person(rng, topic) if rng.random() < 0.4 else _thing(rng, topic, TOPICS[topic][1][6:], True))


def _year(rng, topic):
    return ("year", str(1900 + 9 * list(TOPICS).index(topic) + rng.randrange(6)))


def _predicate(rng, topic):
    "What is said of a subject without a verb: a trade, a place or an adjective."
    said = rng.choice(("trade", "place", "adjective"))
    if said == "trade":
        employer = _maybe(rng, 0.5, lambda: _organisation(rng, topic))
        return ("noun", TOPICS[topic][0][0], False, None, None, None, employer)
    return _place(rng, topic) if said == "place" else ("adjective", _one(rng, TOPICS[topic][3]))


def _draw_event(rng):
    topic = rng.choice(list(TOPICS))
    subject, question = _someone(rng, topic), rng.random() < 0.06
    if rng.random() < 0.2:
        return ("copula", subject, _predicate(rng, topic), rng.random() < 0.1, question)
    verbs = TOPICS[topic][2] if rng.random() < 0.85 else VERBS
    verb = _one(rng, verbs)
    thing = None if verb == verbs[-1] else _object(rng, topic, verb)
    n_obliques = rng.choice((1, 1, 2) if thing is None else (0, 0, 1, 1))
    obliques = tuple(_oblique(rng, topic) for _ in range(n_obliques))
    tense = rng.choice(("present", "past", "past", "future"))
    adverb = _maybe(rng, 0.25, lambda: _one(rng, ADVERBS))
    return ("clause", subject, verb, tense, thing, obliques, adverb, rng.random() < 0.1, question)


def events(n: int, seed: int, held_out: bool = False) -> list[tuple]:  # nested tuples of concepts and names
    "Draw n events, of the tenth that is never used for training or the rest; the same in every process."
    rng, drawn = seeded("events", seed), []
    while len(drawn) < n:
        event = _draw_event(rng)
        if is_held_out(event) == held_out:
            drawn.append(event)
    return drawn
