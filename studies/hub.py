"""The papers' texts, treebanks, names, questions and pairs by name, from the Hugging Face Hub or from a mirror of it on this machine."""

import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from babel import Locale
from babel.core import get_global
from huggingface_hub import constants, try_to_load_from_cache

from vocab_lit.tasks.nli import Pair
from vocab_lit.tasks.parsing import Parsed
from vocab_lit.tasks.qa import Answer, Question
from vocab_lit.tasks.splits import hold_out
from vocab_lit.tasks.tagging import Tagged, read_bio, split_wikiann
from vocab_lit.text.corpus import capped, clean, mix
from vocab_lit.text.corpus import hold_out as hold_out_lines
from vocab_lit.text.extras import import_extra
from vocab_lit.text.settings import CleanSettings, first_line
from vocab_lit.tokens.tokenizer import hub_name


def cldr_code(language: str) -> str:
    "A language by CLDR's code; the papers have three letters for some that have a code of two, as `sme` for `se`."
    return {"sme": "se"}.get(language, language)


@dataclass(frozen=True)
class Source:
    "A data set of the Hugging Face Hub."

    name: str  # namespace/name
    task: str  # text, ner, pos (and trees), qa or nli
    config: str = "{language}"  # of one language
    revision: str | None = None  # branch; None: the newest
    # what training, development and test part are called; "": there is none
    splits: tuple[str, str, str] = ("train", "validation", "test")
    column: str = "text"  # of text, or of tags
    files: str = ""  # of one language in the repository, where its configuration has others too
    codes: Mapping[str, str] = field(default_factory=dict, repr=False)  # the set's own codes of languages
    only: tuple[str, ...] = ()  # languages; empty: many
    # languages of the papers that it lacks: the short name of a set that has them, or ""
    lacks: Mapping[str, str] = field(default_factory=dict, repr=False)
    note: str = ""  # what has to be known
    without: tuple[str, ...] = ()  # documents with one of these quality warnings, as OSCAR has them, are left out

    def of(self, pattern: str, language: str) -> str:
        "The name of a language's configuration or files; `ValueError` where the set has no such language."
        language = cldr_code(language)
        if language in self.lacks:
            raise ValueError(f"{self.name} has no {language}")
        if self.only and language not in self.only:
            raise ValueError(f"{self.name} has no {language}; it has {', '.join(self.only)}")
        return pattern.format(language=language, code=self.codes.get(language, language))


def _words(text):
    return text.split()


def _codes(text):  # of `code=the set's own`
    return dict(pair.split("=") for pair in _words(text))


_ISO3 = _codes(
    """
    af=afr am=amh ar=arb az=azj be=bel bg=bul bm=bam bn=ben bo=bod ca=cat ceb=ceb cs=ces cy=cym da=dan de=deu
    dv=div ee=ewe el=ell es=spa et=ekk eu=eus fa=fas fi=fin fr=fra ga=gle gd=gla gn=gug gu=guj ha=hau he=heb
    hi=hin hr=hrv ht=hat hu=hun hy=hye id=ind ig=ibo ilo=ilo is=isl it=ita ja=jpn jv=jav ka=kat kk=kaz km=khm
    kn=kan ko=kor ku=kmr ky=kir la=lat lb=ltz lg=lug lo=lao lt=lit lv=lvs mg=plt mi=mri mk=mkd ml=mal mn=khk
    mr=mar ms=zsm mt=mlt my=mya myv=myv nds=nds ne=npi nl=nld no=nob ny=nya or=ory pa=pan pl=pol ps=pbt pt=por
    qu=quy ro=ron ru=rus rw=kin sa=san sd=snd se=sme si=sin sk=slk sl=slv sm=smo sn=sna so=som sq=als sr=srp
    st=sot su=sun sv=swe sw=swh ta=tam te=tel tg=tgk th=tha ti=tir tk=tuk tl=fil tn=tsn tr=tur ug=uig uk=ukr
    ur=urd uz=uzn vi=vie wo=wol xh=xho yi=ydd yo=yor zh=cmn zu=zul
    """
)
_SCRIPTS = dict(zh="Hani", ko="Hang")  # where FineWeb-2 names a broader or narrower script than Unicode


def _with_script(language):
    return f"{_ISO3[language]}_{_SCRIPTS.get(language) or get_global('likely_subtags')[language].split('_')[1]}"


