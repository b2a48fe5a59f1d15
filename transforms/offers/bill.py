"""What the bill depends on beside the price: billing steps, storage, traffic, stock and interruptions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import polars as pl

from transforms.offers.hardware import number
from transforms.offers.regions import place_key, region_frame
from transforms.reference.tables import assumption, read

SPOT_PRODUCT = re.compile(r"spot|preempt|interruptible|bid|low_batch")
RESERVED_PRODUCT = re.compile(r"reserv|saving|commit|contract")
WINDOW_PRODUCT = re.compile(r"capacity_block|calendar")
FACTS = pl.Schema(
    {
        "provider_segment": pl.String,
        "provider_increment_s": pl.Int32,
        "provider_minimum_s": pl.Int32,
        "monthly_cap_hours": pl.Float64,
        "provider_storage": pl.Float64,
        "provider_egress": pl.Float64,
        "egress_free_gb_per_month": pl.Float64,
        "provider_ingress": pl.Float64,
        "is_startup_billed": pl.Boolean,
        "spot_notice_s": pl.Float64,
        "facts_of": pl.String,
    }
)
PRODUCT_KEY = ("provider", "product", "purchase")


def product_kind(product: str) -> str:
    """Returns the purchase kind that a product of provider.csv stands for, by its name.

    A booked window ("window") has terms of its own, which are not those of a commitment.
    """
    if WINDOW_PRODUCT.search(product):
        return "window"
    if SPOT_PRODUCT.search(product):
        return "spot"
    return "reserved" if RESERVED_PRODUCT.search(product) else "on_demand"


@lru_cache
def _products() -> dict[str, dict[str, dict[str, Any]]]:
    """Returns the rows of provider.csv by provider and product, in their order."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for row in read("provider").iter_rows(named=True):
        table.setdefault(row["provider"], {})[row["product"]] = row
    return table


def product_row(provider: str | None, product: str | None, purchase: str | None) -> dict[str, Any] | None:
    """Returns the row of provider.csv that holds for an offer.

    It is the named product, else the provider's first product of that purchase kind, else its first on-demand
    product. None when the provider is not known or sells nothing alike.
    """
    products = _products().get(provider or "", {})
    if product in products:
        return products[product or ""]
    for kind in (purchase, "on_demand"):
        for name, row in products.items():
            if product_kind(name) == kind:
                return row
    return None


def with_provider_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with what provider.csv states of their product. What it does not state is null."""
    keys = rows.select(PRODUCT_KEY).unique(maintain_order=True)
    facts = [_facts(product_row(*key), key[2]) for key in keys.iter_rows()]
    table = pl.DataFrame(facts, schema=FACTS, orient="row")
    return rows.join(pl.concat([keys, table], how="horizontal"), on=PRODUCT_KEY, how="left", nulls_equal=True)


def _facts(row: dict[str, Any] | None, purchase: str | None) -> tuple[Any, ...]:
    if row is None:
        return (None,) * len(FACTS)
    return (
        row["segment"],
        _steps(row["billing_increment_s"]),
        _steps(row["billing_minimum_s"]),
        row["monthly_cap_hours"],
        row["storage_usd_per_gb_month"],
        row["egress_usd_per_gb_first_tier"],
        row["egress_free_gb_per_month"],
        _leading_number(row["ingress_fee"]),
        {"yes": True, "no": False}.get(row["startup_billed"]),
        row["spot_notice_s"] if purchase == "spot" else None,
        f"facts of {row['as_of']}",
    )


def _steps(seconds: float | None) -> int | None:
    """Returns whole seconds, rounded up: an increment of a millisecond counts as one second."""
    return None if seconds is None else -int(-seconds // 1)


def _leading_number(text: Any) -> float | None:
    found = re.match(r"\d+(?:\.\d+)?", str(text or ""))
    return float(found[0]) if found else None


def with_bill(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the terms of the bill.

    What the listing says goes before what the source bills beside its machines, and that before what provider.csv
    states.
    """
    usd = pl.col("usd_per_currency")
    egress_told = pl.col("egress_price_per_gb").is_not_null()
    return rows.with_columns(
        billing_increment_s=pl.coalesce("billing_increment_s", "provider_increment_s"),
        billing_minimum_s=pl.coalesce("billing_minimum_s", "provider_minimum_s"),
        storage_usd_per_gb_month=pl.coalesce(
            number("storage_price_per_gb_month") * usd, "extra_storage", "provider_storage"
        ),
        egress_usd_per_gb=pl.coalesce(number("egress_price_per_gb") * usd, "extra_egress", "provider_egress"),
        egress_free_gb_per_month=pl.when(egress_told)
        .then(None)
        .when(pl.col("extra_egress").is_not_null())
        .then("extra_free_gb")
        .otherwise("egress_free_gb_per_month"),
        ingress_usd_per_gb=pl.coalesce(
            number("ingress_price_per_gb") * usd, "extra_ingress", "provider_ingress"
        ),
        storage_source=_told_by("storage_price_per_gb_month", "extra_storage", "provider_storage"),
        egress_source=_told_by("egress_price_per_gb", "extra_egress", "provider_egress"),
    )


def _told_by(listed: str, extra: str, fact: str) -> pl.Expr:
    """Returns who says what a thing costs: the offer, the provider beside its offers, or our facts with their date."""
    return (
        pl.when((number(listed) * pl.col("usd_per_currency")).is_not_null())
        .then(pl.lit("offer"))
        .when(pl.col(extra).is_not_null())
        .then(pl.lit("provider"))
        .when(pl.col(fact).is_not_null())
        .then("facts_of")
    )


