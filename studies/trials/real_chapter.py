"""The commands of the page *A real model, start to end*, and what llama.cpp answers to prompts."""

import json
import math
import shutil
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from studies.models.real import TEXTS, fetch, make_texts, models_folder
from studies.trials.steps import Asked, Step, matching, run_steps, size_mb
from testkit.llama_cpp import Llama
from testkit.process import memory_mb
from vocab_lit.gguf.container import GgufFile
from vocab_lit.text.corpus import data_path

RECORD = "chapter.json"
ADDED = (500, 2000, 8000)  # tokens
CHOSEN = 2000
MODELS = ("gemma3-270m", "smollm2-135m")
BLOCKS = "--batch-size 8 --length 64 --precision bf16"
TRAINING = f"--keep-text english.txt --replay 0.1 --steps 200 --learning-rate 3e-5 {BLOCKS}"
CHAT_TRAINING = f"--keep-text english.txt --replay 0.25 --steps 60 --learning-rate 1e-4 {BLOCKS}"
JUDGES = ("jonah.txt", "english-unseen.txt")
TEMPLATE = "tokenizer.chat_template"
SHOWN_VERSE = 2  # of Jonah: 1:3
N_SAID = 24  # tokens after a prompt
PROMPTS = {  # beginnings of unseen lines: Jonah 1:3 and Genesis 1:1, and a question of fact
    "Jonah 1:3": "Koma Yona ananyamuka kuti",
    "Genesis 1:1": "Pachiyambi Mulungu adalenga",
    "English": "The capital of Malawi is",
}
QUESTIONS = {  # a question, and what a right answer matches
    "What is the capital of France? Answer in one sentence.": "Paris",
    "How many days does a week have? Answer in one sentence.": "seven|7",
    "What color is the sky on a clear day? Answer in one word.": r"\bis blue\b|^Blue\W*$",
    "Which animal says 'meow'? Answer in one sentence.": r"\bcat",
    "What is 2 plus 3? Answer with a number.": r"\b(5|five)\b",
    "What is the opposite of hot? Answer in one word.": r"\b[Cc](old|ool)\b",
}
TOLERANCE = {"bits_per_byte": 0.03, "tokens_per_word": 0.01, "tokens": 0, "file_mb": 0.5}  # of a repetition


def _training(source: str, out: str) -> str:
    return f"vocab-lit lapt {source} --text chichewa.txt {TRAINING} --out {out}"


def _evaluation(name: str, model: str, text: str) -> Step:
    return Step(f"{name} in {text}", f"vocab-lit evaluate {model} --task ppl --test {text}")


def _file(added: int) -> str:
    return f"gemma-ny-{added}.gguf" if added else "gemma-small.gguf"


SPEAKERS = {"before": "gemma3-270m.gguf", "trimmed": _file(0), "after": "gemma-ny.gguf"}
CHATTERS = {"before": "smollm2-135m.gguf", "extended": "chat-ny.gguf", "trained": "chat-ny-trained.gguf"}


def _extension(added: int) -> Step:
    source, out = _file(0), _file(added)
    command = f"vocab-lit transplant {source} --text chichewa.txt --extend {added} --expansion continued --out {out}"
    return Step(f"extend by {added}", command, out)


def _chat_steps() -> list[Step]:
    extend = "vocab-lit transplant smollm2-135m.gguf --text chichewa.txt --extend 2000 --expansion continued"
    training = f"vocab-lit lapt chat-ny.gguf --text chichewa.txt {CHAT_TRAINING}"
    return [
        Step("extend the chat model", f"{extend} --out chat-ny.gguf", "chat-ny.gguf"),
        Step("train the chat model", f"{training} --out chat-ny-trained", "chat-ny-trained"),
        Step(
            "export the chat model",
            "vocab-lit export chat-ny-trained --like chat-ny.gguf --out chat-ny-trained.gguf",
            "chat-ny-trained.gguf",
        ),
        _evaluation("chat model", "smollm2-135m.gguf", "jonah.txt"),
        _evaluation("chat model trained", "chat-ny-trained", "jonah.txt"),
    ]


