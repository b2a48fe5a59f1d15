"""Hydra Host: bare metal of many data centres, through the open lists of its platform Brokkr.

One list has, per kind of card, the lowest price at which a machine of it starts; the other how many machines are
free, reservable and on order. A kind is a name as the driver has it, in small letters ("nvidia h100 nvl"), and the
stock is joined to it by that name. Prices are in USD; that they are per GPU and hour is how others read them, and
nothing in the answer says so. They start prices, no offers, and never ranked. Machines without a GPU are kinds too
("cpu"), and are left out.

Off by default, for a price whose unit rests on hearsay helps nobody. Lists come in pages of up to 100; the field
`meta.totalPages` says how many. Shape as a client read it in autumn 2026 and as its schema describes it; no answer of
it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from urllib.parse import parse_qsl, urlencode, urlsplit

from scrapers.contract import Listing, Payload, Record, Request, Source, Stock
from scrapers.readers import At, read_json

URL = "https://brokkr.hydrahost.com/api/v1/inventory"

SOURCE = Source(
    id="hydra_host",
    name="Hydra Host",
    segment="bare_metal",
    homepage="https://hydrahost.com/",
    pricing_url="https://hydrahost.com/",
    requests=(
        Request("prices-1", f"{URL}/category-prices?page=1&pageSize=100"),
        Request("availability-1", f"{URL}/category-availability?page=1&pageSize=100"),
    ),
    allowed_hosts=("brokkr.hydrahost.com",),
    terms="unknown",
    terms_url="https://hydrahost.com/",
    terms_note="terms not read; the schema of the platform marks both lists as public",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026: read by the code of a client; no answer recorded",
    min_listings=3,
    default_on=False,
    off_reason="start prices whose unit the source does not state: turn it on after comparing them with the page",
)

LARGEST_PAGES = 20


def parse(payload: Payload) -> Iterator[Record]:
    """A listing per kind with its start price, or how many machines of each kind are free.

    Raises:
        PayloadShapeError: No kinds of card, or a field is missing or of another kind.
    """
    rows = [row for row in _rows(payload) if not row["category"].text().startswith("cpu")]
    if not rows:
        raise At(payload.part, None).broken("no kind of card in the list")
    return (_listing(row) if "startPrice" in row else _stock(row) for row in rows)


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, where the answer says that there are more."""
    top = At(payload.part, read_json(payload))
    meta = top.get("meta") if isinstance(top.value, dict) else None
    pages = meta.get("totalPages").integer_or_none() or 1 if meta else 1
    url = urlsplit(payload.url)
    query = dict(parse_qsl(url.query))
    page = int(query["page"]) if query.get("page", "").isdecimal() and len(query["page"]) < 4 else 1
    if page < min(pages, LARGEST_PAGES):
        asked = url._replace(query=urlencode(query | {"page": str(page + 1)}))
        yield Request(f"{payload.part.rpartition('-')[0] or payload.part}-{page + 1}", asked.geturl())


def _rows(payload: Payload) -> At:
    """The rows: the field `data` of the answer, or a list of them."""
    top = At(payload.part, read_json(payload))
    return top if isinstance(top.value, list) else top["data"]


def _listing(row: At) -> Listing:
    name = row["category"].text()
    return Listing(
        provider="hydra_host",
        product="bare_metal",
        plan=name,
        gpu_text=name,
        price=row["startPrice"].decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price",
        purchase="on_demand",
        availability="unknown",
        note="lowest start price; per GPU and hour as others read it",
        place=row.place,
    )


def _stock(row: At) -> Stock:
    free = row["onDemandCount"].integer()
    later = [
        f"{count} {what}"
        for what, field in (("reservable", "reserveCount"), ("on order", "preorderCount"))
        if (count := row.get(field).integer_or_none())
    ]
    return Stock(
        provider="hydra_host",
        plan=row["category"].text(),
        region_text=None,
        availability="in_stock" if free > 0 else "out_of_stock",
        availability_text=", ".join([f"{free} machines free", *later]),
        purchase="on_demand",
        place=row.place,
    )
