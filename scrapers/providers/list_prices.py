"""The bundled list prices: dated prices that travel with the package, for a night without a network.

One row of `scrapers/bundled/list_prices.csv` is one listing. Its purchase_type becomes:

on_demand, from_price       on_demand; reserved where the note says that the price needs a commitment
on_demand_secure            on_demand, RunPod's product pods_secure
on_demand_community         on_demand of peer hosts, RunPod's pods_community; for Salad it is the lowest
                            priority, which others displace: spot
serverless,                 on_demand, segment serverless
managed_inference_dedicated
marketplace_median,         on_demand with price state from_price: a statistic is no offer
market_average
spot                        spot
reserved_1y and the like,   reserved, with its months; "reserved" alone names no term
savings_plan_*,
flexible_cud_*
flex_start, calendar_mode   reserved without a term: Google's queue and its booked windows cannot be had at
                            once, so they are neither on demand nor spot

A price that its note calls "from", "as low as", "starting at" or a placeholder is from_price, and so is
RunPod's price of exactly 0.5, which stands where there is no card. An empty price is contact_sales. Prices
per second are per GPU; those per month and per year are of the whole plan. Storage and egress are in US
dollars: beside a price in another currency, storage stays in the note. The memory column is of one whole GPU,
also for a fraction of one. Where the source of a row has no date, the listing has none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from decimal import Decimal
from typing import Literal, cast, get_args

from scrapers.contract import (
    Evidence,
    Listing,
    Payload,
    PriceState,
    PriceUnit,
    PurchaseKind,
    Quantity,
    Request,
    Segment,
    Source,
)
from scrapers.readers import At, read_csv

SOURCE = Source(
    id="list_prices",
    name="Bundled list prices",
    segment=None,  # the provider facts know the segment of each row
    homepage="bundled:list_prices.csv",
    pricing_url="bundled:list_prices.csv",
    requests=(Request("prices", "bundled:list_prices.csv"),),
    allowed_hosts=(),
    terms="open",
    terms_url="https://creativecommons.org/licenses/by/4.0/",
    terms_note="our own table of dated facts, each row with the page it was read from",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-11-30: bundled table parsed as a whole",
    min_listings=1000,
    basis="bundled",
)

PURCHASES: dict[str, tuple[PurchaseKind, int | None]] = {
    "on_demand": ("on_demand", None),
    "on_demand_secure": ("on_demand", None),
    "on_demand_community": ("on_demand", None),
    "from_price": ("on_demand", None),
    "marketplace_median": ("on_demand", None),
    "market_average": ("on_demand", None),
    "serverless": ("on_demand", None),
    "managed_inference_dedicated": ("on_demand", None),
    "spot": ("spot", None),
    "reserved": ("reserved", None),
    "reserved_1m": ("reserved", 1),
    "reserved_6m": ("reserved", 6),
    "reserved_1y": ("reserved", 12),
    "reserved_3y": ("reserved", 36),
    "savings_plan_1y": ("reserved", 12),
    "savings_plan_3y": ("reserved", 36),
    "flexible_cud_1y": ("reserved", 12),
    "flexible_cud_3y": ("reserved", 36),
    "flex_start": ("reserved", None),
    "calendar_mode": ("reserved", None),
}
SEGMENTS: dict[str, Segment] = {
    "on_demand_community": "peer_host",
    "serverless": "serverless",
    "managed_inference_dedicated": "serverless",
}
# Where the same plan, kind and term is sold in two ways, the product keeps them apart.
PRODUCTS = {
    ("azure", "savings_plan_1y"): "savings_plan",
    ("azure", "savings_plan_3y"): "savings_plan",
    ("gcp", "calendar_mode"): "dws_calendar_mode",
    ("gcp", "flex_start"): "dws_flex_start_calendar",
    ("gcp", "flexible_cud_1y"): "flexible_cud",
    ("gcp", "flexible_cud_3y"): "flexible_cud",
    ("runpod", "on_demand_secure"): "pods_secure",
    ("runpod", "on_demand_community"): "pods_community",
    ("runpod", "reserved_6m"): "savings_plan",
    ("runpod", "serverless"): "serverless",
    ("salad", "on_demand_community"): "priority_low_batch",
    ("sfcompute", "market_average"): "auto_reserved_nodes",
    ("sfcompute", "spot"): "auto_reserved_nodes",
}
STATISTICS = ("from_price", "marketplace_median", "market_average")
KIND_NOTES = {
    "marketplace_median": "a median, not an offer",
    "market_average": "an average, not an offer",
    "flex_start": "flex-start: waits in a queue, runs for a limited time",
    "calendar_mode": "calendar mode: a booked window, paid in full",
}
UNITS: dict[str, tuple[Literal["gpu", "instance"], PriceUnit]] = {
    "gpu_hour": ("gpu", "hour"),
    "instance_hour": ("instance", "hour"),
    "second": ("gpu", "second"),
    "month": ("instance", "month"),
    "year": ("instance", "year"),
}
LOWER_BOUND = re.compile(r'"from"|"as low as"|"starting at"|placeholder', re.IGNORECASE)
COMMITMENT = re.compile(r"\(commit\)")
RUNPOD_PLACEHOLDER = Decimal("0.5")
ORIGIN_CLOUDS = ("aws", "gcp")


def parse(payload: Payload) -> Iterator[Listing]:
    """One listing per row, in the order of the table."""
    rows = At(payload.part, list(read_csv(payload)), "rows")
    if not len(rows):
        raise rows.broken("the table has no rows")
    for row in rows:
        yield _listing(row)


def _listing(row: At) -> Listing:
    provider, kind = row["provider"].text(), _one_of(row["purchase_type"], PURCHASES)
    purchase, term_months = PURCHASES[kind]
    if (provider, kind) == ("salad", "on_demand_community"):
        purchase = "spot"
    elif COMMITMENT.search(row["notes"].text_or_none() or ""):
        purchase = "reserved"
    price_per, price_unit = UNITS[_one_of(row["price_unit"], UNITS)]
    increment = _number(row["billing_increment_s"])
    form_factor, link, fabric = _interconnect(row["interconnect"].text_or_none())
    region = row["region"].text_or_none()
    return Listing(
        provider=provider,
        product=PRODUCTS.get((provider, kind)),
        segment=SEGMENTS.get(kind),
        plan=row["instance_or_plan"].text(),
        gpu_text=row["gpu_name_as_listed"].text(),
        gpu_count=_number(row["gpu_count"]),
        gpu_memory=_gigabytes(_number(row["vram_gb_per_gpu"])),
        form_factor_text=form_factor,
        link_text=link,
        fabric_text=fabric,
        vcpus=None if _is_range(row["vcpus"]) else _number(row["vcpus"]),
        ram=None if _is_range(row["ram_gb"]) else _gigabytes(_number(row["ram_gb"])),
        price=_number(row["price"]),
        currency=row["currency"].text(),
        price_per=price_per,
        price_unit=price_unit,
        price_state=_price_state(row, kind),
        purchase=purchase,
        term_months=term_months,
        region_text=None if region in ORIGIN_CLOUDS else region,
        origin=region if region in ORIGIN_CLOUDS else None,
        availability="out_of_stock" if row["available"].text_or_none() == "false" else "listed_only",
        billing_increment_s=None if increment is None else int(increment),
        storage_price_per_gb_month=_in_currency(row, "storage_usd_per_gb_month"),
        egress_price_per_gb=_in_currency(row, "egress_usd_per_gb"),
        evidence=cast(Evidence, _one_of(row["evidence"], get_args(Evidence))),
        as_of=_day(row["as_of_date"]),
        source_url=row["source_url"].text(),
        note=_note(row, kind),
        place=row.place,
    )


def _one_of(cell: At, known: Collection[str]) -> str:
    if cell.value not in known:
        raise cell.broken(f"{cell.value!r} is not one of {', '.join(known)}")
    return cell.text()


def _number(cell: At) -> Decimal | None:
    return None if cell.text_or_none() is None else cell.decimal()


def _gigabytes(amount: Decimal | None) -> Quantity | None:
    return None if amount is None else Quantity(amount, "GB")


def _is_range(cell: At) -> bool:
    return bool(re.fullmatch(r"\d+-\d+", cell.text_or_none() or ""))


def _day(cell: At) -> date | None:
    try:
        return date.fromisoformat(cell.text()) if cell.text_or_none() else None
    except ValueError:
        raise cell.broken(f"{cell.value!r} is not a date") from None


def _price_state(row: At, kind: str) -> PriceState:
    price = _number(row["price"])
    if price is None:
        return "contact_sales"
    is_placeholder = row["provider"].value == "runpod" and price == RUNPOD_PLACEHOLDER
    is_lower_bound = LOWER_BOUND.search(row["notes"].text_or_none() or "")
    return "from_price" if kind in STATISTICS or is_placeholder or is_lower_bound else "priced"


def _interconnect(text: str | None) -> tuple[str | None, str | None, str | None]:
    """The column holds the form of the card, the link between cards or the fabric between nodes."""
    if text in ("Ethernet", "InfiniBand"):
        return None, None, text
    if text == "NVLink":
        return None, text, None
    return text, None, None


def _in_currency(row: At, column: str) -> Decimal | None:
    amount = _number(row[column])
    return amount if row["currency"].value == "USD" or amount == 0 else None


def _note(row: At, kind: str) -> str | None:
    """The note of the row, and what the other fields of a listing cannot hold."""
    parts = [row["notes"].text_or_none(), KIND_NOTES.get(kind)]
    if not row["as_of_date"].value:
        parts.append("the source has no date")
    if _in_currency(row, "storage_usd_per_gb_month") != _number(row["storage_usd_per_gb_month"]):
        parts.append(f"storage {row['storage_usd_per_gb_month'].value} USD per GB-month")
    parts += [f"{name} {row[name].value}" for name in ("vcpus", "ram_gb") if _is_range(row[name])]
    return "; ".join(part for part in parts if part) or None
