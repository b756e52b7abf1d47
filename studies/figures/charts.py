"""Figures in one style, readable on light and dark pages, with labels in any script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from studies.figures.embeddings import write_beside
from studies.figures.labels import label
from studies.figures.style import INK, PALETTE, LazyExtra, _number, described, plt, ranges, sns, use_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from vocab_lit.app.inspection import Verdict

colors = LazyExtra("matplotlib.colors", "chapters")
ticker = LazyExtra("matplotlib.ticker", "chapters")


def _short(value: float) -> str:  # 50000, 1e5
    return f"{value:g}" if value < 1e5 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _size(n: float) -> str:  # 500, 2k
    return _short(n) if n < 1000 else f"{n / 1000:.4g}k"


def _log_ticks(
    axis, most
):  # at 1, 2 and 5 of each power of ten, or at the powers only where that would be more than `most`
    low, high = np.log10(axis.get_view_interval())
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if 3 * (high - low) <= most else (1,), numticks=20))
    axis.set_major_formatter(lambda v, _: _short(v))
    axis.set_minor_locator(ticker.NullLocator())


def loss_curves(
    # columns method, step, value and, for a panel each, language, for dashes of their own, variant; a row per seed
    df: pd.DataFrame,
    names: dict[str, str] | None = None,  # what to write for a language
    ylabel: str = "held-out loss (nats)",
    log: bool = False,  # whether the values have a logarithmic axis, as perplexities should
    ylim: tuple[float, float] | None = None,  # lowest and highest value shown; None: all
    columns: int = 3,  # panels side by side
    path: str | Path | None = None,
) -> Figure:
    "Curves of the mean over seeds with a band of the standard deviation, a panel for each language."
    use_style()
    languages = list(dict.fromkeys(df.language)) if "language" in df else [None]
    titles = [label((names or {}).get(language) or language) if language else "" for language in languages]
    style = "variant" if "variant" in df else "method"
    columns = min(columns, len(languages))
    lines = -(-len(languages) // columns)
    fig, axes = plt.subplots(
        lines, columns, figsize=(3.2 * columns + 1.6, 2.6 * lines), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, language, title in zip(axes.flat, languages, titles):
        part = df if language is None else df[df.language == language]
        sns.lineplot(
            part,
            x="step",
            y="value",
            hue="method",
            style=style,
            errorbar="sd",
            ax=ax,
            legend=ax is axes[0, -1],
            hue_order=list(dict.fromkeys(df.method)),
            style_order=list(dict.fromkeys(df[style])),
        )
        ax.set(ylabel=ylabel, title=title)
    for ax in list(axes.flat)[len(languages) :]:
        ax.remove()
    axes[0, 0].set(yscale="log" if log else "linear", ylim=ylim)
    if log:
        _log_ticks(axes[0, 0].yaxis, 9)
    handles = {
        text: handle
        for handle, text in zip(*axes[0, -1].get_legend_handles_labels())
        if text not in ("method", "variant")
    }  # seaborn's headings
    for text in set(df[style]) - set(df.method):
        handles[text].set_color(INK)
    axes[0, -1].legend(handles.values(), handles, loc="upper left", bbox_to_anchor=(1, 1))
    ends = df[df.step == df.step.max()]
    return described(
        fig,
        df,
        f"Curves, {ylabel} over steps {df.step.min():g} to "
        f"{df.step.max():g}{', a panel for each of ' + ', '.join(titles) if len(languages) > 1 else ''}. "
        f"At the beginning: {ranges(df[df.step == df.step.min()], 'method')}; at the end: {ranges(ends, 'method')}.",
        path,
    )


def _mean_sd(df, by):  # mean over seeds; its deviation, or that of a column std where there is a single row
    out = df.groupby(by, sort=False).value.agg(["mean", "std"])
    if "std" in df:
        out["std"] = out["std"].fillna(df.groupby(by, sort=False)["std"].first())
    return out.fillna({"std": 0.0}).reset_index()


def score_dots(
    df: pd.DataFrame,  # columns method, setup, language, value; a row per seed, or one with the column std
    baseline: str = "off-the-shelf",  # the setup that is drawn as a line
    names: dict[str, str] | None = None,  # what to write for a language
    xlabel: str = "accuracy",
    columns: int = 4,  # panels side by side
    path: str | Path | None = None,
) -> Figure:
    "Scores by method, a colour for each setup and a panel for each language, in order of appearance."
    use_style()
    cells = _mean_sd(df, ["language", "setup", "method"])
    rest = cells[cells.setup != baseline]
    methods, setups, languages = (list(dict.fromkeys(x)) for x in (rest.method, rest.setup, df.language))
    titles = [label((names or {}).get(language, language)) for language in languages]
    method_names = [label(m) for m in methods]
    columns = min(columns, len(languages))
    lines = -(-len(languages) // columns)
    fig, axes = plt.subplots(
        lines,
        columns,
        sharey=True,
        squeeze=False,
        layout="constrained",
        figsize=(2.1 * columns + 2.6, (0.3 * len(methods) + 0.9) * lines + 0.3),
    )
    for ax, language, title in zip(axes.flat, languages, titles):
        for i, setup in enumerate(setups):
            part = rest[(rest.language == language) & (rest.setup == setup)]
            y = part.method.map(methods.index).astype(float) + 0.3 * (i - (len(setups) - 1) / 2)
            ax.errorbar(
                part["mean"],
                y,
                xerr=part["std"],
                linestyle="",
                marker="osD^"[i % 4],
                color=PALETTE[i],
                markersize=5,
                elinewidth=1.2,
                label=setup,
            )
        for value in cells[(cells.setup == baseline) & (cells.language == language)]["mean"]:
            ax.axvline(value, color=INK, dashes=(3, 2), label=baseline)
        ax.set(title=title, yticks=range(len(methods)), yticklabels=method_names, ylim=(len(methods) - 0.5, -0.5))
        ax.grid(axis="x", visible=False)
    for ax in list(axes.flat)[len(languages) :]:
        ax.remove()
    fig.supxlabel(xlabel, fontsize="medium", color=INK)
    handles = {text: handle for ax in fig.axes for handle, text in zip(*ax.get_legend_handles_labels())}
    fig.legend(handles=sorted(handles.values(), key=lambda h: h.get_label() == baseline), loc="outside right upper")
    return described(
        fig,
        cells,
        f"Dots, {xlabel} by method ({', '.join(methods)}), a panel for each of {', '.join(titles)}: "
        f"{ranges(cells, 'setup', 'mean')}.",
        path,
    )


def _spread(positions, gap, low, high):  # in any order; from low to high
    "The nearest positions between two bounds that keep their order and a distance of `gap`, if there is room."
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(positions, kind="stable")
    steps = min(gap, (high - low) / max(1, len(positions) - 1)) * np.arange(len(positions))
    out = np.empty(len(positions))
    out[order] = (
        isotonic_regression(np.asarray(positions, float)[order] - steps, y_min=low, y_max=high - steps[-1]) + steps
    )
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
    for (text, colour, x, y), at in zip(ends, _spread([end[3] for end in ends], 0.065 * (high - low), low, high)):
        ax.annotate(
            text,
            (x, y),
            (1.06, (at - low) / (high - low)),
            xycoords="data",
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontsize=9,
            annotation_clip=False,
            arrowprops=dict(arrowstyle="-", color=colour, alpha=0.5, linewidth=0.8, shrinkA=1, shrinkB=4),
        )


def _operations_axis(ax, wide):  # logarithmic where it is wide
    ax.set(xlabel="floating point operations of LAPT", xscale="log" if wide else "linear")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)) if wide else ticker.MaxNLocator(4))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.3g}".replace("e+", "e"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())


def score_flops(
    df: pd.DataFrame,  # columns task, language, vocabulary (reduced, full), flops, value; a row per seed
    names: dict[str, str] | None = None,  # what to write for a language
    ylabel: str = "score",
    path: str | Path | None = None,
) -> Figure:
    "Scores against the floating point operations of LAPT, a line for each language and a panel for each task."
    use_style()
    by = ["task", "language", "vocabulary"]
    cells = _mean_sd(df, by).merge(df.groupby(by, as_index=False).flops.mean())
    tasks, languages, kinds = (list(dict.fromkeys(cells[c])) for c in by)
    texts = {language: label((names or {}).get(language, language)) for language in languages}
    titles = {task: label(task) for task in tasks}
    wide = cells.flops.max() > 5 * cells.flops.min()
    fig, axes = plt.subplots(1, len(tasks), squeeze=False, layout="constrained", figsize=(4.2 * len(tasks) + 0.6, 3.6))
    for ax, task in zip(axes[0], tasks):
        of_task = cells[cells.task == task].sort_values("flops")
        lines = [(i, language, of_task[of_task.language == language]) for i, language in enumerate(languages)]
        ends = [(texts[code], *_draw_cost_line(ax, part, i, kinds)) for i, code, part in lines if len(part)]
        _operations_axis(ax, wide)
        ax.set(title=titles[task], ylabel=ylabel)
        _name_ends(ax, ends)
    style = dict(linestyle="", color=INK)
    handles = [
        plt.Line2D([], [], marker="os"[i % 2], label=f"{kind} vocabulary", **style) for i, kind in enumerate(kinds)
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(kinds))
    said = (
        f"Points joined by lines, {ylabel} over operations of training, a line for each of "
        f"{', '.join(texts.values())}, a panel for each task. "
        f"Operations: {ranges(cells, 'vocabulary', 'flops')}; {ylabel}: {ranges(cells, 'vocabulary', 'mean')}."
    )
    return described(fig, cells, said, path)


def _light(colour):  # relative luminance of WCAG 2, 0 to 1
    return np.dot(
        [0.2126, 0.7152, 0.0722], [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colour[:3]]
    )


def _brief(value, digits):  # large numbers with fewer digits, very large ones as 3.1e6
    if abs(value) >= 1e4:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:.{digits if abs(value) < 1000 else 0}f}"


def _kind_edges(languages, kinds):  # positions between two languages of different kinds
    if not kinds:
        return []
    return [i for i, (a, b) in enumerate(zip(languages, languages[1:]), 1) if kinds.get(a) != kinds.get(b)]


def _write_cells(ax, table, cmap, norm, digits):  # the numbers, in black or white
    for (i, j), value in np.ndenumerate(table.to_numpy(float)):
        if np.isfinite(value):
            ink = "black" if _light(cmap(norm(value))) > 0.18 else "white"
            ax.text(j, i, _brief(value, digits), ha="center", va="center", fontsize=9, color=ink)


def _colour_scale(low, high, difference, log):  # a map of colours, and what leads to it
    if difference:
        low, high = -max(abs(low), abs(high), 1e-9), max(abs(low), abs(high), 1e-9)
    if log and low <= 0:
        raise ValueError(f"a logarithmic scale needs numbers above 0, and the lowest is {low:g}; leave out log=True")
    return plt.get_cmap("RdBu" if difference else "cividis"), (colors.LogNorm if log else colors.Normalize)(low, high)


def _draw_heat(ax, table, scale, kinds, texts, digits, edge):  # edge: the colour between kinds
    ax.imshow(table.to_numpy(float), cmap=scale[0], norm=scale[1], aspect="auto")
    _write_cells(ax, table, *scale, digits)
    for languages, line in ((table.columns, ax.axvline), (table.index, ax.axhline)):
        for at in _kind_edges(languages, kinds):
            line(at - 0.5, color=edge, linewidth=2.5)
    for axis, languages in ((ax.xaxis, table.columns), (ax.yaxis, table.index)):
        axis.set_ticks(range(len(languages)), [texts[language] for language in languages])
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def heat_map(
    panels: dict[str, pd.DataFrame],  # title: numbers by source (rows) and target (columns)
    difference: bool = False,  # whether the colours part at zero
    log: bool = False,  # whether the colours follow the logarithm, as for perplexities; then all numbers are positive
    kinds: dict[str, str] | None = None,  # kind of each language, in whose order they come; None: no lines
    names: dict[str, str] | None = None,  # what to write for a language
    columns: int = 2,  # panels side by side
    digits: int = 1,
    xlabel: str = "target language",
    ylabel: str = "source language",
    path: str | Path | None = None,
) -> Figure:
    "Numbers of language pairs in coloured cells, all panels on one scale."
    import pandas as pd

    use_style()
    pairs = {title: p.rename_axis("source").rename_axis(columns="target").stack() for title, p in panels.items()}
    data = pd.concat([p.rename("value").reset_index().assign(panel=title) for title, p in pairs.items()])
    data = data[["panel", "source", "target", "value"]]
    scale = _colour_scale(data.value.min(), data.value.max(), difference, log)
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    shape = max(p.shape for p in panels.values())
    shown = {language for p in panels.values() for language in (*p.columns, *p.index)}
    texts = {language: label((names or {}).get(language, str(language))) for language in shown}
    texts = {language: text.replace(", ", ",\n", 1) for language, text in texts.items()}
    titles = {title: label(title) for title in panels}
    height = 0.42 if any("\n" in text for text in texts.values()) else 0.36  # of a row
    size = (max(0.47 * shape[1] + 0.7, 2.8) * columns + 1, (height * shape[0] + 0.7) * lines + 0.3)
    fig, axes = plt.subplots(lines, columns, squeeze=False, layout="constrained", figsize=size)
    for ax, (title, table) in zip(axes.flat, panels.items()):
        _draw_heat(ax, table, scale, kinds, texts, digits, INK if difference else "white")
        ax.set_title(titles[title])
    for ax in list(axes.flat)[len(panels) :]:
        ax.remove()
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
    names: dict[str, str] | None = None,  # what to write for a language
    xlabel: str = "steps",
    ylabel: str = "F1",
    path: str | Path | None = None,
) -> Figure:
    "Curves of the mean over seeds with a band of the standard deviation, one for each language."
    use_style()
    languages = list(dict.fromkeys(df.language))
    shown = df.assign(
        language=df.language.map({language: label((names or {}).get(language, language)) for language in languages})
    )
    fig, ax = plt.subplots(figsize=(5.6, 3.2))
    sns.lineplot(
        shown,
        x="step",
        y="value",
        hue="language",
        style="language",
        errorbar="sd",
        markers=["o", "s", "D", "^", "v", "P", "X", "*"][: len(languages)] if len(languages) < 9 else False,
        ax=ax,
    )
    ax.set(xlabel=xlabel, ylabel=ylabel)
    sns.move_legend(ax, "upper left", bbox_to_anchor=(1, 1), title=None)
    return described(
        fig,
        df,
        f"Curves, {ylabel} over {xlabel} from {df.step.min():g} to {df.step.max():g}. At the end: "
        f"{ranges(df[df.step == df.step.max()], 'language')}.",
        path,
    )


def correlations(
    df: pd.DataFrame,  # a row per language: columns language, value, and one for each explanation
    explanations: dict[str, str],  # column: what to write below its panel
    kinds: dict[str, str] | None = None,  # kind of each language, a colour and a mark each
    names: dict[str, str] | None = None,  # what to write for a language
    ylabel: str = "F1",
    path: str | Path | None = None,
) -> Figure:
    "Scores of languages over other numbers of theirs, with Pearson's r."
    use_style()
    shown, texts = (
        df.assign(kind=[(kinds or {}).get(code, "language") for code in df.language]),
        [label((names or {}).get(code, code)) for code in df.language],
    )
    fig, axes = plt.subplots(
        1, len(explanations), squeeze=False, sharey=True, layout="constrained", figsize=(4.2 * len(explanations), 3.4)
    )
    for ax, (column, xlabel) in zip(axes.flat, explanations.items()):
        sns.scatterplot(
            shown,
            x=column,
            y="value",
            hue="kind",
            style="kind",
            s=45,
            ax=ax,
            legend=ax is axes.flat[-1] and bool(kinds),
        )
        ax.margins(0.1)
        ax.set(
            xlabel=xlabel,
            ylabel=ylabel,
            title=f"r = {np.corrcoef(shown[column], shown.value)[0, 1]:.2f}"
            if shown[column].nunique() > 1
            else "r is not defined",
        )
    if kinds:
        sns.move_legend(axes.flat[-1], "upper left", bbox_to_anchor=(1, 1), title=None)
    fig.draw_without_rendering()
    for ax, column in zip(axes.flat, explanations):
        write_beside(ax, shown[[column, "value"]].to_numpy(float), texts, [INK] * len(texts))
    panels = "; ".join(f"{xlabel}: {ax.get_title()}" for ax, xlabel in zip(axes.flat, explanations.values()))
    return described(
        fig,
        df,
        f"Points, {ylabel} of {len(df)} languages ({_number(df.value.min())} to {_number(df.value.max())}) over "
        f"other numbers of theirs. {panels}.",
        path,
    )


def size_curves(
    df: pd.DataFrame,  # columns curve, size, value and, where there are several panels, panel; a row for each point
    ylabel: str = "tokens per word",
    xlabel: str = "tokens in the vocabulary",
    path: str | Path | None = None,
) -> Figure:
    "Curves by size on a logarithmic axis, a panel for each text."
    use_style()
    panels = df.groupby(df.panel if "panel" in df else np.full(len(df), ""), sort=False)
    curves = list(dict.fromkeys(df.curve))
    fig, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.8), squeeze=False, layout="constrained")
    for ax, (panel, part) in zip(axes.flat, panels):
        for curve, points in part.groupby("curve", sort=False):
            colour, dashes = PALETTE[curves.index(curve)], [(1, 0), (4, 1.5), (1, 1), (6, 1, 1, 1)][curves.index(curve)]
            ax.plot(points["size"], points.value, color=colour, dashes=dashes, marker="o", markersize=4, label=curve)
        sizes = sorted(part["size"][part.curve == part.curve.iloc[0]])  # of the first curve
        ax.set(xscale="log", title=panel, xlabel=xlabel, ylabel=ylabel if ax is axes.flat[0] else "")
        ax.set_xticks(sizes, [_size(n) for n in sizes])
        ax.minorticks_off()
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(panels))
    told = ", ".join(f"{panel or 'text'} {ranges(part, 'curve')}" for panel, part in panels)
    return described(fig, df, f"Curves, {ylabel} by {xlabel}: {told}.", path)


def growth_curves(
    df: pd.DataFrame,  # columns panel, side, size, value; a row for each point
    ylabel: str = "CPU seconds",
    columns: int = 3,  # panels side by side
    path: str | Path | None = None,
) -> Figure:
    "Cost by size with logarithmic axes, a panel for each kind of work and a curve for each side."
    use_style()
    panels = df.groupby("panel", sort=False)
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    fig, axes = plt.subplots(lines, columns, figsize=(3.4 * columns, 2.8 * lines), squeeze=False, layout="constrained")
    for ax, (panel, part) in zip(axes.flat, panels):
        for (side, points), colour, dashes in zip(
            part.groupby("side", sort=False), PALETTE, [(1, 0), (4, 1.5), (1, 1), (6, 1, 1, 1)] * 2
        ):
            slope = np.polyfit(np.log(points["size"]), np.log(points.value), 1)[0] if len(points) > 1 else np.nan
            ax.plot(
                points["size"],
                points.value,
                marker="o",
                markersize=4,
                color=colour,
                dashes=dashes,
                label=f"{side} {slope:.1f}",
            )
        ax.set(xscale="log", yscale="log", title=panel, ylabel=ylabel if ax in axes[:, 0] else "")
        ax.set_xticks(
            sorted(set(part["size"])),
            [_size(n) for n in sorted(set(part["size"]))],
        )
        ax.minorticks_off()
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend
        _log_ticks(ax.yaxis, 9)
        ax.legend(loc="upper left", fontsize="small", borderaxespad=0)
    for ax in list(axes.flat)[len(panels) :]:
        ax.remove()
    return described(
        fig,
        df,
        f"Curves, {ylabel} by size, both logarithmic, with the slope of each: "
        + "; ".join(f"{ax.get_title()}: {', '.join(ax.get_legend_handles_labels()[1])}" for ax in fig.axes)
        + ".",
        path,
    )


def before_and_after(
    df: pd.DataFrame,  # columns panel, case, side, value; a row for each run
    path: str | Path | None = None,
) -> Figure:
    "Bars of medians for each case and side, a panel for each measure, with the numbers."
    use_style()
    medians = df.groupby(["panel", "case", "side"], sort=False, as_index=False).value.median()
    panels, cases, sides = (list(dict.fromkeys(df[name])) for name in ("panel", "case", "side"))
    height = 0.8 / len(sides)
    size = (3.2 * len(panels) + 1, 0.7 * len(cases) + 1)
    fig, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for ax, panel in zip(axes[0], panels):
        part = medians[medians.panel == panel].set_index(["case", "side"]).value
        for i, (side, colour) in enumerate(zip(sides, PALETTE)):
            values = [part.get((case, side), np.nan) for case in cases]
            bars = ax.barh(np.arange(len(cases)) + i * height, values, 0.92 * height, color=colour, label=side)
            ax.bar_label(bars, [f"{value:,.0f}" for value in values], padding=2, fontsize="small")
        ax.set(title=panel, xlim=(0, 1.2 * part.max()))
        ax.xaxis.set_visible(False)
    axes[0][0].set_yticks(np.arange(len(cases)) + 0.4 - height / 2, [case.replace(", ", ",\n") for case in cases])
    axes[0][0].invert_yaxis()
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(sides))
    told = "; ".join(f"{panel}: {ranges(medians[medians.panel == panel], 'side')}" for panel in panels)
    return described(fig, df, f"Bars by case, {' and '.join(sides)}. {told}.", path)


def curve_points(verdict: Verdict) -> list[dict]:
    "Tokens per word by size, of each kind of vocabulary, for `size_curves`."
    grown = {row["added"]: row["extended"] for row in verdict.curve if row["added"]}
    curves = {
        "a vocabulary of its own": {row["size"]: row["tokens_per_word"] for row in verdict.curve},
        "the source's, extended by so many": grown,
        "the source's": {row["size"]: verdict.measured.tokens_per_word for row in verdict.curve},
    }
    return [dict(curve=name, size=n, value=v) for name, points in curves.items() for n, v in points.items()]
