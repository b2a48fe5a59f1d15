"""The geometry of a model that is given by its files, as one row like those of `models.geometry()`.

A config.json gives shapes, parameters and cache; a safetensors header or an index gives the exact bytes of the
weights, and a folder gives both. An architecture without a row in model_type.csv is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from transforms.reference import tables
from transforms.workloads import formats
from transforms.workloads.attention_layers import STATED_SUMS, cache_columns
from transforms.workloads.config_fields import Fields, read_fields
from transforms.workloads.config_layers import attention_kinds, cache_layers, head_dim, kv_heads
from transforms.workloads.config_params import count
from transforms.workloads.model_files import ConfigError, Stored, read_config, read_header, read_index
from transforms.workloads.models import geometry

__all__ = ["ConfigError", "geometry_of_config"]

_INDEX = "model.safetensors.index.json"
_WEIGHTS = "model.safetensors"


def geometry_of_config(path: Path) -> pl.DataFrame:
    """Returns one row with the columns of `models.geometry()`.

    `path` is a config.json, a safetensors file or its header, an index of several, or a folder with config.json and
    perhaps the others. model_id is the name of the folder or file. file_bytes and file_precision are what the files
    say of the weights; file_precision is null where they do not name the format. Without a config the shapes are
    null, so that cache and speed are unknown.

    Raises:
        ConfigError: a file that is broken, too large or not there, or an architecture that is not known.
    """
    if path.is_dir():
        row = _of_config(path / "config.json", path.resolve().name)
        stored = _stored_in(path)
        return row if stored is None else _with_stored(row, stored)
    if path.suffix == ".safetensors":
        return _of_weights(path, read_header(path))
    if path.name.endswith(".index.json"):
        return _of_weights(path, read_index(path))
    return _of_config(path, path.resolve().parent.name if path.name == "config.json" else path.stem)


def _stored_in(folder: Path) -> Stored | None:
    """Returns what a folder says of the weights; None where it holds the config alone."""
    if (folder / _INDEX).is_file():
        return read_index(folder / _INDEX)
    if (folder / _WEIGHTS).is_file():
        return read_header(folder / _WEIGHTS)
    return None


@lru_cache
def _types() -> Mapping[str, Mapping[str, Any]]:
    return {row["model_type"]: row for row in tables.read("model_type").iter_rows(named=True)}


def _of_config(path: Path, name: str) -> pl.DataFrame:
    config = read_config(path)
    fields = read_fields(str(path), config)
    model_type = fields.raw.get("model_type")
    kind = _types().get(model_type) if isinstance(model_type, str) else None
    if kind is None:
        known = ", ".join(sorted(_types())[:6])
        raise ConfigError(f"{path}: model_type {model_type!r:.40} is not known; known are {known} and others")
    numbers = _numbers(fields, kind)
    row = {
        "model_id": name,
        "modality": "asr" if kind["block"] == "whisper" else "vlm" if "vision_config" in config else "llm",
        "attention": _attention(fields, kind),
        "is_moe": numbers["expert_width"] is not None,
        "is_tied": fields.flag("tie_word_embeddings", kind["is_tied"]),
        "file_precision": _stated_precision(config),
        **{key: None if value is None else float(value) for key, value in numbers.items()},
    }
    layers = cache_layers(fields, kind).with_columns(model_id=pl.lit(name))
    bare = _row(row).with_columns(pl.lit(None, pl.Float64).alias(name) for name in STATED_SUMS)
    return cache_columns(bare.drop(_CACHE), layers).select(geometry().columns).cast(geometry().schema)


# What `cache_columns` adds, by its own names.
_CACHE = [
    "kv_bytes_per_token",
    "kv_heads_full",
    "window_tokens",
    "window_bytes_per_token",
    "kv_heads_window",
    "latent_layers",
    "kv_index_bytes_per_token",
    "state_bytes",
    "state_layers",
    "cross_bytes",
    "padded_bytes_per_token",
    "page_bytes_per_token",
]


def _numbers(fields: Fields, kind: Mapping[str, Any]) -> dict[str, int | None]:
    counted = count(fields, kind)
    is_whisper, is_latent = kind["block"] == "whisper", kind["block"] == "latent"
    kinds = [] if is_whisper else attention_kinds(fields, kind)
    return {
        "params_total": counted.total,
        "params_active": counted.active,
        "num_layers": None if is_whisper else fields.need("layers"),
        "hidden_size": fields.need("hidden"),
        "intermediate_size": counted.token_width,
        "expert_width": counted.expert_width,
        "num_attention_heads": fields.need("encoder_heads" if is_whisper else "heads"),
        "num_kv_heads": None if is_whisper or is_latent else kv_heads(fields, kind["block"]),
        "head_dim": None if is_whisper or is_latent else head_dim(fields),
        "vocab_size": fields.need("vocabulary"),
        "max_context": fields.get("positions") or fields.get("target_positions") or None,
        "sliding_window": fields.get("window") if "window" in kinds else None,
        "full_layers": len([name for name in kinds if name in ("full", "latent")]),
        "kv_lora_rank": fields.need("latent_rank") if is_latent else None,
        "qk_rope_head_dim": fields.need("rope_dim") if is_latent else None,
        "params_embed": counted.embed,
        "params_head": counted.head,
        "params_routed": counted.routed,
        "params_vision": 0,
        "params_vision_extra": 0,
        "params_draft": 0,
    }


def _attention(fields: Fields, kind: Mapping[str, Any]) -> str:
    """Returns the kind of attention as model.csv names it."""
    if kind["block"] == "whisper":
        return "mha"
    kinds = set(attention_kinds(fields, kind))
    if "state" in kinds:
        return "hybrid"
    if "latent" in kinds:
        return "mla"
    if "window" in kinds:
        return "sliding"
    shared = kv_heads(fields, kind["block"])
    return "mqa" if shared == 1 else "mha" if shared == fields.need("heads") else "gqa"


def _stated_precision(config: Mapping[str, Any]) -> str | None:
    """Returns the format that a config names for its weights; null where it names none that is known."""
    quantised = config.get("quantization_config")
    if isinstance(quantised, dict):
        method, bits = quantised.get("quant_method"), quantised.get("bits")
        packed = quantised.get("format")
        text = " ".join(str(part) for part in (method, packed, f"int{bits}" if bits else None) if part)
    else:
        text = str(config.get("dtype") or config.get("torch_dtype") or "")
    try:
        return formats.resolve(text)
    except formats.UnknownFormatError:
        return None


def _of_weights(path: Path, stored: Stored) -> pl.DataFrame:
    total = None if stored.parameters is None else float(stored.parameters)
    return _with_stored(_row({"model_id": path.stem, "params_total": total}), stored)


def _with_stored(row: pl.DataFrame, stored: Stored) -> pl.DataFrame:
    return row.with_columns(
        file_bytes=pl.lit(float(stored.stored_bytes)),
        file_precision=pl.coalesce(pl.lit(stored.weight_precision, pl.String), "file_precision"),
    )


def _row(values: Mapping[str, object]) -> pl.DataFrame:
    schema = geometry().schema
    return pl.DataFrame([{name: values.get(name) for name in schema}], schema=schema)
