"""Speed of models of sound: a measured reference, scaled by what a GPU can do.

No count of FLOPs predicts these models, since engines matter more than chips and most of them wait for launches:
the reached 16-bit rate and the bandwidth enter with powers below one. Training and generation study, section 5.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads import precision
from transforms.workloads.coefficients import coefficient, coefficients


def scale(tflops: pl.Expr, gb_per_s: pl.Expr) -> pl.Expr:
    """Speed of a GPU up to a constant, from its rate (peak x architecture factor) and its bandwidth."""
    return tflops ** coefficient("audio_rate_power") * gb_per_s ** coefficient("audio_bandwidth_power")


def _of_references() -> pl.DataFrame:
    """Returns the scale of each GPU as reference_scale."""
    family = tables.read("gpu_speed_class").select("gpu_key", "generation_family")
    factors = coefficients("architecture_factor")
    rate = precision.rate_16bit_tflops() * pl.col("generation_family").replace_strict(
        factors, default=None, return_dtype=pl.Float64
    )
    facts = tables.read("gpu").join(family, on="gpu_key", how="left")
    return facts.select("gpu_key", reference_scale=scale(rate, pl.col("memory_bandwidth_gb_per_s")))


def with_reference(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the reference of the model and, where its own GPU was measured, that measurement.

    Columns: reference_audio_s_per_s, reference_scale, reference_steps, own_audio_s_per_s.
    """
    references = tables.read("audio_reference").select(
        "model_id",
        "gpu_key",
        "is_base",
        pl.col("steps").cast(pl.Float64),
        pl.col("audio_s_per_s").cast(pl.Float64),
    )
    base = references.filter("is_base").join(_of_references(), on="gpu_key").drop("gpu_key", "is_base")
    base = base.rename({"steps": "reference_steps", "audio_s_per_s": "reference_audio_s_per_s"})
    own = references.select("model_id", "gpu_key", pl.col("audio_s_per_s").alias("own_audio_s_per_s"))
    only_key = pl.when((pl.col("gpu_keys").list.len() == 1) & (pl.col("share_of_gpu") == 1)).then(
        pl.col("gpu_keys").list.first()
    )
    rows = rows.with_columns(gpu_key=only_key)
    return rows.join(base, on="model_id", how="left").join(own, on=["model_id", "gpu_key"], how="left")


def audio_s_per_s() -> pl.Expr:
    """Seconds of sound per second: measured on this GPU, or scaled from the reference; fewer steps are faster."""
    here = scale(
        pl.col("sustained_16bit_tflops") * pl.col("architecture_factor"), pl.col("memory_bandwidth_gb_per_s")
    )
    scaled = pl.col("reference_audio_s_per_s") * here / pl.col("reference_scale")
    by_steps = (pl.col("reference_steps") / pl.col("steps")).fill_null(1.0)
    return pl.coalesce("own_audio_s_per_s", scaled) * by_steps
