"""Target embeddings that other packages make from the same tokenizers and vectors, for `studies.trials.starts`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from testkit.made import write_word_vectors
from testkit.peers import MERGEKIT_METHODS, PEERS, peer_python
from testkit.process import apart

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from vocab_lit.vectors.token_vectors import TokenVectors
    from vocab_lit.vectors.word_vectors import WordVectors

METHODS = {  # method to its package in `testkit.peers`, and the name of its file
    "deepfocus": ("deepfocus", "deepfocus"),
    **{f"mergekit {name}": ("mergekit", f"mergekit-{name}") for name in MERGEKIT_METHODS},
    "wechsel package": ("wechsel", "wechsel"),
}
TWO_LANGUAGES = "wechsel package"  # needs word vectors of both languages


@dataclass
class PackageCase:
    "What the other packages start from."

    source: PreTrainedTokenizerBase
    target: PreTrainedTokenizerBase
    embeddings: np.ndarray  # (n_source, dim)
    vectors: TokenVectors  # of the target tokens
    words: Sequence[WordVectors] = ()  # of the source and the target language, for wechsel
    dictionary: Sequence[tuple[str, str]] = ()  # pairs of words, for wechsel

    def write(self, folder: Path) -> None:
        "Write what `testkit.peers` reads."
        self.source.save_pretrained(folder / "old")
        self.target.save_pretrained(folder / "new")
        np.save(folder / "embeddings.npy", self.embeddings)
        known = self.vectors.known[:, None]  # tokensurgeon makes no numbers of a row of zeros
        donor = np.where(known, self.vectors.matrix, self.vectors.matrix[self.vectors.known].mean(0))
        np.save(folder / "vectors.npy", donor.astype(np.float32))
        pieces = self.target.convert_ids_to_tokens(np.flatnonzero(self.vectors.known).tolist())
        rows = dict(zip(pieces, self.vectors.matrix[self.vectors.known]))
        written = {piece: 2 for piece in pieces if piece.split() == [piece]}
        dim = self.vectors.matrix.shape[1]
        write_word_vectors(folder / "vectors.bin", written, dim, lambda words: np.stack([rows[word] for word in words]))
        for which, words in zip(("source", "target"), self.words):
            counts = dict(zip(words.words, words.counts.astype(int).tolist()))
            write_word_vectors(folder / f"{which}.bin", counts, words.dim, words.matrix)
        if self.words:
            pairs = "".join(f"{a}\t{b}\n" for a, b in self.dictionary)
            (folder / "pairs.txt").write_text(pairs, encoding="utf-8")
            (folder / "subwords").write_text("tfr")


def embeddings_of_package(
    case: PackageCase,
    environments: Path,  # folder of packages' environments; one that is missing is made
    method: str,  # of METHODS
) -> np.ndarray:  # (n_target, dim)
    "Return the target embeddings of another package's method."
    package, file = METHODS[method]
    with tempfile.TemporaryDirectory() as place:
        case.write(Path(place))
        run, arguments = PEERS[package].run, dict(folder=place)
        if package == "mergekit":
            arguments["methods"] = [file.removeprefix("mergekit-")]
        python = peer_python(package, environments, install=True)
        apart(f"{run.__module__}.{run.__name__}", arguments, python=str(python))
        return np.load(Path(place, f"{file}.npy"))
