"""Paperspace (DigitalOcean): machines, cards on the public price page. The list looks frozen.

Prices are in USD per hour of a machine with one GPU; bigger machines of the same GPU have no price of their own, and
what the card says of them stays in the note. A price with a star needs a commitment of three years. The page keeps
blocks with outdated numbers, which only the class `hide` tells from the present ones; a card whose visible price is
missing has none. CPU machines (C1 to C10) are left out. A monthly fee for the disk comes on top. No stock, no regions.

Class names as a collector read them in 2026; the page was not seen in full.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_gpu, check_one_price, priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, number, quantity, text

URL = "https://www.paperspace.com/pricing"

SOURCE = Source(
    id="paperspace",
    name="Paperspace (DigitalOcean)",
    segment="neocloud",
    homepage="https://www.paperspace.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.paperspace.com",),
    terms="unknown",
    terms_url="https://www.paperspace.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: class names as a collector read them; page not seen in full",
    min_listings=4,
)

CARD = ".instance-type-holder-flex"
CPU_MACHINE = re.compile(r"C\d{1,2}")
COMMITMENT_MONTHS = 36
OTHER_TIME = re.compile(r"(?:/|\bper) ?(?:mo|month|min|minute|sec|second|day|year)\b", re.IGNORECASE)


def parse(payload: Payload) -> list[Listing]:
    """One listing for each visible card of a GPU machine.

    Raises:
        PayloadShapeError: No cards, a card without a name or with two visible prices, a price that is not per
            hour in USD, a name that counts GPUs or has two prices, or no price at all.
    """
    cards = [card for card in html(payload).select(CARD) if not _is_hidden(card)]
    listings = [
        listing
        for index, card in enumerate(cards)
        if (listing := _listing(payload.part, f"{CARD} {index}", card)) is not None
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, CARD, f"no price in {len(cards)} cards")
    check_one_price(payload.part, listings)
    return listings


def _is_hidden(tag: Tag) -> bool:
    return any("hide" in (parent.get("class") or ()) for parent in (tag, *tag.parents))


def _listing(part: str, place: str, card: Tag) -> Listing | None:
    """The listing of a card; None for a CPU machine."""
    heading = card.select_one("h1.instance-names")
    name = text(heading) if heading else ""
    if not name:
        raise PayloadShapeError(part, place, "no name in h1.instance-names")
    if CPU_MACHINE.fullmatch(name):
        return None
    check_one_gpu(part, place, name)
    prices = [price for price in card.select("h1.instance-price-2") if not _is_hidden(price)]
    shown = {text(price) for price in prices} - {""}
    if len(shown) > 1:
        raise PayloadShapeError(part, place, f"two visible prices: {short(' and '.join(sorted(shown)))}")
    cell = next(iter(shown), "")
    said = priced(part, place, cell, currencies=(None, "USD"), pers=(None, "gpu", "instance"))
    around = " ".join(text(price.parent) for price in prices if price.parent)
    if OTHER_TIME.search(around):
        raise PayloadShapeError(part, place, f"{short(around)} is not per hour")
    is_committed = "*" in cell
    specs = [text(spec) for spec in card.select(".instance-specs-2")]
    bigger = card.select_one(".pricing-multigpu-info")
    return Listing(
        provider="paperspace",
        product="machines",
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(1),
        vcpus=next((number(spec[:-4].strip()) for spec in specs if spec.endswith("vCPU")), None),
        ram=next((quantity(spec) for spec in specs if spec.endswith("RAM")), None),
        price=said.amount,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state=said.state,
        purchase="reserved" if is_committed else "on_demand",
        term_months=COMMITMENT_MONTHS if is_committed else None,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(cell or "no visible price") if said.amount is None else None,
        note=text(bigger) or None if bigger else None,
        place=place,
    )
