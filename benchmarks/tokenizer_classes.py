"""A small tokenizer of each class that transformers maps, in its file forms: opened, changed, saved, and judged."""

from __future__ import annotations

import inspect
import itertools
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any
from unicodedata import category

import sentencepiece
import typer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from benchmarks.verdicts import TokenizerVerdict, Wrong, judged, make_record, must, one_line, printed
from testkit.phrasebook import lines
from testkit.tiny_tokenizers import (
    FORMS,
    ODD,
    UNSEEN,
    Form,
    TokenizerClass,
    forms_of,
    kept_text,
    new_text,
    oddity,
    tokenizer_classes,
    write_source,
)
from vocab_lit.tokens.continued import extend_on_text
from vocab_lit.tokens.expansion import expand_tokenizer
from vocab_lit.tokens.load import check_loads_again, load_tokenizer
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.tokens.tokenizer_file import save_tokenizer
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.trim import trim

LANGUAGE_CODES = ("fra_Latn", "swh_Latn", "fr_XX", "sw_KE", "fra", "swh")  # of all classes that have src_lang
SETTINGS = (
    *("padding_side", "truncation_side", "model_input_names"),
    *("clean_up_tokenization_spaces", "chat_template", "split_special_tokens"),
)


def _must_equal(was: Any, now: Any, what: str) -> None:
    if was == now:
        return
    a, b = str(was), str(now)
    at = max(0, next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b))) - 30)
    raise Wrong(f"{what}: {a[at : at + 80]!r} is {b[at : at + 80]!r}")


@dataclass(frozen=True)
class Text:
    "What a tokenizer makes of a text."

    tokens: tuple[str, ...]
    special: tuple[bool, ...]  # of each token
    kinds: tuple[int, ...]  # the text, of two, that it is of
    offsets: tuple[tuple[int, int], ...]
    decoded: tuple[str, ...]  # with special tokens and without
    unknown: bool  # whether it has unknown tokens

    @property
    def frame(self) -> tuple[tuple[str, int] | None, ...]:
        "The special tokens and their kinds, None for what is between them."
        frame = []
        for token, special, kind in zip(self.tokens, self.special, self.kinds):
            told = (token, kind) if special else None
            if told or not frame or frame[-1]:
                frame.append(told)
        return tuple(frame)

    def covered(self, text: str) -> set[int]:
        "The places of the characters that tokens come from; what normalisers delete is left out."
        return {i for start, end in self.offsets for i in range(start, end) if category(text[i])[0] in "LNPS"}


def _texts(tokenizer: PreTrainedTokenizerBase, texts: list[Any]) -> list[Text]:
    "What a tokenizer makes of texts, or of pairs."
    special, unknown = set(tokenizer.all_special_tokens), tokenizer.unk_token_id
    backend = tokenizer.backend_tokenizer
    if hasattr(tokenizer, "_switch_to_input_mode"):  # of a class that may have been made, or called last, for targets
        tokenizer._switch_to_input_mode()
    backend.no_padding()  # of earlier calls
    backend.no_truncation()
    encoded = backend.encode_batch(texts)
    ids = [e.ids for e in encoded]
    decoded = zip(*(backend.decode_batch(ids, skip_special_tokens=skip) for skip in (False, True)))
    made = []
    for e, both in zip(encoded, decoded):
        are_special = tuple(token in special for token in e.tokens)
        made.append(Text(tuple(e.tokens), are_special, tuple(e.type_ids), tuple(e.offsets), both, unknown in e.ids))
    return made


def _special_flags(tokenizer: PreTrainedTokenizerBase) -> dict[str, tuple[bool, ...]]:
    "How the added tokens are found in a text, but for those that stand for nothing."
    return {
        token.content: (token.special, token.lstrip, token.rstrip, token.single_word, token.normalized)
        for token in tokenizer.added_tokens_decoder.values()
    }


