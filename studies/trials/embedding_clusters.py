"""Whether a model's embeddings cluster by script and position in the word, in all dimensions and in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from typer import Argument, Option

from studies.records.record import Record
from vocab_lit.models.source import Source
from vocab_lit.tokens.vocab import Vocab

if TYPE_CHECKING:
    from vocab_lit.tokens.vocab import Token

CLUSTERS = Record(
    "embedding_clusters.csv",
    ("model",),
    ("model", "seed", "groups", "n", "tokens", "plane", "all_dimensions"),
    is_sorted=True,
)
MAP = Record(
    "embedding_map.csv",
    ("model",),
    ("model", "seed", "script", "position", "x", "y", "first", "second"),
    is_sorted=True,
)
MOST_TOKENS = 50_000  # a sample of so many from larger vocabularies
SMALLEST = 20  # tokens of a group; those of smaller ones are left out
ON_MAP = 60  # tokens of each group
SCRIPTS = ("Latn", "Cyrl")  # of the map
PLACES = ("word-initial", "word-internal")


def place_of(token: Token) -> str:
    "Return whether a token begins a word."
    return PLACES[0] if token.word_start else PLACES[1]


def _accuracy(embeddings: np.ndarray, groups: np.ndarray) -> float:
    "Return the balanced accuracy of the nearest mean of a group, in cross-validation."
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import NearestCentroid

    return cross_val_score(NearestCentroid(), embeddings, groups, cv=5, scoring="balanced_accuracy").mean()


@dataclass(frozen=True)
class Clusters:
    "The embeddings of text tokens, and their groups."

    embeddings: np.ndarray  # (n, dim)
    scripts: np.ndarray  # (n,)
    places: np.ndarray  # (n,)

    @classmethod
    def of(
        cls,
        vocab: Vocab,
        matrix: np.ndarray,  # (at least len(vocab), dim)
        seed: int = 0,  # of the sample
    ) -> Clusters:
        "Return those of a model."
        tokens = [token for token in vocab if token.kind == "text"]
        order = np.random.default_rng(seed).permutation(len(tokens))[:MOST_TOKENS]
        tokens = [tokens[i] for i in np.sort(order)]
        embeddings = np.asarray(matrix[[token.id for token in tokens]], np.float32)
        return cls(embeddings, np.array([t.script for t in tokens]), np.array([place_of(t) for t in tokens]))

    def _in(self, script: str, place: str) -> np.ndarray:  # (n,) bool
        return (self.scripts == script) & (self.places == place)

    def rows(self) -> list[dict[str, Any]]:
        "Return for each grouping the share of tokens that are nearest to the mean of their own group."
        from sklearn.decomposition import PCA

        plane = PCA(2, random_state=0).fit_transform(self.embeddings)
        both = np.char.add(np.char.add(self.scripts, ", "), self.places)
        rows = []
        for name, groups in {"script": self.scripts, "position": self.places, "script and position": both}.items():
            sizes = pd.Series(groups).value_counts()
            large = np.isin(groups, sizes.index[sizes >= SMALLEST])
            row: dict[str, Any] = dict(groups=name, n=int((sizes >= SMALLEST).sum()), tokens=int(large.sum()))
            if row["n"] > 1:
                for space, points in {"plane": plane, "all_dimensions": self.embeddings}.items():
                    row[space] = round(_accuracy(points[large], groups[large]), 4)
                rows.append(row)
        return rows

    def _axes(self, fitted: np.ndarray) -> np.ndarray:  # (dim, 2)
        "Return directions from word-internal to word-initial tokens and from Cyrillic to Latin, between means."
        mean = {(s, p): self.embeddings[fitted & self._in(s, p)].mean(0) for s in SCRIPTS for p in PLACES}
        (latin, cyrillic), (initial, internal) = SCRIPTS, PLACES
        across = sum(mean[script, initial] - mean[script, internal] for script in SCRIPTS)
        up = sum(mean[latin, place] - mean[cyrillic, place] for place in PLACES)
        axes, triangle = np.linalg.qr(np.stack([across, up], axis=1))
        return axes * np.sign(np.diag(triangle))

    def map(self, seed: int = 0) -> pd.DataFrame:  # script, position, x, y, first, second
        "Return Latin and Cyrillic tokens on the axes between means of other tokens, and on two principal components."
        from sklearn.decomposition import PCA

        rng = np.random.default_rng(seed)
        fitted = rng.random(len(self.scripts)) < 0.5
        axes, pca = self._axes(fitted), PCA(2, random_state=0).fit(self.embeddings)
        parts = []
        for script, place in [(script, place) for script in SCRIPTS for place in PLACES]:
            others = np.flatnonzero(~fitted & self._in(script, place))
            here = self.embeddings[rng.permutation(others)[:ON_MAP]]
            (x, y), (first, second) = ((here - pca.mean_) @ axes).T, pca.transform(here).T
            parts.append(pd.DataFrame(dict(script=script, position=place, x=x, y=y, first=first, second=second)))
        return pd.concat(parts, ignore_index=True)


def main(
    models: Annotated[list[Path], Argument(help="Folders of models.")],
    seed: Annotated[int, Option(help="Of the sample of tokens.")] = 0,
) -> None:
    """Measure how embeddings cluster; write data/embedding_clusters.csv and data/embedding_map.csv.

    Example: `python -m studies trial embedding-clusters MODEL`
    """
    for folder in models:
        source = Source.open(folder)
        matrix = source.load().get_input_embeddings().weight.detach().float().numpy()
        clusters = Clusters.of(Vocab.from_tokenizer(source.tokenizer), matrix, seed)
        case = dict(model=folder.name, seed=seed)
        CLUSTERS.write([case | row for row in clusters.rows()])
        if all((clusters.scripts == script).sum() > 4 * ON_MAP for script in SCRIPTS):
            points = clusters.map(seed).round(3).to_dict("records")
            MAP.write([case | point for point in points])
