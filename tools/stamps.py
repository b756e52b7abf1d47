"""Addresses, versions and computed facts between the markers of texts."""

import json
import re
from pathlib import Path

from tools.colab import edition_link, first_edition
from tools.notebooks import notebook_text, settings, source, texts


def _citation(cfg: dict[str, str]) -> str:
    "How to cite the package, in BibTeX."
    title = f"{cfg['title']}: a new vocabulary for a new language"
    fields = dict(title=title, author=f"{{{cfg['author']}}}", version=cfg["version"], url=cfg["git_url"])
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return f"```bibtex\n@software{{{cfg['lib_name']},\n" + ",\n".join(lines) + "\n}\n```"


def _badges(cfg: dict[str, str], blob: str) -> str:
    "The licence, the versions of Python and the book, as images that link to them."
    shields = {
        "licence-Apache--2.0-blue": f"{blob}/LICENSE",
        f"python-{cfg['min_python']}_to_before_{cfg['below_python']}-blue": f"{blob}/settings.ini",
        "book-read-blue": f"{cfg['doc_host']}/{cfg['repo']}",
    }
    image = "[![{}](https://img.shields.io/badge/{})]({})"
    return " ".join(image.format(badge.split("-")[0], badge, link) for badge, link in shields.items())


def stamps(cfg: dict[str, str], path: str, edition: str = "") -> dict[str, str]:
    "The texts between the markers of a file, by name; the file may have an edition for Colab."
    url, blob = cfg["git_url"], f"{cfg['git_url']}/blob/{cfg['branch']}"
    colab = f"[Open in Colab]({edition_link(cfg, edition)}) · " if edition else ""
    return dict(
        links=f"{colab}[this notebook]({blob}/{path}) · [repository]({url})",
        repository=f"[{cfg['user']}/{cfg['repo']}]({url})",
        badges=_badges(cfg, blob),
        license=f"[Apache-2.0]({blob}/LICENSE)",
        clone=f"```bash\ngit clone {url}\ncd {cfg['repo']}\n```",
        install=f"```bash\npip install '{cfg['lib_name']}[gguf,words] @ git+{url}'\n```",
        python=f"Python {cfg['min_python']} or newer, below {cfg['below_python']}",
        cite=_citation(cfg),
    )


_MARKED = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->", re.S)
_PAGE_LINK = re.compile(r"\]\((?:https?://[^()\s]+/)?(book/[\w/-]+\.html(?:#[\w-]+)?)\)")  # to a page of the built book


def _fill(text: str, path: str, cfg: dict[str, str], facts: bool, edition: str = "") -> str:
    "Fill in the markers of a Markdown text; with facts, `ValueError` for an unknown one."
    known = stamps(cfg, path, edition)
    others = sorted({marker[1] for marker in _MARKED.finditer(text)} - known.keys())
    if others and facts:
        from tools.facts import FACTS  # which needs the library

        if unknown := [name for name in others if name not in FACTS]:
            choices = ", ".join([*known, *FACTS])
            raise ValueError(f"{path}: no text for the marker '<!-- {unknown[0]} -->'; choose from {choices}")
        known |= {name: FACTS[name]() for name in others}

    def fill(marker):
        name = marker[1]
        if name not in known:
            return marker[0]
        # Markdown leaves a line that begins with a comment as it is, so the text stands on lines of its own
        begins_a_line = marker.start() == 0 or text[marker.start() - 1] == "\n"
        around = "\n" if begins_a_line else ""
        return f"<!-- {name} -->{around}{known[name]}{around}<!-- /{name} -->"

    filled = _MARKED.sub(fill, text)
    return _PAGE_LINK.sub(rf"]({cfg['doc_host']}{cfg['doc_baseurl']}/\1)", filled) if path == "README.md" else filled


def stamped(text: str, path: str, cfg: dict[str, str], facts: bool = False, edition: str = "") -> str:
    "The text of a Markdown file, `_config.yml`, `CITATION.cff`, picture or notebook as `settings.ini` has it."
    if path.endswith((".yml", ".cff")):
        entry = r"^(\s*[\w-]+: ).*?( *# settings\.ini: (\w+))$"
        return re.sub(entry, lambda line: line[1] + cfg[line[3]] + line[2], text, flags=re.M)
    if path.endswith(".svg"):
        if not facts:
            return text
        from tools.pictures import idea_picture, real_picture

        return real_picture() if path.endswith("real.svg") else idea_picture()
    if path.endswith(".ipynb"):
        return _stamped_notebook(text, path, cfg, facts, edition)
    return _fill(text, path, cfg, facts)


def _stamped_notebook(text: str, path: str, cfg: dict[str, str], facts: bool, edition: str) -> str:
    nb = json.loads(text)
    for cell in nb["cells"]:
        new = source(cell)
        if cell["cell_type"] == "markdown":
            new = _fill(new, path, cfg, facts, edition)
        cell["source"] = new.splitlines(keepends=True)
    return notebook_text(nb)


def stamped_files(root: Path, facts: bool) -> dict[str, tuple[str, str]]:
    "The files that are stamped: path to the text as it is, and as it should be."
    cfg, book = settings(root), root / "book"
    pictures = [book / "_static" / name for name in ("idea.svg", "real.svg")]
    paths = [root / "README.md", root / "_config.yml", root / "CITATION.cff", *pictures]
    paths += [*book.glob("*.md"), *book.glob("*.ipynb")]
    there = texts(root, [p for p in paths if p.exists()])
    return {path: (text, stamped(text, path, cfg, facts, first_edition(root, path))) for path, text in there.items()}
