"""Listings to offerings: every listing becomes exactly one offering, or one reject with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import get_args

import polars as pl

from scrapers.contract import Availability, Evidence, PriceState, PurchaseKind, Segment
from transforms.offers.bill import with_bill, with_interruptions, with_provider_facts, with_stock
from transforms.offers.extras import with_extras
from transforms.offers.hardware import said, with_gpus, with_link, with_quantities
from transforms.offers.listings import longest_text
from transforms.offers.money import hours_of_unit, money, usd_per_currency, with_usd_prices
from transforms.offers.regions import region_frame
from transforms.offers.schema import EXTRA, FINDING, INTERRUPTION, LISTING, OFFERING, REJECT, STOCK
from transforms.reference.tables import assumption

IDENTITY = (
    "provider",
    "origin",
    "product",
    "listed_segment",
    "plan",
    "gpu_text",
    "listed_count",
    "listed_gib",
    "region_text",
    "zone_text",
    "purchase",
    "term_months",
    "upfront_kind",
    "future_from",
)
# Which of several listings of one offer stands for it: a price before a lower bound before no price.
STATE_ORDER = {"priced": 0, "future": 0, "bid_floor": 1, "from_price": 2, "contact_sales": 3}
# The rate that is billed before what it sums up to in a longer time.
UNIT_ORDER = {"second": 0, "minute": 0, "hour": 0, "day": 1, "month": 2, "year": 3, "term": 4}
DATED_BY_FETCH = ("live", "mirror", "derived")
SPOT_GAP = "spot price is not below on-demand"


TERMS = ("billing_increment_s", "billing_minimum_s", "term_months")
CODES = {
    "price_per": ["gpu", "instance"],
    "price_state": list(get_args(PriceState)),
    "purchase": list(get_args(PurchaseKind)),
    "availability": list(get_args(Availability)),
    "segment": list(get_args(Segment)),
    "evidence": list(get_args(Evidence)),
}


@dataclass(frozen=True, slots=True)
class Normalised:
    """What became of the listings: OFFERING, REJECT and FINDING rows, sorted."""

    offerings: pl.DataFrame
    rejects: pl.DataFrame
    findings: pl.DataFrame


def normalise(
    listings: pl.DataFrame,
    stock: pl.DataFrame,
    interruptions: pl.DataFrame,
    *,
    rates: pl.DataFrame,
    night: date,
    segments: Mapping[str, str | None],
    extras: pl.DataFrame | None = None,
) -> Normalised:
    """Returns one offering or one reject for every listing.

    Args:
        listings: LISTING rows of any number of sources.
        stock: STOCK rows, joined by provider, plan, region and purchase kind.
        interruptions: INTERRUPTION rows, joined to spot offers by provider, plan and region.
        rates: RATE rows; a currency without a rate keeps its offers, without a USD price.
        night: the logical date; rates fixed later are not used.
        segments: the segment of each source id, for listings that do not state their own; None for a source
            without one.
        extras: EXTRA rows, joined by provider and place; what a listing says of its own storage goes before them.
    """
    rows = listings.select(LISTING.names()).match_to_schema(LISTING)
    rows = with_long_text(rows)
    rows = with_quantities(rows)
    rows = with_gpus(rows)
    rows = with_link(rows)
    rows = with_provider_facts(rows)
    rows = with_places(rows)
    conversions = usd_per_currency(rates, night)
    rows = with_usd_prices(rows, conversions)
    rows = with_extras(rows, EXTRA.to_frame() if extras is None else extras, conversions)
    rows = with_bill(rows)
    rows = with_stock(rows, stock.select(STOCK.names()).match_to_schema(STOCK))
    rows = with_interruptions(rows, interruptions.select(INTERRUPTION.names()))
    rows = with_provenance(rows, night, segments)
    rows = with_identity(rows)
    rows = with_reason(rows)
    rows = with_spot_check(rows)
    kept = rows.filter(pl.col("reason").is_null())
    return Normalised(
        offerings=as_offerings(kept),
        rejects=as_rejects(rows.filter(pl.col("reason").is_not_null())),
        findings=findings_of(kept),
    )


def with_long_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with `long_text`: the first text of a listing that is too long, in words; null where none is."""
    texts = (name for name, kind in LISTING.items() if kind == pl.String)
    return rows.with_columns(
        long_text=pl.coalesce(
            pl.when(pl.col(name).str.len_chars() > longest_text(name)).then(
                pl.lit(f"{name} has more than {longest_text(name)} characters")
            )
            for name in texts
        )
    )


