"""A key or an account name that an answer repeats, however it is written, is published nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import odd_parsers
import pytest
from loopback import LoopbackServer, loopback, reply

from flows import collect as collecting
from flows.apart import parsed
from flows.collect import collect
from flows.payload_files import file_payload
from scrapers import fetch
from scrapers.accounts import Account
from scrapers.contract import Auth, Listing, Payload, Request
from scrapers.errors import FetchError, PayloadShapeError
from scrapers.exchange import Secret
from scrapers.readers import At, read_json
from scrapers.registry import load_one

KEY, TEAM = "sk-very-secret-1234567890", "our-private-team"
one_listing = odd_parsers.parse
AT = datetime(2026, 11, 30, 2, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with loopback() as running:
        yield running


def named(payload: Payload) -> Iterator[Listing]:
    """One listing whose GPU is what the answer says."""
    for row in At(payload.part, read_json(payload)):
        yield from (
            replace(each, gpu_text=row["gpu"].text()) for each in one_listing(replace(payload, body=b"2.50"))
        )


@pytest.mark.parametrize(
    ("told", "is_refused"),
    [
        ("H100", False),
        ("".join(f"\\u{ord(sign):04x}" for sign in KEY), True),
        ("".join(f"%{ord(sign):02x}" for sign in KEY), True),
        (f"H100 of {TEAM}", True),
    ],
)
def test_what_a_listing_repeats_of_us_fails_the_source(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, told: str, is_refused: bool
) -> None:
    request = Request("prices", f"{server.url}/{{team}}/prices")
    auth = Auth("TEST_KEY", address_env=(("team", "TEST_TEAM"),))
    source = replace(
        odd_parsers.SOURCE, requests=(), keyed_requests=(request,), auth=auth, allowed_hosts=("127.0.0.1",)
    )
    monkeypatch.setattr(odd_parsers, "SOURCE", source)
    monkeypatch.setattr(odd_parsers, "parse", named)
    monkeypatch.setattr(collecting, "parsed_apart", parsed)
    server.on(f"/{TEAM}/prices", reply(f'[{{"gpu": "{told}"}}]'.encode()))
    settings = fetch.Settings(
        plain_http_hosts=frozenset({"127.0.0.1"}), environ={"TEST_KEY": KEY, "TEST_TEAM": TEAM}
    )
    session = fetch.Session(settings, sleep=lambda _: None)
    if not is_refused:
        assert collect(odd_parsers, session=session, night=AT, captures=None).outcome == "ok"
        return
    with pytest.raises(FetchError, match="repeats our key or account") as refused:
        collect(odd_parsers, session=session, night=AT, captures=None)
    assert KEY not in str(refused.value)
    assert TEAM not in str(refused.value)


def test_a_short_account_name_is_a_common_word() -> None:
    account = Account(Secret(KEY), (("team", Secret("gpu")),))
    assert not account.shows_in("gpu_1x_a100")
    assert account.shows_in(f"x{KEY}")


# Payload files: bounded as an answer is


def test_only_a_regular_file_of_the_size_of_an_answer_is_read(tmp_path: Path) -> None:
    source = load_one("lambda").SOURCE
    for path, problem in ((Path("/dev/zero"), "no regular file"), (tmp_path / "none", "no such file")):
        with pytest.raises(PayloadShapeError, match=problem):
            file_payload(source, path, AT)
    large = tmp_path / "large.json"
    with large.open("wb") as opened:
        opened.truncate(source.max_body_mb * 1_000_000 + 1)
    with pytest.raises(PayloadShapeError, match="larger than the 64 MB"):
        file_payload(source, large, AT)
    large.write_bytes(b"{}")
    assert file_payload(source, large, AT).body == b"{}"  # control


def test_of_a_large_file_the_lines_are_kept_whatever_its_name_is(tmp_path: Path) -> None:
    source = replace(load_one("aws_price_list").SOURCE, max_body_mb=1)
    line = b'"x","' + b"-" * 300 + b'"\n'
    gpu = next(
        path for path in (Path(__file__).parent / "captures" / "aws_price_list").glob("payload.ec2*.csv")
    ).read_bytes()
    path = tmp_path / "index.csv"
    path.write_bytes(gpu + line * 5000)
    kept = file_payload(source, path, AT)
    assert kept.part == "index"
    assert 0 < len(kept.body) <= len(gpu)
    assert b"-" * 300 not in kept.body
