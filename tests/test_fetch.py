"""Fetching, against a real server on loopback: what comes through, what is tried again, what is refused."""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import ssl
import subprocess
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from loopback import (
    Action,
    LoopbackServer,
    bomb,
    cut_short,
    drip,
    endless,
    hang,
    loopback,
    packed,
    redirect,
    reply,
    reset,
    versioned,
)

from scrapers import exchange
from scrapers.answers import retry_after_s
from scrapers.captures import Captures
from scrapers.contract import Auth, LineFilter, Payload, Request, Source
from scrapers.errors import (
    BlockedError,
    FetchError,
    ForbiddenHostError,
    MissingCredentialError,
    PayloadShapeError,
    TooLargeError,
    TransientFetchError,
)
from scrapers.exchange import shown
from scrapers.fetch import Limits, Session, Settings, collect_payloads, fetch
from scrapers.pace import HostGate
from scrapers.readers import decode

NIGHT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
KEY = "sk-very-secret-1234567890"
QUICK = Limits(connect_s=1.0, read_s=0.3, attempt_s=0.8, overall_s=10.0, attempts=3, first_wait_s=0.5)
CHALLENGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>checking</body></html>"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with loopback() as running:
        yield running


class Night:
    """A session whose waits are noted down instead of waited."""

    def __init__(self, *, limits: Limits = QUICK, **environ: str) -> None:
        self.waits_s: list[float] = []
        settings = Settings(
            limits=limits, plain_http_hosts=frozenset({"127.0.0.1", "localhost"}), environ=environ
        )
        self.session = Session(settings, now=lambda: NIGHT, sleep=self.waits_s.append)


def source(server: LoopbackServer, *paths: str, **changes: Any) -> Source:
    requests = tuple(Request(f"part{number}", server.url + path) for number, path in enumerate(paths))
    plain = Source(
        id="test",
        name="Test Cloud",
        segment="neocloud",
        homepage="https://test.example/",
        pricing_url="https://test.example/prices",
        requests=requests,
        allowed_hosts=("127.0.0.1",),
        terms="open",
        terms_url="https://test.example/terms",
        terms_note="none",
        terms_reviewed_on=date(2026, 11, 30),
        last_proof="undated: made up",
        min_listings=1,
        pace_s=0.0,
        max_body_mb=1,
    )
    return replace(plain, **changes)


def ask(server: LoopbackServer, *actions: Action, night: Night | None = None, **changes: Any) -> Payload:
    """The answer to one request for /prices, answered by `actions`."""
    server.on("/prices", *actions)
    asked = source(server, "/prices", **changes)
    return fetch(asked, asked.requests[0], session=(night or Night()).session, night=NIGHT)


def module(asked: Source, follow: Any = None) -> ModuleType:
    found = ModuleType(asked.id)
    vars(found).update(SOURCE=asked, parse=lambda _: [], **({"follow": follow} if follow else {}))
    return found


# What comes through


def test_an_answer_becomes_a_payload_and_says_who_asks(server: LoopbackServer) -> None:
    payload = ask(server, reply(b'{"a": 1}', content_type="application/json; charset=utf-8"))
    assert (payload.body, payload.status, payload.part) == (b'{"a": 1}', 200, "part0")
    assert payload.content_type == "application/json; charset=utf-8"
    assert payload.fetched_at == NIGHT
    agent = server.asked[-1].headers["user-agent"]
    assert agent.startswith("gpu-almanac/")
    assert "respects robots.txt" in agent


def test_the_contact_of_the_owner_stands_in_the_user_agent() -> None:
    assert Settings(contact="owner@example.org").user_agent().endswith("; owner@example.org)")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
def test_compressed_bodies_are_decompressed(server: LoopbackServer, encoding: str) -> None:
    assert ask(server, packed(b'{"a": 1}' * 5000, encoding=encoding)).body == b'{"a": 1}' * 5000


def test_a_compression_that_was_not_asked_for_is_an_error(server: LoopbackServer) -> None:
    with pytest.raises(FetchError, match="'br', which was not asked for"):
        ask(server, reply(b"abc", headers={"Content-Encoding": "br"}))


def test_a_charset_that_the_header_gets_wrong_is_still_read(server: LoopbackServer) -> None:
    page = "<p>Größe ab 2,49 €</p>".encode("cp1252")
    payload = ask(server, reply(page, content_type="text/html; charset=utf-8"))
    assert decode(payload) == "<p>Größe ab 2,49 €</p>"


def test_a_post_sends_its_body(server: LoopbackServer) -> None:
    question = Request(
        "q", f"{server.url}/prices", "POST", (("Content-Type", "application/json"),), b'{"q":1}'
    )
    ask(server, reply(b"{}"), requests=(question,))
    assert (server.asked[-1].method, server.asked[-1].body) == ("POST", b'{"q":1}')


def test_a_bundled_file_needs_no_server(server: LoopbackServer) -> None:
    request = Request("prices", "bundled:list_prices.csv")
    asked = source(server, requests=(request,), allowed_hosts=())
    payload = fetch(asked, request, session=Night().session, night=NIGHT)
    assert payload.body.startswith(b"provider,")
    assert payload.fetched_at == NIGHT
    assert server.asked == []


