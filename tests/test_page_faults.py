"""Price pages that changed overnight: a parser says what it misses, and never returns less in silence."""

from __future__ import annotations

import dataclasses
import importlib
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from scrapers.contract import Listing, Payload
from scrapers.errors import PayloadShapeError
from scrapers.money import money
from transforms.reference.tables import read

CAPTURES = Path(__file__).parent / "captures"
NIGHT = datetime(2026, 11, 30, 2, tzinfo=UTC)


def payload(name: str, *changes: tuple[str, str], at: datetime = NIGHT) -> Payload:
    """An own payload file with texts replaced; a text that is not there is a fault of the test."""
    provider, file = name.split("/")
    content = (CAPTURES / provider / f"payload.{file}").read_text()
    for old, new in changes:
        assert old in content, f"{name} has no {old!r}"
        content = content.replace(old, new)
    return Payload(source_id=provider, part=file, url="https://x.org/", fetched_at=at, body=content.encode())


def parse(changed: Payload) -> list[Listing]:
    found = importlib.import_module(f"scrapers.providers.{changed.source_id}").parse(changed)
    return [record for record in found if isinstance(record, Listing)]


@pytest.mark.parametrize(
    ("cell", "state"),
    [
        ("$2.10", "priced"),
        ("from $2.10", "from_price"),
        ("Contact sales", "contact_sales"),
        ("N/A", "priced"),
    ],
)
def test_a_price_cell_says_what_kind_of_price_it_is(cell: str, state: str) -> None:
    assert money(cell).state == state


HYPERSTACK, NEBIUS, LAMBDA = "hyperstack/gpu_pricing.html", "nebius/prices.html", "lambda/pricing.html"
CRUSOE, COREWEAVE, DROPLETS = (
    "crusoe/pricing.html",
    "coreweave/pricing.html",
    "digitalocean/gpu_droplets.html",
)
TYPES, SIZES = "lambda/instance_types.json", "digitalocean/sizes.json"

# File, text of the page, what stands there tonight, what the error must name.
RENAMED = [
    (HYPERSTACK, "<span>On-Demand GPU</span>", "<span>GPU VMs</span>", "card 'on-demand gpu': missing"),
    (
        HYPERSTACK,
        "<span>Spot VM</span> Pricing",
        "<span>Spot Machines</span> Pricing",
        "card 'spot vm': missing",
    ),
    (
        HYPERSTACK,
        "<span>Spot VM</span> Pricing",
        "<span>Reservation</span> Pricing",
        "two cards under one heading",
    ),
    (HYPERSTACK, "Starting from&nbsp;", "Price", "no column 'starting from'"),
    (
        HYPERSTACK,
        "<span>Pricing Per Hour</span>",
        "<span>Pricing Per Month</span>",
        "no column 'pricing per hour'",
    ),
    (HYPERSTACK, "page-price_card_main", "price-main", "card 'on-demand gpu': missing"),
    (NEBIUS, ">NVIDIA GPU Instances<", ">GPU VMs<", "no block with this heading"),
    (NEBIUS, ">Preemptible NVIDIA GPU Instances<", ">Cheap<", "no spot price in any row"),
    (NEBIUS, "On-demand, GPU-hour", "On-demand, GPU-month", "no known price per GPU-hour"),
    (NEBIUS, "RAM, GB", "Memory", "no column 'ram, gb'"),
    (NEBIUS, "(Effective October 1, 2026)", "(Effective Octember 1, 2026)", "no readable date"),
    (NEBIUS, "pc-highlight-table-block__cell", "pc-table__cell", "no column 'item'"),
    (LAMBDA, ">Instances pricing<", ">Prices<", "'Instances pricing'"),
    (LAMBDA, 'data-label="PRICE/GPU/HR*"', 'data-label="PRICE/HR"', "without a cell 'price/gpu/hr'"),
    (LAMBDA, ">2x</button>", ">Pair</button>", "tab 'Pair' is no count"),
    (LAMBDA, 'aria-labelledby="tab-1"', "", "tab '' is no count"),
    (CRUSOE, "GPU instances pricing", "Accelerators", "0 tables under this heading"),
    (CRUSOE, ">Current spot<", ">Reserved<", "columns are"),
    (CRUSOE, "prixing-item", "pricing-item", "none of 0 rows has a price"),
    (CRUSOE, "pricing-rich", "price-cell", "none of 5 rows has a price"),
    (CRUSOE, "/GPU-hr", "/vCPU-hr", "no price per GPU and hour"),
    (COREWEAVE, "gpu-pricing", "gpu-prices", "no table .table-v2.gpu-pricing"),
    (COREWEAVE, "REGION: EUROPE", "EUROPE", "not 'REGION: ...'"),
    (COREWEAVE, "Spot Price (Per Hour)", "Spot Price (Per Month)", "no column 'spot price (per hour)'"),
    (COREWEAVE, "table-grid", "grid", "under"),
    (DROPLETS, "StyledCardPricingCard", "StyledCard", "no GPU droplet with a price"),
    (DROPLETS, "On-Demand Price", "Monthly Price", "label 'monthly price'"),
    (DROPLETS, "/GPU/hour", "/GPU/month", "no price per GPU and hour"),
    (DROPLETS, " dvynub", "", "2 prices that are not struck"),
    (
        TYPES,
        "price_cents_per_hour",
        "price_per_hour",
        "data.gpu_8x_b200_sxm6.instance_type.price_cents_per_hour",
    ),
    (TYPES, '"regions_with_capacity_available"', '"regions"', "regions_with_capacity_available: missing"),
    (SIZES, "price_hourly", "hourly", r"sizes\[1\].price_hourly: missing"),
    (SIZES, '"vram"', '"memory_total"', r"sizes\[1\].gpu_info.vram: missing"),
]


