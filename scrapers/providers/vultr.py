"""Vultr: cloud GPU plans and GPU bare metal, through the open list of plans.

Prices are per plan and hour; `hourly_cost_preemptible` is a spot listing of its own, be it 0. `gpu_vram_gb` is the
memory of the whole plan, also of a slice of a card, whose `gpu_count` is a fraction such as "1/8". Older bare metal
plans name their GPU and its number only in the id: `vbm-256c-2048gb-8-mi300x-gpu`. Plans without a GPU, among
them one that costs nothing, are left out. `ram` is in MiB: the plan of 6 GB has 6144.

A plan has a listing per location that it names; `location_cost` overrides the price there. A plan that names no
location is sold out, and so is a way to buy that `deploy_ondemand` or `deploy_preemptible` turns off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from scrapers.contract import Listing, PageCount, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.readers import At, number, read_json

SOURCE = Source(
    id="vultr",
    name="Vultr",
    segment="neocloud",
    homepage="https://www.vultr.com/",
    pricing_url="https://www.vultr.com/pricing/",
    requests=(
        Request("plans-1", "https://api.vultr.com/v2/plans?type=vcg&per_page=500"),
        Request("plans-metal-1", "https://api.vultr.com/v2/plans-metal?per_page=500"),
    ),
    allowed_hosts=("api.vultr.com",),
    terms="unknown",
    terms_url="https://www.vultr.com/legal/tos/",
    terms_note="the plans API is documented for use without a key; terms not read",
    terms_reviewed_on=date(2025, 9, 15),
    last_proof="2026-09-17: bare metal plans recorded and parsed, as GPU plans of 2026-08-19",
    min_listings=10,
    billing_increment_s=3600,
    billing_minimum_s=3600,
    billing_source="https://docs.vultr.com/support/platform/billing/how-am-i-billed-for-my-servers",
)

COUNT_IN_ID = re.compile(r"-(\d+)-[a-z0-9]+-gpu$")
DEPLOY_FLAGS: dict[PurchaseKind, str] = {"on_demand": "deploy_ondemand", "spot": "deploy_preemptible"}
PRICES: dict[PurchaseKind, str] = {"on_demand": "hourly_cost", "spot": "hourly_cost_preemptible"}


def parse(payload: Payload) -> Iterator[Listing | PageCount]:
    """The GPU plans, each in its locations, on demand and preemptible, and how many plans there are in all."""
    top = At(payload.part, read_json(payload))
    is_metal = "plans_metal" in top
    list_name = "plans_metal" if is_metal else "plans"
    meta = top.get("meta")
    if meta and meta.get("total"):
        yield PageCount(
            list_name=list_name,
            declared=meta["total"].integer(),
            rows=len(top[list_name]),
            place=meta["total"].place,
        )
    for plan in top[list_name]:
        if _has_gpu(plan):
            yield from _listings(plan, "bare_metal_gpu" if is_metal else "cloud_gpu")


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, by the cursor that the answer gives."""
    meta = At(payload.part, read_json(payload)).get("meta")
    cursor = meta["links"].get("next").text_or_none() if meta else None
    if cursor:
        url = urlsplit(payload.url)
        query = [(name, value) for name, value in parse_qsl(url.query) if name != "cursor"]
        stem, _, page = payload.part.rpartition("-")
        yield Request(
            part=f"{stem}-{int(page) + 1}" if page.isdecimal() else f"{payload.part}-2",
            url=url._replace(query=urlencode([*query, ("cursor", cursor)])).geturl(),
        )


def _has_gpu(plan: At) -> bool:
    plan_id = plan["id"].text()
    is_named = plan_id.startswith("vcg-") or plan_id.endswith("-gpu")
    return is_named or plan.get("gpu_type").text_or_none() is not None


def _listings(plan: At, product: str) -> Iterator[Listing]:
    locations: list[str | None] = [location.text() for location in plan["locations"]]
    purchases: tuple[PurchaseKind, ...] = ("on_demand", "spot")
    machine = _machine(plan, product)
    for location in locations or [None]:
        for purchase in purchases:
            price = _price(plan, location, purchase)
            if price is not None:
                yield Listing(
                    price=price,
                    purchase=purchase,
                    region_text=location,
                    **_stock(plan, location, purchase),
                    **machine,
                )


def _price(plan: At, location: str | None, purchase: PurchaseKind) -> Decimal | None:
    """The price in a location: its own where it has one, else that of the plan."""
    overrides = plan.get("location_cost")
    if location and overrides and location in overrides:
        own = overrides[location].get(PRICES[purchase]).decimal_or_none()
        if own is not None:
            return own
    if purchase == "on_demand":
        return plan["hourly_cost"].decimal()
    return plan.get("hourly_cost_preemptible").decimal_or_none()


def _machine(plan: At, product: str) -> dict[str, Any]:
    """The fields of a listing that hold in every location."""
    memory = plan.get("gpu_vram_gb").decimal_or_none()
    return {
        "provider": "vultr",
        "product": product,
        "plan": plan["id"].text(),
        "gpu_text": plan.get("gpu_type").text_or_none() or plan["id"].text(),
        "gpu_count": _gpu_count(plan),
        "gpu_memory": None if memory is None else Quantity(memory, "GB"),
        "gpu_memory_is_total": memory is not None,
        "vcpus": plan["cpu_threads" if "cpu_threads" in plan else "vcpu_count"].decimal(),
        "ram": Quantity(plan["ram"].decimal(), "MiB"),
        "disk": Quantity(plan["disk"].decimal() * (plan.get("disk_count").decimal_or_none() or 1), "GB"),
        "currency": "USD",
        "price_per": "instance",
        "price_unit": "hour",
        "place": plan.place,
    }


def _stock(plan: At, location: str | None, purchase: PurchaseKind) -> dict[str, Any]:
    """Whether the plan can be had in a location: it is named, and this way to buy is not turned off."""
    flag = DEPLOY_FLAGS[purchase]
    if plan.get(flag).value is False:
        return {"availability": "out_of_stock", "availability_text": f"{flag} is false"}
    if location:
        return {"availability": "in_stock", "availability_text": "names this location"}
    return {"availability": "out_of_stock", "availability_text": "names no location"}


def _gpu_count(plan: At) -> Decimal | None:
    """The field, which may be a number or "1/8"; without it, the number in the id of a bare metal plan."""
    count = plan.get("gpu_count")
    if isinstance(count.value, str):
        return number(count.value)
    in_id = COUNT_IN_ID.search(plan["id"].text())
    return count.decimal() if count else Decimal(in_id[1]) if in_id else None
