"""Koyeb: the public price page, section "compute".

Prices are in USD per instance and hour, billed by the second; a plan fee comes on top. The instances stand in a flat
grid of divs: the first N children of a div of the class grid-cols-N are the heads, each N after them a row. CPU
instances stand in grids of the same class and are left out: they have no VRAM. The VRAM is of the whole instance
("2x A100", "160GB VRAM"), in a column of its own or below the name. There is a second copy for small screens,
without heads, which is not read. "REQUEST ACCESS" stands where no price is given. Badges such as "POPULAR" are
glued to the name. The page shows no stock and no regions.

Shape as readers of the page describe it, of 2025-09 and early 2026; no answer of it was at hand, and a reader of
August 2026 saw the words "vRAM 48GB" behind the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, number, quantity, text

URL = "https://www.koyeb.com/pricing"

SOURCE = Source(
    id="koyeb",
    name="Koyeb",
    segment="serverless",
    homepage="https://www.koyeb.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.koyeb.com",),
    terms="unknown",
    terms_url="https://www.koyeb.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 17),
    last_proof="2026-08: page described by its readers; no answer recorded",
    min_listings=4,
    billing_increment_s=1,
    billing_source="https://www.koyeb.com/docs/faqs/pricing",
)

COLUMNS = re.compile(r"(?<![\w-])(?:\w{1,4}:)?grid-cols-(\d{1,2})(?![\w-])")
VRAM = re.compile(r"(?i)\b(?:(\d{1,5} ?[GT]B) ?VRAM|VRAM:? ?(\d{1,5} ?[GT]B))\b")
COUNT = re.compile(r"(?i)(\d{1,2})x (?=\S)")
BADGE = re.compile(r"(?i) (?:popular|new|beta)\b.*")


def parse(payload: Payload) -> list[Listing]:
    """One listing for each instance with VRAM.

    Raises:
        PayloadShapeError: No section, no grid with heads, a row that is cut off, one name with two prices, a price in
            another currency or for another time or thing, or no row with a price.
    """
    section = html(payload).select_one("#compute")
    if section is None:
        raise PayloadShapeError(payload.part, "#compute", "not in the page")
    found: dict[str, Listing] = {}
    for cells, place in _rows(payload.part, section):
        listing = _listing(payload.part, cells, place)
        if listing is None:
            continue
        known = found.setdefault(listing.plan, listing)
        if known.price != listing.price:
            raise PayloadShapeError(payload.part, place, f"{short(listing.plan)} has two prices")
    if not any(listing.price for listing in found.values()):
        raise PayloadShapeError(payload.part, "#compute", "no row with VRAM and a price under known heads")
    return list(found.values())


def _rows(part: str, section: Tag) -> Iterator[tuple[dict[str, str], str]]:
    """The rows of all grids whose heads name an instance and a price, by their heads."""
    for grid in section.select("[class*=grid-cols-]"):
        width = COLUMNS.search(str(grid.get("class")))
        columns = int(width[1]) if width else 0
        texts = [text(cell) for cell in grid.find_all(True, recursive=False)]
        heads = [head.lower() for head in texts[:columns]]
        if not _is_priced(heads):
            continue
        if len(texts) % columns:
            raise PayloadShapeError(part, "#compute", f"{len(texts)} cells in {columns} columns")
        for start in range(columns, len(texts), columns):
            yield dict(zip(heads, texts[start : start + columns], strict=True)), f"row {start // columns - 1}"


def _is_priced(heads: list[str]) -> bool:
    return any("instance" in head for head in heads) and any("price" in head for head in heads)


def _listing(part: str, cells: dict[str, str], place: str) -> Listing | None:
    """The listing of a row; None for an instance without VRAM."""
    instance = _cell(cells, "instance")
    vram = VRAM.search(instance)
    memory = _cell(cells, "vram") or (next(filter(None, vram.groups())) if vram else "")
    if quantity(memory) is None:
        return None
    name = BADGE.sub("", instance[: vram.start()] if vram else instance).strip()
    count = COUNT.match(name)
    price = _cell(cells, "price")
    said = priced(part, place, price, units=(None, "second", "hour"), pers=(None, "instance"))
    if said.amount is not None and said.unit is None:
        raise PayloadShapeError(part, place, f"{short(price)} does not say for which time")
    return Listing(
        provider="koyeb",
        product="gpu_instances",
        plan=name,
        gpu_text=name[count.end() :] if count else name,
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit=said.unit or "hour",
        price_state=said.state,
        purchase="on_demand",
        place=f"#compute {place}",
        gpu_count=Decimal(count[1]) if count else Decimal(1),
        gpu_memory=quantity(memory),
        gpu_memory_is_total=True,
        vcpus=number(_cell(cells, "vcpu")),
        ram=quantity(next((cell for head, cell in cells.items() if head == "ram"), "")),
        disk=quantity(_cell(cells, "disk")),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(price or None) if said.amount is None else None,
        note="a plan fee comes on top",
    )


def _cell(cells: dict[str, str], word: str) -> str:
    return next((cell for head, cell in cells.items() if word in head), "")
