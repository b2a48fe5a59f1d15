"""Lium (Bittensor subnet 51): machines of private hosts, through the list of its own page.

A row is one machine. `price_per_gpu` is per GPU and hour in USD, as the page prints it; the currency is not in the
answer. `tier` is "secure" (on demand) or "spot". The name is that of the driver: "NVIDIA H100 80GB HBM3" is SXM.

Machines come and go, and many are alike. What stays is the group with the same card, number of GPUs, tier and
country; its cheapest machine that is free stands for it, or the cheapest rented one where all are taken. A machine
of which some GPUs are rented is free as a smaller one where its host splits it (`min_gpu_count_for_rental`), and
taken where not. Machines whose price is far from the median of the card are groups of their own: their price is
passed on as a lower bound, with the reason.

`pending_price_per_hour` is a price announced for a later day. Nothing says whether it is of a GPU or of the machine,
so that it stands in the note only. A price can be the number NaN, which is no JSON; it is read as no price. Ids,
addresses and keys of hosts point at private people and are not kept.

Shape as read by a price index on 2026-08-25 and by its own client in autumn 2026; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.outliers import far_from_median
from scrapers.readers import At, read_json

SOURCE = Source(
    id="lium",
    name="Lium",
    segment="peer_host",
    homepage="https://lium.io/",
    pricing_url="https://lium.io/pricing",
    requests=(Request("executors", "https://lium.io/api/executors"),),
    allowed_hosts=("lium.io",),
    terms="unknown",
    terms_url="https://lium.io/",
    terms_note="terms not read; the list answers without a key",
    terms_reviewed_on=date(2026, 8, 25),
    last_proof="2026-08-25: read by a price index; no answer recorded",
    min_listings=5,
    pace_s=2.0,
    billing_increment_s=1,
    billing_minimum_s=0,
    billing_source="https://lium.io/pricing",
)

NO_NUMBER = re.compile(rb"(?<=[:\s])(?:NaN|-?Infinity)(?=\s*[,}])")
TIERS: dict[str, PurchaseKind] = {"secure": "on_demand", "spot": "spot"}


class Machine(NamedTuple):
    """A row of the list: what of it can be rented, and whether its price can be meant."""

    row: At
    gpus: int
    free: int | None
    price: Decimal | None
    is_far: bool = False

    @property
    def can_be_had(self) -> bool:
        return self.free is None or self.free > 0


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per card, number of GPUs, tier and country.

    Raises:
        PayloadShapeError: Not a list with machines, or a field is missing or of another kind.
    """
    body = NO_NUMBER.sub(b"null", payload.body)
    top = At(payload.part, read_json(replace(payload, body=body)))
    if not len(top):
        raise top.broken("an empty list, which can be anybody's answer")
    groups: dict[tuple[object, ...], list[Machine]] = defaultdict(list)
    for machine in _judged([_machine(row) for row in top]):
        tier = machine.row["tier"].text()
        groups[_name(machine.row), machine.gpus, tier, _country(machine.row), machine.is_far].append(machine)
    for machines in groups.values():
        yield _listing(machines)


def _machine(row: At) -> Machine:
    gpus, free = row["gpu_count"].integer(), row.get("available_gpu_count").integer_or_none()
    least = row.get("min_gpu_count_for_rental").integer_or_none()
    if free is not None and 0 < free < gpus:
        is_split = least is not None and least <= free
        gpus, free = (free, free) if is_split else (gpus, 0)
    return Machine(row, gpus, free, row["price_per_gpu"].decimal_or_none())


def _judged(machines: list[Machine]) -> Iterator[Machine]:
    """The machines, each with whether its price is far from the median of its card."""
    cards: dict[str, list[Machine]] = defaultdict(list)
    for machine in machines:
        cards[_name(machine.row)].append(machine)
    for alike in cards.values():
        far = far_from_median([machine.price for machine in alike])
        yield from (machine._replace(is_far=is_far) for machine, is_far in zip(alike, far, strict=True))


def _name(row: At) -> str:
    return row["machine_name"].text()


def _country(row: At) -> str | None:
    place = row.get("location")
    return place.get("country_code").text_or_none() if place else None


def _listing(machines: list[Machine]) -> Listing:
    best = min(machines, key=lambda one: (not one.can_be_had, not one.price, one.price or 0))
    row = best.row
    tier = row["tier"].text()
    if tier not in TIERS:
        raise row["tier"].broken(f"{tier[:40]!r} is none of {', '.join(TIERS)}")
    return Listing(
        provider="lium",
        product=tier,
        plan=f"{best.gpus}x {_name(row)}",
        gpu_text=_name(row),
        gpu_count=Decimal(best.gpus),
        gpu_memory=_memory(row),
        price=best.price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        price_state="from_price" if best.is_far else "priced",
        purchase=TIERS[tier],
        region_text=_country(row),
        availability="unknown" if best.free is None else "in_stock" if best.can_be_had else "out_of_stock",
        availability_text=_stock_text(row),
        available_count=best.free,
        note="; ".join(_notes(best, len(machines))),
        place=row.place,
    )


def _memory(row: At) -> Quantity | None:
    """The memory of the first card in MiB, as its driver says it."""
    gpu = row["specs"].get("gpu") if row.get("specs") else row.get("specs")
    details = list(gpu["details"]) if gpu and gpu.get("details") else []
    amount = details[0].get("capacity").decimal_or_none() if details else None
    return Quantity(amount, "MiB") if amount else None


def _stock_text(row: At) -> str | None:
    free = row.get("available_gpu_count").integer_or_none()
    return None if free is None else f"{free} of {row['gpu_count'].integer()} GPUs free"


def _notes(best: Machine, machines: int) -> Iterator[str]:
    yield f"cheapest of {machines} machine{'s' * (machines != 1)}"
    if best.gpus < best.row["gpu_count"].integer():
        yield "part of a larger machine"
    if best.is_far:
        yield "price far from the median of this card, no price to rank"
    if (pending := best.row.get("pending_price_per_hour").decimal_or_none()) is not None:
        day = best.row.get("price_change_effective_date").text_or_none()
        yield f"announced: {pending} from {day[:10] if day else 'a day not stated'}, per what is not stated"