_MASAKHANER = dict(am="amh", ha="hau", ig="ibo", rw="kin", lg="lug", luo="luo", pcm="pcm", sw="swa", wo="wol", yo="yor")
_MASAKHANER2 = {
    **_MASAKHANER,
    **dict(
        bm="bam", bbj="bbj", ee="ewe", fon="fon", mos="mos", ny="nya", sn="sna", tn="tsn", tw="twi", xh="xho", zu="zul"
    ),
}
del _MASAKHANER2["am"]
_TREEBANKS = _codes(
    """
    hy=hy_armtdp eu=eu_bdt myv=myv_jr et=et_edt he=he_htb ru=ru_syntagrus se=sme_giella te=te_mtg fi=fi_tdt
    hu=hu_szeged en=en_ewt de=de_gsd fr=fr_gsd zh=zh_gsd
    ja=ja_gsd ar=ar_padt hi=hi_hdtb ur=ur_udtb bh=bho_bhtb wo=wo_wtb am=am_att
    """
)
_XQUAD = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
_XNLI = ("ar", "bg", "de", "el", "en", "es", "fr", "hi", "ru", "sw", "th", "tr", "ur", "vi", "zh")
_TYDIQA = ("ar", "bn", "en", "fi", "id", "ko", "ru", "sw", "te")  # its gold passages have no Japanese and no Thai
_IN_FINEWEB = dict(myv="fineweb-2", se="fineweb-2")  # where else the text of small languages is
_OSCAR = Source(
    "oscar-corpus/OSCAR-2301",
    "text",
    column="content",
    lacks=_IN_FINEWEB,
    files="{language}_meta/*.jsonl.zst",
    note="gated: agree to its terms on the Hub and log in; reading it needs the package zstandard. fineweb-2 is open",
)
PARQUET = "refs/convert/parquet"  # the Hub's own branch of tables


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "cc100": Source(
            "statmt/cc100",
            "text",
            revision=PARQUET,
            lacks=_IN_FINEWEB,
            note="large languages are cut off there; whole ones: data.statmt.org/cc-100/LANGUAGE.txt.xz",
        ),
        "fineweb-2": Source(
            "HuggingFaceFW/fineweb-2",
            "text",
            "{code}",
            codes={language: _with_script(language) for language in _ISO3},
            note="no English",
        ),
        "mc4": Source(
            "allenai/c4",
            "text",
            "multilingual",
            files="multilingual/c4-{language}.*.json.gz",
            lacks=_IN_FINEWEB,
        ),
        "oscar": _OSCAR,
        "oscar-filtered": replace(_OSCAR, without=("header", "footer", "noisy")),  # FOCUS, Appendix A
        "oscar-2201": Source(
            "oscar-corpus/OSCAR-2201",
            "text",
            column="content",
            lacks=_IN_FINEWEB,
            files="**/{language}_meta/*.jsonl.gz",
            note="gated: agree to its terms on the Hugging Face Hub and log in. fineweb-2 is open",
        ),
        "oscar-2019": Source(
            "oscar-corpus/oscar",
            "text",
            "unshuffled_deduplicated_{language}",
            PARQUET,
            lacks=_IN_FINEWEB,
            note="its tables on the Hugging Face Hub end after 5 GB of a language",
        ),
        "wikipedia": Source("wikimedia/wikipedia", "text", "20231101.{language}"),
        "wikiann": Source(
            "unimelb-nlp/wikiann",
            "ner",
            column="ner_tags",
            lacks=dict(myv="", se=""),
        ),
        "masakhaner": Source(
            "masakhane/masakhaner",
            "ner",
            "{code}",
            PARQUET,
            column="ner_tags",
            codes=_MASAKHANER,
            only=tuple(_MASAKHANER),
        ),
        "masakhaner2": Source(
            "masakhane/masakhaner2",
            "ner",
            "{code}",
            PARQUET,
            column="ner_tags",
            codes=_MASAKHANER2,
            only=tuple(_MASAKHANER2),
        ),
        "germeval14": Source("GermanEval/germeval_14", "ner", "germeval_14", PARQUET, column="ner_tags", only=("de",)),
        "universal-dependencies": Source(
            "commul/universal_dependencies",
            "pos",
            "{code}",
            "2.17",
            column="upos",
            codes=_TREEBANKS,
            only=tuple(_TREEBANKS),
        ),
        "xnli": Source("facebook/xnli", "nli", only=_XNLI),
        "squad": Source("rajpurkar/squad", "qa", "plain_text", splits=("train", "validation", ""), only=("en",)),
        "xquad": Source(
            "google/xquad",
            "qa",
            "xquad.{language}",
            splits=("", "", "validation"),
            only=_XQUAD,
            note="English training questions are SQuAD's",
        ),
        "tydiqa": Source(
            "google-research-datasets/tydiqa", "qa", "secondary_task", splits=("train", "", "validation"), only=_TYDIQA
        ),
        "germanquad": Source(
            "deepset/germanquad", "qa", "plain_text", PARQUET, splits=("train", "", "test"), only=("de",)
        ),
    }
)
MODELS: Mapping[str, str] = MappingProxyType(
    {
        "XLM-R": "FacebookAI/xlm-roberta-base",
        "mBERT": "google-bert/bert-base-multilingual-cased",
        "RoBERTa": "FacebookAI/roberta-base",
        "GPT-2": "openai-community/gpt2",
        "CamemBERT": "almanach/camembert-base",
        "GBERT_Base": "deepset/gbert-base",
        "BERT_Base-Chinese": "google-bert/bert-base-chinese",
    }
)  # of the papers
# models of one language that WECHSEL's are compared with (Table 2)
MONOLINGUAL: Mapping[str, str] = MappingProxyType({"fr": "CamemBERT", "de": "GBERT_Base", "zh": "BERT_Base-Chinese"})


