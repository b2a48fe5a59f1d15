"""Beam: the price list of its documentation.

Prices are in USD per GPU and second, with the rounded price of an hour beside it, which must agree. CPU cores and RAM
are rows of the same table and are billed on top; file storage is included. All other rows are GPUs. Billed by the
second while a container runs, the time that it is kept warm too. Older versions of the page had other prices and
more GPUs; it bears no date. The page for customers at www.beam.cloud is said to tie the same prices to a committed
spend, and rents by the hour too, which is another product. No stock, no regions, no VRAM.

Shape as in stored copies of the page and of its Markdown, undated.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.markdown import doc_tables
from scrapers.readers import Money, Table, money

URL = "https://docs.beam.cloud/v2/resources/pricing-and-billing"

SOURCE = Source(
    id="beam",
    name="Beam",
    segment="serverless",
    homepage="https://www.beam.cloud/",
    pricing_url=URL,
    requests=(Request("price_list", f"{URL}.md"),),
    allowed_hosts=("docs.beam.cloud",),
    terms="unknown",
    terms_url="https://www.beam.cloud/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="undated: copies of the documentation page read; no answer recorded",
    min_listings=1,
    billing_increment_s=1,
    billing_source=URL,
)

HEADS = ("resource", "price (per second)", "price (per hour)")
EXTRAS, INCLUDED = ("CPU", "RAM"), "File Storage"
SECONDS_PER_HOUR = 3600


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row of a GPU.

    Raises:
        PayloadShapeError: No price list, a price that is not readable or contradicts the other, or no GPU.
    """
    lists = [table for table in doc_tables(payload) if _heads(table)[:3] == HEADS]
    if len(lists) != 1:
        raise PayloadShapeError(
            payload.part, "price list", f"{len(lists)} tables with heads {', '.join(HEADS)}"
        )
    rows = [dict(zip(HEADS, row, strict=False)) for row in lists[0].rows]
    on_top = [f"{row['resource']} {row['price (per second)']}" for row in rows if row["resource"] in EXTRAS]
    note = f"on top, per second: {', '.join(on_top)}" if on_top else "CPU and RAM are billed on top"
    listings = [
        _listing(payload.part, index, row, note)
        for index, row in enumerate(rows)
        if row["resource"] not in (*EXTRAS, INCLUDED)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "price list", f"none of {len(rows)} rows is a GPU with a price")
    return listings


def _heads(table: Table) -> tuple[str, ...]:
    return tuple(head.lower() for head in table.header)


def _listing(part: str, index: int, row: dict[str, str], note: str) -> Listing:
    said = _price(part, f"price list row {index}", row)
    check_one_gpu(part, f"price list row {index}", row["resource"])
    return Listing(
        provider="beam",
        product="serverless",
        plan=row["resource"],
        gpu_text=row["resource"].removesuffix(" GPU"),
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="second",
        price_state=said.state,
        purchase="on_demand",
        place=f"price list row {index}",
        gpu_count=Decimal(1),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(row["price (per second)"] or None) if said.amount is None else None,
        note=note,
    )


def _price(part: str, place: str, row: dict[str, str]) -> Money:
    """The price per second, which that of the hour must agree with to two hundredths."""
    cell, hour_cell = row["price (per second)"], row["price (per hour)"]
    said, hour = priced(part, place, cell, units=(None, "second")), money(hour_cell)
    if said.amount and hour.amount and abs(said.amount * SECONDS_PER_HOUR - hour.amount) * 50 > hour.amount:
        problem = f"{short(cell)} a second and {short(hour_cell)} an hour do not agree"
        raise PayloadShapeError(part, place, problem)
    return said
