"""The lines that are kept of a large text: the same for every way in which the text is cut into blocks."""

from __future__ import annotations

import io
import itertools
import tracemalloc
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.collect import collect_for_show
from flows.settings import Settings
from scrapers.contract import LineFilter
from scrapers.errors import PayloadShapeError
from scrapers.lines import LONGEST_LINE_BYTES, Sieve, file_blocks, kept_lines

WORDS = (b"gpu", b"linux", b"shared", b"windows", b"\n", b"\r\n", b",", b"gp", b"u", b"")
FILTERS = st.builds(
    LineFilter,
    head=st.integers(0, 3),
    any_of=st.lists(st.sampled_from([b"gpu", b"asic", b"u", b"gpugpu"]), min_size=1, max_size=3).map(tuple),
    all_of=st.lists(
        st.lists(st.sampled_from([b"linux", b"shared", b","]), min_size=1, max_size=2).map(tuple), max_size=2
    ).map(tuple),
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=80).map(b"".join)


def plainly_kept(text: bytes, lines: LineFilter) -> bytes:
    """The filter as one would write it down: line by line."""
    return b"".join(
        row
        for number, row in enumerate(io.BytesIO(text).readlines())
        if number < lines.head
        or (
            any(word in row for word in lines.any_of)
            and all(any(word in row for word in group) for group in lines.all_of)
        )
    )


def cut(text: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(edges)]


@given(text=TEXTS, lines=FILTERS, places=st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cut_gives_what_a_plain_filter_gives(text: bytes, lines: LineFilter, places: list[int]) -> None:
    assert b"".join(kept_lines("text", cut(text, places), lines)) == plainly_kept(text, lines)


@given(text=TEXTS, lines=FILTERS)
def test_byte_by_byte_too(text: bytes, lines: LineFilter) -> None:
    blocks = [text[index : index + 1] for index in range(len(text))]
    assert b"".join(kept_lines("text", blocks, lines)) == plainly_kept(text, lines)


def test_the_head_and_the_lines_with_all_that_is_asked_are_kept() -> None:
    text = b"names\ngpu,linux\ngpu,windows\nlinux\nasic,linux\nlast gpu,linux"
    lines = LineFilter(head=1, any_of=(b"gpu", b"asic"), all_of=((b"linux",),))
    assert b"".join(kept_lines("text", [text], lines)) == b"names\ngpu,linux\nasic,linux\nlast gpu,linux"


@pytest.mark.parametrize("block_bytes", [1_000, 65_536, 65_537, 10_000_000])
@pytest.mark.parametrize("before", [b"", b"short\n"])
@pytest.mark.parametrize("after", [b"", b"\nshort\n"])
def test_a_line_without_end_is_an_error_wherever_it_is_cut(
    block_bytes: int, before: bytes, after: bytes
) -> None:
    lines = LineFilter(head=1, any_of=(b"gpu",))

    def kept(length: int) -> bytes:
        text = before + b"x" * length + after
        blocks = [text[start : start + block_bytes] for start in range(0, len(text), block_bytes)]
        return b"".join(kept_lines("prices.csv", blocks, lines))

    kept(LONGEST_LINE_BYTES)  # control: as long as a line may be
    with pytest.raises(
        PayloadShapeError, match=rf"prices.csv: byte {len(before)}: a line of more than 65536 bytes"
    ):
        kept(LONGEST_LINE_BYTES + 1)


def test_a_text_without_lines_takes_no_memory() -> None:
    sieve = Sieve("endless", LineFilter(head=0, any_of=(b"gpu",)))
    tracemalloc.start()
    try:
        assert sieve.add(b"x" * 50_000) == b""
        for _ in range(1_000):
            with pytest.raises(PayloadShapeError):
                sieve.add(b"x" * 50_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_is_read_block_by_block(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"0123456789" * 50_000)
    assert b"".join(file_blocks(path)) == path.read_bytes()
    assert len(list(file_blocks(path))) > 1


# Files of a request that keeps lines


def test_a_payload_file_is_filtered_as_the_answer_would_be(tmp_path: Path) -> None:
    captures = Path(__file__).parent / "captures/aws_price_list"
    text = (captures / "payload.ec2_us-east-1.csv").read_bytes()
    filler = text.rstrip(b"\n").rpartition(b"\n")[2].replace(b'"Shared"', b'"Dedicated"') + b"\n"
    large = tmp_path / "ec2_us-east-1.csv"
    large.write_bytes(text + filler * 20_000)
    settings = Settings(home=tmp_path)
    night = date(2026, 11, 30)
    small_rows = collect_for_show(
        settings, "aws_price_list", [captures / "payload.ec2_us-east-1.csv"], night=night
    )
    large_rows = collect_for_show(settings, "aws_price_list", [large], night=night)
    assert len(large_rows["listings"]) == len(small_rows["listings"])
    assert {row["capture_sha256"] for row in large_rows["listings"]} == {
        row["capture_sha256"] for row in small_rows["listings"]
    }
