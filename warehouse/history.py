"""Prices and availability as half-open intervals [from_date, to_date), kept from the offerings of each night."""

from __future__ import annotations

from datetime import date

import duckdb

_TRACKED = {
    "price_history": (
        "price_listed",
        "currency",
        "price_usd_per_gpu_hour",
        "price_usd_per_instance_hour",
        "price_state",
    ),
    "availability_history": ("availability",),
}
# What makes a new interval. A USD price that moves only with the exchange rate is not a new price.
_CHANGES = {
    "price_history": ("price_listed", "currency", "price_state"),
    "availability_history": ("availability",),
}


def update(connection: duckdb.DuckDBPyConnection, source_id: str, night: date) -> None:
    """Brings the intervals of `source_id` in line with its offerings of `night`; safe to repeat for that night."""
    for table, columns in _TRACKED.items():
        _take_back(connection, table, source_id, night)
        _close_and_open(connection, table, columns, _CHANGES[table], source_id, night)


def _take_back(connection: duckdb.DuckDBPyConnection, table: str, source_id: str, night: date) -> None:
    """Undoes what an earlier load of the same night did."""
    connection.execute(f"delete from {table} where source_id = ? and from_date = ?", [source_id, night])
    connection.execute(
        f"update {table} set to_date = null where source_id = ? and to_date = ?", [source_id, night]
    )


def _close_and_open(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: tuple[str, ...],
    changes: tuple[str, ...],
    source_id: str,
    night: date,
) -> None:
    same = " and ".join(f"offering.{column} is not distinct from {table}.{column}" for column in changes)
    connection.execute(
        f"""
        update {table} set to_date = $night
        where source_id = $source_id and to_date is null and not exists (
            from offering
            where offering.source_id = $source_id and offering.offering_id = {table}.offering_id and {same}
        )
        """,
        {"night": night, "source_id": source_id},
    )
    names = ", ".join(columns)
    connection.execute(
        f"""
        insert into {table} by name
        select source_id, offering_id, $night as from_date, cast(null as date) as to_date, {names}
        from offering
        where source_id = $source_id and not exists (
            from {table}
            where {table}.source_id = $source_id
                and {table}.offering_id = offering.offering_id
                and {table}.to_date is null
        )
        """,
        {"night": night, "source_id": source_id},
    )
