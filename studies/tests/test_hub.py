import gzip
import json
import lzma
import tempfile
from pathlib import Path

import pytest
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Sequence as Many

from studies.data.availability import has_task
from studies.data.hub import (
    HubText,
    Sample,
    _on_hub,
    hub_lines,
    hub_model,
    hub_splits,
    shards,
    split_wikiann,
    stored_mix,
    stored_text,
    where_is,
)
from studies.data.hub_sources import SOURCES, Source, word_files
from studies.data.parsing import Parsed
from vocab_lit.tasks.pairs import Answer, Pair
from vocab_lit.tasks.tagging import Tagged
from vocab_lit.tasks.task import hold_out
from vocab_lit.text.corpus import mix
from vocab_lit.vectors.settings import read_dictionary


@pytest.fixture(scope="module")
def mirror():
    return Path(tempfile.mkdtemp())


def switch_off(patch, root):  # the mirror is there, and the Hub is not
    patch.setenv("VOCAB_LIT_HUB", str(root))
    for at in ("huggingface_hub.constants.HF_HUB_OFFLINE", "datasets.config.HF_HUB_OFFLINE"):
        patch.setattr(at, True)


@pytest.fixture
def offline(mirror, monkeypatch):
    switch_off(monkeypatch, mirror)


@pytest.fixture(scope="module")
def write_shard(mirror):
    def write(at, rows, features=None):  # a Parquet shard as the Hub has them
        (mirror / at).parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_dict(rows, features).to_parquet(mirror / at)

    return write


def sizes(splits):
    return list(map(len, splits))


def test_a_model_is_taken_from_a_folder_from_the_mirror_or_from_nowhere_with_advice(mirror, offline, monkeypatch):
    xlmr = mirror / "FacebookAI" / "xlm-roberta-base"
    xlmr.mkdir(parents=True)
    assert hub_model("FacebookAI/xlm-roberta-base") == str(xlmr) and hub_model(str(mirror)) == str(mirror)
    assert where_is("FacebookAI/xlm-roberta-base") == "mirror" and where_is(str(mirror)) == "folder"
    assert where_is("a/b") == where_is("a/b", True) == "nowhere: the Hub is switched off"
    command = f"`hf download no-such/model --local-dir {mirror}/no-such/model`"
    told = f"the model no-such/model is not there: looked for in the mirror {mirror}, .*{command}"
    with pytest.raises(FileNotFoundError, match=told):
        hub_model("no-such/model")
    for folder in ("/no/such/folder", "data/no/folder"):
        with pytest.raises(FileNotFoundError, match=f"^{folder}: no such model folder$"):
            hub_model(folder)
        assert where_is(folder) == "missing"
    monkeypatch.delenv("VOCAB_LIT_HUB")
    told = r"no mirror \(VOCAB_LIT_HUB is not set\).*--local-dir MIRROR/a/b`, and set VOCAB_LIT_HUB to MIRROR"
    with pytest.raises(FileNotFoundError, match=told):
        hub_model("a/b")
    monkeypatch.setenv("VOCAB_LIT_HUB", "/no/such/mirror")
    with pytest.raises(FileNotFoundError, match="VOCAB_LIT_HUB=/no/such/mirror: no such folder; make it, or unset"):
        hub_model("FacebookAI/xlm-roberta-base")
    monkeypatch.delenv("VOCAB_LIT_HUB")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    assert where_is("a/b") == "on the Hugging Face Hub, not looked up"


