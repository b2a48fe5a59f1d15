"""Real price pages and answers, as others recorded them: each file is parsed or named as not to be parsed.

The expected rows were read in the files by eye. They are whole in what they state: name, count, purchase kind,
region, price and price state; some hold memory, machine and term too.
"""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from scrapers.contract import Listing, Payload, Quantity
from scrapers.errors import PayloadShapeError

CAPTURES = Path(__file__).parents[2] / "shared" / "captures"
PROVIDERS = ("lambda", "coreweave", "crusoe", "hyperstack", "nebius", "digitalocean")
MIRROR = "a SkyPilot catalogue, not an answer of the provider"
UNPARSED = {
    "coreweave/gpu-cloud-pricing_2023-09-21_excerpt.html": "the GPU alone, without the CPU and RAM it needs",
    "lambda/skypilot_style_vms.csv": MIRROR,
    "hyperstack/skypilot_vms.csv": MIRROR,
    "nebius/skypilot_vms.csv": MIRROR,
}
# File: how many listings, how many of them with a price, and known rows.
PARSED: dict[str, tuple[int, int, list[tuple[str | None, ...]]]] = {
    "lambda/pricing_2026-01-09_excerpt.html": (
        5,
        5,
        [
            ("NVIDIA B200 SXM6", "8", "on_demand", None, "4.99", "priced"),
            ("NVIDIA H100 SXM", "8", "on_demand", None, "2.99", "priced"),
            ("NVIDIA Tesla V100", "8", "on_demand", None, "0.55", "priced"),
        ],
    ),
    "lambda/gpu-cloud_2024-11-03_excerpt.html": (
        18,
        17,
        [
            ("NVIDIA H100 SXM", "8", "on_demand", None, "2.99", "priced"),
            ("NVIDIA H100 SXM", "8", "reserved", None, None, "contact_sales"),
            ("NVIDIA H100 SXM", "1", "on_demand", None, "3.29", "priced"),
            ("NVIDIA A6000", "4", "on_demand", None, "0.80", "priced"),
            ("NVIDIA Quadro RTX 6000", "1", "on_demand", None, "0.50", "priced"),
        ],
    ),
    "lambda/instance_types_trimmed_2026-07-30.json": (
        7,
        7,
        [
            ("gpu_1x_a6000", "1", "on_demand", None, "1.09", "priced"),
            ("gpu_1x_a10", "1", "on_demand", "us-east-1", "1.29", "priced"),
            ("gpu_1x_a10", "1", "on_demand", "us-west-1", "1.29", "priced"),
            ("gpu_8x_a100", "8", "on_demand", "us-east-1", "15.92", "priced"),
        ],
    ),
    "coreweave/pricing_2026-10_gpu-tables_excerpt.html": (
        30,
        20,
        [
            ("NVIDIA GB200 NVL72", "4", "on_demand", "NORTH AMERICA", "42.00", "priced"),
            ("NVIDIA GB200 NVL72", "4", "spot", "NORTH AMERICA", None, "priced"),
            ("NVIDIA HGX B300", "8", "on_demand", "NORTH AMERICA", None, "contact_sales"),
            ("NVIDIA HGX B300", "8", "spot", "NORTH AMERICA", "35.84", "priced"),
            ("NVIDIA HGX H100", "8", "on_demand", "NORTH AMERICA", "49.24", "priced"),
            ("NVIDIA HGX H100", "8", "spot", "NORTH AMERICA", "19.71", "priced"),
            ("NVIDIA A100", "8", "on_demand", "NORTH AMERICA", "21.60", "priced"),
            ("NVIDIA HGX B300", "8", "spot", "EUROPE", "36.70", "priced"),
        ],
    ),
    "crusoe/pricing_2026-10_excerpt.html": (
        18,
        6,
        [
            ("NVIDIA GB200", "1", "on_demand", None, None, "contact_sales"),
            ("NVIDIA H200", "1", "on_demand", None, "4.29", "priced"),
            ("NVIDIA H100", "1", "spot", None, None, "contact_sales"),
            ("NVIDIA A100", "1", "on_demand", None, "2.30", "priced"),
            ("NVIDIA A100", "1", "on_demand", None, "2.00", "priced"),
            ("AMD MI300X", "1", "on_demand", None, "3.45", "priced"),
        ],
    ),
    "crusoe/pricing_2025-12-15_excerpt.html": (
        10,
        3,
        [
            ("NVIDIA B200", "1", "spot", None, None, "contact_sales"),
            ("NVIDIA H100", "1", "on_demand", None, "3.90", "priced"),
            ("NVIDIA H100", "1", "spot", None, "1.60", "priced"),
        ],
    ),
    "hyperstack/gpu-pricing_2025-07-24_excerpt.html": (
        23,
        23,
        [
            ("NVIDIA H200 SXM", "1", "on_demand", None, "3.50", "priced"),
            ("NVIDIA H100", "1", "on_demand", None, "1.90", "priced"),
            ("NVIDIA H200 SXM", "1", "reserved", None, "2.45", "from_price"),
            ("NVIDIA A4000", "1", "reserved", None, "0.11", "from_price"),
            ("NVIDIA A100", "1", "spot", None, "1.08", "priced"),
            ("NVIDIA L40", "1", "spot", None, "0.80", "priced"),
        ],
    ),
    "nebius/prices_2026-07-12_excerpt.html": (
        18,
        14,
        [
            ("NVIDIA GB300 NVL72", "1", "on_demand", None, None, "contact_sales"),
            ("NVIDIA GB300 NVL72", "1", "spot", None, None, "priced"),
            ("NVIDIA HGX B300", "1", "spot", None, "4.30", "priced"),
            ("NVIDIA HGX H100", "1", "on_demand", None, "3.85", "priced"),
            ("NVIDIA RTX PRO 6000", "1", "spot", None, "0.95", "priced"),
            ("NVIDIA L40S with Intel CPU", "1", "on_demand", None, "1.82", "from_price"),
            ("NVIDIA L40S with AMD CPU", "1", "spot", None, "0.74", "from_price"),
        ],
    ),
    "digitalocean/gpu-droplets_pricing_2025-07-07_excerpt.html": (
        9,
        9,
        [
            ("NVIDIA H100", "8", "reserved", None, "1.99", "from_price"),
            ("AMD Instinct™ MI300X", "8", "reserved", None, "1.49", "from_price"),
            ("NVIDIA H100", "8", "on_demand", None, "2.99", "priced"),
            ("NVIDIA H100", "1", "on_demand", None, "3.39", "priced"),
            ("NVIDIA RTX 4000 Ada Generation", "1", "on_demand", None, "0.76", "priced"),
            ("NVIDIA L40S", "1", "on_demand", None, "1.57", "priced"),
        ],
    ),
    "digitalocean/sizes_excerpt.json": (
        2,
        2,
        [
            ("nvidia_h100", "8", "on_demand", "nyc1", "23.92", "priced"),
            ("amd_mi300x", "8", "on_demand", "nyc1", "15.92", "priced"),
        ],
    ),
}


