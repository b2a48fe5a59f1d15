"""Scaleway: GPU instances in euros without VAT.

Three kinds of answer, told apart by their content:

products[]                        the public product catalogue: price as units and nanos per `unit_of_measure`,
                                  which is a MINUTE for most GPU plans and an hour for RENDER-S and CPU plans
servers{name: {availability}}     stock of one zone: available, scarce, shortage. The zone is in the address
servers{name: {hourly_price}}     the instance API: price per hour of the node, memory in bytes per card; a
                                  `mig_profile` says that the plan is a slice of a card, and goes into its name

A night asks for the catalogue and the stock. The instance API gives the catalogue's prices a second time and is
only read where somebody has such a file. Rows with price 0 are retired plans, and are said as they stand. The
catalogue counts its rows (`total_count`); the stock ends with a page that is not full. Both may give fewer rows
a page than were asked for, so the rows that came decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qs, urlencode, urlsplit

from scrapers.contract import (
    Availability,
    Listing,
    PageCount,
    Payload,
    PriceUnit,
    Quantity,
    Record,
    Request,
    Source,
    Stock,
)
from scrapers.readers import At, read_json

HOST = "https://api.scaleway.com"
ZONES = ("fr-par-1", "fr-par-2", "nl-ams-1", "pl-waw-2")
CATALOGUE_PAGE = 1000
STOCK_PAGE = 100
SMALLEST_FULL_PAGE = 50  # what a page holds where the API does not heed per_page


def _catalogue(zone: str, page: int) -> Request:
    query = urlencode(
        [("page", page), ("page_size", CATALOGUE_PAGE), ("product_types", "instance"), ("zone", zone)]
        + [("status", status) for status in ("general_availability", "public_beta", "end_of_new_features")]
    )
    return Request(
        f"catalogue-{zone}-{page}", f"{HOST}/product-catalog/v2alpha1/public-catalog/products?{query}"
    )


def _stock(zone: str, page: int) -> Request:
    path = f"/instance/v1/zones/{zone}/products/servers/availability"
    return Request(f"stock-{zone}-{page}", f"{HOST}{path}?per_page={STOCK_PAGE}&page={page}")


SOURCE = Source(
    id="scaleway",
    name="Scaleway",
    segment="neocloud",
    homepage="https://www.scaleway.com/",
    pricing_url="https://www.scaleway.com/en/pricing/gpu/",
    requests=tuple(ask(zone, 1) for zone in ZONES for ask in (_catalogue, _stock)),
    allowed_hosts=("api.scaleway.com",),
    terms="unknown",
    terms_url="https://www.scaleway.com/",
    terms_note="the product catalogue API is public; terms not read",
    terms_reviewed_on=date(2025, 10, 28),
    last_proof="2026-08-14: part of the catalogue recorded and parsed, as the stock of 2026-07-03",
    min_listings=5,
    billing_increment_s=60,
    billing_source="https://github.com/scaleway/docs-content/pull/5727/files",
)

UNITS: dict[str, tuple[PriceUnit, int]] = {"minute": ("minute", 60), "hour": ("hour", 3600)}
AVAILABILITIES: dict[str, Availability] = {
    "available": "in_stock",
    "scarce": "low",
    "shortage": "out_of_stock",
}


def parse(payload: Payload) -> Iterator[Record]:
    """Listings of the GPU plans with the count of all plans, or the stock of all plans.

    The stock does not say which plans have a GPU.
    """
    top = At(payload.part, read_json(payload))
    if "products" in top:
        yield PageCount(
            list_name=f"catalogue {_zone(payload) or 'of no zone'}",
            declared=top["total_count"].integer(),
            rows=len(top["products"]),
            place="total_count",
        )
        for product in top["products"]:
            gpu = product["properties"]["hardware"].get("gpu")
            if gpu.value is not None and gpu["count"].decimal():
                yield _catalogue_listing(product, gpu)
        return
    for plan, server in top["servers"].items():
        if "availability" in server:
            yield _stock_of(plan, server, _zone(payload))
        elif server["gpu"].value:
            yield _instance_listing(plan, server, _zone(payload))


def follow(payload: Payload) -> Iterator[Request]:
    """The next page of the catalogue or of the stock, where there is one."""
    top, zone = At(payload.part, read_json(payload)), _zone(payload)
    page = int(parse_qs(urlsplit(payload.url).query).get("page", ["1"])[0])
    if zone is None:
        return
    if "products" in top:
        rows = len(top["products"])
        if rows and page * rows < top["total_count"].integer():
            yield _catalogue(zone, page + 1)
    elif len(top["servers"]) >= SMALLEST_FULL_PAGE:
        yield _stock(zone, page + 1)


def _zone(payload: Payload) -> str | None:
    """The zone that was asked for, from the path or the query of the address."""
    parts = urlsplit(payload.url)
    in_path = re.search(r"/zones/([\w-]+)/", parts.path)
    in_query = parse_qs(parts.query).get("zone")
    return in_path[1] if in_path else in_query[0] if in_query else None


def _catalogue_listing(product: At, gpu: At) -> Listing:
    hardware, price = product["properties"]["hardware"], product["price"]["retail_price"]
    unit, increment_s = _unit(product["unit_of_measure"]["unit"])
    status = product["status"].text()
    return Listing(
        provider="scaleway",
        product="gpu_instances",
        plan=product["product"].text(),
        gpu_text=gpu["type"].text(),
        gpu_count=gpu["count"].decimal(),
        vcpus=hardware["cpu"]["virtual"]["count"].decimal(),
        ram=Quantity(hardware["ram"]["size"].decimal(), "bytes"),
        price=_amount(price) / product["unit_of_measure"]["size"].decimal(),
        currency=price["currency_code"].text(),
        price_per="instance",
        price_unit=unit,
        purchase="on_demand",
        region_text=product["locality"]["zone"].text(),
        billing_increment_s=increment_s,
        note=None if status == "general_availability" else f"status: {status}",
        place=product.place,
    )


def _unit(unit: At) -> tuple[PriceUnit, int]:
    if unit.text() not in UNITS:
        raise unit.broken(f"{unit.value!r} is not one of {', '.join(UNITS)}")
    return UNITS[unit.text()]


def _amount(price: At) -> Decimal:
    return price["units"].decimal() + price["nanos"].decimal() / 10**9


def _instance_listing(plan: str, server: At, zone: str | None) -> Listing:
    gpu = server["gpu_info"]
    name, profile = gpu["gpu_name"].text(), server.get("mig_profile").text_or_none()
    return Listing(
        provider="scaleway",
        product="gpu_instances",
        plan=plan,
        gpu_text=name if profile is None else f"{name} MIG {profile}",
        gpu_count=server["gpu"].decimal(),
        gpu_memory=Quantity(gpu["gpu_memory"].decimal(), "bytes"),
        vcpus=server["ncpus"].decimal(),
        ram=Quantity(server["ram"].decimal(), "bytes"),
        price=server["hourly_price"].decimal(),
        currency="EUR",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=zone,
        note="end of service" if server.get("end_of_service").value else None,
        place=server.place,
    )


def _stock_of(plan: str, server: At, zone: str | None) -> Stock:
    said = server["availability"].text()
    return Stock(
        provider="scaleway",
        plan=plan,
        region_text=zone,
        availability=AVAILABILITIES.get(said, "unknown"),
        availability_text=said,
        place=server.place,
    )
