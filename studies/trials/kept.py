"""What is left of a chat model's English and of its obedience after training on Swahili, by the way it is trained.

`python -m studies.trials.kept DATA DIR` trains SmolLM2-135M-Instruct in several ways and measures each (in an hour).
DATA is that of `data/real-trial/study.yml`; DIR gets the texts, the models and `kept.json`, where a step that is there
already is left alone. `data/real-trial/kept.csv` is made of it at the end; its row of shielded columns is that of
commit 5db8120f, after which `--shield` left the library.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from studies.trials.steps import Asked, Step, matching, run_steps
from vocab_lit.text.corpus import Lines, data_path, read_lines
from vocab_lit.training.perplexity import perplexity

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

RECORD, TABLE = "kept.json", "kept.csv"
SOURCE = "smollm2-135m"
BYTES = {"swahili.txt": ("text/sw.txt", 500_000), "english.txt": ("text/en.txt", 40_000)}  # of what is learnt from
JUDGES = {"sw": "ntrex/sw.txt", "en": "ntrex/en.txt"}
N_JUDGED, N_HELD_OUT = 40, 40  # lines of NTREX; others choose the checkpoint
N_SAID = 48  # tokens of an answer at most
TRAINING = "--steps 40 --eval-every 40 --batch-size 8 --length 64 --precision bf16"
WAYS = {  # how the model is trained
    "all weights": "--learning-rate 3e-4",
    "all weights, a third of the rate": "--learning-rate 1e-4",
    "replay of English": "--learning-rate 3e-4 --keep-text english.txt --replay 0.1",
    "LoRA": "--learning-rate 3e-3 --lora r=16,merge=yes --embeddings none --mode all",
}
MERGES = {  # what is made of the first of them afterwards
    "half source, half all weights": "--weights 0.5,0.5",
}
_COLOR = "(red|green|blue|yellow|orange|purple|black|white|pink|brown)"
INSTRUCTIONS = {  # and what matches an answer that does as it is told
    "What is the capital of France? Answer in one sentence.": "Paris",
    "How many days does a week have? Answer in one sentence.": "seven|7",
    "What color is the sky on a clear day? Answer in one word.": r"\bis blue\b|^Blue\W*$",
    "What is the opposite of hot? Answer in one word.": r"(?i)^\W*cold\W*$",
    "Write the word apple in capital letters.": "APPLE",
    "Say hello.": r"(?i)\b(hello|hi)\b",
    "List three colors, separated by commas.": rf"(?i){_COLOR}, {_COLOR},? (and )?{_COLOR}",
    "Write a numbered list of three fruits.": r"1\. .*\n+\s*2\. .*\n+\s*3\. ",
    "What is 2 + 3? Answer with a number.": r"\b5\b",
    "Which animal says meow?": r"(?i)\bcats?\b",
    "Is fire hot? Answer yes or no.": r"(?i)^\W*yes\b",
    "Is ice hot? Answer yes or no.": r"(?i)^\W*no\b",
    "Repeat this sentence exactly: The dog runs fast.": "The dog runs fast",
    "Name the first month of the year.": "January",
    "Which planet do we live on?": r"(?i)^(\W*|.*\b(on|called|is) (planet )?)earth\b",
    "Count from one to five in digits.": r"1\D+2\D+3\D+4\D+5",
    "Complete the sentence: The sun rises in the": r"(?i)\beast\b",
    "Write one sentence about a dog.": r"^[^.!?]*\b[Dd]ogs?\b[^.!?]*[.!?]\W*$",
    "Start your answer with the word Sure. How do I boil an egg?": "^Sure",
    "Who wrote Romeo and Juliet?": "Shakespeare",
    "What language is spoken in Spain?": "Spanish",
    "Write a bullet list of two animals.": r"^\s*[-*•] .*\s+[-*•] ",
    "What is the plural of mouse? Answer in one word.": r"(?i)^\W*mice\W*$",
    "Put these words in alphabetical order: cat, apple, banana.": r"(?i)apple\W+banana\W+(and )?cat\b",
}


def _folder(way: str) -> str:
    return way.replace(",", "").replace(" ", "-").lower()


def steps() -> list[Step]:
    "What makes the model of each way, that of the first is there."
    lapt = f"vocab-lit lapt {SOURCE} --text swahili.txt --held-out held-out.txt {TRAINING}"
    made = {way: f"{lapt} {given} --out {_folder(way)}" for way, given in WAYS.items()}
    trained = _folder(next(iter(WAYS)))
    made |= {way: f"vocab-lit merge {SOURCE} {trained} {given} --out {_folder(way)}" for way, given in MERGES.items()}
    return [Step("as it comes", "", SOURCE), *(Step(way, command, _folder(way)) for way, command in made.items())]


def said(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict:
    "What a model answers to each instruction in its chat template, greedily, and how many answers it ends."
    import torch

    tokenizer.padding_side = "left"
    chats = [[{"role": "user", "content": told}] for told in INSTRUCTIONS]
    options = dict(add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True)
    asked = tokenizer.apply_chat_template(chats, **options)
    with torch.inference_mode():
        made = model.generate(**asked, do_sample=False, max_new_tokens=N_SAID)[:, asked["input_ids"].shape[1] :]
    answers = tokenizer.batch_decode(made, skip_special_tokens=True)
    ended = int((made == tokenizer.eos_token_id).any(1).sum())
    return dict(answers=dict(zip(INSTRUCTIONS, answers)), ended=ended)


def measured(folder: Path) -> dict:
    "Bits per byte of a model in both languages, and what it answers."
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found = {code: perplexity(model, tokenizer, read_lines(folder.parent / f"{code}.txt")) for code in JUDGES}
    bits = {code: round(of.bits_per_byte, 3) for code, of in found.items()}
    return bits | said(model, tokenizer)


def _measuring(step: Step) -> Callable[[Path], dict]:
    return lambda place: measured(place / step.makes)


def _asked() -> Asked:
    return {step.name: {f"{step.name}, measured": _measuring(step)} for step in steps()}


def _bring(data: Path, place: Path) -> None:
    "The model, the texts that are learnt from, and the lines that judge."
    if not (place / SOURCE).exists():
        (place / SOURCE).symlink_to(data / "models" / SOURCE)
    for name, (source, size) in BYTES.items():
        with open(data / source, "rb") as file:
            text = file.read(size)
        (place / name).write_bytes(text[: text.rindex(b"\n") + 1])
    for code, source in JUDGES.items():
        lines = list(islice(Lines(data / source), N_JUDGED + N_HELD_OUT))
        _write(place / f"{code}.txt", lines[:N_JUDGED])
        if code == "sw":
            _write(place / "held-out.txt", lines[N_JUDGED:])


def _write(file: Path, lines: Sequence[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def rows(record: dict) -> pd.DataFrame:
    "A row for each way that is measured: its bits in both languages, what it obeys, and what making it took."
    told = []
    for way in (step.name for step in steps()):
        made, found = record.get(way, {}), record.get(f"{way}, measured")
        if not found:
            continue
        bits = {f"{code} bits per byte": found[code] for code in JUDGES}
        obeyed = matching(found["answers"], INSTRUCTIONS)
        kept = dict(obeyed=obeyed, ended=found["ended"], instructions=len(INSTRUCTIONS))
        cost = dict(cpu_seconds=made.get("cpu_seconds", 0), command=made.get("command", ""))
        told.append(dict(way=way) | bits | kept | cost)
    return pd.DataFrame(told)


def main(argv: Sequence[str] | None = None) -> None:
    "Train and measure all ways, and write the table."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that data/real-trial/study.yml stands on")
    parser.add_argument("dir", type=Path, help="a folder for texts, models and the record")
    given = parser.parse_args(argv)
    data, place = given.data.resolve(), given.dir.resolve()
    place.mkdir(parents=True, exist_ok=True)
    _bring(data, place)
    record = run_steps(steps(), place / RECORD, _asked())
    rows(record).to_csv(data_path("real-trial") / TABLE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
