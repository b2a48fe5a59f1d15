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
    """Returns the size of a head: stated, or the hidden size over the heads."""
    return fields.get("head_dim") or fields.need("hidden") // fields.need("heads")


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
        ConfigError: layer_types of another length, or with a kind that is not known.
    """
    count = fields.need("layers")
    types = fields.raw.get("layer_types")
    if isinstance(types, list):
        return _stated_kinds(fields, types, count)
    if kind["block"] == "latent":
        return ["latent"] * count
    if kind["block"] == "delta":
        every = fields.get("full_every", 4) or 4
        return ["full" if (i + 1) % every == 0 else "state" for i in range(count)]
    rule, has_window = kind["window_rule"], fields.get("window") > 0
    if rule == "pattern" and has_window:
        stated = fields.raw.get("sliding_window_pattern")
        step = stated if isinstance(stated, int) and stated > 0 else int(kind["window_every"])
        return ["full" if (i + 1) % step == 0 else "window" for i in range(count)]
    if rule == "all" and has_window:
        return ["window"] * count
    if rule == "flag" and has_window and fields.flag("use_sliding_window", False):
        full = fields.raw.get("max_window_layers")
        first = int(full) if isinstance(full, int) else 0
        return ["full" if i < first else "window" for i in range(count)]
    return ["full"] * count


def _stated_kinds(fields: Fields, types: list[Any], count: int) -> list[str]:
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
    """Returns which layers route to experts."""
    count = fields.need("layers")
    if fields.get("experts") < 2:
        return [False] * count
    listed = fields.raw.get("moe_layers")
    if isinstance(listed, list):
        return [i in listed for i in range(count)]
    dense = fields.raw.get("mlp_only_layers") or []
    step, first = max(fields.get("moe_step", 1), 1), fields.get("first_dense")
    if "interleave_moe_layer_step" in fields.raw or "decoder_sparse_step" in fields.raw:
        return [(i + 1) % step == 0 and i not in dense for i in range(count)]
    return [i >= first and i % step == 0 for i in range(count)]


def cache_layers(fields: Fields, kind: Mapping[str, Any]) -> pl.DataFrame:
    """Returns what the layers keep, in the columns of attention_layer.csv that formulas read.

    Raises:
        ConfigError: a number that the architecture needs is missing.
    """
    if kind["block"] == "whisper":
        return _frame(_whisper_layers(fields))
    kinds = attention_kinds(fields, kind)
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
