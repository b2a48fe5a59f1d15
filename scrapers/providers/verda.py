"""Verda, formerly DataCrunch: whole instances, through the public list of instance types.

Prices are texts, per instance and hour; `gpu_memory` is the total of the instance. `spot_price` is a listing of
its own. CPU nodes have no GPU and are left out. `dynamic_price` is left out too: it is a second way to pay on
demand, moves by about a percent a day, and the list does not say what is promised for it.

The list names no place. Stock is another answer, told apart by its content: locations with the instance types
that can be had there, on demand or as spot as the address asked. It needs a key of a kind that is not supported
here, so it is read from files only.

The price page is read from files too, to check the API: one table for each GPU, whose columns are known by their
heads, with the same whole instances, dynamic prices left out; or, since 2026, offers in JSON-LD with names such as
"1x H100 SXM5 80GB on-demand". The tables are as recorded in August 2025; the JSON-LD was not recorded, and is as
described in 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

from bs4 import Tag

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source, Stock
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, html, json_ld, money, number, read_json, text

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
    last_proof="2026-08-19: part of an answer recorded and parsed, as a table of the page of 2025-08-08",
    min_listings=5,
    default_on=False,
    off_reason="the terms are reported to forbid scraping: turn it on after reading them",
)


PAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
# Columns of the page that are needed, and the heads of its prices.
INSTANCE, GPU, COUNT = "instance name", "gpu model", "gpu"
PRICES: dict[str, PurchaseKind] = {"on demand price": "on_demand", "spot price": "spot"}
OFFER = re.compile(r"((\d{1,2}) ?x (.{1,60}?))[ ,|(–-]+(on[- ]demand|spot)(?: price)?\)?", re.IGNORECASE)


def parse(payload: Payload) -> Iterator[Listing | Stock]:
    """On-demand and spot listings of the GPU types, or the stock per location.

    Raises:
        PayloadShapeError: A field or a column is missing or of another kind, or no instance with a GPU and a price.
    """
    if PAGE_START.match(payload.body):
        yield from _page(payload)
        return
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


def _page(payload: Payload) -> list[Listing]:
    """The listings of the tables of the page, or of its JSON-LD where it has no such table."""
    page = html(payload)
    rows = [
        listing
        for index, cells in enumerate(_table_rows(page))
        for listing in _of_row(payload.part, f"row {index}", cells)
    ]
    nodes = [] if rows else json_ld(payload.part, page)
    waiting = [At(payload.part, node, f"JSON-LD[{index}]") for index, node in enumerate(nodes)]
    listings = rows or [listing for offer in _offers(waiting) for listing in _of_offer(offer)]
    if not any(listing.price for listing in listings):
        problem = f"no price under the heads {', '.join(PRICES)}, and no offer such as '1x H100 ... spot'"
        raise PayloadShapeError(payload.part, "tables", problem)
    return listings


def _table_rows(page: Tag) -> Iterator[dict[str, str]]:
    """The rows of instances by their heads, which are the run of th before them, in a table or in a cut-off one."""
    heads: list[str] = []
    is_done = True
    for tag in page.find_all(["th", "tr"]):
        if tag.name == "th":
            heads = [] if is_done else heads
            heads.append(text(tag).lower().replace("-", " ").rstrip(" *"))
            is_done = False
            continue
        cells = [text(cell) for cell in tag.find_all("td", recursive=False)]
        is_done = is_done or bool(cells)
        if len(cells) == len(heads) and {INSTANCE, GPU, COUNT} <= set(heads) and PRICES.keys() & set(heads):
            yield dict(zip(heads, cells, strict=True))


def _of_row(part: str, place: str, cells: dict[str, str]) -> Iterator[Listing]:
    count, memory, ram = (number(cells.get(head, "")) for head in (COUNT, "vram", "ram"))
    if not count:
        raise PayloadShapeError(part, place, f"{short(cells[COUNT])} is no count of GPUs")
    for head, purchase in PRICES.items():
        said = money(cells.get(head, ""))
        if head not in cells or (said.is_blank and purchase == "spot"):
            continue
        if said.amount is not None and (
            said.unit not in (None, "hour") or said.per not in (None, "instance")
        ):
            raise PayloadShapeError(part, f"{place} '{head}'", f"{short(cells[head])} is no price per hour")
        yield Listing(
            provider="verda",
            product=purchase,
            plan=cells[INSTANCE],
            gpu_text=cells[GPU],
            gpu_count=count,
            gpu_memory=None if memory is None else Quantity(memory, "GB"),
            gpu_memory_is_total=True,
            link_text=cells.get("p2p", "").strip("/-– ") or None,
            vcpus=number(cells.get("cpu", "")),
            ram=None if ram is None else Quantity(ram, "GB"),
            price=said.amount,
            currency=said.currency,
            price_per="instance",
            price_unit="hour",
            price_state=said.state,
            purchase=purchase,
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=cells[head] or None if said.amount is None else None,
            place=f"{place} '{head}'",
        )


def _offers(waiting: list[At]) -> Iterator[At]:
    """The mappings with a name and a price, wherever they stand within values, in their order."""
    waiting = waiting[::-1]
    while waiting:
        here = waiting.pop()
        if isinstance(here.value, dict):
            if isinstance(here.value.get("name"), str) and ("price" in here or "priceSpecification" in here):
                yield here
            waiting += [inner for _, inner in here.items()][::-1]
        elif isinstance(here.value, list):
            waiting += list(here)[::-1]


def _of_offer(offer: At) -> Iterator[Listing]:
    named = OFFER.fullmatch(offer["name"].text())
    if named is None:
        return
    purchase: PurchaseKind = "spot" if named[4].lower() == "spot" else "on_demand"
    shown = offer if "price" in offer else offer["priceSpecification"]
    yield Listing(
        provider="verda",
        product=purchase,
        plan=named[1],
        gpu_text=named[3],
        gpu_count=Decimal(named[2]),
        price=shown["price"].decimal(),
        currency=shown["priceCurrency"].text().upper(),
        price_per="instance",
        price_unit="hour",
        purchase=purchase,
        availability="listed_only",
        place=offer.place,
    )
