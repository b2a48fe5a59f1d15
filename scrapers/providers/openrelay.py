"""OpenRelay: virtual machines, on the public page with the price calculator, or with a key through its API.

Prices are per GPU and hour, billed by the second; traffic is free. The API has them in US cents, one row for each model
and tier, whose name says whether it is spot or a commitment. A second answer has what can be had: GPUs that are free
for a machine (`vm`). Those that only clusters can use (`cluster`) and the list of nodes are not read. CPU prices are
left out.

Of the page the text is known, and not the markup: a name with its memory and then the price, "RTX 4090 24GB $0.29 /hr".
An example of a monthly bill and prices of other clouds for comparison stand on it too, so a price counts only directly
behind a name with memory, and two different prices for one name are an error.

Shape of the API by its published description of 2026; text of the page by a transcription of 2026-09-20.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Listing, Payload, PurchaseKind, Quantity, Request, Source, Stock
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, decode, html, money, quantity, read_json, text

URL = "https://openrelay.inc/gpu-pricing-calculator"
API = "https://api.openrelay.inc/v1"

SOURCE = Source(
    id="openrelay",
    name="OpenRelay",
    segment="neocloud",
    homepage="https://openrelay.inc/",
    pricing_url=URL,
    requests=(Request("calculator", URL),),
    keyed_requests=(
        Request("pricing", f"{API}/pricing"),
        Request("availability", f"{API}/gpu-availability"),
    ),
    auth=Auth("OPENRELAY_API_KEY"),
    allowed_hosts=("openrelay.inc", "api.openrelay.inc"),
    terms="unknown",
    terms_url="https://openrelay.inc/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-09-20: text of the page transcribed, API documented; no answer recorded",
    min_listings=2,
    billing_increment_s=1,
    billing_source=URL,
)

CENTS_PER_USD = 100
ROW = re.compile(
    r"(?<![\w-])((?:RTX (?:PRO |A)?\d{4}(?: Ada)?|[ABHL]\d{2,3}S?|MI\d{3}X)(?: SXM| PCIe| NVL)? (\d{2,3}GB)) "
    r"(\$\d{1,3}\.\d{2} ?/ ?hr)\b"
)
ANY_ROW = re.compile(r"\d{2,3}GB \$\d{1,3}\.\d{2} ?/ ?hr\b")
SPOT = re.compile(r"spot|preempt|interrupt", re.IGNORECASE)
RESERVED = re.compile(r"reserv|commit|term|month|year", re.IGNORECASE)


def parse(payload: Payload) -> list[Listing] | list[Stock]:
    """The GPUs of the page, or of the price answer of the API, or their stock.

    Raises:
        PayloadShapeError: No GPU, two prices for one, or a field that is missing or of another kind.
    """
    if not decode(payload).lstrip().startswith(("[", "{")):
        return _page(payload)
    answer = At(payload.part, read_json(payload))
    if isinstance(answer.value, list):
        return _stock(answer)
    listings = [_listing(row) for row in answer["gpu"]]
    if not listings:
        raise answer["gpu"].broken("no GPU")
    return listings


def _listing(row: At) -> Listing:
    model, tier = row["gpuModelId"].text(), row["tier"].text()
    memory = row.get("vramGb").decimal_or_none()
    return _offer(
        model,
        row.get("gpuModelName").text_or_none() or model,
        None if memory is None else Quantity(memory, "GB"),
        row["pricePerHourCents"].decimal() / CENTS_PER_USD,
        _purchase(tier),
        f"tier: {tier}",
        row.place,
    )


def _purchase(tier: str) -> PurchaseKind:
    if SPOT.search(tier):
        return "spot"
    return "reserved" if RESERVED.search(tier) else "on_demand"


def _stock(answer: At) -> list[Stock]:
    rows = [
        Stock(
            provider="openrelay",
            plan=row["gpuModelId"].text(),
            region_text=None,
            availability="in_stock" if free > 0 else "out_of_stock",
            availability_text=f"free GPUs: {free}",
            place=row.place,
        )
        for row in answer
        for free in [row["vm"]["freeGpus"].integer()]
    ]
    if not rows:
        raise answer.broken("no GPU")
    return rows


def _page(payload: Payload) -> list[Listing]:
    found: dict[str, tuple[Quantity | None, Decimal]] = {}
    shown = text(html(payload))
    rows = list(ROW.finditer(shown))
    if len(rows) != len(ANY_ROW.findall(shown)):
        raise PayloadShapeError(payload.part, "text", "a price behind a memory whose GPU is not understood")
    for row in rows:
        said = money(row[3])
        place = f"'{row[1]}'"
        if said.amount is None:
            raise PayloadShapeError(payload.part, place, f"{short(row[3])} is not a price")
        if found.setdefault(row[1], (quantity(row[2]), said.amount))[1] != said.amount:
            raise PayloadShapeError(payload.part, place, "two different prices")
    if not found:
        raise PayloadShapeError(
            payload.part, "text", "no GPU with a price, such as 'RTX 4090 24GB $0.29 /hr'"
        )
    return [
        _offer(name, name, memory, price, "on_demand", None, f"'{name}'")
        for name, (memory, price) in found.items()
    ]


def _offer(
    plan: str,
    name: str,
    memory: Quantity | None,
    price: Decimal,
    purchase: PurchaseKind,
    note: str | None,
    place: str,
) -> Listing:
    return Listing(
        provider="openrelay",
        product="gpu",
        plan=plan,
        gpu_text=name,
        gpu_count=Decimal(1),
        gpu_memory=memory,
        price=price,
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase=purchase,
        availability="listed_only",
        egress_price_per_gb=Decimal(0),
        note=note,
        place=place,
    )
