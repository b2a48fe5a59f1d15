"""docs/sources.md: which providers are covered, and how far, one row each. Made by `python -m flows.coverage`.

A tool for a checkout: what a module can say of regions, purchases, stock, disks and traffic is seen in its own sample
records of tests/captures, which are not installed. All else comes from the modules, the bundled list and the facts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from flows.sources import provider_of
from scrapers import registry
from scrapers.contract import Payload, PurchaseKind, Source
from scrapers.providers import list_prices
from transforms.reference.tables import read

ROOT = Path(__file__).parents[1]
RECORDED = "recorded and parsed"
NO_STOCK = (None, "listed_only", "unknown")
COLUMNS = (
    *("provider", "name", "by", "key", "on or off", "terms", "regions", "purchase", "stock"),
    *("disk", "traffic", "bundled rows", "last proof"),
)
SHARED_COLUMNS = ("id", "name", "key", "on or off", "terms", "last proof")
INTRODUCTION = """\
# Sources

Which providers are covered, and how far. Made by `python -m flows.coverage` from the modules, their sample records, the
bundled list and the facts about providers.

- {providers} providers have a module or bundled rows.
- {modules} modules parse live payloads. {keyless} of these need no key, and {on} are on unless turned off.
- Of {recorded} of these modules a test parses an answer that was recorded. The others are read as their publications or
  their readers describe them, which no answer has proved.

What the columns say:

- by: the modules that ask the provider itself or a mirror of its list. Modules of many providers stand in a table of
  their own.
