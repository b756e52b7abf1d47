"""Figures of chapters: marks at their numbers, names that cover nothing, descriptions that say what is drawn."""

import itertools
import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from studies.figures.charts import (
    _brief,
    _short,
    _spread,
    before_and_after,
    correlations,
    curve_points,
    growth_curves,
    heat_map,
    loss_curves,
    score_curves,
    score_dots,
    score_flops,
    size_curves,
)
from studies.figures.embeddings import _plane, alignment_map, group_map, show_mixture
from studies.figures.labels import label
from studies.figures.style import INK, PALETTE, plt
from studies.papers.printed import published

RNG = np.random.default_rng(0)


def rows(**levels):
    "Return a row for each combination of levels; the last one is a function of the others."
    *_, (value, make) = levels.items()
    keys = [name for name in levels if name != value]
    cells = itertools.product(*(levels[key] for key in keys))
    return pd.DataFrame([dict(zip(keys, cell)) | {value: make(*cell)} for cell in cells])


def texts(artists):
    return [artist.get_text() for artist in artists]


def boxes(ax):  # of texts, without their arrows
    found = [Text.get_window_extent(t) for t in ax.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2))
    return found


CURVES = rows(
    method=("random", "symbolic overlap", "focus"),
    language=("sw", "am"),
    seed=range(3),
    step=range(0, 401, 50),
    value=lambda m, _, s, t: 3 + (len(m) - 3) * np.exp(-t / 120) + RNG.normal(0, 0.08),
)
PRINTED = published("embedding-structure", 1)
DOTS = PRINTED[PRINTED.language.isin(["hy", "myv", "et", "te"])]
ENDS = {"hy": (92, 0.5), "myv": (79, 5), "et": (94, 0.2), "te": (88.5, 1), "he": (94.5, 0.1), "sw": (94.2, -1)}
COSTS = rows(
    task=("POS", "NER"),
    language=ENDS,
    vocabulary=("reduced", "full"),
    seed=range(3),
    value=lambda t, line, v, s: ENDS[line][0] + 3 * (t == "NER") + (v == "full") * ENDS[line][1] + RNG.normal(0, 0.3),
)
COSTS["flops"] = [
    {"reduced": 2e17, "full": 5e17}[v] * (1 + 0.05 * list(ENDS).index(line))
    for line, v in zip(COSTS.language, COSTS.vocabulary)
]
KINDS = {"en": "high resource", "ar": "high resource", "sw": "low resource", "qu": "not seen", "gn": "not seen"}
GRIDS = {
    n: published("mad-x", f"F{n}").pivot(index="setup", columns="language", values="value").loc[[*KINDS], [*KINDS]]
    for n in (7, 9)
}
SEARCH = published("wechsel", 8).query("method == 'WECHSEL@0' and metric == 'perplexity'")
SEARCH = SEARCH.join(SEARCH.setup.str.extract(r"k=(?P<k>\d+), tau=(?P<tau>.+)").astype({"k": int}))
BY_K_AND_TAU = {
    name: SEARCH[SEARCH.language == line].pivot(index="k", columns="tau", values="value")
    for line, name in (("fr", "Français"), ("zh", "中文"))
}
GROWN = rows(
    language=("sw", "am"),
    step=(0, 15, 30, 60, 120),
    seed=range(3),
    value=lambda line, t, s: {"sw": 25.0, "am": 12.0}[line] * (1 - np.exp(-t / 40)) + 20 + 2 * (s - 1),
)
EXPLAINED = pd.DataFrame(dict(language=["fi", "uk", "am", "km", "sw"], value=[60.0, 45, 8, 5, 50])).assign(
    unknown=[0.0, 2, 86, 79, 1], shared=[40.0, 30, 13, 19, 45]
)
SCRIPTS = {code: "new script" if code in ("am", "km") else "known script" for code in EXPLAINED.language}
PRICES = rows(
    panel=("rows", "pairs"),
    side=("ours", "theirs"),
    size=(1000, 2000, 4000, 8000),
    value=lambda p, side, n: {"ours": 1e-4, "theirs": 4e-4}[side] * n ** {"rows": 1.0, "pairs": 2.0}[p],
)
ANCHORS, WEIGHTS = ["ጤና", "እንኳን", "ደህና", "water", "2019"], np.array([0.5, 0.3, 0.2, 0, 0])
STATIC = RNG.normal(size=(6, 20)) + np.array([[2]] * 4 + [[-2]] * 2) * RNG.normal(size=20)
ENGLISH_WORDS, AMHARIC_WORDS = "water house child book today day road hello", "ውሃ ቤት ልጅ መጽሐፍ ዛሬ ቀን መንገድ ሰላም"
PAIRS = list(zip(ENGLISH_WORDS.split(), AMHARIC_WORDS.split()))
MEANINGS = RNG.normal(size=(8, 3)) @ RNG.normal(size=(3, 30)) + RNG.normal(0, 0.3, (8, 30))
TURN = np.linalg.qr(RNG.normal(size=(30, 30)))[0]
ENGLISH, AMHARIC = MEANINGS @ TURN.T, MEANINGS + RNG.normal(0, 0.4, (8, 30))


