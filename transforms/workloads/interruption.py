"""What the loss of spot machines costs a job, as polars expressions in hours.

Source of the formulas: J. W. Young, "A first order approximation to the optimum checkpoint interval" (1974), and
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006).
"""

from __future__ import annotations

import math

import polars as pl

from transforms.reference.tables import assumption


def loss_per_hour(purchase: pl.Expr, stated_per_hour: pl.Expr, gpu_count: pl.Expr) -> pl.Expr:
    """Returns interruptions per hour of one instance: none unless spot, what is stated, else the assumption.

    Assumed are a rate for one GPU and one for eight, with a power of the count between and beyond.
    """
    one, eight = assumption("spot_losses_per_hour_1_gpu"), assumption("spot_losses_per_hour_8_gpus")
    power = math.log(eight / one) / math.log(8)
    assumed = one * pl.max_horizontal(gpu_count, pl.lit(1.0)) ** power
    return pl.when(purchase == "spot").then(stated_per_hour.fill_null(assumed)).otherwise(0.0)


def extra_share(loss_rate: pl.Expr, checkpoint_hours: pl.Expr, restart_hours: pl.Expr) -> pl.Expr:
    """Returns the extra time of an interrupted run as a share of the work: `rate x (checkpoint / 2 + restart)`."""
    return loss_rate * (checkpoint_hours / 2 + restart_hours)


def first_order_hours(
    work_hours: pl.Expr,
    interval_hours: pl.Expr,
    write_hours: pl.Expr,
    restart_hours: pl.Expr,
    mean_hours_between: pl.Expr,
) -> pl.Expr:
    """Returns the running time of interrupted work, with the writing of checkpoints, to first order (Young)."""
    share = extra_share(1 / mean_hours_between, interval_hours, restart_hours)
    return work_hours * (1 + write_hours / interval_hours + share)


def exact_hours(
    work_hours: pl.Expr,
    interval_hours: pl.Expr,
    write_hours: pl.Expr,
    restart_hours: pl.Expr,
    mean_hours_between: pl.Expr,
) -> pl.Expr:
    """Returns the running time of interrupted work when losses come at an even rate without memory (Daly)."""
    m = mean_hours_between
    return (
        m
        * (restart_hours / m).exp()
        * (((interval_hours + write_hours) / m).exp() - 1)
        * work_hours
        / interval_hours
    )


def young_interval_hours(write_hours: pl.Expr, mean_hours_between: pl.Expr) -> pl.Expr:
    """Returns the best time between checkpoints to first order: `sqrt(2 x write x mean time between losses)`."""
    return (2 * write_hours * mean_hours_between).sqrt()


def daly_interval_hours(write_hours: pl.Expr, mean_hours_between: pl.Expr) -> pl.Expr:
    """Returns the best time between checkpoints to higher order; the mean time itself when writing takes twice that."""
    x = (write_hours / (2 * mean_hours_between)).sqrt()
    higher = young_interval_hours(write_hours, mean_hours_between) * (1 + x / 3 + x**2 / 9) - write_hours
    return pl.when(write_hours < 2 * mean_hours_between).then(higher).otherwise(mean_hours_between)
