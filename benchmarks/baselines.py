"""What is measured of a piece of work, and how another package does the same work in an environment of its own."""

import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import resource
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def _memory() -> tuple[float, float]:  # resident now and at the most, in MB
    try:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    except OSError:  # no Linux; the peak is then that of the whole process
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        return peak, peak
    return int(status["VmRSS"].split()[0]) / 2**10, int(status["VmHWM"].split()[0]) / 2**10


class Meter:
    "Measures what is done inside `with`."

    def __enter__(self):
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what is free counts as new when it is used again
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now
        self.record, self.before, self.start = {}, _memory()[0], (time.perf_counter(), time.process_time())
        return self

    def __exit__(self, *_):
        seconds, cpu = (now - then for now, then in zip((time.perf_counter(), time.process_time()), self.start))
        peak = _memory()[1]
        self.record = dict(cpu_seconds=cpu, seconds=seconds, extra_mb=peak - self.before, peak_mb=peak)


def measure(
    side: Callable[..., dict | None],  # takes a meter, under which it does its work, and the arguments
    arguments: dict,  # what it works on
    warm_up: dict | None = None,  # arguments of a smaller run before, which loads and compiles what is needed once
) -> dict:  # cpu_seconds, seconds, extra_mb, peak_mb, and the facts that the side tells
    "Run one side in this process."
    gc.freeze()  # what is there already need not be looked through each time
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if warm_up:
                side(Meter(), **warm_up)
            facts = side(meter := Meter(), **arguments) or {}
    finally:
        gc.unfreeze()
    return meter.record | facts


def apart(
    side: str,  # "benchmarks.bench.focus", or the name of a function in this module
    arguments: dict,
    warm_up: dict | None = None,
    python: str = sys.executable,  # another interpreter, for another package
    threads: str = "1",  # empty: as many as it takes
    exact: bool = False,  # glibc gives back at once what is freed; for memory that is counted, at some cost in time
) -> dict:
    "Run one side in a process of its own; `ValueError` with the last line of its error."
    more = (
        {"TQDM_DISABLE": "1"}
        | ({"OMP_NUM_THREADS": threads} if threads else {})
        | ({"MALLOC_MMAP_THRESHOLD_": "262144"} if exact else {})
    )
    import benchmarks.baselines  # also where this cell runs in its notebook

    done = subprocess.run(
        [python, "-P", "-W", "ignore", benchmarks.baselines.__file__, side, json.dumps([arguments, warm_up])],
        text=True,
        capture_output=True,
        env=os.environ | more,
    )
    if done.returncode:
        message = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise ValueError(f"{side} failed with {arguments}: {message}")
    return json.loads(done.stdout.splitlines()[-1])


def _main() -> None:
    module, _, name = sys.argv[1].rpartition(".")
    side = getattr(importlib.import_module(module), name) if module else globals()[name]
    print(f"\n{json.dumps(measure(side, *json.loads(sys.argv[2])))}")


PEERS = {  # {package: what pip installs}
    "deepfocus": ["deepfocus==1.0.1"],  # the authors of FOCUS
    "wechsel": ["wechsel==0.0.4"],  # the authors of WECHSEL
    "adapters": ["adapters==1.3.0", "transformers==4.57.6"],  # AdapterHub
    "vocabtrimmer": ["vocabtrimmer==0.0.2", "transformers==4.57.6", "huggingface-hub<1"],
    "skeletoken": ["skeletoken==0.6.1"],
}


def peer_python(
    name: str,  # a package of PEERS
    folder: str | Path,  # where the environments are
    install: bool = False,  # whether to make the environment where it is missing
) -> str | None:  # an interpreter that has the package; None: there is none
    "Find the environment of another package, or make it."
    home = Path(folder).absolute() / f"env-{name}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (home / "installed").is_file() and python.is_file():
        return str(python)
    if not install:
        return None
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", home], check=True)
    paths = dict(base=str(home), platbase=str(home))
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    (site / "base.pth").write_text(
        "\n".join(dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))) + "\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", *PEERS[name]],
        text=True,
        capture_output=True,
    )
    if done.returncode:
        raise ValueError(
            f"{name} could not be installed in {home}: {(done.stderr.strip().splitlines() or ['pip says nothing'])[-1]}"
        )
    (home / "installed").touch()
    return str(python)


def open_case(folder: Path) -> tuple:  # old and new tokenizer, old embeddings (n_old, dim)
    "What both sides of a transplant start from."
    from transformers import AutoTokenizer

    return *(AutoTokenizer.from_pretrained(folder / name) for name in ("old", "new")), np.load(
        folder / "embeddings.npy"
    )


