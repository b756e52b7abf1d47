"""Thirty CPU-minutes: which recipe reads best, and keeps its English? `python -m studies speedrun --help`"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

import vocab_lit
from studies.records.record import Record
from vocab_lit.models.device import find_device
from vocab_lit.models.source import Source
from vocab_lit.runs.folder import made_once, write_lines
from vocab_lit.runs.grid import facts_digest
from vocab_lit.study.measure import merged_lora, study_bits
from vocab_lit.study.stages import CellRun, initial_model, ready
from vocab_lit.study.study import cell_fingerprint, check_study, study_digests
from vocab_lit.study.study_file import GridCell, Study, Way, read_study, way_parts
from vocab_lit.tasks.evaluate import errors_only
from vocab_lit.text.corpus import Amount, Lines, data_path, read_lines, sample_lines, write_json
from vocab_lit.text.files import alone, check_file_name, check_output
from vocab_lit.text.settings import SettingError, read_yaml, wrong
from vocab_lit.tokens.vocab import fit
from vocab_lit.training.settings import KeepSettings
from vocab_lit.training.training_run import lapt_files

if TYPE_CHECKING:
    from transformers import PreTrainedModel, TrainerControl, TrainerState, TrainingArguments

log = logging.getLogger("vocab_lit")


CALIBRATED = 0.38  # CPU seconds in fp32 where the first records were made: a core of an EPYC 9004


def cpu_seconds() -> float:
    "CPU seconds of this process and of those that it has waited for, user and system."
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@contextmanager
def one_thread() -> Iterator[None]:
    "Inside the block torch computes on one thread."
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def calibrate(precision: str) -> float:  # CPU seconds, the least of seven: what else the machine does adds to some
    "Time a training step of 8 x 64 tokens of a decoder with two layers of 576, which multiplies in fp32 or bf16."
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = dict(hidden_size=576, intermediate_size=1536, num_attention_heads=9, num_key_value_heads=3)
    times = []
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(0)
        model = LlamaForCausalLM(LlamaConfig(**sizes, num_hidden_layers=2, vocab_size=4096))
        ids = torch.randint(4096, (8, 64))
        optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
        for _ in range(8):
            began = time.process_time()
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            times.append(time.process_time() - began)
    return min(times[1:])  # the first step makes the optimizer's state


ENGLISH, COST = 1.05, 1.02  # what other languages' bits per byte, and the budget, may come to, as factors


@dataclass(frozen=True)
class Speedrun:
    "A recipe on a track, with its budget."

    study: Study  # of one cell
    minutes: float  # calibrated CPU-minutes
    steps: str = ""  # as a record has them, to repeat it; empty: as many as the budget is planned for

    @property
    def cell(self) -> GridCell:
        "The one cell of the study."
        return self.study.cells[0]

    @property
    def way(self) -> Way:
        "The recipe."
        return self.study.ways[self.cell.way]

    @property
    def name(self) -> str:
        "What the run's folder is called."
        again = f"-{self.steps.replace('/', '-of-')}-steps" if self.steps else ""
        return f"{self.way.name}-{self.minutes:g}min{again}"

    @cached_property
    def fingerprint(self) -> str:  # 16 hexadecimal digits
        "A hash of the recipe, the model and the texts."
        return cell_fingerprint(self.study, self.cell, study_digests(self.study))

    @cached_property
    def track_digest(self) -> str:  # 8 hexadecimal digits
        "A hash of the track's model and texts."
        return facts_digest([study_digests(self.study), self.study.measures])

    @property
    def facts(self) -> dict[str, Any]:
        "What a folder's run was begun with."
        return dict(fingerprint=self.fingerprint, minutes=self.minutes, steps=self.steps)

    def judges(self) -> dict[str, list[str]]:  # the language first
        "The sentences of each language on which models are scored."
        codes = sorted(self.study.other, key=lambda code: code != self.cell.language)
        return {code: read_lines(self.study.file(self.study.other[code])) for code in codes}


def _check_track(study: Study) -> None:
    "`ValueError` where a study is no track."
    at = str(study.path)
    if len(study.cells) != 1:
        has = "a track has one model, one language, one amount of text and one seed"
        raise wrong(at, f"{has}, and this makes {len(study.cells)} cells of a way")
    code = study.cells[0].language
    if set(study.other) <= {code} or code not in study.other:
        raise wrong(f"{at}: other", f"give sentences in {code} and in a language that the model is to keep")


def repeated_steps(steps: str) -> tuple[int, int]:  # done, planned; 0, 0: none are given
    "Read the steps of a record; raise `SettingError` if they are none."
    numbers = re.fullmatch(r"(\d+)(?:/(\d+))?", steps or "0")
    done, planned = (int(n or numbers[1]) for n in numbers.groups()) if numbers else (1, 0)
    if done > planned or (steps and not done):
        raise SettingError("steps", f" {steps}: give the steps of a record, such as 290 or 290/300")
    return done, planned


def read_recipe(recipe: Path) -> Way:
    "A way of a study from a YAML file of its own; `ValueError` names the line of what cannot be."
    part = read_yaml(recipe, "recipe", "data/speedrun has some to begin with")
    try:
        way = Way(**way_parts(part.value | dict(name=check_file_name(recipe.stem, str(recipe))), {}))
        way.check()
        if way.lapt.steps is not None or way.lapt.max_epochs is not None:
            raise SettingError("lapt", "the budget says how long it trains; leave steps and max_epochs out")
        if way.adapter is not None:
            raise SettingError("adapter", "the model itself learns; leave it out")
    except SettingError as e:
        raise part.wrong(e) from None
    return way


def open_speedrun(
    recipe: str | Path,  # a way of a study in a YAML file of its own
    data: str | Path,  # folder that {data} stands for in the track
    minutes: float = 30,
    track: str | Path = "",  # empty: the bundled one
    steps: str = "",
) -> Speedrun:
    "Read and check a recipe and its track; `ValueError` or an `OSError` say what cannot be, and nothing is written."
    recipe = Path(recipe)
    if not 0 < minutes < math.inf:
        raise SettingError("minutes", f" {minutes}: give a number above 0")
    repeated_steps(steps)
    study = read_study(track or data_path("speedrun", "track.yml"), data)
    way = read_recipe(recipe)
    study = replace(study, ways={way.name: way}, baseline=way.name)
    _check_track(study)
    check_study(study)
    asked = Speedrun(study, minutes, steps)
    asked.judges()
    if find_device().kind != "cpu":
        raise ValueError("a speedrun counts CPU seconds, and this process sees a GPU; hide it: CUDA_VISIBLE_DEVICES=''")
    return asked


@dataclass
class _Costs:
    "CPU seconds of a training's parts."

    step: float  # one of them
    check: float  # an evaluation with its checkpoint
    other: float  # all besides steps, of a training with an evaluation at the start and one at the end


class _Clock(TrainerCallback):
    "Counts the CPU seconds of a recipe, scores it on the way, and stops its training in time."

    def __init__(
        self,
        budget: float = math.inf,  # CPU seconds
        spent: float = 0,  # before
        after: float = 0,  # the last step: evaluation, checkpoint, saving
        score: Callable[[PreTrainedModel], float] | None = None,
        last: float = math.inf,  # step
        saved: Callable[[_Clock, int], None] = lambda clock, step: None,  # told of each checkpoint
        notes: dict | None = None,  # of the checkpoint from which a run resumes: spent, curve
    ):
        self.budget, self.after, self.score, self.last, self.saved = budget, after, score, last, saved
        self.notes, self.curve = notes or {}, []
        self.before, self.began, self.unpaid = spent, cpu_seconds(), 0.0
        self.steps, self.ended, self.step_began = [], [], 0.0

    @property
    def spent(self) -> float:
        "CPU seconds so far."
        return self.before + cpu_seconds() - self.began - self.unpaid

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if note := self.notes.get(str(state.global_step)):
            self.before, self.curve = note["spent"], list(note["curve"])
            self.began, self.unpaid = cpu_seconds(), 0.0

    def on_step_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.step_began = self.spent

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        now = self.spent
        self.steps.append(now - self.step_began)
        self.ended.append(now)
        out_of_time = now + max(self.steps[-3:]) + self.after > self.budget
        if out_of_time or state.global_step >= self.last:
            control.should_evaluate = control.should_save = control.should_training_stop = True
        if control.should_save:  # before as well, for a run that is killed while it saves
            self.saved(self, state.global_step)

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, model: Any = None, **_: Any
    ) -> None:
        if self.score is None:
            return
        spent, began = self.spent, cpu_seconds()
        self.curve.append([spent, self.score(model)])
        self.unpaid += cpu_seconds() - began

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.saved(self, state.global_step)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.ended.append(self.spent)


_TRIED = 3  # steps
_REPLAYED, _LEAST = 4000, 10_000  # bytes of text to keep for a minute of the budget, and for any
_ALONG = 25  # sentences that are read along the training, evenly spread


@dataclass
class _Run:
    "A speedrun under way, in its folder."

    asked: Speedrun
    out: Path  # of many speedruns
    note: dict[str, Any] = field(default_factory=dict)  # what is known so far

    @property
    def folder(self) -> Path:
        "The run's own folder."
        return self.out / self.asked.name

    @property
    def track(self) -> Path:
        "What the speedruns of a track share."
        return self.out / f"track-{self.asked.track_digest}"

    def cell(self, prepared: Path) -> CellRun:
        "The one cell, whose text is there."
        return CellRun.open(self.asked.study, self.asked.cell, self.folder, prepared)

    @property
    def start(self) -> Path:
        "Return the model before training."
        return Path(self.note["start"]["folder"])

    @property
    def budget(self) -> float:
        "CPU seconds that this machine has for the recipe."
        return 60 * self.asked.minutes * self.note["calibration"] / CALIBRATED

    def write(self, **more: Any) -> None:
        "Note what has become known."
        self.note |= more
        write_json(self.note, self.folder / "speedrun.json")

    @property
    def keep(self) -> KeepSettings:
        "As much of the text to keep as the budget can replay, since a tenth of it is read at each evaluation."
        keep = self.asked.study.kept_text(self.asked.way)
        if not keep.replay:
            return keep
        amount = Amount(max(_LEAST, round(_REPLAYED * self.asked.minutes)), bytes=True)
        file = self.track / f"kept-{amount.n}.txt"
        made_once(file, lambda out: write_lines(out, sample_lines(Lines(*keep.keep_text), amount)))
        return replace(keep, keep_text=(str(file),))

    def train(self, out: Path, steps: int, every: int, clock: _Clock, resume: bool = False) -> None:
        "Train a model by the recipe."
        cell, lapt = self.cell(self.track), replace(self.asked.way.lapt, steps=steps, eval_every=every)
        settings = replace(cell.settings(resume), seed=self.asked.cell.seed, precision=self.note["precision"])
        with errors_only():
            lapt_files(self.start, [str(cell.train_text)], out, lapt, settings, None, self.keep, [clock])


def _make_start(run: _Run) -> None:
    "Make the vocabulary and its embeddings."
    own = run.folder / "own"
    for rest in (run.folder / "trimmed", run.folder / "start", own):  # of one that was stopped
        shutil.rmtree(rest, ignore_errors=True)
    cell, began = run.cell(own), cpu_seconds()  # tokenizer and vectors are paid for by each recipe
    start = initial_model(ready(cell))
    run.write(start=dict(folder=str(start), seconds=cpu_seconds() - began))


def _try(run: _Run) -> _Costs:
    "Train a few steps, to see what they cost."
    with tempfile.TemporaryDirectory(dir=run.folder) as folder:
        clock = _Clock()
        run.train(Path(folder, "model"), _TRIED, _TRIED, clock)
        other = clock.spent - sum(clock.steps)
    step = statistics.mean(clock.steps[1:])
    return _Costs(step, clock.ended[-1] - clock.ended[-2], other + clock.steps[0] - step)


def _plan(run: _Run) -> None:
    "How many steps the budget has; `ValueError` where it has none. Given steps need no plan."
    if run.asked.steps:
        last, planned = repeated_steps(run.asked.steps)
        run.write(planned=planned, last=last, reserve=0)
        return
    costs = _try(run)
    checks = run.asked.study.evaluations
    left = run.budget - run.note["start"]["seconds"] - costs.other - (checks - 1) * costs.check
    steps = int(left / costs.step)
    if steps < checks:
        problem = f"{run.asked.minutes:g} minutes have no room for {checks} steps of {costs.step:.2f} CPU seconds"
        raise ValueError(f"{run.asked.way.name}: {problem} beside what else it does; give more minutes")
    run.write(planned=steps, last=steps, reserve=2 * costs.check)


def _train(run: _Run) -> None:
    "Train to the end of the budget, or resume from a checkpoint."
    note, study = run.note, run.asked.study
    sentences = run.asked.judges()[run.asked.cell.language]
    some = sentences[:: max(1, len(sentences) // _ALONG)]
    score = partial(study_bits, study, Source.open(run.start).tokenizer, some)
    checkpoints = note.setdefault("checkpoints", {})

    def saved(clock: _Clock, step: int) -> None:
        checkpoints[str(step)] = dict(spent=clock.spent, curve=clock.curve)
        run.write()

    budget = math.inf if run.asked.steps else run.budget
    clock = _Clock(budget, note["start"]["seconds"], note["reserve"], score, note["last"], saved, checkpoints)
    out, every = run.folder / "model", max(1, note["planned"] // study.evaluations)
    resume = (out / "lapt.json").is_file()
    if not resume:
        shutil.rmtree(out, ignore_errors=True)
    run.train(out, note["planned"], every, clock, resume)
    run.write(spent=clock.spent, curve=clock.curve, done=max(map(int, checkpoints)))


RECORD = (  # the columns
    *("date", "recipe", "hash", "minutes", "score", "before", "kept", "kept_before", "valid", "cpu_seconds"),
    *("calibration", "precision", "steps", "tokens_per_word", "parameters"),
    *("model", "track", "fingerprint", "library", "curve"),
)


def _measured(study: Study, source: Source, sentences: dict[str, list[str]]) -> tuple[dict[str, float], int]:
    "Bits per byte of a model in each language, and how many parameters it has."
    model = source.load()
    bits = {code: study_bits(study, source.tokenizer, some, model) for code, some in sentences.items()}
    return bits, model.num_parameters()


def _source_bits(run: _Run, sentences: dict[str, list[str]]) -> dict[str, float]:
    "Those of the source model, which are measured once."
    file, study = run.track / "source.json", run.asked.study
    if not file.is_file():
        bits, _ = _measured(study, Source.open(study.model(run.asked.cell.model)), sentences)
        write_json(bits, file)
    return json.loads(file.read_text(encoding="utf-8"))


def verdict(
    kept: dict[str, float],  # bits per byte of languages that the model is to keep
    before: dict[str, float],  # those of the source model
    cost: float,  # as a share of the budget
) -> str:  # yes, or why not
    "Whether a record is valid."
    for code, bits in kept.items():
        if bits > ENGLISH * before[code]:
            return f"no: {code} rose by {bits / before[code] - 1:.1%}, and {ENGLISH - 1:.0%} are allowed"
    return f"no: {cost - 1:.1%} over the budget" if cost > COST else "yes"


def _finished(run: _Run) -> Path:
    "The folder of the whole model that came of it."
    trained = run.folder / "model"
    if not run.asked.way.lapt.lora or (trained / "config.json").is_file():
        return trained
    merged = run.folder / "merged"
    shutil.rmtree(merged, ignore_errors=True)  # the rest of one that was stopped
    return merged_lora(run.start, trained, merged)


def _record(run: _Run) -> dict[str, str]:
    "Score what came of a recipe."
    asked, note, sentences = run.asked, run.note, run.asked.judges()
    source = Source.open(_finished(run))
    before = _source_bits(run, sentences)
    bits, parameters = _measured(asked.study, source, sentences)
    language, *others = sentences
    kept = {code: bits[code] for code in others}
    scale = note["calibration"] / CALIBRATED
    steps = f"{note['done']}/{note['planned']}" if note["done"] < note["planned"] else str(note["planned"])
    return dict(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        recipe=asked.way.name,
        hash=facts_digest(asked.way.facts),
        minutes=f"{asked.minutes:g}",
        score=f"{bits[language]:.4f}",
        before=f"{before[language]:.4f}",
        kept=" ".join(f"{bits[code]:.4f}" for code in others),
        kept_before=" ".join(f"{before[code]:.4f}" for code in others),
        valid=verdict(kept, before, note["spent"] / run.budget),
        cpu_seconds=f"{note['spent']:.1f}",
        calibration=f"{note['calibration']:.4f}",
        precision=note["precision"],
        steps=steps,
        tokens_per_word=f"{fit(source.tokenizer, sentences[language]).fertility:.3f}",
        parameters=str(parameters),
        model=asked.cell.model,
        track=asked.study.name,
        fingerprint=asked.fingerprint,
        library=vocab_lit.__version__,
        curve="; ".join(f"{spent / scale / 60:.2f} {bits:.4f}" for spent, bits in note["curve"]),
    )


TABLE = Record("speedrun.csv", RECORD, RECORD)


def check_records(path: Path) -> None:
    "Raise `ValueError` if a file has other columns than records have."
    columns = list(next(iter(TABLE.rows(path)), RECORD))
    if columns[: len(RECORD)] != list(RECORD):
        raise ValueError(f"{path} is no file of records: its columns are {', '.join(columns)}; give another file")


def _begin(run: _Run) -> None:
    "Open the run's folder; `ValueError` where it holds another one."
    file = run.folder / "speedrun.json"
    if not file.is_file():
        check_output(run.folder)
        return
    run.note = json.loads(file.read_text(encoding="utf-8"))
    if run.note["asked"] != run.asked.facts:
        raise ValueError(f"{run.folder} holds a run of another recipe or other data; remove it, or give another --out")


_STAGES = {"start": _make_start, "planned": _plan, "spent": _train}  # by what is known after each


def run_speedrun(
    asked: Speedrun,
    out: str | Path,  # folder of many speedruns
    records: str | Path = "",  # CSV; empty: in the folder
) -> dict[str, str]:  # the record, by the columns of `RECORD`
    "Run a recipe to the end of its budget and record its score; an interrupted run resumes."
    run, records = _Run(asked, Path(out).absolute()), Path(records or Path(out, "speedrun.csv"))
    check_records(records)
    _begin(run)
    run.folder.mkdir(parents=True, exist_ok=True)
    with alone(run.folder), one_thread():
        run.cell(run.track)  # text, which all recipes are given
        if "calibration" not in run.note:
            precision = asked.study.precision.replace("auto", "") or find_device().precision
            run.write(asked=asked.facts, precision=precision, calibration=calibrate(precision))
        for known, make in _STAGES.items():
            if known not in run.note:
                log.info(f"{asked.way.name}: {make.__name__.strip('_').replace('_', ' ')}")
                make(run)
        if "record" not in run.note:
            run.write(record=_record(run))
        TABLE.write([run.note["record"]], records)
    return run.note["record"]
