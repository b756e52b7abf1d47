"""Four models of less than two million parameters, each trained on a laptop in half an hour or less."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import transformers
from tqdm.auto import tqdm

from studies.constructed import LANGUAGES, world_of
from vocab_lit.tasks.config import NO_EARLY_STOP
from vocab_lit.tasks.settings import SPLITS
from vocab_lit.tasks.tagging import TaggingConfig
from vocab_lit.text.corpus import Lines, data_path, mix, sampling_weights, write_json
from vocab_lit.text.phrasebook import SOURCE_LOCALES
from vocab_lit.tokens.tokenizer import train_tokenizer
from vocab_lit.training.lm_data import MaskedBlocks, PackedBlocks, pack
from vocab_lit.training.settings import LaptConfig

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class ModelRecipe:
    "Everything that decides what a small model becomes; the defaults are mini-xlmr's."

    architecture: str = "xlm-roberta"  # or bert, roberta, gpt2
    locales: tuple = SOURCE_LOCALES  # languages; the first of each world is paired most often
    # languages on which it is evaluated without having met them
    unseen: tuple = ("sw", "et", "uz", "uk", "ur", "ne", "am", "km", "si")
    vocab_size: int = 8000
    frames: int = 10_000  # per CLDR locale, English twice as many
    events: int = 16_000  # per constructed language
    alpha: float = 1.0  # of language sampling; below 1, the blocks of small languages are repeated
    tokenizer_lines: int = 2500  # per language in the text of the tokenizer; from a folder they are sampled with alpha
    character_coverage: float = 1.0  # share of that text whose characters are kept
    pair_share: float = 0.3  # share of blocks with translation pairs; a folder has none
    length: int = 72  # tokens in a block
    layers: int = 3
    dim: int = 128
    heads: int = 4
    feed_forward: int = 384
    sinusoids: bool = False  # whether position embeddings start as sines and cosines
    steps: int = 8000
    batch_size: int = 32
    learning_rate: float = 2.5e-3
    warmup: float = 1 / 30  # share of the steps
    mask_probability: float = 0.2
    causal_steps: int = 0  # of a masked model: steps before the others, in which it predicts the next token
    seed: int = 0

    def __post_init__(self):
        if self.causal_steps and self.architecture == "gpt2":
            raise ValueError("causal_steps come before the steps of a masked model; gpt2 is causal, give it steps only")


_CONSTRUCTED = tuple(code for code, language in LANGUAGES.items() if language.group == "source")
_CONSTRUCTED_UNSEEN = tuple(code for code, language in LANGUAGES.items() if language.group != "source")
_MBERT_LOCALES = ("en", "ar", "de", "fr", "es", "tr", "fi", "ru", "fa", "hi", "ka", "id")
_MBERT_UNSEEN = ("sw", "et", "uk", "ur", "mr", "el", "he", "am", "km", "si")
_ENGLISH = dict(
    locales=("en",), unseen=("fr", "de", "zh", "sw", "gd", "ug"), vocab_size=2000, frames=40_000, pair_share=0
)
RECIPES = {
    "mini-xlmr": ModelRecipe(),
    "mini-mbert": ModelRecipe("bert", (*_MBERT_LOCALES, *_CONSTRUCTED), (*_MBERT_UNSEEN, *_CONSTRUCTED_UNSEEN)),
    "mini-roberta": ModelRecipe("roberta", **_ENGLISH, steps=5000),
    "mini-gpt2": ModelRecipe("gpt2", **_ENGLISH, steps=3000),
}
_FIELD_UNSEEN = "pt pl fa hi zh id vi el ko ka th te cop et lv mt cy ga kk"
FIELD_RECIPES = {  # of models that are trained on a folder of text, and not in the installed package
    "field-xlmr": ModelRecipe(
        locales=("en", "de", "fr", "es", "ru", "tr", "fi", "ar"),
        unseen=tuple(_FIELD_UNSEEN.split()),
        vocab_size=12_000,
        alpha=0.3,
        tokenizer_lines=15_000,
        character_coverage=0.9995,
        pair_share=0,
        length=128,
        layers=4,
        dim=256,
        feed_forward=1024,
        sinusoids=True,
        causal_steps=3_000,
        steps=10_000,
        batch_size=16,
        learning_rate=1.5e-3,
        mask_probability=0.3,
    )
}
_TOKENIZERS = {
    "xlm-roberta": dict(kind="unigram", split_digits=True),
    "bert": dict(kind="wordpiece"),
    "roberta": dict(kind="bpe"),
    "gpt2": dict(kind="bpe"),
}


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
    recipe: ModelRecipe = ModelRecipe(),
    folder: str | Path | None = None,  # as in `text_of`
) -> PreTrainedTokenizerFast:
    "A tokenizer of the architecture's kind, over text of all source languages."
    is_gpt2 = recipe.architecture == "gpt2"
    tokenizer = train_tokenizer(
        _tokenizer_text(recipe, folder),
        vocab_size=recipe.vocab_size + 4 * is_gpt2,
        max_length=recipe.length,
        character_coverage=recipe.character_coverage,
        **_TOKENIZERS[recipe.architecture],
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
    recipe: ModelRecipe = ModelRecipe(),
) -> torch.Tensor:  # (n, length) token ids
    "Blocks that start with a whole translation pair and are filled up with the next ones."
    rng, pairs, worlds = np.random.default_rng(recipe.seed), [], _worlds_with_pairs(recipe)
    with tqdm(total=n, desc="translation pairs", delay=2) as bar:
        while len(pairs) < n:
            world, codes = worlds[rng.integers(len(worlds))] if len(worlds) > 1 else worlds[0]
            a, b = _two_languages(codes, rng)
            parallel = world.parallel(str(a), str(b), 60, seed=1_000_000 + len(pairs))
            first, second = (
                tokenizer([pair[side].text for pair in parallel], verbose=False)["input_ids"] for side in (0, 1)
            )
            joined = [x + y for x, y in zip(first, second)]
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
    recipe: ModelRecipe = ModelRecipe(),
    folder: str | Path | None = None,  # as in `text_of`
) -> torch.Tensor:  # (n_blocks, length) token ids
    "Blocks of every language, and translation pairs in the recipe's share."
    packed = {
        code: pack(tokenizer, text_of(recipe, i, folder=folder), recipe.length)
        for i, code in enumerate(tqdm(recipe.locales, desc="text"))
    }
    plain = in_proportion(packed, recipe.alpha, recipe.seed)
    n_pairs = 0 if folder else round(len(plain) * recipe.pair_share / (1 - recipe.pair_share))
    return torch.cat([plain, pair_blocks(tokenizer, n_pairs, recipe)]) if n_pairs else plain


_ROBERTA = dict(type_vocab_size=1, layer_norm_eps=1e-5)
_ARCHITECTURES = {  # classes of transformers, and options of the configuration
    "xlm-roberta": ("XLMRobertaForMaskedLM", "XLMRobertaConfig", _ROBERTA),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", _ROBERTA),
    "bert": ("BertForMaskedLM", "BertConfig", dict(type_vocab_size=2)),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {}),
}


def _shape(tokenizer, recipe):
    "What the configurations of all architectures are told."
    if tokenizer.bos_token:
        first, last = tokenizer.bos_token_id, tokenizer.eos_token_id
    else:
        first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
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


def _feed_forward_without_dropout(recipe):
    if recipe.architecture == "gpt2":
        return dict(n_inner=recipe.feed_forward, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    dropout = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return dict(intermediate_size=recipe.feed_forward, **dropout)


def untrained_model(tokenizer: PreTrainedTokenizerFast, recipe: ModelRecipe = ModelRecipe()) -> PreTrainedModel:
    "An untrained model of the recipe's shape; the same seed gives the same weights."
    model_class, config_class, options = _ARCHITECTURES[recipe.architecture]
    options = options | _shape(tokenizer, recipe) | _feed_forward_without_dropout(recipe)
    config = getattr(transformers, config_class)(**options)
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
        raise ValueError(
            f"{file.parent} holds a run with another {different}; resume it as it was started, or give another folder"
        )


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
    return LaptConfig(
        steps=recipe.steps,
        learning_rate=recipe.learning_rate,
        batch_size=recipe.batch_size,
        micro_batch=micro_batch,
        length=recipe.length,
        warmup=recipe.warmup,
        weight_decay=0.01,
        schedule="linear",
        betas=(0.9, 0.98),
        mask_probability=recipe.mask_probability,
    )


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
    from vocab_lit.models.source import is_masked

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
    from vocab_lit.training.contexts import answering_with_loss
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
    recipe: ModelRecipe = ModelRecipe(),
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
        return data_path("models", name)
    except FileNotFoundError:
        advice = f"take it from the repository, or train it with `{_command(name)} --text FOLDER`"
        raise FileNotFoundError(f"{name} is not in the installed package; {advice}") from None


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
    return heldout_loss(model, tokenizer, lines, seed=0, length=tokenizer.model_max_length)


def measure(
    folder: str | Path,  # with the model and its training.csv
    recipe: ModelRecipe = ModelRecipe(),
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


_CARD = """# {name}

