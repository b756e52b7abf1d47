# ruff: noqa: E501  (rows of tables)
"""The published tables are whole, and their averages follow from their cells but for those that are known."""

import math

import pandas as pd
import pytest

from studies.papers.printed import (
    GROUPS,
    mismatches,
    published,
    recompute_averages,
)


@pytest.fixture(scope="module")
def cell_180a49e0():
    global grouped, unks
    unks = published("unks-everywhere")
    grouped = recompute_averages(unks[unks.task.isin(["NER", "DP"]) & unks.table.str.fullmatch("3.|5.|9.")])
    mismatches(grouped)[["table", "method", "metric", "language", "printed", "mean", "note"]].round(2)


@pytest.fixture(scope="module")
def cell_3798e4cd(cell_180a49e0):
    global exchange, over_sources, plain, trees
    exchange = {
        f"MF10-{a}-{s}": f"MF10-{b}-{s}"
        for a, b in (("KMEANS", "NEURAL"), ("NEURAL", "KMEANS"))
        for s in ("RAND", "LEX")
    }
    plain = unks[
        unks.table.str.fullmatch("5.|9.") & ~unks.setup.str.contains("layer 12") & ~unks.language.str.startswith("avg")
    ]  # from one source; a row for each method but MAD-X
    trees = unks[(unks.table == "3b") & ~unks.language.str.startswith("avg")]
    over_sources = {
        how: recompute_averages(trees, cells, ["method", "language", "metric"])
        for how, cells in (("by name", plain), ("exchanged", plain.replace({"method": exchange})))
    }
    pd.DataFrame(
        {
            how: a.groupby("method", sort=False).difference.agg(lambda d: d.abs().max())
            for how, a in over_sources.items()
        }
    ).round(2).rename_axis("Table 3b and the mean of Table 9, largest difference")


@pytest.fixture(scope="module")
def cell_8dd345f9(cell_180a49e0, cell_3798e4cd):
    global f1, from_chinese, implied, japanese, targets
    targets, f1 = sum(GROUPS.values(), []), unks[unks.table == "3a"].set_index(["method", "language"]).value

    def japanese(named):  # four times the mean less the other three sources
        three = plain[plain.table.isin(["5a", "5b", "5d"])].groupby(["method", "language"], sort=False).value.sum()
        mean = f1.reindex([(named(method), target) for method, target in three.index]).to_numpy()
        return (4 * mean - three).loc[list(exchange)].unstack()[targets]

    implied = {"by name": japanese(lambda m: m), "exchanged": japanese(lambda m: exchange.get(m, m))}
    from_chinese = (
        plain[plain.table == "5b"]
        .pivot(index="method", columns="language", values="value")
        .loc[list(exchange), targets]
    )
    pd.DataFrame(
        {
            (how, what): f
            for how, i in implied.items()
            for what, f in (
                ("lowest", i.min(axis=1)),
                ("highest", i.max(axis=1)),
                ("from Chinese, mean distance", (i - from_chinese).abs().mean(axis=1)),
            )
        }
    ).round(1)


@pytest.fixture(scope="module")
def cell_a655f1e0(cell_180a49e0):
    global full, new_parameters, saved
    new_parameters = (
        unks[unks.table == "2"]
        .pivot(index="method", columns="metric", values="value")[["new parameters", "new parameters for each cluster"]]
        .fillna(0)
    )
    full = new_parameters.loc["EL-RAND", "new parameters"]
    saved = {
        f"{c} clusters{', and G' if g else ''}": 100
        * (1 - (new_parameters.loc["MFC-RAND"] @ [1, c] + g * c * 100 * 768) / full)
        for c in (1, 10)
        for g in (0, 1)
    }
    pd.Series(saved, name="saved, %").round(1).to_frame()


