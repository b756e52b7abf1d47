"""Count what a reader of the library has to read: `python -m tools.count [FOLDER]`.

Lines of code are those with a token that is no comment, outside docstrings and imports. A private function is *called
once* if its name occurs once in its module apart from its definition, and nowhere else in the library.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

_SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Counts:
    "What was counted in modules."

    lines: int = 0  # of code
    called_once: list[str] = field(default_factory=list)
    untyped: Counter[str] = field(default_factory=Counter)  # Any, cast and type: ignore


def _docstrings_and_imports(tree: ast.Module) -> set[int]:
    "The line numbers of docstrings (any string that is a statement) and imports."
    found: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def code_lines(source: str) -> int:
    "The number of lines of code in a module's text."
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstrings_and_imports(ast.parse(source)))


def private_functions(source: str) -> set[str]:
    "The names of private functions and methods that a module defines."
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, _DEFINITIONS))
    return {f.name for f in functions if f.name.startswith("_") and not f.name.startswith("__")}


def count(folder: Path) -> dict[str, Counts]:
    "The counts of each subpackage below a folder; modules of the folder itself are under its name."
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    words = Counter(word for source in sources.values() for word in re.findall(r"\w+", source))
    counts: dict[str, Counts] = {}
    for path, source in sources.items():
        here = counts.setdefault(path.relative_to(folder.parent).parent.name, Counts())
        here.lines += code_lines(source)
        here.called_once += [f"{path}: {name}" for name in sorted(private_functions(source)) if words[name] == 2]
        here.untyped.update(re.findall(r"\bAny\b|\bcast\(|type: ignore", source))
    return counts


def total(counts: Iterable[Counts]) -> Counts:
    "The sums of counts."
    counts = list(counts)
    return Counts(
        sum(here.lines for here in counts),
        [name for here in counts for name in here.called_once],
        sum((here.untyped for here in counts), Counter()),
    )


def main(folder: Annotated[Path, typer.Argument(help="A package.")] = Path("vocab_lit")) -> None:
    "Print the counts of each subpackage."
    counts = count(folder)
    for name, here in [*counts.items(), ("all", total(counts.values()))]:
        print(f"{name:12}{here.lines:8,} lines{len(here.called_once):6} called once  {dict(here.untyped)}")


if __name__ == "__main__":
    typer.run(main)
