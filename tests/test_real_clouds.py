"""The cloud parsers on payloads as others recorded them, and the list prices on the bundled table.

Every expected value was read from the payload by eye or with jq, or worked out by hand, not taken from a parser.
"""

from __future__ import annotations

import csv
import importlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers import bundled
from scrapers.contract import Extra, Listing, Payload, Quantity, Record, Stock
from scrapers.errors import PayloadShapeError
from transforms.offers.gpu_names import resolve_gpu

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "captures"
OWN = ROOT / "tests" / "captures"
CLOUDS = ("vast", "scaleway", "verda", "vultr", "ovh", "linode", "runpod")

SCW_CATALOGUE = "https://api.scaleway.com/product-catalog/v2alpha1/public-catalog/products?page=1&zone="
SCW_INSTANCE = "https://api.scaleway.com/instance/v1/zones/fr-par-1/products/servers"
VERDA = "https://api.datacrunch.io/v1"
VULTR = "https://api.vultr.com/v2"
LINODE = "https://api.linode.com/v4"


@dataclass(frozen=True)
class Capture:
    """A recorded file: the address it answers, and how many listings and stock rows are in it."""

    url: str
    listings: int
    stock: int = 0


PARSED = {
    "vast/bundles_4fields_2026-09.json": Capture("https://console.vast.ai/api/v0/bundles/", 27),
    "scaleway/product_catalog_fr-par-1_page1.json": Capture(SCW_CATALOGUE + "fr-par-1", 5),
    "scaleway/scaleway_catalog.json": Capture(SCW_CATALOGUE + "fr-par-2", 1),
    "scaleway/instance_products_fr-par-1_1.json": Capture(f"{SCW_INSTANCE}?page=1", 4),
    "scaleway/instance_products_fr-par-1_2.json": Capture(f"{SCW_INSTANCE}?page=2", 1),
    "scaleway/instance_products_fr-par-1_3.json": Capture(f"{SCW_INSTANCE}?page=3", 0),
    "scaleway/instance_availability_fr-par-1_1.json": Capture(f"{SCW_INSTANCE}/availability?page=1", 0, 50),
    "scaleway/instance_availability_fr-par-1_2.json": Capture(f"{SCW_INSTANCE}/availability?page=2", 0, 50),
    "scaleway/instance_availability_fr-par-1_3.json": Capture(f"{SCW_INSTANCE}/availability?page=3", 0, 7),
    "verda/instance_types_excerpt.json": Capture(f"{VERDA}/instance-types", 6),
    "verda/instance_availability_excerpt.json": Capture(
        f"{VERDA}/instance-availability?is_spot=false", 0, 21
    ),
    "vultr/plans_vcg_excerpt.json": Capture(f"{VULTR}/plans?type=vcg", 3),
    "vultr/plans_metal_excerpt.json": Capture(f"{VULTR}/plans-metal", 4),
    "vultr/plans_metal_b200_2026-09-17.json": Capture(f"{VULTR}/plans-metal", 2),
    "ovh/ovh_catalog.json": Capture("https://api.ovh.com/v1/order/catalog/public/cloud?ovhSubsidiary=FR", 2),
    "linode/types_page1.json": Capture(f"{LINODE}/linode/types?page=1", 4),
    "linode/regions_availability_page1.json": Capture(f"{LINODE}/regions/availability?page=1", 0, 100),
    "linode/volume_types.json": Capture(f"{LINODE}/volumes/types?page=1", 0),
    "linode/network_transfer_prices.json": Capture(f"{LINODE}/network-transfer/prices?page=1", 0),
    "runpod/gpu_types_2026-09.json": Capture("https://api.runpod.io/graphql", 96),
    "verda/datacrunch_products_2025-08-08_excerpt.html": Capture("https://datacrunch.io/products", 8),
    "runpod/pricing_2025-09-09_excerpt.html": Capture("https://www.runpod.io/pricing", 10),
}
UNPARSED = {
    "vast/skypilot_style_vms.csv": "offers that somebody else folded to types; not an answer of the source",
}


def payload(cloud: str, path: Path, url: str = "", body: bytes | None = None) -> Payload:
    return Payload(
        source_id=cloud,
        part=path.stem.removeprefix("payload."),
        url=url,
        fetched_at=datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
        body=path.read_bytes() if body is None else body,
    )


