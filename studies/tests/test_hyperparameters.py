from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from studies.data.presets import PAPER_TEXT
from studies.papers.hyperparameters import hyperparameters, printed_hyperparameters, taken
from vocab_lit.tasks.settings import TASKS, papers
from vocab_lit.training.settings import PRESETS, LaptConfig


@pytest.fixture(scope="module")
def printed_lines():
    def same(value, printed):  # printed: text of the table
        if isinstance(value, (bool, str)):
            return str(value) == printed
        return float(value) == float(printed)

    def wrong_lines(paper, values):  # of the table, that the values do not follow
        rows, found = printed_hyperparameters(paper), []
        lines = {(row.setup, row.stage, row.parameter): row for row in rows.itertuples()}
        for (setup, stage, name), value in values.items():
            stages = (stage, "tasks") if stage in papers()[paper] else (stage,)
            asked = [(s, place) for place in stages for s in (setup, "")]
            line = next((lines[s, place, name] for s, place in asked if (s, place, name) in lines), None)
            if line is None:
                found.append((setup, stage, name, value, "has no line"))
            elif not same(value, line.ours or line.value):
                found.append((setup, stage, name, value, line.ours or line.value))
        return found

    wrong_lines("wechsel", taken("wechsel", "paper"))
    return SimpleNamespace(
        wrong_lines=wrong_lines,
    )


def test_every_preset_is_what_its_paper_prints_and_what_is_not_followed_or_not_said_has_a_note(printed_lines):
    wrong_lines = printed_lines.wrong_lines
    for paper in PAPER_TEXT:
        derived = {"samples", "tokens"}
        values = {key: value for key, value in taken(paper, "paper").items() if key[2] not in derived}
        assert not wrong_lines(paper, values), paper
        rows = printed_hyperparameters(paper)
        assert not rows.duplicated(["setup", "stage", "parameter"]).any()
        assert (rows.note[rows.ours != ""] != "").all() and (rows.section[rows.value != ""] != "").all()
        assert ((rows.value != "") | (rows.ours != "")).all(), paper
        assert len(hyperparameters(paper)) == len(rows)
    assert taken("focus", "paper")["", "LAPT", "samples"] == 50_000_000
    shown = hyperparameters("wechsel").loc[("LAPT", "GPT-2", "learning_rate")]
    assert (shown.paper, shown["scale paper"], shown["scale mini"], shown.section) == (
        "5e-4",
        "5e-4",
        "0.004",
        "Table 6",
    )
    shown = hyperparameters("mad-x").loc[("LAPT", "", "warmup")]
    assert (shown.paper, shown["scale paper"]) == ("not said", "0") and "transformers" in shown.note
    names = {field.name for field in fields(LaptConfig)} - {"betas", "micro_batch", "embeddings", "lora"} | {
        "beta1",
        "beta2",
    }
    names = {name for name in names if not name.startswith("distil")}
    assert names <= {name for _, stage, name in taken("focus", "paper") if stage == "LAPT"}


def test_a_hyper_parameter_that_is_changed_is_found(printed_lines):
    wrong_lines = printed_lines.wrong_lines
    for preset, paper, changes in (
        ("wechsel-gpt2", "wechsel", dict(weight_decay=0.1)),
        ("focus", "focus", dict(betas=(0.9, 0.98))),
        ("embedding-structure", "embedding-structure", dict(learning_rate=5e-5)),
        ("mad-x-adapter", "mad-x", dict(batch_size=32)),
        ("unks-everywhere", "unks-everywhere", dict(warmup=0.1)),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(PRESETS, preset, replace(PRESETS[preset], **changes))
            assert wrong_lines(paper, {k: v for k, v in taken(paper, "paper").items() if k[1] == "LAPT"}), preset
    for paper, task, changes in (
        ("focus", "nli", dict(weight_decay=0.01)),
        ("embedding-structure", "pos", dict(patience=4)),
        ("mad-x", "ner", dict(batch_size=32)),
        ("unks-everywhere", "dp", dict(learning_rate=1e-4)),
        ("wechsel", "ner", dict(warmup_steps=0)),
    ):
        with pytest.MonkeyPatch.context() as patch:
            settings = TASKS[task].papers[paper]
            patch.setitem(TASKS[task].papers, paper, settings._replace(whole=replace(settings.whole, **changes)))
            assert any(stage == task for _, stage, *_ in wrong_lines(paper, taken(paper, "paper")))
    with pytest.raises(ValueError, match="no hyper-parameters of 'nobody'; choose from focus"):
        hyperparameters("nobody")
