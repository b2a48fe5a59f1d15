"""Azure virtual machines: pages of the Retail Prices API, asked for GPU sizes (Standard_N*) of all regions at once,
for the capacity of a general disk, and for traffic to the internet.

A row is the price of one size in one region: pay-as-you-go and spot in USD per instance and hour, reservations as
the total of the whole term, although their `unitOfMeasure` says "1 Hour" too. No row says which GPU it has: the
size stands for it. Spot is told by a word in the names of meter and SKU only. Not a listing are

* look-alikes of a Linux machine: Windows, Cloud Services, dedicated hosts, Low Priority (retired in favour of
  spot), DevTest rates, rows without a size, and FPGA sizes (Standard_NP*);
* a second row of the same size, region, kind, term and price: one size can have two spellings of its meter, as
  "ND96amsr A100 v4" and "ND96amsrA100v4".

A spot meter can cost as much as pay-as-you-go, and a size that is not sold costs 0; both are passed on as said.
`savingsPlan` of a pay-as-you-go row holds what its hour costs under a plan of one or three years: each is a
listing of the product savings_plan, per hour and not a total.

Managed disks are sold in steps (P10 is 128 GiB), which no price per GB can say; Premium SSD v2 is sold by the GiB
and hour, and stands for a disk. Traffic is billed by steps of a month (`tierMinimumUnits` in GB) for each region a
machine is in; of its meters the one over Microsoft's own network ("Rtn Preference: MGN") is what a machine uses
unless another is chosen. Names of that meter as another project read them on 2026-09-24.

A recorded form keys the rows by "skuId|meterId|type|term" and has neither size nor currency; there, the name of
the SKU stands for the size, and the currency is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from scrapers.contract import Extra, Listing, Payload, PriceState, Record, Request, Source
from scrapers.readers import At, read_json

API_URL = "https://prices.azure.com/api/retail/prices"


DISK = ("Storage", "Azure Premium SSD v2", "Premium LRS Provisioned Capacity")
TRAFFIC = ("Bandwidth", "Rtn Preference: MGN", "Standard Data Transfer Out")


def _machines(part: str, price_type: str) -> Request:
    return _request(
        part,
        "serviceName eq 'Virtual Machines'",
        f"priceType eq '{price_type}'",
        "contains(armSkuName,'Standard_N')",
        "contains(productName,'Windows') eq false",
    )


def _meter(part: str, service: str, product: str, meter: str) -> Request:
    return _request(
        part,
        f"serviceName eq '{service}'",
        "priceType eq 'Consumption'",
        f"productName eq '{product}'",
        f"meterName eq '{meter}'",
    )


def _request(part: str, *conditions: str) -> Request:
    query = {
        "api-version": "2023-01-01-preview",
        "currencyCode": "'USD'",
        "$filter": " and ".join(conditions),
    }
    return Request(part, f"{API_URL}?{urlencode(query, quote_via=quote, safe='$')}")


SOURCE = Source(
    id="azure",
    name="Microsoft Azure Virtual Machines",
    segment="hyperscaler",
    homepage="https://azure.microsoft.com/",
    pricing_url="https://azure.microsoft.com/en-us/pricing/details/virtual-machines/linux/",
    requests=(
        _machines("consumption", "Consumption"),
        _machines("reservation", "Reservation"),
        _meter("disks", *DISK),
        _meter("traffic", *TRAFFIC),
    ),
    allowed_hosts=("prices.azure.com",),
    terms="open",
    terms_url="https://learn.microsoft.com/en-us/rest/api/cost-management/retail-prices/azure-retail-prices",
    terms_note="The Retail Prices API is documented for use without an account; the site terms were not read.",
    terms_reviewed_on=date(2026, 8, 21),
    last_proof="2026-07-27: page of the list recorded and parsed; rows of traffic not recorded",
    min_listings=300,
    # Many requests in a row are answered with 429 and no Retry-After.
    pace_s=3.0,
    billing_increment_s=1,
    billing_source="https://learn.microsoft.com/en-us/azure/virtual-machines/states-billing",
)

MACHINE = re.compile(r"(?:Standard_)?N[A-Z]*\d")
GPU_SIZE = re.compile(r"(?:Standard_)?N(?!P)[A-Z]*\d")
OTHER_PRODUCT = re.compile(r"Windows|Cloud ?Services|Dedicated")
TERM = re.compile(r"(\d{1,2}) Years?")


def parse(payload: Payload) -> Iterator[Record]:
    """The listings of one page, or what it says of disks or traffic.

    Raises:
        PayloadShapeError: No `Items`, rows of other things than machines, or a row without price, unit, region or
            term.
    """
    top = At(payload.part, read_json(payload))
    seen = set()
    rows = list(_rows(top))
    if rows and not any(_is_extra(row) or MACHINE.match(_size(row) or "") for row, _, _ in rows):
        raise top.broken(f"none of {len(rows)} rows is of a size N…, which is what was asked for")
    for row, price_type, term in rows:
        if _is_extra(row):
            if row["armRegionName"].text_or_none():  # a meter of no region is of no machine
                yield _extra(row)
            continue
        listing = _listing(row, price_type, term, payload)
        for each in (listing, *_savings_plans(row, listing)) if listing else ():
            identity = (
                each.product,
                each.plan,
                each.region_text,
                each.purchase,
                each.term_months,
                each.price,
                each.price_state,
            )
            if identity not in seen:
                seen.add(identity)
                yield each


def follow(payload: Payload) -> Iterator[Request]:
    """The next page, where there is one.

    Raises:
        PayloadShapeError: `NextPageLink` leaves the API or does not go forward.
    """
    link = At(payload.part, read_json(payload)).get("NextPageLink")
    url = link.text_or_none()
    if url is None:
        return
    target = urlsplit(url)
    if target.scheme != "https" or target.hostname not in SOURCE.allowed_hosts:
        raise link.broken(f"{url[:80]!r} is not a page of {API_URL}")
    skip = _skip(url)
    if skip <= _skip(payload.url):
        raise link.broken(f"$skip={skip} does not go forward")
    yield Request(f"{payload.part.partition('_')[0]}_{skip}", url)


def _skip(url: str) -> int:
    value = parse_qs(urlsplit(url).query).get("$skip", ["0"])[0]
    return int(value) if re.fullmatch(r"\d{1,9}", value) else 0


def _rows(top: At) -> Iterator[tuple[At, str, str | None]]:
    """Each row with its price type and its term."""
    if "Items" in top:
        for row in top["Items"]:
            yield row, row["type"].text(), row.get("reservationTerm").text_or_none()
        return
    keyed = list(top.items())
    if not keyed or any(key.count("|") != 3 for key, _ in keyed):
        raise top.broken("neither Items nor rows keyed by skuId|meterId|type|term")
    for key, row in keyed:
        _, _, price_type, term = key.split("|")
        yield row, price_type, term or None


def _listing(row: At, price_type: str, term: str | None, payload: Payload) -> Listing | None:
    """The listing of a row, or None where the row is not a Linux machine with a GPU."""
    sku, meter = row["skuName"].text(), row["meterName"].text()
    size = _size(row)
    if (
        price_type not in ("Consumption", "Reservation")
        or size is None
        or not GPU_SIZE.match(size)
        or OTHER_PRODUCT.search(row["productName"].text())
        or "Low Priority" in f"{sku} {meter}"
    ):
        return None
    if row["unitOfMeasure"].text() != "1 Hour":
        raise row["unitOfMeasure"].broken("is not '1 Hour'")
    is_reserved = price_type == "Reservation"
    is_spot = "Spot" in f"{sku} {meter}".split()
    state, valid_from = _start(row, payload)
    return Listing(
        provider="azure",
        plan=size,
        gpu_text=size,
        price=row["retailPrice"].decimal(),
        currency=row.get("currencyCode").text_or_none(),
        price_per="instance",
        price_unit="term" if is_reserved else "hour",
        price_state=state,
        valid_from=valid_from,
        purchase="reserved" if is_reserved else "spot" if is_spot else "on_demand",
        term_months=_months(At(row.part, term, f"{row.place}.reservationTerm")) if is_reserved else None,
        region_text=row["armRegionName"].text(),
        place=row.place,
    )


def _savings_plans(row: At, listing: Listing) -> Iterator[Listing]:
    """What an hour of a pay-as-you-go machine costs under the savings plans that its row names."""
    plans = row.get("savingsPlan")
    for plan in plans if plans and listing.purchase == "on_demand" else ():
        yield replace(
            listing,
            product="savings_plan",
            purchase="reserved",
            price=plan["retailPrice"].decimal(),
            term_months=_months(plan["term"]),
            place=plan.place,
        )


def _is_extra(row: At) -> bool:
    meter = (row["productName"].text(), row["meterName"].text())
    return meter in (DISK[1:], TRAFFIC[1:])


def _extra(row: At) -> Extra:
    """A GiB and hour of a disk, or a step of traffic."""
    is_disk = row["meterName"].text() == DISK[2]
    unit = "1 GiB/Hour" if is_disk else "1 GB"
    if row["unitOfMeasure"].text() != unit:
        raise row["unitOfMeasure"].broken(f"is not {unit!r}")
    return Extra(
        provider="azure",
        kind="storage" if is_disk else "egress",
        name=row["productName"].text(),
        price=row["retailPrice"].decimal(),
        currency=row["currencyCode"].text(),
        per="gib_hour" if is_disk else "gb",
        region_text=row["armRegionName"].text(),
        from_gb=row.get("tierMinimumUnits").decimal_or_none() or Decimal(0),
        place=row.place,
    )


def _size(row: At) -> str | None:
    """The size of a row; in the recorded form the name of its SKU stands for it."""
    if "armSkuName" in row:
        return row["armSkuName"].text_or_none()
    return row["skuName"].text().removesuffix(" Spot")


def _months(term: At) -> int:
    """The months of "1 Year" or "3 Years"."""
    found = TERM.fullmatch(term.text())
    if not found:
        raise term.broken(f"{term.text()[:30]!r} is not a term such as '3 Years'")
    return int(found[1]) * 12


def _start(row: At, payload: Payload) -> tuple[PriceState, date | None]:
    """Whether the price holds already, and the day it begins where it does not."""
    start = row["effectiveStartDate"] if "type" in row else row.get("effectiveStartDate")
    if start.text_or_none() is None:
        return "priced", None
    try:
        day = date.fromisoformat(start.text()[:10])
    except ValueError:
        raise start.broken(f"{start.text()[:30]!r} is not a day") from None
    return ("future", day) if day > payload.fetched_at.date() else ("priced", None)
