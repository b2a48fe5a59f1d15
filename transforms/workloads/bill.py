"""What a job costs from the first command to the last byte kept, as polars expressions with units.

One row of a frame is one job on one offer. Every line of the bill is computed apart, so that a reader sees why an
offer lost; the lines add up to `total_usd`. Where a term of the bill is unknown, the dearer reading is used
(a started hour, a billed start-up); an unknown price of storage or traffic leaves that line empty and makes
the total "at least". `with_bounds` says how far off all these readings may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from transforms.reference.tables import assumption, read
from transforms.workloads.eligibility import Frame
from transforms.workloads.interruption import exact_extra_share, extra_share, paid_share_with_free_hour
from transforms.workloads.keeping import egress_usd, sold_gb, storage_usd
from transforms.workloads.meter import HOUR_DIGITS, capped_hours, increment_s, session_billed_hours

LossShare = Callable[[pl.Expr, pl.Expr, pl.Expr], pl.Expr]

USD_DIGITS = 9
# what an offer states of its price and how it is metered
STATED_TERMS = (
    "price_usd_per_instance_hour",
    "billing_increment_s",
    "billing_minimum_s",
    "storage_usd_per_gb_month",
    "egress_usd_per_gb",
    "egress_free_gb_per_month",
    "is_startup_billed",
    "monthly_cap_hours",
    "interruptions_per_hour",
)
PARTS_USD = (
    "compute_usd",
    "startup_usd",
    "storage_usd",
    "egress_usd",
    "interruption_usd",
    "commitment_usd",
)
PAID_HOURS = ("_work_paid", "_start_paid", "_lost_paid", "_idle_paid")


def bill(frame: Frame, loss_share: LossShare = extra_share) -> Frame:
    """Returns the frame with the lines of the bill in USD, `total_usd`, `is_lower_bound` and `billed_hours`.

    The bill is of a month for a demand and of the whole job otherwise. `billed_hours` is per instance. Needs, in
    hours: `work_hours` (per instance, of the month or the job) and `storage_hours`; `instances`, `kind`,
    `sessions_per_month`, `start_minutes`, `checkpoint_interval_min`, `storage_gb`, `egress_gb_per_month` of the
    job; prices and terms of the offer as in OFFERING, prices as floats, its `loss_per_hour`, and the
    `storage_terms` of its provider. `loss_share` is the formula for the time lost to interruptions. Between the
    sessions of a month the machine is given back and the data stay.
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
        for name, own, metered in zip(PAID_HOURS, _reserved(), _metered(loss_share), strict=True)
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
    return {
        "compute_usd": rate * pl.col("_work_paid"),
        "startup_usd": rate * pl.col("_start_paid"),
        "storage_usd": _storage_line_usd(),
        "egress_usd": egress_usd(
            pl.col("egress_gb_per_month"),
            pl.col("egress_usd_per_gb"),
            pl.col("egress_free_gb_per_month"),
            pl.col("provider"),
        ),
        "interruption_usd": rate * pl.col("_lost_paid"),
        "commitment_usd": rate * pl.col("_idle_paid"),
    }


def _storage_line_usd() -> pl.Expr:
    running = pl.col("work_hours") + pl.col("_start_hours") * pl.col("_sessions")
    stopped = (pl.col("storage_hours") - running).clip(lower_bound=0.0)
    # a reserved machine stands by all the time, and so does one that runs round the clock
    is_given_back = (pl.col("purchase") != "reserved") & (pl.col("_sessions") > 1)
    return storage_usd(
        sold_gb(pl.col("storage_gb"), pl.col("smallest_disk_gb")),
        pl.col("storage_usd_per_gb_month"),
        pl.col("storage_hours"),
        stopped_hours=pl.when(is_given_back).then(stopped).otherwise(0.0),
        stopped_usd_per_gb_month=pl.coalesce("stopped_usd_per_gb_month", "storage_usd_per_gb_month"),
        free_gb=pl.col("storage_free_gb").fill_null(0.0),
        month_hours=pl.col("storage_month_hours").fill_null(assumption("hours_per_month")),
    )


