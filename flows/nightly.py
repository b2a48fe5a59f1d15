"""The night as a Prefect flow: one task per source, then the warehouse, the release and a summary.

Annotations are not postponed here: Prefect builds the model of the parameters from them when a runner loads
the flow, and cannot resolve their text.
"""

import os
import time
from collections.abc import Mapping
from datetime import UTC, date, datetime

from flows.environment import prepare

prepare()

import httpx  # noqa: E402
from prefect import flow, task  # noqa: E402
from prefect.artifacts import create_table_artifact  # noqa: E402
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.client.schemas.objects import State  # noqa: E402
from prefect.exceptions import PrefectException  # noqa: E402
from prefect.futures import PrefectFuture  # noqa: E402
from prefect.logging import get_logger  # noqa: E402
from prefect.runtime import task_run  # noqa: E402
from prefect.states import Failed  # noqa: E402
from prefect.task_runners import ThreadPoolTaskRunner  # noqa: E402

from flows.acceptance import NO_REASON, Acceptance  # noqa: E402
from flows.answers import source_list  # noqa: E402
from flows.collect import (  # noqa: E402
    OFFLINE_REASON,
    Collected,
    collect,
    is_bundled,
    left_out,
    not_collected,
    waiting,
    wanted,
)
from flows.fit_table import wanted_models  # noqa: E402
from flows.night import NightReport, finish_night, only_night  # noqa: E402
from flows.settings import Settings, SettingsError, read_settings  # noqa: E402
from page.errors import PageError  # noqa: E402
from scrapers import fetch, registry  # noqa: E402
from scrapers.captures import Captures  # noqa: E402
from scrapers.contract import Source  # noqa: E402
from scrapers.errors import CaptureError, CollectError, TransientFetchError  # noqa: E402
from warehouse.connection import WarehouseError  # noqa: E402
from warehouse.load import last_good_nights  # noqa: E402

SOURCES_AT_ONCE = 8
SOURCE_TIMEOUT_S = 1800
RETRIES = 1
RETRY_DELAY_S = 30


def can_heal(error: object) -> bool:
    """Whether a later try may help: a fault that heals, on a machine that has a network."""
    return isinstance(error, TransientFetchError) and not error.is_offline


@task(
    task_run_name="collect {source_id}",
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAY_S,
    retry_condition_fn=lambda _task, _run, state: can_heal(state.result(raise_on_failure=False)),
    cache_policy=NO_CACHE,
    persist_result=False,
)
def collect_source(
    source_id: str, session: fetch.Session, at: datetime, settings: Settings
) -> Collected | State[Collected]:
    """Returns what one source gave, or a failed state with why it gave nothing.

    Raises what a retry can heal, while there are retries, and what is a fault of ours.
    """
    module, started = registry.load()[source_id], time.monotonic()
    try:
        return collect(module, session=session, night=at, captures=Captures(settings.captures))
    except CollectError as error:
        if can_heal(error) and task_run.run_count <= RETRIES:
            raise
        result = not_collected(source_id, error, started_at=at, seconds=time.monotonic() - started)
        if result.is_offline or result.outcome == "skipped":
            return result
        return Failed(message=f"{result.outcome}: {result.reason}", data=result)


