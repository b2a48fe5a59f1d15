"""Compares what several sources say of one provider: a mirror or a catalog against the provider's own source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.offers.quality_rules import limit, one
from transforms.offers.schema import FINDING

SHOWN = 3


def sources_disagree(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns FINDING rows: one for each mirror or catalog of which prices are not those of the provider.

    `pairs` are the rows of the view price_of_two_sources. The finding is the mirror's or catalog's.
    """
    low, high = limit("sources_disagree", "low"), limit("sources_disagree", "high")
    rows = []
    for (source_id, own, provider), prices in pairs.group_by(
        "source_id", "own_source_id", "provider", maintain_order=True
    ):
        apart = prices.filter(~pl.col("price_ratio").is_between(low, high))
        if apart.height:
            differ = f"{apart.height} of {prices.height} prices are not from {low:g} to {high:g} times the own ones"
            found = one("sources_disagree", f"{provider}: {own}", f"{differ}: {'; '.join(_furthest(apart))}")
            rows.append((source_id, *found))
    return pl.DataFrame(rows, schema=FINDING, orient="row").sort(FINDING.names())


def _furthest(apart: pl.DataFrame) -> list[str]:
    """Returns the prices that are furthest apart, in words."""
    by_distance = apart.sort(pl.col("price_ratio").log().abs(), descending=True, maintain_order=True)
    return [
        f"{row['plan']:.60} @ {row['place'] or 'no region'} ({row['purchase']}) {_price(row)}"
        for row in by_distance.head(SHOWN).iter_rows(named=True)
    ]


def _price(row: Mapping[str, Any]) -> str:
    """Returns the two prices that were compared, in words."""
    other, own = row["usd_per_instance_hour"], row["own_usd_per_instance_hour"]
    if other is not None and own is not None:
        return f"{other:.4f} for {own:.4f} USD"
    return f"{row['usd_per_gpu_hour']:.4f} for {row['own_usd_per_gpu_hour']:.4f} USD per GPU"
