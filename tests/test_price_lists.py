"""The price lists of AWS and Google that are put together from many rows: reservations, savings plans, machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scrapers.contract import LineFilter, Listing, Payload
from scrapers.errors import PayloadShapeError
from scrapers.lines import kept_lines
from scrapers.providers import aws_price_list, gcp_billing
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

CAPTURES = Path(__file__).parent / "captures"


def _payload(provider_id: str, file: str, **changes: Any) -> Payload:
    payload = Payload(
        source_id=provider_id,
        part=file.removeprefix("payload.").rsplit(".", 1)[0],
        url="https://example.com/",
        fetched_at=datetime(2026, 11, 30, 2, tzinfo=UTC),
        body=(CAPTURES / provider_id / file).read_bytes(),
    )
    return replace(payload, **changes)


# AWS: reservations and savings plans


PRICE_LIST = "payload.ec2_us-east-1.csv"
SAVINGS_PLANS = "payload.savings_plans_us-west-2.csv"


def _price_list(edit: Callable[[str], str] = lambda text: text, file: str = PRICE_LIST) -> list[Any]:
    plain = _payload("aws_price_list", file)
    return list(aws_price_list.parse(replace(plain, body=edit(plain.body.decode()).encode())))


def _without_place(records: list[Any]) -> list[Any]:
    return [replace(record, place="") for record in records]


@pytest.mark.parametrize(
    ("file", "lines"),
    [(PRICE_LIST, aws_price_list.MACHINES_AND_DISKS), (SAVINGS_PLANS, aws_price_list.LINUX_MACHINES)],
)
def test_aws_the_lines_that_are_kept_give_what_the_whole_list_gives(file: str, lines: LineFilter) -> None:
    whole = _payload("aws_price_list", file).body
    kept = b"".join(kept_lines(file, [whole], lines))
    assert len(kept.splitlines()) < len(whole.splitlines())
    parsed = list(aws_price_list.parse(replace(_payload("aws_price_list", file), body=kept)))
    assert _without_place(parsed) == _without_place(_price_list(file=file))


def test_aws_two_rows_of_a_reservation_are_one_listing() -> None:
    found = {
        (row.product, row.term_months, row.price, row.upfront)
        for row in _price_list()
        if isinstance(row, Listing) and row.plan == "p5.48xlarge"
    }
    assert found == {
        ("capacity_blocks", None, None, None),
        ("reserved_instance_standard", 12, Decimal("43.16"), None),
        ("reserved_instance_standard", 36, Decimal("12.65"), Decimal(332400)),
        ("reserved_instance_standard", 36, 0, Decimal(651504)),
        ("reserved_instance_convertible", 12, Decimal("47.2"), None),
    }


def test_aws_upfront_payments_are_spread_over_the_term() -> None:
    payload = _payload("aws_price_list", PRICE_LIST)
    made = listing_frame(aws_price_list.parse(payload), payload)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=date(2026, 11, 30),
        segments={"aws_price_list": "hyperscaler"},
    )
    per_gpu = sorted(
        row["price_usd_per_gpu_hour"]
        for row in normal.offerings.iter_rows(named=True)
        if row["plan"] == "p5.48xlarge"
    )
    assert per_gpu == [
        Decimal("3.098858"),  # 651,504 / 26,280 h / 8
        Decimal("3.162300"),  # (332,400 / 26,280 h + 12.65) / 8
        Decimal("5.395000"),  # 43.16 / 8
        Decimal("5.900000"),  # 47.20 / 8
    ]
    assert dict(normal.rejects.select("plan", "reason").rows()) == {
        "p5.48xlarge": "price_missing",  # the Capacity Block
        "g5.xlarge": "price_missing",  # its upfront row is not there
    }


def test_aws_no_two_savings_plans_are_one_offer() -> None:
    payload = _payload("aws_price_list", SAVINGS_PLANS)
    made = listing_frame(aws_price_list.parse(payload), payload)
    normal = normalise(
        made.listings, made.stock, made.interruptions, rates=made.rates, night=date(2026, 11, 30), segments={}
    )
    assert normal.offerings.height == made.listings.height == 6
    assert normal.offerings["offering_id"].n_unique() == 6


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"SKU",', '"sku",', "no row of column names that begins with SKU"),
        ('"3yr"', '"3 months"', "LeaseContractLength: '3 months' is no term"),
        ('"All Upfront"', '"Some Upfront"', "PurchaseOption: 'Some Upfront' is not one of"),
        ('"Quantity"', '"Lease"', "Unit: 'Lease' is neither Hrs nor Quantity"),
        ('"43.1600000000"', '"forty"', "PricePerUnit: 'forty' is not a number"),
        ('"Region Code"', '"Region"', r"Region Code.*missing"),
        (',"Quantity"', ',"Quantity","x"', "cells where the first row has"),
    ],
)
def test_aws_names_what_is_broken_in_a_price_list(old: str, new: str, problem: str) -> None:
    with pytest.raises(PayloadShapeError, match=problem):
        _price_list(lambda text: text.replace(old, new))


def test_aws_a_list_without_an_accelerator_is_an_error() -> None:
    for name in ("GPU instance", "Machine Learning ASIC Instances"):  # control: one of the two is enough
        assert _price_list(lambda text, name=name: text.replace(name, "x"))  # type: ignore[misc]
    with pytest.raises(PayloadShapeError, match="no accelerated Linux machine among them"):
        _price_list(
            lambda text: text.replace("GPU instance", "x").replace("Machine Learning ASIC Instances", "x")
        )


def test_aws_follows_the_index_to_the_lists_of_its_regions() -> None:
    index = _payload("aws_price_list", "payload.savings_plans.json")
    base = "https://pricing.us-east-1.amazonaws.com/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/20261126184447"
    asked = {request.part: request for request in aws_price_list.follow(index)}
    assert {part: request.url for part, request in asked.items()} == {
        f"savings_plans_{region}": f"{base}/{region}/index.csv"
        for region in ("us-east-1", "us-west-2", "eu-central-1")
    }
    assert all(request.keep_lines == aws_price_list.LINUX_MACHINES for request in asked.values())
    assert list(aws_price_list.follow(_payload("aws_price_list", PRICE_LIST))) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"/savingsPlan/v1.0", b"//evil.example", "is not the list of us-east-1"),
        (b"us-east-1/index.json", b"../index.json", "is not the list of us-east-1"),
        (b'"us-east-1"', b'"us-east-9"', "us-east-1 is not among the 4 regions"),
    ],
)
def test_aws_an_index_that_leads_elsewhere_is_an_error(old: bytes, new: bytes, problem: str) -> None:
    index = _payload("aws_price_list", "payload.savings_plans.json")
    broken = replace(index, body=index.body.replace(old, new))
    for ask in (aws_price_list.parse, aws_price_list.follow):
        with pytest.raises(PayloadShapeError, match=problem):
            list(ask(broken))


# Google's own list


def _own(file: str = "payload.skus_1.json", **edits: Any) -> Payload:
    return _payload("gcp_billing", file, **edits)


def _machines(payloads: list[Payload]) -> dict[tuple[str, str, str], Decimal | None]:
    records = [record for _, record in gcp_billing.parse_together(payloads)]
    listings = [record for record in records if isinstance(record, Listing)]
    return {(row.plan, row.region_text or "", row.purchase): row.price for row in listings}


def test_gcp_a_machine_is_the_sum_of_its_parts() -> None:
    found = _machines([_own()])
    # 12 x 0.031611 + 85 x 0.004237 + 2.933908
    assert found["a2-highgpu-1g", "us-central1", "on_demand"] == Decimal("3.673385")
    # 12 x 0.031611 + 170 x 0.004237 + 3.927 + 375 GiB x 0.08 / 730
    assert found["a2-ultragpu-1g", "us-central1", "on_demand"] == Decimal("5.0677178904")
    # 208 x 0.026924 + 1872 x 0.002344 + 8 x 10.344276 + 6000 GiB x 0.08 / 730: of cores and memory of its own
    assert found["a3-megagpu-8g", "us-central1", "on_demand"] == Decimal("93.3999022466")
    # 96 x 0.011063 + 680 x 0.001483 + 8 x 1.0268678
    assert found["a2-highgpu-8g", "us-central1", "reserved"] == Decimal("10.2854304")
    assert not [key for key in found if key[0] == "a2-ultragpu-1g" and key[1] != "us-central1"]


def test_gcp_parts_are_found_on_whatever_page_they_stand() -> None:
    whole = _own()
    skus = json.loads(whole.body)["skus"]
    odd, even = (replace(whole, body=json.dumps({"skus": skus[start::2]}).encode()) for start in (0, 1))
    assert _machines([odd, even]) == _machines([whole])
    assert _machines([odd]) != _machines([whole])  # control
    gpus = {
        id(page): page
        for page, record in gcp_billing.parse_together([odd, even])
        if isinstance(record, Listing)
    }
    assert len(gpus) == 2


def test_gcp_two_prices_of_one_part_are_none() -> None:
    found = _machines([_own("payload.skus_2.json")])
    assert found["g2-standard-4", "asia-northeast1", "on_demand"] is None
    # the last step counts: 1/8 of 1.5 + 6 x 0.046875 + 22 x 0.004166
    assert found["g4-standard-6", "us-central1", "on_demand"] == Decimal("0.560402")


def test_gcp_follows_the_token_and_never_the_same_one_again() -> None:
    first = _own(url=gcp_billing.SOURCE.keyed_requests[0].url)
    (second,) = gcp_billing.follow(first)
    assert second.part == "skus_2"
    assert parse_qs(urlsplit(second.url).query)["pageToken"] == ["APKCS1HVa0YpwgyTFbqb+J1/eGw="]
    assert urlsplit(second.url).hostname == "cloudbilling.googleapis.com"
    assert list(gcp_billing.follow(_own("payload.skus_2.json"))) == []
    with pytest.raises(PayloadShapeError, match="leads to no further page"):
        list(gcp_billing.follow(replace(first, url=second.url)))


def test_gcp_a_list_without_a_gpu_is_an_error() -> None:
    plain = _own()
    without = replace(plain, body=plain.body.replace(b"Nvidia", b"Other"))
    with pytest.raises(PayloadShapeError, match="no GPU of a machine that is known"):
        list(gcp_billing.parse(without))
