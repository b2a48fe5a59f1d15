"""Writes docs/accuracy.md from the same figures as `verify`: `python -m transforms.accuracy.report`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from transforms.accuracy.leave_out import HELD_OUT
from transforms.accuracy.parts import ANSWERS, PARTS, read_cases
from transforms.accuracy.scores import is_scored, scores, signed_error, targets
from transforms.accuracy.solve import is_band
from transforms.reference.tables import read

DOCUMENT = Path(__file__).parents[2] / "docs" / "accuracy.md"
LARGEST_MISSES = 10
WORST_GROUPS = 5
LEAST_GROUP = 10  # cases, below which a median says little
GROUPS = {"gpu_key": "GPU", "model_id": "model", "source_group": "source"}

Shown = Mapping[str, tuple[str, Callable[[object], str]]]  # column: its head, and how a cell is written

INTRODUCTION = """# How far the model is off

Made by `python -m transforms.accuracy.report` from the bundled measurements and the coefficients in force; do not edit.
`gpu-almanac verify` prints the same figures, and `verify --truth DIR` those of other measurements.

An error is |predicted / measured − 1|. *Bias* is the median with its sign: above zero, the figure is predicted too
large, which promises too much where it is a speed, and too little where it is a need of memory or seconds.
*In band* is the share of measurements inside the 80 % band. *Coverage* is the share that the model predicts at all:
what it refuses lowers it. Rows that prove nothing (rules of thumb, figures that break physics) are not counted and are
listed below. A *pair* is two measurements of one source, model and setting on different hardware that differ by more
than 10 %; it is right when the prediction has them in the same order."""

BLIND = """Each is predicted with coefficients that were fitted without it: what to expect of hardware and
software that no measurement covers."""

MISSES = "By the logarithm of predicted over measured. They stay in every figure above."

REPRODUCE = """```
gpu-almanac calibrate                 # fit the coefficients anew, write coefficient.csv and accuracy_score.csv
gpu-almanac verify                    # the scores; --rows for every case
gpu-almanac verify --leave-out gpu    # the same, each GPU predicted without its rows: a minute
python -m transforms.accuracy.report  # write this page
```

