"""Small tokenizers of every family: over given texts, and as chat models have them."""

from __future__ import annotations

import string
from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.vocab import CHARACTERS, FALLBACK_PIECES

_TOY_PIECES = {  # how a family writes a token that starts a word and one inside a word
    "unigram": ("▁{}", "{}"),
    "bpe": ("Ġ{}", "{}"),
    "wordpiece": ("{}", "##{}"),
    "suffix": ("{}</w>", "{}"),
    "byte-fallback": ("▁{}", "{}"),
}


def _toy_model(family: str, vocab: dict[str, int]) -> models.Model:
    if family == "unigram":
        return models.Unigram([(p, -float(i)) for p, i in vocab.items()], unk_id=3)
    if family == "wordpiece":
        return models.WordPiece(vocab, unk_token="[UNK]")
    options = {
        "bpe": {},
        "suffix": dict(end_of_word_suffix="</w>", unk_token="<unk>"),
        "byte-fallback": dict(byte_fallback=True, unk_token="<unk>"),
    }
    return models.BPE(vocab, [], ignore_merges=True, **options[family])


def _toy_backend(family: str, vocab: dict[str, int]) -> Tokenizer:
    "A family's model with what the family does to text before and after it."
    tokenizer = Tokenizer(_toy_model(family, vocab))
    if family == "byte-fallback":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
        return tokenizer
    tokenizer.pre_tokenizer, tokenizer.decoder = {
        "unigram": (pre_tokenizers.Metaspace(), decoders.Metaspace()),
        "bpe": (pre_tokenizers.ByteLevel(), decoders.ByteLevel()),
        "wordpiece": (pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()),
        "suffix": (pre_tokenizers.BertPreTokenizer(), decoders.BPEDecoder()),
    }[family]
    return tokenizer


def toy_tokenizer(family: str, starts: Iterable[str], medial: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """A small tokenizer over texts that start a word and texts inside a word.

    family: unigram (XLM-R), bpe (byte-level, RoBERTa), wordpiece (BERT), suffix (GPT-1) or byte-fallback (Llama)
    """
    if family not in _TOY_PIECES:
        raise ValueError(f"unknown family {family!r}; choose from {', '.join(_TOY_PIECES)}")
    special = ("[CLS] [PAD] [SEP] [UNK] [MASK]" if family == "wordpiece" else "<s> <pad> </s> <unk> <mask>").split()
    in_bytes = FALLBACK_PIECES if family == "byte-fallback" else []

    def encode(text):
        return "".join(CHARACTERS[b] for b in text.encode()) if family == "bpe" else text

    start, inside = _TOY_PIECES[family]
    pieces = [start.format(encode(s)) for s in starts] + [inside.format(encode(s)) for s in medial]
    vocab = {p: i for i, p in enumerate(dict.fromkeys([*special, *in_bytes, *pieces]))}
    roles = dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), special))
    roles |= dict(bos_token=special[0], eos_token=special[2])
    return PreTrainedTokenizerFast(tokenizer_object=_toy_backend(family, vocab), **roles)


_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA = _QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_TEMPLATES = {
    "qwen3": """{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' }}{% endif %}""",
    "llama3": """{{- bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' }}
{{- m.content + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "gemma3": """{{- bos_token }}{% for m in messages %}
{{- '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + m.content + '<end_of_turn>\\n' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}""",
    "mistral": """{{- bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('Roles must alternate user and assistant') }}{% endif %}{% if m.role == 'user' %}
{{- '[INST] ' + m.content + '[/INST]' }}{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}""",
}
_IN_MODEL = {  # special tokens that the vocabulary of the model begins with
    "gemma3": ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<unused0>", "<start_of_turn>", "<end_of_turn>"),
    "mistral": ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]"),
}
_BEHIND = {  # special tokens that were added to it, and added tokens that are text
    "qwen3": (("<|endoftext|>", "<|im_start|>", "<|im_end|>"), ("<think>", "</think>", "<tool_call>", "</tool_call>")),
    "llama3": (
        ("<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|finetune_right_pad_id|>")
        + ("<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"),
        (),
    ),
}
_ROLES = {
    "qwen3": dict(eos="<|im_end|>", pad="<|endoftext|>"),
    "llama3": dict(bos="<|begin_of_text|>", eos="<|eot_id|>", pad="<|finetune_right_pad_id|>"),
    "gemma3": dict(bos="<bos>", eos="<eos>", unk="<unk>", pad="<pad>"),
    "mistral": dict(bos="<s>", eos="</s>", unk="<unk>"),
}
CHAT_FAMILIES = tuple(_TEMPLATES)


def _byte_level_backend(family: str) -> Tokenizer:
    backend = Tokenizer(models.BPE(ignore_merges=family == "llama3"))
    rule = pre_tokenizers.Split(Regex(_QWEN if family == "qwen3" else _LLAMA), "isolated")
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Sequence([rule, in_bytes]), decoders.ByteLevel()
    if family == "qwen3":
        backend.normalizer = normalizers.NFC()
    return backend


def _fallback_backend(family: str) -> Tokenizer:
    characters = "▁" + string.digits + string.ascii_letters + "\n" * (family == "gemma3")
    vocab = {piece: i for i, piece in enumerate([*_IN_MODEL[family], *FALLBACK_PIECES, *characters])}
    backend = Tokenizer(models.BPE(vocab, [], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if family == "gemma3":
        backend.normalizer = normalizers.Replace(" ", "▁")
        backend.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    else:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        steps.append(decoders.Strip(" ", 1, 0))
    backend.decoder = decoders.Sequence(steps)
    return backend


def chat_tokenizer(family: str, lines: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    "A tokenizer with the pipeline, special tokens and chat template of a family: qwen3, llama3, gemma3 or mistral."
    backend = _byte_level_backend(family) if family in _BEHIND else _fallback_backend(family)
    special, plain = _BEHIND.get(family, (_IN_MODEL.get(family), ()))
    backend.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    backend.add_tokens([AddedToken(t, normalized=False) for t in plain])
    roles = {f"{role}_token": token for role, token in _ROLES[family].items()}
    if "bos_token" in roles:
        first = roles["bos_token"]
        ids = [(first, backend.token_to_id(first))]
        pair = [first, "$A", f"{first}:1", "$B:1"]
        backend.post_processor = processors.TemplateProcessing(single=pair[:2], pair=pair, special_tokens=ids)
    extra = [token for token in special if token not in roles.values()]
    options = dict(padding_side="left" if family in _IN_MODEL else "right", model_max_length=4096)
    bare = PreTrainedTokenizerFast(tokenizer_object=backend, extra_special_tokens=extra, **options, **roles)
    bare.chat_template = _TEMPLATES[family]
    return train_tokenizer_like(bare, lines, vocab_size, keep_reserved=True)