A small {what} language model for learning how vocabulary transfer works. It is not meant for any other use.

- **Architecture**: {like}, {layers} layers of {dim}, {heads} heads, feed-forward {feed_forward}, {length} positions,
  tied embeddings, {parameters:,} parameters; weights stored in half precision, loaded in single precision.
- **Tokenizer**: {tokenizer}, {vocab_size:,} tokens.
- **Text**: {text}{departure}
- **Training**: {steps:,} steps of {batch_size} x {length} tokens, {asking}, AdamW, peak rate {learning_rate}, warm-up
  and linear decay, no dropout, seed {seed}. `training.csv` holds the loss curve.
- **Made by**: {made_by}

Loss in nats per {asked} on held-out {heldout} (`heldout.json`; a uniform guess costs {uniform:.2f}):

| language | loss |
|---|---|
{rows}

The last {n_unseen} were not in training; the model reads them with its own tokenizer. {unknown}
"""
_DEPARTURE = """
- **Departure from {original}**: {pair_share:.0%} of the blocks hold translation pairs (translation language modelling,
  as in XLM)."""
_WITH_UNKNOWN = (
    "Unknown tokens are not asked for, so the loss of a language whose script the tokenizer lacks is only that of "
    "its digits and punctuation."
)
_WITHOUT_UNKNOWN = (
    "No token is unknown: a word that the vocabulary lacks is tokenized into subwords, down to single bytes, and each "
    "is asked for."
)
_LIKE = {
    "xlm-roberta": dict(
        name="mini-xlmr",
        original="XLM-R",
        like="XLM-R's (`XLMRobertaForMaskedLM`)",
        tokenizer="SentencePiece Unigram with XLM-R's special tokens, every digit a token of its own",
    ),
    "bert": dict(
        name="mini-mbert",
        original="multilingual BERT",
        like="BERT's (`BertForMaskedLM`)",
        tokenizer="cased WordPiece with BERT's special tokens",
    ),
    "roberta": dict(
        name="mini-roberta",
        original="RoBERTa",
        like="RoBERTa's (`RobertaForMaskedLM`)",
        tokenizer="byte-level BPE with RoBERTa's special tokens and a space before the first word",
    ),
    "gpt2": dict(
        name="mini-gpt2",
        original="GPT-2",
        like="GPT-2's (`GPT2LMHeadModel`)",
        tokenizer="byte-level BPE with GPT-2's special token and a space before the first word",
    ),
}
_PHRASEBOOK = (
    "the `vocab_lit` phrasebook, rendered from the Unicode CLDR through Babel: lists of facts about territories, "
    "languages, currencies, dates and measures in "
)


def _worlds_described(recipe):
    "The text of each world in words."
    cldr = [code for code in recipe["locales"] if code not in LANGUAGES]
    made = [code for code in recipe["locales"] if code in LANGUAGES]
    frames = recipe["frames"]
    if cldr == ["en"]:
        yield f"{_PHRASEBOOK}English, {2 * frames:,} frames"
    elif cldr:
        yield f"{_PHRASEBOOK}{len(cldr)} languages ({' '.join(cldr)}), {frames:,} frames each, English twice as many"
    if made:
        languages = f"each of {len(made)} languages ({' '.join(made)})"
        yield f"the constructed world of `vocab_lit`, {recipe['events']:,} sentences in {languages}"


def _text_described(record):
    "What the model has read."
    recipe = record["recipe"]
    if "sources" not in record:
        return "; ".join(_worlds_described(recipe)) + ". No text written by people."
    languages = f"{len(recipe['locales'])} languages ({' '.join(recipe['locales'])})"
    return f"{languages}, sampled with alpha {recipe['alpha']:g}. {record['sources']}"


def _command(name):
    return f"python -m studies.bundled_models --model {name}"


def _made_by(record, name):
    "The command, and what it took."
    if "sources" not in record:
        english = len(record["recipe"]["locales"]) == 1
        took = "a quarter of an hour" if english else "half an hour"
        return f"`{_command(name)} --out DIR` (or `make mini-model`), about {took} on one CPU core."
    run = record["run"]
    versions = ", ".join(f"{package} {number}" for package, number in run["versions"].items())
    return (
        f"`{_command(name)} --text FOLDER --out DIR`; {run['tokens'] / 1e6:,.1f} million tokens in "
        f"{run['seconds']:,} seconds on {run['machine']}, {run['date']} ({versions})."
    )


def model_card(record: dict) -> str:  # Markdown
    "The model card that goes with the stored model."
    recipe = asdict(ModelRecipe()) | record["recipe"]  # older records lack what was the default
    record = record | {"recipe": recipe}
    like = _LIKE[recipe["architecture"]]
    what, asking, asked = "masked", f"masking {recipe['mask_probability']:.0%}", "masked token"
    if recipe["architecture"] == "gpt2":
        what, asking, asked = "causal", "every token asked for from those before it", "token"
    if recipe["causal_steps"]:
        asking += f" (and {recipe['causal_steps']:,} steps before them that predict the next token)"
    departure = _DEPARTURE.format(**recipe, **like) if recipe["pair_share"] else ""
    heldout = "frames"
    if "sources" in record:
        like, departure, heldout = like | {"name": "field-xlmr"}, "", "lines"
    byte_level = _TOKENIZERS[recipe["architecture"]]["kind"] == "bpe"
    losses = {**record["source"], **record["unseen"]}
    return _CARD.format(
        **recipe,
        **like,
        text=_text_described(record),
        made_by=_made_by(record, like["name"]),
        heldout=heldout,
        n_unseen=len(record["unseen"]),
        parameters=record["parameters"],
        uniform=record["uniform"],
        what=f"{'multilingual' if len(recipe['locales']) > 1 else 'monolingual'} {what}",
        asking=asking,
        asked=asked,
        departure=departure,
        unknown=_WITHOUT_UNKNOWN if byte_level else _WITH_UNKNOWN,
        rows="\n".join(f"| {code} | {loss:.2f} |" for code, loss in losses.items()),
    )


POS_CONFIG = TaggingConfig(
    learning_rate=5e-4,
    batch_size=32,
    epochs=4,
    eval_every=1,
    patience=NO_EARLY_STOP,
    max_length=128,
    schedule="linear",
    warmup_steps=0.1,
)


def check_treebanks(folder: str | Path, train: str = "en") -> None:
    "`ValueError` where a treebank of the tagger's language is missing."
    for split in SPLITS:
        if not (Path(folder) / f"{train}.{split}.conllu").is_file():
            raise ValueError(f"no {train}.{split}.conllu in {folder}, which zero-shot tagging needs")


def zero_shot_pos(
    name: str | Path,  # as in `load_source_model`
    treebanks: str | Path,  # folder with CODE.train.conllu, CODE.dev.conllu and CODE.test.conllu
    train: str = "en",  # language of the tagger
    seeds: tuple = (0, 1, 2),
    n_train: int = 4000,  # sentences to train on, at most
    n_test: int = 500,  # sentences of each language to test on, at most
    random_weights: bool = False,  # whether the model is randomly initialised first
    config: TaggingConfig = POS_CONFIG,
) -> pd.DataFrame:  # a row per seed; accuracy, 0 to 1, in a column for each language with a test treebank
    "Fine-tune a tagger on one language and test it on others."
    import pandas as pd

    from vocab_lit.tasks.finetune import evaluate, fine_tune
    from vocab_lit.tasks.tagging import read_conllu

    check_treebanks(treebanks, train)
    model, tokenizer = load_source_model(name)
    if random_weights:
        model = _randomly_initialised(model)

    def sentences(code, part, n):
        return read_conllu(Path(treebanks) / f"{code}.{part}.conllu")[:n]

    split = sentences(train, "train", n_train), sentences(train, "dev", n_test)
    codes = [file.name.split(".")[0] for file in sorted(Path(treebanks).glob("*.test.conllu"))]
    tests = {code: sentences(code, "test", n_test) for code in codes}
    rows = []
    for seed in tqdm(seeds, desc=f"zero-shot POS of {Path(name).name}"):
        tagger = fine_tune(model, tokenizer, *split, tests[train], "pos", seed, config).model
        accuracy = {code: evaluate(tagger, tokenizer, test, "pos", config)["accuracy"] for code, test in tests.items()}
        rows.append({"train": train, "seed": seed, **accuracy})
    return pd.DataFrame(rows)


def _randomly_initialised(model):
    "A model of the same shape with random weights of seed 0."
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return type(model)(model.config)


_TRANSFER = """
Accuracy of part-of-speech tagging, in percent: a tagger is fine-tuned on {train} and tags the other languages as it is
({seeds} seeds, mean and standard deviation; `zero_shot.json`).

