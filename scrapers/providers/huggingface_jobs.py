"""Hugging Face Jobs: the price page of the documentation.

Prices are in USD per machine and hour, billed by the minute while a job starts or runs. The number of GPUs stands
before the name ("4x Nvidia L4"), one where there is none; small, medium and large after it are machines around the
same GPU. GPU memory, CPUs, memory and ephemeral storage are of the whole machine. The table of CPUs is left out, and
so is the fee for open ports. The page shows no stock and no regions.

Shape as in the repository of the documentation (docs/hub/jobs-pricing.md, of August 2026). There is an open list of
the same machines at /api/jobs/hardware, with prices of a minute that are rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.markdown import doc_tables
from scrapers.readers import Table, number, quantity

PAGE = "https://huggingface.co/docs/hub"

SOURCE = Source(
    id="huggingface_jobs",
    name="Hugging Face Jobs",
    segment="serverless",
    homepage="https://huggingface.co/docs/hub/jobs",
    pricing_url=f"{PAGE}/jobs-pricing",
    requests=(Request("pricing", f"{PAGE}/en/jobs-pricing.md"),),
    allowed_hosts=("huggingface.co",),
    terms="unknown",
    terms_url="https://huggingface.co/terms-of-service",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08: documentation page read in its repository; no answer recorded",
    min_listings=8,
    billing_increment_s=60,
    billing_source=f"{PAGE}/jobs-pricing",
)

NEEDED = ("hardware", "gpu memory", "hourly price")
HARDWARE = re.compile(r"(?:(\d{1,2})x )?(\S.{0,60}?)(?: - (?:small|medium|large|xlarge))?")


def parse(payload: Payload) -> list[Listing]:
    """One listing for each machine of the table of GPUs.

    Raises:
        PayloadShapeError: No such table, a name or a price that is not readable, or no row with a price.
    """
    listings = [listing for table in doc_tables(payload) for listing in _table_listings(payload.part, table)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "GPU", f"no table with the columns {', '.join(NEEDED)}")
    return listings


def _table_listings(part: str, table: Table) -> Iterator[Listing]:
    heads = [head.lower() for head in table.header]
    if any(head not in heads for head in NEEDED):
        return
    for index, row in enumerate(table.rows):
        yield _listing(part, f"GPU row {index}", dict(reversed(list(zip(heads, row, strict=False)))))


def _listing(part: str, place: str, cells: dict[str, str]) -> Listing:
    name = HARDWARE.fullmatch(cells["hardware"])
    if name is None:
        raise PayloadShapeError(part, place, f"{short(cells['hardware'])} is no machine")
    said = priced(part, place, cells["hourly price"], pers=(None,))
    return Listing(
        provider="huggingface_jobs",
        product="jobs",
        plan=cells["hardware"],
        gpu_text=name[2],
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        place=place,
        gpu_count=Decimal(name[1] or 1),
        gpu_memory=quantity(cells["gpu memory"]),
        gpu_memory_is_total=True,
        vcpus=number(cells.get("cpu", "").removesuffix("vCPU").strip()),
        ram=quantity(cells.get("memory", "")),
        disk=quantity(cells.get("ephemeral storage", "")),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(cells["hourly price"] or None) if said.amount is None else None,
    )