- key: the environment variable that holds it; "optional" where there is an answer without it too.
- terms: what is known of automated access; "unknown" where nobody has read them.
- regions: whether prices are told by region, or one price holds everywhere.
- stock: whether it is told what can be had at the moment.
- disk, traffic: their prices are collected, or known from the bundled list or the dated facts, or unknown.
- last proof: when and how the shape of the answers was last seen to work.
"""

Records = Sequence[Mapping[str, Any]]


def coverage() -> str:
    """Returns the text of docs/sources.md."""
    asked: defaultdict[str | None, list[Source]] = defaultdict(list)
    sources = [module.SOURCE for module in registry.load().values()]
    for source in sources:
        asked[provider_of(source)].append(source)
    shared, bundled, live = asked.pop(None), _bundled_records(), live_modules(sources)
    covered = sorted({*filter(None, asked), *bundled})
    without = read("not_collected").sort("source_id").iter_rows(named=True)
    head = INTRODUCTION.format(
        providers=len(covered),
        modules=len(live),
        keyless=sum(bool(source.requests) for source in live),
        on=sum(source.default_on for source in live),
        recorded=sum(RECORDED in source.last_proof for source in live),
    )
    parts = [
        head,
        _table(COLUMNS, [_row(name, asked.get(name, []), bundled.get(name, [])) for name in covered]),
        "## Modules of many providers, or of none\n",
        _table(SHARED_COLUMNS, [_shared_row(source) for source in shared]),
        "## Not collected\n",
        _table(
            ("provider", "name", "why not", "known from", "as of"),
            [
                (f"`{row['source_id']}`", row["name"], row["reason"], row["source"], str(row["as_of"] or ""))
                for row in without
                if row["source_id"] not in covered
            ],
        ),
    ]
    return "\n".join(parts)


def live_modules(sources: Iterable[Source]) -> list[Source]:
    """Returns the sources that ask somebody for offers: neither the bundled list nor exchange rates."""
    return [source for source in sources if source.segment is not None or source.basis == "catalog"]


def _row(provider: str, asked: Sequence[Source], bundled: Records) -> tuple[str, ...]:
    """Returns the cells of a provider that a module asks, or that the bundled list has prices of."""
    facts = read("provider").filter(provider=provider).to_dicts()
    records = [record for source in asked for record in _sample_records(source)] or bundled
    purchases = {record.get("purchase") for record in records if record["record"] == "Listing"}
    names = [row["name"] for row in facts] + [source.name for source in asked] + [provider]
    terms = [source.terms for source in asked] or [
        row["terms_automated_access"] or "unknown" for row in facts
    ]
    return (
        f"`{provider}`",
        names[0],
        ", ".join(f"`{source.id}`" for source in asked) or "bundled list",
        _of_each(asked, _key) or "none",
        _of_each(asked, _state) or "no module",
        ", ".join(dict.fromkeys(terms)) or "unknown",
        "per region" if any(record.get("region_text") for record in records) else "one price",
        ", ".join(kind for kind in get_args(PurchaseKind) if kind in purchases),
        "yes" if any(_tells_stock(record) for record in records) else "no",
        _disk(records, bundled, facts),
        _traffic(records, bundled, facts),
        str(len(bundled)),
        _of_each(asked, lambda source: source.last_proof) or _newest(bundled),
    )


def _shared_row(source: Source) -> tuple[str, ...]:
    return (f"`{source.id}`", source.name, _key(source), _state(source), source.terms, source.last_proof)


def _of_each(asked: Sequence[Source], said: Callable[[Source], str]) -> str:
    """Returns what is said of all modules of a provider; where they differ, each with its id."""
    answers = {source.id: said(source) for source in asked}
    if len(set(answers.values())) == 1:
        return next(iter(answers.values()))
    return "; ".join(f"`{name}` {answer}" for name, answer in answers.items())


def _key(source: Source) -> str:
    if source.auth is None:
        return "none"
    variables = (source.auth.env, *(variable for _, variable in source.auth.address_env))
    optional = ", optional" if source.requests else ""
    return ", ".join(f"`{variable}`" for variable in variables) + optional


def _state(source: Source) -> str:
    return "on" if source.default_on else f"off: {source.off_reason}"


def _tells_stock(record: Mapping[str, Any]) -> bool:
    return record.get("availability") not in NO_STOCK


def _disk(records: Records, bundled: Records, facts: Records) -> str:
    return _known_from(
        records, bundled, facts, "storage", "storage_price_per_gb_month", "storage_usd_per_gb_month"
    )


def _traffic(records: Records, bundled: Records, facts: Records) -> str:
    return _known_from(
        records, bundled, facts, "egress", "egress_price_per_gb", "egress_usd_per_gb_first_tier"
    )


def _known_from(records: Records, bundled: Records, facts: Records, kind: str, field: str, fact: str) -> str:
    """Returns where the price of an extra comes from: what is collected goes before the list, and that before facts."""
    if any(record.get("kind") == kind or record.get(field) is not None for record in records):
        return "bundled list" if records is bundled else "collected"
    if any(record.get(field) is not None for record in bundled):
        return "bundled list"
    days = [row["as_of"] or "undated" for row in facts if row[fact] is not None]
    return f"facts, {max(days)}" if days else "unknown"


def _newest(bundled: Records) -> str:
    days = [record["as_of"].isoformat() for record in bundled if record["as_of"]]
    return f"{max(days, default='undated')}: newest price of the bundled list"


def _sample_records(source: Source) -> list[dict[str, Any]]:
    golden = ROOT / "tests" / "captures" / source.id / "listings.json"
    records: list[dict[str, Any]] = json.loads(golden.read_text(encoding="utf-8"))["records"]
    return records


def _bundled_records() -> dict[str, list[dict[str, Any]]]:
    """Returns the listings of the bundled list by provider."""
    body = files("scrapers.bundled").joinpath("list_prices.csv").read_bytes()
    payload = Payload(source_id="list_prices", part="prices", url="", fetched_at=datetime.now(UTC), body=body)
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for listing in list_prices.parse(payload):
        found[listing.provider].append({"record": "Listing", **asdict(listing)})
    return found


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table of Markdown, with an empty line behind it."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"

    return line(header) + "|" + "---|" * len(header) + "\n" + "".join(map(line, rows))


if __name__ == "__main__":
    (ROOT / "docs" / "sources.md").write_text(coverage(), encoding="utf-8")
