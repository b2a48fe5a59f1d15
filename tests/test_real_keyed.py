"""Keyed APIs, resellers and small clouds: payloads as others recorded them, and the traps of each source.

Every expected value was read from a payload by eye, or worked out by hand, not taken from a parser.
"""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from scrapers.contract import Listing, PageCount, Payload, Quantity, Record, Stock
from scrapers.errors import CollectError, PayloadShapeError
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "captures"
OWN = ROOT / "tests" / "captures"
NIGHT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
IDS = (
    *("e2e_networks", "gcore", "genesis_cloud", "highreso", "hot_aisle", "hyperstack", "jarvislabs", "kakao"),
    *("latitude_sh", "leafcloud", "massed_compute", "prime_intellect", "sakura", "seeweb", "shadeform"),
)


def module(provider: str) -> Any:
    return importlib.import_module(f"scrapers.providers.{provider}")


def payload(provider: str, body: bytes, url: str = "https://example.org/") -> Payload:
    is_page = body.lstrip().startswith(b"<")
    kind = "text/html; charset=utf-8" if is_page else "application/json"
    return Payload(source_id=provider, part="prices", url=url, fetched_at=NIGHT, body=body, content_type=kind)


def parse(provider: str, body: bytes) -> list[Record]:
    return list(module(provider).parse(payload(provider, body)))


def own(provider: str, file: str, *changes: tuple[str, str]) -> bytes:
    """An own payload file with texts replaced; a text that is not there is a fault of the test."""
    content = (OWN / provider / f"payload.{file}").read_text()
    for old, new in changes:
        assert old in content, f"{provider}/{file} has no {old!r}"
        content = content.replace(old, new)
    return content.encode()


def real(name: str) -> list[Record]:
    """The records of a recorded file; its folder may be spelt otherwise than the provider."""
    if not REAL.is_dir():
        pytest.skip("../shared/captures is not here")
    folder = name.split("/")[0]
    return parse({"primeintellect": "prime_intellect"}.get(folder, folder), (REAL / name).read_bytes())


def listings(records: list[Record], **wanted: Any) -> list[Listing]:
    found = [record for record in records if isinstance(record, Listing)]
    return [one for one in found if all(getattr(one, name) == value for name, value in wanted.items())]


def only(records: list[Record], **wanted: Any) -> Listing:
    found = listings(records, **wanted)
    assert len(found) == 1, f"{len(found)} listings with {wanted}"
    return found[0]


def offerings(provider: str, records: list[Record]) -> list[dict[str, Any]]:
    made = listing_frame(records, payload(provider, b""))
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=NIGHT.date(),
        segments={provider: module(provider).SOURCE.segment},
    )
    return list(
        normal.offerings.with_columns(pl.col("price_usd_per_gpu_hour").cast(pl.Float64)).iter_rows(named=True)
    )


# Recorded payloads


def test_shadeform_cents_and_a_text_in_dollars() -> None:
    records = real("shadeform/instance_types_items_2026-09.json")
    # Six types: two regions of the B200 node, one of the B300 node, and four types without regions.
    assert len(listings(records)) == 7
    node = only(records, plan="B300x8")
    assert (node.price, node.price_per, node.gpu_count) == (Decimal("61.64"), "instance", 8)
    assert (node.origin, node.availability, node.vcpus) == ("verda", "out_of_stock", 240)
    on_demand, spot = listings(records, plan="B200x8")
    assert (on_demand.price, on_demand.purchase, on_demand.availability) == (
        Decimal("53.52"),
        "on_demand",
        "out_of_stock",
    )
    assert (spot.price, spot.purchase, spot.availability) == (Decimal("26.76"), "spot", "in_stock")
    assert (spot.origin, spot.region_text) == ("lambda", "dulles-usa-1")
    assert only(records, plan="A100x8").origin == "massed_compute"
    assert only(records, plan="H200x8").availability == "unknown"
    prices = {row["plan"]: row["price_usd_per_gpu_hour"] for row in offerings("shadeform", records)}
    assert prices["H200x8"] == 4.0  # 3200 cents for eight
    assert prices["A100x8"] == 1.25  # 1000 cents for eight


