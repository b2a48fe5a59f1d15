"""Crusoe Cloud: the public price page.

Prices are in USD per GPU and hour, which the cell itself says ("$3.90/GPU-hr"). CPU machines, storage, tokens of
language models and self-serve deployments stand on the same page in rows of the same classes, and a deployment has
another price for the same GPU: only the rows under "GPU instances pricing" are read. "prixing-item" is how the page
spells it.

The first tag of a row is the VRAM of one GPU, the second HGX, NVL72, SXM, PCIe or nothing. There are two prices,
on demand and spot; reservations are made by sales, and had columns of their own in spring 2025 ("1-year reserved"), by
what a collector reads. A cell without a sign is in the currency of the others. The page shows no stock, no regions and
no machine around the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.contract import Listing, Payload, PurchaseKind, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, money, quantity, text

URL = "https://www.crusoe.ai/cloud/pricing"

SOURCE = Source(
    id="crusoe",
    name="Crusoe Cloud",
    segment="neocloud",
    homepage="https://www.crusoe.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.crusoe.ai",),
    terms="unknown",
    terms_url="https://www.crusoe.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 4, 27),
    last_proof="2026-10: page recorded and parsed",
    min_listings=4,
)

SECTION = "gpu instances pricing"
# Heads of the columns after the name: what they sell, and for how many months.
COLUMNS: dict[str, tuple[PurchaseKind, int | None]] = {
    "on-demand": ("on_demand", None),
    "current spot": ("spot", None),
    "6-month reserved": ("reserved", 6),
    "1-year reserved": ("reserved", 12),
    "3-year reserved": ("reserved", 36),
}


def parse(payload: Payload) -> list[Listing]:
    """A listing for each GPU and column, mostly two: on demand and spot.

    Raises:
        PayloadShapeError: The section, a column or a row's name is missing, or no row has a price.
    """
    page = html(payload)
    heads = [head for head in page.select(".pricing-table-heading") if _section(head) == SECTION]
    if len(heads) != 1:
        found = sorted({text(heading) for heading in page.select("h3.pricing-col-heading")})
        problem = f"{len(heads)} tables under this heading; headings are {short(', '.join(found))}"
        raise PayloadShapeError(payload.part, f"'{SECTION}'", problem)
    first, *columns = [text(cell).lower() for cell in heads[0].select(".pricing-heading")] or [""]
    if first != "gpu model" or columns[:1] != ["on-demand"] or not COLUMNS.keys() >= set(columns):
        problem = f"columns are {short(', '.join([first, *columns]))}, not GPU model, On-demand, Current spot"
        raise PayloadShapeError(payload.part, f"'{SECTION}'", problem)
    items = [item for item in page.select(".prixing-item") if _section(item) == SECTION]
    listings = [
        listing
        for index, item in enumerate(items)
        for listing in _listings(payload.part, columns, index, item)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, f"'{SECTION}'", f"none of {len(items)} rows has a price")
    return _in_one_currency(listings)


def _section(tag: Tag) -> str:
    heading = tag.find_previous("h3", class_="pricing-col-heading")
    return text(heading).lower() if isinstance(heading, Tag) else ""


def _listings(part: str, columns: list[str], index: int, item: Tag) -> Iterator[Listing]:
    place = f"'{SECTION}' row {index}"
    name = item.select_one(".pricing-item-heading")
    if name is None:
        raise PayloadShapeError(part, place, "no .pricing-item-heading")
    vram, kind, *_ = [*(text(tag) for tag in item.select(".pricing-tag")), "", ""]
    prices = [text(cell) for cell in item.select(".pricing-rich")]
    if prices and len(prices) != len(columns):
        raise PayloadShapeError(part, place, f"{len(prices)} cells .pricing-rich, not {len(columns)}")
    note = None if prices else "the row ends before its prices"
    for column, price in zip(columns, prices or [""] * len(columns), strict=True):
        purchase, term_months = COLUMNS[column]
        said = money(price)
        if said.unit not in (None, "hour") or said.per not in (None, "gpu"):
            raise PayloadShapeError(
                part, f"{place} '{column}'", f"{short(price)} is no price per GPU and hour"
            )
        yield Listing(
            provider="crusoe",
            product=purchase,
            plan=" ".join(filter(None, (text(name), vram, kind))),
            gpu_text=text(name),
            price=said.amount,
            currency=said.currency,
            price_per="gpu",
            price_unit="hour",
            price_state=said.state,
            purchase=purchase,
            term_months=term_months,
            place=f"{place} '{column}'",
            gpu_count=Decimal(1),
            gpu_memory=quantity(vram),
            form_factor_text=kind if kind and kind != "NVL72" else None,
            link_text=kind if kind == "NVL72" else None,
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=price or None if said.amount is None else None,
            note=note,
        )


def _in_one_currency(listings: list[Listing]) -> list[Listing]:
    """The listings, with prices that have no sign in the currency that all other prices share."""
    currencies = {listing.currency for listing in listings if listing.currency}
    if len(currencies) != 1:
        return listings
    (shared,) = currencies
    return [
        replace(listing, currency=shared) if listing.price is not None else listing for listing in listings
    ]
