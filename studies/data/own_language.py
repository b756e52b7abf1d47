"""What the notebook *Your own language* runs: a text from anywhere, the commands of `vocab-lit`, and their scores."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from testkit.phrasebook import lines as phrases
from vocab_lit.text.corpus import data_path, read_lines

if TYPE_CHECKING:
    import pandas as pd

FEWEST, MOST_UNSEEN = 100, 2000  # lines
MINI = ["--batch-size", "16", "--learning-rate", "2e-3"]  # what suits a bundled model


def command(
    *arguments: object,  # as `vocab-lit` takes them
    to: Path | None = None,  # a file that gets what is printed, instead of the page
) -> None:
    "Run a command of `vocab-lit`, unless what it makes is there; `RuntimeError` where it fails."
    from IPython.utils.process import system

    words = list(map(str, arguments))
    print(f"$ vocab-lit {shlex.join(words)}", flush=True)
    out = Path(words[words.index("--out") + 1]) if "--out" in words and "--dry-run" not in words else None
    if out and (out.is_file() or (out / "config.json").is_file()):
        print(f"{out} is there from before; another output folder begins anew")
        return
    run = shlex.join([sys.executable, "-m", "vocab_lit", *words])
    if system(f"TERM=dumb COLUMNS=100 {run}{f' > {shlex.quote(str(to))}' if to else ''}"):
        raise RuntimeError(f"vocab-lit {words[0]} failed; the line above says why")


def _upload(folder: Path) -> Path:
    "A file that the reader chooses on Colab."
    if "google.colab" not in sys.modules:
        raise ValueError('text = "upload" works on Colab; elsewhere give a file or its address')
    from google.colab import files

    [(name, content)] = files.upload().items()
    file = folder / name
    file.write_bytes(content)
    return file


def _found(text: str, language: str, folder: Path) -> list[str]:
    "The lines of a text, each once."
    if not text:
        found = phrases(language, 3000, seed=0)
    elif text == "upload":
        found = read_lines(_upload(folder))
    elif "://" in text:
        found = read_lines(urllib.request.urlretrieve(text, folder / Path(text).name)[0])
    else:
        found = read_lines(text)
    found = list(dict.fromkeys(found))
    if len(found) < FEWEST:
        raise ValueError(f"{text}: has {len(found)} different lines, {FEWEST} are needed: one sentence or verse a line")
    return found


@dataclass
class Own:
    "A model, a text in two parts, and the folder of what is made."

    model: str
    train: Path
    unseen: Path  # what the model is judged by, and not trained on
    out: Path

    @property
    def is_mini(self) -> bool:
        "Whether the model is one of those that come with the package."
        return Path(self.model).parent == data_path("models")

    @property
    def options(self) -> list[str]:
        "What training on this model needs beside its number of steps."
        return MINI if self.is_mini else []

    def path(self, name: str) -> Path:
        "Where a model goes: a folder, or a GGUF file where the source is one."
        return self.out / (f"{name}.gguf" if self.model.endswith(".gguf") else name)

    def told(self, *arguments: object) -> dict:
        "What a command says as JSON."
        file = self.out / f"{arguments[0]}.json"
        command(*arguments, "--json", to=file)
        told = json.loads(file.read_text(encoding="utf-8"))
        return told[0] if isinstance(told, list) else told

    def as_advised(self, verdict: dict, model: Path | str) -> Path | str:
        "Give the model the vocabulary that `inspect` advises; the model itself where it is to stay as it is."
        if verdict["what"] == "keep":
            return model
        *words, _ = shlex.split(verdict["command"])[1:]
        words = [str(model) if word == self.model else word for word in words]
        command(*words, start := self.path("start"))
        return start

    def scores(self, **models: object) -> pd.DataFrame:
        "How well models predict the unseen lines, and how many tokens they take for them."
        import pandas as pd

        words = len(self.unseen.read_text(encoding="utf-8").split())
        rows = {}
        for name, model in models.items():
            ppl = self.told("evaluate", model, "--task", "ppl", "--test", self.unseen)
            per_word = round(ppl["tokens"] / words, 2)
            rows[name] = {"bits per byte": round(ppl["bits_per_byte"], 3), "tokens per word": per_word}
        return pd.DataFrame(rows).T


def prepare(
    model: str,  # a folder, a GGUF file or a name on the Hub; "": a bundled model, whose results are thrown away
    text: str,  # file, address, `upload` on Colab, or data set; "": the phrasebook's lines of the language
    language: str,
    out: str,  # the folder of what is made; "": one below ../_build
) -> Own:
    "Fetch the text and hold every tenth line of it out, 2,000 at most."
    usual = f"../_build/own-language/{Path(model).stem}-{language}" if model else tempfile.mkdtemp()
    folder = Path(out or usual)
    folder.mkdir(parents=True, exist_ok=True)
    found = _found(text, language, folder)
    every = max(10, len(found) // MOST_UNSEEN)
    parts = {"train": [line for n, line in enumerate(found) if n % every], "unseen": found[::every][:MOST_UNSEEN]}
    files = {name: folder / f"{name}.txt" for name in parts}
    for name, part in parts.items():
        files[name].write_text("\n".join(part) + "\n", encoding="utf-8", newline="\n")
        print(f"{files[name]}: {len(part):,} lines, {files[name].stat().st_size / 1e6:.2f} MB")
    return Own(model or str(data_path("models", "mini-xlmr")), files["train"], files["unseen"], folder)