def test_prime_intellect_rows_and_the_declared_total() -> None:
    records = real("primeintellect/availability_response.json")
    count = next(record for record in records if isinstance(record, PageCount))
    assert (count.list_name, count.declared, count.rows) == ("gpus", 608, 8)
    assert len(listings(records)) == 8
    first = listings(records)[0]
    assert (first.plan, first.price, first.price_per) == (
        "1x A100_80GB PCIe",
        Decimal("1.6567999999999998"),
        "instance",
    )
    assert (first.gpu_memory, first.vcpus, first.ram) == (
        Quantity(Decimal(80), "GB"),
        14,
        Quantity(Decimal(125), "GB"),
    )
    assert (first.origin, first.product, first.purchase) == ("runpod", "secure_cloud", "on_demand")
    assert (first.region_text, first.zone_text, first.availability) == ("US", "US-KS-2", "low")
    assert first.note == "disk 0.00014 USD per GB-hour, not included"
    assert only(records, form_factor_text="PCIe", gpu_text="H100_80GB").price == Decimal("2.4068")
    gpus = {row["gpu_key"] for row in offerings("prime_intellect", records)}
    assert gpus == {"A100-PCIE-80GB", "A100-SXM4-80GB", "H100-PCIE-80GB", "H100-SXM5-80GB"}


def test_a_list_of_prime_disks_is_no_list_of_gpus() -> None:
    with pytest.raises(PayloadShapeError, match=r"items\[0\].prices: missing"):
        real("primeintellect/availability_disks.json")


def test_jarvislabs_containers_machines_and_spot() -> None:
    records = real("jarvislabs/server_meta_excerpt.json")
    assert len(listings(records)) == 8  # seven rows, and the spot price of the only container
    spot = only(records, purchase="spot")
    assert (spot.price, spot.product, spot.gpu_text) == (Decimal("0.29"), "container", "L4")
    assert (spot.availability, spot.available_count) == ("in_stock", 2)
    h100 = only(records, gpu_text="H100", region_text="europe-01")
    assert (h100.price, h100.price_per, h100.product) == (Decimal("2.99"), "gpu", None)
    assert (h100.gpu_count, h100.available_count) == (1, 25)
    assert (h100.gpu_memory, h100.vcpus) == (Quantity(Decimal(80), "GB"), 16)
    assert not any(
        "4 vcpu" in repr(one).lower() or one.price == Decimal("0.0992") for one in listings(records)
    )


def test_seeweb_plans_are_whole_machines_in_euros() -> None:
    records = real("seeweb/plans_excerpt.json")
    assert len(listings(records)) == 4  # the L40S in two places, two other plans, and no CPU plan
    pair = only(records, plan="ECS2GPU3")
    assert (pair.price, pair.currency, pair.price_per) == (Decimal("1.98"), "EUR", "instance")
    assert (pair.gpu_text, pair.gpu_count, pair.ram) == ("A100 80GB", 2, Quantity(Decimal(245760), "MB"))
    assert [one.region_text for one in listings(records, plan="ECS1GPU7")] == ["it-fr2", "it-mi2"]
    assert only(records, gpu_text="MI300X").disk == Quantity(Decimal(2000), "GB")


def test_hyperstack_still_reads_its_page() -> None:
    records = real("hyperstack/gpu-pricing_2025-07-24_excerpt.html")
    assert {one.purchase for one in listings(records)} == {"on_demand", "reserved", "spot"}


# Traps


def test_a_spot_price_that_is_a_number_has_no_known_unit() -> None:
    body = own("shadeform", "types.json", ('"hourly_price": "26.76"', '"hourly_price": 2676'))
    with pytest.raises(
        PayloadShapeError, match=r"availability\[1\].hourly_price: a number where a text in dollars"
    ):
        parse("shadeform", body)


