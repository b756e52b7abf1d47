"""Claims: their file, the records they are asked of, and verdicts on printed and on recorded numbers."""

import csv
import itertools
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib import pyplot as plt

from studies.figures.charts import PALETTE
from studies.papers.cells import paper_methods
from studies.papers.claims import (
    EXACT,
    FIELD,
    REAL,
    Claim,
    _comparison,
    _correlation,
    _sides,
    differences,
    effect_dots,
    judge,
    listed,
    load_claims,
    plain_text,
    printed_rows,
    read_records,
    record_rows,
    summary,
    verdicts,
    with_starts,
)
from studies.papers.transfer import FMT, METHODS, UNKS
from studies.records.recorded import with_study
from vocab_lit.runs.grid import fingerprint
from vocab_lit.text.corpus import data_path, write_json


def test_the_papers_of_the_book_have_claims_each_well_formed_with_a_reason_wherever_a_side_is_not_checked(all_claims):
    claims = all_claims.claims
    assert len(claims) >= 90 and {c.paper for c in claims} == {
        "focus",
        "embedding-structure",
        "mad-x",
        "unks-everywhere",
        "wechsel",
        "token-distillation",
        "source-shielded-updates",
        "learned-plan",
        "speculative-decoding",
    }
    assert min(pd.Series([c.paper for c in claims]).value_counts()[:5]) >= 15
    assert all(len(side) > 15 for c in claims for side in (c.published, c.records) if isinstance(side, str))
    assert all(c.says.endswith(".") and c.where for c in claims) and not any(
        isinstance(c.published, str)
        and isinstance(c.records, str)
        and "weights" not in c.published
        and "print" not in c.published
        for c in claims
    )


def test_both_sides_of_a_claim_compare_the_same_and_each_claim_is_asked_once(all_claims):
    claims = all_claims.claims
    otherwise = {"wechsel-neighbours", "wechsel-less-text"}

    def compared(predicate):
        sides = [len(listed(side.get("method", ""))) for side in _sides(predicate)]
        return sides, predicate.get("by"), predicate.get("sides"), predicate.get("as"), "more_than" in predicate

    def exact_words(predicate):
        return {key for key in EXACT if key in predicate}

    both = [
        c for c in claims if isinstance(c.published, dict) and isinstance(c.records, dict) and c.id not in otherwise
    ]
    assert len(both) > 50
    for c in both:
        assert compared(c.published) == compared(c.records), c.id
        assert exact_words(c.records) <= exact_words(c.published), c.id
    asked = [(c.paper, json.dumps(c.published, sort_keys=True)) for c in claims if isinstance(c.published, dict)]
    assert len(set(asked)) == len(asked)
    assert not [c.id for c in claims if c.id.endswith(("-table", "-targets", "-sources"))]


def test_a_file_with_something_unknown_in_it_is_refused_with_file_claim_and_the_nearest_name():
    def refuse(match, claim, paper="focus"):
        file = Path(tempfile.mkdtemp()) / "mine.yml"
        file.write_text(yaml.safe_dump({paper: [claim]}))
        with pytest.raises(ValueError, match=match):
            load_claims(file)

    good = dict(
        id="x",
        where="Abstract",
        says="It is so.",
        published=dict(table=4, better="FOCUS", than="Random"),
        records="not run here",
    )

    def with_key(**more):
        return good | dict(published=good["published"] | more)

    refuse("mine.yml: no paper 'focuss'; did you mean 'focus'?", good, "focuss")
    refuse("mine.yml, focus, 'x': unknown key 'wher'; did you mean 'where'?", good | dict(wher="1"))
    refuse("mine.yml, focus, 'x': has no says", good | dict(says=""))
    refuse("mine.yml, focus, 'x', published: unknown key 'metrik'; did you mean 'metric'?", with_key(metrik="loss"))
    refuse("published: unknown key 'stage'", with_key(stage="end"))  # a column of records
    refuse("published: unknown key 'setups'; did you mean 'setup'?", with_key(better=dict(setups="FULL")))
    refuse("unknown key 'langauge'; did you mean 'language'?", with_key(more_than=dict(langauge="de")))
    refuse("unknown column 'languages'; did you mean 'language'?", with_key(over=["languages"]))
    refuse("needs better and than, or rises or falls and with", good | dict(published=dict(table=4, better="FOCUS")))
    refuse("'x', field: needs better and than", good | dict(field=dict(metric="loss")))
    refuse("'x', field: 'no' is neither", good | dict(field="no"))
    refuse("every and count: one is enough", with_key(every=True, count=3))
    refuse("sides 'median': choose from best, mean, worst", with_key(sides="median"))
    refuse("as 'difference': choose from ratio", with_key(**{"as": "difference"}))
    refuse("3 is neither a predicate nor a reason", good | dict(published=3))
    file = Path(tempfile.mkdtemp()) / "mine.yml"
    file.write_text(yaml.safe_dump(dict(focus=[good, good])))
    with pytest.raises(ValueError, match="'x' is the name of two claims"):
        load_claims(file)
    for broken, match in (
        ("focus: [", "mine.yml is not YAML: while parsing"),
        ("- 1", "mine.yml: expected the names of papers"),
    ):
        file.write_text(broken)
        with pytest.raises(ValueError, match=match):
            load_claims(file)
    file.write_text(yaml.safe_dump(dict(shared=[1, 2], focus=[good])))
    assert [c.id for c in load_claims(file)] == ["x"]


