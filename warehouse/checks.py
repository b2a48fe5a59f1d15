"""Runs the rules of sql/checks: each is a query for the rows that break it."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from warehouse.connection import WarehouseError, sql_files


class BrokenCheckError(WarehouseError):
    """Some rows break a rule of sql/checks."""


@dataclass(frozen=True, slots=True)
class BrokenCheck:
    """A rule that some rows break."""

    name: str
    offenders: int
    example: str

    def __str__(self) -> str:
        return f"sql/checks/{self.name}.sql: {self.offenders} rows break the rule, such as {self.example}"


def run_checks(connection: duckdb.DuckDBPyConnection, *, source_id: str | None = None) -> list[BrokenCheck]:
    """Returns the rules that are broken; of one source those that look at its offers alone."""
    broken = []
    for name, text in sql_files("checks"):
        if source_id is None:
            offenders = connection.execute(text).fetchall()
        elif "\n-- Reads: offering.\n" in text:
            query = f"from ({text}) where source_id = $source_id"
            offenders = connection.execute(query, {"source_id": source_id}).fetchall()
        else:
            continue
        if offenders:
            broken.append(BrokenCheck(name, len(offenders), str(offenders[0])[:200]))
    return broken


def refuse_broken(connection: duckdb.DuckDBPyConnection, *, source_id: str | None = None) -> None:
    """Raises BrokenCheckError with the first broken rule."""
    broken = run_checks(connection, source_id=source_id)
    if broken:
        raise BrokenCheckError(f"{broken[0]}; {len(broken)} checks broken")
