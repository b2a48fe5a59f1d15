"""Neysa: GPU cloud in India, on the public price page.

Prices are in USD per GPU and hour. The page was seen in two forms by those who read it. Cards bind a name with its
VRAM, "H100 SXM (80GB)", to "Starts at $4.39 / hour", which is a lower bound. A table has the price on demand and those
of commitments (1 month, 6 months, 1 year, 3 years) in columns. A table goes before cards, which repeat its first
column. VRAM is of one GPU. No stock; the place is India, which the page does not say for each row.

Shape by two readers of 2026-05 and 2026; the page itself was not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_gpu, check_one_price, priced
from scrapers.contract import Listing, Payload, PriceState, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Money, Table, html, money, quantity, tables, text

URL = "https://neysa.ai/pricing/"

SOURCE = Source(
    id="neysa",
    name="Neysa",
    segment="neocloud",
    homepage="https://neysa.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("neysa.ai", "www.neysa.ai"),
    terms="unknown",
    terms_url="https://neysa.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 5, 31),
    last_proof="2026-05: page described by its readers; page not seen",
    min_listings=2,
)

# Column: what it sells, and the months of the commitment.
PRICES: dict[str, tuple[PurchaseKind, int | None]] = {
    "on-demand": ("on_demand", None),
    "1 month": ("reserved", 1),
    "6 months": ("reserved", 6),
    "1 year": ("reserved", 12),
    "3 years": ("reserved", 36),
}
NAME = re.compile(r"([^()]{2,40}) \((\d{1,3} ?GB)\)")
NEXT_NAME = re.compile(r"\(\d{1,3} ?GB\)")
STARTS_AT = re.compile(r"Starts at (\$ ?\d{1,4}(?:\.\d{1,4})? ?/ ?\w{1,10})")
STRINGS_OF_A_CARD = 14


def parse(payload: Payload) -> list[Listing]:
    """The rows of the table by their columns; where there is none, the cards.

    Raises:
        PayloadShapeError: Neither, a price that is not per hour in USD or that is a second one for the same, a
            commitment dearer than on demand, a name that counts GPUs, or no price at all.
    """
    page = html(payload)
    rows = [
        table for table in tables(page) if {"gpu", "on-demand"} <= {head.lower() for head in table.header}
    ]
    listings = [listing for table in rows for listing in _table_rows(payload.part, table)]
    if not listings:
        listings = list(_cards(payload.part, page))
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(
            payload.part, "table or cards", "no GPU with a price: no column, no 'Starts at'"
        )
    check_one_price(payload.part, listings)
    return listings


def _table_rows(part: str, table: Table) -> Iterator[Listing]:
    for index, record in enumerate(table.records()):
        cells = {head.lower(): cell for head, cell in record.items()}
        for column, (purchase, months) in PRICES.items():
            if column not in cells:
                continue
            place = f"table row {index} '{column}'"
            said = priced(part, place, cells[column])
            on_demand = money(cells["on-demand"]).amount
            if said.amount and on_demand and said.amount > on_demand:
                raise PayloadShapeError(part, place, f"{short(cells[column])} is more than on demand costs")
            check_one_gpu(part, place, cells["gpu"])
            said_none = (cells[column] or "empty") if said.amount is None else None
            yield _listing(cells["gpu"], None, said, said.state, purchase, months, said_none, place)


def _cards(part: str, page: Tag) -> Iterator[Listing]:
    """A listing for each paragraph that is a name with its VRAM, at the price that stands behind it."""
    for index, tag in enumerate(page.find_all("p")):
        named = NAME.fullmatch(text(tag))
        if named is None:
            continue
        strings = tag.find_all_next(string=True, limit=STRINGS_OF_A_CARD)
        behind = " ".join(" ".join(strings).split()).partition(named[2])[2].removeprefix(")")
        price = STARTS_AT.search(NEXT_NAME.split(behind)[0])
        place = f"p {index}"
        said = priced(part, place, price[1] if price else "")
        said_none = None if price else "no 'Starts at'"
        state: PriceState = "from_price" if price else "priced"
        yield _listing(named[1], quantity(named[2]), said, state, "on_demand", None, said_none, place)


def _listing(
    name: str,
    vram: Quantity | None,
    said: Money,
    state: PriceState,
    purchase: PurchaseKind,
    months: int | None,
    said_none: str | None,
    place: str,
) -> Listing:
    return Listing(
        provider="neysa",
        product="gpu",
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(1),
        gpu_memory=vram,
        price=said.amount,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state=state,
        purchase=purchase,
        term_months=months,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=said_none,
        place=place,
    )
