"""Oblivus: virtual machines with 1 to 8 GPUs, through its API, which needs a key.

`data.gpu` has one entry per flavour: `hourlyCost` is in USD per GPU, as text, and `configurations` are the sizes that
can be had, all at that price per GPU. The name says the memory and the form ("H100 80GB SXM5"). Memory and disks of
a machine are in GB, as texts; the root disk is the disk, the ephemeral one stays in the note. `1m`, `3m`, `12m` and
`36m` are commitments of so many months; whether they are prices or discounts, per GPU or not, is not documented, so
they are not read.

The second kind of answer is the stock: machines that can be had, by flavour and location. It knows the flavour, and
not the size: the flavour is the plan, and the size is told by the number of GPUs.

Shape as two collectors read it in 2025 and 2026; no answer of it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Listing, Payload, Quantity, Request, Source, Stock
from scrapers.readers import At, read_json

SOURCE = Source(
    id="oblivus",
    name="Oblivus",
    segment="neocloud",
    homepage="https://oblivus.com/",
    pricing_url="https://oblivus.com/pricing/",
    requests=(),
    keyed_requests=(
        Request("metadata", "https://api.oblivus.com/v2/cloud/metadata/"),
        Request("stock", "https://api.oblivus.com/v2/cloud/stock/list/"),
    ),
    auth=Auth("OBLIVUS_API_KEY", header="apiKey", template="{key}"),
    allowed_hosts=("api.oblivus.com",),
    terms="unknown",
    terms_url="https://oblivus.com/",
    terms_note="the API is documented for its customers; terms not read",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: read by the code of two collectors; no answer recorded",
    min_listings=1,
)


def parse(payload: Payload) -> Iterator[Listing | Stock]:
    """The sizes of each flavour, or the stock of each flavour by location."""
    flavours = At(payload.part, read_json(payload))["data"]["gpu"]
    if not len(flavours):
        raise flavours.broken("no GPU flavour")
    for name, flavour in flavours.items():
        if "hourlyCost" not in flavour:
            yield from _stock(name, flavour)
            continue
        for size in flavour["configurations"]:
            yield _listing(name, flavour, size)


def _listing(name: str, flavour: At, size: At) -> Listing:
    root, ephemeral = (_gigabytes(size.get(field)) for field in ("rootStorage", "ephemeralStorage"))
    return Listing(
        provider="oblivus",
        product="vm",
        plan=name,
        gpu_text=flavour["metaName"].text(),
        gpu_count=size["GPUAmount"].decimal(),
        vcpus=size["vCPU"].decimal(),
        ram=_gigabytes(size["RAM"]),
        disk=root,
        price=flavour["hourlyCost"].decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        note=f"ephemeral disk: {ephemeral.amount} GB" if ephemeral and ephemeral.amount else None,
        place=size.place,
    )


def _gigabytes(field: At) -> Quantity | None:
    amount: Decimal | None = field.decimal_or_none()
    return None if amount is None else Quantity(amount, "GB")


def _stock(name: str, locations: At) -> Iterator[Stock]:
    for location, row in locations.items():
        machines = row["virtualservers"].integer()
        yield Stock(
            provider="oblivus",
            plan=name,
            region_text=location,
            availability="in_stock" if machines > 0 else "out_of_stock",
            availability_text=f"virtualservers {machines}",
            place=row.place,
        )
