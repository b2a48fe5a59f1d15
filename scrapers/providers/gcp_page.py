"""Google Compute Engine: the page of GPU prices, for cross-checks of the price mirror. Off by default.

The page shows Iowa (us-central1); other regions and currencies need a script in the browser. Prices are in USD per
hour, of a whole machine where the table has machine types (A4, A3, A2, G4, G2), and of one GPU where it has GPUs that
are attached to an N1 machine, which is paid apart: those are lower bounds.

What the price columns sell is in their head, before the tooltip ("Consumption model ID"):

"Price"                         on demand; "N/A" where Google does not sell the type so (A4)
"DWS Flex-start", "Calendar"    reserved without a term: a queue, and booked windows
"Current Spot pricing"          spot, which moves within days
"... CUDs - N Year"             reserved, a commitment for the resources
"Compute Flexible CUD - N Year" reserved, a commitment for an amount of money

Rows with a name alone are headings. Cells can be broken: "$2 .0000/ 1 hour", "vCPUs:48", GB beside GiB, or the name
of a plan where a price is due; such a row keeps its place without a price. A fraction of a GPU is "1/8".

The two tables of machines as recorded in October 2026. Of the table of attached GPUs no recorded page was seen: its
columns are those that readers of the page name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Table, html, money, number, quantity, tables

URL = "https://cloud.google.com/compute/gpus-pricing"

SOURCE = Source(
    id="gcp_page",
    name="Google Compute Engine (price page)",
    segment="hyperscaler",
    homepage="https://cloud.google.com/",
    pricing_url=URL,
    requests=(Request("gpus-pricing", URL),),
    allowed_hosts=("cloud.google.com",),
    terms="unknown",
    terms_url="https://cloud.google.com/terms",
    terms_note="terms of the page not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 7, 30),
    last_proof="2026-10: both tables of machines recorded and parsed; table of attached GPUs not seen",
    min_listings=20,
    basis="mirror",
    provider="gcp",
    default_on=False,
    off_reason="the page shows one region only: it stands for cross-checks of the mirror, which has all",
    billing_increment_s=1,
    billing_minimum_s=60,
    billing_source=URL,
)

REGION = "us-central1"
MACHINE, GPU_NAMES = "machine type", ("gpu", "model", "gpu model", "gpu type")
PARTS = {
    "gpus": re.compile(r"\bGPUs?: ?+([\d/,]+)"),
    "vcpus": re.compile(r"\bvCPUs?: ?+([\d,]+)"),
    "memory": re.compile(r"\bMemory: ?+([\d,.]+ ?+[GT]i?B)\b"),
    "disk": re.compile(r"\bSSD: ?+([\d,.]+ ?+[GT]i?B)\b"),
}
TERM = re.compile(r"\b([13])[ -]year\b")
ON_DEMAND = re.compile(r"(gpu |on[- ]demand )?(price|pricing)( per (gpu|hour|vm))*")


@dataclass(frozen=True, slots=True)
class _Column:
    """A price column: where it stands, its head, and what it sells."""

    index: int
    head: str
    purchase: PurchaseKind
    product: str | None
    term_months: int | None


def parse(payload: Payload) -> list[Listing]:
    """A listing for each machine or attached GPU and each way to buy it; on demand also where it has no price.

    Raises:
        PayloadShapeError: No table of GPUs, a price column that is not known, or no row with a price.
    """
    listings = [
        listing
        for index, table in enumerate(tables(html(payload)))
        for listing in _listings(payload.part, f"table {index}", table)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "tables", "no GPU with a price in any of them")
    return listings


def _head(text: str) -> str:
    """The head of a column without its tooltip, footnote and currency."""
    return re.split(r"\^|\(usd\)|\binfo\b|consumption model", text.lower())[0].strip(" *")


def _listings(part: str, place: str, table: Table) -> Iterator[Listing]:
    heads = [_head(text) for text in table.header]
    name = next((heads.index(head) for head in GPU_NAMES if head in heads), None)
    if name is None:
        return
    columns = [column for index, head in enumerate(heads) if (column := _column(part, place, index, head))]
    for row, cells in enumerate(table.rows):
        if cells[name] and any(cells[column.index].strip(" -–—") for column in columns):
            yield from _row(f"{place} row {row}", heads, name, columns, cells)


def _column(part: str, place: str, index: int, head: str) -> _Column | None:
    """What a column sells; None where it has no prices."""
    term = TERM.search(head)
    months = int(term[1]) * 12 if term else None
    if "flex-start" in head:
        return _Column(index, head, "reserved", "dws_flex_start_calendar", None)
    if "calendar" in head:
        return _Column(index, head, "reserved", "dws_calendar_mode", None)
    if "spot" in head or "preemptible" in head:
        return _Column(index, head, "spot", None, None)
    if "cud" in head or "commitment" in head:
        if months is None:
            raise PayloadShapeError(part, place, f"column {short(head)} is a commitment without its years")
        return _Column(index, head, "reserved", "flexible_cud" if "flexible" in head else None, months)
    if ON_DEMAND.fullmatch(head):
        return _Column(index, head, "on_demand", None, None)
    if "price" in head or "pricing" in head:
        raise PayloadShapeError(part, place, f"column {short(head)} is no known way to buy")
    return None


def _row(
    place: str, heads: list[str], name: int, columns: list[_Column], cells: tuple[str, ...]
) -> Iterator[Listing]:
    of = dict(zip(heads, cells, strict=True))
    is_machine = MACHINE in of
    said = {key: found[1] for key, part in PARTS.items() if (found := part.search(of.get("components", "")))}
    count = number(said.get("gpus") or re.sub(r" ?GPUs?$", "", of.get("gpus", "")))
    for column in columns:
        cell = cells[column.index]
        price = money(cell)
        is_blank = price.is_blank or price.is_contact
        if is_blank and column.purchase != "on_demand":
            continue
        is_price = price.unit in (None, "hour") and price.currency == "USD"
        unreadable = None if is_price or is_blank else f"no price per hour in USD: {short(cell)}"
        notes = [unreadable, None if is_machine else "the GPU alone; its machine is paid apart"]
        yield Listing(
            provider="gcp",
            product=column.product,
            plan=of[MACHINE] if is_machine else f"N1 with {of.get('gpus', '')} {cells[name]}",
            gpu_text=cells[name],
            gpu_count=count,
            gpu_memory=None if is_machine else quantity(of.get("gpu memory", "")),
            gpu_memory_is_total=not is_machine,
            vcpus=number(said.get("vcpus", "")),
            ram=_quantity(said.get("memory")),
            disk=_quantity(said.get("disk")),
            price=price.amount if is_price else None,
            currency="USD" if is_price else None,
            price_per="instance" if is_machine else "gpu",
            price_unit="hour",
            price_state=price.state if is_machine else "from_price",
            purchase=column.purchase,
            term_months=column.term_months,
            region_text=REGION,
            availability="listed_only" if is_price else "unknown",
            availability_text=None if is_price else cell or None,
            note="; ".join(note for note in notes if note) or None,
            place=f"{place} '{column.head}'",
        )


def _quantity(cell: str | None) -> Quantity | None:
    return quantity(cell) if cell else None
