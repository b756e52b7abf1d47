"""How much a chat model forgets of English and of following instructions, by how it is trained on Swahili."""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from studies.records.record import Record
from studies.trials.steps import Step, matching, run_steps
from vocab_lit.text.corpus import Lines, read_lines
from vocab_lit.training.perplexity import perplexity

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TABLE = Record("real-trial/kept.csv", ("way",))  # "shielded columns" was measured before `--shield` left the library
SOURCE = "smollm2-135m"
BYTES = {"swahili.txt": ("text/sw.txt", 500_000), "english.txt": ("text/en.txt", 40_000)}  # of training text
JUDGES = {"sw": "ntrex/sw.txt", "en": "ntrex/en.txt"}
N_TEST, N_VALIDATION = 40, 40  # lines of NTREX; the second choose the checkpoint
MOST_TOKENS = 48  # of an answer
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
INSTRUCTIONS = {  # and what matches an answer that obeys
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


def steps() -> list[Step]:
    "Return the commands that make each model; the first model is there."

    def folder(way: str) -> str:
        return way.replace(",", "").replace(" ", "-").lower()

    lapt = f"vocab-lit lapt {SOURCE} --text swahili.txt --held-out held-out.txt {TRAINING}"
    made = {way: f"{lapt} {options} --out {folder(way)}" for way, options in WAYS.items()}
    trained = folder(next(iter(WAYS)))
    merge = f"vocab-lit merge {SOURCE} {trained}"
    made |= {way: f"{merge} {options} --out {folder(way)}" for way, options in MERGES.items()}
    return [Step("as it comes", "", SOURCE), *(Step(way, command, folder(way)) for way, command in made.items())]


def answers_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict:
    "Return a model's greedy answers to the instructions in its chat template, and how many of them end."
    import torch

    tokenizer.padding_side = "left"
    chats = [[{"role": "user", "content": instruction}] for instruction in INSTRUCTIONS]
    options = dict(add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True)
    inputs = tokenizer.apply_chat_template(chats, **options)
    with torch.inference_mode():
        ids = model.generate(**inputs, do_sample=False, max_new_tokens=MOST_TOKENS)[:, inputs["input_ids"].shape[1] :]
    answers = tokenizer.batch_decode(ids, skip_special_tokens=True)
    ended = int((ids == tokenizer.eos_token_id).any(1).sum())
    return dict(answers=dict(zip(INSTRUCTIONS, answers)), ended=ended)


def measured(name: str, place: Path) -> dict:
    "Return a model's bits per byte in both languages, and its answers."
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = (cls.from_pretrained(place / name) for cls in (AutoModelForCausalLM, AutoTokenizer))
    scores = {code: perplexity(model.eval(), tokenizer, read_lines(place / f"{code}.txt")) for code in JUDGES}
    return {code: round(score.bits_per_byte, 3) for code, score in scores.items()} | answers_of(model, tokenizer)


def _bring(data: Path, place: Path) -> None:
    "Copy the model, the training texts, and test and validation lines."
    if not (place / SOURCE).exists():
        (place / SOURCE).symlink_to(data / "models" / SOURCE)
    for name, (source, size) in BYTES.items():
        with open(data / source, "rb") as file:
            text = file.read(size)
        (place / name).write_bytes(text[: text.rindex(b"\n") + 1])
    for code, source in JUDGES.items():
        lines = list(islice(Lines(data / source), N_TEST + N_VALIDATION))
        parts = {f"{code}.txt": lines[:N_TEST]} | ({"held-out.txt": lines[N_TEST:]} if code == "sw" else {})
        for name, part in parts.items():
            (place / name).write_text("".join(f"{line}\n" for line in part), encoding="utf-8", newline="\n")


def rows(steps_record: dict) -> list[dict[str, Any]]:
    "Return a row for each measured way: its bits in both languages, answers that obey, and what training took."
    found = []
    for way in (step.name for step in steps()):
        made, scores = steps_record.get(way, {}), steps_record.get(f"{way}, measured")
        if scores:
            bits = {f"{code} bits per byte": scores[code] for code in JUDGES}
            answers = dict(obeyed=matching(scores["answers"], INSTRUCTIONS), ended=scores["ended"])
            cost = dict(cpu_seconds=made.get("cpu_seconds", 0.0), command=made.get("command", ""))
            found.append(dict(way=way) | bits | answers | dict(instructions=len(INSTRUCTIONS)) | cost)
    return found


def main(
    data: Annotated[Path, Argument(help="Folder of models and texts, as data/real-trial/study.yml needs it.")],
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder for texts, models and the record of the steps.")],
) -> None:
    """Train SmolLM2-135M-Instruct in several ways, measure each, and write data/real-trial/kept.csv; it resumes.

    Example: `python -m studies trial kept DATA DIR`
    """
    place = folder.resolve()
    place.mkdir(parents=True, exist_ok=True)
    _bring(data.resolve(), place)
    measures = {step.name: {f"{step.name}, measured": partial(measured, step.makes)} for step in steps()}
    TABLE.write(rows(run_steps(steps(), place / "kept.json", measures)))
