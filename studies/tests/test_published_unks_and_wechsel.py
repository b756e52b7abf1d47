"""The published tables are whole, and their averages follow from their cells but for those that are known."""

import math

from studies.papers.printed import (
    GROUPS,
    mismatches,
    published,
    recompute_averages,
)

KEYS = ["table", "setup", "method", "language", "task", "dataset", "metric"]
UNKS, WECHSEL = published("unks-everywhere"), published("wechsel")
GROUPED = recompute_averages(UNKS[UNKS.task.isin(["NER", "DP"]) & UNKS.table.str.fullmatch("3.|5.|9.")])
EXCHANGED = {
    f"MF10-{a}-{s}": f"MF10-{b}-{s}" for a, b in (("KMEANS", "NEURAL"), ("NEURAL", "KMEANS")) for s in ("RAND", "LEX")
}
SINGLE = UNKS[~UNKS.language.str.startswith("avg")]
PLAIN = SINGLE[SINGLE.table.str.fullmatch("5.|9.") & ~SINGLE.setup.str.contains("layer 12")]  # from one source
OVER_SOURCES = {
    how: recompute_averages(SINGLE[SINGLE.table == "3b"], cells, ["method", "language", "metric"])
    for how, cells in (("by name", PLAIN), ("exchanged", PLAIN.replace({"method": EXCHANGED})))
}
TARGETS, F1 = sum(GROUPS.values(), []), UNKS[UNKS.table == "3a"].set_index(["method", "language"]).value


def is_whole(rows, words):  # each number once; where a word is printed, the note has it
    assert not rows.duplicated(KEYS).any() and rows["std"].isna().all()
    assert (rows.value.isna() == words).all() and rows.note[rows.value.isna()].ne("").all()
    return rows.groupby("table").size().to_dict()


def japanese(named):  # four times the mean less the other three sources
    three = PLAIN[PLAIN.table.isin(["5a", "5b", "5d"])].groupby(["method", "language"], sort=False).value.sum()
    mean = F1.reindex([(named(method), target) for method, target in three.index]).to_numpy()
    return (4 * mean - three).loc[list(EXCHANGED)].unstack()[TARGETS]


def pivot(table, index="method", columns="metric", **where):  # of WECHSEL
    rows = WECHSEL[WECHSEL.table == table]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.pivot(index=index, columns=columns, values="value")


def test_averages_of_unks_everywhere_follow_but_for_four():
    sizes = {"avg": 31, "avg covered": 182, "avg new": 82, "avg seen": 183}
    assert GROUPED.groupby("language").size().to_dict() == sizes and len(GROUPED) == 478
    wrong = mismatches(GROUPED).itertuples()
    assert [(r.table, r.method, r.metric, r.language, r.printed, round(r.mean, 2)) for r in wrong] == [
        ("3a", "EL-LEX", "F1", "avg", 53.6, 53.85),
        ("3a", "MF1-LEX", "F1", "avg", 51.2, 51.89),
        ("3b", "EL-LEX", "UAS", "avg", 36.6, 37.87),
        ("3b", "MF1-LEX", "UAS", "avg", 36.8, 38.12),
    ]
    by_group = GROUPED[GROUPED.table == "3a"].pivot(index="method", columns="language", values="printed")
    over_groups = by_group.drop(columns="avg").mean(axis=1)
    assert (over_groups - by_group["avg"]).loc["EL-RAND"] > 3  # the last average is over languages, not over groups
    assert by_group.loc["MF1-LEX", "avg"] == by_group.loc["MF1-LEX", "avg covered"]
    assert mismatches(GROUPED).note.ne("").all()


def test_table_3_is_the_mean_of_5_and_9_with_two_rows_exchanged():
    assert (OVER_SOURCES["by name"].cells == 4).all() and len(OVER_SOURCES["by name"]) == 10 * 6 * 2
    for metric in ("UAS", "LAS"):
        by_name, exchanged = (
            averages[averages.metric == metric].groupby("method").difference.agg(lambda d: d.abs().max())
            for averages in OVER_SOURCES.values()
        )
        assert set(by_name.index[by_name > 0.1]) == set(EXCHANGED) and exchanged.max() < 0.1
        assert len(by_name) == 10 and by_name[list(EXCHANGED)].min() > 0.9
    of_five = recompute_averages(SINGLE[SINGLE.table == "3a"], PLAIN, ["method", "language", "metric"])
    whole = of_five[of_five.cells == 4]
    assert set(whole.method) == {"mBERT", "MAD-X 2.0", "EL-RAND", "MF1-RAND"} and len(whole) == 4 * 17
    assert whole.difference.abs().max() < 0.1 and of_five.cells.dropna().ge(3).all()
    first = UNKS[UNKS.table.str.startswith("5") & (UNKS.method == "MAD-X") & UNKS.language.isin(TARGETS)]
    assert (first.groupby("language").value.mean() - F1["MAD-X"]).abs().max() < 0.1  # with an adapter in layer 12
    by_name, exchanged = japanese(lambda m: m), japanese(lambda m: EXCHANGED.get(m, m))
    assert by_name.min(axis=None) < -30 and by_name.loc["MF10-NEURAL-RAND"].max() > 99
    assert exchanged.min(axis=None) > 1
    chinese = PLAIN[PLAIN.table == "5b"].pivot(index="method", columns="language", values="value")
    chinese = chinese.loc[list(EXCHANGED), TARGETS]
    assert (by_name - chinese).abs().mean(axis=1).min() > 12
    assert (exchanged - chinese).abs().mean(axis=1).max() < 6.5
    eight = UNKS[UNKS.table == "8"].set_index(["method", "language"]).value["MF10-KMEANS-LEX, 100 dimensions"]
    assert (eight == F1["MF10-KMEANS-LEX"][eight.index]).all()


