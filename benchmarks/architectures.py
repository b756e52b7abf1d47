"""A tiny model of each class that transformers maps, given another vocabulary, and judged."""

from __future__ import annotations

import collections
import contextlib
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast


VOCABULARY = 48  # embeddings of a tiny model

_RULES = [
    (re.compile(pattern), size)
    for pattern, size in (
        (
            r"vocab_size_per_layer_input|unpadded_vocab_size|^vocab_size$|^(decoder|text)_vocab_size|(src|tgt)_vocab",
            VOCABULARY,
        ),
        (r"vocab", 20),
        (r"codebook_size|num_codevectors|num_embeddings$", 16),
        (r"num_kv_shared_layers", 0),
        (r"feat_extract", 10**9),  # stays
        (r"mamba_d_head|mamba_head_dim", 16),
        (r"max_position_embeddings$|max_(source|target)_positions|^n_positions$|^n_ctx$|max_seq_len", 64),
        (r"max_sequence_length|context_length|num_position_embeddings|position_embeddings$|max_text_len", 64),
        (r"(key_value|kv)_heads$|num_kv_heads", 2),
        (r"^qk_head_dim$", 16),
        (r"rotary_dim", 4),
        (r"head_dim$|d_kv$|dim_head|head_size$|^d_head$|kv_channels|key_dim|value_dim", 8),
        (r"heads$|^n_head$|num_head$", 4),
        (r"experts_per|top_?k$|num_selected|^moe_k$|topk_group|n_group$|expert_group|shared_experts$", 1),
        (r"experts$", 4),
        (r"layers$|^n_layer$|num_blocks$|^depth$|^layers$|num_feature_levels", 2),
        (r"lora_rank|_rank$", 8),
        (r"sliding_window|window_size$|attention_window|local_attention$|chunk_size$", 16),
        (r"n_inner", None),
        (
            r"intermediate_size|ffn_dim|d_ff$|ffn_size|mlp_dim|dim_ff|^dff$|hidden_dim$|ffn_hidden|d_inner|linear_units",
            32,
        ),
        (
            r"feedforward_dim|hidden_size$|^d_model$|^n_embd$|^dim$|embed_dim$|embedding_size|projection_dim|proj_dim",
            32,
        ),
        (r"^emb_dim$|embedding_dim$|^width$|hidden_channels|output_dim$|project_dim|proj_size|projection_size", 32),
        (r"text_hidden|hidden_size_per_layer_input|embed_size|model_dim|mel_dim", 32),
        (r"image_size$|img_size$|crop_size|max_img_size", 32),
        (r"^patch_size$|num_mel_bins$|feature_size|input_feat|num_conv_pos_embeddings$", 16),
        (r"num_query_tokens|num_latents|num_queries|image_seq_length|mm_tokens_per_image|audio_seq_length", 4),
        (r"n_latents|latent_query|conv_pos_embedding_groups", 4),
        (r"num_buckets$", 32),
    )
]
_LAYER_LISTS = ("layer_types", "mlp_layer_types", "layers_block_type", "indexer_types")
_IDS = re.compile(r"(_token_id|_token_index|mask_index|unk_index|pad_index|bos_index|eos_index)$")
_USUAL_IDS = dict(
    bos=0, cls=0, pad=1, unk=2, eos=3, sep=3, decoder_start=3, mask=4
)  # of the tokenizers below; every other id stands for a special token of its own

_MEDIA = re.compile("vision|audio|image|speech|sound")
_NO_ROPE = {"rope_type": "default", "rope_theta": 10000.0}

