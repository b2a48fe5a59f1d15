"""Requests to payloads: the only code of the project on the network.

A source is asked politely (robots.txt, pace, honest name), within limits (time, bytes, hosts, redirects), and
again only where that can help. What is not an answer is an error that says why.

    session = Session(settings)                                 # one for a night, shared by all sources
    payloads = collect_payloads(module, session=session, captures=captures, night=night)

Not to be called from inside of a running event loop.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata, resources
from types import ModuleType
from typing import Never
from urllib.parse import urljoin, urlsplit

import tenacity

from scrapers.accounts import Account, requests_of
from scrapers.answers import check_can_heal, check_is_answer
from scrapers.captures import Capture, Captures
from scrapers.contract import Payload, Request, Source
from scrapers.errors import (
    BlockedError,
    CaptureError,
    FetchError,
    ForbiddenHostError,
    MissingCredentialError,
    TooLargeError,
    TransientFetchError,
)
from scrapers.exchange import Answer, Client, Question, Secret, shown
from scrapers.pace import HostGate
from scrapers.robots import AGENT, LARGEST_FILE_BYTES, Rules, rules_of, unreachable

logger = logging.getLogger(__name__)

REDIRECTS = frozenset({301, 302, 303, 307, 308})
OFFLINE_ATTEMPTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long, how often and how much. Times are in seconds; `overall_s` is for all requests of a source.

    `stream_s` is for one request of which only some lines are kept: such a text may have gigabytes.
    """

    connect_s: float = 10.0
    read_s: float = 30.0
    attempt_s: float = 120.0
    stream_s: float = 900.0
    overall_s: float = 1200.0
    attempts: int = 4
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    longest_retry_after_s: float = 120.0
    redirects: int = 5
    requests: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the owner of a machine decides. `plain_http_hosts` may be asked without TLS: nobody by default."""

    limits: Limits = Limits()
    contact: str | None = None
    plain_http_hosts: frozenset[str] = frozenset()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def user_agent(self) -> str:
        """The name that we give to providers."""
        about = "nightly price index; respects robots.txt"
        contact = f"; {self.contact}" if self.contact else ""
        return f"{AGENT}/{metadata.version('gpu-almanac')} ({about}{contact})"


class Session:
    """What all sources of a night share: the settings, the pace of each host, and what its robots.txt says."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings or Settings()
        self.now = now
        self.sleep = sleep
        self.monotonic = monotonic
        self.gate = HostGate(monotonic=monotonic, sleep=sleep)
        self.robots: dict[str, Rules] = {}


def collect_payloads(
    module: ModuleType, *, session: Session, night: datetime, captures: Captures | None = None
) -> list[Payload]:
    """All answers of a source tonight: its requests, and what `follow` makes of the answers.

    A payload with status 304 is unchanged since its last capture, whose body it has. The first request that
    fails ends the source, for half of its prices would look like all of them.

    Raises:
        FetchError: An answer could not be had; its subclasses say why.
        PayloadShapeError: `follow` does not know the answer.
        CaptureError: An answer cannot be stored.
    """
    source: Source = module.SOURCE
    first, account = requests_of(source, session.settings.environ)
    follow: Callable[[Payload], Iterable[Request]] | None = getattr(module, "follow", None)
    waiting = deque(first)
    asked: set[tuple[str, str, bytes | None]] = set()
    payloads: dict[str, Payload] = {}
    with _visit(source, session, account, captures, night) as visit:
        while waiting:
            request = waiting.popleft()
            question = (request.method, request.url, request.body)
            if question in asked:
                continue
            if request.part in payloads:
                raise FetchError(f"{source.id}: two requests have the part {request.part!r}; name them apart")
            if len(asked) >= session.settings.limits.requests:
                raise FetchError(f"{source.id}: more than {len(asked)} requests; does follow end?")
            asked.add(question)
            payload = payloads[request.part] = visit.fetch(request)
            waiting.extend(follow(payload) if follow else ())
    return list(payloads.values())


def fetch(
    source: Source, request: Request, *, session: Session, night: datetime, captures: Captures | None = None
) -> Payload:
    """One answer of a source. Errors are those of `collect_payloads`."""
    asked, account = requests_of(source, session.settings.environ)
    if request in source.keyed_requests and request not in asked:
        raise MissingCredentialError(f"{request.part} of {source.name} is given only with a key")
    with _visit(source, session, account, captures, night) as visit:
        return visit.fetch(request)


