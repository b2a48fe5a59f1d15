"""What a prediction is compared with: one row per measurement, scored, refused by the model, or no proof at all."""

from __future__ import annotations

import polars as pl

from transforms.workloads.schema import columns

CASE = columns(
    {
        "case_id": pl.String,
        "part": pl.String,  # memory, text, training, generation
        "case_class": pl.String,  # the class of the summary: single_stream_decode, lora_peak, ...
        "also_in": pl.List(pl.String),  # further classes that it counts in: moe, fp8, nvidia_hbm, ...
        "unit": pl.String,
        "measured": pl.Float64,
        "predicted": pl.Float64,  # null when refused
        "low": pl.Float64,  # of the 80 % band
        "high": pl.Float64,
        "refusal": pl.String,  # null, or why the model does not predict this: it lowers the coverage
        "no_proof": pl.String,  # null, or why the row is no measurement to be held to: not counted at all
        "is_calibrated": pl.Boolean,
        "gpu_key": pl.String,
        "model_id": pl.String,
        "source_group": pl.String,  # the source without the file of a row: what leave-one-source-out leaves out
        "pair_group": pl.String,  # rows of one source, model and setting that differ in hardware; null: no pairs
    }
)


def weights_by_source(prepared: pl.DataFrame) -> pl.Series:
    """Returns what each row counts in a fit: 1 over the root of the rows of its source, 1 in the mean."""
    is_fitted = pl.col("refusal").is_null() & pl.col("no_proof").is_null()
    one = 1 / is_fitted.sum().over("source_group").cast(pl.Float64).sqrt()
    weight = pl.when(is_fitted).then(one).otherwise(0.0)
    return prepared.select(weight=weight / weight.filter(is_fitted).mean())["weight"]
