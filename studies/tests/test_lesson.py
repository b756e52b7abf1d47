import pytest

from studies.chapters.embedding_structure import StructureChapter
from studies.chapters.focus import FocusChapter
from studies.chapters.mad_x import MadXChapter
from studies.chapters.unks_everywhere import UnksChapter
from studies.chapters.wechsel import WechselChapter
from tools.chapters import chapter_defaults, chapters


@pytest.mark.parametrize("lesson", [FocusChapter, MadXChapter, StructureChapter, UnksChapter, WechselChapter])
def test_a_lesson_takes_its_notebook_s_parameters_and_what_the_scale_fills_in(lesson):
    given = chapter_defaults(lesson.paper)
    made = lesson.of(given | dict(another="name"))
    assert lesson.paper in chapters() and made.language == given["language"]
    assert given["seeds"] == 0 < made.seeds
