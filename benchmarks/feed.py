"""How many blocks of text a process makes ready for training in a second, stage by stage, beside transformers' collator."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.baselines import Meter, _memory
from benchmarks.bench import CLAIMS, PARTS, Case, Claim, Part, Runs, exponent, random_tokenizers
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    from vocab_lit.training.lm_data import MaskedBlocks


_STAGES = ("order", "read", "mask", "collate")
_LENGTH = 256  # tokens of a block


def _collate(rows, masked):
    from vocab_lit.training.trainer import _with_positions

    return _with_positions(rows, 0.15, masked, fixed_shapes=False)


def stage_times(
    data: MaskedBlocks,  # of which every block is made ready
    batch: int,  # blocks
) -> dict[str, float]:  # {stage: microseconds of the processor for each block}
    "What each stage of the feed takes, one stage after the other."
    seconds = Counter()

    def timed(stage, do, *given):
        began = time.process_time()
        done = do(*given)
        seconds[stage] += time.process_time() - began
        return done

    for start in range(0, len(data), batch):
        places = range(start, min(start + batch, len(data)))
        chosen = timed("order", data._order, places)
        inputs = labels = timed("read", data.blocks.__getitem__, chosen)
        if data.tokenizer is not None:
            inputs, labels = timed("mask", data.masked, inputs, places)
        rows = [{"input_ids": shown, "labels": asked} for shown, asked in zip(inputs, labels)]
        timed("collate", _collate, rows, data.tokenizer is not None)
    return {f"{stage}_us": seconds[stage] / len(data) * 1e6 for stage in _STAGES if stage in seconds}


def _ours(tokenizer, file, masked, n_blocks):
    from torch.utils.data import DataLoader

    from vocab_lit.training.lm_data import MaskedBlocks, PackedBlocks

    data = MaskedBlocks(PackedBlocks(file, _LENGTH), n_blocks, tokenizer if masked else None)
    return data, DataLoader(data, 32, collate_fn=lambda rows: _collate(rows, masked))


def _theirs(tokenizer, file, masked, n_blocks):
    from torch.utils.data import DataLoader
    from transformers import DataCollatorForLanguageModeling

    blocks = np.fromfile(file, "<i4").reshape(-1, _LENGTH).tolist()
    rows = [dict(input_ids=ids, attention_mask=[1] * _LENGTH, special_tokens_mask=[0] * _LENGTH) for ids in blocks]
    data = [rows[i % len(rows)] for i in range(n_blocks)]
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # this collator wants one, though nothing is padded
    return data, DataLoader(data, 32, collate_fn=DataCollatorForLanguageModeling(tokenizer, mlm=masked))


def feed(
    meter: Meter,
    side: str,  # vocab_lit or transformers
    tokenizer: str,  # folder or hub name
    file: str,  # of packed blocks
    masked: bool,  # whether it is for a masked model
    n_blocks: int,  # that are made ready; the first tenth is not counted
) -> dict:
    "Batches for training."
    from vocab_lit.tokens.tokenizer import load_tokenizer

    data, loader = (_ours if side == "vocab_lit" else _theirs)(load_tokenizer(tokenizer), file, masked, n_blocks)
    batches, begun = iter(loader), len(loader) // 10 + 1
    for _ in itertools.islice(batches, begun):
        pass
    before = _memory()[0]
    with meter:
        counted = sum(len(batch["input_ids"]) for batch in batches)
    grown = _memory()[0] - before
    told = dict(blocks_per_second=counted / max(meter.record["cpu_seconds"], 1e-9), grown_mb=max(0.0, grown))
    return told | (stage_times(data, 32) if side == "vocab_lit" else {})


def packing(
    meter: Meter,
    side: str,  # vocab_lit or tokenizer
    tokenizer: str,  # folder or hub name
    file: str,  # of text
) -> dict:
    "Lines packed into a file of blocks, or just tokenized."
    from vocab_lit.tokens.tokenizer import load_tokenizer
    from vocab_lit.training.lm_data import pack

    texts = Path(file).read_text(encoding="utf-8").splitlines()
    tokenize = load_tokenizer(tokenizer)
    tokenize(texts[:10])
    with meter:
        if side == "vocab_lit":
            pack(tokenize, texts, _LENGTH, f"{file}.blocks")
        else:
            for start in range(0, len(texts), 1000):
                tokenize(texts[start : start + 1000])
    return dict(lines_per_second=len(texts) / max(meter.record["cpu_seconds"], 1e-9))


def side(
    meter: Meter,
    what: str,  # feed or packing
    **arguments,  # as that function takes them
) -> dict:
    "One side of the part."
    return (packing if what == "packing" else feed)(meter, **arguments)


def _write_blocks(path, tokenizer, n_blocks) -> None:
    "Blocks of random ordinary tokens."
    ordinary = np.array(sorted(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids)), "<i4")
    np.random.default_rng(0).choice(ordinary, (n_blocks, _LENGTH)).tofile(path)


def _named(models, place, sizes) -> Iterator[tuple[str, str]]:
    "Tokenizers of models that are named, or made in some sizes: name and folder."
    if models:
        yield from ((Path(model).name, model) for model in models)
        return
    for size in sizes:
        made = place / f"{size}"
        random_tokenizers(size, 10, 0)[0].save_pretrained(made)
        yield "made", str(made)


def feed_cases(
    place: Path,  # folder for what the cases read
    sizes: tuple,  # tokens in the vocabularies that are made
    small: bool,  # whether it is a trial in seconds
    models: Sequence[str] = (),  # folders or hub names, whose vocabularies take the place of those
) -> Iterator[Case]:
    "Masked and causal feeds of each vocabulary, and packing."
    from vocab_lit.text.phrasebook import lines
    from vocab_lit.tokens.tokenizer import load_tokenizer

    for name, folder in _named(models, place, sizes):
        tokenizer, file = load_tokenizer(folder), str(place / "tokens")
        size = len(tokenizer)
        _write_blocks(file, tokenizer, 40 if small else 4000)
        kinds = {"causal": False} if tokenizer.mask_token is None else {"masked": True, "causal": False}
        for kind, masked in kinds.items():
            given = dict(what="feed", tokenizer=folder, file=file, masked=masked, n_blocks=80 if small else 8000)
            label = f"{kind}, {name}, {size:,} tokens"
            yield Case(label, given, size, kind, sides=("vocab_lit", "transformers"), once=bool(models))
    text = place / "text.txt"
    text.write_text("\n".join(lines("sw", 60 if small else 20_000, seed=0)), encoding="utf-8")
    for model in models or [str(data_path("models", "mini-xlmr"))]:
        given = dict(what="packing", tokenizer=model, file=str(text))
        yield Case(f"packing, {Path(model).name}", given, sides=("vocab_lit", "tokenizer"))


def _side(name):
    return "benchmarks.feed.side", dict(side=name)


PARTS["feed"] = Part(
    "blocks made ready for training in a second and process, stage by stage, beside the collator of transformers; and "
    "packing beside the bare tokenizer",
    1,
    {name: _side(name) for name in ("vocab_lit", "transformers", "tokenizer")},
    feed_cases,
    "tokens in the vocabulary",
    (8000, 50_265, 119_547, 250_002),
    (8000, 250_002),
    (200,),
    facts=dict(blocks_per_second="blocks per second", lines_per_second="lines per second", grown_mb="MB grown")
    | {f"{stage}_us": f"{stage}, us a block" for stage in _STAGES},
    takes_models=True,
)


def _curve(runs, kind, measure) -> dict[int, float]:  # {tokens in the vocabulary: median}
    table = runs.table
    if measure not in table:
        return {}
    ours = table[(table.series == kind) & (table.side == "vocab_lit")]
    return ours.groupby("size")[measure].median().dropna().to_dict()


def slowest(kind: str) -> Callable[[Runs], list[float]]:
    "A claim's number: blocks per second with the vocabulary with which they are fewest."

    def value(runs: Runs) -> list[float]:
        return [min(found.values())] if (found := _curve(runs, kind, "blocks_per_second")) else []

    return value


def growth_of_stages(runs: Runs) -> list[float]:
    "A claim's number: the power of the vocabulary with which the stage grows that grows most."
    curves = [_curve(runs, "masked", f"{stage}_us") for stage in _STAGES]
    grown = [exponent(list(curve), list(curve.values())) for curve in curves if len(curve) > 1]
    return [max(grown)] if grown else []


def _packing_share(runs) -> list[float]:
    "A claim's number: how fast packing is, as a share of the bare tokenizer's speed."
    cases = [case for case in runs.table.case.unique() if case.startswith("packing")]
    return [value for case in cases for value in runs.ratio("cpu_seconds", "tokenizer", case)]


def _memory_grown(runs) -> list[float]:
    "A claim's number: by how many MB memory grows with the vocabulary with which it grows most."
    curves = [_curve(runs, kind, "grown_mb") for kind in ("masked", "causal")]
    return [max(curve.values()) for curve in curves if curve]


def _times_theirs(kind) -> Callable[[Runs], list[float]]:
    "A claim's number: how many times as much time the collator of transformers takes."

    def value(runs):
        cases = [case for case in runs.table.case.unique() if case.startswith(kind)]
        return [float(np.median(runs.ratio("cpu_seconds", "transformers", case))) for case in cases]

    return value


CLAIMS += [
    Claim("feed", "masked blocks of 256 tokens a second and process, the slowest vocabulary", slowest("masked"), 8000),
    Claim("feed", "causal blocks, the same", slowest("causal"), 15_000),
    Claim("feed", "CPU time, transformers / vocab_lit, masked", _times_theirs("masked"), 1),
    Claim("feed", "CPU time, transformers / vocab_lit, causal", _times_theirs("causal"), 1),
    Claim("feed", "packing's speed / the bare tokenizer's", _packing_share, 0.8),
    Claim("feed", "the stage that grows most grows with the vocabulary to the power of", growth_of_stages, high=0.1),
    Claim("feed", "MB that memory grows by after the first tenth of the blocks", _memory_grown, high=4),
]
