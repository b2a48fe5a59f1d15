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
from flows.known import Known, known_extras, write_extras
from flows.night import load_source
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
) -> str:
    """Loads what the source `demo` gave in a night; returns the outcome."""
    fetched_at = datetime(night.year, night.month, night.day, 2, tzinfo=UTC)
    payload = Payload(source_id="demo", part="prices", url="", fetched_at=fetched_at, body=b"")
    item = Collected(
        source_id="demo",
        started_at=fetched_at,
        seconds=1.0,
        outcome="ok",
        records=listing_frame(records, payload),
    )
    write_extras(warehouse, [item], night)
    known = Known(
        night, RATE.to_frame(), known_extras(warehouse), {"demo": "neocloud"}, {"demo": min_listings}
    )
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


def test_a_release_covers_neither_other_rules_nor_other_nights(warehouse: duckdb.DuckDBPyConnection) -> None:
    load(warehouse, NIGHT, plans("2"), min_listings=5)
    load(warehouse, NEXT, plans("2", 3), min_listings=5, accept="demo")
    assert load(warehouse, NEXT, plans("9", 3), min_listings=5) == "held"  # the prices jumped as well
    assert load(warehouse, NEXT + timedelta(days=1), plans("2", 3), min_listings=5) == "held"
    assert rows(warehouse, "select night from acceptance") == [(NEXT,)]


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


def test_what_another_source_of_the_provider_said_of_disks_holds_until_it_says_else(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    """Two sources of a provider: one sells machines, the other told in an earlier night what a disk costs."""
    other = Collected(
        source_id="demo_disks",
        started_at=EIGHT_O_CLOCK,
        seconds=1.0,
        outcome="ok",
        records=listing_frame(
            [disk("0.08")],
            Payload(source_id="demo_disks", part="d", url="", fetched_at=EIGHT_O_CLOCK, body=b""),
        ),
    )
    warehouse.execute("insert into source (source_id, is_on) values ('demo_disks', true), ('demo', true)")
    write_extras(warehouse, [other], NIGHT)
    query = "select distinct storage_usd_per_gb_month from offering where source_id = 'demo'"
    load(warehouse, NIGHT, plans("2"))
    assert rows(warehouse, query) == [(0.08,)]
    write_extras(
        warehouse,
        [
            replace(
                other,
                records=listing_frame(
                    [], Payload(source_id="demo_disks", part="d", url="", fetched_at=EIGHT_O_CLOCK, body=b"")
                ),
            )
        ],
        NEXT,
    )
    load(warehouse, NEXT, plans("2"))
    assert rows(warehouse, query) == [(0.08,)]
    load(
        warehouse, NEXT + timedelta(days=1), [*plans("2"), disk("0.05")]
    )  # its own is cheaper: any disk will do
    assert rows(warehouse, query) == [(0.05,)]
    warehouse.execute("update source set is_on = false where source_id = 'demo'")
    load(warehouse, NEXT + timedelta(days=2), plans("2"))
    assert rows(warehouse, query) == [(0.08,)]


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
