"""Times of the parts of a night and of an answer: `make bench`. Peak memory of the process stands in extra_info."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from flows.collect import collect
from scrapers import fetch
from scrapers.registry import load_one
from transforms.offers.gpu_names import resolve_gpu
from transforms.offers.normalise import Normalised, normalise
from transforms.offers.schema import INTERRUPTION, STOCK
from transforms.workloads.hardware import hardware
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.performance import performance
from transforms.workloads.ranking import rank

NIGHT = date(2026, 11, 30)
COPIES = 60


def peak_mb() -> float:
    """Returns the peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


@pytest.fixture(scope="module")
def listings() -> pl.DataFrame:
    """The bundled listings, many times over with other plans: about 60,000 rows."""
    at = datetime(2026, 11, 30, tzinfo=UTC)
    one = collect(load_one("list_prices"), session=fetch.Session(), night=at, captures=None).records.listings
    return pl.concat(
        [one.with_columns(plan=pl.col("plan") + f" {number}") if number else one for number in range(COPIES)]
    )


def normalised(listings: pl.DataFrame) -> Normalised:
    no_rates = pl.DataFrame(
        schema={"base": pl.String, "quote": pl.String, "rate": pl.Float64, "rate_date": pl.Date}
    )
    return normalise(
        listings, STOCK.to_frame(), INTERRUPTION.to_frame(), rates=no_rates, night=NIGHT, segments={}
    )


def test_normalise(benchmark: BenchmarkFixture, listings: pl.DataFrame) -> None:
    made = benchmark.pedantic(normalised, args=(listings,), rounds=3, warmup_rounds=1)
    assert made.offerings.height + made.rejects.height == listings.height
    benchmark.extra_info["listings_per_s"] = listings.height / benchmark.stats["median"]
    benchmark.extra_info["peak_mb"] = peak_mb()


def test_resolve_gpu(benchmark: BenchmarkFixture) -> None:
    rounds = iter(range(100))

    def names() -> tuple[tuple[list[str]], dict[str, object]]:
        again = next(rounds)
        return ([f"{number}x H100 SXM 80GB {again}" for number in range(2_000)],), {}

    benchmark.pedantic(lambda given: [resolve_gpu(name) for name in given], setup=names, rounds=5)
    benchmark.extra_info["spellings_per_s"] = 2_000 / benchmark.stats["median"]


def test_rank_all_tiers(benchmark: BenchmarkFixture, listings: pl.DataFrame) -> None:
    offerings = normalised(listings.head(10_000)).offerings
    jobs = tier_jobs()

    def ranked() -> int:
        speeds = performance(jobs, hardware(offerings))
        made = rank(offerings, jobs, speeds, night=NIGHT, has_live_price=False)
        return made.ranking.height + made.exclusions.height

    assert benchmark.pedantic(ranked, rounds=3, warmup_rounds=1) == offerings.height * jobs.height
    benchmark.extra_info["offers"] = offerings.height
    benchmark.extra_info["peak_mb"] = peak_mb()


def test_rank_of_a_tier_from_a_cold_start(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    environ = {**os.environ, "GPU_ALMANAC_HOME": str(tmp_path / "almanac")}
    program = "import sys; from flows.cli import main; sys.argv = ['gpu-almanac', *sys.argv[1:]]; main()"
    command = [sys.executable, "-c", program]
    subprocess.run(
        [*command, "refresh", "--offline"], env=environ, check=True, capture_output=True, cwd=tmp_path
    )

    def answer() -> bytes:
        words = ["rank", "--tier", "rt-chat-70b"]
        return subprocess.run([*command, *words], env=environ, check=True, capture_output=True).stdout

    assert benchmark.pedantic(answer, rounds=5, warmup_rounds=1)
