"""What looks wrong is found, what looks right is not, and only what should hold a source does."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl

from transforms.offers.quality import outside_market_band, quality
from transforms.offers.schema import FINDING, OFFERING, REJECT

NO_REJECTS = REJECT.to_frame()
NOTHING = OFFERING.to_frame()


def offer(number: int, **changes: Any) -> dict[str, Any]:
    """Returns one offering of one L4 for 1 USD an hour, with changes."""
    row: dict[str, Any] = dict.fromkeys(OFFERING)
    row |= {
        "offering_id": f"{number:016x}",
        "source_id": "demo",
        "provider": "demo",
        "segment": "neocloud",
        "plan": f"plan-{number}",
        "purchase": "on_demand",
        "gpu_text": "L4",
        "gpu_key": "L4-24GB",
        "gpu_candidates": ["L4-24GB"],
        "gpu_count": 1.0,
        "price_state": "priced",
        "price_listed": Decimal(1),
        "currency": "USD",
        "price_usd_per_gpu_hour": Decimal(1),
        "price_usd_per_instance_hour": Decimal(1),
        "usd_per_currency": 1.0,
        "price_date": date(2026, 11, 30),
    }
    return row | changes


def priced(number: int, usd: str, **changes: Any) -> dict[str, Any]:
    price = Decimal(usd)
    return offer(
        number,
        price_listed=price,
        price_usd_per_gpu_hour=price,
        price_usd_per_instance_hour=price,
        **changes,
    )


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=OFFERING)


def found(
    now: pl.DataFrame, before: pl.DataFrame = NOTHING, rejects: pl.DataFrame = NO_REJECTS
) -> pl.DataFrame:
    findings = quality(now, rejects, before, source_id="demo")
    assert findings.schema == FINDING
    return findings


def rules(now: pl.DataFrame, before: pl.DataFrame = NOTHING) -> list[tuple[str, bool]]:
    return found(now, before).select("rule", "is_hard").rows()


def night(count: int) -> pl.DataFrame:
    return frame(*(offer(number) for number in range(count)))


def test_a_quiet_night_has_no_findings() -> None:
    assert rules(night(20), night(20)) == []
    assert rules(night(20)) == []
    assert rules(NOTHING) == []


def test_half_the_rows_gone_holds_the_source() -> None:
    assert rules(night(10), night(20)) == [("count_drop", True)]
    assert rules(NOTHING, night(20)) == [("count_drop", True)]


def test_a_few_rows_gone_or_come_do_not() -> None:
    assert rules(night(12), night(20)) == []
    assert rules(night(40), night(20)) == []


def test_one_price_that_doubled_among_many_is_soft() -> None:
    before = frame(*(priced(number, "1") for number in range(20)))
    now = frame(priced(0, "2"), *(priced(number, "1") for number in range(1, 20)))
    findings = found(now, before)
    assert findings.select("rule", "is_hard").rows() == [("price_jump", False)]
    assert findings["subject"].to_list() == ["demo: plan-0 @ no region (on_demand)"]
    assert findings["detail"].to_list() == ["1.000000 to 2.000000 USD per hour"]


def test_many_prices_that_doubled_or_halved_hold_the_source() -> None:
    before = frame(*(priced(number, "1") for number in range(20)))
    for price in ("2", "0.5"):
        now = frame(*(priced(number, price if number < 2 else "1") for number in range(20)))
        assert sorted(rules(now, before)) == [
            ("price_jump", False),
            ("price_jump", False),
            ("price_jump", True),
        ]


def test_one_price_that_doubled_among_few_holds_the_source() -> None:
    before = frame(*(priced(number, "1") for number in range(9)))
    now = frame(priced(0, "2"), *(priced(number, "1") for number in range(1, 9)))
    assert sorted(rules(now, before)) == [("price_jump", False), ("price_jump", True)]


def test_a_price_that_moved_little_is_no_jump() -> None:
    before = frame(*(priced(number, "1") for number in range(5)))
    assert rules(frame(*(priced(number, "1.7") for number in range(5))), before) == []
    assert rules(frame(*(priced(number, "0.6") for number in range(5))), before) == []


def test_spot_prices_are_made_to_move_and_never_hold() -> None:
    before = frame(*(priced(number, "1", purchase="spot") for number in range(5)))
    now = frame(*(priced(number, "3", purchase="spot") for number in range(5)))
    assert set(rules(now, before)) == {("price_jump", False)}


def test_a_move_of_the_exchange_rate_is_no_jump() -> None:
    before = frame(*(priced(number, "1", currency="TRY", usd_per_currency=0.1) for number in range(5)))
    now = frame(*(priced(number, "0.5", currency="TRY", usd_per_currency=0.05) for number in range(5)))
    assert rules(now, before) == []


def test_a_price_that_went_missing_is_no_jump() -> None:
    gone = offer(0, price_usd_per_instance_hour=None, price_usd_per_gpu_hour=None, price_gap="contact sales")
    assert rules(frame(gone), frame(offer(0))) == []


def test_another_currency_holds_the_source() -> None:
    findings = found(frame(offer(0, currency="EUR"), offer(1)), night(2))
    assert findings.select("rule", "is_hard", "detail").rows() == [
        ("currency_change", True, "1 offerings, such as from USD to EUR")
    ]


def test_unknown_gpu_names_are_listed_once_each() -> None:
    unknown: dict[str, Any] = {"gpu_key": None, "gpu_candidates": [], "gpu_text": "HyperChip"}
    findings = found(frame(offer(0, **unknown), offer(1, **unknown), offer(2)))
    assert findings.rows() == [
        ("demo", "unmapped_gpu", False, "demo: HyperChip", "2 offerings, such as plan-0")
    ]


def test_an_ambiguous_gpu_is_not_unmapped() -> None:
    assert rules(frame(offer(0, gpu_key=None, gpu_candidates=["H100-PCIE-80GB", "H100-SXM5-80GB"]))) == []


def test_duplicates_are_reported_in_one_line() -> None:
    row = dict.fromkeys(REJECT) | {"source_id": "demo", "plan": "p1", "reason": "duplicate"}
    rejects = pl.DataFrame([row, row, row | {"reason": "price_zero"}], schema=REJECT)
    assert found(night(1), rejects=rejects).rows() == [
        ("demo", "key_duplicates", False, "listings", "2 listings say the same, such as p1")
    ]


def test_eight_for_the_price_of_one() -> None:
    eight = priced(8, "1", gpu_count=8.0)
    assert rules(frame(offer(0), eight)) == [("eight_gpu_price_equals_one", False)]
    assert rules(frame(offer(0), priced(8, "7", gpu_count=8.0))) == []
    assert rules(frame(offer(0, region_text="elsewhere"), eight)) == []


def test_a_price_that_is_the_count() -> None:
    assert rules(frame(priced(8, "8", gpu_count=8.0))) == [("price_equals_count", False)]
    assert rules(frame(priced(1, "1", gpu_count=1.0))) == []


def market(odd: str, others: int = 6, **changes: Any) -> pl.DataFrame:
    return frame(priced(99, odd, **changes), *(priced(number, "1") for number in range(others)))


def test_a_price_far_from_its_market_cannot_lead() -> None:
    cheap = market("0.1")
    assert rules(cheap) == [("price_outside_market_band", False)]
    assert outside_market_band(cheap) == {f"{99:016x}"}
    assert outside_market_band(market("5.5")) == {f"{99:016x}"}


def test_a_price_near_its_market_can_lead() -> None:
    for price in ("0.2", "0.5", "5"):
        assert outside_market_band(market(price)) == frozenset()


def test_a_few_offers_make_no_market() -> None:
    assert outside_market_band(market("0.1", others=4)) == frozenset()
    assert outside_market_band(market("0.1", others=5)) == {f"{99:016x}"}


def test_markets_are_not_mixed() -> None:
    others: list[dict[str, Any]] = [{"segment": "peer_host"}, {"purchase": "spot"}, {"gpu_key": "T4-16GB"}]
    for other in others:
        assert outside_market_band(market("0.1", **other)) == frozenset()


def test_what_has_no_price_of_its_own_is_in_no_market() -> None:
    others: list[dict[str, Any]] = [
        {"price_state": "bid_floor"},
        {"price_state": "from_price"},
        {"gpu_key": None},
    ]
    for other in others:
        assert outside_market_band(market("0.1", **other)) == frozenset()
    assert outside_market_band(NOTHING) == frozenset()
