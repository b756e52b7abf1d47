import json
import re
import tempfile
from pathlib import Path

import pytest
from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM
from typer.testing import CliRunner

from studies.__main__ import app
from studies.papers.claims import load_claims
from testkit.phrasebook import lines
from vocab_lit.tokens.train import train_tokenizer


@pytest.fixture(scope="module")
def place():
    "A folder with a model and a text."
    folder = Path(tempfile.mkdtemp())
    tokenizer = train_tokenizer(lines("en", 300, seed=0), "unigram", 400)
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config = XLMRobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=130, **sizes)
    XLMRobertaForMaskedLM(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    (folder / "sw.txt").write_text("\n".join(lines("sw", 100, seed=0)), encoding="utf-8")
    return folder


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    return result.stdout if code == 0 else result.stderr


def test_a_chapters_parameters_are_checked_and_file_names_are_those_of_the_current_folder(place, monkeypatch):
    monkeypatch.chdir(place)
    mine = ("focus", "--scale", "custom", "--set", "model=model")
    planned = run("plan", *mine, "--set", "text=sw.txt")
    assert f"{place / 'model'}: folder" in planned and f"{place / 'sw.txt'}: here" in planned
    assert run("chapter", *mine, "--set", "text=sw.txt", "--dry-run") == planned
    assert "focus has no parameter modle (did you mean model?); it has language, scale" in run(
        "plan", "focus", "--set", "modle=x", code=1
    )
    assert "claims has no parameter cluster" in run("chapter", "claims", "--cluster", "tcp://x:1", code=1)
    refused = run("plan", "focus", "--set", "seeds=two", code=1)
    assert refused == "vocab-lit: --set seeds=two: give a number, such as 0\n"
    assert "--set steps: give KEY=VALUE" in run("plan", "focus", "--set", "steps", code=1)
    assert "--tokens-per-second is for --dry-run" in run("chapter", "focus", "--tokens-per-second", "9", code=1)
    kinds = "kinds=high resource: en; not seen: no"  # blanks, colons, and a language that YAML takes for a truth value
    given = ("--set", kinds, "--set", "vocabulary=", "--set", "steps=20")
    few = run("plan", "mad-x", "--scale", "paper", *given)
    assert "wikiann (en, no)" in few and re.search("LAPT, whole model +2 +20 ", few)
    assert "scale custom needs text files: set text" in run("plan", *mine, code=1)


def test_a_chapter_runs_with_its_parameters_and_a_cluster(place, monkeypatch):
    monkeypatch.chdir(place)
    given = []
    monkeypatch.setattr("tools.run_pages.run_chapter", lambda *args, parameters: given.append(parameters))
    (place / "scheduler.json").touch()
    for cluster in ("tcp://x:1", "scheduler.json"):
        run("chapter", "focus", "--cluster", cluster)
    assert given == [{"cluster": "tcp://x:1"}, {"cluster": str(place / "scheduler.json")}]


def test_claims_are_checked_on_the_papers_numbers_and_on_records(place):
    asked = ("claims", "--paper", "focus", "--records", place / "none")
    rows = json.loads(run(*asked, "--json"))
    ids = [claim.id for claim in load_claims() if claim.paper == "focus"]
    for source in ("published", "mini"):
        assert [row["id"] for row in rows if row["source"] == source] == ids
    assert {row["verdict"] for row in rows if row["source"] == "mini"} == {"no numbers", "not checked"}
    first = next(row for row in rows if row["id"] == "focus-start-random" and row["source"] == "published")
    assert first["verdict"] == "supported" and first["pairs"] == 10 and 0 < first["p"] < 0.05
    shown = run(*asked)
    assert (
        shown.count("supported") > 5 and shown.count("publishe") >= 2
    )  # a column of each table, broken where it is narrow
    assert "no claims of 'fokus'; choose from embedding-structure, focus" in run("claims", "--paper", "fokus", code=1)


def test_the_recorded_study_and_the_bundled_models_know_what_they_can_make():
    assert "the study has no chapter 'fokus'; choose from " in run("records", "fokus", code=1)
    assert "no model 'mini'; choose from mini-xlmr" in run("model", "--model", "mini", code=1)
