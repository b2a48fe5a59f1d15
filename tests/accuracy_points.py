"""The prediction of every bundled case, since an average can hide two errors: `python tests/accuracy_points.py`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from transforms.accuracy.parts import PARTS, read_cases

POINTS = Path(__file__).with_name("accuracy_points.csv")
DIGITS = 4


def points() -> pl.DataFrame:
    """Returns case_id and the predicted figure to four digits; nothing where the model refuses."""
    cases = pl.concat([read_cases(part) for part in PARTS])
    return cases.select("case_id", pl.col("predicted").round_sig_figs(DIGITS))


if __name__ == "__main__":
    points().write_csv(POINTS)
