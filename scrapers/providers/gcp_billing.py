"""Google Compute Engine, from Google's own price list: the SKUs of the Cloud Billing Catalog. It needs an API key.

A SKU is the price of one part, in some regions and of one kind of use (OnDemand, Preemptible, Commit1Yr,
Commit3Yr): a core and a GPU per hour ("h"), memory per GiB and hour ("GiBy.h"), local SSD per GiB and month of 730
hours ("GiBy.mo"). The price is that of the last step of `tieredRates`, as `units` (text) and `nanos`. What a machine
costs is the sum of its parts, which lie on different pages of the list, so all pages are parsed together. Plans and
regions have the names of the mirror `gcp`, so that both can be compared row by row.

* The parts of a SKU are known by its description, taken whole: "A2 Instance Core running in Americas", "Spot
  Preemptible A2 Instance Ram running in ...", "Nvidia L4 GPU attached to Spot Preemptible VMs running in ...",
  "Commitment v1: A3 Cpu in ... for 1 Year". So Custom, Sole Tenancy, Reserved, Calendar Mode, DWS Defined Duration
  and Virtual Workstation SKUs, which look alike, are left out. A3 Mega has cores and memory of its own, "A3Plus".
* A machine is listed where its GPU is. Where another part of it has no price there, or two, it has none.
* The machines are a table below: no SKU says what a machine is made of. Of A3 Ultra, A4 and A4X no SKU has been
  read, and they are not in it.
* A3 High below eight GPUs has SKUs for on demand, but Google does not sell it so: "listed_only".

Shape of the answer as recorded by OpenCost (2023); descriptions as two public projects had them in 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from scrapers.contract import Auth, Extra, Listing, Payload, PurchaseKind, Quantity, Record, Request, Source
from scrapers.readers import At, read_json

SKUS = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
QUESTION = {"pageSize": "5000", "currencyCode": "USD"}

SOURCE = Source(
    id="gcp_billing",
    provider="gcp",
    name="Google Compute Engine (billing catalog)",
    segment="hyperscaler",
    homepage="https://cloud.google.com/",
    pricing_url="https://cloud.google.com/compute/gpus-pricing",
    requests=(),
    keyed_requests=(Request("skus_1", f"{SKUS}?{urlencode(QUESTION)}"),),
    auth=Auth(env="GCP_API_KEY", header="X-Goog-Api-Key", template="{key}"),
    allowed_hosts=("cloudbilling.googleapis.com",),
    terms="open",
    terms_url="https://cloud.google.com/billing/docs/reference/pricing-api",
    terms_note="The Cloud Billing Catalog API is documented for this; it needs a free key.",
    terms_reviewed_on=date(2026, 7, 30),
    last_proof="2023-08-14: page of the catalog recorded and parsed; names of 2026 as others read them",
    min_listings=500,
    billing_increment_s=1,
    billing_minimum_s=60,
    billing_source="https://cloud.google.com/compute/gpus-pricing",
)


class Machine(NamedTuple):
    """What a machine type is made of."""

    plan: str
    family: str
    gpu: str
    gpus: str
    cores: int
    ram_gib: int
    ssd_gib: int


# https://cloud.google.com/compute/docs/accelerator-optimized-machines, as the mirror had it on 2026-07-30.
MACHINES = (
    Machine("a2-highgpu-1g", "a2", "a100", "1", 12, 85, 0),
    Machine("a2-highgpu-2g", "a2", "a100", "2", 24, 170, 0),
    Machine("a2-highgpu-4g", "a2", "a100", "4", 48, 340, 0),
    Machine("a2-highgpu-8g", "a2", "a100", "8", 96, 680, 0),
    Machine("a2-megagpu-16g", "a2", "a100", "16", 96, 1360, 0),
    Machine("a2-ultragpu-1g", "a2", "a100-80gb", "1", 12, 170, 375),
    Machine("a2-ultragpu-2g", "a2", "a100-80gb", "2", 24, 340, 750),
    Machine("a2-ultragpu-4g", "a2", "a100-80gb", "4", 48, 680, 1500),
    Machine("a2-ultragpu-8g", "a2", "a100-80gb", "8", 96, 1360, 3000),
    Machine("a3-highgpu-1g", "a3", "h100-80gb", "1", 26, 234, 750),
    Machine("a3-highgpu-2g", "a3", "h100-80gb", "2", 52, 468, 1500),
    Machine("a3-highgpu-4g", "a3", "h100-80gb", "4", 104, 936, 3000),
    Machine("a3-highgpu-8g", "a3", "h100-80gb", "8", 208, 1872, 6000),
    Machine("a3-megagpu-8g", "a3plus", "h100-80gb-mega", "8", 208, 1872, 6000),
    Machine("g2-standard-4", "g2", "l4", "1", 4, 16, 0),
    Machine("g2-standard-8", "g2", "l4", "1", 8, 32, 0),
    Machine("g2-standard-12", "g2", "l4", "1", 12, 48, 0),
    Machine("g2-standard-16", "g2", "l4", "1", 16, 64, 0),
    Machine("g2-standard-24", "g2", "l4", "2", 24, 96, 0),
    Machine("g2-standard-32", "g2", "l4", "1", 32, 128, 0),
    Machine("g2-standard-48", "g2", "l4", "4", 48, 192, 0),
    Machine("g2-standard-96", "g2", "l4", "8", 96, 384, 0),
    Machine("g4-standard-6", "g4", "RTX 6000 96GB", "0.125", 6, 22, 0),
    Machine("g4-standard-12", "g4", "RTX 6000 96GB", "0.25", 12, 45, 0),
    Machine("g4-standard-24", "g4", "RTX 6000 96GB", "0.5", 24, 90, 0),
    Machine("g4-standard-48", "g4", "RTX 6000 96GB", "1", 48, 180, 0),
    Machine("g4-standard-96", "g4", "RTX 6000 96GB", "2", 96, 360, 0),
    Machine("g4-standard-192", "g4", "RTX 6000 96GB", "4", 192, 720, 0),
    Machine("g4-standard-384", "g4", "RTX 6000 96GB", "8", 384, 1440, 0),
)
NOT_ON_DEMAND = re.compile(r"a3-highgpu-[124]g")
FAMILIES = {"A2": "a2", "A3": "a3", "A3Plus": "a3plus", "G2": "g2", "G4": "g4"}
GPUS = {
    "Nvidia Tesla A100 GPU": "a100",
    "Nvidia Tesla A100 80GB GPU": "a100-80gb",
    "Nvidia H100 80GB GPU": "h100-80gb",
    "Nvidia H100 80GB Mega GPU": "h100-80gb-mega",
    "Nvidia L4 GPU": "l4",
    "RTX 6000 96GB": "RTX 6000 96GB",
}
# What a SKU is a price of, by the words of its description that name neither place nor use.
PARTS = (
    {f"{name} Instance Core": ("core", family) for name, family in FAMILIES.items()}
    | {f"{name} Cpu": ("core", family) for name, family in FAMILIES.items()}
    | {f"{name} Instance Ram": ("ram", family) for name, family in FAMILIES.items()}
    | {f"{name} Ram": ("ram", family) for name, family in FAMILIES.items()}
    | {name: ("gpu", gpu) for name, gpu in GPUS.items()}
    | {"SSD backed Local Storage": ("ssd", ""), "Local SSD": ("ssd", "")}
)
UNITS = {"core": "h", "gpu": "h", "ram": "GiBy.h", "ssd": "GiBy.mo"}
HOURS_PER_MONTH = 730
USES: dict[str, tuple[PurchaseKind, int | None, re.Pattern[str]]] = {
    "OnDemand": ("on_demand", None, re.compile(r"(.{1,60}?)(?: running)?(?: in .+)?")),
    "Preemptible": (
        "spot",
        None,
        re.compile(
            r"(?:Spot Preemptible )?(.{1,60}?)(?: attached to Spot Preemptible VMs)?(?: running)?(?: in .+)?"
        ),
    ),
    "Commit1Yr": ("reserved", 12, re.compile(r"Commitment v1: (.{1,60}?)(?: running)? in .+ for 1 Year")),
    "Commit3Yr": ("reserved", 36, re.compile(r"Commitment v1: (.{1,60}?)(?: running)? in .+ for 3 Years?")),
}
DISK = re.compile(r"Balanced PD Capacity(?: in .+)?")


@dataclass(frozen=True, slots=True)
class Part:
    """The price of one part per hour, and the SKU it stands in."""

    price: Decimal
    currency: str
    payload: Payload
    place: str


Key = tuple[str, str, str, str]  # kind, name, kind of use, region
Prices = dict[Key, dict[tuple[Decimal, str], Part]]


def parse(payload: Payload) -> Iterator[Record]:
    """The machines whose parts all stand on one page. A night has many pages: see `parse_together`."""
    return (record for _, record in parse_together([payload]))


def parse_together(payloads: Sequence[Payload]) -> Iterator[tuple[Payload, Record]]:
    """The machines of all pages, each with the page that its GPU stands on, and the disks.

    Raises:
        PayloadShapeError: A page without `skus`, a SKU of a part without price, unit or region, or no machine.
    """
    prices: Prices = {}
    disks: list[tuple[Payload, Extra]] = []
    for payload in payloads:
        for sku in At(payload.part, read_json(payload))["skus"]:
            _collect(prices, payload, sku)
            disks += [(payload, disk) for disk in _disks(sku)]
    machines = list(_machines(prices))
    if not machines:
        raise At(payloads[0].part if payloads else "skus", None, "skus").broken(
            "no GPU of a machine that is known"
        )
    yield from machines
    yield from disks


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, where there is one.

    Raises:
        PayloadShapeError: The token of the next page is none, or the one of this page.
    """
    token = At(payload.part, read_json(payload)).get("nextPageToken")
    if token.text_or_none() is None:
        return
    asked = parse_qs(urlsplit(payload.url).query).get("pageToken", [""])[0]
    if not re.fullmatch(r"[\w+/=.-]{1,2000}", token.text()) or token.text() == asked:
        raise token.broken(f"{token.text()[:40]!r} leads to no further page")
    number = re.search(r"_(\d{1,4})$", payload.part)
    query = urlencode(QUESTION | {"pageToken": token.text()})
    yield Request(f"skus_{int(number[1]) + 1 if number else 2}", f"{SKUS}?{query}")


