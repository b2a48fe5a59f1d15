"""AWS, Azure, GCP, OCI and ECB: which rows of the own payloads are no listings, and what breaks how.

What the payloads give is in `tests/captures/<id>/listings.json`, checked by `test_goldens`. The offers that the
list of OCI becomes are checked here too, for their counts are in the facts about names alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import cycle, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scrapers.contract import ExchangeRate, Listing, Payload
from scrapers.errors import PayloadShapeError
from scrapers.providers import aws, aws_price_list, azure, ecb, gcp, gcp_billing, oci
from transforms.offers.gpu_names import resolve_gpu
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise
from transforms.reference.tables import read

CAPTURES = Path(__file__).parent / "captures"
Edit = Callable[[Any], None]


def _payload(provider_id: str, file: str, **changes: Any) -> Payload:
    payload = Payload(
        source_id=provider_id,
        part=file.removeprefix("payload.").rsplit(".", 1)[0],
        url="https://example.com/",
        fetched_at=datetime(2026, 11, 30, 2, tzinfo=UTC),
        body=(CAPTURES / provider_id / file).read_bytes(),
        content_type="application/json",
    )
    return replace(payload, **changes)


def _edited(provider_id: str, file: str, edit: Edit) -> Payload:
    data = json.loads((CAPTURES / provider_id / file).read_text(), parse_float=Decimal)
    edit(data)
    return _payload(provider_id, file, body=json.dumps(data, default=str).encode())


def _delete(*path: Any) -> Edit:
    def edit(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return edit


def _set(value: object, *path: Any) -> Edit:
    def edit(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return edit


def _paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value of a JSON document stands."""
    if path:
        yield path
    steps = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for step in steps:
        yield from _paths(data[step], (*path, step))


JUNK: tuple[object, ...] = (None, "x", [], {}, 10**40, "9" * 5000)


def _unexpected_errors(provider: Any, file: str) -> list[str]:
    """Errors other than PayloadShapeError, with one value of the payload gone or replaced at a time."""
    paths = list(_paths(json.loads((CAPTURES / provider.SOURCE.id / file).read_text())))
    edits = [_delete(*path) for path in paths]
    edits += [_set(junk, *path) for path, junk in zip(paths, cycle(JUNK), strict=False)]
    functions = [getattr(provider, name) for name in ("parse", "follow") if hasattr(provider, name)]
    errors = []
    for edit, function in product(edits, functions):
        try:
            list(function(_edited(provider.SOURCE.id, file, edit)))
        except PayloadShapeError:
            continue
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            errors.append(f"{type(error).__name__}: {error}")
    return errors


JSON_PAYLOADS = [
    (aws, "payload.on_demand_us-east-1.json"),
    (aws, "payload.spot_advisor.json"),
    (azure, "payload.reservation.json"),
    (aws_price_list, "payload.savings_plans.json"),
    (azure, "payload.traffic.json"),
    (gcp_billing, "payload.skus_2.json"),
    (oci, "payload.products.json"),
    (ecb, "payload.rates.json"),
]


@pytest.mark.parametrize(("provider", "file"), JSON_PAYLOADS)
def test_whatever_is_broken_the_error_is_of_the_payload(provider: Any, file: str) -> None:
    assert _unexpected_errors(provider, file) == []


def test_control_a_parser_that_stumbles_is_caught() -> None:
    def parse(payload: Payload) -> list[Any]:
        return [json.loads(payload.body)["items"][1]["partNumber"]]

    errors = _unexpected_errors(SimpleNamespace(SOURCE=oci.SOURCE, parse=parse), "payload.products.json")
    assert any(error.startswith("KeyError") for error in errors)


US_EAST = "US East (N. Virginia)"
P5 = "p5 48xlarge US East N. Virginia Linux"

SERIES = ("dataSets", 0, "series")