def parse(name: str, url: str | None = None) -> list[Record]:
    """The records of a recorded file, named `cloud/file`."""
    if not REAL.is_dir():
        pytest.skip("../shared/captures is not here")
    cloud = name.split("/")[0]
    address = PARSED[name].url if url is None else url
    return list(module(cloud).parse(payload(cloud, REAL / name, address)))


def module(cloud: str) -> Any:
    return importlib.import_module(f"scrapers.providers.{cloud}")


def listings(records: Iterable[Record], **wanted: Any) -> list[Listing]:
    found = [record for record in records if isinstance(record, Listing)]
    return [one for one in found if all(getattr(one, name) == value for name, value in wanted.items())]


def only(records: Iterable[Record], **wanted: Any) -> Listing:
    found = listings(records, **wanted)
    assert len(found) == 1, f"{len(found)} listings with {wanted}"
    return found[0]


def uncovered(files: Iterable[str], named: Iterable[str]) -> list[str]:
    return sorted(set(files) ^ set(named))


def test_every_recorded_file_is_parsed_or_has_a_reason() -> None:
    if not REAL.is_dir():
        pytest.skip("../shared/captures is not here")
    files = [f"{cloud}/{path.name}" for cloud in CLOUDS for path in (REAL / cloud).iterdir()]
    assert uncovered(files, [*PARSED, *UNPARSED]) == []
    assert uncovered([*files, "vast/new.json"], [*PARSED, *UNPARSED]) == ["vast/new.json"]  # the control


@pytest.mark.parametrize("name", PARSED)
def test_the_recorded_file_has_so_many_records(name: str) -> None:
    counts = Counter(type(record) for record in parse(name))
    assert (counts[Listing], counts[Stock]) == (PARSED[name].listings, PARSED[name].stock)


@pytest.mark.parametrize("name", UNPARSED)
def test_what_is_not_parsed_is_an_error_and_never_no_rows(name: str) -> None:
    with pytest.raises(PayloadShapeError):
        parse(name, "https://example.org/")


# Vast


def test_vast_cheapest_of_each_size_and_memory() -> None:
    records = parse("vast/bundles_4fields_2026-09.json")
    assert {one.plan: one.price for one in listings(records, gpu_text="A100 SXM4")} == {
        "4x A100 SXM4 40 GiB": Decimal("2.3755555555555556"),
        "1x A100 SXM4 39 GiB": Decimal("0.6044444444444445"),
        "1x A100 SXM4 40 GiB": Decimal("0.2962962962962963"),
        "8x A100 SXM4 40 GiB": Decimal("3.5251851851851854"),
        "1x A100 SXM4 80 GiB": Decimal("1.0826666666666667"),
        "8x A100 SXM4 80 GiB": Decimal("13.015555555555556"),
    }
    b200 = only(records, plan="1x B200 179 GiB")
    assert (b200.price, b200.price_per, b200.price_unit) == (Decimal("6.252083333333333"), "instance", "hour")
    assert b200.gpu_memory == Quantity(Decimal(183359), "MiB")
    assert b200.note is not None
    assert b200.note.startswith("cheapest of 3 offers; price includes a default disk")
    assert only(records, plan="7x L40S 45 GiB").gpu_count == 7


def own_offers() -> list[dict[str, Any]]:
    offers: list[dict[str, Any]] = json.loads((OWN / "vast" / "payload.h100_sxm.json").read_text())["offers"]
    return offers


def vast_records(offers: list[dict[str, Any]]) -> list[Listing]:
    body = json.dumps({"offers": offers}).encode()
    return list(module("vast").parse(payload("vast", Path("h100_sxm"), body=body)))


def test_vast_drops_what_cannot_be_rented_or_trusted_and_keeps_no_identity() -> None:
    offers = own_offers()
    records = vast_records(offers)
    prices = {one.price for one in records}
    dropped = {"0.02": "reliability 0.949, not verified", "0.03": "not rentable", "0.04": "rented"}
    assert prices.isdisjoint(Decimal(price) for price in dropped)
    for (
        offer
    ) in offers:  # with a trusted host and free, the same offers are listed: the rule is what drops them
        offer |= {"verification": "verified", "rentable": True, "rented": False, "num_gpus": offer["id"]}
    assert {Decimal(price) for price in dropped} <= {one.price for one in vast_records(offers)}
    assert not any("192.0.2.1" in repr(one) or "machine_id" in repr(one) for one in records)


