"""AWS, Azure, GCP, OCI and ECB on payloads that others recorded. Counts and prices were read with jq and awk."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scrapers.contract import ExchangeRate, Extra, Interruption, Listing, Payload, Quantity, Record
from scrapers.errors import PayloadShapeError
from scrapers.providers import aws, aws_price_list, azure, ecb, gcp, gcp_billing, oci
from transforms.offers.gpu_names import resolve_gpu
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

REAL = Path(__file__).parents[2] / "shared" / "captures"
PARSED = {
    "aws": ["awsstatic_ec2_linux_gpu.json", "spot_advisor_gpu.json"],
    "azure": ["retail_eastus_nd_2026-07-27.json", "retail_vm_northeurope_gpu.json"],
    "gcp": ["cyclenerd_pricing_gpu_2026-07-30.yml"],
    "oci": ["cetools_products_usd_2024.json", "cetools_products_usd_2026-10-01.json"],
    "fx": ["ecb_rates.json"],
}
UNPARSED = {
    "aws/describe_instance_types_gpu.json": "hardware without prices, from an API that needs an account",
    "aws/describe_instance_types_page9.json": "hardware without prices, from an API that needs an account",
    "aws/karpenter_ondemand_us_east_1.csv": "a table of another project, not an answer of AWS",
    "aws/p5_48xlarge_ondemand_history.csv": "a history kept by another project, not an answer of AWS",
    "aws/price_list_bulk_china_gp3.json": "bulk price list: refused",
    "aws/price_list_bulk_p4d_capacityblock.json": "bulk price list: refused",
    "aws/price_list_bulk_us_east_2_sample.json": "bulk price list: refused",
    "azure/retail_storage_northeurope.json": "storage without its currency",
    "azure/skypilot_style_vms_gpu.csv": "a catalog of another project",
    "gcp/billing_catalog_skus_sample.json": "components: read by gcp_billing",
    "gcp/gpus-pricing_2026-10_tables.html": "the price page of one region: read by gcp_page",
    "gcp/karpenter_initial_prices_gpu.json": "a second mirror",
    "gcp/skypilot_style_vms_gpu.csv": "a catalog of another project, with wrong rows",
    "oci/cost_estimator_shapes_excerpt.json": "shapes without prices",
}

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="../shared/captures is not here")


def _payload(name: str, body: bytes | None = None) -> Payload:
    return Payload(
        source_id=name.split("/")[0],
        part=name,
        url="https://example.com/",
        fetched_at=datetime(2026, 11, 30, 2, tzinfo=UTC),
        body=(REAL / name).read_bytes() if body is None else body,
    )


def _listings(provider: Any, payload: Payload) -> list[Listing]:
    """The listings of an answer, without those that the provider's rule adds."""
    records: list[Record] = list(provider.parse(payload))
    assert all(isinstance(record, Listing | Extra) for record in records)
    return [record for record in records if isinstance(record, Listing) and record.evidence != "derived"]


def _one(listings: list[Listing], **wanted: Any) -> Listing:
    found = [row for row in listings if all(getattr(row, key) == value for key, value in wanted.items())]
    assert len(found) == 1, f"{wanted}: {len(found)} rows"
    return found[0]


def _aws_on_demand() -> list[Listing]:
    """The recorder put one answer per region into one file."""
    return _listings(aws, _payload("aws/awsstatic_ec2_linux_gpu.json"))


def test_every_file_is_parsed_here_or_says_why_not() -> None:
    there = {f"{folder}/{path.name}" for folder in PARSED for path in (REAL / folder).iterdir()}
    named = {f"{folder}/{name}" for folder, names in PARSED.items() for name in names}
    assert there == named | set(UNPARSED)
    assert not named & set(UNPARSED)