@flow(
    name="gpu-almanac",
    flow_run_name="night",
    task_runner=ThreadPoolTaskRunner(max_workers=SOURCES_AT_ONCE),  # type: ignore[arg-type]
)
def night_flow(
    night: date | None = None,
    offline: bool = False,
    only: tuple[str, ...] = (),
    accept: tuple[str, ...] = (),
    reason: str | None = None,
) -> NightReport | State[NightReport]:
    """Runs one night. `night` is its logical date, today in UTC by default; `only` names the sources to collect.

    `accept` names sources whose prices are taken although they look wrong, and `reason` says why.
    A night that cannot be published ends in a failed state with a WarehouseError or PageError.
    """
    settings = read_settings()
    logical_date = night or datetime.now(UTC).date()
    sources = {name: module.SOURCE for name, module in registry.load().items()}
    acceptance = Acceptance(accept, reason or NO_REASON, datetime.now(UTC))
    try:
        with only_night(settings.home):
            report = finish_night(
                _collect_all(sources, settings, night=logical_date, offline=offline, only=only),
                list(sources.values()),
                settings=settings,
                night=logical_date,
                created_at=datetime.now(UTC),
                acceptance=acceptance,
            )
            Captures(settings.captures).prune(settings.captures_kept_nights)
    except (WarehouseError, PageError, CaptureError) as error:
        return Failed(message=str(error), data=error)
    _write_summary(settings, report)
    return report


def run_night(
    *,
    night: date | None = None,
    offline: bool = False,
    only: tuple[str, ...] = (),
    accept: tuple[str, ...] = (),
    reason: str | None = None,
) -> NightReport:
    """Runs the flow in this process.

    Raises WarehouseError or PageError when nothing was published, SettingsError before anything is collected.
    """
    check_server()
    wanted_models(read_settings().fit_models)
    report = night_flow(night=night, offline=offline, only=only, accept=accept, reason=reason)
    assert isinstance(report, NightReport)
    return report


def check_server() -> None:
    """Raises SettingsError when PREFECT_API_URL names a server that does not answer."""
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        return
    try:
        httpx.get(f"{url}/health", timeout=10, trust_env=False).raise_for_status()
    except httpx.HTTPError as error:
        raise SettingsError(
            f"PREFECT_API_URL: no Prefect server answers at {url} ({error}); unset it to use a temporary one"
        ) from error


def fetch_settings(settings: Settings) -> fetch.Settings:
    """Returns how the network is used tonight."""
    return fetch.Settings(contact=settings.contact)


def _collect_all(
    sources: Mapping[str, Source],
    settings: Settings,
    *,
    night: date,
    offline: bool,
    only: tuple[str, ...],
) -> list[Collected]:
    """Returns one result for each source that is on; a source that fails does not stop the others."""
    at = datetime.now(UTC)
    session = fetch.Session(fetch_settings(settings))
    futures: dict[str, PrefectFuture[Collected | State[Collected]]] = {}
    collected: list[Collected] = []
    last_good = last_good_nights(settings.warehouse)
    for name, off_reason in wanted(sources.values(), settings).items():
        if only and name not in only:
            continue
        if off_reason and not only:
            continue
        if offline and not is_bundled(sources[name]):
            collected.append(left_out(name, OFFLINE_REASON, at=at))
        elif (
            not only and name in last_good and (item := waiting(sources[name], last_good[name], night, at=at))
        ):
            collected.append(item)
        else:
            futures[name] = collect_source.submit(name, session, at, settings)
    return collected + [_result(name, future, at) for name, future in futures.items()]


def _result(source_id: str, future: PrefectFuture[Collected | State[Collected]], at: datetime) -> Collected:
    started = time.monotonic()
    future.wait(timeout=SOURCE_TIMEOUT_S)
    if not future.state.is_final():
        error: BaseException = TransientFetchError(f"no end after {SOURCE_TIMEOUT_S} s")
        return not_collected(source_id, error, started_at=at, seconds=time.monotonic() - started)
    result: object = future.state.result(raise_on_failure=False)
    if isinstance(result, Collected):
        return result
    error = result if isinstance(result, BaseException) else PrefectException(str(future.state))
    return not_collected(source_id, error, started_at=at, seconds=time.monotonic() - started)


def _write_summary(settings: Settings, report: NightReport) -> None:
    rows = [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in source_list(settings, short=True)
    ]
    create_table_artifact(rows, key="night-sources", description=f"Sources in the night of {report.night}")
    get_logger().info("night of %s published as %s", report.night, report.release.name)
