"""Reads an answer that nobody has read before, and writes the code that reads it: rows of JSON, or a table of a page.

Keys and headers come from outside. They stand in the code as quoted strings, or in words of letters and digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scrapers.contract import Payload
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import html, money, read_json, tables

ROWS_KEPT = 12
NO_ROWS: tuple[tuple[str, ...], list[dict[str, Any]]] = ((), [])
LARGEST_PAGE_BYTES = 300_000

# Which key of a row is which field of a listing: the first key that matches, by order of the patterns.
KEYS = {
    "plan": (r"plan|instance_?type|flavou?r|slug|sku", r"^id$", r"name"),
    "gpu_text": (
        r"gpu_?(name|type|model)",
        r"gpu$|model|accelerator",
        r"name",
        r"plan|instance|flavou?r|slug",
    ),
    "price": (r"(^|_)(price|rate|cost)|price$|cost$|hourly", r"(^|_)(usd|eur)(_|$)"),
    "gpu_count": (
        r"(gpu|card)s?_?(count|num|number|quantity)",
        r"(num|count|number)_?(of_?)?(gpu|card)s?",
        r"^gpus$",
    ),
    "region_text": (r"region|location|datacenter|zone",),
    "currency": (r"currency",),
}
READ_AS = {
    "plan": "text",
    "gpu_text": "text",
    "price": "decimal",
    "gpu_count": "decimal",
    "region_text": "text",
    "currency": "text",
}


class DraftError(ValueError):
    """A provider cannot be begun so."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer looks like: the code that reads it, and the answer with a few rows only."""

    imports: str
    summary: str
    broken: str
    code: str
    body: bytes
    extension: str


def shape_of(source_id: str, payload: Payload) -> Shape:
    """Returns how an answer can be read: rows of JSON, or a table of a page."""
    try:
        value = read_json(payload)
    except PayloadShapeError:
        return _page_shape(source_id, payload)
    path, rows = max(_lists(value, ()), key=lambda found: len(found[1]), default=NO_ROWS)
    if not rows:
        raise DraftError(f"{payload.part}: no list of rows in this JSON: {short(str(value))}")
    fields = {name: key for name, patterns in KEYS.items() if (key := _key(rows[0], patterns, READ_AS[name]))}
    if not {"gpu_text", "price"} <= fields.keys():
        raise DraftError(
            f"{payload.part}: no name and price among the keys {short(', '.join(rows[0]))}; write the module by hand"
        )
    steps = "".join(f"[{_quoted(step)}]" for step in path)
    del rows[ROWS_KEPT:]
    return Shape(
        imports="from scrapers.readers import At, read_json",
        summary=f"One listing for each row of {_words(path) or 'the list'}.",
        broken="Not this JSON, or no rows.",
        code=_json_code(source_id, steps, fields, [key for key in rows[0] if key not in fields.values()]),
        body=f"{_json(value)}\n".encode(),
        extension="json",
    )