@contextmanager
def _visit(
    source: Source, session: Session, account: Account | None, captures: Captures | None, night: datetime
) -> Iterator[_Visit]:
    limits = session.settings.limits
    agent = session.settings.user_agent()
    known: dict[tuple[str, str], Capture] = {}
    if captures:
        index = captures.index(source.id)
        known = {(capture.part, capture.url): capture for capture in index.captures}
        for problem in index.problems:
            logger.warning(problem)
    with Client(connect_s=limits.connect_s, read_s=limits.read_s, user_agent=agent) as client:
        ends_at_s = session.monotonic() + limits.overall_s
        yield _Visit(source, session, client, account, captures, known, night, ends_at_s)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One source's turn in a night."""

    source: Source
    session: Session
    client: Client
    account: Account | None
    captures: Captures | None
    known: Mapping[tuple[str, str], Capture]
    night: datetime
    ends_at_s: float

    def fetch(self, request: Request) -> Payload:
        """The answer to a request, stored as a capture."""
        if urlsplit(request.url).scheme == "bundled":
            return _bundled(self.source, request, self.night)
        last = self._last(request) if request.method == "GET" else None
        answer = self._ask(request, _conditions(last[0]) if last else ())
        if answer.status == 304 and last:
            payload = replace(last[1], fetched_at=self.session.now(), status=304)
            self._store(payload, last[0].etag, last[0].last_modified)
            return payload
        check_is_answer(request, answer)
        if self.account and _repeats(answer, self.account.key):
            raise FetchError(f"{shown(request.url)}: the answer repeats our key, and is not kept")
        payload = Payload(
            source_id=self.source.id,
            part=request.part,
            url=request.url,
            fetched_at=self.session.now(),
            body=answer.body,
            content_type=answer.headers.get("content-type", ""),
        )
        self._store(payload, answer.headers.get("etag"), answer.headers.get("last-modified"))
        return payload

    def _store(self, payload: Payload, etag: str | None, last_modified: str | None) -> None:
        if self.captures:
            self.captures.store(payload, etag=etag, last_modified=last_modified)

    def _last(self, request: Request) -> tuple[Capture, Payload] | None:
        """The last capture of a request that can be asked for conditionally, with its payload."""
        last = self.known.get((request.part, request.url))
        if not self.captures or not last or not (last.etag or last.last_modified):
            return None
        try:
            return last, self.captures.load(last)
        except CaptureError as error:
            logger.warning("%s; asking for the whole answer", error)
            return None

    def _ask(self, request: Request, conditions: tuple[tuple[str, str], ...]) -> Answer:
        """The last answer of the chain of redirects that a request starts."""
        url, method, body = request.url, request.method, request.body
        home = urlsplit(url).netloc
        for _ in range(self.session.settings.limits.redirects + 1):
            self._check_address(url)
            pace_s = self._check_robots(url)
            is_home = urlsplit(url).netloc == home
            headers = (*request.headers, *conditions)
            question = self._question(url, headers, method, body, with_account=is_home)
            question = replace(question, keep_lines=request.keep_lines)
            answer = self._send(question, pace_s)
            if answer.status not in REDIRECTS:
                return answer
            url = _target(answer, question)
            if self.account and self.account.shows_in(url):
                raise FetchError(f"{shown(request.url)}: a redirect repeats our key, and is not followed")
            if answer.status in (301, 302, 303):
                method, body = "GET", None
        raise FetchError(
            f"{shown(request.url)}: more than {self.session.settings.limits.redirects} redirects"
        )

    def _question(
        self,
        url: str,
        headers: tuple[tuple[str, str], ...] = (),
        method: str = "GET",
        body: bytes | None = None,
        *,
        with_account: bool = False,
    ) -> Question:
        account = self.account if with_account else None
        secret = None
        if account and self.source.auth:
            secret = (self.source.auth.header, account.key.within(self.source.auth.template))
        return Question(
            url=url,
            method=method,
            headers=headers,
            secret=secret,
            body=body,
            names=account.names if account else (),
            largest_body_bytes=self.source.max_body_mb * 1_000_000,
        )

    def _check_address(self, url: str) -> None:
        parts = urlsplit(url)
        is_plain = parts.scheme == "http" and parts.hostname in self.session.settings.plain_http_hosts
        if parts.scheme != "https" and not is_plain:
            raise ForbiddenHostError(f"{shown(url)}: not https")
        if parts.hostname not in self.source.allowed_hosts or "@" in parts.netloc:
            allowed = ", ".join(self.source.allowed_hosts)
            raise ForbiddenHostError(f"{shown(url)}: leaves the hosts of {self.source.id} ({allowed})")

    def _check_robots(self, url: str) -> float:
        """The pause to keep before asking for `url`, where robots.txt allows it."""
        origin = urljoin(url, "/")
        if origin not in self.session.robots:
            self.session.robots[origin] = self._robots(urljoin(origin, "robots.txt"))
        rules = self.session.robots[origin]
        if refusal := rules.refused(url):
            raise BlockedError(f"{shown(url)}: {refusal}")
        return max(self.source.pace_s, rules.pace_s())

    def _robots(self, url: str) -> Rules:
        try:
            for _ in range(self.session.settings.limits.redirects + 1):
                self._check_address(url)
                question = replace(self._question(url), largest_body_bytes=LARGEST_FILE_BYTES)
                answer = self._send(question, self.source.pace_s)
                if answer.status not in REDIRECTS:
                    return rules_of(answer.status, answer.body)
                url = _target(answer, question)
        except ForbiddenHostError:
            return rules_of(404, b"")
        except TransientFetchError as error:
            if error.is_offline:
                raise
            return unreachable(str(error))
        except TooLargeError as error:
            return unreachable(str(error))
        return rules_of(404, b"")

    def _send(self, question: Question, pace_s: float) -> Answer:
        """The answer to one question, asked again where that can help."""
        host = urlsplit(question.url).netloc
        limits = self.session.settings.limits
        longest_s = limits.stream_s if question.keep_lines else limits.attempt_s

        def attempt() -> Answer:
            try:
                with self.session.gate.turn(host, pace_s, self._left_s()):
                    answer = self.client.send(question, min(self._left_s(), longest_s))
            except TimeoutError:
                problem = f"the time for {self.source.id} is over before its turn at the host"
                raise FetchError(f"{shown(question.url)}: {problem}") from None
            check_can_heal(answer, self.session.now())
            return answer

        return _retrying(self.session, self._left_s)(attempt)

    def _left_s(self) -> float:
        """The time that is left for the source."""
        return self.ends_at_s - self.session.monotonic()


