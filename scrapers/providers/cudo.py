"""CUDO Compute: machine types that are put together, through the open list of them.

There is no price of a machine, only of its parts, as texts in USD per hour: of a GPU, a vCPU, a GiB of memory, a GiB
of disk, an IPv4 address. The type says how many vCPUs one GPU may have (`minVcpuPerGpu` to `maxVcpuPerGpu`) and how
many vCPUs a GiB of memory (`minVcpuPerMemoryGib` to `maxVcpuPerMemoryGib`). Two machines of one GPU are added up from
that, and say so (evidence "derived"): the largest, with the most vCPUs and memory that a GPU may have, and the
smallest, which is a lower bound of what a machine with this GPU costs. The address and the disk are not in it; the
disk is an Extra of the data centre.

`maxGpuFree` are the GPUs that one machine can still have, `totalGpuFree` all that are free. Types without a GPU are
left out. A GPU that costs 0 has no price: the listing keeps the 0, and not the price of the other parts.

Shape of the answer as gpuhunt recorded it until 2026-06-12; whether the address still answers is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from scrapers.contract import Availability, Extra, Listing, Payload, PriceState, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="cudo",
    name="CUDO Compute",
    segment="marketplace",
    homepage="https://www.cudocompute.com/",
    pricing_url="https://www.cudocompute.com/",
    requests=(Request("machine_types", "https://rest.compute.cudo.org/v1/vms/machine-types"),),
    allowed_hosts=("rest.compute.cudo.org",),
    terms="unknown",
    terms_url="https://www.cudocompute.com/",
    terms_note="the list answered without a key until June 2026; terms not read",
    terms_reviewed_on=date(2026, 6, 18),
    last_proof="2026-06-12: answer recorded and parsed; not known whether the address still answers",
    min_listings=2,
    default_on=False,
    off_reason="last seen to answer on 2026-06-18; turn it on to try",
)


def parse(payload: Payload) -> Iterator[Listing | Extra]:
    """The largest and the smallest machine of one GPU of each type, then the disk prices of the data centres."""
    types = At(payload.part, read_json(payload))["machineTypes"]
    with_gpu = [row for row in types if row.get("gpuModel").text_or_none()]
    if not with_gpu:
        raise types.broken(f"none of {len(types)} machine types has a GPU")
    for row in with_gpu:
        yield _largest(row)
        yield _smallest(row)
    disks: dict[tuple[str, Decimal], Extra] = {}
    for row in with_gpu:
        disk = _disk(row)
        disks.setdefault((row["dataCenterId"].text(), disk.price), disk)
    yield from disks.values()


def _largest(row: At) -> Listing:
    vcpus = row["maxVcpuPerGpu"].decimal()
    memory_gib = _whole(vcpus / _ratio(row["minVcpuPerMemoryGib"]), ROUND_FLOOR)
    return _listing(row, "largest_per_gpu", "priced", vcpus, memory_gib)


def _smallest(row: At) -> Listing:
    vcpus = row["minVcpuPerGpu"].decimal()
    memory_gib = _whole(vcpus / _ratio(row["maxVcpuPerMemoryGib"]), ROUND_CEILING)
    return _listing(row, "smallest_per_gpu", "from_price", vcpus, memory_gib)


def _whole(amount: Decimal, rounding: str) -> Decimal:
    return Decimal(int(amount.to_integral_value(rounding)))


def _ratio(field: At) -> Decimal:
    ratio = field.decimal()
    if ratio <= 0:
        raise field.broken("vCPUs per GiB are not above 0")
    return ratio


def _listing(row: At, product: str, state: PriceState, vcpus: Decimal, memory_gib: Decimal) -> Listing:
    gpu, vcpu, gib = (
        row[name]["value"].decimal() for name in ("gpuPriceHr", "vcpuPriceHr", "memoryGibPriceHr")
    )
    availability, free = _stock(row)
    return Listing(
        provider="cudo",
        product=product,
        plan=row["machineType"].text(),
        gpu_text=row["gpuModel"].text(),
        gpu_count=Decimal(1),
        vcpus=vcpus,
        ram=Quantity(memory_gib, "GiB"),
        price=gpu + vcpus * vcpu + memory_gib * gib if gpu else gpu,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state=state,
        purchase="on_demand",
        region_text=row["dataCenterId"].text(),
        availability=availability,
        availability_text=None if free is None else f"maxGpuFree {row['maxGpuFree'].integer()}",
        available_count=free,
        evidence="derived",
        note=f"GPU {gpu}, vCPU {vcpu}, GiB of memory {gib} an hour, added up; IPv4 and disk are not in it",
        place=row.place,
    )


def _stock(row: At) -> tuple[Availability, int | None]:
    """Whether a machine with a GPU can be had, and how many GPUs are free."""
    most = row.get("maxGpuFree").integer_or_none()
    if most is None:
        return "unknown", None
    total = row.get("totalGpuFree").integer_or_none()
    return ("in_stock", most if total is None else total) if most > 0 else ("out_of_stock", 0)


def _disk(row: At) -> Extra:
    return Extra(
        provider="cudo",
        kind="storage",
        name="disk",
        price=row["minStorageGibPriceHr"]["value"].decimal(),
        currency="USD",
        per="gib_hour",
        region_text=row["dataCenterId"].text(),
        place=row.place,
    )
