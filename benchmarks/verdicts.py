"""Judge the classes of transformers one by one; records of the verdicts, and their tables."""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pandas as pd

_MAPPINGS = {
    "masked LM": "FOR_MASKED_LM",
    "causal LM": "FOR_CAUSAL_LM",
    "sequence-to-sequence LM": "FOR_SEQ_TO_SEQ_CAUSAL_LM",
    "image-text-to-text": "FOR_IMAGE_TEXT_TO_TEXT",
    "speech-to-text": "FOR_SPEECH_SEQ_2_SEQ",
    "pretraining": "FOR_PRETRAINING",
    "sequence classification": "FOR_SEQUENCE_CLASSIFICATION",
    "token classification": "FOR_TOKEN_CLASSIFICATION",
}
TASKS = {task: f"MODEL_{name}_MAPPING_NAMES" for task, name in _MAPPINGS.items()}
TASKS["without a head"] = "MODEL_MAPPING_NAMES"
RESULTS = ("right", "refused", "wrong", "crashed", "not built")
STEPS = ("opened", "trimmed", "extended", "continued", "replaced")


@dataclass(frozen=True)
class Verdict:
    "What became of a class."

    name: str
    model_type: str
    task: str
    result: str  # one of RESULTS
    why: str = ""  # it was refused, is wrong, crashed or could not be built
    pad_moved: str = ""  # why it is refused where the padding id moves, and only there
    compared: bool = True  # whether outputs could be compared


@dataclass(frozen=True)
class TokenizerVerdict:
    "What became of a tokenizer class in a form of its files, at one step."

    name: str
    model_type: str  # of the folder
    form: str  # which files there are, and what they say
    step: str  # one of STEPS
    result: str  # one of RESULTS
    why: str = ""  # it was refused, is wrong, crashed or could not be built


V = TypeVar("V", Verdict, TokenizerVerdict)


class Wrong(Exception):
    "What is not as it should be."


def must(holds: bool, what: str) -> None:
    "`Wrong` unless something holds."
    if not holds:
        raise Wrong(what)


def one_line(error: Exception) -> str:
    "An error, for a verdict."
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def judged(check: Callable[[], object]) -> tuple[str, str]:  # result, why
    "Whether a check ends without an error."
    try:
        check()
    except Exception as e:  # noqa: BLE001  such as a folder that does not load
        return "wrong", str(e) if isinstance(e, Wrong) else one_line(e)
    return "right", ""


@dataclass(frozen=True)
class Record(Generic[V]):
    "What a sweep found."

    transformers: str  # its version
    verdicts: list[V]

    @classmethod
    def read(cls, file: str | Path, kind: type[V] = Verdict) -> Record[V]:
        "The record in a file."
        kept = json.loads(Path(file).read_text(encoding="utf-8"))
        return cls(kept["transformers"], [kind(**verdict) for verdict in kept["verdicts"]])

    def write(self, file: str | Path) -> None:
        "Write a line for each verdict, without fields that have their defaults."
        usual = {f.name: f.default for verdict in self.verdicts[:1] for f in fields(verdict)}
        kept = [{name: v for name, v in asdict(verdict).items() if v != usual[name]} for verdict in self.verdicts]
        lines = ",\n".join(map(json.dumps, kept))
        text = f'{{"transformers": {json.dumps(self.transformers)}, "verdicts": [\n{lines}\n]}}\n'
        Path(file).write_text(text, encoding="utf-8")

    def __getitem__(self, result: str) -> list[V]:
        "The verdicts with one result."
        return [verdict for verdict in self.verdicts if verdict.result == result]


def printed(verdicts: Iterable[V]) -> Iterator[V]:
    "Print each verdict before passing it on."
    for verdict in verdicts:
        print(*filter(None, map(str, asdict(verdict).values())), sep=" | ", flush=True)
        yield verdict


def make_record(verdicts: Iterable[V]) -> Record[V]:
    "The record of a sweep: reasons without the folder of the trial, as long as a table has room for."
    import transformers

    def plain(verdict: V) -> V:
        reasons = {name: getattr(verdict, name) for name in ("why", "pad_moved") if hasattr(verdict, name)}
        return replace(verdict, **{name: re.sub(r"\S*/tmp\S*", "FOLDER", why)[:200] for name, why in reasons.items()})

    return Record(transformers.__version__, list(map(plain, verdicts)))


