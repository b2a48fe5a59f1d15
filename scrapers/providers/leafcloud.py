"""Leafcloud: the row of its own GPU prices on the public price page. Prices are in EUR per GPU and hour.

The page compares providers in a component whose data stand as JSON in the attribute `props` of an `astro-island`,
where each value is wrapped as [0, value] and each list as [1, [...]]. Of that only the row of Leafcloud itself is read;
what it says of others is not its own. A column is a GPU, named by a short key; `rtx6000` is the RTX PRO 6000 of 96 GB,
as a reader of autumn 2026 found. "N/A" is a GPU that is not sold. Prices are rounded to cents; flavours, with prices
of five decimals, were listed in 2026-05 in a part of the page whose shape is not known.

Shape: the row as a reader recorded it in autumn 2026; no whole page was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import html, money, read_json

URL = "https://leaf.cloud/pricing/"

SOURCE = Source(
    id="leafcloud",
    name="Leafcloud",
    segment="neocloud",
    homepage="https://leaf.cloud/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("leaf.cloud", "www.leaf.cloud"),
    terms="unknown",
    terms_url="https://leaf.cloud/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 5, 20),
    last_proof="2026: row of the page recorded by a reader; no whole page recorded",
    min_listings=2,
)

NAMES = {"rtx6000": "RTX PRO 6000", "h100": "H100", "a100": "A100", "a30": "A30"}
SELF = "leafcloud"


def parse(payload: Payload) -> list[Listing]:
    """The GPUs in the row of Leafcloud.

    Raises:
        PayloadShapeError: No component has the row, a price is not in EUR or USD per hour, or the row has no price.
    """
    row = next(_own_rows(payload), None)
    if row is None:
        raise PayloadShapeError(payload.part, "astro-island", f"no row with the provider {SELF}")
    listings = list(_listings(payload.part, row))
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "row of Leafcloud", "no price of a GPU")
    return listings


def _own_rows(payload: Payload) -> Iterator[dict[str, str]]:
    """The texts of each row whose provider is Leafcloud, without their wrapping."""
    for island in html(payload).select("astro-island[props]"):
        props = str(island["props"])
        if SELF not in props.lower():
            continue
        waiting: list[Any] = [
            read_json(replace(payload, body=props.encode(), content_type="application/json"))
        ]
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting += reversed(value)
            elif isinstance(value, dict):
                texts = {key: text for key, wrapped in value.items() if (text := _text(wrapped))}
                if texts.get("provider", "").lower() == SELF:
                    yield texts
                waiting += reversed(value.values())


def _text(wrapped: Any) -> str | None:
    """The text in [0, text]."""
    is_text = isinstance(wrapped, list) and len(wrapped) == 2 and isinstance(wrapped[1], str)
    return wrapped[1].strip() if is_text else None


def _listings(part: str, row: dict[str, str]) -> Iterator[Listing]:
    for key, cell in row.items():
        if key not in NAMES and money(cell).currency is None:
            continue
        place = f"row of Leafcloud '{key}'"
        said = priced(part, place, cell, currencies=("EUR", "USD"))
        yield Listing(
            provider="leafcloud",
            plan=key,
            gpu_text=NAMES.get(key, key),
            gpu_count=Decimal(1),
            price=said.amount,
            currency=said.currency,
            price_per="gpu",
            price_unit="hour",
            price_state=said.state,
            purchase="on_demand",
            region_text=row.get("location"),
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=cell if said.amount is None else None,
            place=place,
        )