def test_aws_on_demand() -> None:
    listings = _aws_on_demand()
    assert len(listings) == 27
    assert Counter(row.region_text for row in listings) == {
        "US East (N. Virginia)": 10,
        "US East (Ohio)": 8,
        "US West (Oregon)": 9,
    }
    p5 = _one(listings, plan="p5.48xlarge", region_text="US East (N. Virginia)")
    assert (p5.price, p5.currency, p5.price_per, p5.price_unit) == (
        Decimal("55.04"),
        "USD",
        "instance",
        "hour",
    )
    assert (p5.vcpus, p5.ram, p5.gpu_count) == (Decimal(192), Quantity(Decimal(2048), "GiB"), None)
    assert _one(listings, plan="p6-b300.48xlarge", region_text="US West (Oregon)").price == Decimal("142.416")
    assert _one(listings, plan="p4d.24xlarge", region_text="US East (N. Virginia)").price == Decimal(
        "21.957642"
    )
    assert _one(listings, plan="p4d.24xlarge", region_text="US East (Ohio)").price == Decimal("21.95764")


def test_aws_instance_types_are_known_with_their_count() -> None:
    """Counts and memory are those of DescribeInstanceTypes; a slice (Count 0) is told by its memory."""
    types = json.loads((REAL / "aws/describe_instance_types_gpu.json").read_text())
    checked = 0
    for plan, description in types.items():
        parts = [
            part
            for key in ("GpuInfo", "InferenceAcceleratorInfo")
            for part in description.get(key, {}).values()
        ]
        devices = [device for part in parts if isinstance(part, list) for device in part]
        if not devices:
            continue
        match = resolve_gpu(plan, "aws")
        assert len(match.candidates) == 1, plan
        vram_gb = float(match.candidates[0].rpartition("-")[2].removesuffix("GB"))
        whole_mib = devices[0]["MemoryInfo"]["SizeInMiB"]
        if devices[0]["Count"]:
            assert match.count == devices[0]["Count"], plan
            assert whole_mib / 1024 == pytest.approx(vram_gb, rel=0.1), plan
        else:
            assert match.fraction is not None, plan
            assert whole_mib / 1024 == pytest.approx(vram_gb * float(match.fraction), rel=0.1), plan
        checked += 1
    assert checked == 78


def test_aws_spot_advisor() -> None:
    bands = list(aws.parse(_payload("aws/spot_advisor_gpu.json")))
    assert all(isinstance(band, Interruption) for band in bands)
    rows = [band for band in bands if isinstance(band, Interruption)]
    assert len(rows) == 824
    edges = Counter((row.monthly_low_pct, row.monthly_high_pct) for row in rows)
    assert edges == {(0, 5): 203, (5, 10): 81, (10, 15): 81, (15, 20): 83, (20, None): 376}
    by_key = {(row.region_text, row.plan): row for row in rows}
    assert by_key["us-east-1", "p5.48xlarge"].saving_pct == 52
    assert by_key["us-east-1", "p5.48xlarge"].monthly_low_pct == 20
    assert by_key["ap-northeast-1", "p5.48xlarge"].monthly_high_pct == 15
    assert ("us-east-1", "m5.large") not in by_key


@pytest.mark.parametrize("name", [name for name, reason in UNPARSED.items() if reason.endswith(": refused")])
def test_aws_refuses_the_bulk_price_list(name: str) -> None:
    with pytest.raises(PayloadShapeError, match="bulk price list"):
        list(aws.parse(_payload(name)))


def test_azure_page() -> None:
    listings = _listings(azure, _payload("azure/retail_eastus_nd_2026-07-27.json"))
    assert [(row.plan, row.purchase, row.price, row.price_unit, row.term_months) for row in listings] == [
        ("Standard_ND96isr_H100_v5", "on_demand", Decimal("98.32"), "hour", None),
        ("Standard_ND96isr_H100_v5", "reserved", Decimal(551221), "term", 12),
        ("Standard_ND96isr_H100_v5", "reserved", Decimal(1134310), "term", 36),
        ("Standard_ND96asr_v4", "spot", Decimal("5.98334"), "hour", None),
        ("Standard_ND96is_H100_v5", "on_demand", Decimal("88.488"), "hour", None),
    ]
    assert {(row.currency, row.region_text, row.price_state) for row in listings} == {
        ("USD", "eastus", "priced")
    }


