"FSDP among processes without GPUs, for tests: Accelerate itself divides a model among GPUs only."

from __future__ import annotations

import os
from typing import Any

from accelerate.state import AcceleratorState, DistributedType, PartialState

import vocab_lit.training.sharding
from vocab_lit.models.device import Device

_usual = AcceleratorState.__init__


def _init(self: AcceleratorState, *args: Any, **more: Any) -> None:
    _usual(self, *args, **more)
    if plugin := more.get("fsdp_plugin"):
        self.distributed_type = PartialState._shared_state["distributed_type"] = DistributedType.FSDP
        self.fsdp_plugin = plugin
        if self._mixed_precision != "no":
            plugin.set_mixed_precision(self._mixed_precision)


def shard_on_cpus(**settings: str) -> None:
    "Let Accelerate divide models among CPU processes, with environment variables as from `accelerate launch`."
    os.environ.update(settings)
    AcceleratorState.__init__ = _init
    vocab_lit.training.sharding.find_device = lambda: Device("cuda", "")
