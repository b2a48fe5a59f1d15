"""Starts a provider: a module, a payload and a golden file, from one answer of each address.

What is written runs, and is a beginning: the fields of the rows that look like a name, a price and the like are
read, all others are named in a comment. The source is off, and its golden fails, until a person has reviewed both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import scrapers.providers
from flows.payload_files import file_payload
from flows.source_draft import DraftError, Shape, shape_of
from scrapers import fetch
from scrapers.contract import Payload, Request, Source
from scrapers.exchange import shown
from scrapers.registry import ID, check, names

TO_REVIEW = "compare each record with the payload, correct the module, then delete this line"

HEAD = '''"""{id}: {what}.

Begun from one answer of {day}. Say here what the source publishes, per what, and which traps it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from scrapers.contract import Listing, Payload, Request, Source
{imports}

SOURCE = Source(
    id="{id}",
    name="{id}",
    segment="neocloud",
    homepage="{home}",
    pricing_url={url},
    requests=(
{requests}
    ),
    allowed_hosts=({hosts},),
    terms="unknown",
    terms_url="{home}",
    terms_note="terms not read",
    terms_reviewed_on=date({day:%Y, %-m, %-d}),
    last_proof="{proof}",
    min_listings=1,
    default_on=False,
    off_reason="not reviewed yet",
)


def parse(payload: Payload) -> Iterator[Listing]:
    """{summary}

    Raises:
        PayloadShapeError: {broken}
    """
'''


def begin_source(
    source_id: str,
    urls: Sequence[str],
    files: Sequence[Path],
    *,
    session: fetch.Session,
    night: date,
    root: Path | None = None,
) -> list[Path]:
    """Writes the module, the payloads and the golden of a new source; returns their paths.

    Args:
        source_id: one lower-case word, which no module has.
        urls: the addresses to be asked, all of them https.
        files: an answer for each address, in their order; without files the addresses are asked, once and politely.
        session: how the network is used.
        night: today.
        root: the checkout to write to; the one that this code runs in when it is None.

    Raises DraftError for what cannot be, CollectError for an answer that cannot be had. Nothing is overwritten.
    """
    root = root or Path(scrapers.providers.__path__[0]).parents[1]
    source = _source(source_id, urls, night)
    module_path, folder = (
        root / "scrapers" / "providers" / f"{source_id}.py",
        root / "tests" / "captures" / source_id,
    )
    if not folder.parent.is_dir():
        raise DraftError(f"{root}: no checkout of the project; new-source writes modules and tests")
    for path in (module_path, folder):
        if path.exists():
            raise DraftError(f"{path}: is there already; nothing is overwritten")
    if files and len(files) != len(urls):
        raise DraftError(
            f"{len(files)} files for {len(urls)} addresses; give one file for each, in their order"
        )
    payloads = _from_files(source, files) if files else _asked(source, session)
    shapes = [shape_of(source_id, payload) for payload in payloads]
    if len({shape.code for shape in shapes}) > 1:
        raise DraftError(
            "the addresses answer in different forms; begin with one, and add the others by hand"
        )
    named = {
        f"payload.{payload.part}.{shape.extension}": (payload, shape)
        for payload, shape in zip(payloads, shapes, strict=True)
    }
    folder.mkdir()
    for name, (_, shape) in named.items():
        (folder / name).write_bytes(shape.body)
    (folder / "listings.json").write_text(_golden(named, night), encoding="utf-8")
    module_path.write_text(_module(source, shapes[0], night), encoding="utf-8")
    return [module_path, *(folder / name for name in named), folder / "listings.json"]


def _source(source_id: str, urls: Sequence[str], night: date) -> Source:
    """Returns a source that asks these addresses, checked as every other."""
    if not ID.fullmatch(source_id):
        raise DraftError(f"{source_id[:80]!r} is no id; it is one word of a-z, 0-9 and _, such as acme_cloud")
    if source_id in names():
        raise DraftError(f"{source_id} has a module already; `gpu-almanac sources {source_id}` shows it")
    for url in urls:
        if shown(url) != url:
            raise DraftError(
                f"{shown(url)}: keys come from the environment, and addresses are short and plain"
            )
    hosts = [urlsplit(url).hostname or "" for url in urls]
    source = Source(
        id=source_id,
        name=source_id,
        segment="neocloud",
        homepage=f"https://{hosts[0]}/",
        pricing_url=urls[0],
        requests=tuple(Request(part, url) for part, url in zip(_parts(urls), urls, strict=True)),
        allowed_hosts=tuple(dict.fromkeys(hosts)),
        terms="unknown",
        terms_url=f"https://{hosts[0]}/",
        terms_note="terms not read",
        terms_reviewed_on=night,
        last_proof=f"{night}: answer fetched, not reviewed",
        min_listings=1,
        default_on=False,
        off_reason="not reviewed yet",
    )
    faults = list(check(source_id, SimpleNamespace(SOURCE=source, parse=_asked)))  # type: ignore[arg-type]
    if faults:
        raise DraftError("; ".join(faults))
    return source


def _parts(urls: Sequence[str]) -> list[str]:
    """Returns a name for each answer: the last word of the path, with a number where two have the same."""
    words = [
        re.sub(r"\W+", "_", urlsplit(url).path.rstrip("/").rpartition("/")[2])[:40].strip("_") for url in urls
    ]
    found: list[str] = []
    for word in words:
        name = word or "prices"
        found.append(name if name not in found else f"{name}_{len(found) + 1}")
    return found


def _asked(source: Source, session: fetch.Session) -> list[Payload]:
    return fetch.collect_payloads(SimpleNamespace(SOURCE=source), session=session, night=session.now())  # type: ignore[arg-type]


def _from_files(source: Source, files: Sequence[Path]) -> list[Payload]:
    pairs = zip(source.requests, files, strict=True)
    return [
        replace(file_payload(source, path, datetime.now(UTC)), part=request.part, url=request.url)
        for request, path in pairs
    ]


def _module(source: Source, shape: Shape, night: date) -> str:
    head = HEAD.format(
        id=source.id,
        what=f"its prices at {urlsplit(source.pricing_url).hostname}",
        day=night,
        imports=shape.imports,
        home=source.homepage,
        proof=source.last_proof,
        url=json.dumps(source.pricing_url),
        requests="\n".join(
            f"        Request({json.dumps(each.part)}, {json.dumps(each.url)})," for each in source.requests
        ),
        hosts=", ".join(json.dumps(host) for host in source.allowed_hosts),
        summary=shape.summary,
        broken=shape.broken,
    )
    return head + shape.code


def _golden(named: Mapping[str, tuple[Payload, Shape]], night: date) -> str:
    golden = {
        "to_review": TO_REVIEW,
        "captured": f"begun from an answer of {night}; cut it down to a few rows that hold every trap",
        "payloads": {
            name: {"part": payload.part, "url": payload.url, "content_type": payload.content_type}
            for name, (payload, _) in named.items()
        },
    }
    return json.dumps(golden, indent=1, ensure_ascii=False) + "\n"
