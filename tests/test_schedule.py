"""The schedule against a real Prefect server on loopback: a scheduled run is seen to start and to finish."""

from __future__ import annotations

import os
import signal
import socket
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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    environ = {
        **os.environ,
        "GPU_ALMANAC_HOME": str(tmp_path / "almanac"),
        "GPU_ALMANAC_SOURCES_OFF": " ".join(name for name in names() if name != "list_prices"),
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }
    server_command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--no-ui"]
    program = "import sys; from flows.cli import main; sys.argv = ['gpu-almanac', *sys.argv[1:]]; main()"
    schedule_command = [
        sys.executable,
        "-c",
        program,
        "schedule",
        "--cron",
        "* * * * *",
        "--time-zone",
        "Asia/Manila",
    ]
    log = (tmp_path / "log").open("w")
    server = subprocess.Popen([*server_command, "--port", str(port)], env=environ, stdout=log, stderr=log)
    schedule = None
    try:
        wait_for(lambda: httpx.get(f"{url}/health", timeout=5, trust_env=False).is_success)
        schedule = subprocess.Popen(schedule_command, env=environ, stdout=log, stderr=log, cwd=tmp_path)
        wait_for(lambda: bool(completed_runs(url)))
        done = completed_runs(url)[0]
        assert done["start_time"] is not None
        assert done["end_time"] is not None
        assert done["auto_scheduled"] is True
        assert (tmp_path / "almanac" / "public" / "site" / "index.html").is_file()
        artifacts = httpx.post(f"{url}/artifacts/filter", json={}, timeout=10, trust_env=False).json()
        assert [artifact["key"] for artifact in artifacts][:1] == ["night-sources"]
    finally:
        for process in (schedule, server):
            if process:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        log.close()


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
