"""Replicate: the public price page, table of hardware.

Prices are in USD per instance, in one cell per second and per hour: "$0.001400/sec $5.04/hr". The first is read, and
the second must agree with it. An instance has 1, 2, 4 or 8 GPUs; GPU RAM, CPUs and RAM are of all of them, but for
an older form "8x 48GB"; "(Large)" is the size of the machine. The row of CPUs alone is left out.

Below "Additional hardware" the columns hold a sentence instead: more capacity of H100 is kept for contracts with
committed spend. Such rows are reservations without a known term. Who runs a public model pays the active time only;
the price of a private model or a deployment counts from its setup on, idle time too. The page shows no stock and no
regions.

Shape as in stored copies of the text of the page, undated, of 2024 and 2025; in August 2026 prices of the same form
were reported. A reader of 2026 needed a browser for it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Money, Table, html, money, number, quantity, tables

URL = "https://replicate.com/pricing"

SOURCE = Source(
    id="replicate",
    name="Replicate",
    segment="serverless",
    homepage="https://replicate.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("replicate.com",),
    terms="unknown",
    terms_url="https://replicate.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08: prices of this form reported; copies of the page are older and undated",
    min_listings=4,
    billing_increment_s=1,
    billing_source="https://replicate.com/docs/topics/billing",
)

COLUMNS = ("hardware", "price", "gpu", "cpu", "gpu ram", "ram")
NAME = re.compile(r"(?:(\d{1,2})x )?(\S.{0,80}?) ?(gpu-[a-z0-9-]{1,40})")
SIZE = re.compile(r" \((?:Small|Large)\)")
PRICES = re.compile(r"(?:[A-Z]{1,3})?\$ ?[\d.,]{1,20} ?/ ?[a-z]{1,6}")
FROM = re.compile(r"\b(?:from|starting at|as low as)\b", re.IGNORECASE)
PER_CARD = re.compile(r"\d{1,2}x (\S.{0,20})")
SECONDS_PER_HOUR = 3600


def parse(payload: Payload) -> list[Listing]:
    """One listing for each row with a GPU.

    Raises:
        PayloadShapeError: No table of hardware, a count or a price that contradicts another, or no row with a price.
    """
    found = [table for table in tables(html(payload)) if _heads(table) == COLUMNS]
    if len(found) != 1:
        problem = f"{len(found)} tables with the columns {', '.join(COLUMNS)}"
        raise PayloadShapeError(payload.part, "table of hardware", problem)
    listings = []
    for index, row in enumerate(found[0].rows):
        cells = dict(zip(COLUMNS, row, strict=False))
        place, name = f"hardware row {index}", NAME.fullmatch(cells["hardware"])
        if name:
            listings.append(_listing(payload.part, place, name, cells))
        elif PRICES.search(cells["price"]) and not cells["hardware"].startswith("CPU"):
            raise PayloadShapeError(
                payload.part, place, f"{short(cells['hardware'])} is no name with gpu-..."
            )
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "table of hardware", "no row with a GPU and a price")
    return listings


def _heads(table: Table) -> tuple[str, ...]:
    return tuple(head.lower() for head in table.header)


def _listing(part: str, place: str, name: re.Match[str], cells: dict[str, str]) -> Listing:
    said = _price(part, place, cells["price"])
    count = Decimal(name[1] or 1)
    counted = number(cells["gpu"])
    if counted not in (None, count):
        raise PayloadShapeError(part, place, f"{short(cells['hardware'])} with {short(cells['gpu'])} GPUs")
    sentence = cells["gpu"] if counted is None and len(cells["gpu"]) > len("8x") else None
    is_committed = sentence is not None and "commit" in sentence.lower()
    per_card = PER_CARD.fullmatch(cells["gpu ram"])
    return Listing(
        provider="replicate",
        product="private_models_deployments",
        plan=name[3],
        gpu_text=SIZE.sub("", name[2]),
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit=said.unit or "second",
        price_state=said.state,
        purchase="reserved" if is_committed else "on_demand",
        place=place,
        gpu_count=count,
        gpu_memory=quantity(per_card[1] if per_card else cells["gpu ram"]),
        gpu_memory_is_total=per_card is None,
        vcpus=number(cells["cpu"]),
        ram=quantity(cells["ram"]),
        availability="unknown" if said.amount is None or is_committed else "listed_only",
        availability_text=sentence or ((cells["price"] or None) if said.amount is None else None),
        note=sentence,
    )


def _price(part: str, place: str, cell: str) -> Money:
    """The price per second, which the price per hour in the same cell must agree with to a hundredth."""
    said = {price.unit: price for price in map(money, PRICES.findall(cell)) if price.amount is not None}
    second, hour = said.get("second"), said.get("hour")
    if second is None or second.amount is None:
        whole = money(cell)
        if whole.is_contact or whole.is_blank:
            return whole
        raise PayloadShapeError(part, place, f"{short(cell)} has no price per second")
    if hour and hour.amount and abs(second.amount * SECONDS_PER_HOUR - hour.amount) * 100 > hour.amount:
        raise PayloadShapeError(part, place, f"{short(cell)}: the second and the hour do not agree")
    if second.currency != "USD":
        raise PayloadShapeError(part, place, f"{short(cell)} is not in USD")
    return replace(second, is_from=bool(FROM.search(cell)))