A fit minimises a soft L1 loss of log(predicted / measured), with rows weighted so that no large source dominates, and a
weak prior, within physical bounds. It starts from the priors and is seeded: two runs write the same bytes. The interval
of a coefficient holds 80 % of the fits in which whole sources are drawn anew. A refit without a group goes from the
solution of all rows by Gauss-Newton steps. Bands are set so that a tenth of the measurements lies beyond each edge when
each GPU is predicted without its own rows."""


def summary() -> pl.DataFrame:
    """Returns SCORE rows on the bundled measurements, with what the median is with each GPU left out.

    `blind_median_error` and `blind_in_band_share` are null for parts that have no leave-out.
    """
    stored = read("accuracy_score").filter(pl.col("held_out") == "gpu")
    left_out = stored.select(
        "part", "case_class", blind_median_error="median_error", blind_in_band_share="in_band_share"
    )
    scored = scores(pl.concat([read_cases(part) for part in PARTS]))
    return scored.join(left_out, on=["part", "case_class"], how="left", maintain_order="left")


def report() -> str:
    """Returns the text of docs/accuracy.md."""
    cases = pl.concat([read_cases(part) for part in PARTS])
    scored = scores(cases)
    stored = read("accuracy_score")
    sections = [INTRODUCTION, "## Goals", _goals(scored, stored)]
    for part in PARTS:
        sections += [f"## {part.capitalize()}", _scores(_of(scored, part))]
        for held_out in HELD_OUT:
            rows = _of(stored.filter(pl.col("held_out") == held_out), part)
            if not rows.is_empty():
                sections += [
                    f"### Each {held_out} left out ({rows['as_of'][0]})",
                    BLIND,
                    _scores(rows),
                ]
        sections += ["### Where it is worst"]
        sections += [_worst(_of(cases, part), column, what) for column, what in GROUPS.items()]
        sections += [*_misses(_of(cases, part)), *_coefficients(part)]
    sections += ["## What is refused", _reasons(cases, "refusal")]
    sections += ["## What proves nothing", _reasons(cases, "no_proof")]
    sections += ["## Make it anew", REPRODUCE]
    return "\n\n".join(sections) + "\n"


def _of(rows: pl.DataFrame, part: str) -> pl.DataFrame:
    return rows.filter(pl.col("part") == part)


def _goals(scored: pl.DataFrame, stored: pl.DataFrame) -> str:
    found = [targets(scored)]
    found += [targets(stored.filter(pl.col("held_out") == name), name) for name in HELD_OUT]
    rows = pl.concat(found).with_columns(
        goal=pl.format(
            "{}{}",
            pl.when(pl.col("at_least").is_not_null() & pl.col("at_most").is_null())
            .then(pl.lit("≥ "))
            .when(pl.col("at_least").is_null())
            .then(pl.lit("≤ "))
            .otherwise(pl.lit("")),
            pl.concat_str(_percent("at_least"), _percent("at_most"), separator=" to ", ignore_nulls=True),
        ),
        outcome=pl.when(pl.col("is_met").is_null())
        .then(pl.lit("no rows"))
        .when("is_met")
        .then(pl.lit("met"))
        .otherwise(pl.format("missed by {}", _percent("missed_by"))),
        statistic=pl.col("statistic").str.replace_all("_", " "),
        held_out=pl.col("held_out").replace("none", None),
    )
    return _table(
        rows,
        {
            "part": ("part", str),
            "case_class": ("class", str),
            "held_out": ("left out", str),
            "statistic": ("statistic", str),
            "goal": ("goal", str),
            "value": ("value", _share),
            "outcome": ("outcome", str),
        },
    )


def _scores(rows: pl.DataFrame) -> str:
    return _table(rows.with_columns(pl.col("pairs").replace(0, None)), SCORES)


def _worst(cases: pl.DataFrame, column: str, what: str) -> str:
    """Returns the groups of `column` that are predicted worst."""
    by_group = (
        _figures(cases)
        .group_by(column)
        .agg(
            rows=pl.len(),
            median_error=signed_error().abs().median(),
            bias=signed_error().median(),
        )
        .filter(pl.col("rows") >= LEAST_GROUP, pl.col(column).is_not_null())
        .sort(pl.col("median_error").round(9), column, descending=[True, False])
        .head(WORST_GROUPS)
    )
    shown: Shown = {
        column: (what, str),
        "rows": ("rows", str),
        "median_error": ("median error", _share),
        "bias": ("bias", _signed),
    }
    return _table(by_group, shown)


def _misses(cases: pl.DataFrame) -> list[str]:
    ratio = pl.col("predicted") / pl.col("measured")
    rows = (
        _figures(cases)
        .with_columns(times=ratio)
        .sort(ratio.log().abs().round(9), "case_id", descending=[True, False])
        .head(LARGEST_MISSES)
    )
    shown: Shown = {
        "case_id": ("case", str),
        "case_class": ("class", str),
        "gpu_key": ("GPU", str),
        "model_id": ("model", str),
        "measured": ("measured", _figure),
        "predicted": ("predicted", _figure),
        "unit": ("unit", str),
        "times": ("times", _figure),
        "source_group": ("source", str),
    }
    return ["### Largest misses", MISSES, _table(rows, shown)]


def _figures(cases: pl.DataFrame) -> pl.DataFrame:
    return cases.filter(is_scored() & ~pl.col("case_class").is_in(ANSWERS))


def _coefficients(part: str) -> list[str]:
    rows = read("coefficient").filter(pl.col("part") == part)
    if rows.is_empty():
        return []
    shown: Shown = {
        "coefficient_id": ("coefficient", str),
        "value": ("value", _figure),
        "low": ("low", _figure),
        "high": ("high", _figure),
        "unit": ("unit", str),
        "rows_used": ("rows", str),
        "bound": ("at bound", str),
    }
    bound = (
        pl.when((pl.col("value") / pl.col("prior_low") - 1).abs() < 1e-3)
        .then(pl.lit("low"))
        .when((pl.col("value") / pl.col("prior_high") - 1).abs() < 1e-3)
        .then(pl.lit("high"))
    )
    count = rows.filter(~is_band()).height
    return [f"### Fitted coefficients: {count}, and bands", _table(rows.with_columns(bound=bound), shown)]


def _reasons(cases: pl.DataFrame, column: str) -> str:
    rows = cases.filter(
        pl.col(column).is_not_null() & (pl.lit(column == "no_proof") | pl.col("no_proof").is_null())
    )
    counted = (
        rows.group_by("part", reason=column)
        .len("rows")
        .sort("part", "rows", "reason", descending=[False, True, False])
    )
    return _table(counted, {"part": ("part", str), "rows": ("rows", str), "reason": ("reason", str)})


def _table(rows: pl.DataFrame, shown: Shown) -> str:
    """Returns a Markdown table without the columns that no row fills; an unknown figure is a dash."""
    if rows.is_empty():
        return "No rows."
    shown = {name: how for name, how in shown.items() if rows[name].count()}
    heads = [head for head, _ in shown.values()]
    lines = [_line(heads), "|" + "---|" * len(heads)]
    for row in rows.select(shown.keys()).iter_rows():
        cells = zip(row, shown.values(), strict=True)
        lines.append(_line(["–" if cell is None else form(cell) for cell, (_, form) in cells]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _percent(column: str) -> pl.Expr:
    return pl.col(column).map_elements(_share, return_dtype=pl.String)


def _share(value: object) -> str:
    return f"{100 * float(str(value)):.3g} %"


def _signed(value: object) -> str:
    # adding zero turns −0.0 into 0.0
    return f"{round(100 * float(str(value)), 1) + 0.0:+.1f} %"


def _figure(value: object) -> str:
    return f"{float(str(value)):.4g}"


SCORES: Shown = {
    "case_class": ("class", str),
    "scored": ("scored", str),
    "refused": ("refused", str),
    "no_proof": ("no proof", str),
    "coverage": ("coverage", _share),
    "median_error": ("median error", _share),
    "p90_error": ("p90", _share),
    "bias": ("bias", _signed),
    "in_band_share": ("in band", _share),
    "right_share": ("right", _share),
    "false_fits": ("false fits", str),
    "false_refusals": ("false refusals", str),
    "pairs": ("pairs", str),
    "right_pairs_share": ("pairs right", _share),
}


def main() -> None:
    """Writes docs/accuracy.md."""
    DOCUMENT.write_text(report(), encoding="utf-8")


if __name__ == "__main__":
    main()
