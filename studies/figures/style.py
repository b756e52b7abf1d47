"""Figures in one style, readable on light and dark pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocab_lit.text.errors import import_extra

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class LazyExtra:
    "A module that an extra brings, for a notebook that is full of it: imported when something of it is first used."

    def __init__(
        self,
        module: str,  # as for `import_extra`
        extra: str,
    ):
        self._module, self._extra = module, extra

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)  # Python and notebooks look for many such names
        return getattr(import_extra(self._module, self._extra), name)


plt = LazyExtra("matplotlib.pyplot", "chapters")
sns = LazyExtra("seaborn", "chapters")

INK = "#7b7b7b"  # text, axes and reference lines
PALETTE = ["#0173b2", "#d55e00", "#029e73", "#b07d00", "#c46fb4", "#7b7b7b", "#0d98a6", "#c44e52"]
SANS = "DejaVu Sans"  # comes with matplotlib


_INKED = "text.color axes.labelcolor axes.titlecolor axes.edgecolor xtick.color ytick.color legend.labelcolor"
_CLEAR = "figure.facecolor axes.facecolor savefig.facecolor"
_STYLE = {
    **dict.fromkeys(_INKED.split(), INK),
    **dict.fromkeys(_CLEAR.split(), "none"),
    "grid.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 150,
    "savefig.bbox": "tight",
    "svg.fonttype": "path",
}


def use_style() -> None:
    "Set matplotlib's defaults to the style of the book."
    sns.set_theme(style="ticks", palette=PALETTE, font=[SANS], rc=_STYLE)


def panels(
    n: int,
    columns: int,  # panels side by side, at most
    size: tuple[float, float],  # width and height of a panel, in inches
    more: tuple[float, float],  # of what is beside and below all of them
    **options,  # of `plt.subplots`
) -> tuple[Figure, list[Axes]]:
    "Return a figure with n panels, line by line."
    columns = min(columns, n)
    lines = -(-n // columns)
    inches = (size[0] * columns + more[0], size[1] * lines + more[1])
    fig, axes = plt.subplots(lines, columns, squeeze=False, layout="constrained", figsize=inches, **options)
    for ax in axes.flat[n:]:
        ax.remove()
    return fig, list(axes.flat[:n])


def legend_below(fig: Figure, columns: int) -> None:
    "Name what the panels have in common, once each, below all of them."
    handles = {text: handle for ax in fig.axes for handle, text in zip(*ax.get_legend_handles_labels())}
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=columns)


def format_number(value):  # three digits that count, without trailing zeros: 7.12, 45200, 3.1e+06
    return f"{value:.0f}" if 1000 <= abs(value) < 1e5 else f"{value:.3g}"


def ranges(
    df: pd.DataFrame,  # one row per value
    by: str,  # column of the groups, in order of appearance
    value: str = "value",  # column of the numbers
    most: int = 12,  # groups told one by one; of more, how many there are and the range of all
) -> str:  # "sw 5.1 to 5.4, am 6"
    "The lowest and the highest value of each group, in words."

    def told(values):
        low, high = format_number(values.min()), format_number(values.max())
        return low if low == high else f"{low} to {high}"

    groups = [(name, part[value].dropna()) for name, part in df.groupby(by, sort=False)]
    if len(groups) > most:
        return f"{len(groups)} groups by {by}, {told(df[value].dropna())}"
    return ", ".join(f"{name} {told(values) if len(values) else 'no value'}" for name, values in groups)


def plain_cell(value: object) -> object:
    "A cell of a CSV file, which no spreadsheet takes for a formula."
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def described(
    fig: Figure,
    data: pd.DataFrame,  # what was drawn, one row per mark
    alt: str,  # what it shows, in words
    path: str | Path | None = None,  # also write the figure there, and the numbers beside it as CSV
) -> Figure:  # closed: a notebook shows the figure that a cell returns, and would show an open one twice
    "Give a figure its numbers and its description, which a notebook keeps with the image."
    carrier: Any = fig
    carrier.data, carrier.alt = data, alt
    carrier._repr_mimebundle_ = lambda **kwargs: ({"text/csv": data.to_csv(index=False)}, {"image/png": {"alt": alt}})
    if path is not None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path)
        data.map(plain_cell).to_csv(path.with_suffix(".csv"), index=False, lineterminator="\n")
    plt.close(fig)
    return fig
