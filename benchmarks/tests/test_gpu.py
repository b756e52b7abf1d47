from pathlib import Path
from benchmarks import gpu as book_gpu
from benchmarks.baselines import Meter
from benchmarks.bench import Runs, run_bench, side_table
from benchmarks.gpu import CLAIMS, gpu, model_of
import numpy as np
import pytest
import tempfile
import torch


@pytest.fixture(scope='module')
def cell_638c3362():
    global trial
    trial = run_bench(["gpu"], None, small=True)
    side_table("gpu", trial["gpu"])


def test_what_is_told_of_a_run_is_consistent(cell_638c3362):
    runs = Runs(trial["gpu"])
    ours, theirs = (runs.table[runs.table.side == side].iloc[0] for side in ("vocab_lit", "Trainer"))
    assert ours.loss_difference < 1e-5 and ours.share > 0 and 0 <= ours.feed_share <= 1 and theirs.tokens_per_second > 0
    body = 2 * (32 * 16 * 2 + 2 * 32 * 16 + 32 * 32 + 3 * 32 * 48)  # weights of two tiny blocks
    head = 32 * 300 * 15 / 16  # the last of 16 tokens is asked for nothing
    operations = 6 * (body + head)  # of a token, without attention
    assert 0.999 < ours.flops_per_second / ours.tokens_per_second / operations < 1.1
    for claim in [claim for claim in CLAIMS if claim.part == "gpu"]:
        assert all(number == number for number in claim.value(runs))


@pytest.mark.slow
def test_every_side_of_every_shape_trains():
    for shape in ("XLM-R base", "GPT-2", "Qwen3 0.6B"):
        told = {side: gpu(Meter(), side, shape, 300, 16, 4, 2, small=True) for side in book_gpu._SIDES}
        assert all(one["tokens_per_second"] > 0 for one in told.values()) and told["vocab_lit"]["loss_difference"] < 1e-5
        work = [told[side]["flops_per_second"] / told[side]["tokens_per_second"] for side in book_gpu._OURS]
        assert np.allclose(work, work[0], rtol=1e-3)  # the same for each token
    losses = {}
    for side in ("vocab_lit", "compiled"):
        model = model_of("GPT-2", 300, True).eval()
        with book_gpu._as_side(side, model, True), torch.no_grad():
            losses[side] = model(input_ids=torch.arange(32)[None], labels=torch.arange(32)[None]).item()
    assert losses["compiled"] == pytest.approx(losses["vocab_lit"], rel=1e-6)


def test_without_a_gpu_nothing_is_measured_whatever_else_is_asked_for():
    if not torch.cuda.is_available():
        with tempfile.TemporaryDirectory() as folder, pytest.raises(ValueError, match="gpu: there is no GPU"):
            run_bench(["nmf", "gpu"], Path(folder, "bench.json"), rounds=1)


@pytest.mark.gpu
def test_losses_on_a_gpu_are_the_processor_s():
    for shape in ("XLM-R base", "GPT-2", "Qwen3 0.6B"):
        assert gpu(Meter(), "vocab_lit", shape, 1000, 64, 8, 5, small=True)["loss_difference"] < 0.01
