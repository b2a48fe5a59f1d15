"""Writes what one source gave in one night, in one transaction. Loading the same thing twice changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl

from transforms.offers.schema import FINDING, LISTING, OFFERING, REJECT
from warehouse import history
from warehouse.checks import BrokenCheckError, refuse_broken
from warehouse.connection import WarehouseError, reading, transaction

Outcome = Literal["ok", "unchanged", "stale", "blocked", "skipped", "failed", "held", "waiting"]
GOOD_OUTCOMES = ("ok", "unchanged")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRow:
    """One answer that was stored: its address and the digest of its bytes."""

    part: str
    url: str
    status: int
    content_type: str
    bytes: int
    capture_sha256: str
    fetched_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNight:
    """What became of one source in one night. Frames are empty unless the outcome is ok or unchanged."""

    source_id: str
    night: date
    started_at: datetime
    outcome: Outcome
    reason: str | None
    seconds: float
    captures: Sequence[CaptureRow] = ()
    listings: pl.DataFrame = field(default_factory=LISTING.to_frame)
    offerings: pl.DataFrame = field(default_factory=OFFERING.to_frame)
    rejects: pl.DataFrame = field(default_factory=REJECT.to_frame)
    findings: pl.DataFrame = field(default_factory=FINDING.to_frame)


def load(connection: duckdb.DuckDBPyConnection, result: SourceNight) -> Outcome:
    """Writes `result` and returns its outcome: "ok" becomes "unchanged" when the offerings are those of last time.

    A source that gave nothing good, or rows that break a rule of sql/checks, keeps its last good offerings.
    Raises WarehouseError for a night that lies before the last one of the source, since the intervals of its
    history would break.
    """
    _refuse_the_past(connection, result)
    try:
        return _load(connection, result)
    except BrokenCheckError as error:
        return _load(connection, replace(result, outcome="held", reason=str(error)))


def _load(connection: duckdb.DuckDBPyConnection, result: SourceNight) -> Outcome:
    last_night, last_digest = _last_good(connection, result.source_id)
    outcome, is_good = result.outcome, result.outcome in GOOD_OUTCOMES
    digest = content_digest(result.offerings) if is_good else last_digest
    with transaction(connection):
        if not (is_good and _stands(connection, result, digest)):
            connection.execute(
                "delete from finding where night = ? and source_id = ?", [result.night, result.source_id]
            )
            insert(connection, "finding", result.findings, night=result.night)
        if is_good:
            if digest == last_digest:
                outcome = "unchanged"
            if digest != last_digest or last_night != result.night:
                _replace_snapshot(connection, result)
                refuse_broken(connection, source_id=result.source_id)
            last_night = result.night
        _record_run(connection, result, outcome, last_night, digest)
        count_findings(connection, result.night)
    return outcome


def count_findings(connection: duckdb.DuckDBPyConnection, night: date) -> None:
    """Writes into source_run how many findings of `night` each source has."""
    connection.execute(
        """
        update source_run set findings = (
            select count(*) from finding
            where finding.night = source_run.night and finding.source_id = source_run.source_id
        )
        where night = ?
        """,
        [night],
    )


def content_digest(offerings: pl.DataFrame) -> str:
    """Returns a digest of what the offerings say, apart from when and from which bytes they were read."""
    content = offerings.drop("fetched_at", "capture_sha256", "part", "place", "price_date").sort(
        "offering_id"
    )
    return hashlib.sha256(content.write_ndjson().encode()).hexdigest()


def insert(
    connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame, **constants: object
) -> None:
    """Appends `frame` to `table` by column name, with the same constant values in every row."""
    rows = frame.with_columns(pl.lit(value).alias(name) for name, value in constants.items())
    connection.register("incoming", rows.to_arrow())
    connection.execute(f"insert into {table} by name select * from incoming")
    connection.unregister("incoming")


def last_good_offerings(connection: duckdb.DuckDBPyConnection, source_id: str) -> pl.DataFrame:
    """Returns the offerings of the last good night of `source_id`; empty when there was none."""
    columns = ", ".join(OFFERING)
    query = f"select {columns} from offering where source_id = $source_id"
    return frame(connection, query, {"source_id": source_id}).cast(OFFERING)


def last_good_nights(warehouse: Path) -> dict[str, date]:
    """Returns the last good night of each source; empty where there is no warehouse yet."""
    if not warehouse.exists():
        return {}
    with reading(warehouse) as connection:
        query = "select source_id, max(last_good_night) from source_run group by source_id"
        return {source_id: night for source_id, night in connection.execute(query).fetchall() if night}


def frame(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """Returns the rows of a query as a frame."""
    table = pl.from_arrow(connection.sql(query, params=parameters).to_arrow_table())
    assert isinstance(table, pl.DataFrame)
    return table


def _last_good(connection: duckdb.DuckDBPyConnection, source_id: str) -> tuple[date | None, str | None]:
    row = connection.execute(
        "select last_good_night, content_digest from source_run where source_id = ? order by night desc limit 1",
        [source_id],
    ).fetchone()
    return row if row else (None, None)


def _stands(connection: duckdb.DuckDBPyConnection, result: SourceNight, digest: str | None) -> bool:
    """Whether a good run of this night had the same offerings.

    What it found still stands: the last good night is now this one, and against it nothing has changed.
    """
    row = connection.execute(
        "select outcome, content_digest from source_run where night = ? and source_id = ?",
        [result.night, result.source_id],
    ).fetchone()
    return row is not None and row[0] in GOOD_OUTCOMES and row[1] == digest


def _refuse_the_past(connection: duckdb.DuckDBPyConnection, result: SourceNight) -> None:
    row = connection.execute(
        "select max(night) from source_run where source_id = ?", [result.source_id]
    ).fetchone()
    if row and row[0] is not None and row[0] > result.night:
        raise WarehouseError(
            f"{result.source_id}: night {result.night} lies before {row[0]}, which is loaded; use a later --date"
        )


def _replace_snapshot(connection: duckdb.DuckDBPyConnection, result: SourceNight) -> None:
    for table in ("offering", "reject", "listing", "capture"):
        connection.execute(f"delete from {table} where source_id = ?", [result.source_id])
    insert(connection, "offering", result.offerings, night=result.night)
    insert(connection, "reject", result.rejects, night=result.night)
    insert(connection, "listing", result.listings, night=result.night)
    for row in result.captures:
        connection.execute(
            "insert into capture values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                result.source_id,
                row.part,
                result.night,
                row.url,
                row.status,
                row.content_type,
                row.bytes,
                row.capture_sha256,
                row.fetched_at,
            ],
        )
    history.update(connection, result.source_id, result.night)


def _record_run(
    connection: duckdb.DuckDBPyConnection,
    result: SourceNight,
    outcome: Outcome,
    last_good_night: date | None,
    digest: str | None,
) -> None:
    connection.execute(
        "delete from source_run where night = ? and source_id = ?", [result.night, result.source_id]
    )
    connection.execute(
        "insert into source_run values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            result.night,
            result.source_id,
            result.started_at,
            outcome,
            result.reason,
            len(result.captures),
            sum(row.bytes for row in result.captures),
            result.listings.height,
            result.offerings.height,
            result.rejects.height,
            None,  # findings: counted where they stand
            result.seconds,
            last_good_night,
            digest,
        ],
    )
