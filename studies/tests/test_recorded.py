import gzip
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from studies.papers.claims import read_records
from studies.papers.store import Cell, CellStore
from studies.records.recorded import (
    CELL,
    FAR,
    beside_study,
    fresh_rows,
    gather,
    is_declared,
    keep_declared,
    keep_pages,
    lay_out,
    measured_anew,
    outside,
    spread,
    spread_plot,
    study_rows,
    told_spread,
    with_study,
)
from vocab_lit.runs.grid import fingerprint


@pytest.fixture(scope="module")
def toy_cells():
    def cells_of(values, method="focus", metric="loss"):  # a cell with a value for each seed
        keys = dict.fromkeys(CELL, "") | dict(
            chapter="focus", method=method, metric=metric, language="sw", scale="mini"
        )
        return pd.DataFrame([keys | dict(stage="", seed=i, value=v) for i, v in enumerate(values)])

    return SimpleNamespace(
        cells_of=cells_of,
    )


def test_a_table_keeps_what_is_not_measured_anew_until_no_cell_declares_it():
    def measured(value):
        return lambda: [{"metric": "loss", "value": value, "step": 10}, {"metric": "seconds", "value": 3.0}]

    with tempfile.TemporaryDirectory() as tmp:
        folder, path = Path(tmp, "records"), Path(tmp, "study.csv.gz")
        assert study_rows(path=path).empty
        CellStore(folder / "focus").cell({"method": "focus", "language": "sw", "seed": 0}, measured(5.25))
        first = gather(folder, path)
        assert first[["chapter", "method", "language", "metric", "value", "step"]].values.tolist() == [
            ["focus", "focus", "sw", "loss", 5.25, "10"]
        ]
        assert set(first.library) == {fingerprint()}

        CellStore(folder / "wechsel").cell({"method": "random", "language": "sw", "seed": 0}, measured(7.5))
        for record in (folder / "focus").glob("*.json"):
            record.unlink()
        CellStore(folder / "focus").cell({"method": "focus", "language": "et", "seed": 1}, measured(6.0))
        gather(folder, path)
        again = study_rows(path=path)
        assert again[["chapter", "language", "seed", "value"]].values.tolist() == [
            ["focus", "sw", 0, 5.25],  # which nobody has measured anew
            ["focus", "et", 1, 6.0],
            ["wechsel", "sw", 0, 7.5],
        ]
        pd.testing.assert_frame_equal(
            study_rows("wechsel", path), again[again.chapter == "wechsel"].reset_index(drop=True)
        )

        mine = fresh_rows(folder / "wechsel")
        assert with_study(mine, path).scale.tolist() == ["mini", "recorded", "recorded", "recorded"]
        assert list(with_study(mine, path)) == list(mine)
        nothing = read_records(folder / "no such folder")
        assert with_study(nothing, path).value.dtype == float

        trial = folder / "focus, 9 steps"
        CellStore(trial).cell({"method": "focus", "language": "et", "seed": 1}, measured(4.0))
        gather(folder, path)
        tried = with_study(mine, path)
        assert tried[tried.chapter == "focus"][["scale", "value"]].values.tolist() == [
            ["recorded", 5.25],
            ["recorded", 6.0],
            ["recorded, 9 steps", 4.0],
        ]
        estonian = Cell({"method": "focus", "language": "et", "seed": 1}, dict)
        keep_declared({"focus": [estonian], trial.name: [estonian]}, path)
        assert sorted(study_rows(path=path).value) == [4.0, 6.0, 7.5]
        keep_declared({trial.name: []}, path)
        assert sorted(study_rows(path=path).value) == [6.0, 7.5]


def test_all_steps_and_metrics_of_a_seed_are_replaced_together(tmp_path):
    def measured(*steps):
        return lambda: [{"metric": "loss", "value": 9.0 - step, "step": step} for step in steps]

    path, key = tmp_path / "study.csv.gz", {"what": "course", "method": "focus", "language": "sw"}
    CellStore(tmp_path / "first" / "wechsel").cell(key, measured(0, 1, 2, 3))
    CellStore(tmp_path / "first" / "wechsel").cell(key | {"language": "et"}, measured(0, 1))
    gather(tmp_path / "first", path)
    CellStore(tmp_path / "second" / "wechsel").cell(key, lambda: [{"metric": "best loss", "value": 1.0}])
    gather(tmp_path / "second", path)
    found = study_rows(path=path)[["language", "metric", "value"]].values.tolist()
    assert found == [["et", "loss", 9.0], ["et", "loss", 8.0], ["sw", "best loss", 1.0]]


