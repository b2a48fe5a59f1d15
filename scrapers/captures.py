"""Answers as they came, kept for some nights: <root>/objects/ab/<sha256>.zst and <root>/index/<source_id>.jsonl.

The same bytes are stored once, however many nights give them. Every object is checked against its name when it
is read, and one that is damaged is written anew when its bytes come again. One process writes; many threads of it
may, for different sources.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import zstandard

from scrapers.contract import Payload
from scrapers.errors import CaptureError

logger = logging.getLogger(__name__)

LEVEL = 9
SAFE_ID = re.compile(r"[a-z][a-z0-9_]*")
SHA256 = re.compile(r"[0-9a-f]{64}")
# RFC 9110 allows other bytes in an ETag; no header of ours can repeat them, so such an answer has no validator.
VALIDATOR = re.compile(r"[\x20-\x7e]{1,500}")
TEXTS = ("source_id", "part", "url", "fetched_at", "sha256", "content_type")
NUMBERS = ("status", "bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A line of the index: one answer of one night.

    `bytes` is the size before compression. `etag` and `last_modified` are what can be sent back, or None.
    """

    source_id: str
    part: str
    url: str
    fetched_at: datetime
    status: int
    sha256: str
    content_type: str
    etag: str | None
    last_modified: str | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Index:
    """The captures of a source, oldest first, and what was wrong with its file."""

    captures: tuple[Capture, ...]
    problems: tuple[str, ...]