def test_records_have_languages_stages_and_seeds_in_one_form(toy_records):
    toy = toy_records.toy
    rows = record_rows(toy)
    assert (
        rows.stage.head(4).tolist() == ["start", "early", "", "end"]
        and rows.step.head(4).tolist() == ["0", "10", "20", "30"]
        and set(rows.scale) == {"mini"}
    )
    mixed = record_rows(
        pd.DataFrame(
            [
                dict(what="scores", setting="et+fi", target="fi", metric="pos", task_seed=3, value=90.0, mode=""),
                dict(what="scores", setting="et", metric="loss", value=2.0, mode="", scale="paper"),
                dict(what="transfer", source="en", target="am", seed=1, metric="f1", value=None),
                dict(what="steps", seed=2, language="en", target="sw", step=5, value=1.0, metric="f1"),
            ]
        )
    )
    assert (
        mixed.language.tolist() == ["fi", "et", "sw"]
        and mixed.seed.tolist() == [3, 0, 2]
        and mixed.setting.tolist() == ["et+fi", "et", ""]
        and mixed.scale.tolist() == ["mini", "paper", "mini"]
    )
    assert (
        mixed.stage.tolist() == ["", "", "start"]
        and plain_text(4.0) == plain_text(4) == "4"
        and plain_text(2500021) == "2500021"
        and plain_text(None) == ""
    )


def test_the_early_stage_is_a_tenth_of_the_training_however_often_it_is_measured():
    def stages_of(*steps):
        curve = pd.DataFrame([dict(metric="loss", language="sw", step=step, value=1.0) for step in steps])
        return record_rows(curve).set_index("step").stage.to_dict()

    every = stages_of(*range(0, 250_001, 12_500))  # as in Figure 2 of WECHSEL, whose tables have step 25,000
    assert {stage: step for step, stage in every.items() if stage} == {"start": "0", "early": "25000", "end": "250000"}
    assert stages_of(0, 8, 16, 40) == {"0": "start", "8": "early", "16": "", "40": "end"}
    assert stages_of(0, 40) == {"0": "start", "40": "end"}


def test_records_of_all_chapters_are_read_and_only_those_of_the_present_library():
    root = Path(tempfile.mkdtemp())
    for chapter, stamp in (("focus", fingerprint()), ("wechsel", "older")):
        made = dict(
            key=dict(what="loss", method="focus", language="sw", seed=0),
            fingerprint="",
            values=[dict(metric="loss", value=5.0)],
            seconds=1,
            device="",
            versions={},
            library=stamp,
        )
        (root / chapter).mkdir()
        write_json(made, root / chapter / "a.json")
    (root / "focus" / "trained-1").mkdir()
    (root / "notes.txt").write_text("x")
    assert (
        read_records(root).chapter.tolist() == ["focus"]
        and read_records(root, "").chapter.tolist() == ["focus", "wechsel"]
        and read_records(root, "older").chapter.tolist() == ["wechsel"]
    )
    assert read_records(root / "nowhere").empty and list(read_records(root / "nowhere")) == list(read_records(root))


