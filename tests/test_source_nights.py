"""One source through several nights with a warehouse and without a network: what is held, released, and to come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from conftest import NIGHT

from flows.acceptance import NO_REASON, Acceptance, released_sources
from flows.collect import Collected, waiting
from flows.known import Known, known_rates
from flows.night import _load_all, load_source
from scrapers.contract import Extra, Listing, PageCount, Payload, Record
from scrapers.registry import load_one
from transforms.offers.listings import listing_frame
from transforms.offers.schema import MARKET, RATE
from warehouse.connection import writing

NEXT = NIGHT + timedelta(days=1)
EIGHT_O_CLOCK = datetime(2026, 12, 1, 8, tzinfo=UTC)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with writing(tmp_path / "warehouse.duckdb") as connection:
        yield connection


def plan(number: int = 0, usd: str = "2", **changes: Any) -> Listing:
    known: dict[str, Any] = {
        "provider": "demo",
        "plan": f"plan-{number}",
        "gpu_text": "H100 SXM",
        "gpu_count": Decimal(1),
        "price": Decimal(usd),
        "currency": "USD",
        "price_per": "instance",
        "price_unit": "hour",
        "purchase": "on_demand",
        "place": f"plans[{number}]",
    }
    return Listing(**{**known, **changes})


def plans(usd: str, count: int = 10) -> list[Record]:
    return [plan(number, usd) for number in range(count)]


def load(
    warehouse: duckdb.DuckDBPyConnection,
    night: date,
    records: list[Record],
    *,
    accept: str | None = None,
    reason: str = NO_REASON,
    at: datetime = EIGHT_O_CLOCK,
    min_listings: int = 1,
    source_id: str = "demo",
) -> str:
    """Loads what a source gave in a night; returns the outcome."""
    fetched_at = datetime(night.year, night.month, night.day, 2, tzinfo=UTC)
    payload = Payload(source_id=source_id, part="prices", url="", fetched_at=fetched_at, body=b"")
    item = Collected(
        source_id=source_id,
        started_at=fetched_at,
        seconds=1.0,
        outcome="ok",
        records=listing_frame(records, payload),
    )
    known = Known(night, RATE.to_frame(), {source_id: "neocloud"}, {source_id: min_listings})
    acceptance = Acceptance((accept,), reason, at) if accept else None
    return load_source(warehouse, item, known, MARKET.to_frame(), acceptance)


def rows(warehouse: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return warehouse.execute(query).fetchall()


def lowest(warehouse: duckdb.DuckDBPyConnection) -> Decimal:
    found: Decimal = rows(warehouse, "select min(price_usd_per_gpu_hour) from offering")[0][0]
    return found


JUMP = "price_jump: offerings: 10 of 10 prices moved by more than 1.8 times"


def test_a_held_source_keeps_its_last_good_night(warehouse: duckdb.DuckDBPyConnection) -> None:
    assert load(warehouse, NIGHT, plans("2")) == "ok"
    assert load(warehouse, NEXT, plans("4")) == "held"
    assert lowest(warehouse) == 2
    assert rows(warehouse, "select reason from source_run where outcome = 'held'") == [
        ("price_jump: 10 of 10 prices moved by more than 1.8 times",)
    ]
    assert rows(warehouse, "select * from acceptance") == []


FOUND = "select night, rule, is_hard, subject, detail from finding order by all"


def test_what_was_found_stands_when_the_night_runs_again(warehouse: duckdb.DuckDBPyConnection) -> None:
    """The last good night of the second run is the night itself, against which no price has jumped."""
    load(warehouse, NIGHT, plans("2", 20))
    one_jumped = [plan(0, "4"), *plans("2", 20)[1:]]
    assert load(warehouse, NEXT, one_jumped) == "ok"
    first = rows(warehouse, FOUND)
    assert [row[1:3] for row in first] == [("price_jump", False)]
    assert load(warehouse, NEXT, one_jumped) == "unchanged"
    assert rows(warehouse, FOUND) == first
    assert rows(warehouse, "select findings from source_run order by night") == [(0,), (1,)]


def test_what_a_bad_run_of_the_night_found_does_not_stand(warehouse: duckdb.DuckDBPyConnection) -> None:
    assert load(warehouse, NIGHT, plans("2")) == "ok"
    assert load(warehouse, NIGHT, plans("4")) == "held"
    assert rows(warehouse, FOUND) != []
    assert load(warehouse, NIGHT, plans("2")) == "unchanged"
    assert rows(warehouse, FOUND) == []


def test_too_few_listings_and_a_short_page_hold_the_source(warehouse: duckdb.DuckDBPyConnection) -> None:
    assert load(warehouse, NIGHT, plans("2")) == "ok"
    assert load(warehouse, NEXT, [], min_listings=5) == "held"
    count = PageCount(list_name="plans", declared=12, rows=10, place="total")
    assert load(warehouse, NEXT, [*plans("2"), count]) == "held"
    assert rows(warehouse, "select night, rule, detail from finding where is_hard") == [
        (NEXT, "page_short", "10 rows on its pages, 12 declared")
    ]
    assert load(warehouse, NEXT, [*plans("2"), replace(count, declared=10)]) == "unchanged"
    assert rows(warehouse, "select count(*) from offering") == [(10,)]


def test_a_release_is_recorded_with_its_time_and_reason(warehouse: duckdb.DuckDBPyConnection) -> None:
    load(warehouse, NIGHT, plans("2"))
    assert load(warehouse, NEXT, plans("4")) == "held"
    assert load(warehouse, NEXT, plans("4"), accept="demo", reason="their blog says so") == "ok"
    assert lowest(warehouse) == 4
    assert rows(warehouse, "select * from acceptance") == [
        (NEXT, "demo", EIGHT_O_CLOCK, "their blog says so", [JUMP])
    ]
    assert rows(warehouse, "select outcome, reason from source_run where night = '2026-12-01'") == [
        ("ok", "accepted in spite of price_jump: 10 of 10 prices moved by more than 1.8 times")
    ]
    assert released_sources(warehouse, NEXT) == {"demo"}
    assert released_sources(warehouse, NIGHT) == frozenset()


def test_a_release_without_a_reason_says_that_there_was_none(warehouse: duckdb.DuckDBPyConnection) -> None:
    load(warehouse, NIGHT, plans("2"))
    load(warehouse, NEXT, plans("4"), accept="demo")
    assert rows(warehouse, "select reason from acceptance") == [("no reason given",)]


def test_only_a_held_source_is_recorded(warehouse: duckdb.DuckDBPyConnection) -> None:
    assert load(warehouse, NIGHT, plans("2"), accept="demo") == "ok"
    assert load(warehouse, NEXT, plans("2.1"), accept="demo") == "ok"
    assert rows(warehouse, "select * from acceptance") == []


def test_accepting_another_source_releases_nothing(warehouse: duckdb.DuckDBPyConnection) -> None:
    load(warehouse, NIGHT, plans("2"))
    assert load(warehouse, NEXT, plans("4"), accept="other") == "held"
    assert rows(warehouse, "select * from acceptance") == []


def test_a_release_stands_when_the_night_runs_again(warehouse: duckdb.DuckDBPyConnection) -> None:
    """A floor that is not met is found again in every run, with or without --accept."""
    load(warehouse, NIGHT, plans("2"), min_listings=5)
    few = plans("2", 3)
    assert load(warehouse, NEXT, few, min_listings=5, accept="demo", reason="plans ended") == "ok"
    first = rows(warehouse, "select * from acceptance")
    later = EIGHT_O_CLOCK + timedelta(hours=3)
    assert load(warehouse, NEXT, few, min_listings=5, accept="demo", reason="again", at=later) == "unchanged"
    assert load(warehouse, NEXT, few, min_listings=5) == "unchanged"
    assert rows(warehouse, "select * from acceptance") == first
    assert rows(warehouse, "select count(*) from offering") == [(3,)]


def test_a_release_covers_no_other_rule(warehouse: duckdb.DuckDBPyConnection) -> None:
    load(warehouse, NIGHT, plans("2"), min_listings=5)
    load(warehouse, NEXT, plans("2", 3), min_listings=5, accept="demo")
    assert load(warehouse, NEXT, plans("9", 3), min_listings=5) == "held"  # the prices jumped as well
    assert rows(warehouse, "select night from acceptance") == [(NEXT,)]


def test_a_release_of_a_change_covers_no_second_change(warehouse: duckdb.DuckDBPyConnection) -> None:
    """The words of both findings are the same: ten of ten prices moved."""
    load(warehouse, NIGHT, plans("2"))
    assert load(warehouse, NEXT, plans("4"), accept="demo") == "ok"
    assert load(warehouse, NEXT, plans("0.5")) == "held"
    assert load(warehouse, NEXT + timedelta(days=1), plans("0.5")) == "held"
    assert lowest(warehouse) == 4
    assert load(warehouse, NEXT + timedelta(days=1), plans("4")) == "unchanged"


def on_page(name: str, declared: int, on_page: int) -> PageCount:
    return PageCount(list_name=name, declared=declared, rows=on_page, place="total")


def test_a_release_of_one_list_covers_neither_another_nor_less_of_it(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    assert load(warehouse, NIGHT, [*plans("2"), on_page("a", 12, 10)], accept="demo") == "ok"
    assert load(warehouse, NIGHT, [*plans("2"), on_page("a", 12, 10)]) == "unchanged"
    assert load(warehouse, NIGHT, [*plans("2"), on_page("b", 1000, 10)]) == "held"
    assert load(warehouse, NIGHT, [*plans("2"), on_page("a", 1000, 10)]) == "held"
    assert load(warehouse, NIGHT, [*plans("2"), on_page("a: b", 12, 10)]) == "held"


def reserved_by_name(count: int, of: int) -> list[Record]:
    """Returns plans on demand of which so many are named as a commitment is."""
    return [plan(n, plan=f"plan-{n}" + (" reserved" if n < count else "")) for n in range(of)]


def test_a_release_of_what_is_so_every_night_stands_for_its_days(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    """`stands_days` of the rules is 30."""
    assert load(warehouse, NIGHT, reserved_by_name(6, 10)) == "held"
    assert load(warehouse, NIGHT, reserved_by_name(6, 10), accept="demo") == "ok"
    assert load(warehouse, NEXT, reserved_by_name(6, 10)) == "unchanged"
    assert load(warehouse, NIGHT + timedelta(days=2), reserved_by_name(6, 9)) == "ok"  # the share moves
    assert load(warehouse, NIGHT + timedelta(days=30), reserved_by_name(6, 9)) == "unchanged"
    assert load(warehouse, NIGHT + timedelta(days=31), reserved_by_name(6, 9)) == "held"
    assert rows(warehouse, "select night from acceptance") == [(NIGHT,)]
    assert load(warehouse, NIGHT + timedelta(days=31), reserved_by_name(6, 9), accept="demo") == "unchanged"
    assert load(warehouse, NIGHT + timedelta(days=32), reserved_by_name(6, 9)) == "unchanged"


def test_a_release_of_a_floor_stands_for_the_same_figure(warehouse: duckdb.DuckDBPyConnection) -> None:
    assert load(warehouse, NIGHT, plans("2", 3), min_listings=5, accept="demo") == "ok"
    assert load(warehouse, NEXT, plans("2", 3), min_listings=5) == "unchanged"
    assert load(warehouse, NEXT, plans("2", 2), min_listings=5) == "held"
    assert load(warehouse, NEXT, [], min_listings=5) == "held"


def test_rows_that_break_a_rule_of_the_warehouse_cannot_be_released(
    warehouse: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warehouse import checks
    from warehouse import load as loading

    def broken(connection: duckdb.DuckDBPyConnection, *, source_id: str | None = None) -> None:
        raise checks.BrokenCheckError("sql/checks/any.sql: 1 rows break the rule")

    load(warehouse, NIGHT, plans("2"))
    monkeypatch.setattr(loading, "refuse_broken", broken)
    assert load(warehouse, NEXT, plans("4"), accept="demo") == "held"
    assert lowest(warehouse) == 2
    assert rows(warehouse, "select * from acceptance") == []


# Promotions and prices to come


def test_a_promotion_keeps_both_prices(warehouse: duckdb.DuckDBPyConnection) -> None:
    load(warehouse, NIGHT, [plan(0, "1.49", regular_price=Decimal("1.99")), plan(1, "2")])
    assert rows(
        warehouse,
        "select plan, price_usd_per_gpu_hour, price_listed, regular_price_listed from offering order by plan",
    ) == [
        ("plan-0", Decimal("1.49"), Decimal("1.49"), Decimal("1.99")),
        ("plan-1", Decimal(2), Decimal(2), None),
    ]


PRESENT_AND_FUTURE = """
    select price_state, price_usd_per_gpu_hour, valid_from from offering order by price_usd_per_gpu_hour
