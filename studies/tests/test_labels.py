"""Labels are never empty boxes: with the fonts of the packages, and spelled in Latin letters without."""

import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

import studies.figures.labels as labels
from studies.figures.labels import label, romanise
from studies.figures.style import plt, use_style

WORDS = {
    "Latin": "Ŋaari",
    "Arabic": "سلام",
    "Ethiopic": "ሰላም",
    "Devanagari": "हिन्दी",
    "Khmer": "ភាសាខ្មែរ",
    "Han": "语言",
}


def has_glyphs(text):  # whether there is a font for every character
    return all(labels._family(c) for c in text if not c.isspace())


def test_packages_of_fonts_have_the_scripts_of_the_book(fonts_of_matplotlib):
    assert all(has_glyphs(word) and label(word) == word for word in WORDS.values())
    assert Path(labels._fonts()["Noto Sans Ethiopic"]).is_file()
    with fonts_of_matplotlib(), warnings.catch_warnings(record=True, action="always") as hints:
        spelled = {name: label(word) for name, word in WORDS.items()}
        assert not has_glyphs("ሰላም")
    assert spelled == {name: word if name in ("Latin", "Arabic") else romanise(word) for name, word in WORDS.items()}
    assert ["Ethiopic characters" in str(hint.message) for hint in hints].count(True) == 1
    assert has_glyphs("ሰላም")


def test_a_text_without_a_font_is_spelled_in_latin_letters_with_one_hint():
    spelled = {"ሰላም": "salaame", "שלום": "shlvm", "한": "han", "x, 3": "x, 3", "२": "2"}
    assert {text: romanise(text) for text in spelled} == spelled
    assert has_glyphs("Ŋaari 3,5") and label("Ŋaari") == "Ŋaari"
    unassigned = "\U000e0fff"  # no font has it
    labels._hint.cache_clear()
    assert not has_glyphs(unassigned)
    with pytest.warns(UserWarning, match="no font here has .* characters.*pip install"):
        assert unassigned not in label("a" + unassigned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert label(unassigned + "b") == "[E0FFF]b"  # the hint is given once


def test_nothing_drawn_is_an_empty_box_with_fonts_and_without(fonts_of_matplotlib):
    for fonts in (nullcontext(), fonts_of_matplotlib()):
        use_style()
        with fonts, warnings.catch_warnings():
            warnings.filterwarnings("error", message="Glyph .* missing")
            warnings.filterwarnings("ignore", message="no font here")
            drawn = " ".join(label(w) for w in WORDS.values())
            fig, ax = plt.subplots()
            ax.set_title(drawn)
            fig.canvas.draw()
        plt.close(fig)
    use_style()
    fig, ax = plt.subplots()
    ax.set_title("ሰላም")  # without `label`
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        fig.canvas.draw()
    plt.close(fig)
