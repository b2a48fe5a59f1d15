"""Alibaba Cloud ECS (international): a static price file, which its price calculator reads.

`pricingInfo` maps "region::instance type::network::system::disk mode" to prices of the whole instance, as texts:
`hours` on demand, `months` and `years` for a subscription of so many of them, paid at once. Kept are the GPU
families (gn, vgn, sgn, ebmgn, sccgn, ga) with Linux in a VPC. The file has no GPU, vCPUs, memory or stock: the GPU
is known by the name of the type. A price of 0 or an empty one is said as it stands.

The currency is what the file says, and not known where it says none: prices of a derived copy looked like yuan, and
a number without a currency is no price in dollars. The address holds a version that moves, and the file of an old
version does not change: `publicationDate` is the day of its prices, and without it they have none.

Shape as read from versions 2.0.7 (2018) to 2.0.15 by collectors; 2.0.375 was named, not recorded, in 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from scrapers.contract import Listing, Payload, PriceUnit, PurchaseKind, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="alibaba",
    name="Alibaba Cloud ECS (international)",
    segment="hyperscaler",
    homepage="https://www.alibabacloud.com/",
    pricing_url="https://www.alibabacloud.com/en/product/ecs",
    requests=(
        Request(
            "instance_prices",
            "https://g.alicdn.com/aliyun/ecs-price-info-intl/2.0.375/price/download/instancePrice.json",
        ),
    ),
    allowed_hosts=("g.alicdn.com",),
    terms="unknown",
    terms_url="https://www.alibabacloud.com/",
    terms_note="a static file on the address of the price calculator; terms not read",
    terms_reviewed_on=date(2026, 7, 24),
    last_proof="undated: versions 2.0.7 of 2018 to 2.0.15 read by collectors; no answer recorded",
    min_listings=50,
    default_on=False,
    off_reason="the address holds a version that moves, and the age and currency of its file are not known",
    billing_increment_s=1,
    billing_source="https://help.aliyun.com/en/ecs/user-guide/economical-mode",
)

GPU_FAMILY = re.compile(r"ecs\.(?:ebm|scc|s|v)?(?:gn|ga)\d")
LONGEST_PERIOD = 36
# The name of the list, the months of one of its periods, and what it is.
TERMS: tuple[tuple[str, int | None, PurchaseKind, PriceUnit], ...] = (
    ("hours", None, "on_demand", "hour"),
    ("months", 1, "reserved", "term"),
    ("years", 12, "reserved", "term"),
)


def parse(payload: Payload) -> Iterator[Listing]:
    """The GPU types of each region, on demand and as subscriptions."""
    top = At(payload.part, read_json(payload))
    currency, day = _currency(top), _day(top)
    prices = top["pricingInfo"]
    found = False
    for key, row in prices.items():
        region, plan, network, system = [*key.split("::"), "", "", ""][:4]
        if GPU_FAMILY.match(plan) and (network, system) == ("vpc", "linux"):
            found = True
            yield from _listings(row, region, plan, currency, day)
    if not found:
        raise prices.broken(f"none of {len(prices)} keys is a GPU type with Linux in a VPC")


def _listings(row: At, region: str, plan: str, currency: str | None, day: date | None) -> Iterator[Listing]:
    for name, months, purchase, unit in TERMS:
        for price in row[name] if row.get(name) else ():
            period = price["period"].integer()
            if months is None and period != 1:
                raise price["period"].broken(f"a price of {period} hours, where one of 1 hour is due")
            if not 1 <= period <= LONGEST_PERIOD:
                raise price["period"].broken(f"{period} {name} are no term")
            amount = price["price"]
            yield Listing(
                provider="alibaba",
                plan=plan,
                gpu_text=plan,
                price=None if amount.text_or_none() is None else amount.decimal(),
                currency=currency,
                price_per="instance",
                price_unit=unit,
                purchase=purchase,
                term_months=None if months is None else period * months,
                region_text=region,
                availability="listed_only",
                evidence="provider_docs",
                as_of=day,
                note=_note(currency, day),
                place=price.place,
            )


def _currency(top: At) -> str | None:
    text = top.get("currency").text_or_none()
    return text if text and re.fullmatch(r"[A-Z]{3}", text) else None


def _day(top: At) -> date | None:
    text = top.get("publicationDate").text_or_none()
    found = re.match(r"\d{4}-\d{2}-\d{2}", text) if text else None
    try:
        return date.fromisoformat(found[0]) if found else None
    except ValueError:
        raise top["publicationDate"].broken(f"{text!r} is not a date") from None


def _note(currency: str | None, day: date | None) -> str | None:
    gaps = [
        "the file names no currency" if currency is None else "",
        "the file bears no date" if day is None else "",
    ]
    return "; ".join(filter(None, gaps)) or None