def _lists(value: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """Returns the lists of mappings that can be reached over keys alone, with their paths."""
    if isinstance(value, list):
        return [(path, value)] if value and all(isinstance(row, dict) for row in value) else []
    if not isinstance(value, dict) or len(path) > 5:
        return []
    return [found for key, inner in value.items() for found in _lists(inner, (*path, key))]


def _key(row: Mapping[str, Any], patterns: Sequence[str], kind: str) -> str | None:
    for pattern in patterns:
        for key, value in row.items():
            is_number = isinstance(value, Decimal) or re.fullmatch(r"\d+(\.\d+)?", str(value)) is not None
            if re.search(pattern, key.lower()) and (
                is_number if kind == "decimal" else isinstance(value, str) and value
            ):
                return key
    return None


def _json_code(source_id: str, steps: str, fields: Mapping[str, str], unread: Sequence[str]) -> str:
    read = {name: f"row[{_quoted(key)}].{READ_AS[name]}()" for name, key in fields.items()}
    given: dict[str, str] = {
        "provider": f'"{source_id}"',
        "plan": read.get("plan", read["gpu_text"]),
        **{name: read[name] for name in ("gpu_text", "gpu_count", "region_text", "price") if name in read},
    }
    lines = [
        f"    rows = At(payload.part, read_json(payload)){steps}",
        "    if not len(rows):",
        '        raise rows.broken("no rows")',
        f"    # Not read: {_words(unread) or 'nothing'}. Say the currency, and what the price is for.",
        "    for row in rows:",
        *_listing_lines(given, "        ", place="row.place", currency=read.get("currency", "None")),
    ]
    return "\n".join(lines) + "\n"


def _page_shape(source_id: str, payload: Payload) -> Shape:
    found = [
        (table, column)
        for table in tables(html(payload))
        if (column := _price_column(table.header, table.rows))
    ]
    if not found:
        raise DraftError(
            f"{payload.part}: neither JSON with rows nor a page with a table of prices; write the module by hand"
        )
    if len(payload.body) > LARGEST_PAGE_BYTES:
        raise DraftError(
            f"{payload.part}: {len(payload.body)} bytes; save the table alone, and give it with --from-file"
        )
    table, column = max(found, key=lambda pair: len(pair[0].rows))
    name = next((header for header in table.header if header and header != column), None)
    if name is None:
        raise DraftError(
            f"{payload.part}: the table of prices names no other column; write the module by hand"
        )
    given = {
        "provider": f'"{source_id}"',
        "plan": f"row[{_quoted(name)}]",
        "gpu_text": f"row[{_quoted(name)}]",
        "price": "price.amount",
    }
    unread = [header for header in table.header if header not in (name, column)]
    quoted, problem = _quoted(column), _quoted(f"no table with a column {column}")
    lines = [
        f"    found = [table for table in tables(html(payload)) if {quoted} in table.header]",
        "    if not found:",
        f'        raise PayloadShapeError(payload.part, "tables", {problem})',
        f"    # Not read: {_words(unread) or 'nothing'}. Say the currency, and what the price is for.",
        "    for number, row in enumerate(found[0].records()):",
        f"        price = money(row[{quoted}])",
        *_listing_lines(
            given, "        ", place='f"row {number}"', currency="price.currency", state="price.state"
        ),
    ]
    return Shape(
        imports="from scrapers.errors import PayloadShapeError\nfrom scrapers.readers import html, money, tables",
        summary="One listing for each row of the table of prices.",
        broken="No such table.",
        code="\n".join(lines) + "\n",
        body=payload.body,
        extension="html",
    )


def _price_column(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Returns the first column in which most cells hold money with a currency."""
    for index, name in enumerate(header):
        cells = [money(row[index]) for row in rows]
        if (
            name
            and sum(cell.amount is not None and cell.currency is not None for cell in cells) > len(rows) / 2
        ):
            return name
    return None


def _listing_lines(
    given: Mapping[str, str], indent: str, *, place: str, currency: str = "None", state: str | None = None
) -> list[str]:
    fields = {
        **given,
        "currency": currency,
        "price_per": '"instance"',
        "price_unit": '"hour"',
        **({"price_state": state} if state else {}),
        "purchase": '"on_demand"',
        "place": place,
    }
    return [
        f"{indent}yield Listing(",
        *(f"{indent}    {name}={code}," for name, code in fields.items()),
        f"{indent})",
    ]


def _json(value: Any) -> str:
    """Returns JSON with a row on each line, and numbers in the digits that they had."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(key)}: {_json(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        edge = "\n" if value and isinstance(value[0], dict) else ""
        return f"[{edge}" + f",{edge or ' '}".join(map(_json, value)) + f"{edge}]"
    return json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    """Returns a text as a string of Python code."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else ascii(text)


def _words(texts: Sequence[str]) -> str:
    """Returns texts from outside as they may stand in a comment: words, on one line, not too long."""
    return ", ".join(re.sub(r"[^\w$%. /-]", "_", text, flags=re.ASCII)[:40] for text in texts)[:80]
