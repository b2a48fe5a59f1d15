"""Looks at tonight's offerings of a source before they are published, and says what looks wrong.

A hard finding holds the source: its last good night stands until a person has looked. `quality_rule.csv` says for
each rule how bad it is and from where on. Here is what can be seen in one night; `quality_nights` has what is
seen against the last good night, `market` what is seen against other sources. That spot is not below on-demand,
counts and names that disagree, and places that are not known, are found where they are used, in `normalise`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.offers import quality_nights
from transforms.offers.market import price_outside_market_band
from transforms.offers.normalise import SPOT_GAP
from transforms.offers.quality_rules import GPU_PRICE, PRICE, Found, each, limit, many, one
from transforms.offers.schema import FINDING, MARKET, PAGE_COUNT

SHOWN = 3
# Words of a commitment, once words of its absence are taken out.
NOT_COMMITTED = r"(?i)\b(?:no|non|not|without|un)\b[- ]?[^.,;|]{0,20}?\b(?:commit|reserv|term)\w*"
COMMITTED = (
    r"(?i)\breserv|\bcommit|\b(?:12|24|36)[- ]?months?\b|\b(?:1|2|3|one|two|three)[- ]?years?\b|\bas low as\b"
)


def quality(
    offerings: pl.DataFrame,
    rejects: pl.DataFrame,
    previous_offerings: pl.DataFrame,
    *,
    source_id: str,
    market: pl.DataFrame | None = None,
    page_counts: pl.DataFrame | None = None,
    min_listings: int = 0,
) -> pl.DataFrame:
    """Returns the FINDING rows of one source.

    Args:
        offerings: OFFERING rows of tonight.
        rejects: REJECT rows of tonight.
        previous_offerings: OFFERING rows of the source's last good night; empty when there was none.
        source_id: the source that all these rows come from.
        market: MARKET rows of any sources; those of this source are passed over. None: nothing is known of others.
        page_counts: PAGE_COUNT rows of tonight. None: no list declares its total.
        min_listings: fewest listings that the source always has.
    """
    found = [
        *row_floor(offerings.height + rejects.height, min_listings),
        *page_short(PAGE_COUNT.to_frame() if page_counts is None else page_counts),
        *quality_nights.findings(offerings, previous_offerings),
        *price_outside_market_band(offerings, MARKET.to_frame() if market is None else market),
        *key_duplicates(offerings, rejects),
        *eight_gpu_price_equals_one(offerings),
        *price_equals_count(offerings),
        *spot_not_below_on_demand(offerings),
        *committed_in_on_demand(offerings),
    ]
    rows = [(source_id, *finding) for finding in found]
    return pl.DataFrame(rows, schema=FINDING, orient="row").sort(FINDING.names())


def row_floor(listings: int, min_listings: int) -> list[Found]:
    """Hard: fewer listings than the source always has, as in an outage that looks like a quiet day."""
    if listings >= min_listings:
        return []
    return [one("row_floor", "listings", f"{listings} listings, where at least {min_listings} are usual")]


def page_short(page_counts: pl.DataFrame) -> list[Found]:
    """Hard: the pages of a list have fewer rows than it declares in all."""
    lists = page_counts.group_by("list_name").agg(pl.col("declared").max(), pl.col("rows").sum())
    short = lists.filter(pl.col("rows") < pl.col("declared") * limit("page_short", "low")).sort("list_name")
    return [
        one("page_short", f"{name:.80}", f"{rows} rows on its pages, {declared} declared")
        for name, declared, rows in short.iter_rows()
    ]


def key_duplicates(offerings: pl.DataFrame, rejects: pl.DataFrame) -> list[Found]:
    """Soft: listings with the identity of another one. Hard: so many that pages must have been read twice."""
    twice = rejects.filter(pl.col("reason") == "duplicate").sort("plan", "place")
    if twice.is_empty():
        return []
    plans = twice["plan"].unique(maintain_order=True).head(SHOWN).fill_null("?").to_list()
    return [
        one(
            "key_duplicates",
            "listings",
            f"{twice.height} listings say the same, such as {', '.join(plans)}",
        ),
        *many(
            "key_duplicates",
            twice.height,
            offerings.height + rejects.height,
            subject="listings",
            what="listings have the identity of another one",
        ),
    ]


def eight_gpu_price_equals_one(offerings: pl.DataFrame) -> list[Found]:
    """Soft: a plan of eight costs what the plan of one costs, so a price per GPU was read as one per instance."""
    same = ["provider", "origin", "gpu_text", "purchase", "term_months", "region_text"]
    priced = offerings.filter(pl.col(PRICE).is_not_null())
    ones = priced.filter(pl.col("gpu_count") == 1).group_by(*same, PRICE).agg(one_plan=pl.col("plan").min())
    eights = priced.filter(pl.col("gpu_count") == 8).join(ones, on=same, how="semi", nulls_equal=True)
    wrong = eights.join(ones, on=[*same, PRICE], nulls_equal=True)
    return [
        *each(
            "eight_gpu_price_equals_one",
            wrong,
            lambda row: f"8 GPUs cost the {row[PRICE]} USD of one ({row['one_plan']})",
        ),
        *many(
            "eight_gpu_price_equals_one",
            wrong.height,
            eights.height,
            subject="offerings",
            what="plans of eight GPUs cost what one costs",
        ),
    ]


def price_equals_count(offerings: pl.DataFrame) -> list[Found]:
    """Soft: the listed price is the number of GPUs, as when a column was read one too far.

    Hard only where it is so for more than one GPU: all plans of one that costs 1 an hour look like that.
    """
    compared = offerings.filter(
        pl.col("gpu_count") >= 2, pl.col("price_state") == "priced", pl.col("price_listed").is_not_null()
    )
    odd = compared.filter(pl.col("price_listed").cast(pl.Float64) == pl.col("gpu_count"))
    found = each("price_equals_count", odd, lambda row: f"price and GPU count are both {row['gpu_count']:g}")
    if odd["gpu_candidates"].list.join("|").n_unique() < 2:
        return found
    return found + many(
        "price_equals_count",
        odd.height,
        compared.height,
        subject="offerings",
        what="prices are the number of GPUs",
    )


def spot_not_below_on_demand(offerings: pl.DataFrame) -> list[Found]:
    """Hard: most spot offers cost no less than on-demand, as where the columns are swapped. `normalise` names each."""
    spot = offerings.filter(pl.col("purchase") == "spot", pl.col("price_listed").is_not_null())
    dear = spot.filter(pl.col("price_gap") == SPOT_GAP).height
    return many(
        "spot_not_below_on_demand",
        dear,
        spot.height,
        subject="spot offerings",
        what="spot prices are not below on-demand",
    )


def committed_in_on_demand(offerings: pl.DataFrame) -> list[Found]:
    """Soft: an on-demand price that is one of a commitment, by its words or its amount. Hard: most of them are.

    By its amount it is where the cheapest commitment of the same plan and region, paid by the hour, costs no less.
    Words beside the name of the plan may speak of another price, and do not count towards the hard finding.
    """
    on_demand = _beside_commitments(offerings).with_columns(
        named=_words_of_commitment("product", "plan"),
        words=_words_of_commitment("product", "plan", "availability_text", "note"),
        is_no_dearer=pl.any_horizontal(_no_dearer(PRICE), _no_dearer(GPU_PRICE)).fill_null(value=False),
    )
    wrong = on_demand.filter(pl.col("words").is_not_null() | pl.col("is_no_dearer"))
    return [
        *each("committed_in_on_demand", wrong, _commitment),
        *many(
            "committed_in_on_demand",
            wrong.filter(pl.col("named").is_not_null() | pl.col("is_no_dearer")).height,
            on_demand.height,
            subject="offerings",
            what="on-demand prices are those of a commitment",
        ),
    ]


def _beside_commitments(offerings: pl.DataFrame) -> pl.DataFrame:
    """Returns the priced on-demand offers with the lowest prices of a commitment of the same plan and region."""
    priced = offerings.filter(
        pl.col("price_state") == "priced", pl.any_horizontal(pl.col(PRICE, GPU_PRICE).is_not_null())
    )
    same = ["provider", "origin", "segment", "plan", "gpu_text", "gpu_count", "region_text", "zone_text"]
    committed = (
        priced.filter(pl.col("purchase") == "reserved", pl.col("upfront_listed").fill_null(0) == 0)
        .group_by(same)
        .agg(pl.col(PRICE, GPU_PRICE).min().name.suffix("_committed"))
    )
    return priced.filter(pl.col("purchase") == "on_demand").join(
        committed, on=same, how="left", nulls_equal=True
    )


def _no_dearer(price: str) -> pl.Expr:
    return pl.col(price) <= pl.col(f"{price}_committed")


def _words_of_commitment(*columns: str) -> pl.Expr:
    texts = pl.concat_str(*columns, separator=" | ", ignore_nulls=True)
    return texts.str.replace_all(NOT_COMMITTED, "").str.extract(f"({COMMITTED})")


def _commitment(row: Mapping[str, Any]) -> str:
    """Returns why an on-demand price is one of a commitment, in words."""
    if row["words"]:
        return f"it says {row['words']!r}"
    price, per = (PRICE, "hour") if row[PRICE] is not None else (GPU_PRICE, "GPU-hour")
    return f"{row[price]} USD per {per}, {row[f'{price}_committed']} with a commitment"
