"""What all tests share: no network beyond this machine, a seeded Hypothesis, a fixed night."""

from __future__ import annotations

import os
import socket
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Prefect reads this once, when it is first imported.
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="prefect-")

settings.register_profile(
    "almanac", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("almanac")

NIGHT = date(2026, 11, 30)
MIDNIGHT = datetime(2026, 11, 30, 3, 17, tzinfo=UTC)
ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuses every connection that leaves this machine, and every name that is not of it."""
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
            raise ConnectionRefusedError(f"tests may not connect to {address[0]}")
        connect(self, address)  # type: ignore[arg-type]

    def guarded_resolve(host: object, *args: object, **kwargs: object) -> object:
        if host and not str(host).startswith(LOOPBACK):
            raise socket.gaierror(f"tests may not resolve {host}")
        return resolve(host, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_resolve)
    for name in [name for name in os.environ if name.startswith("GPU_ALMANAC_") or name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    # One model is enough where the table fit is not what is tested.
    monkeypatch.setenv("GPU_ALMANAC_FIT_MODELS", "qwen3-32b")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder that the command line and the night use."""
    folder = tmp_path / "almanac"
    monkeypatch.setenv("GPU_ALMANAC_HOME", str(folder))
    return folder
