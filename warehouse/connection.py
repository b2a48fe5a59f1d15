"""Opens the DuckDB files: one writer for the warehouse, any number of readers for a published release."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import duckdb

# A file of storage version 1.0 without indexes opens in every DuckDB from 1.0 on; DuckDB 2 would write a newer one
# by default, and 1.0 does not know how later versions write the index of a primary key.
STORAGE_VERSION = "v1.0.0"


class WarehouseError(Exception):
    """The warehouse cannot be written or read as asked; nothing was published."""


@contextmanager
def writing(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a connection that alone may write `path`, with the schema and the views of this version.

    Raises WarehouseError when another process holds the file or when the file is of another schema.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect()
    try:
        connection.execute("set timezone = 'UTC'")
        _attach(connection, path)
        migrate(connection)
        yield connection
    except duckdb.Error as error:
        raise WarehouseError(f"{path}: {_first_line(error)}") from error
    except RuntimeError as error:
        # DuckDB turns Ctrl-C into this.
        raise (KeyboardInterrupt() if "interrupt" in str(error).lower() else error) from error
    finally:
        connection.close()


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a read-only connection to the file at `path`. Raises WarehouseError when there is none."""
    if not path.exists():
        raise WarehouseError(f"{path}: there is no such file; run `gpu-almanac refresh` first")
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise WarehouseError(f"{path}: cannot be opened: {_first_line(error)}") from error
    try:
        connection.execute("set timezone = 'UTC'")
        yield connection
    except duckdb.Error as error:
        raise WarehouseError(f"{path}: {_first_line(error)}") from error
    finally:
        connection.close()


def copy_database(source: Path, target: Path) -> None:
    """Writes the tables, views and comments of `source` to the new file `target`, without its free blocks."""
    connection = duckdb.connect()
    try:
        connection.execute(f"attach '{_quoted(source)}' as original (read_only)")
        connection.execute(f"attach '{_quoted(target)}' as copied (storage_version '{STORAGE_VERSION}')")
        connection.execute("copy from database original to copied")
    except duckdb.Error as error:
        raise WarehouseError(f"{target}: cannot be written: {_first_line(error)}") from error
    finally:
        connection.close()


def storage_version(path: Path) -> int:
    """Returns the storage version that the file header states: 64 is the one of DuckDB 1.0."""
    header = path.read_bytes()[:20] if path.stat().st_size < 20 else path.open("rb").read(20)
    if header[8:12] != b"DUCK":
        raise WarehouseError(f"{path}: is not a DuckDB file")
    return int.from_bytes(header[12:20], "little")


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Applies the files of sql/schema that the database does not have yet, then creates the views anew.

    A table whose file changed since is made anew and keeps its rows; a column that was not there is null in them.
    Raises WarehouseError where rows would lose a column.
    """
    connection.execute(
        "create table if not exists schema_file (name varchar not null, sha256 varchar not null)"
    )
    connection.execute("comment on table schema_file is 'files of sql/schema that were applied'")
    applied = dict(connection.execute("select name, sha256 from schema_file").fetchall())
    for name, text in sql_files("schema"):
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        if applied.get(name) == sha256:
            continue
        with transaction(connection):
            if name in applied:
                _make_anew(connection, name, text)
            else:
                connection.execute(text)
            connection.execute("delete from schema_file where name = ?", [name])
            connection.execute("insert into schema_file values (?, ?)", [name, sha256])
    views = _views_in_order()
    for _, text in views:
        connection.execute(text)
    _comment_view_columns(connection, views)


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commits what happens inside, or nothing of it."""
    connection.execute("begin transaction")
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        connection.execute("commit" if is_whole else "rollback")


def sql_files(folder: str) -> list[tuple[str, str]]:
    """Returns (name, text) of each file in sql/<folder>, in the order of their names."""
    found = [item for item in files(f"sql.{folder}").iterdir() if item.name.endswith(".sql")]
    return [
        (item.name.removesuffix(".sql"), item.read_text(encoding="utf-8"))
        for item in sorted(found, key=lambda item: item.name)
    ]


def _make_anew(connection: duckdb.DuckDBPyConnection, name: str, text: str) -> None:
    """Replaces the one table that the file `name` of sql/schema makes, and puts its rows back by column name."""
    table = name.split("_", 1)[1]
    former = f"{table}_before"
    before = _columns(connection, table)
    connection.execute(f"alter table {table} rename to {former}")
    connection.execute(text)
    if lost := sorted(before - _columns(connection, table)):
        raise WarehouseError(
            f"sql/schema/{name}.sql has no {', '.join(lost)}, which this warehouse holds; refresh with the version"
            " that made it, or move the file away and lose its history"
        )
    connection.execute(f"insert into {table} by name from {former}")
    connection.execute(f"drop table {former}")


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    return {row[0] for row in connection.execute(f"select column_name from (describe {table})").fetchall()}


def _attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        connection.execute(f"attach '{_quoted(path)}' as warehouse (storage_version '{STORAGE_VERSION}')")
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise WarehouseError(f"{path}: another refresh is running; wait for it or end it") from error
        raise WarehouseError(f"{path}: cannot be opened: {_first_line(error)}") from error
    except duckdb.Error as error:
        raise WarehouseError(
            f"{path}: cannot be opened: {_first_line(error)}; move it away to start anew without its history"
        ) from error
    connection.execute("use warehouse")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _views_in_order() -> list[tuple[str, str]]:
    """Returns the views so that each comes after those that its header says it reads."""
    waiting = dict(sql_files("views"))
    ordered: list[tuple[str, str]] = []
    while waiting:
        ready = [name for name, text in waiting.items() if not _reads(text) & waiting.keys() - {name}]
        if not ready:
            raise WarehouseError(f"sql/views: {', '.join(sorted(waiting))} read each other")
        ordered += [(name, waiting.pop(name)) for name in ready]
    return ordered


def _reads(text: str) -> set[str]:
    match = re.search(r"^-- Reads: (.*?)\.", text, re.MULTILINE)
    return set(re.split(r",\s*", match.group(1))) if match else set()


def _comment_view_columns(connection: duckdb.DuckDBPyConnection, views: list[tuple[str, str]]) -> None:
    """Gives a view's column without a comment the one that a column of its name has in what the view reads.

    Raises WarehouseError where that is none, or more than one: such a column says itself what it means.
    """
    rows = connection.execute(
        "select table_name, column_name, comment from duckdb_columns()"
        " where database_name = 'warehouse' and not internal"
    ).fetchall()
    meaning = {(table, column): comment for table, column, comment in rows}
    comments = []
    for view, text in views:
        reads = _reads(text)
        for column in [column for table, column, comment in rows if table == view and comment is None]:
            found = {meaning.get((table, column)) for table in reads} - {None}
            if len(found) != 1:
                raise WarehouseError(
                    f"sql/views/{view}.sql: {column} has {len(found)} meanings in what the view reads;"
                    " give it a comment of its own"
                )
            (meaning[view, column],) = found
            comment = str(meaning[view, column]).replace("'", "''")
            comments.append(f"comment on column {view}.{column} is '{comment}'")
    connection.execute(";".join(comments))
