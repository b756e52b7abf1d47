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


def test_dots_stand_at_the_means_bars_at_one_deviation_and_the_line_at_the_baseline(scores_beside_paper):
    some = scores_beside_paper.some
    figure = score_dots(some)
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == [
        "full vocabulary",
        "FOCUS+IDENT",
        "SCRIPT+POSN+IDENT",
        "SCRIPT+IDENT",
        "SCRIPT+POSN",
        "SCRIPT",
        "IDENT",
        "RANDOM",
    ]
    assert [a.get_title() for a in figure.axes] == ["hy", "myv", "et", "te"]
    erzya = figure.axes[1]
    full, emb, line = erzya.containers[0], erzya.containers[1], erzya.lines[-1]
    assert full.lines[0].get_xdata().tolist() == [85.1, 76.1, 79.0, 70.8, 74.6, 71.5, 59.1, 53.3] and set(
        line.get_xdata()
    ) == {56.3}
    assert np.allclose(full.lines[0].get_ydata(), np.arange(8) - 0.15) and np.allclose(
        emb.lines[0].get_ydata(), np.arange(1, 8) + 0.15
    )
    assert np.allclose(full.lines[2][0].get_segments()[0][:, 0], [85.1 - 1.8, 85.1 + 1.8])
    seeds = pd.DataFrame(
        [dict(method="focus", setup="FULL", language="sw", seed=s, value=v) for s, v in enumerate((1.0, 2.0, 3.0))]
    )
    bar = score_dots(seeds).axes[0].containers[0]
    assert bar.lines[0].get_xdata()[0] == 2 and np.allclose(bar.lines[2][0].get_segments()[0][:, 0], [1, 3])


def test_names_at_the_line_ends_keep_their_order_and_distance_and_move_as_little_as_they_must(training_costs):
    costs = training_costs.costs
    rough = np.array([3.0, 1.0, 1.1, 1.05, 9.0])
    spread = _spread(rough, 0.5, 0, 10)
    assert (np.argsort(spread) == np.argsort(rough)).all() and np.diff(np.sort(spread)).min() >= 0.5 - 1e-9
    assert (
        spread[0] == 3 and spread[4] == 9 and spread[[1, 3, 2]].mean() == pytest.approx(1.05)
    )  # a crowd spreads around its middle
    assert np.allclose(_spread([9, 10, 10], 1, 0, 10), [8, 9, 10]) and np.allclose(
        _spread([1, 1, 1], 9, 0, 4), [0, 2, 4]
    )
    figure = score_flops(costs)
    figure.draw_without_rendering()
    for ax in figure.axes[:2]:
        boxes = [Text.get_window_extent(t) for t in ax.texts]  # without the arrows
        assert len(boxes) == 6 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    means = costs.groupby(["task", "language", "vocabulary"])[["flops", "value"]].mean()
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == 2)
    assert np.allclose(line.get_xdata(), [2e17, 5e17]) and np.allclose(
        line.get_ydata(), means.loc[("POS", "hy")].loc[["reduced", "full"]].value
    )


def test_a_logarithmic_scale_gives_equal_factors_equal_steps_and_large_numbers_are_short(grid_search_panels):
    by_k_and_tau = grid_search_panels.by_k_and_tau
    figure = heat_map(by_k_and_tau, log=True, xlabel="temperature", ylabel="neighbours")
    assert [t.get_text() for t in figure.axes[0].texts] == ["2.5e5", "2.0e5", "4.8e5", "3.1e6", "1.8e7"] and len(
        figure.axes[1].texts
    ) == 5
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["1", "10", "50"] and [
        t.get_text() for t in figure.axes[0].get_xticklabels()
    ] == ["0.1", "1"]
    assert {i.get_clim() for a in figure.axes for i in a.images} == {
        (2e5, 8.6e7)
    } and figure.get_supxlabel() == "temperature"
    figure.draw_without_rendering()
    assert [t.get_text() for t in figure.axes[-1].get_yticklabels() if 2e5 <= t.get_position()[1] <= 8.6e7] == [
        "1e6",
        "1e7",
    ]
    shades = figure.axes[0].images[0].norm([2e5, (2e5 * 8.6e7) ** 0.5, 8.6e7])
    assert np.allclose(shades, [0, 0.5, 1]) and not np.allclose(
        heat_map(by_k_and_tau).axes[0].images[0].norm((2e5 * 8.6e7) ** 0.5), 0.5
    )
    assert [_brief(v, 1) for v in (-12.34, 999.94, 1234.5, 12345, 1e12, 0)] == [
        "-12.3",
        "999.9",
        "1234",
        "1.2e4",
        "1.0e12",
        "0.0",
    ]
    with pytest.raises(ValueError, match="numbers above 0, and the lowest is -2"):
        heat_map({"": pd.DataFrame([[-2.0, 3.0]])}, log=True)


