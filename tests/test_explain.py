"""Why the winner wins, in figures: worked out by hand on a few offers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_decks import DEMAND, JOB_CHANGES, layouts, offers, ranked

from transforms.workloads.explain import Explanation, explain


def explained(
    *rows: dict[str, Any], changes: dict[str, Any] = DEMAND, speeds: tuple[dict[str, Any], ...] = ({},)
) -> Explanation:
    deck = offers(*rows)
    result = ranked(deck, layouts(deck, *speeds, tier_id=changes["tier_id"]), changes)
    return explain(result, deck, changes["tier_id"])


def test_the_winner_its_parts_and_the_price_that_the_runner_up_would_need() -> None:
    why = explained({"price_usd_per_instance_hour": 3.0}, {"price_usd_per_instance_hour": 2.0})
    assert why.winner is not None
    assert why.runner_up is not None
    assert (why.winner["offering_id"], why.runner_up["offering_id"]) == ("o1", "o0")
    assert why.parts_usd["compute_usd"] == pytest.approx(1460)
    assert why.runner_up["break_even_usd_per_instance_hour"] == pytest.approx(2.0)
    assert why.winner["break_even_usd_per_instance_hour"] == pytest.approx(3.0)
    assert why.difference_usd["price_usd"] == pytest.approx(730)
    assert (why.difference_usd["gpus_usd"], why.difference_usd["hours_usd"]) == pytest.approx((0, 0))
    assert (why.ranked_offers, why.excluded_offers, why.unknown_offers) == (2, 0, 0)


def test_the_difference_names_gpus_hours_and_storage() -> None:
    """o0: one GPU at 3.00 for 20 hours. o1: four at 1.00 for 10 hours, and storage of 730 GB at 0.10."""
    node = {"gpu_candidates": ["A100-SXM4-80GB"], "gpu_count": 4.0, "link": "nvlink"}
    why = explained(
        {"price_usd_per_instance_hour": 3.0},
        node | {"price_usd_per_instance_hour": 8.0, "storage_usd_per_gb_month": 0.1},
        changes=JOB_CHANGES | {"storage_gb": 730.0},
        speeds=({"of": "o0"}, {"of": "o1", "rate_per_hour": 2e6}),
    )
    # the price from 3 to 2 on 20 GPU-hours, three GPUs more at 2 for 20 hours, four at 2 for 10 hours less
    expected = {"price_usd": -20, "gpus_usd": 120, "hours_usd": -80, "storage_usd": 1.0}
    assert {name: why.difference_usd[name] for name in expected} == pytest.approx(expected)


@settings(max_examples=20)
@given(
    usd=st.lists(st.integers(50, 900).map(lambda cents: cents / 100), min_size=2, max_size=2),
    increments=st.lists(st.sampled_from([1, 3600]), min_size=2, max_size=2),
    kinds=st.lists(st.sampled_from(["on_demand", "spot"]), min_size=2, max_size=2),
)
def test_the_causes_add_up_to_the_difference(
    usd: list[float], increments: list[int], kinds: list[str]
) -> None:
    rows = [
        {"price_usd_per_instance_hour": price, "billing_increment_s": increment, "purchase": kind}
        for price, increment, kind in zip(usd, increments, kinds, strict=True)
    ]
    why = explained(*rows, changes=JOB_CHANGES | {"start_minutes": 12.0})
    assert why.winner is not None
    assert why.runner_up is not None
    causes = [cause for cause in why.difference_usd.values() if cause is not None]
    assert len(causes) == len(why.difference_usd)
    assert sum(causes) == pytest.approx(why.runner_up["total_usd"] - why.winner["total_usd"], abs=1e-6)


def test_an_unknown_line_has_no_difference() -> None:
    why = explained({}, {"egress_usd_per_gb": None, "price_usd_per_instance_hour": 4.0})
    assert why.difference_usd["egress_usd"] is None


def test_a_winner_that_is_only_likely_has_a_certain_one_beside_it() -> None:
    rows = ({"price_usd_per_instance_hour": 2.0}, {"gpu_candidates": ["H200-SXM-141GB"]})
    why = explained(*rows, speeds=({"of": "o0", "certain_users_per_replica": 2.0}, {"of": "o1"}))
    assert why.winner is not None
    assert why.best_certain is not None
    assert (why.winner["certainty"], why.best_certain["offering_id"]) == ("likely", "o1")
    assert explained(*rows).best_certain is None


def test_labels_near_misses_and_reasons_are_listed() -> None:
    why = explained(
        {},
        {"evidence": "second_hand", "price_usd_per_instance_hour": 1.0},
        {"is_eu": False},
        {"is_eu": None},
        {"availability": "out_of_stock"},
        {"availability": "out_of_stock"},
        changes=DEMAND | {"region": "eu"},
    )
    assert [(row["offering_id"], row["would_lead_if"]) for row in why.would_lead] == [("o1", "second_hand")]
    assert {row["offering_id"] for row in why.near_misses} == {"o2", "o3"}
    assert why.reasons.rows() == [("availability", False, 2), ("region", False, 1), ("region", True, 1)]
    assert (why.ranked_offers, why.excluded_offers, why.unknown_offers) == (2, 3, 1)


def test_without_a_winner_nothing_is_made_up() -> None:
    why = explained({"availability": "out_of_stock"})
    assert (why.winner, why.runner_up, why.best_certain) == (None, None, None)
    assert (why.parts_usd, why.difference_usd) == ({}, {})
