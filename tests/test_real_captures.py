"""Every recorded file is read by the source it is from, or says why it is no answer of one.

`real_captures.csv` has a row for each file. The numbers of records were counted in the files by another way than
the parsers: with a search for the rows, with jq, or by eye.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scrapers import registry
from scrapers.contract import Listing, Payload
from scrapers.errors import PayloadShapeError
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

REAL = Path(__file__).parents[2] / "shared" / "captures"
TABLE = Path(__file__).parent / "real_captures.csv"
FETCHED_AT = datetime(2026, 11, 30, 2, tzinfo=UTC)
SOURCE_OF_FOLDER = {"fx": "ecb", "primeintellect": "prime_intellect", "yotta": "yottalabs"}

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="../shared/captures is not beside this checkout")


def rows() -> dict[str, dict[str, str]]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {row["path"]: row for row in csv.DictReader(file)}


ROWS = rows()
READ = [path for path, row in ROWS.items() if row["source_id"]]
REFUSED = [path for path, row in ROWS.items() if row["reason"]]


def payload(source_id: str, path: str, part: str = "") -> Payload:
    """The file as an answer to the request of that part, or to the first one."""
    source = registry.load_one(source_id).SOURCE
    requests = (*source.requests, *source.keyed_requests)
    asked = next((request for request in requests if request.part == part), requests[0])
    return Payload(
        source_id=source_id,
        part=part or Path(path).stem,
        url=asked.url,
        fetched_at=FETCHED_AT,
        body=(REAL / path).read_bytes(),
    )


def sources_of(folder: str) -> list[str]:
    """The sources of the provider that a folder is named after, and the catalogs of many providers."""
    name = SOURCE_OF_FOLDER.get(folder, folder)
    sources = [module.SOURCE for module in registry.load().values()]
    return [
        source.id
        for source in sources
        if name in (source.id, source.provider)
        or source.id.startswith(f"{name}_")
        or source.basis == "catalog"
    ]


def unpaired(files: set[str], named: set[str]) -> list[str]:
    return sorted(files ^ named)


def wrong_counts(row: dict[str, str], listings: int, others: int) -> list[str]:
    found = {"listings": listings, "other_records": others}
    return [
        f"{key}: {row[key]} in the file, {value} read"
        for key, value in found.items()
        if int(row[key]) != value
    ]


def test_each_file_has_a_row_and_each_row_a_file_and_one_thing_to_say() -> None:
    files = {
        path.relative_to(REAL).as_posix()
        for path in REAL.rglob("*")
        if path.is_file() and not path.name.startswith("PROVENANCE-")
    }
    assert unpaired(files, set(ROWS)) == []
    assert unpaired({*files, "vast/new.json"}, set(ROWS)) == ["vast/new.json"]  # the control
    assert [path for path, row in ROWS.items() if bool(row["source_id"]) == bool(row["reason"])] == []
    with TABLE.open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(ROWS)


@pytest.mark.parametrize("path", READ)
def test_a_file_gives_as_many_records_as_it_holds_and_each_listing_an_offering_or_a_reject(path: str) -> None:
    row = ROWS[path]
    asked = payload(row["source_id"], path, row["part"])
    module = registry.load_one(row["source_id"])
    records = list(module.parse(asked))
    listings = sum(isinstance(record, Listing) for record in records)
    assert wrong_counts(row, listings, len(records) - listings) == []
    made = listing_frame(records, asked)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        extras=made.extras,
        rates=made.rates,
        night=FETCHED_AT.date(),
        segments={module.SOURCE.id: module.SOURCE.segment},
    )
    assert normal.offerings.height + normal.rejects.height == listings


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_no_answer_is_a_named_error_and_never_no_rows(path: str) -> None:
    sources = sources_of(path.split("/")[0])
    assert sources
    for source_id in sources:
        with pytest.raises(PayloadShapeError) as error:
            list(registry.load_one(source_id).parse(payload(source_id, path)))
        assert error.value.place
        assert "\n" not in str(error.value)


def test_control_a_row_too_few_or_too_many_is_seen() -> None:
    row = ROWS["runpod/pricing_2025-09-09_excerpt.html"]
    assert wrong_counts(row, 10, 0) == []
    assert wrong_counts(row, 9, 0) == ["listings: 10 in the file, 9 read"]
    assert wrong_counts(row, 10, 1) == ["other_records: 0 in the file, 1 read"]


def test_control_a_file_with_an_answer_is_not_refused() -> None:
    path = "vultr/plans_vcg_excerpt.json"
    assert sources_of("vultr")[0] == "vultr" or "vultr" in sources_of("vultr")
    assert list(registry.load_one("vultr").parse(payload("vultr", path)))