def test_the_files_of_a_part_are_found_in_every_layout(tmp_path):
    two = ["sw/train-00000-of-00002.parquet", "sw/train-00001-of-00002.parquet", "sw/test-00000-of-00001.parquet"]
    converted = ["data/sw/partial-train/0000.parquet", "data/sw/validation/0000.parquet"]
    names = ["c4-sw.tfrecord-0.json.gz", "c4-sw-validation.tfrecord-0.json.gz", "c4-sv.tfrecord-0.json.gz"]
    layouts = {
        "a/b": [*two, "et/train-00000-of-00001.parquet"],
        "a/c": converted,
        "a/d": ["sw.txt.xz", "et.txt.xz", "README.md"],
        "a/e": ["data/train-0.parquet", "data/test-0.parquet", "data/latest.parquet"],
        "a/f": [f"multilingual/{name}" for name in names],
    }
    for name, files in layouts.items():
        for f in files:
            (tmp_path / name / f).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / f).touch()

    def found(name, part, language="sw", **more):
        files = shards(tmp_path / name, Source(name, "text", **more), language, part)
        return [str(p.relative_to(tmp_path / name)) for p in files]

    assert found("a/b", "train") == two[:2] and found("a/b", "test") == two[2:]
    assert found("a/b", "validation") == found("a/b", "train", "fi") == []
    assert found("a/c", "train") == converted[:1] and found("a/c", "validation") == converted[1:]
    assert found("a/d", "train", "et") == ["et.txt.xz"] and found("a/d", "test") == []
    assert found("a/e", "test", config="plain_text") == ["data/test-0.parquet"]
    assert found("a/e", "train", config="plain_text") == ["data/train-0.parquet"]
    assert [p.name for p in shards(tmp_path / "a/f", SOURCES["mc4"], "sw", "train")] == names[:1]


def test_text_of_every_corpus_is_streamed_from_the_mirror_line_by_line(mirror, offline, write_shard):
    for i in range(2):
        write_shard(f"statmt/cc100/sw/train/000{i}.parquet", {"id": ["0", "1"], "text": [f"a{i}\n\n b{i} \n", "c\n"]})
    write_shard("HuggingFaceFW/fineweb-2/data/swh_Latn/train/000_00000.parquet", {"text": ["fineweb"], "id": ["x"]})
    article = {"text": ["Mto\n\nMaji"], "title": ["Mto"]}
    write_shard("wikimedia/wikipedia/20231101.sw/train-00000-of-00001.parquet", article)
    (mirror / "allenai/c4/multilingual").mkdir(parents=True)
    for name in ("c4-sw.tfrecord-00000-of-00001", "c4-sw-validation.tfrecord-00000-of-00001"):
        with gzip.open(mirror / f"allenai/c4/multilingual/{name}.json.gz", "wt") as f:
            f.write(json.dumps({"text": name.split(".")[0], "url": "u"}) + "\n")
    (mirror / "statmt/cc100/am.txt.xz").write_bytes(lzma.compress("ሀ\n\nለ\n".encode()))
    assert list(hub_lines("cc100", "sw")) == ["a0", "b0", "c", "a1", "b1", "c"]
    assert list(hub_lines("cc100", "sw", 2)) == ["a0", "b0"] and list(hub_lines("cc100", "am")) == ["ሀ", "ለ"]
    assert list(hub_lines("fineweb-2", "sw")) == list(hub_lines("fineweb-2", "swh_Latn")) == ["fineweb"]
    assert list(hub_lines("wikipedia", "sw")) == ["Mto", "Maji"] and list(hub_lines("mc4", "sw")) == ["c4-sw"]
    write_shard("statmt/cc100/et/train/0000.parquet", {"text": ["a"] * 50})
    shard = mirror / "statmt/cc100/et/train/0000.parquet"
    shard.write_bytes(shard.read_bytes()[:-9])
    for corpus, language, told in (
        ("cc100", "wo", r"statmt/cc100 has no train files of wo \(configuration wo\)"),
        (
            "oscar",
            "sw",
            "the data set oscar-corpus/OSCAR-2301 does not load for sw .*looked for in the mirror .*--repo-type "
            "dataset --include 'sw_meta/\\*.jsonl.zst' --local-dir",
        ),
        ("wikiann", "sw", "no corpus 'wikiann'; choose from cc100, fineweb-2, mc4, oscar, oscar-filtered"),
        ("cc100", "et", "et/train/0000.parquet is damaged .*copy it from the Hugging Face Hub again"),
    ):
        with pytest.raises(ValueError, match=told):
            next(hub_lines(corpus, language))


