"""Source embeddings and re-initialised ones on two principal components (Downey et al., 2023, Figures 1, 2, 3 and 5).

    python -m studies.trials.reinit_maps MODEL --text FILE

MODEL is the folder of a model, FILE a text in the language of the target vocabulary. `data/reinit_maps.csv` gets the
model's points, in the place of those that it has.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from studies.trials.embedding_clusters import place_of, replace_rows
from vocab_lit.methods.reinit import reinit
from vocab_lit.models.source import Source
from vocab_lit.models.transplant import transplant
from vocab_lit.text.corpus import read_lines
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.vocab import Vocab
from vocab_lit.vectors.token_vectors import token_vectors

RECORD = Path("data/reinit_maps.csv")
SOURCE, POINTS, SCRIPTS = "source", 60, 3
RECIPES = {
    "IDENT": reinit(ident=True).name,
    "SCRIPT": reinit(by="script").name,
    "SCRIPT+POSN": reinit(by="script", position=True).name,
    "FOCUS+IDENT": "focus",
}


def _frequent(vocab: Vocab) -> list[str]:
    "The scripts that a vocabulary has most tokens of, the most frequent first, without marks that all scripts share."
    counts = pd.Series([t.script for t in vocab if t.kind == "text" and t.script != "Zyyy"]).value_counts()
    return list(counts.index[counts >= 2 * POINTS])


def _points(panel: str, vocab: Vocab, plane: np.ndarray, scripts: Sequence[str], seed: int) -> pd.DataFrame:
    "A sample of the tokens of each script and position, at their places."
    tokens = [t for t in vocab if t.kind == "text" and t.script in scripts]
    groups = [(t.script, place_of(t)) for t in tokens]
    x, y = plane[[t.id for t in tokens]].T
    rows = pd.DataFrame(groups, columns=["script", "position"]).assign(x=x, y=y, panel=panel)
    shuffled = rows.sample(frac=1, random_state=seed)
    return shuffled.groupby(["script", "position"], sort=False).head(POINTS)


def reinit_maps(
    source: Source,
    lines: Sequence[str],  # of the target language
    size: int,  # of the target vocabulary
    seed: int = 0,
) -> pd.DataFrame:  # columns panel, script, position, x and y
    "Tokens on the source's principal components: the source's own, and those of a target vocabulary by each method."
    from sklearn.decomposition import PCA

    model, old = source.load(), Vocab.from_tokenizer(source.tokenizer)
    tokenizer = train_tokenizer_like(source.tokenizer, lines, size)
    new, vectors = Vocab.from_tokenizer(tokenizer), token_vectors(tokenizer, lines)
    scripts = list(dict.fromkeys([*_frequent(new), *_frequent(old)]))[:SCRIPTS]
    matrix = model.get_input_embeddings().weight.detach().float().numpy()
    pca = PCA(2, random_state=seed).fit(matrix[: len(old)])
    parts = [_points(SOURCE, old, pca.transform(matrix), scripts, seed)]
    for name, recipe in RECIPES.items():
        made = transplant(source.load(), source.tokenizer, tokenizer, recipe, vectors, seed).model
        rows = made.get_input_embeddings().weight.detach().float().numpy()
        parts.append(_points(name, new, pca.transform(rows), scripts, seed))
    return pd.concat(parts, ignore_index=True)


def main(arguments: Iterable[str] | None = None) -> None:
    "Add a model to the record."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a model")
    parser.add_argument("--text", type=Path, required=True, help="text in the target language")
    parser.add_argument("--vocab-size", type=int, default=8000, help="tokens of the target vocabulary")
    parser.add_argument("--out", type=Path, default=RECORD, help="the record")
    given = parser.parse_args(None if arguments is None else list(arguments))
    rows = reinit_maps(Source.open(given.model), read_lines(given.text), given.vocab_size)
    replace_rows(given.out, rows.assign(model=given.model.name).round(4), given.model.name)


if __name__ == "__main__":
    main()