@pytest.mark.parametrize("name", ["no_such.csv", "../contract.py", "sub/x.csv", ""])
def test_a_bundled_file_that_is_not_there_is_an_error(server: LoopbackServer, name: str) -> None:
    request = Request("prices", f"bundled:{name}")
    with pytest.raises(FetchError, match="no such file in scrapers/bundled"):
        fetch(source(server, requests=(request,)), request, session=Night().session, night=NIGHT)


# What is tried again


def test_429_with_retry_after_waits_as_long_as_it_asks(server: LoopbackServer) -> None:
    night = Night()
    busy = reply(b"busy", status=429, headers={"Retry-After": "7"})
    assert ask(server, busy, reply(b"{}"), night=night).body == b"{}"
    assert night.waits_s == [7.0]


def test_429_without_retry_after_waits_by_backoff(server: LoopbackServer) -> None:
    night = Night()
    assert ask(server, reply(status=429), reply(status=429), reply(b"{}"), night=night).body == b"{}"
    assert 0.5 <= night.waits_s[0] <= 1.0 <= night.waits_s[1] <= 1.5


def test_a_retry_after_that_is_too_long_is_not_waited_for(server: LoopbackServer) -> None:
    night = Night()
    with pytest.raises(TransientFetchError, match=r"status 429 \(tried 1 times; it asks to wait 3600 s\)"):
        ask(server, reply(status=429, headers={"Retry-After": "3600"}), reply(b"{}"), night=night)
    assert night.waits_s == []


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    assert retry_after_s("120", NIGHT) == 120.0
    assert retry_after_s("Mon, 30 Nov 2026 02:00:30 GMT", NIGHT) == 30.0
    assert retry_after_s("Mon, 30 Nov 2026 01:00:00 GMT", NIGHT) == 0.0
    assert retry_after_s("soon", NIGHT) is None
    assert retry_after_s("", NIGHT) is None


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_5xx_for_ever_ends_after_all_attempts(server: LoopbackServer, status: int) -> None:
    with pytest.raises(TransientFetchError, match=rf"status {status} \(tried 3 times\)") as caught:
        ask(server, reply(b"down", status=status))
    assert len(server.paths()) == 3
    assert not caught.value.is_offline


@pytest.mark.parametrize(
    "fault",
    [
        reset(),
        cut_short(b'{"a": 1}'),
        cut_short(b'{"a": 1}', is_chunked=True),
        packed(b'{"a": 1}' * 500, cut_bytes=12),
        reply(b"not gzip", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["reset", "cut", "cut chunked", "cut gzip", "no gzip"],
)
def test_a_broken_answer_is_asked_for_again(server: LoopbackServer, fault: Action) -> None:
    assert ask(server, fault, reply(b'{"a": 1}')).body == b'{"a": 1}'
    assert len(server.paths()) == 2
    with pytest.raises(TransientFetchError, match="tried 3 times"):
        ask(server, fault)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (hang(), "the connection hangs"),
        (drip(b"x" * 1000, pause_s=0.05), "no whole answer within 0.8 s"),
        (drip(b"{}", pause_s=0.05, in_head=True), "no whole answer within 0.8 s"),
    ],
    ids=["hang", "slow body", "slow head"],
)
def test_a_slow_answer_ends_in_time(server: LoopbackServer, fault: Action, problem: str) -> None:
    night = Night(limits=replace(QUICK, attempts=1))
    with pytest.raises(TransientFetchError, match=problem):
        ask(server, fault, night=night)


def test_the_time_for_a_source_is_limited_over_all_attempts(server: LoopbackServer) -> None:
    seconds = iter(range(1000))
    night = Night(limits=replace(QUICK, attempts=100, longest_wait_s=0.0))
    night.session.monotonic = lambda: float(next(seconds))
    with pytest.raises(TransientFetchError, match=r"\(tried [2-4] times\)"):
        ask(server, reply(status=503), night=night)


# No network


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
def test_without_a_connection_a_source_is_offline_after_two_attempts(
    server: LoopbackServer, host: str
) -> None:
    night = Night()
    night.session.settings = replace(
        night.session.settings, plain_http_hosts=frozenset({"127.0.0.1", "no-such-host.invalid"})
    )
    request = Request("part", f"http://{host}/prices")
    asked = source(server, requests=(request,), allowed_hosts=("127.0.0.1", "no-such-host.invalid"))
    with pytest.raises(
        TransientFetchError, match=r"robots.txt: no connection: .* \(tried 2 times\)"
    ) as caught:
        fetch(asked, request, session=night.session, night=NIGHT)
    assert caught.value.is_offline
    assert len(night.waits_s) == 1


# What is refused


