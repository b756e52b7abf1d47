"""A tiny model of each class that transformers maps, given another vocabulary, and judged."""

from __future__ import annotations

import collections
import contextlib
import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from unittest.mock import patch

import numpy as np
import torch
import typer

from benchmarks.verdicts import TASKS, Verdict, judged, make_record, must, one_line, printed
from testkit.tiny_configs import SPECIAL_ID, VOCABULARY, tiny_config
from vocab_lit.methods.recipe import Copy, InitContext, InitStep, Recipe, RowWeights
from vocab_lit.tokens.special_tokens import NO_TEXT

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

    from vocab_lit.models.transplant import Transplant

COMPOSED = ("VisionEncoderDecoderModel", "SpeechEncoderDecoderModel")
BY_CLASS: dict[str, dict] = {"ReformerModelWithLMHead": dict(is_decoder=True)}


@dataclass(frozen=True)
class Architecture:
    "A model class that transformers maps."

    name: str
    model_type: str
    task: str

    @property
    def model_class(self) -> type:
        "The class."
        import transformers

        return getattr(transformers, self.name)

    @property
    def config_class(self) -> type:
        "The class of its configurations."
        from transformers import CONFIG_MAPPING

        return getattr(self.model_class, "config_class", None) or CONFIG_MAPPING[self.model_type]

    def config(self, vocabulary: int = VOCABULARY) -> PreTrainedConfig:
        "A tiny configuration."
        if self.name in COMPOSED:
            raise ValueError("any two models can be its parts")
        return tiny_config(self.config_class, BY_CLASS.get(self.name), vocabulary)


def _has_vocabulary(config: PreTrainedConfig) -> bool:
    from transformers import PreTrainedConfig

    parts = [value for value in vars(config).values() if isinstance(value, PreTrainedConfig)]
    own = any("vocab_size" in name and "type" not in name for name in (*vars(config), *config.attribute_map))
    return own or any(_has_vocabulary(part) for part in parts)


def architectures() -> list[Architecture]:
    "All classes of the tasks, each once, whose configurations have a vocabulary."
    from transformers import CONFIG_MAPPING
    from transformers.models.auto import modeling_auto

    classes, textual = {}, {}
    for task, mapping in TASKS.items():
        for model_type, names in getattr(modeling_auto, mapping).items():
            if model_type not in textual:
                with contextlib.suppress(Exception):  # a configuration that its own defaults do not satisfy
                    textual[model_type] = _has_vocabulary(CONFIG_MAPPING[model_type]())
            for name in [names] if isinstance(names, str) else names:
                if textual.get(model_type):
                    classes.setdefault(name, Architecture(name, model_type, task))
    return list(classes.values())


SPECIAL = ["<s>", "<pad>", "<unk>", "</s>", "<mask>", *(f"<x{i}>" for i in range(12))]


def word_tokenizer(special: list[str], words: list[str]) -> PreTrainedTokenizerFast:
    "A tokenizer of whole words."
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({token: i for i, token in enumerate([*special, *words])}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    roles = dict(bos="<s>", cls="<s>", eos="</s>", sep="</s>", pad="<pad>", unk="<unk>", mask="<mask>")
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        additional_special_tokens=[token for token in special if token.startswith("<x")],
        **{f"{role}_token": token for role, token in roles.items()},
    )


WORDS = [f"w{i}" for i in range(26)]  # with the special tokens 43 of the 48 embeddings


def source_tokenizer() -> PreTrainedTokenizerFast:
    "The tokenizer of every tiny model; its padding id is 1."
    return word_tokenizer(SPECIAL, WORDS)


def target_tokenizer(larger: bool, pad_moved: bool) -> PreTrainedTokenizerFast:
    "A tokenizer with every other word of the source, and others."
    special = ["<s>", "</s>", "<unk>", "<pad>", *SPECIAL[4:]] if pad_moved else SPECIAL
    return word_tokenizer(special, [*WORDS[::-2], *(f"v{i}" for i in range(40 if larger else 4))])


@dataclass
class Mean(InitStep):
    "The mean of all source embeddings, so that every embedding has a right value."

    formula = r"E'_x = \frac{1}{n} \sum_y E_y"

    def fill(self, context: InitContext) -> RowWeights:
        "All open tokens."
        n = len(context.source)
        return RowWeights.mean({int(i): range(n) for i in np.flatnonzero(context.open)}, n)


