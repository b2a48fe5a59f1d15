"""Writes what a calibration found into the reference tables: all of it, or nothing."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

import polars as pl

from transforms.accuracy.calibrate import DIGITS, Calibrated
from transforms.reference.limits import LATEST_DAY
from transforms.reference.specs import TABLES
from transforms.reference.tables import read_text

FOLDER = Path(__file__).parents[1] / "reference"
SOURCE = "gpu-almanac calibrate"


def write(found: Mapping[str, Calibrated], folder: Path = FOLDER) -> None:
    """Replaces the fitted cells of coefficient.csv and the rows of accuracy_score.csv of the parts found.

    Raises:
        FactsError: a new table that the reference would not believe; nothing is written then.
    """
    texts = {
        "coefficient": with_values(
            (folder / "coefficient.csv").read_text(encoding="utf-8"),
            pl.concat([part.values for part in found.values()]),
        ),
        "accuracy_score": with_scores(
            (folder / "accuracy_score.csv").read_text(encoding="utf-8"),
            {name: part.scored for name, part in found.items()},
        ),
    }
    for name, text in texts.items():
        read_text(name, text.encode(), TABLES[name])
    for name, text in texts.items():
        (folder / f"{name}.csv.new").write_text(text, encoding="utf-8")
    for name in texts:
        (folder / f"{name}.csv.new").replace(folder / f"{name}.csv")


def with_values(text: str, values: pl.DataFrame) -> str:
    """Returns coefficient.csv with new value, low, high and rows_used of the rows of `values`; no other cell moves."""
    new = {row["coefficient_id"]: row for row in values.iter_rows(named=True)}
    header, *rows = csv.reader(StringIO(text))
    for row in rows:
        for column, figure in new.get(row[0], {}).items():
            if column != "coefficient_id":
                row[header.index(column)] = _figure(figure)
    return _text([header, *rows])


def with_scores(text: str, left_out: Mapping[str, pl.DataFrame]) -> str:
    """Returns accuracy_score.csv with new rows of these parts, dated as the facts are."""
    header, *rows = csv.reader(StringIO(text))
    at = header.index("part")
    for name, scored in left_out.items():
        rows = [row for row in rows if row[at] != name]
        dated = scored.with_columns(source=pl.lit(SOURCE), as_of=pl.lit(LATEST_DAY.isoformat()))
        rows.extend([[_figure(cell) for cell in row] for row in dated.select(header).iter_rows()])
    return _text([header, *sorted(rows)])


def _text(rows: Sequence[Sequence[str]]) -> str:
    written = StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _figure(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:.{DIGITS}g}" if isinstance(cell, float) else str(cell)
