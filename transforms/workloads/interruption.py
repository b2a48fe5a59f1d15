"""What the loss of spot machines costs a job, as polars expressions in hours.

Source: J. W. Young, "A first order approximation to the optimum checkpoint interval" (1974). The time
that writing a checkpoint takes is not counted.
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
