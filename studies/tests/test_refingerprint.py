"""Records keep their numbers and get today's fingerprints, where a sample computed anew agrees."""

import json

import pytest

from studies.refingerprint import Anew, drawn, kind_of, rows
from vocab_lit.study.results import ResultStore, fingerprint


@pytest.fixture
def kept(tmp_path):
    "Records of two kinds that a chapter has left, with an old fingerprint."
    store, found = ResultStore(tmp_path / "old" / "focus"), {}
    for what, value in (("loss", 1.0), ("loss", 2.0), ("overlap", 3.0)):
        key = dict(what=what, seed=int(value))
        record = store.cell(key, lambda value=value: {"n": value}, "old") | dict(library="then")
        name = store.path(key).name
        found["focus", name] = dict(record, chapter="focus", file=name)
    return found


def _run(kept, chosen, folder, values):
    given, store = Anew(kept, chosen), ResultStore(folder / "focus")
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