@pytest.mark.parametrize(
    ("answer", "error", "problem"),
    [
        (reply(CHALLENGE, content_type="text/html"), BlockedError, "a challenge page"),
        (reply(CHALLENGE, status=503, content_type="text/html"), BlockedError, "a challenge page"),
        (reply(b"{}", headers={"cf-mitigated": "challenge"}), BlockedError, "a challenge page"),
        (reply(b"<html><form>Solve this captcha</form></html>"), BlockedError, "a challenge page"),
        (reply(b"<html><script src=//js.datadome.co></script></html>"), BlockedError, "a challenge page"),
        (reply(b"no", status=401), BlockedError, "status 401"),
        (reply(b"no", status=403), BlockedError, "status 403"),
        (reply(b"gone", status=404), FetchError, "status 404"),
        (reply(b"gone", status=410), FetchError, "status 410"),
        (reply(b"odd", status=418), FetchError, "status 418"),
        (reply(b"", status=204), FetchError, "status 204"),
        (reply(b"", status=304), FetchError, "status 304"),
        (reply(b"", status=302), FetchError, "without a place to go"),
        (reply(b" \n"), FetchError, "the body is empty"),
    ],
)
def test_what_is_no_answer_is_an_error_at_once(
    server: LoopbackServer, answer: Action, error: type[FetchError], problem: str
) -> None:
    with pytest.raises(error, match=problem) as caught:
        ask(server, answer)
    assert type(caught.value) is error
    assert len(server.paths()) == 1


def test_an_ordinary_page_is_no_challenge(server: LoopbackServer) -> None:
    watched = b"<form>captcha</form><script src=//js.datadome.co></script>"
    page = b"<html><title>Pricing</title>" + b"<p>$2.49 /hr</p>" * 2000 + watched
    assert ask(server, reply(page, content_type="text/html")).body == page


def test_a_page_where_json_is_due_is_blocked(server: LoopbackServer) -> None:
    server.on("/p", reply(b"<html>Welcome</html>"))
    for request in (
        Request("prices.json", f"{server.url}/p"),
        Request("prices", f"{server.url}/p", headers=(("Accept", "application/json"),)),
    ):
        with pytest.raises(BlockedError, match="a page came where JSON is due"):
            fetch(source(server, requests=(request,)), request, session=Night().session, night=NIGHT)


def test_a_login_page_is_blocked(server: LoopbackServer) -> None:
    server.on("/login", reply(b"<html>Who are you?</html>", content_type="text/html"))
    with pytest.raises(BlockedError, match="sent to a login page"):
        ask(server, redirect("/login?next=/prices"))


def test_a_redirect_on_an_allowed_host_is_followed(server: LoopbackServer) -> None:
    server.on("/new", reply(b"{}"))
    payload = ask(server, redirect("/new", status=301))
    assert payload.body == b"{}"
    assert payload.url == f"{server.url}/prices", "a payload keeps the address of its question"
    assert server.paths() == ["/prices", "/new"]


def test_a_redirect_to_another_host_is_refused_before_it_is_asked(server: LoopbackServer) -> None:
    with (
        loopback() as elsewhere,
        pytest.raises(ForbiddenHostError, match=r"localhost.*leaves the hosts of test"),
    ):
        ask(server, redirect(f"http://localhost:{elsewhere.port}/x"))
    assert elsewhere.asked == []


def test_a_redirect_off_https_or_with_credentials_is_refused(server: LoopbackServer) -> None:
    with pytest.raises(ForbiddenHostError, match=r"ftp://127\.0\.0\.1/x: not https"):
        ask(server, redirect("ftp://127.0.0.1/x"))
    with pytest.raises(ForbiddenHostError, match="leaves the hosts"):
        ask(server, redirect(f"http://user:pass@127.0.0.1:{server.port}/x"))
    with pytest.raises(FetchError, match="leads to no address"):
        ask(server, redirect("http://127.0.0.1:99999/"))


def test_plain_http_is_refused_by_default(server: LoopbackServer) -> None:
    asked = source(server, "/prices")
    with pytest.raises(ForbiddenHostError, match="not https"):
        fetch(asked, asked.requests[0], session=Session(Settings(environ={})), night=NIGHT)
    assert server.asked == []


def test_redirects_in_a_circle_end(server: LoopbackServer) -> None:
    with pytest.raises(FetchError, match="more than 5 redirects"):
        ask(server, redirect("/prices"))
    assert len(server.paths()) == 6


# Too much


def test_a_body_of_2_gb_is_left_early(server: LoopbackServer) -> None:
    with pytest.raises(TooLargeError, match="larger than 1 MB"):
        ask(server, endless(2_000_000_000))
    assert server.sent_bytes < 20_000_000, "the rest stays in the buffers of the network"
    assert len(server.paths()) == 1


def test_a_body_whose_stated_length_is_too_large_is_not_read(server: LoopbackServer) -> None:
    with pytest.raises(TooLargeError, match="larger than 1 MB"):
        ask(server, endless(2_000_000_000, is_length_stated=True))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compression_bomb_is_left_early(server: LoopbackServer, encoding: str) -> None:
    patient = Night(limits=replace(QUICK, read_s=10.0, attempt_s=20.0))
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match="larger than 1 MB"):
            ask(server, bomb(2_000_000_000, encoding=encoding), night=patient)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10_000_000


def test_a_body_of_just_the_cap_is_taken(server: LoopbackServer) -> None:
    assert len(ask(server, packed(b"x" * 1_000_000)).body) == 1_000_000
    with pytest.raises(TooLargeError):
        ask(server, packed(b"x" * 1_000_001))
    with pytest.raises(TooLargeError):
        ask(server, reply(b"x" * 1_000_001))


# Texts of which some lines are kept

KEEP = LineFilter(head=1, any_of=(b"gpu",), all_of=((b"linux",),))
TEXT = b"name,system\ngpu one,linux\ngpu one,windows\ncpu,linux\ngpu two,linux"
KEPT = b"name,system\ngpu one,linux\ngpu two,linux"