@given(st.permutations(range(9)))
def test_vast_order_of_offers_does_not_matter(order: list[int]) -> None:
    offers = own_offers()

    def key(one: Listing) -> tuple[object, ...]:
        return one.plan, one.purchase, one.region_text, one.segment, one.price, one.note

    assert Counter(map(key, vast_records([offers[index] for index in order]))) == Counter(
        map(key, vast_records(offers))
    )


# Scaleway


def test_scaleway_minutes_and_hours() -> None:
    records = parse("scaleway/product_catalog_fr-par-1_page1.json")
    small = only(records, plan="L4-1-24G")
    assert (small.price, small.price_unit, small.currency) == (Decimal("0.013125"), "minute", "EUR")
    assert (small.gpu_text, small.gpu_count, small.billing_increment_s) == ("L4", 1, 60)
    render = only(records, plan="RENDER-S")
    assert (render.price, render.price_unit, render.billing_increment_s) == (Decimal("1.221"), "hour", 3600)
    node = only(parse("scaleway/scaleway_catalog.json"), plan="B300-SXM-8-288G")
    assert (node.price, node.price_unit, node.gpu_count) == (Decimal(1), "minute", 8)
    assert node.region_text == "fr-par-2"


def test_scaleway_both_price_endpoints_agree() -> None:
    catalogue = {one.plan: one for one in listings(parse("scaleway/product_catalog_fr-par-1_page1.json"))}
    hourly = listings(parse("scaleway/instance_products_fr-par-1_1.json"))
    assert {one.plan: one.price for one in hourly} == {
        "L4-1-24G": Decimal("0.7875"),
        "L4-2-24G": Decimal("1.575"),
        "L4-4-24G": Decimal("3.15"),
        "L4-8-24G": Decimal("6.3"),
    }
    for one in hourly:
        minute = catalogue[one.plan].price
        assert minute is not None
        assert minute * 60 == one.price
        assert one.gpu_memory == Quantity(Decimal(24 * 2**30), "bytes")


def test_scaleway_stock_words() -> None:
    records = [*parse("scaleway/instance_availability_fr-par-1_1.json")]
    records += parse("scaleway/instance_availability_fr-par-1_2.json")
    stock = {record.plan: record for record in records if isinstance(record, Stock)}
    assert (stock["L4-1-24G"].availability, stock["L4-1-24G"].region_text) == ("out_of_stock", "fr-par-1")
    assert stock["RENDER-S"].availability == "in_stock"


def test_scaleway_mig_profile_makes_a_slice() -> None:
    path = OWN / "scaleway" / "payload.instance_products.json"
    part = only(module("scaleway").parse(payload("scaleway", path)), plan="H100-1-10G")
    match = resolve_gpu(part.gpu_text, "scaleway", Decimal(10))
    assert (match.candidates, match.is_slice, match.memory_gib) == (("H100-PCIE-80GB",), True, Decimal(10))
    assert match.fraction == pytest.approx(Decimal(1) / 7)
    whole = only(module("scaleway").parse(payload("scaleway", path)), plan="L40S-2-48G")
    assert whole.gpu_text == "L40S"  # control: a profile of null is no slice


# Verda, Vultr, OVHcloud, Linode, RunPod


def test_verda_text_prices_and_total_memory() -> None:
    records = parse("verda/instance_types_excerpt.json")
    pair = only(records, plan="2A6000.20V", purchase="on_demand")
    assert (pair.price, pair.currency, pair.price_per) == (Decimal("1.98"), "USD", "instance")
    assert (pair.gpu_memory, pair.gpu_memory_is_total) == (Quantity(Decimal(96), "GB"), True)
    assert only(records, plan="1H100.80S.30V", purchase="spot").price == Decimal("1.70")
    assert listings(records, plan="CPU.120V.480G") == []
    stock = parse("verda/instance_availability_excerpt.json")
    found = [one for one in stock if isinstance(one, Stock) and one.plan == "1A100.22V"]
    assert [(one.region_text, one.purchase) for one in found] == [("FIN-01", "on_demand")]


