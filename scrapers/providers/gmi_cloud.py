"""GMI Cloud: the public price page, one card per GPU.

A card has a heading h3 ("NVIDIA H100 GPU") and two spans side by side: "from $2.00" and "/GPU-hour". It is a lower
bound in USD per GPU and hour; the page says that prices on demand and with a commitment differ, and reservations are
made by sales. A card can have words in the place of the price ("Pre order") and the unit all the same. Before the
heading stands a label such as "AVAILABLE NOW". The same sums stand many times in the head and in the scripts of the
page, and are not read there. The address without "/en" redirects by language.

Shape as two readers of the page describe it, of 2026-08-22 and 2026-06; no answer of it was at hand.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Availability, Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import html, text

URL = "https://www.gmicloud.ai/en/pricing"

SOURCE = Source(
    id="gmi_cloud",
    name="GMI Cloud",
    segment="neocloud",
    homepage="https://www.gmicloud.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.gmicloud.ai",),
    terms="unknown",
    terms_url="https://www.gmicloud.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-22: page described by its readers; no answer recorded",
    min_listings=2,
)

UNIT = "/gpu-hour"
LABELS: dict[str, Availability] = {"available now": "in_stock", "limited availability": "low"}


def parse(payload: Payload) -> list[Listing]:
    """One listing for each card.

    Raises:
        PayloadShapeError: A price without a heading of its own, or no card with a price.
    """
    cards: dict[str, Listing] = {}
    heading: Tag | None = None
    for tag in html(payload).select("h3, span"):
        if tag.name == "h3":
            heading = tag
        elif text(tag).lower() == UNIT:
            listing = _listing(payload.part, len(cards), heading, tag)
            if listing.plan in cards:
                raise PayloadShapeError(payload.part, listing.place, "two prices under one heading")
            cards[listing.plan] = listing
    if not any(listing.price for listing in cards.values()):
        raise PayloadShapeError(payload.part, "cards", f"none of {len(cards)} cards with {UNIT} has a price")
    return list(cards.values())


def _listing(part: str, index: int, heading: Tag | None, unit: Tag) -> Listing:
    slot = unit.find_previous_sibling()
    if heading is None or not isinstance(slot, Tag) or not text(heading):
        raise PayloadShapeError(part, f"card {index}", "no heading h3, or nothing before the unit")
    name, price = text(heading), text(slot)
    said = priced(part, f"card '{name}'", price)
    check_one_gpu(part, f"card '{name}'", name)
    label = heading.find_previous_sibling()
    label_text = text(label) if isinstance(label, Tag) else ""
    availability = LABELS.get(label_text.lower(), "unknown" if said.amount is None else "listed_only")
    return Listing(
        provider="gmi_cloud",
        product="gpu",
        plan=name,
        gpu_text=name,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        place=f"card '{name}'",
        gpu_count=Decimal(1),
        availability=availability if said.amount is not None else "unknown",
        availability_text=(label_text or None) if said.amount is not None else price or None,
    )
