"""What tests of the studies share: records and setups, and the numbers that figures draw."""

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Sequence as Many
from matplotlib.colors import to_rgb

import studies.figures.labels as plots
from studies.data.parsing import read_trees
from studies.figures.labels import SANS
from studies.papers.claims import RECORDS, differences, judge, load_claims, record_rows, verdicts
from studies.papers.experiment import FOCUS_METHODS, Target, Targets
from studies.papers.setups import get_setup


@pytest.fixture(scope="session")
def workplace():
    place = Path(tempfile.mkdtemp())
    return SimpleNamespace(place=place)


@pytest.fixture(scope="session")
def mini_setup(workplace):
    place = workplace.place
    mini = get_setup("mini", "sw", limit=2600)
    (place / "text.txt").write_text("\n".join(mini.train[:1500]), encoding="utf-8")
    return SimpleNamespace(mini=mini)


@pytest.fixture(scope="session")
def swahili():
    targets = Targets("mini", steps=4, limit=1500)
    sw = targets("sw")
    losses = {m: round(sw.loss(sw.transplant(m).model), 2) for m in ("random", "focus")}
    return SimpleNamespace(losses=losses, sw=sw, targets=targets)


@pytest.fixture(scope="module")
def focus_tables():
    bilingual = get_setup("mini", "sw", source_language="en", limit=800, vocab_size=300, steps=3)
    few_names, one_epoch = (
        [part[:8] for part in bilingual.splits("ner", "sw")],
        replace(bilingual.tasks["ner"], epochs=1),
    )
    bilingual = Target(
        replace(
            bilingual,
            held_out=bilingual.held_out[:15],
            source_text=bilingual.source_text[:500],
            lapt=replace(bilingual.lapt, batch_size=4, length=32, eval_every=3),
            splits=lambda task, language: few_names,
            tasks={"ner": one_epoch},
        )
    )
    followed = {name: pd.DataFrame(bilingual.follow(way, tasks=("ner",))) for name, way in FOCUS_METHODS.items()}
    return SimpleNamespace(bilingual=bilingual, followed=followed)


@pytest.fixture(scope="module")
def two_languages():
    both = Targets("mini", steps=2, limit=600, preset="embedding-structure")("et+hy")
    default_size, one_epoch = both.setup.vocab_size, {t: replace(c, epochs=1) for t, c in both.setup.tasks.items()}
    both = Target(replace(both.setup, vocab_size=400, tasks=one_epoch))

    def few_examples(task, language):
        return [part[:8] for part in both.setup.splits(task, language)]

    scored = pd.DataFrame(Target(replace(both.setup, splits=few_examples)).scores("script-posn-ident", "full", seeds=1))
    scored.round(2)
    return SimpleNamespace(both=both, default_size=default_size, scored=scored)


@pytest.fixture(scope="module")
def local_hub(workplace, mini_setup):
    place = workplace.place
    mini = mini_setup.mini
    hub = place / "hub"
    shutil.copytree(mini.model, hub / "FacebookAI/xlm-roberta-base")

    def shard(at, rows, features=None):
        (hub / at).parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_dict(rows, features).to_parquet(hub / at)

    shard(
        "statmt/cc100/sw/train/0000.parquet",
        {"id": [str(i) for i in range(1500)], "text": [line + "\n" for line in mini.train[:1500]]},
    )
    shard("statmt/cc100/de/train/0000.parquet", {"id": ["0"] * 50, "text": mini.train[:50]})
    shard("HuggingFaceFW/fineweb-2/data/swh_Latn/train/000_00000.parquet", {"text": mini.train[1500:2500]})
    shard("HuggingFaceFW/fineweb-2/data/sme_Latn/train/000_00000.parquet", {"text": mini.train[1000:1400]})
    tagged = dict(tokens=[["Asha", "yupo"]] * 20, upos=[["PROPN", "VERB"]] * 20)
    for split in ("train", "validation", "test"):
        shard(f"commul/universal_dependencies/sme_giella/{split}-00000-of-00001.parquet", tagged)
    names = Features(tokens=Many(Value("string")), ner_tags=Many(ClassLabel(names=["O", "B-PER", "I-PER"])))
    for at in ("unimelb-nlp/wikiann/sw/{}-00000-of-00001.parquet", "masakhane/masakhaner2/swa/{}/0000.parquet"):
        for n, split in enumerate(("train", "validation", "test"), len(at)):
            shard(at.format(split), {"tokens": [["Asha", "yupo"]] * n, "ner_tags": [[1, 0]] * n}, names)

    def offline(patch):
        patch.setenv("VOCAB_LIT_HUB", str(hub))
        patch.setattr("datasets.config.HF_DATASETS_CACHE", place / "cache")
        for at in ("huggingface_hub.constants.HF_HUB_OFFLINE", "datasets.config.HF_HUB_OFFLINE"):
            patch.setattr(at, True)

    with pytest.MonkeyPatch.context() as patch:
        offline(patch)
        paper = Target(get_setup("paper", "sw", vocab_size=600, steps=2))
        moved = paper.transplant("focus")
        splits = {
            "": paper.setup.splits("ner", "sw"),
            "masakhaner2": get_setup("paper", "sw", ner="masakhaner2", limit=50).splits("ner", "sw"),
        }
    return SimpleNamespace(hub=hub, moved=moved, offline=offline, paper=paper, shard=shard, splits=splits)


