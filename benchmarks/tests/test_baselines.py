from pathlib import Path
from benchmarks.baselines import Meter, PEERS, adapter_batch, apart, measure, peer_python, train_steps
import numpy as np
import pytest
import tempfile
import time
import benchmarks.baselines


@pytest.fixture(scope='module')
def cell_bd09f6df():
    global fill
    def fill(meter, mb):
        there = np.ones(20 * 2**17)  # 20 MB that are not its work
        with meter:
            rows = np.ones(mb * 2**17)
        return dict(numbers=len(rows), before=len(there))


    measure(fill, dict(mb=100), warm_up=dict(mb=1))


def test_memory_is_what_the_work_takes_time_is_the_processor_s_and_facts_are_kept(cell_bd09f6df):
    got = measure(fill, dict(mb=200))
    assert 190 < got["extra_mb"] < 230 and got["peak_mb"] > got["extra_mb"] + 20 and got["numbers"] == 200 * 2**17


    def reuse(meter):
        there = [np.ones(2**13) for _ in range(2000)]  # 125 MB in small pieces, which are freed but not given back
        last, there = there[-1], None
        with meter:
            rows = [np.ones(2**13) for _ in range(2000)]
        del last, rows


    assert 110 < measure(reuse, {})["extra_mb"] < 150


    def idle(meter):
        with meter:
            time.sleep(0.2)
        return dict(seconds=7.0)


    assert measure(idle, {})["cpu_seconds"] < 0.1 and measure(idle, {})["seconds"] == 7  # a side may know better
    seen = []


    def spy(meter, n):
        with meter:
            seen.append(n)


    measure(spy, dict(n=2), warm_up=dict(n=1))
    assert seen == [1, 2]


def test_an_environment_that_was_not_made_to_the_end_is_not_there_and_what_fails_is_told_in_one_line():
    with tempfile.TemporaryDirectory() as folder:
        assert peer_python("wechsel", folder) is None
        (Path(folder) / "env-wechsel/bin").mkdir(parents=True)
        (Path(folder) / "env-wechsel/bin/python").touch()
        assert peer_python("wechsel", folder) is None
        (Path(folder) / "env-wechsel/installed").touch()
        assert peer_python("wechsel", folder) == str(Path(folder) / "env-wechsel/bin/python")
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(PEERS, "none", ["no name of a package"])
            with pytest.raises(ValueError, match="none could not be installed in .*env-none: .*"):
                peer_python("none", folder, install=True)
            assert peer_python("none", folder) is None


def test_a_step_learns_its_operations_are_counted_and_the_first_one_is_not_timed():
    import torch

    line, n = torch.nn.Linear(8, 1, bias=False), []
    frozen = torch.nn.Linear(8, 8).requires_grad_(False)
    start = line.weight.detach().clone()


    def loss():
        n.append(1)
        if len(n) == 1:
            sum(i for i in range(10**6))
        return line(frozen(torch.ones(4, 8))).sum()


    told = train_steps(Meter(), lambda: (torch.nn.Sequential(frozen, line), loss), 2)
    assert told["trained"] == 8 and len(n) == 4 and told["cpu_seconds"] < 0.02 and not torch.equal(line.weight, start)
    assert told["gflop"] == pytest.approx(
        2 * 4 * 8 * (8 + 1 + 1) / 1e9
    )  # forward through both, backward for the one that learns
    labels = adapter_batch("language", 4, 50, 300)["labels"]
    assert 0.1 < (labels >= 0).float().mean() < 0.2 and adapter_batch("task", 4, 50, 300)["labels"].max() == 16


def test_the_script_imports_nothing_of_vocab_lit_and_runs_a_side_in_another_process():
    script = (
        Path(benchmarks.baselines.__file__)
        .read_text(encoding="utf-8")
        .replace("import benchmarks.baselines  # also", "")
    )
    assert "import vocab_lit" not in script and "from vocab_lit" not in script and "from ." not in script
    with pytest.raises(ValueError, match="numpy.load failed with .*TypeError"):
        apart("numpy.load", {})
