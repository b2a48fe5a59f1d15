"""What a reference row must satisfy to be believed: a source, a date, known keys, and figures that physics allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import polars as pl

from transforms.reference.specs import Table


class FactsError(ValueError):
    """A reference row without a source or date, with an unknown or double key, or with an impossible figure."""


SEGMENTS = frozenset(
    ("hyperscaler", "neocloud", "marketplace", "peer_host", "serverless", "reseller", "bare_metal")
)
VALUES: dict[str, dict[str, frozenset[str]]] = {
    "gpu": {
        "form_factor": frozenset(("PCIe", "SXM", "NVL", "OAM", "embedded", "pod")),
        "confidence": frozenset(("high", "medium", "low")),
    },
    "region": {
        "continent": frozenset(("AF", "AN", "AS", "EU", "NA", "OC", "SA")),
        "kind": frozenset(("region", "zone", "local_zone", "country", "continent", "global", "unknown")),
    },
    "provider": {
        "segment": SEGMENTS,
        "terms_automated_access": frozenset(("open", "restricted", "unknown")),
        "startup_billed": frozenset(("yes", "no", "unknown")),
        "spot_offered": frozenset(("yes", "no", "unknown")),
        "vat_in_prices": frozenset(("yes", "no", "unknown")),
        "confidence": frozenset(("high", "medium", "low")),
    },
    "tier": {
        "weight_precision": frozenset(
            ("fp32", "bf16", "fp16", "fp8", "int8", "awq-int4", "gptq-int4", "nf4", "mxfp4", "nvfp4")
        ),
        "kv_precision": frozenset(("bf16", "fp16", "fp8", "int8", "none")),
        "hosts_allowed": frozenset(("any", "no_peer")),
        "worst_verdict_allowed": frozenset(("fits", "tight")),
        "recompute": frozenset(("none", "selective", "full")),
    },
}
PURCHASE_KINDS = frozenset(("on_demand", "spot", "reserved"))

# Lowest and highest figure that can be true, in the unit of the column.
BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "gpu": {
        "vram_gb": (1, 1024),
        "usable_gib": (1, 1024),
        "memory_bandwidth_gb_per_s": (10, 40_000),
        "fp64_tflops": (0.01, 500),
        "fp32_tflops": (0.1, 1_000),
        "fp16_dense_tflops": (0.01, 20_000),
        "bf16_dense_tflops": (0.01, 20_000),
        "fp8_dense_tflops": (1, 40_000),
        "fp4_dense_tflops": (1, 80_000),
        "link_gb_per_s": (1, 10_000),
        "tdp_w": (10, 5_000),
        "release_year": (2010, 2030),
    },
    "gpu_alias": {"gpu_count": (1, 1024)},
    "plan_pattern": {"units_per_gpu": (1, 4096), "gpu_count": (1, 1024)},
    "model": {
        "params_total": (1e6, 1e14),
        "params_active": (1e6, 1e14),
        "hidden_size": (16, 65_536),
        "num_attention_heads": (1, 1024),
        "num_kv_heads": (1, 1024),
        "head_dim": (8, 1024),
        "vocab_size": (16, 2_000_000),
        "max_context": (16, 100_000_000),
        "kv_bytes_per_token_bf16": (0, 1e8),
    },
    "tier": {
        "cached_input_share": (0, 1),
        "mean_load": (0, 1),
        "hours_per_month": (0, 744),
        "max_gpus": (1, 100_000),
        "context_tokens": (1, 100_000_000),
        "concurrent_users": (1, 1_000_000),
    },
    "provider": {
        "billing_increment_s": (0, 32_000_000),
        "billing_minimum_s": (0, 32_000_000),
        "monthly_cap_hours": (1, 744),
        "storage_usd_per_gb_month": (0, 1),
        "object_storage_usd_per_gb_month": (0, 1),
        "egress_usd_per_gb_first_tier": (0, 1),
        "egress_free_gb_per_month": (0, 1_000_000),
        "spot_notice_s": (0, 604_800),
        "sla_uptime_pct": (0, 100),
    },
    "region": {"lat": (-90, 90), "lon": (-180, 180)},
}


def check_rows(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """Raises FactsError for the first row without key, source or date, with a double key, or out of bounds."""
    for column in spec.sources:
        _refuse(name, spec, rows.filter(_is_blank(column)), column, "no source")
    _refuse(
        name,
        spec,
        rows.filter(pl.all_horizontal(_is_blank(day) for day in spec.dates)),
        spec.dates[0],
        "no date",
    )
    _refuse(name, spec, rows.filter(_is_blank(spec.key[0])), spec.key[0], "no key")
    _refuse(
        name, spec, rows.filter(pl.struct(spec.key).is_duplicated()), spec.key[0], "the key is there twice"
    )
    for column, allowed in VALUES.get(name, {}).items():
        wrong = rows.filter(pl.col(column).is_not_null() & ~pl.col(column).is_in(sorted(allowed)))
        _refuse(name, spec, wrong, column, f"not one of {', '.join(sorted(allowed))}")
    for column, (low, high) in BOUNDS.get(name, {}).items():
        value = pl.col(column).cast(pl.Float64)
        wrong = rows.filter(value.is_not_null() & ~value.is_between(low, high))
        _refuse(name, spec, wrong, column, f"outside {low:g} to {high:g}")
    for check in RULES.get(name, ()):
        check(name, rows, spec)


def check_references(
    name: str, rows: pl.DataFrame, spec: Table, known: Callable[[str, str], Iterable[str]]
) -> None:
    """Raises FactsError for a row that points to a key which the other table does not have.

    `known(table, column)` gives the keys of another table.
    """
    for column, separator, table, key in REFERENCES.get(name, ()):
        keys = set(known(table, key))
        named = rows.with_columns(pointed=pl.col(column).str.split(separator)).explode("pointed")
        wrong = named.filter(pl.col("pointed").is_not_null(), ~pl.col("pointed").is_in(sorted(keys)))
        _refuse(name, spec, wrong, column, f"names a key that {table}.csv does not have")


REFERENCES = {
    "gpu_alias": (("gpu_keys", "|", "gpu", "gpu_key"), ("context", "\n", "alias_context", "context")),
    "plan_pattern": (("gpu_keys", "|", "gpu", "gpu_key"),),
    "audio_reference": (("gpu_key", "|", "gpu", "gpu_key"), ("model_id", ";", "model", "model_id")),
    "denoiser": (("model_id", ";", "model", "model_id"),),
    "gpu_speed_class": (("gpu_key", "|", "gpu", "gpu_key"),),
    "tier": (("model_id", ";", "model", "model_id"), ("alt_model_ids", ";", "model", "model_id")),
}


def _is_blank(column: str) -> pl.Expr:
    return pl.col(column).is_null() | (pl.col(column).cast(pl.String).str.strip_chars() == "")


def _refuse(name: str, spec: Table, wrong: pl.DataFrame, column: str, problem: str) -> None:
    if wrong.is_empty():
        return
    row = wrong.row(0, named=True)
    key = " / ".join(str(row[part]) for part in spec.key[:2])
    raise FactsError(f"{name}.csv: {key[:80]}: {column} = {str(row[column])[:60]}: {problem}")


def _check_peaks(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """A narrower number format is never slower than the next wider one on the same tensor units."""
    ladder = ("tf32_dense_tflops", "bf16_dense_tflops", "fp8_dense_tflops", "fp4_dense_tflops")
    for wide, narrow in pairwise(ladder):
        slower = rows.filter(pl.col(narrow) < 0.99 * pl.col(wide))
        _refuse(name, spec, slower, narrow, f"below {wide}, though the format is narrower")
    above = rows.filter(pl.col("usable_gib") > 1.001 * pl.col("vram_gb"))
    _refuse(name, spec, above, "usable_gib", "more than the card has")


def _check_geometry(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """Attention heads divide evenly over KV heads, and together are of the order of the hidden size."""
    heads, kv_heads, hidden = pl.col("num_attention_heads"), pl.col("num_kv_heads"), pl.col("hidden_size")
    uneven = rows.filter((kv_heads > heads) | (heads % kv_heads != 0))
    _refuse(name, spec, uneven, "num_kv_heads", "does not divide the attention heads")
    width = heads * pl.col("head_dim") / hidden
    _refuse(
        name,
        spec,
        rows.filter(~width.is_between(0.2, 16)),
        "head_dim",
        "heads x head_dim is far from hidden_size",
    )
    more = rows.filter(pl.col("params_active") > pl.col("params_total"))
    _refuse(name, spec, more, "params_active", "more than params_total")


def _check_kinds(name: str, rows: pl.DataFrame, spec: Table) -> None:
    kinds = rows.with_columns(kind=pl.col("purchase_kinds_allowed").str.split("|")).explode("kind")
    wrong = kinds.filter(~pl.col("kind").is_in(sorted(PURCHASE_KINDS)))
    _refuse(name, spec, wrong, "purchase_kinds_allowed", f"not of {', '.join(sorted(PURCHASE_KINDS))}")


def _check_band(name: str, rows: pl.DataFrame, spec: Table) -> None:
    outside = rows.filter((pl.col("value") < pl.col("low")) | (pl.col("value") > pl.col("high")))
    _refuse(name, spec, outside, "value", "outside its own low and high")


RULES: dict[str, tuple[Callable[[str, pl.DataFrame, Table], None], ...]] = {
    "gpu": (_check_peaks,),
    "model": (_check_geometry,),
    "tier": (_check_kinds,),
    "assumption": (_check_band,),
    "coefficient": (_check_band,),
}
