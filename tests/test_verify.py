"""`gpu-almanac verify` and `calibrate` as a user runs them: what is printed, what is refused, that nothing crashes."""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from accuracy_points import POINTS, points
from conftest import ROOT
from fake_part import FAKE, ROWS, made, stated, table

from flows import accuracy
from flows.cli import main
from transforms.accuracy import measurements
from transforms.accuracy.cases import CASE
from transforms.accuracy.leave_out import HELD_OUT, LEAVE_OUT_PARTS, leave_out
from transforms.accuracy.measurements import FILES, MeasurementError, read, read_text
from transforms.accuracy.parts import PARTS, cases, read_cases
from transforms.accuracy.report import DOCUMENT, report, summary
from transforms.accuracy.scores import SCORE, TARGET, scores
from transforms.accuracy.store import FOLDER
from transforms.reference import tables as reference

FILE = FILES["text"].name
Ran = tuple[int, str, str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs the program in this process, and gives exit code, stdout and stderr."""

    def ran(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["gpu-almanac", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return ran


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Puts the fake part in place of the model of text."""
    monkeypatch.setitem(PARTS, "text", FAKE)
    with stated():
        yield


def cell(case_id: str, **cells: object) -> dict[str, object]:
    return {
        "case_id": case_id,
        "scenario": "server",
        "input_len": "30",
        "output_tok_s_total": "15",
        "gpu_canonical": "GPU-1",
        "source": "one",
        **cells,
    }


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    """Four rows: with rate 30 and overhead 1, work 30 takes two seconds, at 15 a second."""
    rows = [
        cell("right"),
        cell("fast", output_tok_s_total="10", scenario="prefill"),
        cell("unknown", model="unheard-of"),
        cell("guessed", notes="guess"),
    ]
    table(rows).write_csv(tmp_path / FILE)
    return tmp_path


@pytest.mark.usefixtures("fake")
def test_the_summary_of_four_rows(run: Callable[..., Ran], truth: Path) -> None:
    code, printed, _ = run("verify", "--truth", str(truth), "--format", "json")
    assert code == 0
    (tables,) = json.loads(printed)
    assert list(tables) == ["scores"]
    by_class = {row["case_class"]: row for row in tables["scores"]}
    assert list(by_class["all"]) == SCORE.names()
    assert set(by_class) == {"all", "everything", "prefill", "server"}
    assert by_class["prefill"]["median_error"] == pytest.approx(0.5)
    assert by_class["server"]["median_error"] == pytest.approx(0.0)
    assert (by_class["all"]["scored"], by_class["all"]["refused"], by_class["all"]["no_proof"]) == (2, 1, 1)
    assert by_class["all"]["coverage"] == pytest.approx(2 / 3)


@pytest.mark.usefixtures("fake")
def test_every_case_is_printed_with_its_outcome(run: Callable[..., Ran], truth: Path) -> None:
    code, printed, _ = run("verify", "--truth", str(truth), "--rows")
    assert code == 0
    rows = {row["case_id"]: row for row in csv.DictReader(StringIO(printed))}
    assert {name: (row["outcome"], row["reason"]) for name, row in rows.items()} == {
        "right": ("scored", ""),
        "fast": ("scored", ""),
        "unknown": ("refused", "unknown model: unheard-of"),
        "guessed": ("no proof", "a rule of thumb"),
    }
    fast = rows["fast"]
    assert [float(fast[name]) for name in ("measured", "predicted", "low", "high")] == [10, 15, 10.5, 22.5]
    assert fast["class"] == "prefill"
    assert rows["unknown"]["predicted"] == ""
    code, printed, _ = run("verify", "--truth", str(truth), "--rows", "--format", "json")
    assert [row["case_id"] for row in json.loads(printed)] == sorted(rows)
    assert json.loads(printed)[0]["measured"] == 10.0


@pytest.mark.usefixtures("fake")
def test_a_slip_in_one_cell_refuses_its_row_alone(run: Callable[..., Ran], tmp_path: Path) -> None:
    table([cell("a"), cell("b"), cell("c", input_len="many"), cell("d", gpu_count="inf")]).write_csv(
        tmp_path / FILE
    )
    wrong = {"d": "gpu_count is no number: inf", "c": "input_len is no number: many"}
    text = (tmp_path / FILE).read_text(encoding="utf-8").replace("inf", "4")
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    _, printed, _ = run("verify", "--truth", str(tmp_path), "--rows", "--format", "json")
    refused = {row["case_id"]: row["reason"] for row in json.loads(printed) if row["outcome"] == "refused"}
    assert refused == {"c": wrong["c"]}


@pytest.mark.usefixtures("fake")
def test_a_group_left_out_is_asked_for(run: Callable[..., Ran], tmp_path: Path, monkeypatch: Any) -> None:
    rows = ROWS.with_columns(part=pl.lit("text"))
    monkeypatch.setattr(accuracy, "read", lambda _: rows)
    made(60).drop("unreadable").write_csv(tmp_path / FILE)
    words = ("verify", "--truth", str(tmp_path), "--leave-out", "gpu", "--format", "json")
    code, printed, told = run(*words)
    assert code == 0
    assert "takes a minute" in told
    (tables,) = json.loads(printed)
    assert tables["scores"][0]["scored"] == 60
    assert run(*words)[1] == printed


BROKEN = {
    "empty": (b"", "empty CSV"),
    "garbage": (bytes(range(256)) * 4, "throughput_llm.csv: "),
    "compressed": (b"\x1f\x8b\x08\x00" + bytes(64), "throughput_llm.csv: "),
    "not UTF-8": ("case_id,gpu\nx,Größe\n".encode("latin-1"), "throughput_llm.csv: "),
    "no column": (table([cell("a")]).drop("tp").write_csv().encode(), "no column tp; add it"),
    "other column": (
        table([cell("a")]).with_columns(price=pl.lit(1)).write_csv().encode(),
        "unknown column 'price'; remove it",
    ),
    "no rows": (table([]).write_csv().encode(), "a header without rows"),
    "twice": (table([cell("a"), cell("a")]).write_csv().encode(), "case_id 'a' is there twice"),
    "no id": (table([cell("a"), cell("")]).write_csv().encode(), "row 2 has no case_id"),
    "type": (
        table([cell("a", tp="two"), cell("b", tp="2x")]).write_csv().encode(),
        "tp = 'two': not a number",
    ),
    "ragged": (table([cell("a")]).write_csv().encode() + b",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n", FILE),
}


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_line(run: Callable[..., Ran], tmp_path: Path, case: str) -> None:
    content, message = BROKEN[case]
    (tmp_path / FILE).write_bytes(content)
    code, printed, told = run("verify", "--truth", str(tmp_path))
    assert (code, printed) == (2, "")
    assert message in told
    assert told.count("\n") == 1
    assert FILE in told
    assert len(told) < 400


def test_a_whole_file_is_no_error() -> None:
    """The control of the broken files."""
    rows = [cell("a"), cell("b", tp="NA", notes="NA"), cell("c", tp=" 2 ", notes=" ")]
    found = read_text(FILES["text"], table(rows).write_csv().encode())
    assert found["tp"].to_list() == [None, None, 2.0]
    assert found["notes"].to_list() == [None, "NA", None]
    assert found["unreadable"].to_list() == [None, None, None]


@pytest.mark.usefixtures("fake")
def test_a_folder_that_is_not_there(run: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place, message in ((tmp_path / "none", "not a folder"), (tmp_path / "file", "not a folder")):
        code, _, told = run("verify", "--truth", str(place))
        assert (code, told.count("\n")) == (2, 1)
        assert message in told
    code, _, told = run("verify", "--truth", str(tmp_path))
    assert code == 2
    assert "it must hold one of memory_truth.csv" in told
    (tmp_path / FILE).mkdir()
    code, _, told = run("verify", "--truth", str(tmp_path))
    assert code == 2
    assert "not a file" in told


@pytest.mark.parametrize(
    "words",
    [("verify", "--part", "music"), ("verify", "--leave-out", "model"), ("calibrate", "--part", "texts")],
)
def test_unknown_words_are_one_line(run: Callable[..., Ran], words: tuple[str, ...]) -> None:
    code, _, told = run(*words)
    assert (code, told.count("\n")) == (2, 1)
    assert f"{words[1]} {words[2]!r}: not one of " in told


def test_a_part_without_its_file(run: Callable[..., Ran], truth: Path) -> None:
    code, _, told = run("verify", "--truth", str(truth), "--part", "training")
    assert code == 2
    assert "no throughput_training.csv" in told


def test_memory_has_no_leave_out(run: Callable[..., Ran]) -> None:
    code, _, told = run("verify", "--part", "memory", "--leave-out", "gpu")
    assert code == 2
    assert "text, training, generation" in told


def test_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "LARGEST_FILE_BYTES", 100)
    table([cell("a")]).write_csv(tmp_path / FILE)
    with pytest.raises(MeasurementError, match="more than 0 MB"):
        read("text", tmp_path)


def test_the_bundled_files_are_read_whole() -> None:
    """Rows as `wc -l` counts them, less the header."""
    found = {part: read(part) for part in FILES}
    assert {part: rows.height for part, rows in found.items()} == {
        "memory": 575,
        "text": 3924,
        "training": 1026,
        "generation": 908,
    }
    for part, rows in found.items():
        assert rows["unreadable"].null_count() == rows.height, part


@pytest.mark.usefixtures("fake")
def test_a_dry_run_writes_nothing(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake part on the bundled rows, with the coefficients of the fake part."""
    rows = ROWS.with_columns(part=pl.lit("text"), unit=pl.lit("1"))
    monkeypatch.setattr(accuracy, "read", lambda _: rows)
    monkeypatch.setattr("transforms.accuracy.calibrate.read", lambda _: rows)
    monkeypatch.setattr("transforms.accuracy.calibrate.measurements.read", lambda _: made(60))
    before = {path.name: path.read_bytes() for path in FOLDER.glob("*.csv")}
    code, printed, told = run("calibrate", "--part", "text", "--dry-run", "--format", "json")
    assert code == 0
    (tables,) = json.loads(printed)
    assert [row["coefficient_id"] for row in tables["coefficients"]] == ROWS["coefficient_id"].to_list()
    assert tables["coefficients"][0]["old"] == 30.0
    assert "text: cost" in told
    assert {path.name: path.read_bytes() for path in FOLDER.glob("*.csv")} == before


ODD = (
    "",
    "NA",
    "unknown",
    "H999-SXM 1.5 TB",
    "×∞",
    "-1",
    "0",
    "1e30",
    "8+8",
    "4096x4096x3",
    "a" * 300,
    "\u202e\x00",
)


def shuffled(part: str, seed: int) -> pl.DataFrame:
    """Returns measurements of which every column is shuffled by itself, with odd cells in each."""
    draw = random.Random(seed)
    file = FILES[part]
    raw = pl.read_csv(
        ROOT / "transforms" / "reference" / "measurements" / file.name, infer_schema=False, null_values=[""]
    )
    mixed = raw.select(pl.Series(name, draw.sample(raw[name].to_list(), raw.height)) for name in raw.columns)
    is_text = set(file.text.split())
    for name in raw.columns[1:]:
        odd = [
            word for word in ODD if name in is_text or not word or word.lstrip("-").replace("e", "").isdigit()
        ]
        marks = [draw.choice(odd) if draw.random() < 0.1 else None for _ in range(raw.height)]
        mixed = mixed.with_columns(pl.Series(name, marks).fill_null(mixed[name]).alias(name))
    return mixed


@pytest.mark.parametrize("part", sorted(FILES))
def test_no_file_of_the_right_columns_crashes(part: str, tmp_path: Path) -> None:
    """Cells that never stood together, unknown names, blanks and figures of any size: an outcome for every row."""
    rows = shuffled(part, seed=7)
    rows.write_csv(tmp_path / FILES[part].name)
    found = cases(PARTS[part], read(part, tmp_path))
    assert found.schema == CASE
    assert sorted(found["case_id"]) == sorted(rows["case_id"].str.strip_chars())
    is_open = found["refusal"].is_null() & found["no_proof"].is_null()
    assert found.filter(is_open)["predicted"].is_finite().all()
    blank = rows.head(5).with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in rows.columns[1:])
    blank.write_csv(tmp_path / FILES[part].name)
    nothing = cases(PARTS[part], read(part, tmp_path))
    assert (nothing["refusal"].is_not_null() | nothing["no_proof"].is_not_null()).all()


@pytest.mark.parametrize("part", sorted(FILES))
def test_one_row_is_predicted_as_among_all(part: str) -> None:
    measured = read(part)
    among = cases(PARTS[part], measured)
    few = measured.filter(pl.int_range(pl.len()) % 97 == 5)
    alone = cases(PARTS[part], few)
    same = among.filter(pl.col("case_id").is_in(few["case_id"].to_list()))
    assert alone.select("case_id", "refusal", "no_proof").equals(
        same.select("case_id", "refusal", "no_proof")
    )
    difference = (alone["predicted"] / same["predicted"] - 1).abs()
    assert (difference.max() or 0) < 1e-9


def test_the_goals_and_scores_have_their_columns(run: Callable[..., Ran]) -> None:
    code, printed, _ = run("verify", "--format", "json")
    assert code == 0
    (tables,) = json.loads(printed)
    assert list(tables) == ["scores", "targets", "left_out"]
    assert {tuple(row) for row in tables["scores"]} == {tuple(SCORE.names())}
    assert {tuple(row) for row in tables["targets"]} == {tuple(TARGET.names())}
    assert {row["part"] for row in tables["scores"]} == set(FILES)
    without = [row for row in tables["targets"] if row["value"] is None]
    assert without == [], "a goal of a class that no case names"


def moved(now: pl.DataFrame) -> list[str]:
    """Returns the cases that are predicted otherwise than the points of the last look."""
    both = pl.read_csv(POINTS, schema=now.schema).join(
        now, on="case_id", how="full", suffix="_now", coalesce=True
    )
    # a refusal is no prediction of nothing
    before, after = pl.col("predicted").fill_null(-1), pl.col("predicted_now").fill_null(-1)
    return both.filter((after - before).abs() > 1e-3 * before.abs())["case_id"].to_list()


def test_empty_lines_at_the_end_are_no_cases() -> None:
    """A table program leaves lines of commas; a line with anything else in it still needs its case_id."""
    content = table([cell("a")]).write_csv().encode()
    commas = b"," * content.split(b"\n")[0].count(b",") + b"\n"
    assert read_text(FILES["text"], content + 3 * commas)["case_id"].to_list() == ["a"]


def test_no_case_moves_unseen() -> None:
    """Make the points anew with `python tests/accuracy_points.py`, and look at what moved."""
    now = points()
    assert moved(now) == []
    is_none = pl.col("predicted") == 0
    for one, other in ((now["case_id"][70], -2.0), (now.filter(is_none)["case_id"][0], None)):
        is_one = pl.col("case_id") == one
        assert moved(now.with_columns(predicted=pl.when(is_one).then(other).otherwise("predicted"))) == [one]


def test_the_stored_scores_are_what_a_leave_out_gives() -> None:
    """Of training by GPU, which takes seconds. Make them anew with `gpu-almanac calibrate`."""
    rows = reference.read("coefficient").filter(pl.col("part") == "training")
    found = scores(leave_out(PARTS["training"], rows, read("training"), "gpu"))
    stored = reference.read("accuracy_score").filter(
        pl.col("part") == "training", pl.col("held_out") == "gpu"
    )
    both = found.join(stored, on="case_class", suffix="_stored", how="full")
    assert both["scored"].to_list() == both["scored_stored"].to_list()
    for name, most in (("median_error", 0.005), ("in_band_share", 0.01)):
        large = both.filter(pl.col("scored") >= 50)
        assert (large[name] - large[f"{name}_stored"]).abs().max() < most, name


def test_the_stored_scores_are_of_every_case() -> None:
    """Each class of a part that is left out has as many rows as it has when nothing is."""
    stored = reference.read("accuracy_score")
    now = scores(pl.concat([read_cases(part) for part in LEAVE_OUT_PARTS]))
    for held_out in HELD_OUT:
        rows = stored.filter(pl.col("held_out") == held_out).select("part", "case_class", "scored", "refused")
        assert rows.sort("part", "case_class").equals(
            now.select("part", "case_class", "scored", "refused").sort("part", "case_class")
        ), held_out


def test_the_summary_has_what_a_leave_out_gives() -> None:
    found = summary()
    assert found.columns == [*SCORE.names(), "blind_median_error", "blind_in_band_share"]
    text = found.filter(pl.col("part") == "text", pl.col("case_class") == "all").row(0, named=True)
    assert text["median_error"] < text["blind_median_error"]
    assert found.filter(pl.col("part") == "memory")["blind_median_error"].null_count() > 0


def test_the_document_is_current() -> None:
    """Make it anew with `python -m transforms.accuracy.report`."""
    assert DOCUMENT.read_text(encoding="utf-8") == report()
