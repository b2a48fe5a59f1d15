"""What `gpu-almanac fit` says of a model: the memory of one GPU as a bar by parts, and a row for each GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.job_flags import described_job
from transforms.offers.gpu_names import resolve_gpu
from transforms.reference import tables
from transforms.workloads.asked_job import amount_wish, assumed, job_row
from transforms.workloads.fit import fit, variants
from transforms.workloads.model_config import geometry_of_config, unknown_format
from transforms.workloads.models import also
from transforms.workloads.wishes import TRAINING, JobError, nearest

Row = dict[str, Any]
BAR_CELLS = 50
PARTS = {
    "weights_gib": "weights",
    "state_gib": "cache",
    "activation_gib": "activations",
    "runtime_gib": "runtime",
}
TIMES = {
    "time_weights_share": "reading weights",
    "time_cache_share": "reading the cache",
    "time_compute_share": "multiplying",
    "time_link_share": "link",
    "time_overhead_share": "overhead",
    "time_prefill_share": "prefill",
}
TRAINING_NAMES = {"state_gib": "gradients, states", "activation_gib": "activations, logits"}


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """The rows of all GPUs, the memory bar of the first, and what a reader must know."""

    title: str
    bar: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]


def fitted(wishes: Mapping[str, Any], config: Path | None, gpus: Sequence[str]) -> FitAnswer:
    """Returns what a model needs on each GPU: one that is known, or the one that the file `config` describes.

    Raises JobError for a wish that cannot be or a weight format of the file that is not known and not said by
    `precision`, and ConfigError for a file that does not say what a model is.
    """
    if (config is None) == ("model" not in wishes):
        raise JobError("model: name one, or give its --config, and not both")
    if config is None:
        return _fitted(wishes, gpus)
    model = geometry_of_config(config)
    name, precision = model.select("model_id", "file_precision").row(0)
    unknown = unknown_format(config) if precision is None and "precision" not in wishes else None
    if unknown is not None:
        raise JobError(f"precision: {config} is quantised by {unknown}, which is not known; say --precision")
    of_file = {"model": name} | ({} if precision is None else {"precision": precision})
    with also(model):
        return _fitted(of_file | dict(wishes), gpus)


def _fitted(wishes: Mapping[str, Any], gpus: Sequence[str]) -> FitAnswer:
    # Memory and speed do not depend on how much there is to do.
    some_work = {name: 1 for name in [amount_wish(wishes)] if name is not None}
    job = job_row(described_job(some_work | dict(wishes)))
    rows = fit(job, _gpu_keys(gpus)).to_dicts()
    holds = sum(row["reason"] is None for row in rows)
    notes = [
        f"asked: {assumed(job.row(0, named=True))}",
        f"{holds} of {len(rows)} GPUs do it, up to eight of them to a copy; speeds with their 80 % band, no prices",
    ]
    first = rows[0]
    others = [
        f"  {text}: {gib:.2f}" for text, gib in variants(job, first["gpu_key"], first["gpu_count"]).items()
    ]
    bar = [*memory_bar(first, job["task"][0]), *others, ""]
    return FitAnswer(f"{job['model_id'][0]} on each GPU", bar, rows, notes)


def _gpu_keys(names: Sequence[str]) -> list[str]:
    """Returns the keys of GPU names: of all that a name may mean. Raises JobError for a name that means none."""
    known = set(tables.read("gpu")["gpu_key"])
    keys: list[str] = []
    for name in names:
        found = [name] if name in known else resolve_gpu(name, None).candidates
        if not found:
            raise JobError(f"gpu {name[:40]!r}: must be a GPU such as H100 SXM{nearest(name, sorted(known))}")
        keys += found
    return keys


def memory_bar(row: Row, task: str) -> list[str]:
    """Returns the memory of one GPU of a FIT row as lines of text, one part each, to the scale of what is usable.

    Below it: how much of the cache must be held, where an engine sets more aside, and where the time goes.
    """
    head = f"{row['gpu_count']:g} x {row['gpu_key']}: GiB of one GPU"
    names = PARTS | (TRAINING_NAMES if task in TRAINING else {})
    parts = {name: row[column] for column, name in names.items() if row[column] is not None}
    if row["need_gib"] is None or row["usable_gib"] is None:
        known = "".join(f", {name} {gib:.2f}" for name, gib in parts.items())
        return [f"{head}: not known{known} ({row['reason_detail']})"]
    if not parts:
        parts = {"peak": row["need_gib"]}
    free = row["usable_gib"] - row["need_gib"]
    parts["free" if free >= 0 else "missing"] = abs(free)
    scale = BAR_CELLS / max(row["usable_gib"], row["need_gib"])
    lines = [f"{head}, {row['vram_gib']:.4g} nominal, {row['usable_gib']:.4g} usable: {row['verdict']}"]
    for name, gib in parts.items():
        cells = "." if name in ("free", "missing") else "#"
        lines.append(f"  {name:<20} {gib:8.2f} {gib / row['usable_gib']:5.0%}  {cells * round(gib * scale)}")
    if row["state_low_gib"] is not None and row["state_low_gib"] < 0.99 * row["state_gib"]:
        lines.append(
            f"  of the cache {row['state_low_gib']:.2f} must be held; the rest is what an engine sets aside"
        )
    shares = {name: row[column] for column, name in TIMES.items() if row[column]}
    if shares:
        lines.append("  time: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    return lines


def in_short(rows: Sequence[Row]) -> list[Row]:
    """Returns FIT rows with the columns that fit a terminal; the other formats have them all."""
    return [
        {
            "gpu": f"{row['gpu_count']:g} x {row['gpu_key']}",
            "verdict": row["verdict"],
            "need": row["need_gib"],
            "usable": row["usable_gib"],
            "load": None if row["load_ratio"] is None else f"{row['load_ratio']:.0%}",
            "users_that_fit": row["users_that_fit"],
            "speed": _band(row),
            "first_token_ms": row["ttft_ms"],
            "limited_by": row["limiting_factor"],
            "note": ", ".join(
                [*row["flags"], *([] if row["is_calibrated"] else ["extrapolated"]), *_why(row)]
            ),
        }
        for row in rows
    ]


def _why(row: Row) -> list[str]:
    return [] if row["reason"] is None else [row["reason_detail"] or row["reason"]]


def _band(row: Row) -> str | None:
    if row["speed"] is None:
        return None
    point, low, high = (_short(row[name]) for name in ("speed", "speed_low", "speed_high"))
    return f"{point} ({low} to {high}) {row['speed_unit']}"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