def test_verdicts_on_the_published_numbers_are_those_that_were_found_by_hand(all_claims, paper_verdicts):
    claims = all_claims.claims
    theirs = paper_verdicts.theirs
    said = theirs[theirs.source == "published"].set_index("id")
    assert said.index[said.verdict == "contradicted"].tolist() == [
        "es-high-resource",
        "madx-target-text-9",
        "madx-target-text-low",
        "madx-source-text",
        "madx-task-adapter-unseen",
        "madx-invertible-13",
    ]
    by_hand = {
        "es-full-always": (42, 42),
        "es-new-vocabulary-pos": (5, 8),  # by the mean less the standard deviation, as the table's caption says
        "es-high-resource": (11, 12),
        "wechsel-few-steps": (8, 8),
        "wechsel-monolingual": (4, 4),
        "madx-target-text-9": (16, 16),  # the paper counts columns of Table 2, which are sources
        "madx-invertible-13": (10, 16),
        "focus-wechsel-en": (9, 11),
        "focus-wechsel-en-random": (9, 11),
        "focus-replace-low-resource": (8, 9),
        "unks-previous": (11, 17),
        "focus-tasks-random-all-but-one": (12, 13),
        "unks-six-of-nine": (6, 9),
        "unks-madx2": (15, 17),
        "unks-dimensions": (15, 17),
        "unks-shared-rows-new": (5, 5),
    }
    assert {k: (said.agree[k], said.pairs[k]) for k in by_hand} == by_hand
    effects = {
        "es-focus-drop": 6.9,
        "wechsel-64x": 85.95 - 85.57,  # printed averages of both tasks
        "wechsel-39x": 85.08 - 84.05,
        "wechsel-effort": 419.4 / 65.5,
        "es-random-next": 116 / 6,
        "es-random-off-the-shelf": 24.73,
        "unks-unknown-r": -0.798,
        "unks-shared-r": 0.443,
        "wechsel-xlmr-nli": 3.54,
        "wechsel-xlmr-ner": 1.14,
        "madx-over-xlmr-5": 5.6,
    }
    assert all(said.effect[k] == pytest.approx(v, abs=0.006) for k, v in effects.items())
    assert (
        set(theirs.source) == {"published"}
        and said.languages["focus-start-wechsel"] == "ar ceb de gd lb sw"
        and said.seeds["focus-tasks-random"] == 5
        and not (said.verdict == "no numbers").any()
    )
    assert (
        set(said.why.dropna()) == {c.published for c in claims if isinstance(c.published, str)}
        and (said.why.notna() == (said.verdict == "not checked")).all()
    )


def test_sentences_about_mad_x_target_languages_are_tested_on_the_matrices_and_not_on_table_2(all_claims):
    figures = {"XLM-R": "F7", "XLM-R MLM-SRC": "F8", "XLM-R MLM-TRG": "F9", "MAD-X -LAD-INV": "F10"}
    figures |= {"MAD-X -INV": "F11", "MAD-X": "F12"}
    lines = data_path("published", "mad-x.csv").read_text("utf-8").splitlines()
    cells = {}  # by figure, source and target
    for row in csv.DictReader(lines):
        if row["table"] in figures.values():
            cells[row["table"], row["setup"], row["language"]] = float(row["value"])
    languages = ["en", "ja", "zh", "ar", "jv", "sw", "is", "my", "qu", "cdo", "ilo", "xmf", "mi", "mhr", "tk", "gn"]
    seen, unseen = languages[:8], languages[8:]

    def by_pair(method, than, targets):
        sides = figures[method], figures[than]
        return [cells[sides[0], a, b] - cells[sides[1], a, b] for a in languages for b in targets]

    def better_targets(method, than):
        return sum(sum(by_pair(method, than, [target])) > 0 for target in languages)

    published = {c.id: c.published for c in all_claims.claims if c.paper == "mad-x"}
    numbers = printed_rows("mad-x")
    found = {name: judge(numbers, p) for name, p in published.items() if isinstance(p, dict)}
    assert found["madx-target-text-9"]["agree"] == better_targets("XLM-R MLM-TRG", "XLM-R") == 16
    assert found["madx-invertible-13"]["agree"] == better_targets("MAD-X", "MAD-X -INV") == 10
    for name, method, than, targets in (
        ("madx-target-text-low", "XLM-R", "XLM-R MLM-TRG", languages[4:]),
        ("madx-source-text", "XLM-R", "XLM-R MLM-SRC", languages),
        ("madx-task-adapter-seen", "MAD-X -LAD-INV", "XLM-R", seen),
        ("madx-task-adapter-unseen", "XLM-R", "MAD-X -LAD-INV", unseen),
    ):
        differences_of_pairs = by_pair(method, than, targets)
        assert found[name]["effect"] == pytest.approx(np.mean(differences_of_pairs)), name
        assert found[name]["pairs"] == len(differences_of_pairs) == 16 * len(targets), name
    by_source = [
        np.mean([cells["F7", a, b] for b in seen]) - np.mean([cells["F7", a, b] for b in unseen]) for a in languages
    ]
    assert found["madx-unseen-weakest"]["effect"] == pytest.approx(np.mean(by_source))
    asks_table_2 = {name for name, p in published.items() if isinstance(p, dict) and p["table"] == 2}
    assert asks_table_2 == {"madx-over-xlmr-5"}  # about the average of all pairs, which needs no columns


