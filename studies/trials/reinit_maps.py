"""Source and initialised embeddings on two principal components (Downey et al., 2023, Figures 1, 2, 3 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from typer import Argument, Option

from studies.records.record import Record
from studies.trials.embedding_clusters import place_of
from vocab_lit.methods.reinit import reinit
from vocab_lit.models.source import Source
from vocab_lit.models.transplant import transplant
from vocab_lit.text.corpus import read_lines
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.vocab import Vocab
from vocab_lit.vectors.token_vectors import token_vectors

RECORD = Record("reinit_maps.csv", ("model",), ("script", "position", "x", "y", "panel", "model"))
SOURCE, POINTS, SCRIPTS = "source", 60, 3
RECIPES = {
    "IDENT": reinit(ident=True).name,
    "SCRIPT": reinit(by="script").name,
    "SCRIPT+POSN": reinit(by="script", position=True).name,
    "FOCUS+IDENT": "focus",
}


def _frequent(vocab: Vocab) -> list[str]:
    "Return the scripts with most tokens in a vocabulary, without marks that all scripts share."
    counts = pd.Series([t.script for t in vocab if t.kind == "text" and t.script != "Zyyy"]).value_counts()
    return list(counts.index[counts >= 2 * POINTS])


def _points(panel: str, vocab: Vocab, plane: np.ndarray, scripts: Sequence[str], seed: int) -> pd.DataFrame:
    "Return a sample of the tokens of each script and position, at their places."
    tokens = [t for t in vocab if t.kind == "text" and t.script in scripts]
    x, y = plane[[t.id for t in tokens]].T
    groups = [(t.script, place_of(t)) for t in tokens]
    rows = pd.DataFrame(groups, columns=["script", "position"]).assign(x=x, y=y, panel=panel)
    return rows.sample(frac=1, random_state=seed).groupby(["script", "position"], sort=False).head(POINTS)


def reinit_maps(
    source: Source,
    lines: Sequence[str],  # of the target language
    size: int,  # of the target vocabulary
    seed: int = 0,
) -> pd.DataFrame:  # columns panel, script, position, x and y
    "Return tokens on the source's components: the source's own, and those of a target vocabulary by each method."
    from sklearn.decomposition import PCA

    def embeddings(model) -> np.ndarray:
        return model.get_input_embeddings().weight.detach().float().numpy()

    old, tokenizer = Vocab.from_tokenizer(source.tokenizer), train_tokenizer_like(source.tokenizer, lines, size)
    new, vectors = Vocab.from_tokenizer(tokenizer), token_vectors(tokenizer, lines)
    scripts = list(dict.fromkeys([*_frequent(new), *_frequent(old)]))[:SCRIPTS]
    matrix = embeddings(source.load())
    pca = PCA(2, random_state=seed).fit(matrix[: len(old)])
    parts = [_points(SOURCE, old, pca.transform(matrix), scripts, seed)]
    for name, recipe in RECIPES.items():
        made = transplant(source.load(), source.tokenizer, tokenizer, recipe, vectors, seed).model
        parts.append(_points(name, new, pca.transform(embeddings(made)), scripts, seed))
    return pd.concat(parts, ignore_index=True)


def main(
    model: Annotated[Path, Argument(help="Folder of a model.")],
    text: Annotated[Path, Option(help="Text in the target language.")],
    vocab_size: Annotated[int, Option(help="Tokens of the target vocabulary.")] = 8000,
    out: Annotated[Path | None, Option(help="Another table.", show_default="data/reinit_maps.csv")] = None,
) -> None:
    """Add a model's points to data/reinit_maps.csv.

    Example: `python -m studies trial reinit-maps MODEL --text FILE`
    """
    points = reinit_maps(Source.open(model), read_lines(text), vocab_size).round(4).assign(model=model.name)
    RECORD.write(points.to_dict("records"), out)