OVERRIDES: dict[str, dict] = {  # by model type
    "lfm2_moe": dict(layer_types=["conv", "full_attention"], num_dense_layers=1),
    "dots1": dict(n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2),
    "nemotron": dict(num_key_value_heads=4),
    "cohere_compass_text": dict(rope_parameters=dict.fromkeys(["full_attention", "sliding_attention"], _NO_ROPE)),
    "recurrent_gemma": dict(lru_width=32, num_hidden_layers=3),
    "perceiver": dict(d_latents=32, d_model=32, num_self_attends_per_block=1, qk_channels=32, v_channels=32),
    "qwen4_exp_text": dict(
        ple_layer_ids=[1],
        ple_embed_dim=32,
        heads_per_ngram=2,
        ngram_vocab_size_base=60,
        make_ngram_vocab_size_divisible_by=4,
        split_ngram_parts=1,
        hc_lowrank=8,
        hc_count=2,
        layer_types=["linear_attention", "full_attention"],
        eos_token_id=2,
        indexer_n_heads=2,
        indexer_kv_heads=1,
        indexer_head_dim=16,
        indexer_budget=16,
        indexer_compress_ratio=4,
    ),
    "chameleon_vqgan": dict(base_channels=32, channel_multiplier=[1, 1], num_res_blocks=1),
    "emu3_vqgan": dict(base_channels=32, channel_multiplier=[1, 1], num_res_blocks=1),
    "gemma3n_text": dict(intermediate_size=32),
    "florence_vision": dict(
        depths=(1, 1), patch_size=(7, 3), patch_stride=(4, 2), patch_padding=(3, 1), patch_prenorm=(False, True)
    )
    | dict(embed_dim=(16, 32), num_heads=(2, 4), num_groups=(2, 4), window_size=4, projection_dim=32),
    "janus_vqgan": dict(base_channels=32, channel_multiplier=[1, 1], num_res_blocks=1),
    "chameleon": dict(vocabulary_map={"<image>": 8, "IMGIMGA": 9}),
    "emu3": dict(vocabulary_map={"<image>": 8, "<|visual token 000000|>": 9}),
    "muse_spark_vision": dict(num_hidden_layers=4),
    "granite_speech5_encoder": dict(context_size=16),
    "mamba2": dict(num_heads=8),
    "reformer": dict(axial_pos_shape=(8, 8), axial_pos_embds_dim=(16, 16), attn_layers=["local", "lsh"], num_hashes=1),
    "zamba": dict(
        attention_hidden_size=64, attention_head_dim=16, mamba_dt_rank=8, n_mamba_heads=2, num_hidden_layers=4
    )
    | dict(layers_block_type=["linear_attention", "hybrid", "linear_attention", "hybrid"]),
    "got_ocr2_vision": dict(output_channels=16),
    "wav2vec2": dict(conv_dim=(32,) * 7),
    "falcon_h1": dict(mamba_d_ssm=32),
    "neomme": dict(head_dim=16),
    "dbrx": dict(attn_config=dict(kv_n_heads=2, rope_theta=10000.0)),
    "bridgetower": dict(hidden_size=64),
    "bridgetower_text_model": dict(hidden_size=64),
    "bridgetower_vision_model": dict(hidden_size=64),
    "cosmos3_edge_text": dict(rope_parameters=_NO_ROPE | dict(mrope_section=[2, 1, 1])),
    "ernie4_5_vl_moe_text": dict(rope_parameters=_NO_ROPE | dict(mrope_section=[1, 1, 2])),
    "deepseek_ocr2_text": dict(mlp_layer_types=["dense", "sparse"]),
    "diffusion_gemma_text": dict(num_experts=4, top_k_experts=1, moe_intermediate_size=32),
    "glm5_next_text": dict(index_kpool=1),
    "molmo2_adapter": dict(vision_feature_layer=[1, 0]),
    "mistral_large4_text": dict(kv_source_layers=[0, 0]),
}
_COMPOSED = ("VisionEncoderDecoderModel", "SpeechEncoderDecoderModel")
BY_CLASS: dict[str, dict] = {"ReformerModelWithLMHead": dict(is_decoder=True)}


def _small(name: str, value: int) -> int | None:
    "A small value of a field, by its name."
    for pattern, size in _RULES:
        if pattern.search(name):
            return size if "vocab" in name or size is None else min(value, size)
    return value


def _special_ids(config: PreTrainedConfig) -> dict[str, int]:
    "Ids within the vocabulary."
    found, further = {}, 5
    for name, value in vars(config).items():
        if _IDS.search(name) and isinstance(value, int) and "ignore" not in name:
            role = _IDS.sub("", name) or name.removesuffix("_index")
            found[name] = _USUAL_IDS.get(role, further)
            further += role not in _USUAL_IDS
    return found


