"""A decoder of up to 6 billion weights gets a target vocabulary, in its files or loaded."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.claims import Claim, values
from benchmarks.runner import Case, Part, as_sides
from testkit.made import random_tokenizers
from testkit.process import Meter


def write_decoder(folder: Path, n_tokens: int, hidden: int, layers: int = 32) -> None:
    "Write a Llama in bf16, a file for each layer, one in memory at a time; all layers have the same weights."
    import torch
    from safetensors.torch import save_file
    from transformers import LlamaConfig, LlamaForCausalLM

    widths = dict(hidden_size=hidden, intermediate_size=hidden * 9 // 4, num_hidden_layers=layers)
    heads = dict(num_attention_heads=hidden // 64, num_key_value_heads=hidden // 256 or 1)
    kind = dict(tie_word_embeddings=False, dtype="bfloat16", architectures=["LlamaForCausalLM"])
    ids = dict(vocab_size=n_tokens, bos_token_id=0, eos_token_id=2, pad_token_id=1)
    config = LlamaConfig(**widths, **heads, **kind, **ids, max_position_embeddings=4096)
    config.save_pretrained(folder)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in LlamaForCausalLM(config).named_parameters()}

    def random(name):
        return torch.randn(shapes[name], dtype=torch.bfloat16) * 0.02

    first_layer = {name: random(name) for name in shapes if ".layers.0." in name}
    files = {
        "model-head.safetensors": ["lm_head.weight", "model.norm.weight"],
        "model-embeddings.safetensors": ["model.embed_tokens.weight"],
    }
    files |= {f"model-{n:02}.safetensors": [k.replace(".0.", f".{n}.") for k in first_layer] for n in range(layers)}
    for file, names in files.items():
        like = {name: re.sub(r"layers\.\d+", "layers.0", name) for name in names}
        tensors = {name: first_layer[k] if k in first_layer else random(k) for name, k in like.items()}
        save_file(tensors, folder / file, {"format": "pt"})
    weight_map = {name: file for file, names in files.items() for name in names}
    index = json.dumps({"metadata": {}, "weight_map": weight_map})
    (folder / "model.safetensors.index.json").write_text(index)


def digest(folder: Path) -> str:
    "A hash of all tensors by name, whatever files they are in."
    import torch
    from safetensors import safe_open

    hashes = {}
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as f:
            for name in f.keys():  # noqa: SIM118 (a file has no iterator)
                hashes[name] = hashlib.sha256(f.get_tensor(name).view(torch.uint8).numpy()).hexdigest()
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]


def token_bytes(folder: str) -> int:
    "Bytes of the embeddings and the head."
    from vocab_lit.models.lazy_weights import stored_tensors

    stored = stored_tensors(folder)
    return sum(stored[name].bytes for name in ("lm_head.weight", "model.embed_tokens.weight") if name in stored)


def transplant(meter: Meter, side: str, model: str, tokenizer: str, vectors: str, out: str) -> dict:
    "A target vocabulary for a decoder, in its files or with the model in memory."
    from vocab_lit.methods.settings import TransplantSettings
    from vocab_lit.models import pipeline
    from vocab_lit.models.source import Source

    loaded = patch.object(Source, "open_weights", Source.load) if side == "loaded" else contextlib.nullcontext()
    with loaded, meter:
        settings = TransplantSettings.of(method="focus", tokenizer=tokenizer, vectors=vectors)
        pipeline.transplant_files(model, [], out, settings)
    tokens = max(token_bytes(model), token_bytes(out)) / 2**20
    facts = dict(tokens_mb=tokens, times=meter.record["extra_mb"] / tokens, digest=digest(Path(out)))
    shutil.rmtree(out)
    return facts


def transplant_cases(place: Path, sizes: tuple, small: bool) -> Iterator[Case]:
    "Decoders of growing width, with two sizes of the target vocabulary."
    from vocab_lit.vectors.token_vectors import TokenVectors, save_vectors

    n_old, layers, news = (300, 2, (200,)) if small else (128_256, 32, (50_000, 128_256))
    rng = np.random.default_rng(0)
    for n in news:
        old, new = random_tokenizers(n_old, n, n // 5)
        new.save_pretrained(place / f"{n}")
        points = rng.normal(size=(200, 64))[rng.integers(200, size=n)] + rng.normal(size=(n, 64))
        save_vectors(TokenVectors(points.astype(np.float32), np.arange(n) > 4, "random"), new, place / f"{n}.npz")
    for width in sizes:
        model = place / f"model-{width}"
        model.mkdir()
        write_decoder(model, n_old, width, layers)
        old.save_pretrained(model)
        for n in news:
            paths = dict(model=model, tokenizer=place / f"{n}", vectors=place / f"{n}.npz", out=place / "out")
            case = {name: str(path) for name, path in paths.items()}
            yield Case(f"{width} dimensions, {n_old:,} to {n:,} tokens", case, width, f"to {n:,} tokens")
        shutil.rmtree(model)


def _different_results(runs):
    return runs.table.groupby("case").digest.nunique() - 1


CLAIMS = (
    Claim("extra memory / embeddings and head, weights in their files, largest decoder", values("times"), high=1.5),
    Claim("the same with all weights loaded", values("times", "loaded")),
    Claim("different results of the two ways", _different_results, high=0),
)
PART = Part(
    "transplant",
    "a decoder of up to 6 billion weights gets a new vocabulary, in its files or loaded (25 GB of disk)",
    12,
    "dimensions",
    as_sides(transplant, "vocab_lit", "loaded"),
    transplant_cases,
    sizes=(512, 1024, 2048, 4096),
    main=(4096,),
    tiny=(128,),
    claims=CLAIMS,
    facts=dict(tokens_mb="MB of embeddings and head", times="extra over these", digest="result"),
    exact=True,
    named=True,
)
