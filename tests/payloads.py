"""The own payload files of every provider, and ways to spoil them."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scrapers.contract import Payload

CAPTURES = Path(__file__).parent / "captures"
FETCHED_AT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)


def own_payloads(provider_id: str) -> list[Payload]:
    """The payloads of a provider, as its golden file describes them."""
    folder = CAPTURES / provider_id
    headers = json.loads((folder / "listings.json").read_text(encoding="utf-8"))["payloads"]
    return [
        Payload(
            source_id=provider_id,
            part=header["part"],
            url=header["url"],
            fetched_at=FETCHED_AT,
            body=(folder / name).read_bytes(),
            content_type=header["content_type"],
        )
        for name, header in sorted(headers.items())
    ]


def is_json(payload: Payload) -> bool:
    """Whether the body is JSON."""
    try:
        json.loads(payload.body)
    except ValueError:
        return False
    return True


def truncated(payload: Payload, rng: random.Random) -> Payload:
    """The payload, cut off at some byte."""
    return replace(payload, body=payload.body[: rng.randrange(len(payload.body))])


def with_noise(payload: Payload, rng: random.Random) -> Payload:
    """The payload with some bytes changed, doubled, or taken out."""
    body = bytearray(payload.body)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(body) or 1)
        match rng.randrange(4):
            case 0:
                body[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del body[at : at + rng.randrange(1, 30)]
            case 2:
                body[at:at] = body[at : at + rng.randrange(1, 200)]
            case _:
                body[at:at] = rng.choice(HOSTILE)
    return replace(payload, body=bytes(body))


HOSTILE = (
    b"\0",
    b"\xff\xfe",
    "\u202e\u200b１２".encode(),
    b"1e999999",
    b"-0",
    b"NaN",
    b"99999999999999999999999999999999999999999",
    b"<script>",
    b"</td><td>",
    b"{}",
    b"[[[[",
    b'"',
    b"null",
    b"\\ud800",
    b"$0",
    b"1/0",
    b"from ",
)
ENCODINGS = ("utf-8-sig", "utf-16", "cp1252", "gb18030")


def re_encoded(payload: Payload, encoding: str) -> Payload | None:
    """The payload in another encoding, which its content type names; None where that cannot hold it."""
    try:
        body = payload.body.decode().encode(encoding)
    except UnicodeError:
        return None
    kind = payload.content_type.partition(";")[0] or "text/plain"
    name = "utf-8" if encoding == "utf-8-sig" else encoding
    return replace(payload, body=body, content_type=f"{kind}; charset={name}")


def reordered(payload: Payload, rng: random.Random) -> Payload | None:
    """The payload with the keys of every JSON object, or the columns of a CSV, in another order; None for others."""
    if is_json(payload):
        value = json.loads(payload.body, parse_float=_Digits, parse_int=_Digits)
        return replace(payload, body=_dump(_shuffled(value, rng)).encode())
    if payload.content_type.startswith("text/csv"):
        rows = list(csv.reader(io.StringIO(payload.body.decode(), newline="")))
        if rows and all(len(row) == len(rows[0]) for row in rows if row):
            order = rng.sample(range(len(rows[0])), len(rows[0]))
            out = io.StringIO()
            csv.writer(out).writerows([[row[index] for index in order] for row in rows if row])
            return replace(payload, body=out.getvalue().encode())
    return None


class _Digits(str):
    """A number of JSON, in the digits that it was written in."""

    __slots__ = ()


def _dump(value: Any) -> str:
    """JSON text, with numbers in the digits that they were written in."""
    if isinstance(value, _Digits):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_dump(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dump, value)) + "]"
    return json.dumps(value)


def _shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(value[key], rng) for key in rng.sample(list(value), len(value))}
    return [_shuffled(inner, rng) for inner in value] if isinstance(value, list) else value


def without_a_key(payload: Payload) -> Iterator[tuple[str, Payload]]:
    """The payload without one key wherever it stands, once for each key that is no mere number."""
    value = json.loads(payload.body, parse_float=_Digits, parse_int=_Digits)
    for key in sorted(keys(payload)):
        yield key, replace(payload, body=_dump(_dropped(value, key)).encode())


def keys(payload: Payload) -> set[str]:
    """The names of fields of a JSON payload, at whatever depth; keys that are numbers, plans or addresses are none."""
    return {key for key in _keys(json.loads(payload.body)) if re.fullmatch(r"[A-Za-z_]\w*", key)}


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def _dropped(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _dropped(inner, key) for name, inner in value.items() if name != key}
    return [_dropped(inner, key) for inner in value] if isinstance(value, list) else value