def test_claims_that_the_recorded_study_has_few_pairs_for_say_why():
    rows = with_study(read_records("no records but those of the package")).query("scale == 'recorded'")
    few = set()
    for claim in load_claims():
        if isinstance(claim.records, str) or set(claim.records) & set(EXACT):
            continue
        pairs = (_correlation if "with" in claim.records else _comparison)(rows, claim.records).pairs
        few |= {claim.id} if len(pairs) < 6 else set()
    beyond = [claim for claim in load_claims() if claim.beyond]
    assert few == {claim.id for claim in beyond} and len(few) == 12
    judged = verdicts(beyond[:1], rows, strict=False).set_index("source")
    assert judged.verdict["recorded"] == "beyond reach" and judged.why["recorded"] == beyond[0].beyond


def test_the_differences_in_the_text_of_wechsel_are_those_of_its_table_2():
    two = printed_rows("wechsel")

    def ahead(metric, step, than, languages):
        found = differences(
            two,
            dict(
                table=2,
                metric=metric,
                better={"setup": step, "method": "WECHSEL-RoBERTa"},
                than=than,
                over=["language"],
            ),
        )
        return found[languages].round(2).tolist()

    assert ahead("accuracy", "250k", {"setup": "250k", "method": "FullRand-RoBERTa"}, ["fr", "de", "zh", "sw"]) == [
        7.15,
        6.31,
        6.94,
        4.71,
    ]
    alone = {"setup": "more training", "method": ["CamemBERT", "GBERT_Base", "BERT_Base-Chinese"]}
    assert ahead("accuracy", "250k", alone, ["fr", "de", "zh"]) == [1.55, 3.15, 1.77] and ahead(
        "F1", "250k", alone, ["fr", "de", "zh"]
    ) == [0.62, 0.26, -1.5]
    assert min(ahead("accuracy", "25k", alone, ["fr", "de"])) > 0.6 and ahead("F1", "25k", alone, ["fr", "de"]) == [
        0,
        -0.41,
    ]
    whole_run = differences(
        two,
        dict(table=2, metric=["accuracy", "F1"], setup=["0", "25k", "250k"], better="WECHSEL-RoBERTa", than="others"),
    )
    assert len(whole_run) == 24 and (whole_run > 0).all()  # at all three steps
    assert differences(
        two, dict(table=3, better="WECHSEL-GPT2", than="others", lower=True, over=["setup", "language"])
    ).loc[lambda d: d < 0].index.sort_values().tolist() == [("0", "sw"), ("25k", "zh")]


