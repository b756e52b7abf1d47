"""Which of a chapter's data can be had: found out before anything is trained, for a plan and for a run alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError

from studies.data.hub import hub_model, shards, undivided_wikiann, where_is
from studies.data.hub_sources import DEFAULTS, MODELS, MONOLINGUAL, PARQUET, SOURCES, Source, get_source, source_for
from studies.data.presets import PAPER_TEXT, Parameters, data_set, on_data_sets, scale_parameters, task_and_set
from vocab_lit.text.errors import import_extra
from vocab_lit.text.files import hub_error_reason, hub_name, in_mirror

if TYPE_CHECKING:
    import pandas as pd

_PATIENCE = 5  # seconds to wait for the Hub


@dataclass(frozen=True)
class State:
    "Whether one language of a data set can be had."

    there: bool
    where: str  # a part of a sentence: where it is, or why it cannot be had


def _in_mirror(source: Source, language: str) -> State | None:  # None: the mirror does not have the data set
    folder = in_mirror(source.name)
    if not folder:
        return None
    part = next(filter(None, source.splits[::-1])) if source.task != "text" else "train"
    if shards(folder, source, language, part):
        return State(True, "mirror")
    return State(False, f"the mirror's {source.name} has no {part} files of {language}")


@cache
def _hub_answers() -> bool:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    try:
        get_hf_file_metadata(hf_hub_url("statmt/cc100", "README.md", repo_type="dataset"), timeout=_PATIENCE)
    except HfHubHTTPError:
        return True  # which is an answer
    except Exception:  # those of the network, of which there are many classes
        return False
    return True


@cache
def _configurations(name: str, revision: str | None) -> tuple[str, ...]:
    return tuple(import_extra("datasets", "chapters").get_dataset_config_names(name, revision=revision))


@cache
def _a_file(pattern: str) -> str:  # as `HfFileSystem` has it; "": there is none
    from huggingface_hub import HfFileSystem

    return next(iter(sorted(map(str, HfFileSystem().glob(pattern)))), "")


def _check_terms(name: str, revision: str | None, file: str) -> None:
    "`GatedRepoError` where files are listed but not given."
    from huggingface_hub import get_hf_file_metadata, get_token, hf_hub_url

    at = hf_hub_url(name, file, repo_type="dataset", revision=revision)
    get_hf_file_metadata(at, token=get_token(), timeout=_PATIENCE)


def _on_hub(source: Source, language: str) -> State:  # asks the Hub
    config, revision = source.of(source.config, language), source.revision
    missing = State(False, f"on the Hub {source.name} has no {config}")
    if not source.files and revision != PARQUET:
        return State(True, "on the Hub") if config in _configurations(source.name, revision) else missing
    pattern = source.of(source.files, language) if source.files else f"{config}/*/*.parquet"
    repository = f"datasets/{source.name}@{(revision or 'main').replace('/', '%2F')}/"
    if not (found := _a_file(repository + pattern)):
        return State(False, f"on the Hub {source.name} has no {pattern}")
    _check_terms(source.name, revision, found.removeprefix(repository).removeprefix(f"datasets/{source.name}/"))
    return State(True, "on the Hub")


def state_of(
    source: Source,
    language: str,
    look: bool = False,  # whether to ask the Hub
) -> State:
    "Whether a language of a data set can be had, as far as it is known."
    if source is SOURCES["wikiann"] and undivided_wikiann(language):
        return State(True, "mirror")
    try:
        source.of(source.files or source.config, language)
    except ValueError as e:
        return State(False, str(e))
    if found := _in_mirror(source, language):
        return found
    where = where_is(source.name, dataset=True)
    if constants.HF_HUB_OFFLINE:
        return State(not (look and where.startswith("nowhere")), where)
    if not (look and _hub_answers()):
        return State(True, where)  # as far as is known
    try:
        return _on_hub(source, language)
    except GatedRepoError as e:
        return State(False, hub_error_reason(f"datasets/{source.name}", e))
    except Exception as e:  # the client's own, and those of the network, of which there are many classes
        return State(False, hub_error_reason(source.name, e))


def state_of_adapter(
    name: str,  # a folder, or a name on the Hub
    look: bool = False,  # whether to ask the Hub
) -> State:
    "Whether a published adapter can be had, as far as it is known."
    where = where_is(name, wanted="adapter_config.json")
    if where.startswith(("missing", "nowhere")):
        return State(False, where)
    if not (look and where.startswith("on the") and _hub_answers()):
        return State(True, where)
    try:
        hub_name(name, "adapter_config.json", "adapter")
    except FileNotFoundError as e:
        return State(False, str(e))
    return State(True, "on the Hub")


@dataclass(frozen=True)
class Adapter:
    "A published language adapter."

    language: str
    name: str  # a folder, or a name on the Hub
    state: State

    what = "language adapter"

    @property
    def row(self) -> tuple[str, str, str, str]:  # what, name, part, where
        "A line of a plan."
        told = "" if self.state.there else "left out, all are trained: "
        return self.what, self.name, "", told + self.state.where


@dataclass(frozen=True)
class Datum:
    "One language of a data set that a chapter reads."

    what: str  # text, or a task
    source: Source
    language: str
    state: State

    @property
    def row(self) -> tuple[str, str, str, str]:  # what, name, part, where
        "A line of a plan."
        if not self.state.there:
            return self.what, self.source.name, self.language, f"left out: {self.state.where}"
        part = self.source.of(self.source.files or self.source.config, self.language)
        revision = f" ({self.source.revision})" if self.source.revision else ""
        cut_off = "" if self.state.where == "mirror" else self.source.cut_off(self.language)
        notes = filter(None, (self.state.where, self.source.note, cut_off))
        return self.what, self.source.name, part + revision, "; ".join(notes)


TEXT_OF = {"compare": "focus"}  # a chapter without a paper reads what this one reads


def data_of(
    chapter: str,
    what: str,  # text, or a task
    language: str,
    given: Mapping[str, object],  # corpus, and data sets by task
    look: bool = False,  # whether to ask the Hub
) -> list[Datum]:  # of a task one for each of its data sets
    "What a chapter reads in a language, and whether it can be had."
    if what == "text":
        preset = PAPER_TEXT[TEXT_OF.get(chapter, chapter)]
        names = [str(given.get("corpus") or preset.corpus_of(language))]
    else:
        names = (data_set(chapter, what, language, str(given.get(what) or "")) or DEFAULTS[what]).split()
    sources = [source_for(name, what, language) if what == "text" else get_source(name, what) for name in names]
    return [Datum(what, source, language, state_of(source, language, look)) for source in sources]


# by chapter and parameter: what is read in each of its languages besides text; task is that of the page
_READ: Mapping[str, Mapping[str, str]] = {
    "focus": dict(compare=""),
    "embedding-structure": dict(compare="", mixed="", family=""),
    "mad-x": dict(kinds="ner", questions="qa"),
    "unks-everywhere": dict(
        sources="task", targets="task", exchange_targets="task", tree_sources="dp", tree_targets="dp"
    ),
    "wechsel": dict(medium="", low=""),
}


def _languages(said: str) -> list[str]:  # of `a b`, `a+b` or `kind: a b; kind: c`
    return [code for part in said.split(";") for code in re.split(r"[\s+]+", part.rpartition(":")[2]) if code]


def _without(said: str, missing: Iterable[str]) -> str:
    "Languages as a parameter has them, but for some."
    kept = []
    for part in said.split(";"):
        kind, colon, codes = part.rpartition(":")
        between = "+" if "+" in codes else " "
        left = [code for code in _languages(codes) if code not in missing]
        if left:
            kept.append(f"{kind}{colon}{' ' * bool(colon)}{between.join(left)}")
    return ";".join(kept)


def _missing(chapter: str, said: str, kind: str, given: Mapping[str, object], look: bool) -> Iterator[Datum]:
    kind = str(given.get("task") or "ner") if kind == "task" else kind
    for language in _languages(said):
        for what in filter(None, ("text", kind)):
            data = data_of(chapter, what, language, given, look)
            if not any(datum.state.there for datum in data):
                yield data[0]


def _missing_adapters(chosen: Parameters, look: bool) -> list[Adapter]:
    named = str(chosen.get("source_adapters", ""))
    if not named:
        return []
    languages = dict.fromkeys(_languages(f"{chosen.get('sources', '')} {chosen.get('tree_sources', '')}"))
    names = {code: named.replace("{language}", code) for code in languages}
    found = [Adapter(code, name, state_of_adapter(name, look)) for code, name in names.items()]
    return [adapter for adapter in found if not adapter.state.there]


def compared_models(chapter: str, scale: str, languages: Iterable[str]) -> list[str]:  # names on the Hub
    "Models besides the source models that a chapter fine-tunes at scale paper, to compare its own with."
    if scale != "paper":
        return []
    if chapter == "mad-x":
        return [MODELS["mBERT"]] * ("en" in languages)
    single = [MODELS[MONOLINGUAL[code]] for code in languages if code in MONOLINGUAL]
    return [MODELS["XLM-R"], *single] if chapter == "wechsel" else []


def check_models(
    chapter: str,
    scale: str,
    languages: Iterable[str],  # that they are fine-tuned in
) -> None:
    "`FileNotFoundError` where a model of `compared_models` cannot be had."
    for name in compared_models(chapter, scale, languages):
        hub_model(name)


def has_task(
    task: str,  # pos, ner, dp, qa or nli
    language: str,
    name: str = "",  # short name of a data set; "": the task's usual one
) -> bool:
    "Whether a task's data set has the language, as far as is known without network."
    return state_of(get_source(name or DEFAULTS[task], task), language).there


def tasks_with_data(
    chapter: str,
    scale: str,
    language: str,
    tasks: Iterable[str],
    given: Mapping[str, object],  # at scale custom files by task, at paper data sets by task
) -> list[str]:  # at paper, one for each data set of a task, as `on_data_sets` names them
    "Tasks that there are examples of."
    if scale != "paper":
        return [task for task in tasks if scale == "mini" or given.get(task)]
    names = {task: data_set(chapter, task, language, str(given.get(task) or "")) for task in tasks}
    named = [one for task in tasks for one in on_data_sets(task, names[task])]
    sets = {one: task_and_set(one, names) for one in named}
    return [one for one, (task, name) in sets.items() if has_task(task, language, name)]


class NothingLeft(ValueError):
    "A parameter of whose languages none has data."


@dataclass(frozen=True)
class Reachable:
    "Parameters of a chapter without what cannot be had, and what was left out."

    parameters: Parameters
    left_out: dict[str, list[Datum | Adapter]]  # by parameter

    @property
    def table(self) -> pd.DataFrame:
        "A row for each language that was left out, or whose published adapter was."
        import pandas as pd

        left_out = [(name, datum) for name, data in self.left_out.items() for datum in data]
        rows = [(name, datum.language, f"{datum.what}: {datum.state.where}") for name, datum in left_out]
        return pd.DataFrame(rows, columns=["parameter", "left out", "why"]).set_index("parameter")

    def show(self) -> None:
        "Show in a notebook what was left out, if anything was."
        if self.left_out:
            from IPython.display import display

            display(self.table)


def reachable_parameters(
    chapter: str,  # such as focus
    scale: str,
    language: str,  # of the page
    data: Mapping[str, object],  # corpus, and data sets by task, where they are not the paper's
    look: bool = False,  # whether to ask the Hub
    **given: str | int,  # as in `scale_parameters`
) -> Reachable:
    "Parameters of a chapter; at scale paper, languages without data and adapters that are not there are left out."
    chosen: dict = dict(scale_parameters(chapter, scale, **given))
    left_out: dict = {}
    if scale != "paper":
        return Reachable(chosen, left_out)
    for name, kind in _READ.get(chapter, {}).items():
        if missing := list(_missing(chapter, str(chosen.get(name, "")), kind, data, look)):
            left_out[name] = missing
            chosen[name] = _without(str(chosen[name]), [datum.language for datum in missing])
            if not chosen[name]:
                first = missing[0]
                why = f"{first.what} of {first.language}: {first.state.where}"
                raise NothingLeft(f"no language of {name} is left, since their data cannot be had ({why}); name others")
    if adapters := _missing_adapters(chosen, look):
        left_out["source_adapters"], chosen["source_adapters"] = adapters, ""  # all are trained alike
    return Reachable(chosen, left_out)
