"""Fits the coefficients of the parts to the measurements, with an interval and the rows used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.accuracy import measurements
from transforms.accuracy.leave_out import HELD_OUT, LEAVE_OUT_PARTS, blind, refits
from transforms.accuracy.parts import PARTS, Part, cases
from transforms.accuracy.scores import scores
from transforms.accuracy.solve import (
    STEP,
    Problem,
    Solution,
    Vector,
    fit,
    is_band,
    predicted,
    problem,
    refit,
    rows_used,
)
from transforms.reference.tables import read
from transforms.workloads.coefficients import using

SEED = 20261130
DRAWS = 60
INTERVAL = (0.1, 0.9)
DIGITS = 4  # of a written coefficient
LEAST_BAND_ROWS = 10  # of fewer, a tenth is less than one

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What the calibration of a part found.

    `values`: coefficient_id, value, low, high, rows_used. `scored`: SCORE rows with `held_out`, none for all rows.
    `cases`: CASE rows under the new values.
    """

    values: pl.DataFrame
    scored: pl.DataFrame
    cases: pl.DataFrame


def calibrate(names: Sequence[str], say: Say = lambda _: None) -> dict[str, Calibrated]:
    """Returns what is found for each part, in order; a part sees the new values of the parts before it.

    A fit starts from the priors and never from the values of the last calibration, so that two runs agree.
    """
    stated = read("coefficient")
    of_part = {name: stated.filter(pl.col("part") == name) for name in names}
    of_part = {name: rows for name, rows in of_part.items() if not rows.is_empty()}
    given: dict[str, float] = {}
    for rows in of_part.values():
        given.update(_column(rows, "prior"))
    found = {}
    for name, rows in of_part.items():
        found[name] = calibrate_part(
            PARTS[name],
            rows,
            measurements.read(name),
            given=given,
            held_out=tuple(HELD_OUT) if name in LEAVE_OUT_PARTS else (),
            say=_after(f"{name}: ", say),
        )
        given.update(_column(found[name].values, "value"))
    return found


def calibrate_part(
    part: Part,
    rows: pl.DataFrame,
    measured: pl.DataFrame,
    *,
    given: Mapping[str, float] | None = None,
    held_out: Sequence[str] = (),
    say: Say = lambda _: None,
) -> Calibrated:
    """Returns the calibration of one part.

    Args:
        rows: of coefficient.csv, those to be fitted.
        measured: as `measurements.read` gives it.
        given: values of other coefficients that differ from the stated ones.
        held_out: which leave-outs to score; the bands come from the first, or from the fit itself.
        say: is told the progress.
    """
    bounds = rows.filter(is_band())
    whole = problem(part, rows.filter(~is_band()), measured, {**(given or {}), **_column(bounds, "prior")})
    solution = _rounded(fit(whole, say=say))
    points = _with_interval(whole, solution, say)
    by_group = {name: refits(whole, solution, name, say) for name in held_out}

    def seen(problem: Problem, name: str | None) -> pl.DataFrame:
        with using(problem.values(solution.x)):
            own = cases(part, measured)
        return blind(problem, by_group[name], name, own) if name else own

    widths = _bands(whole, solution, bounds, seen(whole, held_out[0] if held_out else None))
    whole = replace(whole, given={**whole.given, **_column(widths, "value")})
    scored = [
        scores(seen(whole, name)).with_columns(held_out=pl.lit(name or "none")) for name in (None, *held_out)
    ]
    values = pl.concat([points, widths])
    return Calibrated(
        values=rows.select("coefficient_id").join(values, on="coefficient_id", maintain_order="left"),
        scored=pl.concat(scored),
        cases=seen(whole, None),
    )


def _with_interval(problem: Problem, solution: Solution, say: Say) -> pl.DataFrame:
    """Returns each coefficient with what 80 % of the draws give.

    A draw takes whole sources, as many as there are, with replacement, and a prior from its own distribution:
    what no row determines keeps the width of its prior.
    """
    draw = np.random.default_rng(SEED)
    source, names = _codes(problem.cases["source_group"])
    drawn = []
    for number in range(1, DRAWS + 1):
        times = np.bincount(draw.integers(0, names, names), minlength=names)
        prior = np.clip(draw.normal(problem.prior, problem.sigma), problem.low, problem.high)
        drawn.append(refit(problem, solution, problem.weights * times[source], prior))
        if number % 10 == 0:
            say(f"draw {number} of {DRAWS}")
    low, high = np.quantile(np.array(drawn), INTERVAL, axis=0)
    return _values(
        list(problem.names),
        np.exp(solution.x),
        np.exp(np.minimum(low, solution.x)),
        np.exp(np.maximum(high, solution.x)),
        rows_used(solution),
    )


