import pytest

from studies.focus_chapter import FocusChapter
from studies.mad_x_chapter import MadXChapter
from studies.structure_chapter import StructureChapter
from studies.unks_chapter import UnksChapter
from studies.wechsel_chapter import WechselChapter
from tools.chapters import chapter_defaults, chapters


@pytest.mark.parametrize("lesson", [FocusChapter, MadXChapter, StructureChapter, UnksChapter, WechselChapter])
def test_a_lesson_takes_its_notebook_s_parameters_and_what_the_scale_fills_in(lesson):
    given = chapter_defaults(lesson.paper)
    made = lesson.of(given | dict(another="name"))
    assert lesson.paper in chapters() and made.language == given["language"]
    assert given["seeds"] == 0 < made.seeds
