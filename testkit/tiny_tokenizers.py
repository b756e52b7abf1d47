"""A small tokenizer of each class that transformers maps, in the file forms that folders have."""

from __future__ import annotations

import functools
import inspect
import io
import itertools
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import AddedToken, Tokenizer, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerBase, TokenizersBackend
from transformers.models.auto import tokenization_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES as known

from testkit.phrasebook import lines

LANGUAGES = ("sw", "el", "ru", "ar", "hi", "te", "th", "am", "zh", "ka")  # ten scripts
OTHERS = ("de", "vi", "ko")  # what the sources are trained on besides
ODD = (  # of spaces, cases, composed and decomposed letters, digits, marks of dialects, special tokens
    "  two  spaces at the start, one at the end ",
    "tabs\tand\nlines\r\nand a no-break\u00a0space",
    "don't won't I'm e.g. U.S.A. (1,000.50)",
    "ÅNGSTRÖM İstanbul straße Ñandú çédille",
    "A\u030angstro\u0308m e\u0301te\u0301 Vie\u0302\u0323t",
    "ﬁve ﬂags ＡＢＣ １２３ ㎏ ½ ①",
    "1 12 123 1234 12345678 3.14 2026-11-25",
    "తెలుగు భాష हिन्दी किताब ภาษาไทย",
    "می‌خواهم zero\u200bwidth soft\u00adhyphen",
    "▁x ##y Ġz w</w> <0x41> <s>",
    "😀 emoji 👩‍👩‍👧 and ☃",
    "CamelCase snake_case kebab-case http://a.b/c?d=e",
)
UNSEEN = ("𐎠𐎡𐎢", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "word ꙮ word")  # characters that no source is trained on
SIZE = 2000  # tokens of a source, about
ALPHABET = pre_tokenizers.ByteLevel.alphabet()


