"""What the bundled source models are made of: languages, tokenizer, shape and training."""

from __future__ import annotations

from dataclasses import dataclass

from testkit.constructed import LANGUAGES
from testkit.phrasebook import SOURCE_LOCALES


@dataclass(frozen=True)
class ModelRecipe:
    "Everything that decides what a small model becomes; the defaults are mini-xlmr's."

    architecture: str = "xlm-roberta"  # or bert, roberta, gpt2
    locales: tuple = SOURCE_LOCALES  # languages; the first of each world is paired most often
    # languages on which it is evaluated without having met them
    unseen: tuple = ("sw", "et", "uz", "uk", "ur", "ne", "am", "km", "si")
    vocab_size: int = 8000
    frames: int = 10_000  # per CLDR locale, English twice as many
    events: int = 16_000  # per constructed language
    alpha: float = 1.0  # of language sampling; below 1, the blocks of small languages are repeated
    tokenizer_lines: int = 2500  # per language in the text of the tokenizer; from a folder they are sampled with alpha
    character_coverage: float = 1.0  # share of that text whose characters are kept
    pair_share: float = 0.3  # share of blocks with translation pairs; a folder has none
    length: int = 72  # tokens in a block
    layers: int = 3
    dim: int = 128
    heads: int = 4
    feed_forward: int = 384
    sinusoids: bool = False  # whether position embeddings start as sines and cosines
    steps: int = 8000
    batch_size: int = 32
    learning_rate: float = 2.5e-3
    warmup: float = 1 / 30  # share of the steps
    mask_probability: float = 0.2
    causal_steps: int = 0  # of a masked model: steps before the others, in which it predicts the next token
    seed: int = 0

    def __post_init__(self):
        if self.causal_steps and self.architecture == "gpt2":
            raise ValueError("causal_steps come before the steps of a masked model; gpt2 is causal, give it steps only")


_CONSTRUCTED = tuple(code for code, language in LANGUAGES.items() if language.group == "source")
_CONSTRUCTED_UNSEEN = tuple(code for code, language in LANGUAGES.items() if language.group != "source")
_MBERT_LOCALES = ("en", "ar", "de", "fr", "es", "tr", "fi", "ru", "fa", "hi", "ka", "id")
_MBERT_UNSEEN = ("sw", "et", "uk", "ur", "mr", "el", "he", "am", "km", "si")
_ENGLISH = dict(
    locales=("en",), unseen=("fr", "de", "zh", "sw", "gd", "ug"), vocab_size=2000, frames=40_000, pair_share=0
)
XLMR = ModelRecipe()
RECIPES = {
    "mini-xlmr": ModelRecipe(),
    "mini-mbert": ModelRecipe("bert", (*_MBERT_LOCALES, *_CONSTRUCTED), (*_MBERT_UNSEEN, *_CONSTRUCTED_UNSEEN)),
    "mini-roberta": ModelRecipe("roberta", **_ENGLISH, steps=5000),
    "mini-gpt2": ModelRecipe("gpt2", **_ENGLISH, steps=3000),
}
_FIELD_UNSEEN = "pt pl fa hi zh id vi el ko ka th te cop et lv mt cy ga kk"
FIELD_RECIPES = {  # of models that are trained on a folder of text, and not in the installed package
    "field-xlmr": ModelRecipe(
        locales=("en", "de", "fr", "es", "ru", "tr", "fi", "ar"),
        unseen=tuple(_FIELD_UNSEEN.split()),
        vocab_size=12_000,
        alpha=0.3,
        tokenizer_lines=15_000,
        character_coverage=0.9995,
        pair_share=0,
        length=128,
        layers=4,
        dim=256,
        feed_forward=1024,
        sinusoids=True,
        causal_steps=3_000,
        steps=10_000,
        batch_size=16,
        learning_rate=1.5e-3,
        mask_probability=0.3,
    )
}
TOKENIZERS = {
    "xlm-roberta": dict(kind="unigram", split_digits=True),
    "bert": dict(kind="wordpiece"),
    "roberta": dict(kind="bpe"),
    "gpt2": dict(kind="bpe"),
}