def test_vultr_slices_preemptible_and_sold_out() -> None:
    cloud = parse("vultr/plans_vcg_excerpt.json")
    slice_of_one = only(cloud, plan="vcg-a100-1c-6g-4vram")
    assert (slice_of_one.price, slice_of_one.gpu_count) == (Decimal("0.123"), None)
    assert (slice_of_one.gpu_memory, slice_of_one.gpu_memory_is_total) == (Quantity(Decimal(4), "GB"), True)
    metal = parse("vultr/plans_metal_excerpt.json")
    spot = only(metal, plan="vbm-112c-2048gb-8-h100-gpu", purchase="spot")
    assert (spot.price, spot.gpu_count, spot.region_text) == (Decimal("18.4"), 8, "sea")
    sold_out = parse("vultr/plans_metal_b200_2026-09-17.json")
    assert {one.price: one.availability for one in listings(sold_out)} == {
        Decimal(68): "out_of_stock",
        Decimal("25.6"): "out_of_stock",
    }


def test_ovh_hundred_millionths() -> None:
    records = parse("ovh/ovh_catalog.json")
    hourly, monthly = only(records, price_unit="hour"), only(records, price_unit="month")
    assert (hourly.plan, hourly.price, hourly.currency) == ("a100-180", Decimal("2.75"), "EUR")
    assert (monthly.plan, monthly.price, monthly.term_months) == ("a100-180", Decimal(1100), 1)
    assert (hourly.gpu_text, hourly.gpu_count) == ("A100", 1)
    assert hourly.gpu_memory == Quantity(Decimal(80), "GB")  # the 180 in the name is RAM
    assert hourly.ram == Quantity(Decimal(180), "GB")


def test_linode_cards_and_stock() -> None:
    records = parse("linode/types_page1.json")
    assert {one.plan: (one.price, one.gpu_count) for one in listings(records)} == {
        f"g1-gpu-rtx6000-{count}": (Decimal("1.5") * count, count) for count in (1, 2, 3, 4)
    }
    assert only(records, plan="g1-gpu-rtx6000-3").gpu_text == "RTX6000 GPU x3"  # its 96 GB are RAM
    stock = parse("linode/regions_availability_page1.json")
    plan = [one for one in stock if isinstance(one, Stock) and one.plan == "g1-gpu-rtx6000-4"]
    where = {one.region_text: one.availability for one in plan}
    assert (where["us-southeast"], where["ap-south"]) == ("out_of_stock", "in_stock")


def test_linode_disks_and_traffic() -> None:
    disks, traffic = (
        {one.region_text: (one.kind, one.per, one.price) for one in parse(name) if isinstance(one, Extra)}
        for name in ("linode/volume_types.json", "linode/network_transfer_prices.json")
    )
    assert disks == {
        None: ("storage", "gb_month", Decimal("0.1")),
        "id-cgk": ("storage", "gb_month", Decimal("0.12")),
        "br-gru": ("storage", "gb_month", Decimal("0.14")),
    }
    assert traffic == {  # not the 0.01 of the "distributed" network
        None: ("egress", "gb", Decimal("0.005")),
        "id-cgk": ("egress", "gb", Decimal("0.015")),
        "br-gru": ("egress", "gb", Decimal("0.007")),
    }


def test_runpod_pools_and_placeholders() -> None:
    records = parse("runpod/gpu_types_2026-09.json")
    secure = only(records, gpu_text="NVIDIA H100 80GB HBM3", product="pods_secure")
    assert (secure.price, secure.price_per, secure.segment) == (Decimal("3.49"), "gpu", "neocloud")
    community = only(records, gpu_text="NVIDIA H100 80GB HBM3", product="pods_community")
    assert (community.price, community.segment) == (Decimal("2.69"), "peer_host")
    placeholders = Counter(one.product for one in listings(records, price_state="from_price"))
    assert placeholders == {"pods_secure": 6, "pods_community": 6}
    assert only(records, plan="MI300X", product="pods_community").price_state == "from_price"
    assert only(records, plan="RTX PRO 6000 MaxQ", product="pods_secure").price_state == "from_price"
    not_offered = Counter(one.product for one in listings(records, price=Decimal(0)))
    assert not_offered == {"pods_secure": 7, "pods_community": 1}
    assert only(records, gpu_text="NVIDIA A100-SXM4-40GB", product="pods_secure").price == 0
    assert listings(records, purchase="spot") == []
    assert only(records, plan="PRO 6000 MIG 48GB", product="pods_secure").gpu_memory == Quantity(
        Decimal(48), "GB"
    )


