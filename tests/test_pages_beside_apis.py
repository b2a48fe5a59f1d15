"""Price pages of providers whose API or mirror is read: what each could get silently wrong.

Expected values are read from the payload files by eye or worked out by hand. `changed` refuses a text that is not in
the payload, so no case passes for want of the thing it changes.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from payloads import FETCHED_AT, own_payloads

from scrapers import registry
from scrapers.contract import Listing, Payload
from scrapers.errors import PayloadShapeError
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

REAL = Path(__file__).parents[2] / "shared" / "captures"


def own(provider_id: str, part: str) -> Payload:
    return next(payload for payload in own_payloads(provider_id) if payload.part == part)


def changed(payload: Payload, *changes: tuple[str, str]) -> Payload:
    """The payload with each text in place of another one, wherever it stands."""
    body = payload.body.decode()
    for old, new in changes:
        assert old in body, f"{old!r} is not in the payload"
        body = body.replace(old, new)
    return dataclasses.replace(payload, body=body.encode())


def listings(payload: Payload) -> list[Listing]:
    records = registry.load_one(payload.source_id).parse(payload)
    return [record for record in records if isinstance(record, Listing)]


def one(rows: list[Listing], **wanted: object) -> Listing:
    found = [row for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]
    assert len(found) == 1, f"{len(found)} rows with {wanted}"
    return found[0]


def per_gpu_hour(payload: Payload, plan: str, **wanted: object) -> list[float]:
    """What a night makes of the plan: USD for one GPU and hour."""
    made = listing_frame(listings(payload), payload)
    segment = registry.load_one(payload.source_id).SOURCE.segment
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=FETCHED_AT.date(),
        segments={payload.source_id: segment},
    )
    rows = normal.offerings.filter(
        pl.col("plan") == plan, *(pl.col(key) == value for key, value in wanted.items())
    )
    return [float(price) for price in rows["price_usd_per_gpu_hour"]]


# Google


def gcp_tables() -> list[Listing]:
    path = REAL / "gcp" / "gpus-pricing_2026-10_tables.html"
    if not path.exists():
        pytest.skip("../shared/captures is not beside this checkout")
    return listings(
        Payload(
            source_id="gcp_page",
            part="gpus-pricing",
            url="https://cloud.google.com/compute/gpus-pricing",
            fetched_at=datetime(2026, 10, 5, tzinfo=UTC),
            body=path.read_bytes(),
            content_type="text/html; charset=utf-8",
        )
    )


def ways(rows: list[Listing], plan: str) -> dict[tuple[str, str | None, int | None], str | None]:
    return {
        (row.purchase, row.product, row.term_months): None if row.price is None else str(row.price)
        for row in rows
        if row.plan == plan
    }


def test_gcp_recorded_tables_say_how_each_price_is_bought() -> None:
    rows = gcp_tables()
    assert ways(rows, "a4-highgpu-8g") == {
        ("on_demand", None, None): None,
        ("reserved", "dws_flex_start_calendar", None): "64.4400",
        ("reserved", "dws_calendar_mode", None): "90.22",
        ("spot", None, None): "39.6336",
        ("reserved", None, 12): "88.9272",
        ("reserved", None, 36): "56.7072",
    }
    assert ways(rows, "g4-standard-6") == {
        ("on_demand", None, None): "0.64688",
        ("reserved", "flexible_cud", 12): "0.5433792",
        ("reserved", "flexible_cud", 36): "0.3751904",
        ("reserved", "dws_flex_start_calendar", None): "0.32344",
        ("spot", None, None): "0.242",
        ("reserved", None, 12): "0.44634",
        ("reserved", None, 36): "0.28463",
    }
    assert ways(rows, "a2-ultragpu-8g") == {
        ("on_demand", None, None): "40.550383123",
        ("reserved", "dws_flex_start_calendar", None): "19.2000",
        ("spot", None, None): "24.329900274",
    }


def test_gcp_recorded_cells_that_are_broken() -> None:
    rows = gcp_tables()
    assert (
        ways(rows, "a2-highgpu-1g")["reserved", "dws_flex_start_calendar", None] == "2.0000"
    )  # "$2 .0000/ 1 hour"
    assert one(rows, plan="a2-ultragpu-4g", purchase="spot").vcpus == 48  # "vCPUs:48"
    assert {row.gpu_count for row in rows if row.plan == "g4-standard-6"} == {Decimal("0.125")}  # "1/8"
    named = one(rows, plan="g2-standard-24", purchase="spot")
    assert (named.price, named.availability_text) == (None, "g2-standard-24-spot")
    assert {
        row.plan for row in rows if row.price_per != "instance" or row.region_text != "us-central1"
    } == set()


def test_gcp_attached_gpus_are_a_lower_bound_per_gpu() -> None:
    page = own("gcp_page", "gpus-pricing")
    assert per_gpu_hour(page, "N1 with 4 GPUs NVIDIA T4", purchase="on_demand") == [0.35]
    assert per_gpu_hour(page, "a4-highgpu-8g", purchase="spot") == [pytest.approx(39.64 / 8)]
    attached = [row for row in listings(page) if row.plan.startswith("N1")]
    assert {(row.price_state, row.price_per) for row in attached} == {("from_price", "gpu")}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Current Spot pricing (USD)", "Sole-tenant pricing (USD)", "no known way to buy"),
        ("Compute Resource CUDs - 1 Year", "Compute Resource CUDs", "without its years"),
    ],
)
def test_gcp_column_that_is_not_known_is_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(PayloadShapeError, match=problem):
        listings(changed(own("gcp_page", "gpus-pricing"), (old, new)))


# RunPod


def test_runpod_json_ld_is_of_its_unit_and_pool() -> None:
    page = own("runpod", "page_2026")
    assert per_gpu_hour(page, "H100 SXM", product="pods_secure") == [3.99]
    by_second = changed(page, ('"HUR", "unitText": "per hour"', '"SEC", "unitText": "per second"'))
    assert one(listings(by_second), plan="H100 SXM", product="pods_secure").price_unit == "second"
    with pytest.raises(PayloadShapeError, match="not a time"):
        listings(changed(page, ('"HUR", "unitText": "per hour"', '"XXX", "unitText": "per token"')))
    with pytest.raises(PayloadShapeError, match="not USD"):
        listings(changed(page, ('"USD"', '"EUR"')))
    assert not [row for row in listings(page) if row.price == Decimal("0.00034")], (
        "serverless is another product"
    )


def test_runpod_page_without_prices_is_refused() -> None:
    page = own("runpod", "page_2025")
    renamed = changed(page, ("data-secure", "data-a"), ("data-community", "data-b"))
    with pytest.raises(PayloadShapeError, match="no price in"):
        listings(renamed)


# Verda


def test_verda_page_prices_a_whole_instance() -> None:
    assert per_gpu_hour(own("verda", "page_2025"), "8B200.240V", purchase="spot") == [
        pytest.approx(6.45 / 8, rel=1e-5)
    ]
    assert per_gpu_hour(own("verda", "page_2026"), "8x B200 SXM6 180GB") == [pytest.approx(48.88 / 8)]


def test_verda_columns_are_known_by_their_heads() -> None:
    page = own("verda", "page_2025")
    swapped = changed(
        page, (">On demand price<", ">#<"), (">Spot price<", ">On demand price<"), (">#<", ">Spot price<")
    )
    rows = listings(swapped)
    assert one(rows, plan="8B200.240V", purchase="on_demand").price == Decimal("6.45")
    with pytest.raises(PayloadShapeError, match="no price per hour"):
        listings(changed(page, ("$6.45/h", "$6.45/month")))


# Voltage Park


def test_voltagepark_card_is_per_gpu_whatever_the_smallest_order() -> None:
    page = own("voltagepark", "page_2025")
    assert per_gpu_hour(page, "On-demand, 3200 Gbps Infiniband") == [2.48]
    assert per_gpu_hour(page, "On-Demand, Ethernet") == [1.98]
    assert len(listings(page)) == 3, "the copy for narrow screens is no further card, and no eyebrow is one"


def test_voltagepark_page_where_every_card_says_contact() -> None:
    page = own("voltagepark", "page_2025")
    silent = changed(
        page, ("$1.98<span>/hr</span>", "Contact for pricing"), ("$2.48/hr", "Contact for pricing")
    )
    assert {(row.price, row.price_state) for row in listings(silent)} == {(None, "contact_sales")}
    with pytest.raises(PayloadShapeError, match="per GPU and hour"):
        listings(changed(page, ("$2.48/hr", "$2.48/month")))
    with pytest.raises(PayloadShapeError, match="no card"):
        listings(changed(page, ("text-eyebrow", "eyebrow")))


# Other dates of pages that are read already


def test_nebius_of_2024_reads_no_price_that_could_be_of_the_machine() -> None:
    page = own("nebius", "prices_2024")
    assert per_gpu_hour(page, "8 × H200 SXM") == [3.50]
    assert one(listings(page), plan="8 × H100 SXM").price is None
    said = changed(page, ("Price per hour", "Price per GPU-hour"))
    assert one(listings(said), plan="8 × H100 SXM").price == Decimal("23.60")


def test_nebius_without_a_spot_block_is_read_and_with_a_broken_one_refused() -> None:
    page = own("nebius", "prices")
    assert {row.purchase for row in listings(page)} >= {"on_demand", "spot"}
    head, _, rest = page.body.decode().partition('<span class="pc-title-item__text">Preemptible')
    without = dataclasses.replace(page, body=head.encode())
    assert rest
    assert {row.purchase for row in listings(without)} == {"on_demand"}
    with pytest.raises(PayloadShapeError):
        listings(changed(page, ("Spot price, GPU-hour", "Spot, each")))


CRUSOE_COLUMNS = (
    "GPU model",
    "On-Demand",
    "Current Spot",
    "6-month reserved",
    "1-year reserved",
    "3-year reserved",
)
CRUSOE_CELLS = ("$<span>3.90</span>/hr", "Contact Sales", "$3.51/hr", "$3.12/hr", "$2.73/hr")


def crusoe_of_2025(columns: tuple[str, ...]) -> Payload:
    body = (
        '<section><h3 class="pricing-col-heading">GPU instances pricing</h3><div class="pricing-table-heading">'
        + "".join(f'<div class="pricing-heading">{column}</div>' for column in columns)
        + '</div><div class="prixing-item"><h4 class="pricing-item-heading">NVIDIA H100</h4>'
        + '<div class="pricing-tag is-dark">80GB</div><div class="pricing-tag">SXM</div>'
        + "".join(f'<div class="pricing-rich"><p>{cell}</p></div>' for cell in CRUSOE_CELLS)
        + "</div></section>"
    )
    return dataclasses.replace(own("crusoe", "pricing"), body=body.encode())


def test_crusoe_columns_of_reservations_keep_their_months() -> None:
    rows = listings(crusoe_of_2025(CRUSOE_COLUMNS))
    assert {(row.purchase, row.term_months): str(row.price) for row in rows} == {
        ("on_demand", None): "3.90",
        ("spot", None): "None",
        ("reserved", 6): "3.51",
        ("reserved", 12): "3.12",
        ("reserved", 36): "2.73",
    }
    with pytest.raises(PayloadShapeError, match="columns are"):
        listings(crusoe_of_2025((*CRUSOE_COLUMNS[:-1], "Sale")))
    with pytest.raises(PayloadShapeError, match="5 cells"):
        listings(crusoe_of_2025(CRUSOE_COLUMNS[:-1]))


def test_hyperstack_without_a_card_is_read_and_with_a_hidden_one_refused() -> None:
    page = own("hyperstack", "gpu_pricing")
    head, _, rest = page.body.decode().partition("<h3><span>Reservation</span>")
    assert rest
    assert {row.purchase for row in listings(dataclasses.replace(page, body=head.encode()))} == {"on_demand"}
    only_heading = f"{head}<h3><span>Reservation</span> Pricing</h3>"
    with pytest.raises(PayloadShapeError, match="reservation"):
        listings(dataclasses.replace(page, body=only_heading.encode()))


def test_lambda_price_of_an_instance_is_not_taken_for_one_of_a_gpu() -> None:
    page = own("lambda", "gpu_cloud_2024")
    plans = {row.plan: row for row in listings(page) if row.price is not None and row.gpu_count == 8}
    plan, row = next(iter(plans.items()))
    assert row.price_per == "gpu"
    whole = changed(page, ("/ GPU / hr", "/ hr"))
    assert (
        one([each for each in listings(whole) if each.purchase == "on_demand"], plan=plan).price_per
        == "instance"
    )
