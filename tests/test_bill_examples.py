"""The worked examples of a bill, B01 to B55, one test each; the figures were worked out by hand from providers' rules.

Where the product has no notion of its own for a rule (a plan fee, an auction), the example says which of its figures
the bill would be given, and is held to the same functions.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from ranking_decks import ids, offers, ranked, reason
from test_bill import billed, value

from transforms.offers.bill import with_interruptions
from transforms.offers.regions import region_frame
from transforms.offers.schema import INTERRUPTION
from transforms.workloads import commitment, interruption
from transforms.workloads.keeping import egress_tiers, egress_usd, storage_terms, storage_usd, tiered_usd
from transforms.workloads.meter import (
    MS_PER_HOUR,
    billed_ms,
    capped_hours,
    session_billed_hours,
    whole_ms,
)

TOLERANCE = 5e-3


def total(**changes: Any) -> float:
    return float(billed(**changes)["total_usd"])


def of_provider(provider: str, **changes: Any) -> dict[str, Any]:
    """Returns the bill with the storage terms of a provider."""
    terms = storage_terms().row(by_predicate=pl.col("provider") == provider, named=True)
    return billed(**terms, **changes)


def near(expected: float) -> Any:
    return pytest.approx(expected, rel=TOLERANCE)


def metered(usd_per_hour: float, seconds: float, increment_s: int = 1, minimum_s: int = 0) -> float:
    return total(
        price_usd_per_instance_hour=usd_per_hour,
        billing_increment_s=increment_s,
        billing_minimum_s=minimum_s,
        work_hours=seconds / 3600,
    )


# --- rounding and minimums --------------------------------------------------------------------------------------------


def test_b01_seconds_with_a_minimum_of_a_minute() -> None:
    assert metered(3.60, 45, 1, 60) == near(0.060)
    assert metered(3.60, 61, 1, 60) == near(0.061)


def test_b02_ten_sessions_pay_ten_minimums() -> None:
    ten = {"kind": "demand", "sessions_per_month": 10.0, "work_hours": 200 / 3600}
    assert total(**ten, price_usd_per_instance_hour=3.60, billing_minimum_s=60) == near(0.60)
    assert metered(3.60, 200, 1, 60) == near(0.20)


def test_b03_started_minutes() -> None:
    assert metered(6.00, 125, 60) == near(0.30)


def test_b04_started_hours() -> None:
    assert metered(2.397, 61 * 60, 3600, 3600) == near(4.794)


def test_b05_ten_minutes_then_seconds() -> None:
    assert metered(1.71, 120, 1, 600) == near(0.285)
    assert metered(1.71, 25 * 60 + 30, 1, 600) == near(0.72675)


def test_b06_no_stop_before_twenty_minutes() -> None:
    assert metered(2.00, 300, 1, 1200) == near(0.6667)


def test_b07_steps_of_a_quarter_hour() -> None:
    assert metered(5.5, 480, 900) == near(1.375)


def test_b08_least_reservation_of_three_hours() -> None:
    assert metered(2.99, 1800, 60, 180 * 60) == near(8.97)


def test_b09_each_segment_is_rounded_by_itself() -> None:
    segments = pl.DataFrame(
        {"minutes": [70.0, 70.0, 70.0, 150.0], "billing_increment_s": 3600, "billing_minimum_s": 0}
    )
    assert segments.select(session_billed_hours(pl.col("minutes") / 60).sum()).item() == 9.0


@pytest.mark.parametrize(("minutes_after_the_hour", "hours"), [(0, 1), (40, 2)])
def test_b10_from_the_start_and_by_the_clock(minutes_after_the_hour: int, hours: int) -> None:
    """A meter that goes by the clock counts from the last full hour: 09:40 to 10:20 are 80 minutes from 09:00."""
    duration = whole_ms(pl.lit((40 + minutes_after_the_hour) / 60))
    assert value(billed_ms(duration, pl.lit(MS_PER_HOUR), pl.lit(0))) == hours * MS_PER_HOUR


# --- caps -------------------------------------------------------------------------------------------------------------


def capped(usd_per_hour: float, hours: float, cap_hours: float | None, month_hours: float = 744.0) -> float:
    charged = capped_hours(pl.lit(hours), pl.lit(cap_hours, pl.Float64), pl.lit(month_hours))
    return value(charged) * usd_per_hour


def test_b11_vultr_gpu() -> None:
    assert capped(2.397, 744, 730) == pytest.approx(1749.81)
    assert capped(2.397, 744, None) == near(1783.37)


def test_b12_vultr_metal() -> None:
    assert capped(68.0, 744, 672) == 45_696


def test_b13_two_machines_do_not_share_a_cap() -> None:
    hourly = 100 / 672
    assert hourly == near(0.14881)
    assert capped(hourly, 15 * 24, 672) == near(53.57)
    assert capped(hourly, 30 * 24, 672) == near(100.00)
    month = {"kind": "demand", "work_hours": 720.0, "sessions_per_month": 2.0}
    assert total(**month, price_usd_per_instance_hour=hourly, monthly_cap_hours=672.0) == near(107.14)


def test_b14_a_monthly_price_from_the_thirteenth() -> None:
    """19 of 31 days of a month of 744 hours, as what is kept for part of a month."""
    kept = storage_usd(pl.lit(1.0), pl.lit(30.0), pl.lit(19 * 24.0), month_hours=744.0)
    assert value(kept) == near(18.39)


# --- start-up and states ----------------------------------------------------------------------------------------------


def test_b15_image_and_weights() -> None:
    assert 12 * 8 / 1 == 96
    load_s = 140 / 0.3
    assert load_s == near(466.7)
    row = billed(price_usd_per_instance_hour=8.0, start_minutes=load_s / 60)
    assert row["startup_usd"] == near(1.037)


def test_b16_only_the_states_after_the_pull_are_billed() -> None:
    setup, run, idle, drain, terminate = 45, 10, 60, 2, 3
    row = billed(
        work_hours=(run + idle + drain + terminate) / 3600,
        start_minutes=setup / 60,
        instances=2.0,
    )
    assert row["billed_hours"] * 3600 == near(120)
    assert row["total_usd"] * 3600 == near(240)  # GPU-seconds at a dollar an hour each
    # pending and pull are not part of it
    assert billed(is_startup_billed=False, start_minutes=80 / 60)["startup_usd"] == 0


def test_b17_gpu_cores_and_memory_are_one_rate() -> None:
    per_s = 0.000306 + 2 * 0.00000655 + 20 * 0.00000222
    assert per_s == near(0.0003635)
    seconds = 120 + 300 * 2 + 100_000 * 2
    assert metered(per_s * 3600, seconds) == near(72.96)
    assert metered(2 * per_s * 3600, seconds) == near(145.92)


def test_b18_a_pinned_region_multiplies() -> None:
    per_s = 0.001097 + 8 * 0.0000131 + 64 * 0.00000222
    assert metered(per_s * 3600, 3600) == near(4.838)
    assert metered(1.25 * per_s * 3600, 3600) == near(6.047)


def test_b19_requests_further_apart_than_the_window() -> None:
    hour = {"kind": "demand", "sessions_per_month": 100.0, "start_minutes": 8 / 60}
    row = billed(**hour, work_hours=100 * (2 + 5) / 3600)
    assert row["billed_hours"] * 3600 == near(1500)


def test_b20_replicas_of_a_small_card_and_of_none() -> None:
    assert total(price_usd_per_instance_hour=0.047, instances=5.0) == near(0.235)
    assert total(price_usd_per_instance_hour=0.004 + 2 * 0.001, instances=10.0) == near(0.06)


# --- storage ----------------------------------------------------------------------------------------------------------


def test_b21_months_of_720_and_730_hours() -> None:
    day = {"storage_gb": 1000.0, "storage_usd_per_gb_month": 0.20, "storage_hours": 24.0}
    assert of_provider("lambda", **day)["storage_usd"] == near(6.67)
    assert billed(**day)["storage_usd"] == near(6.58)


def test_b22_a_stopped_volume_costs_double() -> None:
    month = {"kind": "demand", "sessions_per_month": 20.0, "work_hours": 200.0}
    row = of_provider("runpod", **month, storage_gb=100.0, storage_usd_per_gb_month=0.10)
    assert row["storage_usd"] == near(17.26)
    container = billed(storage_gb=50.0, storage_usd_per_gb_month=0.10, storage_hours=200.0)
    assert container["storage_usd"] == near(1.37)


def test_b23_the_lower_rate_for_the_excess_or_for_all() -> None:
    volume = pl.lit(3000.0)
    assert value(tiered_usd(volume, ((0, 0.07), (1000, 0.05)))) == near(170)
    assert value(tiered_usd(volume, ((0, 0.05),))) == near(150)


def test_b24_an_hourly_price_of_storage() -> None:
    hourly = {"storage_usd_per_gb_month": 0.00013 * 730, "storage_hours": 0.5}
    assert billed(**hourly, storage_gb=1000.0)["storage_usd"] == near(0.065)


def test_b25_sixty_gigabytes_are_free() -> None:
    days = {"storage_gb": 100.0, "storage_usd_per_gb_month": 0.15, "storage_hours": 720.0}
    assert of_provider("novita", **days)["storage_usd"] == near(6.00)


def test_b26_a_disk_of_100_pays_for_128() -> None:
    disk = {"storage_gb": 100.0, "storage_usd_per_gb_month": 0.154}
    assert of_provider("azure", **disk)["storage_usd"] == near(19.71)
    assert billed(**disk)["storage_usd"] == near(15.40)
    assert of_provider("azure", **(disk | {"storage_gb": 128.0}))["storage_usd"] == near(19.71)


# --- traffic ----------------------------------------------------------------------------------------------------------


def sent(gb: float, usd_per_gb: float, free_gb: float | None = None, provider: str = "alpha") -> float:
    return float(
        billed(
            provider=provider,
            egress_gb_per_month=gb,
            egress_usd_per_gb=usd_per_gb,
            egress_free_gb_per_month=free_gb,
        )["egress_usd"]
    )


def test_b27_the_free_part_comes_off_before_the_tiers() -> None:
    assert sent(500.0, 0.09, 100.0, "aws") == pytest.approx(36.00)
    assert sent(60 * 1024.0, 0.09, 100.0, "aws") == pytest.approx(5113.00)
    inside = tiered_usd(pl.lit(60 * 1024.0), ((0, 0.0), (100, 0.09), *egress_tiers()["aws"][1:]))
    assert value(inside) == pytest.approx(5111.00)


def test_b28_google_premium() -> None:
    assert sent(3 * 1024.0, 0.12, None, "gcp") == pytest.approx(348.16)
    # an offer with a price of its own has no tiers
    assert sent(3 * 1024.0, 0.08, None, "gcp") == pytest.approx(245.76)


def test_b29_oracle_in_two_places() -> None:
    assert sent(12_000.0, 0.0085, 10_240.0, "oracle") == near(14.96)
    assert sent(12_000.0, 0.025, 10_240.0, "oracle") == near(44.00)


def test_b30_a_pool_of_two_servers() -> None:
    assert sent(12_500.0, 0.01, 2 * 6000.0) == near(5.00)


def test_b31_both_directions() -> None:
    inwards = value(egress_usd(pl.lit(140.0), pl.lit(0.004), pl.lit(0.0), pl.lit("vast")))
    assert inwards + sent(20.0, 0.006, None, "vast") == near(0.68)


# --- commitments ------------------------------------------------------------------------------------------------------


def break_even(committed: float, other: float) -> float:
    return value(commitment.break_even_share(pl.lit(committed), pl.lit(other)))


def test_b32_a_commitment_of_36_months() -> None:
    assert break_even(2.49, 2.99) == near(0.833)
    assert break_even(2.49, 2.99) * 730 == near(608)
    reserved = {"purchase": "reserved", "price_usd_per_instance_hour": 2.49, "term_months": 36}
    row = billed(**reserved, work_hours=240.0)
    assert row["total_usd"] == near(65_437.20)
    assert (row["compute_usd"], row["commitment_usd"]) == (near(597.60), near(65_437.20 - 597.60))
    assert total(price_usd_per_instance_hour=2.99, work_hours=240.0) == near(717.60)


def test_b33_leaving_a_prepaid_month_early() -> None:
    assert break_even(576.0, 720.0) == near(0.80)
    # half is used: the discount so far and a twentieth of it stay with the host
    row = billed(purchase="reserved", price_usd_per_instance_hour=576 / 730, term_months=1, work_hours=365.0)
    unused, discount = row["commitment_usd"], (720 - 576) / 2
    assert unused - discount - 0.05 * discount == near(212.40)


def test_b34_a_term_total_by_the_hour() -> None:
    hourly = 100_000 / 8760
    assert hourly == near(11.4155)
    reserved = {"purchase": "reserved", "price_usd_per_instance_hour": hourly, "term_months": 12}
    assert total(**reserved, work_hours=100.0) == near(100_000)


def test_b35_half_an_hour_of_a_block_cannot_be_used() -> None:
    row = billed(price_usd_per_instance_hour=1.0, billing_increment_s=86_400, work_hours=23.5)
    assert row["total_usd"] / 23.5 == pytest.approx(1.02128, rel=1e-5)


def test_b36_holding_and_using() -> None:
    month = {"kind": "demand", "sessions_per_month": 1.0, "instances": 10.0}
    hold = total(**month, price_usd_per_instance_hour=10.0, work_hours=730.0)
    usage = total(**month, price_usd_per_instance_hour=20.0, work_hours=200.0)
    assert hold + usage == 113_000
    reserved = {"purchase": "reserved", "price_usd_per_instance_hour": 24.0, "term_months": 1}
    assert total(**month, **reserved, work_hours=200.0) == 175_200


# --- markets ----------------------------------------------------------------------------------------------------------


def test_b37_the_highest_losing_bid_is_paid_and_a_floor_is_never_ranked() -> None:
    bids = [23.0, 21.0, 16.0, 13.0, 12.0, 8.0]
    assert sorted(bids, reverse=True)[3] == 13.00
    assert sorted([*bids, 13.01], reverse=True)[3] == 13.01
    result = ranked(offers({"price_state": "bid_floor", "purchase": "on_demand"}))
    assert ids(result) == []
    assert reason(result) == "price_state"


def test_b38_a_bid_while_running_and_while_outbid() -> None:
    disk = {"storage_gb": 200.0, "storage_usd_per_gb_month": 0.00005 * 730, "storage_hours": 1.0}
    assert total(**disk, price_usd_per_instance_hour=0.35) == near(0.36)
    assert billed(**disk)["storage_usd"] == near(0.01)


def test_b39_basis_points_and_a_flat_fee() -> None:
    assert total(price_usd_per_instance_hour=20.0 * (1 + 100 / 10_000) + 0.10) == near(20.30)


@pytest.mark.parametrize(
    ("fee", "credit", "usage", "expected"),
    [(0, 30, 80, 50), (0, 30, 600, 570), (250, 100, 80, 250), (250, 100, 600, 750)],
)
def test_b40_a_plan_with_a_credit(fee: float, credit: float, usage: float, expected: float) -> None:
    """A credit is a first part of the usage that costs nothing."""
    assert fee + value(tiered_usd(pl.lit(float(usage)), ((0, 0.0), (credit, 1.0)))) == expected


def test_b41_the_node_is_paid_whole() -> None:
    assert total(price_usd_per_instance_hour=8 * 2.00, work_hours=3.0) == near(48.00)
    assert total(price_usd_per_instance_hour=2.50, work_hours=3.0) == near(7.50)


# --- spot -------------------------------------------------------------------------------------------------------------

WRITE_H, RESTART_H, WORK_H = 1 / 60, 8 / 60, 24.0


def young_h(mean_hours: float) -> float:
    return value(interruption.young_interval_hours(pl.lit(WRITE_H), pl.lit(1 / mean_hours)))


def exact_h(mean_hours: float, interval_hours: float, write_hours: float = WRITE_H) -> float:
    """Hours of the work; writing a checkpoint makes each interval longer, and the work of all of them."""
    written = interval_hours + write_hours
    share = interruption.exact_extra_share(pl.lit(1 / mean_hours), pl.lit(written), pl.lit(RESTART_H))
    return WORK_H * written / interval_hours * (1 + value(share))


@pytest.mark.parametrize(("mean_hours", "minutes"), [(6.10, 27.06), (0.7576, 9.53)])
def test_b42_young(mean_hours: float, minutes: float) -> None:
    assert young_h(mean_hours) * 60 == near(minutes)


@pytest.mark.parametrize(("mean_hours", "minutes"), [(6.10, 26.39), (0.7576, 8.88)])
def test_b43_daly(mean_hours: float, minutes: float) -> None:
    interval = interruption.daly_interval_hours(pl.lit(WRITE_H), pl.lit(1 / mean_hours))
    assert value(interval) * 60 == near(minutes)


@pytest.mark.parametrize(
    ("mean_hours", "hours"), [(10.51, 25.73), (6.10, 26.44), (1.36, 31.10), (0.7576, 35.58)]
)
def test_b44_the_exact_time(mean_hours: float, hours: float) -> None:
    assert exact_h(mean_hours, young_h(mean_hours)) == near(hours)


@pytest.mark.parametrize(
    ("mean_hours", "hours"), [(10.51, 25.66), (6.10, 26.30), (1.36, 30.11), (0.7576, 33.26)]
)
def test_b45_the_time_to_first_order(mean_hours: float, hours: float) -> None:
    interval = young_h(mean_hours)
    lost = interruption.extra_share(pl.lit(1 / mean_hours), pl.lit(interval), pl.lit(RESTART_H))
    assert WORK_H * (1 + WRITE_H / interval + value(lost)) == near(hours)


def test_b46_without_a_checkpoint_the_time_explodes() -> None:
    assert exact_h(6.10, WORK_H, write_hours=0.0) == near(312.6)
    spot = {"purchase": "spot"}
    changes = {"tier_id": "batch-8b-fp8", "checkpoint_interval_min": None}
    assert reason(ranked(offers(spot), changes=changes)) == "checkpoint"


@pytest.mark.parametrize(("interval_hours", "hours"), [(0.1, 28.89), (2.0, 29.31), (4.0, 34.86)])
def test_b47_other_intervals(interval_hours: float, hours: float) -> None:
    assert exact_h(6.10, interval_hours) == near(hours)


@pytest.mark.parametrize(("mean_hours", "ratio"), [(6.10, 0.908), (0.7576, 0.674)])
def test_b48_the_price_ratio_below_which_spot_wins(mean_hours: float, ratio: float) -> None:
    assert WORK_H / exact_h(mean_hours, young_h(mean_hours)) == near(ratio)


def test_b49_spot_against_on_demand() -> None:
    assert 4.00 * exact_h(6.10, young_h(6.10)) == near(105.75)
    assert total(price_usd_per_instance_hour=10.0, work_hours=WORK_H) == 240


def test_b50_a_notice_that_always_works() -> None:
    """Then a loss costs the writing of one checkpoint in place of half an interval."""
    lost = interruption.extra_share(pl.lit(1 / 6.10), pl.lit(2 * WRITE_H), pl.lit(RESTART_H))
    assert WORK_H * (1 + value(lost)) == near(24.59)


@pytest.mark.parametrize(
    ("percent", "mean_hours"), [(5.0, 14_232), (10.0, 6_929), (15.0, 4_492), (20.0, 3_271)]
)
def test_b51_a_monthly_band_as_a_rate(percent: float, mean_hours: float) -> None:
    place = {"provider": "aws", "plan": "p5.48xlarge", "region_text": "us-east-1"}
    band = pl.DataFrame(
        [place | {"monthly_low_pct": percent - 5, "monthly_high_pct": percent}],
        schema=INTERRUPTION,
        strict=False,
    )
    asked = band.select("provider", "plan", place_text="region_text", origin=pl.lit(None, pl.String))
    spot = asked.join(region_frame(asked), on=["provider", "place_text"]).with_columns(
        purchase=pl.lit("spot")
    )
    rate = with_interruptions(spot, band)["interruptions_per_hour"].item()
    assert 1 / rate == near(mean_hours)
    # if the pooled machines lived ten hours on average, the same band means far more losses
    assert 10 / 0.05 == 200


@pytest.mark.parametrize(("percent", "mean_hours"), [(5, 19.5), (10, 9.49), (15, 6.15), (20, 4.48)])
def test_b52_a_chance_within_the_hour(percent: float, mean_hours: float) -> None:
    """A machine that is lost at an even rate lives through an hour with what the chance leaves."""
    rate = -math.log(1 - percent / 100)
    assert 1 / rate == near(mean_hours)
    lived = interruption.paid_share_with_free_hour(pl.lit(rate)) / (1 + rate)
    assert value(lived) == near(1 - percent / 100)


def test_b53_a_free_first_hour() -> None:
    share_of_two, share_of_six = (
        value(interruption.paid_share_with_free_hour(pl.lit(1 / mean))) for mean in (2.0, 6.10)
    )
    assert 2.0 * share_of_two == near(1.8196)
    assert (share_of_two, share_of_six) == (near(0.9098), near(0.9879))
    spot = {"purchase": "spot", "loss_per_hour": 0.5, "work_hours": 10.0}
    elsewhere, at_aws = (billed(provider=provider, **spot)["total_usd"] for provider in ("alpha", "aws"))
    assert at_aws / elsewhere == near(0.9098)


def test_b54_failures_of_nodes() -> None:
    node_hours = 54 * 24 * 16_384 / 8 / 419
    assert node_hours == near(6_335)
    assert node_hours / 64 == near(99)


def test_b55_prices_with_and_without_tax() -> None:
    gross, rate = 119.00, 0.19
    assert gross / (1 + rate) == near(100.00)
    credit, rate = 100.00, 0.18
    assert credit * (1 + rate) == near(118.00)


def test_each_example_has_its_test_and_the_count_would_miss_one() -> None:
    tested = {name[6:8] for name in globals() if name.startswith("test_b") and name[6:8].isdigit()}
    assert tested == {f"{number:02}" for number in range(1, 56)}
    assert tested - {"37"} != {f"{number:02}" for number in range(1, 56)}