def test_every_scale_of_our_records_has_a_verdict_beside_the_published_one(toy_records, start_claim):
    toy = toy_records.toy
    start = start_claim.start
    ours = pd.concat(
        [toy, toy.assign(scale="paper", value=10 - toy.value), toy.assign(scale="custom", method="focus-2")]
    )
    mine = [Claim("mine", "focus", "here", "So.", "not printed", start | dict(over=["language", "seed", "method"][:2]))]
    found = verdicts(mine, record_rows(ours)).set_index("source")
    assert (
        found.verdict.to_dict()
        == {"published": "not checked", "mini": "undecided", "paper": "undecided", "custom": "no numbers"}
        and found.effect.round(6).tolist()[1:3] == [2, -2]
        and found.why["published"] == "not printed"
    )
    assert (
        verdicts(mine, record_rows(ours).iloc[:0]).verdict.tolist() == ["not checked", "no numbers"]
        and found.why["custom"] == "no records of both sides"
    )
    assert summary(found.reset_index()).loc[("mini", "focus")].tolist() == [0, 0, 1, 0, 0, 0]
    for predicate, match in (
        (dict(better="fokus"), "claim 'mine', mini: no method 'fokus'; did you mean 'focus'?"),
        (dict(metric="los"), "no metric 'los'; did you mean 'loss'?"),
        (dict(what="curves"), "no what 'curves'; did you mean 'curve'?"),
    ):
        wrong = [Claim("mine", "focus", "here", "So.", "not printed", start | predicate)]
        with pytest.raises(ValueError, match=match):
            verdicts(wrong, record_rows(ours))
        lenient = verdicts(wrong, record_rows(ours), strict=False)
        assert lenient.verdict[1] == "no numbers" and match.rstrip("?") in lenient.why[1]
    with pytest.raises(ValueError, match="claim 'mine', published: no method 'Focus'; did you mean 'FOCUS'?"):
        verdicts(
            [Claim("mine", "focus", "here", "So.", dict(table=4, better="Focus", than="Random"), "none")],
            record_rows(ours),
        )
    with pytest.raises(ValueError, match="no setup 'FUL'; did you mean 'FULL'?"):
        verdicts(
            [
                Claim(
                    "mine",
                    "embedding-structure",
                    "here",
                    "So.",
                    dict(better="IDENT", than="RANDOM", setup="EMB", more_than={"setup": "FUL"}),
                    "none",
                )
            ],
            record_rows(ours),
        )


def test_names_of_methods_in_the_claims_are_those_that_the_chapters_give_their_records(all_claims):
    claims = all_claims.claims
    known = {
        "mad-x": set(METHODS),
        "unks-everywhere": set(UNKS) | set(FMT),
        "embedding-structure": {*paper_methods(), "RANDOM", "IDENT", "full vocabulary"},
    }
    for c in claims:
        if isinstance(c.records, dict) and (chapter := c.records["chapter"]) in known:
            for part in (c.records, c.records.get("more_than", {})):
                assert {m for side in (*_sides(part), part) for m in listed(side.get("method", []))} <= known[
                    chapter
                ] | {"MF10-KMEANS-LEX, longer rows"}, c.id


def test_the_field_trial_is_asked_where_a_claim_says_how_and_not_of_the_chapters_records(toy_records, start_claim):
    toy = toy_records.toy
    start = start_claim.start
    trial = toy.assign(scale=FIELD, chapter="field", value=20 - toy.value)
    asked = start | dict(chapter="field", over=["language"])
    claim = Claim("mine", "focus", "here", "So.", "not printed", start | dict(over=["language"]))
    theirs = [replace(claim, field=asked), replace(claim, id="not asked")]
    found = verdicts(theirs, record_rows(pd.concat([toy, trial])))
    assert found.source.tolist() == ["published", "mini", "field", "published", "mini"]
    assert np.sign(found.effect[1]) == 1 and np.sign(found.effect[2]) == -1
    assert "field" not in set(verdicts(theirs, record_rows(toy)).source)


def test_names_in_the_predicates_over_the_field_trial_are_those_of_its_study(all_claims):
    claims = all_claims.claims
    study = yaml.safe_load((data_path("field") / "study.yml").read_text(encoding="utf-8"))
    predicates = {c.id: c.field for c in claims if c.field}
    assert len(predicates) > 20
    for name, predicate in predicates.items():
        sides = (*_sides(predicate), predicate, predicate.get("more_than", {}))
        for column, known in (("method", study["ways"]), ("language", study["languages"])):
            asked = {value for side in sides for value in listed(side.get(column, []))}
            assert asked <= set(known), name


