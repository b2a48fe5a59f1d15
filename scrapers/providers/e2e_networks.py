"""E2E Networks: the public price page. Prices are per GPU and hour, month or year, without tax.

The page says the same twice. Its JSON-LD has an offer for each GPU at the price per hour in rupees, whatever country
the reader is in; its table has the prices per hour, month and year in the currency of the reader, and a sign says
which. So the price per hour is read from JSON-LD, where it stays in one currency from night to night, and the
commitments of a month and a year from the table, but for cells that are blank. The column of hours is not read: it is
the same offer in another currency. It only proves the other two, which must not be far from it: a month has 730 of its
hours, a year 8760. A switch multiplies the table by 2, 4 or 8 GPUs, so a note must say that prices are per GPU-hour.

Two offers share the name "NVIDIA A100": VRAM tells them apart, and is part of the plan. Every offer says "InStock", CPU
machines too, so that is no stock. Offers of another category than "GPU Cloud Instance" are not read. The description
gives vCPUs and RAM for one GPU.

Shape: as recorded on 2026-08-22, in English from the United States.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, PriceState, PriceUnit, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, Money, Table, html, json_ld, money, number, tables, text

URL = "https://www.e2enetworks.com/pricing"

SOURCE = Source(
    id="e2e_networks",
    name="E2E Networks (TIR)",
    segment="neocloud",
    homepage="https://www.e2enetworks.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.e2enetworks.com",),
    terms="unknown",
    terms_url="https://www.e2enetworks.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night; the page offers its data to machines",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-22: page recorded by others; that recording was not parsed here",
    min_listings=5,
    billing_minimum_s=3600,
    billing_source="https://docs.e2enetworks.com/docs/tir/GettingStarted/billing/",
)

CATEGORY = "GPU Cloud Instance"
BASIS = "per gpu-hour"
SPECS = re.compile(r"(\d{1,4}) GB VRAM(?:, (\d{1,4}) vCPUs)?(?:, (\d{1,5}) GB RAM)?")
# What the head of a price column begins with: the unit of the price, and the months of the commitment.
TERMS: dict[str, tuple[PriceUnit, int]] = {"monthly": ("month", 1), "annual": ("year", 12)}
HOURS: dict[PriceUnit, int] = {"month": 730, "year": 8760}
# What an hour of a commitment costs, of an hour on demand: outside of this it is the price of another time.
LEAST_SHARE, LARGEST_SHARE = Decimal("0.2"), Decimal("1.5")
OTHER_HEADS = ("vram", "vcpu", "ram", "hourly", *TERMS)


def parse(payload: Payload) -> list[Listing]:
    """The prices per hour of JSON-LD, then the commitments of the table.

    Raises:
        PayloadShapeError: No catalog of offers, an offer that is not understood, or no GPU with a price.
    """
    page = html(payload)
    catalogs = [node for node in json_ld(payload.part, page) if node.get("@type") == "OfferCatalog"]
    offers = [
        offer for node in catalogs for offer in At(payload.part, node, "OfferCatalog")["itemListElement"]
    ]
    hourly = [_offer(offer) for offer in offers if offer.get("category").value == CATEGORY]
    if not any(listing.price for listing in hourly):
        raise PayloadShapeError(
            payload.part, "JSON-LD OfferCatalog", f"no offer of a {CATEGORY} with a price"
        )
    terms = [listing for table in tables(page) for listing in _terms(payload.part, table)]
    if terms and BASIS not in text(page).lower():
        raise PayloadShapeError(payload.part, "table", f"no note says that its prices are {BASIS!r}")
    return hourly + terms


def _offer(offer: At) -> Listing:
    product = offer["itemOffered"]
    specs = SPECS.match(product["description"].text())
    price = offer["priceSpecification"]
    if specs is None:
        raise product["description"].broken(f"{short(product['description'].text())} states no VRAM")
    if price["unitText"].text() != "per hour":
        raise price["unitText"].broken(f"{short(price['unitText'].text())} is not 'per hour'")
    return _listing(
        product["name"].text().removesuffix(CATEGORY).strip(),
        vram=Decimal(specs[1]),
        vcpus=number(specs[2] or ""),
        ram=number(specs[3] or ""),
        price=price["price"].decimal(),
        currency=price["priceCurrency"].text(),
        stock=offer.get("availability").text_or_none(),
        place=offer.place,
    )


def _terms(part: str, table: Table) -> Iterator[Listing]:
    """The prices per month and year of a table of GPUs; none of another table."""
    heads = [head.lower() for head in table.header]
    name = next((index for index, head in enumerate(heads) if not head.startswith(OTHER_HEADS)), None)
    vram = _column(heads, "vram")
    if name is None or vram is None:
        return
    for index, row in enumerate(table.rows):
        memory = number(row[vram])
        if memory is None:
            raise PayloadShapeError(part, f"table row {index}", f"VRAM {short(row[vram])} is no number")
        for head, (unit, months) in TERMS.items():
            column = _column(heads, head)
            if column is None or not row[column] or money(row[column]).is_blank:
                continue
            place = f"table row {index} '{heads[column]}'"
            said = priced(part, place, row[column], currencies=("USD", "INR"), units=(None, unit))
            hourly_column = _column(heads, "hourly")
            hourly = money(row[hourly_column]) if hourly_column is not None else Money()
            if not _is_of(said, hourly, unit):
                raise PayloadShapeError(part, place, f"{short(row[column])} is no price of a {unit}")
            yield _listing(
                row[name],
                vram=memory,
                vcpus=_number(row, _column(heads, "vcpu")),
                ram=_number(row, _column(heads, "ram")),
                price=said.amount,
                currency=said.currency,
                state=said.state,
                unit=unit,
                months=months,
                place=place,
                stock=row[column] if said.amount is None else None,
            )


def _is_of(said: Money, hourly: Money, unit: PriceUnit) -> bool:
    """Whether a price is of that time, as far as the price of an hour beside it tells."""
    if said.amount is None or not hourly.amount or hourly.currency != said.currency:
        return True
    return LEAST_SHARE <= said.amount / (hourly.amount * HOURS[unit]) <= LARGEST_SHARE


def _column(heads: list[str], word: str) -> int | None:
    return next((index for index, head in enumerate(heads) if head.startswith(word)), None)


def _number(row: tuple[str, ...], column: int | None) -> Decimal | None:
    return None if column is None else number(row[column])


def _listing(
    name: str,
    *,
    vram: Decimal,
    vcpus: Decimal | None,
    ram: Decimal | None,
    price: Decimal | None,
    currency: str | None,
    place: str,
    state: PriceState = "priced",
    unit: PriceUnit = "hour",
    months: int | None = None,
    stock: str | None = None,
) -> Listing:
    return Listing(
        provider="e2e_networks",
        plan=f"{name} {vram} GB",
        gpu_text=name,
        gpu_count=Decimal(1),
        gpu_memory=Quantity(vram, "GB"),
        vcpus=vcpus,
        ram=None if ram is None else Quantity(ram, "GB"),
        price=price,
        currency=currency,
        price_per="gpu",
        price_unit=unit,
        price_state=state,
        purchase="on_demand" if months is None else "reserved",
        term_months=months,
        availability="unknown" if price is None else "listed_only",
        availability_text=stock,
        place=place,
    )