def test_data_sets_are_asked_for_by_their_own_names_of_languages():
    treebank = SOURCES["universal-dependencies"]
    for language in ("fr", "de", "zh"):  # WECHSEL's probes (Appendix A)
        assert treebank.of(treebank.config, language) == f"{language}_gsd"
    converted = "hf://datasets/statmt/cc100@refs%2Fconvert%2Fparquet/sw/*train/*.parquet"
    assert _on_hub(SOURCES["cc100"], "sw", "train") == dict(path="parquet", data_files={"train": converted})
    at = dict(path="commul/universal_dependencies", name="et_edt", revision="2.17")
    assert _on_hub(treebank, "et", "test") == at
    assert SOURCES["fineweb-2"].codes["zh"] == "cmn_Hani" and SOURCES["fineweb-2"].codes["am"] == "amh_Ethi"


def test_a_text_is_kept_once_read_as_a_sequence_cleaned_capped_and_mixed_and_another_mirror_is_another_text(
    mirror, offline, write_shard, monkeypatch
):
    letters = ("abcdefghij"[i % 10] + "klmnopqrst"[i // 10 % 10] + "uvwxyz"[i // 100 % 6] for i in range(600))
    sentences = [f"Maji ya mto namba {word}" for word in letters]
    write_shard("statmt/cc100/ga/train/0000.parquet", {"text": [*sentences, "x", sentences[0], "12 34 56 a"]})
    others = [line.replace("Maji", "Vai") for line in sentences[:50]]
    write_shard("statmt/cc100/gl/train/0000.parquet", {"text": others})
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", mirror / "cache")
    read, asked = [], []

    def counted(*asked, real=hub_lines):
        read.append(asked)
        return real(*asked)

    monkeypatch.setitem(HubText.__iter__.__globals__, "hub_lines", counted)
    whole = HubText("cc100", "ga")
    train, aside = stored_text(whole, 20, seed=1)
    assert len(aside) == 20 and not set(aside) & set(train) and {*aside, *train} == set(whole)
    assert train[0] == list(train)[0] and train[:3] == list(train)[:3] and len(train) == len(list(train))
    times = len(read)
    again, _ = stored_text(whole, 20, seed=1)
    assert list(again) == list(train) and again.name == train.name
    assert len(read) == times + 1  # for what is held out
    assert stored_text(whole, 20, seed=2)[0].name != train.name and train.beside("x").parent.is_dir()
    assert list(HubText("cc100", "ga", cleaned=True)) == sentences  # neither a word alone, nor a copy, nor numbers
    with monkeypatch.context() as patch:
        patch.setitem(HubText.__iter__.__globals__, "clean", lambda lines, how: asked.append(how) or lines)
        list(HubText("cc100", "ga", cleaned=True, language_model="lid.bin"))
    assert (asked[0].language_model, asked[0].without_languages, asked[0].confidence) == ("lid.bin", "en", 0.9)
    assert list(HubText("cc100", "ga", limit=7)) == sentences[:7]
    assert sum(len(line) for line in HubText("cc100", "ga", max_bytes=1000)) in range(950, 1001)
    other, _ = stored_text(HubText("cc100", "gl"), 5)
    both = stored_mix({"ga": train, "gl": other}, seed=3)
    assert list(both) == list(mix({"ga": list(train), "gl": list(other)}, seed=3))
    assert len(both) == len(train) + len(other)
    times = len(read)
    assert stored_mix({"ga": again, "gl": other}, seed=3).name == both.name and len(read) == times
    assert len(stored_mix({"ga": train, "gl": other}, cap=300)) < 40
    write_shard("statmt/cc100/ga/train/0000.parquet", {"text": sentences[:99]})
    assert len(stored_text(whole, 2)[0]) == 97
    write_shard("statmt/cc100/tn/train/0000.parquet", {"text": ["a"]})
    with pytest.raises(ValueError, match="1 lines of tn leave none to evaluate on"):
        stored_text(HubText("cc100", "tn"))


def test_a_sample_takes_a_share_of_the_lines_of_a_large_text():
    large = [f"line {i:04d}" for i in range(5000)]  # of 9 bytes
    assert list(Sample(large)) == list(Sample(large, 50_000, 10)) == large and list(Sample(large, lines=3)) == large[:3]
    few = list(Sample(large, 10_000, 4_500))
    assert few == list(Sample(large, 10_000, 4_500)) and 400 < len(few) < 600 and set(few) < set(large)


def test_texts_with_oscar_s_quality_warnings_are_left_out_where_that_is_asked_and_earlier_releases_are_read(
    mirror, offline, write_shard, monkeypatch
):
    warned = {"nzuri": None, "fupi": ["tiny"], "mbaya": ["noisy", "tiny"], "menyu": ["header"]}
    rows = [dict(content=text, metadata=dict(quality_warnings=warnings)) for text, warnings in warned.items()]
    (mirror / "oscar-corpus/OSCAR-2201/compressed/lb_meta").mkdir(parents=True)
    with gzip.open(mirror / "oscar-corpus/OSCAR-2201/compressed/lb_meta/lb_meta_part_1.jsonl.gz", "wt") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    german = {"text": ["gut"], "id": [1]}
    write_shard("oscar-corpus/oscar/unshuffled_deduplicated_de/partial-train/0000.parquet", german)
    assert list(hub_lines("oscar-2201", "lb")) == list(warned) and list(hub_lines("oscar-2019", "de")) == ["gut"]
    monkeypatch.setitem(hub_lines.__globals__, "load_part", lambda *a, **k: rows)
    assert list(hub_lines("oscar-filtered", "lb")) == ["nzuri", "fupi"]


def test_names_come_from_wikiann_with_either_division_and_from_masakhaner(offline, write_shard):
    tags = Features(tokens=Many(Value("string")), ner_tags=Many(ClassLabel(names=["O", "B-PER", "I-PER"])))
    for split, n in (("train", 9), ("validation", 3), ("test", 4)):
        names = {"tokens": [["Asha", "yupo"]] * n, "ner_tags": [[1, 0]] * n}
        write_shard(f"unimelb-nlp/wikiann/et/{split}-00000-of-00001.parquet", names, tags)
        write_shard(f"masakhane/masakhaner2/swa/{split}/0000.parquet", names, tags)
    for split, n in (("train", 700), ("validation", 200), ("test", 300)):
        numbered = {"tokens": [[f"{split}{i}"] for i in range(n)], "ner_tags": [[0]] * n}
        write_shard(f"unimelb-nlp/wikiann/hy/{split}-00000-of-00001.parquet", numbered, tags)
    write_shard("unimelb-nlp/wikiann/fi/test-00000-of-00001.parquet", {"tokens": [["a"]], "ner_tags": [[1]]})
    swahili = hub_splits("ner", "sw", "masakhaner2")
    assert sizes(hub_splits("ner", "et", divide=False)) == sizes(swahili) == [9, 3, 4]
    assert swahili[2][0] == Tagged(("Asha", "yupo"), ("B-PER", "O"))
    divided = hub_splits("ner", "hy")
    assert sizes(divided) == [432, 256, 512] and hub_splits("ner", "hy", test_only=True) == ([], [], divided[2])
    assert {s.words[0][:4] for s in divided[2]} == {"trai", "vali", "test"}
    command = r"`hf download masakhane/masakhaner --repo-type dataset --revision refs/convert/parquet --include "
    for told, *asked in (
        ("16 sentences are too few", "et"),
        (command + r"'\*swa/\*' --local-dir", "sw", "masakhaner"),
        ("masakhane/masakhaner2 has no et; it has ha, ig", "et", "masakhaner2"),
        ("no data set for ner 'xnli'; choose from wikiann, masakhaner, masakhaner2, germeval14", "et", "xnli"),
    ):
        with pytest.raises(ValueError, match=told):
            hub_splits("ner", *asked)
    with pytest.raises(ValueError, match="ner_tags has numbers without names"):
        hub_splits("ner", "fi", test_only=True, divide=False)


def test_classes_of_words_and_trees_come_from_a_treebank_with_and_without_a_development_part(offline, write_shard):
    words = dict(tokens=["I", "don't", "do", "n't"], upos=["PRON", "_", "AUX", "PART"])
    words |= dict(head=["0", "_", "1", "2"], deprel=["root", "_", "aux", "advmod"])
    many, few = ({name: [row] * n for name, row in words.items()} for n in (320, 5))
    for split in ("train", "test"):
        write_shard(f"commul/universal_dependencies/myv_jr/{split}-00000-of-00001.parquet", many)
    for split in ("train", "validation", "test"):
        write_shard(f"commul/universal_dependencies/wo_wtb/universal_dependencies-{split}.parquet", few)
    found = hub_splits("pos", "myv")
    assert sizes(found) == [20, 300, 320] and found[0][0] == Tagged(("I", "do", "n't"), ("PRON", "AUX", "PART"))
    assert hub_splits("dp", "wo")[1] == [Parsed(("I", "do", "n't"), (0, 1, 2), ("root", "aux", "advmod"))] * 5
    assert hub_splits("dp", "wo", test_only=True)[0] == []
    with pytest.raises(ValueError, match="commul/universal_dependencies has no sw; it has hy, eu"):
        hub_splits("pos", "sw")


def test_erzya_and_north_sámi_have_text_treebanks_and_names_by_the_codes_of_their_data_sets(
    mirror, offline, write_shard
):
    rows = dict(tokens=[["a"]] * 400, upos=[["NOUN"]] * 400, head=[["0"]] * 400, deprel=[["root"]] * 400)
    for script, treebank, codes in (("myv_Cyrl", "myv_jr", ["myv"]), ("sme_Latn", "sme_giella", ["sme", "se"])):
        write_shard(f"HuggingFaceFW/fineweb-2/data/{script}/train/000_00000.parquet", {"text": [script]})
        write_shard(f"wikimedia/wikipedia/20231101.{codes[-1]}/train-00000-of-00001.parquet", {"text": [codes[-1]]})
        for split in ("train", "test"):
            write_shard(f"commul/universal_dependencies/{treebank}/{split}-00000-of-00001.parquet", rows)
        texts = dict.fromkeys(("cc100", "oscar", "fineweb-2"), script) | {"wikipedia": codes[-1]}
        for code in codes:
            assert {corpus: "".join(hub_lines(corpus, code)) for corpus in texts} == texts
            assert has_task("pos", code) and sizes(hub_splits("pos", code)) == [100, 300, 400]
            assert not has_task("ner", code) and has_task("ner", "et") and not has_task("ner", "et", "masakhaner2")
            with pytest.raises(ValueError, match=f"unimelb-nlp/wikiann has no {codes[-1]}"):
                hub_splits("ner", code)
    undivided = mirror / "unimelb-nlp/wikiann/wikiann-myv.bio"
    undivided.parent.mkdir(parents=True, exist_ok=True)
    undivided.write_text("".join(f"Саранск{i} B-LOC\nошось O\n\n" for i in range(1100)), encoding="utf-8")
    assert has_task("ner", "myv") and sizes(hub_splits("ner", "myv")) == [332, 256, 512]
    assert sizes(hub_splits("ner", "myv", test_only=True)) == [0, 0, 512]


def test_questions_and_pairs_come_from_every_set(offline, write_shard):
    def write_questions(at, *ids):
        row = dict(question="who?", context="Ana is here", answers={"text": ["Ana"], "answer_start": [0]})
        write_shard(f"{at}.parquet", {"id": list(ids)} | {name: [value] * len(ids) for name, value in row.items()})

    one = "-00000-of-00001"
    write_questions(f"rajpurkar/squad/plain_text/train{one}", *"012345")
    write_questions(f"rajpurkar/squad/plain_text/validation{one}", *"01")
    for language in ("en", "de"):
        write_questions(f"google/xquad/xquad.{language}/validation{one}", *"012")
    for split, n in (("train", 20), ("validation", 4)):
        ids = [f"{language}-{i}" for language in ("swahili", "finnish") for i in range(n)]
        write_questions(f"google-research-datasets/tydiqa/secondary_task/{split}{one}", *ids)
    for split in ("train", "test"):
        write_questions(f"deepset/germanquad/plain_text/{split}/0000", *(f"{i}" for i in range(4000)))
    kinds = ClassLabel(names=["entailment", "neutral", "contradiction"])
    labels = Features(premise=Value("string"), hypothesis=Value("string"), label=kinds)
    for split, n in (("train", 5), ("validation", 2), ("test", 3)):
        pairs = {"premise": ["a"] * n, "hypothesis": ["b"] * n, "label": [-1] + [1] * (n - 1)}
        write_shard(f"facebook/xnli/sw/{split}{one}.parquet", pairs, labels)
    assert sizes(hub_splits("qa", "en")) == [6, 2, 3] and sizes(hub_splits("qa", "de")) == [0, 0, 3]
    train, dev, test = hub_splits("qa", "sw", "tydiqa")
    assert sizes((train, dev, test)) == [18, 2, 4] and test[0].answers == (Answer("Ana", 0),)
    assert {q.id.split("-")[0] for q in train + dev + test} == {"swahili"}
    assert sizes(hub_splits("qa", "de", "germanquad", test_only=True)) == [0, 0, 4000]
    assert sizes(hub_splits("qa", "de", "germanquad")) == [3600, 400, 4000]  # a tenth (FOCUS, Section 3.3)
    assert sizes(hub_splits("nli", "sw")) == [4, 1, 2] and hub_splits("nli", "sw")[2][0] == Pair("a", "b", "neutral")
    with pytest.raises(ValueError, match="google/xquad has no sw; it has ar, de"):
        hub_splits("qa", "sw")
    with pytest.raises(ValueError, match="tydiqa has no th"):
        hub_splits("qa", "th", "tydiqa")


def test_addresses_are_for_the_language_and_muse_s_files_are_read(tmp_path):
    assert "MUSE" in str(word_files("de")) and "MUSE" not in str(word_files("sw"))
    assert word_files("gd")["dictionary (WECHSEL's repository)"].endswith("/scottish%20gaelic.txt")
    (tmp_path / "en-de.txt").write_text("water wasser\nriver\tfluss\n", encoding="utf-8")
    assert read_dictionary(tmp_path / "en-de.txt") == [("water", "wasser"), ("river", "fluss")]


def test_names_of_wikiann_are_split_into_disjoint_parts():
    numbered = [Tagged((str(i),), ("O",)) for i in range(20_000)]
    for n, sizes in ((20_000, (17_000, 1000, 2000)), (6000, (5100, 300, 600)), (1024, (256, 256, 512))):
        parts = split_wikiann(numbered[:n], seed=4)
        assert tuple(map(len, parts)) == sizes and {s for p in parts for s in p} == set(numbered[:n])
        assert parts == split_wikiann(numbered[:n], seed=4) != split_wikiann(numbered[:n], seed=5)
    train, dev = hold_out(numbered[:1517], seed=1)
    assert (len(train), len(dev)) == (1217, 300) and set(train) | set(dev) == set(numbered[:1517])
    assert dev != numbered[:300]
    with pytest.raises(ValueError, match="1023 sentences are too few for 256 of development, 512 of test"):
        split_wikiann(numbered[:1023])
    with pytest.raises(ValueError, match="cannot hold 300 of 300 examples out"):
        hold_out(numbered[:300], 300)
