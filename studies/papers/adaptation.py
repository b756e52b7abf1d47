"""What is done to a source model for a language: a vocabulary, an initialisation of embeddings, and training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from vocab_lit.methods.factored import FactoredRecipe
from vocab_lit.methods.recipe import Recipe
from vocab_lit.methods.registry import get_recipe

if TYPE_CHECKING:
    from vocab_lit.methods.factored import Factoring
    from vocab_lit.models.madx import AdapterConfig


@dataclass(frozen=True)
class Adaptation:
    "A vocabulary, an initialisation of embeddings and a training, for a source model and a language."

    vocabulary: str = "keep"  # a name in `VOCABULARIES` of study_file
    recipe: str | Recipe = ""  # of the target embeddings; "": all are the source's
    mode: str = "all"  # of LAPT; "": there is no training
    adapter: AdapterConfig | None = None  # a language adapter, which learns in place of the model
    components: int = 0  # dimension of low-dimensional embeddings; 0: the recipe's
    steps: int = 0  # of training; 0: the setup's
    limit: int = 0  # lines of text; 0: the setup's
    language: str = ""  # where it is not said otherwise
    vectors: Mapping[str, object] = field(default_factory=dict, hash=False)  # how auxiliary embeddings are made
    printed: tuple[str, ...] = ()  # setup and method, as a paper's tables call it; empty: they lack it

    @property
    def whole(self) -> bool:
        "Whether the whole model is trained."
        return not (self.adapter or self.recipe)

    @property
    def kind(self) -> str:
        "The name of what is trained; a part of the keys of records."
        parts = []
        if shape := self.adapter:
            words = ["language adapter"]
            words += ["invertible"] * bool(shape.invertible)
            words += [shape.activation] * (shape.activation != "relu")
            words += ["last layer left out"] * bool(shape.leave_out)
            parts.append(", ".join(words))
        if self.recipe:
            name = self.recipe if isinstance(self.recipe, str) else self.recipe.name
            parts.append(name + f" of {self.components}" * bool(self.components))
        return " + ".join(parts) or "whole model"

    @property
    def budget(self) -> dict[str, int]:
        "Steps and lines of text, where they are not the setup's."
        return {name: n for name, n in dict(steps=self.steps, limit=self.limit).items() if n}

    @property
    def factoring(self) -> Factoring | None:
        "How the source embeddings are factorised; None where embeddings are full-dimensional."
        recipe = get_recipe(self.recipe) if isinstance(self.recipe, str) and self.recipe else self.recipe
        if not isinstance(recipe, FactoredRecipe):
            return None
        return replace(recipe.factoring, components=self.components or recipe.factoring.components)

    @property
    def name(self) -> str:
        "The name of a file for its result."
        words = self.kind.replace(",", "").replace("+ ", "").split()
        return "-".join([self.language, *words, *(f"{n}{what}" for what, n in self.budget.items())])
