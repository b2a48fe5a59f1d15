"""Reads the coefficients of the models of memory and speed: numbers with an interval and a source, never in code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from transforms.reference import tables


class UnknownCoefficientError(KeyError):
    """There is no such row in coefficient.csv."""


@lru_cache
def _stated() -> Mapping[str, float]:
    rows = tables.read("coefficient").select("coefficient_id", "value").iter_rows()
    return {coefficient_id: float(value) for coefficient_id, value in rows}


_trial: ContextVar[Mapping[str, float] | None] = ContextVar("trial coefficients", default=None)


def _values() -> Mapping[str, float]:
    trial = _trial.get()
    return _stated() if trial is None else trial


@contextmanager
def using(values: Mapping[str, float]) -> Iterator[None]:
    """Makes the formulas read these values in place of the stated ones, in this context only: for calibration."""
    token = _trial.set({**_stated(), **values})
    try:
        yield
    finally:
        _trial.reset(token)


def coefficient(coefficient_id: str) -> float:
    """Returns the value of one coefficient, in the unit of its row."""
    try:
        return _values()[coefficient_id]
    except KeyError:
        raise UnknownCoefficientError(
            f"coefficient.csv: no row {coefficient_id!r}; add it with a source"
        ) from None


def coefficients(family: str) -> dict[str, float]:
    """Returns the values of a family: `coefficients("flops_share")` gives {"geforce": 0.85, ...}."""
    start = f"{family}."
    found = {name.removeprefix(start): value for name, value in _values().items() if name.startswith(start)}
    if not found:
        raise UnknownCoefficientError(f"coefficient.csv: no rows {start}*; add them with a source")
    return found
