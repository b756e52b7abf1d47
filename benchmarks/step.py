"""Peak memory of training steps beside what `step_memory` estimates for them from the configuration."""

from __future__ import annotations

import contextlib

from benchmarks.lapt import random_blocks
from testkit.process import Meter


def step(
    meter: Meter, model: str, n_tokens: int, length: int, micro: int, mode: str, recomputed: bool, half: bool
) -> dict[str, float]:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from vocab_lit.models.lazy_weights import empty_weights
    from vocab_lit.models.trainable import only_new_rows
    from vocab_lit.training.lapt import lapt
    from vocab_lit.training.settings import LaptConfig

    config = AutoConfig.from_pretrained(model)
    tokenizer, blocks = random_blocks(n_tokens or config.vocab_size, 4 * micro, length)
    settings = LaptConfig(steps=2, batch_size=2 * micro, micro_batch=micro, length=length, mode=mode, eval_every=2)
    with meter, contextlib.ExitStack() as stack:
        with empty_weights():
            net = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        net = net.to_empty(device="cpu")
        for name, p in net.named_buffers():
            p.fill_(0.1)
        for p in net.parameters():
            p.data.fill_(0.01)
        net.tie_weights()
        if mode == "new":
            stack.enter_context(only_new_rows(net, range(1000, 3000)))
        more = dict(bf16=half)
        lapt(net, tokenizer, blocks, blocks[:1], settings, gradient_checkpointing=recomputed, **more)
    return dict(parameters=sum(p.numel() for p in net.parameters()))