@pytest.fixture(scope="module")
def all_claims():
    claims = load_claims()
    return SimpleNamespace(claims=claims)


@pytest.fixture(scope="module")
def toy_records():
    toy = pd.DataFrame(
        [
            dict(
                chapter="focus",
                what="curve",
                language=code,
                method=m,
                seed=s,
                metric="loss",
                step=step,
                value=v + 0.1 * s - 0.01 * step,
            )
            for code, v in (("sw", 5.0), ("am", 6.0))
            for m, v in (("focus", v), ("random", v + 2))
            for s in (0, 1)
            for step in (0, 10, 20, 30)
        ]
    )
    record_rows(toy)[["chapter", "what", "language", "method", "seed", "step", "stage", "scale", "value"]].head(4)
    return SimpleNamespace(toy=toy)


@pytest.fixture(scope="module")
def start_claim(toy_records):
    toy = toy_records.toy
    start = dict(chapter="focus", what="curve", stage="start", better="focus", than="random", lower=True)
    differences(record_rows(toy), start).droplevel(
        [c for c in RECORDS if c not in ("language", "method") and c != "method"]
    )
    return SimpleNamespace(start=start)


@pytest.fixture(scope="module")
def plain_claims():
    def table_of(**methods):  # a number for each language
        return pd.DataFrame(
            [
                dict(
                    table="1",
                    setup="",
                    method=m,
                    language=f"l{i}",
                    task="",
                    dataset="",
                    metric="F1",
                    value=float(v),
                    seed=1,
                )
                for m, values in methods.items()
                for i, v in enumerate(values)
            ]
        )

    plain = dict(table=1, better="A", than="B")
    judge(table_of(A=[1, 2, 3, 4, 5, 6], B=[0] * 6), plain)
    return SimpleNamespace(plain=plain, table_of=table_of)


@pytest.fixture(scope="module")
def paper_verdicts(all_claims):
    claims = all_claims.claims
    theirs = verdicts(claims)
    return SimpleNamespace(theirs=theirs)


@pytest.fixture(scope="session")
def contrast():
    "Of two colours (WCAG 2): 1 for equal ones, 21 for black on white."

    def light(colour):
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(colour)]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    def measure(a, b):
        darker, lighter = sorted((light(a), light(b)))
        return (lighter + 0.05) / (darker + 0.05)

    return measure


@pytest.fixture(scope="session")
def fonts_of_matplotlib():
    "No fonts but matplotlib's own, as on a machine without others."

    @contextmanager
    def alone():
        own = {SANS: plots._fonts()[SANS]}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plots, "_fonts", lambda: own)
            patch.setattr(plots, "_family", cache(plots._family.__wrapped__))
            patch.setattr(plots, "_hint", cache(plots._hint.__wrapped__))
            yield

    return alone


@pytest.fixture(scope="module")
def treebank():

    folder = Path(tempfile.mkdtemp())

    def row(id, word, head="_", relation="_"):
        return f"{id}\t{word}\t{word.lower()}\tX\t_\tA=b\t{head}\t{relation}\t_\tSpaceAfter=No"  # a line of CoNLL-U

    GERMAN = [
        "# sent_id = de-1",
        "# text = Ana wohnt im Haus.",
        row(1, "Ana", 2, "nsubj"),
        row(2, "wohnt", 0, "root"),
        row("3-4", "im"),
        row(3, "in", 5, "case"),
        row(4, "dem", 5, "det"),
        row(5, "Haus", 2, "obl:lok"),
        row(6, ".", 2, "punct"),
        "",
        "# text = Er Tee, sie Kaffee.",
        row(1, "Er", 0, "root"),
        row("1.1", "trinkt"),
        row(2, "Tee", 1, "orphan"),
        row(3, ",", 4, "punct"),
        row(4, "sie", 1, "conj"),
        row(5, "Kaffee", 4, "orphan"),
        row(6, ".", 1, "punct"),
        "",
    ]

    def write(name, lines, encoding="utf-8", end="\n"):
        (folder / name).write_bytes((end.join(lines) + end).encode(encoding))
        return folder / name

    german = read_trees(write("de.conllu", GERMAN))
    return SimpleNamespace(GERMAN=GERMAN, folder=folder, german=german, row=row, write=write)
