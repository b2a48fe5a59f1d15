"""Hyperbolic: machines of its suppliers on demand, through the list that its page without a login reads.

One row is one option: so many cards of one kind, in one region, as a virtual machine or bare metal, on one kind of
network. `costPerHourCents` is the price of the whole option in US cents. What the supplier is paid stands beside
it and is never read.

`totalAvailable` counts GPUs of the pool, the same for every size of it, so counts do not add up; a row without it
says nothing of stock, which is not zero. An option with `enabled` false cannot be rented. The nodes of an option
are read for vCPUs, RAM and disk only where their GPUs add up to those of the option. An option of several equal
nodes is no machine with as many GPUs: its listing is of one node, at the price per GPU, and the note says how many
are sold together.

The list holds what can be rented at the moment, so that sizes come and go. Shape as read by a price index on
2026-08-29; no answer of it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Availability, Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="hyperbolic",
    name="Hyperbolic",
    segment="marketplace",
    homepage="https://www.hyperbolic.ai/",
    pricing_url="https://www.hyperbolic.ai/",
    requests=(Request("rental_options", "https://api.hyperbolic.ai/v2/alpha/on-demand/rental-options"),),
    allowed_hosts=("api.hyperbolic.ai",),
    terms="unknown",
    terms_url="https://www.hyperbolic.ai/",
    terms_note="terms not read; the list answers without a key",
    terms_reviewed_on=date(2026, 8, 29),
    last_proof="2026-08-29: read by a price index; no answer recorded",
    min_listings=3,
)


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per option.

    Raises:
        PayloadShapeError: Not a list with options, or a field is missing or of another kind.
    """
    options = At(payload.part, read_json(payload))
    if not len(options):
        raise options.broken("an empty list, which can be anybody's answer")
    return (_listing(option) for option in list(options))


def _listing(option: At) -> Listing:
    gpu, form = option["gpuType"].text(), option.get("gpuFormFactor").text_or_none()
    count, price = option["gpuCount"].decimal(), option["costPerHourCents"].decimal() / 100
    if count < 1:
        raise option["gpuCount"].broken(f"{count} GPUs, where one or more are sold")
    network = option.get("connectionType").text_or_none()
    variant = option.get("ethernetVariant").text_or_none()
    availability, availability_text, free = _stock(option)
    nodes = _nodes(option, count)
    is_cluster = len(nodes) > 1
    node = nodes[0] if nodes else None
    return Listing(
        provider="hyperbolic",
        product=option.get("machineType").text_or_none(),
        plan=" ".join(part for part in (f"{count}x {gpu}", form, network, variant) if part),
        gpu_text=gpu,
        gpu_count=count / len(nodes) if is_cluster else count,
        form_factor_text=form,
        fabric_text=" ".join(part for part in (network, variant) if part) or None,
        vcpus=node.get("vcpuCount").decimal_or_none() if node else None,
        ram=_gigabytes(node.get("ramGb")) if node else None,
        disk=_gigabytes(node.get("storageGb")) if node else None,
        price=price / count if is_cluster else price,
        currency="USD",
        price_per="gpu" if is_cluster else "instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=option.get("region").text_or_none(),
        availability=availability,
        availability_text=availability_text,
        available_count=free,
        note=f"sold as {len(nodes)} nodes together" if is_cluster else None,
        place=option.place,
    )


def _stock(option: At) -> tuple[Availability, str, int | None]:
    free = option.get("totalAvailable").integer_or_none()
    if not option["enabled"].flag():
        return "out_of_stock", "enabled is false", free
    if free is None:
        return "unknown", "totalAvailable not stated", None
    return "in_stock" if free > 0 else "out_of_stock", f"{free} GPUs in the pool", free


def _nodes(option: At, gpu_count: Decimal) -> list[At]:
    """The nodes that make up the option, all alike; none where they differ, or hold more or fewer GPUs."""
    nodes = list(option["nodes"]) if option.get("nodes") else []
    counts = [node.get("gpuCount").decimal_or_none() or Decimal(0) for node in nodes]
    return nodes if sum(counts) == gpu_count and len(set(counts)) == 1 else []


def _gigabytes(amount: At) -> Quantity | None:
    value = amount.decimal_or_none()
    return Quantity(value, "GB") if value else None
