"""Held sources that a person released: what was asked tonight, and the record of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

import duckdb
import polars as pl

from transforms.offers.quality_rules import severity, stands_days
from warehouse.connection import transaction

NO_REASON = "no reason given"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The sources whose prices are taken tonight although they look wrong, with the reason and the time."""

    sources: Collection[str]
    reason: str
    accepted_at: datetime


def is_released(
    connection: duckdb.DuckDBPyConnection, source_id: str, night: date, hard: pl.DataFrame
) -> bool:
    """Whether a person has released each of these hard findings of a source, and the release still stands.

    A release of a rule with `stands_days` stands that long. The share that a hard_when_many rule found may move
    meanwhile; what a hard rule found may not. What changed since the last good night is asked about each time.
    """
    rows = connection.execute(
        "select night, unnest(findings) from acceptance where source_id = ? and night <= ?",
        [source_id, night],
    ).fetchall()
    newest: dict[str, date] = {}
    for released, finding in sorted(rows):
        newest[finding] = newest[_without_detail(finding)] = released
    return all(
        (days := stands_days(rule)) is not None
        and (released := newest.get(_of_release(rule, subject, detail))) is not None
        and (night - released).days <= days
        for rule, subject, detail in hard.select("rule", "subject", "detail").iter_rows()
    )


def _of_release(rule: str, subject: str, detail: str) -> str:
    """Returns what a release must have named to hold for this finding."""
    finding = f"{rule}: {subject}: {detail}"
    return _without_detail(finding) if severity(rule) == "hard_when_many" else finding


def _without_detail(finding: str) -> str:
    """Returns rule and subject of a finding. The detail of a rule with `stands_days` has no colon."""
    return finding.rpartition(": ")[0]


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
