"""Counts the parameters of a config from its shapes, by the classes of tensors that formats store apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transforms.workloads.config_fields import Fields
from transforms.workloads.config_layers import attention_kinds, head_dim, kv_heads, moe_layers
from transforms.workloads.model_files import ConfigError


@dataclass(frozen=True, slots=True)
class Count:
    """Parameters of the text decoder: all, those at work for a token, table and head, head, routed experts."""

    total: int
    active: int
    embed: int
    head: int
    routed: int
    expert_width: int | None
    token_width: int


def count(fields: Fields, kind: Mapping[str, Any]) -> Count:
    """Returns the parameters of a decoder by class; the vision tower of a nested config is not in them.

    Raises:
        ConfigError: a number that the architecture needs is missing or does not go with the others.
    """
    if kind["block"] == "whisper":
        return _whisper(fields)
    if fields.get("layer_input"):
        raise ConfigError(
            f"{fields.place}: embeddings per layer are not counted; give the safetensors index instead"
        )
    experts, chosen = fields.get("experts"), fields.get("experts_of_a_token")
    if experts > 1 and chosen > experts:
        raise ConfigError(
            f"{fields.place}: {chosen} experts of a token, {experts} in all; give no more than all"
        )
    hidden, layers = fields.need("hidden"), fields.need("layers")
    table = fields.need("vocabulary") * hidden
    is_tied = fields.flag("tie_word_embeddings", kind["is_tied"])
    head_bias = fields.need("vocabulary") if kind["has_head_bias"] else 0
    positions = fields.need("positions") * hidden if kind["has_positions"] else 0
    embed = table if is_tied else 2 * table
    attention = sum(_attention(fields, kind, name) for name in attention_kinds(fields, kind))
    norms = layers * _norm_vectors(fields, kind) * hidden + kind["final_norm_vectors"] * hidden
    routes = moe_layers(fields)
    dense = routes.count(False) * _dense(fields, kind, fields.get("dense_width") or _width(fields))
    expert = _expert(fields, kind)
    routed_layers = routes.count(True)
    routed = routed_layers * fields.get("experts") * expert
    beside = routed_layers * _beside_experts(fields, kind)
    if fields.flag("enable_moe_block", False):
        dense, beside = layers * _dense(fields, kind, _width(fields)), beside + layers * 3 * hidden
    rest = attention + norms + dense + beside + embed + head_bias + positions
    active = rest + routed_layers * fields.get("experts_of_a_token") * expert
    width = _expert_width(fields) if routed_layers else None
    shared_width = fields.get("shared_width") or _shared_experts(fields) * (width or 0)
    of_a_token = (width or 0) * fields.get("experts_of_a_token") + (shared_width if width else 0)
    return Count(rest + routed, active, embed, table, routed, width, of_a_token or _width(fields))


def _width(fields: Fields) -> int:
    """Returns the width of a dense block: stated, or four times the hidden size."""
    return fields.get("width") or 4 * fields.need("hidden")


def _norm_vectors(fields: Fields, kind: Mapping[str, Any]) -> int:
    two_norms = kind["block"] == "falcon" and fields.flag("new_decoder_architecture", False)
    return 4 if two_norms else int(kind["norm_vectors"])


def _attention(fields: Fields, kind: Mapping[str, Any], name: str) -> int:
    if name == "latent":
        return _latent(fields)
    if name == "state":
        return _delta(fields)
    is_global = name == "full" and fields.get("global_head_dim") > 0
    dim = fields.get("global_head_dim") if is_global else head_dim(fields)
    keys_heads = fields.get("global_kv_heads") if is_global else 0
    queries = fields.need("heads") * dim
    keys = (keys_heads or kv_heads(fields, kind["block"])) * dim
    hidden = fields.need("hidden")
    # full layers of Gemma 4 use the projection of the keys for the values too
    key_projections = 1 if is_global and fields.flag("attention_k_eq_v", False) else 2
    gate = queries if kind["block"] == "delta" else 0
    size = hidden * (2 * queries + gate + key_projections * keys)
    has_bias = fields.flag("attention_bias", fields.flag("qkv_bias", kind["has_qkv_bias"]))
    has_bias = has_bias or fields.flag("add_qkv_bias", False) or fields.flag("use_bias", False)
    size += queries + 2 * keys if has_bias else 0
    output_bias = kind["has_output_bias"] or (
        fields.flag("attention_bias", False) and not kind["has_qkv_bias"]
    )
    size += hidden if output_bias else 0
    size += fields.need("heads") if kind["block"] == "sinks" else 0
    norm = "head" if fields.flag("use_qk_norm", False) and kind["qk_norm"] == "none" else kind["qk_norm"]
    return size + {"none": 0, "head": 2 * dim, "width": queries + keys}[norm]


def _latent(fields: Fields) -> int:
    """Multi-head latent attention, and the indexer of its sparse variant."""
    hidden, heads = fields.need("hidden"), fields.need("heads")
    rank, rope, nope = fields.need("latent_rank"), fields.need("rope_dim"), fields.need("nope_dim")
    value, query_rank = fields.need("value_dim"), fields.get("query_rank")
    width = heads * (nope + rope)
    query = hidden * query_rank + query_rank + query_rank * width if query_rank else hidden * width
    keys = hidden * (rank + rope) + rank + rank * heads * (nope + value)
    index_heads, index_dim = fields.get("index_heads"), fields.get("index_dim")
    index = query_rank * index_heads * index_dim + hidden * (index_dim + index_heads) + 2 * index_dim
    return query + keys + heads * value * hidden + (index if index_heads else 0)


def _delta(fields: Fields) -> int:
    """A gated delta net: projections, gates per head, a convolution, a norm, the output."""
    hidden, value_heads = fields.need("hidden"), fields.need("state_value_heads")
    keys = fields.need("state_key_heads") * fields.need("state_key_dim")
    values = value_heads * fields.need("state_value_dim")
    projections = hidden * (2 * keys + 2 * values + 2 * value_heads) + values * hidden
    convolution = (2 * keys + values) * fields.get("convolution", 4)
    return projections + convolution + 2 * value_heads + fields.need("state_value_dim")


def _dense(fields: Fields, kind: Mapping[str, Any], width: int) -> int:
    hidden = fields.need("hidden")
    has_bias = fields.flag("mlp_bias", fields.flag("use_bias", kind["has_ffn_bias"]))
    bias = (kind["ffn_matrices"] - 1) * width + hidden if has_bias else 0
    return int(kind["ffn_matrices"] * hidden * width + bias)


def _expert_width(fields: Fields) -> int:
    return fields.get("expert_width") or fields.need("width")


def _expert(fields: Fields, kind: Mapping[str, Any]) -> int:
    return _dense(fields, kind, _expert_width(fields)) if fields.get("experts") > 1 else 0


def _beside_experts(fields: Fields, kind: Mapping[str, Any]) -> int:
    """The router of a layer with its bias, and the experts that every token passes, with their gate."""
    hidden, experts = fields.need("hidden"), fields.get("experts")
    has_bias = kind["has_ffn_bias"] or kind["block"] == "latent" or fields.raw.get("model_type") == "glm4_moe"
    router = hidden * experts + (experts if has_bias else 0)
    shared_width = fields.get("shared_width")
    if shared_width:
        gate = hidden if fields.raw.get("model_type") != "glm4_moe" else 0
        return router + _dense(fields, kind, shared_width) + gate
    shared = _shared_experts(fields)
    return router + (_dense(fields, kind, shared * _expert_width(fields)) if shared else 0)


def _shared_experts(fields: Fields) -> int:
    """Experts that every token passes; Llama 4 has one without stating it."""
    is_unstated = fields.get("shared_width") > 0 or fields.raw.get("model_type") in ("llama4_text", "llama4")
    return fields.get("shared_experts") or int(is_unstated)


def _whisper(fields: Fields) -> Count:
    """Encoder and decoder of Whisper: no bias on keys, a cross attention in each layer of the decoder."""
    hidden = fields.need("hidden")
    attention, block = 4 * hidden * hidden + 3 * hidden, 8 * hidden * hidden + 5 * hidden
    convolutions = 3 * hidden * fields.need("mel_bins") + 3 * hidden * hidden + 2 * hidden
    encoder_layer = attention + block + 4 * hidden
    encoder = convolutions + fields.need("encoder_layers") * encoder_layer + 2 * hidden
    encoder += fields.need("source_positions") * hidden
    decoder = fields.need("decoder_layers") * (2 * attention + block + 6 * hidden) + 2 * hidden
    decoder += fields.need("target_positions") * hidden
    table = fields.need("vocabulary") * hidden
    total = encoder + decoder + table
    return Count(total, total, table, table, 0, None, 4 * hidden)
