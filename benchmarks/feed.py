"""Blocks made ready for training in a second, stage by stage, beside transformers' collator; and packing."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Claim, Runs, Value, grows, medians
from benchmarks.runner import Case, Part, Sizes, as_sides
from testkit.made import random_tokenizers
from testkit.process import Meter, memory_mb
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    from torch.utils.data import DataLoader
    from transformers import PreTrainedTokenizerBase as Tokenizer

    from vocab_lit.training.lm_data import MaskedBlocks

STAGES = ("order", "read", "mask", "collate")
LENGTH = 256  # tokens of a block
BATCH = 32  # blocks


def _collate(rows: list[dict], masked: bool) -> dict:
    from transformers import default_data_collator

    from vocab_lit.training.lm_loss import label_positions

    batch = default_data_collator(rows)
    return batch | {"positions": label_positions(batch["labels"], masked)}


def _order(data: MaskedBlocks, positions: range) -> list[int]:
    from vocab_lit.training.lm_data import _permuted_index

    passes = [divmod(i, data.n_blocks) for i in positions]
    return [_permuted_index(index, data.n_blocks, f"{data.seed} {n_pass}") for n_pass, index in passes]


def stage_times(data: MaskedBlocks, batch: int = BATCH) -> dict[str, float]:  # {stage_us: microseconds for each block}
    "CPU time of each stage of the feed, one stage after the other, over every block."
    seconds = Counter()

    def timed(stage, do, *given):
        began = time.process_time()
        done = do(*given)
        seconds[stage] += time.process_time() - began
        return done

    for start in range(0, len(data), batch):
        positions = range(start, min(start + batch, len(data)))
        chosen = timed("order", _order, data, positions)
        blocks = timed("read", data.blocks.__getitem__, chosen)  # (batch, LENGTH)
        made = dict(input_ids=blocks, labels=blocks)
        if data.tokenizer is not None:
            made = timed("mask", data.batch, blocks, positions)
        rows = [dict(zip(made, row)) for row in zip(*made.values())]
        timed("collate", _collate, rows, data.tokenizer is not None)
    return {f"{stage}_us": seconds[stage] / len(data) * 1e6 for stage in STAGES if stage in seconds}


def our_feed(tokenizer: Tokenizer, file: str | Path, masked: bool, n_blocks: int) -> tuple[MaskedBlocks, DataLoader]:
    "Data and batches as this package's trainer has them."
    from torch.utils.data import DataLoader

    from vocab_lit.training.lm_data import MaskedBlocks, PackedBlocks

    data = MaskedBlocks(PackedBlocks(file, LENGTH), n_blocks, tokenizer if masked else None)
    return data, DataLoader(data, BATCH, collate_fn=lambda rows: _collate(rows, masked))


def their_feed(tokenizer: Tokenizer, file: str | Path, masked: bool, n_blocks: int) -> tuple[list[dict], DataLoader]:
    "Lists in memory, and batches by the collator of transformers."
    from torch.utils.data import DataLoader
    from transformers import DataCollatorForLanguageModeling

    blocks = np.fromfile(file, "<i4").reshape(-1, LENGTH).tolist()
    rows = [dict(input_ids=ids, attention_mask=[1] * LENGTH, special_tokens_mask=[0] * LENGTH) for ids in blocks]
    data = [rows[i % len(rows)] for i in range(n_blocks)]
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # this collator wants one, though nothing is padded
    return data, DataLoader(data, BATCH, collate_fn=DataCollatorForLanguageModeling(tokenizer, mlm=masked))


def make_batches(meter: Meter, side: str, tokenizer: str, file: str, masked: bool, n_blocks: int) -> dict:
    "Batches from a file of packed blocks, for a masked or a causal model; the first tenth is not counted."
    from vocab_lit.tokens.load import load_tokenizer

    make = our_feed if side == "vocab_lit" else their_feed
    data, loader = make(load_tokenizer(tokenizer), file, masked, n_blocks)
    batches = iter(loader)
    for _ in itertools.islice(batches, len(loader) // 10 + 1):
        pass
    before = memory_mb()[0]
    with meter:
        n_counted = sum(len(batch["input_ids"]) for batch in batches)
    grown = max(0.0, memory_mb()[0] - before)
    facts = dict(blocks_per_second=n_counted / max(meter.record["cpu_seconds"], 1e-9), grown_mb=grown)
    return facts | (stage_times(data) if side == "vocab_lit" else {})


def pack_lines(meter: Meter, side: str, tokenizer: str, file: str) -> dict:
    "Lines of a text packed into a file of blocks, or just tokenized."
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.training.lm_data import pack

    lines = Path(file).read_text(encoding="utf-8").splitlines()
    tokenize = load_tokenizer(tokenizer)
    tokenize(lines[:10])
    with meter:
        if side == "vocab_lit":
            pack(tokenize, lines, LENGTH, f"{file}.blocks")
        else:
            for start in range(0, len(lines), 1000):
                tokenize(lines[start : start + 1000])
    return dict(lines_per_second=len(lines) / max(meter.record["cpu_seconds"], 1e-9))


def feed(meter: Meter, side: str, what: str, **arguments) -> dict:
    "One side of the part: batches or packing."
    return (pack_lines if what == "packing" else make_batches)(meter, side, **arguments)


def write_blocks(path: str | Path, tokenizer: Tokenizer, n_blocks: int) -> None:
    "Write blocks of random ordinary tokens."
    ordinary = np.array(sorted(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids)), "<i4")
    np.random.default_rng(0).choice(ordinary, (n_blocks, LENGTH)).tofile(path)


def _tokenizers(models, place, sizes) -> Iterator[tuple[str, str]]:
    "Tokenizers of models that are named, or made in some sizes: name and folder."
    if models:
        yield from ((Path(model).name, model) for model in models)
        return
    for size in sizes:
        made = place / f"{size}"
        random_tokenizers(size, 10, 0)[0].save_pretrained(made)
        yield "made", str(made)


def feed_cases(place: Path, sizes: tuple, small: bool, models: Sequence[str] = ()) -> Iterator[Case]:
    "Masked and causal feeds of vocabularies of some sizes, or of models (folders or hub names), and packing."
    from testkit.phrasebook import lines
    from vocab_lit.tokens.load import load_tokenizer

    n_written, n_blocks, n_lines = (40, 80, 60) if small else (4000, 8000, 20_000)
    file, text = str(place / "tokens"), place / "text.txt"
    for name, folder in _tokenizers(models, place, sizes):
        tokenizer = load_tokenizer(folder)
        write_blocks(file, tokenizer, n_written)
        for kind in ("causal",) if tokenizer.mask_token is None else ("masked", "causal"):
            case = dict(what="batches", tokenizer=folder, file=file, masked=kind == "masked", n_blocks=n_blocks)
            label, sides = f"{kind}, {name}, {len(tokenizer):,} tokens", ("vocab_lit", "transformers")
            yield Case(label, case, len(tokenizer), kind, sides=sides, once=bool(models))
    text.write_text("\n".join(lines("sw", n_lines, seed=0)), encoding="utf-8")
    for model in models or [str(data_path("models", "mini-xlmr"))]:
        case = dict(what="packing", tokenizer=model, file=str(text))
        yield Case(f"packing, {Path(model).name}", case, sides=("vocab_lit", "tokenizer"))


def slowest(kind: str) -> Value:
    "Blocks per second with the vocabulary with which they are fewest."
    return lambda runs: runs.curve("blocks_per_second", kind).nsmallest(1).tolist()


def growth_of_stages(runs: Runs) -> list[float]:
    "The power of the vocabulary with which the stage grows that grows most."
    powers = [power for stage in STAGES for power in grows(f"{stage}_us", series="masked")(runs)]
    return [np.nanmax(powers)] if np.isfinite(powers).any() else []


def _packing_share(runs) -> list[float]:
    "Speed of packing as a share of the bare tokenizer's."
    return [share for case in runs.cases("packing") for share in runs.ratio("cpu_seconds", "tokenizer", case)]


def _memory_grown(runs) -> list[float]:
    "MB that memory grows by with the vocabulary with which it grows most."
    return [mb for kind in ("masked", "causal") for mb in runs.curve("grown_mb", kind).nlargest(1)]


CLAIMS = (
    Claim("masked blocks of 256 tokens per second and process, the slowest vocabulary", slowest("masked"), low=8000),
    Claim("causal blocks, the same", slowest("causal"), low=15_000),
    Claim("CPU time, transformers / vocab_lit, masked", medians("masked", "cpu_seconds", "transformers"), low=1),
    Claim("CPU time, transformers / vocab_lit, causal", medians("causal", "cpu_seconds", "transformers"), low=1),
    Claim("packing's speed / the bare tokenizer's", _packing_share, low=0.8),
    Claim("the stage that grows most grows with the vocabulary to the power of", growth_of_stages, high=0.1),
    Claim("MB that memory grows by after the first tenth of the blocks", _memory_grown, high=4),
)
FACTS = dict(blocks_per_second="blocks per second", lines_per_second="lines per second", grown_mb="MB grown")
PART = Part(
    "feed",
    "blocks made ready for training in a second and process, stage by stage, beside the collator of transformers; and "
    "packing beside the bare tokenizer",
    1,
    "tokens in the vocabulary",
    as_sides(feed, "vocab_lit", "transformers", "tokenizer"),
    feed_cases,
    sizes=Sizes((8000, 50_265, 119_547, 250_002), main=(8000, 250_002), tiny=(200,)),
    claims=CLAIMS,
    facts=FACTS | {f"{stage}_us": f"{stage}, us a block" for stage in STAGES},
    takes_models=True,
)
