"""What each paper prints, what is taken here at scale paper and at scale mini, and why where these differ."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from studies.data.hub import HubText, development_size, split_wikiann
from studies.data.hub_sources import MODELS
from studies.data.presets import PAPER_PARAMETERS, PAPER_TEXT, scale_parameters
from studies.data.task_changes import CHANGES, LOW_RESOURCE_BATCH, changed_settings
from studies.models.recipes import RECIPES, TOKENIZERS
from studies.papers.cells import mad_x_tables
from studies.papers.experiment import EXTENSION
from studies.papers.setups import (
    MINI_STEPS,
    SetupOptions,
    paper_text,
    scale_lapt,
    scale_models,
    scale_tasks,
    scale_vocab_size,
)
from studies.papers.transfer import UNKS
from vocab_lit.tasks.settings import papers
from vocab_lit.tasks.task import NO_EARLY_STOP
from vocab_lit.text.corpus import data_path, mix
from vocab_lit.training.settings import LaptConfig
from vocab_lit.vectors.token_vectors import TOKEN_DEFAULTS

if TYPE_CHECKING:
    import pandas as pd


def printed_hyperparameters(
    paper: str,  # such as focus
) -> pd.DataFrame:  # columns setup, stage, parameter, value, ours, section, note; all are text
    "Return what a paper prints about how it trains, and what it leaves open."
    import pandas as pd

    rows = pd.read_csv(data_path("published", "hyperparameters.csv"), dtype=str, keep_default_na=False)
    if paper not in set(rows.paper):
        raise ValueError(f"no hyper-parameters of {paper!r}; choose from {', '.join(rows.paper.unique())}")
    return rows[rows.paper == paper].drop(columns="paper").reset_index(drop=True)


_LAPT_SETUPS = {  # by paper: setups and their presets
    "focus": {"": "focus"},
    "embedding-structure": {"": "embedding-structure"},
    "mad-x": {"whole model": "mad-x", "adapters": "mad-x-adapter"},
    "unks-everywhere": {"": "unks-everywhere-adapter"},
    "wechsel": {
        "RoBERTa": "wechsel-roberta",
        "GPT-2": "wechsel-gpt2",
        "GPT-2, low-resource": "wechsel-gpt2-low-resource",
    },
}
_ALL_TASKS = "tasks"
_IN_NO_PAPER = ("betas", "micro_batch", "embeddings", "lora", "distil_layer", "distil_snippets", "distil_lm")
_PRINTED_MODELS = {
    MODELS[name]: printed
    for name, printed in {"XLM-R": "XLM-R base", "mBERT": "mBERT", "RoBERTa": "RoBERTa base", "GPT-2": "GPT-2"}.items()
}
_WIDTHS = {"paper": 768, "mini": RECIPES["mini-xlmr"].dim}  # of the models

Values = dict[tuple[str, str, str], object]  # by setup, stage and name


def _lapt_of(paper: str, scale: str, preset: str) -> LaptConfig:
    return scale_lapt(scale, preset, MINI_STEPS[paper] if scale == "mini" else 0)


def lapt_values(paper: str, scale: str) -> dict[str, dict[str, object]]:  # by setup, by name
    "Return the hyper-parameters of continued pretraining."
    by_setup = {}
    for setup, preset in _LAPT_SETUPS[paper].items():
        config, source = _lapt_of(paper, scale, preset), scale_models(preset)[scale != "mini"]
        values = {name: value for name, value in asdict(config).items() if name not in _IN_NO_PAPER}
        samples = config.steps * config.batch_size
        values |= dict(beta1=config.betas[0], beta2=config.betas[1], samples=samples, tokens=samples * config.length)
        values["source model"] = _PRINTED_MODELS.get(source, Path(source).name)
        by_setup[setup] = values
    return by_setup


def _tuning_values(config) -> dict[str, object]:
    import tempfile

    from vocab_lit.tasks.task_trainer import task_arguments

    arguments = task_arguments(config, 0, tempfile.gettempdir())
    adam = dict(beta1=arguments.adam_beta1, beta2=arguments.adam_beta2, epsilon=arguments.adam_epsilon)
    return {name: value for name, value in (asdict(config) | adam).items() if name != "micro_batch"}


def task_values(paper: str, scale: str) -> dict[str, dict[str, dict[str, object]]]:  # by task, by setup, by name
    "Return the hyper-parameters of fine-tuning."
    preset, known = paper if paper != "wechsel" else "wechsel-roberta", papers()[paper]
    whole, adapters = scale_tasks(scale, preset), scale_tasks(scale, f"{preset}-adapter")
    configs = {task: {"whole model": whole[task], "adapters": adapters[task]} for task in known}
    if scale != "mini":
        for task in known:
            changed = {name: changed_settings(paper, task, cases=[name]) for name in CHANGES.get((paper, task), ())}
            if (paper, task) in LOW_RESOURCE_BATCH:
                changed["low-resource"] = changed_settings(paper, task, low_resource=True)
            configs[task] |= changed
    return {task: {setup: _tuning_values(c) for setup, c in setups.items()} for task, setups in configs.items()}


def _default(function, name):
    return inspect.signature(function).parameters[name].default


def _focus(scale: str) -> Values:
    from vocab_lit.training.stages import MODES

    vectors = {"dimension": "dim", "epochs": "epochs", "min_count": "min_count"}
    taken = {("", "static vectors", name): TOKEN_DEFAULTS["fasttext"][ours] for name, ours in vectors.items()}
    added = round(EXTENSION * scale_vocab_size(scale, "focus"))
    return taken | {
        ("", "LAPT", "extra share of steps for embeddings alone"): MODES["two-stage"][0].share,
        ("", "vocabulary", "tokens that a vocabulary is extended with"): added,
        ("", "tasks", "share of the training split where there is no development split"): (
            development_size("qa", 10_000) / 10_000
        ),
    }


def _embedding_structure(scale: str) -> Values:
    from vocab_lit.training.stages import MODES

    text, cleaning = PAPER_TEXT["embedding-structure"], HubText("", "", language_model="any").cleaning
    frozen = round(MODES["full"][0].share * _lapt_of("embedding-structure", scale, "embedding-structure").steps)
    filters = ("min_tokens", "mean_length", "longest", "alphabetic", "duplicates")
    taken = {("", "text", name): getattr(cleaning, name) for name in filters}
    taken |= {("", "LAPT", "steps with a frozen encoder"): frozen, ("", "text", "alpha"): _default(mix, "alpha")}
    if scale == "mini":
        return taken
    many, few = (list(map(len, split_wikiann(range(n)))) for n in (100_000, 1024))
    return taken | {
        ("", "text", "probability of English that removes a line"): cleaning.confidence,
        ("", "text", "bytes of a language among several"): text.mixed_bytes,
        ("", "vocabulary", "bytes of text that are all used"): text.whole_up_to,
        ("", "vocabulary", "bytes of a sample of larger text"): text.sample_bytes,
        ("", "vocabulary", "lines for several languages"): text.mixed_lines,
        ("", "splits", "share of training sentences, WikiANN"): many[0] / sum(many),
        ("", "splits", "development sentences at least, WikiANN"): few[1],
        ("", "splits", "test sentences at least, WikiANN"): few[2],
        ("", "splits", "development sentences of a treebank without any"): development_size("pos", 10_000),
    }


def _mad_x(scale: str) -> Values:
    from vocab_lit.models.madx import LANGUAGE, TASK

    seeds = int(scale_parameters("mad-x", scale, seeds=0)["seeds"])
    asked, width = mad_x_tables(scale, ["en"], ["MAD-X"], seeds, "en", ["en"])["questions"], _WIDTHS[scale]
    return {
        ("", "qa", "seeds"): len(asked["seeds"]),
        ("", "adapters", "dimension of the language adapter"): width // LANGUAGE.reduction,
        ("", "adapters", "dimension of the invertible adapter, each half"): width // 2 // LANGUAGE.invertible,
        ("", "adapters", "dimension of the task adapter"): width // TASK.reduction,
        ("", "adapters", "activation"): LANGUAGE.activation,
    }


def _unks_everywhere(scale: str) -> Values:
    import torch

    from vocab_lit.methods.factored import Factoring, factorize
    from vocab_lit.methods.registry import get_recipe

    usual = UNKS["MF10-KMEANS-LEX"].text
    small = torch.arange(6.0).reshape(3, 2)  # whose factorisation takes no time
    start = "sampled" if get_recipe(usual.recipe).sampled else "nearest to a sample"
    starts = ("low-dimensional embeddings at the start", "up-projection at the start")
    return {("target", "factorisation", name): start for name in starts} | {
        ("", "factorisation", "components"): usual.factoring.size(_WIDTHS[scale]),
        ("", "factorisation", "clusters"): usual.factoring.clusters,
        ("", "factorisation", "steps of Semi-NMF"): factorize(small, Factoring(components=1)).facts["steps"],
        ("", "adapters", "activation"): usual.adapter.activation,
        ("", "adapters", "layers left out"): {(-1,): "last"}.get(usual.adapter.leave_out),
    }


def _wechsel(scale: str) -> Values:
    from vocab_lit.methods.wechsel import NearestNeighbours

    usual = NearestNeighbours()
    taken = {("", "method", "neighbours"): usual.k, ("", "method", "temperature"): usual.temperature}
    if scale == "mini":
        return taken
    large = paper_text(SetupOptions("paper", "de", preset="wechsel-gpt2"), "de")
    return taken | {("", "text", "bytes"): large.max_bytes, ("de fr zh", "text", "corpus"): large.corpus}


_OF_PAPERS = {
    "focus": _focus,
    "embedding-structure": _embedding_structure,
    "mad-x": _mad_x,
    "unks-everywhere": _unks_everywhere,
    "wechsel": _wechsel,
}


def other_values(paper: str, scale: str) -> Values:
    "Return what is neither of continued pretraining nor of fine-tuning."
    preset = "wechsel-roberta" if paper == "wechsel" else paper
    seeds = "task_seeds" if "task_seeds" in PAPER_PARAMETERS[paper] else "seeds"
    recipe = RECIPES[Path(scale_models(preset)[0]).name]  # of the bundled model, which is as the paper's
    others = {
        ("", "vocabulary", "vocab_size"): scale_vocab_size(scale, preset),
        ("", _ALL_TASKS, "seeds"): scale_parameters(paper, scale, **{seeds: 0})[seeds],
    }
    if paper != "mad-x":  # which keeps the source vocabulary
        others["", "vocabulary", "kind"] = TOKENIZERS[recipe.architecture]["kind"]
    if scale == "paper":
        text = paper_text(SetupOptions("paper", "sw", preset=preset), "sw")
        others |= {("", "text", "corpus"): text.corpus, ("", "text", "limit"): text.limit or "all"}
    return others | _OF_PAPERS[paper](scale)


def taken(paper: str, scale: str) -> Values:
    "Return every hyper-parameter of a paper's presets at a scale."
    values_of: Values = {}
    for setup, values in lapt_values(paper, scale).items():
        values_of |= {(setup, "LAPT", name): value for name, value in values.items()}
    for task, setups in task_values(paper, scale).items():
        for setup, values in setups.items():
            values_of |= {(setup, task, name): value for name, value in values.items()}
    return values_of | other_values(paper, scale)


def find_value(values: Values, setup: str, stage: str, name: str) -> object | None:
    "Return what the presets have for a line of the table; None where it is not theirs."
    for (own_setup, own_stage, own_name), value in values.items():
        stages = own_stage == stage or (stage == _ALL_TASKS and own_stage not in ("LAPT", "text", "vocabulary"))
        if own_name == name and stages and setup in ("", own_setup):
            return value
    return None


def hyperparameters(
    paper: str,  # such as focus
) -> pd.DataFrame:  # columns paper, scale paper, scale mini, section and note, by stage, setup and parameter
    "Return every hyper-parameter that a paper prints or leaves open, beside those of the scales."
    rows = printed_hyperparameters(paper)
    table = rows.assign(paper=[_shown(row.value or "not said", row.parameter) for row in rows.itertuples()])
    for scale in ("paper", "mini"):
        values, shown = taken(paper, scale), []
        for row in rows.itertuples():
            value = find_value(values, row.setup, row.stage, row.parameter)
            described = row.ours if scale == "paper" and not row.value else ""  # what no setting holds
            shown.append(_shown(described if value is None else value, row.parameter))
        table[f"scale {scale}"] = shown
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
