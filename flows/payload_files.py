"""Payload files of a person, taken for answers of a source: bounded as an answer is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from scrapers.contract import LineFilter, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.lines import file_blocks, kept_lines


def file_payload(source: Source, path: Path, at: datetime) -> Payload:
    """Returns a file as an answer of `source`.

    A file whose name holds the part of a request is taken for its answer. Of a file that is larger than an answer
    may be, only the lines are kept that the source keeps of such answers, where there is one way to choose them.

    Raises PayloadShapeError for what is no regular file, or too large.
    """
    requests: tuple[Request, ...] = (*source.requests, *source.keyed_requests)
    alike = [request for request in requests if request.part in path.name]
    match = max(alike, key=lambda request: len(request.part), default=None)
    largest = source.max_body_mb * 1_000_000
    lines = match.keep_lines if match else None
    try:
        if not path.is_file():
            problem = "no regular file" if path.exists() else "no such file"
            raise PayloadShapeError(path.name, "file", problem)
        if not match and path.stat().st_size > largest:
            lines = _only_filter(requests)
        body = _kept(path, lines, largest) if lines else _whole(path, largest)
    except OSError as error:
        raise PayloadShapeError(path.name, "file", error.strerror or str(error)) from error
    return Payload(
        source_id=source.id,
        part=match.part if match else path.stem,
        url=match.url if match else source.pricing_url,
        fetched_at=at,
        body=body,
    )


def _only_filter(requests: tuple[Request, ...]) -> LineFilter | None:
    filters = {request.keep_lines for request in requests if request.keep_lines}
    return filters.pop() if len(filters) == 1 else None


def _whole(path: Path, largest: int) -> bytes:
    if path.stat().st_size > largest:
        raise PayloadShapeError(path.name, "file", f"larger than the {largest / 1e6:g} MB of an answer")
    return path.read_bytes()


def _kept(path: Path, lines: LineFilter, largest: int) -> bytes:
    kept = bytearray()
    for block in kept_lines(path.name, file_blocks(path), lines):
        kept += block
        if len(kept) > largest:
            raise PayloadShapeError(path.name, "file", f"more than {largest / 1e6:g} MB of it would be kept")
    return bytes(kept)
