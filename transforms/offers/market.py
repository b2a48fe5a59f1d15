"""What others ask for the same GPU, and which prices are too far from it to be believed."""

from __future__ import annotations

import polars as pl

from transforms.offers.quality_rules import GPU_PRICE, Found, each, limit, many
from transforms.offers.schema import MARKET


def market_of(offerings: pl.DataFrame) -> pl.DataFrame:
    """Returns MARKET: what each provider asks for one GPU of a kind, its median, per source, segment and purchase kind.

    `offerings` may have any columns beside those of OFFERING that are read here.
    """
    return (
        _priced(offerings)
        .filter(pl.col("gpu_key").is_not_null())
        .group_by("source_id", "provider", "segment", "gpu_key", "purchase")
        .agg(usd_per_gpu_hour=pl.col(GPU_PRICE).cast(pl.Float64).median())
        .select(MARKET.names())
        .match_to_schema(MARKET)
        .sort(MARKET.names(), nulls_last=True)
    )


def price_outside_market_band(offerings: pl.DataFrame, market: pl.DataFrame) -> list[Found]:
    """Soft: a price per GPU-hour far from what others ask. Hard: most prices of the source, or of a purchase kind.

    A hard finding stands on other sources alone, for a source that reads every price wrong agrees with itself.
    Without enough others a price is compared with those of its own source.
    """
    among_own = _with_band(offerings).select("offering_id", own_median="median", is_odd="is_outside")
    against = _against(offerings, market)
    rows = (
        offerings.select(
            "offering_id", "provider", "plan", "region_text", "purchase", "price_state", GPU_PRICE
        )
        .join(against, on="offering_id", how="left")
        .join(among_own, on="offering_id", how="left")
    )
    odd = rows.filter(pl.coalesce("is_outside", "is_odd")).with_columns(
        median=pl.coalesce("median", "own_median")
    )
    found = each(
        "price_outside_market_band",
        odd,
        lambda row: f"{row[GPU_PRICE]} USD per GPU-hour, median {row['median']:.4g}",
    )
    return found + _many_outside(rows.filter(pl.col("is_outside").is_not_null()))


def outside_market_band(offerings: pl.DataFrame) -> frozenset[str]:
    """Returns the ids of offerings whose price is so far from the market that they must not lead a ranking."""
    return frozenset(_with_band(offerings).filter("is_outside")["offering_id"].to_list())


def _priced(offerings: pl.DataFrame) -> pl.DataFrame:
    return offerings.filter(pl.col("price_state") == "priced", pl.col(GPU_PRICE).is_not_null())


def _is_outside(price: pl.Expr) -> pl.Expr:
    low, high = limit("price_outside_market_band", "low"), limit("price_outside_market_band", "high")
    return ~(price / pl.col("median")).is_between(low, high)


def _with_band(offerings: pl.DataFrame) -> pl.DataFrame:
    """Returns the priced offerings of known GPUs with the median of their market, and whether they are outside it.

    A market is one GPU, purchase kind and segment. The band needs enough other offers in it to mean something.
    """
    price, same = pl.col(GPU_PRICE).cast(pl.Float64), ("gpu_key", "purchase", "segment")
    market = (
        _priced(offerings)
        .filter(pl.col("gpu_key").is_not_null())
        .with_columns(median=price.median().over(same), others=pl.len().over(same) - 1)
    )
    enough = pl.col("others") >= limit("price_outside_market_band", "min_others")
    return market.with_columns(is_outside=enough & _is_outside(price))


def _against(offerings: pl.DataFrame, market: pl.DataFrame) -> pl.DataFrame:
    """Returns offering_id, median and `is_outside` of the offerings for which other providers make a market.

    It is the market of their segment, or else of all. A name that can mean several GPUs is outside only where it
    is so for each of them that has a market; the median is the nearest.
    """
    others = market.join(offerings.select("source_id").unique(), on="source_id", how="anti")
    same = ["gpu_key", "purchase", "segment"]
    price = pl.col(GPU_PRICE).cast(pl.Float64)
    return (
        _priced(offerings)
        .select("offering_id", "purchase", "segment", GPU_PRICE, gpu_key="gpu_candidates")
        .explode("gpu_key")
        .join(_medians(others, same), on=same, how="left")
        .join(_medians(others, same[:2]), on=same[:2], how="left", suffix="_of_all")
        .with_columns(median=pl.coalesce("median", "median_of_all"))
        .filter(pl.col("median").is_not_null())
        .with_columns(is_outside=_is_outside(price), distance=(price / pl.col("median")).log().abs())
        .sort("offering_id", "distance")
        .group_by("offering_id", maintain_order=True)
        .agg(pl.col("median").first(), pl.col("is_outside").all())
    )


def _medians(market: pl.DataFrame, same: list[str]) -> pl.DataFrame:
    """Returns the median over providers, each counted once, where there are enough of them."""
    each = market.group_by(*same, "provider").agg(pl.col("usd_per_gpu_hour").median())
    medians = each.group_by(same).agg(median=pl.col("usd_per_gpu_hour").median(), providers=pl.len())
    return medians.filter(pl.col("providers") >= limit("price_outside_market_band", "min_others")).drop(
        "providers"
    )


def _many_outside(compared: pl.DataFrame) -> list[Found]:
    """Returns the hard finding of the source as a whole, or else of its purchase kinds that have enough rows."""
    enough = limit("price_outside_market_band", "min_rows")
    kinds = [rows for _, rows in compared.group_by("purchase", maintain_order=True) if rows.height >= enough]
    for rows in (compared, *kinds):
        wrong = int(rows["is_outside"].sum())
        found = many(
            "price_outside_market_band",
            wrong,
            rows.height,
            subject="offerings" if rows is compared else f"{rows['purchase'][0]} offerings",
            what="prices are far from what others ask",
        )
        if found:
            return found
    return []
