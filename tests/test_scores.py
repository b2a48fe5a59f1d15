"""Scores of small tables, worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from transforms.accuracy.cases import CASE
from transforms.accuracy.parts import settled
from transforms.accuracy.scores import SCORE, scores, targets


def cases(*rows: dict[str, object]) -> pl.DataFrame:
    """Returns CASE rows; a row names what matters to it."""
    usual = {"part": "text", "case_class": "server", "low": 90.0, "high": 120.0, "gpu_key": "A", "unit": "1"}
    filled = [{**dict.fromkeys(CASE), **usual, "case_id": f"c{at}", **row} for at, row in enumerate(rows)]
    return pl.DataFrame(filled, CASE)


def row(scored: pl.DataFrame, case_class: str) -> dict[str, object]:
    (found,) = scored.filter(pl.col("case_class") == case_class).to_dicts()
    return found


THREE = (
    {"measured": 100.0, "predicted": 110.0},
    {"measured": 100.0, "predicted": 80.0, "high": 100.0},
    {"measured": 100.0, "predicted": 150.0, "low": 140.0, "high": 160.0},
)
REFUSED = {"measured": 100.0, "refusal": "unknown model"}
NO_PROOF = {"measured": 100.0, "predicted": 900.0, "no_proof": "a rule of thumb"}


def test_errors_of_three_cases() -> None:
    """Errors 0.1, 0.2 and 0.5: the 0.9 quantile lies at 0.2 + 0.8 x 0.3. Signed: 0.1, -0.2, 0.5."""
    found = row(scores(cases(*THREE, REFUSED, NO_PROOF)), "server")
    assert (found["scored"], found["refused"], found["no_proof"]) == (3, 1, 1)
    assert found["coverage"] == 0.75
    assert found["median_error"] == pytest.approx(0.2)
    assert found["p90_error"] == pytest.approx(0.44)
    assert found["bias"] == pytest.approx(0.1)
    assert found["in_band_share"] == pytest.approx(2 / 3)


def test_what_proves_nothing_would_change_the_errors_if_it_were_counted() -> None:
    counted = {**NO_PROOF, "no_proof": None}
    assert row(scores(cases(*THREE, counted)), "server")["median_error"] == pytest.approx(0.35)


def test_a_class_without_a_scored_row_has_no_error() -> None:
    found = row(scores(cases(REFUSED)), "server")
    assert found["coverage"] == 0
    for name in ("median_error", "p90_error", "bias", "in_band_share", "right_share", "right_pairs_share"):
        assert found[name] is None
    assert row(scores(cases(NO_PROOF)), "server")["coverage"] is None
    assert scores(CASE.to_frame()).schema == SCORE
    assert scores(CASE.to_frame()).is_empty()


def test_a_case_counts_once_in_each_of_its_classes() -> None:
    scored = scores(cases({**THREE[0], "also_in": ["moe", "fp8", "server"]}, THREE[1]))
    assert {found["case_class"]: found["scored"] for found in scored.to_dicts()} == {
        "all": 2,
        "server": 2,
        "moe": 1,
        "fp8": 1,
    }
    assert scored["case_class"][0] == "all"


def test_counts_and_answers_are_right_or_wrong() -> None:
    """Fits: of four, one is promised and does not fit, one is refused and does. GPU counts: one of two."""
    answers = [
        {"part": "memory", "case_class": "fits", "measured": measured, "predicted": predicted}
        for measured, predicted in ((1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
    ]
    counts = [
        {"part": "memory", "case_class": "min_gpus", "measured": 4.0, "predicted": predicted}
        for predicted in (4.0, 8.0)
    ]
    weight = {"part": "memory", "case_class": "weights", "measured": 10.0, "predicted": 11.0}
    scored = scores(cases(*answers, *counts, weight))
    fits, least = row(scored, "fits"), row(scored, "min_gpus")
    assert (fits["right_share"], fits["false_fits"], fits["false_refusals"]) == (0.5, 1, 1)
    assert (least["right_share"], least["false_fits"]) == (0.5, None)
    assert fits["median_error"] is None
    assert row(scored, "all")["median_error"] == pytest.approx(0.1)
    assert row(scored, "weights")["right_share"] is None


def pairs(*rows: tuple[str, float, float], group: str | None = "one") -> tuple[object, object]:
    found = scores(
        cases(*({"gpu_key": gpu, "measured": m, "predicted": p, "pair_group": group} for gpu, m, p in rows))
    )
    return row(found, "all")["pairs"], row(found, "all")["right_pairs_share"]


def test_pairs_count_where_hardware_was_measured_apart() -> None:
    """A-B 1.3 apart, right; C-B 1.24 apart, wrong; A-C 1.05 apart, no pair."""
    three = (("A", 100.0, 110.0), ("B", 130.0, 115.0), ("C", 105.0, 120.0))
    assert pairs(*three) == (2, 0.5)
    assert pairs(*three, group=None) == (0, None)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (("A", 200.0, 110.0), (0, None)),  # one GPU, one prediction: measured twice
        (("A", 200.0, 150.0), (1, 1.0)),  # one GPU in another number
        (("B", 200.0, 110.0), (1, 0.0)),  # two GPUs that the model cannot tell apart
        (("B", 109.0, 90.0), (0, None)),
    ],
)
def test_what_makes_a_pair(other: tuple[str, float, float], expected: tuple[object, object]) -> None:
    assert pairs(("A", 100.0, 110.0), other) == expected


def test_goals_are_met_or_missed_by_so_much() -> None:
    """Goals of text: median at most 11 %, coverage at least 97 %; single stream at most 8 %."""
    one = {"measured": 100.0, "case_class": "single_stream_decode"}
    held = targets(scores(cases({**one, "predicted": 110.0}, {**one, "refusal": "unknown"})))
    found = {
        (goal["case_class"], goal["statistic"]): (goal["is_met"], goal["missed_by"])
        for goal in held.filter(pl.col("part") == "text").to_dicts()
    }
    assert found["all", "median_error"] == (True, 0.0)
    assert found["all", "coverage"] == (False, pytest.approx(0.47))
    assert found["single_stream_decode", "median_error"] == (False, pytest.approx(0.02))
    assert found["prefill", "median_error"] == (None, None)


def settle(**cells: object) -> dict[str, object]:
    unreadable = cells.pop("unreadable", None)
    ids = pl.DataFrame(
        {"case_id": ["c0"], "unreadable": [unreadable]}, schema_overrides={"unreadable": pl.String}
    )
    return settled(cases(cells), ids, "text").row(0, named=True)


def test_a_case_has_one_outcome() -> None:
    scored = settle(measured=100.0, predicted=90.0)
    assert (scored["refusal"], scored["no_proof"], scored["predicted"]) == (None, None, 90.0)
    for predicted in (None, float("nan"), float("inf"), 0.0, -1.0):
        refused = settle(measured=100.0, predicted=predicted)
        assert (refused["refusal"], refused["predicted"]) == ("the formulas give no figure", None)
    for measured in (None, float("nan"), 0.0, -1.0):
        assert settle(measured=measured, predicted=90.0)["no_proof"] == "no figure above zero was measured"
    assert settle(measured=0.0, predicted=0.0, case_class="fits")["no_proof"] is None
    both = settle(measured=100.0, predicted=90.0, refusal="unknown", no_proof="a rule of thumb")
    assert (both["refusal"], both["no_proof"]) == (None, "a rule of thumb")
    lost = settled(CASE.to_frame(), pl.DataFrame({"case_id": ["c0"], "unreadable": None}), "text")
    assert lost.select("part", "case_class", "refusal").row(0) == (
        "text",
        "other",
        "no formula takes up such a row",
    )
    said = settle(measured=None, predicted=None, unreadable="gpu_count is no number: two")
    assert (said["refusal"], said["no_proof"]) == ("gpu_count is no number: two", None)
