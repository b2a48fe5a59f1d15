"""Hugging Face Inference Endpoints: the price page of the documentation.

Prices are in USD per instance and hour, billed by the minute for each replica. An instance is a size ("x4") of a type
("nvidia-l4") in the cloud of another (aws, gcp, azure), which is kept as the origin: it is no place. Memory is of
all GPUs of the instance, but for rows that repeat that of the size x1. It is what Hugging Face writes: 14 GB for a
T4 at aws, 16 GB at gcp. Rows that are no longer offered stay in the table, marked in their last cell or behind it
("Deprecated from December 2025"): they are out of stock from that month on. Tables of CPUs are left out; those of
accelerators (INF2, TPU) are read like GPUs, with the number of accelerators. The page shows no stock.

Shape as in the repository of the documentation (docs/source/support/pricing.mdx, of 2025) and stored copies of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

from scrapers.cells import priced
from scrapers.contract import Availability, Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.markdown import doc_tables
from scrapers.readers import Table, number, quantity

PAGE = "https://huggingface.co/docs/inference-endpoints"

SOURCE = Source(
    id="huggingface_endpoints",
    name="Hugging Face Inference Endpoints",
    segment="serverless",
    homepage="https://huggingface.co/inference-endpoints",
    pricing_url=f"{PAGE}/support/pricing",
    requests=(Request("pricing", f"{PAGE}/en/support/pricing.md"),),
    allowed_hosts=("huggingface.co",),
    terms="unknown",
    terms_url="https://huggingface.co/terms-of-service",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 20),
    last_proof="2026: copies of the documentation page read; no answer recorded",
    min_listings=10,
    billing_increment_s=60,
    billing_source=f"{PAGE}/pricing",
)

NEEDED = ("provider", "instance type", "instance size", "hourly rate", "architecture")
COUNTS = ("gpus", "accelerators")
MEMORIES = ("memory", "gpu memory", "accelerator memory")
DEPRECATED = re.compile(r"(?i)(?:soon to be )?(?:fully )?deprecated(?: from ([a-z]{3,9} \d{4}))?")


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row of the tables of GPUs and accelerators.

    Raises:
        PayloadShapeError: No such table, a price or a count that is not readable, or no row with a price.
    """
    on_day = payload.fetched_at.date()
    listings = [
        listing for table in doc_tables(payload) for listing in _table_listings(payload.part, table, on_day)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "GPU Instances", "no table of instances with GPUs and a price")
    return listings


def _table_listings(part: str, table: Table, on_day: date) -> Iterator[Listing]:
    heads = [head.lower() for head in table.header]
    count_head = next((head for head in COUNTS if head in heads), None)
    memory_head = next((head for head in MEMORIES if head in heads), None)
    if count_head is None or memory_head is None or any(head not in heads for head in NEEDED):
        return
    rows = [dict(reversed(list(zip(heads, row, strict=False)))) for row in table.rows]
    singles = {
        (row["provider"], row["instance type"]): quantity(row[memory_head])
        for row in rows
        if number(row[count_head]) == 1
    }
    for index, (row, cells) in enumerate(zip(rows, table.rows, strict=True)):
        place = f"'{table.headings[-1] if table.headings else ''}' row {index}"
        memory, count = quantity(row[memory_head]), number(row[count_head])
        is_total = count == 1 or memory != singles.get((row["provider"], row["instance type"]))
        if count is None:
            raise PayloadShapeError(part, place, f"{short(row[count_head])} is no number of {count_head}")
        yield _listing(part, place, row, count, memory, _state(" ".join(cells), on_day), is_total=is_total)


def _listing(
    part: str,
    place: str,
    row: dict[str, str],
    count: Decimal,
    memory: Quantity | None,
    state: tuple[Availability, str | None],
    *,
    is_total: bool,
) -> Listing:
    rate = row["hourly rate"]
    said = priced(part, place, rate, pers=(None,))
    availability, availability_text = state
    return Listing(
        provider="huggingface_endpoints",
        product="dedicated_endpoints",
        plan=f"{row['provider']} {row['instance type']} {row['instance size']}",
        gpu_text=DEPRECATED.split(row["architecture"], maxsplit=1)[0].rstrip(" *(-–—"),
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        place=place,
        gpu_count=count,
        gpu_memory=memory,
        gpu_memory_is_total=is_total,
        ram=quantity(row.get("ram", "")),
        availability="unknown" if said.amount is None else availability,
        availability_text=(rate or None) if said.amount is None else availability_text,
        origin=row["provider"],
    )


def _state(row_text: str, on_day: date) -> tuple[Availability, str | None]:
    """Whether a row is still offered on a day, and the words that say otherwise."""
    marked = DEPRECATED.search(row_text)
    if not marked:
        return "listed_only", None
    try:
        since = datetime.strptime(marked[1] or "", "%B %Y").date()
    except ValueError:
        return "unknown", marked[0]
    return "out_of_stock" if since <= on_day else "listed_only", marked[0]
