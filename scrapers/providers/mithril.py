"""Mithril, formerly ML Foundry: an auction of GPU nodes, through its API, which needs a key.

The first answer is the list of instance types: name, id, GPUs. It has no price. The price of each type is an answer
of its own, in whole cents per hour for the whole instance, and holds neither name nor id: the name is carried in the
part of the question, "price-h100-80gb.sxm.8x". The name says the kind and the number of the GPUs.

* `minimum_price_cents` is the reserve price: nobody bids below it, and nobody is sure to get it. It is a bid floor.
* `spot_price_cents` is what all winners of the blind second-price auction pay now, per machine, until the next round.
* `reserved_price_cents` is the price of a reservation of 3 hours to 2 weeks, which varies from hour to hour.

A price that is missing or null has no listing, but the reserve price must be there. A spot price that is not above the
reserve price says no more than that one, and is a bid floor too. `available_capacity` is the stock of all three; the
answer is of all regions, so a listing has none. Two types of one name are told apart by the id in the part.

Types and the reserve price as SkyPilot read them in 2026, the reservation as another collector did; the spot price
was not seen in an answer. No answer was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import urlencode

from scrapers.contract import (
    Auth,
    Availability,
    Listing,
    Payload,
    PriceState,
    PurchaseKind,
    Request,
    Source,
)
from scrapers.readers import At, read_json

API = "https://api.mithril.ai/v2"

SOURCE = Source(
    id="mithril",
    name="Mithril (formerly ML Foundry)",
    segment="marketplace",
    homepage="https://mithril.ai/",
    pricing_url="https://mithril.ai/",
    requests=(),
    keyed_requests=(Request("types", f"{API}/instance-types"),),
    auth=Auth("MITHRIL_API_KEY"),
    allowed_hosts=("api.mithril.ai",),
    terms="unknown",
    terms_url="https://mithril.ai/",
    terms_note="the API is documented for its customers; terms not read",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: read by the code of SkyPilot; no answer recorded",
    min_listings=1,
)


class _Way(NamedTuple):
    """A way to buy: the field of its price, and what it is."""

    field: str
    product: str
    purchase: PurchaseKind
    state: PriceState
    note: str


WAYS = (
    _Way("minimum_price_cents", "spot_floor", "spot", "bid_floor", "reserve price of the auction"),
    _Way("spot_price_cents", "spot", "spot", "priced", "what winners of the auction pay now"),
    _Way(
        "reserved_price_cents", "reservation", "reserved", "priced", "for 3 hours to 2 weeks, paid in advance"
    ),
)
NAME_IN_PART = re.compile(r"price-(?:id-[\w-]+\.)?([A-Za-z0-9][\w.-]*)$", re.ASCII)
COUNT_IN_NAME = re.compile(r"\.(\d{1,3})x$")
PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,80}", re.ASCII)
PLAIN_ID = re.compile(r"[\w-]{1,60}", re.ASCII)


def parse(payload: Payload) -> Iterator[Listing]:
    """The listings of one instance type; none of the list of types, which is checked."""
    top = At(payload.part, read_json(payload))
    if isinstance(top.value, list):
        _types(top)
        return
    floor = top["minimum_price_cents"]
    name = NAME_IN_PART.search(payload.part)
    if not name:
        raise floor.broken("the name of the part says no instance type, as price-h100-80gb.sxm.8x does")
    least = floor.decimal()
    for way in WAYS:
        cents = top.get(way.field).decimal_or_none()
        if cents is not None:
            is_floor = way.purchase == "spot" and cents <= least
            state: PriceState = "bid_floor" if is_floor else way.state
            yield _listing(top, name[1], way, state, cents / 100)


def follow(payload: Payload) -> Iterator[Request]:
    """The price of each instance type in the list."""
    top = At(payload.part, read_json(payload))
    named: set[str] = set()
    for name, type_id in _types(top) if isinstance(top.value, list) else ():
        part = f"price-id-{type_id}.{name}" if name in named else f"price-{name}"
        named.add(name)
        yield Request(part, f"{API}/pricing/current?{urlencode({'instance_type': type_id})}")


def _types(top: At) -> list[tuple[str, str]]:
    """Names and ids of the instance types with GPUs."""
    rows = [row for row in top if row["num_gpus"].integer() > 0]
    if not rows:
        raise top.broken("no instance type has a GPU")
    return [(_plain(row["name"], PLAIN_NAME), _plain(row["fid"], PLAIN_ID)) for row in rows]


def _plain(field: At, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(field.text()):
        raise field.broken(f"{field.text()[:60]!r} cannot stand in an address or a file name")
    return field.text()


def _listing(top: At, name: str, way: _Way, state: PriceState, price: Decimal) -> Listing:
    count = COUNT_IN_NAME.search(name)
    availability, free = _stock(top)
    return Listing(
        provider="mithril",
        product=way.product,
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(count[1]) if count else None,
        price=price,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state=state,
        purchase=way.purchase,
        availability=availability,
        availability_text=None if free is None else f"available_capacity {free}",
        available_count=free,
        note=way.note,
        place=top[way.field].place,
    )


def _stock(top: At) -> tuple[Availability, int | None]:
    free = top.get("available_capacity").integer_or_none()
    if free is None:
        return "unknown", None
    return ("in_stock" if free > 0 else "out_of_stock"), free
