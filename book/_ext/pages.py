"""How texts and notebooks become pages: links lead to pages, nbdev's directives hidden, formulas need no network,
terms of the glossary are linked and indexed."""

import json
import re
import zlib
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from tools.book import source_files
from tools.chapters import chapters
from tools.colab import edition_link, editions
from tools.notebooks import settings
from tools.pages import page_links

DIRECTIVE = re.compile(r"\s*#\|[ \t]*([\w-]+):?[ \t]*(.*)\n?")
HIDE = {
    "hide": "remove-cell",
    "default_exp": "remove-cell",
    "hide_input": "remove-input",
    "hide_output": "remove-output",
}


def clean(app, docname, source):
    """Make the source of a page what a reader sees.

    Links of a text between source notebooks lead to their pages, as those of notebooks do. In notebooks, the `#|` lines
    are taken off each code cell, and a cell of these alone is dropped; a test shows its name as a comment.
    """
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


@cache
def edition_addresses(folder):
    "Where the Colab edition of a page opens, of each page that has one."
    return {page: edition_link(settings(folder), page) for page in editions(folder)}


def source_buttons(app, pagename, templatename, context, doctree):
    "Buttons lead to a page's file and its Colab edition; without these they are left out, and a menu without any."
    edition = edition_addresses(Path(app.srcdir)).get(Path(pagename).name, "")
    source, of_page = sources(app.srcdir).get(pagename), re.compile(re.escape(pagename) + r"\.(ipynb|md)$")

    def address(button):
        there = button.get("url", "")
        if "colab.research" in there:
            return edition
        if "/edit/" not in there:
            return there
        return of_page.sub(source, there) if source else ""

    groups = context.get("header_buttons", [])
    for group in groups:
        if "buttons" in group:
            shown = [(button, address(button)) for button in group["buttons"]]
            linked = [button | {"url": url} if url else button for button, url in shown if url or "url" not in button]
            group["buttons"] = linked  # one without an address runs a script
    context["header_buttons"] = [group for group in groups if group.get("buttons", True)]


@cache
def glossary(folder):
    "A pattern that finds the terms of the glossary, also in the plural, and the terms by their spelling in lower case."
    block = (Path(folder) / "book/glossary.md").read_text(encoding="utf-8").partition("```{glossary}")[2]
    terms = sorted(re.findall(r"^(\w.*)$", block.partition("```")[0], re.M), key=len, reverse=True)
    found = "|".join(f"(?i:{re.escape(term)})" if term.islower() else re.escape(term) for term in terms)  # not lapt
    return re.compile(rf"(?<![\w-])({found})s?(?![\w-])"), {term.lower(): term for term in terms}


@cache
def other_languages(folder):
    "The pages that repeat a chapter for another language; the index lists its first page only."
    runs = chapters(Path(folder)).items()
    return {f"book/runs/{name}-{language}" for name, languages in runs for language in list(languages)[1:]}


class LinkTerms(SphinxTransform):
    "Link each term of the glossary where a page uses it first, and list that place in the index."

    default_priority = 700
    LINKS = (nodes.reference, addnodes.pending_xref)
    VERBATIM = (nodes.literal, nodes.math, nodes.FixedTextElement)
    NO_PROSE = (*LINKS, *VERBATIM, nodes.title, nodes.emphasis, nodes.table)

    def apply(self):
        page = self.env.docname
        if not re.fullmatch(r"book/(runs/)?[\w-]+", page) or page == "book/glossary":
            return
        pattern, terms = glossary(self.env.srcdir)
        self.left = dict(terms)
        for text in list(self.document.findall(nodes.Text)):
            if self.is_prose(text):
                text.parent.replace(text, self.linked(text.astext(), pattern, page))

    def is_prose(self, node):
        while node := node.parent:
            if isinstance(node, self.NO_PROSE) or "cell" in node.get("classes", ()):
                return False
        return True

    def linked(self, text, pattern, page):
        made, end = [], 0
        for found in pattern.finditer(text):
            if term := self.left.pop(found[1].lower(), None):
                made += [nodes.Text(text[end : found.start()]), *self.link(term, found[0], page)]
                end = found.end()
        return [*made, nodes.Text(text[end:])]

    def link(self, term, shown, page):
        options = dict(refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True, refdoc=page)
        link = addnodes.pending_xref("", nodes.inline("", shown, classes=["xref", "std", "std-term"]), **options)
        if page in other_languages(self.env.srcdir):
            return [link]
        place = nodes.target("", "", ids=[nodes.make_id(f"index-{term}")])
        return [addnodes.index(entries=[("single", term, place["ids"][0], "", None)]), place, link]


def card(app, pagename, templatename, context, doctree):
    "What other sites show beside a link to a page."
    cfg = settings(Path(app.srcdir))
    told = {
        "og:title": f"{context.get('title', cfg['title'])} · {cfg['title']}",
        "og:description": cfg["description"],
        "og:image": f"{cfg['doc_host']}{cfg['doc_baseurl']}/_static/card.png",
        "twitter:card": "summary_large_image",
    }
    tags = (f'<meta property="{name}" content="{escape(text, quote=True)}" />' for name, text in told.items())
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def without_substitutions(app, what, name, obj, options, lines):
    "A bar in a docstring, as in the name of a special token, is no substitution."
    lines[:] = [line.replace("|", r"\|") for line in lines]


MENDED = {  # what a screen reader stumbles over in pages of the theme and of pandas, and what stands there instead
    r"<th(\s[^>]*)?>(\s*|<p></p>|&nbsp;)</th>": r"<td\1></td>",  # the corner of a table is no heading
    r'<summary aria-label="Toggle hidden content">': "<summary>",  # its own words say more
    r'(<a class="[^"]*reference internal" href="[^"]*">([^<]*)</a><details[^>]*>)<summary>': (
        r'\1<summary aria-label="\2">'
    ),
    r'(<button class="[^"]*search-button-field[^"]*" title="Search") aria-label="Search"': r"\1",
    r'(<div class="bd-sidebar-primary bd-sidebar")>': r'\1 role="navigation" aria-label="Book">',
    r'(class="citation" id="[^"]*") role="doc-biblioentry"|(<div) role="list"( class="citation-list")': r"\1\2\3",
}


def mend(app, error):
    "Put right what axe finds in the pages; a second time changes nothing."
    for page in Path(app.outdir).rglob("*.html") if not error else ():
        old = new = page.read_text(encoding="utf-8")
        for found, instead in MENDED.items():
            new = re.sub(found, instead, new)
        if new != old:
            page.write_text(new, encoding="utf-8")


def without_thebe(app, pagename, templatename, context, doctree):
    "Kernels for readers are not offered: their script, which the theme puts into a page twice, fails the second time."
    context["script_files"] = [file for file in context["script_files"] if "thebe" not in f"{file} {vars(file)}"]


def setup(app):
    app.add_transform(LinkTerms)
    app.connect("source-read", clean)
    app.connect("config-inited", offline_math)
    app.connect("html-page-context", card)
    app.connect("html-page-context", source_buttons, priority=900)  # after the theme has made the buttons
    app.connect("html-page-context", without_thebe, priority=900)
    app.connect("autodoc-process-docstring", without_substitutions)
    app.connect("build-finished", mend, priority=900)
    changed = zlib.crc32(Path(__file__).read_bytes())  # pages are read again
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": changed}
