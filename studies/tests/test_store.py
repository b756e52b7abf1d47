"Tests of the folder of records that chapters compute their cells in."

import os
import shutil
from functools import partial

import pytest

from studies.papers.store import Cell, CellStore, beside_book, cell_stamp, with_needs
from vocab_lit.runs.grid import Workers, fingerprint


def _squares(count):
    return [Cell(dict(what="side by side", n=n), partial(_square, n)) for n in range(count)]


def _square(n):
    return {"process": os.getpid(), "square": n * n}


class _Unseen(Workers):
    "Processes whose new files do not show here yet."

    def run(self, calls, folder):
        for call in calls:
            record = call()
            for file in folder.glob("*.json"):
                file.unlink()
            yield record


def test_cells_in_parallel_are_complete_and_a_failure_is_not_lost(tmp_path):
    shared = CellStore(tmp_path, Workers(2))
    shared.cells(_squares(6), "v1")
    side = shared.frame("v1").pivot(index="n", columns="metric", values="value")
    assert side.square.tolist() == [n * n for n in range(6)] and os.getpid() not in set(side.process)
    shared.cells([Cell(cell.key, lambda: 1 / 0) for cell in _squares(6)], "v1")  # nothing is computed
    with pytest.raises(ZeroDivisionError):
        shared.cells([Cell(dict(what="broken", n=n), lambda n=n: {"x": 1 / n}) for n in range(2)], "v1")


def test_a_record_that_does_not_show_yet_is_written_again(tmp_path):
    late = CellStore(tmp_path, _Unseen())
    late.cells([Cell(dict(what="late"), lambda: {"x": 3.0})], "v1")
    assert late.read(dict(what="late"), "v1")["values"] == [{"metric": "x", "value": 3.0}]


def test_what_a_cell_needs_is_computed_before_it_and_again_where_gone(tmp_path):
    made, chain = [], CellStore(tmp_path / "chain", Workers(1))
    adapter = chain.folder / "adapter"

    def train():
        made.append("trained")
        adapter.mkdir()
        return {"loss": 1.0}

    trained = Cell({"what": "adapter"}, train, ("training",), leaves=adapter)
    scores = [Cell({"seed": n}, partial(dict, score=n), ("fine-tuning",), (trained,)) for n in range(2)]
    chain.cells(scores[:1])
    assert made == ["trained"] and len(chain.frame()) == 2
    shutil.rmtree(adapter)
    chain.cells(scores[:1])
    assert made == ["trained"]  # the record is there
    chain.cells(scores)
    assert made == ["trained"] * 2 and adapter.is_dir()
    assert [cell.trains for cell in with_needs(scores)] == [("training",), ("fine-tuning",), ("fine-tuning",)]


def test_a_table_has_the_records_of_a_fingerprint(tmp_path):
    kept = CellStore(tmp_path / "study")
    for stamp in ("old", "new"):
        kept.cell({"language": stamp}, lambda: {"loss": 1.0}, stamp)
    assert len(kept.frame()) == 2 and list(kept.frame("new").language) == ["new"]
    assert cell_stamp("x") == cell_stamp("x") != cell_stamp("y") and cell_stamp("x").startswith(fingerprint() + "-")


def test_a_broken_record_is_not_in_the_table(tmp_path):
    store = CellStore(tmp_path)
    for broken in ("", '{"key":', "null", '{"key": {}}', "\x00\x00"):
        store.path({"seed": 0}).write_text(broken)
        assert store.frame().empty


def test_a_notebook_s_folder_is_the_same_in_the_book_and_in_the_checkout(tmp_path, monkeypatch):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "chapters.yml").touch()
    for here in (tmp_path, tmp_path / "book"):
        monkeypatch.chdir(here)
        assert beside_book("../_build/study").resolve() == tmp_path / "_build" / "study"
        assert beside_book(tmp_path / "mine") == tmp_path / "mine"