def tiny_config(
    config_class: type,
    given: dict | None = None,  # fields that are not the default's
    vocabulary: int = VOCABULARY,
) -> PreTrainedConfig:
    "A tiny configuration of a class."
    from transformers import PreTrainedConfig

    default, wanted = config_class(**(given or {})), dict(given or {})
    specs = getattr(config_class, "sub_configs_defaults", {})
    layers = next((n for f in ("num_hidden_layers", "n_layer", "num_layers") if (n := getattr(default, f, None))), 0)
    for name, value in vars(default).items():
        if name.startswith("_") or name in ("transformers_version", "architectures", "id2label", "label2id", "dtype"):
            continue
        if isinstance(value, PreTrainedConfig):
            fields = dict(specs[name].init_kwargs) if name in specs else None
            wanted[name] = tiny_config(type(value), fields, 20 if _MEDIA.search(name) else vocabulary).to_dict()
        elif isinstance(value, list) and name in _LAYER_LISTS:
            wanted[name] = (list(dict.fromkeys(value))[-2:] * 2)[:2]
        elif isinstance(value, list) and layers and len(value) == layers:
            wanted[name] = value[-2:]
        elif name == "head_dim" and value is None:
            wanted[name] = 8
        elif name == "vocab_size" and value is None:
            wanted[name] = vocabulary
        elif re.search("(key_value|kv)_heads$", name) and value and value == getattr(default, "num_attention_heads", 0):
            wanted[name] = 4
        elif isinstance(value, int) and not isinstance(value, bool) and value:
            small = _small(name, value)
            wanted[name] = vocabulary if small == VOCABULARY and "vocab" in name else small
    wanted |= _special_ids(default)
    wanted |= OVERRIDES.get(config_class.model_type, {})
    return config_class(**wanted)


TASKS = {
    "masked LM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "causal LM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "sequence-to-sequence LM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "image-text-to-text": "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "speech-to-text": "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "pretraining": "MODEL_FOR_PRETRAINING_MAPPING_NAMES",
    "sequence classification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "token classification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
    "without a head": "MODEL_MAPPING_NAMES",
}


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
        if self.name in _COMPOSED:
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

    found, textual = {}, {}
    for task, mapping in TASKS.items():
        for model_type, names in getattr(modeling_auto, mapping).items():
            if model_type not in textual:
                with contextlib.suppress(Exception):  # a configuration that its own defaults do not satisfy
                    textual[model_type] = _has_vocabulary(CONFIG_MAPPING[model_type]())
            for name in [names] if isinstance(names, str) else names:
                if textual.get(model_type):
                    found.setdefault(name, Architecture(name, model_type, task))
    return list(found.values())


_SPECIAL = ["<s>", "<pad>", "<unk>", "</s>", "<mask>", *(f"<x{i}>" for i in range(12))]


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
    return word_tokenizer(_SPECIAL, WORDS)


def target_tokenizer(larger: bool, pad_moved: bool) -> PreTrainedTokenizerFast:
    "A tokenizer with every other word of the source, and others."
    special = ["<s>", "</s>", "<unk>", "<pad>", *_SPECIAL[4:]] if pad_moved else _SPECIAL
    return word_tokenizer(special, [*WORDS[::-2], *(f"v{i}" for i in range(40 if larger else 4))])


OVERLAP = [*WORDS[1::4], *WORDS[3::4], WORDS[1], "</s>"]  # a text of overlapping words


class Wrong(Exception):
    "What is not as it should be."


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


@dataclass
class Tiny:
    "A tiny model in a folder, and what it is."

    model: PreTrainedModel
    folder: Path
    dimensions: dict[str, int]  # of the tokens, by the name of the tensor
    outputs: dict[str, torch.Tensor] | None  # of the text of overlapping words; None where the model does not run
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)  # besides ids


LARGEST = 30_000_000  # parameters of a tiny model


def _shapes(model_class, config):
    from transformers.initialization import no_init_weights

    with no_init_weights(), torch.device("meta"):
        return {name: tuple(t.shape) for name, t in model_class(config).state_dict().items()}


