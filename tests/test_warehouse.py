"""Loading, history, checks and publishing, on small frames with answers worked out by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import duckdb
import polars as pl
import pytest
from conftest import MIDNIGHT, NIGHT
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from transforms.offers.schema import FINDING, LISTING, OFFERING, REJECT
from transforms.reference.tables import read
from transforms.workloads.schema import EXCLUSION, JOB, RANKING
from warehouse import reference
from warehouse.checks import run_checks
from warehouse.comparison import compare_sources
from warehouse.connection import WarehouseError, migrate, reading, sql_files, storage_version, writing
from warehouse.load import CaptureRow, SourceNight, content_digest, frame, last_good_offerings, load
from warehouse.publish import publish, rollback
from warehouse.query import ask


def offerings(*rows: dict[str, object], source_id: str = "alpha") -> pl.DataFrame:
    """Returns OFFERING rows with plain defaults for what a test does not name."""
    default: dict[str, object] = {
        "source_id": source_id,
        "provider": source_id,
        "segment": "neocloud",
        "plan": "one",
        "purchase": "on_demand",
        "gpu_text": "H100 SXM",
        "gpu_key": "H100-SXM5-80GB",
        "gpu_candidates": ["H100-SXM5-80GB"],
        "gpu_count": 1.0,
        "price_state": "priced",
        "price_listed": 2.0,
        "currency": "USD",
        "price_usd_per_gpu_hour": 2.0,
        "price_usd_per_instance_hour": 2.0,
        "availability": "in_stock",
        "evidence": "live",
        "price_date": NIGHT,
        "fetched_at": MIDNIGHT,
    }
    names = list(OFFERING)
    filled = [{name: {**default, **row}.get(name) for name in names} for row in rows]
    return pl.DataFrame(
        {
            name: pl.Series(name, [row[name] for row in filled], dtype=OFFERING[name], strict=False)
            for name in names
        }
    )


def source_night(night: date = NIGHT, *rows: dict[str, object], source_id: str = "alpha") -> SourceNight:
    made = offerings(*rows, source_id=source_id)
    return SourceNight(
        source_id=source_id,
        night=night,
        started_at=MIDNIGHT,
        outcome="ok",
        reason=None,
        seconds=1.5,
        listings=pl.DataFrame({name: [None] * made.height for name in LISTING}, schema=LISTING).with_columns(
            source_id=pl.lit(source_id)
        ),
        offerings=made,
    )


def describe(
    connection: duckdb.DuckDBPyConnection, *source_ids: str, is_on: bool = True, **basis: str
) -> None:
    """Puts sources and the assumptions into the warehouse, as the night does; each is own but for `basis`."""
    columns = frame(connection, "select * from source").columns
    known = pl.DataFrame(
        {
            "source_id": source_ids,
            "name": source_ids,
            "kind": ["module"] * len(source_ids),
            "basis": [basis.get(name, "bundled" if name == "list_prices" else "own") for name in source_ids],
            "is_on": [is_on] * len(source_ids),
        }
    )
    full = known.with_columns(
        pl.lit(None, pl.String).alias(name) for name in columns if name not in known.columns
    )
    reference.write(connection, {"source": full, "assumption": read("assumption")})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "warehouse.duckdb"


def history(connection: duckdb.DuckDBPyConnection, source_id: str = "alpha") -> list[tuple[object, ...]]:
    return connection.execute(
        "select offering_id, from_date, to_date, cast(price_listed as double) from price_history"
        " where source_id = ? order by offering_id, from_date",
        [source_id],
    ).fetchall()


def test_tables_have_the_columns_of_the_frames(path: Path) -> None:
    expected = {
        "listing": {"night", *LISTING},
        "reject": {"night", *REJECT},
        "finding": {"night", *FINDING},
        "offering": {"night", *OFFERING},
        "ranking": set(RANKING),
        "exclusion": set(EXCLUSION),
        "accuracy_score": set(read("accuracy_score").columns),
        "tier": {"group_name" if name == "group" else name for name in JOB},
    }
    with writing(path) as connection:
        for table, columns in expected.items():
            assert set(frame(connection, f"select * from {table}").columns) == columns, table


def uncommented(connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return connection.execute(
        "select table_name, column_name from duckdb_columns()"
        " where database_name = 'warehouse' and not internal and comment is null and table_name <> 'schema_file'"
    ).fetchall()


def test_every_column_has_a_comment(path: Path) -> None:
    with writing(path) as connection:
        assert uncommented(connection) == []
        connection.execute("create table bare (x integer)")
        assert uncommented(connection) == [("bare", "x")]


def test_a_column_of_a_view_means_what_it_means_in_what_the_view_reads(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several tables have a `source_id`, a `reason`, a `part`, a `region_text`; each view has its own of them."""
    expected = {
        ("source_health", "source_id"): "source that was collected; a module in scrapers/providers",
        ("source_health", "night"): "logical date of the night, UTC",
        (
            "source_health",
            "reason",
        ): "why the newest outcome is not ok, why the source is off, or why there is nothing to ask",
        ("source_health", "name"): "name for people",
        ("unmapped_gpu", "part"): "name of the answer within the source",
        ("current_offering", "part"): "name of the answer within the source",
        ("current_offering", "region_text"): "region as the source wrote it",
        ("offer_in_brief", "provider"): "provider id",
        ("tier_exclusion", "reason"): "short code of the reason",
        ("runner_up", "plan"): "instance type or plan as the provider names it",
    }
    query = "select table_name, column_name, comment from duckdb_columns() where database_name = 'warehouse'"
    with writing(path) as connection:
        told = {(view, column): text for view, column, text in connection.execute(query).fetchall()}
        assert {key: told[key] for key in expected} == expected

    def view(select: str, reads: str) -> list[tuple[str, str]]:
        text = f"-- Reads: {reads}. Read by: users.\ncreate or replace view odd as {select}"
        return [*sql_files("views"), ("odd", text)]

    for select, reads, meanings in (
        ("select night from market", "market", None),
        ("select night from market", "market, reject", 2),  # of this night, of the night held against it
        ("select 1 as colour from market", "market", 0),
        ("select night from market", "gpu", 0),  # what it reads is not what it says
    ):
        monkeypatch.setattr("warehouse.connection.sql_files", sql_with(view(select, reads)))
        if meanings is None:
            with writing(path) as connection:
                told = {(name, column): text for name, column, text in connection.execute(query).fetchall()}
            assert told["odd", "night"] == "logical date of the night that is held against it, UTC"
            continue
        with pytest.raises(WarehouseError, match=rf"odd\.sql: \w+ has {meanings} meanings"), writing(path):
            pass


