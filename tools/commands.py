"""`vocab-lit` with two commands more: `bench` measures, `chapter` runs a chapter."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from vocab_lit.app.cli import Json, SetupFile, app, show, step, tell_json


@app.command()
def bench(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="Parts to measure; all: all that need not be named.", show_default="list the parts"),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, help="How often the sides run in turns on the cases that claims are about.")
    ] = 3,
    small: Annotated[
        bool, typer.Option("--small", help="Tiny sizes, once: a trial in seconds, whose numbers say nothing.")
    ] = False,
    install: Annotated[
        bool,
        typer.Option(
            "--install",
            help="Make the environments of the other packages where they are missing; without them vocab_lit is "
            "measured alone.",
        ),
    ] = False,
    largest: Annotated[float, typer.Option(help="Leave out sizes above this one.", show_default="all sizes")] = float(
        "inf"
    ),
    folder: Annotated[
        Path, typer.Option(help="Where the environments of the other packages are, env-NAME each.")
    ] = Path("_build/bench"),
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Model folder or hub name whose tokenizer feed measures. May be repeated.",
            show_default="tokenizers that are made, in four sizes",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="JSON file in which these parts take the place of older ones.",
            show_default="_build/bench/bench.json; with --small none",
        ),
    ] = None,
    as_json: Json = False,
):
    """Measure speed and memory beside the packages that people use today, each in an environment of its own.

    A part has cases of four sizes, so that one sees how the cost grows. Every run is a process on one thread; the
    sides take turns, and ratios are of runs that followed each other.

    Example: `vocab-lit bench`, then `vocab-lit bench focus wechsel --install`

    Example: `vocab-lit bench transplant --largest 2048 --rounds 1`

    Example: `vocab-lit bench feed --model FacebookAI/xlm-roberta-base --model models/my-gpt2`
    """
    from benchmarks.baselines import peer_python
    from benchmarks.bench import report, run_bench

    from benchmarks.gpu import PARTS  # its own part and that of the feed among them

    def there(name):
        return bool(peer_python(name, folder))

    if not parts:
        rows = [
            dict(
                part=n,
                measures=p.about,
                beside=", ".join(peer + " (not installed)" * (not there(peer)) for peer in p.peers),
                minutes_a_round=p.minutes,
            )
            for n, p in PARTS.items()
        ]
        tell_json(rows) if as_json else show(rows)
        return
    records = run_bench(
        parts,
        out or (None if small else Path("_build/bench/bench.json")),
        rounds=rounds,
        small=small,
        folder=folder,
        install=install,
        largest=largest,
        models=model or (),
    )
    print(json.dumps(records, indent=1)) if as_json else print(report(records))
    for name in records:
        for peer in PARTS[name].peers:
            if not there(peer):
                missing = f"{peer} is not in {folder}; {name} was measured without it"
                step(f"note: {missing}, and --install makes its environment")


@app.command()
def chapter(
    name: Annotated[str, typer.Argument(help="For example focus.", show_default=False)],
    language: Annotated[str, typer.Option(help="Language code, as CLDR writes it.")] = "sw",
    scale: Annotated[
        str | None,
        typer.Option(
            help="mini (bundled models, minutes), paper (the paper's own models) or custom (your files).",
            show_default="custom with a setup, else mini",
        ),
    ] = None,
    setup: SetupFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The executed notebook.",
            show_default="book/runs/NAME-LANGUAGE.ipynb at mini, _build/chapters/NAME-LANGUAGE-SCALE.ipynb otherwise",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Another parameter of the chapter, as KEY=VALUE. May be repeated.", show_default=False
        ),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option(
            help="A Dask cluster that computes the results: the address of its scheduler, as tcp://HOST:8786, "
            "or its scheduler file.",
            show_default="this machine",
        ),
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the runs, where models and data come from and what it takes, and do nothing."
        ),
    ] = False,
    tokens_per_second: Annotated[
        float,
        typer.Option(
            help="With --dry-run, tokens that LAPT trains on in a second on the machine that will be used.",
            show_default="what `vocab-lit bench gpu` has measured here; else a quarter of each machine's peak",
        ),
    ] = 0,
):
    """Run one chapter of the book for one language.

    Example: `vocab-lit chapter focus --language am`

    Example: `vocab-lit chapter focus --setup sw.yml --set seeds=1`

    Example: `vocab-lit chapter mad-x --language en --scale paper --cluster scheduler.json`

    Example: `vocab-lit chapter focus --language sw --scale paper --dry-run`
    """
    from tools.chapters import chapter_defaults, check_parameters
    from tools.run_pages import run_chapter
    from vocab_lit.app.setup_file import absolute_names, chapter_parameters

    if tokens_per_second and not dry_run:
        raise ValueError("--tokens-per-second is for --dry-run, which computes times with it")
    for pair in set_ or ():
        if "=" not in pair:
            raise ValueError(f"--set {pair}: give KEY=VALUE, such as --set steps=100")
    scale = scale or ("custom" if setup else "mini")
    if setup and scale == "mini":
        raise ValueError("a setup is for scale custom; leave out --scale mini")
    known = chapter_defaults(name)
    said: dict[str, Any] = dict(pair.split("=", 1) for pair in set_ or ())
    if cluster:
        said["cluster"] = cluster
    check_parameters(name, said, known)
    for key, value in said.items():  # as the default: text, or a number
        try:
            said[key] = type(known[key])(value)
        except ValueError:
            raise ValueError(f"--set {key}={value}: give a number, such as {known[key]}") from None
    given = chapter_parameters(setup or {}, set(known)) | absolute_names(said)
    given = {k: v for k, v in given.items() if k not in ("language", "scale")}
    if dry_run:
        from studies.budget import plan

        print(plan(name, language, scale, tokens_per_second, **given))
        return
    try:
        print(run_chapter(name, language, scale, out, parameters=given))
    except RuntimeError as e:
        raise ValueError(e) from None  # a cell failed; the message says which


if __name__ == "__main__" and "__file__" in globals():
    app()  # not in a notebook