def in_mirror(name: str) -> Path | None:  # the folder, None where there is none
    "The folder of a name in the local mirror of the Hub."
    root = os.environ.get("VOCAB_LIT_HUB")
    if root and not Path(root).is_dir():
        raise FileNotFoundError(f"VOCAB_LIT_HUB={root}: no such folder; make it, or unset the variable")
    return at if root and (at := Path(root, name)).is_dir() else None


def _downloaded(name, dataset):  # in the Hub's cache
    if not dataset:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    datasets = import_extra("datasets", "chapters")
    return (
        Path(datasets.config.HF_DATASETS_CACHE, name.replace("/", "___")).is_dir()
        or Path(constants.HF_HUB_CACHE, f"datasets--{name.replace('/', '--')}").is_dir()
    )


def where_is(
    name: str,  # namespace/name, or a folder
    dataset: bool = False,  # a data set; otherwise a model
) -> str:
    "Where a name would be taken from, as far as can be known without network."
    if Path(name).is_dir():
        return "folder"
    if in_mirror(name):
        return "mirror"
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name):
        return "missing"
    if _downloaded(name, dataset):
        return "downloaded before"
    return "nowhere: the Hub is switched off" if constants.HF_HUB_OFFLINE else "on the Hugging Face Hub, not looked up"


def _advice(name, more=""):  # what to do where a name is nowhere; more: options of the download
    root = os.environ.get("VOCAB_LIT_HUB")
    return (
        f"looked for in {f'the mirror {root}' if root else 'no mirror (VOCAB_LIT_HUB is not set)'}, among what was "
        "downloaded before, and on the Hub; where there is a network, run "
        f"`hf download {name}{more} --local-dir "
        f"{root or 'MIRROR'}/{name}`{'' if root else ', and set VOCAB_LIT_HUB to MIRROR'}"
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
            raise NoPart(
                f"{folder} has no {part} files of {language} (configuration {source.of(source.config, language)})"
            )
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
        raise ValueError(
            f"the data set {source.name} does not load for {language} ({why}): {_advice(source.name, more)}"
        ) from None


def get_source(name: str, task: str) -> Source:  # task: text, ner, pos, dp, qa or nli
    "A data set by its short name; `ValueError` where it is not one for the task."
    fitting = [n for n, s in SOURCES.items() if s.task == ("pos" if task == "dp" else task)]
    if name not in fitting:
        raise ValueError(
            f"no {'corpus' if task == 'text' else f'data set for {task}'} {name!r}; choose from {', '.join(fitting)}"
        )
    return SOURCES[name]


def source_for(name: str, task: str, language: str) -> Source:  # name and task as in `get_source`
    "The data set of a language: the one of that name, or the one that stands in where it lacks the language."
    source = get_source(name, task)
    stand_in = source.lacks.get(cldr_code(language))
    return SOURCES[stand_in] if stand_in else source


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

    def __iter__(self) -> Iterator[str]:
        lines = hub_lines(self.corpus, self.language, self.limit or None)
        english = dict(language_model=self.language_model, without_languages="en", confidence=0.9)
        how = CleanSettings(**english if self.language_model else {})
        return capped(clean(lines, how=how) if self.cleaned else lines, self.max_bytes or float("inf"))

    @property
    def files(self) -> list:  # of the mirror; empty where the text comes from the Hub
        source = source_for(self.corpus, "text", self.language)
        found = (folder := in_mirror(source.name)) and shards(folder, source, self.language, "train")
        return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in found or ()]


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


def _stored(lines, **what) -> StoredText:  # lines: a function that gives them; what: its arguments
    datasets = import_extra("datasets", "chapters")
    rows = datasets.Dataset.from_generator(
        lines, gen_kwargs=what, features=datasets.Features(text=datasets.Value("string"))
    )
    return StoredText(rows)


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
    found = [Tagged(*map(tuple, zip(*((w, t) for w, t in row if t != "_")))) for row in rows if row]
    if found and not isinstance(found[0].tags[0], str):
        raise ValueError(
            f"{column} has numbers without names; the shards have lost the list of their names (copy them from the "
            "hub again)"
        )
    return found


