"""What the chapter *A real model, start to end* shows of the record of its commands."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
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
_CHAT_BITS = {"before": "chat model", "trained": "chat model trained"}
KEPT = "trained without new tokens"
TEXTS = {"jonah.txt": "Chichewa", "english-unseen.txt": "English"}


def load_record(
    path: str = "",  # as `python -m studies trial real-chapter` writes it; "": the one of the repository
) -> dict:
    "The record of the chapter's commands."
    with open(path or data_path("real-trial", RECORD), encoding="utf-8") as file:
        return json.load(file)


def shown(
    record: Mapping,
    name: str,  # of a step
    keep: str,  # a pattern: lines of the output that have it are shown
) -> Markdown:
    "A command, and some lines of what it printed."
    from IPython.display import Markdown

    entry = record[name]
    together = re.sub(r"(--[\w-]+) (?!-)", "\\1\N{NO-BREAK SPACE}", entry["command"])  # an option and its value
    parts = textwrap.wrap(together, 76, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    command = " \\\n".join(parts).replace("\N{NO-BREAK SPACE}", " ")
    lines = [_wrapped(line) for line in entry["output"] if re.search(keep, line)]
    taken = f"*{entry['cpu_seconds']:.0f} CPU seconds, {entry['memory_mb'] / 1000:.1f} GB of memory*"
    return Markdown(f"```bash\n{command}\n```\n\n```text\n" + "\n".join(lines) + f"\n```\n\n{taken}")


def _wrapped(line: str) -> str:
    "A line of words in lines that fit a page; one of a table as it is."
    return line if line.startswith(tuple("┏┃┡│└")) else textwrap.fill(line, 76, subsequent_indent="    ")


def bits(
    record: Mapping,
    side: str,  # such as "trained 2000"
    text: str = "jonah.txt",
) -> float:
    "Bits per byte that a model needs for an unseen text."
    return record[f"{side} in {text}"]["bits_per_byte"]


def way_rows(record: Mapping) -> pd.DataFrame:
    "What each step did to both languages."
    sides = record["said"]
    ways = {  # the numbers of a side, and a file's size
        "as it comes": ("untouched", sides["before"]["file_mb"]),
        "trimmed": ("trimmed", record["trim"]["file_mb"]),
        "trimmed and trained": (KEPT, None),
        f"trimmed and extended by {CHOSEN:,}": (f"start {CHOSEN}", record[f"extend by {CHOSEN}"]["file_mb"]),
        "trimmed, extended and trained": ("trained", sides["after"]["file_mb"]),
    }
    rows = []
    for title, (side, size) in ways.items():
        numbers = {f"bits per byte, {name}": f"{bits(record, side, text):.3f}" for text, name in TEXTS.items()}
        tokens = {"tokens of Jonah": f"{_tokens(record[f'{side} in jonah.txt']['output']):,}"}
        rows.append({"model": title} | numbers | tokens | {"file, MB": f"{size:.0f}" if size else ""})
    return pd.DataFrame(rows)


SIDES = ("before", "trimmed", "after")  # of what llama.cpp was asked


def speed_rows(record: Mapping) -> pd.DataFrame:
    "The file of the source, the trimmed one and the last one, in llama.cpp on one thread."
    names = {
        "tokens": ("tokens in the vocabulary", "{:,}"),
        "file_mb": ("MB on disk", "{:.0f}"),
        "memory_mb": ("MB of memory", "{:.0f}"),
        "tokens_per_word": ("tokens per word of Jonah", "{:.2f}"),
        "tokens_per_second": ("tokens a second", "{:.0f}"),
    }
    said = record["said"]
    rows = [
        {"": title} | {side: form.format(said[side][key]) for side in SIDES} for key, (title, form) in names.items()
    ]
    words = {side: f"{words_per_second(record, side):.0f}" for side in SIDES}
    return pd.DataFrame([*rows, {"": "words per second"} | words])


def speed_findings(record: Mapping) -> Markdown:
    "What trimming and new tokens each do for speed."
    before, trimmed, after = (words_per_second(record, side) for side in SIDES)
    tokens = [record["said"][side]["tokens_per_second"] for side in SIDES]
    return what_we_see(
        {
            f"Trimming makes a token cheaper, {tokens[0]:.0f} → {tokens[1]:.0f} tokens a second, and so "
            f"{before:.0f} → {trimmed:.0f} words.": trimmed > before,
            f"New tokens make a word shorter: {trimmed:.0f} → {after:.0f} words per second.": after > trimmed,
        }
    )


def words_per_second(record: Mapping, side: str) -> float:
    "Words of Chichewa that llama.cpp writes in a second."
    told = record["said"][side]
    return told["tokens_per_second"] / told["tokens_per_word"]


def said_rows(record: Mapping) -> pd.DataFrame:
    "Prompts, and how the model goes on before and after."
    sides = record["said"]

    def text(side, prompt):
        return " ".join(sides[side]["text"][prompt].split()).replace("|", "\\|")

    return pd.DataFrame(
        {"prompt": f"{begin} … *({name})*", "before": text("before", name), "after": text("after", name)}
        for name, begin in PROMPTS.items()
    )


def chat_rows(record: Mapping) -> pd.DataFrame:
    "The chat model's answers: before, extended, and trained."
    chats = record["chats"]
    return pd.DataFrame(
        {"question": question}
        | {title: " ".join(chats[side]["text"][question].split()) for side, title in _CHATS.items()}
        for question in QUESTIONS
    )


def added_points(record: Mapping) -> pd.DataFrame:
    "What adding tokens does: a row for each number of them."
    steps = {0: ("trim", "trimmed")} | {n: (f"extend by {n}", f"start {n}") for n in ADDED}
    trained = {0: KEPT, CHOSEN: "trained"}
    return pd.DataFrame(
        {
            "added": n,
            "bits per byte": bits(record, side),
            "after training": bits(record, trained[n]) if n in trained else None,
            "tokens of Jonah": _tokens(record[f"{side} in jonah.txt"]["output"]),
            "MB": record[made]["file_mb"],
        }
        for n, (made, side) in steps.items()
    )


def _tokens(output: Sequence[str]) -> int:
    "The tokens of a text, of what `evaluate` printed."
    return next(int(line.split()[1].replace(",", "")) for line in output if line.split()[:1] == ["tokens"])


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
    "The share of unseen lines that are divided as before, by tokens that stay: a row for each number and text."
    numbers = r"^│ +([\d,]+) │ +[\d.]+% │ +([\d.]+)% │ +([\d.]+)% │$"  # tokens, of the text, and of each text's lines
    rows = [match.groups() for line in record["trim"]["output"] if (match := re.match(numbers, line))]
    return pd.DataFrame(
        {"tokens": int(tokens.replace(",", "")), "text": text, "lines": float(share)}
        for tokens, *shares in rows
        for text, share in zip(TEXTS.values(), shares)
    )


def trim_figure(record: Mapping) -> Figure:
    "Unseen lines that are divided as before against tokens that stay, a curve for each text."
    data = trim_points(record)
    use_style()
    fig, ax = plt.subplots(figsize=(5.2, 2.9), layout="constrained")
    told = []
    for (text, part), colour, marker in zip(data.groupby("text", sort=False), PALETTE, "os"):
        ax.plot(part.tokens, part.lines, marker=marker, color=colour, label=text)
        told += [f"{text}, {tokens:,}: {share:.0f}%" for tokens, share in zip(part.tokens, part.lines)]
    ax.set(xscale="log", xlabel="tokens that stay", ylabel="unseen lines as before (%)", ylim=(0, 105))
    shown = [10_000, 30_000, 100_000, 262_144]
    ax.set_xticks(shown, [f"{n:,}" for n in shown])
    ax.minorticks_off()
    ax.legend()
    return described(fig, data, f"Unseen lines that are divided as before by tokens that stay. {'; '.join(told)}.")


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
    "Bits per byte against CPU seconds of training, with the source's tokens and with more, a panel for each model."
    data = _trial_curves(trial)
    panels = list(data.groupby(["model", "language"], sort=False))
    use_style()
    fig, axes = plt.subplots(data.model.nunique(), data.language.nunique(), figsize=(9, 5.6))
    fig.set_layout_engine("constrained", hspace=0.08)
    told = []
    for ax, ((model, language), part) in zip(axes.flat, panels):
        for (way, title), colour, marker in zip(TRIAL_WAYS.items(), PALETTE, "os^"):
            points = part[part.setting == way]
            if len(points):
                ax.plot(points["CPU seconds"], points["bits per byte"], marker=marker, color=colour, label=title)
                first, last = points["bits per byte"].iloc[[0, -1]]
                told.append(f"{model}, {language}, {title}: {first:.2f} to {last:.2f}")
        ax.set(title=f"{NAMES.get(model, model)}\n{NAMES.get(language, language)}")
    fig.supxlabel("CPU seconds of training", fontsize="medium")
    fig.supylabel("bits per byte", fontsize="medium")
    named = {line.get_label(): line for ax in axes.flat for line in ax.lines}
    fig.legend(named.values(), named, loc="outside upper center", ncols=3)
    return described(fig, data, f"Curves of bits per byte by CPU seconds of training. {'; '.join(told)}.")


def curve_findings(trial: pd.DataFrame) -> Markdown:
    "Which runs of the real trial get worse before they get better, and where they end."
    runs = list(_trial_curves(trial).groupby(["model", "language", "setting"], sort=False))
    worse = [
        f"{NAMES[model]} in {NAMES[language]} ({TRIAL_WAYS[way]})"
        for (model, language, way), run in runs
        if run["bits per byte"].iloc[1] > run["bits per byte"].iloc[0]
    ]
    told = {
        f"{len(runs) - len(worse)} of {len(runs)} curves fall from the first evaluation on.": len(worse) < len(runs)
    }
    if worse:
        told[f"The others get worse at first: {'; '.join(worse)}."] = True
    return what_we_see(told)


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
    "One verse as the tokens of both vocabularies."
    from IPython.display import Markdown

    titles = {"before": "Gemma's vocabulary", "after": f"with {CHOSEN:,} tokens more"}
    told = []
    for side, title in titles.items():
        pieces = record["said"][side]["pieces"]
        told.append(f"**{title}: {len(pieces)} tokens**\n\n" + " ".join(f"`{piece}`" for piece, _ in pieces))
    return Markdown("\n\n".join(told))


def findings(record: Mapping) -> Markdown:
    "What the table of ways says."
    before, trimmed, start = (bits(record, side) for side in ("untouched", "trimmed", f"start {CHOSEN}"))
    kept, after = bits(record, KEPT), bits(record, "trained")
    english = [bits(record, side, "english-unseen.txt") for side in ("untouched", "trimmed", "trained")]
    words = [record["said"][side]["tokens_per_word"] for side in ("before", "after")]
    untrained = (
        f"Before training, new tokens {'cost' if start > trimmed else 'save'} Chichewa {abs(start - trimmed):.2f} bits."
    )
    forgotten = f"English, a tenth of the training text, goes from {english[0]:.2f} to {english[2]:.2f} bits."
    if english[2] > english[0]:
        forgotten += " `vocab-lit adapt` limits this to 5%."
    return what_we_see(
        {
            f"With new tokens Chichewa goes from {before:.2f} to {after:.2f} bits per byte, and from {words[0]:.2f} "
            f"tokens per word to {words[1]:.2f}.": after < before and words[1] < words[0],
            f"Lowest is the trimmed model without new tokens, with {kept:.2f} after the same training. New tokens cost "
            f"{after - kept:.2f} bits and save {1 - words[1] / words[0]:.0%} of all tokens.": after > kept,
            f"Trimming alone costs English {english[1] - english[0]:.2f} bits, and Chichewa nothing.": (
                trimmed < before + 0.01 and english[1] > english[0]
            ),
            untrained: True,
            forgotten: True,
        }
    )


def chat_findings(record: Mapping) -> Markdown:
    "Whether the chat model still answers, by rule."
    chats, n = record["chats"], len(QUESTIONS)
    rights = ", ".join(f"{chats[side]['right']} {title}" for side, title in _CHATS.items())
    values = {side: bits(record, name) for side, name in _CHAT_BITS.items()}
    return what_we_see(
        {
            f"Of {n} answers these are right: {rights}.": True,
            f"All {n} end at the end token, by the template of the source.": all(
                chats[side]["ended"] == n and chats[side]["same_template"] for side in ("before", "trained")
            ),
            f"Chichewa goes from {values['before']:.2f} to {values['trained']:.2f} bits per byte.": (
                values["trained"] < values["before"]
            ),
        }
    )


def shortcomings(record: Mapping) -> Markdown:
    "What did not come out well, from the record."
    from IPython.display import Markdown

    kept, after = bits(record, KEPT), bits(record, "trained")
    wrong = len(QUESTIONS) - record["chats"]["trained"]["right"]
    higher, advice = after > kept, "For quality alone, trim it and train it without new tokens."
    repeated = [
        f"{len(set(words))} of {len(words)} words behind {title} are different"
        for title, words in ((f"*{prompt}*", text.split()) for prompt, text in record["said"]["after"]["text"].items())
    ]
    told = [
        f"With new tokens the model ends {abs(after - kept):.2f} bits per byte {'higher' if higher else 'lower'} than "
        f"without.{f' {advice}' * higher}",
        f"How much the trained model repeats: {'; '.join(repeated)}.",
        f"The chat model answers {wrong} of {len(QUESTIONS)} questions wrongly after training."
        if wrong
        else f"{len(QUESTIONS)} questions are no test of a chat model: they show that template and end token work.",
    ]
    return Markdown("\n".join(f"- {line}" for line in told))
