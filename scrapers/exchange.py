"""One HTTP exchange, bounded in time and in bytes. It follows nothing, retries nothing and judges nothing."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import httpx

from scrapers.contract import LineFilter
from scrapers.errors import FetchError, TooLargeError, TransientFetchError
from scrapers.lines import Sieve

ERROR_PAGE_BYTES = 64 * 1024
LARGEST_STREAM_BYTES = 16_000_000_000  # of a text of which only some lines are kept
BLOCK_BYTES = 1 << 17
GZIP_MAGIC = b"\x1f\x8b"
SECRET_NAMES = ("key", "token", "secret", "signature", "password", "auth", "credential")
SHOWN_URL_LENGTH = 200
LONGEST_REASON = 120


@dataclass(frozen=True, slots=True)
class Secret:
    """A key that shows itself to nobody who prints it."""

    value: str = field(repr=False)

    def within(self, template: str) -> Secret:
        """The key in the place of `{key}`."""
        return Secret(template.replace("{key}", self.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is sent. `secret` is a header that stands in no text that is made of a question.

    Neither does what takes the place of the placeholders of an address: `url` has `{team}`, and `names` has what
    is sent for it.
    """

    url: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    secret: tuple[str, Secret] | None = None
    body: bytes | None = None
    names: tuple[tuple[str, Secret], ...] = ()
    largest_body_bytes: int
    keep_lines: LineFilter | None = None

    def filled(self) -> str:
        """The address that is asked."""
        url = self.url
        for name, value in self.names:
            url = url.replace(f"{{{name}}}", value.value)
        return url

    def hidden(self, url: str) -> str:
        """An address whose path and query have the placeholders in the place of what they stand for."""
        placeholders = {value.value: f"{{{name}}}" for name, value in self.names}
        if not placeholders:
            return url
        values = re.compile("|".join(map(re.escape, placeholders)))
        scheme, host, *rest = urlsplit(url)
        path, query, fragment = (values.sub(lambda found: placeholders[found[0]], text) for text in rest)
        return urlunsplit((scheme, host, path, query, fragment))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came. The body of an answer that is not 2xx is only its beginning."""

    url: str
    status: int
    headers: httpx.Headers = field(repr=False)
    body: bytes = field(repr=False)


def shown(url: str) -> str:
    """An address as it may stand in an error or a log: no credentials, not endless."""
    parts = urlsplit(url)
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    query = "&".join(
        f"{name}=…" if any(word in name.lower() for word in SECRET_NAMES) else name + equals + value
        for name, equals, value in pairs
    )
    safe = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))
    return safe if len(safe) <= SHOWN_URL_LENGTH else safe[: SHOWN_URL_LENGTH - 1] + "…"


class Body:
    """The decoded bytes of an answer as they come in, never more than `largest_bytes` of them.

    With `keep_lines` only those lines are kept and counted; the whole text may have `LARGEST_STREAM_BYTES`.
    """

    def __init__(
        self, address: str, encoding: str, largest_bytes: int, keep_lines: LineFilter | None = None
    ) -> None:
        self.bytes = bytearray()
        self._address = address
        self._largest_bytes = largest_bytes
        self._sieve = Sieve(address, keep_lines) if keep_lines else None
        self._stream_bytes = 0
        self._is_first = True
        self._is_over = False
        self._wbits = {"": 0, "identity": 0, "gzip": 31, "x-gzip": 31, "deflate": 15}.get(encoding, -1)
        if self._wbits < 0:
            raise FetchError(f"{address}: the content encoding is {encoding[:40]!r}, which was not asked for")
        self._inflate = zlib.decompressobj(self._wbits) if self._wbits else None

    def add(self, piece: bytes) -> None:
        """Takes the next bytes from the network.

        Raises:
            TooLargeError: The bytes, or what they decompress to, are too many.
            TransientFetchError: They are not of the encoding that the answer names.
            PayloadShapeError: Lines are to be kept, and one is longer than lines are.
        """
        try:
            for block in self._decoded(piece):
                self._keep(block)
        except zlib.error as error:
            raise TransientFetchError(f"{self._address}: the compressed body is damaged ({error})") from None

    def _keep(self, block: bytes) -> None:
        self._stream_bytes += len(block)
        if self._sieve and self._stream_bytes > LARGEST_STREAM_BYTES:
            raise TooLargeError(f"{self._address}: the text is larger than {LARGEST_STREAM_BYTES / 1e9:g} GB")
        self.bytes += self._sieve.add(block) if self._sieve else block
        if len(self.bytes) > self._largest_bytes:
            what = "what is kept of the body" if self._sieve else "the body"
            raise TooLargeError(f"{self._address}: {what} is larger than {self._largest_bytes / 1e6:g} MB")

    def _decoded(self, piece: bytes) -> Iterator[bytes]:
        """What a piece decompresses to, in blocks that are never large."""
        if self._inflate is None:
            yield piece
            return
        while not self._is_over:
            block = self._inflated(piece)
            yield block
            piece = self._inflate.unconsumed_tail
            rest = self._inflate.unused_data
            if self._wbits == 31 and rest.startswith(GZIP_MAGIC):
                self._inflate, piece = zlib.decompressobj(31), rest
            elif len(rest) >= len(GZIP_MAGIC):
                self._is_over = True  # what follows the end belongs to nothing
            elif not piece and len(block) < BLOCK_BYTES:
                return

    def _inflated(self, piece: bytes) -> bytes:
        assert self._inflate is not None
        is_first, self._is_first = self._is_first, False
        try:
            return self._inflate.decompress(piece, BLOCK_BYTES)
        except zlib.error:
            if not is_first or self._wbits != 15:
                raise
            self._inflate = zlib.decompressobj(-15)  # many servers send raw deflate under this name
            return self._inflate.decompress(piece, BLOCK_BYTES)

    def end(self) -> bytes:
        """All bytes that are kept.

        Raises:
            TransientFetchError: The compressed body stops before its end.
        """
        if self._inflate is not None and not self._is_first and not self._inflate.eof:
            raise TransientFetchError(f"{self._address}: the compressed body is cut off")
        return bytes(self.bytes) + (self._sieve.end() if self._sieve else b"")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what lies behind it, outermost first."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _reason(error: BaseException) -> str:
    """Why a connection failed, in the words of the system where they are known."""
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return "the name of the host cannot be resolved"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()[:LONGEST_REASON]
    return str(error)[:LONGEST_REASON] or type(error).__name__


def _no_connection(address: str, error: httpx.TransportError) -> FetchError:
    """The error for a connection that was not made. A bad certificate does not heal by asking again."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return FetchError(f"{address}: the certificate is not valid ({cause.verify_message})")
    is_offline = not any(isinstance(cause, ssl.SSLError) for cause in _causes(error))
    return TransientFetchError(f"{address}: no connection: {_reason(error)}", is_offline=is_offline)


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once: that costs more than a whole exchange."""
    return httpx.create_ssl_context()


class Client:
    """The connections of one source. Every exchange ends within its time, whatever the other side does.

    The event loop is here for that alone: it can break off a name lookup, a connect and a read at any moment.
    """

    def __init__(self, *, connect_s: float, read_s: float, user_agent: str) -> None:
        timeout = httpx.Timeout(read_s, connect=connect_s)
        headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip, deflate", "Accept": "*/*"}
        logging.getLogger("httpx").setLevel(
            logging.WARNING
        )  # below it, every address is logged with its names
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._http = httpx.AsyncClient(
            timeout=timeout, http2=False, headers=headers, cookies=no_cookies, verify=_trusted()
        )
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._http.aclose())
        self._runner.close()

    def send(self, question: Question, attempt_s: float) -> Answer:
        """The answer to one question, whatever its status, within `attempt_s`.

        Raises:
            TransientFetchError: No connection, no answer in time, or an answer that breaks off.
            TooLargeError: The body is larger than allowed; the rest of it is not read.
            FetchError: The answer is not HTTP, or of an encoding that was not asked for.
        """
        try:
            return self._runner.run(self._exchange(question, attempt_s))
        except TimeoutError:
            problem = f"no whole answer within {attempt_s:.3g} s"
            raise TransientFetchError(f"{shown(question.url)}: {problem}") from None
        except httpx.TimeoutException as error:
            is_offline = isinstance(error, httpx.ConnectTimeout)
            problem = "no connection in time" if is_offline else "the connection hangs"
            raise TransientFetchError(f"{shown(question.url)}: {problem}", is_offline=is_offline) from None
        except (httpx.ConnectError, httpx.ProxyError) as error:
            raise _no_connection(shown(question.url), error) from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            problem = f"the connection breaks off: {_reason(error)}"
            raise TransientFetchError(f"{shown(question.url)}: {problem}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchError(f"{shown(question.url)}: cannot be asked for ({type(error).__name__})") from None

    async def _exchange(self, question: Question, attempt_s: float) -> Answer:
        headers = list(question.headers)
        if question.secret:
            headers.append((question.secret[0], question.secret[1].value))
        async with asyncio.timeout(attempt_s):
            request = self._http.build_request(
                question.method, question.filled(), headers=headers, content=question.body
            )
            response = await self._http.send(request, stream=True)
            try:
                body = await _read(response, question)
            finally:
                await response.aclose()
        return Answer(url=question.url, status=response.status_code, headers=response.headers, body=body)


async def _read(response: httpx.Response, question: Question) -> bytes:
    """The body of an answer; of one that is not 2xx only the beginning, and unfiltered."""
    is_wanted = response.is_success
    largest = question.largest_body_bytes if is_wanted else ERROR_PAGE_BYTES
    keep_lines = question.keep_lines if is_wanted else None
    address = shown(question.url)
    body = Body(address, response.headers.get("content-encoding", "").strip().lower(), largest, keep_lines)
    stated = response.headers.get("content-length", "")
    bound = LARGEST_STREAM_BYTES if keep_lines else largest
    if is_wanted and stated.isdecimal() and int(stated[:20]) > bound:
        raise TooLargeError(f"{address}: the body is larger than {bound / 1e6:g} MB")
    try:
        async for piece in response.aiter_raw():
            body.add(piece)
    except TooLargeError:
        if is_wanted:
            raise
        return bytes(body.bytes[:largest])
    return body.end() if is_wanted else bytes(body.bytes)
