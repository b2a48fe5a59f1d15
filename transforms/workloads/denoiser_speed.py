"""Seconds of pictures and clips.

    step   = ((launches / batch)^p + ((compute + moved bytes / bandwidth) / GPUs + exchange)^p)^(1/p)
    output = steps x step + decoding

compute is the FLOPs over the rate that the family of denoisers reaches on the architecture in the engine. Training and
generation study, section 3; in place of its overhead for each family the launches follow the number of layers, memory
traffic and the exchange between GPUs are terms of their own, and attention has a cost by kernel.

Columns read, beside those of `denoisers` and HARDWARE:

architecture_factor   of the generation family
compute_capability
power_share           watts per FLOP against the best board of the generation
engine_class          eager, compiled, or ui (web interfaces)
matrix_gain           row of denoiser_8bit_gain, weight_only, fp32, or null for 16 bit
attention_kernel      row of denoiser_attention_cost
is_old_stack          of before the autumn of 2023
has_half_accumulate   fp16 accumulation on GeForce
is_cached             steps that reuse features
guidance_passes, steps, batch
gpus_per_replica      that share one output; `replicas` work side by side
peer_gb_per_s         one way between the GPUs of a split; null for one GPU
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from transforms.workloads import denoisers, precision
from transforms.workloads.coefficients import coefficient, coefficients

_GPUS = pl.col("gpus_per_replica")
_IS_COMPILED = pl.col("engine_class") == "compiled"
_IS_UI = pl.col("engine_class") == "ui"


def _family() -> pl.Expr:
    """The family of the share: a model of clips that draws one frame counts as one of pictures."""
    is_frame = (pl.col("denoiser_family") == "dit_video") & ~denoisers.is_video()
    return pl.when(is_frame).then(pl.lit("dit_image")).otherwise("denoiser_family")


def _by(key: pl.Expr, values: Mapping[str, float]) -> pl.Expr:
    return key.replace_strict(values, default=None, return_dtype=pl.Float64)


def peak_tflops() -> pl.Expr:
    """The 16-bit rate, or the 32-bit one on NVIDIA GPUs without 16-bit units or with slow ones."""
    is_older = (pl.col("compute_capability") < 7).fill_null(False)
    fallback = pl.when(is_older).then("fp32_tflops")
    return pl.max_horizontal(
        pl.coalesce("sustained_16bit_tflops", fallback),
        pl.when(pl.col("sustained_16bit_tflops").is_not_null()).then("fp32_tflops"),
    )


def nominal_tflops() -> pl.Expr:
    """The peak of the data sheet in 16 bit; a GeForce that adds up in 16 bit multiplies at twice of it."""
    sheet = pl.max_horizontal(precision.rate_16bit_tflops(), peak_tflops())
    return sheet * pl.when("has_half_accumulate").then(2.0).otherwise(1.0)


def format_peak_tflops() -> pl.Expr:
    """The peak of the format that is multiplied: 8 bit where the units have it, else 16 bit."""
    eight = pl.max_horizontal("fp8_dense_tflops", "int8_dense_tops")
    is_8bit = pl.col("matrix_gain").is_in(list(coefficients("denoiser_8bit_gain"))).fill_null(False)
    return pl.when(is_8bit).then(pl.max_horizontal(eight, nominal_tflops())).otherwise(nominal_tflops())


def reached_tflops() -> pl.Expr:
    """TFLOPS that 16-bit matrices would reach on one GPU, were there no peak."""
    kind = pl.when(denoisers.is_unet()).then(pl.lit("unet")).otherwise(_family())
    gain = _by(kind, coefficients("denoiser_compiled_gain"))
    share = _by(_family(), coefficients("denoiser_share")) * pl.col("architecture_factor")
    share *= pl.when(_IS_COMPILED).then(gain).otherwise(1.0)
    share *= pl.when(_IS_UI).then(coefficient("ui_share")).otherwise(1.0)
    share *= pl.when("is_old_stack").then(coefficient("old_stack_share")).otherwise(1.0)
    share *= pl.col("power_share") ** coefficient("denoiser_power_exponent")
    share *= pl.when("has_half_accumulate").then(coefficient("half_accumulate_gain")).otherwise(1.0)
    return share * peak_tflops()


def matrix_gain() -> pl.Expr:
    """Rate of the matrices in their format over that in 16 bit."""
    gains = {
        **coefficients("denoiser_8bit_gain"),
        "weight_only": coefficient("weight_only_share"),
        "fp32": 0.5,
    }
    named = pl.col("matrix_gain").replace_strict(gains, default=None, return_dtype=pl.Float64)
    return pl.when(pl.col("matrix_gain").is_null()).then(1.0).otherwise(named)


def compute_s() -> pl.Expr:
    """Seconds of matrices and attention of one step on one GPU, all passes of guidance."""
    costs = coefficients("denoiser_attention_cost")
    cost, plain = _by(pl.col("attention_kernel"), costs), costs["plain"]
    cost = pl.when(_IS_COMPILED).then(cost.clip(upper_bound=plain)).otherwise(cost)
    cost = pl.when(denoisers.is_unet()).then(1.0).otherwise(cost)
    matrices = denoisers.matrix_tflop() / pl.min_horizontal(
        reached_tflops() * matrix_gain(), format_peak_tflops()
    )
    attention = denoisers.attention_tflop() * cost / pl.min_horizontal(reached_tflops(), nominal_tflops())
    return pl.col("guidance_passes") * (matrices + attention)


def memory_s() -> pl.Expr:
    """Seconds of what norms, activations and residuals read and write in one step on one GPU."""
    values = coefficient("denoiser_values") * denoisers.layer_values()
    unet = coefficient("unet_bytes_per_tflop") * denoisers.matrix_tflop()
    moved = pl.when(denoisers.is_unet()).then(unet).otherwise(2 * values)
    return pl.col("guidance_passes") * moved / (pl.col("memory_bandwidth_gb_per_s") * 1e9)


def launch_s() -> pl.Expr:
    """Seconds that a step takes at least, whatever its size: kernels are launched one by one."""
    unet = _by(pl.col("denoiser_family"), coefficients("denoiser_step_s"))
    layers = coefficient("denoiser_layer_s") * pl.col("depth")
    engine = (
        pl.when(_IS_COMPILED)
        .then(coefficient("compiled_launch_share"))
        .when(_IS_UI)
        .then(coefficient("ui_launch_factor"))
        .otherwise(1.0)
    )
    split = pl.when(_GPUS > 1).then(coefficient("split_launch_factor")).otherwise(1.0)
    return pl.when(denoisers.is_unet()).then(unet).otherwise(layers) * engine * split


def exchange_s() -> pl.Expr:
    """Seconds in which the GPUs of a split exchange keys, values and results of all layers."""
    sent = coefficient("split_exchanges") * 2 * 4 * denoisers.layer_values() * pl.col("guidance_passes")
    seconds = sent / (pl.col("peer_gb_per_s") * 1e9) / _GPUS
    return pl.when((_GPUS > 1) & ~denoisers.is_unet()).then(seconds).otherwise(0.0)


def split_gpus() -> pl.Expr:
    """GPUs that a split is worth."""
    kept = coefficients("split_factor")
    each = pl.when(denoisers.is_video()).then(kept["video"]).otherwise(kept["image"])
    return _GPUS * each ** _GPUS.log(2)


def decode_s() -> pl.Expr:
    """Seconds of decoding the latents, on one GPU."""
    tflop = coefficients("decoder_tflop")
    squares = pl.col("width_px") * pl.col("height_px") / 512**2 * pl.col("frames").fill_null(1)
    each = pl.when(denoisers.is_video()).then(tflop["video"]).otherwise(tflop["image"])
    reached = coefficient("decoder_share") * pl.col("architecture_factor") * peak_tflops()
    return each * squares / reached


def with_denoiser_speed(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds step_s and output_s per picture or clip and replica, spread over the batch, and the shares of the time.

    Columns: step_s; output_s; time_compute_share, time_weights_share (memory), time_link_share, time_overhead_share,
    which add up to 1; limiting_factor, the largest of them.
    """
    rows = rows.with_columns(
        compute_s=compute_s(),
        memory_s=memory_s(),
        exchange_s=exchange_s(),
        launched_s=launch_s() / pl.col("batch"),
        worth=split_gpus(),
        decode_s=decode_s(),
    )
    powers = coefficients("denoiser_sum_power")
    power = pl.when(denoisers.is_unet()).then(powers["unet"]).otherwise(powers["transformer"])
    work = (pl.col("compute_s") + pl.col("memory_s")) / pl.col("worth") + pl.col("exchange_s")
    step = (pl.col("launched_s") ** power + work**power) ** (1 / power)
    reused = pl.when("is_cached").then(coefficient("cached_step_share")).otherwise(1.0)
    rows = rows.with_columns(step_s=step * reused, kept=reused)
    steps = pl.col("steps")
    output = steps * pl.col("step_s") + pl.col("decode_s")
    computed = steps * pl.col("kept") * pl.col("compute_s") / _GPUS + pl.col("decode_s")
    moved = steps * pl.col("kept") * pl.col("memory_s") / _GPUS
    linked = steps * pl.col("kept") * (work - (pl.col("compute_s") + pl.col("memory_s")) / _GPUS)
    rows = rows.with_columns(
        output_s=output,
        time_compute_share=computed / output,
        time_weights_share=moved / output,
        time_link_share=linked / output,
    )
    parts = ("compute", "weights", "link")
    named = [pl.col(f"time_{part}_share") for part in parts]
    rows = rows.with_columns(time_overhead_share=1 - pl.sum_horizontal(named, ignore_nulls=False))
    named.append(pl.col("time_overhead_share"))
    largest = pl.max_horizontal(named)
    limits = zip(named, ("compute", "bandwidth", "link", "overhead"), strict=True)
    limiting = pl.coalesce(*(pl.when(part == largest).then(pl.lit(name)) for part, name in limits))
    made = ("compute_s", "memory_s", "exchange_s", "launched_s", "worth", "decode_s", "kept")
    return rows.with_columns(limiting_factor=limiting).drop(made)
