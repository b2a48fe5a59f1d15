"""What a provider bills beside its machines, from its own source: the rate of a plain disk, and of traffic."""

from __future__ import annotations

import polars as pl

from transforms.offers.hardware import number
from transforms.offers.regions import place_key, region_frame
from transforms.offers.schema import EXTRA
from transforms.reference.tables import assumption

GIB_PER_GB = 1e9 / 2**30


def with_extras(rows: pl.DataFrame, extras: pl.DataFrame, conversions: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with what their provider bills in their place: `extra_storage`, `extra_egress` and
    `extra_ingress` in USD per GB (and month, for storage), and `extra_free_gb`, the GB of egress free each month.

    A price for the place goes before one for all places. Null where the source states none.

    Args:
        rows: listings with `provider`, `region_key` and `place_text`.
        extras: EXTRA rows.
        conversions: CONVERSION rows; a price in a currency without a rate is not known.
    """
    rates = rates_of(extras, conversions)
    told = rows.with_columns(place_key=place_key())
    for kind in ("storage", "egress", "ingress"):
        of_kind = rates.filter(pl.col("kind") == kind).drop("kind")
        here = of_kind.drop_nulls("place_key").rename({"usd": "usd_here", "free_gb": "free_here"})
        anywhere = of_kind.filter(pl.col("place_key").is_null()).drop("place_key")
        told = (
            told.join(here, on=["provider", "place_key"], how="left")
            .join(anywhere, on="provider", how="left")
            .with_columns(pl.coalesce("usd_here", "usd").alias(f"extra_{kind}"))
            .with_columns(
                pl.when(pl.col("usd_here").is_null())
                .then("free_gb")
                .otherwise("free_here")
                .alias(f"free_{kind}")
            )
            .drop("usd_here", "free_here", "usd", "free_gb")
        )
    return told.rename({"free_egress": "extra_free_gb"}).drop("free_storage", "free_ingress", "place_key")


def rates_of(extras: pl.DataFrame, conversions: pl.DataFrame) -> pl.DataFrame:
    """Returns one rate per kind, provider and place: the first step of the month that costs something.

    Where several things begin at that step (two sorts of disk), it is the cheapest, for a job asks for room and not
    for a sort. `free_gb` is where that step begins, when what lies below it is stated to cost nothing.
    `place_key` is null for a rate that holds everywhere.
    """
    amount, per = number("price"), pl.col("per")
    in_gb = pl.when(per.str.starts_with("gib")).then(GIB_PER_GB).otherwise(1.0)
    months = pl.when(per.str.ends_with("_hour")).then(assumption("hours_per_month")).otherwise(1.0)
    asked = extras.select(EXTRA.names()).with_columns(
        origin=pl.lit(None, pl.String), place_text="region_text"
    )
    steps = (
        asked.join(conversions, on="currency", how="left")
        .with_columns(usd=amount * in_gb * months * pl.col("usd_per_currency"))
        .filter(pl.col("usd").is_finite(), pl.col("usd") >= 0, pl.col("from_gb") >= 0)
        .join(region_frame(asked), on=["provider", "origin", "place_text"], how="left", nulls_equal=True)
        .with_columns(place_key=place_key())
    )
    is_paid, begins = pl.col("usd") > 0, pl.col("from_gb").first()
    is_free_below = (~is_paid & (pl.col("from_gb") < begins)).any()
    return (
        steps.sort(~is_paid, "from_gb", "usd")
        .group_by("kind", "provider", "place_key", maintain_order=True)
        .agg(
            pl.col("usd").first(),
            free_gb=pl.when(is_paid.first() & is_free_below).then(begins),
        )
    )
