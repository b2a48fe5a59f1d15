"""What the kernels of an engine reach on a GPU: shares of the data-sheet rates, and the time between the kernels.

Every function returns an expression over the columns of one row: a GPU, a weight format and an engine. Shares by class
of hardware, format and engine are coefficients; which classes there are is decided here.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads import precision
from transforms.workloads.coefficients import coefficient, coefficients

_CLASS = pl.col("hardware_class")
_KERNELS = pl.col("kernels")
_IS_GGUF = _KERNELS.is_in(["gguf", "gguf_fused"])
_IS_HBM = _CLASS == "nvidia_hbm"
# AMD kernels of 2023 and 2024 had not been tuned; MLPerf submissions had their own.
_IS_EARLY_ROCM = (pl.col("vendor") == "AMD") & (_KERNELS == "paged_2023") & ~pl.col("is_tuned")
# Figures of Pascal, Volta and Turing: kernels are written for Ampere and later.
_FIRST_COMMON_CAPABILITY = 8.0


def _pick(column: pl.Expr, family: dict[str, float]) -> pl.Expr:
    return column.replace_strict(family, default=None, return_dtype=pl.Float64)


def compute_class() -> pl.Expr:
    """The class of tensor rate: NVIDIA cards with HBM by generation, everything else by hardware class."""
    architecture = pl.col("architecture").fill_null("")
    is_latest = architecture.str.contains("Blackwell|Rubin")
    generation = (
        pl.when(is_latest)
        .then(pl.lit("blackwell_hbm"))
        .when(architecture == "Hopper")
        .then(pl.lit("hopper_hbm"))
        .otherwise(pl.lit("ampere_hbm"))
    )
    gddr = pl.when(_CLASS == "datacenter_gddr").then(pl.lit("workstation")).otherwise(_CLASS)
    return pl.when(_IS_HBM).then(generation).otherwise(gddr)


def _bandwidth_class() -> pl.Expr:
    is_latest = _IS_HBM & pl.col("architecture").fill_null("").str.contains("Blackwell|Rubin")
    return pl.when(is_latest).then(pl.lit("blackwell_hbm")).otherwise(_CLASS)


def _format() -> pl.Expr:
    """How weights are multiplied, as the kernels know it; 16bit for plain ones."""
    bits = pl.col("other_bits_dense")
    is_few = pl.min_horizontal(bits, "routed_expert_bits") < 16
    unit = pl.col("multiplied_unit")
    is_packed = precision.is_weight_only() | (is_few & (unit == "16bit")) | (unit == "int8")
    is_hopper = _IS_HBM & (pl.col("architecture") == "Hopper")
    packed = pl.when(_IS_GGUF).then(pl.lit("gguf")).otherwise(pl.lit("unpacked"))
    eight = pl.when(is_hopper).then(pl.lit("fp8_hopper")).otherwise(pl.lit("fp8"))
    return (
        pl.when(is_packed)
        .then(packed)
        .when((unit == "fp8") & (pl.col("native_unit") == "fp4"))
        .then(pl.lit("mxfp4"))
        .when(unit == "fp8")
        .then(eight)
        .when(unit == "fp4")
        .then(pl.lit("fp4"))
        .otherwise(pl.lit("16bit"))
    )


def _age_share() -> pl.Expr:
    is_old = (pl.col("vendor") == "NVIDIA") & (pl.col("compute_capability") < _FIRST_COMMON_CAPABILITY)
    return pl.when(is_old.fill_null(False)).then(coefficient("early_gpu_share")).otherwise(1.0)


def _plain_bytes_per_s() -> pl.Expr:
    reached = _pick(_bandwidth_class(), coefficients("bandwidth_share"))
    return pl.col("memory_bandwidth_gb_per_s") * 1e9 * reached


def bytes_per_s() -> pl.Expr:
    """Bytes of weights per second that one GPU reads."""
    of_format = {"16bit": 1.0, **coefficients("format_bandwidth_share")}
    by_format = _format().replace_strict(of_format, default=1.0, return_dtype=pl.Float64)
    of_gguf = pl.when(_IS_GGUF & _IS_HBM).then(coefficient("gguf_hbm_share")).otherwise(1.0)
    of_rocm = pl.when(_IS_EARLY_ROCM).then(coefficient("early_rocm_share")).otherwise(1.0)
    return _plain_bytes_per_s() * by_format * of_gguf.fill_null(1.0) * of_rocm.fill_null(1.0) * _age_share()


def cache_bytes_per_s() -> pl.Expr:
    """Bytes of cache per second that one GPU reads."""
    paged = pl.when(_IS_EARLY_ROCM.fill_null(False)).then(coefficient("cache_share.early_rocm"))
    share = (
        pl.when(_IS_GGUF)
        .then(1.0)
        .when(_KERNELS == "paged_2023")
        .then(coefficient("cache_share.paged_2023"))
        .otherwise(coefficient("cache_share.paged"))
    )
    return _plain_bytes_per_s() * pl.coalesce(paged, share)


def cache_reads() -> pl.Expr:
    """How often a step reads the cache: early ROCm kernels read it for each query head of a group anew."""
    group = (pl.col("num_attention_heads") / pl.col("num_kv_heads")).fill_null(1.0)
    return pl.when(_IS_EARLY_ROCM.fill_null(False)).then(group).otherwise(1.0)


def flops_per_s() -> pl.Expr:
    """Operations per second of one GPU in the products with the weights."""
    reached = _pick(compute_class(), coefficients("flops_share"))
    of_format = {
        "16bit": 1.0,
        "unpacked": coefficient("awq_flops_factor"),
        **coefficients("format_flops_share"),
    }
    of_rocm = pl.when(_IS_EARLY_ROCM).then(coefficient("early_rocm_flops_share")).otherwise(1.0)
    held = pl.col("power_share") ** coefficient("power_exponent")
    shares = reached * _pick(_format(), of_format) * of_rocm.fill_null(1.0)
    return precision.compute_tflops() * 1e12 * shares * held * _age_share()


# NVIDIA architectures that have no attention kernels of their own: FlashAttention 2 and its kin.
PLAIN_ATTENTION = ("Ampere", "Ada Lovelace", "Turing", "Volta", "Pascal")


def has_own_attention() -> pl.Expr:
    """True where attention kernels are made for the architecture: not before Hopper, nor where it is not known."""
    return ~pl.col("architecture").fill_null("").is_in([*PLAIN_ATTENTION, ""])


def attention_flops_per_s() -> pl.Expr:
    """Operations per second of one GPU in the attention of a prompt, always in 16 bit."""
    share = (
        pl.when(_KERNELS == "gguf")
        .then(coefficient("attention_share.gguf"))
        .otherwise(coefficient("attention_share.fused"))
    )
    return precision.rate_16bit_tflops() * 1e12 * share


def cached_attention_flops_per_s() -> pl.Expr:
    """Operations per second of one GPU in the attention of new tokens to what is in the cache, in 16 bit.

    Without a causal edge it is a product of two large matrices, and runs as those with the weights do.
    """
    products = precision.rate_16bit_tflops() * 1e12 * _pick(compute_class(), coefficients("flops_share"))
    return pl.when(_KERNELS == "gguf").then(attention_flops_per_s()).otherwise(products)


def prompt_gain() -> pl.Expr:
    """Rate of long prompts against `flops_per_s`: GeForce cards accumulate in 16 bit at twice the rate of the
    data sheet, which local engines use; kernels for packed weights unpack them anew."""
    doubled = (_CLASS == "geforce") & _KERNELS.is_in(["gguf", "gguf_fused", "exl"])
    unpacks = _KERNELS.is_in(["gguf", "gguf_fused", "awq"])
    gain = pl.when(doubled.fill_null(False)).then(2.0).otherwise(1.0)
    return gain * pl.when(unpacks).then(coefficient("local_prompt_share")).otherwise(1.0)


def layer_overhead_s() -> pl.Expr:
    """Seconds of one layer in which no weight moves: gaps between kernels, routing and unpacking of experts."""
    plain = _pick(pl.col("layer_cost"), coefficients("layer_overhead_us"))
    routing = coefficients("expert_layer_overhead_us")
    unpacking = pl.when(_format() == "unpacked").then(routing["unpacked"]).otherwise(0.0)
    routed = _pick(pl.col("expert_cost"), routing) + unpacking
    return (plain + pl.when("is_moe").then(routed).otherwise(0.0)) * 1e-6


def step_overhead_s() -> pl.Expr:
    """Seconds of the host for one step."""
    return _pick(pl.col("step_cost"), coefficients("step_overhead_ms")) * 1e-3


def sequence_overhead_s() -> pl.Expr:
    """Seconds of the host for one sequence of a step."""
    return _pick(pl.col("sequence_cost"), coefficients("sequence_overhead_us")) * 1e-6


def power_share() -> pl.Expr:
    """Watts per FLOP of a board against the best board of its generation, at most 1; 1 where either is unknown.

    A card with half the power for the same units cannot hold their rate. Reads `gpu_keys`.
    """
    return (
        pl.col("gpu_keys")
        .list.eval(pl.element().replace_strict(_power_shares(), default=1.0, return_dtype=pl.Float64))
        .list.min()
    )


def _power_shares() -> dict[str, float]:
    rows = tables.read("gpu").join(tables.read("gpu_speed_class"), on="gpu_key", suffix="_class")
    best = coefficients("full_power_w_per_tflop")
    watts = pl.col("tdp_w") / precision.rate_16bit_tflops()
    share = (watts / compute_class().replace_strict(best, default=None, return_dtype=pl.Float64)).clip(
        upper_bound=1
    )
    return dict(rows.select("gpu_key", share.fill_null(1.0)).iter_rows())