def ask_lines(
    server: LoopbackServer, *actions: Action, night: Night | None = None, **changes: Any
) -> Payload:
    """The kept lines of the answer to one request for /index.csv."""
    server.on("/index.csv", *actions)
    request = Request("index", f"{server.url}/index.csv", keep_lines=KEEP)
    asked = source(server, requests=(request,), **changes)
    return fetch(asked, request, session=(night or Night()).session, night=NIGHT)


def lines_of(size_bytes: int, line: bytes = b"some other line that nobody asked for\n") -> Action:
    """Sends so many bytes of lines between the head and one line that is kept, compressed while they are sent."""

    def action(handler: Any, asked: Any) -> None:
        handler.head(200, {"Content-Encoding": "gzip", "Connection": "close"})
        packer, block = zlib.compressobj(1, zlib.DEFLATED, 31), line * (65_536 // len(line))
        handler.write(packer.compress(b"name,system\n"))
        for _ in range(size_bytes // len(block)):
            handler.write(packer.compress(block))
        handler.write(packer.compress(b"gpu one,linux\n") + packer.flush())
        handler.close_connection = True

    return action


@pytest.mark.parametrize("action", [reply(TEXT), packed(TEXT), packed(TEXT, encoding="deflate")])
def test_only_the_lines_that_are_asked_for_are_kept(server: LoopbackServer, action: Action) -> None:
    assert ask_lines(server, action).body == KEPT


def test_what_is_kept_counts_and_not_what_streams_by(server: LoopbackServer) -> None:
    tracemalloc.start()
    try:
        payload = ask_lines(
            server, lines_of(30_000_000), night=Night(limits=replace(QUICK, read_s=10.0, stream_s=60.0))
        )
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert payload.body == b"name,system\ngpu one,linux\n"
    assert peak_bytes < 4_000_000
    with pytest.raises(TooLargeError, match="what is kept of the body is larger than 1 MB"):
        ask_lines(server, lines_of(30_000_000, line=b"gpu,linux\n"))


def test_a_text_beyond_all_measure_is_left(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LARGEST_STREAM_BYTES", 5_000_000)
    assert ask_lines(server, lines_of(4_000_000)).body.endswith(b"gpu one,linux\n")  # control
    with pytest.raises(TooLargeError, match=r"the text is larger than 0\.005 GB"):
        ask_lines(server, lines_of(30_000_000))
    with pytest.raises(TooLargeError, match="the body is larger"):
        ask_lines(server, endless(6_000_000, is_length_stated=True))


def test_a_text_without_lines_is_left(server: LoopbackServer) -> None:
    with pytest.raises(PayloadShapeError, match=r"/index\.csv: byte 0: a line of more than 65536 bytes"):
        ask_lines(server, endless(50_000_000))
    with pytest.raises(PayloadShapeError, match="byte 0: a line of more than 65536 bytes"):
        ask_lines(server, bomb(50_000_000), night=Night(limits=replace(QUICK, read_s=10.0, stream_s=20.0)))


def test_a_text_that_is_cut_off_is_no_text(server: LoopbackServer) -> None:
    with pytest.raises(TransientFetchError, match="the compressed body is cut off"):
        ask_lines(server, packed(TEXT, cut_bytes=9))
    assert ask_lines(server, packed(TEXT, cut_bytes=9), packed(TEXT)).body == KEPT  # control: it heals


def test_a_long_text_has_a_time_of_its_own(server: LoopbackServer) -> None:
    slow = reply(TEXT, delay_s=0.25)
    short = replace(QUICK, attempt_s=0.1, attempts=1)
    assert ask_lines(server, slow, night=Night(limits=short)).body == KEPT
    with pytest.raises(TransientFetchError, match="no whole answer within"):
        ask_lines(server, slow, night=Night(limits=replace(short, stream_s=0.1)))


def test_kept_lines_are_the_capture_and_come_back_unchanged(server: LoopbackServer, tmp_path: Path) -> None:
    server.on("/index.csv", versioned(TEXT, '"v1"'))
    request = Request("index", f"{server.url}/index.csv", keep_lines=KEEP)
    asked, captures = module(source(server, requests=(request,))), Captures(tmp_path)
    first, second = (
        collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)[0] for _ in range(2)
    )
    assert (first.status, first.body) == (200, KEPT)
    assert (second.status, second.body) == (304, KEPT)


def test_what_follows_the_end_of_a_compressed_body_is_not_kept_in_memory() -> None:
    body = exchange.Body("https://x.example/", "gzip", 1_000_000)
    packed_text = gzip.compress(b"one") + gzip.compress(b"two")
    for start in range(0, len(packed_text), 7):
        body.add(packed_text[start : start + 7])
    tracemalloc.start()
    try:
        for _ in range(2_000):
            body.add(b"\0" * 10_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert body.end() == b"onetwo"


# robots.txt


def test_robots_txt_is_obeyed_and_asked_for_once_a_night(server: LoopbackServer) -> None:
    night = Night()
    rules = (
        b"User-agent: *\nDisallow: /prices\n\nUser-agent: gpu-almanac\nDisallow: /secret\nCrawl-delay: 3\n"
    )
    server.on("/robots.txt", reply(rules, content_type="text/plain"))
    assert ask(server, reply(b"{}"), night=night).body == b"{}"
    assert ask(server, reply(b"{}"), night=night).body == b"{}"
    assert [asked.path for asked in server.asked].count("/robots.txt") == 1
    assert max(night.waits_s) == pytest.approx(3.0, abs=0.5), "Crawl-delay is kept"
    with pytest.raises(BlockedError, match=r"robots\.txt disallows it"):
        fetch_path(server, "/secret/prices", night)
    assert "/secret/prices" not in server.paths()


def fetch_path(server: LoopbackServer, path: str, night: Night) -> Payload:
    asked = source(server, path)
    return fetch(asked, asked.requests[0], session=night.session, night=NIGHT)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_robots_txt_that_is_not_there_allows_all(server: LoopbackServer, status: int) -> None:
    server.on("/robots.txt", reply(b"no", status=status))
    assert ask(server, reply(b"{}")).body == b"{}"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_robots_txt_that_fails_allows_nothing(server: LoopbackServer, status: int) -> None:
    server.on("/robots.txt", reply(b"no", status=status))
    with pytest.raises(BlockedError, match=rf"robots.txt cannot be had .*status {status}.*RFC 9309"):
        ask(server, reply(b"{}"))
    assert server.paths() == []


def test_a_robots_txt_that_heals_is_obeyed(server: LoopbackServer) -> None:
    server.on("/robots.txt", reply(status=503), reply(b"User-agent: *\nDisallow: /\n"))
    with pytest.raises(BlockedError, match=r"robots\.txt disallows it"):
        ask(server, reply(b"{}"))


@pytest.mark.parametrize("delay", ["61", "5000", "1e9"])
def test_a_host_that_wants_longer_pauses_than_we_keep_is_not_asked(
    server: LoopbackServer, delay: str
) -> None:
    server.on("/robots.txt", reply(f"User-agent: *\nCrawl-delay: {delay}\n".encode()))
    night = Night()
    with pytest.raises(
        BlockedError, match=r"robots\.txt asks for a pause of .* s, and at most 60 s are kept"
    ):
        ask(server, reply(b"{}"), night=night)
    assert (server.paths(), night.waits_s) == ([], [])


@pytest.mark.parametrize("delay", ["nan", "inf", "9" * 400, "-3", "-1e9", "soon", "", "0"])
def test_a_crawl_delay_that_is_no_pause_asks_for_none(server: LoopbackServer, delay: str) -> None:
    server.on("/robots.txt", reply(f"User-agent: *\nCrawl-delay: {delay}\n".encode()))
    night = Night()
    assert ask(server, reply(b"{}"), night=night).body == b"{}"
    assert night.waits_s == []


def test_a_pause_that_the_time_for_the_source_does_not_hold_is_not_begun(server: LoopbackServer) -> None:
    server.on("/robots.txt", reply(b"User-agent: *\nCrawl-delay: 60\n"))
    night = Night()
    with pytest.raises(FetchError, match="the time for test is over before its turn"):
        ask(server, reply(b"{}"), night=night)
    assert (server.paths(), night.waits_s) == ([], []), "QUICK leaves 10 s to a source"
    patient = Night(limits=replace(QUICK, overall_s=100.0))
    assert ask(server, reply(b"{}"), night=patient).body == b"{}"
    assert patient.waits_s == [pytest.approx(60.0, abs=1.0)]


def test_a_wait_that_the_time_for_the_source_does_not_hold_is_not_begun(server: LoopbackServer) -> None:
    night = Night()
    with pytest.raises(TransientFetchError, match=r"status 429 \(tried 1 times; it asks to wait 30 s\)"):
        ask(server, reply(status=429, headers={"Retry-After": "30"}), reply(b"{}"), night=night)
    assert night.waits_s == []


def test_a_robots_txt_elsewhere_is_not_followed(server: LoopbackServer) -> None:
    server.on("/robots.txt", redirect("https://elsewhere.example/robots.txt"))
    assert ask(server, reply(b"{}")).body == b"{}"


def test_robots_txt_holds_on_redirects_too(server: LoopbackServer) -> None:
    server.on("/robots.txt", reply(b"User-agent: *\nDisallow: /new\n"))
    with pytest.raises(BlockedError, match=r"robots\.txt disallows it"):
        ask(server, redirect("/new"))
    assert server.paths() == ["/prices"]


# Pace


def test_requests_to_a_host_keep_their_pace(server: LoopbackServer) -> None:
    night = Night()
    for path in ("/a", "/b"):
        server.on(path, reply(b"{}"))
    collect_payloads(module(source(server, "/a", "/b", pace_s=2.0)), session=night.session, night=NIGHT)
    assert len(night.waits_s) == 2, "between robots.txt, /a and /b"
    assert all(1.5 < wait_s <= 2.0 for wait_s in night.waits_s)


def test_a_host_that_others_keep_busy_is_waited_for_no_longer_than_allowed() -> None:
    gate = HostGate()
    with gate.turn("a.example", 0.0):
        with pytest.raises(TimeoutError), gate.turn("a.example", 0.0, 0.05):
            pass
        with gate.turn("b.example", 0.0, 0.05):
            pass
    with gate.turn("a.example", 0.0, 0.05):
        pass


def test_a_host_serves_one_source_at_a_time_and_others_do_not_wait() -> None:
    gate, inside, order = HostGate(), threading.Event(), []

    def visit(host: str) -> None:
        with gate.turn(host, 0.0):
            order.append(host)
            inside.set()

    with gate.turn("a.example", 0.0):
        second = threading.Thread(target=visit, args=("a.example",))
        second.start()
        visit("b.example")
        second.join(0.1)
        assert order == ["b.example"]
    second.join(5)
    assert order == ["b.example", "a.example"]


# TLS


def test_a_server_that_does_not_speak_tls_is_not_taken_for_a_missing_network(server: LoopbackServer) -> None:
    request = Request("p", f"https://127.0.0.1:{server.port}/prices")
    with pytest.raises(BlockedError, match=r"robots.txt cannot be had .*wrong version number"):
        fetch(source(server, requests=(request,)), request, session=Night().session, night=NIGHT)


def test_a_certificate_that_is_not_valid_is_an_error_at_once(server: LoopbackServer, tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        message = "no openssl on this machine; install it with: apt-get install openssl"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x"
    subprocess.run(
        [*command.split(), "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    night = Night()
    request = Request("p", f"https://127.0.0.1:{server.port}/prices")
    with pytest.raises(FetchError, match="the certificate is not valid") as caught:
        fetch(source(server, requests=(request,)), request, session=night.session, night=NIGHT)
    assert not isinstance(caught.value, TransientFetchError)
    assert night.waits_s == []


# Keys


def keyed(server: LoopbackServer, **changes: Any) -> Source:
    request = Request("prices", f"{server.url}/keyed")
    auth = Auth("TEST_CLOUD_KEY", "X-Api-Key", "Key {key}")
    return source(server, requests=(), keyed_requests=(request,), auth=auth, **changes)


def test_a_key_that_is_missing_skips_the_source(server: LoopbackServer) -> None:
    with pytest.raises(MissingCredentialError, match="TEST_CLOUD_KEY is not set"):
        collect_payloads(module(keyed(server)), session=Night().session, night=NIGHT)
    assert server.asked == []


def test_a_keyed_request_is_not_asked_for_without_its_key(server: LoopbackServer) -> None:
    both = replace(keyed(server), requests=(Request("open", f"{server.url}/open"),))
    with pytest.raises(MissingCredentialError, match="given only with a key"):
        fetch(both, both.keyed_requests[0], session=Night().session, night=NIGHT)
    assert server.asked == []


def test_without_a_key_the_open_requests_are_asked(server: LoopbackServer) -> None:
    server.on("/open", reply(b"open"))
    server.on("/keyed", reply(b"keyed"))
    both = replace(keyed(server), requests=(Request("open", f"{server.url}/open"),))
    without = collect_payloads(module(both), session=Night().session, night=NIGHT)
    with_key = collect_payloads(module(both), session=Night(TEST_CLOUD_KEY=KEY).session, night=NIGHT)
    assert [payload.body for payload in (*without, *with_key)] == [b"open", b"keyed"]
    assert server.asked[-1].headers["x-api-key"] == f"Key {KEY}"
    assert all("x-api-key" not in asked.headers for asked in server.asked[:-1]), "nor to robots.txt"


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"busy", status=503),
        reply(b"no", status=401),
        reply(b"gone", status=404),
        reset(),
        hang(),
        endless(3_000_000),
        redirect("https://elsewhere.example/?token=" + KEY),
        reply(b"your key is " + KEY.encode()),
        reply(b"{}", headers={"ETag": f'"{KEY}"'}),
        reply(b"{}", content_type=f"application/json; k={KEY}"),
        redirect(f"/x/{KEY}?k=1"),
        redirect("/x/" + "".join(f"%{ord(sign):02x}" for sign in KEY)),
        redirect(f"http://evil.example/{KEY}"),
        reply(b"ok"),
    ],
    ids=[
        "503",
        "401",
        "404",
        "reset",
        "hang",
        "large",
        "redirect",
        "echo",
        "etag",
        "type",
        "redirect-path",
        "redirect-percent",
        "redirect-host",
        "ok",
    ],
)
def test_a_key_shows_in_no_error_log_repr_or_capture(
    server: LoopbackServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, answer: Action
) -> None:
    server.on("/keyed", answer)
    caplog.set_level(logging.INFO)
    night = Night(limits=replace(QUICK, attempts=2), TEST_CLOUD_KEY=KEY)
    seen = [repr(night.session.settings), repr(keyed(server))]
    try:
        payloads = collect_payloads(
            module(keyed(server)), session=night.session, night=NIGHT, captures=Captures(tmp_path)
        )
        seen.append(repr(payloads))
    except FetchError as error:
        chain: BaseException | None = error
        while chain:
            seen.append(f"{chain!r} {chain}")
            chain = chain.__cause__
    assert server.asked[-1].headers["x-api-key"] == f"Key {KEY}", "control: the key was sent"
    assert KEY not in "\n".join([*seen, caplog.text])
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in stored


def test_a_key_does_not_follow_a_redirect_to_another_server(server: LoopbackServer) -> None:
    with loopback() as elsewhere:
        elsewhere.on("/x", reply(b"{}"))
        server.on("/keyed", redirect(f"{elsewhere.url}/x"))
        collect_payloads(module(keyed(server)), session=Night(TEST_CLOUD_KEY=KEY).session, night=NIGHT)
        assert elsewhere.paths() == ["/x"]
        assert all("x-api-key" not in request.headers for request in elsewhere.asked)


def test_a_key_with_a_line_break_is_refused_without_showing_it(server: LoopbackServer) -> None:
    with pytest.raises(MissingCredentialError, match="TEST_CLOUD_KEY holds characters") as caught:
        collect_payloads(module(keyed(server)), session=Night(TEST_CLOUD_KEY="ab\ncd").session, night=NIGHT)
    assert "cd" not in str(caught.value).replace("TEST_CLOUD_KEY", "")


TEAM = "acme-team.42"


def with_team(server: LoopbackServer, **changes: Any) -> Source:
    request = Request("prices", f"{server.url}/teams/{{team}}/keyed?of={{team}}")
    auth = Auth("TEST_CLOUD_KEY", "X-Api-Key", "Key {key}", (("team", "TEST_CLOUD_TEAM"),))
    return source(server, requests=(), keyed_requests=(request,), auth=auth, **changes)


def test_an_account_name_is_filled_in_and_stored_nowhere(server: LoopbackServer, tmp_path: Path) -> None:
    server.on(f"/teams/{TEAM}/keyed", reply(b"prices"))
    night = Night(TEST_CLOUD_KEY=KEY, TEST_CLOUD_TEAM=TEAM)
    payloads = collect_payloads(
        module(with_team(server)), session=night.session, night=NIGHT, captures=Captures(tmp_path)
    )
    assert server.paths() == [f"/teams/{TEAM}/keyed?of={TEAM}"]
    assert payloads[0].url == f"{server.url}/teams/{{team}}/keyed?of={{team}}"
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"{team}" in stored
    assert TEAM.encode() not in stored


@pytest.mark.parametrize(
    "action",
    [
        reply(b"no", status=403),
        reply(b"busy", status=503),
        reply(b"gone", status=404),
        redirect(f"/elsewhere/{TEAM}/x?y={TEAM}"),
        redirect(f"https://other.example/{TEAM}"),
        redirect(f"https://[{TEAM}/"),
        hang(),
        cut_short(b"{}"),
        endless(5_000_000),
    ],
)
def test_an_account_name_shows_in_no_error_and_no_log(
    server: LoopbackServer, action: Action, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.on(f"/teams/{TEAM}/keyed", action)
    night = Night(TEST_CLOUD_KEY=KEY, TEST_CLOUD_TEAM=TEAM)
    with pytest.raises(FetchError) as caught:
        collect_payloads(module(with_team(server)), session=night.session, night=NIGHT)
    assert TEAM not in f"{caught.value} {caught.value!r} {caplog.text}"
    assert server.paths()[0].startswith(f"/teams/{TEAM}/")  # control: it was asked with the name


def test_a_redirect_within_an_account_is_followed(server: LoopbackServer) -> None:
    server.on(f"/teams/{TEAM}/keyed", redirect(f"{server.url}/v2/teams/{TEAM}?of={TEAM}"))
    server.on(f"/v2/teams/{TEAM}", reply(b"moved"))
    night = Night(TEST_CLOUD_KEY=KEY, TEST_CLOUD_TEAM=TEAM)
    payloads = collect_payloads(module(with_team(server)), session=night.session, night=NIGHT)
    assert payloads[0].body == b"moved"
    assert server.paths()[1] == f"/v2/teams/{TEAM}?of={TEAM}"


@pytest.mark.parametrize(
    ("team", "problem"),
    [
        (None, "TEST_CLOUD_TEAM is not set; the addresses of Test Cloud need it"),
        (" ", "TEST_CLOUD_TEAM is not set"),
        ("..", "TEST_CLOUD_TEAM holds what no account name has"),
        ("a/b", "TEST_CLOUD_TEAM holds what no account name has"),
        ("a b", "TEST_CLOUD_TEAM holds what no account name has"),
        ("x" * 101, "TEST_CLOUD_TEAM holds what no account name has"),
    ],
)
def test_an_account_name_that_is_missing_or_none_skips_the_source(
    server: LoopbackServer, team: str | None, problem: str
) -> None:
    environ = {"TEST_CLOUD_KEY": KEY} | ({} if team is None else {"TEST_CLOUD_TEAM": team})
    with pytest.raises(MissingCredentialError, match=problem) as caught:
        collect_payloads(module(with_team(server)), session=Night(**environ).session, night=NIGHT)
    assert not team or not team.strip(" .") or team not in str(caught.value)
    assert server.asked == []


def test_an_address_is_shown_without_its_secrets() -> None:
    assert shown("https://u:p@x.example/a?api_key=abc&page=2#f") == "https://x.example/a?api_key=…&page=2"
    assert len(shown("https://x.example/" + "a" * 1000)) == 200


# Conditional requests and captures


def test_an_answer_that_is_unchanged_comes_from_its_capture(server: LoopbackServer, tmp_path: Path) -> None:
    server.on("/prices", versioned(b'{"price": 2}', '"v1"'))
    captures = Captures(tmp_path)
    asked = module(source(server, "/prices"))
    [first] = collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)
    later = Night()
    later.session.now = lambda: NIGHT + timedelta(days=1)
    [second] = collect_payloads(asked, session=later.session, night=NIGHT, captures=captures)
    assert (first.status, second.status) == (200, 304)
    assert second.body == first.body == b'{"price": 2}'
    assert second.fetched_at == NIGHT + timedelta(days=1)
    third = collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)[0]
    assert third.status == 304, "the capture of an unchanged answer keeps the ETag"
    assert len(list((tmp_path / "objects").rglob("*.zst"))) == 1


def test_a_damaged_capture_is_asked_for_whole(
    server: LoopbackServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.on("/prices", versioned(b'{"price": 2}', '"v1"'))
    captures = Captures(tmp_path)
    asked = module(source(server, "/prices"))
    collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)
    [stored] = (tmp_path / "objects").rglob("*.zst")
    stored.write_bytes(b"damaged")
    [second] = collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)
    assert second.status == 200
    assert "asking for the whole answer" in caplog.text


def test_a_damaged_capture_heals_when_its_bytes_come_again(server: LoopbackServer, tmp_path: Path) -> None:
    server.on("/prices", versioned(b'{"price": 2}', '"v1"'))
    asked, statuses = module(source(server, "/prices")), []
    for _ in range(3):
        captures = Captures(tmp_path)
        [payload] = collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)
        statuses.append(payload.status)
        if len(statuses) == 1:
            [stored] = (tmp_path / "objects").rglob("*.zst")
            stored.write_bytes(b"damaged")
    assert statuses == [200, 200, 304]


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": '"a\x80b"'},
        {"ETag": '"Größe"'},
        {"ETag": '"' + "x" * 9000 + '"'},
        {"Last-Modified": "Mon, 30 Nov 2026 02:00:00 \xa0"},
    ],
    ids=["obs-text", "latin-1", "long", "date"],
)
def test_a_validator_that_no_header_can_repeat_is_not_sent_back(
    server: LoopbackServer, tmp_path: Path, headers: dict[str, str]
) -> None:
    server.on("/prices", reply(b'{"price": 2}', headers=headers))
    asked = module(source(server, "/prices"))
    for _ in range(2):
        captures = Captures(tmp_path)
        [payload] = collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)
        assert payload.status == 200
    assert not {"if-none-match", "if-modified-since"} & set(server.asked[-1].headers)


