"""CloudRift: virtual machines in data centres of its partners, through the open list of instance types.

`cost_per_hour` is in US cents for the whole variant; one more price stands above the variants and is not read.
RAM, disk and GPU memory are in bytes, the last of one card. A variant has a listing per data centre that holds
nodes of it (`nodes_per_dc`); of these `available_nodes_per_dc` are free, and a centre that it does not name has
none free. Where no centres are named, there is one listing without a place.

The card stands in `brand_short` ("RTX 4090"). Types without a GPU (`gpu_count` 0) are left out. Nodes are the
same machines in every variant of a type, so their counts do not add up.

Shape as read by gpuhunt until 2026-08-19 and by other clients on 2026-10-06; no answer of it was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date

from scrapers.contract import Availability, Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

QUERY = {
    "version": "2025-03-21",
    "data": {"selector": {"ByServiceAndLocation": {"services": ["vm"]}}},
}

SOURCE = Source(
    id="cloudrift",
    name="CloudRift",
    segment="marketplace",
    homepage="https://www.cloudrift.ai/",
    pricing_url="https://www.cloudrift.ai/",
    requests=(
        Request(
            part="instance_types",
            url="https://api.cloudrift.ai/api/v1/instance-types/list",
            method="POST",
            headers=(("Content-Type", "application/json"),),
            body=json.dumps(QUERY).encode(),
        ),
    ),
    allowed_hosts=("api.cloudrift.ai",),
    terms="unknown",
    terms_url="https://www.cloudrift.ai/",
    terms_note="terms not read; the list answers without a key",
    terms_reviewed_on=date(2026, 8, 19),
    last_proof="2026-10-06: read by the code of its clients; no answer recorded",
    min_listings=2,
)


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per variant with GPUs and data centre.

    Raises:
        PayloadShapeError: No instance type with a GPU, or a field is missing or of another kind.
    """
    types = At(payload.part, read_json(payload))["data"]["instance_types"]
    with_gpus = [
        (kind, variant)
        for kind in types
        for variant in kind["variants"]
        if variant["gpu_count"].integer() > 0
    ]
    if not with_gpus:
        raise types.broken("no variant with a GPU")
    for kind, variant in with_gpus:
        yield from _listings(kind, variant)


def _listings(kind: At, variant: At) -> Iterator[Listing]:
    nodes = variant.get("nodes_per_dc")
    free_nodes = variant.get("available_nodes_per_dc")
    centres = [name for name, _ in nodes.items()] if nodes else []
    for centre in centres:
        free = free_nodes.get(centre).integer_or_none() or 0 if free_nodes else None
        yield _listing(kind, variant, centre, free)
    if not centres:
        yield _listing(kind, variant, None, variant.get("available_nodes").integer_or_none())


def _listing(kind: At, variant: At, centre: str | None, free: int | None) -> Listing:
    availability: Availability = "unknown" if free is None else "in_stock" if free > 0 else "out_of_stock"
    return Listing(
        provider="cloudrift",
        product="vm",
        plan=variant["name"].text(),
        gpu_text=kind["brand_short"].text(),
        gpu_count=variant["gpu_count"].decimal(),
        gpu_memory=_bytes(variant.get("vram")),
        vcpus=variant.get("cpu_count").decimal_or_none(),
        ram=_bytes(variant.get("dram")),
        disk=_bytes(variant.get("disk")),
        price=variant["cost_per_hour"].decimal() / 100,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=centre,
        availability=availability,
        availability_text=None if free is None else f"{free} nodes free",
        available_count=free,
        place=variant.place,
    )


def _bytes(amount: At) -> Quantity | None:
    value = amount.decimal_or_none()
    return Quantity(value, "bytes") if value else None
