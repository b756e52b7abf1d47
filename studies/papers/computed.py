"""Numbers of the papers' tables that need no training, computed where they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pandas as pd

from studies.data.coverage import overlapping

if TYPE_CHECKING:
    from vocab_lit.tokens.vocab import Vocab

COMPUTED: dict[str, Callable[[], pd.DataFrame]] = {}
WITH_MINI = ("longest_overlap", "nearest_tokens")  # those of the small models, which other scales do not show


def computes(make: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
    "Register what makes the numbers of a table, under its name."
    COMPUTED[make.__name__] = cache(make)
    return make


@computes
def adapter_parameters() -> pd.DataFrame:  # columns method, metric, value
    "The weights that MAD-X adds to XLM-R base, without biases, in millions and as a share of the model (Table 4)."
    from vocab_lit.models.madx import Bottleneck, Coupling

    layers, width, model = 12, 768, 270e6  # Section 5.3: 270 million

    def weights(module):
        return sum(parameter.numel() for parameter in module.parameters() if parameter.dim() > 1)

    task = layers * weights(Bottleneck(width, width // 16))
    language = layers * weights(Bottleneck(width, width // 2))
    invertible = weights(Coupling(width, width // 4))
    added = {"MAD-X": task + language + invertible, "MAD-X -INV": task + language, "MAD-X -LAD-INV": task}
    rows = [(method, "added parameters, million", n / 1e6) for method, n in added.items()]
    rows += [(method, "share of the model, percent", 100 * n / model) for method, n in added.items()]
    return pd.DataFrame(rows, columns=["method", "metric", "value"]).assign(language="")


_TARGETS = ("ka", "hi", "et", "uk", "am", "km")  # languages of the bundled study whose vocabularies are compared


def _vocabularies() -> Iterator[tuple[str, Vocab, Vocab]]:  # language, the source's and the target's
    from studies.papers.transfer import Transfer

    study = Transfer("", _TARGETS, "mini", {"steps": 40}, own_vocabulary=_TARGETS, paper="unks-everywhere")
    for language in _TARGETS:
        target = study.target(language)
        yield language, target.source_vocab, target.vocab


@computes
def longest_overlap() -> pd.DataFrame:  # columns language, method, note
    "The five longest tokens that overlap with the small mBERT (UNKs Everywhere, Table 7)."
    rows = []
    for language, source, target in _vocabularies():
        longest = sorted(overlapping(source, target), key=lambda token: (-len(token.text), token.text))[:5]
        rows += [(language, f"rank {i}", token.text.strip()) for i, token in enumerate(longest, 1)]
    return pd.DataFrame(rows, columns=["language", "method", "note"])


@computes
def nearest_tokens() -> pd.DataFrame:  # columns language, method (the token), note (the source token)
    "The source token with the largest weight in WECHSEL, of the longest words of two languages (WECHSEL, Table 7)."
    from studies.papers.experiment import Targets

    rows = []
    for language in ("de", "sw"):
        plan = Targets("mini", preset="wechsel-gpt2")(language).transplant("wechsel").plan
        words = sorted((t for t in plan.target if t.kind == "text" and t.word_start), key=lambda t: -len(t.text))[:5]
        for token in words:
            nearest = plan.explain(token.id).iloc[0]
            source = nearest.source.strip(" ▁") if nearest.weight > 0 else "none: sampled"
            rows.append((language, token.text.strip(), source))
    return pd.DataFrame(rows, columns=["language", "method", "note"])
