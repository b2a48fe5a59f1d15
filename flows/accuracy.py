"""What `verify` and `calibrate` print: rows of plain values, from the scores and the fits of transforms.accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from transforms.accuracy import measurements
from transforms.accuracy.calibrate import Calibrated
from transforms.accuracy.calibrate import calibrate as fit_parts
from transforms.accuracy.leave_out import HELD_OUT, LEAVE_OUT_PARTS, leave_out
from transforms.accuracy.parts import PARTS, read_cases
from transforms.accuracy.scores import scores, targets
from transforms.accuracy.store import write
from transforms.reference.tables import read

Row = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Verified:
    """Cases and their scores. `targets` is there where the measurements are the bundled ones."""

    cases: pl.DataFrame
    scores: pl.DataFrame
    targets: pl.DataFrame | None


def verified(folder: Path | None, parts: Sequence[str], held_out: str | None, say: Say) -> Verified:
    """Scores the model on the bundled measurements, or on those of `folder`.

    `parts` is empty for all that there are. With `held_out`, gpu or source, each of them is predicted by
    coefficients that were fitted without it.

    Raises:
        MeasurementError: an unknown part, a file that is missing or not of its columns, a part without leave-out.
    """
    _check("--part", parts, PARTS)
    _check("--leave-out", [held_out] if held_out else [], HELD_OUT)
    there = measurements.present(folder)
    if missing := [part for part in parts if part not in there]:
        raise measurements.MeasurementError(f"{folder}: no {measurements.FILES[missing[0]].name}; add it")
    names = [part for part in PARTS if part in there and part in (parts or there)]
    if held_out and parts and not set(parts) <= set(LEAVE_OUT_PARTS):
        raise measurements.MeasurementError(f"--leave-out: only for {', '.join(LEAVE_OUT_PARTS)}")
    if held_out:
        names = [name for name in names if name in LEAVE_OUT_PARTS]
        say(f"fitting {', '.join(names)} without each {held_out}: this takes a minute")
        found = [_left_out(name, folder, held_out, say) for name in names]
    else:
        found = [read_cases(name, folder) for name in names]
    cases = pl.concat(found)
    scored = scores(cases)
    if folder is not None:
        return Verified(cases, scored, None)
    held = targets(scored, held_out or "none").filter(pl.col("part").is_in(names))
    return Verified(cases, scored, held)


def score_tables(found: Verified) -> dict[str, list[Row]]:
    """Returns `scores`; for the bundled measurements also `targets` and the `left_out` of the last calibration."""
    tables = {"scores": found.scores.to_dicts()}
    if found.targets is not None:
        parts = found.scores["part"].unique().to_list()
        stored = read("accuracy_score").filter(pl.col("part").is_in(parts), pl.col("held_out") != "none")
        tables |= {"targets": found.targets.to_dicts(), "left_out": stored.drop("source").to_dicts()}
    return tables


def case_rows(cases: pl.DataFrame) -> list[Row]:
    """Returns what was measured and what is predicted for every case, with its outcome."""
    return cases.select(
        "case_id",
        "part",
        pl.col("case_class").alias("class"),
        "unit",
        "measured",
        "predicted",
        "low",
        "high",
        outcome=pl.when(pl.col("no_proof").is_not_null())
        .then(pl.lit("no proof"))
        .when(pl.col("refusal").is_not_null())
        .then(pl.lit("refused"))
        .otherwise(pl.lit("scored")),
        reason=pl.coalesce("no_proof", "refusal"),
        is_calibrated="is_calibrated",
        gpu_key="gpu_key",
        model_id="model_id",
    ).to_dicts()


def _left_out(part: str, folder: Path | None, held_out: str, say: Say) -> pl.DataFrame:
    rows = read("coefficient").filter(pl.col("part") == part)
    return leave_out(PARTS[part], rows, measurements.read(part, folder), held_out, say)


def calibrated(parts: Sequence[str], *, is_dry: bool, say: Say) -> dict[str, list[Row]]:
    """Fits the parts and writes the coefficients, unless `is_dry`. `parts` is empty for all.

    Returns the rows `coefficients`, `rejected` and `left_out`. Raises MeasurementError for an unknown part.
    """
    _check("--part", parts, PARTS)
    found = fit_parts([name for name in PARTS if name in (parts or PARTS)], say)
    if not found:
        raise measurements.MeasurementError("coefficient.csv: no row names the part; nothing is fitted")
    if not is_dry:
        write(found)
    return {
        "coefficients": _changes(found),
        "rejected": _rejected(found),
        "left_out": pl.concat([part.scored for part in found.values()])
        .filter(pl.col("held_out") != "none")
        .to_dicts(),
    }


def _check(option: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    if unknown := [name for name in given if name not in allowed]:
        raise measurements.MeasurementError(f"{option} {unknown[0]!r:.60}: not one of {', '.join(allowed)}")


def _changes(found: dict[str, Calibrated]) -> list[Row]:
    stated = read("coefficient").select(
        "coefficient_id", "part", "unit", "prior_low", "prior_high", old="value"
    )
    values = pl.concat([part.values for part in found.values()])
    is_bound = pl.any_horizontal(
        (pl.col("value") / pl.col(bound) - 1).abs() < 1e-3 for bound in ("prior_low", "prior_high")
    )
    return (
        values.join(stated, on="coefficient_id", maintain_order="left")
        .select(
            "part",
            "coefficient_id",
            "unit",
            "old",
            "value",
            "low",
            "high",
            "rows_used",
            is_at_bound=is_bound,
        )
        .to_dicts()
    )


def _rejected(found: dict[str, Calibrated]) -> list[Row]:
    """Returns how many measurements prove nothing, by reason."""
    cases = pl.concat([part.cases for part in found.values()])
    return (
        cases.filter(pl.col("no_proof").is_not_null())
        .group_by("part", reason="no_proof")
        .len("rows")
        .sort("part", "rows", "reason", descending=[False, True, False])
        .to_dicts()
    )
