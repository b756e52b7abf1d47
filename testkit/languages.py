"""Write data/languages.csv: names, scripts and other codes of languages, as Babel's CLDR has them."""

import csv
from pathlib import Path
from typing import Annotated

import typer
import yaml
from babel import Locale, UnknownLocaleError
from babel.core import get_global

from vocab_lit.text.corpus import data_path

FILE = data_path("languages.yml").with_suffix(".csv")


def _own_name(code: str) -> str:
    "What a language calls itself, where CLDR knows."
    try:
        return Locale.parse(code.replace("-", "_")).get_language_name(code) or ""
    except (UnknownLocaleError, ValueError):
        return ""


def _script(code: str) -> str:
    "The script that a language is usually written in, with its code; empty where CLDR does not say."
    likely = get_global("likely_subtags").get(code, "").split("_")
    return f"{Locale('en').scripts.get(likely[1], likely[1])} ({likely[1]})" if len(likely) == 3 else ""


def rows() -> list[dict[str, str]]:
    "A row for each language that CLDR names or data/languages.yml lists."
    names, aliases = Locale("en").languages, get_global("language_aliases")
    resources = yaml.safe_load(data_path("languages.yml").read_text(encoding="utf-8"))["resources"]
    codes = sorted(names.keys() | {code for resource in resources for code in resource["languages"]})
    others = {code: " ".join(sorted(alias for alias, its in aliases.items() if its == code)) for code in codes}
    return [
        dict(code=c, name=names.get(c, ""), own_name=_own_name(c), script=_script(c), aliases=others[c]) for c in codes
    ]


def main(out: Annotated[Path, typer.Argument()] = FILE) -> None:
    "Write the table of languages."
    with open(out, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["code", "name", "own_name", "script", "aliases"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())


if __name__ == "__main__":
    typer.run(main)
