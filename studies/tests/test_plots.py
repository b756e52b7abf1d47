from IPython.core.formatters import DisplayFormatter
from contextlib import contextmanager, nullcontext
from functools import cache
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from pathlib import Path
from studies.plots import INK, PALETTE, SANS, _brief, _number, _plane, _short, _spread, alignment_map, correlations, described, embedding_map, growth_curves, has_glyphs, heat_map, label, loss_bars, loss_curves, plt, ranges, romanise, row_shares, score_curves, score_dots, score_flops, show_mixture, size_curves, use_style
from vocab_lit.study.results import published
import itertools
import numpy as np
import pandas as pd
import pytest
import tempfile
import studies.plots as plots
import warnings


@pytest.fixture(scope='module')
def cell_20b35de3():
    global contrast
    def contrast(a, b):  # WCAG 2: 1 for equal colours, 21 for black on white
        def light(c):
            return np.dot(
                [0.2126, 0.7152, 0.0722], [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(c)]
            )

        x, y = sorted((light(a), light(b)))
        return (y + 0.05) / (x + 0.05)


    pd.DataFrame({page: {c: contrast(c, page) for c in PALETTE} for page in ("#ffffff", "#121212")}).round(1)


@pytest.fixture(scope='module')
def cell_f9928d35():
    global words
    words = {
        "Latin": "Ŋaari",
        "Arabic": "سلام",
        "Ethiopic": "ሰላም",
        "Devanagari": "हिन्दी",
        "Khmer": "ភាសាខ្មែរ",
        "Han": "语言",
    }
    pd.DataFrame({"text": words, "in Latin letters": {k: romanise(w) for k, w in words.items()}})


@pytest.fixture(scope='module')
def cell_ebe4e840(cell_f9928d35):
    global fonts_of_matplotlib, hints, spelled
    @contextmanager
    def fonts_of_matplotlib():
        "No fonts but matplotlib's own, as on a machine without others."
        own = {SANS: plots._fonts()[SANS]}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plots, "_fonts", lambda: own)
            patch.setattr(plots, "_family", cache(plots._family.__wrapped__))
            patch.setattr(plots, "_hint", cache(plots._hint.__wrapped__))
            yield


    with fonts_of_matplotlib(), warnings.catch_warnings(record=True, action="always") as hints:
        spelled = {name: label(word) for name, word in words.items()}
    spelled, [str(hint.message) for hint in hints][:1]


@pytest.fixture(scope='module')
def cell_2adbbf8c():
    global folder, levels, losses, rng
    rng = np.random.default_rng(0)
    levels = {"random": 8.2, "symbolic overlap": 7.1, "focus": 5.1}
    losses = pd.DataFrame(
        [
            dict(method=m, language=line, seed=s, value=v + d + rng.normal(0, 0.1))
            for (m, v), (line, d), s in itertools.product(levels.items(), {"sw": 0, "am": 0.4, "my": 0.2}.items(), range(3))
        ]
    )
    folder = Path(tempfile.mkdtemp())
    loss_bars(
        losses,
        uniform={"sw": 7.6, "am": 7.9, "my": 7.7},
        names={"am": "አማርኛ", "my": "မြန်မာ", "sw": "Kiswahili"},
        path=folder / "bars.png",
    )


@pytest.fixture(scope='module')
def cell_1aa20db8():
    global shares
    shares = pd.DataFrame(dict(step=["Copy", "SparsemaxSimilarity", "Gaussian"], share=[0.3, 0.65, 0.05]))
    row_shares(shares)


@pytest.fixture(scope='module')
def cell_f2c1aa28(cell_2adbbf8c):
    global curves
    curves = pd.DataFrame(
        [
            dict(method=m, language=line, seed=s, step=t, value=3 + (v - 3) * np.exp(-t / 120) + rng.normal(0, 0.08))
            for (m, v), line, s, t in itertools.product(levels.items(), ("sw", "am"), range(3), range(0, 401, 50))
        ]
    )
    loss_curves(curves, names={"am": "አማርኛ", "sw": "Kiswahili"}, path=folder / "curves.png")


