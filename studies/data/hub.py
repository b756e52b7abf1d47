"""The papers' texts, treebanks, names, questions and pairs, from the Hugging Face Hub or a mirror of it."""

import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from babel import Locale
from huggingface_hub import constants, try_to_load_from_cache

from studies.data.hub_sources import DEFAULTS, PARQUET, SOURCES, Source, cldr_code, get_source, source_for
from studies.data.parsing import Parsed
from vocab_lit.tasks.pairs import Answer, Pair, Question
from vocab_lit.tasks.tagging import Tagged, read_bio
from vocab_lit.tasks.task import divide, hold_out
from vocab_lit.text.cleaning import clean
from vocab_lit.text.corpus import hold_out as hold_out_lines
from vocab_lit.text.corpus import limit_bytes, mix
from vocab_lit.text.errors import import_extra
from vocab_lit.text.files import hub_name, in_mirror
from vocab_lit.text.settings import CleanSettings, first_line


def _downloaded(name, dataset, wanted):  # in the Hub's cache
    if not dataset:
        return isinstance(try_to_load_from_cache(name, wanted), str)
    datasets = import_extra("datasets", "chapters")
    files = Path(constants.HF_HUB_CACHE, f"datasets--{name.replace('/', '--')}").rglob("*")  # some are of no data
    return Path(datasets.config.HF_DATASETS_CACHE, name.replace("/", "___")).is_dir() or any(map(_kind, files))


def where_is(
    name: str,  # namespace/name, or a folder
    dataset: bool = False,  # a data set; otherwise a model
    wanted: str = "config.json",  # a file of the model
) -> str:
    "Where a name would be taken from, as far as can be known without network."
    if Path(name).is_dir():
        return "folder"
    if in_mirror(name):
        return "mirror"
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name):
        return "missing"
    if _downloaded(name, dataset, wanted):
        return "downloaded before"
    return "nowhere: the Hub is switched off" if constants.HF_HUB_OFFLINE else "on the Hugging Face Hub, not looked up"


def _advice(name, more=""):  # what to do where a name is nowhere; more: options of the download
    root = os.environ.get("VOCAB_LIT_HUB")
    mirror = f"the mirror {root}" if root else "no mirror (VOCAB_LIT_HUB is not set)"
    command = f"`hf download {name}{more} --local-dir {root or 'MIRROR'}/{name}`"
    return (
        f"looked for in {mirror}, among what was downloaded before, and on the Hub; where there is a network, run "
        f"{command}{'' if root else ', and set VOCAB_LIT_HUB to MIRROR'}"
    )


def hub_model(name: str) -> str:  # a folder, or the name
    "The source of a model: its folder here or in the mirror, or its name where the Hub can be asked."
    if Path(name).exists():
        return name
    if at := in_mirror(name):
        return str(at)
    try:
        return hub_name(name)
    except FileNotFoundError as e:
        if not re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name):
            raise  # no name of the Hub
        raise FileNotFoundError(f"the model {name} is not there: {_advice(name)}") from e


_KINDS = {
    "parquet": (".parquet",),
    "json": (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".jsonl.zst"),
    "text": (".txt", ".txt.gz", ".txt.xz", ".txt.zst"),
}
_PARTS = ("train", "validation", "test")


def _kind(path):
    return next((kind for kind, ends in _KINDS.items() if path.name.endswith(ends)), None)


def _names(part, path):
    return re.search(rf"(^|[/_.-]){part}([/_.-]|$)", path)


def shards(
    folder: Path,  # of a data set, as the Hub serves it
    source: Source,
    language: str,
    part: str,  # train, validation or test
) -> list[Path]:  # empty: there are none
    "The files of one part of a data set that is here."
    root, found = _files_below(folder, source, language)
    named = {path: str(path.relative_to(root)) for path in found if _kind(path)}
    of_part = [path for path, name in named.items() if _names(part, name)]
    if of_part or part != "train":
        return of_part
    return [path for path, name in named.items() if not any(_names(other, name) for other in _PARTS)]


