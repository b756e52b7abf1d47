"""A folder with the configurations, parts, columns and gating of the Hub's data sets, and a few made rows in each.

    python -m studies.tests.fake_hub DIR        then: VOCAB_LIT_HUB=DIR HF_HUB_OFFLINE=1 python -m studies chapter ...

What the Hub has is written down here by itself, from the data sets' own pages, so that `studies.data.hub_sources` can
be wrong about it. Models have two layers.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path

import yaml
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Sequence as Many
from gensim.models.fasttext import FastText, save_facebook_model
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    CamembertConfig,
    CamembertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from testkit.phrasebook import dictionary, lines
from vocab_lit.models.adapterhub import save_adapter
from vocab_lit.models.madx import LANGUAGE, MadX
from vocab_lit.text.corpus import data_path

HUB = {name: words.split() for name, words in yaml.safe_load(Path(__file__).with_name("hub.yml").read_text()).items()}
NAMES = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]
MANY, FEW = (300, 300, 430), (40, 12, 24)  # sentences of training, development and test part
DIVIDED = ["de", "et", "eu", "fi", "he", "hu", "hy", "ru", "te"]  # have many, since some of these are divided anew
ARTICLE = 8  # sentences of one
LONG, SHORT = 144, 32  # tokens a model takes: more than the 128 that windows of questions share; in batches of 512
_SPLITS = ("train", "validation", "test")


def _names(n: int) -> Dataset:
    features = Features(tokens=Many(Value("string")), ner_tags=Many(ClassLabel(names=NAMES)))
    # all alike, so that a model learns them at once or not at all, and few epochs are enough
    return Dataset.from_dict({"tokens": [["Asha", "yupo", "hapa"]] * n, "ner_tags": [[1, 0, 0]] * n}, features)


def _trees(n: int) -> Dataset:
    rows = dict(tokens=["Asha", "yupo"], upos=["PROPN", "VERB"], head=["2", "0"], deprel=["nsubj", "root"])
    return Dataset.from_dict({column: [value] * n for column, value in rows.items()})


def _pairs(n: int) -> Dataset:
    kinds = ClassLabel(names=["entailment", "neutral", "contradiction"])
    features = Features(premise=Value("string"), hypothesis=Value("string"), label=kinds)
    made = dict(premise=["Asha yupo hapa"] * n, hypothesis=["Asha yupo"] * n, label=[i % 3 for i in range(n)])
    return Dataset.from_dict(made, features)


def _questions(ids: Iterable[str]) -> Dataset:
    ids = list(ids)
    answers = [dict(text=["Asha"], answer_start=[0])] * len(ids)
    made = dict(id=ids, title=["t"] * len(ids), context=["Asha yupo hapa"] * len(ids), question=["Nani?"] * len(ids))
    return Dataset.from_dict(made | dict(answers=answers))


class FakeHub:
    "The Hub in a folder."

    def __init__(self, root: Path):
        self.root = Path(root)

    def shard(self, rows: Dataset, at: str) -> Path:
        "Write a table as a shard."
        path = self.root / at
        path.parent.mkdir(parents=True, exist_ok=True)
        rows.to_parquet(path)
        return path

    def configurations(self, name: str, codes: Iterable[str], pattern: str = "{}") -> None:
        "What a data set's own page says of its configurations; `pattern` is the folder of one."
        told = [dict(config_name=code, data_files=f"{pattern.format(code)}/*.parquet") for code in codes]
        page = self.root / name / "README.md"
        page.write_text(f"---\n{yaml.safe_dump(dict(configs=told))}---\n", encoding="utf-8")

    def everywhere(self, rows: Dataset, name: str, pattern: str, configurations: Iterable[str]) -> None:
        "The same shard for many configurations, of which a hub of made rows needs no copies."
        first = self.shard(rows, f"{name}/.made/{len(rows)}-{pattern.format('x').replace('/', '-')}")
        for configuration in configurations:
            path = self.root / name / pattern.format(configuration)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(first)

    def parts(self, make, sizes: tuple[int, int, int], name: str, pattern: str, configurations: Iterable[str]) -> None:
        "A training, a development and a test part for many configurations; `pattern` has {split} and {}."
        for split, n in zip(_SPLITS, sizes):
            if n:
                self.everywhere(make(n), name, pattern.replace("{split}", split), configurations)

    def texts(self) -> None:
        "The corpora."
        text = lines("sw", 400, seed=0)
        rows = Dataset.from_dict(dict(id=[str(i) for i in range(len(text))], text=text))
        self.everywhere(rows, "statmt/cc100", "{}/train/0000.parquet", HUB["cc100"])
        self.everywhere(rows, "HuggingFaceFW/fineweb-2", "data/{}/train/000_00000.parquet", HUB["fineweb-2"])
        said = iter(lines("sw", ARTICLE * len(text), seed=1))
        articles = [" ".join(islice(said, ARTICLE)) for _ in text]
        whole = Dataset.from_dict(dict(id=[str(i) for i in range(len(text))], text=articles))
        self.everywhere(whole, "wikimedia/wikipedia", "20231101.{}/train-00000-of-00001.parquet", HUB["wikipedia"])
        self.configurations("HuggingFaceFW/fineweb-2", HUB["fineweb-2"], "data/{}/train")
        self.configurations("wikimedia/wikipedia", [f"20231101.{code}" for code in HUB["wikipedia"]])
        old = [f"unshuffled_deduplicated_{code}" for code in HUB["oscar-2201"]]
        self.everywhere(rows, "oscar-corpus/oscar", "{}/partial-train/0000.parquet", old)
        documents = [dict(content=line, metadata=dict(quality_warnings=None)) for line in text]
        self.compressed(
            documents, "oscar-corpus/OSCAR-2201", "compressed/{0}_meta/{0}_meta_part_1.jsonl.gz", HUB["oscar-2201"]
        )
        self.zstandard(documents, "oscar-corpus/OSCAR-2301", "{0}_meta/{0}_meta_part_1.jsonl.zst", HUB["oscar-2301"])
        c4 = [dict(text=line, url="u") for line in text]
        self.compressed(c4, "allenai/c4", "multilingual/c4-{}.tfrecord-00000-of-00001.json.gz", HUB["mc4"])

    def compressed(self, rows: Iterable[Mapping], name: str, pattern: str, configurations: Iterable[str]) -> None:
        "The same file of JSON lines, by gzip, for many configurations."
        data = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
        self._files(data, name, pattern, configurations)

    def zstandard(self, rows: Iterable[Mapping], name: str, pattern: str, configurations: Iterable[str]) -> None:
        "The same file of JSON lines, by Zstandard, for many configurations."
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        data = zstd.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
        self._files(data, name, pattern, configurations)

    def _files(self, data: bytes, name: str, pattern: str, configurations: Iterable[str]) -> None:
        for configuration in configurations:
            path = self.root / name / pattern.format(configuration)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def tasks(self) -> None:
        "The data sets of tasks."
        others = [code for code in HUB["wikiann"] if code not in DIVIDED]
        for sizes, codes in ((MANY, DIVIDED), (FEW, others)):
            self.parts(_names, sizes, "unimelb-nlp/wikiann", "{}/{split}-00000-of-00001.parquet", codes)
        self.parts(_names, FEW, "masakhane/masakhaner", "{}/{split}/0000.parquet", HUB["masakhaner"])
        self.parts(_names, FEW, "masakhane/masakhaner2", "{}/{split}/0000.parquet", HUB["masakhaner2"])
        self.parts(_names, FEW, "GermanEval/germeval_14", "{}/{split}/0000.parquet", ["germeval_14"])
        whole = [code for code in HUB["treebanks"] if code not in HUB["treebanks without a training part"]]
        at = ("commul/universal_dependencies", "{}/{split}-00000-of-00001.parquet")
        undeveloped = ["myv_jr"]  # of whose training part 300 sentences are held out
        self.parts(_trees, (340, 0, 24), *at, undeveloped)
        self.parts(_trees, FEW, *at, [code for code in whole if code not in undeveloped])
        self.parts(_trees, (0, 0, 24), *at, HUB["treebanks without a training part"])
        self.parts(_pairs, FEW, "facebook/xnli", "{}/{split}-00000-of-00001.parquet", HUB["xnli"])
        self.configurations("unimelb-nlp/wikiann", HUB["wikiann"])
        self.configurations("commul/universal_dependencies", HUB["treebanks"])
        self.configurations("facebook/xnli", HUB["xnli"])
        self.questions()

    def questions(self) -> None:
        "The data sets of questions."
        numbered = [str(i) for i in range(40)]
        for split in ("train", "validation"):
            self.shard(_questions(numbered), f"rajpurkar/squad/plain_text/{split}-00000-of-00001.parquet")
        configurations = [f"xquad.{code}" for code in HUB["xquad"]]
        self.everywhere(_questions(numbered), "google/xquad", "{}/validation-00000-of-00001.parquet", configurations)
        self.configurations("rajpurkar/squad", ["plain_text"])
        self.configurations("google/xquad", configurations)
        spoken = [f"{language}--{i}" for language in HUB["tydiqa"] for i in range(40)]
        for split in ("train", "validation"):
            at = f"google-research-datasets/tydiqa/secondary_task/{split}-00000-of-00001.parquet"
            self.shard(_questions(spoken), at)
        self.configurations("google-research-datasets/tydiqa", ["secondary_task"])
        for split in ("train", "test"):
            self.shard(_questions(numbered), f"deepset/germanquad/plain_text/{split}/0000.parquet")

    def words(self) -> None:
        "What a reader of WECHSEL downloads by hand: vectors of English, and a dictionary."
        pairs = [(english, own) for english, own in dictionary("en", "sw") if " " not in english + own]
        (self.root / "dictionary.txt").write_text("".join(f"{a} {b}\n" for a, b in pairs), encoding="utf-8")
        said = [line.lower().split() for line in lines("en", 1000, seed=0)]
        english = FastText(said, vector_size=300, bucket=500, min_count=1)
        save_facebook_model(english, str(self.root / "cc.en.300.bin"))

    def models(self) -> None:
        "The papers' models, with two layers and the vocabularies of the bundled ones."
        small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=1, intermediate_size=64)
        masked = dict(small, max_position_embeddings=514)
        made = {
            "FacebookAI/xlm-roberta-base": ("mini-xlmr", LONG, XLMRobertaConfig, XLMRobertaForMaskedLM),
            "FacebookAI/roberta-base": ("mini-roberta", SHORT, RobertaConfig, RobertaForMaskedLM),
            "almanach/camembert-base": ("mini-roberta", SHORT, CamembertConfig, CamembertForMaskedLM),
            "google-bert/bert-base-multilingual-cased": ("mini-mbert", LONG, BertConfig, BertForMaskedLM),
            "deepset/gbert-base": ("mini-mbert", SHORT, BertConfig, BertForMaskedLM),
            "google-bert/bert-base-chinese": ("mini-mbert", SHORT, BertConfig, BertForMaskedLM),
        }
        for name, (bundled, length, config, model) in made.items():
            tokenizer = AutoTokenizer.from_pretrained(data_path("models", bundled), model_max_length=length)
            special = dict(pad_token_id=tokenizer.pad_token_id, vocab_size=len(tokenizer))
            model(config(**masked, **special)).save_pretrained(self.root / name)
            tokenizer.save_pretrained(self.root / name)
        self.adapters()
        tokenizer = AutoTokenizer.from_pretrained(data_path("models", "mini-gpt2"), model_max_length=SHORT)
        ends = dict(bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id)
        shape = GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, n_positions=512, **ends)
        GPT2LMHeadModel(shape).save_pretrained(self.root / "openai-community/gpt2")
        tokenizer.save_pretrained(self.root / "openai-community/gpt2")

    def adapters(self) -> None:
        "The published language adapters of multilingual BERT."
        madx = MadX(BertForMaskedLM.from_pretrained(self.root / "google-bert/bert-base-multilingual-cased"))
        for code in HUB["adapters of mBERT"]:
            madx.add_language(code, replace(LANGUAGE, activation="gelu"))
            save_adapter(
                madx, "language", code, self.root / f"AdapterHub/bert-base-multilingual-cased-{code}-wiki_pfeiffer"
            )


def make(root: Path) -> FakeHub:
    "Make the whole hub."
    hub = FakeHub(root)
    hub.texts()
    hub.tasks()
    hub.words()
    hub.models()
    return hub


if __name__ == "__main__":
    make(Path(sys.argv[1]))
