"""Qubrid AI, a reseller: virtual machines and bare-metal servers, on the public price page.

The page sends a catalogue along as objects of a script, without quotes around their keys and with !0 for true:
`prices.hourly.amount` is in USD per hour for the whole machine with its `gpuCount` GPUs. `availability` says whether
it can be bought so; it is no stock. `gpuMemory` is of one GPU, the rest of the machine. Prices by the month are for a
term of a month; prices by the week are left out, for there is no such unit. CPU machines (gpuCount 0) are left out.

A visible table (Instance, vCPU, RAM, Storage, On demand (/hr)) says the same and is read where there is no catalogue.
On some days both are empty ("Unable to load model pricing"), which is an error and not an empty list. Servers with 8
GPUs have a price per year, in a table of their own, which is read where its heading or columns say "year" or "annual".

Shape of the catalogue as a collector read it in 2026, of the tables by a text of 2026-09-20; the page was not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_price, priced
from scrapers.contract import Availability, Listing, Payload, PriceUnit, PurchaseKind, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import Table, decode, html, number, quantity, tables

URL = "https://www.qubrid.com/pricing"

SOURCE = Source(
    id="qubrid",
    name="Qubrid AI",
    segment="reseller",
    homepage="https://www.qubrid.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.qubrid.com", "qubrid.com"),
    terms="unknown",
    terms_url="https://www.qubrid.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-09-20: text of the tables transcribed, catalogue read by a collector; page not seen",
    min_listings=3,
)

TEXT = r'"([^"\\]{0,80})"'
PLAN = re.compile(
    rf"\bid:{TEXT},family:{TEXT},name:{TEXT},gpuCount:{TEXT},gpuMemory:{TEXT},ram:{TEXT},vcpu:{TEXT},storage:{TEXT}"
)
PRICES = re.compile(r"prices:\{((?:\w{1,10}:\{amount:[\d.]{1,12},availability:!?\w{1,5}\},?){1,6})")
PRICE = re.compile(r"(\w{1,10}):\{amount:([\d.]{1,12}),availability:(!?\w{1,5})\}")
LONGEST_GAP = 400
# Name of a price: what it sells, its unit, and the months of the commitment.
WAYS: dict[str, tuple[PurchaseKind, PriceUnit, int | None]] = {
    "hourly": ("on_demand", "hour", None),
    "monthly": ("reserved", "month", 1),
}
COLUMNS = {"instance", "vcpu", "ram", "storage", "on demand (/hr)"}
MACHINE = re.compile(r"(.{1,80}?) - (\d{1,2}) GPUs?")
YEAR = re.compile(r"\b(?:year|annual)", re.IGNORECASE)
MONEY_SIGN = re.compile(r"[$€£₹]|contact", re.IGNORECASE)
SERVER = re.compile(r"(NVIDIA .{1,40}?) (\d{1,2})-GPU .{0,30}Server")


def parse(payload: Payload) -> list[Listing]:
    """The plans of the catalogue or of the visible table, and the servers with a price per year.

    Raises:
        PayloadShapeError: Neither, a plan whose prices are not found, not understood or not the same twice, or no
            price at all.
    """
    found = tables(html(payload))
    listings = list(_catalogue(payload.part, decode(payload).replace('\\"', '"')))
    if not listings:
        listings = [listing for table in found for listing in _machines(payload.part, table)]
    listings += [listing for table in found for listing in _servers(payload.part, table)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "catalogue and tables", "no plan with a price")
    check_one_price(payload.part, listings)
    return listings


def _catalogue(part: str, content: str) -> Iterator[Listing]:
    plans = list(PLAN.finditer(content))
    seen: set[str] = set()
    for index, plan in enumerate(plans):
        place = f"catalogue plan {index}"
        end = min(
            plan.end() + LONGEST_GAP, plans[index + 1].start() if index + 1 < len(plans) else len(content)
        )
        prices = PRICES.search(content, plan.end(), end)
        ways = {name: (amount, flag) for name, amount, flag in PRICE.findall(prices[1])} if prices else {}
        count = number(plan[4])
        if "hourly" not in ways or count is None:
            raise PayloadShapeError(part, place, f"no prices.hourly.amount or gpuCount for {short(plan[1])}")
        if plan[1] in seen or count == 0:
            continue
        seen.add(plan[1])
        for name, (purchase, unit, months) in WAYS.items():
            if name in ways:
                yield _plan(part, f"{place} {name}", plan, count, purchase, unit, months, ways[name])


def _plan(
    part: str,
    place: str,
    plan: re.Match[str],
    count: Decimal,
    purchase: PurchaseKind,
    unit: PriceUnit,
    months: int | None,
    price: tuple[str, str],
) -> Listing:
    amount, flag = number(price[0]), price[1]
    if amount is None:
        raise PayloadShapeError(part, place, f"{short(price[0])} is not an amount")
    state: Availability = "out_of_stock" if flag in ("!1", "false") else "listed_only"
    return Listing(
        provider="qubrid",
        product="gpu_vm",
        plan=plan[1],
        gpu_text=plan[2],
        gpu_count=count,
        gpu_memory=quantity(plan[5]),
        ram=quantity(plan[6]),
        vcpus=number(plan[7]),
        disk=quantity(plan[8]),
        price=amount,
        currency="USD",
        price_per="instance",
        price_unit=unit,
        purchase=purchase,
        term_months=months,
        availability=state,
        availability_text=f"availability: {flag}",
        place=place,
    )


def _machines(part: str, table: Table) -> Iterator[Listing]:
    if not {head.lower() for head in table.header} >= COLUMNS:
        return
    for index, record in enumerate(table.records()):
        cells = {head.lower(): cell for head, cell in record.items()}
        named = MACHINE.fullmatch(cells["instance"])
        if named is None:
            continue
        place = f"table Instance row {index}"
        said = priced(part, place, cells["on demand (/hr)"], pers=(None, "instance"))
        yield Listing(
            provider="qubrid",
            product="gpu_vm",
            plan=cells["instance"],
            gpu_text=named[1],
            gpu_count=Decimal(named[2]),
            vcpus=number(cells["vcpu"]),
            ram=quantity(cells["ram"]),
            disk=quantity(cells["storage"]),
            price=said.amount,
            currency="USD",
            price_per="instance",
            price_unit="hour",
            price_state=said.state,
            purchase="on_demand",
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=cells["on demand (/hr)"] or None if said.amount is None else None,
            place=place,
        )


def _servers(part: str, table: Table) -> Iterator[Listing]:
    if not YEAR.search(" ".join((*table.headings, *table.header))):
        return
    for index, row in enumerate(table.rows):
        named = next((found for cell in row if (found := SERVER.fullmatch(cell))), None)
        if named is None:
            continue
        place = f"table of servers row {index}"
        cell = _yearly(part, place, table.header, row)
        said = priced(part, place, cell, units=(None, "year"), pers=(None, "instance"))
        yield Listing(
            provider="qubrid",
            product="bare_metal",
            segment="bare_metal",
            plan=named[0],
            gpu_text=named[1],
            gpu_count=Decimal(named[2]),
            form_factor_text="SXM" if "SXM" in named[0] else None,
            price=said.amount,
            currency="USD",
            price_per="instance",
            price_unit="year",
            price_state=said.state,
            purchase="reserved",
            term_months=12,
            availability="unknown" if said.amount is None else "listed_only",
            place=place,
        )


def _yearly(part: str, place: str, header: tuple[str, ...], row: tuple[str, ...]) -> str:
    """The cell of the price per year: that under a column of years, or the only one with a sign of money."""
    of_years = {cell for head, cell in zip(header, row, strict=False) if YEAR.search(head)}
    cells = of_years or {cell for cell in row if MONEY_SIGN.search(cell)}
    if len(cells) > 1:
        raise PayloadShapeError(part, place, f"{len(cells)} prices, of which none is known to be per year")
    return next(iter(cells), "")
