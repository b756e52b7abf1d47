"""What the Makefile calls: python -m tools check|lib|facts|advice|chapter|page|book."""

import sys
from typing import Annotated, Literal

import typer

from tools.notebooks import checkout

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def _print_changed(paths: list[str]) -> None:
    for path in dict.fromkeys(paths):
        print("changed:", path)


@app.command("check")
def check_command() -> None:
    "Report what `make test` would not let pass."
    from tools.checks import check

    if not check(checkout()):
        sys.exit(1)


@app.command("lib")
def lib_command() -> None:
    "Export the library, generate the tests, clean and stamp, even if the library cannot be imported."
    from tools.export import clean, regenerate, stamp

    _print_changed(clean(checkout()) + stamp(checkout()) + regenerate(checkout()))


@app.command("facts")
def facts_command() -> None:
    "Write the numbers and tables that are computed for README and the book's first page."
    from tools.export import stamp

    _print_changed(stamp(checkout(), facts=True))


@app.command("advice")
def advice_command() -> None:
    "List the sentences of advice with the records that they are computed from."
    from tools.advised import list_advice

    print(list_advice(checkout()))


@app.command("chapter")
def chapter_command(name: str, language: str, scale: Annotated[str, typer.Argument()] = "mini") -> None:
    "Run a chapter."
    from tools.run_pages import run_chapter

    print("written:", run_chapter(name, language, scale))


@app.command("page")
def page_command(name: str, language: Annotated[str, typer.Argument()] = "") -> None:
    "Run and build one page."
    from tools.book import build_page

    print(f"The page is ready: open {build_page(name, language)}")


@app.command("book")
def book_command(
    anew: Annotated[Literal["anew"] | None, typer.Argument(help="Measure all numbers anew.")] = None,
) -> None:
    "Run all notebooks and build the book."
    from tools.book import build_book

    print(f"The book is ready: open {build_book(anew is not None)}")


if __name__ == "__main__":
    try:
        app(prog_name="python -m tools")
    except (ValueError, FileNotFoundError, RuntimeError) as e:
        sys.exit(str(e))