def _public(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    "What users can call or set of a class."
    of = type(tokenizer)
    there = {name: inspect.getattr_static(of, name) for name in dir(of) if not name.startswith("_")}
    return {name for name, value in there.items() if callable(value) or isinstance(value, property)}


def _calls(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    "What a tokenizer returns when it is called as the tasks do it; calls that it does not take are left out."
    a, b = kept_text()[:2]
    words, boxes = a.split(), [[1, 2, 3, 4]] * len(a.split())
    calls: dict[str, Callable[[], Any]] = {
        "a text": lambda: tokenizer(a),
        "a pair": lambda: tokenizer(a, b),
        "a batch, filled up and cut": lambda: tokenizer([a, b + a], padding=True, truncation=True, max_length=9),
        "words": lambda: tokenizer(words, is_split_into_words=True),
        "words with boxes": lambda: tokenizer(words, boxes=boxes),
        "a target": lambda: tokenizer(text_target=a),
    }
    made = {}
    for name, call in calls.items():
        with suppress(Exception):  # of which there are as many as classes
            made[name] = _in_tokens(tokenizer, dict(call()))
    return made


def _in_tokens(tokenizer: PreTrainedTokenizerBase, made: dict[str, Any]) -> dict[str, Any]:
    "Token ids as tokens and as text."
    ids = made.pop("input_ids")
    rows = ids if ids and isinstance(ids[0], list) else [ids]
    return made | dict(
        tokens=[tokenizer.convert_ids_to_tokens(row) for row in rows],
        decoded=[tokenizer.decode(row) for row in rows],
        text=[tokenizer.decode(row, skip_special_tokens=True) for row in rows],
    )


def _languages(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    "What stands around a text of each language that has a token, as source and as target."
    made, line, unknown = {}, kept_text()[0], (None, tokenizer.unk_token_id)
    for role, side in (("src_lang", "text"), ("tgt_lang", "text_target")):
        if not hasattr(tokenizer, role):
            continue
        before = getattr(tokenizer, role)
        for code in LANGUAGE_CODES:
            with suppress(Exception):  # a code of another class
                setattr(tokenizer, role, code)
                row = tokenizer.convert_ids_to_tokens(tokenizer(**{side: line})["input_ids"])
                must(tokenizer.convert_tokens_to_ids(getattr(tokenizer, role)) not in unknown, "an unknown token")
                special = {*tokenizer.all_special_tokens, *LANGUAGE_CODES} - {tokenizer.unk_token}
                made[role, code] = [token for token in row if token in special]
        setattr(tokenizer, role, before)
    return made


def _check_settings(source: PreTrainedTokenizerBase, made: PreTrainedTokenizerBase) -> None:
    _must_equal(source.special_tokens_map, made.special_tokens_map, "special tokens by role")
    for name in SETTINGS:
        _must_equal(getattr(source, name, None), getattr(made, name, None), name)
    flags = _special_flags(made)
    for token, told in _special_flags(source).items():
        must(token in flags, f"the added token {token!r} is gone")
        _must_equal(told, flags[token], f"how {token!r} is found")
    lost = {name for name in _public(source) if not hasattr(made, name)}
    must(not lost, f"a {type(source).__name__} has {', '.join(sorted(lost)[:4])}, and a {type(made).__name__} has not")
    was, now = _languages(source), _languages(made)
    _must_equal(was, {key: now.get(key) for key in was}, "what stands around a text of a language")


def _check_calls(source: PreTrainedTokenizerBase, made: PreTrainedTokenizerBase, same_tokens: bool) -> None:
    was, now = _calls(source), _calls(made)
    for name, told in was.items():
        must(name in now, f"{name} is refused")
        _must_equal(told.keys(), now[name].keys(), f"what is returned for {name}")
        for part in told if same_tokens else ():
            _must_equal(told[part], now[name][part], f"{part} of {name}")


def _special_texts(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    "Texts with added tokens within, beside spaces and without."
    added = [token.content for token in tokenizer.added_tokens_decoder.values()]
    some = list(dict.fromkeys([*added[:6], *added[-6:]]))
    return [text for token in some for text in (f"maji {token} moto", f"maji{token}moto {token}. Maji")]


class Reference:
    "A source's tokenizer, and what it makes of the texts."

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        text = kept_text()
        self.tokenizer = tokenizer
        self.inputs = [*text, *UNSEEN, "", *zip(text[:20], text[20:40]), *_special_texts(tokenizer)]
        self.texts = _texts(tokenizer, self.inputs)


def _check_texts(source: Reference, made: PreTrainedTokenizerBase, new: set[str]) -> None:
    "Lines without new tokens are the same; the others decode to the same, from the same characters."
    for text, was, now in zip(source.inputs, source.texts, _texts(made, source.inputs)):
        if new.isdisjoint(now.tokens):
            for field in fields(Text):
                _must_equal(getattr(was, field.name), getattr(now, field.name), f"{field.name} of {text!r}")
        elif not was.unknown:
            _check_like(text, was, now)


def _check_like(text: Any, was: Text, now: Text) -> None:
    "The same special tokens, text, and places in it."
    _must_equal(was.frame, now.frame, f"special tokens of {text!r}")
    _must_equal(was.decoded, now.decoded, f"decoding of {text!r}")
    if isinstance(text, str):
        _must_equal(was.covered(text), now.covered(text), f"characters that tokens come from in {text!r}")


def _check_replaced(source: Reference, made: PreTrainedTokenizerBase) -> None:
    "Normaliser, division into words, special tokens, decoding and the fallback are the source's."
    a, b = source.tokenizer.backend_tokenizer, made.backend_tokenizer
    for text in source.inputs:
        if isinstance(text, str):
            normal = [k.normalizer.normalize_str(text) if k.normalizer else text for k in (a, b)]
            _must_equal(*normal, f"the normalised {text!r}")
            words = [k.pre_tokenizer.pre_tokenize_str(normal[0]) if k.pre_tokenizer else [] for k in (a, b)]
            _must_equal(*words, f"words of {text!r}")
    for text, was, now in zip(source.inputs, source.texts, _texts(made, source.inputs)):
        if not was.unknown:
            must(not now.unknown, f"unknown tokens in {text!r}")
            _check_like(text, was, now)
        elif text in UNSEEN:
            must(now.unknown, f"{text!r} has no unknown token")


def _check_sentencepiece(folder: Path, opened: PreTrainedTokenizerBase) -> None:
    "A SentencePiece model divides a text as SentencePiece does, once the class has normalised it."
    files = [*folder.glob("*.model"), *folder.glob("*.spm")]
    normalizer = opened.backend_tokenizer.normalizer
    if len(files) != 1 or (folder / "tokenizer.json").exists():
        return
    model = sentencepiece.SentencePieceProcessor(model_file=str(files[0]))
    texts = (*kept_text(), *lines("ko", 20, seed=2))  # Hangul, which some classes take apart
    plain = [text.strip() for text in texts if "▁" not in text]  # spaces come before its own space
    for text in plain:
        normal = normalizer.normalize_str(text).replace("▁", " ").strip() if normalizer else text
        if model.unk_id() not in (due := model.encode(normal)):
            _must_equal(model.id_to_piece(due), opened.tokenize(text), f"tokens of {text!r} beside SentencePiece")
    for text in ODD:
        single = re.sub(" +", " ", text).strip()
        if model.id_to_piece(model.encode(single)) == opened.tokenize(single):  # the class changes nothing but spaces
            _must_equal(model.id_to_piece(model.encode(text)), opened.tokenize(text), f"tokens of {text!r} beside it")


def _trimmed(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    texts = [*kept_text(), *UNSEEN, *_special_texts(tokenizer), *kept_text()[0].split()]
    return trim(tokenizer, {"text": texts}, TrimSettings(coverage=1.0)).tokenizer


STEPS: dict[str, Callable[[PreTrainedTokenizerBase], PreTrainedTokenizerBase]] = {
    "trimmed": _trimmed,
    "extended": lambda t: expand_tokenizer(t, train_tokenizer_like(t, new_text(), 1000), 900),
    "continued": lambda t: extend_on_text(t, new_text(), 60).tokenizer,
    "replaced": lambda t: train_tokenizer_like(t, kept_text() * 2, 1400, keep_reserved=True),
}


def _saved(tokenizer: PreTrainedTokenizerBase, model_type: str, folder: Path) -> PreTrainedTokenizerBase:
    "A tokenizer in a model's folder, as plain transformers opens it."
    check_loads_again(tokenizer, model_type)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(dict(model_type=model_type)), encoding="utf-8")
    save_tokenizer(tokenizer, folder)
    return AutoTokenizer.from_pretrained(folder)


def _check(step: str, source: Reference, made: PreTrainedTokenizerBase, folder: Path | None = None) -> None:
    same = step in ("opened", "trimmed")
    if folder:
        _check_sentencepiece(folder, made)
    if step == "replaced":
        _check_replaced(source, made)
    else:
        _check_texts(source, made, set() if same else made.get_vocab().keys() - source.tokenizer.get_vocab().keys())
    _check_settings(source.tokenizer, made)
    _check_calls(source.tokenizer, made, same)


def _tried(make: Callable[[], PreTrainedTokenizerBase]) -> tuple[PreTrainedTokenizerBase | None, str, str]:
    "What is made; otherwise how it ended, and why."
    try:
        return make(), "", ""
    except (ValueError, FileNotFoundError) as e:
        return None, "crashed" if "\n" in str(e) else "refused", str(e)
    except Exception as e:  # noqa: BLE001
        return None, "crashed", one_line(e)


def _step(step: str, source: Reference, folder: Path, model_type: str) -> tuple[str, str]:  # result, why
    "Change a tokenizer, save it, open it by plain transformers, and judge it."
    opened = load_tokenizer(folder)  # a step may change what it is given
    out = folder.with_name(step)
    made, result, why = _tried(lambda: _saved(STEPS[step](opened), model_type, out))
    return (result, why) if made is None else judged(lambda: _check(step, source, made))


def try_form(c: TokenizerClass, form: Form, steps: Iterable[str] = STEPS) -> Iterator[TokenizerVerdict]:
    "Open a class in a form of its files, change and save it, and judge each step."
    about = (c.name, c.model_type, form.name)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place, "source")
        try:
            write_source(c, form, folder)
            by_transformers = AutoTokenizer.from_pretrained(folder)
            opened, result, why = _tried(lambda: load_tokenizer(folder))
            must(not (odd := oddity(by_transformers)), odd)
        except Exception as e:  # noqa: BLE001  a form that the class does not have
            yield TokenizerVerdict(*about, "opened", "not built", one_line(e))
            return
        if opened is not None and not by_transformers.is_fast:
            opened, result, why = None, "wrong", f"a {type(by_transformers).__name__} is opened as another class"
        if opened is None:
            yield TokenizerVerdict(*about, "opened", result, why)
            return
        # plain transformers' tokenizer is the reference, if it divides texts as a SentencePiece model does
        divides_right, _ = judged(lambda: _check_sentencepiece(folder, by_transformers))
        source = Reference(by_transformers if divides_right == "right" else opened)
        yield TokenizerVerdict(*about, "opened", *judged(lambda: _check("opened", source, opened, folder)))
        for step in steps:
            yield TokenizerVerdict(*about, step, *_step(step, source, folder, c.model_type))


def sweep(chosen: list[TokenizerClass] | None = None) -> Iterator[TokenizerVerdict]:
    "The verdicts of all classes, each in four forms with two of the steps; of chosen ones in all, with all steps."
    import transformers

    transformers.logging.set_verbosity_error()
    if chosen:
        for c, form in itertools.product(chosen, FORMS):
            yield from try_form(c, form)
        return
    for turn, c in enumerate(tokenizer_classes()):
        for i, form in enumerate(forms_of(c, turn)):
            yield from try_form(c, form, list(STEPS)[(turn // 2 + i) % 2 :: 2])


def main(
    file: Annotated[Path, typer.Argument(help="JSON file of the record.")],
    names: Annotated[list[str] | None, typer.Argument(help="Names of tokenizer classes; none: all.")] = None,
) -> None:
    "Open, change, save and judge a small tokenizer of each tokenizer class of transformers, and write the record."
    make_record(printed(sweep([c for c in tokenizer_classes() if c.name in names] if names else None))).write(file)


if __name__ == "__main__":
    typer.run(main)