@functools.cache
def kept_text(n: int = 288) -> tuple[str, ...]:
    "Lines in ten scripts, and odd ones."
    each = [lines(language, n // len(LANGUAGES), seed=1) for language in LANGUAGES]
    return (*(line for some in zip(*each) for line in some), *ODD)


@functools.cache
def new_text() -> tuple[str, ...]:
    "Lines in other languages, for which vocabularies are extended."
    return tuple(line for language in ("fi", "uk", "bn") for line in lines(language, 80, seed=3))


@functools.cache
def training_text() -> tuple[str, ...]:
    "What the sources are trained on."
    more = [line for language in (*LANGUAGES, *OTHERS) for line in lines(language, 60, seed=2)]
    return (*kept_text(), *more)


STANDS_IN = {"files": "LlamaTokenizer", "json": "Qwen2Tokenizer"}  # for classes without a pipeline of their own
OTHER_TYPE = {"mbart50": "mbart", "barthez": "mbart", "code_llama": "llama", "mluke": "luke"}  # of a config.json; bert


@dataclass(frozen=True)
class TokenizerClass:
    "A class of transformers, or a model type by which it is found."

    name: str
    model_type: str  # as a folder's config.json has it

    @property
    def of(self) -> type[PreTrainedTokenizerBase]:
        "The class."
        return _class_named(self.name)

    @property
    def distrusted(self) -> bool:
        "Whether transformers does not trust the class that folders of this model type name."
        return self.model_type in auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS

    def empty(self, form: Form) -> PreTrainedTokenizerBase | None:
        "One without a vocabulary, or what stands in for it; None of a class that has no pipeline."
        of = self.of
        if issubclass(of, TokenizersBackend) and "__init__" not in vars(of):
            of = _class_named(STANDS_IN[form.kind])
        return _empty(of, json.dumps(options_of(of, form)))


def _class_named(name: str) -> type[PreTrainedTokenizerBase]:
    found = auto.tokenizer_class_from_name(name)
    assert found is not None  # transformers maps it
    return found


@functools.cache
def _empty(of: type[PreTrainedTokenizerBase], options: str = "{}") -> PreTrainedTokenizerBase | None:  # options: JSON
    "A tokenizer without a vocabulary, if a class of the library tokenizers makes one."
    if not issubclass(of, TokenizersBackend):
        return None
    given: dict[str, Any] = json.loads(options)
    try:
        return of(**given)
    except ValueError:  # such as Pegasus, which looks for the unknown token
        given["vocab"] = [(piece, 0.0) for piece in ("<pad>", "</s>", "<unk>")]
    except ImportError:
        return None
    try:
        return of(**given)
    except Exception:  # noqa: BLE001  whatever a class wants to be given
        return None


def tokenizer_classes() -> list[TokenizerClass]:
    "Every class that transformers maps, and every model type for which it does not trust what a folder names."
    mapped = {t: name for t, name in auto.TOKENIZER_MAPPING_NAMES.items() if name}
    distrusted = auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS & mapped.keys() & known.keys()
    types = {}  # {class: a model type}
    for model_type, name in mapped.items():
        if name not in types or (types[name] not in known and model_type in known):
            types[name] = model_type
    types = {name: t if t in known else OTHER_TYPE.get(t, "bert") for name, t in types.items()}
    chosen = dict.fromkeys([*types.items(), *((mapped[t], t) for t in distrusted)])
    return [TokenizerClass(*pair) for pair in sorted(chosen)]


FLIPPED = ("do_lower_case", "keep_accents", "add_prefix_space")
FLIPPED += ("tokenize_chinese_chars", "split_by_punct", "remove_space")
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]  # ids that such a class gives a SentencePiece model, whatever its own are
SPECIAL = {  # of classes that expect ids that they do not make themselves
    "HerbertTokenizer": [*FAIRSEQ, "<mask>"],
    "CamembertTokenizer": ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>"],
}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ADDED = ("ndugu", "<|word|>")  # the first begins and ends other words


def _pipeline(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    return json.loads(tokenizer.backend_tokenizer.to_str())


def _special(empty: PreTrainedTokenizerBase) -> list[str]:
    "The special tokens that the model of a class has, under ids that the class expects."
    if type(empty).__name__ in SPECIAL:
        return SPECIAL[type(empty).__name__]
    model = _pipeline(empty)["model"]
    vocab, unknown = model["vocab"], str(empty.unk_token)
    pieces = [piece for piece, _ in vocab] if isinstance(vocab, list) else sorted(vocab, key=vocab.get)
    roles = [str(token) for token in empty.special_tokens_map.values()]
    extra = set(map(str, empty.extra_special_tokens))
    special = [piece for piece in dict.fromkeys((*pieces, *roles)) if len(piece) > 1 and piece not in extra]
    if model.get("unk_id") is None or special.index(unknown) == model["unk_id"]:
        return special
    others = [piece for piece in special if piece != unknown]
    others += [f"<unused{i}>" for i in range(model["unk_id"] - len(others))]
    return [*others[: model["unk_id"]], unknown, *others[model["unk_id"] :]]


def _trained(empty: PreTrainedTokenizerBase) -> dict[str, Any]:
    "A model that is trained in the pipeline of a class: vocabulary and merges."
    pipeline, special = _pipeline(empty), _special(empty)
    model = pipeline["model"]
    options: dict[str, Any] = dict(vocab_size=SIZE, special_tokens=special, show_progress=False)
    if model["type"] == "Unigram":
        trainer = trainers.UnigramTrainer(unk_token=str(empty.unk_token), **options)
    elif model["type"] == "WordPiece":
        trainer = trainers.WordPieceTrainer(**options)
    else:
        options |= dict(initial_alphabet=sorted(ALPHABET) if "ByteLevel" in str(pipeline["pre_tokenizer"]) else [])
        options |= dict(end_of_word_suffix=suffix) if (suffix := model.get("end_of_word_suffix")) else {}
        options |= dict(special_tokens=[*special, *BYTES]) if model.get("byte_fallback") else {}
        trainer = trainers.BpeTrainer(**options)
    if model["type"] != "Unigram":
        model = model | dict(vocab={}) | (dict(merges=[]) if "merges" in model else {})
    bare = pipeline | dict(model=model, added_tokens=[], post_processor=None, decoder=None)
    backend = Tokenizer.from_str(json.dumps(bare))
    backend.train_from_iterator(training_text(), trainer)
    return json.loads(backend.to_str())["model"]


def _sentencepiece(empty: PreTrainedTokenizerBase | None, unusual: bool) -> bytes:
    "A SentencePiece model with the special tokens of a class, of the kind that it takes."
    special, model = (_special(empty), _pipeline(empty)["model"]) if empty else ([], {"type": "Unigram"})
    options: dict[str, Any] = {}
    if special and special[:4] != FAIRSEQ and not special[0].endswith("NOTUSED"):
        ids = {token: i for i, token in enumerate(special)}
        for role in ("unk", "bos", "eos", "pad"):
            token = str(getattr(empty, f"{role}_token"))
            options |= {f"{role}_id": ids.get(token, -1), f"{role}_piece": token}
        first = {options[f"{role}_piece"] for role in ("unk", "bos", "eos", "pad")}
        options["control_symbols"] = [token for token in special if token not in first]
    is_unigram, in_bytes = model["type"] == "Unigram", bool(model.get("byte_fallback"))
    rule = "nmt_nfkc" if is_unigram else "identity"
    options |= dict(normalization_rule_name="nmt_nfkc_cf" if unusual else rule, remove_extra_whitespaces=is_unigram)
    options |= dict(byte_fallback=in_bytes, vocab_size=SIZE + 256 * in_bytes, hard_vocab_limit=model["type"] == "BPE")
    return train_sentencepiece(training_text(), model["type"].lower(), character_coverage=1.0, **options)


def train_sentencepiece(text: Iterable[str], model_type: str, **options: Any) -> bytes:
    "A SentencePiece model of a text."
    made = io.BytesIO()
    options |= dict(model_type=model_type, num_threads=1, minloglevel=2)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=made, **options)
    return made.getvalue()


@dataclass(frozen=True)
class Form:
    "How a folder holds a tokenizer."

    kind: str  # "files": those that the class names, or "json": tokenizer.json
    named: bool  # whether tokenizer_config.json names the class
    unusual: bool  # whether options are not the usual ones, and tokens are added

    @property
    def name(self) -> str:
        "It in words."
        files = "its own files" if self.kind == "files" else "tokenizer.json"
        return files + ", class not named" * (not self.named) + ", unusual options" * self.unusual


FORMS = [Form(*choices) for choices in itertools.product(("files", "json"), (True, False), (False, True))]


def forms_of(c: TokenizerClass, turn: int) -> list[Form]:
    """Four of the eight forms, with every pair of choices; an odd turn has the other four.

    A class in Python has one, and two are tried where only the model type is another.
    """
    if not issubclass(c.of, TokenizersBackend):
        return FORMS[:1]
    if c.distrusted:
        return [form for form in FORMS if form.named and not form.unusual]
    return [form for form in FORMS if ((form.kind == "json") + form.named + form.unusual + turn) % 2]


class NoSuchForm(Exception):
    "A class has no files of its own, or transformers opens none of them."


def write_source(c: TokenizerClass, form: Form, folder: Path) -> None:
    "A folder with a small tokenizer of a class; `NoSuchForm` where it cannot be."
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(dict(model_type=c.model_type)), encoding="utf-8")
    if form.kind == "files":
        _write_files(c, form, folder)
    else:
        _write_json(c, form, folder)


