"""Turns what a parser yields into frames, one row a record, losing no digit. Every text is cleaned here."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import polars as pl

from scrapers.contract import ExchangeRate, Interruption, Listing, Payload, Quantity, Record, Stock
from transforms.offers.schema import INTERRUPTION, LISTING, RATE, STOCK
from transforms.reference.tables import assumption

PLAIN_DIGITS = 30
CUT = "…"


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one payload as frames: LISTING, STOCK, INTERRUPTION and RATE."""

    listings: pl.DataFrame
    stock: pl.DataFrame
    interruptions: pl.DataFrame
    rates: pl.DataFrame


def number_text(value: Decimal | None) -> str | None:
    """Returns the digits of a number, without an exponent where that stays readable."""
    if value is None:
        return None
    if not value.is_finite() or abs(value.adjusted()) > PLAIN_DIGITS:
        return str(value)
    return format(value, "f")


def clean(text: str) -> str:
    """Returns a text of one line that shows all it holds.

    White space becomes single spaces. Control and format characters go (NUL, ESC, what turns the direction of
    the text or has no width), and half a character becomes U+FFFD.
    """
    if not text.isprintable():
        text = text.translate({ord(sign): _replacement(sign) for sign in set(text) if not sign.isprintable()})
    return " ".join(text.split())


def _replacement(sign: str) -> str:
    """Returns what stands for a character that cannot be printed."""
    if sign.isspace():
        return " "
    return {"Cc": "", "Cf": "", "Cs": "\ufffd"}.get(unicodedata.category(sign), sign)


@lru_cache
def longest_text(column: str) -> int:
    """Returns how many characters a text of this column may have."""
    kind = {"note": "note", "source_url": "url"}.get(column, "text")
    return int(assumption(f"{kind}_longest_characters"))


def _short(column: str, text: str) -> str:
    """Returns the text clean, and cut where it is too long: then it is longer than allowed by the sign of the cut."""
    cleaned = clean(text)
    longest = longest_text(column)
    return cleaned if len(cleaned) <= longest else cleaned[:longest] + CUT


def listing_frame(records: Iterable[Record], payload: Payload) -> Records:
    """Returns the records of `payload` as frames, each row with the payload's source, part and SHA-256."""
    origin = {
        "source_id": payload.source_id,
        "part": payload.part,
        "capture_sha256": hashlib.sha256(payload.body).hexdigest(),
        "fetched_at": payload.fetched_at,
    }
    rows: dict[type, list[dict[str, Any]]] = {Listing: [], Stock: [], Interruption: [], ExchangeRate: []}
    for record in records:
        rows[type(record)].append(_row(record) | origin)
    return Records(
        listings=_frame(rows[Listing], LISTING),
        stock=_frame(rows[Stock], STOCK),
        interruptions=_frame(rows[Interruption], INTERRUPTION),
        rates=_frame(rows[ExchangeRate], RATE),
    )


def _frame(rows: list[dict[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in schema}
    for name in (name for name, kind in schema.items() if kind == pl.String):
        columns[name] = [None if text is None else _short(name, text) for text in columns[name]]
    return pl.DataFrame(columns, schema=schema)


def _row(record: Record) -> dict[str, Any]:
    match record:
        case Listing():
            return _listing_row(record)
        case Stock():
            return {name: getattr(record, name) for name in Stock.__slots__}
        case Interruption():
            return {
                "provider": record.provider,
                "plan": record.plan,
                "region_text": record.region_text,
                "place": record.place,
                "monthly_low_pct": float(record.monthly_low_pct),
                "monthly_high_pct": _real(record.monthly_high_pct),
                "saving_pct": _real(record.saving_pct),
            }
        case ExchangeRate():
            return {
                "base": record.base,
                "quote": record.quote,
                "rate": float(record.rate),
                "rate_date": record.rate_date,
            }


def _real(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _listing_row(listing: Listing) -> dict[str, Any]:
    """Returns the fields by name: numbers as text, a quantity as its number and its unit."""
    row: dict[str, Any] = {}
    for name in Listing.__slots__:
        value = getattr(listing, name)
        if isinstance(value, Decimal):
            value = number_text(value)
        elif isinstance(value, Quantity):
            row[f"{name}_unit"] = value.unit
            value = number_text(value.amount)
        row[name] = value
    for name in ("gpu_memory", "ram", "disk"):
        row.setdefault(f"{name}_unit", None)
    return row