def read(name: str) -> Payload:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip("../shared/captures is not here")
    return Payload(
        source_id=path.parent.name,
        part="page",
        url="https://example.org/",
        fetched_at=datetime(2026, 11, 30, tzinfo=UTC),
        body=path.read_bytes(),
        content_type="text/html; charset=utf-8" if path.suffix == ".html" else "application/json",
    )


def listings(name: str) -> list[Listing]:
    payload = read(name)
    found = importlib.import_module(f"scrapers.providers.{payload.source_id}").parse(payload)
    return [record for record in found if isinstance(record, Listing)]


def stated(listing: Listing) -> tuple[str | None, ...]:
    return (
        listing.gpu_text,
        None if listing.gpu_count is None else str(listing.gpu_count),
        listing.purchase,
        listing.region_text,
        None if listing.price is None else str(listing.price),
        listing.price_state,
    )


def one(name: str, **fields: object) -> Listing:
    found = [
        row for row in listings(name) if all(getattr(row, key) == value for key, value in fields.items())
    ]
    assert len(found) == 1, f"{name}: {len(found)} rows with {fields}"
    return found[0]


def unaccounted(files: set[str]) -> set[str]:
    return files ^ (PARSED.keys() | UNPARSED.keys())


def test_every_file_is_parsed_or_named() -> None:
    if not CAPTURES.exists():
        pytest.skip("../shared/captures is not here")
    files = {f"{provider}/{path.name}" for provider in PROVIDERS for path in (CAPTURES / provider).iterdir()}
    assert unaccounted(files) == set()
    assert unaccounted({*files, "crusoe/new.html"}) == {"crusoe/new.html"}  # control


@pytest.mark.parametrize("name", PARSED)
def test_known_rows_are_read_with_their_values(name: str) -> None:
    count, priced, known = PARSED[name]
    rows = listings(name)
    assert len(rows) == count
    assert sum(row.price is not None for row in rows) == priced
    assert {row.currency for row in rows if row.price is not None} == {"USD"}
    found = [stated(row) for row in rows]
    assert [row for row in known if row not in found] == []
    assert (*known[0][:4], "0.01", "priced") not in found  # control


@pytest.mark.parametrize("name", [name for name in UNPARSED if name.endswith(".html")])
def test_what_is_no_offer_is_refused(name: str) -> None:
    with pytest.raises(PayloadShapeError, match="without CPU and RAM"):
        listings(name)


