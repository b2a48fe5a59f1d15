"""RunPod: pods of the secure and the community cloud, through the GraphQL query that its own page asks.

Prices are per GPU and hour. A pool that does not offer a card has 0, which is passed on as said, or null. A
price of exactly 0.5 is what stands where a pool has no card (it is the same for an MI300X and a 6 GB card): a
lower bound, never ranked. The spot fields repeat the on-demand price since spot pods are no longer sold, and
`clusterPrice` says nothing of the cluster that it is for: neither is asked for, nor read. The prices for one,
three and six months are savings plans, paid in advance. `stockStatus` is of the card in both pools together.
Regions do not change the price and are not asked.

The price page is read from files, to check the API. Its prices are per GPU and hour too, and lag by weeks:

2026  JSON-LD: a product "H100 SXM GPU on Runpod" with an offer of the secure and one of the community cloud
2025  rows that show "$ 0 /s" until a script runs; the prices are in attributes such as `data-secure-cloud-price`
2023  the answer of the API, in the data that the page carries for its script

Spot prices of old pages, and serverless prices, are not read. The rows are as recorded in September 2025; the other
two were not recorded: JSON-LD is as described in August 2026, the data of 2023 by the names that a collector reads.

Off by default, for the terms are reported to forbid automated access.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from bs4 import Tag

from scrapers.contract import (
    Availability,
    Listing,
    Payload,
    PriceUnit,
    PurchaseKind,
    Quantity,
    Request,
    Segment,
    Source,
)
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, html, json_ld, money, number, quantity, read_json, text

QUERY = (
    "{ gpuTypes { id displayName memoryInGb securePrice communityPrice oneMonthPrice threeMonthPrice "
    " sixMonthPrice maxGpuCount lowestPrice(input: {gpuCount: 1}) { stockStatus } } }"
)

SOURCE = Source(
    id="runpod",
    name="RunPod",
    segment="neocloud",
    homepage="https://www.runpod.io/",
    pricing_url="https://www.runpod.io/pricing",
    requests=(
        Request(
            part="gpu_types",
            url="https://api.runpod.io/graphql",
            method="POST",
            headers=(("Content-Type", "application/json"),),
            body=json.dumps({"query": QUERY}).encode(),
        ),
    ),
    allowed_hosts=("api.runpod.io",),
    terms="restricted",
    terms_url="https://www.runpod.io/legal/disclaimer",
    terms_note="reported on 2026-07-27 to forbid automated access; the clause was not read",
    terms_reviewed_on=date(2026, 8, 20),
    last_proof="2026-09: answer recorded and parsed, as the page of 2025-09-09",
    min_listings=20,
    default_on=False,
    off_reason="the terms are reported to forbid automated access: turn it on after reading them",
    billing_increment_s=1,
    billing_source="https://docs.runpod.io/pods/pricing",
)

PLACEHOLDER = Decimal("0.5")
AVAILABILITIES: dict[str, Availability] = {"High": "in_stock", "Medium": "in_stock", "Low": "low"}


class Way(NamedTuple):
    """One way to buy a card, and the field that holds its price."""

    field: str
    product: str
    segment: Segment
    purchase: PurchaseKind
    term_months: int | None


WAYS = (
    Way("securePrice", "pods_secure", "neocloud", "on_demand", None),
    Way("communityPrice", "pods_community", "peer_host", "on_demand", None),
    Way("oneMonthPrice", "savings_plan", "neocloud", "reserved", 1),
    Way("threeMonthPrice", "savings_plan", "neocloud", "reserved", 3),
    Way("sixMonthPrice", "savings_plan", "neocloud", "reserved", 6),
)


SECURE, COMMUNITY = WAYS[:2]
PAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
ROW_CLASS = frozenset({"gpu-pricing-row", "gpu_table-row"})
ROW = ".gpu-pricing-row, .gpu_table-row"
PRICE = "[data-secure-cloud-price]"
SPEC = "gpu-pricing-row__tags"
ROW_NAME = ".gpu-pricing-row__model-wrapper, [class*=gpu_name]"
ROW_PRICES = {
    SECURE: ("data-secure-cloud-price", "data-secure"),
    COMMUNITY: ("data-community-cloud-price", "data-community"),
}
ROW_SPEC = re.compile(r"(\d{1,5}) ?(GB VRAM|GB RAM|vCPU)")
PRODUCT_NAME = re.compile(r"(.{1,80}?)(?: GPUs?)?(?: on runpod)?", re.IGNORECASE)
UNITS: dict[str, PriceUnit] = {"SEC": "second", "MIN": "minute", "HUR": "hour", "DAY": "day", "MON": "month"}


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per card and way to buy it that states a price, be it 0.

    Raises:
        PayloadShapeError: A field is missing or of another kind, or no card of a page has a price.
    """
    if PAGE_START.match(payload.body):
        yield from _of_page(payload)
        return
    for gpu in At(payload.part, read_json(payload))["data"]["gpuTypes"]:
        yield from _of_gpu(gpu)


