"""Which languages, corpora, data sets and amounts of text each paper uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PaperText:
    "What a paper reads. Zero stands for no limit."

    corpus: str = "cc100"  # a short name, as in the notebook on the Hub
    others: Mapping[str, str] = field(default_factory=dict)  # of single languages
    max_bytes: Mapping[str, int] = field(default_factory=dict)  # of single languages
    sizes: Mapping[str, int] = field(
        default_factory=dict
    )  # bytes of text of single languages, as the paper prints them
    mixed_bytes: int = 0  # of each language, where there are several
    cleaned: bool = False  # by Appendix A of Downey et al. (2023)
    without_english: tuple[str, ...] = ()  # languages from whose text English lines are left out
    # of the text that a vocabulary and auxiliary embeddings are trained on
    whole_up_to: int = 0  # bytes of a text that is taken whole
    sample_bytes: int = 0  # of a larger one's sample, about
    mixed_lines: int = 0  # where there are several languages
    # passes of fastText over it, of single languages; of others as many as the library trains
    vector_epochs: Mapping[str, int] = field(default_factory=dict)

    def corpus_of(self, language: str) -> str:
        return self.others.get(language, self.corpus)


def _gigabytes(**sizes: float) -> dict[str, int]:  # of languages
    return {language: round(size * 10**9) for language, size in sizes.items()}


GIB = 2**30
_WECHSEL_LARGE = ("de", "fr", "zh")
_WECHSEL_SMALL = {code: round(n * GIB) for code, n in dict(sw=1.6, su=0.1, gd=0.1, ug=0.4, mg=0.2).items()}  # Section 4
# Embedding Structure, Table 5: of a language's text after it was cleaned; OSCAR has a hundred times as much Russian
_CLEANED = _gigabytes(hy=1.2, eu=0.35, myv=0.006, et=3.0, fi=9.1, he=7.7, hu=13.0, ru=10.0, sme=0.004, se=0.004, te=0.9)
PAPER_TEXT: Mapping[str, PaperText] = {
    "focus": PaperText(
        others=dict(lb="oscar-filtered", ceb="oscar-filtered", sm="mc4", hmn="mc4"),
        sizes=_gigabytes(de=18, ar=5.4, sw=0.3, ha=0.06, xh=0.03),  # Table 1
        vector_epochs=dict(de=1),  # Appendix B
    ),
    "embedding-structure": PaperText(
        "oscar-2201",
        max_bytes=_CLEANED,
        sizes=_CLEANED,
        mixed_bytes=2 * 10**9,
        cleaned=True,
        without_english=("myv", "sme", "se"),  # Erzya and North Sámi
        whole_up_to=10**9,
        sample_bytes=250 * 10**6,
        mixed_lines=5_000_000,
    ),
    "mad-x": PaperText("wikipedia"),
    "unks-everywhere": PaperText("wikipedia"),
    "wechsel": PaperText(
        others=dict.fromkeys(_WECHSEL_LARGE, "oscar-2019"),
        max_bytes=dict.fromkeys(_WECHSEL_LARGE, 4 * GIB),
        sizes=dict.fromkeys(_WECHSEL_LARGE, 4 * GIB) | _WECHSEL_SMALL,
    ),
}


def paper_of(preset: str) -> str:  # of `scale_lapt`, as wechsel-gpt2 or mad-x-adapter
    "The paper that a preset belongs to."
    return next((paper for paper in PAPER_TEXT if preset == paper or preset.startswith(f"{paper}-")), preset)


Parameters = Mapping[str, str | int]  # of a chapter, by name
_MIXED = "hy+eu+myv+et+he+ru+sme+te"  # Table 3
_TREES = "seen: hi ur; covered script: bh myv wo; new script: am"
PAPER_PARAMETERS: dict[str, Parameters] = {
    "focus": dict(compare="de ar sw xh ha gd lb ceb sm hmn", seeds=1, task_seeds=5),  # Table 4; Section 3.3
    "embedding-structure": dict(
        compare=_MIXED.replace("+", " "), mixed=_MIXED, family="myv+et+fi+hu+sme+ru", seeds=4
    ),  # Tables 1, 3 and 8
    "mad-x": dict(
        kinds="high resource: en ja zh ar; low resource: jv sw is my; not seen: qu cdo ilo xmf; "
        "not seen, truly low resource: mi mhr tk gn",
        question_source="en",
        questions="en ar de el es hi ru th tr vi zh",
        vocabulary="none",
        seeds=5,
    ),  # Tables 1 and 3
    "unks-everywhere": dict(
        sources="en zh ja ar",
        targets="seen: ka ur hi; covered script: cdo mi ilo gn xmf sd myv bh wo; new script: am bo km dv si",
        tree_sources="en zh ja ar",
        exchange_targets="none",  # all targets are
        tree_targets=_TREES,
        source_adapters="AdapterHub/bert-base-multilingual-cased-{language}-wiki_pfeiffer",  # Section 4.3
        seeds=5,
    ),  # Tables 1, 3 and 9
    "wechsel": dict(medium="fr de zh sw", low="su gd ug mg", seeds=3),  # Section 4; Appendix G
}
MINI_PARAMETERS: dict[str, Parameters] = {
    "focus": dict(compare="sw et uk ne am km", seeds=2, task_seeds=1),
    "embedding-structure": dict(compare="et hy te", mixed="et+he+ru+hy+te", family="fi+ru+et+hu", seeds=1),
    "mad-x": dict(
        kinds="high resource: en; seen: fi hi; not seen: sw; script not seen: am km",
        question_source="en",
        questions="en fi hi sw am",
        vocabulary="am km",
        seeds=1,
    ),
    "unks-everywhere": dict(
        sources="en ar",
        targets="seen: ka; covered script: et; new script: am km",
        tree_sources="qaa",
        exchange_targets="seen: tr; covered script: uk",
        tree_targets="seen: qab; covered script: qal; new script: qka",
        source_adapters="none",
        seeds=1,
    ),
    "wechsel": dict(medium="de zh sw", low="gd mg", seeds=1),
}


PAPER_DATA: Mapping[tuple[str, str], Mapping[str, str]] = {  # of a paper and a task, by language; "": of the others
    ("focus", "qa"): {"de": "germanquad", "": "tydiqa"},  # Section 3.3
    ("focus", "ner"): {
        "de": "wikiann germeval14",
        "sw": "wikiann masakhaner2",
        "ha": "masakhaner2",
        "xh": "masakhaner2",
        "": "wikiann",
    },  # Table 3
}


def data_set(
    paper: str,
    task: str,
    language: str,
    given: str = "",  # short names of others
) -> str:  # short names with blanks between them; "": the task's usual one
    "The data sets of a task that a paper has for a language."
    by_language = PAPER_DATA.get((paper, task), {})
    return given or by_language.get(language, by_language.get("", ""))


def on_data_sets(task: str, names: str) -> list[str]:  # such as ner:wikiann; of one data set or none, the task itself
    "A task on each of several data sets, which `Setup.splits`, `Setup.has_task` and `Setup.tasks` know by these names."
    several = names.split()
    return [f"{task}:{name}" for name in several] if len(several) > 1 else [task]


def task_and_set(
    named: str,  # as `on_data_sets` has it
    names: Mapping[str, str],  # short names of data sets by task, with blanks between them
) -> tuple[str, str]:  # the task, and the short name of its data set or ""
    "The task and the data set that a name stands for; of several the first where it names none."
    task, _, name = named.partition(":")
    return task, name or next(iter(names.get(task, "").split()), "")


_MAY_BE_NONE = {  # parameters by chapter; what another names has to be there
    "mad-x": ("vocabulary",),
    "unks-everywhere": ("exchange_targets", "tree_sources", "tree_targets", "source_adapters"),
}


def scale_parameters(
    chapter: str,  # such as mad-x
    scale: str,  # mini, paper or custom, which has mini's
    **given: str | int,  # parameters of the chapter; "" or 0: the scale's; "none": nothing
) -> Parameters:
    "Parameters of a chapter, with those of the scale where nothing is given; `ValueError` of one that cannot be none."
    for name in given:
        if given[name] == "none" and name not in _MAY_BE_NONE.get(chapter, ()):
            raise ValueError(f"{name} none: the chapter {chapter} needs some; leave it out, or name others")
    usual = (PAPER_PARAMETERS if scale == "paper" else MINI_PARAMETERS).get(chapter, {})
    chosen = {name: value or usual.get(name, value) for name, value in given.items()}
    return {name: "" if value == "none" else value for name, value in chosen.items()}


def languages_by_kind(said: str) -> dict[str, str]:  # the kind of each language
    "Languages that are written by kind, as `seen: ka ur; new script: am`."
    kinds = [part.partition(":") for part in said.split(";") if part]
    return {language: kind.strip() for kind, _, languages in kinds for language in languages.split()}
