"""Atlantic.Net: GPU plans, in the JSON-LD of the public page.

An offer of the category "Accelerated Compute" is a plan such as AH100NVL.240GB, with one price for each way to buy it:
on demand and for terms of 1 and 3 years, all by the hour, for the whole machine. The currency stands at the price or
at the offer. What a month on demand costs is 672 hours of it, a cap on the same offer, and is not read. Rows with
Windows hold a licence and are left out, and so are the other categories, which have no GPU. RAM, vCPUs and disk are
of the machine. The offer does not say how many GPUs it has; the visible text does, "4 x H100NVL" behind the name of
the plan, and where it does not the number is not known. No stock, no regions.

Shape as a collector read it in 2026, and the visible text as another did in 2025; the page itself was not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from scrapers.contract import Listing, Payload, PurchaseKind, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, html, json_ld, number, quantity, text

URL = "https://www.atlantic.net/cloud-hosting/gpu-cloud-hosting/"

SOURCE = Source(
    id="atlantic_net",
    name="Atlantic.Net",
    segment="neocloud",
    homepage="https://www.atlantic.net/",
    pricing_url=URL,
    requests=(Request("gpu_cloud", URL),),
    allowed_hosts=("www.atlantic.net",),
    terms="unknown",
    terms_url="https://www.atlantic.net/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026: read by the code of a collector; page not seen",
    min_listings=2,
)

CATEGORY = "Accelerated Compute"
PLAN = re.compile(r"A([A-Z]{1,3}\d{1,4}[A-Z]{0,4})\.\d{2,5}GB")
COUNT = re.compile(r"\b(\d{1,2}) ?[x×] ?([A-Z]{1,3}\d{1,4}[A-Z]{0,4})\b")
WAY = re.compile(r"(Linux|Windows)\s*+[–—-]\s*+(?:(On-Demand)|(\d)-Year Term)", re.IGNORECASE)
HOUR, MONTH = "HUR", "MON"


def parse(payload: Payload) -> list[Listing]:
    """One listing for each plan with a GPU and each way to buy it with Linux.

    Raises:
        PayloadShapeError: No such offer, a field is missing or of another kind, or a way to buy that is not known.
    """
    page = html(payload)
    counts = _counts(text(page))
    offers = list(_offers(payload.part, json_ld(payload.part, page)))
    listings = [listing for offer in offers for listing in _listings(offer, counts)]
    if not listings:
        raise PayloadShapeError(
            payload.part, "JSON-LD", f"no offer of the category {CATEGORY!r} with a price"
        )
    return listings


def _offers(part: str, nodes: list[dict[str, Any]]) -> Iterator[At]:
    """The offers of the category, wherever they stand in the nodes, with their paths."""
    waiting = [At(part, node, f"JSON-LD[{index}]") for index, node in enumerate(nodes)][::-1]
    while waiting:
        here = waiting.pop()
        if isinstance(here.value, dict):
            if here.value.get("category") == CATEGORY and "priceSpecification" in here:
                yield here
                continue
            inner = [value for _, value in here.items() if isinstance(value.value, dict | list)]
        else:
            inner = list(here) if isinstance(here.value, list) else []
        waiting += inner[::-1]


def _counts(shown: str) -> dict[str, Decimal]:
    """How many GPUs the visible text gives a plan, between its name and the name of the next one."""
    names = list(PLAN.finditer(shown))
    counts: dict[str, Decimal] = {}
    for index, name in enumerate(names):
        end = names[index + 1].start() if index + 1 < len(names) else len(shown)
        for said in COUNT.finditer(shown, name.end(), min(end, name.end() + 300)):
            if said[2] == name[1]:
                counts.setdefault(name[0], Decimal(said[1]))
    return counts


def _listings(offer: At, counts: dict[str, Decimal]) -> Iterator[Listing]:
    plan = offer["name"].text()
    named = PLAN.fullmatch(plan)
    if named is None:
        raise offer["name"].broken("not a plan such as AH100NVL.240GB")
    machine = {
        entry["name"].text(): str(entry["value"].value) for entry in (offer.get("additionalProperty") or [])
    }
    for price in offer["priceSpecification"]:
        way = WAY.fullmatch(price["name"].text())
        if way is None:
            raise price["name"].broken("not a way to buy that is known")
        unit = price["unitCode"].text()
        if way[1].lower() == "windows" or (way[2] and unit == MONTH):
            continue
        if unit != HOUR:
            raise price["unitCode"].broken("not HUR")
        purchase: PurchaseKind = "on_demand" if way[2] else "reserved"
        yield Listing(
            provider="atlantic_net",
            product="gpu_cloud",
            plan=plan,
            gpu_text=named[1],
            gpu_count=counts.get(plan),
            vcpus=number(machine.get("vCPU", "")),
            ram=quantity(machine.get("RAM", "")),
            disk=quantity(machine.get("SSD Storage", "")),
            price=price["price"].decimal(),
            currency=(price.get("priceCurrency") or offer["priceCurrency"]).text(),
            price_per="instance",
            price_unit="hour",
            purchase=purchase,
            term_months=int(way[3]) * 12 if way[3] else None,
            availability="listed_only",
            place=price.place,
        )
