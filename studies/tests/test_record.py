"""The tables of the trials: what is written, in whose place, and what a second call measures."""

import csv
import importlib

import pytest
from typer.testing import CliRunner

import vocab_lit
from studies.__main__ import TRIALS, app
from studies.records.record import STAMP, Record
from vocab_lit.runs.grid import environment

TABLE = Record("some.csv", ("model", "seed"), ("model", "seed", "loss"))


def losses(path):
    return [(row["model"], row["seed"], row["loss"]) for row in TABLE.rows(path)]


def test_rows_take_the_place_of_those_of_the_same_key_with_a_stamp(tmp_path):
    path = tmp_path / "below" / "some.csv"
    path.parent.mkdir()
    path.write_text("model,seed,loss\na,0,1.50\nb,0,2\nb,1,3\n", encoding="utf-8")
    TABLE.write([dict(model="b", seed=0, loss=2.5), dict(model="c", seed=0, loss=None)], path)
    assert losses(path) == [("a", "0", "1.50"), ("b", "0", "2.5"), ("b", "1", "3"), ("c", "0", "")]
    stamps = [[row[name] for name in STAMP] for row in TABLE.rows(path)]
    assert stamps[0] == stamps[2] == ["", "", ""] and stamps[1] == stamps[3]
    assert stamps[1][1:] == [environment()["device"], vocab_lit.__version__]
    assert list(TABLE.frame(path)) == ["model", "seed", "loss"]
    with pytest.raises(ValueError, match="fields not in fieldnames"):
        TABLE.write([dict(model="d", seed=0, los=1)], path)
    before = path.read_bytes()
    TABLE.write([], path)
    TABLE.write([dict(model="a", seed=0, loss="1.50")], path)  # is there: it keeps its stamp, which is none
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_a_sorted_table_is_sorted_by_its_key_and_one_without_a_key_is_replaced(tmp_path):
    in_order = Record("some.csv", ("model",), is_sorted=True)
    for model in "bac":
        in_order.write([dict(model=model, part=part) for part in range(2)], tmp_path / "sorted.csv")
    in_order.write([dict(model="b", part=7)], tmp_path / "sorted.csv")
    assert [row["part"] for row in in_order.rows(tmp_path / "sorted.csv")] == ["0", "1", "7", "0", "1"]
    whole = Record("some.csv", ())
    for n in (3, 1):
        whole.write([dict(part=part) for part in range(n)], tmp_path / "whole.csv")
    assert [row["part"] for row in whole.rows(tmp_path / "whole.csv")] == ["0"]


def test_a_trial_that_is_stopped_resumes_with_what_its_table_lacks(tmp_path):
    path, measured = tmp_path / "some.csv", []

    def measure(case):
        if case["seed"] == 2 and len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(case["seed"])
        return dict(loss=case["seed"] / 2)

    cases = [dict(model="a", seed=seed) for seed in range(4)]
    with pytest.raises(KeyboardInterrupt):
        TABLE.measure(cases, measure, path)
    assert losses(path) == [("a", "0", "0.0"), ("a", "1", "0.5")]
    measured.append("resumed")
    TABLE.measure(cases, measure, path)
    assert measured == [0, 1, "resumed", 2, 3] and TABLE.has(dict(model="a", seed=3), path)
    TABLE.measure(cases[:1], measure, path, again=True)
    assert measured[-1] == 0 and len(losses(path)) == 4


def bundled_tables():
    "The tables of all trials that the package has, by file."
    modules = [importlib.import_module(name) for name in [*TRIALS.values(), "studies.trials.speedrun"]]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Record)]
    return {table.file: table for table in found}


def test_bundled_tables_have_the_layout_that_their_trials_write(tmp_path):
    tables = bundled_tables()
    assert len(tables) == 16
    for table in tables.values():
        bundled, copy = table.path().read_bytes(), tmp_path / table.path().name
        rows = table.rows()
        copy.write_bytes(bundled)
        of_one = [row for row in rows if all(row[name] == rows[-1][name] for name in table.key)]
        table.write(of_one, copy)
        assert copy.read_bytes() == bundled, table.file
        header = next(csv.reader(bundled.decode().splitlines()))
        assert not table.columns or [name for name in header if name not in set(STAMP) - set(table.columns)] == [
            *table.columns
        ]


def test_every_trial_has_help_with_an_example():
    shown = CliRunner().invoke(app, ["trial", "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0 and all(name in shown.output for name in TRIALS)
    for name in TRIALS:
        one = CliRunner().invoke(app, ["trial", name, "--help"], env={"COLUMNS": "200"})
        assert one.exit_code == 0 and f"python -m studies trial {name} " in one.output, name
    unknown = CliRunner().invoke(app, ["trial", "strats"])
    assert unknown.exit_code == 2 and "strats" in unknown.stderr


def test_a_write_that_fails_leaves_the_table_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "some.csv"
    TABLE.write([dict(model="a", seed=0, loss=1)], path)
    before = path.read_bytes()

    def full(part, content):
        part.touch()
        raise OSError("no space left")

    monkeypatch.setattr(type(path), "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        TABLE.write([dict(model="a", seed=1, loss=2)], path)
    assert path.read_bytes() == before