@pytest.fixture(scope='module')
def cell_82df53d4(cell_2adbbf8c):
    global perplexities, slow, start
    start = {"transinner": 3e4, "wechsel": 3e3}


    def slow(m, v):
        return {"transinner": 45, "wechsel": 30}[m] * (1 + 0.4 * (m == "transinner" and v == "all at once"))


    perplexities = pd.DataFrame(
        [
            dict(
                method=m,
                variant=v,
                language=line,
                seed=s,
                step=t,
                value=20 + d + top * np.exp(-t / slow(m, v)) * np.exp(rng.normal(0, 0.1)),
            )
            for (m, top), v, (line, d), s, t in itertools.product(
                start.items(), ("embeddings first", "all at once"), {"de": 0, "zh": 30}.items(), range(2), range(0, 501, 25)
            )
        ]
    )
    loss_curves(
        perplexities,
        names={"de": "Deutsch", "zh": "中文"},
        ylabel="perplexity",
        log=True,
        ylim=(15, 500),
        path=folder / "perplexities.png",
    )


@pytest.fixture(scope='module')
def cell_2d7a59d1(cell_2adbbf8c):
    global anchors, base, weights
    anchors, weights = ["ጤና", "እንኳን", "ደህና", "water", "2019"], np.array([0.5, 0.3, 0.2, 0, 0])
    base = rng.normal(size=(6, 20)) + np.array([[2]] * 4 + [[-2]] * 2) * rng.normal(size=20)
    base[0] = weights @ base[1:] + rng.normal(0, 0.3, 20)
    show_mixture("ሰላም", anchors, weights, base, rng.normal(size=(5, 20)), path=folder / "mixture.png")


@pytest.fixture(scope='module')
def cell_aa91e511(cell_2adbbf8c):
    global amharic_vectors, english_vectors, meanings, pairs, turn
    pairs = [
        ("water", "ውሃ"),
        ("house", "ቤት"),
        ("child", "ልጅ"),
        ("book", "መጽሐፍ"),
        ("today", "ዛሬ"),
        ("day", "ቀን"),
        ("road", "መንገድ"),
        ("hello", "ሰላም"),
    ]
    meanings = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 30)) + rng.normal(0, 0.3, (8, 30))
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    english_vectors, amharic_vectors = meanings @ turn.T, meanings + rng.normal(0, 0.4, (8, 30))
    alignment_map(
        english_vectors,
        amharic_vectors,
        english_vectors @ turn,
        pairs,
        ("English", "Amharic"),
        path=folder / "alignment.png",
    )


