"""A speedrun keeps to its budget, resumes where it was, and records what the saved model scores."""

import csv
import json
from functools import partial

import pytest
from typer.testing import CliRunner

from studies.__main__ import app
from studies.trials import speedrun
from studies.trials.speedrun import CALIBRATED, COST, _Clock, _Run, open_speedrun, run_speedrun, verdict
from testkit.phrasebook import lines
from vocab_lit.models.device import find_device
from vocab_lit.models.source import Source
from vocab_lit.text.corpus import data_path, read_lines
from vocab_lit.training.lapt import lapt
from vocab_lit.training.perplexity import perplexity
from vocab_lit.training.settings import LaptConfig

TRACK = """
name: small
models: {mini-gpt2: MODEL}
languages: [sw]
text: "{data}/{language}.txt"
keep_text: "{data}/en.txt"
other: {sw: "{data}/judge-sw.txt", en: "{data}/judge-en.txt"}
seeds: 1
lines: 20
evaluations: 2
windows: {length: 64, stride: 48}
precision: fp32
ways: {untouched: {vocabulary: keep, lapt: {steps: 0}}}
""".replace("MODEL", str(data_path("models", "mini-gpt2")))
CAREFUL = "{vocabulary: keep, lapt: {learning_rate: 1e-5, batch_size: 4, length: 64, micro_batch: 4}}"