"""


def test_a_future_price_stands_beside_the_present_one_and_takes_effect_on_its_day(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    present, future = plan(0, "2"), plan(0, "2.5", valid_from=NEXT, place="plans[0].from")
    assert load(warehouse, NIGHT, [present, future]) == "ok"
    assert rows(warehouse, PRESENT_AND_FUTURE) == [
        ("priced", Decimal(2), None),
        ("future", Decimal("2.5"), NEXT),
    ]
    before = rows(warehouse, "select offering_id from offering where price_state = 'priced'")
    assert load(warehouse, NEXT, [future]) == "ok"
    assert rows(warehouse, PRESENT_AND_FUTURE) == [("priced", Decimal("2.5"), NEXT)]
    assert rows(warehouse, "select offering_id from offering") == before  # the offer goes on


def test_on_its_day_a_future_price_goes_before_the_one_that_it_ends(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    """Where the list still has the old row, the price that took effect last is the one that is billed."""
    old, new = plan(0, "2"), plan(0, "2.5", valid_from=NEXT, place="plans[0].from")
    assert load(warehouse, NIGHT, [old, new]) == "ok"
    assert load(warehouse, NEXT, [old, new]) == "ok"
    assert rows(warehouse, PRESENT_AND_FUTURE) == [("priced", Decimal("2.5"), NEXT)]
    assert rows(warehouse, "select price, reason from reject") == [("2", "duplicate")]


def test_a_future_price_is_in_no_market(warehouse: duckdb.DuckDBPyConnection) -> None:
    from transforms.offers.market import market_of

    load(warehouse, NIGHT, [plan(0, "2"), plan(0, "99", valid_from=NEXT, place="plans[0].from")])
    offerings = pl.DataFrame(pl.from_arrow(warehouse.sql("from offering").to_arrow_table()))
    assert market_of(offerings)["usd_per_gpu_hour"].to_list() == [2.0]


def disk(usd: str, **changes: Any) -> Extra:
    known: dict[str, Any] = {
        "provider": "demo",
        "kind": "storage",
        "name": "standard disk",
        "price": Decimal(usd),
        "currency": "USD",
        "per": "gb_month",
        "region_text": None,
        "place": "disks[0]",
    }
    return Extra(**{**known, **changes})


STORAGE = "select distinct storage_usd_per_gb_month from offering where source_id = 'demo'"


@pytest.fixture
def two_sources(warehouse: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Two sources of a provider: `demo` sells machines, `demo_disks` tells what a disk costs."""
    warehouse.execute("insert into source (source_id, is_on) values ('demo_disks', true), ('demo', true)")
    return warehouse


