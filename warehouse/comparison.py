"""Compares the sources of one provider with each other, once all sources of a night are loaded."""

from __future__ import annotations

from datetime import date

import duckdb

from transforms.offers.quality_sources import sources_disagree
from warehouse.connection import transaction
from warehouse.load import count_findings, frame, insert


def compare_sources(connection: duckdb.DuckDBPyConnection, night: date) -> None:
    """Writes the findings of `night` about mirrors and catalogs; those of an earlier run of the night go."""
    found = sources_disagree(frame(connection, "select * from price_of_two_sources"))
    with transaction(connection):
        connection.execute("delete from finding where night = ? and rule = 'sources_disagree'", [night])
        insert(connection, "finding", found, night=night)
        count_findings(connection, night)
