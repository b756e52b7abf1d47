from dataclasses import replace
from importlib.metadata import version
from packaging.version import parse
from pathlib import Path
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import nn
from transformers import AlbertConfig, AlbertForMaskedLM, AutoTokenizer, BertConfig, BertForMaskedLM, DebertaV2Config, DebertaV2ForMaskedLM, DistilBertConfig, DistilBertForMaskedLM, ElectraConfig, ElectraForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MT5Config, MT5ForConditionalGeneration, PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM, T5Config, T5ForConditionalGeneration, TrainerCallback, XLMRobertaConfig, XLMRobertaForMaskedLM
from typer.testing import CliRunner
from unittest import mock
from vocab_lit.cli.main import app
from vocab_lit.methods.factored import FactoredRecipe, load_factors
from vocab_lit.methods.plan import Plan
from vocab_lit.methods.registry import get_recipe
from vocab_lit.methods.registry import RECIPES
from vocab_lit.methods.settings import copies_overlap
from vocab_lit.models.factored_embedding import load_embedding
from vocab_lit.models.madx import AdapterConfig, LANGUAGE, MadX
from vocab_lit.models.source import load_model, open_model
from vocab_lit.models.transplant import save, saved_plan, token_parameters, transplant
from vocab_lit.text.corpus import _Hashes
from vocab_lit.text.phrasebook import lines
from vocab_lit.tokens.expansion import expand_tokenizer
from vocab_lit.tokens.tokenizer import load_tokenizer, train_tokenizer
from vocab_lit.tokens.vocab import Vocab, toy_tokenizer
from vocab_lit.training.lapt import lapt
from vocab_lit.training.lm_data import mask_tokens
from vocab_lit.training.settings import LaptConfig
from vocab_lit.vectors.align import AlignedVectors
from vocab_lit.vectors.token_vectors import TokenVectors, carry_vectors
from vocab_lit.vectors.word_vectors import open_words
import itertools
import json
import multiprocessing
import numpy as np
import os
import pandas as pd
import pickle
import pytest
import re
import resource
import shutil
import tempfile
import textwrap
import torch
import typer


@pytest.fixture(scope='module')
def cell_0f7df609():
    global FAMILIES, NAMES, WORDS, characters, fast, with_added, with_copies, with_gaps
    NAMES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    WORDS = ["maji", "moto", "ni", "ziwa", "gari", "na", "basi", "1", "2", "ጸሐይ", "!", "nyumba", "Maji"]


    def fast(tokenizer, names=NAMES):
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            bos_token=names[0],
            eos_token=names[2],
            **dict(zip(("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"), names)),
        )


    def characters(words):
        made = Tokenizer(
            models.WordLevel({p: i for i, p in enumerate([*NAMES, *sorted(set(" ".join(words)))])}, unk_token="<unk>")
        )
        made.pre_tokenizer, made.decoder = pre_tokenizers.Split(Regex("."), "isolated"), decoders.Fuse()
        return fast(made)


    def with_added(family, words):
        made = toy_tokenizer(family, words[2:], ["ma", "ji"])
        made.add_tokens([AddedToken(" na"), "maji", AddedToken("ጸሐይ", single_word=True)])
        made.add_special_tokens({"additional_special_tokens": ["<sw>"]})
        return made


    def with_gaps(words):
        names = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
        made = Tokenizer(
            models.WordPiece(
                {p: i for i, p in enumerate(names)} | {w: 9 + 3 * i for i, w in enumerate(words)}, unk_token="[UNK]"
            )
        )
        made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        return fast(made, names)


    def with_copies(words):
        made = toy_tokenizer("unigram", [*words, "ﬁ", "fi", "e\u0301", "é"], ["ﬁ", "fi"])
        made.backend_tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
        made.add_tokens(["maji", " moto"])
        return made


    FAMILIES = {
        f: (lambda words, f=f: toy_tokenizer(f, words, ["ma", "ji"]))
        for f in ("unigram", "bpe", "wordpiece", "suffix", "byte-fallback")
    }
    FAMILIES |= {
        "characters": characters,
        "added": lambda words: with_added("unigram", words),
        "added to bpe": lambda words: with_added("bpe", words),
        "added to wordpiece": lambda words: with_added("wordpiece", words),
        "gaps": with_gaps,
        "copies": with_copies,
    }
    pd.DataFrame(
        [
            {
                "family": name,
                "tokens": len(t),
                "largest id": len(Vocab.from_tokenizer(t)) - 1,
                "maji moto na ziwa": " ".join(t.tokenize("maji moto na ziwa")),
            }
            for name, make in FAMILIES.items()
            for t in [make(WORDS)]
        ]
    )