def sql_with(views: list[tuple[str, str]]) -> Callable[[str], list[tuple[str, str]]]:
    """Returns `sql_files` with other views."""
    return lambda folder: views if folder == "views" else sql_files(folder)


def read_by(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Returns the views that read each table or view, by what stands behind `from` and `join`."""
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, text in files.items():
        query = re.sub(r"--.*", "", text)
        for other in re.findall(r"(?<!distinct )\b(?:from|join)\s+(\w+)\b(?!\.)", query):
            if other in files and other != name:
                found[other].add(name)
    return found


def wrong_headers(files: Mapping[str, str]) -> set[str]:
    """Returns the tables and views whose header names other views than those that read it, or that it reads."""
    wrong = set()
    readers = read_by(files)
    for name, text in files.items():
        line = next(line for line in text.splitlines() if line.startswith("-- Reads: "))
        reads, by = (set(re.split(r", ", part)) for part in re.findall(r"(?:Reads|Read by): (.*?)\.", line))
        if reads - {"nothing"} != {other for other, views in readers.items() if name in views}:
            wrong.add(name)
        if {other for other in by if "create or replace view" in files.get(other, "")} != readers[name]:
            wrong.add(name)
    return wrong


def test_headers_name_the_views_that_read_and_what_they_read() -> None:
    tables = {name.split("_", 1)[1]: text for name, text in sql_files("schema")}
    files = {**tables, **dict(sql_files("views"))}
    assert wrong_headers(files) == set()
    unsaid = files["source_coverage"].replace("Reads: listing, ", "Reads: ")
    assert wrong_headers({**files, "source_coverage": unsaid}) == {"source_coverage"}  # control
    forgotten = files["source_run"].replace("stock_interval, ", "")
    assert wrong_headers({**files, "source_run": forgotten}) == {"source_run"}  # control


def test_every_sql_file_has_its_header_and_runs(path: Path) -> None:
    with writing(path) as connection:
        for folder in ("schema", "views"):
            for name, text in sql_files(folder):
                lines = text.splitlines()
                assert lines[0].startswith("-- "), f"{folder}/{name}"
                assert [line[:9] for line in lines[1:4]] == ["-- Grain:", "-- Units:", "-- Reads:"], (
                    f"{folder}/{name}"
                )
        for folder in ("checks", "examples"):
            for name, text in sql_files(folder):
                assert text.startswith(f"-- {name}: "), f"{folder}/{name}"
                connection.execute(text)


def test_file_opens_in_duckdb_1(path: Path) -> None:
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
    assert (
        storage_version(path) == 64
    )  # 64 is DuckDB 0.9 to 1.1; a later reader opens it, see duckdb.org/docs/internals/storage
    other = path.with_name("new.duckdb")
    duckdb.connect(str(other)).execute("create table t as select 1 as x").close()
    assert storage_version(other) > 64


def test_loading_twice_changes_nothing(path: Path) -> None:
    result = source_night(NIGHT, {"offering_id": "a"}, {"offering_id": "b", "price_listed": 3.0})
    with writing(path) as connection:
        assert load(connection, result) == "ok"
        tables = ("offering", "price_history", "availability_history", "reject", "listing", "capture")
        before = [frame(connection, f"select * from {table} order by all") for table in tables]
        assert load(connection, replace(result, seconds=9.0)) == "unchanged"
        after = [frame(connection, f"select * from {table} order by all") for table in tables]
        assert all(one.equals(two) for one, two in zip(before, after, strict=True))
        assert connection.execute("select seconds from source_run").fetchall() == [(9.0,)]


def test_history_is_half_open_and_a_night_can_be_repeated(path: Path) -> None:
    second, third = NIGHT + timedelta(days=1), NIGHT + timedelta(days=2)
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}, {"offering_id": "b"}))
        load(connection, source_night(second, {"offering_id": "a", "price_listed": 4.0}))
        wanted = [("a", NIGHT, second, 2.0), ("a", second, None, 4.0), ("b", NIGHT, second, 2.0)]
        assert history(connection) == wanted
        # The same night again with another price replaces what the night had done.
        load(
            connection, source_night(second, {"offering_id": "a", "price_listed": 5.0}, {"offering_id": "b"})
        )
        assert history(connection) == [
            ("a", NIGHT, second, 2.0),
            ("a", second, None, 5.0),
            ("b", NIGHT, None, 2.0),
        ]
        load(connection, source_night(third, {"offering_id": "a", "price_listed": 5.0}, {"offering_id": "b"}))
        assert history(connection) == [
            ("a", NIGHT, second, 2.0),
            ("a", second, None, 5.0),
            ("b", NIGHT, None, 2.0),
        ]
        assert run_checks(connection) == []


def test_an_earlier_night_is_refused(path: Path) -> None:
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
        with pytest.raises(WarehouseError, match="2026-11-29 lies before 2026-11-30"):
            load(connection, source_night(NIGHT - timedelta(days=1), {"offering_id": "a"}))
        assert history(connection) == [("a", NIGHT, None, 2.0)]


@cache
def in_memory() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("attach ':memory:' as warehouse")
    connection.execute("use warehouse")
    migrate(connection)
    return connection


def emptied() -> duckdb.DuckDBPyConnection:
    """Returns the warehouse in memory, without nights."""
    connection = in_memory()
    for table in ("source_run", "offering", "listing", "price_history", "availability_history"):
        connection.execute(f"delete from {table}")
    return connection


@hypothesis_settings(max_examples=15)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abc"), st.sampled_from([1.0, 2.0, 3.0]), max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_history_rebuilds_each_night(nights: list[dict[str, float]]) -> None:
    connection = emptied()
    days = [NIGHT + timedelta(days=number) for number in range(len(nights))]
    for day, prices in zip(days, nights, strict=True):
        rows = [{"offering_id": key, "price_listed": price} for key, price in prices.items()]
        load(connection, source_night(day, *rows))
    for day, prices in zip(days, nights, strict=True):
        rebuilt = connection.execute(
            "select offering_id, cast(price_listed as double) from price_history"
            " where from_date <= $day and (to_date is null or to_date > $day)",
            {"day": day},
        ).fetchall()
        assert dict(rebuilt) == prices
    assert [check.name for check in run_checks(connection) if check.name.startswith("history")] == []


def test_a_failed_source_keeps_its_last_good_night(path: Path) -> None:
    second = NIGHT + timedelta(days=1)
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
        failed = SourceNight(
            source_id="alpha", night=second, started_at=MIDNIGHT, outcome="stale", reason="503", seconds=0.1
        )
        assert load(connection, failed) == "stale"
        assert last_good_offerings(connection, "alpha")["offering_id"].to_list() == ["a"]
        row = connection.execute("select outcome, reason, last_good_night from source_health").fetchall()
        assert row == []  # the source is not described yet
        runs = connection.execute(
            "select night, outcome, last_good_night from source_run order by night"
        ).fetchall()
        assert runs == [(NIGHT, "ok", NIGHT), (second, "stale", NIGHT)]


def test_bundled_prices_stand_in_only_where_no_source_has_the_provider(path: Path) -> None:
    bundled = offerings(
        {"offering_id": "a1", "provider": "alpha"},
        {"offering_id": "g1", "provider": "gamma"},
        source_id="list_prices",
    )
    with writing(path) as connection:
        describe(connection, "alpha", "list_prices")
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
        load(connection, replace(source_night(NIGHT, source_id="list_prices"), offerings=bundled))
        query = "select offering_id, freshness from current_offering order by all"
        assert connection.execute(query).fetchall() == [("a", "tonight"), ("g1", "bundled")]
        # After 45 days without a good night the list knows more than the last good night.
        last_good, list_only = [("a", "last_good"), ("g1", "bundled")], [("a1", "bundled"), ("g1", "bundled")]
        for days, expected in ((45, last_good), (46, list_only)):
            later = source_night(NIGHT + timedelta(days=days), source_id="list_prices")
            load(connection, replace(later, offerings=bundled))
            assert connection.execute(query).fetchall() == expected


def of_provider(provider: str, *rows: dict[str, object], source_id: str, night: date = NIGHT) -> SourceNight:
    return source_night(night, *({"provider": provider, **row} for row in rows), source_id=source_id)


def test_what_a_provider_says_itself_goes_before_what_others_say(path: Path) -> None:
    """Per provider one basis stands: own, else mirror, else catalog, else the bundled list."""
    standing = "select offering_id, basis, freshness from current_offering order by all"
    rows = {
        "acme": of_provider("acme", {"offering_id": "own", "purchase": "spot"}, source_id="acme"),
        "copy": of_provider("acme", {"offering_id": "mirrored"}, source_id="copy"),
        "wide": of_provider("acme", {"offering_id": "c1"}, {"offering_id": "c2"}, source_id="wide"),
        "narrow": of_provider("acme", {"offering_id": "c3"}, source_id="narrow"),
        "list_prices": of_provider("acme", {"offering_id": "bundled"}, source_id="list_prices"),
    }
    bases = {"copy": "mirror", "wide": "catalog", "narrow": "catalog"}
    with writing(path) as connection:
        for result in rows.values():
            load(connection, result)
        for gone, expected in (
            (0, [("own", "own", "tonight")]),
            (1, [("mirrored", "mirror", "tonight")]),
            (2, [("c1", "catalog", "tonight"), ("c2", "catalog", "tonight")]),
            (3, [("c3", "catalog", "tonight")]),
            (4, [("bundled", "bundled", "bundled")]),
        ):
            describe(connection, *list(rows)[gone:], **bases)
            assert connection.execute(standing).fetchall() == expected
        # a catalog that was good tonight goes before a wider one of another night, and both are of second rank
        describe(connection, "wide", "narrow", "list_prices", **bases)
        later = NIGHT + timedelta(days=1)
        load(connection, of_provider("acme", {"offering_id": "c3"}, source_id="narrow", night=later))
        assert connection.execute(standing).fetchall() == [("c3", "catalog", "tonight")]
        # an own source stands on its last good night for 45 days
        describe(connection, *rows, **bases)
        assert connection.execute(standing).fetchall() == [("own", "own", "last_good")]
        much_later = NIGHT + timedelta(days=46)
        load(connection, of_provider("acme", {"offering_id": "c3"}, source_id="narrow", night=much_later))
        assert connection.execute(standing).fetchall() == [("c3", "catalog", "tonight")]


def test_two_own_sources_stand_together_and_an_offer_of_both_stands_once(path: Path) -> None:
    on_demand = of_provider("acme", {"offering_id": "a"}, {"offering_id": "both"}, source_id="acme")
    reserved = {"offering_id": "r", "purchase": "reserved"}
    again = {"offering_id": "both", "evidence": "page_html", "price_listed": 3.0}
    with writing(path) as connection:
        describe(connection, "acme", "acme_list")
        load(connection, of_provider("acme", reserved, again, source_id="acme_list"))
        load(connection, on_demand)
        query = "select offering_id, source_id from current_offering order by all"
        expected = [("a", "acme"), ("both", "acme"), ("r", "acme_list")]
        assert connection.execute(query).fetchall() == expected
        assert run_checks(connection) == []


def resold(offering_id: str, usd: float | None, gpus: int = 1, **more: object) -> dict[str, object]:
    """Returns an offer of acme in the east by a reseller."""
    total = None if usd is None else usd * gpus
    price = {"price_usd_per_gpu_hour": usd, "price_usd_per_instance_hour": total, "gpu_count": gpus}
    return {
        "offering_id": offering_id,
        "segment": "reseller",
        "origin": "acme",
        "region_text": "east",
        **price,
        **more,
    }


def test_a_resold_offer_is_counted_where_nobody_sells_it_for_less(path: Path) -> None:
    nights = (
        of_provider("acme", {"offering_id": "original"}, source_id="acme"),
        of_provider(
            "broker",
            resold("as the origin", 1.5),
            resold("dearer", 2.0, 8),
            resold("spot", 0.9, purchase="spot"),
            resold("other region", 2.0, 8, region_text="west"),
            resold("endpoints on acme", 4.0, segment="serverless"),
            {"offering_id": "no origin", "segment": "reseller"},
            source_id="broker",
        ),
        of_provider("agent", resold("cheaper", 1.9, 8), source_id="agent"),
    )
    with writing(path) as connection:
        describe(connection, "acme", "broker", "agent")
        for result in nights:
            load(connection, result)
        counted = dict(connection.execute("select offering_id, is_counted from current_offering").fetchall())
        assert counted == {
            "original": True,
            "as the origin": False,  # acme has one H100 on demand itself
            "dearer": False,  # the agent sells eight of acme in the east for less
            "cheaper": True,
            "spot": True,  # acme sells no spot
            "other region": True,
            "endpoints on acme": True,  # a service of its own, not the machine of acme
            "no origin": True,
        }


def test_only_a_price_for_the_same_term_stands_before_a_resold_offer(path: Path) -> None:
    no_usd = {
        "price_usd_per_gpu_hour": None,
        "price_usd_per_instance_hour": None,
        "price_gap": "no USD price",
    }
    on_request = {**no_usd, "price_state": "contact_sales"}
    reserved = {"purchase": "reserved", "gpu_count": 1}
    nights = (
        of_provider(
            "acme",
            {"offering_id": "on request", **on_request},
            {**resold("at least", 1.0, 2, price_state="from_price"), "origin": None, "segment": "neocloud"},
            {"offering_id": "no rate", "gpu_count": 4.0, **no_usd},
            {"offering_id": "one month", "term_months": 1, **reserved},
            source_id="acme",
        ),
        of_provider(
            "broker",
            resold("of a request", 5.0),
            resold("of a lower bound", 5.0, 2),
            resold("of no USD price", 5.0, 4),
            resold("as the origin", 5.0, term_months=1, purchase="reserved"),
            resold("six months", 5.0, term_months=6, purchase="reserved"),
            resold("from 1 USD", 1.0, 8, price_state="from_price"),
            resold("by the hour", 3.0, 16),
            source_id="broker",
        ),
        of_provider(
            "agent",
            resold("36 months", 2.0, term_months=36, purchase="reserved"),
            resold("dearer but firm", 6.0, 8),
            resold("unpriced", None, 16, **on_request),
            source_id="agent",
        ),
    )
    with writing(path) as connection:
        describe(connection, "acme", "broker", "agent")
        for result in nights:
            assert load(connection, result) == "ok"
        query = "select offering_id from current_offering where not is_counted order by all"
        assert [name for (name,) in connection.execute(query).fetchall()] == [
            "as the origin",
            "from 1 USD",  # the agent has a price for it, this is only the low end of one
            "unpriced",
        ]


@hypothesis_settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(*[st.sampled_from(["in_stock", "low", "out_of_stock", "unknown", None])] * 3),
        min_size=1,
        max_size=7,
    )
)
def test_share_of_a_gpu_is_that_of_its_nights_one_by_one(nights: list[tuple[str | None, ...]]) -> None:
    """Offers a, b, c of one GPU; None is not listed. Only the offers of the newest night count."""
    connection = emptied()
    describe(connection, "alpha")
    for number, states in enumerate(nights):
        rows = ({"offering_id": key, "availability": state} for key, state in zip("abc", states, strict=True))
        load(
            connection,
            source_night(NIGHT + timedelta(days=number), *(row for row in rows if row["availability"])),
        )
    standing = [number for number, state in enumerate(nights[-1]) if state]
    seen = [{states[number] for number in standing} - {None, "unknown"} for states in nights]
    told = [number for number, states in enumerate(seen) if states]
    in_stock = [number for number in told if seen[number] - {"out_of_stock"}]
    query = "select nights_in_stock_share, nights_observed, first_night, last_night from stock_share_of_gpu"
    found = connection.execute(query).fetchall()
    if not told:
        assert found == []
        return
    first, last = (NIGHT + timedelta(days=number) for number in (told[0], told[-1]))
    assert found == [(pytest.approx(len(in_stock) / len(told)), len(told), first, last)]


def test_share_of_nights_in_stock(path: Path) -> None:
    """Five nights. a: in, out, low, unknown, (failed); b: only listed; c: in, gone, in, out, (failed)."""
    told = (
        {"a": "in_stock", "b": "listed_only", "c": "in_stock"},
        {"a": "out_of_stock", "b": "listed_only"},
        {"a": "low", "b": "listed_only", "c": "in_stock"},
        {"a": "unknown", "b": "listed_only", "c": "out_of_stock"},
    )
    days = [NIGHT + timedelta(days=number) for number in range(5)]
    with writing(path) as connection:
        describe(connection, "alpha")
        for day, states in zip(days[:4], told, strict=True):
            rows = ({"offering_id": key, "availability": state} for key, state in states.items())
            load(connection, source_night(day, *rows))
        failed = SourceNight(
            source_id="alpha", night=days[4], started_at=MIDNIGHT, outcome="stale", reason="503", seconds=0.1
        )
        load(connection, failed)
        query = (
            "select offering_id, nights_in_stock_share, nights_observed, first_night, last_night"
            " from stock_share order by all"
        )
        assert connection.execute(query).fetchall() == [
            ("a", pytest.approx(2 / 3), 3, days[0], days[2]),
            ("c", pytest.approx(2 / 3), 3, days[0], days[3]),
        ]
        shown = "select offering_id, nights_in_stock_share from current_offering order by all"
        assert connection.execute(shown).fetchall() == [
            ("a", pytest.approx(2 / 3)),
            ("b", None),
            ("c", pytest.approx(2 / 3)),
        ]
        # of the GPU: in stock on nights 1 and 3 by a and c, out on 2 by a and on 4 by c
        columns = "provider, gpu_key, nights_in_stock_share, nights_observed, last_night"
        together = f"select {columns} from stock_share_of_gpu"
        assert connection.execute(together).fetchall() == [("alpha", "H100-SXM5-80GB", 0.5, 4, days[3])]
        # the same night again with another answer counts once
        load(connection, source_night(days[4], {"offering_id": "a", "availability": "in_stock"}))
        load(connection, source_night(days[4], {"offering_id": "a", "availability": "out_of_stock"}))
        assert connection.execute(f"{query} limit 1").fetchall() == [("a", 0.5, 4, days[0], days[4])]


def test_a_mirror_that_disagrees_is_a_soft_finding_of_the_mirror(path: Path) -> None:
    def priced(offering_id: str, plan: str, usd: float, **more: object) -> dict[str, object]:
        usd_per_hour = {"price_usd_per_gpu_hour": usd, "price_usd_per_instance_hour": usd}
        return {"offering_id": offering_id, "plan": plan, **usd_per_hour, **more}

    own = [priced(f"o{n}", f"plan-{n}", 2.0) for n in range(4)]
    others = [
        priced("m0", "plan-0", 2.2),  # 10 % more is allowed
        priced("m1", "plan-1", 2.21),
        priced("m2", "plan-2", 1.0),
        priced("m3", "plan-3", 9.0, purchase="spot"),  # another purchase kind
        priced("m4", "plan-9", 9.0),  # a plan that the provider does not name
    ]
    with writing(path) as connection:
        describe(connection, "acme", "copy", copy="mirror")
        load(connection, of_provider("acme", *own, source_id="acme"))
        load(connection, of_provider("acme", *others, source_id="copy"))
        for _ in range(2):
            compare_sources(connection, NIGHT)
            ((source_id, rule, is_hard, subject, detail),) = connection.execute(
                "select source_id, rule, is_hard, subject, detail from finding"
            ).fetchall()
            assert (source_id, rule, is_hard, subject) == ("copy", "sources_disagree", False, "acme: acme")
            assert detail.startswith(
                "2 of 3 prices are not from 0.9 to 1.1 times the own ones: plan-2 @ no region"
            )
            assert "1.0000 for 2.0000 USD; plan-1" in detail
        runs = connection.execute("select source_id, findings from source_run order by all").fetchall()
        assert runs == [("acme", 0), ("copy", 1)]
        # a mirror of another night is not held against tonight
        load(connection, of_provider("acme", *own, source_id="acme", night=NIGHT + timedelta(days=1)))
        compare_sources(connection, NIGHT + timedelta(days=1))
        later = "select count(*) from finding where night > ?"
        assert connection.execute(later, [NIGHT]).fetchall() == [(0,)]


def test_a_mirror_is_compared_per_gpu_where_the_price_of_an_instance_is_not_known(path: Path) -> None:
    def priced(offering_id: str, plan: str, per_gpu: float, per_instance: float | None) -> dict[str, object]:
        usd = {"price_usd_per_gpu_hour": per_gpu, "price_usd_per_instance_hour": per_instance}
        no_count = {"gpu_count": None, "price_gap": "GPU count not stated"} if per_instance is None else {}
        return {"offering_id": offering_id, "plan": plan, **usd, **no_count}

    own = [
        priced("o0", "plan-0", 2.0, None),
        priced("o1", "plan-1", 2.0, None),
        priced("o2", "plan-2", 2.0, 2.0),
    ]
    other = [
        priced("m0", "plan-0", 20.0, None),
        priced("m1", "plan-1", 2.1, None),
        priced("m2", "plan-2", 2.0, 2.0),
    ]
    with writing(path) as connection:
        describe(connection, "acme", "copy", copy="mirror")
        assert load(connection, of_provider("acme", *own, source_id="acme")) == "ok"
        assert load(connection, of_provider("acme", *other, source_id="copy")) == "ok"
        compare_sources(connection, NIGHT)
        ((detail,),) = connection.execute("select detail from finding").fetchall()
        assert detail.startswith(
            "1 of 3 prices are not from 0.9 to 1.1 times the own ones: plan-0 @ no region"
        )
        assert detail.endswith("20.0000 for 2.0000 USD per GPU")


def test_a_source_that_is_off_or_gone_leaves_the_current_offers(path: Path) -> None:
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
        load(connection, source_night(NIGHT, {"offering_id": "b"}, source_id="beta"))
        describe(connection, "alpha", "beta")
        ids = "select offering_id from current_offering order by all"
        assert connection.execute(ids).fetchall() == [("a",), ("b",)]
        describe(connection, "alpha")
        assert connection.execute(ids).fetchall() == [("a",)]
        describe(connection, "alpha", is_on=False)
        assert connection.execute(ids).fetchall() == []
        assert connection.execute("select outcome from source_health").fetchall() == [("off",)]


def test_rows_that_break_a_rule_hold_their_source_and_no_other(path: Path) -> None:
    second = NIGHT + timedelta(days=1)
    broken = {"offering_id": "a", "price_gap": "no exchange rate for EUR"}
    with writing(path) as connection:
        describe(connection, "alpha", "beta")
        load(connection, source_night(NIGHT, {"offering_id": "a", "price_listed": 2.0}))
        assert load(connection, source_night(second, broken)) == "held"
        assert load(connection, source_night(second, {"offering_id": "b"}, source_id="beta")) == "ok"
        assert last_good_offerings(connection, "alpha")["price_gap"].to_list() == [None]
        assert history(connection) == [("a", NIGHT, None, 2.0)]
        query = "select reason from source_health where source_id = 'alpha'"
        ((reason,),) = connection.execute(query).fetchall()
        assert reason.startswith("sql/checks/price_or_gap.sql: 1 rows break the rule")
        assert run_checks(connection) == []


def test_a_kill_in_the_middle_of_a_load_leaves_the_night_before(path: Path) -> None:
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
    program = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from datetime import date, timedelta
from functools import cache
import test_warehouse as t
from warehouse import history
from warehouse.connection import writing
from warehouse.load import load
history.update = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with writing(Path(sys.argv[1])) as connection:
    load(connection, t.source_night(t.NIGHT + timedelta(days=1), {"offering_id": "a", "price_listed": 9.0}))
"""
    child = subprocess.run(
        [sys.executable, "-c", program, str(path), str(Path(__file__).parent)],
        check=False,
        capture_output=True,
    )
    assert child.returncode == -9, child.stderr.decode()
    with writing(path) as connection:
        assert history(connection) == [("a", NIGHT, None, 2.0)]
        assert last_good_offerings(connection, "alpha")["price_listed"].cast(pl.Float64).to_list() == [2.0]


def as_it_was(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Gives the warehouse the tables of the former release with the rows that it has; returns their names."""
    statements = (Path(__file__).parent / "former_schema.sql").read_text(encoding="utf-8")
    tables = re.findall(r"create table (\w+)", statements)
    for table in tables:
        connection.execute(f"alter table {table} rename to {table}_new")
    connection.execute(statements)
    for table in tables:
        columns = ", ".join(frame(connection, f"select * from {table}").columns)
        connection.execute(f"insert into {table} by name select {columns} from {table}_new")
        connection.execute(f"drop table {table}_new")
        connection.execute("update schema_file set sha256 = 'former' where name like ?", [f"%_{table}"])
    return tables


def test_a_warehouse_of_the_former_release_keeps_its_rows_and_goes_on(path: Path) -> None:
    second, third = NIGHT + timedelta(days=1), NIGHT + timedelta(days=2)
    with writing(path) as connection:
        describe(connection, "alpha")
        load(connection, source_night(NIGHT, {"offering_id": "a"}, {"offering_id": "b"}))
        load(connection, source_night(second, {"offering_id": "a", "price_listed": 4.0}))
        assert as_it_was(connection) == ["source", "listing", "offering"]
        assert "basis" not in frame(connection, "select * from source").columns
    intervals = [("a", NIGHT, second, 2.0), ("a", second, None, 4.0), ("b", NIGHT, second, 2.0)]
    with writing(path) as connection:
        assert history(connection) == intervals
        assert uncommented(connection) == []
        kept = last_good_offerings(connection, "alpha")
        assert kept["price_listed"].cast(pl.Float64).to_list() == [4.0]
        assert kept["regular_price_listed"].to_list() == [None]
        assert connection.execute("select source_id, basis from source").fetchall() == [("alpha", None)]
        assert load(connection, source_night(third, {"offering_id": "a", "price_listed": 4.0})) == "unchanged"
        assert history(connection) == intervals
        assert run_checks(connection) == []
        left = (
            "select count(*) from duckdb_tables() where table_name like '%_before' or table_name like '%_new'"
        )
        assert connection.execute(left).fetchall() == [(0,)]
    assert storage_version(path) == 64


def test_a_schema_that_would_lose_a_column_is_refused_and_nothing_is_changed(path: Path) -> None:
    with writing(path) as connection:
        load(connection, source_night(NIGHT, {"offering_id": "a"}))
        connection.execute("alter table price_history add column colour varchar")
        connection.execute("update price_history set colour = 'red'")
        connection.execute("update schema_file set sha256 = 'x' where name = '041_price_history'")
    with pytest.raises(WarehouseError, match=r"041_price_history\.sql has no colour"), writing(path):
        pass
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("select colour from price_history").fetchall() == [("red",)]


def test_two_writers_are_refused(path: Path) -> None:
    program = (
        "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('open', flush=True); time.sleep(30)"
    )
    with writing(path):
        pass
    child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(WarehouseError, match="another refresh is running"), writing(path):
            pass
    finally:
        child.kill()
        child.wait()


def page_stub(database: Path, site: Path) -> None:
    site.mkdir()
    (site / "index.html").write_text(f"{database.name}", encoding="utf-8")


def publishable(path: Path) -> None:
    with writing(path) as connection:
        describe(connection, "alpha")
        load(connection, source_night(NIGHT, {"offering_id": "a"}))


def test_publishing_swaps_one_link_and_can_be_rolled_back(tmp_path: Path, path: Path) -> None:
    publishable(path)
    first = publish(tmp_path, path, MIDNIGHT, page_stub)
    public = tmp_path / "public"
    assert public.is_symlink()
    assert public.resolve() == first
    assert sorted(item.name for item in public.iterdir()) == [
        "gpu_almanac.duckdb",
        "offers.csv",
        "offers.parquet",
        "rankings.csv",
        "rankings.parquet",
        "site",
    ]
    second = publish(tmp_path, path, MIDNIGHT + timedelta(seconds=1), page_stub)
    assert public.resolve() == second
    assert rollback(tmp_path) == first
    assert public.resolve() == first
    with pytest.raises(WarehouseError, match="no earlier release"):
        rollback(tmp_path)


def test_a_broken_check_publishes_nothing(tmp_path: Path, path: Path) -> None:
    publishable(path)
    first = publish(tmp_path, path, MIDNIGHT, page_stub)
    with writing(path) as connection:
        connection.execute("update offering set price_usd_per_instance_hour = 0, price_usd_per_gpu_hour = 0")
    with pytest.raises(WarehouseError, match=r"price_has_no_zero\.sql: 1 rows break the rule"):
        publish(tmp_path, path, MIDNIGHT + timedelta(seconds=1), page_stub)
    assert (tmp_path / "public").resolve() == first
    assert [item.name for item in (tmp_path / "releases").iterdir()] == [first.name]


def test_a_full_disk_leaves_the_last_release(tmp_path: Path, path: Path) -> None:
    publishable(path)
    first = publish(tmp_path, path, MIDNIGHT, page_stub)

    def full_disk(database: Path, site: Path) -> None:
        site.mkdir()
        raise OSError(28, os.strerror(28), str(site / "index.html"))

    with pytest.raises(WarehouseError, match="No space left on device"):
        publish(tmp_path, path, MIDNIGHT + timedelta(seconds=1), full_disk)
    assert (tmp_path / "public").resolve() == first
    assert [item.name for item in (tmp_path / "releases").iterdir()] == [first.name]


def test_what_a_killed_night_left_is_swept_and_a_real_folder_is_refused(tmp_path: Path, path: Path) -> None:
    publishable(path)
    left = tmp_path / "releases" / ".staging-old"
    left.mkdir(parents=True)
    (tmp_path / ".public-123").symlink_to("nowhere")
    release = publish(tmp_path, path, MIDNIGHT, page_stub)
    assert sorted(item.name for item in (tmp_path / "releases").iterdir()) == [release.name]
    assert not (tmp_path / ".public-123").is_symlink()
    (tmp_path / "public").unlink()
    (tmp_path / "public").mkdir()
    with pytest.raises(WarehouseError, match="is not a link that was made here"):
        publish(tmp_path, path, MIDNIGHT + timedelta(seconds=1), page_stub)
    assert [item.name for item in (tmp_path / "releases").iterdir()] == [release.name]


def test_a_formula_is_text_in_the_csv_and_as_it_was_in_parquet(tmp_path: Path, path: Path) -> None:
    with writing(path) as connection:
        describe(connection, "alpha")
        load(connection, source_night(NIGHT, {"offering_id": "a", "plan": "=cmd|' /C calc'!A0"}))
    publish(tmp_path, path, MIDNIGHT, page_stub)
    offers = tmp_path / "public"
    assert pl.read_csv(offers / "offers.csv", infer_schema=False)["plan"].to_list() == ["'=cmd|' /C calc'!A0"]
    assert pl.read_parquet(offers / "offers.parquet")["plan"].to_list() == ["=cmd|' /C calc'!A0"]


def test_a_reader_keeps_the_release_it_opened(tmp_path: Path, path: Path) -> None:
    publishable(path)
    publish(tmp_path, path, MIDNIGHT, page_stub)
    with reading(tmp_path / "public" / "gpu_almanac.duckdb") as reader:
        publish(tmp_path, path, MIDNIGHT + timedelta(seconds=1), page_stub)
        assert reader.execute("select count(*) from offering").fetchall() == [(1,)]


def test_sql_reads_the_release_and_nothing_else(tmp_path: Path, path: Path) -> None:
    publishable(path)
    publish(tmp_path, path, MIDNIGHT, page_stub)
    database = tmp_path / "public" / "gpu_almanac.duckdb"
    assert ask(database, "select 1 as x").records() == [{"x": 1}]
    for query in (
        "from read_csv('/etc/passwd')",
        "copy offering to 'x.csv'",
        "delete from offering",
        "nonsense",
    ):
        with pytest.raises(WarehouseError, match=r"^sql: "):
            ask(database, query)


def test_reference_tables_are_written_once(path: Path) -> None:
    rows = pl.DataFrame(
        {name: ["x"] for name in ("source_id", "name", "segment", "homepage", "pricing_url", "terms")}
    )
    with writing(path) as connection:
        columns = frame(connection, "select * from source").columns
        full = rows.with_columns(pl.lit(None).alias(name) for name in columns if name not in rows.columns)
        reference.write(connection, {"source": full})
        reference.write(connection, {"source": full})
        assert connection.execute("select count(*) from source").fetchall() == [(1,)]


def test_digest_ignores_when_and_from_which_bytes_a_row_was_read() -> None:
    one = offerings({"offering_id": "a"}, {"offering_id": "b"})
    two = offerings({"offering_id": "b"}, {"offering_id": "a", "fetched_at": MIDNIGHT + timedelta(hours=1)})
    assert content_digest(one) == content_digest(two)
    assert content_digest(one) != content_digest(offerings({"offering_id": "a", "price_listed": 9.0}))


def test_captures_are_recorded(path: Path) -> None:
    capture = CaptureRow(
        part="page",
        url="https://alpha.example/prices",
        status=200,
        content_type="text/html",
        bytes=12,
        capture_sha256="f" * 64,
        fetched_at=MIDNIGHT,
    )
    with writing(path) as connection:
        load(connection, replace(source_night(NIGHT, {"offering_id": "a"}), captures=[capture]))
        assert connection.execute("select url, bytes from capture").fetchall() == [
            ("https://alpha.example/prices", 12)
        ]
        assert connection.execute("select payloads, bytes from source_run").fetchall() == [(1, 12)]
