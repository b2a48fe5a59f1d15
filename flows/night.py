"""One night: from what was collected to a published release. Plain functions; Prefect wraps them in `nightly`."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from importlib.metadata import version
from pathlib import Path

import duckdb
import polars as pl

from flows.acceptance import Acceptance, is_released, record, released_sources
from flows.collect import Collected, wanted
from flows.fit_table import wanted_models, write_fit
from flows.known import Known, extras_for, market_before, read_known, write_extras, write_rates
from flows.rank import rank_jobs, write_ranking
from flows.settings import Settings
from flows.sources import source_rows
from page.build import build
from scrapers.contract import Source
from transforms.offers.normalise import normalise
from transforms.offers.quality import quality
from transforms.offers.schema import FINDING, MARKET
from transforms.reference import tables
from transforms.workloads.jobs import tier_jobs
from warehouse import load, reference
from warehouse.comparison import compare_sources
from warehouse.connection import WarehouseError, transaction, writing
from warehouse.load import SourceNight, last_good_offerings
from warehouse.publish import publish

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NightReport:
    """How a night ended: the outcome of each source, whether no network was there, and the release folder.

    `released` are the sources that a person released in this night.
    """

    night: date
    outcomes: Mapping[str, str]
    is_offline: bool
    release: Path
    released: frozenset[str]

    @property
    def has_findings(self) -> bool:
        """Whether a person should look: a source failed, was blocked or was held although there is a network."""
        return not self.is_offline and bool(
            {"failed", "stale", "blocked", "held"}.intersection(self.outcomes.values())
        )


@contextmanager
def only_night(home: Path) -> Iterator[None]:
    """Holds the home folder for one night at a time. Raises WarehouseError when another night has it."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        opened = (home / ".night.lock").open("w")
    except OSError as error:
        raise WarehouseError(f"{home}: cannot be written: {error.strerror}") from error
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WarehouseError(f"{home}: another refresh is running; wait for it or end it") from error
        yield


def finish_night(
    collected: Sequence[Collected],
    sources: Sequence[Source],
    *,
    settings: Settings,
    night: date,
    created_at: datetime,
    acceptance: Acceptance | None = None,
) -> NightReport:
    """Loads what was collected, ranks all current offerings in every tier, and publishes a release.

    Sources of `acceptance` are loaded in spite of hard findings, which their reason then names.
    """
    fit_models = wanted_models(settings.fit_models)
    with writing(settings.warehouse) as connection:
        _write_facts(connection, sources, wanted(sources, settings))
        write_rates(connection, collected)
        known = read_known(connection, sources, night)
        outcomes = _load_all(connection, collected, known, acceptance)
        compare_sources(connection, night)
        write_ranking(connection, rank_jobs(connection, tier_jobs(), night=night))
        write_fit(connection, fit_models)
        _write_release(connection, night, created_at)
        released = released_sources(connection, night)
        connection.execute("checkpoint warehouse")
    release = publish(settings.home, settings.warehouse, created_at, build)
    is_offline = any(item.is_offline for item in collected) and not any(
        item.outcome == "ok" and not item.is_bundled for item in collected
    )
    return NightReport(night, outcomes, is_offline, release, released)


def _load_all(
    connection: duckdb.DuckDBPyConnection,
    collected: Sequence[Collected],
    known: Known,
    acceptance: Acceptance | None,
) -> dict[str, str]:
    """Loads the sources and returns their outcomes.

    The bundled list prices come first, and are held against nothing: in a first night they are all that the prices
    of the others can be held against. Then those that say what storage or traffic costs, for it holds for all
    sources of a provider.
    """
    outcomes: dict[str, str] = {}
    in_order = sorted(collected, key=lambda item: (item.records.extras.is_empty(), item.source_id))
    for item in (item for item in in_order if item.is_bundled):
        outcomes[item.source_id] = load_source(connection, item, known, MARKET.to_frame(), acceptance)
    market = market_before(connection, known.night)
    for item in (item for item in in_order if not item.is_bundled):
        outcomes[item.source_id] = load_source(connection, item, known, market, acceptance)
    return outcomes


