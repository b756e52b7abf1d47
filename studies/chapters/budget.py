"""What a chapter computes at a scale, how long that takes on which machine, and what it needs from elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from studies.chapters.embedding_structure import StructureChapter
from studies.chapters.focus import FocusChapter
from studies.chapters.lesson import Lesson, Needs, each_once, source_shape
from studies.chapters.mad_x import MadXChapter
from studies.chapters.unks_everywhere import UnksChapter
from studies.chapters.wechsel import WechselChapter
from studies.data.availability import TEXT_OF, NothingLeft, compared_models, data_of, reachable_parameters
from studies.data.hub import where_is
from studies.data.hub_sources import word_files
from studies.data.presets import PAPER_PARAMETERS, PAPER_TEXT
from studies.papers.cells import compare_cells
from studies.papers.costs import (
    MACHINES,
    SHARE,
    Load,
    Shape,
    count_loads,
    disk_needed,
    machine_like,
    measured_rate,
    memory_needed,
    shape_of,
)
from studies.papers.hyperparameters import hyperparameters
from studies.papers.setups import SCALES, check_custom, scale_lapt, scale_models
from vocab_lit.models.device import find_device
from vocab_lit.tasks.settings import TASKS
from vocab_lit.training.settings import LaptConfig

if TYPE_CHECKING:
    import pandas as pd


def _compare(
    scale,
    language,
    seeds=1,
    steps=0,
    vocab_size=0,
    model="",
    compare="sw am",
    beginnings="sw uk am ka",
    syntax="qal qka",
    pos="",
    dp="",
    dictionary="",
    **_,
):
    mini, source = scale == "mini", source_shape(scale, "embedding-structure", model)
    trained, made = (each_once(language, compare), syntax.split()) if mini else ([language], [])
    given = () if mini else tuple(task for task, files in dict(pos=pos, dp=dp).items() if files)
    tasks = dict.fromkeys(made, ("pos", "dp")) | dict.fromkeys(trained, given)
    beginnings = each_once(language, beginnings) if mini else [language]
    asked = (beginnings, trained, tasks, seeds, mini or bool(dictionary), steps or 40 * mini, vocab_size)
    half = replace(source, layers=source.layers // 2, width=source.width // 2, inner=source.inner // 2)
    cells = [cell for part in compare_cells(scale, *asked).values() for cell in part]
    return Needs(cells, dict.fromkeys(("text", *given), each_once(language)), {"": source, "half": half})


_LESSONS: tuple[type[Lesson], ...] = (FocusChapter, StructureChapter, MadXChapter, UnksChapter, WechselChapter)


def _planned(lesson: type[Lesson]) -> Callable[..., Needs]:
    return lambda scale, language, **parameters: lesson.planned(language, scale, parameters).needs()


CHAPTERS: dict[str, Callable[..., Needs]] = {lesson.paper: _planned(lesson) for lesson in _LESSONS}
CHAPTERS["compare"] = _compare


def needs(
    chapter: str,
    language: str,
    scale: str = "paper",
    look: bool = False,  # whether the Hub is asked for what there is
    **parameters,  # of the chapter
) -> Needs:
    "What a chapter computes and reads; `ValueError` where there is no such chapter."
    if chapter not in CHAPTERS:
        raise ValueError(f"no chapter {chapter!r}; choose from {', '.join(CHAPTERS)}")
    if scale not in SCALES:
        raise ValueError(f"scale {scale!r}: choose from {', '.join(SCALES)}")
    usual = dict.fromkeys(PAPER_PARAMETERS.get(chapter, ()), "")
    asked = usual | parameters
    try:
        found = reachable_parameters(chapter, scale, language, parameters, look, **asked)
    except NothingLeft:  # which a run ends with, and a plan lists
        found = reachable_parameters(chapter, scale, language, parameters, **asked)
    made = CHAPTERS[chapter](scale, language, **found.parameters)
    made.left_out = [datum for data in found.left_out.values() for datum in data]
    return made


def _loads(needed: Needs, scale: str, parameters: dict, tables: bool = False) -> list[Load]:
    "What the lesson trains, or what the page of the paper's tables takes besides."

    def count(cells):
        counted = Counter()
        for load in count_loads(cells, needed.shapes, scale, needed.paper):
            counted[replace(load, runs=0)] += load.runs
        return counted

    runs = count(needed.cells)
    if tables:
        runs = count([*needed.cells, *needed.table_cells]) - runs
    without_files = [f"fine-tuning, {t}" for t in TASKS if scale == "custom" and not parameters.get(t)]
    return [replace(load, runs=n) for load, n in runs.items() if not load.what.startswith(tuple(without_files))]


def loads(chapter: str, language: str, scale: str = "paper", **parameters) -> list[Load]:  # parameters of the chapter
    "What a chapter's lesson trains; `ValueError` where there is no such chapter."
    return _loads(needs(chapter, language, scale, **parameters), scale, parameters)


def rate_of_tokens(trained: list[Load], tokens_per_second: float) -> dict:  # device, flops_per_second
    "What so many tokens a second come to in operations, by the largest runs of LAPT."
    if not 0 < tokens_per_second < math.inf:
        raise ValueError(f"tokens_per_second {tokens_per_second:g}: give how many tokens LAPT trains on in a second")
    a_token = [load.flops / load.tokens for load in trained if load.what.startswith("LAPT")]
    device = f"{tokens_per_second:,.0f} tokens a second"
    return dict(device=device, flops_per_second=tokens_per_second * max(a_token))


def _hours(h):
    if h < 1 / 60:
        return f"{h * 3600:.0f} s"
    return f"{h * 60:.0f} min" if h < 2 else f"{h:,.0f} h"


def budget(
    chapter: str,
    language: str,
    scale: str = "paper",
    measured: dict | None = None,  # from `measure_throughput`, `measured_rate` or `rate_of_tokens`
    **parameters,  # of the chapter
) -> pd.DataFrame:  # a row for each kind of run, and their sum
    """What a chapter trains and how long that takes; operations are counted.

    Times are those of a quarter of each machine's peak, or of what was measured on one of them.
    """
    needed = needs(chapter, language, scale, **parameters)
    return _budget(*(_loads(needed, scale, parameters, tables) for tables in (False, True)), measured)


def _budget(trained: list[Load], tables: list[Load], measured: dict | None) -> pd.DataFrame:
    import pandas as pd

    rates = {name: machine.peak * SHARE for name, machine in MACHINES.items()}
    if measured:
        rates.pop(machine_like(measured["device"]), None)  # what was assumed of this machine
        rates[f"measured: {measured['device']}"] = measured["flops_per_second"]

    def row(load):
        return {"runs": load.runs} | {f"{n} each": f"{getattr(load, n):,}" for n in ("steps", "samples", "tokens")}

    def cost(flops):
        return {"operations": f"{flops:.1e}"} | {name: _hours(flops / rate / 3600) for name, rate in rates.items()}

    def total(loads):
        runs, flops = sum(load.runs for load in loads), sum(load.runs * load.flops for load in loads)
        return dict.fromkeys(row(trained[0]), "") | {"runs": runs} | cost(flops)

    rows = {load.what: row(load) | cost(load.runs * load.flops) for load in trained} | {"together": total(trained)}
    if tables:
        rows |= {f"tables: {load.what}": row(load) | cost(load.runs * load.flops) for load in tables}
        rows["with the paper's tables"] = total(trained + tables)
    return pd.DataFrame(rows).T


# of a chapter's source models, and the parameter that names another model
_PRESETS = {paper: {paper: "model"} for paper in PAPER_PARAMETERS} | {
    "wechsel": {"wechsel-gpt2": "gpt2", "wechsel-roberta": "roberta"},
    "compare": {"embedding-structure": "model"},
}


def _source_models(chapter: str, scale: str, parameters: dict) -> dict[str, str]:  # preset: folder or hub name
    given = {} if scale == "mini" else {p: parameters.get(option) for p, option in _PRESETS[chapter].items()}
    if scale == "custom":
        return {preset: model for preset, model in given.items() if model}
    return {preset: given.get(preset) or scale_models(preset)[scale != "mini"] for preset in _PRESETS[chapter]}


@dataclass(frozen=True)
class Plan:
    "What a chapter and the page of its paper's tables would do; `print` shows it."

    chapter: str
    language: str
    scale: str
    reads: pd.DataFrame  # name, what of it, where it is
    budget: pd.DataFrame
    models: list[tuple[str, Shape, LaptConfig]]  # what is trained, and with what
    disk: float  # GB, without text
    text: dict[str, int]  # bytes of the text of a language; 0: not known
    settings: pd.DataFrame  # hyper-parameters beside the paper's; empty where the chapter has no paper
    measured: dict | None = None  # throughput of a device; None: a share of the peak is assumed of all

    @property
    def _rates(self) -> str:
        told = f"times are computed for {SHARE:.0%} of each machine's peak, on one of them"
        if not self.measured:
            return f"{told}."
        rate = self.measured["flops_per_second"] / 1e12
        return f"{told}, but for {self.measured['device']} from what was measured: {rate:.3g} TFLOP/s."

    @property
    def memory(self) -> float:  # GB
        "Of the model that takes most."
        return max(memory_needed(shape, config) for _, shape, config in self.models)

    @property
    def _memory(self) -> str:
        lines, most = [], 0
        for model, shape, config in self.models:
            usual, least = memory_needed(shape, config), memory_needed(shape, config, 1)
            lines.append(f"{Path(model).name}: about {usual:.2g} GB, or {least:.2g} GB one block at a time")
            most = max(most, least)
        fits = ", ".join(n for n, m in MACHINES.items() if m.memory > most)
        return f"Memory of {'; of '.join(lines)}, which is in {fits or 'none of these'}."

    @property
    def _disk(self) -> str:
        known = sum(self.text.values()) / 1e9
        told = f"Disk: about {self.disk + TEXT_KEPT * known:.1f} GB"
        if known:
            told += f", of which {TEXT_KEPT * known:.1f} GB for {known:.1f} GB of text and its tokens"
        unknown = [language for language, size in self.text.items() if not size]
        return told + (f"; text whose size is not known: {', '.join(unknown)}." if unknown else ".")

    @property
    def _settings(self) -> list[str]:
        if self.settings.empty:
            return []
        scale = "mini" if self.scale == "mini" else "paper"
        shown = self.settings[["paper", f"scale {scale}", "section"]].rename(columns={f"scale {scale}": "here"})
        return ["Its hyper-parameters, beside the paper's\n" + shown.reset_index().to_string(index=False, header=False)]

    def __str__(self) -> str:
        times = self.budget.drop(columns=["samples each", "tokens each"])
        wide, reads = self.reads.what.str.len().max(), []
        for (what, name, where), parts in self.reads.groupby(["what", "name", "where"], sort=False).part:
            part = ", ".join(filter(None, parts))
            reads.append(f"{what:<{wide}}  {name}{f' ({part})' * bool(part)}: {where}")
        paragraphs = (
            f"Chapter {self.chapter}, {self.language}, scale {self.scale}. Nothing was trained or written.",
            "It reads\n" + "\n".join(reads),
            "It trains (*tables*: only with `--tables`, for the page of the paper's tables)\n"
            + times.to_string(justify="right"),
            *self._settings,
            f"Operations are counted; {self._rates}\n{self._memory} {self._disk}",
        )
        return "\n\n".join(paragraphs)


_FILES = ("text", "pos", "ner", "qa", "nli", "dp", "dictionary", "source_text")


def _custom_reads(parameters, languages):
    reads = []
    for what in _FILES:
        given = parameters.get(what) or ()
        if isinstance(given, str):
            given = [given] if Path(given).is_file() else given.split()
        if isinstance(given, (list, tuple)):
            spoken = languages.get(what, languages["text"])
            names = dict.fromkeys(file.replace("{language}", code) for file in given for code in spoken)
            reads += [(what, name, "", "here" if Path(name).is_file() else "missing") for name in names]
    return reads


def _paper_reads(chapter, parameters, needed, look):
    reads, read = [], needed.languages
    for what in read:
        for code in read[what]:
            reads += [datum.row for datum in data_of(chapter, what, code, parameters, look)]
    reads += [datum.row for datum in needed.left_out]
    if chapter == "wechsel":
        files = dict.fromkeys(file for code in read["text"] for file in word_files(code).items())
        reads += [(what, at.rsplit("/", 1)[-1], "", f"by hand, from {at}") for what, at in files]
    return list(dict.fromkeys(reads))


TEXT_KEPT = 3  # bytes on disk for a byte of text: its lines, and its tokens under two vocabularies


def _text_sizes(chapter: str, scale: str, languages: Iterable[str]) -> dict[str, int]:
    "Bytes of text of each language, as the paper prints them; 0 where it does not."
    if scale != "paper":
        return {}
    sizes = PAPER_TEXT[TEXT_OF.get(chapter, chapter)].sizes
    return {language: sizes.get(language, 0) for language in languages}


def _baselines(chapter, scale, languages):  # models besides the source models
    if scale == "mini" and chapter == "wechsel":
        return [scale_models("focus")[0]]
    return compared_models(chapter, scale, languages.get("nli" if chapter == "wechsel" else "ner", ()))


def _reads(chapter, language, scale, models, parameters, needed, look):  # rows of what, name, part, where
    reads = [("model", model, "", "bundled" if scale == "mini" else where_is(model)) for model in models]
    if scale == "mini":
        return reads + [("text and tasks", "phrasebook and constructed languages", language, "bundled")]
    if scale == "custom":
        return reads + _custom_reads(parameters, needed.languages)
    return reads + _paper_reads(chapter, parameters, needed, look)


def plan(
    chapter: str,
    language: str,
    scale: str = "mini",
    tokens_per_second: float = 0,  # of LAPT on the machine that will be used; 0: what `bench gpu` measured, if it did
    look: bool = False,  # whether the Hub is asked for what there is
    **parameters,  # of the chapter
) -> Plan:
    "What a chapter would read and train, and where all that is; nothing is trained or written."
    import pandas as pd

    needed = needs(chapter, language, scale, look, **parameters)
    trained = _loads(needed, scale, parameters)
    measured = rate_of_tokens(trained, tokens_per_second) if tokens_per_second else measured_rate()
    if scale == "custom":
        options = {option: parameters.get(option) for option in _PRESETS[chapter].values()}
        check_custom(text=parameters.get("text"), **options)
    sources = _source_models(chapter, scale, parameters)
    models = [*sources.values(), *_baselines(chapter, scale, needed.languages)]
    reads = _reads(chapter, language, scale, models, parameters, needed, look)
    reads += [("language adapter", name, "", where_is(name)) for name in needed.adapters]
    largest = max(map(shape_of, sources.values()), key=lambda shape: shape.parameters)
    kept = next((load.runs for load in trained if load.what == "LAPT, whole model"), 0)
    return Plan(
        chapter,
        language,
        scale,
        pd.DataFrame(reads, columns=["what", "name", "part", "where"]),
        _budget(trained, _loads(needed, scale, parameters, tables=True), measured),
        [(model, shape_of(model), scale_lapt(scale, preset)) for preset, model in sources.items()],
        disk_needed(largest, kept),
        _text_sizes(chapter, scale, needed.languages["text"]),
        hyperparameters(chapter) if chapter in PAPER_PARAMETERS else pd.DataFrame(),
        measured,
    )


def on_this_machine(chapter: str, language: str) -> str:
    "The device at hand, and what a chapter takes on it."
    device, paper = find_device(), plan(chapter, language, "paper")
    known = machine_like(device.name + " TPU" * device.fixed_shapes)
    total = sum(load.runs * load.flops for load in loads(chapter, language))
    hours = {name: _hours(total / (machine.peak * SHARE) / 3600) for name, machine in MACHINES.items()}
    times = f"{hours[known]} on this machine ({known})" if known else ", ".join(f"{h} on {n}" for n, h in hours.items())
    memory = f"{device.memory / 1e9:.0f} GB" if device.memory else "memory not known"
    return (
        f"Device: {device.name}, {memory}, {device.precision}.\n"
        "At scale mini: minutes on two cores and about 2 GB of memory; nothing is downloaded.\n"
        f"At scale paper, all of the chapter with the paper's steps: about {times}, and {paper.memory:.0f} GB of "
        "memory. Set steps to a hundredth of the paper's for a first impression."
    )
