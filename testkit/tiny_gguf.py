"""Small GGUF files that llama.cpp runs: one for each tokenizer model, trained on a little text, with random weights."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from testkit.tiny_tokenizers import kept_text, train_sentencepiece

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # GGUF's types of tokens
WIDTH, LAYERS = 256, 2  # 256 values are a block of the K types
CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


@dataclass
class Tokens:
    "A tokenizer as GGUF has it."

    model: str  # llama, gpt2, t5 or bert
    tokens: list[str]
    types: list[int]
    scores: list[float] | None = None
    merges: list[str] | None = None
    more: dict[str, Any] = field(default_factory=dict)  # entries below tokenizer.ggml


def _sentencepiece(**options: Any) -> Any:  # a ModelProto
    "A SentencePiece model of the phrasebook."
    from transformers.convert_slow_tokenizer import import_protobuf

    protobuf: Any = import_protobuf()
    model = protobuf.ModelProto()
    model.ParseFromString(train_sentencepiece(kept_text(), **options))
    return model


def _of_pieces(name: str, model: Any, **more: Any) -> Tokens:
    pieces = model.pieces  # SentencePiece's types of pieces have the numbers of GGUF's
    types = [p.type for p in pieces]
    return Tokens(name, [p.piece for p in pieces], types, [p.score for p in pieces], more=more)


@functools.cache
def llama_tokens(size: int = 2500, space_prefix: bool = True) -> Tokens:
    "Merges by scores, with byte fallback and tokens of its own."
    own = ["\n\n", "\n\n\n", "<table>", "habari"]
    rules = dict(normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.995)
    symbols = dict(byte_fallback=True, user_defined_symbols=own, control_symbols=["<|end|>"])
    model = _sentencepiece(model_type="bpe", vocab_size=size, **rules, **symbols)
    ids = dict(unknown_token_id=0, bos_token_id=1, eos_token_id=2)
    return _of_pieces("llama", model, **ids, add_space_prefix=space_prefix, add_bos_token=True, add_eos_token=False)


@functools.cache
def t5_tokens(size: int = 3500) -> Tokens:
    "A Unigram model, with SentencePiece's normalisation."
    roles = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    limits = dict(vocab_size=size, hard_vocab_limit=False, character_coverage=0.998)
    model = _sentencepiece(model_type="unigram", user_defined_symbols=["<table>", "habari"], **limits, **roles)
    table = model.normalizer_spec.precompiled_charsmap
    ids = dict(padding_token_id=0, eos_token_id=1, unknown_token_id=2)
    rules = dict(add_space_prefix=True, remove_extra_whitespaces=True, precompiled_charsmap=table)
    return _of_pieces("t5", model, **ids, **rules, add_bos_token=False, add_eos_token=True)


SPLIT_TRIALS = (  # whatever is written together in one tokenizer and apart in another
    "Don't DON'T I'LL we've WE'VE it's 'S 't x'Re 's' it’s I'd've ''s 's ſ 's 'ſ 'K 'Tis l'été",
    "a  b   c    d\t\te \n\n f \r\n\r\n g  \n\th  ",
    "1 12 123 1234 12345 1234567 1,234.5 ½ ¼3 ١٢٣٤ १२३४५ 2026-11-25 x1y22z333 12ab 1234abcd 12_34 2nd",
    "   \n  x \n\n\n y",
    "CamelCase camelCaseHTTPServer ПриветМир ПРИВЕТмир ΑβΓδ ÉcoleÉCOLE",
    "~abc ~ ~~ a~b ~я `x` ^y $5 +a <b> =c |d| §e ©f №g",
    "http://a.b/c?d=e&f=g#h //comment /* x */ foo_bar-baz.qux(x)[y]{z} !!!\n\n???\r\n/x a/b\n/c #!/y",
    "हिन्दी किताब क्షమించండి ภาษาไทยนี้ 한국어 문장ㄱㄴ 日本語カナかな中文。、！ㄅㄆ〇中abc中ꆈꌠabcꆈ豈가a",
    "😀👩‍👩‍👧 ☃❤️ 🇹🇿x😀",
    "a\u00a0b\u3000c\u2003d \u00a0 e\u0085f\u2028g\u200bh\u00adi\u200dj",
    "Tie\u0302\u0301ng e\u0301te\u0301 n\u0303o \u0301x a\u0308\u0301b",
    "<sentinel:3>IMGIMGABZ a    b  c",
    "…“quoted” ‘q’ —dash…，。！x «y» ¿z?",
    "one two three four five six seven",
    f"x{' ' * 5}y{' ' * 9}z{' ' * 17}",
)


def gpt2_tokens(size: int = 2500, pre: str = "smollm", shows_splits: bool = False) -> Tokens:
    "Byte-level BPE; so that ids show where a text is split, it can have each of `SPLIT_TRIALS` as one token."
    tokens, merges = _merges_of_bytes(size, shows_splits)
    types = [CONTROL] * 3 + [NORMAL] * (len(tokens) - 5) + [USER_DEFINED] * 2
    more = dict(pre=pre, bos_token_id=1, eos_token_id=2, unknown_token_id=0, padding_token_id=2, add_bos_token=False)
    return Tokens("gpt2", list(tokens), types, merges=list(merges), more=more)


@functools.cache
def _merges_of_bytes(size: int, shows_splits: bool) -> tuple[list[str], list[str]]:  # tokens, merges
    backend, text = Tokenizer(models.BPE()), [*kept_text(), *SPLIT_TRIALS * 50 * shows_splits]
    digits = pre_tokenizers.Digits(individual_digits=True)
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not shows_splits)
    backend.pre_tokenizer = bytes_only if shows_splits else pre_tokenizers.Sequence([digits, bytes_only])
    special, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    options: dict[str, Any] = dict(special_tokens=special, initial_alphabet=sorted(alphabet), show_progress=False)
    backend.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, **options))
    vocab = backend.get_vocab()
    tokens = [*sorted(vocab, key=vocab.__getitem__), "<table>", "habari"]
    return tokens, [" ".join(merge) for merge in json.loads(backend.to_str())["model"]["merges"]]


@functools.cache
def bert_tokens(size: int = 2500, lowercase: bool = True) -> Tokens:
    "A WordPiece model, of which GGUF marks the beginnings of words."
    from transformers import BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    steps = BertTokenizer(vocab={token: i for i, token in enumerate(special)}, do_lower_case=lowercase)
    backend.normalizer, backend.pre_tokenizer = steps.backend_tokenizer.normalizer, pre_tokenizers.BertPreTokenizer()
    options: dict[str, Any] = dict(vocab_size=size, special_tokens=special, show_progress=False)
    trainer = trainers.WordPieceTrainer(limit_alphabet=600, **options)
    backend.train_from_iterator(kept_text(), trainer)
    vocab = backend.get_vocab()
    pieces = sorted(vocab, key=vocab.__getitem__)
    marked = [piece[2:] if piece.startswith("##") else f"▁{piece}" for piece in pieces[5:]]
    roles = dict(padding=0, unknown=1, cls=2, seperator=3, mask=4, bos=2)
    ids = {f"{role}_token_id": id for role, id in roles.items()}
    if not lowercase:
        ids["normalizer.lowercase"] = False
    return Tokens("bert", special + marked, [CONTROL] * 5 + [NORMAL] * len(marked), more=ids | dict(token_type_count=2))


TOKENS = dict(llama=llama_tokens, gpt2=gpt2_tokens, t5=t5_tokens, bert=bert_tokens)


def _blocks(random: np.random.Generator, rows: int, columns: int, type: gguf.GGMLQuantizationType) -> np.ndarray:
    "A random table in a type that the package gguf cannot quantise: any bytes, with small scales."
    values, size = gguf.GGML_QUANT_SIZES[type]
    blocks = random.integers(0, 256, (rows, columns // values, size), np.uint8)
    scales = {"Q4_K": slice(0, 4), "Q5_K": slice(0, 4), "Q6_K": slice(208, 210)}[type.name]
    n = blocks[..., scales].shape[-1] // 2
    small = random.uniform(0.0005, 0.001, (*blocks.shape[:2], n)).astype(np.float16)
    blocks[..., scales] = small.view(np.uint8)
    return blocks.reshape(rows, -1)


class _Weights:
    "Random weights, in the order in which they are asked for."

    def __init__(self, writer: gguf.GGUFWriter, seed: int):
        self.writer, self.random = writer, np.random.default_rng(seed)

    def add(self, name: str, rows: int, columns: int = WIDTH, type: str = "F32", scale: float = 1 / 6) -> None:
        kind = gguf.GGMLQuantizationType[type]
        if type.endswith("_K"):
            table = _blocks(self.random, rows, columns, kind)
        else:
            values = self.random.normal(0, scale, (rows, columns)).astype(np.float32)
            table = gguf.quants.quantize(values, kind)
        self.writer.add_tensor(f"{name}.weight", table, raw_dtype=kind)

    def norm(self, name: str) -> None:
        self.writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))

    def bias(self, name: str) -> None:
        self.writer.add_tensor(f"{name}.bias", np.zeros(WIDTH, np.float32))


def _decoder(writer: gguf.GGUFWriter, weights: _Weights, n: int, table: str, tied: bool) -> None:
    "The architecture of Llama."
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 4)
    writer.add_vocab_size(n)
    weights.add("token_embd", n, type=table, scale=1)
    if not tied:
        weights.add("output", n, type=table, scale=1)
    weights.norm("output_norm")
    for block in (f"blk.{i}" for i in range(LAYERS)):
        weights.norm(f"{block}.attn_norm")
        weights.norm(f"{block}.ffn_norm")
        for name, rows in dict(attn_q=WIDTH, attn_k=WIDTH // 2, attn_v=WIDTH // 2, attn_output=WIDTH).items():
            weights.add(f"{block}.{name}", rows)
        for name in ("ffn_gate", "ffn_up", "ffn_down"):
            weights.add(f"{block}.{name}", WIDTH)


def _encoder(writer: gguf.GGUFWriter, weights: _Weights, n: int, table: str) -> None:
    "The architecture of BERT."
    writer.add_causal_attention(False)
    writer.add_layer_norm_eps(1e-12)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    weights.add("token_embd", n, type=table, scale=1)
    weights.add("token_types", 2)
    weights.add("position_embd", 512)
    weights.norm("token_embd_norm")
    weights.bias("token_embd_norm")
    for block in (f"blk.{i}" for i in range(LAYERS)):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
            weights.add(f"{block}.{name}", WIDTH)
            weights.bias(f"{block}.{name}")
        for name in ("attn_output_norm", "layer_output_norm"):
            weights.norm(f"{block}.{name}")
            weights.bias(f"{block}.{name}")


def _add_tokens(writer: gguf.GGUFWriter, t: Tokens) -> None:
    writer.add_tokenizer_model(t.model)
    writer.add_token_list(t.tokens)
    writer.add_token_types(t.types)
    if t.scores is not None:
        writer.add_token_scores(t.scores)
    if t.merges is not None:
        writer.add_token_merges(t.merges)
    writers = {bool: writer.add_bool, int: writer.add_uint32, str: writer.add_string, bytes: writer.add_array}
    for name, value in t.more.items():
        writers[type(value)](f"tokenizer.ggml.{name}", value)


def write_tiny(path: str | Path, tokens: Tokens, table: str = "Q8_0", tied: bool = True, seed: int = 0) -> Path:
    "Write a model of two layers that llama.cpp runs, with random weights; `table` is the type of the embeddings."
    encoder = tokens.model == "bert"
    writer = gguf.GGUFWriter(path, "bert" if encoder else "llama")
    writer.add_name("tiny")
    sizes = dict(
        context_length=512, embedding_length=WIDTH, block_count=LAYERS, feed_forward_length=WIDTH, head_count=4
    )
    for name, size in (sizes | dict(feed_forward_length=WIDTH)).items():
        getattr(writer, f"add_{name}")(size)
    _add_tokens(writer, tokens)
    weights, n = _Weights(writer, seed), len(tokens.tokens)
    if encoder:
        _encoder(writer, weights, n, table)
    else:
        writer.add_chat_template(CHAT)
        _decoder(writer, weights, n, table, tied)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return Path(path)


@functools.cache
def trial_lines() -> tuple[str, ...]:
    "Lines in ten scripts, odd ones, and runs of one character."
    runs = [c * n for c in " \na" for n in (2, 3, 4, 5, 9, 17)]
    return (*kept_text(), *SPLIT_TRIALS, *runs, *(f"{run}x" for run in runs), *(f"x{run}" for run in runs))
