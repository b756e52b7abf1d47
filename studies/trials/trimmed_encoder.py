"""A multilingual encoder trimmed to English and Portuguese, beside another project's trim to the same languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from typer import Argument, Option

from studies.records.record import Record
from studies.trials.real_topics import batches, mean_outputs, read_topics
from vocab_lit.models.source import Source
from vocab_lit.text.words import read_words, word_lists

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {  # of the table, and their headings on a page
    "model": "model",
    "tokens": "tokens",
    "megabytes": "MB",
    "cosine": "cosine, mean",
    "lowest": "cosine, lowest",
    "sentences": "English sentences as before, %",
    "words_en": "English words as before, %",
    "words_pt": "Portuguese words as before, %",
}
RECORD = Record("trimmed-encoder.csv", (), tuple(COLUMNS))
LANGUAGES = ("en", "pt")
WORDS, LENGTH = 60_000, 128  # of a language's list; tokens of a sentence


@torch.inference_mode()
def sentence_vectors(source: Source, sentences: Sequence[str]) -> np.ndarray:  # (sentences, dimensions), of length 1
    "Return the mean of an encoder's outputs over each sentence, behind the prefix that E5 was trained with."
    encoder, longest = source.load().base_model.float().eval(), min(LENGTH, source.longest)
    texts = [f"query: {sentence}" for sentence in sentences]
    coded = batches(source.tokenizer, texts, range(len(texts)), longest)
    vectors = np.concatenate([mean_outputs(encoder, batch).numpy() for _, batch in coded])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def beside_source(folders: Sequence[Path], sentences: Sequence[str]) -> Iterator[dict[str, object]]:
    "Yield a row of the table for each folder, the first of which is the source."
    lists = {f"words_{language}": word_lists(f"{language}:{WORDS}")[0] for language in LANGUAGES}
    texts = dict(sentences=sentences) | {name: read_words(words) for name, words in lists.items()}

    def tokens(source: Source, name: str) -> list[list[str]]:
        return [source.tokenizer.tokenize(text) for text in texts[name]]

    source = Source.open(folders[0])
    vectors, before = sentence_vectors(source, sentences), {name: tokens(source, name) for name in texts}
    for folder in folders:
        trimmed = Source.open(folder)
        cosines = (sentence_vectors(trimmed, sentences) * vectors).sum(1)
        same = {name: [a == b for a, b in zip(tokens(trimmed, name), before[name])] for name in texts}
        yield dict(
            model=folder.name,
            tokens=len(trimmed.tokenizer),
            megabytes=round(sum(file.stat().st_size for file in folder.glob("*.safetensors")) / 1e6),
            cosine=round(float(cosines.mean()), 4),
            lowest=round(float(cosines.min()), 4),
        ) | {name: round(100 * float(np.mean(equal)), 1) for name, equal in same.items()}


def table() -> pd.DataFrame:
    "Return the record as a page shows it."
    return RECORD.frame().set_index("model").rename(columns=COLUMNS)


def main(
    folders: Annotated[list[Path], Argument(help="multilingual-e5-small, then trims of it.")],
    sentences: Annotated[Path, Option(help="A file of SIB-200, such as eng_Latn/test.tsv.")],
) -> None:
    """Write data/trimmed-encoder.csv: an encoder, e5-small-en-pt and the folder that `vocab-lit trim` made.

    `python -m studies.models.real` makes the first two, and the third
    `vocab-lit trim SOURCE --text english.txt --words en:60000,pt:60000 --out OURS`.

    Example: `python -m studies trial trimmed-encoder SOURCE PEER OURS --sentences eng_Latn/test.tsv`
    """
    RECORD.write(beside_source(folders, read_topics(sentences).sentences))
