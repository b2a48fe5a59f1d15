"""Fireworks AI: the public price page, table "On demand deployments".

Prices are in USD per GPU and hour, billed by the second for each replica, from the time that it accepts requests. A
deployment of several GPUs costs as many times as much. The heading is a h2, the table has a column for the GPU and
one for the price; models and fine-tuning stand in tables of their own, in tokens and steps. Reservations are made by
sales. The page shows no stock and no regions.

Shape as readers of the page describe it, of 2025-09 and 2026; no answer of it was at hand.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Table, html, quantity, tables

URL = "https://fireworks.ai/pricing"

SOURCE = Source(
    id="fireworks",
    name="Fireworks AI",
    segment="serverless",
    homepage="https://fireworks.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("fireworks.ai",),
    terms="unknown",
    terms_url="https://fireworks.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026: page described by its readers; no answer recorded",
    min_listings=2,
    billing_increment_s=1,
    billing_source="https://docs.fireworks.ai/faq/deployment/ondemand/billing-scaling",
)

SECTION = "on demand deployments"
MEMORY = re.compile(r"\b(\d{1,4} ?GB)\b")


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row of the table.

    Raises:
        PayloadShapeError: Not one table under the heading, without a GPU and a price per hour, or no row with one.
    """
    found = [table for table in tables(html(payload)) if _section(table) == SECTION]
    if len(found) != 1:
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"{len(found)} tables under this heading")
    heads = [head.lower() for head in found[0].header]
    gpu = next((index for index, head in enumerate(heads) if "gpu" in head), None)
    price = next((index for index, head in enumerate(heads) if "hour" in head), None)
    if gpu is None or price is None or gpu == price:
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"columns are {short(', '.join(heads))}")
    listings = [
        _listing(payload.part, f"'{SECTION}' row {index}", row[gpu], row[price])
        for index, row in enumerate(found[0].rows)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"none of {len(listings)} rows has a price")
    return listings


def _section(table: Table) -> str:
    return table.headings[-1].lower().replace("-", " ") if table.headings else ""


def _listing(part: str, place: str, name: str, price: str) -> Listing:
    said = priced(part, place, price)
    check_one_gpu(part, place, name)
    memory = MEMORY.search(name)
    return Listing(
        provider="fireworks",
        product="on_demand_deployments",
        plan=name,
        gpu_text=name.removesuffix(" GPU"),
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        place=place,
        gpu_count=Decimal(1),
        gpu_memory=quantity(memory[1]) if memory else None,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(price or None) if said.amount is None else None,
    )