@pytest.fixture(scope="module", autouse=True)
def count_steps_as_time():
    "Let a training step take 60 ms of CPU time, and nothing else any, whatever the machine and its load."
    steps, on_step_end = [], _Clock.on_step_end

    def count(clock, *given, **more):
        steps.append(None)
        on_step_end(clock, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Clock, "on_step_end", count)
        patch.setattr(speedrun, "cpu_seconds", lambda: 0.06 * len(steps))
        patch.setattr(speedrun, "calibrate", lambda precision: CALIBRATED)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speedrun")
    for code in ("sw", "en"):
        (folder / f"{code}.txt").write_text("\n".join(lines(code, 900, seed=0)), encoding="utf-8")
        (folder / f"judge-{code}.txt").write_text("\n".join(lines(code, 20, seed=1, held_out=True)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def opened(place):
    def open_one(recipe, minutes=0.05, name="careful", text=TRACK, **more):
        (place / f"{name}.yml").write_text(recipe, encoding="utf-8")
        (place / "track.yml").write_text(text, encoding="utf-8")
        return open_speedrun(place / f"{name}.yml", place, minutes, place / "track.yml", **more)

    return open_one


@pytest.fixture(scope="module")
def record(place, opened):
    return run_speedrun(opened(CAREFUL), place / "out")


def test_a_run_keeps_to_its_budget_and_records_what_its_model_scores(place, opened, record):
    scale = float(record["calibration"]) / CALIBRATED
    cost = float(record["cpu_seconds"]) / scale / 60 / 0.05
    assert 0.4 < cost < COST and record["valid"] == "yes" and record["precision"] == "fp32"
    saved = Source.open(place / "out/careful-0.05min/model")
    for code, column in (("sw", "score"), ("en", "kept")):
        sentences = read_lines(place / f"judge-{code}.txt")
        bits = perplexity(saved.load(), saved.tokenizer, sentences, length=64, stride=48).bits_per_byte
        assert float(record[column]) == pytest.approx(bits, abs=1e-4)
    with open(place / "out/speedrun.csv", encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
        assert record.items() <= row.items() and row["version"]
    curve = [tuple(map(float, point.split())) for point in record["curve"].split("; ")]
    assert len(curve) >= 3 and curve[-1][0] == pytest.approx(float(record["cpu_seconds"]) / scale / 60, rel=0.5)
    assert curve[0][1] > curve[-1][1]
    assert run_speedrun(opened(CAREFUL), place / "out") == record  # nothing is computed again
    for _ in range(2):
        run_speedrun(opened(CAREFUL), place / "out", place / "sent.csv")  # and a file that lacks the record gets it
    assert (place / "sent.csv").read_text() == (place / "out/speedrun.csv").read_text()


def test_the_clock_stops_a_training_that_would_go_on_for_long():
    clock, bundled = _Clock(budget=1.5), Source.open(data_path("models", "mini-gpt2"))
    train, test = lines("sw", 200, seed=0), lines("sw", 30, seed=1)
    config = LaptConfig(steps=5000, batch_size=4, length=32, eval_every=5000)
    lapt(bundled.load(), bundled.tokenizer, train, test, config, callbacks=[clock])
    assert 2 < len(clock.steps) < 5000 and clock.spent < 1.5 * 1.3


def test_the_steps_of_a_record_give_its_score_again(place, opened, record):
    again = run_speedrun(opened(CAREFUL, minutes=0.04, steps=record["steps"]), place / "again")
    assert [again[name] for name in ("score", "kept", "hash", "steps")] == [
        record[name] for name in ("score", "kept", "hash", "steps")
    ]
    unsaid = opened(CAREFUL, minutes=0.04, name="unsaid", steps="2", text=TRACK.replace("precision", "# precision"))
    assert run_speedrun(unsaid, place / "unsaid")["precision"] == find_device().precision
    other = run_speedrun(opened(CAREFUL.replace("1e-5", "2e-5"), minutes=0.04, steps=record["steps"]), place / "other")
    assert other["score"] != record["score"] and other["hash"] != record["hash"]


def test_a_stopped_run_resumes_to_the_same_score(place, opened, record):
    def stopping(clock, args, state, control, **_):
        if state.global_step == 3:
            raise KeyboardInterrupt

    slow = opened(CAREFUL, name="slow", steps="4")
    stopped, patch = place / "stopped", pytest.MonkeyPatch()
    with patch.context() as p:
        p.setattr(_Clock, "on_step_begin", stopping)
        with pytest.raises(KeyboardInterrupt):
            _Run(slow, stopped).folder.mkdir(parents=True)
            run_speedrun(slow, stopped)
    whole, resumed = run_speedrun(slow, place / "whole"), run_speedrun(slow, stopped)
    assert resumed["score"] == whole["score"] and resumed["steps"] == "4"

    def killed_while_saving(clock, args, state, control, **_):
        raise KeyboardInterrupt

    with patch.context() as p:
        p.setattr(_Clock, "on_save", killed_while_saving)
        with pytest.raises(KeyboardInterrupt):
            run_speedrun(slow, place / "killed")
    noted = json.loads((place / "killed" / slow.name / "speedrun.json").read_text())["checkpoints"]
    [saved] = (place / "killed" / slow.name).glob("model/**/checkpoint-*")
    assert noted[saved.name.rpartition("-")[2]]["spent"] > 0  # what the checkpoint had taken is known
    assert run_speedrun(slow, place / "killed")["score"] == whole["score"]


def test_a_recipe_that_forgets_english_or_costs_too_much_is_not_valid(place, opened, record):
    wild = "{vocabulary: keep, lapt: {learning_rate: 3e-2, batch_size: 4, length: 64, micro_batch: 4}}"
    spoilt = run_speedrun(opened(wild, name="wild", steps="12"), place / "out")
    assert spoilt["valid"].startswith("no: en rose by ") and float(spoilt["kept"]) > 1.05 * float(spoilt["kept_before"])
    assert verdict({"en": 1.05}, {"en": 1.0}, 1.02) == "yes"
    assert verdict({"en": 1.051}, {"en": 1.0}, 1) == "no: en rose by 5.1%, and 5% are allowed"
    assert verdict({"en": 1}, {"en": 1}, 1.03) == "no: 3.0% over the budget"


def test_new_tokens_trimming_with_kept_text_and_lora_are_recipes_too(place, opened, record):
    training = "batch_size: 4, length: 64, micro_batch: 4, learning_rate: 1e-3"
    recipes = {
        "extended": f"{{vocabulary: continued, method: subtoken-mean, extend: 60, lapt: {{{training}}}}}",
        "both": f"{{vocabulary: continued, trimmed: true, method: subtoken-mean, extend: 60, lapt: {{{training}}}}}",
        "replaced": f"{{vocabulary: new, vocab_size: 400, method: subtoken-mean, lapt: {{{training}}}}}",
        "trimmed": f"{{vocabulary: trim, replay: 0.2, lapt: {{{training}}}}}",
        "lora": f"{{vocabulary: keep, lapt: {{{training}, lora: r=2}}}}",
    }
    made = {name: run_speedrun(opened(text, name=name, steps="3"), place / "out") for name, text in recipes.items()}
    words = {name: float(one["tokens_per_word"]) for name, one in made.items()}
    assert list((place / "out").glob("replaced-*/own/**/tokenizer-*")) and words["replaced"] != words["lora"]
    assert words["extended"] < words["lora"] == float(record["tokens_per_word"])
    assert words["both"] < words["trimmed"] and int(made["both"]["parameters"]) < int(made["extended"]["parameters"])
    assert words["trimmed"] < 1.2 * words["lora"] and int(made["trimmed"]["parameters"]) < int(record["parameters"])
    assert int(made["lora"]["parameters"]) == int(record["parameters"]) and made["lora"]["score"] != record["score"]


def test_what_cannot_be_is_refused_before_anything_is_written(place, opened, record):
    wrong_ones = {
        "give sentences in sw": dict(text=TRACK.replace("other:", "#")),
        "that the model is to keep": dict(text=TRACK.replace(', en: "{data}/judge-en.txt"', "")),
        "cells of a way": dict(text=TRACK.replace("seeds: 1", "seeds: 2")),
        "judge-fr": dict(text=TRACK.replace("judge-en", "judge-fr")),
        "model itself learns": dict(recipe=CAREFUL.replace("lapt: {", "adapter: mad-x, lapt: {mode: all, ")),
        "leave steps": dict(recipe=CAREFUL.replace("batch_size", "steps: 9, batch_size")),
        "vocabulry: no such option; did you mean vocabulary": dict(recipe=CAREFUL.replace("vocabulary", "vocabulry")),
        "a number above 0": dict(minutes=0),
        "steps of a record": dict(steps="9/8"),
        "no room for": dict(minutes=0.0001),
    }
    for message, given in wrong_ones.items():
        with pytest.raises((ValueError, OSError), match=message):
            run_speedrun(opened(**{"recipe": CAREFUL, "name": "wrong", **given}), place / "nothing")
    (place / "foreign.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no file of records"):
        run_speedrun(opened(CAREFUL), place / "nothing", place / "foreign.csv")
    with pytest.raises(ValueError, match="another recipe or other data"):
        run_speedrun(opened(CAREFUL.replace("1e-5", "3e-5")), place / "out")
    assert not list((place / "nothing").rglob("*.safetensors"))


def test_the_command_runs_a_recipe_and_tells_what_is_wrong_in_a_line(place, opened):
    opened(CAREFUL)
    given = ["speedrun", place / "careful.yml", "--data", place, "--track", place / "track.yml", "--steps"]
    run = partial(CliRunner().invoke, app)
    told = run([*map(str, given), "2", "--out", str(place / "runs"), "--json"])
    record = json.loads(told.stdout)
    assert (record["recipe"], record["steps"]) == ("careful", "2") and float(record["score"]) > 0
    assert record["score"] in run([*map(str, given), "2", "--out", str(place / "runs")]).stdout
    wrong = run([*map(str, given), "3/2", "--out", str(place / "none")])
    assert wrong.exit_code == 1 and "give the steps of a record" in wrong.stderr and not (place / "none").exists()
