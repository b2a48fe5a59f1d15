"""The bill of a job, held to worked examples: each expected figure was worked out by hand from the provider's rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.workloads import interruption
from transforms.workloads.bill import (
    MS_PER_HOUR,
    PARTS_USD,
    bill,
    billed_ms,
    capped_hours,
    egress_usd,
    session_billed_hours,
    storage_usd,
    whole_ms,
)

ROW = {
    "kind": "job",
    "purchase": "on_demand",
    "price_usd_per_instance_hour": 1.0,
    "upfront_usd": None,
    "term_months": None,
    "billing_increment_s": 1,
    "billing_minimum_s": 0,
    "monthly_cap_hours": None,
    "is_startup_billed": True,
    "storage_usd_per_gb_month": 0.0,
    "egress_usd_per_gb": 0.0,
    "egress_free_gb_per_month": None,
    "loss_per_hour": 0.0,
    "sessions_per_month": None,
    "start_minutes": 0.0,
    "checkpoint_interval_min": None,
    "storage_gb": 0.0,
    "egress_gb_per_month": 0.0,
    "instances": 1.0,
    "work_hours": 1.0,
    "storage_hours": 730.0,
}
TYPES = {
    "upfront_usd": pl.Float64,
    "term_months": pl.Int32,
    "billing_increment_s": pl.Int32,
    "billing_minimum_s": pl.Int32,
    "monthly_cap_hours": pl.Float64,
    "is_startup_billed": pl.Boolean,
    "storage_usd_per_gb_month": pl.Float64,
    "egress_usd_per_gb": pl.Float64,
    "egress_free_gb_per_month": pl.Float64,
    "sessions_per_month": pl.Float64,
    "checkpoint_interval_min": pl.Float64,
}


def bills(*rows: Mapping[str, object]) -> list[dict[str, Any]]:
    """Returns the bill of each row, which says only what differs from ROW."""
    unknown = {name for row in rows for name in row} - set(ROW)
    assert not unknown, unknown
    return bill(pl.DataFrame([{**ROW, **row} for row in rows], schema_overrides=TYPES)).to_dicts()


def billed(**changes: object) -> dict[str, Any]:
    return bills(changes)[0]


def value(expression: pl.Expr) -> float:
    return float(pl.select(expression).item())


@pytest.mark.parametrize(
    ("example", "usd_per_hour", "increment_s", "minimum_s", "seconds", "expected_usd"),
    [
        ("B01 below the minimum", 3.60, 1, 60, 45, 0.060),
        ("B01 above the minimum", 3.60, 1, 60, 61, 0.061),
        ("B02 one of 200 s", 3.60, 1, 60, 200, 0.20),
        ("B03 started minutes", 6.00, 60, 0, 125, 0.30),
        ("B04 started hours", 2.397, 3600, 3600, 61 * 60, 4.794),
        ("B05 minimum of ten minutes", 1.71, 1, 600, 120, 0.285),
        ("B05 then seconds", 1.71, 1, 600, 25 * 60 + 30, 0.72675),
        ("B06 no stop before 20 minutes", 2.00, 1, 1200, 300, 2 / 3),
        ("B07 steps of a quarter hour", 5.5, 900, 0, 480, 1.375),
        ("B08 least reservation of 3 h", 2.99, 60, 180 * 60, 1800, 8.97),
        ("no second hour for a billionth", 1.0, 3600, 0, 3600.0000001, 1.0),
        ("no second minute for a millionth", 60.0, 60, 0, 60.0000001, 1.0),
        ("a millisecond does", 1.0, 3600, 0, 3600.001, 2.0),
    ],
)
def test_one_start(
    example: str,
    usd_per_hour: float,
    increment_s: int,
    minimum_s: int,
    seconds: float,
    expected_usd: float,
) -> None:
    row = billed(
        price_usd_per_instance_hour=usd_per_hour,
        billing_increment_s=increment_s,
        billing_minimum_s=minimum_s,
        work_hours=seconds / 3600,
    )
    assert row["total_usd"] == pytest.approx(expected_usd, rel=1e-6), example
    assert row["compute_usd"] == row["total_usd"]


def test_b02_ten_short_sessions_pay_ten_minimums() -> None:
    row = billed(
        kind="demand",
        price_usd_per_instance_hour=3.60,
        billing_minimum_s=60,
        sessions_per_month=10.0,
        work_hours=200 / 3600,
    )
    assert row["total_usd"] == pytest.approx(0.60)
    assert row["billed_hours"] == pytest.approx(600 / 3600)


def test_b09_each_segment_is_rounded_by_itself() -> None:
    segments = pl.DataFrame(
        {"minutes": [70.0, 70.0, 70.0, 150.0], "billing_increment_s": 3600, "billing_minimum_s": 0}
    )
    hours = segments.select(session_billed_hours(pl.col("minutes") / 60).sum()).item()
    assert hours == 9.0


def test_b10_hours_count_from_the_start() -> None:
    duration, hour, none = whole_ms(pl.lit(40 / 60)), pl.lit(MS_PER_HOUR), pl.lit(0)
    assert value(billed_ms(duration, hour, none)) == MS_PER_HOUR


@pytest.mark.parametrize(
    ("example", "usd_per_hour", "hours", "cap_hours", "month_hours", "expected_usd"),
    [
        ("B11", 2.397, 744.0, 730.0, 744.0, 1749.81),
        ("B11 without a cap", 2.397, 744.0, None, 744.0, 1783.368),
        ("B12", 68.0, 744.0, 672.0, 744.0, 45_696.0),
        ("B13 half a month", 100 / 672, 360.0, 672.0, 744.0, 53.5714),
        ("B13 thirty days", 100 / 672, 720.0, 672.0, 744.0, 100.0),
        ("two months pay two caps", 1.0, 1460.0, 672.0, 730.0, 1344.0),
        ("a month and ten hours", 1.0, 740.0, 672.0, 730.0, 682.0),
    ],
)
def test_monthly_cap(
    example: str,
    usd_per_hour: float,
    hours: float,
    cap_hours: float | None,
    month_hours: float,
    expected_usd: float,
) -> None:
    cap = pl.lit(cap_hours, pl.Float64)
    charged = value(capped_hours(pl.lit(hours), cap, pl.lit(month_hours)))
    assert charged * usd_per_hour == pytest.approx(expected_usd, rel=1e-5), example


def test_b13_two_machines_do_not_share_a_cap() -> None:
    row = billed(
        kind="demand",
        price_usd_per_instance_hour=100 / 672,
        monthly_cap_hours=672.0,
        sessions_per_month=2.0,
        work_hours=720.0,
    )
    assert row["total_usd"] == pytest.approx(107.142857)


def test_b27_b24_b30_storage_and_traffic() -> None:
    assert value(egress_usd(pl.lit(500.0), pl.lit(0.09), pl.lit(100.0))) == pytest.approx(36.00)
    assert value(egress_usd(pl.lit(80.0), pl.lit(0.09), pl.lit(100.0))) == 0.0
    assert value(egress_usd(pl.lit(12_500.0), pl.lit(0.01), pl.lit(12_000.0))) == pytest.approx(5.00)
    day = value(storage_usd(pl.lit(1000.0), pl.lit(0.20), pl.lit(24.0)))
    assert day == pytest.approx(6.58, abs=0.005)  # B21 with months of 730 h


def test_b32_a_commitment_is_charged_in_full() -> None:
    reserved = {"purchase": "reserved", "price_usd_per_instance_hour": 2.49, "term_months": 36}
    row = billed(**reserved, work_hours=240.0)
    assert row["total_usd"] == pytest.approx(65_437.20)
    assert row["compute_usd"] == pytest.approx(240 * 2.49)
    assert row["commitment_usd"] == pytest.approx(65_437.20 - 240 * 2.49)
    assert billed(price_usd_per_instance_hour=2.99, work_hours=240.0)["total_usd"] == pytest.approx(717.60)


@pytest.mark.parametrize(("hours", "reserved_wins"), [(607.0, False), (609.0, True)])
def test_b32_break_even_is_608_hours_of_730(hours: float, reserved_wins: bool) -> None:
    month = {"kind": "demand", "sessions_per_month": 1.0, "work_hours": hours}
    reserved = billed(**month, purchase="reserved", price_usd_per_instance_hour=2.49, term_months=36)
    on_demand = billed(**month, price_usd_per_instance_hour=2.99)
    assert (reserved["total_usd"] < on_demand["total_usd"]) is reserved_wins
    assert reserved["total_usd"] == pytest.approx(2.49 * 730)


def test_b34_a_term_total_is_charged_in_full_once() -> None:
    # 100,000 USD for a year are 11.4155 USD an hour, upfront or not: the hourly price holds the upfront payment.
    row = billed(
        purchase="reserved",
        price_usd_per_instance_hour=100_000 / 8760,
        upfront_usd=100_000.0,
        term_months=12,
        work_hours=100.0,
    )
    assert row["total_usd"] == pytest.approx(100_000)
    assert row["compute_usd"] == pytest.approx(1_141.55, abs=0.01)


def test_a_job_of_exactly_one_term_pays_one_term() -> None:
    year = billed(purchase="reserved", term_months=12, work_hours=8760.0)
    assert year["total_usd"] == pytest.approx(8760)
    assert year["commitment_usd"] == 0
    longer = billed(purchase="reserved", term_months=12, work_hours=8761.0)
    assert longer["total_usd"] == pytest.approx(2 * 8760)


def test_us_15_a_year_for_a_job_of_three_weeks() -> None:
    row = billed(
        purchase="reserved",
        price_usd_per_instance_hour=15.20,
        term_months=12,
        instances=8.0,
        work_hours=29_491 / 64,
    )
    assert row["total_usd"] == pytest.approx(1_065_216, abs=0.01)


def test_b41_the_node_is_paid_whole() -> None:
    assert billed(price_usd_per_instance_hour=16.0, work_hours=3.0)["total_usd"] == pytest.approx(48.00)
    assert billed(price_usd_per_instance_hour=2.5, work_hours=3.0)["total_usd"] == pytest.approx(7.50)


def exact_hours(interval_hours: float, write_hours: float, restart_hours: float, mean_hours: float) -> float:
    """Returns what a day of work takes when losses come at an even rate without memory (Daly 2006)."""
    m = mean_hours
    a_segment = math.exp((interval_hours + write_hours) / m) - 1
    return m * math.exp(restart_hours / m) * a_segment * 24 / interval_hours


@pytest.mark.parametrize(
    ("mean_hours", "exact", "first_order", "tolerance"),
    [
        (6.10, 26.44, 26.30, 0.01),
        (0.7576, 35.58, 33.26, 0.07),
        (10.51, 25.73, 25.66, 0.01),
        (1.36, 31.10, 30.11, 0.04),
    ],
)
def test_b42_to_b45_the_first_order_is_near_the_exact_time(
    mean_hours: float, exact: float, first_order: float, tolerance: float
) -> None:
    write, restart = 1 / 60, 8 / 60
    interval = math.sqrt(2 * write * mean_hours)
    lost = value(interruption.extra_share(pl.lit(1 / mean_hours), pl.lit(interval), pl.lit(restart)))
    hours = 24 * (1 + write / interval + lost)
    assert hours == pytest.approx(first_order, rel=5e-3)
    assert exact_hours(interval, write, restart, mean_hours) == pytest.approx(exact, rel=5e-3)
    assert hours == pytest.approx(exact, rel=tolerance)


def test_the_interruption_line_is_first_order() -> None:
    row = billed(
        price_usd_per_instance_hour=4.0,
        purchase="spot",
        loss_per_hour=0.05,
        checkpoint_interval_min=30.0,
        start_minutes=10.0,
        work_hours=24.0,
    )
    # 5 % an hour x (a quarter hour lost + ten minutes of restart + half a second of rounding)
    assert row["interruption_usd"] == pytest.approx(4 * 24 * 0.05 * (0.25 + 10 / 60 + 0.5 / 3600))
    assert row["startup_usd"] == pytest.approx(4 * 10 / 60)
    assert row["total_usd"] == pytest.approx(4 * 24 * (1 + 0.05 * (0.25 + 10 / 60)) + 4 * 10 / 60, rel=1e-4)


def test_assumed_losses_of_one_and_of_eight_gpus() -> None:
    frame = pl.DataFrame(
        {
            "purchase": ["spot", "spot", "spot", "on_demand"],
            "stated": [None, None, 0.001, None],
            "gpu_count": [1.0, 8.0, 8.0, 8.0],
        }
    )
    rates = frame.select(
        interruption.loss_per_hour(pl.col("purchase"), pl.col("stated"), pl.col("gpu_count"))
    ).to_series()
    assert rates.to_list() == pytest.approx([0.05, 0.2, 0.001, 0.0])


@pytest.mark.parametrize(
    ("offer", "usd_per_hour", "increment_s", "expected_usd"),
    [("F09", 0.40, 1, 0.40), ("F07", 1.10, 1, 1.10), ("F14", 0.60, 3600, 3.00)],
)
def test_us_16_five_runs_of_twelve_minutes(
    offer: str, usd_per_hour: float, increment_s: int, expected_usd: float
) -> None:
    day = {"kind": "demand", "sessions_per_month": 5.0, "work_hours": 1.0}
    row = billed(**day, price_usd_per_instance_hour=usd_per_hour, billing_increment_s=increment_s)
    assert row["total_usd"] == pytest.approx(expected_usd), offer


def test_us_16_an_unknown_step_is_read_as_an_hour() -> None:
    day = {
        "kind": "demand",
        "sessions_per_month": 5.0,
        "work_hours": 1.0,
        "price_usd_per_instance_hour": 0.60,
    }
    assert billed(**day, billing_increment_s=None, billing_minimum_s=None)["total_usd"] == pytest.approx(3.00)
    # a known step without a stated minimum pays a minute at least
    short = billed(billing_increment_s=1, billing_minimum_s=None, work_hours=20 / 3600)
    assert short["billed_hours"] == pytest.approx(60 / 3600)


def test_us_17_storage_and_egress_in_the_total() -> None:
    job = {
        "work_hours": 10.0,
        "storage_gb": 640.0,
        "egress_gb_per_month": 2000.0,
        "storage_usd_per_gb_month": 0.10,
    }
    delta = billed(
        **job, price_usd_per_instance_hour=21.0, egress_usd_per_gb=0.09, egress_free_gb_per_month=100.0
    )
    assert [delta[part] for part in ("compute_usd", "storage_usd", "egress_usd")] == pytest.approx(
        [210, 64, 171]
    )
    assert delta["total_usd"] == pytest.approx(445)
    assert delta["is_lower_bound"] is False
    alpha = billed(**job, price_usd_per_instance_hour=24.0, egress_usd_per_gb=0.0)
    assert alpha["total_usd"] == pytest.approx(304)


@pytest.mark.parametrize("unknown", ["storage_usd_per_gb_month", "egress_usd_per_gb"])
def test_us_17_an_unknown_price_makes_the_total_at_least(unknown: str) -> None:
    job = {"work_hours": 10.0, "storage_gb": 640.0, "egress_gb_per_month": 2000.0}
    known = {"storage_usd_per_gb_month": 0.10, "egress_usd_per_gb": 0.09}
    row = billed(**job, **(known | {unknown: None}))
    line = {"storage_usd_per_gb_month": "storage_usd", "egress_usd_per_gb": "egress_usd"}[unknown]
    assert row[line] is None
    assert row["is_lower_bound"] is True
    # nothing to keep and nothing to send: the price is not needed
    idle = billed(**{unknown: None})
    assert idle[line] == 0
    assert idle["is_lower_bound"] is False


@pytest.mark.parametrize(("is_billed", "expected_usd"), [(True, 1.25), (None, 1.25), (False, 1.0)])
def test_startup_is_billed_unless_the_provider_says_no(is_billed: bool | None, expected_usd: float) -> None:
    row = billed(is_startup_billed=is_billed, start_minutes=15.0)
    assert row["total_usd"] == pytest.approx(expected_usd)
    assert row["startup_usd"] == pytest.approx(expected_usd - 1.0)


def test_a_row_without_hours_has_no_bill() -> None:
    row = bill(
        pl.DataFrame([ROW | {"work_hours": None}], schema_overrides=TYPES | {"work_hours": pl.Float64})
    ).row(0, named=True)
    assert row["total_usd"] is None
    assert row["billed_hours"] is None


INCREMENTS_S = st.sampled_from([1, 60, 600, 900, 3600])
HOURS = st.floats(0.01, 900.0)


@settings(max_examples=40)
@given(
    hours=HOURS,
    increment_s=INCREMENTS_S,
    factor=st.integers(1, 6),
    minimum_s=st.integers(0, 7200),
    more_s=st.integers(0, 7200),
)
def test_the_bill_never_falls_with_the_step_or_the_minimum(
    hours: float, increment_s: int, factor: int, minimum_s: int, more_s: int
) -> None:
    terms = [
        (increment_s, minimum_s),
        (increment_s * factor, minimum_s),
        (increment_s, minimum_s + more_s),
        (1, 0),
    ]
    base, coarser, longer, finest = bills(
        *({"work_hours": hours, "billing_increment_s": i, "billing_minimum_s": m} for i, m in terms)
    )
    assert coarser["total_usd"] >= base["total_usd"] - 1e-9
    assert longer["total_usd"] >= base["total_usd"] - 1e-9
    assert finest["total_usd"] == pytest.approx(hours, abs=1 / 3600 + 1e-6)


@settings(max_examples=40)
@given(
    hours=HOURS,
    kind=st.sampled_from(["job", "demand"]),
    purchase=st.sampled_from(["on_demand", "spot", "reserved"]),
    sessions=st.integers(1, 60),
    start_minutes=st.floats(0, 40),
    instances=st.integers(1, 4),
)
def test_parts_add_up_and_copies_multiply(
    hours: float, kind: str, purchase: str, sessions: int, start_minutes: float, instances: int
) -> None:
    changes: dict[str, object] = {
        "kind": kind,
        "purchase": purchase,
        "work_hours": min(hours, 730.0),
        "sessions_per_month": float(sessions),
        "start_minutes": start_minutes,
        "term_months": 12 if purchase == "reserved" else None,
        "loss_per_hour": 0.1 if purchase == "spot" else 0.0,
        "checkpoint_interval_min": 30.0,
    }
    one, many = bills(changes, changes | {"instances": float(instances)})
    assert sum(one[part] for part in PARTS_USD) == pytest.approx(one["total_usd"])
    assert all(one[part] >= -1e-9 for part in PARTS_USD)
    assert many["total_usd"] == pytest.approx(instances * one["total_usd"])
    # what is paid is the price times the hours that are reported
    assert one["total_usd"] == pytest.approx(one["billed_hours"])


@settings(max_examples=40)
@given(lower=st.floats(0, 1), higher=st.floats(0, 1), interval_min=st.floats(1, 120))
def test_spot_costs_rise_with_losses_and_with_the_interval(
    lower: float, higher: float, interval_min: float
) -> None:
    lower, higher = sorted((lower, higher))
    spot: dict[str, object] = {"purchase": "spot", "work_hours": 24.0, "start_minutes": 10.0}
    cheap, dear, wide = bills(
        *(
            spot | {"loss_per_hour": rate, "checkpoint_interval_min": interval}
            for rate, interval in ((lower, interval_min), (higher, interval_min), (lower, interval_min * 2))
        )
    )
    assert dear["total_usd"] >= cheap["total_usd"]
    assert wide["total_usd"] >= cheap["total_usd"]


def test_with_endless_losses_spot_loses_to_on_demand() -> None:
    spot = {"purchase": "spot", "price_usd_per_instance_hour": 1.0, "checkpoint_interval_min": 30.0}
    on_demand = billed(price_usd_per_instance_hour=2.5, work_hours=24.0)
    assert billed(**spot, loss_per_hour=0.05, work_hours=24.0)["total_usd"] < on_demand["total_usd"]
    assert billed(**spot, loss_per_hour=50.0, work_hours=24.0)["total_usd"] > on_demand["total_usd"]
