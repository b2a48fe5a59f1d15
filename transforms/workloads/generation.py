"""Pictures, clips, adapters of their models, and sound: memory as measured, speed by FLOPs or by a reference.

Memory is the peak that the job states, since no geometry formula exists. Denoisers: training and generation study,
section 3 and 3.3; sound: section 5. Functions return expressions over one row per job, hardware and layout.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads import outcome, precision, sizing
from transforms.workloads.coefficients import coefficient, coefficients

_GPUS = pl.col("gpus_per_replica")


def with_denoiser(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds denoiser_family and tflop_per_forward of the model at the job's size; null where no count is known."""
    counts = tables.read("denoiser").select(
        "model_id",
        *(pl.col(n).cast(pl.Float64) for n in ("width_px", "height_px", "frames")),
        "denoiser_family",
        pl.col("tflop_per_forward").cast(pl.Float64),
    )
    size = ["model_id", "width_px", "height_px", "frames"]
    given = pl.col("frames")
    rows = rows.with_columns(frames=given.fill_null(1.0), given_frames=given)
    return rows.join(counts, on=size, how="left").with_columns(frames="given_frames").drop("given_frames")


def _is_video() -> pl.Expr:
    return pl.col("denoiser_family") == "dit_video"


def denoiser_tflops() -> pl.Expr:
    """TFLOPS that a replica reaches in eager mode: share of the family x architecture, capped, and split losses."""
    family = pl.col("denoiser_family")
    share = family.replace_strict(coefficients("denoiser_share"), default=None, return_dtype=pl.Float64)
    architecture = pl.when(_is_video()).then("video_factor").otherwise("architecture_factor")
    reached = (share * architecture).clip(upper_bound=coefficient("denoiser_share_cap"))
    loss = coefficients("split_factor")
    fast_link = pl.col("link").is_in(["nvlink", "xgmi"])
    video = pl.when(fast_link).then(loss["video_fast_link"]).otherwise(loss["video_pcie"])
    each_doubling = pl.when(_is_video()).then(video).otherwise(loss["image"])
    return reached * pl.col("sustained_16bit_tflops") * _GPUS * each_doubling ** _GPUS.log(2)


def step_overhead_s() -> pl.Expr:
    """Seconds of launches in one eager step of the denoiser, whatever the batch."""
    by_family = coefficients("denoiser_step_s")
    return pl.col("denoiser_family").replace_strict(by_family, default=None, return_dtype=pl.Float64)


def output_s() -> pl.Expr:
    """Seconds per picture or clip, spread over the batch; decoding of the latents is left out."""
    compute = pl.col("tflop_per_forward") * pl.col("guidance_passes") / denoiser_tflops()
    return pl.col("steps") * (step_overhead_s() / pl.col("batch") + compute)


def training_sample_s() -> pl.Expr:
    """Seconds per picture that an adapter of a denoiser learns from: one pass forward and twice that backward."""
    compute = coefficient("denoiser_training_passes") * pl.col("tflop_per_forward") / denoiser_tflops()
    return step_overhead_s() / pl.col("batch") + compute


def _with_stated_peak(rows: pl.DataFrame) -> pl.DataFrame:
    """Memory from the stated peak: the resident weights of all components, and the rest as activations."""
    peak = pl.col("assumed_peak_gib")
    weights = pl.col("params_total") * pl.col("other_bits_dense") / 8 / sizing.GIB
    # A peak below the resident weights means that some are moved out: then the parts are not known.
    known = pl.when(weights <= peak).then(weights)
    return rows.with_columns(
        need_gib=peak,
        weights_gib=known,
        activation_gib=peak - known,
        load_ratio=peak / pl.col("usable_gib"),
        base_ratio=pl.lit(None, pl.Float64),
        kv_falls_back=False,
        is_calibrated=pl.col("is_generation_calibrated"),
    ).with_columns(flags=precision.flags())


