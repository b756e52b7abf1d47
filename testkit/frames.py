"""Small coherent statements about the world, in no language."""

from __future__ import annotations

import datetime
import functools
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from babel import Locale
from babel.core import get_global
from babel.languages import get_territory_language_info
from babel.numbers import get_territory_currencies


@dataclass(frozen=True)
class Territory:
    "A territory and what CLDR knows about it."

    code: str  # ISO 3166 code, such as CH
    official: tuple[str, ...]  # codes of up to three official languages, most spoken first
    minor: tuple[str, ...]  # codes of up to two other languages
    currency: str  # ISO 4217 code of the currency in use
    zone: str  # time zone, such as Europe/Zurich
    neighbours: tuple[str, ...] = ()  # territories that share an official language or the currency


LIKELY_SUBTAGS: Mapping[str, str] = get_global("likely_subtags")  # {locale: the whole one, as sw_Latn_TZ}
_NOT_TERRITORIES = {"EU", "EZ", "UN", "QO", "XA", "XB", "XK", "ZZ"}


def _territory(code: str) -> Territory | None:
    "One territory without its neighbours, or None where CLDR lacks a language, a currency or a time zone."
    english = Locale("en")
    about: dict[str, Any] = dict(get_territory_language_info(code))
    by_speakers = sorted(about.items(), key=lambda item: -item[1]["population_percent"])
    spoken = [(lang, info["official_status"]) for lang, info in by_speakers if lang in english.languages]
    official = [lang for lang, status in spoken if status] or [lang for lang, _ in spoken[:1]]
    minor = [lang for lang, _ in spoken if lang not in official]
    currencies = [c for c in get_territory_currencies(code) if c in english.currencies]
    zones = get_global("territory_zones").get(code, [])
    if not (official and currencies and zones):
        return None
    return Territory(code, tuple(official[:3]), tuple(minor[:6]), currencies[0], zones[0])


def _is_territory(code: str) -> bool:
    "Whether a code is that of a territory, and not of a union of several or of none."
    return len(code) == 2 and code in Locale("en").territories and code not in _NOT_TERRITORIES


def _completed(t: Territory, places: Iterable[Territory], known: set[str]) -> Territory:
    "A territory with its neighbours, and with two other languages that are known elsewhere too."
    minor = tuple(lang for lang in t.minor if lang in known)[:2]
    near = [o for o in places if o is not t and (o.currency == t.currency or {*o.official} & {*t.official})]
    return replace(t, minor=minor, neighbours=tuple(o.code for o in near))


@functools.cache
def world(n: int = 150) -> dict[str, Territory]:
    "The n territories that the frames are about, by code in alphabetical order."
    spoken = [lang for lang in map(str, Locale("en").languages) if lang in LIKELY_SUBTAGS]
    homes = Counter(LIKELY_SUBTAGS[lang].split("_")[-1] for lang in spoken)
    codes = filter(_is_territory, sorted(homes, key=lambda code: (-homes[code], code)))
    places = sorted([t for t in map(_territory, codes) if t][:n], key=lambda t: t.code)
    known = {lang for t in places for lang in t.official + t.minor[:1]}
    return {t.code: _completed(t, places, known) for t in places}


# units, each with the range that its numbers are drawn from
_UNITS = """
temperature-celsius 5 40; length-kilometer 2 900; length-meter 2 99; length-centimeter 2 99; mass-kilogram 2 99;
mass-gram 2 900; mass-tonne 2 50; volume-liter 2 99; speed-kilometer-per-hour 20 200; duration-hour 2 23;
duration-minute 2 59; duration-day 2 30; duration-week 2 9; duration-month 2 11; duration-year 2 99;
duration-second 2 59; area-square-kilometer 2 900; area-hectare 2 99; digital-gigabyte 2 99; digital-megabyte 2 900;
power-kilowatt 2 99; power-watt 5 99; length-mile 2 99; length-foot 2 99; mass-pound 2 99; volume-gallon 2 20;
electric-volt 2 400; frequency-megahertz 50 108; energy-kilocalorie 20 900; volume-cubic-meter 2 99
"""
UNITS = {unit: (int(low), int(high)) for unit, low, high in (row.split() for row in _UNITS.split(";"))}
Part = tuple[Any, ...]  # of a frame: its kind and arguments, as ("city", "Europe/Zurich", "CH")
Frame = tuple[tuple[Part, ...], str]  # parts, and the separator between them
SECONDS = dict(year=365 * 86400, month=61 * 43200, week=7 * 86400, day=86400, hour=3600, minute=60, second=1)


