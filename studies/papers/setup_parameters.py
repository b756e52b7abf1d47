"""What a setup file says, as parameters of a chapter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vocab_lit.app.setup_file import OF_KEY
from vocab_lit.tasks.settings import SPLITS, TASK_KEYS
from vocab_lit.text.settings import options


def chapter_parameters(
    setup: Mapping[str, Any],  # from `read_setup`
    known: set[str],  # parameters of the chapter
) -> dict[str, object]:  # of the chapter
    "The parameters of a chapter that a setup has."
    given = {key: value for key, value in setup.items() if key not in (*TASK_KEYS, "lapt")}
    given |= {task: _in_words(setup[task]) for task in TASK_KEYS if task in setup}
    if "steps" in setup.get("lapt", {}):
        given["steps"] = setup["lapt"]["steps"]
    for key in ("text", "source_text"):
        if len(given.get(key, ())) == 1:
            given[key] = given[key][0]
    if "model" in given and {"roberta", "gpt2"} <= known:  # a chapter with models of two kinds
        given["roberta" if _is_masked(given["model"]) else "gpt2"] = given["model"]
    return {key: value for key, value in given.items() if key in known}


def _in_words(task: Mapping[str, Any]) -> str:
    "The files of a task, with spaces between."
    names = [str(task[split]) for split in SPLITS if split in task]
    if any(" " in name for name in names):
        raise ValueError(f"{' '.join(names)}: spaces divide the files of a task; rename those with spaces in them")
    return " ".join(names)


def _is_masked(model: str) -> bool:
    from vocab_lit.models.source import FolderSource

    return "Masked" in (FolderSource(model).config.architectures or [""])[0]


_KINDS = {name: options(cls)[name].kind for name, cls in OF_KEY.items()}
_OF_FILES = {"roberta", "gpt2", "texts", "cluster", "dictionary", "dp", *TASK_KEYS} | {
    name for name, kind in _KINDS.items() if kind in ("Files", "File", "Model")
}


def _from_everywhere(name: str) -> str:
    "An absolute name for one that is there, also behind LANGUAGE=, as of `texts`."
    before, _, at = name.rpartition("=")
    there = Path(at).expanduser()
    if not at or not (there.exists() or "{language}" in at):
        return name
    return f"{before}={there.absolute()}".lstrip("=")


def absolute_names(given: Mapping[str, object]) -> dict[str, object]:  # parameters of a chapter, as they were typed
    "Absolute names of files, since a chapter runs in another folder; what is no file stays as it is."

    def seen(key, value):
        if not isinstance(value, str) or key not in _OF_FILES | {"records"}:
            return value
        if key == "records":
            return str(Path(value).expanduser().absolute())
        return _from_everywhere(value) if Path(value).exists() else " ".join(map(_from_everywhere, value.split()))

    return {key: seen(key, value) for key, value in given.items()}