def test_one_damaged_line_of_an_index_does_not_end_the_source(
    server: LoopbackServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.on("/prices", versioned(b'{"price": 2}', '"v1"'))
    asked = module(source(server, "/prices"))
    collect_payloads(asked, session=Night().session, night=NIGHT, captures=Captures(tmp_path))
    index = tmp_path / "index" / "test.jsonl"
    index.write_bytes(b"{broken\n" + index.read_bytes())
    captures = Captures(tmp_path)
    [payload] = collect_payloads(asked, session=Night().session, night=NIGHT, captures=captures)
    assert payload.status == 304
    assert "line 1 is damaged" in caplog.text


# Requests that follow


def pages(payload: Payload) -> list[Request]:
    following = decode(payload)
    return (
        [Request(following, payload.url.rpartition("/")[0] + "/" + following)] if following != "end" else []
    )


def test_follow_is_asked_until_nothing_is_left(server: LoopbackServer) -> None:
    for path, body in (("/1", b"2"), ("/2", b"3"), ("/3", b"end")):
        server.on(path, reply(body))
    payloads = collect_payloads(module(source(server, "/1"), pages), session=Night().session, night=NIGHT)
    assert [payload.part for payload in payloads] == ["part0", "2", "3"]


def test_follow_in_a_circle_asks_nothing_twice(server: LoopbackServer) -> None:
    server.on("/1", reply(b"2"))
    server.on("/2", reply(b"1"))
    payloads = collect_payloads(module(source(server, "/1"), pages), session=Night().session, night=NIGHT)
    assert [payload.part for payload in payloads] == ["part0", "2"]
    assert server.paths() == ["/1", "/2"]


def test_follow_without_end_is_an_error(server: LoopbackServer) -> None:
    def more(payload: Payload) -> list[Request]:
        return [Request(payload.part + "x", payload.url + "x")]

    server.on("/1", reply(b"a"))
    for count in range(1, 12):
        server.on("/1" + "x" * count, reply(b"a"))
    night = Night(limits=replace(QUICK, requests=10))
    with pytest.raises(FetchError, match="more than 10 requests"):
        collect_payloads(module(source(server, "/1"), more), session=night.session, night=NIGHT)


def test_two_answers_of_one_name_are_an_error(server: LoopbackServer) -> None:
    server.on("/1", reply(b"a"))
    asked = module(source(server, "/1"), lambda _: [Request("part0", f"{server.url}/2")])
    with pytest.raises(FetchError, match="two requests have the part 'part0'"):
        collect_payloads(asked, session=Night().session, night=NIGHT)


def test_a_request_that_follow_sends_elsewhere_is_refused(server: LoopbackServer) -> None:
    server.on("/1", reply(b"a"))
    asked = module(source(server, "/1"), lambda _: [Request("x", "https://elsewhere.example/")])
    with pytest.raises(ForbiddenHostError, match="leaves the hosts"):
        collect_payloads(asked, session=Night().session, night=NIGHT)