def test_parameters_of_unks_everywhere():
    both = ["new parameters", "new parameters for each cluster"]
    new = UNKS[UNKS.table == "2"].pivot(index="method", columns="metric", values="value")[both].fillna(0)
    full, low = 10_000 * 768, 10_000 * 100
    assert new.iloc[:, 0].to_dict() == {"EL-LEX": full, "EL-RAND": full, "MFC-LEX": low, "MFC-RAND": low}
    sizes = [new.loc["MFC-RAND"] @ [1, c] + g * c * 100 * 768 for c in (1, 10) for g in (0, 1)]  # clusters, and G
    assert [round(100 * (1 - size / full), 1) for size in sizes] == [86.8, 85.8, 85.7, 75.7]


def test_the_tables_of_unks_everywhere_are_whole_but_for_one():
    words = ["family", "script", "special tokens", "latent semantic concepts", "language clusters", "what is new"]
    words += ["reference", "longest overlapping token"]
    are_words = UNKS.metric.isin(words) | (UNKS.metric.eq("lexical overlap") & UNKS.table.eq("2"))
    sizes = {"1": 84, "2": 30, "3a": 11 * 21, "3b": 10 * 9 * 2, "5a": 420, "5b": 420, "5c": 8 * 20 + 6, "5d": 420}
    sizes |= {"6": 5 * 17, "7": 40, "8": 34, "F2": 2} | {f"9{t}": 160 for t in "abcd"}
    assert is_whole(UNKS, are_words) == sizes
    assert UNKS[UNKS.value.notna()].query("table != 'F2' and table != '2'").value.between(0, 100).all()
    assert (UNKS.seeds.eq(5).fillna(False) == UNKS.metric.isin(["F1", "UAS", "LAS"])).all()
    unsure = UNKS[UNKS.note.str.contains("breaks off|below LAS")]
    assert unsure[["table", "method", "language", "metric", "value"]].values.tolist() == [
        ["5c", "MF10-KMEANS-RAND", "mi", "F1", 0.9],
        ["9d", "MF10-NEURAL-RAND", "am", "UAS", 0],
    ]
    parsed = UNKS[UNKS.task == "DP"].pivot(index=["table", "method", "language"], columns="metric", values="value")
    assert parsed.index[parsed.LAS > parsed.UAS].tolist() == [("9d", "MF10-NEURAL-RAND", "am")]
    exchanged = OVER_SOURCES["exchanged"]
    zero = exchanged.query("method == 'MF10-KMEANS-RAND' and language == 'am' and metric == 'UAS'").iloc[0]
    assert round(zero["mean"], 1) == zero.printed == 22.6  # with the 0.0
    sixth = UNKS[UNKS.table == "6"].groupby("language", sort=False).value.sum()
    assert sixth.between(99, 101).all() and set(sixth.index) == set(TARGETS)
    longest = UNKS[UNKS.table == "7"].pivot(index="method", columns="language", values="note").sort_index()
    assert longest.shape == (5, 8) and longest.map(len).diff().iloc[1:].le(0).all(axis=None)


def test_averages_of_wechsel_follow_from_its_tables():
    over_tasks = recompute_averages(WECHSEL)
    assert over_tasks.groupby("table").size().to_dict() == {"2": 43, "10": 24}
    assert over_tasks.difference.abs().max() < 0.0051 and (over_tasks.cells == 2).all()


def test_hyper_parameters_and_effort_of_wechsel():
    read, five, settings = pivot("1"), pivot("5", "metric", "task").dropna(), pivot("6", "metric", "method")
    billion, factor = read["tokens trained on, billion"], read["tokens trained on, factor"]
    assert five.NLI["batch size"] == 128 and five.NLI["epochs"] == 2
    assert five.NER[five.NER != five.NLI].to_dict() == {"batch size": 32, "epochs": 10}
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
    tokens = six["batch size"] * six["sequence length"] * six["train steps"] / 1e9
    assert round(tokens, 1) == billion["WECHSEL-RoBERTa"] == 65.5
    assert (billion / 65.536).round(1).equals(factor.rename(billion.name))
    assert (10 * factor[["CamemBERT", "GBERT_Base"]]).tolist() == [64, 39]
    embeddings = ((50265, 125e6), (50257, 117e6), (50257, 124.44e6))  # the last is GPT-2 as it is published
    assert [round(100 * tokens * 768 / size) for tokens, size in embeddings] == [31, 33, 31]


