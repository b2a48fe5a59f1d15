"""One request at a time per host, with a pause between two."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX, Lock


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
    def turn(self, host: str, pace_s: float, within_s: float = TIMEOUT_MAX) -> Iterator[None]:
        """Waits until the host is free and `pace_s` have passed since the last request to it ended.

        Raises:
            TimeoutError: That takes `within_s` or more. A pause that is too long is not begun.
        """
        ends_at_s = self._monotonic() + within_s
        with self._lock:
            host_lock = self._host_locks.setdefault(host, Lock())
        if within_s <= 0 or not host_lock.acquire(timeout=within_s):
            raise TimeoutError
        try:
            now_s = self._monotonic()
            free_at_s = max(now_s, self._left_at_s.get(host, -math.inf) + pace_s)
            if free_at_s >= ends_at_s:
                raise TimeoutError
            if free_at_s > now_s:
                self._sleep(free_at_s - now_s)
            try:
                yield
            finally:
                self._left_at_s[host] = self._monotonic()
        finally:
            host_lock.release()
