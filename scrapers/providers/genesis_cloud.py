"""Genesis Cloud: the public price page. Prices are per GPU and hour, in USD or EUR as the sign of the cell says.

An offer is a `div.pricing-two-price-item`: its title is the GPU, its text the price, and its description says how many
GPUs a machine has ("8x NVIDIA ...") and where the data centre is. An HGX machine is sold whole though its price is per
GPU. "RFQ" stands where there is no public price. An offer whose description does not count its GPUs has no count.

Shape: as readers of 2025-09 took it, no answer of it was recorded.
"""

from __future__ import annotations

import re
from datetime import date

from bs4 import Tag

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import html, number, text

URL = "https://www.genesiscloud.com/pricing"

SOURCE = Source(
    id="genesis_cloud",
    name="Genesis Cloud",
    segment="neocloud",
    homepage="https://www.genesiscloud.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.genesiscloud.com",),
    terms="unknown",
    terms_url="https://www.genesiscloud.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 5, 24),
    last_proof="2025-09: page described by its readers; no answer recorded",
    min_listings=2,
)

ITEM = "div.pricing-two-price-item"
COUNT = re.compile(r"\b(\d{1,2})x NVIDIA", re.IGNORECASE)
PLACE = re.compile(r"Data center locations?: *([^\n]{1,100})", re.IGNORECASE)


def parse(payload: Payload) -> list[Listing]:
    """The offers of the page.

    Raises:
        PayloadShapeError: An offer without its parts, a price that is not per GPU and hour, or no offer with one.
    """
    items = html(payload).select(ITEM)
    listings = [_listing(payload.part, f"{ITEM}[{index}]", item) for index, item in enumerate(items)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, ITEM, "no offer with a price")
    return listings


def _listing(part: str, place: str, item: Tag) -> Listing:
    title = item.select_one(".pricing-two-price-title")
    cell = item.select_one(".pricing-two-price-text")
    if title is None or cell is None or not text(title):
        raise PayloadShapeError(part, place, "no .pricing-two-price-title, or no .pricing-two-price-text")
    about = item.select_one("p.pricing-two-price-content")
    words = about.get_text("\n", strip=True) if about else ""
    counted, located = COUNT.search(words), PLACE.search(words)
    said = priced(part, place, text(cell), currencies=("USD", "EUR"))
    return Listing(
        provider="genesis_cloud",
        plan=text(title),
        gpu_text=text(title),
        gpu_count=number(counted[1]) if counted else None,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        region_text=located[1].strip() if located else None,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=text(cell) or None if said.amount is None else None,
        note=" ".join(words.split())[:200] or None,
        place=place,
    )