def load_source(
    connection: duckdb.DuckDBPyConnection,
    item: Collected,
    known: Known,
    market: pl.DataFrame,
    acceptance: Acceptance | None,
) -> str:
    """Normalises, checks and loads what one source gave; returns its outcome.

    A figure that no column can hold fails this source, and no other.
    """
    previous = last_good_offerings(connection, item.source_id)
    collected = SourceNight(
        source_id=item.source_id,
        night=known.night,
        started_at=item.started_at,
        outcome=item.outcome,
        reason=item.reason,
        seconds=item.seconds,
        captures=item.captures,
    )
    result = collected
    if item.outcome == "ok":
        extras = extras_for(connection, item, known.night)
        try:
            result = _normalised(collected, item, previous, known, extras, market)
        except (pl.exceptions.ComputeError, pl.exceptions.InvalidOperationError) as error:
            result = _without_room(collected, error)
    result = _stale_if_known(result, previous)
    try:
        outcome = _load(connection, result, acceptance)
    except duckdb.DataError as error:
        result = _stale_if_known(_without_room(collected, error), previous)
        outcome = _load(connection, result, acceptance)
    if outcome in load.GOOD_OUTCOMES:
        write_extras(connection, item, known.night)
    logger.info(
        "%s: %s, %d listings, %d offerings, %d rejects, %.1f s%s",
        item.source_id,
        outcome,
        result.listings.height,
        result.offerings.height,
        result.rejects.height,
        item.seconds,
        f": {result.reason}" if result.reason else "",
    )
    return outcome


def _load(connection: duckdb.DuckDBPyConnection, result: SourceNight, acceptance: Acceptance | None) -> str:
    """Loads a source; one with hard findings as held, or as good where a person has released all of them.

    A broken row rule cannot be released.
    """
    if result.outcome != "held":
        return load.load(connection, result)
    hard = result.findings.filter("is_hard")
    is_known = is_released(connection, result.source_id, result.night, hard)
    is_accepted = acceptance is not None and result.source_id in acceptance.sources
    if not (is_known or is_accepted):
        return load.load(connection, result)
    taken = replace(result, outcome="ok", reason=f"accepted in spite of {result.reason}")
    outcome = load.load(connection, taken)
    if acceptance is not None and is_accepted and not is_known and outcome in load.GOOD_OUTCOMES:
        record(connection, acceptance, result.source_id, result.night, hard)
    return outcome


def _without_room(collected: SourceNight, error: Exception) -> SourceNight:
    return replace(
        collected, outcome="failed", reason=f"a figure that cannot be held: {str(error).splitlines()[0]}"
    )


def _stale_if_known(result: SourceNight, previous: pl.DataFrame) -> SourceNight:
    """Returns a failed or skipped source as stale where its last good night stands in."""
    if previous.height and result.outcome in ("failed", "skipped"):
        return replace(result, outcome="stale")
    return result


def _normalised(
    result: SourceNight,
    item: Collected,
    previous: pl.DataFrame,
    known: Known,
    extras: pl.DataFrame,
    market: pl.DataFrame,
) -> SourceNight:
    records = item.records
    made = normalise(
        records.listings,
        records.stock,
        records.interruptions,
        extras=extras,
        rates=known.rates,
        night=known.night,
        segments=known.segments,
    )
    found = quality(
        made.offerings,
        made.rejects,
        previous,
        source_id=item.source_id,
        market=market,
        page_counts=records.page_counts,
        min_listings=known.min_listings.get(item.source_id, 0),
    )
    findings = pl.concat([made.findings.select(list(FINDING)), found])
    hard = findings.filter("is_hard")
    told = "; ".join(f"{rule}: {detail}" for rule, detail in hard.select("rule", "detail").iter_rows())
    return replace(
        result,
        outcome="held" if hard.height else "ok",
        reason=f"{told:.500}" if hard.height else result.reason,
        listings=records.listings,
        offerings=made.offerings,
        rejects=made.rejects,
        findings=findings,
    )


def _write_facts(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], off_reasons: Mapping[str, str | None]
) -> None:
    reference.write(
        connection,
        {
            "source": source_rows(sources, off_reasons),
            "gpu": tables.read("gpu"),
            "model": tables.read("model"),
            "tier": tier_jobs().rename({"group": "group_name"}),
            "provider_term": tables.read("provider"),
            "region": tables.read("region"),
            "assumption": tables.read("assumption"),
            "accuracy_score": tables.read("accuracy_score"),
        },
    )


def _write_release(connection: duckdb.DuckDBPyConnection, night: date, created_at: datetime) -> None:
    with transaction(connection):
        connection.execute("delete from release")
        connection.execute(
            """
            insert into release
            select
                ?, ?, ?,
                coalesce(bool_or(freshness <> 'bundled'), false),
                count(*),
                count(distinct provider),
                (select count(distinct tier_id) from ranking)
            from current_offering
            where is_counted
            """,
            [night, created_at, version("gpu-almanac")],
        )
