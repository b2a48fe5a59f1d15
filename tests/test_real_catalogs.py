"""Parsers of catalogs and of smaller clouds: on recorded files where there are any, and their riskiest readings.

Every expected value was read from the payload by eye, or worked out by hand, not taken from a parser.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scrapers.contract import Extra, Listing, PageCount, Payload, Quantity, Record, Stock
from scrapers.errors import PayloadShapeError
from scrapers.registry import load_one
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "captures"
OWN = ROOT / "tests" / "captures"
NAMES = (
    *("outscale", "hivenet", "cudo", "alibaba", "upcloud", "mithril", "oblivus", "exabits", "sharon_ai"),
    *("skypilot", "dstack", "gpurentalprices"),
)
# The recorded file of each cloud, and how many of its lines have an accelerator that is no TPU (awk on the columns).
SKYPILOT = {
    "azure": ("azure/skypilot_style_vms_gpu.csv", 829),
    "gcp": ("gcp/skypilot_style_vms_gpu.csv", 747),
    "hyperstack": ("hyperstack/skypilot_vms.csv", 25),
    "jarvislabs": ("jarvislabs/skypilot_vms.csv", 16),
    "lambda": ("lambda/skypilot_style_vms.csv", 391),
    "mithril": ("mithril/skypilot_vms.csv", 4),
    "nebius": ("nebius/skypilot_vms.csv", 21),
    "spheron": ("spheron/skypilot_vms_sample.csv", 10),
    "vast": ("vast/skypilot_style_vms.csv", 64),
    "yotta": ("yotta/skypilot_vms.csv", 8),
}


def payload(name: str, body: bytes | str | dict[str, Any], *, part: str = "x", url: str = "") -> Payload:
    if isinstance(body, dict):
        body = json.dumps(body)
    return Payload(
        source_id=name,
        part=part,
        url=url,
        fetched_at=datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
        body=body.encode() if isinstance(body, str) else body,
    )


def real(file: str) -> bytes:
    path = REAL / file
    if not path.exists():
        pytest.skip(f"the recorded file {file} is not beside this checkout")
    return path.read_bytes()


def own(name: str, file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((OWN / name / file).read_text())
    return content


def parse(name: str, asked: Payload) -> list[Record]:
    return list(load_one(name).parse(asked))


def listings(records: Iterable[Record], **wanted: object) -> list[Listing]:
    """The listings whose fields are as wanted."""
    found = (record for record in records if isinstance(record, Listing))
    return [one for one in found if all(getattr(one, field) == value for field, value in wanted.items())]


def only(records: Iterable[Record], **wanted: object) -> Listing:
    found = listings(records, **wanted)
    assert len(found) == 1, f"{len(found)} listings with {wanted}"
    return found[0]


def usd_per_gpu_hour(name: str, asked: Payload, **wanted: object) -> float:
    made = listing_frame(listings(parse(name, asked), **wanted), asked)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=date(2026, 11, 30),
        segments={name: None},
    )
    (price,) = normal.offerings["price_usd_per_gpu_hour"].to_list()
    return float(price)


# SkyPilot


def sky(cloud: str, body: bytes | str) -> list[Record]:
    module: ModuleType = load_one("skypilot")
    (request,) = [request for request in module.SOURCE.requests if request.part == cloud]
    return list(module.parse(payload("skypilot", body, part=cloud, url=request.url)))


@pytest.mark.parametrize("cloud", SKYPILOT)
def test_skypilot_reads_every_line_with_a_card(cloud: str) -> None:
    file, lines = SKYPILOT[cloud]
    body = real(file)
    found = listings(sky(cloud, body))
    read = {one.place for one in found}
    # Lambda's 23 types stand in 17 regions each.
    assert len(read) == (lines // 17 if cloud == "lambda" else lines)
    assert {one.evidence for one in found} == {"second_hand"}
    assert {one.as_of for one in found} == {None}
    assert {one.provider for one in found} == {load_one("skypilot").PROVIDERS[cloud]}


def test_skypilot_lines_are_counted_apart_from_the_parser() -> None:
    for cloud, (file, lines) in SKYPILOT.items():
        rows = list(csv.reader(io.StringIO(real(file).decode())))
        name, count = rows[0].index("AcceleratorName"), rows[0].index("AcceleratorCount")
        cards = [row for row in rows[1:] if row[name] and not row[name].startswith("tpu-")]
        assert len([row for row in cards if float(row[count]) > 0]) == lines, cloud


def test_skypilot_azure_ragged_rows_and_fractions() -> None:
    records = sky("azure", real("azure/skypilot_style_vms_gpu.csv"))
    row = only(records, plan="Standard_NC12s_v3", region_text="australiaeast", purchase="on_demand")
    assert (row.price, row.gpu_text, row.gpu_count, row.ram) == (
        Decimal("8.468"),
        "V100",
        2,
        Quantity(Decimal(224), "GiB"),
    )
    part = only(records, plan="Standard_NV6ads_A10_v5", region_text="eastus", purchase="spot")
    assert (part.price, part.gpu_count) == (Decimal("0.083899"), Decimal("0.167"))
    same = listings(records, plan="Standard_ND96isr_H200_v5", region_text="centralus")
    assert [(one.purchase, one.price) for one in same] == [
        ("on_demand", Decimal("95.824")),
        ("spot", Decimal("95.824")),
    ]


def test_skypilot_gcp_has_accelerators_alone() -> None:
    records = sky("gcp", real("gcp/skypilot_style_vms_gpu.csv"))
    assert {one.price_state for one in listings(records)} == {"from_price"}
    row = only(records, plan="8x A100", zone_text="us-central1-a", purchase="on_demand")
    assert (row.price, row.gpu_count, row.price_per) == (Decimal("23.47126"), 8, "instance")
    assert row.gpu_memory == Quantity(Decimal(40960), "MiB")
    assert not [one for one in listings(records) if "tpu" in one.gpu_text or "a2-" in one.plan]
    # spot above the 1.8462 on demand is said as it stands
    dear = only(records, plan="1x A100-80GB", zone_text="us-central1-a", purchase="spot")
    assert dear.price == Decimal("1.964")


def test_skypilot_lambda_is_one_listing_a_type() -> None:
    found = listings(sky("lambda", real("lambda/skypilot_style_vms.csv")))
    assert len(found) == len({one.plan for one in found}) == 23
    assert {one.region_text for one in found} == {None}
    assert only(found, plan="gpu_1x_gh200").gpu_memory == Quantity(Decimal(98304), "MiB")
    assert only(found, plan="gpu_2x_h100_sxm5").form_factor_text == "sxm5"
    node = only(found, plan="gpu_8x_a100_80gb_sxm4")
    assert (node.gpu_count, node.gpu_memory, node.gpu_memory_is_total) == (
        8,
        Quantity(Decimal(81920), "MiB"),
        False,
    )


def test_skypilot_lambda_with_another_price_in_a_region_is_two_listings() -> None:
    text = (OWN / "skypilot" / "payload.lambda.csv").read_bytes().decode()
    assert len(listings(sky("lambda", text), plan="gpu_2x_h100_sxm5")) == 1
    dearer = text.replace("7.98,asia-south-1", "8.98,asia-south-1")
    assert [one.price for one in listings(sky("lambda", dearer), plan="gpu_2x_h100_sxm5")] == [
        Decimal("7.98"),
        Decimal("8.98"),
    ]


def test_skypilot_mithril_is_a_bid_floor() -> None:
    found = listings(sky("mithril", real("mithril/skypilot_vms.csv")))
    assert {(one.purchase, one.price_state) for one in found} == {("spot", "bid_floor")}
    assert Counter(one.price for one in found) == {Decimal(1): 2, Decimal(8): 2}


def test_skypilot_spheron_origin_spot_and_mislabelled_card() -> None:
    found = listings(sky("spheron", real("spheron/skypilot_vms_sample.csv")))
    assert only(found, plan="1H100.80S.32V_FIN-03_500", purchase="spot").origin == "verda"
    spot = only(found, plan="n3-A100x1-spot__CANADA-1")
    assert (spot.purchase, spot.price, spot.origin) == ("spot", Decimal("1.1476"), None)
    mislabelled = only(found, plan="gpu_1x_a100_SXM4_us-central-3")
    assert mislabelled.gpu_text == "gpu_1x_a100_SXM4_us-central-3"
    assert only(found, plan="n3-A100x1__CANADA-1").gpu_text == "A100_80G_PCIE"  # control: no other form


def test_skypilot_yotta_counts_by_the_column() -> None:
    found = listings(sky("yotta", real("yotta/skypilot_vms.csv")))
    node = only(found, plan="8x112v952g_NVIDIA_GeForce_RTX_5090_32G_SECURE")
    assert (node.gpu_count, node.price, node.gpu_memory) == (
        8,
        Decimal("5.2"),
        Quantity(Decimal(32607), "MiB"),
    )


def test_skypilot_short_rows_and_missing_columns_are_errors() -> None:
    text = (OWN / "skypilot" / "payload.nebius.csv").read_text()
    with pytest.raises(PayloadShapeError, match="line 4: 2 cells"):
        sky("nebius", text + "gpu-h100,H100\n")
    with pytest.raises(PayloadShapeError, match="no column SpotPrice"):
        sky("nebius", text.replace("SpotPrice", "Spot"))
    with pytest.raises(PayloadShapeError, match="neither the address nor the part"):
        parse("skypilot", payload("skypilot", text, part="elsewhere"))


# dstack


def zipped(name: str, text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return file.getvalue()


def catalog() -> str:
    with zipfile.ZipFile(OWN / "dstack" / "payload.catalog-aws.zip") as archive:
        return archive.read("aws.csv").decode()


def test_dstack_follows_the_version_to_the_zip() -> None:
    module: ModuleType = load_one("dstack")
    base = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3"
    asked = payload("dstack", "20261129-21408\n", part="version-oci", url=f"{base}/oci/version")
    assert list(module.parse(asked)) == []
    (request,) = module.follow(asked)
    assert (request.part, request.url) == ("catalog-oci", f"{base}/oci/20261129-21408/catalog.zip")
    zip_of = payload("dstack", zipped("oci.csv", catalog()), url=request.url)
    assert list(module.follow(zip_of)) == []
    assert {one.provider for one in listings(module.parse(zip_of))} == {"oracle"}
    assert {one.as_of for one in listings(module.parse(zip_of))} == {date(2026, 11, 29)}


@pytest.mark.parametrize("version", ["../../secret", "20261129-21408/x", "20261129?x=1", "2026", ""])
def test_dstack_follows_nothing_else(version: str) -> None:
    module: ModuleType = load_one("dstack")
    url = "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3/aws/version"
    asked = payload("dstack", version, url=url)
    assert list(module.follow(asked)) == []
    with pytest.raises(PayloadShapeError):
        list(module.parse(asked))


def test_dstack_bounds_what_a_zip_unpacks_to(monkeypatch: pytest.MonkeyPatch) -> None:
    module: ModuleType = load_one("dstack")
    text = catalog()
    monkeypatch.setattr(module, "LARGEST_CSV_BYTES", len(text) - 1)
    with pytest.raises(PayloadShapeError, match="unpacks to more than"):
        parse("dstack", payload("dstack", zipped("aws.csv", text)))
    monkeypatch.setattr(module, "LARGEST_CSV_BYTES", len(text))
    assert parse("dstack", payload("dstack", zipped("aws.csv", text)))  # control


def test_dstack_a_zip_of_nobody_is_an_error() -> None:
    for body in (zipped("other.csv", catalog()), zipped("aws.csv", "a,b\n1,2\n"), b"PK\x03\x04"):
        with pytest.raises(PayloadShapeError):
            parse("dstack", payload("dstack", body))


def test_dstack_a_booked_window_is_no_price_on_demand() -> None:
    row = only(parse("dstack", payload("dstack", zipped("aws.csv", catalog()))), plan="a3-highgpu-8g")
    assert (row.purchase, row.term_months, row.product) == ("reserved", None, "booked_window")


# gpurentalprices


def test_gpurentalprices_recorded_table() -> None:
    found = listings(
        parse(
            "gpurentalprices", payload("gpurentalprices", real("aggregators/gpurentalprices_2026-08-22.json"))
        )
    )
    # jq: 293 offers; on-demand 156, serverless 51, spot 32, community 30 of which 5 are Salad's, secure 24
    assert Counter((one.purchase, one.segment) for one in found) == {
        ("on_demand", None): 156 + 24,
        ("on_demand", "serverless"): 51,
        ("on_demand", "peer_host"): 25,
        ("spot", None): 32,
        ("spot", "peer_host"): 5,
    }
    assert {one.as_of for one in found} == {date(2026, 8, 22)}
    assert {(one.price_per, one.price_state) for one in found} == {("gpu", "from_price")}
    verda = only(found, provider="verda", gpu_text="b300")
    assert (verda.price, verda.gpu_count, verda.gpu_memory) == (
        Decimal("7.5"),
        1,
        Quantity(Decimal(268), "GB"),
    )
    assert {
        (one.gpu_count, one.price) for one in listings(found, provider="aws", gpu_text="l4", purchase="spot")
    } == {
        (1, Decimal("0.105")),
        (8, Decimal("0.21995")),
    }
    assert only(found, provider="massed_compute", gpu_text="a30").price == Decimal("0.35")
    assert len(listings(found, provider="ovhcloud")) == 8


def test_gpurentalprices_stale_rows_say_so_and_keep_their_day() -> None:
    found = listings(
        parse("gpurentalprices", payload("gpurentalprices", own("gpurentalprices", "payload.latest.json")))
    )
    stale = only(found, provider="verda")
    assert stale.note is not None
    assert "stale" in stale.note
    assert stale.as_of == date(2026, 10, 2)
    assert [one for one in found if one.note and "stale" in one.note] == [stale]


# Prices per GPU of machines with several


@pytest.mark.parametrize(
    ("name", "file", "wanted", "usd"),
    [
        ("exabits", "payload.flavors.json", {"plan": "n3-H100-SXMx8"}, 2.49),  # per GPU, 8 of them
        ("oblivus", "payload.metadata.json", {"plan": "H100_SXM5_80GB"}, 2.95),  # per GPU, 8 of them
        ("mithril", "payload.price-h100-80gb.sxm.8x.json", {"product": "spot"}, 1.9),  # 15.20 for 8
        ("cudo", "payload.machine_types.json", {"plan": "sapphire-h100", "price_state": "priced"}, 3.37),
    ],
)
def test_a_price_is_neither_multiplied_nor_divided_twice(
    name: str, file: str, wanted: dict[str, object], usd: float
) -> None:
    part = file.removeprefix("payload.").removesuffix(".json")
    asked = payload(name, (OWN / name / file).read_bytes(), part=part)
    assert usd_per_gpu_hour(name, asked, **wanted) == pytest.approx(usd)


# CUDO


def test_cudo_recorded_types_are_added_up_within_the_ratios() -> None:
    records = parse("cudo", payload("cudo", real("cudo/machine_types_excerpt.json")))
    largest = only(records, gpu_text="RTX A5000", product="largest_per_gpu")
    # 16 vCPUs, 16 / 0.259109 = 61.75 -> 61 GiB: 0.52 + 16 * 0.0021 + 61 * 0.0034
    assert (largest.vcpus, largest.ram) == (16, Quantity(Decimal(61), "GiB"))
    assert largest.price == Decimal("0.761")
    smallest = only(records, gpu_text="RTX 3080", product="smallest_per_gpu")
    # 1 vCPU and 1 GiB: 0.05 + 0.0025 + 0.0038
    assert (smallest.vcpus, smallest.ram, smallest.price) == (
        1,
        Quantity(Decimal(1), "GiB"),
        Decimal("0.0563"),
    )
    assert (smallest.price_state, largest.price_state) == ("from_price", "priced")
    assert {one.evidence for one in listings(records)} == {"derived"}
    assert {(one.region_text, one.availability, one.available_count) for one in listings(records)} == {
        ("br-saopaulo-1", "in_stock", 24),
        ("no-luster-1", "in_stock", 7),
    }
    disks = {(one.region_text, one.price, one.per) for one in records if isinstance(one, Extra)}
    assert disks == {
        ("br-saopaulo-1", Decimal("0.00013"), "gib_hour"),
        ("no-luster-1", Decimal("0.000107"), "gib_hour"),
    }


def test_cudo_a_ratio_of_zero_is_named() -> None:
    body = own("cudo", "payload.machine_types.json")
    body["machineTypes"][1]["minVcpuPerMemoryGib"] = 0
    with pytest.raises(PayloadShapeError, match=r"machineTypes\[1\]\.minVcpuPerMemoryGib"):
        parse("cudo", payload("cudo", body))


# UpCloud


def test_upcloud_of_2020_has_no_gpu_and_says_so() -> None:
    with pytest.raises(PayloadShapeError, match="none of 10 zones has a GPU plan"):
        parse("upcloud", payload("upcloud", real("upcloud/price_zones_2020.json")))


def test_upcloud_cents_per_amount() -> None:
    body = own("upcloud", "payload.prices.json")
    plan = body["prices"]["zone"][1]["server_plan_GPU-24xCPU-256GB-2xL40S"]
    assert only(parse("upcloud", payload("upcloud", body)), plan="GPU-24xCPU-256GB-2xL40S").price == Decimal(
        "2.4"
    )
    plan["amount"] = 2
    assert only(parse("upcloud", payload("upcloud", body)), plan="GPU-24xCPU-256GB-2xL40S").price == Decimal(
        "1.2"
    )
    plan["amount"] = 0
    with pytest.raises(PayloadShapeError, match="amount"):
        parse("upcloud", payload("upcloud", body))


def test_upcloud_asks_for_the_stock_of_zones_with_gpus() -> None:
    module: ModuleType = load_one("upcloud")
    body = own("upcloud", "payload.prices.json")
    asked = [(one.part, one.url) for one in module.follow(payload("upcloud", body))]
    stock = "https://api.upcloud.com/1.3/device/availability?type=gpu&zone="
    assert asked == [("stock-fi-hel2", stock + "fi-hel2")]
    body["prices"]["zone"][1]["name"] = "x&zone=y#"
    assert list(module.follow(payload("upcloud", body))) == []
    assert list(module.follow(payload("upcloud", own("upcloud", "payload.stock-fi-hel2.json")))) == []


# Mithril


def test_mithril_asks_for_the_price_of_each_type() -> None:
    module: ModuleType = load_one("mithril")
    types = payload("mithril", (OWN / "mithril" / "payload.types.json").read_bytes(), part="types")
    assert list(module.parse(types)) == []
    price = "https://api.mithril.ai/v2/pricing/current?instance_type="
    assert [(one.part, one.url) for one in module.follow(types)] == [
        ("price-h100-80gb.sxm.8x", price + "it_one"),
        ("price-ccs-h200.sxm.1x", price + "it_two"),
        ("price-id-it_three.h100-80gb.sxm.8x", price + "it_three"),
    ]
    second = payload("mithril", {"minimum_price_cents": 900}, part="price-id-it_three.h100-80gb.sxm.8x")
    assert only(module.parse(second)).plan == "h100-80gb.sxm.8x"
    assert list(module.follow(second)) == []
    hostile = types.body.replace(b"it_two", b"it_two&x=1")
    with pytest.raises(PayloadShapeError, match="fid"):
        list(module.follow(payload("mithril", hostile)))


def test_mithril_only_the_market_price_is_a_price() -> None:
    body = own("mithril", "payload.price-h100-80gb.sxm.8x.json")
    records = parse("mithril", payload("mithril", body, part="price-h100-80gb.sxm.8x"))
    assert [(one.price, one.purchase, one.price_state) for one in listings(records)] == [
        (Decimal(8), "spot", "bid_floor"),
        (Decimal("15.2"), "spot", "priced"),
        (Decimal("23.6"), "reserved", "priced"),
    ]
    with pytest.raises(PayloadShapeError, match="says no instance type"):
        parse("mithril", payload("mithril", body, part="prices"))


# Outscale, Hivenet, Alibaba, Sharon AI, Oblivus


def test_outscale_attached_goes_before_allocated_and_the_address_gives_the_region() -> None:
    body = own("outscale", "payload.us-west-1.json")
    entry = {"Type": "Gpu:allocate:nvidia-v100", "UnitPrice": 0.75}
    body["Catalog"]["Entries"] = [entry, *body["Catalog"]["Entries"], entry]
    url = "https://api.us-west-1.outscale.com/api/v1/ReadPublicCatalog"
    row = only(parse("outscale", payload("outscale", body, url=url)), plan="nvidia-v100")
    assert (row.price, row.region_text, row.price_state) == (Decimal("1.25"), "us-west-1", "from_price")
    assert row.note is not None
    assert row.note.startswith("price to attach")
    nowhere = only(parse("outscale", payload("outscale", body)), plan="nvidia-v100")
    assert nowhere.region_text is None  # control


def test_hivenet_a_discount_keeps_the_regular_price() -> None:
    body = (OWN / "hivenet" / "payload.presets.json").read_bytes()
    row = only(parse("hivenet", payload("hivenet", body)), plan="8x-RTX-4090")
    assert (row.price, row.regular_price) == (Decimal("2.8"), Decimal("3.2"))
    plain = only(parse("hivenet", payload("hivenet", body)), plan="4x-RTX-4090")
    assert (plain.price, plain.regular_price, plain.gpu_count) == (Decimal("1.6"), None, 4)


def test_alibaba_without_a_currency_has_no_price_in_dollars() -> None:
    body = (OWN / "alibaba" / "payload.without_currency.json").read_bytes()
    asked = payload("alibaba", body)
    made = listing_frame(parse("alibaba", asked), asked)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=date(2026, 11, 30),
        segments={"alibaba": None},
    )
    (row,) = normal.offerings.to_dicts()
    assert (row["price_usd_per_gpu_hour"], row["price_date"]) == (None, None)
    assert float(row["price_listed"]) == 37.185


def test_alibaba_subscriptions_are_paid_for_the_term() -> None:
    found = parse("alibaba", payload("alibaba", own("alibaba", "payload.instance_prices.json")))
    three_years = only(found, plan="ecs.gn6i-c4g1.xlarge", term_months=36)
    assert (three_years.price, three_years.price_unit, three_years.purchase) == (14600, "term", "reserved")
    assert {one.as_of for one in listings(found)} == {date(2025, 3, 4)}
    for broken in ("2025-13-45T00:00:00Z", "2025-02-30"):
        body = own("alibaba", "payload.instance_prices.json") | {"publicationDate": broken}
        with pytest.raises(PayloadShapeError, match="publicationDate"):
            parse("alibaba", payload("alibaba", body))


def test_sharon_ai_a_list_that_is_cut_shows() -> None:
    body = own("sharon_ai", "payload.profiles.json")
    body["metadata"]["count"] = 230
    (count,) = [one for one in parse("sharon_ai", payload("sharon_ai", body)) if isinstance(one, PageCount)]
    assert (count.declared, count.rows) == (230, 6)
    body["items"][0]["status"]["globalSettings"]["billing"]["ratecard"]["instance"][0]["time_unit"] = (
        "fortnight"
    )
    with pytest.raises(PayloadShapeError, match=r"items\[0\].*time_unit: 'fortnight' is none of h, d, mo"):
        parse("sharon_ai", payload("sharon_ai", body))


def test_oblivus_stock_is_of_the_flavour() -> None:
    records = parse("oblivus", payload("oblivus", own("oblivus", "payload.stock.json")))
    assert {(one.plan, one.region_text, one.availability) for one in records if isinstance(one, Stock)} == {
        ("H100_SXM5_80GB", "OSL1", "out_of_stock"),
        ("H100_SXM5_80GB", "MON1", "in_stock"),
        ("A100_PCIE_80GB", "OSL1", "in_stock"),
        ("RTX_A6000", "OSL1", "out_of_stock"),
    }


# Whatever the bytes


def own_payloads(name: str) -> list[Payload]:
    headers = json.loads((OWN / name / "listings.json").read_text())["payloads"]
    return [
        payload(name, (OWN / name / file).read_bytes(), part=header["part"], url=header["url"])
        for file, header in sorted(headers.items())
    ]


def outcome(name: str, asked: Payload) -> str:
    """What came of it; any error but the one that names a place is raised."""
    module: ModuleType = load_one(name)
    try:
        found = list(module.parse(asked))
        list(module.follow(asked)) if hasattr(module, "follow") else None
    except PayloadShapeError:
        return "refused"
    return f"{len(found)} records"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_another_encoding_gives_the_same_records(name: str, encoding: str) -> None:
    for asked in own_payloads(name):
        if asked.part.startswith(("catalog-", "version-")):
            continue
        again = payload(name, asked.body.decode().encode(encoding), part=asked.part, url=asked.url)
        assert parse(name, again) == parse(name, asked)


@pytest.mark.parametrize("name", NAMES)
def test_values_of_another_kind_are_read_or_refused(name: str) -> None:
    """Each value of a JSON payload in turn becomes one of another kind."""
    refused = 0
    for asked in own_payloads(name):
        if not asked.body.lstrip().startswith((b"{", b"[")):
            continue
        top = json.loads(asked.body)
        for holder, key in list(_places(top)):
            kept = holder[key]
            for other in (None, {}, "x", 1e40):
                holder[key] = other
                body = json.dumps(top).encode()
                refused += outcome(name, payload(name, body, part=asked.part, url=asked.url)) == "refused"
            holder[key] = kept
    assert refused > 20 or name in ("skypilot", "dstack")


def _places(value: Any) -> Iterable[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])
