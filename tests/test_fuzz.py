"""Spoiled answers to every parser: cut off, with noise, in another order or encoding, without a key.

What comes out is records or a PayloadShapeError that names the place, within 5 s and 500 MB. A record of a spoiled
answer never has another price class than the plan has in the golden: what is on demand does not become spot, a
lower bound no price, a price per GPU none per instance.
"""

from __future__ import annotations

import dataclasses
import random
import re
import resource
import signal
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from types import FrameType

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from payloads import (
    ENCODINGS,
    is_json,
    keys,
    own_payloads,
    re_encoded,
    reordered,
    truncated,
    with_noise,
    without_a_key,
)

from scrapers import registry
from scrapers.contract import Extra, Listing, Payload, Record
from scrapers.errors import PayloadShapeError
from transforms.offers.listings import listing_frame

PROVIDER_IDS = registry.names()
# Keys whose loss is told by another name, since the other form of the answer has a field of that name elsewhere.
TOLD_AS = {
    ("oblivus", "hourlyCost"): "metaName",
    ("ovh", "locale"): "formattedPrice",
    ("shadeform", "configuration"): "num_gpus",
}
# Marketplaces: what stands for a group of offers hangs on the others in it, and on which of them are left out.
GROUPED = frozenset({"clore", "gpu_ai", "lium", "vast"})
LONGEST_S = 5.0
MOST_BYTES = 500_000_000
TRIES = 14


class TooLongError(Exception):
    """A parser took more than its time."""


