"""Gcore: the cards of the public GPU page. Prices are in EUR per GPU and hour, without tax, and all are lower bounds.

Under the heading "GPUs for every AI workload" each card names a GPU and says "From €1.08 /hour": the least that a GPU
costs in any size and place, with any term. So a card is a lower bound for one GPU and never ranks as a price. The
classes of the cards are not known; a card begins with a text that is nothing but the name of a GPU, and ends at the
next one, or where "Why choose" begins. The flavours of the page of all cloud prices are not read: their shape is not
known.

Shape: as a reader of 2026-06 took it, by its texts; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.money import Money
from scrapers.readers import html, money, text

URL = "https://gcore.com/cloud/ai-gpu"

SOURCE = Source(
    id="gcore",
    name="Gcore",
    segment="neocloud",
    homepage="https://gcore.com/",
    pricing_url=URL,
    requests=(Request("ai_gpu", URL),),
    allowed_hosts=("gcore.com",),
    terms="unknown",
    terms_url="https://gcore.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 5, 20),
    last_proof="2026-06: texts of the page as a reader took them; no answer recorded",
    min_listings=1,
)

SECTION = re.compile(r"GPUs for .{0,20}AI workload", re.IGNORECASE)
END = "why choose"
NAME = re.compile(
    r"(?:NVIDIA |AMD )?(?:HGX )?(?:GB|RTX |MI|[ABHLV])\d{1,4}[A-Z]{0,2}(?: (?:SXM\d?|PCIe|NVL\d*|\d+ ?GB))*"
)
PRICE = re.compile(r"(?:From )?[€$£] ?\d[\d.,]{0,12}(?: ?/ ?(?:hour|hr|h|month))?", re.IGNORECASE)


def parse(payload: Payload) -> list[Listing]:
    """The cards of the section of GPUs.

    Raises:
        PayloadShapeError: No such section, a card with several prices, or no card with a price.
    """
    cards = list(_cards(html(payload)))
    listings = [_listing(payload.part, name, words) for name, words in cards]
    if not any(listing.price for listing in listings):
        problem = f"no GPU with a price; found {short(', '.join(name for name, _ in cards))}"
        raise PayloadShapeError(payload.part, "'GPUs for every AI workload'", problem)
    return listings


def _cards(page: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """The name of each card of the section, and the words after it."""
    for hidden in page.select("script, style, template, noscript, svg"):
        hidden.extract()
    heading = next((tag for tag in page.select("h1, h2, h3, h4") if SECTION.search(text(tag))), None)
    if heading is None:
        return
    name: str | None = None
    words: list[str] = []
    for piece in _texts_after(heading):
        if piece.lower().startswith(END):
            break
        if NAME.fullmatch(piece):
            if name:
                yield name, " ".join(words)
            name, words = piece, []
        else:
            words.append(piece)
    if name:
        yield name, " ".join(words)


def _texts_after(heading: Tag) -> Iterator[str]:
    for item in heading.next_elements:
        if type(item) is NavigableString and (piece := " ".join(item.split())):
            yield piece


def _listing(part: str, name: str, words: str) -> Listing:
    prices = PRICE.findall(words[:2000])
    if len(prices) > 1:
        raise PayloadShapeError(part, f"card '{name}'", f"{len(prices)} prices in {short(words)}")
    said = replace(money(prices[0]), is_from=True) if prices else money(words) if words else Money()
    is_hourly = said.amount is not None and said.unit in (None, "hour")
    if said.amount is not None and not is_hourly:
        raise PayloadShapeError(part, f"card '{name}'", f"{short(prices[0])} is no price per hour")
    return Listing(
        provider="gcore",
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(1),
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=words[:80] or None if said.amount is None else None,
        place=f"card '{name}'",
    )
