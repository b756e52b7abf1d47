"""Pictures of README and the book: tokens of a line under two vocabularies, as SVG and as a card for links."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tools.facts import real_numbers
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLE = "Kiajemi – Afghanistan; Kipashto – Kiarabu."  # Swahili: Persian – Afghanistan; Pashto – Arabic
SHOWN = "▁Kiarabu"  # the new token of the example whose sources are shown
N_WORDS = 7  # of the real verse that the picture shows
_SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
_COLOURS = {  # fill and border by where an embedding comes from or what becomes of it, with the legend
    "copied": ("#e3eefb", "#4a7fc1", "overlapping: copied"),
    "left": ("#ffe8e4", "#d1705c", "not in the target vocabulary"),
    "new": ("#dff3e4", "#4b9e67", "new: a convex combination, here of Arabic-speaking places"),
}
_DARK = {  # light colours with those that replace them on dark pages
    "#ffffff": "#161b22",
    "#24292f": "#e6edf3",
    "#57606a": "#a9b3bd",
    "#e3eefb": "#16365a",
    "#ffe8e4": "#55271f",
    "#dff3e4": "#174226",
}


def _text(x, y, text, size: float = 13, colour="#57606a", weight=400, anchor="start", font=_SANS) -> str:
    style = f'font-size="{size}" fill="{colour}" font-weight="{weight}" text-anchor="{anchor}" font-family="{font}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{text}</text>'


def _boxes(x: float, y: float, tokens, gap: float = 3) -> tuple[list[str], list[float]]:  # tokens: (text, kind) each
    "Boxes side by side, and the middle of each."
    boxes, middles = [], []
    for text, kind in tokens:
        width, (fill, border, _) = 8.2 * len(text) + 9, _COLOURS[kind]
        shape = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="30" rx="5"'
        middles.append(x + width / 2)
        boxes.append(f'<rect {shape} fill="{fill}" stroke="{border}"/>')
        boxes.append(_text(round(middles[-1]), y + 20, text, 13.5, "#24292f", 400, "middle", _MONO))
        x += width + gap
    return boxes, middles


def _picture(width: int, height: int, border: str, description: str, lines: list[str]) -> str:
    "An SVG file with a frame, in the colours of the page that shows it."
    rules = "".join(f'[fill="{light}"]{{fill:{dark}}}' for light, dark in _DARK.items())
    shape = f'x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"'
    head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    drawn = "\n".join([style, f'<rect {shape} fill="#ffffff" stroke="{border}"/>', *lines])
    return f'<svg {head} role="img" aria-label="{description}"><title>{description}</title>{drawn}</svg>\n'


@cache
def example_run():  # as in the README: source tokenizer, target tokenizer and the plan of FOCUS
    from testkit.phrasebook import lines
    from vocab_lit.methods.registry import get_recipe
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.train import train_tokenizer
    from vocab_lit.tokens.vocab import Vocab
    from vocab_lit.vectors.token_vectors import token_vectors

    text = list(lines("sw", 4000, seed=0))
    source = load_tokenizer(data_path("models", "mini-xlmr"))
    target = train_tokenizer(text, "unigram", vocab_size=700)
    vocabs = Vocab.from_tokenizer(source), Vocab.from_tokenizer(target)
    return source, target, get_recipe("focus").plan(*vocabs, token_vectors(target, text))


def example_tokens():
    "Tokens of the source and of the target, each with where its embedding comes from or what becomes of it."
    source, target, plan = example_run()
    copied = set(source.convert_ids_to_tokens([int(i) for i in plan.copied if i >= 0]))
    before = [(token, "copied" if token in copied else "left") for token in source.tokenize(EXAMPLE)]
    ids = target(EXAMPLE, add_special_tokens=False)["input_ids"]
    return before, [(target.convert_ids_to_tokens(i), "copied" if plan.copied[i] >= 0 else "new") for i in ids]


def _sources(terms, to: float) -> list[str]:  # rows of `explain`, and the middle of the token's box
    "The sources of a token, with a line from each that is as thick as its weight."
    names = [(f"{weight:.2f} × {source}".lstrip("0"), "copied") for source, weight in zip(terms.source, terms.weight)]
    boxes, middles = _boxes(170, 228, names, 8)
    path = '<path d="M{0:.0f},228 C{0:.0f},196 {1:.0f},206 {1:.0f},172" fill="none" stroke="#4b9e67" {2}/>'
    widths = [f'stroke-width="{1 + 10 * weight:.1f}" stroke-opacity=".55"' for weight in terms.weight]
    return boxes + [path.format(middle, to, width) for middle, width in zip(middles, widths)]


@cache
def idea_picture() -> str:  # SVG
    "The example's tokens under both vocabularies, and the sources of one new embedding."
    before, after = example_tokens()
    terms = example_run()[2].explain(SHOWN)
    shown = terms.head(4)
    description = (
        f"A Swahili line is tokenized into {len(before)} tokens by the source vocabulary and into {len(after)} by the "
        "target vocabulary. Overlapping tokens keep their embeddings; that of the new token Kiarabu, Arabic, is a "
        f"convex combination of {len(terms)} of these, most of all those of {', '.join(shown.source.str.strip('▁'))}."
    )
    meaning = "Swahili: Persian – Afghanistan; Pashto – Arabic."
    drawn = [_text(24, 42, EXAMPLE, 17, "#24292f", 600), _text(916, 42, meaning, 14, anchor="end")]
    labels = {
        86: ("source vocabulary", f"{len(before)} tokens"),
        152: ("target vocabulary", f"{len(after)} tokens"),
        240: ("its embedding", "by FOCUS"),
    }
    for y, (label, below) in labels.items():
        drawn += [_text(24, y, label, 15, "#24292f"), _text(24, y + 18, below)]
    boxes, middles = _boxes(170, 140, after)
    to = middles[[token for token, _ in after].index(SHOWN)]
    drawn += [*_boxes(170, 74, before)[0], *boxes, *_sources(shown, to)]
    for x, (fill, border, text) in zip((24, 195, 420), _COLOURS.values()):
        drawn.append(f'<rect x="{x}" y="286" width="14" height="14" rx="3" fill="{fill}" stroke="{border}"/>')
        drawn.append(_text(x + 21, 298, text))
    return _picture(940, 318, "#d0d7de", description, drawn)


def _first_words(pieces, n: int) -> list[tuple[str, str]]:  # pieces: (text, whether it is new) each
    "Tokens of the first words, without the blank before a word."
    starts = [i for i, (text, _) in enumerate(pieces) if i == 0 or text.startswith(" ")]
    return [(text.strip(), "new" if is_new else "copied") for text, is_new in pieces[: [*starts, len(pieces)][n]]]


def _wrapped_boxes(x: float, y: int, tokens, right: float) -> tuple[list[str], int]:
    "Boxes, with a new row where one would reach too far, and where the next row begins."
    boxes, row = [], []
    for token in tokens:
        if row and x + sum(8.2 * len(text) + 12 for text, _ in [*row, token]) > right:
            boxes += _boxes(x, y, row)[0]
            y, row = y + 36, []
        row.append(token)
    return [*boxes, *_boxes(x, y, row)[0]], y + 36


@cache
def real_picture() -> str:  # SVG
    "A real line under the vocabulary of Gemma 3 and under the extended one, and what became of the model."
    from studies.trials import real_page as page

    verse, numbers, y = page.load_record()["said"], real_numbers(), 88
    sides = [_first_words(verse[side]["pieces"], N_WORDS) for side in ("before", "after")]
    before, after = map(len, sides)
    changes = ", ".join(f"{name} from {old} to {new}" for name, (old, new) in numbers.items())
    description = f"A Chichewa line takes {before} tokens in Gemma 3's vocabulary, {after} with 2,000 more; {changes}."
    drawn = [
        _text(16, 32, "But Jonah rose up to flee unto Tarshish", 16, "#24292f", 600),
        _text(16, 54, "a line of Chichewa, which is spoken in Malawi", 15),
    ]
    for title, tokens in zip(("Gemma 3: {} tokens", "with 2,000 tokens more: {} tokens (green: new)"), sides):
        boxes, below = _wrapped_boxes(16, y + 12, tokens, 384)
        drawn += [_text(16, y, title.format(len(tokens)), 15), *boxes]
        y = below + 28
    for i, (name, (old, new)) in enumerate(numbers.items()):
        x, down = 16 + 190 * (i % 2), y + 8 + 60 * (i // 2)
        drawn += [_text(x, down, name, 16), _text(x, down + 26, f"{old} → {new}", 20, "#24292f", 600)]
    return _picture(400, y + 110, "#8c959f", description, drawn)


def social_card() -> Figure:  # 1,200 x 630 pixels
    "The example's tokens under both vocabularies, as a picture that goes with links to the book."
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    card = Figure(figsize=(12, 6.3), dpi=100, facecolor="#20242b")
    renderer = FigureCanvasAgg(card).get_renderer()
    card.text(0.05, 0.82, "vocab_lit", color="white", fontsize=46, fontweight="bold")
    card.text(0.05, 0.72, "A new vocabulary for a new language", color="#c9ced6", fontsize=26)
    rows = (0.5, "#8a4b08", "source vocabulary"), (0.22, "#01785a", "target vocabulary")
    for (y, colour, heading), tokens in zip(rows, example_tokens()):
        card.text(0.05, y, f"{heading}: {len(tokens)} tokens", color="#c9ced6", fontsize=20)
        x, box = 0.055, dict(boxstyle="round,pad=0.35", facecolor=colour, edgecolor="none")
        for token, _ in tokens:
            drawn = card.text(x, y - 0.1, token, color="white", fontsize=14, bbox=box)
            x = drawn.get_window_extent(renderer).x1 / card.bbox.width + 0.015
    return card
