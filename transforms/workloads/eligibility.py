"""May an offer be considered for a job at all? The tests that need neither its memory nor its speed.

A test that cannot be decided because a fact is missing counts as failed and as unknown, never as passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import TypeVar

import polars as pl

from transforms.reference.tables import assumption

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
RATIO_DIGITS = 9
BUNDLED_SOURCE = "list_prices"


def _nothing(dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
    return pl.lit(None, dtype)


@dataclass(frozen=True, slots=True)
class Rule:
    """One test of an offer or a layout. `passes` is null where a missing fact leaves it open.

    `margin_ratio` says how far a failure is off: 0.1 is ten per cent. A user filter is a wish of the user that
    says nothing about whether the offer could do the job.
    """

    reason: pl.Expr
    passes: pl.Expr
    margin_ratio: pl.Expr = field(default_factory=lambda: _nothing(pl.Float64))
    detail: pl.Expr = field(default_factory=lambda: _nothing(pl.String))
    is_user_filter: bool = False


def judge(frame: Frame, rules: Iterable[Rule]) -> Frame:
    """Returns the frame with the number of failed rules, and what the first failed one says.

    Adds `failed_rules`, `reason`, `detail`, `margin_ratio`, `is_unknown` and `is_user_filter`.
    """
    rules = tuple(rules)
    names = [f"_passes_{i}" for i in range(len(rules))]
    tried = frame.with_columns(rule.passes.alias(name) for name, rule in zip(names, rules, strict=True))
    failed = [~pl.col(name).fill_null(False) for name in names]

    margins = [rule.margin_ratio.cast(pl.Float64).round(RATIO_DIGITS) for rule in rules]

    def of_first_failed(values: Iterable[pl.Expr], otherwise: pl.Expr) -> pl.Expr:
        chain = otherwise
        for is_failed, of_rule in reversed(list(zip(failed, values, strict=True))):
            chain = pl.when(is_failed).then(of_rule).otherwise(chain)
        return chain

    return tried.with_columns(
        failed_rules=pl.sum_horizontal(one.cast(pl.Int32) for one in failed),
        reason=of_first_failed([rule.reason for rule in rules], _nothing(pl.String)),
        detail=of_first_failed([rule.detail for rule in rules], _nothing(pl.String)),
        margin_ratio=of_first_failed(margins, _nothing(pl.Float64)),
        is_unknown=of_first_failed([pl.col(name).is_null() for name in names], pl.lit(False)),
        is_user_filter=of_first_failed([pl.lit(rule.is_user_filter) for rule in rules], pl.lit(False)),
    ).drop(names)


def offer_rules(night: date, has_live_price: bool) -> tuple[Rule, ...]:
    """Returns the tests of an offer beside a job, in the order in which the first failure is the reason."""
    return (*_wish_rules(), *_price_rules(night, has_live_price), *_hardware_rules())


def _wish_rules() -> tuple[Rule, ...]:
    purchase, increment = pl.col("purchase"), pl.col("billing_increment_s")
    limit_s = pl.col("max_billing_increment_s")
    is_unsafe = (purchase == "spot") & (pl.col("kind") == "job") & pl.col("checkpoint_interval_min").is_null()
    return (
        Rule(pl.lit("purchase_kind"), pl.col("purchase_kinds").list.contains(purchase), detail=purchase),
        Rule(pl.lit("checkpoint"), ~is_unsafe),
        Rule(
            pl.lit("term"),
            pl.when((purchase != "reserved") | pl.col("term_months").is_not_null()).then(True),
        ),
        Rule(
            pl.lit("hosts"),
            (pl.col("hosts_allowed") == "any") | (pl.col("segment") != "peer_host"),
            detail=pl.col("segment"),
            is_user_filter=True,
        ),
        Rule(pl.lit("region"), _in_region(), detail=pl.col("region_key"), is_user_filter=True),
        Rule(
            pl.lit("billing_increment"),
            limit_s.is_null() | (increment <= limit_s),
            margin_ratio=increment / limit_s - 1,
            detail=pl.format("{} s", increment),
            is_user_filter=True,
        ),
    )


def _in_region() -> pl.Expr:
    """Returns whether the offer lies in the region of the job: eu, a continent, a country or a region key."""
    wish = pl.col("region")
    place = (pl.col("continent") == wish) | (pl.col("country") == wish) | (pl.col("region_key") == wish)
    return (
        pl.when(wish.is_null())
        .then(True)
        .when(wish == "eu")
        .then(pl.col("is_eu"))
        .when(pl.col("continent").is_null() & pl.col("country").is_null() & pl.col("region_key").is_null())
        .then(None)
        .otherwise(place.fill_null(False))
    )


def _price_rules(night: date, has_live_price: bool) -> tuple[Rule, ...]:
    state, age_days = pl.col("price_state"), price_age_days(night)
    limit_days = assumption("price_age_leaves_ranking_days")
    is_exempt = pl.lit(not has_live_price) & (pl.col("source_id") == BUNDLED_SOURCE)
    return (
        Rule(
            pl.lit("price_state"),
            pl.when(state != "contact_sales").then(state == "priced"),
            detail=state,
        ),
        Rule(
            pl.lit("price"),
            pl.when(pl.col("price_usd_per_instance_hour").is_not_null()).then(True),
            detail=pl.col("price_gap"),
        ),
        Rule(
            pl.lit("price_age"),
            is_exempt | (age_days <= limit_days),
            margin_ratio=age_days / limit_days - 1,
        ),
        Rule(pl.lit("availability"), pl.col("availability").ne_missing("out_of_stock")),
    )


def price_age_days(night: date) -> pl.Expr:
    """Returns the age of the price in days on `night`; null where its date is unknown."""
    return (pl.lit(night) - pl.col("price_date")).dt.total_days()


def _hardware_rules() -> tuple[Rule, ...]:
    gpus = pl.col("gpu_count")
    return (
        Rule(
            pl.lit("gpu"),
            pl.when(pl.col("hardware_id").is_not_null() & (gpus > 0)).then(True),
            detail=pl.col("gpu_text"),
        ),
        Rule(
            pl.lit("max_gpus"),
            pl.col("max_gpus").is_null() | (gpus <= pl.col("max_gpus")),
            margin_ratio=gpus / pl.col("max_gpus") - 1,
        ),
    )
