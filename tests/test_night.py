"""Whole nights through Prefect against a real HTTP server: what a fault costs, and what it must not cost.

Each bad source is good in the first night and has its fault in the second.
"""

from __future__ import annotations

import json
import os
import types
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import NIGHT
from loopback import (
    LoopbackServer,
    bomb,
    cut_short,
    endless,
    hang,
    loopback,
    redirect,
    reply,
)

from flows import collect as collecting
from flows import nightly
from flows.apart import parsed
from flows.night import NightReport
from flows.settings import read_settings
from scrapers import fetch, registry
from scrapers.contract import Auth, Listing, Payload, Record, Request, Source
from scrapers.readers import At, decode, read_json
from warehouse.connection import WarehouseError
from warehouse.query import ask

ROWS = 10
LIMITS = fetch.Limits(
    connect_s=2, read_s=1, attempt_s=3, overall_s=20, attempts=3, first_wait_s=0.01, longest_wait_s=0.02
)


def prices(
    count: int = ROWS, *, factor: float = 1.0, field: str = "price", city: str = "Zürich"
) -> dict[str, Any]:
    """Returns what a well provider answers: `count` plans of an H100 each, from 2.00 USD up in steps of 1 cent."""
    return {
        "plans": [
            {
                "name": f"plan-{number}",
                "gpu": "H100 SXM",
                field: round((2 + number / 100) * factor, 4),
                "city": city,
            }
            for number in range(count)
        ]
    }


