"""The pages of the book that list the names of the library: those of `vocab_lit`, and those of every module."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tools.appendix import slug
from tools.notebooks import checkout, code_cells, library_notebooks, module_name, read_notebook, source

_PUBLIC = """# The public names

What a script imports as `import vocab_lit as vl`: the same as `help(vl.transplant)` shows in Python. \
[The reference](reference.md) has all other names, with links to where they are explained.
"""
_HEAD = """# Reference

Every public name of the library by module, with a link to the section that explains it and shows its code; options of \
settings have a table of their own. `help(vocab_lit.transplant)` shows the same in Python, `vocab-lit --help` lists \
the commands."""


def _help(value: ast.expr | None) -> str:
    "The help text of an option: `help=` in a call, or the second argument of `option`; empty for other values."
    helps = []
    for call in (node for node in ast.walk(value or ast.Pass()) if isinstance(node, ast.Call)):
        helps += [keyword.value for keyword in call.keywords if keyword.arg == "help"]
        helps += call.args[1:2] if getattr(call.func, "id", "") == "option" else []
    return next((str(text.value) for text in helps if isinstance(text, ast.Constant)), "")


def _shortened(value: ast.expr) -> str:
    return f"`{textwrap.shorten(ast.unparse(value), 80, placeholder=' ...')}`"


def _described(node: ast.stmt, lines: list[str]) -> dict[str, str]:
    "The names that a statement binds, with the docstring's first line, the comment behind it, its help, or its value."
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name: (ast.get_docstring(node) or "").split("\n")[0]}
    value = getattr(node, "value", None)
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    last_line = lines[(node.end_lineno or node.lineno) - 1]
    text = last_line.partition(" # ")[2] or _help(value) or (_shortened(value) if value else "")
    return {target.id: text for target in targets if isinstance(target, ast.Name)}


def _options(node: ast.ClassDef) -> list[tuple[str, str, str]]:
    "The options of a settings class: name, default and help."
    rows = []
    for field in node.body:
        value = getattr(field, "value", None)
        if isinstance(field, ast.AnnAssign) and isinstance(value, ast.Call) and _help(value):
            shown = [keyword.value for keyword in value.keywords if keyword.arg == "shown"]
            default = [*shown, *value.args][0]
            rows.append((f"`{ast.unparse(field.target)}`", _shortened(default), _help(value)))
    return rows


def _exported_statements(path: Path) -> Iterator[tuple[ast.stmt, str, list[str]]]:
    "The exported statements of a notebook, each with the anchor of its section (or an empty one) and its cell's lines."
    cells, anchor = {cell.index: cell for cell in code_cells(path)}, ""
    for index, cell in enumerate(read_notebook(path)["cells"]):
        if cell["cell_type"] == "markdown":
            headings = re.findall(r"^##+ (.*)", source(cell), re.M)
            anchor = slug(headings[-1]) if headings else anchor
        elif index in cells and "export" in cells[index].directives:
            for node in ast.parse(cells[index].source).body:
                yield node, anchor, cells[index].source.split("\n")


def public_names(path: Path) -> dict[str, tuple[str, str]]:
    "What a library notebook exports for its users: name to the anchor of its section and a description."
    public = {}
    for node, anchor, lines in _exported_statements(path):
        described = _described(node, lines)
        public |= {name: (anchor, text) for name, text in described.items() if not name.startswith("_")}
    return public


def _module_parts(path: Path, page: str) -> list[str]:
    "The reference of one module, in Markdown."
    from vocab_lit.text.markup import markdown_cell, markdown_table

    module, names = module_name(path), public_names(path)
    if not module or not names:
        return []
    rows = [(f"[`{name}`]({page}{'#' * bool(anchor)}{anchor})", text) for name, (anchor, text) in names.items()]
    full_name = "vocab_lit" if module == "__init__" else f"vocab_lit.{module}"
    parts = [f"## `{full_name}`", f"[{path.stem}]({page})", markdown_table(["name", "what it is"], rows, markdown_cell)]
    classes = [node for node, _, _ in _exported_statements(path) if isinstance(node, ast.ClassDef)]
    for node in classes:
        if options := _options(node):
            table = markdown_table(["option", "default", "meaning"], options, markdown_cell)
            parts += [f"Options of `{node.name}`:", table]
    return parts


def public_page() -> str:
    "The documentation of the public names, which Sphinx takes from their docstrings, in Markdown."
    import vocab_lit

    parts = [_PUBLIC]
    for module, name in ((module, name) for module, names in vocab_lit.PUBLIC.items() for name in names):
        value = getattr(vocab_lit, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            directive, members = ("autoclass", "\n   :members:") if inspect.isclass(value) else ("autofunction", "")
            call = f".. {directive}:: vocab_lit.{module}.{name}{members}"
            parts.append(f"## `{name}`\n\n```{{eval-rst}}\n{call}\n```")
    return "\n\n".join(parts) + "\n"


def reference(root: Path | None = None) -> str:
    "Every public name, module by module, with a link to where it is explained, in Markdown."
    root = root or checkout()
    parts = [_HEAD]
    for path in library_notebooks(root):
        parts += _module_parts(path, path.relative_to(root / "nbs").as_posix())
    return "\n\n".join(parts) + "\n"
