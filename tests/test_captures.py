"""The store of answers: the same bytes once, never damaged bytes, old nights gone."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scrapers.captures import Captures
from scrapers.contract import Payload
from scrapers.errors import CaptureError

NIGHT = datetime(2026, 11, 30, 2, 17, 5, tzinfo=UTC)
# sha256 of b"abc", from FIPS 180-2, appendix B.1.
ABC_SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def payload(
    body: bytes = b"abc", *, source_id: str = "vast", part: str = "offers", nights: int = 0
) -> Payload:
    return Payload(
        source_id=source_id,
        part=part,
        url=f"https://{source_id}.example/{part}",
        fetched_at=NIGHT + timedelta(days=nights),
        body=body,
        content_type="application/json",
    )


def objects(root: Path) -> list[Path]:
    return sorted((root / "objects").rglob("*.zst"))


def test_a_payload_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    assert captures.store(payload(), etag='"v1"', last_modified="yesterday") == ABC_SHA256
    assert objects(tmp_path) == [tmp_path / "objects" / "ba" / f"{ABC_SHA256}.zst"]
    last = captures.last("vast", "https://vast.example/offers")
    assert last is not None
    assert (last.etag, last.last_modified, last.bytes, last.sha256) == ('"v1"', "yesterday", 3, ABC_SHA256)
    assert captures.load(last) == payload()


@pytest.mark.parametrize("body", [b"", b"\0\n\r" * 9, "Größe 元".encode("gb18030"), bytes(range(256)) * 4000])
def test_any_bytes_come_back(tmp_path: Path, body: bytes) -> None:
    captures = Captures(tmp_path)
    captures.store(payload(body))
    assert captures.load(captures.index("vast").captures[0]).body == body


def test_the_same_bytes_are_stored_once(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    for nights in range(3):
        captures.store(payload(nights=nights))
    captures.store(payload(source_id="oci"))
    assert len(objects(tmp_path)) == 1
    assert len(captures.index("vast").captures) == 3
    captures.store(payload(b"other"))
    assert len(objects(tmp_path)) == 2


def test_the_last_capture_is_of_the_address_and_the_part(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    assert captures.last("vast", "https://vast.example/offers") is None
    captures.store(payload(b"1"))
    captures.store(replace(payload(b"2", nights=1), part="other"))
    captures.store(payload(b"3", part="elsewhere", nights=2))
    url = "https://vast.example/offers"
    newest, of_part = captures.last("vast", url), captures.last("vast", url, "offers")
    assert newest is not None
    assert of_part is not None
    assert (captures.load(newest).body, captures.load(of_part).body) == (b"2", b"1")


def test_no_header_is_stored(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    captures.store(payload())
    line = json.loads((tmp_path / "index" / "vast.jsonl").read_text())
    assert set(line) == {
        *("source_id", "part", "url", "fetched_at", "status", "sha256", "content_type"),
        *("etag", "last_modified", "bytes"),
    }


@pytest.mark.parametrize("damage", ["other bytes", "cut", "no zstd", "missing", "huge"])
def test_a_damaged_object_is_an_error(tmp_path: Path, damage: str) -> None:
    captures = Captures(tmp_path)
    captures.store(payload(b"x" * 5000))
    capture = captures.index("vast").captures[0]
    [path] = objects(tmp_path)
    other = Captures(tmp_path / "other")
    other.store(payload(b"y" * (5_000_000 if damage == "huge" else 5000)))
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        replaced = objects(tmp_path / "other")[0].read_bytes()
        path.write_bytes({"cut": whole[:-5], "no zstd": b"hello"}.get(damage, replaced))
    with pytest.raises(CaptureError, match=capture.sha256):
        captures.load(capture)


def test_an_index_whose_last_line_is_cut_off_is_read_and_reported(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    captures.store(payload(b"1"))
    captures.store(payload(b"2", nights=1))
    path = tmp_path / "index" / "vast.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    index = captures.index("vast")
    assert [capture.bytes for capture in index.captures] == [1]
    assert len(index.problems) == 1
    assert "line 2 is damaged" in index.problems[0]

    captures.store(payload(b"3", nights=2))
    index = captures.index("vast")
    assert [captures.load(capture).body for capture in index.captures] == [b"1", b"3"]
    assert index.problems == ()


GOOD_LINE = {
    "source_id": "vast",
    "part": "offers",
    "url": "https://vast.example/offers",
    "status": 200,
    "bytes": 3,
    "fetched_at": NIGHT.isoformat(),
    "sha256": ABC_SHA256,
    "content_type": "",
    "etag": None,
    "last_modified": None,
}


def with_line(root: Path, line: bytes) -> Captures:
    """A store of one capture whose index has `line` before it."""
    captures = Captures(root)
    captures.store(payload())
    path = root / "index" / "vast.jsonl"
    path.write_bytes(line + b"\n" + path.read_bytes())
    return captures


@pytest.mark.parametrize(
    "line",
    [
        *(b"{", b"[]", b"null", b"1", b"{}", b"\xff\xfe\0", b"[" * 100_000, b'{"sha256": "../../x"}'),
        *(
            json.dumps(GOOD_LINE | changes).encode()
            for changes in (
                {"bites": 3},
                {"bytes": "3"},
                {"bytes": -3},
                {"url": None},
                {"sha256": "../../etc/passwd"},
                {"fetched_at": "yesterday"},
                {"fetched_at": "2026-11-30T02:17:05"},
            )
        ),
    ],
)
def test_a_damaged_line_in_the_middle_of_an_index_is_left_out_and_reported(
    tmp_path: Path, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    captures = with_line(tmp_path, line)
    index = captures.index("vast")
    assert [captures.load(capture).body for capture in index.captures] == [b"abc"]
    [problem] = index.problems
    assert "line 1 is damaged" in problem
    assert captures.prune(1) == 0
    assert "line 1 is damaged" in caplog.text
    assert captures.index("vast").problems == ()
    assert len(objects(tmp_path)) == 1


def test_a_good_line_in_the_middle_is_a_capture(tmp_path: Path) -> None:
    index = with_line(tmp_path, json.dumps(GOOD_LINE).encode()).index("vast")
    assert (len(index.captures), index.problems) == (2, ())


def test_an_index_that_cannot_be_read_at_all_is_an_error(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    (tmp_path / "index" / "vast.jsonl").mkdir(parents=True)
    with pytest.raises(CaptureError, match=r"vast\.jsonl cannot be read: Is a directory"):
        captures.index("vast")


def test_what_is_not_of_the_store_is_left_alone(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    captures.store(payload())
    captures.store(payload(b"old", source_id="oci", nights=-9))
    captures.store(payload(b"new", source_id="oci"))
    foreign = [tmp_path / "index" / "weird name!.jsonl", tmp_path / "objects" / "ba" / "notes.zst"]
    for path in foreign:
        path.write_bytes(b"mine")
    foreign += [tmp_path / "index" / "folder.jsonl", tmp_path / "objects" / "ba" / f"{'0' * 64}.zst"]
    for path in foreign[2:]:
        path.mkdir()
    assert captures.prune(1) == 1
    assert all(path.exists() for path in foreign)


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_object_is_written_anew_when_its_bytes_come_again(
    tmp_path: Path, damage: bytes | None
) -> None:
    captures = Captures(tmp_path)
    captures.store(payload(b"x" * 5000))
    [path] = objects(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] if damage is None else damage)
    captures.store(payload(b"x" * 5000, nights=1))
    assert path.read_bytes() == whole
    assert captures.load(captures.index("vast").captures[0]).body == b"x" * 5000


def test_what_is_in_the_way_of_an_object_is_named(tmp_path: Path) -> None:
    path = tmp_path / "objects" / "ba" / f"{ABC_SHA256}.zst"
    path.mkdir(parents=True)
    with pytest.raises(CaptureError, match=rf"{ABC_SHA256}\.zst cannot be written: Is a directory"):
        Captures(tmp_path).store(payload())


@pytest.mark.parametrize("value", ['"a\x80b"', '"é"', "a\0b", "a\r\nHost: evil", "", "x" * 501, "\ud800"])
def test_what_no_header_can_repeat_is_no_validator(tmp_path: Path, value: str) -> None:
    captures = Captures(tmp_path)
    captures.store(payload(), etag=value, last_modified=value)
    captures.store(payload(nights=1), etag='W/"v-1"', last_modified="Mon, 30 Nov 2026 02:17:05 GMT")
    path = tmp_path / "index" / "vast.jsonl"
    path.write_bytes(path.read_bytes() + json.dumps(GOOD_LINE | {"etag": value}).encode() + b"\n")
    assert [(capture.etag, capture.last_modified) for capture in captures.index("vast").captures] == [
        (None, None),
        ('W/"v-1"', "Mon, 30 Nov 2026 02:17:05 GMT"),
        (None, None),
    ]


@pytest.mark.parametrize("source_id", ["../x", "", "a/b", "A"])
def test_a_source_id_cannot_lead_out_of_the_folder(tmp_path: Path, source_id: str) -> None:
    with pytest.raises(CaptureError, match="is no source id"):
        Captures(tmp_path).store(payload(source_id=source_id))


def test_a_full_disk_is_an_error_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = Captures(tmp_path)
    captures.store(payload(b"before"))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CaptureError, match="cannot be written: No space left on device"):
        captures.store(payload(b"after"))
    monkeypatch.undo()
    assert len(objects(tmp_path)) == 1
    assert not list(tmp_path.rglob(".new-*"))
    assert [captures.load(capture).body for capture in captures.index("vast").captures] == [b"before"]


def test_prune_keeps_the_last_nights_of_each_source(tmp_path: Path) -> None:
    captures = Captures(tmp_path)
    for nights in range(4):
        captures.store(payload(b"steady", nights=nights))
        captures.store(payload(f"night {nights}".encode(), part="changing", nights=nights))
    captures.store(payload(b"long ago", source_id="oci", nights=-300))
    assert captures.prune(2) == 2
    kept = [captures.load(capture).body for capture in captures.index("vast").captures]
    assert kept == [b"steady", b"night 2", b"steady", b"night 3"]
    assert captures.load(captures.index("oci").captures[0]).body == b"long ago", "its last night, however old"
    assert {path.stem for path in objects(tmp_path)} == {
        hashlib.sha256(body).hexdigest() for body in (b"steady", b"night 2", b"night 3", b"long ago")
    }
    assert captures.prune(2) == 0


def test_prune_to_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep_nights is 0"):
        Captures(tmp_path).prune(0)
