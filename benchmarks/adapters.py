"""Training steps with adapters beside AdapterHub's package."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.claims import Claim, ratio
from benchmarks.runner import Case, Part, as_sides
from testkit.made import TINY
from testkit.peers import adapter_batch, train_steps
from testkit.process import Meter

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@contextlib.contextmanager
def adapter_model(what: str, shape: dict) -> Iterator[PreTrainedModel]:
    "A random BERT as `lapt` (what: language) or `fine_tune` (task) trains it: only adapters and a tagger's head learn."
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertForTokenClassification

    from vocab_lit.models.madx import MadX

    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(**shape, num_labels=17)
        madx = MadX(BertForMaskedLM(config))
        madx.add_language("lang")
        if what == "language":
            with madx.learning("lang") as model:
                yield model.train()
        else:
            attach = madx.attach("task", "lang")
            tagger = BertForTokenClassification(config)
            attach(tagger, tagger.classifier.parameters())
            madx = attach = None  # the masked model is not needed any more
            gc.collect()
            yield tagger.train()


def flops_below(model: PreTrainedModel, inputs: dict) -> int:
    "Operations of a forward pass before the first trainable module: these need no backward pass."
    from torch.utils.flop_counter import FlopCounterMode

    trainable = [m for m in model.modules() if any(p.requires_grad for p in m.parameters(recurse=False))]
    counts = []  # operations until each of these modules begins
    with contextlib.ExitStack() as hooks, FlopCounterMode(display=False) as counter:
        for module in trainable:
            hook = module.register_forward_pre_hook(lambda *_: counts.append(counter.get_total_flops()))
            hooks.callback(hook.remove)
        model(**inputs)
    return counts[0]


def adapters(meter: Meter, side: str, what: str, steps: int, batch: int, length: int, shape: dict) -> dict:
    "Steps of training with a language adapter or a task adapter."
    from transformers import BertConfig

    from vocab_lit.training.lm_loss import lm_loss

    inputs = adapter_batch(what, batch, length, BertConfig(**shape).vocab_size)
    at_labels = side == "vocab_lit" and what == "language"  # logits only where there is a label
    with contextlib.ExitStack() as stack:

        def make():
            model = stack.enter_context(adapter_model(what, shape))
            return model, lambda: lm_loss(model, **inputs) if at_labels else model(**inputs).loss

        facts, model = train_steps(meter, make, steps)
        return facts | dict(below_gflop=flops_below(model, inputs) / 1e9)


TASK = "task on a language that stays"


def adapters_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Batches of growing size with a language adapter, and one with a task adapter."
    tiny = dict(vocab_size=300, max_position_embeddings=16) | TINY
    more = dict(steps=2, length=16, shape=tiny) if small else dict(steps=2, length=128, shape={})
    for batch in sizes:
        yield Case(f"language, {batch} blocks", dict(what="language", batch=batch, **more), batch)
    yield Case(TASK, dict(what="task", batch=4 if small else 8, **more), sides=("vocab_lit", "adapters"))


STEP = "CPU time of a step, adapters / vocab_lit"
CLAIMS = (
    Claim(f"{STEP}, language adapter, 8 blocks", ratio("cpu_seconds", "adapters"), low=1),
    Claim(
        "peak memory, adapters / vocab_lit, the same",
        ratio("peak_mb", "adapters"),
        low=1,
        note="importing this package takes more memory than that one; beyond the imports it takes less",
    ),
    Claim("memory beyond the imports, adapters / vocab_lit, the same", ratio("extra_mb", "adapters"), low=1),
    Claim(
        f"{STEP}, task adapter",
        ratio("cpu_seconds", "adapters", TASK),
        low=1.3,
        note="a task adapter stands in every layer from the first on, and both compute the same; what lies below the "
        "first is a twelfth of the forward pass",
    ),
)
PART = Part(
    "adapters",
    "training steps with adapters beside AdapterHub's package",
    3,
    "blocks of 128 tokens",
    as_sides(adapters, "vocab_lit", "all positions"),
    adapters_cases,
    sizes=(1, 2, 4, 8),
    main=(8,),
    tiny=(4,),
    peers=("adapters",),
    claims=CLAIMS,
    facts=dict(gflop="GFLOP of a step", below_gflop="before what learns", trained="weights that learn"),
)