def _collect(prices: Prices, payload: Payload, sku: At) -> None:
    """Adds the price of a SKU, where it is one of a part that is known."""
    use = sku["category"]["usageType"].text()
    found = USES[use][2].fullmatch(sku["description"].text()) if use in USES else None
    part = PARTS.get(found[1]) if found else None
    if part is None:
        return
    kind, name = part
    amount, currency = _price(sku, UNITS[kind])
    price = amount / HOURS_PER_MONTH if kind == "ssd" else amount
    for region in sku["serviceRegions"]:
        of_part = prices.setdefault((kind, name, use, region.text()), {})
        of_part[price, currency] = Part(price, currency, payload, sku.place)


def _price(sku: At, unit: str) -> tuple[Decimal, str]:
    """The price of the last step, and its currency."""
    expression = sku["pricingInfo"][0]["pricingExpression"]
    if expression["usageUnit"].text() != unit:
        raise expression["usageUnit"].broken(f"{expression['usageUnit'].text()[:20]!r} is not {unit!r}")
    rates = list(expression["tieredRates"])
    if not rates:
        raise expression["tieredRates"].broken("no step")
    price = rates[-1]["unitPrice"]
    nanos = price.get("nanos").decimal_or_none() or Decimal(0)
    return price["units"].decimal() + nanos / 10**9, price["currencyCode"].text()