def options_of(of: type[PreTrainedTokenizerBase], form: Form) -> dict[str, Any]:
    "What a class has to be given, and options that are not the usual ones where a form has such."
    defaults = inspect.signature(of).parameters
    always = dict(tags_dict={"a": 0, "b": 1}) if "tags_dict" in defaults else {}
    if not form.unusual:
        return always
    options = always | {name: not defaults[name].default for name in FLIPPED if name in defaults}
    if "strip_accents" in defaults:
        options |= dict(strip_accents=False, do_lower_case=form.named)  # lower case with accents, or upper case
    return options | dict(padding_side="left", truncation_side="left", model_max_length=77)


def _write_files(c: TokenizerClass, form: Form, folder: Path) -> None:
    "The files that a class names, and a configuration."
    names = dict(getattr(c.of, "vocab_files_names", {}))
    empty = c.empty(form)
    files = {role: name for role, name in names.items() if name not in ("tokenizer.json", "tokenizer_config.json")}
    if not files:
        raise NoSuchForm("the class names no files but tokenizer.json")
    for name in files.values():
        if name.endswith((".model", ".spm")):
            (folder / name).write_bytes(_sentencepiece(empty, form.unusual))
    if any(name.endswith((".txt", ".json", ".codes", ".tokenizer")) for name in files.values()):
        _write_plain(files, empty, folder)
    _write_config((dict(tokenizer_class=c.name) if form.named else {}) | options_of(c.of, form), folder)
    extra = [str(token) for token in empty.extra_special_tokens] if empty else []
    _write_special(extra, folder)
    if form.unusual:  # two added tokens, one of them special, in the files of version 4
        size = len(AutoTokenizer.from_pretrained(folder))
        added = {token: size + i for i, token in enumerate(ADDED)}
        (folder / "added_tokens.json").write_text(json.dumps(added), encoding="utf-8")
        _write_special([*extra, ADDED[1]], folder)


