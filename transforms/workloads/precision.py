"""Which units a GPU multiplies a weight format with, and what a GPU without such units does instead.

A format without its own units runs weight-only: same memory, 16-bit rate, flagged. An 8-bit cache needs FP8 units,
else the cache stays at 16 bit, flagged. Source: workload tiers, section 1, `precision_rule`.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables


def with_formats(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of quant_format.csv that the formulas use; null for an unknown format."""
    formats = tables.read("quant_format").select(
        "weight_precision",
        *(pl.col(n).cast(pl.Float64) for n in ("routed_expert_bits", "other_bits_moe", "other_bits_dense")),
        *(pl.col(n).cast(pl.Float64) for n in ("embedding_bits", "load_factor", "min_compute_capability")),
        "native_unit",
        "multiplied_unit",
        "flops_factor_id",
    )
    return rows.join(formats, on="weight_precision", how="left")


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


def has_cache_fallback() -> pl.Expr:
    """True where an 8-bit cache is asked for and the GPU has no FP8 units."""
    return pl.col("kv_precision").is_in(["fp8", "int8"]) & pl.col("fp8_dense_tflops").is_null()


def flags() -> pl.Expr:
    """What a reader must know about the precision: weight_only, fp16_for_bf16, kv16_fallback."""
    fp16_for_bf16 = pl.col("bf16_dense_tflops").is_null() & pl.col("fp16_dense_tflops").is_not_null()
    fp16_for_bf16 &= pl.col("weight_precision") == "bf16"
    named = [
        pl.when(is_weight_only()).then(pl.lit("weight_only")),
        pl.when(fp16_for_bf16).then(pl.lit("fp16_for_bf16")),
        pl.when(pl.col("kv_falls_back")).then(pl.lit("kv16_fallback")),
    ]
    return pl.concat_list(named).list.drop_nulls()
