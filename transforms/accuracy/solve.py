"""Least squares over the coefficients of a part: which values bring predictions nearest to measurements.

With x the logarithms of the coefficients, minimised is

    sum_i w_i 2 (sqrt(1 + (r_i / s)^2) - 1)  +  sum_j ((x_j - prior_j) / sigma_j)^2,    r_i = log(predicted / measured)

a soft L1 loss, so that a wrong measurement pulls with constant force, and a weak prior, within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import least_squares, lsq_linear

from transforms.accuracy.parts import ANSWERS, Part, settled
from transforms.accuracy.scores import is_scored
from transforms.workloads.coefficients import using

Vector = NDArray[np.float64]

RESIDUAL_SCALE = 0.15  # s, of the logarithm: larger errors pull with the force of this one
PRIOR_WIDTH = 4  # the physical bounds of a coefficient span so many sigma of its prior
LEAST_OF_PRIOR = 0.01  # a bound of zero, which has no logarithm, is taken as this share of the prior
STEP = 0.01  # of the logarithm, for derivatives: wide enough to see over the steps of rounded batches
CHORD_STEPS = 3  # of a refit from the solution of all rows
MOST_STEPS = 25
FAR = 5.0  # the log error of a case that trial coefficients cannot predict
UNCHANGED = 1e-6  # a smaller derivative is rounding
BAND = "band_"  # coefficients of that name bound a prediction and do not move it


@dataclass(frozen=True, slots=True)
class Problem:
    """The cases and coefficients of one fit. Vectors over coefficients are natural logarithms."""

    part: Part
    prepared: pl.DataFrame
    cases: pl.DataFrame  # CASE rows that are fitted, by case_id
    weights: Vector
    names: tuple[str, ...]
    prior: Vector
    sigma: Vector
    low: Vector
    high: Vector
    given: Mapping[str, float]  # values of other coefficients that differ from the stated ones

    def values(self, x: Vector) -> dict[str, float]:
        """Returns all trial values that `coefficients.using` is to be given."""
        return {**self.given, **dict(zip(self.names, np.exp(x).tolist(), strict=True))}


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a fit ended: coefficients, log errors of the cases, and their derivatives by each coefficient."""

    x: Vector
    errors: Vector
    slopes: NDArray[np.float64]


def is_band() -> pl.Expr:
    """Tells whether a row of coefficient.csv is an edge of a band, which no least squares can fit."""
    return pl.col("coefficient_id").str.starts_with(BAND)


def problem(
    part: Part, coefficient: pl.DataFrame, measured: pl.DataFrame, given: Mapping[str, float]
) -> Problem:
    """Returns the fit of `coefficient` rows (prior, prior_low, prior_high) to measurements of a part."""
    low = pl.max_horizontal("prior_low", LEAST_OF_PRIOR * pl.col("prior"))
    coefficient = coefficient.with_columns(prior_low=low)
    logs = {name: np.log(coefficient[name].to_numpy()) for name in ("prior", "prior_low", "prior_high")}
    prepared = part.prepare(measured.drop("unreadable"))
    start = dict(zip(coefficient["coefficient_id"], coefficient["prior"], strict=True))
    with using({**given, **start}):
        cases = settled(part.predict(prepared), measured, part.name)
    cases = cases.filter(is_scored() & ~pl.col("case_class").is_in(ANSWERS))
    weights = prepared.select("case_id", weight=part.weights(prepared))
    kept = prepared.filter(pl.col("case_id").is_in(cases["case_id"].to_list()))
    return Problem(
        part=part,
        prepared=kept,
        cases=cases,
        weights=cases.join(weights, on="case_id", how="left", maintain_order="left")["weight"].to_numpy(),
        names=tuple(coefficient["coefficient_id"]),
        prior=logs["prior"],
        sigma=(logs["prior_high"] - logs["prior_low"]) / PRIOR_WIDTH,
        low=logs["prior_low"],
        high=logs["prior_high"],
        given=given,
    )


def predicted(problem: Problem, x: Vector) -> pl.DataFrame:
    """Returns the fitted cases, by case_id, as predicted with the coefficients exp(x)."""
    with using(problem.values(x)):
        return problem.part.predict(problem.prepared).sort("case_id")