def test_what_another_source_of_the_provider_said_of_disks_holds_until_it_says_else(
    two_sources: duckdb.DuckDBPyConnection,
) -> None:
    assert load(two_sources, NIGHT, [disk("0.08")], source_id="demo_disks", min_listings=0) == "ok"
    load(two_sources, NIGHT, plans("2"))
    assert rows(two_sources, STORAGE) == [(0.08,)]
    load(two_sources, NEXT, [], source_id="demo_disks", min_listings=0)
    load(two_sources, NEXT, plans("2"))
    assert rows(two_sources, STORAGE) == [(0.08,)]
    # its own is cheaper: any disk will do
    load(two_sources, NEXT + timedelta(days=1), [*plans("2"), disk("0.05")])
    assert rows(two_sources, STORAGE) == [(0.05,)]
    two_sources.execute("update source set is_on = false where source_id = 'demo'")
    load(two_sources, NEXT + timedelta(days=2), plans("2"))
    assert rows(two_sources, STORAGE) == [(0.08,)]


def test_what_a_source_says_of_disks_holds_in_the_same_night_for_one_that_comes_before_it(
    two_sources: duckdb.DuckDBPyConnection,
) -> None:
    def collected(source_id: str, records: list[Record]) -> Collected:
        payload = Payload(source_id=source_id, part="p", url="", fetched_at=EIGHT_O_CLOCK, body=b"")
        made = listing_frame(records, payload)
        return Collected(
            source_id=source_id, started_at=EIGHT_O_CLOCK, seconds=1.0, outcome="ok", records=made
        )

    both = [collected("demo", plans("2")), collected("demo_disks", [disk("0.08")])]
    for outcomes in ({"demo": "ok", "demo_disks": "ok"}, {"demo": "unchanged", "demo_disks": "unchanged"}):
        assert _load_all(two_sources, both, Known(NIGHT, RATE.to_frame(), {}, {}), None) == outcomes
        assert rows(two_sources, STORAGE) == [(0.08,)]


