"""The papers' data sets and models by name, on the Hugging Face Hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from babel import Locale
from babel.core import get_global


def cldr_code(language: str) -> str:
    "A language by CLDR's code; the papers have three letters for some that have a code of two, as `sme` for `se`."
    return {"sme": "se"}.get(language, language)


_FEW = 25  # languages that an error names one by one


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
    cut: tuple[str, ...] = ()  # languages of which the Hub's tables have the first 5 GB
    whole: str = ""  # where the whole text of a language is, with {code} for its code

    def of(self, pattern: str, language: str) -> str:
        "The name of a language's configuration or files; `ValueError` where the set has no such language."
        language = cldr_code(language)
        if language in self.lacks:
            raise ValueError(f"{self.name} has no {language}")
        if self.only and language not in self.only:
            has = ", ".join(self.only) if len(self.only) <= _FEW else f"{len(self.only)} other languages"
            raise ValueError(f"{self.name} has no {language}; it has {has}")
        return pattern.format(language=language, code=self.codes.get(language, language))

    def cut_off(self, language: str) -> str:
        "What has to be known of a language whose tables on the Hub end early; empty where they are whole."
        if language not in self.cut:
            return ""
        code, told = self.codes.get(language, language), f"the Hub's tables of {language} end after their first 5 GB"
        return f"{told}; {self.whole.format(code=code)}" if self.whole else told


def _codes(text):  # of `code=the set's own`
    return dict(pair.split("=") for pair in text.split())


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


_IN_BOTH = "ha=hau ig=ibo rw=kin lg=lug luo=luo pcm=pcm sw=swa wo=wol yo=yor"
_MASAKHANER = _codes(f"am=amh {_IN_BOTH}")
_MASAKHANER2 = _codes(f"{_IN_BOTH} bm=bam bbj=bbj ee=ewe fon=fon mos=mos ny=nya sn=sna tn=tsn tw=twi xh=xho zu=zul")
_TREEBANKS = _codes(
    """
    hy=hy_armtdp eu=eu_bdt myv=myv_jr et=et_edt he=he_htb ru=ru_syntagrus se=sme_giella te=te_mtg fi=fi_tdt
    hu=hu_szeged en=en_ewt de=de_gsd fr=fr_gsd zh=zh_gsd
    ja=ja_gsd ar=ar_padt hi=hi_hdtb ur=ur_udtb bh=bho_bhtb wo=wo_wtb am=am_att
    """
)
_XQUAD = "ar de el en es hi ro ru th tr vi zh"
_XNLI = "ar bg de el en es fr hi ru sw th tr ur vi zh"
_TYDIQA = "ar bn en fi id ko ru sw te"  # its gold passages have no Japanese and no Thai
# the 176 configurations of the Hub's WikiANN, without names that are no codes of languages
_WIKIANN = """
    ace af als am an ang ar arc arz as ast ay az ba bar bat-smg be be-x-old bg bh bn bo br bs ca cbk-zam cdo ce ceb
    ckb co crh cs csb cv cy da de diq dv el eml en eo es et eu ext fa fi fiu-vro fo fr frr fur fy ga gan gd gl gn gu
    hak he hi hr hsb hu hy ia id ig ilo io is it ja jbo jv ka kk km kn ko ksh ku ky la lb li lij lmo ln lt lv map-bms
    mg mhr mi min mk ml mn mr ms mt mwl my mzn nap nds ne nl nn no nov oc or os pa pdc pl pms pnb ps pt qu rm ro ru rw
    sa sah scn sco sd sh si simple sk sl so sq sr su sv sw szl ta te tg th tk tl tr tt ug uk ur uz vec vep vi vls vo wa
    war wuu xmf yi yo zea zh zh-classical zh-min-nan zh-yue
"""
_CC100 = """
    af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa ff fi fr fy ga gd gl gn gu ha he hi hr ht hu hy id
    ig is it ja jv ka kk km kn ko ku ky la lg li ln lo lt lv mg mk ml mn mr ms my ne nl no ns om or pa pl ps pt qu rm ro
    ru sa sc sd si sk sl so sq sr ss su sv sw ta te th tl tn tr ug uk ur uz vi wo xh yi yo zh zu
