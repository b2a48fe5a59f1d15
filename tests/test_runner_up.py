"""Why the next offer lost: the causes worked out by hand on two bills."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from test_warehouse import NIGHT, describe, source_night

from transforms.workloads.schema import RANKING
from warehouse.connection import writing
from warehouse.load import insert, load

CAUSES = ("price", "gpus", "hours", "startup", "storage", "egress", "interruption", "commitment")


def ranked(*rows: dict[str, object]) -> pl.DataFrame:
    filled = {
        name: pl.Series(name, [row.get(name) for row in rows], dtype=dtype, strict=False)
        for name, dtype in RANKING.items()
    }
    return pl.DataFrame(filled)


def test_the_causes_of_the_difference_add_up(tmp_path: Path) -> None:
    """One GPU at 3.00 for 20 hours leads four at 2.00 for 10 hours with storage of 1 USD and 5 USD of start-up."""
    cheap = {"offering_id": "a", "price_usd_per_instance_hour": 3.0, "price_usd_per_gpu_hour": 3.0}
    dear = {
        "offering_id": "b",
        "gpu_count": 4.0,
        "price_usd_per_instance_hour": 8.0,
        "price_usd_per_gpu_hour": 2.0,
    }
    lines = {"startup_usd": 0.0, "storage_usd": 0.0, "interruption_usd": 0.0, "commitment_usd": 0.0}
    winner = {
        "rank": 1,
        "is_headline": True,
        "gpus_rented": 1.0,
        "compute_usd": 60.0,
        "total_usd": 60.0,
        **lines,
    }
    loser = {
        "rank": 3,
        "is_headline": False,
        "gpus_rented": 4.0,
        "compute_usd": 80.0,
        "total_usd": 86.0,
        **lines,
    }
    barred = {**loser, "offering_id": "c", "rank": 2, "would_lead_if": "old_price", "total_usd": 61.0}
    rows = [
        {"offering_id": "a", "egress_usd": 0.0, **winner},
        {"offering_id": "b", **loser, "storage_usd": 1.0, "startup_usd": 5.0},
        barred,
    ]
    with writing(tmp_path / "w.duckdb") as connection:
        describe(connection, "alpha")
        load(connection, source_night(NIGHT, cheap, dear, {**dear, "offering_id": "c"}))
        insert(
            connection, "ranking", ranked(*[{"tier_id": "t", "is_calibrated": True, **row} for row in rows])
        )
        columns = ", ".join(f"more_by_{cause}_usd" for cause in CAUSES)
        found = connection.execute(f"select offering_id, more_usd, {columns} from runner_up").fetchall()
    # the price from 3 to 2 on 20 GPU-hours, three GPUs more at 2 for 20 hours, four at 2 for 10 hours less
    assert found == [("b", 26.0, -20.0, 120.0, -80.0, 5.0, 1.0, None, 0.0, 0.0)]
    assert sum(value or 0 for value in found[0][2:]) == pytest.approx(found[0][1])


def test_the_sensitivity_of_a_tier_is_that_of_its_first_place(tmp_path: Path) -> None:
    first = {
        "offering_id": "a",
        "rank": 1,
        "is_headline": True,
        "survives_slower": False,
        "survives_loss": True,
    }
    rows = [first, {"offering_id": "b", "rank": 2, "is_headline": False}]
    with writing(tmp_path / "w.duckdb") as connection:
        insert(connection, "ranking", ranked(*[{"tier_id": "t", **row} for row in rows]))
        columns = "offering_id, survives_slower, survives_faster, survives_loss"
        found = connection.execute(f"select {columns} from tier_sensitivity").fetchall()
    assert found == [("a", False, None, True)]
