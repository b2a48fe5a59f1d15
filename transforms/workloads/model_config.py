"""The geometry of a model that is given by its files, as one row like those of `models.geometry()`.

A config.json gives shapes, parameters and cache; a safetensors header or an index gives the exact bytes of the
weights, and a folder gives both. An architecture without a row in model_type.csv is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from transforms.reference import tables
from transforms.workloads import formats
from transforms.workloads.attention_layers import STATED_SUMS, cache_columns
from transforms.workloads.config_fields import Fields, part_of, read_fields
from transforms.workloads.config_layers import attention_kinds, cache_layers, head_dim, kv_heads
from transforms.workloads.config_params import count
from transforms.workloads.model_files import ConfigError, Stored, read_config, read_header, read_index
from transforms.workloads.models import geometry

__all__ = ["ConfigError", "geometry_of_config", "unknown_format"]

_INDEX = "model.safetensors.index.json"
_WEIGHTS = "model.safetensors"
_LONGEST_NAME = 100
# Methods that one format stands for each, and those of which the bits tell which.
_OWN_FORMAT = ("fp8", "fbgemm_fp8", "mxfp4")
_FORMAT_OF_BITS = ("gptq", "awq", "auto-round", "hqq")


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
        if stored is None:
            return row
        # the type of most bytes says nothing of packed tensors beside a large table of embeddings
        is_quantised = bool(_quantised(path / "config.json"))
        return _with_stored(row, replace(stored, weight_precision=None) if is_quantised else stored)
    if path.suffix == ".safetensors":
        return _of_weights(path, read_header(path))
    if path.name.endswith(".index.json"):
        return _of_weights(path, read_index(path))
    return _of_config(path, path.resolve().parent.name if path.name == "config.json" else path.stem)


def unknown_format(path: Path) -> str | None:
    """Returns the quantisation that a config or a folder with one states and quant_format.csv has no row for.

    None where the format is known, or no quantisation is stated.

    Raises:
        ConfigError: as `geometry_of_config`.
    """
    if path.suffix == ".safetensors" or path.name.endswith(".index.json"):
        return None
    quantised = _quantised(path / "config.json" if path.is_dir() else path)
    if not quantised or _quantised_precision(quantised) is not None:
        return None
    bits = _bits(quantised)
    method = f"{quantised.get('quant_method') or quantised.get('quant_algo')!r:.40}"
    return method if bits is None else f"{method} of {bits!r:.20} bits"


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
        "file_precision": _stated_precision(str(path), config, fields),
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


def _stated_precision(place: str, config: Mapping[str, Any], fields: Fields) -> str | None:
    """Returns the format that a config names for its weights; null where it names none that is known."""
    quantised = _quantisation(place, config, fields)
    if quantised:
        return _quantised_precision(quantised)
    stated = config.get("dtype") or config.get("torch_dtype") or fields.raw.get("dtype")
    return _resolved(str(stated or fields.raw.get("torch_dtype") or ""))


def _quantised(path: Path) -> Mapping[str, Any]:
    config = read_config(path)
    return _quantisation(str(path), config, read_fields(str(path), config))


def _quantisation(place: str, config: Mapping[str, Any], fields: Fields) -> Mapping[str, Any]:
    """Returns what a config says of its quantisation, which may stand with the text decoder; empty for nothing."""
    of_all = part_of(place, config, "quantization_config")
    return of_all or part_of(place, fields.raw, "quantization_config")


def _quantised_precision(quantised: Mapping[str, Any]) -> str | None:
    """Returns the format of a quantisation; null for a method or a number of bits that no format stands for."""
    method, bits = str(quantised.get("quant_method") or "").casefold(), _bits(quantised)
    if method in _OWN_FORMAT:
        found = _resolved(method)
    elif method in _FORMAT_OF_BITS:
        found = None if bits is None else _resolved(f"{method} {bits!r:.20} bit")
    elif method == "bitsandbytes":
        found = _resolved(_bitsandbytes(quantised))
    elif method == "compressed-tensors":
        found = _resolved(_compressed(quantised))
    else:
        found = _resolved(str(quantised.get("quant_algo") or "")) if method in ("", "modelopt") else None
    return found if bits is None or found is None or bits == _nominal_bits(found) else None


def _bits(quantised: Mapping[str, Any]) -> object:
    """Returns the bits of a weight as stated, which may be anything; None where they are not stated."""
    inner = quantised.get("quant_config")
    inner = inner.get("weight_quant_params") if isinstance(inner, dict) else None
    places = (quantised, inner if isinstance(inner, dict) else {}, _weights_of_groups(quantised))
    names = ("bits", "w_bit", "nbits", "num_bits")
    return next((place[name] for place in places for name in names if place.get(name) is not None), None)


def _nominal_bits(weight_precision: str) -> int:
    """Whole bits of a weight, without the scales that a format stores beside them."""
    row = tables.read("quant_format").filter(pl.col("weight_precision") == weight_precision)
    return int(row["routed_expert_bits"].item())


def _bitsandbytes(quantised: Mapping[str, Any]) -> str:
    if quantised.get("load_in_8bit") is True:
        return "bnb int8"
    if quantised.get("load_in_4bit") is not True:
        return ""
    return "nf4 double" if quantised.get("bnb_4bit_use_double_quant") is True else "bnb nf4"


def _compressed(quantised: Mapping[str, Any]) -> str:
    """The weights of compressed-tensors in words that quant_alias.csv knows; nothing for groups that differ."""
    weights = _weights_of_groups(quantised)
    if not weights:
        return ""
    scales = f"g{weights['group_size']}" if weights["group_size"] else f"per {weights['strategy']}"
    # "pack-quantized" alone names neither bits nor groups
    packed = "" if quantised.get("format") == "pack-quantized" else str(quantised.get("format") or "")
    return f"{packed} {weights['type']}{weights['num_bits']} {scales}"


def _weights_of_groups(quantised: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns how all config_groups store weights; empty where there are none or they differ."""
    groups = quantised.get("config_groups")
    found: list[Mapping[str, Any]] = []
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        stated = weights if isinstance(weights, dict) else {}
        found.append({name: stated.get(name) for name in ("type", "num_bits", "group_size", "strategy")})
    return found[0] if found and all(weights == found[0] for weights in found) else {}


def _resolved(text: str) -> str | None:
    try:
        return formats.resolve(text[:_LONGEST_NAME])
    except formats.UnknownFormatError:
        return None


def _of_weights(path: Path, stored: Stored) -> pl.DataFrame:
    total = None if stored.parameters is None else float(stored.parameters)
    return _with_stored(_row({"model_id": path.stem, "modality": "llm", "params_total": total}), stored)


def _with_stored(row: pl.DataFrame, stored: Stored) -> pl.DataFrame:
    return row.with_columns(
        file_bytes=pl.lit(float(stored.stored_bytes)),
        file_precision=pl.coalesce(pl.lit(stored.weight_precision, pl.String), "file_precision"),
    )


def _row(values: Mapping[str, object]) -> pl.DataFrame:
    schema = geometry().schema
    return pl.DataFrame([{name: values.get(name) for name in schema}], schema=schema)
