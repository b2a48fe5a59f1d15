"""Sesterce, a reseller: the book of offers of its console page, or with a key the same offers through its API.

`hourlyPrice` is in USD for the whole machine; no field names the currency, the console shows dollars. `vRamGB` is the
VRAM of all GPUs together. An offer has a list of regions, each with whether it can be had there: every region is a
listing. Offers with no GPU (gpuCount 0) are CPU machines and are left out. `hourlySpotPrice` counts only where
`spotOfferAvailable` says so, and is 0 otherwise. `cloud.name` is a tag for the cloud behind it ("AZ_02").

The home page shows "from" prices that do not agree with the book; they are not read.

The page sends the offers along in the data of Next.js, under `filteredOffers`, which other parts of that text refer to
by paths with the same word. Shape of both as read by collectors on 2026-08-25 and in 2026; no answer was recorded here.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Availability, Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.flight import flight
from scrapers.readers import At, decode, embedded_json, read_json

SOURCE = Source(
    id="sesterce",
    name="Sesterce",
    segment="reseller",
    homepage="https://www.sesterce.com/",
    pricing_url="https://cloud.sesterce.com/compute",
    requests=(Request("compute", "https://cloud.sesterce.com/compute"),),
    keyed_requests=(Request("offers", "https://api.cloud.sesterce.com/gpu-cloud/instances/offers"),),
    auth=Auth("SESTERCE_API_KEY", header="X-API-KEY", template="{key}"),
    allowed_hosts=("cloud.sesterce.com", "api.cloud.sesterce.com"),
    terms="unknown",
    terms_url="https://www.sesterce.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-08-25: read by the code of collectors; no answer recorded",
    min_listings=10,
)

OFFERS = '"filteredOffers":'


def parse(payload: Payload) -> list[Listing]:
    """One listing for each offer with a GPU, region and way to buy it.

    Raises:
        PayloadShapeError: No list of offers, a field is missing or of another kind, or no offer has a GPU.
    """
    if decode(payload).lstrip().startswith(("[", "{")):
        offers = At(payload.part, read_json(payload), "offers")
    else:
        offers = At(payload.part, embedded_json(payload.part, flight(payload), OFFERS), "filteredOffers")
    listings = [listing for offer in offers for listing in _listings(offer)]
    if not listings:
        raise offers.broken("no offer with a GPU")
    return listings


def _listings(offer: At) -> Iterator[Listing]:
    count = offer["gpuCount"].integer()
    if count < 1:
        return
    prices: list[tuple[PurchaseKind, Decimal]] = [("on_demand", offer["hourlyPrice"].decimal())]
    if offer.get("spotOfferAvailable") and offer["spotOfferAvailable"].flag():
        prices.append(("spot", offer["hourlySpotPrice"].decimal()))
    for purchase, price in prices:
        regions = list(offer["availability"])
        for region in regions:
            state: Availability = "in_stock" if region["available"].flag() else "out_of_stock"
            yield _listing(offer, count, purchase, price, region["region"].text(), state, region.place)
        if not regions:
            yield _listing(offer, count, purchase, price, None, "unknown", offer.place)


def _listing(
    offer: At,
    count: int,
    purchase: PurchaseKind,
    price: Decimal,
    region: str | None,
    state: Availability,
    place: str,
) -> Listing:
    machine, cloud = offer["configuration"], offer.get("cloud")
    is_linked = offer.get("nvlink")
    name = cloud.get("name").text_or_none() if cloud else None
    return Listing(
        provider="sesterce",
        product=offer["deploymentType"].text(),
        plan=offer["instanceId"].text(),
        gpu_text=offer["gpuName"].text(),
        gpu_count=Decimal(count),
        gpu_memory=_gigabytes(machine.get("vRamGB")),
        gpu_memory_is_total=True,
        form_factor_text=machine.get("interconnect").text_or_none(),
        link_text="NVLink" if is_linked and is_linked.flag() else None,
        vcpus=machine.get("vCpu").decimal_or_none(),
        ram=_gigabytes(machine.get("ramGB")),
        disk=_gigabytes(machine.get("storageGB")),
        price=price,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase=purchase,
        region_text=region,
        availability=state,
        availability_text=None if state == "unknown" else f"available: {state == 'in_stock'}",
        origin=name.lower() if name else None,
        place=place,
    )


def _gigabytes(field: At) -> Quantity | None:
    amount = field.decimal_or_none()
    return None if amount is None else Quantity(amount, "GB")
