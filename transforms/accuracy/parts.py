"""The four parts of the model that are held to measurements, and their cases: what was measured, what is predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from transforms.accuracy import generation_cases, measurements, memory_cases, text_cases, training_cases
from transforms.accuracy.cases import CASE, weights_by_source

# Classes that measure a count or an answer: a share of right ones, no relative error.
ANSWERS = ("min_gpus", "fits")


@dataclass(frozen=True, slots=True)
class Part:
    """How a part turns measurements into cases.

    `name` is that of its file in `measurements.FILES`. prepare(measured): everything that no coefficient changes;
    predict(prepared): CASE rows under the coefficients in force; weights(prepared): what each case counts in a
    fit, in the order of the prepared rows.
    """

    name: str
    prepare: Callable[[pl.DataFrame], pl.DataFrame]
    predict: Callable[[pl.DataFrame], pl.DataFrame]
    weights: Callable[[pl.DataFrame], pl.Series]


PARTS = {
    name: Part(name, module.prepare, module.predict, weights)
    for name, module, weights in (
        ("memory", memory_cases, memory_cases.weights),
        ("text", text_cases, text_cases.weights),
        ("training", training_cases, weights_by_source),
        ("generation", generation_cases, weights_by_source),
    )
}


def cases(part: Part, measured: pl.DataFrame) -> pl.DataFrame:
    """Returns the CASE rows of measurements as `measurements.read` gives them, sorted by case_id.

    Each row is one of: scored (a figure measured and one predicted), refused, or no proof.
    """
    return settled(part.predict(part.prepare(measured.drop("unreadable"))), measured, part.name)


def read_cases(name: str, folder: Path | None = None) -> pl.DataFrame:
    """Returns the cases of a part, on the bundled measurements or on those in `folder`."""
    return cases(PARTS[name], measurements.read(name, folder))


def settled(predicted: pl.DataFrame, measured: pl.DataFrame, part: str) -> pl.DataFrame:
    """Returns a case for each measurement, with one outcome: scored, refused, or no proof.

    Refused are also a row with a cell that cannot be read, one that no formula took up, and a prediction that is
    no number above zero.
    """
    rows = measured.select("case_id", "unreadable").join(
        predicted.with_columns(is_taken_up=True), on="case_id", how="left", validate="1:1"
    )
    is_answer = pl.col("case_class").is_in(ANSWERS)
    lowest = pl.when(is_answer).then(0.0).otherwise(1e-12)
    is_measured = pl.col("measured").is_finite() & (pl.col("measured") >= lowest)
    is_predicted = pl.col("predicted").is_finite() & (pl.col("predicted") >= lowest)
    no_proof = pl.coalesce(
        "no_proof",
        # a cell that cannot be read refuses the row, even where it is the figure itself
        pl.when(~is_measured.fill_null(False) & pl.col("unreadable").is_null() & pl.col("is_taken_up")).then(
            pl.lit("no figure above zero was measured")
        ),
    )
    refusal = pl.coalesce(
        "refusal",
        "unreadable",
        pl.when(pl.col("is_taken_up").is_null()).then(pl.lit("no formula takes up such a row")),
        pl.when(~is_predicted.fill_null(False)).then(pl.lit("the formulas give no figure")),
    )
    rows = rows.with_columns(no_proof=no_proof).with_columns(
        refusal=pl.when(pl.col("no_proof").is_null()).then(refusal)
    )
    return (
        rows.with_columns(
            pl.col("part").fill_null(part),
            pl.col("case_class").fill_null("other"),
            *(pl.when(pl.col("refusal").is_null()).then(column) for column in ("predicted", "low", "high")),
        )
        .select(CASE.names())
        .cast(CASE)
        .sort("case_id")
    )