@pytest.fixture(scope='module')
def cell_d6d098ab(cell_0f7df609):
    global BODY, DEBERTA, MODELS, T5, logits, shapes, small_model
    BODY = dict(
        hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, max_position_embeddings=42
    )
    DEBERTA = BODY | dict(relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"])
    T5 = dict(d_model=12, d_kv=6, d_ff=40, num_layers=2, num_heads=2)
    MODELS = {
        "BERT": (BertForMaskedLM, BertConfig, BODY),
        "RoBERTa": (RobertaForMaskedLM, RobertaConfig, BODY),
        "XLM-R": (XLMRobertaForMaskedLM, XLMRobertaConfig, BODY),
        "DistilBERT": (
            DistilBertForMaskedLM,
            DistilBertConfig,
            dict(dim=12, n_layers=2, n_heads=2, hidden_dim=40, max_position_embeddings=42),
        ),
        "DeBERTa": (DebertaV2ForMaskedLM, DebertaV2Config, DEBERTA),
        "DeBERTa, new head": (DebertaV2ForMaskedLM, DebertaV2Config, DEBERTA | dict(legacy=False)),
        "ELECTRA": (ElectraForMaskedLM, ElectraConfig, BODY | dict(embedding_size=10)),
        "ALBERT": (AlbertForMaskedLM, AlbertConfig, BODY | dict(embedding_size=10)),
        "GPT-2": (GPT2LMHeadModel, GPT2Config, dict(n_embd=12, n_layer=2, n_head=2, n_positions=42)),
        "Llama": (LlamaForCausalLM, LlamaConfig, BODY),
        "T5": (T5ForConditionalGeneration, T5Config, T5),
        "mT5": (MT5ForConditionalGeneration, MT5Config, T5),
    }
    if parse(version("transformers")) < parse("5.20.2"):
        del MODELS["DeBERTa, new head"]  # transformers itself does not load what it saved


    def small_model(name, tokenizer, tied=True, spare=2):
        cls, config, options = MODELS[name]
        ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("bos", "eos", "pad")} | (
            {"decoder_start_token_id": tokenizer.pad_token_id} if options is T5 else {}
        )
        torch.manual_seed(0)
        model = cls(
            config(vocab_size=len(Vocab.from_tokenizer(tokenizer)) + spare, tie_word_embeddings=tied, **options, **ids)
        ).eval()
        if options is T5 and not tied:
            model.lm_head.weight = nn.Parameter(
                model.lm_head.weight.clone()
            )  # in transformers they are told by their files alone
        for p in model.parameters():
            nn.init.normal_(p, std=0.3)
        return model


    @torch.no_grad()
    def logits(model, ids):  # at every position of one sequence, (len(ids), tokens)
        more = dict(decoder_input_ids=torch.tensor([ids])) if model.config.is_encoder_decoder else {}
        return model(input_ids=torch.tensor([ids]), **more).logits[0]


    def shapes(name, tied):
        return {k: tuple(p.shape) for k, p in token_parameters(small_model(name, FAMILIES["unigram"](WORDS), tied)).items()}


