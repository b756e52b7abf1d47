"""The same experiment on a bundled model in minutes, on the paper's model, or on your own."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from studies.data.hub import StoredText
from studies.data.hub_sources import word_files
from studies.papers.adaptation import Adaptation
from studies.papers.setups import Setup, get_setup, scale_lapt
from studies.papers.snapshots import Snapshots, with_weights
from studies.papers.store import beside_book
from vocab_lit.methods.recipe import Copy, RandomMapping, Recipe
from vocab_lit.methods.registry import get_recipe
from vocab_lit.models.device import find_device
from vocab_lit.models.pipeline import embedding_vectors, smaller_model
from vocab_lit.models.source import load_model
from vocab_lit.models.trainable import only_new_rows
from vocab_lit.models.transplant import Transplant, transplant, trim_recipe
from vocab_lit.tasks.finetune import fit, prepare
from vocab_lit.tasks.settings import PERPLEXITY
from vocab_lit.text.documents import as_documents
from vocab_lit.tokens.continued import extend_on_text
from vocab_lit.tokens.expansion import expand_tokenizer
from vocab_lit.tokens.load import load_tokenizer
from vocab_lit.tokens.train import train_tokenizer_like
from vocab_lit.tokens.trim import trim
from vocab_lit.tokens.vocab import Vocab, overlap
from vocab_lit.training.distil import Teacher, snippet_rows
from vocab_lit.training.lapt import lapt
from vocab_lit.training.lm_data import PackedBlocks, pack
from vocab_lit.training.lm_loss import heldout_loss
from vocab_lit.training.perplexity import perplexity
from vocab_lit.training.settings import PRESETS, LaptConfig
from vocab_lit.training.stages import total_steps
from vocab_lit.vectors.align import AlignedVectors, align_tokens
from vocab_lit.vectors.settings import fasttext_or_ppmi
from vocab_lit.vectors.token_vectors import TokenVectors, carry_vectors, encode_lines
from vocab_lit.vectors.word_vectors import WordVectors, from_words, open_words, static_vectors, train_words

if TYPE_CHECKING:
    import pandas as pd
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from vocab_lit.methods.factored import Factors


EXTENSION = 0.6  # share of the target vocabulary that is added: FOCUS, Section 3.1, adds 30,000 of 50,000 tokens
_RANDOM_EXTENSION = Recipe(
    "random extension",
    (Copy(), RandomMapping()),
    "Wang et al. (2020)",
    "Overlapping tokens are copied, others get the embedding of a random source token.",
)


FOCUS_VOCABULARIES = {"keep": "original", "new": "replaced", "extended": "extended"}  # as its tables call them


def _printed(vocabulary: str, recipe: str | Recipe, method: str, mode: str = "all", **vectors: object) -> Adaptation:
    "A row of FOCUS's Tables 2 and 3."
    setup = f"{FOCUS_VOCABULARIES[vocabulary]} vocabulary"
    return Adaptation(vocabulary, recipe, mode, vectors=vectors, printed=(setup, method))


FOCUS_METHODS = {
    "off-the-shelf": _printed("keep", "", "off-the-shelf", mode=""),
    "LAPT": _printed("keep", "", "LAPT"),
    "random": Adaptation("new", "random"),
    "random, two stages": _printed("new", "random", "Random + LAPT", "two-stage"),
    "wechsel-en": _printed("new", "wechsel", "WECHSEL_EN + LAPT", source_only=True),
    "wechsel": _printed("new", "wechsel", "WECHSEL + LAPT"),
    "focus-symbolic": Adaptation("new", "focus-symbolic"),
    "focus-word": Adaptation("new", "focus-word"),
    "focus": _printed("new", "focus", "FOCUS + LAPT"),
    "random, extended": _printed("extended", _RANDOM_EXTENSION, "Random + LAPT"),
    "focus, extended": _printed("extended", "focus", "FOCUS + LAPT"),
}
VOCABULARY_WAYS = {  # as `vocab-lit inspect` advises
    "keep": Adaptation("keep"),
    "trim": Adaptation("trim", trim_recipe()),
    "extend": Adaptation("extended", "focus"),
    "continue": Adaptation("continued", "focus"),
    "replace": Adaptation("new", "focus"),
}


def focus_methods(
    dictionary: bool,  # whether there is one between the model's language and the target, which WECHSEL needs
    source_text: bool,  # whether there is text in the model's language, which WECHSEL-EN needs
    word_vectors: bool = True,  # whether words of the target language have vectors, which two of them need
) -> dict[str, Adaptation]:  # by name
    "Those of `FOCUS_METHODS` that are possible."

    def is_possible(way):
        if way.vectors.get("source_only") and not source_text:
            return False
        if way.recipe in ("wechsel", "focus-word") and not word_vectors:
            return False
        return way.recipe != "wechsel" or dictionary

    return {name: way for name, way in FOCUS_METHODS.items() if is_possible(way)}


class Target:
    "A target language for a source model: its tokenizer, vectors and evaluation text, each made once."

    def __init__(
        self,
        setup: Setup,
        work: str | Path | None = None,  # folder for checkpoints of continued pretraining; None: none are written
    ):
        self.setup, self.work, self._vectors, self._packed = setup, work, {}, {}

    @cached_property
    def source_tokenizer(self) -> PreTrainedTokenizerBase:
        return load_tokenizer(self.setup.model)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        setup = self.setup
        return train_tokenizer_like(
            self.source_tokenizer, self.vocab_text, setup.vocab_size, split_digits=setup.split_digits
        )

    @property
    def vocab_text(self) -> Iterable[str]:
        "The text that the vocabulary and auxiliary embeddings are trained on."
        return self.setup.vocab_text or self.setup.train

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.from_tokenizer(self.tokenizer)

    @cached_property
    def source_vocab(self) -> Vocab:
        return Vocab.from_tokenizer(self.source_tokenizer)

    @cached_property
    def lapt_config(self) -> LaptConfig:  # blocks are no longer than the source model's longest input
        return replace(self.setup.lapt, length=min(self.setup.lapt.length, self.source_tokenizer.model_max_length))

    def source_model(self) -> PreTrainedModel:  # loaded anew
        return load_model(self.setup.model).float()

    def packed(
        self,
        text: str,  # the setup's: train or held_out
        kept: bool = False,  # under the source vocabulary; otherwise under the target's
    ) -> torch.Tensor | PackedBlocks:  # (n, length) token ids
        "The setup's text in blocks, a document in each line; of text in the cache, in a file beside it."
        if (text, kept) not in self._packed:
            tokenizer = self.source_tokenizer if kept else self.tokenizer
            lines, length = getattr(self.setup, text), self.lapt_config.length
            if isinstance(lines, StoredText):
                self._packed[text, kept] = _pack_beside(tokenizer, lines, length)
            else:
                self._packed[text, kept] = pack(tokenizer, as_documents(lines), length)
        return self._packed[text, kept]

    def words(self, how: str = "auto") -> tuple[WordVectors, WordVectors]:  # of the source and the target language
        "Word vectors from the setup's files, or trained on its text."
        setup = self.setup
        sides = (
            ("of the model's language", "source_vectors", "source_text", setup.source_text),
            ("of the target language", "target_vectors", "text", setup.train),
        )
        for (whose, option, text_option, text), file in zip(sides, setup.word_files):
            if not (file or text):
                given = f"set {option} to a file of them, or {text_option} to text"
                raise ValueError(f"WECHSEL needs word vectors {whose}: {given}{_published_files(setup)}")
        read = [open_words(file) if file else None for file in setup.word_files]
        how = "fasttext" if setup.scale == "paper" and how == "auto" else how  # however small the text (Table 11)
        dim = next((words.dim for words in read if words), _FASTTEXT_DIM if how == "fasttext" else None)
        texts = [text for *_, text in sides]
        return tuple(words or _trained(tuple(text), how, dim) for words, text in zip(read, texts))

    def vectors(
        self,
        needs: str,  # of the target tokens, or of both vocabularies, as a recipe says
        how: str = "auto",  # they are made: fasttext, ppmi, or by the size of the text
        subwords: str = "auto",  # from words to tokens, for WECHSEL
        source_only: bool = False,  # WECHSEL-EN: of the source tokens, those that text of the model's language has
        **training,  # other options of `static_vectors`
    ) -> TokenVectors | AlignedVectors | None:
        "Static vectors of the kind a recipe needs."
        if not needs:
            return None
        asked = (needs, how, subwords, source_only, *training.items())
        if asked not in self._vectors:
            aligned = needs == "aligned vectors"
            made = self._aligned(how, subwords, source_only) if aligned else self._static(needs, how, **training)
            self._vectors[asked] = made
        return self._vectors[asked]

    def _static(self, needs, how, **training):
        if how == "auxiliary":
            return embedding_vectors(self.auxiliary_model, self.tokenizer, self.tokenizer)
        _, words_of_target = self.setup.word_files
        if needs == "word vectors" and words_of_target:
            return from_words(words_of_target, self.tokenizer)
        if self.setup.vector_epochs and fasttext_or_ppmi(self.vocab_text, how) == "fasttext":
            training = {"epochs": self.setup.vector_epochs} | training
        return static_vectors(needs, self.tokenizer, self.vocab_text, how, **training)

    @cached_property
    def source_language_vocab(self) -> Vocab:
        "The tokens of the model's language: of a vocabulary as large as the target's, from the setup's source text."
        setup = self.setup
        if not setup.source_text:
            raise ValueError("WECHSEL-EN needs text in the model's language: set source_text")
        text = setup.source_text
        tokenizer = train_tokenizer_like(self.source_tokenizer, text, setup.vocab_size, split_digits=setup.split_digits)
        return Vocab.from_tokenizer(tokenizer)

    @cached_property
    def auxiliary_model(self) -> PreTrainedModel:
        "A smaller model with the target vocabulary, trained from scratch on the setup's text, for CLP and OMP."
        model = smaller_model(self.source_model(), self.source_tokenizer, self.tokenizer)
        config = replace(self.lapt_config, mode="all", eval_every=self.lapt_config.steps)
        self.train(model, self.tokenizer, False, config, 0)
        return model

    def _aligned(self, how, subwords, source_only):
        if not self.setup.pairs:
            given = "set dictionary to a file of two columns"
            languages = "the model's language and the target's"
            raise ValueError(f"WECHSEL needs a dictionary between {languages}: {given}{_published_files(self.setup)}")
        only = self.source_language_vocab if source_only else None
        words = self.words(how)
        return align_tokens(*words, self.source_tokenizer, self.tokenizer, self.setup.pairs, subwords, only=only)

    def transplant(
        self,
        method: str | Recipe,  # a recipe, or its name
        seed: int = 0,
        # vectors are made: fasttext, ppmi, by the size of the text, or, of tokens, by an auxiliary model (auxiliary)
        how: str = "auto",
        factors: Factors | None = None,  # for recipes of low-dimensional embeddings
        **vectors,  # other options of `vectors`
    ) -> Transplant:
        "The source model with the target vocabulary, initialised by a method."
        recipe, model = method if isinstance(method, Recipe) else get_recipe(method), self.source_model()
        made = self.vectors(recipe.needs, how, **vectors)
        return transplant(model, self.source_tokenizer, self.tokenizer, recipe, made, seed, factors=factors)

    @cached_property
    def distils(self) -> bool:
        "Whether new tokens can learn from the source model: its tokenizer has to know what they stand for."
        new = [t.id for t, old in zip(self.vocab, overlap(self.source_vocab, self.vocab)) if old < 0]
        return any(True for _ in snippet_rows(self.tokenizer, self.source_tokenizer, self.setup.held_out, new))

    def distilled(
        self,
        method: str | Recipe,
        seed: int = 0,
        lm: bool = False,  # whether the new tokens learn language modelling besides
        **making,  # as in `transplant`
    ) -> Transplant:
        "A transplant whose new tokens have then learnt from the source model, at mini in as many steps as LAPT has."
        made, preset = self.transplant(method, seed, **making), PRESETS["token-distillation"]
        is_mini = self.setup.scale == "mini"
        config = scale_lapt(self.setup.scale, "token-distillation", self.lapt_config.steps if is_mini else 0)
        length, snippets = min(preset.length, self.lapt_config.length), 5 if is_mini else preset.distil_snippets
        config = replace(config, length=length, eval_every=config.steps, distil_snippets=snippets, distil_lm=lm)
        source = self.source_model().eval().requires_grad_(False)
        teacher = Teacher(source, self.source_tokenizer, made.plan.new_tokens)
        with only_new_rows(made.model, teacher.new):
            lapt(made.model, self.tokenizer, self.setup.train, self.packed("held_out"), config, seed, teacher=teacher)
        return made

    def loss(self, model: PreTrainedModel) -> float:  # nats per masked token
        "Held-out loss of a model with the target vocabulary."
        return heldout_loss(model.to(find_device().torch), self.tokenizer, self.packed("held_out"))

    def overlap_counts(self) -> dict[str, int]:
        "How many tokens the target vocabulary shares with the source's, as FOCUS's Table 8 counts them."
        shared = overlap(self.source_vocab, self.vocab) >= 0
        ids = encode_lines(self.tokenizer, self.setup.train)
        frequent = np.bincount(ids[ids >= 0], minlength=len(self.vocab)) >= 10
        words = np.array([t.kind == "text" and not t.is_symbol for t in self.vocab])
        return {
            "all": shared.sum(),
            "minCount 10": (shared & frequent).sum(),
            "not symbols": (shared & words).sum(),
            "vocabulary": len(shared),
        }

    def _begin(self, method, seed, **making):  # model and tokenizer before any training
        if not method:
            return self.source_model(), self.source_tokenizer
        return self.transplant(method, seed, **making).model, self.tokenizer

    def _untrained(self, model, tokenizer, keeps):  # losses by step where there is no step
        import pandas as pd

        loss = heldout_loss(model.to(find_device().torch), tokenizer, self.packed("held_out", keeps))
        return pd.DataFrame([(0, loss)], columns=["step", "loss"])

    def course(
        self,
        method: str | Recipe,  # "": the source model keeps its vocabulary
        mode: str = "all",  # of LAPT; "": none
        seed: int = 0,
        at: Sequence[int] = (),  # steps whose models are wanted; 0: before training
        kept: list[Path] | None = None,  # where folders of checkpoints are listed; None: they are removed here
        **making,  # of the target embeddings, as in `transplant`
    ) -> tuple[pd.DataFrame, dict[int, PreTrainedModel]]:  # losses by step, and models
        "Initialisation and continued pretraining, with models from on the way."
        (made, tokenizer), snapshots = self._begin(method, seed, **making), Snapshots(at)
        if 0 in at:
            snapshots.keep(made, 0)
        if mode:
            config = replace(self.lapt_config, mode=mode)
            losses = self.train(made, tokenizer, not method, config, seed, kept, snapshots)
        else:
            losses = self._untrained(made, tokenizer, not method)
        return losses, {step: with_weights(made, state) for step, state in sorted(snapshots.states.items())}

    def along(
        self,
        method: str | Recipe,
        mode: str = "all",
        seed: int = 0,
        at: Sequence[int] = (),  # steps at which tasks are scored
        tasks: Sequence[str] = (),  # those of `setup.tasks`, and ppl: bits per byte of the held-out text
        seeds: int = 1,  # fine-tunings
        **making,
    ) -> list[dict]:  # records with metric, step, value and, of a task, task_seed
        "Losses on the way of continued pretraining, and task scores at some of its steps."
        kept, tokenizer = [], self.tokenizer if method else self.source_tokenizer
        losses, models = self.course(method, mode, seed, at if tasks else (), kept, **making)
        rows = _loss_rows(losses)
        for step, model in models.items():
            for task in tasks:
                for row in self.task_rows(model, tokenizer, task, self.setup.language, seeds):
                    rows.append(dict(metric=task, step=step, **row))
        _remove(kept)
        return rows

    def task_rows(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        task: str,
        language: str,
        seeds: int,  # fine-tunings; ppl has none, and one row
    ) -> list[dict]:  # records with value and, of a task, task_seed; none where the task has no examples
        "The scores of a model in a task."
        if task == PERPLEXITY:
            return [dict(value=perplexity(model, tokenizer, self.setup.held_out).bits_per_byte)]
        if not self.setup.knows(task, language):
            return []
        splits, config = self.setup.splits(task, language), self.setup.tasks[task]
        data = prepare(model, tokenizer, *splits, task.partition(":")[0], config)
        return [dict(task_seed=task_seed, value=100 * fit(model, data, task_seed).test) for task_seed in range(seeds)]

    def with_vocabulary(self, name: str) -> Target:  # of `VOCABULARIES`
        "The same language and model with another target vocabulary."
        return _OF_VOCABULARY[name](self)

    def follow(
        self,
        way: Adaptation,
        seed: int = 0,
        tasks: Sequence[str] = (),
        seeds: int = 1,  # fine-tunings
    ) -> list[dict]:  # records as of `along`
        "One row of a table: the losses of an adaptation, and the scores of tasks at its end."
        with_vocabulary = self.with_vocabulary(way.vocabulary)
        end = total_steps(replace(self.lapt_config, mode=way.mode)) if way.mode else 0
        return with_vocabulary.along(way.recipe, way.mode, seed, (end,), tasks, seeds, **way.vectors)

    def adapted(
        self,
        method: str = "",  # a recipe's name; "": the source model keeps its vocabulary
        mode: str = "",  # of LAPT; "": none
        seed: int = 0,
        kept: list[Path] | None = None,  # as in `course`
    ) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, pd.DataFrame]:  # model, tokenizer, losses by step
        "The model after initialisation and continued pretraining."
        model, tokenizer = self._begin(method, seed)
        if not mode:
            return model, tokenizer, self._untrained(model, tokenizer, not method)
        # evaluations are checkpoints too
        eval_every = self.lapt_config.eval_every if self.work else self.lapt_config.steps
        config = replace(self.lapt_config, mode=mode, eval_every=eval_every)
        return model, tokenizer, self.train(model, tokenizer, not method, config, seed, kept)

    def scores(
        self,
        method: str = "",
        mode: str = "",
        seed: int = 0,
        languages: Sequence[str] = (),  # to score; none: all of the setup
        tasks: Sequence[str] = ("pos", "ner"),
        seeds: int = 4,  # fine-tunings
    ) -> list[dict]:  # records with metric, value and, of a task, language and task_seed
        "Loss and task scores after initialisation and continued pretraining; tasks without examples are left out."
        kept = []
        model, tokenizer, losses = self.adapted(method, mode, seed, kept)
        rows = _loss_rows(losses)
        for language in languages or self.setup.language.split("+"):
            for task in tasks:
                for row in self.task_rows(model, tokenizer, task, language, seeds):
                    rows.append(dict(metric=task, target=language, **row))
        _remove(kept)
        return rows

    def train(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        keeps: bool,  # whether it has the source vocabulary
        config: LaptConfig,
        seed: int,
        kept: list[Path] | None = None,  # as in `course`
        snapshots: Snapshots | None = None,
        folder: Path | None = None,  # for checkpoints; None: one in `work`, if that is given
    ) -> pd.DataFrame:  # losses by step
        "Continued pretraining on the setup's text; a run that was interrupted resumes from its checkpoints."
        train, held_out = (self.packed(text, keeps) for text in ("train", "held_out"))
        callbacks = [snapshots.callback()] if snapshots else []
        run = partial(lapt, model, tokenizer, train, held_out, config, seed, callbacks=callbacks)
        if not (folder or self.work):
            return run()
        folder = folder or Path(self.work, f"{self.setup.language}-{self._run_name(model, train, config, seed)}")
        if snapshots:
            snapshots.folder = folder
        losses = run(folder=folder, resume=folder.is_dir())
        if kept is None:
            _remove([folder])
        else:
            kept.append(folder)
        return losses

    def _run_name(self, model, train, config, seed):  # a hash of what a run begins with
        import torch

        h = hashlib.blake2b(repr((self.setup.model, config, seed)).encode(), digest_size=8)
        first, last = (torch.as_tensor(train[i]) for i in (0, len(train) - 1))
        for tensor in (model.get_input_embeddings().weight.detach(), first, last):
            h.update(tensor.contiguous().numpy().tobytes())
        return h.hexdigest()


def _pack_beside(tokenizer, text, length) -> PackedBlocks:  # made once, also by several processes
    from filelock import FileLock

    made_by = hashlib.blake2b(tokenizer.backend_tokenizer.to_str().encode(), digest_size=8).hexdigest()
    file = text.beside(f"tokens-{made_by}-{length}")
    with FileLock(f"{file}.lock"):
        return PackedBlocks(file, length) if file.is_file() else pack(tokenizer, as_documents(text), length, file)


def _loss_rows(losses):
    return [dict(metric="loss", step=int(r.step), value=r.loss) for r in losses.itertuples()]


def _remove(folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _published_files(setup):  # where the papers' files are
    if setup.scale != "paper":
        return ""
    return "; download " + ", ".join(f"{what}: {at}" for what, at in word_files(setup.language).items())


_FASTTEXT_DIM = 100  # as WECHSEL's code trains it


@lru_cache(maxsize=8)
def _trained(text, how, dim):  # of one text, for all languages and methods; dim: None for the library's
    return train_words(text, how, **({"dim": dim} if dim else {}))


@cache
def _target(options, work, language, seed):
    return Target(get_setup(language=language, seed=seed, **dict(options)), work)


def _hashable(value):
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


class ExpandedTarget(Target):
    "A target language whose first tokens are added to the source vocabulary."

    def __init__(
        self,
        language: Target,  # with a vocabulary of its own
        n: int,  # how many of its first tokens to consider
    ):
        super().__init__(language.setup, language.work)
        self.language, self.n = language, n

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return expand_tokenizer(self.source_tokenizer, self.language.tokenizer, self.n)

    def vectors(self, needs: str, *how, **more) -> TokenVectors | None:
        "Static vectors of the language's own vocabulary, for its tokens in the expanded one."
        if not needs:
            return None
        made = self.language.vectors(needs, *how, **more)
        return carry_vectors(made, self.language.vocab, self.vocab)


class DerivedTarget(Target):
    "A target language whose vocabulary is made from the source's and the text."

    def __init__(
        self,
        language: Target,
        # of the source tokenizer and text, the target tokenizer
        derive: Callable[[PreTrainedTokenizerBase, Iterable[str]], PreTrainedTokenizerBase],
    ):
        super().__init__(language.setup, language.work)
        self.derive = derive

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self.derive(self.source_tokenizer, self.vocab_text)


class PartOfText(Target):
    "A target language with a part of its training text, and the same text for evaluation."

    def __init__(
        self,
        language: Target,  # with all of its text
        amount: int | str,  # lines, or a size such as 16MiB
        lapt: LaptConfig,
        words_of_all: bool = False,  # whether word vectors are those of all the text
    ):
        text = language.setup.train
        if isinstance(amount, str):
            mean = np.mean([len(line.encode()) + 1 for line in text[:10_000]])
            amount = int(float(amount.removesuffix("MiB")) * 2**20 / mean)
        chosen = sorted(np.random.default_rng(0).permutation(len(text))[:amount])
        part = [text[int(i)] for i in chosen]
        super().__init__(replace(language.setup, train=part, vocab_text=(), lapt=lapt), language.work)
        self.language, self.words_of_all = language, words_of_all

    def words(self, how: str = "auto") -> tuple[WordVectors, WordVectors]:
        "Word vectors of the source and the target language."
        return self.language.words(how) if self.words_of_all else super().words(how)


def _extension(target: Target) -> int:
    return round(EXTENSION * target.setup.vocab_size)


def _trimmed(target: Target) -> Target:
    return DerivedTarget(target, lambda source, lines: trim(source, {target.setup.language: lines}).tokenizer)


def _continued(target: Target) -> Target:
    return DerivedTarget(target, lambda source, lines: extend_on_text(source, lines, _extension(target)).tokenizer)


_OF_VOCABULARY: dict[str, Callable[[Target], Target]] = {  # of a target with a vocabulary of its own
    "keep": lambda target: target,  # which keeps the source's where no recipe makes embeddings
    "new": lambda target: target,
    "trim": _trimmed,
    "extended": lambda target: ExpandedTarget(target, _extension(target)),
    "continued": _continued,
}


class Targets:
    "The targets of a scale, by language and seed, each made once in a process."

    def __init__(
        self,
        scale: str,
        work: str | Path = "",  # folder of records; below it, checkpoints are kept while a run lasts, but not at mini
        **options,  # of `get_setup`, but for language and seed
    ):
        self.options = tuple((name, _hashable(value)) for name, value in dict(options, scale=scale).items())
        # workers may run elsewhere
        self.work = beside_book(work) / "runs" if work and scale != "mini" else None

    def __call__(self, language: str, seed: int = 0) -> Target:
        return _target(self.options, self.work, language, seed)
