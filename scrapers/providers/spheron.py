"""Spheron, a reseller: the lowest live offer for each GPU, on the public price page.

Prices are in USD per GPU and hour, and lower bounds: the page shows the cheapest offer of several clouds, and not of
which. A row has the price on demand, and where there is spot a badge whose title says it ("Spot: $3.10/hr, 47% below");
some rows have a spot price alone, which a title marks ("Spot price ..."), and rows of GPUs to come have no price
("Reserve", "Ships H2 2026"). RAM, vCPUs and disk are those of the machine of that offer, whose number of GPUs is not
said, and are not read. Many pages of the blog repeat old prices. Billed by the second, at least 20 minutes.

Each row is a `button.gpu-price-row`. Shape as a collector read it in 2026; the page itself was not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload, PurchaseKind, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, quantity, text

URL = "https://www.spheron.network/pricing/"

SOURCE = Source(
    id="spheron",
    name="Spheron",
    segment="reseller",
    homepage="https://www.spheron.network/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.spheron.network",),
    terms="unknown",
    terms_url="https://www.spheron.network/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026: read by the code of a collector; page not seen",
    min_listings=4,
    billing_increment_s=1,
    billing_minimum_s=1200,
    billing_source="https://docs.spheron.ai/billing",
)

ROW = "button.gpu-price-row"
OTHER_TIME = re.compile(r"/ ?(?:mo|month|min|minute|day|year)\b", re.IGNORECASE)
SPOT_BADGE = re.compile(r"Spot:\s*+(\$[\d.,]++)")


def parse(payload: Payload) -> list[Listing]:
    """The price on demand and the spot price of each row, or a listing without a price.

    Raises:
        PayloadShapeError: No rows, a row without a name, two prices in one, or no price at all.
    """
    rows = html(payload).select(ROW)
    listings = [
        listing
        for index, row in enumerate(rows)
        for listing in _listings(payload.part, f"{ROW} {index}", row)
    ]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, ROW, f"no price in {len(rows)} rows")
    return listings


def _listings(part: str, place: str, row: Tag) -> Iterator[Listing]:
    name = row.find("h3")
    if not isinstance(name, Tag) or not text(name):
        raise PayloadShapeError(part, place, "no name in an h3")
    check_one_gpu(part, place, text(name))
    if found := OTHER_TIME.search(text(row)):
        raise PayloadShapeError(part, place, f"a price {short(found[0])}, not per hour")
    shown = {cell for span in row.select("span.font-ocr") if "$" in (cell := text(span))}
    if len(shown) > 1:
        raise PayloadShapeError(part, place, f"two prices: {short(' and '.join(sorted(shown)))}")
    titles = [str(span["title"]) for span in row.select("span[title]")]
    is_spot = any(title.startswith("Spot price") for title in titles)
    prices: list[tuple[PurchaseKind, str]] = [("spot" if is_spot else "on_demand", cell) for cell in shown]
    prices += [("spot", found[1]) for title in titles if (found := SPOT_BADGE.match(title))]
    if not prices:
        yield _listing(row, text(name), "on_demand", None, place)
    for purchase, cell in prices:
        yield _listing(row, text(name), purchase, priced(part, place, cell).amount, place)


def _listing(row: Tag, name: str, purchase: PurchaseKind, price: Decimal | None, place: str) -> Listing:
    vram = row.select_one(".gpu-price-vram")
    return Listing(
        provider="spheron",
        product="spot" if purchase == "spot" else "dedicated",
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(1),
        gpu_memory=quantity(text(vram)) if vram else None,
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="contact_sales" if price is None else "from_price",
        purchase=purchase,
        availability="unknown" if price is None else "in_stock",
        availability_text=text(row)[:200] if price is None else "cheapest live offer",
        place=f"{place} {purchase}",
    )