def _bands(problem: Problem, solution: Solution, rows: pl.DataFrame, blind: pl.DataFrame) -> pl.DataFrame:
    """Returns the coefficients of bands so that a tenth of the measurements lies beyond each edge.

    A coefficient scales an edge, `low` or `high`, of the cases that a change of it moves.
    """
    at = problem.cases.select("case_id").join(blind, on="case_id", maintain_order="left")
    edges = {name: at[name].to_numpy() / at["measured"].to_numpy() for name in ("low", "high")}
    source, _ = _codes(problem.cases["source_group"])
    before = predicted(problem, solution.x)
    found: list[Vector] = []
    used: list[int] = []
    bounds = rows.select("coefficient_id", "prior", "prior_low", "prior_high")
    for name, prior, least, most in bounds.iter_rows():
        moved = replace(problem, given={**problem.given, name: prior * (1 + STEP)})
        after = predicted(moved, solution.x)
        is_moved = {edge: (before[edge] != after[edge]).to_numpy() for edge in edges}
        edge = max(is_moved, key=lambda edge: int(is_moved[edge].sum()))
        ratio = 1 / edges[edge][is_moved[edge]]
        if ratio.size >= LEAST_BAND_ROWS:
            tenth = _quantile(ratio, source[is_moved[edge]], INTERVAL[edge == "high"])
            value, low, high = np.clip(prior * tenth, least, most)
            edges[edge] = np.where(is_moved[edge], edges[edge] * value / prior, edges[edge])
        else:
            value, low, high = prior, least, most
        found.append(np.array([value, low, high]))
        used.append(ratio.size)
    value, low, high = np.array(found).reshape(-1, 3).T
    return _values(rows["coefficient_id"].to_list(), value, low, high, used)


def _quantile(ratio: Vector, source: NDArray[np.int64], share: float) -> Vector:
    """Returns the quantile of the ratios, and between which values it lies in 80 % of draws of whole sources."""
    draw = np.random.default_rng(SEED)
    rows = [np.flatnonzero(source == name) for name in np.unique(source)]
    drawn = []
    for _ in range(DRAWS):
        taken = np.concatenate([rows[name] for name in draw.integers(0, len(rows), len(rows))])
        drawn.append(np.quantile(ratio[taken], share))
    point = np.quantile(ratio, share)
    low, high = np.quantile(drawn, INTERVAL)
    return np.array([point, min(low, point), max(high, point)])


def _rounded(solution: Solution) -> Solution:
    """Returns the solution at the digits that are written, so that the file gives the scores that were seen."""
    written = np.array([float(f"{value:.{DIGITS}g}") for value in np.exp(solution.x)])
    return replace(solution, x=np.log(written))


def _values(names: list[str], value: Vector, low: Vector, high: Vector, used: list[int]) -> pl.DataFrame:
    """Returns rows of coefficients, rounded to the digits that are written."""

    def column(figures: Vector) -> pl.Series:
        return pl.Series([float(f"{figure:.{DIGITS}g}") for figure in figures], dtype=pl.Float64)

    return pl.DataFrame(
        {
            "coefficient_id": pl.Series(names, dtype=pl.String),
            "value": column(value),
            "low": column(low),
            "high": column(high),
            "rows_used": pl.Series(used, dtype=pl.Int64),
        }
    )


def _after(start: str, say: Say) -> Say:
    return lambda text: say(start + text)


def _codes(groups: pl.Series) -> tuple[NDArray[np.int64], int]:
    """Returns the number of the group of each row, and how many groups there are."""
    codes = groups.fill_null("").rank("dense").to_numpy().astype(np.int64) - 1
    return codes, int(codes.max(initial=-1)) + 1


def _column(rows: pl.DataFrame, name: str) -> dict[str, float]:
    return dict(zip(rows["coefficient_id"], rows[name], strict=True))
