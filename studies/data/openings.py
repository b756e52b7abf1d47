"""One sentence that every reader knows, in the languages of the chapters, under vocabularies that people use.

    python -m studies.data.openings --vocabulary XLM-R=FOLDER --vocabulary mBERT=FOLDER --own sw=FOLDER ...

The record is `data/openings.json`: of each language the sentence and its tokens, by vocabulary. `--own` names a
tokenizer that was trained on one language. Chapters show it by `opening`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.vocab import Vocab

if TYPE_CHECKING:
    from IPython.display import HTML

TABLE = Path(__file__).parents[2] / "data" / "openings.json"
OWN = "a vocabulary of its own"
MEANING = "All human beings are born free and equal in dignity and rights."
# the Universal Declaration of Human Rights, Article 1, as the United Nations publish it
SENTENCES = {
    "am": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "en": MEANING,
    "et": "Kõik inimesed sünnivad vabadena ja võrdsetena oma väärikuselt ja õigustelt.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.",
    "hy": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
    "km": "មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។",
    "sw": "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa.",
    "te": "ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును నగుదురు.",
}
_UNKNOWN = "color: #c44e52; font-weight: bold"
_BOX = "border: 1px solid currentColor; border-radius: 4px; padding: 0 3px; margin: 1px; display: inline-block"


def tokens_of(
    folder: Path,  # of a tokenizer
    sentences: Mapping[str, str],  # by language
) -> dict[str, list[str]]:  # by language; ▁ where a word begins
    "The tokens that a tokenizer makes of sentences, as a reader sees them."
    tokenizer = load_tokenizer(folder)
    vocabulary = Vocab.from_tokenizer(tokenizer)
    ids = {language: tokenizer(text, add_special_tokens=False)["input_ids"] for language, text in sentences.items()}
    return {language: [vocabulary[id].shown for id in row] for language, row in ids.items()}


def opening(
    language: str,  # a code; nothing is shown of one that has no sentence
    *names: str,  # of vocabularies, in order; one that is not recorded for the language is left out
) -> HTML:
    "A sentence under vocabularies, a box around each token."
    from IPython.display import HTML

    record = json.loads(TABLE.read_text(encoding="utf-8")).get(language)
    if record is None:
        return HTML("")
    source = "Universal Declaration of Human Rights, Article 1"
    says = "" if language == "en" else f" “{MEANING}”"
    rows = [f"<p><b lang={language}>{escape(record['text'])}</b>{says} <small>({source})</small></p>"]
    words = len(record["text"].split())
    for name in names:
        if tokens := record["tokens"].get(name):
            rows.append(f"<p>{escape(name)}: {len(tokens)} tokens for {words} words<br>{_boxes(tokens, language)}</p>")
    return HTML("\n".join(['<div class="opening">', *rows, "</div>"]))


def _boxes(tokens: Sequence[str], language: str) -> str:
    boxes = []
    for token in tokens:
        style = f"{_BOX}; {_UNKNOWN}" if token in ("<unk>", "[UNK]") else _BOX
        boxes.append(f'<span lang={language} style="{style}">{escape(token)}</span>')
    return "".join(boxes)


def named_paths(pairs: Sequence[str]) -> dict[str, Path]:
    "Return files by name, from NAME=PATH of a command line."
    parts = (pair.split("=", 1) for pair in pairs)
    return {name: Path(path) for name, path in parts}


Named = Annotated[list[str], typer.Option(metavar="NAME=FOLDER", help="Tokenizer. May be repeated.")]


def main(vocabulary: Named, own: Annotated[list[str] | None, typer.Option(metavar="LANGUAGE=FOLDER")] = None) -> None:
    "Record the tokens of the sentences under vocabularies, and under those of single languages."
    made = {language: dict(text=text, tokens={}) for language, text in SENTENCES.items()}
    for name, folder in named_paths(vocabulary).items():
        for language, tokens in tokens_of(folder, SENTENCES).items():
            made[language]["tokens"][name] = tokens
    for language, folder in named_paths(own or ()).items():
        made[language]["tokens"][OWN] = tokens_of(folder, {language: SENTENCES[language]})[language]
    TABLE.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    typer.run(main)
