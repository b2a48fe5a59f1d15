"""Fills the table fit: what popular models need and how fast they run on the hardware of the current offers."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from flows.settings import SettingsError
from transforms.offers.schema import OFFERING
from transforms.workloads.fit_grid import fit_grid, popular_models
from transforms.workloads.hardware import hardware, hardware_id
from transforms.workloads.model_names import nearest
from transforms.workloads.models import TEXT_MODALITIES, geometry
from warehouse.connection import transaction
from warehouse.load import frame, insert


def wanted_models(asked: Sequence[str] | None) -> list[str]:
    """Returns the models of the table: those asked for, or the popular ones.

    Raises SettingsError for one that is not known.
    """
    if asked is None:
        return popular_models()
    models = geometry()
    known = set(models.filter(models["modality"].is_in(TEXT_MODALITIES))["model_id"])
    for name in asked:
        if name not in known:
            near = ", ".join(one for one in nearest(name) if one in known) or "see the table model"
            raise SettingsError(f"GPU_ALMANAC_FIT_MODELS: {name[:60]!r} is no text model; nearest: {near}")
    return list(dict.fromkeys(asked))


def write_fit(connection: duckdb.DuckDBPyConnection, model_ids: Sequence[str]) -> None:
    """Replaces the tables fit and offering_hardware by what holds for the current offers."""
    columns = ", ".join(OFFERING)
    offers = frame(connection, f"select {columns} from current_offering order by offering_id").cast(OFFERING)
    named = offers.select("offering_id", hardware_id=hardware_id(offers)).drop_nulls()
    grid = fit_grid(hardware(offers), model_ids)
    with transaction(connection):
        connection.execute("delete from offering_hardware")
        connection.execute("delete from fit")
        insert(connection, "offering_hardware", named)
        insert(connection, "fit", grid)
