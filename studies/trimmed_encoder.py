"""A multilingual encoder trimmed to English and Portuguese, beside somebody else's trim of it to the same languages.

    vocab-lit trim SOURCE --text english.txt --words en:60000,pt:60000 --out OURS
    python -m studies.trimmed_encoder SOURCE PEER OURS --sentences SIB200/eng_Latn/test.tsv

SOURCE and PEER are the folders of multilingual-e5-small and e5-small-en-pt, as `python -m studies.real_models` makes
them. `data/trimmed-encoder.csv` gets a row for each of the three.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from studies.real_topics import mean_outputs, read_topics
from vocab_lit.models.source import Source
from vocab_lit.text.corpus import data_path
from vocab_lit.text.words import read_words, word_lists

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedTokenizerBase

TABLE = "trimmed-encoder.csv"
LANGUAGES = ("en", "pt")
WORDS, BATCH, LENGTH = 60_000, 16, 128


@torch.inference_mode()
def sentence_vectors(source: Source, sentences: Sequence[str]) -> np.ndarray:  # (sentences, dimensions), of length 1
    "The mean of an encoder's outputs over each sentence, behind the prefix that E5 was trained with."
    encoder, tokenizer = source.load().base_model.float().eval(), source.tokenizer
    rows, longest = [], min(LENGTH, source.longest)
    for start in range(0, len(sentences), BATCH):
        texts = [f"query: {sentence}" for sentence in sentences[start : start + BATCH]]
        coded = tokenizer(texts, truncation=True, max_length=longest, padding=True, return_tensors="pt")
        rows.append(mean_outputs(encoder, coded).numpy())
    vectors = np.concatenate(rows)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def as_before(tokenizer: PreTrainedTokenizerBase, source: PreTrainedTokenizerBase, texts: Sequence[str]) -> float:
    "The share of texts that have the same tokens as by the source's tokenizer, in per cent."
    same = [tokenizer.tokenize(text) == source.tokenize(text) for text in texts]
    return 100 * float(np.mean(same))


def beside_source(folder: Path, source: Path, sentences: Sequence[str]) -> dict[str, object]:
    "A row of the table."
    trimmed, whole = Source.open(folder), Source.open(source)
    cosines = (sentence_vectors(trimmed, sentences) * sentence_vectors(whole, sentences)).sum(1)
    row: dict[str, object] = dict(
        model=folder.name,
        tokens=len(trimmed.tokenizer),
        megabytes=round(sum(file.stat().st_size for file in folder.glob("*.safetensors")) / 1e6),
        cosine=round(float(cosines.mean()), 4),
        lowest=round(float(cosines.min()), 4),
        sentences=round(as_before(trimmed.tokenizer, whole.tokenizer, sentences), 1),
    )
    for language in LANGUAGES:
        [listed] = word_lists(f"{language}:{WORDS}")
        row[f"words_{language}"] = round(as_before(trimmed.tokenizer, whole.tokenizer, read_words(listed)), 1)
    return row


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

    parser = argparse.ArgumentParser(prog="python -m studies.trimmed_encoder", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="the source first, then its trims")
    parser.add_argument("--sentences", type=Path, required=True, help="a file of SIB-200")
    given = parser.parse_args(argv)
    source, sentences = given.folders[0], read_topics(given.sentences).sentences
    rows = [beside_source(folder, source, sentences) for folder in given.folders]
    pd.DataFrame(rows).to_csv(Path("data", TABLE), index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
