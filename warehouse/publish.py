"""Makes a release of the warehouse: checks, files, page, and one link that is swapped at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import duckdb

from warehouse.checks import refuse_broken
from warehouse.connection import WarehouseError, copy_database, reading

RELEASES_KEPT = 5
CSV_RANKS = 100
DATABASE_NAME = "gpu_almanac.duckdb"
# Where a release is found by readers: a link, swapped in one step.
PUBLIC_NAME = "public"


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
    _refuse_a_real_folder(home / PUBLIC_NAME)
    _sweep(home)
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
    copy_database(warehouse, database)
    with reading(database) as connection:
        refuse_broken(connection)
        export(connection, folder)
    build_page(database, folder / "site")


def export(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Writes the offers and the rankings as CSV and Parquet, in a fixed order of rows.

    The CSV of the rankings has the first offers of each tier only, since a table program reads it.
    """
    offers = ("current_offering", "true", "provider, offering_id")
    rankings = ("tier_ranking", f"rank <= {CSV_RANKS}", "tier_id, rank")
    for name, (view, first, order) in (("offers", offers), ("rankings", rankings)):
        safe = _without_formulas(connection, view)
        _copy(connection, f"select {safe} from {view} where {first} order by {order}", folder / f"{name}.csv")
        _copy(connection, f"from {view} order by {order}", folder / f"{name}.parquet")


def _copy(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    quoted = str(target).replace("'", "''")
    connection.execute(f"copy ({query}) to '{quoted}' (format {target.suffix[1:]})")


def _without_formulas(connection: duckdb.DuckDBPyConnection, view: str) -> str:
    """Returns the columns of a view; a text that a table program would run as a formula gets an apostrophe."""
    columns = connection.execute(f"select column_name, column_type from (describe {view})").fetchall()
    return ", ".join(
        f"if(regexp_matches({name}, '^\\s*[=+@-]'), chr(39) || {name}, {name}) as {name}"
        if kind == "VARCHAR"
        else name
        for name, kind in columns
    )


def _refuse_a_real_folder(link: Path) -> None:
    if link.exists() and not link.is_symlink():
        raise WarehouseError(f"{link}: is not a link that was made here; move it away")


def _sweep(home: Path) -> None:
    """Removes what a killed night left behind. One night at a time publishes, so none of it is in use."""
    for folder in (home / "releases").glob(".staging-*"):
        shutil.rmtree(folder, ignore_errors=True)
    for link in home.glob(f".{PUBLIC_NAME}-*"):
        link.unlink(missing_ok=True)


def _settle(staging: Path, releases: Path, created_at: datetime) -> Path:
    stamp = created_at.strftime("%Y-%m-%dT%H%M%SZ")
    number = 0
    while (release := releases / f"{stamp}-{number}").exists():
        number += 1
    staging.rename(release)
    return release


def _swap(link: Path, target: Path) -> None:
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
