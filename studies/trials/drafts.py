"""How much of a large model's text small models draft right in speculative decoding, of folders or in llama.cpp.

The large model's greedy text is known, so one pass of a drafter over it says where the two agree, and with that what is
accepted of drafts of any length (Leviathan et al. 2023).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from typer import Argument

from studies.records.record import Record
from testkit.llama_cpp import Llama
from vocab_lit.models.settings import is_gguf
from vocab_lit.models.source import Source
from vocab_lit.text.corpus import read_lines
from vocab_lit.text.errors import SettingError
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.tokens.special_tokens import template_tokens
from vocab_lit.tokens.tokenizer_file import TokenizerFile
from vocab_lit.tokens.trim import ordinary_counts, wanted_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

RECORD = Record("real-trial/drafts.csv", ("drafter",))
WORDS, TOKENS, LENGTH = 8, 24, 4  # of a prompt; of what is written; of a draft
PROMPTS = {"en": 50, "sw": 15}
SIZES = (8_000, 32_000)  # of draft vocabularies
IN_LLAMA_CPP = 12  # English prompts
Text = tuple[list[int], list[int]]  # ids of a prompt, and of what was written after it


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


@torch.no_grad()
def greedy_texts(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, asked: Sequence[str], n: int
) -> list[Text]:
    "Return a model's continuations of prompts, at most `n` tokens, greedily."
    ends: Any = model.generation_config.eos_token_id if model.generation_config else None
    ends, written = [] if ends is None else np.atleast_1d(ends).tolist(), []
    for prompt in asked:
        ids: Any = tokenizer(prompt)["input_ids"]
        given = torch.tensor([ids])
        out = model.generate(  # pyright: ignore[reportCallIssue]
            given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=n, pad_token_id=0
        )
        new = out[0, len(ids) :].tolist()
        at = next((i for i, id in enumerate(new) if id in ends), len(new))
        written.append((ids, new[: at + 1]))
    return written


@torch.no_grad()
def agreements(drafter: PreTrainedModel, texts: Sequence[Text], among: Sequence[int] | None = None) -> list[np.ndarray]:
    "Of each text (tokens,) bool: where a drafter's most probable token, among some ids, is the one that was written."
    found = []
    for prompt, new in texts:
        logits = drafter(input_ids=torch.tensor([prompt + new[:-1]]), use_cache=False).logits[0, len(prompt) - 1 :]
        best = logits.argmax(-1) if among is None else torch.tensor(among)[logits[:, among].argmax(-1)]
        found.append(best.numpy() == np.array(new))
    return found


@dataclass(frozen=True)
class Accepted:
    "What drafts of one length come to."

    drafted: int
    accepted: int
    passes: int  # of the large model
    tokens: int  # that were written

    @property
    def share(self) -> float:
        "The part of the drafted tokens that was accepted."
        return self.accepted / self.drafted

    @property
    def per_pass(self) -> float:
        "Tokens that a pass of the large model writes."
        return self.tokens / self.passes

    def speedup(self, cost: float, check: float = 1.0) -> float:
        "How many times as fast: by a drafter's step and a pass over a draft, in the large model's time for a token."
        return self.tokens / (check * self.passes + cost * self.drafted)


def accepted(agreed: Sequence[np.ndarray], length: int) -> Accepted:
    "What drafts of a length come to; `agreed` is of each text (tokens,) bool."
    drafted = taken = passes = 0
    for text in agreed:
        at = 0
        while at < len(text):
            draft = text[at : at + length]
            run = len(draft) if draft.all() else int(draft.argmin())
            drafted, taken, passes = drafted + len(draft), taken + run, passes + 1
            at += run + 1
    return Accepted(drafted, taken, passes, sum(map(len, agreed)))


def expected_tokens(alpha: float, length: int) -> float:
    "Tokens that a pass of the large model writes, with drafts of a length of which each token is right by `alpha`."
    return length + 1.0 if alpha == 1 else (1 - alpha ** (length + 1)) / (1 - alpha)


def expected_speedup(alpha: float, length: int, cost: float) -> float:
    "How many times as fast the large model writes, by the time of a drafter's step in passes of the large model."
    return expected_tokens(alpha, length) / (length * cost + 1)


def largest_cost(alpha: float, speedup: float = 1.0, longest: int = 32) -> float:
    "What a drafter's step may cost, so that the large model writes so many times as fast; negative: nothing does."
    return max((expected_tokens(alpha, length) / speedup - 1) / length for length in range(1, longest + 1))


@torch.no_grad()
def step_seconds(model: PreTrainedModel, clock: Callable[[], float] = time.process_time, tokens: int = 1) -> float:
    "The fewest of six times in which a model with 64 tokens in its cache reads some more and computes the next one."
    ids, seconds = torch.zeros(1, 64, dtype=torch.long), []
    cache = model(input_ids=ids, use_cache=True).past_key_values
    for _ in range(6):
        start = clock()
        model(input_ids=ids[:, :tokens], past_key_values=cache, use_cache=True).logits.argmax().item()
        seconds.append(clock() - start)
    return min(seconds)


@contextlib.contextmanager
def fewer_logits(model: PreTrainedModel, ids: Sequence[int] | None) -> Iterator[None]:
    "Inside the block a model scores some tokens only (FR-Spec; Zhao et al. 2025); its input stays."
    whole: Any = model.get_output_embeddings()
    if ids is not None:
        head = torch.nn.Linear(whole.in_features, len(ids), bias=False, device="meta")
        head.weight = torch.nn.Parameter(whole.weight[torch.tensor(ids)].detach())
        model.set_output_embeddings(head)
    try:
        yield
    finally:
        model.set_output_embeddings(whole)


def frequent(tokenizer: PreTrainedTokenizerBase, texts: Mapping[str, str | Path]) -> dict[int, list[int]]:
    "The most frequent tokens of texts, by their number."
    parts = TokenizerFile(tokenizer)
    counts = {language: parts.count(read_lines(file)) for language, file in texts.items()}
    sizes = (n for n in SIZES if n < len(tokenizer))
    return {n: most_frequent(parts, counts, TrimSettings(vocab_size=n)) for n in sizes}


def measured(large: Path, drafters: Mapping[str, Path | None], folder: Path) -> Iterator[dict]:
    "Yield a row for each drafter, draft vocabulary and language; the drafter None is the large model itself."
    source, texts = Source.open(large), {}
    model = source.load().eval()
    for language, n in PROMPTS.items():
        texts[language] = greedy_texts(model, source.tokenizer, prompts(folder / f"ntrex/{language}.txt", n), TOKENS)
    chosen = {0: None} | frequent(source.tokenizer, {code: folder / f"text/{code}.txt" for code in PROMPTS})
    token, check = (step_seconds(model, tokens=n) for n in (1, LENGTH + 1))
    for name, path in drafters.items():
        drafter = Source.open(path).load().eval() if path else model
        costs = {}
        for n, ids in chosen.items():
            with fewer_logits(drafter, ids):
                costs[n] = step_seconds(drafter) / token
        for language, written in texts.items():
            for n, ids in chosen.items():
                row = dict(drafter=name, vocabulary=n or "all", language=language, prompts=len(written))
                yield row | _numbers(agreements(drafter, written, ids), costs[n], check / token)


def _numbers(agreed: Sequence[np.ndarray], cost: float, check: float) -> dict:
    "Return what drafts come to; a drafter's step and a pass over a draft are in passes of the large model."
    result, alpha = accepted(agreed, LENGTH), float(np.concatenate(agreed).mean())
    return dict(
        tokens=result.tokens,
        agreement=round(alpha, 4),
        length=LENGTH,
        accepted=round(result.share, 4),
        per_pass=round(result.per_pass, 3),
        per_pass_by_formula=round(expected_tokens(alpha, LENGTH), 3),
        step=round(cost, 3),
        speedup=round(result.speedup(cost), 3),
        check=round(check, 3),
        speedup_with_check=round(result.speedup(cost, check), 3),
    )


_DRAFTING = """
params.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
draft = params.speculative.draft
draft.mparams.path, draft.n_max, draft.n_min, draft.p_min = {file!r}, {length}, 0, 0.0
draft.cpuparams.n_threads = draft.cpuparams_batch.n_threads = given["threads"]
"""


@dataclass
class Written:
    "What llama.cpp wrote after prompts."

    ids: list[list[int]] = field(default_factory=list)
    drafted: int = 0
    accepted: int = 0
    of_cpu: float = 0.0  # tokens a processor second, in which the prompts are read too


def written_by_llama_cpp(large: str | Path, asked: Sequence[str], drafter: str | Path | None = None) -> Written:
    "Return a GGUF file's continuations, with another one as drafter; llama.cpp ignores one with other tokens."
    told, more = Written(), _DRAFTING.format(file=str(drafter), length=LENGTH) if drafter else ""
    with Llama(large, more=more) as model:
        begun = sum(model.process.cpu_times()[:2])
        for prompt in asked:
            answer = model.complete(prompt, TOKENS)
            told.ids.append(answer["tokens"])
            told.drafted += answer["timings"].get("draft_n", 0)
            told.accepted += answer["timings"].get("draft_n_accepted", 0)
        told.of_cpu = sum(map(len, told.ids)) / max(
            sum(model.process.cpu_times()[:2]) - begun, 0.01
        )  # it is measured in ticks
    return told


def measured_in_llama_cpp(large: Path, drafters: Mapping[str, Path | None], folder: Path) -> Iterator[dict]:
    "Yield a row for each drafter, as `measured`, on one thread; speeds are in tokens per CPU second."
    prompted = prompts(folder / "ntrex/en.txt", IN_LLAMA_CPP)
    alone = written_by_llama_cpp(large, prompted)
    for name, file in drafters.items():
        helped = written_by_llama_cpp(large, prompted, file or large)
        yield dict(
            drafter=name,
            prompts=len(prompted),
            same_texts=sum(a == b for a, b in zip(alone.ids, helped.ids)),
            length=LENGTH,
            drafted=helped.drafted,
            accepted=helped.accepted,
            alone=round(alone.of_cpu, 2),
            with_drafter=round(helped.of_cpu, 2),
            speedup=round(helped.of_cpu / alone.of_cpu, 3),
        )


def main(
    large: Annotated[Path, Argument(help="Folder of a model, or a GGUF file; all models are of one kind.")],
    data: Annotated[
        Path, Argument(help="Folder with ntrex/LANGUAGE.txt (prompts) and text/LANGUAGE.txt (frequent tokens).")
    ],
    out: Annotated[Path, Argument(help="A CSV file.")],
    drafters: Annotated[
        list[str] | None, Argument(metavar="[NAME=SMALL]...", help="Models with the tokens of the large one.")
    ] = None,
) -> None:
    """Measure how much of a large model's text small models draft right; the large one drafts for itself too.

    Example: `python -m studies trial drafts GEMMA DATA drafts.csv untrained=FOLDER`
    """
    pairs = (name.split("=", 1) for name in drafters or ())
    models = {"itself": None} | {name: Path(path) for name, path in pairs}
    measure = measured_in_llama_cpp if is_gguf(large) else measured
    rows = []
    for row in measure(large, models, data):
        print(row, flush=True)
        rows.append(row)
        RECORD.write([one for one in rows if one["drafter"] == row["drafter"]], out)