def _token_dimensions(architecture: Architecture) -> dict[str, int]:
    smaller, larger = (_shapes(architecture.model_class, architecture.config(n)) for n in (VOCABULARY, VOCABULARY + 1))
    found = {}
    for name, shape in smaller.items():
        for dimension, n in enumerate(shape):
            if larger[name][dimension] != n:
                found[name] = dimension
    return found


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
    found = {}
    for name, value in given.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            found[name] = value[..., ids[0]] if value.shape[-1] == n and value.dim() > 2 else value
    _must(bool(found), "no outputs")
    return found


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
    made = Tiny(loaded, folder, _token_dimensions(architecture), None)
    for further in _further_inputs(config):
        try:
            made.outputs, made.inputs = _outputs(loaded, source, further), further
            break
        except Exception:  # noqa: S112  every class has its own way to say what it lacks
            continue
    return made


def _names(folder: Path) -> set[str]:
    from safetensors import safe_open

    found = set()
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as f:
            found |= set(f.keys())
    return found


def _tied(model) -> set[frozenset[str]]:
    names = collections.defaultdict(set)
    for name, tensor in model.state_dict(keep_vars=True).items():
        names[id(tensor)].add(name)
    return {frozenset(group) for group in names.values() if len(group) > 1}


def _same_generation(before, after) -> bool:
    plain = [
        {k: v for k, v in c.to_dict().items() if not re.search(r"_token_id|token_ids|tokens$|version", k)}
        for c in (before, after)
    ]
    return plain[0] == plain[1]


def _check_tensors(tiny: Tiny, after, source, target) -> None:
    shared = [w for w in WORDS if w in target.get_vocab()]
    old, new = (torch.tensor(t.convert_tokens_to_ids(shared)) for t in (source, target))
    state, pads = after.state_dict(), (source.pad_token_id, target.pad_token_id)
    _must(state.keys() == tiny.model.state_dict().keys(), "names of tensors differ")
    for name, was in tiny.model.state_dict().items():
        now = state[name]
        _must(now.dtype == was.dtype, f"{name} has another number format")
        if name in tiny.dimensions:
            d = tiny.dimensions[name]
            _must(now.shape[d] == len(target), f"{name} has {now.shape[d]} entries for {len(target)} tokens")
            _must(torch.equal(now.index_select(d, new), was.index_select(d, old)), f"{name}: overlapping tokens differ")
        elif name.endswith(("position_ids", "token_type_ids")):
            continue  # counted, not learned
        elif "position" in name and pads[0] != pads[1] and now.shape != was.shape:
            _must(torch.equal(now[pads[1] + 1 :], was[pads[0] + 1 :]), f"{name} is not moved with the padding id")
        else:
            _must(now.shape == was.shape and torch.equal(now, was), f"{name} is not as it was")


def _check_outputs(tiny: Tiny, model, target, where: str) -> None:
    if tiny.outputs is None:
        return
    found = _outputs(model, target, tiny.inputs)
    for name, was in tiny.outputs.items():
        _must(name in found and found[name].shape == was.shape, f"{name} has another shape {where}")
        _must(torch.allclose(found[name], was, atol=1e-4, rtol=1e-3, equal_nan=True), f"{name} differs {where}")


def check_folder(tiny: Tiny, folder: Path, target) -> None:
    "`Wrong` where a folder is not what a transplant should make of a tiny model."
    after = type(tiny.model).from_pretrained(folder, dtype="auto").eval()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    _must(config["architectures"] == [type(tiny.model).__name__], f"saved as {config['architectures'][0]}")
    _check_tensors(tiny, after, source_tokenizer(), target)
    _must(_names(folder) == _names(tiny.folder), "names of stored tensors differ")
    _must(_tied(after) == _tied(tiny.model), "other weights are tied")
    if tiny.model.can_generate():
        _must(_same_generation(tiny.model.generation_config, after.generation_config), "other generation settings")
    _check_outputs(tiny, after, target, "in the saved model")