def _trees(data):
    found = []
    for row in data:
        tokens = zip(row["tokens"], row["head"], row["deprel"])
        tokens = [token for token in tokens if str(token[1]).isdigit()]  # without multi-word tokens
        if tokens:
            words, heads, relations = zip(*tokens)
            found.append(Parsed(words, tuple(map(int, heads)), relations))
    return found


def _questions(data, prefix=""):
    found = []
    for row in data:
        if str(row["id"]).startswith(prefix):
            answers = tuple(map(Answer, row["answers"]["text"], row["answers"]["answer_start"]))
            found.append(Question(str(row["id"]), row["question"], row["context"], answers))
    return found


def _pairs(data):
    names = data.features["label"].names
    return [Pair(r["premise"], r["hypothesis"], names[r["label"]]) for r in data if r["label"] >= 0]


DEFAULTS = {
    "pos": "universal-dependencies",
    "dp": "universal-dependencies",
    "ner": "wikiann",
    "qa": "xquad",
    "nli": "xnli",
}  # a task's data set where none is named


def hub_splits(
    task: str,  # pos, ner, dp, qa or nli
    language: str,  # as the data set has it; English questions of XQuAD have SQuAD's to train on
    name: str = "",  # a short name; "": the task's in `DEFAULTS`
    test_only: bool = False,  # leave training and development examples empty
    divide: bool = True,  # WikiANN: divide it anew
) -> tuple[list, list, list]:  # train, dev, test
    "A task's examples from the Hub or the mirror; `ValueError` where there are none for the language."
    source = get_source(name or DEFAULTS[task], task)
    if source is SOURCES["wikiann"] and (undivided := _undivided_wikiann(language)):
        train, dev, test = split_wikiann(read_bio(undivided))
        return ([], [], test) if test_only else (train, dev, test)
    read = _reader(source, task, language)

    def part(n, of=source):
        return read(load_part(of, language, of.splits[n])) if of.splits[n] else []

    if source is SOURCES["wikiann"] and divide:
        train, dev, test = split_wikiann([s for n in range(3) for s in part(n)])
        return ([], [], test) if test_only else (train, dev, test)
    if test_only:
        return [], [], part(2)
    english_questions = source is SOURCES["xquad"] and language == "en"
    trained_on = SOURCES["squad"] if english_questions else source
    train, dev = part(0, trained_on), []
    if trained_on.splits[1]:
        with suppress(NoPart):  # as in some treebanks
            dev = part(1, trained_on)
    if train and not dev:
        train, dev = hold_out(train, 300 if task in ("pos", "dp") else None)
    return train, dev, part(2)


def _undivided_wikiann(language) -> Path | None:  # the file of Pan et al. (2017), where the mirror has it
    folder = in_mirror(SOURCES["wikiann"].name)
    file = folder / f"wikiann-{cldr_code(language)}.bio" if folder else None
    return file if file and file.is_file() else None


def has_task(
    task: str,  # pos, ner, dp, qa or nli
    language: str,
    name: str = "",  # as in `hub_splits`
) -> bool:
    "Whether a task's data set has the language, as far as is known without network."
    source = get_source(name or DEFAULTS[task], task)
    if source is SOURCES["wikiann"] and _undivided_wikiann(language):
        return True
    try:
        source.of(source.config, language)
    except ValueError:
        return False
    return True


def _reader(source, task, language):  # of the examples of a part
    if task == "qa":
        several = source is SOURCES["tydiqa"] and language in source.only  # languages in one configuration
        return partial(_questions, prefix=f"{Locale('en').languages[language].lower()}-" if several else "")
    return {"nli": _pairs, "dp": _trees}.get(task) or partial(_tagged, column=source.column)


_MUSE = _words(
    """
    af ar bg bn bs ca cs da de el es et fa fi fr he hi hr hu id it ja ko lt lv mk ms nl no pl pt ro ru sk sl sq
    sv ta th tl tr uk vi zh
    """
)


def word_files(language: str) -> dict[str, str]:  # what it is to its address
    "Where vectors and dictionaries between English and a language can be downloaded."
    name = Locale("en").languages.get(language, "").lower().replace(" ", "_")
    vectors = "https://dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{}.300.bin.gz"
    found = {"vectors of English": vectors.format("en"), f"vectors of {language}": vectors.format(language)}
    if language in _MUSE:
        found["dictionary (MUSE)"] = f"https://dl.fbaipublicfiles.com/arrival/dictionaries/en-{language}.txt"
    if name:
        found["dictionary (WECHSEL's repository)"] = (
            f"https://raw.githubusercontent.com/CPJKU/wechsel/main/dicts/data/{name}.txt"
        )
    return found | {"dictionary (FreeDict)": "https://freedict.org/downloads/"}