RECIPE = Recipe("copies and means", (Copy(fuzzy=False), Mean()), "", "Overlapping tokens are copied, others are means.")
OVERLAP = [*WORDS[1::4], *WORDS[3::4], WORDS[1], "</s>"]  # a text of overlapping words


@dataclass
class Tiny:
    "A tiny model in a folder, and what it is."

    model: PreTrainedModel
    folder: Path
    dimensions: dict[str, int]  # of the tokens, by the name of the tensor
    outputs: dict[str, torch.Tensor] | None  # of the text of overlapping words; None where the model does not run
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)  # besides ids


LARGEST = 30_000_000  # parameters of a tiny model


def _token_dimensions(architecture: Architecture) -> dict[str, int]:
    from transformers.initialization import no_init_weights

    with no_init_weights(), torch.device("meta"):
        models = [architecture.model_class(architecture.config(n)) for n in (VOCABULARY, VOCABULARY + 1)]
    smaller, larger = (model.state_dict() for model in models)
    return {name: d for name, t in smaller.items() for d, n in enumerate(t.shape) if larger[name].shape[d] != n}


def _further_inputs(config) -> list[dict[str, torch.Tensor]]:
    "What a model may need besides ids, the simplest first."
    ids = torch.zeros(1, 1, dtype=torch.long)
    mel = getattr(config, "num_mel_bins", 16) or 16
    sound = dict(input_features=torch.linspace(-1, 1, mel * 64).reshape(1, mel, 64))
    boxes = dict(bbox=ids.new_zeros(1, len(OVERLAP), 4))
    image = dict(pixel_values=torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32))
    return [{}, boxes, image, boxes | image, sound]


@torch.no_grad()
def _outputs(model, tokenizer, further) -> dict[str, torch.Tensor]:
    "All tensors that a model gives for the text; where it has a score for each token, only those of the text's tokens."
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(OVERLAP)])
    inputs = dict(further) if "input_features" in further else dict(further, input_ids=ids)
    samples = model.config.model_type == "diffusion_gemma"  # its own ids, where it is given none
    if model.config.is_encoder_decoder or "input_features" in further or samples:
        inputs["decoder_input_ids"] = ids
    torch.manual_seed(0)  # some choose parts of an image at random
    given = model.eval()(**inputs)
    n = _embeddings(model)
    tensors = {k: v for k, v in given.items() if isinstance(v, torch.Tensor) and v.is_floating_point()}
    outputs = {k: v[..., ids[0]] if v.shape[-1] == n and v.dim() > 2 else v for k, v in tensors.items()}
    must(bool(outputs), "no outputs")
    return outputs


def _embeddings(model) -> int:
    "The size of the vocabulary that the configuration has now."
    config = model.config
    with contextlib.suppress(ValueError):
        config = config.get_text_config()
    return getattr(config, "vocab_size", 0)


def build(architecture: Architecture, folder: Path) -> Tiny:
    "A tiny model with random weights, saved with its tokenizer."
    torch.manual_seed(0)
    config = architecture.config()
    with torch.device("meta"):
        size = architecture.model_class(architecture.config()).num_parameters()
    if size > LARGEST:
        raise ValueError(f"{size:,} parameters, which are too many to be tried here")
    model = architecture.model_class(config).eval()
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                tensor.add_(torch.randn_like(tensor) * 0.02)
    source = source_tokenizer()
    model.save_pretrained(folder)
    source.save_pretrained(folder)
    # the reference is what transformers loads: some classes set a few numbers themselves
    loaded = architecture.model_class.from_pretrained(folder, dtype="auto")
    loaded.save_pretrained(folder)  # as files of trained models have them
    made = Tiny(loaded, folder, _token_dimensions(architecture), None)
    for further in _further_inputs(config):
        with contextlib.suppress(Exception):  # every class has its own way to say what it lacks
            made.outputs, made.inputs = _outputs(loaded, source, further), further
            break
    return made


def _names(folder: Path) -> set[str]:
    from safetensors import safe_open

    return {name for file in folder.glob("*.safetensors") for name in safe_open(file, "pt").keys()}  # noqa: SIM118


