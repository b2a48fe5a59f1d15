"""What a reference row must satisfy to be believed: a source, a date, known keys, and figures that physics allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import polars as pl

from transforms.reference import limits
from transforms.reference.specs import Table


class FactsError(ValueError):
    """A reference row without a source or date, with an unknown or double key, or with an impossible figure."""


def check_rows(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """Raises FactsError for the first row without key, source or date, with a double key, or beyond its limits."""
    for column in spec.sources:
        _refuse(name, spec, rows.filter(_is_blank(column)), column, "no source")
    _refuse(
        name,
        spec,
        rows.filter(pl.all_horizontal(_is_blank(day) for day in spec.dates)),
        spec.dates[0],
        "no date",
    )
    _refuse(name, spec, rows.filter(_is_blank(spec.key[0])), spec.key[0], "no key")
    _refuse(
        name, spec, rows.filter(pl.struct(spec.key).is_duplicated()), spec.key[0], "the key is there twice"
    )
    _check_cells(name, rows, spec)
    for check in RULES.get(name, ()):
        check(name, rows, spec)


def _check_cells(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """Raises FactsError for a figure, a code, a text or a day that its column may not hold. An empty cell may stay."""
    for column, allowed in limits.VALUES.get(name, {}).items():
        wrong = rows.filter(~pl.col(column).is_in(sorted(allowed)))
        _refuse(name, spec, wrong, column, f"not one of {', '.join(sorted(allowed))}")
    for column, shape in limits.SHAPES.get(name, {}).items():
        wrong = rows.filter(~pl.col(column).str.contains(f"^(?:{shape})$"))
        _refuse(name, spec, wrong, column, f"not of the shape {shape}")
    bounds = limits.BOUNDS.get(name, {})
    for column in (*spec.ints.split(), *spec.reals.split()):
        low, high = bounds.get(column, limits.ABOVE_ZERO)
        wrong = rows.filter(~pl.col(column).cast(pl.Float64).is_between(low, high))
        _refuse(name, spec, wrong, column, f"outside {low:g} to {high:g}")
    earliest, latest = limits.EARLIEST_DAY.isoformat(), limits.LATEST_DAY.isoformat()
    for column in (*spec.days.split(), *limits.TEXT_DAYS.get(name, ())):
        # a month or a year compares as the text that a day of it starts with
        wrong = rows.filter(~pl.col(column).cast(pl.String).is_between(pl.lit(earliest[:4]), pl.lit(latest)))
        _refuse(name, spec, wrong, column, f"not from {earliest} to {latest}, the LATEST_DAY of limits.py")


def check_references(
    name: str, rows: pl.DataFrame, spec: Table, known: Callable[[str, str], Iterable[str]]
) -> None:
    """Raises FactsError for a row that points to a key which the other table does not have.

    `known(table, column)` gives the keys of another table.
    """
    for to in limits.REFERENCES.get(name, ()):
        keys = {key.removeprefix(to.prefix) for key in known(to.table, to.key) if key.startswith(to.prefix)}
        named = rows.with_columns(pointed=pl.col(to.column).str.split(to.separator)).explode("pointed")
        wrong = named.filter(~pl.col("pointed").is_in(sorted(keys | to.also)))
        _refuse(name, spec, wrong, to.column, f"names a key that {to.table}.csv does not have")


def _is_blank(column: str) -> pl.Expr:
    return pl.col(column).is_null() | (pl.col(column).cast(pl.String).str.strip_chars() == "")


def _refuse(name: str, spec: Table, wrong: pl.DataFrame, column: str, problem: str) -> None:
    if wrong.is_empty():
        return
    row = wrong.row(0, named=True)
    key = " / ".join(str(row[part]) for part in spec.key[:2])
    raise FactsError(f"{name}.csv: {key[:80]}: {column} = {str(row[column])[:60]}: {problem}")


def _check_peaks(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """A narrower number format is never slower than the next wider one on the same tensor units."""
    ladder = ("tf32_dense_tflops", "bf16_dense_tflops", "fp8_dense_tflops", "fp4_dense_tflops")
    for wide, narrow in pairwise(ladder):
        slower = rows.filter(pl.col(narrow) < 0.99 * pl.col(wide))
        _refuse(name, spec, slower, narrow, f"below {wide}, though the format is narrower")
    above = rows.filter(pl.col("usable_gib") > 1.001 * pl.col("vram_gb"))
    _refuse(name, spec, above, "usable_gib", "more than the card has")


def _check_geometry(name: str, rows: pl.DataFrame, spec: Table) -> None:
    """Attention heads divide evenly over KV heads, and together are of the order of the hidden size."""
    heads, kv_heads, hidden = pl.col("num_attention_heads"), pl.col("num_kv_heads"), pl.col("hidden_size")
    uneven = rows.filter((kv_heads > heads) | (heads % kv_heads != 0))
    _refuse(name, spec, uneven, "num_kv_heads", "does not divide the attention heads")
    width = heads * pl.col("head_dim") / hidden
    _refuse(
        name,
        spec,
        rows.filter(~width.is_between(0.2, 16)),
        "head_dim",
        "heads x head_dim is far from hidden_size",
    )
    more = rows.filter(pl.col("params_active") > pl.col("params_total"))
    _refuse(name, spec, more, "params_active", "more than params_total")


def _check_band(name: str, rows: pl.DataFrame, spec: Table) -> None:
    outside = rows.filter((pl.col("value") < pl.col("low")) | (pl.col("value") > pl.col("high")))
    _refuse(name, spec, outside, "value", "outside its own low and high")


RULES: dict[str, tuple[Callable[[str, pl.DataFrame, Table], None], ...]] = {
    "gpu": (_check_peaks,),
    "model": (_check_geometry,),
    "assumption": (_check_band,),
    "coefficient": (_check_band,),
}
