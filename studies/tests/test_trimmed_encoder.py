"""An encoder beside trims of it."""

import numpy as np
import pytest

from studies.trials import trimmed_encoder
from studies.trials.trimmed_encoder import beside_source, sentence_vectors, table
from vocab_lit.models.pipeline import trim_files
from vocab_lit.models.source import Source
from vocab_lit.text.corpus import data_path, read_lines
from vocab_lit.tokens.settings import TrimSettings

pytest.importorskip("wordfreq")


def test_an_encoder_trimmed_to_a_text_says_the_same_of_it(tmp_path):
    source, lines = data_path("models/mini-xlmr"), read_lines(data_path("text", "sw.txt"))[:20]
    (tmp_path / "sw.txt").write_text("\n".join([*lines, "query: a"]), encoding="utf-8")
    trim_files(source, [tmp_path / "sw.txt"], tmp_path / "sw", TrimSettings(coverage=1.0))
    whole, trimmed = beside_source([source, tmp_path / "sw"], lines)
    assert (whole["cosine"], whole["sentences"], whole["words_pt"]) == (1.0, 100.0, 100.0)
    assert (trimmed["lowest"], trimmed["sentences"]) == (1.0, 100.0)
    assert trimmed["tokens"] < whole["tokens"] and trimmed["words_pt"] < 100
    vectors = sentence_vectors(Source.open(source), lines)
    assert np.allclose((vectors**2).sum(1), 1, atol=1e-5)


def test_the_record_has_the_source_and_two_trims():
    recorded = trimmed_encoder.RECORD.frame()
    assert recorded.model.tolist() == ["multilingual-e5-small", "e5-small-en-pt", "vocab_lit"]
    assert (recorded.cosine[0], recorded.sentences[0]) == (1.0, 100.0)
    assert table().shape == (3, len(recorded.columns) - 1)