def test_dots_stand_at_the_means_bars_at_one_deviation_and_the_line_at_the_baseline():
    figure = score_dots(DOTS)
    methods = ["FOCUS+IDENT", "SCRIPT+POSN+IDENT", "SCRIPT+IDENT", "SCRIPT+POSN", "SCRIPT", "IDENT", "RANDOM"]
    assert texts(figure.axes[0].get_yticklabels()) == ["full vocabulary", *methods]
    assert [a.get_title() for a in figure.axes] == ["hy", "myv", "et", "te"]
    erzya = figure.axes[1]
    full, emb, line = erzya.containers[0], erzya.containers[1], erzya.lines[-1]
    assert full.lines[0].get_xdata().tolist() == [85.1, 76.1, 79.0, 70.8, 74.6, 71.5, 59.1, 53.3]
    assert set(line.get_xdata()) == {56.3}
    assert np.allclose(full.lines[0].get_ydata(), np.arange(8) - 0.15)
    assert np.allclose(emb.lines[0].get_ydata(), np.arange(1, 8) + 0.15)
    assert np.allclose(full.lines[2][0].get_segments()[0][:, 0], [85.1 - 1.8, 85.1 + 1.8])
    seeds = rows(method=["focus"], setup=["FULL"], language=["sw"], seed=range(3), value=lambda *cell: cell[-1] + 1.0)
    bar = score_dots(seeds).axes[0].containers[0]
    assert bar.lines[0].get_xdata()[0] == 2 and np.allclose(bar.lines[2][0].get_segments()[0][:, 0], [1, 3])


def test_names_at_the_line_ends_keep_their_order_and_distance_and_move_as_little_as_they_must():
    rough = np.array([3.0, 1.0, 1.1, 1.05, 9.0])
    spread = _spread(rough, 0.5, 0, 10)
    assert (np.argsort(spread) == np.argsort(rough)).all() and np.diff(np.sort(spread)).min() >= 0.5 - 1e-9
    assert spread[0] == 3 and spread[4] == 9
    assert spread[[1, 3, 2]].mean() == pytest.approx(1.05)  # a crowd spreads around its middle
    assert np.allclose(_spread([9, 10, 10], 1, 0, 10), [8, 9, 10])
    assert np.allclose(_spread([1, 1, 1], 9, 0, 4), [0, 2, 4])
    figure = score_flops(COSTS)
    figure.draw_without_rendering()
    assert [len(boxes(ax)) for ax in figure.axes[:2]] == [6, 6]
    means = COSTS.groupby(["task", "language", "vocabulary"])[["flops", "value"]].mean()
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == 2)
    assert np.allclose(line.get_xdata(), [2e17, 5e17])
    assert np.allclose(line.get_ydata(), means.loc[("POS", "hy")].loc[["reduced", "full"]].value)


