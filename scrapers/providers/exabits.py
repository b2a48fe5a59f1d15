"""Exabits: GPU machines in several regions, through its list of flavours, which needs a token.

`price` is in USD per GPU and hour; `gpu_count` GPUs make the machine. A GPU whose name ends in "-spot" is the same
GPU as spot: it can be lost at once, and nothing of the machine is kept. Memory and disks are in GB; the ephemeral
disk stays in the note. `stock_available` is the stock; without it the stock is unknown. Flavours without a GPU are
left out. `cycle` is how the provider bills; its values are not documented, and the price is per hour by the
description of the field `price`.

Shape as the documentation of the API describes it and a collector read it in 2026; no answer of it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from scrapers.contract import Auth, Availability, Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="exabits",
    name="Exabits",
    segment="neocloud",
    homepage="https://www.exabits.ai/",
    pricing_url="https://www.exabits.ai/",
    requests=(),
    keyed_requests=(Request("flavors", "https://gpu-api.exabits.ai/api/v1/flavors"),),
    auth=Auth("EXABITS_API_TOKEN"),
    allowed_hosts=("gpu-api.exabits.ai",),
    terms="unknown",
    terms_url="https://www.exabits.ai/",
    terms_note="the API is documented for its customers; terms not read",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: documented, and read by the code of a collector; no answer recorded",
    min_listings=1,
)

SPOT = "-spot"


def parse(payload: Payload) -> Iterator[Listing]:
    """The flavours with a GPU in each region."""
    regions = At(payload.part, read_json(payload))["data"]
    found = [
        (region, row)
        for region in regions
        for row in region["products"]
        if row["gpu"].text_or_none() is not None
    ]
    if not found:
        raise regions.broken("no flavour has a GPU")
    for region, row in found:
        yield _listing(region, row)


def _listing(region: At, row: At) -> Listing:
    gpu = row["gpu"].text()
    is_spot = gpu.lower().endswith(SPOT)
    disk, ephemeral = (row.get(name).decimal_or_none() for name in ("disk", "ephemeral"))
    availability, said = _stock(row)
    return Listing(
        provider="exabits",
        product="gpu_cloud",
        plan=row["name"].text(),
        gpu_text=gpu[: -len(SPOT)] if is_spot else gpu,
        gpu_count=row["gpu_count"].decimal(),
        vcpus=row["cpu"].decimal(),
        ram=Quantity(row["ram"].decimal(), "GB"),
        disk=None if disk is None else Quantity(disk, "GB"),
        price=row["price"].decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="spot" if is_spot else "on_demand",
        region_text=row.get("region_name").text_or_none() or region["region"].text(),
        availability=availability,
        availability_text=said,
        note=f"ephemeral disk: {ephemeral} GB" if ephemeral else None,
        place=row.place,
    )


def _stock(row: At) -> tuple[Availability, str | None]:
    field = row.get("stock_available")
    if not field:
        return "unknown", None
    is_there = field.flag()
    return ("in_stock" if is_there else "out_of_stock"), f"stock_available is {str(is_there).lower()}"
