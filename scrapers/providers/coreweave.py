"""CoreWeave: the public price page. Off by default, for the terms are reported to forbid automated access.

Prices are in USD per node and hour, of 8 GPUs, or of 4 for an NVL72, which is sold in trays (printed 4^1, with a
footnote). VRAM is of one GPU; vCPUs, RAM and storage are of the node. There is one table for each region. A row holds
everything twice, for wide and for narrow screens; only the cells that stand directly in the grid are read.

On-demand cells may say "Contact sales" beside a spot price, spot cells "N/A" where there is no spot. The column
"Inference Single GPU Price" is not read: it is the on-demand price divided by the number of GPUs. "Up to 60 % off"
for reservations is no price. The page shows no stock.

The page of 2023 listed the GPU without CPU and RAM, which were sold apart. That is no price of an offer, and raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Literal

from bs4 import Tag

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, money, number, text

URL = "https://www.coreweave.com/pricing"

SOURCE = Source(
    id="coreweave",
    name="CoreWeave",
    segment="neocloud",
    homepage="https://www.coreweave.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.coreweave.com",),
    terms="restricted",
    terms_url="https://docs.coreweave.com/policies/terms-of-service",
    terms_note="a compliance note of July 2026 says that the terms forbid automated access; clause not read",
    terms_reviewed_on=date(2026, 10, 10),
    last_proof="2026-10: page recorded and parsed",
    min_listings=5,
    default_on=False,
    off_reason="the terms are reported to forbid automated access",
)

PRICES: dict[str, PurchaseKind] = {"on-demand price (per hour)": "on_demand", "spot price (per hour)": "spot"}
NODE = ("gpu model", "gpu count", "vram (gb)", "vcpus", "system ram (gb)", "local storage (tb)")


def parse(payload: Payload) -> list[Listing]:
    """Two listings for each node and region, on demand and spot.

    Raises:
        PayloadShapeError: The tables, a column or a region is missing, or no row has a price.
    """
    page = html(payload)
    tables = page.select(".table-v2.gpu-pricing")
    if not tables:
        is_old = "GPU Component" in page.get_text()
        problem = "the à-la-carte list without CPU and RAM" if is_old else "no table .table-v2.gpu-pricing"
        raise PayloadShapeError(payload.part, "'On-demand GPU instances'", problem)
    listings = [listing for table in tables for listing in _listings(payload.part, table)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, ".table-row-v2", "no row has a price")
    return listings


def _listings(part: str, table: Tag) -> Iterator[Listing]:
    eyebrow = table.find_previous(class_="eyebrow")
    heading = text(eyebrow) if isinstance(eyebrow, Tag) else ""
    if not heading.startswith("REGION:"):
        raise PayloadShapeError(
            part, ".gpu-pricing", f"the heading above is {short(heading)}, not 'REGION: ...'"
        )
    region = heading.removeprefix("REGION:").strip()
    columns = [text(head).lower() for head in table.select(".table-v2-header .table-v2-cell")]
    for column in (*NODE, *PRICES):
        if column not in columns:
            raise PayloadShapeError(
                part, f"'{heading}'", f"no column '{column}'; found {short(', '.join(columns))}"
            )
    for index, row in enumerate(table.select(".table-row-v2")):
        place = f"'{heading}' row {index}"
        grid = row.select_one(".table-grid")
        cells = grid.find_all("div", class_="table-v2-cell", recursive=False) if grid else []
        name = row.select_one("h3")
        if len(cells) != len(columns) or name is None:
            problem = f"{len(cells)} cells under {len(columns)} columns, {'a' if name else 'no'} name"
            raise PayloadShapeError(part, place, problem)
        plan = str(name.get("data-product", text(name)))
        texts = dict(zip(columns, map(_cell_text, cells), strict=True))
        for column, purchase in PRICES.items():
            yield _listing(texts, plan, column, purchase, region, f"{place} '{column}'")


def _cell_text(cell: Tag) -> str:
    """The value of a cell, or what the link below it says where there is none."""
    value = cell.find("div", recursive=False)
    return (text(value) if isinstance(value, Tag) else "") or text(cell)


def _listing(
    cells: dict[str, str], plan: str, column: str, purchase: PurchaseKind, region: str, place: str
) -> Listing:
    said = money(cells[column])
    return Listing(
        provider="coreweave",
        product=purchase,
        plan=plan,
        gpu_text=cells["gpu model"],
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit="hour",
        price_state=said.state,
        purchase=purchase,
        place=place,
        gpu_count=number(cells["gpu count"]),
        gpu_memory=_quantity(cells["vram (gb)"], "GB"),
        vcpus=number(cells["vcpus"]),
        ram=_quantity(cells["system ram (gb)"], "GB"),
        disk=_quantity(cells["local storage (tb)"], "TB"),
        region_text=region,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=cells[column] if said.amount is None else None,
    )


def _quantity(cell: str, unit: Literal["GB", "TB"]) -> Quantity | None:
    amount = number(cell)
    return None if amount is None else Quantity(amount, unit)
