"""Times of the way from payloads to offerings, and of a whole night of every source: `make bench`."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from conftest import ROOT
from payloads import own_payloads
from pytest_benchmark.fixture import BenchmarkFixture

from flows.apart import parsed_apart
from scrapers.contract import Payload
from scrapers.registry import load_one
from transforms.offers.listings import Records, joined
from transforms.offers.normalise import Normalised, normalise

NIGHT = date(2026, 11, 30)
CORES = 2
# JSON sources of different make: rows of prices, plans in many places, nested rows, and a marketplace. Beside each
# are the part whose rows are repeated, the way to them, and the field that tells the copies apart.
ROWS = {
    "azure": ("consumption", ("Items",), "armRegionName"),
    "vultr": ("plans-1", ("plans",), "id"),
    "linode": ("types-1", ("data",), "id"),
    "shadeform": ("types", ("instance_types",), "shade_instance_type"),
}
COPIES = {"azure": 2500, "vultr": 2000, "linode": 2500, "shadeform": 1500}


def enlarged(source_id: str) -> Payload:
    """An own payload with its rows many times over, each copy under a name of its own."""
    part, path, field = ROWS[source_id]
    [payload] = [each for each in own_payloads(source_id) if each.part == part]
    answer = json.loads(payload.body)
    rows: Any = answer
    for key in path:
        rows = rows[key]
    originals = list(rows)
    rows[:] = [
        {**row, field: f"{row.get(field)}-{copy}"} for copy in range(COPIES[source_id]) for row in originals
    ]
    return replace(payload, body=json.dumps(answer).encode())


def offerings_of(decks: list[tuple[ModuleType, Payload]]) -> Normalised:
    """What a night makes of payloads: each parsed in a process of its own, as many at once as there are cores."""
    with ThreadPoolExecutor(CORES) as pool:
        parts: list[Records] = list(pool.map(lambda deck: parsed_apart(deck[0], [deck[1]]), decks))
    records = joined(parts)
    return normalise(
        records.listings,
        records.stock,
        records.interruptions,
        rates=records.rates,
        extras=records.extras,
        night=NIGHT,
        segments={},
    )


def test_parse_and_normalise_json_sources(benchmark: BenchmarkFixture) -> None:
    decks = [(load_one(source_id), enlarged(source_id)) for source_id in ROWS]
    made = benchmark.pedantic(offerings_of, args=(decks,), rounds=3, warmup_rounds=1)
    listings = made.offerings.height + made.rejects.height
    benchmark.extra_info["listings"] = listings
    benchmark.extra_info["megabytes"] = sum(len(payload.body) for _, payload in decks) / 1e6
    benchmark.extra_info["listings_per_s"] = listings / benchmark.stats["median"]
    benchmark.extra_info["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    benchmark.extra_info["peak_mb_of_a_parser"] = (
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    )


@pytest.mark.parametrize("pace", ["--no-pace", ""])
def test_whole_night_of_every_source(benchmark: BenchmarkFixture, tmp_path: Path, pace: str) -> None:
    """From an empty home to a published release, with a Prefect server of its own, 150 ms before each answer."""
    environ = {
        **os.environ,
        "GPU_ALMANAC_HOME": str(tmp_path / "almanac"),
        "PREFECT_HOME": str(tmp_path / "prefect"),
    }
    environ.pop("GPU_ALMANAC_FIT_MODELS", None)
    program = [sys.executable, str(ROOT / "tests" / "loopback_night.py"), "--latency-s", "0.15"]

    def night() -> dict[str, Any]:
        done = subprocess.run(
            [*program, *pace.split()], env=environ, check=True, capture_output=True, cwd=tmp_path
        )
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    report = benchmark.pedantic(night, rounds=1)
    asked = [name for name, count in report["requests"].items() if count]
    benchmark.extra_info["sources_asked"] = len(asked)
    benchmark.extra_info["requests"] = sum(report["requests"].values())
    benchmark.extra_info["peak_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    assert len(asked) >= 65
    assert pl.Series(list(report["outcomes"].values())).is_in(["ok", "held"]).all()
