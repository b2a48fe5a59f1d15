"""Cases of sound: each is predicted from the other GPUs on which the same setting was measured, in the same file.

A setting is the task, model, length, steps, batch, precision and engine. The prediction is the median over all rows
of the setting on other GPUs, each scaled to the GPU of the case; a setting with one GPU has nothing to scale from.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import audio
from transforms.workloads.coefficients import coefficient, coefficients

TASKS = ("tts", "asr", "music", "audio", "speech")
_SETTING = ("task", "model", "frames_or_seconds", "steps", "batch_text", "precision", "engine")


def with_others(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds what was measured on other GPUs in the setting of a row of sound, and refuses rows without.

    Columns: others, a list of structs of measured, generation_family, sustained_16bit_tflops and
    memory_bandwidth_gb_per_s.
    """
    figures = ("generation_family", "sustained_16bit_tflops", "memory_bandwidth_gb_per_s")
    usable = pl.col("is_sound") & pl.col("no_proof").is_null() & pl.col("refusal").is_null()
    setting = pl.concat_str([pl.col(name).cast(pl.String).fill_null("") for name in _SETTING], separator="|")
    rows = rows.with_columns(setting=setting)
    known = rows.filter(usable & pl.all_horizontal(pl.col(name).is_not_null() for name in figures))
    other = known.select("setting", other_key="gpu_key", other=pl.struct("measured", *figures))
    pairs = known.select("case_id", "setting", "gpu_key").join(other, on="setting")
    others = pairs.filter(pl.col("gpu_key") != pl.col("other_key")).group_by("case_id")
    rows = rows.join(others.agg(others="other"), on="case_id", how="left", maintain_order="left")
    alone = pl.when(usable & pl.col("others").is_null()).then(
        pl.lit("one GPU measured in this setting: nothing to scale from, and no FLOPs are known")
    )
    return rows.with_columns(refusal=pl.coalesce("refusal", alone)).drop("setting")


def case_class() -> pl.Expr:
    """audio_pairs where other GPUs were measured in the setting, else audio_single."""
    return pl.when(pl.col("others").is_null()).then(pl.lit("audio_single")).otherwise(pl.lit("audio_pairs"))


def audio_s_per_s() -> pl.Expr:
    """The median of what the other GPUs let expect; a rate, in the unit of the measurements."""
    other = pl.element().struct.field
    factors = coefficients("architecture_factor")
    there = other("generation_family").replace_strict(factors, default=None, return_dtype=pl.Float64)
    scale = audio.scale(other("sustained_16bit_tflops") * there, other("memory_bandwidth_gb_per_s"))
    here = audio.scale(
        pl.col("sustained_16bit_tflops") * pl.col("architecture_factor"), pl.col("memory_bandwidth_gb_per_s")
    )
    return pl.col("others").list.eval(other("measured") / scale).list.median() * here


def band() -> dict[str, pl.Expr]:
    """Edges of the 80 % band, as shares of the predicted speed."""
    return {
        "band_low": pl.lit(coefficient("band_audio_low")),
        "band_high": pl.lit(coefficient("band_audio_high")),
    }
