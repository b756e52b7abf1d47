"""Records to share are read as they were written, and files that are not whole are refused."""

import itertools
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from studies.__main__ import app
from studies.records.recorded import beside_study
from studies.trials.field import (
    COLUMNS,
    CURVES,
    RATES,
    TRIAL,
    about_file,
    contributed_files,
    distance_dots,
    distances,
    field_rows,
    own_records,
    read_shared,
    share_study,
    shared_form,
    with_field,
    write_shared,
)
from testkit.phrasebook import lines
from vocab_lit.study.report import BEST, BITS, HELD_OUT
from vocab_lit.study.study import StudyRun, run_study
from vocab_lit.study.study_file import read_study
from vocab_lit.text.corpus import data_path

rows = [
    dict(what=HELD_OUT, metric=BITS, step=0, value=4.5),
    dict(what=HELD_OUT, metric=BITS, step=8, value=3.5),
    dict(what=HELD_OUT, metric=BEST, value=3.5),
    dict(what="task", task="pos", metric="accuracy", source="cy", value=0.8),
]
cell = dict(model="m", language="cy", limit="all", method="focus", mode="all", vocabulary="new", chapter="trial")
cell |= dict(scale="field", seconds=9.5, device="CPU", library="x")
ways = ("focus", "keep")
table = pd.DataFrame(
    dict(cell, setting=way, seed=seed, fingerprint=f"{way}{seed}") | row
    for way in ways
    for seed in (0, 1)
    for row in rows
)
about = dict(study="trial", files={"cy.txt": "0f"}, ways=dict.fromkeys(ways, {"x": 1}), measures={"lines": 60})
about |= dict(seeds=dict.fromkeys(ways, [0, 1]))
description, text = shared_form(table, about, "A. Reader")


def test_what_is_shared_is_read_as_it_was_also_as_rows_for_claims():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shared.csv")
        write_shared(path, table, about, "A. Reader")
        back = read_shared(path)
        assert back.value.tolist() == table.value.tolist() and set(back.contributor) == {"A. Reader"}
        assert (
            back.seed.tolist() == table.seed.tolist()
            and back.step.fillna(-1).tolist() == table.step.fillna(-1).tolist()
        )
        found = field_rows(path)
        assert set(found.scale) == {"field"} and set(found.chapter) == {"trial"} and len(found) == len(table)
        assert set(found.method) == {"focus", "keep"}
        assert set(found[found.what == "task"].kind) == {"in language"} and set(found[found.what != "task"].kind) == {
            ""
        }
        assert found[found.metric == BITS].step.tolist() == ["0", "8"] * 4
        assert found[found.what == "task"].value.tolist() == [80] * 4
        both = with_field(found.assign(scale="mini"), path)
        assert both.scale.tolist() == ["mini"] * len(found) + ["field"] * len(found)
        with pytest.raises(ValueError, match="exists"):
            write_shared(path, table, about, "A. Reader")
        assert pd.read_csv(path).columns.tolist() == list(COLUMNS)  # as any program reads it
        assert sorted(p.name for p in Path(folder).iterdir()) == ["shared.csv", "shared.json"]
        old = Path(folder, "old.csv")  # of version 0.1
        old.write_text(f"# {json.dumps(description, ensure_ascii=False)}\n{text}", encoding="utf-8")
        assert read_shared(old).equals(back)
        about_file(path).unlink()
        with pytest.raises(ValueError, match="no records of a study"):
            read_shared(path)


def test_files_that_are_not_whole_are_refused_in_one_line():
    def refused(text, match):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "shared.csv")
            path.write_bytes(text.encode() if isinstance(text, str) else text)
            with pytest.raises(ValueError, match=match) as e:
                read_shared(path)
            assert "\n" not in str(e.value) and "shared.csv" in str(e.value)

    def in_one(description, text):  # the description in the first line
        return f"# {json.dumps(description, ensure_ascii=False)}\n{text}"

    def with_rows(changed, **more):
        return in_one(*shared_form(changed, about | more, "A. Reader"))

    whole = in_one(description, text)

    score = table.metric == "accuracy"
    refused("setting,model\n", "no records of a study")
    refused("# {}\n", "no records of a study")
    refused(b"\xff\xfe", "not UTF-8")
    refused(whole.split("\n")[0], "there are no records")
    refused(whole.replace("3.5", "2.5", 1), "the table is not the one that was written")
    refused(whole.replace("A. Reader", " "), "and a name")
    refused(with_rows(table, files={}), "has no files")
    refused(with_rows(table[table.seed == 0]), "focus in m cy all has no seed 1")
    refused(with_rows(table[table.setting == "keep"]), "no records of the way focus")
    refused(with_rows(table, seeds={"keep": [0, 1]}), "the way focus is not described")
    refused(
        with_rows(table.assign(value=table.value.where(~score, 1.2))), "accuracy of focus in cy is 1.2, which cannot be"
    )
    refused(with_rows(table.assign(value=table.value.where(table.metric != BEST, -1))), "is -1, which cannot be")
    refused(with_rows(table.assign(value=table.value.where(~score))), "accuracy of focus is no number")
    refused(with_rows(pd.concat([table, table[:1]])), "stands there twice")
    refused(with_rows(table[table.metric != BEST]), "has no bits per byte at the end")
    refused(with_rows(table.assign(fingerprint="same")), "fingerprints and cells do not go together")
    refused(with_rows(table).replace("value", "worth"), "cannot be read|was written")
    with tempfile.TemporaryDirectory() as folder:
        with pytest.raises(ValueError, match="has no seed 1"):
            write_shared(Path(folder, "new.csv"), table[table.seed == 0], about, "A. Reader")
        assert not any(Path(folder).iterdir())