{table}
"""


def transfer_section(
    found: pd.DataFrame,  # from `zero_shot_pos`, with a column model
) -> str:  # Markdown
    "The part of a model card about zero-shot transfer."
    scores = found.drop(columns=["seed", "train"]).groupby("model", sort=False)
    mean, spread = 100 * scores.mean(), 100 * scores.std(ddof=1)
    lines = ["| language | " + " | ".join(mean.index) + " |", "|---" * (1 + len(mean)) + "|"]
    for code in mean.columns:
        cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(mean[code], spread[code])]
        lines.append(f"| {code} | " + " | ".join(cells) + " |")
    return _TRANSFER.format(train=found.train.iloc[0], seeds=found.seed.nunique(), table="\n".join(lines))


def measure_transfer(
    folder: str | Path,  # with a model and its heldout.json
    treebanks: str | Path,
    **options,  # as in `zero_shot_pos`
) -> pd.DataFrame:  # columns model, train, seed and languages
    "Measure zero-shot transfer beside two baselines; write `zero_shot.json` and add a section to the model card."
    import pandas as pd

    folder = Path(folder)
    compared = (
        (folder.resolve().name, folder, False),
        ("random weights", folder, True),
        ("mini-xlmr (bundled)", "mini-xlmr", False),
    )
    parts = [
        zero_shot_pos(name, treebanks, random_weights=random_weights, **options).assign(model=label)
        for label, name, random_weights in compared
    ]
    found = pd.concat(parts, ignore_index=True)
    write_json(found.to_dict("records"), folder / "zero_shot.json")
    record = json.loads((folder / "heldout.json").read_text(encoding="utf-8"))
    (folder / "README.md").write_text(model_card(record) + transfer_section(found), encoding="utf-8")
    return found


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m studies.bundled_models",
        description="Train a bundled model, or a source model on a folder of text. "
        "The same command resumes an interrupted run.",
    )
    models = [*RECIPES, *FIELD_RECIPES]
    parser.add_argument("--model", choices=models, default="mini-xlmr", help="which one (default: %(default)s)")
    parser.add_argument("--out", help="folder for the model (default: its name)")
    parser.add_argument(
        "--text",
        help="field-xlmr: folder with CODE.train.txt and CODE.heldout.txt of each language, perhaps compressed; "
        "its sources.md goes into the model card",
    )
    parser.add_argument(
        "--treebanks",
        help="folder with en.train.conllu, en.dev.conllu and CODE.test.conllu of each language: "
        "measure zero-shot POS tagging of the trained model",
    )
    parser.add_argument("--steps", type=int, help="optimizer steps (default: its recipe's)")
    parser.add_argument("--frames", type=int, help="frames per locale (default: its recipe's)")
    parser.add_argument("--seed", type=int, help="default: its recipe's")
    parser.add_argument("--micro-batch", type=int, default=0, help="blocks in one forward pass (default: at most 32)")
    parser.add_argument(
        "--bf16",
        action="store_true",
        help="multiply in bfloat16 on a CPU: twice as fast with AMX or AVX512-BF16, slower without",
    )
    return parser


def _train_as_asked(asked, out):
    if (asked.model in FIELD_RECIPES) != bool(asked.text):
        raise ValueError("--text FOLDER goes with field-xlmr")
    recipe = {**RECIPES, **FIELD_RECIPES}[asked.model]
    changed = {key: value for key in ("steps", "frames", "seed") if (value := getattr(asked, key)) is not None}
    options = dict(text=asked.text, micro_batch=asked.micro_batch, bf16=asked.bf16)
    return train_source_model(out, replace(recipe, **changed), **options)


def main(arguments=None):
    "`python -m studies.bundled_models --out DIR`, with `--model field-xlmr --text FOLDER` on real text"
    parser = _parser()
    asked = parser.parse_args(arguments)
    out = Path(asked.out or asked.model)
    try:
        if asked.treebanks:
            check_treebanks(asked.treebanks)
        if not (asked.treebanks and is_trained(out)):
            print(_train_as_asked(asked, out))
        if asked.treebanks:
            accuracy = measure_transfer(out, asked.treebanks).drop(columns=["train", "seed"])
            print(accuracy.groupby("model", sort=False).mean())
    except (ValueError, OSError) as e:
        parser.error(str(e))


if __name__ == "__main__" and "__file__" in globals():
    main()  # not in a notebook
