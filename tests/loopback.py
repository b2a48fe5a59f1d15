"""A real HTTP server on 127.0.0.1 that answers by a script: well, slowly, too much, broken, or not at all.

    with loopback() as server:
        server.on("/prices", reply(b"busy", status=429), reply(b"{}"))       # the last one repeats
        ... f"{server.url}/prices" ...
        assert [asked.path for asked in server.asked] == ["/robots.txt", "/prices"]

A path without a script answers 404, /robots.txt too. Nothing here sleeps past the end of the server.
"""

from __future__ import annotations

import gzip
import os
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

BLOCK = b"x" * 65_536
BOMB_PIECE_BYTES = 20_000  # some 20 MB when unpacked, in one piece of the network


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: LoopbackServer

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, self.rfile.read(length))
        self.server.answer(self, asked)

    do_GET = do_POST = handle_any  # noqa: N815 - the names that the standard library looks for

    def write(self, data: bytes) -> None:
        """Sends bytes and counts them; a client that has gone away ends the answer."""
        self.wfile.write(data)
        self.wfile.flush()
        self.server.sent_bytes += len(data)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Sends the status and the headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


Action = Callable[[Handler, Asked], None]


class LoopbackServer(ThreadingHTTPServer):
    """The server with its script and with what it was asked."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.closing = threading.Event()
        self.asked: list[Asked] = []
        self.sent_bytes = 0
        self._scripts: dict[str, list[Action]] = {}
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, *actions: Action) -> None:
        """Answers `path` (a query is looked up first with, then without) by the actions in turn."""
        self._scripts[path] = list(actions)

    def paths(self) -> list[str]:
        """The paths that were asked for, without robots.txt."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def answer(self, handler: Handler, asked: Asked) -> None:
        with self._lock:
            self.asked.append(asked)
            script = self._scripts.get(asked.path) or self._scripts.get(asked.path.partition("?")[0])
            action = (script.pop(0) if len(script) > 1 else script[0]) if script else reply(b"", status=404)
        with suppress(BrokenPipeError, ConnectionResetError):
            action(handler, asked)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what many tests are about."""


@contextmanager
def loopback() -> Iterator[LoopbackServer]:
    """A running server; it ends with all its hanging connections. A proxy in the environment is passed by."""
    server = LoopbackServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    direct = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    try:
        with patch.dict(os.environ, direct):
            yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def reply(
    body: bytes = b"",
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
    delay_s: float = 0.0,
) -> Action:
    """An ordinary answer, after a while."""

    def action(handler: Handler, asked: Asked) -> None:
        handler.server.closing.wait(delay_s)
        handler.head(
            status, {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})}
        )
        handler.write(body)

    return action


def redirect(location: str, *, status: int = 302) -> Action:
    """A redirect to another address."""
    return reply(b"", status=status, headers={"Location": location})


def versioned(body: bytes, etag: str) -> Action:
    """An answer with an ETag, and 304 to whoever has it already."""

    def action(handler: Handler, asked: Asked) -> None:
        if asked.headers.get("if-none-match") == etag:
            handler.head(304, {"ETag": etag})
        else:
            reply(body, headers={"ETag": etag})(handler, asked)

    return action


def hang() -> Action:
    """Takes the request and says nothing."""

    def action(handler: Handler, asked: Asked) -> None:
        handler.server.closing.wait()
        handler.close_connection = True

    return action


def reset() -> Action:
    """Breaks the connection off with a TCP reset."""

    def action(handler: Handler, asked: Asked) -> None:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True
        handler.connection.close()

    return action


def drip(body: bytes, *, pause_s: float, in_head: bool = False) -> Action:
    """Sends byte after byte with pauses, of the body or already of the head."""

    def action(handler: Handler, asked: Asked) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        first, slow = (b"", head + body) if in_head else (head, body)
        handler.write(first)
        for index in range(len(slow)):
            if handler.server.closing.wait(pause_s):
                break
            handler.write(slow[index : index + 1])
        handler.close_connection = True

    return action


def endless(size_bytes: int = 2_000_000_000, *, is_length_stated: bool = False) -> Action:
    """Sends that many bytes without ever holding them."""

    def action(handler: Handler, asked: Asked) -> None:
        length = {"Content-Length": str(size_bytes)} if is_length_stated else {"Connection": "close"}
        handler.head(200, {"Content-Type": "application/json", **length})
        for _ in range(size_bytes // len(BLOCK)):
            if handler.server.closing.is_set():
                break
            handler.write(BLOCK)
        handler.close_connection = True

    return action


def bomb(size_bytes: int = 2_000_000_000, *, encoding: str = "gzip") -> Action:
    """A small body that decompresses to `size_bytes`, made piece by piece while it is sent."""

    def action(handler: Handler, asked: Asked) -> None:
        handler.head(200, {"Content-Encoding": encoding, "Connection": "close"})
        packer = zlib.compressobj(9, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
        waiting = b""
        for _ in range(size_bytes // len(BLOCK)):
            waiting += packer.compress(BLOCK)
            if len(waiting) > BOMB_PIECE_BYTES:
                handler.write(waiting)
                waiting = b""
            if handler.server.closing.is_set():
                break
        handler.write(waiting + packer.flush())
        handler.close_connection = True

    return action


def packed(body: bytes, *, encoding: str = "gzip", cut_bytes: int = 0) -> Action:
    """A compressed body; `cut_bytes` are missing from its end."""
    data = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    if encoding == "raw deflate":
        packer = zlib.compressobj(wbits=-15)
        data = packer.compress(body) + packer.flush()
    name = "gzip" if encoding == "gzip" else "deflate"
    return reply(data[: len(data) - cut_bytes], headers={"Content-Encoding": name})


def cut_short(body: bytes, *, missing_bytes: int = 10, is_chunked: bool = False) -> Action:
    """Promises more bytes than it sends, and closes the connection."""

    def action(handler: Handler, asked: Asked) -> None:
        if is_chunked:
            handler.head(200, {"Transfer-Encoding": "chunked"})
            handler.write(f"{len(body) + missing_bytes:x}\r\n".encode() + body)
        else:
            handler.head(200, {"Content-Length": str(len(body) + missing_bytes)})
            handler.write(body)
        handler.close_connection = True

    return action
