"""One source in one night: ask, parse, and say how it went."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import polars.selectors as cs

from flows.apart import parsed_apart
from flows.payload_files import file_payload
from flows.settings import Settings, SettingsError
from scrapers import fetch
from scrapers.accounts import requests_of
from scrapers.captures import Captures
from scrapers.contract import Payload, Source
from scrapers.errors import (
    BlockedError,
    CollectError,
    FetchError,
    MissingCredentialError,
    TransientFetchError,
)
from scrapers.registry import load_one
from transforms.offers.listings import Records
from warehouse.load import CaptureRow

Outcome = Literal["ok", "blocked", "skipped", "failed", "waiting"]
OFFLINE_REASON = "offline run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What one source gave. Records are empty unless the outcome is ok."""

    source_id: str
    started_at: datetime
    seconds: float
    outcome: Outcome
    reason: str | None = None
    is_offline: bool = False
    is_bundled: bool = False
    captures: Sequence[CaptureRow] = ()
    records: Records = field(default_factory=Records)


def collect(
    module: ModuleType, *, session: fetch.Session, night: datetime, captures: Captures | None
) -> Collected:
    """Returns the records of a source tonight. Raises CollectError when there are none to be had."""
    source: Source = module.SOURCE
    started_at, started = session.now(), time.monotonic()
    payloads = fetch.collect_payloads(module, session=session, night=night, captures=captures)
    records = parsed_apart(module, payloads)
    _, account = requests_of(source, session.settings.environ)
    if account and any(map(account.shows_in, _texts(records))):
        raise FetchError(
            f"{source.id}: the answer repeats our key or account, in other letters; it is not published"
        )
    return Collected(
        source_id=source.id,
        started_at=started_at,
        seconds=time.monotonic() - started,
        outcome="ok",
        is_bundled=is_bundled(source),
        captures=[_capture_row(payload) for payload in payloads],
        records=records,
    )


def _texts(records: Records) -> Iterator[str]:
    """Every distinct text of the records."""
    for frame in (getattr(records, part.name) for part in fields(Records)):
        for column in frame.select(cs.string()).iter_columns():
            yield from column.drop_nulls().unique().to_list()


def not_collected(source_id: str, error: BaseException, *, started_at: datetime, seconds: float) -> Collected:
    """Returns the outcome that belongs to `error`: blocked, skipped or failed, with its message as the reason."""
    outcome: Outcome = "failed"
    if isinstance(error, BlockedError):
        outcome = "blocked"
    elif isinstance(error, MissingCredentialError):
        outcome = "skipped"
    is_ours = isinstance(error, CollectError)
    reason = str(error) if is_ours else f"a fault of ours: {type(error).__name__}: {error}"
    return Collected(
        source_id=source_id,
        started_at=started_at,
        seconds=seconds,
        outcome=outcome,
        reason=" ".join(reason.split())[:500],
        is_offline=isinstance(error, TransientFetchError) and error.is_offline,
    )


def left_out(source_id: str, reason: str, *, at: datetime) -> Collected:
    """Returns the outcome of a source that is not asked tonight."""
    return Collected(
        source_id=source_id,
        started_at=at,
        seconds=0.0,
        outcome="skipped",
        reason=reason,
        is_offline=reason == OFFLINE_REASON,
    )


def waiting(source: Source, last_good: date, night: date, *, at: datetime) -> Collected | None:
    """Returns the outcome of a source that is not due: its last good night lies less than its cadence back.

    A source of every night is always due, for the same night may run again.
    """
    due = last_good + source.cadence
    if source.cadence <= timedelta(days=1) or due <= night:
        return None
    reason = f"asked every {source.cadence.days} days; next on {due}"
    return Collected(source_id=source.id, started_at=at, seconds=0.0, outcome="waiting", reason=reason)


def is_bundled(source: Source) -> bool:
    """Whether a source travels with the package and needs no network."""
    return all(request.url.startswith("bundled:") for request in source.requests) and bool(source.requests)


def segments_of(sources: Iterable[Source]) -> dict[str, str]:
    """Returns the segment of each source that has one; a list of many providers has none of its own."""
    return {source.id: source.segment for source in sources if source.segment}


def wanted(sources: Iterable[Source], settings: Settings) -> dict[str, str | None]:
    """Returns for each source None when it is on, or the reason why it is off.

    Raises SettingsError for a setting that names a source that there is not.
    """
    sources = list(sources)
    unknown = (settings.turned_on | settings.turned_off) - {source.id for source in sources}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise SettingsError(f"GPU_ALMANAC_SOURCES_ON and _OFF: there is no source {names}")
    off: dict[str, str | None] = {}
    for source in sources:
        if source.id in settings.turned_off:
            off[source.id] = "turned off by GPU_ALMANAC_SOURCES_OFF"
        elif source.default_on or source.id in settings.turned_on:
            off[source.id] = None
        else:
            off[source.id] = source.off_reason or "off"
    return off


def collect_for_show(
    settings: Settings, source_id: str, files: Sequence[Path], *, night: date
) -> dict[str, list[dict[str, Any]]]:
    """Returns the records of one source as rows by kind; from payload files, or from the provider without them.

    A file name that holds the part of a request is taken for its answer; the parser tells the rest by content.
    """
    from transforms.offers.normalise import normalise

    module = load_one(source_id)
    at = datetime.combine(night, datetime.min.time(), UTC)
    if files:
        payloads = [file_payload(module.SOURCE, path, at) for path in files]
    else:
        session = fetch.Session(fetch.Settings(contact=settings.contact))
        payloads = fetch.collect_payloads(module, session=session, night=at)
    records = parsed_apart(module, payloads)
    made = normalise(
        records.listings,
        records.stock,
        records.interruptions,
        extras=records.extras,
        rates=records.rates,
        night=night,
        segments=segments_of([module.SOURCE]),
    )
    frames = {
        "listings": records.listings,
        "offerings": made.offerings,
        "rejects": made.rejects,
        "findings": made.findings,
        "stock": records.stock,
        "interruptions": records.interruptions,
        "rates": records.rates,
        "extras": records.extras,
        "page_counts": records.page_counts,
    }
    return {name: frame.to_dicts() for name, frame in frames.items()}


def _capture_row(payload: Payload) -> CaptureRow:
    return CaptureRow(
        part=payload.part,
        url=payload.url,
        status=payload.status,
        content_type=payload.content_type,
        bytes=len(payload.body),
        capture_sha256=hashlib.sha256(payload.body).hexdigest(),
        fetched_at=payload.fetched_at,
    )
