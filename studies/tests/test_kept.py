"""What the ways of training keep: the record is that of the commands, and the rules tell answers apart."""

import pandas as pd

from studies.trials.kept import INSTRUCTIONS, JUDGES, TABLE, rows, steps
from studies.trials.steps import matching

OBEDIENT = {
    "What is the capital of France? Answer in one sentence.": "It is Paris.",
    "How many days does a week have? Answer in one sentence.": "A week has seven days.",
    "What color is the sky on a clear day? Answer in one word.": "Blue",
    "What is the opposite of hot? Answer in one word.": "Cold.",
    "Write the word apple in capital letters.": "APPLE",
    "Say hello.": "Hello! How are you?",
    "List three colors, separated by commas.": "Red, green, and blue.",
    "Write a numbered list of three fruits.": "1. Apple\n2. Banana\n3. Pear",
    "What is 2 + 3? Answer with a number.": "5",
    "Which animal says meow?": "The cat.",
    "Is fire hot? Answer yes or no.": "Yes.",
    "Is ice hot? Answer yes or no.": "No, it is cold.",
    "Repeat this sentence exactly: The dog runs fast.": "The dog runs fast.",
    "Name the first month of the year.": "January",
    "Which planet do we live on?": "We live on Earth.",
    "Count from one to five in digits.": "1, 2, 3, 4, 5",
    "Complete the sentence: The sun rises in the": "The sun rises in the east.",
    "Write one sentence about a dog.": "The dog sleeps.",
    "Start your answer with the word Sure. How do I boil an egg?": "Sure, boil water first.",
    "Who wrote Romeo and Juliet?": "William Shakespeare.",
    "What language is spoken in Spain?": "Spanish.",
    "Write a bullet list of two animals.": "- dog\n- cat",
    "What is the plural of mouse? Answer in one word.": "Mice",
    "Put these words in alphabetical order: cat, apple, banana.": "apple, banana, cat",
}
OTHERWISE = ("", "The dog says 11 blue words. Cats are here. It is not cold", "Habari za asubuhi")


def test_each_rule_takes_an_answer_that_obeys_and_none_that_does_not():
    assert OBEDIENT.keys() == INSTRUCTIONS.keys() and matching(OBEDIENT, INSTRUCTIONS) == len(INSTRUCTIONS)
    for told, answer in OBEDIENT.items():
        assert matching({told: answer}, INSTRUCTIONS) == 1, told
    assert [matching(dict.fromkeys(INSTRUCTIONS, answer), INSTRUCTIONS) for answer in OTHERWISE] == [0, 1, 0]


def test_the_record_is_that_of_the_commands_and_of_all_instructions():
    table = pd.read_csv(TABLE.path(), keep_default_na=False).set_index("way")
    commands = {step.name: step.command for step in steps()}
    now = table.drop(index="shielded columns")
    assert dict(now.command) == {way: commands[way] for way in now.index}
    assert (table.instructions == len(INSTRUCTIONS)).all() and (table[["obeyed", "ended"]].max(axis=1) <= 24).all()
    assert (table[[f"{code} bits per byte" for code in JUDGES]] > 0.5).all(axis=None)


def test_a_row_has_what_a_way_costs_and_keeps_and_ways_without_measures_have_none():
    trained = dict(command="vocab-lit lapt", cpu_seconds=7.5)
    measured = dict(sw=2.5, en=1.25, answers=OBEDIENT, ended=3)
    record = {"all weights": trained, "all weights, measured": measured, "LoRA": trained}
    assert rows(record) == [
        {"way": "all weights", "sw bits per byte": 2.5, "en bits per byte": 1.25, "obeyed": 24, "ended": 3}
        | {"instructions": 24, "cpu_seconds": 7.5, "command": "vocab-lit lapt"}
    ]
