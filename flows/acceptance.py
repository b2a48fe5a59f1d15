"""Held sources that a person released: what was asked tonight, and the record of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

import duckdb
import polars as pl

from warehouse.connection import transaction

NO_REASON = "no reason given"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The sources whose prices are taken tonight although they look wrong, with the reason and the time."""

    sources: Collection[str]
    reason: str
    accepted_at: datetime


def released_rules(connection: duckdb.DuckDBPyConnection, source_id: str, night: date) -> frozenset[str]:
    """Returns the rules whose findings a person has already released for this source and night."""
    row = connection.execute(
        "select findings from acceptance where source_id = ? and night = ?", [source_id, night]
    ).fetchone()
    return frozenset(finding.split(":")[0] for finding in row[0]) if row else frozenset()


def released_sources(connection: duckdb.DuckDBPyConnection, night: date) -> frozenset[str]:
    """Returns the sources that a person has released in this night."""
    rows = connection.execute("select source_id from acceptance where night = ?", [night]).fetchall()
    return frozenset(source_id for (source_id,) in rows)


def record(
    connection: duckdb.DuckDBPyConnection,
    acceptance: Acceptance,
    source_id: str,
    night: date,
    hard: pl.DataFrame,
) -> None:
    """Writes that the `hard` findings of a source were released, in place of an earlier record of the night."""
    findings = [": ".join(row) for row in hard.select("rule", "subject", "detail").iter_rows()]
    with transaction(connection):
        connection.execute("delete from acceptance where night = ? and source_id = ?", [night, source_id])
        connection.execute(
            "insert into acceptance values (?, ?, ?, ?, ?)",
            [night, source_id, acceptance.accepted_at, acceptance.reason, findings],
        )
