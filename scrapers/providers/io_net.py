"""io.net: machines of its suppliers, as virtual machines and as containers, through the lists of its console.

A row is one configuration: so many cards in one country, with `price` in USD per hour for all of them together.
`vram_per_card` and the other amounts are in GB. Both lists name the same machines at the same price; the one of
containers adds `available_replicas`. They are two ways to buy one machine, so their counts do not add up.

A configuration that is sold out keeps its row and its price (`sold_out`). Rows without cards are CPU machines and are
left out; a price of 0 is passed on as said. `supplier` says "external" for what another cloud runs, not which.

Both lists have the same address but for one word, and are told apart by `available_replicas` or `brand_name`. Shape
as a client recorded it on 2026-06-13, which is not among our own recordings.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from scrapers.contract import Availability, Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="io_net",
    name="io.net",
    segment="marketplace",
    homepage="https://io.net/",
    pricing_url="https://io.net/",
    requests=(
        Request("vmaas", "https://api.io.solutions/v1/io-cloud/vmaas/hardware"),
        Request("caas", "https://api.io.solutions/v1/io-cloud/caas/hardware"),
    ),
    allowed_hosts=("api.io.solutions",),
    terms="unknown",
    terms_url="https://io.net/",
    terms_note="terms not read; the lists answer without a key",
    terms_reviewed_on=date(2026, 6, 13),
    last_proof="2026-06-13: recorded by a client; that recording was not parsed here",
    min_listings=4,
)


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per configuration with cards.

    Raises:
        PayloadShapeError: No such configuration, or a field is missing or of another kind.
    """
    hardware = At(payload.part, read_json(payload))["data"]["hardware"]
    rows = [row for row in hardware if row["num_cards"].integer() > 0]
    if not rows:
        raise hardware.broken("no configuration with cards")
    is_container = any("available_replicas" in row or "brand_name" in row for row in rows)
    return (_listing(row, "container" if is_container else "vm") for row in rows)


def _listing(row: At, product: str) -> Listing:
    form = row.get("interconnect").text_or_none()
    count = row["num_cards"].decimal()
    availability, availability_text, free = _stock(row)
    supplier = row.get("supplier").text_or_none()
    return Listing(
        provider="io_net",
        product=product,
        plan=" ".join(part for part in (f"{count}x {row['name'].text()}", form, _plan_code(row)) if part),
        gpu_text=row["name"].text(),
        gpu_count=count,
        gpu_memory=_gigabytes(row.get("vram_per_card")),
        form_factor_text=form,
        link_text="NVLink" if row.get("nvlink").value is True else None,
        vcpus=row.get("vcpu").decimal_or_none(),
        ram=_gigabytes(row.get("memory")),
        disk=_gigabytes(row.get("storage")),
        price=row["price"].decimal(),
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=row.get("location").text_or_none(),
        availability=availability,
        availability_text=availability_text,
        available_count=free,
        note=f"supplier: {supplier}" if supplier else None,
        place=row.place,
    )


def _plan_code(row: At) -> str | None:
    """What the source calls the configuration, such as "8H100.80S.176V"; a bare number says nothing."""
    code = row.get("deploy_id").value
    return code.strip() if isinstance(code, str) and not code.strip().isdecimal() else None


def _stock(row: At) -> tuple[Availability, str, int | None]:
    free = row.get("available_replicas").integer_or_none()
    if row["sold_out"].flag():
        return "out_of_stock", "sold_out is true", free
    if free is None:
        return "in_stock", "sold_out is false", None
    return "in_stock" if free > 0 else "out_of_stock", f"{free} replicas", free


def _gigabytes(amount: At) -> Quantity | None:
    value = amount.decimal_or_none()
    return Quantity(value, "GB") if value else None
