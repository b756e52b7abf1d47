"""Question answering and natural language inference in every language of the phrasebook."""

from __future__ import annotations

import random
from typing import NamedTuple

from babel import Locale

from testkit.frames import Frame, Part, draw_ago, frames, is_held_out, world
from testkit.phrasebook import find_locale, frame_segments, part_segments


class Cloze(NamedTuple):
    "A fact of a text with a name left out."

    question: str  # the fact, with a question mark for the name
    context: str  # two sentences, one of which has the fact
    answer: str  # the name
    start: int  # its place: context[start:start + len(answer)] == answer
    number: int  # of the pair of frames among those drawn


_FACTS = ("language", "script", "city")
_Fact = tuple[int, int]  # number of the frame, and of its part


def _said(at: Locale, both: tuple[Frame, Frame], fact: _Fact) -> tuple[str, list[tuple[str, int]]]:
    "The text of two frames, and the names of a fact with what is between them and where each begins."
    context, names = "", []
    for number, frame in enumerate(both):
        segments = frame_segments(at, frame)
        if not segments:
            return "", []
        context += " " * bool(number)
        for part, text, _ in segments:
            if (number, part) == fact:
                names.append((text, len(context)))
            context += text
    return context, names


def _cloze(at: Locale, both: tuple[Frame, Frame], fact: _Fact, leave_first: bool, number: int) -> Cloze | None:
    "The question about a fact; None where the locale cannot say it, or says the rest of it twice."
    context, names = _said(at, both, fact)
    if not names:
        return None
    (a, start_a), (between, _), (b, start_b) = names
    kept, answer, start = (between + b, a, start_a) if leave_first else (a + between, b, start_b)
    if context.count(kept) > 1:
        return None
    return Cloze("?" + kept if leave_first else kept + "?", context, answer, start, number)


def questions(
    locale: str,  # CLDR locale
    n: int,  # how many pairs of frames to draw
    seed: int,  # the same n and seed ask about the same facts in every locale
    held_out: bool = False,  # draw from the frames kept for evaluation
) -> list[Cloze]:  # at most n
    "Ask about facts of short texts; `ValueError` for a locale without text."
    at, rng, drawn = find_locale(locale), random.Random(seed), frames(2 * n, seed, held_out)
    asked = []
    for number, both in enumerate(zip(drawn[::2], drawn[1::2])):
        facts = [(f, p) for f, (parts, _) in enumerate(both) for p, part in enumerate(parts) if part[0] in _FACTS]
        fact, leave_first = rng.choice(facts or [None]), rng.random() < 0.5
        if fact and (cloze := _cloze(at, both, fact, leave_first, number)):
            asked.append(cloze)
    return asked


class Inference(NamedTuple):
    "Two sentences, and whether the second follows from the first."

    premise: str  # a fact, and something beside it
    hypothesis: str  # a fact
    label: str  # entailment, neutral or contradiction
    number: int  # of the three pairs with this hypothesis among those drawn


_TONGUES = ["fr", "de", "ru", "ar", "es", "it", "hi", "tr", "el", "pl", "fi", "pt"]
_HOMES = ["FR", "DE", "RU", "EG", "ES", "IT", "IN", "TR", "GR", "PL", "FI", "PT"]


def _text(locale: Locale, part: Part, turn: int = 1) -> str:
    "A part in words, with its names the other way round if turn is -1; nothing where the locale cannot say it."
    return "".join(text for text, _ in (part_segments(locale, part) or [])[::turn])


class _Drawn(NamedTuple):
    "Three inferences with one hypothesis, in no language."

    fact: tuple[str, str]  # of the hypothesis: language and territory
    facts: dict[str, tuple[str, str]]  # {label: the premise's fact}, in the order in which they come
    beside: tuple[Part, Part]  # of which the first that a locale can say stands in the premise
    separator: str
    turns: list[int]  # 1 or -1, names the other way round: in the hypothesis, the premise's fact, the premise itself


def _draw_inference(rng: random.Random, names: int, held_out: bool) -> _Drawn:
    "Draw the facts of three inferences, and what stands beside them."
    (a, c), (b, d) = rng.sample(_TONGUES[:names], 2), rng.sample(_HOMES[:names], 2)
    facts = {"entailment": (a, b), "neutral": (c, d), "contradiction": rng.choice(((a, d), (c, b)))}
    time, separator = _draw_time(rng, held_out)
    others = [code for code in world() if code not in _HOMES and is_held_out(code) == held_out]
    other = ("territory", rng.choice(others))
    facts = {label: facts[label] for label in rng.sample(list(facts), 3)}
    return _Drawn((a, b), facts, (time, other), separator, rng.choices((1, -1), k=3))


def _draw_time(rng: random.Random, held_out: bool) -> tuple[Part, str]:
    "A phrase of time and the separator before it, held out or not by what is said in English: 11 weeks are 3 months."
    while True:
        time, separator = draw_ago(rng), rng.choice((", ", "; ", ": "))
        if is_held_out((_text(find_locale("en"), time), separator)) == held_out:
            return time, separator


def _inferences_of(at: Locale, drawn: _Drawn, number: int) -> list[Inference]:
    "Three inferences in words; none where the locale cannot say all of them."
    turn, premise_turn, order = drawn.turns
    beside = next(filter(None, (_text(at, part) for part in drawn.beside)), "")
    hypothesis = _text(at, ("language", *drawn.fact), turn)
    premises = {label: _text(at, ("language", *fact), premise_turn) for label, fact in drawn.facts.items()}
    if not (beside and hypothesis and all(premises.values())):
        return []
    whole = {label: drawn.separator.join((premise, beside)[::order]) for label, premise in premises.items()}
    return [Inference(f"{premise}.", f"{hypothesis}.", label, number) for label, premise in whole.items()]


def inferences(
    locale: str,  # CLDR locale
    n: int,  # how many pairs to draw, in threes
    seed: int,  # the same n and seed say the same in every locale
    held_out: bool = False,  # draw what is beside the facts from what is kept for evaluation, or from the rest
    names: int = 3,  # how many languages and how many territories the facts are about, 2 to 12
) -> list[Inference]:  # at most n; as many of each label
    "Pairs of sentences for natural language inference (NLI); `ValueError` for a locale without text."
    if not 2 <= names <= len(_HOMES):
        raise ValueError(f"facts about {names} languages and territories; choose from 2 to {len(_HOMES)}")
    at, rng = find_locale(locale), random.Random(seed)
    drawn = [_draw_inference(rng, names, held_out) for _ in range(n // 3)]
    return [inference for number, three in enumerate(drawn) for inference in _inferences_of(at, three, number)]
