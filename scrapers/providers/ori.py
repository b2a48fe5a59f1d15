"""Ori: serverless Kubernetes, a table of the billing page of its documentation.

Prices are in USD per GPU, per minute and per hour; the hour is read. What a pod uses of CPU and memory is billed on
top, by 1/100 of a CPU and by MB, in a second table, which also has the load balancer; its CPU and memory prices stay in
the note of each listing. Billed by the minute. "NVIDIA H100 80GB" without "SXM" does not say its form. The page has no
date, no stock and no regions. The price page of the company shows no list any more.

Shape as the stored text of the page has it; the markup of the table was not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.markdown import doc_tables
from scrapers.readers import number

URL = "https://docs.ori.co/kubernetes/billing"

SOURCE = Source(
    id="ori",
    name="Ori",
    segment="serverless",
    homepage="https://www.ori.co/",
    pricing_url=URL,
    requests=(Request("billing", URL),),
    allowed_hosts=("docs.ori.co",),
    terms="unknown",
    terms_url="https://www.ori.co/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="undated: stored text of the page read; markup not seen",
    min_listings=2,
    billing_increment_s=60,
    billing_source=URL,
)

GPU_SKU, OTHERS = "ogx-k8s-", ("ogx-k8s-mem", "ogx-k8s-vcpu", "ogx-k8s-lb")
ON_TOP = {"ogx-k8s-vcpu": "1/100 CPU", "ogx-k8s-mem": "MB of memory"}


def parse(payload: Payload) -> list[Listing]:
    """One listing for each GPU of the price tables.

    Raises:
        PayloadShapeError: No table with resource, SKU and price per hour, an unknown SKU, or a price that is no number.
    """
    rows = [
        row
        for index, table in enumerate(doc_tables(payload))
        for row in _rows(payload.part, index, table.header, table.rows)
    ]
    prices = {sku: _price(payload.part, place, cell) for place, _, sku, cell in rows}
    note = "; ".join(
        f"on top: {prices[sku]:f} USD per hour and {what}" for sku, what in ON_TOP.items() if sku in prices
    )
    listings = [
        _listing(payload.part, place, name, sku, prices[sku], note or None)
        for place, name, sku, _ in rows
        if sku not in OTHERS
    ]
    if not listings:
        raise PayloadShapeError(payload.part, "tables", "no GPU under Resource, SKU, Price ($/hour)")
    return listings


def _rows(
    part: str, index: int, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
) -> Iterator[tuple[str, str, str, str]]:
    """Place, resource, SKU and price per hour of each row, where the table has these columns.

    Raises:
        PayloadShapeError: The price is not in USD.
    """
    names = [name.lower() for name in header]
    hour = next((name for name in names if name.startswith("price") and "hour" in name), None)
    if hour is None or not {"resource", "sku"} <= set(names):
        return
    if "$" not in hour and "usd" not in hour:
        raise PayloadShapeError(part, f"table {index}", f"the column {short(hour)} is not in USD")
    for row_index, row in enumerate(rows):
        cells = dict(zip(names, row, strict=False))
        yield f"table {index} row {row_index}", cells["resource"], cells["sku"], cells[hour]


def _price(part: str, place: str, cell: str) -> Decimal:
    price = number(cell.removeprefix("$"))
    if price is None:
        raise PayloadShapeError(part, place, f"the price per hour {short(cell)} is not a number")
    return price


def _listing(part: str, place: str, name: str, sku: str, price: Decimal, note: str | None) -> Listing:
    if not sku.startswith(GPU_SKU) or not name:
        raise PayloadShapeError(part, place, f"{short(sku)} is not a SKU of Serverless Kubernetes")
    return Listing(
        provider="ori",
        product="serverless_kubernetes",
        plan=sku,
        gpu_text=name,
        gpu_count=Decimal(1),
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        availability="listed_only",
        note=note,
        place=place,
    )
