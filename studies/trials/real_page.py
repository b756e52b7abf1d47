"""What the chapter *A real model, start to end* shows of the record of its commands."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from studies.figures.style import INK, PALETTE, described, plt, use_style
from studies.records.findings import what_we_see
from studies.records.summaries import pass_numbers
from studies.trials.real_chapter import ADDED, CHOSEN, PROMPTS, QUESTIONS, RECORD
from vocab_lit.text.corpus import data_path

if TYPE_CHECKING:
    from IPython.display import Markdown
    from matplotlib.figure import Figure

NAMES = {  # of the real trial
    "smollm2-135m": "SmolLM2-135M",
    "gemma3-270m-trimmed": "Gemma 3 270M, trimmed",
    "sw": "Swahili",
    "ka": "Georgian",
    "cy": "Welsh",
    "mt": "Maltese",
}
TRIAL_WAYS = {  # of the real trial
    "lapt": "the source's tokens",
    "continued-500": "500 tokens more",
    "continued-2000": "2,000 tokens more",
}
_CHATS = {"before": "before", "extended": "extended", "trained": "after training"}
KEPT = "trained without new tokens"
TEXTS = {"jonah.txt": "Chichewa", "english-unseen.txt": "English"}


def load_record(
    path: str = "",  # as `python -m studies trial real-chapter` writes it; "": the one of the repository
) -> dict:
    "Read the record of the chapter's commands."
    return json.loads(Path(path or data_path("real-trial", RECORD)).read_text(encoding="utf-8"))


def shown(
    record: Mapping,
    name: str,  # of a step
    keep: str,  # a pattern: lines of the output that have it are shown
) -> Markdown:
    "Return a command and some lines of what it printed."
    from IPython.display import Markdown

    entry = record[name]
    together = re.sub(r"(--[\w-]+) (?!-)", "\\1\N{NO-BREAK SPACE}", entry["command"])  # an option and its value
    parts = textwrap.wrap(together, 76, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    command = " \\\n".join(parts).replace("\N{NO-BREAK SPACE}", " ")
    lines = [line for line in entry["output"] if re.search(keep, line)]
    wrapped = [line if line[0] in "┏┃┡│└" else textwrap.fill(line, 76, subsequent_indent="    ") for line in lines]
    cost = f"*{entry['cpu_seconds']:.0f} CPU seconds, {entry['memory_mb'] / 1000:.1f} GB of memory*"
    return Markdown(f"```bash\n{command}\n```\n\n```text\n" + "\n".join(wrapped) + f"\n```\n\n{cost}")


def bits(
    record: Mapping,
    side: str,  # such as "trained 2000"
    text: str = "jonah.txt",
) -> float:
    "Return a model's bits per byte on an unseen text."
    return record[f"{side} in {text}"]["bits_per_byte"]


def _tokens(record: Mapping, side: str) -> int:
    "Return the tokens of Jonah that `evaluate` printed."
    lines = record[f"{side} in jonah.txt"]["output"]
    return next(int(line.split()[1].replace(",", "")) for line in lines if line.split()[:1] == ["tokens"])


def way_rows(record: Mapping) -> pd.DataFrame:
    "Return what each step did to both languages."
    sides = record["said"]
    ways = {  # the numbers of a side, and a file's size
        "original": ("untouched", sides["before"]["file_mb"]),
        "trimmed": ("trimmed", record["trim"]["file_mb"]),
        "trimmed and trained": (KEPT, None),
        f"trimmed and extended by {CHOSEN:,}": (f"start {CHOSEN}", record[f"extend by {CHOSEN}"]["file_mb"]),
        "trimmed, extended and trained": ("trained", sides["after"]["file_mb"]),
    }
    return pd.DataFrame(
        {"model": title}
        | {f"bits per byte, {name}": f"{bits(record, side, text):.3f}" for text, name in TEXTS.items()}
        | {"tokens of Jonah": f"{_tokens(record, side):,}", "file, MB": f"{size:.0f}" if size else ""}
        for title, (side, size) in ways.items()
    )


SIDES = ("before", "trimmed", "after")  # of llama.cpp's answers
_SPEED = {  # keys of a side: titles and formats
    "tokens": ("tokens in the vocabulary", "{:,}"),
    "file_mb": ("MB on disk", "{:.0f}"),
    "memory_mb": ("MB of memory", "{:.0f}"),
    "tokens_per_word": ("tokens per word of Jonah", "{:.2f}"),
    "tokens_per_second": ("tokens per second", "{:.0f}"),
}


def speed_rows(record: Mapping) -> pd.DataFrame:
    "Return the source's file, the trimmed one and the last one, in llama.cpp on one thread."
    said = record["said"]
    rows = [{"": title} | {s: form.format(said[s][key]) for s in SIDES} for key, (title, form) in _SPEED.items()]
    words = {side: f"{words_per_second(record, side):.0f}" for side in SIDES}
    return pd.DataFrame([*rows, {"": "words per second"} | words])


def speed_findings(record: Mapping) -> Markdown:
    "Return what trimming and new tokens each do for speed."
    before, trimmed, after = (words_per_second(record, side) for side in SIDES)
    tokens = [record["said"][side]["tokens_per_second"] for side in SIDES]
    return what_we_see(
        {
            f"Trimming makes a token cheaper: {tokens[0]:.0f} → {tokens[1]:.0f} tokens per second, {before:.0f} → "
            f"{trimmed:.0f} words per second.": trimmed > before,
            f"New tokens make a word shorter: {trimmed:.0f} → {after:.0f} words per second.": after > trimmed,
        }
    )


def words_per_second(record: Mapping, side: str) -> float:
    "Return how many words of Chichewa llama.cpp writes per second."
    numbers = record["said"][side]
    return numbers["tokens_per_second"] / numbers["tokens_per_word"]


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def said_rows(record: Mapping) -> pd.DataFrame:
    "Return prompts, and their continuations before and after."
    texts = {side: record["said"][side]["text"] for side in ("before", "after")}
    return pd.DataFrame(
        {"prompt": f"{begin} … *({name})*"} | {side: _one_line(text[name]) for side, text in texts.items()}
        for name, begin in PROMPTS.items()
    )


def chat_rows(record: Mapping) -> pd.DataFrame:
    "Return the chat model's answers: before, extended, and trained."
    texts = {title: record["chats"][side]["text"] for side, title in _CHATS.items()}
    return pd.DataFrame(
        {"question": question} | {title: _one_line(text[question]) for title, text in texts.items()}
        for question in QUESTIONS
    )


def added_points(record: Mapping) -> pd.DataFrame:
    "Return what adding tokens does: a row for each number of them."
    steps = {0: ("trim", "trimmed")} | {n: (f"extend by {n}", f"start {n}") for n in ADDED}
    trained = {0: KEPT, CHOSEN: "trained"}
    return pd.DataFrame(
        {
            "added": n,
            "bits per byte": bits(record, side),
            "after training": bits(record, trained[n]) if n in trained else None,
            "tokens of Jonah": _tokens(record, side),
            "MB": record[made]["file_mb"],
        }
        for n, (made, side) in steps.items()
    )


def added_figure(record: Mapping) -> Figure:
    "Plot bits per byte of Chichewa against added tokens, before and after training, with the tokens of Jonah and MB."
    points, original = added_points(record), bits(record, "untouched")
    use_style()
    fig, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    ax.axhline(original, color=INK, linewidth=1, dashes=(2, 4), label=f"the original model: {original:.2f}")
    parts = []
    for column, label, colour, marker in (
        ("bits per byte", "before training", PALETTE[0], "o"),
        ("after training", "after training", PALETTE[1], "s"),
    ):
        values = points[column].dropna()
        ax.plot(values.index, values, marker=marker, color=colour, label=label)
        for at, value in values.items():
            ax.annotate(f"{value:.2f}", (at, value), (0, 7), textcoords="offset points", ha="center")
            parts.append(f"{points.added[at]:,} tokens more, {label}: {value:.2f}")
    sizes = zip(points.added, points["tokens of Jonah"], points.MB)
    names = [f"{added:,}\n{tokens:,}\n{mb:.0f} MB" for added, tokens, mb in sizes]
    ax.set_xticks(points.index, names)
    ax.margins(x=0.12, y=0.18)
    ax.set(xlabel="tokens added; tokens of Jonah; file", ylabel="bits per byte")
    ax.legend()
    return described(fig, points, f"Bits per byte of Chichewa by tokens added. {'; '.join(parts)}.")


def trim_points(record: Mapping) -> pd.DataFrame:
    "Return the share of unseen lines that are tokenized identically, by remaining tokens and text."
    numbers = r"^│ +([\d,]+) │ +[\d.]+% │ +([\d.]+)% │ +([\d.]+)% │$"  # tokens, of the text, and of each text's lines
    rows = [match.groups() for line in record["trim"]["output"] if (match := re.match(numbers, line))]
    return pd.DataFrame(
        {"tokens": int(tokens.replace(",", "")), "text": text, "lines": float(share)}
        for tokens, *shares in rows
        for text, share in zip(TEXTS.values(), shares)
    )


def trim_figure(record: Mapping) -> Figure:
    "Plot unseen lines that are tokenized identically against remaining tokens, a curve for each text."
    data, parts = trim_points(record), []
    use_style()
    fig, ax = plt.subplots(figsize=(5.2, 2.9), layout="constrained")
    for (text, part), colour, marker in zip(data.groupby("text", sort=False), PALETTE, "os"):
        ax.plot(part.tokens, part.lines, marker=marker, color=colour, label=text)
        parts += [f"{text}, {tokens:,}: {share:.0f}%" for tokens, share in zip(part.tokens, part.lines)]
    ax.set(xscale="log", xlabel="remaining tokens", ylabel="lines tokenized identically (%)", ylim=(0, 105))
    ticks = [10_000, 30_000, 100_000, 262_144]
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.minorticks_off()
    ax.legend()
    return described(fig, data, f"Unseen lines that are tokenized identically. {'; '.join(parts)}.")


def _trial_curves(trial: pd.DataFrame) -> pd.DataFrame:
    "Bits per byte and CPU seconds at each evaluation, the mean over seeds."
    keys = ["model", "language", "setting", "step"]
    metrics = {"CPU seconds trained": "CPU seconds", "bits per byte": "bits per byte"}
    rows = trial[trial.setting.isin(TRIAL_WAYS) & trial.metric.isin(metrics)].replace({"metric": metrics})
    wide = rows.pivot_table(index=keys, columns="metric", values="value", sort=False)
    return wide.dropna().reset_index()


def training_figure(
    trial: pd.DataFrame,  # records of the real trial
) -> Figure:
    "Plot bits per byte against CPU seconds of training, with and without new tokens, a panel for each model."
    data, parts = _trial_curves(trial), []
    use_style()
    fig, axes = plt.subplots(data.model.nunique(), data.language.nunique(), figsize=(9, 5.6))
    fig.set_layout_engine("constrained", hspace=0.08)
    for ax, ((model, language), part) in zip(axes.flat, data.groupby(["model", "language"], sort=False)):
        for (way, title), colour, marker in zip(TRIAL_WAYS.items(), PALETTE, "os^"):
            points = part[part.setting == way]
            if len(points):
                ax.plot(points["CPU seconds"], points["bits per byte"], marker=marker, color=colour, label=title)
                first, last = points["bits per byte"].iloc[[0, -1]]
                parts.append(f"{model}, {language}, {title}: {first:.2f} to {last:.2f}")
        ax.set(title=f"{NAMES.get(model, model)}\n{NAMES.get(language, language)}")
    fig.supxlabel("CPU seconds of training", fontsize="medium")
    fig.supylabel("bits per byte", fontsize="medium")
    named = {line.get_label(): line for ax in axes.flat for line in ax.lines}
    fig.legend(named.values(), named, loc="outside upper center", ncols=3)
    return described(fig, data, f"Curves of bits per byte by CPU seconds of training. {'; '.join(parts)}.")


def curve_findings(trial: pd.DataFrame) -> Markdown:
    "Return which runs of the real trial get worse before they get better."
    runs = list(_trial_curves(trial).groupby(["model", "language", "setting"], sort=False))
    worse = [
        f"{NAMES[model]} in {NAMES[language]} ({TRIAL_WAYS[way]})"
        for (model, language, way), run in runs
        if run["bits per byte"].iloc[1] > run["bits per byte"].iloc[0]
    ]
    falling = f"{len(runs) - len(worse)} of {len(runs)} curves fall from the first evaluation on"
    others = f"; worse at first: {', '.join(worse)}" if worse else ""
    return what_we_see({f"{falling}{others}.": len(worse) < len(runs)})


def trial_rows() -> pd.DataFrame:
    "Bits per byte before a pass over the text and at its end, and tokens per word, by tokens added in the real trial."
    numbers = pass_numbers()
    rows = []
    for (model, language), ways in numbers.groupby(["model", "language"], sort=False):
        cells = {
            f"{added:,} added": f"{row.start:.2f} → {row.end:.2f} ({row.words:.1f})"
            for added, row in ways.set_index("added").iterrows()
        }
        rows.append({"model": NAMES[model], "language": NAMES[language]} | cells)
    return pd.DataFrame(rows)


def verse(record: Mapping) -> Markdown:
    "Return one verse as the tokens of both vocabularies."
    from IPython.display import Markdown

    titles, parts = {"before": "Gemma's vocabulary", "after": f"with {CHOSEN:,} tokens more"}, []
    for side, title in titles.items():
        pieces = [f"`{piece}`" for piece, _ in record["said"][side]["pieces"]]
        parts.append(f"**{title}: {len(pieces)} tokens**\n\n{' '.join(pieces)}")
    return Markdown("\n\n".join(parts))


def findings(record: Mapping) -> Markdown:
    "Return what the table of ways says."
    before, trimmed, start = (bits(record, side) for side in ("untouched", "trimmed", f"start {CHOSEN}"))
    kept, after = bits(record, KEPT), bits(record, "trained")
    english = [bits(record, side, "english-unseen.txt") for side in ("untouched", "trimmed", "trained")]
    words = [record["said"][side]["tokens_per_word"] for side in ("before", "after")]
    return what_we_see(
        {
            f"With new tokens, Chichewa goes from {before:.2f} to {after:.2f} bits per byte, and from {words[0]:.2f} "
            f"to {words[1]:.2f} tokens per word.": after < before and words[1] < words[0],
            f"The trimmed model without new tokens is best: {kept:.2f} after the same training. New tokens cost "
            f"{after - kept:.2f} bits per byte and save {1 - words[1] / words[0]:.0%} of all tokens.": after > kept,
            f"Trimming alone costs English {english[1] - english[0]:.2f} bits per byte, and Chichewa nothing.": (
                trimmed < before + 0.01 and english[1] > english[0]
            ),
            f"Before training, new tokens improve Chichewa by {trimmed - start:.2f} bits per byte.": start < trimmed,
            f"English, a tenth of the training text, goes from {english[0]:.2f} to {english[2]:.2f} bits per byte. "
            "`vocab-lit adapt` limits this to 5%.": english[2] > english[0],
        }
    )


def chat_findings(record: Mapping) -> Markdown:
    "Return whether the chat model still answers, by rule."
    chats, n = record["chats"], len(QUESTIONS)
    rights = ", ".join(f"{chats[side]['right']} {title}" for side, title in _CHATS.items())
    before, after = (bits(record, name) for name in ("chat model", "chat model trained"))
    ends = all(chats[side]["ended"] == n and chats[side]["same_template"] for side in ("before", "trained"))
    return what_we_see(
        {
            f"Right answers of {n}: {rights}.": True,
            f"All {n} end at the end token, by the template of the source.": ends,
            f"Chichewa goes from {before:.2f} to {after:.2f} bits per byte.": after < before,
        }
    )


def shortcomings(record: Mapping) -> Markdown:
    "Return a list of what did not come out well."
    from IPython.display import Markdown

    worse, n = bits(record, "trained") - bits(record, KEPT), len(QUESTIONS)
    wrong = n - record["chats"]["trained"]["right"]
    continued = {title: text.split() for title, text in record["said"]["after"]["text"].items()}
    repeated = [f"{len(set(words))} different words of {len(words)} after *{t}*" for t, words in continued.items()]
    lines = [
        f"The trained model repeats itself: {'; '.join(repeated)}.",
        f"The chat model answers {wrong} of {n} questions wrongly after training; so few questions only show that "
        "template and end token work.",
    ]
    if worse > 0:
        advice = "For quality alone, trim it and train it without new tokens."
        lines.insert(0, f"With new tokens the model ends {worse:.2f} bits per byte higher than without. {advice}")
    return Markdown("\n".join(f"- {line}" for line in lines))
