"""Figures of embeddings: mixtures, alignments, and maps of groups of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import regex

from studies.figures.labels import label
from studies.figures.style import INK, PALETTE, described, legend_below, panels, use_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


LETTERS = 9.5  # points, of what is written beside points


def write_beside(ax, points, texts, colours):
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
        measured = ax.text(0, 0, text, fontsize=LETTERS)
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
        arrow = dict(arrowstyle="-", color=colour, alpha=0.5, linewidth=0.6, shrinkA=0, shrinkB=2)
        look = dict(color=colour, fontsize=LETTERS, ha={0: "center", 1: "left", -1: "right"}[side], va="center")
        look["arrowprops"] = arrow if np.hypot(x, y) > 9 else None
        ax.annotate(text, point, (x, y), textcoords="offset points", in_layout=False, **look)


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
) -> Figure:
    "A new token among overlapping ones in the static space, and its embedding among theirs in the model's."
    import pandas as pd

    use_style()
    weights = np.asarray(weights, float)
    texts, used = [label(t) for t in (new, *anchors)], np.r_[True, weights > 0]
    fig, axes = panels(2, 2, (4.5, 3.3), (0, 0))
    planes = _plane(static / np.linalg.norm(static, axis=1, keepdims=True)), _plane(np.vstack([weights @ rows, rows]))
    titles = "static vectors: which tokens are similar", "the model's embeddings: their weighted mean"
    colours = [PALETTE[0]] + [PALETTE[1] if u else INK for u in used[1:]]
    for ax, xy, title in zip(axes, planes, titles):
        for i in np.flatnonzero(used[1:]) + 1:
            weight = weights[i - 1]
            look = dict(color=PALETTE[1], alpha=0.35 + 0.6 * weight, linewidth=1 + 6 * weight, zorder=1)
            ax.plot(*xy[[0, i]].T, **look)
        ax.scatter(*xy.T, c=colours, s=np.r_[130, 30 + 250 * weights], alpha=np.where(used, 1, 0.45), zorder=2)
        ax.set(title=title, xticks=[], yticks=[])
        ax.grid(False)
        ax.margins(0.2)
    fig.draw_without_rendering()  # before it the axes have no place
    weighed = [f"{t} {weights[i - 1]:.2f}" if i and used[i] else t for i, t in enumerate(texts)]
    for ax, xy, notes in zip(axes, planes, (texts, weighed)):
        write_beside(ax, xy, notes, colours)
    data = pd.DataFrame({"token": [new, *anchors], "weight": np.r_[np.nan, weights]})
    data[["static_x", "static_y", "model_x", "model_y"]] = np.hstack(planes)
    mixed = ", ".join(f"{t} {w:.2f}" for t, w in zip(anchors, weights) if w > 0)
    said = (
        f"Two maps of the token {new} and {len(anchors)} overlapping tokens, in the static space and in the model's, "
        f"where it lies at the weighted mean of {mixed}."
    )
    return described(fig, data, said, path)


def _unit(x):  # rows of length one
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


def _readable(text):  # nothing where its label would be code points
    said = label(text)
    return "" if said != text and regex.search(r"\[[0-9A-F]{4,}\]", said) else said


def _draw_pairs(ax, source, target, sides):  # (n, 2) points, and what the legend calls them
    for pair in zip(source, target):
        ax.plot(*np.transpose(pair), color=INK, alpha=0.5, linewidth=1, zorder=1)
    for points, colour, marker, said in zip((source, target), (PALETTE[1], PALETTE[0]), "so", sides):
        ax.scatter(*points.T, color=colour, marker=marker, s=28, zorder=2, label=said)


def _points_of_pairs(panel, words, languages, sides) -> list[pd.DataFrame]:  # sides: (n, 2) points of each language
    import pandas as pd

    return [
        pd.DataFrame(dict(panel=panel, language=language, word=side, x=points[:, 0], y=points[:, 1]))
        for language, side, points in zip(languages, zip(*words), sides)
    ]


def alignment_map(
    source: np.ndarray,  # (n, dim) static vectors of source words
    target: np.ndarray,  # (n, dim) vectors of their translations, row by row
    rotated: np.ndarray,  # (n, dim) `source` after the rotation
    words: list[tuple[str, str]],  # source and target word of each row
    languages: tuple[str, str] = ("source", "target"),  # what to call the two
    path: str | Path | None = None,
) -> Figure:
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
    there = plane.transform(target)
    texts, parts = [[_readable(w) for w in side] for side in zip(*words)], []
    unreadable = [" (no font for its letters)" * (not all(side)) for side in texts]
    sides = [label(name) + note for name, note in zip(languages, unreadable)]
    fig, axes = panels(2, 2, (4.8, 3.3), (0, 0), sharex=True, sharey=True)
    for ax, when, vectors in zip(axes, ("before the rotation", "after the rotation"), (source, rotated)):
        here = plane.transform(vectors)
        _draw_pairs(ax, here, there, sides)
        parts += _points_of_pairs(when, words, languages, (here, there))
        ax.set(title=f"{when}: mean cosine {(vectors * target).sum(1).mean():.2f}", xticks=[], yticks=[])
        ax.grid(False)
        ax.margins(0.15)
    legend_below(fig, 2)
    data, n = pd.concat(parts, ignore_index=True), len(words)
    fig.draw_without_rendering()  # before it the axes have no place
    for ax, (_, part) in zip(axes, data.groupby("panel", sort=False)):
        write_beside(ax, part[["x", "y"]].to_numpy(), sum(texts, []), [PALETTE[1]] * n + [PALETTE[0]] * n)
    said = f"Two maps of {n} translation pairs of {' and '.join(languages)}, joined by lines. "
    return described(fig, data, said + "; ".join(ax.get_title() for ax in axes) + ".", path)


SCRIPT_NAMES = {"Latn": "Latin", "Cyrl": "Cyrillic"}
TOKEN_SIZE = 26  # of a marker, in square points


def group_map(
    tokens: pd.DataFrame,  # columns script and position, and those of the two panels: first, second, x, y
    path: str | Path | None = None,
) -> Figure:
    "Tokens on two principal components, and on the axes between the means of their groups: a colour for each script."
    use_style()
    planes = {
        "two principal components": ("first", "second", "component 1", "component 2"),
        "axes between the means of the groups": ("x", "y", "word-internal → word-initial", "Cyrillic → Latin"),
    }
    colours = dict(zip(SCRIPT_NAMES, PALETTE))
    fig, axes = panels(2, 2, (4.5, 3.6), (0, 0))
    for ax, (title, (across, up, below, beside)) in zip(axes, planes.items()):
        for (script, position), part in tokens.groupby(["script", "position"], sort=False):
            colour = colours[script]
            filled = colour if position == "word-initial" else "none"
            name = f"{SCRIPT_NAMES[script]}, {position}"
            look = dict(s=TOKEN_SIZE, facecolors=filled, edgecolors=colour, alpha=0.75)
            ax.scatter(part[across], part[up], label=name, **look)
        ax.set(title=title, xlabel=below, ylabel=beside, xticks=[], yticks=[])
        ax.grid(False)
    legend_below(fig, 2)
    counts = tokens.groupby(["script", "position"], sort=False).size()
    groups = ", ".join(f"{SCRIPT_NAMES[script]} {position} {n}" for (script, position), n in counts.items())
    said = "Tokens of four groups overlap on two principal components, and are apart on the axes between the means"
    return described(fig, tokens, f"{said}: {groups}.", path)


def token_planes(
    tokens: pd.DataFrame,  # columns model, panel, script, position, x and y
    by: Sequence[str] = ("script",),  # the columns that choose the colour, and the filling where there are two
    path: str | Path | None = None,
) -> Figure:
    "Tokens on two components, a row of panels for each model: a colour for each script, filled at the start of a word."
    use_style()
    models, planes = (list(dict.fromkeys(tokens[column])) for column in ("model", "panel"))
    scripts = list(dict.fromkeys(tokens.script))
    fig, axes = panels(len(models) * len(planes), len(planes), (2.6, 2.6), (0.4, 0.4))
    for (model, panel), part in tokens.groupby(["model", "panel"], sort=False):
        ax = axes[models.index(model) * len(planes) + planes.index(panel)]
        for (script, position), points in part.groupby(["script", "position"], sort=False):
            colour, filled = PALETTE[scripts.index(script)], "position" not in by or position == "word-initial"
            name = ", ".join([SCRIPT_NAMES.get(script, script), position][: len(by)])
            face = colour if filled else "none"
            ax.scatter(points.x, points.y, s=TOKEN_SIZE / 2, facecolors=face, edgecolors=colour, alpha=0.7, label=name)
        ax.set(title=f"{panel}, {model}" if len(models) > 1 else panel, xticks=[], yticks=[])
        ax.grid(False)
    legend_below(fig, 3)
    said = f"Tokens on two principal components, panels {', '.join(planes)}; scripts: {', '.join(scripts)}."
    return described(fig, tokens, said, path)