"""
_CUT_CC100 = "ar bg da de el en es fa fi fr he hr hu id it ja ko nl no pl pt ro ru sk sv th tr uk vi zh"
_IN_FINEWEB = dict(myv="fineweb-2", se="fineweb-2")  # where else the text of small languages is
PARQUET = "refs/convert/parquet"  # the Hub's own branch of tables


def _set(task, name, only="", **more):
    return Source(name, task, only=tuple(only.split()), **more)


def _names(name, only, **more):
    return _set("ner", name, only, revision=PARQUET, column="ner_tags", **more)


_OSCAR = dict(column="content", lacks=_IN_FINEWEB)
_OSCAR_2301 = _set(
    "text",
    "oscar-corpus/OSCAR-2301",
    **_OSCAR,
    files="{language}_meta/*.jsonl.zst",
    note="gated: agree to its terms on the Hub and log in; reading it needs the extra text. fineweb-2 is open",
)
SOURCES: Mapping[str, Source] = {
    "cc100": _set(
        "text",
        "statmt/cc100",
        _CC100,
        config="{code}",
        revision=PARQUET,
        lacks=_IN_FINEWEB,
        codes=dict(zh="zh-Hans"),
        cut=tuple(_CUT_CC100.split()),
        whole="all of it is https://data.statmt.org/cc-100/{code}.txt.xz, for the folder statmt/cc100 of a mirror",
    ),
    "fineweb-2": _set(
        "text",
        "HuggingFaceFW/fineweb-2",
        config="{code}",
        codes={language: _with_script(language) for language in _ISO3},
        note="no English",
    ),
    "mc4": _set(
        "text", "allenai/c4", config="multilingual", files="multilingual/c4-{language}.*.json.gz", lacks=_IN_FINEWEB
    ),
    "oscar": _OSCAR_2301,
    "oscar-filtered": replace(_OSCAR_2301, without=("header", "footer", "noisy")),  # FOCUS, Appendix A
    "oscar-2201": _set(
        "text",
        "oscar-corpus/OSCAR-2201",
        **_OSCAR,
        files="**/{language}_meta/*.jsonl.gz",
        note="gated: agree to its terms on the Hugging Face Hub and log in. fineweb-2 is open",
    ),
    "oscar-2019": _set(
        "text",
        "oscar-corpus/oscar",
        config="unshuffled_deduplicated_{language}",
        revision=PARQUET,
        lacks=_IN_FINEWEB,
        note="its tables on the Hugging Face Hub end after 5 GB of a language",
    ),
    "wikipedia": _set("text", "wikimedia/wikipedia", config="20231101.{language}"),
    "wikiann": _set("ner", "unimelb-nlp/wikiann", _WIKIANN, column="ner_tags"),
    "masakhaner": _names("masakhane/masakhaner", " ".join(_MASAKHANER), config="{code}", codes=_MASAKHANER),
    "masakhaner2": _names("masakhane/masakhaner2", " ".join(_MASAKHANER2), config="{code}", codes=_MASAKHANER2),
    "germeval14": _names("GermanEval/germeval_14", "de", config="germeval_14"),
    "universal-dependencies": _set(
        "pos",
        "commul/universal_dependencies",
        " ".join(_TREEBANKS),
        config="{code}",
        revision="2.17",
        column="upos",
        codes=_TREEBANKS,
    ),
    "xnli": _set("nli", "facebook/xnli", _XNLI),
    "squad": _set("qa", "rajpurkar/squad", "en", config="plain_text", splits=("train", "validation", "")),
    "xquad": _set(
        "qa",
        "google/xquad",
        _XQUAD,
        config="xquad.{language}",
        splits=("", "", "validation"),
        note="English training questions are SQuAD's",
    ),
    "tydiqa": _set(
        "qa", "google-research-datasets/tydiqa", _TYDIQA, config="secondary_task", splits=("train", "", "validation")
    ),
    "germanquad": _set(
        "qa", "deepset/germanquad", "de", config="plain_text", revision=PARQUET, splits=("train", "", "test")
    ),
}
MODELS: Mapping[str, str] = {  # of the papers
    "XLM-R": "FacebookAI/xlm-roberta-base",
    "mBERT": "google-bert/bert-base-multilingual-cased",
    "RoBERTa": "FacebookAI/roberta-base",
    "GPT-2": "openai-community/gpt2",
    "CamemBERT": "almanach/camembert-base",
    "GBERT_Base": "deepset/gbert-base",
    "BERT_Base-Chinese": "google-bert/bert-base-chinese",
}
# models of one language that WECHSEL's are compared with (Table 2)
MONOLINGUAL: Mapping[str, str] = {"fr": "CamemBERT", "de": "GBERT_Base", "zh": "BERT_Base-Chinese"}
DEFAULTS = {  # a task's data set where none is named
    "pos": "universal-dependencies",
    "dp": "universal-dependencies",
    "ner": "wikiann",
    "qa": "xquad",
    "nli": "xnli",
}


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


_MUSE = """
    af ar bg bn bs ca cs da de el es et fa fi fr he hi hr hu id it ja ko lt lv mk ms nl no pl pt ro ru sk sl sq
    sv ta th tl tr uk vi zh
"""
# the languages of fastText's vectors of Common Crawl
_CRAWLED = """
    af als am an ar arz as ast az azb ba bar bcl be bg bh bn bo bpy br bs ca ce ceb ckb co cs cv cy da de diq dv el eml
    en eo es et eu fa fi fr frr fy ga gd gl gom gu gv he hi hif hr hsb ht hu hy ia id ilo io is it ja jv ka kk km kn ko
    ku ky la lb li lmo lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne new nl nn no nso oc or
    os pa pam pfl pl pms pnb ps pt qu rm ro ru sa sah sc scn sco sd sh si sk sl so sq sr su sv sw ta te tg th tk tl tr
    tt ug uk ur uz vec vi vls vo wa war xmf yi yo zea zh
"""


def word_files(language: str) -> dict[str, str]:  # what it is to its address
    "Where vectors and dictionaries between English and a language can be downloaded; what is nowhere is left out."
    name = quote(Locale("en").languages.get(language, "").lower())
    vectors = "https://dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{}.300.bin.gz"
    addresses = {"vectors of English": vectors.format("en")}
    if language in _CRAWLED.split():
        addresses[f"vectors of {language}"] = vectors.format(language)
    if language in _MUSE.split():
        addresses["dictionary (MUSE)"] = f"https://dl.fbaipublicfiles.com/arrival/dictionaries/en-{language}.txt"
    if name:
        addresses["dictionary (WECHSEL's repository)"] = (
            f"https://raw.githubusercontent.com/CPJKU/wechsel/main/dicts/data/{name}.txt"
        )
    return addresses | {"dictionary (FreeDict)": "https://freedict.org/downloads/"}
