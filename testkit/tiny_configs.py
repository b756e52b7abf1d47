"""Tiny configurations of the model classes of transformers, by the names of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

VOCABULARY = 48  # embeddings of a tiny model
TEXT_VOCABULARY = re.compile(
    r"vocab_size_per_layer_input|unpadded_vocab_size|^vocab_size$|^(decoder|text)_vocab_size|(src|tgt)_vocab"
)
OTHER_VOCABULARY = 20  # entries of what a name with "vocab" says else
RULES = {  # {names of fields: the most that their value may be}; the first rule counts
    r"codebook_size|num_codevectors|num_embeddings$": 16,
    r"num_kv_shared_layers": 0,
    r"feat_extract": 10**9,  # stays
    r"mamba_d_head|mamba_head_dim": 16,
    r"max_position_embeddings$|max_(source|target)_positions|^n_positions$|^n_ctx$|max_seq_len": 64,
    r"max_sequence_length|context_length|num_position_embeddings|position_embeddings$|max_text_len": 64,
    r"(key_value|kv)_heads$|num_kv_heads": 2,
    r"^qk_head_dim$": 16,
    r"rotary_dim": 4,
    r"head_dim$|d_kv$|dim_head|head_size$|^d_head$|kv_channels|key_dim|value_dim": 8,
    r"heads$|^n_head$|num_head$": 4,
    r"experts_per|top_?k$|num_selected|^moe_k$|topk_group|n_group$|expert_group|shared_experts$": 1,
    r"experts$": 4,
    r"layers$|^n_layer$|num_blocks$|^depth$|^layers$|num_feature_levels": 2,
    r"lora_rank|_rank$": 8,
    r"sliding_window|window_size$|attention_window|local_attention$|chunk_size$": 16,
    r"n_inner": None,
    r"intermediate_size|ffn_dim|d_ff$|ffn_size|mlp_dim|dim_ff|^dff$|hidden_dim$|ffn_hidden|d_inner|linear_units": 32,
    r"feedforward_dim|hidden_size$|^d_model$|^n_embd$|^dim$|embed_dim$|embedding_size|projection_dim|proj_dim": 32,
    r"^emb_dim$|embedding_dim$|^width$|hidden_channels|output_dim$|project_dim|proj_size|projection_size": 32,
    r"text_hidden|hidden_size_per_layer_input|embed_size|model_dim|mel_dim": 32,
    r"image_size$|img_size$|crop_size|max_img_size": 32,
    r"^patch_size$|num_mel_bins$|feature_size|input_feat|num_conv_pos_embeddings$": 16,
    r"num_query_tokens|num_latents|num_queries|image_seq_length|mm_tokens_per_image|audio_seq_length": 4,
    r"n_latents|latent_query|conv_pos_embedding_groups": 4,
    r"num_buckets$": 32,
}
KEPT = ("transformers_version", "architectures", "id2label", "label2id", "dtype")
LAYER_KINDS = ("layer_types", "mlp_layer_types", "layers_block_type", "indexer_types")
MEDIA = re.compile("vision|audio|image|speech|sound")
SPECIAL_ID = re.compile(r"(_token_id|_token_index|_start_id|_end_id|newline_id|(mask|unk|pad|bos|eos)_index)$")
# of the tokenizers of the sweep; every other id stands for a special token of its own
USUAL_IDS = dict(bos=0, cls=0, pad=1, unk=2, eos=3, sep=3, decoder_start=3, mask=4)

_NO_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_VQGAN = dict(base_channels=32, channel_multiplier=[1, 1], num_res_blocks=1)
OVERRIDES: dict[str, dict] = {  # by model type
    "lfm2_moe": dict(layer_types=["conv", "full_attention"], num_dense_layers=1),
    "dots1": dict(n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2),
    "nemotron": dict(num_key_value_heads=4),
    "cohere_compass_text": dict(rope_parameters=dict.fromkeys(["full_attention", "sliding_attention"], _NO_ROPE)),
    "recurrent_gemma": dict(lru_width=32, num_hidden_layers=3),
    "perceiver": dict(d_latents=32, d_model=32, num_self_attends_per_block=1, qk_channels=32, v_channels=32),
    "qwen4_exp_text": dict(layer_types=["linear_attention", "full_attention"], eos_token_id=2)
    | dict(ple_layer_ids=[1], ple_embed_dim=32, heads_per_ngram=2, ngram_vocab_size_base=60, split_ngram_parts=1)
    | dict(make_ngram_vocab_size_divisible_by=4, hc_lowrank=8, hc_count=2, indexer_n_heads=2, indexer_kv_heads=1)
    | dict(indexer_head_dim=16, indexer_budget=16, indexer_compress_ratio=4),
    **dict.fromkeys(("chameleon_vqgan", "emu3_vqgan", "janus_vqgan"), _VQGAN),
    "gemma3n_text": dict(intermediate_size=32),
    "florence_vision": dict(depths=(1, 1), patch_size=(7, 3), patch_stride=(4, 2), patch_padding=(3, 1), window_size=4)
    | dict(patch_prenorm=(False, True), embed_dim=(16, 32), num_heads=(2, 4), num_groups=(2, 4), projection_dim=32),
    "chameleon": dict(vocabulary_map={"<image>": 8, "IMGIMGA": 9}),
    "emu3": dict(vocabulary_map={"<image>": 8, "<|visual token 000000|>": 9}),
    "muse_spark_vision": dict(num_hidden_layers=4),
    "granite_speech5_encoder": dict(context_size=16),
    "mamba2": dict(num_heads=8),
    "reformer": dict(axial_pos_shape=(8, 8), axial_pos_embds_dim=(16, 16), attn_layers=["local", "lsh"], num_hashes=1),
    "zamba": dict(attention_hidden_size=64, attention_head_dim=16, mamba_dt_rank=8, n_mamba_heads=2)
    | dict(num_hidden_layers=4, layers_block_type=["linear_attention", "hybrid"] * 2),
    "got_ocr2_vision": dict(output_channels=16),
    "wav2vec2": dict(conv_dim=(32,) * 7),
    "falcon_h1": dict(mamba_d_ssm=32),
    "neomme": dict(head_dim=16),
    "dbrx": dict(attn_config=dict(kv_n_heads=2, rope_theta=10000.0)),
    **dict.fromkeys(("bridgetower", "bridgetower_text_model", "bridgetower_vision_model"), dict(hidden_size=64)),
    "cosmos3_edge_text": dict(rope_parameters=_NO_ROPE | dict(mrope_section=[2, 1, 1])),
    "ernie4_5_vl_moe_text": dict(rope_parameters=_NO_ROPE | dict(mrope_section=[1, 1, 2])),
    "deepseek_ocr2_text": dict(mlp_layer_types=["dense", "sparse"]),
    "diffusion_gemma_text": dict(num_experts=4, top_k_experts=1, moe_intermediate_size=32),
    "glm5_next_text": dict(index_kpool=1),
    "molmo2_adapter": dict(vision_feature_layer=[1, 0]),
    "mistral_large4_text": dict(kv_source_layers=[0, 0]),
}


def tiny_config(
    config_class: type[PreTrainedConfig], given: dict | None = None, vocabulary: int = VOCABULARY
) -> PreTrainedConfig:
    "A tiny configuration of a class; `given` are fields that are not the default's."
    given = given or {}
    default = config_class(**given)
    small = dict(_small_fields(default, vocabulary))
    return config_class(**given | small | _special_ids(default) | OVERRIDES.get(config_class.model_type, {}))


def _small_fields(config: PreTrainedConfig, vocabulary: int) -> Iterator[tuple[str, Any]]:
    "Fields that are made smaller, with their values."
    from transformers import PreTrainedConfig

    n_layers = next((n for f in ("num_hidden_layers", "n_layer", "num_layers") if (n := getattr(config, f, 0))), 0)
    for name, value in vars(config).items():
        if name.startswith("_") or name in KEPT:
            continue
        if isinstance(value, PreTrainedConfig):
            yield name, _small_part(config, name, value, vocabulary)
        elif isinstance(value, list) and name in LAYER_KINDS:
            yield name, (list(dict.fromkeys(value))[-2:] * 2)[:2]  # one layer of each of the last two kinds
        elif isinstance(value, list) and n_layers and len(value) == n_layers:
            yield name, value[-2:]
        elif value is None and name in ("head_dim", "vocab_size"):
            yield name, 8 if name == "head_dim" else vocabulary
        elif isinstance(value, int) and value and not isinstance(value, bool):
            yield name, _small(config, name, value, vocabulary)


def _small_part(config: PreTrainedConfig, name: str, part: PreTrainedConfig, vocabulary: int) -> dict:
    "A tiny configuration within another, such as that of the text or of images."
    specs = getattr(type(config), "sub_configs_defaults", {})
    given = dict(specs[name].init_kwargs) if name in specs else None
    return tiny_config(type(part), given, OTHER_VOCABULARY if MEDIA.search(name) else vocabulary).to_dict()


def _small(config: PreTrainedConfig, name: str, value: int, vocabulary: int) -> int | None:
    "A small value of a field, by its name."
    if re.search("(key_value|kv)_heads$", name) and value == getattr(config, "num_attention_heads", 0):
        return 4  # as many as there are heads
    if "vocab" in name:
        return vocabulary if TEXT_VOCABULARY.search(name) else OTHER_VOCABULARY
    most = next((most for pattern, most in RULES.items() if re.search(pattern, name)), value)
    return most and min(most, value)


def _special_ids(config: PreTrainedConfig) -> dict[str, int]:
    "Ids within the vocabulary."
    ids, further = {}, 5
    for name, value in vars(config).items():
        if SPECIAL_ID.search(name) and isinstance(value, int) and "ignore" not in name:
            role = SPECIAL_ID.sub("", name).lstrip("_") or name.removesuffix("_index")
            ids[name] = USUAL_IDS.get(role, further)
            further += role not in USUAL_IDS
    return ids