def test_a_spot_price_that_is_not_stated_is_not_the_price_on_demand() -> None:
    records = parse("shadeform", own("shadeform", "types.json"))
    spot = only(records, plan="1H100.80S.30V", purchase="spot")
    assert spot.price is None
    assert only(records, plan="1H100.80S.30V", purchase="on_demand").price == Decimal("2.29")  # control


@pytest.mark.parametrize(
    ("address", "total", "following"),
    [
        ("https://api.primeintellect.ai/api/v1/availability/gpus?page=1&page_size=100", 101, ["gpus_2"]),
        ("https://api.primeintellect.ai/api/v1/availability/gpus?page=2&page_size=100", 608, ["gpus_3"]),
        ("https://api.primeintellect.ai/api/v1/availability/gpus?page=1&page_size=100", 100, []),
        ("https://api.primeintellect.ai/api/v1/availability/gpus?page=7&page_size=100", 608, []),
        ("https://api.primeintellect.ai/api/v1/availability/gpus?page=x", 608, ["gpus_2"]),
    ],
)
def test_prime_pages_end_with_the_declared_total(address: str, total: int, following: list[str]) -> None:
    answer = payload("prime_intellect", json.dumps({"items": [], "totalCount": total}).encode(), address)
    requests = module("prime_intellect").follow(answer)
    assert [request.part for request in requests] == following
    assert all(request.url.startswith("https://api.primeintellect.ai/") for request in requests)


def test_prime_keeps_no_name_of_a_machine() -> None:
    body = own("prime_intellect", "gpus_1.json", ("sample-spot-1", "host-192-0-2-7"))
    assert "192-0-2-7" not in repr(parse("prime_intellect", body))


def test_hot_aisle_asks_for_the_machines_of_the_team() -> None:
    source = module("hot_aisle").SOURCE
    assert "{team}" in source.keyed_requests[0].url
    assert source.auth.address_env == (("team", "HOTAISLE_TEAM_HANDLE"),)
    assert source.auth.template == "Token {key}"


def test_hot_aisle_reads_the_cards_and_not_the_prices_above_them() -> None:
    records = parse("hot_aisle", own("hot_aisle", "pricing.html"))
    assert [(one.gpu_count, one.price, one.purchase) for one in listings(records)] == [
        (1, Decimal("2.99"), "on_demand"),
        (2, Decimal("2.99"), "on_demand"),
        (4, Decimal("2.99"), "on_demand"),
        (8, Decimal("3.39"), "reserved"),
    ]
    nodes = {row["plan"]: row["price_usd_per_gpu_hour"] for row in offerings("hot_aisle", records)}
    assert nodes["Large 8x MI300x"] == 3.39  # per GPU, and not divided by eight
    with pytest.raises(PayloadShapeError, match="its term is not known"):
        parse("hot_aisle", own("hot_aisle", "pricing.html", ("one-month minimum", "minimum")))


def test_hyperstack_list_price_is_not_the_price_of_our_account() -> None:
    book = parse("hyperstack", own("hyperstack", "pricebook.json"))
    assert only(book, plan="H100-80G-PCIe-NVLink").price == Decimal("2.6")
    assert {one.plan for one in listings(book)}.isdisjoint({"Cloud-SSD", "Public IP"})
    stocks = parse("hyperstack", own("hyperstack", "stocks.json"))
    assert all(isinstance(one, Stock) for one in stocks)
    told = {row["plan"]: row["availability"] for row in offerings("hyperstack", [*book, *stocks])}
    # Ten in Canada and none in Norway is in stock; L40 has none; the PRO 6000 stands in no region.
    assert told["H100-80G-SXM5"] == "in_stock"
    assert told["H100-80G-PCIe-spot"] == "in_stock"
    assert told["L40"] == "out_of_stock"
    assert told["RTX-PRO6000-SE"] == "unknown"


