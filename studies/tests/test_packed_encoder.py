import json
import struct

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import AutoModel, AutoTokenizer

from studies.models.packed_encoder import PackedFile, unpack_encoder

PIECES = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "▁a": -1.0, "b": -2.0, "<mask>": 0.0}
WIDTH, INNER, ROWS, POSITIONS = 32, 64, 8, 16


def _four_bits(values):
    "Whole numbers from -8 to 7 in blocks of 32 with the scale 1/2, one block after the other."
    parts = []
    for block in values.reshape(-1, 32) + 8:
        parts.append(struct.pack("<e", 0.5) + bytes(int(low) | int(high) << 4 for low, high in zip(block, block[16:])))
    return b"".join(parts)


@pytest.fixture
def packed(tmp_path):
    "A file of one layer, and what its tensors stand for."
    draw = np.random.default_rng(0)
    matrices = {"emb.word": (ROWS, WIDTH), "l0.fi.w": (INNER, WIDTH), "l0.fo.w": (WIDTH, INNER)}
    matrices |= {f"l0.{name}.w": (WIDTH, WIDTH) for name in ("q", "k", "v", "ao")}
    vectors = {"emb.pos": POSITIONS * WIDTH, "emb.type": 2 * WIDTH, "l0.fi.b": INNER}
    vectors |= {f"l0.{name}.b": WIDTH for name in ("q", "k", "v", "ao", "fo")}
    vectors |= {f"{name}.{part}": WIDTH for name in ("emb.ln", "l0.aln", "l0.oln") for part in "wb"}
    meant, stored = {}, {}
    for name, shape in matrices.items():
        whole = draw.integers(-8, 8, shape)
        meant[name], stored[name] = whole / 2, _four_bits(whole)
    for name, n in vectors.items():
        meant[name] = draw.normal(size=n).astype("<f4")
        stored[name] = meant[name].tobytes()

    text = "".join(PIECES).encode()
    ends = np.cumsum([0] + [len(piece.encode()) for piece in PIECES]).astype("<u4")
    head = b"E5S1" + struct.pack("<i7ifi", 1, WIDTH, 1, 2, INNER, ROWS, POSITIONS, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text))
    head += ends.tobytes() + np.array(list(PIECES.values()), "<f4").tobytes() + text
    head += struct.pack("<iI", 0, 0) + struct.pack("<i", len(stored))
    at = len(head) + sum(2 + len(name) + 1 + 4 + 16 for name in stored)
    for name, content in stored.items():
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, at, len(content))
        at += len(content)
    (tmp_path / "x.bin").write_bytes(head + b"".join(stored.values()))
    return tmp_path / "x.bin", meant


def test_the_folder_has_the_weights_that_the_file_stands_for_and_its_pieces(packed, tmp_path):
    path, meant = packed
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0)], 0))
    tokenizer.add_special_tokens([*PIECES][:4])
    parts = json.loads(tokenizer.to_str())
    parts["pre_tokenizer"] = dict(type="Metaspace", replacement="▁", prepend_scheme="always", split=True)
    parts["model"]["unk_id"] = 3
    (tmp_path / "tokenizer.json").write_text(json.dumps(parts), encoding="utf-8")
    unpack_encoder(path, tmp_path / "tokenizer.json", tmp_path / "out")
    model = AutoModel.from_pretrained(tmp_path / "out", add_pooling_layer=False)
    weights = model.state_dict()
    assert np.array_equal(weights["embeddings.word_embeddings.weight"], meant["emb.word"])
    assert np.array_equal(weights["encoder.layer.0.intermediate.dense.weight"], meant["l0.fi.w"])
    assert torch.equal(weights["encoder.layer.0.output.LayerNorm.bias"], torch.from_numpy(meant["l0.oln.b"]))
    ours = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert ours.convert_ids_to_tokens(ours("ab")["input_ids"]) == ["▁a", "b"]


def test_another_file_is_refused_by_name(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ValueError, match=r"x\.bin: not a packed encoder of version 1"):
        PackedFile(tmp_path / "x.bin")