def _counts(record: Record, kind: str, order: Iterable[str]) -> pd.DataFrame:
    "How many verdicts of each kind came out how."
    import pandas as pd

    counts = collections.Counter((getattr(v, kind), v.result) for v in record.verdicts)
    table = pd.DataFrame({of: {result: counts[of, result] for result in RESULTS} for of in order}).T
    table.loc["all"] = table.sum()
    return table.rename_axis(kind).reset_index()


def counts_table(record: Record) -> pd.DataFrame:
    "How many classes of each task came out how."
    return _counts(record, "task", TASKS)


def steps_table(record: Record[TokenizerVerdict]) -> pd.DataFrame:
    "How often each step came out how, in all forms of files of all tokenizer classes."
    return _counts(record, "step", STEPS)


def class_results(record: Record[TokenizerVerdict]) -> dict[str, str]:
    "The result of each tokenizer class: the worst wrong one, otherwise right where any of its forms is."
    found = collections.defaultdict(set)
    for v in record.verdicts:
        found[v.name].add(v.result)
    order = ("wrong", "crashed", "right", "refused", "not built")
    return {name: next(result for result in order if result in results) for name, results in found.items()}


def told_of_classes(record: Record[TokenizerVerdict], result: str) -> pd.DataFrame:
    "The verdicts with a result, by class and reason."
    import pandas as pd

    rows = {(v.name, v.step, v.why.removeprefix("FOLDER: ")): v.form for v in record[result]}
    return pd.DataFrame([(*key, form) for key, form in rows.items()], columns=["class", "step", "reason", "files"])


def compared_table(record: Record) -> pd.DataFrame:
    "How many of the right classes were judged by their outputs with the padding id kept and moved."
    import pandas as pd

    right = record["right"]
    groups = {"kept": right, "moved": [v for v in right if not v.pad_moved]}
    rows = [(name, len(some), sum(v.compared for v in some), len(right) - len(some)) for name, some in groups.items()]
    return pd.DataFrame(rows, columns=["padding", "right", "outputs compared", "refused"])


REASONS = {  # what a refusal says, and why that is
    r"none of its tensors has|no token is put|has no size of a": "no embeddings of tokens, as in encoders of sound",
    r"has several vocabularies|depends on another vocab": "several vocabularies, or tables of n-grams and hashes",
    r"depends on the vocabulary of": "a table with more rows than the vocabulary has tokens",
    r"holds no embeddings": "a table of integers by token, such as the expert of each",
    r"ends a text at its highest id|does not find the end": "the end of a text is found by its id",
    r"rows for \d+ token ids": "fewer embeddings than tokens",
    r"numbers positions from its padding": "positions are counted from the padding id",
    r"would be given": "further tables of positions",
    r"requires the|parameters, which are too many|has no attribute .*Model": "a package or more memory is needed",
    r"": "the rules of the sweep make no tiny configuration of it",
}


def reason_of(verdict: Verdict) -> str:
    "The group that the reason of a verdict belongs to; empty for a class that is right throughout."
    why = verdict.why or verdict.pad_moved
    return why and next(group for pattern, group in REASONS.items() if re.search(pattern, why))


def reasons_table(verdicts: list[Verdict]) -> pd.DataFrame:
    "The groups of reasons, with an example of each and the classes."
    import pandas as pd

    groups = collections.defaultdict(list)
    for v in verdicts:
        groups[reason_of(v)].append(v)
    rows = [(why, len(g), ", ".join(v.name for v in g), g[0].why or g[0].pad_moved) for why, g in groups.items()]
    return pd.DataFrame(rows, columns=["reason", "classes", "which", "example"])


SEARCH = """<input type="search" placeholder="class, model type, task or reason" aria-label="Search" oninput="
const wanted = this.value.toLowerCase();
for (const row of this.nextElementSibling.tBodies[0].rows)
    row.hidden = !row.textContent.toLowerCase().includes(wanted);">
"""


def search_table(record: Record) -> str:  # HTML
    "All classes with a field above them that shows only those in which a word occurs."
    import pandas as pd

    rows = [
        {"class": v.name, "model type": v.model_type, "task": v.task, "result": v.result}
        | {"reason": v.why or ("" if not v.pad_moved else f"where the padding id moves: {v.pad_moved}")}
        for v in record.verdicts
    ]
    return SEARCH + pd.DataFrame(rows).to_html(index=False, border=0)
