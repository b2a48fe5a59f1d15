"""Which units a GPU multiplies a weight format with, and what a GPU without such units does instead.

A format without its own units runs weight-only: same memory, 16-bit rate, flagged. An 8-bit cache needs FP8 units,
else the cache stays at 16 bit, flagged. Source: workload tiers, section 1, `precision_rule`.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables

_FORMAT_NUMBERS = (
    "routed_expert_bits",
    "other_bits_moe",
    "other_bits_dense",
    "embedding_bits",
    "head_bits",
    "vision_bits",
    "draft_bits",
    "kernel_tile",
    "load_factor",
    "min_compute_capability",
)


def with_formats(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of quant_format.csv that the formulas use; null for an unknown format.

    checkpoint_bytes is the published size of the release of this model in this format, null where none is known.
    """
    formats = tables.read("quant_format").select(
        "weight_precision",
        *(pl.col(name).cast(pl.Float64) for name in _FORMAT_NUMBERS),
        "unties_head",
        "keeps_unpacked_layer",
        "repeats_heads",
        "copies_head_at_load",
        "native_unit",
        "multiplied_unit",
        "flops_factor_id",
    )
    releases = tables.read("checkpoint").select(
        "model_id", "weight_precision", pl.col("stored_bytes").cast(pl.Float64).alias("checkpoint_bytes")
    )
    return rows.join(formats, on="weight_precision", how="left").join(
        releases, on=["model_id", "weight_precision"], how="left"
    )


def rate_16bit_tflops() -> pl.Expr:
    """Dense 16-bit tensor rate: bf16, or fp16 on GPUs without bf16."""
    return pl.coalesce("bf16_dense_tflops", "fp16_dense_tflops")


def _rate_of(unit: str) -> pl.Expr:
    """Dense rate of the units named by a column, TFLOPS; null where the GPU has none."""
    name = pl.col(unit)
    return (
        pl.when(name == "16bit")
        .then(rate_16bit_tflops())
        .when(name == "fp8")
        .then(pl.col("fp8_dense_tflops"))
        .when(name == "int8")
        .then(pl.col("int8_dense_tops"))
        .when(name == "fp4")
        .then(pl.col("fp4_dense_tflops"))
        .when(name == "fp32")
        .then(pl.col("fp32_tflops"))
    )


def is_weight_only() -> pl.Expr:
    """True where weights are unpacked to 16 bit before they are multiplied, for want of units."""
    return (
        _rate_of("native_unit").is_null()
        & rate_16bit_tflops().is_not_null()
        & (pl.col("native_unit") != "fp32")
    )


def compute_tflops() -> pl.Expr:
    """Dense peak of the format that is really multiplied, TFLOPS: 16 bit where the GPU lacks its units."""
    unpacked = pl.when(is_weight_only()).then(rate_16bit_tflops())
    return pl.coalesce(_rate_of("multiplied_unit"), unpacked)


def is_unsupported() -> pl.Expr:
    """True where no common engine runs the format: too old an NVIDIA GPU, or FP8 without units elsewhere."""
    is_nvidia = pl.col("vendor") == "NVIDIA"
    too_old = is_nvidia & (pl.col("compute_capability") < pl.col("min_compute_capability"))
    no_fp8 = ~is_nvidia & (pl.col("native_unit") == "fp8") & pl.col("fp8_dense_tflops").is_null()
    return too_old.fill_null(False) | no_fp8.fill_null(False)


def lacks_cache_units() -> pl.Expr:
    """True where the cache is to be kept in 8 bit and the GPU has no FP8 units."""
    return pl.col("kv_precision").is_in(["fp8", "int8"]) & pl.col("fp8_dense_tflops").is_null()


def has_cache_fallback() -> pl.Expr:
    """True where the cache stays at 16 bit for want of units; a cache precision that the user fixed is kept."""
    return lacks_cache_units() & ~pl.col("is_kv_fixed")


def flags() -> pl.Expr:
    """What a reader must know about the precision.

    weight_only, fp16_for_bf16, kv16_fallback, or kv8_unpacked: a cache that is kept in 8 bit without FP8 units.
    """
    fp16_for_bf16 = pl.col("bf16_dense_tflops").is_null() & pl.col("fp16_dense_tflops").is_not_null()
    fp16_for_bf16 &= pl.col("weight_precision") == "bf16"
    named = [
        pl.when(is_weight_only()).then(pl.lit("weight_only")),
        pl.when(fp16_for_bf16).then(pl.lit("fp16_for_bf16")),
        pl.when(pl.col("kv_falls_back")).then(pl.lit("kv16_fallback")),
        pl.when(lacks_cache_units() & pl.col("is_kv_fixed")).then(pl.lit("kv8_unpacked")),
    ]
    return pl.concat_list(named).list.drop_nulls()
