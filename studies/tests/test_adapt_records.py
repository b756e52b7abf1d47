"""Rows of runs in a given time, from their reports."""

import csv

from studies.advice.of_ways import ADAPTED
from studies.records.summaries import SPEEDRUN, rows_of
from studies.trials.adapt_records import RECORD, row_of
from vocab_lit.app.candidates import Seen, candidates_for
from vocab_lit.training.recommended import NEW_TOKENS

CUT = {"te"}  # written with vowel signs, at which SmolLM2 cuts words
BYTES = {("cy", 2): 450_000, ("cy", 8): 850_000}  # of text to train on, by language and minutes
READ = {("gemma3-270m", "et"), ("gemma3-270m", "ka"), ("gemma3-270m", "sw")}  # better than counts of bytes do

REPORT = dict(
    asked=dict(source="/my/model", text=["/my/sw.txt"], keep=["/my/en.txt"], minutes=8.0),
    winner="extend-4000",
    minutes=dict(budget=8.0, spent=8.0123),
    peak_gigabytes=3.45,
    device="cpu",
    training=dict(steps="17 of 8 x 64 tokens"),
    candidates=[dict(candidate="trim"), dict(candidate="extend-4000")],
    rows=[
        dict(key="bits", text="bits per byte, test set", before=3.415, after=2.386),
        dict(key="kept-0", text="bits per byte, en.txt", before=1.549, after=1.622),
        dict(key="kept-1", text="bits per byte, fr.txt", before=2.0, after=2.5),
        dict(key="tokens_per_word", text="tokens per word", before=2.7, after=1.5),
        dict(key="words_per_second", text="words per second", before=2.98, after=4.53),
        dict(key="tokens", text="tokens", before=49152, after=22291),
        dict(key="megabytes", text="MB in float32", before=538.1, after=476.3),
    ],
)


def test_a_row_has_the_worst_of_what_is_kept_and_no_path_of_a_machine(tmp_path):
    row = row_of(REPORT, "smollm2-135m", "sw")
    assert (row["kept_before"], row["kept_after"], row["keep"]) == ("2", "2.5", "text")
    assert (row["bits_before"], row["bits_after"], row["raced"]) == ("3.415", "2.386", "trim extend-4000")
    assert "/my" not in str(row)
    assert "unseen_before" not in row and row_of(REPORT, "m", "sw", (1.0, 1.25))["unseen_after"] == "1.25"
    without = dict(REPORT, asked=dict(keep=["en"], candidates="trim"), rows=[REPORT["rows"][0], *REPORT["rows"][3:]])
    other = row_of(without, "smollm2-135m", "sw")
    assert (other["kept_before"], other["keep"], other["asked"]) == ("", "words", "trim")
    table = tmp_path / "adapt.csv"
    for one in (row, other, dict(row, winner="trim")):
        RECORD.write([one], table)
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [(r["asked"], r["winner"]) for r in rows] == [("all", "trim"), ("trim", "extend-4000")]


def groups_of_records():
    "The runs of a model, a language and a time with the same texts to keep, where there is more than one way."
    by = rows_of(ADAPTED).groupby(["source", "language", "minutes", "keep"])
    return {group: runs for group, runs in by if runs.winner.nunique() > 1}


def test_the_first_candidate_is_the_best_of_its_records():
    groups = groups_of_records()
    assert len(groups) >= 2
    for (source, language, minutes, keep), runs in groups.items():
        known = dict(
            reads=(source, language) in READ,
            keeps=keep == "text",
            is_cut=language in CUT,
            bytes=BYTES.get((language, minutes), 2_000_000),
        )
        first = candidates_for(Seen(steps=55, tokens=28_000, **known))[0]
        ways = runs.set_index("winner").bits_after.groupby(level=0).mean()
        assert ways.idxmin() == first.name, ways


def test_as_many_new_tokens_as_were_best_in_the_speedrun():
    runs = rows_of(SPEEDRUN).query("recipe.str.match('trim-')")
    best = runs.loc[runs.score.idxmin()].recipe
    assert best == f"trim-{NEW_TOKENS}" and len(runs) > 1
