"""OVHcloud Public Cloud: GPU instances of the order catalogue, without VAT.

Prices are whole numbers of 1e-8 of the currency. The code of an addon says what it is a price of:

a100-180.consumption          the flavour by the hour
a100-180.monthly.postpaid     the flavour by the month: on the first of a month the whole month is owed, so it is
                              a reservation of one month
b3-8.consumption.LZ.EU        the flavour in another class of regions, at another price: the class stays in the
                              name of the plan, as b3-8.LZ.EU

Where the catalogue of another subsidiary was asked for, its name stays in the plan too, for it sells the same
flavours at prices of its own. GPU flavours are those of the commercial brick "gpu"; Windows flavours and prices
with a commitment are left out. The number in a flavour is its RAM, not the memory of its GPU, which `technical`
gives per GPU. Nothing is said of stock or of regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, PriceUnit, PurchaseKind, Quantity, Request, Source
from scrapers.readers import At, money, read_json

SOURCE = Source(
    id="ovh",
    provider="ovhcloud",
    name="OVHcloud Public Cloud",
    segment="neocloud",
    homepage="https://www.ovhcloud.com/",
    pricing_url="https://www.ovhcloud.com/en/public-cloud/prices/",
    requests=(
        Request("catalogue-fr", "https://api.ovh.com/v1/order/catalog/public/cloud?ovhSubsidiary=FR"),
        Request(
            "catalogue-us", "https://api.us.ovhcloud.com/1.0/order/catalog/public/cloud?ovhSubsidiary=US"
        ),
    ),
    allowed_hosts=("api.ovh.com", "api.us.ovhcloud.com"),
    terms="unknown",
    terms_url="https://www.ovhcloud.com/",
    terms_note="the order catalogue API is public; terms not read",
    terms_reviewed_on=date(2026, 4, 1),
    last_proof="2026-08-14: part of the catalogue recorded and parsed",
    min_listings=10,
    billing_increment_s=3600,
    billing_minimum_s=3600,
    billing_source="https://support.us.ovhcloud.com/hc/en-us/articles/22179651508115-Public-Cloud-Billing",
)

HOME_SUBSIDIARY = "FR"
PRICE_KIND = re.compile(r"\.consumption|\.monthly\.postpaid")
TERMS: dict[str, tuple[PriceUnit, PurchaseKind, int | None]] = {
    "hour": ("hour", "on_demand", None),
    "month": ("month", "reserved", 1),
}


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per GPU addon and price without a commitment."""
    top = At(payload.part, read_json(payload))
    for addon in top["addons"]:
        blobs = addon.get("blobs")
        if not blobs or not blobs.get("commercial") or blobs["commercial"].get("brick").value != "gpu":
            continue
        if _is_windows(blobs["technical"]):
            continue
        for pricing in addon["pricings"]:
            if pricing["commitment"].integer() == 0 and pricing["intervalUnit"].text_or_none() in TERMS:
                yield _listing(top, addon, pricing)


def _is_windows(technical: At) -> bool:
    system = technical.get("os")
    return bool(system) and system.get("family").value == "windows"


def _listing(top: At, addon: At, pricing: At) -> Listing:
    technical, tags = addon["blobs"]["technical"], addon["blobs"].get("tags")
    unit, purchase, term_months = TERMS[pricing["intervalUnit"].text()]
    labels = [tag.text() for tag in tags] if tags else []
    return Listing(
        provider="ovhcloud",
        product="gpu_instances",
        plan=_plan(top, addon),
        gpu_text=technical["gpu"]["model"].text(),
        gpu_count=technical["gpu"]["number"].decimal(),
        gpu_memory=Quantity(technical["gpu"]["memory"]["size"].decimal(), "GB"),
        vcpus=technical["cpu"]["cores"].decimal(),
        ram=Quantity(technical["memory"]["size"].decimal(), "GB"),
        disk=_disk(technical),
        price=pricing["price"].decimal() / 10**8,
        currency=_currency(top, pricing),
        price_per="instance",
        price_unit=unit,
        purchase=purchase,
        term_months=term_months,
        note=f"tags: {', '.join(labels)}" if labels and "active" not in labels else None,
        place=pricing.place,
    )


def _plan(top: At, addon: At) -> str:
    plan = PRICE_KIND.sub("", addon["planCode"].text())
    subsidiary = top["locale"].get("subsidiary").text_or_none() if top.get("locale") else None
    return plan if subsidiary in (None, HOME_SUBSIDIARY) else f"{plan}.{subsidiary}"


def _currency(top: At, pricing: At) -> str:
    """The currency of the catalogue; an excerpt without a head has it beside the price, as `1100.00 €`."""
    if locale := top.get("locale"):
        return locale["currencyCode"].text()
    currency = money(pricing["formattedPrice"].text()).currency
    if currency is None:
        raise pricing["formattedPrice"].broken("names no currency, and the catalogue has no locale")
    return currency


def _disk(technical: At) -> Quantity | None:
    storage = technical.get("storage")
    if not storage or not storage.get("disks"):
        return None
    sizes = [disk["capacity"].decimal() * disk["number"].decimal() for disk in storage["disks"]]
    return Quantity(sum(sizes, Decimal(0)), "GB")
