"""The part about the feed."""

import pytest
import torch

from benchmarks import feed
from benchmarks.claims import Runs
from benchmarks.parts import run_bench
from benchmarks.tables import side_table
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.load import load_tokenizer

MODELS = [str(data_path("models", name)) for name in ("mini-xlmr", "mini-gpt2")]


@pytest.mark.parametrize("masked", [True, False])
def test_both_feeds_make_batches_of_the_same_shapes_and_every_block_once(tmp_path, masked):
    feed.write_blocks(tmp_path / "blocks", load_tokenizer(MODELS[0]), 64)
    feeds = [
        make(load_tokenizer(MODELS[0]), tmp_path / "blocks", masked, 64) for make in (feed.our_feed, feed.their_feed)
    ]
    labels = []
    for _, loader in feeds:
        batches = list(loader)
        assert [tuple(batch["input_ids"].shape) for batch in batches] == [(32, 256), (32, 256)]
        labels.append(torch.cat([batch["labels"] for batch in batches]))
        assert abs(labels[-1].ne(-100).float().mean() - (0.15 if masked else 1)) < 0.02
    if not masked:
        assert sorted(labels[0].tolist()) == sorted(labels[1].tolist())
    times = feed.stage_times(feeds[0][0], 32)
    assert list(times) == [f"{stage}_us" for stage in feed.STAGES if masked or stage != "mask"]
    assert all(value >= 0 for value in times.values()) and sum(times.values()) > 0


def test_the_table_has_a_row_for_each_case_and_side(trial):
    assert len(side_table("feed", trial["feed"])) == 6


def test_named_models_replace_made_vocabularies_and_only_masked_ones_have_a_masked_feed(tmp_path):
    cases = [case.name for case in feed.feed_cases(tmp_path, (200,), True, MODELS)]
    feeds = [name.rpartition(", ")[0] for name in cases[:3]]
    assert feeds == ["masked, mini-xlmr", "causal, mini-xlmr", "causal, mini-gpt2"]
    assert cases[3:] == ["packing, mini-xlmr", "packing, mini-gpt2"]
    with pytest.raises(ValueError, match="models are for process and feed"):
        run_bench(["nmf"], None, small=True, models=MODELS)


def test_claims_are_about_the_slowest_vocabulary_and_the_stage_that_grows_most():
    def run(size, blocks, **stages):
        about = dict(case=f"masked, made, {size} tokens", series="masked", size=size, side="vocab_lit", round=0)
        costs = dict(cpu_seconds=1.0, extra_mb=0, peak_mb=1, grown_mb=1, blocks_per_second=blocks)
        return about | costs | {f"{stage}_us": 5.0 for stage in feed.STAGES} | stages

    runs = Runs(dict(checks={}, runs=[run(1000, 9000.0), run(100_000, 7000.0, mask_us=50.0)]))
    assert feed.slowest("masked")(runs) == [7000] and feed.slowest("causal")(runs) == []
    assert feed.growth_of_stages(runs) == [pytest.approx(0.5)]  # ten times as much at a hundred times the size
