"""A process that writes everything this package writes, and kills its own children while they do."""

import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path


def _place(place: Path) -> tuple:
    "Write a model and a text; return them with two tokenizers and a configuration."
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM

    from testkit.phrasebook import lines
    from vocab_lit.tokens.train import train_tokenizer

    old, new = (train_tokenizer(lines(language, 300, seed=0), "unigram", 300) for language in ("en", "sw"))
    shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    config = XLMRobertaConfig(vocab_size=300, **shape, max_position_embeddings=66, pad_token_id=1)
    XLMRobertaForMaskedLM(config).save_pretrained(place / "model", max_shard_size="30KB")
    old.save_pretrained(place / "model")
    (place / "sw.txt").write_text("\n".join(lines("sw", 200, seed=0)), encoding="utf-8")
    return config, old, new


def writers(place: Path) -> dict[str, tuple[Callable, Callable]]:
    "How each thing is written and read."
    from transformers import XLMRobertaForMaskedLM

    from vocab_lit.methods.factored import Factoring, load_factors
    from vocab_lit.models.adapterhub import load_adapter, save_adapter
    from vocab_lit.models.factored_embedding import factorize_files
    from vocab_lit.models.madx import MadX
    from vocab_lit.models.source import load_model, open_model
    from vocab_lit.models.transplant import transplant
    from vocab_lit.text.corpus import write_json
    from vocab_lit.text.files import write_folder, write_text
    from vocab_lit.tokens.load import load_tokenizer
    from vocab_lit.tokens.tokenizer_file import save_tokenizer
    from vocab_lit.vectors.word_vectors import open_words, train_vectors_files

    config, old, new = _place(place)

    def tokenizer(out):
        with write_folder(out) as folder:
            save_tokenizer(new, folder)

    def text(out):
        with write_text(out) as f:
            f.write("maji " * 4000)

    def with_language():
        madx = MadX(XLMRobertaForMaskedLM(config))
        madx.add_language("sw")
        return madx

    def read_adapter(out):
        return load_adapter(MadX(XLMRobertaForMaskedLM(config)), out, "language")

    loaded, opened = (transplant(get(place / "model"), old, new, "identity") for get in (load_model, open_model))
    madx = with_language()
    return {
        "model": (lambda out: loaded.save_pretrained(out), load_model),
        "shards": (lambda out: opened.save_pretrained(out), load_model),
        "tokenizer": (tokenizer, load_tokenizer),
        "text": (text, Path.read_text),
        "adapter": (lambda out: save_adapter(madx, "language", "sw", out), read_adapter),
        "factors": (lambda out: factorize_files(place / "model", out, Factoring(steps=5)), load_factors),
        "vectors.vec": (lambda out: train_vectors_files([place / "sw.txt"], out), open_words),
        "vectors.npz": (lambda out: train_vectors_files([place / "sw.txt"], out, place / "model"), open_words),
        "record.json": (lambda out: write_json(list(range(9000)), out), lambda out: json.loads(out.read_text())),
    }


def _kill_at(place: Path, moment: int) -> None:
    "Kill this process at one of the files in a place that it opens for writing or moves."
    count = 0

    def hook(event, args):
        nonlocal count
        path = str(args[0]) if args else ""
        writes = moves = False
        if event == "open":
            mode = isinstance(args[1], str) and set(args[1]) & set("wxa")
            writes = mode or (args[2] and args[2] & (os.O_WRONLY | os.O_RDWR))
        else:
            moves = event in ("os.rename", "os.mkdir", "os.chmod")
        if str(place) in path and (writes or moves):
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _child(place: Path, write: Callable, out: Path, die_at: int = 0, room: int | None = None) -> int:
    "Write in another process, which is killed at a moment or has room for so many bytes in a file; its wait status."
    if pid := os.fork():
        return os.waitpid(pid, 0)[1]
    if die_at:
        _kill_at(place, die_at)
    if room:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a bar that cannot be written would keep its lock
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        write(out)
    except OSError as e:
        os._exit(28 if "cannot write" in str(e) and "\n" not in str(e) else 2)
    except BaseException as e:
        print(out.name, die_at, room, type(e).__name__, e, file=sys.stderr, flush=True)
        os._exit(3)
    os._exit(0)


def _remove(out: Path) -> None:
    if out.is_dir():
        shutil.rmtree(out)
    elif out.exists():
        out.unlink()


def _torment(place: Path, name: str, write: Callable, read: Callable) -> dict:
    "Kill a writer at every moment, then give it too little room."
    folder = place / f"of-{name}"
    folder.mkdir()
    out, moments, absent = folder / name, 0, 0

    def there():  # whether something is under the final name, which then is whole
        if out.exists():
            read(out)
        return out.exists()

    while (status := _child(place, write, out, moments + 1)) == signal.SIGKILL:
        moments += 1
        absent += not there()
        _remove(out)
    assert status == 0 and there(), (name, status)
    left = {p.name for p in folder.iterdir()} - {name}
    _remove(out)
    before, full = set(folder.iterdir()), []
    for room in (1, 900, 9000):
        full.append(_child(place, write, out, room=room) >> 8)
        assert there() == (full[-1] == 0), (name, room, full)
        _remove(out)
        assert set(folder.iterdir()) == before, (name, room)
    return dict(killed=moments, absent=absent, left=sorted(left), full=full)


def run(place: Path, names: tuple[str, ...]) -> None:
    "Write place/told.json: for each name, how often its writer was killed, and what was left."
    import torch
    import tqdm

    tqdm.tqdm.monitor_interval = 0  # no bar starts a thread, which might hold a lock at the fork
    torch.set_num_threads(1)
    chosen = {name: how for name, how in writers(place).items() if name in names}
    warm = place / "warm"  # modules that are imported at their first use are imported here, not in every child
    warm.mkdir()
    for name, (write, read) in chosen.items():
        write(warm / name)
        read(warm / name)
    told = {name: _torment(place, name, *how) for name, how in chosen.items()}
    (place / "told.json").write_text(json.dumps(told))
