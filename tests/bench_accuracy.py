"""Times of holding the model to its measurements: `make bench`. Calibration is left out: it takes minutes."""

from __future__ import annotations

import resource

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from flows.accuracy import verified
from transforms.accuracy.measurements import FILES, read
from transforms.accuracy.parts import PARTS


def peak_mb() -> float:
    """Returns the peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def test_verify_the_bundled_measurements(benchmark: BenchmarkFixture) -> None:
    """Goal: at most 10 s."""
    found = benchmark.pedantic(verified, args=(None, (), None, lambda _: None), rounds=3)
    assert found.cases.height == sum(read(part).height for part in FILES)
    benchmark.extra_info["rows"] = found.cases.height
    benchmark.extra_info["peak_mb"] = peak_mb()


@pytest.mark.parametrize("part", sorted(FILES))
def test_predict(benchmark: BenchmarkFixture, part: str) -> None:
    """One evaluation of the formulas on prepared rows, which a calibration makes some thousand times."""
    prepared = PARTS[part].prepare(read(part).drop("unreadable"))
    predicted = benchmark.pedantic(PARTS[part].predict, args=(prepared,), rounds=5, warmup_rounds=1)
    assert predicted.height == prepared.height