@contextmanager
def bounded() -> Iterator[None]:
    """Within the block: 5 s by the clock, and 500 MB more than the process has now."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as statm:  # noqa: PTH123 - a page count of the kernel, not a file of ours
        now = int(statm.read().split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_BYTES, before[1]))
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGALRM, handler)


def outcome(provider_id: str, payload: Payload) -> list[Record] | PayloadShapeError:
    """What a parser, and its `follow`, make of an answer. Any other exception comes through."""
    module = registry.load_one(provider_id)
    with bounded():
        try:
            records = list(module.parse(payload))
            listing_frame(records, payload)
            list(getattr(module, "follow", lambda _: ())(payload))  # where it leads, the fetch decides
        except PayloadShapeError as error:
            return error
    return records


def is_clear(error: PayloadShapeError) -> bool:
    """Whether an error is one line that names a place."""
    return bool(error.place) and "\n" not in str(error) and len(str(error)) < 1000


def is_sound(records: list[Record]) -> bool:
    """Whether every record says where it stands, and a listing has no price that is no number."""
    return all(
        record.place and (not isinstance(record, Listing) or record.price is None or record.price.is_finite())
        for record in records
    )


def price_class(listing: Listing) -> tuple[object, ...]:
    """What kind of price it is, apart from how much."""
    return (listing.purchase, listing.price_state, listing.price_per, listing.price_unit, listing.term_months)


def classes(records: list[Record]) -> dict[tuple[str, str], set[tuple[object, ...]]]:
    """The price classes of each plan."""
    found: dict[tuple[str, str], set[tuple[object, ...]]] = {}
    for record in records:
        if isinstance(record, Listing):
            found.setdefault((record.provider, record.plan), set()).add(price_class(record))
    return found


def wrong_classes(true: list[Record], spoiled: list[Record]) -> list[str]:
    """Plans of the golden that have a price of a class in the spoiled answer that they have not in truth.

    That a price is gone (contact_sales, None) is no wrong price.
    """
    known = classes(true)
    return [
        f"{record.plan}: {price_class(record)}"
        for record in spoiled
        if isinstance(record, Listing)
        and record.price is not None
        and (record.provider, record.plan) in known
        and price_class(record) not in known[record.provider, record.plan]
    ]


def cases(provider_id: str) -> list[tuple[Payload, list[Record]]]:
    """The own payloads that are read, each with what it says in truth."""
    module = registry.load_one(provider_id)
    return [(payload, list(module.parse(payload))) for payload in own_payloads(provider_id)]


def rng_of(provider_id: str) -> random.Random:
    return random.Random(zlib.crc32(provider_id.encode()))


@pytest.mark.parametrize("provider_id", PROVIDER_IDS)
def test_cut_off_and_with_noise(provider_id: str) -> None:
    rng = rng_of(provider_id)
    for payload, true in cases(provider_id):
        for number in range(TRIES):
            spoiled = (truncated if number % 4 == 0 else with_noise)(payload, rng)
            result = outcome(provider_id, spoiled)
            if isinstance(result, PayloadShapeError):
                assert is_clear(result)
            else:
                # A single letter can turn one word of a row into another one, so one row may change its kind.
                wrong = wrong_classes(true, result)
                assert len(wrong) <= max(2, len(true) // 4), f"{payload.part}, try {number}: {wrong[:5]}"


@pytest.mark.parametrize("provider_id", PROVIDER_IDS)
def test_in_another_order_the_same_is_said(provider_id: str) -> None:
    rng = rng_of(provider_id)
    for payload, true in cases(provider_id):
        if other := reordered(payload, rng):
            result = outcome(provider_id, other)
            assert isinstance(result, list), result
            assert Counter(map(repr, result)) == Counter(map(repr, true))


@pytest.mark.parametrize("provider_id", PROVIDER_IDS)
def test_in_another_encoding_the_same_is_said(provider_id: str) -> None:
    for payload, true in cases(provider_id):
        for encoding in ENCODINGS:
            if other := re_encoded(payload, encoding):
                result = outcome(provider_id, other)
                assert isinstance(result, PayloadShapeError) or result == true, (
                    f"{payload.part} in {encoding}"
                )


def names(error: PayloadShapeError, key: str, payload: Payload) -> bool:
    """Whether an error names the key that is gone, or one that only another form of the answer has.

    Where two forms are told apart by a key, what is missed is the key of the other form. Where it tells the rows that
    are read from those that are not, the error says that none is left.
    """
    missed = re.findall(r"[\w-]+", error.place)
    is_other_form = bool(missed) and missed[-1] not in keys(payload)
    return key in str(error) or is_other_form or error.problem.startswith("none of")


@pytest.mark.parametrize("provider_id", PROVIDER_IDS)
def test_a_key_that_is_gone_is_named_or_was_not_needed(provider_id: str) -> None:
    """Where a key is needed, the error names it; where it is not, no row gets a price of another class."""
    for payload, true in cases(provider_id):
        if not is_json(payload):
            continue
        needed = 0
        for key, spoiled in without_a_key(payload):
            result = outcome(provider_id, spoiled)
            if isinstance(result, PayloadShapeError):
                needed += 1
                told = TOLD_AS.get((provider_id, key), key)
                assert names(result, told, payload), f"{payload.part} without {key}: {result}"
            elif provider_id not in GROUPED:
                assert not wrong_classes(true, result), f"{payload.part} without {key}"
        assert needed or not true, f"{payload.part}: no key is needed, so nothing of it is read"


@pytest.mark.parametrize("provider_id", PROVIDER_IDS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"{}",
        b"0",
        b'""',
        b"<html></html>",
        b"<!doctype html><title>Just a moment...</title>",
        b"[" * 200_000,
        b'{"a":' * 50_000,
        b"<div>" * 100_000,
        b"<" + b"a" * 20_000,
        b"</table>" * 100_000 + b"<table>" * 100_000,
        b"<script>" + b"if(i<n&&j>0){};" * 6_000 + b"</script>",
        b"a,b\n" * 200_000,
        b'[{"a": 1}]' * 10,
        b"\xff" * 100_000,
        b"9" * 1_000_000,
        b"- " * 100_000,
        b"&a [*a]",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_an_answer_of_another_kind_is_refused(provider_id: str, body: bytes) -> None:
    for payload in own_payloads(provider_id)[:1]:
        result = outcome(provider_id, dataclasses.replace(payload, body=body))
        assert isinstance(result, PayloadShapeError), f"{body[:20]!r} gave {len(result)} records"
        assert is_clear(result)


@seed(20261201)
@settings(max_examples=300, deadline=None)
@given(provider_id=st.sampled_from(PROVIDER_IDS), data=st.data())
def test_any_bytes_are_records_or_a_named_error(provider_id: str, data: st.DataObject) -> None:
    payload = data.draw(st.sampled_from(own_payloads(provider_id)))
    pieces = st.one_of(
        st.binary(max_size=40),
        st.integers(0, len(payload.body)).map(lambda at: payload.body[at : at + 400]),
        st.just(payload.body),
    )
    body = b"".join(data.draw(st.lists(pieces, max_size=4)))
    result = outcome(provider_id, dataclasses.replace(payload, body=body))
    assert is_clear(result) if isinstance(result, PayloadShapeError) else is_sound(result)


# Controls: what the checks above must see.


def _endless() -> None:
    with bounded():
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        while True:
            pass


def test_control_a_record_without_a_place_or_number_is_seen() -> None:
    assert is_sound([_listing(price=Decimal(2))])
    assert not is_sound([_listing(price=Decimal(2), place="")])
    assert not is_sound([_listing(price=Decimal("NaN"))])


def test_control_an_error_that_names_something_else_is_seen() -> None:
    [payload] = [each for each in own_payloads("vultr") if each.part == "plans-1"]
    assert names(PayloadShapeError("p", "plans[0].ram", "missing"), "ram", payload)
    assert names(PayloadShapeError("p", "plans_metal", "missing"), "plans", payload)
    assert not names(PayloadShapeError("p", "plans[0].disk", "missing"), "ram", payload)


def test_control_a_slow_parser_is_stopped() -> None:
    with pytest.raises(TooLongError):
        _endless()


def test_control_a_hungry_parser_is_stopped() -> None:
    with pytest.raises(MemoryError), bounded():
        bytearray(MOST_BYTES + 50_000_000)


def _listing(**changes: object) -> Listing:
    true = Listing(
        provider="acme",
        plan="one",
        gpu_text="H100",
        price=dataclasses.field(default=None),  # type: ignore[arg-type]
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        place="rows[0]",
    )
    return dataclasses.replace(true, **{"price": 2, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [{"purchase": "spot"}, {"price_state": "from_price"}, {"price_per": "instance"}, {"price_unit": "month"}],
)
def test_control_a_wrong_class_is_seen(changes: dict[str, object]) -> None:
    assert wrong_classes([_listing()], [_listing(**changes)])
    assert not wrong_classes([_listing()], [_listing(price=None, **changes)])
    assert not wrong_classes([_listing()], [_listing(price=3)])
    assert not isinstance(_listing(), Extra)