def test_azure_keyed_rows() -> None:
    listings = _listings(azure, _payload("azure/retail_vm_northeurope_gpu.json"))
    assert Counter(row.purchase for row in listings) == {"on_demand": 62, "spot": 55}
    assert _one(listings, plan="NC24s v3", purchase="on_demand").price == Decimal("13.219")
    assert _one(listings, plan="Standard_NC24ads_A100_v4", purchase="spot").price == Decimal("0.814598")
    assert _one(listings, plan="NC40adsH100v5", purchase="on_demand").price == Decimal("8.376")
    assert {row.region_text for row in listings} == {"northeurope"}
    assert {row.currency for row in listings} == {None}, "the recorder left the currency out"


def test_azure_storage_gives_one_disk_by_the_gib_and_no_machine() -> None:
    """The recorder left the currency out, and the head of the page; both are put back here."""
    name = "azure/retail_storage_northeurope.json"
    rows = json.loads((REAL / name).read_text())
    with pytest.raises(PayloadShapeError, match="currencyCode: missing"):
        list(azure.parse(_payload(name)))
    items = [row | {"currencyCode": "USD", "type": "Consumption"} for row in rows.values()]
    records = list(azure.parse(_payload(name, json.dumps({"Items": items}).encode())))
    (disk,) = records
    assert isinstance(disk, Extra)
    assert (disk.price, disk.per, disk.region_text) == (Decimal("0.00011"), "gib_hour", "northeurope")
    others = [item for item in items if item["productName"] != "Azure Premium SSD v2"]
    with pytest.raises(PayloadShapeError, match="rows is of a size"):
        list(azure.parse(_payload(name, json.dumps({"Items": others}).encode())))


def test_gcp_mirror() -> None:
    listings = _listings(gcp, _payload("gcp/cyclenerd_pricing_gpu_2026-07-30.yml"))
    kinds = Counter((row.purchase, row.price_unit, row.term_months) for row in listings)
    assert kinds == {
        ("on_demand", "hour", None): 984,
        ("spot", "hour", None): 984,
        ("reserved", "month", 12): 817,
        ("reserved", "month", 36): 824,
    }
    assert {row.as_of for row in listings} == {date(2026, 7, 30)}
    assert {row.evidence for row in listings} == {"mirror"}
    a3 = _one(listings, plan="a3-highgpu-8g", region_text="us-central1", purchase="on_demand")
    assert (a3.price, a3.gpu_text, a3.gpu_count) == (Decimal("88.4899999025753"), "h100-80gb", Decimal(8))
    committed = _one(listings, plan="g4-standard-384", region_text="europe-west4", term_months=12)
    assert (committed.price, committed.gpu_text, committed.gpu_count) == (
        Decimal("19946.52"),
        "RTX 6000 96GB",
        Decimal(8),
    )
    slices = {row.gpu_count for row in listings if row.plan == "g4-standard-6"}
    assert slices == {Decimal("0.125")}
    small = {
        row.availability for row in listings if row.plan == "a3-highgpu-1g" and row.purchase == "on_demand"
    }
    assert small == {"listed_only"}


@pytest.mark.parametrize(("year", "count"), [("2024", 7), ("2026-10-01", 16)])
def test_oci_products(year: str, count: int) -> None:
    listings = _listings(oci, _payload(f"oci/cetools_products_usd_{year}.json"))
    assert len(listings) == count
    assert {(row.currency, row.price_per, row.price_unit) for row in listings} == {("USD", "gpu", "hour")}
    assert _one(listings, plan="B95909").price == 2
    assert _one(listings, plan="B95909").gpu_text == "Compute  - GPU - A10"
    assert not [row for row in listings if "Cloud@Customer" in row.gpu_text or "H100T" in row.gpu_text]


def test_oci_known_rows() -> None:
    old = _listings(oci, _payload("oci/cetools_products_usd_2024.json"))
    assert _one(old, plan="B98415").price == 10
    new = _listings(oci, _payload("oci/cetools_products_usd_2026-10-01.json"))
    assert _one(new, plan="B111758").price == Decimal("8.6")
    assert _one(new, plan="B112237").price == 15