def test_cells_have_readable_numbers_on_one_scale_that_of_differences_around_zero_and_lines_between_kinds(
    contrasts, random_losses, score_grids
):
    contrast = contrasts.contrast
    folder = random_losses.folder
    grids, kinds = score_grids.grids, score_grids.kinds
    for figure, panels_shown, centre in (
        (heat_map({"a": grids[7], "b": grids[9]}, kinds=kinds), [grids[7], grids[9]], None),
        (heat_map({"d": grids[9] - grids[7]}, difference=True, kinds=kinds), [grids[9] - grids[7]], 0),
    ):
        scales = {image.get_clim() for ax in figure.axes for image in ax.images}
        assert len(scales) == 1 and (centre is None or sum(next(iter(scales))) == centre)
        for ax, grid in zip(figure.axes, panels_shown):
            assert [t.get_text() for t in ax.texts] == [f"{v:.1f}" for v in grid.to_numpy().ravel()]
            colours = ax.images[0].to_rgba(grid.to_numpy())
            assert all(contrast(t.get_color(), c[:3]) > 4.5 for t, c in zip(ax.texts, colours.reshape(-1, 4)))
            assert (
                [line.get_xdata()[0] for line in ax.lines[:2]]
                == [1.5, 2.5]
                == [line.get_ydata()[0] for line in ax.lines[2:]]
            )
            assert (
                [t.get_text() for t in ax.get_xticklabels()]
                == list(kinds)
                == [t.get_text() for t in ax.get_yticklabels()]
            )
    holes = grids[7].copy()
    holes.iloc[0, 1] = np.nan
    assert len(heat_map({"": holes}).axes[0].texts) == 24 and not heat_map({"": holes}).axes[0].lines
    thin = heat_map(
        {"loss at initialisation": pd.DataFrame({"te": range(12)}, [f"a method with a name {i}" for i in range(12)])}
    )
    thin.draw_without_rendering()
    assert thin.axes[0].get_window_extent().width > 50  # pixels
    assert (
        pd.read_csv(folder / "heat.csv").query("panel == 'XLM-R' and source == 'en' and target == 'qu'").value.item()
        == grids[7].loc["en", "qu"]
    )


def test_curves_go_through_the_means_and_the_band_is_one_deviation(growing_scores):
    grown = growing_scores.grown
    ax = score_curves(grown).axes[0]
    means = grown.groupby(["language", "step"], sort=False).value.mean()
    for language, line in zip(("sw", "am"), ax.lines):
        assert np.allclose(line.get_ydata(), means[language]) and np.allclose(line.get_xdata(), [0, 15, 30, 60, 120])
    band = ax.collections[0].get_paths()[0].vertices
    assert np.isclose(band[:, 1].max(), means["sw"].max() + 2)  # values 2 apart have a deviation of 2


def test_points_lie_at_their_numbers_and_the_correlation_is_pearson_s(explained_scores):
    explained, scripts_known = explained_scores.explained, explained_scores.scripts_known
    fig = correlations(explained, {"unknown": "u", "shared": "s"}, scripts_known)
    for ax, column in zip(fig.axes, ("unknown", "shared")):
        drawn = np.concatenate([c.get_offsets() for c in ax.collections])
        assert {tuple(p) for p in drawn} == set(zip(explained[column], explained.value))
        x, y = explained[column] - explained[column].mean(), explained.value - explained.value.mean()
        assert ax.get_title() == f"r = {(x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()):.2f}"
    near = pd.DataFrame(
        {
            "language": [f"language {i}" for i in range(6)],
            "value": np.linspace(5, 5.5, 6),
            "unknown": np.linspace(80, 81, 6),
        }
    )
    close = correlations(pd.concat([explained, near]), {"unknown": "u"})
    close.draw_without_rendering()
    boxes = [Text.get_window_extent(t) for t in close.axes[0].texts]
    assert len(boxes) == 11 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert correlations(explained.assign(unknown=1.0), {"unknown": "u"}).axes[0].get_title() == "r is not defined"


