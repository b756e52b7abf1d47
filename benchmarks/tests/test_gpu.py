"""The part about GPUs."""

import numpy as np
import pytest
import torch

from benchmarks.claims import Runs
from benchmarks.gpu import OURS, PART, SHAPES, SIDES, gpu, gpu_cases, model_of
from benchmarks.parts import run_bench
from testkit.process import Meter
from vocab_lit.text.corpus import data_path


def test_facts_of_a_run_are_consistent(trial):
    runs = Runs(trial["gpu"])
    ours, theirs = (runs.table[runs.table.side == side].iloc[0] for side in ("vocab_lit", "Trainer, bf16"))
    assert ours.loss_difference < 1e-5 and ours.share > 0 and 0 <= ours.feed_share <= 1 and theirs.tokens_per_second > 0
    body = 2 * (32 * 16 * 2 + 2 * 32 * 16 + 32 * 32 + 3 * 32 * 48)  # weights of two tiny blocks
    head = 32 * 300 * 15 / 16  # the last of 16 tokens is asked for nothing
    operations = 6 * (body + head)  # of a token, without attention
    assert 0.999 < ours.flops_per_second / ours.tokens_per_second / operations < 1.1
    assert all(number == number for claim in PART.claims for number in claim.value(runs))


@pytest.mark.slow
def test_every_side_of_every_shape_trains():
    for shape in SHAPES:
        facts = {side: gpu(Meter(), side, shape, 300, 16, 4, 2, small=True) for side in SIDES}
        assert all(one["tokens_per_second"] > 0 for one in facts.values())
        assert facts["vocab_lit"]["loss_difference"] < 1e-5
        work = [facts[side]["flops_per_second"] / facts[side]["tokens_per_second"] for side in OURS]
        assert np.allclose(work, work[0], rtol=1e-3)  # the same for each token


def test_a_named_model_is_trained_with_vocabularies_of_three_sizes(tmp_path):
    folder = str(data_path("models", "mini-gpt2"))
    cases = list(gpu_cases(tmp_path, (), small=False, models=[folder]))
    assert [case.name.partition(",")[0] for case in cases] == ["mini-gpt2"] * 3
    assert [case.arguments["n_tokens"] for case in cases] == [16_384, 65_536, 262_144]
    for n_tokens in (300, 5000):  # the model has 2,000
        embeddings = model_of(folder, n_tokens, small=True).get_input_embeddings()
        assert embeddings.num_embeddings == n_tokens
    tiny = dict(n_tokens=300, length=16, batch=4, steps=2, small=True)
    facts = gpu(Meter(), "vocab_lit", **cases[0].arguments | tiny)
    assert facts["loss_difference"] < 1e-5 and facts["tokens_per_second"] > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_measured_whatever_else_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match="gpu: there is no GPU"):
        run_bench(["nmf", "gpu"], tmp_path / "bench.json", rounds=1)


@pytest.mark.gpu
def test_losses_on_a_gpu_are_the_processor_s():
    for shape in SHAPES:
        assert gpu(Meter(), "vocab_lit", shape, 1000, 64, 8, 5, small=True)["loss_difference"] < 0.01
