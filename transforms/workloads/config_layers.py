"""Which kind of attention and of feed-forward block each layer of a config has, and what the layers keep of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.workloads.config_fields import Fields
from transforms.workloads.model_files import ConfigError

LAYER_COLUMNS = {
    "model_id": pl.String,
    "kind": pl.String,
    "layers": pl.Int64,
    "kv_heads": pl.Int64,
    "key_dim": pl.Int64,
    "value_dim": pl.Int64,
    "tokens": pl.Int64,
    "tokens_per_entry": pl.Int64,
    "state_bytes": pl.Int64,
}
_TYPE_NAMES = {
    "full_attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "linear_attention": "state",
}


def head_dim(fields: Fields) -> int:
    """Returns the size of a head: stated, or the hidden size over the heads.

    Raises:
        ConfigError: more heads than the hidden size has room for.
    """
    stated = fields.get("head_dim")
    if not stated and fields.need("hidden") < fields.need("heads"):
        hidden, heads = fields.need("hidden"), fields.need("heads")
        raise ConfigError(
            f"{fields.place}: hidden size {hidden} for {heads} heads; give one of at least {heads}"
        )
    return stated or fields.need("hidden") // fields.need("heads")


def kv_heads(fields: Fields, block: str) -> int:
    """Returns the heads of keys and values: stated, one for multi-query attention, else as many as of queries."""
    if (
        block == "falcon"
        and fields.flag("multi_query", True)
        and not fields.flag("new_decoder_architecture", False)
    ):
        return 1
    if fields.raw.get("model_type") == "gpt_bigcode" and fields.flag("multi_query", True):
        return 1
    return fields.get("kv_heads") or fields.need("heads")


def attention_kinds(fields: Fields, kind: Mapping[str, Any]) -> list[str]:
    """Returns full, window, latent or state for each layer.

    Raises:
        ConfigError: layer_types of another length, or with a kind that is not known or that does not go with
            the model type.
    """
    count = fields.need("layers")
    types = fields.raw.get("layer_types")
    is_latent = kind["block"] == "latent"
    if types is not None:
        stated = _stated_kinds(fields, types, count)
        if is_latent and set(stated) != {"full"}:
            raise ConfigError(
                f"{fields.place}: layer_types: latent attention is known as full_attention only"
            )
        return ["latent"] * count if is_latent else stated
    if is_latent:
        return ["latent"] * count
    if kind["block"] == "delta":
        every = fields.get("full_every", 4) or 4
        return ["full" if (i + 1) % every == 0 else "state" for i in range(count)]
    rule, has_window = kind["window_rule"], fields.get("window") > 0
    if rule == "pattern" and has_window:
        step = fields.get("window_step") or int(kind["window_every"])
        return ["full" if (i + 1) % step == 0 else "window" for i in range(count)]
    if rule == "all" and has_window:
        return ["window"] * count
    if rule == "flag" and has_window and fields.flag("use_sliding_window", False):
        first = fields.get("full_first")
        return ["full" if i < first else "window" for i in range(count)]
    return ["full"] * count


def _stated_kinds(fields: Fields, types: Any, count: int) -> list[str]:
    if not isinstance(types, list):
        raise ConfigError(f"{fields.place}: layer_types = {types!r:.40}: give a list of one name per layer")
    if len(types) != count:
        raise ConfigError(
            f"{fields.place}: layer_types has {len(types)} entries for {count} layers; give one each"
        )
    odd = next((name for name in types if not isinstance(name, str) or name not in _TYPE_NAMES), None)
    if odd is not None:
        known = ", ".join(_TYPE_NAMES)
        raise ConfigError(f"{fields.place}: layer_types: {odd!r:.40} is not known; known are {known}")
    return [_TYPE_NAMES[name] for name in types]


def moe_layers(fields: Fields) -> list[bool]:
    """Returns which layers route to experts.

    Raises:
        ConfigError: layers that are listed in another way than by their numbers.
    """
    count = fields.need("layers")
    if fields.get("experts") < 2:
        return [False] * count
    listed = fields.places("moe_layers")
    if listed is not None:
        return [i in listed for i in range(count)]
    dense = fields.places("mlp_only_layers") or frozenset()
    step, first = max(fields.get("moe_step", 1), 1), fields.get("first_dense")
    if "interleave_moe_layer_step" in fields.raw or "decoder_sparse_step" in fields.raw:
        return [(i + 1) % step == 0 and i not in dense for i in range(count)]
    return [i >= first and i % step == 0 for i in range(count)]


def cache_layers(fields: Fields, kind: Mapping[str, Any]) -> pl.DataFrame:
    """Returns what the layers keep, in the columns of attention_layer.csv that formulas read.

    Raises:
        ConfigError: a number that the architecture needs is missing or does not go with the others.
    """
    if kind["block"] == "whisper":
        return _frame(_whisper_layers(fields))
    kinds = attention_kinds(fields, kind)
    if fields.get("shared_kv_layers") >= len(kinds):
        shared = f"num_kv_shared_layers = {fields.get('shared_kv_layers')} of {len(kinds)} layers"
        raise ConfigError(f"{fields.place}: {shared}; at least one layer must keep a cache of its own")
    owned = kinds[: len(kinds) - fields.get("shared_kv_layers")]
    counts = {name: owned.count(name) for name in dict.fromkeys(owned)}
    rows: list[dict[str, Any]] = []
    heads, dim = kv_heads(fields, kind["block"]), 0 if kind["block"] == "latent" else head_dim(fields)
    for name, layers in counts.items():
        row: dict[str, Any] = {"kind": name, "layers": layers}
        if name == "full":
            own = fields.get("global_kv_heads") or heads
            size = fields.get("global_head_dim") or dim
            row |= {"kv_heads": own, "key_dim": size, "value_dim": fields.get("value_dim") or size}
        elif name == "window":
            row |= {"kv_heads": heads, "key_dim": dim, "value_dim": dim, "tokens": fields.need("window")}
        elif name == "latent":
            row |= {
                "kv_heads": 1,
                "key_dim": fields.need("latent_rank"),
                "value_dim": fields.need("rope_dim"),
            }
        else:
            row["state_bytes"] = _state_bytes(fields)
        rows.append(row)
    if fields.get("index_heads"):
        if "latent" not in counts:
            raise ConfigError(
                f"{fields.place}: index_n_heads without latent attention is not known; remove it"
            )
        rows.append(
            {
                "kind": "index",
                "layers": counts["latent"],
                "kv_heads": 1,
                "key_dim": fields.need("index_dim"),
                "value_dim": 0,
            }
        )
    return _frame(rows)


def _state_bytes(fields: Fields) -> int:
    """Bytes of one gated delta net: a matrix per value head in 32 bit, and the convolution in 16 bit."""
    values = fields.need("state_value_heads") * fields.need("state_value_dim")
    keys = fields.need("state_key_heads") * fields.need("state_key_dim")
    positions = fields.get("convolution", 4) - 1
    return values * fields.need("state_key_dim") * 4 + (2 * keys + values) * positions * 2


def _whisper_layers(fields: Fields) -> list[dict[str, Any]]:
    heads = fields.need("encoder_heads")
    each = {
        "layers": fields.need("decoder_layers"),
        "kv_heads": heads,
        "key_dim": fields.need("hidden") // heads,
        "value_dim": fields.need("hidden") // heads,
    }
    return [{"kind": "full", **each}, {"kind": "cross", **each, "tokens": fields.need("source_positions")}]


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    filled = [{name: row.get(name) for name in LAYER_COLUMNS} for row in rows]
    return pl.DataFrame(filled, schema=LAYER_COLUMNS)