def test_curves_of_growth_go_through_the_points_and_slopes_are_in_the_legend(growth_of_cost):
    prices = growth_of_cost.prices
    for ax, power in zip(growth_curves(prices).axes, (1, 2)):
        assert [t.get_text() for t in ax.get_legend().get_texts()] == [
            f"ours {power}.0",
            f"theirs {power}.0",
        ] and ax.get_xscale() == ax.get_yscale() == "log"
        assert np.allclose(ax.lines[1].get_ydata(), 4e-4 * ax.lines[1].get_xdata() ** power) and [
            t.get_text() for t in ax.get_xticklabels()
        ] == ["1k", "2k", "4k", "8k"]
    assert (
        growth_curves(prices).alt
        == "Curves, CPU seconds by size, both logarithmic, with the slope of each: rows: ours 1.0, theirs 1.0; pairs: "
        "ours 2.0, theirs 2.0."
    )


@pytest.mark.usefixtures(
    "aligned_words",
    "explained_scores",
    "training_costs",
    "grid_search_panels",
    "growing_scores",
    "score_grids",
)
def test_figures_keep_their_numbers_beside_them(random_losses, learning_curves, mixture, scores_beside_paper):
    folder = random_losses.folder
    curves = learning_curves.curves
    anchors = mixture.anchors
    some = scores_beside_paper.some
    made = {p.name for p in folder.iterdir()}
    assert {
        f"{n}.{e}"
        for n in (
            "alignment",
            "curves",
            "dots",
            "explained",
            "flops",
            "grid",
            "grown",
            "heat",
            "mixture",
        )
        for e in ("csv", "png")
    } <= made
    assert (
        pd.read_csv(folder / "dots.csv")["mean"].tolist() == some.value.tolist()
        and len(pd.read_csv(folder / "flops.csv")) == 2 * 6 * 2
    )
    assert list(pd.read_csv(folder / "curves.csv")) == list(curves)
    assert pd.read_csv(folder / "mixture.csv").token.tolist() == ["ሰላም", *anchors]
    assert not plt.get_fignums()


def test_every_figure_says_what_it_shows_with_the_numbers(mixture, training_costs, explained_scores):
    anchors, weights, base = mixture.anchors, mixture.weights, mixture.base
    costs = training_costs.costs
    explained = explained_scores.explained
    two = pd.DataFrame([dict(language=line, step=t, value=8 / (t + 1)) for line in ("sw", "am") for t in (0, 1, 3)])
    assert score_curves(two, ylabel="score").alt == "Curves, score over steps from 0 to 3. At the end: sw 2, am 2."
    assert show_mixture("ሰላም", anchors, weights, base, np.ones((5, 20))).alt.endswith(
        "at the weighted mean of ጤና 0.50, እንኳን 0.30, ደህና 0.20."
    )
    assert (
        alignment_map(np.eye(2), np.eye(2), np.eye(2), [("a", "b"), ("c", "d")]).alt
        == "Two maps of 2 translation pairs of source and target, joined by lines. before the rotation: mean cosine "
        "1.00; after the rotation: mean cosine 1.00."
    )
    assert (
        score_dots(
            pd.DataFrame(dict(method=["a", "a"], setup=["full", "off-the-shelf"], language="sw", value=[3.0, 1.0]))
        ).alt
        == "Dots, accuracy by method (a), a panel for each of sw: full 3, off-the-shelf 1."
    )
    assert score_flops(costs.assign(flops=2e17, value=90.0)).alt.endswith(
        "Operations: reduced 2e+17, full 2e+17; score: reduced 90, full 90."
    )
    assert (
        heat_map({"d": pd.DataFrame([[1.0, 2, 3], [4, 5, np.nan]])}).alt
        == "Heat map, 2 by 3 cells, source language in rows and target language in columns, the numbers in the cells: "
        "d 1 to 5."
    )
    assert (
        correlations(explained, {"unknown": "unknown, %"}).alt
        == "Points, F1 of 5 languages (5 to 60) over other numbers of theirs. unknown, %: r = "
        f"{np.corrcoef(explained.unknown, explained.value)[0, 1]:.2f}."
    )


