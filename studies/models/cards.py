"""The page of a bundled source model: what it is, what it read and what it can do."""

from __future__ import annotations

from dataclasses import asdict

from studies.models.recipes import TOKENIZERS, ModelRecipe
from testkit.constructed import LANGUAGES

_CARD = """# {name}

A small {what} language model for learning how vocabulary transfer works. It is not meant for any other use.

- **Architecture**: {like}, {layers} layers of {dim}, {heads} heads, feed-forward {feed_forward}, {length} positions,
  tied embeddings, {parameters:,} parameters; weights stored in half precision, loaded in single precision.
- **Tokenizer**: {tokenizer}, {vocab_size:,} tokens.
- **Text**: {text}{departure}
- **Training**: {steps:,} steps of {batch_size} x {length} tokens, {asking}, AdamW, peak rate {learning_rate}, warm-up
  and linear decay, no dropout, seed {seed}. `training.csv` holds the loss curve.
- **Made by**: {made_by}

Loss in nats per {asked} on held-out {heldout} (`heldout.json`; a uniform guess costs {uniform:.2f}):

| language | loss |
|---|---|
{rows}

The last {n_unseen} were not in training; the model reads them with its own tokenizer. {unknown}
"""
_DEPARTURE = """
- **Departure from {original}**: {pair_share:.0%} of the blocks hold translation pairs (translation language modelling,
  as in XLM)."""
_WITH_UNKNOWN = (
    "Unknown tokens are not asked for, so the loss of a language whose script the tokenizer lacks is only that of "
    "its digits and punctuation."
)
_WITHOUT_UNKNOWN = (
    "No token is unknown: a word that the vocabulary lacks is tokenized into subwords, down to single bytes, and each "
    "is asked for."
)
_LIKE = {  # by architecture: the bundled model, the original, its class and its tokenizer
    "xlm-roberta": (
        "mini-xlmr",
        "XLM-R",
        "XLMRobertaForMaskedLM",
        "SentencePiece Unigram with XLM-R's special tokens, every digit a token of its own",
    ),
    "bert": ("mini-mbert", "multilingual BERT", "BertForMaskedLM", "cased WordPiece with BERT's special tokens"),
    "roberta": (
        "mini-roberta",
        "RoBERTa",
        "RobertaForMaskedLM",
        "byte-level BPE with RoBERTa's special tokens and a space before the first word",
    ),
    "gpt2": (
        "mini-gpt2",
        "GPT-2",
        "GPT2LMHeadModel",
        "byte-level BPE with GPT-2's special token and a space before the first word",
    ),
}
_PHRASEBOOK = (
    "the `vocab_lit` phrasebook, rendered from the Unicode CLDR through Babel: lists of facts about territories, "
    "languages, currencies, dates and measures in "
)


def _worlds_described(recipe):
    "The text of each world in words."
    cldr = [code for code in recipe["locales"] if code not in LANGUAGES]
    made = [code for code in recipe["locales"] if code in LANGUAGES]
    frames = recipe["frames"]
    if cldr == ["en"]:
        yield f"{_PHRASEBOOK}English, {2 * frames:,} frames"
    elif cldr:
        yield f"{_PHRASEBOOK}{len(cldr)} languages ({' '.join(cldr)}), {frames:,} frames each, English twice as many"
    if made:
        languages = f"each of {len(made)} languages ({' '.join(made)})"
        yield f"the constructed world of `vocab_lit`, {recipe['events']:,} sentences in {languages}"


def _text_described(record):
    "What the model has read."
    recipe = record["recipe"]
    if "sources" not in record:
        return "; ".join(_worlds_described(recipe)) + ". No text written by people."
    languages = f"{len(recipe['locales'])} languages ({' '.join(recipe['locales'])})"
    return f"{languages}, sampled with alpha {recipe['alpha']:g}. {record['sources']}"


def training_command(name):
    return f"python -m studies model --model {name}"


def _made_by(record, name):
    "The command, and what it took."
    if "sources" not in record:
        english = len(record["recipe"]["locales"]) == 1
        took = "a quarter of an hour" if english else "half an hour"
        return f"`{training_command(name)} --out DIR` (or `make mini-model`), about {took} on one CPU core."
    run = record["run"]
    versions = ", ".join(f"{package} {number}" for package, number in run["versions"].items())
    return (
        f"`{training_command(name)} --text FOLDER --out DIR`; {run['tokens'] / 1e6:,.1f} million tokens in "
        f"{run['seconds']:,} seconds on {run['machine']}, {run['date']} ({versions})."
    )


def model_card(record: dict) -> str:  # Markdown
    "The model card that goes with the stored model."
    recipe = asdict(ModelRecipe()) | record["recipe"]  # older records lack what was the default
    record = record | {"recipe": recipe}
    name, original, kind, tokenizer = _LIKE[recipe["architecture"]]
    is_causal, is_field = recipe["architecture"] == "gpt2", "sources" in record
    asking = "every token asked for from those before it" if is_causal else f"masking {recipe['mask_probability']:.0%}"
    if recipe["causal_steps"]:
        asking += f" (and {recipe['causal_steps']:,} steps before them that predict the next token)"
    departure = _DEPARTURE.format(**recipe, original=original) if recipe["pair_share"] and not is_field else ""
    name = "field-xlmr" if is_field else name
    has_bytes = TOKENIZERS[recipe["architecture"]]["kind"] == "bpe"
    losses = {**record["source"], **record["unseen"]}
    languages = "multilingual" if len(recipe["locales"]) > 1 else "monolingual"
    return _CARD.format(
        **recipe,
        name=name,
        like=f"{original.removeprefix('multilingual ')}'s (`{kind}`)",
        tokenizer=tokenizer,
        text=_text_described(record),
        made_by=_made_by(record, name),
        heldout="lines" if is_field else "frames",
        n_unseen=len(record["unseen"]),
        parameters=record["parameters"],
        uniform=record["uniform"],
        what=f"{languages} {'causal' if is_causal else 'masked'}",
        asking=asking,
        asked="token" if is_causal else "masked token",
        departure=departure,
        unknown=_WITHOUT_UNKNOWN if has_bytes else _WITH_UNKNOWN,
        rows="\n".join(f"| {code} | {loss:.2f} |" for code, loss in losses.items()),
    )
