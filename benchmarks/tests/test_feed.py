from pathlib import Path
from benchmarks import feed as book_feed
from benchmarks.bench import Runs, run_bench, side_table
from benchmarks.feed import feed_cases, growth_of_stages, slowest, stage_times
from vocab_lit.text.corpus import data_path
from vocab_lit.tokens.tokenizer import load_tokenizer
import pytest
import tempfile
import torch


@pytest.fixture(scope='module')
def cell_ec66288e():
    global mini, place, trial
    place, mini = Path(tempfile.mkdtemp()), str(data_path("models", "mini-xlmr"))
    trial = run_bench(["feed"], None, small=True)
    side_table("feed", trial["feed"])


def test_both_feeds_make_batches_of_the_same_shapes_every_block_of_a_pass_once_and_each_stage_is_timed(cell_ec66288e):
    book_feed._write_blocks(place / "blocks", load_tokenizer(mini), 64)
    for masked in (True, False):
        made = {}
        for name, make in (("vocab_lit", book_feed._ours), ("transformers", book_feed._theirs)):
            data, loader = make(load_tokenizer(mini), place / "blocks", masked, 64)
            made[name] = list(loader)
            assert [tuple(batch["input_ids"].shape) for batch in made[name]] == [(32, 256), (32, 256)]
            share = torch.cat([batch["labels"] for batch in made[name]]).ne(-100).float().mean()
            assert abs(share - (0.15 if masked else 1)) < 0.02
        if not masked:
            ours, theirs = (torch.cat([batch["labels"] for batch in batches]).tolist() for batches in made.values())
            assert sorted(ours) == sorted(theirs)
        data = book_feed._ours(load_tokenizer(mini), place / "blocks", masked, 64)[0]
        times = stage_times(data, 32)
        assert list(times) == [f"{stage}_us" for stage in book_feed._STAGES if masked or stage != "mask"]
        assert all(value >= 0 for value in times.values()) and sum(times.values()) > 0


def test_named_models_take_the_place_of_made_vocabularies_and_one_without_a_mask_token_has_no_masked_feed(cell_ec66288e):
    names = [str(data_path("models", name)) for name in ("mini-xlmr", "mini-gpt2")]
    cases = [case.name for case in feed_cases(place, (200,), True, names)]
    feeds = [name.rpartition(", ")[0] for name in cases[:3]]
    assert feeds == ["masked, mini-xlmr", "causal, mini-xlmr", "causal, mini-gpt2"]
    assert cases[3:] == ["packing, mini-xlmr", "packing, mini-gpt2"]
    with pytest.raises(ValueError, match="only feed takes models"):
        run_bench(["nmf"], None, small=True, models=names)


def test_claims_are_about_the_slowest_vocabulary_and_the_stage_that_grows_most():
    def run_of(size, blocks, **stages):
        times = dict.fromkeys([f"{stage}_us" for stage in book_feed._STAGES], 5.0)
        about = dict(case=f"masked, made, {size} tokens", series="masked", size=size, side="vocab_lit", round=0)
        return about | dict(blocks_per_second=blocks, cpu_seconds=1.0, extra_mb=0, peak_mb=1, grown_mb=1) | times | stages


    made_up = Runs(dict(checks={}, runs=[run_of(1000, 9000.0), run_of(100_000, 7000.0, mask_us=50.0)]))
    assert slowest("masked")(made_up) == [7000] and slowest("causal")(made_up) == []
    assert growth_of_stages(made_up) == [pytest.approx(0.5)]  # ten times as much at a hundred times the size
