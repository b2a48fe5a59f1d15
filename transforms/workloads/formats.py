"""Which row of quant_format.csv a spelling of a precision means: quant_alias.csv, read from the top."""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

from transforms.reference import tables


class UnknownFormatError(ValueError):
    """No weight format of quant_format.csv is spelt like this."""


@lru_cache
def _aliases() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = tables.read("quant_alias").select("pattern", "weight_precision").iter_rows()
    return tuple((re.compile(pattern), name) for pattern, name in rows)


@lru_cache
def _names() -> frozenset[str]:
    return frozenset(tables.read("quant_format")["weight_precision"])


@lru_cache(maxsize=10_000)
def resolve(text: str) -> str:
    """Returns the weight_precision of quant_format.csv that a spelling means.

    Capitals, hyphens, underscores, dots between words and brackets do not matter.

    Raises:
        UnknownFormatError: nothing known is spelt like this.
    """
    plain = re.sub(r"[\s_\-/()\[\],]+|\.(?!\d)", " ", text.casefold()).strip()
    exact = plain.replace(" ", "-")
    if exact in _names():
        return exact
    for pattern, name in _aliases():
        if pattern.search(plain):
            return name
    raise UnknownFormatError(f"{text:.60}: no weight format of quant_format.csv is spelt like this")


def with_weight_precision(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Returns the frame with weight_precision and precision_problem: one of the two is null in each row."""
    spelt = frame[column].unique().to_list()
    found = [_found(text) for text in spelt]
    answers = pl.DataFrame(
        {
            column: pl.Series(spelt, dtype=pl.String),
            "weight_precision": pl.Series([name for name, _ in found], dtype=pl.String),
            "precision_problem": pl.Series([problem for _, problem in found], dtype=pl.String),
        }
    )
    return frame.join(answers, on=column, how="left", nulls_equal=True, maintain_order="left")


def _found(text: str | None) -> tuple[str | None, str | None]:
    if not text or not text.strip():
        return None, "no precision is stated"
    try:
        return resolve(text), None
    except UnknownFormatError as error:
        return None, str(error)