def test_our_records_and_those_of_others_are_whole():
    for path in (*map(own_records, (TRIAL, CURVES, RATES)), *contributed_files()):
        assert len(read_shared(path))


STUDY = """
models: {{mini: {model}}}
languages: [sw]
text: "{{data}}/{{language}}.txt"
seeds: 1
lines: 5
lapt: {{steps: 0}}
ways:
  keep: {{vocabulary: keep}}
"""


def test_a_study_that_is_complete_is_shared_and_one_that_is_not_is_refused(tmp_path):
    (tmp_path / "sw.txt").write_text("\n".join(lines("sw", 400, seed=0)), encoding="utf-8")
    file, given = tmp_path / "small.yml", dict(model=data_path("models", "mini-xlmr"))
    file.write_text(STUDY.format(**given), encoding="utf-8")
    run = StudyRun.open(read_study(file, tmp_path), tmp_path / "small")
    assert not run_study(run).failed
    asked = ["share", str(file), "--data", str(tmp_path), "--contributor", "A. Reader"]
    assert "small-A.-Reader.csv" in CliRunner().invoke(app, asked).stdout
    shared = read_shared(tmp_path / "small/small-A.-Reader.csv")
    assert shared.value.tolist() == pytest.approx(run.frame().value.tolist())
    assert str(tmp_path) not in (tmp_path / "small/small-A.-Reader.csv").read_text(encoding="utf-8")
    file.write_text(STUDY.format(**given) + "  large: {method: identity, vocab_size: 5000}\n", encoding="utf-8")
    assert "1 of 2 cells have no record, such as mini sw all large" in CliRunner().invoke(app, asked).stderr


@pytest.mark.slow
@pytest.mark.skipif(
    "VOCAB_LIT_FIELD_DATA" not in os.environ, reason="names no folder with the texts of the field trial"
)
def test_a_part_of_the_field_trial_measured_anew_lies_within_its_spread(tmp_path):
    asked = yaml.safe_load((data_path("field") / "study.yml").read_text(encoding="utf-8"))
    model = data_path("models", "field-xlmr", "model.safetensors").parent
    asked |= dict(models={"field-xlmr": str(model)}, seeds=1, baseline="focus")
    asked["languages"] = {"ka": asked["languages"]["ka"]}
    asked["ways"] = {way: asked["ways"][way] for way in ("random-mapping", "focus")}
    asked["tasks"] = {"pos": asked["tasks"]["pos"] | dict(languages=["ka"])}
    part = tmp_path / "part.yml"
    part.write_text(yaml.safe_dump(asked), encoding="utf-8")
    anew = StudyRun.open(read_study(part, data=os.environ["VOCAB_LIT_FIELD_DATA"]), tmp_path / "part")
    assert not run_study(anew).failed
    compared = beside_study(field_rows(share_study(anew, "A. Reader")), field_rows(own_records()))
    assert {"bits per byte", "bits per byte at the end", "accuracy"} <= set(compared.metric) and len(compared) > 10
    assert (compared[~compared.what.isin(["cost"])].distance <= 1).all()


def _made_up(ways, languages=("cy", "ka"), seeds=3):  # records with numbers of a random generator
    rng, rows = np.random.default_rng(0), []
    for (way, shift), language, seed in itertools.product(ways.items(), languages, range(seeds)):
        about = dict(setting=way, model="m", language=language, limit="all", seed=seed)
        bits = [dict(what=HELD_OUT, metric=BITS, step=s, value=rng.normal(4 - shift)) for s in (0, 8)]
        end = dict(what=HELD_OUT, metric=BEST, value=bits[1]["value"])
        score = dict(what="task", task="pos", metric="accuracy", source="en", value=rng.uniform())
        rows += [about | row for row in (*bits, end, score)]
    return pd.DataFrame(rows)


def test_a_dot_stands_at_the_mean_of_the_way_less_the_baseline():
    table = _made_up({"keep": 0, "focus": 1, "random": 0.2})
    end = table[table.metric == BEST].pivot(index=["language", "seed"], columns="setting", values="value")
    apart = distances(table, "keep", BEST)
    means = end.groupby("language").mean()
    assert apart.loc[("m", "cy", "all"), "focus"] == pytest.approx(means.focus["cy"] - means.keep["cy"])
    assert list(apart) == ["focus", "random"] and len(apart) == 2
    fig = distance_dots(table, "keep", BEST)
    (ax,) = fig.axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == apart.mean().sort_values().index.tolist()
    welsh = next(line for line in ax.lines if line.get_label() == "cy")
    assert welsh.get_xdata() == pytest.approx(apart.loc[("m", "cy", "all"), names].to_numpy())
    upwards = distance_dots(table, "keep", "pos accuracy from en").axes[0]
    scores = distances(table, "keep", "pos accuracy from en").mean()
    assert [text.get_text() for text in upwards.get_yticklabels()] == scores.sort_values(ascending=False).index.tolist()
    with pytest.raises(ValueError, match="no measure 'las'; choose from bits per byte"):
        distances(table, "keep", "las")
    with pytest.raises(ValueError, match="of the way 'kept'; choose from"):
        distances(table, "kept", BEST)
