"""Lambda: the public price page, or with a key the API of instance types.

The page has one table per tab, and the count of GPUs stands only in the name of the tab (8x, 4x, 2x, 1x). Its prices
are in USD per GPU and hour, without sales tax, though whole instances are sold; vCPUs, RAM and storage are of the
instance. Rows of one name differ in VRAM (A100 of 80 and of 40 GB). The 1-Click Clusters further down are not read,
nor are rates that are announced for a later day under a heading of their own.
Until 2025 the page was one table with rows such as "On-demand 8x NVIDIA H100 SXM"; it is read too.

The API gives cents per instance and hour, and the regions with free capacity: one listing per region; where there
is none, one listing without a region that is out of stock. CPU types are not read.

Billed by the minute. There is no stopped state, and no spot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.contract import Auth, Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, holds_json, html, money, number, quantity, read_json, text

URL = "https://lambda.ai/pricing"

SOURCE = Source(
    id="lambda",
    name="Lambda",
    segment="neocloud",
    homepage="https://lambda.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    keyed_requests=(Request("instance_types", "https://cloud.lambda.ai/api/v1/instance-types"),),
    auth=Auth("LAMBDA_API_KEY"),
    allowed_hosts=("lambda.ai", "cloud.lambda.ai"),
    terms="unknown",
    terms_url="https://lambda.ai/",
    terms_note="terms not read; reported in October 2026 to allow crawling at a limited rate",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-07-30: part of an API answer recorded and parsed, as the page of 2026-01-09",
    min_listings=4,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source="https://docs.lambda.ai/public-cloud/billing/",
)

SECTION = "instances pricing"
LABELS = ("vram/gpu", "vcpus", "ram", "storage", "price/gpu/hr")
OLD_PLAN = re.compile(r"(On-demand|Reserved) (\d+x) (.+)")


def parse(payload: Payload) -> list[Listing]:
    """The instances of the page, or of the API.

    Raises:
        PayloadShapeError: A section, a tab, a column or a field is missing, or no row has a price.
    """
    if holds_json(payload):
        listings = list(_api_listings(At(payload.part, read_json(payload))))
    else:
        page = html(payload)
        tables = [table for table in page.select("table") if _section(table) == SECTION]
        rows = [(table, row) for table in tables for row in table.select("tr") if row.find("td")]
        listings = [_tab_listing(payload.part, page, table, row) for table, row in rows]
        listings = listings or list(_old_listings(payload.part, page))
    if not any(listing.price for listing in listings):
        problem = "none with a price: not under a heading 'Instances pricing', not in the older layout"
        raise PayloadShapeError(payload.part, "instances", problem)
    return listings


def _section(table: Tag) -> str:
    heading = table.find_previous("h2")
    return text(heading).lower() if isinstance(heading, Tag) else ""


def _tab_listing(part: str, page: Tag, table: Tag, row: Tag) -> Listing:
    panel = table.find_parent(attrs={"role": "tabpanel"})
    tab = page.find(id=str(panel["aria-labelledby"])) if panel and panel.get("aria-labelledby") else None
    tab_text = text(tab) if isinstance(tab, Tag) else ""
    if number(tab_text) is None:
        raise PayloadShapeError(
            part, "'Instances pricing'", f"tab {short(tab_text)} is no count of GPUs such as 8x"
        )
    cells = {str(cell.get("data-label", "")).lower().rstrip("*"): text(cell) for cell in row.select("th, td")}
    for label in ("plan", *LABELS):
        if label not in cells:
            problem = f"a row without a cell '{label}'; found {short(', '.join(sorted(cells)))}"
            raise PayloadShapeError(part, f"tab '{tab_text}'", problem)
    place = f"tab '{tab_text}' '{cells['plan']}' {cells['vram/gpu']}"
    return _page_listing("on_demand", tab_text, cells["plan"], [cells[label] for label in LABELS], place)


def _old_listings(part: str, page: Tag) -> Iterator[Listing]:
    """The rows of the page of 2024, whose first cell says how it is sold, how many GPUs and which."""
    for index, row in enumerate(page.select("tr")):
        first, *cells = [text(cell) for cell in row.select("td")] or [""]
        plan = OLD_PLAN.fullmatch(first)
        if plan and len(cells) != len(LABELS):
            raise PayloadShapeError(
                part, f"tr[{index}]", f"{len(cells)} cells after the name, not {len(LABELS)}"
            )
        if plan:
            purchase: PurchaseKind = "reserved" if plan[1] == "Reserved" else "on_demand"
            yield _page_listing(purchase, plan[2], plan[3], cells, f"tr[{index}]")


def _page_listing(
    purchase: PurchaseKind, count_text: str, name: str, cells: list[str], place: str
) -> Listing:
    vram, vcpus, ram, storage, price = cells
    said = money(price)
    return Listing(
        provider="lambda",
        product="instances",
        plan=f"{count_text} {name} {vram}",
        gpu_text=name,
        price=said.amount,
        currency=said.currency,
        # "$20.72 / hr", as before 2024, is of the instance; "$2.99 / GPU / hr" and a bare amount are of a GPU.
        price_per="instance" if said.unit and not said.per else "gpu",
        price_unit="hour",
        price_state=said.state,
        purchase=purchase,
        place=place,
        gpu_count=number(count_text),
        gpu_memory=quantity(vram),
        vcpus=number(vcpus),
        ram=quantity(ram),
        disk=quantity(storage),
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=price if said.amount is None else None,
    )


def _api_listings(answer: At) -> Iterator[Listing]:
    for name, entry in answer["data"].items():
        kind = entry["instance_type"]
        specs = kind["specs"] if "specs" in kind else At(answer.part, {}, f"{kind.place}.specs")
        gpu_count = specs["gpus"].decimal() if "gpus" in specs else _count_in_name(name)
        if gpu_count == 0 or name.startswith("cpu_"):
            continue
        regions = entry["regions_with_capacity_available"]
        for region in regions:
            yield _api_listing(name, kind, specs, gpu_count, region)
        if not regions.value:
            yield _api_listing(name, kind, specs, gpu_count, None)


def _count_in_name(name: str) -> Decimal | None:
    count = re.match(r"gpu_(\d+)x_", name)
    return Decimal(count[1]) if count else None


def _api_listing(name: str, kind: At, specs: At, gpu_count: Decimal | None, region: At | None) -> Listing:
    description = kind.get("gpu_description").text_or_none()
    memory = re.search(r"\((\d+ GB)\b", description or "")
    return Listing(
        provider="lambda",
        product="instances",
        plan=name,
        gpu_text=description or name,
        price=kind["price_cents_per_hour"].decimal() / 100,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        place=region.place if region else kind.place,
        gpu_count=gpu_count,
        gpu_memory=quantity(memory[1]) if memory else None,
        vcpus=specs.get("vcpus").decimal_or_none(),
        ram=_gibibytes(specs, "memory_gib"),
        disk=_gibibytes(specs, "storage_gib"),
        region_text=region["name"].text() if region else None,
        availability="in_stock" if region else "out_of_stock",
        availability_text=None if region else "regions_with_capacity_available is empty",
    )


def _gibibytes(specs: At, key: str) -> Quantity | None:
    amount = specs.get(key).decimal_or_none()
    return None if amount is None else Quantity(amount, "GiB")
