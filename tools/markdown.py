"""MyST Markdown as plain Markdown: roles, directives and labels become text and links."""

import os
import re
import unicodedata
from functools import cache
from pathlib import Path

_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303", "v": "\u030c", "c": "\u0327"}
_ROLES = "cite|doc|download|eq|math|numref|ref|term"
_MYST = re.compile(rf"\{{(?:{_ROLES})[\w:]*\}}`|^:::|^```\{{|^\([\w-]+\)=|<!-- /?\w+ -->", re.M)


def _without_latex(text: str) -> str:
    "A name of a bibliography with its accents as Unicode has them, without braces."
    accented = re.sub(r"\{?\\(['`\"^~vc])\{?\\?(\w)\}?\}?", lambda found: found[2] + _ACCENTS[found[1]], text)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", accented))


def _family_name(author: str) -> str:
    family, comma, _ = author.partition(",")
    return family if comma else author.split()[-1]


@cache
def bibliography(file: Path) -> dict[str, tuple[str, str, str]]:
    "The entries of a BibTeX file: key to authors as a text names them, year, and address, empty where it has none."
    entries = {}
    for key, body in re.findall(r"^@\w+\{([\w-]+),(.*?)(?=^@|\Z)", file.read_text(encoding="utf-8"), re.M | re.S):
        fields = dict(re.findall(r"(\w+) *= *\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", body))
        people = [_family_name(_without_latex(author)) for author in re.split(r"\s+and\s+", fields["author"])]
        named = f"{people[0]} et al." if len(people) > 2 else " and ".join(people)
        address = f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url", "")
        entries[key] = named, fields["year"], address
    return entries


def _cited(text: str, file: Path, references: str) -> str:
    "Citations as links, to the paper itself or to the book's references."

    def cite(found: re.Match) -> str:
        told = []
        for key in re.split(r" *, *", found[2]):
            named, year, address = bibliography(file)[key]
            label = f"{named}, {year}" if found[1] == "p" else f"{named} ({year})"
            told.append(f"[{label}]({address or references})")
        return f"({'; '.join(told)})" if found[1] == "p" else ", ".join(told)

    return re.sub(r"\{cite:([pt])\}`([^`]+)`", cite, text)


def _quoted(found: re.Match) -> str:
    "An admonition as a quotation."
    lines = [f"**{found[1].strip()}**", "", *found[2].strip().split("\n")]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _image(found: re.Match) -> str:
    alt = re.search(r"^:alt: *(.*)$", found[2], re.M)
    return f"![{alt[1] if alt else ''}]({found[1]})"


def _absolute(text: str, site: str, blob: str, here: str) -> str:
    "Links of a page in book/runs as addresses: to pages of the site, to files of the repository."

    def link(found: re.Match) -> str:
        path, mark, anchor = found[1].partition("#")
        target = os.path.normpath(f"book/runs/{path or here}")
        if target.startswith("book/_static/"):
            return f"]({site}/{target.removeprefix('book/')})"
        page, ending = os.path.splitext(target)
        is_page = ending in (".ipynb", ".md", ".html")
        return f"]({site}/{page}.html{mark}{anchor})" if is_page else f"]({blob}/{target}{mark}{anchor})"

    return re.sub(r"\]\((?![\w.+-]+:)([^()\s]+)\)", link, text)


def plain(text: str, root: Path, cfg: dict[str, str], here: str) -> str:
    "MyST Markdown of the page book/runs/`here` as plain Markdown; `ValueError` names what has no plain form."
    site, blob = f"{cfg['doc_host']}{cfg['doc_baseurl']}", f"{cfg['git_url']}/blob/{cfg['branch']}"
    text = re.sub(r"<!-- links -->.*?<!-- /links -->\n*", "", text, flags=re.S)
    text = re.sub(r"<!-- /?\w+ -->\n?", "", text)  # around computed text
    text = _cited(text, root / "book" / "references.bib", f"{site}/book/references.html")
    text = re.sub(r"^:::\{(?:admonition|note|tip|warning)\}(.*?)\n(.*?)^:::$", _quoted, text, flags=re.M | re.S)
    text = re.sub(r"^```\{image\} *(\S+)\n(.*?)^```$", _image, text, flags=re.M | re.S)
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.M)
    text = _absolute(text, site, blob, here)
    if found := _MYST.search(text):
        raise ValueError(f"{here}: {text[found.start() :][:40]!r} has no plain Markdown; see tools/markdown.py")
    return text
