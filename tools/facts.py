"""Numbers and tables that the README and the book's first page tell, computed from the records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from studies.advice.of_study import ner_scores, vocabulary_pays
from studies.advice.of_ways import ADAPTED  # the module registers more
from studies.records.summaries import ADVICE, CHAPTER, FIELD, SPEEDRUN, STUDY, lead_left, rows_of
from studies.trials.retained_words import RECORD as WORDS_RECORD
from vocab_lit.runs.measure import Measure, read_measures
from vocab_lit.text.corpus import data_path
from vocab_lit.text.markup import markdown_cell, markdown_table
from vocab_lit.training.recommended import LAPT_RATES, REPLAY, RETAINED_WORDS, RETENTION, RETENTION_SAMPLED, format_rate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


# name of a marker to what computes its text, in Markdown
FACTS: dict[str, Callable[[], str]] = {name: cache(piece.says) for name, piece in ADVICE.items()}
RECORDS: dict[str, tuple[str, ...]] = {}  # of the facts below: files in `data`


def _fact(*records):
    "Register what computes a fact from records under its name, to be computed once."

    def register(compute):
        FACTS[compute.__name__], RECORDS[compute.__name__] = cache(compute), records
        return FACTS[compute.__name__]

    return register


PAPERS = ("focus", "embedding-structure", "wechsel", "mad-x", "unks-everywhere")
EVIDENCE = {  # source of verdicts to its heading; one of which there are no records has no column
    "published": "the papers' own numbers",
    "recorded": "ours, *recorded*",
    "field": "ours, *field*",
}


@cache
def judged() -> pd.DataFrame:  # a row for each claim and source, as `verdicts` gives
    "What the papers' numbers, the recorded study and the field trial say about every claim."
    from studies.papers.claims import load_claims, read_records, verdicts
    from studies.records.recorded import with_study
    from studies.trials.field import with_field

    records = with_field(with_study(read_records("no records but those of the package")))
    judgements = verdicts(load_claims(), records.loc[records.scale.isin(list(EVIDENCE))], strict=False)
    return judgements.loc[judgements.source.isin(list(EVIDENCE))]


def _counts(source):  # claims of each verdict; those not checked and those without numbers are one group
    judgements = judged()
    counts = judgements.loc[judgements.source == source, "verdict"].value_counts()
    counts = counts.reindex(["supported", "contradicted", "undecided"], fill_value=0)
    counts["no verdict"] = judgements.id.nunique() - counts.sum()
    return counts


@_fact("claims")
def findings() -> str:
    "How many claims there are, and what the papers' own numbers say about them."
    n = _counts("published")
    return (
        f"of {n.sum()} findings {n['supported']} are supported, {n['contradicted']} contradicted, {n['undecided']} "
        f"undecided, and {n['no verdict']} cannot be checked"
    )


@_fact("claims", STUDY, FIELD)
def evidence() -> str:
    "A table of verdicts, a column for each kind of numbers; each column adds up to the number of claims."
    there = set(judged().source)
    counts = {heading: _counts(source) for source, heading in EVIDENCE.items() if source in there}
    rows = [
        [verdict, *(str(n[verdict]) for n in counts.values())]
        for verdict in ("supported", "contradicted", "undecided", "no verdict")
    ]
    total = ["**all**", *(f"**{n.sum()}**" for n in counts.values())]
    return markdown_table(["findings of the papers", *counts], [*rows, total], markdown_cell)


@_fact(*(f"published/{name}.csv" for name in PAPERS))
def averages() -> str:
    "How many printed averages there are, and how many do not follow from their rows."
    from studies.papers.printed import mismatches, published, recompute_averages

    scores = ["accuracy", "F1", "EM", "UAS", "LAS", "accuracy / F1"]
    papers = map(published, PAPERS)
    recomputed = [recompute_averages(rows.loc[rows.metric.isin(scores)]) for rows in papers]
    return f"{sum(len(mismatches(a)) for a in recomputed)} of {sum(map(len, recomputed))} averages"


@cache
def swahili_losses() -> pd.Series:  # nats, by (method, step)
    "Held-out losses of FOCUS and of random mapping in Swahili, means over seeds."
    from studies.records.recorded import study_rows

    rows = study_rows("focus").query("scale == 'mini' and what == 'curve' and metric == 'loss' and language == 'sw'")
    rows = rows.assign(step=rows.step.astype(int))
    return rows.groupby(["method", "step"]).value.mean()


def _study(claim: str) -> pd.Series:
    "What the recorded study says about a claim, by its id."
    return judged().query("id == @claim and source == 'recorded'").iloc[0]


def _sentence(told: str) -> str:
    return f"{told[0].upper()}{told[1:]}"


@cache
def _results() -> list[str]:
    "Five results, each a line of a list."
    unknown = ner_scores().unknown
    start, symbols, short = map(_study, ("focus-start-random", "focus-few-shared", "unks-short-rand"))
    told = (
        vocabulary_pays(),
        f"**The overlap decides.** FOCUS starts {start.effect:.1f} nats below random mapping; copying digits and "
        f"punctuation alone, {symbols.effect:.1f}.",
        "**The fallback decides more than the rule.** Sampling by script has no rule for an unknown script: NER is "
        f"{unknown['rule']:.0f} with N(0, 1) as the fallback, {unknown['source Gaussian']:.0f} with the source's "
        "Gaussian.",
        f"**Training brings initialisations together.** {_sentence(lead_left())}.",
        f"**Not everything replicates.** Low-dimensional embeddings lose {-short.effect:.0f} points of F1, in "
        f"{short.pairs - short.agree:.0f} of {short.pairs:.0f} pairs.",
    )
    return [f"- {line}" for line in told]


@_fact(STUDY, FIELD)
def results() -> str:
    "Five results as a list."
    return "\n".join(_results())


@_fact(STUDY, FIELD)
def first_results() -> str:
    "The first two, for README."
    return "\n".join(_results()[:2])


EXAMPLE = "Kiajemi – Afghanistan; Kipashto – Kiarabu."  # Swahili: Persian – Afghanistan; Pashto – Arabic


@cache
def _example_run():  # as in the README: source tokenizer, target tokenizer and the plan of FOCUS
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


def _example_tokens():  # of the source vocabulary, and of one of 700 tokens
    source, target, _ = _example_run()
    return source.tokenize(EXAMPLE), target.tokenize(EXAMPLE)


@_fact(STUDY)
def before_after() -> str:
    "Losses of the example's language before and after training, under its picture."
    focus, random = (swahili_losses().xs(method) for method in ("focus", "random"))
    return (
        f"Held-out loss in {focus.index.max()} steps: from **{focus.iloc[0]:.1f} to {focus.iloc[-1]:.1f} nats** with "
        f"FOCUS, from {random.iloc[0]:.1f} to {random.iloc[-1]:.1f} with random mapping."
    )


SHOWN = "▁Kiarabu"  # the new token of the example whose sources are shown
_SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
_COLOURS = {  # fill and border by where an embedding comes from or what becomes of it, with the legend
    "copied": ("#e3eefb", "#4a7fc1", "overlapping: copied"),
    "left": ("#ffe8e4", "#d1705c", "not in the target vocabulary"),
    "new": ("#dff3e4", "#4b9e67", "new: a convex combination, here of Arabic-speaking places"),
}
_DARK = {  # what stands for a light colour where the page is dark
    "#ffffff": "#161b22",
    "#24292f": "#e6edf3",
    "#57606a": "#a9b3bd",
    "#e3eefb": "#16365a",
    "#ffe8e4": "#55271f",
    "#dff3e4": "#174226",
}


def _svg_style():  # an image follows the colour scheme of the page that shows it
    rules = "".join(f'[fill="{light}"]{{fill:{dark}}}' for light, dark in _DARK.items())
    return f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"


def _svg_text(x, y, text, size: float = 13, colour="#57606a", weight=400, anchor="start", font=_SANS):
    style = f'font-size="{size}" fill="{colour}" font-weight="{weight}" text-anchor="{anchor}" font-family="{font}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{text}</text>'


def _svg_boxes(x, y, tokens, gap):  # (text, kind) each
    "Boxes side by side, and the middle of each."
    made, middles = [], []
    for text, kind in tokens:
        width, (fill, border, _) = 8.2 * len(text) + 9, _COLOURS[kind]
        middles.append(x + width / 2)
        made.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="30" rx="5" fill="{fill}" stroke="{border}"/>'
        )
        made.append(_svg_text(round(middles[-1]), y + 20, text, 13.5, "#24292f", 400, "middle", _MONO))
        x += width + gap
    return made, middles


def _example_kinds():  # tokens of the source and of the target, each with where its embedding comes from or goes
    source, target, plan = _example_run()
    copied = set(source.convert_ids_to_tokens([int(i) for i in plan.copied if i >= 0]))
    before = [(token, "copied" if token in copied else "left") for token in source.tokenize(EXAMPLE)]
    ids = target(EXAMPLE, add_special_tokens=False)["input_ids"]
    return before, [(target.convert_ids_to_tokens(i), "copied" if plan.copied[i] >= 0 else "new") for i in ids]


def _svg_legend():
    made = []
    for x, (fill, border, text) in zip((24, 195, 420), _COLOURS.values()):
        made.append(f'<rect x="{x}" y="286" width="14" height="14" rx="3" fill="{fill}" stroke="{border}"/>')
        made.append(_svg_text(x + 21, 298, text))
    return made


def _svg_sources(shown, to):  # rows of `explain`, and the middle of the token that they make
    "The sources of a token, with a line from each that is as thick as its weight."
    terms = [(f"{weight:.2f} × {source}".lstrip("0"), "copied") for source, weight in zip(shown.source, shown.weight)]
    boxes, middles = _svg_boxes(170, 228, terms, 8)
    path = '<path d="M{0:.0f},228 C{0:.0f},196 {1:.0f},206 {1:.0f},172" fill="none" stroke="#4b9e67" {2}/>'
    widths = [f'stroke-width="{1 + 10 * weight:.1f}" stroke-opacity=".55"' for weight in shown.weight]
    return boxes + [path.format(middle, to, width) for middle, width in zip(middles, widths)]


@cache
def idea_picture() -> str:  # SVG
    "The example's tokens under both vocabularies, and what one new embedding is made of."
    before, after = _example_kinds()
    terms = _example_run()[2].explain(SHOWN)
    shown = terms.head(4)
    of = ", ".join(shown.source.str.strip("▁"))
    says = (
        f"A Swahili line is tokenized into {len(before)} tokens by the source vocabulary and into {len(after)} by the "
        "target vocabulary. Overlapping tokens keep their embeddings; that of the new token Kiarabu, Arabic, is a "
        f"convex combination of {len(terms)} of these, most of all those of {of}."
    )
    boxes_before, _ = _svg_boxes(170, 74, before, 3)
    boxes_after, middles = _svg_boxes(170, 140, after, 3)
    to = middles[[token for token, _ in after].index(SHOWN)]
    sources = _svg_sources(shown, to)
    return _svg_frame(says, len(before), len(after)).format("\n".join([*boxes_before, *boxes_after, *sources]))


def _svg_frame(says, before, after):  # with a place for the boxes
    head = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 318" width="940" height="318" role="img"'
    frame = '<rect x=".5" y=".5" width="939" height="317" rx="10" fill="#ffffff" stroke="#d0d7de"/>'
    meaning = "Swahili: Persian – Afghanistan; Pashto – Arabic."
    texts = [_svg_text(24, 42, EXAMPLE, 17, "#24292f", 600), _svg_text(916, 42, meaning, 14, anchor="end")]
    labels = (
        ("source vocabulary", f"{before} tokens"),
        ("target vocabulary", f"{after} tokens"),
        ("its embedding", "by FOCUS"),
    )
    for y, (label, below) in zip((86, 152, 240), labels):
        texts += [_svg_text(24, y, label, 15, "#24292f"), _svg_text(24, y + 18, below)]
    style = _svg_style().replace("{", "{{").replace("}", "}}")
    lines = "\n".join([style, frame, *texts, "{}", *_svg_legend()])
    return f'<svg {head} aria-label="{says}"><title>{says}</title>{lines}</svg>\n'


N_BOXES = 7  # words of the real verse that the picture shows
_REAL_MEANING = ("But Jonah rose up to flee unto Tarshish", "a line of Chichewa, which is spoken in Malawi")


def _first_words(pieces, n):  # those of n words, without the blank before a word
    "Tokens of the first words, each with whether it is new."
    starts = [i for i, (text, _) in enumerate(pieces) if i == 0 or text.startswith(" ")]
    return [(text.strip(), "new" if is_new else "copied") for text, is_new in pieces[: [*starts, len(pieces)][n]]]


def _svg_rows(left, y, tokens, right):  # boxes, with a new row where one would reach too far
    made, row = [], []
    for token in tokens:
        if row and left + _svg_width([*row, token]) > right:
            made += _svg_boxes(left, y, row, 3)[0]
            y, row = y + 36, []
        row.append(token)
    return [*made, *_svg_boxes(left, y, row, 3)[0]], y + 36


def _svg_width(tokens):
    return sum(8.2 * len(text) + 12 for text, _ in tokens)


class Shown(NamedTuple):
    "A measure as a page shows it."

    text: str
    before: str
    after: str


def real_numbers() -> dict[str, Shown]:
    "What the page of the real model measured, before and after, by key."
    from studies.trials import real_page as page

    record = page.load_record()
    before, after = (record["said"][side] for side in ("before", "after"))
    bits = page.bits(record, "untouched"), page.bits(record, "trained")
    slow, fast = (page.words_per_second(record, side) for side in ("before", "after"))
    return {
        "bits": Shown("bits per byte", f"{bits[0]:.2f}", f"{bits[1]:.2f}"),
        "tokens_per_word": Shown(
            "tokens per word", f"{before['tokens_per_word']:.2f}", f"{after['tokens_per_word']:.2f}"
        ),
        "megabytes": Shown("MB", f"{before['file_mb']:.0f}", f"{after['file_mb']:.0f}"),
        "words_per_second": Shown("words per second", f"{slow:.0f}", f"{fast:.0f}"),
    }


@_fact("real-trial/adapt.json")
def adapt_example() -> str:
    "What `vocab-lit adapt` printed for Gemma 3 270M in Swahili."
    record, measures = _adapt_record(), _adapt_measures()
    decisions = "time for |round |.* ends at |training cost "
    lines = [f"· {line}" for line in record["decided"] if re.match(decisions, line)]
    wide = max(len(measure.text) for measure in measures)
    for measure in measures:
        before, after = _three_digits(measure.before), _three_digits(measure.after)
        lines.append(f"  {measure.text:<{wide}}  {before:>8} → {after}")
    return "\n".join(["```text", *lines, "```"])


_SHOWN = ("bits", "unseen", "tokens_per_word", "words_per_second", "tokens", "megabytes")  # of a report's rows


def _adapt_record() -> dict:
    return json.loads(data_path("real-trial", "adapt.json").read_text(encoding="utf-8"))


def _adapt_measures() -> list[Measure]:
    return [measure for key, measure in read_measures(_adapt_record()).items() if key in _SHOWN]


def _three_digits(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    places = max(0, 3 - len(str(int(value))))
    return f"{value:.{places}f}"


@_fact("real-trial/adapt.json")
def adapt_table() -> str:
    "What that command made, before and after."
    record = _adapt_record()
    named = {"bits": "bits per byte, Swahili", "unseen": "bits per byte, English that was not retained"}
    rows = [
        [named.get(measure.key, measure.text), _three_digits(measure.before), _three_digits(measure.after)]
        for measure in _adapt_measures()
    ]
    return markdown_table([f"Gemma 3 270M, {record['minutes']:.0f} minutes of one core", "before", "after"], rows)


def _real_changes() -> tuple[dict[str, list[str]], list[str]]:  # {language: bits per byte}, MB; before and after each
    from studies.trials import real_page as page

    record = page.load_record()
    bits = {
        language: [f"{page.bits(record, side, text):.2f}" for side in ("untouched", page.KEPT)]
        for text, language in page.TEXTS.items()
    }
    return bits, [f"{size:.0f}" for size in (record["said"]["before"]["file_mb"], record["trim"]["file_mb"])]


@_fact(CHAPTER)
def real_table() -> str:
    "What trimming and training did to Gemma 3 270M in Chichewa, before and after."
    bits, sizes = _real_changes()
    rows = [[f"bits per byte, {language}", *numbers] for language, numbers in bits.items()]
    return markdown_table(["Gemma 3 270M, one core", "before", "after"], [*rows, ["MB", *sizes]])


@_fact(ADAPTED)
def adapt_cells() -> str:
    "What `vocab-lit adapt` made of real models in a given time, and what single candidates made of them."
    heads = ["model", "language", "minutes", "bits per byte before", "after, by way", "retained text", "other English"]
    groups = rows_of(ADAPTED).groupby(["source", "language", "minutes", "keep"], sort=True)
    return markdown_table(heads, [_adapted(runs) for _, runs in groups])


@_fact(WORDS_RECORD.file)
def retained_words() -> str:
    "What frequent words of a retained language cost and save when a vocabulary is trimmed."
    rows = rows_of(WORDS_RECORD.file)
    rows = rows.assign(rise=(rows.after / rows.before - 1).map("{:+.1%}".format))
    names = {"phrases.txt": "phrases", "GlobalVoices.en-sw.en": "450 KB of news"}
    shown = []
    for (model, keep, words), some in rows.groupby(["model", "keep", "words"]):
        rises = some.set_index("test").rise
        kept = f"{words:,}" if words else "none"
        sizes = [f"{some.tokens.iloc[0]:,}", some.megabytes.iloc[0]]
        shown.append([model, names[keep], kept, *sizes, rises["news"], rises["FLORES"]])
    return markdown_table(["model", "retained text", "words", "tokens", "MB in float32", "news", "FLORES"], shown)


def _adapted(runs: pd.DataFrame) -> list[str]:
    "The row of a model, a language and a time: the ways, the best first, and what became of the text to keep by it."
    runs = runs.sort_values("asked", key=lambda asked: asked != "all", kind="stable").drop_duplicates("winner")
    runs = runs.sort_values("bits_after", kind="stable")
    best, chosen = runs.iloc[0], (runs.asked == "all").map({True: " (chosen)", False: ""})
    ways = [f"{way} {bits:.2f}{choice}" for way, bits, choice in zip(runs.winner, runs.bits_after, chosen)]
    case = [best.source, best.language, f"{best.minutes:g}", f"{best.bits_before:.2f}"]
    kept, unseen = (
        f"{best[f'{name}_before']:.3f} → {best[f'{name}_after']:.3f}" if best[f"{name}_after"] > 0 else ""
        for name in ("kept", "unseen")
    )
    return [*case, ", ".join(ways), kept, unseen]


@_fact(CHAPTER)
def real() -> str:
    "What trimming and training did to Gemma 3 270M in Chichewa."
    bits, sizes = _real_changes()
    own, english = (" → ".join(numbers) for numbers in bits.values())
    return f"Gemma 3 270M, one core: Chichewa {own} bits per byte, English {english}, {' → '.join(sizes)} MB"


@_fact(CHAPTER)
def real_extended() -> str:
    "What the same training gives with 2,000 tokens more."
    from studies.trials import real_page as page

    numbers = real_numbers()
    kept = page.bits(page.load_record(), page.KEPT)
    others = [f"{n.text} {n.before} → {n.after}" for key, n in numbers.items() if key != "bits"]
    return f"The same training then ends at {numbers['bits'].after} bits instead of {kept:.2f}; {', '.join(others)}"


def _tutorial_record() -> dict[str, dict]:
    return json.loads(data_path("real-trial", "tutorial.json").read_text(encoding="utf-8"))


@_fact("real-trial/tutorial.json")
def tutorial() -> str:
    "What each section of the tutorial took on one core."
    record = _tutorial_record()
    rows = [
        [title, entry["seconds"], entry["cpu_seconds"], f"{entry['memory_mb'] / 1000:.1f}"]
        for title, entry in record.items()
    ]
    seconds, cpu_seconds = (sum(entry[key] for entry in record.values()) for key in ("seconds", "cpu_seconds"))
    most = max(entry["memory_mb"] for entry in record.values()) / 1000
    rows.append(["**all**", f"**{seconds}**", f"**{cpu_seconds}**", f"**{most:.1f}**"])
    return markdown_table(["section", "seconds", "CPU seconds", "GB of memory"], rows, markdown_cell)


@_fact("real-trial/tutorial.json")
def tutorial_bits() -> str:
    "What the tutorial measures before and after."
    lines = "\n".join(_tutorial_record()["Measure"]["output"])
    bits, tokens = (" → ".join(re.findall(rf"{name} +([\d.,]+)", lines)) for name in ("bits per byte", "  tokens"))
    return f"Bits per byte of Jonah: {bits}; tokens: {tokens}."


@cache
def real_picture() -> str:  # SVG
    "A real line under the vocabulary of Gemma 3 and under the one it gets, and what became of the model."
    from studies.trials import real_page as page

    verse = page.load_record()["said"]
    sides = [_first_words(verse[side]["pieces"], N_BOXES) for side in ("before", "after")]
    numbers = real_numbers()
    changes = ", ".join(f"{text} from {before} to {after}" for text, before, after in numbers.values())
    n = [len(tokens) for tokens in sides]
    says = f"A Chichewa line takes {n[0]} tokens in Gemma 3's vocabulary, {n[1]} with 2,000 more; {changes}."
    meaning, says_what = _REAL_MEANING
    body, y = [_svg_text(16, 32, meaning, 16, "#24292f", 600), _svg_text(16, 54, says_what, 15)], 88
    for title, tokens in zip(("Gemma 3: {} tokens", "with 2,000 tokens more: {} tokens (green: new)"), sides):
        body.append(_svg_text(16, y, title.format(len(tokens)), 15))
        boxes, y = _svg_rows(16, y + 12, tokens, 384)
        body, y = [*body, *boxes], y + 28
    for i, (title, before, after) in enumerate(numbers.values()):
        x, down = 16 + 190 * (i % 2), y + 8 + 60 * (i // 2)
        body.append(_svg_text(x, down, title, 16))
        body.append(_svg_text(x, down + 26, f"{before} → {after}", 20, "#24292f", 600))
    height = y + 110
    head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 {height}" width="400" height="{height}" role="img"'
    frame = f'<rect x=".5" y=".5" width="399" height="{height - 1}" rx="10" fill="#ffffff" stroke="#8c959f"/>'
    drawn = "\n".join([_svg_style(), frame, *body])
    return f'<svg {head} aria-label="{says}"><title>{says}</title>{drawn}</svg>\n'


def social_card() -> Figure:  # 1,200 x 630 pixels
    "The example's tokens under both vocabularies, as a picture that goes with links to the book."
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    card = Figure(figsize=(12, 6.3), dpi=100, facecolor="#20242b")
    FigureCanvasAgg(card)  # draws it
    card.text(0.05, 0.82, "vocab_lit", color="white", fontsize=46, fontweight="bold")
    card.text(0.05, 0.72, "A new vocabulary for a new language", color="#c9ced6", fontsize=26)
    headings = "source vocabulary", "target vocabulary"
    for y, colour, heading, tokens in zip((0.5, 0.22), ("#8a4b08", "#01785a"), headings, _example_tokens()):
        card.text(0.05, y, f"{heading}: {len(tokens)} tokens", color="#c9ced6", fontsize=20)
        _draw_tokens(card, y - 0.1, colour, tokens)
    return card


def _draw_tokens(card, y, colour, tokens):
    "Tokens in boxes, side by side."
    x, renderer = 0.055, card.canvas.get_renderer()
    for token in tokens:
        box = dict(boxstyle="round,pad=0.35", facecolor=colour, edgecolor="none")
        drawn = card.text(x, y, token, color="white", fontsize=14, bbox=box)
        x = drawn.get_window_extent(renderer).x1 / card.bbox.width + 0.015


def _bench(part: str) -> dict:
    "The record of a part of the benchmarks."
    return json.loads(data_path("bench.json").read_text(encoding="utf-8"))[part]


@_fact("bench.json")
def speed() -> str:
    "CPU time of whole commands on a real model, in times of reading."
    from benchmarks.claims import Runs

    runs, told = Runs(_bench("real")), []
    for case in runs.cases():
        times = np.median(runs.ratio("cpu_seconds", "vocab_lit", case, "reading"))
        told.append(f"{case} {times:.1f}")
    reading = np.median(np.concatenate([runs.values("cpu_seconds", "reading", case) for case in runs.cases()]))
    return f"{'; '.join(told)} (medians of three; 1 is {reading:.0f} CPU seconds)"


@_fact("bench.json")
def laptop() -> str:
    "What trimming Gemma's GGUF file to Swahili and English does in llama.cpp."
    from benchmarks.claims import Runs

    runs = Runs(_bench("gguf"))
    case = next(name for name in runs.cases() if name.startswith("gemma") and name.endswith("sw+en"))
    titles = {"file_mb": "MB", "resident_mb": "MB of memory", "tokens_per_second": "tokens a second"}
    told = []
    for measure, title in titles.items():
        before, after = (np.median(runs.values(measure, side, case)) for side in ("as it is", "vocab_lit"))
        told.append(f"{before:.0f} → {after:.0f} {title}")
    return f"Gemma 3 270M, Q4_K_M: {', '.join(told)}"


@_fact(SPEEDRUN)
def speedrun() -> str:
    "The best recipe of the budget that most recipes of the speedrun have run."
    from studies.trials.speedrun_records import best, read_records

    found = best(read_records())
    return (
        f"Best in {found.minutes:g} CPU-minutes (SmolLM2, Swahili): `{found.recipe}`, {found.before:.2f} → "
        f"{found.score:.2f} bits per byte, English "
        f"{found.kept_before:.2f} → {found.kept:.2f}"
    )


@_fact()
def default_rate() -> str:
    "The learning rate of `lapt` for decoders."
    return format_rate(LAPT_RATES[None])


@_fact()
def replay_option() -> str:
    "The options that replay the recommended share."
    return f"`--keep-text english.txt --replay {REPLAY:g}`"


@_fact()
def replay_command() -> str:
    "The command that trains on a text and replays another."
    return f"`lapt extended --text mine.txt --keep-text english.txt --replay {REPLAY:g} --steps 1000 --out trained`"


@_fact()
def frequent_words() -> str:
    "How many frequent words of a retained language keep their tokens."
    return f"{RETAINED_WORDS:,}"


@_fact()
def retention_limits() -> str:
    "How much a candidate of `adapt` may cost retained languages."
    text, sampled = (f"{limit - 1:.0%}" for limit in (RETENTION, RETENTION_SAMPLED))
    return f"{text} in bits per byte on the text, or {sampled} on the generated sentences"


def commands_by_group() -> dict[str, dict[str, str]]:  # {group: {command: first sentence of its help}}
    "The commands in the groups of --help."
    from typer.main import get_command

    from vocab_lit.cli.main import app

    groups: dict[str, dict[str, str]] = {}
    for name, command in getattr(get_command(app), "commands").items():  # noqa: B009
        groups.setdefault(command.rich_help_panel, {})[name] = command.get_short_help_str(limit=400)
    return groups


@_fact()
def commands() -> str:
    "A table of all commands, in groups."
    rows = [[group.lower(), ", ".join(f"`{name}`" for name in there)] for group, there in commands_by_group().items()]
    return markdown_table(["to", "`vocab-lit` ..."], rows, markdown_cell)


@_fact()
def all_commands() -> str:
    "A table of all commands with what each does."
    listed = {name: told for there in commands_by_group().values() for name, told in there.items()}
    return markdown_table(
        ["`vocab-lit` ...", "does"], [[f"`{name}`", told] for name, told in listed.items()], markdown_cell
    )
