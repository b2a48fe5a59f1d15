"""Price pages and interfaces of smaller clouds: what each could get silently wrong.

Expected values are read from the payload files by eye or worked out by hand. `changed` refuses a text that is not in
the payload, so no case passes for want of the thing it changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from payloads import FETCHED_AT, own_payloads

from scrapers import registry
from scrapers.contract import Listing, Payload, Quantity, Record, Stock
from scrapers.errors import PayloadShapeError
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

FLUIDSTACK = (
    Path(__file__).parents[2] / "shared" / "captures" / "fluidstack" / "pricing_2025-01-09_excerpt.html"
)


def own(provider_id: str, part: str) -> Payload:
    return next(payload for payload in own_payloads(provider_id) if payload.part.endswith(part))


def changed(payload: Payload, *changes: tuple[str, str]) -> Payload:
    """The payload with each text in place of another one, wherever it stands."""
    body = payload.body.decode()
    for old, new in changes:
        assert old in body, f"{old!r} is not in the payload"
        body = body.replace(old, new)
    return dataclasses.replace(payload, body=body.encode())


def records(payload: Payload) -> list[Record]:
    return list(registry.load_one(payload.source_id).parse(payload))


def listings(payload: Payload) -> list[Listing]:
    return [record for record in records(payload) if isinstance(record, Listing)]


def prices(payload: Payload) -> list[tuple[str, str, str | None]]:
    """Plan, purchase kind and price of each listing."""
    return [
        (row.plan, row.purchase, None if row.price is None else f"{row.price:f}") for row in listings(payload)
    ]


def offers(payload: Payload) -> pl.DataFrame:
    """The offerings that a night makes of a payload."""
    made = listing_frame(records(payload), payload)
    segment = registry.load_one(payload.source_id).SOURCE.segment
    return normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=FETCHED_AT.date(),
        segments={payload.source_id: segment},
    ).offerings


def per_gpu_hour(payload: Payload, plan: str, purchase: str = "on_demand") -> float:
    rows = offers(payload).filter(pl.col("plan") == plan, pl.col("purchase") == purchase)
    assert rows.height >= 1
    return float(rows["price_usd_per_gpu_hour"][0])


@pytest.mark.skipif(not FLUIDSTACK.exists(), reason="the recorded page is not beside the checkout")
def test_the_recorded_page_of_fluidstack_is_read() -> None:
    page = Payload(
        source_id="fluidstack",
        part="pricing",
        url="https://www.fluidstack.io/pricing",
        fetched_at=datetime(2025, 1, 9, tzinfo=UTC),
        body=FLUIDSTACK.read_bytes(),
        content_type="text/html; charset=utf-8",
    )
    assert prices(page) == [
        ("Nvidia H200", "on_demand", None),
        ("Nvidia H200", "reserved", "2.45"),
        ("Nvidia H100 PCIe", "on_demand", "2.89"),
        ("Nvidia H100 PCIe", "reserved", "2.05"),
        ("Nvidia A100 80GB PCIe", "on_demand", "1.80"),
        ("Nvidia A100 80GB PCIe", "reserved", "1.20"),
        ("Nvidia A100 40GB PCIe", "on_demand", "1.65"),
        ("Nvidia A100 40GB PCIe", "reserved", "1.05"),
        ("Nvidia L40", "on_demand", "1.25"),
        ("Nvidia L40", "reserved", "0.99"),
    ]
    h100 = listings(page)[3]
    assert (h100.term_months, h100.price_per, h100.currency) == (12, "gpu", "USD")
    assert (h100.gpu_memory, h100.vcpus, h100.ram) == (
        Quantity(Decimal(80), "GB"),
        48,
        Quantity(Decimal(256), "GB"),
    )


@pytest.mark.parametrize("provider_id", ["fluidstack", "neevcloud", "together_ai"])
def test_what_does_not_want_to_be_asked_or_has_no_list_is_off(provider_id: str) -> None:
    source = registry.load_one(provider_id).SOURCE
    assert not source.default_on
    assert source.off_reason


# Per GPU or per machine: worked out by hand from the payload.
PER_GPU_HOUR = [
    ("together_ai", "instance_types", "8xnvidia-h100-80gb", "on_demand", 43.92 / 8),
    ("sesterce", "compute", "H200x8", "on_demand", 28.16 / 8),
    ("qubrid", "pricing", "nvidia-h100-80gb-8-0", "on_demand", 30.64 / 8),
    ("qubrid", "pricing", "nvidia-h100-80gb-8-0", "reserved", 19200 / 730 / 8),
    ("qubrid", "pricing", "NVIDIA B300 288GB 8-GPU Bare Metal Server", "reserved", 389400 / 8760 / 8),
    ("atlantic_net", "gpu_cloud", "AH100NVL.1920GB", "on_demand", 31.531 / 8),
    ("denvr", "pricing", "8x NVIDIA H100 SXM", "on_demand", 2.45),
    ("neevcloud", "pricing", "HGX H100", "reserved", 1.99),
    ("sfcompute", "home", "H100", "on_demand", 2.12),
    ("openrelay", "pricing", "h100-sxm", "on_demand", 2.60),
    ("packet_ai", "launch_options", "NVIDIA B200", "on_demand", 3.75),
]


@pytest.mark.parametrize(("provider_id", "part", "plan", "purchase", "expected"), PER_GPU_HOUR)
def test_the_price_of_a_gpu_is_neither_multiplied_nor_divided_twice(
    provider_id: str, part: str, plan: str, purchase: str, expected: float
) -> None:
    rows = offers(own(provider_id, part)).filter(pl.col("plan") == plan, pl.col("purchase") == purchase)
    assert pytest.approx(expected, rel=1e-4) in rows["price_usd_per_gpu_hour"].cast(pl.Float64).to_list()


# What must not be taken for a price: one change that makes the payload ambiguous or another thing, and the error.
REFUSED: list[tuple[str, str, tuple[str, str], str]] = [
    (
        "deepinfra",
        "pricing",
        (
            "<b>$2.20</b> / GPU-hour</td></tr>\n<tr><td>B200</td>",
            "<b>$2.20</b> / hour</td></tr>\n<tr><td>B200</td>",
        ),
        "not in USD per hour and gpu",
    ),
    ("deepinfra", "pricing", ("<th>GPU</th>", "<th>Chip</th>"), "none with the columns"),
    ("yottalabs", "pricing", ("$0.48/hr", "€0.48/hr"), "not in USD per hour"),
    ("ori", "billing", ("ogx-k8s-l4<", "vm-l4<"), "not a SKU"),
    ("ori", "billing", ("1.14261", "ask us"), "is not a number"),
    ("whitefiber", "gpu_pricing", ("$2.49/HR", "$2.49/month"), "not in USD per hour"),
    ("neevcloud", "pricing", ("1 year", ""), "no length of the commitment"),
    ("neevcloud", "pricing", ('id="gpu-cloud"', 'id="gpus"'), "no price below 0 headings"),
    (
        "paperspace",
        "pricing",
        (
            'instance-price-wrap hide"><h1 class="instance-price-2">$5.95',
            'instance-price-wrap"><h1 class="instance-price-2">$5.95',
        ),
        "two visible prices",
    ),
    ("spheron", "pricing", ("<span>16 vCPUs</span>", '<span class="font-ocr">$1.07</span>'), "two prices"),
    ("denvr", "pricing", ("$1.50 / GPU", "$1.50 / vCPU"), "not in USD per GPU"),
    ("runware", "pricing", ("$0.001667", "$0.002"), "no price per second and per hour that agree"),
    ("openrelay", "calculator", ("1x RTX 4090 24GB $0.29", "1x RTX 4090 24GB $0.31"), "two different prices"),
    (
        "qubrid",
        "pricing",
        ("prices:{hourly:{amount:30.64", "prices:{weekly:{amount:30.64"),
        "no prices.hourly.amount",
    ),
    ("atlantic_net", "gpu_cloud", ("3-Year Term", "5 Years Prepaid"), "not a way to buy"),
    ("atlantic_net", "gpu_cloud", ("Accelerated Compute", "GPU"), "no offer of the category"),
    ("sesterce", "compute", ("filteredOffers", "offersShown"), "not in the page"),
    ("sfcompute", "home", ('\\"avg\\":2.12', '\\"avg\\":0'), "no kind of GPU has a price"),
    ("runware", "pricing", ("<h3>L40s</h3>", "<h3>Card X</h3>"), "2 names .* for 3 memories"),
    ("openrelay", "calculator", ("RTX 3090 24GB", "Card X 24GB"), "whose GPU is not understood"),
    ("neysa", "cards", ("Starts at", "Ask for"), "no GPU with a price"),
]


@pytest.mark.parametrize(("provider_id", "part", "change", "problem"), REFUSED)
def test_what_is_ambiguous_or_another_thing_is_an_error(
    provider_id: str, part: str, change: tuple[str, str], problem: str
) -> None:
    payload = own(provider_id, part)
    assert records(payload)  # control: without the change it is read
    with pytest.raises(PayloadShapeError, match=problem):
        records(changed(payload, change))


def test_deepinfra_reads_one_of_two_tabs_and_refuses_two_that_differ() -> None:
    page = own("deepinfra", "pricing")
    assert [row[0] for row in prices(page)] == ["A100", "H100", "B200", "B300", "GB300"]
    first, second = page.body.split(b"hidden>")
    differing = dataclasses.replace(page, body=first + b"hidden>" + second.replace(b"$4.89", b"$4.99"))
    with pytest.raises(PayloadShapeError, match="two of them say different things"):
        records(differing)


def test_together_stock_is_by_region_and_a_lower_bound_is_no_count() -> None:
    rows = [
        (row.plan, row.region_text, row.availability, row.available_count)
        for row in listings(own("together_ai", "instance_types"))
    ]
    assert rows == [
        ("1xnvidia-h100-80gb", "us-east-1", "in_stock", None),
        ("1xnvidia-h100-80gb", "us-west-2", "in_stock", 1),
        ("8xnvidia-h100-80gb", "us-east-1", "out_of_stock", 0),
        ("1xnvidia-h200-141gb", "us-east-1", "unknown", None),
        ("8xnvidia-b200-180gb", None, "unknown", None),
    ]


def test_together_a_list_with_more_pages_is_not_taken_for_the_whole() -> None:
    page = changed(own("together_ai", "instance_types"), ('"next_cursor": null', '"next_cursor": "abc"'))
    with pytest.raises(PayloadShapeError, match="more pages"):
        records(page)


def test_sesterce_says_the_same_through_page_and_api_for_the_same_offers() -> None:
    page, answer = listings(own("sesterce", "compute")), listings(own("sesterce", "offers"))
    without_place: Callable[[Listing], Listing] = lambda row: dataclasses.replace(row, place="")  # noqa: E731
    assert list(map(without_place, page)) == list(map(without_place, answer[:3]))
    assert [(row.region_text, row.availability) for row in page] == [
        ("chicago-usa-4", "in_stock"),
        ("TYO4", "out_of_stock"),
        ("AMS", "in_stock"),
    ]
    assert page[0].gpu_memory == Quantity(Decimal(1128), "GB")
    assert offers(own("sesterce", "compute")).filter(plan="H200x8")["vram_gib"].to_list() == [141.0]


def test_sesterce_spot_counts_only_where_the_offer_says_that_there_is_spot() -> None:
    answer = own("sesterce", "offers")
    assert [row for row in prices(answer) if row[1] == "spot"] == [("A100_sxm4_80G", "spot", "1.2")]
    none = changed(answer, ('"spotOfferAvailable": true', '"spotOfferAvailable": false'))
    assert not [row for row in prices(none) if row[1] == "spot"]


def test_sfcompute_takes_the_latest_day_by_its_date_and_no_trades_for_no_price() -> None:
    rows = {row.plan: row for row in listings(own("sfcompute", "home"))}
    assert (rows["H100"].price, rows["H100"].as_of) == (Decimal("2.12"), date(2026, 11, 29))
    assert (rows["H200"].price, rows["H200"].availability_text) == (None, "no trades that day")
    assert {row.price_state for row in rows.values()} == {"from_price"}


def test_spheron_prices_are_lower_bounds_and_spot_alone_is_spot() -> None:
    rows = listings(own("spheron", "pricing"))
    assert {row.price_state for row in rows if row.price} == {"from_price"}
    assert [(row.purchase, str(row.price)) for row in rows if row.plan.startswith("B200")] == [
        ("spot", "5.34")
    ]
    assert [row.price_state for row in rows if row.plan == "Rubin R100"] == ["contact_sales"]


def test_paperspace_hidden_prices_are_not_read_and_a_star_is_a_commitment() -> None:
    rows = {row.plan: row for row in listings(own("paperspace", "pricing"))}
    assert sorted(rows) == ["A100-80G", "A4000", "A6000", "H100", "V100-32G"]  # no C7, no hidden card
    assert (rows["H100"].purchase, rows["H100"].term_months, rows["H100"].price) == (
        "reserved",
        36,
        Decimal("2.24"),
    )
    assert (rows["A100-80G"].purchase, rows["A100-80G"].price) == ("on_demand", Decimal("3.18"))
    assert rows["V100-32G"].price is None


def test_neevcloud_a_crossed_price_is_the_regular_one() -> None:
    rows = [row for row in listings(own("neevcloud", "pricing")) if row.regular_price]
    assert [(row.plan, str(row.price), str(row.regular_price), row.term_months) for row in rows] == [
        ("HGX H100", "1.99", "2.49", 36),
        ("HGX H100", "2.19", "2.49", 12),
        ("NVIDIA A30", "0.45", "0.60", None),
    ]


def test_neysa_cards_are_lower_bounds_and_a_table_goes_before_them() -> None:
    assert {row.price_state for row in listings(own("neysa", "cards"))} == {"from_price"}
    rows = listings(own("neysa", "pricing"))
    assert {row.price_state for row in rows if row.price} == {"priced"}
    h100 = {row.term_months: str(row.price) for row in rows if row.plan == "H100 SXM"}
    assert h100 == {None: "4.39", 1: "3.17", 6: "3.00", 12: "2.80", 36: "2.47"}


def test_neysa_a_card_of_any_name_is_read_and_one_without_a_price_has_none() -> None:
    page = changed(
        own("neysa", "cards"),
        ("L40S (48GB)", "RTX PRO 6000 Blackwell (96GB)"),
        ("$1.17</strong>", "soon</strong>"),
    )
    rows = {row.plan: row for row in listings(page)}
    assert rows["RTX PRO 6000 Blackwell"].price == Decimal("1.95")
    assert rows["L4"].price is None


def test_runware_models_are_no_gpus_and_digits_may_stand_apart() -> None:
    assert prices(own("runware", "pricing")) == [
        ("L40s", "on_demand", "1.60"),
        ("H100", "on_demand", "3.95"),
        ("H100", "reserved", "2.45"),
        ("B200", "on_demand", "6.00"),
        ("GB300 NVL72", "on_demand", None),
    ]


def test_openrelay_prices_of_others_are_not_its_own_and_stock_is_that_of_machines() -> None:
    assert prices(own("openrelay", "calculator")) == [
        ("RTX 4090 24GB", "on_demand", "0.29"),
        ("RTX 3090 24GB", "on_demand", "0.18"),
        ("H100 SXM 80GB", "on_demand", "2.60"),
        ("A100 40GB", "on_demand", "0.80"),
    ]
    stock = [row for row in records(own("openrelay", "availability")) if isinstance(row, Stock)]
    assert [(row.plan, row.availability) for row in stock] == [
        ("rtx-4090", "in_stock"),
        ("h100-sxm", "out_of_stock"),
    ]


def test_qubrid_without_catalogue_and_table_is_an_error_and_not_an_empty_list() -> None:
    page = own("qubrid", "visible_table")
    assert prices(page)[0] == ("NVIDIA H100 (80GB) - 8 GPUs", "on_demand", "30.64")
    with pytest.raises(PayloadShapeError, match="no plan with a price"):
        records(changed(page, ("ON DEMAND (/HR)", "Unable to load")))


def test_atlantic_net_the_number_of_gpus_comes_from_the_visible_text_or_is_not_known() -> None:
    page = own("atlantic_net", "gpu_cloud")
    counts = {row.plan: row.gpu_count for row in listings(page)}
    assert counts == {"AL40S.192GB": None, "AH100NVL.240GB": 1, "AH100NVL.960GB": 4, "AH100NVL.1920GB": 8}
    silent = changed(page, ("4 x H100NVL", "H100NVL"))
    assert {row.gpu_count for row in listings(silent) if row.plan == "AH100NVL.960GB"} == {None}
    assert {row.price_unit for row in listings(page)} == {"hour"}
    assert "Windows" in page.body.decode()  # and is not read: three ways to buy each of four plans
    assert len(listings(page)) == 12


def test_yottalabs_a_dash_is_no_spot_and_a_badge_is_no_name() -> None:
    rows = prices(own("yottalabs", "pricing"))
    assert [row for row in rows if row[1] == "spot"] == [
        ("RTX 5090", "spot", "0.41"),
        ("H100", "spot", "1.60"),
    ]
    assert ("B300", "on_demand", None) in rows


def test_packet_ai_counts_what_is_free_and_sold_out_stays() -> None:
    rows = {
        row.plan: (row.availability, row.available_count)
        for row in listings(own("packet_ai", "launch_options"))
    }
    assert rows["NVIDIA RTX PRO 6000"] == ("in_stock", 3)
    assert rows["NVIDIA B200"] == ("out_of_stock", 0)
