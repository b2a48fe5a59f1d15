"""Every provider's own payload files, and the records that `parse` makes of them, side by side.

`tests/captures/<id>/` holds `payload.<part>.<ext>` files and one `listings.json`:

    {"captured": "written by hand, ...",
     "payloads": {file: {"part": ..., "url": ..., "content_type": ...}},
     "records": [...]}

`records` are those of all payload files in the order of their names; each says which file it came from.
Where `listings.json`, or `records` in it, is missing, it is written from what `parse` says now, and the test
fails once so that somebody reads it.
"""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from records_json import dump_golden, record_to_json

from scrapers import registry
from scrapers.contract import Listing, Payload, Record
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import normalise

CAPTURES = Path(__file__).parent / "captures"
PROVIDER_IDS = registry.names()
FETCHED_AT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
CONTENT_TYPES = {
    ".json": "application/json",
    ".js": "application/javascript",
    ".html": "text/html; charset=utf-8",
    ".yml": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a parser reached for the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def golden_problems(provider: Any, folder: Path) -> list[str]:
    """What keeps a provider's folder from being a reviewed golden that `parse` still meets; empty is good."""
    files = sorted(path.name for path in folder.glob("payload.*")) if folder.is_dir() else []
    if not files:
        return [
            f"{folder} holds no payload.<part>.<ext>: write one by hand, with every trap of the source in it"
        ]
    golden_path = folder / "listings.json"
    golden = json.loads(golden_path.read_text()) if golden_path.exists() else _new_golden(provider, files)
    problems = _pairing_problems(golden, folder, files)
    if problems:
        return problems
    records = list(_records(provider, golden["payloads"], folder))
    if "records" not in golden:
        golden_path.write_text(dump_golden({**golden, "records": records}))
        return [
            f"{golden_path} was just written from what parse says now: read it line by line, then run again"
        ]
    if "to_review" in golden:
        return [f"{golden_path}: {golden['to_review']}", *_differences(golden["records"], records)]
    return _differences(golden["records"], records)


def _new_golden(provider: Any, files: list[str]) -> dict[str, Any]:
    urls = {
        request.part: request.url for request in provider.SOURCE.requests + provider.SOURCE.keyed_requests
    }
    parts = {name: name.removeprefix("payload.").rsplit(".", 1)[0] for name in files}
    return {
        "captured": "written by hand",
        "payloads": {
            name: {
                "part": part,
                "url": urls.get(part, provider.SOURCE.pricing_url),
                "content_type": CONTENT_TYPES.get(Path(name).suffix, ""),
            }
            for name, part in parts.items()
        },
    }


def _pairing_problems(golden: dict[str, Any], folder: Path, files: list[str]) -> list[str]:
    others = sorted(path.name for path in folder.iterdir() if path.name not in {*files, "listings.json"})
    named = golden.get("payloads", {})
    return (
        [f"{folder / name}: neither payload.<part>.<ext> nor listings.json" for name in others]
        + [
            f"{folder / name}: no entry under payloads in listings.json"
            for name in files
            if name not in named
        ]
        + [f"{folder / name}: named in listings.json, but not there" for name in named if name not in files]
        + [
            f"{folder}/listings.json: payloads.{name} needs {key}"
            for name, header in named.items()
            for key in ("part", "url", "content_type")
            if key not in header
        ]
        + (
            []
            if golden.get("captured")
            else [f"{folder}/listings.json: captured says where the payloads come from"]
        )
    )


def _payload(source_id: str, header: dict[str, str], file: Path) -> Payload:
    return Payload(
        source_id=source_id,
        part=header["part"],
        url=header["url"],
        fetched_at=FETCHED_AT,
        body=file.read_bytes(),
        content_type=header["content_type"],
    )


def _records(provider: Any, headers: dict[str, dict[str, str]], folder: Path) -> Iterator[dict[str, Any]]:
    for name in sorted(headers):
        payload = _payload(provider.SOURCE.id, headers[name], folder / name)
        before = dataclasses.replace(payload)
        first, second = list(provider.parse(payload)), list(provider.parse(payload))
        assert first == second, f"{folder / name}: parse gave two different results"
        assert payload == before, f"{folder / name}: parse changed its input"
        yield from ({"file": name} | record_to_json(record) for record in first)


def _differences(expected: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[str]:
    missing = [f"parse no longer says {record}" for record in expected if record not in actual]
    surplus = [f"not in the golden: {record}" for record in actual if record not in expected]
    if not missing and not surplus and expected != actual:
        return ["the same records in another order or number"]
    return missing + surplus


@pytest.mark.parametrize("provider_id", PROVIDER_IDS)
def test_parse_says_what_the_golden_says(provider_id: str) -> None:
    problems = golden_problems(registry.load_one(provider_id), CAPTURES / provider_id)
    assert not problems, "\n".join(problems)


def test_every_module_is_registered_and_every_folder_has_a_module() -> None:
    assert PROVIDER_IDS
    assert sorted(registry.load()) == PROVIDER_IDS
    folders = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())
    assert [name for name in folders if name not in PROVIDER_IDS] == []


# Own listings that no night may offer: worked out from the payload files by eye.
PRICELESS = {
    "aws": [
        ("p3.2xlarge", "price_missing"),
        ("p4d.24xlarge", "price_zero"),
        ("p4de.24xlarge", "price_missing"),
    ],
    "aws_price_list": [("g5.xlarge", "price_missing"), ("p5.48xlarge", "price_missing")],
    "azure": [("Standard_NC40ads_H100_v5", "price_zero")],
    "gcp": [("a4-highgpu-8g", "price_zero")],
    "gcp_billing": [(f"g2-standard-{size}", "price_missing") for size in (12, 16, 24, 32, 4, 48, 8, 96)],
    "linode": [("g3-gpu-rtxpro6000-blackwell-1", "price_zero")],
    "oci": [("B90012", "price_zero")],
    "gcp_page": [("a4-highgpu-8g", "price_missing"), ("g2-standard-24", "price_missing")],
    "runpod": [(plan, "price_zero") for plan in ("A100 SXM 40GB", "RTX 4090", "unknown", "unknown")],
    "scaleway": [("GPU-3070-S", "price_zero")],
    "vultr": [("vcg-a100-12c-120g-80vram", "price_zero")],
}


def _rejected(listings: list[Listing], provider_id: str) -> list[tuple[str, str]]:
    """The plans that are rejected, and why; that one payload file repeats another is no matter here."""
    payload = Payload(source_id=provider_id, part="all", url="", fetched_at=FETCHED_AT, body=b"")
    made = listing_frame(listings, payload)
    normal = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=FETCHED_AT.date(),
        segments={provider_id: None},
    )
    assert normal.offerings.height + normal.rejects.height == len(listings)
    found = normal.rejects.select("plan", "reason").rows()
    return sorted((plan, reason) for plan, reason in found if reason != "duplicate")


