"""Real words of real languages, in parallel, with labels, and without a download."""

from __future__ import annotations

import datetime
import difflib
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import regex
from babel import Locale, UnknownLocaleError, localedata
from babel.dates import format_date, format_interval, format_skeleton, format_time, format_timedelta
from babel.lists import format_list
from babel.numbers import format_currency
from babel.units import format_unit

from testkit.frames import LIKELY_SUBTAGS, SECONDS, Frame, Part, frames, world

if TYPE_CHECKING:
    import pandas as pd


_SOURCE_LOCALES = "en de fr es pl tr id fi ru bg ar fa hi mr el he ka ko th"
SOURCE_LOCALES = tuple(_SOURCE_LOCALES.split())
_BRACKETS = regex.compile(r"\s*[(\[（［][^)\]）］]*[)\]）］]")


def _plain(text: str) -> str:
    "Text with plain spaces, without control and format characters other than the two joiners."
    return regex.sub(r"[\p{Cc}\p{Cf}--[\u200c\u200d]]", "", regex.sub(r"\p{Zs}+", " ", text), flags=regex.V1)


def _clean(text: str) -> str:
    "Plain text without white space around it."
    return _plain(text).strip()


@functools.cache
def _name(locale: Locale, table: str, key: str) -> str | None:
    "CLDR's name of a territory, language, script or currency (by the name of the table) without brackets, or None."
    name = getattr(locale, table).get(key)
    if not name or name == key:
        return None
    return _clean(_BRACKETS.sub("", name)) or _clean(name)


@functools.cache
def _usable(code: str) -> bool:
    "Whether a locale names 20 territories of the world."
    return sum(_name(Locale.parse(code), "territories", t) is not None for t in world()) >= 20


def _alone(locale: Locale) -> Locale:
    "The locale with data of its own, so that what Babel looked up for other locales does not show in it."
    localedata._cache.clear()  # Babel notes what it looks up for one locale in data that others share
    _ = locale.languages  # reads the data
    return locale


@functools.cache
def find_locale(code: str) -> Locale:
    "Babel's locale for a code such as sw, zh_Hant or pt-PT; `ValueError` names similar ones that exist."
    try:
        locale = Locale.parse(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError, TypeError):
        locale = None
    if locale is not None and _usable(str(locale)):
        return _alone(locale)
    reason = "CLDR has no such locale" if locale is None else "CLDR names fewer than 20 territories in it"
    every = "testkit.phrasebook.locales() lists what there is"
    raise ValueError(f"the phrasebook has no text for {code!r}: {reason}.{_near(code)} {every}")


def _near(code: str) -> str:
    "Locales whose code or English name is like one that there is not, for messages."
    usable = [c for c in localedata.locale_identifiers() if "_" not in c and _usable(c)]
    names = {c: Locale("en").languages.get(c, c) for c in usable}
    codes = {name.lower(): c for c, name in names.items()} | {c: c for c in names}
    near = dict.fromkeys(codes[x] for x in difflib.get_close_matches(code.lower(), codes, n=3, cutoff=0.6))
    return f" Near it: {', '.join(f'{c} ({names[c]})' for c in near)}." if near else ""


LABELS = ("LOC", "LANG", "CUR", "DATE", "MEAS", "SCR", "TIME")
Segment = tuple[str, str]  # text and entity type, one of `LABELS` or O


_LABEL = {"territories": "LOC", "languages": "LANG", "scripts": "SCR"}


def _segment(locale: Locale, table: str, key: str) -> Segment | None:
    "One name as a segment, or None."
    name = _name(locale, table, key)
    return (name, _LABEL[table]) if name else None


def _pair(first: Segment | None, second: Segment | None, between: str = " – ") -> list[Segment] | None:
    "Two segments with a text between them, or None where one is missing."
    return [first, (between, "O"), second] if first and second else None


def _listed(locale: Locale, names: Sequence[Segment | None], style: Literal["standard", "or"]) -> list[Segment] | None:
    "Names joined by the locale's list pattern (`standard`: and, `or`: or, where the locale has a word for it)."
    segments = [segment for segment in names if segment]
    if len(segments) < len(names):
        return None
    if locale.language != "en" and format_list("AB", style, locale) == "A or B":
        style = "standard"
    slots = [chr(0xE000 + i) for i in range(len(segments))]
    texts = regex.split(r"([\ue000-\ue0ff])", format_list(slots, style, locale))
    return [segments[slots.index(x)] if x in slots else (_plain(x), "O") for x in texts if x]


