"""Four models of less than two million parameters, each trained on a laptop in half an hour or less."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import transformers
from tqdm.auto import tqdm

from studies.models.cards import model_card, training_command
from studies.models.recipes import FIELD_RECIPES, RECIPES, TOKENIZERS, XLMR, ModelRecipe
from testkit.constructed import LANGUAGES, world_of
from vocab_lit.text.corpus import Lines, data_path, mix, sampling_weights, write_json
from vocab_lit.text.documents import as_documents
from vocab_lit.tokens.train import train_tokenizer
from vocab_lit.training.lm_data import MaskedBlocks, PackedBlocks, pack
from vocab_lit.training.settings import LaptConfig

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


def text_file(
    folder: str | Path,
    code: str,  # a language
    part: str,  # train or heldout
) -> Path:
    "The file CODE.PART.txt of a folder, perhaps compressed; `ValueError` where there is none."
    found = sorted(Path(folder).glob(f"{code}.{part}.txt*"))
    if len(found) != 1:
        names = f"{code}.{part}.txt (or .txt.gz, .txt.bz2, .txt.xz)"
        raise ValueError(f"expected one file {names} in {folder}, found {len(found)}")
    return found[0]


def check_text(folder: str | Path, recipe: ModelRecipe) -> None:
    "`ValueError` where a file of text that the recipe needs is missing."
    for code in recipe.locales:
        text_file(folder, code, "train")
    for code in (*recipe.locales, *recipe.unseen):
        text_file(folder, code, "heldout")


def text_of(
    recipe: ModelRecipe,
    i: int,  # which of the recipe's languages
    n: int | None = None,  # how many sentences; None: the recipe's number, or the whole file
    folder: str | Path | None = None,  # of text; None: phrasebook and constructed world
) -> Iterable[str]:  # which can be read again
    "Training text in one of the recipe's languages; each says other things."
    code = recipe.locales[i]
    if folder:
        in_file = Lines(text_file(folder, code, "train"))
        return in_file if n is None else list(islice(in_file, n))
    if n is None:
        frames = recipe.frames * (2 if code == "en" else 1)
        n = recipe.events if code in LANGUAGES else frames
    return world_of(code).lines(code, n, seed=recipe.seed + i)


def _tokenizer_text(recipe, folder):
    "The lines that the tokenizer is trained on."
    if len(recipe.locales) == 1:
        return text_of(recipe, 0, folder=folder)
    n = recipe.tokenizer_lines
    if folder:
        files = {code: text_of(recipe, i, folder=folder) for i, code in enumerate(recipe.locales)}
        return mix(files, recipe.alpha, n * len(files), recipe.seed)
    return [line for i in range(len(recipe.locales)) for line in text_of(recipe, i, n)]


def train_recipe_tokenizer(
    recipe: ModelRecipe = XLMR,
    folder: str | Path | None = None,  # as in `text_of`
) -> PreTrainedTokenizerFast:
    "A tokenizer of the architecture's kind, over text of all source languages."
    is_gpt2 = recipe.architecture == "gpt2"
    tokenizer = train_tokenizer(
        _tokenizer_text(recipe, folder),
        vocab_size=recipe.vocab_size + 4 * is_gpt2,
        max_length=recipe.length,
        character_coverage=recipe.character_coverage,
        **TOKENIZERS[recipe.architecture],
    )
    return _with_one_special(tokenizer) if is_gpt2 else tokenizer


def _with_one_special(bpe, end="<|endoftext|>"):
    "Byte-level BPE with the special token of GPT-2 instead of RoBERTa's."
    from tokenizers import Tokenizer, models, processors

    backend, special = bpe.backend_tokenizer, set(bpe.all_special_tokens)
    ordinary = [token for token in bpe.convert_ids_to_tokens(range(len(bpe))) if token not in special]
    merges = [tuple(merge) for merge in json.loads(backend.to_str())["model"]["merges"]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate([*ordinary, end])}, merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = backend.pre_tokenizer, backend.decoder
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=bpe.model_max_length,
        bos_token=end,
        eos_token=end,
        unk_token=end,
        model_input_names=["input_ids", "attention_mask"],
    )


def _worlds_with_pairs(recipe):
    "Each world with its languages, where it has more than one."
    worlds = defaultdict(list)
    for code in recipe.locales:
        worlds[world_of(code)].append(code)
    return [(world, codes) for world, codes in worlds.items() if len(codes) > 1]


def _two_languages(codes, rng):
    "Two languages of a world in either order, its first one and another half of the time."
    if rng.random() < 0.5:
        return rng.permutation([codes[0], rng.choice(codes[1:])])
    return rng.choice(codes, 2, replace=False)


def pair_blocks(
    tokenizer: PreTrainedTokenizerFast,
    n: int,  # how many blocks
    recipe: ModelRecipe = XLMR,
) -> torch.Tensor:  # (n, length) token ids
    "Blocks that start with a whole translation pair and are filled up with the next ones."
    rng, pairs, worlds = np.random.default_rng(recipe.seed), [], _worlds_with_pairs(recipe)
    with tqdm(total=n, desc="translation pairs", delay=2) as bar:
        while len(pairs) < n:
            world, codes = worlds[rng.integers(len(worlds))] if len(worlds) > 1 else worlds[0]
            a, b = _two_languages(codes, rng)
            sides = zip(*world.parallel(str(a), str(b), 60, seed=1_000_000 + len(pairs)))
            encoded = [tokenizer([one.text for one in side], verbose=False)["input_ids"] for side in sides]
            joined = [x + y for x, y in zip(*encoded)]
            fitting = [ids for ids in joined if len(ids) <= recipe.length]
            pairs += fitting
            bar.update(len(fitting))
    pairs = [pairs[i] for i in rng.permutation(len(pairs))[:n]]

    def block(i):
        following = [token for k in range(8) for token in pairs[(i + k) % n]]
        return following[: recipe.length]

    return torch.tensor([block(i) for i in range(n)])


def in_proportion(
    blocks: dict[str, torch.Tensor],  # {language: (n, length) token ids}
    alpha: float,  # 1 leaves the proportions, 0 makes all equal
    seed: int = 0,
) -> torch.Tensor:  # (n_blocks, length)
    "Blocks in the proportions of `sampling_weights`: every block once, those of small languages again."
    weights = sampling_weights({code: len(own) for code, own in blocks.items()}, alpha)
    total = max(len(own) / weights[code] for code, own in blocks.items())
    rng, parts = np.random.default_rng(seed), []
    for code, own in blocks.items():
        times, rest = divmod(round(weights[code] * total), len(own))
        parts += [own] * times + [own[rng.permutation(len(own))[:rest]]]
    return torch.cat(parts)


def training_blocks(
    tokenizer: PreTrainedTokenizerFast,
    recipe: ModelRecipe = XLMR,
    folder: str | Path | None = None,  # as in `text_of`
) -> torch.Tensor:  # (n_blocks, length) token ids
    "Blocks of every language, and translation pairs in the recipe's share."
    packed = {
        code: pack(tokenizer, as_documents(text_of(recipe, i, folder=folder)), recipe.length)
        for i, code in enumerate(tqdm(recipe.locales, desc="text"))
    }
    plain = in_proportion(packed, recipe.alpha, recipe.seed)
    n_pairs = 0 if folder else round(len(plain) * recipe.pair_share / (1 - recipe.pair_share))
    return torch.cat([plain, pair_blocks(tokenizer, n_pairs, recipe)]) if n_pairs else plain


_NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
_ROBERTA = dict(type_vocab_size=1, layer_norm_eps=1e-5, **_NO_DROPOUT)
_GPT2 = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
_ARCHITECTURES = {  # classes of transformers, what the width of the feed-forward networks is called, and options
    "xlm-roberta": ("XLMRobertaForMaskedLM", "XLMRobertaConfig", "intermediate_size", _ROBERTA),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", "intermediate_size", _ROBERTA),
    "bert": ("BertForMaskedLM", "BertConfig", "intermediate_size", dict(type_vocab_size=2, **_NO_DROPOUT)),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", "n_inner", _GPT2),
}


def _shape(tokenizer, recipe):
    "The options that the configurations of all architectures have."
    ends = ("bos", "eos") if tokenizer.bos_token else ("cls", "sep")
    first, last = (getattr(tokenizer, f"{name}_token_id") for name in ends)
    before_first = 2 * ("roberta" in recipe.architecture)  # position embeddings that RoBERTa leaves unused
    return dict(
        vocab_size=len(tokenizer),
        hidden_size=recipe.dim,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        initializer_range=0.05,
        max_position_embeddings=recipe.length + before_first,
        bos_token_id=first,
        eos_token_id=last,
        pad_token_id=tokenizer.pad_token_id,
    )


def untrained_model(tokenizer: PreTrainedTokenizerFast, recipe: ModelRecipe = XLMR) -> PreTrainedModel:
    "An untrained model of the recipe's shape, without dropout; the same seed gives the same weights."
    model_class, config_class, inner, options = _ARCHITECTURES[recipe.architecture]
    sizes = _shape(tokenizer, recipe) | {inner: recipe.feed_forward}
    config = getattr(transformers, config_class)(**options, **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        model = getattr(transformers, model_class)(config)
    if recipe.sinusoids:
        base = model.base_model
        positions = base.wpe if recipe.architecture == "gpt2" else base.embeddings.position_embeddings
        _set_sinusoids(positions.weight)
    return model


@torch.no_grad()
def _set_sinusoids(weight):  # (positions, dim)
    "Sines and cosines of geometric wavelengths (Vaswani et al., 2017), with the variance of what they replace."
    positions, dim = weight.shape
    frequencies = torch.exp(torch.arange(0, dim, 2) * (-math.log(10_000) / dim))
    angles = torch.arange(positions)[:, None] * frequencies
    weight.copy_(torch.cat([angles.sin(), angles.cos()], 1) * math.sqrt(2) * weight.std())


class LossLog(transformers.TrainerCallback):
    "Write step, loss, learning rate and seconds to a CSV file and to a progress bar."

    def __init__(self, path, steps, before=0):
        self.path, self.before, self.start = Path(path), before, time.time()  # steps before this trainer's
        self.bar = tqdm(total=steps, desc="training", unit=" steps")

    def on_train_begin(self, args, state, control, **_):
        done = self.before + state.global_step
        self.bar.update(done)
        written = self.path.read_text().splitlines()[1:] if done else []
        kept = [row for row in written if int(row.split(",")[0]) <= done]  # up to the checkpoint
        if kept:
            self.start -= int(kept[-1].split(",")[-1])  # seconds are those of the whole run
        self.path.write_text("\n".join(["step,loss,learning_rate,seconds", *kept]) + "\n")

    def on_step_end(self, args, state, control, **_):
        self.bar.update(1)

    def on_log(self, args, state, control, logs=None, **_):
        if not logs or "loss" not in logs:
            return
        self.bar.set_postfix(loss=f"{logs['loss']:.3f}")
        step, seconds = self.before + state.global_step, time.time() - self.start
        row = f"{step},{logs['loss']:.4f},{logs['learning_rate']:.3e},{seconds:.0f}\n"
        with self.path.open("a") as f:
            f.write(row)


def _note_recipe(file, recipe):
    "Write down what is being trained; `ValueError` where the folder holds a run with another recipe."
    asked = json.loads(json.dumps(asdict(recipe)))
    if not file.exists():
        write_json(asked, file)
    noted = json.loads(file.read_text(encoding="utf-8"))
    if different := ", ".join(name for name in asked if asked[name] != noted.get(name)):
        hint = "resume it as it was started, or give another folder"
        raise ValueError(f"{file.parent} holds a run with another {different}; {hint}")


def _prepared(work, recipe, text):
    "Tokenizer and packed blocks, made where an earlier run has not left them."
    if not (work / "blocks").exists():
        tokenizer = train_recipe_tokenizer(recipe, text)
        tokenizer.save_pretrained(work / "tokenizer")
        training_blocks(tokenizer, recipe, text).numpy().astype("<i4").tofile(work / "blocks.part")
        (work / "blocks.part").rename(work / "blocks")
    tokenizer = transformers.AutoTokenizer.from_pretrained(work / "tokenizer")
    return tokenizer, PackedBlocks(work / "blocks", recipe.length)


def _lapt_config(recipe, micro_batch):
    "The recipe's hyper-parameters of training."
    same = ("steps", "learning_rate", "batch_size", "length", "warmup", "mask_probability")
    shared = {name: getattr(recipe, name) for name in same}
    return LaptConfig(**shared, micro_batch=micro_batch, weight_decay=0.01, schedule="linear", betas=(0.9, 0.98))


def _causal_twin(model):
    "A causal model with the weights of a masked one."
    config = type(model.config).from_dict({**model.config.to_dict(), "is_decoder": True, "use_cache": False})
    twin = transformers.AutoModelForCausalLM.from_config(config)
    twin.set_attn_implementation(model.config._attn_implementation)
    twin.load_state_dict(model.state_dict())
    return twin


def _fit(model, tokenizer, blocks, recipe, config, work, options):
    "Train the model, from the last checkpoint in the folder if there is one."
    from vocab_lit.models.device import find_device
    from vocab_lit.models.model_class import is_masked

    log = dict(path=work / "training.csv", steps=recipe.causal_steps + recipe.steps)
    if options.get("bf16") and find_device().kind == "cpu":
        model.set_attn_implementation("eager")  # the fastest in bfloat16 on a CPU
    if recipe.causal_steps and not any(work.glob("checkpoint-*")):
        twin = _causal_twin(model)
        first = replace(config, steps=recipe.causal_steps, schedule="constant_with_warmup")
        _train(twin, _examples(blocks, None, first, recipe.seed + 1), first, work / "causal", LossLog(**log), options)
        model.load_state_dict(twin.state_dict())
    examples = _examples(blocks, tokenizer if is_masked(model) else None, config, recipe.seed)
    _train(model, examples, config, work, LossLog(**log, before=recipe.causal_steps), options)


def _examples(blocks, masks, config, seed):
    "Blocks for all steps, masked where a tokenizer for it is given."
    return MaskedBlocks(blocks, config.steps * config.batch_size, masks, seed, config.mask_probability)


def _train(model, examples, config, work, log, options):
    "Train in one way, from the last checkpoint in the folder if there is one."
    from vocab_lit.training.lm_loss import answering_with_loss
    from vocab_lit.training.trainer import LaptTrainer, training_arguments

    unevaluated = dict(eval_strategy="no", eval_on_start=False, load_best_model_at_end=False)
    arguments = training_arguments(config, examples.seed, work, save=True, **unevaluated, **options)
    trainer = LaptTrainer(model, arguments, config, train_dataset=examples, callbacks=[log])
    with answering_with_loss(model):
        trainer.train(resume_from_checkpoint=any(work.glob("checkpoint-*")) or None)


def is_trained(folder: str | Path) -> bool:
    "Whether a folder holds a model whose training has come to its end."
    return (Path(folder) / "config.json").exists() and not (Path(folder) / "work").exists()


def train_source_model(
    out: str | Path,  # folder for the model; `out/work` holds checkpoints until the end
    recipe: ModelRecipe = XLMR,
    log_every: int = 200,
    save_every: int = 500,
    text: str | Path | None = None,  # folder with CODE.train.txt and CODE.heldout.txt; None: bundled worlds
    micro_batch: int = 0,  # blocks in one forward pass; 0: as in `LaptConfig`
    bf16: bool = False,  # whether a CPU multiplies in bfloat16; a GPU uses what it does best
) -> Path:  # the folder
    "Train a small model; run again after an interruption, it resumes from the last checkpoint."
    out, work = Path(out), Path(out) / "work"
    if is_trained(out):
        raise ValueError(f"{out} already holds a model; give another folder")
    if text:
        check_text(text, recipe)
    work.mkdir(parents=True, exist_ok=True)
    _note_recipe(work / "recipe.json", recipe)
    tokenizer, blocks = _prepared(work, recipe, text)
    model = untrained_model(tokenizer, recipe)
    options = dict(logging_steps=log_every, save_steps=save_every) | ({"bf16": True} if bf16 else {})
    _fit(model, tokenizer, blocks, recipe, _lapt_config(recipe, micro_batch), work, options)
    store(model, tokenizer, out)
    shutil.copy(work / "training.csv", out / "training.csv")
    measure(out, recipe, text)
    shutil.rmtree(work)
    return out


def load_source_model(
    # a name in RECIPES or FIELD_RECIPES, or a folder that `train_source_model` wrote
    name: str | Path = "mini-xlmr",
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:  # model in evaluation mode, tokenizer
    "A small model and its tokenizer, through plain transformers."
    from vocab_lit.models.source import load_model

    folder = _bundled(name) if name in RECIPES or name in FIELD_RECIPES else name
    return load_model(folder), transformers.AutoTokenizer.from_pretrained(folder)


def _bundled(name):  # its folder
    try:
        return data_path("models", name, "model.safetensors").parent
    except FileNotFoundError:
        take = f"a checkout takes it from the repository's history by `{training_command(name)} --fetch`"
        train = f"`{training_command(name)} --text FOLDER` trains it"
        raise FileNotFoundError(f"{name} is not there; {take}, {train}") from None


_IN_HISTORY = "5db8120f"  # the last commit that has the weights of field-xlmr
_FIELD_FILES = {
    "model.safetensors": "102e1ef077b34fd28dc9a605f6a4e0d6f24c9b452f0baeef6f211ec38b330ba2",
    "tokenizer.json": "9fd1ac6b9c0520f9c0112e6aeb386d34df1d35fde98eac4352b88d22e7dcf875",
}


def fetch_field_model(folder: Path) -> Path:
    "Take the weights and the tokenizer of field-xlmr from the repository's history; the folder."
    for name, sha256 in _FIELD_FILES.items():
        git = ["git", "show", f"{_IN_HISTORY}:data/models/field-xlmr/{name}"]
        shown = subprocess.run(git, cwd=Path(__file__).parent, capture_output=True)
        if hashlib.sha256(shown.stdout).hexdigest() != sha256:
            hint = "`git fetch --unshallow` brings it where it was left out"
            raise FileNotFoundError(f"commit {_IN_HISTORY} with {name} is not in this repository's history; {hint}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(shown.stdout)
    return folder


def evaluate_language(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    code: str,
    folder: str | Path | None = None,  # with CODE.heldout.txt; None: 300 frames or events
) -> float:  # nats per target
    "Loss on held-out text in one language, in blocks as long as the model's input, with masks of seed 0."
    from vocab_lit.training.lm_loss import heldout_loss

    if folder:
        lines = Lines(text_file(folder, code, "heldout"))
    else:
        lines = world_of(code).lines(code, 300, seed=0, held_out=True)
    return heldout_loss(model, tokenizer, as_documents(lines), seed=0, length=tokenizer.model_max_length)


def measure(
    folder: str | Path,  # with the model and its training.csv
    recipe: ModelRecipe = XLMR,
    text: str | Path | None = None,  # as in `train_source_model`
) -> dict:  # what heldout.json holds
    "Evaluate the stored model and write `heldout.json` and the model card."
    folder = Path(folder)
    model, tokenizer = load_source_model(folder)
    codes = tqdm([*recipe.locales, *recipe.unseen], desc="held-out loss")
    losses = {code: round(evaluate_language(model, tokenizer, code, text), 4) for code in codes}
    record = dict(
        recipe=asdict(recipe),
        parameters=model.num_parameters(),
        uniform=round(math.log(len(tokenizer)), 4),
        run=_run_record(recipe, folder / "training.csv"),
        source={code: losses[code] for code in recipe.locales},
        unseen={code: losses[code] for code in recipe.unseen},
    )
    if text:
        record["sources"] = _sources(text)
    write_json(record, folder / "heldout.json")
    (folder / "README.md").write_text(model_card(record), encoding="utf-8")
    return record


def _run_record(recipe, training):  # the path of training.csv
    "What a training run was, beside its recipe."
    from vocab_lit.models.device import find_device

    rows = training.read_text().splitlines()[1:]
    packages = ("torch", "transformers", "tokenizers", "sentencepiece")
    return dict(
        tokens=(recipe.causal_steps + recipe.steps) * recipe.batch_size * recipe.length,
        seconds=int(rows[-1].split(",")[-1]) if rows else 0,
        machine=find_device().name,
        versions={name: version(name) for name in packages},
        date=time.strftime("%Y-%m-%d"),
    )


def _sources(text):  # folder of text
    "What sources.md in the folder says of the text."
    file = Path(text) / "sources.md"
    return file.read_text(encoding="utf-8").strip() if file.exists() else "Its folder has no sources.md."


def store(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: str | Path) -> None:
    "Save weights in half precision, configuration and tokenizer."
    from safetensors.torch import load_file, save_file

    model.config.dtype = torch.float32
    model.save_pretrained(folder)
    file = Path(folder) / "model.safetensors"
    half = {name: weight.half() for name, weight in load_file(file).items()}
    save_file(half, file, metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)
    _make_compact(Path(folder) / "tokenizer.json")


def _make_compact(file: Path) -> None:
    "Write a JSON file without line breaks and indentation: half the size, for a tokenizer."
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
