"""Fireworks AI: the public price page, table "On demand deployments".

Prices are in USD per GPU and hour, billed by the second for each replica, from the time that it accepts requests. A
deployment of several GPUs costs as many times as much, and one that is held to a region half as much again. The
table has a column for the GPU and one for the price, or two while a change is announced: "up to Aug 31" and "from
Sep 1", without a year. A price is not read any more once its last day is over. Models and fine-tuning stand in tables
of their own, in tokens and steps. Reservations are made by sales. The page shows no stock and no regions.

Shape as readers of the page describe it, of 2025-09 and 2026, and two columns of prices as a copy of the page under
another name had them in 2026; no answer of it was at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload, PriceState, Request, Source
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
HEADINGS = (SECTION, "on demand pricing")
DATED = re.compile(r"\b(from|up to|until|through) ([a-z]{3})[a-z]{0,6}\.? (\d{1,2})(?:,? (20\d\d))?\b")
MEMORY = re.compile(r"\b(\d{1,4} ?GB)\b")


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row of the table.

    Raises:
        PayloadShapeError: Not one table under the heading, without a GPU and a price per hour, or no row with one.
    """
    found = [table for table in tables(html(payload)) if _section(table) in HEADINGS]
    if len(found) != 1:
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"{len(found)} tables under this heading")
    heads = [head.lower() for head in found[0].header]
    gpu = next((index for index, head in enumerate(heads) if "gpu" in head), None)
    hours = [index for index, head in enumerate(heads) if "hour" in head and index != gpu]
    if (
        gpu is None
        or not hours
        or (len(hours) > 1 and not all(DATED.search(heads[index]) for index in hours))
    ):
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"columns are {short(', '.join(heads))}")
    listings = [
        listing for index in hours for listing in _column(payload, found[0].rows, heads[index], gpu, index)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"none of {len(listings)} rows has a price")
    return listings


def _column(
    payload: Payload, rows: tuple[tuple[str, ...], ...], head: str, gpu: int, price: int
) -> Iterator[Listing]:
    """The rows with the prices of a column; none of one whose last day is over."""
    on_day, dated = payload.fetched_at.date(), DATED.search(head)
    day = _day(payload, head, *dated.groups()[1:]) if dated else None
    if dated and day and dated[1] != "from" and day < on_day:
        return
    for index, row in enumerate(rows):
        place = f"'{SECTION}' row {index}{f' {head!r}' if dated else ''}"
        listing = _listing(payload.part, place, row[gpu], row[price])
        if dated and day and dated[1] == "from":
            state: PriceState = "future" if day > on_day and listing.price else listing.price_state
            listing = replace(listing, valid_from=day, price_state=state)
        yield listing


def _day(payload: Payload, head: str, month: str, day: str, year: str | None) -> date:
    """A day of a head; where it has no year, the one that is nearest to the day of the page."""
    on_day = payload.fetched_at.date()
    years = [int(year)] if year else [on_day.year - 1, on_day.year, on_day.year + 1]
    try:
        days = [datetime.strptime(f"{month} {day} {one}", "%b %d %Y").date() for one in years]
    except ValueError:
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"{short(head)} names no day") from None
    return min(days, key=lambda one: abs(one - on_day))


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