def draw(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of jobs that make pictures or clips, one request or batch at a time."""
    rows = _with_stated_peak(with_denoiser(rows))
    is_session = pl.col("work_unit") == "session_hours_per_month"
    rows = rows.with_columns(
        speed=output_s(),
        speed_unit=pl.when(_is_video()).then(pl.lit("s/clip")).otherwise(pl.lit("s/image")),
        engine=pl.lit("diffusers, eager"),
    )
    overhead = pl.col("steps") * step_overhead_s() / pl.col("batch")
    in_time = pl.col("speed") <= pl.col("max_latency_s")
    certain = pl.col("speed") / coefficient("band_generation_low") <= pl.col("max_latency_s")
    is_demand = pl.col("kind") == "demand"
    rows = rows.with_columns(
        rate_per_hour=pl.when(is_session).then(1.0).otherwise(3600 / pl.col("speed")),
        limiting_factor=pl.when(overhead > pl.col("speed") / 2)
        .then(pl.lit("overhead"))
        .otherwise(pl.lit("compute")),
        users_per_replica=pl.when(is_demand).then(in_time.fill_null(True).cast(pl.Float64)),
        certain_users_per_replica=pl.when(is_demand).then(certain.fill_null(True).cast(pl.Float64)),
        sequences_in_flight=pl.col("batch").cast(pl.Float64),
        band_low=pl.lit(coefficient("band_generation_low")),
        band_high=pl.lit(coefficient("band_generation_high")),
    )
    is_small = pl.col("tflop_per_forward") < coefficient("min_split_tflop.image")
    too_far = is_small | (pl.col("gpus_per_replica") > coefficient("max_split.image"))
    no_split = outcome.Failure(
        "layout",
        (_GPUS > 1) & ~_is_video() & too_far,
        pl.format("{} GPUs on one picture of {} gain nothing", _GPUS.cast(pl.Int64), "model_id"),
    )
    latency = outcome.above("latency", pl.col("speed"), pl.col("max_latency_s"), "s for one request")
    return outcome.with_outcome(rows, [*_failures("this size"), no_split, latency])


def train_adapter(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of jobs that train an adapter of a picture model."""
    rows = _with_stated_peak(with_denoiser(rows))
    rows = rows.with_columns(
        speed=training_sample_s(),
        speed_unit=pl.lit("s/image"),
        rate_per_hour=3600 / training_sample_s(),
        limiting_factor=pl.lit("compute"),
        engine=pl.lit("diffusers, eager"),
        band_low=pl.lit(coefficient("band_training_low")),
        band_high=pl.lit(coefficient("band_training_high")),
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


def audio_scale() -> pl.Expr:
    """Speed against the reference GPU: (16-bit rate ratio x bandwidth ratio) to a power of about 0.4."""
    compute = pl.col("sustained_16bit_tflops") / pl.col("reference_tflops")
    bandwidth = pl.col("memory_bandwidth_gb_per_s") / pl.col("reference_gb_per_s")
    return (compute * bandwidth) ** coefficient("audio_scaling_power")


def _with_audio_reference(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the reference of the model and, where its own GPU was measured, that measurement."""
    references = tables.read("audio_reference").select(
        "model_id",
        "gpu_key",
        "is_base",
        pl.col("steps").cast(pl.Float64),
        pl.col("audio_s_per_s").cast(pl.Float64),
    )
    gpus = tables.read("gpu").select(
        "gpu_key",
        precision.rate_16bit_tflops().cast(pl.Float64).alias("reference_tflops"),
        pl.col("memory_bandwidth_gb_per_s").cast(pl.Float64).alias("reference_gb_per_s"),
    )
    base = references.filter("is_base").join(gpus, on="gpu_key").drop("gpu_key", "is_base")
    base = base.rename({"steps": "reference_steps", "audio_s_per_s": "reference_audio_s_per_s"})
    own = references.select("model_id", "gpu_key", pl.col("audio_s_per_s").alias("own_audio_s_per_s"))
    only_key = pl.when((pl.col("gpu_keys").list.len() == 1) & (pl.col("share_of_gpu") == 1)).then(
        pl.col("gpu_keys").list.first()
    )
    rows = rows.with_columns(gpu_key=only_key)
    return rows.join(base, on="model_id", how="left").join(own, on=["model_id", "gpu_key"], how="left")


def sound(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of jobs on sound, in audio seconds per second over all streams of a replica."""
    rows = _with_audio_reference(_with_stated_peak(rows))
    scaled = pl.col("reference_audio_s_per_s") * audio_scale()
    by_steps = (pl.col("reference_steps") / pl.col("steps")).fill_null(1.0)
    rows = rows.with_columns(
        speed=pl.coalesce("own_audio_s_per_s", scaled) * by_steps,
        speed_unit=pl.lit("audio s/s"),
        limiting_factor=pl.lit("overhead"),
        engine=pl.lit("the model's own"),
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