_ROOT = _alone(Locale.parse("root"))
_MONTH_NUMBER = regex.compile(r"\bM\d\d\b")


def _phrase(render: Callable[[Locale], str], locale: Locale) -> str | None:
    "A rendered text, cleaned; None where the locale has no wording of its own."
    try:
        text = render(locale)
    except (KeyError, AttributeError, ValueError):
        return None
    if not text or _MONTH_NUMBER.search(text) or text == render(_ROOT):
        return None
    return _clean(text)


@functools.cache
def _has_weekdays(locale: Locale) -> bool:
    "Whether a locale has names of weekdays of its own."
    return locale.days["format"]["wide"] != _ROOT.days["format"]["wide"]


@functools.cache
def _measure(locale: Locale, number: int, unit: str) -> str | None:
    "A number of a unit."
    text = _phrase(lambda at: format_unit(number, unit, "long", locale=at), locale)
    return text if text and unit not in text else None


def _say_date(locale: Locale, day: datetime.date, style: str) -> str | None:
    "A day, a month or a weekday."
    if style in ("full", "EEEE") and not _has_weekdays(locale):
        return None
    if style in ("full", "long", "EEEE"):
        return _phrase(lambda at: format_date(day, style, locale=at), locale)
    return _phrase(lambda at: format_skeleton(style, day, locale=at), locale)


def _say_ago(locale: Locale, unit: str, number: int) -> str | None:
    "A number of units of time before now or after it."
    delta = datetime.timedelta(seconds=number * SECONDS[unit])
    rendered = functools.partial(format_timedelta, delta, "second", threshold=1.0001, add_direction=True)
    return _phrase(lambda at: rendered(locale=at), locale)


def _say_interval(locale: Locale, first: datetime.date, days: int) -> str | None:
    "From one day to another."
    last = first + datetime.timedelta(days=days)
    return _phrase(lambda at: format_interval(first, last, "yMMMd", locale=at), locale)


def _say_money(locale: Locale, number: int, currency: str) -> str | None:
    "An amount of a currency, by its name."
    if not _name(locale, "currencies", currency):
        return None
    text = format_currency(number, currency, format="#,##0", locale=locale, format_type="name", currency_digits=False)
    return _clean(text) if currency not in text and str(number) in text else None


def _say_city(locale: Locale, zone: str) -> Segment | None:
    "The city of a time zone; one without a name keeps the zone's English one where the locale is in Latin script."
    city = locale.time_zones.get(zone, {}).get("city")
    if city:
        return _clean(city), "LOC"
    return (zone.split("/")[-1].replace("_", " "), "LOC") if script(str(locale)) == "Latn" else None


def _say_time(locale: Locale, hour: int, minute: int) -> str:
    "A time of day."
    return _clean(format_time(datetime.time(hour, minute), "short", locale=locale))


def script(code: str) -> str:
    "The script that a CLDR locale is written in, such as Latn (ISO 15924)."
    locale = Locale.parse(code)
    likely = LIKELY_SUBTAGS.get(code) or LIKELY_SUBTAGS.get(locale.language, "und_Latn_ZZ")
    return locale.script or likely.split("_")[1]


def _one(label: str, word: Callable[..., str | None]) -> Callable[..., list[Segment] | None]:
    "The function that says a part which is one segment."

    def segments(locale: Locale, *args: Any) -> list[Segment] | None:
        text = word(locale, *args)
        return [(text, label)] if text else None

    return segments


_SAY: dict[str, Callable[..., list[Segment] | None]] = {  # by kind of part
    "territory": _one("LOC", lambda at, place: _name(at, "territories", place)),
    "territories": lambda at, places, style: _listed(at, [_segment(at, "territories", p) for p in places], style),
    "languages": lambda at, langs, style: _listed(at, [_segment(at, "languages", lang) for lang in langs], style),
    "language": lambda at, lang, place: _pair(_segment(at, "languages", lang), _segment(at, "territories", place)),
    "script": lambda at, lang, kind: _pair(_segment(at, "languages", lang), _segment(at, "scripts", kind)),
    "city": lambda at, zone, place: _pair(_say_city(at, zone), _segment(at, "territories", place)),
    "time": lambda at, zone, hour, minute: _pair(_say_city(at, zone), (_say_time(at, hour, minute), "TIME"), " "),
    "money": _one("CUR", _say_money),
    "measure": _one("MEAS", _measure),
    "date": _one("DATE", _say_date),
    "ago": _one("DATE", _say_ago),
    "interval": _one("DATE", _say_interval),
}