def _draw_day(rng: random.Random) -> datetime.date:
    "A day of the years 2018 to 2025."
    return datetime.date(rng.randint(2018, 2025), rng.randint(1, 12), rng.randint(1, 20))


def _draw_languages(rng: random.Random, home: Territory) -> Part:
    "The languages of a territory."
    spoken = [*home.official, *home.minor]
    if len(spoken) < 2:
        return ("language", spoken[0], home.code)
    chosen = rng.sample(spoken, min(len(spoken), rng.choice((2, 3))))
    return ("languages", tuple(chosen), rng.choice(("standard", "or")))


def _draw_neighbours(rng: random.Random, home: Territory) -> Part | None:
    "A territory and one or two neighbours; None where it has none."
    if not home.neighbours:
        return None
    others = rng.sample(home.neighbours, min(len(home.neighbours), rng.choice((1, 1, 2))))
    places = [home.code, *others]
    if rng.random() < 0.5:
        rng.shuffle(places)
    return ("territories", tuple(places), rng.choice(("standard", "standard", "or")))


def _draw_script(rng: random.Random, home: Territory) -> Part | None:
    "An official language and the script that it is written in."
    lang = rng.choice(home.official)
    return ("script", lang, LIKELY_SUBTAGS[lang].split("_")[1]) if lang in LIKELY_SUBTAGS else None


def _draw_measure(rng: random.Random, home: Territory) -> Part:
    "A number of a unit."
    unit = rng.choice(list(UNITS))
    return ("measure", rng.randint(*UNITS[unit]), unit)


def draw_ago(rng: random.Random, home: Territory | None = None) -> Part:
    "A number of a unit of time, before now or after it."
    return ("ago", rng.choice(list(SECONDS)), rng.choice((-1, 1)) * rng.randint(2, 11))


_Draw = Callable[[random.Random, Territory], Part | None]
_ABOUT: dict[str, _Draw] = {  # facts about the territory
    "territories": _draw_neighbours,
    "languages": _draw_languages,
    "script": _draw_script,
    "language": lambda rng, home: ("language", rng.choice(home.official + home.minor[:1]), home.code),
    "money": lambda rng, home: ("money", rng.choice((2, 5, 10, 20, 50, rng.randint(2, 30))), home.currency),
    "city": lambda rng, home: ("city", home.zone, home.code),
}
_AROUND: dict[str, _Draw] = {  # phrases of time and measure
    "date": lambda rng, home: ("date", _draw_day(rng), rng.choice(("full", "long", "MMMd", "yMMMM", "EEEE"))),
    "interval": lambda rng, home: ("interval", _draw_day(rng), rng.randint(1, 8)),
    "ago": draw_ago,
    "measure": _draw_measure,
    "time": lambda rng, home: ("time", home.zone, rng.randint(0, 23), 5 * rng.randint(0, 11)),
}


def _draw_frame(rng: random.Random) -> Frame:
    "Draw a territory, facts about it and phrases around them."
    home = rng.choice(list(world().values()))
    draws = [_ABOUT[k] for k in rng.sample(list(_ABOUT), rng.choice((2, 2, 3)))]
    draws += [_AROUND[k] for k in rng.sample(list(_AROUND), rng.choice((0, 1, 1, 2)))]
    rng.shuffle(draws)
    parts = [("territory", home.code)] * (rng.random() < 0.4) + [draw(rng, home) for draw in draws]
    return tuple(p for p in parts if p), rng.choice((", ", " – ", "; ", ": "))


def is_held_out(frame: object) -> bool:
    "Whether a frame, or anything else with a representation, is kept for evaluation: one in ten, by a hash."
    return hashlib.blake2b(repr(frame).encode(), digest_size=4).digest()[0] < 26


def frames(n: int, seed: int, held_out: bool = False) -> list[Frame]:
    "Draw n frames of two or more parts, of the tenth never used for training or the rest; the same in every process."
    rng, out = random.Random(seed), []
    while len(out) < n:
        frame = _draw_frame(rng)
        if len(frame[0]) > 1 and is_held_out(frame) == held_out:
            out.append(frame)
    return out
