"""Yotta Labs: pods with one GPU, a table on the public price page. It is not the Indian Yotta (Shakti Cloud).

Prices are in USD per GPU and hour, on demand and, where it is sold, spot; a dash in the spot column means that there
is none. A word such as "Popular" may hang on a name. VRAM, RAM and vCPUs are of the pod with one GPU. Tables of storage
and of token prices on the same page have other columns. No stock, no regions.

The server renders the table. Shape as a collector read it in 2026; the page itself was not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, check_one_price, priced
from scrapers.contract import Listing, Payload, PurchaseKind, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import Table, html, number, quantity, tables

URL = "https://www.yottalabs.ai/pricing"

SOURCE = Source(
    id="yottalabs",
    name="Yotta Labs",
    segment="reseller",
    homepage="https://www.yottalabs.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.yottalabs.ai",),
    terms="unknown",
    terms_url="https://www.yottalabs.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026: read by the code of a collector; page not seen",
    min_listings=4,
)

PRICES: dict[str, PurchaseKind] = {"on-demand": "on_demand", "spot": "spot"}
COLUMNS = ("gpu model", "vram", "ram", "vcpu", "on-demand")
BADGE = re.compile(r"\s*+\b(?:popular|new|recommended)\b\s*+", re.IGNORECASE)


def parse(payload: Payload) -> list[Listing]:
    """Each GPU on demand, and as spot where that has a price.

    Raises:
        PayloadShapeError: No table with these columns, a price that is not understood, a name that counts GPUs or
            has two prices, or no price at all.
    """
    found = [
        table for table in tables(html(payload)) if set(COLUMNS) <= {head.lower() for head in table.header}
    ]
    if not found:
        raise PayloadShapeError(payload.part, "tables", f"none with the columns {', '.join(COLUMNS)}")
    listings = [listing for table in found for listing in _listings(payload.part, table)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "table GPU Model", "no row has a price")
    check_one_price(payload.part, listings)
    return listings


def _listings(part: str, table: Table) -> Iterator[Listing]:
    for index, record in enumerate(table.records()):
        cells = {head.lower(): cell for head, cell in record.items()}
        name = BADGE.sub(" ", cells["gpu model"]).strip()
        for column, purchase in PRICES.items():
            cell, place = cells.get(column, ""), f"table GPU Model row {index} '{column}'"
            check_one_gpu(part, place, name)
            said = priced(part, place, cell, units=("hour",))
            if said.is_blank and purchase == "spot":
                continue
            yield Listing(
                provider="yottalabs",
                product="gpu_pods",
                plan=name,
                gpu_text=name,
                gpu_count=Decimal(1),
                gpu_memory=quantity(cells["vram"]),
                ram=quantity(cells["ram"]),
                vcpus=number(cells["vcpu"]),
                price=said.amount,
                currency=said.currency,
                price_per="gpu",
                price_unit="hour",
                price_state=said.state,
                purchase=purchase,
                availability="unknown" if said.amount is None else "listed_only",
                availability_text=cell or None if said.amount is None else None,
                place=place,
            )
