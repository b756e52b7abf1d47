"""Numbers and tables that the README and the book's first page tell, computed from the records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from vocab_lit.text.corpus import data_path
from vocab_lit.text.markup import markdown_table, of_ours

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


FACTS: dict[str, Callable[[], str]] = {}  # name of a marker to what computes its text, in Markdown


def _fact(compute):  # registers what computes a fact under its name, to be computed once
    FACTS[compute.__name__] = cache(compute)
    return FACTS[compute.__name__]


EVIDENCE = {  # source of verdicts to its heading; one of which there are no records has no column
    "published": "the papers' own numbers",
    "recorded": "ours, *recorded*",
    "field": "ours, *field*",
}


@cache
def judged() -> pd.DataFrame:  # a row for each claim and source, as `verdicts` gives
    "What the papers' numbers, the recorded study and the field trial say about every claim."
    from studies.claims import load_claims, read_records, verdicts
    from studies.field import with_field
    from studies.recorded import with_study

    records = with_field(with_study(read_records("no records but those of the package")))
    judgements = verdicts(load_claims(), records.loc[records.scale.isin(list(EVIDENCE))], strict=False)
    return judgements.loc[judgements.source.isin(list(EVIDENCE))]


def _counts(source):  # claims of each verdict; those not checked and those without numbers are one group
    judgements = judged()
    counts = judgements.loc[judgements.source == source, "verdict"].value_counts()
    counts = counts.reindex(["supported", "contradicted", "undecided"], fill_value=0)
    counts["no verdict"] = judgements.id.nunique() - counts.sum()
    return counts


@_fact
def findings() -> str:
    "How many claims there are, and what the papers' own numbers say about them."
    n = _counts("published")
    return (
        f"of {n.sum()} findings {n['supported']} are supported, {n['contradicted']} contradicted, {n['undecided']} "
        f"undecided, and {n['no verdict']} cannot be checked"
    )


@_fact
def evidence() -> str:
    "A table of verdicts, a column for each kind of numbers; each column adds up to the number of claims."
    there = set(judged().source)
    counts = {heading: _counts(source) for source, heading in EVIDENCE.items() if source in there}
    rows = [
        [verdict, *(str(n[verdict]) for n in counts.values())]
        for verdict in ("supported", "contradicted", "undecided", "no verdict")
    ]
    total = ["**all**", *(f"**{n.sum()}**" for n in counts.values())]
    return markdown_table(["findings of the papers", *counts], [*rows, total], of_ours)


@_fact
def averages() -> str:
    "How many printed averages there are, and how many do not follow from their rows."
    from studies.published import mismatches, published, recompute_averages

    scores = ["accuracy", "F1", "EM", "UAS", "LAS", "accuracy / F1"]
    papers = [published(name) for name in ("focus", "embedding-structure", "wechsel", "mad-x", "unks-everywhere")]
    recomputed = [recompute_averages(rows.loc[rows.metric.isin(scores)]) for rows in papers]
    return f"{sum(len(mismatches(a)) for a in recomputed)} of {sum(map(len, recomputed))} averages"


@cache
def field_means() -> pd.DataFrame:  # rows: ways; columns: measure, language
    "Means over seeds of all that the field trial has measured."
    from studies.field import own_records, read_shared
    from vocab_lit.study.report import measures

    return measures(read_shared(own_records())).pivot_table("value", "setting", ["measure", "language"])


_READS = {  # models of the real trial, and whether they have read its languages
    "smollm2-135m": "SmolLM2 135M, which has not read it",
    "gemma3-270m-trimmed": "Gemma 3 270M, which has",
}


def _real_cell(row: dict[str, float]) -> str:
    return f"{row['start']:.2f} → {row['end']:.2f}; {row['tokens_per_word']:.1f}"


_WAYS = {"lapt": "`lapt` alone", "continued-500": "`--extend 500`", "continued-2000": "`--extend 2000`"}
_REST = "With a dictionary, `wechsel` or `ofa`; for little storage, `mf1-lex`; to keep the model as it is, adapters."


@cache
def _one_pass() -> dict[tuple[str, str], dict[str, dict[str, float]]]:  # by model and language
    "The numbers of the real trial's whole pass, of ways that learn at the same rate."
    from studies.evidence import comparable, real_means

    return {
        (model, language): ways | {name: ways[way] for name, way in comparable(ways).items()}
        for (model, language, _), ways in real_means().items()
    }


@_fact
def advice() -> str:
    "A table of which way when, with what each reaches in the real trial in its first language."
    from babel import Locale

    means, language = _one_pass(), "sw"
    rows = [[told, *(_real_cell(means[model, language][way]) for model in _READS)] for way, told in _WAYS.items()]
    seeds = min(row["seeds"] for model in _READS for row in means[model, language].values())
    about = (
        f"0.5 MB of {Locale(language).english_name}, {seeds:.0f} seed{'s' * (seeds > 1)}: bits per byte, "
        "before → after one pass; tokens per word."
    )
    return f"{about}\n\n{markdown_table(['way', *_READS.values()], rows, of_ours)}\n\n{_REST}"


_UNKNOWN = ("hy", "te")  # scripts of which the bundled model has no letter; the four others are in known ones
_METHODS = ("FOCUS+IDENT", "full vocabulary", "SCRIPT+POSN+IDENT", "SCRIPT+POSN+IDENT, source Gaussian")


@cache
def ner_scores() -> pd.DataFrame:  # a row for each method, columns unknown and known: scripts
    "F1 after LAPT of the whole model, in the study of Embedding Structure, where all four methods were tried."
    from studies.recorded import study_rows

    rows = study_rows("embedding-structure").query("scale == 'mini' and metric == 'ner' and mode == 'full'")
    scores = rows.pivot_table("value", "method", "language").loc[list(_METHODS)].dropna(axis="columns")
    unknown = scores.columns.isin(_UNKNOWN)
    means = {
        "unknown": scores.loc[:, unknown].mean(axis="columns"),
        "known": scores.loc[:, ~unknown].mean(axis="columns"),
    }
    return scores.assign(**means)[list(means)]


@cache
def swahili_losses() -> pd.Series:  # nats, by (method, step)
    "Held-out losses of FOCUS and of random mapping in Swahili, means over seeds."
    from studies.recorded import study_rows

    rows = study_rows("focus").query("scale == 'mini' and what == 'curve' and metric == 'loss' and language == 'sw'")
    rows = rows.assign(step=rows.step.astype(int))
    return rows.groupby(["method", "step"]).value.mean()


def _study(claim: str) -> pd.Series:
    "What the recorded study says about a claim, by its id."
    return judged().query("id == @claim and source == 'recorded'").iloc[0]


@_fact
def results() -> str:
    "Five results as a list."
    unknown, known = ner_scores().unknown, ner_scores().known
    focus, keep, rule, ours = _METHODS
    start, symbols, short = map(_study, ("focus-start-random", "focus-few-shared", "unks-short-rand"))
    bits = field_means()[["bits per byte at the start", "bits per byte at the end"]]
    leads = bits.loc["random-mapping"] - bits.loc["focus"]
    kept = 100 * leads["bits per byte at the end"] / leads["bits per byte at the start"]
    told = (
        f"**A new vocabulary pays where the source's fails.** NER in unknown scripts: {unknown[focus]:.0f} with FOCUS, "
        f"{unknown[keep]:.0f} with the source vocabulary; in known scripts {known[focus]:.0f} and {known[keep]:.0f}.",
        f"**The overlap decides.** FOCUS starts {start.effect:.1f} nats below random mapping; copying digits and "
        f"punctuation alone, {symbols.effect:.1f}.",
        "**The fallback decides more than the rule.** Sampling by script has no rule for an unknown script: NER is "
        f"{unknown[rule]:.0f} with N(0, 1) as the fallback, {unknown[ours]:.0f} with the source's Gaussian.",
        "**Training brings initialisations together.** One pass over half a megabyte of real text leaves "
        f"{kept.min():.0f} to {kept.max():.0f}% of FOCUS's lead.",
        f"**Not everything replicates.** Low-dimensional embeddings lose {-short.effect:.0f} points of F1, in "
        f"{short.pairs - short.agree:.0f} of {short.pairs:.0f} pairs.",
    )
    return "\n".join(f"- {line}" for line in told)


EXAMPLE = "Kiajemi – Afghanistan; Kipashto – Kiarabu."  # Swahili: Persian – Afghanistan; Pashto – Arabic


@cache
def _example_run():  # as in the README: source tokenizer, target tokenizer and the plan of FOCUS
    from studies.phrasebook import lines
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


@_fact
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


def real_numbers() -> dict[str, tuple[str, str]]:
    "What the page of the real model measured, before and after."
    from studies import real_page as page

    record = page.load_record()
    before, after = (record["said"][side] for side in ("before", "after"))
    bits = page.bits(record, "untouched"), page.bits(record, "trained")
    slow, fast = (page.words_per_second(record, side) for side in ("before", "after"))
    return {
        "bits per byte": (f"{bits[0]:.2f}", f"{bits[1]:.2f}"),
        "tokens per word": (f"{before['tokens_per_word']:.2f}", f"{after['tokens_per_word']:.2f}"),
        "MB": (f"{before['file_mb']:.0f}", f"{after['file_mb']:.0f}"),
        "words a second": (f"{slow:.0f}", f"{fast:.0f}"),
    }


@_fact
def real() -> str:
    "What a new vocabulary did to Gemma 3 270M in Chichewa."
    from studies import real_page as page

    record = page.load_record()
    told = [f"{title} {before} → {after}" for title, (before, after) in real_numbers().items()]
    told[0] += f" ({page.bits(record, page.KEPT):.2f} without new tokens)"
    english = [page.bits(record, side, "english-unseen.txt") for side in ("untouched", "trained")]
    told.append(f"English {english[0]:.2f} → {english[1]:.2f} bits")
    return f"Gemma 3 270M, Chichewa, one core: {', '.join(told)}"


def _tutorial_record() -> dict[str, dict]:
    return json.loads(data_path("real-trial", "tutorial.json").read_text(encoding="utf-8"))


@_fact
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
    return markdown_table(["section", "seconds", "CPU seconds", "GB of memory"], rows, of_ours)


@_fact
def tutorial_bits() -> str:
    "What the tutorial measures before and after."
    lines = "\n".join(_tutorial_record()["Measure"]["output"])
    bits, tokens = (" → ".join(re.findall(rf"{name} +([\d.,]+)", lines)) for name in ("bits per byte", "  tokens"))
    return f"Bits per byte of Jonah: {bits}; tokens: {tokens}."


@cache
def real_picture() -> str:  # SVG
    "A real line under the vocabulary of Gemma 3 and under the one it gets, and what became of the model."
    from studies import real_page as page

    verse = page.load_record()["said"]
    sides = [_first_words(verse[side]["pieces"], N_BOXES) for side in ("before", "after")]
    numbers = real_numbers()
    told = ", ".join(f"{title} from {before} to {after}" for title, (before, after) in numbers.items())
    n = [len(tokens) for tokens in sides]
    says = f"A Chichewa line takes {n[0]} tokens in Gemma 3's vocabulary, {n[1]} with 2,000 more; {told}."
    meaning, says_what = _REAL_MEANING
    body, y = [_svg_text(16, 32, meaning, 16, "#24292f", 600), _svg_text(16, 54, says_what, 15)], 88
    for title, tokens in zip(("Gemma 3: {} tokens", "with 2,000 tokens more: {} tokens (green: new)"), sides):
        body.append(_svg_text(16, y, title.format(len(tokens)), 15))
        boxes, y = _svg_rows(16, y + 12, tokens, 384)
        body, y = [*body, *boxes], y + 28
    for i, (title, (before, after)) in enumerate(numbers.items()):
        x, down = 16 + 190 * (i % 2), y + 8 + 60 * (i // 2)
        body.append(_svg_text(x, down, title, 16))
        body.append(_svg_text(x, down + 26, f"{before} → {after}", 20, "#24292f", 600))
    height = y + 110
    head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 {height}" width="400" height="{height}" role="img"'
    frame = f'<rect x=".5" y=".5" width="399" height="{height - 1}" rx="10" fill="#ffffff" stroke="#8c959f"/>'
    drawn = "\n".join([_svg_style(), frame, *body])
    return f'<svg {head} aria-label="{says}"><title>{says}</title>{drawn}</svg>\n'


def _each_language(model: str, ways: tuple[str, ...], key: str = "end") -> str:
    "A number of the real trial by language: one of each way, with an arrow between."
    digits = 1 if key == "tokens_per_word" else 2
    told = {
        language: " → ".join(f"{cells[way][key]:.{digits}f}" for way in ways)
        for (name, language), cells in _one_pass().items()
        if name == model
    }
    return ", ".join(f"{language} {numbers}" for language, numbers in told.items())


def _chat_answers() -> tuple[str, str]:  # bits per byte, right answers
    "What became of the chat model of the page of the real model."
    from studies import real_page as page

    record = page.load_record()
    rights = " → ".join(str(record["chats"][side]["right"]) for side in ("before", "trained"))
    values = " → ".join(f"{page.bits(record, side):.2f}" for side in ("chat model", "chat model trained"))
    return values, f"{rights} of {len(page.QUESTIONS)}"


@_fact
def decision() -> str:
    "What to do as a tree, as nested lists, with the numbers of the real trial on its leaves."
    reads, unread = "gemma3-270m-trimmed", "smollm2-135m"
    own, few, more = _WAYS
    unknown, known = ner_scores().unknown, ner_scores().known
    new, keep = _METHODS[:2]
    chat_bits, right = _chat_answers()
    lines = (
        (0, "**Is there text in the language?**"),
        (1, "*No:* give the words that you need as a list, `transplant MODEL --tokens terms.tsv`."),
        (1, "*Less than half a megabyte:* run `vocab-lit inspect`; the trial has no numbers for so little."),
        (1, "*More:* **what is the model?**"),
        (2, "*An encoder.* **Does it know the script?**"),
        (3, f"*No:* `--vocab-size N`. NER: {unknown[keep]:.0f} → {unknown[new]:.0f}."),
        (3, f"*Yes:* keep its vocabulary. NER: {known[keep]:.0f} → {known[new]:.0f} with a new one."),
        (2, "*A decoder.* **Does it read the language?**"),
        (
            3,
            "*No:* `lapt --learning-rate 1e-4`; for a language spelled in bytes, after `--extend 2000 --expansion "
            "continued`.",
        ),
        (4, f"Bits per byte after a pass, its own tokens → 2,000 more: {_each_language(unread, (own, more))}."),
        (4, f"Tokens per word: {_each_language(unread, (own, more), 'tokens_per_word')}."),
        (3, "*Yes:* keep its vocabulary and run `lapt`, at 1e-5 if it must keep its English."),
        (4, f"Bits per byte, untrained → 1e-5 → 3e-5: {_each_language(reads, ('untouched', 'lapt-1e-5', own))}."),
        (4, f"With 500 tokens more: {_each_language(reads, (few,))}."),
        (4, f"Tokens per word, its own → 500 more: {_each_language(reads, (own, few), 'tokens_per_word')}."),
        (2, "*A chat model:* as for a decoder, with `lapt --keep-text english.txt --replay 0.25`."),
        (3, f"Bits per byte in Chichewa: {chat_bits}; right answers in English: {right}."),
    )
    return ":::{div} tree\n" + "\n".join(f"{'  ' * depth}- {text}" for depth, text in lines) + "\n:::"


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


def _ratio(part, says):  # the median of a claim about speed, in the bundled record
    from benchmarks.parts import PARTS

    claim = next(c for c in PARTS[part].claims if c.text == says)
    records = json.loads(data_path("bench.json").read_text(encoding="utf-8"))
    return float(np.median(claim.measured(records[part])))


_PROCESS = ("CPU time", "peak memory")


@_fact
def speed() -> str:
    "Ratios as a list."
    tokens = _ratio("lapt", "tokens per CPU-second, vocab_lit / plain, 250,002 tokens")
    process = [_ratio("process", f"{what} of the process, deepfocus / vocab_lit, each model") for what in _PROCESS]
    told = (
        f"FOCUS, a whole process, takes {process[0]:.1f} times less CPU and {process[1]:.1f} times less memory than "
        "`deepfocus`.",
        f"LAPT of a masked model with XLM-R's vocabulary trains {tokens:.1f} times the tokens per CPU-second "
        "of the plain Trainer.",
    )
    return "\n".join(f"- {line}" for line in told)


@_fact
def laptop() -> str:
    "What trimming Gemma's GGUF file to Swahili and English does in llama.cpp."
    from benchmarks.claims import Runs

    runs = Runs(json.loads(data_path("bench.json").read_text(encoding="utf-8"))["gguf"])
    case = next(name for name in runs.cases() if name.startswith("gemma") and name.endswith("sw+en"))
    titles = {"file_mb": "MB", "resident_mb": "MB of memory", "tokens_per_second": "tokens a second"}
    told = []
    for measure, title in titles.items():
        before, after = (np.median(runs.values(measure, side, case)) for side in ("as it is", "vocab_lit"))
        told.append(f"{before:.0f} → {after:.0f} {title}")
    return f"Gemma 3 270M, Q4_K_M: {', '.join(told)}"


@_fact
def speedrun() -> str:
    "The best recipe of the budget that most recipes of the speedrun have run."
    from studies.speedrun_records import best, read_records

    found = best(read_records())
    return (
        f"Best in {found.minutes:g} CPU-minutes (SmolLM2, Swahili): `{found.recipe}`, {found.before:.2f} → "
        f"{found.score:.2f} bits per byte, English "
        f"{found.kept_before:.2f} → {found.kept:.2f}"
    )


@_fact
def commands() -> str:
    "A table of all commands, in groups."
    from vocab_lit.cli.main import commands_by_group

    rows = [[group.lower(), ", ".join(f"`{name}`" for name in there)] for group, there in commands_by_group().items()]
    return markdown_table(["to", "`vocab-lit` ..."], rows, of_ours)


@_fact
def all_commands() -> str:
    "A table of all commands with what each does."
    from vocab_lit.cli.main import commands_by_group

    listed = {name: told for there in commands_by_group().values() for name, told in there.items()}
    return markdown_table(["`vocab-lit` ...", "does"], [[f"`{name}`", told] for name, told in listed.items()], of_ours)
