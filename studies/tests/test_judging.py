"""How a claim is judged: pairs, p-values, margins and correlations."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu, pearsonr, wilcoxon

from studies.papers.claims import (
    differences,
    judge,
    record_rows,
)


def test_pairs_agree_in_all_columns_but_those_compared_and_seeds_are_averaged_before(toy_records, start_claim):
    toy = toy_records.toy
    start = start_claim.start
    rows = record_rows(toy)
    assert (
        differences(rows, start).round(9).tolist() == [2, 2]
        and len(differences(rows, start | dict(over=["language", "seed"]))) == 4
    )
    assert differences(rows, start | dict(better="random", than="focus")).round(9).tolist() == [-2, -2]
    assert (
        differences(rows, start | dict(better={"stage": "end"}, than={"stage": "start"}, stage=["start", "end"]))
        .round(9)
        .tolist()
        == [0.3] * 4
    )  # two languages and methods
    assert differences(rows[rows.language.eq("sw") | rows.method.eq("focus")], start).index.get_level_values(
        "language"
    ).tolist() == ["sw"]  # no pair in Amharic
    small = pd.DataFrame(
        [
            dict(table="1", setup="", method=m, language=code, task="", dataset="", metric="F1", value=v, seed=1)
            for m, vs in dict(A=(5, 6), B=(4, 7), C=(1, 2)).items()
            for code, v in zip("xy", vs)
        ]
    )

    def said(**more):
        return differences(small, dict(table=1, better="A", than="others") | more).tolist()

    assert (
        said() == [1, -1]
        and said(sides="mean") == [2.5, 1.5]
        and said(sides="worst") == [4, 4]
        and said(than="C") == [4, 4]
        and said(than="B", lower=True) == [-1, 1]
    )
    assert (
        said(better=["A", "C"], than="B") == [1, -1]
        and said(than="C", **{"as": "ratio"}) == [5, 3]
        and said(language="y") == [-1]
    )
    assert said(better={"language": "y"}, than={"language": "x"}, method=["A", "B"]) == [1, 3]


def test_p_is_that_of_all_sign_flips_by_hand_and_wilcoxon_s_where_values_are_their_own_ranks(plain_claims):
    table_of, plain = plain_claims.table_of, plain_claims.plain
    for d in ([1, -2, 3, 4, 5, 6, 7], [7, 6, 5, -4, 3, 2, 1, -8], [-1, -2, -3, -4, -5, 6], [1, 2, 3, 4, 5, 6]):
        found = judge(table_of(A=d, B=[0] * len(d)), plain)
        flips = np.array([np.mean(np.array(s) * d) for s in itertools.product((1, -1), repeat=len(d))])
        by_hand = min(1, 2 * min((flips >= np.mean(d)).mean(), (flips <= np.mean(d)).mean()))
        assert found["p"] == pytest.approx(by_hand) == pytest.approx(wilcoxon(d).pvalue) and found[
            "effect"
        ] == pytest.approx(np.mean(d))
        assert (
            found["standardised"] == pytest.approx(np.mean(d) / np.std(d, ddof=1))
            and found["agree"] == sum(v > 0 for v in d)
            and found["pairs"] == len(d)
        )
    assert judge(table_of(A=[1, 2, 3, 4, 5, 6], B=[0] * 6), plain)["verdict"] == "supported"  # 2 of 64 flips
    assert judge(table_of(A=[1, 2, 3, 4, 5], B=[0] * 5), plain)["verdict"] == "undecided"  # 2 of 32
    assert (
        judge(table_of(A=[3, 3], B=[3, 3]), plain)["verdict"] == "undecided"
        and judge(table_of(A=[9], B=[0]), plain)["verdict"] == "undecided"
    )
    assert judge(table_of(A=[1, 2], C=[1, 2]), plain)["verdict"] == "no numbers"


def test_exchanging_the_two_sides_turns_supported_into_contradicted_for_all_kinds_of_statements(plain_claims):
    table_of, plain = plain_claims.table_of, plain_claims.plain
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(12):
        values = table_of(A=rng.normal(rng.choice([0, 1, 3]), 1, 9), B=rng.normal(rng.choice([0, 1, 3]), 1, 9))
        for more in ({}, dict(lower=True), dict(language=[f"l{i}" for i in range(8)])):
            one, other = judge(values, plain | more), judge(values, plain | more | dict(better="B", than="A"))
            seen.add((one["verdict"], other["verdict"]))
            assert (
                one["p"] == pytest.approx(other["p"])
                and one["standardised"] == pytest.approx(-other["standardised"])
                and one["effect"] == pytest.approx(-other["effect"])
            )
    assert seen == {("supported", "contradicted"), ("contradicted", "supported"), ("undecided", "undecided")}


def test_a_margin_moves_what_is_tested_and_exact_statements_are_counted(plain_claims):
    table_of, plain = plain_claims.table_of, plain_claims.plain
    level = table_of(A=[1, -1, 0.5, -0.5, 0, 1, -1, 0.5], B=[0] * 8)
    assert (
        judge(level, plain)["verdict"] == "undecided"
        and judge(level, plain | dict(by=-2))["verdict"] == "supported"
        and judge(level, plain | dict(by=2))["verdict"] == "contradicted"
    )
    assert (
        judge(level, plain | dict(by=-2))["effect"] == pytest.approx(0.0625)
        and judge(level, plain | dict(by=-2))["standardised"] > 2
        and judge(level, plain | dict(by=-2))["agree"] == 8
    )

    def exact(**said):
        return judge(level, plain | said)["verdict"]

    assert (
        exact(count=4) == "supported"
        and exact(count=5) == "contradicted"
        and exact(every=True) == "contradicted"
        and exact(every=True, by=-1.5) == "supported"
    )
    assert (
        exact(between=[0, 0.1]) == exact(between=[0.06, None]) == exact(between=[None, 0.07]) == "supported"
        and exact(between=[0.07, None]) == exact(between=[-1, 0]) == "contradicted"
    )
    assert np.isnan(judge(level, plain | dict(count=4))["p"])


def test_of_two_gains_the_larger_is_found_in_pairs_and_in_groups_as_by_wilcoxon_and_by_mann_and_whitney(plain_claims):
    table_of = plain_claims.table_of
    gains = pd.concat(
        [
            table_of(A=[2, 4, 6, 8, 10, 12], B=[1, 2, 3, 4, 5, 6]).assign(setup="large"),
            table_of(A=[0] * 6, B=[0] * 6).assign(setup="small"),
        ]
    )
    paired = dict(better="A", than="B", setup="large", more_than={"setup": "small"})
    assert (
        judge(gains, paired)["verdict"] == "supported"
        and judge(gains, paired)["p"] == pytest.approx(wilcoxon([1, 2, 3, 4, 5, 6]).pvalue)
        and judge(gains, paired)["pairs"] == 6
    )
    assert (
        judge(gains, dict(better="A", than="B", setup="small", more_than={"setup": "large"}))["verdict"]
        == "contradicted"
    )
    x, y = [1, 2, 3, 5], [4, 6, 7, 8, 9]
    grouped = table_of(A=[*x, *y], B=[0] * 9)
    apart = dict(
        better="A",
        than="B",
        language=[f"l{i}" for i in range(4, 9)],
        more_than={"language": [f"l{i}" for i in range(4)]},
    )
    found = judge(grouped, apart)
    assert (
        found["p"] == pytest.approx(mannwhitneyu(x, y).pvalue)
        and found["verdict"] == "supported"
        and found["effect"] == pytest.approx(6.8 - 2.75)
        and found["pairs"] == 9
    )
    pooled = np.sqrt((np.var(x, ddof=1) * 3 + np.var(y, ddof=1) * 4) / 7)
    assert found["standardised"] == pytest.approx((6.8 - 2.75) / pooled)
    alone = judge(grouped, apart | {"more_than": {"language": ["l0"]}})  # a group of one
    assert (alone["verdict"], alone["p"], alone["pairs"]) == ("undecided", 1.0, 6)
    nested = dict(better="A", than="B", more_than=dict(better="B", than="C"))
    assert judge(table_of(A=[10, 12, 14, 16, 18, 21], B=[5] * 6, C=[4] * 6), nested)["effect"] == pytest.approx(
        np.mean([5, 7, 9, 11, 13, 16]) - 1
    )


def test_correlations_are_pearson_s_with_the_sign_that_is_claimed(plain_claims):
    table_of = plain_claims.table_of
    both = pd.concat(
        [
            table_of(A=(f1 := [9, 7, 8, 5, 4, 2, 1])),
            table_of(**{"": (share := [1, 2, 3, 5, 4, 8, 9])}).assign(table="2", metric="unknown"),
        ]
    )
    fall = dict(falls={"table": 1, "method": "A"}, **{"with": {"table": 2, "metric": "unknown"}})
    found = judge(both, fall)
    assert (
        found["effect"] == pytest.approx(pearsonr(f1, share)[0])
        and found["p"] < 0.01
        and found["verdict"] == "supported"
        and found["pairs"] == 7
    )
    orders = np.array(list(itertools.permutations(f1)))
    brute = (orders - np.mean(f1)) @ (share - np.mean(share)) / (len(f1) * np.std(f1) * np.std(share))
    assert found["p"] == pytest.approx(2 * np.mean(brute <= found["effect"] + 1e-9), rel=0.1)
    assert judge(both, {"rises" if k == "falls" else k: v for k, v in fall.items()})["verdict"] == "contradicted"
    assert (
        judge(both, fall | dict(between=[-1, -0.9]))["verdict"] == "supported"
        and judge(both, fall | dict(between=[-0.9, 0]))["verdict"] == "contradicted"
    )
