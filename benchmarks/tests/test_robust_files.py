"""What is written is whole or not there, and files of others run no program."""

import json
import multiprocessing
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM, TrainerCallback

from benchmarks.tests import writers
from benchmarks.tests.toys import FAMILIES, WORDS, small_model
from vocab_lit.methods.factored import load_factors
from vocab_lit.methods.plan import Plan
from vocab_lit.models.factored_embedding import load_embedding
from vocab_lit.models.source import load_model, open_model
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.vocab import Vocab
from vocab_lit.training.lapt import lapt
from vocab_lit.training.settings import LaptConfig
from vocab_lit.vectors.word_vectors import open_words

QUICK = ("model", "tokenizer", "text", "adapter", "vectors.vec", "record.json")
OTHERS = ("shards", "factors", "vectors.npz")


@pytest.mark.parametrize("names", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_files_are_whole_or_not_there_and_nothing_is_left_of_a_process_that_was_killed(names, tmp_path, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    warm = multiprocessing.get_context("forkserver")  # the parent of the program has imported what takes seconds
    warm.set_forkserver_preload(["vocab_lit.models.pipeline", "vocab_lit.training.trainer"])
    process = warm.Process(target=writers.run, args=(tmp_path, names))
    process.start()
    process.join(3600)
    ended = process.exitcode
    process.terminate()
    assert ended == 0, "the writers have failed or not ended in an hour"
    told = json.loads((tmp_path / "told.json").read_text())
    assert set(told) == set(names)
    for name, t in told.items():
        assert t["killed"] >= 2 and t["absent"] >= t["killed"] - 1, (name, t)
        assert 28 in t["full"] and set(t["full"]) <= {0, 28}, (name, t)
        assert not t["left"] or name == "record.json", (name, t)  # of a record, a hidden file of one process may stay


class Nest:
    "A folder with damaged models and files; `trap` is there once a program of theirs has run."

    def __init__(self, folder: Path):
        self.folder, self.trap = folder, folder / "sprung"

    def __truediv__(self, name) -> Path:
        return self.folder / name

    def bomb(self):
        "An object whose pickle runs a program."
        command = f"touch {self.trap}"

        class Bomb:
            def __reduce__(self):
                return os.system, (command,)

        return Bomb()

    def model(self, name, **options) -> Path:
        "A model with its tokenizer."
        folder, tokenizer = self / name, FAMILIES["unigram"](WORDS)
        small_model("BERT", tokenizer).save_pretrained(folder, **options)
        tokenizer.save_pretrained(folder)
        return folder

    def refuses(self, load, path, match):
        "Check that a file is refused in one line without having run."
        with pytest.raises(ValueError, match=match) as e:
            load(path)
        said = str(e.value)
        assert not self.trap.exists() and not any(s in said for s in ("\n", "trust_remote_code", "weights_only")), said


@pytest.fixture
def nest(tmp_path) -> Nest:
    return Nest(tmp_path)


def test_the_trap_works(nest):
    pickle.loads(pickle.dumps(nest.bomb()))
    assert nest.trap.exists()


def test_pickled_weights_that_would_run_a_program_are_not_read(nest):
    writes = {
        "zip": lambda f: torch.save({"bert.embeddings.word_embeddings.weight": nest.bomb()}, f),
        "raw": lambda f: f.write_bytes(pickle.dumps(nest.bomb())),
    }
    for name, write in writes.items():
        folder = nest.model(name)
        (folder / "model.safetensors").unlink()
        write(folder / "pytorch_model.bin")
        for load in (load_model, open_model):
            match = "its pickled weights are damaged or hold more than plain tensors; they are not read"
            nest.refuses(load, folder, match)


def test_pickles_in_other_files_are_not_read(nest):
    vocab, array = Vocab.from_tokenizer(FAMILIES["unigram"](WORDS)), np.array([nest.bomb()], dtype=object)
    np.savez(nest / "plan.npz", **dict.fromkeys(("meta", "data", "indices", "indptr", "shape", "group", "step"), array))
    np.savez(nest / "vectors.npz", pieces=array, matrix=array)
    vectors = ("plain.npz", "words.bin", "words.vec", "words.model", "words.kv", "words.vec.gz")
    for name in (*vectors, "factors.safetensors"):
        (nest / name).write_bytes(pickle.dumps(nest.bomb()))
    for name in ("plan.npz", "plain.npz"):
        nest.refuses(lambda f: Plan.load(f, vocab), nest / name, "damaged or no plan")
    for name in ("vectors.npz", *vectors):
        nest.refuses(open_words, nest / name, name)
    nest.refuses(load_factors, nest / "factors.safetensors", "holds no factors")
    nest.refuses(load_embedding, nest / "factors.safetensors", "holds no factorised embeddings")


def test_python_files_beside_a_model_are_not_imported(nest, monkeypatch):
    folder = nest.model("own code")
    (folder / "evil.py").write_text(f"open({str(nest.trap)!r}, 'w')\nclass C: pass\n")
    config, tokens = (json.loads((folder / f).read_text()) for f in ("config.json", "tokenizer_config.json"))

    def put(**more):
        evil = dict.fromkeys(("AutoConfig", "AutoModelForMaskedLM", "AutoModel"), "evil.C")
        (folder / "config.json").write_text(json.dumps(config | dict(auto_map=evil, **more)))

    put()
    assert type(load_model(folder)) is BertForMaskedLM and not nest.trap.exists()  # a class that transformers has
    evil = dict(auto_map={"AutoTokenizer": ["evil.C", "evil.C"]}, tokenizer_class="C")
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens | evil))
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # to "Do you wish to run the custom code?"
    put(model_type="evil")
    for load in (load_model, open_model, load_tokenizer):
        nest.refuses(load, folder, "needs Python code of its own, which is not run here")
    (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
    assert load_tokenizer(folder).get_vocab() == FAMILIES["unigram"](WORDS).get_vocab() and not nest.trap.exists()


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_an_index_cannot_lead_out_of_its_folder(nest, weights):
    folder = nest.model("shards", max_shard_size="4KB")
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    (folder / "model.safetensors.index.json").unlink()
    file = sorted(index["weight_map"].values())[0]
    shutil.move(folder / file, nest / file)
    for elsewhere in (f"../{file}", str(nest / file), f"x/../../{file}"):
        names = {k: elsewhere if v == file else v for k, v in index["weight_map"].items()}
        (folder / f"{weights}.index.json").write_text(json.dumps(index | {"weight_map": names}))
        for load in (load_model, open_model):
            nest.refuses(load, folder, f"{weights}.index.json: .* cannot be the name of a file")


def test_a_checkpoint_that_would_run_a_program_is_not_resumed_from(nest):
    class Stop(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if state.global_step == 2:
                raise KeyboardInterrupt

    tokenizer, three = FAMILIES["unigram"](WORDS), LaptConfig(steps=3, batch_size=2, length=8, eval_every=1)
    text = ["maji moto ni ziwa na gari", "gari na basi 1 2 ! nyumba"] * 10

    def run(folder, **more):
        return lapt(small_model("BERT", tokenizer), tokenizer, text, text, three, folder=folder, **more)

    with pytest.raises(KeyboardInterrupt):
        run(nest / "run", callbacks=[Stop()])
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin", "pytorch_model.bin"):
        folder = nest / f"run {name}"
        shutil.copytree(nest / "run", folder)
        last = folder / "checkpoint-2"
        if name == "pytorch_model.bin":
            (last / "model.safetensors").unlink()
        torch.save(nest.bomb(), last / name)
        if name == "training_args.bin":  # it is never read
            assert len(run(folder, resume=True)) and not nest.trap.exists()
        else:
            match = r"checkpoint-2 is damaged \(more than plain tensors\)"
            nest.refuses(lambda f: run(f, resume=True), folder, match)