@pytest.fixture(scope="module")
def cell_ddb168fe():
    global over_tasks, wechsel
    wechsel = published("wechsel")
    over_tasks = recompute_averages(wechsel)
    over_tasks.groupby("table").difference.agg(["size", "min", "max"]).round(4)


@pytest.fixture(scope="module")
def cell_8a42fae9(cell_ddb168fe):
    global before
    before = wechsel[
        wechsel.table.isin(["3", "8"])
        & (wechsel.metric == "perplexity")
        & wechsel.setup.isin(["0", "", "k=10, tau=0.1"])
    ]
    before = (
        before.assign(method=before.method.str.extract(r"(\w+)", expand=False))
        .pivot(index=["method", "language"], columns="table", values="value")
        .dropna()
    )
    before.assign(ratio=before["8"] / before["3"]).round(1)


@pytest.fixture(scope="module")
def cell_72e0b0e1(cell_ddb168fe):
    global higher, probes
    probes = wechsel[(wechsel.table == "8") & (wechsel.method == "WECHSEL@0")].pivot(
        index="setup", columns=["language", "task"], values="value"
    )
    higher = probes.mul([-1 if task == "CLM" else 1 for _, task in probes.columns])
    pd.DataFrame(
        {
            "best": higher.eq(higher.max()).sum(axis=1),
            "rank of its columns, mean": higher.rank(ascending=False).mean(axis=1).round(1),
        }
    )


def test_averages_of_unks_everywhere_follow_but_for_four(cell_180a49e0):
    assert (
        grouped.groupby("language").size().to_dict() == {"avg": 31, "avg covered": 182, "avg new": 82, "avg seen": 183}
        and len(grouped) == 478
    )
    assert [
        (r.table, r.method, r.metric, r.language, r.printed, round(r.mean, 2)) for r in mismatches(grouped).itertuples()
    ] == [
        ("3a", "EL-LEX", "F1", "avg", 53.6, 53.85),
        ("3a", "MF1-LEX", "F1", "avg", 51.2, 51.89),
        ("3b", "EL-LEX", "UAS", "avg", 36.6, 37.87),
        ("3b", "MF1-LEX", "UAS", "avg", 36.8, 38.12),
    ]
    by_group = grouped[grouped.table == "3a"].pivot(index="method", columns="language", values="printed")
    assert (by_group.drop(columns="avg").mean(axis=1) - by_group["avg"]).loc[
        "EL-RAND"
    ] > 3  # the last average is over languages, not over groups
    assert (
        by_group.loc["MF1-LEX", "avg"] == by_group.loc["MF1-LEX", "avg covered"]
        and mismatches(grouped).note.ne("").all()
    )


def test_table_3_is_the_mean_of_5_and_9_with_two_rows_exchanged(cell_180a49e0, cell_3798e4cd, cell_8dd345f9):
    assert (over_sources["by name"].cells == 4).all() and len(over_sources["by name"]) == 10 * 6 * 2
    for metric in ("UAS", "LAS"):
        largest = {
            how: a[a.metric == metric].groupby("method").difference.agg(lambda d: d.abs().max())
            for how, a in over_sources.items()
        }
        assert (
            set(largest["by name"].index[largest["by name"] > 0.1]) == set(exchange)
            and largest["exchanged"].max() < 0.1
        )
        assert len(largest["by name"]) == 10 and largest["by name"][list(exchange)].min() > 0.9
    ner = unks[(unks.table == "3a") & ~unks.language.str.startswith("avg")]
    of_five = recompute_averages(ner, plain, ["method", "language", "metric"])
    whole = of_five[of_five.cells == 4]
    assert (
        set(whole.method) == {"mBERT", "MAD-X 2.0", "EL-RAND", "MF1-RAND"}
        and len(whole) == 4 * 17
        and whole.difference.abs().max() < 0.1
        and of_five.cells.dropna().ge(3).all()
    )
    mad_x_1 = (
        unks[unks.table.str.startswith("5") & (unks.method == "MAD-X") & unks.language.isin(targets)]
        .groupby("language")
        .value.mean()
    )  # which has an adapter in layer 12
    assert (mad_x_1 - f1["MAD-X"]).abs().max() < 0.1
    assert (
        implied["by name"].min(axis=None) < -30
        and implied["by name"].loc["MF10-NEURAL-RAND"].max() > 99
        and implied["exchanged"].min(axis=None) > 1
    )
    far = {how: (i - from_chinese).abs().mean(axis=1) for how, i in implied.items()}
    assert far["by name"].min() > 12 and far["exchanged"].max() < 6.5
    eight = unks[unks.table == "8"].set_index(["method", "language"]).value
    assert (
        eight["MF10-KMEANS-LEX, 100 dimensions"]
        == f1["MF10-KMEANS-LEX"][eight["MF10-KMEANS-LEX, 100 dimensions"].index]
    ).all()