BROKEN = [
    (
        aws,
        "payload.on_demand_us-east-1.json",
        _delete("regions", US_EAST, P5, "price"),
        f"regions[{US_EAST!r}][{P5!r}].price",
    ),
    (
        aws,
        "payload.on_demand_us-east-1.json",
        _set("free", "regions", US_EAST, P5, "price"),
        f"regions[{US_EAST!r}][{P5!r}].price",
    ),
    (
        aws,
        "payload.on_demand_us-east-1.json",
        _delete("regions", US_EAST, P5, "Instance Type"),
        f"regions[{US_EAST!r}][{P5!r}]['Instance Type']",
    ),
    (aws, "payload.on_demand_us-east-1.json", _delete("regions"), "top"),
    (
        aws,
        "payload.spot_advisor.json",
        _set(9, "spot_advisor", "us-east-1", "Linux", "g6e.xlarge", "r"),
        "spot_advisor.us-east-1.Linux['g6e.xlarge'].r",
    ),
    (aws, "payload.spot_advisor.json", _set("often", "ranges", 1, "label"), "ranges[1].label"),
    (azure, "payload.consumption.json", _delete("Items", 0, "retailPrice"), "Items[0].retailPrice"),
    (
        azure,
        "payload.consumption.json",
        _set("1 Month", "Items", 0, "unitOfMeasure"),
        "Items[0].unitOfMeasure",
    ),
    (
        azure,
        "payload.consumption.json",
        _set("soon", "Items", 0, "effectiveStartDate"),
        "Items[0].effectiveStartDate",
    ),
    (azure, "payload.consumption.json", _delete("Items"), "top"),
    (azure, "payload.reservation.json", _delete("Items", 0, "reservationTerm"), "Items[0].reservationTerm"),
    (oci, "payload.products.json", _delete("items", 1, "metricName"), "items[1].metricName"),
    (
        oci,
        "payload.products.json",
        _set([], "items", 1, "currencyCodeLocalizations"),
        "items[1].currencyCodeLocalizations[0]",
    ),
    (oci, "payload.products.json", _delete("items"), "items"),
    (ecb, "payload.rates.json", _set({}, *SERIES), "dataSets[0].series"),
    (
        ecb,
        "payload.rates.json",
        _set([None], *SERIES, "0:0:0:0:0", "observations", "1"),
        "dataSets[0].series['0:0:0:0:0'].observations.1[0]",
    ),
    (
        ecb,
        "payload.rates.json",
        _set([0], *SERIES, "0:0:0:0:0", "observations", "1"),
        "dataSets[0].series['0:0:0:0:0'].observations.1[0]",
    ),
    (
        ecb,
        "payload.rates.json",
        _set({}, *SERIES, "0:0:0:0:0", "observations"),
        "dataSets[0].series['0:0:0:0:0']",
    ),
    (
        ecb,
        "payload.rates.json",
        _set([], "structure", "dimensions", "observation"),
        "structure.dimensions.observation",
    ),
    (
        ecb,
        "payload.rates.json",
        _set({"0:9:0:0:0": {"observations": {"0": [2]}}}, *SERIES),
        "dataSets[0].series['0:9:0:0:0']",
    ),
]


@pytest.mark.parametrize(("provider", "file", "edit", "place"), BROKEN)
def test_a_broken_field_is_named(provider: Any, file: str, edit: Edit, place: str) -> None:
    def untouched(data: Any) -> None:
        pass

    assert list(provider.parse(_edited(provider.SOURCE.id, file, untouched))), "control: it parses as it is"
    with pytest.raises(PayloadShapeError) as caught:
        list(provider.parse(_edited(provider.SOURCE.id, file, edit)))
    assert caught.value.place == place


@pytest.mark.parametrize("provider", [aws, azure, gcp, oci, ecb])
@pytest.mark.parametrize(
    "body", [b"", b"<html><title>Just a moment...</title></html>", b'{"a": 1', b"{}", b"[]"]
)
def test_no_answer_of_another_kind_looks_like_no_rows(provider: Any, body: bytes) -> None:
    payload = replace(_payload(provider.SOURCE.id, "listings.json"), body=body)
    with pytest.raises(PayloadShapeError):
        list(provider.parse(payload))


def _plans(provider: Any, file: str) -> list[tuple[str, str]]:
    records = provider.parse(_payload(provider.SOURCE.id, file))
    return [(record.plan, record.purchase) for record in records if isinstance(record, Listing)]