def test_a_row_is_declared_by_one_of_a_cells_methods_languages_and_seeds(toy_cells):
    rows = toy_cells.cells_of([1.0, 2.0, 3.0]).assign(what="transfer")
    key = {"what": "transfer", "methods": "random + focus", "targets": "et sw"}
    assert is_declared(rows, [Cell(key | {"seed": 1}, dict)]) == [False, True, False]
    assert is_declared(rows, [Cell(key | {"seeds": 2}, dict)]) == [True, True, False]
    assert is_declared(rows, [Cell(key | {"seed": seed}, dict) for seed in (0, 2)]) == [True, False, True]
    for other in ({"targets": "et"}, {"methods": "random"}, {"what": "scores"}, {"kind": "adapter"}):
        assert not any(is_declared(rows, [Cell(key | {"seeds": 9} | other, dict)])), other
    group = rows.assign(what="scores", setting="et+sw")
    assert all(is_declared(group, [Cell({"what": "scores", "setting": "et+sw", "method": "focus", "seeds": 3}, dict)]))


def test_records_of_pages_are_taken_over_for_the_present_library_but_for_one_in_so_many():
    page_stamp, page_keys = (
        f"{fingerprint()}-0123456789abcdef",
        [{"method": "focus", "seed": seed} for seed in range(64)],
    )
    with tempfile.TemporaryDirectory() as tmp:
        first, second, path = Path(tmp, "first"), Path(tmp, "second"), Path(tmp, "pages.jsonl.gz")
        measured_first = CellStore(first / "focus")
        for key in page_keys:
            measured_first.cell(key, lambda: {"loss": 5.0, "seconds": 1.0}, page_stamp)
        (first / "focus" / "torn.json").write_text("{")
        assert keep_pages(first, path) == 64
        older = gzip.decompress(path.read_bytes()).replace(fingerprint().encode(), b"an older library")
        path.write_bytes(gzip.compress(older))

        lay_out(second, path, anew=8)
        laid = CellStore(second / "focus")
        missing = [key for key in page_keys if not laid.read(key, page_stamp)]
        assert 1 <= len(missing) <= 20
        taken = [laid.read(key, page_stamp) for key in page_keys if key not in missing]
        assert {(record["library"], record["measured_by"]) for record in taken} == {(fingerprint(), "an older library")}
        laid.cell(missing[0], lambda: {"loss": 5.001, "seconds": 9.0}, page_stamp)
        counts = {"taken over": len(taken), "measured": 1, "kept": 1, "agree": 1}
        assert measured_anew(second / "focus", path) == counts
        laid.path(missing[0]).unlink()
        laid.cell(missing[0], lambda: {"loss": 6.0}, page_stamp)
        assert measured_anew(second / "focus", path) == counts | {"agree": 0}

        lay_out(second, path, anew=1)  # what was measured here stays
        assert laid.frame().value.tolist() == [6.0]
        lay_out(second, path, anew=8)
        assert keep_pages(second, path) == len(taken) + 1
        with gzip.open(path, "rt") as lines:
            assert {json.loads(line)["library"] for line in lines} == {fingerprint(), "an older library"}


def test_the_interval_of_one_cell_alone_is_that_of_prediction_in_closed_form(toy_cells):
    cells_of = toy_cells.cells_of
    values = [5.0, 5.2, 5.1, 4.9, 5.3]
    cell = spread(cells_of(values)).iloc[0]
    assert (cell["mean"], cell.n) == (pytest.approx(5.1), 5)
    assert cell["std"] == pytest.approx(np.std(values, ddof=1))
    assert cell.interval == pytest.approx(2.306 * np.std(values, ddof=1) * np.sqrt(6 / 5), rel=1e-3)  # t of 8 degrees


def test_at_most_one_in_twenty_draws_lies_outside_the_interval(toy_cells):
    cells_of = toy_cells.cells_of
    rng = np.random.default_rng(0)
    drawn = rng.normal(3.0, 0.1, (400, 6))
    study = pd.concat([cells_of(row[:5], f"method {i}") for i, row in enumerate(drawn)])
    fresh = pd.concat([cells_of(row[5:], f"method {i}") for i, row in enumerate(drawn)])
    both = beside_study(fresh, study)
    assert len(both) == 400
    assert 0.01 < (both.distance > 1).mean() < 0.05  # fewer, since the shared part rests on all 400 cells
    assert both.distance.max() < FAR
    assert len(outside(both)) == (both.distance > 1).sum()
    assert str((both.distance > 1).sum()) in told_spread(both)


