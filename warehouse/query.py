"""Questions to a published release, for the command line. Rows come as plain Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from warehouse.connection import WarehouseError, reading


@dataclass(frozen=True, slots=True)
class Answer:
    """Columns and rows of a query."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """Returns each row as a mapping from column to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def ask(database: Path, sql: str, parameters: Mapping[str, object] | None = None) -> Answer:
    """Returns the answer to `sql`. Raises WarehouseError with the first line of what DuckDB says of a bad query."""
    with reading(database) as connection:
        # A query may read the release and nothing else: no other files, no network, no extensions.
        connection.execute("set enable_external_access = false")
        try:
            cursor = connection.execute(sql, parameters) if parameters else connection.execute(sql)
            if not cursor or not cursor.description:
                raise WarehouseError("sql: the query gives no rows; ask with select")
            return Answer(_distinct([column[0] for column in cursor.description]), cursor.fetchall())
        except duckdb.CatalogException as error:
            hint = "a file of another version is made anew by `gpu-almanac refresh`"
            raise WarehouseError(f"sql: {str(error).splitlines()[0]} ({hint})") from error
        except duckdb.Error as error:
            raise WarehouseError(f"sql: {str(error).splitlines()[0]}") from error


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names with a number behind those that were there before."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(found)