def test_aws_leaves_out_what_is_not_a_linux_accelerator() -> None:
    on_demand = _plans(aws, "payload.on_demand_us-east-1.json")
    assert [plan for plan, _ in on_demand] == [
        "p5.48xlarge",
        "p4d.24xlarge",
        "g6f.large",
        "trn1.32xlarge",
        "inf2.xlarge",
        "g7e.2xlarge",
    ]
    spot = {plan for plan, _ in _plans(aws, "payload.spot.js")}
    assert not spot & {"g5.xlarge", "vt1.3xlarge", "f2.12xlarge", "m5.large"}


def test_aws_spot_cell_without_a_price_is_a_listing_without_one() -> None:
    rows = [row for row in aws.parse(_payload("aws", "payload.spot.js")) if isinstance(row, Listing)]
    assert {row.plan: row.availability_text for row in rows if row.price is None} == {
        "p4de.24xlarge": "N/A*",
        "p3.2xlarge": "-1",
    }
    assert {row.availability_text for row in rows if row.price is not None} == {None}
    whole = _payload("aws", "payload.spot.js")
    for cell in (b"[]", b"null", b'"on request"'):
        broken = replace(whole, body=whole.body.replace(b'"27.1904"', cell))
        with pytest.raises(PayloadShapeError, match="sizes"):
            list(aws.parse(broken))


def test_aws_currency_is_that_of_the_manifest() -> None:
    (chinese,) = aws.parse(_payload("aws", "payload.on_demand_cn-north-1.json"))
    assert isinstance(chinese, Listing)
    assert (chinese.price, chinese.currency, chinese.region_text) == (
        Decimal("13.86"),
        "CNY",
        "China (Beijing)",
    )
    silent = _edited("aws", "payload.on_demand_us-east-1.json", _delete("manifest"))
    assert {row.currency for row in aws.parse(silent) if isinstance(row, Listing)} == {"USD"}


@pytest.mark.parametrize(
    ("plan", "is_accelerated"),
    [
        *((plan, True) for plan in ("p5.48xlarge", "p6-b200.48xlarge", "g4dn.xlarge", "gr6f.4xlarge")),
        *((plan, True) for plan in ("dl2q.24xlarge", "trn2.48xlarge", "inf1.xlarge", "p6e-gb200.36xlarge")),
        *((plan, False) for plan in ("vt1.3xlarge", "f2.12xlarge", "m5.large", "hpc7g.4xlarge", "i4g.large")),
    ],
)
def test_aws_tells_accelerators_by_their_type(plan: str, is_accelerated: bool) -> None:
    assert bool(aws.ACCELERATED_TYPE.match(plan)) is is_accelerated


def test_aws_reads_the_unit_maps_of_several_regions_in_one_file() -> None:
    one = json.loads((CAPTURES / "aws" / "payload.on_demand_us-east-1.json").read_text())
    two = json.dumps({"US East (N. Virginia)": one, "EU (Paris)": one}).encode()
    alone = list(aws.parse(_payload("aws", "payload.on_demand_us-east-1.json")))
    both = list(aws.parse(_payload("aws", "payload.spot_advisor.json", body=two)))
    assert [record.price for record in both] == [record.price for record in alone * 2]
    assert len({record.place for record in both}) == len(both)
    for spoilt in (b"{}", json.dumps({"US East (N. Virginia)": one, "version": 1}).encode()):
        with pytest.raises(PayloadShapeError, match="no regions"):
            list(aws.parse(_payload("aws", "payload.spot_advisor.json", body=spoilt)))


def test_aws_refuses_the_bulk_price_list_by_name() -> None:
    region = {"regionCode": "cn-north-1", "instanceType": "g5.xlarge"}
    bulk = {"formatVersion": "v1.0", "offerCode": "AmazonEC2", "products": {"AAAA": {"attributes": region}}}
    bulk["terms"] = {"OnDemand": {"AAAA": {"priceDimensions": {"A": {"pricePerUnit": {"CNY": "13.86"}}}}}}
    body = json.dumps(bulk).encode()
    with pytest.raises(PayloadShapeError, match="bulk price list"):
        list(aws.parse(_payload("aws", "payload.spot_advisor.json", body=body)))


