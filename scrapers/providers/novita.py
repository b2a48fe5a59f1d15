"""Novita AI: the public price page, or with a key the list of GPU products.

The page has tables of models (per token) and of GPUs. Those of GPUs have a column "GPU", mostly one for VRAM, and
one or two prices in USD per GPU and hour: on demand, and spot, which is about half and rarely to be had ("—" where
there is none). Some price cells have no currency sign ("3.39/hr/GPU"); they are in dollars like the others of their
table, and have no currency where none of it has one. Names
come in two speeds ("RTX 4090 (High freq.)"). The page shows no stock and no regions.

The API gives whole numbers, in 1/100000 USD per GPU and hour ("67000" is 0.67 USD); vCPUs and memory are of one GPU.
A product stands in several regions: one listing in each. `availableDeploy` and `inventoryState` (none, low, normal,
high) are of machines on demand; nothing is said of the stock of spot. Monthly prices are not read: their unit is not
known. A price of 0 is not a price.

Shape of the API as its documentation and a public reader of 2026 describe it; of the page as a reader of 2026-06
does. No answer of either was at hand, and it is not known whether the page as it is sent holds the tables of GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from scrapers.cells import check_one_gpu, check_one_price, priced
from scrapers.contract import Auth, Availability, Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, Table, holds_json, html, money, quantity, read_json, tables

URL = "https://novita.ai/pricing"

SOURCE = Source(
    id="novita",
    name="Novita AI",
    segment="neocloud",
    homepage="https://novita.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    keyed_requests=(Request("products", "https://api.novita.ai/gpu-instance/openapi/v1/products"),),
    auth=Auth("NOVITA_API_KEY"),
    allowed_hosts=("novita.ai", "api.novita.ai"),
    terms="unknown",
    terms_url="https://novita.ai/",
    terms_note="terms not read; the list of products is documented for use with a key, robots.txt is obeyed",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-06: page described by a reader, API by its documentation; no answer recorded",
    min_listings=4,
    billing_increment_s=1,
    billing_source="https://novita.ai/docs/guides/gpu-instance-pricing",
)

USD = Decimal("0.00001")
MEMORY = re.compile(r"\b(\d{1,4} ?GB)\b")
STOCK: dict[str, Availability] = {
    "none": "out_of_stock",
    "low": "low",
    "normal": "in_stock",
    "high": "in_stock",
}


def parse(payload: Payload) -> list[Listing]:
    """The GPUs of the page, or of the API, on demand and spot.

    Raises:
        PayloadShapeError: No table of GPUs, a field or a price that is not readable, a price of the API that is not
            whole, a name that counts GPUs or has two prices, or no row with a price.
    """
    if holds_json(payload):
        products = At(payload.part, read_json(payload))["data"]
        listings = [listing for product in products for listing in _product_listings(product)]
    else:
        listings = [
            listing
            for index, table in enumerate(tables(html(payload)))
            for listing in _table_listings(payload.part, f"table {index}", table)
        ]
        check_one_price(payload.part, listings)
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "GPUs", "no table or list of GPUs with a price")
    return listings


def _table_listings(part: str, place: str, table: Table) -> Iterator[Listing]:
    heads = [head.lower() for head in table.header]
    prices = {head: _purchase(head) for head in heads if _is_price(head)}
    if not prices or not any(re.search(r"\bgpu\b", head) and head not in prices for head in heads):
        return
    has_dollars = {money(cell).currency for row in table.rows for cell in row} == {None, "USD"}
    name_head = next(head for head in heads if re.search(r"\bgpu\b", head) and head not in prices)
    for index, row in enumerate(table.rows):
        cells = dict(reversed(list(zip(heads, row, strict=False))))
        for head, purchase in prices.items():
            where = f"{place} row {index} '{head}'"
            listing = _page_listing(part, where, cells, cells[name_head], head, purchase)
            is_bare = listing.price is not None and listing.currency is None and has_dollars
            listing = replace(listing, currency="USD") if is_bare else listing
            is_serverless = any("serverless" in heading.lower() for heading in table.headings)
            yield replace(listing, product="serverless", segment="serverless") if is_serverless else listing


def _is_price(head: str) -> bool:
    return bool(re.search(r"price|on-?demand|\bspot\b|/ ?h", head)) and "token" not in head


def _purchase(head: str) -> PurchaseKind:
    return "spot" if "spot" in head else "on_demand"


def _page_listing(
    part: str, place: str, cells: dict[str, str], name: str, head: str, purchase: PurchaseKind
) -> Listing:
    check_one_gpu(part, place, name)
    said = priced(
        part, place, cells[head], currencies=(None, "USD"), units=(None, "second", "minute", "hour")
    )
    unit = said.unit or ("hour" if re.search(r"/ ?h|hour", head) else None)
    if said.amount is not None and unit is None:
        raise PayloadShapeError(part, place, f"{short(cells[head])} is no price of a GPU for a time")
    memory = next((cell for title, cell in cells.items() if "vram" in title), "")
    in_name = MEMORY.search(name)
    return Listing(
        provider="novita",
        product="gpu_instances",
        plan=name,
        gpu_text=name,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit=unit or "hour",
        price_state=said.state,
        purchase=purchase,
        place=place,
        gpu_count=Decimal(1),
        gpu_memory=quantity(memory) or (quantity(in_name[1]) if in_name else None),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(cells[head] or None) if said.amount is None else None,
    )


def _product_listings(product: At) -> Iterator[Listing]:
    regions = product.get("regions")
    places: list[str | None] = [region.text() for region in regions] if regions else []
    methods = product["billingMethods"]
    sells_spot = not methods or "spot" in [method.text() for method in methods]
    spot = product.get("spotPrice").integer_or_none() if sells_spot else None
    for region in places or [None]:
        yield _product_listing(product, region, "on_demand", product["price"].integer() * USD)
        if spot is not None:
            yield _product_listing(product, region, "spot", spot * USD)


def _product_listing(product: At, region: str | None, purchase: PurchaseKind, price: Decimal) -> Listing:
    name = product["name"].text()
    memory = MEMORY.search(name)
    availability, said = _stock(product)
    if purchase == "spot":
        availability, said = "listed_only", None
    ram = product.get("memoryPerGpu").decimal_or_none()
    return Listing(
        provider="novita",
        product="gpu_instances",
        plan=product["id"].text(),
        gpu_text=name,
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase=purchase,
        place=product.place,
        gpu_count=Decimal(1),
        gpu_memory=quantity(memory[1]) if memory else None,
        vcpus=product.get("cpuPerGpu").decimal_or_none(),
        ram=None if ram is None else Quantity(ram, "GB"),
        region_text=region,
        availability=availability,
        availability_text=said,
    )


def _stock(product: At) -> tuple[Availability, str | None]:
    """Whether a product can be had on demand, and what it says of that."""
    state = product.get("inventoryState").text_or_none()
    can_deploy = product["availableDeploy"].flag()
    said = f"availableDeploy is {str(can_deploy).lower()}" + (f", inventoryState is {state}" if state else "")
    if not can_deploy:
        return "out_of_stock", said
    return STOCK.get(state.lower(), "unknown") if state else "in_stock", said