def _tied(model) -> set[frozenset[str]]:
    names = collections.defaultdict(set)
    for name, tensor in model.state_dict(keep_vars=True).items():
        names[id(tensor)].add(name)
    return {frozenset(group) for group in names.values() if len(group) > 1}


def _generation(config) -> dict[str, Any]:
    "Settings of generation but for ids."
    ids = re.compile(r"_token_id|token_ids|tokens$|version")
    return {name: value for name, value in config.to_dict().items() if not ids.search(name)}


def _check_rows(name: str, was: torch.Tensor, now: torch.Tensor, source, target) -> None:  # (tokens, ...)
    "Overlapping tokens are copies to the bit, special ones too, and others the mean of all."
    places = source.get_vocab()
    must(len(now) == len(target), f"{name} has {len(now)} entries for {len(target)} tokens")
    mean = was[: len(source)].double().mean(0)
    for token, i in target.get_vocab().items():
        if token in places:
            must(torch.equal(now[i], was[places[token]]), f"{name}: {token} is not copied")
        else:
            must(torch.allclose(now[i].double(), mean, atol=1e-5), f"{name}: {token} is not the mean of all")


def _check_tensors(tiny: Tiny, after, source, target) -> None:
    state, pads = after.state_dict(), (source.pad_token_id, target.pad_token_id)
    must(state.keys() == tiny.model.state_dict().keys(), "names of tensors differ")
    for name, was in tiny.model.state_dict().items():
        now = state[name]
        must(now.dtype == was.dtype, f"{name} has another number format")
        if name in tiny.dimensions:
            d = tiny.dimensions[name]
            _check_rows(name, was.movedim(d, 0), now.movedim(d, 0), source, target)
        elif name.endswith(("position_ids", "token_type_ids")):
            continue  # counted, not learned
        elif "position" in name and pads[0] != pads[1] and now.shape != was.shape:
            must(torch.equal(now[pads[1] + 1 :], was[pads[0] + 1 :]), f"{name} is not moved with the padding id")
        else:
            must(now.shape == was.shape and torch.equal(now, was), f"{name} is not as it was")


def _check_outputs(tiny: Tiny, model, target, where: str) -> None:
    if tiny.outputs is None:
        return
    outputs = _outputs(model, target, tiny.inputs)
    for name, was in tiny.outputs.items():
        must(name in outputs and outputs[name].shape == was.shape, f"{name} has another shape {where}")
        must(torch.allclose(outputs[name], was, atol=1e-4, rtol=1e-3, equal_nan=True), f"{name} differs {where}")


def _fields(config, path: str = "") -> Iterator[tuple[str, Any]]:
    "All fields of a configuration and of those within it, by their places."
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


_MOVES = re.compile(r"vocab|position|n_ctx|architectures|version|_name_or_path")  # with the size and the padding id
_LISTS = re.compile(r"dtype|_tokens$|_ids$|(lang|task)_to_id")  # of ids; and what is judged by the tensors


def _check_ids(before, after, source, target) -> None:
    "Ids are those of the same special tokens."
    now = dict(_fields(after.to_dict()))
    for name, old in _fields(before.to_dict()):
        if SPECIAL_ID.search(name) and isinstance(old, int) and not NO_TEXT.search(name):
            token = source.convert_ids_to_tokens(old)
            must(now[name] == target.convert_tokens_to_ids(token), f"{name} is {now[name]}, which is not {token}")


def _read_config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def _check_config(before: dict[str, Any], after: dict[str, Any]) -> None:
    "What does not depend on the vocabulary is written as it was."
    was, now = dict(_fields(before)), dict(_fields(after))
    for name in sorted(was.keys() | now.keys()):
        if not any(pattern.search(name) for pattern in (SPECIAL_ID, _MOVES, _LISTS)):
            must(now.get(name) == was.get(name), f"{name} is {now.get(name)}, and was {was.get(name)}")


