"""What the examples of several notebooks begin with: a small model, and what the library remarks."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

log = logging.getLogger("vocab_lit")


@contextmanager
def remarks(tell: Callable[[str], object] | None = None) -> Iterator[list[str]]:
    "Inside the block, remarks of the library go to the list that it gives, and to a function such as print."
    messages: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())
            if tell:
                tell(messages[-1])

    handler, level = Keep(), log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield messages
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class FakeTime:
    "A clock for tests, which advances by a little when it is read, and otherwise only when it is told to."

    def __init__(self, reading: float = 1e-3):  # seconds
        self.reading, self.seconds = reading, 0.0

    def __call__(self) -> float:
        self.seconds += self.reading
        return self.seconds


@contextmanager
def fake_time(step: float = 0.1, reading: float = 1e-3) -> Iterator[FakeTime]:
    "A clock for `adapt_files`; inside the block each training step of 512 tokens takes so many of its seconds."
    from vocab_lit.runs.pace import Pace

    now, step_end = FakeTime(reading), Pace.on_step_end

    def on_step_end(pace: Pace, *args: Any, **more: Any) -> None:
        now.seconds += step
        step_end(pace, *args, **more)

    def block_seconds(model: object, n: int, length: int, *_: object) -> float:
        return step * n * length / 512 / 1.3

    with (
        patch.object(Pace, "on_step_end", on_step_end),
        patch("vocab_lit.app.trial.block_seconds", block_seconds),
    ):
        yield now


def tiny_model(folder: str | Path, tokens: int = 800) -> Path:
    "Save a masked model of few random weights, with a tokenizer of English and Finnish, and its text sw.txt."
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    from testkit.phrasebook import lines
    from vocab_lit.tokens.train import train_tokenizer

    folder = Path(folder)
    tokenizer = train_tokenizer(lines("en", 500, seed=0) + lines("fi", 500, seed=0), "unigram", tokens)
    shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config = XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=130, **shape)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = XLMRobertaForMaskedLM(config)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    (folder / "sw.txt").write_text("\n".join(lines("sw", 600, seed=0)), encoding="utf-8")
    return folder


def run(*arguments: object, code: int = 0) -> str:
    "What `vocab-lit` prints: its output, or where it is to fail its errors."
    from typer.testing import CliRunner

    from vocab_lit.cli.main import app

    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    return result.stdout if code == 0 else result.stderr
