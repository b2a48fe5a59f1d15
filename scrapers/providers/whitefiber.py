"""WhiteFiber: contract prices, cards on the public price page.

Prices are in USD per GPU and hour for machines by contract; the length of the contract is not on the card, so it is
None. A card without a number ("Contact us") has no price. No stock, no regions.

Class names as a collector read them on the page of 2026-01; the page itself was not seen.
"""

from __future__ import annotations

from datetime import date

from bs4 import Tag

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import html, text

URL = "https://www.whitefiber.com/gpu-pricing"

SOURCE = Source(
    id="whitefiber",
    name="WhiteFiber",
    segment="neocloud",
    homepage="https://www.whitefiber.com/",
    pricing_url=URL,
    requests=(Request("gpu_pricing", URL),),
    allowed_hosts=("www.whitefiber.com",),
    terms="unknown",
    terms_url="https://www.whitefiber.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-01: class names as a collector read them; page not seen",
    min_listings=1,
)

CARD = ".pricing-item-copy"


def parse(payload: Payload) -> list[Listing]:
    """One listing for each card.

    Raises:
        PayloadShapeError: No cards, a card without a name, a price that is not per hour in USD, or no price at all.
    """
    cards = html(payload).select(CARD)
    listings = [_listing(payload.part, f"{CARD} {index}", card) for index, card in enumerate(cards)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, CARD, f"no price in {len(cards)} cards")
    return listings


def _listing(part: str, place: str, card: Tag) -> Listing:
    name, price = card.select_one(".pricing-tag h3"), card.select_one(".heading-h1")
    if name is None or price is None or not text(name):
        missing = "name (.pricing-tag h3)" if name is None or not text(name) else "price (.heading-h1)"
        raise PayloadShapeError(part, place, f"no {missing}")
    cell = text(price)
    said = priced(part, place, cell, units=("hour",))
    return Listing(
        provider="whitefiber",
        product="gpu_contracts",
        plan=text(name),
        gpu_text=text(name),
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="reserved",
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=cell or None if said.amount is None else None,
        note="by contract, without its length",
        place=place,
    )
