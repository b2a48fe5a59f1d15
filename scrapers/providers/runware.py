"""Runware: serverless GPUs and reserved ones, on the public price page, which lists prices of models above all.

For each GPU the page has the price per second and per hour in USD of one GPU ("L40s 48 GB GDDR6 $0.000444 $1.60"), and
for some a lower bound with a reservation ("as low as $2.45 / GPU-hour"). The markup is not known, so the text is read:
a name, its memory, and then two amounts of which one is 3600 times the other, within one percent for rounding.
Anything else is an error, and so is a memory without a name that is understood. Digits may stand apart ("$1 . 50").
GB300 NVL72 has no price ("Contact"). CPU cores and prices of models are left out. Milliseconds are billed.

Text by a transcription of 2026-10-07; the page itself was not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, PriceState, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Money, html, money, quantity, text

URL = "https://runware.ai/pricing"

SOURCE = Source(
    id="runware",
    name="Runware",
    segment="serverless",
    homepage="https://runware.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("runware.ai",),
    terms="unknown",
    terms_url="https://runware.ai/terms",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 10, 7),
    last_proof="2026-10-07: text of the page transcribed; page not seen",
    min_listings=2,
)

APART = re.compile(r"\$ ?(\d{1,4}) ?\. ?(\d{1,8})")
GPU = re.compile(
    r"\b((?:RTX (?:PRO |A)?\d{4}(?: Ada)?|[ABHL]\d{1,3}[sS]?|T4|MI\d{3}X)(?: SXM\d?| PCIe| NVL)?) (\d{2,3} ?GB) "
    r"(?:GDDR|HBM)\d\w?\b"
)
RACK = re.compile(r"\b(GB\d00 NVL\d{2})\b.{0,120}?\bContact\b")
AMOUNT = re.compile(
    r"(?:(?:from|starting at|as low as) )?(?:[A-Z]{1,3})?\$\d{1,4}(?:\.\d{1,8})?", re.IGNORECASE
)
RESERVED = re.compile(r"as low as (\$\d{1,4}(?:\.\d{1,8})?) ?/ ?GPU ?-? ?hour")
MEMORY = re.compile(r"\b\d{2,3} ?GB (?:GDDR|HBM)\d")
CARD_LENGTH = 400
SECONDS_PER_HOUR = 3600
AGREEMENT = Decimal("0.01")


def parse(payload: Payload) -> list[Listing]:
    """Each GPU serverless, and reserved where the page has a price for that; racks without a price.

    Raises:
        PayloadShapeError: No GPU with a price per second and per hour, two that differ, or an unknown name.
    """
    shown = APART.sub(r"$\1.\2", text(html(payload)))
    cards = list(GPU.finditer(shown))
    listings = [
        listing
        for index, card in enumerate(cards)
        for listing in _card(payload.part, shown, cards, index, card)
    ]
    memories = len(MEMORY.findall(shown))
    if not listings or len(cards) != memories:
        problem = f"{len(cards)} names such as 'H100 80 GB HBM3' for {memories} memories"
        raise PayloadShapeError(payload.part, "text", problem)
    prices: dict[tuple[str, str], Decimal | None] = {}
    for listing in listings:
        if prices.setdefault((listing.plan, listing.purchase), listing.price) != listing.price:
            raise PayloadShapeError(payload.part, listing.place, f"two prices for {short(listing.plan)}")
    racks = {found[1] for found in RACK.finditer(shown)}
    return listings + [
        _listing(rack, None, None, "contact_sales", "on_demand", rack) for rack in sorted(racks)
    ]


def _card(
    part: str, shown: str, cards: list[re.Match[str]], index: int, card: re.Match[str]
) -> Iterator[Listing]:
    end = cards[index + 1].start() if index + 1 < len(cards) else len(shown)
    rest = shown[card.end() : min(end, card.end() + CARD_LENGTH)]
    place = f"'{card[0]}'"
    hour = _hourly(part, place, rest)
    yield _listing(card[1], quantity(card[2]), hour.amount, hour.state, "on_demand", place)
    if reserved := RESERVED.search(rest):
        price = money(reserved[1]).amount
        yield _listing(card[1], quantity(card[2]), price, "from_price", "reserved", f"{place} reserved")


def _hourly(part: str, place: str, rest: str) -> Money:
    """The price per hour: the larger of the first two amounts, if it is the smaller one for 3600 seconds."""
    prices = {said.amount: said for said in map(money, AMOUNT.findall(rest)[:2]) if said.currency == "USD"}
    amounts = sorted(amount for amount in prices if amount is not None)
    if len(amounts) == 2:
        second, hour = amounts
        if abs(hour - second * SECONDS_PER_HOUR) <= hour * AGREEMENT:
            return prices[hour]
    raise PayloadShapeError(part, place, f"no price per second and per hour that agree in {short(rest)}")


def _listing(
    name: str,
    memory: Quantity | None,
    price: Decimal | None,
    state: PriceState,
    purchase: PurchaseKind,
    place: str,
) -> Listing:
    return Listing(
        provider="runware",
        product="reserved" if purchase == "reserved" else "serverless_gpu",
        plan=name,
        gpu_text=name,
        gpu_count=None if price is None else Decimal(1),
        gpu_memory=memory,
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state=state,
        purchase=purchase,
        availability="unknown" if price is None else "listed_only",
        availability_text="Contact" if price is None else None,
        place=place,
    )