def _disks(sku: At) -> Iterator[Extra]:
    """A GiB and month of a balanced persistent disk, in each region of a SKU."""
    is_disk = DISK.fullmatch(sku["description"].text())
    if not is_disk or sku["category"]["usageType"].text() != "OnDemand":
        return
    price, currency = _price(sku, "GiBy.mo")
    for region in sku["serviceRegions"]:
        yield Extra(
            provider="gcp",
            kind="storage",
            name="balanced persistent disk",
            price=price,
            currency=currency,
            per="gib_month",
            region_text=region.text(),
            place=sku.place,
        )


def _machines(prices: Prices) -> Iterator[tuple[Payload, Listing]]:
    """Every machine in every region and kind of use in which its GPU has a price."""
    for kind, gpu, use, region in list(prices):
        for machine in MACHINES if kind == "gpu" else ():
            if machine.gpu == gpu:
                yield _machine(prices, machine, use, region)


def _rounded(total: Decimal) -> Decimal:
    """A sum with the digits that a price has; the share of a month has no end of them."""
    return round(total, 10) if total < 10**12 else total


def _machine(prices: Prices, machine: Machine, use: str, region: str) -> tuple[Payload, Listing]:
    amounts = {
        ("gpu", machine.gpu): Decimal(machine.gpus),
        ("core", machine.family): Decimal(machine.cores),
        ("ram", machine.family): Decimal(machine.ram_gib),
        ("ssd", ""): Decimal(machine.ssd_gib),
    }
    found = {
        part: list(prices.get((*part, use, region), {}).values())
        for part, amount in amounts.items()
        if amount
    }
    unclear = [kind for (kind, _), parts in found.items() if len(parts) != 1]
    currencies = {part.currency for parts in found.values() for part in parts}
    total = sum((amounts[part] * parts[0].price for part, parts in found.items() if parts), Decimal(0))
    gpu = found["gpu", machine.gpu][0]
    is_unclear = bool(unclear) or len(currencies) > 1
    purchase, term_months, _ = USES[use]
    is_sum_only = use == "OnDemand" and bool(NOT_ON_DEMAND.fullmatch(machine.plan))
    note = "sum of its parts; Google does not sell this type on demand" if is_sum_only else None
    listing = Listing(
        provider="gcp",
        plan=machine.plan,
        gpu_text=machine.gpu,
        gpu_count=Decimal(machine.gpus),
        vcpus=Decimal(machine.cores),
        ram=Quantity(Decimal(machine.ram_gib), "GiB"),
        disk=Quantity(Decimal(machine.ssd_gib), "GiB") if machine.ssd_gib else None,
        price=None if is_unclear else _rounded(total),
        currency=gpu.currency,
        price_per="instance",
        price_unit="hour",
        purchase=purchase,
        term_months=term_months,
        region_text=region,
        availability="listed_only" if is_sum_only else "unknown",
        note=f"not one price of its {' and '.join(unclear) or 'parts in one currency'}"
        if is_unclear
        else note,
        place=gpu.place,
    )
    return gpu.payload, listing
