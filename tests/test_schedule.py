"""The schedule against a real Prefect server on loopback: a scheduled run is seen to start and to finish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from scrapers.registry import names

WAIT_S = 210


def completed_runs(url: str) -> list[dict[str, object]]:
    wanted = {"flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}
    answer = httpx.post(f"{url}/flow_runs/filter", json=wanted, timeout=10, trust_env=False)
    answer.raise_for_status()
    found = answer.json()
    assert isinstance(found, list)
    return found


@pytest.mark.timeout(400)
def test_a_scheduled_night_starts_and_finishes(tmp_path: Path) -> None:
    """As a user starts it: no server is named, so one is started on loopback."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environ |= {
        "GPU_ALMANAC_HOME": str(tmp_path / "almanac"),
        "GPU_ALMANAC_SOURCES_OFF": " ".join(name for name in names() if name != "list_prices"),
        "HOME": str(tmp_path),
    }
    program = "import sys; from flows.cli import main; sys.argv = ['gpu-almanac', *sys.argv[1:]]; main()"
    words = ["schedule", "--cron", "* * * * *", "--time-zone", "Asia/Manila"]
    with (tmp_path / "log").open("w") as log:
        schedule = subprocess.Popen(
            [sys.executable, "-c", program, *words], env=environ, stdout=log, stderr=log, cwd=tmp_path
        )
        try:
            wait_for(lambda: "Prefect at http" in said(tmp_path))
            url = said(tmp_path).split("Prefect at ")[1].split(";")[0]
            wait_for(lambda: bool(completed_runs(url)))
            done = completed_runs(url)[0]
            assert done["start_time"] is not None
            assert done["end_time"] is not None
            assert done["auto_scheduled"] is True
            assert (tmp_path / "almanac" / "public" / "site" / "index.html").is_file()
            artifacts = httpx.post(f"{url}/artifacts/filter", json={}, timeout=10, trust_env=False).json()
            assert [artifact["key"] for artifact in artifacts][:1] == ["night-sources"]
            schedule.send_signal(signal.SIGINT)
            schedule.wait(60)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{url}/health", timeout=5, trust_env=False)
        finally:
            if schedule.poll() is None:
                schedule.terminate()
                schedule.wait(60)


def said(folder: Path) -> str:
    return (folder / "log").read_text(encoding="utf-8")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (httpx.TransportError, httpx.HTTPStatusError):
            pass
        time.sleep(1)
    raise AssertionError(f"not within {WAIT_S} s")
