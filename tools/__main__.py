"""What the Makefile calls: python -m tools check|lib|facts|advice|chapter|page|book."""

import argparse
import sys

from tools.notebooks import checkout


def _check(_: argparse.Namespace) -> None:
    from tools.checks import check

    if not check(checkout()):
        sys.exit(1)


def _lib(_: argparse.Namespace) -> None:
    from tools.export import clean, regenerate, stamp

    root = checkout()
    for path in dict.fromkeys(clean(root) + stamp(root) + regenerate(root)):
        print("changed:", path)


def _facts(_: argparse.Namespace) -> None:
    from tools.export import stamp

    root = checkout()
    for path in stamp(root, facts=True):
        print("changed:", path)


def _advice(_: argparse.Namespace) -> None:
    from tools.advised import listed_advice

    print(listed_advice(checkout()))


def _chapter(given: argparse.Namespace) -> None:
    from tools.run_pages import run_chapter

    print("written:", run_chapter(given.name, given.language, given.scale))


def _page(given: argparse.Namespace) -> None:
    from tools.book import build_page

    print(f"The page is ready: open {build_page(given.name, given.language)}")


def _book(given: argparse.Namespace) -> None:
    from tools.book import build_book

    print(f"The book is ready: open {build_book(given.anew is not None)}")


def parser() -> argparse.ArgumentParser:
    "The commands and their arguments."
    top = argparse.ArgumentParser(prog="python -m tools")
    commands = top.add_subparsers(required=True)

    def add(run, about, *arguments):
        command = commands.add_parser(run.__name__.strip("_"), help=about)
        command.set_defaults(run=run)
        for name, options in arguments:
            command.add_argument(name, **options)

    anew = dict(nargs="?", choices=["anew"], help="measure all numbers anew")
    add(_check, "tell what `make test` would not let pass")
    add(_lib, "export the library, make the tests, clean and stamp; needs no library that can be imported")
    add(_facts, "write the numbers and tables that are computed for README and the book's first page")
    add(_advice, "list the sentences of advice with the records that they are computed from")
    add(_chapter, "run a chapter", ("name", {}), ("language", {}), ("scale", dict(nargs="?", default="mini")))
    add(_page, "run and build one page", ("name", {}), ("language", dict(nargs="?", default="")))
    add(_book, "run all and build the book", ("anew", anew))
    return top


if __name__ == "__main__":
    try:
        given = parser().parse_args()
        given.run(given)
    except (ValueError, FileNotFoundError, RuntimeError) as e:
        sys.exit(str(e))