@pytest.mark.parametrize(("name", "old", "new", "named"), RENAMED)
def test_what_was_renamed_is_named(name: str, old: str, new: str, named: str) -> None:
    assert parse(payload(name))  # control: the page as it was
    with pytest.raises(PayloadShapeError, match=named.replace("(", r"\(").replace(")", r"\)")):
        parse(payload(name, (old, new)))


@pytest.mark.parametrize("name", [HYPERSTACK, NEBIUS, LAMBDA, CRUSOE, COREWEAVE, DROPLETS])
@pytest.mark.parametrize(
    "body", ["", "<html><body>Just a moment...</body></html>", "\x00\xff", "<table><tr><td>"]
)
def test_an_empty_or_foreign_page_is_no_quiet_night(name: str, body: str) -> None:
    whole = payload(name)
    foreign = Payload(
        source_id=whole.source_id, part="page", url=whole.url, fetched_at=NIGHT, body=body.encode("latin-1")
    )
    with pytest.raises(PayloadShapeError):
        parse(foreign)


@pytest.mark.parametrize("name", [TYPES, SIZES])
@pytest.mark.parametrize(
    "body", [b'{"error": {"code": "unauthorized"}}', b"{", b'{"data": {}, "sizes": [], "links": {}}']
)
def test_an_api_answer_without_gpus_is_no_quiet_night(name: str, body: bytes) -> None:
    whole = payload(name)
    with pytest.raises(PayloadShapeError):
        parse(Payload(source_id=whole.source_id, part="api", url=whole.url, fetched_at=NIGHT, body=body))


def test_one_cell_that_cannot_be_read_costs_one_price() -> None:
    rows = parse(payload(HYPERSTACK, ("<span> $3.20</span>", "<span>soon</span>")))
    assert len(rows) == len(parse(payload(HYPERSTACK)))
    broken = [row for row in rows if row.gpu_text == "NVIDIA H100 SXM" and row.purchase == "on_demand"]
    assert [(row.price, row.availability_text) for row in broken] == [(None, "soon")]


def nebius(day: datetime) -> list[tuple[str, str | None, str, date | None]]:
    rows = parse(payload("nebius/prices_announced.html", at=day))
    return [
        (row.price_state, None if row.price is None else str(row.price), row.purchase, row.valid_from)
        for row in rows
        if row.gpu_text == "NVIDIA HGX B200"
    ]


def test_nebius_announced_price_is_a_future_one_until_its_day() -> None:
    first = date(2027, 1, 1)
    assert nebius(datetime(2026, 12, 31, 23, 59, tzinfo=UTC)) == [
        ("priced", "8.50", "on_demand", None),
        ("future", "8.80", "on_demand", first),
        ("priced", "3.95", "spot", None),
    ]
    assert nebius(datetime(2027, 1, 1, tzinfo=UTC)) == [
        ("priced", "8.80", "on_demand", first),
        ("priced", "3.95", "spot", None),
    ]