def test_parameters_of_unks_everywhere(cell_a655f1e0):
    assert new_parameters.iloc[:, 0].to_dict() == {
        "EL-LEX": 7_680_000,
        "EL-RAND": 10_000 * 768,
        "MFC-LEX": 1_000_000,
        "MFC-RAND": 10_000 * 100,
    }
    assert [round(v, 1) for v in saved.values()] == [86.8, 85.8, 85.7, 75.7]


def test_the_tables_of_unks_everywhere_are_whole_but_for_one(cell_180a49e0, cell_3798e4cd, cell_8dd345f9):
    cells_of = unks.groupby("table").size().to_dict()
    assert cells_of == {
        "1": 84,
        "2": 30,
        "3a": 11 * 21,
        "3b": 10 * 9 * 2,
        "5a": 420,
        "5b": 420,
        "5c": 8 * 20 + 6,
        "5d": 420,
        "6": 5 * 17,
        "7": 40,
        "8": 34,
    } | {f"9{t}": 160 for t in "abcd"} | {"F2": 2}
    assert (
        not unks.duplicated(["table", "setup", "method", "language", "task", "dataset", "metric"]).any()
        and unks["std"].isna().all()
    )
    words = [
        "family",
        "script",
        "special tokens",
        "latent semantic concepts",
        "language clusters",
        "what is new",
        "reference",
        "longest overlapping token",
    ]
    assert (
        unks.value.isna() == (unks.metric.isin(words) | (unks.metric.eq("lexical overlap") & unks.table.eq("2")))
    ).all() and unks.note[unks.value.isna()].ne("").all()
    assert (
        unks[unks.value.notna()].query("table != 'F2' and table != '2'").value.between(0, 100).all()
        and (unks.seeds.eq(5).fillna(False) == unks.metric.isin(["F1", "UAS", "LAS"])).all()
    )
    unsure = unks[unks.note.str.contains("breaks off|below LAS")]
    assert unsure[["table", "method", "language", "metric", "value"]].values.tolist() == [
        ["5c", "MF10-KMEANS-RAND", "mi", "F1", 0.9],
        ["9d", "MF10-NEURAL-RAND", "am", "UAS", 0],
    ]
    parsed = unks[unks.task == "DP"].pivot(index=["table", "method", "language"], columns="metric", values="value")
    assert parsed.index[parsed.LAS > parsed.UAS].tolist() == [("9d", "MF10-NEURAL-RAND", "am")]
    zero = (
        over_sources["exchanged"].query("method == 'MF10-KMEANS-RAND' and language == 'am' and metric == 'UAS'").iloc[0]
    )
    assert round(zero["mean"], 1) == zero.printed == 22.6  # with the 0.0
    sixth = unks[unks.table == "6"].groupby("language", sort=False).value.sum()
    assert sixth.between(99, 101).all() and set(sixth.index) == set(targets)
    longest = unks[unks.table == "7"].pivot(index="method", columns="language", values="note").sort_index()
    assert longest.shape == (5, 8) and longest.map(len).diff().iloc[1:].le(0).all(axis=None)


