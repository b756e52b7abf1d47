"""The command line of the development code: `python -m studies --help`."""

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated, cast

import typer
from typer.core import TyperCommand, TyperGroup

import studies.data.parsing  # noqa: F401  registers the task dp, before the keys of setup files are listed
from vocab_lit.cli.console import Json, OneLine, SetupFile, print_json, show, show_facts
from vocab_lit.text.errors import UserError


class _UserErrors(TyperGroup):
    "Commands in which a `ValueError` says what the user has to change."

    def invoke(self, ctx: typer.Context) -> object:
        "Run a command."
        try:
            return super().invoke(ctx)
        except ValueError as e:
            raise UserError(str(e)) from e


class Studies(OneLine, _UserErrors):
    "The commands of the studies, whose errors are one line."


app = typer.Typer(
    cls=Studies,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Run the chapters of the book, check the papers' claims, compute the recorded study, run speedruns.",
)
Language = Annotated[str, typer.Option(help="Language code, as CLDR writes it.")]
Scale = Annotated[
    str | None,
    typer.Option(
        help="mini (bundled models, minutes), paper (the paper's own models) or custom (your files).",
        show_default="custom with a setup, else mini",
    ),
]
Given = Annotated[
    list[str] | None,
    typer.Option("--set", help="Another parameter of the chapter, as KEY=VALUE. May be repeated.", show_default=False),
]
TokensPerSecond = Annotated[
    float,
    typer.Option(
        help="Of a plan: tokens that LAPT trains on in a second on the machine that will be used.",
        show_default="what `python -m benchmarks gpu` has measured here; else a quarter of each machine's peak",
    ),
]
Name = Annotated[str, typer.Argument(help="For example focus.", show_default=False)]


def _typed(name: str, given: list[str], known: dict) -> dict:
    "Parameters as `KEY=VALUE`, with the types of the chapter's defaults."
    from tools.chapters import check_parameters

    for pair in given:
        if "=" not in pair:
            raise ValueError(f"--set {pair}: give KEY=VALUE, such as --set steps=100")
    values = dict(pair.split("=", 1) for pair in given)
    check_parameters(name, values, known)
    for key, value in values.items():
        try:
            values[key] = type(known[key])(value)
        except ValueError:
            raise ValueError(f"--set {key}={value}: give a number, such as {known[key]}") from None
    return values


def _asked(name: str, scale: str | None, setup: dict | None, given: list[str] | None, cluster: str = ""):
    "The scale, and the parameters of a chapter."
    from studies.papers.setup_parameters import absolute_names, chapter_parameters
    from tools.chapters import chapter_defaults

    scale = scale or ("custom" if setup else "mini")
    if setup and scale == "mini":
        raise ValueError("a setup is for scale custom; leave out --scale mini")
    known = chapter_defaults(name)
    values = _typed(name, [*(given or ()), *([f"cluster={cluster}"] if cluster else ())], known)
    parameters = chapter_parameters(setup, set(known)) | absolute_names(values)
    return scale, {key: value for key, value in parameters.items() if key not in ("language", "scale")}


@app.command("plan")
def plan_(
    name: Name,
    language: Language = "sw",
    scale: Scale = None,
    setup: SetupFile = None,
    set_: Given = None,
    tokens_per_second: TokensPerSecond = 0,
) -> None:
    """Print a chapter's runs, where models and data come from and what it takes, and do nothing.

    Example: `python -m studies plan focus --language sw --scale paper`
    """
    from studies.chapters.budget import plan

    scale, parameters = _asked(name, scale, setup, set_)
    print(plan(name, language, scale, tokens_per_second, look=True, **parameters))


@app.command()
def chapter(
    name: Name,
    language: Language = "sw",
    scale: Scale = None,
    setup: SetupFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The executed notebook.",
            show_default="book/runs/NAME-LANGUAGE.ipynb at mini, _build/chapters/NAME-LANGUAGE-SCALE.ipynb otherwise",
        ),
    ] = None,
    set_: Given = None,
    cluster: Annotated[
        str,
        typer.Option(
            help="A Dask cluster that computes the results: the address of its scheduler, as tcp://HOST:8786, "
            "or its scheduler file.",
            show_default="this machine",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="As `plan`: say what it takes, and do nothing.")] = False,
    tokens_per_second: TokensPerSecond = 0,
    tables: Annotated[bool, typer.Option("--tables", help="Compute what the page of the paper's tables shows too.")] = (
        False
    ),
) -> None:
    """Run one chapter of the book for one language.

    Example: `python -m studies chapter focus --language am`

    Example: `python -m studies chapter focus --setup sw.yml --set seeds=1`

    Example: `python -m studies chapter mad-x --language en --scale paper --cluster scheduler.json`

    Example: `python -m studies chapter focus --language sw --scale paper --tables --dry-run`
    """
    from tools.run_pages import run_chapter

    if dry_run:
        plan_(name, language, scale, setup, set_, tokens_per_second)
        return
    if tokens_per_second:
        raise ValueError("--tokens-per-second is for --dry-run, which computes times with it")
    scale, parameters = _asked(name, scale, setup, [*(set_ or ()), *["paper_tables=1"] * tables], cluster)
    try:
        print(run_chapter(name, language, scale, out, parameters=parameters))
    except RuntimeError as e:
        raise ValueError(e) from None  # a cell failed; the message says which


