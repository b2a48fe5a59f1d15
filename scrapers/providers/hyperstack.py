"""Hyperstack (NexGen Cloud): the public page of GPU prices, or with a key the price book and the stock of the API.

Prices are in USD per GPU and hour, billed by the minute. The page has cards with the same markup, and only the
heading of a card says what is sold: "On-Demand GPU", "Reservation" (a lower bound, without a term), "Spot VM".
The CPU card and the prices of models further down are not read.

CPUs and RAM are the most that one GPU comes with, so a listing is one GPU. Only the on-demand card prints the VRAM;
rows of the same name in the other cards get it from there. "NVLink" after a name that is not SXM means PCIe cards
with bridges. The page shows no stock and no regions.

The price book names resources: GPUs, for spot with the ending "-spot", and others (CPUs, disks, addresses), which are
not read. `value` is what the account of the key pays per hour, with its own discounts; the price for everybody is
`original_value`, and it is the listing. The stock is by region and uses the same names; "10+" is 10 or more, and a
region that does not name a GPU says nothing of it. The API has no reservations: with a key their lower bounds are
missing. The flavours have no prices and are not asked for.

Shape of the API: by the keys that readers of 2026-08-24 took, no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import priced
from scrapers.contract import Auth, Listing, Payload, PurchaseKind, Quantity, Request, Source, Stock
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, Money, holds_json, html, number, read_json, text

URL = "https://www.hyperstack.cloud/gpu-pricing"
API = "https://infrahub-api.nexgencloud.com/v1"

SOURCE = Source(
    id="hyperstack",
    name="Hyperstack",
    segment="neocloud",
    homepage="https://www.hyperstack.cloud/",
    pricing_url=URL,
    requests=(Request("gpu_pricing", URL),),
    keyed_requests=(Request("pricebook", f"{API}/pricebook"), Request("stocks", f"{API}/core/stocks")),
    auth=Auth("HYPERSTACK_API_KEY", header="api_key", template="{key}"),
    allowed_hosts=("www.hyperstack.cloud", "infrahub-api.nexgencloud.com"),
    terms="unknown",
    terms_url="https://www.hyperstack.cloud/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 10, 10),
    last_proof="2025-07-24: page recorded and parsed; API as readers of 2026-08-24 took it",
    min_listings=5,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source="https://infrahub-doc.nexgencloud.com/docs/billing/states-and-billing",
)

ON_DEMAND_CARD = "on-demand gpu"
# Heading of a card: what it sells, and the column with the price.
CARDS: dict[str, tuple[PurchaseKind, str]] = {
    ON_DEMAND_CARD: ("on_demand", "pricing per hour"),
    "reservation": ("reserved", "starting from"),
    "spot vm": ("spot", "spot vm"),
}


GPU_RESOURCE = re.compile(r"(?:RTX-)?(?:PRO)?(?:GB|MI|[ABHLV])?\d{2,4}[A-Z]{0,2}(?:-[\w-]*)?")
SPOT_ENDING = "-spot"


def parse(payload: Payload) -> list[Listing] | list[Stock]:
    """The rows of the three GPU cards of the page, the GPUs of the price book, or their stock.

    Raises:
        PayloadShapeError: A card, a column or a field is missing, or no row has a price.
    """
    if holds_json(payload):
        answer = At(payload.part, read_json(payload))
        return _price_book(answer) if isinstance(answer.value, list) else _stock(answer)
    return _page(payload)


def _price_book(answer: At) -> list[Listing]:
    listings = [
        _resource(entry, name) for entry in answer if GPU_RESOURCE.fullmatch(name := entry["name"].text())
    ]
    if not any(listing.price for listing in listings):
        raise answer.broken("no GPU with a price")
    return listings


def _resource(entry: At, name: str) -> Listing:
    paid = entry["value"].decimal()
    public = entry.get("original_value").decimal_or_none()
    is_spot = name.endswith(SPOT_ENDING)
    return Listing(
        provider="hyperstack",
        product="spot" if is_spot else "on_demand",
        plan=name,
        gpu_text=name.removesuffix(SPOT_ENDING),
        price=paid if public is None else public,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="spot" if is_spot else "on_demand",
        place=entry.place,
        gpu_count=Decimal(1),
        link_text="NVLink" if "NVLink" in name else None,
    )


def _stock(answer: At) -> list[Stock]:
    rows = [
        Stock(
            provider="hyperstack",
            plan=model["model"].text(),
            region_text=stock["region"].text(),
            availability="out_of_stock" if re.fullmatch("0*", model["available"].text()) else "in_stock",
            availability_text=f"available: {model['available'].text()}",
            place=model.place,
        )
        for stock in answer["stocks"]
        for model in stock["models"]
    ]
    if not rows:
        raise answer["stocks"].broken("no model in any region")
    return rows


def _page(payload: Payload) -> list[Listing]:
    page = html(payload)
    cards = _cards(payload.part, page)
    titles = [text(heading).lower() for heading in page.select("h2, h3, h4")]
    listings = []
    for title in CARDS:
        if title not in cards and (
            title == ON_DEMAND_CARD or any(title.split()[0] in each for each in titles)
        ):
            raise PayloadShapeError(
                payload.part, f"card '{title}'", f"missing; found {short(', '.join(sorted(cards)))}"
            )
        if title not in cards:
            continue
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
        said = priced(part, place, cells[columns.index(price_column)])
        yield _listing(dict(zip(columns, cells, strict=True)), said, purchase, price_column, place)


def _listing(
    cells: dict[str, str], said: Money, purchase: PurchaseKind, price_column: str, place: str
) -> Listing:
    name = cells["gpu model"]
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
