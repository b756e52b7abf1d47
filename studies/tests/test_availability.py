"""What can be had of the Hub, on one that is made of what the data sets' own pages say."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import papermill
import pytest

from studies.chapters.budget import needs, plan
from studies.chapters.paper_page import overview, paper_tables
from studies.chapters.printed_states import states_table, table_states
from studies.data.availability import (
    _languages,
    _without,
    check_models,
    compared_models,
    data_of,
    reachable_parameters,
    state_of,
    tasks_with_data,
)
from studies.data.hub import hub_lines, hub_splits
from studies.data.hub_sources import DEFAULTS, SOURCES
from studies.data.presets import PAPER_PARAMETERS, data_set
from studies.papers.computed import WITH_MINI
from studies.papers.setups import get_setup
from studies.tests.hub_server import serve

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = {  # the languages of whose pages a run at scale paper is for
    "focus": "de ar sw xh ha gd lb ceb sm hmn",
    "embedding-structure": "hy eu myv et he ru sme te",
    "mad-x": "en",
    "unks-everywhere": "am",
    "wechsel": "fr de zh sw su gd ug mg",
}
MISSING = {  # what the papers have and the Hub lacks
    "unks-everywhere": {("ner", "myv"), ("ner", "wo")},
}


@pytest.fixture(scope="module")
def fake_hub(tmp_path_factory):
    from studies.tests.fake_hub import make

    root = tmp_path_factory.mktemp("hub")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VOCAB_LIT_HUB", str(root))
        patch.setattr("datasets.config.HF_DATASETS_CACHE", root / ".cache")
        for at in ("huggingface_hub.constants.HF_HUB_OFFLINE", "datasets.config.HF_HUB_OFFLINE"):
            patch.setattr(at, True)
        make(root)
        yield root


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_all_that_a_chapter_reads_at_scale_paper_is_there_or_named_as_missing(fake_hub, chapter):
    read = set()
    for language in CHAPTERS[chapter].split():
        needed = needs(chapter, language, "paper")
        assert {(datum.what, datum.language) for datum in needed.left_out} == MISSING.get(chapter, set())
        read |= {(what, code) for what, codes in needed.languages.items() for code in codes}
    for what, code in sorted(read):
        found = [datum for datum in data_of(chapter, what, code, {}) if datum.state.there]
        if what == "text":
            assert found, (chapter, what, code)
        for datum in found:
            name = next(name for name, source in SOURCES.items() if source is datum.source)
            if what == "text":
                assert len(list(islice(hub_lines(name, code), 5))) == 5
            else:
                divide = chapter == "embedding-structure"
                assert hub_splits(what, code, name, test_only=True, divide=divide)[2], (chapter, what, code)


def test_tasks_without_data_are_left_out_and_those_with_several_sets_are_scored_on_each(fake_hub):
    def tasks(language, scale="paper", **given):
        return tasks_with_data("focus", scale, language, ("ner", "nli", "qa"), given)

    assert tasks("ha") == tasks("xh") == ["ner"]  # by MasakhaNER 2, since WikiANN has neither
    assert data_set("focus", "ner", "ha") == "masakhaner2"
    assert tasks("de") == ["ner:wikiann", "ner:germeval14", "nli", "qa"]
    assert tasks("sw") == ["ner:wikiann", "ner:masakhaner2", "nli", "qa"]
    assert tasks("ar") == ["ner", "nli", "qa"] and tasks("gd") == ["ner"]
    assert tasks("sw", ner="masakhaner") == ["ner", "nli", "qa"]
    assert tasks("sw", "mini") == ["ner", "nli", "qa"] and tasks("sw", "custom", nli="a b") == ["nli"]
    setup = get_setup("paper", "de", ner="wikiann germeval14", limit=100)
    names = {task: setup.splits(task, "de") for task in ("ner", "ner:wikiann", "ner:germeval14")}
    sizes = {task: list(map(len, splits)) for task, splits in names.items()}
    assert sizes["ner"] == sizes["ner:wikiann"] == [300, 300, 430] and sizes["ner:germeval14"] == [40, 12, 24]
    assert (setup.tasks["ner:wikiann"].epochs, setup.tasks["ner:germeval14"].epochs) == (5, 25)  # Table 6
    masakhaner = get_setup("paper", "sw", ner="wikiann masakhaner2", limit=100).tasks["ner:masakhaner2"]
    assert (masakhaner.epochs, masakhaner.learning_rate) == (25, 2e-5)


def test_languages_without_data_leave_a_chapters_parameters_before_anything_is_trained(fake_hub):
    asked = dict.fromkeys(PAPER_PARAMETERS["unks-everywhere"], "")
    found = reachable_parameters("unks-everywhere", "paper", "am", {}, **asked)
    assert not {"myv", "wo"} & set(_languages(found.parameters["targets"]))
    assert {"myv", "wo"} <= set(_languages(found.parameters["tree_targets"]))  # which have treebanks
    assert found.table["left out"].tolist() == ["myv", "wo"]
    assert found.table.why.tolist()[1] == "ner: unimelb-nlp/wikiann has no wo; it has 176 other languages"
    assert "ner               unimelb-nlp/wikiann (wo): left out: " in str(plan("unks-everywhere", "am", "paper"))
    both = dict(compare="sw ha", seeds=1, task_seeds=1)
    assert reachable_parameters("focus", "paper", "sw", dict(corpus="cc100"), **both).parameters["compare"] == "sw ha"
    assert reachable_parameters("focus", "paper", "sw", dict(corpus="oscar"), **both).parameters["compare"] == "sw"
    with pytest.raises(ValueError, match="no language of compare is left, .*has no train files of ha"):
        reachable_parameters("focus", "paper", "sw", dict(corpus="oscar"), compare="ha", seeds=1, task_seeds=1)
    assert not reachable_parameters("focus", "mini", "sw", {}, **both).left_out


def test_every_printed_table_says_what_of_it_scale_paper_computes():
    states = table_states()
    missing = states[states.state == "left out"].groupby(["chapter", "language"]).table.agg(" ".join)
    assert missing.to_dict() == {
        ("embedding-structure", "myv"): "2 4 9",
        ("unks-everywhere", "myv"): "3a 5a 5b 5c 5d 6 8",
        ("unks-everywhere", "wo"): "3a 5a 5b 5c 5d 6 8",
        **{("unks-everywhere", code): "7" for code in ["cdo", "mi", "ilo", "gn", "bo", "km", "dv", "si"]},
        **{("wechsel", code): "7" for code in ["fr", "de", "zh", "sw"]},
    }
    told = states.set_index(["chapter", "table", "language"]).why
    assert told["focus", "4", "xh"].startswith("without the methods that need word vectors")
    assert told["embedding-structure", "1", "myv"] == (
        "text of HuggingFaceFW/fineweb-2 in place of oscar-corpus/OSCAR-2201"
    )
    assert told["wechsel", "7", "fr"] == "no cell computes it"
    lines = states_table()
    assert lines.language.str.split().map(len).sum() == len(states) and "runs" in set(lines.state)


def test_languages_are_taken_out_of_every_form_of_a_parameter():
    assert _languages("seen: ka ur; new script: am") == ["ka", "ur", "am"] and _languages("hy+et") == ["hy", "et"]
    assert _without("seen: ka ur; new script: am", ["ur"]) == "seen: ka; new script: am"
    assert _without("seen: ka ur; new script: am", ["ka", "ur"]) == " new script: am"
    assert _without("hy+et+te", ["et"]) == "hy+te" and _without("de ar sw", ["de"]) == "ar sw"


def test_large_texts_say_that_the_hub_has_a_part_and_sizes_of_text_count(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.delenv("VOCAB_LIT_HUB", raising=False)
    planned = plan("focus", "de", "paper")
    german = planned.reads.query("what == 'text' and part.str.startswith('de')")["where"].item()
    assert "end after their first 5 GB" in german and "cc-100/de.txt.xz" in german
    russian = plan("embedding-structure", "ru", "paper", compare="ru", mixed="ru", family="ru")
    assert russian.text["ru"] == 10 * 10**9 and "30.0 GB for 10.0 GB of text and its tokens" in str(russian)
    assert "text whose size is not known: lb, ceb" in str(plan("focus", "de", "paper", compare="de lb ceb"))


def test_a_data_set_that_is_not_there_says_why(fake_hub, tmp_path, monkeypatch):
    assert state_of(SOURCES["wikiann"], "wo").where == "unimelb-nlp/wikiann has no wo; it has 176 other languages"
    assert state_of(SOURCES[DEFAULTS["ner"]], "sw") == state_of(SOURCES["cc100"], "zh")  # as zh-Hans
    monkeypatch.setenv("VOCAB_LIT_HUB", str(tmp_path))
    assert state_of(SOURCES["cc100"], "sw").where == "nowhere: the Hub is switched off"
    (tmp_path / "unimelb-nlp/wikiann").mkdir(parents=True)
    assert state_of(SOURCES["wikiann"], "sw").where == "the mirror's unimelb-nlp/wikiann has no test files of sw"
    (tmp_path / "unimelb-nlp/wikiann/wikiann-wo.bio").write_text("Dakar B-LOC\n", encoding="utf-8")
    assert state_of(SOURCES["wikiann"], "wo").there  # of Pan et al. (2017)


ON_THE_HUB = """
import json, sys
from studies.data.availability import state_of, state_of_adapter
from studies.data.hub_sources import SOURCES