class Captures:
    """The store under one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def store(self, payload: Payload, *, etag: str | None = None, last_modified: str | None = None) -> str:
        """Keeps a payload; returns the sha256 of its body.

        Raises:
            CaptureError: It cannot be written.
        """
        digest = hashlib.sha256(payload.body).hexdigest()
        capture = Capture(
            source_id=payload.source_id,
            part=payload.part,
            url=payload.url,
            fetched_at=payload.fetched_at,
            status=payload.status,
            sha256=digest,
            content_type=payload.content_type,
            etag=_validator(etag),
            last_modified=_validator(last_modified),
            bytes=len(payload.body),
        )
        try:
            if not self._holds(digest, payload.body):
                packed = zstandard.ZstdCompressor(level=LEVEL).compress(payload.body)
                _write_whole(self._object_path(digest), packed)
            _append_line(self._index_path(payload.source_id), _line(capture))
        except OSError as error:
            place = error.filename2 or error.filename or self.root
            raise CaptureError(f"captures: {place} cannot be written: {error.strerror or error}") from error
        return digest

    def index(self, source_id: str) -> Index:
        """The captures of a source. A line that is damaged is left out and stands in `problems`.

        Raises:
            CaptureError: The file cannot be read at all.
        """
        path = self._index_path(source_id)
        try:
            lines = path.read_bytes().split(b"\n") if path.exists() else []
        except OSError as error:
            raise CaptureError(f"captures: {path} cannot be read: {error.strerror or error}") from error
        captures, problems = [], []
        for number, line in enumerate(lines, start=1):
            try:
                if line:
                    captures.append(_capture(line))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                problems.append(f"captures: {path} line {number} is damaged ({error}), and left out")
        return Index(tuple(captures), tuple(problems))

    def last(self, source_id: str, url: str, part: str | None = None) -> Capture | None:
        """The newest capture of an address; of one part, where several parts ask the same address."""
        found = [capture for capture in self.index(source_id).captures if capture.url == url]
        found = [capture for capture in found if part is None or capture.part == part]
        return found[-1] if found else None

    def load(self, capture: Capture) -> Payload:
        """The payload of a capture.

        Raises:
            CaptureError: Its bytes are missing, or not the ones that were stored.
        """
        path = self._object_path(capture.sha256)
        try:
            body = _unpacked(path, capture.bytes)
        except (OSError, zstandard.ZstdError) as error:
            raise CaptureError(f"captures: {path} cannot be read: {error}") from error
        if hashlib.sha256(body).hexdigest() != capture.sha256:
            raise CaptureError(f"captures: {path} is damaged: its bytes do not have the sha256 of its name")
        return Payload(
            source_id=capture.source_id,
            part=capture.part,
            url=capture.url,
            fetched_at=capture.fetched_at,
            body=body,
            status=capture.status,
            content_type=capture.content_type,
        )

    def prune(self, keep_nights: int) -> int:
        """Keeps the last `keep_nights` dates (UTC) of each source; returns how many objects were deleted.

        Damaged lines go, with a warning; files that are not of the store stay. Not while a night is running.
        """
        if keep_nights < 1:
            raise ValueError(f"keep_nights is {keep_nights}, and must be 1 or more")
        kept: set[str] = set()
        indexes = (path for path in (self.root / "index").glob("*.jsonl") if SAFE_ID.fullmatch(path.stem))
        for path in sorted(path for path in indexes if path.is_file()):
            index = self.index(path.stem)
            for problem in index.problems:
                logger.warning(problem)
            nights = sorted({capture.fetched_at.date() for capture in index.captures})[-keep_nights:]
            young = [capture for capture in index.captures if capture.fetched_at.date() in nights]
            _write_whole(path, b"".join(map(_line, young)))
            kept |= {capture.sha256 for capture in young}
        objects = (path for path in (self.root / "objects").glob("*/*.zst") if SHA256.fullmatch(path.stem))
        stale = [path for path in objects if path.stem not in kept and path.is_file()]
        for path in stale:
            path.unlink()
        return len(stale)

    def _holds(self, sha256: str, body: bytes) -> bool:
        """Whether these bytes are stored, and whole."""
        try:
            return _unpacked(self._object_path(sha256), len(body)) == body
        except (OSError, zstandard.ZstdError):
            return False

    def _object_path(self, sha256: str) -> Path:
        return self.root / "objects" / sha256[:2] / f"{sha256}.zst"

    def _index_path(self, source_id: str) -> Path:
        if not SAFE_ID.fullmatch(source_id):
            raise CaptureError(f"captures: {source_id!r} is no source id")
        return self.root / "index" / f"{source_id}.jsonl"


def _validator(value: object) -> str | None:
    """An ETag or Last-Modified that a header of ours can repeat; None for any other."""
    return value if isinstance(value, str) and VALIDATOR.fullmatch(value) else None


def _unpacked(path: Path, size_bytes: int) -> bytes:
    """The bytes of an object. Raises OSError, or ZstdError where it is damaged or not of this size."""
    packed = path.read_bytes()
    if zstandard.frame_content_size(packed) != size_bytes:
        raise zstandard.ZstdError(f"it does not hold {size_bytes} bytes")
    return zstandard.ZstdDecompressor().decompress(packed, max_output_size=size_bytes)


def _line(capture: Capture) -> bytes:
    fields = asdict(capture) | {"fetched_at": capture.fetched_at.isoformat()}
    return json.dumps(fields).encode() + b"\n"


def _capture(line: bytes) -> Capture:
    """The capture of a line. Raises ValueError, TypeError or KeyError where it is none."""
    fields = json.loads(line)
    if not all(isinstance(fields[name], str) for name in TEXTS) or not SHA256.fullmatch(fields["sha256"]):
        raise ValueError("a text is missing, or there is no sha256")
    if not all(type(fields[name]) is int and fields[name] >= 0 for name in NUMBERS):
        raise ValueError("status or bytes is no number")
    fields |= {name: _validator(fields[name]) for name in ("etag", "last_modified")}
    fields["fetched_at"] = datetime.fromisoformat(fields["fetched_at"])
    if fields["fetched_at"].tzinfo is None:
        raise ValueError("a time without its zone")
    return Capture(**fields)


def _write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that at every moment there is the old one or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _append_line(path: Path, line: bytes) -> None:
    """Adds a line; a line before it that was cut off by a crash is ended first, and then dropped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
