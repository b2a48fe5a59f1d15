"""Modal: the public price page.

Prices are in USD per GPU and second, billed by the second; a switch in the browser shows them per hour, and the cell
says which it is. The GPUs follow the heading "GPU Tasks" in a div of lines, each a name and a price. CPU cores and
memory are billed on top; their lines stand below, with the same classes, and go into the note. "Volumes" is the
storage: one TiB a month is free. Sandboxes and plans stand further down. GPU functions may be preempted, and cannot
be kept from it. To pin a region costs more: 1.25 or 2.5 times as much.

Shape as on the page of 2026-08-19, which was read in a public archive of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_gpu, check_one_price, priced
from scrapers.contract import Extra, Listing, Payload, Record, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, money, quantity, text

URL = "https://modal.com/pricing"

SOURCE = Source(
    id="modal",
    name="Modal",
    segment="serverless",
    homepage="https://modal.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("modal.com",),
    terms="unknown",
    terms_url="https://modal.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-19: page read in a public archive; no answer recorded",
    min_listings=5,
    billing_increment_s=1,
    billing_source="https://modal.com/pricing",
)

SECTION = "gpu tasks"
MEMORY = re.compile(r", (\d{1,4} ?GB)$")
FREE_TIB = re.compile(r"includes (\d{1,3}) TiB")
MOST_OTHERS = 20
GB_OF_TIB = Decimal("1099.511627776")


def parse(payload: Payload) -> list[Record]:
    """One listing for each line below "GPU Tasks", and the price of volumes.

    Raises:
        PayloadShapeError: The heading or its lines are missing, a price does not say for which time, a name
            counts GPUs or has two prices, or none has one.
    """
    page = html(payload)
    headings = [tag for tag in page.select("p, h2, h3, h4, h5") if text(tag).lower() == SECTION]
    block = headings[0].find_next_sibling("div") if len(headings) == 1 else None
    lines = block.find_all(class_="line-item", recursive=False) if isinstance(block, Tag) else []
    if block is None or not lines:
        raise PayloadShapeError(
            payload.part, "'GPU Tasks'", f"{len(headings)} headings, and no .line-item below"
        )
    below = block.find_next_siblings(class_="line-item", limit=MOST_OTHERS)
    others = {_name(line).lower(): text(line) for line in below}
    note = _note(others)
    listings = [_listing(payload.part, index, line, note) for index, line in enumerate(lines)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "'GPU Tasks'", f"none of {len(lines)} lines has a price")
    check_one_price(payload.part, listings)
    return [*listings, *_volumes(others)]


def _name(line: Tag) -> str:
    name = line.select_one("p:not(.price)")
    return text(name) if name else ""


def _price(line: str) -> str:
    """What stands from the currency sign to a footnote in the text of a line."""
    return line[line.find("$") :].partition(" *")[0] if "$" in line else ""


def _note(others: dict[str, str]) -> str:
    """What a GPU costs besides, as the page says it."""
    core = next((_price(line) for name, line in others.items() if name.startswith("physical core")), "")
    memory = _price(others.get("memory", ""))
    said = " and ".join(filter(None, (core and f"CPU {core}", memory and f"memory {memory}")))
    return f"on top: {said}" if said else "CPU and memory are billed on top"


def _listing(part: str, index: int, line: Tag, note: str) -> Listing:
    price = line.select_one(".price")
    name, price_text = _name(line), text(price) if price else ""
    place = f"'GPU Tasks' line {index}"
    check_one_gpu(part, place, name)
    said = priced(part, place, price_text, units=(None, "second", "minute", "hour"))
    if not name or (said.amount is not None and said.unit is None):
        problem = f"{short(name)} with {short(price_text)} is no GPU with a price for a time"
        raise PayloadShapeError(part, place, problem)
    memory = MEMORY.search(name)
    return Listing(
        provider="modal",
        product="functions",
        plan=name,
        gpu_text=name,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit=said.unit or "second",
        price_state=said.state,
        purchase="on_demand",
        place=place,
        gpu_count=Decimal(1),
        gpu_memory=quantity(memory[1]) if memory else None,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(price_text or None) if said.amount is None else None,
        note=note,
    )


def _volumes(others: dict[str, str]) -> Iterator[Extra]:
    """The price of volumes, in two steps where some of it is free."""
    line = others.get("volumes", "")
    said, free = money(_price(line)), FREE_TIB.search(line)
    if said.amount is None or said.currency is None or (said.per, said.unit) != ("gb", "month"):
        return
    steps = [(Decimal(0), said.amount)]
    if free:
        steps = [(Decimal(0), Decimal(0)), (GB_OF_TIB * int(free[1]), said.amount)]
    for from_gb, price in steps:
        yield Extra(
            provider="modal",
            kind="storage",
            name="Volumes",
            price=price,
            currency=said.currency,
            per="gib_month",
            region_text=None,
            place="'Volumes'",
            from_gb=from_gb,
        )
