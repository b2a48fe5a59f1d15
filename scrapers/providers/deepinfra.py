"""DeepInfra: containers for a model of one's own, a small table on the public price page.

Prices are in USD per GPU and hour ("$3.69 / GPU-hour"), counted by the minute; up to 8 GPUs. Token prices and tables
of service tiers fill most of the page, so only a table with exactly the columns GPU, Memory and Price is read. It may
stand there twice, for two tabs, and then must say the same twice. VRAM is of one GPU. B200 and B300 differ by their
memory alone. Clusters have no price. No stock, no regions.

The server renders the table. Shape as a price index read it on 2026-08-22; the page itself was not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import Table, html, quantity, tables

URL = "https://deepinfra.com/pricing"

SOURCE = Source(
    id="deepinfra",
    name="DeepInfra",
    segment="serverless",
    homepage="https://deepinfra.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("deepinfra.com",),
    terms="unknown",
    terms_url="https://deepinfra.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-08-22: read by a price index; page not seen",
    min_listings=2,
    billing_increment_s=60,
    billing_source="https://deepinfra.com/gpu-instances",
)

COLUMNS = {"gpu", "memory", "price"}


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row of the GPU table.

    Raises:
        PayloadShapeError: No such table, two that differ, or a price that is not per GPU and hour in USD.
    """
    found = [table for table in tables(html(payload)) if {head.lower() for head in table.header} == COLUMNS]
    if not found:
        raise PayloadShapeError(payload.part, "tables", "none with the columns GPU, Memory, Price")
    if len({table.rows for table in found}) > 1:
        raise PayloadShapeError(payload.part, "table GPU, Memory, Price", "two of them say different things")
    listings = list(_listings(payload.part, found[0]))
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "table GPU, Memory, Price", "no row has a price")
    return listings


def _listings(part: str, table: Table) -> Iterator[Listing]:
    for index, record in enumerate(table.records()):
        cells = {head.lower(): cell for head, cell in record.items()}
        place = f"table GPU, Memory, Price row {index}"
        said = priced(part, place, cells["price"], units=("hour",), pers=("gpu",))
        check_one_gpu(part, place, cells["gpu"])
        yield Listing(
            provider="deepinfra",
            product="gpu_containers",
            plan=cells["gpu"],
            gpu_text=cells["gpu"],
            gpu_count=Decimal(1),
            gpu_memory=quantity(cells["memory"]),
            price=said.amount,
            currency=said.currency,
            price_per="gpu",
            price_unit="hour",
            price_state=said.state,
            purchase="on_demand",
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=cells["price"] if said.amount is None else None,
            place=place,
        )
