"""Pictures, clips, adapters of their models, and sound on a layout: denoisers by FLOPs, sound by a reference.

The ranking assumes diffusers in eager mode and 16 bit, with attention kernels of the own architecture for clips. Speed:
denoiser_speed and audio. Memory: generation_memory.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import audio, denoiser_speed, denoisers, kernels, outcome
from transforms.workloads.coefficients import coefficient
from transforms.workloads.generation_memory import with_peak

_GPUS = pl.col("gpus_per_replica")
_PLAIN_KERNEL_TFLOPS = 320  # of an A100, for which FlashAttention 2 was made


def attention_kernel(is_fused: pl.Expr) -> pl.Expr:
    """Returns the row of denoiser_attention_cost.

    Kernels that are not made for Hopper or Blackwell cannot feed units of more than about 320 TFLOPS.
    """
    is_large = (pl.col("hardware_class") == "nvidia_hbm") & (
        pl.col("sustained_16bit_tflops") > _PLAIN_KERNEL_TFLOPS
    )
    return (
        pl.when(is_fused)
        .then(pl.lit("fused"))
        .when(is_large & (pl.col("architecture") == "Hopper"))
        .then(pl.lit("plain_hopper"))
        .when(is_large & pl.col("architecture").str.starts_with("Blackwell"))
        .then(pl.lit("plain_blackwell"))
        .otherwise(pl.lit("plain"))
    )


def band() -> dict[str, pl.Expr]:
    """Edges of the 80 % band of pictures and clips, as shares of the predicted speed."""
    return {
        "band_low": pl.lit(coefficient("band_generation_low")),
        "band_high": pl.lit(coefficient("band_generation_high")),
    }


def _with_usual_setting(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of `denoiser_speed` for a job on a layout, with what the ranking assumes."""
    rows = denoisers.with_denoiser(rows, "model_id")
    # No clip was measured with such kernels on boards with GDDR.
    is_hbm = pl.col("hardware_class").is_in(["nvidia_hbm", "amd_hbm"]).fill_null(False)
    is_fused = denoisers.is_video() & is_hbm & kernels.has_own_attention()
    fast = pl.col("link").is_in(["nvlink", "xgmi", "pcie"])
    return rows.with_columns(
        power_share=kernels.power_share(),
        engine_class=pl.lit("eager"),
        matrix_gain=pl.lit(None, pl.String),
        attention_kernel=attention_kernel(is_fused),
        is_old_stack=pl.lit(False),
        has_half_accumulate=pl.lit(False),
        is_cached=pl.lit(False),
        peer_gb_per_s=pl.when((_GPUS > 1) & fast).then(pl.col("link_gb_per_s") / 2),
    )