def test_what_a_held_source_bills_takes_no_effect(two_sources: duckdb.DuckDBPyConnection) -> None:
    assert load(two_sources, NIGHT, [*plans("2"), disk("0.08")]) == "ok"
    assert load(two_sources, NEXT, [*plans("4"), disk("8")]) == "held"
    assert rows(two_sources, "select night, price from extra") == [(NIGHT, "0.08")]
    assert load(two_sources, NEXT, plans("2")) == "unchanged"  # the disk of its last good night
    # the control: a person releases both
    assert load(two_sources, NEXT, [*plans("4"), disk("8")], accept="demo") == "ok"
    assert rows(two_sources, "select night, price from extra") == [(NEXT, "8")]
    assert rows(two_sources, STORAGE) == [(8.0,)]


def test_what_was_said_of_disks_ages_as_offers_do(two_sources: duckdb.DuckDBPyConnection) -> None:
    """A last good night stands in for 45 days."""
    load(two_sources, NIGHT, [disk("0.08")], source_id="demo_disks", min_listings=0)
    load(two_sources, NIGHT + timedelta(days=45), plans("2"))
    assert rows(two_sources, STORAGE) == [(0.08,)]
    load(two_sources, NIGHT + timedelta(days=46), plans("2"))
    assert rows(two_sources, STORAGE) == [(None,)]