def test_massed_compute_finds_the_parts_that_are_sent_later() -> None:
    records = parse("massed_compute", own("massed_compute", "pricing.html"))
    late = only(records, plan="H100 NVL (94GB) NVLink x8")
    assert (late.price, late.gpu_count, late.ram) == (Decimal("23.36"), 8, Quantity(Decimal(1440), "GB"))
    asked = only(records, plan="H100 (80GB) x8")
    assert (asked.price, asked.price_state) == (None, "contact_sales")
    prices = {row["plan"]: row["price_usd_per_gpu_hour"] for row in offerings("massed_compute", records)}
    assert prices["H100 NVL (94GB) NVLink x8"] == 2.92  # 23.36 for eight
    assert len(listings(records)) == 6  # no row of a phone
    with pytest.raises(PayloadShapeError, match=r"\$L7d: this chunk is not in the page"):
        parse("massed_compute", own("massed_compute", "pricing.html", (r"\n7d:", r"\n7e:")))


def test_latitude_year_is_of_the_whole_server() -> None:
    records = parse("latitude_sh", own("latitude_sh", "pricing.html"))
    prices = {
        (row["plan"], row["term_months"], row["region_text"]): row["price_usd_per_gpu_hour"]
        for row in offerings("latitude_sh", records)
    }
    assert prices["g4-b300-large", None, "United States"] == 16.0  # 128 for eight
    assert prices["g4-b300-large", 1, "United States"] == 8.0  # 46,720 / 730 / 8
    assert prices["g4-b300-large", 12, "United States"] == 5.6  # 392,448 / 8,760 / 8
    assert ("g4-rtx6kpro-large", None, "United Kingdom") not in prices
    assert only(records, region_text="United Kingdom").price is None


def test_e2e_hours_in_rupees_and_commitments_as_the_sign_says() -> None:
    records = parse("e2e_networks", own("e2e_networks", "pricing.html"))
    hours = {one.plan: (one.price, one.currency) for one in listings(records, price_unit="hour")}
    assert hours["NVIDIA A100 80 GB"] == (189, "INR")
    assert hours["NVIDIA A100 40 GB"] == (179, "INR")
    year = only(records, plan="NVIDIA A100 40 GB", term_months=12)
    assert (year.price, year.currency, year.price_unit) == (Decimal(9722), "USD", "year")
    assert only(records, plan="NVIDIA L4 24 GB", term_months=1).price_state == "contact_sales"
    assert listings(records, plan="NVIDIA L4 24 GB", term_months=12) == []  # "--" is no offer
    assert not any("C3" in one.plan for one in listings(records))
    in_rupees = own("e2e_networks", "pricing.html", ("$9,722.00", "₹9,33,312.00"))
    rupees = only(parse("e2e_networks", in_rupees), plan="NVIDIA A100 40 GB", term_months=12)
    assert (rupees.price, rupees.currency) == (Decimal(933312), "INR")


def test_seeweb_page_without_a_euro_sign_is_an_error() -> None:
    body = own("seeweb", "cloud_server_gpu.html", ("€", "$"))
    with pytest.raises(PayloadShapeError, match="its currency is not known"):
        parse("seeweb", body)


def test_leafcloud_says_nothing_of_others() -> None:
    records = parse("leafcloud", own("leafcloud", "pricing.html"))
    assert only(records, plan="h100").price == Decimal("4.12")
    assert only(records, gpu_text="RTX PRO 6000").price == Decimal("2.76")
    assert all(one.region_text == "ams-1 (Amsterdam)" for one in listings(records))
    with pytest.raises(PayloadShapeError, match="no row with the provider leafcloud"):
        parse("leafcloud", own("leafcloud", "pricing.html", ("&quot;Leafcloud&quot;", "&quot;Another&quot;")))


def test_highreso_has_three_measures() -> None:
    records = parse("highreso", own("highreso", "home.html"))
    b200 = only(records, plan="B200 Compute Cluster")
    assert (b200.price, b200.price_unit, b200.price_per) == (22, "minute", "gpu")
    assert (b200.price_state, b200.currency, b200.gpu_count) == ("from_price", "JPY", 8)
    node = only(records, plan="AI Supercomputer Cloud")
    assert (node.price, node.price_unit, node.price_per) == (2783000, "month", "instance")
    assert (node.purchase, node.gpu_memory_is_total) == ("reserved", True)


