"""Records keep their numbers and get today's fingerprints, where a sample computed anew agrees."""

import gzip
import json

import pytest

import tools.refingerprint as module
from studies.papers.store import CellStore
from studies.records.recorded import kept_records
from tools.refingerprint import Anew, drawn, kind_of, refingerprint, rows
from vocab_lit.runs.grid import fingerprint


@pytest.fixture
def kept(tmp_path):
    "Records of two kinds that a chapter has left, with an old fingerprint."
    store, found = CellStore(tmp_path / "old" / "focus"), {}
    for what, value in (("loss", 1.0), ("loss", 2.0), ("overlap", 3.0)):
        key = dict(what=what, seed=int(value))
        record = store.cell(key, lambda value=value: {"n": value}, "old") | dict(library="then")
        name = store.path(key).name
        found["focus", name] = dict(record, chapter="focus", file=name)
    return found


def _run(kept, chosen, folder, values):
    given, store = Anew(kept, chosen), CellStore(folder / "focus")
    with given.in_place():
        for record in kept.values():
            store.cell(record["key"], lambda record=record: {"n": values[record["key"]["seed"]]}, "new")
    return {file.name: json.loads(file.read_text()) for file in store.folder.glob("*.json")}


def test_a_sample_of_each_kind_is_drawn_and_all_of_what_is_replaced(kept):
    assert sorted(map(kind_of, kept.values())) == ["focus loss", "focus loss", "focus overlap"]
    chosen = drawn(kept, 1, ())
    assert len(chosen) == 2 and len({kind_of(kept[name]) for name in chosen}) == 2 and chosen == drawn(kept, 1, ())
    assert len(drawn(kept, 1, ["focus loss"])) == 3


def test_what_is_not_drawn_is_taken_over_with_the_new_fingerprint(kept, tmp_path):
    made = _run(kept, drawn(kept, 1, ()), tmp_path / "new", {1: 1.0, 2: 2.0, 3: 3.0})
    assert {record["fingerprint"] for record in made.values()} == {"new"}
    [taken] = [record for record in made.values() if "measured_by" in record]
    assert taken["measured_by"] == "then" and taken["library"] == fingerprint()
    told = rows(tmp_path / "new", kept)
    assert [(row["records"], row["anew"], row["agree"], row["largest"]) for row in told] == [(2, 1, 1, 0), (1, 1, 1, 0)]


def test_a_sample_that_differs_is_told(kept, tmp_path):
    _run(kept, drawn(kept, 2, ()), tmp_path / "new", {1: 1.0, 2: 2.2, 3: 3.0001})
    told = {row["kind"]: row for row in rows(tmp_path / "new", kept)}
    assert told["focus loss"]["anew"] == 2 and told["focus loss"]["agree"] == 1
    assert told["focus loss"]["largest"] == pytest.approx(0.2 / 2.2) and told["focus overlap"]["agree"] == 1


@pytest.fixture
def bundled(kept, tmp_path, monkeypatch):
    "A file of the kept records, and a chapter that asks for them with another fingerprint and other numbers."
    lines = "".join(json.dumps(record) + "\n" for record in kept.values())
    path = tmp_path / "pages.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode()))
    values = {1: 1.0, 2: 2.0, 3: 3.0}

    def run(name, folder, **parameters):
        for record in kept.values():
            key = record["key"]
            CellStore(folder).cell(key, lambda key=key: {"n": values[key["seed"]]}, f"{fingerprint()}-new")

    monkeypatch.setattr(module, "run_notebook", run)
    monkeypatch.setattr("studies.records.recorded.pages_path", lambda: path)
    return values, path


def test_records_keep_their_numbers_and_get_todays_fingerprint_where_samples_agree(bundled):
    values, path = bundled
    values[1] = 1.000001
    told, is_written = refingerprint(["focus"], sample=2)
    assert is_written and [(row["records"], row["agree"]) for row in told] == [(2, 2), (1, 1)]
    now = kept_records()
    assert {record["fingerprint"].partition("-")[2] for record in now} == {"new"}
    assert {record["library"] for record in now} == {"then"}
    assert sorted(record["values"][0]["value"] for record in now) == [1, 2, 3]


def test_nothing_is_written_where_a_sample_differs_unless_its_kind_is_replaced(bundled):
    values, path = bundled
    values[1], before = 1.5, path.read_bytes()
    assert not refingerprint(["focus"], sample=2)[1] and path.read_bytes() == before
    assert refingerprint(["focus"], anew=["focus loss"])[1]
    assert sorted(record["values"][0]["value"] for record in kept_records()) == [1.5, 2, 3]
