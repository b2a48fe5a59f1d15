"""The order of priced rows: by objective, and by what decides between equal ones."""

from __future__ import annotations

import polars as pl

SIGNIFICANT_DIGITS = 3  # differences below are noise; rounding keeps the order transitive


def rounded(usd: str) -> pl.Expr:
    """Returns an amount with the digits that decide the order."""
    return pl.col(usd).round_sig_figs(SIGNIFICANT_DIGITS)


def price_keys() -> list[pl.Expr]:
    """Returns the first keys: the objective, and behind equal ones the bills of which a price is unknown."""
    return [
        rounded("objective_usd"),
        pl.when(pl.col("objective_usd").is_null()).then("price_usd_per_instance_hour"),
        pl.col("is_lower_bound") | pl.col("billing_increment_s").is_null(),
    ]


def tie_keys() -> list[pl.Expr]:
    """Returns the further keys: the smaller machine, the surer one, then what the offers are by themselves."""
    return [
        pl.col("gpus_per_replica"),
        pl.col("gpus_rented"),
        pl.col("load_ratio"),
        pl.col("certainty") == "likely",
        pl.col("standing"),
        pl.col("replicas_per_instance"),
    ]
