"""The bill of a job, held to worked examples: each expected figure was worked out by hand from the provider's rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.workloads import interruption
from transforms.workloads.bill import PARTS_USD, bill, with_bounds
from transforms.workloads.meter import capped_hours

ROW = {
    "kind": "job",
    "provider": "alpha",
    "purchase": "on_demand",
    "price_usd_per_instance_hour": 1.0,
    "term_months": None,
    "billing_increment_s": 1,
    "billing_minimum_s": 0,
    "monthly_cap_hours": None,
    "is_startup_billed": True,
    "storage_usd_per_gb_month": 0.0,
    "egress_usd_per_gb": 0.0,
    "egress_free_gb_per_month": None,
    "storage_month_hours": None,
    "storage_free_gb": None,
    "stopped_usd_per_gb_month": None,
    "smallest_disk_gb": None,
    "interruptions_per_hour": None,
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
    "term_months": pl.Int32,
    "billing_increment_s": pl.Int32,
    "billing_minimum_s": pl.Int32,
    "monthly_cap_hours": pl.Float64,
    "is_startup_billed": pl.Boolean,
    "storage_usd_per_gb_month": pl.Float64,
    "egress_usd_per_gb": pl.Float64,
    "egress_free_gb_per_month": pl.Float64,
    "storage_month_hours": pl.Float64,
    "storage_free_gb": pl.Float64,
    "stopped_usd_per_gb_month": pl.Float64,
    "smallest_disk_gb": pl.Float64,
    "interruptions_per_hour": pl.Float64,
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


def bounded(**changes: object) -> tuple[float, float, float, str]:
    """Returns low end, total, high end and state of one bill."""
    row = with_bounds(pl.DataFrame([billed(**changes)], schema_overrides=TYPES)).row(0, named=True)
    return row["total_low_usd"], row["total_usd"], row["total_high_usd"], row["bill_state"]


def value(expression: pl.Expr) -> float:
    return float(pl.select(expression).item())


@pytest.mark.parametrize(
    ("increment_s", "seconds", "expected_usd"),
    [(3600, 3600.0000001, 1.0), (60, 60.0000001, 1 / 60), (3600, 3600.001, 2.0)],
)
def test_a_millisecond_buys_another_step_and_a_rounding_error_does_not(
    increment_s: int, seconds: float, expected_usd: float
) -> None:
    row = billed(billing_increment_s=increment_s, work_hours=seconds / 3600)
    assert row["total_usd"] == pytest.approx(expected_usd, rel=1e-6)
    assert row["compute_usd"] == row["total_usd"]


@pytest.mark.parametrize(
    ("example", "usd_per_hour", "hours", "cap_hours", "month_hours", "expected_usd"),
    [
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


@pytest.mark.parametrize(("hours", "reserved_wins"), [(607.0, False), (609.0, True)])
def test_b32_break_even_is_608_hours_of_730(hours: float, reserved_wins: bool) -> None:
    month = {"kind": "demand", "sessions_per_month": 1.0, "work_hours": hours}
    reserved = billed(**month, purchase="reserved", price_usd_per_instance_hour=2.49, term_months=36)
    on_demand = billed(**month, price_usd_per_instance_hour=2.99)
    assert (reserved["total_usd"] < on_demand["total_usd"]) is reserved_wins
    assert reserved["total_usd"] == pytest.approx(2.49 * 730)


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


MISSING: list[tuple[dict[str, object], dict[str, object], tuple[float, float, float]]] = [
    # a step of a second or a started hour; a minimum of none or of the step
    ({"billing_increment_s": None}, {"work_hours": 1.5}, (1.5, 2.0, 2.0)),
    ({"billing_minimum_s": None}, {"work_hours": 30 / 3600}, (30 / 3600, 60 / 3600, 60 / 3600)),
    ({"billing_increment_s": None, "billing_minimum_s": None}, {"work_hours": 0.25}, (0.25, 1.0, 1.0)),
    ({"is_startup_billed": None}, {"start_minutes": 15.0}, (1.0, 1.25, 1.25)),
    # 100 GB for a month at 0.05 to 0.20; 50 GB out for nothing to 0.12; in the total they are left out
    ({"storage_usd_per_gb_month": None}, {"storage_gb": 100.0}, (1.0, 1.0, 21.0)),
    ({"egress_usd_per_gb": None}, {"egress_gb_per_month": 50.0}, (1.0, 1.0, 7.0)),
]


@pytest.mark.parametrize(("missing", "job", "expected"), MISSING, ids=lambda one: str(next(iter(one))))
def test_a_missing_fact_bounds_the_bill(
    missing: dict[str, object], job: dict[str, object], expected: tuple[float, float, float]
) -> None:
    *ends, state = bounded(**job, **missing)
    assert ends == pytest.approx(expected)
    assert state == "bounded"
    # the control: with the fact stated, the ends meet
    *known, state = bounded(**job)
    assert known == pytest.approx([known[1]] * 3)
    assert state == "exact"


def test_a_fact_that_the_job_does_not_ask_for_is_not_missing() -> None:
    nothing = {"storage_usd_per_gb_month": None, "egress_usd_per_gb": None, "is_startup_billed": None}
    assert bounded(**nothing) == (1.0, 1.0, 1.0, "exact")


def test_an_assumed_rate_of_losses_bounds_the_bill_and_a_stated_one_does_not() -> None:
    spot = {"purchase": "spot", "work_hours": 24.0, "checkpoint_interval_min": 30.0, "start_minutes": 10.0}
    low, total, high, state = bounded(**spot, loss_per_hour=0.05)
    # 0.02 to first order; 0.5 with M = 2 h exactly: exp(r/2) (exp(0.25) - 1) x 4, r = 10 min and half a second
    start, restart = 10 / 60, 10 / 60 + 0.5 / 3600
    assert low == pytest.approx(start + 24 * (1 + 0.02 * (0.25 + restart)))
    assert total == pytest.approx(start + 24 * (1 + 0.05 * (0.25 + restart)))
    assert high == pytest.approx(start + 24 * 1.0870 * 0.284025 * 4, rel=1e-3)
    assert state == "bounded"
    assert bounded(**spot, loss_per_hour=0.05, interruptions_per_hour=0.05)[3] == "exact"


def test_data_that_stay_between_sessions_are_kept_at_the_rate_of_a_stopped_machine() -> None:
    kept = {"storage_gb": 100.0, "storage_usd_per_gb_month": 0.1, "stopped_usd_per_gb_month": 0.2}
    sessions = {"kind": "demand", "sessions_per_month": 22.0, "work_hours": 219.0, "start_minutes": 60.0}
    # 241 hours run, with an hour of start-up for each session; 489 stand still
    assert billed(**kept, **sessions)["storage_usd"] == pytest.approx((10 * 241 + 20 * 489) / 730)
    always = {"kind": "demand", "sessions_per_month": 1.0, "work_hours": 730.0}
    assert billed(**kept, **always)["storage_usd"] == pytest.approx(10.0)
    reserved = {"purchase": "reserved", "term_months": 12}
    assert billed(**kept, **sessions, **reserved)["storage_usd"] == pytest.approx(10.0)


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
