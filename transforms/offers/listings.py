"""Turns what a parser yields into frames, one row a record, losing no digit. Every text is cleaned here."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any

import polars as pl

from scrapers.contract import (
    ExchangeRate,
    Extra,
    Interruption,
    Listing,
    PageCount,
    Payload,
    Record,
    Stock,
)
from scrapers.errors import PayloadShapeError
from transforms.offers.schema import EXTRA, INTERRUPTION, LISTING, PAGE_COUNT, RATE, STOCK
from transforms.reference.tables import assumption

PLAIN_DIGITS = 30
CUT = "…"
BESIDE = (Stock, Interruption, ExchangeRate, Extra, PageCount)
LISTING_FIELDS = tuple(field.name for field in fields(Listing))
QUANTITIES = frozenset({"gpu_memory", "ram", "disk"})
NUMBERS = frozenset(field.name for field in fields(Listing) if "Decimal" in str(field.type))


@dataclass(frozen=True, slots=True)
class Records:
    """The records of payloads as frames: LISTING, STOCK, INTERRUPTION, RATE, EXTRA and PAGE_COUNT."""

    listings: pl.DataFrame = field(default_factory=LISTING.to_frame)
    stock: pl.DataFrame = field(default_factory=STOCK.to_frame)
    interruptions: pl.DataFrame = field(default_factory=INTERRUPTION.to_frame)
    rates: pl.DataFrame = field(default_factory=RATE.to_frame)
    extras: pl.DataFrame = field(default_factory=EXTRA.to_frame)
    page_counts: pl.DataFrame = field(default_factory=PAGE_COUNT.to_frame)


def joined(records: Iterable[Records]) -> Records:
    """Returns the rows of all of `records` as one."""
    together = [Records(), *records]
    return Records(
        **{
            frame.name: pl.concat([getattr(each, frame.name) for each in together])
            for frame in fields(Records)
        }
    )


def number_text(value: Decimal | None) -> str | None:
    """Returns the digits of a number, without an exponent where that stays readable."""
    if value is None:
        return None
    text = str(value)
    if "E" not in text and value.is_finite():
        return text
    if not value.is_finite() or abs(value.adjusted()) > PLAIN_DIGITS:
        return text
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
    """Returns the records of `payload` as frames, each row with the payload's source, part and SHA-256.

    Raises PayloadShapeError for a number of months or seconds that is larger than any.
    """
    rows: dict[type, list[Any]] = {kind: [] for kind in (Listing, *BESIDE)}
    for record in records:
        rows[type(record)].append(record)
    of_payload: dict[str, Any] = {
        "source_id": payload.source_id,
        "part": payload.part,
        "capture_sha256": hashlib.sha256(payload.body).hexdigest(),
        "fetched_at": payload.fetched_at,
    }
    return Records(
        listings=_frame(_listing_columns(rows[Listing]), LISTING, of_payload),
        stock=_frame(_columns(Stock, rows[Stock]), STOCK, of_payload),
        interruptions=_frame(_columns(Interruption, rows[Interruption]), INTERRUPTION, of_payload),
        rates=_frame(_columns(ExchangeRate, rows[ExchangeRate]), RATE, of_payload),
        extras=_frame(_columns(Extra, rows[Extra]) | _price_texts(rows[Extra]), EXTRA, of_payload),
        page_counts=_frame(_columns(PageCount, rows[PageCount]), PAGE_COUNT, of_payload),
    )


def _frame(columns: dict[str, list[Any]], schema: pl.Schema, of_payload: dict[str, Any]) -> pl.DataFrame:
    """Returns columns of values as a frame, texts cleaned; what the payload knows of itself is the same in all rows."""
    height = max(map(len, columns.values()), default=0)
    columns |= {name: [value] * height for name, value in of_payload.items() if name in schema}
    return pl.DataFrame(
        [_series(name, columns[name], kind, of_payload["part"]) for name, kind in schema.items()]
    )


def _series(name: str, values: list[Any], kind: pl.DataType, part: str) -> pl.Series:
    """Returns a column, each distinct text cleaned and cut once. Most columns say the same in every row."""
    if kind != pl.String:
        try:
            return pl.Series(name, values, kind)
        except (OverflowError, TypeError) as error:
            raise PayloadShapeError(part, name, f"a value that {kind} does not hold") from error
    known = {text: _short(name, text) for text in set(values) if text is not None}
    if len(known) == 1 and None not in values:
        return pl.repeat(next(iter(known.values())), len(values), dtype=kind, eager=True).alias(name)
    if not known:
        return pl.repeat(None, len(values), dtype=kind, eager=True).alias(name)
    return pl.Series(name, [known.get(text) for text in values], kind)


def _columns(kind: type, records: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns the fields of records of one kind as columns; a number is real there."""
    return {
        field.name: [
            float(value) if isinstance(value, Decimal) else value
            for value in map(attrgetter(field.name), records)
        ]
        for field in fields(kind)
    }


def _price_texts(extras: Sequence[Extra]) -> dict[str, list[Any]]:
    return {"price": [number_text(extra.price) for extra in extras]}


def _listing_columns(listings: Sequence[Listing]) -> dict[str, list[Any]]:
    """Returns the fields of listings as columns: numbers as text, a quantity as its number and its unit."""
    columns: dict[str, list[Any]] = {}
    for name in LISTING_FIELDS:
        values = list(map(attrgetter(name), listings))
        if name in QUANTITIES:
            columns[name] = [value and number_text(value.amount) for value in values]
            columns[f"{name}_unit"] = [value and value.unit for value in values]
        elif name in NUMBERS:
            columns[name] = [number_text(value) for value in values]
        else:
            columns[name] = values
    return columns
