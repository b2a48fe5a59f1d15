"""Akamai Cloud, formerly Linode: GPU plans, through the open list of types.

`price.hourly` is per plan; `region_prices` overrides it in some regions, each a listing of its own. The listing
without a region is the price in all other regions. `gpus` counts the cards, whose name stands only in the id and
in the label, there after the plan's RAM: "Dedicated 96GB + RTX6000 GPU x3". Memory and disk are in MiB: the plan
of 32 GB has 32768. The monthly price is a cap of the hourly one and no second price. The GPU class has been seen
with a base price of 0: it is said as it stands.

The second kind of answer, told apart by its content, is the stock: region, plan, available. It holds the plans
without a GPU too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import urlsplit

from scrapers.contract import Listing, Payload, Quantity, Request, Source, Stock
from scrapers.readers import At, read_json

TYPES = "https://api.linode.com/v4/linode/types"
STOCK = "https://api.linode.com/v4/regions/availability"


def _page(kind: str, url: str, page: int) -> Request:
    return Request(f"{kind}-{page}", f"{url}?page={page}&page_size=500")


SOURCE = Source(
    id="linode",
    name="Akamai Cloud (Linode)",
    segment="neocloud",
    homepage="https://www.linode.com/",
    pricing_url="https://www.linode.com/pricing/",
    requests=(_page("types", TYPES, 1), _page("stock", STOCK, 1)),
    allowed_hosts=("api.linode.com",),
    terms="unknown",
    terms_url="https://www.linode.com/",
    terms_note="types and regions are open API calls; terms not read",
    terms_reviewed_on=date(2026, 9, 17),
    min_listings=4,
    billing_increment_s=3600,
    billing_minimum_s=3600,
    billing_source="https://www.linode.com/pricing/",
)


def parse(payload: Payload) -> Iterator[Listing | Stock]:
    """Listings of the GPU types, or the stock of all plans."""
    for row in At(payload.part, read_json(payload))["data"]:
        if "available" in row:
            yield _stock(row)
        elif row["gpus"].integer():
            yield _listing(row, None, row["price"]["hourly"].decimal())
            for override in row["region_prices"]:
                yield _listing(row, override["id"].text(), override["hourly"].decimal())


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, where there is one."""
    top = At(payload.part, read_json(payload))
    page = top["page"].integer()
    if page < top["pages"].integer():
        is_stock = urlsplit(payload.url).path == urlsplit(STOCK).path
        yield _page("stock", STOCK, page + 1) if is_stock else _page("types", TYPES, page + 1)


def _listing(row: At, region: str | None, price: Decimal) -> Listing:
    return Listing(
        provider="akamai_linode",
        product="gpu_plans",
        plan=row["id"].text(),
        gpu_text=row["label"].text().rpartition(" + ")[2],
        gpu_count=row["gpus"].decimal(),
        vcpus=row["vcpus"].decimal(),
        ram=Quantity(row["memory"].decimal(), "MiB"),
        disk=Quantity(row["disk"].decimal(), "MiB"),
        price=price,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=region,
        place=row.place,
    )


def _stock(row: At) -> Stock:
    is_available = row["available"].flag()
    return Stock(
        provider="akamai_linode",
        plan=row["plan"].text(),
        region_text=row["region"].text(),
        availability="in_stock" if is_available else "out_of_stock",
        availability_text=f"available is {str(is_available).lower()}",
        place=row.place,
    )