@pytest.fixture(scope='module')
def cell_1c7ed63b(cell_2adbbf8c):
    global centres, old_rows, panels, scripts, sizes
    centres = {"Latin": (0, 3, 1), "Cyrillic": (4, -2, 0), "Common": (-4, -1, 0), "Greek": (1, -4, 1), "Thai": (2, 1, 3)}
    sizes = {"Latin": 900, "Cyrillic": 500, "Common": 250, "Greek": 120, "Thai": 60}
    scripts = [s for s, n in sizes.items() for _ in range(n)]
    old_rows = np.array([centres[s] for s in scripts]) @ np.eye(3, 16) + rng.normal(0, 0.8, (len(scripts), 16))
    old_rows[::2, 3] += 5  # every other row begins a word
    panels = {
        "the source model": (old_rows, scripts),
        "where a word begins": (old_rows, ["initial", "medial"] * (len(scripts) // 2)),
        "random": (rng.normal(0, 1, (len(scripts), 16)), scripts),
    }
    embedding_map({k: panels[k] for k in ("the source model", "random")}, named=4, most=1500, path=folder / "map.png")


@pytest.fixture(scope='module')
def cell_b7b2f5a0(cell_2adbbf8c):
    global paper, some
    paper = published("embedding-structure", 1)
    some = paper[paper.language.isin(["hy", "myv", "et", "te"])]
    score_dots(some, names={"hy": "Հայերեն", "myv": "Эрзянь", "et": "Eesti", "te": "తెలుగు"}, path=folder / "dots.png")


@pytest.fixture(scope='module')
def cell_67129e56(cell_2adbbf8c):
    global costs
    costs = pd.DataFrame(
        [
            dict(
                task=task,
                language=line,
                vocabulary=v,
                seed=s,
                flops=f * (1 + 0.05 * i),
                value=base + 3 * (task == "NER") + (v == "full") * gain + rng.normal(0, 0.3),
            )
            for task in ("POS", "NER")
            for i, (line, base, gain) in enumerate(
                [("hy", 92, 0.5), ("myv", 79, 5), ("et", 94, 0.2), ("te", 88.5, 1), ("he", 94.5, 0.1), ("sw", 94.2, -1)]
            )
            for v, f in (("reduced", 2e17), ("full", 5e17))
            for s in range(3)
        ]
    )
    score_flops(costs, names={"hy": "Հայերեն", "te": "తెలుగు", "he": "עברית", "sw": "Kiswahili"}, path=folder / "flops.png")


@pytest.fixture(scope='module')
def cell_daf5a2a8(cell_2adbbf8c):
    global grids, kinds, printed
    kinds = {"en": "high resource", "ar": "high resource", "sw": "low resource", "qu": "not seen", "gn": "not seen"}
    printed = published("mad-x").set_index("table")
    grids = {
        t: printed.loc[f"F{t}"].pivot(index="setup", columns="language", values="value").loc[list(kinds), list(kinds)]
        for t in (7, 9)
    }
    heat_map({"XLM-R": grids[7], "XLM-R MLM-TRG": grids[9]}, kinds=kinds, path=folder / "heat.png")


@pytest.fixture(scope='module')
def cell_19ffbf12(cell_2adbbf8c):
    global by_k_and_tau, grid_search
    grid_search = published("wechsel", 8).query("method == 'WECHSEL@0' and metric == 'perplexity'")
    grid_search = grid_search.join(grid_search.setup.str.extract(r"k=(?P<k>\d+), tau=(?P<tau>.+)").astype({"k": int}))
    by_k_and_tau = {
        name: grid_search[grid_search.language == line].pivot(index="k", columns="tau", values="value")
        for line, name in (("fr", "Français"), ("zh", "中文"))
    }
    heat_map(by_k_and_tau, log=True, xlabel="temperature", ylabel="neighbours", path=folder / "grid.png")


@pytest.fixture(scope='module')
def cell_184c7e95(cell_2adbbf8c):
    global grown
    grown = pd.DataFrame(
        [
            dict(language=line, step=t, seed=s, value=top * (1 - np.exp(-t / 40)) + 20 + 2 * (s - 1))
            for line, top in (("sw", 25.0), ("am", 12.0))
            for t in (0, 15, 30, 60, 120)
            for s in range(3)
        ]
    )
    score_curves(grown, names={"am": "አማርኛ", "sw": "Kiswahili"}, path=folder / "grown.png")


@pytest.fixture(scope='module')
def cell_443878c2(cell_2adbbf8c):
    global explained, scripts_known
    explained = pd.DataFrame(
        {
            "language": ["fi", "uk", "am", "km", "sw"],
            "value": [60.0, 45, 8, 5, 50],
            "unknown": [0.0, 2, 86, 79, 1],
            "shared": [40.0, 30, 13, 19, 45],
        }
    )
    scripts_known = {code: "new script" if code in ("am", "km") else "known script" for code in explained.language}
    correlations(
        explained,
        {"unknown": "unknown tokens, %", "shared": "shared tokens, %"},
        scripts_known,
        {"am": "አማርኛ"},
        path=folder / "explained.png",
    )


@pytest.fixture(scope='module')
def cell_1788feb6(cell_2adbbf8c):
    global prices
    prices = pd.DataFrame(
        [
            dict(panel=p, side=side, size=n, value=c * n**power)
            for p, power in (("rows", 1.0), ("pairs", 2.0))
            for side, c in (("ours", 1e-4), ("theirs", 4e-4))
            for n in (1000, 2000, 4000, 8000)
        ]
    )
    growth_curves(prices, path=folder / "growth.png")


@pytest.fixture(scope='module')
def cell_8aa21fa3():
    global lengths
    lengths = pd.DataFrame(
        [
            dict(panel=panel, curve=curve, size=size, value=value)
            for panel in ("Swahili", "Amharic")
            for curve, values in {"its own": (2.4, 2, 1.8), "the source's": (2.7, 2.7, 2.7)}.items()
            for size, value in zip((500, 1000, 2000), values)
        ]
    )
    size_curves(lengths)


def test_colours_stand_out_from_white_and_from_dark_pages(cell_20b35de3):
    assert contrast("#000", "#fff") == pytest.approx(21) and contrast("#777", "#777") == 1
    assert all(contrast(c, page) >= 3 for c in PALETTE for page in ("#ffffff", "#121212"))
    assert min(contrast(INK, "#ffffff"), contrast(INK, "#121212")) > 4


def test_the_packages_of_fonts_have_the_scripts_of_the_book_and_without_them_labels_are_spelled_in_latin_letters(cell_f9928d35, cell_ebe4e840):
    assert all(has_glyphs(word) and label(word) == word for word in words.values())
    assert Path(plots._fonts()["Noto Sans Ethiopic"]).is_file()
    assert spelled == {
        name: word if has_glyphs(word) and name in ("Latin", "Arabic") else romanise(word) for name, word in words.items()
    }
    assert ["Ethiopic characters" in str(hint.message) for hint in hints].count(True) == 1
    with fonts_of_matplotlib():
        assert not has_glyphs("ሰላም")
    assert has_glyphs("ሰላም")


def test_a_text_without_a_font_is_spelled_in_latin_letters_with_one_hint():
    assert (
        romanise("ሰላም") == "salaame"
        and romanise("שלום") == "shlvm"
        and romanise("한") == "han"
        and romanise("x, 3") == "x, 3"
        and romanise("२") == "2"
    )
    assert has_glyphs("Ŋaari 3,5") and label("Ŋaari") == "Ŋaari"
    unassigned = "\U000e0fff"  # no font has it
    assert not has_glyphs(unassigned)
    with pytest.warns(UserWarning, match="no font here has .* characters.*pip install"):
        assert unassigned not in label("a" + unassigned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert label(unassigned + "b") == "[E0FFF]b"  # the hint is given once


def test_nothing_drawn_is_an_empty_box_with_fonts_and_without(cell_f9928d35, cell_ebe4e840):
    for fonts in (nullcontext(), fonts_of_matplotlib()):
        use_style()
        with fonts, warnings.catch_warnings():
            warnings.filterwarnings("error", message="Glyph .* missing")
            warnings.filterwarnings("ignore", message="no font here")
            drawn = " ".join(label(w) for w in words.values())
            fig, ax = plt.subplots()
            ax.set_title(drawn)
            fig.canvas.draw()
        plt.close(fig)
    use_style()
    fig, ax = plt.subplots()
    ax.set_title("ሰላም")  # without `label`
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        fig.canvas.draw()
    plt.close(fig)


def test_a_notebook_keeps_the_numbers_and_the_description_with_the_image():
    alone = pd.DataFrame({"x": [0, 1], "value": [2.5, np.nan]})
    figure = described(plt.figure(figsize=(1, 1)), alone, "one number")
    kept, told = DisplayFormatter().format(figure)
    assert (
        kept["text/csv"] == "x,value\n0,2.5\n1,\n"
        and told["image/png"] == {"alt": "one number"}
        and figure.alt == "one number"
        and figure.data is alone
    )
    assert ranges(alone, "x") == "0 2.5, 1 no value" and ranges(alone, "x", most=1) == "2 groups by x, 2.5"
    assert [_number(v) for v in (7.1234, 45210.0, 3.1e6, 0.00012, 1000.0, -12345)] == [
        "7.12",
        "45210",
        "3.1e+06",
        "0.00012",
        "1000",
        "-12345",
    ]


def test_every_step_has_its_part_of_the_bar_and_small_ones_are_in_the_legend_only(cell_1aa20db8):
    ax = row_shares(shares).axes[0]
    assert [round(b.get_width(), 2) for b in ax.patches] == [0.3, 0.65, 0.05] and [
        round(b.get_x(), 2) for b in ax.patches
    ] == [0, 0.3, 0.95]
    assert [t.get_text() for t in ax.texts] == ["30%", "65%"] and [t.get_text() for t in ax.get_legend().get_texts()] == [
        "Copy 30%",
        "SparsemaxSimilarity 65%",
        "Gaussian 5%",
    ]


def test_curves_go_through_the_means_on_a_logarithmic_axis_with_plain_numbers_and_variants_differ_in_dashes_only(cell_2adbbf8c, cell_f2c1aa28, cell_82df53d4):
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
    uncut = loss_curves(perplexities, log=True)
    uncut.draw_without_rendering()
    ticks = {t.get_text() for t in uncut.axes[0].get_yticklabels()}
    assert {"100", "1000", "10000"} <= ticks and not {"20", "5000"} & ticks
    six = pd.concat([curves.assign(language=line) for line in "abcdef"])
    rows_of_panels = [a.get_subplotspec().rowspan.start for a in loss_curves(six.query("seed == 0")).axes]
    assert rows_of_panels == [0, 0, 0, 1, 1, 1]


def test_the_names_of_tokens_cover_neither_points_nor_each_other_also_where_tokens_lie_close_with_fonts_and_without(cell_ebe4e840, cell_2d7a59d1):
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
        for ax in close.axes:
            boxes = [Text.get_window_extent(t) for t in ax.texts]
            points = ax.transData.transform(np.vstack([c.get_offsets() for c in ax.collections]))
            assert [t.get_text() for t in ax.texts] == names and len(points) == 6
            assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
            assert not any(b.contains(*p) for b in boxes for p in points)


def test_both_panels_lie_in_one_plane_pairs_are_joined_and_the_rotation_brings_them_together(cell_2adbbf8c, cell_aa91e511):
    figure = alignment_map(english_vectors, amharic_vectors, english_vectors @ turn, pairs, path=folder / "joined.png")
    figure.draw_without_rendering()
    drawn = pd.read_csv(folder / "joined.csv")
    units = [
        v / np.linalg.norm(v, axis=1, keepdims=True) for v in (english_vectors, amharic_vectors, english_vectors @ turn)
    ]
    stacked = np.vstack(units[1:])
    basis = np.linalg.eigh(np.cov(stacked.T))[1][:, :-3:-1]  # the two directions of largest variance
    for ax, when, vectors in zip(figure.axes, ("before the rotation", "after the rotation"), (units[0], units[2])):
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
        drawn[(drawn.language == "target") & (drawn.panel == when)][["x", "y"]].to_numpy() for when in drawn.panel.unique()
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


def test_all_panels_lie_in_the_plane_of_the_source_s_two_components(cell_2adbbf8c, cell_1c7ed63b):
    figure = embedding_map(panels, old_rows, path=folder / "whole.png")
    drawn = pd.read_csv(folder / "whole.csv")
    assert drawn.groupby("panel", sort=False).size().to_dict() == dict.fromkeys(panels, len(scripts))
    centred = old_rows - old_rows.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred)  # ascending
    for panel, (matrix, groups) in panels.items():
        part = drawn[drawn.panel == panel]
        for axis, k in (("x", -1), ("y", -2)):
            want = (matrix - old_rows.mean(0)) @ vectors[:, k]
            assert np.allclose(np.abs(part[axis]), np.abs(want), atol=1e-6) and part.group.tolist() == list(groups)
    share = values[::-1] / values.sum()
    assert (
        figure.get_supxlabel() == f"component 1 ({share[0]:.0%} of the variance)"
        and figure.get_supylabel() == f"component 2 ({share[1]:.0%})"
    )


def test_groups_are_named_by_size_the_rest_is_other_and_the_sample_repeats(cell_2adbbf8c, cell_1c7ed63b):
    drawn = pd.read_csv(folder / "map.csv")
    assert (drawn.panel.value_counts() == 1500).all() and not drawn.duplicated(["panel", "row"]).any()
    figure = embedding_map(
        {k: panels[k] for k in ("the source model", "random")}, named=4, most=1500, path=folder / "again.png"
    )
    assert pd.read_csv(folder / "again.csv").equals(drawn)
    assert [x.get_text() for x in figure.legends[0].get_texts()] == ["Latin", "Cyrillic", "Common", "Greek", "other"]
    assert sum(len(c.get_offsets()) for c in figure.axes[0].collections) == 1500
    grey = [c for c in figure.axes[0].collections if np.allclose(c.get_facecolor()[0, :3], to_rgb(INK))]
    assert [len(c.get_offsets()) for c in grey] == [((drawn.panel == "random") & (drawn.group == "Thai")).sum()]
    with pytest.raises(ValueError, match="'short' has 1830 rows and 2 groups; give one"):
        embedding_map({"short": (old_rows, ["a", "b"])})


def test_dots_stand_at_the_means_bars_at_one_deviation_and_the_line_at_the_baseline(cell_b7b2f5a0):
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


def test_names_at_the_line_ends_keep_their_order_and_distance_and_move_as_little_as_they_must(cell_67129e56):
    rough = np.array([3.0, 1.0, 1.1, 1.05, 9.0])
    spread = _spread(rough, 0.5, 0, 10)
    assert (np.argsort(spread) == np.argsort(rough)).all() and np.diff(np.sort(spread)).min() >= 0.5 - 1e-9
    assert (
        spread[0] == 3 and spread[4] == 9 and spread[[1, 3, 2]].mean() == pytest.approx(1.05)
    )  # a crowd spreads around its middle
    assert np.allclose(_spread([9, 10, 10], 1, 0, 10), [8, 9, 10]) and np.allclose(_spread([1, 1, 1], 9, 0, 4), [0, 2, 4])
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


def test_a_logarithmic_scale_gives_equal_factors_equal_steps_and_large_numbers_are_short(cell_19ffbf12):
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


def test_cells_have_readable_numbers_on_one_scale_that_of_differences_around_zero_and_lines_between_kinds(cell_20b35de3, cell_2adbbf8c, cell_daf5a2a8):
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
                [t.get_text() for t in ax.get_xticklabels()] == list(kinds) == [t.get_text() for t in ax.get_yticklabels()]
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


def test_curves_go_through_the_means_and_the_band_is_one_deviation(cell_184c7e95):
    ax = score_curves(grown).axes[0]
    means = grown.groupby(["language", "step"], sort=False).value.mean()
    for language, line in zip(("sw", "am"), ax.lines):
        assert np.allclose(line.get_ydata(), means[language]) and np.allclose(line.get_xdata(), [0, 15, 30, 60, 120])
    band = ax.collections[0].get_paths()[0].vertices
    assert np.isclose(band[:, 1].max(), means["sw"].max() + 2)  # values 2 apart have a deviation of 2


def test_points_lie_at_their_numbers_and_the_correlation_is_pearson_s(cell_443878c2):
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


def test_curves_of_growth_go_through_the_points_and_slopes_are_in_the_legend(cell_1788feb6):
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


def test_curves_by_size_go_through_the_points_a_panel_for_each_text(cell_8aa21fa3):
    drawn = size_curves(lengths)
    assert [ax.get_title() for ax in drawn.axes] == ["Swahili", "Amharic"]
    for ax in drawn.axes:
        assert [list(line.get_ydata()) for line in ax.lines] == [[2.4, 2, 1.8], [2.7, 2.7, 2.7]]
        assert [t.get_text() for t in ax.get_xticklabels()] == ["500", "1k", "2k"] and ax.get_xscale() == "log"
    assert [t.get_text() for t in drawn.legends[0].get_texts()] == ["its own", "the source's"]
    assert len(size_curves(lengths[lengths.panel == "Swahili"].drop(columns="panel")).axes) == 1


def test_figures_keep_their_numbers_beside_them(cell_2adbbf8c, cell_f2c1aa28, cell_2d7a59d1, cell_b7b2f5a0):
    made = {p.name for p in folder.iterdir()}
    assert {
        f"{n}.{e}"
        for n in (
            "alignment",
            "bars",
            "curves",
            "dots",
            "explained",
            "flops",
            "grid",
            "grown",
            "heat",
            "map",
            "mixture",
            "perplexities",
        )
        for e in ("csv", "png")
    } <= made
    assert (
        pd.read_csv(folder / "dots.csv")["mean"].tolist() == some.value.tolist()
        and len(pd.read_csv(folder / "flops.csv")) == 2 * 6 * 2
    )
    assert np.allclose(pd.read_csv(folder / "bars.csv").value, losses.value) and list(
        pd.read_csv(folder / "curves.csv")
    ) == list(curves)
    assert pd.read_csv(folder / "mixture.csv").token.tolist() == ["ሰላም", *anchors]
    assert not plt.get_fignums()


def test_every_figure_says_what_it_shows_with_the_numbers(cell_2adbbf8c, cell_1aa20db8, cell_2d7a59d1, cell_1c7ed63b, cell_67129e56, cell_443878c2):
    flat = losses.assign(value=losses.method.map(levels))
    bars = loss_bars(flat, uniform=7.6, names={"am": "Amharic"})
    assert (
        bars.alt
        == "Bars, loss at initialisation (nats) by language (sw, Amharic, my) and method, mean over seeds: random 8.2, "
        "symbolic overlap 7.1, focus 5.1. A dashed line marks a uniform guess."
    )
    assert loss_bars(flat).alt.endswith("focus 5.1.") and bars.data.equals(flat)
    assert loss_bars(flat.assign(value=flat.seed + (flat.language == "am"))).alt.endswith(
        "random 1 to 2, symbolic overlap 1 to 2, focus 1 to 2."
    )  # of languages, not of seeds
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
        == "Curves, held-out loss (nats) over steps 0 to 3, a panel for each of sw, Amharic. At the beginning: a 8, b 6; "
        "at the end: a 2, b 1.5."
    )
    assert loss_curves(two.drop(columns="language")).alt.startswith("Curves, held-out loss (nats) over steps 0 to 3. At")
    assert (
        score_curves(two.query("method == 'a'"), ylabel="score").alt
        == "Curves, score over steps from 0 to 3. At the end: sw 2, am 2."
    )
    assert (
        row_shares(shares).alt
        == "One bar, the share of the embeddings that each step initialised: Copy 30%, SparsemaxSimilarity 65%, "
        "Gaussian 5%."
    )
    assert show_mixture("ሰላም", anchors, weights, base, np.ones((5, 20))).alt.endswith(
        "at the weighted mean of ጤና 0.50, እንኳን 0.30, ደህና 0.20."
    )
    assert (
        alignment_map(np.eye(2), np.eye(2), np.eye(2), [("a", "b"), ("c", "d")]).alt
        == "Two maps of 2 translation pairs of source and target, joined by lines. before the rotation: mean cosine "
        "1.00; after the rotation: mean cosine 1.00."
    )
    assert embedding_map(panels, most=20, named=3).alt == (
        "Maps of embedding rows in the plane of two components, coloured by group (Latin, Cyrillic, initial, other). "
        "Rows shown: the source model 20, where a word begins 20, random 20."
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
        == "Heat map, 2 by 3 cells, source language in rows and target language in columns, the numbers in the cells: d "
        "1 to 5."
    )
    assert (
        correlations(explained, {"unknown": "unknown, %"}).alt
        == "Points, F1 of 5 languages (5 to 60) over other numbers of theirs. unknown, %: r = "
        f"{np.corrcoef(explained.unknown, explained.value)[0, 1]:.2f}."
    )


def test_bars_are_as_high_as_the_means_and_the_guess_is_marked(cell_2adbbf8c):
    ax = loss_bars(losses, uniform=7.6).axes[0]
    heights = sorted(p.get_height() for p in ax.patches if p.get_width() > 0 and p.get_height() > 0)
    assert np.allclose(heights, sorted(losses.groupby(["method", "language"]).value.mean()))
    assert sum(np.allclose(line.get_ydata(), 7.6) for line in ax.lines) == 3


def test_the_plane_keeps_the_largest_differences():
    x = np.array([[0, 0, 0], [4, 0, 0], [0, 2, 0], [4, 2, 0.1]], float)
    got = _plane(x)
    assert np.allclose(np.linalg.norm(got[0] - got[1]), 4, atol=0.1) and np.allclose(
        np.linalg.norm(got[0] - got[2]), 2, atol=0.1
    )
    assert _plane(np.ones((3, 1))).shape == (3, 2)