def _of_gpu(gpu: At) -> Iterator[Listing]:
    """The listings of one card as the API describes it."""
    memory_gb = gpu["memoryInGb"].decimal()
    most = gpu.get("maxGpuCount").integer_or_none()
    stock = gpu.get("lowestPrice").get("stockStatus").text_or_none() if gpu.get("lowestPrice") else None
    for way in WAYS:
        price = gpu.get(way.field).decimal_or_none()
        if price is not None:
            yield replace(
                _listing(
                    way,
                    gpu["displayName"].text(),
                    price,
                    gpu.place,
                    f"up to {most} GPUs in a pod" if most else None,
                ),
                gpu_text=gpu["id"].text(),
                gpu_memory=Quantity(memory_gb, "GB") if memory_gb else None,
                availability=AVAILABILITIES.get(stock or "", "unknown"),
                availability_text=f"stock of both pools: {stock}" if stock else None,
            )


def _listing(way: Way, name: str, price: Decimal | None, place: str, note: str | None = None) -> Listing:
    """What every listing of a card has, whatever it is read from."""
    is_placeholder = price == PLACEHOLDER
    notes = ["0.5 stands where the pool has no card" if is_placeholder else None, note]
    return Listing(
        provider="runpod",
        product=way.product,
        segment=way.segment,
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(1),
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price" if is_placeholder else "priced",
        purchase=way.purchase,
        term_months=way.term_months,
        note="; ".join(note for note in notes if note) or None,
        place=place,
    )


def _of_page(payload: Payload) -> list[Listing]:
    """The listings of the price page: of its rows where they have prices, else of the data that it carries."""
    page = html(payload)
    rows = [one for index, row in enumerate(_rows(page)) for one in _of_row(row, f"row {index}")]
    if any(one.price is not None for one in rows):
        return rows
    nodes = [
        At(payload.part, node, f"JSON-LD[{index}]") for index, node in enumerate(json_ld(payload.part, page))
    ]
    found = [one for product in _walk(nodes, "@type", "Product") for one in _of_product(product)]
    script = page.find("script", id="__NEXT_DATA__")
    if not found and isinstance(script, Tag) and script.string:
        data = At(payload.part, read_json(replace(payload, body=script.string.encode())), "__NEXT_DATA__")
        found = [one for gpu in _walk([data], "__typename", "GpuType") for one in _of_gpu(gpu)]
    if not found:
        problem = f"no price in {len(rows)} rows, in JSON-LD of a product, or in the data of the page"
        raise PayloadShapeError(payload.part, ROW, problem)
    # Data may stand in a page twice.
    return list({(one.plan, one.product, one.price): one for one in reversed(found)}.values())[::-1]


def _walk(values: list[At], key: str, kind: str) -> Iterator[At]:
    """The mappings of a kind, wherever they stand within values, in their order."""
    waiting = values[::-1]
    while waiting:
        here = waiting.pop()
        if isinstance(here.value, dict):
            named = here.value.get(key)
            if named == kind or (isinstance(named, list) and kind in named):
                yield here
            else:
                waiting += [inner for _, inner in here.items()][::-1]
        elif isinstance(here.value, list):
            waiting += list(here)[::-1]


