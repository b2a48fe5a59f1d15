"""Predicts each GPU, or each source, with coefficients fitted without it: how the model does where it is blind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from transforms.accuracy.parts import Part, cases
from transforms.accuracy.solve import Problem, Solution, Vector, fit, is_band, predicted, problem, refit
from transforms.workloads.coefficients import coefficient

# What is left out in turn, and the column of a case that names it.
HELD_OUT = {"gpu": "gpu_key", "source": "source_group"}
# Memory is arithmetic on the geometry of a model: there is no GPU that it could be blind to.
LEAVE_OUT_PARTS = ("text", "training", "generation")


def leave_out(
    part: Part,
    rows: pl.DataFrame,
    measured: pl.DataFrame,
    held_out: str,
    say: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    """Returns the CASE rows of measurements, each predicted without those of its `held_out`: gpu or source.

    `rows` are those of coefficient.csv for the part, of which the fit starts at the stated values. Takes a minute.
    """
    of_all = problem(part, rows.filter(~is_band()), measured, {})
    start = np.log(np.array([coefficient(name) for name in of_all.names]))
    solution = fit(of_all, start, say)
    return blind(of_all, refits(of_all, solution, held_out, say), held_out, cases(part, measured))


def refits(
    problem: Problem, solution: Solution, held_out: str, say: Callable[[str], None] = lambda _: None
) -> dict[str, Vector]:
    """Returns the coefficients that are fitted without each group, from the solution of all cases on."""
    group = problem.cases[HELD_OUT[held_out]].fill_null("")
    names = group.unique().sort().to_list()
    found = {}
    for number, name in enumerate(names, start=1):
        weights = np.where((group == name).to_numpy(), 0.0, problem.weights)
        found[name] = refit(problem, solution, weights, problem.prior)
        say(f"without {held_out} {number} of {len(names)}")
    return found


def blind(
    problem: Problem, by_group: Mapping[str, Vector], held_out: str, cases: pl.DataFrame
) -> pl.DataFrame:
    """Returns `cases` with the prediction of each fitted one made without its group. The others stay as they are."""
    group = problem.cases[HELD_OUT[held_out]].fill_null("")
    found = [predicted(problem, x).filter(group == name) for name, x in by_group.items()]
    return cases.update(pl.concat(found).select("case_id", "predicted", "low", "high"), on="case_id")
