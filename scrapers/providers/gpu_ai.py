"""GPU.ai: configurations of several suppliers, through the open price list of its API.

A row is one configuration: so many cards of one type in one region, in a secure data centre or of the community,
on demand or spot. `price_per_hour` is in USD for the whole configuration, all its cards together; the currency is
not in the answer, and is that of the site. `available` counts such configurations and is 0 for what is sold out;
the list is asked with `include_unavailable`, for it leaves those rows out otherwise. Configurations overlap, so
their counts do not add up.

Rows that differ in their disk alone are one group, and its cheapest row that can be had stands for it. Hosts of the
community set prices that nobody pays (154.67 for four RTX 5090): a price far from the median of its type is passed
on as a lower bound, with the reason, in a group of its own. Where the class of a row is blank, the flag `community`
says it. The numbers of offers are not kept.

`disk_price_per_gb_hour` is per GB and hour and becomes the price of storage where all rows of a page agree. The
list comes in pages, each with the cursor of the next. Shape as read by a price index on 2026-08-25; no answer of
it was recorded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from scrapers.contract import Extra, Listing, Payload, PurchaseKind, Record, Request, Segment, Source
from scrapers.outliers import far_from_median
from scrapers.readers import At, read_json

URL = "https://api.gpu.ai/v1/pricing"
QUERY = {"limit": "200", "include_unavailable": "true"}

SOURCE = Source(
    id="gpu_ai",
    name="GPU.ai",
    segment="marketplace",
    homepage="https://gpu.ai/",
    pricing_url="https://gpu.ai/gpus",
    requests=(Request("pricing-1", f"{URL}?{urlencode(QUERY)}"),),
    allowed_hosts=("api.gpu.ai",),
    terms="unknown",
    terms_url="https://gpu.ai/",
    terms_note="terms not read; the description of the API marks the price list as open",
    terms_reviewed_on=date(2026, 8, 29),
    last_proof="2026-08-25: read by a price index; no answer recorded",
    min_listings=20,
)

TIERS: dict[str, PurchaseKind] = {"on_demand": "on_demand", "spot": "spot"}
CLASSES: dict[str, Segment] = {"secure": "marketplace", "community": "peer_host"}
LARGEST_PAGES = 50
PAGE = re.compile(r"(.+)-([1-9]\d{0,2})")


class Offer(NamedTuple):
    """A row, with the class of its host, and whether its price is far from what others ask."""

    row: At
    host: str
    is_far: bool


def parse(payload: Payload) -> Iterator[Record]:
    """A listing per type, number of cards, region, class and way to buy; and the price of a disk.

    Raises:
        PayloadShapeError: No rows, or a field is missing or of another kind.
    """
    data = At(payload.part, read_json(payload))["data"]
    if not len(data):
        raise data.broken("an empty list, which can be anybody's answer")
    groups: dict[tuple[object, ...], list[Offer]] = defaultdict(list)
    for offer in _judged(list(data)):
        row = offer.row
        count, region, tier = row["gpu_count"].integer(), row["region"].text(), row["tier"].text()
        groups[row["gpu_type"].text(), count, region, tier, offer.host, offer.is_far].append(offer)
    for offers in groups.values():
        yield _listing(offers)
    yield from _disk(list(data))


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, by the cursor that the answer gives; none after page 50."""
    cursor = At(payload.part, read_json(payload))["next_cursor"].text_or_none()
    page = PAGE.fullmatch(payload.part)
    number = int(page[2]) if page else 1
    asked = parse_qs(urlsplit(payload.url).query).get("cursor", [None])[0]
    if cursor and cursor != asked and number < LARGEST_PAGES:
        yield Request(f"pricing-{number + 1}", f"{URL}?{urlencode(QUERY | {'cursor': cursor})}")


def _judged(rows: list[At]) -> Iterator[Offer]:
    types: dict[str, list[At]] = defaultdict(list)
    for row in rows:
        types[row["gpu_type"].text()].append(row)
    for alike in types.values():
        per_gpu = [row["price_per_hour"].decimal() / max(row["gpu_count"].integer(), 1) for row in alike]
        for row, is_far in zip(alike, far_from_median(per_gpu), strict=True):
            yield Offer(row, _host(row), is_far)


def _host(row: At) -> str:
    """Who runs the machine: secure or community."""
    stated = row.get("capacity_class").text_or_none()
    if stated is not None and stated not in CLASSES:
        raise row["capacity_class"].broken(f"{stated[:40]!r} is none of {', '.join(CLASSES)}")
    flagged = "community" if row["community"].flag() else "secure"
    if stated not in (None, flagged):
        raise row["capacity_class"].broken(f"{stated!r} contradicts the flag community")
    return flagged


def _listing(offers: list[Offer]) -> Listing:
    row, host, is_far = min(
        offers,
        key=lambda offer: (not offer.row["available"].integer(), offer.row["price_per_hour"].decimal()),
    )
    tier, free = row["tier"].text(), row["available"].integer()
    if tier not in TIERS:
        raise row["tier"].broken(f"{tier[:40]!r} is none of {', '.join(TIERS)}")
    if row.get("currency").text_or_none() not in (None, "USD"):
        raise row["currency"].broken("not USD, which is all that the site prints")
    notes = [
        f"cheapest of {len(offers)} configurations" if len(offers) > 1 else None,
        "price far from the median of this type, no price to rank" if is_far else None,
    ]
    return Listing(
        provider="gpu_ai",
        product=host,
        segment=CLASSES[host],
        plan=f"{row['gpu_count'].integer()}x {row['gpu_type'].text()}",
        gpu_text=row["gpu_type"].text(),
        gpu_count=row["gpu_count"].decimal(),
        price=row["price_per_hour"].decimal(),
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state="from_price" if is_far else "priced",
        purchase=TIERS[tier],
        region_text=row["region"].text(),
        availability="in_stock" if free > 0 else "out_of_stock",
        availability_text=f"{free} available",
        available_count=free,
        note="; ".join(note for note in notes if note) or None,
        place=row.place,
    )


def _disk(rows: list[At]) -> Iterator[Extra]:
    stated = [row.get("disk_price_per_gb_hour") for row in rows]
    prices = {price for at in stated if (price := at.decimal_or_none())}
    if len(prices) == 1:
        yield Extra(
            provider="gpu_ai",
            kind="storage",
            name="disk",
            price=prices.pop(),
            currency="USD",
            per="gb_hour",
            region_text=None,
            place="data[].disk_price_per_gb_hour",
        )
