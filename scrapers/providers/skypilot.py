"""SkyPilot's catalogs of many clouds: CSV files that its project keeps (Apache-2.0).

A catalog, not the clouds themselves: some files are renewed each night and others are months old, and none says when.
So a listing has no day, and its evidence is second hand. Prices are in USD per instance and hour, `SpotPrice` beside
`Price`; an empty price is a way that is not sold. Only rows with an accelerator are read.

* The order of the columns differs by cloud, some files have CRLF, and in Azure's an unquoted "V1,V2" in the last
  column makes rows longer than the first.
* `GpuInfo` is a Python dict as text, with single or double quotes, or only a name. `SizeInMiB` is the memory of one
  card; the total and the count beside it are wrong in some files (Yotta, Lambda). The number of cards is
  `AcceleratorCount`, which may be 1.0, a fraction of a card, or 0 on rows without one.
* GCP's rows without an `InstanceType` are the accelerator alone; the machine that it is attached to is priced apart.
  They are lower bounds. TPUs are left out: 1 is a whole slice there, and the number in its name counts cores or chips.
* Lambda's file repeats each type for every region, whether it can be had there or not: it is one listing, with no
  region.
* Mithril's prices are the reserve price of its auction, 1 dollar a GPU: bid floors, and no price on demand.
* Spheron resells: `Provider` is the cloud behind it, and its own names of GPUs are now and then wrong: an
  "a100_SXM4" is called A100_80G_PCIE. Where the name of the type says another form of card, that name is the GPU's.
* The name of a type may say the form where the short name of the GPU does not ("gpu_2x_h100_sxm5").
* A spot price of 0, or one above the price on demand, is said as it stands.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, PriceState, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, decode

CATALOGS = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs/v8"
# The folder of each cloud, and our id of it.
PROVIDERS = {
    "azure": "azure",
    "gcp": "gcp",
    "hyperstack": "hyperstack",
    "jarvislabs": "jarvislabs",
    "lambda": "lambda",
    "mithril": "mithril",
    "nebius": "nebius",
    "spheron": "spheron",
    "vast": "vast",
    "yotta": "yottalabs",
}
# The cloud behind a row of Spheron; others keep their own name.
UPSTREAMS = {"data-crunch": "verda", "massed-compute": "massed_compute"}

SOURCE = Source(
    id="skypilot",
    name="SkyPilot catalog",
    segment=None,
    homepage="https://github.com/skypilot-org/skypilot-catalog",
    pricing_url="https://github.com/skypilot-org/skypilot-catalog",
    requests=tuple(Request(cloud, f"{CATALOGS}/{cloud}/vms.csv") for cloud in PROVIDERS),
    allowed_hosts=("raw.githubusercontent.com",),
    terms="open",
    terms_url="https://github.com/skypilot-org/skypilot-catalog/blob/master/LICENSE",
    terms_note="Apache-2.0",
    terms_reviewed_on=date(2026, 10, 27),
    last_proof="2026: files of ten clouds recorded and parsed, four of them as another project keeps them",
    min_listings=100,
    basis="catalog",
    max_body_mb=24,
)

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "GpuInfo", "Price", "SpotPrice", "Region")
CLOUD_IN_ADDRESS = re.compile(r"/catalogs/v\d+/([a-z]+)/vms\.csv")
FORM = re.compile(r"(?<![A-Za-z])(?:sxm\d?|pcie)(?![A-Za-z])", re.IGNORECASE)
MEMORY = re.compile(r"""["']SizeInMiB["']: ?(\d{1,9})\b""")


def parse(payload: Payload) -> Iterator[Listing]:
    """The rows with an accelerator, on demand and as spot."""
    cloud = _cloud(payload)
    rows = [row for row in _rows(payload) if _has_card(row)]
    if not rows:
        raise PayloadShapeError(payload.part, "AcceleratorName", "no row has an accelerator")
    for row in _distinct(rows) if cloud == "lambda" else rows:
        for purchase, price, state in _ways(cloud, row):
            yield _listing(cloud, row, purchase, price, state, payload.url)


def _distinct(rows: list[At]) -> Iterator[At]:
    """The first row of each type and price."""
    seen: set[tuple[object, ...]] = set()
    for row in rows:
        key = tuple(row[name].value for name in ("InstanceType", "Price", "SpotPrice"))
        if key not in seen:
            seen.add(key)
            yield row


def _cloud(payload: Payload) -> str:
    """The folder that a file is from: by its address, or by the part, for its columns do not say."""
    in_address = CLOUD_IN_ADDRESS.search(payload.url)
    cloud = in_address[1] if in_address else payload.part
    if cloud not in PROVIDERS:
        problem = f"neither the address nor the part names one of {', '.join(PROVIDERS)}"
        raise PayloadShapeError(payload.part, "cloud", problem)
    return cloud


def _rows(payload: Payload) -> Iterator[At]:
    """The rows by the names of the first one; what a row has more is part of its last cell."""
    reader = csv.reader(io.StringIO(decode(payload), newline=""))
    try:
        names = next(reader, [])
        if missing := [name for name in COLUMNS if name not in names]:
            raise PayloadShapeError(payload.part, "line 1", f"no column {', '.join(missing)}")
        if len(set(names)) != len(names):
            raise PayloadShapeError(payload.part, "line 1", "two columns of one name")
        for row in reader:
            place = f"line {reader.line_num}"
            if row and len(row) < len(names):
                problem = f"{len(row)} cells where the first row has {len(names)}"
                raise PayloadShapeError(payload.part, place, problem)
            if row:
                last = ",".join(row[len(names) - 1 :])
                yield At(payload.part, dict(zip(names, [*row[: len(names) - 1], last], strict=True)), place)
    except csv.Error as error:
        raise PayloadShapeError(payload.part, f"line {reader.line_num}", str(error)) from None


def _has_card(row: At) -> bool:
    name = row["AcceleratorName"].text_or_none()
    return name is not None and not name.startswith("tpu-") and bool(_number(row["AcceleratorCount"]))


def _ways(cloud: str, row: At) -> Iterator[tuple[PurchaseKind, Decimal | None, PriceState]]:
    """How the instance is sold, and at what price."""
    price, spot_price = _number(row["Price"]), _number(row["SpotPrice"])
    if cloud == "mithril":
        yield "spot", spot_price, "bid_floor"
        return
    state: PriceState = "priced" if row["InstanceType"].text_or_none() else "from_price"
    if price is not None or spot_price is None:
        yield "on_demand", price, state
    if spot_price is not None:
        yield "spot", spot_price, state


def _listing(
    cloud: str, row: At, purchase: PurchaseKind, price: Decimal | None, state: PriceState, url: str
) -> Listing:
    gpu, count = row["AcceleratorName"].text(), row["AcceleratorCount"].decimal()
    plan = row["InstanceType"].text_or_none()
    memory = MEMORY.search(row["GpuInfo"].text_or_none() or "")
    form = FORM.search(plan or "")
    ram = _number(row.get("MemoryGiB"))
    upstream = row.get("Provider").text_or_none() if cloud == "spheron" else None
    return Listing(
        provider=PROVIDERS[cloud],
        plan=plan or f"{count.normalize():f}x {gpu}",
        gpu_text=_gpu_text(gpu, plan),
        gpu_count=count,
        gpu_memory=Quantity(Decimal(memory[1]), "MiB") if memory else None,
        form_factor_text=form[0] if form else None,
        vcpus=_number(row.get("vCPUs")),
        ram=None if ram is None else Quantity(ram, "GiB"),
        price=price,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        price_state=state,
        purchase=purchase,
        region_text=None if cloud == "lambda" else row["Region"].text_or_none(),
        zone_text=row.get("AvailabilityZone").text_or_none(),
        availability="listed_only",
        evidence="second_hand",
        source_url=url if CLOUD_IN_ADDRESS.search(url) else None,
        origin=UPSTREAMS.get(upstream, upstream) if upstream and upstream != "spheron-ai" else None,
        note=_note(cloud, plan),
        place=row.place,
    )


def _gpu_text(gpu: str, plan: str | None) -> str:
    """The name of the GPU, or of the plan, which is the cloud's own word, where it says another form of card."""
    in_name, in_plan = FORM.search(gpu), FORM.search(plan or "")
    is_other = in_name and in_plan and in_name[0][:3].lower() != in_plan[0][:3].lower()
    return plan if plan and is_other else gpu


def _number(cell: At) -> Decimal | None:
    return None if cell.text_or_none() is None else cell.decimal()


def _note(cloud: str, plan: str | None) -> str | None:
    if plan is None:
        return "the accelerator alone; the machine that it is attached to is priced apart"
    return {
        "lambda": "the catalog repeats it for every region",
        "mithril": "reserve price of the auction",
    }.get(cloud)
