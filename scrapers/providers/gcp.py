"""Google Compute Engine, through a mirror: the price file of the Cyclenerd cost calculator (Apache-2.0).

Google's own price list needs an API key. The mirror adds up its parts (cores, memory, GPU, bundled SSD) about
once a week, and `about.timestamp` says when. For each machine type and region it has USD per machine: `hour`,
`hour_spot`, and `month_1y` and `month_3y`, which are 730 hours of a one and a three year resource commitment.
`month` and `month_spot` are the hourly prices again. Any can be missing: a2-ultragpu has no commitment. A price
of 0 is passed on as said.

* The accelerator is a key of its own beside `cpu`, `ram` and `local-ssd`, and its value is the count, with
  fractions: `l4: 1`, `h100-80gb-mega: 8`, `rtx6000: 0.125`. `rtx6000` is short for what Google's bill calls
  "RTX 6000 96GB", the RTX PRO 6000 of G4; left short it would name a Quadro.
* Accelerator machines are the families a* and g*; all others are left out. TPUs, and GPUs that are attached to
  N1, are not in the file.
* The sum of the parts is printed as `hour` for types that Google does not sell on demand as well (A4, A3 Ultra,
  and A3 High below eight GPUs): these are "listed_only".
* A spot price above the on-demand price can occur; it is passed on as said.

The file names no units of memory. Google's pages write GB and mean 2^30 bytes, and GiB for local SSD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from scrapers.contract import Listing, Payload, PriceUnit, PurchaseKind, Quantity, Record, Request, Source
from scrapers.readers import At, read_yaml

SOURCE = Source(
    id="gcp",
    name="Google Compute Engine (price mirror)",
    segment="hyperscaler",
    homepage="https://cloud.google.com/",
    pricing_url="https://cloud.google.com/compute/gpus-pricing",
    requests=(
        Request(
            "pricing",
            "https://raw.githubusercontent.com/Cyclenerd/google-cloud-pricing-cost-calculator/master/pricing.yml",
        ),
    ),
    allowed_hosts=("raw.githubusercontent.com",),
    terms="open",
    terms_url="https://cloud.google.com/billing/docs/reference/pricing-api",
    terms_note="The Cloud Billing Catalog API is meant for this; the mirror is Apache-2.0. Page terms were not read.",
    terms_reviewed_on=date(2026, 7, 30),
    last_proof="2026-07-30: file of the mirror recorded and parsed",
    min_listings=500,
    basis="mirror",
    billing_increment_s=1,
    billing_minimum_s=60,
    billing_source="https://cloud.google.com/compute/gpus-pricing",
)

ACCELERATED_TYPE = re.compile(r"[ag]\d+x?-")
# Flex-start, spot and reservations only: https://cloud.google.com/compute/docs/accelerator-optimized-machines,
# its table of consumption options as dstackai/gpuhunt read it on 2026-08-19.
NOT_ON_DEMAND = re.compile(r"a4x?-|a3-ultragpu-|a3-highgpu-[124]g")
FULL_NAMES = {"rtx6000": "RTX 6000 96GB"}
OTHER_KEYS = frozenset({"cost", "cpu", "ram", "local-ssd"})
PRICES: dict[str, tuple[PurchaseKind, PriceUnit, int | None]] = {
    "hour": ("on_demand", "hour", None),
    "hour_spot": ("spot", "hour", None),
    "month_1y": ("reserved", "month", 12),
    "month_3y": ("reserved", "month", 36),
}


def parse(payload: Payload) -> Iterator[Record]:
    """On-demand, spot and committed listings of the accelerator machines.

    Raises:
        PayloadShapeError: No `compute.instance`, an accelerator machine without exactly one accelerator, or a
            price that is not a number.
    """
    top = At(payload.part, read_yaml(payload))
    as_of = _day(top["about"]["timestamp"])
    for plan, machine in top["compute"]["instance"].items():
        if not ACCELERATED_TYPE.match(plan):
            continue
        hardware = _hardware(machine)
        for region, prices in machine["cost"].items():
            for key, (purchase, unit, term_months) in PRICES.items():
                price = prices.get(key).decimal_or_none()
                if price is None:
                    continue
                is_sum_only = purchase == "on_demand" and NOT_ON_DEMAND.match(plan)
                yield Listing(
                    provider="gcp",
                    plan=plan,
                    price=price,
                    currency="USD",
                    price_per="instance",
                    price_unit=unit,
                    purchase=purchase,
                    term_months=term_months,
                    region_text=region,
                    availability="listed_only" if is_sum_only else "unknown",
                    note="sum of its parts; Google does not sell this type on demand"
                    if is_sum_only
                    else None,
                    evidence="mirror",
                    as_of=as_of,
                    place=prices.get(key).place,
                    **hardware,
                )


def _day(timestamp: At) -> date:
    try:
        return datetime.fromtimestamp(timestamp.integer(), UTC).date()
    except (OverflowError, ValueError, OSError):
        raise timestamp.broken("is no time in seconds since 1970") from None


def _hardware(machine: At) -> dict[str, Any]:
    """The fields of a listing that hold in every region."""
    accelerators = [(key, value) for key, value in machine.items() if key not in OTHER_KEYS]
    if len(accelerators) != 1:
        found = ", ".join(key for key, _ in accelerators) or "none"
        raise machine.broken(f"one accelerator is due, found {found}")
    name, count = accelerators[0]
    return {
        "gpu_text": FULL_NAMES.get(name, name),
        "gpu_count": count.decimal(),
        "vcpus": machine["cpu"].decimal(),
        "ram": _gib(machine["ram"].decimal()),
        "disk": _gib(machine.get("local-ssd").decimal_or_none()),
    }


def _gib(amount: Decimal | None) -> Quantity | None:
    return Quantity(amount, "GiB") if amount is not None else None
