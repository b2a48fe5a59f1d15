"""Prime Intellect: an API that resells the machines of many clouds. It needs a key.

An entry is one configuration of `gpuCount` GPUs at one cloud (`provider`) in one data centre, priced per hour for the
whole configuration: `prices.onDemand`, and `prices.communityPrice` for machines of the community. The price mostly
leaves the disk out; `disk.pricePerUnit` is in USD per GB and hour, and stands in the note.
`gpuMemory` is of one GPU. `isSpot` makes it a spot price. `stockStatus` is a level. `prepaidTime` is paid in advance.

`cloudId` is what the cloud calls the machine and can point at a single host, so it is not kept: the plan is the
count, the GPU and the socket, and entries that then look alike are one offer.

The list has pages, and each declares how many entries there are in all. The sample prices on the web site are
marketing numbers, and are not read.

Shape: as recorded by the provider's own command line tool on 2025-11-16.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

from scrapers.contract import Auth, Availability, Listing, PageCount, Payload, Quantity, Request, Source
from scrapers.readers import At, number, read_json

URL = "https://api.primeintellect.ai/api/v1/availability/gpus?page={page}&page_size=100"
PAGE_SIZE = 100

SOURCE = Source(
    id="prime_intellect",
    name="Prime Intellect",
    segment="reseller",
    homepage="https://www.primeintellect.ai/",
    pricing_url="https://www.primeintellect.ai/",
    requests=(),
    keyed_requests=(Request("gpus_1", URL.format(page=1)),),
    auth=Auth("PRIME_API_KEY"),
    allowed_hosts=("api.primeintellect.ai",),
    terms="unknown",
    terms_url="https://www.primeintellect.ai/",
    terms_note="terms not read; the documented API, a few pages a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2025-11-16: answer recorded and parsed",
    min_listings=50,
)

# As Prime Intellect spells a cloud, where the id here is another one.
CLOUDS = {
    "crusoecloud": "crusoe",
    "datacrunch": "verda",
    "hotaisle": "hot_aisle",
    "lambdalabs": "lambda",
    "latitude": "latitude_sh",
    "massedcompute": "massed_compute",
}
STOCK: dict[str, Availability] = {
    "available": "in_stock",
    "high": "in_stock",
    "medium": "in_stock",
    "low": "low",
    "unavailable": "out_of_stock",
}


def parse(payload: Payload) -> Iterator[Listing | PageCount]:
    """The configurations of a page, and how many the list has.

    Raises:
        PayloadShapeError: A field is missing, or the page is empty.
    """
    answer = At(payload.part, read_json(payload))
    items = answer["items"]
    if not len(items):
        raise items.broken("an empty page")
    yield PageCount(
        list_name="gpus", declared=answer["totalCount"].integer(), rows=len(items), place="totalCount"
    )
    for item in items:
        yield from _listings(item)


def follow(payload: Payload) -> list[Request]:
    """The next page, while the list has more entries than the pages so far can hold."""
    asked = number(parse_qs(urlsplit(payload.url).query).get("page", ["1"])[0])
    page = int(asked) if asked is not None and asked >= 1 else 1
    answer = At(payload.part, read_json(payload))
    if page * PAGE_SIZE >= answer["totalCount"].integer():
        return []
    return [Request(f"gpus_{page + 1}", URL.format(page=page + 1))]


def _listings(item: At) -> Iterator[Listing]:
    """One listing for each price that is stated; one without a price where none is."""
    prices = item["prices"]
    on_demand = prices.get("onDemand").decimal_or_none()
    community = prices.get("communityPrice").decimal_or_none()
    if community is not None:
        yield _listing(item, "community_cloud", community)
    if on_demand is not None or community is None:
        yield _listing(item, item.get("security").text_or_none(), on_demand)


def _listing(item: At, product: str | None, price: Decimal | None) -> Listing:
    cloud = item["provider"].text().lower()
    gpu, socket = item["gpuType"].text(), item.get("socket").text_or_none()
    gpu_count = item["gpuCount"].decimal()
    stock = item.get("stockStatus").text_or_none()
    return Listing(
        provider="prime_intellect",
        origin=CLOUDS.get(cloud, cloud),
        product=product,
        plan=" ".join(filter(None, (f"{gpu_count}x", gpu, socket))),
        gpu_text=gpu,
        gpu_count=gpu_count,
        gpu_memory=_gigabytes(item.get("gpuMemory")),
        form_factor_text=socket,
        fabric_text=_fabric(item),
        vcpus=_default(item, "vcpu").decimal_or_none(),
        ram=_gigabytes(_default(item, "memory")),
        price=price,
        currency=item["prices"]["currency"].text(),
        price_per="instance",
        price_unit="hour",
        purchase="spot" if item["isSpot"].value is True else "on_demand",
        region_text=item.get("country").text_or_none() or item.get("region").text_or_none(),
        zone_text=item.get("dataCenter").text_or_none(),
        availability=STOCK.get(stock.lower(), "unknown") if stock else "unknown",
        availability_text=stock,
        note="; ".join(_notes(item)) or None,
        place=item.place,
    )


def _default(item: At, key: str) -> At:
    part = item.get(key)
    return part.get("defaultCount") if part else part


def _gigabytes(amount: At) -> Quantity | None:
    value = amount.decimal_or_none()
    return None if value is None else Quantity(value, "GB")


def _fabric(item: At) -> str | None:
    kind, speed = item.get("interconnectType").text_or_none(), item.get("interconnect").decimal_or_none()
    words = [f"{speed} Gbps" if speed is not None else None, kind]
    return " ".join(filter(None, words)) or None


def _notes(item: At) -> Iterator[str]:
    disk = item.get("disk")
    price = disk.get("pricePerUnit").decimal_or_none() if disk else None
    if price is not None:
        is_included = disk.get("defaultIncludedInPrice").value is True
        yield f"disk {price} USD per GB-hour, {'default size included' if is_included else 'not included'}"
    if item["prices"].get("isVariable").value is True:
        yield "the price is variable"
    if (prepaid := item.get("prepaidTime").decimal_or_none()) is not None:
        yield f"prepaid time {prepaid}"
