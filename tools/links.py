"""Links, sections and images of the built book, looked at without a network."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Html(HTMLParser):
    "What a page links to, loads and shows."

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.loads, self.bare = {"", "top"}, set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {key: value or "" for key, value in attrs}
        self.ids |= {a[key] for key in ("id", "name") if key in a}
        if tag == "a" and "href" in a:
            self.links.add(a["href"])
        elif tag == "link" and a.get("rel") in ("stylesheet", "preload", "icon", "shortcut icon"):
            self.loads.add(a["href"])
        elif "src" in a:
            self.loads.add(a["src"])
        if tag == "img" and (not a.get("alt") or a["alt"] == a["src"]):
            self.bare.add(a["src"])


def _outside_faults(url: str, loaded: bool, own: dict[str, Path]) -> list[str]:
    "What is wrong with an address outside the book."
    at = urlsplit(url)
    well_formed = re.fullmatch(r"https?", at.scheme) and re.fullmatch(r"[\w-]+(\.[\w-]+)+", at.netloc)
    if not well_formed or re.search(r"\s", url):
        return [f"{url} is no address"]
    path = unquote(at._replace(fragment="").geturl())
    files = [folder / path.removeprefix(start) for start, folder in own.items() if url.startswith(start)]
    faults = [f"{url} is no file of the repository" for file in files if not file.exists()]
    return [f"loads {url} from the network"] * loaded + faults


def _inside_faults(url: str, target: Path, pages: dict[Path, _Html]) -> list[str]:
    "What is wrong with a link inside the book."
    if not target.is_file():
        return [f"the link {url} leads nowhere"]
    section = unquote(urlsplit(url).fragment)
    return [f"{url} has no such section"] if target in pages and section not in pages[target].ids else []


def check_html(html: Path, own: dict[str, Path] | None = None) -> tuple[list[str], list[str]]:
    """The faults of a built book, a line each, and the addresses outside of it.

    `own`: the beginning of an address, and the folder that lies there.
    """
    pages = {p: _Html(p.read_text(encoding="utf-8")) for p in sorted(html.rglob("*.html")) if "_static" not in p.parts}
    faults, outside = [], set()
    for path, page in pages.items():
        name = path.relative_to(html).as_posix()
        faults += [f"{name}: the image {src} has no description" for src in sorted(page.bare)]
        for url in sorted(page.links | page.loads):
            at = urlsplit(url)
            if at.scheme == "data":
                continue
            if at.scheme or at.netloc:
                outside.add(url)
                wrong = _outside_faults(url, url in page.loads, own or {})
            else:
                target = (path.parent / unquote(at.path)).resolve() if at.path else path
                wrong = _inside_faults(url, target, pages)
            faults += [f"{name}: {fault}" for fault in wrong]
    return faults, sorted(outside)
