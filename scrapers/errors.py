"""What can go wrong between a provider and a listing, and what it does to the night.

    CollectError
    ├─ FetchError
    │  ├─ TransientFetchError     timeout, reset, 429, 5xx     retried with backoff, then outcome "failed"
    │  ├─ BlockedError            challenge page, robots, 403  not retried, outcome "blocked"
    │  ├─ ForbiddenHostError      redirect off the allow-list  not retried, outcome "failed"
    │  ├─ TooLargeError           body or decompression cap    not retried, outcome "failed"
    │  └─ MissingCredentialError  no key in the environment    outcome "skipped"
    ├─ PayloadShapeError          not the answer parse knows   not retried, capture kept, outcome "failed"
    └─ CaptureError               damaged or not writable      outcome "failed"

    RegistryError                 a provider module is wrong; a fault of ours, and the night does not start

Errors say what, where and what to do in one line. They do not log themselves.
"""

from __future__ import annotations


class CollectError(Exception):
    """A source did not give tonight's listings."""


class FetchError(CollectError):
    """The answer could not be had."""


class TransientFetchError(FetchError):
    """A fault that can heal: timeout, reset, 429, 5xx.

    `is_offline` says that no connection could be made at all. Where that is so of every source, it is our own
    network that is missing.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None, is_offline: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.is_offline = is_offline


class BlockedError(FetchError):
    """The provider does not want this request: challenge page, login page, robots.txt, 401, 403."""


class ForbiddenHostError(FetchError):
    """The address, or a redirect, leaves the hosts that the source allows."""


class TooLargeError(FetchError):
    """The body, or what it decompresses to, is larger than the cap."""


class MissingCredentialError(FetchError):
    """The environment variable with the key is not set."""


class PayloadShapeError(CollectError):
    """The payload is not of the shape that the parser knows.

    `place` is the path of the first field that broke, such as `products[3].price.retail_price`.
    """

    def __init__(self, part: str, place: str, problem: str) -> None:
        super().__init__(f"{part}: {place}: {problem}")
        self.part = part
        self.place = place
        self.problem = problem


class ParserError(CollectError):
    """A parser raised what no parser may raise, took too long, or died."""


class CaptureError(CollectError):
    """A stored answer cannot be written, is missing, or is not what was stored."""


class RegistryError(Exception):
    """A module in scrapers/providers cannot be imported, or what it says of itself is wrong."""
