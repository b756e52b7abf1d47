"""Meters, environments of other packages and training steps that both sides share."""

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from testkit import peers, process
from testkit.peers import PEERS, Peer, adapter_batch, peer_python, train_steps
from testkit.process import Meter, apart, measure


def fill(meter, mb):
    before = np.ones(20 * 2**17)  # 20 MB that are not its work
    with meter:
        rows = np.ones(mb * 2**17)
    return dict(numbers=len(rows), before=len(before))


def reuse(meter):
    before = [np.ones(2**13) for _ in range(1000)]  # 63 MB in small pieces, which are freed but not given back
    last, before = before[-1], None
    with meter:
        rows = [np.ones(2**13) for _ in range(1000)]
    del last, rows


def test_memory_is_that_of_the_work_alone():
    measured = measure(fill, dict(mb=100), warm_up=dict(mb=1))
    assert 95 < measured["extra_mb"] < 115 and measured["peak_mb"] > measured["extra_mb"] + 20
    assert measured["numbers"] == 100 * 2**17
    assert 55 < measure(reuse, {})["extra_mb"] < 80


def test_time_is_the_processor_s_and_facts_are_kept():
    def idle(meter):
        with meter:
            time.sleep(0.12)
        return dict(seconds=7.0)

    measured = measure(idle, {})
    assert measured["cpu_seconds"] < 0.1 and measured["seconds"] == 7  # a side may know better


def test_a_side_runs_after_its_warm_up():
    seen = []

    def spy(meter, n):
        with meter:
            seen.append(n)

    measure(spy, dict(n=2), warm_up=dict(n=1))
    assert seen == [1, 2]


def test_an_unfinished_environment_is_not_there_and_a_failure_is_one_line(tmp_path, monkeypatch):
    home = tmp_path / "env-wechsel"
    assert peer_python("wechsel", tmp_path) is None
    (home / "bin").mkdir(parents=True)
    (home / "bin/python").touch()
    assert peer_python("wechsel", tmp_path) is None
    (home / "installed").touch()
    assert peer_python("wechsel", tmp_path) == str(home / "bin/python")
    monkeypatch.setitem(PEERS, "none", Peer(fill, ("no name of a package",)))
    with pytest.raises(ValueError, match="none could not be installed in .*env-none: .*"):
        peer_python("none", tmp_path, install=True)
    assert peer_python("none", tmp_path) is None


def test_a_step_trains_its_operations_are_counted_and_the_first_is_not_timed():
    frozen, line = torch.nn.Linear(8, 8).requires_grad_(False), torch.nn.Linear(8, 1, bias=False)
    start, calls = line.weight.detach().clone(), []

    def loss():
        calls.append(1)
        if len(calls) == 1:
            sum(i for i in range(10**6))
        return line(frozen(torch.ones(4, 8))).sum()

    facts, model = train_steps(Meter(), lambda: (torch.nn.Sequential(frozen, line), loss), 2)
    assert model[1] is line and facts["trained"] == 8 and len(calls) == 4
    assert facts["cpu_seconds"] < 0.02 and not torch.equal(line.weight, start)
    # forward through both, backward for the one that is trainable
    assert facts["gflop"] == pytest.approx(2 * 4 * 8 * (8 + 1 + 1) / 1e9)


def test_labels_are_those_of_mlm_or_of_tagging():
    labels = adapter_batch("language", 4, 50, 300)["labels"]
    assert 0.1 < (labels >= 0).float().mean() < 0.2 and adapter_batch("task", 4, 50, 300)["labels"].max() == 16


def test_what_runs_beside_another_package_imports_nothing_of_vocab_lit():
    for module in (process, peers):
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert "import vocab_lit" not in source and "from vocab_lit" not in source and "from ." not in source
    assert Path(process.__file__).with_name("__init__.py").read_text(encoding="utf-8").count('"""') == 2


def test_a_side_runs_in_another_process():
    with pytest.raises(ValueError, match="numpy.load failed with .*TypeError"):
        apart("numpy.load", {})