def test_perplexities_and_probes_of_wechsel():
    starts = WECHSEL[WECHSEL.table.isin(["3", "8"]) & (WECHSEL.metric == "perplexity")]
    starts = starts[starts.setup.isin(["0", "", "k=10, tau=0.1"])]
    starts = starts.assign(method=starts.method.str.extract(r"(\w+)", expand=False))
    starts = starts.pivot(index=["method", "language"], columns="table", values="value").dropna()
    assert (starts["8"] / starts["3"]).between(96, 118).all() and len(starts) == 6
    gpt2 = pivot("3", ["setup", "language"], "method")
    lowest = gpt2.idxmin(axis=1)
    assert lowest[lowest != "WECHSEL-GPT2"].to_dict() == {("0", "sw"): "FullRand-GPT2", ("25k", "zh"): "FullRand-GPT2"}
    assert gpt2.loc[("25k", "zh")].tolist() == [69.29, 231.05, 71.02]
    assert gpt2.loc[("0", "sw")].tolist() == [5.8e4, 1.4e5, 1.4e5]
    scarce = pivot("4", "language", "method")
    assert (scarce.idxmin(axis=1) == "WECHSEL-GPT2").all()
    assert scarce.index[scarce["TransInner-GPT2"] > scarce["FullRand-GPT2"]].tolist() == ["su"]
    assert scarce["FullRand-GPT2"].to_dict() == {"gd": 19.53, "mg": 15.93, "su": 149.46, "ug": 42.82}
    probes = pivot("8", "setup", ["language", "task"], method="WECHSEL@0")
    higher = probes.mul([-1 if task == "CLM" else 1 for _, task in probes.columns])
    chosen = higher.columns[higher.loc["k=10, tau=0.1"] == higher.max()]
    assert len(higher.columns) == 9 and set(higher.columns) - set(chosen) == {("zh", "NLI")}
    assert probes["zh", "NLI"].max() == 48.3
    sizes = pivot("11", "method", "setup")[["16MiB", "64MiB", "256MiB", "1024MiB"]]
    factors = sizes.loc["FullRand-GPT2"] / sizes.loc["WECHSEL-GPT2, original fastText embeddings"]
    assert (sizes.T.diff().iloc[1:] < 0).all(axis=None) and factors.diff().iloc[1:].lt(0).all()
    order = ["original", "subsample", "TransInner", "FullRand"]
    for _, rows in sizes.items():
        assert rows.sort_values().index.str.extract(f"({'|'.join(order)})")[0].tolist() == order


def test_the_tables_of_wechsel_are_whole():
    words = ["closest English token", "learning rate warmup schedule", "learning rate decay"]
    sizes = {"1": 12, "2": 129, "3": 36, "4": 12, "5": 20, "6": 16, "7": 40, "8": 60, "9": 24, "10": 72, "11": 16}
    assert is_whole(WECHSEL, WECHSEL.metric.isin(words)) == sizes
    assert (WECHSEL.seeds.eq(3).fillna(False) == WECHSEL.table.isin(["2", "10"])).all()
    in_cc100 = WECHSEL.task.eq("CLM") & WECHSEL.language.isin(["sw", "su", "gd", "ug", "mg"])
    assert (WECHSEL.dataset.eq("CC100") == in_cc100).all()
    for first, again, model in (("2", "10", "WECHSEL-RoBERTa"), ("3", "9", "WECHSEL-GPT2")):
        twice = [
            WECHSEL[(WECHSEL.table == t) & (WECHSEL.method == model) & (WECHSEL.setup != "more training")]
            .drop(columns="table")
            .reset_index(drop=True)
            for t in (first, again)
        ]
        assert twice[0].equals(twice[1]) and len(twice[0]) in (12, 36)
    found = {t: " ".join(sorted(set(codes) - {""})) for t, codes in WECHSEL.groupby("table").language}
    of_few = {"1": "de fr zh", "4": "gd mg su ug", "5": "", "6": "", "8": "de fr zh", "11": "fr"}
    assert found == dict.fromkeys(("2", "3", "7", "9", "10"), "de fr sw zh") | of_few
    fine_tuned = WECHSEL[WECHSEL.table.isin(["2", "10"])].pivot(
        index=["table", "setup", "method", "language"], columns="metric", values="value"
    )
    assert len(fine_tuned) == 67 and (fine_tuned["accuracy / F1"] < fine_tuned.F1).all()
    variant = WECHSEL[WECHSEL.method.str.startswith("WECHSEL_TFR")]
    assert (variant.note.eq("printed as WECHSEL_TRF") == variant.table.eq("9")).all() and len(variant) == 12 + 36
    pairs_7 = WECHSEL[WECHSEL.table == "7"]
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
        WECHSEL.dropna(subset="value").groupby("table").value.agg(lambda v: round(sum(map(math.log, v)), 6))
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
