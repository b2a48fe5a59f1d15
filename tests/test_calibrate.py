"""The calibration finds coefficients that are known, says how sure it is, and writes them or nothing."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fake_part import FAKE, ROWS, TRUE_OVERHEAD_S, TRUE_RATE, made, stated
from scipy.optimize import minimize

from transforms.accuracy import calibrate as calibration
from transforms.accuracy import leave_out, measurements, solve, store
from transforms.accuracy.calibrate import Calibrated, calibrate_part
from transforms.accuracy.scores import scores
from transforms.reference.checks import FactsError
from transforms.reference.tables import read

POINTS = ROWS.head(3)
ANY = read("coefficient")["coefficient_id"][0]


@pytest.fixture(scope="module", autouse=True)
def _known() -> Iterator[None]:
    with stated():
        yield


def values(found: Calibrated) -> dict[str, dict[str, float]]:
    return {row["coefficient_id"]: row for row in found.values.to_dicts()}


@pytest.fixture(scope="module")
def found() -> Calibrated:
    return calibrate_part(FAKE, ROWS, made(400), held_out=("gpu", "source"))


def test_coefficients_are_recovered_without_noise() -> None:
    exact = values(calibrate_part(FAKE, ROWS, made(100, noise=0.0)))
    assert exact["fake_rate"]["value"] == pytest.approx(TRUE_RATE, rel=0.01)
    assert exact["fake_overhead_s"]["value"] == pytest.approx(TRUE_OVERHEAD_S, rel=0.01)


def test_coefficients_are_recovered_with_noise_and_lie_in_their_interval(found: Calibrated) -> None:
    for name, true in (("fake_rate", TRUE_RATE), ("fake_overhead_s", TRUE_OVERHEAD_S)):
        row = values(found)[name]
        assert row["value"] == pytest.approx(true, rel=0.03)
        assert row["low"] < true < row["high"]
        assert row["high"] / row["low"] < 1.1
        assert row["rows_used"] == 400


def test_what_no_row_determines_keeps_its_prior_and_the_width_of_it(found: Calibrated) -> None:
    """Bounds 1 to 4 are four sigma wide: sigma = log(4) / 4, and 80 % of a normal lies within 1.28 sigma."""
    row = values(found)["fake_unused"]
    assert (row["value"], row["rows_used"]) == (2.0, 0)
    reach = np.exp(1.2816 * np.log(4) / 4)
    assert row["low"] == pytest.approx(2 / reach, rel=0.15)
    assert row["high"] == pytest.approx(2 * reach, rel=0.15)


def test_a_wrong_measurement_hardly_moves_the_fit() -> None:
    """One row in a hundred a thousand times too fast; by least squares the mean would move by log(1000) / 100."""
    measured = made(100, noise=0.02)
    wild = faster(measured, pl.col("case_id") == "fake-0050", 1000)
    fitted = values(calibrate_part(FAKE, ROWS, wild))
    assert fitted["fake_rate"]["value"] == pytest.approx(TRUE_RATE, rel=0.02)
    assert fitted["fake_overhead_s"]["value"] == pytest.approx(TRUE_OVERHEAD_S, rel=0.02)


def test_the_fit_stays_within_its_bounds() -> None:
    rows = POINTS.with_columns(prior_high=pl.Series([35.0, 5.0, 4.0]))
    whole = solve.problem(FAKE, rows, made(100), {})
    assert np.exp(solve.fit(whole).x[0]) == pytest.approx(35.0, rel=1e-3)


def test_the_fit_is_the_least_of_its_loss_by_another_method() -> None:
    """The loss of the docstring, written out anew and minimised without derivatives."""
    whole = solve.problem(FAKE, POINTS, made(60), {})

    def loss(x: np.ndarray) -> float:
        ratio = solve.errors(whole, x) / 0.15
        prior = (x - np.log([30.0, 1.0, 2.0])) / (np.log([20.0, 50.0, 4.0]) / 4)
        return float(np.sum(2 * (np.sqrt(1 + ratio**2) - 1)) + np.sum(prior**2))

    least = minimize(loss, whole.prior, method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-7})
    assert solve.fit(whole).x == pytest.approx(least.x, abs=1e-3)


def test_only_what_is_a_measurement_is_fitted() -> None:
    measured = made(60)
    notes = pl.when(pl.col("case_id") == "fake-0001").then(pl.lit("guess"))
    model = pl.when(pl.col("case_id") == "fake-0002").then(pl.lit("unheard-of"))
    whole = solve.problem(FAKE, POINTS, measured.with_columns(notes=notes, model=model), {})
    assert whole.cases.height == 58
    assert len(solve.errors(whole, whole.prior)) == 58


def test_a_tenth_lies_beyond_each_edge_of_the_band(found: Calibrated) -> None:
    """Noise of 0.1 in the logarithm: the edges lie at exp(-0.128) = 0.88 and exp(0.128) = 1.14."""
    fitted = values(found)
    assert fitted["band_fake_low"]["value"] == pytest.approx(0.88, abs=0.02)
    assert fitted["band_fake_high"]["value"] == pytest.approx(1.14, abs=0.02)
    for name in ("band_fake_low", "band_fake_high"):
        row = fitted[name]
        assert row["value"] - 0.05 < row["low"] < row["value"] < row["high"] < row["value"] + 0.05
    blind = found.scored.filter(pl.col("held_out") == "gpu", pl.col("case_class") == "all")
    assert blind["in_band_share"][0] == pytest.approx(0.8, abs=0.01)


def test_too_few_rows_leave_a_band_as_it_is() -> None:
    fitted = values(calibrate_part(FAKE, ROWS, made(calibration.LEAST_BAND_ROWS - 1)))
    assert (fitted["band_fake_low"]["value"], fitted["band_fake_high"]["value"]) == (0.7, 1.5)


def test_two_runs_agree_to_the_last_digit(found: Calibrated) -> None:
    again = calibrate_part(FAKE, ROWS, made(400), held_out=("gpu", "source"))
    shuffled = calibrate_part(FAKE, ROWS, made(400).sample(fraction=1, shuffle=True, seed=3))
    assert again.values.equals(found.values)
    assert again.scored.equals(found.scored)
    assert shuffled.values.head(2)["value"].equals(found.values.head(2)["value"])


def test_a_refit_without_a_group_is_the_fit_of_the_others() -> None:
    """By a second way: the group is taken out of the file, and all is fitted from the prior."""
    is_slow = pl.col("gpu_canonical") == "GPU-3"
    measured = faster(made(300), is_slow, 0.6)
    whole = solve.problem(FAKE, POINTS, measured, {})
    without = leave_out.refits(whole, solve.fit(whole), "gpu")["GPU-3"]
    others = solve.fit(solve.problem(FAKE, POINTS, measured.filter(~is_slow), {}))
    assert without == pytest.approx(others.x, abs=2e-3)
    assert np.abs(without[:2] - solve.fit(whole).x[:2]).max() > 0.02


def test_a_group_is_predicted_by_the_coefficients_of_the_others() -> None:
    """GPU-3 is 0.6 of the others: seen, its own rows pull towards it; blind, it is missed by 1 / 0.6."""
    is_slow = pl.col("gpu_canonical") == "GPU-3"
    measured = faster(made(300, noise=0.02), is_slow, 0.6)
    blind = leave_out.leave_out(FAKE, POINTS, measured, "gpu")
    of_slow = blind.filter(pl.col("gpu_key") == "GPU-3")
    bias = scores(of_slow)["bias"][0]
    assert bias == pytest.approx(1 / 0.6 - 1, abs=0.02)
    assert blind.height == 300


def faster(measured: pl.DataFrame, which: pl.Expr, times: float) -> pl.DataFrame:
    """Returns the measurements with those of `which` so many times as fast."""
    speed = pl.col("output_tok_s_total")
    return measured.with_columns(output_tok_s_total=pl.when(which).then(times * speed).otherwise(speed))


def calibrated(coefficient_id: str, value: float, part: str = "text") -> Calibrated:
    rows = {
        "coefficient_id": [coefficient_id],
        "value": [value],
        "low": [value / 2],
        "high": [value * 2],
        "rows_used": [7],
    }
    left_out = scores(made_cases()).with_columns(held_out=pl.lit("gpu"), part=pl.lit(part))
    return Calibrated(pl.DataFrame(rows), left_out, made_cases())


def made_cases() -> pl.DataFrame:
    measured = made(40)
    return solve.predicted(solve.problem(FAKE, POINTS, measured, {}), np.log([40.0, 0.5, 2.0]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("coefficient", "accuracy_score"):
        (tmp_path / f"{name}.csv").write_bytes((store.FOLDER / f"{name}.csv").read_bytes())
    return tmp_path


def test_only_the_fitted_cells_change_in_the_file(folder: Path) -> None:
    before = list(csv.reader(StringIO((folder / "coefficient.csv").read_text(encoding="utf-8"))))
    store.write({"text": calibrated(ANY, 1.23456)}, folder)
    once = (folder / "coefficient.csv").read_bytes()
    after = list(csv.reader(StringIO(once.decode())))
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    ((old, new),) = changed
    cells = {name: (a, b) for name, a, b in zip(before[0], old, new, strict=True) if a != b}
    assert {name: b for name, (_, b) in cells.items()} == {
        "value": "1.235",
        "low": "0.6173",
        "high": "2.469",
        "rows_used": "7",
    }
    store.write({"text": calibrated(ANY, 1.23456)}, folder)
    assert (folder / "coefficient.csv").read_bytes() == once
    assert not list(folder.glob("*.new"))


def test_what_the_reference_would_not_believe_is_not_written(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    wrong = calibrated(ANY, 1.2)
    wrong = replace(wrong, values=wrong.values.with_columns(low=pl.lit(9.0)))
    with pytest.raises(FactsError, match="outside its own low and high"):
        store.write({"text": wrong}, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_scores_of_a_part_replace_those_of_that_part_alone(folder: Path) -> None:
    store.write({"text": calibrated(ANY, 1.2)}, folder)
    store.write({"training": calibrated(ANY, 1.2, "training")}, folder)
    store.write({"training": calibrated(ANY, 1.2, "training")}, folder)
    rows = pl.read_csv(folder / "accuracy_score.csv").filter(pl.col("case_class") == "everything")
    assert sorted(rows["part"]) == ["text", "training"]


def test_every_fitted_coefficient_has_a_prior_within_its_bounds() -> None:
    rows = read("coefficient").filter(pl.col("part").is_not_null())
    bad = rows.filter(
        ~(
            (pl.col("prior_low") < pl.col("prior_high"))
            & pl.col("prior").is_between("prior_low", "prior_high")
            & (pl.col("prior") > 0)
        ).fill_null(False)
    )
    assert bad["coefficient_id"].to_list() == []
    assert set(rows["part"]) <= set(measurements.FILES)