def test_oci_disks_traffic_and_preemptible_machines() -> None:
    records = list(oci.parse(_payload("oci/cetools_products_usd_2024.json")))
    extras = [
        (row.kind, row.region_text, row.from_gb, row.price) for row in records if isinstance(row, Extra)
    ]
    assert extras == [
        ("egress", "North America, Europe, and UK", 0, 0),
        ("egress", "North America, Europe, and UK", 10240, Decimal("0.0085")),
        ("egress", "APAC, Japan, and South America", 0, 0),
        ("egress", "APAC, Japan, and South America", 10240, Decimal("0.025")),
        ("egress", "Middle East and Africa", 0, 0),
        ("egress", "Middle East and Africa", 10240, Decimal("0.05")),
        ("storage", None, 0, Decimal("0.0425")),  # 0.0255 + 10 x 0.0017
    ]
    halves = {row.plan: row.price for row in records if isinstance(row, Listing) and row.purchase == "spot"}
    # P100 ("X7") as a virtual machine, V100 ("V2") and A10; no bare metal
    assert halves == {"B88518": Decimal("0.6375"), "B89734": Decimal("1.475"), "B95909": 1}


def test_oci_nodes_cost_what_their_gpus_cost() -> None:
    payload = _payload("oci/cetools_products_usd_2026-10-01.json")
    made = listing_frame(oci.parse(payload), payload)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=date(2026, 11, 30),
        segments={"oci": "hyperscaler"},
    )
    assert normal.rejects.is_empty()
    nodes = {
        row["plan"]: row["price_usd_per_instance_hour"]
        for row in normal.offerings.iter_rows(named=True)
        if row["purchase"] == "on_demand"
    }
    assert nodes == {
        "B88517": Decimal("2.55"),  # P100, bare metal: 2 x 1.275
        "B88518": Decimal("1.275"),  # P100, virtual machine: 1
        "B89734": Decimal("2.95"),  # V100: 1
        "B92740": Decimal("24.4"),  # A100 40 GB: 8 x 3.05
        "B93544": None,  # E4: no chip in the name
        "B95907": Decimal(32),  # A100 80 GB: 8 x 4
        "B95909": Decimal(2),  # A10: 1
        "B109479": Decimal(14),  # L40S: 4 x 3.5
        "B109485": Decimal(48),  # MI300X: 8 x 6
        "B110519": Decimal(80),  # H200: 8 x 10
        "B110978": Decimal(112),  # B200: 8 x 14
        "B110979": Decimal(64),  # GB200: 4 x 16
        "B111758": Decimal("68.8"),  # MI355X: 8 x 8.6
        "B112140": Decimal(72),  # GB300: 4 x 18
        "B112237": Decimal(120),  # B300: 8 x 15
        "B112613": None,  # RTX PRO 6000: no shape is known
    }


def test_ecb_rates() -> None:
    rates = [rate for rate in ecb.parse(_payload("fx/ecb_rates.json")) if isinstance(rate, ExchangeRate)]
    assert {rate.quote: str(rate.rate) for rate in rates} == {
        "CHF": "0.9373",
        "CZK": "24.226",
        "DKK": "7.4757",
        "GBP": "0.8549",
        "NOK": "10.986",
        "PLN": "4.3048",
        "SEK": "11.0285",
        "USD": "1.1534",
    }
    assert {(rate.base, rate.rate_date) for rate in rates} == {("EUR", date(2026, 8, 13))}


