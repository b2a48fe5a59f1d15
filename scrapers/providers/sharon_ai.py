"""Sharon AI: compute profiles of a project, through its console, which needs a key and the name of the project.

The rate card of a profile is in AUD for the whole instance, with a unit of time: "h" for an hour, "mo" for a month.
The number of GPUs is the variable "Guest GPU Count"; developer pods have no variables, and the name that is shown
says both, "2 x H100 GPU". vCPUs and memory (MB) are variables too. Addresses and disks are billed beside it. Profiles
that do not say a GPU are left out; one without a rate is a listing without a price.

"od-" before the name means on demand. What other names mean is not documented: they are taken for reservations
without a stated term, so that they are never shown as on demand. `metadata.count` is the number of profiles there
are; the request asks for 200, and a list that is cut shows by it.

Shape as a collector recorded three profiles of it in 2026; the monthly unit was not seen in an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Listing, PageCount, Payload, PriceUnit, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="sharon_ai",
    name="Sharon AI",
    segment="neocloud",
    homepage="https://sharonai.com/",
    pricing_url="https://sharonai.com/",
    requests=(),
    keyed_requests=(
        Request(
            "profiles",
            "https://console.compute.sharonai.cloud/apis/paas.envmgmt.io/v1/projects/{project}/computeprofiles?limit=200",
        ),
    ),
    auth=Auth(
        "SHARON_AI_API_KEY",
        header="X-API-KEY",
        template="{key}",
        address_env=(("project", "SHARON_AI_PROJECT"),),
    ),
    allowed_hosts=("console.compute.sharonai.cloud",),
    terms="unknown",
    terms_url="https://sharonai.com/",
    terms_note="the API is documented for its customers; terms not read",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: three profiles recorded by a collector; no whole answer recorded",
    min_listings=1,
)

UNITS: dict[str, PriceUnit] = {"h": "hour", "d": "day", "mo": "month"}
GPUS_IN_NAME = re.compile(r"\b(\d{1,3}) x ([A-Za-z0-9][A-Za-z0-9 .+-]{0,40}?)(?= (?:VM|GPU)\b| - |$)")
LONGEST_NAME = 200


def parse(payload: Payload) -> Iterator[Listing | PageCount]:
    """The profiles with GPUs, one listing for each rate, and how many profiles there are."""
    top = At(payload.part, read_json(payload))
    items = top["items"]
    declared = top["metadata"].get("count").integer_or_none()
    if declared is not None:
        yield PageCount(
            list_name="computeprofiles", declared=declared, rows=len(items), place="metadata.count"
        )
    listings = [listing for item in items for listing in _listings(item)]
    if not listings:
        raise items.broken(f"none of {len(items)} profiles says a GPU")
    yield from listings


def _listings(item: At) -> Iterator[Listing]:
    shown = item["metadata"]["displayName"].text()[:LONGEST_NAME]
    variables = _variables(item)
    named = GPUS_IN_NAME.search(shown)
    counted = variables.get("Guest GPU Count")
    count = counted.decimal() if counted else Decimal(named[1]) if named else Decimal(0)
    if not count:
        return
    gpu = named[2] if named else shown
    rates = item["status"]["globalSettings"]["billing"]["ratecard"].get("instance")
    for rate in rates if rates.value else (None,):
        yield _listing(item, gpu, count, variables, rate)


def _variables(item: At) -> dict[str, At]:
    rows = item["spec"].get("variables")
    return {row["name"].text(): row["value"] for row in rows} if rows else {}


def _listing(item: At, gpu: str, count: Decimal, variables: dict[str, At], rate: At | None) -> Listing:
    name = item["metadata"]["name"].text()
    is_on_demand = name.startswith("od-")
    vcpus, memory_mb = (variables.get(key) for key in ("Guest CPU Count", "Guest Memory Size"))
    notes = [
        None if is_on_demand else "not named as on demand",
        None if rate else "no rate for the instance",
    ]
    return Listing(
        provider="sharon_ai",
        product="compute_profiles",
        plan=name,
        gpu_text=gpu,
        gpu_count=count,
        vcpus=vcpus.decimal() if vcpus else None,
        ram=Quantity(memory_mb.decimal(), "MB") if memory_mb else None,
        price=rate["price"].decimal() if rate else None,
        currency=rate["currency"].text() if rate else None,
        price_per="instance",
        price_unit=_unit(rate["time_unit"]) if rate else "hour",
        purchase="on_demand" if is_on_demand else "reserved",
        note="; ".join(note for note in notes if note) or None,
        place=rate.place if rate else item.place,
    )


def _unit(field: At) -> PriceUnit:
    unit = UNITS.get(field.text())
    if unit is None:
        raise field.broken(f"{field.text()[:20]!r} is none of {', '.join(UNITS)}")
    return unit