def _files_below(folder, source, language):  # a configuration's folder, and its files
    if source.files:
        return folder, sorted(folder.glob(source.of(source.files, language)))
    config = source.of(source.config, language)
    places = [folder / config, folder / "data" / config]
    places += [folder] * ("{" not in source.config)  # a single configuration may lack a folder of its own
    root = next((place for place in places if place.is_dir()), None)
    if root is None:
        return folder, sorted(folder.glob(f"{config}.*"))
    return root, [path for path in sorted(root.rglob("*")) if path.is_file()]


def _check_whole(path):  # or say what is wrong
    if _kind(path) != "parquet":
        return
    import pyarrow.parquet

    try:
        pyarrow.parquet.read_metadata(path)
    except (OSError, ValueError) as e:
        raise ValueError(f"{path} is damaged ({first_line(e)}); copy it from the Hugging Face Hub again") from None


def _on_hub(source, language, part):  # arguments of load_dataset
    config, revision = source.of(source.config, language), (source.revision or "main").replace("/", "%2F")
    at = f"hf://datasets/{source.name}@{revision}/"
    if source.files:
        return dict(path="json", data_files={part: at + source.of(source.files, language)})
    if source.revision == PARQUET:
        return dict(path="parquet", data_files={part: f"{at}{config}/*{part}/*.parquet"})
    return dict(path=source.name, name=config, revision=source.revision)


class NoPart(ValueError):
    "A data set has no such part."


def load_part(
    source: Source,
    language: str,
    part: str,  # train, validation or test
    streaming: bool = False,
):
    "One part of a data set, as `datasets` gives it; `ValueError` where it is not there."
    datasets = import_extra("datasets", "chapters")
    if folder := in_mirror(source.name):
        files = shards(folder, source, language, part)
        if not files:
            config = source.of(source.config, language)
            raise NoPart(f"{folder} has no {part} files of {language} (configuration {config})")
        for f in files:
            _check_whole(f)
        what = dict(path=_kind(files[0]), data_files={part: [str(f) for f in files]})
    else:
        what = _on_hub(source, language, part)
    try:
        return datasets.load_dataset(split=part, streaming=streaming, **what)
    except (OSError, ValueError, datasets.exceptions.DatasetGenerationError) as e:
        why = first_line(e.__cause__ or e)
        if why.startswith("Unknown split"):
            raise NoPart(f"{source.name} has no {part} part for {language}") from None
        if folder:
            raise ValueError(f"the {part} files of {language} in {folder} do not load: {why}") from None
        asked = source.of(source.files or f"*{source.config}/*", language)
        more = f" --repo-type dataset{f' --revision {source.revision}' if source.revision else ''} --include '{asked}'"
        problem = f"the data set {source.name} does not load for {language} ({why})"
        raise ValueError(f"{problem}: {_advice(source.name, more)}") from None


def hub_lines(
    corpus: str,  # a short name
    language: str,
    limit: int | None = None,  # how many lines to read; all of them where it is None
) -> Iterator[str]:  # lines without surrounding white space; blank ones are left out
    "Stream lines of a corpus."
    source, n = source_for(corpus, "text", language), 0
    for row in load_part(source, language, "train", streaming=True):
        warnings = (row.get("metadata") or {}).get("quality_warnings") or ()
        if set(warnings) & set(source.without):
            continue
        for line in filter(None, map(str.strip, row["text" if "text" in row else source.column].splitlines())):
            if n == limit:
                return
            yield line
            n += 1


@dataclass(frozen=True)
class HubText:
    "Which lines of a corpus are read; they are streamed as often as they are asked for."

    corpus: str  # a short name
    language: str
    limit: int = 0  # lines to read at most; 0: all
    max_bytes: int = 0  # of the lines that are left; 0: all
    cleaned: bool = False  # leave out what is no sentence, and copies (Downey et al., 2023, Appendix A)
    # cleaned: fastText's file for identifying languages, with which lines that are English with 90 % are left out
    language_model: str = ""

    @property
    def cleaning(self) -> CleanSettings:
        "Which lines are left out where the text is cleaned."
        english = dict(language_model=self.language_model, without_languages="en", confidence=0.9)
        return CleanSettings(**english if self.language_model else {})

    def __iter__(self) -> Iterator[str]:
        lines = hub_lines(self.corpus, self.language, self.limit or None)
        lines = clean(lines, how=self.cleaning) if self.cleaned else lines
        return limit_bytes(lines, self.max_bytes or float("inf"))

    @property
    def files(self) -> list:  # of the mirror; empty where the text comes from the Hub
        source = source_for(self.corpus, "text", self.language)
        paths = (folder := in_mirror(source.name)) and shards(folder, source, self.language, "train")
        return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in paths or ()]


