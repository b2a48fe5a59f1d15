"""packet.ai: GPU products, through its API, which needs a key.

`products` of the launch options are what is sold: `pricePerHourCents` is in US cents per GPU and hour, whatever pools
stand behind it, and `totalAvailableGpus` is what all of them have free. Products with no free GPU are left out by the
service, but for featured ones, which stay with 0. VRAM is in GB of one GPU. Regions, images, disks and the pools with
their ids are not read. The site shows no list that could be read.

Shape as the code of the service, which is public, makes the answer; no answer of it was recorded.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="packet_ai",
    name="packet.ai",
    segment="neocloud",
    homepage="https://packet.ai/",
    pricing_url="https://packet.ai/",
    requests=(),
    keyed_requests=(Request("launch_options", "https://dash.packet.ai/api/v1/launch-options"),),
    auth=Auth("PACKET_API_KEY"),
    allowed_hosts=("dash.packet.ai",),
    terms="unknown",
    terms_url="https://packet.ai/",
    terms_note="the API is documented for its customers; terms not read",
    terms_reviewed_on=date(2026, 5, 24),
    last_proof="undated: public code of the service read; no answer recorded",
    min_listings=1,
)

CENTS_PER_USD = 100


def parse(payload: Payload) -> list[Listing]:
    """One listing for each product.

    Raises:
        PayloadShapeError: A field is missing or of another kind, or there is no product.
    """
    products = At(payload.part, read_json(payload))["data"]["products"]
    if not len(products):
        raise products.broken("no product")
    return [_listing(product) for product in products]


def _listing(product: At) -> Listing:
    name, free = product["name"].text(), product["totalAvailableGpus"].integer()
    memory = product["vramGb"].decimal_or_none()
    return Listing(
        provider="packet_ai",
        product="gpu",
        plan=name,
        gpu_text=name,
        gpu_count=Decimal(1),
        gpu_memory=None if memory is None else Quantity(memory, "GB"),
        price=product["pricePerHourCents"].decimal() / CENTS_PER_USD,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        availability="in_stock" if free > 0 else "out_of_stock",
        availability_text=f"totalAvailableGpus: {free}",
        available_count=free if free > 0 else 0,
        place=product.place,
    )