def test_the_names_of_tokens_cover_neither_points_nor_each_other_also_where_tokens_lie_close_with_fonts_and_without(
    plain_fonts, mixture
):
    fonts_of_matplotlib = plain_fonts.fonts_of_matplotlib
    anchors, weights = mixture.anchors, mixture.weights
    static = np.ones((6, 20)) + np.eye(6, 20) * 0.01
    embeddings = np.ones((5, 20)) + np.eye(5, 20) * [[1], [1], [1], [30], [30]]
    in_ethiopic = ["ሰላም", "ጤና 0.50", "እንኳን 0.30", "ደህና 0.20", "water", "2019"]
    in_latin = ["salaame", "theenaa 0.50", "enekwaane 0.30", "dahenaa 0.20", "water", "2019"]
    for fonts, names in ((nullcontext(), in_ethiopic), (fonts_of_matplotlib(), in_latin)):
        with fonts, warnings.catch_warnings():
            warnings.filterwarnings("error", message="Glyph .* missing")
            warnings.filterwarnings("ignore", message="no font here")
            close = show_mixture("ሰላም", anchors, weights, static, embeddings)
            close.draw_without_rendering()
        alone = [name.split()[0] for name in names]
        for ax, shown in zip(close.axes, (alone, names)):  # weights stand beside the model's embeddings
            boxes = [Text.get_window_extent(t) for t in ax.texts]
            points = ax.transData.transform(np.vstack([c.get_offsets() for c in ax.collections]))
            assert [t.get_text() for t in ax.texts] == shown and len(points) == 6
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
            assert not any(b.contains(*p) for b in boxes for p in points)


def test_both_panels_lie_in_one_plane_pairs_are_joined_and_the_rotation_brings_them_together(
    random_losses, aligned_words
):
    folder = random_losses.folder
    english_vectors, amharic_vectors, turn, pairs, meanings = (
        aligned_words.english_vectors,
        aligned_words.amharic_vectors,
        aligned_words.turn,
        aligned_words.pairs,
        aligned_words.meanings,
    )
    figure = alignment_map(english_vectors, amharic_vectors, english_vectors @ turn, pairs, path=folder / "joined.png")
    figure.draw_without_rendering()
    drawn = pd.read_csv(folder / "joined.csv")
    units = [
        v / np.linalg.norm(v, axis=1, keepdims=True) for v in (english_vectors, amharic_vectors, english_vectors @ turn)
    ]
    stacked = np.vstack(units[1:])
    basis = np.linalg.eigh(np.cov(stacked.T))[1][:, :-3:-1]  # the two directions of largest variance
    for ax, when, vectors in zip(
        figure.axes, ("before the rotation", "after the rotation"), (units[0], units[2]), strict=False
    ):
        part = drawn[drawn.panel == when]
        assert (
            part.word.tolist() == [w for side in zip(*pairs) for w in side]
            and part.language.tolist() == ["source"] * 8 + ["target"] * 8
        )
        assert np.allclose(
            np.abs(part[["x", "y"]]), np.abs((np.vstack([vectors, units[1]]) - stacked.mean(0)) @ basis), atol=1e-6
        )
        assert np.allclose(
            [line.get_xydata() for line in ax.lines], np.stack([part[["x", "y"]][:8], part[["x", "y"]][8:]], axis=1)
        )
        assert ax.get_title() == f"{when}: mean cosine {np.mean([v @ t for v, t in zip(vectors, units[1])]):.2f}"
        assert [t.get_text() for t in ax.texts] == [label(t) for side in zip(*pairs) for t in side]
        boxes = [Text.get_window_extent(t) for t in ax.texts]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2)) and not any(
            b.contains(*p) for b in boxes for p in ax.transData.transform(part[["x", "y"]])
        )

    def gap(ax):
        return np.mean([np.linalg.norm(np.diff(line.get_xydata(), axis=0)) for line in ax.lines])

    assert gap(figure.axes[1]) < 0.5 * gap(figure.axes[0])
    moved = [
        drawn[(drawn.language == "target") & (drawn.panel == when)][["x", "y"]].to_numpy()
        for when in drawn.panel.unique()
    ]
    assert np.array_equal(*moved) and [t.get_text() for t in figure.legends[0].get_texts()] == ["source", "target"]
    crowd = meanings[np.arange(12) % 2] + np.random.default_rng(1).normal(
        0, 0.01, (12, 30)
    )  # six words on each of two spots
    busy = alignment_map(crowd, crowd, crowd, [(f"word of many letters {i}", f"ቃል {i}") for i in range(12)])
    busy.draw_without_rendering()
    for ax in busy.axes:
        boxes = [Text.get_window_extent(t) for t in ax.texts]
        assert (
            len(boxes) == 24
            and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
            and all(ax.bbox.contains(*p) for b in boxes for p in (b.p0, b.p1))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the hint on fonts
        unknown = alignment_map(crowd[:2], crowd[:2], crowd[:2], [("a", "󠿿"), ("b", "c")])
        assert [t.get_text() for t in unknown.axes[0].texts] == ["a", "b", "c"] and [
            t.get_text() for t in unknown.legends[0].get_texts()
        ] == ["source", "target (no font for its letters)"]
    with pytest.raises(ValueError, match=r"source \(8, 30\), target \(7, 30\) .*one shape"):
        alignment_map(english_vectors, amharic_vectors[1:], english_vectors, pairs)
    with pytest.raises(ValueError, match="got 7 pairs"):
        alignment_map(english_vectors, amharic_vectors, english_vectors, pairs[1:])


def test_a_map_of_groups_draws_every_token_in_both_panels():
    tokens = pd.DataFrame(
        dict(script=["Latn", "Latn", "Cyrl"], position=["word-initial", "word-internal", "word-initial"])
    )
    tokens = tokens.join(pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=["first", "second", "x", "y"]))
    figure = group_map(tokens)
    for ax, columns in zip(figure.axes, (["first", "second"], ["x", "y"])):
        drawn = [group.get_offsets().tolist()[0] for group in ax.collections]
        assert drawn == tokens[columns].values.tolist()
        colours = [tuple(group.get_edgecolor()[0, :3]) for group in ax.collections]
        assert colours == [to_rgb(PALETTE[0]), to_rgb(PALETTE[0]), to_rgb(PALETTE[1])]
        assert [len(group.get_facecolor()) for group in ax.collections] == [1, 0, 1]  # word-internal ones are hollow
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["Latin, word-initial", "Latin, word-internal", "Cyrillic, word-initial"]
    assert figure.alt.endswith("Latin word-initial 1, Latin word-internal 1, Cyrillic word-initial 1.")