@dataclass(frozen=True)
class Verdict:
    "What became of a class."

    name: str
    model_type: str
    task: str
    result: str  # right, refused, wrong, crashed or not built
    why: str = ""  # it was refused, is wrong, crashed or could not be built
    pad_moved: str = ""  # why it is refused where the padding id moves, and only there
    compared: bool = True  # whether outputs could be compared


def _one_line(e: Exception) -> str:
    return f"{type(e).__name__}: {' '.join(str(e).split())}"[:300]


def _check_findings(folder: Path) -> None:
    from vocab_lit.models import check

    found = [finding for finding in check.check_folder(folder) if finding.breaks]
    told = [str(finding) for finding in found if finding.part in ("rows", "weights")]  # the rest is the tokenizer's
    _must(not told, "; ".join(told))


def _try(tiny: Tiny, out: Path, larger: bool, pad_moved: bool, opened: bool) -> tuple[str, str]:  # result, why
    from vocab_lit.models.source import load_model, open_model
    from vocab_lit.models.transplant import transplant

    target = target_tokenizer(larger, pad_moved)
    try:
        model = (open_model if opened else load_model)(tiny.folder)
        # the weights are judged; a tokenizer of whole words would be refused where models allow only their own
        with patch("vocab_lit.models.transplant.check_loads_again"):
            result = transplant(model, source_tokenizer(), target, "identity")
        result.save_pretrained(out, model=str(tiny.folder))
    except ValueError as e:
        if "\n" in str(e) or out.exists():
            return "crashed", f"not refused in one line before anything is written: {_one_line(e)}"
        return "refused", str(e)
    except Exception as e:  # noqa: BLE001
        return "crashed", _one_line(e)
    try:
        check_folder(tiny, out, target)
        if not opened:
            _check_findings(out)
            _check_outputs(tiny, result.model, target, "in memory")
    except Wrong as e:
        return "wrong", str(e)
    except Exception as e:  # noqa: BLE001  such as a folder that does not load
        return "wrong", _one_line(e)
    return "right", ""


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
            return Verdict(**about, result="not built", why=_one_line(e))
        found = [_try(tiny, Path(place, str(i)), *how) for i, how in enumerate(trials(turn))]
    kept, moved = found[:2], found[2:]
    compared = tiny.outputs is not None
    for wanted, among in (("crashed", found), ("wrong", found), ("refused", kept)):
        for result, why in among:
            if result == wanted:
                return Verdict(**about, result=result, why=why, compared=compared)
    pad_moved = next((why for result, why in moved if result == "refused"), "")
    return Verdict(**about, result="right", pad_moved=pad_moved, compared=compared)


