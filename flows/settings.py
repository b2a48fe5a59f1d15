"""What a user may set, from the environment and the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where things lie and when the night runs.

    `home` holds captures, warehouse and releases. `turned_on` and `turned_off` are source ids that differ from
    their default. `contact` goes into the user agent, so that a provider can reach the owner of this copy. `fit_models`
    are the models of the table fit: None for the popular ones, empty for no table.
    """

    home: Path = Path("almanac")
    turned_on: frozenset[str] = frozenset()
    turned_off: frozenset[str] = frozenset()
    contact: str | None = None
    cron: str = "17 3 * * *"
    time_zone: str = "UTC"
    captures_kept_nights: int = 30
    fit_models: tuple[str, ...] | None = None

    @property
    def warehouse(self) -> Path:
        """The file that the night writes; readers use the release instead."""
        return self.home / "warehouse.duckdb"

    @property
    def captures(self) -> Path:
        """The folder of the stored answers."""
        return self.home / "captures"

    @property
    def database(self) -> Path:
        """The published file that readers use."""
        return self.home / "public" / "gpu_almanac.duckdb"

    @property
    def site(self) -> Path:
        """The published page."""
        return self.home / "public" / "site"


class SettingsError(ValueError):
    """An environment variable holds something that cannot be used."""


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Returns the settings of the GPU_ALMANAC_* variables; what is not set keeps its default.

    Raises SettingsError when a variable cannot be used.
    """
    default = Settings()
    nights = environ.get("GPU_ALMANAC_CAPTURES_KEPT_NIGHTS", str(default.captures_kept_nights))
    if not nights.isdecimal() or int(nights) < 1:
        raise SettingsError(f"GPU_ALMANAC_CAPTURES_KEPT_NIGHTS: {nights!r} is not a whole number from 1")
    models = environ.get("GPU_ALMANAC_FIT_MODELS")
    home = Path(environ.get("GPU_ALMANAC_HOME") or default.home)
    if "?" in str(home):
        raise SettingsError(
            f"GPU_ALMANAC_HOME: {str(home)!r} holds a question mark, which DuckDB cannot open"
        )
    return Settings(
        home=home,
        turned_on=_ids(environ.get("GPU_ALMANAC_SOURCES_ON", "")),
        turned_off=_ids(environ.get("GPU_ALMANAC_SOURCES_OFF", "")),
        contact=environ.get("GPU_ALMANAC_CONTACT") or None,
        cron=environ.get("GPU_ALMANAC_CRON") or default.cron,
        time_zone=environ.get("GPU_ALMANAC_TIME_ZONE") or default.time_zone,
        captures_kept_nights=int(nights),
        fit_models=None if models is None else tuple(models.replace(",", " ").split()),
    )


def _ids(text: str) -> frozenset[str]:
    return frozenset(part for part in text.replace(",", " ").split() if part)
