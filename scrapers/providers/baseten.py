"""Baseten: the public price page, block "Dedicated Deployments".

Prices are in USD per instance, billed by the minute. A switch in the browser shows them per hour; the page as it is
sent has the price of a minute, without a unit in the cell ("$0.10833"). So the block must speak of minutes, and a
cell without a unit that says one dollar or more is an error, for that is the price of an hour. Each row has a name,
a line with VRAM ("80 GiB VRAM, 26 vCPUs, 234 GiB RAM", of late the VRAM alone) and the price. Rows without VRAM are
CPU instances and are left out, and so are the prices of tokens above. "H100 MIG" is a slice of a card, whose VRAM is
that of the slice. The page shows no stock and no regions.

Shape from the words of readers of the page, of 2025-09 and 2026; no answer of it was at hand and the classes are not
known, so rows are found by their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import SEVERAL, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Money, html, number, quantity, text

URL = "https://www.baseten.co/pricing/"

SOURCE = Source(
    id="baseten",
    name="Baseten",
    segment="serverless",
    homepage="https://www.baseten.co/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.baseten.co",),
    terms="unknown",
    terms_url="https://www.baseten.co/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026: page described by its readers; no answer recorded",
    min_listings=3,
    billing_increment_s=60,
    billing_source="https://www.baseten.co/pricing/",
)

SECTION = "dedicated deployments"
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
ROW = re.compile(
    r"(?P<name>\S.{0,60}?) (?P<vram>\d{1,4} GiB) VRAM"
    r"(?:,? (?P<vcpus>\d{1,3}) vCPUs?,? (?P<ram>\d{1,5} GiB) RAM)?,? ?(?P<price>\$.{1,30}|[A-Z—–-][^$]{0,30})"
)
LONGEST_ROW = 200
HIGHEST_ROW = 8
DEAREST_MINUTE = Decimal(1)


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row with VRAM in the block.

    Raises:
        PayloadShapeError: No block, a block that does not speak of minutes, a row that is not understood, or none.
    """
    page = html(payload)
    headings = [tag for tag in page.find_all(HEADINGS) if text(tag).lower().startswith(SECTION)]
    if not headings:
        raise PayloadShapeError(payload.part, "'Dedicated Deployments'", "no heading with these words")
    found: dict[str, Listing] = {}
    for row in (row for heading in headings for row in _rows(heading)):
        if row not in found:
            found[row] = _listing(payload.part, len(found), row)
    if not any(listing.price for listing in found.values()):
        raise PayloadShapeError(payload.part, "'Dedicated Deployments'", "no row with VRAM and a price")
    if "minute" not in text(page).lower():
        raise PayloadShapeError(payload.part, "'Dedicated Deployments'", "prices without a word of minutes")
    return list(found.values())


def _rows(heading: Tag) -> Iterator[str]:
    """The texts of the rows with VRAM that follow a heading, up to the next one of its level or above."""
    level = int(heading.name[1])
    for item in heading.find_all_next(True):
        if item.name in HEADINGS and int(item.name[1]) <= level:
            return
        if any("VRAM" in string for string in item.find_all(string=True, recursive=False)):
            yield _row_text(item)


def _row_text(item: Tag) -> str:
    """The text of the smallest element around the words of VRAM that holds a price too."""
    said = text(item)
    for around in list(item.parents)[:HIGHEST_ROW]:
        if ROW.fullmatch(said) or len(said) > LONGEST_ROW:
            break
        said = text(around)
    return said


def _listing(part: str, index: int, row_text: str) -> Listing:
    place = f"'Dedicated Deployments' row {index}"
    row = ROW.fullmatch(row_text)
    if row is None or row_text.count("VRAM") != 1:
        raise PayloadShapeError(part, place, f"{short(row_text)} is no name, VRAM and price")
    said = _price(part, place, row["price"])
    is_several = bool(SEVERAL.search(row["name"]))
    return Listing(
        provider="baseten",
        product="dedicated_deployments",
        plan=row["name"],
        gpu_text=row["name"],
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit=said.unit or "minute",
        price_state=said.state,
        purchase="on_demand",
        place=place,
        gpu_count=None if "MIG" in row["name"] or is_several else Decimal(1),
        gpu_memory=None if is_several else quantity(row["vram"]),
        vcpus=number(row["vcpus"] or ""),
        ram=quantity(row["ram"] or ""),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=row["price"] if said.amount is None else None,
    )


def _price(part: str, place: str, cell: str) -> Money:
    said = priced(part, place, cell, units=(None, "second", "minute", "hour"), pers=(None, "gpu", "instance"))
    if said.amount is not None and said.unit is None and said.amount >= DEAREST_MINUTE:
        raise PayloadShapeError(part, place, f"{short(cell)} is no price of a minute")
    return said