def sweep(
    chosen: list[Architecture] | None = None,  # None: all
    say: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    "The verdicts of many classes."
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    found = []
    for turn, architecture in enumerate(chosen or architectures()):
        found.append(try_architecture(architecture, turn))
        say(found[-1])
    return found


RESULTS = ("right", "refused", "wrong", "crashed", "not built")


@dataclass(frozen=True)
class Record:
    "What a sweep found."

    transformers: str  # its version
    verdicts: list[Verdict]

    @classmethod
    def read(cls, file: str | Path) -> Record:
        "The record in a file."
        kept = json.loads(Path(file).read_text(encoding="utf-8"))
        return cls(kept["transformers"], [Verdict(**verdict) for verdict in kept["verdicts"]])

    def write(self, file: str | Path) -> None:
        "Write it with a line for each class, without what is as usual."
        usual = {f.name: f.default for f in fields(Verdict)}
        told = [{name: v for name, v in asdict(verdict).items() if v != usual[name]} for verdict in self.verdicts]
        lines = ",\n".join(map(json.dumps, told))
        text = f'{{"transformers": {json.dumps(self.transformers)}, "verdicts": [\n{lines}\n]}}\n'
        Path(file).write_text(text, encoding="utf-8")

    def __getitem__(self, result: str) -> list[Verdict]:
        "The verdicts with one result."
        return [verdict for verdict in self.verdicts if verdict.result == result]


def make_record(verdicts: list[Verdict]) -> Record:
    "What is kept of a sweep: reasons without the folder of the trial, as far as a table has room."
    import transformers

    def plain(why):
        return re.sub(r"\S*/tmp\S*", "FOLDER", why)[:200]

    kept = [replace(v, why=plain(v.why), pad_moved=plain(v.pad_moved)) for v in verdicts]
    return Record(transformers.__version__, kept)


def counts_table(record: Record) -> pd.DataFrame:
    "How many classes of each task came out how."
    import pandas as pd

    counts = collections.Counter((v.task, v.result) for v in record.verdicts)
    table = pd.DataFrame({task: {result: counts[task, result] for result in RESULTS} for task in TASKS}).T
    table.loc["all"] = table.sum()
    return table.rename_axis("task").reset_index()


def compared_table(record: Record) -> pd.DataFrame:
    "Of the right classes, how many were judged by their outputs with the padding id kept and moved."
    import pandas as pd

    right = record["right"]
    moved = [v for v in right if not v.pad_moved]
    rows = [
        dict(padding="kept", right=len(right), outputs_compared=sum(v.compared for v in right), refused=0),
        dict(
            padding="moved",
            right=len(moved),
            outputs_compared=sum(v.compared for v in moved),
            refused=len(right) - len(moved),
        ),
    ]
    return pd.DataFrame(rows).rename(columns={"outputs_compared": "outputs compared"})


_REASONS = [  # what a refusal says, and why that is
    (
        r"none of its tensors has|no token is put into|has no size of a",
        "no embeddings of tokens, as in encoders of sound",
    ),
    (
        r"has several vocabularies|depends on another vocabulary",
        "several vocabularies, or tables of n-grams and hashes",
    ),
    (r"depends on the vocabulary of", "a table with more rows than the vocabulary has tokens"),
    (r"holds no embeddings", "a table of integers by token, such as the expert of each"),
    (r"ends a text at its highest id|does not find the end", "the end of a text is found by its id"),
    (r"rows for \d+ token ids", "fewer embeddings than tokens"),
    (r"numbers positions from its padding", "positions are counted from the padding id"),
    (r"would be given", "further tables of positions"),
    (r"requires the|parameters, which are too many|has no attribute .*Model", "a package or more memory is needed"),
    (r"", "the rules of the sweep make no tiny configuration of it"),
]


def reason_of(verdict: Verdict) -> str:
    "The group that the reason of a verdict belongs to; empty for a class that is right throughout."
    told = verdict.why or verdict.pad_moved
    return told and next(group for pattern, group in _REASONS if re.search(pattern, told))


def reasons_table(verdicts: list[Verdict]) -> pd.DataFrame:
    "The groups of reasons, with an example of each and the classes."
    import pandas as pd

    by_reason = collections.defaultdict(list)
    for verdict in verdicts:
        by_reason[reason_of(verdict)].append(verdict)
    rows = [
        dict(
            reason=group,
            classes=len(found),
            which=", ".join(v.name for v in found),
            example=found[0].why or found[0].pad_moved,
        )
        for group, found in by_reason.items()
    ]
    return pd.DataFrame(rows, columns=["reason", "classes", "which", "example"])


_SEARCH = """<input type="search" placeholder="class, model type, task or reason" aria-label="Search" oninput="
const wanted = this.value.toLowerCase();
for (const row of this.nextElementSibling.tBodies[0].rows)
    row.hidden = !row.textContent.toLowerCase().includes(wanted);">
"""


def search_table(record: Record) -> str:  # HTML
    "All classes with a field above them that shows only those in which a word occurs."
    import pandas as pd

    rows = [
        {"class": v.name, "model type": v.model_type, "task": v.task, "result": v.result}
        | {"reason": v.why or ("" if not v.pad_moved else f"where the padding id moves: {v.pad_moved}")}
        for v in record.verdicts
    ]
    return _SEARCH + pd.DataFrame(rows).to_html(index=False, border=0)


def main() -> None:
    "Make a record of all classes."
    verdicts = sweep(say=lambda v: print(v.result, v.name, v.why or v.pad_moved, flush=True))
    make_record(verdicts).write(sys.argv[1])


if __name__ == "__main__" and "__file__" in globals():  # not in a notebook
    main()
