"""Serves the night on a schedule. Without a Prefect server of the user's, one is started on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import httpx
from cronsim import CronSim, CronSimError

from flows.environment import prepare
from flows.settings import SettingsError
from flows.show import say

START_LIMIT_S = 180
DEPLOYMENT = "nightly"


def serve_schedule(*, cron: str, time_zone: str) -> None:
    """Runs the night whenever `cron` says so in `time_zone`, until interrupted. Raises SettingsError for a bad one."""
    _check(cron, time_zone)
    # Prefect reads the environment when it is first imported: home and server must stand there before.
    prepare()
    with prefect_server() as url:
        from prefect.schedules import Cron
        from prefect.types.entrypoint import EntrypointType

        from flows.nightly import night_flow

        say(f"the night runs at {cron!r} ({time_zone}), Prefect at {url}; end with Ctrl-C")
        night_flow.serve(
            name=DEPLOYMENT,
            schedule=Cron(cron, timezone=time_zone),
            limit=1,
            entrypoint_type=EntrypointType.MODULE_PATH,
            print_starting_message=False,
        )


@contextmanager
def prefect_server() -> Iterator[str]:
    """Yields the address of the Prefect API: the user's where PREFECT_API_URL is set, else one of our own."""
    if url := os.environ.get("PREFECT_API_URL"):
        yield url
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([*command, "--no-ui"], stdout=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}/api"
        _wait_until_healthy(url, server)
        os.environ["PREFECT_API_URL"] = url
        yield url
    finally:
        os.environ.pop("PREFECT_API_URL", None)
        server.terminate()
        server.wait(timeout=30)


def _wait_until_healthy(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SettingsError(
                f"the Prefect server ended with code {server.returncode}; see its message above"
            )
        try:
            if httpx.get(f"{url}/health", timeout=5, trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise SettingsError(f"the Prefect server did not answer within {START_LIMIT_S} s at {url}")


def _check(cron: str, time_zone: str) -> None:
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise SettingsError(f"--time-zone {time_zone!r} is not a time zone such as Europe/Berlin") from error
    try:
        CronSim(cron, datetime.now(UTC))
    except CronSimError as error:
        raise SettingsError(f"--cron {cron!r} is not a cron line such as '17 3 * * *'") from error
