"""Akamai Cloud, formerly Linode: GPU plans, through the open list of types.

`price.hourly` is per plan; `region_prices` overrides it in some regions, each a listing of its own. The listing
without a region is the price in all other regions. `gpus` counts the cards, whose name stands only in the id and
in the label, there after the plan's RAM: "Dedicated 96GB + RTX6000 GPU x3". Memory and disk are in MiB: the plan
of 32 GB has 32768. The monthly price is a cap of the hourly one and no second price. The GPU class has been seen
with a base price of 0: it is said as it stands.

Three more kinds of answer are told apart by their content: the stock (region, plan, available), which holds the
plans without a GPU too; the price of block storage (`monthly` is per GB and month); and that of traffic beyond what a
plan includes, where the field `hourly` is per GB: no hour is in it. All lists declare how many rows they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import urlsplit

from scrapers.contract import Extra, Listing, PageCount, Payload, Quantity, Record, Request, Source, Stock
from scrapers.readers import At, read_json

TYPES = "https://api.linode.com/v4/linode/types"
STOCK = "https://api.linode.com/v4/regions/availability"
VOLUMES = "https://api.linode.com/v4/volumes/types"
TRAFFIC = "https://api.linode.com/v4/network-transfer/prices"
ADDRESSES = {"types": TYPES, "stock": STOCK, "volumes": VOLUMES, "traffic": TRAFFIC}


def _page(kind: str, page: int) -> Request:
    return Request(f"{kind}-{page}", f"{ADDRESSES[kind]}?page={page}&page_size=500")


SOURCE = Source(
    id="linode",
    provider="akamai_linode",
    name="Akamai Cloud (Linode)",
    segment="neocloud",
    homepage="https://www.linode.com/",
    pricing_url="https://www.linode.com/pricing/",
    requests=tuple(_page(kind, 1) for kind in ADDRESSES),
    allowed_hosts=("api.linode.com",),
    terms="unknown",
    terms_url="https://www.linode.com/",
    terms_note="types and regions are open API calls; terms not read",
    terms_reviewed_on=date(2026, 9, 17),
    last_proof="2024-07-19: list of types recorded and parsed, as the stock of 2025-11-06",
    min_listings=4,
    billing_increment_s=3600,
    billing_minimum_s=3600,
    billing_source="https://www.linode.com/pricing/",
)


def parse(payload: Payload) -> Iterator[Record]:
    """Listings of the GPU types, the stock of all plans, or prices of disks or traffic; and the count of rows."""
    top = At(payload.part, read_json(payload))
    rows = list(top["data"])
    if not rows:
        raise top["data"].broken("no rows")
    kind = _kind(rows)
    yield PageCount(list_name=kind, declared=top["results"].integer(), rows=len(rows), place="results")
    for row in rows:
        if kind == "stock":
            yield _stock(row)
        elif kind != "types":
            yield from _extras(row)
        elif row["gpus"].integer():
            yield _listing(row, None, row["price"]["hourly"].decimal())
            for override in row["region_prices"]:
                yield _listing(row, override["id"].text(), override["hourly"].decimal())


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, where there is one."""
    top = At(payload.part, read_json(payload))
    page = top["page"].integer()
    if page < top["pages"].integer():
        path = urlsplit(payload.url).path
        kinds = [kind for kind, address in ADDRESSES.items() if urlsplit(address).path == path]
        yield _page(kinds[0] if kinds else "types", page + 1)


def _kind(rows: list[At]) -> str:
    """Which list a page is of; the pages of a list are alike."""
    if any("available" in row for row in rows):
        return "stock"
    names = [row["id"].text() for row in rows]
    return "volumes" if "volume" in names else "traffic" if "network_transfer" in names else "types"


def _extras(row: At) -> Iterator[Extra]:
    """The price of a GB and month of a disk, or of a GB of traffic, in all regions and in those that differ."""
    is_disk = row["id"].text() == "volume"
    if not is_disk and row["id"].text() != "network_transfer":
        return
    for price in (row["price"], *row["region_prices"]):
        yield Extra(
            provider="akamai_linode",
            kind="storage" if is_disk else "egress",
            name=row["label"].text(),
            price=price["monthly" if is_disk else "hourly"].decimal(),
            currency="USD",
            per="gb_month" if is_disk else "gb",
            region_text=price.get("id").text_or_none(),
            place=price.place,
        )


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
