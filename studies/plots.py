"""Figures in one style, readable on light and dark pages, with labels in any script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import regex

from vocab_lit.study.figures import (
    INK,
    PALETTE,
    _log_ticks,
    _number,
    _short,
    colors,
    described,
    label,
    plt,
    ranges,
    sns,
    ticker,
    use_style,
)

if TYPE_CHECKING:
    import pandas as pd


def _write(ax, points, texts, colours):
    "Write texts beside their points, where they cover no point and no other text, as near as there is room."
    places = [
        (r * np.cos(a), r * np.sin(a))
        for r in (8, 16, 26, 38, 52, 68)
        for a in np.pi / 8 * np.array([2, 6, 10, 14, 0, 8, 4, 12, 1, 7, 9, 15, 3, 5, 11, 13])
    ]
    at, pixels = ax.transData.transform(points), ax.figure.dpi / 72  # of a point of type
    taken = np.hstack([at - 5, at + 5])  # left, bottom, right, top
    for point, centre, text, colour in zip(points, at, texts, colours):
        if not text:
            continue
        measured = ax.text(0, 0, text, fontsize=8)
        size = measured.get_window_extent().size
        measured.remove()
        for x, y in places:
            side = 0 if abs(x) < 1 else np.sign(x)
            corner = centre + np.array([x, y]) * pixels + size * [(side - 1) / 2, -0.5]
            box = np.r_[corner, corner + size]
            inside = (box[:2] >= ax.bbox.p0).all() and (box[2:] <= ax.bbox.p1).all()
            if inside and not ((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2])).all(1).any():
                break
        taken = np.vstack([taken, box])
        ax.annotate(
            text,
            point,
            (x, y),
            textcoords="offset points",
            color=colour,
            fontsize=8,
            ha={0: "center", 1: "left", -1: "right"}[side],
            va="center",
            in_layout=False,
            arrowprops=dict(arrowstyle="-", color=colour, alpha=0.5, linewidth=0.6, shrinkA=0, shrinkB=2)
            if np.hypot(x, y) > 9
            else None,
        )


def _plane(x):  # (n, dim) to (n, 2): principal components
    x = x - x.mean(0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    u = u * np.sign(u[np.abs(u).argmax(0), np.arange(u.shape[1])])
    return np.pad((u * s)[:, :2], ((0, 0), (0, max(0, 2 - len(s)))))


def show_mixture(
    new: str,  # text of the new token
    anchors: list[str],  # texts of overlapping tokens, those that the new token is combined from and others
    weights: np.ndarray,  # (n_anchors,) sum to one
    static: np.ndarray,  # (1 + n_anchors, dim) static vectors, the new token's first
    rows: np.ndarray,  # (n_anchors, hidden) rows of the model's embedding matrix
    path: str | Path | None = None,
):
    "A new token among overlapping ones in the static space, and its embedding among theirs in the model's."
    import pandas as pd

    use_style()
    weights = np.asarray(weights, float)
    texts, used = [label(t) for t in (new, *anchors)], np.r_[True, weights > 0]
    fig, axes = plt.subplots(1, 2, layout="constrained", figsize=(9, 3.8))
    planes = _plane(static / np.linalg.norm(static, axis=1, keepdims=True)), _plane(np.vstack([weights @ rows, rows]))
    for ax, xy, title in zip(
        axes, planes, ("static vectors: which tokens are similar", "the model's embeddings: their weighted mean")
    ):
        for i in np.flatnonzero(used[1:]) + 1:
            ax.plot(
                *xy[[0, i]].T,
                color=PALETTE[1],
                alpha=0.35 + 0.6 * weights[i - 1],
                linewidth=1 + 6 * weights[i - 1],
                zorder=1,
            )
        colours = [PALETTE[0]] + [PALETTE[1] if u else INK for u in used[1:]]
        ax.scatter(*xy.T, c=colours, s=np.r_[130, 30 + 250 * weights], alpha=np.where(used, 1, 0.45), zorder=2)
        ax.set(title=title, xticks=[], yticks=[])
        ax.grid(False)
        ax.margins(0.2)
    fig.draw_without_rendering()  # before it the axes have no place
    notes = [f"{t} {weights[i - 1]:.2f}" if i and used[i] else t for i, t in enumerate(texts)]
    for ax, xy in zip(axes, planes):
        _write(ax, xy, notes, colours)
    data = pd.DataFrame(
        {
            "token": [new, *anchors],
            "weight": np.r_[np.nan, weights],
            **{f"{s}_{d}": p[:, k] for s, p in zip(("static", "model"), planes) for k, d in enumerate("xy")},
        }
    )
    mixed = ", ".join(f"{t} {w:.2f}" for t, w in zip(anchors, weights) if w > 0)
    return described(
        fig,
        data,
        f"Two maps of the token {new} and {len(anchors)} overlapping tokens, in the static space and in the model's, "
        f"where it lies at the weighted mean of {mixed}.",
        path,
    )


def _unit(x):  # rows of length one
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def _readable(text):  # nothing where its label would be code points
    said = label(text)
    return "" if said != text and regex.search(r"\[[0-9A-F]{4,}\]", said) else said


def alignment_map(
    source: np.ndarray,  # (n, dim) static vectors of source words
    target: np.ndarray,  # (n, dim) vectors of their translations, row by row
    rotated: np.ndarray,  # (n, dim) `source` after the rotation
    words: list[tuple[str, str]],  # source and target word of each row
    languages: tuple[str, str] = ("source", "target"),  # what to call the two
    path: str | Path | None = None,
):
    "Translation pairs before and after the rotation, in the plane of one PCA of target and rotated source."
    import pandas as pd
    from sklearn.decomposition import PCA

    if not source.shape == target.shape == rotated.shape or len(words) != len(source):
        raise ValueError(
            f"source {source.shape}, target {target.shape} and rotated {rotated.shape} need one shape, and one pair "
            f"of words per row; got {len(words)} pairs"
        )
    use_style()
    source, target, rotated = _unit(source), _unit(target), _unit(rotated)
    plane = PCA(2).fit(np.vstack([target, rotated]))
    to = plane.transform(target)
    texts, parts = [[_readable(w) for w in side] for side in zip(*words)], []
    sides = [label(name) for name in languages]
    fig, axes = plt.subplots(1, 2, sharex=True, sharey=True, layout="constrained", figsize=(9.6, 4.2))
    for ax, when, vectors in zip(axes, ("before the rotation", "after the rotation"), (source, rotated)):
        at = plane.transform(vectors)
        for pair in zip(at, to):
            ax.plot(*np.transpose(pair), color=INK, alpha=0.5, linewidth=1, zorder=1)
        for xy, side in ((at, 0), (to, 1)):
            ax.scatter(
                *xy.T,
                color=PALETTE[1 - side],
                marker="so"[side],
                s=28,
                zorder=2,
                label=sides[side] + " (no font for its letters)" * (not all(texts[side])),
            )
            parts.append(
                pd.DataFrame(
                    {
                        "panel": when,
                        "language": languages[side],
                        "word": [w[side] for w in words],
                        "x": xy[:, 0],
                        "y": xy[:, 1],
                    }
                )
            )
        ax.set(title=f"{when}: mean cosine {(vectors * target).sum(1).mean():.2f}", xticks=[], yticks=[])
        ax.grid(False)
        ax.margins(0.15)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    data, n = pd.concat(parts, ignore_index=True), len(words)
    fig.draw_without_rendering()  # before it the axes have no place
    for ax, (_, part) in zip(axes, data.groupby("panel", sort=False)):
        _write(ax, part[["x", "y"]].to_numpy(), sum(texts, []), [PALETTE[1]] * n + [PALETTE[0]] * n)
    return described(
        fig,
        data,
        f"Two maps of {n} translation pairs of {' and '.join(languages)}, joined by lines. "
        + "; ".join(ax.get_title() for ax in axes)
        + ".",
        path,
    )


GROUP_STYLES = [(colour, marker) for marker in "o^" for colour in PALETTE if colour != INK]  # 14; other groups are grey


def _group_names(panels, named):
    "The largest groups of all panels, by number of rows."
    import pandas as pd

    counts = pd.Series(np.concatenate([np.asarray(groups, object) for _, groups in panels.values()])).value_counts(
        sort=False
    )
    return counts.sort_values(ascending=False, kind="stable").index[:named].tolist()


def _project(panels, fit, most, seed):  # the rows drawn, and the shares of variance of the two components
    import pandas as pd
    from sklearn.decomposition import PCA

    pca, parts = PCA(2, random_state=seed).fit(fit), []
    for panel, (matrix, groups) in panels.items():
        if len(matrix) != len(groups):
            raise ValueError(f"{panel!r} has {len(matrix)} rows and {len(groups)} groups; give one group per row")
        rows = np.sort(np.random.default_rng(seed).permutation(len(matrix))[:most])
        x, y = pca.transform(np.asarray(matrix)[rows]).T
        parts.append(
            pd.DataFrame({"panel": panel, "row": rows, "group": np.asarray(groups, object)[rows], "x": x, "y": y})
        )
    return pd.concat(parts, ignore_index=True), pca.explained_variance_ratio_


def embedding_map(
    # title: (matrix (n, dim), group of each row); one kind of group per figure
    panels: dict[str, tuple[np.ndarray, list[str]]],
    fit: np.ndarray | None = None,  # (n, dim) matrix whose components are used for all panels; None: the first panel's
    most: int = 4000,  # points per panel; a larger matrix is sampled
    named: int = 12,  # groups in the legend, at most 14; the rest is "other"
    columns: int = 3,  # panels side by side
    seed: int = 0,  # of the sample
    path: str | Path | None = None,
):
    "Embedding matrices in the plane of one PCA, a panel each, points coloured by group."
    use_style()
    data, shares = _project(panels, next(iter(panels.values()))[0] if fit is None else fit, most, seed)
    names = _group_names(panels, min(named, len(GROUP_STYLES)))
    styles = {"other": (INK, "o")} if set(data.group) - set(names) else {}
    styles |= dict(zip(names, GROUP_STYLES))
    shown = data.group.where(data.group.isin(names), "other")
    columns = min(columns, len(panels))
    titles = [label(p) for p in panels]
    legend = {name: label(str(name)) for name in styles}
    fig, axes = plt.subplots(
        -(-len(panels) // columns),
        columns,
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
        figsize=(3 * columns + 1.4, 2.9 * -(-len(panels) // columns)),
    )
    for ax, panel, title in zip(axes.flat, panels, titles):
        for name, (colour, marker) in styles.items():
            part = data[(data.panel == panel) & (shown == name)]
            ax.scatter(part.x, part.y, s=6, marker=marker, color=colour, alpha=0.6, linewidths=0, rasterized=True)
        ax.set_title(title)
        ax.grid(False)
    for ax in list(axes.flat)[len(panels) :]:
        ax.remove()
    fig.supxlabel(f"component 1 ({shares[0]:.0%} of the variance)", fontsize="medium", color=INK)
    fig.supylabel(f"component 2 ({shares[1]:.0%})", fontsize="medium", color=INK)
    named_last = [n for n in styles if n != "other"] + ["other"] * ("other" in styles)
    handles = [
        plt.Line2D([], [], linestyle="", marker=styles[n][1], color=styles[n][0], markersize=6, label=legend[n])
        for n in named_last
    ]
    fig.legend(handles=handles, loc="outside right upper")
    counts = data.groupby("panel", sort=False).size()
    return described(
        fig,
        data,
        "Maps of embedding rows in the plane of two components, coloured by group "
        f"({', '.join(map(str, named_last))}). Rows shown: "
        + ", ".join(f"{panel} {n}" for panel, n in counts.items())
        + ".",
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
):
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
        ax.set(
            title=title,
            yticks=range(len(methods)),
            yticklabels=method_names,
            ylim=(len(methods) - 0.5, -0.5),
        )
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


def score_flops(
    df: pd.DataFrame,  # columns task, language, vocabulary (reduced, full), flops, value; a row per seed
    names: dict[str, str] | None = None,  # what to write for a language
    ylabel: str = "score",
    path: str | Path | None = None,
):
    "Scores against the floating point operations of LAPT, a line for each language and a panel for each task."
    use_style()
    cells = _mean_sd(df, ["task", "language", "vocabulary"]).merge(
        df.groupby(["task", "language", "vocabulary"], as_index=False).flops.mean()
    )
    tasks, languages, kinds = (list(dict.fromkeys(cells[c])) for c in ("task", "language", "vocabulary"))
    texts = {language: label((names or {}).get(language, language)) for language in languages}
    titles = {task: label(task) for task in tasks}
    fig, axes = plt.subplots(1, len(tasks), squeeze=False, layout="constrained", figsize=(4.2 * len(tasks) + 0.6, 3.6))
    for ax, task in zip(axes[0], tasks):
        ends = []
        for i, language in enumerate(languages):
            part = cells[(cells.task == task) & (cells.language == language)].sort_values("flops")
            if part.empty:
                continue
            colour, dashes = PALETTE[i % len(PALETTE)], ("-", "--", ":")[i // len(PALETTE) % 3]
            ax.plot(part.flops, part["mean"], color=colour, linestyle=dashes)
            ax.errorbar(part.flops, part["mean"], yerr=part["std"], linestyle="", color=colour, elinewidth=1)
            for p in part.itertuples():
                ax.plot(p.flops, p.mean, "os"[kinds.index(p.vocabulary) % 2], color=colour, markersize=6)
            ends.append((texts[language], colour, part.flops.iloc[-1], part["mean"].iloc[-1]))
        wide = cells.flops.max() > 5 * cells.flops.min()
        ax.set(
            title=titles[task],
            xlabel="floating point operations of LAPT",
            ylabel=ylabel,
            xscale="log" if wide else "linear",
        )
        ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)) if wide else ticker.MaxNLocator(4))
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:.3g}".replace("e+", "e"))
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())
        low, high = ax.get_ylim()
        for (text, colour, x, y), at in zip(ends, _spread([e[3] for e in ends], 0.065 * (high - low), low, high)):
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
    handles = [
        plt.Line2D([], [], linestyle="", marker="os"[i % 2], color=INK, label=f"{kind} vocabulary")
        for i, kind in enumerate(kinds)
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(kinds))
    return described(
        fig,
        cells,
        f"Points joined by lines, {ylabel} over operations of training, a line for each of "
        f"{', '.join(texts.values())}, a panel for each task. "
        f"Operations: {ranges(cells, 'vocabulary', 'flops')}; {ylabel}: {ranges(cells, 'vocabulary', 'mean')}.",
        path,
    )


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
            ax.text(j, i, _brief(value, digits), ha="center", va="center", fontsize=8, color=ink)


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
):
    "Numbers of language pairs in coloured cells, all panels on one scale."
    import pandas as pd

    use_style()
    pairs = {title: p.rename_axis("source").rename_axis(columns="target").stack() for title, p in panels.items()}
    data = pd.concat([p.rename("value").reset_index().assign(panel=title) for title, p in pairs.items()])
    data = data[["panel", "source", "target", "value"]]
    low, high = data.value.min(), data.value.max()
    if difference:
        low, high = -max(abs(low), abs(high), 1e-9), max(abs(low), abs(high), 1e-9)
    if log and low <= 0:
        raise ValueError(f"a logarithmic scale needs numbers above 0, and the lowest is {low:g}; leave out log=True")
    cmap = plt.get_cmap("RdBu" if difference else "cividis")
    norm = (colors.LogNorm if log else colors.Normalize)(low, high)
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    shape = max(p.shape for p in panels.values())
    shown = {language for p in panels.values() for language in (*p.columns, *p.index)}
    texts = {language: label((names or {}).get(language, str(language))) for language in shown}
    titles = {title: label(title) for title in panels}
    fig, axes = plt.subplots(
        lines,
        columns,
        squeeze=False,
        layout="constrained",
        figsize=(max(0.47 * shape[1] + 0.7, 2.8) * columns + 1, (0.36 * shape[0] + 0.7) * lines + 0.3),
    )

    for ax, (title, p) in zip(axes.flat, panels.items()):
        ax.imshow(p.to_numpy(float), cmap=cmap, norm=norm, aspect="auto")
        _write_cells(ax, p, cmap, norm, digits)
        for at in _kind_edges(p.columns, kinds):
            ax.axvline(at - 0.5, color=INK if difference else "white", linewidth=2.5)
        for at in _kind_edges(p.index, kinds):
            ax.axhline(at - 0.5, color=INK if difference else "white", linewidth=2.5)
        for axis, languages in ((ax.xaxis, p.columns), (ax.yaxis, p.index)):
            axis.set_ticks(range(len(languages)), [texts[language] for language in languages])
        ax.set_title(titles[title])
        ax.tick_params(length=0)
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
    for ax in list(axes.flat)[len(panels) :]:
        ax.remove()
    fig.supxlabel(xlabel, fontsize="medium", color=INK)
    fig.supylabel(ylabel, fontsize="medium", color=INK)
    bar = fig.colorbar(plt.cm.ScalarMappable(norm, cmap), ax=fig.axes, shrink=0.8, pad=0.01, aspect=30)
    bar.outline.set_visible(False)
    if log:
        _log_ticks(bar.ax.yaxis, 4)
    return described(
        fig,
        data,
        f"Heat map, {' by '.join(map(str, shape))} cells, {ylabel} in rows and {xlabel} in columns, the numbers in "
        f"the cells: {ranges(data, 'panel')}.",
        path,
    )


def score_curves(
    df: pd.DataFrame,  # columns language, step, value; a row per seed
    names: dict[str, str] | None = None,  # what to write for a language
    xlabel: str = "steps",
    ylabel: str = "F1",
    path: str | Path | None = None,
):
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
):
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
        _write(ax, shown[[column, "value"]].to_numpy(float), texts, [INK] * len(texts))
    panels = "; ".join(f"{xlabel}: {ax.get_title()}" for ax, xlabel in zip(axes.flat, explanations.values()))
    return described(
        fig,
        df,
        f"Points, {ylabel} of {len(df)} languages ({_number(df.value.min())} to {_number(df.value.max())}) over "
        f"other numbers of theirs. {panels}.",
        path,
    )


def growth_curves(
    df: pd.DataFrame,  # columns panel, side, size, value; a row for each point
    ylabel: str = "CPU seconds",
    columns: int = 3,  # panels side by side
    path: str | Path | None = None,
):
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
            [_short(n) if n < 1000 else f"{n / 1000:.4g}k" for n in sorted(set(part["size"]))],
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