def test_a_logarithmic_scale_gives_equal_factors_equal_steps_and_large_numbers_are_short():
    figure = heat_map(BY_K_AND_TAU, log=True, xlabel="temperature", ylabel="neighbours")
    first, second = figure.axes[:2]
    assert texts(first.texts) == ["2.5e5", "2.0e5", "4.8e5", "3.1e6", "1.8e7"] and len(second.texts) == 5
    assert texts(first.get_yticklabels()) == ["1", "10", "50"] and texts(first.get_xticklabels()) == ["0.1", "1"]
    assert {i.get_clim() for a in figure.axes for i in a.images} == {(2e5, 8.6e7)}
    assert figure.get_supxlabel() == "temperature"
    figure.draw_without_rendering()
    ticks = [t for t in figure.axes[-1].get_yticklabels() if 2e5 <= t.get_position()[1] <= 8.6e7]
    assert texts(ticks) == ["1e6", "1e7"]
    middle = (2e5 * 8.6e7) ** 0.5
    assert np.allclose(first.images[0].norm([2e5, middle, 8.6e7]), [0, 0.5, 1])
    assert not np.allclose(heat_map(BY_K_AND_TAU).axes[0].images[0].norm(middle), 0.5)
    shown = {-12.34: "-12.3", 999.94: "999.9", 1234.5: "1234", 12345: "1.2e4", 1e12: "1.0e12", 0: "0.0"}
    assert {value: _brief(value, 1) for value in shown} == shown
    with pytest.raises(ValueError, match="numbers above 0, and the lowest is -2"):
        heat_map({"": pd.DataFrame([[-2.0, 3.0]])}, log=True)


def test_cells_have_readable_numbers_on_one_scale_that_of_differences_around_zero_and_lines_between_kinds(contrast):
    apart = GRIDS[9] - GRIDS[7]
    for figure, shown, centre in (
        (heat_map({"a": GRIDS[7], "b": GRIDS[9]}, kinds=KINDS), [GRIDS[7], GRIDS[9]], None),
        (heat_map({"d": apart}, difference=True, kinds=KINDS), [apart], 0),
    ):
        scales = {image.get_clim() for ax in figure.axes for image in ax.images}
        assert len(scales) == 1 and (centre is None or sum(next(iter(scales))) == centre)
        for ax, grid in zip(figure.axes, shown):
            assert texts(ax.texts) == [f"{v:.1f}" for v in grid.to_numpy().ravel()]
            colours = ax.images[0].to_rgba(grid.to_numpy())
            assert all(contrast(t.get_color(), c[:3]) > 4.5 for t, c in zip(ax.texts, colours.reshape(-1, 4)))
            assert [line.get_xdata()[0] for line in ax.lines[:2]] == [1.5, 2.5]
            assert [line.get_ydata()[0] for line in ax.lines[2:]] == [1.5, 2.5]
            assert texts(ax.get_xticklabels()) == list(KINDS) == texts(ax.get_yticklabels())
    holes = GRIDS[7].copy()
    holes.iloc[0, 1] = np.nan
    assert len(heat_map({"": holes}).axes[0].texts) == 24 and not heat_map({"": holes}).axes[0].lines
    names = [f"a method with a name {i}" for i in range(12)]
    thin = heat_map({"loss at initialisation": pd.DataFrame({"te": range(12)}, names)})
    thin.draw_without_rendering()
    assert thin.axes[0].get_window_extent().width > 50  # pixels


def test_curves_go_through_the_means_and_the_band_is_one_deviation():
    ax = score_curves(GROWN).axes[0]
    means = GROWN.groupby(["language", "step"], sort=False).value.mean()
    for language, line in zip(("sw", "am"), ax.lines):
        assert np.allclose(line.get_ydata(), means[language]) and np.allclose(line.get_xdata(), [0, 15, 30, 60, 120])
    band = ax.collections[0].get_paths()[0].vertices
    assert np.isclose(band[:, 1].max(), means["sw"].max() + 2)  # values 2 apart have a deviation of 2


def test_points_lie_at_their_numbers_and_the_correlation_is_pearson_s():
    fig = correlations(EXPLAINED, {"unknown": "u", "shared": "s"}, SCRIPTS)
    for ax, column in zip(fig.axes, ("unknown", "shared")):
        drawn = np.concatenate([c.get_offsets() for c in ax.collections])
        assert {tuple(p) for p in drawn} == set(zip(EXPLAINED[column], EXPLAINED.value))
        x, y = EXPLAINED[column] - EXPLAINED[column].mean(), EXPLAINED.value - EXPLAINED.value.mean()
        assert ax.get_title() == f"r = {(x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()):.2f}"
    near = pd.DataFrame({"language": [f"language {i}" for i in range(6)]})
    near = near.assign(value=np.linspace(5, 5.5, 6), unknown=np.linspace(80, 81, 6))
    close = correlations(pd.concat([EXPLAINED, near]), {"unknown": "u"})
    close.draw_without_rendering()
    assert len(boxes(close.axes[0])) == 11
    assert correlations(EXPLAINED.assign(unknown=1.0), {"unknown": "u"}).axes[0].get_title() == "r is not defined"


