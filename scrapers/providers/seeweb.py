"""Seeweb: the public page of GPU servers, or with a token the API of plans. Prices are in EUR.

The page has a card for each GPU. `p.hourly` is the price per GPU and hour, and `p.hourly_3mnths`, `_6mnths` and
`_12mnths` are the prices per hour of a commitment. A selector multiplies them by the number of GPUs: the price for
eight is eight times that for one, so a listing is one GPU, and so are its cores, RAM and disk. The name of a card does
not say the form factor. The number stands alone in its element; that it is in euros is said by the card or the page,
and a page without a euro sign raises.

The API has plans of one or more GPUs; `hourly_price` is of the whole plan, and many numbers are texts. RAM is in MB.
Plans with gpu "0" are CPU machines and are not read. Its answer names no currency; the page does.

Shape: the API as recorded on 2026-08-19; the page as readers of 2025-09 and 2026-09-15 took it, no answer of it was
recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_gpu, check_one_price
from scrapers.contract import Auth, Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, holds_json, html, money, number, read_json, text

URL = "https://www.seeweb.it/en/products/cloud-server-gpu"

SOURCE = Source(
    id="seeweb",
    name="Seeweb",
    segment="neocloud",
    homepage="https://www.seeweb.it/",
    pricing_url=URL,
    requests=(Request("cloud_server_gpu", URL),),
    keyed_requests=(Request("plans", "https://api.seeweb.it/ecs/v2/plans"),),
    auth=Auth("SEEWEB_API_TOKEN", header="X-APITOKEN", template="{key}"),
    allowed_hosts=("www.seeweb.it", "api.seeweb.it"),
    terms="unknown",
    terms_url="https://www.seeweb.it/",
    terms_note="terms not read; one page or one API request a night",
    terms_reviewed_on=date(2026, 8, 19),
    last_proof="2026-08-19: answer of the API recorded and parsed; page as a reader of 2026-09-15 took it",
    min_listings=4,
)

# Class of a price on a card: the months of its commitment.
PRICES = {"hourly": None, "hourly_3mnths": 3, "hourly_6mnths": 6, "hourly_12mnths": 12}


def parse(payload: Payload) -> list[Listing]:
    """The cards of the page, or the plans of the API.

    Raises:
        PayloadShapeError: A field is missing, a name counts GPUs or has two prices, there is no card with a
            price, or the page is not in euros.
    """
    if holds_json(payload):
        plans = At(payload.part, read_json(payload))["plans"]
        listings = [listing for plan in plans for listing in _plan_listings(plan)]
    else:
        page = html(payload)
        cards = page.select("div.cardType")
        if cards and "€" not in (words := text(page)) and "EUR" not in words:
            raise PayloadShapeError(payload.part, "page", "no euro sign, so its currency is not known")
        listings = [listing for card in cards for listing in _card_listings(payload.part, card)]
        check_one_price(payload.part, listings)
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "cards div.cardType or plans", "none with a price")
    return listings


def _plan_listings(plan: At) -> Iterator[Listing]:
    if plan["gpu"].decimal() == 0:
        return
    regions = list(plan["available_regions"])
    for region in regions:
        yield _plan_listing(plan, region)
    if not regions:
        yield _plan_listing(plan, None)


def _plan_listing(plan: At, region: At | None) -> Listing:
    is_available = plan["available"].flag()
    return Listing(
        provider="seeweb",
        plan=plan["name"].text(),
        gpu_text=plan["gpu_label"].text(),
        gpu_count=plan["gpu"].decimal(),
        vcpus=plan["cpu"].decimal(),
        ram=Quantity(plan["ram"].decimal(), "MB"),
        disk=Quantity(plan["disk"].decimal(), "GB"),
        price=plan["hourly_price"].decimal(),
        currency="EUR",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=region["location"].text() if region else None,
        availability="out_of_stock" if not is_available else "in_stock" if region else "unknown",
        availability_text=f"available: {str(is_available).lower()}",
        place=region.place if region else plan.place,
    )


def _card_listings(part: str, card: Tag) -> Iterator[Listing]:
    name = _words(card, ".cardname")
    if not name:
        raise PayloadShapeError(part, "div.cardType", "a card without .cardname")
    check_one_gpu(part, f"card '{name}'", name)
    for class_name, months in PRICES.items():
        cell = card.select_one(f"p.{class_name}")
        if cell is None:
            continue
        shown, place = _words(cell, "span"), f"card '{name}' p.{class_name}"
        amount = number(shown)
        is_contact = amount is None and money(text(cell)).is_contact
        if "$" in text(cell) or (amount is None and not is_contact and re.search(r"\d", shown)):
            raise PayloadShapeError(part, place, f"{short(text(cell))} is not a price in EUR")
        yield Listing(
            provider="seeweb",
            plan=name,
            gpu_text=name,
            gpu_count=Decimal(1),
            vcpus=number(_words(card, ".cpuCore")),
            ram=_gigabytes(card, ".ram"),
            disk=_gigabytes(card, ".disk"),
            price=amount,
            currency="EUR",
            price_per="gpu",
            price_unit="hour",
            price_state="contact_sales" if is_contact else "priced",
            purchase="on_demand" if months is None else "reserved",
            term_months=months,
            availability="unknown" if amount is None else "listed_only",
            availability_text=text(cell) or None if amount is None else None,
            place=place,
        )


def _words(tag: Tag, selector: str) -> str:
    found = tag.select_one(selector)
    return text(found) if found else ""


def _gigabytes(card: Tag, selector: str) -> Quantity | None:
    amount = number(_words(card, selector))
    return None if amount is None else Quantity(amount, "GB")
