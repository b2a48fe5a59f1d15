"""One night: from what was collected to a published release. Plain functions; Prefect wraps them in `nightly`."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from importlib.metadata import version
from pathlib import Path

import duckdb
import polars as pl

from flows.collect import Collected, segments_of, wanted
from flows.fit_table import wanted_models, write_fit
from flows.rank import rank_jobs, write_ranking
from flows.settings import Settings
from page.build import build
from scrapers.contract import Source
from transforms.offers.normalise import normalise
from transforms.offers.quality import quality
from transforms.offers.schema import FINDING
from transforms.reference import tables
from transforms.workloads.jobs import tier_jobs
from warehouse import load, reference
from warehouse.connection import WarehouseError, transaction, writing
from warehouse.load import SourceNight, frame, insert, last_good_offerings
from warehouse.publish import publish

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NightReport:
    """How a night ended: the outcome of each source, whether no network was there, and the release folder."""

    night: date
    outcomes: Mapping[str, str]
    is_offline: bool
    release: Path

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
    accepted: Collection[str] = (),
) -> NightReport:
    """Loads what was collected, ranks all current offerings in every tier, and publishes a release.

    Sources in `accepted` are loaded in spite of hard findings, which their reason then names.
    """
    fit_models = wanted_models(settings.fit_models)
    with writing(settings.warehouse) as connection:
        _write_facts(connection, sources, wanted(sources, settings))
        _write_rates(connection, collected)
        rates = _known_rates(connection, night)
        segments = segments_of(sources)
        outcomes = {
            item.source_id: load_source(
                connection,
                item,
                night=night,
                rates=rates,
                segments=segments,
                is_accepted=item.source_id in accepted,
            )
            for item in sorted(collected, key=lambda item: item.source_id)
        }
        write_ranking(connection, rank_jobs(connection, tier_jobs(), night=night))
        write_fit(connection, fit_models)
        _write_release(connection, night, created_at)
        connection.execute("checkpoint warehouse")
    release = publish(settings.home, settings.warehouse, created_at, build)
    is_offline = any(item.is_offline for item in collected) and not any(
        item.outcome == "ok" and not item.is_bundled for item in collected
    )
    return NightReport(night, outcomes, is_offline, release)


def load_source(
    connection: duckdb.DuckDBPyConnection,
    item: Collected,
    *,
    night: date,
    rates: pl.DataFrame,
    segments: Mapping[str, str],
    is_accepted: bool = False,
) -> str:
    """Normalises, checks and loads what one source gave; returns its outcome.

    A figure that no column can hold fails this source, and no other.
    """
    previous = last_good_offerings(connection, item.source_id)
    collected = SourceNight(
        source_id=item.source_id,
        night=night,
        started_at=item.started_at,
        outcome=item.outcome,
        reason=item.reason,
        seconds=item.seconds,
        captures=item.captures,
    )
    try:
        result = collected
        if item.outcome == "ok":
            result = _normalised(collected, item, previous, night=night, rates=rates, segments=segments)
        if result.outcome == "held" and is_accepted:
            result = replace(result, outcome="ok", reason=f"accepted in spite of {result.reason}")
        result = _stale_if_known(result, previous)
        outcome = load.load(connection, result)
    except (pl.exceptions.PolarsError, duckdb.DataError) as error:
        reason = f"a figure that cannot be held: {str(error).splitlines()[0]}"
        result = _stale_if_known(replace(collected, outcome="failed", reason=reason), previous)
        outcome = load.load(connection, result)
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


def _stale_if_known(result: SourceNight, previous: pl.DataFrame) -> SourceNight:
    """Returns a failed or skipped source as stale where its last good night stands in."""
    if previous.height and result.outcome in ("failed", "skipped"):
        return replace(result, outcome="stale")
    return result


def _normalised(
    result: SourceNight,
    item: Collected,
    previous: pl.DataFrame,
    *,
    night: date,
    rates: pl.DataFrame,
    segments: Mapping[str, str],
) -> SourceNight:
    records = item.records
    made = normalise(
        records.listings,
        records.stock,
        records.interruptions,
        rates=rates,
        night=night,
        segments=segments,
    )
    found = quality(made.offerings, made.rejects, previous, source_id=item.source_id)
    findings = pl.concat([made.findings.select(list(FINDING)), found])
    hard = findings.filter("is_hard")
    return replace(
        result,
        outcome="held" if hard.height else "ok",
        reason=f"{hard['rule'][0]}: {hard['detail'][0]}" if hard.height else result.reason,
        listings=records.listings,
        offerings=made.offerings,
        rejects=made.rejects,
        findings=findings,
    )


def _write_facts(
    connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], off_reasons: Mapping[str, str | None]
) -> None:
    known = pl.DataFrame(
        [
            {
                "source_id": source.id,
                "name": source.name,
                "segment": source.segment,
                "homepage": source.homepage,
                "pricing_url": source.pricing_url,
                "terms": source.terms,
                "terms_url": source.terms_url,
                "terms_note": source.terms_note,
                "is_on": off_reasons[source.id] is None,
                "off_reason": off_reasons[source.id],
                "auth_env": source.auth.env if source.auth else None,
            }
            for source in sources
        ],
        infer_schema_length=None,
    ).sort("source_id")
    reference.write(
        connection,
        {
            "source": known,
            "gpu": tables.read("gpu"),
            "model": tables.read("model"),
            "tier": tier_jobs().rename({"group": "group_name"}),
            "provider_term": tables.read("provider"),
            "region": tables.read("region"),
            "assumption": tables.read("assumption"),
            "accuracy_score": tables.read("accuracy_score"),
        },
    )


def _write_rates(connection: duckdb.DuckDBPyConnection, collected: Sequence[Collected]) -> None:
    for item in collected:
        rates = item.records.rates
        if rates.height:
            with transaction(connection):
                connection.execute(
                    "delete from fx_rate where source_id = ? and rate_date in (select unnest(?))",
                    [item.source_id, rates["rate_date"].unique().to_list()],
                )
                insert(connection, "fx_rate", rates, source_id=item.source_id)


def _known_rates(connection: duckdb.DuckDBPyConnection, night: date) -> pl.DataFrame:
    """Returns the newest rate of each pair that is not younger than the night."""
    return frame(
        connection,
        """
        select base, quote, rate, rate_date from fx_rate where rate_date <= $night
        qualify row_number() over (partition by base, quote order by rate_date desc) = 1
        order by base, quote
        """,
        {"night": night},
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
            """,
            [night, created_at, version("gpu-almanac")],
        )