def _metered(loss_share: LossShare) -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Returns the hours charged for work, start-up and interruptions of an instance that is paid while it runs."""
    month_hours = pl.lit(assumption("hours_per_month"))
    session_hours = pl.col("work_hours") / pl.col("_sessions")

    def charged(hours_of_a_start: pl.Expr) -> pl.Expr:
        billed = session_billed_hours(hours_of_a_start)
        return capped_hours(billed, pl.col("monthly_cap_hours"), month_hours) * pl.col("_sessions")

    work = charged(session_hours)
    start = charged(session_hours + pl.col("_start_hours")) - work
    return work, start, pl.col("work_hours") * _lost_share(loss_share), pl.lit(0.0)


def _lost_share(loss_share: LossShare) -> pl.Expr:
    """Returns the paid time that losses add, as a share of the work, after first hours that are free."""
    lost = loss_share(
        pl.col("loss_per_hour"),
        pl.col("checkpoint_interval_min").fill_null(0) / 60,
        # a loss also gives up what is left of the started unit: half of one in the mean
        pl.col("_start_hours") + increment_s() / 3600 / 2,
    )
    rules = read("interruption").filter(pl.col("statistic") == "free_first_hour")
    is_free = pl.col("provider").is_in(rules["provider"].unique().sort().to_list())
    paid = pl.when(is_free).then(paid_share_with_free_hour(pl.col("loss_per_hour"))).otherwise(1.0)
    return (1 + lost) * paid - 1


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


def total_usd(
    rows: pl.DataFrame, changes: Iterable[pl.Expr], loss_share: LossShare = extra_share
) -> pl.Series:
    """Returns the totals of the rows as they would be with some columns changed."""
    return bill(rows.lazy().with_columns(*changes), loss_share).select("total_usd").collect().to_series()


def with_bounds(billed: pl.DataFrame) -> pl.DataFrame:
    """Returns billed rows with `total_low_usd`, `total_high_usd` and `bill_state`.

    The ends read each missing fact as low and as high as the providers that state it. The low end counts losses to
    first order, the high end exactly. The state is exact where the ends meet, bounded where they do not, and partial
    without a total.
    """
    total = pl.col("total_usd")
    ends = billed.with_columns(
        total_low_usd=total_usd(billed, _low_reading()),
        total_high_usd=total_usd(billed, _high_reading(), exact_extra_share),
    ).with_columns(
        total_low_usd=pl.min_horizontal("total_low_usd", total),
        total_high_usd=pl.max_horizontal("total_high_usd", total),
    )
    # without a missing fact only the formula for losses differs
    return ends.with_columns(
        total_high_usd=pl.when(_is_open()).then("total_high_usd").otherwise(total)
    ).with_columns(
        bill_state=pl.when(total.is_null())
        .then(pl.lit("partial"))
        .when(pl.col("total_high_usd") > pl.col("total_low_usd"))
        .then(pl.lit("bounded"))
        .otherwise(pl.lit("exact"))
    )


def is_loss_assumed() -> pl.Expr:
    """Returns whether the offer can be taken back and nobody states how often."""
    return (pl.col("purchase") == "spot") & pl.col("interruptions_per_hour").is_null()


def _is_open() -> pl.Expr:
    unknown = ("billing_increment_s", "billing_minimum_s", "is_startup_billed")
    prices = ("storage_usd_per_gb_month", "egress_usd_per_gb")
    return pl.any_horizontal(pl.col(*unknown, *prices).is_null()) | is_loss_assumed()


def _low_reading() -> tuple[pl.Expr, ...]:
    """Returns the terms with what is missing read in favour of the offer."""
    seldom = pl.lit(assumption("spot_losses_per_hour_low"))
    return (
        pl.col("billing_increment_s").fill_null(1),
        pl.col("billing_minimum_s").fill_null(0),
        pl.col("is_startup_billed").fill_null(False),
        pl.col("storage_usd_per_gb_month").fill_null(assumption("unknown_storage_usd_per_gb_month_low")),
        pl.col("egress_usd_per_gb").fill_null(0.0),
        pl.when(is_loss_assumed()).then(seldom).otherwise("loss_per_hour").alias("loss_per_hour"),
    )


def _high_reading() -> tuple[pl.Expr, ...]:
    """Returns the terms with what is missing read against the offer, beyond what the bill already does."""
    often = pl.lit(assumption("spot_losses_per_hour_high"))
    return (
        pl.col("storage_usd_per_gb_month").fill_null(assumption("unknown_storage_usd_per_gb_month_high")),
        pl.col("egress_usd_per_gb").fill_null(assumption("unknown_egress_usd_per_gb_high")),
        pl.when(is_loss_assumed()).then(often).otherwise("loss_per_hour").alias("loss_per_hour"),
    )