def encoded(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode()


def provider(name: str, server: LoopbackServer, **changes: Any) -> types.ModuleType:
    """Returns a provider module whose prices stand at /<name> of the server."""
    module = types.ModuleType(name)
    known: dict[str, Any] = {
        "id": name,
        "name": name.title(),
        "segment": "neocloud",
        "homepage": "https://provider.example/",
        "pricing_url": "https://provider.example/prices",
        "requests": (Request("prices", f"{server.url}/{name}"),),
        "allowed_hosts": ("127.0.0.1",),
        "terms": "open",
        "terms_url": "https://provider.example/terms",
        "terms_note": "open",
        "terms_reviewed_on": NIGHT,
        "last_proof": "undated: made up",
        "min_listings": 1,
        "pace_s": 0.0,
        "max_body_mb": 5,
    }
    module.SOURCE = Source(**{**known, **changes})  # type: ignore[attr-defined]

    def parse(payload: Payload) -> Iterable[Record]:
        for plan in At(payload.part, read_json(payload))["plans"]:
            yield Listing(
                provider=name,
                plan=plan["name"].text(),
                gpu_text=plan["gpu"].text(),
                gpu_count=Decimal(1),
                price=plan["price"].decimal(),
                currency="USD",
                price_per="instance",
                price_unit="hour",
                purchase="on_demand",
                region_text=plan["city"].text(),
                availability="in_stock",
                place=plan.place,
            )

    module.parse = parse  # type: ignore[attr-defined]
    return module


FAULTS: dict[str, tuple[str, str, Any]] = {
    # source: outcome in the second night, words in the reason, what the server then does
    "empty": ("held", "row_floor: 0 listings", reply(encoded({"plans": []}))),
    "challenge": (
        "blocked",
        "",
        reply(b"<html><title>Just a moment...</title>captcha</html>", content_type="text/html"),
    ),
    "halved": ("held", "count_drop", reply(encoded(prices(5)))),
    "doubled": ("held", "price_jump", reply(encoded(prices(factor=2.0)))),
    "renamed": ("stale", "plans[0]", reply(encoded(prices(field="cost")))),
    "truncated": ("stale", "prices", reply(encoded(prices())[:-40])),
    "cut": ("stale", "", cut_short(encoded(prices()))),
    "down": ("stale", "503", reply(b"", status=503)),
    "hanging": ("stale", "", hang()),
    "elsewhere": ("stale", "leaves the hosts", redirect("https://elsewhere.example/prices")),
    "huge": ("stale", "", endless()),
    "gzipbomb": ("stale", "", bomb()),
}


@pytest.fixture(scope="module")
def prefect_server() -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with loopback() as running:
        yield running


@pytest.fixture
def sources(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, prefect_server: None, home: Path
) -> dict[str, types.ModuleType]:
    """The providers of the loopback server beside the bundled list prices."""
    modules = {name: provider(name, server) for name in (*FAULTS, "well", "busy", "latin")}
    modules["keyed"] = provider(
        "keyed",
        server,
        requests=(),
        keyed_requests=(Request("prices", f"{server.url}/keyed"),),
        auth=Auth("LOOPBACK_API_KEY"),
    )
    modules["list_prices"] = registry.load_one("list_prices")
    monkeypatch.setattr(registry, "load", lambda: modules)
    # these parsers are closures, which no other process has
    monkeypatch.setattr(collecting, "parsed_apart", parsed)
    monkeypatch.setattr(nightly, "RETRY_DELAY_S", 0)
    monkeypatch.setattr(
        nightly,
        "fetch_settings",
        lambda _: fetch.Settings(limits=LIMITS, plain_http_hosts=frozenset({"127.0.0.1"}), environ={}),
    )
    monkeypatch.setattr(nightly, "collect_source", nightly.collect_source.with_options(retry_delay_seconds=0))
    return modules


def run(night: date) -> NightReport:
    return nightly.run_night(night=night)


def rows(query: str) -> list[tuple[Any, ...]]:
    return list(ask(read_settings().database, query).rows)


def health() -> dict[str, tuple[str, str]]:
    return {
        row[0]: (row[1], row[2] or "") for row in rows("select source_id, outcome, reason from source_health")
    }


def test_bad_nights(server: LoopbackServer, sources: dict[str, types.ModuleType]) -> None:
    for name in sources:
        server.on(f"/{name}", reply(encoded(prices())))
    first = run(NIGHT)
    assert set(first.outcomes.values()) == {"ok", "skipped"}
    assert health()["keyed"] == (
        "skipped",
        "no key: LOOPBACK_API_KEY is not set; Keyed gives its prices only with a key",
    )

    for name, (_, _, action) in FAULTS.items():
        server.on(f"/{name}", action)
    server.on("/well", reply(encoded(prices(factor=1.1))))
    server.on("/busy", reply(b"", status=429, headers={"Retry-After": "0"}), reply(encoded(prices())))
    latin = json.dumps(prices(), ensure_ascii=False).encode("windows-1252")
    server.on("/latin", reply(latin, content_type="application/json; charset=windows-1252"))
    second = run(NIGHT + timedelta(days=1))

    outcomes = health()
    for name, (outcome, words, _) in FAULTS.items():
        assert outcomes[name][0] == outcome, (name, outcomes[name])
        assert words in outcomes[name][1], (name, outcomes[name])
    assert outcomes["busy"] == ("unchanged", "")
    assert outcomes["latin"] == ("unchanged", "")
    assert outcomes["well"] == ("ok", "")
    assert second.has_findings

    kept = dict(rows("select source_id, count(*) from current_offering group by source_id"))
    assert {name: kept[name] for name in FAULTS} == dict.fromkeys(FAULTS, ROWS)
    lowest = dict(
        rows("select source_id, min(price_usd_per_gpu_hour) from current_offering group by source_id")
    )
    assert lowest["doubled"] == Decimal("2.000000")
    assert lowest["well"] == Decimal("2.200000")
    stale = rows(
        "select distinct freshness, stale_reason is not null from current_offering where source_id = 'down'"
    )
    assert stale == [("last_good", True)]
    assert rows("select distinct region_text from current_offering where source_id = 'latin'") == [
        ("Zürich",)
    ]
    assert (read_settings().site / "index.html").exists()


def test_without_a_network_the_bundled_prices_are_published(
    sources: dict[str, types.ModuleType], server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, module in list(sources.items()):
        if name != "list_prices":
            source = module.SOURCE
            lost = Request("prices", f"https://{name}.provider.example/prices")
            sources[name] = provider(
                name, server, requests=(lost,), allowed_hosts=(f"{name}.provider.example",), auth=None
            )
            assert source.id == name
    report = run(NIGHT)
    assert report.is_offline
    assert not report.has_findings
    assert {outcome for name, outcome in report.outcomes.items() if name != "list_prices"} == {"failed"}
    assert rows("select has_live_price, offers > 900 from release") == [(False, True)]
    assert rows("select distinct freshness from current_offering") == [("bundled",)]


def test_a_second_run_of_the_night_changes_only_the_run_record(
    server: LoopbackServer, sources: dict[str, types.ModuleType]
) -> None:
    for name in sources:
        server.on(f"/{name}", reply(encoded(prices())))
    tables = [
        "offering",
        "reject",
        "price_history",
        "availability_history",
        "ranking",
        "exclusion",
        "listing",
        "capture",
        "finding",
        "market",
    ]
    run(NIGHT)
    first = {table: rows(f"select * from {table} order by all") for table in tables}
    second = run(NIGHT)
    assert {table: rows(f"select * from {table} order by all") for table in tables} == first
    assert set(second.outcomes.values()) == {"unchanged", "skipped"}
    assert all(first[table] for table in ("offering", "ranking", "exclusion", "price_history"))


def test_a_parser_that_breaks_is_one_failed_source(
    server: LoopbackServer, sources: dict[str, types.ModuleType]
) -> None:
    for name in sources:
        server.on(f"/{name}", reply(encoded(prices())))

    def broken(payload: Payload) -> Iterable[Record]:
        return [decode(payload)[10**9]]  # type: ignore[list-item]

    sources["well"].parse = broken  # type: ignore[attr-defined]
    report = run(NIGHT)
    assert report.outcomes["well"] == "failed"
    assert health()["well"][1].startswith("a fault of ours: IndexError")
    assert {outcome for name, outcome in report.outcomes.items() if name not in ("well", "keyed")} == {"ok"}


def test_a_full_disk_keeps_the_last_release(
    server: LoopbackServer, sources: dict[str, types.ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    from warehouse import publish

    for name in sources:
        server.on(f"/{name}", reply(encoded(prices())))
    run(NIGHT)
    before = read_settings().database.resolve()

    def full(source: Path, target: Path) -> None:
        raise OSError(28, os.strerror(28), str(target))

    monkeypatch.setattr(publish, "copy_database", full)
    with pytest.raises(WarehouseError, match="No space left on device"):
        run(NIGHT + timedelta(days=1))
    assert read_settings().database.resolve() == before
    assert rows("select night from release") == [(NIGHT,)]


@pytest.mark.parametrize("count", ["1e12", "1e30"])
def test_a_figure_that_cannot_be_costs_one_source_at_most(
    server: LoopbackServer, sources: dict[str, types.ModuleType], count: str
) -> None:
    """A night without Prefect: the figures go the way of all others."""
    from flows.collect import collect
    from flows.night import finish_night

    server.on("/well", reply(encoded(prices())))
    parse = sources["well"].parse

    def poisoned(payload: Payload) -> Iterable[Record]:
        first, *others = parse(payload)
        return [replace(first, gpu_count=Decimal(count), price=Decimal("1.5")), *others]

    sources["well"].parse = poisoned  # type: ignore[attr-defined]
    session = fetch.Session(nightly.fetch_settings(read_settings()))
    at = datetime(2026, 11, 30, tzinfo=UTC)
    modules = [sources["well"], sources["list_prices"]]
    report = finish_night(
        [collect(module, session=session, night=at, captures=None) for module in modules],
        [module.SOURCE for module in modules],
        settings=read_settings(),
        night=NIGHT,
        created_at=at,
    )
    assert report.outcomes["list_prices"] == "ok"
    assert report.outcomes["well"] in ("ok", "failed", "held")
    assert (read_settings().site / "index.html").exists()


def test_a_held_source_is_released_by_its_owner(
    server: LoopbackServer, sources: dict[str, types.ModuleType]
) -> None:
    for name in sources:
        server.on(f"/{name}", reply(encoded(prices())))
    run(NIGHT)
    server.on("/doubled", reply(encoded(prices(factor=2.0))))
    second = NIGHT + timedelta(days=1)
    assert run(second).outcomes["doubled"] == "held"
    report = nightly.run_night(
        night=second, only=("doubled",), accept=("doubled", "well"), reason="announced in their blog"
    )
    assert report.outcomes == {"doubled": "ok"}
    assert report.released == {"doubled"}
    released = rows("select night, source_id, reason, findings from acceptance")
    assert released == [
        (
            second,
            "doubled",
            "announced in their blog",
            ["price_jump: offerings: 10 of 10 prices moved by more than 1.8 times"],
        )
    ]
    assert "accepted in spite of price_jump" in health()["doubled"][1]
    lowest = "select min(price_usd_per_gpu_hour) from current_offering where source_id = 'doubled'"
    assert rows(lowest) == [(Decimal("4.000000"),)]


def test_a_source_that_reads_every_price_wrong_is_held_in_the_first_night(
    server: LoopbackServer, sources: dict[str, types.ModuleType]
) -> None:
    """The bundled list prices are what it is held against; they ask 1.92 to 12.29 USD for this GPU."""
    for name in sources:
        server.on(f"/{name}", reply(encoded(prices())))
    server.on("/doubled", reply(encoded(prices(factor=60))))
    outcomes = run(NIGHT).outcomes
    assert outcomes["doubled"] == "held"
    assert health()["doubled"][1] == (
        "price_outside_market_band: 10 of 10 prices are far from what others ask"
    )
    assert outcomes["well"] == "ok"
    assert rows("select count(*) from offering where source_id = 'doubled'") == [(0,)]


def test_two_nights_at_once_are_refused(server: LoopbackServer, sources: dict[str, types.ModuleType]) -> None:
    from flows.night import only_night

    with only_night(read_settings().home), pytest.raises(WarehouseError, match="another refresh is running"):
        run(NIGHT)
    assert datetime.now(UTC) > datetime(2026, 1, 1, tzinfo=UTC)