@functools.lru_cache(200_000)
def part_segments(locale: Locale, part: Part) -> list[Segment] | None:
    "A part of a frame as segments; None where the locale cannot say it."
    return _SAY[part[0]](locale, *part[1:])


TAGS = ("ADP", "CCONJ", "NOUN", "NUM", "PROPN", "PUNCT", "SYM", "X")
_WORD = regex.compile(r"\p{N}+|[\p{L}\p{M}\u200c\u200d’'ʻʼ་]+|[^\s\p{C}]")


def _words_in(table: Any) -> set[str]:
    "All words, in lower case, of the texts in a nested table of CLDR."
    if isinstance(table, str):
        return set(_WORD.findall(_plain(table).lower()))
    return set().union(*map(_words_in, table.values())) if hasattr(table, "values") else set()


@functools.cache
def _calendar(locale: Locale) -> set[str]:
    "Words of months and weekdays, in any form but a single letter."
    forms = [*locale.months.values(), *locale.days.values()]
    return set().union(*(_words_in(form[width]) for form in forms for width in ("wide", "abbreviated")))


@functools.cache
def _times(locale: Locale) -> Counter[str]:
    "Words said with a number of years, months, ..., seconds: in how many of these units each occurs."
    data = locale._data  # Babel has no other way to these tables
    units = Counter()
    for unit in SECONDS:
        patterns = data["unit_patterns"].get(f"duration-{unit}", {}).get("long")
        units.update(_words_in(data["date_fields"].get(unit)) | _words_in(patterns))
    return units


@functools.cache
def _glue(locale: Locale) -> set[str]:
    "Words that go with several units of time, that join two units, or that stand inside many currencies' names."
    data = locale._data
    names = [_WORD.findall(n) for forms in data["currency_names_plural"].values() for n in set(forms.values())]
    inside = Counter(w for n in names for w in set(n[1:-1]) if w == w.lower())
    at_an_end = {w for n in names for w in n[:1] + n[-1:]}
    of_units = {w for w, n in _times(locale).items() if n > 1}
    of_currencies = {w for w, n in inside.items() if n >= 20} - at_an_end
    return of_units | of_currencies | _words_in(data["compound_unit_patterns"].get("per", {}).get("long"))


@functools.cache
def _places(locale: Locale) -> set[str | None]:
    "The names of all territories."
    return {_name(locale, "territories", t) for t in locale.territories}


def _date_tag(locale: Locale, word: str, before: str, after: str) -> str:
    "The tag of a word of a date; before and after are the texts around it."
    if after[:1] in (".", "․") or word in _calendar(locale):
        return "NOUN"
    if word in _glue(locale):
        return "ADP"
    if word in _times(locale) or any(name in word for name in _calendar(locale) if len(name) > 2):
        return "NOUN"
    return "X" if before and not before[-1].isspace() else "ADP"


def _tag(locale: Locale, match: regex.Match[str], label: str) -> str:
    "The tag of a word of a segment, as `_WORD` finds it."
    word = match[0].lower()
    if word.isnumeric():
        return "NUM"
    if not regex.search(r"\p{L}", word):
        return "SYM" if regex.match(r"\p{S}", word) else "PUNCT"
    if label == "O":
        return "CCONJ"
    if label in ("LOC", "LANG", "SCR") or (label == "CUR" and match[0] in _places(locale)):
        return "PROPN"
    if label == "DATE":
        return _date_tag(locale, word, match.string[: match.start()], match.string[match.end() :])
    return "ADP" if word in _glue(locale) and label != "TIME" else "NOUN"


@functools.lru_cache(200_000)
def _tags(locale: Locale, segment: str, label: str) -> tuple[str, ...]:
    "A Universal POS tag for each word of a segment."
    return tuple(_tag(locale, match, label) for match in _WORD.finditer(segment))


@dataclass(frozen=True)
class Sentence:
    "One frame said in one locale."

    text: str  # natural text
    words: tuple[str, ...]  # words, numbers and single punctuation marks
    labels: tuple[str, ...]  # a BIO label for each word, of the types in LABELS
    tags: tuple[str, ...]  # a Universal POS tag for each word, of TAGS; read off the frame, not annotated
    offsets: tuple[tuple[int, int], ...]  # where each word lies: text[start:end] == word
    frame: int  # number of the frame among those drawn
    parts: tuple[int, ...]  # which of the frame's parts are said