def test_the_plane_keeps_the_largest_differences():
    x = np.array([[0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0.1]], float)
    got = _plane(x)
    assert np.allclose(np.linalg.norm(got[0] - got[1]), 4, atol=0.1) and np.allclose(
        np.linalg.norm(got[0] - got[2]), 2, atol=0.1
    )
    assert _plane(np.ones((3, 1))).shape == (3, 2)


def _perplexities(rng):
    start, below = {"transinner": 3e4, "wechsel": 3e3}, {"transinner": 45, "wechsel": 30}
    variants = {"embeddings first": 1, "all at once": 1.4}

    def value(method, variant, shift, step):
        slow = below[method] * (variants[variant] if method == "transinner" else 1)
        return 20 + shift + start[method] * np.exp(-step / slow) * np.exp(rng.normal(0, 0.1))

    rows = itertools.product(start, variants, {"de": 0, "zh": 30}.items(), range(2), range(0, 501, 25))
    return pd.DataFrame(
        [
            dict(method=m, variant=v, language=code, seed=s, step=t, value=value(m, v, d, t))
            for m, v, (code, d), s, t in rows
        ]
    )


def test_curves_go_through_the_means_on_a_logarithmic_axis_with_plain_numbers(random_losses, learning_curves):
    perplexities, curves, levels = _perplexities(random_losses.rng), learning_curves.curves, random_losses.levels
    start = ("transinner", "wechsel")
    figure = loss_curves(perplexities, ylabel="perplexity", log=True, ylim=(15, 500))
    means = perplexities.groupby(["language", "method", "variant", "step"]).value.mean()
    assert [a.get_title() for a in figure.axes] == ["de", "zh"] and figure.axes[0].get_ylabel() == "perplexity"
    for ax, language in zip(figure.axes, ("de", "zh")):
        drawn = [line for line in ax.lines if len(line.get_xdata())]
        kinds_of_line = list(itertools.product(start, ("embeddings first", "all at once")))
        assert ax.get_yscale() == "log" and ax.get_ylim() == (15, 500) and len(drawn) == 4
        for line, kind in zip(drawn, kinds_of_line):
            assert np.allclose(line.get_ydata(), means[(language, *kind)])
        assert [to_rgb(line.get_color()) for line in drawn] == [to_rgb(PALETTE[i]) for i in (0, 0, 1, 1)]
        assert [line.is_dashed() for line in drawn] == [False, True] * 2
    figure.draw_without_rendering()
    assert [_short(v) for v in (0.5, 20, 50000, 1e5, 5e12)] == ["0.5", "20", "50000", "1e5", "5e12"]
    assert [t.get_text() for t in figure.axes[0].get_yticklabels() if 15 <= t.get_position()[1] <= 500] == [
        "20",
        "50",
        "100",
        "200",
        "500",
    ]
    assert [to_rgb(line.get_color()) for line in figure.axes[1].get_legend().get_lines()] == [
        to_rgb(c) for c in (PALETTE[0], PALETTE[1], INK, INK)
    ]
    assert [t.get_text() for t in figure.axes[1].get_legend().get_texts()] == [
        "transinner",
        "wechsel",
        "embeddings first",
        "all at once",
    ]
    assert [t.get_text() for t in loss_curves(curves).axes[1].get_legend().get_texts()] == list(levels)
    without_truncation = loss_curves(perplexities, log=True)
    without_truncation.draw_without_rendering()
    ticks = {t.get_text() for t in without_truncation.axes[0].get_yticklabels()}
    assert {"100", "1000", "10000"} <= ticks and not {"20", "5000"} & ticks
    six = pd.concat([curves.assign(language=line) for line in "abcdef"])
    rows_of_panels = [a.get_subplotspec().rowspan.start for a in loss_curves(six.query("seed == 0")).axes]
    assert rows_of_panels == [0, 0, 0, 1, 1, 1]


