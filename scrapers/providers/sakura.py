"""Sakura Internet: the price table of GPU servers of Sakura Cloud, a page in Japanese. Prices are in yen.

A row is a server plan, with one GPU where its name counts none. Its price stands three times, per month (月額),
per day (日割) and per hour (時間割), for the bill is whichever is least: a server that runs on costs no more than
the month.
So the price per hour is the listing, and the other two stand in its note. Prices include consumption tax
where the page says 税込.
Rows that name no GPU (disks, addresses) are not read. The bare metal of 高火力 PHY has no public price.

Shape: as readers of 2025-09 took it, by its columns; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_price, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import Table, html, tables, text

URL = "https://cloud.sakura.ad.jp/products/server/gpu/"

SOURCE = Source(
    id="sakura",
    name="Sakura Internet",
    segment="neocloud",
    homepage="https://www.sakura.ad.jp/",
    pricing_url=URL,
    requests=(Request("gpu", URL),),
    allowed_hosts=("cloud.sakura.ad.jp",),
    terms="unknown",
    terms_url="https://www.sakura.ad.jp/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2025-09: page described by its readers; no answer recorded",
    min_listings=1,
)

GPU = re.compile(r"(?<![A-Za-z0-9])(?:NVIDIA ?)?(?:GB|RTX ?|[ABHLV])\d{1,4}[A-Z]?(?![A-Za-z0-9])")

COUNT = re.compile(r"[x×✕] ?(\d{1,2})(?!\d)|(?<![\d.])(\d{1,2}) ?(?:[x×✕]|基|枚)")
TAX = re.compile(r"[(（]?税[込抜別][)）]?")


def parse(payload: Payload) -> list[Listing]:
    """The rows with a GPU of the tables with a price per hour.

    Raises:
        PayloadShapeError: A price that is not understood, a plan with two prices, or no row with a price.
    """
    page = html(payload)
    found = tables(page)
    is_taxed = "税込" in text(page)
    listings = [
        listing
        for index, table in enumerate(found)
        for listing in _listings(payload.part, f"table {index}", table, is_taxed=is_taxed)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "price tables", "no row of a GPU with a price per hour (時間)")
    check_one_price(payload.part, listings)
    return listings


def _listings(part: str, place: str, table: Table, *, is_taxed: bool) -> Iterator[Listing]:
    header, *rows = [table.header, *table.rows] if any(table.header) else list(table.rows) or [()]
    hour = next((index for index, head in enumerate(header) if "時間" in head), None)
    if hour is None:
        return
    for row_index, row in enumerate(rows):
        named = GPU.search(row[0])
        if named is None:
            continue
        said = priced(
            part,
            f"{place} row {row_index}",
            TAX.sub("", row[hour]),
            currencies=(None, "JPY"),
            pers=(None, "instance"),
        )
        count = COUNT.search(row[0])
        others = [f"{header[index]}: {row[index]}" for index in range(1, len(row)) if index != hour]
        yield Listing(
            provider="sakura",
            product="cloud_gpu",
            plan=row[0],
            gpu_text=named[0],
            gpu_count=Decimal(count[1] or count[2]) if count else Decimal(1),
            price=said.amount,
            currency="JPY",
            price_per="instance",
            price_unit="hour",
            price_state=said.state,
            purchase="on_demand",
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=row[hour] or None if said.amount is None else None,
            note="; ".join([*others, "consumption tax included"] if is_taxed else others) or None,
            place=f"{place} row {row_index}",
        )
