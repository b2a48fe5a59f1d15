"""3DS Outscale: GPUs to attach to virtual machines, through the public catalogue of each region.

A GPU entry is the type "Gpu:attach:<model>" or "Gpu:allocate:<model>" with a price in EUR per GPU and hour: what a
GPU costs while it is attached to a machine, and while it is kept without one. Where both stand, the first is the
listing. Cores and memory of the machine are entries of their own, and no entry says how much of them a GPU needs:
the price is a lower bound of a machine, so it is a from_price. Entries without a GPU are left out, but for the
general volumes (gp2), which are priced per GiB and month. An entry with the flag PER_MONTH is priced per month.

The region is the subregion of the entry; without one it is the region in the address. That the American and the
Japanese catalogues are in EUR too rests on one collector. Shape as read by two collectors in 2026; no answer of it
was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Extra, Listing, Payload, PriceUnit, Request, Source
from scrapers.readers import At, read_json

REGIONS = ("eu-west-2", "us-east-2", "us-west-1", "ap-northeast-1", "cloudgouv-eu-west-1")


def _request(region: str) -> Request:
    return Request(
        part=region,
        url=f"https://api.{region}.outscale.com/api/v1/ReadPublicCatalog",
        method="POST",
        headers=(("Content-Type", "application/json"), ("Accept", "application/json")),
        body=b"{}",
    )


SOURCE = Source(
    id="outscale",
    name="3DS Outscale",
    segment="neocloud",
    homepage="https://outscale.com/",
    pricing_url="https://outscale.com/",
    requests=tuple(_request(region) for region in REGIONS),
    allowed_hosts=tuple(f"api.{region}.outscale.com" for region in REGIONS),
    terms="unknown",
    terms_url="https://outscale.com/",
    terms_note="ReadPublicCatalog needs no account; terms not read",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: read by the code of two collectors; no answer recorded",
    min_listings=5,
)

GPU = re.compile(r"Gpu:(attach|allocate):(\S+)")
GENERAL_VOLUME = "BSU:VolumeUsage:gp2"
PER_MONTH = "PER_MONTH"
REGION_IN_ADDRESS = re.compile(r"https://api\.([a-z0-9-]+)\.outscale\.com/")


def parse(payload: Payload) -> Iterator[Listing | Extra]:
    """The GPUs of a region, attached where that is priced, and the price of its general volumes."""
    entries = At(payload.part, read_json(payload))["Catalog"]["Entries"]
    in_address = REGION_IN_ADDRESS.match(payload.url)
    gpus: dict[tuple[str | None, str], tuple[str, At]] = {}
    for entry in entries:
        kind = entry["Type"].text()
        region = entry.get("SubregionName").text_or_none() or (in_address[1] if in_address else None)
        if found := GPU.fullmatch(kind):
            key = region, found[2]
            if key not in gpus or gpus[key][0] != "attach":
                gpus[key] = found[1], entry
        elif kind == GENERAL_VOLUME:
            yield _volume(entry, region)
    if not gpus:
        raise entries.broken(f"none of {len(entries)} entries is a GPU")
    for (region, model), (kind, entry) in gpus.items():
        yield _listing(entry, kind, model, region)


def _listing(entry: At, kind: str, model: str, region: str | None) -> Listing:
    return Listing(
        provider="outscale",
        product="flexible_gpu",
        plan=model,
        gpu_text=model,
        gpu_count=Decimal(1),
        price=entry["UnitPrice"].decimal(),
        currency="EUR",
        price_per="gpu",
        price_unit=_unit(entry),
        price_state="from_price",
        purchase="on_demand",
        region_text=region,
        availability="listed_only",
        note=f"price to {kind} the GPU; cores and memory are billed beside it",
        place=entry.place,
    )


def _unit(entry: At) -> PriceUnit:
    """The time that a price is for: the hour, or the month where the flags say so."""
    flags = entry.get("Flags").text_or_none()
    return "month" if flags and PER_MONTH in flags else "hour"


def _volume(entry: At, region: str | None) -> Extra:
    return Extra(
        provider="outscale",
        kind="storage",
        name=GENERAL_VOLUME,
        price=entry["UnitPrice"].decimal(),
        currency="EUR",
        per="gib_month",
        region_text=region,
        place=entry.place,
    )