def steps() -> list[Step]:
    "All commands, in order."
    trim = "vocab-lit trim gemma3-270m.gguf --text chichewa.txt --text english.txt --words en:20000"
    folder, source = f"gemma-ny-{CHOSEN}-trained", _file(CHOSEN)
    kept = "gemma-small-trained"
    others = [added for added in ADDED if added != CHOSEN]
    sides = {"untouched": "gemma3-270m.gguf", "trimmed": _file(0)}
    return [
        Step("inspect", "vocab-lit inspect gemma3-270m.gguf --text chichewa.txt"),
        Step("trim", f"{trim} --out {_file(0)}", _file(0)),
        _extension(CHOSEN),
        Step("train", _training(source, folder), folder),
        *(_evaluation("trained", folder, text) for text in JUDGES),
        Step("export", f"vocab-lit export {folder} --like {source} --out gemma-ny.gguf", "gemma-ny.gguf"),
        *(_evaluation(f"start {CHOSEN}", source, text) for text in JUDGES),
        *(_evaluation(side, file, text) for side, file in sides.items() for text in JUDGES),
        Step("train without new tokens", _training(_file(0), kept), kept),
        *(_evaluation("trained without new tokens", kept, text) for text in JUDGES),
        *_chat_steps(),
        *(_extension(added) for added in others),
        *(_evaluation(f"start {added}", _file(added), "jonah.txt") for added in others),
    ]


def said(place: Path) -> dict:
    "Return what llama.cpp writes after the prompts, greedily, and how fast: the source's file, trimmed and extended."
    result = {}
    verses = (place / "jonah.txt").read_text(encoding="utf-8").splitlines()
    sizes = {name: len(GgufFile(place / name).get("tokenizer.ggml.tokens")) for name in SPEAKERS.values()}
    for side, name in SPEAKERS.items():
        n_old = sizes[_file(0)] if side == "after" else math.inf  # tokens from this id on are new
        with Llama(place / name) as model:
            answers = {prompt: model.greedy(begin, N_SAID) for prompt, begin in PROMPTS.items()}
            ids = model.ids(verses)
            result[side] = dict(
                file=name,
                text={prompt: answer.text for prompt, answer in answers.items()},
                tokens_per_second=round(max(answer.tokens_per_second for answer in answers.values()), 1),
                tokens_per_word=round(sum(map(len, ids)) / sum(len(verse.split()) for verse in verses), 3),
                pieces=[[model.text([id]), id >= n_old] for id in ids[SHOWN_VERSE]],
                file_mb=round(size_mb(place / name), 1),
                tokens=sizes[name],
                memory_mb=round(memory_mb(model.process.pid)[1] * 2**20 / 1e6),
            )
    return result


def chats(place: Path) -> dict:
    "Return how the chat model answers in its template: before, extended and trained."
    result, template = {}, GgufFile(place / CHATTERS["before"]).get(TEMPLATE)
    for side, name in CHATTERS.items():
        with Llama(place / name) as model:
            answers = {q: model.chat([dict(role="user", content=q)]) for q in QUESTIONS}
        texts = {q: answer.text for q, answer in answers.items()}
        result[side] = dict(
            file=name,
            text=texts,
            right=matching(texts, QUESTIONS),
            ended=sum(answer.finish_reason == "stop" for answer in answers.values()),
            same_template=GgufFile(place / name).get(TEMPLATE) == template,
        )
    return result


ASKED: Asked = {"export": {"said": said}, "export the chat model": {"chats": chats}}  # of llama.cpp


def _bring(place: Path) -> None:
    "Models and texts, copied from where they are kept."
    kept = models_folder()
    sources = [fetch(name, kept) for name in MODELS]
    make_texts(kept)
    for source in [*sources, *(kept / name for name in TEXTS)]:
        if not (place / source.name).exists():
            shutil.copyfile(source, place / source.name)


def run(place: Path) -> dict:
    "Run what the folder's record does not have yet."
    _bring(place)
    return run_steps(steps(), place / RECORD, ASKED)


def differences(
    record: dict,  # the one that is shown
    again: dict,
) -> list[str]:
    "Where a repetition differs by more than it may, in words."
    found = []
    for name, entry in record.items():
        for key, most in TOLERANCE.items():
            if key in entry and not math.isclose(entry[key], again[name][key], rel_tol=0, abs_tol=most):
                found.append(f"{name}: {key} is {again[name][key]}, recorded are {entry[key]}")
    return found


def main(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder for models, texts and the record.")],
    check: Annotated[bool, Option("--check", help="Compare with data/real-trial/chapter.json.")] = False,
) -> None:
    """Run the commands of the page *A real model* (6 GB, an hour on one CPU core) into `DIR/chapter.json`; it resumes.

    Example: `python -m studies trial real-chapter DIR`
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = run(folder.resolve())
    if check:
        shown = json.loads(data_path("real-trial", RECORD).read_text(encoding="utf-8"))
        if problems := differences(shown, record):
            raise SystemExit("\n".join(problems))
        print(f"the {len(shown)} entries of the record hold")
