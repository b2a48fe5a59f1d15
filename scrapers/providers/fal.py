"""fal: the public price page, table of GPUs.

Prices are in USD per GPU and hour, billed by the second. There are two columns: the list price, and "as low as",
which is what sales can offer for a commitment: a lower bound without a term, never the price on demand. Tables of
models (per image, per second of video) have the same markup; only the heads tell them apart. The rows stand a second
time in a script. H100 and H200 may have one price. The page shows no stock and no regions.

Shape as readers of the page describe it, of 2026-08-22 and 2026-09-20; no answer of it was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload, PurchaseKind, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import html, quantity, tables

URL = "https://fal.ai/pricing"

SOURCE = Source(
    id="fal",
    name="fal",
    segment="serverless",
    homepage="https://fal.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("fal.ai",),
    terms="unknown",
    terms_url="https://fal.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-09-20: page described by its readers; no answer recorded",
    min_listings=4,
    billing_increment_s=1,
    billing_source="https://docs.fal.ai/documentation/serverless/pricing",
)

HEADS = ("gpu", "vram", "list price", "as low as")
PRICES: dict[str, PurchaseKind] = {"list price": "on_demand", "as low as": "reserved"}


def parse(payload: Payload) -> list[Listing]:
    """Two listings for each GPU: its list price, and the lower bound with a commitment.

    Raises:
        PayloadShapeError: Not one table with these heads, a price that is not per hour, or no row with a price.
    """
    found = [
        table for table in tables(html(payload)) if tuple(head.lower() for head in table.header) == HEADS
    ]
    if len(found) != 1:
        raise PayloadShapeError(
            payload.part, "table of GPUs", f"{len(found)} tables with heads {', '.join(HEADS)}"
        )
    listings = [
        listing
        for index, row in enumerate(found[0].rows)
        for listing in _listings(payload.part, f"GPU row {index}", dict(zip(HEADS, row, strict=False)))
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(
            payload.part, "table of GPUs", f"none of {len(found[0].rows)} rows has a price"
        )
    return listings


def _listings(part: str, place: str, cells: dict[str, str]) -> Iterator[Listing]:
    check_one_gpu(part, place, cells["gpu"])
    for head, purchase in PRICES.items():
        said = priced(part, f"{place} '{head}'", cells[head], units=("hour",))
        yield Listing(
            provider="fal",
            product="serverless",
            plan=cells["gpu"],
            gpu_text=cells["gpu"],
            price=said.amount,
            currency=said.currency,
            price_per="gpu",
            price_unit="hour",
            price_state="from_price" if purchase == "reserved" and said.amount is not None else said.state,
            purchase=purchase,
            place=f"{place} '{head}'",
            gpu_count=Decimal(1),
            gpu_memory=quantity(cells["vram"]),
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=(cells[head] or None) if said.amount is None else None,
        )
