"""Hyperstack (NexGen Cloud): the public page of GPU prices.

Prices are in USD per GPU and hour, billed by the minute. The page has cards with the same markup, and only the
heading of a card says what is sold: "On-Demand GPU", "Reservation" (a lower bound, without a term), "Spot VM".
The CPU card and the prices of models further down are not read.

CPUs and RAM are the most that one GPU comes with, so a listing is one GPU. Only the on-demand card prints the VRAM;
rows of the same name in the other cards get it from there. "NVLink" after a name that is not SXM means PCIe cards
with bridges. The page shows no stock and no regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, money, number, text

URL = "https://www.hyperstack.cloud/gpu-pricing"

SOURCE = Source(
    id="hyperstack",
    name="Hyperstack",
    segment="neocloud",
    homepage="https://www.hyperstack.cloud/",
    pricing_url=URL,
    requests=(Request("gpu_pricing", URL),),
    allowed_hosts=("www.hyperstack.cloud",),
    terms="unknown",
    terms_url="https://www.hyperstack.cloud/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 10, 10),
    min_listings=5,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source="https://infrahub-doc.nexgencloud.com/docs/billing/states-and-billing",
)

# Heading of a card: what it sells, and the column with the price.
CARDS: dict[str, tuple[PurchaseKind, str]] = {
    "on-demand gpu": ("on_demand", "pricing per hour"),
    "reservation": ("reserved", "starting from"),
    "spot vm": ("spot", "spot vm"),
}


def parse(payload: Payload) -> list[Listing]:
    """The rows of the three GPU cards.

    Raises:
        PayloadShapeError: A card or a column is missing, or no row has a price.
    """
    cards = _cards(payload.part, html(payload))
    listings = []
    for title in CARDS:
        if title not in cards:
            raise PayloadShapeError(
                payload.part, f"card '{title}'", f"missing; found {short(', '.join(sorted(cards)))}"
            )
        listings += list(_listings(payload.part, title, cards[title]))
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, ".page-price_card_row_item", "no row has a price")
    vram = {listing.gpu_text: listing.gpu_memory for listing in listings if listing.gpu_memory}
    return [replace(listing, gpu_memory=vram.get(listing.gpu_text)) for listing in listings]


def _cards(part: str, page: Tag) -> dict[str, Tag]:
    """The body of each card by its heading, without the word "Pricing"."""
    cards: dict[str, Tag] = {}
    for card in page.select(".page-price_card_main"):
        heading = card.find_previous("h3") or card.find_previous("span")
        title = text(heading).lower().removesuffix("pricing").strip() if isinstance(heading, Tag) else ""
        if title in cards and title in CARDS:
            raise PayloadShapeError(part, f"card '{title}'", "two cards under one heading")
        cards[title] = card
    return cards


def _listings(part: str, title: str, card: Tag) -> Iterator[Listing]:
    purchase, price_column = CARDS[title]
    columns = [text(head).lower() for head in card.select(".page-price_card_head_item")]
    for column in ("gpu model", price_column):
        if column not in columns:
            raise PayloadShapeError(
                part, f"card '{title}'", f"no column '{column}'; found {short(', '.join(columns))}"
            )
    for index, row in enumerate(card.select(".page-price_card_row_item")):
        cells = [text(cell) for cell in row.select(".page-price_card_row_item_col")]
        place = f"card '{title}' row {index}"
        if len(cells) != len(columns):
            raise PayloadShapeError(part, place, f"{len(cells)} cells under {len(columns)} columns")
        yield _listing(dict(zip(columns, cells, strict=True)), purchase, price_column, place)


def _listing(cells: dict[str, str], purchase: PurchaseKind, price_column: str, place: str) -> Listing:
    name = cells["gpu model"]
    said = money(cells[price_column])
    if purchase == "reserved":
        said = replace(said, is_from=True)
    is_bridged = name.lower().endswith("nvlink")
    return Listing(
        provider="hyperstack",
        product="reservation" if purchase == "reserved" else purchase,
        plan=name,
        gpu_text=name,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase=purchase,
        place=place,
        gpu_count=Decimal(1),
        gpu_memory=_gigabytes(cells.get("vram (gb)", "")),
        form_factor_text="PCIe" if is_bridged else None,
        link_text="NVLink" if is_bridged else None,
        vcpus=number(cells.get("max pcpus per gpu", "")),
        ram=_gigabytes(cells.get("max ram (gb) per gpu", "")),
        availability="listed_only" if said.amount is not None else "unknown",
        availability_text=None if said.amount is not None else cells[price_column],
    )


def _gigabytes(cell: str) -> Quantity | None:
    amount = number(cell)
    return None if amount is None else Quantity(amount, "GB")