def test_aws_asks_for_each_region_by_its_encoded_display_name() -> None:
    urls = [request.url for request in aws.SOURCE.requests if request.part.startswith("on_demand")]
    assert len(urls) >= 20
    assert any(url.endswith("/US%20East%20%28N.%20Virginia%29/Linux/index.json") for url in urls)
    assert not [url for url in urls if " " in url]


def test_azure_leaves_out_look_alikes() -> None:
    plans = _plans(azure, "payload.consumption.json")
    sizes = {plan.removeprefix("Standard_") for plan, _ in plans}
    assert not sizes & {"NC6s_v3", "NVasv4_Type1", "NP10s", "D4s_v5", ""}
    assert plans.count(("Standard_ND96amsr_A100_v4", "on_demand")) == 1, (
        "two spellings of one size, no Windows"
    )
    prices = [
        record.price
        for record in azure.parse(_payload("azure", "payload.consumption.json"))
        if isinstance(record, Listing)
    ]
    assert not {Decimal("34.4"), Decimal("0.2725"), Decimal("36.85")} & set(prices), (
        "Low Priority, DevTest, Windows"
    )


def test_azure_tells_a100_of_40_and_80_gb_apart_by_one_letter() -> None:
    plans = {plan for plan, _ in _plans(azure, "payload.consumption.json")}
    cards = {"Standard_ND96asr_v4": "A100-SXM4-40GB", "Standard_ND96amsr_A100_v4": "A100-SXM4-80GB"}
    assert plans >= cards.keys()
    for plan, card in cards.items():
        match = resolve_gpu(plan, "azure")
        assert match.candidates == (card,)
        assert match.count == 8


def test_azure_rows_of_other_things_are_not_taken_for_no_offers() -> None:
    def renamed(data: Any) -> None:
        for row in data["Items"]:
            row["armSkuName"] = "Standard_D2s_v5"

    with pytest.raises(PayloadShapeError, match=r"none of \d+ rows is of a size N"):
        list(azure.parse(_edited("azure", "payload.consumption.json", renamed)))
    assert list(azure.parse(_edited("azure", "payload.consumption.json", _set([], "Items")))) == []


def test_azure_asks_once_for_all_regions() -> None:
    machines, others = azure.SOURCE.requests[:2], azure.SOURCE.requests[2:]
    assert [request.part for request in others] == ["disks", "traffic"]
    for request in machines:
        query = parse_qs(urlsplit(request.url).query)
        assert query["api-version"] == ["2023-01-01-preview"]
        assert "contains(armSkuName,'Standard_N')" in query["$filter"][0]
        assert "armRegionName" not in query["$filter"][0]


def test_azure_follows_the_next_page_and_stops() -> None:
    first = _payload("azure", "payload.consumption.json", url=azure.SOURCE.requests[0].url)
    (second,) = azure.follow(first)
    assert second.part == "consumption_1000"
    assert urlsplit(second.url).hostname == "prices.azure.com"
    further = replace(first, part=second.part, body=first.body.replace(b"skip=1000", b"skip=2000"))
    assert [request.part for request in azure.follow(further)] == ["consumption_2000"]
    assert list(azure.follow(_payload("azure", "payload.reservation.json"))) == []
    assert list(azure.follow(_payload("azure", "payload.recorded.json"))) == []


@pytest.mark.parametrize(
    "link",
    [
        "https://prices.azure.com.evil.example/api?$skip=1000",
        "http://prices.azure.com/api/retail/prices?$skip=1000",
        "https://prices.azure.com@evil.example/?$skip=1000",
        "/api/retail/prices?$skip=1000",
        "https://prices.azure.com/api/retail/prices",
    ],
)
def test_azure_follows_no_link_that_leaves_the_api_or_goes_round(link: str) -> None:
    payload = _edited("azure", "payload.consumption.json", _set(link, "NextPageLink"))
    with pytest.raises(PayloadShapeError, match="NextPageLink"):
        list(azure.follow(payload))


def _gcp_prices(old: str, new: str) -> list[Listing]:
    payload = _payload("gcp", "payload.pricing.yml")
    assert old.encode() in payload.body
    edited = replace(payload, body=payload.body.replace(old.encode(), new.encode()))
    return [record for record in gcp.parse(edited) if isinstance(record, Listing)]


