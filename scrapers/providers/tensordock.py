"""TensorDock: parts of machines of many hosts, through its API with a key.

Nothing is sold as a whole: `price_per_hr` is of one GPU, and every vCPU, GB of RAM and GB of disk has a price per
hour of its own beside it (`pricing`). A GPU alone cannot be rented, so its price is a lower bound, and the note
says what comes on top. The price of a GB of disk becomes the price of storage of a location where all its cards
agree on it. `max_count` is the most GPUs that can be had in one place, and is often out of date.

The marketplace of before 2026 listed single hosts under `hostnodes`, with the price and the number of each part;
its address is gone, and such an answer is still read. Ids of hosts are not kept.

Shape as clients read it until September 2026; of the older answer the parts of one host were recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Extra, Listing, Payload, Quantity, Record, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="tensordock",
    name="TensorDock",
    segment="peer_host",
    homepage="https://www.tensordock.com/",
    pricing_url="https://www.tensordock.com/cloud-gpus.html",
    requests=(),
    keyed_requests=(Request("locations", "https://dashboard.tensordock.com/api/v2/locations"),),
    auth=Auth("TENSORDOCK_API_KEY"),
    allowed_hosts=("dashboard.tensordock.com",),
    terms="unknown",
    terms_url="https://www.tensordock.com/",
    terms_note="terms not read; at most 100 requests a minute, as others report",
    terms_reviewed_on=date(2026, 6, 18),
    last_proof="2026-09: read by the code of its clients; no answer of this form recorded",
    min_listings=3,
)


def parse(payload: Payload) -> Iterator[Record]:
    """A listing per location and card with the price of the card alone, and the price of disk per location.

    Raises:
        PayloadShapeError: No location with a card, or a field is missing or of another kind.
    """
    top = At(payload.part, read_json(payload))
    if "hostnodes" in top:
        yield from _hosts(top["hostnodes"])
        return
    locations = top["data"]["locations"]
    if not any(len(location["gpus"]) for location in locations):
        raise locations.broken("no location with a card")
    for location in locations:
        yield from _location(location)


def _location(location: At) -> Iterator[Record]:
    where = _where(location)
    gpus = list(location["gpus"])
    for gpu in gpus:
        most, rates = gpu["max_count"].integer(), gpu.get("pricing")
        yield _listing(
            gpu_text=gpu["v0Name"].text(),
            price=gpu["price_per_hr"].decimal(),
            memory=None,
            where=where,
            most=most,
            rates=[(name, rates.get(key)) for name, key in RATES] if rates else [],
            place=gpu.place,
        )
    yield from _disk(gpus, where, location.place)


RATES = (("vCPU", "per_vcpu_hr"), ("GB of RAM", "per_gb_ram_hr"), ("GB of disk", "per_gb_storage_hr"))


def _hosts(hosts: At) -> Iterator[Listing]:
    """The cards of each host of the older answer. A host is known by its id, which is not kept."""
    nodes = [
        At(hosts.part, host.value, f"hostnodes, host {index}")
        for index, (_, host) in enumerate(hosts.items())
    ]
    if not any(len(node["specs"]["gpu"]) for node in nodes):
        raise hosts.broken("no host with a card")
    for node in nodes:
        specs, location = node["specs"], node.get("location")
        for name, gpu in specs["gpu"].items():
            memory = gpu.get("vram").decimal_or_none()
            yield _listing(
                gpu_text=name,
                price=gpu["price"].decimal(),
                memory=Quantity(memory, "GB") if memory else None,
                where=_where(location) if location else None,
                most=gpu["amount"].integer(),
                rates=[
                    (what, specs[part].get("price"))
                    for what, part in (("vCPU", "cpu"), ("GB of RAM", "ram"), ("GB of disk", "storage"))
                ],
                place=f"{node.place} {name}",
            )


def _where(location: At) -> str | None:
    """City, state and country, as far as they are said."""
    parts = [location.get(name).text_or_none() for name in ("city", "stateprovince", "region", "country")]
    return ", ".join(part for part in parts if part) or None


def _listing(
    *,
    gpu_text: str,
    price: Decimal,
    memory: Quantity | None,
    where: str | None,
    most: int,
    rates: list[tuple[str, At]],
    place: str,
) -> Listing:
    on_top = [f"{rate} a {name}" for name, at in rates if (rate := at.decimal_or_none()) is not None]
    return Listing(
        provider="tensordock",
        product="on_demand",
        plan=gpu_text,
        gpu_text=gpu_text,
        gpu_count=Decimal(1),
        gpu_memory=memory,
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price",
        purchase="on_demand",
        region_text=where,
        availability="in_stock" if most > 0 else "out_of_stock",
        availability_text=f"up to {most} GPUs",
        available_count=most,
        note="the GPU alone; on top an hour: " + (", ".join(on_top) or "parts at prices not stated"),
        place=place,
    )


def _disk(gpus: list[At], where: str | None, place: str) -> Iterator[Extra]:
    rates = {gpu["pricing"].get("per_gb_storage_hr").decimal_or_none() for gpu in gpus if gpu.get("pricing")}
    if where and len(rates) == 1 and (rate := rates.pop()):
        yield Extra(
            provider="tensordock",
            kind="storage",
            name="disk",
            price=rate,
            currency="USD",
            per="gb_hour",
            region_text=where,
            place=place,
        )
