"""Civo: the public price page, section "nvidia-gpus".

Prices are in USD per instance and hour. There is one table per GPU; its caption names the GPU ("NVIDIA H100 SXM GPU
pricing"), and each row says how many of which ("8 x NVIDIA H200 - 141GB HBM3e"). The first price is on demand, the
others are of a commitment of 6, 12, 24 or 36 months, of which the page shows one at a time. Each cell holds the
price of a month too: only `data-option=hourly` is read. "N/A" is no price: B200 is sold with a commitment only, so
the sum in its heading is that of 36 months.

CPU instances, databases and object storage stand on the page in tables of the same class, and the id "nvidia-gpus"
belongs to a div within the section too. The page shows no stock and no regions. A stopped instance is billed in full.

Shape as readers of the page describe it, of 2026-08-22 and 2025-09; no answer of it was at hand. The names of the
columns for CPUs, memory and disk are not known, and are read only where they say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Money, html, number, quantity, text

URL = "https://www.civo.com/pricing"

SOURCE = Source(
    id="civo",
    name="Civo",
    segment="neocloud",
    homepage="https://www.civo.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.civo.com",),
    terms="unknown",
    terms_url="https://www.civo.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 5, 20),
    last_proof="2026-08-22: page described by its readers; no answer recorded",
    min_listings=10,
    billing_increment_s=3600,
    billing_source="https://www.civo.com/learn/quota-charges-and-payment",
)

SECTION = "section#nvidia-gpus"
CAPTION = re.compile(r"NVIDIA (\S.{0,60}) GPU pricing")
DETAIL = re.compile(r"(\d{1,2}) x NVIDIA (\S.{0,60}?) - (\d{1,4} ?GB)( .{0,40})?")
TERM = re.compile(r"(\d{1,2})_months")
MEMORY = re.compile(r"\b\d{1,4}GB\b")


@dataclass(frozen=True, slots=True)
class _Plan:
    """A row of a table: its GPU as the caption names it, its size, and the machine."""

    gpu_text: str
    size: str
    gpu_count: Decimal
    memory: str
    cells: dict[str, str]
    place: str


def parse(payload: Payload) -> list[Listing]:
    """For each row one listing on demand and one for each term.

    Raises:
        PayloadShapeError: The section, a caption or a cell is missing or not readable, or no row has a price.
    """
    section = html(payload).select_one(SECTION)
    if section is None:
        raise PayloadShapeError(payload.part, SECTION, "not in the page")
    listings = [
        listing for table in section.select("table") for listing in _table_listings(payload.part, table)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, SECTION, "no row with a price")
    return listings


def _table_listings(part: str, table: Tag) -> Iterator[Listing]:
    caption = table.find("caption")
    named = CAPTION.fullmatch(text(caption)) if isinstance(caption, Tag) else None
    if not named:
        raise PayloadShapeError(part, SECTION, "a table without a caption 'NVIDIA ... GPU pricing'")
    for index, row in enumerate(row for row in table.select("tr") if row.find("td")):
        plan = _plan(part, named[1], index, row)
        on_demand = row.select_one("td.on-demand-pricing")
        terms = [(TERM.fullmatch(str(block["id"])), block) for block in row.select("[id$=_months]")]
        if on_demand is None or not terms:
            raise PayloadShapeError(
                part, plan.place, "no cell .on-demand-pricing, or no term such as 36_months"
            )
        yield _listing(plan, _hourly(part, plan.place, on_demand), None)
        for term, block in terms:
            if term:
                yield _listing(plan, _hourly(part, plan.place, block), int(term[1]))


def _plan(part: str, label: str, index: int, row: Tag) -> _Plan:
    place = f"'{label}' row {index}"
    detail = row.select_one(".product-detail")
    said = DETAIL.fullmatch(text(detail)) if detail else None
    if detail is None or said is None:
        raise PayloadShapeError(part, place, "no .product-detail such as '1 x NVIDIA H100 - 80GB'")
    memory = MEMORY.search(label)
    if label.split()[0] != said[2].split()[0] or (memory and memory[0] != said[3].replace(" ", "")):
        raise PayloadShapeError(part, place, f"{short(text(detail))} stands under 'NVIDIA {label}'")
    cells = {str(cell.get("data-title", "")).lower(): text(cell) for cell in row.select("td")}
    size = cells.get("size", "").removesuffix(text(detail)).strip()
    return _Plan(f"NVIDIA {label}", size, Decimal(said[1]), said[3], cells, place)


def _hourly(part: str, place: str, cell: Tag) -> tuple[Money, str]:
    """The price of an hour in a cell, and its text; the unit stands in a span of its own."""
    hourly = cell.select_one("[data-option=hourly]")
    unit = hourly.find("span") if hourly else None
    if hourly is None or not isinstance(unit, Tag) or text(unit).lower() != "per hour":
        raise PayloadShapeError(part, place, "no [data-option=hourly] with 'per hour'")
    value = "".join(hourly.find_all(string=True, recursive=False)).strip()
    return priced(part, place, value, pers=(None,)), value


def _listing(plan: _Plan, hourly: tuple[Money, str], term_months: int | None) -> Listing:
    said, value = hourly
    return Listing(
        provider="civo",
        product="gpu_instances",
        plan=f"{plan.gpu_text} {plan.size}".strip(),
        gpu_text=plan.gpu_text,
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit="hour",
        price_state=said.state,
        purchase="reserved" if term_months else "on_demand",
        term_months=term_months,
        place=f"{plan.place} {f'{term_months} months' if term_months else 'on demand'}",
        gpu_count=plan.gpu_count,
        gpu_memory=quantity(plan.memory),
        vcpus=number(_cell(plan, "cpu")),
        ram=quantity(_cell(plan, "ram")),
        disk=quantity(_cell(plan, "storage")),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(value or None) if said.amount is None else None,
    )


def _cell(plan: _Plan, word: str) -> str:
    return next((cell for title, cell in plan.cells.items() if word in title), "")
