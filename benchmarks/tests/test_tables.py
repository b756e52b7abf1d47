"""Runs, claims, tables, and who runs when."""

import json
import os

import numpy as np
import pytest

from benchmarks.claims import Runs, exponent, extreme, grows
from benchmarks.parts import PARTS, run_bench
from benchmarks.runner import Case, turns
from benchmarks.tables import claims_table, growth_table, machines_table, report, side_table


def run(side, n, cpu, mb, size=20_000, case="50,000 to 20,000 tokens") -> dict:
    about = dict(case=case, series="", size=size, side=side, round=n)
    return about | dict(cpu_seconds=cpu, seconds=cpu, extra_mb=mb, peak_mb=2 * mb)


def test_ratios_are_of_the_same_round_and_exponents_those_of_the_curves():
    runs = [
        run(side, n, seconds * size**power, size, size, f"{size} rows")
        for size in (10, 20, 40)
        for n in (0, 1)
        for side, seconds, power in (("vocab_lit", 1 + n, 1), ("other", 6, 2))
    ]
    runs = Runs(dict(checks={}, runs=runs))
    assert runs.ratio("cpu_seconds", "other").tolist() == [6 * 40, 3 * 40]
    assert runs.ratio("cpu_seconds", "other", 10).tolist() == [60, 30]
    assert runs.ratio("cpu_seconds", "other", "20 rows").tolist() == [120, 60]
    assert runs.values("cpu_seconds", "nobody").size == 0
    assert grows("cpu_seconds")(runs)[0] == pytest.approx(1)
    assert grows("cpu_seconds", "other")(runs)[0] == pytest.approx(2)
    assert grows("cpu_seconds", "nobody")(runs) == []
    assert runs.curve("cpu_seconds").to_dict() == {10: 15, 20: 30, 40: 60} and grows("seconds", series="x")(runs) == []
    least, most = (extreme(np.min, "cpu_seconds", "other", power)(runs) for power in (1, -1))
    assert least.tolist() == [60, 30] and most.tolist() == [1 / 240, 1 / 120]  # of the three cases, round by round
    assert (
        extreme(np.max, "cpu_seconds")(runs).tolist() == [40, 80] and extreme(np.min, "seconds", "nobody")(runs) == []
    )
    assert np.isnan(exponent([1, 2], [0, 3])) and exponent([1, 10], [2, 2]) == pytest.approx(0)


def test_every_size_of_the_claims_is_measured_and_this_package_runs_first():
    for part in PARTS.values():
        assert set(part.sizes.main) <= set(part.sizes.curve)
        assert len(part.sizes.curve) in (1, 4) or part.named or part.takes_texts  # of files or models that are named
        assert part.sides[0] == "vocab_lit" and set(part.peers) <= set(part.sides)


def test_sides_run_in_turns():
    def order(part, size, rounds=2, missing=(), **more):
        return turns(PARTS[part], Case("c", {}, size, **more), rounds, PARTS[part].sizes.curve, missing)

    both = [(0, "vocab_lit"), (0, "deepfocus"), (1, "vocab_lit"), (1, "deepfocus")]
    assert order("focus", 20_000) == both and order("focus", 2500) == both[:2]
    assert order("focus", 20_000, missing=("deepfocus",)) == [(0, "vocab_lit"), (1, "vocab_lit")]
    assert order("adapters", None, 3, sides=("vocab_lit",)) == [(n, "vocab_lit") for n in range(3)]
    assert order("focus", None, 3, once=True) == both[:2]
    assert turns(PARTS["transplant"], Case("c", {}, 512), 2, (512,))[-1] == (1, "loaded")


def test_tables_have_medians_and_spreads_and_claims_hold_by_the_median(trial):
    times = ((1.0, 12.0), (2.0, 22.0), (1.0, 9.0))
    runs = [
        run(side, n, cpu, mb)
        for n, both in enumerate(times)
        for side, cpu, mb in zip(("vocab_lit", "deepfocus"), both, (100.0, 700.0))
    ]
    check = {"copied alike": 5005, "largest difference": 4e-6, "copied otherwise": 0, "which": ""}
    record = dict(environment={}, rounds=3, checks={"50,000 to 20,000 tokens": check}, runs=runs)
    table = side_table("focus", record)
    assert table["times"].tolist() == ["", "11.00 (9.00 to 12.00)"]
    assert table["CPU seconds"].tolist() == ["1", "12"] and table["extra MB"].tolist() == ["100", "700"]
    assert table["times "].tolist()[1] == "7.00 (7.00 to 7.00)"
    claims = claims_table({"focus": record}).query("part == 'focus'")
    assert claims.holds.tolist() == ["yes", "no", "not measured", "yes", "yes"]
    assert claims.wanted.tolist()[:3] == ["at least 10", "at least 8", "at most 1.2"]
    assert claims.measured.tolist()[3] == "4e-06"
    assert set(claims_table({}).holds) == {"not measured"} and "5,005" in report({"focus": record})
    assert len(claims_table(trial)) == sum(len(part.claims) for part in PARTS.values())
    columns = ["side", "120", "240", "time grows with", "extra memory grows with"]
    assert growth_table("focus", trial["focus"]).columns.tolist() == columns


def test_records_of_parts_stand_side_by_side_in_a_file_and_an_unknown_part_is_refused(tmp_path):
    file = tmp_path / "new/bench.json"
    run_bench(["nmf"], file, small=True)
    before = json.loads(file.read_text(encoding="utf-8"))
    run_bench(["memory"], file, small=True)
    after = json.loads(file.read_text(encoding="utf-8"))
    assert before["nmf"] == after["nmf"] and set(after) == {"nmf", "memory"}
    about = after["memory"]["environment"]
    assert about["cores"] == os.cpu_count() and "torch" in about["versions"]
    assert machines_table(after).parts.tolist() == ["nmf, memory"]
    elsewhere = after["memory"] | dict(environment=about | dict(instructions=["neon"]))
    assert machines_table(after | dict(memory=elsewhere)).parts.tolist() == ["nmf", "memory"]
    with pytest.raises(ValueError, match="no part 'fokus'; choose from focus, process, wechsel"):
        run_bench(["fokus"], file)