def test_curves_of_growth_go_through_the_points_and_slopes_are_in_the_legend():
    for ax, power in zip(growth_curves(PRICES).axes, (1, 2)):
        assert texts(ax.get_legend().get_texts()) == [f"ours {power}.0", f"theirs {power}.0"]
        assert ax.get_xscale() == ax.get_yscale() == "log"
        assert np.allclose(ax.lines[1].get_ydata(), 4e-4 * ax.lines[1].get_xdata() ** power)
        assert texts(ax.get_xticklabels()) == ["1k", "2k", "4k", "8k"]


def test_bars_are_medians_and_their_sides_are_named_once():
    sides = ["before", "after"]
    runs = rows(panel=["MB", "s"], case=["a, b", "c"], side=sides, n=range(3), value=lambda *cell: cell[-1] ** 2)
    figure = before_and_after(runs)
    assert [bar.get_width() for ax in figure.axes for bar in ax.patches] == [1] * 8
    assert texts(figure.legends[0].get_texts()) == sides
    assert texts(figure.axes[0].get_yticklabels()) == ["a,\nb", "c"]


FIGURES = {
    "curves": lambda path: loss_curves(CURVES, {"am": "አማርኛ", "sw": "Kiswahili"}, path=path),
    "mixture": lambda path: show_mixture("ሰላም", ANCHORS, WEIGHTS, STATIC, RNG.normal(size=(5, 20)), path),
    "alignment": lambda path: alignment_map(ENGLISH, AMHARIC, ENGLISH @ TURN, PAIRS, ("English", "Amharic"), path),
    "dots": lambda path: score_dots(DOTS, names={"hy": "Հայերեն", "myv": "Эрзянь", "te": "తెలుగు"}, path=path),
    "flops": lambda path: score_flops(COSTS, {"hy": "Հայերեն", "te": "తెలుగు", "he": "עברית"}, path=path),
    "heat": lambda path: heat_map({"XLM-R": GRIDS[7], "XLM-R MLM-TRG": GRIDS[9]}, kinds=KINDS, path=path),
    "grid": lambda path: heat_map(BY_K_AND_TAU, log=True, xlabel="temperature", ylabel="neighbours", path=path),
    "grown": lambda path: score_curves(GROWN, {"am": "አማርኛ", "sw": "Kiswahili"}, path=path),
    "explained": lambda path: correlations(
        EXPLAINED, {"unknown": "unknown tokens, %", "shared": "shared tokens, %"}, SCRIPTS, {"am": "አማርኛ"}, path=path
    ),
    "growth": lambda path: growth_curves(PRICES, path=path),
}


def test_figures_keep_their_numbers_beside_them(tmp_path):
    for name, draw in FIGURES.items():
        draw(tmp_path / f"{name}.png")
    assert {p.name for p in tmp_path.iterdir()} == {f"{name}.{end}" for name in FIGURES for end in ("csv", "png")}
    kept = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in FIGURES}
    assert kept["dots"]["mean"].tolist() == DOTS.value.tolist() and len(kept["flops"]) == 2 * 6 * 2
    assert list(kept["curves"]) == list(CURVES) and kept["mixture"].token.tolist() == ["ሰላም", *ANCHORS]
    there = kept["heat"].query("panel == 'XLM-R' and source == 'en' and target == 'qu'")
    assert there.value.item() == GRIDS[7].loc["en", "qu"]
    assert not plt.get_fignums()