def test_verda_page_is_of_whole_instances_without_the_dynamic_price() -> None:
    records = parse("verda/datacrunch_products_2025-08-08_excerpt.html")
    assert {(one.plan, one.purchase, one.gpu_count): one.price for one in listings(records)} == {
        ("1B200.30V", "on_demand", 1): Decimal("3.64"),
        ("1B200.30V", "spot", 1): Decimal("0.80"),
        ("2B200.60V", "on_demand", 2): Decimal("7.27"),
        ("2B200.60V", "spot", 2): Decimal("1.61"),
        ("4B200.120V", "on_demand", 4): Decimal("14.55"),
        ("4B200.120V", "spot", 4): Decimal("3.21"),
        ("8B200.240V", "on_demand", 8): Decimal("29.10"),
        ("8B200.240V", "spot", 8): Decimal("6.43"),
    }
    node = only(records, plan="8B200.240V", purchase="on_demand")
    assert (node.price_per, node.price_unit, node.currency) == ("instance", "hour", "USD")
    assert (node.gpu_memory, node.gpu_memory_is_total) == (Quantity(Decimal(1440), "GB"), True)
    assert (node.ram, node.vcpus, node.link_text) == (Quantity(Decimal(1472), "GB"), 240, "1.8 TB/s")
    assert only(records, plan="1B200.30V", purchase="spot").link_text is None


def test_runpod_page_has_its_prices_in_attributes() -> None:
    records = parse("runpod/pricing_2025-09-09_excerpt.html")
    assert {(one.plan, one.product): one.price for one in listings(records)} == {
        ("H200", "pods_secure"): Decimal("3.79"),
        ("H200", "pods_community"): Decimal("3.59"),
        ("B200", "pods_secure"): Decimal("5.99"),
        ("B200", "pods_community"): Decimal("5.98"),
        ("H100 NVL", "pods_secure"): Decimal("2.79"),
        ("H100 NVL", "pods_community"): Decimal("2.59"),
        ("H100 PCIe", "pods_secure"): Decimal("2.39"),
        ("H100 PCIe", "pods_community"): Decimal("1.99"),
        ("H100 SXM", "pods_secure"): Decimal("2.69"),
        ("H100 SXM", "pods_community"): Decimal("2.69"),
    }
    assert {(one.price_per, one.price_unit, one.currency) for one in listings(records)} == {
        ("gpu", "hour", "USD")
    }
    secure = only(records, plan="H100 SXM", product="pods_secure")
    assert (secure.segment, secure.gpu_memory) == ("neocloud", Quantity(Decimal(80), "GB"))
    assert only(records, plan="H200", product="pods_community").segment == "peer_host"


# Pages that follow


def parts(cloud: str, name: str, url: str, body: bytes | None = None) -> list[tuple[str, str]]:
    asked = module(cloud).follow(payload(cloud, OWN / cloud / name, url, body))
    return [(request.part, request.url) for request in asked]


def test_vultr_follows_the_cursor_until_it_is_empty() -> None:
    url = "https://api.vultr.com/v2/plans?type=vcg&per_page=500"
    assert parts("vultr", "payload.plans-1.json", url) == [("plans-2", f"{url}&cursor=bmV4dF9fNQ%3D%3D")]
    with_cursor = parts("vultr", "payload.plans-1.json", f"{url}&cursor=old")
    assert with_cursor[0][1] == f"{url}&cursor=bmV4dF9fNQ%3D%3D"
    assert parts("vultr", "payload.plans-metal-1.json", "https://api.vultr.com/v2/plans-metal") == []