def frame_segments(locale: Locale, frame: Frame) -> list[tuple[int | None, str, str]]:
    "The segments of a frame in one locale, none for fewer than two parts: number of the part (or None), text, label."
    parts, separator = frame
    said = [(i, segments) for i, part in enumerate(parts) if (segments := part_segments(locale, part))]
    if len(said) < 2:
        return []
    numbered = []
    for i, segments in said:
        numbered += [(None, separator, "O"), *((i, text, label) for text, label in segments)]
    return numbered[1:] + [(None, ".", "O")]


def _bio(label: str, n: int) -> list[str]:
    "Labels of the n words of a segment."
    return ["O"] * n if label == "O" else [f"B-{label}", *[f"I-{label}"] * (n - 1)][:n]


def _sentence(locale: Locale, frame: Frame, number: int) -> Sentence | None:
    "The frame in this locale, or None where it can say fewer than two parts."
    segments = frame_segments(locale, frame)
    if not segments:
        return None
    text, words, labels, tags, offsets = "", [], [], [], []
    for _, segment, label in segments:
        matches = list(_WORD.finditer(segment))
        words += [m[0] for m in matches]
        offsets += [(len(text) + m.start(), len(text) + m.end()) for m in matches]
        labels += _bio(label, len(matches))
        tags += _tags(locale, segment, label)
        text += segment
    said = dict.fromkeys(part for part, *_ in segments if part is not None)
    return Sentence(text, tuple(words), tuple(labels), tuple(tags), tuple(offsets), number, tuple(said))


def sentences(locale: str, n: int, seed: int, held_out: bool = False) -> list[Sentence]:
    """Express `n` frames, the same in every CLDR locale for the same n and seed, in one locale, as far as it can.

    `held_out`: draw from the frames kept for evaluation, which no training text contains. `ValueError` for a locale
    without text.
    """
    at = find_locale(locale)
    return [s for i, frame in enumerate(frames(n, seed, held_out)) if (s := _sentence(at, frame, i))]


def lines(locale: str, n: int, seed: int, held_out: bool = False) -> list[str]:
    "The text of `sentences`."
    at = find_locale(locale)
    said = (frame_segments(at, frame) for frame in frames(n, seed, held_out))
    return ["".join(text for _, text, _ in segments) for segments in said if segments]


def parallel(a: str, b: str, n: int, seed: int, held_out: bool = False) -> list[tuple[Sentence, Sentence]]:
    "`sentences` of two locales, in pairs of the same frame and parts."
    other = {(s.frame, s.parts): s for s in sentences(b, n, seed, held_out)}
    return [(s, other[s.frame, s.parts]) for s in sentences(a, n, seed, held_out) if (s.frame, s.parts) in other]


_WORDS_ONLY = regex.compile(r"[\p{L}\p{M}\u200c\u200d’'ʻʼ་]+")


def dictionary(a: str, b: str, phrases: bool = False) -> list[tuple[str, str]]:
    "Names of territories, languages, scripts, currencies, months and weekdays: sorted pairs of words or `phrases`."
    first, second, names = find_locale(a), find_locale(b), set()
    for table in ("territories", "languages", "scripts", "currencies"):
        names |= {(_name(first, table, k), _name(second, table, k)) for k in getattr(first, table)}
    for table in ("months", "days"):
        x, y, root = (getattr(at, table)["format"]["wide"] for at in (first, second, _ROOT))
        names |= {(x[k], y[k]) for k in x if k in y and root[k] not in (x[k], y[k])}
    pairs = sorted((x.lower(), y.lower()) for x, y in names if x and y)
    return [p for p in dict.fromkeys(pairs) if phrases or all(map(_WORDS_ONLY.fullmatch, p))]


@functools.cache
def locales(least: int = 120) -> pd.DataFrame:  # index locale; columns language, script, ..., source
    "The languages that name so many of the 150 territories and so many languages, and what they cover."
    import pandas as pd

    rows = {}
    for code in sorted(c for c in localedata.locale_identifiers() if "_" not in c):
        at = Locale.parse(code)
        rows[code] = dict(
            language=Locale("en").languages.get(code, code),
            script=script(code),
            territories=sum(_name(at, "territories", t) is not None for t in world()),
            languages=sum(_name(at, "languages", lang) is not None for lang in at.languages),
            currencies=sum(_name(at, "currencies", c) is not None for c in at.currencies),
            source=code in SOURCE_LOCALES,
        )
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("locale")
    return table.loc[(table.territories >= least) & (table.languages >= least)]
