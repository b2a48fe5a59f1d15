"""Latitude.sh: the bare metal servers of the public price page, from the data in its scripts.

Each plan has, for each country, a price of the whole server per hour, per month and per year, in USD and in BRL. The
hour is on demand; the month and the year are paid ahead, so they are commitments of 1 and of 12 months. Of the two
currencies the USD is read, since both are the same offer. A country without a price has nulls, or 0 in BRL, and is
kept without a price.

`stock_level` is "unavailable" for most GPU servers: they are listed as out of stock. `vram_per_gpu` is of one GPU.
CPU servers have an empty `gpu` and are not read. The plans of virtual machines are not read: their shape is not known.

Shape: as recorded on 2026-08-22.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from scrapers.contract import (
    Availability,
    Listing,
    Payload,
    PriceUnit,
    PurchaseKind,
    Quantity,
    Request,
    Source,
)
from scrapers.flight import flight
from scrapers.readers import At, embedded_json

URL = "https://www.latitude.sh/pricing"

SOURCE = Source(
    id="latitude_sh",
    name="Latitude.sh",
    segment="bare_metal",
    homepage="https://www.latitude.sh/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.latitude.sh",),
    terms="unknown",
    terms_url="https://www.latitude.sh/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-22: page recorded by others; that recording was not parsed here",
    min_listings=3,
    billing_minimum_s=3600,
    billing_source="https://www.latitude.sh/docs/billing/how-and-when-we-charge-you",
)

MARKER = '"plansData":'
CURRENCY = "USD"
TERMS: tuple[tuple[PriceUnit, PurchaseKind, int | None], ...] = (
    ("hour", "on_demand", None),
    ("month", "reserved", 1),
    ("year", "reserved", 12),
)
STOCK: dict[str, Availability] = {
    "unavailable": "out_of_stock",
    "low": "low",
    "medium": "in_stock",
    "high": "in_stock",
}


def parse(payload: Payload) -> list[Listing]:
    """The GPU servers, one listing for each country and term.

    Raises:
        PayloadShapeError: The plans are not in the page, a field is missing, a longer time costs less, or no GPU server
            has a price.
    """
    plans = At(payload.part, embedded_json(payload.part, flight(payload), MARKER), "plansData")["servers"]
    listings = [listing for plan in plans for listing in _listings(plan["attributes"])]
    if not any(listing.price for listing in listings):
        raise plans.broken("no GPU server with a price")
    return listings


def _listings(plan: At) -> Iterator[Listing]:
    gpu = plan["specs"].get("gpu")
    if not gpu or not len(gpu):
        return
    for region in plan["regions"]:
        _check_rising(region["pricing"][CURRENCY])
        for unit, purchase, months in TERMS:
            price = region["pricing"][CURRENCY].get(unit)
            if price or unit == "hour":
                yield _listing(plan, gpu, region, price, unit, purchase, months)


def _check_rising(prices: At) -> None:
    """The year costs more than the month, and the month more than the hour; else one is for another time.

    Raises:
        PayloadShapeError: A longer time costs less.
    """
    stated = [amount for unit, _, _ in TERMS if (amount := prices.get(unit).decimal_or_none())]
    if stated != sorted(stated):
        raise prices.broken(f"hour, month and year do not rise: {', '.join(map(str, stated))}")


def _listing(
    plan: At, gpu: At, region: At, price: At, unit: PriceUnit, purchase: PurchaseKind, months: int | None
) -> Listing:
    specs = plan["specs"]
    cpu, ram = specs.get("cpu"), specs.get("memory")
    memory = gpu.get("vram_per_gpu").decimal_or_none()
    total_ram = ram.get("total").decimal_or_none() if ram else None
    stock = region.get("stock_level").text_or_none()
    amount = price.decimal_or_none()
    return Listing(
        provider="latitude_sh",
        plan=plan["slug"].text(),
        gpu_text=gpu["type"].text(),
        gpu_count=gpu["count"].decimal(),
        gpu_memory=None if memory is None else Quantity(memory, "GB"),
        fabric_text=gpu.get("interconnect").text_or_none(),
        ram=None if total_ram is None else Quantity(total_ram, "GB"),
        price=amount,
        currency=CURRENCY,
        price_per="instance",
        price_unit=unit,
        purchase=purchase,
        term_months=months,
        region_text=region["name"].text(),
        availability=STOCK.get(stock.lower(), "unknown") if stock else "unknown",
        availability_text=f"stock_level: {stock}" if stock else None,
        note=_cpu(cpu) if cpu else None,
        place=price.place,
    )


def _cpu(cpu: At) -> str | None:
    """What the page says of the CPU: its cores are physical, and no vCPUs."""
    name, cores = cpu.get("type").text_or_none(), cpu.get("cores").decimal_or_none()
    sockets = cpu.get("count").decimal_or_none()
    return f"{sockets}x {name}, {cores} cores" if name and cores is not None and sockets is not None else None