def errors(problem: Problem, x: Vector) -> Vector:
    """Returns log(predicted / measured) of each case."""
    ratio = predicted(problem, x)["predicted"].to_numpy() / problem.cases["measured"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        log: Vector = np.nan_to_num(np.log(ratio), nan=FAR, posinf=FAR, neginf=-FAR)
    return log


def slopes(problem: Problem, x: Vector, here: Vector) -> NDArray[np.float64]:
    """Returns d error_i / d x_j, by a step of each coefficient towards the middle of its bounds."""
    made = np.zeros((here.size, x.size))
    steps = np.where(x > (problem.low + problem.high) / 2, -STEP, STEP)
    for column, step in enumerate(steps):
        moved = x.copy()
        moved[column] += step
        made[:, column] = (errors(problem, moved) - here) / step
    return made


def fit(
    problem: Problem, start: Vector | None = None, say: Callable[[str], None] = lambda _: None
) -> Solution:
    """Returns the solution over all cases, from `start` or the prior on."""
    seen: dict[bytes, Vector] = {}

    def at(x: Vector) -> Vector:
        if x.tobytes() not in seen:
            seen.clear()  # the search looks back one point at most
            seen[x.tobytes()] = errors(problem, x)
        return seen[x.tobytes()]

    def residuals(x: Vector) -> Vector:
        made = _residuals(problem, at(x), x, problem.weights, problem.prior)
        say(f"cost {float(made @ made):.2f}")
        return made

    def jacobian(x: Vector) -> NDArray[np.float64]:
        return _jacobian(problem, at(x), slopes(problem, x, at(x)), problem.weights)

    first = np.clip(problem.prior if start is None else start, problem.low, problem.high)
    x = least_squares(
        residuals, first, jacobian, (problem.low, problem.high), ftol=1e-5, xtol=1e-4, max_nfev=MOST_STEPS
    ).x
    here = errors(problem, x)
    return Solution(x, here, slopes(problem, x, here))


def refit(problem: Problem, solution: Solution, weights: Vector, prior: Vector) -> Vector:
    """Returns the coefficients for other weights of the cases, or another prior, near a solution.

    Gauss-Newton steps with the derivatives of the solution, of which a step that does not gain is the last.
    """
    x, here = solution.x, solution.errors
    residuals = _residuals(problem, here, x, weights, prior)
    for _ in range(CHORD_STEPS):
        matrix = _jacobian(problem, here, solution.slopes, weights)
        # the triangle of a QR has the same least squares in as many rows as there are coefficients
        both: NDArray[np.float64] = np.column_stack([matrix, -residuals])
        triangle = np.linalg.qr(both).R[:-1]
        bounds = (problem.low - x - 1e-9, problem.high - x + 1e-9)
        step = lsq_linear(triangle[:, :-1], triangle[:, -1], bounds).x
        there = errors(problem, x + step)
        changed = _residuals(problem, there, x + step, weights, prior)
        if changed @ changed >= residuals @ residuals:
            break
        x, here, residuals = x + step, there, changed
    return x


def rows_used(solution: Solution) -> list[int]:
    """Returns, for each coefficient, how many fitted cases its value changes."""
    return [int(count) for count in (np.abs(solution.slopes) > UNCHANGED).sum(axis=0)]


def _residuals(problem: Problem, log: Vector, x: Vector, weights: Vector, prior: Vector) -> Vector:
    """Returns the terms whose squares add up to the loss."""
    ratio = log / RESIDUAL_SCALE
    soft = np.sign(ratio) * np.sqrt(2 * (np.sqrt(1 + ratio**2) - 1))
    return np.concatenate([np.sqrt(weights) * soft, (x - prior) / problem.sigma])


def _jacobian(
    problem: Problem, log: Vector, slope: NDArray[np.float64], weights: Vector
) -> NDArray[np.float64]:
    """Returns the derivatives of `_residuals` by x."""
    ratio = log / RESIDUAL_SCALE
    root = np.sqrt(1 + ratio**2)
    # the derivative of the square root of a soft L1 loss: 1 at zero
    soft = np.sqrt((root + 1) / 2) / root
    by_case = (np.sqrt(weights) * soft / RESIDUAL_SCALE)[:, np.newaxis] * slope
    return np.concatenate([by_case, np.diag(1 / problem.sigma)])
