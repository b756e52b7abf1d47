"""GGUF files that are damaged, or made to harm who reads them."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

STRING, ARRAY, U32, F32, U64, I32 = 8, 9, 4, 6, 10, 5
SPACE = "▁"
WORDS = [f"{a}{b}" for a in (SPACE, "a", "e", "m", "j", "i", "n", "h", "b", "r") for b in "aeiou"]
PIECES = ["<unk>", "<s>", "</s>", SPACE, *"abcdefghijklmnopqrstuvwxyz", *WORDS]
MERGES = [f"{word[0]} {word[1]}" for word in WORDS]
N, WIDTH = len(PIECES), 32  # rows of one block
TEXT = "maji ni uhai\nhabari ya asubuhi\n" * 20


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def array(type: int, values: list | np.ndarray, n: int | None = None) -> bytes:
    "An array as an entry's value, with another number of items where that is given."
    n = len(values) if n is None else n
    items = b"".join(map(text, values)) if type == STRING else np.asarray(values, _DTYPES[type]).tobytes()
    return struct.pack("<IIQ", ARRAY, type, n) + items


_DTYPES = {U32: "<u4", F32: "<f4", U64: "<u8", I32: "<i4"}


def number(value: int, type: int = U32) -> bytes:
    return struct.pack("<I", type) + np.array(value, _DTYPES[type]).tobytes()


def string(value: str | bytes) -> bytes:
    return struct.pack("<I", STRING) + text(value)


def entries(**changes: bytes | None) -> list[tuple[str, bytes]]:
    "The metadata of a small model, with some entries changed or left out."
    types = [2, 3, 3] + [1] * (N - 3)
    made = {
        "general.architecture": string("llama"),
        "llama.embedding_length": number(WIDTH),
        "tokenizer.ggml.model": string("llama"),
        "tokenizer.ggml.tokens": array(STRING, PIECES),
        "tokenizer.ggml.scores": array(F32, -np.arange(N, dtype=float)),
        "tokenizer.ggml.token_type": array(I32, types),
        "tokenizer.ggml.bos_token_id": number(1),
        "tokenizer.ggml.eos_token_id": number(2),
        "tokenizer.ggml.unknown_token_id": number(0),
    }
    made |= {name.replace("__", "."): value for name, value in changes.items()}
    return [(name, value) for name, value in made.items() if value is not None]


def tensor(name: str, shape: tuple[int, ...], type: int, offset: int, dimensions: int | None = None) -> bytes:
    "What a header says of a tensor; the shape has the columns first."
    head = struct.pack("<I", len(shape) if dimensions is None else dimensions)
    return text(name) + head + struct.pack(f"<{len(shape)}QIQ", *shape, type, offset)


TABLE = tensor("token_embd.weight", (WIDTH, N), 8, 0)  # Q8_0: 34 bytes a block
ROOM = -(-N * 34 // 32) * 32
NORM = tensor("output_norm.weight", (WIDTH,), 0, ROOM)


def table() -> bytes:
    random = np.random.default_rng(0)
    blocks = random.integers(0, 256, (N, 34), np.uint8)
    blocks[:, :2] = random.uniform(0.001, 0.01, (N, 1)).astype("<f2").view(np.uint8)
    return blocks.tobytes().ljust(ROOM, b"\0")


DATA = table() + np.ones(WIDTH, "<f4").tobytes()


def gguf_file(
    fields: list[tuple[str, bytes]] | None = None,
    tensors: tuple[bytes, ...] = (TABLE, NORM),
    data: bytes = DATA,
    magic: bytes = b"GGUF",
    version: int = 3,
    counts: tuple[int | None, int | None] = (None, None),  # of tensors and entries, where they are not what there is
    alignment: int = 32,
) -> bytes:
    fields = entries() if fields is None else fields
    n = [len(there) if given is None else given for there, given in zip((tensors, fields), counts)]
    head = magic + struct.pack("<IQQ", version, *n)
    head += b"".join(text(name) + value for name, value in fields) + b"".join(tensors)
    return head.ljust(-(-len(head) // alignment) * alignment, b"\0") + data


def gpt2(**changes: bytes | None) -> list[tuple[str, bytes]]:
    "The metadata with a tokenizer of merges."
    byte_level = [piece.replace(SPACE, "Ġ") for piece in PIECES]
    merges = [merge.replace(SPACE, "Ġ") for merge in MERGES]
    given = dict(
        tokenizer__ggml__model=string("gpt2"),
        tokenizer__ggml__pre=string("gpt-2"),
        tokenizer__ggml__tokens=array(STRING, byte_level),
        tokenizer__ggml__scores=None,
        tokenizer__ggml__merges=array(STRING, merges),
    )
    return entries(**given | changes)


def t5(**changes: bytes | None) -> list[tuple[str, bytes]]:
    "The metadata with a Unigram tokenizer."
    return entries(**dict(tokenizer__ggml__model=string("t5")) | changes)


HUGE = 1 << 60
BEYOND = "goes beyond the end of the file"
_TWICE = [*PIECES[:-1], PIECES[-2]]
_SCORES = np.where(np.arange(N) == 40, np.nan, -np.arange(N))


def _with(**changes: bytes | None) -> bytes:
    "A file with some entries changed or left out."
    return gguf_file(entries(**changes))


def _ggml(**changes: bytes | None) -> bytes:
    "A file with some entries of its tokenizer changed or left out."
    return _with(**{f"tokenizer__ggml__{name}": value for name, value in changes.items()})


def hostile() -> Iterator[tuple[str, bytes, str]]:  # name, content, what is said
    "Each file by name, with a part of what is said of it."
    whole = gguf_file()
    begin = whole.index(TABLE)
    cuts = dict(magic=2, version=6, counts=12, entry=50, tokens=700)
    cuts |= dict(tensors=begin + 20, data=len(whole) - 300, end=len(whole) - 1)
    for name, at in cuts.items():
        yield f"cut-in-{name}", whole[:at], "begins with b'GG'|goes beyond the end of the file|do not fit into the file"
    yield "empty", b"", "is empty"
    yield "zeros", bytes(4096), "begins with b'.*' instead of b'GGUF'"
    yield "text", TEXT.encode(), "begins with b'maji' instead of b'GGUF'"
    yield "big-endian", b"GGUF" + struct.pack(">IQQ", 3, 2, 9) + whole[24:], "big-endian, which is not read"
    yield "version-1", gguf_file(version=1), "GGUF of version 1; versions 2 and 3 are read"
    yield "version-99", gguf_file(version=99), "GGUF of version 99"
    yield "many-tensors", gguf_file(counts=(HUGE, None)), "tensors do not fit into the file"
    yield "many-entries", gguf_file(counts=(None, HUGE)), "entries of metadata do not fit into the file"
    yield "more-tensors", gguf_file(counts=(9, None)), "goes beyond the end of the file|dimensions|do not fit"
    yield "more-entries", gguf_file(counts=(None, 12)), "damaged"
    yield "long-name", whole[:24] + struct.pack("<Q", 1 << 32) + bytes(999), BEYOND
    yield "long-string", _with(x=struct.pack("<IQ", STRING, 1 << 32) + b"y"), BEYOND
    yield "longest-string", _with(x=struct.pack("<IQ", STRING, (1 << 64) - 1)), BEYOND
    yield "long-array", _with(x=array(U32, [1], HUGE)), "do not fit into the file"
    yield "long-strings", _with(x=array(STRING, ["a"], HUGE)), "do not fit into the file"
    yield "long-item", _with(x=struct.pack("<IIQQ", ARRAY, STRING, 1, 1 << 62)), BEYOND
    yield "arrays-of-arrays", _with(x=struct.pack("<IIQ", ARRAY, ARRAY, 1) + array(U32, [1])[4:]), "of type 9"
    yield "type-of-entry", _with(x=struct.pack("<I", 77) + bytes(8)), "of type 77"
    yield "entry-twice", gguf_file([*entries(), entries()[0]]), "'general.architecture' stands twice in the metadata"
    yield "tensor-twice", gguf_file(tensors=(TABLE, TABLE)), "'token_embd.weight' stands twice"
    for dimensions in (0, 5, 1 << 31):
        tensors = (TABLE, tensor("x", (WIDTH,), 0, 0, dimensions))
        yield f"{dimensions}-dimensions", gguf_file(tensors=tensors), f"has {dimensions:,} dimensions"
    for name, shape, type, offset, match in (
        ("beyond", (WIDTH,), 0, 1 << 40, BEYOND),
        ("overflow", (WIDTH,), 0, (1 << 64) - 32, BEYOND),
        ("large", (WIDTH, 1 << 40), 8, 0, BEYOND),
        ("largest", (1 << 63, 1 << 63, 1 << 63), 0, 0, BEYOND),
        ("none", (0,), 0, 0, "has rows of 0 values"),
        ("no-blocks", (33,), 8, 0, "rows of 33 values, not of whole blocks of 32"),
        ("unknown", (WIDTH,), 999, 0, "has the type 999"),
        ("crooked", (4,), 0, 2, "begins at 2, no multiple of 32"),
        ("over-another", (4,), 0, 32, "overlaps"),
    ):
        yield f"tensor-{name}", gguf_file(tensors=(TABLE, NORM, tensor("x", shape, type, offset))), match
    for alignment in (0, 3):
        file = _with(general__alignment=number(alignment))
        yield f"alignment-{alignment}", file, f"general.alignment is {alignment}, which is no power of two"
    yield "alignment-huge", _with(general__alignment=number(1 << 31)), BEYOND
    yield "alignment-text", _with(general__alignment=string("32")), "general.alignment is a text instead"
    for name in ("bos", "eos", "unknown"):
        yield (
            f"id-of-{name}",
            _ggml(**{f"{name}_token_id": number(N)}),
            f"{name}_token_id is {N}, and there are {N}",
        )
    yield "ids", _ggml(eos_token_ids=array(U32, [2, 10**6])), "eos_token_ids is 1000000, and there are"
    yield "id-as-text", _ggml(bos_token_id=string("1")), "bos_token_id is a text instead"
    yield "architecture-as-number", _with(general__architecture=number(7)), "number instead of a text"
    yield "template-as-number", _with(tokenizer__chat_template=number(7)), "tokenizer.chat_template"
    yield "no-tokenizer", _ggml(model=None), "has no tokenizer"
    yield "other-tokenizer", _ggml(model=string("rwkv")), "has a tokenizer 'rwkv'"
    yield "tokenizer-as-number", _ggml(model=number(1)), "whole number instead of a text"
    yield "tokenizer-as-list", _ggml(model=array(U32, [1])), "is a list of whole numbers"
    yield "no-tokens", _ggml(tokens=None), "has no list tokenizer.ggml.tokens"
    yield "0-tokens", _ggml(tokens=array(STRING, [])), "has no list tokenizer.ggml.tokens"
    yield "tokens-as-numbers", _ggml(tokens=array(U32, [1] * N)), "is a list of whole numbers"
    yield "token-twice", _ggml(tokens=array(STRING, _TWICE)), "stands twice among"
    yield "token-not-utf-8", _ggml(tokens=array(STRING, [*PIECES[:-1], b"\xff\xfe"])), "is not UTF-8"
    yield "few-tokens", _ggml(tokens=array(STRING, PIECES[:-1])), "has .* entries for"
    yield "few-scores", _ggml(scores=array(F32, [0.0] * 9)), "scores has 9 entries for"
    yield "no-scores", _ggml(scores=None), "scores"
    yield "scores-as-text", _ggml(scores=array(STRING, ["a"] * N)), "scores"
    yield "scores-nan", _ggml(scores=array(F32, _SCORES)), "scores .*nan"
    yield "few-types", _ggml(token_type=array(I32, [1] * 9)), "token_type has 9 entries for"
    yield "types-as-text", _ggml(token_type=array(STRING, ["a"] * N)), "token_type"
    yield "type-unknown", _ggml(token_type=array(I32, [99] * N)), "token_type"
    for name, merges, match in (
        ("bare", array(STRING, ["ab", *MERGES]), "merge 'ab'"),
        ("empty", array(STRING, ["", *MERGES]), "merge ''"),
        ("numbers", array(U32, [1, 2]), "merges"),
        ("unknown", array(STRING, ["q zq"]), "merge 'q zq'"),
    ):
        yield f"merges-{name}", gguf_file(gpt2(tokenizer__ggml__merges=merges)), match
    yield "no-merges", gguf_file(gpt2(tokenizer__ggml__merges=None)), "merges"
    yield "pre-as-number", gguf_file(gpt2(tokenizer__ggml__pre=number(3))), "pre"
    charsmap = array(U32, [1, 2, 3])
    yield "charsmap", gguf_file(t5(tokenizer__ggml__precompiled_charsmap=charsmap)), "precompiled_charsmap"
    control = array(I32, [2] + [3] * (N - 1))
    yield "no-normal-token", gguf_file(t5(tokenizer__ggml__token_type=control)), "none of its tokens is an ordinary one"
    for name, note in (("text", "none"), ("list", "[1]"), ("nested", "[" * 10**5)):
        yield f"note-{name}", _with(vocab_lit__note=string(note)), "vocab_lit.note is damaged"
    yield "id-as-list", _ggml(eos_token_id=array(U32, [2])), "eos_token_id is a list of whole numbers instead"
    yield "no-table", gguf_file(tensors=(NORM,)), "there is no token_embd.weight"
    short = tensor("token_embd.weight", (WIDTH, N - 1), 8, 0)
    yield "short-table", gguf_file(tensors=(short, NORM)), f"has {N - 1} rows, and there are {N} tokens"
    yield "split-in-parts", _with(split__count=number(3)), "parts"


def places(folder: Path) -> Iterator[tuple[str, str]]:  # name, what is said
    "What has the name of a file and is none, or not all of one."
    (folder / "folder.gguf").mkdir()
    yield "folder.gguf", "folder.gguf has no config.json|the result of a model's folder is a folder"
    (folder / "loop.gguf").symlink_to(folder / "loop2.gguf")
    (folder / "loop2.gguf").symlink_to(folder / "loop.gguf")
    yield "loop.gguf", "loop.gguf: no such file"
    (folder / "nothing.gguf").symlink_to(folder / "nowhere")
    yield "nothing.gguf", "nothing.gguf: no such file"
    yield "none.gguf", "none.gguf: no such file"
    for number in (1, 3):
        (folder / f"parts-0000{number}-of-00003.gguf").write_bytes(gguf_file())
    yield "parts-00001-of-00003.gguf", "parts-00002-of-00003.gguf is missing"
    tables = (TABLE, NORM), (NORM,)
    for number, tensors in enumerate(tables, 1):
        (folder / f"two-0000{number}-of-00002.gguf").write_bytes(gguf_file(tensors=tensors))
    yield "two-00001-of-00002.gguf", "another part has the tensor 'output_norm.weight' too"
    of_parts = dict(split__no=number_u16(0), split__count=number_u16(2))
    (folder / "mixed-00001-of-00002.gguf").write_bytes(gguf_file(entries(**of_parts), (TABLE,)))
    others = [("general.architecture", string("llama")), ("split.no", number_u16(1)), ("split.count", number_u16(3))]
    (folder / "mixed-00002-of-00002.gguf").write_bytes(gguf_file(others, (NORM,)))
    yield "mixed-00001-of-00002.gguf", "is one of 3 parts of a model, and here are 2"


def number_u16(value: int) -> bytes:
    return struct.pack("<IH", 2, value)