states = {f"{name} {code}": state_of(SOURCES[name], code, look=True) for name, code in json.loads(sys.argv[1])}
states |= {name: state_of_adapter(name, look=True) for name in json.loads(sys.argv[2])}
print(json.dumps({name: [state.there, state.where] for name, state in states.items()}))
"""


def test_the_hub_is_asked_for_every_language_and_what_it_refuses_is_told(fake_hub, tmp_path):
    there = "cc100 sw, cc100 zh, wikiann sw, wikiann am, wikipedia km, fineweb-2 myv, xnli de, squad en, mc4 hmn"
    there += ", universal-dependencies hy, germeval14 de, masakhaner2 ha, tydiqa sw, germanquad de"
    refused = dict.fromkeys(["oscar sw", "oscar-filtered lb"], "it is gated; ask for access at")
    refused |= {"wikipedia qqq": "has no 20231101.qqq", "mc4 qqq": "allenai/c4 has no multilingual/c4-qqq"}
    asked = [*there.split(", "), *refused]
    adapters = [f"AdapterHub/bert-base-multilingual-cased-{code}-wiki_pfeiffer" for code in ("en", "qqq")]
    given = [json.dumps([case.split() for case in asked]), json.dumps(adapters)]

    def states(**settings):
        env = os.environ | dict(HF_HOME=str(tmp_path), NO_PROXY="127.0.0.1", HF_HUB_OFFLINE="0", VOCAB_LIT_HUB="")
        ask = [sys.executable, "-c", ON_THE_HUB, *given]
        done = subprocess.run(ask, capture_output=True, text=True, env=env | settings)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    with serve(fake_hub, gated=["oscar-corpus/OSCAR-2301"]) as (address, asked_for):
        found = states(HF_ENDPOINT=address)
    assert {name: state for name, state in found.items() if not state[0]}.keys() == {*refused, adapters[1]}
    assert not [name for name, why in refused.items() if why not in found[name][1]]
    assert f"{address}/datasets/oscar-corpus/OSCAR-2301" in found["oscar sw"][1]
    assert "has none of that name" in found[adapters[1]][1]
    assert len(asked_for) < 150
    beyond = states(HF_ENDPOINT="http://127.0.0.1:9")  # where nothing answers
    assert {tuple(state) for state in beyond.values()} == {(True, "on the Hugging Face Hub, not looked up")}


def test_adapters_and_models_that_are_not_there_are_found_before_training(fake_hub, tmp_path, monkeypatch):
    asked = dict.fromkeys(PAPER_PARAMETERS["unks-everywhere"], "")
    published = reachable_parameters("unks-everywhere", "paper", "am", {}, look=True, **asked)
    assert published.parameters["source_adapters"] and "source_adapters" not in published.left_out
    for folder in ("google-bert", "wikimedia", "unimelb-nlp", "commul"):
        (tmp_path / folder).symlink_to(fake_hub / folder)
    (tmp_path / "AdapterHub").mkdir()
    for code in ("en", "zh", "ar"):
        name = f"AdapterHub/bert-base-multilingual-cased-{code}-wiki_pfeiffer"
        (tmp_path / name).symlink_to(fake_hub / name)
    monkeypatch.setenv("VOCAB_LIT_HUB", str(tmp_path))
    found = reachable_parameters("unks-everywhere", "paper", "am", {}, look=True, **asked)
    assert found.parameters["source_adapters"] == ""  # so that all are trained alike
    assert found.table.loc["source_adapters"].tolist() == ["ja", "language adapter: nowhere: the Hub is switched off"]
    told = str(plan("unks-everywhere", "am", "paper", look=True))
    assert "wiki_pfeiffer: left out, all are trained: nowhere: the Hub is switched off" in told
    check_models("mad-x", "paper", ["en"])
    with pytest.raises(FileNotFoundError, match="the model FacebookAI/xlm-roberta-base is not there: .*hf download"):
        check_models("wechsel", "paper", ["de"])
    assert compared_models("wechsel", "paper", ["de", "sw"]) == ["FacebookAI/xlm-roberta-base", "deepset/gbert-base"]
    assert not compared_models("wechsel", "custom", ["de"]) and not compared_models("mad-x", "paper", ["sw"])
    with pytest.raises(ValueError, match="no language of compare is left, .*nowhere: the Hub is switched off"):
        reachable_parameters("focus", "paper", "sw", {}, look=True, compare="sw", seeds=1, task_seeds=1)
    assert "left out: nowhere: the Hub is switched off" in str(plan("focus", "sw", "paper", look=True))


def _run(chapter, language, out, *options, **given):  # in this process's Python, on the fake hub
    sets = [*options, *(f"--set={name}={value}" for name, value in given.items())]
    ask = [sys.executable, "-m", "studies", "chapter", chapter, "--language", language, "--scale", "paper"]
    done = subprocess.run(
        [*ask, *sets, "--out", str(out)], capture_output=True, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]


SMALL = dict(steps=3, seeds=1, workers=1)
QUICK = {  # pairs of two or three languages of each kind in the place of all
    "focus": dict(vocab_size=300, task_seeds=1),
    "embedding-structure": dict(vocab_size=300, compare="et", mixed="hy+myv", family="myv+ru"),
    "mad-x": dict(
        kinds="high resource: en zh; low resource: sw; not seen: qu; not seen, truly low resource: mi",
        questions="en es",
    ),
    "unks-everywhere": dict(
        vocab_size=300,
        sources="en zh",
        targets="seen: ka; covered script: cdo; new script: am",
        tree_sources="en",
        tree_targets="seen: hi; covered script: bh; new script: am",
    ),
    "wechsel": dict(vocab_size=400),
}


def _files_by_hand(fake_hub, chapter):
    if chapter != "wechsel":
        return {}
    return dict(dictionary=fake_hub / "dictionary.txt", source_vectors=fake_hub / "cc.en.300.bin")


@pytest.mark.slow(reason="runs every chapter at scale paper on models of two layers; one to six minutes for each")
@pytest.mark.parametrize(
    ("chapter", "language"), [(chapter, code) for chapter in CHAPTERS for code in CHAPTERS[chapter].split()]
)
def test_chapters_run_at_scale_paper_in_every_language(fake_hub, chapter, language, tmp_path):
    given = QUICK.get(chapter, {}) | _files_by_hand(fake_hub, chapter)
    given["records"] = fake_hub / ".records" / chapter  # which the pages of its languages share
    _run(chapter, language, tmp_path / "page.ipynb", **SMALL, **given)
    assert Path(tmp_path / "page.ipynb").is_file()


OF_TABLES = {  # what a table or a figure each is about
    "embedding-structure": dict(mixed="hy+eu+myv+et+he+ru+sme+te", family="myv+et+fi+hu+sme+ru"),
    "unks-everywhere": dict(sources="en zh ja ar", tree_sources="en zh ja ar"),
}


@pytest.mark.slow(reason="trains two steps of all that the tables of a paper need, on models of two layers")
@pytest.mark.parametrize(
    ("paper", "language"),
    {"focus": "sw", "embedding-structure": "hy", "mad-x": "en", "unks-everywhere": "am", "wechsel": "sw"}.items(),
)
def test_the_page_of_a_papers_tables_shows_what_scale_paper_has_computed(fake_hub, paper, language, tmp_path):
    given = SMALL | dict(steps=2, records=tmp_path / paper) | QUICK.get(paper, {}) | _files_by_hand(fake_hub, paper)
    given |= OF_TABLES.get(paper, {})
    _run(paper, language, tmp_path / "lesson.ipynb", "--tables", **given)
    page = papermill.execute_notebook(
        BOOK / f"{paper}-tables.ipynb",
        tmp_path / "tables.ipynb",
        dict(scale="paper", records=str(tmp_path / paper)),
        cwd=BOOK,
    )
    assert not [output for cell in page.cells for output in cell.get("outputs", ()) if output.output_type == "error"]
    tables = paper_tables(paper, "paper", tmp_path / paper)
    shown = overview(tables).set_index("")["beside the paper's numbers"]
    of_any_scale = [exhibit for exhibit in tables.exhibits.values() if exhibit.ours]
    declared = [exhibit.name for exhibit in of_any_scale if exhibit.ours.computed not in WITH_MINI]
    assert [name for name in declared if "ours" not in shown[name]] == []
