"""The meter of a rented machine: how long each start is charged for, as polars expressions.

A meter counts from the start, in steps, and charges a minimum for every start. Where it counts hours of the clock
instead, a duration from the last full hour is asked for.
"""

from __future__ import annotations

import polars as pl

from transforms.reference.tables import assumption

# Polars divides a lone row another way than a column of rows, and the last bit differs. What is rounded here is the
# same however many rows stand beside it.
HOUR_DIGITS = 9
MS_PER_HOUR = 3_600_000
MS_PER_SECOND = 1000


def billed_ms(duration_ms: pl.Expr, increment_ms: pl.Expr, minimum_ms: pl.Expr) -> pl.Expr:
    """Returns the time that one start is charged for, in whole milliseconds.

    `max(ceil(duration / increment) x increment, minimum)`, counted in integers so that a rounding error of a
    billionth of a second does not buy another hour.
    """
    increment = pl.max_horizontal(increment_ms, pl.lit(1, pl.Int64))
    units = (duration_ms + increment - 1) // increment
    # a horizontal maximum passes over nulls; an unknown duration must stay unknown
    return pl.when(units.is_not_null()).then(pl.max_horizontal(units * increment, minimum_ms))


def whole_ms(hours: pl.Expr) -> pl.Expr:
    """Returns hours as whole milliseconds, rounded to the nearest."""
    return (hours * MS_PER_HOUR).round().cast(pl.Int64)


def increment_s() -> pl.Expr:
    """Returns the billing increment in seconds; an unknown one is read as a started hour."""
    return (
        pl.col("billing_increment_s").cast(pl.Int64).fill_null(int(assumption("unknown_billing_increment_s")))
    )


def minimum_s() -> pl.Expr:
    """Returns the least time charged for a start in seconds; an unknown one as one increment, a minute at least."""
    floor_s = int(assumption("unknown_billing_minimum_s"))
    stated = pl.col("billing_minimum_s").cast(pl.Int64)
    return stated.fill_null(pl.max_horizontal(increment_s(), pl.lit(floor_s, pl.Int64)))


def session_billed_hours(session_hours: pl.Expr) -> pl.Expr:
    """Returns the hours that one start of `session_hours` is charged for, by the increment and minimum of the row."""
    billed = billed_ms(whole_ms(session_hours), increment_s() * MS_PER_SECOND, minimum_s() * MS_PER_SECOND)
    return (billed / MS_PER_HOUR).round(HOUR_DIGITS)


def capped_hours(hours: pl.Expr, cap_hours: pl.Expr, month_hours: pl.Expr) -> pl.Expr:
    """Returns the hours that are charged where a calendar month is charged for at most `cap_hours`.

    The instance starts with the month. Without a cap all hours are charged. Two instances do not share a cap.
    """
    full_months = hours // month_hours
    rest_hours = hours - full_months * month_hours
    capped = full_months * pl.min_horizontal(month_hours, cap_hours) + pl.min_horizontal(
        rest_hours, cap_hours
    )
    return pl.when(cap_hours.is_null()).then(hours).otherwise(capped)
