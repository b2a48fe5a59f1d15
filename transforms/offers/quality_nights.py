"""What looks wrong in tonight's offerings of a source against those of its last good night."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.offers.quality_rules import GPU_PRICE, MOST_TOLD, PRICE, Found, each, limit, many, one, rest

LONGEST_DETAIL = 400


def findings(offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Returns what is found; `previous` is empty when there was no good night, and then nothing has changed."""
    money = ["offering_id", PRICE, GPU_PRICE, "usd_per_currency", "currency"]
    pairs = offerings.select(*money, "provider", "plan", "purchase", "region_text").join(
        previous.select(money), on="offering_id", suffix="_before"
    )
    return [
        *count_drop(offerings, previous),
        *price_jump(pairs),
        *median_move(offerings, previous),
        *currency_change(pairs, offerings, previous),
        *region_lost(offerings, previous),
        *unmapped_gpu(offerings, previous),
    ]


def count_drop(offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Hard: far fewer offerings than on the last good night."""
    before, now = previous.height, offerings.height
    if before < limit("count_drop", "min_rows") or now >= before * limit("count_drop", "low"):
        return []
    return [one("count_drop", "offerings", f"{now} offerings, {before} on the last good night")]


def price_jump(pairs: pl.DataFrame) -> list[Found]:
    """Soft for each plan whose price moved by more than the stated factor; hard when many did.

    Prices compare in their own currency, so that a move of the exchange rate is none, and per GPU where the price of
    the instance is not known. Spot prices are made to move and do not count towards the hard finding.
    """
    factor = limit("price_jump", "high")
    ratio = pl.coalesce(_move(PRICE), _move(GPU_PRICE))
    compared = pairs.with_columns(ratio=ratio).filter(pl.col("ratio").is_finite())
    jumped = compared.filter((pl.col("ratio") > factor) | (pl.col("ratio") < 1 / factor))
    is_steady = pl.col("purchase") != "spot"
    return [
        *each("price_jump", jumped, _jump),
        *many(
            "price_jump",
            jumped.filter(is_steady).height,
            compared.filter(is_steady).height,
            subject="offerings",
            what=f"prices moved by more than {factor:g} times",
        ),
    ]


def _move(price: str) -> pl.Expr:
    """Returns a price of tonight over that of the last good night, both in their own currency."""
    now, before = (
        pl.col(f"{price}{night}").cast(pl.Float64) / pl.col(f"usd_per_currency{night}")
        for night in ("", "_before")
    )
    return now / before


def _jump(row: Mapping[str, Any]) -> str:
    """Returns the two prices that were compared, in words."""
    is_of_instance = row[PRICE] is not None and row[f"{PRICE}_before"] is not None
    price, per = (PRICE, "hour") if is_of_instance else (GPU_PRICE, "GPU-hour")
    return f"{row[f'{price}_before']} to {row[price]} USD per {per}"


def median_move(offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Hard: the prices as a whole moved, be it by less than a jump each, or under new names of plans."""
    same = ["provider", "gpu_text", "purchase", "term_months"]
    both = _medians(offerings, same).join(
        _medians(previous, same), on=same, nulls_equal=True, suffix="_before"
    )
    names, move = both.height, (both["median"] / both["median_before"]).median()
    if not isinstance(move, float) or names < limit("median_move", "min_rows"):
        return []
    if 1 / limit("median_move", "high") <= move <= limit("median_move", "high"):
        return []
    return [one("median_move", "offerings", f"{move:.3g} times the last good night, median of {names} names")]


def _medians(offerings: pl.DataFrame, same: list[str]) -> pl.DataFrame:
    """Returns the median price per GPU-hour in its own currency, of prices that are not made to move."""
    price = pl.col(GPU_PRICE).cast(pl.Float64) / pl.col("usd_per_currency")
    steady = offerings.filter(pl.col("purchase") != "spot", price.is_finite())
    return steady.group_by(same).agg(median=price.median())


def currency_change(pairs: pl.DataFrame, offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Hard: the same offering in another currency, or a provider none of whose currencies are those of before."""
    changed = pairs.filter(pl.col("currency") != pl.col("currency_before"))
    found = each(
        "currency_change", changed, lambda row: f"from {row['currency_before']} to {row['currency']}"
    )
    both = _currencies(offerings).join(_currencies(previous), on="provider", suffix="_before")
    is_other = pl.col("currency").list.set_intersection("currency_before").list.len() == 0
    other = both.filter(is_other).sort("provider")
    for provider, now, before in other.head(MOST_TOLD).iter_rows():
        found.append(one("currency_change", provider, f"from {'/'.join(before)} to {'/'.join(now)}"))
    return found + rest("currency_change", other.height, "providers")


def _currencies(offerings: pl.DataFrame) -> pl.DataFrame:
    known = offerings.filter(pl.col("currency").is_not_null())
    return known.group_by("provider").agg(pl.col("currency").unique().sort())


def region_lost(offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Soft: a region of the last good night that has no offering tonight. Hard: a large share of the regions.

    A region of which a source shows only what is free comes and goes with it, and does not count towards that.
    """
    place = ["provider", "region_text"]
    is_listed = ~pl.col("availability").is_in(["in_stock", "low"]).fill_null(value=False)
    before = (
        previous.filter(pl.col("region_text").is_not_null())
        .group_by(place)
        .agg(pl.len().alias("offers"), is_listed.any().alias("is_listed"))
    )
    lost = before.join(offerings.select(place).unique(), on=place, how="anti").sort(place)
    return [
        *(
            one("region_lost", f"{provider}: {region:.80}", f"{offers} offerings on the last good night")
            for provider, region, offers, _ in lost.head(MOST_TOLD).iter_rows()
        ),
        *rest("region_lost", lost.height, "regions"),
        *many(
            "region_lost",
            lost.filter("is_listed").height,
            before.filter("is_listed").height,
            subject="offerings",
            what="regions have no offering",
        ),
    ]


def unmapped_gpu(offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Soft: a GPU name that stands for no card we know, with what the source said of it.

    It is new where there was a last good night that did not have it.
    """
    name = ["provider", "gpu_text"]
    is_unmapped = pl.col("gpu_candidates").list.len() == 0
    known = previous.filter(is_unmapped).select(name).unique()
    tonight = offerings.filter(is_unmapped).sort(*name, "offering_id", nulls_last=True)
    new = tonight.join(known, on=name, how="anti") if previous.height else tonight.clear()
    return [*_told("new_unmapped_gpu", new), *_told("unmapped_gpu", tonight.join(new, on=name, how="anti"))]


def _told(rule: str, rows: pl.DataFrame) -> list[Found]:
    """Returns one finding for each name: how many offerings, and all that the source said of the first.

    Beyond MOST_TOLD names the rest is one finding.
    """
    name = ["provider", "gpu_text"]
    first = rows.with_columns(offers=pl.len().over(name)).unique(name, keep="first", maintain_order=True)
    found = []
    for row in first.head(MOST_TOLD).iter_rows(named=True):
        said = f"{row['offers']} offerings, such as {_said(row)}"
        found.append(one(rule, f"{row['provider']}: {row['gpu_text']!s:.80}", f"{said:.{LONGEST_DETAIL}}"))
    return found + rest(rule, first.height, "names")


def _said(row: dict[str, Any]) -> str:
    """Returns what a source said of one offering, part by part; what it did not say is left out."""
    facts = {
        "{plan:.80}": row["plan"],
        "{gpu_count:g} GPUs": row["gpu_count"],
        "{vram_gib:.4g} GiB each": row["vram_gib"],
        "{form_factor_text:.40}": row["form_factor_text"],
        "{vcpus:g} vCPUs": row["vcpus"],
        "{ram_gib:.5g} GiB of RAM": row["ram_gib"],
        "{price:f} {currency} per {price_per} and {price_unit}": row["price_listed"],
        "{purchase}": row["purchase"],
        "for {term_months} months": row["term_months"],
        "in {region_text:.40}": row["region_text"],
        "{availability_text:.40}": row["availability_text"],
        "{note:.120}": row["note"],
    }
    price = row["price_listed"] and row["price_listed"].normalize()
    return ", ".join(form.format(**row, price=price) for form, value in facts.items() if value is not None)