def test_lambda_count_is_of_the_tab_and_memory_tells_equal_names_apart() -> None:
    page = "lambda/pricing_2026-01-09_excerpt.html"
    small = one(page, gpu_text="NVIDIA A100 SXM", gpu_memory=Quantity(Decimal(40), "GB"))
    large = one(page, gpu_text="NVIDIA A100 SXM", gpu_memory=Quantity(Decimal(80), "GB"))
    assert (small.price, large.price) == (Decimal("1.29"), Decimal("1.79"))
    assert small.plan != large.plan
    assert (large.price_per, large.gpu_count, large.vcpus) == ("gpu", Decimal(8), Decimal(240))
    assert large.disk == Quantity(Decimal("19.5"), "TiB")


def test_lambda_api_price_is_of_the_instance_and_no_region_is_no_stock() -> None:
    api = "lambda/instance_types_trimmed_2026-07-30.json"
    gone = one(api, plan="gpu_1x_a6000")
    assert (gone.region_text, gone.availability, gone.price_per) == (None, "out_of_stock", "instance")
    assert one(api, plan="gpu_1x_a100").region_text == "europe-central-1"
    assert one(api, plan="gpu_1x_a100").availability == "in_stock"


def test_coreweave_node_is_whole_and_read_once() -> None:
    page = "coreweave/pricing_2026-10_gpu-tables_excerpt.html"
    node = one(page, plan="hgx-h100", purchase="on_demand")
    assert (node.price_per, node.vcpus, node.ram) == ("instance", Decimal(128), Quantity(Decimal(2048), "GB"))
    assert node.gpu_memory == Quantity(Decimal(80), "GB")
    assert one(page, plan="nvidia-gh200", purchase="spot").availability_text == "N/A"


def test_crusoe_section_keeps_the_language_models_out() -> None:
    rows = listings("crusoe/pricing_2026-10_excerpt.html")
    assert {row.gpu_text.split()[0] for row in rows} == {"NVIDIA", "AMD"}
    pcie = one("crusoe/pricing_2026-10_excerpt.html", plan="NVIDIA A100 80GB PCIe", purchase="on_demand")
    assert (pcie.form_factor_text, pcie.price) == ("PCIe", Decimal("2.00"))


def test_crusoe_row_that_is_cut_off_has_no_price() -> None:
    rows = [
        row for row in listings("crusoe/pricing_2025-12-15_excerpt.html") if row.gpu_text == "NVIDIA A100"
    ]
    assert [(row.price, row.note) for row in rows] == [(None, "the row ends before its prices")] * 2


def test_hyperstack_nvlink_is_pcie_with_bridges() -> None:
    page = "hyperstack/gpu-pricing_2025-07-24_excerpt.html"
    bridged = one(page, gpu_text="NVIDIA H100 NVLink", purchase="on_demand")
    assert (bridged.price, bridged.link_text, bridged.form_factor_text) == (Decimal("1.95"), "NVLink", "PCIe")
    assert one(page, gpu_text="NVIDIA H100 SXM", purchase="on_demand").link_text is None
    spot = one(page, gpu_text="NVIDIA A100", purchase="spot")
    assert (spot.gpu_memory, spot.term_months) == (Quantity(Decimal(80), "GB"), None)


def test_nebius_ranges_are_no_numbers() -> None:
    row = one("nebius/prices_2026-07-12_excerpt.html", plan="NVIDIA L40S with AMD CPU", purchase="on_demand")
    assert (row.vcpus, row.ram, row.note) == (None, None, "vcpus: 8-40; ram, gb: 32-160")
    whole = one("nebius/prices_2026-07-12_excerpt.html", plan="NVIDIA HGX B200", purchase="on_demand")
    assert (whole.vcpus, whole.ram) == (Decimal(20), Quantity(Decimal(224), "GB"))


def test_digitalocean_memory_is_of_the_droplet_and_the_struck_price_is_not_read() -> None:
    page = "digitalocean/gpu-droplets_pricing_2025-07-07_excerpt.html"
    eight = one(page, plan="gpu-mi300x8-1536gb")
    assert (eight.gpu_memory, eight.gpu_memory_is_total) == (Quantity(Decimal(1536), "GB"), True)
    assert eight.disk == Quantity(Decimal("1.875"), "TiB")
    assert Decimal("6.74") not in {row.price for row in listings(page)}
    assert one(page, plan="NVIDIA H100x8").term_months == 12
    api = one("digitalocean/sizes_excerpt.json", plan="gpu-h100x8-640gb")
    assert (api.price_per, api.gpu_memory) == ("instance", Quantity(Decimal(640), "GiB"))
