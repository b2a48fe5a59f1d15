"""Cerebrium: the public price page, data of its calculator.

Prices are in USD per GPU and second, up to eight GPUs a container; vCPUs and memory are billed on top, and a plan
fee. The list prices are those of machines that may be interrupted, which the page does not say but the
documentation does; protected ones cost twice as much, and are not on the page. VRAM is of one GPU; the numbers of
vCPUs and of memory are the most that can be had, not what is included, and are not read. "CPU only" has the rate 0
and is left out. Storage is 0.05 USD per GB and month above 100 GB, in the visible list only. No stock, no regions.

The calculator is an `astro-island` whose `props` hold every value as [kind, value]. Shape as on the page of
2026-08-19, which was read in a public archive of it. The visible list of prices was not in the parts that were read.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, embedded_json, html

URL = "https://www.cerebrium.ai/pricing"

SOURCE = Source(
    id="cerebrium",
    name="Cerebrium",
    segment="serverless",
    homepage="https://www.cerebrium.ai/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("www.cerebrium.ai", "cerebrium.ai"),
    terms="unknown",
    terms_url="https://www.cerebrium.ai/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 10, 7),
    last_proof="2026-08-19: parts of the page read in a public archive; no answer recorded",
    min_listings=4,
    billing_increment_s=1,
    billing_source="https://docs.cerebrium.ai/calculating-cost",
)

CALCULATOR = "astro-island[component-export=PricingCalculator]"
CONFIG = '"config":[0,'


def parse(payload: Payload) -> list[Listing]:
    """One listing for each hardware of the calculator with VRAM.

    Raises:
        PayloadShapeError: No calculator, a field is missing or of another kind, or no GPU.
    """
    island = html(payload).select_one(CALCULATOR)
    props = str(island.get("props", "")) if island else ""
    config = At(payload.part, embedded_json(payload.part, props, CONFIG), "config")
    note = (
        f"on top: {_inner(config['cpuCostPerVcpuPerSecond']).decimal():f} USD per vCPU-second,"
        f" {_inner(config['memoryCostPerGBPerSecond']).decimal():f} USD per GB-second; protected costs twice"
    )
    hardware = [_inner(entry) for entry in _inner(config["hardware"])]
    listings = [_listing(entry, note) for entry in hardware if _inner(entry["vramGB"]).decimal() != 0]
    if not listings:
        raise PayloadShapeError(payload.part, "config.hardware", f"none of {len(hardware)} entries has VRAM")
    return listings


def _inner(value: At) -> At:
    """The value of a pair [kind, value]."""
    return value[1]


def _listing(entry: At, note: str) -> Listing:
    label = _inner(entry["label"]).text()
    return Listing(
        provider="cerebrium",
        product="interruptible",
        plan=label,
        gpu_text=label,
        price=_inner(entry["ratePerSecond"]).decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="second",
        purchase="spot",
        place=entry.place,
        gpu_count=Decimal(1),
        gpu_memory=Quantity(_inner(entry["vramGB"]).decimal(), "GB"),
        availability="listed_only",
        note=note,
    )
