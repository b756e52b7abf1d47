"""Labels in any script: with the fonts that a text needs, or spelled in Latin letters."""

from __future__ import annotations

import unicodedata
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import regex
from fontTools import unicodedata as ucd
from fontTools.ttLib import TTFont

from studies.figures.style import SANS, LazyExtra, plt

font_manager = LazyExtra("matplotlib.font_manager", "chapters")


@cache
def _characters(path):  # of a font file
    with TTFont(path, fontNumber=0, lazy=True) as font:
        return frozenset(font.getBestCmap() or ())


FONT_PACKAGES = ("manimgx_fonts", "pylopdf_fonts_zh_cn")  # Noto Sans for many scripts, and for Chinese


def _packaged_fonts() -> list[Path]:  # font files
    "The fonts that packages bring."
    specs = [spec for name in FONT_PACKAGES if (spec := find_spec(name))]
    folders = [Path(folder) for spec in specs for folder in spec.submodule_search_locations or ()]
    return [file for folder in folders for file in sorted(folder.glob("NotoSans*.[ot]tf"))]


@cache
def _fonts() -> dict[str, str]:  # {family: file} of upright, regular fonts
    for file in _packaged_fonts():
        font_manager.fontManager.addfont(file)
    fonts = sorted(font_manager.fontManager.ttflist, key=lambda f: f.fname)
    return {
        f.name: f.fname
        for f in fonts
        if f.style == "normal" and f.weight in (400, "normal", "regular") and f.stretch == "normal"
    }


@cache
def _family(char: str) -> str | None:  # an installed family that has the character, matplotlib's own first
    script = ucd.script_name(ucd.script(char)).replace("_", " ")
    families = [f for f in _fonts() if f == SANS or f.startswith("Noto ")]
    families.sort(
        key=lambda f: (f != SANS, f != f"Noto Sans {script}", script not in f, "CJK" not in f, "Sans" not in f, f)
    )
    return next((f for f in families if ord(char) in _characters(_fonts()[f])), None)


_ABJAD = ("Arab", "Hebr", "Syrc", "Samr")  # letters there are called alef, beh, ...: their beginnings are their sounds


def romanise(text: str) -> str:
    "Spell a text in Latin letters by the Unicode names of its characters; rough, but never an empty box."
    out = []
    for c in text:
        name, sound = unicodedata.name(c, f"U+{ord(c):04X}"), ""
        if m := regex.fullmatch(r"(?:CJK UNIFIED IDEOGRAPH-|U\+)(.*)", name):
            sound = f"[{m[1]}]"
        elif c.isdecimal():
            sound = str(unicodedata.decimal(c))
        elif ord(c) < 0x250 or unicodedata.category(c)[0] in "PSZ":
            sound = c if ord(c) in _characters(_fonts()[SANS]) else ""
        elif m := regex.search(r"(?:LETTER|SYLLABLE|VOWEL SIGN)(?: SMALL| CAPITAL| FINAL)* (.*)", name):
            sound = m[1].lower().split()[-1]
        if ucd.script(c) in _ABJAD and len(sound) > 1:
            sound = regex.findall(r"sh|th|kh|dh|gh|ts|.", sound)[0]
        if out and regex.search(r"VOWEL SIGN|VIRAMA|COENG", name):
            out[-1] = regex.sub(r"(?<=.)[ao]$", "", out[-1])  # replaces the inherent vowel
        out.append(sound)
    return "".join(out)


@cache
def _hint(script):  # once per script
    warnings.warn(
        f"no font here has {script} characters, so labels are spelled in Latin letters; "
        f"`pip install 'vocab_lit[chapters]'` brings fonts for most scripts",
        stacklevel=4,
    )


def label(text: str) -> str:  # the text, or its Latin spelling
    "A text that can be drawn on axes made afterwards: with the fonts that it needs, or spelled in Latin letters."
    families = {c: _family(c) for c in text if not c.isspace()}
    for c, family in families.items():
        if not family:
            _hint(ucd.script_name(ucd.script(c)))
            return romanise(text)
    plt.rcParams["font.family"] = list(dict.fromkeys([*plt.rcParams["font.family"], *families.values()]))
    return text
