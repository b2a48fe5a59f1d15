"""Denvr Dataworks: virtual and bare-metal machines, data of the public price page, which Wix makes.

`price` is in USD per GPU and hour ("$2.45 / GPU"), whatever `gpuCount` is, billed by the minute. `gpuVram` is of one
GPU; vCPUs, memory and disks are of the machine, and memory without a unit stays unread. Rows that are sold by contract
alone have a word in place of the price ("Reserved only"), or none. No stock, no regions.

The records lie in `<script id="wix-warmup-data">`, by ids of the editor. Field names as a collector read them in 2026;
the page itself was not seen.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from scrapers.contract import Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, html, money, number, quantity, read_json

URL = "https://www.denvr.com/pricing"

SOURCE = Source(
    id="denvr",
    name="Denvr Dataworks",
    segment="neocloud",
    homepage="https://www.denvr.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.denvr.com",),
    terms="unknown",
    terms_url="https://www.denvr.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 6, 18),
    last_proof="2026: read by the code of a collector; page not seen",
    min_listings=2,
    billing_increment_s=60,
    billing_source=URL,
)

SCRIPT = "script#wix-warmup-data"
PATH = ("appsWarmupData", "dataBinding", "dataStore", "recordsByCollectionId", "GPUInstances")


def parse(payload: Payload) -> list[Listing]:
    """One listing for each record of the collection of GPU machines.

    Raises:
        PayloadShapeError: No such data, a field is missing or of another kind, or no record has a price.
    """
    script = html(payload).select_one(SCRIPT)
    if script is None:
        raise PayloadShapeError(payload.part, SCRIPT, "not in the page")
    body = (script.string or "").encode(errors="replace")
    records = At(payload.part, read_json(replace(payload, body=body, content_type="application/json")))
    for key in PATH:
        records = records[key]
    listings = [_listing(record) for _, record in records.items()]
    if not any(listing.price for listing in listings):
        raise records.broken(f"none of {len(records)} records has a price")
    return listings


def _listing(record: At) -> Listing:
    title, cell = record["title"].text(), record.get("price").text_or_none() or ""
    said = money(cell)
    if any(letter.isdigit() for letter in cell) and said.amount is None:
        raise record["price"].broken(f"{short(cell)} is not a price")
    if said.amount is not None and (
        said.currency != "USD" or said.unit not in (None, "hour") or said.per != "gpu"
    ):
        raise record["price"].broken(f"{short(cell)} is not in USD per GPU")
    count = record["gpuCount"].decimal()
    return Listing(
        provider="denvr",
        product="gpu",
        plan=f"{count:f}x {title}",
        gpu_text=title,
        gpu_count=count,
        gpu_memory=_size(record.get("gpuVram")),
        vcpus=number(_plain(record.get("vCpUs"))),
        ram=_size(record.get("memory")),
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state="contact_sales" if said.amount is None else said.state,
        purchase="reserved" if cell.lower().startswith("reserved") else "on_demand",
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=(cell or "no price") if said.amount is None else None,
        note=f"local storage: {disk}" if (disk := _plain(record.get("localStorage"))) else None,
        place=record.place,
    )


def _plain(field: At) -> str:
    """A text or number as text; "" where there is none."""
    return str(field.value).strip() if isinstance(field.value, str) or field else ""


def _size(field: At) -> Quantity | None:
    return quantity(_plain(field))