def test_genesis_machine_of_eight_has_a_price_per_gpu() -> None:
    records = parse("genesis_cloud", own("genesis_cloud", "pricing.html"))
    prices = {row["plan"]: row["price_usd_per_gpu_hour"] for row in offerings("genesis_cloud", records)}
    assert prices["NVIDIA HGX H100"] == 2.19
    assert only(records, plan="NVIDIA HGX B200").price_state == "contact_sales"
    assert only(records, plan="NVIDIA RTX 4090").price == Decimal("0.55")  # 0.65 is struck


@pytest.mark.parametrize(
    ("provider", "file", "old", "new"),
    [
        ("kakao", "calculator.html", "시간", "년"),
        ("kakao", "calculator.html", '"accelerator"', '"gpu"'),
        ("sakura", "gpu.html", "時間割料金", "料金"),
        ("gcore", "ai_gpu.html", "GPUs for every", "Chips for every"),
        ("gcore", "ai_gpu.html", "<span>/hour</span>", "<span>/month</span>"),
        ("genesis_cloud", "pricing.html", "pricing-two-price-text", "price-text"),
        ("highreso", "home.html", "<dt>Pricing</dt>", "<dt>Cost</dt>"),
        ("e2e_networks", "pricing.html", "per hour", "per month"),
        ("latitude_sh", "pricing.html", r"\"plansData\"", r"\"plans\""),
        ("jarvislabs", "pricing.html", "<th>GPU", "<th>Chip"),
        ("seeweb", "cloud_server_gpu.html", 'class="hourly', 'class="price'),
        ("hot_aisle", "pricing.html", "/GPU/hr", "/node/hr"),
    ],
)
def test_what_was_renamed_is_an_error(provider: str, file: str, old: str, new: str) -> None:
    assert parse(provider, own(provider, file))  # control
    with pytest.raises(PayloadShapeError):
        parse(provider, own(provider, file, (old, new)))


# Whatever the bytes


def _cut(body: bytes, at: int, _: random.Random) -> bytes:
    return body[:at]


def _spoil(body: bytes, at: int, chance: random.Random) -> bytes:
    pieces = (b"", b"0", b"-1", b"1e999", b"9" * 60, b"null", b"[]", b"{}", b"<", b'"', b"\\ud800", b"\xff")
    return body[:at] + chance.choice(pieces) + body[at + chance.randint(0, 9) :]


def _encode(body: bytes, at: int, _: random.Random) -> bytes:
    return body.decode().encode(("utf-16", "utf-32", "shift_jis", "latin-1")[at % 4], errors="replace")


FILES = [(provider, path) for provider in IDS for path in sorted((OWN / provider).glob("payload.*"))]


@seed(20261201)
@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(FILES),
    st.sampled_from([_cut, _spoil, _encode]),
    st.floats(0, 1),
    st.integers(0, 2**32),
)
def test_a_spoilt_answer_gives_rows_or_an_error_of_ours(
    file: tuple[str, Path], change: Callable[..., bytes], where: float, chance: int
) -> None:
    provider, path = file
    body = path.read_bytes()
    spoilt = change(body, int(where * len(body)), random.Random(chance))
    assert outcome(module(provider).parse, replace(payload(provider, body), body=spoilt)) in GOOD


GOOD = ("rows", "an error of ours")


def outcome(parser: Callable[[Payload], Iterable[Record]], answer: Payload) -> str:
    """What became of an answer; "nothing" is as bad as an error of another kind, which is let out."""
    try:
        return "rows" if list(parser(answer)) else "nothing"
    except CollectError:
        return "an error of ours"


def test_control_what_a_careless_parser_does_is_seen() -> None:
    answer = payload("kakao", b'{"items": []}')
    with pytest.raises(KeyError):
        outcome(lambda given: json.loads(given.body)["prices"], answer)
    assert outcome(lambda given: json.loads(given.body)["items"], answer) == "nothing"
    assert outcome(module("kakao").parse, answer) in GOOD
