"""One request at a time per host, with a pause between two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


class HostGate:
    """The gate in front of every host, shared by all sources of a night. Safe to use from many threads."""

    def __init__(
        self, *, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._lock = Lock()
        self._host_locks: dict[str, Lock] = {}
        self._left_at_s: dict[str, float] = {}

    @contextmanager
    def turn(self, host: str, pace_s: float) -> Iterator[None]:
        """Waits until the host is free and `pace_s` have passed since the last request to it ended."""
        with self._lock:
            host_lock = self._host_locks.setdefault(host, Lock())
        with host_lock:
            if host in self._left_at_s:
                pause_s = self._left_at_s[host] + pace_s - self._monotonic()
                if pause_s > 0:
                    self._sleep(pause_s)
            try:
                yield
            finally:
                self._left_at_s[host] = self._monotonic()