def test_a_figure_that_cannot_be_held_fails_its_source_and_a_fault_of_ours_does_not(
    warehouse: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(error: Exception) -> str:
        def normalise(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("flows.night.normalise", normalise)
        return load(warehouse, NEXT, plans("2"))

    assert load(warehouse, NIGHT, plans("2")) == "ok"
    for error in (pl.exceptions.ComputeError, pl.exceptions.InvalidOperationError):
        assert breaks(error("conversion from str to decimal failed")) == "stale"
        assert rows(warehouse, "select reason from source_run where night = '2026-12-01'") == [
            ("a figure that cannot be held: conversion from str to decimal failed",)
        ]
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        breaks(pl.exceptions.ColumnNotFoundError("gpu_cuont"))


def test_a_figure_that_no_column_of_the_warehouse_holds_fails_its_source(
    warehouse: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warehouse import load as loading

    def overflow(connection: duckdb.DuckDBPyConnection, *_: object) -> None:
        connection.execute("select cast(300 as tinyint)")

    def misspelled(connection: duckdb.DuckDBPyConnection, *_: object) -> None:
        connection.execute("select gpu_cuont from offering")

    assert load(warehouse, NIGHT, plans("2")) == "ok"
    monkeypatch.setattr(loading, "_replace_snapshot", overflow)
    assert load(warehouse, NEXT, plans("2.1")) == "stale"
    assert lowest(warehouse) == 2
    monkeypatch.setattr(loading, "_replace_snapshot", misspelled)
    with pytest.raises(duckdb.BinderException):
        load(warehouse, NEXT, plans("2.1"))


def test_of_two_rates_of_one_day_the_same_is_taken_each_time(warehouse: duckdb.DuckDBPyConnection) -> None:
    for first, second in ((("b", 2.0), ("a", 1.0)), (("a", 1.0), ("b", 2.0))):
        warehouse.execute("delete from fx_rate")
        for source_id, rate in (first, second):
            warehouse.execute(
                "insert into fx_rate by name select ? as source_id, 'EUR' as base, 'USD' as quote, ? as rate,"
                " date '2026-11-30' as rate_date",
                [source_id, rate],
            )
        assert known_rates(warehouse, NIGHT)["rate"].to_list() == [1.0]


def test_a_price_takes_effect_on_its_day_though_the_source_is_not_heard(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    """3.00 now; 2.50 from the 3rd and 2.00 from the 7th of December are announced. The source is heard once."""
    warehouse.execute("insert into source (source_id, is_on, basis) values ('demo', true, 'own')")
    warehouse.execute("insert into assumption (assumption_id, value) values ('last_good_stands_in_days', 45)")
    later = [plan(0, usd, valid_from=date(2026, 12, day)) for usd, day in (("2.50", 3), ("2.00", 7))]
    assert load(warehouse, NEXT, [plan(0, "3.00"), *later, plan(1, "9.00")]) == "ok"
    query = """
        select price_state, price_usd_per_instance_hour from current_offering
        where plan = 'plan-0' order by price_state, valid_from nulls first
    """
    expected = {
        1: [("future", 2.5), ("future", 2.0), ("priced", 3.0)],
        2: [("future", 2.5), ("future", 2.0), ("priced", 3.0)],
        3: [("future", 2.0), ("priced", 2.5)],
        6: [("future", 2.0), ("priced", 2.5)],
        7: [("priced", 2.0)],
        9: [("priced", 2.0)],
    }
    for day, states in expected.items():
        warehouse.execute(
            "insert into source_run (night, source_id) values (?, 'another')", [date(2026, 12, day)]
        )
        found = [(state, float(price)) for state, price in rows(warehouse, query)]
        assert sorted(found) == sorted(states), day
        other = rows(warehouse, "select price_state from current_offering where plan = 'plan-1'")
        assert other == [("priced",)]  # control


def test_a_source_of_a_longer_cadence_is_asked_when_it_is_due() -> None:
    weekly, nightly = load_one("aws_price_list").SOURCE, load_one("aws").SOURCE
    assert weekly.cadence == timedelta(days=7)
    for days in range(7):
        item = waiting(weekly, NIGHT, NIGHT + timedelta(days=days), at=EIGHT_O_CLOCK)
        assert item is not None
        assert (item.outcome, item.reason) == ("waiting", "asked every 7 days; next on 2026-12-07")
    assert waiting(weekly, NIGHT, NIGHT + timedelta(days=7), at=EIGHT_O_CLOCK) is None
    # the same night may run again
    assert waiting(nightly, NIGHT, NIGHT, at=EIGHT_O_CLOCK) is None
