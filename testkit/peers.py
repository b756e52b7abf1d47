"""Packages that do the same work, each in an environment of its own, and what both sides of a comparison share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from testkit.process import Meter, Side

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def open_case(folder: Path) -> tuple:  # source and target tokenizer, source embeddings (n_source, dim)
    "Read the files that both sides of a transplant start from."
    from transformers import AutoTokenizer

    source, target = (AutoTokenizer.from_pretrained(folder / name) for name in ("old", "new"))
    return source, target, np.load(folder / "embeddings.npy")


def deepfocus(meter: Meter, folder: str, whole: bool = False) -> None:
    "FOCUS by its authors with the vectors in memory, or as a whole process from the folder of a model to a saved one."
    if whole:
        with meter:
            _deepfocus_process(Path(folder))
        return
    import deepfocus.focus as peer
    import fasttext
    import torch

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    vectors = fasttext.load_model(str(folder / "vectors.bin"))
    peer.load_target_token_embedding = lambda **options: vectors
    with meter:  # symbols as in the paper's Appendix B; the package's default leaves them out
        made = peer.FOCUS(
            target_tokenizer=new,
            source_tokenizer=old,
            source_embeddings=torch.from_numpy(embeddings),
            fasttext_model_path="loaded",
            match_symbols=True,
            verbosity="silent",
        )
    np.save(folder / "deepfocus.npy", made.numpy())


def _deepfocus_process(folder: Path) -> None:
    "As the package's page shows it."
    from deepfocus import FOCUS
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

    config = json.loads((folder / "model/config.json").read_text(encoding="utf-8"))
    masked = "MaskedLM" in config["architectures"][0]
    source, target = (AutoTokenizer.from_pretrained(folder / name) for name in ("model", "new"))
    model = (AutoModelForMaskedLM if masked else AutoModelForCausalLM).from_pretrained(folder / "model")
    made = FOCUS(
        target_tokenizer=target,
        source_tokenizer=source,
        source_embeddings=model.get_input_embeddings().weight,
        fasttext_model_path=str(folder / "vectors.bin"),
        match_symbols=True,
        verbosity="silent",
    )
    model.resize_token_embeddings(len(target))
    model.get_input_embeddings().weight.data = made
    model.save_pretrained(folder / "deepfocus")
    target.save_pretrained(folder / "deepfocus")


def wechsel(meter: Meter, folder: str) -> None:
    "WECHSEL by its authors, with the vectors in memory as on the other side."
    import fasttext
    from wechsel import WECHSEL

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    models = [fasttext.load_model(str(folder / f"{which}.bin")) for which in ("source", "target")]
    ngrams = (folder / "subwords").read_text() == "ngrams"
    with meter:
        aligned = WECHSEL(*models, bilingual_dictionary=str(folder / "pairs.txt"))
        made, info = aligned.apply(old, new, embeddings, use_subword_info=ngrams)
    np.save(folder / "wechsel.npy", made)
    told = {token: (list(tokens), np.asarray(sims).tolist()) for token, (tokens, _, sims) in info.sources.items()}
    (folder / "sources.json").write_text(json.dumps(told), encoding="utf-8")


MERGEKIT_METHODS = dict(subword="subword", omp="omp", mean="mean", pca="landmark_pca", near="common_interpolation")


def mergekit(meter: Meter, folder: str, methods: Sequence[str] = tuple(MERGEKIT_METHODS)) -> None:
    "Target embeddings by methods of mergekit's tokensurgeon, with static embeddings for those of the donor model."
    from types import SimpleNamespace

    import torch
    from mergekit.common import ModelReference
    from mergekit.scripts.tokensurgeon import ApproximationMethod, TokenSurgeonOptions, build_embedding_matrix
    from mergekit.tokenizer.normalization import normalized_vocabulary

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    donor, vocabs = torch.from_numpy(np.load(folder / "vectors.npy")), [normalized_vocabulary(t) for t in (old, new)]
    with meter:
        for name in methods:
            models = (ModelReference.model_validate(str(folder / which)) for which in ("old", "new"))
            asked = dict(zip(("model", "donor"), models)) | dict(out_path="", batch_size=512)
            options = TokenSurgeonOptions(**asked, method=ApproximationMethod(MERGEKIT_METHODS[name]))
            given = SimpleNamespace(name="embeddings"), torch.from_numpy(embeddings), donor, *vocabs
            made = build_embedding_matrix(*given, [], False, False, False, options)
            np.save(folder / f"mergekit-{name}.npy", made.numpy())


def trimmed_facts(out: Path) -> dict:
    "Embeddings and megabytes of a trimmed model in a folder."
    rows = json.loads((out / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    return dict(rows=rows, folder_mb=sum(file.stat().st_size for file in out.iterdir()) / 1e6)


def vocabtrimmer(meter: Meter, folder: str) -> dict:
    "A model trimmed to a text by vocabtrimmer, tokens that occur once included."
    folder = Path(folder)
    os.environ["HF_DATASETS_CACHE"] = str(folder / "cache")
    from vocabtrimmer import VocabTrimmer

    options = dict(dataset=str(folder / "text"), dataset_split="train", min_frequency=1, overwrite=True)
    options |= {f"cache_file_{what}": str(folder / f"cache/{what}.json") for what in ("vocab", "frequency")}
    with meter:
        VocabTrimmer(str(folder / "model")).trim_vocab("xx", str(folder / "vocabtrimmer"), **options)
    return trimmed_facts(folder / "vocabtrimmer")


def skeletoken(meter: Meter, folder: str) -> dict:
    "A model trimmed to a text by skeletoken."
    from skeletoken import TokenizerModel
    from skeletoken.external.transformers import reshape_embeddings
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    folder = Path(folder)
    model, out = folder / "model", folder / "skeletoken"
    with meter:
        tokenizer = AutoTokenizer.from_pretrained(model)
        lines = (folder / "text/train.txt").read_text(encoding="utf-8").splitlines()
        used = set(tokenizer.all_special_ids)
        for start in range(0, len(lines), 1000):
            used.update(*tokenizer(lines[start : start + 1000], add_special_tokens=False)["input_ids"])
        unused = [piece for piece, id in tokenizer.get_vocab().items() if id not in used]
        made = TokenizerModel.from_transformers_tokenizer(tokenizer).remove_tokens_from_vocabulary(unused)
        reshape_embeddings(AutoModelForMaskedLM.from_pretrained(model), made).save_pretrained(out)
        made.to_transformers().save_pretrained(out)
    return trimmed_facts(out)


def train_steps(meter: Meter, make: Callable[[], tuple], steps: int) -> tuple[dict, PreTrainedModel]:
    """Train the parameters that need a gradient with AdamW, in steps that are timed after one that is not.

    make: gives the model, and a function that gives the loss of a batch
    returns: CPU seconds of the quickest step, its operations and trainable parameters; the model
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    clock = []
    with meter:
        model, loss = make()
        trainable = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(trainable, 1e-4)

        def step():
            loss().backward()
            optimizer.step()
            optimizer.zero_grad()

        for _ in range(steps + 1):
            step()
            clock.append(time.process_time())
    with FlopCounterMode(display=False) as counter:
        step()
    gflop, trained = counter.get_total_flops() / 1e9, sum(p.numel() for p in trainable)
    return dict(cpu_seconds=float(np.diff(clock).min()), gflop=gflop, trained=trained), model


