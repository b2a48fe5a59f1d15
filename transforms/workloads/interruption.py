"""What the loss of spot machines costs a job, as polars expressions in hours.

Losses come at an even rate without memory. Sources: J. W. Young, "A first order approximation to the optimum checkpoint
interval" (1974); J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006).
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
    """Returns the extra time of an interrupted run as a share of the work: `rate x (checkpoint / 2 + restart)`.

    First order: half an interval is lost each time. The time that writing a checkpoint takes is not counted.
    """
    return loss_rate * (checkpoint_hours / 2 + restart_hours)


def exact_extra_share(
    loss_rate: pl.Expr,
    checkpoint_hours: pl.Expr,
    restart_hours: pl.Expr,
) -> pl.Expr:
    """Returns the extra time as a share of the work when losses may strike restarts and repeated work too.

    Daly: `M exp(R / M) (exp(interval / M) - 1) / interval - 1` with M hours between losses; the time that writing a
    checkpoint takes is not counted. Null without checkpoints: the one interval is then the whole work, which is
    not known here.
    """
    segment = (checkpoint_hours * loss_rate).exp() - 1
    share = (restart_hours * loss_rate).exp() * segment / (loss_rate * checkpoint_hours) - 1
    return pl.when(loss_rate == 0).then(0.0).when(checkpoint_hours > 0).then(share)


def young_interval_hours(write_hours: pl.Expr, loss_rate: pl.Expr) -> pl.Expr:
    """Returns the interval between checkpoints that loses least, to first order: `sqrt(2 x write / rate)`."""
    return (2 * write_hours / loss_rate).sqrt()


def daly_interval_hours(write_hours: pl.Expr, loss_rate: pl.Expr) -> pl.Expr:
    """Returns the same to higher order; never longer than the mean time between losses."""
    x = (write_hours * loss_rate / 2).sqrt()
    higher = young_interval_hours(write_hours, loss_rate) * (1 + x / 3 + x**2 / 9) - write_hours
    return pl.when(write_hours * loss_rate < 2).then(higher).otherwise(1 / loss_rate)


def paid_share_with_free_hour(loss_rate: pl.Expr) -> pl.Expr:
    """Returns the paid share of the running time where a first hour that ends by a loss is free.

    A launch that ends by loss after `M` hours in the mean is paid for `exp(-1/M) (1 + M)` of them.
    """
    return (-loss_rate).exp() * (1 + loss_rate)
