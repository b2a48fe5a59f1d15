"""NeevCloud: the public price page. Off: the page refuses programs (403).

The section `gpu-cloud` has a heading for each GPU ("HGX H100 Pricing") and cards below it. A card has a price in USD
per GPU and hour, also where only nodes of 8 are sold (HGX), and may show a higher one crossed out, the price without a
commitment, which is the regular price. A card of an HGX is a commitment, and must say its length.
No stock, no regions.

Class names as a collector read them on the page of 2025-09; the page itself was not seen. A survey of 2026 found that
it answers 403 to programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_price, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Money, html, text

URL = "https://www.neevcloud.com/pricing.php"

SOURCE = Source(
    id="neevcloud",
    name="NeevCloud",
    segment="neocloud",
    homepage="https://www.neevcloud.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.neevcloud.com",),
    terms="unknown",
    terms_url="https://www.neevcloud.com/",
    terms_note="terms not read; the page is reported to answer 403 to programs",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2025-09: class names as a collector read them; page not seen",
    min_listings=2,
    default_on=False,
    off_reason="the price page is reported to answer 403 to programs",
)

HEADING = "h6.pricing_table_gpu_name"
CARD = "section.pricing_choose_box"
TITLE = re.compile(r"\s*+\bPric(?:e|ing)\b\s*+", re.IGNORECASE)
TERM = re.compile(r"\b(\d{1,2})[ -]?(month|year)s?\b", re.IGNORECASE)
NODE_GPUS = Decimal(8)


def parse(payload: Payload) -> list[Listing]:
    """One listing for each card below a heading of the GPU section.

    Raises:
        PayloadShapeError: No section, a heading without cards, a price that is not in USD or that is a second one for
            the same, or no price at all.
    """
    section = html(payload).select_one("section#gpu-cloud")
    headings = section.select(HEADING) if section else []
    listings = [
        listing
        for index, heading in enumerate(headings)
        for listing in _listings(payload.part, index, heading)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(
            payload.part, f"section#gpu-cloud {HEADING}", f"no price below {len(headings)} headings"
        )
    check_one_price(payload.part, listings)
    return listings


def _listings(part: str, index: int, heading: Tag) -> Iterator[Listing]:
    name = TITLE.sub(" ", text(heading)).strip()
    place = f"{HEADING} {index}"
    row = heading.find_next_sibling("div")
    cards = row.select(CARD) if isinstance(row, Tag) else []
    if not cards or not name:
        raise PayloadShapeError(part, place, f"{len(cards)} cards below {short(name)}")
    for card_index, card in enumerate(cards):
        yield _listing(part, f"{place} card {card_index}", name, card)


def _listing(part: str, place: str, name: str, card: Tag) -> Listing:
    said = _said(part, place, card.select_one("h5.pricing_choose_box_heading"))
    crossed = card.select_one("h6.pricing_choose_box_price_cross")
    is_node = "HGX" in name
    term = TERM.search(text(card))
    months = int(term[1]) * (12 if term[2].lower() == "year" else 1) if term else None
    if is_node and said.amount is not None and months is None:
        raise PayloadShapeError(part, place, f"no length of the commitment in {short(text(card))}")
    return Listing(
        provider="neevcloud",
        product="gpu_cloud",
        plan=name,
        gpu_text=name,
        gpu_count=NODE_GPUS if is_node else Decimal(1),
        price=said.amount,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="reserved" if is_node or months else "on_demand",
        term_months=months,
        regular_price=_said(part, place, crossed).amount if crossed else None,
        availability="unknown" if said.amount is None else "listed_only",
        place=place,
    )


def _said(part: str, place: str, tag: Tag | None) -> Money:
    cell = text(tag) if tag else ""
    if not cell:
        raise PayloadShapeError(part, place, "a card without a price")
    return priced(part, place, cell)
