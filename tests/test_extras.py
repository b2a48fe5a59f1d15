"""What a source bills beside its machines: rates worked out by hand, and which of several goes before the others."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from conftest import NIGHT

from scrapers.contract import Extra, Listing, Payload, Record
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise
from transforms.offers.schema import RATE

AT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
EURO = pl.DataFrame({"base": ["EUR"], "quote": ["USD"], "rate": [1.25], "rate_date": [NIGHT]}, schema=RATE)


def machine(plan: str, region: str | None = "us-east-1", provider: str = "aws", **more: Any) -> Listing:
    known: dict[str, Any] = {
        "gpu_text": "H100 SXM",
        "gpu_count": Decimal(1),
        "price": Decimal(2),
        "currency": "USD",
        "price_per": "gpu",
        "price_unit": "hour",
        "purchase": "on_demand",
        "place": plan,
    }
    return Listing(provider=provider, plan=plan, region_text=region, **{**known, **more})


def extra(kind: str, price: str, per: str, region: str | None = None, **more: Any) -> Extra:
    known: dict[str, Any] = {"provider": "aws", "name": kind, "currency": "USD", "place": f"{kind} {price}"}
    return Extra(kind=kind, price=Decimal(price), per=per, region_text=region, **{**known, **more})  # type: ignore[arg-type]


def bills(*records: Record) -> dict[str, tuple[Any, ...]]:
    """Returns storage, egress, free egress and ingress of each plan."""
    payload = Payload(source_id="aws", part="all", url="", fetched_at=AT, body=b"")
    made = listing_frame(records, payload)
    offers = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        extras=made.extras,
        rates=EURO,
        night=NIGHT,
        segments={},
    ).offerings
    columns = (
        "storage_usd_per_gb_month",
        "egress_usd_per_gb",
        "egress_free_gb_per_month",
        "ingress_usd_per_gb",
    )
    return {row["plan"]: tuple(row[name] for name in columns) for row in offers.iter_rows(named=True)}


def storage(*extras: Extra) -> float:
    value = bills(machine("one"), *extras)["one"][0]
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize(
    ("price", "per", "currency", "usd_per_gb_month"),
    [
        ("0.10", "gb_month", "USD", 0.10),
        ("0.10", "gb_month", "EUR", 0.125),
        ("0.10", "gib_month", "USD", 0.0931323),  # 0.10 / 1.073741824
        ("0.0001", "gb_hour", "USD", 0.073),  # x 730 h
        ("0.0001", "gib_hour", "EUR", 0.0849832),  # 0.0001 x 730 x 1.25 / 1.073741824
    ],
)
def test_a_rate_is_usd_per_gb_and_month(price: str, per: str, currency: str, usd_per_gb_month: float) -> None:
    assert storage(extra("storage", price, per, currency=currency)) == pytest.approx(
        usd_per_gb_month, rel=1e-6
    )


def test_the_listing_goes_first_then_its_region_then_all_regions_then_what_is_known_of_the_provider() -> None:
    told = bills(
        machine("says it", storage_price_per_gb_month=Decimal("0.5"), egress_price_per_gb=Decimal("0.4")),
        machine("east"),
        machine("Virginia", "us-east-1a"),
        machine("west", "us-west-2"),
        machine("nowhere", None),
        machine("other", "us-east-1", provider="vultr"),
        extra("storage", "0.11", "gb_month", "us-east-1"),
        extra("storage", "0.12", "gb_month"),
        extra("egress", "0.06", "gb", "us-east-1"),
        extra("ingress", "0.01", "gb"),
    )
    known = 0.09, 100.0  # provider.csv: egress of aws, first tier, and what is free of it
    assert told["says it"] == (0.5, 0.4, None, 0.01)
    assert told["east"] == (0.11, 0.06, None, 0.01)
    assert told["Virginia"] == told["east"]  # another spelling of the place
    assert told["west"] == (0.12, *known, 0.01)
    assert told["nowhere"] == (0.12, *known, 0.01)
    assert told["other"] == bills(machine("other", "us-east-1", provider="vultr"))["other"]


def test_the_first_paid_step_counts_and_what_is_free_below_it() -> None:
    steps = [
        extra("egress", "0.07", "gb", from_gb=Decimal(10_000)),
        extra("egress", "0", "gb", from_gb=Decimal(0)),
        extra("egress", "0.08", "gb", from_gb=Decimal(1024)),
    ]
    assert bills(machine("one"), *steps)["one"][1:3] == (0.08, 1024.0)
    assert bills(machine("one"), *reversed(steps))["one"][1:3] == (0.08, 1024.0)
    # nothing is said of the traffic below the first step
    assert bills(machine("one"), steps[0])["one"][1:3] == (0.07, None)
    # all of it is free
    assert bills(machine("one"), steps[1])["one"][1:3] == (0.0, None)


def test_of_several_disks_the_cheapest_counts() -> None:
    fast = extra("storage", "0.125", "gb_month", "us-east-1", name="io2")
    assert storage(fast, extra("storage", "0.08", "gb_month", "us-east-1", name="gp3")) == 0.08
    assert storage(fast) == 0.125


def test_a_rate_that_cannot_be_known_is_none() -> None:
    """No exchange rate, and a price below zero: what is known of the provider stays."""
    known = bills(machine("one"))["one"]
    for odd in (extra("storage", "0.5", "gb_month", currency="BRL"), extra("storage", "-1", "gb_month")):
        assert bills(machine("one"), odd)["one"] == known