COLUMN_OF_ATTRIBUTE = {
    "instanceType": "Instance Type",
    "instanceFamily": "Instance Family",
    "operatingSystem": "Operating System",
    "licenseModel": "License Model",
    "preInstalledSw": "Pre Installed S/W",
    "networkPerformance": "Network Performance",
    "marketoption": "MarketOption",
    "capacitystatus": "CapacityStatus",
    "volumeApiName": "Volume API Name",
    "regionCode": "Region Code",
    "usagetype": "usageType",
    "tenancy": "Tenancy",
    "memory": "Memory",
    "vcpu": "vCPU",
    "gpu": "GPU",
}
TERM_COLUMNS = [
    "SKU",
    "OfferTermCode",
    "TermType",
    "Unit",
    "PricePerUnit",
    "Currency",
    "LeaseContractLength",
    "PurchaseOption",
    "OfferingClass",
]


def _as_csv(*names: str) -> Payload:
    """Price lists that were recorded as JSON, in the columns that the same attributes have in the CSV."""
    columns = [*TERM_COLUMNS, *COLUMN_OF_ATTRIBUTE.values()]
    rows = [",".join(columns)]
    for name in names:
        data = json.loads((REAL / name).read_text())
        for sku, terms in data["terms"]["OnDemand"].items():
            attributes = data["products"][sku]["attributes"]
            for code, term in terms.items():
                for dimension in term["priceDimensions"].values():
                    ((currency, price),) = dimension["pricePerUnit"].items()
                    lease = term["termAttributes"]
                    cells = [
                        sku,
                        code,
                        "Reserved" if lease else "OnDemand",
                        dimension["unit"],
                        price,
                        currency,
                    ]
                    cells += [lease.get(key, "") for key in TERM_COLUMNS[6:]]
                    cells += [attributes.get(key, "") for key in COLUMN_OF_ATTRIBUTE]
                    rows.append(",".join(cells))
    return _payload("aws/index.csv", "\n".join(rows).encode())


def test_aws_capacity_blocks_and_disks_of_recorded_lists() -> None:
    names = [
        f"aws/price_list_bulk_{name}.json" for name in ("p4d_capacityblock", "china_gp3", "us_east_2_sample")
    ]
    records = list(aws_price_list.parse(_as_csv(*names)))
    (block,) = (record for record in records if isinstance(record, Listing))
    assert (block.plan, block.product, block.price, block.gpu_count) == (
        "p4d.24xlarge",
        "capacity_blocks",
        None,
        8,
    )
    disks = {
        (record.region_text, record.currency): record.price for record in records if isinstance(record, Extra)
    }
    assert disks == {("cn-northwest-1", "CNY"): Decimal("0.5312"), ("us-east-2", "USD"): Decimal("0.08")}


def test_gcp_own_list_and_mirror_agree_on_a_machine() -> None:
    own = list(gcp_billing.parse(_payload("gcp/billing_catalog_skus_sample.json")))
    mirror = _listings(gcp, _payload("gcp/cyclenerd_pricing_gpu_2026-07-30.yml"))
    wanted = {"plan": "a2-highgpu-1g", "region_text": "us-central1", "purchase": "on_demand"}
    machine = _one([row for row in own if isinstance(row, Listing)], **wanted)
    # 12 x 0.031611 + 85 x 0.004237 = 0.739477 for the machine, 2.933908 for its GPU
    assert machine.price == Decimal("0.739477") + Decimal("2.933908")
    same = (
        "plan",
        "gpu_text",
        "gpu_count",
        "vcpus",
        "ram",
        "disk",
        "region_text",
        "purchase",
        "price",
        "currency",
    )
    assert [getattr(machine, name) for name in same] == [
        getattr(_one(mirror, **wanted), name) for name in same
    ]


def test_gcp_machines_are_those_of_the_mirror() -> None:
    mirror = _listings(gcp, _payload("gcp/cyclenerd_pricing_gpu_2026-07-30.yml"))
    made_of = {
        row.plan: (
            row.gpu_text,
            row.gpu_count,
            row.vcpus,
            row.ram and row.ram.amount,
            row.disk and row.disk.amount,
        )
        for row in mirror
    }
    table = {
        machine.plan: (
            machine.gpu,
            Decimal(machine.gpus),
            machine.cores,
            machine.ram_gib,
            machine.ssd_gib or None,
        )
        for machine in gcp_billing.MACHINES
    }
    assert table == made_of
