"""Numbers and tables that the README and the book's first page show, computed from the records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.claims import Runs
from studies.advice.of_study import ner_scores, vocabulary_pays
from studies.advice.of_ways import ADAPTED  # the module registers more
from studies.records.summaries import ADVICE, CHAPTER, FIELD, SPEEDRUN, STUDY, lead_left, rows_of
from studies.trials import real_page
from studies.trials.retained_words import RECORD as WORDS_RECORD
from vocab_lit.runs.measure import Measure, read_measures
from vocab_lit.text.corpus import data_path
from vocab_lit.text.markup import markdown_cell, markdown_table
from vocab_lit.training.recommended import LAPT_RATES, REPLAY, RETAINED_WORDS, RETENTION, RETENTION_SAMPLED, format_rate

if TYPE_CHECKING:
    import pandas as pd

ADAPT, TUTORIAL, BENCH, CLAIMS = "real-trial/adapt.json", "real-trial/tutorial.json", "bench.json", "claims"
PAPERS = ("focus", "embedding-structure", "wechsel", "mad-x", "unks-everywhere")
EVIDENCE = {  # sources of verdicts with their headings; one without records has no column
    "published": "the papers' own numbers",
    "recorded": "ours, *recorded*",
    "field": "ours, *field*",
}
VERDICTS = ("supported", "contradicted", "undecided", "no verdict")
_SETTINGS = {  # facts that the library's settings decide
    "default_rate": format_rate(LAPT_RATES[None]),
    "replay_option": f"`--keep-text english.txt --replay {REPLAY:g}`",
    "replay_command": "`lapt extended --text mine.txt --keep-text english.txt "
    f"--replay {REPLAY:g} --steps 1000 --out trained`",
    "frequent_words": f"{RETAINED_WORDS:,}",
    "retention_limits": f"{RETENTION - 1:.0%} in bits per byte on the text, "
    f"or {RETENTION_SAMPLED - 1:.0%} on the generated sentences",
}
# name of a marker to what computes its text, in Markdown
FACTS: dict[str, Callable[[], str]] = {name: cache(piece.says) for name, piece in ADVICE.items()}
FACTS |= {name: lambda text=text: text for name, text in _SETTINGS.items()}
RECORDS: dict[str, tuple[str, ...]] = dict.fromkeys(_SETTINGS, ())  # of the facts below: files in `data`


def _fact(*records):
    "Register what computes a fact from records under its name, to be computed once."

    def register(compute):
        FACTS[compute.__name__], RECORDS[compute.__name__] = cache(compute), records
        return FACTS[compute.__name__]

    return register


def _json(path: str) -> dict:
    return json.loads(data_path(*path.split("/")).read_text(encoding="utf-8"))


@cache
def judged() -> pd.DataFrame:  # a row for each claim and source, as `verdicts` gives
    "What the papers' numbers, the recorded study and the field trial say about every claim."
    from studies.papers.claims import load_claims, read_records, verdicts
    from studies.records.recorded import with_study
    from studies.trials.field import with_field

    records = with_field(with_study(read_records("no records but those of the package")))
    judgements = verdicts(load_claims(), records.loc[records.scale.isin(list(EVIDENCE))], strict=False)
    return judgements.loc[judgements.source.isin(list(EVIDENCE))]


def _counts(
    source: str,
) -> pd.Series:  # by verdict; claims that are not checked and those without numbers are one group
    judgements = judged()
    counts = judgements.loc[judgements.source == source, "verdict"].value_counts()
    counts = counts.reindex(VERDICTS[:-1], fill_value=0)
    counts[VERDICTS[-1]] = judgements.id.nunique() - counts.sum()
    return counts


@_fact(CLAIMS)
def findings() -> str:
    "How many claims there are, and what the papers' own numbers say about them."
    supported, contradicted, undecided, unchecked = counts = _counts("published")
    return (
        f"of {counts.sum()} findings {supported} are supported, {contradicted} contradicted, {undecided} undecided, "
        f"and {unchecked} cannot be checked"
    )


@_fact(CLAIMS, STUDY, FIELD)
def evidence() -> str:
    "A table of verdicts, a column for each kind of numbers; each column adds up to the number of claims."
    sources = set(judged().source)
    counts = {heading: _counts(source) for source, heading in EVIDENCE.items() if source in sources}
    rows = [[verdict, *(str(n[verdict]) for n in counts.values())] for verdict in VERDICTS]
    total = ["**all**", *(f"**{n.sum()}**" for n in counts.values())]
    return markdown_table(["findings of the papers", *counts], [*rows, total], markdown_cell)


@_fact(*(f"published/{name}.csv" for name in PAPERS))
def averages() -> str:
    "How many printed averages there are, and how many do not follow from their rows."
    from studies.papers.printed import mismatches, published, recompute_averages

    scores = ["accuracy", "F1", "EM", "UAS", "LAS", "accuracy / F1"]
    recomputed = [recompute_averages(rows.loc[rows.metric.isin(scores)]) for rows in map(published, PAPERS)]
    return f"{sum(len(mismatches(a)) for a in recomputed)} of {sum(map(len, recomputed))} averages"


@cache
def _results() -> list[str]:
    "Five results, each a line of a list."

    def of_study(claim: str) -> pd.Series:
        return judged().query("id == @claim and source == 'recorded'").iloc[0]

    start, symbols, short = map(of_study, ("focus-start-random", "focus-few-shared", "unks-short-rand"))
    unknown, lead = ner_scores().unknown, lead_left()
    lines = (
        vocabulary_pays(),
        f"**The overlap decides.** FOCUS starts {start.effect:.1f} nats below random mapping; copying digits and "
        f"punctuation alone, {symbols.effect:.1f}.",
        "**The fallback decides more than the rule.** Sampling by script has no rule for an unknown script: NER is "
        f"{unknown['rule']:.0f} with N(0, 1) as the fallback, {unknown['source Gaussian']:.0f} with the source's "
        "Gaussian.",
        f"**Training brings initialisations together.** {lead[0].upper()}{lead[1:]}.",
        f"**Not everything replicates.** Low-dimensional embeddings lose {-short.effect:.0f} points of F1, in "
        f"{short.pairs - short.agree:.0f} of {short.pairs:.0f} pairs.",
    )
    return [f"- {line}" for line in lines]


@_fact(STUDY, FIELD)
def results() -> str:
    "Five results as a list."
    return "\n".join(_results())


@_fact(STUDY, FIELD)
def first_results() -> str:
    "The first two, for README."
    return "\n".join(_results()[:2])


@_fact(STUDY)
def before_after() -> str:
    "Swahili's held-out losses (nats, means over seeds) before and after training, under the picture of the idea."
    from studies.records.recorded import study_rows

    rows = study_rows("focus").query("scale == 'mini' and what == 'curve' and metric == 'loss' and language == 'sw'")
    losses = rows.assign(step=rows.step.astype(int)).groupby(["method", "step"]).value.mean()
    focus, random = (losses.xs(method) for method in ("focus", "random"))
    return (
        f"Held-out loss in {focus.index.max()} steps: from **{focus.iloc[0]:.1f} to {focus.iloc[-1]:.1f} nats** with "
        f"FOCUS, from {random.iloc[0]:.1f} to {random.iloc[-1]:.1f} with random mapping."
    )


_SHOWN = ("bits", "unseen", "tokens_per_word", "words_per_second", "tokens", "megabytes")  # of a report's rows


def _adapt_measures() -> list[Measure]:
    return [measure for key, measure in read_measures(_json(ADAPT)).items() if key in _SHOWN]


def _three_digits(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.{max(0, 3 - len(str(int(value))))}f}"


@_fact(ADAPT)
def adapt_example() -> str:
    "What `vocab-lit adapt` printed for Gemma 3 270M in Swahili."
    measures, decisions = _adapt_measures(), "time for |round |.* ends at |training cost "
    lines = [f"· {line}" for line in _json(ADAPT)["decided"] if re.match(decisions, line)]
    wide = max(len(measure.text) for measure in measures)
    for measure in measures:
        before, after = _three_digits(measure.before), _three_digits(measure.after)
        lines.append(f"  {measure.text:<{wide}}  {before:>8} → {after}")
    return "\n".join(["```text", *lines, "```"])


@_fact(ADAPT)
def adapt_table() -> str:
    "What that command made, before and after."
    named = {"bits": "bits per byte, Swahili", "unseen": "bits per byte, English that was not retained"}
    rows = [[named.get(m.key, m.text), *map(_three_digits, (m.before, m.after))] for m in _adapt_measures()]
    return markdown_table([f"Gemma 3 270M, {_json(ADAPT)['minutes']:.0f} minutes of one core", "before", "after"], rows)


def _real_changes() -> dict[str, list[str]]:  # bits per byte by language, and MB; before and after each
    record = real_page.load_record()
    sizes = record["said"]["before"]["file_mb"], record["trim"]["file_mb"]
    bits = {
        language: [f"{real_page.bits(record, side, text):.2f}" for side in ("untouched", real_page.KEPT)]
        for text, language in real_page.TEXTS.items()
    }
    return bits | {"MB": [f"{size:.0f}" for size in sizes]}


@_fact(CHAPTER)
def real_table() -> str:
    "What trimming and training did to Gemma 3 270M in Chichewa, before and after."
    rows = [[what if what == "MB" else f"bits per byte, {what}", *n] for what, n in _real_changes().items()]
    return markdown_table(["Gemma 3 270M, one core", "before", "after"], rows)


@_fact(CHAPTER)
def real() -> str:
    "What trimming and training did to Gemma 3 270M in Chichewa, in a line."
    own, english, size = (" → ".join(numbers) for numbers in _real_changes().values())
    return f"Gemma 3 270M, one core: Chichewa {own} bits per byte, English {english}, {size} MB"


def real_numbers() -> dict[str, tuple[str, str]]:
    "What the page of the real model measured, before and after, by name."
    record = real_page.load_record()
    sides = [record["said"][side] for side in ("before", "after")]
    measured = {
        "bits per byte": (".2f", *(real_page.bits(record, side) for side in ("untouched", "trained"))),
        "tokens per word": (".2f", *(side["tokens_per_word"] for side in sides)),
        "MB": (".0f", *(side["file_mb"] for side in sides)),
        "words per second": (".0f", *(real_page.words_per_second(record, side) for side in ("before", "after"))),
    }
    return {name: (f"{before:{digits}}", f"{after:{digits}}") for name, (digits, before, after) in measured.items()}


@_fact(CHAPTER)
def real_extended() -> str:
    "What the same training gives with 2,000 tokens more."
    kept, numbers = real_page.bits(real_page.load_record(), real_page.KEPT), real_numbers()
    _, bits = numbers.pop("bits per byte")
    others = [f"{name} {before} → {after}" for name, (before, after) in numbers.items()]
    return f"The same training then ends at {bits} bits instead of {kept:.2f}; {', '.join(others)}"


def _adapted(runs: pd.DataFrame) -> list[str]:
    "The row of a model, a language and a time: the candidates, the best first, and what the best one costs."
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


@_fact(ADAPTED)
def adapt_cells() -> str:
    "What `vocab-lit adapt` made of real models in a given time, and what single candidates made of them."
    heads = ["model", "language", "minutes", "bits per byte before", "after, by way", "retained text", "other English"]
    groups = rows_of(ADAPTED).groupby(["source", "language", "minutes", "keep"], sort=True)
    return markdown_table(heads, [_adapted(runs) for _, runs in groups])


@_fact()
def memory_of_steps() -> str:
    "The GB that a step takes per device, by the size of a Llama, the precision and the number of devices."
    from transformers import LlamaConfig, LlamaForCausalLM

    from vocab_lit.models.lazy_weights import empty_model
    from vocab_lit.training.settings import LaptConfig
    from vocab_lit.training.stages import memory_table

    llama = partial(
        LlamaConfig, num_key_value_heads=8, vocab_size=128_256, tie_word_embeddings=True, intermediate_size=8192
    )
    one = llama(hidden_size=2048, num_hidden_layers=16, num_attention_heads=32)
    three = llama(hidden_size=3072, num_hidden_layers=28, num_attention_heads=24)
    rows, devices = [], (1, 2, 4, 8)
    for name, config in {"1.2 billion": one, "3.2 billion": three, "6.7 billion": LlamaConfig()}.items():
        table = memory_table(empty_model(LlamaForCausalLM, config), LaptConfig(), devices)
        for precision in ("fp32", "bf16, fp16"):
            totals = [row["total"] for row in table if row["precision"] == precision]
            rows.append([name, precision, *(f"{float(total):.0f}" for total in totals)])
    heads = [f"{n} device{'s' * (n > 1)}" for n in devices]
    return markdown_table(["parameters", "precision", *heads], rows)


@_fact(WORDS_RECORD.file)
def retained_words() -> str:
    "What frequent words of a retained language cost and save when a vocabulary is trimmed."
    rows = rows_of(WORDS_RECORD.file)
    rows = rows.assign(rise=(rows.after / rows.before - 1).map("{:+.1%}".format))
    names = {"phrases.txt": "phrases", "GlobalVoices.en-sw.en": "450 KB of news"}
    shown = []
    for (model, keep, words), some in rows.groupby(["model", "keep", "words"]):
        rises, first = some.set_index("test").rise, some.iloc[0]
        kept, sizes = f"{words:,}" if words else "none", [f"{first.tokens:,}", first.megabytes]
        shown.append([model, names[keep], kept, *sizes, rises["news"], rises["FLORES"]])
    return markdown_table(["model", "retained text", "words", "tokens", "MB in float32", "news", "FLORES"], shown)


@_fact(TUTORIAL)
def tutorial() -> str:
    "What each section of the tutorial took on one core."
    record = _json(TUTORIAL)
    took = {title: (entry["seconds"], entry["cpu_seconds"], entry["memory_mb"]) for title, entry in record.items()}
    seconds, cpu_seconds, memory = zip(*took.values())
    rows = [[title, *times, f"{mb / 1000:.1f}"] for title, (*times, mb) in took.items()]
    rows.append(["**all**", f"**{sum(seconds)}**", f"**{sum(cpu_seconds)}**", f"**{max(memory) / 1000:.1f}**"])
    return markdown_table(["section", "seconds", "CPU seconds", "GB of memory"], rows, markdown_cell)


@_fact(TUTORIAL)
def tutorial_bits() -> str:
    "What the tutorial measures before and after."
    lines = "\n".join(_json(TUTORIAL)["Measure"]["output"])
    bits, tokens = (" → ".join(re.findall(rf"{name} +([\d.,]+)", lines)) for name in ("bits per byte", "  tokens"))
    return f"Bits per byte of Jonah: {bits}; tokens: {tokens}."


@_fact(BENCH)
def speed() -> str:
    "CPU time of whole commands on a real model, in times of reading."
    runs = Runs(_json(BENCH)["real"])
    times = [f"{c} {np.median(runs.ratio('cpu_seconds', 'vocab_lit', c, 'reading')):.1f}" for c in runs.cases()]
    reading = np.median(np.concatenate([runs.values("cpu_seconds", "reading", case) for case in runs.cases()]))
    return f"{'; '.join(times)} (medians of three; 1 is {reading:.0f} CPU seconds)"


@_fact(BENCH)
def laptop() -> str:
    "What trimming Gemma's GGUF file to Swahili and English does in llama.cpp."
    runs = Runs(_json(BENCH)["gguf"])
    case = next(name for name in runs.cases() if name.startswith("gemma") and name.endswith("sw+en"))
    titles = {"file_mb": "MB", "resident_mb": "MB of memory", "tokens_per_second": "tokens a second"}
    changes = []
    for measure, title in titles.items():
        before, after = (np.median(runs.values(measure, side, case)) for side in ("as it is", "vocab_lit"))
        changes.append(f"{before:.0f} → {after:.0f} {title}")
    return f"Gemma 3 270M, Q4_K_M: {', '.join(changes)}"


@_fact(SPEEDRUN)
def speedrun() -> str:
    "The best recipe of the budget that most recipes of the speedrun have run."
    from studies.trials.speedrun_records import best, read_records

    found = best(read_records())
    return (
        f"Best in {found.minutes:g} CPU-minutes (SmolLM2, Swahili): `{found.recipe}`, {found.before:.2f} → "
        f"{found.score:.2f} bits per byte, English {found.kept_before:.2f} → {found.kept:.2f}"
    )


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
    rows = [[group.lower(), ", ".join(f"`{name}`" for name in names)] for group, names in commands_by_group().items()]
    return markdown_table(["to", "`vocab-lit` ..."], rows, markdown_cell)


@_fact()
def all_commands() -> str:
    "A table of all commands with what each does."
    rows = [[f"`{name}`", text] for group in commands_by_group().values() for name, text in group.items()]
    return markdown_table(["`vocab-lit` ...", "does"], rows, markdown_cell)
