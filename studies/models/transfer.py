"""What a source model of real text transfers: parts of speech, learnt in one language and scored in others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tqdm.auto import tqdm

from studies.models.bundled import fetch_field_model, is_trained, load_source_model, train_source_model
from studies.models.cards import model_card
from studies.models.recipes import FIELD_RECIPES, RECIPES
from vocab_lit.tasks.settings import SPLITS
from vocab_lit.tasks.tagging import TaggingConfig
from vocab_lit.tasks.task import NO_EARLY_STOP
from vocab_lit.text.corpus import data_path, write_json

if TYPE_CHECKING:
    import pandas as pd


POS_CONFIG = TaggingConfig(
    learning_rate=5e-4,
    batch_size=32,
    epochs=4,
    eval_every=1,
    patience=NO_EARLY_STOP,
    max_length=128,
    schedule="linear",
    warmup_steps=0.1,
)


def check_treebanks(folder: str | Path, train: str = "en") -> None:
    "`ValueError` where a treebank of the tagger's language is missing."
    for split in SPLITS:
        if not (Path(folder) / f"{train}.{split}.conllu").is_file():
            raise ValueError(f"no {train}.{split}.conllu in {folder}, which zero-shot tagging needs")


def zero_shot_pos(
    name: str | Path,  # as in `load_source_model`
    treebanks: str | Path,  # folder with CODE.train.conllu, CODE.dev.conllu and CODE.test.conllu
    train: str = "en",  # language of the tagger
    seeds: tuple = (0, 1, 2),
    n_train: int = 4000,  # sentences to train on, at most
    n_test: int = 500,  # sentences of each language to test on, at most
    random_weights: bool = False,  # whether the model is randomly initialised first
    config: TaggingConfig = POS_CONFIG,
) -> pd.DataFrame:  # a row per seed; accuracy, 0 to 1, in a column for each language with a test treebank
    "Fine-tune a tagger on one language and test it on others."
    import pandas as pd

    from vocab_lit.tasks.finetune import evaluate, fine_tune
    from vocab_lit.tasks.tagging import read_conllu

    check_treebanks(treebanks, train)
    model, tokenizer = load_source_model(name)
    if random_weights:
        model = _randomly_initialised(model)

    def sentences(code, part, n):
        return read_conllu(Path(treebanks) / f"{code}.{part}.conllu")[:n]

    split = sentences(train, "train", n_train), sentences(train, "dev", n_test)
    codes = [file.name.split(".")[0] for file in sorted(Path(treebanks).glob("*.test.conllu"))]
    tests = {code: sentences(code, "test", n_test) for code in codes}
    rows = []
    for seed in tqdm(seeds, desc=f"zero-shot POS of {Path(name).name}"):
        tagger = fine_tune(model, tokenizer, *split, tests[train], "pos", seed, config).model
        accuracy = {code: evaluate(tagger, tokenizer, test, "pos", config)["accuracy"] for code, test in tests.items()}
        rows.append({"train": train, "seed": seed, **accuracy})
    return pd.DataFrame(rows)


def _randomly_initialised(model):
    "A model of the same shape with random weights of seed 0."
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return type(model)(model.config)


_TRANSFER = """
Accuracy of part-of-speech tagging, in percent: a tagger is fine-tuned on {train} and tags the other languages as it is
({seeds} seeds, mean and standard deviation; `zero_shot.json`).

{table}
"""


def transfer_section(
    found: pd.DataFrame,  # from `zero_shot_pos`, with a column model
) -> str:  # Markdown
    "The part of a model card about zero-shot transfer."
    scores = found.drop(columns=["seed", "train"]).groupby("model", sort=False)
    mean, spread = 100 * scores.mean(), 100 * scores.std(ddof=1)
    lines = ["| language | " + " | ".join(mean.index) + " |", "|---" * (1 + len(mean)) + "|"]
    for code in mean.columns:
        cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(mean[code], spread[code])]
        lines.append(f"| {code} | " + " | ".join(cells) + " |")
    return _TRANSFER.format(train=found.train.iloc[0], seeds=found.seed.nunique(), table="\n".join(lines))


def measure_transfer(
    folder: str | Path,  # with a model and its heldout.json
    treebanks: str | Path,
    **options,  # as in `zero_shot_pos`
) -> pd.DataFrame:  # columns model, train, seed and languages
    "Measure zero-shot transfer beside two baselines; write `zero_shot.json` and add a section to the model card."
    import pandas as pd

    folder = Path(folder)
    compared = (
        (folder.resolve().name, folder, False),
        ("random weights", folder, True),
        ("mini-xlmr (bundled)", "mini-xlmr", False),
    )
    parts = [
        zero_shot_pos(name, treebanks, random_weights=random_weights, **options).assign(model=label)
        for label, name, random_weights in compared
    ]
    scores = pd.concat(parts, ignore_index=True)
    write_json(scores.to_dict("records"), folder / "zero_shot.json")
    record = json.loads((folder / "heldout.json").read_text(encoding="utf-8"))
    (folder / "README.md").write_text(model_card(record) + transfer_section(scores), encoding="utf-8")
    return scores


def make_model(
    name: str,
    out: str,  # folder; empty: the model's name
    text: str,  # folder of text that field-xlmr needs
    treebanks: str,  # folder; empty: no transfer is measured
    fetch: bool,  # take field-xlmr's weights from the history of the repository
    changed: dict[str, int],  # values of the recipe that differ
    **options,  # of `train_source_model`
) -> None:
    "Train or fetch a bundled model, and measure its transfer if there are treebanks; `ValueError` says what is wrong."
    if fetch:
        print(fetch_field_model(Path(out or data_path("models", "field-xlmr"))))
        return
    recipes, folder = {**RECIPES, **FIELD_RECIPES}, Path(out or name)
    if name not in recipes:
        raise ValueError(f"no model {name!r}; choose from {', '.join(recipes)}")
    if treebanks:
        check_treebanks(treebanks)
    if not (treebanks and is_trained(folder)):
        if (name in FIELD_RECIPES) != bool(text):
            raise ValueError("--text FOLDER goes with field-xlmr")
        print(train_source_model(folder, replace(recipes[name], **changed), text=text or None, **options))
    if treebanks:
        accuracy = measure_transfer(folder, treebanks).drop(columns=["train", "seed"])
        print(accuracy.groupby("model", sort=False).mean())
