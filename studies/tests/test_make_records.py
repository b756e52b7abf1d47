from collections import Counter

import pytest

from studies.papers.store import Cell, CellStore
from studies.records import recorded
from studies.records.recorded import SCALE, chapter_of, is_declared, study_rows
from tools import make_records
from tools.chapters import chapter_defaults, check_parameters, study_runs
from tools.make_records import declared_cells, run_study, study_jobs


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


@pytest.fixture(scope="module")
def rows_by_name():
    rows = study_rows()
    return dict(list(rows.groupby(rows.chapter + rows.scale.str.removeprefix(SCALE))))


def test_every_row_of_the_study_has_a_cell_and_none_without_the_cells_of_its_kind(rows_by_name):
    assert set(rows_by_name) == set(study_runs())
    for name, rows in rows_by_name.items():
        cells = declared_cells(name)
        declared = is_declared(rows, cells)
        lost = Counter(rows.what[[not one for one in declared]])
        assert not lost, (name, lost)
        for kind in set(rows.what):
            others = is_declared(rows, [cell for cell in cells if cell.key["what"] != kind])
            assert others == list(rows.what != kind), (name, kind)


def test_a_row_of_another_seed_language_or_method_has_no_cell(rows_by_name):
    cells = declared_cells("wechsel")
    rows = rows_by_name["wechsel"].query("what == 'course' and metric == 'ner' and method == 'TFR of fastText'")
    assert len(rows) and all(is_declared(rows, cells))
    for column, value in dict(seed=5, language="fi", method="TFR", lines="250", model="gpt3").items():
        assert not any(is_declared(rows.assign(**{column: value}), cells)), column


@pytest.fixture
def small_study(tmp_path, monkeypatch):
    "A study of a chapter in two languages, whose table also has rows of an earlier library."
    path, cells = tmp_path / "study.csv.gz", {code: {"what": "loss", "language": code} for code in ("sw", "et")}
    monkeypatch.setattr(recorded, "study_path", lambda: path)
    for name, value in dict(
        checkout=lambda: tmp_path,
        study_runs=lambda root=None: {"focus": {code: {} for code in cells}},
        declared_cells=lambda name: [Cell(key, dict) for key in cells.values()],
        share_cores=lambda: 1,
    ).items():
        monkeypatch.setattr(make_records, name, value)
    earlier = CellStore(tmp_path / "earlier" / "focus")
    for key in (*cells.values(), {"what": "exercise", "language": "sw"}):
        earlier.cell(key, lambda: {"loss": 1.0})
    recorded.gather(tmp_path / "earlier")
    study_rows().assign(library="older", date="2020-01-01").to_csv(path, index=False)
    return cells


def run_with(monkeypatch, cells, fails):  # each chapter measures 2.0, or fails
    def run_chapter(name, language, parameters, **more):
        if language in fails:
            raise RuntimeError(f"{language} was interrupted")
        CellStore(parameters["records"]).cell(cells[language], lambda: {"loss": 2.0})

    monkeypatch.setattr(make_records, "run_chapter", run_chapter)


def test_rows_are_replaced_when_their_successors_are_there_and_go_when_a_whole_run_makes_none(small_study, monkeypatch):
    before = study_rows()
    run_with(monkeypatch, small_study, fails=["sw", "et"])
    with pytest.raises(RuntimeError, match="was interrupted"):
        run_study(["focus"])
    assert study_rows().equals(before) and len(before) == 3
    run_with(monkeypatch, small_study, fails=["et"])
    with pytest.raises(RuntimeError, match="et was interrupted"):
        run_study(["focus"])
    values = study_rows().set_index(["what", "language"]).value.to_dict()
    assert values == {("loss", "sw"): 2.0, ("loss", "et"): 1.0, ("exercise", "sw"): 1.0}
    run_with(monkeypatch, small_study, fails=[])
    run_study(["focus"])
    assert study_rows().set_index(["what", "language"]).value.to_dict() == {("loss", "sw"): 2.0, ("loss", "et"): 2.0}
    assert "2020-01-01" not in set(study_rows().date)
