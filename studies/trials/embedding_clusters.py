"""Whether a model's embeddings lie in groups of script and position in the word.

    python -m studies.trials.embedding_clusters MODEL [MODEL ...]

MODEL is the folder of a model. `data/embedding_clusters.csv` gets a row for each grouping: how many tokens are nearest
to the mean of their own group, in all dimensions and in the plane of two principal components. `data/embedding_map.csv`
gets some tokens of Latin and Cyrillic on the axes between the means of their groups.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from vocab_lit.models.source import Source
from vocab_lit.tokens.vocab import Vocab

if TYPE_CHECKING:
    from vocab_lit.tokens.vocab import Token

CLUSTERS, MAP = Path("data/embedding_clusters.csv"), Path("data/embedding_map.csv")
KEYS = ["model", "seed", "groups"]
MOST_TOKENS = 50_000  # a sample of so many where a vocabulary has more
SMALLEST = 20  # tokens of a group; those of smaller ones are left out
ON_MAP = 60  # tokens of each group
SCRIPTS = ("Latn", "Cyrl")  # of the map
PLACES = ("word-initial", "word-internal")


def place_of(token: Token) -> str:
    "Whether a token begins a word."
    return PLACES[0] if token.word_start else PLACES[1]


def _right(embeddings: np.ndarray, groups: np.ndarray) -> float:
    "The share of tokens nearest to the mean of their own group, each group weighing the same; means of other tokens."
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import NearestCentroid

    return cross_val_score(NearestCentroid(), embeddings, groups, cv=5, scoring="balanced_accuracy").mean()


@dataclass(frozen=True)
class Clusters:
    "The embeddings of text tokens, with what they are grouped by."

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
        "Those of a model."
        tokens = [token for token in vocab if token.kind == "text"]
        order = np.random.default_rng(seed).permutation(len(tokens))[:MOST_TOKENS]
        tokens = [tokens[i] for i in np.sort(order)]
        embeddings = np.asarray(matrix[[token.id for token in tokens]], np.float32)
        scripts, places = (np.array([f(t) for t in tokens]) for f in (lambda t: t.script, place_of))
        return cls(embeddings, scripts, places)

    def rows(self) -> list[dict[str, Any]]:
        "For each grouping, how many tokens are nearest to the mean of their own group."
        from sklearn.decomposition import PCA

        plane = PCA(2, random_state=0).fit_transform(self.embeddings)
        both = np.char.add(np.char.add(self.scripts, ", "), self.places)
        found = []
        for name, groups in {"script": self.scripts, "position": self.places, "script and position": both}.items():
            sizes = pd.Series(groups).value_counts()
            large = np.isin(groups, sizes.index[sizes >= SMALLEST])
            counted = dict(n=int((sizes >= SMALLEST).sum()), tokens=int(large.sum()))
            if counted["n"] < 2:
                continue
            spaces = {"plane": plane, "all_dimensions": self.embeddings}
            shares = {space: round(_right(points[large], groups[large]), 4) for space, points in spaces.items()}
            found.append(dict(groups=name) | counted | shares)
        return found

    def _axes(self, fitted: np.ndarray) -> np.ndarray:  # (dim, 2)
        "Directions from word-internal to word-initial tokens, and from Cyrillic to Latin, between means."
        mean = {
            (script, place): self.embeddings[fitted & (self.scripts == script) & (self.places == place)].mean(0)
            for script in SCRIPTS
            for place in PLACES
        }
        (latin, cyrillic), (initial, internal) = SCRIPTS, PLACES
        across = sum(mean[script, initial] - mean[script, internal] for script in SCRIPTS)
        up = sum(mean[latin, place] - mean[cyrillic, place] for place in PLACES)
        between = np.stack([across, up], axis=1)
        axes, triangle = np.linalg.qr(between)
        return axes * np.sign(np.diag(triangle))

    def map(self, seed: int = 0) -> pd.DataFrame:  # script, position, x, y, first, second
        "Latin and Cyrillic tokens on the axes between means, which other tokens gave, and on two principal components."
        from sklearn.decomposition import PCA

        rng = np.random.default_rng(seed)
        fitted = rng.random(len(self.scripts)) < 0.5
        axes = self._axes(fitted)
        pca = PCA(2, random_state=0).fit(self.embeddings)
        parts = []
        for script in SCRIPTS:
            for place in PLACES:
                others = np.flatnonzero(~fitted & (self.scripts == script) & (self.places == place))
                here = self.embeddings[rng.permutation(others)[:ON_MAP]]
                (x, y), (first, second) = ((here - pca.mean_) @ axes).T, pca.transform(here).T
                columns = dict(script=script, position=place, x=x, y=y, first=first, second=second)
                parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)


def embeddings_of(
    folder: Path,
) -> tuple[Vocab, np.ndarray]:
    "The vocabulary of a model, and its embeddings."
    source = Source.open(folder)
    matrix = source.load().get_input_embeddings().weight.detach().float().numpy()
    return Vocab.from_tokenizer(source.tokenizer), matrix


def replace_rows(path: Path, rows: pd.DataFrame, model: str) -> None:
    "Put the rows of a model into a table, in the place of those that it has."
    kept = pd.read_csv(path) if path.is_file() else rows[:0]
    table = pd.concat([kept[kept.model != model], rows]).sort_values("model", kind="stable")
    table.to_csv(path, index=False, lineterminator="\n")


def main(argv: Sequence[str] | None = None) -> None:
    "Measure models."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", help="folders")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    args = parser.parse_args(argv)
    for folder in args.models:
        clusters = Clusters.of(*embeddings_of(folder), args.seed)
        about = dict(model=folder.name, seed=args.seed)
        replace_rows(CLUSTERS, pd.DataFrame([about | row for row in clusters.rows()]), folder.name)
        if all((clusters.scripts == script).sum() > 4 * ON_MAP for script in SCRIPTS):
            drawn = clusters.map(args.seed).round(3)
            replace_rows(MAP, pd.DataFrame(about, index=drawn.index).join(drawn), folder.name)


if __name__ == "__main__":
    main()