def check_folder(tiny: Tiny, folder: Path, target) -> None:
    "`Wrong` where a folder is not what a transplant should make of a tiny model."
    after = type(tiny.model).from_pretrained(folder, dtype="auto").eval()
    config = _read_config(folder)
    must(config["architectures"] == [type(tiny.model).__name__], f"saved as {config['architectures'][0]}")
    _check_config(_read_config(tiny.folder), config)
    _check_ids(tiny.model.config, after.config, source_tokenizer(), target)
    _check_tensors(tiny, after, source_tokenizer(), target)
    must(_names(folder) == _names(tiny.folder), "names of stored tensors differ")
    must(_tied(after) == _tied(tiny.model), "other weights are tied")
    if tiny.model.can_generate():
        same = _generation(tiny.model.generation_config) == _generation(after.generation_config)
        must(same, "other generation settings")
    _check_outputs(tiny, after, target, "in the saved model")


def _check_findings(folder: Path) -> None:
    from vocab_lit.models import check

    findings = [f for f in check.check_model(folder) if f.breaks and f.part in ("rows", "weights")]  # not the tokenizer
    must(not findings, "; ".join(map(str, findings)))


def made_of(tiny: Tiny, target: PreTrainedTokenizerFast, opened: bool) -> Transplant:
    "What a transplant makes of a tiny model; `opened`: its weights stay in their files."
    from vocab_lit.models.source import load_model, open_model
    from vocab_lit.models.transplant import transplant

    model = (open_model if opened else load_model)(tiny.folder)
    # the weights are judged; a tokenizer of whole words would be refused where models allow only their own
    with patch("vocab_lit.models.transplant.check_loads_again"):
        return transplant(model, source_tokenizer(), target, RECIPE)


def _try(tiny: Tiny, out: Path, larger: bool, pad_moved: bool, opened: bool) -> tuple[str, str]:  # result, why
    target = target_tokenizer(larger, pad_moved)
    try:
        result = made_of(tiny, target, opened)
        result.save_pretrained(out, model=str(tiny.folder))
    except ValueError as e:
        if "\n" in str(e) or out.exists():
            return "crashed", f"not refused in one line before anything is written: {one_line(e)}"
        return "refused", str(e)
    except Exception as e:  # noqa: BLE001
        return "crashed", one_line(e)

    def check() -> None:
        check_folder(tiny, out, target)
        if not opened:
            _check_findings(out)
            _check_outputs(tiny, result.model, target, "in memory")

    return judged(check)


def trials(turn: int) -> list[tuple[bool, bool, bool]]:  # larger, padding moved, opened
    "Four of the eight combinations, with every pair of choices; an odd turn has the other four."
    pairs = [(larger, pad_moved) for pad_moved in (False, True) for larger in (True, False)]
    return [(larger, pad_moved, (larger == pad_moved) == (turn % 2 == 0)) for larger, pad_moved in pairs]


def try_architecture(architecture: Architecture, turn: int = 0) -> Verdict:
    "Build, transplant four times and judge; `turn` says which of the trials are opened."
    about = asdict(architecture)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tiny = build(architecture, Path(place, "model"))
        except Exception as e:  # noqa: BLE001  a configuration that is not understood here
            return Verdict(**about, result="not built", why=one_line(e))
        outcomes = [_try(tiny, Path(place, str(i)), *how) for i, how in enumerate(trials(turn))]
    kept, moved = outcomes[:2], outcomes[2:]
    compared = tiny.outputs is not None
    for wanted, among in (("crashed", outcomes), ("wrong", outcomes), ("refused", kept)):
        if wanted in dict(among):
            why = next(why for result, why in among if result == wanted)
            return Verdict(**about, result=wanted, why=why, compared=compared)
    pad_moved = next((why for result, why in moved if result == "refused"), "")
    return Verdict(**about, result="right", pad_moved=pad_moved, compared=compared)


def sweep(chosen: list[Architecture] | None = None) -> Iterator[Verdict]:  # chosen: None: all
    "The verdicts of many classes, one by one."
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for turn, architecture in enumerate(chosen or architectures()):
        yield try_architecture(architecture, turn)


def main(
    file: Annotated[Path, typer.Argument(help="JSON file of the record.")],
    names: Annotated[list[str] | None, typer.Argument(help="Names of classes; none: all.")] = None,
) -> None:
    "Give a tiny model of each class of transformers another vocabulary, judge it and write the record."
    make_record(printed(sweep([a for a in architectures() if a.name in names] if names else None))).write(file)


if __name__ == "__main__":
    typer.run(main)