def test_every_figure_says_what_it_shows_with_the_numbers():
    two = rows(language=("sw", "am"), step=(0, 1, 3), value=lambda line, t: 8 / (t + 1))
    losses = rows(
        method="ab", language=("sw", "am"), step=(0, 1, 3), value=lambda m, line, t: {"a": 8.0, "b": 6.0}[m] / (t + 1)
    )
    one_dot = pd.DataFrame(dict(method=["a", "a"], setup=["full", "off-the-shelf"], language="sw", value=[3.0, 1.0]))
    r = np.corrcoef(EXPLAINED.unknown, EXPLAINED.value)[0, 1]
    said = {
        "Curves, score over steps from 0 to 3. At the end: sw 2, am 2.": score_curves(two, ylabel="score"),
        "Two maps of 2 translation pairs of source and target, joined by lines. before the rotation: mean cosine "
        "1.00; after the rotation: mean cosine 1.00.": alignment_map(*[np.eye(2)] * 3, [("a", "b"), ("c", "d")]),
        "Dots, accuracy by method (a), a panel for each of sw: full 3, off-the-shelf 1.": score_dots(one_dot),
        "Heat map, 2 by 3 cells, source language in rows and target language in columns, the numbers in the cells: "
        "d 1 to 5.": heat_map({"d": pd.DataFrame([[1.0, 2, 3], [4, 5, np.nan]])}),
        f"Points, F1 of 5 languages (5 to 60) over other numbers of theirs. unknown, %: r = {r:.2f}.": correlations(
            EXPLAINED, {"unknown": "unknown, %"}
        ),
        "Curves, CPU seconds by size, both logarithmic, with the slope of each: rows: ours 1.0, theirs 1.0; pairs: "
        "ours 2.0, theirs 2.0.": growth_curves(PRICES),
        "Curves, held-out loss (nats) over steps 0 to 3, a panel for each of sw, Amharic. At the beginning: a 8, b 6; "
        "at the end: a 2, b 1.5.": loss_curves(losses, names={"am": "Amharic"}),
        "Curves, held-out loss (nats) over steps 0 to 3. At the beginning: a 8, b 6; at the end: a 2, b 1.5.": (
            loss_curves(losses.drop(columns="language"))
        ),
    }
    assert {figure.alt for figure in said.values()} == set(said)
    mixed = show_mixture("ሰላም", ANCHORS, WEIGHTS, STATIC, np.ones((5, 20))).alt
    assert mixed.endswith("at the weighted mean of ጤና 0.50, እንኳን 0.30, ደህና 0.20.")
    costs = score_flops(COSTS.assign(flops=2e17, value=90.0)).alt
    assert costs.endswith("Operations: reduced 2e+17, full 2e+17; score: reduced 90, full 90.")


def test_the_names_of_tokens_cover_neither_points_nor_each_other_also_where_tokens_lie_close_with_fonts_and_without(
    fonts_of_matplotlib,
):
    static = np.ones((6, 20)) + np.eye(6, 20) * 0.01
    embeddings = np.ones((5, 20)) + np.eye(5, 20) * [[1], [1], [1], [30], [30]]
    in_ethiopic = ["ሰላም", "ጤና 0.50", "እንኳን 0.30", "ደህና 0.20", "water", "2019"]
    in_latin = ["salaame", "theenaa 0.50", "enekwaane 0.30", "dahenaa 0.20", "water", "2019"]
    for fonts, names in ((nullcontext(), in_ethiopic), (fonts_of_matplotlib(), in_latin)):
        with fonts, warnings.catch_warnings():
            warnings.filterwarnings("error", message="Glyph .* missing")
            warnings.filterwarnings("ignore", message="no font here")
            close = show_mixture("ሰላም", ANCHORS, WEIGHTS, static, embeddings)
            close.draw_without_rendering()
        alone = [name.split()[0] for name in names]
        for ax, shown in zip(close.axes, (alone, names)):  # weights stand beside the model's embeddings
            points = ax.transData.transform(np.vstack([c.get_offsets() for c in ax.collections]))
            assert texts(ax.texts) == shown and len(points) == 6
            assert not any(b.contains(*p) for b in boxes(ax) for p in points)


