import pytest

from tools.chapters import chapter_defaults, check_parameters
from tools.notebooks import defaults


def test_defaults_are_those_of_the_tagged_cell_and_unknown_names_are_refused():
    lines = 'language = "sw" # a locale\nscale = "mini"\nseed = 0\nsteps:int = 100 # updates'
    known = defaults({"cells": [{"metadata": {"tags": ["parameters"]}, "source": lines}]})
    assert known == dict(language="sw", scale="mini", seed=0, steps=100)
    message = r"chapter demo has no parameter lr, stpes \(did you mean steps\?\); it has language, scale, seed, steps"
    with pytest.raises(ValueError, match=message):
        check_parameters("chapter demo", dict(stpes=1, lr=2), known)


def test_a_chapter_s_defaults_are_those_of_its_notebook():
    assert chapter_defaults("focus")["scale"] == "mini"
    assert list(chapter_defaults("wechsel"))[:2] == ["language", "scale"]
    with pytest.raises(ValueError, match="no chapter 'nowhere'"):
        chapter_defaults("nowhere")