@app.command()
def claims(
    paper: Annotated[
        str | None, typer.Option(help="Only those of one paper, such as focus.", show_default="all five")
    ] = None,
    records: Annotated[
        Path, typer.Option(help="A folder with a folder of records for each chapter, as the chapters write it.")
    ] = Path("_build/study"),
    as_json: Json = False,
) -> None:
    """Check what the papers say they found, on the numbers that they print and on your records.

    Records are those of chapters that this version of the package has run, at any scale: `mini` is that of the
    book, `recorded` the larger study that comes with the package, `field` the trial on real text, `real` the starts
    of pretrained models, and `paper` and `custom` stand beside them.

    Example: `python -m studies claims --paper focus`
    """
    from studies.papers.claims import load_claims, read_records, summary, verdicts, with_starts
    from studies.records.recorded import with_study
    from studies.trials.field import with_field

    known = load_claims()
    papers = list(dict.fromkeys(claim.paper for claim in known))
    if paper and paper not in papers:
        raise ValueError(f"no claims of {paper!r}; choose from {', '.join(papers)}")
    chosen = [claim for claim in known if paper in (None, claim.paper)]
    rows = verdicts(chosen, with_starts(with_field(with_study(read_records(records.absolute())))), strict=False)
    if as_json:
        print_json(json.loads(rows.drop(columns=["standardised", "agree"]).to_json(orient="records")))
        return
    judged = rows.pivot(index="id", columns="source", values="verdict").fillna("")
    for name, of_paper in rows.groupby("paper", sort=False):
        sources = list(of_paper.source.unique())
        each = of_paper.drop_duplicates("id").itertuples()
        show([{"claim": claim.says} | dict(judged.loc[claim.id, sources]) for claim in each], name)
    counts = summary(rows).groupby(level="source", sort=False).sum()
    show(counts.reset_index().to_dict("records"), "in all")


@app.command("records")
def records_(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Chapters and trials; pages: what the book's pages show, measured anew.", show_default="all"
        ),
    ] = None,
) -> None:
    """Compute the recorded study, and write its numbers into data/records; hours in all, and it resumes.

    Example: `python -m studies records wechsel`
    """
    from tools.make_records import PAGES, record_pages, run_study

    try:
        print("written:", record_pages() if names == [PAGES] else run_study(names or ()))
    except RuntimeError as e:
        raise ValueError(e) from None


@app.command()
def refingerprint(
    names: Annotated[
        list[str] | None, typer.Argument(help="Chapters and pages.", show_default="all that have records")
    ] = None,
    sample: Annotated[int, typer.Option(help="Records of each kind that are computed anew.", min=1)] = 1,
    anew: Annotated[
        list[str] | None,
        typer.Option(
            help="Kinds whose records are all computed anew and replaced, by a part of their name. May be repeated.",
            show_default="none",
        ),
    ] = None,
    folder: Annotated[
        str,
        typer.Option(help="Where they are computed, to go on after an interruption.", show_default="a temporary one"),
    ] = "",
) -> None:
    """Give the pages' records the fingerprints that the chapters ask for today.

    A sample of each kind is computed anew and set beside its record. The file is written only where no number of a
    sample is more than 1% from the record's, but for kinds that are replaced.

    Example: `python -m studies refingerprint wechsel --anew "wechsel course gpt2"`
    """
    from tools.refingerprint import refingerprint

    told, is_written = refingerprint(names or (), sample, anew or (), folder)
    show(told, "records")
    if not is_written:
        raise ValueError("some samples are not as their records are, and nothing is written; --anew KIND replaces them")


_SHOWN = ("recipe", "minutes", "score", "kept_before", "kept", "valid", "cpu_seconds", "steps", "tokens_per_word")


