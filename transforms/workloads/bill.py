"""What a job costs from the first command to the last byte kept, as polars expressions with units.

One row of a frame is one job on one offer. Every line of the bill is computed apart, so that a reader sees why an
offer lost; the lines add up to `total_usd`. Where a term of the bill is unknown, the dearer reading is used
(a started hour, a billed start-up); an unknown price of storage or traffic leaves that line empty and makes
the total "at least".
"""

from __future__ import annotations

from typing import TypeVar

import polars as pl

from transforms.reference.tables import assumption
from transforms.workloads.interruption import extra_share

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

# Polars divides a lone row another way than a column of rows, and the last bit differs. What is rounded here is the
# same however many rows stand beside it.
HOUR_DIGITS = 9
USD_DIGITS = 9
MS_PER_HOUR = 3_600_000
MS_PER_SECOND = 1000

PARTS_USD = (
    "compute_usd",
    "startup_usd",
    "storage_usd",
    "egress_usd",
    "interruption_usd",
    "commitment_usd",
)
PAID_HOURS = ("_work_paid", "_start_paid", "_lost_paid", "_idle_paid")


def billed_ms(duration_ms: pl.Expr, increment_ms: pl.Expr, minimum_ms: pl.Expr) -> pl.Expr:
    """Returns the time that one start is charged for, in whole milliseconds, by a meter that counts from the start.

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


def storage_usd(size_gb: pl.Expr, usd_per_gb_month: pl.Expr, kept_hours: pl.Expr) -> pl.Expr:
    """Returns what `size_gb` costs for `kept_hours`; null where the price is unknown and something is kept."""
    months = kept_hours / assumption("hours_per_month")
    return pl.when(size_gb.fill_null(0) <= 0).then(0.0).otherwise(size_gb * usd_per_gb_month * months)


def egress_usd(out_gb: pl.Expr, usd_per_gb: pl.Expr, free_gb: pl.Expr) -> pl.Expr:
    """Returns what `out_gb` costs after the free allowance, which is used once; null where the price is unknown."""
    charged_gb = pl.max_horizontal(out_gb - free_gb.fill_null(0), pl.lit(0.0))
    return pl.when(out_gb.fill_null(0) <= 0).then(0.0).otherwise(charged_gb * usd_per_gb)


def bill(frame: Frame) -> Frame:
    """Returns the frame with the lines of the bill in USD, `total_usd`, `is_lower_bound` and `billed_hours`.

    The bill is of a month for a demand and of the whole job otherwise. `billed_hours` is per instance. Needs, in
    hours: `work_hours` (per instance, of the month or the job) and `storage_hours`; `instances`, `kind`,
    `sessions_per_month`, `start_minutes`, `checkpoint_interval_min`, `storage_gb`, `egress_gb_per_month` of the
    job; prices and terms of the offer as in OFFERING, prices as floats, and its `loss_per_hour`.
    """
    timed = frame.with_columns(
        _sessions=pl.when(pl.col("kind") == "demand")
        .then(pl.col("sessions_per_month").fill_null(1))
        .otherwise(1.0),
        _start_hours=pl.when(pl.col("is_startup_billed").fill_null(True))
        .then(pl.col("start_minutes").fill_null(0) / 60)
        .otherwise(0.0),
    )
    is_reserved = pl.col("purchase") == "reserved"
    hours = timed.with_columns(
        pl.when(is_reserved).then(own).otherwise(metered).round(HOUR_DIGITS).alias(name)
        for name, own, metered in zip(PAID_HOURS, _reserved(), _metered(), strict=True)
    )
    lines = hours.with_columns(line.round(USD_DIGITS).alias(name) for name, line in _lines_usd().items())
    # polars reads the sum of nulls as 0; a row without hours has no bill
    return lines.with_columns(
        billed_hours=pl.when(pl.col("_work_paid").is_not_null()).then(pl.sum_horizontal(PAID_HOURS)),
        total_usd=pl.when(pl.col("compute_usd").is_not_null()).then(pl.sum_horizontal(PARTS_USD)),
        is_lower_bound=pl.col("storage_usd").is_null() | pl.col("egress_usd").is_null(),
    ).drop("_sessions", "_start_hours", *PAID_HOURS)


def _lines_usd() -> dict[str, pl.Expr]:
    """Returns the lines of the bill in USD, from the paid hours of an instance and the terms of the offer."""
    # the hourly price of a reservation already holds its upfront payment, spread over the term
    rate = pl.col("price_usd_per_instance_hour") * pl.col("instances")
    kept = (pl.col("storage_gb"), pl.col("storage_usd_per_gb_month"), pl.col("storage_hours"))
    sent = (pl.col("egress_gb_per_month"), pl.col("egress_usd_per_gb"), pl.col("egress_free_gb_per_month"))
    return {
        "compute_usd": rate * pl.col("_work_paid"),
        "startup_usd": rate * pl.col("_start_paid"),
        "storage_usd": storage_usd(*kept),
        "egress_usd": egress_usd(*sent),
        "interruption_usd": rate * pl.col("_lost_paid"),
        "commitment_usd": rate * pl.col("_idle_paid"),
    }


def _metered() -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Returns the hours charged for work, start-up and interruptions of an instance that is paid while it runs."""
    month_hours = pl.lit(assumption("hours_per_month"))
    session_hours = pl.col("work_hours") / pl.col("_sessions")

    def charged(hours_of_a_start: pl.Expr) -> pl.Expr:
        billed = session_billed_hours(hours_of_a_start)
        return capped_hours(billed, pl.col("monthly_cap_hours"), month_hours) * pl.col("_sessions")

    work = charged(session_hours)
    start = charged(session_hours + pl.col("_start_hours")) - work
    # a loss also gives up what is left of the started unit: half of one in the mean
    lost = pl.col("work_hours") * extra_share(
        pl.col("loss_per_hour"),
        pl.col("checkpoint_interval_min").fill_null(0) / 60,
        pl.col("_start_hours") + increment_s() / 3600 / 2,
    )
    return work, start, lost, pl.lit(0.0)


def _reserved() -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Returns the hours of a term that the job works, starts up, loses and leaves idle: together the whole term.

    For a demand the term is spread over its months. A job longer than the term takes as many terms as it needs.
    """
    month_hours = assumption("hours_per_month")
    used = pl.col("work_hours") + pl.col("_start_hours") * pl.col("_sessions")
    term = pl.col("term_months") * month_hours
    terms = (used / term).round(9).ceil()
    month = pl.max_horizontal(pl.lit(month_hours), pl.col("work_hours"))
    paid = pl.when(pl.col("kind") == "demand").then(month).otherwise(terms * term)
    start = pl.min_horizontal(pl.col("_start_hours") * pl.col("_sessions"), paid - pl.col("work_hours"))
    return pl.col("work_hours"), start, pl.lit(0.0), paid - pl.col("work_hours") - start
