"""Figures in one style, readable on light and dark pages, with labels in any script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from studies.figures.embeddings import write_beside
from studies.figures.labels import label
from studies.figures.style import (
    INK,
    PALETTE,
    LazyExtra,
    described,
    format_number,
    legend_below,
    panels,
    plt,
    ranges,
    sns,
    use_style,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from vocab_lit.app.inspection import Verdict

colors = LazyExtra("matplotlib.colors", "chapters")
ticker = LazyExtra("matplotlib.ticker", "chapters")
DASHES = [(1, 0), (4, 1.5), (1, 1), (6, 1, 1, 1)]
Names = Mapping[str, str] | None  # what to write for a language


def _unique(values: Iterable) -> list:  # in order of appearance
    return list(dict.fromkeys(values))


def _labels(languages: Iterable, names: Names = None) -> dict:  # by language
    return {language: label((names or {}).get(language, str(language))) for language in languages}


def _short(value: float) -> str:  # 50000, 1e5
    return f"{value:g}" if value < 1e5 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _size(n: float) -> str:  # 500, 2k
    return _short(n) if n < 1000 else f"{n / 1000:.4g}k"


def _log_ticks(axis, most):
    "Put ticks at 1, 2 and 5 of each power of ten, or at the powers alone where that would be more than `most`."
    low, high = np.log10(axis.get_view_interval())
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if 3 * (high - low) <= most else (1,), numticks=20))
    axis.set_major_formatter(lambda v, _: _short(v))
    axis.set_minor_locator(ticker.NullLocator())


def loss_curves(
    # columns method, step, value and, for a panel each, language, for dashes of their own, variant; a row per seed
    df: pd.DataFrame,
    names: Names = None,
    ylabel: str = "held-out loss (nats)",
    log: bool = False,  # whether the values have a logarithmic axis, as perplexities should
    ylim: tuple[float, float] | None = None,  # lowest and highest value shown; None: all
    columns: int = 3,  # panels side by side
    path: str | Path | None = None,
) -> Figure:
    "Curves of the mean over seeds with a band of the standard deviation, a panel for each language."
    use_style()
    titles = _labels(_unique(df.language), names) if "language" in df else {"": ""}
    style = "variant" if "variant" in df else "method"
    legend_width = 0.5 + 0.075 * max(map(len, [*_unique(df.method), *_unique(df[style])]))  # inches
    fig, axes = panels(len(titles), columns, (3.2, 2.6), (max(1.6, legend_width), 0), sharey=True)
    right = axes[min(columns, len(titles)) - 1]  # of the first line
    orders = dict(hue_order=_unique(df.method), style_order=_unique(df[style]))
    for ax, (language, title) in zip(axes, titles.items()):
        part = df[df.language == language] if language else df
        by = dict(x="step", y="value", hue="method", style=style)
        sns.lineplot(part, **by, **orders, errorbar="sd", ax=ax, legend=ax is right)
        ax.set(ylabel=ylabel, title=title)
    axes[0].set(yscale="log" if log else "linear", ylim=ylim)
    if log:
        _log_ticks(axes[0].yaxis, 9)
    handles = {text: handle for handle, text in zip(*right.get_legend_handles_labels())}
    handles = {text: handle for text, handle in handles.items() if text not in ("method", "variant")}  # headings
    for text in set(df[style]) - set(df.method):
        handles[text].set_color(INK)
    right.legend(handles.values(), handles, loc="upper left", bbox_to_anchor=(1, 1))
    first, last = (df[df.step == step] for step in (df.step.min(), df.step.max()))
    each = f", a panel for each of {', '.join(titles.values())}" if len(titles) > 1 else ""
    said = (
        f"Curves, {ylabel} over steps {df.step.min():g} to {df.step.max():g}{each}. "
        f"At the beginning: {ranges(first, 'method')}; at the end: {ranges(last, 'method')}."
    )
    return described(fig, df, said, path)


def _mean_sd(df, by):  # mean over seeds; its deviation, or that of a column std where there is a single row
    out = df.groupby(by, sort=False).value.agg(["mean", "std"])
    if "std" in df:
        out["std"] = out["std"].fillna(df.groupby(by, sort=False)["std"].first())
    return out.fillna({"std": 0.0}).reset_index()


def score_dots(
    df: pd.DataFrame,  # columns method, setup, language, value; a row per seed, or one with the column std
    baseline: str = "off-the-shelf",  # the setup that is drawn as a line
    names: Names = None,
    xlabel: str = "accuracy",
    columns: int = 4,  # panels side by side
    path: str | Path | None = None,
) -> Figure:
    "Scores by method, a colour for each setup and a panel for each language, in order of appearance."
    use_style()
    cells = _mean_sd(df, ["language", "setup", "method"])
    rest = cells[cells.setup != baseline]
    methods, setups = _unique(rest.method), _unique(rest.setup)
    titles, method_names = _labels(_unique(df.language), names), list(_labels(methods).values())
    fig, axes = panels(len(titles), columns, (2.1, 0.3 * len(methods) + 0.9), (2.6, 0.3), sharey=True)
    for ax, (language, title) in zip(axes, titles.items()):
        for i, setup in enumerate(setups):
            part = rest[(rest.language == language) & (rest.setup == setup)]
            y = part.method.map(methods.index).astype(float) + 0.3 * (i - (len(setups) - 1) / 2)
            look = dict(linestyle="", marker="osD^"[i % 4], color=PALETTE[i], markersize=5, elinewidth=1.2)
            ax.errorbar(part["mean"], y, xerr=part["std"], label=setup, **look)
        for value in cells[(cells.setup == baseline) & (cells.language == language)]["mean"]:
            ax.axvline(value, color=INK, dashes=(3, 2), label=baseline)
        ax.set(title=title, yticks=range(len(methods)), yticklabels=method_names, ylim=(len(methods) - 0.5, -0.5))
        ax.grid(axis="x", visible=False)
    fig.supxlabel(xlabel, fontsize="medium", color=INK)
    handles = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels())}
    fig.legend(handles=sorted(handles.values(), key=lambda h: h.get_label() == baseline), loc="outside right upper")
    said = (
        f"Dots, {xlabel} by method ({', '.join(methods)}), a panel for each of {', '.join(titles.values())}: "
        f"{ranges(cells, 'setup', 'mean')}."
    )
    return described(fig, cells, said, path)


def _spread(positions, gap, low, high):  # in any order; from low to high
    "The nearest positions between two bounds that keep their order and a distance of `gap`, if there is room."
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(positions, kind="stable")
    steps = min(gap, (high - low) / max(1, len(positions) - 1)) * np.arange(len(positions))
    ordered = np.asarray(positions, float)[order]
    out = np.empty(len(positions))
    out[order] = isotonic_regression(ordered - steps, y_min=low, y_max=high - steps[-1]) + steps
    return out


def _draw_cost_line(ax, part, i, kinds):  # of the i-th language, sorted by operations
    colour, dashes = PALETTE[i % len(PALETTE)], ("-", "--", ":")[i // len(PALETTE) % 3]
    ax.plot(part.flops, part["mean"], color=colour, linestyle=dashes)
    ax.errorbar(part.flops, part["mean"], yerr=part["std"], linestyle="", color=colour, elinewidth=1)
    for p in part.itertuples():
        ax.plot(p.flops, p.mean, "os"[kinds.index(p.vocabulary) % 2], color=colour, markersize=6)
    return colour, part.flops.iloc[-1], part["mean"].iloc[-1]


def _name_ends(ax, ends):  # text, colour and place of the end of each line
    low, high = ax.get_ylim()
    places = dict(xycoords="data", textcoords="axes fraction", va="center", fontsize=9, annotation_clip=False)
    for (text, colour, x, y), at in zip(ends, _spread([end[3] for end in ends], 0.065 * (high - low), low, high)):
        arrow = dict(arrowstyle="-", color=colour, alpha=0.5, linewidth=0.8, shrinkA=1, shrinkB=4)
        ax.annotate(text, (x, y), (1.06, (at - low) / (high - low)), color=colour, arrowprops=arrow, **places)


def _operations_axis(ax, wide):  # logarithmic where it is wide
    ax.set(xlabel="floating point operations of LAPT", xscale="log" if wide else "linear")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)) if wide else ticker.MaxNLocator(4))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.3g}".replace("e+", "e"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())


def score_flops(
    df: pd.DataFrame,  # columns task, language, vocabulary (reduced, full), flops, value; a row per seed
    names: Names = None,
    ylabel: str = "score",
    path: str | Path | None = None,
) -> Figure:
    "Scores against the floating point operations of LAPT, a line for each language and a panel for each task."
    use_style()
    by = ["task", "language", "vocabulary"]
    cells = _mean_sd(df, by).merge(df.groupby(by, as_index=False).flops.mean())
    tasks, languages, kinds = (_unique(cells[c]) for c in by)
    texts, titles = _labels(languages, names), _labels(tasks)
    wide = cells.flops.max() > 5 * cells.flops.min()
    fig, axes = panels(len(tasks), len(tasks), (4.2, 3.6), (0.6, 0))
    for ax, task in zip(axes, tasks):
        of_task = cells[cells.task == task].sort_values("flops")
        lines = [(i, language, of_task[of_task.language == language]) for i, language in enumerate(languages)]
        ends = [(texts[code], *_draw_cost_line(ax, part, i, kinds)) for i, code, part in lines if len(part)]
        _operations_axis(ax, wide)
        ax.set(title=titles[task], ylabel=ylabel)
        _name_ends(ax, ends)
    look = dict(linestyle="", color=INK)
    marks = [plt.Line2D([], [], marker="os"[i % 2], label=f"{kind} vocabulary", **look) for i, kind in enumerate(kinds)]
    fig.legend(handles=marks, loc="outside lower center", ncols=len(kinds))
    said = (
        f"Points joined by lines, {ylabel} over operations of training, a line for each of "
        f"{', '.join(texts.values())}, a panel for each task. "
        f"Operations: {ranges(cells, 'vocabulary', 'flops')}; {ylabel}: {ranges(cells, 'vocabulary', 'mean')}."
    )
    return described(fig, cells, said, path)


def _light(colour):  # relative luminance of WCAG 2, 0 to 1
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour[:3]]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def _brief(value, digits):  # large numbers with fewer digits, very large ones as 3.1e6
    if abs(value) >= 1e4:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:.{digits if abs(value) < 1000 else 0}f}"


def _colour_scale(low, high, difference, log):  # a map of colours, and what leads to it
    if difference:
        high = max(abs(low), abs(high), 1e-9)
        low = -high
    if log and low <= 0:
        raise ValueError(f"a logarithmic scale needs numbers above 0, and the lowest is {low:g}; leave out log=True")
    return plt.get_cmap("RdBu" if difference else "cividis"), (colors.LogNorm if log else colors.Normalize)(low, high)


def _draw_heat(ax, table, scale, kinds, texts, digits, edge):  # edge: the colour between kinds
    cmap, norm = scale
    ax.imshow(table.to_numpy(float), cmap=cmap, norm=norm, aspect="auto")
    for (i, j), value in np.ndenumerate(table.to_numpy(float)):
        if np.isfinite(value):
            ink = "black" if _light(cmap(norm(value))) > 0.18 else "white"
            ax.text(j, i, _brief(value, digits), ha="center", va="center", fontsize=9, color=ink)
    for languages, line, axis in ((table.columns, ax.axvline, ax.xaxis), (table.index, ax.axhline, ax.yaxis)):
        for at, (one, other) in enumerate(zip(languages, languages[1:])):
            if kinds and kinds.get(one) != kinds.get(other):
                line(at + 0.5, color=edge, linewidth=2.5)
        axis.set_ticks(range(len(languages)), [texts[language] for language in languages])
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def heat_map(
    tables: dict[str, pd.DataFrame],  # title of a panel: numbers by source (rows) and target (columns)
    difference: bool = False,  # whether the colours part at zero
    log: bool = False,  # whether the colours follow the logarithm, as for perplexities; then all numbers are positive
    kinds: dict[str, str] | None = None,  # kind of each language, in whose order they come; None: no lines
    names: Names = None,
    columns: int = 2,  # panels side by side
    digits: int = 1,
    xlabel: str = "target language",
    ylabel: str = "source language",
    path: str | Path | None = None,
) -> Figure:
    "Numbers of language pairs in coloured cells, all panels on one scale."
    import pandas as pd

    use_style()
    long = {title: p.rename_axis("source").rename_axis(columns="target").stack() for title, p in tables.items()}
    data = pd.concat([p.rename("value").reset_index().assign(panel=title) for title, p in long.items()])
    data = data[["panel", "source", "target", "value"]]
    scale = _colour_scale(data.value.min(), data.value.max(), difference, log)
    shape = max(p.shape for p in tables.values())
    texts = _labels({language for p in tables.values() for language in (*p.columns, *p.index)}, names)
    texts = {language: text.replace(", ", ",\n", 1) for language, text in texts.items()}
    height = 0.42 if any("\n" in text for text in texts.values()) else 0.36  # of a row
    size = max(0.47 * shape[1] + 0.7, 2.8), height * shape[0] + 0.7
    titles = _labels(tables)
    fig, axes = panels(len(tables), columns, size, (1, 0.3))
    for ax, (title, table) in zip(axes, tables.items()):
        _draw_heat(ax, table, scale, kinds, texts, digits, INK if difference else "white")
        ax.set_title(titles[title])
    fig.supxlabel(xlabel, fontsize="medium", color=INK)
    fig.supylabel(ylabel, fontsize="medium", color=INK)
    bar = fig.colorbar(plt.cm.ScalarMappable(scale[1], scale[0]), ax=fig.axes, shrink=0.8, pad=0.01, aspect=30)
    bar.outline.set_visible(False)
    if log:
        _log_ticks(bar.ax.yaxis, 4)
    said = (
        f"Heat map, {' by '.join(map(str, shape))} cells, {f'{ylabel} in rows and ' * bool(ylabel)}{xlabel} in "
        f"columns, the numbers in the cells: {ranges(data, 'panel')}."
    )
    return described(fig, data, said, path)


def score_curves(
    df: pd.DataFrame,  # columns language, step, value; a row per seed
    names: Names = None,
    xlabel: str = "steps",
    ylabel: str = "F1",
    path: str | Path | None = None,
) -> Figure:
    "Curves of the mean over seeds with a band of the standard deviation, one for each language."
    use_style()
    texts = _labels(_unique(df.language), names)
    fig, ax = plt.subplots(figsize=(5.6, 3.2))
    markers = list("osD^vPX*")[: len(texts)] if len(texts) < 9 else False
    by = dict(x="step", y="value", hue="language", style="language")
    sns.lineplot(df.assign(language=df.language.map(texts)), **by, errorbar="sd", markers=markers, ax=ax)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    sns.move_legend(ax, "upper left", bbox_to_anchor=(1, 1), title=None)
    ends = ranges(df[df.step == df.step.max()], "language")
    said = f"Curves, {ylabel} over {xlabel} from {df.step.min():g} to {df.step.max():g}. At the end: {ends}."
    return described(fig, df, said, path)


def correlations(
    df: pd.DataFrame,  # a row per language: columns language, value, and one for each explanation
    explanations: dict[str, str],  # column: what to write below its panel
    kinds: dict[str, str] | None = None,  # kind of each language, a colour and a mark each
    names: Names = None,
    ylabel: str = "F1",
    path: str | Path | None = None,
) -> Figure:
    "Scores of languages over other numbers of theirs, with Pearson's r."
    use_style()
    shown = df.assign(kind=[(kinds or {}).get(code, "language") for code in df.language])
    texts = [_labels(df.language, names)[code] for code in df.language]
    n = len(explanations)
    fig, axes = panels(n, n, (4.2, 3.4), (0, 0), sharey=True)
    for ax, (column, xlabel) in zip(axes, explanations.items()):
        legend = ax is axes[-1] and bool(kinds)
        sns.scatterplot(shown, x=column, y="value", hue="kind", style="kind", s=45, ax=ax, legend=legend)
        ax.margins(0.1)
        is_defined = shown[column].nunique() > 1
        r = f"r = {np.corrcoef(shown[column], shown.value)[0, 1]:.2f}" if is_defined else "r is not defined"
        ax.set(xlabel=xlabel, ylabel=ylabel, title=r)
    if kinds:
        sns.move_legend(axes[-1], "upper left", bbox_to_anchor=(1, 1), title=None)
    fig.draw_without_rendering()
    for ax, column in zip(axes, explanations):
        write_beside(ax, shown[[column, "value"]].to_numpy(float), texts, [INK] * len(texts))
    found = "; ".join(f"{xlabel}: {ax.get_title()}" for ax, xlabel in zip(axes, explanations.values()))
    low, high = format_number(df.value.min()), format_number(df.value.max())
    said = f"Points, {ylabel} of {len(df)} languages ({low} to {high}) over other numbers of theirs. {found}."
    return described(fig, df, said, path)


def size_curves(
    df: pd.DataFrame,  # columns curve, size, value and, where there are several panels, panel; a row for each point
    ylabel: str = "tokens per word",
    xlabel: str = "tokens in the vocabulary",
    path: str | Path | None = None,
) -> Figure:
    "Curves by size on a logarithmic axis, a panel for each text."
    use_style()
    groups = df.groupby(df.panel if "panel" in df else np.full(len(df), ""), sort=False)
    looks = dict(zip(_unique(df.curve), zip(PALETTE, DASHES)))
    fig, axes = panels(len(groups), len(groups), (4.2, 3.8), (0, 0))
    for ax, (panel, part) in zip(axes, groups):
        for curve, points in part.groupby("curve", sort=False):
            look = dict(zip(("color", "dashes"), looks[curve]), marker="o", markersize=4)
            ax.plot(points["size"], points.value, label=curve, **look)
        sizes = sorted(part["size"][part.curve == part.curve.iloc[0]])  # of the first curve
        ax.set(xscale="log", title=panel, xlabel=xlabel, ylabel=ylabel if ax is axes[0] else "")
        ax.set_xticks(sizes, [_size(n) for n in sizes])
        ax.minorticks_off()
    legend_below(fig, len(groups))
    told = ", ".join(f"{panel or 'text'} {ranges(part, 'curve')}" for panel, part in groups)
    return described(fig, df, f"Curves, {ylabel} by {xlabel}: {told}.", path)


def growth_curves(
    df: pd.DataFrame,  # columns panel, side, size, value; a row for each point
    ylabel: str = "CPU seconds",
    columns: int = 3,  # panels side by side
    path: str | Path | None = None,
) -> Figure:
    "Cost by size with logarithmic axes, a panel for each kind of work and a curve for each side."
    use_style()
    groups = df.groupby("panel", sort=False)
    fig, axes = panels(len(groups), columns, (3.4, 2.8), (0, 0))
    for ax, (panel, part) in zip(axes, groups):
        for (side, points), colour, dashes in zip(part.groupby("side", sort=False), PALETTE, DASHES * 2):
            slope = np.polyfit(np.log(points["size"]), np.log(points.value), 1)[0] if len(points) > 1 else np.nan
            look = dict(marker="o", markersize=4, color=colour, dashes=dashes)
            ax.plot(points["size"], points.value, label=f"{side} {slope:.1f}", **look)
        is_left = axes.index(ax) % min(columns, len(groups)) == 0
        ax.set(xscale="log", yscale="log", title=panel, ylabel=ylabel if is_left else "")
        sizes = sorted(set(part["size"]))
        ax.set_xticks(sizes, [_size(n) for n in sizes])
        ax.minorticks_off()
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend
        _log_ticks(ax.yaxis, 9)
        ax.legend(loc="upper left", fontsize="small", borderaxespad=0)
    slopes = "; ".join(f"{ax.get_title()}: {', '.join(ax.get_legend_handles_labels()[1])}" for ax in axes)
    said = f"Curves, {ylabel} by size, both logarithmic, with the slope of each: {slopes}."
    return described(fig, df, said, path)


def before_and_after(
    df: pd.DataFrame,  # columns panel, case, side, value; a row for each run
    path: str | Path | None = None,
) -> Figure:
    "Bars of medians for each case and side, a panel for each measure, with the numbers."
    use_style()
    medians = df.groupby(["panel", "case", "side"], sort=False, as_index=False).value.median()
    measures, cases, sides = (_unique(df[name]) for name in ("panel", "case", "side"))
    height = 0.8 / len(sides)
    fig, axes = panels(len(measures), len(measures), (3.2, 0.7 * len(cases) + 1), (1, 0), sharey=True)
    for ax, measure in zip(axes, measures):
        part = medians[medians.panel == measure].set_index(["case", "side"]).value
        for i, (side, colour) in enumerate(zip(sides, PALETTE)):
            values = [part.get((case, side), np.nan) for case in cases]
            bars = ax.barh(np.arange(len(cases)) + i * height, values, 0.92 * height, color=colour, label=side)
            ax.bar_label(bars, [f"{value:,.0f}" for value in values], padding=2, fontsize="small")
        ax.set(title=measure, xlim=(0, 1.2 * part.max()))
        ax.xaxis.set_visible(False)
    axes[0].set_yticks(np.arange(len(cases)) + 0.4 - height / 2, [case.replace(", ", ",\n") for case in cases])
    axes[0].invert_yaxis()
    legend_below(fig, len(sides))
    told = "; ".join(f"{measure}: {ranges(medians[medians.panel == measure], 'side')}" for measure in measures)
    return described(fig, df, f"Bars by case, {' and '.join(sides)}. {told}.", path)


def curve_points(verdict: Verdict) -> list[dict]:
    "Tokens per word by size, of each kind of vocabulary, for `size_curves`."
    curves = {
        "a vocabulary of its own": {row["size"]: row["tokens_per_word"] for row in verdict.curve},
        "the source's, extended by so many": {row["added"]: row["extended"] for row in verdict.curve if row["added"]},
        "the source's": {row["size"]: verdict.measured.tokens_per_word for row in verdict.curve},
    }
    return [dict(curve=name, size=n, value=v) for name, points in curves.items() for n, v in points.items()]
