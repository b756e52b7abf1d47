"""The page on what did not help prints the numbers of its records, and says what they say."""

import re
from pathlib import Path

import pandas as pd
import pytest

from vocab_lit.text.corpus import data_path

PAGE = Path(__file__).parents[2] / "book/without-gain.md"


@pytest.fixture
def kept():
    return pd.read_csv(data_path("real-trial", "kept.csv")).set_index("way")


def printed() -> dict[str, list[float]]:
    "The numbers of the page's rows, by the name of a row."
    lines = PAGE.read_text("utf-8").replace(",", "").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: [*map(float, cells)] for name, *cells in rows if cells and cells[0][:1].isdigit()}


def test_each_way_stands_on_the_page_with_its_numbers(kept):
    for way, row in kept.drop(columns=["instructions", "command"]).iterrows():
        assert printed()[way.replace(",", "")] == [*row[:-1], round(row.cpu_seconds)]


def test_the_page_says_of_ways_that_keep_what_the_record_says(kept):
    before, after = kept.loc["as it comes"], kept.loc["all weights"]
    average = kept.loc["half source, half all weights"]
    learnt, english = "sw bits per byte", "en bits per byte"
    assert 0.02 < after[english] - before[english] < 0.06 and after.ended < before.ended / 2 and after.obeyed == 1
    replay = kept.loc["replay of English"]
    assert round(replay[learnt] - after[learnt], 2) == 0.02 and replay.ended == before.ended
    assert 4 * replay.obeyed == 3 * before.obeyed and average.obeyed == replay.obeyed
    assert round(average[learnt] - after[learnt], 1) == 0.1 and round(average.cpu_seconds) == 7
    shield = kept.loc["shielded columns"]
    assert abs(shield[english] - before[english]) < 0.005 and 3 * shield.obeyed == 2 * before.obeyed
    assert round(shield[learnt] - after[learnt], 2) == 0.08 and shield.cpu_seconds > 1.5 * after.cpu_seconds
    trained, lora = kept.drop("as it comes"), kept.loc["LoRA"]
    slow = kept.loc["all weights, a third of the rate"]
    assert slow.obeyed == trained.obeyed.max() and slow[learnt] == trained[learnt].max()
    assert lora[english] == kept[english].max() and abs(lora[learnt] - shield[learnt]) < 0.01


def test_each_plan_that_learnt_stands_on_the_page_with_its_bits():
    trial = pd.read_csv(data_path("real-trial", "learned-plan.csv"))
    bits = trial[trial.metric == "bits per byte"].sort_values("step").groupby("setting").value
    for setting, (start, half, end) in bits.agg(list).items():
        assert printed()[setting][2:5] == [round(start, 3), round(half, 3), round(end, 3)]


def test_the_speedrun_and_the_pass_over_the_text_say_what_the_page_does():
    records = pd.read_csv(data_path("speedrun-line-ends.csv")).query("minutes == 8 and precision == 'bf16'")
    runs = records.set_index("recipe").score.sort_values()
    assert list(runs.index[-2:]) == ["alm-lm", "plan"] and len(runs) == 8
    found = pd.read_csv(data_path("real-trial", "one-pass.csv")).query(
        "setting == 'continued-2000-alm' and language == 'sw'"
    )
    taught = found[found.metric == "bits per byte"].sort_values("step").value
    told = (runs["plan"], runs["alm-lm"], runs["extend-500"], taught.iloc[0], taught.iloc[-1])
    text = re.sub(r"\s+", " ", PAGE.read_text("utf-8"))
    assert all(f"{value:.2f}" in text for value in told)


def test_rates_of_token_embeddings_stand_there_with_their_bits():
    rates = pd.read_csv(data_path("real-trial", "embedding-rates.csv")).set_index("way")
    swahili, english = rates["sw bits per byte"], rates["en bits per byte"]
    for way in rates.index:
        assert printed()[way.replace(",", "")] == [round(swahili[way], 3), round(english[way], 3)]
    assert swahili.idxmin() == english.idxmin() and 0 < swahili["3e-4, all weights"] - swahili.min() < 0.03
