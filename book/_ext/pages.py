"""How texts and notebooks become pages: links lead to pages, nbdev's directives hidden, formulas need no network."""

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from vocab_lit.book.publish import page_links, source_files

DIRECTIVE = re.compile(r"\s*#\|[ \t]*([\w-]+):?[ \t]*(.*)\n?")
HIDE = {
    "hide": "remove-cell",
    "default_exp": "remove-cell",
    "hide_input": "remove-input",
    "hide_output": "remove-output",
}


def clean(app, docname, source):
    """Links of a text between source notebooks lead to their pages, as publish makes them in notebooks.
    In notebooks, take the `#|` lines off each code cell; a test shows its name as a comment.
    A cell of directives alone is dropped."""
    if not app.env.doc2path(docname).endswith(".ipynb"):
        if Path(docname).parent.name == "book":
            source[0] = page_links(source[0], "book", "book", Path(app.srcdir))
        return
    nb = json.loads(source[0])
    for cell in nb["cells"]:
        if cell["cell_type"] != "code":
            continue
        text, tags, head = "".join(cell["source"]), cell["metadata"].setdefault("tags", []), ""
        while m := DIRECTIVE.match(text):
            text = text[m.end() :]
            if m[1] in HIDE:
                tags.append(HIDE[m[1]])
            if m[1] == "test":
                head = f"# Test: {m[2]}\n"
        if not text.strip():
            tags.append("remove-cell")
        cell["source"] = head + text
    source[0] = json.dumps(nb)


def offline_math(app, config):
    "Take MathJax from an installed package instead of from the network; one file, with its fonts drawn as SVG."
    config.html_static_path.append(
        str(Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax" / "tex-svg.js")
    )
    config.mathjax_path = "tex-svg.js"


@cache
def sources(folder):
    return source_files(Path(folder))


def source_buttons(app, pagename, templatename, context, doctree):
    "Buttons lead to the file that a page was made from; those of a generated page, which has none, are left out."
    source, of_page = sources(app.srcdir).get(pagename), re.compile(re.escape(pagename) + r"\.(ipynb|md)$")

    def leads_to_source(button):
        address = button.get("url", "")
        return "/edit/" in address or "colab" in address

    for group in context.get("header_buttons", []):
        kept = [button for button in group.get("buttons", []) if source or not leads_to_source(button)]
        for button in filter(leads_to_source, kept):
            button["url"] = of_page.sub(source, button["url"])
        if "buttons" in group:
            group["buttons"] = kept


def setup(app):
    app.connect("source-read", clean)
    app.connect("config-inited", offline_math)
    app.connect("html-page-context", source_buttons, priority=900)  # after the theme has made the buttons
    return {"parallel_read_safe": True, "parallel_write_safe": True}