@app.command()
def speedrun(
    recipe: Annotated[Path, typer.Argument(help="A recipe in YAML: a way of a study in a file of its own.")],
    data: Annotated[Path, typer.Option(help="Folder of the track's model and texts, which {data} stands for.")],
    out: Annotated[Path, typer.Option(help="Folder of all runs; an interrupted one resumes.")] = Path("speedrun"),
    minutes: Annotated[float, typer.Option(help="The budget, in calibrated CPU-minutes.")] = 30,
    track: Annotated[
        str,
        typer.Option(help="A study file of one cell, whose `other` judges.", show_default="SmolLM2 135M in Swahili"),
    ] = "",
    steps: Annotated[
        str,
        typer.Option(help="Steps of a record, such as 290 or 290/300, to repeat it.", show_default="the budget's"),
    ] = "",
    records: Annotated[
        str,
        typer.Option(help="CSV file that the record is added to.", show_default="speedrun.csv in the folder"),
    ] = "",
    as_json: Json = False,
) -> None:
    """Run a recipe to the end of a budget of CPU minutes, and record how well its model reads the language.

    The score is bits per byte of sentences that no recipe sees, lower is better; a record is valid where bits per byte
    of the other languages of the track rise by at most 5%. CPU seconds are scaled by a short calibration, so that
    records of different machines compare; what measures costs nothing.

    Example: `python -m studies speedrun data/speedrun/lapt.yml --data DIR`

    Example: `python -m studies speedrun mine.yml --data DIR --minutes 3` for a first look
    """
    from studies.trials.speedrun import open_speedrun, run_speedrun

    record = run_speedrun(open_speedrun(recipe, data, minutes, track, steps), out, records)
    if as_json:
        print_json(record)
        return
    show_facts({name: record[name] for name in _SHOWN}, "record")


@app.command()
def share(
    file: Annotated[Path, typer.Argument(help="A study in YAML, which `vocab-lit study` has finished.")],
    contributor: Annotated[str, typer.Option(help="Who made the records.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder of the study.", show_default="the name of the file without .yml")
    ] = None,
    data: Annotated[str, typer.Option(help="Folder that {data} in names of files stands for.")] = "",
) -> None:
    """Check the records of a study, and write them as one file for data/field/contributed.

    Example: `python -m studies share mine.yml --contributor 'A. Reader'`
    """
    from studies.trials.field import share_study
    from vocab_lit.study.study import StudyRun
    from vocab_lit.study.study_file import read_study

    run = StudyRun.open(read_study(file, data), out or file.with_suffix(""), write=False)
    path = share_study(run, contributor.strip())
    print(f"{path} is whole; to send it, add it to data/field/contributed/ of the repository in a pull request")


TRIALS = {
    name.replace("_", "-"): f"studies.trials.{name}"
    for name in (
        *("adapt_records", "drafts", "embedding_clusters", "kept", "one_factor", "real_chapter", "real_topics"),
        *("reinit_maps", "retained_words", "starts", "topic_transfer", "trimmed_encoder"),
    )
} | {"vocabularies": "studies.trials.real_vocabularies"}


class Trials(TyperGroup):
    "The trials, each loaded when it is asked for, since that takes seconds."

    def list_commands(self, ctx: typer.Context) -> list[str]:
        "Return the names of the trials."
        return list(TRIALS)

    def get_command(self, ctx: typer.Context, name: str) -> TyperCommand | None:
        "Load a trial; None if there is none of this name."
        if name not in TRIALS:
            return None
        one = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        one.command(name)(import_module(TRIALS[name]).main)
        return cast(TyperCommand, typer.main.get_command(one))


app.add_typer(
    typer.Typer(cls=Trials, no_args_is_help=True, rich_markup_mode="markdown"),
    name="trial",
    help="Measure real models and texts, and write the tables of `data`. A trial that is interrupted resumes.",
)


@app.command()
def model(
    name: Annotated[str, typer.Option("--model", help="One of those in data/models.")] = "mini-xlmr",
    out: Annotated[str, typer.Option(help="Folder for the model.", show_default="its name")] = "",
    text: Annotated[
        str,
        typer.Option(
            help="Of field-xlmr: folder with CODE.train.txt and CODE.heldout.txt of each language; its "
            "sources.md goes into the model card.",
            show_default=False,
        ),
    ] = "",
    treebanks: Annotated[
        str,
        typer.Option(
            help="Measure zero-shot POS tagging of the trained model: folder with en.train.conllu, en.dev.conllu and "
            "CODE.test.conllu of each language.",
            show_default=False,
        ),
    ] = "",
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Take field-xlmr's weights from the repository's history instead.")
    ] = False,
    steps: Annotated[int | None, typer.Option(help="Optimizer steps.", show_default="its recipe's")] = None,
    frames: Annotated[int | None, typer.Option(help="Frames per locale.", show_default="its recipe's")] = None,
    seed: Annotated[int | None, typer.Option(show_default="its recipe's")] = None,
    micro_batch: Annotated[int, typer.Option(help="Blocks in a forward pass.", show_default="at most 32")] = 0,
    bf16: Annotated[
        bool, typer.Option("--bf16", help="Multiply in bfloat16 on a CPU: faster with AMX or AVX512-BF16 only.")
    ] = False,
) -> None:
    """Train a bundled model again, or a source model on a folder of text; it resumes.

    Example: `python -m studies model --model mini-mbert --out DIR`
    """
    from studies.models.transfer import make_model

    changed = {key: value for key, value in dict(steps=steps, frames=frames, seed=seed).items() if value is not None}
    make_model(name, out, text, treebanks, fetch, changed, micro_batch=micro_batch, bf16=bf16)


if __name__ == "__main__":
    app(prog_name="python -m studies")