def test_both_panels_lie_in_one_plane_pairs_are_joined_and_the_rotation_brings_them_together():
    figure = alignment_map(ENGLISH, AMHARIC, ENGLISH @ TURN, PAIRS)
    figure.draw_without_rendering()
    drawn, words = figure.data, [w for side in zip(*PAIRS) for w in side]
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (ENGLISH, AMHARIC, ENGLISH @ TURN)]
    stacked = np.vstack(units[1:])
    basis = np.linalg.eigh(np.cov(stacked.T))[1][:, :-3:-1]  # the two directions of largest variance
    for ax, when, vectors in zip(figure.axes, ("before the rotation", "after the rotation"), (units[0], units[2])):
        part = drawn[drawn.panel == when]
        places = part[["x", "y"]].to_numpy()
        assert part.word.tolist() == words and part.language.tolist() == ["source"] * 8 + ["target"] * 8
        expected = (np.vstack([vectors, units[1]]) - stacked.mean(0)) @ basis
        assert np.allclose(np.abs(places), np.abs(expected), atol=1e-6)
        assert np.allclose([line.get_xydata() for line in ax.lines], np.stack([places[:8], places[8:]], axis=1))
        assert ax.get_title() == f"{when}: mean cosine {np.mean([v @ t for v, t in zip(vectors, units[1])]):.2f}"
        assert texts(ax.texts) == [label(w) for w in words]
        assert not any(b.contains(*p) for b in boxes(ax) for p in ax.transData.transform(places))

    def gap(ax):
        return np.mean([np.linalg.norm(np.diff(line.get_xydata(), axis=0)) for line in ax.lines])

    assert gap(figure.axes[1]) < 0.5 * gap(figure.axes[0])
    moved = [part[["x", "y"]].to_numpy() for _, part in drawn[drawn.language == "target"].groupby("panel")]
    assert np.array_equal(*moved) and texts(figure.legends[0].get_texts()) == ["source", "target"]
    crowd = MEANINGS[np.arange(12) % 2] + np.random.default_rng(1).normal(0, 0.01, (12, 30))  # on two spots
    busy = alignment_map(crowd, crowd, crowd, [(f"word of many letters {i}", f"ቃል {i}") for i in range(12)])
    busy.draw_without_rendering()
    for ax in busy.axes:
        assert len(boxes(ax)) == 24 and all(ax.bbox.contains(*p) for b in boxes(ax) for p in (b.p0, b.p1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the hint on fonts
        unknown = alignment_map(crowd[:2], crowd[:2], crowd[:2], [("a", "\U000e0fff"), ("b", "c")])
    assert texts(unknown.axes[0].texts) == ["a", "b", "c"]
    assert texts(unknown.legends[0].get_texts()) == ["source", "target (no font for its letters)"]
    with pytest.raises(ValueError, match=r"source \(8, 30\), target \(7, 30\) .*one shape"):
        alignment_map(ENGLISH, AMHARIC[1:], ENGLISH, PAIRS)
    with pytest.raises(ValueError, match="got 7 pairs"):
        alignment_map(ENGLISH, AMHARIC, ENGLISH, PAIRS[1:])


def test_a_map_of_groups_draws_every_token_in_both_panels():
    tokens = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=["first", "second", "x", "y"])
    tokens = tokens.assign(script=["Latn", "Latn", "Cyrl"], position=["word-initial", "word-internal", "word-initial"])
    figure = group_map(tokens)
    for ax, columns in zip(figure.axes, (["first", "second"], ["x", "y"])):
        assert [group.get_offsets().tolist()[0] for group in ax.collections] == tokens[columns].values.tolist()
        colours = [tuple(group.get_edgecolor()[0, :3]) for group in ax.collections]
        assert colours == [to_rgb(PALETTE[0]), to_rgb(PALETTE[0]), to_rgb(PALETTE[1])]
        assert [len(group.get_facecolor()) for group in ax.collections] == [1, 0, 1]  # word-internal ones are hollow
    named = ["Latin, word-initial", "Latin, word-internal", "Cyrillic, word-initial"]
    assert texts(figure.legends[0].get_texts()) == named
    assert figure.alt.endswith("Latin word-initial 1, Latin word-internal 1, Cyrillic word-initial 1.")


def test_the_plane_keeps_the_largest_differences():
    got = _plane(np.array([[0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0.1]], float))
    assert np.allclose(np.linalg.norm(got[0] - got[1:3], axis=1), [4, 2], atol=0.1)
    assert _plane(np.ones((3, 1))).shape == (3, 2)


def test_curves_go_through_the_means_on_a_logarithmic_axis_with_plain_numbers():
    start, below = {"transinner": 3e4, "wechsel": 3e3}, {"transinner": 45, "wechsel": 30}
    slower = {"embeddings first": 1, "all at once": 1.4}

    def perplexity(method, variant, language, _, step):
        slow = below[method] * (slower[variant] if method == "transinner" else 1)
        return 20 + 30 * (language == "zh") + start[method] * np.exp(-step / slow) * np.exp(RNG.normal(0, 0.1))

    perplexities = rows(
        method=start, variant=slower, language=("de", "zh"), seed=(0, 1), step=range(0, 501, 25), value=perplexity
    )
    figure = loss_curves(perplexities, ylabel="perplexity", log=True, ylim=(15, 500))
    means = perplexities.groupby(["language", "method", "variant", "step"]).value.mean()
    assert [a.get_title() for a in figure.axes] == ["de", "zh"] and figure.axes[0].get_ylabel() == "perplexity"
    for ax, language in zip(figure.axes, ("de", "zh")):
        drawn = [line for line in ax.lines if len(line.get_xdata())]
        assert ax.get_yscale() == "log" and ax.get_ylim() == (15, 500) and len(drawn) == 4
        for line, kind in zip(drawn, itertools.product(start, slower)):
            assert np.allclose(line.get_ydata(), means[(language, *kind)])
        assert [to_rgb(line.get_color()) for line in drawn] == [to_rgb(PALETTE[i]) for i in (0, 0, 1, 1)]
        assert [line.is_dashed() for line in drawn] == [False, True] * 2
    figure.draw_without_rendering()
    assert [_short(v) for v in (0.5, 20, 50000, 1e5, 5e12)] == ["0.5", "20", "50000", "1e5", "5e12"]
    ticks = [t for t in figure.axes[0].get_yticklabels() if 15 <= t.get_position()[1] <= 500]
    assert texts(ticks) == ["20", "50", "100", "200", "500"]
    legend = figure.axes[1].get_legend()
    expected = [to_rgb(c) for c in (PALETTE[0], PALETTE[1], INK, INK)]
    assert [to_rgb(line.get_color()) for line in legend.get_lines()] == expected
    assert texts(legend.get_texts()) == [*start, *slower]
    assert texts(loss_curves(CURVES).axes[1].get_legend().get_texts()) == list(CURVES.method.unique())
    whole = loss_curves(perplexities, log=True)
    whole.draw_without_rendering()
    ticks = set(texts(whole.axes[0].get_yticklabels()))
    assert {"100", "1000", "10000"} <= ticks and not {"20", "5000"} & ticks
    six = pd.concat([CURVES.assign(language=line) for line in "abcdef"]).query("seed == 0")
    assert [a.get_subplotspec().rowspan.start for a in loss_curves(six).axes] == [0, 0, 0, 1, 1, 1]


def test_the_curves_of_a_verdict_have_a_point_for_each_size():
    curve = [dict(size=n, tokens_per_word=2.0, added=n * (n > 1), extended=1.5) for n in (1, 2)]
    verdict = SimpleNamespace(curve=curve, measured=SimpleNamespace(tokens_per_word=3.0))
    points = pd.DataFrame(curve_points(verdict))
    assert points.curve.nunique() == 3 and len(points) == 5 and not points.duplicated(["curve", "size"]).any()


def test_curves_by_size_go_through_the_points_a_panel_for_each_text():
    values = {"its own": (2.4, 2, 1.8), "the source's": (2.7, 2.7, 2.7)}
    sizes = (500, 1000, 2000)
    lengths = rows(
        panel=("Swahili", "Amharic"), curve=values, size=sizes, value=lambda _, c, n: values[c][sizes.index(n)]
    )
    drawn = size_curves(lengths)
    assert [ax.get_title() for ax in drawn.axes] == ["Swahili", "Amharic"]
    for ax in drawn.axes:
        assert [list(line.get_ydata()) for line in ax.lines] == [[2.4, 2, 1.8], [2.7, 2.7, 2.7]]
        assert texts(ax.get_xticklabels()) == ["500", "1k", "2k"] and ax.get_xscale() == "log"
    assert texts(drawn.legends[0].get_texts()) == list(values)
    assert len(size_curves(lengths[lengths.panel == "Swahili"].drop(columns="panel")).axes) == 1