class StoredText(Sequence):
    "Lines in a file of the cache, read as they are asked for."

    def __init__(self, rows):
        self.rows = rows  # a data set with a column `text`

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self.rows[at]["text"]

    def __iter__(self) -> Iterator[str]:
        for batch in self.rows.iter(1000):
            yield from batch["text"]

    def __repr__(self) -> str:
        return f"StoredText of {len(self):,} lines"

    @property
    def name(self) -> str:
        "Which tells one text from another."
        return self.rows._fingerprint

    def beside(self, name: str) -> Path:
        "A file of this name beside the text's own."
        return Path(self.rows.cache_files[0]["filename"]).with_name(name)


def _stored(lines, **what) -> StoredText:  # lines: a function that yields them; what: its arguments
    datasets = import_extra("datasets", "chapters")
    features = datasets.Features(text=datasets.Value("string"))
    return StoredText(datasets.Dataset.from_generator(lines, gen_kwargs=what, features=features))


def _training_rows(text, files, held_out, seed):  # files: so that another mirror is another text
    rest, _ = hold_out_lines(HubText(**text), most=held_out, seed=seed)
    yield from ({"text": line} for line in rest)


def stored_text(
    text: HubText,
    held_out: int = 2000,  # lines at most
    seed: int = 0,  # of the lines that are held out
) -> tuple[StoredText, list[str]]:  # training lines, held-out lines
    "The lines of a corpus, with some held out, in the cache."
    _, aside = hold_out_lines(text, most=held_out, seed=seed)
    if not aside:
        n = sum(1 for _ in islice(text, 1000))
        raise ValueError(f"{n} lines of {text.language} leave none to evaluate on; give more")
    found = _stored(_training_rows, text=asdict(text), files=text.files, held_out=held_out, seed=seed)
    return found, aside


def _mixed_rows(texts, seed, cap):
    yield from ({"text": line} for line in mix(texts, seed=seed, cap=cap))


def stored_mix(
    texts: Mapping[str, StoredText],  # by language
    seed: int = 0,
    cap: int = 0,  # bytes of each; 0: all
) -> StoredText:
    "Lines sampled from several texts, as `mix` does, in the cache."
    return _stored(_mixed_rows, texts=dict(texts), seed=seed, cap=cap or None)


class Sample:
    "A part of a text for a vocabulary, sampled line by line when it is first read."

    def __init__(
        self,
        text: Iterable[str],
        whole_up_to: int = 0,  # bytes of a text that is read whole; 0: any text
        max_bytes: int = 0,  # of a larger one's sample, about
        lines: int = 0,  # lines from the start, instead; 0: no limit
        seed: int = 0,
    ):
        self.text, self.whole_up_to, self.max_bytes, self.lines, self.seed = text, whole_up_to, max_bytes, lines, seed
        self._share = None

    def _of_all(self) -> float:  # the share of lines that is taken
        if self._share is None:
            size = sum(len(line.encode()) for line in self.text) if self.whole_up_to else 0
            self._share = self.max_bytes / size if size > self.whole_up_to else 1.0
        return self._share

    def __iter__(self) -> Iterator[str]:
        share, draw = self._of_all(), random.Random(self.seed)
        lines = self.text if share == 1 else (line for line in self.text if draw.random() < share)
        return islice(lines, self.lines or None)


def _tagged(data, column):
    names = getattr(getattr(data.features[column], "feature", None), "names", None)
    rows = ([(w, t if names is None else names[t]) for w, t in zip(r["tokens"], r[column])] for r in data)
    examples = [Tagged(*map(tuple, zip(*((w, t) for w, t in row if t != "_")))) for row in rows if row]
    if examples and not isinstance(examples[0].tags[0], str):
        hint = "the shards have lost the list of their names (copy them from the hub again)"
        raise ValueError(f"{column} has numbers without names; {hint}")
    return examples