def _retrying(session: Session, left_s: Callable[[], float]) -> tenacity.Retrying:
    """Again after a fault that can heal, with longer and longer waits, or after what Retry-After asks for.

    Not where the wait would last until the time for the source is over.
    """
    limits = session.settings.limits
    backoff = tenacity.wait_exponential_jitter(
        multiplier=limits.first_wait_s, max=limits.longest_wait_s, jitter=limits.first_wait_s
    )

    def wait_s(state: tenacity.RetryCallState) -> float:
        error = _error(state)
        return backoff(state) if error.retry_after_s is None else error.retry_after_s

    def is_enough(state: tenacity.RetryCallState) -> bool:
        error = _error(state)
        attempts = min(limits.attempts, OFFLINE_ATTEMPTS) if error.is_offline else limits.attempts
        is_too_long = (error.retry_after_s or 0.0) > limits.longest_retry_after_s
        is_too_late = state.upcoming_sleep >= left_s()
        return state.attempt_number >= attempts or is_too_long or is_too_late

    def give_up(state: tenacity.RetryCallState) -> Never:
        error = _error(state)
        asked = f"; it asks to wait {error.retry_after_s:g} s" if error.retry_after_s else ""
        raise TransientFetchError(
            f"{error} (tried {state.attempt_number} times{asked})",
            retry_after_s=error.retry_after_s,
            is_offline=error.is_offline,
        ) from error

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientFetchError),
        wait=wait_s,
        stop=is_enough,
        sleep=session.sleep,
        retry_error_callback=give_up,
    )


def _error(state: tenacity.RetryCallState) -> TransientFetchError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, TransientFetchError)
    return error


def _repeats(answer: Answer, key: Secret) -> bool:
    """Whether an answer, or a header of it that is kept, holds the key."""
    kept = (answer.headers.get(name, "") for name in ("content-type", "etag", "last-modified"))
    return key.value.encode() in answer.body or any(key.value in header for header in kept)


def _conditions(last: Capture) -> tuple[tuple[str, str], ...]:
    """The headers that ask for an answer only if it has changed since a capture."""
    pairs = (("If-None-Match", last.etag), ("If-Modified-Since", last.last_modified))
    return tuple((name, value) for name, value in pairs if value)


def _target(answer: Answer, question: Question) -> str:
    """Where a redirect leads, with placeholders as in the question."""
    location: str = answer.headers.get("location", "")
    if not location:
        raise FetchError(f"{shown(answer.url)}: status {answer.status} without a place to go")
    try:
        target = urljoin(answer.url, question.hidden(location))
        urlsplit(target).port  # noqa: B018 - raises where the port is no number
    except ValueError:
        raise FetchError(f"{shown(answer.url)}: the redirect leads to no address") from None
    return target


def _bundled(source: Source, request: Request, night: datetime) -> Payload:
    """A file that travels with the package, as an answer of tonight."""
    name = request.url.removeprefix("bundled:")
    file = resources.files("scrapers.bundled") / name
    if not re.fullmatch(r"\w[\w.-]*", name) or not file.is_file():
        raise FetchError(f"{request.url}: there is no such file in scrapers/bundled")
    return Payload(
        source_id=source.id, part=request.part, url=request.url, fetched_at=night, body=file.read_bytes()
    )
