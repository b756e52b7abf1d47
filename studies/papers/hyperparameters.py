"""What each paper prints, what is taken here at scale paper and at scale mini, and why where these differ."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import TYPE_CHECKING

from studies.data.presets import PAPER_TEXT, scale_parameters
from studies.data.task_changes import CHANGES, LOW_RESOURCE_BATCH, changed_settings
from studies.papers.setups import scale_lapt, scale_tasks, scale_vocab_size
from vocab_lit.tasks.settings import papers
from vocab_lit.tasks.task import NO_EARLY_STOP
from vocab_lit.text.corpus import data_path, mix
from vocab_lit.text.settings import CleanSettings
from vocab_lit.vectors.token_vectors import TOKEN_DEFAULTS

if TYPE_CHECKING:
    import pandas as pd


def printed_hyperparameters(
    paper: str,  # such as focus
) -> pd.DataFrame:  # columns setup, stage, parameter, value, ours, section, note; all are text
    "What a paper prints about how it trains, and what it leaves open."
    import pandas as pd

    rows = pd.read_csv(data_path("published", "hyperparameters.csv"), dtype=str, keep_default_na=False)
    if paper not in set(rows.paper):
        raise ValueError(f"no hyper-parameters of {paper!r}; choose from {', '.join(rows.paper.unique())}")
    return rows[rows.paper == paper].drop(columns="paper").reset_index(drop=True)


_LAPT_SETUPS = {
    "focus": {"": "focus"},
    "embedding-structure": {"": "embedding-structure"},
    "mad-x": {"whole model": "mad-x", "adapters": "mad-x-adapter"},
    "unks-everywhere": {"": "unks-everywhere-adapter"},
    "wechsel": {
        "RoBERTa": "wechsel-roberta",
        "GPT-2": "wechsel-gpt2",
        "GPT-2, low-resource": "wechsel-gpt2-low-resource",
    },
}  # by paper: setups and their presets
_ALL_TASKS = "tasks"


_OF_NO_PAPER_HERE = ("embeddings", "lora", "distil_layer", "distil_snippets", "distil_lm")  # hyper-parameters


def lapt_values(paper: str, scale: str) -> dict[str, dict[str, object]]:  # by setup, by name
    "The hyper-parameters of continued pretraining."
    by_setup = {}
    for setup, preset in _LAPT_SETUPS[paper].items():
        config = scale_lapt(scale, preset)
        values = asdict(config)
        values["beta1"], values["beta2"] = values.pop("betas")
        del values["micro_batch"]  # makes no difference to the result
        for name in _OF_NO_PAPER_HERE:
            del values[name]
        values["samples"] = config.steps * config.batch_size
        values["tokens"] = values["samples"] * config.length
        by_setup[setup] = values
    return by_setup


def task_values(paper: str, scale: str) -> dict[str, dict[str, dict[str, object]]]:  # by task, by setup, by name
    "The hyper-parameters of fine-tuning."
    import tempfile

    from vocab_lit.tasks.task_trainer import task_arguments

    def values(config):
        arguments = task_arguments(config, 0, tempfile.gettempdir())
        adam = dict(beta1=arguments.adam_beta1, beta2=arguments.adam_beta2, epsilon=arguments.adam_epsilon)
        by_task = asdict(config) | adam
        del by_task["micro_batch"]
        return by_task

    preset = paper if paper != "wechsel" else "wechsel-roberta"
    whole, adapters = scale_tasks(scale, preset), scale_tasks(scale, f"{preset}-adapter")
    known = papers()[paper]
    by_task = {task: {"whole model": values(whole[task]), "adapters": values(adapters[task])} for task in known}
    if scale == "mini":
        return by_task
    for task in known:
        for name in CHANGES.get((paper, task), ()):
            by_task[task][name] = values(changed_settings(paper, task, cases=[name]))
        if (paper, task) in LOW_RESOURCE_BATCH:
            by_task[task]["low-resource"] = values(changed_settings(paper, task, low_resource=True))
    return by_task


def other_values(paper: str, scale: str) -> dict[tuple[str, str], object]:  # by stage and name
    "What is neither of continued pretraining nor of fine-tuning."
    from vocab_lit.methods.factored import Factoring
    from vocab_lit.methods.wechsel import NearestNeighbours
    from vocab_lit.models.madx import LANGUAGE, TASK
    from vocab_lit.training.stages import MODES

    def default(function, name):
        return inspect.signature(function).parameters[name].default

    text, preset = PAPER_TEXT[paper], "wechsel-roberta" if paper == "wechsel" else paper
    others = {("vocabulary", "vocab_size"): scale_vocab_size(scale, preset)}
    seeds = "task_seeds" if paper == "focus" else "seeds"
    others["tasks", "seeds"] = scale_parameters(paper, scale, **{seeds: 0})[seeds]
    if scale == "paper":
        others["text", "corpus"] = text.corpus
    if paper == "focus":
        others["LAPT", "extra share of steps for embeddings alone"] = MODES["two-stage"][0].share
        for name, of in (("dimension", "dim"), ("epochs", "epochs"), ("min_count", "min_count")):
            others["static vectors", name] = TOKEN_DEFAULTS["fasttext"][of]
    if paper == "embedding-structure":
        frozen = MODES["full"][0].share
        others["LAPT", "steps with a frozen encoder"] = round(frozen * scale_lapt(scale, paper).steps)
        for name in ("min_tokens", "mean_length", "longest", "alphabetic", "duplicates"):
            others["text", name] = getattr(CleanSettings(), name)
        others["text", "alpha"] = default(mix, "alpha")
        if scale == "paper":
            others["text", "bytes of a language among several"] = text.mixed_bytes
            others["vocabulary", "bytes of text that are all used"] = text.whole_up_to
            others["vocabulary", "bytes of a sample of larger text"] = text.sample_bytes
            others["vocabulary", "lines for several languages"] = text.mixed_lines
    if paper == "mad-x":
        width = 768  # of XLM-R base
        others["adapters", "dimension of the language adapter"] = width // LANGUAGE.reduction
        others["adapters", "dimension of the invertible adapter, each half"] = width // 2 // LANGUAGE.invertible
        others["adapters", "dimension of the task adapter"] = width // TASK.reduction
        others["adapters", "activation"] = LANGUAGE.activation
    if paper == "unks-everywhere":
        others["factorisation", "components"] = Factoring().size(768)
    if paper == "wechsel":
        others["method", "neighbours"] = NearestNeighbours().k
        others["method", "temperature"] = NearestNeighbours().temperature
        if scale == "paper":
            others["text", "bytes"] = text.max_bytes["de"]
    return others


def taken(paper: str, scale: str) -> dict[tuple[str, str, str], object]:  # by setup, stage and name
    "Every hyper-parameter of a paper's presets at a scale."
    values_of = {}
    for setup, values in lapt_values(paper, scale).items():
        values_of |= {(setup, "LAPT", name): value for name, value in values.items()}
    for task, setups in task_values(paper, scale).items():
        for setup, values in setups.items():
            values_of |= {(setup, task, name): value for name, value in values.items()}
    return values_of | {("", stage, name): value for (stage, name), value in other_values(paper, scale).items()}


def _of(values, setup, stage, name):  # what the presets have for a line of the table; None: it is not theirs
    for (own_setup, own_stage, own_name), value in values.items():
        stages = own_stage == stage or (stage == _ALL_TASKS and own_stage not in ("LAPT", "text", "vocabulary"))
        if own_name == name and stages and setup in ("", own_setup):
            return value
    return None


def hyperparameters(
    paper: str,  # such as focus
) -> pd.DataFrame:  # columns paper, scale paper, scale mini, section and note, by stage, setup and parameter
    "Every hyper-parameter that a paper prints or leaves open, beside those of the scales."
    rows = printed_hyperparameters(paper)
    scales = {scale: taken(paper, scale) for scale in ("paper", "mini")}

    def shown(row, scale):
        value = _of(scales[scale], row.setup, row.stage, row.parameter)
        if value is None:
            value = (row.ours or row.value) if scale == "paper" else ""
        return _shown(value, row.parameter)

    printed = [_shown(row.value or "not said", row.parameter) for row in rows.itertuples()]
    table = rows.assign(paper=printed)
    for scale in scales:
        table[f"scale {scale}"] = [shown(row, scale) for row in rows.itertuples()]
    columns = ["paper", "scale paper", "scale mini", "section", "note"]
    return table.set_index(["stage", "setup", "parameter"])[columns].rename_axis([None] * 3)


_NO_LIMIT = {"max_train": 10**9, "patience": NO_EARLY_STOP}  # by parameter


def _shown(value, parameter: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return str(value)
    if isinstance(value, bool):
        return str(value)
    if number == _NO_LIMIT.get(parameter):
        return "no limit"
    if number and abs(number) < 0.001:
        return f"{number:.0e}".replace("e-0", "e-")
    return f"{number:,.0f}" if number.is_integer() else f"{number:g}"