def test_linode_follows_pages() -> None:
    found = parts("linode", "payload.types-1.json", "https://api.linode.com/v4/linode/types?page=1")
    assert [part for part, _ in found] == ["types-2"]
    assert "page=2" in found[0][1]
    assert (
        parts("linode", "payload.stock-1.json", "https://api.linode.com/v4/regions/availability?page=1") == []
    )


def test_scaleway_follows_until_the_rows_are_counted_or_the_page_is_not_full() -> None:
    name = "payload.catalogue-fr-par-2-1.json"
    url = "https://api.scaleway.com/product-catalog/v2alpha1/public-catalog/products?zone=fr-par-2&page="
    assert [part for part, _ in parts("scaleway", name, url + "1")] == ["catalogue-fr-par-2-2"]
    assert parts("scaleway", name, url + "1000") == []
    assert parts("scaleway", name, url + "2", b'{"products": [], "total_count": 1507}') == []
    stock = "https://api.scaleway.com/instance/v1/zones/fr-par-2/products/servers/availability?page=3"
    full = json.dumps({"servers": {f"plan-{index}": {"availability": "scarce"} for index in range(100)}})
    assert [part for part, _ in parts("scaleway", name, stock, full.encode())] == ["stock-fr-par-2-4"]
    assert parts("scaleway", "payload.stock-fr-par-2-1.json", stock) == []


# Renamed fields: the first field that broke is named


@pytest.mark.parametrize(
    ("cloud", "name", "field", "place"),
    [
        ("vast", "payload.h100_sxm.json", "num_gpus", "offers[0].num_gpus"),
        ("scaleway", "payload.catalogue-fr-par-2-1.json", "nanos", "products[1].price.retail_price.nanos"),
        ("scaleway", "payload.stock-fr-par-2-1.json", "servers", "servers"),
        ("verda", "payload.instance_types.json", "price_per_hour", "[0].price_per_hour"),
        ("vultr", "payload.plans-1.json", "hourly_cost", "plans[0].hourly_cost"),
        ("ovh", "payload.catalogue-fr.json", "intervalUnit", "addons[0].pricings[0].intervalUnit"),
        ("linode", "payload.types-1.json", "gpus", "data[0].gpus"),
        ("runpod", "payload.gpu_types.json", "memoryInGb", "data.gpuTypes[0].memoryInGb"),
        ("runpod", "payload.gpu_types.json", "gpuTypes", "data.gpuTypes"),
    ],
)
def test_a_renamed_field_is_named_in_the_error(cloud: str, name: str, field: str, place: str) -> None:
    path = OWN / cloud / name
    body = path.read_bytes().replace(f'"{field}"'.encode(), b'"renamed"')
    assert body != path.read_bytes()
    with pytest.raises(PayloadShapeError) as error:
        list(module(cloud).parse(payload(cloud, path, body=body)))
    assert error.value.place == place


@pytest.mark.parametrize("body", [b"", b"<html>Just a moment...</html>", b'{"offers": [', b"null", b"{}"])
@pytest.mark.parametrize("cloud", [*CLOUDS, "list_prices"])
def test_what_is_no_answer_is_an_error(cloud: str, body: bytes) -> None:
    with pytest.raises(PayloadShapeError):
        list(module(cloud).parse(payload(cloud, Path("x"), body=body)))


# List prices


TABLE = Path(bundled.__path__[0]) / "list_prices.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def list_prices() -> list[Listing]:
    return list(module("list_prices").parse(payload("list_prices", TABLE)))


def test_list_prices_one_listing_a_row() -> None:
    found = list_prices()
    assert len(found) == len(rows()) == 1002
    assert [(one.provider, one.plan, one.gpu_text) for one in found] == [
        (row["provider"], row["instance_or_plan"], row["gpu_name_as_listed"]) for row in rows()
    ]
    assert all(one.source_url and one.source_url.startswith("https://") for one in found)
    undated = Counter(one.provider for one in found if one.as_of is None)
    assert undated == {"beam": 3, "ori": 4}  # their pages bear no date, and none is made up
    assert {one.as_of for one in found if one.as_of and one.as_of > date(2026, 11, 30)} == set()