def test_nebius_keeps_the_column_that_says_something() -> None:
    rows = parse(payload(NEBIUS))
    contact = [row for row in rows if row.plan == "NVIDIA GB300 NVL72"]
    assert [(row.price_state, row.availability_text) for row in contact] == [("contact_sales", "Contact us")]
    silent = parse(payload(NEBIUS, ("<p>$9.50</p>", "<p>&ndash;&ndash;</p>")))
    assert [row.price for row in silent if row.plan == "NVIDIA HGX B300"] == [Decimal("7.85")]


NEBIUS_2024 = """<html><body><h2>NVIDIA GPU Instances</h2><div role="table"><div role="row">
<div role="columnheader">Item</div><div role="columnheader">vRAM, GB</div><div role="columnheader">Price</div></div>
<div role="row"><div role="cell">8 × H200 SXM</div><div role="cell">1128</div><div role="cell">$28.00</div></div></div>
<div class="card"><h3>NVIDIA H200</h3><p>As low as $2.10</p></div></body></html>"""


def test_nebius_page_of_2024_is_refused_by_name() -> None:
    old = dataclasses.replace(payload(NEBIUS), body=NEBIUS_2024.encode())
    with pytest.raises(PayloadShapeError, match="rows of the layout of 2024, none with a price"):
        parse(old)
    foreign = dataclasses.replace(old, body=NEBIUS_2024.replace('role="table"', "").encode())
    with pytest.raises(PayloadShapeError, match="no block with this heading; found '"):  # control
        parse(foreign)


def test_nebius_two_dashes_are_no_price() -> None:
    rows = [row for row in parse(payload("nebius/prices_announced.html")) if row.availability_text == "––"]
    assert [(row.plan, row.purchase, row.price) for row in rows] == [("NVIDIA GB200 NVL72", "spot", None)]


def test_lambda_rates_of_a_later_day_are_not_those_of_tonight() -> None:
    stated = [row.price for row in parse(payload(LAMBDA)) if row.plan == "8x NVIDIA B200 SXM6 180 GB"]
    assert stated == [Decimal("6.69")]
    moved = payload(LAMBDA, ("New rates from January 11, 2027", "Instances pricing"))
    with pytest.raises(
        PayloadShapeError
    ):  # control: under the heading of tonight's prices it is no silent row
        parse(moved)


def test_digitalocean_follows_the_list_to_its_end() -> None:
    module = importlib.import_module("scrapers.providers.digitalocean")
    (following,) = module.follow(payload(SIZES))
    assert (following.part, following.url) == (
        "sizes_2",
        "https://api.digitalocean.com/v2/sizes?page=2&per_page=500",
    )
    last = '{"pages": {"prev": "https://api.digitalocean.com/v2/sizes?page=1&per_page=500"}}'
    body = f'{{"sizes": [], "links": {last}, "meta": {{"total": 5}}}}'.encode()
    page = Payload(source_id="digitalocean", part="sizes_2", url=following.url, fetched_at=NIGHT, body=body)
    assert module.follow(page) == []
    assert parse(page) == []  # the GPU sizes may all stand on another page
    assert module.follow(payload(DROPLETS)) == []


def prices(rows: list[Listing]) -> set[tuple[object, ...]]:
    return {(row.gpu_text, row.purchase, row.region_text, row.price) for row in rows if row.price}


@pytest.mark.parametrize("name", [HYPERSTACK, NEBIUS, LAMBDA, CRUSOE, COREWEAVE, DROPLETS, TYPES, SIZES])
def test_a_page_that_is_cut_off_gives_less_or_says_why(name: str) -> None:
    whole = payload(name)
    stated = prices(parse(whole))
    for tenth in range(10):
        part = dataclasses.replace(whole, body=whole.body[: len(whole.body) * tenth // 10])
        try:
            rows = parse(part)
        except PayloadShapeError:
            continue
        assert prices(rows) <= stated


@pytest.mark.parametrize(
    "provider", ["lambda", "coreweave", "crusoe", "hyperstack", "nebius", "digitalocean"]
)
def test_terms_and_billing_are_those_of_the_facts(provider: str) -> None:
    source = importlib.import_module(f"scrapers.providers.{provider}").SOURCE
    facts = read("provider").filter(provider=provider).to_dicts()[0]
    assert source.terms == facts["terms_automated_access"]
    assert source.terms_url == (facts["terms_url"] or source.terms_url)
    assert (source.default_on, source.off_reason is None) == ((source.terms != "restricted"),) * 2
    assert source.billing_increment_s == facts["billing_increment_s"]
    assert source.billing_minimum_s == facts["billing_minimum_s"]
