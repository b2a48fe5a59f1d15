"""JarvisLabs: the public price page, or with a key the API of free cards.

Prices are in USD per GPU and hour. The page has plain tables, whose columns are found by what their heads say. Indian
accounts pay in rupees: a cell in rupees keeps its currency, and one in another currency is an error. Columns of months,
minutes or spot are not read.

The API has a row for each card, region and kind of workload: the same card is sold as a container and as a virtual
machine, and rows of the older machines do not say which. `num_gpus` is the most that one machine can have, so a
listing is one GPU; CPUs and RAM are of one GPU. Spot is sold for containers only, though the rows of virtual machines
state a spot price too. `effective_num_free_devices` says how many cards are free. CPU machines (`cpu_meta`) are not
read, and numbers may be texts. The API does not state its currency: prices that can only be rupees are an error.

Shape: the API as recorded on 2026-08-19; the page as a reader of 2026-06 took it, no answer of it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, check_one_price, priced
from scrapers.contract import Auth, Availability, Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, Table, holds_json, html, number, quantity, read_json, tables

URL = "https://jarvislabs.ai/pricing"

SOURCE = Source(
    id="jarvislabs",
    name="JarvisLabs",
    segment="neocloud",
    homepage="https://jarvislabs.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    keyed_requests=(Request("server_meta", "https://backendn.jarvislabs.net/misc/server_meta"),),
    auth=Auth("JL_API_KEY"),
    allowed_hosts=("jarvislabs.ai", "backendn.jarvislabs.net"),
    terms="unknown",
    terms_url="https://jarvislabs.ai/",
    terms_note="terms not read; one page or one API request a night",
    terms_reviewed_on=date(2026, 6, 21),
    last_proof="2026-08-19: answer of the API recorded and parsed; page as a reader of 2026-06 took it",
    min_listings=3,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source=URL,
)

# The cheapest card costs less than a dollar an hour, and more than this many rupees.
MOST_FOR_THE_CHEAPEST = 15
PRICE_WORDS = ("/hour", "/hr", "price", "hourly")
OTHER_PRICE_WORDS = ("month", "/mo", "year", "minute", "/min", "spot")


def parse(payload: Payload) -> list[Listing]:
    """The rows of the page, or of the API.

    Raises:
        PayloadShapeError: A field is missing, a price is in another currency or for another time, a name counts GPUs
            or has two prices, or no table or row has a price.
    """
    if holds_json(payload):
        rows = At(payload.part, read_json(payload))["server_meta"]
        listings = [listing for row in rows for listing in _api_listings(row)]
        if (prices := [one.price for one in listings if one.price]) and min(prices) > MOST_FOR_THE_CHEAPEST:
            raise rows.broken(f"the cheapest GPU is {min(prices)}, so the prices are not in USD")
    else:
        found = enumerate(tables(html(payload)))
        listings = [row for index, table in found for row in _page_listings(payload.part, index, table)]
        check_one_price(payload.part, listings)
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "prices", "no row of a GPU with a price")
    return listings


def _api_listings(row: At) -> Iterator[Listing]:
    workload = row.get("workload_type").text_or_none()
    free = row.get("effective_num_free_devices") or row.get("num_free_devices")
    yield _api_listing(row, workload, "on_demand", row["price_per_hour"].decimal(), free)
    spot = row.get("spot_price").decimal_or_none()
    if spot is not None and workload == "container":
        yield _api_listing(row, workload, "spot", spot, row.get("spot_num_free_devices"))


def _api_listing(row: At, workload: str | None, purchase: PurchaseKind, price: Decimal, free: At) -> Listing:
    count = free.integer_or_none()
    most = row.get("num_gpus").integer_or_none()
    vram, ram = row.get("vram").decimal_or_none(), row.get("ram_per_gpu").decimal_or_none()
    return Listing(
        provider="jarvislabs",
        product=workload,
        plan=row["gpu_type"].text(),
        gpu_text=row["gpu_type"].text(),
        gpu_count=Decimal(1),
        gpu_memory=None if vram is None else Quantity(vram, "GB"),
        vcpus=row.get("cpus_per_gpu").decimal_or_none(),
        ram=None if ram is None else Quantity(ram, "GB"),
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase=purchase,
        region_text=row["region"].text(),
        availability=_availability(count),
        availability_text=None if count is None else f"{count} devices free",
        available_count=count,
        note=f"up to {most} GPUs a machine" if most else None,
        place=row.place,
    )


def _availability(free: int | None) -> Availability:
    if free is None:
        return "unknown"
    return "in_stock" if free > 0 else "out_of_stock"


def _page_listings(part: str, index: int, table: Table) -> Iterator[Listing]:
    """The rows of a table with a column of GPUs and one of prices per hour; none of another table."""
    heads = [head.lower() for head in table.header]
    price = next((head for head in heads if _is_hourly(head)), None)
    name = next((head for head in heads if head.startswith("gpu")), None)
    if price is None or name is None:
        return
    for number_of_row, row in enumerate(table.rows):
        cells = dict(zip(heads, row, strict=False))
        if not cells[name]:
            continue
        place = f"table {index} row {number_of_row}"
        check_one_gpu(part, place, cells[name])
        said = priced(part, place, cells[price], currencies=(None, "USD", "INR"))
        yield Listing(
            provider="jarvislabs",
            plan=cells[name],
            gpu_text=cells[name],
            gpu_count=Decimal(1),
            gpu_memory=_gigabytes(_cell(cells, "vram")),
            vcpus=number(_cell(cells, "vcpu")),
            ram=_gigabytes(_cell(cells, "ram")),
            price=said.amount,
            currency=said.currency or ("USD" if "$" in price and said.amount is not None else None),
            price_per="gpu",
            price_unit="hour",
            price_state=said.state,
            purchase="on_demand",
            availability="unknown" if said.amount is None else "listed_only",
            availability_text=cells[price] or None if said.amount is None else None,
            place=place,
        )


def _is_hourly(head: str) -> bool:
    """Whether a head is that of prices per hour on demand."""
    has_other = any(word in head for word in OTHER_PRICE_WORDS)
    return any(word in head for word in PRICE_WORDS) and not has_other


def _cell(cells: dict[str, str], word: str) -> str:
    """The cell under the head that begins with a word, such as "vram (gb)"."""
    return next((cell for head, cell in cells.items() if head.startswith(word)), "")


def _gigabytes(cell: str) -> Quantity | None:
    """The amount of a cell, in GB where it is a bare number."""
    amount = number(cell)
    return quantity(cell) if amount is None else Quantity(amount, "GB")
