import pytest

from tools.chapters import chapter_defaults, set_parameters


def tiny_chapter():
    lines = 'language = "sw" # a locale\nscale = "mini"\nseed = 0\nsteps:int = 100 # updates'
    return {"cells": [{"metadata": {"tags": ["parameters"]}, "source": lines}]}


def test_values_go_into_the_author_s_lines_and_unknown_names_are_refused():
    tiny = tiny_chapter()
    set_parameters(tiny, "chapter demo", language="ti", steps=5)
    assert tiny["cells"][0]["source"] == (
        "language = 'ti' # a locale\nscale = \"mini\"\nseed = 0\nsteps:int = 5 # updates"
    )
    with pytest.raises(
        ValueError,
        match=r"chapter demo has no parameter lr, stpes \(did you mean steps\?\); it has language, scale, seed, steps",
    ):
        set_parameters(tiny, "chapter demo", stpes=1, lr=2)
    with pytest.raises(ValueError, match="no cell is tagged 'parameters'"):
        set_parameters({"cells": []}, "demo")


def test_a_chapter_s_defaults_are_those_of_its_notebook():
    assert chapter_defaults("focus")["scale"] == "mini"
    assert list(chapter_defaults("wechsel"))[:2] == ["language", "scale"]
    with pytest.raises(ValueError, match="no chapter 'nowhere'"):
        chapter_defaults("nowhere")
