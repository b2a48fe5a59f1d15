"""Which engine of which age runs a model, and what it does between the steps: engine.csv, read from the top."""

from __future__ import annotations

from functools import lru_cache

import polars as pl

from transforms.reference import tables

# What a competent user serves with today.
DEFAULT = "vllm_v1"
COLUMNS = (
    "engine_id",
    "layer_cost",
    "expert_cost",
    "step_cost",
    "sequence_cost",
    "kernels",
    "shares_steps",
    "reserves_output",
    "max_sequences_of_engine",
    "max_offline_sequences",
)


@lru_cache
def _engines() -> pl.DataFrame:
    rows = tables.read("engine")
    before = _version(pl.col("version_before"))
    numbers = [pl.col(n).cast(pl.Float64) for n in ("max_sequences", "max_offline_sequences")]
    return rows.with_columns(*numbers, before=before).rename({"max_sequences": "max_sequences_of_engine"})


def _version(text: pl.Expr) -> pl.Expr:
    """A release as a number that sorts: 0.10 is 0.01, 1.2 is 1.002; null for a date, a hash or nothing."""
    major, minor = (text.str.extract(r"^v?(\d{1,2})\.(\d{1,3})", n).cast(pl.Float64) for n in (1, 2))
    return major + minor / 1000


def with_engine(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of the engine that `engine`, `engine_version` and `date` name.

    A release before `version_before` is of that row; where no release is stated, the date decides.
    """
    engine = pl.col("engine").fill_null("").str.to_lowercase()
    found = pl.lit(None, pl.String)
    for row in _engines().reverse().iter_rows(named=True):
        is_it = engine.str.contains(row["pattern"]) & _is_of_age(row["before"], row["date_before"])
        found = pl.when(is_it).then(pl.lit(row["engine_id"])).otherwise(found)
    rows = rows.with_columns(engine_id=found)
    return rows.join(_engines().select(COLUMNS), on="engine_id", how="left", maintain_order="left")


def _is_of_age(before: float | None, date_before: str | None) -> pl.Expr:
    """True where the release, or else the date, is before that of a row; a row without either takes all."""
    if before is None and date_before is None:
        return pl.lit(True)
    by_date = (pl.col("date") < date_before).fill_null(False) if date_before else pl.lit(False)
    if before is None:
        return by_date
    version = _version(pl.col("engine_version"))
    return pl.when(version.is_not_null()).then(version < before).otherwise(by_date)


def with_default_engine(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of the engine that offers are ranked with, and its name as `engine`."""
    default = _engines().row(by_predicate=pl.col("engine_id") == DEFAULT, named=True)
    named = {name: pl.lit(default[name]) for name in COLUMNS}
    return rows.with_columns(engine=pl.lit(default["label"]), **named)
