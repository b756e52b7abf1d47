"""The bytes of tensors that are alive, and their peak, as a computation goes on."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class LiveBytes(TorchDispatchMode):
    "Counts the bytes of each tensor that is made inside the block, until nothing refers to it; `peak` is their most."

    def __init__(self, known: Iterable[torch.Tensor] = ()):  # counted from the start
        super().__init__()
        self.now = self.peak = 0
        self.counted = weakref.WeakSet()
        self._count(known)

    def _count(self, tensors: Iterable[object]) -> None:
        for tensor in tensors:
            if not isinstance(tensor, torch.Tensor) or tensor.untyped_storage() in self.counted:
                continue
            storage = tensor.untyped_storage()
            self.counted.add(storage)
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._forget, storage.nbytes())

    def _forget(self, size: int) -> None:
        self.now -= size

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **kwargs or {})
        self._count(tree_leaves(result))
        return result


def bytes_of_steps(model: PreTrainedModel, ids: torch.Tensor, labels: torch.Tensor, half: bool = False) -> int:
    "The most bytes that the tensors of two real steps of training hold."
    from vocab_lit.training.lm_loss import in_mode, lm_loss

    adam = torch.optim.AdamW(model.parameters())
    with LiveBytes(model.parameters()) as live, in_mode(model, training=True):
        for _ in range(2):
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                loss = lm_loss(model, ids, labels, "sum")
            loss.backward()
            adam.step()
    return live.peak
