"""Copies the facts that the views need into the warehouse, so that the published file explains itself."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import polars as pl

from warehouse.connection import transaction
from warehouse.load import frame, insert


def write(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pl.DataFrame]) -> None:
    """Replaces the contents of each table; a table that already holds the same rows is left alone."""
    for name, rows in tables.items():
        present = frame(connection, f"select * from {name}")
        wanted = rows.select(present.columns).cast(present.schema)
        if present.equals(wanted):
            continue
        with transaction(connection):
            connection.execute(f"delete from {name}")
            insert(connection, name, wanted)