def adapter_batch(what: str, batch: int, length: int, n_tokens: int) -> dict:  # input_ids and labels (batch, length)
    "Random tokens, with the labels of MLM (what: language) or of tagging with 17 tags (what: task)."
    import torch

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, n_tokens, (batch, length), generator=generator)
    if what == "task":
        return dict(input_ids=ids, labels=ids % 17)
    return dict(input_ids=ids, labels=ids.where(torch.rand(ids.shape, generator=generator) < 0.15, -100))


def adapters(meter: Meter, what: str, steps: int, batch: int, length: int, shape: dict) -> dict:
    "A language adapter with an invertible one, or a task adapter on a frozen one, by AdapterHub's package."
    import adapters as peer
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertForTokenClassification

    torch.manual_seed(0)
    config = BertConfig(**shape, num_labels=17)
    inputs = adapter_batch(what, batch, length, config.vocab_size)

    def make():
        model = (BertForMaskedLM if what == "language" else BertForTokenClassification)(config)
        peer.init(model)
        model.add_adapter("lang", config=peer.SeqBnInvConfig(reduction_factor=2))
        if what == "language":
            model.train_adapter("lang")
            model.cls.requires_grad_(False)
        else:
            model.add_adapter("task", config=peer.SeqBnConfig(reduction_factor=16))
            model.train_adapter("task")
            model.set_active_adapters(peer.Stack("lang", "task"))
        model.train()
        return model, lambda: model(**inputs).loss

    return train_steps(meter, make, steps)[0]


@dataclass(frozen=True)
class Peer:
    "A package beside which this one is measured."

    run: Side
    packages: tuple[str, ...]  # what pip installs


PEERS = {
    "deepfocus": Peer(deepfocus, ("deepfocus==1.0.1",)),  # the authors of FOCUS
    "wechsel": Peer(wechsel, ("wechsel==0.0.4",)),  # the authors of WECHSEL
    # tokensurgeon needs none of the packages whose old versions it asks for
    "mergekit": Peer(mergekit, ("--no-deps", "mergekit==0.1.4")),
    "adapters": Peer(adapters, ("adapters==1.3.0", "transformers==4.57.6")),  # AdapterHub
    "vocabtrimmer": Peer(
        vocabtrimmer, ("vocabtrimmer==0.0.2", "transformers==4.57.6", "huggingface-hub<1", "datasets<5")
    ),
    "skeletoken": Peer(skeletoken, ("skeletoken==0.6.1",)),
}


def peer_python(name: str, folder: str | Path, install: bool = False) -> str | None:
    "The interpreter of the environment of a package of PEERS in a folder; make it, or None, where it is missing."
    home = Path(folder).absolute() / f"env-{name}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (home / "installed").is_file() and python.is_file():
        return str(python)
    if not install:
        return None
    # an environment without pip that sees the packages of this one
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", home], check=True)
    own = Path(sysconfig.get_path("purelib", "venv", dict(base=str(home), platbase=str(home))))
    base = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (own / "base.pth").write_text("\n".join(base) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *PEERS[name].packages], text=True, capture_output=True)
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["pip says nothing"])[-1]
        raise ValueError(f"{name} could not be installed in {home}: {message}")
    (home / "installed").touch()
    return str(python)
