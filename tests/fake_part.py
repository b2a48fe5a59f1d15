"""A part of the model with three known coefficients, on files of the columns of throughput_llm.csv."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from transforms.accuracy.measurements import FILES, read_text
from transforms.accuracy.parts import Part
from transforms.workloads import coefficients
from transforms.workloads.coefficients import coefficient

TRUE_RATE, TRUE_OVERHEAD_S = 40.0, 0.5
ROWS = pl.DataFrame(
    {
        "coefficient_id": ["fake_rate", "fake_overhead_s", "fake_unused", "band_fake_low", "band_fake_high"],
        "value": [30.0, 1.0, 2.0, 0.7, 1.5],
        "prior": [30.0, 1.0, 2.0, 0.7, 1.5],
        "prior_low": [5.0, 0.1, 1.0, 0.1, 1.0],
        "prior_high": [100.0, 5.0, 4.0, 1.0, 5.0],
    }
)
START = dict(zip(ROWS["coefficient_id"], ROWS["value"], strict=True))


def _prepare(measured: pl.DataFrame) -> pl.DataFrame:
    return measured


def _predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Tokens per second: work / (work / rate + overhead)."""
    coefficient("fake_unused")
    work = pl.col("input_len")
    predicted = work / (work / coefficient("fake_rate") + coefficient("fake_overhead_s"))
    nothing = pl.lit(None, dtype=pl.String)
    return prepared.select(
        "case_id",
        part=pl.lit("text"),
        case_class="scenario",
        also_in=pl.concat_list(pl.lit("everything")),
        unit=pl.lit("tokens/s"),
        measured="output_tok_s_total",
        predicted=predicted,
        low=predicted * coefficient("band_fake_low"),
        high=predicted * coefficient("band_fake_high"),
        refusal=pl.when(pl.col("model") == "unheard-of").then(pl.lit("unknown model: unheard-of")),
        no_proof=pl.when(pl.col("notes") == "guess").then(pl.lit("a rule of thumb")),
        is_calibrated=pl.lit(True),
        gpu_key="gpu_canonical",
        model_id="model",
        source_group="source",
        pair_group=nothing,
    )


def _weights(prepared: pl.DataFrame) -> pl.Series:
    return pl.Series([1.0] * prepared.height)


FAKE = Part("text", _prepare, _predict, _weights)


def table(rows: list[dict[str, object]]) -> pl.DataFrame:
    """Returns a throughput_llm.csv of these cells; the others are empty."""
    columns = FILES["text"].types()
    return pl.DataFrame(
        [{column: row.get(column) for column in columns} for row in rows], dict.fromkeys(columns, pl.String)
    )


def made(count: int, *, noise: float = 0.1, seed: int = 1) -> pl.DataFrame:
    """Returns measurements that the true coefficients give, with a seeded error of `noise` in the logarithm."""
    draw = np.random.default_rng(seed)
    work = np.exp(draw.uniform(0, 7, count))
    speed = work / (work / TRUE_RATE + TRUE_OVERHEAD_S) * np.exp(noise * draw.standard_normal(count))
    rows = [
        {
            "case_id": f"fake-{number:04d}",
            "gpu_canonical": f"GPU-{number % 7}",
            "source": f"source {number % 13}",
            "scenario": "server" if number % 2 else "prefill",
            "input_len": str(work[number]),
            "output_tok_s_total": str(speed[number]),
        }
        for number in range(count)
    ]
    return read_text(FILES["text"], table(rows).write_csv().encode())


@contextmanager
def stated() -> Iterator[None]:
    """Makes the coefficients of this part known, which coefficient.csv does not have."""
    all_values = {**coefficients._stated(), **START}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coefficients, "_stated", lambda: all_values)
        yield
