"""Writes docs/data_dictionary.md from the comments in sql/schema and sql/views: `python -m warehouse.dictionary`."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from warehouse.connection import migrate

VIEWS = """
    select table_name, column_name, data_type, coalesce(duckdb_columns.comment, ''), coalesce(view.comment, '')
    from duckdb_columns()
    join duckdb_views() as view on view.view_name = table_name and view.database_name = 'warehouse'
    where duckdb_columns.database_name = 'warehouse' and not duckdb_columns.internal
    order by table_name, column_index
"""


def dictionary() -> str:
    """Returns the columns of all public views as Markdown."""
    connection = duckdb.connect()
    try:
        connection.execute("attach ':memory:' as warehouse")
        connection.execute("use warehouse")
        migrate(connection)
        rows = connection.execute(VIEWS).fetchall()
    finally:
        connection.close()
    lines = [
        "# Data dictionary",
        "",
        "The views of `gpu_almanac.duckdb`. Made from the comments of the SQL files.",
    ]
    present = None
    for view, column, kind, meaning, about in rows:
        if view != present:
            lines += ["", f"## {view}", "", f"{about[:1].upper()}{about[1:]}.", ""]
            lines += ["| column | type | meaning |", "|---|---|---|"]
            present = view
        lines.append(f"| `{column}` | {kind.lower()} | {meaning} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/data_dictionary.md")
    target.write_text(dictionary(), encoding="utf-8")
