"""Jobs x hardware x layouts: does it hold, how fast is it, and what stops it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from transforms.workloads import generation, precision, text, training
from transforms.workloads.coefficients import coefficients
from transforms.workloads.hardware import gpu_facts
from transforms.workloads.layouts import layouts
from transforms.workloads.models import geometry
from transforms.workloads.schema import HARDWARE, JOB, PERFORMANCE

_Physics = Callable[[pl.DataFrame], pl.DataFrame]


def _is_task(*tasks: str) -> pl.Expr:
    return pl.col("task").is_in(tasks)


_LEARNS_PICTURES = _is_task("lora", "qlora") & pl.col("train_samples").is_not_null()
_PHYSICS: tuple[tuple[pl.Expr, _Physics], ...] = (
    (_is_task("serve"), text.serve),
    (_is_task("batch"), text.batch),
    (_is_task("embed"), text.embed),
    (_is_task("image", "video", "session"), generation.draw),
    (_is_task("audio"), generation.sound),
    (_LEARNS_PICTURES, generation.train_adapter),
    (_is_task("lora", "qlora", "full", "pretrain") & ~_LEARNS_PICTURES, training.train),
)


def performance(jobs: pl.DataFrame, hardware: pl.DataFrame) -> pl.DataFrame:
    """Returns one PERFORMANCE row per job, hardware and layout, ordered by them; failing layouts are rows too.

    Args:
        jobs: JOB rows.
        hardware: HARDWARE rows.
    """
    jobs = jobs.match_to_schema(JOB)
    hardware = with_candidate_facts(hardware.match_to_schema(HARDWARE))
    outcomes = [pl.DataFrame(schema=PERFORMANCE)]
    for is_asked, physics in _PHYSICS:
        asked = jobs.filter(is_asked)
        if asked.is_empty():
            continue
        rows = layouts(asked, hardware).join(geometry(), on="model_id", how="left")
        outcomes.append(_performance_rows(physics(precision.with_formats(rows))))
    return pl.concat(outcomes).sort("tier_id", "hardware_id", "gpus_per_replica")


def with_candidate_facts(hardware: pl.DataFrame) -> pl.DataFrame:
    """Adds what the formulas need of the GPUs beyond HARDWARE, the weakest of the candidates."""
    sustained = pl.min_horizontal(precision.rate_16bit_tflops(), "sustained_16bit_tflops")
    family = pl.col("generation_family")
    architecture = family.replace_strict(coefficients("architecture_factor"), default=None)
    training_share = pl.col("training_family").replace_strict(coefficients("training_share"), default=None)
    facts = gpu_facts().select(
        "gpu_key",
        "compute_capability",
        "is_text_calibrated",
        "is_training_calibrated",
        "is_generation_calibrated",
        "is_asr_calibrated",
        "is_tts_calibrated",
        "is_music_calibrated",
        sustained_16bit_tflops=sustained,
        architecture_factor=architecture,
        training_share=training_share,
    )
    figures = [name for name in facts.columns if name != "gpu_key"]
    known = [pl.when(pl.col(n).null_count() == 0).then(pl.col(n).min()).alias(n) for n in figures]
    weakest = (
        hardware.select("hardware_id", pl.col("gpu_keys").alias("gpu_key"))
        .explode("gpu_key")
        .join(facts, on="gpu_key", how="left")
        .group_by("hardware_id")
        .agg(known)
    )
    hardware = hardware.join(weakest, on="hardware_id", how="left")
    of_slice = pl.col("sustained_16bit_tflops") * pl.col("share_of_gpu")
    return hardware.with_columns(sustained_16bit_tflops=of_slice)


def _performance_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Applies the band and brings the rows to the PERFORMANCE columns; what a task has not got is null."""
    is_time = pl.col("speed_unit").is_in(["s/image", "s/clip"])
    is_session = pl.col("work_unit") == "session_hours_per_month"
    low, high = pl.col("band_low"), pl.col("band_high")
    rows = rows.with_columns(
        speed_low=pl.when(is_time).then(pl.col("speed") / high).otherwise(pl.col("speed") * low),
        speed_high=pl.when(is_time).then(pl.col("speed") / low).otherwise(pl.col("speed") * high),
        # An hour of a session is an hour at any speed.
        rate_low_per_hour=pl.col("rate_per_hour") * pl.when(is_session).then(1.0).otherwise(low),
        rate_high_per_hour=pl.col("rate_per_hour") * pl.when(is_session).then(1.0).otherwise(high),
        is_calibrated=pl.col("is_calibrated").fill_null(False),
    )
    missing = [
        pl.lit(None, dtype).alias(name) for name, dtype in PERFORMANCE.items() if name not in rows.columns
    ]
    return rows.with_columns(missing).select(pl.col(n).cast(dtype) for n, dtype in PERFORMANCE.items())
