"""What holds for every ranking, whatever the prices and speeds: checked on generated decks."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from ranking_decks import DEMAND, JOB_CHANGES, NIGHT, ids, job, layouts, offers, ranked

from transforms.workloads.bill import PARTS_USD
from transforms.workloads.hardware import hardware, hardware_id
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.performance import performance as tier_performance
from transforms.workloads.ranking import Ranked, rank

GPUS = ("H100-SXM5-80GB", "A100-SXM4-80GB", "L40S-48GB", "RTX4090-24GB")
FEW = settings(
    max_examples=12, phases=[Phase.explicit, Phase.generate]
)  # a failing deck is small enough unshrunk
SOME_TIERS = (
    "text-8b-int4-team",
    "text-14b-bf16-office",
    "rt-voice-32b",
    "batch-8b-fp8",
    "img-12b-batch",
    "qlora-70b",
)
KINDS = pytest.mark.parametrize("changes", [DEMAND, JOB_CHANGES], ids=["demand", "job"])

Deck = tuple[list[dict[str, Any]], list[dict[str, Any]]]

PLAIN_OFFER = {
    "provider": st.sampled_from(["alpha", "beta", "gamma"]),
    "plan": st.sampled_from(["a", "b"]),
    "gpu": st.sampled_from(GPUS),
    "gpu_count": st.sampled_from([1.0, 2.0, 8.0]),
    "price_usd_per_instance_hour": st.integers(20, 3000).map(lambda cents: cents / 100),
    "billing_increment_s": st.sampled_from([1, 60]),
    "storage_usd_per_gb_month": st.sampled_from([0.0, 0.1]),
    "egress_usd_per_gb": st.sampled_from([0.0, 0.09]),
    "egress_free_gb_per_month": st.sampled_from([None, 10.0]),
}
WILD_OFFER = PLAIN_OFFER | {
    "billing_increment_s": st.sampled_from([1, 3600, None]),
    "storage_usd_per_gb_month": st.sampled_from([0.0, 0.1, None]),
    "egress_usd_per_gb": st.sampled_from([0.0, 0.09, None]),
    "purchase": st.sampled_from(["on_demand", "on_demand", "spot", "reserved"]),
    "term_months": st.sampled_from([1, 12, None]),
    "segment": st.sampled_from(["neocloud", "hyperscaler", "peer_host"]),
    "is_eu": st.sampled_from([True, False, None]),
    "price_state": st.sampled_from(
        ["priced", "priced", "priced", "from_price", "bid_floor", "contact_sales", "future"]
    ),
    "price_gap": st.sampled_from([None, None, None, "no_rate"]),
    "age_days": st.sampled_from([0, 0, 30, 119, 121, 239, 241]),
    "availability": st.sampled_from(["in_stock", "low", "listed_only", "unknown", "out_of_stock"]),
    "evidence": st.sampled_from(["live", "live", "machine_collected", "second_hand"]),
}
PLAIN_SPEED = {
    "users_per_replica": st.integers(1, 8).map(float),
    "rate_per_hour": st.integers(1, 40).map(lambda n: n * 1e5),
    "load_ratio": st.floats(0.1, 0.92),
    "is_calibrated": st.just(True),
    "verdict": st.just("fits"),
}
WILD_SPEED = PLAIN_SPEED | {
    "users_per_replica": st.one_of(st.none(), st.integers(0, 8).map(float)),
    "rate_per_hour": st.one_of(st.none(), st.integers(0, 40).map(lambda n: n * 1e5)),
    "is_calibrated": st.booleans(),
    "verdict": st.sampled_from(
        ["fits", "fits", "fits", "tight", "does_not_fit", "unsupported_precision", "unknown"]
    ),
}


@st.composite
def decks(draw: st.DrawFn, *, is_wild: bool) -> Deck:
    """Draws offers, and one or two layouts for each GPU set among them; wild ones with every trap."""
    offer, speed = (WILD_OFFER, WILD_SPEED) if is_wild else (PLAIN_OFFER, PLAIN_SPEED)
    rows: list[dict[str, Any]] = draw(st.lists(st.fixed_dictionaries(offer), min_size=3, max_size=10))
    for row in rows:
        row["gpu_candidates"] = [row.pop("gpu")]
        row["link"] = "nvlink" if row["gpu_count"] > 1 else "none"
        row["price_date"] = NIGHT - timedelta(days=row.pop("age_days", 0))
        if row.get("price_gap") or row.get("price_state") == "contact_sales":
            row["price_usd_per_instance_hour"] = None
    speeds = draw(
        st.fixed_dictionaries({gpu: st.lists(st.fixed_dictionaries(speed), max_size=2) for gpu in GPUS})
    )
    seen: dict[tuple[str, float], str] = {}
    for i, row in enumerate(rows):
        seen.setdefault((row["gpu_candidates"][0], row["gpu_count"]), f"o{i}")
    laid_out = [
        {"of": of, "gpus_per_replica": size, "replicas_per_instance": count / size} | one
        for (gpu, count), of in seen.items()
        for size, one in zip((1.0, count) if count > 1 else (1.0,), speeds[gpu], strict=False)
    ]
    return rows, laid_out


def run(deck: Deck, changes: dict[str, Any], **options: Any) -> Ranked:
    rows, _speeds = deck
    table = offers(*rows)
    return ranked(table, performance(deck, changes), changes, **options)


def performance(deck: Deck, changes: dict[str, Any]) -> pl.DataFrame:
    rows, speeds = deck
    empty = layouts(offers(), tier_id=changes["tier_id"])
    return layouts(offers(*rows), *speeds, tier_id=changes["tier_id"]) if speeds else empty


def complaints(
    result: Ranked, table: pl.DataFrame, speeds: pl.DataFrame, changes: dict[str, Any]
) -> set[str]:
    """Returns what is wrong with a ranking of one job, found without the code of the ranking."""
    asked = job(changes).row(0, named=True)
    offer_of = {row["offering_id"]: row for row in table.to_dicts()}
    key_of = dict(zip(table["offering_id"], hardware_id(table), strict=True))
    found: set[str] = set()
    ranked_ids, excluded_ids = ids(result), result.exclusions["offering_id"].to_list()
    if sorted(ranked_ids + excluded_ids) != sorted(offer_of):
        found.add("count")
    if any(not reason for reason in result.exclusions["reason"]):
        found.add("reason")
    for row in result.ranking.to_dicts():
        found |= _offer_complaints(row, offer_of[row["offering_id"]], asked)
        layout = speeds.filter(
            pl.col("hardware_id") == key_of[row["offering_id"]],
            pl.col("gpus_per_replica") == row["gpus_per_replica"],
        ).to_dicts()[0]
        found |= _layout_complaints(row, layout, asked)
    return found


def _offer_complaints(row: dict[str, Any], offer: dict[str, Any], asked: dict[str, Any]) -> set[str]:
    age_days = (NIGHT - offer["price_date"]).days
    wrong = {
        "purchase": offer["purchase"] not in asked["purchase_kinds"],
        "term": offer["purchase"] == "reserved" and offer["term_months"] is None,
        "hosts": asked["hosts_allowed"] == "no_peer" and offer["segment"] == "peer_host",
        "region": asked["region"] == "eu" and offer["is_eu"] is not True,
        "price_state": offer["price_state"] != "priced" or offer["price_usd_per_instance_hour"] is None,
        "age": age_days > 240,
        "availability": offer["availability"] == "out_of_stock",
        "max_gpus": row["instances"] * offer["gpu_count"] > asked["max_gpus"],
        "unknown_bill": (offer["storage_usd_per_gb_month"] is None and asked["storage_gb"] > 0)
        != (row["storage_usd"] is None),
        "parts": abs(sum(row[part] or 0 for part in PARTS_USD) - row["total_usd"]) > 1e-6 * row["total_usd"],
        "leader": (row["rank"] == 1 and (offer["evidence"] == "second_hand" or not row["is_calibrated"]))
        or (row["rank"] == 1 and age_days > 120 and row["would_lead_if"] != "old_price"),
    }
    return {name for name, is_wrong in wrong.items() if is_wrong}


def _layout_complaints(row: dict[str, Any], layout: dict[str, Any], asked: dict[str, Any]) -> set[str]:
    copies = row["instances"] * layout["replicas_per_instance"]
    allowed = ("fits", "tight") if asked["worst_verdict_allowed"] == "tight" else ("fits",)
    wrong = {"verdict": layout["verdict"] not in allowed or layout["reason"] is not None}
    if asked["kind"] == "demand":
        wrong["users"] = copies * (layout["users_per_replica"] or 0) < asked["concurrent_users"]
    else:
        hours = (
            asked["work_quantity"] / (copies * layout["rate_per_hour"]) if layout["rate_per_hour"] else 1e9
        )
        wrong["deadline"] = hours > asked["deadline_hours"] + 1e-6
        wrong["hours"] = abs(hours - row["work_hours"]) > 1e-6 * hours
    return {name for name, is_wrong in wrong.items() if is_wrong}


WISHES = st.fixed_dictionaries(
    {
        "region": st.sampled_from([None, "eu"]),
        "hosts_allowed": st.sampled_from(["any", "no_peer"]),
        "max_gpus": st.sampled_from([1.0, 4.0, 8.0, 16.0]),
        "worst_verdict_allowed": st.sampled_from(["fits", "tight"]),
    }
)


@KINDS
@FEW
@given(deck=decks(is_wild=True), wishes=WISHES)
def test_no_row_breaks_a_constraint_and_every_offer_is_accounted_for(
    changes: dict[str, Any], deck: Deck, wishes: dict[str, Any]
) -> None:
    changes = changes | wishes | {"storage_gb": 50.0}
    result = run(deck, changes)
    assert complaints(result, offers(*deck[0]), performance(deck, changes), changes) == set()


@pytest.mark.parametrize(
    ("expected", "offer", "layout"),
    [
        ("purchase", {"purchase": "spot"}, {}),
        ("term", {"purchase": "reserved", "term_months": None}, {}),
        ("hosts", {"segment": "peer_host"}, {}),
        ("region", {"is_eu": None}, {}),
        ("price_state", {"price_state": "bid_floor"}, {}),
        ("age", {"price_date": NIGHT - timedelta(days=241)}, {}),
        ("availability", {"availability": "out_of_stock"}, {}),
        ("max_gpus", {"gpu_count": 9.0}, {}),
        ("unknown_bill", {"storage_usd_per_gb_month": None}, {}),
        ("leader", {"evidence": "second_hand"}, {}),
        ("leader", {"price_date": NIGHT - timedelta(days=121)}, {}),
        ("verdict", {}, {"verdict": "tight"}),
        ("users", {}, {"users_per_replica": 7.0}),
        ("count", {"offering_id": "another"}, {}),
    ],
)
def test_the_check_sees_a_broken_ranking(
    expected: str, offer: dict[str, Any], layout: dict[str, Any]
) -> None:
    """The ranking is made on a sound offer and checked against the same offer with one fact changed."""
    changes = DEMAND | {"region": "eu", "hosts_allowed": "no_peer", "storage_gb": 50.0}
    sound = offers({})
    result = ranked(sound, layouts(sound), changes)
    assert complaints(result, sound, layouts(sound), changes) == set()
    if expected == "count":
        broken = Ranked(result.ranking.clear(), result.exclusions)
        assert complaints(broken, sound, layouts(sound), changes) == {"count"}
        return
    changed = offers(offer)
    assert expected in complaints(result, changed, layouts(changed, layout), changes)


@KINDS
@FEW
@given(deck=decks(is_wild=True), seed=st.integers(0, 9))
def test_the_order_of_the_input_does_not_matter(changes: dict[str, Any], deck: Deck, seed: int) -> None:
    table, speeds = offers(*deck[0]), performance(deck, changes)
    first = ranked(table, speeds, changes)
    again = ranked(
        table.sample(fraction=1, shuffle=True, seed=seed),
        speeds.sample(fraction=1, shuffle=True, seed=seed),
        changes,
    )
    assert_frame_equal(first.ranking, again.ranking, check_exact=True)
    assert_frame_equal(first.exclusions, again.exclusions, check_exact=True)
    for frame in (first.ranking, first.exclusions):
        floats = frame.select(pl.selectors.float().is_finite().all())
        assert all(all(row) for row in floats.rows()), floats


def misplaced(table: pl.DataFrame) -> set[str]:
    """Returns what is wrong with the order and the bounds of a ranking of one job."""
    found = set()
    by_price = table.filter(~pl.col("is_headline"), pl.col("would_lead_if").fill_null("") == "")
    usd = [float(f"{one:.3g}") for one in by_price["objective_usd"]]
    if table["is_headline"].any() and usd != sorted(usd):
        found.add("order")
    for row in table.to_dicts():
        low, total, high = (row[f"total_{end}usd"] for end in ("low_", "", "high_"))
        slow, fast = row["objective_high_usd"], row["objective_low_usd"]
        wrong = {
            "total": not low - 1e-6 <= total <= high + 1e-6,
            "speed": not fast - 1e-6 <= row["objective_usd"]
            or (slow is not None and slow < row["objective_usd"] - 1e-6),
            "state": (row["bill_state"] == "exact") != (low == high),
            "survival": row["is_headline"] != (row["survives_slower"] is not None),
        }
        found |= {name for name, is_wrong in wrong.items() if is_wrong}
    return found


@KINDS
@FEW
@given(deck=decks(is_wild=True))
def test_the_ends_lie_around_the_bill_and_the_order_goes_by_the_objective(
    changes: dict[str, Any], deck: Deck
) -> None:
    rows = [row | {"evidence": "live"} for row in deck[0]]
    band = {"rate_low_per_hour": 0.8, "rate_high_per_hour": 1.2}
    speeds = [
        one | {name: one["rate_per_hour"] and one["rate_per_hour"] * factor for name, factor in band.items()}
        for one in deck[1]
    ]
    changes = changes | {"storage_gb": 50.0, "egress_gb_per_month": 30.0}
    assert misplaced(run((rows, speeds), changes).ranking) == set()


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("total_low_usd", 1e9, "total"),
        ("total_high_usd", 0.0, "total"),
        ("objective_low_usd", 1e9, "speed"),
        ("objective_high_usd", 0.0, "speed"),
        ("bill_state", "bounded", "state"),
        ("survives_slower", None, "survival"),
    ],
)
def test_the_check_sees_a_wrong_bound(column: str, value: object, expected: str) -> None:
    table = ranked(offers({}, {"price_usd_per_instance_hour": 4.0})).ranking
    assert misplaced(table) == set()
    dtype = table.schema[column]
    assert expected in misplaced(table.with_columns(pl.lit(value, dtype).alias(column)))
    three = ranked(offers({}, *({"price_usd_per_instance_hour": usd} for usd in (4.0, 5.0)))).ranking
    assert "order" in misplaced(pl.concat([three.head(1), three.tail(2).reverse()]))


TIGHTER: list[dict[str, Any]] = [
    {"max_gpus": 2.0},
    {"hosts_allowed": "no_peer"},
    {"region": "eu"},
    {"purchase_kinds": ["on_demand"]},
    {"worst_verdict_allowed": "fits"},
    {"max_billing_increment_s": 60.0},
    {"concurrent_users": 16.0},
]


@pytest.mark.parametrize("tighter", TIGHTER, ids=lambda one: next(iter(one)))
@FEW
@given(deck=decks(is_wild=True))
def test_tightening_never_adds_a_row_or_lowers_the_best_objective(
    tighter: dict[str, Any], deck: Deck
) -> None:
    loose = DEMAND | {"worst_verdict_allowed": "tight", "storage_gb": 50.0}
    before, after = run(deck, loose), run(deck, loose | tighter)
    assert set(ids(after)) <= set(ids(before))
    if after.ranking.height:
        assert best_usd(after) >= best_usd(before) * 0.99


@FEW
@given(deck=decks(is_wild=False))
def test_a_nearer_deadline_never_adds_a_row_or_lowers_the_best_objective(deck: Deck) -> None:
    rows = [row | {"billing_increment_s": 1, "storage_usd_per_gb_month": 0.0} for row in deck[0]]
    before = run((rows, deck[1]), JOB_CHANGES)
    after = run((rows, deck[1]), JOB_CHANGES | {"deadline_hours": 12.0})
    assert set(ids(after)) <= set(ids(before))
    if after.ranking.height:
        assert best_usd(after) >= best_usd(before) * 0.99


def best_usd(result: Ranked) -> float:
    return float(min(result.ranking["objective_usd"].to_list()))


@KINDS
@FEW
@given(deck=decks(is_wild=True), which=st.integers(0, 9), factor=st.sampled_from([0.3, 0.9, 1.1, 3.0]))
def test_a_lower_price_never_lowers_the_place(
    changes: dict[str, Any], deck: Deck, which: int, factor: float
) -> None:
    rows, speeds = deck
    i = which % len(rows)
    price = rows[i]["price_usd_per_instance_hour"]
    changed = [
        *rows[:i],
        rows[i] | {"price_usd_per_instance_hour": price and round(price * factor, 6)},
        *rows[i + 1 :],
    ]
    before, after = place_of(run(deck, changes)), place_of(run((changed, speeds), changes))
    assert set(before) == set(after)
    if f"o{i}" in before:
        moved = after[f"o{i}"] - before[f"o{i}"]
        assert moved <= 0 if factor < 1 else moved >= 0


def place_of(result: Ranked) -> dict[str, int]:
    return dict(result.ranking.select("offering_id", "rank").iter_rows())


def clear_order(result: Ranked) -> set[tuple[str, str]]:
    """Returns the pairs (better, worse) of offers whose objectives differ by more than what rounding hides."""
    rows = result.ranking.select("offering_id", "objective_usd").rows()
    return {
        (better, worse)
        for i, (better, usd) in enumerate(rows)
        for worse, more_usd in rows[i + 1 :]
        if max(usd, more_usd) > 1.011 * min(usd, more_usd)
    }


@KINDS
@FEW
@given(deck=decks(is_wild=False), factor=st.sampled_from([0.01, 0.37, 1.17, 7.5]))
def test_one_factor_on_all_prices_changes_no_order(
    changes: dict[str, Any], deck: Deck, factor: float
) -> None:
    """So does another currency."""
    rows, speeds = deck
    prices = ("price_usd_per_instance_hour", "storage_usd_per_gb_month", "egress_usd_per_gb")
    scaled = [row | {name: row[name] * factor for name in prices} for row in rows]
    changes = changes | {"storage_gb": 50.0, "egress_gb_per_month": 30.0}
    assert clear_order(run(deck, changes)) == clear_order(run((scaled, speeds), changes))


@FEW
@given(deck=decks(is_wild=False))
def test_the_unit_of_a_demand_changes_no_order_and_neither_do_the_hours(deck: Deck) -> None:
    monthly = DEMAND | {"egress_gb_per_month": 0.0}
    order = clear_order(run(deck, monthly))
    for changes in (
        {"objective": "usd_per_million_output_tokens"},
        {"objective": "usd_per_hour"},
        {"hours_per_month": 365.0, "work_quantity": 126_144_000 / 2},
    ):
        assert clear_order(run(deck, monthly | changes)) == order


def test_the_comparison_of_orders_sees_another_order() -> None:
    deck: Deck = ([{"price_usd_per_instance_hour": 2.0}, {"price_usd_per_instance_hour": 3.0}], [{}])
    swapped: Deck = ([{"price_usd_per_instance_hour": 3.0}, {"price_usd_per_instance_hour": 2.0}], [{}])
    assert clear_order(run(deck, DEMAND)) == {("o0", "o1")}
    assert clear_order(run(swapped, DEMAND)) == {("o1", "o0")}


@KINDS
@FEW
@given(deck=decks(is_wild=False))
def test_storage_and_egress_shift_only_those_who_charge_them(changes: dict[str, Any], deck: Deck) -> None:
    free = changes | {"storage_gb": 0.0, "egress_gb_per_month": 0.0}
    before = {row["offering_id"]: row for row in run(deck, free).ranking.to_dicts()}
    after = {
        row["offering_id"]: row
        for row in run(deck, changes | {"storage_gb": 50.0, "egress_gb_per_month": 30.0}).ranking.to_dicts()
    }
    for offering_id, row in after.items():
        offer = deck[0][int(offering_id[1:])]
        more = row["total_usd"] - before[offering_id]["total_usd"]
        assert (more > 1e-6) == (offer["storage_usd_per_gb_month"] > 0 or offer["egress_usd_per_gb"] > 0)
        allowance = offer["egress_free_gb_per_month"] or 0
        assert row["egress_usd"] == pytest.approx((30 - allowance) * offer["egress_usd_per_gb"])


@KINDS
@FEW
@given(deck=decks(is_wild=False), seed=st.integers(0, 99))
def test_who_is_first_depends_only_on_the_first(changes: dict[str, Any], deck: Deck, seed: int) -> None:
    rows, _speeds = deck
    table, layouts_of_deck = offers(*rows), performance(deck, changes)
    order = ids(ranked(table, layouts_of_deck, changes))
    if len(order) < 2:
        return

    def without(offering_id: str) -> list[str]:
        return ids(ranked(table.filter(pl.col("offering_id") != offering_id), layouts_of_deck, changes))

    assert without(random.Random(seed).choice(order[1:]))[0] == order[0]
    assert without(order[0]) == order[1:]


@KINDS
@FEW
@given(deck=decks(is_wild=True), which=st.integers(0, 9))
def test_a_duplicate_changes_nothing_but_the_count(changes: dict[str, Any], deck: Deck, which: int) -> None:
    rows, speeds = deck
    twin = rows[which % len(rows)] | {"offering_id": "zz"}
    before, after = run(deck, changes), run(([*rows, twin], speeds), changes)
    assert [one for one in ids(after) if one != "zz"] == ids(before)
    assert after.ranking.height + after.exclusions.height == len(rows) + 1
    assert headline(after) == headline(before)


def headline(result: Ranked) -> list[str]:
    return result.ranking.filter("is_headline")["offering_id"].to_list()


@FEW
@given(deck=decks(is_wild=False), changes=st.sampled_from([DEMAND, JOB_CHANGES]))
def test_the_break_even_price_makes_the_runner_up_tie(deck: Deck, changes: dict[str, Any]) -> None:
    rows, speeds = deck
    table = run(deck, changes).ranking
    if table.height < 2:
        return
    winner, runner_up = table.to_dicts()[:2]
    for mover, other in ((runner_up, winner), (winner, runner_up)):
        price = mover["break_even_usd_per_instance_hour"]
        if price is None:
            continue
        i = int(mover["offering_id"][1:])
        changed = [*rows[:i], rows[i] | {"price_usd_per_instance_hour": price}, *rows[i + 1 :]]
        after = {row["offering_id"]: row for row in run((changed, speeds), changes).ranking.to_dicts()}
        # another layout may do even better at that price
        assert after[mover["offering_id"]]["objective_usd"] <= other["objective_usd"] * 1.006
        if after[mover["offering_id"]]["gpus_per_replica"] == mover["gpus_per_replica"]:
            assert after[mover["offering_id"]]["objective_usd"] == pytest.approx(
                other["objective_usd"], rel=1e-3
            )


def test_a_faster_offer_of_a_demand_gains_nothing() -> None:
    deck = offers({}, {"gpu_candidates": ["A100-SXM4-80GB"]})
    speeds = layouts(deck, {"of": "o0", "speed": 25.0}, {"of": "o1", "speed": 250.0})
    table = ranked(deck, speeds).ranking
    assert table["objective_usd"].n_unique() == 1


@given(price=st.integers(20, 3000).map(lambda cents: cents / 100))
@FEW
def test_in_a_job_twice_the_speed_at_twice_the_price_is_the_same(price: float) -> None:
    twice = {"gpu_candidates": ["A100-SXM4-80GB"], "price_usd_per_instance_hour": 2 * price}
    deck = offers({"price_usd_per_instance_hour": price}, twice)
    speeds = layouts(
        deck, {"of": "o0", "rate_per_hour": 1e6}, {"of": "o1", "rate_per_hour": 2e6}, tier_id="batch-8b-fp8"
    )
    assert ranked(deck, speeds, JOB_CHANGES).ranking["objective_usd"].to_list() == pytest.approx(
        [price, price], rel=1e-3
    )


def test_a_job_shorter_than_the_start_up_goes_to_the_small_instance() -> None:
    node = {"gpu_count": 8.0, "link": "nvlink", "price_usd_per_instance_hour": 24.0}
    deck = offers({}, node)
    fast = {"of": "o1", "replicas_per_instance": 8.0, "rate_per_hour": 40e6}
    speeds = layouts(deck, {"of": "o0", "rate_per_hour": 40e6}, fast, tier_id="batch-8b-fp8")
    # half an hour of work on one GPU, 45 minutes to start
    assert ids(ranked(deck, speeds, JOB_CHANGES | {"start_minutes": 45.0})) == ["o0", "o1"]


def test_a_job_far_below_the_term_never_takes_the_commitment() -> None:
    reserved = {"purchase": "reserved", "term_months": 12, "price_usd_per_instance_hour": 1.0}
    deck = offers({}, reserved)
    changes = JOB_CHANGES | {"purchase_kinds": ["on_demand", "reserved"]}
    table = ranked(deck, layouts(deck, tier_id="batch-8b-fp8"), changes).ranking
    assert table["offering_id"].to_list() == ["o0", "o1"]
    assert table["commitment_usd"].to_list() == pytest.approx([0, 8760 - 20])
    # a service round the clock uses the whole term
    round_the_clock = ranked(deck, layouts(deck), DEMAND).ranking
    assert round_the_clock["offering_id"].to_list() == ["o1", "o0"]
    assert round_the_clock["commitment_usd"].to_list() == [0, 0]


@pytest.mark.parametrize(("used_hours", "first"), [(240.0, "o0"), (250.0, "o1")])
def test_reserved_wins_above_its_break_even_and_loses_below(used_hours: float, first: str) -> None:
    deck = offers({}, {"purchase": "reserved", "term_months": 12, "price_usd_per_instance_hour": 1.0})
    table = ranked(deck, changes=DEMAND | {"hours_per_month": used_hours, "work_quantity": 1e6}).ranking
    assert table["offering_id"][0] == first
    # a third of the hours of the term: 243 in a month
    (share,) = table.filter(offering_id="o1")["commitment_break_even_share"]
    assert share * 730 == pytest.approx(730 / 3)


@pytest.mark.parametrize(
    ("certain", "stronger"),
    [
        ("H100-PCIE-80GB", "H100-SXM5-80GB"),
        ("A100-SXM4-40GB", "A100-SXM4-80GB"),
        ("L4-24GB", "L40S-48GB"),
        ("RTXA6000-48GB", "RTX6000ADA-48GB"),
    ],
)
def test_a_stronger_candidate_never_improves_the_place_of_an_ambiguous_name(
    certain: str, stronger: str
) -> None:
    jobs = tier_jobs().filter(pl.col("tier_id").is_in(SOME_TIERS))
    others = [
        {
            "gpu_candidates": [gpu],
            "gpu_count": count,
            "link": "nvlink" if count > 1 else "none",
            "provider": "other",
        }
        | {"price_usd_per_instance_hour": count * usd}
        for gpu, usd in (
            ("H100-SXM5-80GB", 2.5),
            ("A100-SXM4-80GB", 1.4),
            ("L40S-48GB", 1.0),
            ("RTX4090-24GB", 0.4),
        )
        for count in (1.0, 8.0)
    ]

    def places(candidates: list[str]) -> dict[str, int]:
        table = offers(
            {"offering_id": "it", "gpu_candidates": candidates, "price_usd_per_instance_hour": 0.9}, *others
        )
        speeds = tier_performance(jobs, hardware(table))
        result = rank(table, jobs, speeds, night=NIGHT, has_live_price=True).ranking.filter(offering_id="it")
        return dict(result.select("tier_id", "rank").iter_rows())

    alone, ambiguous, strong = places([certain]), places([certain, stronger]), places([stronger])
    assert set(ambiguous) <= set(alone)
    assert all(ambiguous[tier] >= alone[tier] for tier in ambiguous)
    # the control: the stronger one by itself is better somewhere
    assert set(strong) - set(alone) or any(strong[tier] < alone[tier] for tier in alone)
