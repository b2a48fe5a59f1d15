"""Nebius AI Cloud: the public price page.

Prices are in USD per GPU and hour, without tax, billed by the second; the first payment is 25 USD or more. vCPUs
and RAM are of one GPU, so a listing is one GPU; VRAM is not printed. The page is a grid of divs, and only the heading
above a block says what it sells:

"NVIDIA GPU Instances"              on-demand prices; until the summer of 2026 preemptible prices too
"Preemptible NVIDIA GPU Instances"  since then: spot prices, "from" values only
others                              CPU machines, storage and services: not read

A column headed "GPU-hour (Effective October 1, 2026)" holds from that day on. On a page that was fetched then or
later it is the current price, and the column before it is dropped, but for rows in which the newer one says nothing
("––"). On a page that was fetched before, it is a future price beside the current one. The L40S rows are ranges:
their prices are lower bounds, and their vCPUs and RAM stay in the note. The page shows no stock and no regions.

The page of 2024 has a table (role=table) in their place: a machine, its VRAM, vCPUs and RAM in all, and a price for the
GPU and hour. For "8 × H200 SXM" the price is read only where its cell or its head says that it is of a GPU: without
that it could be of the machine. The cards of that page ("As low as") are not read. No page of 2024 was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from bs4 import Tag

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, money, number, text

URL = "https://nebius.com/prices"

SOURCE = Source(
    id="nebius",
    name="Nebius AI Cloud",
    segment="neocloud",
    homepage="https://nebius.com/",
    pricing_url=URL,
    requests=(Request("prices", URL),),
    allowed_hosts=("nebius.com",),
    terms="unknown",
    terms_url="https://docs.nebius.com/legal/",
    terms_note="terms on crawling not read; robots.txt reported open in October 2026",
    terms_reviewed_on=date(2026, 10, 7),
    last_proof="2026-07-12: page recorded and parsed",
    min_listings=5,
    billing_increment_s=1,
    billing_source="https://docs.nebius.com/legal/specific-terms/compute",
)

BLOCK = ".pc-highlight-table-block__"
ON_DEMAND_BLOCK = "nvidia gpu instances"
SPOT_BLOCK = "preemptible nvidia gpu instances"
PLAN_COLUMNS = ("item", "vcpus", "ram, gb")
OLD_CELLS = "[role=cell], [role=gridcell], [role=columnheader], [role=rowheader]"
OLD_PLAN = re.compile(r"(?:(\d{1,2}) ?[x×] ?)?((?:NVIDIA )?[A-Z]{1,2}\d{1,3}.{0,60})")
EFFECTIVE = re.compile(r"\(effective (\w+ \d{1,2}, \d{4})\)")


@dataclass(frozen=True, slots=True)
class _Column:
    """A price column: its head, what it sells, and the day from which it holds (None: since ever)."""

    head: str
    purchase: PurchaseKind
    valid_from: date | None


def parse(payload: Payload) -> list[Listing]:
    """The prices of the GPU blocks: for each row what holds on the day of the fetch, and what is announced.

    Raises:
        PayloadShapeError: A block or a column is missing, or no row has an on-demand or no row a spot price.
    """
    page = html(payload)
    blocks = _blocks(payload.part, page)
    old = [] if ON_DEMAND_BLOCK in blocks else list(_old_listings(page))
    if any(listing.price for listing in old):
        return old
    if ON_DEMAND_BLOCK not in blocks:
        found = (
            f"{len(old)} rows of the layout of 2024, none with a price" if old else short(", ".join(blocks))
        )
        problem = f"no block with this heading; found {found}"
        raise PayloadShapeError(payload.part, "'NVIDIA GPU Instances'", problem)
    on_day = payload.fetched_at.date()
    listings = [
        listing
        for title in (ON_DEMAND_BLOCK, SPOT_BLOCK)
        if title in blocks
        for listing in _listings(payload.part, title, blocks[title], on_day)
    ]
    named = [text(tag).lower() for tag in page.select(f".pc-title-item__text, {BLOCK}head")]
    is_spot_named = any("preemptible" in each or "spot" in each for each in named)
    for purchase in ("on_demand", "spot") if is_spot_named else ("on_demand",):
        if not any(listing.purchase == purchase and listing.price for listing in listings):
            raise PayloadShapeError(payload.part, "'NVIDIA GPU Instances'", f"no {purchase} price in any row")
    return listings


def _blocks(part: str, page: Tag) -> dict[str, Tag]:
    """The grids of the page by their headings."""
    blocks: dict[str, Tag] = {}
    for block in page.select(BLOCK + "content"):
        heading = block.find_previous(class_="pc-title-item__text")
        title = text(heading).lower().rstrip("*") if isinstance(heading, Tag) else ""
        if title in blocks and title in (ON_DEMAND_BLOCK, SPOT_BLOCK):
            raise PayloadShapeError(part, f"'{title}'", "two blocks under one heading")
        blocks[title] = block
    return blocks


def _listings(part: str, title: str, block: Tag, on_day: date) -> Iterator[Listing]:
    head_row = block.select_one(BLOCK + "head")
    heads = [head.lower() for head in _cells(head_row)] if head_row else []
    for wanted in PLAN_COLUMNS if title == ON_DEMAND_BLOCK else PLAN_COLUMNS[:1]:
        if wanted not in heads:
            raise PayloadShapeError(
                part, f"'{title}'", f"no column '{wanted}'; found {short(', '.join(heads))}"
            )
    columns = [_column(part, title, head) for head in heads if head not in PLAN_COLUMNS]
    for index, row in enumerate(block.select(f"{BLOCK}body {BLOCK}row")):
        place = f"'{title}' row {index}"
        texts = _cells(row)
        if len(texts) != len(heads):
            raise PayloadShapeError(part, place, f"{len(texts)} cells under {len(heads)} columns")
        cells = dict(zip(heads, texts, strict=True))
        for column in _in_force(cells, columns, on_day):
            yield _listing(cells, column, on_day, f"{place} '{column.head}'")


def _cells(row: Tag) -> list[str]:
    return [text(cell) for cell in row.select(BLOCK + "cell")]


def _column(part: str, title: str, head: str) -> _Column:
    """What a price column is for; raises where that, or its unit, is not one that is known."""
    is_spot = title == SPOT_BLOCK or "preemptible" in head or "spot" in head
    effective = EFFECTIVE.search(head)
    if "gpu-hour" not in head or not (is_spot or effective or "on-demand" in head):
        raise PayloadShapeError(part, f"'{title}'", f"column {short(head)} is no known price per GPU-hour")
    try:
        valid_from = datetime.strptime(effective[1], "%B %d, %Y").date() if effective else None
    except ValueError:
        raise PayloadShapeError(part, f"'{title}'", f"column {short(head)} has no readable date") from None
    return _Column(head, "spot" if is_spot else "on_demand", valid_from)


def _in_force(cells: dict[str, str], columns: list[_Column], on_day: date) -> Iterator[_Column]:
    """Of each purchase kind the newest column that holds on the day and says something, then the later ones.

    Where none says anything, the newest one stands for the row.
    """
    for purchase in ("on_demand", "spot"):
        of_kind = [column for column in columns if column.purchase == purchase]
        started = sorted(
            (column for column in of_kind if _start(column) <= on_day),
            key=lambda column: (not money(cells[column.head]).is_blank, _start(column)),
        )
        yield from started[-1:]
        yield from (
            column
            for column in of_kind
            if _start(column) > on_day and money(cells[column.head]).amount is not None
        )


def _start(column: _Column) -> date:
    return column.valid_from or date.min


def _listing(cells: dict[str, str], column: _Column, on_day: date, place: str) -> Listing:
    said = money(cells[column.head])
    vcpus, ram = (number(cells.get(head, "")) for head in PLAN_COLUMNS[1:])
    ranges = [
        f"{head}: {cells[head]}" for head in PLAN_COLUMNS[1:] if head in cells and not number(cells[head])
    ]
    return Listing(
        provider="nebius",
        product="preemptible" if column.purchase == "spot" else "on_demand",
        plan=cells["item"],
        gpu_text=cells["item"].removeprefix("Preemptible "),
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state="future" if _start(column) > on_day else said.state,
        purchase=column.purchase,
        place=place,
        gpu_count=Decimal(1),
        vcpus=vcpus,
        ram=None if ram is None else Quantity(ram, "GB"),
        valid_from=column.valid_from,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=cells[column.head] if said.amount is None else None,
        note="; ".join(ranges) or None,
    )


def _old_listings(page: Tag) -> Iterator[Listing]:
    """The rows of the page of 2024: VRAM, vCPUs and RAM are of the whole machine."""
    for index, table in enumerate(page.select("[role=table]")):
        heads: list[str] = []
        for row in table.select("[role=row]"):
            cells = [text(cell) for cell in row.select(OLD_CELLS)]
            if any(cell.lower().startswith("vram") for cell in cells):
                heads = ["item", *(cell.lower() for cell in cells[1:])]
            elif len(cells) == len(heads) and (plan := OLD_PLAN.fullmatch(cells[0])):
                yield _old_listing(
                    plan, dict(zip(heads, cells, strict=True)), f"[role=table] {index}: {cells[0]}"
                )


def _old_listing(plan: re.Match[str], cells: dict[str, str], place: str) -> Listing:
    vram, vcpus, ram, price = (
        next(((head, cell) for head, cell in cells.items() if head.startswith(start)), ("", ""))
        for start in ("vram", "vcpu", "ram", "price")
    )
    said = money(price[1])
    count = Decimal(plan[1] or 1)
    is_of_gpu = count == 1 or said.per == "gpu" or "gpu" in price[0]
    vram_gb, ram_gb = number(vram[1]), number(ram[1])
    return Listing(
        provider="nebius",
        product="on_demand",
        plan=plan[0],
        gpu_text=plan[2].removesuffix(" GPU"),
        price=said.amount if is_of_gpu else None,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        place=place,
        gpu_count=count,
        gpu_memory=None if vram_gb is None else Quantity(vram_gb, "GB"),
        gpu_memory_is_total=True,
        vcpus=number(vcpus[1]),
        ram=None if ram_gb is None else Quantity(ram_gb, "GB"),
        availability="listed_only" if said.amount is not None and is_of_gpu else "unknown",
        availability_text=price[1] if said.amount is None else None,
        note=None if is_of_gpu else f"not said whether {short(price[1])} is of a GPU or of the machine",
    )
