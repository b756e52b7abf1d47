"""Labels are never empty boxes: with the fonts of the packages, and spelled in Latin letters without."""

import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

import studies.figures.labels as labels
from studies.figures.labels import has_glyphs, label, romanise
from studies.figures.style import plt, use_style


def test_packages_of_fonts_have_the_scripts_of_the_book(script_words, plain_fonts):
    words, spelled, hints = script_words.words, plain_fonts.spelled, plain_fonts.hints
    fonts_of_matplotlib = plain_fonts.fonts_of_matplotlib
    assert all(has_glyphs(word) and label(word) == word for word in words.values())
    assert Path(labels._fonts()["Noto Sans Ethiopic"]).is_file()
    assert spelled == {
        name: word if has_glyphs(word) and name in ("Latin", "Arabic") else romanise(word)
        for name, word in words.items()
    }
    assert ["Ethiopic characters" in str(hint.message) for hint in hints].count(True) == 1
    with fonts_of_matplotlib():
        assert not has_glyphs("ሰላም")
    assert has_glyphs("ሰላም")


def test_a_text_without_a_font_is_spelled_in_latin_letters_with_one_hint():
    assert (
        romanise("ሰላም") == "salaame"
        and romanise("שלום") == "shlvm"
        and romanise("한") == "han"
        and romanise("x, 3") == "x, 3"
        and romanise("२") == "2"
    )
    assert has_glyphs("Ŋaari 3,5") and label("Ŋaari") == "Ŋaari"
    unassigned = "\U000e0fff"  # no font has it
    assert not has_glyphs(unassigned)
    with pytest.warns(UserWarning, match="no font here has .* characters.*pip install"):
        assert unassigned not in label("a" + unassigned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert label(unassigned + "b") == "[E0FFF]b"  # the hint is given once


def test_nothing_drawn_is_an_empty_box_with_fonts_and_without(script_words, plain_fonts):
    words, fonts_of_matplotlib = script_words.words, plain_fonts.fonts_of_matplotlib
    for fonts in (nullcontext(), fonts_of_matplotlib()):
        use_style()
        with fonts, warnings.catch_warnings():
            warnings.filterwarnings("error", message="Glyph .* missing")
            warnings.filterwarnings("ignore", message="no font here")
            drawn = " ".join(label(w) for w in words.values())
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
