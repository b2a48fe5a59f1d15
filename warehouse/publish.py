"""Makes a release of the warehouse: checks, files, page, and one link that is swapped at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from warehouse.connection import WarehouseError, reading, sql_files

RELEASES_KEPT = 5
DATABASE_NAME = "gpu_almanac.duckdb"
# Where a release is found by readers: a link, swapped in one step.
PUBLIC_NAME = "public"


@dataclass(frozen=True, slots=True)
class BrokenCheck:
    """A rule of sql/checks that some rows break."""

    name: str
    offenders: int
    example: str


def run_checks(connection: duckdb.DuckDBPyConnection) -> list[BrokenCheck]:
    """Returns the checks of sql/checks that are broken; none means that the release may be published."""
    broken = []
    for name, text in sql_files("checks"):
        offenders = connection.execute(text).fetchall()
        if offenders:
            broken.append(BrokenCheck(name, len(offenders), str(offenders[0])[:200]))
    return broken


def publish(
    home: Path, warehouse: Path, created_at: datetime, build_page: Callable[[Path, Path], None]
) -> Path:
    """Writes a release folder from `warehouse`, checks it, then swaps the link; returns the folder.

    Until the swap, readers see the last release and nothing of the new one. `build_page` gets the database
    and the folder for the site. Raises WarehouseError when a check is broken or the disk does not take the
    files; the last release then stays.
    """
    releases = home / "releases"
    releases.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".staging-", dir=releases))
    try:
        staging.chmod(0o755)
        _fill(staging, warehouse, build_page)
        release = _settle(staging, releases, created_at)
        _swap(home / PUBLIC_NAME, release)
    except OSError as error:
        raise WarehouseError(f"{error.filename or releases}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _prune(releases, keep=RELEASES_KEPT, current=release)
    return release


def rollback(home: Path) -> Path:
    """Points the link at the release before the present one and returns its folder."""
    public = home / PUBLIC_NAME
    if not public.is_symlink():
        raise WarehouseError(f"{public}: nothing is published; run `gpu-almanac refresh` first")
    current = public.resolve()
    earlier = [folder for folder in _releases(home / "releases") if folder.name < current.name]
    if not earlier:
        raise WarehouseError(f"{public}: there is no earlier release to go back to")
    _swap(public, earlier[-1])
    return earlier[-1]


def _fill(folder: Path, warehouse: Path, build_page: Callable[[Path, Path], None]) -> None:
    database = folder / DATABASE_NAME
    shutil.copyfile(warehouse, database)
    with reading(database) as connection:
        broken = run_checks(connection)
        if broken:
            first = broken[0]
            raise WarehouseError(
                f"sql/checks/{first.name}.sql: {first.offenders} rows break the rule, such as {first.example};"
                f" {len(broken)} checks broken, nothing published"
            )
        export(connection, folder)
    build_page(database, folder / "site")


def export(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Writes the offers and the rankings as CSV and Parquet, in a fixed order of rows."""
    offers = "from current_offering order by provider, offering_id"
    rankings = "from tier_ranking order by tier_id, rank"
    for name, query in (("offers", offers), ("rankings", rankings)):
        for suffix in ("csv", "parquet"):
            target = str(folder / f"{name}.{suffix}").replace("'", "''")
            connection.execute(f"copy ({query}) to '{target}' (format {suffix})")


def _settle(staging: Path, releases: Path, created_at: datetime) -> Path:
    stamp = created_at.strftime("%Y-%m-%dT%H%M%SZ")
    number = 0
    while (release := releases / f"{stamp}-{number}").exists():
        number += 1
    staging.rename(release)
    return release


def _swap(link: Path, target: Path) -> None:
    if link.exists() and not link.is_symlink():
        raise WarehouseError(f"{link}: is not a link that was made here; move it away")
    fresh = link.with_name(f".{link.name}-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(Path("releases") / target.name)
    fresh.replace(link)


def _releases(folder: Path) -> list[Path]:
    return sorted(item for item in folder.iterdir() if item.is_dir() and not item.name.startswith("."))


def _prune(releases: Path, *, keep: int, current: Path) -> None:
    for folder in _releases(releases)[:-keep]:
        if folder != current:
            shutil.rmtree(folder)
