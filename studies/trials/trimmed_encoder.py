"""A multilingual encoder trimmed to English and Portuguese, beside somebody else's trim of it to the same languages.

    vocab-lit trim SOURCE --text english.txt --words en:60000,pt:60000 --out OURS
    python -m studies.trials.trimmed_encoder SOURCE PEER OURS --sentences SIB200/eng_Latn/test.tsv

SOURCE and PEER are the folders of multilingual-e5-small and e5-small-en-pt, as `python -m studies.models.real` makes
them. `data/trimmed-encoder.csv` gets a row for each of the three.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from studies.trials.real_topics import batches, mean_outputs, read_topics
from vocab_lit.models.source import Source
from vocab_lit.text.corpus import data_path
from vocab_lit.text.words import read_words, word_lists

if TYPE_CHECKING:
    import pandas as pd

TABLE = "trimmed-encoder.csv"
LANGUAGES = ("en", "pt")
WORDS, LENGTH = 60_000, 128  # of a language's list; tokens of a sentence


@torch.inference_mode()
def sentence_vectors(source: Source, sentences: Sequence[str]) -> np.ndarray:  # (sentences, dimensions), of length 1
    "The mean of an encoder's outputs over each sentence, behind the prefix that E5 was trained with."
    encoder, longest = source.load().base_model.float().eval(), min(LENGTH, source.longest)
    texts = [f"query: {sentence}" for sentence in sentences]
    coded = batches(source.tokenizer, texts, range(len(texts)), longest)
    vectors = np.concatenate([mean_outputs(encoder, batch).numpy() for _, batch in coded])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _divided(source: Source, texts: Sequence[str]) -> list[list[str]]:
    return [source.tokenizer.tokenize(text) for text in texts]


def beside_source(folders: Sequence[Path], sentences: Sequence[str]) -> Iterator[dict[str, object]]:
    "A row of the table for each folder, the first of which is the source."
    lists = {f"words_{language}": word_lists(f"{language}:{WORDS}")[0] for language in LANGUAGES}
    texts = dict(sentences=sentences) | {name: read_words(words) for name, words in lists.items()}
    source = Source.open(folders[0])
    vectors, before = sentence_vectors(source, sentences), {name: _divided(source, t) for name, t in texts.items()}
    for folder in folders:
        trimmed = Source.open(folder)
        cosines = (sentence_vectors(trimmed, sentences) * vectors).sum(1)
        row: dict[str, object] = dict(
            model=folder.name,
            tokens=len(trimmed.tokenizer),
            megabytes=round(sum(file.stat().st_size for file in folder.glob("*.safetensors")) / 1e6),
            cosine=round(float(cosines.mean()), 4),
            lowest=round(float(cosines.min()), 4),
        )
        for name, some in texts.items():
            same = [after == due for after, due in zip(_divided(trimmed, some), before[name])]
            row[name] = round(100 * float(np.mean(same)), 1)
        yield row


def table() -> pd.DataFrame:
    "The record, as a page shows it."
    import pandas as pd

    heads = dict(
        tokens="tokens",
        megabytes="MB",
        cosine="cosine, mean",
        lowest="cosine, lowest",
        sentences="English sentences as before, %",
        words_en="English words as before, %",
        words_pt="Portuguese words as before, %",
    )
    return pd.read_csv(data_path(TABLE)).set_index("model").rename(columns=heads)


def main(argv: Sequence[str] | None = None) -> None:
    "Measure the three."
    import pandas as pd

    parser = argparse.ArgumentParser(prog="python -m studies.trials.trimmed_encoder", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="the source first, then its trims")
    parser.add_argument("--sentences", type=Path, required=True, help="a file of SIB-200")
    given = parser.parse_args(argv)
    rows = list(beside_source(given.folders, read_topics(given.sentences).sentences))
    pd.DataFrame(rows).to_csv(Path("data", TABLE), index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