def draw(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of jobs that make pictures or clips, one request or batch at a time."""
    rows = denoiser_speed.with_denoiser_speed(_with_usual_setting(with_peak(rows)))
    is_video = denoisers.is_video()
    is_session = pl.col("work_unit") == "session_hours_per_month"
    is_demand = pl.col("kind") == "demand"
    speed = pl.col("output_s")
    in_time = speed <= pl.col("max_latency_s")
    certain = speed / coefficient("band_generation_low") <= pl.col("max_latency_s")
    rows = rows.with_columns(
        speed=speed,
        speed_unit=pl.when(is_video).then(pl.lit("s/clip")).otherwise(pl.lit("s/image")),
        engine=pl.lit("diffusers, eager"),
        rate_per_hour=pl.when(is_session).then(1.0).otherwise(3600 / speed),
        users_per_replica=pl.when(is_demand).then(in_time.fill_null(True).cast(pl.Float64)),
        certain_users_per_replica=pl.when(is_demand).then(certain.fill_null(True).cast(pl.Float64)),
        sequences_in_flight=pl.col("batch").cast(pl.Float64),
        time_cache_share=pl.lit(0.0),
        time_prefill_share=pl.lit(0.0),
        **band(),
    )
    is_small = denoisers.tflop_per_pass() < coefficient("min_split_tflop.image")
    too_far = is_small | (pl.col("gpus_per_replica") > coefficient("max_split.image"))
    no_split = outcome.Failure(
        "layout",
        (_GPUS > 1) & ~is_video & too_far,
        pl.format("{} GPUs on one picture of {} gain nothing", _GPUS.cast(pl.Int64), "model_id"),
    )
    latency = outcome.above("latency", pl.col("speed"), pl.col("max_latency_s"), "s for one request")
    return outcome.with_outcome(rows, [*_failures("this size"), no_split, latency])


def train_adapter(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of jobs that train an adapter of a picture model: one pass forward and twice that backward.

    The band is that of pictures: no row of this kind was measured.
    """
    passes = coefficient("denoiser_training_passes")
    rows = rows.with_columns(steps=pl.lit(1.0), guidance_passes=pl.lit(passes))
    rows = denoiser_speed.with_denoiser_speed(_with_usual_setting(with_peak(rows)))
    rows = rows.with_columns(
        speed="step_s",
        speed_unit=pl.lit("s/image"),
        rate_per_hour=3600 / pl.col("step_s"),
        engine=pl.lit("diffusers, eager"),
        time_cache_share=pl.lit(0.0),
        time_prefill_share=pl.lit(0.0),
        **band(),
    )
    return outcome.with_outcome(rows, _failures("this size"))


def _failures(subject: str) -> list[outcome.Failure]:
    return [
        *outcome.precision_failures(),
        outcome.figure_failure("load_ratio", "architecture", "the peak memory"),
        *outcome.fabric_failures(),
        outcome.memory_failure(),
        outcome.figure_failure("speed", "figures", f"the speed at {subject}"),
    ]


def _is_sound_calibrated() -> pl.Expr:
    """True where models of this kind, hearing, speaking or music, were measured on the family of the GPU."""
    return pl.any_horizontal(
        (pl.col("modality") == kind) & pl.col(f"is_{kind}_calibrated") for kind in ("asr", "tts", "music")
    ).fill_null(False)


def sound(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of jobs on sound, in audio seconds per second over all streams of a replica."""
    rows = audio.with_reference(with_peak(rows))
    rows = rows.with_columns(
        speed=audio.audio_s_per_s(),
        speed_unit=pl.lit("audio s/s"),
        limiting_factor=pl.lit("overhead"),
        engine=pl.lit("the model's own"),
        is_calibrated=_is_sound_calibrated(),
        time_overhead_share=pl.lit(1.0),
        **{f"time_{part}_share": pl.lit(0.0) for part in ("compute", "link", "weights", "cache", "prefill")},
        band_low=pl.lit(coefficient("band_audio_low")),
        band_high=pl.lit(coefficient("band_audio_high")),
    )
    streams = pl.col("concurrent_users")
    each, low = pl.col("speed") / pl.col("min_stream_rtf"), pl.col("band_low")
    unit_s = pl.when(pl.col("work_unit") == "songs").then("clip_seconds").otherwise(3600.0)
    is_demand = pl.col("kind") == "demand"
    no_delay = (
        pl.when(pl.col("max_ttft_ms").is_not_null()).then(pl.lit(["ttft_not_modelled"])).otherwise(pl.lit([]))
    )
    rows = rows.with_columns(
        users_per_replica=pl.when(is_demand).then(pl.min_horizontal(streams, each.floor())),
        certain_users_per_replica=pl.when(is_demand).then(pl.min_horizontal(streams, (each * low).floor())),
        sequences_in_flight=pl.when(is_demand).then(streams).otherwise(pl.col("batch").fill_null(1)),
        rate_per_hour=pl.col("speed") * 3600 / unit_s,
        flags=pl.col("flags").list.concat(no_delay),
    )
    one_stream = outcome.below(
        "speed", pl.col("speed"), pl.col("min_stream_rtf"), "times real time of one stream"
    )
    return outcome.with_outcome(rows, [*_failures("this kind of sound"), one_stream])