def test_averages_of_wechsel_follow_from_its_tables(cell_ddb168fe):
    assert (
        over_tasks.groupby("table").size().to_dict() == {"2": 43, "10": 24}
        and over_tasks.difference.abs().max() < 0.0051
        and (over_tasks.cells == 2).all()
    )


def test_effort_parameters_and_perplexities_of_wechsel(cell_ddb168fe, cell_8a42fae9, cell_72e0b0e1):
    read = wechsel[wechsel.table == "1"].pivot(index="method", columns="metric", values="value")
    billion, factor = read["tokens trained on, billion"], read["tokens trained on, factor"]
    five = wechsel[wechsel.table == "5"].pivot(index="metric", columns="task", values="value").dropna()
    assert (
        five.NLI["batch size"] == 128
        and five.NER[five.NER != five.NLI].to_dict() == {"batch size": 32, "epochs": 10}
        and five.NLI["epochs"] == 2
    )
    settings = wechsel[wechsel.table == "6"].pivot(index="metric", columns="method", values="value")
    six = settings.RoBERTa
    assert six.to_dict() == {
        "Adam beta 1": 0.9,
        "Adam beta 2": 0.98,
        "Adam epsilon": 1e-6,
        "batch size": 512,
        "peak learning rate": 1e-4,
        "sequence length": 512,
        "train steps": 250_000,
        "weight decay": 0.01,
    }
    assert settings.GPT2[six != settings.GPT2].to_dict() == {"peak learning rate": 5e-4}
    assert (
        round(six["batch size"] * six["sequence length"] * six["train steps"] / 1e9, 1)
        == billion["WECHSEL-RoBERTa"]
        == 65.5
    )
    assert (billion / 65.536).round(1).equals(factor.rename(billion.name)) and (
        10 * factor[["CamemBERT", "GBERT_Base"]]
    ).tolist() == [64, 39]
    assert [
        round(100 * tokens * 768 / size) for tokens, size in ((50265, 125e6), (50257, 117e6), (50257, 124.44e6))
    ] == [
        31,
        33,
        31,
    ]  # the last is GPT-2 as it is published
    assert (before["8"] / before["3"]).between(96, 118).all() and len(before) == 6
    gpt2 = wechsel[wechsel.table == "3"].pivot(index=["setup", "language"], columns="method", values="value")
    lowest = gpt2.idxmin(axis=1)
    assert lowest[lowest != "WECHSEL-GPT2"].to_dict() == {("0", "sw"): "FullRand-GPT2", ("25k", "zh"): "FullRand-GPT2"}
    assert gpt2.loc[("25k", "zh")].tolist() == [69.29, 231.05, 71.02] and gpt2.loc[("0", "sw")].tolist() == [
        5.8e4,
        1.4e5,
        1.4e5,
    ]
    scarce = wechsel[wechsel.table == "4"].pivot(index="language", columns="method", values="value")
    assert (scarce.idxmin(axis=1) == "WECHSEL-GPT2").all() and scarce.index[
        scarce["TransInner-GPT2"] > scarce["FullRand-GPT2"]
    ].tolist() == ["su"]
    assert scarce["FullRand-GPT2"].to_dict() == {"gd": 19.53, "mg": 15.93, "su": 149.46, "ug": 42.82}
    chosen = higher.columns[higher.loc["k=10, tau=0.1"] == higher.max()]
    assert (
        len(higher.columns) == 9
        and set(higher.columns) - set(chosen) == {("zh", "NLI")}
        and probes["zh", "NLI"].max() == 48.3
    )
    sizes = wechsel[wechsel.table == "11"].pivot(index="method", columns="setup", values="value")[
        ["16MiB", "64MiB", "256MiB", "1024MiB"]
    ]
    assert (sizes.T.diff().iloc[1:] < 0).all(axis=None) and (
        sizes.loc["FullRand-GPT2"] / sizes.loc["WECHSEL-GPT2, original fastText embeddings"]
    ).diff().iloc[1:].lt(0).all()
    assert all(
        rows.sort_values().index.str.extract(r"(original|subsample|TransInner|FullRand)")[0].tolist()
        == ["original", "subsample", "TransInner", "FullRand"]
        for _, rows in sizes.items()
    )


