"""Fluidstack: the public price page of January 2025. Off: the company shows no list any more.

A table of prices in USD per GPU and hour, on demand and with a commitment of a year; "n/a" where a GPU is not sold so.
VRAM is of one GPU, and so are vCPUs and RAM, which are the most that can be had. Discounts for volume have no numbers.

Read from the page of 2025-01-09 as an archive keeps it. By September 2025 the page was another one, and in 2026 its
address answered 404: clusters are sold by contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Table, html, money, number, tables

URL = "https://www.fluidstack.io/pricing"

SOURCE = Source(
    id="fluidstack",
    name="Fluidstack",
    segment="neocloud",
    homepage="https://www.fluidstack.io/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.fluidstack.io",),
    terms="unknown",
    terms_url="https://www.fluidstack.io/",
    terms_note="terms not read; nothing is asked",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2025-01-09: page recorded and parsed; in 2026 its address answered 404",
    min_listings=3,
    default_on=False,
    off_reason="shows no list of prices since 2025: contract only",
)

# Column: what it sells, and the months of the commitment.
PRICES: dict[str, tuple[PurchaseKind, int | None]] = {
    "on-demand price (/hr)": ("on_demand", None),
    "1 year price (/hr)": ("reserved", 12),
}
COLUMNS = ("model", "vram (gb)", "max vcpus per gpu", "max ram (gb) per gpu", *PRICES)


def parse(payload: Payload) -> list[Listing]:
    """Two listings for each GPU: on demand and for a year.

    Raises:
        PayloadShapeError: No table with these columns, a price that is not understood, or no price at all.
    """
    found = [
        table for table in tables(html(payload)) if set(COLUMNS) <= {head.lower() for head in table.header}
    ]
    if not found:
        raise PayloadShapeError(payload.part, "tables", f"none with the columns {', '.join(COLUMNS)}")
    listings = [listing for table in found for listing in _listings(payload.part, table)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "table Model", "no row has a price")
    return listings


def _listings(part: str, table: Table) -> Iterator[Listing]:
    for index, record in enumerate(table.records()):
        cells = {head.lower(): cell for head, cell in record.items()}
        for column, (purchase, months) in PRICES.items():
            place = f"table Model row {index} '{column}'"
            said = money(cells[column])
            if said.amount is None and not (said.is_contact or said.is_blank):
                raise PayloadShapeError(part, place, f"{short(cells[column])} is not a price")
            yield Listing(
                provider="fluidstack",
                product="clusters",
                plan=cells["model"],
                gpu_text=cells["model"],
                gpu_count=Decimal(1),
                gpu_memory=_gigabytes(cells["vram (gb)"]),
                vcpus=number(cells["max vcpus per gpu"]),
                ram=_gigabytes(cells["max ram (gb) per gpu"]),
                price=said.amount,
                currency=said.currency,
                price_per="gpu",
                price_unit="hour",
                price_state=said.state,
                purchase=purchase,
                term_months=months,
                availability="unknown" if said.amount is None else "listed_only",
                availability_text=cells[column] if said.amount is None else None,
                place=place,
            )


def _gigabytes(cell: str) -> Quantity | None:
    amount = number(cell)
    return None if amount is None else Quantity(amount, "GB")