def _trees(data):
    examples = []
    for row in data:
        tokens = zip(row["tokens"], row["head"], row["deprel"])
        tokens = [token for token in tokens if str(token[1]).isdigit()]  # without multi-word tokens
        if tokens:
            words, heads, relations = zip(*tokens)
            examples.append(Parsed(words, tuple(map(int, heads)), relations))
    return examples


def _questions(data, prefix):
    def question(row):
        answers = tuple(map(Answer, row["answers"]["text"], row["answers"]["answer_start"]))
        return Question(str(row["id"]), row["question"], row["context"], answers)

    return [question(row) for row in data if str(row["id"]).startswith(prefix)]


def _pairs(data):
    names = data.features["label"].names
    return [Pair(r["premise"], r["hypothesis"], names[r["label"]]) for r in data if r["label"] >= 0]


def split_wikiann(
    sentences: list[Tagged], seed: int = 0
) -> tuple[list[Tagged], list[Tagged], list[Tagged]]:  # train, dev, test
    "Random 85/5/10% with at least 256 dev and 512 test sentences; `ValueError` where too few are left to train on."
    n_dev, n_test = max(256, round(0.05 * len(sentences))), max(512, round(0.1 * len(sentences)))
    if len(sentences) - n_dev - n_test < 256:
        needed = f"{n_dev} of development, {n_test} of test and as many as 256 to train on"
        raise ValueError(f"{len(sentences)} sentences are too few for {needed}")
    dev, test, train = divide(sentences, seed, n_dev, n_test)
    return train, dev, test


def development_size(
    task: str,
    n: int,  # training examples
) -> int:
    "Return how many are held out where a data set has no development part: 300 trees, or a tenth (FOCUS, Section 3.3)."
    return 300 if task in ("pos", "dp") else max(1, n // 10)


def hub_splits(
    task: str,  # pos, ner, dp, qa or nli
    language: str,  # as the data set has it; English questions of XQuAD have SQuAD's to train on
    name: str = "",  # a short name; "": the task's in `DEFAULTS`
    test_only: bool = False,  # leave training and development examples empty
    divide: bool = True,  # WikiANN: divide it anew
) -> tuple[list, list, list]:  # train, dev, test
    "A task's examples from the Hub or the mirror; `ValueError` where there are none for the language."
    source = get_source(name or DEFAULTS[task], task)
    undivided = undivided_wikiann(language) if source is SOURCES["wikiann"] else None
    if undivided or (source is SOURCES["wikiann"] and divide):
        parts = [read_bio(undivided)] if undivided else [_part(source, task, language, n) for n in range(3)]
        train, dev, test = split_wikiann([sentence for part in parts for sentence in part])
        return ([], [], test) if test_only else (train, dev, test)
    test = _part(source, task, language, 2)
    if test_only:
        return [], [], test
    english_questions = source is SOURCES["xquad"] and language == "en"
    trained_on = SOURCES["squad"] if english_questions else source
    train, dev = _part(trained_on, task, language, 0), []
    with suppress(NoPart):  # as in some treebanks
        dev = _part(trained_on, task, language, 1)
    if train and not dev:
        train, dev = hold_out(train, development_size(task, len(train)))
    return train, dev, test


def _part(source, task, language, n):  # examples of the n-th split
    if not source.splits[n]:
        return []
    rows = load_part(source, language, source.splits[n])
    if task == "qa":
        several = source is SOURCES["tydiqa"] and language in source.only  # languages in one configuration
        return _questions(rows, f"{Locale('en').languages[language].lower()}-" if several else "")
    return _tagged(rows, source.column) if task in ("pos", "ner") else {"nli": _pairs, "dp": _trees}[task](rows)


def undivided_wikiann(language: str) -> Path | None:
    "The file of Pan et al. (2017), which has more languages than WikiANN on the Hub; None where the mirror lacks it."
    folder = in_mirror(SOURCES["wikiann"].name)
    file = folder / f"wikiann-{cldr_code(language)}.bio" if folder else None
    return file if file and file.is_file() else None