@pytest.fixture(scope='module')
def cell_20985475(cell_0f7df609, cell_d6d098ab):
    global ARCHITECTURES, ONE_OF_EACH, briefly, by_hand, check_transplant, pick, sequence_of, try_out, vectors_of
    def vectors_of(tokenizer, seed):  # random
        n = len(Vocab.from_tokenizer(tokenizer))
        return TokenVectors(np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float32), np.ones(n, bool), "random")


    def by_hand(plan, i, old):  # a row or bias from its weights, None where it is drawn
        if plan.group[i] >= 0:
            return None
        w = plan.row(i).tocoo()
        return sum(float(v) * old[j].double() for v, j in zip(w.data, w.coords[1]))


    def briefly(recipe):  # with few steps, where a recipe factorises the embeddings
        if not isinstance(recipe, FactoredRecipe):
            return recipe
        return replace(recipe, factoring=replace(recipe.factoring, steps=20))


    def check_transplant(old, new, name, tied, method, place):  # "" or why it is refused
        recipe, model = briefly(get_recipe(method)), small_model(name, old, tied)
        vectors = vectors_of(new, 0)
        if recipe.needs == "aligned vectors":
            vectors = AlignedVectors(vectors_of(old, 1), vectors)
        before = {k: p.detach().clone() for k, p in token_parameters(model).items()}
        try:
            result = transplant(model, old, new, recipe, vectors, seed=1)
        except ValueError as e:
            assert all(torch.equal(p, before[k]) for k, p in token_parameters(model).items()) and "\n" not in str(e)
            return str(e)
        target, plan, after, whole_rows = (
            Vocab.from_tokenizer(new),
            result.plan,
            token_parameters(model),
            not isinstance(recipe, FactoredRecipe),
        )
        assert after.keys() == before.keys() and model.config.vocab_size == len(target)
        for k, p in after.items():
            assert len(p) == len(target) and p.shape[1:] == before[k].shape[1:] and torch.isfinite(p).all()
            if recipe.untrained or not (whole_rows or k != "input"):
                continue
            for i in range(len(target)):
                if (due := by_hand(plan, i, before[k])) is not None:
                    assert torch.allclose(p[i].double(), due, rtol=1e-4, atol=1e-4), (k, i)
            assert torch.equal(p[plan.copied >= 0], before[k][plan.copied[plan.copied >= 0]])
        saved = save(result, place)
        loaded, again = type(model).from_pretrained(saved).eval(), AutoTokenizer.from_pretrained(saved)
        for text in ("maji moto na ziwa", "ጸሐይ gari! 1999", "Maji ﬁ"):
            assert again(text)["input_ids"] == new(text)["input_ids"]
        ids = (new("maji moto na ziwa")["input_ids"] or [0])[:40]
        assert (
            torch.allclose(found := logits(loaded, ids), logits(model, ids), atol=1e-5)
            and torch.isfinite(found).all()
            and found.shape[1] == len(target)
        )
        assert (
            token_parameters(loaded).keys() == after.keys()
            and saved_plan(saved, again).summary().equals(plan.summary())
            and type(load_model(saved)) is type(model)
        )
        if copies_overlap(recipe) and whole_rows and not recipe.untrained:
            shared = [t.id for t in target if t.kind == "text" and plan.copied[t.id] >= 0][:9]
            assert not shared or torch.allclose(
                logits(small_model(name, old, tied), plan.copied[shared].tolist())[:, plan.copied[shared]],
                logits(model, shared)[:, shared],
                atol=1e-4,
            )
        return ""


    def try_out(trials):  # of old and new family, architecture, tied and method, with what was refused
        told = []
        with tempfile.TemporaryDirectory() as place:
            for n, (before, after, name, tied, method) in enumerate(trials):
                try:
                    why = check_transplant(
                        FAMILIES[before](WORDS),
                        FAMILIES[after](WORDS[::-1][:9] + ["soko", "kiti"]),
                        name,
                        tied,
                        method,
                        Path(place, str(n)),
                    )
                except Exception as e:
                    raise AssertionError(
                        f"{before} to {after}, {name}, {'tied' if tied else 'untied'}, {method}: {type(e).__name__} {e}"
                    ) from e
                told.append(dict(old=before, new=after, model=name, tied=tied, method=method, refused=why))
        return pd.DataFrame(told)


    ARCHITECTURES = [(name, tied) for name in MODELS for tied in (True, False)]


    def sequence_of(method):  # the kind of a recipe: its class and those of its steps
        recipe = get_recipe(method)
        return type(recipe), *map(type, recipe.steps)


    ONE_OF_EACH = list({sequence_of(method): method for method in sorted(RECIPES)}.values())


    def pick(n):  # old and new families, models and kinds of methods in turns
        old, new, methods = list(FAMILIES), list(FAMILIES), ONE_OF_EACH
        return [
            (
                old[i % len(old)],
                new[(i // len(methods) + i) % len(new)],
                *ARCHITECTURES[i % len(ARCHITECTURES)],
                methods[i % len(methods)],
            )
            for i in range(n)
        ]


@pytest.fixture(scope='module')
def cell_8d8bcf4a():
    global as_foreseen
    def as_foreseen(found):  # short rows want a tied head, and nothing else is refused
        short, tied = (
            found.method.map(lambda m: isinstance(RECIPES[m], FactoredRecipe)),
            found.tied & (found.model != "DeBERTa, new head"),
        )
        return ((found.refused != "") == (short & ~tied)).all() and found.refused[found.refused != ""].str.contains(
            "is not tied to its input embeddings"
        ).all()


@pytest.fixture(scope='module')
def cell_d752ed25(cell_0f7df609):
    global NEW_WORDS, extended, new, old, pair, some
    NEW_WORDS = ["ziwa", "kiti", "soko", "ውሃ", "zebra"]


    def extended(before, after):  # the two tokenizers and what they make, or why it is refused
        old, language = FAMILIES[before](WORDS), FAMILIES[after](NEW_WORDS)
        try:
            return old, language, expand_tokenizer(old, language, 100)
        except ValueError as e:
            return old, language, str(e)


    some = {
        pair: extended(*pair)[::2]
        for pair in (
            ("unigram", "added"),
            ("added to bpe", "bpe"),
            ("gaps", "wordpiece"),
            ("suffix", "bpe"),
            ("wordpiece", "unigram"),
        )
    }
    for pair, (old, new) in some.items():
        print(*pair, sep=" by ", end=": ")
        print(new if isinstance(new, str) else f"{len(new) - len(old)} tokens more")


@pytest.fixture(scope='module')
def cell_3054af97(cell_0f7df609, cell_d6d098ab):
    global FEW, TEXT, learnt, trained
    FEW = LaptConfig(steps=1, batch_size=2, length=8, learning_rate=1e-2, eval_every=1)
    TEXT = ["maji moto ni ziwa na gari", "gari na basi 1 2 ! nyumba", "nyumba ziwa na maji", "ጸሐይ 1 maji"] * 20


    def trained(name, tokenizer, adapter=False):  # loss before and after, or why not
        model = small_model(name, tokenizer)
        try:
            if not adapter:
                return lapt(model, tokenizer, TEXT, TEXT[:20], FEW).loss.round(2).tolist()
            madx = MadX(model)
            madx.add_language("sw", LANGUAGE if name != "ELECTRA" else AdapterConfig(2))
            with madx.learning("sw"):
                return lapt(model, tokenizer, TEXT, TEXT[:20], FEW).loss.round(2).tolist()
        except ValueError as e:
            return str(e)


    learnt = pd.DataFrame(
        [
            {
                "model": name,
                "LAPT": trained(name, FAMILIES["unigram"](WORDS)),
                "adapter": trained(name, FAMILIES["unigram"](WORDS), True),
            }
            for name in MODELS
        ]
    ).set_index("model")
    learnt


@pytest.fixture(scope='module')
def cell_8e4d89ae():
    global writers
    writers = textwrap.dedent("""
    import json, os, resource, shutil, signal, sys
    from pathlib import Path
    import torch
    import tqdm
    from transformers import XLMRobertaConfig, XLMRobertaForMaskedLM
    from vocab_lit.models.adapterhub import load_adapter, save_adapter
    from vocab_lit.text.corpus import write_json
    from vocab_lit.methods.factored import load_factors
    from vocab_lit.methods.factoring import Factoring
    from vocab_lit.models.madx import MadX
    from vocab_lit.text.phrasebook import lines
    from vocab_lit.models.pipeline import factorize_files, train_vectors_files
    from vocab_lit.tokens.tokenizer import load_tokenizer, save_tokenizer, train_tokenizer
    from vocab_lit.models.source import load_model, open_model
    from vocab_lit.models.transplant import save, transplant
    from vocab_lit.text.files import write_folder, write_text
    from vocab_lit.vectors.word_vectors import open_words
    tqdm.tqdm.monitor_interval = 0  # no bar starts a thread, which might hold a lock at the fork
    torch.set_num_threads(1)
    old, new = (train_tokenizer(lines(l, 300, seed=0), "unigram", 300) for l in ("en", "sw"))
    SHAPE = dict(vocab_size=300, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    def config(): return XLMRobertaConfig(**SHAPE, max_position_embeddings=66, pad_token_id=1)
    XLMRobertaForMaskedLM(config()).save_pretrained(place/"model", max_shard_size="30KB")
    old.save_pretrained(place/"model")
    (place/"sw.txt").write_text(chr(10).join(lines("sw", 200, seed=0)), encoding="utf-8")
    results = [transplant(open(place/"model"), old, new, "identity") for open in (load_model, open_model)]
    madx = MadX(XLMRobertaForMaskedLM(config())); madx.add_language("sw")
    def tokenizer(out):
        with write_folder(out) as folder: save_tokenizer(new, folder)
    def text(out):
        with write_text(out) as f: f.write("maji " * 4000)
    def adapter(out): return load_adapter(MadX(XLMRobertaForMaskedLM(config())), out, "language")
    def vectors(out, *tokenizer): return train_vectors_files([place/"sw.txt"], out, *tokenizer)
    def adapter_writer(**options): return lambda out: save_adapter(madx, "language", "sw", out, **options)
    writers = {
        "model": (lambda out: save(results[0], out), load_model),
        "shards": (lambda out: save(results[1], out), load_model),
        "tokenizer": (tokenizer, load_tokenizer),
        "text": (text, Path.read_text),
        "adapter": (adapter_writer(), adapter),
        "pickle": (adapter_writer(safetensors=False), adapter),
        "factors": (lambda out: factorize_files(place/"model", out, Factoring(steps=5)), load_factors),
        "vectors.vec": (vectors, open_words),
        "vectors.npz": (lambda out: vectors(out, place/"model"), open_words),
        "record.json": (lambda out: write_json(list(range(9000)), out), lambda out: json.loads(out.read_text())),
    }


    def child(write, out, die_at=0, room=None):
        "Write in another process, which is killed at one of the files it opens or moves, or has a full disk."
        if pid := os.fork(): return os.waitpid(pid, 0)[1]
        count, most = [0], resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        def hook(event, args):
            path = str(args[0]) if args else ""
            mode = isinstance(args[1], str) and set(args[1]) & set("wxa") if event == "open" else False
            writes = event == "open" and (mode or args[2] and args[2] & (os.O_WRONLY | os.O_RDWR))
            moves = event in ("os.rename", "os.mkdir", "os.chmod")
            if str(place) in path and (writes or moves):
                count[0] += 1
                if count[0] == die_at: os.kill(os.getpid(), signal.SIGKILL)
        if die_at: sys.addaudithook(hook)
        if room:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2) # a bar that cannot be written would keep its lock
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))
        try: write(out)
        except OSError as e: os._exit(28 if "cannot write" in str(e) and chr(10) not in str(e) else 2)
        except BaseException as e:
            print(out.name, die_at, room, type(e).__name__, e, file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)

    (warm := place/"warm").mkdir() # what is imported when it is used is imported here, and not in every child
    writers = {name: writers[name] for name in names}
    for name, (write, read) in writers.items():
        write(warm/name)
        read(warm/name)
    told = {}
    for name, (write, read) in writers.items():
        folder = place/f"of-{name}"
        folder.mkdir()
        out, moments, halves, left = folder/name, 0, 0, set()
        def there(): # whether something is under the final name, which then is whole
            if out.exists(): read(out)
            return out.exists()
        while (status := child(write, out, moments + 1)) == signal.SIGKILL:
            moments += 1
            halves += not there()
            if out.exists(): shutil.rmtree(out) if out.is_dir() else out.unlink()
        assert status == 0 and there(), (name, status)
        left = {p.name for p in folder.iterdir()} - {name}
        shutil.rmtree(out) if out.is_dir() else out.unlink()
        before, full = set(folder.iterdir()), []
        for room in (1, 900, 9000):
            full.append(child(write, out, room=room) >> 8)
            assert there() == (full[-1] == 0), (name, room, full)
            if out.exists(): shutil.rmtree(out) if out.is_dir() else out.unlink()
            assert set(folder.iterdir()) == before, (name, room)
        told[name] = dict(killed=moments, absent=halves, left=sorted(left), full=full)
    (place/"told.json").write_text(json.dumps(told))
""")


@pytest.fixture(scope='module')
def cell_5155ee48(cell_8e4d89ae):
    global check_writers
    def check_writers(*names):
        warm = multiprocessing.get_context("forkserver")  # the parent of the program has imported what takes seconds
        warm.set_forkserver_preload(["vocab_lit.app.pipeline", "vocab_lit.training.trainer"])
        with tempfile.TemporaryDirectory() as place:
            process = warm.Process(target=exec, args=(writers, dict(place=Path(place), names=names)))
            with mock.patch.dict(os.environ, TQDM_DISABLE="1", CUDA_VISIBLE_DEVICES=""):
                process.start()
            process.join()
            assert process.exitcode == 0
            told = json.loads(Path(place, "told.json").read_text())
        assert set(told) == set(names)
        for name, t in told.items():
            assert t["killed"] >= 2 and t["absent"] >= t["killed"] - 1 and 28 in t["full"] and set(t["full"]) <= {0, 28}, (
                name,
                t,
            )
            assert not t["left"] or name == "record.json", (name, t)  # of a record, a hidden file of one process may stay


@pytest.fixture(scope='module')
def cell_dc25e389(cell_0f7df609, cell_d6d098ab):
    global Bomb, TRAP, model_folder, nest, refused
    nest = Path(tempfile.mkdtemp())
    TRAP = nest / "sprung"  # made if anything is run


    class Bomb:
        def __reduce__(self):
            return os.system, (f"touch {TRAP}",)


    def model_folder(name, **options):
        folder, tokenizer = nest / name, FAMILIES["unigram"](WORDS)
        small_model("BERT", tokenizer).save_pretrained(folder, **options)
        tokenizer.save_pretrained(folder)
        return folder


    def refused(load, path, match, kind=ValueError):
        with pytest.raises(kind, match=match) as e:
            load(path)
        assert (
            not TRAP.exists()
            and "\n" not in str(e.value)
            and "trust_remote_code" not in str(e.value)
            and "weights_only" not in str(e.value)
        ), e.value


@pytest.fixture(scope='module')
def cell_63239899():
    global call, commands
    def commands(command=None, path=()):  # every one that does something, with its place
        command = command or typer.main.get_command(app)
        if not hasattr(command, "commands"):
            return [(path, command)]
        return [found for name, c in command.commands.items() for found in commands(c, (*path, name))]


    def call(*arguments):  # exit code and what is said
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), (arguments, result.exception)
        return result.exit_code, "\n".join(
            line
            for line in result.stderr.splitlines()
            if line and not line.startswith("·") and not re.search(r"\[\d\d:\d\d", line)
        )  # steps and progress bars aside


    pd.DataFrame(
        [{"command": " ".join(path), "options": len(c.params), "help": c.help.split("\n")[0]} for path, c in commands()]
    )


@pytest.fixture(scope='module')
def cell_22eb243a(cell_d6d098ab, cell_63239899):
    global CALLS, attempt, base, content, desk, name, quick, t5_small
    desk = Path(tempfile.mkdtemp())
    base = train_tokenizer(lines("en", 300, seed=0), "unigram", 400)
    XLMRobertaForMaskedLM(
        XLMRobertaConfig(
            vocab_size=400,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=66,
        )
    ).save_pretrained(desk / "model")
    base.save_pretrained(desk / "model")
    t5_small = small_model("T5", base, spare=0)
    t5_small.save_pretrained(desk / "t5")
    base.save_pretrained(desk / "t5")
    for name, content in {
        "sw.txt": "\n".join(lines("sw", 200, seed=0)).encode(),
        "names.tsv": b"Maji\tO\n\n" * 40,
        "empty.txt": b"",
        "utf16.txt": "habari\n".encode("utf-16"),
        "wide.txt": "habari\n".encode("utf-16-le"),
        "latin.txt": "schön\n".encode("latin-1"),
        "program": b"\x7fELF\0\0\n",
        "photo": bytes(range(128, 256)),
    }.items():
        (desk / name).write_bytes(content)
    for name in ("bare", "full", "torn"):
        (desk / name).mkdir()
    (desk / "full/mine.txt").write_text("mine")
    (desk / "torn/config.json").write_text("{")
    base.save_pretrained(desk / "torn")
    base.save_pretrained(desk / "bare")
    quick = ("--steps", "1", "--batch-size", "2", "--length", "16")
    CALLS = {
        "inspect": ("inspect", "MODEL", "--text", "TEXT"),
        "tokenizer": ("tokenizer", "--text", "TEXT", "--vocab-size", "300", "--out", "OUT"),
        "transplant": (
            "transplant",
            "MODEL",
            "--text",
            "TEXT",
            "--vocab-size",
            "300",
            "--method",
            "identity",
            "--out",
            "OUT",
        ),
        "factorize": ("factorize", "MODEL", "--steps", "5", "--out", "OUT"),
        "lapt": ("lapt", "MODEL", "--text", "TEXT", *quick, "--out", "OUT"),
        "adapter train": ("adapter", "train", "MODEL", "--text", "TEXT", "--name", "sw", *quick, "--out", "OUT"),
        "vectors train": ("vectors", "train", "--text", "TEXT", "--out", "OUT.vec"),
        "ppl": ("evaluate", "MODEL", "--task", "ppl", "--test", "TEXT"),
        "clean": ("clean", "TEXT", "--out", "OUT"),
        "ner": ("evaluate", "MODEL", "--task", "ner", "--train", "TEXT", "--test", "TEXT", "--out", "OUT"),
        "adapt": ("adapt", "MODEL", "--text", "TEXT", "--vocab-size", "300", "--steps", "0", "--out", "OUT"),
    }


    def attempt(name, model="model", text="", out="out"):
        places = dict(
            MODEL=desk / model, TEXT=desk / (text or ("names.tsv" if name == "ner" else "sw.txt")), OUT=desk / out
        ) | {"OUT.vec": desk / f"{out}.vec"}
        return call(*(places.get(a, a) for a in CALLS[name]))


    attempt("lapt", "t5"), attempt("transplant", text="utf16.txt")


@pytest.fixture(scope='module')
def cell_68207113(cell_22eb243a):
    global MISTAKES, check_mistakes, wrong_models, wrong_outs, wrong_texts
    wrong_texts = {
        "none.txt": "no such",
        "empty.txt": "empty|too few lines|no line|no sentence",
        "utf16.txt": "utf16.txt is UTF-16 or no text",
        "wide.txt": "wide.txt is UTF-16 or no text",
        "latin.txt": "latin.txt, line 1: not UTF-8",
        "program": "program is UTF-16 or no text",
        "photo": "photo, line 1: not UTF-8",
        "bare": "is a folder|no such|tokenizer.json is JSON over several lines",
    }
    wrong_models = {
        "none": "no such|folder",
        "none/at/all": "no such|folder",
        "bare": "no config.json",
        "torn": "no readable config.json|not a valid JSON",
        "full": "no tokenizer here|no config.json",
        "sw.txt": "is a file|not a tokenizer",
    }
    wrong_outs = {"full": "exists", "sw.txt/x": "cannot write to"}
    MISTAKES = [
        (name, kind, given, match)
        for name, arguments in CALLS.items()
        for kind, mistakes in {"text": wrong_texts, "model": wrong_models, "out": wrong_outs}.items()
        for given, match in mistakes.items()
        # a tokenizer alone can be looked at
        if kind.upper() in arguments and not (name == "inspect" and given in ("bare", "torn"))
    ]


    def check_mistakes(mistakes):
        before = {p: p.stat().st_mtime_ns for p in desk.rglob("*")}
        for name, kind, given, match in mistakes:
            code, said = attempt(name, **{kind: given})
            assert code == 1 and re.search(match, said) and "\n" not in said, (name, kind, given, said)
            assert kind == "out" or said.startswith("vocab-lit: "), (name, kind, given, said)
        assert {p: p.stat().st_mtime_ns for p in desk.rglob("*")} == before


    f"{len(MISTAKES)} mistakes"


def test_what_is_transplanted_is_right_for_tokenizers_models_and_methods_of_every_kind(cell_0f7df609, cell_20985475, cell_8d8bcf4a):
    found = try_out(pick(len(ARCHITECTURES)))
    assert as_foreseen(found), found[found.refused != ""].to_string()
    assert (
        {*map(sequence_of, found.method)} == {*map(sequence_of, RECIPES)}
        and {*found.old} == {*found.new} == {*FAMILIES}
        and {*zip(found.model, found.tied)} == {*ARCHITECTURES}
    )


@pytest.mark.slow
def test_the_same_for_every_method_with_every_model_and_every_new_tokenizer(cell_0f7df609, cell_20985475, cell_8d8bcf4a):
    old = itertools.cycle(FAMILIES)
    assert as_foreseen(
        try_out(
            [
                (next(old), new, *model, method)
                for new, model, method in itertools.product(FAMILIES, ARCHITECTURES, sorted(RECIPES))
            ]
        )
    )


def test_a_model_with_token_rows_in_an_unknown_place_is_refused_by_name(cell_0f7df609, cell_d6d098ab):
    class BertOfNextYear(BertForMaskedLM):
        def __init__(self, config):
            super().__init__(config)
            self.pairs = nn.Parameter(torch.zeros(2 * config.vocab_size, 3))


    old = FAMILIES["unigram"](WORDS)
    unknown = BertOfNextYear(BertConfig(vocab_size=len(old), **BODY))
    before = {k: v.clone() for k, v in unknown.state_dict().items()}
    with pytest.raises(ValueError, match="a BertOfNextYear cannot be given another vocabulary: pairs of shape .* depends"):
        transplant(unknown, old, FAMILIES["bpe"](WORDS), "identity")
    assert all(torch.equal(v, before[k]) for k, v in unknown.state_dict().items())


def test_whatever_is_extended_by_whatever_old_ids_and_rows_stay_and_new_pieces_are_found(cell_0f7df609, cell_d6d098ab, cell_20985475, cell_d752ed25):
    made = {pair: extended(*pair) for pair in itertools.product(FAMILIES, FAMILIES)}


    def kind(t):
        return Vocab.from_tokenizer(t).dialect


    for (before, after), (old, language, new) in made.items():
        a, b = kind(old), kind(language)
        alike = a.model == b.model and (a.model != "BPE" or (a.byte_level, a.mark, a.end) == (b.byte_level, b.mark, b.end))
        assert isinstance(new, str) != alike and (
            alike or ("one of the same kind" in new if a.model != b.model else "marks words by" in new)
        ), (before, after, new)
        if not alike:
            continue
        source, target, ids = Vocab.from_tokenizer(old), Vocab.from_tokenizer(new), new.get_vocab()
        assert all(ids[p] == i for p, i in old.get_vocab().items()) and new.special_tokens_map == {
            k: v for k, v in old.special_tokens_map.items() if isinstance(v, str)
        }
        assert all(
            new(text)["input_ids"] == old(text)["input_ids"] for text in ("maji moto", "gari 1 na 2!", " na maji <sw>")
        ), (before, after)
        assert [t.key for t in target.tokens[: len(source)] if t.kind == "text"] == [
            t.key for t in source if t.kind == "text"
        ]
        if before not in ("suffix", "byte-fallback", "characters"):
            assert len(new.tokenize("soko zebra")) == 2, (before, after)  # toys of these families have no merges
        model = small_model("XLM-R", old)
        rows = model.get_input_embeddings().weight.detach().clone()
        if len(target) == len(source):
            continue  # Llama's bytes were all there
        result = (
            transplant(
                model, old, new, "focus", carry_vectors(vectors_of(language, 0), Vocab.from_tokenizer(language), target)
            )
            if after != "characters"
            else transplant(model, old, new, "identity")
        )
        kept = torch.tensor([t.id for t in source if t.kind != "unused"])
        assert torch.equal(model.get_input_embeddings().weight[kept], rows[kept]) and len(
            model.get_input_embeddings().weight
        ) == len(target)


def test_bpe_tokenizers_that_mark_the_ends_of_words_keep_how_they_cut_old_words(cell_0f7df609):
    letters = sorted(set("majitofu"))
    vocab = [*NAMES, *letters, *(f"{c}</w>" for c in letters), "maji", "ma", "ji</w>", "maji</w>", "ji"]
    made = Tokenizer(
        models.BPE(
            {p: i for i, p in enumerate(vocab)},
            [("m", "a"), ("j", "i"), ("j", "i</w>"), ("ma", "ji"), ("ma", "ji</w>")],
            end_of_word_suffix="</w>",
            unk_token="<unk>",
        )
    )
    made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.BPEDecoder()
    old = fast(made)
    both = Tokenizer(
        models.BPE(
            {p: i for i, p in enumerate([*NAMES, *letters, *(f"{c}</w>" for c in letters), "mo", "to</w>", "moto</w>"])},
            [("m", "o"), ("t", "o</w>"), ("mo", "to</w>")],
            end_of_word_suffix="</w>",
            unk_token="<unk>",
        )
    )
    both.pre_tokenizer, both.decoder = pre_tokenizers.BertPreTokenizer(), decoders.BPEDecoder()
    new = expand_tokenizer(old, fast(both), 100)
    assert (
        old.tokenize("maji majifu") == new.tokenize("maji majifu") == ["maji</w>", "maji", "f", "u</w>"]
        and old.tokenize("moto") == ["m", "o", "t", "o</w>"]
        and new.tokenize("moto") == ["moto</w>"]
    )


def test_every_model_is_trained_on_or_refused_in_a_sentence(cell_0f7df609, cell_d6d098ab, cell_3054af97):
    for name, row in learnt.iterrows():
        refused = {k for k, v in row.items() if isinstance(v, str)}
        wanted = {"adapter"} if name in ("DistilBERT", "ALBERT", "GPT-2", "Llama") else set()
        assert refused == ({"LAPT", "adapter"} if "T5" in name else wanted), name
        for k in set(row.index) - refused:
            assert np.isfinite(row[k]).all() and len(row[k]) == 2
        if "LAPT" in refused:
            assert "is an encoder-decoder, which is pretrained in another way" in row.LAPT
        if "adapter" in refused:
            assert "adapters go into encoders whose layers end in a normalisation" in row.adapter
    tokenizer = FAMILIES["unigram"](WORDS)
    with pytest.raises(
        ValueError,
        match="the embeddings have 10 dimensions and the layers 12; an invertible adapter needs the same number in both",
    ):
        MadX(small_model("ELECTRA", tokenizer)).add_language("sw")


def test_every_family_of_tokenizers_can_be_trained_with_and_masks_know_no_ids_that_no_piece_has(cell_0f7df609, cell_3054af97):
    for family, make in FAMILIES.items():
        tokenizer = make(WORDS)
        assert not isinstance(trained("BERT", tokenizer), str), family
        ids = set(tokenizer.get_vocab().values())
        every = torch.tensor(sorted(ids)).repeat(4000 // len(ids))
        inputs, labels = mask_tokens(every, tokenizer, torch.Generator().manual_seed(0), 0.5)
        assert set(inputs.tolist()) <= ids and set(labels.tolist()) - {-100} == ids - set(tokenizer.all_special_ids), family


def test_what_is_written_is_whole_or_not_there_and_nothing_is_left_of_a_process_that_was_killed(cell_5155ee48):
    check_writers("model", "tokenizer", "text", "adapter", "vectors.vec", "record.json")


@pytest.mark.slow
def test_what_is_written_in_other_formats_is_whole_or_not_there_too(cell_5155ee48):
    check_writers("shards", "pickle", "factors", "vectors.npz")


def test_pickles_that_would_run_a_program_are_not_read(cell_0f7df609, cell_dc25e389):
    pickled = pickle.dumps(Bomb())
    os.system(f"touch {TRAP}")
    assert TRAP.exists()
    TRAP.unlink()
    pickle.loads(pickled)
    assert TRAP.exists()
    TRAP.unlink()  # the trap works
    for name, write in (
        ("zip", lambda f: torch.save({"bert.embeddings.word_embeddings.weight": Bomb()}, f)),
        ("raw", lambda f: f.write_bytes(pickled)),
    ):
        folder = model_folder(name)
        (folder / "model.safetensors").unlink()
        write(folder / "pytorch_model.bin")
        for load in (load_model, open_model):
            refused(load, folder, "its pickled weights are damaged or hold more than plain tensors; they are not read")
    vocab, array = Vocab.from_tokenizer(FAMILIES["unigram"](WORDS)), np.array([Bomb()], dtype=object)
    np.savez(nest / "plan.npz", **dict.fromkeys(("meta", "data", "indices", "indptr", "shape", "group", "step"), array))
    np.savez(nest / "vectors.npz", pieces=array, matrix=array)
    (nest / "pickle").write_bytes(pickled)
    for name in ("plain.npz", "words.bin", "words.vec", "words.model", "words.kv", "words.vec.gz", "factors.safetensors"):
        shutil.copy(nest / "pickle", nest / name)
    refused(lambda f: Plan.load(f, vocab), nest / "plan.npz", "damaged or no plan")
    refused(lambda f: Plan.load(f, vocab), nest / "plain.npz", "damaged or no plan")
    for name in ("vectors.npz", "plain.npz", "words.bin", "words.vec", "words.model", "words.kv", "words.vec.gz"):
        refused(open_words, nest / name, name)
    refused(load_factors, nest / "factors.safetensors", "holds no factors")
    refused(load_embedding, nest / "factors.safetensors", "holds no factorised embeddings")


def test_python_files_beside_a_model_are_not_imported(cell_0f7df609, cell_dc25e389):
    folder = model_folder("own code")
    (folder / "evil.py").write_text(f"open({str(TRAP)!r}, 'w')\nclass C: pass\n")
    config, tokens = (json.loads((folder / f).read_text()) for f in ("config.json", "tokenizer_config.json"))


    def put(**more):
        (folder / "config.json").write_text(
            json.dumps(
                config
                | dict(auto_map={"AutoConfig": "evil.C", "AutoModelForMaskedLM": "evil.C", "AutoModel": "evil.C"}, **more)
            )
        )


    put()
    assert type(load_model(folder)) is BertForMaskedLM and not TRAP.exists()  # a class that transformers has
    (folder / "tokenizer_config.json").write_text(
        json.dumps(tokens | dict(auto_map={"AutoTokenizer": ["evil.C", "evil.C"]}, tokenizer_class="C"))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.input", lambda *_: "y")  # to "Do you wish to run the custom code?"
        put(model_type="evil")
        for load in (load_model, open_model, load_tokenizer):
            refused(load, folder, "needs Python code of its own, which is not run here")
        (folder / "tokenizer_config.json").write_text(json.dumps(tokens))
        assert load_tokenizer(folder).get_vocab() == FAMILIES["unigram"](WORDS).get_vocab() and not TRAP.exists()


def test_an_index_cannot_lead_out_of_its_folder(cell_dc25e389):
    for name, weights in (("shards", "model.safetensors"), ("bins", "pytorch_model.bin")):
        folder = model_folder(name, max_shard_size="4KB")
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        (folder / "model.safetensors.index.json").unlink()
        file = sorted(index["weight_map"].values())[0]
        shutil.move(folder / file, nest / file)
        for elsewhere in (f"../{file}", str(nest / file), f"x/../../{file}"):
            (folder / f"{weights}.index.json").write_text(
                json.dumps(
                    index | {"weight_map": {k: elsewhere if v == file else v for k, v in index["weight_map"].items()}}
                )
            )
            for load in (load_model, open_model):
                refused(load, folder, f"{weights}.index.json names .*, which is not in the folder")


def test_a_checkpoint_that_would_run_a_program_is_not_resumed_from(cell_0f7df609, cell_d6d098ab, cell_3054af97, cell_dc25e389):
    class Stop(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if state.global_step == 2:
                raise KeyboardInterrupt


    tokenizer, two = FAMILIES["unigram"](WORDS), LaptConfig(steps=3, batch_size=2, length=8, eval_every=1)


    def run(folder, **more):
        return lapt(small_model("BERT", tokenizer), tokenizer, TEXT, TEXT[:20], two, folder=folder, **more)


    with pytest.raises(KeyboardInterrupt):
        run(nest / "run", callbacks=[Stop()])
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin", "pytorch_model.bin"):
        folder = nest / f"run {name}"
        shutil.copytree(nest / "run", folder)
        last = folder / "checkpoint-2"
        if name == "pytorch_model.bin":
            (last / "model.safetensors").unlink()
        torch.save(Bomb(), last / name)
        if name == "training_args.bin":
            assert len(run(folder, resume=True)) and not TRAP.exists()  # it is never read
        else:
            refused(lambda f: run(f, resume=True), folder, r"checkpoint-2 is damaged \(more than plain tensors\)")


def test_help_says_what_every_command_and_every_option_is_for_with_an_example(cell_63239899):
    for path, command in commands():
        assert command.help and command.help.strip().split("\n")[0].endswith("."), path
        if any(p.name != "as_json" for p in command.params):
            assert f"Example: `vocab-lit {' '.join(path)}" in command.help, path
        for p in command.params:
            assert getattr(p, "help", None), (path, p.name)
        code, said = call(*path, "--help")
        assert code == 0 and not said
        assert call(*path, "--no-such-option")[0] == 2
    assert call("nothing")[0] == 2 and call("adapter", "nothing")[0] == 2


def test_what_is_wrong_is_told_in_a_line_and_nothing_is_written(cell_22eb243a, cell_68207113):
    told = MISTAKES[::3]
    assert {name for name, *_ in told} == {*CALLS} and {given for *_, given, _ in told} == {
        *wrong_texts,
        *wrong_models,
        *wrong_outs,
    }
    check_mistakes(told)
    for name in ("lapt", "adapter train"):
        assert attempt(name, "t5")[0] == 1


@pytest.mark.slow
def test_every_mistake_of_every_command_is_told_in_a_line(cell_68207113):
    check_mistakes(MISTAKES)


def test_a_full_disk_is_one_line_too_and_leaves_no_folder_under_the_name_that_was_asked_for(cell_22eb243a):
    import joblib  # noqa: F401  (which tries at its import whether it can write)

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)


    def attempt_within(room, name):  # bytes of a file
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
            return attempt(name)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


    for name in ("clean", "adapt"):  # which remember lines in a temporary file
        assert attempt_within(1, name) == (1, f"vocab-lit: cannot write {tempfile.gettempdir()}: File too large")


    def table_in_memory(room):
        return memoryview(bytearray(8 * room)).cast("Q")


    for name in ("tokenizer", "transplant", "factorize", "lapt", "adapter train", "vectors train", "clean", "adapt"):
        for room in (1, 700):
            with mock.patch.object(_Hashes, "_table", staticmethod(table_in_memory)):
                code, said = attempt_within(room, name)
            assert code == 1 and re.fullmatch(r"vocab-lit: cannot write \S*/out\S*: .*File too large.*", said), (
                name,
                room,
                said,
            )
            assert name in ("lapt", "adapter train", "adapt") or not list(desk.glob("*out*")), name
            assert (
                not list(desk.glob(".*"))
                and not list(desk.glob("out/*.safetensors"))
                and not (desk / "out/config.json").exists()
            )
            shutil.rmtree(desk / "out", ignore_errors=True)
