"""When a commitment pays, as polars expressions."""

from __future__ import annotations

import polars as pl


def break_even_share(committed_usd_per_hour: pl.Expr, other_usd_per_hour: pl.Expr) -> pl.Expr:
    """Returns the share of the term that must be used for the commitment to cost what the other way costs.

    Above 1 the commitment never pays. The committed price holds an upfront payment, spread over the term.
    """
    return committed_usd_per_hour / other_usd_per_hour
