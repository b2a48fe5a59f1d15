"""Reads the reference facts, each row with its source and date, and refuses a row that cannot be true."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import polars as pl

from transforms.reference.checks import FactsError, check_references, check_rows
from transforms.reference.specs import TABLES, Table

__all__ = ["FactsError", "assumption", "read", "read_text"]


@lru_cache
def read(name: str) -> pl.DataFrame:
    """Returns a reference table, with the types of its entry in `specs.TABLES`.

    Raises:
        FactsError: no such table, a column too many or too few, a cell of another type, or a row that
            `checks` does not believe.
    """
    spec = TABLES.get(name)
    if spec is None:
        raise FactsError(f"{name}.csv: no such table; there are {', '.join(sorted(TABLES))}")
    rows = read_text(name, files("transforms.reference").joinpath(f"{name}.csv").read_bytes(), spec)
    check_references(name, rows, spec, lambda table, key: read(table)[key].to_list())
    return rows


def read_text(name: str, content: bytes, spec: Table) -> pl.DataFrame:
    """Returns the rows of CSV bytes as table `name`, checked by themselves but not against other tables."""
    # Only an empty cell is null: NA is North America.
    raw = pl.read_csv(content, infer_schema=False, null_values=[""])
    types = spec.types()
    if odd := sorted(set(raw.columns) ^ set(types)):
        raise FactsError(f"{name}.csv: header: {odd[0]}: the columns are not those of its entry in specs.py")
    rows = raw.with_columns(_typed(column, kind) for column, kind in types.items())
    for column, kind in types.items():
        broken = raw.filter(pl.col(column).is_not_null() & rows[column].is_null())
        if not broken.is_empty():
            key = broken[spec.key[0]][0]
            raise FactsError(f"{name}.csv: {key}: {column} = {broken[column][0]!r:.60}: not of type {kind}")
    check_rows(name, rows, spec)
    return rows


def _typed(column: str, kind: pl.DataType) -> pl.Expr:
    """Returns a text column in its type; what cannot be read is null."""
    cell = pl.col(column)
    if kind == pl.Boolean:
        return cell.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    if kind == pl.Date:
        return cell.str.to_date("%Y-%m-%d", strict=False)
    return cell.cast(kind, strict=False)


@lru_cache
def assumption(assumption_id: str) -> float:
    """Returns the value of one stated assumption, in the unit of its row."""
    rows = read("assumption").filter(pl.col("assumption_id") == assumption_id)
    if rows.height != 1:
        raise FactsError(f"assumption.csv: no single row {assumption_id!r}")
    return float(rows["value"][0])