def test_gcp_leaves_out_plain_machines_and_ways_to_buy_that_are_not_there() -> None:
    rows = {(row.plan, row.purchase, row.region_text): row.price for row in _gcp_prices("ram: 30", "ram: 30")}
    assert not [plan for plan, _, _ in rows if plan.startswith(("e2-", "n1-"))]
    assert ("a2-ultragpu-1g", "reserved", "us-central1") not in rows
    assert rows["a4-highgpu-8g", "on_demand", "us-central1"] == 0, (
        "said as it stands, for normalise to reject"
    )


def test_gcp_mega_is_an_h100_with_another_network() -> None:
    mega = {row.gpu_text: row.gpu_count for row in _gcp_prices("ram: 30", "ram: 30") if "mega" in row.plan}
    assert mega == {"h100-80gb-mega": 8}
    assert resolve_gpu("h100-80gb-mega", "gcp", plan="a3-megagpu-8g").candidates == ("H100-SXM5-80GB",)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("      rtx6000: 0.125\n", "", "compute.instance.g4-standard-6"),
        (
            "      rtx6000: 0.125",
            "      rtx6000: 0.125\n      bandwidth: 10",
            "compute.instance.g4-standard-6",
        ),
        ("hour: 88.49", "hour: on request", "compute.instance.a3-highgpu-8g.cost.europe-west4.hour"),
        ("  timestamp: 1795586400\n", "", "about.timestamp"),
        ("  timestamp: 1795586400", "  timestamp: 1e29", "about.timestamp"),
        ("  instance:", "  machines:", "compute.instance"),
        ("      cpu: 224\n", "", "compute.instance.a4-highgpu-8g.cpu"),
    ],
)
def test_gcp_names_what_is_broken(old: str, new: str, place: str) -> None:
    with pytest.raises(PayloadShapeError) as caught:
        _gcp_prices(old, new)
    assert caught.value.place == place


def test_oci_leaves_out_licences_other_buildings_nodes_and_days() -> None:
    records = list(oci.parse(_payload("oci", "payload.products.json")))
    listings = [record for record in records if isinstance(record, Listing)]
    plans = [listing.plan for listing in listings if listing.evidence == "live"]
    gpus = ["B90002", "B90003", "B90004", "B90005", "B90006", "B90012", "B90013"]
    assert plans == [*gpus, "B90015", "B90016", "B90017", "B90018", "B90019"]


@pytest.mark.parametrize(
    ("name", "gpu_text"),
    [
        ("Compute - GPU - A10 - Preemptible", "Compute - GPU - A10"),
        ("OCI - Compute - GPU - H100 - preemptible", "OCI - Compute - GPU - H100"),
        ("Preemptible Compute - GPU - A10", "Compute - GPU - A10"),
    ],
)
def test_oci_preemptible_is_spot_and_no_part_of_the_gpus_name(name: str, gpu_text: str) -> None:
    edit = _set(name, "items", 2, "displayName")
    rows = [
        row for row in oci.parse(_edited("oci", "payload.products.json", edit)) if isinstance(row, Listing)
    ]
    found = {row.plan: (row.purchase, row.gpu_text.strip()) for row in rows}
    assert found["B90003"] == ("spot", gpu_text)
    assert found["B90002"] == ("on_demand", "Oracle Cloud Infrastructure - Compute - GPU - H100")


