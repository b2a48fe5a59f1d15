"""What the night writes of each source: those that it asks, and the providers that it knows and cannot ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import polars as pl

from scrapers.contract import Source
from transforms.reference.tables import read

BUNDLED_ONLY = "no module asks it: its prices are those of the bundled list"
SOURCE = pl.Schema(
    {
        "source_id": pl.String,
        "kind": pl.String,
        "basis": pl.String,
        "provider": pl.String,
        "name": pl.String,
        "segment": pl.String,
        "homepage": pl.String,
        "pricing_url": pl.String,
        "terms": pl.String,
        "terms_url": pl.String,
        "terms_note": pl.String,
        "is_on": pl.Boolean,
        "off_reason": pl.String,
        "auth_env": pl.String,
    }
)


def provider_of(source: Source) -> str | None:
    """Returns the provider whose offers a source lists; None for one of many providers or of no offers."""
    speaks_for_one = source.basis in ("own", "mirror") and source.segment is not None
    return (source.provider or source.id) if speaks_for_one else None


def bundled_providers() -> set[str]:
    """Returns the providers that the bundled list has a price of."""
    content = files("scrapers.bundled").joinpath("list_prices.csv").read_bytes()
    return set(pl.read_csv(content, columns=["provider"], infer_schema=False)["provider"])


def source_rows(sources: Sequence[Source], off_reasons: Mapping[str, str | None]) -> pl.DataFrame:
    """Returns the table `source`: modules, providers of the bundled list alone, and providers without any price."""
    asked = {provider_of(source) for source in sources}
    silent = [_silent(row) for row in _not_asked(asked)]
    rows = [_module(source, off_reasons[source.id]) for source in sources] + silent
    return pl.DataFrame(rows, schema=SOURCE).sort("source_id")


def _module(source: Source, off_reason: str | None) -> dict[str, Any]:
    same = ("basis", "name", "segment", "homepage", "pricing_url", "terms", "terms_url", "terms_note")
    return {name: getattr(source, name) for name in same} | {
        "source_id": source.id,
        "kind": "module",
        "provider": provider_of(source),
        "is_on": off_reason is None,
        "off_reason": off_reason,
        "auth_env": source.auth.env if source.auth else None,
    }


def _not_asked(asked: set[str | None]) -> list[dict[str, Any]]:
    """Returns a row for each provider that no module asks: those of the bundled list, then those without a price."""
    bundled = bundled_providers() - asked
    facts = read("provider").unique("provider", keep="first", maintain_order=True)
    known = {row["provider"]: row for row in facts.iter_rows(named=True)}
    without = read("not_collected").rename({"source_id": "provider"})
    rows = [{"provider": name, "kind": "bundled", "reason": BUNDLED_ONLY} for name in bundled]
    rows += [
        {**row, "kind": "none"}
        for row in without.iter_rows(named=True)
        if row["provider"] not in asked | bundled
    ]
    return [{**known.get(row["provider"], {}), **row} for row in rows]


def _silent(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "source_id": row["provider"],
        "kind": row["kind"],
        "basis": None,
        "provider": row["provider"],
        "name": row.get("name") or row["provider"],
        "segment": row.get("segment"),
        "homepage": row.get("homepage"),
        "pricing_url": row.get("pricing_url"),
        "terms": row.get("terms_automated_access"),
        "terms_url": row.get("terms_url"),
        "terms_note": row.get("terms_note"),
        "is_on": False,
        "off_reason": row["reason"],
        "auth_env": row.get("api_key_env"),
    }