def test_figures_of_losses_say_what_they_show():
    two = pd.DataFrame(
        [
            dict(method=m, language=line, step=t, value=v / (t + 1))
            for m, v in (("a", 8.0), ("b", 6.0))
            for line in ("sw", "am")
            for t in (0, 1, 3)
        ]
    )
    assert (
        loss_curves(two, names={"am": "Amharic"}).alt
        == "Curves, held-out loss (nats) over steps 0 to 3, a panel for each of sw, Amharic. At the beginning: a 8, "
        "b 6; at the end: a 2, b 1.5."
    )
    assert loss_curves(two.drop(columns="language")).alt.startswith(
        "Curves, held-out loss (nats) over steps 0 to 3. At"
    )


def test_the_curves_of_a_verdict_have_a_point_for_each_size():
    rows = [dict(size=n, tokens_per_word=2.0, added=n * (n > 1), extended=1.5) for n in (1, 2)]
    verdict = SimpleNamespace(curve=rows, measured=SimpleNamespace(tokens_per_word=3.0))
    points = pd.DataFrame(curve_points(verdict))
    assert points.curve.nunique() == 3 and len(points) == 5 and not points.duplicated(["curve", "size"]).any()


def test_curves_by_size_go_through_the_points_a_panel_for_each_text():
    values = {"its own": (2.4, 2, 1.8), "the source's": (2.7, 2.7, 2.7)}
    lengths = pd.DataFrame(
        [
            dict(panel=panel, curve=curve, size=size, value=value)
            for panel in ("Swahili", "Amharic")
            for curve, each in values.items()
            for size, value in zip((500, 1000, 2000), each)
        ]
    )
    drawn = size_curves(lengths)
    assert [ax.get_title() for ax in drawn.axes] == ["Swahili", "Amharic"]
    for ax in drawn.axes:
        assert [list(line.get_ydata()) for line in ax.lines] == [[2.4, 2, 1.8], [2.7, 2.7, 2.7]]
        assert [t.get_text() for t in ax.get_xticklabels()] == ["500", "1k", "2k"] and ax.get_xscale() == "log"
    assert [t.get_text() for t in drawn.legends[0].get_texts()] == list(values)
    assert len(size_curves(lengths[lengths.panel == "Swahili"].drop(columns="panel")).axes) == 1