def test_oci_price_per_gpu_becomes_that_of_the_smallest_shape() -> None:
    payload = _payload("oci", "payload.products.json")
    made = listing_frame(oci.parse(payload), payload)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=date(2026, 11, 30),
        segments={"oci": "hyperscaler"},
    )
    found = {
        row["plan"]: (row["gpu_count"], row["price_usd_per_instance_hour"])
        for row in normal.offerings.iter_rows(named=True)
        if row["evidence"] == "live"
    }
    halves = {
        row["plan"]: (row["product"], row["gpu_count"], row["price_usd_per_instance_hour"])
        for row in normal.offerings.iter_rows(named=True)
        if row["evidence"] == "derived"
    }
    assert halves == {
        "B90005": ("preemptible", 1, Decimal("1.475")),  # V100: half of 2.95
        "B90016": ("preemptible", 1, Decimal("0.6375")),  # P100, a virtual machine: half of 1.275
    }
    assert found == {
        "B90002": (8, Decimal(80)),  # H100: 8 x 10
        "B90003": (1, Decimal(2)),  # A10: a virtual machine with one
        "B90004": (8, Decimal("68.8")),  # MI355X: 8 x 8.6
        "B90005": (1, Decimal("2.95")),  # V100 ("V2"): a virtual machine with one
        "B90006": (8, Decimal("24.4")),  # A100 of 40 GB ("E3"): 8 x 3.05
        "B90013": (None, None),  # RTX PRO 6000: no shape is known
        "B90015": (2, Decimal("2.55")),  # P100 ("X7"), bare metal: 2 x 1.275
        "B90016": (1, Decimal("1.275")),  # P100 ("X7"), a virtual machine with one
        "B90017": (None, None),  # E4 is a generation of processors
        "B90018": (None, None),  # GPU4 is a generation of shapes
        "B90019": (1, Decimal(1)),  # A10, preemptible
    }
    assert normal.rejects.select("plan", "reason").rows() == [("B90012", "price_zero")]


def _shape_problems(names: list[dict[str, Any]], shapes: dict[str, dict[str, Any]]) -> list[str]:
    """Price-list names whose count is not that of the smallest shape, with their GPU, of the kind they name."""
    problems = []
    for row in names:
        said = re.search(r"smallest shape: (\S+)", row["rule"] or "")
        if said is None:
            problems += [row["gpu_text"]] if row["gpu_count"] is not None else []
            continue
        kind = "BM." if "Bare Metal" in row["gpu_text"] else ""
        counts = [
            shape["gpu_count"]
            for name, shape in shapes.items()
            if shape["gpu_keys"] == row["gpu_keys"] and name.startswith(kind)
        ]
        shape = shapes.get(said[1], {})
        if row["gpu_count"] not in (shape.get("gpu_count"),) or row["gpu_count"] != min(counts, default=None):
            problems.append(row["gpu_text"])
    return problems


def test_oci_counts_are_those_of_the_shapes() -> None:
    aliases = read("gpu_alias").to_dicts()
    names = [row for row in aliases if row["context"] == "oci price-list displayName"]
    shapes = {row["gpu_text"]: row for row in aliases if row["context"] == "oci shape"}
    assert _shape_problems(names, shapes) == []
    assert {row["gpu_text"] for row in names if row["gpu_count"] is None} == {
        "OCI - Compute - GPU - H100T",
        "OCI - Compute - GPU - RTX PRO 6000",
    }
    wrong = [row | {"gpu_count": 4} for row in names if row["gpu_text"] == "OCI - Compute - GPU - H200"]
    assert _shape_problems(wrong, shapes) == ["OCI - Compute - GPU - H200"]  # control
    unsaid = [row | {"gpu_count": 1} for row in names if row["gpu_text"] == "OCI - Compute - GPU - H100T"]
    assert _shape_problems(unsaid, shapes) == ["OCI - Compute - GPU - H100T"]  # control


def test_ecb_gives_one_euro_in_the_other_currency_on_its_day() -> None:
    rates = [
        rate for rate in ecb.parse(_payload("ecb", "payload.rates.json")) if isinstance(rate, ExchangeRate)
    ]
    assert {(rate.base, rate.quote): str(rate.rate) for rate in rates} == {
        ("EUR", "USD"): "1.1534",
        ("EUR", "JPY"): "171.05",
        ("EUR", "INR"): "98.412",
    }
    assert {rate.quote: rate.rate_date.isoformat() for rate in rates}["INR"] == "2026-11-20"


def test_ecb_asks_for_the_currencies_that_providers_list_in() -> None:
    (request,) = ecb.SOURCE.requests
    key = re.search(r"EXR/D\.([A-Z+]+)\.EUR\.SP00\.A", request.url)
    assert key
    assert {"USD", "INR", "GBP", "JPY", "CNY", "BRL", "KRW", "CHF"} <= set(key[1].split("+"))
