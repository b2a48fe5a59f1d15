"""Records of the scraper contract as JSON, for golden files: one record is one flat object.

A Decimal and a date are strings, None is left out, and `record` names the kind. A float is refused: an amount
that went through a float is no longer what the source said.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from scrapers.contract import Record


def record_to_json(record: Record) -> dict[str, Any]:
    """One record with its kind; TypeError names a field that holds what the contract forbids."""
    fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    kind = type(record).__name__
    return {"record": kind} | {
        name: _value_to_json(value, f"{kind}.{name}") for name, value in fields.items() if value is not None
    }


def dump_golden(golden: dict[str, Any]) -> str:
    """The text of a golden file: the header indented, each record on a line of its own."""
    header = json.dumps(
        {key: value for key, value in golden.items() if key != "records"}, indent=1, ensure_ascii=False
    )
    return header.removesuffix("\n}") + ',\n "records": [\n' + _lines(golden["records"]) + "\n ]\n}\n"


def _lines(records: Iterable[dict[str, Any]]) -> str:
    return ",\n".join("  " + json.dumps(record, ensure_ascii=False) for record in records)


def _value_to_json(value: object, where: str) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str | bool | int):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: _value_to_json(part, f"{where}.{name}") for name, part in inner.items()}
    raise TypeError(f"{where}: {value!r} is a {type(value).__name__}, which no record may hold")
