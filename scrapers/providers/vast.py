"""Vast.ai: a marketplace of machines of many hosts, through its search API.

Each offer is so many GPUs of one machine at so much per hour: `dph_base` for the GPUs, `min_bid` as the floor of
the bids for the same GPUs. The offers come and go within minutes, and one machine shows as several offers of 1,
2, 4 and 8 GPUs. What stays from night to night is the group of offers with the same GPU and memory, the same
number of GPUs, the same place and the same kind of host; the plan names the first three. The cheapest offer of a
group is its listing, and the note says of how many machines; the lowest bid floor of the group is a second
listing, a lower bound. Neither is a sum or a mean: each can be rented as it stands.

Kept are offers that can be rented, of a verified host or with a reliability of at least 0.95. An offer that
states neither is kept, and its note says so. Offers whose price is far from the median of their card (an L4 at 0.02
was seen) are groups of their own, passed on as a lower bound with the reason, and their bid floors are not. Numbers
of machines and hosts point at private people's computers: they serve to count, and nothing of them is kept.

`gpu_ram` is in MiB per card. It tells A100 SXM4 of 40 and 80 GB apart, which share a name; it is compared in
whole GiB. An offer without `dph_base` has only `dph_total`, which includes a default disk; the note says so.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Literal

from scrapers.contract import Listing, Payload, PriceState, PurchaseKind, Quantity, Request, Segment, Source
from scrapers.outliers import far_from_median
from scrapers.readers import At, read_json

URL = "https://console.vast.ai/api/v0/bundles/"
# As the API spells them: exact, and sensitive to case. Without a name the answer is cut off.
GPU_NAMES = (
    "A10",
    "A100 PCIE",
    "A100 SXM4",
    "A100X",
    "A40",
    "B200",
    "B300",
    "GH200 SXM",
    "H100 NVL",
    "H100 PCIE",
    "H100 SXM",
    "H200",
    "H200 NVL",
    "L4",
    "L40",
    "L40S",
    "RTX 3090",
    "RTX 4090",
    "RTX 5090",
    "RTX 6000Ada",
    "RTX A5000",
    "RTX A6000",
    "RTX PRO 6000 S",
    "RTX PRO 6000 WS",
    "Tesla T4",
    "Tesla V100",
)
LEAST_RELIABILITY = Decimal("0.95")
DATACENTER = 1


def _request(gpu_name: str) -> Request:
    query = {
        "gpu_name": {"eq": gpu_name},
        "rentable": {"eq": True},
        "rented": {"eq": False},
        "type": "on-demand",
        "order": [["dph_total", "asc"]],
        "limit": 1000,
    }
    return Request(
        part=gpu_name.lower().replace(" ", "_"),
        url=URL,
        method="POST",
        headers=(("Content-Type", "application/json"),),
        body=json.dumps(query).encode(),
    )


SOURCE = Source(
    id="vast",
    name="Vast.ai",
    segment="peer_host",
    homepage="https://vast.ai/",
    pricing_url="https://vast.ai/pricing",
    requests=tuple(_request(gpu_name) for gpu_name in GPU_NAMES),
    allowed_hosts=("console.vast.ai",),
    terms="unknown",
    terms_url="https://vast.ai/terms",
    terms_note="terms of 2023-12-15, the clause on automation not read; the search API is public and rate limited",
    terms_reviewed_on=date(2026, 8, 7),
    last_proof="2026-09: answer of four fields recorded and parsed",
    min_listings=20,
    pace_s=2.0,
    billing_increment_s=1,
    billing_minimum_s=0,
    billing_source="https://docs.vast.ai/guides/instances/pricing",
)


def parse(payload: Payload) -> Iterator[Listing]:
    """The cheapest offer of each group, then the lowest bid floor of the same group."""
    offers_for_rent = [offer for offer in _offers(payload) if _is_for_rent(offer)]
    far = _far_places(offers_for_rent)
    groups: dict[tuple[object, ...], list[At]] = defaultdict(list)
    for offer in offers_for_rent:
        groups[*_group(offer), offer.place in far].append(offer)
    for (*_, is_far), offers in groups.items():
        yield _on_demand(offers, is_far=is_far is True)
        bids = [offer for offer in offers if offer.get("min_bid").value is not None]
        if bids and not is_far:
            yield _bid_floor(bids)


def _far_places(offers: list[At]) -> frozenset[str]:
    """Where the offers stand whose price per GPU is far from the median of their card."""
    cards: dict[object, list[At]] = defaultdict(list)
    for offer in offers:
        cards[offer["gpu_name"].text(), _memory_gib(offer)].append(offer)
    places: set[str] = set()
    for alike in cards.values():
        per_gpu = [_price(offer) / max(offer["num_gpus"].integer(), 1) for offer in alike]
        places |= {
            offer.place for offer, is_far in zip(alike, far_from_median(per_gpu), strict=True) if is_far
        }
    return frozenset(places)


def _offers(payload: Payload) -> At:
    """The offers: the field `offers` of the answer, or a list of them, which is then not empty."""
    top = At(payload.part, read_json(payload))
    if top.value == []:
        raise top.broken("an empty list, which can be anybody's answer")
    return top if isinstance(top.value, list) else top["offers"]


def _is_for_rent(offer: At) -> bool:
    if offer.get("rentable").value is False or offer.get("rented").value is True:
        return False
    if offer.get("is_bid").value is True:
        return False
    reliability = offer.get("reliability2").decimal_or_none()
    is_reliable = reliability is not None and reliability >= LEAST_RELIABILITY
    return is_reliable or offer.get("verification").value == "verified" or not _states_quality(offer)


def _states_quality(offer: At) -> bool:
    return any(offer.get(name).value is not None for name in ("verification", "reliability2"))


def _group(offer: At) -> tuple[object, ...]:
    return _plan(offer), offer.get("geolocation").text_or_none(), _segment(offer)


def _plan(offer: At) -> str:
    return f"{offer['num_gpus'].integer()}x {offer['gpu_name'].text()} {_memory_gib(offer)} GiB"


def _memory_gib(offer: At) -> int:
    return round(offer["gpu_ram"].decimal() / 1024)


def _segment(offer: At) -> Segment | None:
    """Data centres are a marketplace, others peer hosts; None where the offer does not say."""
    hosting = offer.get("hosting_type").integer_or_none()
    return None if hosting is None else "marketplace" if hosting == DATACENTER else "peer_host"


def _price(offer: At) -> Decimal:
    base = offer.get("dph_base").decimal_or_none()
    return offer["dph_total"].decimal() if base is None else base


def _on_demand(offers: list[At], *, is_far: bool) -> Listing:
    cheapest = min(offers, key=_price)
    is_total = cheapest.get("dph_base").value is None
    return _listing(
        cheapest,
        product="on_demand",
        purchase="on_demand",
        price_state="from_price" if is_far else "priced",
        price=_price(cheapest),
        notes=[
            f"cheapest of {_count(offers)}",
            "price includes a default disk (dph_total)" if is_total else None,
            "price far from the median of this card, no price to rank" if is_far else None,
        ],
    )


def _bid_floor(offers: list[At]) -> Listing:
    lowest = min(offers, key=lambda offer: offer["min_bid"].decimal())
    return _listing(
        lowest,
        product="interruptible",
        purchase="spot",
        price_state="bid_floor",
        price=lowest["min_bid"].decimal(),
        notes=[f"lowest bid floor of {_count(offers)}; outbid means paused"],
    )


def _listing(
    offer: At,
    *,
    product: str,
    purchase: PurchaseKind,
    price_state: PriceState,
    price: Decimal,
    notes: list[str | None],
) -> Listing:
    if not _states_quality(offer):
        notes.append("verification and reliability not stated")
    return Listing(
        provider="vast",
        product=product,
        segment=_segment(offer),
        plan=_plan(offer),
        gpu_text=offer["gpu_name"].text(),
        gpu_count=offer["num_gpus"].decimal(),
        gpu_memory=Quantity(offer["gpu_ram"].decimal(), "MiB"),
        link_text="NVLink" if offer.get("bw_nvlink").decimal_or_none() else None,
        vcpus=offer.get("cpu_cores_effective").decimal_or_none(),
        ram=_quantity(offer.get("cpu_ram"), "MB"),
        disk=_quantity(offer.get("disk_space"), "GB"),
        price=price,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state=price_state,
        purchase=purchase,
        region_text=offer.get("geolocation").text_or_none(),
        availability="in_stock",
        availability_text="rentable",
        storage_price_per_gb_month=offer.get("storage_cost").decimal_or_none(),
        egress_price_per_gb=offer.get("inet_up_cost").decimal_or_none(),
        ingress_price_per_gb=offer.get("inet_down_cost").decimal_or_none(),
        note="; ".join(note for note in notes if note),
        place=offer.place,
    )


def _quantity(amount: At, unit: Literal["MB", "GB"]) -> Quantity | None:
    value = amount.decimal_or_none()
    return None if value is None else Quantity(value, unit)


def _count(offers: list[At]) -> str:
    """How many machines the offers are of; how many offers, where they do not name their machine."""
    machines = {offer.get("machine_id").integer_or_none() for offer in offers}
    if None not in machines:
        return f"{len(machines)} machine{'s' * (len(machines) != 1)}"
    return f"{len(offers)} offer{'s' * (len(offers) != 1)}"
