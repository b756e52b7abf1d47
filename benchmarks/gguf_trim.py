"""A GGUF file trimmed to two languages, and what llama.cpp makes of it before and after."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from benchmarks.claims import Claim, checks, extreme
from benchmarks.runner import Case, Part
from testkit.llama_cpp import Llama
from testkit.phrasebook import lines
from testkit.process import Meter, memory_mb
from vocab_lit.gguf.container import GgufFile
from vocab_lit.gguf.tokens import tokens_of
from vocab_lit.text.corpus import Lines, write_json

SCRIPTS = ("sw", "en", "am", "ar", "zh", "hi", "ka", "ko", "ru", "te", "th")  # one language of each, two of the first
N_PROMPTS, N_WORDS, N_TOKENS = 5, 5, 24  # greedy text: of so many prompts, words of each, tokens after them
N_LINES = 400  # of each text
RESULT = "trimmed.gguf"
TIMED = 64  # tokens that are generated for the speed


def _measured(file: str | Path, prompt: str) -> dict[str, float]:
    "Size of a file; memory and speed of llama.cpp with it, on one thread."
    with Llama(file, context=512) as model:
        speed = model.greedy(prompt, TIMED).tokens_per_second
        resident = memory_mb(model.process.pid)[1] * 2**20
    return dict(file_mb=os.path.getsize(file) / 1e6, resident_mb=resident / 1e6, tokens_per_second=speed)


def as_it_is(meter: Meter, folder: str, model: str, texts: list[str], prompts: list[str]) -> dict[str, float]:
    "The file before; nothing of ours works here."
    with meter:
        pass
    return _measured(model, prompts[0])


def trimmed(meter: Meter, folder: str, model: str, texts: list[str], prompts: list[str]) -> dict[str, float]:
    "The file trimmed to the texts."
    from vocab_lit.models.pipeline import trim_files

    out = Path(folder, RESULT)
    out.unlink(missing_ok=True)
    with meter:
        report = trim_files(model, texts, out)
    return dict(tokens=report["sizes"][0]["after"]) | _measured(out, prompts[0])


def _prompts(texts: Sequence[str]) -> list[str]:
    "Beginnings of lines, of the texts in turns."
    read = [[line for line in Lines(text) if len(line.split()) > 2 * N_WORDS] for text in texts]
    chosen = [read[i % len(read)][-1 - i] for i in range(N_PROMPTS)]
    return [" ".join(line.split()[:N_WORDS]) for line in chosen]


def tiny_file_and_texts(place: Path) -> tuple[Path, dict[str, list[str]]]:
    "A file of two layers with random weights, and texts of the phrasebook."
    from testkit.tiny_gguf import llama_tokens, write_tiny

    texts = {}
    for code in ("sw", "en"):
        texts[code] = place / f"{code}.txt"
        texts[code].write_text("\n".join(lines(code, 40, seed=0)), encoding="utf-8")
    return write_tiny(place / "tiny.gguf", llama_tokens()), {"sw+en": list(map(str, texts.values()))}


def gguf_cases(
    place: Path, sizes: tuple, small: bool, models: Sequence[str] = (), texts: dict[str, list[str]] | None = None
) -> Iterator[Case]:
    "Each GGUF file, or a tiny one, for the texts of each pair of languages."
    if models and not texts:
        raise ValueError("gguf needs --text, such as sw+en=swahili.txt,english.txt")
    if not models:
        tiny, texts = tiny_file_and_texts(place)
        models = [str(tiny)]
    for model in models:
        for name, files in (texts or {}).items():
            folder = place / f"{Path(model).stem}-{name}"
            folder.mkdir()
            given = dict(folder=str(folder), model=str(model), texts=files, prompts=_prompts(files))
            write_json(given, folder / "case.json")
            yield Case(f"{Path(model).stem}, {name}", given)


def _judged_lines(texts: Sequence[str]) -> list[str]:
    "Lines of the texts and in ten scripts."
    of_texts = chain.from_iterable(islice(Lines(text), N_LINES) for text in texts)
    return [*of_texts, *(line for code in SCRIPTS for line in lines(code, 80, seed=3))]


def compare_in_llama_cpp(folder: Path) -> dict[str, int]:
    "What llama.cpp says of both files: equal ids, and equal greedy text."
    from vocab_lit.tokens.gguf_tokenizer import read_tokenizer

    given = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    model, prompts, judged = given["model"], given["prompts"], _judged_lines(given["texts"])
    with Llama(model) as before:
        ids_before, texts_before = before.ids(judged), [before.greedy(p, N_TOKENS).text for p in prompts]
    with Llama(folder / RESULT) as after:
        ids_after, texts_after = after.ids(judged), [after.greedy(p, N_TOKENS).text for p in prompts]
    small = GgufFile(folder / RESULT)
    tokens, kept = tokens_of(GgufFile(model)), {token: id for id, token in enumerate(tokens_of(small))}
    moved = [[kept.get(tokens[id], -1) for id in row] for row in ids_before]
    whole = [-1 not in row for row in moved]
    ours = read_tokenizer(small)(judged, add_special_tokens=False)["input_ids"]
    return {
        "lines": len(judged),
        "lines all of whose tokens stay": sum(whole),
        "of these with other ids": sum(a != b for a, b, same in zip(moved, ids_after, whole) if same),
        "lines with other ids than in transformers": sum(a != b for a, b in zip(ours, ids_after)),
        f"greedy text equal, of {len(prompts)}": sum(a == b for a, b in zip(texts_before, texts_after)),
    }


CLAIMS = (
    Claim("CPU seconds of trimming, the most of all files", extreme(np.max, "cpu_seconds"), high=6),
    Claim("memory of trimming in MB, the most of all files", extreme(np.max, "peak_mb"), high=400),
    Claim("lines all of whose tokens stay with other ids in llama.cpp", checks("of these with other ids"), high=0),
    Claim(
        "lines with other ids in llama.cpp than in transformers",
        checks("lines with other ids than in transformers"),
        high=0,
    ),
    Claim(
        "memory of llama.cpp, before / after, the least of all files", extreme(np.min, "resident_mb", "as it is"), low=1
    ),
    Claim(
        "tokens per second, after / before, the least of all files",
        extreme(np.min, "tokens_per_second", "as it is", power=-1),
        low=1,
    ),
)
FACTS = dict(tokens="tokens left", file_mb="MB of the file", resident_mb="MB in llama.cpp")
PART = Part(
    "gguf",
    "a GGUF file trimmed to two languages: size, memory and speed in llama.cpp, and equal ids and text",
    3,
    "tokens",
    {"vocab_lit": trimmed, "as it is": as_it_is},
    gguf_cases,
    claims=CLAIMS,
    compare=compare_in_llama_cpp,
    facts=FACTS | dict(tokens_per_second="tokens per second"),
    named=True,
    takes_models=True,
    takes_texts=True,
)