def test_list_prices_kinds_add_up_to_the_table() -> None:
    """Counts per purchase_type, summed by hand from the table (grep -c on the column)."""
    found = list_prices()
    assert Counter(one.purchase for one in found) == {
        # on_demand 485, secure 30, community 37 less 5 of Salad, serverless 67, from_price 28, median 8,
        # average 1, managed inference 2; 5 of from_price need a commitment
        "on_demand": 485 + 30 + 32 + 67 + 28 + 8 + 1 + 2 - 5,
        "spot": 144 + 5,
        # 1y 45, 3y 61, 6m 11, 1m 5, no term 13, savings plans 12, flexible commitments 30, flex-start 19, calendar 4
        "reserved": 45 + 61 + 11 + 5 + 13 + 12 + 30 + 19 + 4 + 5,
    }
    assert Counter(one.term_months for one in found if one.purchase == "reserved") == {
        12: 45 + 6 + 15,
        36: 61 + 6 + 15,
        6: 11,
        1: 5,
        None: 13 + 19 + 4 + 5,
    }
    assert sum(one.price is None for one in found) == 20
    assert sum(one.price_state == "contact_sales" for one in found) == 20
    assert Counter(one.segment for one in found) == {None: 1002 - 69 - 37, "serverless": 69, "peer_host": 37}
    assert sum(one.availability == "out_of_stock" for one in found) == 8


def test_list_prices_hand_checked_rows() -> None:
    found = list_prices()
    node = only(found, provider="qubrid", plan="NVIDIA H200 141GB 8-GPU SXM Server")
    assert (node.price, node.price_per, node.price_unit, node.term_months) == (210240, "instance", "year", 12)
    second = only(found, provider="beam", gpu_text="H100 GPU")
    assert (second.price, second.price_per, second.price_unit) == (Decimal("0.000972"), "gpu", "second")
    month = only(found, provider="gcore", plan="g2-gpu-16-64-a2-4")
    assert (month.price, month.price_per, month.currency) == (Decimal("1184.61"), "instance", "EUR")
    assert all(row["gpu_count"] == "1" for row in rows() if row["price_unit"] == "second")
    part = only(found, plan="g4-standard-12", purchase="spot")
    assert (part.gpu_count, part.price_unit) == (Decimal("0.25"), "hour")
    euro = only(found, provider="ovhcloud", plan="t2-le-45")
    assert (euro.storage_price_per_gb_month, euro.egress_price_per_gb) == (None, 0)
    assert euro.note is not None
    assert "storage 0.0482 USD" in euro.note
    resold = only(found, provider="huggingface_endpoints", plan="gcp nvidia-h100 x1")
    assert (resold.origin, resold.region_text) == ("gcp", None)


def test_list_prices_lower_bounds_are_not_prices() -> None:
    found = list_prices()
    bounds = listings(found, price_state="from_price")
    providers = Counter(one.provider for one in bounds)
    # Hyperstack: all 12 priced reservations; Nebius: 2 on demand and 7 preemptible; RunPod: 4 prices of 0.5
    assert providers == {
        "akash": 21,
        "fal": 5,
        "hyperstack": 12,
        "nebius": 9,
        "runpod": 4,
        "runware": 1,
        "sfcompute": 1,
        "vast": 8,
        "voltagepark": 1,
    }
    assert only(bounds, provider="sfcompute").note is not None
    priced = listings(found, price_state="priced")
    assert not any(one.note and "placeholder" in one.note for one in priced)


def test_list_prices_a_bad_cell_is_named() -> None:
    text = (OWN / "list_prices" / "payload.prices.csv").read_text()
    for old, new, place in (
        ("98.32", "98.32 per hour", "rows[0].price"),
        ("page_html", "rumour", "rows[0].evidence"),
        (",on_demand,", ",on_loan,", "rows[0].purchase_type"),
        ("2026-10-05", "5.10.2026", "rows[0].as_of_date"),
        ("price_unit", "per", "rows[0].price_unit"),
    ):
        body = text.replace(old, new, 1).encode()
        with pytest.raises(PayloadShapeError) as error:
            list(module("list_prices").parse(payload("list_prices", Path("prices"), body=body)))
        assert error.value.place == place