def _write_plain(files: dict[str, str], empty: PreTrainedTokenizerBase | None, folder: Path) -> None:
    "Vocabulary and merges as text and JSON, those of BERT or GPT-2 where a class has no pipeline."
    stand_in = "BertTokenizer" if "merges_file" not in files else "GPT2Tokenizer"
    model = _trained(empty or _empty(_class_named(stand_in)))
    pieces = sorted(model["vocab"], key=model["vocab"].get) if isinstance(model["vocab"], dict) else []
    for role, name in files.items():
        file = folder / name
        if role == "merges_file":
            file.write_text("\n".join(["#version: 0.2", *map(" ".join, model["merges"])]) + "\n", encoding="utf-8")
        elif role == "entity_vocab_file":
            file.write_text(json.dumps({"[UNK]": 0, "[PAD]": 1, "[MASK]": 2, "[MASK2]": 3}), encoding="utf-8")
        elif name.endswith(".json") and "vocab" in role:
            file.write_text(json.dumps(model["vocab"], ensure_ascii=False), encoding="utf-8")
        elif role == "vocab_file" and pieces and not name.endswith(".model"):
            file.write_text("\n".join(pieces) + "\n", encoding="utf-8")


def _write_config(config: dict[str, Any], folder: Path) -> None:
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def _write_special(tokens: list[str], folder: Path) -> None:
    "The special tokens without a role, as version 4 names them."
    if tokens:
        listed = json.dumps(dict(additional_special_tokens=tokens))
        (folder / "special_tokens_map.json").write_text(listed, encoding="utf-8")


def oddity(tokenizer: PreTrainedTokenizerBase) -> str:
    "Where a class gives other ids than its special tokens', or no text again, so that no model has such files."
    if not tokenizer.is_fast:
        return ""
    backend = tokenizer.backend_tokenizer
    around, model = backend.encode(""), json.loads(backend.to_str())["model"]
    if (put := [backend.id_to_token(i) for i in around.ids]) != around.tokens:
        return f"around a text stand {around.tokens} with the ids of {put}"
    if model["type"] == "Unigram" and model["unk_id"] is not None:
        unknown = model["vocab"][model["unk_id"]][0]
        if unknown != str(tokenizer.unk_token):
            return f"what is unknown has the id of {unknown}"
    lines = kept_text()
    decoded = backend.decode_batch([e.ids for e in backend.encode_batch(lines)], skip_special_tokens=False)
    broken = next((line for line, text in zip(lines, decoded) if "\ufffd" in text), "")
    return broken and f"{broken!r} is decoded with characters that are none"


def _write_json(c: TokenizerClass, form: Form, folder: Path) -> None:
    "As transformers saves it, from the files of a class where it has some."
    tokenizer = _of_files(c, form, folder / "files") or _of_vocabulary(c, form)
    if not tokenizer.is_fast:
        raise NoSuchForm("the class writes no tokenizer.json")
    if form.unusual:
        added = AddedToken("ndugu2", single_word=True), AddedToken("<|left|>", lstrip=True, normalized=False)
        tokenizer.add_tokens([*added])
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(dict(model_type=c.model_type)), encoding="utf-8")
    if not form.named:
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        _write_config({name: value for name, value in config.items() if name != "tokenizer_class"}, folder)


def _of_files(c: TokenizerClass, form: Form, folder: Path) -> PreTrainedTokenizerBase | None:
    "A tokenizer from the files of its class, if it has some."
    if c.of is TokenizersBackend:
        return None
    try:
        write_source(c, Form("files", True, form.unusual), folder)
        made = AutoTokenizer.from_pretrained(folder)
    except Exception:  # noqa: BLE001  whatever a class has against them
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return None if oddity(made) else made


def _of_vocabulary(c: TokenizerClass, form: Form) -> PreTrainedTokenizerBase:
    "A tokenizer of a class from a vocabulary that is trained in its pipeline."
    empty = c.empty(form)
    if empty is None:
        raise NoSuchForm("the class has no pipeline without its files")
    model = _trained(empty)
    vocab = [tuple(pair) for pair in model["vocab"]] if isinstance(model["vocab"], list) else model["vocab"]
    given: dict[str, Any] = dict(vocab=vocab)
    if "merges" in model:
        given["merges"] = [tuple(merge) for merge in model["merges"]]
    options = options_of(type(empty), form)
    made = type(empty)(**given, **options)
    if c.of is type(empty):
        return made
    return c.of(tokenizer_object=made.backend_tokenizer, **made.special_tokens_map, **options)
