"""Scores cases: how many are predicted, how far off, and whether hardware comes in the right order."""

from __future__ import annotations

import polars as pl

from transforms.accuracy.parts import ANSWERS
from transforms.reference.tables import read
from transforms.workloads.schema import columns

ALL = "all"
# Two measurements that differ by less are one: their order proves nothing.
LEAST_DIFFERENCE = 1.1

SCORE = columns(
    {
        "part": pl.String,
        "case_class": pl.String,
        "scored": pl.Int64,
        "refused": pl.Int64,
        "no_proof": pl.Int64,  # rows that are not counted
        "coverage": pl.Float64,  # scored / (scored + refused)
        "median_error": pl.Float64,  # of |predicted / measured - 1|
        "p90_error": pl.Float64,
        "bias": pl.Float64,  # median of predicted / measured - 1
        "in_band_share": pl.Float64,  # measured inside low to high
        "right_share": pl.Float64,  # classes of counts and answers: predicted what was measured
        "false_fits": pl.Int64,  # class fits: predicted to fit, measured not to
        "false_refusals": pl.Int64,  # class fits: predicted not to fit, measured to
        "pairs": pl.Int64,  # of the same setting on other hardware, measured apart
        "right_pairs_share": pl.Float64,  # predicted in the order in which they were measured
    }
)
TARGET = columns(
    {
        "held_out": pl.String,
        "part": pl.String,
        "case_class": pl.String,
        "statistic": pl.String,
        "at_least": pl.Float64,
        "at_most": pl.Float64,
        "value": pl.Float64,  # null: no row of this class was scored
        "is_met": pl.Boolean,
        "missed_by": pl.Float64,  # in the unit of the value; 0 when met
    }
)


def scores(cases: pl.DataFrame) -> pl.DataFrame:
    """Returns SCORE rows of CASE rows: of each part the class `all`, then each class that its cases name.

    What no case can tell is null, never 0: the error of a class of which every case was refused.
    """
    by_class = cases.with_columns(
        case_class=pl.concat_list(
            pl.lit(ALL), pl.col("case_class"), pl.col("also_in").fill_null([])
        ).list.unique()
    ).explode("case_class")
    answers = cases.select("part", "case_id", is_answer=pl.col("case_class").is_in(ANSWERS))
    counted = by_class.join(answers, on=["part", "case_id"]).group_by("part", "case_class").agg(_statistics())
    return (
        counted.join(_pairs(by_class), on=["part", "case_class"], how="left")
        .with_columns(pl.col("pairs").fill_null(0))
        .select(SCORE.names())
        .cast(SCORE)
        .sort("part", pl.col("case_class") != ALL, "case_class")
    )


def signed_error() -> pl.Expr:
    """Returns predicted over measured, less one."""
    return pl.col("predicted") / pl.col("measured") - 1


def is_scored() -> pl.Expr:
    """Tells whether a case is predicted and is a measurement to be held to."""
    return pl.col("no_proof").is_null() & pl.col("refusal").is_null()


def _statistics() -> list[pl.Expr]:
    counts, scored = pl.col("no_proof").is_null(), is_scored()
    is_figure = scored & ~pl.col("is_answer")
    is_answer = scored & pl.col("is_answer")
    is_fit = is_answer & (pl.col("case_class") == "fits")
    error = signed_error().filter(is_figure)
    is_inside = pl.col("measured").is_between("low", "high")
    return [
        scored.sum().alias("scored"),
        (counts & ~scored).sum().alias("refused"),
        (~counts).sum().alias("no_proof"),
        pl.when(counts.any()).then(scored.sum() / counts.sum()).alias("coverage"),
        error.abs().median().alias("median_error"),
        error.abs().quantile(0.9, interpolation="linear").alias("p90_error"),
        error.median().alias("bias"),
        is_inside.filter(is_figure).mean().alias("in_band_share"),
        (pl.col("predicted") == pl.col("measured")).filter(is_answer).mean().alias("right_share"),
        pl.when(is_fit.any())
        .then((is_fit & (pl.col("predicted") > pl.col("measured"))).sum())
        .alias("false_fits"),
        pl.when(is_fit.any())
        .then((is_fit & (pl.col("predicted") < pl.col("measured"))).sum())
        .alias("false_refusals"),
    ]


def _pairs(by_class: pl.DataFrame) -> pl.DataFrame:
    """Returns, per class, the pairs of a pair_group that were measured apart, and the share in the right order.

    Two cases of one GPU with one prediction are the same hardware, measured twice: no pair.
    """
    group = ["part", "case_class", "pair_group"]
    rows = by_class.filter(is_scored() & pl.col("pair_group").is_not_null()).select(
        *group, "case_id", "gpu_key", "measured", "predicted"
    )
    both = rows.join(rows, on=group, suffix="_other").filter(pl.col("case_id") < pl.col("case_id_other"))
    measured, predicted = (
        (pl.col(name) / pl.col(f"{name}_other")).log() for name in ("measured", "predicted")
    )
    is_other = (pl.col("gpu_key") != pl.col("gpu_key_other")) | (predicted != 0)
    apart = both.filter(
        is_other & (measured.exp().ge(LEAST_DIFFERENCE) | measured.exp().le(1 / LEAST_DIFFERENCE))
    )
    return apart.group_by("part", "case_class").agg(
        pairs=pl.len(), right_pairs_share=(measured * predicted > 0).mean()
    )


def targets(scored: pl.DataFrame, held_out: str = "none") -> pl.DataFrame:
    """Returns TARGET rows: what the scores are held to, and whether they reach it.

    `held_out` says how the scores came about: none, gpu or source (each left out in turn).
    """
    statistics = [
        "coverage",
        "median_error",
        "p90_error",
        "in_band_share",
        "right_share",
        "right_pairs_share",
    ]
    values = scored.unpivot(
        statistics, index=["part", "case_class"], variable_name="statistic", value_name="value"
    )
    stated = read("accuracy_target").filter(pl.col("held_out") == held_out)
    missed = pl.max_horizontal(
        pl.col("at_least") - pl.col("value"), pl.col("value") - pl.col("at_most"), pl.lit(0.0)
    )
    return (
        stated.join(values, on=["part", "case_class", "statistic"], how="left", maintain_order="left")
        .with_columns(missed_by=pl.when(pl.col("value").is_not_null()).then(missed))
        .with_columns(is_met=pl.col("missed_by") == 0)
        .select(TARGET.names())
        .cast(TARGET)
    )
