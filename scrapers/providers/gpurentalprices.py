"""gpurentalprices: a table of rental prices of some 34 providers that Adrian Nutiu keeps (CC BY 4.0).

A catalog, not the providers themselves: each night a program reads their pages, and `fetched_at` is the day of a row.
Where a page could not be read, the provider's last rows stay and its state is `stale`; they keep their old day, and
their note says so. `usd_hr` is in USD per GPU and hour, the lowest of the regions that the program saw, and names none;
so all rows are lower bounds (from_price). `min_gpus` is the least number of GPUs in a machine with that price for
each, and is not stated for every provider: without it the size of the machine is unknown.

Names of GPUs are the table's own ("a100-sxm-80"), and `vram_gb` is the memory of one. `kind`: "on-demand", and
"secure" for RunPod's own data centres; "community" machines of peer hosts, which at Salad are of the lowest priority
and can be taken away, so spot; "spot"; "serverless".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Segment, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="gpurentalprices",
    name="gpurentalprices catalog",
    segment=None,
    homepage="https://github.com/adriannutiu/gpu-rental-prices",
    pricing_url="https://github.com/adriannutiu/gpu-rental-prices",
    requests=(
        Request(
            "latest",
            "https://raw.githubusercontent.com/adriannutiu/gpu-rental-prices/main/data/latest.json",
        ),
    ),
    allowed_hosts=("raw.githubusercontent.com",),
    terms="open",
    terms_url="https://creativecommons.org/licenses/by/4.0/",
    terms_note="CC BY 4.0: named as the source of each row",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-22: file recorded and parsed",
    min_listings=100,
    basis="catalog",
)

# The providers that the table calls otherwise than we do.
PROVIDERS = {
    "datacrunch": "verda",
    "gmicloud": "gmi_cloud",
    "hotaisle": "hot_aisle",
    "latitude": "latitude_sh",
    "massedcompute": "massed_compute",
    "ovh": "ovhcloud",
    "primeintellect": "prime_intellect",
    "thundercompute": "thunder_compute",
    "together": "together_ai",
}


class _Kind(NamedTuple):
    purchase: PurchaseKind
    segment: Segment | None = None


KINDS = {
    "on-demand": _Kind("on_demand"),
    "secure": _Kind("on_demand"),
    "community": _Kind("on_demand", "peer_host"),
    "spot": _Kind("spot"),
    "serverless": _Kind("on_demand", "serverless"),
}
SALAD_COMMUNITY = _Kind("spot", "peer_host")
DAY = re.compile(r"(\d{4}-\d{2}-\d{2})T")


def parse(payload: Payload) -> Iterator[Listing]:
    """One listing per row of the table."""
    top = At(payload.part, read_json(payload))
    offers, states = top["offers"], top["providers"]
    if not len(offers):
        raise offers.broken("the table has no rows")
    for offer in offers:
        yield _listing(offer, states)


def _listing(offer: At, states: At) -> Listing:
    name, memory = offer["provider"].text(), offer.get("vram_gb").decimal_or_none()
    kind = _kind(offer["kind"], name)
    return Listing(
        provider=PROVIDERS.get(name, name),
        product=offer["kind"].text(),
        segment=kind.segment,
        plan=offer["gpu"].text(),
        gpu_text=offer["gpu"].text(),
        gpu_count=offer.get("min_gpus").decimal_or_none(),
        gpu_memory=None if memory is None else Quantity(memory, "GB"),
        price=offer["usd_hr"].decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price",
        purchase=kind.purchase,
        availability="listed_only",
        evidence="second_hand",
        as_of=_day(offer["fetched_at"]),
        source_url=offer["source_url"].text(),
        note=_note(offer, states.get(name)),
        place=offer.place,
    )


def _kind(field: At, provider: str) -> _Kind:
    kind = KINDS.get(field.text())
    if kind is None:
        raise field.broken(f"{field.text()[:20]!r} is none of {', '.join(KINDS)}")
    return SALAD_COMMUNITY if (provider, field.text()) == ("salad", "community") else kind


def _day(field: At) -> date:
    found = DAY.match(field.text())
    try:
        if found:
            return date.fromisoformat(found[1])
    except ValueError:
        pass
    raise field.broken(f"{field.text()[:40]!r} is not a moment")


def _note(offer: At, state: At) -> str | None:
    parts = []
    if not offer.get("min_gpus"):
        parts.append("for a machine of a size that is not stated")
    if state and state.get("stale").value is True:
        parts.append("stale: the page could not be read since")
    return "; ".join(parts) or None