def with_stock(rows: pl.DataFrame, stock: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the availability that an endpoint apart from the prices gave.

    It is used where the listing itself does not know. The answer for this region and purchase kind goes before
    one for all kinds, and that before one for all regions. A listing without a region takes the answers for all
    regions together.
    """
    told = rows.join(_stock_of_regions(rows, stock), on=["provider", "plan", "purchase"], how="left")
    levels = (("region_text", "purchase"), ("region_text",), ("purchase",), ())
    for level, given in enumerate(levels):
        keys = ["provider", "plan", *given]
        others = [name for name in ("region_text", "purchase") if name not in given]
        answers = (
            stock.filter(
                *(pl.col(name).is_not_null() for name in given), *(pl.col(name).is_null() for name in others)
            )
            .sort(pl.all())
            .unique(subset=keys, keep="first", maintain_order=True)
            .select(
                *keys,
                pl.col("availability").alias(f"stock_{level}"),
                pl.col("availability_text").alias(f"word_{level}"),
            )
        )
        told = told.join(answers, on=keys, how="left")
    names_no_place = pl.col("region_text").is_null() & pl.col("zone_text").is_null()
    anywhere, where = (pl.when(names_no_place).then(name) for name in ("stock_anywhere", "word_anywhere"))
    answer = pl.coalesce(*(f"stock_{level}" for level in range(len(levels))), anywhere)
    words = pl.coalesce(*(f"word_{level}" for level in range(len(levels))), where)
    is_open = pl.col("availability").is_in(["unknown", "listed_only"]) | pl.col("availability").is_null()
    use = is_open & answer.is_not_null()
    return told.with_columns(
        availability=pl.when(use).then(answer).otherwise(pl.col("availability").fill_null("unknown")),
        availability_text=pl.when(use).then(words).otherwise("availability_text"),
    )


def _stock_of_regions(rows: pl.DataFrame, stock: pl.DataFrame) -> pl.DataFrame:
    """Returns what the answers for single regions say together, by provider, plan and purchase kind.

    Regions where the plan has a listing of its own are left out, for there another price holds. In stock in one
    region is in stock; out of stock is only what is out of stock in every region told.
    """
    key = ["provider", "plan", "purchase"]
    own = rows.select(*key, "region_text").drop_nulls("region_text").unique()
    answers = (
        rows.select(key)
        .unique()
        .join(stock.drop_nulls("region_text"), on=["provider", "plan"], suffix="_told")
        .filter(pl.col("purchase_told").is_null() | (pl.col("purchase_told") == pl.col("purchase")))
        .join(own, on=[*key, "region_text"], how="anti")
        .sort("purchase_told", "availability", nulls_last=True)
        .unique(subset=[*key, "region_text"], keep="first", maintain_order=True)
    )
    state = pl.col("availability")
    words = {"in_stock": "in stock", "low": "low", "out_of_stock": "out of stock"}
    regions = {name: (state == name).sum() for name in words}
    texts = [
        pl.when(count > 0).then(pl.format(f"{words[name]} in {{}} of {{}} regions", count, pl.len()))
        for name, count in regions.items()
    ]
    return answers.group_by(key).agg(
        stock_anywhere=pl.when(regions["in_stock"] > 0)
        .then(pl.lit("in_stock"))
        .when(regions["low"] > 0)
        .then(pl.lit("low"))
        .when(regions["out_of_stock"] == pl.len())
        .then(pl.lit("out_of_stock")),
        word_anywhere=pl.concat_str(texts, separator=", ", ignore_nulls=True),
    )


def with_interruptions(rows: pl.DataFrame, interruptions: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with losses per hour of spot machines, from the provider's monthly band.

    The upper edge p of the band gives -ln(1 - p) / 730 per hour: a share of machines lost in a month of 730 hours
    as a constant hazard. A band that is open above gives no rate. Several bands of one plan and place give the
    highest. Regions are joined as places, since prices and bands may spell them differently.
    """
    share = pl.col("monthly_high_pct") / 100
    hours = assumption("hours_per_month")
    rate = pl.when((share >= 0) & (share < 1)).then(-(1 - share).log() / hours)
    closed = pl.format("{}-{} % a month", "monthly_low_pct", "monthly_high_pct")
    opened = pl.format("above {} % a month", "monthly_low_pct")
    keys = ["provider", "plan", "place_key"]
    asked = interruptions.with_columns(origin=pl.lit(None, pl.String), place_text="region_text")
    bands = (
        asked.join(region_frame(asked), on=["provider", "origin", "place_text"], how="left", nulls_equal=True)
        .with_columns(
            place_key=place_key(),
            interruptions_per_hour=rate,
            interruption_source=pl.lit("stated by the provider: ") + pl.coalesce(closed, opened),
            purchase=pl.lit("spot"),
        )
        .sort("monthly_low_pct", "monthly_high_pct", nulls_last=True)
        .unique(subset=keys, keep="last", maintain_order=True)
        .select(*keys, "purchase", "interruptions_per_hour", "interruption_source")
    )
    return rows.with_columns(place_key=place_key()).join(
        bands, on=[*keys, "purchase"], how="left", nulls_equal=True
    )
