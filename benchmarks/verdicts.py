"""What became of each model class of transformers: a record, and its tables."""

from __future__ import annotations

import collections
import json
import re
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pandas as pd

TASKS = {
    "masked LM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "causal LM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "sequence-to-sequence LM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "image-text-to-text": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "speech-to-text": "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "pretraining": "MODEL_FOR_PRETRAINING_MAPPING_NAMES",
    "sequence classification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "token classification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
    "without a head": "MODEL_MAPPING_NAMES",
}
RESULTS = ("right", "refused", "wrong", "crashed", "not built")


@dataclass(frozen=True)
class Verdict:
    "What became of a class."

    name: str
    model_type: str
    task: str
    result: str  # right, refused, wrong, crashed or not built
    why: str = ""  # it was refused, is wrong, crashed or could not be built
    pad_moved: str = ""  # why it is refused where the padding id moves, and only there
    compared: bool = True  # whether outputs could be compared


STEPS = ("opened", "trimmed", "extended", "continued", "replaced")


@dataclass(frozen=True)
class TokenizerVerdict:
    "What became of a tokenizer class in a form of its files, at one step."

    name: str
    model_type: str  # of the folder
    form: str  # which files there are, and what they say
    step: str  # one of STEPS
    result: str  # right, refused, wrong, crashed or not built
    why: str = ""  # it was refused, is wrong, crashed or could not be built


V = TypeVar("V", Verdict, TokenizerVerdict)


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
        "Write it with a line for each verdict, without what is as usual."
        usual = {f.name: f.default for verdict in self.verdicts[:1] for f in fields(verdict)}
        told = [{name: v for name, v in asdict(verdict).items() if v != usual[name]} for verdict in self.verdicts]
        lines = ",\n".join(map(json.dumps, told))
        text = f'{{"transformers": {json.dumps(self.transformers)}, "verdicts": [\n{lines}\n]}}\n'
        Path(file).write_text(text, encoding="utf-8")

    def __getitem__(self, result: str) -> list[V]:
        "The verdicts with one result."
        return [verdict for verdict in self.verdicts if verdict.result == result]


def make_record(verdicts: list[V]) -> Record[V]:
    "What is kept of a sweep: reasons without the folder of the trial, as far as a table has room."
    import transformers

    def plain(why):
        return re.sub(r"\S*/tmp\S*", "FOLDER", why)[:200]

    told = ("why", "pad_moved")
    kept = [replace(v, **{name: plain(getattr(v, name)) for name in told if hasattr(v, name)}) for v in verdicts]
    return Record(transformers.__version__, kept)


def counts_table(record: Record) -> pd.DataFrame:
    "How many classes of each task came out how."
    import pandas as pd

    counts = collections.Counter((v.task, v.result) for v in record.verdicts)
    table = pd.DataFrame({task: {result: counts[task, result] for result in RESULTS} for task in TASKS}).T
    table.loc["all"] = table.sum()
    return table.rename_axis("task").reset_index()


def steps_table(record: Record[TokenizerVerdict]) -> pd.DataFrame:
    "How often each step came out how, in all forms of files of all tokenizer classes."
    import pandas as pd

    counts = collections.Counter((v.step, v.result) for v in record.verdicts)
    table = pd.DataFrame({step: {result: counts[step, result] for result in RESULTS} for step in STEPS}).T
    table.loc["all"] = table.sum()
    return table.rename_axis("step").reset_index()


def class_results(record: Record[TokenizerVerdict]) -> dict[str, str]:
    "Of each tokenizer class what became of it: the worst that is wrong, otherwise right where any of its forms is."
    found = collections.defaultdict(set)
    for v in record.verdicts:
        found[v.name].add(v.result)
    order = ("wrong", "crashed", "right", "refused", "not built")
    return {name: next(result for result in order if result in results) for name, results in found.items()}


def told_of_classes(record: Record[TokenizerVerdict], result: str) -> pd.DataFrame:
    "What came out with a result, by class and reason."
    import pandas as pd

    rows = {(v.name, v.step, v.why.removeprefix("FOLDER: ")): v.form for v in record[result]}
    columns = ["class", "step", "reason", "files"]
    return pd.DataFrame([(*key, form) for key, form in rows.items()], columns=columns)


def compared_table(record: Record) -> pd.DataFrame:
    "Of the right classes, how many were judged by their outputs with the padding id kept and moved."
    import pandas as pd

    right = record["right"]
    moved = [v for v in right if not v.pad_moved]
    columns = ["padding", "right", "outputs compared", "refused"]
    rows = [
        (padding, len(some), sum(v.compared for v in some), len(right) - len(some))
        for padding, some in (("kept", right), ("moved", moved))
    ]
    return pd.DataFrame(rows, columns=columns)


REASONS = [  # what a refusal says, and why that is
    (
        r"none of its tensors has|no token is put into|has no size of a",
        "no embeddings of tokens, as in encoders of sound",
    ),
    (r"has several vocabularies|depends on another vocab", "several vocabularies, or tables of n-grams and hashes"),
    (r"depends on the vocabulary of", "a table with more rows than the vocabulary has tokens"),
    (r"holds no embeddings", "a table of integers by token, such as the expert of each"),
    (r"ends a text at its highest id|does not find the end", "the end of a text is found by its id"),
    (r"rows for \d+ token ids", "fewer embeddings than tokens"),
    (r"numbers positions from its padding", "positions are counted from the padding id"),
    (r"would be given", "further tables of positions"),
    (r"requires the|parameters, which are too many|has no attribute .*Model", "a package or more memory is needed"),
    (r"", "the rules of the sweep make no tiny configuration of it"),
]


def one_line(error: Exception) -> str:
    "What went wrong, for a verdict."
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def reason_of(verdict: Verdict) -> str:
    "The group that the reason of a verdict belongs to; empty for a class that is right throughout."
    told = verdict.why or verdict.pad_moved
    return told and next(group for pattern, group in REASONS if re.search(pattern, told))


def reasons_table(verdicts: list[Verdict]) -> pd.DataFrame:
    "The groups of reasons, with an example of each and the classes."
    import pandas as pd

    by_reason = collections.defaultdict(list)
    for verdict in verdicts:
        by_reason[reason_of(verdict)].append(verdict)
    rows = [
        (group, len(some), ", ".join(v.name for v in some), some[0].why or some[0].pad_moved)
        for group, some in by_reason.items()
    ]
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
