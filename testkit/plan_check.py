"""What must hold of every plan, for the tests of methods."""

from __future__ import annotations

import numpy as np
import torch

from vocab_lit.methods.plan import Plan
from vocab_lit.methods.registry import RECIPES


def check_plan(plan: Plan, dim: int = 5) -> None:
    "Assert that a plan accounts for every token, by means where its method has them, and repeats with its seed."
    weighed, sampled = np.diff(plan.weights.indptr) > 0, plan.group >= 0
    assert ((plan.step >= 0) & (plan.step < len(plan.steps))).all(), "a token without a step"
    assert ((weighed | plan.is_low_rank) != sampled).all(), "a token is neither weighed nor sampled, or both"
    assert (plan.group < len(plan.groups)).all(), "a token is sampled from no group"
    if plan.recipe not in RECIPES or RECIPES[plan.recipe].means:
        sums = np.asarray(plan.weights.sum(axis=1)).ravel()
        assert np.allclose(sums[weighed], 1, atol=1e-5) and (plan.weights.data >= 0).all(), "a row is no mean"
    matrix = torch.randn(plan.n_source, dim, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(torch.randint(1 << 30, ()).item())
    first = plan.apply(matrix)
    _ = torch.randn(3), np.random.rand(3)
    assert first.shape == (len(plan), dim) and torch.isfinite(first).all() and torch.equal(first, plan.apply(matrix))