def deepfocus(meter: Meter, folder: str) -> None:
    "FOCUS by its authors, with the vectors in memory as on the other side."
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


def wechsel(meter: Meter, folder: str) -> None:
    "WECHSEL by its authors, with the vectors in memory as on the other side."
    import fasttext
    from wechsel import WECHSEL

    folder = Path(folder)
    old, new, embeddings = open_case(folder)
    models = [fasttext.load_model(str(folder / f"{which}.bin")) for which in ("source", "target")]
    with meter:
        made, info = WECHSEL(*models, bilingual_dictionary=str(folder / "pairs.txt")).apply(
            old, new, embeddings, use_subword_info=(folder / "subwords").read_text() == "ngrams"
        )
    np.save(folder / "wechsel.npy", made)
    told = {token: (list(tokens), np.asarray(sims).tolist()) for token, (tokens, _, sims) in info.sources.items()}
    (folder / "sources.json").write_text(json.dumps(told), encoding="utf-8")


def trimmed_facts(out: Path) -> dict:
    "What there is to say of the folder of a trimmed model."
    rows = json.loads((out / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    return dict(rows=rows, folder_mb=sum(file.stat().st_size for file in out.iterdir()) / 1e6)


def vocabtrimmer(meter: Meter, folder: str) -> dict:
    "A model trimmed to a text by vocabtrimmer, tokens that are there once included."
    folder = Path(folder)
    os.environ["HF_DATASETS_CACHE"] = str(folder / "cache")
    from vocabtrimmer import VocabTrimmer

    with meter:
        VocabTrimmer(str(folder / "model")).trim_vocab(
            "xx",
            str(folder / "vocabtrimmer"),
            dataset=str(folder / "text"),
            dataset_split="train",
            min_frequency=1,
            cache_file_vocab=str(folder / "cache/vocab.json"),
            cache_file_frequency=str(folder / "cache/frequency.json"),
            overwrite=True,
        )
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
        gone = [piece for piece, id in tokenizer.get_vocab().items() if id not in used]
        made = TokenizerModel.from_transformers_tokenizer(tokenizer).remove_tokens_from_vocabulary(gone)
        reshape_embeddings(AutoModelForMaskedLM.from_pretrained(model), made).save_pretrained(out)
        made.to_transformers().save_pretrained(out)
    return trimmed_facts(out)


def train_steps(
    meter: Meter,
    make: Callable[[], tuple],  # makes the model: it, and a function that gives the loss of a batch
    steps: int,  # that are timed, after one that is not
) -> dict:  # CPU seconds of the quickest step, its operations, and how many weights learn
    "Training steps with AdamW on the weights that want a gradient."
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    clock = []
    with meter:
        model, loss = make()
        learn = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(learn, 1e-4)

        def step():
            loss().backward()
            optimizer.step()
            optimizer.zero_grad()

        for _ in range(steps + 1):
            step()
            clock.append(time.process_time())
    with FlopCounterMode(display=False) as counter:
        step()
    return dict(
        cpu_seconds=float(np.diff(clock).min()),
        gflop=counter.get_total_flops() / 1e9,
        trained=sum(p.numel() for p in learn),
    )


def adapter_batch(what: str, batch: int, length: int, n_tokens: int) -> dict:  # input_ids and labels
    "Random tokens, with the labels of MLM or of tagging with 17 tags."
    import torch

    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(5, n_tokens, (batch, length), generator=draw)
    if what == "task":
        return dict(input_ids=ids, labels=ids % 17)
    return dict(input_ids=ids, labels=ids.where(torch.rand(ids.shape, generator=draw) < 0.15, -100))


def adapters(meter: Meter, what: str, steps: int, batch: int, length: int, shape: dict) -> dict:
    "A language adapter with an invertible one, or a task adapter on a language that stays, by AdapterHub's package."
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
        if what == "task":
            model.add_adapter("task", config=peer.SeqBnConfig(reduction_factor=16))
        model.train_adapter("lang" if what == "language" else "task")
        if what == "language":
            for p in model.cls.parameters():
                p.requires_grad_(False)
        else:
            model.set_active_adapters(peer.Stack("lang", "task"))
        model.train()
        return model, lambda: model(**inputs).loss

    return train_steps(meter, make, steps)


if __name__ == "__main__" and "__file__" in globals():
    _main()  # not in a notebook
