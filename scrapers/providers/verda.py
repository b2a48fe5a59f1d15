"""Verda, formerly DataCrunch: whole instances, through the public list of instance types.

Prices are texts, per instance and hour; `gpu_memory` is the total of the instance. `spot_price` is a listing of
its own. CPU nodes have no GPU and are left out. `dynamic_price` is left out too: it is a second way to pay on
demand, moves by about a percent a day, and the list does not say what is promised for it.

The list names no place. Stock is another answer, told apart by its content: locations with the instance types
that can be had there, on demand or as spot as the address asked. It needs a key of a kind that is not supported
here, so it is read from files only.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source, Stock
from scrapers.readers import At, read_json

SOURCE = Source(
    id="verda",
    name="Verda (formerly DataCrunch)",
    segment="neocloud",
    homepage="https://verda.com/",
    pricing_url="https://verda.com/pricing",
    requests=(Request("instance_types", "https://api.datacrunch.io/v1/instance-types"),),
    allowed_hosts=("api.datacrunch.io",),
    terms="restricted",
    terms_url="https://verda.com/",
    terms_note="reported in October 2026 to forbid scraping; the API of instance types is public and documented",
    terms_reviewed_on=date(2026, 10, 29),
    min_listings=5,
    default_on=False,
    off_reason="the terms are reported to forbid scraping: turn it on after reading them",
)


def parse(payload: Payload) -> Iterator[Listing | Stock]:
    """On-demand and spot listings of the GPU types, or the stock per location."""
    top = At(payload.part, read_json(payload))
    rows = list(_rows(top))
    if not rows:
        raise top.broken("an empty list, which can be anybody's answer")
    for row in rows:
        if "availabilities" in row:
            yield from _stock(row, payload.url)
        elif row["gpu"]["number_of_gpus"].integer():
            yield _listing(row, "on_demand", row["price_per_hour"].decimal())
            spot_price = row.get("spot_price").decimal_or_none()
            if spot_price is not None:
                yield _listing(row, "spot", spot_price)


def _rows(top: At) -> Iterator[At]:
    """The objects of a list, and of lists within it."""
    for row in top:
        if isinstance(row.value, list):
            yield from row
        else:
            yield row


def _listing(row: At, purchase: PurchaseKind, price: Decimal) -> Listing:
    disk = row["storage"].get("size_in_gigabytes").decimal_or_none()
    return Listing(
        provider="verda",
        product=purchase,
        plan=row["instance_type"].text(),
        gpu_text=row["name"].text(),
        gpu_count=row["gpu"]["number_of_gpus"].decimal(),
        gpu_memory=Quantity(row["gpu_memory"]["size_in_gigabytes"].decimal(), "GB"),
        gpu_memory_is_total=True,
        link_text=row.get("p2p").text_or_none(),
        vcpus=row["cpu"]["number_of_cores"].decimal(),
        ram=Quantity(row["memory"]["size_in_gigabytes"].decimal(), "GB"),
        disk=None if disk is None else Quantity(disk, "GB"),
        price=price,
        currency=row["currency"].text().upper(),
        price_per="instance",
        price_unit="hour",
        purchase=purchase,
        place=row.place,
    )


def _stock(location: At, url: str) -> Iterator[Stock]:
    is_spot = parse_qs(urlsplit(url).query).get("is_spot")
    kinds: dict[str, PurchaseKind] = {"true": "spot", "false": "on_demand"}
    for plan in location["availabilities"]:
        yield Stock(
            provider="verda",
            plan=plan.text(),
            region_text=location["location_code"].text(),
            availability="in_stock",
            availability_text="listed as available",
            purchase=kinds.get(is_spot[0].lower()) if is_spot else None,
            place=plan.place,
        )
