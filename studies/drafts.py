"""How much of a large model's text small models draft right, of folders or in llama.cpp.

`python -m studies.drafts LARGE DATA OUT NAME=SMALL ...`: folders, or GGUF files; `DATA` has `ntrex/LANGUAGE.txt` for
prompts and `text/LANGUAGE.txt` for the most frequent tokens.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vocab_lit.gguf.drafts import drafts_in_llama_cpp
from vocab_lit.models.drafts import (
    Text,
    accepted,
    agreements,
    expected_tokens,
    fewer_logits,
    greedy_texts,
    step_seconds,
)
from vocab_lit.models.settings import is_gguf
from vocab_lit.models.source import Source
from vocab_lit.text.corpus import read_lines
from vocab_lit.text.errors import SettingError
from vocab_lit.tokens.chat import template_tokens
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.tokens.tokenizer_file import TokenizerFile
from vocab_lit.tokens.trim import ordinary_counts, wanted_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WORDS, TOKENS, LENGTH = 8, 24, 4  # of a prompt; of what is written; of a draft
PROMPTS = {"en": 50, "sw": 15}
SIZES = (8_000, 32_000)  # of draft vocabularies
IN_LLAMA_CPP = 12  # English prompts


def prompts(file: str | Path, n: int) -> list[str]:
    "The first words of long lines."
    words = (line.split() for line in read_lines(file))
    return [" ".join(line[:WORDS]) for line in words if len(line) > 2 * WORDS][:n]


def _written(parts: TokenizerFile) -> list[int]:
    "The special tokens that a model writes: the end of a text, and those of a chat template."
    tokenizer = parts.tokenizer
    ids = [tokenizer.eos_token_id, *map(tokenizer.convert_tokens_to_ids, template_tokens(tokenizer))]
    return list(dict.fromkeys(id for id in ids if isinstance(id, int)))


def most_frequent(
    parts: TokenizerFile,
    counts: Mapping[str, np.ndarray],  # {text: (tokens,) of each}
    settings: TrimSettings,
) -> list[int]:
    "The ids of the most frequent tokens, with those that end a text; `SettingError` where there is no room for these."
    n, ends = settings.vocab_size, _written(parts)
    if n and n <= len(ends):
        problem = f" {n:,}: the special tokens that a model writes are {len(ends):,} of them; ask for more"
        raise SettingError("vocab_size", problem)
    ids = wanted_tokens(ordinary_counts(parts, counts), 1.0 if n else settings.coverage)
    return [*ends, *(id for id in ids if id not in ends)][: n or None]


def frequent(tokenizer: PreTrainedTokenizerBase, texts: Mapping[str, str | Path]) -> dict[int, list[int]]:
    "The most frequent tokens of texts, by their number."
    parts = TokenizerFile(tokenizer)
    counts = {language: parts.count(read_lines(file)) for language, file in texts.items()}
    sizes = (n for n in SIZES if n < len(tokenizer))
    return {n: most_frequent(parts, counts, TrimSettings(vocab_size=n)) for n in sizes}


def measured(
    large: str | Path,
    drafters: Mapping[str, str | Path],
    folder: str | Path,  # `DATA`
) -> Iterator[dict]:
    "A row for each drafter, draft vocabulary and language; the large model drafts for itself too."
    source, folder = Source.from_pretrained(large), Path(folder)
    texts = {}
    model = source.load().eval()
    for language, n in PROMPTS.items():
        asked = prompts(folder / f"ntrex/{language}.txt", n)
        texts[language] = greedy_texts(model, source.tokenizer, asked, TOKENS, 16)
    maps = frequent(source.tokenizer, {language: folder / f"text/{language}.txt" for language in PROMPTS})
    seconds = tuple(step_seconds(model, time.process_time, tokens=n) for n in (1, LENGTH + 1))
    yield from _of_drafter("itself", model, texts, maps, *seconds)
    del model
    for name, path in drafters.items():
        yield from _of_drafter(name, Source.from_pretrained(path).load().eval(), texts, maps, *seconds)


def _of_drafter(
    name: str,
    drafter: PreTrainedModel,
    texts: Mapping[str, Sequence[Text]],
    maps: Mapping[int, list[int]],
    token_seconds: float,  # of the large model for one token, and for the pass over a draft
    check_seconds: float,
) -> Iterator[dict]:
    chosen = {0: None, **maps}
    costs = {}
    for n, ids in chosen.items():
        with fewer_logits(drafter, ids):
            costs[n] = step_seconds(drafter, time.process_time) / token_seconds
    for language, written in texts.items():
        for n, agreed in zip(chosen, agreements(drafter, written, list(chosen.values()))):
            told, alpha = accepted(agreed, LENGTH), float(np.concatenate(agreed).mean())
            yield dict(
                drafter=name,
                vocabulary=n or "all",
                language=language,
                prompts=len(written),
                tokens=told.tokens,
                agreement=round(alpha, 4),
                length=LENGTH,
                accepted=round(told.share, 4),
                per_pass=round(told.per_pass, 3),
                per_pass_by_formula=round(expected_tokens(alpha, LENGTH), 3),
                step=round(costs[n], 3),
                speedup=round(told.speedup(costs[n]), 3),
                check=round(check_seconds / token_seconds, 3),
                speedup_with_check=round(told.speedup(costs[n], check_seconds / token_seconds), 3),
            )


def measured_in_llama_cpp(
    large: str | Path,  # a GGUF file, as are the drafters
    drafters: Mapping[str, str | Path],
    folder: str | Path,  # `DATA`
) -> Iterator[dict]:
    "A row for each drafter, on one thread; the large model drafts for itself too. Speeds: tokens a processor second."
    asked = prompts(Path(folder, "ntrex/en.txt"), IN_LLAMA_CPP)
    for name, file in {"itself": large, **drafters}.items():
        told = drafts_in_llama_cpp(file, large, asked, TOKENS, LENGTH)
        yield dict(
            drafter=name,
            prompts=told.prompts,
            same_texts=told.same_texts,
            length=LENGTH,
            drafted=told.drafted,
            accepted=told.accepted,
            alone=round(told.alone_of_cpu, 2),
            with_drafter=round(told.with_drafter_of_cpu, 2),
            speedup=round(told.with_drafter_of_cpu / told.alone_of_cpu, 3),
        )


def main(argv: Sequence[str] | None = None) -> None:
    "Write the rows to a file."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("large", help="the model that is drafted for: a folder, or a GGUF file")
    parser.add_argument("folder", help="of the prompts")
    parser.add_argument("out", help="CSV file of the rows")
    parser.add_argument("small", nargs="+", metavar="NAME=MODEL", help="drafters")
    given = parser.parse_args(argv)
    large, folder, out, named = given.large, given.folder, given.out, given.small
    rows = []
    measure = measured_in_llama_cpp if is_gguf(large) else measured
    for row in measure(large, dict(name.split("=", 1) for name in named), folder):
        print(row, flush=True)
        rows.append(row)
        with open(out, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
