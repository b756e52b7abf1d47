import pytest

from studies.records.recorded import chapter_of
from tools.chapters import chapter_defaults, check_parameters, study_runs
from tools.make_records import run_study, study_jobs


def test_the_study_is_of_chapters_of_the_book_with_parameters_that_these_have():
    for name, runs in study_runs().items():
        chapter, first = chapter_of(name), next(iter(runs.values()))
        assert first["seeds"] >= (5 if name == chapter else 1)
        for parameters in runs.values():
            check_parameters(chapter, parameters, chapter_defaults(chapter))
    assert len(study_jobs()) == sum(map(len, study_runs().values()))
    assert list(study_jobs(["wechsel"])) == [f"wechsel ({language})" for language in study_runs()["wechsel"]]
    with pytest.raises(ValueError, match="the study has no chapter 'fokus'; choose from wechsel"):
        run_study(["fokus"])
