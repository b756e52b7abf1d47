"""A biaffine parser on the encoder of a language model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch import nn
from torch.nn import functional as F

from vocab_lit.tasks.tagging import word_scores

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


def _with_one(x: torch.Tensor) -> torch.Tensor:  # at the end of each vector
    return F.pad(x, (0, 1), value=1)


class Biaffine(nn.Module):
    "Weights of the scores of pairs of vectors, (n, width + 1, width + bias)."

    def __init__(
        self,
        width: int,
        n: int,  # scores for each pair
        bias: bool,  # whether the second vector has a 1 at the end too
    ):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n, width + 1, width + bias))


class ParserOutput(NamedTuple):
    "A parser's scores of a batch."

    # (n, words, 1 + words) scores of each word with each head; the lowest number where there is no such word
    arcs: torch.Tensor
    relations: torch.Tensor | None = None  # (n, words, relations) scores at the heads that were given
    # (n, words, 1 + words) number of the best relation to each head, where none were given
    best: torch.Tensor | None = None


if TYPE_CHECKING:

    class _Model(PreTrainedModel):  # `_parser_class` gives it a family of models as the second base, and the encoder
        encoder_class: type[PreTrainedModel]

else:
    _Model = object


class _Parser(_Model):
    "A biaffine parser on an encoder."

    def __init__(self, config: PreTrainedConfig):
        super().__init__(config)
        has_pooler = "add_pooling_layer" in inspect.signature(self.encoder_class).parameters
        options = {"add_pooling_layer": False} if has_pooler else {}
        setattr(self, self.base_model_prefix, self.encoder_class(config, **options))
        names = ("classifier_dropout", "hidden_dropout_prob", "resid_pdrop", "dropout")
        rates = [getattr(config, name, None) for name in names]
        self.dropout = nn.Dropout(next((p for p in rates if isinstance(p, (int, float))), 0.0))
        self.biaffine_arcs = Biaffine(config.hidden_size, 1, bias=False)
        self.biaffine_rels = Biaffine(config.hidden_size, cast("int", config.num_labels), bias=True)
        self.post_init()

    def forward(
        self,
        words: torch.Tensor,  # (n, length) the word that each token counts for; -1: none
        exists: torch.Tensor,  # (n, words) bool
        heads: torch.Tensor | None = None,  # (n, words) at which relations are scored; None: the best for all heads
        **inputs: torch.Tensor,  # of the encoder
    ) -> ParserOutput:
        "Scores of each word with each head, and of relations."
        states = self.dropout(self.base_model(**inputs).last_hidden_state)
        dependents = word_scores(states, words, exists.shape[1])
        possible = torch.cat([states[:, :1], dependents], 1)
        arcs = _with_one(dependents) @ self.biaffine_arcs.weight[0] @ possible.mT
        arcs = arcs.masked_fill(~F.pad(exists, (1, 0), value=True)[:, None], torch.finfo(arcs.dtype).min)
        if heads is None:
            return ParserOutput(arcs, best=self._best_relations(_with_one(dependents), _with_one(possible)))
        chosen = possible.gather(1, heads.clamp(min=0)[..., None].expand_as(dependents))
        pairs = _with_one(dependents), self.biaffine_rels.weight, _with_one(chosen)
        return ParserOutput(arcs, torch.einsum("nwi,rij,nwj->nwr", *pairs))  # many times faster than bilinear

    def _best_relations(self, dependents, possible):
        numbers = cast("dict[str, int]", self.config.label2id)
        root = numbers.get("root")
        best = highest = None
        for number, weight in enumerate(self.biaffine_rels.weight):
            scores = dependents @ weight @ possible.mT
            if root is not None:
                elsewhere = scores[..., 1:] if number == root else scores[..., :1]
                elsewhere.fill_(torch.finfo(scores.dtype).min)  # which autocast decides
            if best is None or highest is None:
                best, highest = torch.zeros_like(scores, dtype=torch.long), scores
            else:
                best = torch.where(scores > highest, number, best)
                highest = torch.maximum(scores, highest)
        return best


@cache
def _parser_class(config):  # of models with this kind of configuration
    import transformers

    encoder = cast("Any", transformers.MODEL_MAPPING[config])  # a class, or several
    if isinstance(encoder, tuple):
        encoder = encoder[0]
    family = next(cls for cls in encoder.__mro__[1:] if issubclass(cls, transformers.PreTrainedModel))
    name = encoder.__name__.removesuffix("Model") + "ForDependencyParsing"
    return type(name, (_Parser, family), {"__module__": encoder.__module__, "encoder_class": encoder})


class _Parsers(Mapping):
    "Parsers by the class of a configuration, made when they are asked for."

    @property
    def _taggers(self):
        import transformers

        return transformers.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING

    def __getitem__(self, config: type) -> type:
        if config not in self._taggers:
            raise KeyError(config)
        return _parser_class(config)

    def __iter__(self) -> Iterator[type]:
        return iter(self._taggers)

    def __len__(self) -> int:
        return len(self._taggers)


PARSERS: Mapping[type, type] = _Parsers()  # from configurations to models, as transformers' mappings
