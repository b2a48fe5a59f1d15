"""What the data of a job cost: keeping them, and sending them out. Polars expressions in USD.

Two price lists of the providers stand in reference tables: `storage_term` has the length of a month, the free part,
the rate of a stopped machine and the sizes that are sold; `egress_tier` the rates that fall with a month's traffic.
"""

from __future__ import annotations

from functools import lru_cache

import polars as pl

from transforms.reference.tables import assumption, read

Tiers = tuple[tuple[float, float], ...]  # (from GB, USD per GB), in order, the first from 0


def storage_terms() -> pl.DataFrame:
    """Returns the terms of storage by provider, of those whose terms differ from the plain ones."""
    return read("storage_term").select(
        "provider", "storage_month_hours", "storage_free_gb", "stopped_usd_per_gb_month", "smallest_disk_gb"
    )


def sold_gb(size_gb: pl.Expr, smallest_disk_gb: pl.Expr) -> pl.Expr:
    """Returns the size that is charged where disks double from a smallest one; any size elsewhere (null)."""
    doublings = (size_gb / smallest_disk_gb).log(2).round(9).ceil().clip(lower_bound=0)
    return pl.coalesce(smallest_disk_gb * 2.0**doublings, size_gb)


def storage_usd(
    size_gb: pl.Expr,
    usd_per_gb_month: pl.Expr,
    kept_hours: pl.Expr,
    *,
    stopped_hours: pl.Expr | float = 0.0,
    stopped_usd_per_gb_month: pl.Expr | None = None,
    free_gb: pl.Expr | float = 0.0,
    month_hours: pl.Expr | float | None = None,
) -> pl.Expr:
    """Returns what `size_gb` cost for `kept_hours`, of which the machine stands still for `stopped_hours`.

    The rate of a month is spread over `month_hours`, 730 unless the provider counts otherwise. Null where the price
    is unknown and something is kept.
    """
    rate = usd_per_gb_month
    more = pl.lit(0.0) if stopped_usd_per_gb_month is None else stopped_usd_per_gb_month - usd_per_gb_month
    month = assumption("hours_per_month") if month_hours is None else month_hours
    charged_gb = (size_gb - free_gb).clip(lower_bound=0.0)
    usd = charged_gb * (rate * kept_hours + more * stopped_hours) / month
    return pl.when(size_gb.fill_null(0) <= 0).then(0.0).otherwise(usd)


def tiered_usd(quantity: pl.Expr, tiers: Tiers) -> pl.Expr:
    """Returns what a quantity costs where each part of it has its own rate."""
    ends = [start for start, _rate in tiers[1:]]
    whole = pl.lit(0.0)
    for (start, rate), end in zip(tiers, [*ends, float("inf")], strict=True):
        whole = whole + quantity.clip(start, end).sub(start) * rate
    return whole


@lru_cache
def egress_tiers() -> dict[str, Tiers]:
    """Returns the rates of outgoing data by provider, of those whose rates fall with the traffic of a month."""
    rows = read("egress_tier").sort("provider", "from_gb").group_by("provider", maintain_order=True)
    return {str(name): tuple(rows.select("from_gb", "usd_per_gb").iter_rows()) for (name,), rows in rows}


def egress_usd(
    out_gb: pl.Expr,
    usd_per_gb: pl.Expr,
    free_gb: pl.Expr,
    provider: pl.Expr,
) -> pl.Expr:
    """Returns what `out_gb` cost after the free allowance, which is used once and comes off before the first tier.

    An offer at the first rate of its provider pays the lower rates of the further tiers too. Null where the price is
    unknown and something is sent.
    """
    charged_gb = (out_gb - free_gb.fill_null(0)).clip(lower_bound=0.0)
    usd = charged_gb * usd_per_gb
    for name, tiers in egress_tiers().items():
        has_tiers = (provider == name) & (usd_per_gb == tiers[0][1])
        usd = pl.when(has_tiers).then(tiered_usd(charged_gb, tiers)).otherwise(usd)
    return pl.when(out_gb.fill_null(0) <= 0).then(0.0).otherwise(usd)