def with_places(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with region key, country, continent and EU membership of their region, or of their zone."""
    asked = rows.with_columns(place_text=pl.coalesce(said("region_text"), said("zone_text")))
    keys = ["provider", "origin", "place_text"]
    return asked.join(region_frame(asked), on=keys, how="left", nulls_equal=True)


def with_provenance(rows: pl.DataFrame, night: date, segments: Mapping[str, str | None]) -> pl.DataFrame:
    """Returns the rows with their segment, the day of their price, and the state of a price that is yet to come.

    What was read today is of today; a list or a page that somebody wrote down once, without a date, has no day.
    """
    source_segment = pl.col("source_id").replace_strict(dict(segments), default=None, return_dtype=pl.String)
    is_to_come = (pl.col("price_state") != "contact_sales") & (pl.col("valid_from") > night)
    fetch_day = pl.when(pl.col("evidence").is_in(DATED_BY_FETCH)).then(pl.col("fetched_at").dt.date())
    return rows.with_columns(
        listed_segment=pl.col("segment"),
        segment=pl.coalesce("segment", source_segment, "provider_segment"),
        price_date=pl.coalesce("as_of", fetch_day),
        price_state=pl.when(is_to_come).then(pl.lit("future")).otherwise("price_state"),
    )


def with_identity(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with `offering_id`: what is sold and how, without what it costs.

    The day from which a price holds is part of it only while that day is to come, so that a future price stands
    beside the current one. On the day it takes effect the listing has the id of the current price: the offer goes
    on under its id with the new price, and the id of the future price is no longer seen.
    """
    has_upfront = pl.col("upfront_number") > 0
    kind = (
        pl.when(has_upfront & (pl.col("price_number") == 0))
        .then(pl.lit("all"))
        .when(has_upfront)
        .then(pl.lit("part"))
        .otherwise(pl.lit("none"))
    )
    start = pl.col("valid_from").dt.to_string("%Y-%m-%d").fill_null("a day not stated")
    identified = rows.with_columns(
        listed_gib=pl.col("memory_as_sold").round(0),
        upfront_kind=kind,
        future_from=pl.when(pl.col("price_state") == "future").then(start),
    )
    identities = identified.select(pl.struct(IDENTITY).struct.json_encode()).to_series()
    ids = [hashlib.sha256(identity.encode()).hexdigest()[:16] for identity in identities]
    return identified.with_columns(pl.Series("offering_id", ids, pl.String))


def with_reason(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the reason and detail of a reject; both null for what becomes an offering.

    Of listings with the same identity in one source one is kept and the others are duplicates. A price goes before
    a lower bound, and that before none; then what was read live, then the newest; then what took effect last; then
    the shorter unit of time; then what can be had before what is sold out; then the cheaper.
    """
    judged = rows.with_columns(reason=_reason()).with_columns(detail=_detail())
    is_shared = pl.len().over("source_id", "offering_id") > 1
    days_before = (
        pl.when(pl.col("evidence") != "live").then(-pl.col("as_of").dt.epoch("d")).otherwise(-(10**9))
    )
    order: list[str | pl.Expr] = [
        pl.col("reason").is_not_null(),
        "source_id",
        "offering_id",
        pl.col("price_state").replace_strict(STATE_ORDER, default=None),
        pl.col("usd_per_instance_hour").is_null() & pl.col("usd_per_gpu_hour").is_null(),
        days_before,
        -pl.col("valid_from").dt.epoch("d"),
        pl.col("price_unit").replace_strict(UNIT_ORDER, default=None),
        pl.col("availability") == "out_of_stock",
        "usd_per_instance_hour",
        "price_number",
    ]
    shared = judged.filter(is_shared).sort(*order, *LISTING, nulls_last=True)
    place = pl.col("place").first().over("source_id", "offering_id")
    is_again = pl.col("reason").is_null() & (pl.int_range(pl.len()).over("source_id", "offering_id") > 0)
    shared = shared.with_columns(
        detail=pl.when(is_again).then(pl.lit("same offer as at ") + place).otherwise("detail"),
        reason=pl.when(is_again).then(pl.lit("duplicate")).otherwise("reason"),
    )
    return pl.concat([judged.filter(~is_shared), shared])


def _reason() -> pl.Expr:
    price, is_quote = pl.col("price_number"), pl.col("price_state") == "contact_sales"
    all_upfront = (price == 0) & (pl.col("upfront_number") > 0).fill_null(value=False)
    usd = pl.coalesce("usd_per_gpu_hour", "usd_per_instance_hour")
    low, high = assumption("price_min_usd_per_gpu_hour"), assumption("price_max_usd_per_gpu_hour")
    count = pl.col("listed_count")
    is_count = count.is_finite() & (count > 0) & (count <= assumption("gpu_count_max"))
    return (
        pl.when(pl.col("long_text").is_not_null())
        .then(pl.lit("text_too_long"))
        .when(_unknown_code().is_not_null())
        .then(pl.lit("code_unknown"))
        .when(~is_count.fill_null(value=True))
        .then(pl.lit("gpu_count_out_of_bounds"))
        .when(pl.any_horizontal(pl.col(name) < 0 for name in TERMS))
        .then(pl.lit("terms_out_of_bounds"))
        .when(is_quote)
        .then(None)
        .when(pl.col("price").is_null())
        .then(pl.lit("price_missing"))
        .when(price.is_null() | ~price.is_finite())
        .then(pl.lit("price_unreadable"))
        .when((price <= 0) & ~all_upfront)
        .then(pl.lit("price_zero"))
        .when(hours_of_unit().is_null())
        .then(pl.lit("price_unit_unknown"))
        .when((usd < low) | (usd > high) | usd.is_nan())
        .then(pl.lit("price_out_of_bounds"))
    )


def _unknown_code() -> pl.Expr:
    """Returns what stands in a column of codes and is none of them; null where all are known."""
    return pl.coalesce(
        pl.when(pl.col(name).is_not_null() & ~pl.col(name).is_in(known)).then(
            pl.format("{} {}", pl.lit(name), pl.col(name).str.slice(0, 40))
        )
        for name, known in CODES.items()
    )


def _detail() -> pl.Expr:
    low, high = assumption("price_min_usd_per_gpu_hour"), assumption("price_max_usd_per_gpu_hour")
    usd = pl.coalesce("usd_per_gpu_hour", "usd_per_instance_hour")
    reason, cell = pl.col("reason"), pl.col("availability_text").str.slice(0, 40)
    return (
        pl.when((reason == "price_missing") & cell.is_not_null())
        .then(pl.format("no price; the cell says {}", cell))
        .when((reason == "price_missing") & pl.col("note").is_not_null())
        .then(pl.format("no price; {}", pl.col("note").str.slice(0, 80)))
        .when(reason == "price_missing")
        .then(pl.lit("the listing has no price and does not say why"))
        .when(reason == "price_zero")
        .then(pl.lit("0 is not a price"))
        .when(reason == "price_unreadable")
        .then(pl.lit("not a number: ") + pl.col("price").str.slice(0, 40))
        .when(reason == "price_unit_unknown")
        .then(pl.format("{} without a known length", pl.col("price_unit").fill_null("no unit")))
        .when(reason == "price_out_of_bounds")
        .then(pl.format("{} USD per GPU-hour is outside {} to {}", usd, pl.lit(low), pl.lit(high)))
        .when(reason == "text_too_long")
        .then(pl.col("long_text"))
        .when(reason == "code_unknown")
        .then(_unknown_code())
        .when(reason == "gpu_count_out_of_bounds")
        .then(pl.format("{} GPUs", pl.col("listed_count")))
        .when(reason == "terms_out_of_bounds")
        .then(pl.lit("a billing step, a minimum or a term is below zero"))
    )


def with_spot_check(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows, spot offers that are not below on-demand of the same plan and region without a USD price."""
    same = [
        "source_id",
        "provider",
        "origin",
        "listed_segment",
        "plan",
        "gpu_text",
        "listed_count",
        "listed_gib",
        "place_key",
    ]
    usable = pl.col("reason").is_null() & (pl.col("price_state") == "priced")
    on_demand = (
        rows.filter(usable, pl.col("purchase") == "on_demand", pl.col("usd_per_instance_hour").is_not_null())
        .group_by(same)
        .agg(on_demand_usd=pl.col("usd_per_instance_hour").min())
    )
    joined = rows.join(on_demand, on=same, how="left", nulls_equal=True)
    is_dear = (
        (pl.col("purchase") == "spot") & usable & (pl.col("usd_per_instance_hour") >= pl.col("on_demand_usd"))
    ).fill_null(value=False)
    return joined.with_columns(
        is_dear_spot=is_dear,
        spot_usd=pl.col("usd_per_instance_hour"),
        price_gap=pl.when(is_dear).then(pl.lit(SPOT_GAP)).otherwise("price_gap"),
        usd_per_instance_hour=pl.when(~is_dear).then("usd_per_instance_hour"),
        usd_per_gpu_hour=pl.when(~is_dear).then("usd_per_gpu_hour"),
    )


def as_offerings(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows as OFFERING, sorted by source, provider and offering id."""
    is_quote = pl.col("price_state") == "contact_sales"
    exact = pl.Decimal(24, 10)
    return (
        rows.with_columns(
            price_listed=pl.when(~is_quote).then(pl.col("price").cast(exact, strict=False)),
            upfront_listed=pl.col("upfront").cast(exact, strict=False),
            regular_price_listed=pl.col("regular_price").cast(exact, strict=False),
            price_usd_per_gpu_hour=pl.when(~is_quote).then(money("usd_per_gpu_hour")),
            price_usd_per_instance_hour=pl.when(~is_quote).then(money("usd_per_instance_hour")),
            upfront_usd=money("upfront_usd"),
        )
        .select(OFFERING.names())
        .match_to_schema(OFFERING)
        .sort("source_id", "provider", "offering_id", nulls_last=True)
    )


def as_rejects(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows as REJECT, sorted."""
    return rows.select(REJECT.names()).match_to_schema(REJECT).sort(REJECT.names(), nulls_last=True)


def findings_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns what a person should look at.

    These are counts and GPUs that disagree, spot that is not cheaper, and places that are not known.
    """
    found = pl.concat(
        [_count_conflicts(rows), _name_conflicts(rows), _dear_spots(rows), _unknown_places(rows)]
    )
    soft = found.with_columns(is_hard=pl.lit(value=False))
    return (
        soft.select(FINDING.names()).match_to_schema(FINDING).unique().sort(FINDING.names(), nulls_last=True)
    )


def _plan_of_provider() -> pl.Expr:
    return pl.concat_str(pl.col("provider"), pl.col("plan"), separator=": ", ignore_nulls=True)


def _count_conflicts(rows: pl.DataFrame) -> pl.DataFrame:
    differs = (pl.col("listed_count") >= 1) & (pl.col("listed_count") != pl.col("match_count"))
    return rows.filter(differs).select(
        "source_id",
        rule=pl.lit("gpu_count_conflict"),
        subject=_plan_of_provider(),
        detail=pl.format(
            "the listing says {}, the name {} says {}", "listed_count", "gpu_text", "match_count"
        ),
    )


def _name_conflicts(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("contradicted").list.len() > 0).select(
        "source_id",
        rule=pl.lit("gpu_name_conflict"),
        subject=_plan_of_provider(),
        detail=pl.format(
            "the name {} says {}, the plan says {} and is believed",
            "gpu_text",
            pl.col("contradicted").list.join("|"),
            pl.col("gpu_candidates").list.join("|"),
        ),
    )


def _dear_spots(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter("is_dear_spot").select(
        "source_id",
        rule=pl.lit("spot_not_below_on_demand"),
        subject=_plan_of_provider() + pl.lit(" @ ") + pl.col("region_text").fill_null("no region"),
        detail=pl.format(
            "spot {} USD/h, on-demand {} USD/h", pl.col("spot_usd").round(6), pl.col("on_demand_usd").round(6)
        ),
    )


def _unknown_places(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("place_text").is_not_null(), ~pl.col("region_is_known")).select(
        "source_id",
        rule=pl.lit("region_unknown"),
        subject=pl.concat_str("provider", "place_text", separator=": ", ignore_nulls=True),
        detail=pl.lit("this region spelling has no place in region.csv"),
    )
