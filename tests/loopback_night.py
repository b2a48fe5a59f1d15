"""A whole night of every source through Prefect, each against a server of its own on this machine.

Modules, requests, keys, pages to follow, parsers, ranking and publishing are the real ones; the answers are the own
payloads of tests/captures, after a stated latency. Off by their terms stays off. Run as a program it prints how the
sources went:

    GPU_ALMANAC_HOME=somewhere python tests/loopback_night.py --latency-s 0.15 [--no-pace]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch

from loopback import LoopbackServer, loopback, reply
from payloads import own_payloads

from scrapers import fetch, registry
from scrapers.contract import Payload, Request, Source

KEY = "a-key-of-the-test"


def environ_of(sources: Iterable[Source]) -> dict[str, str]:
    """A value for every variable that a source asks for."""
    auths = [source.auth for source in sources if source.auth]
    return {name: KEY for auth in auths for name in (auth.env, *(env for _, env in auth.address_env))}


class AtLoopback:
    """A provider module whose addresses are those of a server on this machine."""

    def __init__(
        self, module: ModuleType, server: LoopbackServer, *, latency_s: float, has_pace: bool
    ) -> None:
        self.__name__ = module.__name__  # a parser works in another process, which imports the real one
        self.module = module
        self.server = server
        self.known = {payload.part: payload for payload in own_payloads(module.SOURCE.id)}
        server.on("/robots.txt", reply(b"", status=404, delay_s=latency_s))
        for part, payload in self.known.items():
            server.on(f"/{part}", reply(payload.body, content_type=payload.content_type, delay_s=latency_s))
        source: Source = module.SOURCE
        self.SOURCE = replace(
            source,
            requests=self._answered(source.requests),
            keyed_requests=self._answered(source.keyed_requests),
            allowed_hosts=("127.0.0.1",),
            pace_s=source.pace_s if has_pace else 0.0,
            min_listings=min(source.min_listings, 1),  # the payloads are small
        )

    def _answered(self, requests: Iterable[Request]) -> tuple[Request, ...]:
        """The requests for which there is an answer, at their place on this machine."""
        return tuple(
            request
            if request.url.startswith("bundled:")
            else replace(request, url=f"{self.server.url}/{request.part}")
            for request in requests
            if request.part in self.known or request.url.startswith("bundled:")
        )

    def parse(self, payload: Payload) -> Any:
        """What the real parser says."""
        return self.module.parse(payload)

    def follow(self, payload: Payload) -> Iterator[Request]:
        """What the real module asks next, as far as there is an answer for it."""
        real = self.known.get(payload.part)
        ask = getattr(self.module, "follow", None)
        yield from self._answered(ask(replace(payload, url=real.url))) if ask and real else ()


@contextmanager
def night_at_loopback(latency_s: float, *, has_pace: bool) -> Iterator[Mapping[str, Any]]:
    """Within the block every source is asked on this machine."""
    from flows import nightly

    real = registry.load()
    with ExitStack() as stack:
        modules = {
            name: AtLoopback(module, stack.enter_context(loopback()), latency_s=latency_s, has_pace=has_pace)
            if module.SOURCE.default_on
            else module
            for name, module in real.items()
        }
        settings = fetch.Settings(
            plain_http_hosts=frozenset({"127.0.0.1"}),
            environ=environ_of(module.SOURCE for module in real.values()),
        )
        stack.enter_context(patch.object(registry, "load", lambda: cast(dict[str, ModuleType], modules)))
        stack.enter_context(patch.object(nightly, "fetch_settings", lambda _: settings))
        yield modules


def main() -> None:
    """Runs the night and prints the outcome of each source, with the requests that it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-s", type=float, default=0.15)
    parser.add_argument("--no-pace", action="store_true")
    asked = parser.parse_args()
    with night_at_loopback(asked.latency_s, has_pace=not asked.no_pace) as modules:
        from flows.nightly import run_night

        report = run_night(night=datetime.now(UTC).date())
        requests = {
            name: len(module.server.paths())
            for name, module in modules.items()
            if isinstance(module, AtLoopback)
        }
    print(json.dumps({"outcomes": dict(report.outcomes), "requests": requests}))  # noqa: T201


if __name__ == "__main__":
    main()
