"""A parser in a process of its own: what it says comes back, and what it breaks stays there."""

from __future__ import annotations

from datetime import UTC, datetime

import odd_parsers
import pytest

from flows import apart
from flows.apart import parsed, parsed_apart
from scrapers.contract import Payload
from scrapers.errors import ParserError, PayloadShapeError

AT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)


def payload(body: bytes, part: str = "prices") -> Payload:
    return Payload(source_id="odd_parsers", part=part, url="https://odd.example/", fetched_at=AT, body=body)


def test_the_same_rows_as_in_this_process() -> None:
    payloads = [payload(b"2.50"), payload(b"0.10", "more")]
    there, here = parsed_apart(odd_parsers, payloads), parsed(odd_parsers, payloads)
    assert there.listings["price"].to_list() == ["2.50", "0.10"]
    for name in ("listings", "stock", "interruptions", "rates", "extras", "page_counts"):
        assert getattr(there, name).equals(getattr(here, name))


def test_no_payload_gives_no_rows() -> None:
    assert parsed_apart(odd_parsers, []).listings.height == 0


def test_an_unknown_shape_names_its_place() -> None:
    with pytest.raises(PayloadShapeError, match=r"prices: plans\[3\]\.price: missing"):
        parsed_apart(odd_parsers, [payload(b"2.50", "more"), payload(b"shape")])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"raise", "the parser broke: ZeroDivisionError: a fault of ours"),
        (b"eat", "the parser broke: MemoryError"),
        (b"die", "the parser died, exit code 7"),
        (b"hang", "took more than 2 s and was ended"),
    ],
)
def test_a_fault_of_a_parser_is_its_own(body: bytes, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LONGEST_PARSE_S", 2)
    with pytest.raises(ParserError, match=problem):
        parsed_apart(odd_parsers, [payload(body)])
    assert parsed_apart(odd_parsers, [payload(b"1")]).listings.height == 1
