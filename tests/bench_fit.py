"""Time and memory of the table fit: 60 models x 4 formats x 4 contexts x 4 users on every GPU in four counts."""

from __future__ import annotations

import json
import subprocess
import sys

from pytest_benchmark.fixture import BenchmarkFixture

MODELS = 60
# A process of its own, so that the peak is that of the grid; it counts the rows and keeps none.
PROGRAM = f"""
import json, resource
from transforms.reference import tables
from transforms.workloads.fit import machines
from transforms.workloads.fit_grid import fit_grid, popular_models
from transforms.workloads.hardware import hardware

more = [name for name in tables.read("model").filter(modality="llm")["model_id"] if name not in popular_models()]
names = [*popular_models(), *more][:{MODELS}]
deck = hardware(machines(tables.read("gpu")["gpu_key"]))
grid = fit_grid(deck, names)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(json.dumps({{"rows": grid.height, "machines": deck.height, "models": len(names), "peak_mb": peak}}))
"""


def test_fit_grid(benchmark: BenchmarkFixture) -> None:
    def made() -> dict[str, float]:
        done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
        found: dict[str, float] = json.loads(done.stdout)
        return found

    found = benchmark.pedantic(made, rounds=1)
    assert found["models"] == MODELS
    assert found["rows"] > 2_500_000
    benchmark.extra_info.update(found)