def test_what_no_seed_explains_is_refused_and_numbers_that_the_study_has_not_are_not_judged(toy_cells):
    cells_of = toy_cells.cells_of
    study = pd.concat([cells_of([5.0, 5.2, 5.1, 4.9, 5.3]), cells_of([60.0, 62.0, 61.0, 60.5, 61.5], metric="f1")])
    with pytest.raises(ValueError, match=r"focus sw loss: 9 was measured and 5\.1 recorded"):
        outside(beside_study(cells_of([9.0]), study))
    assert outside(beside_study(cells_of([5.15]), study)).empty
    assert outside(beside_study(cells_of([66.0], metric="f1"), study)).measured.tolist() == [66.0]
    other = beside_study(cells_of([9.0], method="random"), study)
    assert other.empty
    assert told_spread(other) == "The recorded study has none of the numbers measured here."
    assert outside(other).empty
    assert spread(cells_of([5.0, 5.1])).empty  # two seeds say nothing about how far a third is


def test_a_number_without_any_spread_is_allowed_what_sums_in_another_order_change(toy_cells):
    cells_of = toy_cells.cells_of
    study = cells_of([2.0, 2.0, 2.0, 2.0, 2.0])
    assert outside(beside_study(cells_of([2.0001]), study)).empty
    with pytest.raises(ValueError, match="times as far"):
        outside(beside_study(cells_of([2.1]), study))


def test_durations_are_never_compared_with_records(toy_cells):
    cells_of = toy_cells.cells_of
    for metric in ("training", "making", "seconds", "CPU seconds", "CPU seconds of training"):
        study, slower = cells_of([2.8, 2.9, 2.7, 2.8, 2.8], metric=metric), cells_of([7.0], metric=metric)
        assert outside(beside_study(slower, study)).empty
        assert beside_study(slower, study).empty
    rest = beside_study(pd.concat([slower, cells_of([5.0])]), cells_of([5.0, 5.2, 5.1, 4.9, 5.3]))
    assert rest.metric.tolist() == ["loss"]


def test_the_figure_says_what_its_sentence_says_and_has_a_panel_for_each_task_and_metric(toy_cells):
    cells_of = toy_cells.cells_of
    several = [cells_of([5.0, 5.2, 5.1, 4.9, 5.3]), cells_of([60.0, 62.0, 61.0, 60.5, 61.5], metric="f1")]
    drawn = beside_study(pd.concat([cells_of([5.15]), cells_of([66.0], metric="f1")]), pd.concat(several))
    figure = spread_plot(drawn)
    assert [ax.get_title() for ax in figure.axes] == ["loss", "f1"]
    assert "1 lie within its spread and 1 outside" in figure.alt


def test_a_stale_record_counts_nowhere_and_gives_way_to_the_kept_one():
    with tempfile.TemporaryDirectory() as tmp:
        folder, path, nothing = Path(tmp, "records"), Path(tmp, "pages.jsonl.gz"), Path(tmp, "none.jsonl.gz")
        key = {"method": "focus", "language": "sw", "seed": 0}
        record = CellStore(folder / "focus").cell(key, lambda: {"loss": 5.0}, f"{fingerprint()}-0123456789abcdef")
        assert keep_pages(folder, path) == 1
        (file,) = (folder / "focus").glob("*.json")
        older = dict(record, library="older", fingerprint="older-0123456789abcdef")
        file.write_text(json.dumps(older | dict(values=[{"metric": "loss", "value": 9.0}])))
        assert fresh_rows(folder / "focus").empty
        assert set(measured_anew(folder / "focus", path).values()) == {0}
        assert keep_pages(folder, nothing) == 0
        lay_out(folder, path, anew=10**9)
        assert fresh_rows(folder / "focus").value.tolist() == [5.0]
        assert measured_anew(folder / "focus", path)["taken over"] == 1
        file.write_text(json.dumps(json.loads(file.read_text()) | dict(values=[{"metric": "loss", "value": 9.0}])))
        lay_out(folder, path, anew=10**9)
        assert fresh_rows(folder / "focus").value.tolist() == [9.0]  # of the present library: it stays
