"""Prices: what one unit of a currency is in USD, how long a price unit lasts, and the hourly USD price of an offer."""

from __future__ import annotations

from datetime import date

import polars as pl

from transforms.offers.schema import MONEY, RATE
from transforms.reference.tables import assumption

CONVERSION = pl.Schema({"currency": pl.String, "usd_per_currency": pl.Float64, "fx_date": pl.Date})
HOURS_PER_DAY = 24.0


def usd_per_currency(rates: pl.DataFrame, night: date) -> pl.DataFrame:
    """Returns the USD value of one unit of each currency, with the date of the older rate that it rests on.

    Args:
        rates: RATE rows, such as those of the European Central Bank, which are per euro.
        night: rates fixed after this day are not used.
    """
    usable = (
        rates.select(RATE.names())
        .match_to_schema(RATE)
        .filter(pl.col("rate").is_finite(), pl.col("rate") > 0, pl.col("rate_date") <= night)
    )
    latest = usable.sort("rate_date", "rate").group_by("base", "quote", maintain_order=True).last()
    known: dict[str, tuple[float, date | None]] = {"USD": (1.0, None)}
    pairs = sorted(latest.iter_rows())
    for _ in range(
        2
    ):  # once for the base currency through its USD rate, once for all others through the base
        for base, quote, rate, day in pairs:
            if quote in known and base not in known:
                value, other_day = known[quote]
                known[base] = (value * rate, min(day, other_day or day))
            elif base in known and quote not in known:
                value, other_day = known[base]
                known[quote] = (value / rate, min(day, other_day or day))
    rows = [(currency, value, day) for currency, (value, day) in sorted(known.items())]
    return pl.DataFrame(rows, schema=CONVERSION, orient="row")


def hours_of_unit() -> pl.Expr:
    """Returns the hours that the price unit of a row lasts; null when the row does not say how long its term is."""
    unit = pl.col("price_unit")
    month = pl.col("monthly_cap_hours").fill_null(assumption("hours_per_month"))
    return (
        pl.when(unit == "second")
        .then(1 / 3600)
        .when(unit == "minute")
        .then(1 / 60)
        .when(unit == "hour")
        .then(1.0)
        .when(unit == "day")
        .then(HOURS_PER_DAY)
        .when(unit == "month")
        .then(month)
        .when(unit == "year")
        .then(assumption("hours_per_year"))
        .when(unit == "term")
        .then(hours_of_term())
    )


def hours_of_term() -> pl.Expr:
    """Returns the hours of the term of a commitment; null without a term."""
    months = pl.when(pl.col("term_months") > 0).then(pl.col("term_months"))
    return months / 12 * assumption("hours_per_year")


def with_usd_prices(rows: pl.DataFrame, conversions: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with USD prices per GPU-hour and per instance-hour, and with the gap where there is none.

    The hourly price of a commitment holds its upfront payment, spread over the hours of the term. A price per
    GPU is per GPU or slice as listed (`unit_count` of them in an instance); `gpu_count` counts whole GPUs.
    """
    priced = rows.join(conversions, on="currency", how="left").with_columns(
        upfront_usd=(pl.col("upfront_number") * pl.col("usd_per_currency")).round(6),
        unit_usd_hour=(
            pl.col("price_number") / hours_of_unit()
            + pl.when(pl.col("upfront_number") > 0)
            .then(pl.col("upfront_number") / hours_of_term())
            .otherwise(0.0)
        )
        * pl.col("usd_per_currency"),
    )
    is_per_gpu = pl.col("price_per") == "gpu"
    instance = (
        pl.when(is_per_gpu).then(pl.col("unit_usd_hour") * pl.col("unit_count")).otherwise("unit_usd_hour")
    )
    per_unit = pl.col("unit_usd_hour") * pl.col("unit_count") / pl.col("gpu_count")
    has_no_count = pl.col("unit_count").is_null() & ~pl.col("is_slice")
    return priced.with_columns(
        usd_per_instance_hour=instance,
        usd_per_gpu_hour=pl.when(is_per_gpu & has_no_count)
        .then("unit_usd_hour")
        .when(is_per_gpu)
        .then(per_unit)
        .otherwise(pl.col("unit_usd_hour") / pl.col("gpu_count")),
        price_gap=_gap(),
    )


def _gap() -> pl.Expr:
    """Returns why a row has no USD price of the instance, the first reason that holds; null when it has one."""
    currency = pl.col("currency")
    return (
        pl.when(pl.col("price_state") == "contact_sales")
        .then(pl.lit("contact sales"))
        .when(currency.is_null())
        .then(pl.lit("currency not stated"))
        .when(pl.col("usd_per_currency").is_null())
        .then(pl.lit("no exchange rate for ") + currency)
        .when((pl.col("upfront_number") > 0) & hours_of_term().is_null())
        .then(pl.lit("upfront payment without a term"))
        .when((pl.col("price_per") == "gpu") & pl.col("unit_count").is_null())
        .then(pl.lit("GPU count not stated"))
    )


def money(column: str) -> pl.Expr:
    """Returns a float column as money with six digits after the point."""
    return pl.col(column).round(6).cast(MONEY, strict=False)
