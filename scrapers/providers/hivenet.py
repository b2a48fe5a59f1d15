"""Hivenet Compute: presets of a distributed cloud, through the open list behind its pricing page.

`hourly_price` is in EUR for the whole preset; `gpu` has one element per card, as
many as the name says ("2x-RTX-4090"). `hourly_price_discounted` is 0 where
there is no discount, else the price to pay, and `hourly_price` is then the regular one. Demo presets cost 0: they
are said as they stand. Presets without a card are left out. The list knows the place of a preset, and no stock.

Shape as read from the API on 2026-06-13 by a collector that kept some rows; a row with a discount was never seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="hivenet",
    name="Hivenet Compute",
    segment="peer_host",
    homepage="https://www.hivenet.com/",
    pricing_url="https://compute.hivenet.com/pricing",
    requests=(Request("presets", "https://api.hivecompute.ai/presets/pricing"),),
    allowed_hosts=("api.hivecompute.ai",),
    terms="unknown",
    terms_url="https://www.hivenet.com/",
    terms_note="the pricing page calls this address without a key; terms not read",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-06-13: read by a collector that kept some rows; no answer recorded",
    min_listings=2,
)


COUNTED = re.compile(r"(\d{1,3})x-")


def parse(payload: Payload) -> Iterator[Listing]:
    """The presets with a GPU."""
    presets = At(payload.part, read_json(payload))
    with_gpu = [preset for preset in presets if len(preset["gpu"])]
    if not with_gpu:
        raise presets.broken("no preset has a GPU")
    for preset in with_gpu:
        yield _listing(preset)


def _listing(preset: At) -> Listing:
    price, regular_price = _prices(preset)
    said_count = COUNTED.match(preset["name"].text())
    if said_count and int(said_count[1]) != len(preset["gpu"]):
        raise preset["gpu"].broken(f"{len(preset['gpu'])} cards, where the name says {said_count[1]}")
    models = dict.fromkeys(card["model"].text() for card in preset["gpu"])
    return Listing(
        provider="hivenet",
        product="presets",
        plan=preset["name"].text(),
        gpu_text=" + ".join(models),
        gpu_count=Decimal(len(preset["gpu"])),
        vcpus=preset["cpu"].decimal(),
        ram=Quantity(preset["memory"].decimal(), "GB"),
        disk=Quantity(preset["disk"].decimal(), "GB"),
        price=price,
        regular_price=regular_price,
        currency="EUR",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=preset["location"].text(),
        availability="listed_only",
        place=preset.place,
    )


def _prices(preset: At) -> tuple[Decimal, Decimal | None]:
    """What is to pay, and the regular price beside it where there is a discount."""
    regular = preset["hourly_price"].decimal()
    discounted = preset.get("hourly_price_discounted").decimal_or_none()
    return (discounted, regular) if discounted and discounted < regular else (regular, None)
