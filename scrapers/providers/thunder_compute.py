"""Thunder Compute: virtual machines in two modes, through the open price list of its API.

The list maps names to USD per hour. `<gpu>_x<count>_<mode>` is a machine with so many cards, all together; since
July 2026 lists without the mode (`a6000_x1`) were seen, and names without a count are old twins that are left out.
In production a card is whole; in prototyping it is shared with others over the network, and no match for a card of
one's own: it is a product by itself.

The price is of the cards with four vCPUs, and most machines can only be had with more, each at
`additional_vcpus` per hour: what the smallest machine costs stands in another answer. So every price is a lower
bound, and the note says what a vCPU costs. `disk_gb` is the price of one GB of disk per hour; 100 GB are included.
Snapshots are not read. Cards are named by codes (`a100xl` is the A100 of 80 GB), and nothing is said of stock.

Shape as clients read it between June and September 2026; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Extra, Listing, Payload, Record, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="thunder_compute",
    name="Thunder Compute",
    segment="neocloud",
    homepage="https://www.thundercompute.com/",
    pricing_url="https://www.thundercompute.com/pricing",
    requests=(Request("pricing", "https://api.thundercompute.com:8443/v1/pricing"),),
    allowed_hosts=("api.thundercompute.com",),
    terms="unknown",
    terms_url="https://www.thundercompute.com/",
    terms_note="terms not read; the description of the API asks for a key everywhere, the price list answers without",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-09: read by the code of its clients; no answer recorded",
    min_listings=3,
    billing_increment_s=60,
    billing_source="https://www.thundercompute.com/docs/billing",
)

MACHINE = re.compile(r"([a-z0-9_]+?)_x(\d{1,3})(?:_(production|prototyping))?")


def parse(payload: Payload) -> Iterator[Record]:
    """A listing per machine, and the price of disk.

    Raises:
        PayloadShapeError: No price list, no machine in it, or a price that is no number.
    """
    prices = At(payload.part, read_json(payload))["pricing"]
    machines = [(found, price) for name, price in prices.items() if (found := MACHINE.fullmatch(name))]
    if not machines:
        raise prices.broken("no name such as h100_x1_production")
    vcpu = prices.get("additional_vcpus").decimal_or_none()
    for found, price in machines:
        yield _listing(found, price, vcpu)
    if disk := prices.get("disk_gb").decimal_or_none():
        yield Extra(
            provider="thunder_compute",
            kind="storage",
            name="disk_gb",
            price=disk,
            currency="USD",
            per="gb_hour",
            region_text=None,
            place="pricing.disk_gb",
        )


def _listing(found: re.Match[str], price: At, vcpu: Decimal | None) -> Listing:
    code, count, mode = found.groups()
    notes = [
        f"with 4 vCPUs; further ones {vcpu} an hour each, and most machines need some" if vcpu else None,
        "card shared over the network" if mode == "prototyping" else None,
    ]
    return Listing(
        provider="thunder_compute",
        product=mode,
        plan=found[0],
        gpu_text=code,
        gpu_count=Decimal(count),
        price=price.decimal(),
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state="from_price",
        purchase="on_demand",
        availability="listed_only",
        note="; ".join(note for note in notes if note) or None,
        place=price.place,
    )