def test_the_tables_of_wechsel_are_whole(cell_ddb168fe):
    assert wechsel.groupby("table").size().to_dict() == {
        "1": 12,
        "2": 129,
        "3": 36,
        "4": 12,
        "5": 20,
        "6": 16,
        "7": 40,
        "8": 60,
        "9": 24,
        "10": 72,
        "11": 16,
    }
    assert (
        not wechsel.duplicated(["table", "setup", "method", "language", "task", "dataset", "metric"]).any()
        and wechsel["std"].isna().all()
    )
    assert (
        wechsel.value.isna()
        == wechsel.metric.isin(["closest English token", "learning rate warmup schedule", "learning rate decay"])
    ).all() and wechsel.note[wechsel.value.isna()].ne("").all()
    assert (wechsel.seeds.eq(3).fillna(False) == wechsel.table.isin(["2", "10"])).all() and (
        wechsel.dataset.eq("CC100") == (wechsel.task.eq("CLM") & wechsel.language.isin(["sw", "su", "gd", "ug", "mg"]))
    ).all()
    for first, again, model in (("2", "10", "WECHSEL-RoBERTa"), ("3", "9", "WECHSEL-GPT2")):
        twice = [
            wechsel[(wechsel.table == t) & (wechsel.method == model) & (wechsel.setup != "more training")]
            .drop(columns="table")
            .reset_index(drop=True)
            for t in (first, again)
        ]
        assert twice[0].equals(twice[1]) and len(twice[0]) in (12, 36)
    four = "de fr sw zh"
    languages_of = {t: " ".join(sorted(set(codes) - {""})) for t, codes in wechsel.groupby("table").language}
    assert languages_of == dict.fromkeys(("2", "3", "7", "9", "10"), four) | {
        "1": "de fr zh",
        "4": "gd mg su ug",
        "5": "",
        "6": "",
        "8": "de fr zh",
        "11": "fr",
    }
    fine_tuned = wechsel[wechsel.table.isin(["2", "10"])].pivot(
        index=["table", "setup", "method", "language"], columns="metric", values="value"
    )
    assert len(fine_tuned) == 67 and (fine_tuned["accuracy / F1"] < fine_tuned.F1).all()
    variant = wechsel[wechsel.method.str.startswith("WECHSEL_TFR")]
    assert (variant.note.eq("printed as WECHSEL_TRF") == variant.table.eq("9")).all() and len(variant) == 12 + 36
    pairs_7 = wechsel[wechsel.table == "7"]
    assert pairs_7.groupby("language").size().to_dict() == dict.fromkeys(["fr", "de", "zh", "sw"], 10)
    assert {
        "héritage": "legacy",
        "secrétariat": "ariat",
        "mit": "with",
        "ternehmen": "irms",
        "石": "stone",
        "张某": "defendant",
        "Harusi": "Marriage",
        "aliposimama": "Slowly",
    }.items() <= dict(zip(pairs_7.method, pairs_7.note)).items()
    logs = (
        wechsel.dropna(subset="value").groupby("table").value.agg(lambda v: round(sum(map(math.log, v)), 6))
    )  # from a second reading of the text
    assert logs.to_dict() == {
        "1": 32.914971,
        "2": 555.491214,
        "3": 212.344249,
        "4": 42.50538,
        "5": -33.070911,
        "6": -4.092,
        "8": 446.901732,
        "9": 128.022053,
        "10": 315.285529,
        "11": 63.648091,
    }