@pytest.mark.parametrize("provider_id", PRICELESS)
def test_a_plan_without_a_price_is_rejected_and_counted(provider_id: str) -> None:
    module, folder = registry.load_one(provider_id), CAPTURES / provider_id
    headers = json.loads((folder / "listings.json").read_text())["payloads"]
    payloads = [_payload(provider_id, header, folder / name) for name, header in headers.items()]
    listings = [row for payload in payloads for row in module.parse(payload) if isinstance(row, Listing)]
    assert _rejected(listings, provider_id) == PRICELESS[provider_id]
    priced = [
        listing if listing.price else dataclasses.replace(listing, price=Decimal(1)) for listing in listings
    ]
    assert _rejected(priced, provider_id) == []  # control


# Failing controls: a fake provider whose folder is right, and one fault at a time.


def _listing(price: str) -> Listing:
    return Listing(
        provider="fake",
        plan="one",
        gpu_text="H100",
        price=Decimal(price),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        place="rows[0]",
    )


def _fake_parse(payload: Payload) -> Iterable[Record]:
    return [_listing(payload.body.decode())]


def _fake(parse: Any = _fake_parse) -> Any:
    source = SimpleNamespace(id="fake", requests=(), keyed_requests=(), pricing_url="https://fake.example/")
    return SimpleNamespace(SOURCE=source, parse=parse)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "payload.prices.txt").write_text("2.50")
    assert any("just written" in problem for problem in golden_problems(_fake(), tmp_path))
    assert golden_problems(_fake(), tmp_path) == []
    return tmp_path


def test_control_a_missing_golden_is_written_once_and_fails(folder: Path) -> None:
    golden = json.loads((folder / "listings.json").read_text())
    assert golden["payloads"]["payload.prices.txt"]["part"] == "prices"
    assert [record["price"] for record in golden["records"]] == ["2.50"]
    assert golden["records"][0]["file"] == "payload.prices.txt"


def test_control_a_golden_that_nobody_has_reviewed_fails(folder: Path) -> None:
    path = folder / "listings.json"
    path.write_text(path.read_text().replace("{", '{"to_review": "compare", ', 1))
    assert "compare" in golden_problems(_fake(), folder)[0]


def test_control_a_changed_price_is_seen(folder: Path) -> None:
    (folder / "payload.prices.txt").write_text("2.51")
    problems = golden_problems(_fake(), folder)
    assert len(problems) == 2
    assert "2.50" in problems[0]
    assert "2.51" in problems[1]


@pytest.mark.parametrize(("copies", "seen"), [(0, "parse no longer says"), (2, "another order or number")])
def test_control_a_lost_and_a_doubled_record_are_seen(folder: Path, copies: int, seen: str) -> None:
    problems = golden_problems(_fake(lambda _: [_listing("2.50")] * copies), folder)
    assert seen in problems[0]


def test_control_unpaired_files_are_seen(folder: Path) -> None:
    (folder / "payload.more.txt").write_text("1")
    (folder / "notes.txt").write_text("")
    (folder / "payload.prices.txt").unlink()
    text = "\n".join(golden_problems(_fake(), folder))
    assert "notes.txt: neither" in text
    assert "payload.more.txt: no entry" in text
    assert "payload.prices.txt: named in listings.json, but not there" in text


def test_control_a_missing_folder_is_seen(tmp_path: Path) -> None:
    assert "holds no payload" in golden_problems(_fake(), tmp_path / "nowhere")[0]


def test_control_a_parser_with_a_memory_is_caught(folder: Path) -> None:
    prices = iter(["2.50", "2.60"])
    with pytest.raises(AssertionError, match="two different results"):
        golden_problems(_fake(lambda _: [_listing(next(prices))]), folder)


def test_control_a_parser_that_writes_into_its_payload_is_caught(folder: Path) -> None:
    def parse(payload: Payload) -> list[Listing]:
        object.__setattr__(payload, "part", "other")
        return [_listing("2.50")]

    with pytest.raises(AssertionError, match="changed its input"):
        golden_problems(_fake(parse), folder)


def test_control_a_parser_on_the_network_is_caught(folder: Path) -> None:
    def parse(payload: Payload) -> list[Listing]:
        socket.create_connection(("127.0.0.1", 9))
        return []

    with pytest.raises(AssertionError, match="reached for the network"):
        golden_problems(_fake(parse), folder)


def test_control_a_float_amount_is_refused(folder: Path) -> None:
    listing = dataclasses.replace(_listing("2.50"), price=2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Listing\.price"):
        golden_problems(_fake(lambda _: [listing]), folder)
