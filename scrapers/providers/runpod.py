"""RunPod: pods of the secure and the community cloud, through the GraphQL query that its own page asks.

Prices are per GPU and hour. A pool that does not offer a card has 0, which is passed on as said, or null. A
price of exactly 0.5 is what stands where a pool has no card (it is the same for an MI300X and a 6 GB card): a
lower bound, never ranked. The spot fields repeat the on-demand price since spot pods are no longer sold, and
`clusterPrice` says nothing of the cluster that it is for: neither is asked for, nor read. The prices for one,
three and six months are savings plans, paid in advance. `stockStatus` is of the card in both pools together.
Regions do not change the price and are not asked.

Off by default, for the terms are reported to forbid automated access.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from scrapers.contract import Availability, Listing, Payload, PurchaseKind, Quantity, Request, Segment, Source
from scrapers.readers import At, read_json

QUERY = (
    "{ gpuTypes { id displayName memoryInGb securePrice communityPrice oneMonthPrice threeMonthPrice "
    " sixMonthPrice maxGpuCount lowestPrice(input: {gpuCount: 1}) { stockStatus } } }"
)

SOURCE = Source(
    id="runpod",
    name="RunPod",
    segment="neocloud",
    homepage="https://www.runpod.io/",
    pricing_url="https://www.runpod.io/pricing",
    requests=(
        Request(
            part="gpu_types",
            url="https://api.runpod.io/graphql",
            method="POST",
            headers=(("Content-Type", "application/json"),),
            body=json.dumps({"query": QUERY}).encode(),
        ),
    ),
    allowed_hosts=("api.runpod.io",),
    terms="restricted",
    terms_url="https://www.runpod.io/legal/disclaimer",
    terms_note="reported on 2026-07-27 to forbid automated access; the clause was not read",
    terms_reviewed_on=date(2026, 8, 20),
    min_listings=20,
    default_on=False,
    off_reason="the terms are reported to forbid automated access: turn it on after reading them",
    billing_increment_s=1,
    billing_source="https://docs.runpod.io/pods/pricing",
)

PLACEHOLDER = Decimal("0.5")
AVAILABILITIES: dict[str, Availability] = {"High": "in_stock", "Medium": "in_stock", "Low": "low"}


class Way(NamedTuple):
    """One way to buy a card, and the field that holds its price."""

    field: str
    product: str
    segment: Segment
    purchase: PurchaseKind
    term_months: int | None


WAYS = (
    Way("securePrice", "pods_secure", "neocloud", "on_demand", None),
    Way("communityPrice", "pods_community", "peer_host", "on_demand", None),
    Way("oneMonthPrice", "savings_plan", "neocloud", "reserved", 1),
    Way("threeMonthPrice", "savings_plan", "neocloud", "reserved", 3),
    Way("sixMonthPrice", "savings_plan", "neocloud", "reserved", 6),
)


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per card and way to buy it that states a price, be it 0."""
    for gpu in At(payload.part, read_json(payload))["data"]["gpuTypes"]:
        for way in WAYS:
            price = gpu.get(way.field).decimal_or_none()
            if price is not None:
                yield _listing(gpu, way, price)


def _listing(gpu: At, way: Way, price: Decimal) -> Listing:
    memory_gb = gpu["memoryInGb"].decimal()
    most = gpu.get("maxGpuCount").integer_or_none()
    stock = gpu.get("lowestPrice").get("stockStatus").text_or_none() if gpu.get("lowestPrice") else None
    is_placeholder = price == PLACEHOLDER
    notes = [
        "0.5 stands where the pool has no card" if is_placeholder else None,
        f"up to {most} GPUs in a pod" if most else None,
    ]
    return Listing(
        provider="runpod",
        product=way.product,
        segment=way.segment,
        plan=gpu["displayName"].text(),
        gpu_text=gpu["id"].text(),
        gpu_count=Decimal(1),
        gpu_memory=Quantity(memory_gb, "GB") if memory_gb else None,
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price" if is_placeholder else "priced",
        purchase=way.purchase,
        term_months=way.term_months,
        availability=AVAILABILITIES.get(stock or "", "unknown"),
        availability_text=f"stock of both pools: {stock}" if stock else None,
        note="; ".join(note for note in notes if note) or None,
        place=gpu.place,
    )
