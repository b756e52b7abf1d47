"""What the papers' own vocabularies decide on real text before any training, beside the reported results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typer import Argument

from studies.data.coverage import coverage, overlap_kinds
from studies.papers.printed import published
from studies.records.record import Record
from vocab_lit.methods.settings import find_recipe
from vocab_lit.text.corpus import read_lines, split_lines
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.vocab import Vocab, fit, overlap
from vocab_lit.vectors.token_vectors import encode_lines

if TYPE_CHECKING:
    import pandas as pd

EXTENDED_BY = 30_000  # tokens, FOCUS, Section 3.1
RARE = 10  # FOCUS, Appendix B: tokens that come up less often get no static vector
_UNSPACED = ("zh", "km")  # of these languages: words have no spaces between them

Metrics = Iterator[tuple[str, str, str, float | np.integer]]  # where in the paper, what of it, metric, value


@dataclass(frozen=True)
class Sides:
    "A source vocabulary, a target vocabulary and text in the target language."

    source: Vocab
    target: Vocab
    train: list[str]
    held_out: list[str]
    language: str

    @cached_property
    def shared(self) -> np.ndarray:  # (n_target,) bool
        return overlap(self.source, self.target) >= 0

    @cached_property
    def frequent(self) -> np.ndarray:  # (n_target,) bool
        ids = encode_lines(self.target, self.train)
        return np.bincount(ids[ids >= 0], minlength=len(self.target)) >= RARE


def fits(sides: Sides) -> Metrics:
    "The size of the target vocabulary, and how both tokenize held-out text."
    yield "", "", "tokens in the target vocabulary", len(sides.target)
    for name, vocab in (("source", sides.source), ("target", sides.target)):
        found = fit(vocab.own_tokenizer, sides.held_out)
        if sides.language not in _UNSPACED:
            yield "", name, "tokens per word", found.fertility
        yield "", name, "characters per token", found.chars_per_token
        yield "", name, "unknown tokens in the text, %", 100 * found.unk_rate


def unks(sides: Sides) -> Metrics:
    "Tables 1 and 6 of UNKs Everywhere."
    found = coverage(sides.source, sides.target)
    yield "Table 1", "", "unknown tokens, %", 100 * found["unknown share"]
    yield "Table 1", "", "lexical overlap, %", 100 * found["overlapping share"]
    for kind, share in overlap_kinds(sides.source, sides.target).items():
        yield "Table 6", str(kind), "share of the overlap, %", 100 * share


def focus(sides: Sides) -> Metrics:
    "Table 8 of FOCUS, and which embeddings are copied, combined and sampled."
    yield "Table 8", "", "tokens in the overlap, all", sides.shared.sum()
    yield "Table 8", "", "tokens in the overlap, minCount 10", (sides.shared & sides.frequent).sum()
    combined = ~sides.shared & sides.frequent
    rules = {"copied": sides.shared, "combined": combined, "sampled, rare": ~sides.shared & ~sides.frequent}
    for name, rows in rules.items():
        yield "Section 2", name, "share of the embeddings, %", 100 * rows.mean()
    if len(sides.target) == EXTENDED_BY:
        yield FOOTNOTE, "", "tokens in the extended vocabulary", len(sides.source) + (~sides.shared).sum()


def structure(sides: Sides) -> Metrics:
    "Which embeddings of Embedding Structure are copied, sampled by script and position, and sampled from N(0, 1)."
    made = find_recipe("reinit-script-posn-ident").plan(sides.source, sides.target).summary()
    for row in made.itertuples():
        yield "Section 3.2", str(row.step), "share of the embeddings, %", 100 * row.share


def wechsel(sides: Sides) -> Metrics:
    "What WECHSEL could copy, which it does not."
    yield "", "", "lexical overlap, %", 100 * sides.shared.mean()


@dataclass(frozen=True)
class Trial:
    "A paper's source tokenizer, and the target vocabularies that it trains."

    paper: str
    source: str
    size: int
    languages: str  # of the paper, with the texts that are at hand
    metrics: Callable[[Sides], Metrics]


TRIALS = (
    Trial(
        "unks-everywhere", "bert-base-multilingual-cased", 10_000, "ka ur hi mi gn sd myv bh wo am bo km dv si", unks
    ),
    Trial("focus", "xlm-roberta-base", 50_000, "de ar sw ha xh", focus),
    Trial("embedding-structure", "xlm-roberta-base", 32_770, "hy eu myv et he ru sme te", structure),
    Trial("wechsel", "roberta-base", 50_000, "fr de zh sw", wechsel),
    Trial("wechsel", "gpt2", 50_000, "sw su gd ug mg", wechsel),
)
_EMBEDDINGS = (  # paper, model, what its Section 1 says of the embeddings' share of the parameters
    ("embedding-structure", "xlm-roberta-base", {"parameters, million": 192, "share of the parameters, %": 69}),
    ("wechsel", "roberta-base", {"share of the parameters, %": 31}),
)
FOOTNOTE = "footnote 4"
_IN_TEXT = {  # what papers print outside their tables
    ("focus", "tokens in the extended vocabulary"): 273_000,
} | {(trial.paper, "tokens in the target vocabulary"): trial.size for trial in TRIALS}
TRAINED = "trained on the text"
TEXT_COLUMNS = ("paper", "source", "vocabulary", "language", "where", "of", "metric", "texts")
COLUMNS = [*TEXT_COLUMNS[:-1], "value", "printed", "texts", "MB"]
RECORD = Record("vocabularies.csv", (), tuple(COLUMNS))


@cache
def _vocab(folder: Path) -> Vocab:
    return Vocab.of(load_tokenizer(folder))


@dataclass(frozen=True)
class _Text:
    files: list[Path]

    @cached_property
    def parts(self) -> tuple[list[str], list[str]]:  # training and held-out lines
        return split_lines(read_lines(*self.files))

    @property
    def about(self) -> dict[str, Any]:
        return dict(texts=", ".join(path.stem for path in self.files), MB=self._size)

    @property
    def _size(self) -> float:
        return round(sum(path.stat().st_size for path in self.files) / 1e6, 2)


def _texts(folder: Path) -> dict[str, _Text]:
    found = {place.name: _Text(sorted(place.iterdir())) for place in sorted(folder.iterdir()) if place.is_dir()}
    if not found:
        raise ValueError(f"{folder}: no folder of text; give one for each language, named by its code")
    return found


def _rows(trial: Trial, source: Vocab, target: Vocab, language: str, text: _Text, vocabulary: str) -> list[dict]:
    train, held_out = text.parts
    sides = Sides(source, target, train, held_out, language)
    about = dict(paper=trial.paper, source=trial.source, vocabulary=vocabulary, language=language)
    measured = [*trial.metrics(sides), *fits(sides)]
    return [
        about | dict(where=where, of=of, metric=metric, value=value) | text.about
        for where, of, metric, value in measured
    ]


def _trained(trial: Trial, tokenizers: Path, texts: dict[str, _Text]) -> Iterator[dict]:
    source = _vocab(tokenizers / trial.source)
    for language in trial.languages.split():
        if text := texts.get(language):
            tokenizer = train_tokenizer_like(source.own_tokenizer, text.parts[0], trial.size, at_most=True)
            yield from _rows(trial, source, Vocab.of(tokenizer), language, text, TRAINED)


def _published(trial: Trial, tokenizers: Path, texts: dict[str, _Text]) -> Iterator[dict]:
    "The rows of target tokenizers that a paper's authors have published."
    for folder in sorted(tokenizers.glob(f"{trial.paper}/*/*")):
        language, source = folder.parent.name, _vocab(tokenizers / trial.source)
        if text := texts.get(language):
            yield from _rows(trial, source, _vocab(folder), language, text, f"the authors' {folder.name}")


def _parameter_rows(tokenizers: Path) -> Iterator[dict]:
    "How many parameters the token embeddings of the papers' models have, by the sizes of their vocabularies."
    import torch
    from transformers import AutoModelForMaskedLM, RobertaConfig, XLMRobertaConfig

    shapes = {"xlm-roberta-base": XLMRobertaConfig, "roberta-base": RobertaConfig}
    for paper, name, printed in _EMBEDDINGS:
        config = shapes[name](vocab_size=len(_vocab(tokenizers / name)), max_position_embeddings=514, type_vocab_size=1)
        with torch.device("meta"):
            model = AutoModelForMaskedLM.from_config(config)
        embeddings = model.get_input_embeddings().weight.numel()
        share = embeddings / sum(p.numel() for p in model.parameters())
        about = dict(paper=paper, source=name, where="Section 1", of="token embeddings")
        for metric, value in (("parameters, million", embeddings / 1e6), ("share of the parameters, %", 100 * share)):
            yield about | dict(metric=metric, value=value, printed=printed.get(metric))


def _printed(row: dict) -> float | None:
    "What a paper prints of a row."
    paper, metric = row["paper"], row["metric"]
    if row["where"].startswith("Table") and row["vocabulary"] == TRAINED:
        rows = published(paper, row["where"].split()[1])
        same = (rows.language == row["language"]) & (rows.metric == metric) & (rows.method.fillna("") == row["of"])
        return next(iter(rows[same].value), None)
    if row["vocabulary"] == TRAINED or row["where"] == FOOTNOTE:
        return _IN_TEXT.get((paper, metric))
    return None


def _correlations(rows: list[dict]) -> Iterator[dict]:
    "Figure 2 of UNKs Everywhere: its zero-shot F1 beside our shares, and beside its own of the same languages."
    three = published("unks-everywhere", "3a").query("setup == 'mean over 4 languages' and method == 'mBERT'")
    f1 = three.set_index("language").value
    whole = published("unks-everywhere", "F2").set_index("metric").value
    for short, metric in (("unknown tokens", "unknown tokens, %"), ("lexical overlap", "lexical overlap, %")):
        found = [row for row in rows if row["paper"] == "unks-everywhere" and row["metric"] == metric]
        scores = [f1[row["language"]] for row in found]
        about = dict(paper="unks-everywhere", source=found[0]["source"], vocabulary=TRAINED, where="Figure 2")
        about |= dict(metric=f"correlation of F1 and {short}", language=" ".join(row["language"] for row in found))
        for of, key in (("our shares", "value"), ("printed shares of these languages", "printed")):
            r = np.corrcoef(scores, [row[key] for row in found])[0, 1]
            yield about | dict(of=of, value=r, printed=whole[f"correlation of F1 and {short}"])


def measure(
    tokenizers: str | Path,  # a folder with one for each tokenizer
    texts: str | Path,  # a folder with one of text files for each language
) -> pd.DataFrame:  # the columns of COLUMNS
    "All numbers of the papers that follow from vocabularies and text alone, beside what is printed."
    import pandas as pd

    tokenizers, spoken = Path(tokenizers), _texts(Path(texts))
    if missing := [t.source for t in TRIALS if not (tokenizers / t.source).is_dir()]:
        raise ValueError(f"{tokenizers} has no folder {missing[0]}; it needs {', '.join({t.source for t in TRIALS})}")
    rows = [row for trial in TRIALS for made in (_trained, _published) for row in made(trial, tokenizers, spoken)]
    rows = [row | dict(printed=_printed(row)) for row in rows]
    rows += [*_correlations(rows), *_parameter_rows(tokenizers)]
    return pd.DataFrame(rows).drop_duplicates().reindex(columns=COLUMNS).round(dict(value=3))


def recorded() -> pd.DataFrame:
    "Return the bundled table."
    names = list(TEXT_COLUMNS)
    rows = RECORD.frame().astype(dict.fromkeys(names, object))
    return rows.fillna(dict.fromkeys(names, ""))


def main(
    tokenizers: Annotated[
        Path,
        Argument(
            help="Folder with one for each tokenizer, by its name on the Hub without the namespace; focus/LANGUAGE has "
            "those of FOCUS's authors."
        ),
    ],
    texts: Annotated[Path, Argument(help="Folder with one for each language, with files of text.")],
) -> None:
    """Measure what the papers' own vocabularies decide without training, and write data/vocabularies.csv.

    Example: `python -m studies trial vocabularies TOKENIZERS TEXTS`
    """
    RECORD.write(measure(tokenizers, texts).to_dict("records"))
    print("written:", RECORD.path())


def beside(
    rows: pd.DataFrame,  # from `recorded`
    paper: str,
    *metrics: str,
) -> pd.DataFrame:  # a row for each language and vocabulary, and metric by metric ours / the paper's
    "Numbers of a paper's vocabularies, ours and the printed one."
    chosen = rows[(rows.paper == paper) & rows.metric.isin(metrics)].copy()
    chosen["shown"] = [_told(row.value, row.printed) for row in chosen.itertuples()]
    chosen["column"] = [f"{row.metric}{f' ({row.of})' * bool(row.of)}" for row in chosen.itertuples()]
    chosen = chosen.drop_duplicates(["language", "source", "vocabulary", "column"])
    index = ["language", "source", "vocabulary"]
    table = chosen.pivot(index=index, columns="column", values="shown")
    return table.reindex(dict.fromkeys(chosen.column), axis=1).fillna("").rename_axis(columns=None)


def _told(value, printed):
    def number(v):
        return f"{v:,.0f}" if v >= 1000 else f"{v:.3g}"

    return number(value) if np.isnan(printed) else f"{number(value)} / {number(printed)}"
