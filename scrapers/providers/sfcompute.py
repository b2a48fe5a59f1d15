"""SF Compute: an order book for blocks of time, of which the home page shows the average price of each day.

There is no list price. `pricesByHardwareType` has some 31 days for each kind of GPU, in USD per GPU and hour: average,
top and bottom of what was traded. A day of zeros had no trades; it is not free. The listing is the latest day, and a
lower bound, for an average is no offer. Nodes of 8 GPUs are sold. Other numbers of the page are examples of a
calculator for resale.

The series lies in the data that the page of Next.js sends along, with dates as "$D2026-09-22T23:59:59.000Z". The
address /prices showed the same page in 2026-09. Shape as collectors read it from 2026-07 to 2026-09; the page itself
was not seen.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Request, Source
from scrapers.flight import flight
from scrapers.readers import At, embedded_json

URL = "https://sfcompute.com/"

SOURCE = Source(
    id="sfcompute",
    name="San Francisco Compute",
    segment="marketplace",
    homepage=URL,
    pricing_url="https://sfcompute.com/prices",
    requests=(Request("home", URL),),
    allowed_hosts=("sfcompute.com",),
    terms="unknown",
    terms_url="https://sfcompute.com/legal",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-09: read by the code of collectors; page not seen",
    min_listings=1,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source="https://docs.sfcompute.com/docs/nodes",
)

SERIES = '"pricesByHardwareType":'
NODE_GPUS = Decimal(8)
DAY = re.compile(r"(?:\$D)?(\d{4}-\d{2}-\d{2})T.{0,40}")


def parse(payload: Payload) -> list[Listing]:
    """The average of the latest day for each kind of GPU, without a price where nothing was traded that day.

    Raises:
        PayloadShapeError: No series in the page, a field is missing or of another kind, or no day has a price.
    """
    series = At(payload.part, embedded_json(payload.part, flight(payload), SERIES), "pricesByHardwareType")
    listings = [_listing(name, days) for name, days in series.items()]
    if not any(listing.price for listing in listings):
        raise series.broken("no kind of GPU has a price on its latest day")
    return listings


def _listing(name: str, days: At) -> Listing:
    if not len(days):
        raise days.broken("no days")
    day, row = max(((_day(row["date"]), row) for row in days), key=lambda pair: pair[0])
    average = row["avg"].decimal()
    return Listing(
        provider="sfcompute",
        product="auto_reserved_nodes",
        plan=name,
        gpu_text=name,
        gpu_count=NODE_GPUS,
        price=average or None,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price",
        purchase="on_demand",
        availability="unknown",
        availability_text=None if average else "no trades that day",
        as_of=day,
        note=f"average of the day; top {row['top'].decimal():f}, bottom {row['bottom'].decimal():f}",
        place=row.place,
    )


def _day(field: At) -> date:
    found = DAY.fullmatch(field.text())
    try:
        return date.fromisoformat(found[1] if found else "")
    except ValueError:
        raise field.broken("not a date") from None