def test_the_figure_has_a_mark_for_each_effect_at_its_place_and_in_the_colour_of_its_verdict(paper_verdicts):
    theirs = paper_verdicts.theirs
    drawn = effect_dots(theirs[theirs.paper == "mad-x"])
    marks = [line for line in drawn.axes[0].lines if line.get_linestyle() == "None"]
    here = theirs[(theirs.paper == "mad-x") & theirs.standardised.notna()]
    places = sorted(zip(here.standardised.clip(-3, 3), drawn.axes[0].get_yticks()))
    assert sorted((x, y) for mark in marks for x, y in zip(*mark.get_data())) == places
    colours = {"supported": PALETTE[0], "contradicted": PALETTE[1], "undecided": PALETTE[5]}  # the last one is grey
    assert {mark.get_color() for mark in marks} == {colours[verdict] for verdict in here.verdict}
    assert [label.get_text().replace("\n", " ") for label in drawn.axes[0].get_yticklabels()] == here.says.tolist()
    assert (drawn.data.standardised == here.standardised).all() and drawn.alt.startswith(
        f"Standardised effects of {len(here)} claims. the paper: {(here.verdict == 'supported').sum()} supported, "
    )
    for _, of_paper in theirs[theirs.standardised.notna()].groupby("paper"):
        figure = effect_dots(of_paper)
        figure.draw_without_rendering()
        boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    plt.close("all")


def test_verdicts_look_different_and_the_legend_has_those_drawn():
    kinds = ["supported", "contradicted", "undecided", "beyond reach"]
    told = dict(id=kinds, says=kinds, verdict=kinds, source="mini", effect=1.0, standardised=0.5, p=0.1, pairs=6)
    drawn = effect_dots(pd.DataFrame(told))
    marks = [line for line in drawn.axes[0].lines if line.get_linestyle() == "None"]
    assert [mark.get_color() for mark in marks] == [PALETTE[0], PALETTE[1], PALETTE[5], PALETTE[5]]
    assert [mark.get_fillstyle() for mark in marks] == ["full", "full", "full", "left"]
    for figure, shown in ((drawn, kinds), (effect_dots(pd.DataFrame(told)[1:3]), kinds[1:3])):
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [*shown, "ours, mini"]
    plt.close("all")


def test_the_starts_of_pretrained_models_are_asked_by_cells_of_model_and_language(tmp_path, all_claims):
    cells = [(model, language) for model in ("a", "b") for language in ("sw", "cy", "ka")]
    lines = ["model,language,method,bits_per_byte,seed,tokens,text"]
    for n, (model, language) in enumerate(cells):
        lines += [f"{model},{language},{method},{bits},0,9,x" for method, bits in (("focus", 2 + n), ("random", 3 + n))]
    (tmp_path / "starts.csv").write_text("\n".join([*lines, "a,mt,focus,9,0,9,x"]), encoding="utf-8")
    rows = with_starts(record_rows(pd.DataFrame(columns=["value", "step"])), tmp_path / "starts.csv")
    assert len(rows) == 13 and set(rows.scale) == {REAL} and rows.value.sum() == 2 * sum(range(2, 8)) + 6 + 9
    asked = dict(chapter="starts", lower=True, over=["model", "language"], better="focus", than="random")
    claim = Claim("mine", "focus", "here", "So.", "not printed", "nor recorded", real=asked)
    found = verdicts([claim], rows).set_index("source").loc[REAL]
    assert (found.verdict, found.pairs, found.agree, found.effect) == ("supported", 6, 6, 1)
    measured = set(pd.read_csv(data_path("starts.csv")).method)
    predicates = {c.id: c.real for c in all_claims.claims if c.real}
    assert len(predicates) == 6
    for name, predicate in predicates.items():
        assert {m for side in _sides(predicate) for m in listed(side["method"])} <= measured, name


def test_the_claims_of_a_paper_are_in_the_file_of_its_name():
    files = list(data_path("claims").glob("*.yml"))
    named = [(file.stem, claim.paper) for file in files for claim in load_claims(file)]
    assert {stem for stem, _ in named} == {file.stem for file in files} and all(stem == paper for stem, paper in named)
    assert len(named) == len(load_claims())
