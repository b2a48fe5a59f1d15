"""Reads the published measurements that the model is held to, or files of the same columns from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import polars as pl

LARGEST_FILE_BYTES = 64_000_000
# A column is of another type when more of its cells than this are no numbers; fewer are slips of single rows.
MOST_UNREADABLE = 0.5


class MeasurementError(ValueError):
    """A file of measurements that is not there, or not of the columns that it must have."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of measurements: its name, and its columns of text and of numbers, divided by spaces."""

    name: str
    text: str
    numbers: str

    def types(self) -> dict[str, pl.DataType]:
        """Returns the type of each column."""
        kinds = ((self.text, pl.String()), (self.numbers, pl.Float64()))
        return {column: kind for columns, kind in kinds for column in columns.split()}


FILES = {
    "memory": File(
        "memory_truth.csv",
        text="""case_id workload model precision engine gpu parallelism seq_len optimizer gradient_checkpointing unit
            kind source date notes evidence kv_dtype catalog_id""",
        numbers="params_b gpu_count batch lora_rank measured_gb kv_tokens",
    ),
    "text": File(
        "throughput_llm.csv",
        text="""case_id gpu gpu_canonical interconnect model weight_precision kv_precision engine engine_version
            scenario source date notes""",
        numbers="""gpu_count tp pp params_b active_params_b concurrency_or_batch input_len output_len
            output_tok_s_total total_tok_s prefill_tok_s ttft_ms tpot_ms power_w""",
    ),
    "training": File(
        "throughput_training.csv",
        text="""case_id task gpu gpu_canonical interconnect inter_node_fabric model precision parallelism
            activation_checkpointing framework source date notes accelerator_id""",
        numbers="""gpu_count nodes params_b active_params_b seq_len global_batch micro_batch tokens_s_per_gpu
            tokens_s_total tflops_per_gpu mfu time_to_train_min""",
    ),
    "generation": File(
        "throughput_generation.csv",
        text="""case_id task gpu gpu_canonical model resolution frames_or_seconds guidance batch precision engine
            source date notes accelerator_id""",
        numbers="gpu_count steps it_s s_per_output outputs_per_min real_time_factor peak_gb",
    ),
}


def present(folder: Path | None = None) -> list[str]:
    """Returns the parts whose file lies in `folder`; without a folder, all parts, since all are bundled.

    Raises:
        MeasurementError: no such folder, or none of the files in it.
    """
    if folder is None:
        return list(FILES)
    if not folder.is_dir():
        raise MeasurementError(f"{folder}: not a folder; name one that holds {_names()}")
    found = [part for part, file in FILES.items() if (folder / file.name).exists()]
    if not found:
        raise MeasurementError(f"{folder}: no measurements; it must hold one of {_names()}")
    return found


def read(part: str, folder: Path | None = None) -> pl.DataFrame:
    """Returns the measurements of a part, the bundled ones or those in `folder`, one row per case.

    An empty cell is null, as is NA in a column of numbers; in one of text it stays. Numbers are Float64. A cell of
    a column of numbers that is no finite number is null, and `unreadable`, a further last column, says so: the row
    cannot be predicted, the others can.

    Raises:
        MeasurementError: the file is missing, empty, too large or no table, its columns are not those of
            `FILES`, a column is of another type, or a case_id is missing or there twice.
    """
    file = FILES[part]
    place: Traversable = folder or files("transforms.reference.measurements")
    return read_text(file, _content(place.joinpath(file.name)))


def read_text(file: File, content: bytes) -> pl.DataFrame:
    """Returns the measurements of CSV bytes, as `read` does."""
    try:
        content.decode("utf-8")  # nor is anything compressed that
        raw = pl.read_csv(content, infer_schema=False, null_values=[""])
    except (UnicodeDecodeError, OSError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or ["no table"])[0]
        raise MeasurementError(
            f"{file.name}: {reason:.100}; it must be a CSV file in UTF-8 with a header"
        ) from None
    types = file.types()
    _check_columns(file, raw.columns, list(types))
    cells = raw.select(pl.col(column).str.strip_chars().replace("", None) for column in types)
    # lines of commas, as table programs leave them at the end
    cells = cells.filter(~pl.all_horizontal(pl.all().is_null()))
    _check_ids(file, cells)
    numbers = file.numbers.split()
    cells = cells.with_columns(pl.col(numbers).replace("NA", None))
    finite = [pl.col(column).cast(pl.Float64, strict=False) for column in numbers]
    rows = cells.with_columns(pl.when(number.is_finite()).then(number) for number in finite)
    broken = [cells[column].is_not_null() & rows[column].is_null() for column in numbers]
    for column, is_broken in zip(numbers, broken, strict=True):
        if is_broken.arg_true().len() > MOST_UNREADABLE * cells[column].count():
            cell = cells[column].filter(is_broken)[0]
            raise MeasurementError(f"{file.name}: {column} = {cell!r:.60}: not a number; give numbers")
    said = [
        pl.when(is_broken).then(pl.format("{} is no number: {}", pl.lit(column), cells[column]))
        for column, is_broken in zip(numbers, broken, strict=True)
    ]
    return rows.with_columns(unreadable=pl.coalesce(said).str.slice(0, 80))


def _content(path: Traversable) -> bytes:
    if not path.is_file():
        raise MeasurementError(f"{path}: not a file; give a CSV file of that name")
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE_BYTES + 1)
    if len(content) > LARGEST_FILE_BYTES:
        raise MeasurementError(f"{path}: more than {LARGEST_FILE_BYTES // 1_000_000} MB; divide it")
    return content


def _check_columns(file: File, found: list[str], wanted: list[str]) -> None:
    if missing := [column for column in wanted if column not in found]:
        raise MeasurementError(f"{file.name}: no column {missing[0]}; add it, empty where it is not known")
    if odd := [column for column in found if column not in wanted]:
        raise MeasurementError(f"{file.name}: unknown column {odd[0]!r:.60}; remove it")


def _check_ids(file: File, cells: pl.DataFrame) -> None:
    if cells.is_empty():
        raise MeasurementError(f"{file.name}: a header without rows; add measurements")
    if cells["case_id"].has_nulls():
        line = cells["case_id"].is_null().arg_true()[0] + 1
        raise MeasurementError(f"{file.name}: row {line} has no case_id; give it one")
    twice = cells["case_id"].filter(cells["case_id"].is_duplicated())
    if not twice.is_empty():
        raise MeasurementError(f"{file.name}: case_id {twice[0]!r:.60} is there twice; rename one")


def _names() -> str:
    return ", ".join(file.name for file in FILES.values())
