"""Shadeform: one API that resells the machines of many clouds. It needs a key.

A type is a machine of one cloud, priced per machine and hour: `hourly_price` is in cents. An entry of
`availability` stands for one region; a spot entry has a price of its own, which is a text in dollars. So one record
holds both units, and they are told apart by their kind: a spot price that is a number, and a price of a type that is
a text or not whole, have no known unit, and raise. A region can be free for spot and taken on demand.

`cloud` is who is resold: it becomes `origin`, by the id that this project has for it. A type without any region is
kept, and its stock is not known. Types without a GPU are not read.

The documentation of 2026-06 has the specification in `configuration`; answers of 2026-09 were seen with the same
fields beside the price. Both are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="shadeform",
    name="Shadeform",
    segment="reseller",
    homepage="https://www.shadeform.ai/",
    pricing_url="https://www.shadeform.ai/",
    requests=(),
    keyed_requests=(Request("types", "https://api.shadeform.ai/v1/instances/types"),),
    auth=Auth("SHADEFORM_API_KEY", header="X-API-KEY", template="{key}"),
    allowed_hosts=("api.shadeform.ai",),
    terms="unknown",
    terms_url="https://docs.shadeform.ai/",
    terms_note="terms not read; the documented API, one request a night",
    terms_reviewed_on=date(2026, 9, 1),
    last_proof="2026-09: answer recorded and parsed",
    min_listings=40,
)

# As Shadeform spells a cloud, where the id here is another one.
CLOUDS = {
    "datacrunch": "verda",
    "hotaisle": "hot_aisle",
    "lambdalabs": "lambda",
    "latitude": "latitude_sh",
    "massedcompute": "massed_compute",
}
KINDS: dict[str, PurchaseKind] = {"on_demand": "on_demand", "spot": "spot"}


def parse(payload: Payload) -> list[Listing]:
    """One listing for each region of a type, and one for a type without regions.

    Raises:
        PayloadShapeError: A field is missing, a price is of neither unit, or no type has a GPU.
    """
    top = At(payload.part, read_json(payload))
    types = top if isinstance(top.value, list) else top["instance_types"]
    listings = [listing for kind in types for listing in _listings(kind)]
    if not listings:
        raise types.broken("no type with a GPU")
    return listings


def _listings(kind: At) -> Iterator[Listing]:
    specs = kind.get("configuration") or kind
    if specs["num_gpus"].decimal() == 0:
        return
    regions = list(kind["availability"])
    for region in regions:
        yield _listing(kind, specs, region)
    if not regions:
        yield _listing(kind, specs, None)


def _listing(kind: At, specs: At, region: At | None) -> Listing:
    cloud = kind["cloud"].text()
    is_free = region["available"].flag() if region else None
    return Listing(
        provider="shadeform",
        origin=CLOUDS.get(cloud.lower(), cloud.lower()),
        product=kind.get("deployment_type").text_or_none(),
        plan=kind.get("cloud_instance_type").text_or_none() or kind["shade_instance_type"].text(),
        gpu_text=specs["gpu_type"].text(),
        gpu_count=specs["num_gpus"].decimal(),
        gpu_memory=_gigabytes(specs, "vram_per_gpu_in_gb"),
        form_factor_text=specs.get("interconnect").text_or_none(),
        link_text="NVLink" if specs.get("nvlink").value is True else None,
        vcpus=specs.get("vcpus").decimal_or_none(),
        ram=_gigabytes(specs, "memory_in_gb"),
        disk=_gigabytes(specs, "storage_in_gb"),
        price=_price(kind, region),
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase=_purchase(region),
        region_text=region["region"].text() if region else None,
        availability="unknown" if is_free is None else "in_stock" if is_free else "out_of_stock",
        availability_text="no regions" if is_free is None else f"available: {str(is_free).lower()}",
        place=region.place if region else kind.place,
    )


def _purchase(region: At | None) -> PurchaseKind:
    rental = region.get("rental_type") if region else None
    name = rental.text_or_none() if rental else None
    if rental and name and name not in KINDS:
        raise rental.broken(f"{name!r} is none of {', '.join(KINDS)}")
    return KINDS[name] if name else "on_demand"


def _price(kind: At, region: At | None) -> Decimal | None:
    """The price in dollars: that of the region, a text in dollars, or that of the type in cents."""
    own = region.get("hourly_price") if region else None
    if own is not None and own.value is not None:
        if not isinstance(own.value, str):
            raise own.broken("a number where a text in dollars is due, so its unit is not known")
        return own.decimal()
    if region and _purchase(region) == "spot":
        return None
    whole = kind["hourly_price"]
    if isinstance(whole.value, str):
        raise whole.broken("a text where a number of cents is due, so its unit is not known")
    cents = whole.integer_or_none()
    return None if cents is None else Decimal(cents) / 100


def _gigabytes(specs: At, key: str) -> Quantity | None:
    amount = specs.get(key).decimal_or_none()
    return None if amount is None else Quantity(amount, "GB")
