"""UpCloud: GPU servers, through the price list of the API, which needs a token.

Each zone maps a name to {amount, price}: `price` cents of `currency` per hour for `amount` units. GPU plans are the
names "server_plan_GPU-8xCPU-64GB-1xL40S"; "GPU-SPOT-..." is the same server as spot. vCPUs, memory, the number and
the kind of GPUs are known by that name; the plans have no disk. "storage_standard" is the general block storage,
an Extra per GB and hour. The price of traffic in the list is not read: what a plan holds of it is not in the answer,
and the provider says that it bills none within fair use.

The second kind of answer is the stock of one zone: `gpu_plans` with the amount that can be had. It is asked for the
zones that have a GPU plan, and a plan that it does not name is unknown. Where no zone has a GPU plan, as in answers
before there were any, the list is refused.

Shape as SpareCores read it in 2026; the one answer that was recorded is of 2020, without GPUs and without a currency.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import quote

from scrapers.contract import Auth, Extra, Listing, Payload, Quantity, Request, Source, Stock
from scrapers.readers import At, read_json

STOCK = "https://api.upcloud.com/1.3/device/availability?type=gpu&zone="

SOURCE = Source(
    id="upcloud",
    name="UpCloud",
    segment="neocloud",
    homepage="https://upcloud.com/",
    pricing_url="https://upcloud.com/pricing",
    requests=(),
    keyed_requests=(Request("prices", "https://api.upcloud.com/1.3/price"),),
    auth=Auth("UPCLOUD_TOKEN"),
    allowed_hosts=("api.upcloud.com",),
    terms="unknown",
    terms_url="https://upcloud.com/",
    terms_note="the API is documented for its customers; terms not read",
    terms_reviewed_on=date(2026, 7, 24),
    last_proof="2026: read by the code of SpareCores; the one recorded answer is of 2020, without GPUs",
    min_listings=1,
    billing_increment_s=3600,
    billing_minimum_s=3600,
    billing_source="https://github.com/SpareCores/sc-crawler",
)

GPU_PLAN = re.compile(
    r"server_plan_(GPU-(SPOT-)?(\d{1,4})xCPU-(\d{1,5})GB-(\d{1,3})x([A-Za-z0-9]+)(?:-\d+GB)?)"
)
STORAGE = "storage_standard"
ZONE = re.compile(r"[a-z]{2}-[a-z]{3}\d+")


def parse(payload: Payload) -> Iterator[Listing | Stock | Extra]:
    """The GPU plans of each zone with its block storage, or the stock of a zone."""
    top = At(payload.part, read_json(payload))
    if "prices" not in top:
        yield from _stock(top)
        return
    prices = top["prices"]
    currency, zones = prices.get("currency").text_or_none(), prices["zone"]
    if not any(_gpu_plans(zone) for zone in zones):
        raise zones.broken(f"none of {len(zones)} zones has a GPU plan")
    for zone in zones:
        for name, plan in _gpu_plans(zone):
            yield _listing(name, plan, zone["name"].text(), currency)
        if currency and STORAGE in zone:
            yield _storage(zone[STORAGE], zone["name"].text(), currency)


def follow(payload: Payload) -> Iterator[Request]:
    """The stock of each zone that has a GPU plan."""
    top = At(payload.part, read_json(payload))
    for zone in top["prices"]["zone"] if "prices" in top else ():
        name = zone["name"].text()
        if ZONE.fullmatch(name) and _gpu_plans(zone):
            yield Request(f"stock-{name}", STOCK + quote(name))


def _gpu_plans(zone: At) -> list[tuple[re.Match[str], At]]:
    found = ((GPU_PLAN.fullmatch(key), item) for key, item in zone.items())
    return [(name, item) for name, item in found if name]


def _listing(name: re.Match[str], item: At, zone: str, currency: str | None) -> Listing:
    plan, spot, vcpus, ram_gb, gpu_count, gpu = name.groups()
    return Listing(
        provider="upcloud",
        product="gpu_servers",
        plan=plan,
        gpu_text=gpu,
        gpu_count=Decimal(gpu_count),
        vcpus=Decimal(vcpus),
        ram=Quantity(Decimal(ram_gb), "GB"),
        price=_price(item),
        currency=currency,
        price_per="instance",
        price_unit="hour",
        purchase="spot" if spot else "on_demand",
        region_text=zone,
        note=None if currency else "the answer names no currency",
        place=item.place,
    )


def _price(item: At) -> Decimal:
    """The price of one unit in whole units of the currency; the list has cents per so many units."""
    amount = item["amount"].decimal()
    if amount <= 0:
        raise item["amount"].broken("a price is for an amount above 0")
    return item["price"].decimal() / amount / 100


def _storage(item: At, zone: str, currency: str) -> Extra:
    return Extra(
        provider="upcloud",
        kind="storage",
        name=STORAGE,
        price=_price(item),
        currency=currency,
        per="gb_hour",
        region_text=zone,
        place=item.place,
    )


def _stock(top: At) -> Iterator[Stock]:
    zones = list(top.items())
    if not zones:
        raise top.broken("neither prices nor the stock of a zone")
    for zone, answer in zones:
        for plan, row in answer["gpu_plans"].items():
            amount = row["amount"].integer()
            yield Stock(
                provider="upcloud",
                plan=plan,
                region_text=zone,
                availability="in_stock" if amount > 0 else "out_of_stock",
                availability_text=f"amount {amount}",
                place=row.place,
            )