def _rows(page: Tag) -> Iterator[tuple[str, str, Tag]]:
    """The name, the specification and the tag with the prices of each row; of one that lacks its beginning too."""
    for tag in page.select(f"{ROW}, {PRICE}"):
        if tag.find_parent(class_=list(ROW_CLASS)):
            continue
        is_whole = bool(ROW_CLASS.intersection(tag.get("class") or ()))
        name = (
            tag.select_one(ROW_NAME)
            if is_whole
            else tag.find_previous(attrs={"data-gradient": "text-secondary"})
        )
        spec = tag if is_whole else tag.find_previous(class_=SPEC)
        if isinstance(name, Tag) and text(name):
            yield text(name), text(spec) if isinstance(spec, Tag) else "", tag


def _of_row(row: tuple[str, str, Tag], place: str) -> Iterator[Listing]:
    """The prices in the attributes of a row; without one where the row is cut off before them."""
    name, shown, tag = row
    spec = {found[2]: number(found[1]) for found in ROW_SPEC.finditer(shown)}
    memory, ram = spec.get("GB VRAM"), spec.get("GB RAM")
    prices = {way: _attribute(tag, names) for way, names in ROW_PRICES.items()}
    is_cut_off = not any(prices.values())
    for way, price in prices.items():
        if price or is_cut_off:
            note = "the row ends before its prices" if is_cut_off else None
            yield replace(
                _listing(way, name, money(price).amount, place, note),
                gpu_memory=None if memory is None else Quantity(memory, "GB"),
                vcpus=spec.get("vCPU"),
                ram=None if ram is None else Quantity(ram, "GB"),
                availability="unknown" if is_cut_off else "listed_only",
            )


def _attribute(row: Tag, names: tuple[str, ...]) -> str:
    """The first of the attributes that a row, or a tag in it, has."""
    tags = (row, *row.select(",".join(f"[{name}]" for name in names)))
    return next((str(tag[name]).strip() for tag in tags for name in names if tag.has_attr(name)), "")


def _of_product(product: At) -> Iterator[Listing]:
    """The offers of a product that name a pool; its lowest and highest price say nothing of where."""
    named = PRODUCT_NAME.fullmatch(product["name"].text())
    if named is None or "offers" not in product:
        return
    memory = next(
        (
            quantity(str(entry.value.get("value")))
            for entry in _walk([product.get("additionalProperty")], "@type", "PropertyValue")
            if "vram" in str(entry.value.get("name")).lower()
        ),
        None,
    )
    for offer in _walk([product["offers"]], "@type", "Offer"):
        pool = str(offer.value.get("name")).lower()
        way = SECURE if "secure" in pool else COMMUNITY if "community" in pool else None
        if way is None:
            continue
        specification = offer.get("priceSpecification") or offer
        specification = specification[0] if isinstance(specification.value, list) else specification
        shown = offer if offer.get("price") else specification
        if shown["priceCurrency"].text() != "USD":
            raise shown["priceCurrency"].broken("not USD, in which all its prices are")
        stock = str(offer.value.get("availability") or "").rpartition("/")[2]
        yield replace(
            _listing(way, named[1], shown["price"].decimal(), offer.place),
            gpu_memory=memory,
            price_unit=_unit(specification),
            availability="out_of_stock" if stock in ("OutOfStock", "SoldOut") else "listed_only",
            availability_text=stock or None,
        )


def _unit(specification: At) -> PriceUnit:
    """The time that a price is for, by its code or its words; an hour where nothing is said."""
    specification = specification.get("referenceQuantity") or specification
    if (code := specification.get("unitCode")) and code.text() in UNITS:
        return UNITS[code.text()]
    if words := specification.get("unitText"):
        unit = money(f"$1 per {words.text()}").unit
        if unit is None:
            raise words.broken("not a time that is known")
        return unit
    if code:
        raise code.broken("not a time that is known")
    return "hour"
