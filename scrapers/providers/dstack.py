"""dstack's catalogs of several clouds, as its tool gpuhunt collects them each hour: a zip with one CSV for each.

A catalog, not the clouds themselves. The first answer of a cloud is the version, "20261129-12345", whose first eight
digits are its day; the second is the zip of that version. The CSV is named after the cloud. Prices are in USD per
instance and hour, one row for each instance type, location and kind (`spot` is True or False); `gpu_memory` is GB of
one card, `memory` and `disk_size` are GB. Names of GPUs are short: "A100" and "H100" do not say their form. Rows
without a GPU are left out.

Rows that are flagged "dws" are booked windows of Google, neither on demand nor spot: reservations without a term.
GCP's catalog is not asked for: a collector found its prices far below those of the bill on 2026-09-15, and rows of
edge appliances in it. All clouds that are asked for have a source of their own here, and no licence is stated for the
data, so it is off; it is a witness to compare with.

Shape as gpuhunt writes it on 2026-08-19 and a collector read it on 2026-09-15; no zip was recorded.
"""

from __future__ import annotations

import dataclasses
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, read_csv

CATALOGS = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3"
# The folder of each cloud, and our id of it.
PROVIDERS = {
    "aws": "aws",
    "azure": "azure",
    "cloudrift": "cloudrift",
    "lambdalabs": "lambda",
    "nebius": "nebius",
    "oci": "oracle",
    "runpod": "runpod",
    "verda": "verda",
}

SOURCE = Source(
    id="dstack",
    name="dstack catalog (gpuhunt)",
    segment=None,
    homepage="https://github.com/dstackai/gpuhunt",
    pricing_url="https://github.com/dstackai/gpuhunt",
    requests=tuple(Request(f"version-{cloud}", f"{CATALOGS}/{cloud}/version") for cloud in PROVIDERS),
    allowed_hosts=("dstack-gpu-pricing.s3.eu-west-1.amazonaws.com",),
    terms="unknown",
    terms_url="https://github.com/dstackai/gpuhunt/blob/main/LICENSE",
    terms_note="the program is MPL-2.0; no licence is stated for the data, which are public",
    terms_reviewed_on=date(2026, 8, 19),
    last_proof="2026-09-15: read by a collector; no archive recorded",
    min_listings=100,
    max_body_mb=16,
    basis="catalog",
    default_on=False,
    off_reason="a witness: all its clouds have a source of their own, and no licence is stated for the data",
)

VERSION = re.compile(rb"\s*(20\d{6}(?:-\d{1,9})?)\s*")
VERSION_ADDRESS = re.compile(re.escape(CATALOGS) + r"/([a-z]+)/version")
DAY_IN_ADDRESS = re.compile(r"/(20\d\d)(\d\d)(\d\d)(?:-\d+)?/catalog\.zip$")
LARGEST_CSV_BYTES = 16 * 1024 * 1024
KINDS: dict[str, PurchaseKind] = {"true": "spot", "false": "on_demand"}


def parse(payload: Payload) -> Iterator[Listing]:
    """The GPU rows of a catalog; none of a version, which is checked."""
    if VERSION.fullmatch(payload.body):
        return
    cloud, table = _table(payload)
    day = _day(payload.url)
    found = False
    for index, cells in enumerate(read_csv(table)):
        if cells.get("gpu_count") == "0":
            continue  # most rows of a catalog, before anything is made of them
        row = At(payload.part, cells, f"{cloud}.csv row {index + 1}")
        if _number(row["gpu_count"]) and row["gpu_name"].text_or_none():
            found = True
            yield _listing(PROVIDERS[cloud], row, day, payload.url)
    if not found:
        raise PayloadShapeError(payload.part, f"{cloud}.csv", "no row has a GPU")


def follow(payload: Payload) -> Iterator[Request]:
    """The catalog of the version that a cloud has."""
    version, address = VERSION.fullmatch(payload.body), VERSION_ADDRESS.fullmatch(payload.url)
    if version and address:
        cloud = address[1]
        yield Request(f"catalog-{cloud}", f"{CATALOGS}/{cloud}/{version[1].decode()}/catalog.zip")


def _table(payload: Payload) -> tuple[str, Payload]:
    """The cloud that a zip is of, and its CSV.

    The size that a zip states is not believed: no more is unpacked than the largest table there can be.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(payload.body)) as archive:
            member = next(
                (one for one in archive.infolist() if one.filename.removesuffix(".csv") in PROVIDERS), None
            )
            if member is None:
                raise PayloadShapeError(payload.part, "zip", f"no CSV of {', '.join(PROVIDERS)}")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise PayloadShapeError(payload.part, "zip", "packed in a way that no catalog is")
            with archive.open(member) as file:
                body = file.read(LARGEST_CSV_BYTES + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        raise PayloadShapeError(payload.part, "zip", f"not a zip: {error}") from None
    if len(body) > LARGEST_CSV_BYTES:
        raise PayloadShapeError(payload.part, "zip", f"unpacks to more than {LARGEST_CSV_BYTES} bytes")
    return member.filename.removesuffix(".csv"), dataclasses.replace(payload, body=body, content_type="")


def _day(url: str) -> date | None:
    """The day of the version in the address of a catalog."""
    found = DAY_IN_ADDRESS.search(url)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def _number(cell: At) -> Decimal | None:
    return None if cell.text_or_none() is None else cell.decimal()


def _listing(provider: str, row: At, day: date | None, url: str) -> Listing:
    kind = KINDS.get(row["spot"].text().lower())
    if kind is None:
        raise row["spot"].broken("neither True nor False")
    is_window = "dws" in (row["flags"].text_or_none() or "").lower()
    return Listing(
        provider=provider,
        product="booked_window" if is_window else None,
        plan=row["instance_name"].text(),
        gpu_text=row["gpu_name"].text(),
        gpu_count=row["gpu_count"].decimal(),
        gpu_memory=_gigabytes(row["gpu_memory"]),
        vcpus=_number(row["cpu"]),
        ram=_gigabytes(row["memory"]),
        disk=_gigabytes(row["disk_size"]),
        price=row["price"].decimal(),
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="reserved" if is_window else kind,
        region_text=row["location"].text_or_none(),
        availability="listed_only",
        evidence="second_hand",
        as_of=day,
        source_url=url if day else None,
        place=row.place,
    )


def _gigabytes(cell: At) -> Quantity | None:
    amount = _number(cell)
    return None if amount is None else Quantity(amount, "GB")
