"""A factorisation of embeddings beside the updates as they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.claims import Claim, ratio, values
from benchmarks.runner import Case, Part, as_sides
from testkit.process import Meter


def embedding_like(n_tokens: int, dim: int, seed: int = 0) -> np.ndarray:  # float32 (n_tokens, dim)
    "A matrix like embeddings: falling spread over rotated dimensions, and a few dimensions ten times as large."
    rng = np.random.default_rng(seed)
    rows, spread = rng.standard_normal((n_tokens, dim), np.float32), (1 + np.arange(dim)) ** -0.5
    rotation = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    rows = rows * spread.astype(np.float32) @ rotation.astype(np.float32)
    rows[:, rng.choice(dim, 3, replace=False)] *= 10
    return rows + (0.3 * rows.std() * rng.standard_normal(dim)).astype(np.float32)


def printed_steps(X: np.ndarray, G: np.ndarray, n: int) -> np.ndarray:  # (n_tokens, dim), (components, dim); G after n
    "The multiplicative updates of Semi-NMF as Ding et al. (2010) print them, with the whole matrix in each step."
    for _ in range(n):
        F = X @ G.T @ np.linalg.inv(G @ G.T)
        (FX_plus, FX_minus), (FF_plus, FF_minus) = (((abs(M) + M) / 2, (abs(M) - M) / 2) for M in (F.T @ X, F.T @ F))
        G = G * np.sqrt((FX_plus + FF_minus @ G) / (FX_minus + FF_plus @ G + 1e-9))
    return G


def nmf(meter: Meter, side: str, n_tokens: int, dim: int, components: int, steps: dict[str, int]) -> dict:
    "A factorisation of an embedding matrix in each side's steps: its seconds and its error."
    from vocab_lit.methods.semi_nmf import semi_nmf

    X, start = embedding_like(n_tokens, dim), np.random.RandomState(1).random_sample((components, dim)) + 1e-4

    def run(n):
        if side == "printed":
            return printed_steps(X.astype(np.float64), start, n)
        return semi_nmf(X, components, "mu" if side == "vocab_lit" else side, n, seed=1)

    with (once := Meter()):
        run(1)  # starts threads and takes memory
    with meter:
        made = run(steps[side])
    step = (meter.record["cpu_seconds"] - once.record["cpu_seconds"]) / (steps[side] - 1)
    if side == "printed":  # a few steps stand for as many as this package makes
        return dict(cpu_seconds=steps["vocab_lit"] * step, step_seconds=step)
    return dict(step_seconds=step, error=float(made.error / np.linalg.norm(X)))


def nmf_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Matrices of four sizes."
    more = dict(dim=768, components=100, steps=dict(vocab_lit=3000, hals=300, printed=3))
    if small:
        more = dict(dim=32, components=6, steps=dict(vocab_lit=60, hals=10, printed=3))
    for n in sizes:
        yield Case(f"{n:,} tokens", dict(n_tokens=n, **more), n)


N = 120_000  # tokens of the claims
CLAIMS = (
    Claim("CPU seconds, 3,000 steps of mu, 120,000 x 768, 100 components", values("cpu_seconds", case=N), high=40),
    Claim("CPU time, printed updates / mu, measured here", ratio("cpu_seconds", "printed", N)),
    Claim(
        "CPU time, the paper's package (reported with 4.0 s a step; not run) / mu",
        lambda runs: 12_000 / runs.values("cpu_seconds", case=N),
        low=200,
    ),
    Claim("CPU seconds, 300 steps of hals", values("cpu_seconds", "hals", N), high=15),
    Claim("error of hals / error of mu", ratio("error", "hals", N), high=1),
    Claim(
        "a step of mu, 250,000 tokens / 30,000",
        lambda runs: runs.values("step_seconds", case=250_000) / runs.values("step_seconds", case=30_000),
        high=1.1,
    ),
)
PART = Part(
    "nmf",
    "a factorisation (3,000 steps of mu, 300 of hals) beside the updates as they are printed",
    3,
    "tokens",
    as_sides(nmf, "vocab_lit", "hals", "printed"),
    nmf_cases,
    sizes=(30_000, 60_000, 120_000, 250_000),
    main=(30_000, 120_000, 250_000),
    tiny=(400, 800),
    claims=CLAIMS,
    facts=dict(step_seconds="seconds of a step", error="relative error"),
)
